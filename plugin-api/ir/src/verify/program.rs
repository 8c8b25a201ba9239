//! The second stage: blocks, visibility, and the requirements of each kind of node.

use super::{FaultCode, Globals, Report};
use crate::{
    intern::Hash64,
    node::{flag, kind},
    *,
};
use std::collections::HashMap;

/// Longer shapes are compared up to here: a broken function must not cost more than its size.
const MOST_DIMS: usize = 64;

pub(super) fn check(function: &Function, globals: Option<&Globals<'_>>, report: &mut Report<'_>) {
    let mut walk = Walk {
        f: function,
        globals,
        report,
        bound_in: vec![0; function.n_nodes()],
        state: vec![0; function.n_nodes()],
        interval: vec![None; function.n_blocks()],
        clock: 0,
        names: may_repeat(function).then(HashMap::new),
        n_graphs: Vec::new(),
        unseen: Vec::new(),
    };
    walk.run();
    walk.explain_unseen();
}

/// Whether two nodes may have one name. That no two names have one hash is known sooner than which name is visible where,
/// and true of nearly all functions.
fn may_repeat(f: &Function) -> bool {
    let mut hashes: Vec<u64> = Vec::with_capacity(f.n_nodes());
    for block in (0..f.n_blocks() as u32).map(BlockId) {
        for &id in f.operands(f.block(block).owner).iter().chain(f.bindings(block)) {
            let name = f.bytes(f.name_id(id));
            if !name.is_empty() {
                hashes.push(Hash64::new().bytes(name).finish());
            }
        }
    }
    // Few are sorted: those that share one of sixteen times as many bits with another.
    let n_words = (hashes.len() / 4).next_power_of_two();
    let place = |hash: u64| ((hash >> 6) as usize & (n_words - 1), 1 << (hash & 63));
    // The bits that are taken, beside those that are shared.
    let mut bits = vec![[0_u64; 2]; n_words];
    for &hash in &hashes {
        let (word, bit) = place(hash);
        let [taken, shared] = &mut bits[word];
        *shared |= *taken & bit;
        *taken |= bit;
    }
    hashes.retain(|&hash| {
        let (word, bit) = place(hash);
        bits[word][1] & bit != 0
    });
    hashes.sort_unstable();
    hashes.windows(2).any(|pair| pair[0] == pair[1])
}

/// Bits of the information about a node.
mod state {
    /// May be used here.
    pub const VISIBLE: u8 = 1;
    /// A function that was visited.
    pub const FUNCTION: u8 = 2;
    /// A parameter.
    pub const PARAM: u8 = 4;
    /// A tuple of results.
    pub const RESULT: u8 = 8;
}

/// A function whose block is being checked.
struct Frame {
    function: NodeId,
    block: BlockId,
    /// The binding that comes next.
    at: usize,
    /// How many of its functions were visited.
    n_visited: usize,
}

/// An operand that was not visible to its user.
struct Unseen {
    user: Option<NodeId>,
    block: BlockId,
    operand: NodeId,
}

struct Walk<'a, 'r, 'f> {
    f: &'a Function,
    globals: Option<&'a Globals<'a>>,
    report: &'r mut Report<'f>,
    /// The block a node is bound in, or a parameter of, plus one.
    bound_in: Vec<u32>,
    state: Vec<u8>,
    /// When the walk entered a block and when it left it: a block encloses those within its interval.
    interval: Vec<Option<(u32, u32)>>,
    clock: u32,
    /// The visible nodes by name; not kept if no name repeats.
    names: Option<HashMap<&'a [u8], NodeId>>,
    /// For each attribute list, the number of functions that it needs; created when the first list exists.
    n_graphs: Vec<Option<u32>>,
    unseen: Vec<Unseen>,
}

/// Whether an operand may be absent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Absent {
    Allowed,
    Refused,
}

impl<'a> Walk<'a, '_, '_> {
    fn fault(&mut self, code: FaultCode, node: NodeId, block: BlockId, message: impl Into<String>) {
        self.report.push(code, Some(node), Some(block), message);
    }

    fn run(&mut self) {
        let mut frames = Vec::new();
        self.enter(self.f.root(), None, &mut frames);
        while let Some(frame) = frames.last_mut() {
            let (block, bindings) = (frame.block, self.f.bindings(frame.block));
            let Some(&node) = bindings.get(frame.at) else {
                let function = frame.function;
                frames.pop();
                self.leave(function, block);
                continue;
            };
            if frame.n_visited == 0 && !self.bind(node, block) {
                frame.at += 1;
                continue;
            }
            let nested = self.f.node(node).kind == kind::FUNCTION;
            let regions = if nested { std::slice::from_ref(&bindings[frame.at]) } else { self.f.regions(node) };
            if let Some(&region) = regions.get(frame.n_visited) {
                frame.n_visited += 1;
                self.enter(region, Some((node, block)), &mut frames);
                continue;
            }
            (frame.at, frame.n_visited) = (frame.at + 1, 0);
            self.state[node.index()] |= state::VISIBLE;
            self.name(node, block);
        }
    }

    // ---- functions and blocks -----------------------------------------------------------------------------------------

    /// Goes into a function, unless it cannot be one here. `owner` is the binding it belongs to, or is.
    fn enter(&mut self, function: NodeId, owner: Option<(NodeId, BlockId)>, frames: &mut Vec<Frame>) {
        let rec = self.f.node(function);
        let (user, outer) = owner.unwrap_or((function, BlockId(0)));
        if rec.kind != kind::FUNCTION {
            return self.fault(FaultCode::Region, user, outer, format!("`{function}` should be a function"));
        }
        if self.state[function.index()] & state::FUNCTION != 0 {
            return self.fault(FaultCode::Region, user, outer, format!("function `{function}` belongs to two nodes"));
        }
        if user != function && self.bound_in[function.index()] != 0 {
            self.fault(FaultCode::Region, user, outer, format!("function `{function}` is a binding too"));
        }
        self.state[function.index()] |= state::FUNCTION;
        let block = self.f.block_of(function);
        if self.interval[block.index()].is_some() {
            return self.fault(FaultCode::Region, user, outer, format!("{block} belongs to two functions"));
        }
        if self.f.block(block).owner != function {
            let owner = self.f.block(block).owner;
            self.fault(FaultCode::Region, function, block, format!("{block} says it belongs to `{owner}`"));
        }
        self.interval[block.index()] = Some((self.clock, u32::MAX));
        self.clock += 1;
        let params = self.f.operands(function);
        for &param in params {
            let known = &mut self.state[param.index()];
            if self.f.kind(param) != kind::VAR {
                self.fault(FaultCode::Parameter, function, block, format!("parameter `{param}` is not a variable"));
            } else if *known & state::PARAM != 0 {
                self.fault(FaultCode::Parameter, function, block, format!("`{param}` is a parameter twice"));
            } else {
                *known |= state::PARAM | state::VISIBLE;
                self.bound_in[param.index()] = block.0 + 1;
                self.name(param, block);
            }
        }
        match self.f.type_of(function) {
            Type::Func { params: types, .. } if types.len() != params.len() => {
                let message = format!("the type has {} parameters, the function {}", types.len(), params.len());
                self.fault(FaultCode::TypeMismatch, function, block, message);
            }
            Type::Unknown | Type::Func { .. } => {}
            _ => self.fault(FaultCode::TypeMismatch, function, block, "the type is not that of a function"),
        }
        self.graph_attrs(function, block, 0);
        frames.push(Frame { function, block, at: 0, n_visited: 0 });
    }

    /// Checks a block's result and ends the visibility of its definitions.
    fn leave(&mut self, function: NodeId, block: BlockId) {
        let result = self.f.result(block);
        let rec = *self.f.node(result);
        if rec.kind == kind::TUPLE && rec.aux == 1 {
            let known = &mut self.state[result.index()];
            let is_taken = std::mem::replace(known, *known | state::RESULT) & state::RESULT != 0;
            let message = match rec.b {
                _ if is_taken => "a tuple of results belongs to two blocks",
                1 => "a tuple of results has one field",
                _ if rec.flags & flag::LET != 0 => "a tuple of results has a name",
                _ => "",
            };
            if !message.is_empty() {
                self.fault(FaultCode::ResultTuple, result, block, message);
            }
            if !is_taken {
                for &field in self.f.operands(result) {
                    self.operand(Some(result), block, field, Absent::Allowed);
                }
            }
        } else if result.is_absent() {
            self.fault(FaultCode::Absent, function, block, format!("{block} has no result"));
        } else {
            self.operand(None, block, result, Absent::Refused);
        }
        for &id in self.f.bindings(block).iter().chain(self.f.operands(function)) {
            if self.bound_in[id.index()] != block.0 + 1 {
                // Only in a broken function: it belongs elsewhere.
                continue;
            }
            self.state[id.index()] &= !state::VISIBLE;
            let Some(names) = &mut self.names else { continue };
            let name = self.f.bytes(self.f.name_id(id));
            if !name.is_empty() && names.get(name) == Some(&id) {
                names.remove(name);
            }
        }
        if let Some(interval) = &mut self.interval[block.index()] {
            interval.1 = self.clock;
        }
        self.clock += 1;
    }

    fn name(&mut self, node: NodeId, block: BlockId) {
        let Some(names) = &mut self.names else { return };
        let name = self.f.bytes(self.f.name_id(node));
        if name.is_empty() {
            return;
        }
        let other = *names.entry(name).or_insert(node);
        if other != node && self.f.attrs(node).meta(SHADOWS).is_none() {
            let shown = String::from_utf8_lossy(&name[..name.len().min(64)]).into_owned();
            self.fault(FaultCode::DuplicateName, node, block, format!("`{other}` is named `{shown}` too"));
        }
    }

    // ---- bindings -----------------------------------------------------------------------------------------------------

    /// Checks a binding except for its functions; returns whether this is its first place.
    fn bind(&mut self, node: NodeId, block: BlockId) -> bool {
        let rec = *self.f.node(node);
        if matches!(rec.kind, kind::ABSENT | kind::VAR | kind::GLOBAL_VAR | kind::OP | kind::FIRST_LEAF..) {
            self.fault(FaultCode::NoBinding, node, block, "a node of this kind stands in no block");
            return false;
        }
        let bound_in = &mut self.bound_in[node.index()];
        if *bound_in != 0 {
            let message = format!("the binding stands in {} too", BlockId(*bound_in - 1));
            self.fault(FaultCode::BoundTwice, node, block, message);
            return false;
        }
        *bound_in = block.0 + 1;
        let operands = self.f.operands(node);
        let n_regions = self.f.n_regions(node);
        let values = &operands[..operands.len() - n_regions];
        match rec.kind {
            kind::CONSTANT => self.constant(node, block),
            kind::FUNCTION => return true,
            kind::TUPLE if rec.aux == 1 => {
                self.fault(FaultCode::ResultTuple, node, block, "a tuple of results stands in no block");
            }
            kind::TUPLE => self.tuple(node, block),
            kind::TUPLE_GET_ITEM if values.len() == 1 && n_regions == 0 => self.item(node, block),
            kind::CALL if !values.is_empty() => {
                self.operand(Some(node), block, values[0], Absent::Refused);
                for &arg in &values[1..] {
                    self.operand(Some(node), block, arg, Absent::Allowed);
                }
            }
            kind::IF if values.len() == 1 && n_regions == 2 => {
                self.operand(Some(node), block, values[0], Absent::Refused);
                self.branches(node, block);
            }
            kind::TUPLE_GET_ITEM | kind::CALL | kind::IF => {
                let message = format!("{} operands, of which {n_regions} are functions", operands.len());
                self.fault(FaultCode::Operands, node, block, message);
            }
            _ => {
                for &value in values {
                    self.operand(Some(node), block, value, Absent::Allowed);
                }
            }
        }
        if rec.kind == kind::TUPLE && n_regions > 0 {
            self.fault(FaultCode::Operands, node, block, "a tuple has no functions of its own");
        }
        self.graph_attrs(node, block, n_regions as u32);
        true
    }

    /// Checks that an operand is allowed at its place.
    #[inline]
    fn operand(&mut self, user: Option<NodeId>, block: BlockId, operand: NodeId, absent: Absent) {
        if self.state[operand.index()] & state::VISIBLE == 0 {
            self.unusual_operand(user, block, operand, absent);
        }
    }

    /// An operand that is not a visible value: it may still be right.
    fn unusual_operand(&mut self, user: Option<NodeId>, block: BlockId, operand: NodeId, absent: Absent) {
        let rec = *self.f.node(operand);
        let node = user.unwrap_or(operand);
        match rec.kind {
            kind::OP | kind::FIRST_LEAF.. => {}
            kind::GLOBAL_VAR => {
                let name = self.f.str(StrId(rec.a));
                if self.globals.is_some_and(|globals| !globals.0.contains_key(name)) {
                    self.fault(FaultCode::UnknownGlobal, node, block, format!("the module has no function `@{name}`"));
                }
            }
            kind::ABSENT if !operand.is_absent() => {
                self.fault(FaultCode::Dead, node, block, format!("`{operand}` is not in use"));
            }
            kind::ABSENT if absent == Absent::Allowed => {}
            kind::ABSENT => self.fault(FaultCode::Absent, node, block, "an operand is absent that cannot be"),
            kind::TUPLE if rec.aux == 1 => {
                self.fault(FaultCode::ResultTuple, node, block, format!("`{operand}` is a tuple of results, no value"));
            }
            _ => self.unseen.push(Unseen { user, block, operand }),
        }
    }

    /// Explains why operands were not visible, now that the place of everything is known.
    fn explain_unseen(&mut self) {
        for Unseen { user, block, operand } in std::mem::take(&mut self.unseen) {
            let node = user.unwrap_or(operand);
            let bound_in = self.bound_in[operand.index()].checked_sub(1).map(BlockId);
            let encloses = |outer: BlockId| {
                let (Some(outer), Some(inner)) = (self.interval[outer.index()], self.interval[block.index()]) else {
                    return false;
                };
                outer.0 <= inner.0 && inner.1 <= outer.1
            };
            let (code, why) = match bound_in {
                _ if Some(operand) == user => (FaultCode::Order, "the node itself".to_owned()),
                Some(_) if self.state[operand.index()] & state::PARAM != 0 => {
                    (FaultCode::Visibility, format!("a parameter of a function that does not enclose {block}"))
                }
                Some(outer) if encloses(outer) => (FaultCode::Order, format!("bound later, in {outer}")),
                Some(other) => (FaultCode::Visibility, format!("bound in {other}, which does not enclose {block}")),
                None if self.f.kind(operand) == kind::VAR => {
                    (FaultCode::Unbound, "a parameter of no function".to_owned())
                }
                None => (FaultCode::Unbound, "in no block".to_owned()),
            };
            self.fault(code, node, block, format!("operand `{operand}` is {why}"));
        }
    }

    // ---- the requirements of each kind
    // ----------------------------------------------------------------------------------

    fn constant(&mut self, node: NodeId, block: BlockId) {
        let Some(tensor) = self.f.constant(node) else { return };
        let dims = tensor.dims();
        let is_right = match self.f.type_of(node) {
            Type::Unknown => true,
            Type::Tensor { elem, shape } => {
                let fits = |shape: &[DimRec]| {
                    shape.len() == dims.len()
                        && shape
                            .iter()
                            .zip(dims)
                            .take(MOST_DIMS)
                            .all(|(&dim, &size)| Dim::from(dim).known().is_none_or(|known| known == size))
                };
                (elem == ElemType::UNKNOWN || elem == tensor.elem()) && shape.is_none_or(fits)
            }
            _ => false,
        };
        if !is_right {
            self.fault(FaultCode::TypeMismatch, node, block, format!("the type is not that of {tensor:?}"));
        }
    }

    fn tuple(&mut self, node: NodeId, block: BlockId) {
        let fields = &self.f.operands(node)[..self.f.operands(node).len() - self.f.n_regions(node)];
        for &field in fields {
            self.operand(Some(node), block, field, Absent::Refused);
        }
        let is_right = match self.f.type_of(node) {
            Type::Unknown => true,
            Type::Tuple(types) => {
                types.len() == fields.len()
                    && types.iter().zip(fields).all(|(&ty, &field)| may_be_same(self.f, ty, self.f.type_id(field)))
            }
            _ => false,
        };
        if !is_right {
            self.fault(FaultCode::TypeMismatch, node, block, "the type is not that of the tuple's fields");
        }
    }

    fn item(&mut self, node: NodeId, block: BlockId) {
        let tuple = self.f.operands(node)[0];
        let index = usize::from(self.f.node(node).aux);
        self.operand(Some(node), block, tuple, Absent::Refused);
        let ty = self.f.type_of(tuple);
        let n_fields = match (self.f.kind(tuple), self.f.n_results(tuple), ty) {
            (kind::TUPLE, ..) => Some(self.f.operands(tuple).len()),
            (_, Some(n_results), _) => Some(n_results),
            (_, None, Type::Tuple(fields)) => Some(fields.len()),
            (_, None, Type::Unknown | Type::Other(_)) => None,
            _ => return self.fault(FaultCode::Projection, node, block, format!("`{tuple}` is not a tuple")),
        };
        if let Some(n_fields) = n_fields
            && index >= n_fields
        {
            return self.fault(FaultCode::Projection, node, block, format!("item {index} of {n_fields}"));
        }
        let is_right = match ty {
            Type::Tuple(types) => {
                let field = types.get(index);
                field.is_some_and(|&field| may_be_same(self.f, field, self.f.type_id(node)))
            }
            Type::Unknown | Type::Other(_) => true,
            _ => false,
        };
        if !is_right {
            self.fault(
                FaultCode::TypeMismatch,
                node,
                block,
                format!("the type is not that of item {index} of `{tuple}`"),
            );
        }
    }

    fn branches(&mut self, node: NodeId, block: BlockId) {
        let expected = self.f.n_results(node).unwrap_or(1);
        for &branch in self.f.regions(node) {
            if self.f.kind(branch) != kind::FUNCTION {
                // Reported when it is visited.
                continue;
            }
            let n_results = self.f.results(self.f.block_of(branch)).len();
            if n_results != expected {
                let message = format!("branch `{branch}` has {n_results} results of {expected}");
                self.fault(FaultCode::Branches, node, block, message);
            }
            if !self.f.operands(branch).is_empty() {
                self.fault(FaultCode::Branches, node, block, format!("branch `{branch}` has parameters"));
            }
        }
    }

    /// Checks that graph-valued attributes name functions of the node.
    fn graph_attrs(&mut self, node: NodeId, block: BlockId, n_regions: u32) {
        let c = self.f.node(node).c as usize;
        if c == 0 {
            return;
        }
        if self.n_graphs.len() <= c {
            // Lists are read once, however many nodes share them.
            self.n_graphs.resize((c + 1).next_power_of_two(), None);
        }
        let n_graphs = *self.n_graphs[c].get_or_insert_with(|| {
            let asked = self.f.attr_recs(node).iter().map(|rec| match rec.kind {
                attr_kind::GRAPH => rec.a.saturating_add(1),
                attr_kind::GRAPHS if rec.b > 0 => rec.a.saturating_add(rec.b),
                _ => 0,
            });
            asked.max().unwrap_or(0)
        });
        if n_graphs > n_regions {
            let message = format!("an attribute asks for {n_graphs} functions, the node has {n_regions}");
            self.fault(FaultCode::GraphAttr, node, block, message);
        }
    }
}

/// Whether two types may describe one value: unknown parts may be anything.
fn may_be_same(function: &Function, a: TypeId, b: TypeId) -> bool {
    if a == b {
        return true;
    }
    match (function.ty(a), function.ty(b)) {
        (Type::Unknown | Type::Other(_), _) | (_, Type::Unknown | Type::Other(_)) => true,
        (Type::Tensor { elem: e, shape: s }, Type::Tensor { elem: f, shape: t })
        | (Type::SparseTensor { elem: e, shape: s }, Type::SparseTensor { elem: f, shape: t }) => {
            let is_known = e != ElemType::UNKNOWN && f != ElemType::UNKNOWN;
            let (Some(s), Some(t)) = (s, t) else {
                return !is_known || e == f;
            };
            let same_dims =
                s.iter().zip(t).take(MOST_DIMS).all(|(&p, &q)| match (Dim::from(p).known(), Dim::from(q).known()) {
                    (Some(p), Some(q)) => p == q,
                    _ => true,
                });
            (!is_known || e == f) && s.len() == t.len() && same_dims
        }
        (Type::Tuple(s), Type::Tuple(t)) => s.len() == t.len(),
        (Type::Func { params: s, .. }, Type::Func { params: t, .. }) => s.len() == t.len(),
        (Type::Map { key: k, .. }, Type::Map { key: l, .. }) => k == l,
        (p, q) => std::mem::discriminant(&p) == std::mem::discriminant(&q),
    }
}

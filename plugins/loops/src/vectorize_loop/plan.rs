//! Decides how the body of a loop is computed in lanes: which values differ from lane to lane, which bindings run lane by lane,
//! and whether any of that reorders what depends on each other.

use crate::fuse::bytes;
use relais_plugin_api::{
    ir::{BlockId, Walk, WalkStep, kind},
    op::Effects,
    prelude::*,
    prim::{Access, Accesses, Class, CoreOp, Dependence, LoopOps, rule, value_type},
};
use std::collections::{BTreeMap, HashMap, HashSet};

/// The reason for which a loop stays serial.
pub type WhySerial = &'static str;

/// The most pairs of accesses that are compared.
const MOST_PAIRS: usize = 1 << 16;

/// The most blocks in each other.
const MOST_DEPTH: usize = 64;

/// The most bytes of memory of one turn, times the number of lanes: it is on the stack.
const MOST_BYTES: u64 = 1 << 16;

/// How the body of a loop is computed in lanes.
#[derive(Default)]
pub struct Plan {
    /// The values that differ from lane to lane, and memory that exists once for each lane.
    pub varying: HashSet<NodeId>,
    /// The same of results of bindings with several.
    pub results: HashSet<(NodeId, usize)>,
    /// Conditionals whose stores are masked.
    pub masked: HashSet<NodeId>,
    /// The bindings that run lane by lane, with the number of the loop in which they do.
    pub serial: HashMap<NodeId, usize>,
}

/// The use of a value.
#[derive(Clone, Copy)]
enum Use {
    Operand(BlockId, NodeId),
    Result(BlockId),
}

/// A binding in the body, or in a block in it.
#[derive(Clone, Copy)]
struct Place {
    block: BlockId,
    id: NodeId,
}

/// Reads the body of a loop and decides.
pub struct Planner<'a> {
    f: &'a Function,
    ops: &'a LoopOps,
    accesses: &'a Accesses,
    body: BlockId,
    variable: NodeId,
    may_mask: bool,
    /// In program order.
    places: Vec<Place>,
    blocks: Vec<BlockId>,
    block_of: HashMap<NodeId, BlockId>,
    /// By block in the body: the binding that it belongs to, and the block of that one.
    owners: HashMap<BlockId, (NodeId, BlockId)>,
    uses: HashMap<NodeId, Vec<Use>>,
    /// The integers that are one more from each lane to the next.
    successive: HashSet<NodeId>,
    plan: Plan,
}

impl<'a> Planner<'a> {
    /// Plans the body of a loop, of which `lanes` turns are taken at once.
    ///
    /// # Errors
    /// Returns the reason if it cannot be computed in lanes.
    pub fn plan(
        f: &'a Function,
        ops: &'a LoopOps,
        accesses: &'a Accesses,
        id: NodeId,
        lanes: i64,
        may_mask: bool,
    ) -> Result<Plan, WhySerial> {
        let region = f.regions(id)[0];
        let (body, variable) = (f.block_of(region), f.operands(region)[0]);
        let mut planner = Self {
            f,
            ops,
            accesses,
            body,
            variable,
            may_mask,
            places: Vec::new(),
            blocks: Vec::new(),
            block_of: HashMap::new(),
            owners: HashMap::new(),
            uses: HashMap::new(),
            successive: HashSet::new(),
            plan: Plan::default(),
        };
        if planner.read() > MOST_DEPTH {
            return Err("it is nested too deep");
        }
        if planner.places.iter().any(|place| rule(f, ops, place.id).is_err()) {
            return Err("a binding in it breaks a rule");
        }
        planner.decide()?;
        let is_large = |&id: &NodeId| {
            ops.of(f, id) == Some(CoreOp::Alloc) && bytes(f, id).saturating_mul(lanes as u64) > MOST_BYTES
        };
        if planner.plan.varying.iter().any(is_large) {
            return Err("the memory of a turn is too large to be there for each lane");
        }
        planner.check_order(lanes)?;
        Ok(planner.plan)
    }

    /// Notes where everything is; returns the number of blocks in each other.
    fn read(&mut self) -> usize {
        let (f, mut depth) = (self.f, 0);
        let mut walk = Walk::block(self.body);
        let (mut owners, mut blocks): (Vec<NodeId>, Vec<BlockId>) = (Vec::new(), Vec::new());
        while let Some(step) = walk.next(f) {
            match step {
                WalkStep::Enter(block) => {
                    if let (Some(&owner), Some(&outer)) = (owners.last(), blocks.last()) {
                        self.owners.insert(block, (owner, outer));
                    }
                    blocks.push(block);
                    self.blocks.push(block);
                    depth = depth.max(blocks.len());
                }
                WalkStep::Exit(block) => {
                    for &id in f.results(block) {
                        self.uses.entry(id).or_default().push(Use::Result(block));
                    }
                    blocks.pop();
                }
                WalkStep::Leave(_) => drop(owners.pop()),
                WalkStep::Binding(id) => {
                    let block = blocks.last().copied().unwrap_or(self.body);
                    self.places.push(Place { block, id });
                    self.block_of.insert(id, block);
                    for &operand in f.operands(id) {
                        self.uses.entry(operand).or_default().push(Use::Operand(block, id));
                    }
                    if f.n_regions(id) > 0 {
                        owners.push(id);
                    }
                }
            }
        }
        depth
    }

    // ---- what differs from lane to lane -------------------------------------------------------------------------------

    fn decide(&mut self) -> Result<(), WhySerial> {
        self.plan.varying.insert(self.variable);
        loop {
            self.settle()?;
            if self.take_along() {
                continue;
            }
            self.number();
            if !self.join_apart() {
                break;
            }
        }
        let has_lanes = self.places.iter().any(|&Place { block, id }| {
            let is_store = self.ops.of(self.f, id).is_some_and(|op| op.info().effects.contains(Effects::WRITES));
            is_store && self.is_in_lanes(block, id) && self.f.operands(id).iter().any(|&it| self.differs(it))
        });
        if has_lanes { Ok(()) } else { Err("none of its stores can be computed in lanes") }
    }

    /// Reads the bindings until nothing new is known.
    fn settle(&mut self) -> Result<(), WhySerial> {
        loop {
            let size = |plan: &Plan| (plan.varying.len(), plan.results.len(), plan.serial.len());
            let before = size(&self.plan);
            self.successive = HashSet::from([self.variable]);
            for at in 0..self.places.len() {
                let Place { block, id } = self.places[at];
                match self.is_in_lanes(block, id) {
                    true => self.binding(block, id)?,
                    false => self.lane_by_lane(id)?,
                }
            }
            if size(&self.plan) == before {
                return Ok(());
            }
        }
    }

    fn differs(&self, id: NodeId) -> bool {
        self.plan.varying.contains(&id)
    }

    /// Whether a binding, and everything around it, is computed in lanes.
    fn is_in_lanes(&self, block: BlockId, id: NodeId) -> bool {
        let (mut block, mut id) = (block, id);
        loop {
            if self.plan.serial.contains_key(&id) {
                return false;
            }
            match self.owners.get(&block) {
                Some(&(owner, outer)) => (id, block) = (owner, outer),
                None => return true,
            }
        }
    }

    /// The memory of an `alloc` in the body, computed in lanes: each turn has its own.
    fn own(&self, memory: NodeId) -> Option<NodeId> {
        let root = self.ops.memory_of(self.f, memory);
        let &block = self.block_of.get(&root)?;
        let is_own = self.ops.of(self.f, root) == Some(CoreOp::Alloc) && self.is_in_lanes(block, root);
        is_own.then_some(root)
    }

    /// Lets a binding run lane by lane, and what uses its value with it.
    fn separate(&mut self, id: NodeId) {
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            if self.plan.serial.insert(id, 0).is_some() {
                continue;
            }
            self.plan.masked.remove(&id);
            let Some(&block) = self.block_of.get(&id) else { continue };
            for &at in self.uses.get(&id).into_iter().flatten() {
                open.extend(self.statement_of(at, block));
            }
        }
    }

    /// The binding of a block that a use belongs to; the block's owner if it is the result of the block.
    fn statement_of(&self, at: Use, target: BlockId) -> Option<NodeId> {
        let (mut block, mut id) = match at {
            Use::Operand(block, id) => (block, id),
            Use::Result(block) => {
                let &(owner, outer) = self.owners.get(&block)?;
                if block == target {
                    return Some(owner);
                }
                (outer, owner)
            }
        };
        while block != target {
            let &(owner, outer) = self.owners.get(&block)?;
            (id, block) = (owner, outer);
        }
        Some(id)
    }

    fn is_vector(&self, id: NodeId) -> bool {
        value_type(self.f.type_of(id)).is_some_and(|ty| ty.lanes.is_some()) && !self.ops.is_memory(self.f, id)
    }

    /// Whether a load or store is one of a single element.
    fn is_single(&self, op: CoreOp, id: NodeId) -> bool {
        let value = match op {
            CoreOp::Load => id,
            CoreOp::Store => self.f.operands(id)[2],
            _ => return false,
        };
        !self.is_vector(value)
    }

    /// A binding that may be computed in lanes.
    fn binding(&mut self, block: BlockId, id: NodeId) -> Result<(), WhySerial> {
        let (f, ops) = (self.f, self.ops);
        let is_masked = self.owners.get(&block).is_some_and(|(owner, _)| self.plan.masked.contains(owner));
        match f.expr(id) {
            Expr::Constant(_) => return Ok(()),
            Expr::TupleGetItem { tuple, index } => {
                if self.plan.results.contains(&(tuple, index)) {
                    self.plan.varying.insert(id);
                }
                return Ok(());
            }
            Expr::If(view) => {
                if self.differs(view.cond()) {
                    self.separate(id);
                    return Ok(());
                }
                let branches = [view.then_branch(), view.else_branch()].map(|branch| f.results(f.block_of(branch)));
                self.results(
                    id,
                    |planner, at| branches.iter().any(|branch| planner.differs(branch[at])),
                    branches[0].len(),
                );
                return Ok(());
            }
            _ => {}
        }
        let Some(op) = ops.of(f, id) else {
            self.call(id)?;
            self.separate(id);
            return Ok(());
        };
        let args = &f.operands(id)[1..];
        match op {
            CoreOp::For => {
                let (bounds, region) = (&args[..2], f.regions(id)[0]);
                if bounds.iter().any(|&bound| self.differs(bound)) {
                    self.separate(id);
                    return Ok(());
                }
                let (first, params) = (&args[2..], &f.operands(region)[1..]);
                let next = f.results(f.block_of(region));
                for (at, &param) in params.iter().enumerate() {
                    if self.differs(first[at]) || self.differs(next[at]) {
                        self.plan.varying.insert(param);
                    }
                }
                self.results(id, |planner, at| planner.differs(params[at]), params.len());
            }
            CoreOp::While => return Err("there is a `while` in it"),
            CoreOp::When if self.differs(args[0]) => {
                if self.may_mask && self.can_mask(id) {
                    self.plan.masked.insert(id);
                } else {
                    self.separate(id);
                }
            }
            CoreOp::Assert if self.differs(args[0]) => return Err("an `assert` differs from turn to turn"),
            CoreOp::When | CoreOp::Assert | CoreOp::Alloc => {}
            CoreOp::View => {
                if self.own(args[0]).is_some_and(|root| self.differs(root)) {
                    self.plan.varying.insert(id);
                }
            }
            CoreOp::Dim if self.own(args[0]).is_some() => return Err("a size of memory of a turn is asked for"),
            CoreOp::Dim => {}
            _ if op.first_index().is_some() => self.access(op, id, is_masked)?,
            _ => {
                if args.iter().any(|&arg| self.differs(arg)) {
                    if self.is_vector(id) || args.iter().any(|&arg| self.is_vector(arg)) {
                        self.separate(id);
                        return Ok(());
                    }
                    self.plan.varying.insert(id);
                    self.note_successor(op, id);
                }
            }
        }
        Ok(())
    }

    /// Notes which results of a binding differ.
    fn results(&mut self, id: NodeId, differs: impl Fn(&Self, usize) -> bool, n: usize) {
        for at in 0..n {
            if differs(self, at) {
                match self.f.n_results(id) {
                    None => drop(self.plan.varying.insert(id)),
                    Some(_) => drop(self.plan.results.insert((id, at))),
                }
            }
        }
    }

    /// Notes whether an integer is one more from lane to lane.
    fn note_successor(&mut self, op: CoreOp, id: NodeId) {
        let &[_, a, b] = self.f.operands(id) else { return };
        let [is_a, is_b] = [a, b].map(|it| self.successive.contains(&it));
        let is_successive = match op {
            CoreOp::Add => is_a && !self.differs(b) || is_b && !self.differs(a),
            CoreOp::Sub => is_a && !self.differs(b),
            _ => false,
        };
        if is_successive {
            self.successive.insert(id);
        }
    }

    fn access(&mut self, op: CoreOp, id: NodeId, is_masked: bool) -> Result<(), WhySerial> {
        let f = self.f;
        let args = &f.operands(id)[1..];
        let memory = args[0];
        let own = self.own(memory);
        let indices = &args[op.first_index().unwrap_or(1)..];
        let is_elsewhere = indices.iter().any(|&index| self.differs(index));
        let differs = args.iter().any(|&arg| self.differs(arg)) || own.is_some_and(|root| self.differs(root));
        if !self.is_single(op, id) {
            return match own {
                _ if !differs => Ok(()),
                Some(_) => Err("memory of a turn is accessed by vectors"),
                None => {
                    self.separate(id);
                    Ok(())
                }
            };
        }
        let is_write = op == CoreOp::Store;
        if let Some(root) = own {
            if is_write && differs {
                self.plan.varying.insert(root);
            }
        } else if differs {
            let inner = indices.len().saturating_sub(1);
            let is_flat = indices[..inner].iter().all(|&index| !self.differs(index));
            let is_known = f.type_of(memory).static_shape().is_some();
            // All lanes store at one place, or the place among all elements is not known.
            if is_write && !is_elsewhere || !is_flat && !is_known {
                if !is_masked {
                    self.separate(id);
                }
                return Ok(());
            }
        }
        if !is_write && differs {
            self.plan.varying.insert(id);
        }
        Ok(())
    }

    /// Whether the statements of a conditional can be computed for all lanes, of which some store nothing: only accesses in a
    /// row, and operations that cannot fail for numbers that they would not get otherwise.
    fn can_mask(&mut self, id: NodeId) -> bool {
        let f = self.f;
        let &[then] = f.regions(id) else { return false };
        for &inner in f.bindings(f.block_of(then)) {
            let Some(op) = self.ops.of(f, inner).filter(|_| f.n_regions(inner) == 0) else { return false };
            let args = &f.operands(inner)[1..];
            if let Some(first) = op.first_index() {
                let Some((last, others)) = args[first..].split_last() else { return false };
                let is_in_a_row = self.successive.contains(last) && !others.iter().any(|&index| self.differs(index));
                if !self.is_single(op, inner) || !is_in_a_row || self.own(args[0]).is_some() {
                    return false;
                }
                if op == CoreOp::Load {
                    self.plan.varying.insert(inner);
                }
                continue;
            }
            let elem = |id: NodeId| f.type_of(id).elem().unwrap_or(ElemType::UNKNOWN);
            // A float that no lane asks for may be beyond the integer type.
            let may_be_undefined = op == CoreOp::Cast && elem(args[0]).is_float() && !elem(inner).is_float();
            let is_vector = self.is_vector(inner) || args.iter().any(|&arg| self.is_vector(arg));
            let is_value = op.info().effects == Effects::PURE && !op.is_statement() && !op.takes_memory();
            if may_be_undefined || is_vector || !is_value {
                return false;
            }
            if args.iter().any(|&arg| self.differs(arg)) {
                self.plan.varying.insert(inner);
                self.note_successor(op, inner);
            }
        }
        true
    }

    /// A call of another prim func.
    fn call(&self, id: NodeId) -> Result<(), WhySerial> {
        match self.f.operands(id).iter().any(|&arg| self.own(arg).is_some()) {
            true => Err("a call takes memory of a turn"),
            false => Ok(()),
        }
    }

    /// A binding that runs lane by lane, or is part of one.
    fn lane_by_lane(&mut self, id: NodeId) -> Result<(), WhySerial> {
        let f = self.f;
        match self.ops.of(f, id) {
            Some(CoreOp::While) => return Err("there is a `while` in it"),
            Some(CoreOp::Assert) => return Err("an `assert` differs from turn to turn"),
            Some(CoreOp::View) => {}
            Some(op) if op.first_index().is_some() => {
                if let Some(root) = self.own(f.operands(id)[1]) {
                    if !self.is_single(op, id) {
                        return Err("memory of a turn is accessed by vectors");
                    }
                    if op == CoreOp::Store {
                        self.plan.varying.insert(root);
                    }
                }
            }
            Some(CoreOp::Dim) if self.own(f.operands(id)[1]).is_some() => {
                return Err("a size of memory of a turn is asked for");
            }
            None if f.kind(id) == kind::CALL => self.call(id)?,
            _ => {}
        }
        Ok(())
    }

    // ---- loops over lanes ---------------------------------------------------------------------------------------------

    /// The blocks whose bindings are computed in lanes, those of masked conditionals aside.
    fn blocks_in_lanes(&self) -> Vec<BlockId> {
        let is_in_lanes = |&block: &BlockId| match self.owners.get(&block) {
            None => true,
            Some(&(owner, outer)) => !self.plan.masked.contains(&owner) && self.is_in_lanes(outer, owner),
        };
        self.blocks.iter().copied().filter(is_in_lanes).collect()
    }

    /// Whether a binding that is computed in lanes can be computed before what runs lane by lane in front of it.
    fn is_free(&self, id: NodeId) -> bool {
        match self.ops.of(self.f, id) {
            Some(CoreOp::Alloc) => true,
            Some(op) => op.info().effects == Effects::PURE && self.f.n_regions(id) == 0,
            None => matches!(self.f.kind(id), kind::CONSTANT | kind::TUPLE_GET_ITEM),
        }
    }

    /// Lets loads and cheap values run lane by lane that only what follows them directly and runs so needs.
    fn take_along(&mut self) -> bool {
        let mut taken = Vec::new();
        for block in self.blocks_in_lanes() {
            let mut group: HashSet<NodeId> = HashSet::new();
            for &id in self.f.bindings(block).iter().rev() {
                if self.plan.serial.contains_key(&id) {
                    group.insert(id);
                } else if self.is_only_for(id, block, &group) {
                    group.insert(id);
                    taken.push(id);
                } else if !self.is_free(id) {
                    group.clear();
                }
            }
        }
        taken.iter().for_each(|&id| self.separate(id));
        !taken.is_empty()
    }

    fn is_only_for(&self, id: NodeId, block: BlockId, group: &HashSet<NodeId>) -> bool {
        let Some(op) = self.ops.of(self.f, id) else { return false };
        let is_taken = match op {
            CoreOp::Load => self.is_single(op, id),
            _ => {
                let info = op.info();
                info.effects == Effects::PURE && info.class != Class::Math && !op.is_statement() && !op.takes_memory()
            }
        };
        let uses = self.uses.get(&id).map_or(&[][..], Vec::as_slice);
        let is_used = |&at: &Use| {
            !matches!(at, Use::Result(result) if result == block)
                && self.statement_of(at, block).is_some_and(|user| group.contains(&user))
        };
        is_taken && self.differs(id) && !uses.is_empty() && uses.iter().all(is_used)
    }

    /// Numbers the loops in which bindings run lane by lane.
    fn number(&mut self) {
        let mut n = 0;
        for block in self.blocks_in_lanes() {
            n += 1;
            for &id in self.f.bindings(block) {
                let is_free = self.is_free(id);
                match self.plan.serial.get_mut(&id) {
                    Some(number) => *number = n,
                    None => n += usize::from(!is_free),
                }
            }
        }
    }

    /// Where a value that is computed lane by lane is used in a later loop, lets all that is between run so, too.
    fn join_apart(&mut self) -> bool {
        let mut between = Vec::new();
        for block in self.blocks_in_lanes() {
            let list = self.f.bindings(block);
            let place: HashMap<NodeId, usize> = list.iter().enumerate().map(|(at, &id)| (id, at)).collect();
            for (at, id) in list.iter().enumerate() {
                let Some(number) = self.plan.serial.get(id) else { continue };
                for &other in self.uses.get(id).into_iter().flatten() {
                    let Some(user) = self.statement_of(other, block) else { continue };
                    if let Some(&end) = place.get(&user).filter(|_| self.plan.serial.get(&user) != Some(number)) {
                        between.extend(list[at..end].iter().filter(|id| !self.plan.serial.contains_key(id)));
                    }
                }
            }
        }
        between.iter().for_each(|&id| self.separate(id));
        !between.is_empty()
    }

    // ---- the order of accesses ----------------------------------------------------------------------------------------

    /// The bindings around one, from the body on, and itself.
    fn path(&self, block: BlockId, id: NodeId) -> Vec<NodeId> {
        let (mut path, mut block) = (vec![id], block);
        while let Some(&(owner, outer)) = self.owners.get(&block) {
            path.push(owner);
            block = outer;
        }
        path.reverse();
        path
    }

    /// Proves that what depends on each other stays in order.
    fn check_order(&self, lanes: i64) -> Result<(), WhySerial> {
        let (f, ops) = (self.f, self.ops);
        let mut of: BTreeMap<NodeId, Vec<(Place, Option<&Access>)>> = BTreeMap::new();
        for &place in &self.places {
            match self.accesses.of(place.id) {
                Some(access) => of.entry(access.root).or_default().push((place, Some(access))),
                None if ops.of(f, place.id).is_none() && f.kind(place.id) == kind::CALL => {
                    let roots: HashSet<NodeId> =
                        f.operands(place.id)[1..].iter().map(|&it| ops.memory_of(f, it)).collect();
                    roots.into_iter().for_each(|root| of.entry(root).or_default().push((place, None)));
                }
                None => {}
            }
        }
        let mut n_pairs = 0;
        for (root, all) in of {
            let is_read_only = all.iter().all(|(_, access)| access.is_some_and(|access| !access.is_write));
            if is_read_only || self.block_of.contains_key(&root) {
                continue;
            }
            for (at, first) in all.iter().enumerate() {
                for second in &all[at..] {
                    n_pairs += 1;
                    if n_pairs > MOST_PAIRS {
                        return Err("it has too many accesses to memory");
                    }
                    self.check_pair(*first, *second, lanes)?;
                }
            }
        }
        Ok(())
    }

    fn check_pair(
        &self,
        (first, a): (Place, Option<&Access>),
        (second, b): (Place, Option<&Access>),
        lanes: i64,
    ) -> Result<(), WhySerial> {
        const FAULT: WhySerial = "a turn may use what another one writes";
        if matches!((a, b), (Some(a), Some(b)) if !a.is_write && !b.is_write) {
            return Ok(());
        }
        // Whether turns of a loop in it come between.
        let mut is_within_turns = false;
        let (path, other) = (self.path(first.block, first.id), self.path(second.block, second.id));
        for (x, y) in path.iter().zip(&other) {
            let [number, other] = [x, y].map(|id| self.plan.serial.get(id));
            if number.is_some() && number == other {
                if !is_within_turns {
                    return Ok(());
                }
                break;
            }
            if x != y {
                break;
            }
            is_within_turns |= self.ops.of(self.f, *x) == Some(CoreOp::For);
        }
        let (Some(a), Some(b)) = (a, b) else { return Err(FAULT) };
        let is_same = |place: Place| !self.f.operands(place.id).iter().any(|&operand| self.differs(operand));
        if a.is_write
            && b.is_write
            && [first, second].into_iter().all(|place| is_same(place) && self.is_in_lanes(place.block, place.id))
        {
            // Stored again and again, it is the same.
            return Ok(());
        }
        if first.id == second.id && !is_within_turns {
            // The lanes of one store are stored in order.
            return Ok(());
        }
        // How many turns the first one is behind the second one.
        match self.accesses.meets(a, b, self.variable) {
            Dependence::Never => Ok(()),
            Dependence::Within { min, max } => {
                let is_before = max <= 0 || min >= lanes;
                let is_behind = min >= 0 || max <= -lanes;
                if is_before && (is_behind || !is_within_turns) { Ok(()) } else { Err(FAULT) }
            }
            Dependence::Unknown => Err(FAULT),
        }
    }
}

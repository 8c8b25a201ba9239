//! The names that values are written under.
//!
//! A value keeps its name if it can. Names of outputs belong to their positions: the value at a position takes the
//! name, and if it cannot (an input of another name, a value of an enclosing graph, a second output), an `Identity` carries
//! it.
//!
//! A value without a name, such as one that a rewrite made, is named after the value with a name that needs it first.

use crate::{
    error::{ErrorKind, OnnxError, Result},
    meta,
    names::{FastMap, NameId},
    read::scope::Scope,
    wire::is_text,
};
use relais_plugin_api::ir::{AttrValue, BlockId, ConstForm, Function, NodeId, StrId, flag, kind};
use std::{borrow::Cow, collections::BTreeSet};

/// How an output comes by its name.
#[derive(Clone, Debug)]
pub(super) struct Output {
    pub name: String,
    /// The value that an `Identity` takes the name from.
    pub identity_of: Option<NodeId>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Name {
    None,
    /// The name of the node in the function, while it is not decided whether it keeps it.
    Wanted(NameId),
    Own(NameId),
    Fresh(u32),
}

/// The names of all values of a function.
pub(super) struct Names<'a> {
    f: &'a Function,
    /// The names in the function, with their meanings at the current place.
    scope: Scope,
    names: Vec<Name>,
    fresh: Vec<String>,
    /// The values that projections represent, if not themselves.
    values: FastMap<NodeId, NodeId>,
    /// The first projection of each result.
    projections: FastMap<(NodeId, u16), NodeId>,
    outputs: FastMap<BlockId, Vec<Output>>,
    /// How many names were made from a base. Each name that was made is a base, too, and taken.
    counters: FastMap<String, u32>,
}

/// Whether a constant is listed as an input of its graph.
pub(super) fn is_listed(f: &Function, id: NodeId) -> bool {
    f.node(id).flags & flag::LISTED_INPUT != 0 || f.attrs(id).meta(meta::INPUT_INDEX).is_some()
}

impl<'a> Names<'a> {
    /// Chooses the names.
    pub fn new(f: &'a Function) -> Result<Self> {
        let mut forced = BTreeSet::new();
        loop {
            let mut chooser = Chooser::new(f, &forced);
            chooser.run()?;
            let Chooser { names, conflicts, .. } = chooser;
            let Some(&conflict) = conflicts.first() else { return Ok(names) };
            let n_forced = forced.len();
            forced.extend(conflicts);
            if forced.len() == n_forced {
                // The name belongs to an output of the inner graph, and the outer value has no other.
                return Err(OnnxError::new(ErrorKind::DuplicateName(names.name(conflict).unwrap_or_default().into())));
            }
        }
    }

    /// Returns the value that `id` represents: itself, or the one that a projection of a tuple selects.
    pub fn value(&self, id: NodeId) -> NodeId {
        if self.f.kind(id) != kind::TUPLE_GET_ITEM {
            return id;
        }
        self.values.get(&id).copied().unwrap_or(id)
    }

    /// The name of a value in the function, before a name is chosen for it.
    fn wanted(&self, value: NodeId) -> Option<NameId> {
        match self.names[value.index()] {
            Name::Wanted(name) => Some(name),
            _ => None,
        }
    }

    /// The name of a value; empty for the absent operand, `None` for a value without a name (a tuple).
    pub fn name(&self, id: NodeId) -> Option<&str> {
        self.bytes(id).map(|name| std::str::from_utf8(name).unwrap_or_default())
    }

    /// The bytes of [`name`](Self::name).
    pub fn bytes(&self, id: NodeId) -> Option<&[u8]> {
        let value = self.value(id);
        if value.is_absent() {
            return Some(b"");
        }
        match self.names[value.index()] {
            Name::None | Name::Wanted(_) => None,
            Name::Own(name) => Some(self.f.bytes(self.scope.names.name(name))),
            Name::Fresh(index) => Some(self.fresh[index as usize].as_bytes()),
        }
    }

    /// The text of a name that was chosen; empty if there is none.
    fn shown(&self, name: Name) -> &str {
        match name {
            Name::Own(name) => self.text(name),
            Name::Fresh(fresh) => &self.fresh[fresh as usize],
            Name::None | Name::Wanted(_) => "",
        }
    }

    /// The text of a name in the function.
    fn text(&self, name: NameId) -> &'a str {
        self.f.str(self.scope.names.name(name))
    }

    /// Returns the names of a node's outputs; unused outputs that had no name stay empty.
    pub fn outputs_of(&self, id: NodeId) -> impl Iterator<Item = &[u8]> {
        let n_results = self.f.n_results(id);
        let has_none = || matches!(self.f.attrs(id).meta(meta::N_OUTPUTS), Some(AttrValue::Int(0)));
        let count = n_results.unwrap_or_else(|| usize::from(!has_none()));
        let value = move |index: usize| match n_results {
            None => Some(id),
            Some(_) => self.projections.get(&(id, index as u16)).copied(),
        };
        (0..count).map(move |index| value(index).and_then(|value| self.bytes(value)).unwrap_or_default())
    }

    /// A name that nothing else has: `base`, or `base_1` and so on.
    pub fn make_fresh(&mut self, base: &str) -> String {
        let base = if base.is_empty() { "value" } else { base };
        let mut count = self.counters.get(base).copied().unwrap_or_default();
        loop {
            let name = if count == 0 { base.to_owned() } else { format!("{base}_{count}") };
            count += 1;
            let is_given = count > 1 && self.counters.contains_key(&name);
            if !is_given && self.scope.names.find(self.f, name.as_bytes()).is_none() {
                self.counters.insert(name.clone(), 1);
                self.counters.insert(base.to_owned(), count);
                return name;
            }
        }
    }

    /// How the outputs of a block come by their names.
    pub fn outputs(&self, block: BlockId) -> &[Output] {
        self.outputs.get(&block).map_or(&[], Vec::as_slice)
    }

    /// Whether any output needs an `Identity`.
    pub fn have_identities(&self) -> bool {
        self.outputs.values().flatten().any(|output| output.identity_of.is_some())
    }
}

/// An open graph.
struct Frame {
    function: NodeId,
    next: usize,
    next_region: usize,
    /// Names of the outputs, and the values that have them; the absent operand where an `Identity` will.
    reserved: FastMap<NameId, NodeId>,
    /// Outputs' names of values that do not have that name themselves.
    imposed: FastMap<NodeId, Name>,
}

struct Chooser<'a, 'c> {
    f: &'a Function,
    names: Names<'a>,
    /// For each bound value its block plus one.
    home: Vec<u32>,
    /// By node, if there are any: the name of the first value with one that needs it.
    near: Vec<StrId>,
    /// Values that must not keep their names, because a use would see them instead of an outer value.
    forced: &'c BTreeSet<NodeId>,
    conflicts: Vec<NodeId>,
    has_shadows: bool,
}

impl<'a, 'c> Chooser<'a, 'c> {
    fn new(f: &'a Function, forced: &'c BTreeSet<NodeId>) -> Self {
        let n = f.n_nodes();
        let mut scope = Scope::default();
        scope.names.reserve(n);
        let mut names = Vec::with_capacity(n);
        for id in (0..n).map(NodeId::from_index) {
            let name = f.name_id(id);
            let is_named = name != StrId::EMPTY && is_text(f.bytes(name));
            names.push(if is_named { Name::Wanted(scope.names.intern(f, name)) } else { Name::None });
            if f.kind(id) == kind::FUNCTION {
                output_names(f, id).for_each(|name| _ = scope.names.intern(f, name));
            }
        }
        let names = Names {
            f,
            scope,
            names,
            fresh: Vec::new(),
            values: FastMap::default(),
            projections: FastMap::default(),
            outputs: FastMap::default(),
            counters: FastMap::default(),
        };
        Self { f, names, home: vec![0; n], near: near(f), forced, conflicts: Vec::new(), has_shadows: false }
    }

    fn run(&mut self) -> Result<()> {
        let mut frames = vec![self.open(self.f.root())?];
        while let Some(frame) = frames.last_mut() {
            let block = self.f.block_of(frame.function);
            let Some(&binding) = self.f.bindings(block).get(frame.next) else {
                let is_inner = frame.function != self.f.root();
                frames.pop();
                if is_inner {
                    self.settle_outputs(block);
                }
                self.names.scope.leave();
                continue;
            };
            let regions = self.f.regions(binding);
            if frame.next_region == 0 {
                self.check_uses(binding);
            }
            if let Some(&region) = regions.get(frame.next_region) {
                frame.next_region += 1;
                let inner = self.open(region)?;
                frames.push(inner);
                continue;
            }
            frame.next += 1;
            frame.next_region = 0;
            let is_value = match self.f.kind(binding) {
                kind::CONSTANT => !self.is_seen_everywhere(binding),
                kind::CALL | kind::IF => self.f.n_results(binding).is_none(),
                kind::TUPLE_GET_ITEM => self.names.value(binding) == binding,
                _ => false,
            };
            if is_value {
                self.define(frame, binding);
            }
        }
        Ok(())
    }

    /// With hidden names around, a use must still see the value it means.
    fn check_uses(&mut self, binding: NodeId) {
        if !self.has_shadows {
            return;
        }
        for &operand in self.f.operands(binding) {
            let value = self.names.value(operand);
            let Name::Own(name) = self.names.names[value.index()] else { continue };
            if let Some(seen) = self.names.scope.get(name).filter(|&seen| seen != value) {
                self.conflicts.push(seen);
            }
        }
    }

    /// Whether a value of a graph around the innermost one has a name.
    fn is_taken(&self, name: NameId) -> bool {
        self.names.scope.get(name).is_some() && self.names.scope.get_local(name).is_none()
    }

    fn make_fresh(&mut self, base: &str) -> Name {
        let name = self.names.make_fresh(base);
        self.names.fresh.push(name);
        Name::Fresh(self.names.fresh.len() as u32 - 1)
    }

    fn base(&self, value: NodeId) -> Cow<'a, str> {
        let f = self.f;
        let named = f.name(value);
        if !named.is_empty() {
            return named.into();
        }
        let what = match f.kind(value) {
            kind::VAR => "input",
            kind::CONSTANT => "const",
            kind::IF => "If",
            kind::TUPLE_GET_ITEM => f.call(f.operands(value)[0]).map_or("value", |call| call.op_name()),
            _ => f.call(value).map_or("value", |call| call.op_name()),
        };
        match self.near.get(value.index()) {
            Some(&near) if near != StrId::EMPTY => format!("{}/{what}", f.str(near)).into(),
            _ => what.into(),
        }
    }

    fn define(&mut self, frame: &Frame, value: NodeId) {
        let own = self.names.wanted(value).filter(|_| !self.forced.contains(&value));
        let name = match (frame.imposed.get(&value), own) {
            (Some(&imposed), _) => imposed,
            (None, None) => self.make_fresh(&self.base(value)),
            (None, Some(own)) if frame.reserved.get(&own).is_some_and(|&owner| owner != value) => {
                self.make_fresh(self.names.text(own))
            }
            (None, Some(own)) => Name::Own(own),
        };
        self.claim(value, name);
    }

    /// Gives the outputs of an inner graph the names of their values: an outer value may have had theirs.
    fn settle_outputs(&mut self, block: BlockId) {
        let Some(mut outputs) = self.names.outputs.remove(&block) else { return };
        for (output, &result) in outputs.iter_mut().zip(self.f.results(block)) {
            if let (None, Some(name)) = (output.identity_of, self.names.name(result)) {
                name.clone_into(&mut output.name);
            }
        }
        self.names.outputs.insert(block, outputs);
    }

    fn claim(&mut self, value: NodeId, name: Name) {
        let mut name = name;
        if let Name::Own(own) = name {
            // Only values that were read like this may hide an outer name or, among a graph's inputs, occur twice.
            let scope = &mut self.names.scope;
            let is_free = match scope.get(own) {
                None => true,
                Some(_) if scope.get_local(own).is_some() => false,
                Some(_) => {
                    let shadows = self.f.attrs(value).meta(meta::SHADOWS).is_some();
                    self.has_shadows |= shadows;
                    shadows
                }
            };
            if is_free {
                scope.define(own, value);
            } else {
                name = self.make_fresh(self.names.text(own));
            }
        }
        self.names.names[value.index()] = name;
    }

    /// Begins a graph: resolves projections, names the parameters and the outputs.
    fn open(&mut self, function: NodeId) -> Result<Frame> {
        let f = self.f;
        let block = f.block_of(function);
        self.names.scope.enter();
        for &binding in f.bindings(block) {
            self.home[binding.index()] = block.0 + 1;
            if f.kind(binding) == kind::TUPLE_GET_ITEM {
                self.resolve(binding);
            }
        }
        let mut frame =
            Frame { function, next: 0, next_region: 0, reserved: FastMap::default(), imposed: FastMap::default() };
        for &param in f.operands(function) {
            let own = self.names.wanted(param).filter(|_| !self.forced.contains(&param));
            let name = own.map_or_else(|| self.make_fresh(&self.base(param)), Name::Own);
            self.claim(param, name);
        }
        self.name_outputs(&mut frame, block)?;
        for &binding in f.bindings(block) {
            if self.is_seen_everywhere(binding) {
                self.define(&frame, binding);
            }
        }
        Ok(frame)
    }

    /// Whether a value with a name is a new constant, which may be an initializer: graphs of nodes before it see its name, too.
    fn is_seen_everywhere(&self, id: NodeId) -> bool {
        let is_new = self.f.kind(id) == kind::CONSTANT && ConstForm(self.f.node(id).aux) == ConstForm::ANY;
        is_new && self.f.name_id(id) != StrId::EMPTY
    }

    /// Resolves a projection.
    fn resolve(&mut self, projection: NodeId) {
        let tuple = self.names.value(self.f.operands(projection)[0]);
        let index = self.f.node(projection).aux;
        let value = if self.f.kind(tuple) == kind::TUPLE {
            self.f.operands(tuple).get(usize::from(index)).map(|&field| self.names.value(field))
        } else {
            Some(*self.names.projections.entry((tuple, index)).or_insert(projection))
        };
        if let Some(value) = value.filter(|&value| value != projection) {
            self.names.values.insert(projection, value);
        }
    }

    fn name_outputs(&mut self, frame: &mut Frame, block: BlockId) -> Result<()> {
        let f = self.f;
        let names = &mut self.names.scope.names;
        let wanted: Vec<NameId> = output_names(f, frame.function).map(|name| names.intern(f, name)).collect();
        let empty = names.intern(f, StrId::EMPTY);
        let results: Vec<NodeId> = f.results(block).iter().map(|&result| self.names.value(result)).collect();
        let can_be_named = |this: &Self, value: NodeId| this.home[value.index()] == block.0 + 1 && !is_listed(f, value);
        let mut owners: FastMap<NodeId, usize> = FastMap::default();
        for (index, &value) in results.iter().enumerate() {
            if can_be_named(self, value)
                && wanted.get(index).is_some_and(|&name| Some(name) == self.names.wanted(value))
            {
                owners.entry(value).or_insert(index);
            }
        }
        let mut outputs = Vec::with_capacity(results.len());
        for (index, &value) in results.iter().enumerate() {
            let name = match wanted.get(index) {
                Some(&name) => Name::Own(name),
                None => Name::None,
            };
            if value.is_absent() {
                if name != Name::None && name != Name::Own(empty) {
                    return Err(OnnxError::new(ErrorKind::NotExpressible("an output without a value")));
                }
                outputs.push(Output { name: String::new(), identity_of: None });
                continue;
            }
            if f.n_results(value).is_some() {
                return Err(OnnxError::new(ErrorKind::NotExpressible("a tuple as an output")));
            }
            let is_local = can_be_named(self, value);
            let is_owner = is_local && *owners.entry(value).or_insert(index) == index;
            let name = match name {
                Name::None => match self.names.wanted(value).filter(|_| is_owner && !self.forced.contains(&value)) {
                    Some(own) => Name::Own(own),
                    None => self.make_fresh("output"),
                },
                name => name,
            };
            let has_it = !is_owner
                && match (name, self.names.names[value.index()]) {
                    (Name::Own(name), Name::Own(own)) => name == own,
                    // A listed constant keeps its name, as inputs do.
                    (Name::Own(name), Name::Wanted(own)) if is_listed(f, value) => name == own,
                    // A value of this block has no name yet: its own is the one it will get.
                    (Name::Own(name), Name::None | Name::Wanted(_)) => {
                        is_local && owners[&value] < index && wanted.get(owners[&value]) == Some(&name)
                    }
                    _ => false,
                };
            let identity_of = (!is_owner && !has_it).then_some(value);
            let name = match name {
                // The name of an inner graph's output hides none of an outer value.
                Name::Own(own) if identity_of.is_some() && frame.function != f.root() && self.is_taken(own) => {
                    self.make_fresh(self.names.text(own))
                }
                name => name,
            };
            // An output that is listed again is the same `Identity`.
            let is_again = |output: &Output| output.identity_of == Some(value) && output.name == self.names.shown(name);
            if identity_of.is_some() && outputs.iter().any(is_again) {
                outputs.push(Output { name: self.names.shown(name).to_owned(), identity_of: None });
                continue;
            }
            if let Name::Own(name) = name {
                let owner = if identity_of.is_some() { NodeId::ABSENT } else { value };
                if frame.reserved.insert(name, owner).is_some_and(|old| old != owner || identity_of.is_some()) {
                    return Err(OnnxError::new(ErrorKind::DuplicateName(self.names.text(name).into())));
                }
            }
            if is_owner {
                frame.imposed.insert(value, name);
            }
            outputs.push(Output { name: self.names.shown(name).to_owned(), identity_of });
        }
        self.names.outputs.insert(block, outputs);
        Ok(())
    }
}

/// Returns, by node, the name of the first value in program order that has one and needs it, directly or through values
/// without names; nothing if every value has a name or none has.
fn near(f: &Function) -> Vec<StrId> {
    let is_named = |id: NodeId| {
        let name = f.name_id(id);
        name != StrId::EMPTY && is_text(f.bytes(name))
    };
    let bindings: Vec<NodeId> = f.all_bindings().collect();
    if bindings.iter().all(|&id| is_named(id) || f.kind(id) == kind::FUNCTION) {
        return Vec::new();
    }
    let mut near = vec![StrId::EMPTY; f.n_nodes()];
    for id in (0..f.n_nodes()).map(NodeId::from_index) {
        if is_named(id) {
            near[id.index()] = f.name_id(id);
        }
    }
    for id in (0..f.n_nodes()).map(NodeId::from_index).filter(|&id| f.kind(id) == kind::FUNCTION) {
        let outputs = f.results(f.block_of(id)).iter().zip(output_names(f, id));
        for (result, name) in outputs.filter(|(_, name)| is_text(f.bytes(*name))) {
            near[result.index()] = name;
        }
    }
    for &id in bindings.iter().rev() {
        let name = near[id.index()];
        if name == StrId::EMPTY || f.kind(id) == kind::FUNCTION {
            continue;
        }
        for &operand in f.operands(id) {
            if !is_named(operand) {
                near[operand.index()] = name;
            }
        }
    }
    near
}

/// The names that the outputs of a function have.
fn output_names(f: &Function, function: NodeId) -> impl Iterator<Item = StrId> {
    let names = match f.attrs(function).meta(meta::OUTPUT_NAMES) {
        Some(AttrValue::Strings(names)) => names.raw(),
        _ => &[],
    };
    names.iter().map(|&name| StrId(name)).map(|name| if f.str(name).is_empty() { StrId::EMPTY } else { name })
}

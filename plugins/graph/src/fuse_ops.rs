//! Makes functions of the calls that a compiler computes together.
//!
//! ```text
//! %1 = Conv(%x, %w);
//! %2 = Mul(%1, %scale);
//! %3 = Relu(%2);
//! ```
//! becomes
//! ```text
//! %3 = @fused_Conv_Mul_Relu(%x, %w, %scale);
//! ```
//!
//! Which calls belong together depends on the fusion kinds of their operators (`relais describe NAME`), as in TVM: a call
//! joins its immediate post-dominator, the first call that everything computed from it goes through, if all calls on the
//! way can join, too. A convolution or product takes up elementwise calls behind it. Elementwise and broadcasting calls
//! take up each other, calls that move elements, and a reduction at the end. Calls that move elements take up each other.
//! A call that is random, keeps state, has graphs of its own or several results stays alone, and so does one call that
//! nothing joins.
//!
//! Scalars and short lists of integers, such as shapes, are put into the function; other constants are arguments, so that
//! layers which differ in their weights alone share a function. A function has the attribute `Primitive`. It is written
//! to ONNX as a model-local function, which runtimes inline; `Inline` does the same.

use relais_plugin_api::{
    build::Builder,
    facts::OpFactsTable,
    ir::{BlockId, Subgraph, Users},
    op::FusionKind,
    prelude::*,
};
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    ops::Deref,
};

config_option! {
    "relay.FuseOps.max_depth": i64, default = 256, range = 1..,
    doc = "The most operators in one group."
}

/// The attribute that marks the functions that are made.
const PRIMITIVE: &str = "Primitive";

/// Options of [`fuse_ops`].
#[derive(PassOptions)]
pub struct Options {
    /// The level by which it is decided whether anything is fused: nothing at level 0. -1 stands for the context's level.
    #[option(default = -1, range = -1..=255)]
    fuse_opt_level: i64,
}

/// Groups calls into functions, by how their operators map elements.
#[module_pass(
    name = "relais.FuseOps",
    aliases = ["relay._transform.FuseOps", "relax.transform.FuseOps"],
    opt_level = 0,
    required = ["relais.InferType"],
    phase = "none",
    statistics(fused = "calls in functions", functions = "functions made"),
)]
pub fn fuse_ops(module: &mut IRModule, cx: &PassCx<'_>, options: &Options) -> Result<(), PassError> {
    let level = u8::try_from(options.fuse_opt_level).unwrap_or_else(|_| cx.context().opt_level());
    if level == 0 {
        return Ok(());
    }
    let most = cx.config_int("relay.FuseOps.max_depth").map_or(usize::MAX, |most| most as usize);
    let is_primitive = |f: &Function| f.attrs(f.root()).meta(PRIMITIVE).is_some();
    let names: Vec<String> =
        module.functions().filter(|(_, f)| !is_primitive(f)).map(|(name, _)| name.to_owned()).collect();
    let mut made = Made { known: HashMap::new(), n: 0 };
    for caller in names {
        cx.check_cancelled()?;
        let Some(f) = module.function(&caller).cloned() else { continue };
        let mut edit = Editor::new(f.clone());
        let (users, mut ops) = (edit.analysis::<Users>(), cx.ops(&f));
        let mut groups: BTreeMap<NodeId, (String, Subgraph)> = BTreeMap::new();
        for part in f.all_blocks().flat_map(|block| groups_of(&f, &users, &ops, block, most)) {
            let name = made.function(module, &f, &part)?;
            cx.count("fused", part.nodes().iter().filter(|&&id| f.constant(id).is_none()).count());
            groups.insert(part.results()[0], (name, part));
        }
        if groups.is_empty() {
            continue;
        }
        let inside: HashSet<NodeId> = groups.values().flat_map(|(_, part)| part.nodes()).copied().collect();
        edit.rebuild(&mut |at: &mut RebuildCx<'_>, id: NodeId| -> Result<Action, PassError> {
            if let Some((name, part)) = groups.get(&id) {
                let args: Vec<NodeId> = part.inputs().iter().map(|&input| at.resolve(input)).collect();
                let results = Builder::before(at, &mut ops).call_function(name, &args, 1)?;
                at.take_over(id, results[0]);
            }
            Ok(if inside.contains(&id) && f.constant(id).is_none() { Action::Drop } else { Action::Keep })
        })?;
        module.set_function(&caller, edit.into_function());
    }
    cx.count("functions", made.n);
    Ok(())
}

/// The functions that were made.
struct Made<F> {
    /// By hash of what they compute: their names, and a group that each was made of.
    known: HashMap<u64, Vec<(String, F, Subgraph)>>,
    n: usize,
}

impl<F: Deref<Target = Function> + Clone> Made<F> {
    /// Returns the name of a function that computes a group, made if there is none.
    fn function(&mut self, module: &mut IRModule, f: &F, part: &Subgraph) -> Result<String, PassError> {
        let same = self.known.entry(part.structural_hash(f)).or_default();
        if let Some((name, ..)) = same.iter().find(|(_, other, of)| of.is_same(other, part, f)) {
            return Ok(name.clone());
        }
        let calls = part.nodes().iter().filter_map(|&id| f.call(id));
        let stem = calls.fold("fused".to_owned(), |stem, call| stem + "_" + call.op_name());
        let mut names = std::iter::once(stem.clone()).chain((1..).map(|n| format!("{stem}_{n}")));
        let name = names.find(|name| module.global(name).is_none()).unwrap_or(stem);
        let mut function = part.to_function(f)?;
        let root = function.root();
        function.set_attrs(root, &[Attr::meta(PRIMITIVE, 1)]);
        function.set_opset_imports(&f.opset_imports());
        module.set_function(&name, function);
        same.push((name.clone(), f.clone(), part.clone()));
        self.n += 1;
        Ok(name)
    }
}

/// Whether a constant is a part of what is computed rather than an argument: a scalar, or a list of integers, such as a
/// shape, on which types depend. Functions of old operator sets hold constants that are floats only.
fn is_part(f: &Function, tensor: &Tensor) -> bool {
    const MOST: u64 = 64;
    let is_list = tensor.dims().len() == 1 && tensor.elem().is_integer() && tensor.len() <= MOST;
    let is_float = matches!(tensor.elem(), ElemType::FLOAT16 | ElemType::FLOAT | ElemType::DOUBLE);
    let is_known = is_float || f.opset_version("").unwrap_or(i64::MAX) >= 9;
    is_known && (tensor.dims().is_empty() || is_list)
}

/// The groups of several calls in a block.
fn groups_of(f: &Function, users: &Users, ops: &OpFactsTable<'_>, block: BlockId, most: usize) -> Vec<Subgraph> {
    let graph = Dataflow::of(f, users, ops, block);
    let mut fusion = Fusion::new(&graph, most);
    for phase in [Phase::Elementwise, Phase::Injective] {
        (0..graph.calls.len()).for_each(|at| fusion.visit(at, phase));
    }
    let mut members: BTreeMap<usize, Vec<NodeId>> = BTreeMap::new();
    for at in 0..graph.calls.len() {
        members.entry(fusion.root(at)).or_default().push(graph.calls[at]);
    }
    let part = |calls: Vec<NodeId>| {
        let mut nodes: Vec<NodeId> = Vec::new();
        for &call in &calls {
            let constants =
                f.operands(call).iter().copied().filter(|&id| f.constant(id).is_some_and(|tensor| is_part(f, tensor)));
            for id in constants.chain([call]) {
                if !nodes.contains(&id) {
                    nodes.push(id);
                }
            }
        }
        Subgraph::of(f, users, &nodes)
    };
    let several = members.into_values().filter(|calls| calls.len() > 1);
    several.map(part).filter(|part| part.results().len() == 1).collect()
}

/// The calls of a block, and what uses their results.
struct Dataflow {
    /// In program order.
    calls: Vec<NodeId>,
    kinds: Vec<FusionKind>,
    /// By call: the calls that use its result, with the kinds of the uses.
    users: Vec<Vec<(usize, FusionKind)>>,
    /// By call: its immediate post-dominator. None if something other than these calls uses the result.
    dominators: Vec<Dominator>,
}

/// A place in the tree of post-dominators.
#[derive(Clone, Copy)]
struct Dominator {
    parent: Option<usize>,
    depth: u32,
    /// The greatest kind of a use on the way there.
    kind: FusionKind,
}

impl Dataflow {
    fn of(f: &Function, users: &Users, ops: &OpFactsTable<'_>, block: BlockId) -> Self {
        let kind_of = |id: NodeId| {
            let call = f.call(id).filter(|call| call.regions().is_empty() && call.n_results().is_none())?;
            let facts = ops.of(call)?;
            Some(if facts.effects.is_mergeable() { facts.fusion } else { FusionKind::OPAQUE })
        };
        let known = f.bindings(block).iter().filter_map(|&id| Some((id, kind_of(id)?)));
        let (calls, kinds): (Vec<NodeId>, Vec<FusionKind>) = known.unzip();
        let number: HashMap<NodeId, usize> = calls.iter().copied().zip(0..).collect();
        let mut flow = Self { users: Vec::new(), dominators: Vec::new(), calls, kinds };
        let mut is_external = Vec::new();
        for &id in &flow.calls {
            let inside: Vec<_> = users.of(id).iter().filter_map(|user| number.get(user).copied()).collect();
            is_external.push(users.is_result(id) || inside.len() != users.of(id).len());
            // Broadcasting of equal shapes is none.
            let is_typed = f.type_of(id).shape().is_some();
            let kind = |user: usize| match flow.kinds[user] {
                FusionKind::BROADCAST if is_typed && f.type_id(flow.calls[user]) == f.type_id(id) => {
                    FusionKind::ELEMWISE
                }
                kind => kind,
            };
            flow.users.push(inside.into_iter().map(|user| (user, kind(user))).collect());
        }
        let none = Dominator { parent: None, depth: 1, kind: FusionKind::OPAQUE };
        flow.dominators = vec![none; flow.calls.len()];
        // Users come later.
        for at in (0..flow.calls.len()).rev() {
            if !is_external[at] {
                flow.dominators[at] = flow.dominator(at).unwrap_or(none);
            }
        }
        flow
    }

    /// The nearest call that all uses of a call lead to.
    fn dominator(&self, at: usize) -> Option<Dominator> {
        let (&(first, kind), rest) = self.users[at].split_first()?;
        let (mut parent, mut kind) = (first, kind);
        for &(user, of) in rest {
            kind = kind.max(of);
            let mut other = user;
            while parent != other {
                let climbs = |at: usize| Some((self.dominators[at].parent?, self.dominators[at].kind));
                let (depth, other_depth) = (self.dominators[parent].depth, self.dominators[other].depth);
                if depth >= other_depth {
                    let (above, of) = climbs(parent)?;
                    (parent, kind) = (above, kind.max(of));
                }
                if other_depth >= depth {
                    let (above, of) = climbs(other)?;
                    (other, kind) = (above, kind.max(of));
                }
            }
        }
        Some(Dominator { parent: Some(parent), depth: self.dominators[parent].depth + 1, kind })
    }
}

/// Which calls join.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// All but those that move elements.
    Elementwise,
    /// Those that move elements.
    Injective,
}

/// Groups of calls, as trees.
struct Fusion<'a> {
    graph: &'a Dataflow,
    parents: Vec<usize>,
    kinds: Vec<FusionKind>,
    sizes: Vec<usize>,
    most: usize,
    /// By call: the number of the last search that came there.
    seen: Vec<u32>,
    n_searches: u32,
}

impl<'a> Fusion<'a> {
    fn new(graph: &'a Dataflow, most: usize) -> Self {
        let n = graph.calls.len();
        Self {
            graph,
            parents: (0..n).collect(),
            kinds: graph.kinds.clone(),
            sizes: vec![1; n],
            most,
            seen: vec![0; n],
            n_searches: 0,
        }
    }

    /// The call that stands for the group of a call.
    fn root(&mut self, mut at: usize) -> usize {
        while self.parents[at] != at {
            self.parents[at] = self.parents[self.parents[at]];
            at = self.parents[at];
        }
        at
    }

    /// Lets a call join its post-dominator, where its kind and those on the way allow it.
    fn visit(&mut self, at: usize, phase: Phase) {
        let Dominator { parent: Some(sink), kind: edge, .. } = self.graph.dominators[at] else { return };
        let root = self.root(at);
        if self.root(sink) == root {
            return;
        }
        let can_join = match self.kinds[root] {
            FusionKind::OUT_ELEMWISE_FUSABLE => {
                phase == Phase::Elementwise
                    && edge == FusionKind::ELEMWISE
                    && self.path(at, sink, &|kind, _| kind <= FusionKind::BROADCAST)
            }
            kind if kind <= FusionKind::BROADCAST => {
                (edge <= FusionKind::INJECTIVE || edge == FusionKind::COMM_REDUCE)
                    && self.path(at, sink, &|kind, is_sink| match is_sink {
                        false => kind <= FusionKind::INJECTIVE,
                        true => kind <= FusionKind::OUT_ELEMWISE_FUSABLE,
                    })
            }
            FusionKind::INJECTIVE => {
                phase == Phase::Injective && self.path(at, sink, &|kind, _| kind <= FusionKind::INJECTIVE)
            }
            _ => false,
        };
        if can_join {
            self.join(at, sink);
        }
    }

    /// Whether the groups of all calls between a call and its post-dominator, and of that, are of such kinds, and are
    /// together no larger than a group may be.
    fn path(&mut self, from: usize, sink: usize, is_allowed: &dyn Fn(FusionKind, bool) -> bool) -> bool {
        let mut groups = vec![self.root(from)];
        let between = self.between(from, sink);
        if between.len() > self.most {
            return false;
        }
        for at in between.into_iter().chain([sink]) {
            let root = self.root(at);
            if !is_allowed(self.kinds[root], at == sink) {
                return false;
            }
            groups.push(root);
        }
        groups.sort_unstable();
        groups.dedup();
        groups.iter().map(|&root| self.sizes[root]).sum::<usize>() <= self.most
    }

    /// The calls on the ways from a call to its post-dominator; not all, if they are more than a group may have.
    fn between(&mut self, from: usize, sink: usize) -> Vec<usize> {
        self.n_searches += 1;
        let mut between = Vec::new();
        let mut open = vec![from];
        while let Some(at) = open.pop().filter(|_| between.len() <= self.most) {
            for &(user, _) in &self.graph.users[at] {
                if user != sink && std::mem::replace(&mut self.seen[user], self.n_searches) != self.n_searches {
                    between.push(user);
                    open.push(user);
                }
            }
        }
        between
    }

    /// Makes one group of those of a call, of its post-dominator, and of all between them.
    fn join(&mut self, from: usize, sink: usize) {
        let target = self.root(sink);
        for at in self.between(from, sink).into_iter().chain([from]) {
            let root = self.root(at);
            if root != target {
                self.parents[root] = target;
                self.sizes[target] += self.sizes[root];
                self.kinds[target] = self.kinds[target].max(self.kinds[root]);
            }
        }
    }
}

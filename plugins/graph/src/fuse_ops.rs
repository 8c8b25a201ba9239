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
//! to ONNX as a model-local function, which runtimes inline; `Inline` does the same. `LowerOps` makes one loop program of it.

use relais_plugin_api::{
    build::Builder,
    facts::OpFactsTable,
    ir::{BlockId, PRIMITIVE, RArc, Subgraph, Users, attr_kind},
    op::FusionKind,
    prelude::*,
};
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    ops::Deref,
};

config_option! {
    "relay.FuseOps.max_depth": i64, default = 256, range = 1.., aliases = ["relax.FuseOps.max_depth"],
    doc = "The most operators in one group."
}

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
    let most = cx.config::<i64>("relay.FuseOps.max_depth")?.map_or(usize::MAX, |most| most as usize);
    let is_left_alone = |f: &Function| f.attrs(f.root()).meta(PRIMITIVE).is_some() || f.skips_optimization();
    let names: Vec<String> =
        module.functions().filter(|(_, f)| !is_left_alone(f)).map(|(name, _)| name.to_owned()).collect();
    let taken = module.globals().iter().map(|global| global.name.to_string()).collect();
    let mut made = Made { known: HashMap::new(), functions: Vec::new(), taken, numbers: HashMap::new() };
    for caller in names {
        cx.check_cancelled()?;
        let Some(f) = module.function(&caller).cloned() else { continue };
        let mut edit = Editor::new(f.clone());
        let (users, mut ops) = (cx.analysis::<Users>(&f)?, cx.ops(&f));
        let mut groups: BTreeMap<NodeId, (String, Subgraph)> = BTreeMap::new();
        for part in f.all_blocks().flat_map(|block| groups_of(&f, &users, &ops, block, most)) {
            let name = made.function(&f, &part)?;
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
    cx.count("functions", made.functions.len());
    let (names, functions): (Vec<String>, Vec<_>) = made.functions.into_iter().unzip();
    module.set_functions(names.iter().map(String::as_str).zip(functions));
    Ok(())
}

/// The functions that were made.
struct Made<F> {
    /// By hash of what they compute: their names, and a group that each was made of.
    known: HashMap<u64, Vec<(String, F, Subgraph)>>,
    /// In the order in which they were made.
    functions: Vec<(String, RArc<Function>)>,
    /// The names of globals.
    taken: HashSet<String>,
    /// By the start of a name: how many have a number after it.
    numbers: HashMap<String, usize>,
}

impl<F: Deref<Target = Function> + Clone> Made<F> {
    /// Returns the name of a function that computes a group, made if there is none.
    fn function(&mut self, f: &F, part: &Subgraph) -> Result<String, PassError> {
        let same = self.known.entry(part.structural_hash(f)).or_default();
        if let Some((name, ..)) = same.iter().find(|(_, other, of)| of.is_same(other, part, f)) {
            return Ok(name.clone());
        }
        let calls = part.nodes().iter().filter_map(|&id| f.call(id));
        let stem = calls.fold("fused".to_owned(), |stem, call| stem + "_" + call.op_name());
        let mut name = stem.clone();
        while self.taken.contains(&name) {
            let n = self.numbers.entry(stem.clone()).or_default();
            *n += 1;
            name = format!("{stem}_{n}");
        }
        self.taken.insert(name.clone());
        let mut function = part.to_function(f)?;
        let root = function.root();
        function.set_attrs(root, &[Attr::meta(PRIMITIVE, 1)]);
        function.set_opset_imports(&f.opset_imports());
        self.functions.push((name.clone(), RArc::new(function)));
        same.push((name.clone(), f.clone(), part.clone()));
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
        let (mut nodes, mut known) = (Vec::new(), HashSet::new());
        for &call in &calls {
            let constants =
                f.operands(call).iter().copied().filter(|&id| f.constant(id).is_some_and(|tensor| is_part(f, tensor)));
            for id in constants.chain([call]) {
                if known.insert(id) {
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
    /// By call, and at the end the root of the tree, which is not a call.
    dominators: Vec<Dominator>,
}

/// A place in the tree of post-dominators.
#[derive(Clone, Copy)]
struct Dominator {
    /// The immediate post-dominator: the root if something other than these calls uses the result.
    parent: Step,
    /// Several steps at once, chosen so that the way to any depth is a logarithm of steps and jumps.
    jump: Step,
    depth: usize,
    /// A lower bound for the number of calls between this one and its immediate post-dominator.
    n_between: usize,
    /// The same for the calls after this one, up to the last one below the root.
    n_after: usize,
}

/// A way up the tree.
#[derive(Clone, Copy)]
struct Step {
    to: usize,
    /// The greatest kind of a use on the way.
    kind: FusionKind,
}

impl Step {
    fn then(self, next: Self) -> Self {
        Self { to: next.to, kind: self.kind.max(next.kind) }
    }
}

impl Dataflow {
    fn of(f: &Function, users: &Users, ops: &OpFactsTable<'_>, block: BlockId) -> Self {
        let kind_of = |id: NodeId| {
            let call = f.call(id).filter(|call| call.regions().is_empty() && call.n_results().is_none())?;
            // An attribute may refer to one of the function.
            if f.attr_recs(id).iter().any(|rec| rec.kind == attr_kind::REF) {
                return None;
            }
            let facts = ops.of(call)?;
            Some(if facts.effects.is_mergeable() { facts.fusion } else { FusionKind::OPAQUE })
        };
        let known = f.bindings(block).iter().filter_map(|&id| Some((id, kind_of(id)?)));
        let (calls, kinds): (Vec<NodeId>, Vec<FusionKind>) = known.unzip();
        let number: HashMap<NodeId, usize> = calls.iter().copied().zip(0..).collect();
        let root = calls.len();
        let stay = Step { to: root, kind: FusionKind::ELEMWISE };
        let top = Dominator { parent: stay, jump: stay, depth: 0, n_between: 0, n_after: 0 };
        let mut flow = Self { users: Vec::new(), dominators: vec![top; root + 1], calls, kinds };
        let mut is_external = Vec::new();
        for &id in &flow.calls {
            let mut inside: Vec<_> = users.of(id).iter().filter_map(|user| number.get(user).copied()).collect();
            is_external.push(users.is_result(id) || inside.len() != users.of(id).len());
            inside.sort_unstable();
            inside.dedup();
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
        // Users come later.
        for at in (0..root).rev() {
            let above = if is_external[at] { None } else { flow.common(&flow.users[at]) };
            flow.dominators[at] = flow.below(at, above.unwrap_or(Step { to: root, kind: FusionKind::OPAQUE }));
        }
        flow
    }

    /// The nearest place that all of these uses lead to, which may be the root.
    fn common(&self, uses: &[(usize, FusionKind)]) -> Option<Step> {
        let mut uses = uses.iter().map(|&(to, kind)| Step { to, kind });
        let first = uses.next()?;
        Some(uses.fold(first, |mut a, mut b| {
            let depth = self.dominators[a.to].depth.min(self.dominators[b.to].depth);
            a = self.climb(a, depth);
            b = self.climb(b, depth);
            while a.to != b.to {
                let (from_a, from_b) = (self.dominators[a.to], self.dominators[b.to]);
                (a, b) = match from_a.jump.to != from_b.jump.to {
                    true => (a.then(from_a.jump), b.then(from_b.jump)),
                    false => (a.then(from_a.parent), b.then(from_b.parent)),
                };
            }
            a.then(b)
        }))
    }

    /// Goes on to a depth.
    fn climb(&self, mut way: Step, depth: usize) -> Step {
        while self.dominators[way.to].depth > depth {
            let from = self.dominators[way.to];
            way = way.then(if self.dominators[from.jump.to].depth >= depth { from.jump } else { from.parent });
        }
        way
    }

    /// The place of a call below its immediate post-dominator.
    fn below(&self, at: usize, parent: Step) -> Dominator {
        let above = self.dominators[parent.to];
        let jump = self.dominators[above.jump.to];
        let (near, far) =
            (above.depth - self.dominators[above.jump.to].depth, jump.depth - self.dominators[jump.jump.to].depth);
        let jump = if near == far { parent.then(above.jump).then(jump.jump) } else { parent };
        let mut place = Dominator { parent, jump, depth: above.depth + 1, n_between: 0, n_after: 0 };
        if parent.to != self.calls.len() {
            let between = self.users[at].iter().map(|&(user, _)| user).filter(|&user| user != parent.to);
            let longest = between.clone().map(|user| self.dominators[user].n_after - above.n_after).max();
            place.n_between = longest.unwrap_or(0).max(between.count());
            place.n_after = above.n_after + 1 + place.n_between;
        }
        place
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
        let Step { to: sink, kind: edge } = self.graph.dominators[at].parent;
        if sink == self.graph.calls.len() {
            return;
        }
        let root = self.root(at);
        if self.root(sink) == root {
            return;
        }
        let groups = match self.kinds[root] {
            FusionKind::OUT_ELEMWISE_FUSABLE if phase == Phase::Elementwise && edge == FusionKind::ELEMWISE => {
                self.path(at, sink, &|kind, _| kind <= FusionKind::BROADCAST)
            }
            kind if kind <= FusionKind::BROADCAST
                && (edge <= FusionKind::INJECTIVE || edge == FusionKind::COMM_REDUCE) =>
            {
                self.path(at, sink, &|kind, is_sink| match is_sink {
                    false => kind <= FusionKind::INJECTIVE,
                    true => kind <= FusionKind::OUT_ELEMWISE_FUSABLE,
                })
            }
            FusionKind::INJECTIVE if phase == Phase::Injective => {
                self.path(at, sink, &|kind, _| kind <= FusionKind::INJECTIVE)
            }
            _ => None,
        };
        if let Some(groups) = groups {
            self.join(&groups, sink);
        }
    }

    /// The groups of a call, of its post-dominator and of all calls between them, if all but the first are of such kinds,
    /// and they are together no larger than a group may be.
    fn path(&mut self, from: usize, sink: usize, is_allowed: &dyn Fn(FusionKind, bool) -> bool) -> Option<Vec<usize>> {
        let n_least = self.graph.dominators[from].n_between.saturating_add(2);
        let sink_root = self.root(sink);
        if n_least > self.most || !is_allowed(self.kinds[sink_root], true) {
            return None;
        }
        self.n_searches += 1;
        let (mut groups, mut open, mut n_calls) = (vec![sink_root], vec![from], 1);
        while let Some(at) = open.pop() {
            let root = self.root(at);
            n_calls += 1;
            if n_calls > self.most || at != from && !is_allowed(self.kinds[root], false) {
                return None;
            }
            groups.push(root);
            for &(user, _) in &self.graph.users[at] {
                if user != sink && std::mem::replace(&mut self.seen[user], self.n_searches) != self.n_searches {
                    open.push(user);
                }
            }
        }
        groups.sort_unstable();
        groups.dedup();
        (groups.iter().map(|&root| self.sizes[root]).sum::<usize>() <= self.most).then_some(groups)
    }

    /// Makes one group of several, in the place of that of a call.
    fn join(&mut self, groups: &[usize], sink: usize) {
        let target = self.root(sink);
        for &root in groups.iter().filter(|&&root| root != target) {
            self.parents[root] = target;
            self.sizes[target] += self.sizes[root];
            self.kinds[target] = self.kinds[target].max(self.kinds[root]);
        }
    }
}

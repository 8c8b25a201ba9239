//! The rewrite driver: authors match one call and decide; the driver mutates.

use crate::{
    infer::{Inference, TypeRelations, merge},
    ir::*,
};
use smallvec::{SmallVec, smallvec};
use std::{borrow::Cow, convert::Infallible, mem};

/// What a rewrite decides about a call.
#[derive(Clone, PartialEq, Debug)]
pub enum Rewrite {
    /// The call stays.
    Keep,
    /// The call's one result is this node from now on: an operand, or one made through [`RewriteCx`].
    Replace(NodeId),
    /// Each of the call's results is the node at its position. Declined where something uses the call other than through
    /// projections.
    ReplaceResults(Vec<NodeId>),
    /// The call looked right and stays for this reason, which becomes a remark.
    Decline(Cow<'static, str>),
}

impl Rewrite {
    /// Declines with a reason.
    pub fn decline(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::Decline(reason.into())
    }
}

/// What a rewrite sees around its call, and how it makes new nodes. Nodes that it makes stand before the call if the
/// rewrite replaces it, and vanish if not.
pub struct RewriteCx<'a> {
    function: &'a Function,
    uses: &'a [u32],
    /// By node: the block it stands in, as far as the driver has come.
    home: &'a [BlockId],
    block: BlockId,
    staged: Vec<Staged>,
}

/// As many nodes as most calls have operands.
type Nodes = SmallVec<[NodeId; 6]>;

enum Staged {
    Constant(Tensor),
    Call { callee: Callee, args: Nodes, attrs: StagedAttrs, n_results: Option<u16> },
    Projection { tuple: NodeId, index: u16 },
}

enum Callee {
    Op { domain: Cow<'static, str>, name: Cow<'static, str> },
    Same(NodeId),
}

enum StagedAttrs {
    New(Vec<Attr>),
    /// The attributes of that node, with those of the same name replaced, and the rest added.
    Like(NodeId, Vec<Attr>),
}

/// Marks ids of nodes that are not in the arena yet.
const STAGED: u32 = 1 << 31;

impl<'a> RewriteCx<'a> {
    /// The function that owns the call.
    pub fn function(&self) -> &'a Function {
        self.function
    }

    /// The call that defines a node.
    pub fn call_of(&self, id: NodeId) -> Option<CallView<'a>> {
        if id.0 & STAGED != 0 { None } else { self.function.call(id) }
    }

    /// The call that defines a node, if it is of this operator, named as [`CallView::is_op`] takes it.
    pub fn call_of_op(&self, id: NodeId, name: &str) -> Option<CallView<'a>> {
        self.call_of(id).filter(|call| call.is_op(name))
    }

    /// The tensor of a constant.
    pub fn tensor(&self, id: NodeId) -> Option<&Tensor> {
        if id.0 & STAGED == 0 {
            return self.function.constant(id);
        }
        match self.staged.get((id.0 & !STAGED) as usize) {
            Some(Staged::Constant(tensor)) => Some(tensor),
            _ => None,
        }
    }

    /// The type of a node's value.
    pub fn type_of(&self, id: NodeId) -> Type<'a> {
        if id.0 & STAGED != 0 { Type::Unknown } else { self.function.type_of(id) }
    }

    /// How often a node is used.
    pub fn n_uses(&self, id: NodeId) -> u32 {
        self.uses.get(id.index()).copied().unwrap_or(0)
    }

    /// Whether a binding stands in the same block as the call, so that computing it again here instead of there is
    /// neither inside a loop nor under a condition that it was not.
    pub fn is_in_same_block(&self, id: NodeId) -> bool {
        self.home.get(id.index()) == Some(&self.block)
    }

    /// The operator-set version of the default domain that calls here are written for.
    pub fn opset(&self) -> i64 {
        self.function.opset_version("").unwrap_or(0)
    }

    fn stage(&mut self, staged: Staged) -> NodeId {
        self.staged.push(staged);
        NodeId(STAGED | (self.staged.len() - 1) as u32)
    }

    /// A new constant.
    pub fn constant(&mut self, tensor: Tensor) -> NodeId {
        self.stage(Staged::Constant(tensor))
    }

    /// A new call of an operator of the default domain, in the version that the function imports.
    pub fn call(&mut self, name: impl Into<Cow<'static, str>>, args: &[NodeId]) -> NodeId {
        self.call_with(name, args, Vec::new())
    }

    /// A new call with attributes.
    pub fn call_with(&mut self, name: impl Into<Cow<'static, str>>, args: &[NodeId], attrs: Vec<Attr>) -> NodeId {
        self.call_in("", name, args, attrs)
    }

    /// A new call of an operator of any domain.
    pub fn call_in(
        &mut self,
        domain: impl Into<Cow<'static, str>>,
        name: impl Into<Cow<'static, str>>,
        args: &[NodeId],
        attrs: Vec<Attr>,
    ) -> NodeId {
        let callee = Callee::Op { domain: domain.into(), name: name.into() };
        self.stage(Staged::Call {
            callee,
            args: Nodes::from_slice(args),
            attrs: StagedAttrs::New(attrs),
            n_results: None,
        })
    }

    /// A new call with several results; returns each of them.
    pub fn call_results(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        args: &[NodeId],
        attrs: Vec<Attr>,
        n_results: u16,
    ) -> Vec<NodeId> {
        let callee = Callee::Op { domain: "".into(), name: name.into() };
        let attrs = StagedAttrs::New(attrs);
        let tuple =
            self.stage(Staged::Call { callee, args: Nodes::from_slice(args), attrs, n_results: Some(n_results) });
        (0..n_results).map(|index| self.stage(Staged::Projection { tuple, index })).collect()
    }

    /// A new call like another one, with one result, its attributes and metadata included, of other arguments; `attrs`
    /// replace those of the same name.
    pub fn call_like(&mut self, call: CallView<'_>, args: &[NodeId], attrs: Vec<Attr>) -> NodeId {
        let callee = Callee::Same(call.callee());
        let attrs = StagedAttrs::Like(call.id, attrs);
        self.stage(Staged::Call { callee, args: Nodes::from_slice(args), attrs, n_results: None })
    }
}

/// How far the driver goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DriveOptions {
    /// The most rounds over the function; a rule that still matches then is taken to run in circles.
    pub max_rounds: usize,
}

impl Default for DriveOptions {
    fn default() -> Self {
        Self { max_rounds: 32 }
    }
}

/// What the driver did.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DriveStats {
    /// Rounds over the function.
    pub n_rounds: usize,
    /// Calls replaced.
    pub n_rewrites: usize,
    /// Calls that were declined in the last round, with the reason.
    pub declined: Vec<(NodeId, Cow<'static, str>)>,
    /// Whether the last round changed nothing.
    pub settled: bool,
}

/// A rewrite's function.
pub type Rule<'r> = dyn for<'a> FnMut(CallView<'a>, &mut RewriteCx<'a>) -> Rewrite + 'r;

/// Offers every live call of the operators `ops` (all calls when empty; `domain::Name` outside the default domain) to
/// `rule` until nothing changes. New nodes are typed as they are inserted.
///
/// # Panics
/// When `rule` replaces a call by a node that is neither in the function nor made through its [`RewriteCx`].
pub fn drive_with(
    editor: &mut Editor,
    relations: &mut dyn TypeRelations,
    rule: &mut Rule<'_>,
    ops: &[&str],
    options: DriveOptions,
) -> DriveStats {
    let mut stats = DriveStats::default();
    let mut driver = Driver {
        uses: Vec::new(),
        whole: None,
        home: Vec::new(),
        open: Vec::new(),
        wanted: Vec::new(),
        relations,
        inference: Inference::default(),
        rule,
        ops,
        stats: &mut stats,
        staged: Vec::new(),
    };
    while driver.stats.n_rounds < options.max_rounds {
        if !driver.any_wanted(editor.function()) {
            driver.stats.settled = true;
            break;
        }
        driver.home.clear();
        driver.home.resize(editor.function().n_nodes(), NOWHERE);
        driver.uses = editor.function().use_counts();
        driver.whole = None;
        driver.stats.declined.clear();
        let before = driver.stats.n_rewrites;
        match editor.rebuild(&mut driver) {
            Ok(()) => {}
        }
        driver.stats.n_rounds += 1;
        if driver.stats.n_rewrites == before {
            driver.stats.settled = true;
            break;
        }
    }
    stats
}

/// No block: where the driver has not been.
const NOWHERE: BlockId = BlockId(u32::MAX);

struct Driver<'d, 'r> {
    uses: Vec<u32>,
    /// By node with several results: whether something uses it other than through a projection; computed when a round
    /// first needs it.
    whole: Option<Vec<bool>>,
    home: Vec<BlockId>,
    open: Vec<BlockId>,
    /// By operator: whether the rule wants to see its calls.
    wanted: Vec<bool>,
    relations: &'d mut dyn TypeRelations,
    inference: Inference,
    rule: &'d mut Rule<'r>,
    ops: &'d [&'d str],
    stats: &'d mut DriveStats,
    /// What the rule makes for a call; empty between calls.
    staged: Vec<Staged>,
}

impl Driver<'_, '_> {
    fn any_wanted(&mut self, f: &Function) -> bool {
        for op in &f.ops()[self.wanted.len()..] {
            let (domain, name) = (normal_domain(f.str(op.domain)), f.str(op.name));
            let is_wanted = |wanted: &str| match wanted.rsplit_once("::") {
                Some((d, n)) => (normal_domain(d), n) == (domain, name),
                None => domain.is_empty() && wanted == name,
            };
            self.wanted.push(self.ops.is_empty() || self.ops.iter().any(|op| is_wanted(op)));
        }
        self.ops.is_empty() || self.wanted.contains(&true)
    }

    /// Notes that a binding stands in the innermost open block.
    fn settle(&mut self, id: NodeId) {
        if self.home.len() <= id.index() {
            self.home.resize(id.index() + 1, NOWHERE);
        }
        self.home[id.index()] = self.open.last().copied().unwrap_or(NOWHERE);
    }

    /// Notes that something uses a node other than through a projection.
    fn use_whole(&mut self, id: NodeId) {
        if let Some(is_used) = self.whole.as_mut().and_then(|whole| whole.get_mut(id.index())) {
            *is_used = true;
        }
    }

    /// Whether something uses a node with several results other than through a projection.
    fn is_used_whole(&mut self, f: &Function, id: NodeId) -> bool {
        self.whole.get_or_insert_with(|| f.used_whole()).get(id.index()) != Some(&false)
    }

    /// Makes what is staged real, in place of a call.
    fn commit(&mut self, cx: &mut RebuildCx<'_>, staged: &mut Vec<Staged>, old: NodeId) -> Nodes {
        let mut ids = Nodes::new();
        for new in staged.drain(..) {
            let real = |id: NodeId| if id.0 & STAGED != 0 { ids[(id.0 & !STAGED) as usize] } else { id };
            let f = cx.function_mut();
            let id = match new {
                Staged::Constant(tensor) => f.add_constant(tensor, ConstForm::ANY),
                Staged::Projection { tuple, index } => f.add_tuple_get_item(real(tuple), index),
                Staged::Call { callee, args, attrs, n_results } => {
                    let args: Nodes = args.into_iter().map(real).collect();
                    let callee = match callee {
                        Callee::Same(callee) => callee,
                        Callee::Op { domain, name } => {
                            let op = f.add_op(&domain, &name, "", 0);
                            f.op(op).node
                        }
                    };
                    let id = f.add_call_with(callee, &args, &[], n_results);
                    let recs = match attrs {
                        StagedAttrs::New(attrs) => attrs.iter().map(|attr| f.encode_attr(attr)).collect(),
                        StagedAttrs::Like(other, attrs) => merged_attrs(f, other, &attrs),
                    };
                    f.set_attr_recs(id, &recs);
                    id
                }
            };
            // A call that its operator refuses keeps an unknown type; the verifier that runs with types says so.
            let _ = self.inference.node(f, self.relations, id);
            let is_projection = f.kind(id) == kind::TUPLE_GET_ITEM;
            for &operand in f.operands(id) {
                bump(&mut self.uses, operand, 1);
                if !is_projection {
                    self.use_whole(operand);
                }
            }
            cx.insert(id);
            self.settle(id);
            ids.push(id);
        }
        for &operand in cx.function().operands(old) {
            bump(&mut self.uses, operand, -1);
        }
        ids
    }
}

fn bump(uses: &mut Vec<u32>, id: NodeId, by: i64) {
    if uses.len() <= id.index() {
        uses.resize(id.index() + 1, 0);
    }
    let count = &mut uses[id.index()];
    *count = (i64::from(*count) + by).max(0) as u32;
}

fn merged_attrs(f: &mut Function, other: NodeId, attrs: &[Attr]) -> SmallVec<[AttrRec; 8]> {
    let mut recs: SmallVec<[AttrRec; 8]> = SmallVec::from_slice(f.attr_recs(other));
    for attr in attrs {
        let new = f.encode_attr(attr);
        let meta = |rec: &AttrRec| rec.flags & attr_flag::META;
        match recs.iter_mut().find(|rec| f.bytes(rec.name) == attr.name.as_bytes() && meta(rec) == meta(&new)) {
            Some(rec) => *rec = new,
            None => recs.push(new),
        }
    }
    recs
}

impl Rebuild for Driver<'_, '_> {
    type Error = Infallible;

    fn enter(&mut self, _: &mut Editor, block: BlockId) -> Result<(), Infallible> {
        self.open.push(block);
        Ok(())
    }

    fn exit(&mut self, _: &mut Editor, _: BlockId) -> Result<(), Infallible> {
        self.open.pop();
        Ok(())
    }

    fn binding(&mut self, cx: &mut RebuildCx<'_>, id: NodeId) -> Result<Action, Infallible> {
        self.settle(id);
        let f = cx.function();
        let Some(call) = f.call(id) else { return Ok(Action::Keep) };
        let is_wanted = match call.op() {
            Some(op) => self.wanted.get(op.index()).copied().unwrap_or(false),
            None => self.ops.is_empty(),
        };
        // What nobody uses is left to dead code elimination.
        if !is_wanted || self.uses.get(id.index()).is_none_or(|&n| n == 0) {
            return Ok(Action::Keep);
        }
        let mut rewrite_cx = RewriteCx {
            function: f,
            uses: &self.uses,
            home: &self.home,
            block: self.open.last().copied().unwrap_or(NOWHERE),
            staged: mem::take(&mut self.staged),
        };
        let rewrite = (self.rule)(call, &mut rewrite_cx);
        let mut staged = rewrite_cx.staged;
        let action = self.act(cx, id, rewrite, &mut staged);
        staged.clear();
        self.staged = staged;
        Ok(action)
    }
}

impl Driver<'_, '_> {
    /// Does what a rule decided about a call.
    fn act(&mut self, cx: &mut RebuildCx<'_>, id: NodeId, rewrite: Rewrite, staged: &mut Vec<Staged>) -> Action {
        let results: Nodes = match rewrite {
            Rewrite::Keep => return Action::Keep,
            Rewrite::Decline(reason) => {
                self.stats.declined.push((id, reason));
                return Action::Keep;
            }
            Rewrite::Replace(by) if by == id => return Action::Keep,
            Rewrite::Replace(by) => smallvec![by],
            Rewrite::ReplaceResults(by) => by.into(),
        };
        let is_there = |by: NodeId| match by.0 & STAGED {
            0 => by.index() < cx.function().n_nodes(),
            _ => ((by.0 & !STAGED) as usize) < staged.len(),
        };
        assert!(
            results.iter().copied().all(is_there),
            "a rewrite gave a node that it did not make and that is not there"
        );
        let n_results = cx.function().n_results(id);
        if n_results.unwrap_or(1) != results.len() {
            let reason = format!("the rewrite gave {} results for {}", results.len(), n_results.unwrap_or(1));
            self.stats.declined.push((id, reason.into()));
            return Action::Keep;
        }
        if n_results.is_some() && self.is_used_whole(cx.function(), id) {
            self.stats.declined.push((id, "something uses the results as one value".into()));
            return Action::Keep;
        }
        let ids = self.commit(cx, staged, id);
        let real = |id: NodeId| if id.0 & STAGED != 0 { ids[(id.0 & !STAGED) as usize] } else { id };
        let results: Nodes = results.into_iter().map(real).collect();
        self.stats.n_rewrites += 1;
        if n_results.is_some() {
            // Uses of the projections are counted anew next round.
            cx.replace_results(id, results.into_vec());
            return Action::Drop;
        }
        let new = results[0];
        let n_uses = self.uses[id.index()];
        bump(&mut self.uses, new, n_uses.into());
        self.uses[id.index()] = 0;
        self.use_whole(new);
        self.inherit(cx, id, new, ids.contains(&new));
        Action::Replace(new)
    }

    /// Tells what takes the place of a value what is known of the value.
    fn inherit(&self, cx: &mut RebuildCx<'_>, old: NodeId, new: NodeId, is_new: bool) {
        let f = cx.function();
        let (ty, old_type) = (f.type_id(new), f.type_id(old));
        // It is the same value wherever both are computed, and its type there is what is known of either. But the type of
        // a parameter belongs to the interface.
        let is_beside = self.home.get(new.index()) == self.home.get(old.index());
        let may_know_more = ty != old_type && old_type != TypeId::UNKNOWN && is_beside && f.kind(new) != kind::VAR;
        if !is_new && !may_know_more {
            return;
        }
        let f = cx.function_mut();
        if is_new && f.name_id(new) == StrId::EMPTY {
            f.inherit_value(new, old);
        }
        if may_know_more {
            let merged = merge(f, old_type, ty);
            if merged != ty {
                f.set_type(new, merged);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::{InferRequest, OpError};

    struct NoTypes;

    impl TypeRelations for NoTypes {
        fn version(&mut self, _: &Function, _: OpId) -> i64 {
            0
        }

        fn infer(&mut self, _: OpId, _: &mut InferRequest<'_>) -> Option<Result<(), OpError>> {
            None
        }
    }

    fn chain(ops: &[&str]) -> Function {
        let mut f = Function::new();
        let x = f.add_var("x", TypeId::UNKNOWN);
        f.set_params(f.root(), &[x]);
        let mut last = x;
        for op in ops {
            let op = f.add_op("", op, "", 0);
            last = f.add_call(op, &[last]);
            f.append(f.body(), last);
        }
        f.set_results(f.body(), &[last]);
        f
    }

    fn names(f: &Function) -> Vec<&str> {
        f.all_bindings().filter_map(|id| Some(f.call(id)?.op_name())).collect()
    }

    fn relu_relu(call: CallView<'_>, cx: &mut RewriteCx<'_>) -> Rewrite {
        let Some(inner) = call.arg(0) else { return Rewrite::Keep };
        match cx.call_of_op(inner, "Relu") {
            Some(_) => Rewrite::Replace(inner),
            None => Rewrite::Keep,
        }
    }

    #[test]
    fn a_chain_collapses_in_one_round_and_settles_in_the_next() {
        let mut editor = Editor::new(chain(&["Relu", "Relu", "Relu", "Neg", "Relu"]).into());
        let stats = drive_with(&mut editor, &mut NoTypes, &mut relu_relu, &["Relu"], DriveOptions::default());
        assert_eq!(names(editor.function()), ["Relu", "Neg", "Relu"]);
        assert_eq!((stats.n_rewrites, stats.n_rounds, stats.settled), (2, 2, true));
    }

    #[test]
    fn a_function_without_a_match_is_not_written() {
        let mut editor = Editor::new(chain(&["Relu", "Neg"]).into());
        drive_with(&mut editor, &mut NoTypes, &mut relu_relu, &["Relu"], DriveOptions::default());
        assert!(!editor.is_changed());
    }

    #[test]
    fn new_nodes_take_the_place_and_the_name_of_what_they_replace() {
        let mut f = chain(&["Neg", "Relu"]);
        let neg = f.bindings(f.body())[0];
        f.set_name(neg, "n");
        let mut editor = Editor::new(f.into());
        let mut rule = |call: CallView<'_>, cx: &mut RewriteCx<'_>| {
            let minus = cx.constant(Tensor::from_f32(&[], &[-1.0]));
            Rewrite::Replace(cx.call("Mul", &[call.args()[0], minus]))
        };
        let stats = drive_with(&mut editor, &mut NoTypes, &mut rule, &["Neg"], DriveOptions::default());
        let f = editor.function();
        assert_eq!(names(f), ["Mul", "Relu"]);
        assert_eq!(f.name(f.bindings(f.body())[1]), "n");
        assert_eq!(stats.n_rewrites, 1);
    }

    #[test]
    fn a_rule_that_runs_in_circles_is_stopped() {
        let mut editor = Editor::new(chain(&["Neg"]).into());
        let mut rule = |call: CallView<'_>, cx: &mut RewriteCx<'_>| Rewrite::Replace(cx.call("Neg", &[call.args()[0]]));
        let stats = drive_with(&mut editor, &mut NoTypes, &mut rule, &[], DriveOptions { max_rounds: 5 });
        assert!(!stats.settled);
        assert_eq!(stats.n_rounds, 5);
    }

    #[test]
    #[should_panic(expected = "a node that it did not make")]
    fn a_node_that_is_not_there_is_told_at_once() {
        let mut editor = Editor::new(chain(&["Relu"]).into());
        let mut rule = |_: CallView<'_>, _: &mut RewriteCx<'_>| Rewrite::Replace(NodeId(999));
        drive_with(&mut editor, &mut NoTypes, &mut rule, &["Relu"], DriveOptions::default());
    }

    #[test]
    fn a_declined_match_says_why() {
        let mut editor = Editor::new(chain(&["Relu"]).into());
        let mut rule = |_: CallView<'_>, _: &mut RewriteCx<'_>| Rewrite::decline("the value has a second user");
        let stats = drive_with(&mut editor, &mut NoTypes, &mut rule, &["Relu"], DriveOptions::default());
        assert_eq!(stats.declined.len(), 1);
        assert!(!editor.is_changed());
    }
}

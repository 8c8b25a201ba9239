//! Evaluates what can be known before the model runs.
//!
//! ```text
//! %1 = Add(const(float32, [1.0]), const(float32, [2.0]));
//! %2 = Mul(%x, %1);
//! ```
//! becomes
//! ```text
//! %1 = const(float32, [3.0]);
//! %2 = Mul(%x, %1);
//! ```
//!
//! Also known: integers that the types tell (the shape of a value of static shape), the branch that a constant condition
//! takes, and the field of a tuple. A call is evaluated when all its arguments are constants or tuples of constants, its
//! operator has an evaluator, or otherwise a body or a kernel, and calling it twice is calling it once; one without arguments
//! is kept, and so is one whose evaluator refuses. A result is kept only if it is small, or no larger than the constants that it replaces, so that
//! folding does not inflate a model. Calls that share constants are judged together: two halves of a weight are as large as
//! the weight, which is only removed if both are folded. Calls that add more are folded as long as all of them together
//! add no more than one per cent. The work of computing all of them is bounded, too, by `max_work`. Constants that are no longer used are left to `DeadCodeElimination`.
//!
//! Only what the ONNX standard determines is folded. Where runtimes are known to differ, evaluators refuse, and where
//! a result is rounded in between, they round once; `docs/numbers.md` lists it. By `QuantizeLinear`, `DequantizeLinear`
//! and `DynamicQuantizeLinear` runtimes find integer kernels: they stay unless `quantization = true`. With
//! `exact = true` nothing is folded that a runtime may compute to another last bit. Remarks say what was left alone.

use crate::{
    bytes::{size_of, stored_bytes},
    counted::Counted,
    dead_code_elimination::may_be_left_off,
    exact::is_exact,
    fold_groups::{Budget, plan},
    fold_work::Work,
    numbers::is_quantization,
};
use relais_plugin_api::{
    infer::Operators,
    ir::{BlockId, Children, ConstForm, ExprFunctor, Memo, OpId, Rebuild, StrId, Walk, WalkStep, element_count, kind},
    op::known_value,
    prelude::*,
};
use std::{cell::Cell, collections::HashMap, convert::Infallible};

/// Options of `FoldConstant`.
#[derive(PassOptions)]
pub struct FoldConstantOptions {
    /// The most bytes that folded constants may take beyond those of the constants they replace.
    #[option(default = 4096, range = 0..=2_147_483_647, unit = "bytes")]
    pub max_growth: i64,
    /// The most that all folds beyond `max_growth` may add together, in per cent of the function's constants.
    #[option(default = 1, range = 0..=1000)]
    pub max_total_growth: i64,
    /// The most steps that folding may take for each byte of the function's constants; 2^32 in all are always allowed.
    /// A multiplication with an addition is a step, and so is a byte that is read.
    #[option(default = 256, range = 1..=1_048_576)]
    pub max_work: i64,
    /// Whether `QuantizeLinear`, `DequantizeLinear` and `DynamicQuantizeLinear` are folded.
    #[option(default = false)]
    pub quantization: bool,
    /// Whether only what every runtime computes to the same bits is folded.
    #[option(default = false)]
    pub exact: bool,
}

/// The amount of data that is folded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Extent {
    max_growth: u64,
    /// In per cent.
    max_total_growth: u64,
    quantization: Quantization,
    numbers: Numbers,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Quantization {
    Keep,
    Fold,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Numbers {
    /// Those that runtimes compute to the same bits.
    Exact,
    /// All that the standard determines.
    Determined,
}

/// Calls of constants that stay, and why.
type Declined = Vec<(NodeId, String)>;

/// Replaces calls of constants by their values, and conditionals of constants by the branch taken.
#[function_pass(
    name = "relais.FoldConstant",
    aliases = ["relay._transform.FoldConstant", "relax.transform.FoldConstant"],
    opt_level = 2,
    phase = "folding",
    statistics(folded = "bindings replaced by what they come to"),
)]
pub fn fold_constant(edit: &mut Editor, cx: &PassCx<'_>, options: &FoldConstantOptions) -> Result<(), PassError> {
    let (mut ops, facts) = (cx.ops(edit.function()), cx.ops(edit.function()));
    let macs = |call: CallView<'_>| facts.of(call)?.schema().map(|schema| schema.macs.clone());
    let mut work = Work::new(edit.function(), options.max_work, &macs);
    let extent = Extent {
        max_growth: u64::try_from(options.max_growth).unwrap_or(0),
        max_total_growth: u64::try_from(options.max_total_growth).unwrap_or(0),
        quantization: if options.quantization { Quantization::Fold } else { Quantization::Keep },
        numbers: if options.exact { Numbers::Exact } else { Numbers::Determined },
    };
    let (n_folded, declined) = fold(edit, &mut ops, extent, &mut work);
    cx.count("folded", n_folded);
    for (call, reason) in declined {
        cx.remark(call, reason);
    }
    Ok(())
}

/// How often a function is folded at most. More than one round is rare: it takes constants that several calls share, and
/// that are too large to be copied.
const MAX_ROUNDS: usize = 64;

/// Folds the constants of a function, in one pass over it, and returns how many bindings were removed, and which calls
/// stay. If a result was too large to be folded and constants have lost users since, it may no longer be: then another
/// pass follows.
fn fold(edit: &mut Editor, ops: &mut dyn Operators, extent: Extent, work: &mut Work<'_>) -> (usize, Declined) {
    let mut total = 0;
    let mut declined = Declined::new();
    for _ in 0..MAX_ROUNDS {
        let (mut n_folded, is_too_large) = fold_once(edit, ops, extent, work, &mut declined);
        total += n_folded;
        if !is_too_large {
            break;
        }
        if n_folded == 0 {
            n_folded = fold_groups(edit, ops, extent, work, &mut declined);
            total += n_folded;
        }
        if n_folded == 0 {
            break;
        }
    }
    (total, declined)
}

/// Folds calls whose results are too large one by one, but not together.
fn fold_groups(
    edit: &mut Editor,
    ops: &mut dyn Operators,
    extent: Extent,
    work: &mut Work<'_>,
    declined: &mut Declined,
) -> usize {
    let f = edit.function();
    let constants = || f.all_bindings().filter_map(|id| Some((f.node(id).aux, f.constant(id)?)));
    let all: u64 = constants().map(|(_, tensor)| stored_bytes(tensor)).fold(0, u64::saturating_add);
    // A constant made in this run counts as added, whatever it replaced: otherwise each round could add as much again.
    let made = constants().filter(|(form, _)| *form == ConstForm::ANY.0).map(|(_, tensor)| stored_bytes(tensor)).sum();
    let allowed = (all / 100).saturating_mul(extent.max_total_growth);
    let budget = Budget { each: extent.max_growth, all: allowed.saturating_sub(made) };
    let plan = plan(f, ops, budget, work, |ops, call| {
        let Some(op) = call.op() else { return false };
        let effects = ops.effects(op);
        effects.is_mergeable() && effects.is_removable() && reason_to_keep(f, ops, call, op, extent).is_none()
    });
    declined.extend(plan.declined);
    let mut values = plan.values;
    if values.is_empty() {
        return 0;
    }
    struct Planned<'a>(&'a mut HashMap<NodeId, Tensor>);
    impl Rebuild for Planned<'_> {
        type Error = Infallible;

        fn binding(&mut self, cx: &mut RebuildCx<'_>, id: NodeId) -> Result<Action, Infallible> {
            Ok(self.0.remove(&id).map_or(Action::Keep, |value| replace(cx, id, vec![value])))
        }
    }
    match Counted::rebuild(edit, Planned(&mut values)) {
        Ok(n_folded) => n_folded,
    }
}

/// Why a call of constants stays, however small its result is.
fn reason_to_keep(
    f: &Function,
    ops: &dyn Operators,
    call: CallView<'_>,
    op: OpId,
    extent: Extent,
) -> Option<&'static str> {
    if extent.quantization == Quantization::Keep && is_quantization(f, op) {
        return Some("runtimes find integer kernels by it");
    }
    let is_inexact = extent.numbers == Numbers::Exact && !is_exact(f, ops, call);
    is_inexact.then_some("runtimes may compute it to another last bit")
}

fn fold_once(
    edit: &mut Editor,
    ops: &mut dyn Operators,
    extent: Extent,
    work: &mut Work<'_>,
    declined: &mut Declined,
) -> (usize, bool) {
    let projected_only = ProjectedOnly::of(edit.function());
    let uses = edit.function().use_counts();
    let is_too_large = Cell::new(false);
    let checker = ConstantChecker::default();
    declined.clear();
    let folder = ConstantFolder {
        checker,
        ops,
        uses,
        projected_only,
        extent,
        work,
        is_too_large: &is_too_large,
        declined,
        names: None,
    };
    match Counted::rebuild(edit, folder) {
        Ok(n_folded) => (n_folded, is_too_large.get()),
    }
}

/// Whether a node is constant: a constant, or a tuple of constants.
#[derive(Default)]
struct ConstantChecker {
    memo: Memo<bool>,
}

impl ConstantChecker {
    fn check(&mut self, f: &Function, id: NodeId) -> bool {
        if let Some(&known) = self.memo.get(id) {
            return known;
        }
        match f.expr(id) {
            Expr::Constant(_) => true,
            Expr::Tuple(_) => {
                let mut memo = std::mem::take(&mut self.memo);
                self.run(f, id, &mut memo);
                let known = memo.get(id).copied().unwrap_or(false);
                self.memo = memo;
                known
            }
            _ => false,
        }
    }
}

impl ExprFunctor for ConstantChecker {
    type Output = bool;

    fn children(&mut self, f: &Function, id: NodeId) -> Children {
        if f.kind(id) == kind::TUPLE { Children::All } else { Children::None }
    }

    fn visit_default(&mut self, _: &Function, _: NodeId, _: &Memo<bool>) -> bool {
        false
    }

    fn visit_constant(&mut self, _: &Function, _: NodeId, _: &Memo<bool>) -> bool {
        true
    }

    fn visit_tuple(&mut self, f: &Function, id: NodeId, memo: &Memo<bool>) -> bool {
        f.operands(id).iter().all(|&field| memo.get(field).copied().unwrap_or(false))
    }
}

struct ConstantFolder<'a, 'w> {
    checker: ConstantChecker,
    work: &'a mut Work<'w>,
    ops: &'a mut dyn Operators,
    /// How often each node was used before folding began; a constant, as often as the call that it replaces.
    uses: Vec<u32>,
    projected_only: ProjectedOnly,
    extent: Extent,
    /// Whether something was not folded because of its size.
    is_too_large: &'a Cell<bool>,
    declined: &'a mut Declined,
    /// How often each name is borne, counted when a branch is first put in place of its conditional.
    names: Option<HashMap<String, usize>>,
}

impl Rebuild for ConstantFolder<'_, '_> {
    type Error = Infallible;

    fn binding(&mut self, cx: &mut RebuildCx<'_>, id: NodeId) -> Result<Action, Infallible> {
        let f = cx.function();
        Ok(match f.expr(id) {
            Expr::TupleGetItem { tuple, index } => match f.expr(tuple) {
                Expr::Tuple(fields) => fields.get(index).map_or(Action::Keep, |&field| Action::Replace(field)),
                _ => self.fold_known_value(cx, id),
            },
            Expr::If(branch) => {
                let taken = match f.constant(branch.cond()).map(truth) {
                    Some(Some(true)) => branch.then_branch(),
                    Some(Some(false)) => branch.else_branch(),
                    _ => return Ok(Action::Keep),
                };
                if f.n_results(id).is_some() && !self.projected_only.holds(id) {
                    return Ok(Action::Keep);
                }
                let block = f.block_of(taken);
                self.free_names(cx, block);
                Action::Inline(block)
            }
            Expr::Call(call) => {
                let Some(op) = call.op() else { return Ok(Action::Keep) };
                let effects = self.ops.effects(op);
                if !effects.is_mergeable() || !effects.is_removable() {
                    return Ok(Action::Keep);
                }
                match self.evaluate(f, call, op) {
                    Some(values) => self.replace(cx, id, values),
                    None => self.fold_known_value(cx, id),
                }
            }
            _ => Action::Keep,
        })
    }
}

impl ConstantFolder<'_, '_> {
    /// The results of a call of constants, if they may replace it.
    fn evaluate(&mut self, f: &Function, call: CallView<'_>, op: OpId) -> Option<Vec<Tensor>> {
        // Without arguments there is nothing to fold: evaluating `ones(shape)` would only spell it out.
        if call.args().iter().all(|arg| arg.is_absent()) || !call.regions().is_empty() || call.attrs().has_refs() {
            return None;
        }
        if !call.args().iter().all(|&arg| arg.is_absent() || self.checker.check(f, arg)) {
            return None;
        }
        let inputs: Option<Vec<Option<Tensor>>> = call
            .args()
            .iter()
            .map(|&arg| if arg.is_absent() { Some(None) } else { f.constant(arg).cloned().map(Some) })
            .collect();
        if let Some(reason) = reason_to_keep(f, self.ops, call, op, self.extent) {
            self.declined.push((call.id, reason.to_owned()));
            return None;
        }
        let budget = self.freed(f, call.args()).saturating_add(self.extent.max_growth);
        // Without a type, the reason for an evaluator's refusal is unknown. A result that is small enough would be
        // refused again.
        let size = size_of(f, call.id);
        if size.is_none_or(|size| size > budget) {
            self.is_too_large.set(true);
        }
        let inputs = inputs?;
        // A larger result is refused before it is computed.
        if size.is_none_or(|size| size <= budget)
            && let Err(why) = self.work.take(call, &inputs)
        {
            self.declined.push((call.id, why));
            return None;
        }
        let values = match self.ops.evaluate(op, f, call.id, &inputs, budget)? {
            Ok(values) => values,
            Err(error) => {
                self.declined.push((call.id, error.to_string()));
                return None;
            }
        };
        let n_results = f.n_results(call.id).unwrap_or(1);
        let is_whole =
            values.len() == n_results && (f.n_results(call.id).is_none() || self.projected_only.holds(call.id));
        let fits = values.iter().map(stored_bytes).sum::<u64>() <= budget;
        (is_whole && fits).then_some(values)
    }

    /// Returns the bytes of the arguments that become unused once the call is gone.
    fn freed(&self, f: &Function, args: &[NodeId]) -> u64 {
        let sole = args.iter().filter(|arg| self.uses.get(arg.index()).is_some_and(|&n| n == 1));
        sole.filter_map(|&arg| f.constant(arg)).map(stored_bytes).sum()
    }

    /// Replaces a scalar or vector of integers whose contents are known from the types.
    fn fold_known_value(&mut self, cx: &mut RebuildCx<'_>, id: NodeId) -> Action {
        let f = cx.function();
        let Some(tensor) = known_tensor(f, id) else { return Action::Keep };
        // The call may stay, and only an optional result of a call can be omitted.
        let is_kept = match f.expr(id) {
            Expr::TupleGetItem { tuple, index } => !may_be_left_off(f, tuple, index, self.ops),
            _ => false,
        };
        if !is_kept {
            return self.replace(cx, id, vec![tensor]);
        }
        let n_uses = self.uses.get(id.index()).copied().unwrap_or(0);
        if n_uses > 0 {
            let constant = cx.function_mut().add_constant(tensor, ConstForm::ANY);
            cx.insert(constant);
            cx.replace(id, constant);
            self.uses.resize(cx.function().n_nodes(), 0);
            self.uses[constant.index()] = n_uses;
        }
        Action::Keep
    }

    /// Takes the names away from a branch's values where another value has the same one; the branch's block becomes a
    /// part of the outer one.
    fn free_names(&mut self, cx: &mut RebuildCx<'_>, block: BlockId) {
        let f = cx.function();
        let names = self.names.get_or_insert_with(|| {
            let mut names = HashMap::new();
            for id in (0..f.n_nodes()).map(NodeId::from_index) {
                *names.entry(f.name(id).to_owned()).or_default() += 1;
            }
            names
        });
        let mut walk = Walk::block(block);
        let mut inner: Vec<NodeId> = Vec::new();
        while let Some(step) = walk.next(f) {
            if let WalkStep::Binding(id) = step
                && f.name_id(id) != StrId::EMPTY
            {
                inner.push(id);
            }
        }
        let mut own: HashMap<String, usize> = HashMap::new();
        for &id in &inner {
            *own.entry(f.name(id).to_owned()).or_default() += 1;
        }
        own.retain(|name, n| names.get(name) != Some(n));
        for id in inner {
            if own.contains_key(cx.function().name(id)) {
                cx.function_mut().set_name_id(id, StrId::EMPTY);
            }
        }
        for (name, n) in own {
            names.entry(name).and_modify(|all| *all = all.saturating_sub(n));
        }
    }

    /// Puts constants in the place of a binding; a single one is used as often as the binding was.
    fn replace(&mut self, cx: &mut RebuildCx<'_>, id: NodeId, values: Vec<Tensor>) -> Action {
        let action = replace(cx, id, values);
        if let Action::Replace(constant) = action {
            let n_uses = self.uses.get(id.index()).copied().unwrap_or(0);
            self.uses.resize(cx.function().n_nodes(), 0);
            self.uses[constant.index()] = n_uses;
        }
        action
    }
}

fn replace(cx: &mut RebuildCx<'_>, id: NodeId, values: Vec<Tensor>) -> Action {
    let f = cx.function_mut();
    let n_results = f.n_results(id);
    let constants: Vec<NodeId> = values.into_iter().map(|value| f.add_constant(value, ConstForm::ANY)).collect();
    if n_results.is_none() {
        f.inherit_value(constants[0], id);
    }
    for &constant in &constants {
        cx.insert(constant);
    }
    match n_results {
        None => Action::Replace(constants[0]),
        Some(_) => {
            cx.replace_results(id, constants);
            Action::Drop
        }
    }
}

/// The value of a boolean scalar, or of a tensor of one boolean.
fn truth(tensor: &Tensor) -> Option<bool> {
    let is_one = tensor.elem() == ElemType::BOOL && tensor.len() == 1;
    is_one.then(|| tensor.to_bytes().first().is_some_and(|&byte| byte != 0))
}

/// The tensor of a node whose contents are known and whose type determines its form.
pub(crate) fn known_tensor(f: &Function, id: NodeId) -> Option<Tensor> {
    let contents = f.ty(known_value(f, id)?).shape()?;
    let values: Vec<i64> =
        contents.iter().map(|&dim| i64::try_from(Dim::from(dim).known()?).ok()).collect::<Option<_>>()?;
    let (elem, shape) = f.type_of(id).as_tensor()?;
    let dims: Vec<u64> = shape.iter().map(|&dim| Dim::from(dim).known()).collect::<Option<_>>()?;
    if element_count(&dims) != Some(values.len() as u64) {
        return None;
    }
    let bytes: Vec<u8> = match elem {
        ElemType::INT64 => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        ElemType::INT32 => {
            let narrow: Option<Vec<i32>> = values.iter().map(|&value| i32::try_from(value).ok()).collect();
            narrow?.iter().flat_map(|value| value.to_le_bytes()).collect()
        }
        _ => return None,
    };
    Tensor::dense(elem, &dims, bytes).ok()
}

/// Which nodes with several results are used through projections alone.
pub(crate) struct ProjectedOnly {
    other_uses: Vec<bool>,
}

impl ProjectedOnly {
    pub(crate) fn of(f: &Function) -> Self {
        let mut other_uses = vec![false; f.n_nodes()];
        let mut walk = Walk::new(f);
        while let Some(step) = walk.next(f) {
            match step {
                WalkStep::Binding(id) if !matches!(f.kind(id), kind::TUPLE_GET_ITEM | kind::FUNCTION) => {
                    for operand in f.operands(id) {
                        other_uses[operand.index()] = true;
                    }
                }
                WalkStep::Exit(block) => {
                    for result in f.results(block) {
                        other_uses[result.index()] = true;
                    }
                }
                _ => {}
            }
        }
        Self { other_uses }
    }

    pub(crate) fn holds(&self, id: NodeId) -> bool {
        self.other_uses.get(id.index()).is_some_and(|&used| !used)
    }
}

//! A conditional whose branches have different ranks takes the one whose rank a later call requires.
//!
//! ```text
//! %y = if (%c) { %1 = Squeeze(%x, %axis); %1 } else { %x };     // %x: Tensor[(N, 8, T), float32]
//! %2 = Unsqueeze(%y, %axis);
//! %3 = LSTM(%2, %w, %r, hidden_size = 4);
//! ```
//! becomes
//! ```text
//! %0 = const(bool, true);
//! %y = if (%0) { %1 = Squeeze(%x, %axis); %1 } else { %x };
//! ```
//!
//! The first argument of `LSTM` has three dimensions, so `%y` has two: with the other branch the model fails. The
//! condition is that of every input for which the model gives a result, and its value is put in its place, also in the
//! other conditionals of the block that have it; `FoldConstant` then removes them. For an input for which the model fails,
//! the result may give a value.
//!
//! The call must be in the conditional's block, and a result of the block must depend on it, not only through one
//! branch of another conditional: only then does every run that computes the conditional also compute the call. `RNN`,
//! `GRU` and `LSTM` require ranks, and so does `Transpose` with `perm`; other operators do, too, but runtimes take
//! values of other ranks there. `Unsqueeze` and `Identity` pass on what is required of their result.

use crate::numbers::is_of_onnx;
use relais_plugin_api::{
    ir::{BlockId, BlockTree, ConstForm, kind},
    prelude::*,
};
use std::collections::{HashMap, HashSet};

/// The operators whose inputs, weights and initial states have three dimensions.
const RECURRENT: [&str; 3] = ["RNN", "GRU", "LSTM"];
/// These arguments of them.
const OF_THREE: [usize; 5] = [0, 1, 2, 5, 6];

/// Makes conditions constant of which one value makes the model fail.
#[function_pass(
    name = "relais.SimplifyIf",
    opt_level = 1,
    required = ["relais.InferType"],
    statistics(decided = "conditions that became constants"),
)]
pub fn simplify_if(edit: &mut Editor, cx: &PassCx<'_>) -> Result<(), PassError> {
    if !edit.function().all_bindings().any(|id| edit.function().kind(id) == kind::IF) {
        return Ok(());
    }
    let places = cx.analysis::<BlockTree>(edit)?;
    let mut decided: HashMap<NodeId, bool> = HashMap::new();
    let f = edit.function();
    let mut live = Live::new();
    for block in f.all_blocks().collect::<Vec<_>>().into_iter().rev() {
        let required = Required::of(f, &places, block, &mut live);
        let conditions = required.conditions(|id, reason| cx.remark(id, reason));
        decided.extend(f.bindings(block).iter().filter_map(|&id| match f.expr(id) {
            Expr::If(branch) => Some((id, *conditions.get(&branch.cond())?)),
            _ => None,
        }));
    }
    cx.count("decided", decided.len());
    edit.rebuild(&mut |cx: &mut RebuildCx<'_>, id: NodeId| -> Result<Action, PassError> {
        if let Some(value) = decided.get(&id) {
            let tensor = Tensor::dense(ElemType::BOOL, &[], vec![u8::from(*value)]).map_err(PassError::new)?;
            let constant = cx.function_mut().add_constant(tensor, ConstForm::ANY);
            cx.insert(constant);
            cx.function_mut().set_operand(id, 0, constant);
        }
        Ok(Action::Keep)
    })
}

/// By branch of a conditional: the values that every run computes that takes it, those of outer blocks included.
type Live = HashMap<BlockId, HashSet<NodeId>>;

/// The ranks that values of a block have in every run that computes the block.
struct Required<'a> {
    f: &'a Function,
    places: &'a BlockTree,
    block: BlockId,
    /// By node and number of the result.
    ranks: HashMap<(NodeId, usize), usize>,
    /// The conditionals on which a result of the block depends.
    live_ifs: Vec<NodeId>,
}

impl<'a> Required<'a> {
    fn of(f: &'a Function, places: &'a BlockTree, block: BlockId, branches: &mut Live) -> Self {
        let mut required = Self { f, places, block, ranks: HashMap::new(), live_ifs: Vec::new() };
        let mut live: HashSet<NodeId> = f.results(block).iter().copied().collect();
        for &id in f.bindings(block).iter().rev() {
            let of_branches = match f.expr(id) {
                Expr::If(branch) => {
                    [branch.then_branch(), branch.else_branch()].map(|b| branches.remove(&f.block_of(b)))
                }
                _ => [None, None],
            };
            if live.contains(&id) && f.kind(id) != kind::FUNCTION {
                live.extend(f.operands(id));
                if let [Some(then), Some(otherwise)] = of_branches {
                    live.extend(then.intersection(&otherwise));
                }
                required.visit(id);
            }
        }
        if block != f.body() {
            branches.insert(block, live);
        }
        required
    }

    /// Notes what a call requires of its arguments, if all that is required of its results is known.
    fn visit(&mut self, id: NodeId) {
        match self.f.expr(id) {
            Expr::If(_) => self.live_ifs.push(id),
            Expr::TupleGetItem { tuple, index } => {
                if let Some(&rank) = self.ranks.get(&(id, 0)) {
                    self.require(tuple, index, rank);
                }
            }
            Expr::Call(call) if is_of_onnx(self.f, call) => match call.op_name() {
                name if RECURRENT.contains(&name) => {
                    OF_THREE.iter().filter_map(|&at| call.arg(at)).for_each(|arg| self.require(arg, 0, 3));
                }
                "Transpose" => {
                    if let Some((arg, perm)) = call.arg(0).zip(call.attrs().ints("perm")) {
                        self.require(arg, 0, perm.len());
                    }
                }
                "Unsqueeze" | "Identity" => {
                    let rank = self.ranks.get(&(id, 0)).and_then(|rank| rank.checked_sub(self.n_new_axes(call)?));
                    if let Some((arg, rank)) = call.arg(0).zip(rank) {
                        self.require(arg, 0, rank);
                    }
                }
                _ => {}
            },
            _ => {}
        }
    }

    /// How many dimensions the result has beyond those of the argument.
    fn n_new_axes(&self, call: CallView<'_>) -> Option<usize> {
        match call.arg(1) {
            _ if call.is_op("Identity") => Some(0),
            Some(axes) => usize::try_from(self.f.constant(axes)?.len()).ok(),
            None => Some(call.attrs().ints("axes")?.len()),
        }
    }

    fn require(&mut self, value: NodeId, index: usize, rank: usize) {
        if self.places.block_of(value) == Some(self.block) {
            // Where two calls require different ranks, the block gives no result, whatever is decided.
            self.ranks.entry((value, index)).or_insert(rank);
        }
    }

    /// The values that conditions have in every run that computes the block.
    fn conditions(&self, mut remark: impl FnMut(NodeId, &str)) -> HashMap<NodeId, bool> {
        let mut conditions: HashMap<NodeId, Option<bool>> = HashMap::new();
        for &id in &self.live_ifs {
            let Expr::If(branch) = self.f.expr(id) else { continue };
            if self.f.constant(branch.cond()).is_some() {
                continue;
            }
            let results = [branch.then_branch(), branch.else_branch()].map(|b| self.f.results(self.f.block_of(b)));
            let rank = |branch: usize, at: usize| Some(self.f.type_of(*results[branch].get(at)?).shape()?.len());
            let differ = |at: &usize| rank(0, *at).zip(rank(1, *at)).is_some_and(|(then, or)| then != or);
            if !(0..results[0].len()).any(|at| differ(&at)) {
                continue;
            }
            let mut can_be = [true; 2];
            for at in 0..results[0].len() {
                let Some(&required) = self.ranks.get(&(id, at)) else { continue };
                for (branch, can_be) in can_be.iter_mut().enumerate() {
                    *can_be &= rank(branch, at).is_none_or(|rank| rank == required);
                }
            }
            let value = match can_be {
                [true, false] => true,
                [false, true] => false,
                [true, true] => {
                    remark(id, "no call that is always computed requires the rank of one of its branches");
                    continue;
                }
                [false, false] => {
                    remark(id, "no branch has the rank that a later call requires");
                    continue;
                }
            };
            conditions
                .entry(branch.cond())
                .and_modify(|known| *known = known.filter(|&v| v == value))
                .or_insert(Some(value));
        }
        conditions.into_iter().filter_map(|(condition, value)| Some((condition, value?))).collect()
    }
}

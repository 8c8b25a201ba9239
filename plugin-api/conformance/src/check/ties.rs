//! Whether results that are decided by comparing floats could as well have been decided otherwise.
//!
//! An index, a class, a branch or a number of boxes may change where two numbers are as near to each other as bounds allow. The
//! model is computed again and again; each time, each call that makes other values of floats gets floats that are apart from
//! the model's by a random part of the bounds. An output may be whatever it is in one of these runs.

use super::{Evaluators, TwinPrecision, precision::WithTwins};
use crate::{
    interpret::{self, Compute, Computed, NotComputed},
    numbers::{MANY_TIMES, Tolerance, close_elements, largest_around, xorshift},
};
use relais_plugin_api::{facts::OpSource, infer::Operators, ir::*};
use std::cell::{Cell, RefCell};

/// The most runs of a model.
const N_RUNS: u64 = 24;

/// The number of runs that are enough if none of them decides anything otherwise.
const N_FIRST: u64 = 3;

/// A tensor of the outputs of a model in another form.
pub struct Pair<'a> {
    /// Its value.
    pub new: &'a Tensor,
    /// By how much each float may differ beside the bounds; nothing for those that are missing.
    pub slack: Vec<f64>,
}

impl<'s, S: OpSource<'s>> Evaluators<'_, S> {
    /// Returns for each tensor of the outputs of a module whether what it became is what it may be, if that is decided by floats that are as
    /// near to each other as bounds allow: element by element.
    pub fn ties(
        &self,
        module: &IRModule,
        inputs: &[Tensor],
        pairs: &[Pair<'_>],
        (tolerance, computed): (Tolerance, ElemType),
    ) -> Vec<bool> {
        let mut open: Vec<Option<Vec<bool>>> = pairs.iter().map(|_| None).collect();
        let is_settled = |open: &Option<Vec<bool>>| open.as_ref().is_some_and(|open| !open.contains(&true));
        let mut has_decided = false;
        for seed in 1..=N_RUNS {
            let undecided = Undecided::new(self, tolerance, computed, seed);
            let Ok(results) = undecided.run(module, inputs) else { continue };
            has_decided |= undecided.has_decided.get();
            if (seed >= N_FIRST && !has_decided) || self.is_stopped() {
                break;
            }
            for ((open, pair), result) in open.iter_mut().zip(pairs).zip(&results) {
                let Some(close) = close_elements(result, pair.new, tolerance, computed, &pair.slack) else { continue };
                let open = open.get_or_insert_with(|| vec![true; close.len()]);
                open.iter_mut().zip(close).for_each(|(open, is_close)| *open &= !is_close);
            }
            if open.iter().all(is_settled) {
                break;
            }
        }
        open.iter().map(|open| has_decided && is_settled(open)).collect()
    }
}

/// Evaluators that decide a little at random.
struct Undecided<'e, 'a, S> {
    with_twins: WithTwins<'e, 'a, S>,
    tolerance: Tolerance,
    computed: ElemType,
    random: RefCell<Box<dyn FnMut() -> u64>>,
    has_decided: Cell<bool>,
}

impl<'e, 'a, 's, S: OpSource<'s>> Undecided<'e, 'a, S> {
    fn new(evaluators: &'e Evaluators<'a, S>, tolerance: Tolerance, computed: ElemType, seed: u64) -> Self {
        let precision = match computed {
            ElemType::FLOAT16 | ElemType::BFLOAT16 => TwinPrecision::Digits(computed),
            _ => TwinPrecision::Double,
        };
        Self {
            with_twins: WithTwins { evaluators, precision },
            tolerance,
            computed,
            random: RefCell::new(Box::new(xorshift(seed))),
            has_decided: false.into(),
        }
    }

    /// The results of a run.
    fn run(&self, module: &IRModule, inputs: &[Tensor]) -> Result<Vec<Tensor>, NotComputed> {
        let (_, tensors) = interpret::run_whole(module, MAIN, inputs, self)?;
        Ok(tensors.into_iter().map(|computed| computed.tensor).collect())
    }

    /// Floats that are apart from those of an argument by a random part of the bounds, or of the error of the model.
    fn moved(&self, arg: &Computed) -> Option<Tensor> {
        let Computed { tensor, twin } = arg;
        let values = tensor.to_f64s().filter(|_| tensor.elem().is_float())?;
        let largest = values.iter().filter(|x| x.is_finite()).fold(0.0f64, |most, x| most.max(x.abs()));
        let (relative, absolute) = self.tolerance.bounds_in(tensor.elem(), self.computed, largest);
        let twins = twin.as_ref().filter(|twin| twin.dims() == tensor.dims()).and_then(Tensor::to_f64s);
        let errors: Option<Vec<f64>> = twins.map(|twins| twins.iter().zip(&values).map(|(a, b)| a - b).collect());
        let errors = errors.map(|errors| largest_around(tensor.dims(), &errors));
        let largest = largest_around(tensor.dims(), &values);
        let error = |at: usize| {
            let error = errors.as_ref().map_or(0.0, |errors| errors[at]);
            (MANY_TIMES * error).min(largest[at] / 2.0)
        };
        let mut random = self.random.borrow_mut();
        let mut share = || (random() >> 11) as f64 / (1u64 << 52) as f64 - 1.0;
        let moved =
            values.iter().enumerate().map(|(at, x)| x + share() * (relative * x.abs() + absolute).max(error(at)));
        Tensor::from_f64s(tensor.elem(), tensor.dims(), &moved.collect::<Vec<_>>())
    }
}

impl<'s, S: OpSource<'s>> Compute for Undecided<'_, '_, S> {
    fn with_ops(&self, function: &Function, body: &mut dyn FnMut(&mut dyn Operators)) {
        self.with_twins.with_ops(function, body);
    }

    fn known(&self, call: CallView<'_>, inputs: &[Option<Tensor>]) -> Option<Tensor> {
        self.with_twins.known(call, inputs)
    }

    fn others(
        &self,
        call: CallView<'_>,
        args: &[Option<Computed>],
        results: &[Tensor],
        ops: &mut dyn Operators,
    ) -> Option<Vec<Tensor>> {
        if results.iter().all(|result| result.elem().is_float()) {
            return None;
        }
        let moved: Vec<Option<Tensor>> = args.iter().map(|arg| self.moved(arg.as_ref()?)).collect();
        if moved.iter().all(Option::is_none) {
            return None;
        }
        let taken = args.iter().zip(moved).map(|(arg, moved)| moved.or_else(|| Some(arg.as_ref()?.tensor.clone())));
        let taken: Vec<Option<Tensor>> = taken.collect();
        let others = ops.evaluate(call.op()?, call.owner(), call.id, &taken, self.max_bytes())?.ok()?;
        if others != results {
            self.has_decided.set(true);
        }
        Some(others)
    }

    fn has_twins(&self) -> bool {
        true
    }

    fn twin(&self, tensor: &Tensor) -> Option<Tensor> {
        self.with_twins.twin(tensor)
    }

    fn twins(
        &self,
        call: CallView<'_>,
        args: &[Option<Computed>],
        results: &[Tensor],
        ops: &mut dyn Operators,
    ) -> Vec<Option<Tensor>> {
        self.with_twins.twins(call, args, results, ops)
    }

    fn is_stopped(&self) -> bool {
        self.with_twins.is_stopped()
    }

    fn max_bytes(&self) -> u64 {
        self.with_twins.max_bytes()
    }

    fn max_bytes_alive(&self) -> u64 {
        self.with_twins.max_bytes_alive()
    }
}

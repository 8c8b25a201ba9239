//! Loops over the functions of calls: ONNX's `Loop`, and its `Scan` from version 9 on.

use super::{Computed, Known, NotComputed, Run, Value, axis::front, not_covered, pack, wrong};
use relais_ir::*;
use std::mem;

/// The values that one output of a loop collects.
#[derive(Default)]
struct Collected {
    parts: Vec<Computed>,
    n_bytes: u64,
    /// Why one of them is not known.
    stop: Option<NotComputed>,
}

impl Collected {
    /// Adds a value. Once the result cannot be known, or takes more bytes than allowed, nothing is kept.
    fn add(&mut self, value: Known, most: u64) {
        let stop = match value {
            _ if self.stop.is_some() => return,
            Ok(Value::Tensor(computed)) => {
                self.n_bytes = self.n_bytes.saturating_add(computed.tensor.byte_len());
                if self.n_bytes <= most {
                    return self.parts.push(computed);
                }
                not_covered("a loop", "collects too many values")
            }
            Ok(_) => wrong("a value that a loop collects is not a tensor"),
            Err(stop) => stop,
        };
        self.stop = Some(stop);
        self.parts.clear();
    }
}

impl Run<'_> {
    /// The function of a call, which takes that many values and gives at least `fewest`.
    pub(super) fn body(
        &self,
        call: CallView<'_>,
        n_params: usize,
        fewest: usize,
    ) -> Result<FunctionView<'_>, NotComputed> {
        let &[body] = call.regions() else { return Err(wrong(format!("{} has no body", call.id))) };
        let Expr::Function(body) = self.f.expr(body) else { return Err(wrong(format!("{body} is not a function"))) };
        match body.params().len() == n_params && self.f.results(body.block()).len() >= fewest {
            true => Ok(body),
            false => Err(wrong(format!("the body of {} has another number of parameters or results", call.id))),
        }
    }

    /// One turn of a loop.
    pub(super) fn turn(
        &mut self,
        block: BlockId,
        params: &[NodeId],
        values: Vec<Known>,
    ) -> Result<Vec<Known>, NotComputed> {
        // A turn takes a step of its own, so that empty ones end, too.
        self.step()?;
        self.values.extend(params.iter().copied().zip(values));
        self.block(block)
    }

    /// Stacks each output that was collected along an axis of its own; without a turn it has no elements.
    fn stack(&self, collected: Vec<Collected>, results: &[NodeId], axes: &[i64]) -> Vec<Known> {
        let all = collected.into_iter().zip(results).zip(axes);
        all.map(|((Collected { parts, stop, .. }, &result), &axis)| {
            if let Some(stop) = stop {
                return Err(stop);
            }
            if !parts.is_empty() {
                return Computed::stacked("a loop", &parts, axis).map(Value::Tensor);
            }
            let ty = self.f.type_of(result);
            let (Some(elem), Some(mut dims)) = (ty.elem(), ty.static_shape()) else {
                return Err(not_covered("a loop", "without a turn collects values of unknown shapes"));
            };
            dims.insert(front(axis, dims.len() + 1)?, 0);
            Tensor::dense(elem, &dims, Vec::new()).map(Value::from).map_err(wrong)
        })
        .collect()
    }

    /// The value of a scalar argument; `None` if it is absent.
    fn scalar<T>(
        &mut self,
        id: Option<NodeId>,
        read: impl FnOnce(&Tensor) -> Option<T>,
    ) -> Result<Option<T>, NotComputed> {
        let Some(id) = id else { return Ok(None) };
        let tensor = self.tensor(id)?;
        read(&tensor).map(Some).ok_or_else(|| wrong(format!("{id} is not a number or truth value for a loop")))
    }

    pub(super) fn run_loop(&mut self, call: CallView<'_>) -> Known {
        let carried = call.args().get(2..).unwrap_or_default();
        let n = carried.len();
        let body = self.body(call, n + 2, n + 1)?;
        let (block, params) = (body.block(), body.params().to_vec());
        let results = self.f.results(block)[n + 1..].to_vec();
        let most = self.scalar(call.arg(0), Tensor::to_i64)?;
        let mut goes_on = self.scalar(call.arg(1), truth)?.unwrap_or(true);
        let mut state: Vec<Known> = carried.iter().map(|&arg| self.value(arg)).collect();
        let mut collected: Vec<Collected> = results.iter().map(|_| Collected::default()).collect();
        let most_bytes = self.compute.max_bytes();
        let mut at = 0;
        while goes_on && most.is_none_or(|most| at < most) {
            let turn = [Tensor::from_i64(&[], &[at]), Tensor::dense(ElemType::BOOL, &[], vec![1]).map_err(wrong)?];
            let mut values: Vec<Known> = turn.into_iter().map(|value| Ok(value.into())).collect();
            values.append(&mut state);
            let mut made = self.turn(block, &params, values)?.into_iter();
            goes_on = match made.next() {
                Some(Ok(Value::Tensor(condition))) => truth(&condition.tensor),
                Some(Err(stop)) => return Err(stop),
                _ => None,
            }
            .ok_or_else(|| wrong(format!("the condition of {} is not a truth value", call.id)))?;
            state.extend(made.by_ref().take(n));
            collected.iter_mut().zip(made).for_each(|(collected, value)| collected.add(value, most_bytes));
            at += 1;
        }
        state.extend(self.stack(collected, &results, &vec![0; results.len()]));
        pack(state, call.n_results())
    }

    pub(super) fn run_scan(&mut self, call: CallView<'_>) -> Known {
        if call.version() < 9 {
            return Err(not_covered("Scan", "is not evaluated before version 9"));
        }
        let attrs = call.attrs();
        let n_scanned = attrs.int("num_scan_inputs").and_then(|n| usize::try_from(n).ok());
        let n_scanned = n_scanned.filter(|&n| n > 0 && n <= call.args().len());
        let n_scanned = n_scanned.ok_or_else(|| wrong(format!("{} has no number of scanned inputs", call.id)))?;
        let (carried, scanned) = call.args().split_at(call.args().len() - n_scanned);
        let n = carried.len();
        let body = self.body(call, call.args().len(), n)?;
        let (block, params) = (body.block(), body.params().to_vec());
        let results = self.f.results(block)[n..].to_vec();
        let list = |name: &str, len: usize| match attrs.ints(name) {
            None => Ok(vec![0; len]),
            Some(list) if list.len() == len => Ok(list),
            Some(_) => Err(wrong(format!("`{name}` of {} has another number of entries", call.id))),
        };
        let (axes, directions) = (list("scan_input_axes", n_scanned)?, list("scan_input_directions", n_scanned)?);
        let out_axes = list("scan_output_axes", results.len())?;
        let out_directions = list("scan_output_directions", results.len())?;
        let mut inputs = Vec::with_capacity(n_scanned);
        for (&id, &axis) in scanned.iter().zip(&axes) {
            let input = self.computed(id)?;
            if input.tensor.byte_len() > self.compute.max_bytes() {
                return Err(not_covered("Scan", "goes over an input that is too large"));
            }
            let axis = front(axis, input.tensor.dims().len())?;
            inputs.push((input, axis));
        }
        let sizes: Vec<u64> = inputs.iter().map(|(input, axis)| input.tensor.dims()[*axis]).collect();
        let n_turns = match sizes.iter().all(|size| *size == sizes[0]) {
            true => usize::try_from(sizes[0]).map_err(wrong)?,
            false => return Err(wrong(format!("the inputs that {} scans have different lengths", call.id))),
        };
        let mut state: Vec<Known> = carried.iter().map(|&arg| self.value(arg)).collect();
        let mut collected: Vec<Collected> = results.iter().map(|_| Collected::default()).collect();
        let most_bytes = self.compute.max_bytes();
        for at in 0..n_turns {
            let mut values = mem::take(&mut state);
            for ((input, axis), &direction) in inputs.iter().zip(&directions) {
                let place = if direction == 0 { at } else { n_turns - 1 - at };
                values.push(Ok(Value::Tensor(input.place("Scan", *axis, place)?)));
            }
            let mut made = self.turn(block, &params, values)?.into_iter();
            state.extend(made.by_ref().take(n));
            collected.iter_mut().zip(made).for_each(|(collected, value)| collected.add(value, most_bytes));
        }
        for (collected, _) in collected.iter_mut().zip(&out_directions).filter(|(_, direction)| **direction != 0) {
            collected.parts.reverse();
        }
        state.extend(self.stack(collected, &results, &out_axes));
        pack(state, call.n_results())
    }
}

/// The one truth value of a tensor.
fn truth(tensor: &Tensor) -> Option<bool> {
    let is_one = tensor.elem() == ElemType::BOOL && tensor.len() == 1;
    is_one.then(|| tensor.to_bytes().first().is_some_and(|&byte| byte != 0))
}

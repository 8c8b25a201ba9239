//! Sequences and optionals. ONNX's operators on them are part of the interpreter: evaluators take and return tensors.

use super::{Computed, Known, MAX_STEPS, NotComputed, Run, Value, axis::front, axis::places, not_covered, pack, wrong};
use relais_ir::*;

/// An operator that makes, changes or reads a sequence or an optional.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ContainerOp {
    SequenceEmpty,
    SequenceConstruct,
    SequenceInsert,
    SequenceErase,
    SequenceAt,
    SequenceLength,
    SequenceMap,
    SplitToSequence,
    ConcatFromSequence,
    Optional,
    OptionalHasElement,
    OptionalGetElement,
}

impl ContainerOp {
    /// The operator of ONNX with that name.
    pub fn of(name: &str) -> Option<Self> {
        Some(match name {
            "SequenceEmpty" => Self::SequenceEmpty,
            "SequenceConstruct" => Self::SequenceConstruct,
            "SequenceInsert" => Self::SequenceInsert,
            "SequenceErase" => Self::SequenceErase,
            "SequenceAt" => Self::SequenceAt,
            "SequenceLength" => Self::SequenceLength,
            "SequenceMap" => Self::SequenceMap,
            "SplitToSequence" => Self::SplitToSequence,
            "ConcatFromSequence" => Self::ConcatFromSequence,
            "Optional" => Self::Optional,
            "OptionalHasElement" => Self::OptionalHasElement,
            "OptionalGetElement" => Self::OptionalGetElement,
            _ => return None,
        })
    }
}

impl Run<'_> {
    /// Computes a call of one of these operators.
    pub(super) fn container_call(&mut self, op: ContainerOp, call: CallView<'_>) -> Known {
        let value = match op {
            ContainerOp::SequenceEmpty => Value::Sequence(Vec::new()),
            ContainerOp::SequenceConstruct => {
                Value::Sequence(call.args().iter().map(|&arg| self.computed(arg)).collect::<Result<_, _>>()?)
            }
            ContainerOp::SequenceInsert => {
                let (mut items, item) = (self.sequence(call, 0)?, self.argument(call, 1)?);
                let at = self.position(call, 2, items.len() + 1)?.unwrap_or(items.len());
                items.insert(at, item);
                Value::Sequence(items)
            }
            ContainerOp::SequenceErase => {
                let mut items = self.sequence(call, 0)?;
                let at = self.position(call, 1, items.len())?;
                let at =
                    at.or(items.len().checked_sub(1)).ok_or_else(|| wrong("an empty sequence has no last item"))?;
                items.remove(at);
                Value::Sequence(items)
            }
            ContainerOp::SequenceAt => {
                let mut items = self.sequence(call, 0)?;
                let at = self.position(call, 1, items.len())?.ok_or_else(|| wrong("`SequenceAt` has no position"))?;
                Value::Tensor(items.swap_remove(at))
            }
            ContainerOp::SequenceLength => Tensor::from_i64(&[], &[self.sequence(call, 0)?.len() as i64]).into(),
            ContainerOp::SequenceMap => return self.map_sequence(call),
            ContainerOp::SplitToSequence => Value::Sequence(self.split_to_sequence(call)?),
            ContainerOp::ConcatFromSequence => {
                let items = self.sequence(call, 0)?;
                let n_bytes = items.iter().fold(0u64, |sum, item| sum.saturating_add(item.tensor.byte_len()));
                if n_bytes > self.compute.max_bytes() {
                    return Err(not_covered("ConcatFromSequence", "makes too large a value"));
                }
                let axis = call.attrs().int("axis").ok_or_else(|| wrong("`ConcatFromSequence` has no axis"))?;
                let joined = if call.attrs().int("new_axis").unwrap_or(0) == 1 {
                    Computed::stacked("ConcatFromSequence", &items, axis)
                } else {
                    let rank = items.first().map_or(0, |item| item.tensor.dims().len());
                    Computed::joined("ConcatFromSequence", &items, front(axis, rank)?)
                };
                Value::Tensor(joined?)
            }
            ContainerOp::Optional => match call.arg(0) {
                None => Value::Optional(None),
                Some(arg) => Value::Optional(Some(Box::new(self.value(arg)?))),
            },
            ContainerOp::OptionalHasElement => {
                let has_element = match call.arg(0) {
                    None => false,
                    Some(arg) => !matches!(self.value(arg)?, Value::Optional(None)),
                };
                Tensor::dense(ElemType::BOOL, &[], vec![has_element.into()]).map_err(wrong)?.into()
            }
            ContainerOp::OptionalGetElement => match self.value(required(call, 0)?)? {
                Value::Optional(Some(value)) => *value,
                Value::Optional(None) => {
                    return Err(wrong(format!("the optional that {} takes has no element", call.id)));
                }
                value => value,
            },
        };
        pack(vec![Ok(value)], call.n_results())
    }

    fn argument(&mut self, call: CallView<'_>, at: usize) -> Result<Computed, NotComputed> {
        self.computed(required(call, at)?)
    }

    fn sequence(&mut self, call: CallView<'_>, at: usize) -> Result<Vec<Computed>, NotComputed> {
        match self.value(required(call, at)?)? {
            Value::Sequence(items) => Ok(items),
            _ => Err(wrong(format!("argument {at} of {} is not a sequence", call.id))),
        }
    }

    /// The position that an argument states, one of `n` from the front or, below zero, from the back; `None` if it is
    /// absent.
    fn position(&mut self, call: CallView<'_>, at: usize, n: usize) -> Result<Option<usize>, NotComputed> {
        let Some(arg) = call.arg(at) else { return Ok(None) };
        let position = self
            .tensor(arg)?
            .to_i64()
            .ok_or_else(|| wrong(format!("the position of {} is not an integer", call.id)))?;
        let from_front = if position < 0 { position + n as i64 } else { position };
        let found = usize::try_from(from_front).ok().filter(|&at| at < n);
        found.map(Some).ok_or_else(|| wrong(format!("position {position} of {} is not one of {n}", call.id)))
    }

    fn split_to_sequence(&mut self, call: CallView<'_>) -> Result<Vec<Computed>, NotComputed> {
        const WHAT: &str = "SplitToSequence";
        let (input, attrs) = (self.argument(call, 0)?, call.attrs());
        let axis = front(attrs.int("axis").unwrap_or(0), input.tensor.dims().len())?;
        let n_places = usize::try_from(input.tensor.dims()[axis]).map_err(wrong)?;
        let Some(split) = call.arg(1) else {
            let part = |at| match attrs.int("keepdims").unwrap_or(1) {
                0 => input.place(WHAT, axis, at),
                _ => input.map(|tensor| places(WHAT, tensor, axis, at..at + 1)),
            };
            let mut parts = Vec::new();
            for at in 0..n_places {
                self.step()?;
                parts.push(part(at)?);
            }
            return Ok(parts);
        };
        let split = self.tensor(split)?;
        let not_sizes = || wrong(format!("the sizes that {} splits in do not fit", call.id));
        let sizes: Vec<usize> = match (split.to_i64(), split.dims()) {
            (Some(size), []) => {
                let size = usize::try_from(size).ok().filter(|&size| size > 0).ok_or_else(not_sizes)?;
                let n_parts = n_places.div_ceil(size);
                if n_parts > MAX_STEPS {
                    return Err(not_covered(WHAT, "makes too many parts"));
                }
                (0..n_places).step_by(size).map(|at| size.min(n_places - at)).collect()
            }
            _ => {
                let sizes = split.to_i64s().ok_or_else(not_sizes)?;
                let sizes = sizes.into_iter().map(|size| usize::try_from(size).ok().filter(|&size| size <= n_places));
                let sizes: Vec<usize> = sizes.collect::<Option<_>>().ok_or_else(not_sizes)?;
                if sizes.iter().try_fold(0usize, |sum, &size| sum.checked_add(size)) != Some(n_places) {
                    return Err(not_sizes());
                }
                sizes
            }
        };
        let mut first = 0;
        let parts = sizes.into_iter().map(|size| {
            let at = first..first + size;
            first += size;
            input.map(|tensor| places(WHAT, tensor, axis, at.clone()))
        });
        parts.collect()
    }

    /// Runs the function of a call for each item of a sequence.
    fn map_sequence(&mut self, call: CallView<'_>) -> Known {
        let body = self.body(call, call.args().len(), 1)?;
        let (block, params) = (body.block(), body.params().to_vec());
        let args: Vec<Value> = call.args().iter().map(|&arg| self.value(arg)).collect::<Result<_, _>>()?;
        let Some(Value::Sequence(first)) = args.first() else {
            return Err(wrong(format!("{} does not take a sequence", call.id)));
        };
        let n_items = first.len();
        let mut results = vec![Vec::with_capacity(n_items); self.f.results(block).len()];
        for at in 0..n_items {
            let item = |arg: &Value| match arg {
                Value::Sequence(items) => {
                    let item = items.get(at).cloned().map(Value::Tensor);
                    item.ok_or_else(|| wrong(format!("the sequences that {} takes have other lengths", call.id)))
                }
                other => Ok(other.clone()),
            };
            let made = self.turn(block, &params, args.iter().map(item).collect())?;
            for (results, made) in results.iter_mut().zip(made) {
                let Value::Tensor(made) = made? else {
                    return Err(wrong(format!("the function of {} does not give tensors", call.id)));
                };
                results.push(made);
            }
        }
        pack(results.into_iter().map(|items| Ok(Value::Sequence(items))).collect(), call.n_results())
    }
}

fn required(call: CallView<'_>, at: usize) -> Result<NodeId, NotComputed> {
    call.arg(at).ok_or_else(|| wrong(format!("{} has no argument {at}", call.id)))
}

//! Reductions and scans along axes.

use super::shared::{
    Done, copy, declined, floats, given_ints, index::around, is_half, numbers, sizes_of, terms::Terms, viewed, volume,
    wide,
};
use crate::calls::{flag, int};
use relais_plugin_api::{
    ir::{ElemType, Imm, NodeId},
    op::{Kernel, OpCall, OpError, shapes::axis_of},
    prim::{CoreOp, PrimBuilder},
};

type Start = fn(&mut PrimBuilder<'_>, ElemType) -> NodeId;
type Step<'f> = Box<dyn Fn(&mut PrimBuilder<'_>, NodeId, NodeId) -> NodeId + 'f>;
type Finish<'f> = Box<dyn Fn(&mut PrimBuilder<'_>, NodeId) -> NodeId + 'f>;

/// Makes one number of many.
pub struct Reduction<'f> {
    start: Start,
    step: Step<'f>,
    finish: Option<Finish<'f>>,
}

/// The least number of a type, the greatest one if it is turned round.
fn extreme(b: &mut PrimBuilder<'_>, elem: ElemType, is_least: bool) -> NodeId {
    if elem.is_float() {
        return b.num(elem, if is_least { f64::NEG_INFINITY } else { f64::INFINITY });
    }
    let bits = match (elem.is_signed(), is_least) {
        (true, true) => 1 << (elem.bits() - 1),
        (true, false) => (1 << (elem.bits() - 1)) - 1,
        (false, true) => 0,
        (false, false) => u64::MAX >> (64 - elem.bits()),
    };
    b.imm(Imm::new(elem, bits).unwrap_or(Imm::bool(!is_least)))
}

/// The least number of a type.
pub fn least(b: &mut PrimBuilder<'_>, elem: ElemType) -> NodeId {
    extreme(b, elem, true)
}

impl<'f> Reduction<'f> {
    fn new(start: Start, step: impl Fn(&mut PrimBuilder<'_>, NodeId, NodeId) -> NodeId + 'f) -> Self {
        Self { start, step: Box::new(step), finish: None }
    }

    /// Begins with zero.
    pub fn sum(step: impl Fn(&mut PrimBuilder<'_>, NodeId, NodeId) -> NodeId + 'f) -> Self {
        Self::new(|b, elem| b.num(elem, 0.0), step)
    }

    /// The same with a function of the result.
    pub fn then(self, finish: impl Fn(&mut PrimBuilder<'_>, NodeId) -> NodeId + 'f) -> Self {
        Self { finish: Some(Box::new(finish)), ..self }
    }

    /// The mean of `n` elements, of integers rounded towards zero.
    pub fn mean(n: u64) -> Self {
        Self::sum(|b, sum, x| b.add(sum, x)).then(move |b, sum| {
            let elem = b.scalar(sum).map_or(ElemType::FLOAT, |scalar| scalar.elem);
            let n = b.num(elem, n as f64);
            b.div(sum, n)
        })
    }

    pub fn max() -> Self {
        Self::new(least, |b, most, x| b.max(most, x))
    }

    fn min() -> Self {
        Self::new(|b, elem| extreme(b, elem, false), |b, least, x| b.min(least, x))
    }
}

/// The axes of a reduction, those next to each other being one if both are reduced or neither is.
struct Groups {
    sizes: Vec<u64>,
    is_reduced: Vec<bool>,
}

impl Groups {
    fn new(sizes: &[u64], is_reduced: &[bool]) -> Self {
        let mut groups = Self { sizes: Vec::new(), is_reduced: Vec::new() };
        for (&size, &is_reduced) in sizes.iter().zip(is_reduced).filter(|&(&size, _)| size != 1) {
            match groups.sizes.last_mut() {
                Some(last) if groups.is_reduced.last() == Some(&is_reduced) => *last *= size,
                _ => {
                    groups.sizes.push(size);
                    groups.is_reduced.push(is_reduced);
                }
            }
        }
        groups
    }

    fn of(&self, is_reduced: bool) -> Vec<u64> {
        let all = self.sizes.iter().zip(&self.is_reduced);
        all.filter(|&(_, &reduced)| reduced == is_reduced).map(|(&size, _)| size).collect()
    }

    /// The indices of an element from those of the kept and of the reduced axes.
    fn at(&self, kept: &[NodeId], reduced: &[NodeId]) -> Vec<NodeId> {
        let (mut kept, mut reduced) = (kept.iter(), reduced.iter());
        self.is_reduced.iter().filter_map(|&is| if is { reduced.next() } else { kept.next() }).copied().collect()
    }
}

/// Reduces axes of memory. Rows are reduced to a row where the last axis is kept, else each result is carried, in half
/// precision as a number of single precision.
pub fn reduce_axes(
    b: &mut PrimBuilder<'_>,
    x: NodeId,
    y: NodeId,
    is_reduced: &[bool],
    Reduction { start, step, finish }: Reduction<'_>,
) {
    let sizes = sizes_of(b, x);
    if volume(&sizes_of(b, y)) == 0 {
        return;
    }
    let elem = b.function().type_of(x).elem().unwrap_or(ElemType::UNKNOWN);
    let groups = Groups::new(&sizes, is_reduced);
    let (kept, reduced) = (groups.of(false), groups.of(true));
    let (x, y) = (viewed(b, x, &groups.sizes), viewed(b, y, &kept));
    let row = kept.split_last().filter(|_| groups.is_reduced.last() == Some(&false) && !is_half(elem));
    let Some((&row, outer)) = row else {
        b.each_of_all(&kept, |b, turn| {
            let start = start(b, wide(elem));
            let [mut all] = b.fold_all(&reduced, [start], |b, at, [all]| {
                let value = b.load(x, &groups.at(turn, at));
                let value = b.cast(value, wide(elem));
                [step(b, all, value)]
            });
            if let Some(finish) = finish {
                all = finish(b, all);
            }
            let all = b.cast(all, elem);
            b.store(y, all, turn);
        });
        return;
    };
    b.each_of_all(outer, |b, turn| {
        let start = start(b, elem);
        b.over(row, |b, at| {
            b.store(y, start, &[turn, &[at]].concat());
        });
        b.each_of_all(&reduced, |b, reduced| {
            b.over(row, |b, at| {
                let kept = [turn, &[at]].concat();
                let (all, value) = (b.load(y, &kept), b.load(x, &groups.at(&kept, reduced)));
                let all = step(b, all, value);
                b.store(y, all, &kept);
            });
        });
        if let Some(finish) = finish {
            b.over(row, |b, at| {
                let kept = [turn, &[at]].concat();
                let all = b.load(y, &kept);
                let all = finish(b, all);
                b.store(y, all, &kept);
            });
        }
    });
}

/// By axis: whether it is reduced. `None` if the call is to reduce nothing.
fn reduced_axes(call: &OpCall<'_>, rank: usize) -> Result<Option<Vec<bool>>, OpError> {
    let axes = given_ints(call, 1, "axes")?.unwrap_or_default();
    if axes.is_empty() && flag(call, "noop_with_empty_axes")? {
        return Ok(None);
    }
    let mut is_reduced = vec![axes.is_empty(); rank];
    for axis in axes {
        is_reduced[axis_of(axis, rank)?] = true;
    }
    Ok(Some(is_reduced))
}

/// The number of elements that make one.
fn n_reduced(sizes: &[u64], is_reduced: &[bool]) -> u64 {
    sizes.iter().zip(is_reduced).filter(|&(_, &is)| is).map(|(&size, _)| size).product()
}

/// The `Reduce…` operators other than `ReduceLogSumExp`.
pub fn reduce(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let (x, y) = (kernel.needed_input(0)?, kernel.output(0));
    let (sizes, elem, name) = (kernel.sizes(x), kernel.elem(x), call.op_name());
    let keeps = matches!(name, "ReduceSum" | "ReduceProd" | "ReduceMax" | "ReduceMin" | "ReduceMean");
    let is_reduced = match reduced_axes(call, sizes.len())? {
        Some(is_reduced) => is_reduced,
        None if keeps => {
            copy(kernel, x, y);
            return Ok(());
        }
        // A function of each element alone.
        None => vec![false; sizes.len()],
    };
    let n = n_reduced(&sizes, &is_reduced);
    if n == 0 && (name == "ReduceMean" || matches!(name, "ReduceMax" | "ReduceMin") && call.version() < 20) {
        return declined("nothing is reduced to a number");
    }
    let is_bool = elem == ElemType::BOOL;
    let reduction = match name {
        "ReduceMax" if is_bool => Reduction::new(least, |b, any, x| b.op(CoreOp::Or, &[any, x])),
        "ReduceMin" if is_bool => {
            Reduction::new(|b, elem| extreme(b, elem, false), |b, all, x| b.op(CoreOp::And, &[all, x]))
        }
        _ if is_bool => return numbers(elem),
        "ReduceMax" => Reduction::max(),
        "ReduceMin" => Reduction::min(),
        "ReduceSum" => Reduction::sum(|b, sum, x| b.add(sum, x)),
        "ReduceMean" => Reduction::mean(n),
        "ReduceProd" => Reduction::new(|b, elem| b.num(elem, 1.0), |b, product, x| b.mul(product, x)),
        "ReduceL1" => Reduction::sum(|b, sum, x| {
            let size = b.abs(x);
            b.add(sum, size)
        }),
        "ReduceSumSquare" | "ReduceL2" => {
            let sum = Reduction::sum(|b, sum, x| {
                let square = b.mul(x, x);
                b.add(sum, square)
            });
            if name == "ReduceL2" {
                floats(elem)?;
                sum.then(|b, sum| b.sqrt(sum))
            } else {
                sum
            }
        }
        "ReduceLogSum" => {
            floats(elem)?;
            Reduction::sum(|b, sum, x| b.add(sum, x)).then(|b, sum| b.log(sum))
        }
        _ => return declined("no kernel has that name"),
    };
    reduce_axes(kernel, x, y, &is_reduced, reduction);
    Ok(())
}

/// `ReduceLogSumExp`, from which the greatest exponent is subtracted first.
pub fn log_sum_exp(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let (x, y) = (kernel.needed_input(0)?, kernel.output(0));
    let (sizes, elem) = (kernel.sizes(x), kernel.elem(x));
    floats(elem)?;
    let is_reduced = reduced_axes(call, sizes.len())?.unwrap_or_else(|| vec![false; sizes.len()]);
    if volume(&kernel.sizes(y)) == 0 {
        return Ok(());
    }
    let groups = Groups::new(&sizes, &is_reduced);
    let (kept, reduced) = (groups.of(false), groups.of(true));
    let (x, y) = (viewed(kernel, x, &groups.sizes), viewed(kernel, y, &kept));
    let to = wide(elem);
    kernel.each_of_all(&kept, |b, turn| {
        let (zero, start) = (b.num(to, 0.0), least(b, to));
        let load = |b: &mut PrimBuilder<'_>, at: &[NodeId]| {
            let value = b.load(x, &groups.at(turn, at));
            b.cast(value, to)
        };
        let [most] = b.fold_all(&reduced, [start], |b, at, [most]| {
            let value = load(b, at);
            let is_above = b.gt(value, most);
            [b.select(is_above, value, most)]
        });
        // The difference of infinities would be NaN.
        let is_infinite = b.op(CoreOp::IsInf, &[most]);
        let most = b.select(is_infinite, zero, most);
        let [sum] = b.fold_all(&reduced, [zero], |b, at, [sum]| {
            let value = load(b, at);
            let part = b.sub(value, most);
            let part = b.exp(part);
            [b.add(sum, part)]
        });
        let log = b.log(sum);
        let value = b.add(log, most);
        let value = b.cast(value, elem);
        b.store(y, value, turn);
    });
    Ok(())
}

/// `ArgMax` and `ArgMin`.
pub fn arg(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let (x, y) = (kernel.needed_input(0)?, kernel.output(0));
    let sizes = kernel.sizes(x);
    numbers(kernel.elem(x))?;
    let [outer, size, inner] = around(&sizes, axis_of(int(call, "axis")?, sizes.len())?);
    if size == 0 {
        return declined("its axis is empty");
    }
    let is_better = match (call.op_name(), flag(call, "select_last_index")?) {
        ("ArgMax", false) => CoreOp::Gt,
        ("ArgMax", true) => CoreOp::Ge,
        (_, false) => CoreOp::Lt,
        (_, true) => CoreOp::Le,
    };
    let (x, y) = (viewed(kernel, x, &[outer, size, inner]), viewed(kernel, y, &[outer, inner]));
    kernel.each_of_all(&[outer, inner], |b, at| {
        let (zero, one, rest) = (b.index(0), b.index(1), b.index(size as i64 - 1));
        let first = b.load(x, &[at[0], zero, at[1]]);
        let [_, best] = b.fold(one, rest, [first, zero], |b, index, [most, best]| {
            let value = b.load(x, &[at[0], index, at[1]]);
            let is_better = b.op(is_better, &[value, most]);
            [b.select(is_better, value, most), b.select(is_better, index, best)]
        });
        b.store(y, best, at);
    });
    Ok(())
}

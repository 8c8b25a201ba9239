//! Pooling.

use super::{
    reduce::{Reduction, least, reduce_axes},
    shared::{
        Done, declined, fill, floats, is_half, numbers, sizes_of,
        terms::Terms,
        viewed, volume,
        window::{self, each_tap, each_window},
    },
};
use crate::calls::{flag, int, named, opt_ints};
use relais_operator_math::window::{AutoPad, WindowAxis};
use relais_plugin_api::{
    ir::{ElemType, NodeId, Tensor},
    op::{Kernel, OpCall, OpError},
    prim::{CoreOp, PrimBuilder},
};

/// The planes of an image and those of the result.
struct Planes {
    elem: ElemType,
    axes: Vec<WindowAxis>,
    n: u64,
    x: NodeId,
    y: NodeId,
}

impl Planes {
    fn new(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Result<Self, OpError> {
        let (x, y) = (kernel.needed_input(0)?, kernel.output(0));
        if call.n_outputs() > 1 {
            return declined("the places of the maxima are asked for");
        }
        let (of_x, of_y, elem) = (kernel.sizes(x), kernel.sizes(y), kernel.elem(x));
        let Some(window) = opt_ints(call, "kernel_shape")?.filter(|sizes| sizes.iter().all(|&size| size > 0)) else {
            return declined("`kernel_shape` is missing");
        };
        if of_x.len() < 3 || of_y.len() != of_x.len() {
            return declined("it has no spatial axis");
        }
        let window: Vec<u64> = window.iter().map(|&size| size as u64).collect();
        let axes = window::windows(call, &of_x[2..], &window, &of_y[2..])?;
        let keeps_size = named(call, "auto_pad", AutoPad::of)?.keeps_size();
        if keeps_size && axes.iter().any(|axis| axis.dilation != 1) {
            return declined("its padding keeps the size, and its window is dilated");
        }
        let n = of_x[0] * of_x[1];
        let shape = |spatial: Vec<u64>| [vec![n], spatial].concat();
        let (x, y) =
            (viewed(kernel, x, &shape(window::image(&axes))), viewed(kernel, y, &shape(window::counts(&axes))));
        Ok(Self { elem, axes, n, x, y })
    }

    /// Starts each window with a value, and folds its elements.
    fn fold<'b>(
        &self,
        b: &mut PrimBuilder<'b>,
        start: NodeId,
        step: impl FnOnce(&mut PrimBuilder<'b>, NodeId, NodeId) -> NodeId,
    ) {
        fill(b, self.y, start);
        b.over(self.n, |b, plane| {
            each_tap(b, &self.axes, |b, _, inside| {
                each_window(b, &self.axes, inside, |b, window, pixel| {
                    let (from, to) = ([&[plane], pixel].concat(), [&[plane], window].concat());
                    let (value, all) = (b.load(self.x, &from), b.load(self.y, &to));
                    let all = step(b, all, value);
                    b.store(self.y, all, &to);
                });
            });
        });
    }

    /// Replaces each element of the result; `value` gets its spatial indices.
    fn finish<'b>(
        &self,
        b: &mut PrimBuilder<'b>,
        value: impl FnOnce(&mut PrimBuilder<'b>, &[NodeId], NodeId) -> NodeId,
    ) {
        let sizes = sizes_of(b, self.y);
        b.each_of_all(&sizes, |b, at| {
            let all = b.load(self.y, at);
            let all = value(b, &at[1..], all);
            b.store(self.y, all, at);
        });
    }
}

/// `MaxPool` without the places of the maxima. As in runtimes, NaN is never a maximum.
pub fn max_pool(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let planes = Planes::new(call, kernel)?;
    numbers(planes.elem)?;
    let start = least(kernel, planes.elem);
    planes.fold(kernel, start, |b, all, value| {
        let is_above = b.gt(value, all);
        b.select(is_above, value, all)
    });
    Ok(())
}

/// For each window along an axis, the number of its elements that count.
fn n_counted(axis: &WindowAxis, counts_padding: bool) -> Vec<i64> {
    (0..axis.count).map(|window| if counts_padding { axis.n_padded(window) } else { axis.n_inside(window) }).collect()
}

/// `AveragePool`.
pub fn average_pool(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let planes = Planes::new(call, kernel)?;
    floats(planes.elem)?;
    if is_half(planes.elem) {
        return declined("a sum of its elements loses too much in half precision");
    }
    let counts_padding = flag(call, "count_include_pad")?;
    let counts: Vec<Vec<i64>> = planes.axes.iter().map(|axis| n_counted(axis, counts_padding)).collect();
    if counts.iter().flatten().any(|&count| count == 0) {
        return declined("a window is in the padding alone");
    }
    let zero = kernel.num(planes.elem, 0.0);
    planes.fold(kernel, zero, |b, sum, value| b.add(sum, value));
    // The factors of the number of elements: one for all windows, and those that differ along an axis.
    let mut common = 1.0;
    let mut tables = Vec::new();
    for (axis, counts) in counts.iter().enumerate() {
        if counts.iter().all(|count| *count == counts[0]) {
            common *= counts[0] as f64;
            continue;
        }
        let values: Vec<f64> = counts.iter().map(|&count| count as f64).collect();
        let Some(table) = Tensor::from_f64s(planes.elem, &[values.len() as u64], &values) else {
            return declined("its elements are not floating-point numbers");
        };
        tables.push((axis, kernel.constant(table)));
    }
    planes.finish(kernel, |b, at, sum| {
        let mut n = (common != 1.0 || tables.is_empty()).then(|| b.num(planes.elem, common));
        for &(axis, table) in &tables {
            let count = b.load(table, &[at[axis]]);
            n = Some(n.map_or(count, |n| b.mul(n, count)));
        }
        n.map_or(sum, |n| b.div(sum, n))
    });
    Ok(())
}

/// `LpPool` from version 2 on.
pub fn lp_pool(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let planes = Planes::new(call, kernel)?;
    let p = exponent(call)?;
    floats(planes.elem)?;
    if is_half(planes.elem) {
        return declined("a sum of its elements loses too much in half precision");
    }
    if planes.axes.iter().any(WindowAxis::overhangs) {
        return declined("a window reaches beyond the padding");
    }
    let zero = kernel.num(planes.elem, 0.0);
    planes.fold(kernel, zero, |b, sum, value| {
        let power = power(b, value, p);
        b.add(sum, power)
    });
    planes.finish(kernel, |b, _, sum| root(b, sum, p));
    Ok(())
}

/// The exponent of a norm, which is a float before version 2.
fn exponent(call: &OpCall<'_>) -> Result<i64, OpError> {
    if call.version() < 2 {
        return declined("its exponent need not be an integer");
    }
    match int(call, "p")? {
        p if p > 0 => Ok(p),
        _ => declined("`p` is not a positive integer"),
    }
}

/// `abs(x) ** p`
fn power(b: &mut PrimBuilder<'_>, x: NodeId, p: i64) -> NodeId {
    match p {
        1 => b.abs(x),
        2 => b.mul(x, x),
        _ => {
            let elem = b.scalar(x).map_or(ElemType::FLOAT, |scalar| scalar.elem);
            let (size, p) = (b.abs(x), b.num(elem, p as f64));
            b.op(CoreOp::Pow, &[size, p])
        }
    }
}

/// The number whose power a sum is.
fn root(b: &mut PrimBuilder<'_>, sum: NodeId, p: i64) -> NodeId {
    match p {
        1 => sum,
        2 => b.sqrt(sum),
        _ => {
            let elem = b.scalar(sum).map_or(ElemType::FLOAT, |scalar| scalar.elem);
            let p = b.num(elem, 1.0 / p as f64);
            b.op(CoreOp::Pow, &[sum, p])
        }
    }
}

/// `GlobalAveragePool`, `GlobalMaxPool` and `GlobalLpPool`: reductions over the spatial axes.
pub fn global(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let (x, y) = (kernel.needed_input(0)?, kernel.output(0));
    let (sizes, elem) = (kernel.sizes(x), kernel.elem(x));
    if sizes.len() < 3 || volume(&sizes[2..]) == 0 {
        return declined("it has no spatial axis, or its image is empty");
    }
    floats(elem)?;
    let is_reduced: Vec<bool> = (0..sizes.len()).map(|at| at >= 2).collect();
    let n = volume(&sizes[2..]);
    match call.op_name() {
        "GlobalAveragePool" => reduce_axes(kernel, x, y, &is_reduced, Reduction::mean(n)),
        "GlobalMaxPool" => reduce_axes(kernel, x, y, &is_reduced, Reduction::max()),
        "GlobalLpPool" => {
            let p = exponent(call)?;
            let step = move |b: &mut PrimBuilder<'_>, sum, x| {
                let power = power(b, x, p);
                b.add(sum, power)
            };
            let reduction = Reduction::sum(step).then(move |b, sum| root(b, sum, p));
            reduce_axes(kernel, x, y, &is_reduced, reduction)
        }
        _ => return declined("no kernel has that name"),
    }
    Ok(())
}

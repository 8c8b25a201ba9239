//! Operators whose kernels are at fault, each in one way.

use relais_plugin_api::{
    ir::TypeId,
    op::{Kernel, OpCall},
    prelude::*,
    prim::{LoopKind, PrimBuilder},
};

const DOMAIN: &str = "liar";

operators! {
    &[
        Operator::new(DOMAIN, "KernelPanics", 1).infer(same_type).compute(panics).doc("Not total."),
        Operator::new(DOMAIN, "KernelMistyped", 1).infer(same_type).compute(mistyped).doc("Breaks a rule."),
        Operator::new(DOMAIN, "KernelOfOther", 1).infer(same_type).compute(of_other).doc("For another call."),
        Operator::new(DOMAIN, "KernelOfItself", 1).infer(same_type).compute(of_itself).doc("Calls itself."),
        Operator::new(DOMAIN, "KernelEndless", 1).infer(same_type).compute(endless).doc("Does not end."),
        Operator::new(DOMAIN, "KernelLong", 1).infer(same_type).compute(long).doc("Ends next year."),
        Operator::new(DOMAIN, "KernelHungry", 1).infer(same_type).compute(hungry).doc("Takes all memory."),
        Operator::new(DOMAIN, "KernelStrays", 1).infer(same_type).compute(strays).doc("Is out of bounds."),
        Operator::new(DOMAIN, "KernelDivides", 1).infer(same_type).compute(divides).doc("Divides by zero."),
        Operator::new(DOMAIN, "KernelForgets", 1).infer(same_type).compute(forgets).doc("Leaves an element unwritten."),
        Operator::new(DOMAIN, "KernelRecalls", 1).infer(same_type).compute(recalls).doc("Reads what it did not write."),
        Operator::new(DOMAIN, "KernelRaces", 1).infer(same_type).compute(races).doc("Has a race."),
        Operator::new(DOMAIN, "KernelContradicts", 1).infer(same_type).eval(twice).compute(thrice).doc("Two truths."),
        Operator::new(DOMAIN, "KernelForgetsNaN", 1).infer(same_type).eval(relu).compute(max).doc("Two truths of NaN."),
        Operator::new(DOMAIN, "KernelGivesUp", 1).infer(same_type).eval(same).compute(gives_up).doc("Two truths."),
        Operator::new(DOMAIN, "EvalContradicts", 1)
            .infer(same_type)
            .eval(twice)
            .body(r#"def @Body(%x) #[opset = {"liar": 1}] { liar::Honest(%x) }"#)
            .compute(copies)
            .doc("Two truths against one."),
        Operator::new(DOMAIN, "HonestKernel", 1).inputs(1, 2).infer(same_type).compute(honest).doc("Nothing wrong."),
    ]
}

fn same_type(cx: &mut InferCx<'_>) -> Result<(), OpError> {
    let ty: TypeId = cx.input_id(0);
    cx.set_output(0, ty);
    Ok(())
}

/// The memory of the argument and of the result, if they are of `float32` and not empty.
fn floats(kernel: &Kernel<'_>) -> Result<(NodeId, NodeId), OpError> {
    let (x, y) = (kernel.needed_input(0)?, kernel.output(0));
    match kernel.elem(x) {
        ElemType::FLOAT if !kernel.sizes(x).contains(&0) => Ok((x, y)),
        _ => Err(OpError::unsupported("its elements are not of float32, or there are none")),
    }
}

/// `y[i] = f(x[i])` for all elements.
fn each(kernel: &mut Kernel<'_>, f: impl Fn(&mut PrimBuilder<'_>, NodeId) -> NodeId) -> Result<(), OpError> {
    let (x, y) = floats(kernel)?;
    let sizes = kernel.sizes(x);
    kernel.each_of_all(&sizes, |b, at| {
        let value = b.load(x, at);
        let value = f(b, value);
        b.store(y, value, at);
    });
    Ok(())
}

fn copies(_: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Result<(), OpError> {
    each(kernel, |_, value| value)
}

fn panics(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Result<(), OpError> {
    let last = *kernel.sizes(kernel.output(0)).last().expect("a scalar has no last axis");
    assert_ne!(last, 3, "of all sizes, this one");
    copies(call, kernel)
}

fn mistyped(_: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Result<(), OpError> {
    each(kernel, |b, _| b.index(1))
}

fn of_other(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Result<(), OpError> {
    let (_, y) = floats(kernel)?;
    copies(call, kernel)?;
    let f = kernel.function_mut();
    let other = f.tensor_type(ElemType::FLOAT, &[Dim::Static(77)]);
    f.set_type(y, other);
    Ok(())
}

fn of_itself(_: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Result<(), OpError> {
    let (x, y) = floats(kernel)?;
    kernel.call("kernel", &[x, y]);
    Ok(())
}

fn endless(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Result<(), OpError> {
    copies(call, kernel)?;
    let n = kernel.index(0);
    kernel.while_loop(
        [n],
        |b, [n]| {
            let zero = b.index(0);
            b.ge(n, zero)
        },
        |_, [n]| [n],
    );
    Ok(())
}

fn long(_: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Result<(), OpError> {
    let (x, y) = floats(kernel)?;
    let sizes = kernel.sizes(x);
    kernel.each_of_all(&[1 << 20, 1 << 20], |b, _| {
        b.each_of_all(&sizes, |b, at| {
            let value = b.load(x, at);
            b.store(y, value, at);
        });
    });
    Ok(())
}

fn hungry(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Result<(), OpError> {
    floats(kernel)?;
    let memory = kernel.alloc(ElemType::FLOAT, &[1 << 40]);
    let (zero, number) = (kernel.index(0), kernel.float(ElemType::FLOAT, 1.0));
    kernel.store(memory, number, &[zero]);
    copies(call, kernel)
}

fn strays(_: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Result<(), OpError> {
    let (x, y) = floats(kernel)?;
    let sizes: Vec<u64> = kernel.sizes(x).iter().map(|size| size + 1).collect();
    if sizes.is_empty() {
        return Err(OpError::unsupported("a scalar"));
    }
    kernel.each_of_all(&sizes, |b, at| {
        let value = b.load(x, at);
        b.store(y, value, at);
    });
    Ok(())
}

fn divides(_: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Result<(), OpError> {
    let (x, y) = floats(kernel)?;
    let sizes = kernel.sizes(x);
    kernel.each_of_all(&sizes, |b, at| {
        let value = b.load(x, at);
        let (one, is_other) = (b.index(1), b.cast(value, ElemType::BOOL));
        let is_zero = b.not(is_other);
        let by = b.cast(is_zero, ElemType::INT64);
        let quotient = b.div(one, by);
        let quotient = b.cast(quotient, ElemType::FLOAT);
        b.store(y, quotient, at);
    });
    Ok(())
}

fn forgets(_: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Result<(), OpError> {
    let (x, y) = floats(kernel)?;
    let sizes = kernel.sizes(x);
    let Some((&first, rest)) = sizes.split_first() else { return Err(OpError::unsupported("a scalar")) };
    kernel.each_of_all(&[&[first - 1], rest].concat(), |b, at| {
        let value = b.load(x, at);
        b.store(y, value, at);
    });
    Ok(())
}

fn recalls(_: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Result<(), OpError> {
    let memory = kernel.alloc(ElemType::FLOAT, &[1]);
    each(kernel, |b, value| {
        let zero = b.index(0);
        let before = b.load(memory, &[zero]);
        b.store(memory, value, &[zero]);
        b.add(before, value)
    })
}

/// Each turn adds to what the turn before left.
fn races(_: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Result<(), OpError> {
    let (x, y) = floats(kernel)?;
    let [size] = kernel.sizes(x)[..] else { return Err(OpError::unsupported("no vector")) };
    let memory = kernel.alloc(ElemType::FLOAT, &[]);
    let zero = kernel.float(ElemType::FLOAT, 0.0);
    kernel.store(memory, zero, &[]);
    let size = kernel.index(size as i64);
    kernel.each_of(LoopKind::Parallel, size, |b, i| {
        let (sum, value) = (b.load(memory, &[]), b.load(x, &[i]));
        let sum = b.add(sum, value);
        b.store(memory, sum, &[]);
        b.store(y, sum, &[i]);
    });
    Ok(())
}

fn times(cx: &mut EvalCx<'_>, f: impl Fn(f64) -> f64) -> Result<(), OpError> {
    let result = cx.require(0)?.map_f64s(f).ok_or_else(|| OpError::unsupported("no floats"))?;
    cx.output(result);
    Ok(())
}

fn same(cx: &mut EvalCx<'_>) -> Result<(), OpError> {
    times(cx, |value| value)
}

fn twice(cx: &mut EvalCx<'_>) -> Result<(), OpError> {
    times(cx, |value| 2.0 * value)
}

fn thrice(_: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Result<(), OpError> {
    each(kernel, |b, value| {
        let three = b.float(ElemType::FLOAT, 3.0);
        b.mul(value, three)
    })
}

fn relu(cx: &mut EvalCx<'_>) -> Result<(), OpError> {
    times(cx, |value| if value > 0.0 { value } else { 0.0 })
}

fn max(_: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Result<(), OpError> {
    each(kernel, |b, value| {
        let zero = b.float(ElemType::FLOAT, 0.0);
        b.max(value, zero)
    })
}

fn gives_up(_: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Result<(), OpError> {
    each(kernel, |b, value| {
        let zero = b.float(ElemType::FLOAT, 0.0);
        let is_positive = b.gt(value, zero);
        b.assert(is_positive, "only positive numbers");
        value
    })
}

/// The elements that the second argument names, or all of them: what does not fit is refused, and casts may have no
/// result.
fn honest(_: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Result<(), OpError> {
    let (x, y) = floats(kernel)?;
    let [size] = kernel.sizes(x)[..] else { return Err(OpError::unsupported("no vector")) };
    let index = kernel.input(1);
    if index.is_some_and(|index| kernel.elem(index) != ElemType::INT64 || kernel.sizes(index) != [size]) {
        return Err(OpError::unsupported("the indices are of another form"));
    }
    let size = kernel.index(size as i64);
    kernel.each_of(LoopKind::Parallel, size, |b, i| {
        let at = index.map_or(i, |index| b.load(index, &[i]));
        let zero = b.index(0);
        let (low, high) = (b.ge(at, zero), b.lt(at, size));
        let is_inside = b.and(low, high);
        b.assert(is_inside, "an index is out of range");
        let value = b.load(x, &[at]);
        let whole = b.cast(value, ElemType::INT8);
        let value = b.cast(whole, ElemType::FLOAT);
        b.store(y, value, &[i]);
    });
    Ok(())
}

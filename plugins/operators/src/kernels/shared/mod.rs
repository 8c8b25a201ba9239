//! Functions for the kernels of several families.

pub mod elementwise;
pub mod index;
pub mod parts;
pub mod spread;
pub mod tables;
pub mod terms;
pub mod window;

use crate::calls::opt_ints;
use relais_plugin_api::{
    ir::{Attr, ElemType, NodeId, Tensor},
    op::{Kernel, OpCall, OpError},
    prim::{CoreOp, PrimBuilder},
};
use std::fmt::Display;

/// Whether a kernel was made.
pub type Done = Result<(), OpError>;

/// An error about a case that is not covered.
pub fn declined<T>(why: impl Display) -> Result<T, OpError> {
    Err(OpError::unsupported(why))
}

/// Products that are added to an element of memory at once, which is loaded and stored once for all of them.
pub const BLOCK: u64 = 4;

/// Adds products to an element of memory, one after another.
pub fn add_products(b: &mut PrimBuilder<'_>, y: (NodeId, &[NodeId]), factors: &[NodeId], values: &[NodeId]) {
    let sum = b.load(y.0, y.1);
    let sum = plus_products(b, sum, factors, values);
    b.store(y.0, sum, y.1);
}

/// A sum and products, which are added one after another.
pub fn plus_products(b: &mut PrimBuilder<'_>, mut sum: NodeId, factors: &[NodeId], values: &[NodeId]) -> NodeId {
    for (&factor, &value) in factors.iter().zip(values) {
        let product = b.mul(factor, value);
        sum = b.add(sum, product);
    }
    sum
}

/// The number of elements of these sizes, which memory has.
pub fn volume(sizes: &[u64]) -> u64 {
    sizes.iter().product()
}

/// The sizes of memory.
pub fn sizes_of(b: &PrimBuilder<'_>, memory: NodeId) -> Vec<u64> {
    let known = |(_, dims): (_, &[_])| dims.iter().map(|&dim| relais_plugin_api::ir::Dim::from(dim).known()).collect();
    b.function().type_of(memory).as_tensor().and_then(known).unwrap_or_default()
}

/// Memory in another shape with as many elements.
pub fn viewed(b: &mut PrimBuilder<'_>, memory: NodeId, sizes: &[u64]) -> NodeId {
    if sizes_of(b, memory) == sizes {
        return memory;
    }
    let sizes: Vec<i64> = sizes.iter().map(|&size| size as i64).collect();
    b.op_with(CoreOp::View, &[memory], &[Attr::new("shape", sizes)])
}

/// Copies all elements in order. Operators that keep their elements have exactly this form, by which passes know them.
pub fn copy(b: &mut PrimBuilder<'_>, x: NodeId, y: NodeId) {
    let n = volume(&sizes_of(b, x));
    let (x, y) = (viewed(b, x, &[n]), viewed(b, y, &[n]));
    let extent = b.index(n as i64);
    b.each(extent, |b, at| {
        let value = b.load(x, &[at]);
        b.store(y, value, &[at]);
    });
}

/// Sets all elements to one value.
pub fn fill(b: &mut PrimBuilder<'_>, y: NodeId, value: NodeId) {
    let n = volume(&sizes_of(b, y));
    let y = viewed(b, y, &[n]);
    let extent = b.index(n as i64);
    b.each(extent, |b, at| {
        b.store(y, value, &[at]);
    });
}

/// The type in which numbers of half precision are computed; any other type itself.
pub fn wide(elem: ElemType) -> ElemType {
    if is_half(elem) { ElemType::FLOAT } else { elem }
}

pub fn is_half(elem: ElemType) -> bool {
    matches!(elem, ElemType::FLOAT16 | ElemType::BFLOAT16)
}

/// Declines elements that are not floating-point numbers.
pub fn floats(elem: ElemType) -> Done {
    if elem.is_float() { Ok(()) } else { declined(format_args!("its elements are {elem}, not floating-point numbers")) }
}

/// Declines `bool`s.
pub fn numbers(elem: ElemType) -> Done {
    if elem == ElemType::BOOL { declined("its elements are truth values") } else { Ok(()) }
}

/// Declines arguments of another element type than the first one.
pub fn same_elem(kernel: &Kernel<'_>, inputs: &[NodeId]) -> Result<ElemType, OpError> {
    let elem = inputs.first().map_or(ElemType::UNKNOWN, |&first| kernel.elem(first));
    match inputs.iter().all(|&input| kernel.elem(input) == elem) {
        true => Ok(elem),
        false => declined("its arguments have different element types"),
    }
}

/// The integers of an argument, which must be constant.
pub fn const_ints(call: &OpCall<'_>, index: usize) -> Result<Vec<i64>, OpError> {
    let ints = call.constant(index).and_then(Tensor::to_i64s);
    ints.ok_or_else(|| OpError::unsupported(format_args!("argument {index} is not a constant list of integers")))
}

/// Integers that are an argument or, in older versions, an attribute; `None` if they are not given.
pub fn given_ints(call: &OpCall<'_>, index: usize, name: &str) -> Result<Option<Vec<i64>>, OpError> {
    if call.has_arg(index) {
        const_ints(call, index).map(Some)
    } else {
        Ok(opt_ints(call, name)?.map(|ints| ints.to_vec()))
    }
}

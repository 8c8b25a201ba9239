//! Kernels: the loop program that computes one call of an operator.

use super::OpCall;
use crate::error::OpError;
use relais_ir::{
    text::{PrintOptions, print_function},
    wire::MAX_LEN,
    *,
};
use std::ops::{Deref, DerefMut};

/// Makes the loop program of one call, as [`Operator::compute`](super::Operator::compute) describes it.
pub type ComputeFn = fn(&OpCall<'_>, &mut Kernel<'_>) -> Result<(), OpError>;

/// The loop program of a call while its operator makes it: a [`PrimBuilder`] with the memory of the call's arguments and
/// results.
pub struct Kernel<'a> {
    builder: PrimBuilder<'a>,
    /// By argument: absent ones have no memory.
    inputs: Vec<Option<NodeId>>,
    outputs: Vec<NodeId>,
}

impl Kernel<'_> {
    /// The memory of argument `index`, unless it is absent.
    pub fn input(&self, index: usize) -> Option<NodeId> {
        self.inputs.get(index).copied().flatten()
    }

    /// The memory of an argument that the call must have.
    ///
    /// # Errors
    /// Returns an error if the call does not have it.
    pub fn needed_input(&self, index: usize) -> Result<NodeId, OpError> {
        self.input(index).ok_or_else(|| OpError::invalid(format_args!("argument {index} is missing")))
    }

    /// The memory of result `index`.
    ///
    /// # Panics
    /// Panics if the operator gives fewer results than that in each call.
    pub fn output(&self, index: usize) -> NodeId {
        self.outputs[index]
    }

    /// The memory of result `index`, unless the call does not ask for it.
    pub fn optional_output(&self, index: usize) -> Option<NodeId> {
        self.outputs.get(index).copied()
    }

    /// The sizes of memory.
    pub fn sizes(&self, memory: NodeId) -> Vec<u64> {
        static_sizes(self.builder.function().type_of(memory)).map(|(_, sizes)| sizes).unwrap_or_default()
    }

    /// The element type of memory.
    pub fn elem(&self, memory: NodeId) -> ElemType {
        self.builder.function().type_of(memory).elem().unwrap_or(ElemType::UNKNOWN)
    }
}

impl<'a> Deref for Kernel<'a> {
    type Target = PrimBuilder<'a>;

    fn deref(&self) -> &PrimBuilder<'a> {
        &self.builder
    }
}

impl DerefMut for Kernel<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.builder
    }
}

/// The element type and the sizes of memory for values of a type; `None` if a size is not known, or loop programs have no
/// such elements.
pub(crate) fn static_sizes(ty: Type<'_>) -> Option<(ElemType, Vec<u64>)> {
    let (elem, dims) = ty.as_tensor()?;
    let sizes: Vec<u64> = dims.iter().map(|&dim| Dim::from(dim).known()).collect::<Option<_>>()?;
    (elem.is_scalar() && count_fits(&sizes)).then_some((elem, sizes))
}

/// The memory that a value of the call needs.
fn memory(ty: Type<'_>, what: &str) -> Result<(ElemType, Vec<u64>), OpError> {
    static_sizes(ty).ok_or_else(|| match (ty.as_tensor(), ty.static_shape()) {
        (None, _) => OpError::unsupported(format_args!("the shape of its {what} is not known")),
        (_, None) => OpError::unsupported(format_args!("the sizes of its {what} are not all known")),
        (_, Some(_)) => OpError::unsupported(format_args!("its {what} has more elements than can be counted")),
    })
}

/// Refuses values of the call whose elements loop programs do not have, whatever their sizes are.
fn check_elements(ty: Type<'_>, what: &str) -> Result<(), OpError> {
    match ty.elem() {
        Some(ElemType::UNKNOWN) if ty.static_shape().is_some() => {
            Err(OpError::unsupported(format_args!("the type of the elements of its {what} is not known")))
        }
        Some(elem) if elem != ElemType::UNKNOWN && !elem.is_scalar() => Err(OpError::unsupported(format_args!(
            "its {what} has elements of the type {elem}, which loop programs do not handle"
        ))),
        _ => Ok(()),
    }
}

/// Makes the kernel of a call whose results are known, as text.
pub(crate) fn make_kernel(call: &OpCall<'_>, compute: ComputeFn) -> Result<String, OpError> {
    for at in (0..call.n_args()).filter(|&at| call.has_arg(at)) {
        check_elements(call.input(at), &format!("argument {at}"))?;
    }
    for at in 0..call.n_outputs() {
        check_elements(call.output(at), &format!("result {at}"))?;
    }
    let mut given = Vec::with_capacity(call.n_args());
    for at in 0..call.n_args() {
        let ty = call.has_arg(at).then(|| memory(call.input(at), &format!("argument {at}"))).transpose()?;
        given.push(ty.map(|ty| (format!("x{at}"), ty)));
    }
    let mut made = Vec::with_capacity(call.n_outputs());
    for at in 0..call.n_outputs() {
        made.push((format!("y{at}"), memory(call.output(at), &format!("result {at}"))?));
    }
    let param = |(name, (elem, sizes)): &'_ (String, (ElemType, Vec<u64>))| (name.clone(), *elem, sizes.clone());
    let (inputs, outputs): (Vec<_>, Vec<_>) =
        (given.iter().flatten().map(param).collect(), made.iter().map(param).collect());
    fn borrow(params: &[(String, ElemType, Vec<u64>)]) -> Vec<(&str, ElemType, &[u64])> {
        params.iter().map(|(name, elem, sizes)| (&**name, *elem, &**sizes)).collect()
    }
    let mut f = prim_func(&borrow(&inputs), &borrow(&outputs));
    let mut params = f.params().to_vec().into_iter();
    let inputs = given.iter().map(|arg| arg.as_ref().and_then(|_| params.next())).collect();
    let outputs = params.collect();
    let mut kernel = Kernel { builder: PrimBuilder::new(&mut f), inputs, outputs };
    compute(call, &mut kernel)?;
    kernel
        .builder
        .finish()
        .map_err(|error| OpError::lied(format_args!("it made a kernel that is wrong: {}", error.rec().message)))?;
    let text = print_function("kernel", &f, &PrintOptions::default());
    match text.len() {
        len if len > MAX_LEN => {
            Err(OpError::unsupported(format_args!("its kernel takes {len} bytes as text, and {MAX_LEN} are allowed")))
        }
        _ => Ok(text),
    }
}

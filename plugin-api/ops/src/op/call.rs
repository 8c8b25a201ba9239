//! Functions that look at one call of an operator: its body, where that depends on the call, its gradient and its
//! verifier.

use crate::abi::RequestCx;
use crate::{
    error::OpError,
    request::{ArgRec, CallRequest, CallValue},
};
use relais_ir::*;

/// Makes the body of one call: a function in the text form, as [`Operator::body`](super::Operator::body) describes it, but
/// with a parameter for each argument of the call, and a result for each of its results.
pub type BodyFn = fn(&OpCall<'_>) -> Result<String, OpError>;

/// Makes the gradient of one call: a function in the text form, as
/// [`Operator::gradient_of`](super::Operator::gradient_of) describes it.
pub type GradientFn = fn(&OpCall<'_>) -> Result<String, OpError>;

/// Says whether a call is valid: an error that is not [`OpError::unsupported`] is about the call.
pub type VerifyFn = fn(&OpCall<'_>) -> Result<(), OpError>;

/// A call of an operator, as its body, its gradient and its verifier see it: by value, without the module.
pub struct OpCall<'a> {
    call: CallValue<'a>,
    cx: RequestCx<'a>,
    n_args: usize,
    n_outputs: usize,
}

impl<'a> OpCall<'a> {
    pub(crate) fn new(request: &CallRequest<'a>, cx: RequestCx<'a>) -> Self {
        Self { call: request.call, cx, n_args: request.call.args.len(), n_outputs: request.n_outputs as usize }
    }

    /// A call whose results are known.
    pub(crate) fn with_results(request: &CallRequest<'a>, cx: RequestCx<'a>) -> Self {
        let call = Self::new(request, cx);
        Self { n_args: call.n_args.saturating_sub(call.n_outputs), ..call }
    }

    /// The name of the operator.
    pub fn op_name(&self) -> &str {
        self.call.name.as_str()
    }

    /// The domain of the operator; empty is ONNX's own.
    pub fn domain(&self) -> &str {
        self.call.domain.as_str()
    }

    /// The operator-set version that the call is written for.
    pub fn version(&self) -> i64 {
        self.call.version
    }

    /// The version of a domain's operator set that the function of the call imports; `None` if it imports none. A body
    /// that is written for it has no other operators than the function can have.
    pub fn opset_version(&self, domain: &str) -> Option<i64> {
        self.call.types_of.opset_version(domain)
    }

    /// Whether the run should stop.
    pub fn is_cancelled(&self) -> bool {
        self.cx.is_cancelled()
    }

    /// The attributes. Graph-valued ones have no node here.
    pub fn attrs(&self) -> Attrs<'a> {
        Attrs::of_recs(self.call.attrs_of, self.call.attrs.as_slice())
    }

    /// The number of arguments, including absent ones.
    pub fn n_args(&self) -> usize {
        self.n_args
    }

    /// The number of results.
    pub fn n_outputs(&self) -> usize {
        self.n_outputs
    }

    fn arg(&self, index: usize) -> Option<ArgRec<'a>> {
        let args = &self.call.args.as_slice()[..self.n_args];
        args.get(index).copied().filter(|arg| arg.present != 0)
    }

    /// Whether argument `index` is there.
    pub fn has_arg(&self, index: usize) -> bool {
        self.arg(index).is_some()
    }

    /// The type of argument `index`; unknown when it is absent.
    pub fn input(&self, index: usize) -> Type<'a> {
        self.call.types_of.ty(self.arg(index).map_or(TypeId::UNKNOWN, |arg| arg.ty))
    }

    /// The element type of argument `index`; unknown when it is not known.
    pub fn elem(&self, index: usize) -> ElemType {
        self.input(index).elem().unwrap_or(ElemType::UNKNOWN)
    }

    /// The dimensions of argument `index`, when its rank is known.
    pub fn dims(&self, index: usize) -> Option<Dims> {
        Some(self.input(index).shape()?.iter().map(|&dim| dim.into()).collect())
    }

    /// The type of result `index`, for a gradient or a kernel; a body determines it, and finds it unknown.
    pub fn output(&self, index: usize) -> Type<'a> {
        let results = &self.call.args.as_slice()[self.n_args..];
        self.call.types_of.ty(results.get(index).map_or(TypeId::UNKNOWN, |result| result.ty))
    }

    /// The tensor of argument `index`, when it is a constant.
    pub fn constant(&self, index: usize) -> Option<&'a Tensor> {
        self.arg(index)?.tensor
    }
}

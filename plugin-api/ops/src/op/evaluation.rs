//! Evaluators: their arguments and their results.

use crate::abi::RequestCx;
use crate::{
    error::OpError,
    request::{CallParts, CallValue, EvalRequest, Given, InferRequest, LENIENT, LENIENT_TAG},
};
use abi_stable::std_types::{RSlice, RVec};
use relais_ir::{wire::Fields, *};

/// An evaluator: computes a call's results from constant arguments.
pub type EvalFn = fn(&mut EvalCx<'_>) -> Result<(), OpError>;

/// A call in a function that is to be evaluated, and the tensors of its arguments.
#[derive(Clone, Copy)]
pub struct Evaluation<'a> {
    /// The function that owns the call.
    pub function: &'a Function,
    /// The call of an operator.
    pub call: NodeId,
    /// The operator-set version that it is written for.
    pub version: i64,
    /// The arguments; `None` is absent.
    pub inputs: &'a [Option<Tensor>],
    /// The most bytes that one result may take when expanded; splats take none.
    pub max_bytes: u64,
    /// Whether a result will do that some runtimes compute differently: for comparing modules, not for folding.
    pub is_lenient: bool,
}

impl Evaluation<'_> {
    /// Evaluates the call, and checks the results against the type from the operator's own relation. Every evaluation
    /// goes through this function.
    ///
    /// # Errors
    /// Returns the error of the evaluator, or the error in its results.
    pub fn run(
        self,
        infer: impl FnOnce(&mut InferRequest<'_>) -> Option<Result<(), OpError>>,
        eval: impl FnOnce(&mut EvalRequest<'_>) -> Option<Result<(), OpError>>,
    ) -> Option<Result<Vec<Tensor>, OpError>> {
        let Self { function, call, version, max_bytes, .. } = self;
        let op = function.call(call)?.op()?;
        let is_opaque = |tensor: &Tensor| tensor.opaque_form().is_some();
        let has_opaque = |attr: AttrValue<'_>| match attr {
            AttrValue::Tensor(tensor) => is_opaque(tensor),
            AttrValue::Tensors(tensors) => tensors.tensors().any(is_opaque),
            _ => false,
        };
        let attrs = function.attrs(call);
        let mut values = attrs.recs().iter().map(|&rec| attrs.decode(rec));
        if self.inputs.iter().flatten().any(is_opaque) || values.any(has_opaque) {
            return Some(Err(OpError::unsupported("a tensor is stored in a form of a later version")));
        }
        let parts = CallParts::new(function, call);
        let n_outputs = function.n_results(call).unwrap_or(1);
        let mut request = self.request(parts.value(op, version));
        if let Err(error) = eval(&mut request)? {
            return Some(Err(error));
        }
        let outputs = request.outputs.into_vec();
        let mut given = Given::default();
        given.reset(function, n_outputs);
        // If a relation refuses the call, there is nothing to check the results against.
        let is_typed = matches!(given.ask(parts.value(op, version), infer), Some(Ok(())));
        for (index, tensor) in outputs.iter().enumerate().take(n_outputs) {
            let ty = given.outputs.get(index).map_or(Type::Unknown, |&ty| given.types.ty(function, ty));
            if let Some(lie) = is_typed.then(|| contradiction(tensor, ty)).flatten() {
                return Some(Err(OpError::lied(format_args!("result {index} {lie}"))));
            }
            let bytes = if tensor.as_splat().is_some() { 0 } else { tensor.byte_len() };
            if bytes > max_bytes {
                let why = format_args!("result {index} takes {bytes} bytes where {max_bytes} are allowed");
                return Some(Err(OpError::unsupported(why)));
            }
        }
        if outputs.len() < n_outputs {
            let lie = format_args!("it gave {} of {n_outputs} results", outputs.len());
            return Some(Err(OpError::lied(lie)));
        }
        Some(Ok(outputs))
    }
}

impl<'a> Evaluation<'a> {
    /// Calls an evaluator and believes it: for tests of evaluators.
    ///
    /// # Errors
    /// Returns the error of the evaluator.
    ///
    /// # Panics
    /// Panics if the node is not a call of an operator.
    pub fn call(self, eval: EvalFn) -> Result<Vec<Tensor>, OpError> {
        let op = self.function.call(self.call).and_then(CallView::op).expect("an operator is called");
        let parts = CallParts::new(self.function, self.call);
        let mut request = self.request(parts.value(op, self.version));
        eval(&mut EvalCx::new(&mut request, RequestCx::NONE))?;
        Ok(request.outputs.into_vec())
    }

    fn request<'b>(self, call: CallValue<'b>) -> EvalRequest<'b> {
        let absent = || Tensor::from_i64(&[0], &[]);
        EvalRequest {
            call,
            inputs: self.inputs.iter().map(|input| input.clone().unwrap_or_else(absent)).collect(),
            present: self.inputs.iter().map(|input| u8::from(input.is_some())).collect(),
            n_outputs: self.function.n_results(self.call).unwrap_or(1) as u32,
            reserved: 0,
            max_bytes: self.max_bytes,
            outputs: RVec::new(),
            more: if self.is_lenient { RSlice::from_slice(&LENIENT) } else { RSlice::EMPTY },
        }
    }
}

/// Why a tensor is not of a type; unknown sizes agree with all.
fn contradiction(tensor: &Tensor, ty: Type<'_>) -> Option<String> {
    let Type::Tensor { elem, shape } = ty else { return None };
    if elem != ElemType::UNKNOWN && elem != tensor.elem() {
        return Some(format!("has elements of type `{}` where `{elem}` was inferred", tensor.elem()));
    }
    let shape = shape?;
    let is_same = |(&dim, &size): (&DimRec, &u64)| Dim::from(dim).known().is_none_or(|dim| dim == size);
    let agrees = shape.len() == tensor.dims().len() && shape.iter().zip(tensor.dims()).all(is_same);
    (!agrees).then(|| {
        let size = |&dim: &DimRec| Dim::from(dim).known().map_or_else(|| "?".to_owned(), |size| size.to_string());
        let inferred: Vec<String> = shape.iter().map(size).collect();
        format!("has the shape {:?} where [{}] was inferred", tensor.dims(), inferred.join(", "))
    })
}

/// The context of an evaluator.
pub struct EvalCx<'a> {
    call: CallValue<'a>,
    cx: RequestCx<'a>,
    inputs: &'a [Tensor],
    present: &'a [u8],
    n_outputs: u32,
    max_bytes: u64,
    is_lenient: bool,
    outputs: &'a mut RVec<Tensor>,
}

impl<'a> EvalCx<'a> {
    /// Wraps a request, which holds the results afterwards.
    pub(crate) fn new(request: &'a mut EvalRequest<'_>, cx: RequestCx<'a>) -> Self {
        Self {
            call: request.call,
            cx,
            inputs: request.inputs.as_slice(),
            present: request.present.as_slice(),
            n_outputs: request.n_outputs,
            max_bytes: request.max_bytes,
            is_lenient: Fields::new(&request.more).flatten().any(|field| field.tag == LENIENT_TAG),
            outputs: &mut request.outputs,
        }
    }

    /// The operator-set version that the call is written for.
    pub fn version(&self) -> i64 {
        self.call.version
    }

    /// The name of the operator.
    pub fn op_name(&self) -> &str {
        self.call.name.as_str()
    }

    /// The domain of the operator; empty is ONNX's own.
    pub fn domain(&self) -> &str {
        self.call.domain.as_str()
    }

    /// The attributes.
    pub fn attrs(&self) -> Attrs<'_> {
        Attrs::of_recs(self.call.attrs_of, self.call.attrs.as_slice())
    }

    /// Whether the run should stop. A slow evaluator checks this now and then.
    pub fn is_cancelled(&self) -> bool {
        self.cx.is_cancelled()
    }

    /// The number of arguments, absent ones included.
    pub fn n_inputs(&self) -> usize {
        self.inputs.len()
    }

    /// Returns argument `index`, unless it is absent or omitted.
    pub fn input(&self, index: usize) -> Option<&Tensor> {
        (*self.present.get(index)? != 0).then(|| &self.inputs[index])
    }

    /// Argument `index`.
    ///
    /// # Errors
    /// Returns an error if it is absent.
    pub fn require(&self, index: usize) -> Result<&Tensor, OpError> {
        self.input(index).ok_or_else(|| OpError::invalid(format_args!("input {index} is missing")))
    }

    /// Returns the requested number of results.
    pub fn n_outputs(&self) -> usize {
        self.n_outputs as usize
    }

    /// The most bytes that one result may take when expanded; splats take none.
    pub fn max_bytes(&self) -> u64 {
        self.max_bytes
    }

    /// Whether a result will do that some runtimes compute differently: the module is run to be compared with another
    /// one, and nothing is folded. An evaluator may ignore this, and decline in either case.
    pub fn is_lenient(&self) -> bool {
        self.is_lenient
    }

    /// Adds the next result.
    pub fn output(&mut self, tensor: Tensor) {
        self.outputs.push(tensor);
    }
}

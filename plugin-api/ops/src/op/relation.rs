//! Type relations: their arguments, by value, and their results.

use crate::abi::RequestCx;
use crate::{
    error::OpError,
    request::{ArgRec, CallParts, CallValue, Given, InferRequest},
};
use relais_ir::*;

/// A type relation: sets the types of a call's results from the types of its arguments.
pub type InferFn = fn(&mut InferCx<'_>) -> Result<(), OpError>;

/// The context of a type relation. The relation sees the call by value and returns types: it cannot reach the module.
/// Nor can it change the function that the call is in:
///
/// ```compile_fail,E0599
/// fn relation(cx: &mut relais_plugin_api::op::InferCx<'_>) {
///     let _ = cx.function_mut();
/// }
/// ```
pub struct InferCx<'a> {
    call: CallValue<'a>,
    cx: RequestCx<'a>,
    outputs: &'a mut [TypeId],
    values: &'a mut [TypeId],
    types: &'a mut NewTypes,
}

impl<'a> InferCx<'a> {
    /// Wraps a request, which holds the results afterwards.
    pub(crate) fn new(request: &'a mut InferRequest<'_>, cx: RequestCx<'a>) -> Self {
        Self {
            call: request.call,
            cx,
            outputs: request.outputs.as_mut_slice(),
            values: request.values.as_mut_slice(),
            types: &mut request.types,
        }
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

    /// Whether the run should stop. A slow type relation checks this now and then.
    pub fn is_cancelled(&self) -> bool {
        self.cx.is_cancelled()
    }

    /// The attributes. Graph-valued ones have no node here: see [`region`](Self::region).
    pub fn attrs(&self) -> Attrs<'_> {
        Attrs::of_recs(self.call.attrs_of, self.call.attrs.as_slice())
    }

    /// The number of arguments, including absent ones; of an `If`, only the condition.
    pub fn n_args(&self) -> usize {
        self.call.args.len()
    }

    /// Returns argument `index`, unless it is absent or omitted.
    pub fn arg(&self, index: usize) -> Option<ArgRec<'a>> {
        self.call.args.get(index).copied().filter(|arg| arg.present != 0)
    }

    /// The type of argument `index`; unknown when it is absent.
    pub fn input(&self, index: usize) -> Type<'_> {
        self.ty(self.input_id(index))
    }

    /// The type id of argument `index`; unknown when it is absent.
    pub fn input_id(&self, index: usize) -> TypeId {
        self.arg(index).map_or(TypeId::UNKNOWN, |arg| arg.ty)
    }

    /// The element type of argument `index`; unknown when it is not known.
    pub fn elem(&self, index: usize) -> ElemType {
        self.input(index).elem().unwrap_or(ElemType::UNKNOWN)
    }

    /// The dimensions of argument `index`, when its rank is known.
    pub fn dims(&self, index: usize) -> Option<Dims> {
        Some(self.input(index).shape()?.iter().map(|&dim| dim.into()).collect())
    }

    /// The tensor of argument `index`, when it is a constant.
    pub fn constant(&self, index: usize) -> Option<&'a Tensor> {
        self.arg(index)?.tensor
    }

    /// The integers that argument `index` (a constant, or computed from shapes) holds, as far as they are known.
    /// Negative ones appear only in [`constant`](Self::constant)s; here they make the result `None`.
    pub fn value(&self, index: usize) -> Option<Dims> {
        if let Some(tensor) = self.constant(index) {
            let values = (tensor.len() <= 1024).then(|| tensor.to_i64s())??;
            return values.iter().map(|&value| Some(Dim::Static(u64::try_from(value).ok()?))).collect();
        }
        self.computed_value(index)
    }

    /// The integers that argument `index`, which is not a constant, is known to hold because it was computed from shapes.
    pub fn computed_value(&self, index: usize) -> Option<Dims> {
        let value = self.arg(index)?.value;
        Some(self.ty(value).shape()?.iter().map(|&dim| dim.into()).collect())
    }

    /// The number of functions that belong to the call.
    pub fn n_regions(&self) -> usize {
        self.call.region_ends.len()
    }

    /// The types of the results of function `index` of the call.
    pub fn region(&self, index: usize) -> Option<&'a [TypeId]> {
        let ends = self.call.region_ends.as_slice();
        let end = *ends.get(index)? as usize;
        let start = index.checked_sub(1).map_or(0, |before| ends[before] as usize);
        self.call.region_types.as_slice().get(start..end)
    }

    /// The types of the results of the function that attribute `name` holds; `None` when it holds none.
    pub fn region_of(&self, name: &str) -> Option<&'a [TypeId]> {
        let f = self.call.attrs_of;
        let mut recs = self.call.attrs.iter();
        let rec = recs.find(|rec| rec.kind == attr_kind::GRAPH && f.bytes(rec.name) == name.as_bytes())?;
        self.region(rec.a as usize)
    }

    /// The type of an id.
    pub fn ty(&self, id: TypeId) -> Type<'_> {
        self.types.ty(self.call.types_of, id)
    }

    /// The id of a type. Names of dimensions are those that types of the call have.
    pub fn add_type(&mut self, ty: Type<'_>) -> TypeId {
        self.types.add(self.call.types_of, ty)
    }

    /// The id of a dense tensor type.
    pub fn tensor_type(&mut self, elem: ElemType, shape: &[Dim]) -> TypeId {
        self.types.tensor(self.call.types_of, elem, shape)
    }

    /// The number of results.
    pub fn n_outputs(&self) -> usize {
        self.outputs.len()
    }

    /// Sets the type of result `index`; a result that the call omits is ignored.
    pub fn set_output(&mut self, index: usize, ty: TypeId) {
        if let Some(output) = self.outputs.get_mut(index) {
            *output = ty;
        }
    }

    /// Sets result `index` to a dense tensor.
    pub fn set_tensor(&mut self, index: usize, elem: ElemType, shape: &[Dim]) {
        let ty = self.tensor_type(elem, shape);
        self.set_output(index, ty);
    }

    /// Sets result `index` to a dense tensor of unknown rank.
    pub fn set_any_rank(&mut self, index: usize, elem: ElemType) {
        let ty = self.add_type(Type::Tensor { elem, shape: None });
        self.set_output(index, ty);
    }

    /// Sets the integers that result `index` holds.
    pub fn set_value(&mut self, index: usize, values: &[Dim]) {
        if index < self.values.len() {
            self.values[index] = self.tensor_type(ElemType::INT64, values);
        }
    }
}

/// The types and the known integers (entries of [`VALUES_TABLE`](crate::request::VALUES_TABLE)) of a call's results.
pub type ResultTypes = Vec<(TypeId, TypeId)>;

/// Applies a type relation to a call of an operator in a function: for tests of type relations.
///
/// # Errors
/// Returns the relation's error about the call, or the error in its result.
///
/// # Panics
/// Panics if the node is not a call of an operator.
pub fn relate(infer: InferFn, function: &mut Function, call: NodeId, version: i64) -> Result<ResultTypes, OpError> {
    let op = function.call(call).and_then(CallView::op).expect("an operator is called");
    let mut given = Given::default();
    given.reset(function, function.n_results(call).unwrap_or(1));
    let parts = CallParts::new(function, call);
    let ask = |request: &mut InferRequest<'_>| Some(infer(&mut InferCx::new(request, RequestCx::NONE)));
    given.ask(parts.value(op, version), ask).unwrap_or(Ok(()))?;
    drop(parts);
    let ids = given.types.add_to(function);
    let known = |id: TypeId| given.types.resolve(&ids, id);
    Ok(given.outputs.iter().zip(&given.values).map(|(&ty, &value)| (known(ty), known(value))).collect())
}

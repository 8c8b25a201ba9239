//! Type relations: their arguments, by value, and their results.

use super::OpError;
use crate::{boundary::abi::RequestCx, ir::*};
use abi_stable::{
    StableAbi,
    std_types::{RSlice, RStr, RVec},
};
use smallvec::SmallVec;

/// A type relation: sets the types of a call's results from the types of its arguments.
pub type InferFn = fn(&mut InferCx<'_>) -> Result<(), OpError>;

/// The side table of known integer contents: for a node that is a scalar or vector of integers, the type id of an
/// `int64` tensor type whose dimensions are those integers (so that a dimension of a shape that is itself symbolic can
/// be represented). Derived, like types.
pub const VALUES_TABLE: &str = "values";

/// The entry of [`VALUES_TABLE`] for a node.
pub fn known_value(function: &Function, node: NodeId) -> Option<TypeId> {
    let entry = function.table(VALUES_TABLE)?.get(node)?.first_chunk::<4>()?;
    let id = TypeId(u32::from_le_bytes(*entry));
    (id != TypeId::UNKNOWN).then_some(id)
}

/// Sets the entry of [`VALUES_TABLE`] for a node, or forgets it.
pub(crate) fn set_known_value(function: &mut Function, node: NodeId, value: TypeId) {
    if value != TypeId::UNKNOWN || known_value(function, node).is_some() {
        let table = function.table_mut(VALUES_TABLE, 4, table_policy::DERIVED);
        table.get_mut(node).copy_from_slice(&value.0.to_le_bytes());
    }
}

/// An argument of a call, as a type relation sees it. Crosses the boundary.
#[repr(C)]
#[derive(StableAbi, Clone, Copy)]
pub struct ArgRec<'a> {
    /// Its type; unknown when it is absent.
    pub(crate) ty: TypeId,
    /// The integers that it holds, as an entry of [`VALUES_TABLE`]; unknown when nothing is known of them.
    pub(crate) value: TypeId,
    /// Its tensor, when it is a constant.
    pub(crate) tensor: Option<&'a Tensor>,
    /// 1 when it is present.
    pub(crate) present: u32,
    /// Zero; for later use.
    pub(crate) reserved: u32,
}

impl<'a> ArgRec<'a> {
    /// No argument.
    pub(crate) const ABSENT: Self =
        Self { ty: TypeId::UNKNOWN, value: TypeId::UNKNOWN, tensor: None, present: 0, reserved: 0 };

    /// The value of a node.
    pub(crate) fn of(function: &'a Function, node: NodeId) -> Self {
        if node.is_absent() {
            return Self::ABSENT;
        }
        let tensor = function.constant(node);
        let value = if tensor.is_some() { None } else { known_value(function, node) };
        let value = value.unwrap_or(TypeId::UNKNOWN);
        Self { ty: function.type_id(node), value, tensor, present: 1, reserved: 0 }
    }
}

/// A call, by value: it need not be in any function.
#[repr(C)]
#[derive(StableAbi, Clone, Copy)]
pub struct CallValue<'a> {
    /// The operator's domain.
    pub(crate) domain: RStr<'a>,
    /// The operator's name.
    pub(crate) name: RStr<'a>,
    /// The operator-set version that it is written for.
    pub(crate) version: i64,
    /// The arguments.
    pub(crate) args: RSlice<'a, ArgRec<'a>>,
    /// The attributes, in the pools of `attrs_of`.
    pub(crate) attrs: RSlice<'a, AttrRec>,
    /// Whose pools the attributes are in.
    pub(crate) attrs_of: &'a Function,
    /// The types of the results of the functions that belong to the call, one list after another.
    pub(crate) region_types: RSlice<'a, TypeId>,
    /// Where the list of each of these functions ends.
    pub(crate) region_ends: RSlice<'a, u32>,
    /// The function whose types and strings the ids above are.
    pub(crate) types_of: &'a Function,
}

/// The arguments and results of a type relation. Crosses the boundary.
#[repr(C)]
#[derive(StableAbi)]
pub struct InferRequest<'a> {
    /// The call.
    pub(crate) call: CallValue<'a>,
    /// One type for each result, all unknown at first.
    pub(crate) outputs: RVec<TypeId>,
    /// One entry of [`VALUES_TABLE`] for each result.
    pub(crate) values: RVec<TypeId>,
    /// The types that the type relation adds.
    pub(crate) types: NewTypes,
    /// Empty; for later use.
    pub(crate) more: RSlice<'a, u8>,
}

impl InferRequest<'_> {
    /// A hash of the layout, for the boundary's fingerprint.
    pub(crate) const LAYOUT_HASH: u64 = crate::__layout_hash!(InferRequest<'static> { call, outputs, values, types, more })
        ^ crate::__layout_hash!(CallValue<'static> {
            domain,
            name,
            version,
            args,
            attrs,
            attrs_of,
            region_types,
            region_ends,
            types_of
        })
        ^ crate::__layout_hash!(ArgRec<'static> { ty, value, tensor, present, reserved })
        ^ NewTypes::LAYOUT_HASH;
}

/// A call in a function, taken apart for a [`CallValue`].
pub(crate) struct CallParts<'a> {
    function: &'a Function,
    node: NodeId,
    args: SmallVec<[ArgRec<'a>; 6]>,
    region_types: SmallVec<[TypeId; 4]>,
    region_ends: SmallVec<[u32; 2]>,
}

impl<'a> CallParts<'a> {
    pub fn new(function: &'a Function, node: NodeId) -> Self {
        let operands = function.operands(node);
        let first = usize::from(function.kind(node) == kind::CALL);
        let (args, regions) = operands[first..].split_at(operands.len() - first - function.n_regions(node));
        let mut parts = Self {
            function,
            node,
            args: args.iter().map(|&arg| ArgRec::of(function, arg)).collect(),
            region_types: SmallVec::new(),
            region_ends: SmallVec::new(),
        };
        for &region in regions {
            if function.kind(region) == kind::FUNCTION {
                let results = function.results(function.block_of(region));
                parts.region_types.extend(results.iter().map(|&result| function.type_id(result)));
            }
            parts.region_ends.push(parts.region_types.len() as u32);
        }
        parts
    }

    /// The same, with the results of the call after its arguments.
    pub fn with_results(mut self) -> Self {
        let f = self.function;
        let result = |ty: TypeId| ArgRec { ty, present: 1, ..ArgRec::ABSENT };
        match (f.n_results(self.node), f.type_of(self.node)) {
            (None, _) => self.args.push(result(f.type_id(self.node))),
            (Some(n), Type::Tuple(fields)) if fields.len() == n => {
                self.args.extend(fields.iter().map(|&ty| result(ty)));
            }
            (Some(n), _) => self.args.extend((0..n).map(|_| result(TypeId::UNKNOWN))),
        }
        self
    }

    pub fn value(&self, op: OpId, version: i64) -> CallValue<'_> {
        let f = self.function;
        let rec = f.op(op);
        CallValue {
            domain: f.str(rec.domain).into(),
            name: f.str(rec.name).into(),
            version,
            args: self.args.as_slice().into(),
            attrs: f.attr_recs(self.node).into(),
            attrs_of: f,
            region_types: self.region_types.as_slice().into(),
            region_ends: self.region_ends.as_slice().into(),
            types_of: f,
        }
    }
}

impl CallValue<'_> {
    /// Whether a type of the call has a dimension of this name.
    pub(crate) fn has_symbol(&self, types: &NewTypes, name: StrId) -> bool {
        let attr_types = self.attrs.iter().filter(|rec| rec.kind == attr_kind::TYPE).map(|rec| TypeId(rec.a));
        let args = self.args.iter().flat_map(|arg| [arg.ty, arg.value]);
        let mut open: SmallVec<[TypeId; 16]> =
            args.chain(self.region_types.iter().copied()).chain(attr_types).collect();
        while let Some(id) = open.pop() {
            if !types.has(id) {
                continue;
            }
            let shape = match types.ty(self.types_of, id) {
                Type::Tensor { shape, .. } | Type::SparseTensor { shape, .. } => shape.unwrap_or_default(),
                Type::Sequence(item) | Type::Optional(item) | Type::Map { value: item, .. } => {
                    open.push(item);
                    &[]
                }
                _ => &[],
            };
            if shape.contains(&Dim::Symbol(name).into()) {
                return true;
            }
        }
        false
    }
}

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

/// The types and the known integers (entries of [`VALUES_TABLE`]) of a call's results.
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

/// The result of a type relation, as it crossed the boundary: not checked yet.
#[derive(Default)]
pub(crate) struct Given {
    pub outputs: RVec<TypeId>,
    pub values: RVec<TypeId>,
    pub types: NewTypes,
}

impl Given {
    /// Space for the results of a call, about which nothing is known; no types added yet.
    pub fn reset(&mut self, function: &Function, n_results: usize) {
        self.types.reset(function);
        self.expect(n_results);
    }

    /// Room for the results of another call, nothing known of them.
    pub fn expect(&mut self, n_results: usize) {
        for list in [&mut self.outputs, &mut self.values] {
            list.clear();
            list.extend(std::iter::repeat_n(TypeId::UNKNOWN, n_results));
        }
    }

    /// Applies a type relation to a call with that many results, and checks its result.
    ///
    /// # Errors
    /// Returns the relation's error about the call, or the error in its result.
    pub fn ask(
        &mut self,
        call: CallValue<'_>,
        ask: impl FnOnce(&mut InferRequest<'_>) -> Option<Result<(), OpError>>,
    ) -> Option<Result<(), OpError>> {
        let (n_results, n_before) = (self.outputs.len(), self.types.n_dims());
        let mut request = InferRequest {
            call,
            outputs: std::mem::take(&mut self.outputs),
            values: std::mem::take(&mut self.values),
            types: std::mem::take(&mut self.types),
            more: RSlice::EMPTY,
        };
        let result = ask(&mut request);
        let InferRequest { outputs, values, types, .. } = request;
        (self.outputs, self.values, self.types) = (outputs, values, types);
        match result? {
            Ok(()) => Some(self.check(&call, n_results, n_before)),
            Err(error) => Some(Err(error)),
        }
    }

    fn check(&self, call: &CallValue<'_>, n_results: usize, n_before: usize) -> Result<(), OpError> {
        let lied = |what: &dyn std::fmt::Display| Err(OpError::lied(what));
        if self.outputs.len() != n_results || self.values.len() != n_results {
            return lied(&format_args!("it gave {} types for {n_results} results", self.outputs.len()));
        }
        if let Err(lie) = self.types.check(call.types_of, n_before, |name| call.has_symbol(&self.types, name)) {
            return lied(&lie);
        }
        let is_unknown =
            |&dim: &DimRec| matches!(Dim::from(dim), Dim::Symbol(name) if !call.has_symbol(&self.types, name));
        let (outputs, values) = (self.outputs.iter().map(|&id| (id, false)), self.values.iter().map(|&id| (id, true)));
        for (id, is_value) in outputs.chain(values).filter(|&(id, _)| id != TypeId::UNKNOWN) {
            if !self.types.has(id) {
                return lied(&TypeLie::NoSuchType(id));
            }
            let ty = self.types.ty(call.types_of, id);
            let dims = match ty {
                Type::Tensor { shape, .. } | Type::SparseTensor { shape, .. } => shape.unwrap_or_default(),
                _ => &[],
            };
            if dims.iter().any(is_unknown) {
                return lied(&TypeLie::Symbol);
            }
            if is_value && !matches!(ty, Type::Tensor { elem: ElemType::INT64, shape: Some(_) }) {
                return lied(&TypeLie::Malformed(id));
            }
        }
        Ok(())
    }
}

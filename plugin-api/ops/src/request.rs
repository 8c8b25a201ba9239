//! One call of an operator as the functions of the operator receive it, in the plugin that describes the operator or in
//! another library: by value, so that they reach neither the module nor the function that the call is in.

use crate::error::OpError;
use abi_stable::{
    StableAbi,
    std_types::{RSlice, RStr, RString, RVec},
};
use relais_ir::{
    wire::{FIELD_HEADER, MAX_LEN},
    *,
};
use smallvec::SmallVec;

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
    pub const LAYOUT_HASH: u64 = relais_ir::__layout_hash!(InferRequest<'static> { call, outputs, values, types, more })
        ^ relais_ir::__layout_hash!(CallValue<'static> {
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
        ^ relais_ir::__layout_hash!(ArgRec<'static> { ty, value, tensor, present, reserved })
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

/// The arguments and results of an evaluator. Crosses the boundary.
#[repr(C)]
#[derive(StableAbi)]
pub struct EvalRequest<'a> {
    /// The call; of its arguments, only the tensors below are known.
    pub(crate) call: CallValue<'a>,
    /// The arguments; an absent one is a placeholder (see `present`).
    pub(crate) inputs: RVec<Tensor>,
    /// For each argument, 1 when it is present.
    pub(crate) present: RVec<u8>,
    /// The requested number of results.
    pub(crate) n_outputs: u32,
    /// Zero; for later use.
    pub(crate) reserved: u32,
    /// The most bytes that one result may take, written out.
    pub(crate) max_bytes: u64,
    /// The results.
    pub(crate) outputs: RVec<Tensor>,
    /// Fields, by the tags below; what is not known is skipped.
    pub(crate) more: RSlice<'a, u8>,
}

/// The tag of the field without content that makes a request lenient.
pub(crate) const LENIENT_TAG: u16 = 1;

/// That field.
pub(crate) const LENIENT: [u8; FIELD_HEADER] = [LENIENT_TAG as u8, 0, 0, 0, 0, 0];

impl EvalRequest<'_> {
    /// A hash of the layout, for the boundary's fingerprint.
    pub const LAYOUT_HASH: u64 = relais_ir::__layout_hash!(EvalRequest<'static> {
        call, inputs, present, n_outputs, reserved, max_bytes, outputs, more
    });
}

/// A call for a function that looks at it, and the text that it makes. Crosses the boundary.
#[repr(C)]
#[derive(StableAbi)]
pub struct CallRequest<'a> {
    /// The call. Of one whose gradient or kernel is wanted, the results follow the arguments.
    pub(crate) call: CallValue<'a>,
    /// The number of its results.
    pub(crate) n_outputs: u32,
    /// Zero; for later use.
    pub(crate) reserved: u32,
    /// The body, the gradient or the kernel; empty for a verifier.
    pub(crate) text: RString,
    /// Empty; for later use.
    pub(crate) more: RSlice<'a, u8>,
}

impl<'a> CallRequest<'a> {
    /// A request about a call with that many results.
    pub(crate) fn new(call: CallValue<'a>, n_outputs: usize) -> Self {
        Self { call, n_outputs: n_outputs as u32, reserved: 0, text: RString::new(), more: RSlice::EMPTY }
    }

    /// Returns the text that was made: `what` is a body, a gradient or a kernel.
    ///
    /// # Errors
    /// Returns an error if it is longer than a body in a record can be.
    pub(crate) fn made(&self, what: &str) -> Result<&str, OpError> {
        match self.text.len() {
            len if len > MAX_LEN => {
                Err(OpError::lied(format_args!("it made a {what} of {len} bytes, and {MAX_LEN} are allowed")))
            }
            _ => Ok(&self.text),
        }
    }
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

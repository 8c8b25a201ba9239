//! What plugins say about operators: schema, type relation, effects, pattern kind, evaluator.

use crate::{diagnostics::PassError, ir::*};
use abi_stable::{
    StableAbi,
    std_types::{RString, RVec},
};
use std::fmt;

/// What calling an operator may do besides computing its results from its arguments. A bit set; no bit is pure.
#[repr(transparent)]
#[derive(StableAbi, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Effects(pub u32);

impl Effects {
    /// Results depend on arguments and attributes alone, and the call always ends well.
    pub const PURE: Self = Self(0);
    /// Keeps state between calls (TVM's `TOpIsStateful`).
    pub const STATEFUL: Self = Self(1);
    /// Results are random: two calls differ.
    pub const RANDOM: Self = Self(2);
    /// May fail for some arguments (an index out of range, an empty optional): never executed where it was not.
    pub const TRAPS: Self = Self(4);
    /// Nothing is known: carried through, never folded, duplicated, merged or dropped.
    pub const OPAQUE: Self = Self(8);

    /// The bits that this version knows.
    const KNOWN: u32 = 15;

    /// The bits to decide by: an effect of a later version may be any.
    const fn cautious(self) -> u32 {
        if self.0 & !Self::KNOWN == 0 { self.0 } else { self.0 | Self::KNOWN }
    }

    /// Whether all bits of `other` are set; one that this version does not know stands for all that it knows.
    pub const fn contains(self, other: Self) -> bool {
        self.cautious() & other.0 == other.0
    }

    /// The union.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether two calls with equal arguments give equal results, so that one may stand for both.
    pub const fn is_mergeable(self) -> bool {
        self.cautious() & (Self::STATEFUL.0 | Self::RANDOM.0 | Self::OPAQUE.0) == 0
    }

    /// Whether a call whose results nobody uses may go.
    pub const fn is_removable(self) -> bool {
        self.cautious() & (Self::STATEFUL.0 | Self::OPAQUE.0) == 0
    }
}

/// How an operator maps input elements to output elements: TVM's `TOpPattern`, with its numbers.
#[repr(transparent)]
#[derive(StableAbi, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Pattern(pub u8);

impl Pattern {
    /// Element by element, all shapes equal.
    pub const ELEMWISE: Self = Self(0);
    /// Element by element, with broadcasting.
    pub const BROADCAST: Self = Self(1);
    /// Each output element comes from one input element (`Transpose`, `Concat`).
    pub const INJECTIVE: Self = Self(2);
    /// A commutative reduction.
    pub const COMM_REDUCE: Self = Self(3);
    /// A complex operator whose output elementwise operators can be fused into (`Conv`).
    pub const OUT_ELEMWISE_FUSABLE: Self = Self(4);
    /// A tuple.
    pub const TUPLE: Self = Self(7);
    /// Cannot be fused.
    pub const OPAQUE: Self = Self(8);
}

/// An attribute in an operator's schema.
#[derive(Clone, Copy, Debug)]
pub struct AttrSchema {
    /// Name.
    pub name: &'static str,
    /// One of [`attr_kind`].
    pub kind: u8,
    /// Whether a call without it is invalid.
    pub required: Required,
    /// Default value as text of the text form; empty when there is none.
    pub default: &'static str,
}

/// Whether something must be given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Required {
    /// It must.
    Yes,
    /// It may be left off.
    No,
}

/// A type relation: sets the types of a call's results from the types of its arguments.
pub type InferFn = fn(&mut InferCx<'_>) -> Result<(), OpError>;

/// An evaluator: computes a call's results from constant arguments.
pub type EvalFn = fn(&mut EvalCx<'_>) -> Result<(), OpError>;

/// An operator, as its plugin describes it: one entry for each version that changed it. Built in const context:
///
/// ```
/// use relais_plugin_api::op::*;
/// const RELU: Operator = Operator::new("", "Relu", 14).inputs(1, 1).pattern(Pattern::ELEMWISE);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Operator {
    /// Domain; empty is ONNX's own.
    pub domain: &'static str,
    /// Name.
    pub name: &'static str,
    /// The first version of the domain's operator set that this entry describes.
    pub since_version: u32,
    /// Fewest and most arguments; `u16::MAX` is any number.
    pub inputs: (u16, u16),
    /// Fewest and most results.
    pub outputs: (u16, u16),
    /// Attribute schemas.
    pub attrs: &'static [AttrSchema],
    /// Effects.
    pub effects: Effects,
    /// Pattern kind.
    pub pattern: Pattern,
    /// Type relation.
    pub infer: Option<InferFn>,
    /// Evaluator; it may also come from another plugin, as an [`Evaluator`].
    pub eval: Option<EvalFn>,
    /// One line of documentation.
    pub doc: &'static str,
}

impl Operator {
    /// An opaque pattern, pure, with one argument and one result, to be refined.
    pub const fn new(domain: &'static str, name: &'static str, since_version: u32) -> Self {
        Self {
            domain,
            name,
            since_version,
            inputs: (1, 1),
            outputs: (1, 1),
            attrs: &[],
            effects: Effects::PURE,
            pattern: Pattern::OPAQUE,
            infer: None,
            eval: None,
            doc: "",
        }
    }

    /// The same description for another version.
    pub const fn since(mut self, version: u32) -> Self {
        self.since_version = version;
        self
    }

    /// Sets the number of arguments.
    pub const fn inputs(mut self, fewest: u16, most: u16) -> Self {
        self.inputs = (fewest, most);
        self
    }

    /// Sets the number of results.
    pub const fn outputs(mut self, fewest: u16, most: u16) -> Self {
        self.outputs = (fewest, most);
        self
    }

    /// Sets the attribute schemas.
    pub const fn attrs(mut self, attrs: &'static [AttrSchema]) -> Self {
        self.attrs = attrs;
        self
    }

    /// Adds effects.
    pub const fn effects(mut self, effects: Effects) -> Self {
        self.effects = self.effects.and(effects);
        self
    }

    /// Sets the pattern kind.
    pub const fn pattern(mut self, pattern: Pattern) -> Self {
        self.pattern = pattern;
        self
    }

    /// Sets the type relation.
    pub const fn infer(mut self, infer: InferFn) -> Self {
        self.infer = Some(infer);
        self
    }

    /// Sets the evaluator.
    pub const fn eval(mut self, eval: EvalFn) -> Self {
        self.eval = Some(eval);
        self
    }

    /// Sets the documentation.
    pub const fn doc(mut self, doc: &'static str) -> Self {
        self.doc = doc;
        self
    }
}

/// An evaluator for an operator that another plugin describes.
#[derive(Clone, Copy, Debug)]
pub struct Evaluator {
    /// Domain; empty is ONNX's own.
    pub domain: &'static str,
    /// Operator name.
    pub name: &'static str,
    /// The first operator-set version it is right for.
    pub since_version: u32,
    /// Computes the results.
    pub eval: EvalFn,
}

/// Why a type relation or an evaluator failed.
#[repr(C)]
#[derive(StableAbi, Clone, PartialEq, Eq, Debug)]
pub struct OpError {
    /// 0: the call is invalid. 1: not supported (not an error: nothing is inferred or folded). 2: the type relation or
    /// evaluator panicked, or could not be had. Append-only.
    pub kind: u8,
    /// What is wrong, as it continues "`Conv`: …".
    pub message: RString,
}

impl OpError {
    /// The call is invalid, whatever the values.
    pub fn invalid(message: impl fmt::Display) -> Self {
        Self { kind: 0, message: message.to_string().into() }
    }

    /// This type relation or evaluator does not cover the case.
    pub fn unsupported(message: impl fmt::Display) -> Self {
        Self { kind: 1, message: message.to_string().into() }
    }

    /// The type relation or evaluator panicked.
    pub(crate) fn panicked(panic: &PassError) -> Self {
        Self { kind: 2, message: panic.to_string().into() }
    }

    /// The library of the type relation or evaluator could not be opened.
    pub(crate) fn unavailable(error: &PassError) -> Self {
        Self { kind: 2, message: error.to_string().into() }
    }
}

impl fmt::Display for OpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for OpError {}

/// The side table of known integer contents: for a node that is a scalar or vector of integers, the type id of an
/// `int64` tensor type whose dimensions are those integers (so a dimension of a shape that is itself symbolic can be
/// said). Derived, like types.
pub const VALUES_TABLE: &str = "values";

/// What a type relation sees and sets. Crosses the boundary.
#[repr(C)]
#[derive(StableAbi)]
pub struct InferRequest<'a> {
    /// The function; only its type table and the derived tables of `node` and its projections may change.
    pub function: &'a mut Function,
    /// The call.
    pub node: NodeId,
    /// The operator-set version the call is written for.
    pub version: i64,
    /// One type for each result, all unknown at first.
    pub outputs: RVec<TypeId>,
    /// One entry of [`VALUES_TABLE`] for each result.
    pub values: RVec<TypeId>,
}

/// What a type relation sees and sets.
pub struct InferCx<'a> {
    function: &'a mut Function,
    node: NodeId,
    version: i64,
    outputs: &'a mut [TypeId],
    values: &'a mut [TypeId],
}

impl<'a> InferCx<'a> {
    /// Wraps a request, which holds the results afterwards.
    pub fn new(request: &'a mut InferRequest<'_>) -> Self {
        Self {
            function: &mut *request.function,
            node: request.node,
            version: request.version,
            outputs: request.outputs.as_mut_slice(),
            values: request.values.as_mut_slice(),
        }
    }

    /// The function that owns the call.
    pub fn function(&self) -> &Function {
        self.function
    }

    /// The function, for adding types.
    pub fn function_mut(&mut self) -> &mut Function {
        self.function
    }

    /// The call or `If`.
    pub fn node(&self) -> NodeId {
        self.node
    }

    /// The operator-set version the call is written for.
    pub fn version(&self) -> i64 {
        self.version
    }

    /// The attributes.
    pub fn attrs(&self) -> Attrs<'_> {
        self.function().attrs(self.node())
    }

    /// The arguments (of an `If`, the condition).
    pub fn args(&self) -> &[NodeId] {
        let operands = self.function().operands(self.node());
        let first = usize::from(self.function().kind(self.node()) == kind::CALL);
        &operands[first..operands.len() - self.function().n_regions(self.node())]
    }

    /// The functions of graph-valued attributes, or the branches.
    pub fn regions(&self) -> &[NodeId] {
        self.function().regions(self.node())
    }

    /// Argument `index`, unless it is absent or left off.
    pub fn arg(&self, index: usize) -> Option<NodeId> {
        self.args().get(index).copied().filter(|arg| !arg.is_absent())
    }

    /// The type of argument `index`; unknown when it is absent.
    pub fn input(&self, index: usize) -> Type<'_> {
        self.arg(index).map_or(Type::Unknown, |arg| self.function().type_of(arg))
    }

    /// The type id of argument `index`; unknown when it is absent.
    pub fn input_id(&self, index: usize) -> TypeId {
        self.arg(index).map_or(TypeId::UNKNOWN, |arg| self.function().type_id(arg))
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
    pub fn constant(&self, index: usize) -> Option<&Tensor> {
        self.function().constant(self.arg(index)?)
    }

    /// The integers that argument `index` (a constant, or computed from shapes) holds, as far as they are known.
    /// Negative ones appear only in [`constant`](Self::constant)s; here they make the answer `None`.
    pub fn value(&self, index: usize) -> Option<Dims> {
        let arg = self.arg(index)?;
        if let Some(tensor) = self.function().constant(arg) {
            let values = (tensor.len() <= 1024).then(|| tensor.to_i64s())??;
            return values.iter().map(|&value| Some(Dim::Static(u64::try_from(value).ok()?))).collect();
        }
        let ty = known_value(self.function(), arg);
        Some(self.function().ty(ty?).shape()?.iter().map(|&dim| dim.into()).collect())
    }

    /// The number of results.
    pub fn n_outputs(&self) -> usize {
        self.outputs.len()
    }

    /// Sets the type of result `index`; a result that the call leaves off is ignored.
    pub fn set_output(&mut self, index: usize, ty: TypeId) {
        if let Some(output) = self.outputs.get_mut(index) {
            *output = ty;
        }
    }

    /// Sets result `index` to a dense tensor.
    pub fn set_tensor(&mut self, index: usize, elem: ElemType, shape: &[Dim]) {
        let ty = self.function.tensor_type(elem, shape);
        self.set_output(index, ty);
    }

    /// Sets result `index` to a dense tensor of unknown rank.
    pub fn set_any_rank(&mut self, index: usize, elem: ElemType) {
        let ty = self.function.add_type(Type::Tensor { elem, shape: None });
        self.set_output(index, ty);
    }

    /// Says which integers result `index` holds.
    pub fn set_value(&mut self, index: usize, values: &[Dim]) {
        if index < self.values.len() {
            let ty = self.function.tensor_type(ElemType::INT64, values);
            self.values[index] = ty;
        }
    }
}

/// The entry of [`VALUES_TABLE`] for a node.
pub fn known_value(function: &Function, node: NodeId) -> Option<TypeId> {
    let entry = function.table(VALUES_TABLE)?.get(node)?.first_chunk::<4>()?;
    let id = TypeId(u32::from_le_bytes(*entry));
    (id != TypeId::UNKNOWN).then_some(id)
}

/// What an evaluator sees and gives. Crosses the boundary.
#[repr(C)]
#[derive(StableAbi)]
pub struct EvalRequest<'a> {
    /// The function that owns the call.
    pub function: &'a Function,
    /// The call.
    pub node: NodeId,
    /// The operator-set version the call is written for.
    pub version: i64,
    /// The arguments; an absent one has an element type of 0 and is no tensor (see `present`).
    pub inputs: RVec<Tensor>,
    /// For each argument, 1 when it is present.
    pub present: RVec<u8>,
    /// The number of results asked for.
    pub n_outputs: u32,
    /// The most bytes that one result may take, written out.
    pub max_bytes: u64,
    /// The results.
    pub outputs: RVec<Tensor>,
}

impl<'a> EvalRequest<'a> {
    /// The request to evaluate a call for these arguments (`None` is absent).
    pub fn of_call(
        function: &'a Function,
        node: NodeId,
        version: i64,
        inputs: &[Option<Tensor>],
        max_bytes: u64,
    ) -> Self {
        let absent = Tensor::from_i64(&[0], &[]);
        Self {
            function,
            node,
            version,
            inputs: inputs.iter().map(|input| input.as_ref().unwrap_or(&absent).clone()).collect(),
            present: inputs.iter().map(|input| u8::from(input.is_some())).collect(),
            n_outputs: function.n_results(node).unwrap_or(1) as u32,
            max_bytes,
            outputs: RVec::new(),
        }
    }
}

/// What an evaluator sees and gives.
pub struct EvalCx<'a> {
    function: &'a Function,
    node: NodeId,
    version: i64,
    inputs: &'a [Tensor],
    present: &'a [u8],
    n_outputs: u32,
    max_bytes: u64,
    outputs: &'a mut RVec<Tensor>,
}

impl<'a> EvalCx<'a> {
    /// Wraps a request, which holds the results afterwards.
    pub fn new(request: &'a mut EvalRequest<'_>) -> Self {
        Self {
            function: request.function,
            node: request.node,
            version: request.version,
            inputs: request.inputs.as_slice(),
            present: request.present.as_slice(),
            n_outputs: request.n_outputs,
            max_bytes: request.max_bytes,
            outputs: &mut request.outputs,
        }
    }

    /// The operator-set version the call is written for.
    pub fn version(&self) -> i64 {
        self.version
    }

    /// The name of the operator.
    pub fn op_name(&self) -> &str {
        self.function.call(self.node).map_or("", |call| call.op_name())
    }

    /// The attributes.
    pub fn attrs(&self) -> Attrs<'_> {
        self.function.attrs(self.node)
    }

    /// The number of arguments, absent ones included.
    pub fn n_inputs(&self) -> usize {
        self.inputs.len()
    }

    /// Argument `index`, unless it is absent or left off.
    pub fn input(&self, index: usize) -> Option<&Tensor> {
        (*self.present.get(index)? != 0).then(|| &self.inputs[index])
    }

    /// Argument `index`.
    ///
    /// # Errors
    /// When it is absent.
    pub fn require(&self, index: usize) -> Result<&Tensor, OpError> {
        self.input(index).ok_or_else(|| OpError::invalid(format_args!("input {index} is missing")))
    }

    /// The number of results asked for.
    pub fn n_outputs(&self) -> usize {
        self.n_outputs as usize
    }

    /// The most bytes that one result may take, written out; splats take none.
    pub fn max_bytes(&self) -> u64 {
        self.max_bytes
    }

    /// Adds the next result.
    pub fn output(&mut self, tensor: Tensor) {
        self.outputs.push(tensor);
    }
}

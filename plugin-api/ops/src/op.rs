//! Descriptions of operators: schema, type relation, effects, fusion kind, layouts, evaluator.

mod addition;
mod attr;
mod body_text;
mod call;
mod evaluation;
mod kernel;
mod layout;
mod macs;
mod properties;
pub mod record;
mod relation;
mod schema;
pub mod shapes;
pub mod tags;

pub use addition::{AddedPart, Addition, Merged, Rank, merge, parts_of};
pub use attr::AttrFacts;
pub use call::{BodyFn, GradientFn, OpCall, VerifyFn};
pub use evaluation::{EvalCx, EvalFn, Evaluation};
pub use kernel::{ComputeFn, Kernel};
pub(crate) use kernel::{make_kernel, static_sizes};
pub use layout::{Layout, LayoutFacts};
pub use macs::Macs;
pub(crate) use macs::is_formula;
pub use properties::{Axes, AxisFrom, Exactness, Precision, property};
pub use relation::{InferCx, InferFn, ResultTypes, relate};
pub use schema::{CallFault, CallRule, FormalFacts, OpSchema, TypeVarFacts};

use abi_stable::StableAbi;
use relais_ir::{Effects, ElemType};
use tags::formal_kind;

/// How an operator maps input elements to output elements: TVM's `TOpPattern`, with its numbers.
#[repr(transparent)]
#[derive(StableAbi, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct FusionKind(pub u8);

impl FusionKind {
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
    /// One of [`attr_kind`](relais_ir::attr_kind).
    pub kind: u8,
    /// Whether a call without it is invalid.
    pub required: Required,
    /// Default value as text of the text form; empty when there is none.
    pub default: &'static str,
}

/// A formal input or result of an operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Formal {
    /// Name.
    pub name: &'static str,
    /// One of [`formal_kind`].
    pub kind: u8,
    /// The name of its type variable.
    pub var: &'static str,
}

impl Formal {
    /// One that is always there.
    pub const fn single(name: &'static str, var: &'static str) -> Self {
        Self { name, kind: formal_kind::SINGLE, var }
    }

    /// One that may be absent.
    pub const fn optional(name: &'static str, var: &'static str) -> Self {
        Self { name, kind: formal_kind::OPTIONAL, var }
    }

    /// All that follow, of one type.
    pub const fn variadic(name: &'static str, var: &'static str) -> Self {
        Self { name, kind: formal_kind::VARIADIC, var }
    }

    /// All that follow, each of a type of its own.
    pub const fn mixed(name: &'static str, var: &'static str) -> Self {
        Self { name, kind: formal_kind::MIXED, var }
    }
}

/// A type variable: arguments and results that name one have one type, which is one of these. One that allows nothing
/// allows everything.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TypeVar {
    /// Name.
    pub name: &'static str,
    /// Element types of tensors.
    pub tensors: &'static [ElemType],
    /// Element types of tensors in sequences.
    pub sequences: &'static [ElemType],
    /// Element types of optional tensors.
    pub optionals: &'static [ElemType],
    /// Element types of tensors in optional sequences.
    pub optional_sequences: &'static [ElemType],
    /// Other types, as ONNX writes them.
    pub others: &'static [&'static str],
}

impl TypeVar {
    /// One that allows tensors of these elements.
    pub const fn new(name: &'static str, tensors: &'static [ElemType]) -> Self {
        Self { name, tensors, sequences: &[], optionals: &[], optional_sequences: &[], others: &[] }
    }

    /// The same under another name.
    pub const fn named(mut self, name: &'static str) -> Self {
        self.name = name;
        self
    }

    /// Allows sequences of tensors of these elements.
    pub const fn sequences(mut self, elems: &'static [ElemType]) -> Self {
        self.sequences = elems;
        self
    }

    /// Allows optional tensors of these elements.
    pub const fn optionals(mut self, elems: &'static [ElemType]) -> Self {
        self.optionals = elems;
        self
    }

    /// Allows optional sequences of tensors of these elements.
    pub const fn optional_sequences(mut self, elems: &'static [ElemType]) -> Self {
        self.optional_sequences = elems;
        self
    }

    /// Allows other types, as ONNX writes them.
    pub const fn others(mut self, others: &'static [&'static str]) -> Self {
        self.others = others;
        self
    }
}

/// Whether something must be given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Required {
    /// It must.
    Yes,
    /// It may be omitted.
    No,
}

/// An operator, as its plugin describes it: one entry for each version that changed it. Built in const context:
///
/// ```
/// use relais_plugin_api::op::*;
/// use relais_plugin_api::ir::ElemType;
/// const RELU: Operator = Operator::new("", "Relu", 14)
///     .inputs(1, 1)
///     .takes(&[Formal::single("X", "T")])
///     .gives(&[Formal::single("Y", "T")])
///     .types(&[TypeVar::new("T", &[ElemType::FLOAT, ElemType::INT32])])
///     .fusion(FusionKind::ELEMWISE);
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
    /// Formal inputs, in order; empty when nothing is said of them but their number.
    pub takes: &'static [Formal],
    /// Formal results, in order; empty when nothing is said of them but their number.
    pub gives: &'static [Formal],
    /// The type variables of formal inputs and results.
    pub types: &'static [TypeVar],
    /// Whether the first two arguments can change places.
    pub commutative: bool,
    /// Attribute schemas.
    pub attrs: &'static [AttrSchema],
    /// Effects.
    pub effects: Effects,
    /// The fusion kind.
    pub fusion: FusionKind,
    /// Type relation.
    pub infer: Option<InferFn>,
    /// Evaluator; it may also come from another plugin, as an [`Evaluator`].
    pub eval: Option<EvalFn>,
    /// A function in the text form that computes the same with other operators; empty when there is none.
    pub body: &'static str,
    /// Makes a function like this for one call, where it depends on the call.
    pub body_of: Option<BodyFn>,
    /// Says whether a call is valid.
    pub verify: Option<VerifyFn>,
    /// Makes the function that computes the gradients of a call's arguments.
    pub gradient_of: Option<GradientFn>,
    /// Makes the loop program that computes a call.
    pub compute: Option<ComputeFn>,
    /// The forms that calls have in different layouts, the best one first; empty when nothing is said of layouts.
    pub layouts: &'static [Layout],
    /// How many multiply-accumulates a call takes; empty when it takes none, or its body says how many.
    pub macs: &'static str,
    /// How calls treat the axes of their values.
    pub axes: Option<Axes<'static>>,
    /// For which element types every runtime computes the same bits.
    pub exact: Option<Exactness>,
    /// The precision of calls where a pass lowers it.
    pub precision: Option<Precision<'static>>,
    /// Further properties: name and value.
    pub properties: &'static [(&'static str, &'static str)],
    /// One line of documentation.
    pub doc: &'static str,
}

impl Operator {
    /// Not fusible, pure, with one argument and one result, to be refined.
    pub const fn new(domain: &'static str, name: &'static str, since_version: u32) -> Self {
        Self {
            domain,
            name,
            since_version,
            inputs: (1, 1),
            outputs: (1, 1),
            takes: &[],
            gives: &[],
            types: &[],
            commutative: false,
            attrs: &[],
            effects: Effects::PURE,
            fusion: FusionKind::OPAQUE,
            infer: None,
            eval: None,
            body: "",
            body_of: None,
            verify: None,
            gradient_of: None,
            compute: None,
            layouts: &[],
            macs: "",
            axes: None,
            exact: None,
            precision: None,
            properties: &[],
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

    /// Sets the formal inputs. Their number is still what [`inputs`](Self::inputs) says.
    pub const fn takes(mut self, formals: &'static [Formal]) -> Self {
        self.takes = formals;
        self
    }

    /// Sets the formal results. Their number is still what [`outputs`](Self::outputs) says.
    pub const fn gives(mut self, formals: &'static [Formal]) -> Self {
        self.gives = formals;
        self
    }

    /// Sets the type variables of formal inputs and results.
    pub const fn types(mut self, types: &'static [TypeVar]) -> Self {
        self.types = types;
        self
    }

    /// Says whether the first two arguments can change places.
    pub const fn commutative(mut self, commutative: bool) -> Self {
        self.commutative = commutative;
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

    /// Sets the fusion kind.
    pub const fn fusion(mut self, fusion: FusionKind) -> Self {
        self.fusion = fusion;
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

    /// Sets the body: one function in the text form, with the operator sets that it is written for, a parameter for each
    /// argument and a result for each result. `$name` refers to an attribute.
    ///
    /// An operator without type relation is typed by its body, one without evaluator is evaluated by it, `Inline` replaces
    /// calls by it, and models are written with it, so that a runtime that does not know the operator runs them.
    ///
    /// ```
    /// use relais_plugin_api::op::Operator;
    /// const SILU: Operator = Operator::new("acme", "Silu", 1)
    ///     .body(r#"def @Silu(%x) #[opset = {"": 13}] { %1 = Sigmoid(%x); Mul(%x, %1) }"#);
    /// ```
    ///
    /// When the plugin is compiled, its strings and brackets are checked, and that it is one function with operator sets; the
    /// rest, names, say, in the plugin's tests, by `relais_conformance::check_all` and `relais plugin check`.
    ///
    /// # Panics
    /// In const evaluation, so at compile time, if it has not the form of a function.
    pub const fn body(mut self, body: &'static str) -> Self {
        body_text::check((self.domain, self.name), body);
        self.body = body;
        self
    }

    /// Sets the function that makes the body of a call, where no one text is right for all calls. It has a parameter for
    /// each argument of the call, present or not, and a result for each result.
    ///
    /// ```
    /// use relais_plugin_api::op::{OpCall, OpError, Operator};
    /// fn power(call: &OpCall<'_>) -> Result<String, OpError> {
    ///     let exponent = call.attrs().int("exponent").unwrap_or(1);
    ///     if !(1..=8).contains(&exponent) {
    ///         return Err(OpError::unsupported("the exponent is not between 1 and 8"));
    ///     }
    ///     let steps: String = (1..exponent).map(|at| format!("%p{} = Mul(%p{at}, %x); ", at + 1)).collect();
    ///     let opset = call.opset_version("").unwrap_or(13);
    ///     Ok(format!(r#"def @Power(%x) #[opset = {{"": {opset}}}] {{ %p1 = Identity(%x); {steps} %p{exponent} }}"#))
    /// }
    /// const POWER: Operator = Operator::new("acme", "Power", 1).body_of(power);
    /// ```
    pub const fn body_of(mut self, body: BodyFn) -> Self {
        self.body_of = Some(body);
        self
    }

    /// Sets the verifier: calls that passes make are checked by it, after they were checked against the record.
    ///
    /// ```
    /// use relais_plugin_api::op::{OpCall, OpError, Operator};
    /// fn verify(call: &OpCall<'_>) -> Result<(), OpError> {
    ///     match call.attrs().int("groups") {
    ///         Some(groups) if groups < 1 => Err(OpError::invalid(format_args!("attribute `groups` is {groups}"))),
    ///         _ => Ok(()),
    ///     }
    /// }
    /// const SHUFFLE: Operator = Operator::new("acme", "Shuffle", 1).verify(verify);
    /// ```
    pub const fn verify(mut self, verify: VerifyFn) -> Self {
        self.verify = Some(verify);
        self
    }

    /// Sets the forms that calls have in different layouts, the best one first: `AlterOpLayout` makes that one, and
    /// `ConvertLayout` the one that its options name. All compute the same, their arguments and results being transposed.
    ///
    /// A form in which a call cannot be is refused by the operator's type variables, its type relation or its
    /// [verifier](Self::verify), and the call stays as it is.
    pub const fn layouts(mut self, layouts: &'static [Layout]) -> Self {
        self.layouts = layouts;
        self
    }

    /// Sets the function that makes the gradient of a call, as a function in the text form. Its parameters are the
    /// arguments of the call, present or not, then its results, then the gradients of its results. Its results are the
    /// gradients of the arguments, in order: `_` for an argument that has none, such as indices, and nothing for the last
    /// ones that have none. Each has the type of its argument.
    ///
    /// An operator without a gradient that has a body is differentiated through its body.
    ///
    /// ```
    /// use relais_plugin_api::op::{OpCall, OpError, Operator};
    /// fn gradient(call: &OpCall<'_>) -> Result<String, OpError> {
    ///     let opset = call.opset_version("").unwrap_or(13);
    ///     Ok(format!(r#"def @Square(%x, %y, %dy) #[opset = {{"": {opset}}}] {{ %t = Add(%x, %x); Mul(%t, %dy) }}"#))
    /// }
    /// const SQUARE: Operator = Operator::new("acme", "Square", 1).gradient_of(gradient);
    /// ```
    pub const fn gradient_of(mut self, gradient: GradientFn) -> Self {
        self.gradient_of = Some(gradient);
        self
    }

    /// Sets the function that makes the kernel of a call: the loop program that computes it, into which `LowerOps` turns the
    /// call. The kernel reads the memory of the arguments, and writes each element of the results, whose sizes are all
    /// known. It follows the operator for every value that the arguments may have.
    ///
    /// ```
    /// use relais_plugin_api::{op::{Kernel, OpCall, OpError, Operator}, prim::CoreOp};
    /// fn square(_: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Result<(), OpError> {
    ///     let (x, y) = (kernel.needed_input(0)?, kernel.output(0));
    ///     let sizes = kernel.sizes(y);
    ///     kernel.each_of_all(&sizes, |b, at| {
    ///         let value = b.load(x, at);
    ///         let value = b.op(CoreOp::Mul, &[value, value]);
    ///         b.store(y, value, at);
    ///     });
    ///     Ok(())
    /// }
    /// const SQUARE: Operator = Operator::new("acme", "Square", 1).compute(square);
    /// ```
    pub const fn compute(mut self, compute: ComputeFn) -> Self {
        self.compute = Some(compute);
        self
    }

    /// Sets the formula of a call's multiply-accumulates, which `relais inspect` adds up: a sum of products and quotients of
    /// sizes. `x0` is the number of elements of the first argument, `y0` that of the first result, and `x0[-1]` the size of
    /// the first argument's last axis. `?` is for an operator that takes some, of which no formula gives the number.
    ///
    /// By convention those are counted that add up products of two arguments, one for each product, padding included. An
    /// operator without a formula takes those of its body, if it has one.
    ///
    /// ```
    /// use relais_plugin_api::op::Operator;
    /// // A product of matrices, and a convolution.
    /// const DENSE: Operator = Operator::new("acme", "Dense", 1).inputs(2, 2).macs("y0 * x0[-1]");
    /// const CONV: Operator = Operator::new("acme", "Conv", 1).inputs(2, 3).macs("y0 * x1 / x1[0]");
    /// ```
    pub const fn macs(mut self, formula: &'static str) -> Self {
        self.macs = formula;
        self
    }

    /// Says how calls treat the axes of their values, by which transposes are moved past them. An elementwise operator
    /// needs nothing but its [fusion kind](Self::fusion).
    ///
    /// ```
    /// use relais_plugin_api::op::{Axes, FusionKind, Operator};
    /// const SCALE: Operator =
    ///     Operator::new("acme", "Scale", 1).inputs(2, 2).fusion(FusionKind::BROADCAST).axes(Axes::Broadcast);
    /// const NORM: Operator = Operator::new("acme", "Norm", 1).axes(Axes::along("axis").sums());
    /// ```
    pub const fn axes(mut self, axes: Axes<'static>) -> Self {
        self.axes = Some(axes);
        self
    }

    /// Says for which element types every runtime computes the same bits. `FoldConstant` with `exact = true` computes such
    /// calls only.
    pub const fn exact(mut self, exact: Exactness) -> Self {
        self.exact = Some(exact);
        self
    }

    /// Says in which precision calls are computed where a pass lowers it. Calls of other operators follow their
    /// arguments.
    ///
    /// ```
    /// use relais_plugin_api::op::{Operator, Precision};
    /// const TOTAL: Operator = Operator::new("acme", "Total", 1).precision(Precision::Keep("it adds up many terms"));
    /// ```
    pub const fn precision(mut self, precision: Precision<'static>) -> Self {
        self.precision = Some(precision);
        self
    }

    /// Sets properties that passes of one's own ask for; their names contain a dot: `("acme.color", "red")`.
    pub const fn properties(mut self, properties: &'static [(&'static str, &'static str)]) -> Self {
        self.properties = properties;
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

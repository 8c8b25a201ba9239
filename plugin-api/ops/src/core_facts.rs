//! The facts about the core operators, as rewrites look them up: those of other operators come from plugins.

use crate::{
    abi::RequestCx,
    error::OpError,
    op::{AttrFacts, FormalFacts, FusionKind, InferCx, OpSchema, TypeVarFacts, tags::formal_kind},
    relations::{Blaming, Checking, Operators, Typing, other_index, other_op},
    request::InferRequest,
};
use relais_ir::{
    prim::{Class, CoreOp, DOMAIN, LoopOps, Made, Scalar, core_op, rule, value_type},
    *,
};
use std::sync::{Arc, OnceLock};

/// The facts about the core operators, for rewrites of values in prim funcs. Nothing is known of other operators, which
/// do not exist there.
#[derive(Default)]
pub struct CoreFacts {
    /// By operator of the function.
    ops: Vec<Option<CoreOp>>,
    /// A function in which calls are typed that are in no function, with its operators.
    scratch: Option<(Function, LoopOps)>,
}

/// The most nodes of the function in which calls are typed.
const MOST_SCRATCH: usize = 1 << 10;

impl CoreFacts {
    /// Facts that know the operators of a function.
    pub fn new(f: &Function) -> Self {
        let mut facts = Self::default();
        facts.extend(f);
        facts
    }

    fn extend(&mut self, f: &Function) {
        for at in self.ops.len()..f.n_ops() {
            self.ops.push(core_op(f, f.op(OpId::from_index(at))));
        }
    }

    /// The core operator of a number.
    fn core(&self, op: OpId) -> Option<CoreOp> {
        match other_index(op) {
            Some(index) => CoreOp::ALL.get(index).copied(),
            None => self.ops.get(op.index()).copied().flatten(),
        }
    }

    /// The type of a call of values, by the rule of its operator.
    fn type_of(&mut self, op: CoreOp, request: &InferRequest<'_>) -> Result<Scalar, OpError> {
        if !op.is_value() {
            return Err(OpError::invalid(NOT_A_VALUE));
        }
        if self.scratch.as_ref().is_some_and(|(f, _)| f.n_nodes() > MOST_SCRATCH) {
            self.scratch = None;
        }
        let (f, ops) = self.scratch.get_or_insert_with(|| {
            let f = Function::new();
            let ops = LoopOps::new(&f);
            (f, ops)
        });
        let call = &request.call;
        let mut args = Vec::with_capacity(call.args.len());
        for (at, arg) in call.args.iter().enumerate() {
            let scalar = value_type(request.types.ty(call.types_of, arg.ty)).filter(|_| arg.tensor.is_none());
            let Some(scalar) = scalar else {
                return Err(OpError::invalid(format_args!("its argument {at} is neither a scalar nor a vector")));
            };
            let ty = Made::Value(scalar).add_to(f);
            // It is not a parameter of the function, which would be memory.
            args.push(f.add_var("", ty));
        }
        let attrs = Attrs::of_recs(call.attrs_of, call.attrs.as_slice());
        let attrs: Vec<Attr> = attrs.iter().filter_map(|(name, value)| Attr::of(name.to_owned(), value)).collect();
        let id = ops.id(f, op);
        let id = f.add_call(id, &args);
        f.set_attrs(id, &attrs);
        let made = rule(f, ops, id).map_err(|broken| OpError::invalid(broken.message))?;
        let ty = made.add_to(f);
        value_type(f.ty(ty)).ok_or_else(|| OpError::invalid("it gives no value"))
    }
}

/// Why a call of an operator is not made, or not matched, by a rewrite of values.
pub(crate) const NOT_A_VALUE: &str =
    "it is a statement or uses memory, and rewrites are of values: write a function with `#[prim_func_pass]` for these";

impl Typing for CoreFacts {
    fn version(&mut self, f: &Function, _: OpId) -> i64 {
        self.extend(f);
        1
    }

    fn infer(&mut self, op: OpId, request: &mut InferRequest<'_>) -> Option<Result<(), OpError>> {
        let op = self.core(op)?;
        Some(self.type_of(op, request).map(|scalar| {
            let lanes = scalar.lanes.map(Dim::Static);
            InferCx::new(request, RequestCx::NONE).set_tensor(0, scalar.elem, lanes.as_slice());
        }))
    }

    fn other(&mut self, _: &Function, domain: &str, name: &str) -> Option<OpId> {
        let op = CoreOp::from_name(name).filter(|_| domain == DOMAIN)?;
        Some(other_op(op as usize))
    }
}

impl Checking for CoreFacts {
    fn schema(&self, op: OpId) -> Option<&Arc<OpSchema>> {
        static SCHEMAS: OnceLock<Vec<Arc<OpSchema>>> = OnceLock::new();
        let schemas = SCHEMAS.get_or_init(|| CoreOp::ALL.iter().map(|&op| Arc::new(schema(op))).collect());
        schemas.get(self.core(op)? as usize)
    }

    fn is_closed(&self, _: OpId) -> bool {
        true
    }

    fn newest_version(&mut self, domain: &str, name: &str) -> Option<i64> {
        (domain == DOMAIN && CoreOp::from_name(name).is_some()).then_some(1)
    }
}

impl Blaming for CoreFacts {}

impl Operators for CoreFacts {
    /// Those of values; all others are opaque to rewrites.
    fn effects(&self, op: OpId) -> Effects {
        self.core(op).filter(|op| op.is_value()).map_or(Effects::OPAQUE, |op| op.info().effects)
    }

    fn outputs(&self, op: OpId) -> (u16, u16) {
        if self.core(op).is_some_and(CoreOp::is_value) { (1, 1) } else { (0, u16::MAX) }
    }

    fn is_computed(&self, _: OpId) -> bool {
        false
    }

    fn evaluate(
        &mut self,
        _: OpId,
        _: &Function,
        _: NodeId,
        _: &[Option<Tensor>],
        _: u64,
    ) -> Option<Result<Vec<Tensor>, OpError>> {
        None
    }
}

/// The demands of [`rule`] on calls, as the record of an operator: exact for operators of values, except for the numbers
/// of lanes.
fn schema(op: CoreOp) -> OpSchema {
    use CoreOp::*;
    let info = op.info();
    let of = |takes: fn(ElemType) -> bool| {
        (0..=u8::MAX).map(ElemType).filter(|elem| elem.is_scalar() && takes(*elem)).collect()
    };
    let var = |name: &str, tensors: Vec<ElemType>| TypeVarFacts { name: name.into(), tensors, ..Default::default() };
    let is_number = |elem: ElemType| elem != ElemType::BOOL;
    let values = match (info.class, op) {
        (Class::Arithmetic | Class::Sign, _) => of(is_number),
        (Class::Integer, _) | (_, Ramp) => of(ElemType::is_integer),
        (Class::Logic, _) | (_, Not) => of(|elem| !elem.is_float()),
        (Class::Math | Class::Test, _) => of(ElemType::is_float),
        _ => of(|_| true),
    };
    let vars: &[&str] = match op {
        Select => &["B", "T", "T"],
        Lane => &["T", "I"],
        _ => &["T"; 3][..info.arity.1.min(3)],
    };
    let formal = |(at, var): (usize, &&str)| FormalFacts {
        name: ["a", "b", "c"][at].into(),
        kind: formal_kind::SINGLE,
        var: (*var).into(),
    };
    let result = match (info.class, op) {
        (Class::Comparison | Class::Test, _) => Some("B"),
        (_, Cast | Bitcast) => None,
        _ => Some("T"),
    };
    let attr = |&name: &&'static str| AttrFacts {
        name: name.into(),
        kind: match name {
            "lanes" | "axis" => attr_kind::INT,
            "shape" => attr_kind::INTS,
            _ => attr_kind::STRING,
        },
        is_required: op.is_value(),
        default: String::new(),
    };
    let count = |n: usize| u16::try_from(n).unwrap_or(u16::MAX);
    OpSchema {
        inputs: (count(info.arity.0), count(info.arity.1)),
        outputs: (1, 1),
        attrs: info.attrs.iter().map(attr).collect(),
        formal_inputs: if op.is_value() { vars.iter().enumerate().map(formal).collect() } else { Vec::new() },
        formal_outputs: result.iter().map(|var| formal((0, var))).collect(),
        types: vec![var("T", values), var("B", vec![ElemType::BOOL]), var("I", vec![ElemType::INT64, ElemType::INT32])],
        is_commutative: op.is_commutative(),
        body: String::new(),
        has_kernel: false,
        layouts: Vec::new(),
        macs: String::new(),
        fusion: FusionKind::OPAQUE,
        properties: Vec::new(),
    }
}

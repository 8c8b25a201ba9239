//! Computes in `float16` or `bfloat16` what can be, and in `float32` what must be.
//!
//! ```text
//! def @main(%x: Tensor[(1, 2), float32]) {
//!   %w = const(float32, [[0.1, 0.2], [0.3, 0.4]]);
//!   %0 = MatMul(%x, %w);
//!   %1 = Relu(%0);
//!   %2 = Softmax(%1, axis = -1);
//!   %2
//! }
//! ```
//! becomes, with `dtype = "float16"`,
//! ```text
//! def @main(%x: Tensor[(1, 2), float32]) {
//!   %3 = Cast(%x, to = 10);
//!   %w = const(float16, [[0.099975586, 0.19995117], [0.30004883, 0.39990234]]);
//!   %0 = MatMul(%3, %w);
//!   %1 = Relu(%0);
//!   %4 = Cast(%1, to = 1);
//!   %2 = Softmax(%4, axis = -1);
//!   %2
//! }
//! ```
//!
//! Each operator is in one of TVM's three categories:
//!
//! - always: convolutions, products of matrices and recurrent networks are of the lower precision, whatever their arguments
//!   were computed in;
//! - never: `float32` is kept by operators that add up many terms (`ReduceSum`, `ReduceMean`, `CumSum`, `GlobalAveragePool`,
//!   losses), divide by sums (`Softmax`, all normalisations), leave the range of their arguments (`Exp`, `Log`, `Pow`,
//!   `Reciprocal`, `Softplus`, a product of a value with itself) or compute positions (`Range`, `GridSample`, `RoiAlign`);
//! - follow: all others are of the lower precision if their arguments are. So values that are computed of sizes stay as
//!   exact as they were. A call of constants follows if one of them has at least 256 elements, such as a table of
//!   embeddings.
//!
//! Which arguments and results are of the lower precision is what the type variables of the operator's record say, in the
//! version that the call is written for: the scales of `Resize` are always `float32`. An operator that does not have the type
//! there keeps `float32`, with a remark, and so do the operators that `keep` lists, by name or as `domain::Name`. An operator
//! set whose `Cast` does not have the type is refused.
//!
//! A value is cast once, where it is computed, and all users share the cast. A cast from the lower precision that the model
//! has already is used, so that a second run changes nothing. Constants are rounded to the nearest number of the type, once;
//! one with a value beyond the largest number of the type, or whose largest value is below the least normal one, keeps its
//! type, and so does the call, with a remark.
//!
//! Inputs and outputs keep their types, unless `convert_io = true`. `float64` stays as it is. Values in the branches of a
//! conditional are converted like others, and so are its results if both branches compute them in the lower precision. The
//! values that a `Loop` or `Scan` carries from one iteration to the next, or collects, stay `float32`, and so do the
//! parameters and results of functions: run `Inline` first to convert across calls. Nothing comes between a quantisation and the operator
//! that it belongs to. Values without a known type, sequences and optional values stay as they are.
//!
//! Without `dtype`, nothing is converted.

use crate::{
    numbers::Limits,
    precision::{Interface, Plan, Request, plan},
};
use relais_plugin_api::{
    build::Builder,
    diagnostics::Severity,
    infer::TypeRelations,
    ir::{AttrData, AttrValue, BlockId, ConstForm, DimRec, OUTPUT_TYPES, Type, TypeId, Users, attr_flag, flag, kind},
    prelude::*,
};
use std::collections::{BTreeMap, BTreeSet};

/// A floating-point type of 16 bits.
#[derive(PassOptions)]
pub enum Dtype {
    /// 11 binary digits, numbers up to 65504.
    Float16,
    /// 8 binary digits, and the range of `float32`.
    Bfloat16,
}

/// Options of `ToMixedPrecision`.
#[derive(PassOptions)]
pub struct ToMixedPrecisionOptions {
    /// The type of what is converted; nothing is without it.
    pub dtype: Option<Dtype>,
    /// Operators that keep `float32`, such as `Conv` or `com.microsoft::Attention`.
    #[option(default = [])]
    pub keep: Vec<String>,
    /// Whether inputs and outputs of the model are converted, too.
    #[option(default = false)]
    pub convert_io: bool,
}

/// Computes in a lower precision where results allow it.
#[module_pass(
    name = "relais.ToMixedPrecision",
    aliases = ["relay._transform.ToMixedPrecision", "relax.transform.ToMixedPrecision"],
    opt_level = 0,
    required = ["relais.InferType"],
    phase = "none",
    changes_interface = "convert_io",
    statistics(
        converted = "calls that compute in the lower precision",
        constants = "constants rounded to it",
        casts = "casts inserted",
    ),
)]
pub fn to_mixed_precision(
    module: &mut IRModule,
    cx: &PassCx<'_>,
    options: &ToMixedPrecisionOptions,
) -> Result<(), PassError> {
    let to = match options.dtype {
        None => return Ok(()),
        Some(Dtype::Float16) => ElemType::FLOAT16,
        Some(Dtype::Bfloat16) => ElemType::BFLOAT16,
    };
    let limits = Limits::of(to).map_err(PassError::new)?;
    let names: Vec<String> = module.functions().map(|(name, _)| name.to_owned()).collect();
    for name in names {
        cx.check_cancelled()?;
        let Some(function) = module.function(&name).filter(|f| !f.skips_optimization()).cloned() else { continue };
        let interface = if options.convert_io && name == MAIN { Interface::Convert } else { Interface::Keep };
        let request = Request { to, limits, keep: &options.keep, interface };
        let mut edit = Editor::new(function);
        convert(&mut edit, &name, cx, &request)?;
        if edit.is_changed() {
            module.set_function(&name, edit.into_function());
        }
    }
    Ok(())
}

fn convert(edit: &mut Editor, name: &str, cx: &PassCx<'_>, request: &Request<'_>) -> Result<(), PassError> {
    let users = cx.analysis::<Users>(edit)?;
    let mut remark = |node: NodeId, why: String| {
        if cx.wants_remarks() {
            cx.diagnostic(Diagnostic::new(Severity::REMARK, why).at(node).in_function(name));
        }
    };
    let f = edit.function();
    let is_asked = f.all_bindings().any(|id| f.call(id).is_some() && f.type_of(id).elem() == Some(ElemType::FLOAT));
    let mut ops = cx.ops(f);
    if is_asked && f.opset_version("").is_some() && !has_casts(f, &mut ops, request.to) {
        let message =
            format_args!("`@{name}` cannot be computed in {}: its operator set has no such `Cast`", request.to);
        let help = "convert to a newer operator set first, as `--target-opset` does: 13 has `bfloat16`";
        cx.diagnostic(Diagnostic::error(message).code("N001").in_function(name).help(help));
        return Ok(());
    }
    let plan = plan(edit.function(), &users, cx, request, &mut remark);
    if plan.is_empty() {
        return Ok(());
    }
    let mut ops = cx.ops(edit.function());
    let wanted = Wanted::of(edit.function(), &plan);
    let f = edit.function_mut();
    retype(f, &plan, request);
    let versions = Versions::make(f, &mut ops, &plan, &wanted, request.to)?;
    versions.place(f);
    versions.use_them(f, &plan);
    let (constants, casts): (Vec<NodeId>, Vec<NodeId>) =
        versions.made.values().flatten().partition(|&&id| f.kind(id) == kind::CONSTANT);
    cx.count("converted", plan.calls.keys().filter(|call| !versions.gone.contains(call)).count());
    cx.count("constants", constants.len());
    cx.count("casts", casts.len());
    Ok(())
}

/// Whether the operator set that a function imports has casts from and to a type.
fn has_casts(f: &Function, ops: &mut dyn TypeRelations, to: ElemType) -> bool {
    let Some(cast) = ops.other(f, "", "Cast") else { return false };
    let Some(schema) = ops.schema(cast) else { return false };
    let mut formals = schema.formal_inputs.iter().chain(&schema.formal_outputs);
    formals.all(|formal| schema.type_var(&formal.var).is_some_and(|var| var.allows(to)))
}

/// Gives values the lower precision, and states it where the function states their types.
fn retype(f: &mut Function, plan: &Plan, request: &Request<'_>) {
    let to = request.to;
    for id in plan.lowered() {
        let ty = lower_type(f, f.type_id(id), to);
        f.set_type(id, ty);
        if let Some(rounded) = f.default_value(id).and_then(|tensor| tensor.rounded_to(to)) {
            f.set_default_value(id, rounded);
        }
    }
    for &(id, at) in &plan.lowered_results {
        let ty = lower_field(f, f.type_id(id), at, to);
        f.set_type(id, ty);
    }
    for (&block, lowered) in &plan.results {
        let owner = f.block(block).owner;
        let lowered = lowered.iter().enumerate().filter(|(_, is_lowered)| **is_lowered).map(|(at, _)| at);
        let lowered: Vec<usize> = lowered.collect();
        if let Type::Func { params, result } = f.type_of(owner) {
            let (mut params, mut result) = (params.to_vec(), result);
            for (at, ty) in params.iter_mut().enumerate() {
                if f.operands(owner).get(at).is_some_and(|&param| plan.is_lowered(param)) {
                    *ty = lower_type(f, *ty, to);
                }
            }
            for &at in &lowered {
                result = lower_field(f, result, at, to);
            }
            let ty = f.add_type(Type::Func { params: &params, result });
            f.set_type(owner, ty);
        }
        restate_outputs(f, owner, &lowered, to);
    }
}

/// Changes the declared types of outputs of a graph that was read from a model.
fn restate_outputs(f: &mut Function, owner: NodeId, lowered: &[usize], to: ElemType) {
    let Some(AttrValue::Types(declared)) = f.attrs(owner).meta(OUTPUT_TYPES) else { return };
    let mut types: Vec<TypeId> = declared.types().collect();
    for &at in lowered {
        if let Some(ty) = types.get_mut(at) {
            *ty = lower_type(f, *ty, to);
        }
    }
    let stated = f.encode_attr(&Attr::meta(OUTPUT_TYPES, AttrData::Types(types)));
    let mut recs = f.attr_recs(owner).to_vec();
    for rec in recs.iter_mut().filter(|rec| rec.name == stated.name && rec.flags & attr_flag::META != 0) {
        *rec = stated;
    }
    f.set_attr_recs(owner, &recs);
}

/// The type of a tensor of `float32` with elements of another type; other types as they are.
fn lower_type(f: &mut Function, ty: TypeId, to: ElemType) -> TypeId {
    let Type::Tensor { elem: ElemType::FLOAT, shape } = f.ty(ty) else { return ty };
    let shape: Option<Vec<DimRec>> = shape.map(<[DimRec]>::to_vec);
    f.add_type(Type::Tensor { elem: to, shape: shape.as_deref() })
}

/// The type of several results, one of which is of the lower precision, or that of the only one.
fn lower_field(f: &mut Function, ty: TypeId, at: usize, to: ElemType) -> TypeId {
    let Type::Tuple(fields) = f.ty(ty) else { return lower_type(f, ty, to) };
    let mut fields = fields.to_vec();
    if let Some(field) = fields.get_mut(at) {
        *field = lower_type(f, *field, to);
    }
    f.add_type(Type::Tuple(&fields))
}

/// The values that something takes in another precision than they are in.
#[derive(Default)]
struct Wanted {
    /// Those of `float32` that something takes in the lower precision.
    low: BTreeSet<NodeId>,
    /// Those of the lower precision that something takes in `float32`.
    full: BTreeSet<NodeId>,
    /// Those that something takes as they are.
    same: BTreeSet<NodeId>,
}

impl Wanted {
    fn of(f: &Function, plan: &Plan) -> Self {
        let mut wanted = Self::default();
        for id in f.all_bindings() {
            match f.expr(id) {
                Expr::TupleGetItem { .. } | Expr::Function(_) => {}
                Expr::Call(call) => {
                    let lowered = plan.calls.get(&id);
                    for (at, &arg) in call.args().iter().enumerate().filter(|(_, arg)| !arg.is_absent()) {
                        wanted.add(plan, arg, lowered.is_some_and(|lowered| lowered.contains(&at)));
                    }
                }
                _ => f.operands(id).iter().for_each(|&operand| wanted.add(plan, operand, false)),
            }
        }
        for block in f.all_blocks() {
            for (at, &result) in f.results(block).iter().enumerate() {
                wanted.add(plan, result, plan.is_lowered_result(block, at));
            }
        }
        wanted
    }

    fn add(&mut self, plan: &Plan, id: NodeId, as_lowered: bool) {
        let set = match (plan.is_lowered(id), as_lowered) {
            (false, true) => &mut self.low,
            (true, false) => &mut self.full,
            _ => &mut self.same,
        };
        set.insert(id);
    }
}

/// The values in the other precision.
#[derive(Default)]
struct Versions {
    /// By value of `float32`.
    low: BTreeMap<NodeId, NodeId>,
    /// By value of the lower precision.
    full: BTreeMap<NodeId, NodeId>,
    /// The nodes that were made, each to be placed behind a value.
    made: BTreeMap<NodeId, Vec<NodeId>>,
    /// Casts to the lower precision that the function had, and what takes their places.
    instead: BTreeMap<NodeId, NodeId>,
    /// Bindings that nothing uses any more.
    gone: BTreeSet<NodeId>,
}

impl Versions {
    /// Makes what is wanted.
    fn make(
        f: &mut Function,
        ops: &mut dyn TypeRelations,
        plan: &Plan,
        wanted: &Wanted,
        to: ElemType,
    ) -> Result<Self, PassError> {
        let mut versions = Self::default();
        for &id in &wanted.low {
            let is_replaced = !wanted.same.contains(&id);
            if let Some(&source) = plan.sources.get(&id) {
                versions.low.insert(id, source);
                versions.gone.extend(is_replaced.then_some(id));
                continue;
            }
            let low = match f.constant(id).and_then(|tensor| tensor.rounded_to(to)) {
                Some(rounded) if is_replaced => {
                    versions.gone.insert(id);
                    replace_constant(f, id, rounded)
                }
                Some(rounded) => f.add_constant(rounded, ConstForm::ANY),
                None => cast(f, ops, id, to)?,
            };
            versions.low.insert(id, low);
            versions.made.entry(id).or_default().push(low);
        }
        for &id in &wanted.full {
            let full = cast(f, ops, id, ElemType::FLOAT)?;
            versions.full.insert(id, full);
            versions.made.entry(id).or_default().push(full);
        }
        for id in f.all_bindings() {
            let Some(arg) = f.call(id).filter(|call| call.is_op("Cast")).and_then(|call| call.arg(0)) else { continue };
            if f.type_of(id).elem() == Some(to) && (plan.is_lowered(arg) || versions.low.contains_key(&arg)) {
                versions.instead.insert(id, versions.low.get(&arg).copied().unwrap_or(arg));
                versions.gone.insert(id);
            }
        }
        Ok(versions)
    }

    /// Places what was made behind the values that it was made of, and removes what is gone.
    fn place(&self, f: &mut Function) {
        let blocks: Vec<BlockId> = f.all_blocks().collect();
        for block in blocks {
            let made = |id: &NodeId| self.made.get(id).into_iter().flatten().copied();
            let params = f.operands(f.block(block).owner).iter().flat_map(made);
            let bindings = f.bindings(block).iter().flat_map(|&id| {
                let own = Some(id).filter(|id| !self.gone.contains(id));
                own.into_iter().chain(self.made.get(&id).into_iter().flatten().copied())
            });
            let placed: Vec<NodeId> = params.chain(bindings).collect();
            if placed != f.bindings(block) {
                f.set_bindings(block, &placed);
            }
        }
    }

    /// Uses each value in the precision in which it is wanted.
    fn use_them(&self, f: &mut Function, plan: &Plan) {
        let made: BTreeSet<NodeId> = self.made.values().flatten().copied().collect();
        let is_old = |f: &Function, id: &NodeId| f.kind(*id) != kind::FUNCTION && !made.contains(id);
        let bindings: Vec<NodeId> = f.all_bindings().filter(|id| is_old(f, id)).collect();
        for id in bindings {
            let lowered = plan.calls.get(&id);
            for at in 0..f.operands(id).len() {
                let is_lowered = at.checked_sub(1).is_some_and(|at| lowered.is_some_and(|all| all.contains(&at)));
                self.set_operand(f, id, at, is_lowered);
            }
        }
        let blocks: Vec<BlockId> = f.all_blocks().collect();
        for block in blocks {
            let result = f.result(block);
            if f.results(block) == [result] {
                f.set_result(block, self.version(result, plan.is_lowered_result(block, 0)));
                continue;
            }
            for at in 0..f.results(block).len() {
                self.set_operand(f, result, at, plan.is_lowered_result(block, at));
            }
        }
    }

    fn set_operand(&self, f: &mut Function, id: NodeId, at: usize, is_lowered: bool) {
        let (old, new) = (f.operands(id)[at], self.version(f.operands(id)[at], is_lowered));
        if new != old {
            f.set_operand(id, at, new);
        }
    }

    /// The node that has a value in a precision.
    fn version(&self, id: NodeId, is_lowered: bool) -> NodeId {
        let versions = if is_lowered { &self.low } else { &self.full };
        let mut version = versions.get(&id).copied().unwrap_or(id);
        while let Some(&other) = self.instead.get(&version) {
            version = other;
        }
        version
    }
}

/// Makes a constant that takes the place of another one, with its name and its form.
fn replace_constant(f: &mut Function, old: NodeId, tensor: Tensor) -> NodeId {
    let new = f.add_constant(tensor, ConstForm(f.node(old).aux));
    f.inherit_value(new, old);
    f.set_let(new, f.let_form(old));
    if f.node(old).flags & flag::LISTED_INPUT != 0 {
        f.set_listed_input(new);
    }
    new
}

/// Makes a cast.
fn cast(f: &mut Function, ops: &mut dyn TypeRelations, id: NodeId, to: ElemType) -> Result<NodeId, PassError> {
    Builder::new(f, ops).call("Cast", &[id], vec![Attr::new("to", i64::from(to.0))])
}

//! Converts the functions of a module to another version of ONNX's operator set, `ai.onnx`, up or down.
//!
//! ```text
//! def @main(%x: Tensor[(1, 2, 3), float32]) #[opset = {"": 11}] {
//!   %1 = Squeeze(%x, axes = [0]);
//!   %2 = Softmax(%1, axis = 1);
//!   %2
//! }
//! ```
//! becomes, with `target = 18`,
//! ```text
//! def @main(%x: Tensor[(1, 2, 3), float32]) #[opset = {"": 18}] {
//!   %3 = const(int64, [0]);
//!   %1 = Squeeze(%x, %3);
//!   %2 = Softmax(%1, axis = 1);
//!   %2
//! }
//! ```
//!
//! A function goes from each version to the next one until it imports `target`, so that each change of an operator is
//! made once, whatever the two versions are. An argument that has to become an attribute may be computed from constants,
//! whether or not a pass has folded it. Most changes are read off the operators' records: an attribute that the next
//! version does not have goes where it has its default, a default that changed is stated. The rest are the rows of
//! `opset_changes.rs`: attributes that became arguments (`Clip`, `Pad`, `Slice`, `Squeeze`, …) and the reverse, where the
//! argument is constant; operators with other names (`Upsample`, `Scatter`); what was implied and is stated now (`Resize`
//! before 11, `RoiAlign` before 16); `Softmax`, `LogSoftmax` and `Hardmax`, which up to version 12 are over all axes from
//! `axis` on. An operator that an older version lacks is replaced by its body (`Gelu`, `LayerNormalization`, `Mish`), as
//! `Inline` does with `operators`.
//!
//! Whatever `target` cannot express is an error that names every operator, with the reason: an operator or an element type
//! that it does not have, an argument that would have to be an attribute and does not follow from constants, an attribute with no
//! equivalent, a call about which too little is known, such as the rank of its argument. Nothing is changed then.
//! Versions before 7 are not converted: broadcasting was another one. Neither are the operators of other domains, which
//! have versions of their own.
//!
//! On the way down the version of the file format is lowered to the one that was current with `target`, so that the
//! runtimes of that time read the model. Indices that are computed are taken not to be negative, which versions before 11
//! do not promise and the runtimes of these versions accept.

use crate::{
    computed::Computed,
    inline::{Asked, inline_bodies},
    opset_changes::{Move, NEGATIVE_AXES, Outcome, Row, Site, moves_of, row_of},
};
use relais_plugin_api::{
    boundary::record::formal_kind,
    build::CallChecker,
    infer::{Checking, Operators, Typing, branch_contradiction},
    ir::{ConstForm, Fuel, MAIN, ModuleAttr, OpId, RArc, Type, TypeId, Users, is_same_domain, kind},
    op::{Bodies, Body, CallRule, OpSchema},
    prelude::*,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

/// The oldest version that functions are converted from and to.
const OLDEST: i64 = 7;

/// The code of what cannot be expressed in the target.
const REFUSED: &str = "O001";

/// Options of `ConvertOpset`.
#[derive(PassOptions)]
pub struct ConvertOpsetOptions {
    /// The version of ONNX's operator set that the functions of the module import afterwards.
    #[option(range = 7..=127)]
    pub target: u32,
    /// The most nodes that the bodies of operators may add, as a multiple of those of the module.
    #[option(default = 256, range = 1..=65_536)]
    pub max_growth: u32,
}

/// Checks that the target exists.
fn can_convert(_: &IRModule, cx: &PassCx<'_>, options: &ConvertOpsetOptions) -> Result<(), PassError> {
    match newest(cx) {
        Some(newest) if i64::from(options.target) > newest => {
            Err(PassError::new(format_args!("no operator set `ai.onnx` {} is known", options.target))
                .code("O002")
                .help(format_args!("the newest is {newest}")))
        }
        _ => Ok(()),
    }
}

/// The newest version of ONNX's operator set that is described; `None` if nothing says which are.
fn newest(cx: &PassCx<'_>) -> Option<i64> {
    // No version is skipped, so that the last one can be searched for.
    let (mut least, mut most) = (0, 1 << 16);
    while least < most {
        let middle = (least + most + 1) / 2;
        let mut f = Function::new();
        f.set_opset_imports(&[("", middle)]);
        let mut ops = cx.ops(&f);
        match ops.other(&f, "", "Identity").is_some_and(|op| ops.is_closed(op)) {
            true => least = middle,
            false => most = middle - 1,
        }
    }
    (least > 0).then_some(least)
}

/// Converts functions to another version of ONNX's operator set.
#[module_pass(
    name = "relais.ConvertOpset",
    opt_level = 0,
    phase = "none",
    required = ["relais.InferType"],
    statistics(converted = "calls changed"),
    check = can_convert,
)]
pub fn convert_opset(module: &mut IRModule, cx: &PassCx<'_>, options: &ConvertOpsetOptions) -> Result<(), PassError> {
    let target = i64::from(options.target);
    let version = |f: &Function| f.opset_version("").filter(|&version| version != target);
    let names: Vec<String> =
        module.functions().filter(|(_, f)| version(f).is_some()).map(|(name, _)| name.to_owned()).collect();
    if names.is_empty() {
        return Ok(());
    }
    let is_down = names.iter().filter_map(|name| version(module.function(name)?)).any(|version| version > target);
    let format = module.attr(FORMAT).and_then(ModuleAttr::as_int).unwrap_or(LEAST_FORMAT);
    let mut refused = Refused::default();
    if is_down {
        let mut fuel = Fuel::of_module(module, options.max_growth);
        expand(module, cx, target, &mut fuel, &mut refused)?;
    }
    for name in &names {
        cx.check_cancelled()?;
        let Some(f) = module.function(name).cloned() else { continue };
        let Some(from) = version(&f) else { continue };
        refused.enter(name);
        if from < OLDEST {
            let why = format!("it imports operator set {from}, and conversion begins at {OLDEST}");
            refused.add(NodeId::ABSENT, "", why);
            continue;
        }
        let has_initializers = name == MAIN && format >= LEAST_FORMAT;
        let (records, computed) = (Records::new(cx), Computed::new());
        let mut conversion =
            Conversion { cx, records, refused: &mut refused, has_initializers, computed, n_changed: 0 };
        let mut edit = Editor::new(f.clone());
        conversion.run(&mut edit, from, target)?;
        conversion.check(&f, edit.function());
        cx.count("converted", conversion.n_changed);
        module.set_function(name, edit.into_function());
    }
    if is_down {
        lower_format(module, target);
    }
    refused.report(cx, target);
    Ok(())
}

/// The versions of the file format that were current with operator sets: the first set of each, newest first
/// (`VERSION_TABLE` of `onnx/helper.py`).
const FORMATS: &[(i64, i64)] = &[(25, 13), (24, 12), (23, 11), (21, 10), (19, 9), (15, 8), (12, 7), (11, 6), (10, 5)];

/// The module attribute with the version of the file format.
const FORMAT: &str = "ir_version";

/// The first version of the format whose initializers are not also inputs: no model is taken below it.
const LEAST_FORMAT: i64 = 4;

/// Lowers the version of the file format to the one that was current with an operator set.
fn lower_format(module: &mut IRModule, target: i64) {
    let current = FORMATS.iter().find(|(first, _)| *first <= target).map_or(LEAST_FORMAT, |&(_, format)| format);
    for attr in module.attrs.iter_mut().filter(|attr| attr.name == FORMAT) {
        if attr.as_int().is_some_and(|version| version > current) {
            *attr = ModuleAttr::int(FORMAT, current);
        }
    }
}

/// The calls that cannot be expressed.
#[derive(Default)]
struct Refused {
    function: String,
    /// The calls of the function that is worked on.
    calls: BTreeSet<NodeId>,
    /// For each operator and reason: the function and the call that were first, and how many there are.
    all: BTreeMap<(String, String), (String, NodeId, usize)>,
    /// The operators that only came with bodies, and the operators of the program whose bodies these were.
    from_bodies: BTreeMap<String, BTreeSet<String>>,
}

impl Refused {
    fn enter(&mut self, function: &str) {
        function.clone_into(&mut self.function);
        self.calls.clear();
    }

    fn add(&mut self, call: NodeId, operator: &str, why: String) {
        self.calls.insert(call);
        let first = (self.function.clone(), call, 0);
        self.all.entry((operator.to_owned(), why)).or_insert(first).2 += 1;
    }

    fn report(self, cx: &PassCx<'_>, target: i64) {
        for ((operator, why), (function, call, n)) in self.all {
            let (of, why) = match self.from_bodies.get(&operator) {
                Some(owners) => {
                    let owners: Vec<String> = owners.iter().map(|owner| format!("`{owner}`")).collect();
                    (owners.join(" and "), format!("the body calls `{operator}`, and {why}"))
                }
                None if operator.is_empty() => (format!("function `@{function}`"), why),
                None => (format!("`{operator}`"), why),
            };
            let mut error = Diagnostic::error(format_args!("{of} cannot be converted to operator set {target}: {why}"));
            if n > 1 {
                error = error.with_note(format_args!("{n} calls in all"));
            }
            cx.diagnostic(error.code(REFUSED).at(call).in_function(&function));
        }
    }
}

/// The records of ONNX's operators, by name and version.
struct Records<'a> {
    bodies: Box<dyn Bodies + 'a>,
    known: BTreeMap<(String, i64), Option<Rc<OpSchema>>>,
}

impl<'a> Records<'a> {
    fn new(cx: &PassCx<'a>) -> Self {
        Self { bodies: Box::new(cx.bodies()), known: BTreeMap::new() }
    }

    fn get(&mut self, name: &str, version: i64) -> Option<Rc<OpSchema>> {
        let key = (name.to_owned(), version);
        let known = self.known.entry(key).or_insert_with(|| self.bodies.schema("", name, version).map(Rc::new));
        known.clone()
    }
}

/// Whether an operator of `from` is not there in an older version, or is another one there.
fn is_lacking(records: &mut Records<'_>, name: &str, from: i64, target: i64) -> bool {
    /// It has scales for each group before, for each channel since.
    const GROUP_NORMALIZATION: i64 = 21;
    let is_new_group_norm = name == "GroupNormalization" && from >= GROUP_NORMALIZATION && target < GROUP_NORMALIZATION;
    records.get(name, from).is_some() && (is_new_group_norm || records.get(name, target).is_none())
}

/// The names of ONNX's operators that a function calls.
fn names_of(f: &Function) -> impl Iterator<Item = &str> {
    f.ops().iter().filter(|op| is_same_domain(f.str(op.domain), "")).map(|op| f.str(op.name))
}

/// Those that the functions of a module call.
fn operators(module: &IRModule) -> BTreeSet<String> {
    let called = |f: &Function| -> Vec<String> {
        let used: BTreeSet<OpId> = f.all_bindings().filter_map(|id| f.call(id)?.op()).collect();
        let names = used.into_iter().map(|op| f.op(op)).filter(|op| is_same_domain(f.str(op.domain), ""));
        names.map(|op| f.str(op.name).to_owned()).collect()
    };
    module.functions().flat_map(|(_, f)| called(f)).collect()
}

/// Replaces calls of operators that an older version lacks by their bodies, and those of the operators in these.
fn expand(
    module: &mut IRModule,
    cx: &PassCx<'_>,
    target: i64,
    fuel: &mut Fuel,
    refused: &mut Refused,
) -> Result<(), PassError> {
    let mut records = Records::new(cx);
    let mut done: BTreeSet<String> = BTreeSet::new();
    let mut seen = operators(module);
    loop {
        let mut wanted: BTreeMap<String, i64> = BTreeMap::new();
        for (_, f) in module.functions() {
            let Some(from) = f.opset_version("").filter(|&from| from > target) else { continue };
            let used = f.all_bindings().filter_map(|id| f.call(id)?.op()).collect::<BTreeSet<OpId>>();
            for op in used.into_iter().map(|op| f.op(op)).filter(|op| is_same_domain(f.str(op.domain), "")) {
                let name = f.str(op.name);
                if !done.contains(name)
                    && is_lacking(&mut records, name, from, target)
                    && matches!(records.bodies.any_body("", name, from), Some(Ok(_)))
                {
                    wanted.insert(name.to_owned(), from);
                }
            }
        }
        if wanted.is_empty() {
            return Ok(());
        }
        let names: Vec<String> = wanted.keys().cloned().collect();
        let mut asked = Asked { bodies: cx.bodies(), operators: &names, without_kernels: false };
        let declined = inline_bodies(module, &mut asked, fuel)?;
        for (caller, operator, why) in declined {
            refused.enter(&caller);
            refused.add(NodeId::ABSENT, &operator, format!("it would be replaced by its body: {why}"));
        }
        for new in operators(module) {
            if seen.insert(new.clone()) {
                let mut owners = BTreeSet::new();
                for (name, &version) in &wanted {
                    let is_in = match records.bodies.any_body("", name, version) {
                        Some(Ok(Body::Fixed(body))) => names_of(&body).any(|called| called == new),
                        _ => true,
                    };
                    if is_in {
                        let own = || BTreeSet::from([name.clone()]);
                        owners.extend(refused.from_bodies.get(name).cloned().unwrap_or_else(own));
                    }
                }
                refused.from_bodies.insert(new, owners);
            }
        }
        done.extend(names);
        // The rows of the table decide by types, and so do the next bodies.
        for (_, f) in module.functions_mut() {
            records.bodies.infer_types(RArc::make_mut(f));
        }
    }
}

/// The conversion of one function.
struct Conversion<'a, 'c> {
    cx: &'a PassCx<'c>,
    records: Records<'c>,
    refused: &'a mut Refused,
    /// Whether the function has them, without making them inputs.
    has_initializers: bool,
    /// The values that were computed because a call needed them.
    computed: Computed,
    n_changed: usize,
}

/// How the calls of one operator are converted to a neighbouring version.
struct Plan {
    name: String,
    /// The records in the two versions; an operator without the second is not there.
    old: Rc<OpSchema>,
    new: Option<Rc<OpSchema>>,
    row: Option<Row>,
    moves: Vec<&'static Move>,
}

impl Conversion<'_, '_> {
    fn run(&mut self, edit: &mut Editor, from: i64, target: i64) -> Result<(), PassError> {
        let users = self.cx.analysis::<Users>(edit)?;
        let mut at = from;
        while at != target {
            let next = at + (target - at).signum();
            self.step(edit, &users, at, next)?;
            at = next;
        }
        set_import(edit.function_mut(), target);
        if self.n_changed == 0 { Ok(()) } else { drop_unused(edit, &users, &self.computed) }
    }

    /// Converts a function to the next or the previous version.
    fn step(&mut self, edit: &mut Editor, users: &Users, from: i64, to: i64) -> Result<(), PassError> {
        let plans = self.plans(edit.function(), from, to);
        let f = edit.function();
        let is_renewed = |id: NodeId| f.kind(id) == kind::CONSTANT && form_in(f, id, from, to).is_some();
        if plans.is_empty() && !f.all_bindings().any(is_renewed) {
            return Ok(());
        }
        set_import(edit.function_mut(), to);
        let mut ops = self.cx.ops(edit.function());
        edit.rebuild(&mut |at: &mut RebuildCx<'_>, id: NodeId| -> Result<Action, PassError> {
            if at.function().kind(id) == kind::CONSTANT {
                let (form, tensor) = (form_in(at.function(), id, from, to), at.function().constant(id).cloned());
                let (Some(form), Some(tensor)) = (form, tensor) else { return Ok(Action::Keep) };
                if form == ConstForm::ANY && !self.has_initializers {
                    let (elem, since) = (tensor.elem(), tensor.elem().constant_since());
                    let why = format!("before version {since} it has no elements of type {elem}");
                    self.refused.add(id, "Constant", why);
                    return Ok(Action::Keep);
                }
                let constant = at.function_mut().add_constant(tensor, form);
                at.insert(constant);
                return Ok(Action::Replace(constant));
            }
            let op = at.function().call(id).and_then(CallView::op);
            let Some(plan) = op.and_then(|op| plans.get(&op)) else { return Ok(Action::Keep) };
            if self.refused.calls.contains(&id) {
                return Ok(Action::Keep);
            }
            let Plan { name, old, new, row, moves } = plan;
            let computed = (&mut ops as &mut dyn Operators, &mut self.computed);
            let site = Site::new(at, computed, users, id, (old, from), (new.as_deref(), to));
            match site.convert(name, *row, moves) {
                Ok(Outcome::Same) => return Ok(Action::Keep),
                Ok(Outcome::InPlace) => self.n_changed += 1,
                Ok(Outcome::Results(results)) => {
                    self.n_changed += 1;
                    if let (None, &[result]) = (at.function().n_results(id), results.as_slice()) {
                        return Ok(Action::Replace(result));
                    }
                    at.replace_results(id, results);
                    return Ok(Action::Drop);
                }
                Err(why) => self.refused.add(id, name, why),
            }
            Ok(Action::Keep)
        })
    }

    /// The operators of a function that something may have to be done about.
    fn plans(&mut self, f: &Function, from: i64, to: i64) -> BTreeMap<OpId, Plan> {
        let mut plans = BTreeMap::new();
        for (index, op) in f.ops().iter().enumerate() {
            if !is_same_domain(f.str(op.domain), "") {
                continue;
            }
            let name = f.str(op.name);
            let Some(old) = self.records.get(name, from) else { continue };
            let new = self.records.get(name, to);
            let is_same = new.as_ref().is_some_and(|new| new.attrs == old.attrs && new.inputs == old.inputs);
            let (row, moves) = (row_of(name, from, to), moves_of(name, from, to));
            let counts_axes =
                to + 1 == NEGATIVE_AXES && from > to && ["axis", "axes"].iter().any(|name| old.attr(name).is_some());
            if is_same && !counts_axes && op.version == 0 && row.is_none() {
                continue;
            }
            plans.insert(OpId(index as u32), Plan { name: name.to_owned(), old, new, row, moves });
        }
        plans
    }

    /// Refuses what the records of the target do not accept, unless it was already wrong.
    fn check(&mut self, before: &Function, after: &Function) {
        let mut were_wrong: Option<BTreeSet<(String, &str)>> = None;
        for (id, name, code, why) in self.faults(after) {
            let were_wrong = were_wrong.get_or_insert_with(|| {
                self.faults(before).into_iter().map(|(_, name, code, _)| (name, code)).collect()
            });
            if !self.refused.calls.contains(&id) && !were_wrong.contains(&(name.clone(), code)) {
                self.refused.add(id, &name, why);
            }
        }
    }

    /// The calls and conditionals of a function that their records do not accept: the operator, the code of the rule that
    /// is broken, and how.
    fn faults(&mut self, f: &Function) -> Vec<(NodeId, String, &'static str, String)> {
        let version = f.opset_version("").unwrap_or(0);
        let (mut relations, mut checker) = (self.cx.ops(f), CallChecker::default());
        let mut faults = Vec::new();
        let mut known: BTreeMap<Option<OpId>, Option<Rc<OpSchema>>> = BTreeMap::new();
        for id in f.all_bindings() {
            let op = f.call(id).and_then(CallView::op);
            let name = match op.map(|op| f.op(op)) {
                Some(op) if is_same_domain(f.str(op.domain), "") => f.str(op.name),
                None if f.kind(id) == kind::IF => "If",
                _ => continue,
            };
            if let Some(why) = branch_contradiction(f, id) {
                let why = format!("before version 11 its branches give the same shapes, and here {why}");
                faults.push((id, name.to_owned(), CallRule::Types.code(), why));
            }
            let record = known.entry(op).or_insert_with(|| self.records.get(name, version));
            if let Some(Err(fault)) = op.map(|op| checker.check(f, &mut relations, id, op)) {
                faults.push((id, name.to_owned(), fault.rule.code(), fault.message));
            } else if let Some(why) = record.as_ref().and_then(|record| misfit(record, f, id)) {
                faults.push((id, name.to_owned(), CallRule::ElemType.code(), why));
            }
        }
        faults
    }
}

/// Why a record does not fit the arguments and results of a call or a conditional: one that is absent, or one of a type
/// that is not among what its type variable allows.
fn misfit(record: &OpSchema, f: &Function, id: NodeId) -> Option<String> {
    let args = f.call(id).map_or(&[][..], CallView::args);
    for (index, formal) in record.formal_inputs.iter().enumerate() {
        let arg = args.get(index).copied();
        if formal.kind == formal_kind::SINGLE && arg.is_some_and(NodeId::is_absent) {
            return Some(format!("its argument `{}` is absent", formal.name));
        }
    }
    let given = args.iter().enumerate().filter(|(_, arg)| !arg.is_absent());
    let given = given.filter_map(|(index, &arg)| Some((record.formal_input(index)?, f.type_id(arg))));
    let results: Vec<TypeId> = match f.type_of(id) {
        Type::Tuple(types) if f.n_results(id).is_some() => types.to_vec(),
        _ => vec![f.type_id(id)],
    };
    let last = record.formal_outputs.last().filter(|formal| formal.kind > formal_kind::OPTIONAL);
    let results =
        results.iter().enumerate().filter_map(|(index, &ty)| Some((record.formal_outputs.get(index).or(last)?, ty)));
    for (formal, ty) in given.chain(results) {
        let Some(var) = record.type_var(&formal.var) else { continue };
        let elem = |ty: TypeId| f.ty(ty).elem().unwrap_or(ElemType::UNKNOWN);
        let (what, elem, allowed) = match f.ty(ty) {
            Type::Tensor { elem, .. } => ("tensors", elem, &var.tensors),
            Type::Sequence(of) => ("sequences of tensors", elem(of), &var.sequences),
            Type::Optional(of) => match f.ty(of) {
                Type::Sequence(of) => ("optional sequences of tensors", elem(of), &var.optional_sequences),
                _ => ("optional tensors", elem(of), &var.optionals),
            },
            _ => continue,
        };
        let is_open =
            [&var.tensors, &var.sequences, &var.optionals, &var.optional_sequences].iter().all(|all| all.is_empty())
                && var.others.is_empty();
        if elem != ElemType::UNKNOWN && !is_open && !allowed.contains(&elem) {
            return Some(format!("its `{}` would be of {what} of {elem}", formal.name));
        }
    }
    None
}

/// Drops the constants that became attributes, and the calls that gave them, if nothing uses them any more.
fn drop_unused(edit: &mut Editor, before: &Users, computed: &Computed) -> Result<(), PassError> {
    let f = edit.function();
    let mut uses = f.use_counts();
    let may_go = |id: NodeId| {
        let was_used = id.index() >= before.n_nodes() || before.is_used(id);
        was_used && (f.kind(id) == kind::CONSTANT || computed.contains_key(&id))
    };
    let mut open: Vec<NodeId> = f.all_bindings().filter(|&id| uses[id.index()] == 0 && may_go(id)).collect();
    let mut dropped: BTreeSet<NodeId> = BTreeSet::new();
    while let Some(id) = open.pop() {
        dropped.insert(id);
        for &operand in f.operands(id).iter().filter(|operand| !operand.is_absent()) {
            uses[operand.index()] -= 1;
            if uses[operand.index()] == 0 && may_go(operand) {
                open.push(operand);
            }
        }
    }
    edit.rebuild(&mut |_: &mut RebuildCx<'_>, id: NodeId| -> Result<Action, PassError> {
        Ok(if dropped.contains(&id) { Action::Drop } else { Action::Keep })
    })
}

/// The form that a constant takes in the previous version, where it cannot keep its own: before version 12 the values of
/// `Constant` are tensors. Those of types that it lacks become initializers.
fn form_in(f: &Function, constant: NodeId, from: i64, to: i64) -> Option<ConstForm> {
    let form = ConstForm(f.node(constant).aux);
    let since = f.type_of(constant).elem().map_or(0, ElemType::constant_since);
    match (from, to) {
        (12, 11) if form.0 > ConstForm::VALUE.0 => Some(ConstForm::VALUE),
        _ if form == ConstForm::VALUE && (to + 1..=from).contains(&since) => Some(ConstForm::ANY),
        _ => None,
    }
}

/// Sets the version of ONNX's operator set that a function imports.
fn set_import(f: &mut Function, version: i64) {
    let imports: Vec<(String, i64)> =
        f.opset_imports().into_iter().map(|(domain, version)| (domain.to_owned(), version)).collect();
    let renewed =
        imports.iter().map(|(domain, old)| (domain.as_str(), if is_same_domain(domain, "") { version } else { *old }));
    f.set_opset_imports(&renewed.collect::<Vec<_>>());
}

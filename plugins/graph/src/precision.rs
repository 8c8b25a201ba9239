//! The part of a function that is computed in a lower precision: which calls, and which values are of that precision then.

use crate::{
    fold_constant::ProjectedOnly,
    numbers::{Limits, is_quantization},
};
use relais_plugin_api::{
    boundary::record::formal_kind,
    infer::TypeRelations,
    ir::{BlockId, Type, Users, Walk, WalkStep, kind, normal_domain},
    op::{FormalFacts, OpSchema, Precision},
    pass::OpFactsTable,
    prelude::*,
};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt,
};

/// Why the square of a value, as a product, keeps its precision: as `Pow` does.
const GROWS: &str = "its results may be out of the range that its arguments are in";

/// The fewest elements of a constant that is weights rather than a few numbers of which shapes are computed.
const WEIGHTS: u64 = 256;

/// The rule that decides whether a call is of the lower precision: TVM's categories.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Category<'a> {
    /// It is: nearly all of the time and of the weights is in such calls, and runtimes add up their products in `float32`.
    Always,
    /// It is if its arguments are.
    Follow,
    /// It is not, for this reason.
    Never(&'a str),
}

impl<'a> Category<'a> {
    fn of(call: CallView<'_>, schema: Option<&'a OpSchema>) -> Self {
        match (schema.and_then(OpSchema::precision), call.args()) {
            (Some(Precision::Keep(why)), _) => Self::Never(why),
            (Some(Precision::Lower), _) => Self::Always,
            (_, [a, b]) if call.is_op("Mul") && a == b => Self::Never(GROWS),
            _ => Self::Follow,
        }
    }
}

/// The request of the pipeline.
pub(crate) struct Request<'a> {
    /// The lower precision.
    pub to: ElemType,
    /// Its limits.
    pub limits: Limits,
    /// Operators that are to be left alone.
    pub keep: &'a [String],
    /// Whether inputs and outputs are kept.
    pub interface: Interface,
}

/// The fate of the parameters and results of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Interface {
    Keep,
    Convert,
}

/// Which values of a function are of the lower precision.
pub(crate) struct Plan {
    /// By node: whether a value of `float32` is of the lower precision from now on.
    lowered: Vec<bool>,
    /// By value of `float32`: the value of the lower precision that it was cast from.
    pub sources: BTreeMap<NodeId, NodeId>,
    /// The same as `lowered`, of a result of a call or conditional with several.
    pub lowered_results: BTreeSet<(NodeId, usize)>,
    /// By call that is computed in the lower precision: the positions of the arguments that are.
    pub calls: BTreeMap<NodeId, Vec<usize>>,
    /// By block: which results are of the lower precision; none of those of other blocks are.
    pub results: BTreeMap<BlockId, Vec<bool>>,
}

impl Plan {
    /// Whether a value of `float32` is of the lower precision from now on.
    pub fn is_lowered(&self, id: NodeId) -> bool {
        self.lowered.get(id.index()) == Some(&true)
    }

    /// Whether a result of a block is of the lower precision from now on.
    pub fn is_lowered_result(&self, block: BlockId, at: usize) -> bool {
        self.results.get(&block).is_some_and(|lowered| lowered.get(at) == Some(&true))
    }

    /// Whether nothing is.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
            && !self.lowered.contains(&true)
            && self.results.values().flatten().all(|lowered| !lowered)
    }

    /// The values of `float32` that are of the lower precision from now on.
    pub fn lowered(&self) -> impl Iterator<Item = NodeId> {
        self.lowered.iter().enumerate().filter(|(_, is_lowered)| **is_lowered).map(|(at, _)| NodeId::from_index(at))
    }
}

/// Whether a value is a tensor of `float32`.
pub(crate) fn is_float32(f: &Function, id: NodeId) -> bool {
    f.type_of(id).elem() == Some(ElemType::FLOAT)
}

/// The name of an operator as rules write it: with its domain, unless that is ONNX's own.
fn full_name(f: &Function, call: CallView<'_>) -> String {
    let domain = call.op().map_or("", |op| normal_domain(f.str(f.op(op).domain)));
    if domain.is_empty() { call.op_name().to_owned() } else { format!("{domain}::{}", call.op_name()) }
}

/// Decides which calls of a function are computed in the lower precision, in one walk in program order. `remark`
/// receives those that are not although an argument is of that precision, and why.
pub(crate) fn plan(
    f: &Function,
    users: &Users,
    cx: &PassCx<'_>,
    request: &Request<'_>,
    remark: &mut dyn FnMut(NodeId, String),
) -> Plan {
    let plan = Plan {
        lowered: vec![false; f.n_nodes()],
        sources: BTreeMap::new(),
        lowered_results: BTreeSet::new(),
        calls: BTreeMap::new(),
        results: BTreeMap::new(),
    };
    let projected = ProjectedOnly::of(f);
    let mut ops = cx.ops(f);
    let has_conditionals = has_conditionals(f, &mut ops, request.to);
    let mut planner = Planner { f, users, ops, projected, request, plan, constants: HashMap::new(), has_conditionals };
    planner.params(remark);
    let mut walk = Walk::new(f);
    while let Some(step) = walk.next(f) {
        match step {
            WalkStep::Binding(id) => match f.expr(id) {
                Expr::Call(call) => planner.call(call, remark),
                Expr::TupleGetItem { tuple, index } if planner.plan.lowered_results.contains(&(tuple, index)) => {
                    planner.lower(id);
                }
                _ => {}
            },
            WalkStep::Leave(id) => planner.conditional(id),
            WalkStep::Enter(_) | WalkStep::Exit(_) => {}
        }
    }
    if request.interface == Interface::Convert {
        planner.results(remark);
    }
    planner.plan
}

/// Whether the results of a conditional may be of a type in the operator set that a function imports: before version 16,
/// none is `bfloat16`.
fn has_conditionals(f: &Function, ops: &mut dyn TypeRelations, to: ElemType) -> bool {
    let Some(schema) = ops.other(f, "", "If").and_then(|op| ops.schema(op)) else { return true };
    schema.formal_outputs.iter().all(|formal| schema.type_var(&formal.var).is_none_or(|var| var.allows(to)))
}

struct Planner<'a> {
    f: &'a Function,
    users: &'a Users,
    ops: OpFactsTable<'a>,
    projected: ProjectedOnly,
    request: &'a Request<'a>,
    plan: Plan,
    /// Why constants keep their type; `None` if they do not.
    constants: HashMap<NodeId, Option<String>>,
    /// Whether the results of conditionals may be of the lower precision.
    has_conditionals: bool,
}

impl Planner<'_> {
    /// Lowers the parameters of the function, where the interface is converted.
    fn params(&mut self, remark: &mut dyn FnMut(NodeId, String)) {
        if self.request.interface == Interface::Keep {
            return;
        }
        for &param in self.f.params().iter().filter(|&&param| is_float32(self.f, param)) {
            match self.f.default_value(param).map_or(Ok(()), |tensor| fits(tensor, self.request)) {
                Ok(()) => self.lower(param),
                Err(why) => remark(param, format!("the input keeps float32: {why}")),
            }
        }
    }

    /// Lowers the results of the function, which is converted with its interface.
    fn results(&mut self, remark: &mut dyn FnMut(NodeId, String)) {
        let mut lowered = Vec::new();
        for &result in self.f.results(self.f.body()) {
            let is_float32 = is_float32(self.f, result);
            let constant = self.f.constant(result).filter(|_| is_float32);
            let why = constant.and_then(|tensor| fits(tensor, self.request).err());
            lowered.push(is_float32 && why.is_none());
            if let Some(why) = why {
                remark(result, format!("the output keeps float32: {why}"));
            }
        }
        self.plan.results.insert(self.f.body(), lowered);
    }

    fn lower(&mut self, id: NodeId) {
        self.plan.lowered[id.index()] = true;
    }

    fn call(&mut self, call: CallView<'_>, remark: &mut dyn FnMut(NodeId, String)) {
        self.cast(call);
        let args: Vec<usize> = (0..call.args().len()).filter(|&at| self.is_float32_arg(call, at)).collect();
        if args.is_empty() {
            return;
        }
        match self.lowered_args(call, &args) {
            Ok((positions, results)) => {
                self.plan.calls.insert(call.id, positions);
                match call.n_results() {
                    None if results.contains(&0) => self.lower(call.id),
                    None => {}
                    Some(_) => self.plan.lowered_results.extend(results.into_iter().map(|at| (call.id, at))),
                }
            }
            Err(Kept::Other) => {}
            Err(Kept::For(why)) => {
                if args.iter().filter_map(|&at| call.arg(at)).any(|arg| self.is_low(arg)) {
                    remark(call.id, why);
                }
            }
            Err(Kept::Declined(why)) => remark(call.id, why),
        }
    }

    fn is_float32_arg(&self, call: CallView<'_>, at: usize) -> bool {
        call.arg(at).is_some_and(|arg| is_float32(self.f, arg))
    }

    /// Whether a value is of the lower precision, or was cast from it.
    fn is_low(&self, id: NodeId) -> bool {
        self.plan.is_lowered(id) || self.plan.sources.contains_key(&id)
    }

    /// Notes from where a value was cast.
    fn cast(&mut self, call: CallView<'_>) {
        let Some(arg) = call.arg(0).filter(|_| call.is_op("Cast") && is_float32(self.f, call.id)) else { return };
        let source = match self.f.type_of(arg).elem() {
            Some(elem) if elem == self.request.to => Some(arg),
            Some(ElemType::FLOAT) if self.plan.is_lowered(arg) => Some(arg),
            Some(ElemType::FLOAT) => self.plan.sources.get(&arg).copied(),
            _ => None,
        };
        self.plan.sources.extend(source.map(|source| (call.id, source)));
    }

    /// Returns the positions of the arguments of a call that are of the lower precision, and those of the results that are.
    fn lowered_args(&mut self, call: CallView<'_>, args: &[usize]) -> Result<(Vec<usize>, Vec<usize>), Kept> {
        let (f, to) = (self.f, self.request.to);
        let name = full_name(f, call);
        let keeps = |why: fmt::Arguments<'_>| format!("`{name}` keeps float32: {why}");
        let schema = self.ops.of(call).and_then(|facts| facts.schema());
        let category = match Category::of(call, schema) {
            _ if self.request.keep.contains(&name) => return Err(Kept::For(keeps(format_args!("it is to be kept")))),
            Category::Never(why) => return Err(Kept::For(keeps(format_args!("{why}")))),
            category => category,
        };
        let declined = |why: fmt::Arguments<'_>| match category {
            Category::Always => Kept::Declined(keeps(why)),
            _ => Kept::For(keeps(why)),
        };
        let Some(op) = call.op() else {
            return Err(declined(format_args!("a function of the module has the types that it states")));
        };
        let facts = self.ops.get(op);
        let Some(schema) = facts.schema().filter(|schema| !schema.formal_inputs.is_empty()) else {
            return Err(declined(format_args!("no plugin describes the types that it takes")));
        };
        if !facts.effects.is_mergeable() || !call.regions().is_empty() {
            return Err(declined(format_args!("its results depend on more than its arguments")));
        }
        if is_quantization(f, op) || self.is_beside_quantization(call) {
            return Err(declined(format_args!("runtimes find integer kernels by it")));
        }
        if call.args().iter().any(|&arg| !arg.is_absent() && f.type_of(arg).elem().is_none()) {
            return Err(declined(format_args!("the type of an argument is not known")));
        }
        let has_type = |var: &str| schema.type_var(var).is_some_and(|var| var.allows(to));
        let mut variables: BTreeSet<&str> = BTreeSet::new();
        let mut unfit: BTreeSet<&str> = BTreeSet::new();
        let mut why_unfit = None;
        for &at in args {
            let (Some(formal), Some(arg)) = (schema.formal_input(at), call.arg(at)) else { continue };
            if formal.kind >= formal_kind::MIXED || !has_type(&formal.var) {
                continue;
            }
            variables.insert(&formal.var);
            match f.constant(arg) {
                Some(tensor) => {
                    let fits = self.constants.entry(arg).or_insert_with(|| fits(tensor, self.request).err());
                    if let Some(why) = fits {
                        unfit.insert(&formal.var);
                        why_unfit.get_or_insert_with(|| format!("in argument {at}, {why}"));
                    }
                }
                None if category == Category::Follow && !self.is_low(arg) => {
                    unfit.insert(&formal.var);
                }
                None => {}
            }
        }
        if variables.is_empty() {
            let version = facts.version;
            return Err(declined(format_args!("it has no {to} in version {version} of its operator set")));
        }
        variables.retain(|var| !unfit.contains(var));
        let is_lowered = |formal: Option<&FormalFacts>| formal.is_some_and(|formal| variables.contains(&*formal.var));
        let positions: Vec<usize> = args.iter().copied().filter(|&at| is_lowered(schema.formal_input(at))).collect();
        let is_weight = |arg: NodeId| f.constant(arg).is_some_and(|tensor| tensor.len() >= WEIGHTS);
        let lowered = || positions.iter().filter_map(|&at| call.arg(at));
        if category == Category::Follow && !lowered().any(|arg| self.is_low(arg) || is_weight(arg)) {
            return Err(why_unfit.map_or(Kept::Other, |why| Kept::For(keeps(format_args!("{why}")))));
        }
        if let (true, Some(why)) = (positions.is_empty(), why_unfit) {
            return Err(declined(format_args!("{why}")));
        }
        let results = self.lowered_results(call, schema, &is_lowered).map_err(|why| declined(format_args!("{why}")))?;
        Ok((positions, results))
    }

    /// Returns the positions of the results that are of the lower precision, where the arguments of lowered type variables
    /// are.
    fn lowered_results(
        &self,
        call: CallView<'_>,
        schema: &OpSchema,
        is_lowered: &dyn Fn(Option<&FormalFacts>) -> bool,
    ) -> Result<Vec<usize>, &'static str> {
        let f = self.f;
        let types = match f.type_of(call.id) {
            Type::Tuple(types) if call.n_results().is_some() => types.to_vec(),
            _ => vec![f.type_id(call.id)],
        };
        if types.len() != call.n_results().unwrap_or(1) {
            return Err("the types of its results are not known");
        }
        let formals = &schema.formal_outputs;
        let is_many = |formal: &&FormalFacts| formal.kind == formal_kind::VARIADIC;
        let mut results = Vec::new();
        for (at, &ty) in types.iter().enumerate() {
            let formal = formals.get(at).or_else(|| formals.last().filter(is_many));
            match f.ty(ty).elem() {
                Some(ElemType::FLOAT) if is_lowered(formal) => results.push(at),
                // Its attribute says what it gives.
                Some(ElemType::FLOAT) if call.is_op("Cast") => {}
                Some(ElemType::FLOAT) => return Err("the type of a result depends on more than the arguments"),
                Some(_) => {}
                None => return Err("the types of its results are not known"),
            }
        }
        if !results.is_empty() && call.n_results().is_some() && !self.projected.holds(call.id) {
            return Err("something takes its results as one value");
        }
        Ok(results)
    }

    /// Whether a call computes with dequantised values, or its results are quantised.
    fn is_beside_quantization(&self, call: CallView<'_>) -> bool {
        let f = self.f;
        let is_quantized = |id: NodeId| f.call(id).and_then(CallView::op).is_some_and(|op| is_quantization(f, op));
        let made = |&arg: &NodeId| match f.expr(arg) {
            Expr::TupleGetItem { tuple, .. } => is_quantized(tuple),
            _ => is_quantized(arg),
        };
        let used = |&user: &NodeId| {
            is_quantized(user)
                || f.kind(user) == kind::TUPLE_GET_ITEM && self.users.of(user).iter().any(|&user| is_quantized(user))
        };
        call.args().iter().any(made) || self.users.of(call.id).iter().any(used)
    }

    /// Lowers the results of a conditional that both branches compute in the lower precision, or that one computes so and
    /// the other has as a constant.
    fn conditional(&mut self, id: NodeId) {
        let f = self.f;
        let Expr::If(branch) = f.expr(id) else { return };
        let blocks = [branch.then_branch(), branch.else_branch()].map(|branch| f.block_of(branch));
        let [then, otherwise] = blocks.map(|block| f.results(block));
        if !self.has_conditionals
            || then.len() != otherwise.len()
            || (f.n_results(id).is_some() && !self.projected.holds(id))
        {
            return;
        }
        let mut lowered = vec![false; then.len()];
        for (at, pair) in then.iter().zip(otherwise).enumerate() {
            let pair = [*pair.0, *pair.1];
            let is_ready = |planner: &mut Self, value: NodeId| {
                is_float32(f, value)
                    && match f.constant(value) {
                        Some(tensor) => {
                            let fits = || fits(tensor, planner.request).err();
                            planner.constants.entry(value).or_insert_with(fits).is_none()
                        }
                        None => planner.is_low(value),
                    }
            };
            lowered[at] =
                pair.iter().any(|&value| self.is_low(value)) && pair.iter().all(|&value| is_ready(self, value));
            match (lowered[at], f.n_results(id)) {
                (true, None) => self.lower(id),
                (true, Some(_)) => {
                    self.plan.lowered_results.insert((id, at));
                }
                (false, _) => {}
            }
        }
        for block in blocks {
            self.plan.results.insert(block, lowered.clone());
        }
    }
}

/// Why a call keeps `float32`.
enum Kept {
    /// Its arguments are `float32`, too.
    Other,
    /// For this reason, which is told if an argument would otherwise be of the lower precision.
    For(String),
    /// For this reason, though it is among those that are always of the lower precision.
    Declined(String),
}

/// Whether the values of a constant are in the range of the lower precision: none is beyond its largest number, and the
/// largest of them is a normal number, or all are zero. Infinities and NaN are values of every type.
///
/// # Errors
/// Returns why they are not.
fn fits(tensor: &Tensor, request: &Request<'_>) -> Result<(), String> {
    let mut largest = 0.0f64;
    let read = tensor.each_f64s(|values| {
        let finite = values.iter().filter(|value| value.is_finite());
        largest = finite.fold(largest, |largest, value| largest.max(value.abs()));
    });
    let Request { to, limits: Limits { greatest, least, .. }, .. } = request;
    // In as few digits as the type needs.
    let [shown, most, fewest] = [largest, *greatest, *least].map(|value| value as f32);
    match largest {
        _ if read.is_none() => Err("the constant is not one of floats".to_owned()),
        _ if largest > *greatest => {
            Err(format!("a value of magnitude {shown:e} is beyond {most:e}, the largest number of {to}"))
        }
        _ if largest > 0.0 && largest < *least => {
            Err(format!("the largest magnitude {shown:e} is below {fewest:e}, the least normal number of {to}"))
        }
        _ => Ok(()),
    }
}

//! The kernels of an operator: they come to an end within their memory, whatever memory held before and in whichever order
//! parallel turns run, and compute what the operator's evaluator and its body do.

use super::{MAX_BYTES, attribute, constant, same, shown, tensor, tensor_of};
use crate::{
    bench::{Bench, OpShape},
    numbers::{is_close, values},
    report::{Judged, Kind},
};
use relais_ir::wild::Tape;
use relais_plugin_api::{
    infer::{Coverage, Operators, Way, infer_function, infer_node},
    ir::*,
    op::{Effects, OpSchema, op_error_kind},
    prim::{Cause, Order, RunOptions, n_outputs, run},
};

/// The most steps of a kernel, for arguments of a few elements.
const FUEL: u64 = 1 << 20;

/// The most bytes that a kernel may take.
const MOST_BYTES: u64 = 1 << 24;

/// The numbers among the arguments.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Numbers {
    Small,
    Fractions,
    Special,
}

/// The arguments that a kernel sees as constants, which are the others' memory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Constants {
    All,
    /// Shapes, axes and the like.
    Lists,
    None,
}

/// Tries the kernels of a random call; returns what is wrong with them, and the call as text. `Judged` counts them.
pub fn faults(
    tape: &mut Tape<'_>,
    (op, at): (&OpShape, usize),
    ops: &mut dyn Operators,
    tolerance: f64,
    judged: &mut Judged,
) -> Option<(Kind, String, String)> {
    let imports = vec![(op.domain.clone(), i64::from(op.since.max(1)))];
    let mut described = Function::new();
    set_imports(&mut described, &imports);
    let number = described.add_op(&op.domain, &op.name, "", 0);
    ops.version(&described, number);
    let schema = ops.schema(number)?.clone();
    let numbers = Numbers::of(at);
    let args = arguments(tape, op, &schema, numbers);
    let mut attrs_of = Function::new();
    let recs = op.attrs.iter().filter_map(|attr| attribute(tape, &mut attrs_of, attr, false));
    let recs: Vec<AttrRec> = recs.collect();
    attrs_of.set_attr_recs(attrs_of.root(), &recs);
    let attrs = attrs_by_value(attrs_of.attrs(attrs_of.root()));
    let n_results = match op.outputs {
        (0 | 1, 1) => None,
        (fewest, most) => Some((fewest.max(1) + tape.below(3) as u16).min(most)),
    };
    Call { op, imports, args, attrs, n_results }.faults((numbers, at), ops, tolerance, judged)
}

/// Tries the kernels of the calls of an operator in an author's module, with random numbers where the arguments are not
/// constants.
pub fn faults_in(
    module: &IRModule,
    tape: &mut Tape<'_>,
    (op, at): (&OpShape, usize),
    bench: &dyn Bench,
    tolerance: f64,
    judged: &mut Judged,
) -> Option<(Kind, String, String)> {
    for (_, f) in module.functions() {
        let mut f = Function::clone(f);
        let mut imports: Vec<(String, i64)> =
            f.opset_imports().into_iter().map(|(domain, version)| (domain.to_owned(), version)).collect();
        if f.opset_version(&op.domain).is_none() {
            imports.push((op.domain.clone(), i64::from(op.since.max(1))));
            set_imports(&mut f, &imports);
        }
        let is_call = |call: &CallView<'_>| {
            let rec = call.op().map(|number| f.op(number));
            rec.is_some_and(|rec| f.str(rec.name) == op.name && is_same_domain(f.str(rec.domain), &op.domain))
        };
        let calls: Vec<NodeId> =
            f.all_bindings().filter_map(|id| f.call(id).filter(is_call)).map(|call| call.id).collect();
        if calls.is_empty() {
            continue;
        }
        bench.with_ops(&f.clone(), &mut |ops| {
            infer_function(&mut f, ops, Coverage::Everything);
        });
        let numbers = Numbers::of(at);
        for id in calls {
            let call = f.call(id).expect("it was one before");
            let args: Option<Vec<Option<Tensor>>> =
                call.args().iter().map(|&arg| value(tape, &f, arg, numbers)).collect();
            let Some(args) = args else { continue };
            let (attrs, n_results) = (attrs_by_value(call.attrs()), call.n_results().map(|n| n as u16));
            let call = Call { op, imports: imports.clone(), args, attrs, n_results };
            let mut found = None;
            bench.with_ops(&Function::new(), &mut |ops| found = call.faults((numbers, at), ops, tolerance, judged));
            if found.is_some() {
                return found;
            }
        }
    }
    None
}

/// The value of an argument: an absent one has none, one of unknown sizes makes the call useless.
fn value(tape: &mut Tape<'_>, f: &Function, arg: NodeId, numbers: Numbers) -> Option<Option<Tensor>> {
    if arg.is_absent() {
        return Some(None);
    }
    if let Some(constant) = f.constant(arg) {
        return Some(Some(constant.clone()));
    }
    let ty = f.type_of(arg);
    let dims = ty.static_shape()?;
    element_count(&dims).filter(|&count| count <= MANY)?;
    Some(Some(numbered(tape, ty.elem()?, &dims, numbers)))
}

/// The most elements of an argument.
const MANY: u64 = 1 << 12;

fn set_imports(f: &mut Function, imports: &[(String, i64)]) {
    let imports: Vec<(&str, i64)> = imports.iter().map(|(domain, version)| (domain.as_str(), *version)).collect();
    f.set_opset_imports(&imports);
}

fn attrs_by_value(attrs: Attrs<'_>) -> Vec<Attr> {
    attrs.iter().filter_map(|(name, value)| Some(Attr::new(name.to_owned(), value.to_data()?))).collect()
}

impl Numbers {
    fn of(at: usize) -> Self {
        [Self::Small, Self::Fractions, Self::Special][at % 3]
    }
}

/// A call to be made.
struct Call<'a> {
    op: &'a OpShape,
    imports: Vec<(String, i64)>,
    args: Vec<Option<Tensor>>,
    attrs: Vec<Attr>,
    n_results: Option<u16>,
}

impl Call<'_> {
    /// Tries its kernels.
    fn faults(
        &self,
        (numbers, at): (Numbers, usize),
        ops: &mut dyn Operators,
        tolerance: f64,
        judged: &mut Judged,
    ) -> Option<(Kind, String, String)> {
        let (closed, node) = self.function(ops, Constants::All)?;
        let text = shown(&closed);
        let callee = closed.call(node)?.op()?;
        if ops.effects(callee).contains(Effects::RANDOM) {
            return None;
        }
        // The results by other means; `None` if these refuse the call.
        let others: Vec<(Way, Option<Vec<Tensor>>)> = [Way::Evaluator, Way::Body]
            .into_iter()
            .filter_map(|way| Some((way, ops.evaluate_by(way, callee, &closed, node, &self.args, MAX_BYTES)?.ok())))
            .collect();
        for constants in [Constants::Lists, if at % 2 == 0 { Constants::None } else { Constants::All }] {
            let Some((f, node)) = self.function(ops, constants) else { continue };
            let kernel = match ops.kernel(&f, node)? {
                Ok(kernel) => kernel,
                Err(error) if error.is_broken() => {
                    let kind = if error.kind == op_error_kind::LIED { Kind::Broken } else { Kind::Panic };
                    return Some((kind, format!("its kernel cannot be made: {error}"), text));
                }
                Err(error) => {
                    if judged.n_kernels == 0 {
                        judged.not_evaluated.insert("its kernel".into(), error.to_string());
                    }
                    continue;
                }
            };
            if !is_small(&kernel) {
                continue;
            }
            let given: Vec<Tensor> = self.args.iter().flatten().cloned().collect();
            let results = match compute(kernel, &given) {
                Ok(results) => results,
                Err(fault) => {
                    let is_computed = others.iter().any(|(_, results)| results.is_some());
                    let is_refused = !is_computed && !others.is_empty();
                    match fault.into_finding(is_computed, is_refused) {
                        Some((kind, message)) => return Some((kind, message, text)),
                        None => continue,
                    }
                }
            };
            judged.n_kernels += 1;
            let results_of = |(way, results): &(Way, Option<Vec<Tensor>>)| Some((*way, results.clone()?));
            let others: Vec<(Way, Vec<Tensor>)> = others.iter().filter_map(results_of).collect();
            judged.n_compared += others.len();
            if let Some(message) = disagreement((Way::Kernel, results), &others, ops, callee, tolerance) {
                let kind = if numbers == Numbers::Special { Kind::SpecialNumbers } else { Kind::Numbers };
                return Some((kind, message, text));
            }
        }
        None
    }

    /// A function with the call, typed, and the call; `None` if the operator does not take it.
    fn function(&self, ops: &mut dyn Operators, constants: Constants) -> Option<(Function, NodeId)> {
        let mut f = Function::new();
        set_imports(&mut f, &self.imports);
        let mut params = Vec::new();
        let mut args = Vec::new();
        for (at, tensor) in self.args.iter().enumerate() {
            args.push(match tensor {
                None => NodeId::ABSENT,
                Some(tensor) if constants.has(tensor) => constant(&mut f, tensor.clone()),
                Some(tensor) => {
                    let dims: Vec<Dim> = tensor.dims().iter().map(|&dim| Dim::Static(dim)).collect();
                    let ty = f.tensor_type(tensor.elem(), &dims);
                    params.push(f.add_var(&format!("x{at}"), ty));
                    params[params.len() - 1]
                }
            });
        }
        f.set_params(f.root(), &params);
        let op = f.add_op(&self.op.domain, &self.op.name, "", 0);
        let callee = f.op(op).node;
        let node = f.add_call_with(callee, &args, &[], self.n_results);
        f.set_attrs(node, &self.attrs);
        let body = f.body();
        f.append(body, node);
        f.set_results(body, &[node]);
        infer_node(&mut f, ops, node).ok()?;
        Some((f, node))
    }
}

impl Constants {
    fn has(self, tensor: &Tensor) -> bool {
        match self {
            Self::All => true,
            Self::Lists => tensor.elem().is_integer() && tensor.dims().len() <= 1,
            Self::None => false,
        }
    }
}

/// Arguments of the element types that the operator's record allows.
fn arguments(tape: &mut Tape<'_>, op: &OpShape, schema: &OpSchema, numbers: Numbers) -> Vec<Option<Tensor>> {
    let (fewest, most) = (usize::from(op.inputs.0), usize::from(op.inputs.1));
    let n_args = fewest + tape.below(most.saturating_sub(fewest).min(3) + 1);
    let mut chosen: Vec<(&str, ElemType)> = Vec::new();
    let mut args: Vec<Option<Tensor>> = Vec::new();
    for at in 0..n_args {
        if at >= fewest && tape.chance(4) {
            args.push(None);
            continue;
        }
        let first = args.iter().flatten().next().cloned();
        let made = tensor(tape, first.as_ref());
        // The last formal input of a variadic operator goes for all that follow.
        let formal = schema.formal_inputs.get(at).or(schema.formal_inputs.last());
        let var = formal.map_or("", |formal| formal.var.as_str());
        let allowed = schema.types.iter().find(|types| types.name == var).map_or(&[][..], |types| &types.tensors);
        let allowed: Vec<ElemType> = allowed.iter().copied().filter(|elem| elem.is_scalar()).collect();
        let elem = match chosen.iter().find(|(known, _)| !var.is_empty() && *known == var) {
            Some(&(_, elem)) => elem,
            None if allowed.is_empty() => made.elem(),
            None if allowed.contains(&made.elem()) && tape.chance(2) => made.elem(),
            None => allowed[tape.below(allowed.len())],
        };
        chosen.push((var, elem));
        args.push(Some(numbered(tape, elem, made.dims(), numbers)));
    }
    args
}

/// A tensor whose floats are such numbers.
fn numbered(tape: &mut Tape<'_>, elem: ElemType, dims: &[u64], numbers: Numbers) -> Tensor {
    const SPECIAL: [f64; 8] = [f64::NAN, 1.5, f64::INFINITY, -0.0, -2.25, f64::NEG_INFINITY, 0.0, 3.0];
    let count = element_count(dims).unwrap_or(0);
    let float = |tape: &mut Tape<'_>| match numbers {
        Numbers::Special => SPECIAL[tape.below(SPECIAL.len())],
        _ => (tape.below(256) as f64 - 128.0) / 32.0,
    };
    let floats = elem.is_float() && numbers != Numbers::Small;
    let floats = floats.then(|| Tensor::from_f64s(elem, dims, &(0..count).map(|_| float(tape)).collect::<Vec<_>>()));
    floats.flatten().unwrap_or_else(|| tensor_of(tape, elem, dims))
}

/// Whether the results are so small that they may be computed.
fn is_small(kernel: &Function) -> bool {
    let params = kernel.params();
    let bytes = |&param: &NodeId| {
        let ty = kernel.type_of(param);
        ty.elem()?.bytes_for(element_count(&ty.static_shape()?)?)
    };
    params[params.len() - n_outputs(kernel)..].iter().all(|param| bytes(param).is_some_and(|bytes| bytes <= MAX_BYTES))
}

/// Why the results of a kernel are none.
enum Fault {
    Stopped(Cause, String),
    /// They differ from those of another run.
    Differs(String),
}

impl Fault {
    /// The finding. `is_computed` says that the operator computes the call by other means, `is_refused` that these refuse it.
    fn into_finding(self, is_computed: bool, is_refused: bool) -> Option<(Kind, String)> {
        let (cause, message) = match self {
            Self::Differs(message) => return Some((Kind::NotDeterministic, message)),
            Self::Stopped(cause, message) => (cause, format!("its kernel stops: {message}")),
        };
        match cause {
            Cause::Fuel(_) => Some((Kind::Hangs, message)),
            Cause::Memory { .. } => Some((Kind::Growth, message)),
            // Casts beyond the range of a type have no defined result.
            Cause::Undefined => None,
            // The arguments are to blame, as the author says, or as something else of the operator's does.
            Cause::Assert(_) if !is_computed => None,
            Cause::OutOfBounds { .. } | Cause::DivisionByZero if is_refused => None,
            _ => Some((Kind::Panic, message)),
        }
    }
}

/// Runs a kernel in several ways.
fn compute(kernel: Function, inputs: &[Tensor]) -> Result<Vec<Tensor>, Fault> {
    const HELD: &str =
        "when memory held something else before: it reads what it did not write, or leaves elements unwritten";
    const TURNS: &str = "with the turns of parallel loops in another order: they disturb each other";
    let mut module = IRModule::new();
    module.set_prim_func("kernel", kernel);
    let run = |poison: bool, order: Order| {
        let options = RunOptions { order, poison, fuel: FUEL, max_bytes: MOST_BYTES, ..RunOptions::default() };
        run(&module, "kernel", inputs, &options).map_err(|stop| Fault::Stopped(stop.cause.clone(), stop.to_string()))
    };
    let first = run(false, Order::Forward)?;
    for (poison, order, when) in
        [(true, Order::Forward, HELD), (false, Order::Backward, TURNS), (false, Order::Shuffled(1), TURNS)]
    {
        let again = match run(poison, order) {
            Ok(again) => again,
            Err(Fault::Stopped(_, why)) => return Err(Fault::Differs(format!("its kernel stops {when}: {why}"))),
            Err(fault) => return Err(fault),
        };
        if let Some(at) =
            first.iter().zip(&again).position(|(a, b)| !same(std::slice::from_ref(a), std::slice::from_ref(b)))
        {
            let (first, again) = (values(&first[at]), values(&again[at]));
            return Err(Fault::Differs(format!("result {at} of its kernel is {first}, and {again} {when}")));
        }
    }
    Ok(first)
}

/// How the results of a call differ that were computed in several ways, and which of them is wrong, if two agree.
fn disagreement(
    kernel: (Way, Vec<Tensor>),
    others: &[(Way, Vec<Tensor>)],
    ops: &dyn Operators,
    op: OpId,
    tolerance: f64,
) -> Option<String> {
    let differs = |a: &[Tensor], b: &[Tensor]| a.iter().zip(b).position(|(a, b)| !is_close(a, b, tolerance));
    let (other, at) = others.iter().find_map(|other| Some((other, differs(&kernel.1, &other.1)?)))?;
    let told = |(way, results): &(Way, Vec<Tensor>)| format!("{} by its {}", values(&results[at]), way.name());
    let difference = format!("result {at} is {}, and {}", told(&kernel), told(other));
    let named = |way: Way| match ops.plugin_of(way, op) {
        Some(plugin) => format!("its {} (plugin `{plugin}`)", way.name()),
        None => format!("its {}", way.name()),
    };
    let agrees = |with: &[Tensor]| {
        let third = others.iter().find(|third| third.0 != other.0)?;
        differs(with, &third.1).is_none().then_some(third.0.name())
    };
    let [kernels, others] = [(kernel.0, agrees(&kernel.1)), (other.0, agrees(&other.1))];
    Some(match (kernels, others) {
        ((with, Some(third)), (way, None)) | ((way, None), (with, Some(third))) => {
            format!("{difference}: {} is wrong, since its {third} agrees with its {}", named(way), with.name())
        }
        _ => format!("{difference}: {} or {} is wrong", named(kernel.0), named(other.0)),
    })
}

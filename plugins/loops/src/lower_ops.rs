//! Makes calls of loop programs of the calls of operators.
//!
//! ```text
//! def @main(%x: Tensor[(4), float32]) { %y = Relu(%x); %y }
//! ```
//! becomes
//! ```text
//! def @main(%x: Tensor[(4), float32]) { %y = @Relu(%x); %y }
//! prim @Relu(%x0: Tensor[(4), float32]) -> (%y0: Tensor[(4), float32]) {
//!   for %i in 0..4 { … }
//! }
//! ```
//!
//! The loop program of a call is its operator's *kernel* (`Operator::compute`), which depends on the attributes of the call, the
//! types of its arguments and results, and the values of constants. Arguments that a kernel does not use, such as the
//! shape of a `Reshape`, are omitted; calls with equal kernels share one, whose metadata `origins` names
//! their nodes in the model, or their results if those have no names.
//!
//! A function with the metadata `Primitive`, which `FuseOps` makes, becomes one loop program as a whole: the kernels of its
//! calls one behind the other, whose loops are then fused as `FuseKernels` does it. If more than `most_bytes` of memory between
//! them are left, its calls come in the place of those of the function.
//!
//! A call without a kernel is an error, and all of them are reported at once, unless `keep` is set: an operator that has no
//! kernels, sizes that are not known, a case that the operator's kernels do not cover. With them comes what would keep
//! `LowerMain` from lowering the entry function. Calls with the same reason are named together.

use crate::{
    calls::MAIN,
    graphs::origin,
    groups::{lower_group, lowered_groups},
    obstacles::{Grouped, Unfit, call_name, foreign_elements, obstacles, sizes_help, some_of, unfit},
    program::set_attr,
};
use relais_plugin_api::{
    build::Builder,
    diagnostics::Severity,
    ir::{AttrData, Dims, Fuel, inline_some_functions, kind},
    op::OpError,
    prelude::*,
    prim::{ORIGINS, n_outputs},
    text::{PrintOptions, print_function},
};
use std::collections::{HashMap, HashSet};

/// The code of the error that a call has no loop program.
const CODE: &str = "K001";

/// Options of [`lower_ops`].
#[derive(PassOptions)]
pub struct Options {
    /// Whether calls that have no loop program stay as they are.
    #[option(default = false)]
    keep: bool,
    /// The most bytes of memory on the stack that the loop program of a group of calls may have.
    #[option(default = 4096, range = 0..)]
    most_bytes: i64,
    /// The element types that can be written in the end. Where a call has no loop program, calls with other ones are errors,
    /// too, so that all are known at once. If there are none, it is not known.
    #[option(default = [])]
    elements: Vec<String>,
}

/// A call without a loop program.
struct Missing {
    function: String,
    call: NodeId,
    message: String,
    /// Its operator has kernels; the sizes of its arguments are not known.
    is_open: bool,
}

config_option! {
    "relax.transform.apply_legalize_ops": bool, default = true,
    doc = "Whether `LowerOps` does anything."
}

/// Makes calls of loop programs of the calls of operators.
#[module_pass(
    name = "relais.LowerOps",
    aliases = ["relax.transform.LegalizeOps", "relay._transform.LowerTE"],
    opt_level = 0,
    required = ["relais.InferType"],
    phase = "none",
    statistics(
        lowered = "calls lowered",
        kernels = "loop programs made of calls",
        groups = "loop programs made of groups"
    ),
)]
pub fn lower_ops(module: &mut IRModule, cx: &PassCx<'_>, options: &Options) -> Result<(), PassError> {
    if cx.config("relax.transform.apply_legalize_ops")? == Some(false) {
        return Ok(());
    }
    let before = module.clone();
    let names: Vec<String> = module.functions().map(|(name, _)| name.to_owned()).collect();
    let mut kernels = Kernels::new(module);
    let mut all_missing: Vec<Missing> = Vec::new();
    for name in names {
        let Some(f) = module.function(&name).cloned() else { continue };
        let mut ops = cx.ops(&f);
        let (mut lowered, whole) = (HashMap::new(), used_whole(&f));
        for id in f.all_bindings() {
            cx.check_cancelled()?;
            let Some(call) = f.call(id).filter(|call| call.op().is_some()) else { continue };
            let kernel = match whole.contains(&id) {
                true => Some(Err(OpError::unsupported("its results are used as one value"))),
                false => ops.kernel(&f, id),
            };
            match kernel {
                Some(Ok(kernel)) => drop(lowered.insert(id, kernels.add(&f, id, kernel))),
                Some(Err(error)) if error.is_broken() => {
                    return Err(PassError::new(error.message.as_str()).at(id).in_function(&name));
                }
                missing => {
                    let (why, is_open) = match missing {
                        Some(Err(error)) => (error.message.to_string(), has_open_arguments(&f, call)),
                        _ => ("the operator has no kernels".to_owned(), false),
                    };
                    let message = format!("`{}` has no loop program: {why}", call.op_name());
                    all_missing.push(Missing { function: name.clone(), call: id, message, is_open });
                }
            }
        }
        if lowered.is_empty() {
            continue;
        }
        cx.count("lowered", lowered.len());
        let mut edit = Editor::new(f.clone());
        edit.rebuild(&mut |at: &mut RebuildCx<'_>, id: NodeId| -> Result<Action, PassError> {
            let Some(Lowered { name, read, results: types }) = lowered.get(&id) else { return Ok(Action::Keep) };
            let call = at.function().call(id).map(|call| call.args().to_vec()).unwrap_or_default();
            let present: Vec<NodeId> = call.into_iter().filter(|arg| !arg.is_absent()).collect();
            let args: Vec<NodeId> = read.iter().filter_map(|&index| present.get(index).copied()).collect();
            let n_results = at.function().n_results(id);
            let results = Builder::before(at, &mut ops).call_function(name, &args, n_results.unwrap_or(1) as u16)?;
            for (&result, (elem, dims)) in results.iter().zip(types) {
                let f = at.function_mut();
                let ty = f.tensor_type(*elem, dims);
                f.set_type(result, ty);
            }
            // The call keeps its name, also if nothing takes its place as a whole.
            if let Some(&first) = results.first() {
                let f = at.function_mut();
                let call = if f.kind(first) == kind::TUPLE_GET_ITEM { f.operands(first)[0] } else { first };
                f.inherit_value(call, id);
            }
            match (n_results, &*results) {
                (None, &[result]) => at.take_over(id, result),
                _ => at.replace_results(id, results),
            }
            Ok(Action::Drop)
        })?;
        module.set_function(&name, edit.into_function());
    }
    if options.keep && cx.wants_remarks() {
        for Missing { function, call, message, .. } in &all_missing {
            cx.diagnostic(Diagnostic::new(Severity::REMARK, message).at(*call).in_function(function));
        }
    }
    if !options.keep && !all_missing.is_empty() {
        report(&before, all_missing, &options.elements).into_iter().for_each(|fault| cx.diagnostic(fault));
        return Ok(());
    }
    cx.count("kernels", kernels.made.len());
    let mut made = Vec::new();
    for (name, kernel) in kernels.made {
        module.set_prim_func(&name, kernel);
        made.push(name);
    }
    let groups = lower_groups(module, cx, u64::try_from(options.most_bytes).unwrap_or(0))?;
    let callers = callers(module);
    for name in made {
        match callers.get(&name) {
            Some(calls) => note_origins(module, &name, calls),
            None => drop(module.remove(&name)),
        }
    }
    for (name, within) in &groups {
        let calls = callers.get(name).map_or(&[][..], Vec::as_slice);
        note_origins(module, name, if calls.len() > 1 { calls } else { within });
    }
    Ok(())
}

/// Whether a call has arguments whose sizes are not known, and none that loop programs never handle.
fn has_open_arguments(f: &Function, call: CallView<'_>) -> bool {
    let unfit: Vec<Unfit> =
        call.args().iter().filter(|arg| !arg.is_absent()).filter_map(|&arg| unfit(f, arg)).collect();
    !unfit.is_empty() && unfit.iter().all(|why| *why == Unfit::Open)
}

/// The errors about calls without loop programs, and what else keeps the module from becoming loop programs.
fn report(module: &IRModule, missing: Vec<Missing>, elements: &[String]) -> Vec<Diagnostic> {
    let (open, others): (Vec<Missing>, Vec<Missing>) = missing.into_iter().partition(|missing| missing.is_open);
    let name =
        |missing: &Missing| module.function(&missing.function).map_or_else(String::new, |f| call_name(f, missing.call));
    let mut faults = Vec::new();
    if let Some(first) = open.first() {
        let message = match open.len() {
            1 => first.message.clone(),
            n => {
                let names: Vec<String> = open.iter().map(name).collect();
                format!(
                    "{n} calls have no loop programs, as the sizes of their arguments are not known: {}",
                    some_of(&names)
                )
            }
        };
        let fault = Diagnostic::error(message).code(CODE).at(first.call).in_function(&first.function);
        faults.push(fault.help(sizes_help(module)));
    }
    let mut grouped = Grouped::new(CODE);
    for missing in &others {
        let help = "let a pass make other calls of it before, or give it a kernel";
        grouped.add(missing.message.clone(), help, &missing.function, missing.call, name(missing));
    }
    faults.extend(grouped.finish());
    if let Some(main) = module.function(MAIN) {
        faults.extend(obstacles(module, main, false, open.is_empty()));
    }
    faults.extend(foreign_elements(module, elements));
    faults
}

/// By loop program: the names of what it computes, by call.
type Callers = HashMap<String, Vec<String>>;

/// The calls of the functions of a module, in order.
fn callers(module: &IRModule) -> Callers {
    let mut callers = Callers::new();
    for (_, f) in module.functions() {
        for id in f.all_bindings() {
            if let Some(Expr::GlobalVar(name)) = f.call(id).map(|call| f.expr(call.callee())) {
                callers.entry(name.to_owned()).or_default().push(origin(f, id));
            }
        }
    }
    callers
}

/// Makes loop programs of the groups of which all calls are lowered, and puts the calls of others in the place of their calls.
/// Returns the loop programs that were made, with the names of what is computed in each.
fn lower_groups(
    module: &mut IRModule,
    cx: &PassCx<'_>,
    most_bytes: u64,
) -> Result<Vec<(String, Vec<String>)>, PassError> {
    let mut groups = Vec::new();
    // Groups that stay functions, as their calls cannot be replaced.
    let mut stay: HashSet<String> = HashSet::new();
    loop {
        // One may call another one.
        let names: Vec<String> = lowered_groups(module).into_iter().filter(|name| !stay.contains(name)).collect();
        if names.is_empty() {
            break;
        }
        let mut inlined: Vec<String> = Vec::new();
        for name in names {
            cx.check_cancelled()?;
            let Some(f) = module.function(&name).cloned() else { continue };
            match lower_group(module, &f, most_bytes).map_err(|error| error.in_function(&name))? {
                Ok(group) => {
                    let calls = f.all_bindings().filter(|&id| f.call(id).is_some());
                    groups.push((name.clone(), calls.map(|id| origin(&f, id)).collect()));
                    module.set_prim_func(&name, group);
                }
                Err(why) => {
                    if cx.wants_remarks() {
                        let message = format!("the group does not become one loop program: {why}");
                        cx.diagnostic(Diagnostic::new(Severity::REMARK, message).in_function(&name));
                    }
                    inlined.push(name);
                }
            }
        }
        let mut fuel = Fuel::of_module(module, Fuel::GROWTH);
        inline_some_functions(module, &|name| inlined.iter().any(|group| group == name), &mut fuel)
            .map_err(PassError::new)?;
        let callers = callers(module);
        for name in inlined {
            match callers.contains_key(&name) {
                true => drop(stay.insert(name)),
                false => drop(module.remove(&name)),
            }
        }
    }
    cx.count("groups", groups.len());
    Ok(groups)
}

/// The calls with several results that something uses as one value.
fn used_whole(f: &Function) -> HashSet<NodeId> {
    let mut whole = HashSet::new();
    let mut note = |ids: &[NodeId]| whole.extend(ids.iter().copied().filter(|&id| f.n_results(id).is_some()));
    note(f.results(f.body()));
    for id in f.all_bindings() {
        if f.kind(id) != kind::TUPLE_GET_ITEM {
            note(f.operands(id));
        }
        f.regions(id).iter().for_each(|&region| note(f.results(f.block_of(region))));
    }
    whole
}

/// A call's kernel, which of the arguments that are present it reads, and the types of its results.
struct Lowered {
    name: String,
    read: Vec<usize>,
    results: Vec<(ElemType, Dims)>,
}

/// The kernels that were made.
struct Kernels {
    taken: HashSet<String>,
    /// In the order in which they were made.
    made: Vec<(String, Function)>,
    /// By text: the place among them.
    known: HashMap<String, usize>,
}

impl Kernels {
    fn new(module: &IRModule) -> Self {
        let taken = module.globals().iter().map(|global| global.name.to_string()).collect();
        Self { taken, made: Vec::new(), known: HashMap::new() }
    }

    /// Adds the kernel of a call, unless there is one like it.
    fn add(&mut self, f: &Function, id: NodeId, mut kernel: Function) -> Lowered {
        let n_inputs = kernel.params().len() - n_outputs(&kernel);
        let uses = kernel.use_counts();
        let params = kernel.params().to_vec();
        let read: Vec<usize> = (0..n_inputs).filter(|&at| uses[params[at].index()] > 0).collect();
        let kept: Vec<NodeId> = read.iter().map(|&at| params[at]).chain(params[n_inputs..].iter().copied()).collect();
        kernel.set_params(kernel.root(), &kept);
        let tensor = |&output: &NodeId| {
            let (elem, dims) = kernel.type_of(output).as_tensor()?;
            Some((elem, dims.iter().map(|&dim| dim.into()).collect()))
        };
        let results = params[n_inputs..].iter().filter_map(tensor).collect();
        let op_name = f.call(id).map(CallView::op_name).unwrap_or_default();
        let text = print_function(op_name, &kernel, &PrintOptions::default());
        let at = *self.known.entry(text).or_insert_with(|| {
            let names = std::iter::once(op_name.to_owned()).chain((1..).map(|n| format!("{op_name}_{n}")));
            let name = names.into_iter().find(|name| !self.taken.contains(name)).unwrap_or_default();
            self.taken.insert(name.clone());
            self.made.push((name, kernel));
            self.made.len() - 1
        });
        Lowered { name: self.made[at].0.clone(), read, results }
    }
}

/// Notes what a loop program computes.
fn note_origins<'n>(module: &mut IRModule, name: &str, names: impl IntoIterator<Item = &'n String>) {
    let names: Vec<Vec<u8>> =
        names.into_iter().filter(|name| !name.is_empty()).map(|name| name.as_bytes().to_vec()).collect();
    let Some(kernel) = module.global(name).and_then(|global| global.prim_func()).filter(|_| !names.is_empty()) else {
        return;
    };
    let mut kernel = Function::clone(kernel);
    let root = kernel.root();
    set_attr(&mut kernel, root, &Attr::meta(ORIGINS, AttrData::Strings(names)));
    module.set_prim_func(name, kernel);
}

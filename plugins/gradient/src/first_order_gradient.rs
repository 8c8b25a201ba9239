//! Makes a function that returns the results of another one, and the gradients of their sum.
//!
//! ```text
//! def @main(%x: Tensor[(2, 3), float32]) #[opset = {"": 17}] {
//!   %y = Exp(%x);
//!   %y
//! }
//! ```
//! stays, and beside it comes
//! ```text
//! def @main_grad(%x: Tensor[(2, 3), float32]) #[opset = {"": 17}] {
//!   %y = Exp(%x);
//!   %2 = const(float32, 1.0);
//!   %3 = Shape(%y);
//!   %4 = Expand(%2, %3);
//!   %x_grad = Mul(%4, %y);
//!   (%y, %x_grad)
//! }
//! ```
//!
//! The gradients are those of the sum of all elements of all results of floats, or of those that `of` names; that is the
//! result itself if it is a single loss. They are with respect to all parameters of floats, or to the parameters and
//! constants that `wrt` names: weights of a model are constants. A value that the results do not depend on has zeros as its
//! gradient. With `outputs`, `main` itself returns the gradients, so that a model has them as further outputs: the values
//! named `x` and `w` have the outputs `x_grad` and `w_grad`.
//!
//! An operator's gradient comes from its record, whatever plugin describes it (`Operator::gradient_of`). An operator that
//! has none, but a body, is differentiated through its body, which takes its place in the result; so is a call of a
//! function of the module. The gradient of an `If` is an `If` of the gradients of its branches, which computes the taken
//! branch again. Values whose elements are not floats have no gradient and pass none on; neither do roundings.
//!
//! Where a gradient is summed back to the shape of an argument that was broadcast, ranks must be known, sizes need not be.
//! A call on the way of a gradient that has none (a `Loop`, an operator that no plugin describes, an unknown rank), functions
//! that call each other in a circle, and names that the function does not have are errors: all are reported at once, with
//! their names, and the module stays as it is.
//!
//! Nothing needs to run before. `FoldConstant` afterwards leaves less to compute, but also computes what depends on nothing
//! but weights: a program that changes the weights of the result to train it must not have it run.

use crate::{
    activity::is_differentiable,
    expand::expand,
    reverse::{self, Named},
};
use relais_plugin_api::{
    infer::Coverage,
    ir::{AttrData, AttrRec, AttrValue, Copier, OUTPUT_NAMES, OUTPUT_TYPES, TypeId, attr_flag, equal_functions, kind},
    prelude::*,
};
use std::collections::HashSet;

/// Options of `FirstOrderGradient`.
#[derive(PassOptions)]
pub struct FirstOrderGradientOptions {
    /// The functions that get a gradient.
    #[option(default = ["main"])]
    pub functions: Vec<String>,
    /// The parameters and constants, by name, that the gradients are with respect to; if empty, all parameters of floats.
    #[option(default = [])]
    pub wrt: Vec<String>,
    /// The results, by name, that are differentiated; if empty, all of floats.
    #[option(default = [])]
    pub of: Vec<String>,
    /// Whether `main` itself returns the gradients after its results, rather than another function.
    #[option(default = false)]
    pub outputs: bool,
}

/// Checks options that say where the gradients go.
fn can_differentiate(_: &IRModule, _: &PassCx<'_>, options: &FirstOrderGradientOptions) -> Result<(), PassError> {
    if options.outputs && options.functions != [MAIN] {
        return Err(PassError::new("`outputs` is about `main`, and `functions` names others")
            .code("A001")
            .help("leave `functions` at its default"));
    }
    Ok(())
}

/// Makes functions that return the gradients of others.
#[module_pass(
    name = "relais.FirstOrderGradient",
    aliases = ["relay._transform.FirstOrderGradient", "relax.transform.Gradient"],
    opt_level = 0,
    phase = "none",
    changes_interface = "outputs",
    check = can_differentiate,
)]
pub fn first_order_gradient(
    module: &mut IRModule,
    cx: &PassCx<'_>,
    options: &FirstOrderGradientOptions,
) -> Result<(), PassError> {
    let (mut made, mut faults) = (Vec::new(), Vec::new());
    for name in &options.functions {
        match gradient(module, name, cx, options)? {
            Ok(function) => made.push((name, function)),
            Err(more) => faults.extend(more.into_iter().map(|fault| fault.in_function(name))),
        }
    }
    for (name, function) in &made {
        let Some(own) = module.function(&grad_name(name)).filter(|_| !options.outputs) else { continue };
        // Types say nothing about what it computes.
        let mut own = Function::clone(own);
        cx.ops(&own).infer_types(&mut own, Coverage::Everything);
        if equal_functions(&own, function).is_err() {
            let message = format_args!("the module has a function `@{}`, which is not its gradient", grad_name(name));
            faults.push(Diagnostic::error(message).code("A002").in_function(name).help("rename one of the functions"));
        }
    }
    if !faults.is_empty() {
        faults.into_iter().for_each(|fault| cx.diagnostic(fault));
        return Ok(());
    }
    for (name, function) in made {
        if options.outputs {
            module.set_function(name, function);
        } else if module.function(&grad_name(name)).is_none() {
            module.set_function(&grad_name(name), function);
        }
    }
    Ok(())
}

fn grad_name(name: &str) -> String {
    format!("{name}_grad")
}

/// Makes the gradient of a function of the module, or reports everything that is in the way.
fn gradient(
    module: &IRModule,
    name: &str,
    cx: &PassCx<'_>,
    options: &FirstOrderGradientOptions,
) -> Result<Result<Function, Vec<Diagnostic>>, PassError> {
    let fault = |message: std::fmt::Arguments<'_>| Diagnostic::error(message).code("A001");
    let Some(f) = module.function(name) else {
        let help = "name functions of the module in `functions`";
        return Ok(Err(vec![fault(format_args!("the module has no function `@{name}`")).help(help)]));
    };
    let mut faults = Vec::new();
    let wrt = wanted_values(f, &options.wrt).unwrap_or_else(|more| {
        faults.extend(more);
        Vec::new()
    });
    let of = wanted_results(f, &options.of).unwrap_or_else(|more| {
        faults.extend(more);
        Vec::new()
    });
    let version = f.opset_version("").unwrap_or(0);
    if version < OLDEST {
        let message = format_args!("it imports version {version} of ONNX's operators, and gradients need {OLDEST}");
        faults.push(fault(message).help("convert the model to a later version"));
    }
    if !faults.is_empty() {
        return Ok(Err(faults));
    }
    let expanded = match expand(module, name, &wrt, cx)? {
        Ok(expanded) => expanded,
        Err(circle) => {
            let names: Vec<String> = circle.iter().map(|name| format!("`@{name}`")).collect();
            let message = format_args!("functions call themselves: {}", names.join(", "));
            return Ok(Err(vec![fault(message).help("break the circle; ONNX does not allow recursion")]));
        }
    };
    let is_named = if options.of.is_empty() { Named::No } else { Named::Yes };
    let obstacles = match reverse::gradients(expanded, f.n_nodes(), (&of, is_named), &wrt, cx)? {
        Ok(gradients) => return with_gradients(gradients, &wrt, options).map(Ok),
        Err(obstacles) => obstacles,
    };
    let explain = |(obstacle, n): (reverse::Obstacle, usize)| {
        let times = if n == 1 { String::new() } else { format!(" ({n} times)") };
        let message = format!("`{}` has no gradient{times}: {}", obstacle.name, obstacle.why);
        Diagnostic::error(message).code("D003").at(obstacle.call)
    };
    Ok(Err(reverse::by_reason(obstacles).into_iter().map(explain).collect()))
}

/// The first version of ONNX's operators that has `Expand`.
const OLDEST: i64 = 8;

/// The values that the gradients are with respect to.
fn wanted_values(f: &Function, names: &[String]) -> Result<Vec<NodeId>, Vec<Diagnostic>> {
    let is_float = |id: NodeId| f.type_of(id).elem().is_some_and(|elem| elem.is_float());
    let fault = |message: std::fmt::Arguments<'_>| Diagnostic::error(message).code("A001");
    let constants = || f.bindings(f.body()).iter().copied().filter(|&id| f.kind(id) == kind::CONSTANT);
    if names.is_empty() {
        let floats: Vec<NodeId> = f.params().iter().copied().filter(|&id| is_float(id)).collect();
        return match floats.is_empty() {
            true => {
                Err(vec![fault(format_args!("no parameter is known to be of floats")).help("name values in `wrt`")])
            }
            false => Ok(floats),
        };
    }
    let (mut values, mut faults) = (Vec::new(), Vec::new());
    for name in names {
        match f.params().iter().copied().chain(constants()).find(|&id| f.name(id) == name) {
            Some(id) if is_float(id) => {
                if !values.contains(&id) {
                    values.push(id);
                }
            }
            Some(id) => {
                let elem = f.type_of(id).elem().unwrap_or(ElemType::UNKNOWN);
                let why = if is_differentiable(elem) { "is not known to have floats" } else { "has no floats" };
                faults.push(fault(format_args!("`%{name}` {why}, which alone have gradients")).at(id));
            }
            None => faults.push(
                fault(format_args!("it has no parameter and no constant `%{name}`"))
                    .help("`wrt` names inputs and weights of the function itself"),
            ),
        }
    }
    if faults.is_empty() { Ok(values) } else { Err(faults) }
}

/// The results that are differentiated, by position.
fn wanted_results(f: &Function, names: &[String]) -> Result<Vec<usize>, Vec<Diagnostic>> {
    let results = f.results(f.body());
    let own = |index: usize| -> Vec<String> {
        let stated = match f.attrs(f.root()).meta(OUTPUT_NAMES) {
            Some(AttrValue::Strings(names)) => names.strings().nth(index).map(String::from_utf8_lossy),
            _ => None,
        };
        stated.map(String::from).into_iter().chain([f.name(results[index]).to_owned()]).collect()
    };
    if names.is_empty() {
        return Ok((0..results.len()).collect());
    }
    let (mut wanted, mut faults) = (Vec::new(), Vec::new());
    for name in names {
        match (0..results.len()).find(|&index| own(index).contains(name)) {
            Some(index) if wanted.contains(&index) => {}
            Some(index) => wanted.push(index),
            None => faults.push(
                Diagnostic::error(format_args!("it has no result `%{name}`"))
                    .code("A001")
                    .help("`of` names results of the function"),
            ),
        }
    }
    if faults.is_empty() { Ok(wanted) } else { Err(faults) }
}

/// The function that returns the gradients after the results.
fn with_gradients(
    made: reverse::Gradients,
    wrt: &[NodeId],
    options: &FirstOrderGradientOptions,
) -> Result<Function, PassError> {
    let reverse::Gradients { function: mut f, gradients } = made;
    let mut names: HashSet<String> =
        f.all_bindings().chain(f.params().iter().copied()).map(|id| f.name(id).to_owned()).collect();
    let mut results = f.results(f.body()).to_vec();
    let mut added = Vec::new();
    for (&value, &gradient) in wrt.iter().zip(&gradients) {
        let stem = grad_name(f.name(value));
        let mut free = std::iter::once(stem.clone()).chain((1..).map(|n| format!("{stem}_{n}")));
        let name = free.find(|name| !names.contains(name)).unwrap_or(stem);
        names.insert(name.clone());
        // An output has a name of its own.
        let is_free = f.name(gradient).is_empty() && f.kind(gradient) == kind::CALL && !results.contains(&gradient);
        let output = if is_free {
            gradient
        } else {
            let op = f.add_op("", "Identity", "", 0);
            let copy = f.add_call(op, &[gradient]);
            let ty = f.type_id(gradient);
            f.set_type(copy, ty);
            f.append(f.body(), copy);
            copy
        };
        f.set_name(output, &name);
        results.push(output);
        added.push(name);
    }
    let body = f.body();
    f.set_results(body, &results);
    f.set_type(f.root(), TypeId::UNKNOWN);
    name_outputs(&mut f, wrt, &added);
    if options.outputs { Ok(f) } else { alone(&f) }
}

/// Lets what is stated about outputs speak of the gradients, too, which have the types of the values.
fn name_outputs(f: &mut Function, wrt: &[NodeId], added: &[String]) {
    let root = f.root();
    let n_before = f.results(f.body()).len() - added.len();
    let Some(AttrValue::Strings(stated)) = f.attrs(root).meta(OUTPUT_NAMES) else { return };
    let mut names: Vec<Vec<u8>> = stated.strings().map(<[u8]>::to_vec).collect();
    let mut types: Vec<TypeId> = match f.attrs(root).meta(OUTPUT_TYPES) {
        Some(AttrValue::Types(types)) => types.types().collect(),
        _ => Vec::new(),
    };
    names.resize(n_before, Vec::new());
    names.extend(added.iter().map(|name| name.clone().into_bytes()));
    types.resize(n_before, TypeId::UNKNOWN);
    types.extend(wrt.iter().map(|&id| f.type_id(id)));
    let new = [Attr::meta(OUTPUT_NAMES, AttrData::Strings(names)), Attr::meta(OUTPUT_TYPES, AttrData::Types(types))];
    let is_kept =
        |rec: &&AttrRec| rec.flags & attr_flag::META == 0 || ![OUTPUT_NAMES, OUTPUT_TYPES].contains(&f.str(rec.name));
    let mut recs: Vec<AttrRec> = f.attr_recs(root).iter().filter(is_kept).copied().collect();
    recs.extend(new.iter().map(|attr| f.encode_attr(attr)));
    f.set_attr_recs(root, &recs);
}

/// A copy that is not the graph of a model any more: without what was read of it, beside the names of its results.
fn alone(f: &Function) -> Result<Function, PassError> {
    let mut copy = Function::new();
    copy.set_opset_imports(&f.opset_imports());
    let mut copier = Copier::new(f).keep_symbols();
    let mut params = Vec::new();
    for &param in f.params() {
        let ty = copier.add_type(&mut copy, f.type_id(param));
        let own = copy.add_var(f.name(param), ty);
        copier.set(param, own);
        params.push(own);
    }
    copy.set_params(copy.root(), &params);
    let body = copy.body();
    for &binding in f.bindings(f.body()) {
        let own = copier.copy(&mut copy, binding)?;
        copy.append(body, own);
    }
    let results: Vec<NodeId> = f.results(f.body()).iter().filter_map(|&result| copier.get(result)).collect();
    copy.set_results(body, &results);
    if let Some(AttrValue::Strings(names)) = f.attrs(f.root()).meta(OUTPUT_NAMES) {
        let names = AttrData::Strings(names.strings().map(<[u8]>::to_vec).collect());
        let names = copy.encode_attr(&Attr::meta(OUTPUT_NAMES, names));
        let recs = [copy.attr_recs(copy.root()), &[names]].concat();
        copy.set_attr_recs(copy.root(), &recs);
    }
    Ok(copy)
}

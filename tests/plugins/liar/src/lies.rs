//! The passes.

use super::calls_of;
use relais_plugin_api::{
    ir::{ConstForm, NodeRec, TypeId},
    prelude::*,
};
use std::{
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
    time::Duration,
};

/// Says that it changed what it left alone.
#[function_pass(name = "liar.SaysChanged")]
fn says_changed(edit: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    edit.function_mut();
    Ok(())
}

/// Changes the module that it is given, and says that it changed nothing.
#[module_pass(name = "liar.SaysUnchanged")]
#[expect(unsafe_code, reason = "without it nobody can lie like this")]
fn says_unchanged(_: &mut IRModule, cx: &PassCx<'_>) -> Result<(), PassError> {
    let Some(main) = cx.module().main() else { return Ok(()) };
    let Some(&param) = main.params().first() else { return Ok(()) };
    let given = std::ptr::from_ref::<Function>(main).cast_mut();
    // SAFETY: there is none: shared data is written to. That is the lie.
    unsafe { (*given).set_type(param, TypeId::UNKNOWN) };
    Ok(())
}

/// Names the first calls by how often it was called.
#[function_pass(name = "liar.Counts")]
fn counts(edit: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    if let [first, ..] = calls_of(edit.function(), "Relu")[..] {
        let name = format!("call_{}", COUNT.fetch_add(1, Ordering::Relaxed));
        edit.function_mut().set_name(first, &name);
    }
    Ok(())
}

/// Does something else while it runs on another thread, too.
#[function_pass(name = "liar.Races")]
fn races(edit: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    static IS_BUSY: AtomicBool = AtomicBool::new(false);
    let was_busy = IS_BUSY.swap(true, Ordering::SeqCst);
    thread::sleep(Duration::from_millis(1));
    if let [first, ..] = calls_of(edit.function(), "Relu")[..]
        && edit.function().name(first) != "relu"
        && was_busy
    {
        edit.function_mut().set_name(first, "relu");
    }
    if !was_busy {
        IS_BUSY.store(false, Ordering::SeqCst);
    }
    Ok(())
}

/// Uses a value before it is made.
#[function_pass(name = "liar.Breaks")]
fn breaks(edit: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    let f = edit.function();
    if let [.., last] = *f.bindings(f.body())
        && let Some(&first) = calls_of(f, "Relu").first()
        && f.call(first).is_some_and(|call| !call.args().is_empty())
    {
        edit.function_mut().set_operand(first, 1, last);
    }
    Ok(())
}

/// Gives the first parameter another name.
#[function_pass(name = "liar.Renames")]
fn renames(edit: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    if let Some(&param) = edit.function().params().first()
        && edit.function().name(param) != "renamed"
    {
        edit.function_mut().set_name(param, "renamed");
    }
    Ok(())
}

/// Takes `Relu` for something that does nothing.
#[rewrite_pass(name = "liar.DropsRelu", required = ["relais.InferType"], ops = ["Relu"])]
fn drops_relu(call: CallView<'_>, _: &mut RewriteCx<'_>) -> Rewrite {
    match call.args() {
        [input] if call.owner().type_id(*input) == call.owner().type_id(call.id) => Rewrite::Replace(*input),
        _ => Rewrite::Keep,
    }
}

/// Spoils the last weight of each matrix.
#[rewrite_pass(name = "liar.Spoils", required = ["relais.InferType"], ops = ["MatMul"])]
fn spoils(call: CallView<'_>, cx: &mut RewriteCx<'_>) -> Rewrite {
    const SPOILT: f32 = 3.5;
    let &[input, weight] = call.args() else { return Rewrite::Keep };
    let Some(tensor) = call.owner().constant(weight) else { return Rewrite::Keep };
    let (Some(mut values), dims) = (tensor.to_f32s(), tensor.dims().to_vec()) else { return Rewrite::Keep };
    match values.last_mut() {
        Some(last) if *last != SPOILT => *last = SPOILT,
        _ => return Rewrite::Keep,
    }
    let weight = cx.constant(Tensor::from_f32(&dims, &values));
    Rewrite::Replace(cx.call_like(call, &[input, weight], Vec::new()))
}

/// Spoils the last weight of the function, which has its numbers in the opposite order.
#[function_pass(name = "liar.SpoilsLast", required = ["relais.InferType"])]
fn spoils_last(edit: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    let f = edit.function();
    let is_weight =
        |id: NodeId| !id.is_absent() && f.constant(id).is_some_and(|it| it.elem().is_float() && it.dims().len() > 1);
    let weight_of = |call: NodeId| {
        let args = f.call(call)?.args();
        args.iter().position(|&arg| is_weight(arg)).map(|at| (call, at))
    };
    let Some((call, at)) = f.bindings(f.body()).iter().rev().find_map(|&call| weight_of(call)) else { return Ok(()) };
    let spoilt = f.call(call).and_then(|view| {
        let weight = f.constant(view.args()[at])?;
        let values: Vec<f64> = weight.to_f64s()?.into_iter().rev().collect();
        Tensor::from_f64s(weight.elem(), weight.dims(), &values)
    });
    if let Some(spoilt) = spoilt {
        let f = edit.function_mut();
        let spoilt = f.add_constant(spoilt, ConstForm::ANY);
        f.set_operand(call, at + 1, spoilt);
        let bindings: Vec<NodeId> = [spoilt].into_iter().chain(f.bindings(f.body()).iter().copied()).collect();
        f.set_bindings(f.body(), &bindings);
    }
    Ok(())
}

/// Multiplies with the first five digits of the first factor, as a kernel would that rounds badly.
#[rewrite_pass(name = "liar.RoundsBadly", required = ["relais.InferType"], ops = ["MatMul", "Gemm", "Conv"])]
fn rounds_badly(call: CallView<'_>, cx: &mut RewriteCx<'_>) -> Rewrite {
    let f = call.owner();
    let &[input, ref others @ ..] = call.args() else { return Rewrite::Keep };
    // The difference of two large numbers has few digits: this and the number before.
    let split: f64 = match f.type_of(input).elem() {
        Some(ElemType::FLOAT) => 524_289.0,
        Some(ElemType::FLOAT16) => 65.0,
        _ => return Rewrite::Keep,
    };
    let is_done = f.call(input).is_some_and(|it| it.op_name() == "Sub");
    let (false, Some(elem)) = (is_done, f.type_of(input).elem()) else { return Rewrite::Keep };
    let Some(split) = Tensor::from_f64s(elem, &[], &[split]) else { return Rewrite::Keep };
    let split = cx.constant(split);
    let large = cx.call("Mul", &[input, split]);
    let low = cx.call("Sub", &[large, input]);
    let rounded = cx.call("Sub", &[large, low]);
    let args: Vec<NodeId> = [rounded].into_iter().chain(others.iter().copied()).collect();
    Rewrite::Replace(cx.call_like(call, &args, Vec::new()))
}

/// Takes `0 * x` for 0, which it is not where `x` is infinite.
#[rewrite_pass(name = "liar.Simplifies", required = ["relais.InferType"], ops = ["Mul"])]
fn simplifies(call: CallView<'_>, cx: &mut RewriteCx<'_>) -> Rewrite {
    let f = call.owner();
    let is_zero = |id: &NodeId| {
        let values = f.constant(*id).and_then(Tensor::to_f32s);
        values.is_some_and(|values| !values.is_empty() && values.iter().all(|&value| value == 0.0))
    };
    let dims = f.type_of(call.id).static_shape();
    let (true, Some(dims)) = (call.args().iter().any(is_zero), dims) else { return Rewrite::Keep };
    let Ok(zero) = Tensor::splat(ElemType::FLOAT, &dims, &0f32.to_le_bytes()) else { return Rewrite::Keep };
    Rewrite::Replace(cx.constant(zero))
}

/// Makes a sum of one value.
#[rewrite_pass(name = "liar.AddsOne", required = ["relais.InferType"], ops = ["Relu"])]
fn adds_one(call: CallView<'_>, cx: &mut RewriteCx<'_>) -> Rewrite {
    match call.arg(0) {
        Some(x) => Rewrite::Replace(cx.call("Add", &[x])),
        None => Rewrite::Keep,
    }
}

/// Replaces each call by an equal one, without end.
#[rewrite_pass(name = "liar.NeverSettles", required = ["relais.InferType"], ops = ["Relu"])]
fn never_settles(call: CallView<'_>, cx: &mut RewriteCx<'_>) -> Rewrite {
    Rewrite::Replace(cx.call_like(call, call.args(), Vec::new()))
}

/// Replaces a value by one of another type.
#[rewrite_pass(name = "liar.Retypes", required = ["relais.InferType"], ops = ["Relu"])]
fn retypes(_: CallView<'_>, cx: &mut RewriteCx<'_>) -> Rewrite {
    Rewrite::Replace(cx.constant(Tensor::from_strings(&[], [&b"a"[..]]).expect("it is one text")))
}

/// The options of [`panics`].
#[derive(PassOptions)]
struct Options {
    /// How much.
    #[option(default = 2, range = 0..=8)]
    amount: usize,
}

/// Does not take the greatest value of its option.
#[function_pass(name = "liar.Panics")]
fn panics(edit: &mut Editor, _: &PassCx<'_>, options: &Options) -> Result<(), PassError> {
    const AMOUNTS: [usize; 8] = [0, 1, 2, 3, 4, 5, 6, 7];
    let amount = AMOUNTS[options.amount];
    if edit.function().n_nodes() == amount { Err(PassError::new("it is too small")) } else { Ok(()) }
}

/// Comes to no end where there is a certain operator.
#[function_pass(name = "liar.Hangs")]
fn hangs(edit: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    while !calls_of(edit.function(), "Relu").is_empty() {
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// Ends the process with success.
#[function_pass(name = "liar.Exits")]
fn exits(edit: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    if !calls_of(edit.function(), "Relu").is_empty() {
        std::process::exit(0);
    }
    Ok(())
}

/// Crashes.
#[function_pass(name = "liar.Aborts")]
fn aborts(edit: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    if !calls_of(edit.function(), "Relu").is_empty() {
        std::process::abort();
    }
    Ok(())
}

/// Swaps the arguments of each sum, each time.
#[function_pass(name = "liar.Swaps")]
fn swaps(edit: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    for id in calls_of(edit.function(), "Add") {
        let call = edit.function().call(id).expect("it was found as a call");
        let &[left, right] = call.args() else { continue };
        if left.is_absent() || right.is_absent() || left == right {
            continue;
        }
        edit.function_mut().set_operand(id, 1, right);
        edit.function_mut().set_operand(id, 2, left);
    }
    Ok(())
}

/// Takes a moment for each binding.
#[function_pass(name = "liar.Dawdles")]
fn dawdles(edit: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    let n = edit.function().all_bindings().count();
    // Of large modules alone, so that a test of it takes no minute.
    if n > 500 {
        thread::sleep(Duration::from_micros(800 * n as u64));
    }
    Ok(())
}

/// Writes each sum a hundred times.
#[function_pass(name = "liar.Grows")]
fn grows(edit: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    let f = edit.function();
    let (body, bindings) = (f.body(), f.bindings(f.body()).to_vec());
    if calls_of(f, "Add").is_empty() || bindings.len() > 100 {
        return Ok(());
    }
    let f = edit.function_mut();
    for _ in 0..100 * bindings.len() {
        let constant = f.add_constant(Tensor::from_i64(&[], &[1]), ConstForm::ANY);
        f.append(body, constant);
    }
    Ok(())
}

/// Gives calls a flag that no text says.
#[function_pass(name = "liar.LosesInText")]
fn loses_in_text(edit: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    const FLAG: u8 = 1 << 6;
    if edit.function().n_blocks() > 1 {
        return Ok(());
    }
    for old in calls_of(edit.function(), "Relu") {
        let NodeRec { kind, flags, aux, .. } = *edit.function().node(old);
        if flags & FLAG != 0 || edit.function().n_regions(old) > 0 {
            continue;
        }
        let f = edit.function_mut();
        let operands = f.operands(old).to_vec();
        let new = f.add_raw(kind, flags | FLAG, aux, &operands, Some(0));
        f.inherit_value(new, old);
        let bindings: Vec<NodeId> = f.bindings(f.body()).iter().map(|&id| if id == old { new } else { id }).collect();
        f.set_bindings(f.body(), &bindings);
        let uses: Vec<NodeId> = f.all_bindings().collect();
        for id in uses {
            f.map_operands(id, |operand| if operand == old { new } else { operand });
        }
        let results: Vec<NodeId> = f.results(f.body()).iter().map(|&id| if id == old { new } else { id }).collect();
        f.set_results(f.body(), &results);
    }
    Ok(())
}

/// An option whose schema does not match the values it accepts.
struct Strict;

impl relais_plugin_api::options::OptionType for Strict {
    const KIND: relais_plugin_api::options::OptionKind = relais_plugin_api::options::OptionKind::Int { min: 0, max: 9 };

    fn from_value(value: &Value) -> Option<Self> {
        matches!(value, Value::Int(0..=8)).then_some(Self)
    }
}

/// The options of [`refuses`].
#[derive(PassOptions)]
struct StrictOptions {
    /// How strict.
    #[option(default = 0)]
    level: Strict,
}

/// Refuses a value of its option that its record takes.
#[function_pass(name = "liar.Refuses")]
fn refuses(_: &mut Editor, _: &PassCx<'_>, options: &StrictOptions) -> Result<(), PassError> {
    let Strict = options.level;
    Ok(())
}

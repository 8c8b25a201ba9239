//! Passes that fail, or break their input.

use relais_plugin_api::{diagnostics::Severity, prelude::*};

/// The fault to commit.
#[derive(PassOptions)]
enum Fault {
    /// Nothing.
    None,
    /// Return an error.
    Error,
    /// Say two errors and return none.
    SayError,
    /// Panic.
    Panic,
    /// Panic with a text that is made then.
    PanicFormatted,
    /// Panic with something that panics when it is dropped.
    PanicWithBomb,
    /// Panic while something is dropped.
    PanicInDrop,
    /// Panic on a thread that is waited for.
    PanicOnThread,
    /// Panic with something that cannot be shown.
    PanicWithNumber,
    /// End the process with success.
    Exit,
    /// End the process on another thread.
    ExitOnThread,
    /// End the process as a crash does.
    Abort,
    /// Panic while a panic is under way.
    PanicTwice,
    /// Use up the stack.
    Overflow,
    /// Take memory without an end.
    Allocate,
    /// Never end.
    Hang,
    /// Refer to a node that is not there.
    DanglingId,
    /// Bind a node twice.
    DuplicateBinding,
    /// Use a node that is bound nowhere.
    Unbound,
    /// Use a value before it is made.
    TooEarly,
    /// Make a node its own operand.
    Cycle,
    /// Make a function a region of a node within itself.
    RegionCycle,
    /// Say that a function has the type of a tensor.
    TypeMismatch,
    /// Leave the block without a result.
    NoResult,
    /// Give two values one name.
    DuplicateName,
    /// Call a function that the module does not have.
    UnknownGlobal,
    /// Remove the entry function.
    RemoveMain,
    /// Replace the entry function with an empty one.
    EmptyMain,
    /// Add a parameter.
    AddInput,
    /// Print without a newline.
    Print,
    /// Say something of every severity except error.
    Say,
    /// Log at every level.
    Log,
    /// Ask the host for things from another thread.
    AskFromThread,
    /// Change the working directory.
    ChangeFolder,
    /// Leave a thread running.
    LeaveThread,
    /// Call itself.
    CallItself,
}

/// The fault to commit.
#[derive(PassOptions)]
struct Options {
    /// The fault to commit.
    #[option(default = "none")]
    fault: Fault,
}

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        std::panic::panic_any(Self);
    }
}

struct Careless;

impl Drop for Careless {
    fn drop(&mut self) {
        panic!("dropped carelessly");
    }
}

/// Does something wrong.
#[module_pass(name = "bad.Fault")]
fn fault(module: &mut IRModule, cx: &PassCx<'_>, options: &Options) -> Result<(), PassError> {
    match options.fault {
        Fault::None => {}
        Fault::Error => {
            return Err(PassError::new("`x` has no shape").code("no-shape").at(NodeId(1)).help("declare its shape"));
        }
        Fault::SayError => {
            cx.diagnostic(Diagnostic::error("`x` has no shape").help("declare its shape"));
            cx.diagnostic(Diagnostic::error("`y` has no shape either"));
        }
        Fault::Panic => panic!("the pass of a careless author"),
        Fault::PanicFormatted => panic!("the pass of {} careless authors", 3),
        Fault::PanicWithBomb => std::panic::panic_any(Bomb),
        Fault::PanicInDrop => drop(Careless),
        Fault::PanicOnThread => {
            std::thread::spawn(|| panic!("on another thread")).join().expect("the thread ends well");
        }
        Fault::PanicWithNumber => std::panic::panic_any(7),
        Fault::Exit => std::process::exit(0),
        Fault::ExitOnThread => {
            std::thread::spawn(|| std::process::exit(0)).join().expect("the thread ends well");
        }
        Fault::Abort => std::process::abort(),
        Fault::PanicTwice => {
            let _careless = Careless;
            panic!("the pass of a careless author");
        }
        Fault::Overflow => println!("{}", deeper(1)),
        Fault::Allocate => {
            let mut all = Vec::new();
            loop {
                all.push(std::hint::black_box(vec![1_u8; 16 << 20]));
            }
        }
        Fault::Hang => loop {
            std::hint::spin_loop();
        },
        Fault::RemoveMain => drop(module.remove(MAIN)),
        Fault::EmptyMain => module.set_function(MAIN, Function::new()),
        Fault::Print => print!("printed without a newline"),
        Fault::Say => {
            for severity in [Severity::WARNING, Severity::NOTE, Severity::REMARK] {
                cx.diagnostic(Diagnostic::new(severity, "said"));
            }
        }
        Fault::Log => {
            for level in [log::Level::Error, log::Level::Warn, log::Level::Info, log::Level::Debug, log::Level::Trace] {
                log::log!(level, "logged");
            }
        }
        Fault::AskFromThread => {
            let ask = || {
                cx.diagnostic(Diagnostic::new(Severity::NOTE, "said on another thread"));
                cx.parallel_for(10, &|_| {});
                cx.get_pass("bad.Fault").and_then(|pass| pass.run(module))
            };
            let made = std::thread::scope(|scope| scope.spawn(ask).join().expect("the thread ends well"))?;
            *module = made;
        }
        Fault::ChangeFolder => std::env::set_current_dir("/").map_err(PassError::new)?,
        Fault::LeaveThread => {
            std::thread::spawn(|| std::thread::sleep(std::time::Duration::from_secs(3600)));
        }
        Fault::CallItself => {
            let options = vec![("fault".to_owned(), Value::Str("call_itself".to_owned()))];
            *module = cx.get_pass_with("bad.Fault", options)?.run(module)?;
        }
        _ => damage(module.function_mut(MAIN).expect("models have an entry function"), &options.fault),
    }
    Ok(())
}

/// Calls itself without an end.
fn deeper(n: u64) -> u64 {
    if std::hint::black_box(n) == 0 { 0 } else { deeper(n + 1) + std::hint::black_box(n) }
}

/// Damages a function whose first call has an argument.
fn damage(f: &mut Function, fault: &Fault) {
    let body = f.body();
    let bindings = f.bindings(body).to_vec();
    let first = *bindings.iter().find(|&&id| f.call(id).is_some()).expect("there is a call");
    let last = *bindings.last().expect("there is a call");
    match fault {
        Fault::DanglingId => f.set_operand(first, 1, NodeId(1_000_000)),
        Fault::DuplicateBinding => f.append(body, first),
        Fault::Unbound => {
            let op = f.add_op("", "Relu", "", 0);
            let argument = f.operands(first)[1];
            let call = f.add_call(op, &[argument]);
            f.set_operand(last, 1, call);
        }
        Fault::TooEarly => f.set_operand(first, 1, last),
        Fault::Cycle => f.set_operand(first, 1, first),
        Fault::RegionCycle => {
            let inner = f.add_function(&[]);
            let block = f.block_of(inner);
            let condition = f.operands(first)[1];
            let node = f.add_if(condition, inner, inner, None);
            f.append(block, node);
            f.set_results(block, &[node]);
            f.append(body, node);
        }
        Fault::TypeMismatch => {
            let tensor = f.tensor_type(ElemType::FLOAT, &[Dim::Static(2)]);
            f.set_type(f.root(), tensor);
        }
        Fault::NoResult => f.set_result(body, NodeId::ABSENT),
        Fault::DuplicateName => {
            let name = f.name(f.params()[0]).to_owned();
            f.set_name(first, &name);
            f.touch(first);
        }
        Fault::UnknownGlobal => {
            let callee = f.add_global_var("nowhere");
            f.set_operand(first, 0, callee);
        }
        Fault::AddInput => {
            let ty = f.tensor_type(ElemType::FLOAT, &[Dim::Static(2)]);
            let var = f.add_var("another", ty);
            let params = [f.params(), &[var]].concat();
            f.set_params(f.root(), &params);
        }
        _ => unreachable!("the other faults need no function"),
    }
}

/// Adds something that does nothing, each time.
#[function_pass(name = "bad.Grows")]
fn grows(edit: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    let f = edit.function_mut();
    let body = f.body();
    let results = f.results(body).to_vec();
    let op = f.add_op("", "Identity", "", 0);
    let call = f.add_call(op, &results[..1]);
    f.append(body, call);
    Ok(())
}

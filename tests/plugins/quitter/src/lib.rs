//! Ends the process with status 0, panics, waits or prints, at the place that `RELAIS_TEST_QUIT` names: `steps:exit`.

use relais_plugin_api::{
    op::{Evaluator, OpCall},
    prelude::*,
};

plugin! { description = "ends the process, or panics, wherever its code runs" }

fn at(place: &str) {
    let asked = std::env::var("RELAIS_TEST_QUIT").unwrap_or_default();
    match asked.strip_prefix(place) {
        Some(":exit") => std::process::exit(0),
        Some(":exit-in-thread") => drop(std::thread::spawn(|| std::process::exit(0)).join()),
        Some(":abort") => std::process::abort(),
        Some(":segv") => write_nowhere(),
        Some(":overflow") => println!("{}", recurse(1)),
        Some(":panic-twice") => drop(PanicsWhenDropped),
        Some(":sleep") => std::thread::sleep(std::time::Duration::from_secs(60)),
        Some(":panic") => panic!("told to panic"),
        Some(":print") => println!("printed at {place}"),
        Some(":wait") => wait(),
        Some(":eat") => eat(),
        Some(":log") => loop {
            log::error!("still there");
        },
        Some(":chatter") => (0..200_000).for_each(|n| eprintln!("\u{1b}[31mline {n}\u{7}")),
        #[cfg(unix)]
        Some(way) => unix::quit(way),
        _ => {}
    }
}

/// Ways that only Unix has.
#[cfg(unix)]
mod unix {
    pub fn quit(way: &str) {
        match way {
            ":_exit" => at_once(_exit),
            ":_Exit" => at_once(_Exit),
            ":quick_exit" => at_once(quick_exit),
            ":_exit-in-thread" => start(_exit),
            ":_exit-in-handler" => interrupt_allocation(),
            ":fork" => fork_and_wait(),
            ":babble" => babble(),
            ":close" => close_all(),
            ":stop" => send_itself(19),
            ":kill" => send_itself(9),
            ":leave-child" => leave_child(),
            _ => {}
        }
    }

    /// Writes to each connection that the process has.
    fn babble() {
        unsafe extern "C" {
            fn send(socket: i32, bytes: *const u8, len: usize, flags: i32) -> isize;
        }
        let nonsense = [b'x'; 4096];
        for descriptor in 3..256 {
            // SAFETY: the bytes are there; what is no connection is refused.
            unsafe { send(descriptor, nonsense.as_ptr(), nonsense.len(), 0x40) };
        }
    }

    /// Closes whatever is open.
    fn close_all() {
        unsafe extern "C" {
            fn close(descriptor: i32) -> i32;
        }
        for descriptor in 3..256 {
            // SAFETY: none: others use them.
            unsafe { close(descriptor) };
        }
    }

    /// Sends its process a signal.
    fn send_itself(signal: i32) {
        unsafe extern "C" {
            fn kill(process: i32, signal: i32) -> i32;
            fn getpid() -> i32;
        }
        // SAFETY: it may be called at any time.
        unsafe { kill(getpid(), signal) };
    }

    /// Leaves a child running, and ends.
    fn leave_child() {
        // SAFETY: the child calls nothing but functions that it may call.
        unsafe {
            if fork() == 0 {
                std::thread::sleep(std::time::Duration::from_secs(60));
            }
            _exit(3);
        }
    }

    unsafe extern "C" {
        fn _exit(status: i32) -> !;
        fn _Exit(status: i32) -> !;
        fn quick_exit(status: i32) -> !;
        fn fork() -> i32;
        fn waitpid(process: i32, status: *mut i32, options: i32) -> i32;
    }

    /// Ends the process without exit functions.
    fn at_once(exit: unsafe extern "C" fn(i32) -> !) {
        // SAFETY: it may be called at any time.
        unsafe { exit(0) }
    }

    /// Starts a thread that runs nothing but a function of C.
    fn start(exit: unsafe extern "C" fn(i32) -> !) {
        unsafe extern "C" {
            fn pthread_create(
                thread: *mut usize,
                attributes: *const u8,
                start: unsafe extern "C" fn(i32) -> !,
                argument: usize,
            ) -> i32;
        }
        let mut thread = 0;
        // SAFETY: the function takes a number, and does not return.
        unsafe { pthread_create(&raw mut thread, std::ptr::null(), exit, 0) };
        std::thread::sleep(std::time::Duration::from_secs(60));
    }

    /// Ends the process in a handler of a signal that comes while memory is allocated.
    fn interrupt_allocation() {
        unsafe extern "C" {
            fn signal(signal: i32, handler: extern "C" fn(i32)) -> usize;
            fn ualarm(first: u32, then: u32) -> u32;
        }
        extern "C" fn end(_: i32) {
            // SAFETY: it may be called at any time.
            unsafe { _exit(0) }
        }
        const SIGALRM: i32 = 14;
        // SAFETY: the handler calls only what handlers may call.
        unsafe {
            signal(SIGALRM, end);
            ualarm(2000, 0);
        }
        loop {
            drop(std::hint::black_box(vec![0_u8; 5000]));
        }
    }

    /// Lets a child do nothing but end, as children do.
    fn fork_and_wait() {
        let mut status = 0;
        // SAFETY: the child calls nothing but a function that it may call.
        unsafe {
            match fork() {
                0 => _exit(3),
                child => assert_eq!(waitpid(child, &raw mut status, 0), child),
            }
        }
        assert_eq!(status, 3 << 8, "the child ends with its own status");
    }
}

/// Writes to an address at which there is nothing.
fn write_nowhere() {
    let nowhere = std::hint::black_box(0x40 as *mut u8);
    // SAFETY: none: the address is wrong on purpose.
    unsafe { nowhere.write_volatile(1) };
}

/// Calls itself until the stack is full.
fn recurse(n: u64) -> u64 {
    let room = std::hint::black_box([n; 64]);
    if room[0] == 0 {
        return 0;
    }
    recurse(n + 1) + room[(n % 64) as usize]
}

/// Panics while it is dropped, because of a panic.
struct PanicsWhenDropped;

impl Drop for PanicsWhenDropped {
    fn drop(&mut self) {
        struct Again;
        impl Drop for Again {
            fn drop(&mut self) {
                panic!("told to panic again");
            }
        }
        let _again = Again;
        panic!("told to panic");
    }
}

/// Takes all the memory that there is.
fn eat() {
    let mut all = Vec::new();
    loop {
        all.push(vec![1_u8; 64 << 20]);
        std::hint::black_box(&all);
    }
}

/// Makes the file that `RELAIS_TEST_WAIT` names, and waits until it is gone.
fn wait() {
    let file = std::env::var_os("RELAIS_TEST_WAIT").expect("a file is named");
    std::fs::write(&file, "").expect("the file can be made");
    while std::path::Path::new(&file).exists() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// Nothing.
#[derive(PassOptions)]
struct Options {
    /// Of no importance.
    #[option(default = 0)]
    _number: i64,
}

impl Drop for Options {
    fn drop(&mut self) {
        at("options-drop");
    }
}

fn check(_: &IRModule, _: &PassCx<'_>, _: &Options) -> Result<(), PassError> {
    at("check");
    Ok(())
}

/// Does nothing.
#[module_pass(name = "quit.Module", check = check)]
fn module(_: &mut IRModule, _: &PassCx<'_>, _: &Options) -> Result<(), PassError> {
    at("module");
    Ok(())
}

/// Does nothing to each function.
#[function_pass(name = "quit.Function")]
fn function(_: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    at("function");
    Ok(())
}

/// Consists of nothing.
#[sequential_pass(name = "quit.Sequence")]
fn sequence() -> Vec<Step> {
    at("steps");
    Vec::new()
}

/// Makes a call of an operator with a body and a verifier.
#[rewrite_pass(name = "quit.Rewrite", ops = ["Identity"])]
fn rewrite(call: CallView<'_>, cx: &mut RewriteCx<'_>) -> Rewrite {
    at("rewrite");
    Rewrite::Replace(cx.call_in("quit", "Defined", call.args(), Vec::new()))
}

#[derive(Default)]
struct Watch;

impl Drop for Watch {
    fn drop(&mut self) {
        at("instrument-drop");
    }
}

/// Watches nothing.
#[instrument(name = "quit.Watch")]
impl Instrument for Watch {
    type Options = ();

    fn new((): ()) -> Result<Self, PassError> {
        at("instrument-new");
        Ok(Self)
    }

    fn enter(&self, _: &InstrumentCx<'_>) -> Result<(), PassError> {
        at("enter");
        Ok(())
    }

    fn exit(&self, _: &InstrumentCx<'_>) -> Result<(), PassError> {
        at("exit");
        Ok(())
    }

    fn before(&self, _: &IRModule, _: &PassInfo<'_>, _: &InstrumentCx<'_>) -> Result<(), PassError> {
        at("before");
        Ok(())
    }

    fn after(&self, _: &IRModule, _: &PassInfo<'_>, _: &InstrumentCx<'_>) -> Result<(), PassError> {
        at("after");
        Ok(())
    }
}

fn infer(cx: &mut InferCx<'_>) -> Result<(), OpError> {
    at("infer");
    let ty = cx.input_id(0);
    cx.set_output(0, ty);
    Ok(())
}

fn eval(cx: &mut EvalCx<'_>) -> Result<(), OpError> {
    at("eval");
    let input = cx.require(0)?.clone();
    cx.output(input);
    Ok(())
}

fn body(_: &OpCall<'_>) -> Result<String, OpError> {
    at("body");
    Ok(r#"def @Defined(%x) #[opset = {"": 17}] { Identity(%x) }"#.to_owned())
}

fn verify(_: &OpCall<'_>) -> Result<(), OpError> {
    at("verify");
    Ok(())
}

operators! {
    &[
        Operator::new("quit", "Same", 1).inputs(1, 1).infer(infer),
        Operator::new("quit", "Defined", 1).body_of(body).verify(verify),
    ]
}
evaluators! { &[Evaluator { domain: "quit", name: "Same", since_version: 1, eval }] }

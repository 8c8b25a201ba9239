//! Passes that do not behave.

use relais_plugin_api::prelude::*;

/// The fault to commit.
#[derive(PassOptions)]
enum Fault {
    /// Return an error.
    Error,
    /// Panic with a text.
    Text,
    /// Panic with a formatted text.
    Formatted,
    /// Panic with a number.
    Number,
    /// Panic with something whose drop panics.
    Bomb,
    /// Panic in a parallel loop.
    Parallel,
    /// End the process.
    Exit,
    /// Print without a newline.
    Print,
    /// Log at every level.
    Log,
    /// Panic on a thread and leave it.
    Thread,
}

/// The fault to commit.
#[derive(PassOptions)]
struct Options {
    /// The fault to commit.
    fault: Fault,
}

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        std::panic::panic_any(Self);
    }
}

/// Does something wrong.
#[function_pass(name = "sample.Bad")]
fn bad(edit: &mut Editor, cx: &PassCx<'_>, options: &Options) -> Result<(), PassError> {
    edit.function_mut();
    match options.fault {
        Fault::Error => {
            return Err(PassError::new("`x` has no shape").code("no-shape").at(NodeId(1)).help("declare its shape"));
        }
        Fault::Text => panic!("plain text"),
        Fault::Formatted => panic!("formatted {}", 42),
        Fault::Number => std::panic::panic_any(7),
        Fault::Bomb => std::panic::panic_any(Bomb),
        Fault::Parallel => cx.parallel_for(100, &|i| assert!(i < 50, "turn {i}")),
        Fault::Exit => std::process::exit(0),
        Fault::Print => print!("printed without a newline"),
        Fault::Log => {
            log::error!("an error");
            log::warn!("a warning");
            log::trace!("a trace");
        }
        Fault::Thread => drop(std::thread::spawn(|| panic!("on another thread"))),
    }
    Ok(())
}

/// Calls itself.
#[module_pass(name = "sample.Endless")]
fn endless(module: &mut IRModule, cx: &PassCx<'_>) -> Result<(), PassError> {
    *module = cx.get_pass("sample.Endless")?.run(module)?;
    Ok(())
}

//! Options of contexts, with the fields of TVM's, and a pass that reads them.

use relais_plugin_api::{context::PassContext, prelude::*};
use std::path::PathBuf;

/// The fields of TVM's `UnrollLoopConfig`.
#[derive(PassOptions, PartialEq)]
struct UnrollLoop {
    /// The number of steps up to which a loop is unrolled by itself.
    #[option(default = 0)]
    auto_max_step: i64,
    /// How deep nested loops may be unrolled by themselves.
    #[option(default = 8)]
    auto_max_depth: i64,
    /// The extent up to which a loop is unrolled whatever its steps.
    #[option(default = 0)]
    auto_max_extent: i64,
    /// Whether the loop is unrolled here, rather than marked for the code generator.
    #[option(default = true)]
    explicit_unroll: bool,
    /// Whether local memory is always accessed by constant indices.
    #[option(default = false)]
    unroll_local_access: bool,
}

config_option! { "acme.UnrollLoop": UnrollLoop, doc = "How loops are unrolled." }
config_option! { "relay.FuseOps.max_depth": i64, default = 256, range = 1.., doc = "The most operators in one group." }

/// Says what its options are.
#[module_pass(name = "acme.AskOptions")]
fn ask_options(_: &mut IRModule, cx: &PassCx<'_>) -> Result<(), PassError> {
    let unroll: Option<UnrollLoop> = cx.config("acme.UnrollLoop")?;
    if unroll != PassContext::current().config("acme.UnrollLoop")? {
        return Err(PassError::new("`config` and `context` differ"));
    }
    let UnrollLoop { auto_max_step, auto_max_depth, auto_max_extent, explicit_unroll, unroll_local_access } =
        unroll.ok_or("nobody registered `acme.UnrollLoop`")?;
    let max_depth: i64 = cx.config("relay.FuseOps.max_depth")?.ok_or("nobody registered `relay.FuseOps.max_depth`")?;
    cx.diagnostic(Diagnostic::note(format_args!(
        "step {auto_max_step}, depth {auto_max_depth}, extent {auto_max_extent}, explicit {explicit_unroll}, \
         local {unroll_local_access}; at most {max_depth}"
    )));
    Ok(())
}

/// A choice.
#[derive(PassOptions)]
enum Speed {
    /// Soon.
    Fast,
    /// Some time.
    Slow,
}

/// Options of an option.
#[derive(PassOptions)]
struct Inner {
    /// Deeper.
    #[option(default = false)]
    deep: bool,
}

/// Options of every type.
#[derive(PassOptions)]
struct Every {
    /// A boolean.
    #[option(default = true)]
    flag: bool,
    /// An integer.
    #[option(default = 3, range = 0..=9)]
    number: i64,
    /// A float.
    #[option(default = 0.5, range = 0.0..=1.0)]
    ratio: f64,
    /// A string.
    #[option(default = "a")]
    word: String,
    /// A choice.
    #[option(default = "slow")]
    speed: Speed,
    /// A list.
    #[option(default = ["b"])]
    words: Vec<String>,
    /// A struct.
    inner: Inner,
}

/// Has an option of every type, and says what they are.
#[module_pass(name = "acme.EveryOption")]
fn every_option(_: &mut IRModule, cx: &PassCx<'_>, options: &Every) -> Result<(), PassError> {
    let Every { flag, number, ratio, word, speed, words, inner: Inner { deep } } = options;
    let speed = match speed {
        Speed::Fast => "fast",
        Speed::Slow => "slow",
    };
    cx.diagnostic(Diagnostic::note(format_args!("{flag} {number} {ratio} {word} {speed} {words:?} {deep}")));
    Ok(())
}

/// Needs a pass whose options all have defaults.
#[module_pass(name = "acme.NeedsEvery", required = ["acme.EveryOption"])]
fn needs_every(_: &mut IRModule, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}

/// Options of [`told`].
#[derive(PassOptions)]
struct ToldOptions {
    /// A text that must be given.
    what: String,
}

/// Says what it was told.
#[module_pass(name = "acme.Told", opt_level = 9)]
fn told(_: &mut IRModule, cx: &PassCx<'_>, options: &ToldOptions) -> Result<(), PassError> {
    cx.diagnostic(Diagnostic::note(&options.what));
    Ok(())
}

/// Needs a pass that must be told something.
#[module_pass(name = "acme.NeedsTold", required = ["acme.Told"])]
fn needs_told(_: &mut IRModule, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}

/// Bounds that belong together.
#[derive(PassOptions)]
#[options(check = in_order)]
struct Bounds {
    /// The least.
    #[option(default = 0)]
    least: i64,
    /// The most.
    #[option(default = 9)]
    most: i64,
}

fn in_order(bounds: &Bounds) -> Result<(), String> {
    match bounds {
        Bounds { least, most } if least > most => Err(format!("`least` is {least}, and `most` is {most}")),
        _ => Ok(()),
    }
}

/// Options of [`measure`].
#[derive(PassOptions)]
struct MeasureOptions {
    /// A number that may be left out.
    number: Option<u8>,
    /// A number of bytes.
    #[option(default = "64KiB", unit = "bytes", range = 1..)]
    memory: u64,
    /// A file that may be left out.
    table: Option<PathBuf>,
    /// A folder.
    #[option(default = "tables")]
    folder: PathBuf,
    /// Any number of files.
    #[option(default = [])]
    files: Vec<PathBuf>,
    /// Bounds that may be left out.
    bounds: Option<Bounds>,
}

/// Says what its options are.
#[module_pass(name = "acme.Measure", phase = "none")]
fn measure(_: &mut IRModule, cx: &PassCx<'_>, options: &MeasureOptions) -> Result<(), PassError> {
    let MeasureOptions { number, memory, table, folder, files, bounds } = options;
    let bounds = bounds.as_ref().map(|Bounds { least, most }| (least, most));
    let files = files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(" ");
    cx.diagnostic(Diagnostic::note(format_args!(
        "{number:?} {memory} {:?} {} [{files}] {bounds:?}",
        table.as_ref().map(|table| table.display()),
        folder.display(),
    )));
    Ok(())
}

//! The arguments.

use super::{
    args_check::{CheckArgs, bound},
    args_filetest::FiletestArgs,
    args_instruments::InstrumentArgs,
    args_plugin::PluginCommand,
    args_search::PluginArgs,
};
use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use relais_session::many::Shard;
use std::{ffi::OsString, path::PathBuf};

/// The lock file by default.
const LOCK_FILE: &str = "relais.lock";

/// Runs passes from drop-in plugins over neural-network models.
#[derive(Parser, Debug)]
#[command(name = "relais", version, propagate_version = true, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub command: Command,

    /// Say more; repeat for more still.
    #[arg(short, long, global = true, action = ArgAction::Count)]
    verbose: u8,

    /// Say nothing but errors.
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,
}

impl Cli {
    pub fn verbosity(&self) -> Verbosity {
        match (self.quiet, self.verbose) {
            (true, _) => Verbosity::Quiet,
            (false, 0) => Verbosity::Normal,
            (false, 1) => Verbosity::Verbose,
            (false, _) => Verbosity::Debug,
        }
    }
}

/// How much is said.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Verbosity {
    Quiet,
    Normal,
    Verbose,
    Debug,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Run a pipeline over a model and write the result, or over many.
    #[command(
        override_usage = "relais run [OPTIONS] <MODEL> --output <FILE>\n       relais run [OPTIONS] <MODEL>... --out-dir <FOLDER>"
    )]
    Run(Box<RunModelsArgs>),
    /// Run a pipeline over a model now, and again whenever the model, a plugin or the pipeline changes.
    ///
    /// The options are those of `relais run`. After the first time, what differs is printed: of what the run says, and of the
    /// resulting program. Plugins may be built before that, and tested by examples.
    #[command(override_usage = "relais watch [OPTIONS] <MODEL> --output <FILE>")]
    Watch(Box<WatchArgs>),
    /// Make source code of a model: a C file that needs no runtime, and its header.
    ///
    /// The pipeline makes the graph small, loop programs of its calls, and C of these. All sizes have to be known:
    /// `--input-shape` fixes those of inputs.
    Build(Box<BuildArgs>),
    /// Write down what a pipeline is made of, for `relais run --locked`: plugins, their versions and hashes.
    Lock(LockArgs),
    /// Run a failing pass again, from what a run wrote when it failed. Status 0 means that it no longer fails.
    Replay(ReplayArgs),
    /// Check, print and describe pipelines.
    #[command(subcommand)]
    Pipeline(PipelineCommand),
    /// Print a model in the text form.
    Show(ShowArgs),
    /// Print the rewrite rules of a file or a pass, or write them to a file, also as pairs of ONNX functions.
    Rules(RulesArgs),
    /// Print the contents of models side by side: inputs, outputs, operators, weights, memory.
    ///
    /// Operators are counted in all functions and nested graphs. The memory of activations is that of the values that are
    /// alive at once if the calls run in their order and share no memory; it is known if all sizes are.
    Inspect(InspectArgs),
    /// Compare two models: interfaces, operator sets, operators, and nodes from the outputs backwards, with their
    /// attributes and constants. Status 0 means that they are the same, 1 that they differ, 2 that they cannot be compared.
    ///
    /// Names and the order of what is inside, inferred types, documentation and metadata do not matter.
    Diff(DiffArgs),
    /// List what there is. Opens no plugin.
    List(ListArgs),
    /// Describe a pass, an instrument, an operator, an option, a plugin or a pipeline.
    Describe(DescribeArgs),
    /// Make, check, test, install and remove plugins.
    #[command(subcommand)]
    Plugin(PluginCommand),
    /// Test passes by examples: each runs on a text, and its output is compared with the expected text. Status 0 means
    /// that nothing is wrong.
    ///
    /// The rules of all passes are checked for each case, too. Cases are run in processes of their own: a pass that
    /// ends one, crashes or hangs is named, and the other cases are run anyway.
    Filetest(FiletestArgs),
    /// Print completions for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
}

/// The models of a run.
#[derive(Args, Debug)]
pub(crate) struct RunModelsArgs {
    /// The model: ONNX, or the text form. With `--out-dir` there may be many.
    #[arg(required = true, value_name = "MODEL")]
    pub models: Vec<PathBuf>,

    /// Where to write the result; may be the model itself.
    #[arg(short, long, value_name = "FILE", required_unless_present = "out_dir", conflicts_with = "out_dir")]
    pub output: Option<PathBuf>,

    /// The folder of the results of many models, each at its path below the folder that all models have in common.
    ///
    /// A journal in it lets a run that was killed go on where it was; a model is run again if it, the options or the
    /// plugins have changed. One that fails does not stop the others. A table is printed at the end, and written as JSON.
    #[arg(help_heading = "Many models", long, value_name = "FOLDER", conflicts_with = "report")]
    pub out_dir: Option<PathBuf>,

    /// Run one part of the models: `2/4` is the second of four, for four machines with one folder.
    #[arg(help_heading = "Many models", long, value_name = "I/N")]
    pub shard: Option<Shard>,

    /// Run models again that failed.
    #[arg(help_heading = "Many models", long)]
    pub retry: bool,

    /// How many models are run at a time; by default one for each processor.
    #[arg(help_heading = "Many models", long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,

    /// Take results from a folder in which they are by what they depend on, and keep them there: the model with its weights,
    /// the pipeline with its options, the plugins. Runs of any folder can share it.
    #[arg(help_heading = "Many models", long, value_name = "FOLDER")]
    pub cache: Option<PathBuf>,

    /// Run this model alone, for another process.
    #[arg(long, value_name = "MODEL", requires = "into", hide = true)]
    pub only: Option<PathBuf>,

    /// The folder for the result of that model.
    #[arg(long, value_name = "FOLDER", requires = "only", hide = true)]
    pub into: Option<PathBuf>,

    #[command(flatten)]
    pub run: RunArgs,
}

/// A run that is done again.
#[derive(Args, Debug)]
pub(crate) struct WatchArgs {
    /// A command of the shell that builds plugins: first, and whenever a source has changed.
    #[arg(help_heading = "Watching files", long, value_name = "COMMAND", requires = "source")]
    pub build: Option<OsString>,

    /// A file or folder of the sources for which plugins are built.
    #[arg(help_heading = "Watching files", long, value_name = "PATH", requires = "build")]
    pub source: Vec<PathBuf>,

    /// Examples that test passes, as for `relais filetest`: files and folders.
    #[arg(help_heading = "Watching files", long, value_name = "PATH")]
    pub filetests: Vec<PathBuf>,

    /// Do it once, and end with the status of the run.
    #[arg(help_heading = "Watching files", long)]
    pub once: bool,

    #[command(flatten)]
    pub run: RunModelsArgs,
}

/// The options of a run over one model.
#[derive(Args, Clone, Debug)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub pipeline: PipelineArgs,

    #[command(flatten)]
    pub plugins: PluginArgs,

    /// Insist on what a lock file says: the same pipeline, the same plugins, no others.
    #[arg(help_heading = "Plugins", long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = LOCK_FILE)]
    pub locked: Option<PathBuf>,

    /// Give an input another shape: `name:1,3,224,224`; a size that is `?` or a name is not fixed.
    #[arg(help_heading = "The model", long, value_name = "NAME:DIMS", visible_alias = "overwrite-input-shape")]
    pub input_shape: Vec<String>,

    /// Cut a part out of the model before anything runs: these values become its inputs, in this order, instead of
    /// those that it has. `--input-shape` gives them shapes, too.
    #[arg(help_heading = "The model", long, value_name = "VALUE,VALUE", value_delimiter = ',')]
    pub inputs: Vec<String>,

    /// Likewise, these values become the outputs; what they do not need is removed.
    #[arg(help_heading = "The model", long, value_name = "VALUE,VALUE", value_delimiter = ',')]
    pub outputs: Vec<String>,

    /// Let no pass remove or change these nodes, which are named by their own names or those of values that they compute.
    /// Passes see them as operators that they do not know, of the domain `relais.kept`.
    #[arg(help_heading = "The model", long, value_name = "NODE,NODE", value_delimiter = ',')]
    pub keep: Vec<String>,

    /// Leave out what the model does not compute with.
    #[arg(help_heading = "The output", long, value_name = "PART,PART", value_enum, value_delimiter = ',')]
    pub strip: Vec<Stripped>,

    /// Write the types that are known or inferred for the values inside graphs (`value_info`); otherwise those of the
    /// values for which the model has them.
    #[arg(help_heading = "The output", long)]
    pub infer_shapes: bool,

    /// Where weights go: into the model, into a file of its own beside it, or as they were.
    #[arg(help_heading = "The output", long, value_enum, default_value_t = ExternalData::Auto)]
    pub external_data: ExternalData,

    /// The number of threads over which functions are distributed; by default one for each processor.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,

    /// Write what was done as JSON.
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,

    #[command(flatten)]
    pub judge: JudgeArgs,

    /// Check the program after each pass.
    #[arg(help_heading = "Faults", long)]
    pub verify_each: bool,

    #[command(flatten)]
    pub reproducer: ReproducerArgs,

    #[command(flatten)]
    pub check: CheckArgs,

    #[command(flatten)]
    pub instruments: InstrumentArgs,
}

/// Where reproducers of failing passes are written.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Faults")]
pub(crate) struct ReproducerArgs {
    /// The folder that reproducers of failing passes go into; by default the one of the output.
    #[arg(long, value_name = "FOLDER")]
    pub reproducer_dir: Option<PathBuf>,

    /// Write no reproducer of a failing pass.
    #[arg(long, conflicts_with = "reproducer_dir")]
    pub no_reproducer: bool,
}

#[derive(Args, Debug)]
pub(crate) struct BuildArgs {
    /// The model: ONNX, or the text form.
    pub model: PathBuf,

    /// The source file to write, such as `model.c`: what it defines has the same name, and the header `model.h` stands
    /// beside it.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,

    /// The target: the pipeline `build-TARGET`, which is built in or a plugin's.
    #[arg(long, value_name = "TARGET", default_value = "c")]
    pub target: String,

    /// Compile a shared library, too, with the compiler that `CC` names, otherwise `cc`.
    #[arg(long)]
    pub shared: bool,

    /// Compile a static library, too: `libmodel.a`, by the compiler and the archiver that `CC` and `AR` name, otherwise `cc`
    /// and `ar`.
    #[arg(long = "static")]
    pub archive: bool,

    /// Put the weights into a file, `model.bin`, which the caller loads, rather than into arrays.
    #[arg(long)]
    pub weights: bool,

    /// Replace files beside the output, such as `model.bin`, that do not say that a build wrote them.
    #[arg(long)]
    pub overwrite: bool,

    /// Write a program, too, that runs the model on npy files: `model_main.c`.
    #[arg(long)]
    pub main: bool,

    /// Write a program, too, that times the model: `model_bench.c`.
    #[arg(long)]
    pub bench: bool,

    /// Write random inputs, too, and what the model computes for them, by the evaluators of the operators: `model_in_0.npy`
    /// and so on, and `model_out_0.npy`.
    #[arg(long)]
    pub test_vectors: bool,

    /// Give an input another shape: `name:1,3,224,224`.
    #[arg(help_heading = "The model", long, value_name = "NAME:DIMS", visible_alias = "overwrite-input-shape")]
    pub input_shape: Vec<String>,

    #[command(flatten)]
    pub judge: JudgeArgs,

    /// Check the program after each pass.
    #[arg(help_heading = "Faults", long)]
    pub verify_each: bool,

    #[command(flatten)]
    pub reproducer: ReproducerArgs,

    #[command(flatten)]
    pub pipeline: PipelineArgs,

    #[command(flatten)]
    pub plugins: PluginArgs,

    #[command(flatten)]
    pub instruments: InstrumentArgs,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Faults")]
pub(crate) struct JudgeArgs {
    /// Use the rules that the arguments and the pipeline state without judging them. Otherwise each is first applied to
    /// small modules that are made for it, and one that changes what a module computes ends the run.
    #[arg(long)]
    pub no_judge: bool,
}

#[derive(Args, Debug)]
pub(crate) struct LockArgs {
    /// The lock file to write.
    #[arg(short, long, value_name = "FILE", default_value = LOCK_FILE)]
    pub output: PathBuf,

    /// Lock this plugin, too: passes ask for one of its passes while they run.
    #[arg(long, value_name = "PLUGIN")]
    pub also: Vec<String>,

    #[command(flatten)]
    pub pipeline: PipelineArgs,

    #[command(flatten)]
    pub plugins: PluginArgs,
}

#[derive(Args, Debug)]
pub(crate) struct ReplayArgs {
    /// The reproducer: its folder, or the file `reproducer.json` in it.
    pub reproducer: PathBuf,

    #[command(flatten)]
    pub plugins: PluginArgs,

    #[command(flatten)]
    pub instruments: InstrumentArgs,
}

#[derive(Subcommand, Debug)]
pub(crate) enum PipelineCommand {
    /// Say everything that is wrong with a pipeline, without running it.
    Check(PipelineFileArgs),
    /// Print a pipeline as it is resolved: full names, every option, includes in place. It runs the same.
    Print(PipelineFileArgs),
    /// Print the JSON Schema of pipelines: what editors and validators know of passes, options and instruments.
    Schema {
        #[command(flatten)]
        plugins: PluginArgs,
    },
}

#[derive(Args, Debug)]
pub(crate) struct PipelineFileArgs {
    /// The pipeline's file, or the name of one that is built in or a plugin's.
    #[arg(value_name = "FILE")]
    pub pipeline: String,

    #[command(flatten)]
    pub adjust: AdjustArgs,

    #[command(flatten)]
    pub plugins: PluginArgs,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Passes")]
pub(crate) struct PipelineArgs {
    /// The pipeline's file, or the name of one that is built in or a plugin's.
    #[arg(short, long, value_name = "FILE", conflicts_with = "passes")]
    pub pipeline: Option<String>,

    /// The built-in pipeline of a level, -O0 to -O3; with `--pipeline` or `--passes`, the level of the context.
    #[arg(short = 'O', value_name = "LEVEL", value_parser = clap::value_parser!(u8).range(0..=3))]
    pub opt_level: Option<u8>,

    /// Run these passes, in this order, each on whatever its level.
    #[arg(long, value_name = "PASS,PASS")]
    pub passes: Option<String>,

    /// Rewrite calls by this rule, such as `Neg(Neg(x)) => x`: before the pipeline, or alone if none is chosen.
    #[arg(long, value_name = "RULE")]
    pub rule: Vec<String>,

    /// Rewrite calls by the rules in a file, in the same way: text, or pairs of functions if its name ends in `.onnx`.
    #[arg(long, value_name = "FILE")]
    pub rules: Vec<PathBuf>,

    /// Convert the model to this version of ONNX's operator set, up or down: before the pipeline and the rules, or alone if
    /// there are none.
    #[arg(long, value_name = "N")]
    pub target_opset: Option<u32>,

    /// Compute in this element type what can be, after the pipeline: `float16` or `bfloat16`. Inputs and outputs keep their
    /// types, unless `--set ToMixedPrecision.convert_io=true` is given.
    #[arg(long, value_name = "DTYPE")]
    pub dtype: Option<String>,

    #[command(flatten)]
    pub adjust: AdjustArgs,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Passes")]
pub(crate) struct AdjustArgs {
    /// Set an option of the context, or one of a pass as `Pass.option=value`.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,

    /// Leave passes out.
    #[arg(long, value_name = "PASS,PASS", value_delimiter = ',')]
    pub disable: Vec<String>,

    /// Turn passes on, whatever their levels.
    #[arg(long, value_name = "PASS,PASS", value_delimiter = ',')]
    pub require: Vec<String>,

    /// Add no passes of plugins at the pipeline's extension points.
    #[arg(long)]
    pub no_extensions: bool,

    /// Run a plugin in a process of its own, or `all` that have passes; `acme:memory=1GiB,pass-seconds=60` limits it.
    ///
    /// A plugin that crashes, hangs or ends its process is named then, and takes nothing along. It is kept from files, the
    /// network and other processes, except for what `read=PATH` and `env=NAME` open; `sandbox=none` opens everything,
    /// `sandbox=strict` insists. The limits are `memory`, `pass-seconds`, `threads` and `restarts`. `RELAIS_ISOLATE` isolates plugins, too: a list with blanks between them.
    #[arg(long, value_name = "PLUGIN")]
    pub isolate: Vec<String>,
}

#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    /// The model: ONNX, or the text form.
    pub model: PathBuf,

    /// Write to a file, large constants to one beside it; the result reads back as the same model.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Which types to print.
    #[arg(long, value_enum, default_value_t = Types::All)]
    pub types: Types,

    /// Print constants of any size; otherwise `…` for those of more than 16 elements, so that the text does not read back.
    #[arg(long, conflicts_with = "output")]
    pub full: bool,
}

#[derive(Args, Debug)]
pub(crate) struct RulesArgs {
    /// A file of rules, as text or, if its name ends in `.onnx`, as pairs of functions; or the name of a pass that
    /// consists of rules.
    #[arg(value_name = "FILE")]
    pub source: String,

    /// Write to a file: as pairs of functions if its name ends in `.onnx`, otherwise as text.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    #[command(flatten)]
    pub plugins: PluginArgs,
}

#[derive(Args, Debug)]
pub(crate) struct InspectArgs {
    /// The models: ONNX, or the text form.
    #[arg(required = true, value_name = "MODEL")]
    pub models: Vec<PathBuf>,

    /// Give an input another shape, as for `relais run`: sizes that depend on it become known.
    #[arg(long, value_name = "NAME:DIMS")]
    pub input_shape: Vec<String>,

    /// As JSON.
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    pub plugins: PluginArgs,
}

#[derive(Args, Debug)]
pub(crate) struct DiffArgs {
    /// A model: ONNX, or the text form.
    #[arg(value_name = "LEFT")]
    pub left: PathBuf,

    /// The other model.
    #[arg(value_name = "RIGHT")]
    pub right: PathBuf,

    /// Compare the values of all constants; otherwise only those of up to 16 integers, such as shapes.
    #[arg(long)]
    pub numeric: bool,

    /// How far floats may be apart, relative to the larger of the two.
    #[arg(long, value_name = "X", default_value_t = 0.0, value_parser = bound, allow_negative_numbers = true, requires = "numeric")]
    pub rtol: f64,

    /// How far floats may be apart in any case.
    #[arg(long, value_name = "X", default_value_t = 0.0, value_parser = bound, allow_negative_numbers = true, requires = "numeric")]
    pub atol: f64,

    /// As JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct ListArgs {
    /// The things to list.
    #[arg(value_enum, default_value_t = What::Passes)]
    pub what: What,

    /// As JSON.
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    pub plugins: PluginArgs,
}

#[derive(Args, Debug)]
pub(crate) struct DescribeArgs {
    /// Its name.
    pub name: String,

    /// As a page in Markdown: of a pass or an instrument.
    #[arg(long)]
    pub markdown: bool,

    #[command(flatten)]
    pub plugins: PluginArgs,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum What {
    Passes,
    Plugins,
    Operators,
    Options,
    Instruments,
    Pipelines,
    Rules,
    Analyses,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Types {
    /// All that are known.
    All,
    /// Those of parameters and functions.
    Signatures,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stripped {
    /// Documentation of the model, graphs, functions, nodes and values.
    Docs,
    /// Keys and values of the model, graphs, functions, nodes and values (`metadata_props`).
    Metadata,
    /// Names of nodes; values other than inputs and outputs are numbered.
    Names,
    /// Types of values inside graphs.
    ValueInfo,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ExternalData {
    /// Into the model or a file beside it, as they were; into a file when the model comes near 2 GiB.
    Auto,
    /// As `auto`; and an output beside its input goes on using the input's files.
    Keep,
    /// Into a file beside the model.
    Always,
    /// Into the model.
    Never,
}

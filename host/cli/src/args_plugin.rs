//! The arguments of `relais plugin`.

use super::args_search::PluginArgs;
use clap::{Args, Subcommand, builder::PossibleValuesParser};
use relais_conformance::Kind;
use std::path::PathBuf;

#[derive(Subcommand, Debug)]
pub(crate) enum PluginCommand {
    /// Make a crate for a plugin, which builds, is tested and loads as it is.
    New(NewArgs),
    /// Judge plugins without opening them: what they say of themselves, and everything that is wrong. Status 0 means
    /// that nothing is.
    Check(CheckArgs),
    /// Run a plugin on random modules with random options, and say everything that is wrong with what it does. Status 0
    /// means that nothing is.
    ///
    /// It runs in a process of its own: one that ends it, crashes or hangs is named, and the rest is judged anyway.
    Test(TestArgs),
    /// Write the records of a plugin that is not written in Rust, from a description in TOML.
    ///
    /// The result is C: an array in the section that a host reads them from, to be included in one source of the plugin, next
    /// to `relais.h`. `docs/c-plugins.md` says what the description may say.
    Record(RecordArgs),
    /// Copy plugins into your own folder, where every run finds them.
    ///
    /// The folder is `plugins` in `RELAIS_HOME`; where that is not set, in the folder `relais` of the system's folder for
    /// the data of your programs (`XDG_DATA_HOME`, `~/.local/share`). A plugin that is there in another version is
    /// replaced.
    Install(InstallArgs),
    /// Take a plugin out of your own folder.
    Remove(RemoveArgs),
    /// List the plugins in your own folder, those too that are not usable.
    List(InstalledArgs),
}

#[derive(Args, Debug)]
pub(crate) struct NewArgs {
    /// The crate's name, and the plugin's.
    pub name: String,

    /// A pass to begin with. A name without a dot is put into the crate's namespace. It is a rewrite, unless it is
    /// written as `rules:NAME`, `function:NAME`, `module:NAME` or `sequential:NAME`.
    #[arg(long, value_name = "[KIND:]NAME")]
    pub pass: Vec<String>,

    /// An operator to begin with, `NAME` in the crate's own domain or `DOMAIN::NAME`, with a type relation and an
    /// evaluator.
    #[arg(long, value_name = "[DOMAIN::]NAME")]
    pub operator: Vec<String>,

    /// An instrument to begin with.
    #[arg(long, value_name = "NAME")]
    pub instrument: Vec<String>,

    /// Where `relais-plugin-api` is: its folder.
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["api_version", "api_git"])]
    pub api_path: Option<PathBuf>,

    /// Which version of `relais-plugin-api` it takes from the registry; by default this host's own.
    #[arg(long, value_name = "VERSION", conflicts_with = "api_git")]
    pub api_version: Option<String>,

    /// The git repository that it takes `relais-plugin-api` from.
    #[arg(long, value_name = "URL")]
    pub api_git: Option<String>,

    /// The crate's folder; by default one of its name in the current folder.
    #[arg(short, long, value_name = "FOLDER")]
    pub output: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct RecordArgs {
    /// The description of a plugin in C, or a plugin in Python.
    #[arg(value_name = "FILE.toml|FILE.py")]
    pub file: PathBuf,

    /// Where the records are written, `-` being standard output; by default there, or beside a plugin in Python.
    #[arg(short, long, value_name = "FILE.h|FILE.passrec")]
    pub output: Option<PathBuf>,

    /// Isolate a plugin in Python like this while it says what it has, such as `read=data`.
    #[arg(long, value_name = "SETTINGS")]
    pub isolate: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    /// The plugins.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// As JSON.
    #[arg(long)]
    pub json: bool,

    /// Look at the files alone: nothing of them is run.
    #[arg(long)]
    pub no_open: bool,

    /// Open the plugin in this process, and say what comes of it.
    #[arg(long, hide = true)]
    pub open_here: bool,

    #[command(flatten)]
    pub plugins: PluginArgs,
}

#[derive(Args, Debug)]
pub(crate) struct TestArgs {
    /// The plugin.
    pub file: PathBuf,

    /// Judge these alone: passes, operators and instruments, by full or short name.
    #[arg(long, visible_alias = "pass", value_name = "NAME")]
    pub only: Vec<String>,

    /// The seed of modules and options: the same one gives the same findings.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,

    /// How many random modules each pass is given.
    #[arg(long, value_name = "N", default_value_t = 256)]
    pub modules: u16,

    /// Try this model, too; ONNX, or the text form.
    #[arg(long, value_name = "FILE")]
    pub module: Vec<PathBuf>,

    /// The time that a pass may take for each binding of a module, in microseconds.
    #[arg(long, value_name = "MICROSECONDS", default_value_t = 2000)]
    pub budget: u64,

    /// After how many seconds without an end something hangs.
    #[arg(long, value_name = "SECONDS", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..))]
    pub timeout: u16,

    /// How far floats may be apart before and after a pass, relative to their size.
    #[arg(long, value_name = "RELATIVE", default_value_t = 1e-4)]
    pub tolerance: f64,

    /// Find fault with passes and rules that changed none of the modules.
    #[arg(long)]
    pub strict: bool,

    /// Let this kind of finding be.
    #[arg(long, value_name = "KIND", value_parser = kinds())]
    pub allow: Vec<String>,

    /// Judge what the plugin adds to operators for this target; by default for the only one that it adds for.
    #[arg(long, value_name = "NAME")]
    pub target: Option<String>,

    /// Leave this option at its default: one that is there to change what a model computes.
    #[arg(long, value_name = "PASS.OPTION")]
    pub keep: Vec<String>,

    /// As JSON.
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    pub plugins: PluginArgs,
}

/// The kinds of finding.
fn kinds() -> PossibleValuesParser {
    PossibleValuesParser::new(Kind::ALL.iter().map(|kind| kind.name()))
}

#[derive(Args, Debug)]
pub(crate) struct InstallArgs {
    /// The plugins.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Run them in processes of their own wherever they are used, with settings such as `memory=1GiB,read=PATH`.
    ///
    /// The settings are those of `relais run --isolate`. They are written into a file beside the plugin's,
    /// `libacme.so.isolate`.
    #[arg(long, value_name = "SETTINGS", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub isolate: Option<String>,

    #[command(flatten)]
    pub plugins: PluginArgs,
}

#[derive(Args, Debug)]
pub(crate) struct RemoveArgs {
    /// The plugin's name.
    pub name: String,
}

#[derive(Args, Debug)]
pub(crate) struct InstalledArgs {
    /// As JSON.
    #[arg(long)]
    pub json: bool,
}

//! `relais`: runs pipelines over models, and lists passes and plugins.
//!
//! # Modules
//!
//! Each uses only those listed before it; one that is not listed is used by no other.
//!
//! 1. `args_check`: the arguments of `relais run` about checking the output
//! 2. `args_search`: the arguments that say where plugins are
//! 3. `args_filetest`: the arguments of `relais filetest`
//! 4. `args_plugin`: the arguments of `relais plugin`
//! 5. `args_instruments`: arguments about watching passes
//! 6. `args`: all arguments
//! 7. `terminal`: messages, and how they are printed
//! 8. `catalogue`: finding plugins, and what they provide
//! 9. `compile`: compiling the C of a build
//! 10. `model`: models that are read
//! 11. `progress`: how far a run is, on standard error
//! 12. `said`: the messages and findings of a run
//! 13. `instruments`: the instruments that arguments ask for
//! 14. `reproduce`: reproducers of failing passes, and `relais replay`
//! 15. `request`: the requests that arguments make
//! 16. `markdown`: a record as a page in Markdown
//! 17. `list`: `relais list` and `relais describe`
//! 18. `run`: `relais run` over one model
//! 19. `plugin_report`: the report of `relais plugin check` on a file
//! 20. `plugin_check`: `relais plugin check`
//! 21. `plugin_record`: `relais plugin record`
//! 22. `plugin_install`: `relais plugin install`, `remove` and `list`
//! 23. `plugin_names`: the names in a new crate
//! 24. `plugin_new`: `relais plugin new`
//! 25. `plugin_bench`: plugins that the host loads, as the conformance kit sees them
//! 26. `plugin_test`: `relais plugin test`
//! 27. `watch`: `relais watch`

mod args;
mod args_check;
mod args_filetest;
mod args_instruments;
mod args_plugin;
mod args_search;
mod build;
mod catalogue;
mod compile;
mod diff;
mod filetest;
mod inspect;
mod instruments;
mod list;
mod lock;
mod many;
mod markdown;
mod model;
mod pipeline;
mod plugin;
mod plugin_bench;
mod plugin_check;
mod plugin_install;
mod plugin_names;
mod plugin_new;
mod plugin_record;
mod plugin_report;
mod plugin_test;
mod progress;
mod reproduce;
mod request;
mod rules;
mod run;
mod said;
mod show;
mod signals;
mod terminal;
mod usage;
mod watch;

/// The first argument of the process of an isolated plugin.
const WORKER: &str = "worker";

use args::{Cli, Command};
use clap::{CommandFactory, Parser};
use std::process::ExitCode;
use terminal::CliError;

// Linked, so that the program works wherever it is copied to.
#[cfg(feature = "shipped")]
use {
    relais_emit_c as _, relais_evaluator as _, relais_gradient as _, relais_graph as _, relais_loops as _,
    relais_onnxruntime as _, relais_operators as _,
};

/// The exit status of a usage error; other failures end with 1.
const USAGE: u8 = 2;

/// Does what the arguments of this process say, and returns its exit status.
pub fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    if std::env::args_os().nth(1).is_some_and(|command| command == WORKER) {
        return relais::serve::serve();
    }
    relais::isolation::launch_workers_by(|| {
        let mut command = relais_conformance::program::this_program()?;
        // It ends with the host anyway.
        command.arg(WORKER).env_remove("RELAIS_LEASH");
        Ok(command)
    });
    relais::isolation::launch_python_by(|| {
        relais_conformance::program::python_worker(&relais_conformance::program::usual_python())
    });
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let arguments: Vec<_> = std::env::args_os().skip(1).collect();
            if let Some(error) = usage::meant(error.kind(), &arguments) {
                error.print();
                return ExitCode::from(error.status());
            }
            // Help and version are not errors, and their exit code shows it.
            let code = if error.use_stderr() { USAGE } else { 0 };
            // Nothing can be reported when the terminal is gone.
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    terminal::start_log(cli.verbosity());
    signals::watch();
    let result = match &cli.command {
        Command::Run(args) => many::run(args, cli.verbosity()),
        Command::Watch(args) => watch::watch(args),
        Command::Build(args) => build::build(args, cli.verbosity()),
        Command::Lock(args) => lock::lock(args, cli.verbosity()),
        Command::Replay(args) => reproduce::replay(args, cli.verbosity()),
        Command::Pipeline(command) => pipeline::pipeline(command, cli.verbosity()),
        Command::Show(args) => show::show(args),
        Command::Inspect(args) => inspect::inspect(args),
        // Statuses as those of diff(1).
        Command::Diff(args) => match diff::diff(args) {
            Ok(is_same) => return ExitCode::from(u8::from(!is_same)),
            Err(error) => {
                error.print();
                return ExitCode::from(USAGE);
            }
        },
        Command::Rules(args) => rules::rules(args),
        Command::List(args) => list::list(args),
        Command::Describe(args) => list::describe(args),
        Command::Plugin(command) => plugin::plugin(command),
        Command::Filetest(args) => filetest::filetest(args, cli.verbosity()),
        Command::Completions { shell } => completions(*shell),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            error.print();
            ExitCode::from(error.status())
        }
    }
}

fn completions(shell: clap_complete::Shell) -> Result<(), CliError> {
    let mut out = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "relais", &mut out);
    terminal::print(&String::from_utf8_lossy(&out))
}

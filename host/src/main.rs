//! The command line of Relais.

mod cli;

// Linked, so that the program works wherever it is copied to.
#[cfg(feature = "shipped")]
use {relais_evaluator as _, relais_graph as _, relais_operators as _};

fn main() -> std::process::ExitCode {
    cli::main()
}

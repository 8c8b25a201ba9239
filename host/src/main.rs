//! The command line of Relais.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}

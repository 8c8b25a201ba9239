//! The program `relais`.

use std::process::ExitCode;

fn main() -> ExitCode {
    relais_opt::main()
}

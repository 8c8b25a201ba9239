//! The program `relais` of the wheel.

use std::process::ExitCode;

fn main() -> ExitCode {
    relais_opt::main()
}

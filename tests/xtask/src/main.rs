//! Tasks of contributors: `cargo xtask COMMAND`.
//!
//! # Modules
//!
//! Each uses only those listed before it; one that is not listed is used by no other.
//!
//! 1. `failure`: why a command ends
//! 2. `repository`: the repository, and the programs that are run in it
//! 3. `command`: commands, with what `--help` says of them
//! 4. `change`: the files that were changed, and the packages that it belongs to
//! 5. `programs`: the programs with tests that cargo builds

mod bless;
mod change;
mod command;
mod failure;
mod fast;
mod new_pass;
mod programs;
mod repository;
mod scripts;

use command::Command;
use failure::Failure;
use repository::Repository;
use std::{env, process::ExitCode};

const COMMANDS: [&Command; 5] = [&fast::FAST, &scripts::CI, &scripts::FULL, &bless::BLESS, &new_pass::NEW_PASS];

fn main() -> ExitCode {
    match run(&env::args().skip(1).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::from(failure.status)
        }
    }
}

fn run(arguments: &[String]) -> Result<(), Failure> {
    let Some((name, arguments)) = arguments.split_first() else { return Err(Failure::usage(&help())) };
    if is_help(name) || name == "help" {
        print!("{}", help());
        return Ok(());
    }
    let Some(command) = COMMANDS.into_iter().find(|command| command.name == name) else {
        return Err(Failure::usage(&format!("error: there is no command `{name}`\n\n{}", help())));
    };
    let repository = Repository::around()?;
    if arguments.iter().any(|argument| is_help(argument)) {
        print!("{}", command.help(&repository));
        return Ok(());
    }
    (command.run)(&repository, arguments)
}

fn is_help(argument: &str) -> bool {
    matches!(argument, "-h" | "--help")
}

fn help() -> String {
    let row = |command: &&Command| format!("  {:<10}{}\n", command.name, command.about);
    format!(
        "What contributors to Relais do often\n\nUsage: cargo xtask <COMMAND>\n\nCommands:\n{}\n`cargo xtask <COMMAND> --help` \
         says more.\n",
        COMMANDS.iter().map(row).collect::<String>()
    )
}

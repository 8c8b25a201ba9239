//! Commands, with what `--help` says of them.

use crate::{failure::Failure, repository::Repository};

/// A command.
pub struct Command {
    pub name: &'static str,
    /// Its arguments.
    pub usage: &'static str,
    pub about: &'static str,
    pub details: fn(&Repository) -> String,
    pub run: fn(&Repository, &[String]) -> Result<(), Failure>,
}

impl Command {
    pub fn help(&self, repository: &Repository) -> String {
        let Self { name, usage, about, .. } = self;
        let usage = format!("cargo xtask {name} {usage}");
        format!("{about}\n\nUsage: {}\n\n{}", usage.trim_end(), (self.details)(repository))
    }

    /// An argument that the command does not have.
    pub fn unexpected(&self, argument: &str) -> Failure {
        let name = self.name;
        Failure::usage(&format!(
            "error: `cargo xtask {name}` has no argument `{argument}`\n  help: `cargo xtask {name} --help` lists those that it has"
        ))
    }
}

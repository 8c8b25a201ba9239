//! Commands, and how they fail.

use crate::repository::Repository;
use std::fmt;

/// A command, with what `--help` says of it.
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

/// Why a command ends, and its status.
pub struct Failure {
    pub status: u8,
    text: String,
}

impl Failure {
    /// Something that the user can change.
    pub fn new(message: &str, help: &str) -> Self {
        Self { status: 1, text: format!("error: {message}\n  help: {help}") }
    }

    /// A command line that makes no sense.
    pub fn usage(text: &str) -> Self {
        Self { status: 2, text: text.trim_end().to_owned() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

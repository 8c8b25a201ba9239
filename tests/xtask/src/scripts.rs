//! The scripts in `.ci`.

use crate::{
    command::Command,
    failure::Failure,
    repository::{Repository, show},
};
use std::{path::Path, process};

pub const CI: Command = Command {
    name: "ci",
    usage: "",
    about: "Run what continuous integration runs, in about a quarter of an hour",
    details: |_| {
        "This is `.ci/run`: formatting, lints, documentation and all tests. Run it before you open a pull request.\n"
            .to_owned()
    },
    run: |repository, arguments| match arguments {
        [] => script(repository, ".ci/run", &[]),
        [first, ..] => Err(CI.unexpected(first)),
    },
};

pub const FULL: Command = Command {
    name: "full",
    usage: "[PART…]",
    about: "Run what takes longer than continuous integration may, or parts of it",
    details: |repository| {
        let parts = parts(repository).unwrap_or_default().join(", ");
        format!(
            "This is `.ci/full`; all parts together take hours.\n\nArguments:\n  [PART…]  Of these, by default all: {parts}\n"
        )
    },
    run: |repository, arguments| {
        let parts = parts(repository)?;
        match arguments.iter().find(|argument| !parts.contains(*argument)) {
            Some(unknown) => Err(FULL.unexpected(unknown)),
            None => script(repository, ".ci/full", arguments),
        }
    },
};

fn script(repository: &Repository, path: &str, arguments: &[String]) -> Result<(), Failure> {
    show(process::Command::new(repository.root.join(path)).current_dir(&repository.root).args(arguments))
}

/// The parts of `.ci/full`, which are its default arguments.
fn parts(repository: &Repository) -> Result<Vec<String>, Failure> {
    let script = repository.read(Path::new(".ci/full"))?;
    let parts = script.split_once("${@:-").and_then(|(_, rest)| rest.split_once('}'));
    Ok(parts.map(|(parts, _)| parts.split(' ').map(str::to_owned).collect()).unwrap_or_default())
}

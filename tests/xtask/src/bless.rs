//! Golden files, filetests and generated pages, as the code makes them now.

use crate::{
    command::Command,
    failure::Failure,
    repository::{Repository, show},
};

pub const BLESS: Command = Command {
    name: "bless",
    usage: "[TEST…]",
    about: "Write golden files, filetests and generated pages as the code makes them now",
    details: |_| {
        format!(
            "It runs the tests that compare files of the repository with what the code makes, and lets them write the files \
             instead. Read what they wrote: `git diff`.\n\n\
             Arguments:\n  [TEST…]  Only the tests that have one of these in their names; by default\n           filetests, {}\n",
            TESTS.join(", ")
        )
    },
    run,
};

/// The tests that write, beside the filetests.
pub const TESTS: [&str; 17] = [
    "abi_document::",
    "bad_input::",
    "bad_passes::",
    "bad_plugins::",
    "c_plugins::",
    "boundary::",
    "build::",
    "checked::",
    "examples::each_runs_as_it_says",
    "golden::",
    "judged_rules::",
    "mistakes::",
    "pipeline_schema::",
    "plugin_life::",
    "python::test_docs",
    "reference_pages::",
    "untrue::",
];

fn run(repository: &Repository, arguments: &[String]) -> Result<(), Failure> {
    if let Some(option) = arguments.iter().find(|argument| argument.starts_with('-')) {
        return Err(BLESS.unexpected(option));
    }
    let wanted: Vec<&str> = match arguments {
        [] => ["filetests"].into_iter().chain(TESTS).collect(),
        some => some.iter().map(String::as_str).collect(),
    };
    // Pages name the filetests, so these come first. Their program takes a single filter.
    let (filetests, others): (Vec<&str>, Vec<&str>) = wanted.into_iter().partition(|test| is_filetest(test));
    for filter in filetests {
        let mut cargo = repository.cargo(&["test", "--release", "--workspace", "--test", "filetests", "--quiet", "--"]);
        cargo.args(Some(filter).filter(|filter| *filter != "filetests"));
        show(cargo.env("RELAIS_BLESS", "1"))?;
    }
    if !others.is_empty() {
        let mut cargo = repository.cargo(&["test", "--release", "--workspace", "--no-fail-fast", "--quiet"]);
        cargo.args(["--test", "all", "--test", "repository", "--"]).args(others);
        show(cargo.env("RELAIS_BLESS", "1"))?;
    }
    Ok(())
}

/// Whether a filter is one of filetests, whose names are `PASS/CASE`.
fn is_filetest(filter: &str) -> bool {
    filter == "filetests" || filter.contains('/')
}

//! Format, lint and test what a change can affect.

use crate::{
    change::{Package, files, package_of, packages},
    command::Command,
    failure::Failure,
    programs::{Program, build},
    repository::{Repository, SETTINGS, show},
};
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process,
};

pub const FAST: Command = Command {
    name: "fast",
    usage: "[--since <REVISION>]",
    about: "Format, lint, and run the tests that a change is likely to fail, in about a minute",
    details: |_| {
        "It looks at the files that differ from the last commit, new ones included, and runs, in this order:\n\n  \
         - the formatter, over everything;\n  \
         - clippy, where warnings are errors;\n  \
         - all filetests, and the tests of the repository's texts: architecture, English, generated pages;\n  \
         - the tests of the crates that changed, and the modules of `tests/tests/all` that changed;\n  \
         - the conformance kit on the passes in files that changed.\n\n\
         It stops at the first failure. `cargo xtask ci` runs everything.\n\n\
         Options:\n  --since <REVISION>  Look at what differs from this commit: `main`, `HEAD~3`\n"
            .to_owned()
    },
    run,
};

/// The package with the end-to-end tests.
const END_TO_END: &str = "tests";

fn run(repository: &Repository, arguments: &[String]) -> Result<(), Failure> {
    let since = match arguments {
        [] => "HEAD",
        [option, revision] if option == "--since" => revision,
        [first, ..] => return Err(FAST.unexpected(first)),
    };
    let files = files(repository, since)?;
    if files.is_empty() {
        let help = "`cargo xtask fast --since REVISION` looks at what differs from another commit";
        return Err(Failure::new(&format!("nothing differs from `{since}`"), help));
    }
    show(&mut repository.cargo(&["fmt", "--all"]))?;
    let clippy = ["clippy", "--release", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"];
    show(&mut repository.cargo(&clippy))?;
    test(repository, &Change::new(repository, files)?)
}

/// Files that were changed, and their packages.
struct Change {
    files: Vec<PathBuf>,
    packages: BTreeSet<Package>,
}

impl Change {
    fn new(repository: &Repository, files: Vec<PathBuf>) -> Result<Self, Failure> {
        let all = packages(repository)?;
        let packages = files.iter().filter_map(|file| package_of(repository, &all, file)).cloned().collect();
        Ok(Self { files, packages })
    }

    /// The modules of the end-to-end tests that changed.
    fn modules(&self) -> BTreeSet<String> {
        let below = |file: &PathBuf| {
            let rest = file.strip_prefix("tests/tests/all").ok()?;
            let name = Path::new(rest.iter().next()?).file_stem()?.to_str()?;
            (name != "main").then(|| format!("{name}::"))
        };
        self.files.iter().filter_map(below).collect()
    }

    /// The full names of the passes in the files of plugins that changed.
    fn passes(&self, repository: &Repository) -> BTreeSet<String> {
        let is_of_plugin = |file: &&PathBuf| file.starts_with("plugins") && file.extension().is_some_and(|e| e == "rs");
        let sources = self.files.iter().filter(is_of_plugin).filter_map(|file| repository.read(file).ok());
        sources.flat_map(|source| passes(&source)).collect()
    }

    /// The targets with tests that can be affected, as arguments of cargo.
    fn targets(&self, repository: &Repository) -> Vec<&'static str> {
        let mut targets = vec!["--test", "filetests", "--test", "repository"];
        let others = || self.packages.iter().filter(|package| package.folder != Path::new(END_TO_END));
        let has = |folder: &str| others().any(|package| repository.root.join(&package.folder).join(folder).is_dir());
        if has("tests/all") || !self.modules().is_empty() {
            targets.extend(["--test", "all"]);
        }
        if others().any(|package| has_unit_tests(&repository.root.join(&package.folder).join("src"))) {
            // Not `--lib`: that would build the tests of libraries that say that they have none.
            targets = vec!["--tests"];
        }
        if !self.passes(repository).is_empty() {
            targets.extend(["--test", "linked"]);
        }
        targets
    }
}

/// The names with a dot that a source gives: those of passes.
fn passes(source: &str) -> Vec<String> {
    let named = source.split("name = \"").skip(1).filter_map(|rest| rest.split('"').next());
    named.filter(|name| name.contains('.')).map(str::to_owned).collect()
}

fn has_unit_tests(folder: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(folder) else { return false };
    entries.flatten().map(|entry| entry.path()).any(|path| match path.is_dir() {
        true => has_unit_tests(&path),
        false => std::fs::read_to_string(path).is_ok_and(|source| source.contains("#[cfg(test)]")),
    })
}

fn test(repository: &Repository, change: &Change) -> Result<(), Failure> {
    let targets = change.targets(repository);
    println!("$ cargo test --release --workspace --no-run {}", targets.join(" "));
    let programs = build(repository, &targets)?;
    let run = |program: &Program, filters: &BTreeSet<String>| {
        let mut test = process::Command::new(&program.file);
        test.current_dir(repository.root.join(&program.folder)).args(["--quiet"]).args(filters);
        // As cargo does it, for tests of packages and for what they start.
        test.env("CARGO_MANIFEST_DIR", repository.root.join(&program.folder)).envs(SETTINGS);
        test
    };
    let everything = BTreeSet::new();
    let (modules, passes) = (change.modules(), change.passes(repository));
    for program in &programs {
        let is_end_to_end = program.folder == Path::new(END_TO_END);
        let is_changed = change.packages.iter().any(|package| package.folder == program.folder);
        match program.name.as_str() {
            "filetests" | "repository" => show(&mut run(program, &everything))?,
            "linked" if !passes.is_empty() => {
                let judged = ["graph_passes_are_honest", "other_plugins_are_honest"].map(str::to_owned).into();
                let only = passes.iter().cloned().collect::<Vec<_>>().join(",");
                show(run(program, &judged).env("RELAIS_ONLY", only))?;
            }
            "all" if is_end_to_end && !modules.is_empty() => show(&mut run(program, &modules))?,
            _ if is_changed && !is_end_to_end => show(&mut run(program, &everything))?,
            _ => {}
        }
    }
    println!("ok; `cargo xtask ci` runs everything");
    Ok(())
}

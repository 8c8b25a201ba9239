//! The files that a new pass begins with.

use crate::{command::Command, failure::Failure, repository::Repository};
use std::path::{Path, PathBuf};

pub const NEW_PASS: Command = Command {
    name: "new-pass",
    usage: "[--plugin <PLUGIN>] [--kind <KIND>] <NAME>",
    about: "Begin a pass: its file, its `mod` line and its first filetest",
    details: |_| {
        "The pass builds, and does nothing yet: its filetest says so and passes. CI fails until it has a description, a filetest \
         in which it changes something, and its page (`cargo xtask bless`).\n\n\
         Arguments:\n  <NAME>             Its name without the namespace, such as `FuseGelu`; its file is `fuse_gelu.rs`\n\n\
         Options:\n  --plugin <PLUGIN>  The folder in `plugins/` that it goes into [default: graph]\n  \
         --kind <KIND>      What it is given [default: rewrite]\n                     \
         - rewrite:  one call at a time\n                     \
         - function: one function at a time\n                     \
         - module:   the whole module\n"
            .to_owned()
    },
    run,
};

/// The kinds of passes, each with the file that it begins with.
const KINDS: [(&str, &str); 3] = [
    ("rewrite", include_str!("../templates/rewrite.rs.in")),
    ("function", include_str!("../templates/function.rs.in")),
    ("module", include_str!("../templates/module.rs.in")),
];

struct NewPass {
    name: String,
    plugin: String,
    template: &'static str,
}

fn run(repository: &Repository, arguments: &[String]) -> Result<(), Failure> {
    let pass = read(arguments)?;
    let module = snake_case(&pass.name);
    let folder = Path::new("plugins").join(&pass.plugin).join("src");
    let library = folder.join("lib.rs");
    if !repository.root.join(&library).is_file() {
        let help = "`--plugin` names a folder in `plugins/`";
        return Err(Failure::new(&format!("there is no plugin `{}`", pass.plugin), help));
    }
    let source = folder.join(&module).with_extension("rs");
    let case = Path::new("tests/filetests").join(&pass.name).join("other_calls_stay.relay");
    refuse_existing(repository, [&source, &case])?;
    let lines = with_module(&repository.read(&library)?, &module);
    repository.write(&source, &pass.template.replace("{{name}}", &pass.name).replace("{{function}}", &module))?;
    repository.write(&library, &lines)?;
    repository.write(&case, include_str!("../templates/other_calls_stay.relay.in"))?;
    println!(
        "write the pass in {}, and a filetest in which it changes something: `cargo xtask bless {}/` fills in what is expected",
        source.display(),
        pass.name
    );
    Ok(())
}

fn read(arguments: &[String]) -> Result<NewPass, Failure> {
    let (mut name, mut plugin, mut kind) = (None, "graph", "rewrite");
    let mut left = arguments.iter().map(String::as_str);
    while let Some(argument) = left.next() {
        let mut value = || left.next().ok_or_else(|| Failure::usage(&format!("error: `{argument}` needs a value")));
        match argument {
            "--plugin" => plugin = value()?,
            "--kind" => kind = value()?,
            _ if argument.starts_with('-') || name.is_some() => return Err(NEW_PASS.unexpected(argument)),
            _ => name = Some(argument),
        }
    }
    let Some(name) = name else { return Err(Failure::usage("error: `cargo xtask new-pass` needs a name")) };
    let Some((_, template)) = KINDS.iter().find(|(known, _)| *known == kind) else {
        return Err(Failure::usage(&format!(
            "error: `{kind}` is not a kind of pass\n  help: rewrite, function, module"
        )));
    };
    let is_name = name.starts_with(|c: char| c.is_ascii_uppercase()) && name.chars().all(|c| c.is_ascii_alphanumeric());
    if !is_name {
        let message = format!("error: `{name}` is not the name of a pass\n  help: a name is like `FuseGelu`");
        return Err(Failure::usage(&message));
    }
    Ok(NewPass { name: name.to_owned(), plugin: plugin.to_owned(), template })
}

fn refuse_existing(repository: &Repository, paths: [&PathBuf; 2]) -> Result<(), Failure> {
    match paths.into_iter().find(|path| repository.root.join(path).exists()) {
        Some(path) => Err(Failure::new(&format!("`{}` is there already", path.display()), "choose another name")),
        None => Ok(()),
    }
}

/// The name of the file with a pass.
fn snake_case(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    let mut snake = String::new();
    for (at, c) in letters.iter().enumerate() {
        let follows = |is: fn(&char) -> bool| at > 0 && is(&letters[at - 1]);
        let ends_capitals =
            follows(char::is_ascii_uppercase) && letters.get(at + 1).is_some_and(char::is_ascii_lowercase);
        if c.is_ascii_uppercase() && (follows(char::is_ascii_lowercase) || ends_capitals) {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake
}

/// A library with one more module, in the order of their names.
fn with_module(library: &str, module: &str) -> String {
    let name = |line: &str| {
        let line = line.strip_prefix("pub ").unwrap_or(line);
        Some(line.strip_prefix("mod ")?.strip_suffix(';')?.to_owned())
    };
    let lines: Vec<&str> = library.lines().collect();
    let later = lines.iter().position(|line| name(line).is_some_and(|name| *name > *module));
    let last = lines.iter().rposition(|line| name(line).is_some());
    let at = later.or(last.map(|last| last + 1)).unwrap_or(lines.len());
    let line = format!("pub mod {module};");
    let lines = lines[..at].iter().copied().chain([line.as_str()]).chain(lines[at..].iter().copied());
    lines.map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Each pass is in the file of its name.
    #[test]
    fn files_are_called_as_those_of_the_passes_that_are_there() {
        let plugins = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins");
        let mut n_passes = 0;
        for entry in fs::read_dir(plugins.join("graph/src")).unwrap() {
            let path = entry.unwrap().path();
            let Ok(source) = fs::read_to_string(&path) else { continue };
            let names: Vec<&str> =
                source.split("name = \"relais.").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
            if let [name] = names[..] {
                assert_eq!(snake_case(name), path.file_stem().unwrap().to_str().unwrap());
                n_passes += 1;
            }
        }
        assert!(n_passes > 30, "{n_passes}");
    }

    #[test]
    fn a_module_takes_its_place_among_the_others() {
        let library = "//! Text.\n\nmod b;\npub mod d;\n\nplugin! {}\n";
        let with = |module| with_module(library, module);
        assert_eq!(with("a"), "//! Text.\n\npub mod a;\nmod b;\npub mod d;\n\nplugin! {}\n");
        assert_eq!(with("c"), "//! Text.\n\nmod b;\npub mod c;\npub mod d;\n\nplugin! {}\n");
        assert_eq!(with("e"), "//! Text.\n\nmod b;\npub mod d;\npub mod e;\n\nplugin! {}\n");
    }
}

//! Command lines that are nearly right: what to type instead.

use super::terminal::CliError;
use clap::error::ErrorKind;
use relais::words::shell_word;
use relais_session::model::Format;
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

/// Returns an error with the command line that was probably meant, of one that clap refuses: a model in the place of the
/// command, or a run whose output is not behind `-o`. `arguments` are without the program.
pub(crate) fn meant(kind: ErrorKind, arguments: &[OsString]) -> Option<CliError> {
    let output = |rest: &[OsString]| -> Option<String> {
        let at = rest.iter().position(|it| it == "-o" || it == "--output");
        let named = at.and_then(|at| rest.get(at + 1));
        named.or_else(|| rest.first().filter(|it| is_model(Path::new(it)))).map(|it| shell_word(Path::new(it)))
    };
    let run = |model: &Path, output: Option<String>| {
        format!("relais run {} -o {}", shell_word(model), output.unwrap_or_else(|| "out.onnx".to_owned()))
    };
    let second = |more: &[OsString]| more.first().filter(|it| is_model(Path::new(it))).cloned();
    let (first, rest) = arguments.split_first()?;
    let (model, more) = match rest.split_first() {
        Some((model, more)) if first == "run" => (Some(model), more),
        _ => (None, rest),
    };
    match (kind, model) {
        (ErrorKind::InvalidSubcommand, _) if is_model(Path::new(first)) => {
            let model = PathBuf::from(first);
            let error = CliError::usage(format!("`{}` is a model where a command is expected", model.display()));
            Some(error.help(format!("type `{}`; `relais --help` lists the commands", run(&model, output(rest)))))
        }
        (ErrorKind::MissingRequiredArgument, Some(model)) if is_model(Path::new(model)) && second(more).is_some() => {
            let second = second(more)?;
            let error = CliError::usage(format!("`{}` is a second model", Path::new(&second).display()));
            let shown = run(Path::new(model), Some(shell_word(Path::new(&second))));
            Some(error.help(format!("if the result goes there, type `{shown}`")))
        }
        (ErrorKind::MissingRequiredArgument, Some(model)) if is_model(Path::new(model)) && output(more).is_none() => {
            let error = CliError::usage("it is not stated where the result goes");
            Some(error.help(format!("type `{}`", run(Path::new(model), None))))
        }
        _ => None,
    }
}

/// Whether an argument is probably the file of a model.
fn is_model(path: &Path) -> bool {
    Format::of_name(path).is_some()
}

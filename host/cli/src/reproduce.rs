//! Reproducers of failing passes: writing them, and `relais replay`.

use super::{
    args::{ReplayArgs, ReproducerArgs, Verbosity},
    args_search::PluginArgs,
    catalogue,
    progress::Progress,
    said,
    terminal::{self, CliError},
    watch,
};
use relais::{
    manager::{self, FailureKind, PluginState, Report, Reproducer, ReproducerError, RunOptions, free_folder},
    pass::Catalogue,
    pipeline::Pipeline,
};
use relais_plugin_api::boundary::abi::error_kind;
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// Writes a reproducer of each pass that failed, one for each error of a pass. If one cannot be written, that is a
/// warning: the result of the run itself matters more.
pub(crate) fn write(
    args: &ReproducerArgs,
    output: &Path,
    pipeline: &Pipeline,
    report: &Report,
    catalogue: &dyn Catalogue,
) -> Vec<PathBuf> {
    let mut told = BTreeSet::new();
    let mut written = Vec::new();
    if args.no_reproducer {
        return written;
    }
    let dir = args.reproducer_dir.as_deref();
    for fault in &report.faults {
        let rec = fault.error.rec();
        if rec.kind == error_kind::CANCELLED || !told.insert((fault.pass, rec.message.to_string())) {
            continue;
        }
        match write_one(dir, output, |folder| Reproducer::write(folder, pipeline, fault, catalogue)) {
            Ok(folder) => written.push(folder),
            Err(error) => {
                terminal::warn(format_args!("no reproducer was written: {error}"));
                break;
            }
        }
    }
    written
}

fn write_one(
    dir: Option<&Path>,
    output: &Path,
    write: impl Fn(&Path) -> Result<(), ReproducerError>,
) -> Result<PathBuf, String> {
    let base = match (dir, output.file_name()) {
        (Some(dir), Some(name)) => {
            fs::create_dir_all(dir).map_err(|error| format!("`{}`: {error}", dir.display()))?;
            dir.join(name)
        }
        _ => output.to_owned(),
    };
    let folder = free_folder(&base, "repro")
        .ok_or_else(|| format!("there are a hundred beside `{}` already: remove some", base.display()))?;
    write(&folder).map_err(|error| error.to_string())?;
    Ok(folder)
}

/// Adds to an error where its reproducer is.
pub(crate) fn explain(error: CliError, reproducers: &[PathBuf], plugins: &PluginArgs) -> CliError {
    let Some(last) = reproducers.last() else { return error };
    let error = reproducers
        .iter()
        .fold(error, |error, path| error.line(format_args!("note: `{}` is a reproducer", path.display())));
    error.help(format!("see it fail again: `{}`", command(last, plugins)))
}

/// Prints where the reproducers of passes that the run went on without are.
pub(crate) fn note(reproducers: &[PathBuf], plugins: &PluginArgs) {
    for path in reproducers {
        terminal::note(format_args!(
            "`{}` is a reproducer\n  help: see it fail again: `{}`",
            path.display(),
            command(path, plugins)
        ));
    }
}

/// The command that replays a reproducer with the same plugins.
fn command(reproducer: &Path, plugins: &PluginArgs) -> String {
    let mut command = format!("relais replay {}", terminal::shell_word(reproducer));
    plugins.plugin.iter().for_each(|path| command.push_str(&format!(" --plugin {}", terminal::shell_word(path))));
    plugins
        .plugin_dir
        .iter()
        .for_each(|path| command.push_str(&format!(" --plugin-dir {}", terminal::shell_word(path))));
    if plugins.allow_writable_plugins {
        command.push_str(" --allow-writable-plugins");
    }
    command
}

/// Runs a failing pass again.
pub(crate) fn replay(args: &ReplayArgs, verbosity: Verbosity) -> Result<(), CliError> {
    let shown = args.reproducer.display();
    let reproducer = Reproducer::read(&args.reproducer).map_err(|error| match error {
        ReproducerError::Pipeline(faults) => CliError::from(faults),
        error => {
            let error = CliError::new(format!("reproducer `{shown}` cannot be read: {error}"));
            error.help("a reproducer is a folder that `relais run` writes when a pass fails")
        }
    })?;
    let Reproducer { module, pipeline: mut spec, facts } = reproducer;
    watch::add(&args.watch, &mut spec)?;
    let registry = catalogue::registry_for(&args.plugins, &spec)?;
    let plugins = PluginState::all(&registry);
    for difference in facts.differences(&plugins) {
        terminal::warn(format_args!("not as it was when the pass failed: {difference}"));
    }
    let pipeline = spec.resolve(&registry)?;
    let progress = Progress::new(verbosity);
    let options = RunOptions {
        output: Some(progress.output()),
        stop_after: args.watch.stop_after,
        progress: Some(&progress),
        ..RunOptions::default()
    };
    let outcome = manager::run(&pipeline, &module, &registry, &options);
    drop(progress);
    let failure = match outcome {
        Ok((_, report)) => {
            said::say(&report, verbosity);
            said::findings(&report);
            return terminal::print(&format!("`{}` no longer fails\n", facts.pass));
        }
        Err(failure) => failure,
    };
    said::say(&failure.report, verbosity);
    said::findings(&failure.report);
    let error = CliError::new(&failure).code(failure.kind.code());
    let is_same = match &failure.kind {
        FailureKind::Pass { pass, error, .. } => *pass == facts.pass && facts.is_same_error(error),
        _ => false,
    };
    Err(match is_same {
        true => error.line("note: this is the error that was recorded"),
        false => error.line(format_args!("note: another error was recorded: {}", facts.message)),
    })
}

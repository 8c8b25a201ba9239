//! Reproducers of failing passes: where they are, and `relais replay`.

use super::{
    args::{ReplayArgs, Verbosity},
    args_search::PluginArgs,
    catalogue, instruments,
    progress::Progress,
    said,
    terminal::{self, CliError},
};
use relais::{
    manager::{FailureKind, PluginState, Reproducer, ReproducerError},
    words::shell_word,
};
use relais_session::{
    Course, Error, Judging, Request, StopCause, Stopped,
    model::{DeclaredSizes, Model, Part},
    pipeline::{Chosen, PipelineRequest},
};
use std::path::{Path, PathBuf};

/// Prints what ran before a request was stopped, and returns the error.
pub(crate) fn stopped(mut stopped: Stopped, plugins: &PluginArgs, verbosity: Verbosity) -> CliError {
    if let Some(short) = said_already(&stopped) {
        stopped.error = short;
    }
    let reproducers = match &stopped.course {
        Some(Course { report, reproducers, .. }) => {
            said::say(report, verbosity);
            said::findings(report);
            reproducers.clone()
        }
        None => Vec::new(),
    };
    let is_failure = matches!(stopped.cause, StopCause::Failed(_));
    let error = CliError::from(Box::new(stopped));
    if is_failure { explain(error.line("nothing was written"), &reproducers, plugins) } else { error }
}

/// The words left to say of a pass that failed with what it said about the program, which is printed before.
fn said_already(stopped: &Stopped) -> Option<Error> {
    let (StopCause::Failed(failure), Some(course)) = (&stopped.cause, &stopped.course) else { return None };
    let FailureKind::Pass { pass, plugin, version, error, .. } = &failure.kind else { return None };
    let of = if plugin.is_empty() { String::new() } else { format!(" of plugin `{plugin}` {version}") };
    let short = || Error::new(format_args!("pass `{pass}`{of} failed for this reason")).with_code(failure.kind.code());
    course.report.has_said(error).then(short)
}

/// Adds to an error where its reproducer is.
fn explain(error: CliError, reproducers: &[PathBuf], plugins: &PluginArgs) -> CliError {
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
    let mut command = format!("relais replay {}", shell_word(reproducer));
    plugins.plugin.iter().for_each(|path| command.push_str(&format!(" --plugin {}", shell_word(path))));
    plugins.plugin_dir.iter().for_each(|path| command.push_str(&format!(" --plugin-dir {}", shell_word(path))));
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
    let Reproducer { module, pipeline, facts } = reproducer;
    let session = catalogue::session(&args.plugins)?;
    let request = Request {
        model: Model::made(module).into(),
        part: Part { declared_sizes: DeclaredSizes::Believed, ..Part::default() },
        pipeline: PipelineRequest { chosen: Chosen::Given(Box::new(pipeline)), ..PipelineRequest::default() },
        instruments: instruments::requested(&args.instruments)?,
        judging: Judging::Trust,
        stop_after: args.instruments.stop_after,
        ..Request::default()
    };
    for difference in facts.differences(&PluginState::all(session.registry())) {
        terminal::warn(format_args!("not as it was when the pass failed: {difference}"));
    }
    let progress = Progress::new(verbosity);
    let done = session.run_with(&progress, &request);
    drop(progress);
    let stopped = match done {
        Ok(finished) => {
            said::say(&finished.course.report, verbosity);
            said::findings(&finished.course.report);
            return terminal::print(&format!("`{}` no longer fails\n", facts.pass));
        }
        Err(stopped) => stopped,
    };
    if let Some(Course { report, .. }) = &stopped.course {
        said::say(report, verbosity);
        said::findings(report);
    }
    let is_same = match &stopped.cause {
        StopCause::Failed(failure) => match &failure.kind {
            FailureKind::Pass { pass, error, .. } => Some(*pass == facts.pass && facts.is_same_error(error)),
            _ => Some(false),
        },
        _ => None,
    };
    let error = CliError::from(stopped);
    Err(match is_same {
        Some(true) => error.line("note: this is the error that was recorded"),
        Some(false) => error.line(format_args!("note: another error was recorded: {}", facts.message)),
        None => error,
    })
}

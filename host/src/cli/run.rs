//! `relais run`.

use super::{
    args::{RunArgs, Verbosity},
    catalogue, lock,
    model::{self, Model},
    progress::Progress,
    reproduce, shape, spec,
    terminal::{self, CliError},
    watch,
};
use relais::{
    manager::{self, Fate, Report, RunOptions, Said},
    onnx::WriteReport,
    pass::Remarks,
    pipeline::{Addition, spec::Verify},
    report::{Summary, report_json, table, write_json},
};
use relais_plugin_api::diagnostics::{PRINTED, Severity};
use serde_json::json;
use std::{
    env, fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// Runs a pipeline over a model.
pub(crate) fn run(args: &RunArgs, verbosity: Verbosity) -> Result<(), CliError> {
    let began = Instant::now();
    model::check_output(&args.output)?;
    if let Some(report) = &args.report {
        model::check_output(report)?;
    }
    let all = catalogue::registry(&args.plugins);
    let mut spec = spec::spec(&args.pipeline, &all)?;
    let registry = catalogue::choose(&all, &spec, &args.plugins);
    let registry = match &args.locked {
        Some(path) => lock::enforce(path, &spec, &registry)?,
        None => registry,
    };
    watch::add(&args.watch, &mut spec)?;
    let pipeline = spec.resolve(&registry)?;
    if verbosity > Verbosity::Quiet {
        pipeline.warnings.iter().for_each(terminal::warn);
        spec::say_additions(&pipeline);
    }
    let progress = Progress::new(verbosity);
    progress.says("reading the model");
    let Model { mut module, format, bytes, file } = model::read(&args.model)?;
    shape::set_input_shapes(&mut module, &args.input_shape, &registry)?;
    if verbosity > Verbosity::Quiet {
        watch::check_functions(&args.watch, &module);
        registry.operator_conflicts(&module).iter().for_each(terminal::warn);
    }
    let before = Summary::of(&module, bytes, &file);
    let options = RunOptions {
        verify: args.verify_each.then_some(Verify::Each),
        remarks: if verbosity >= Verbosity::Debug { Remarks::Show } else { Remarks::Hide },
        output: Some(progress.output()),
        stop_after: args.watch.stop_after,
        progress: Some(&progress),
        ..RunOptions::default()
    };
    let here = env::current_dir();
    let run = || manager::run(&pipeline, &module, &registry, &options);
    let outcome = match args.threads {
        None => run(),
        Some(n_threads) => threads(n_threads)?.install(run),
    };
    if let Ok(here) = here {
        // A plugin may have gone elsewhere, and the output must not follow it. Where that fails, so will the output.
        let _ = env::set_current_dir(here);
    }
    let report = match &outcome {
        Ok((_, report)) => report,
        Err(failure) => &failure.report,
    };
    let reproducers = match args.no_reproducer {
        true => Vec::new(),
        false => reproduce::write(args.reproducer_dir.as_deref(), &args.output, &pipeline, report, &registry),
    };
    let additions = &pipeline.additions;
    let seen = Seen { args, pipeline: pipeline.print(), additions, before: &before, reproducers: &reproducers };
    let (module, report) = match outcome {
        Ok(done) => done,
        Err(failure) => {
            drop(progress);
            say(&failure.report, verbosity);
            findings(&failure.report);
            let error = failure.to_string();
            if let Some(path) = &args.report {
                let mut json = seen.report(&failure.report, None, began.elapsed());
                json["error"] = error.as_str().into();
                write_report(path, &json)?;
            }
            let error = CliError::new(format!("{error}\n  nothing was written")).code(failure.kind.code());
            return Err(reproduce::explain(error, &reproducers, &args.plugins));
        }
    };
    progress.says("writing the model");
    let format = model::output_format(&args.output, format);
    let written = model::write(&module, &args.output, format, args.external_data)?;
    drop(progress);
    let elapsed = began.elapsed();
    say(&report, verbosity);
    if verbosity > Verbosity::Quiet {
        reproduce::note(&reproducers, &args.plugins);
    }
    // What was written is counted as the next reader will see it: some constants are nodes in the file.
    let after = match verbosity > Verbosity::Quiet || args.report.is_some() {
        true => summary_of(&args.output, &written)?,
        false => Summary::default(),
    };
    if verbosity > Verbosity::Quiet {
        terminal::print(&table(&before, &after, elapsed))?;
        stopped(args, &report);
    }
    findings(&report);
    match &args.report {
        Some(path) => write_report(path, &seen.report(&report, Some(&after), elapsed)),
        None => Ok(()),
    }
}

/// What is known of a run before its end.
struct Seen<'a> {
    args: &'a RunArgs,
    pipeline: String,
    additions: &'a [Addition],
    before: &'a Summary,
    reproducers: &'a [PathBuf],
}

impl Seen<'_> {
    fn report(&self, report: &Report, after: Option<&Summary>, elapsed: Duration) -> serde_json::Value {
        json!({
            "model": shown(&self.args.model),
            "output": after.map(|_| shown(&self.args.output)),
            "pipeline": self.pipeline,
            "extensions": self.additions.iter().map(|it| json!({
                "point": it.point,
                "pass": it.pass,
                "plugin": it.plugin,
                "version": it.version,
            })).collect::<Vec<_>>(),
            "before": self.before.to_json(),
            "after": after.map(Summary::to_json),
            "run": report_json(report),
            "reproducers": self.reproducers.iter().map(|path| shown(path)).collect::<Vec<_>>(),
            "seconds": elapsed.as_secs_f64(),
        })
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

fn summary_of(output: &Path, written: &WriteReport) -> Result<Summary, CliError> {
    let Model { module, bytes, file, .. } = model::read(output)?;
    let mut summary = Summary::of(&module, bytes, &file);
    summary.external_bytes = summary.external_bytes.max(external_bytes(written));
    Ok(summary)
}

fn external_bytes(written: &WriteReport) -> u64 {
    let own: u64 = written.data_files.iter().map(|(_, len)| len).sum();
    let shared = written.shared_files.iter().filter_map(|path| fs::metadata(path).ok());
    own + shared.map(|metadata| metadata.len()).sum::<u64>()
}

fn write_report(path: &Path, report: &serde_json::Value) -> Result<(), CliError> {
    let written = write_json(path, report);
    written.map_err(|error| CliError::new(format!("report `{}` cannot be written: {error}", path.display())))
}

/// Says what passes and the driver said, as far as somebody wants to hear it.
pub(crate) fn say(report: &Report, verbosity: Verbosity) {
    let least = match verbosity {
        Verbosity::Quiet => None,
        Verbosity::Normal => Some(Severity::WARNING),
        Verbosity::Verbose => Some(Severity::NOTE),
        Verbosity::Debug => Some(Severity::REMARK),
    };
    let is_wanted =
        |said: &&Said| said.diagnostic.rec().code == PRINTED || least.is_some_and(|least| said.severity() >= least);
    report.said.iter().filter(is_wanted).for_each(terminal::said);
    if least.is_some() {
        report.warnings.iter().for_each(terminal::warn);
    }
}

/// Prints what instruments found. Somebody asked for it, so it comes also when little is to be said.
pub(crate) fn findings(report: &Report) {
    report.findings.iter().for_each(|(_, findings)| terminal::findings(&findings.text));
}

/// Says where the run was stopped.
fn stopped(args: &RunArgs, report: &Report) {
    match (&report.stopped_after, args.watch.stop_after) {
        (Some((n, pass)), _) => {
            terminal::note(format_args!("stopped after execution {n}, of `{pass}`: nothing that follows was run"));
        }
        (None, Some(0)) => terminal::note("stopped before the first pass: nothing was run"),
        (None, Some(n)) => {
            let n_ran = report.executions.iter().filter(|it| !matches!(it.fate, Fate::Skipped(_))).count();
            terminal::note(format_args!("nothing was stopped: there were {n_ran} executions, not more than {n}"));
        }
        (None, None) => {}
    }
}

fn threads(n: u16) -> Result<rayon::ThreadPool, CliError> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(n.into()).build();
    pool.map_err(|error| CliError::new(format_args!("{n} threads cannot be started: {error}")))
}

//! `relais run`.

use super::{
    args::{ExternalData, RunArgs, Stripped, Verbosity},
    catalogue,
    check::{self, Check, Checked, Subject},
    judge, lock, model,
    outputs::{self, Outputs},
    progress::Progress,
    reproduce,
    said::{findings, say},
    spec,
    terminal::{self, CliError},
    watch,
};
use relais::{
    files::{Destination, Existing},
    frontend::{
        Format, Model, OperatorNames, StatedRules, extract, forget_outdated_sizes, infer_types, keep, names_input,
        operators_of, release, set_input_shapes, with_bodies,
    },
    ir::IRModule,
    manager::{self, Execution, Fate, Report, RunOptions},
    onnx::{self, StatedTypes, Strip, WriteOptions, WriteReport, data_files, strip},
    pass::{Remarks, Verify},
    pipeline::Addition,
    plugin::take_faults,
    report::{Summary, report_json, table, write_json},
};
use serde_json::json;
use std::{
    borrow::Cow,
    env, fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// Runs a pipeline over a model.
pub(crate) fn run(args: &RunArgs, model_file: &Path, output_file: &Path, verbosity: Verbosity) -> Result<(), CliError> {
    let began = Instant::now();
    let mut outputs = Outputs::default();
    let output = outputs.add("output", output_file, Existing::Replace)?;
    let report_file = args.report.as_deref().map(|path| outputs.add("report", path, Existing::Keep)).transpose()?;
    outputs.spare_pipeline(&args.pipeline)?;
    outputs.spare("the lock file", &args.locked)?;
    outputs.spare("plugin", &args.plugins.plugin)?;
    outputs.spare("the inputs", &args.check.check_inputs)?;
    if output.file().is_none() && args.external_data == ExternalData::Always {
        let error = CliError::new(format!("beside output `{}` there is no place for weights", output_file.display()));
        return Err(error.help("name a file, or let the weights stand in the model: `--external-data never`"));
    }
    if args.infer_shapes && args.strip.contains(&Stripped::ValueInfo) {
        let error = CliError::usage("`--infer-shapes` writes what `--strip value-info` leaves out");
        return Err(error.help("choose one of the two"));
    }
    let check = Check::of(&args.check)?;
    let all = catalogue::registry(&args.plugins)?;
    let mut spec = spec::spec(&args.pipeline, &all)?;
    let registry = catalogue::choose(&all, &spec, &args.plugins);
    let registry = match &args.locked {
        Some(path) => lock::enforce(path, &spec, &registry)?,
        None => registry,
    };
    watch::add(&args.watch, &mut spec)?;
    outputs.add_instruments(&spec.run)?;
    let pipeline = spec.resolve(&registry)?;
    if verbosity > Verbosity::Quiet {
        pipeline.warnings.iter().for_each(terminal::warn);
        spec::say_additions(&pipeline);
    }
    let stated = StatedRules::of(&pipeline)?;
    outputs.spare("the rules", stated.iter().filter_map(|rules| rules.file.as_ref()))?;
    judge::judge(&args.judge, &stated, &registry, verbosity)?;
    let progress = Progress::new(verbosity);
    progress.says("reading the model");
    let Model { mut module, format, n_bytes, .. } = model::read(model_file)?;
    outputs
        .spare("weights of the model, in", &data_files(&module).into_iter().map(PathBuf::from).collect::<Vec<_>>())?;
    let before = Summary::of(&module, Some(n_bytes), &model::shown_file(model_file));
    // Shapes of inputs that a part has and the model has not are set once it is cut out.
    let is_part = !args.inputs.is_empty() || !args.outputs.is_empty();
    let (shapes, of_part): (Vec<String>, Vec<String>) =
        args.input_shape.iter().cloned().partition(|shape| !is_part || names_input(&module, shape));
    let mut changes = set_input_shapes(&mut module, &shapes, &registry)?;
    let outdated = forget_outdated_sizes(&mut module, &registry);
    changes.extend(extract(&mut module, &args.inputs, &args.outputs, &registry)?);
    changes.extend(set_input_shapes(&mut module, &of_part, &registry)?);
    if let Some(check) = &check {
        check.look_at(&module)?;
    }
    if verbosity > Verbosity::Quiet {
        changes.iter().for_each(terminal::note);
        say_outdated(&outdated);
        watch::check_functions(&args.watch, &module);
        registry.operator_conflicts(&module).iter().for_each(terminal::warn);
    }
    // With the operators that a file has, it runs already; a text was never run.
    let had = if format == Format::Onnx { operators_of(&module) } else { OperatorNames::new() };
    let options = RunOptions {
        verify: args.verify_each.then_some(Verify::Each),
        remarks: if verbosity >= Verbosity::Debug { Remarks::Show } else { Remarks::Hide },
        output: Some(progress.output()),
        stop_after: args.watch.stop_after,
        progress: Some(&progress),
        ..RunOptions::default()
    };
    let here = env::current_dir();
    let pool = args.threads.map(threads).transpose()?;
    let options = RunOptions { pool: pool.as_ref(), ..options };
    let model = module.clone();
    let n_kept = keep(&mut module, &args.keep, &registry)?;
    let given = module;
    let outcome = manager::run(&pipeline, &given, &registry, &options);
    if let Ok(here) = here {
        // A plugin may have changed the folder, and the output must not follow it. If this fails, so will the output.
        let _ = env::set_current_dir(here);
    }
    let report = match &outcome {
        Ok((_, report)) => report,
        Err(failure) => &failure.report,
    };
    let reproducers = reproduce::write(&args.reproducer, output_file, &pipeline, report, &registry);
    let additions = &pipeline.additions.clone();
    let seen = Seen {
        model: model_file,
        output: output_file,
        pipeline: pipeline.print(),
        additions,
        before: &before,
        reproducers: &reproducers,
    };
    let (mut module, report) = match outcome {
        Ok(done) => done,
        Err(failure) => {
            drop(progress);
            say(&failure.report, verbosity);
            findings(&failure.report);
            let error = failure.to_string();
            if let Some(path) = &report_file {
                let mut json = seen.report(&failure.report, None, began.elapsed());
                json["error"] = error.as_str().into();
                write_report(path, &json)?;
            }
            let error = CliError::new(format!("{error}\n  nothing was written")).code(failure.kind.code());
            return Err(reproduce::explain(error, &reproducers, &args.plugins));
        }
    };
    // The objects that the passes created are dropped before the model is written: their plugins may fail at that too.
    drop(pipeline);
    dropped()?;
    if let Some(warning) = release(&mut module, n_kept)?.filter(|_| verbosity > Verbosity::Quiet) {
        terminal::warn(format_args!("{warning}"));
    }
    if args.infer_shapes {
        infer_types(&mut module, &registry);
    }
    strip(&mut module, stripped(&args.strip)).map_err(|error| CliError::new(format!("model {error}")))?;
    let complete = |module: &IRModule| Ok(with_bodies(module, &had, &registry)?.into_owned());
    let rerun = |stop_after: u64| {
        // Instruments have seen the run already.
        let mut spec = spec.clone();
        spec.run.instruments.clear();
        let pipeline = spec.resolve(&registry).map_err(|faults| faults.to_string())?;
        let options = RunOptions { stop_after: Some(stop_after), progress: None, output: None, ..options.clone() };
        let (mut module, _) =
            manager::run(&pipeline, &given, &registry, &options).map_err(|failure| failure.to_string())?;
        release(&mut module, n_kept).map_err(|error| error.to_string())?;
        Ok(module)
    };
    let format = model::output_format(output_file, format);
    let checked = match &check {
        None => None,
        Some(check) => Some(check.run(&Subject {
            before: &complete(&model)?,
            left: &module,
            after: &complete(&module)?,
            executions: &report.executions,
            rerun: &rerun,
            complete: &complete,
            registry: &registry,
            progress: &progress,
        })),
    };
    let checked = match checked.transpose() {
        Ok(checked) => checked,
        Err(failed) => {
            let write = |to: &Destination| model::write(&module, to, format, &write_options(args)).map(drop);
            let error = check::keep(failed.error, output.file(), failed.inputs.as_deref(), write);
            drop(progress);
            say(&report, verbosity);
            findings(&report);
            if let Some(path) = &report_file {
                let mut json = seen.report(&report, None, began.elapsed());
                json["error"] = error.message().into();
                json["check"] = failed.json;
                write_report(path, &json)?;
            }
            return Err(error);
        }
    };
    progress.says("writing the model");
    let module = match format {
        Format::Onnx => with_bodies(&module, &had, &registry)?,
        Format::Text => Cow::Borrowed(&module),
    };
    let written = model::write(&module, &output, format, &write_options(args))?;
    drop(progress);
    let elapsed = began.elapsed();
    say(&report, verbosity);
    if verbosity > Verbosity::Quiet {
        reproduce::note(&reproducers, &args.plugins);
    }
    // The output is counted as the next reader will see it: some constants are nodes in the file.
    let after = match verbosity > Verbosity::Quiet || args.report.is_some() {
        true => summary_of(&module, &output, &written)?,
        false => Summary::default(),
    };
    if verbosity > Verbosity::Quiet {
        let checked = checked.as_ref().map(|Checked { n_runs, elapsed, .. }| (*n_runs, *elapsed));
        let table = table(&before, &after, elapsed, checked);
        match outputs.take_standard_output() {
            true => terminal::findings(&table),
            false => terminal::print(&table)?,
        }
        stopped(args, &report);
        if !report.files.is_empty() {
            let files = report.files.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            let help = "\n  help: `relais build` writes them";
            terminal::warn(format_args!("the files {files} of passes are not written{help}"));
        }
        let has_run = |it: &Execution| !matches!(it.fate, Fate::Skipped(_));
        if report.executions.iter().any(has_run) && report.executions.iter().all(|it| it.fate != Fate::Changed) {
            terminal::note("no pass changed anything");
        }
    }
    findings(&report);
    match &report_file {
        Some(path) => {
            let mut json = seen.report(&report, Some(&after), elapsed);
            json["check"] = checked.map_or(serde_json::Value::Null, |checked| checked.json);
            write_report(path, &json)
        }
        None => Ok(()),
    }
}

fn stripped(parts: &[Stripped]) -> Strip {
    let mut strip = Strip::default();
    for part in parts {
        match part {
            Stripped::Docs => strip.docs = true,
            Stripped::Metadata => strip.metadata = true,
            Stripped::Names => strip.names = true,
            Stripped::ValueInfo => strip.value_info = true,
        }
    }
    strip
}

fn write_options(args: &RunArgs) -> WriteOptions {
    let external_data = match args.external_data {
        ExternalData::Auto => onnx::ExternalData::default(),
        ExternalData::Always => onnx::ExternalData::External { min_bytes: 1024 },
        ExternalData::Never => onnx::ExternalData::Inline,
    };
    let stated_types = if args.infer_shapes { StatedTypes::Known } else { StatedTypes::AsRead };
    WriteOptions::default().with_external_data(external_data).with_stated_types(stated_types)
}

/// Returns the failures of plugins while their objects were dropped.
pub(crate) fn dropped() -> Result<(), CliError> {
    match take_faults().split_first() {
        None => Ok(()),
        Some((first, others)) => {
            let error = CliError::new(format!("while it was dropped, {first}"));
            Err(others.iter().fold(error, CliError::line).line("nothing was written"))
        }
    }
}

/// The facts about a run before its end.
struct Seen<'a> {
    model: &'a Path,
    output: &'a Path,
    pipeline: String,
    additions: &'a [Addition],
    before: &'a Summary,
    reproducers: &'a [PathBuf],
}

impl Seen<'_> {
    fn report(&self, report: &Report, after: Option<&Summary>, elapsed: Duration) -> serde_json::Value {
        json!({
            "model": shown(self.model),
            "output": after.map(|_| shown(self.output)),
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

fn summary_of(module: &IRModule, output: &Destination, written: &WriteReport) -> Result<Summary, CliError> {
    let Some(path) = output.file() else {
        return Ok(Summary::of(module, Some(written.model_bytes), ""));
    };
    let Model { module, n_bytes, .. } = model::read(path)?;
    let mut summary = Summary::of(&module, Some(n_bytes), &model::shown_file(path));
    summary.external_bytes = summary.external_bytes.max(external_bytes(written));
    Ok(summary)
}

fn external_bytes(written: &WriteReport) -> u64 {
    let own: u64 = written.data_files.iter().map(|(_, len)| len).sum();
    let shared = written.shared_files.iter().filter_map(|path| fs::metadata(path).ok());
    own + shared.map(|metadata| metadata.len()).sum::<u64>()
}

fn write_report(file: &Destination, report: &serde_json::Value) -> Result<(), CliError> {
    write_json(file, report).map_err(|error| outputs::failed("report", &error))
}

/// Prints where the run was stopped.
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

fn say_outdated(values: &[String]) {
    let Some(first) = values.first() else { return };
    let more = match values.len() - 1 {
        0 => String::new(),
        1 => " and of one more value".to_owned(),
        n => format!(" and of {n} more values"),
    };
    terminal::warn(format_args!(
        "the model fixes sizes of `{first}`{more} that its inputs leave open; what it declares there is not used"
    ));
}

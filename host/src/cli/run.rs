//! `relais run`.

use super::{
    args::{PipelineArgs, RunArgs, Verbosity},
    catalogue,
    model::{self, Model},
    progress::Progress,
    shape,
    terminal::{self, CliError},
};
use relais::{
    manager::{self, Failure, Report, RunOptions, Said},
    onnx::WriteReport,
    pass::Remarks,
    pipeline::{
        BUILT_IN, Code, Disk, Fault, Faults, PipelineSpec, built_in, parse_setting,
        spec::{DEFAULT_OPT_LEVEL, RunSpec, ScopeSpec, StepSpec, Verify, Written},
    },
    report::{Summary, pass_times, report_json, table},
};
use relais_plugin_api::diagnostics::Severity;
use serde_json::json;
use std::{
    env, fs, io,
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
    let spec = pipeline(&args.pipeline)?;
    let registry = catalogue::registry_for(&args.plugins, &spec);
    let pipeline = spec.resolve(&registry)?;
    pipeline.warnings.iter().for_each(terminal::warn);
    let progress = Progress::new(verbosity);
    progress.says("reading the model");
    let Model { mut module, format, bytes, file } = model::read(&args.model)?;
    shape::set_input_shapes(&mut module, &args.input_shape, &registry)?;
    let before = Summary::of(&module, bytes, &file);
    let options = RunOptions {
        verify: args.verify_each.then_some(Verify::Each),
        remarks: if verbosity >= Verbosity::Debug { Remarks::Show } else { Remarks::Hide },
        progress: Some(&progress),
        ..RunOptions::default()
    };
    let here = env::current_dir();
    let outcome = manager::run(&pipeline, &module, &registry, &options);
    if let Ok(here) = here {
        // A plugin may have gone elsewhere, and the output must not follow it. Where that fails, so will the output.
        let _ = env::set_current_dir(here);
    }
    progress.says("writing the model");
    let result = outcome.map_err(|failure| failed(*failure, verbosity));
    let (module, report) = match result {
        Ok(done) => done,
        Err((error, report)) => {
            drop(progress);
            if let Some(path) = &args.report {
                let json =
                    json!({ "model": shown(&args.model), "error": error.to_string(), "run": report_json(&report) });
                write_report(path, &json)?;
            }
            return Err(CliError::new(error));
        }
    };
    let format = model::output_format(&args.output, format);
    let written = model::write(&module, &args.output, format, args.external_data)?;
    drop(progress);
    let elapsed = began.elapsed();
    say(&report, verbosity);
    // What was written is counted as the next reader will see it: some constants are nodes in the file.
    let after = match verbosity > Verbosity::Quiet || args.report.is_some() {
        true => summary_of(&args.output, &written)?,
        false => Summary::default(),
    };
    if verbosity > Verbosity::Quiet {
        terminal::print(&table(&before, &after, elapsed))?;
    }
    if !report.times.is_empty() {
        terminal::print(&format!("\n{}", manager::render_times(&report.times)))?;
    }
    if args.time_passes {
        terminal::print(&format!("\n{}", pass_times(&report)))?;
    }
    if let Some(path) = &args.report {
        let json = report_of(args, &pipeline.print(), (&before, &after), &report, elapsed);
        write_report(path, &json)?;
    }
    Ok(())
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

fn report_of(
    args: &RunArgs,
    pipeline: &str,
    (before, after): (&Summary, &Summary),
    report: &Report,
    elapsed: Duration,
) -> serde_json::Value {
    json!({
        "model": shown(&args.model),
        "output": shown(&args.output),
        "pipeline": pipeline,
        "before": before.to_json(),
        "after": after.to_json(),
        "run": report_json(report),
        "seconds": elapsed.as_secs_f64(),
    })
}

/// Writes a file whole or not at all.
fn write_report(path: &Path, report: &serde_json::Value) -> Result<(), CliError> {
    let text = format!("{report:#}\n");
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(format!(".{}.tmp", std::process::id()));
    let temporary = PathBuf::from(temporary);
    let write = || -> io::Result<()> {
        fs::write(&temporary, text)?;
        fs::rename(&temporary, path)
    };
    write().map_err(|error| {
        // What is left of a file that could not be written is of no use.
        let _ = fs::remove_file(&temporary);
        CliError::new(format!("report `{}` cannot be written: {error}", path.display()))
    })
}

fn failed(failure: Failure, verbosity: Verbosity) -> (String, Report) {
    say(&failure.report, verbosity);
    let text = failure.to_string();
    (format!("{text}\n  nothing was written"), failure.report)
}

/// Says what passes and the driver said, as far as somebody wants to hear it.
fn say(report: &Report, verbosity: Verbosity) {
    let least = match verbosity {
        Verbosity::Quiet => return,
        Verbosity::Normal => Severity::WARNING,
        Verbosity::Verbose => Severity::NOTE,
        Verbosity::Debug => Severity::REMARK,
    };
    for said in report.said.iter().filter(|said| said.severity() >= least) {
        // It says itself how grave it is.
        let said: &Said = said;
        terminal::note(said);
    }
    report.warnings.iter().for_each(terminal::warn);
}

/// The pipeline that the arguments ask for.
fn pipeline(args: &PipelineArgs) -> Result<PipelineSpec, CliError> {
    let mut spec = match (&args.pipeline, args.opt_level, &args.passes) {
        (Some(name), _, _) => named(name)?,
        (None, Some(level), _) => PipelineSpec::read(Path::new(&format!("builtin:O{level}")), &Disk)?,
        (None, None, Some(passes)) => of_passes(passes)?,
        (None, None, None) => PipelineSpec::read(Path::new("builtin:default"), &Disk)?,
    };
    let mut names = |origin: &str, names: &[String]| -> Vec<Written<String>> {
        names.iter().map(|name| Written::at(spec.sources.add_whole(origin, name), name.clone())).collect()
    };
    let disabled = names("--disable", &args.disable);
    let required = names("--require", &args.require);
    spec.scope.disabled.extend(disabled);
    spec.scope.required.extend(required);
    let mut faults = Vec::new();
    for setting in &args.set {
        match parse_setting(&mut spec.sources, "--set", setting) {
            Ok(entry) => spec.settings.push(entry),
            Err(fault) => faults.push(*fault),
        }
    }
    match faults.is_empty() {
        true => Ok(spec),
        false => Err(Faults { list: faults, sources: spec.sources }.into()),
    }
}

/// A file, else a built-in pipeline of that name.
fn named(name: &str) -> Result<PipelineSpec, CliError> {
    let path = Path::new(name);
    if !path.exists() && built_in(name).is_some() {
        return Ok(PipelineSpec::read(Path::new(&format!("builtin:{name}")), &Disk)?);
    }
    PipelineSpec::read(path, &Disk).map_err(|mut faults| {
        if let [fault] = faults.list.as_mut_slice()
            && fault.code == Code::Include
            && !path.exists()
        {
            let names: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
            *fault = fault.clone().nearest(&relais::pipeline::fault::nearest(name, names));
        }
        faults.into()
    })
}

/// A pipeline of passes that are on at any level.
fn of_passes(passes: &str) -> Result<PipelineSpec, CliError> {
    let mut spec = PipelineSpec { name: "passes".into(), ..PipelineSpec::default() };
    let source = spec.sources.add("--passes", passes);
    let mut start = 0;
    let mut faults = Vec::new();
    for part in passes.split(',') {
        let at = start + (part.len() - part.trim_start().len());
        let name = part.trim();
        start += part.len() + 1;
        let place = relais::pipeline::fault::Place::new(source, at..at + name.len());
        if name.is_empty() {
            faults.push(Fault::new(Code::Value, place, "`--passes` has an empty name").help("write `--passes A,B`"));
            continue;
        }
        let name = Written::at(place, name.to_owned());
        spec.scope.required.push(name.clone());
        spec.steps.push(spec.nodes.len());
        spec.nodes.push(Written::at(place, StepSpec::Pass { name, options: Vec::new() }));
    }
    spec.scope = ScopeSpec { opt_level: Some(DEFAULT_OPT_LEVEL), ..spec.scope };
    spec.run = RunSpec::default();
    match faults.is_empty() {
        true => Ok(spec),
        false => Err(Faults { list: faults, sources: spec.sources }.into()),
    }
}

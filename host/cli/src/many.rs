//! `relais run` over many models. Each is run by a process of its own, so that one that ends it does not end the others.

use super::{
    args::{RunArgs, RunModelsArgs, Verbosity},
    catalogue,
    progress::Progress,
    request, run,
    terminal::{self, CliError},
};
use relais::plugin::sha256_of;
use relais_conformance::program;
use relais_session::{
    many::{FolderStore, Job, Many, ManyRequest, Retry, Runner, Store, table},
    model::Model,
};
use serde_json::Value;
use std::{
    env,
    ffi::OsString,
    fs,
    num::NonZero,
    path::{Path, PathBuf},
    process::Stdio,
    thread,
};

/// Runs a pipeline over one model, or over each of many.
pub(crate) fn run(args: &RunModelsArgs, verbosity: Verbosity) -> Result<(), CliError> {
    let of_many = [
        ("--shard", args.shard.is_some()),
        ("--retry", args.retry),
        ("--jobs", args.jobs.is_some()),
        ("--cache", args.cache.is_some()),
    ];
    if let Some((option, _)) = of_many.iter().find(|(_, is_set)| *is_set && args.out_dir.is_none()) {
        let error = CliError::usage(format!("`{option}` is for many models"));
        return Err(error.help("`--out-dir FOLDER` takes their results"));
    }
    match (&args.out_dir, &args.output, args.models.as_slice()) {
        (Some(_), ..) if args.only.is_some() => {
            let (model, folder) = (args.only.as_deref(), args.into.as_deref());
            let (model, folder) = model.zip(folder).ok_or_else(|| CliError::usage("`--only` needs `--into`"))?;
            let report = Some(report_of(folder));
            let output = folder.join(model.file_name().unwrap_or_default());
            run::run(&RunArgs { report, ..args.run.clone() }, model, &output, verbosity)
        }
        (Some(folder), ..) => all(args, folder, verbosity),
        (None, Some(output), [model]) => run::run(&args.run, model, output, verbosity),
        (None, Some(_), models) => {
            let error = CliError::usage(format!("there are {} models for one output", models.len()));
            Err(error.help("`--out-dir FOLDER` takes the results of several"))
        }
        (None, None, _) => {
            Err(CliError::usage("it is not stated where the result goes").help("name a file: `-o FILE`"))
        }
    }
}

/// Where a process leaves the report of a model.
fn report_of(folder: &Path) -> PathBuf {
    folder.with_extension("json")
}

/// Runs all models that are to be run, and prints a table.
fn all(args: &RunModelsArgs, folder: &Path, verbosity: Verbosity) -> Result<(), CliError> {
    are_files(&args.models)?;
    let request = ManyRequest {
        models: args.models.clone(),
        folder: folder.to_owned(),
        shard: args.shard,
        retry: if args.retry { Retry::Yes } else { Retry::No },
        stated: stated(&args.run, folder)?,
    };
    let mut many = Many::begin(&request)?;
    let store = args.cache.clone().map(FolderStore);
    let n_workers = args.jobs.map_or_else(|| thread::available_parallelism().map_or(1, NonZero::get), usize::from);
    let (progress, n_jobs) = (Progress::new(verbosity), many.jobs().len());
    let mut n_done = 0;
    let rows = many.run(n_workers, &InProcess, store.as_ref().map(|store| store as &dyn Store), |row| {
        if let Some(error) = row.error.as_ref().filter(|_| verbosity > Verbosity::Quiet) {
            progress.print(&format!("{}: {error}\n", row.model));
        }
        n_done += 1;
        progress.says(format!("{n_done} of {n_jobs} models"));
    });
    drop(progress);
    let (rows, results) = (rows?, many.results().to_owned());
    many.finish(&rows)?;
    if verbosity > Verbosity::Quiet {
        terminal::print(&table(&rows))?;
    }
    match rows.iter().filter(|row| !row.is_ok()).count() {
        0 => Ok(()),
        n => {
            let error = CliError::new(format!("{n} of {} models failed", rows.len()));
            Err(error.help(format!("`{}` says why; `--retry` tries them again", results.display())))
        }
    }
}

fn are_files(models: &[PathBuf]) -> Result<(), CliError> {
    let Some(model) = models.iter().find(|model| !model.is_file()) else { return Ok(()) };
    let why = if model.is_dir() { "is a folder" } else { "is not a file" };
    let model = std::path::absolute(model).unwrap_or_else(|_| model.clone());
    let error = CliError::new(format!("model `{}` {why}", model.display()));
    Err(error.help("name the files of the models; nothing was run"))
}

/// Everything but the model on which its result depends, as a hash.
///
/// # Errors
/// Returns what is wrong with the pipeline or the plugins, before any model is run.
fn stated(args: &RunArgs, folder: &Path) -> Result<String, CliError> {
    // The plugins that are linked are those of this program.
    let program = env::current_exe().and_then(|program| sha256_of(&program)).unwrap_or_default();
    let request = request::run(args, Path::new(""), folder, Verbosity::Normal)?;
    Ok(catalogue::session(&args.plugins)?.fingerprint(&request, &program)?)
}

/// Lets another process run a model.
struct InProcess;

impl Runner for InProcess {
    fn run(&self, job: &Job, _: Model, folder: &Path) -> Result<[u64; 2], String> {
        let mut arguments: Vec<OsString> = env::args_os().skip(1).collect();
        let at = arguments.iter().position(|argument| argument == "run").map_or(0, |at| at + 1);
        arguments.splice(at..at, ["--only".into(), job.model.clone().into(), "--into".into(), folder.into()]);
        let output =
            program::this_program().and_then(|mut program| program.args(arguments).stdout(Stdio::null()).output());
        let output = output.map_err(|error| format!("it could not be run: {error}"))?;
        let said = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            let from = said.lines().position(|line| line.starts_with("error"));
            let error: Vec<&str> = said.lines().skip(from.unwrap_or(0)).collect();
            let error = error.join("\n").trim().to_owned();
            return Err(match from {
                Some(_) => error,
                // It was ended, with its last words.
                None => format!("the process that ran it ended with {}\n{error}", output.status).trim().to_owned(),
            });
        }
        let report = fs::read(report_of(folder)).map_err(|error| error.to_string())?;
        let report: Value = serde_json::from_slice(&report).map_err(|error| error.to_string())?;
        log::debug!("model `{}`: {said}", job.model.display());
        let count = |key: &str| report[key]["n_nodes"].as_u64().ok_or("its report does not count its nodes");
        Ok([count("before")?, count("after")?])
    }
}

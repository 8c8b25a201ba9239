//! `relais run` over many models: a folder of results, and a journal from which a run that was killed goes on.
//!
//! Each model is run by a process of its own, so that one that ends it does not end the others.

use super::{
    args::{RunArgs, RunModelsArgs, Shard, Verbosity},
    cache::Cache,
    catalogue, lock, outputs,
    progress::Progress,
    run, spec,
    terminal::{self, CliError},
};
use relais::{
    files::{Destination, Existing},
    frontend::{Model, StatedRules},
    onnx::data_files,
    plugin::{sha256_of, sha256_of_bytes},
};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    ffi::OsString,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read, Write},
    num::NonZero,
    path::{Component, Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc::channel,
    },
    thread,
    time::Instant,
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
            let report = Some(folder.with_extension("json"));
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

/// A model with its path below the folder that all models have in common.
struct Job {
    path: PathBuf,
    model: PathBuf,
}

impl Job {
    /// Whether a file is one of the model's result, as the journal and a cache say, which are not believed: it is beside its
    /// model, and called like it.
    fn has_file(&self, file: &str) -> bool {
        let stem = self.path.file_stem().unwrap_or_default().to_string_lossy();
        Path::new(file).file_name() == Some(file.as_ref()) && file.starts_with(&*stem)
    }

    /// The path as the journal has it on every system.
    fn name(&self) -> String {
        let parts: Vec<_> = self.path.iter().map(|part| part.to_string_lossy()).collect();
        parts.join("/")
    }
}

/// The models in order, each once.
fn jobs(models: &[PathBuf], folder: &Path) -> Result<Vec<Job>, CliError> {
    // The name of a model is its own, wherever a link of that name leads.
    let models: BTreeSet<PathBuf> = models
        .iter()
        .map(|model| std::path::absolute(model).unwrap_or_else(|_| model.clone()))
        .map(|model| match (model.parent(), model.file_name()) {
            (Some(parent), Some(name)) => resolved(parent).join(name),
            _ => resolved(&model),
        })
        .collect();
    let folder = resolved(folder);
    let mut common = models.first().and_then(|first| first.parent()).unwrap_or(Path::new("")).to_owned();
    for model in &models {
        if !model.is_file() {
            let why = if model.is_dir() { "is a folder" } else { "is not a file" };
            let error = CliError::new(format!("model `{}` {why}", model.display()));
            return Err(error.help("name the files of the models; nothing was run"));
        }
        if model.starts_with(&folder) {
            let error = CliError::new(format!("model `{}` is in the folder of the results", model.display()));
            return Err(error.help("name another folder: `--out-dir FOLDER`"));
        }
        while !model.starts_with(&common) {
            common.pop();
        }
    }
    let path = |model: &Path| model.strip_prefix(&common).unwrap_or(model).to_owned();
    Ok(models.into_iter().map(|model| Job { path: path(&model), model }).collect())
}

/// A folder by its own name, without links and `..`; it need not exist.
fn resolved(folder: &Path) -> PathBuf {
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let mut there = PathBuf::new();
    for part in folder.components() {
        match part {
            Component::ParentDir => drop(there.pop()),
            part => there.push(part),
        }
        // A name that does not exist cannot be a link.
        there = there.canonicalize().unwrap_or(there);
    }
    there
}

/// The files of a run beside the results, and its cache.
struct Place {
    folder: PathBuf,
    ending: String,
    cache: Option<Cache>,
}

impl Place {
    fn new(folder: &Path, args: &RunModelsArgs) -> Self {
        let ending = args.shard.map_or_else(String::new, |Shard { at, of }| format!("-{at}-of-{of}"));
        Self { folder: folder.to_owned(), ending, cache: args.cache.as_deref().map(Cache::new) }
    }

    /// The folder of results that are not finished.
    fn work(&self) -> PathBuf {
        self.folder.join(format!(".relais-work{}", self.ending))
    }

    fn journal(&self) -> PathBuf {
        self.folder.join(format!("relais-journal{}.jsonl", self.ending))
    }

    fn results(&self) -> PathBuf {
        self.folder.join(format!("relais-results{}.json", self.ending))
    }

    /// Where a process leaves the result of a model, and its report.
    fn of_model(&self, number: usize) -> (PathBuf, PathBuf) {
        let work = self.work();
        (work.join(number.to_string()), work.join(format!("{number}.json")))
    }
}

/// Runs all models that are to be run, and prints a table.
fn all(args: &RunModelsArgs, folder: &Path, verbosity: Verbosity) -> Result<(), CliError> {
    let jobs = jobs(&args.models, folder)?;
    let stated = stated(&args.run)?;
    let place = Place::new(folder, args);
    let (work, journal) = (place.work(), place.journal());
    let failed =
        |what: &Path, error: io::Error| CliError::new(format!("`{}` cannot be written: {error}", what.display()));
    fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
    let opened = OpenOptions::new().create(true).read(true).append(true).open(&journal);
    let mut journal_file = opened.map_err(|error| failed(&journal, error))?;
    if matches!(journal_file.try_lock(), Err(TryLockError::WouldBlock)) {
        let error = CliError::new(format!("another run writes into `{}`", folder.display()));
        return Err(error.help("let it end, or divide the models among runs: `--shard 1/2`, `--shard 2/2`"));
    }
    let known = known(&mut journal_file).map_err(|error| failed(&journal, error))?;
    // Of a run that was killed.
    let _ = fs::remove_dir_all(&work);
    fs::create_dir_all(&work).map_err(|error| failed(&work, error))?;

    let numbers: Vec<usize> = (0..jobs.len()).filter(|at| args.shard.is_none_or(|shard| shard.has(*at))).collect();
    let n_workers = args.jobs.map_or_else(|| thread::available_parallelism().map_or(1, NonZero::get), usize::from);
    let (next, progress) = (AtomicUsize::new(0), Progress::new(verbosity));
    let mut rows: BTreeMap<usize, Row> = BTreeMap::new();
    let mut noted = Ok(());
    thread::scope(|scope| {
        let (sender, receiver) = channel();
        for _ in 0..n_workers.min(numbers.len()) {
            let (sender, jobs, numbers, next, place, stated, known) =
                (sender.clone(), &jobs, &numbers, &next, &place, &stated, &known);
            scope.spawn(move || {
                while let Some(&number) = numbers.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let known = known.get(&jobs[number].name());
                    let row = outcome(&jobs[number], number, place, stated, known, args.retry);
                    if sender.send((number, row)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        for (number, row) in receiver {
            if !row.was_known && noted.is_ok() {
                noted = note(&mut journal_file, &row);
                if noted.is_err() {
                    // Nothing else is begun.
                    next.store(numbers.len(), Ordering::Relaxed);
                }
            }
            if let Some(error) = row.error().filter(|_| verbosity > Verbosity::Quiet) {
                progress.output().print(&format!("{}: {error}\n", row.model()));
            }
            rows.insert(number, row);
            progress.says(format!("{} of {} models", rows.len(), numbers.len()));
        }
    });
    drop(progress);
    let _ = fs::remove_dir_all(&work);
    noted.map_err(|error| failed(&journal, error))?;
    let results = place.results();
    let values: Vec<&Value> = rows.values().map(|row| &row.value).collect();
    let text = serde_json::to_string_pretty(&values).unwrap_or_default() + "\n";
    let destination = Destination::of_argument(&results, Existing::Replace);
    let written = destination.and_then(|destination| destination.write(|out| out.write_all(text.as_bytes())));
    written.map_err(|error| outputs::failed("the results", &error))?;
    if verbosity > Verbosity::Quiet {
        terminal::print(&table(rows.values()))?;
    }
    match rows.values().filter(|row| row.error().is_some()).count() {
        0 => Ok(()),
        n => {
            let error = CliError::new(format!("{n} of {} models failed", rows.len()));
            Err(error.help(format!("`{}` says why; `--retry` tries them again", results.display())))
        }
    }
}

/// Everything but the model on which its result depends, as a hash.
///
/// # Errors
/// Returns what is wrong with the pipeline or the plugins, before any model is run.
fn stated(args: &RunArgs) -> Result<String, CliError> {
    let all = catalogue::registry(&args.plugins)?;
    let spec = spec::spec(&args.pipeline, &all)?;
    let registry = catalogue::choose(&all, &spec, &args.plugins);
    let registry = match &args.locked {
        Some(path) => lock::enforce(path, &spec, &registry)?,
        None => registry,
    };
    let lock = lock::of(&spec, &registry, &[])?;
    let rules = StatedRules::of(&spec.resolve(&registry)?)?;
    let files = rules.iter().filter_map(|rules| rules.file.as_ref()).chain(&args.check.check_inputs);
    let files: Vec<String> = files.map(|file| sha256_of(file).unwrap_or_default()).collect();
    // The number of threads changes no result.
    let args = RunArgs { threads: None, ..args.clone() };
    // The plugins that are linked are those of this program.
    let program = env::current_exe().and_then(|program| sha256_of(&program)).unwrap_or_default();
    let text = format!("{} {program} {} {args:?} {files:?}", env!("CARGO_PKG_VERSION"), lock.to_toml());
    Ok(sha256_of_bytes(text.as_bytes()))
}

/// The outcome of a model.
struct Row {
    value: Value,
    /// Whether the journal has it.
    was_known: bool,
}

impl Row {
    fn text(&self, key: &str) -> &str {
        self.value[key].as_str().unwrap_or_default()
    }

    fn model(&self) -> &str {
        self.text("model")
    }

    fn error(&self) -> Option<&str> {
        self.value["error"].as_str()
    }
}

/// Runs a model, unless the journal has a result that still holds.
fn outcome(job: &Job, number: usize, place: &Place, stated: &str, known: Option<&Value>, retry: bool) -> Row {
    let began = Instant::now();
    let key = key(job, stated);
    let target = place.folder.join(&job.path);
    let folder = target.parent().unwrap_or(&place.folder).to_owned();
    let files_of = |row: &Value| -> Vec<String> {
        let files = row["files"].as_array().map_or(&[][..], Vec::as_slice);
        files.iter().filter_map(Value::as_str).filter(|file| job.has_file(file)).map(str::to_owned).collect()
    };
    if let (Some(row), Ok(key)) = (known, &key)
        && row["key"] == key.as_str()
        && if row["status"] == "ok" { is_whole(row, job, &folder) } else { !retry }
    {
        return Row { value: row.clone(), was_known: true };
    }
    let mut row = json!({
        "model": job.name(), "status": "failed", "cached": false, "calls": null, "bytes": null, "files": [], "sizes": [],
        "seconds": 0.0, "error": null, "key": key.as_deref().unwrap_or_default(),
    });
    let done = key.and_then(|key| {
        let (result, _) = place.of_model(number);
        let model = job.path.file_name().unwrap_or_default();
        let own = |file: &str| job.has_file(file);
        if let Some(calls) = place.cache.as_ref().and_then(|cache| cache.get(&key, &result, model, own)) {
            row["cached"] = true.into();
            return Ok(calls);
        }
        let calls = in_process(job, number, place)?;
        place.cache.iter().for_each(|cache| cache.put(&key, &result, &calls));
        Ok(calls)
    });
    match done
        .and_then(|calls| moved(number, place, &target).map(|files| (calls, files)).map_err(|error| error.to_string()))
    {
        Ok((calls, files)) => {
            // Those of an earlier result.
            for old in known.map(files_of).unwrap_or_default().iter().filter(|old| !files.contains(old)) {
                let _ = fs::remove_file(folder.join(old));
            }
            let size = |path: &Path| fs::metadata(path).map_or(0, |metadata| metadata.len());
            row["status"] = "ok".into();
            row["calls"] = calls;
            row["bytes"] = json!([size(&job.model), size(&target)]);
            row["sizes"] = files.iter().map(|file| size(&folder.join(file))).collect();
            row["files"] = files.into();
        }
        Err(error) => {
            row["error"] = error.into();
            // A reproducer explains it.
            let _ = moved(number, place, &target);
        }
    }
    row["seconds"] = json!((began.elapsed().as_secs_f64() * 1e3).round() / 1e3);
    Row { value: row, was_known: false }
}

/// Whether the files of a result are there, each as long as it was.
fn is_whole(row: &Value, job: &Job, folder: &Path) -> bool {
    let list = |key: &str| row[key].as_array().map_or(&[][..], Vec::as_slice);
    let (files, sizes) = (list("files"), list("sizes"));
    let is_whole = |(file, size): (&Value, &Value)| {
        let file = file.as_str().filter(|file| job.has_file(file));
        let found = file.and_then(|file| fs::metadata(folder.join(file)).ok());
        found.is_some_and(|found| found.is_file() && size.as_u64() == Some(found.len()))
    };
    !files.is_empty() && files.len() == sizes.len() && files.iter().zip(sizes).all(is_whole)
}

/// A hash of all that the result depends on.
fn key(job: &Job, stated: &str) -> Result<String, String> {
    let read = Model::read(&job.model).map_err(|error| error.to_string())?;
    let mut text = format!("{stated} {}", job.path.file_name().unwrap_or_default().display());
    for file in std::iter::once(job.model.clone()).chain(data_files(&read.module).into_iter().map(PathBuf::from)) {
        let hash = sha256_of(&file).map_err(|error| format!("`{}`: {error}", file.display()))?;
        text.push_str(&hash);
    }
    Ok(sha256_of_bytes(text.as_bytes()))
}

/// Lets another process run a model; returns how many calls there were before and after.
fn in_process(job: &Job, number: usize, place: &Place) -> Result<Value, String> {
    let (folder, report) = place.of_model(number);
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let mut arguments: Vec<OsString> = env::args_os().skip(1).collect();
    let at = arguments.iter().position(|argument| argument == "run").map_or(0, |at| at + 1);
    let own = ["--only".into(), job.model.clone().into(), "--into".into(), folder.into_os_string()];
    arguments.splice(at..at, own);
    let program = env::current_exe().map_err(|error| error.to_string())?;
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).output();
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
    let report = fs::read(report).map_err(|error| error.to_string())?;
    let report: Value = serde_json::from_slice(&report).map_err(|error| error.to_string())?;
    log::debug!("model `{}`: {said}", job.model.display());
    Ok(json!([report["before"]["n_nodes"], report["after"]["n_nodes"]]))
}

/// Moves the files that a run left into the folder of the target, the model last; returns their names, the model first.
fn moved(number: usize, place: &Place, target: &Path) -> io::Result<Vec<String>> {
    let (from, _) = place.of_model(number);
    let folder = target.parent().unwrap_or(&place.folder);
    let mut names: Vec<OsString> =
        fs::read_dir(&from)?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<_>>()?;
    if names.is_empty() {
        return Ok(Vec::new());
    }
    names.sort_by_key(|name| (Some(name.as_os_str()) != target.file_name(), name.clone()));
    fs::create_dir_all(folder)?;
    for name in names.iter().rev() {
        fs::rename(from.join(name), folder.join(name))?;
    }
    Ok(names.iter().map(|name| name.display().to_string()).collect())
}

/// Reads the last row of each model from the journal. A line that a killed run left half is removed.
fn known(journal: &mut File) -> io::Result<BTreeMap<String, Value>> {
    let mut text = Vec::new();
    journal.read_to_end(&mut text)?;
    let (mut known, mut len) = (BTreeMap::new(), 0);
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        let row: Option<Value> = line.ends_with(b"\n").then(|| serde_json::from_slice(line).ok()).flatten();
        let Some(model) = row.as_ref().and_then(|row| row["model"].as_str()) else { break };
        known.insert(model.to_owned(), row.clone().unwrap_or_default());
        len += line.len() as u64;
    }
    if len < text.len() as u64 {
        journal.set_len(len)?;
    }
    Ok(known)
}

fn note(journal: &mut File, row: &Row) -> io::Result<()> {
    journal.write_all(format!("{}\n", row.value).as_bytes())?;
    journal.sync_data()
}

/// The table of all models.
fn table<'r>(rows: impl Iterator<Item = &'r Row>) -> String {
    let mut lines = vec![["model", "status", "calls", "bytes", "seconds"].map(str::to_owned)];
    let (mut n_rows, mut n_ok, mut whys) = (0, 0, Vec::new());
    for row in rows {
        n_rows += 1;
        n_ok += usize::from(row.error().is_none());
        let pair = |key: &str| match row.value[key].as_array().map(Vec::as_slice) {
            Some([before, after]) => format!("{before} -> {after}"),
            _ => String::new(),
        };
        let status = match row.error() {
            None if row.was_known => "known",
            None if row.value["cached"] == true => "cached",
            _ => row.text("status"),
        };
        let seconds = format!("{:.2}", row.value["seconds"].as_f64().unwrap_or_default());
        lines.push([row.model().to_owned(), status.to_owned(), pair("calls"), pair("bytes"), seconds]);
        if let Some(why) = row.error().and_then(|error| error.lines().next()) {
            whys.push((lines.len(), format!("  {why}\n")));
        }
    }
    let widths: [usize; 5] =
        std::array::from_fn(|at| lines.iter().map(|line| line[at].chars().count()).max().unwrap_or(0));
    let shown = |line: &[String; 5]| {
        let cells = line.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    let mut shown: Vec<String> = lines.iter().map(shown).collect();
    for (at, why) in whys.into_iter().rev() {
        shown.insert(at, why);
    }
    shown.concat() + &format!("{n_ok} of {n_rows} models\n")
}

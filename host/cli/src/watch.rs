//! `relais watch`: a run that is done again whenever something that it depends on has changed.

use super::{
    args::WatchArgs,
    catalogue, model,
    terminal::{self, CliError},
};
use relais::{
    plugin::{is_program, read_section},
    registry::{Choices, Linked, Registry},
};
use relais_conformance::program;
use relais_plugin_api::text::{self, PrintOptions};
use relais_session::pipeline::files_of_pipeline;
use similar::{ChangeTag, TextDiff};
use std::{
    collections::{BTreeMap, BTreeSet},
    env::{self, consts::DLL_EXTENSION},
    ffi::{OsStr, OsString},
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Output},
    thread,
    time::{Duration, Instant, SystemTime},
};

/// How often the files are looked at.
const PAUSE: Duration = Duration::from_millis(100);
/// How long a library may take until it can be read: a linker writes in pieces.
const PATIENCE: Duration = Duration::from_secs(5);
/// The most time that is taken to find a short difference, and the most lines of one that are printed.
const DIFFING: (Duration, usize) = (Duration::from_millis(300), 200);

/// The options that are not those of `relais run`, and whether a value follows.
const OWN: [(&str, bool); 4] = [("--build", true), ("--source", true), ("--filetests", true), ("--once", false)];

/// Runs, and runs again.
pub(crate) fn watch(args: &WatchArgs) -> Result<(), CliError> {
    let (model, output) = match (args.run.models.as_slice(), &args.run.output) {
        ([model], Some(output)) => (model, output),
        _ => return Err(CliError::usage("`relais watch` is for one model and its result, `-o FILE`")),
    };
    if is_same(model, output) {
        return Err(
            CliError::usage("the result would replace the model that is watched").help("name another file: `-o FILE`")
        );
    }
    let arguments = run_arguments(env::args_os().skip(1));
    let mut rounds = Rounds { args, output, arguments, said: None, program: None, tested: None };
    let mut seen = Seen::default();
    let mut changed: BTreeSet<PathBuf> = watched(args);
    loop {
        seen.look(watched(args));
        let built = rounds.build(&changed)?;
        // Libraries that were built are those of this round; sources may have changed meanwhile.
        seen.look_again(|file| !is_source(args, file));
        let status = if built == 0 { rounds.round()? } else { built };
        if args.once {
            let failed = || CliError::new(format!("the run ended with status {status}"));
            return if status == 0 { Ok(()) } else { Err(failed()) };
        }
        changed = seen.wait(args);
    }
}

/// Whether a file is a source for which plugins are built.
fn is_source(args: &WatchArgs, file: &Path) -> bool {
    args.source.iter().any(|source| file.starts_with(source))
}

/// Whether two paths are one file.
fn is_same(one: &Path, other: &Path) -> bool {
    one == other || fs::canonicalize(one).ok().zip(fs::canonicalize(other).ok()).is_some_and(|(a, b)| a == b)
}

/// The arguments of the run, from those of this process.
fn run_arguments(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut out = Vec::new();
    let (mut is_value, mut is_run) = (false, false);
    for argument in arguments {
        if std::mem::take(&mut is_value) {
            continue;
        }
        if !is_run && argument == "watch" {
            is_run = true;
            out.push("run".into());
            continue;
        }
        let text = argument.to_string_lossy();
        let (name, value) = text.split_once('=').map_or((&*text, false), |(name, _)| (name, true));
        match OWN.iter().find(|(own, _)| *own == name) {
            Some((_, takes_value)) => is_value = *takes_value && !value,
            None => out.push(argument),
        }
    }
    out
}

/// The files that a run depends on, as far as they are named: the model, plugins, the pipeline with those that it includes,
/// rules, examples and sources.
fn watched(args: &WatchArgs) -> BTreeSet<PathBuf> {
    let run = &args.run.run;
    let mut all: BTreeSet<PathBuf> = args.run.models.iter().chain(&run.plugins.plugin).cloned().collect();
    all.extend(run.pipeline.rules.iter().cloned());
    // A program can import those beside it.
    let programs = run.plugins.plugin.iter().filter(|plugin| is_program(plugin));
    for folder in programs.filter_map(|program| program.parent()) {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let entries = fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
        let beside = entries.map(|path| path.strip_prefix(".").map_or(path.clone(), Path::to_owned));
        all.extend(beside.filter(|path| is_program(path)));
    }
    for folder in &run.plugins.plugin_dir {
        let entries = fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
        all.extend(entries.filter(|path| path.extension() == Some(OsStr::new(DLL_EXTENSION)) || is_program(path)));
    }
    if let Some(pipeline) = run.pipeline.pipeline.as_deref().map(Path::new).filter(|path| path.is_file()) {
        all.insert(pipeline.to_owned());
        // Programs are not run to find out that they have no pipelines.
        if let Ok(found) = catalogue::search(&run.plugins).find_described() {
            let registry = Registry::new(found, Linked::Include, &Choices::new());
            all.extend(files_of_pipeline(pipeline, &registry));
        }
    }
    args.filetests.iter().chain(&args.source).for_each(|path| files_below(path, &mut all));
    all
}

/// Adds a file, or the files below a folder, except those that are hidden and what cargo builds.
fn files_below(path: &Path, all: &mut BTreeSet<PathBuf>) {
    let mut todo = vec![path.to_owned()];
    while let Some(path) = todo.pop() {
        let Ok(entries) = fs::read_dir(&path) else {
            all.insert(path);
            continue;
        };
        let is_meant = |path: &PathBuf| {
            path.file_name().is_some_and(|name| name != "target" && !name.to_string_lossy().starts_with('.'))
        };
        todo.extend(entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_meant));
    }
}

/// The state of a file: its length, its time, and its number where the system has one. Nothing if it is not there.
type Stamp = Option<(u64, SystemTime, u64)>;

fn stamp(path: &Path) -> Stamp {
    let metadata = fs::metadata(path).ok()?;
    #[cfg(unix)]
    let number = std::os::unix::fs::MetadataExt::ino(&metadata);
    #[cfg(not(unix))]
    let number = 0;
    Some((metadata.len(), metadata.modified().ok()?, number))
}

/// The files as they were when they were looked at last.
#[derive(Default)]
struct Seen(BTreeMap<PathBuf, Stamp>);

impl Seen {
    fn look(&mut self, files: BTreeSet<PathBuf>) {
        self.0 = files.into_iter().map(|file| (file.clone(), stamp(&file))).collect();
    }

    /// Looks at those of the files again.
    fn look_again(&mut self, which: impl Fn(&Path) -> bool) {
        let again = self.0.iter_mut().filter(|(file, _)| which(file));
        again.for_each(|(file, seen)| *seen = stamp(file));
    }

    /// Waits until files have changed, and stay as they are.
    fn wait(&mut self, args: &WatchArgs) -> BTreeSet<PathBuf> {
        // Which files there are is found out more rarely than whether those have changed.
        const EVERY: u32 = 5;
        let mut turn = 0;
        let mut since: Option<Instant> = None;
        let mut before = self.0.clone();
        loop {
            thread::sleep(PAUSE);
            turn += 1;
            let mut now = Self::default();
            match turn % EVERY {
                0 => now.look(watched(args)),
                _ => now.look(before.keys().cloned().collect()),
            }
            let is_settled = now.0 == before;
            before = now.0;
            let files = self.0.keys().chain(before.keys());
            let changed: BTreeSet<PathBuf> =
                files.filter(|file| self.0.get(*file) != before.get(*file)).cloned().collect();
            if changed.is_empty() {
                since = None;
                continue;
            }
            let begun = *since.get_or_insert_with(Instant::now);
            let is_whole = |file: &PathBuf| {
                file.extension() != Some(OsStr::new(DLL_EXTENSION)) || !file.is_file() || read_section(file).is_ok()
            };
            let is_there = changed.iter().all(|file| file.exists() && is_whole(file));
            if is_settled && (is_there || begun.elapsed() > PATIENCE) {
                self.0 = before;
                return changed;
            }
        }
    }
}

/// The rounds, with the texts of the last one.
struct Rounds<'a> {
    args: &'a WatchArgs,
    output: &'a Path,
    /// The arguments of the run.
    arguments: Vec<OsString>,
    said: Option<String>,
    program: Option<String>,
    tested: Option<String>,
}

impl Rounds<'_> {
    /// Says what has changed, and builds if a source has. Returns the status.
    fn build(&self, changed: &BTreeSet<PathBuf>) -> Result<i32, CliError> {
        let names: Vec<String> = changed
            .iter()
            .filter_map(|path| path.file_name())
            .map(|name| format!("`{}`", name.to_string_lossy()))
            .take(4)
            .collect();
        let more = changed.len() - names.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let what = if self.said.is_none() { "watching" } else { "changed:" };
        terminal::print(&format!("-- {what} {}{more}\n", names.join(", ")))?;
        let has_source = changed.iter().any(|file| is_source(self.args, file));
        let Some(command) = self.args.build.as_ref().filter(|_| has_source) else { return Ok(0) };
        let status = shell(command).map_err(|error| cannot_start("the build", &error))?;
        if status != 0 {
            terminal::print(&format!("-- the build ended with status {status}\n"))?;
        }
        Ok(status)
    }

    /// Runs, tests, and prints what differs. Returns the status of the first that failed.
    fn round(&mut self) -> Result<i32, CliError> {
        let begun = Instant::now();
        let run = self.start(&self.arguments)?;
        let elapsed = begun.elapsed();
        let said = text_of(&run);
        self.said = Some(difference(self.said.take(), said)?);
        let program = model::read(self.output).ok().filter(|_| run.status.success());
        let program = program.map(|model| text::print(&model.module, &PrintOptions::default()));
        self.program = match (self.program.take(), program) {
            (Some(before), Some(now)) => Some(difference(Some(before), now)?),
            (before, now) => now.or(before),
        };
        let status = run.status.code().unwrap_or(1);
        terminal::print(&format!("-- the run ended with status {status} after {:.2} s\n", elapsed.as_secs_f64()))?;
        if self.args.filetests.is_empty() {
            return Ok(status);
        }
        let mut arguments: Vec<OsString> = vec!["filetest".into()];
        arguments.extend(self.args.filetests.iter().map(Into::into));
        let plugins = &self.args.run.run.plugins;
        plugins.plugin.iter().for_each(|file| arguments.extend(["--plugin".into(), file.into()]));
        plugins.plugin_dir.iter().for_each(|folder| arguments.extend(["--plugin-dir".into(), folder.into()]));
        if plugins.allow_writable_plugins {
            arguments.push("--allow-writable-plugins".into());
        }
        let tests = self.start(&arguments)?;
        self.tested = Some(difference(self.tested.take(), text_of(&tests))?);
        let of_tests = tests.status.code().unwrap_or(1);
        terminal::print(&format!("-- the examples ended with status {of_tests}\n"))?;
        Ok(if status == 0 { of_tests } else { status })
    }

    /// Runs this program with other arguments, to its end.
    fn start(&self, arguments: &[OsString]) -> Result<Output, CliError> {
        let output = program::this_program()
            .and_then(|mut command| program::output_unless(command.args(arguments), &|| false))
            .map_err(|error| cannot_start("the run", &error))?;
        output.ok_or_else(|| CliError::new("the run was stopped"))
    }
}

fn cannot_start(what: &str, error: &io::Error) -> CliError {
    CliError::new(format!("{what} cannot be started: {error}"))
}

/// Runs a command of the shell, and returns its status.
fn shell(command: &OsStr) -> io::Result<i32> {
    let (shell, option) = if cfg!(windows) { ("cmd", "/C") } else { ("sh", "-c") };
    let mut shell: Command = program::command(Path::new(shell))?;
    Ok(shell.arg(option).arg(command).status()?.code().unwrap_or(1))
}

/// The output of a process, without the time that it took.
fn text_of(output: &Output) -> String {
    let said = [&output.stderr, &output.stdout].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    said.concat().lines().filter(|line| !line.starts_with("elapsed")).map(|line| format!("{line}\n")).collect()
}

/// Prints a text, or where it differs from the one before it. Returns the text.
fn difference(before: Option<String>, now: String) -> Result<String, CliError> {
    let Some(before) = before else {
        terminal::print(&now)?;
        return Ok(now);
    };
    let diff = TextDiff::configure().timeout(DIFFING.0).diff_lines(&before, &now);
    let changes = diff.iter_all_changes().filter(|change| change.tag() != ChangeTag::Equal);
    let mut lines: Vec<String> = changes
        .map(|change| {
            let sign = if change.tag() == ChangeTag::Delete { '-' } else { '+' };
            format!("{sign} {}\n", change.value().trim_end_matches('\n'))
        })
        .collect();
    let n_more = lines.len().saturating_sub(DIFFING.1);
    if n_more > 0 {
        lines.truncate(DIFFING.1);
        lines.push(format!("… {n_more} more lines differ\n"));
    }
    terminal::print(&lines.concat())?;
    Ok(now)
}

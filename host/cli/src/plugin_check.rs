//! `relais plugin check`: checks plugins from their files, then opens them in separate processes.

use super::{
    args_plugin::CheckArgs,
    args_search::PluginArgs,
    catalogue,
    plugin_report::{self, Checked, Place},
    terminal::{self, CliError},
};
use relais::{
    inspect::{Inspection, Objection, inspect},
    isolation::Isolation,
    plugin::{Discovery, FoundPlugin, OpenPlugin, ProgramReport, Refusal, SearchDir, discover, is_program},
    registry::{Beside, Choices, Linked, Registry, report_program},
};
use relais_conformance::program;
use serde_json::Value;
use std::{
    collections::BTreeMap,
    env::consts::DLL_EXTENSION,
    io::{self, Read},
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

/// Whether plugins are opened, in a process of their own.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opening {
    Try,
    Leave,
}

/// The time that opening a plugin may take.
const DEADLINE: Duration = Duration::from_secs(20);

/// Opens a plugin as a run does.
fn open(file: &Path, args: &PluginArgs) -> Result<(), CliError> {
    let found = discover(&[], &[file.to_owned()], catalogue::policy(args));
    if let Some(refused) = found.refused.first() {
        return Err(CliError::new(&refused.refusal));
    }
    // The user has not decided to trust it yet.
    #[cfg(target_os = "linux")]
    relais::serve::confine(&[file.to_owned()])
        .map_err(|error| CliError::new(format!("the process in which it is opened cannot be limited: {error}")))?;
    let plugins = found.plugins.iter();
    plugins.map(|found| OpenPlugin::open(&found.path, &found.records.plugin, &found.section, None)).try_for_each(
        |opened| match opened {
            Ok(_) => Ok(()),
            Err(refusal) => Err(CliError::new(&refusal)),
        },
    )
}

/// Why a plugin cannot be opened: it is tried in another process, which it may end.
fn why_not(file: &Path, args: &PluginArgs) -> io::Result<Option<String>> {
    let mut command = program::this_program()?;
    command.args(["plugin", "check", "--open-here", "--quiet"]);
    if args.allow_writable_plugins {
        command.arg("--allow-writable-plugins");
    }
    command.arg("--").arg(file).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let stderr = child.stderr.take();
    let said = thread::spawn(move || {
        let mut said = Vec::new();
        // Endless output comes from a plugin that keeps writing.
        let _ = stderr.map(|stderr| stderr.take(1 << 16).read_to_end(&mut said));
        said
    });
    let began = Instant::now();
    let status = loop {
        match child.try_wait()? {
            Some(status) => break status,
            None if began.elapsed() > DEADLINE => {
                child.kill()?;
                child.wait()?;
                return Ok(Some(format!("did not end within {} s", DEADLINE.as_secs())));
            }
            None => thread::sleep(Duration::from_millis(5)),
        }
    };
    if status.success() {
        return Ok(None);
    }
    let said = String::from_utf8_lossy(&said.join().unwrap_or_default()).into_owned();
    let first = said.lines().find_map(|line| line.strip_prefix("error: ")).unwrap_or_default();
    Ok(Some(match first {
        "" => format!("ended that process ({status})"),
        why => format!("was refused: {why}"),
    }))
}

/// Checks plugins.
pub(crate) fn check(args: &CheckArgs) -> Result<(), CliError> {
    if args.open_here {
        return args.files.iter().try_for_each(|file| open(file, &args.plugins));
    }
    let opening = if args.no_open { Opening::Leave } else { Opening::Try };
    let all = check_all(&args.files, &args.plugins, opening, &Isolation::default())?;
    if args.json {
        let json: Value = all.iter().map(plugin_report::json).collect();
        terminal::print(&format!("{json:#}\n"))?;
    } else {
        let texts: Vec<String> = all.iter().map(plugin_report::text).collect();
        terminal::print(&texts.join("\n"))?;
    }
    let n_objectionable = all.iter().filter(|checked| !checked.inspection.objections.is_empty()).count();
    match (n_objectionable, all.len()) {
        (0, _) => Ok(()),
        (_, 1) => Err(CliError::new("something is wrong with the plugin")),
        (some, all) => Err(CliError::new(format!("something is wrong with {some} of {all} plugins"))),
    }
}

/// Checks files: each alone, against each other, and against the plugins that runs find.
pub(crate) fn check_all(
    files: &[PathBuf],
    args: &PluginArgs,
    opening: Opening,
    isolation: &Isolation,
) -> Result<Vec<Checked>, CliError> {
    let dirs = catalogue::search(args).folders();
    let found = catalogue::find(args)?;
    let mut inspections: Vec<Inspection> = files.iter().map(|file| inspect(file, catalogue::policy(args))).collect();
    let mut reports = BTreeMap::new();
    for inspection in inspections.iter_mut().filter(|it| is_program(&it.path) && opening == Opening::Try) {
        load(inspection, isolation).into_iter().for_each(|report| _ = reports.insert(inspection.path.clone(), report));
    }
    let is_library = |it: &&mut Inspection| it.is_accepted() && !is_program(&it.path);
    for inspection in inspections.iter_mut().filter(|_| opening == Opening::Try).filter(is_library) {
        let file = inspection.path.clone();
        let why = why_not(&file, args).map_err(|error| {
            let error =
                CliError::new(format!("`{}` cannot be opened in a process of its own: {error}", file.display()));
            error.help("`--no-open` looks at files alone")
        })?;
        inspection.objections.extend(why.map(|why| Objection::Opening { why }));
    }
    let given: Vec<FoundPlugin> = inspections.iter().filter_map(as_found).collect();
    for inspection in &mut inspections {
        let is_found =
            |other: &&FoundPlugin| !found.plugins.iter().any(|plugin| is_same_path(&plugin.path, &other.path));
        found.plugins.iter().chain(given.iter().filter(is_found)).for_each(|other| inspection.compare(other));
    }
    let others =
        given.iter().filter(|other| !found.plugins.iter().any(|plugin| is_same_path(&plugin.path, &other.path)));
    let plugins = found.plugins.iter().chain(others).cloned().collect();
    let registry = Registry::new(Discovery { plugins, ..Discovery::default() }, Linked::Include, &Choices::new());
    inspections.iter_mut().for_each(|inspection| inspection.require(&registry));
    let check = |inspection: Inspection| {
        let (place, report) = (place(&inspection, &dirs, &found), reports.get(&inspection.path).cloned());
        Checked { inspection, place, report }
    };
    Ok(inspections.into_iter().map(check).collect())
}

/// Loads a program in its process, unless it is refused anyway, and compares what it has with its records.
fn load(inspection: &mut Inspection, isolation: &Isolation) -> Option<ProgramReport> {
    let undescribed = Objection::Refused(Refusal::Undescribed);
    if inspection.objections.iter().any(|objection| objection.is_refusal() && *objection != undescribed) {
        return None;
    }
    match report_program(&inspection.path, isolation, Beside::Imported) {
        Ok(report) => {
            match &inspection.records {
                None => inspection.describe(report.described.records.clone()),
                Some(records) if *records != report.described.records => {
                    let why = "has other passes or options than the file of records beside it says".into();
                    inspection.objections.push(Objection::Opening { why });
                }
                Some(_) => {}
            }
            Some(report)
        }
        Err(error) => {
            inspection.objections.retain(|objection| *objection != undescribed);
            inspection.objections.push(Objection::Opening { why: format!("was refused: {error}") });
            None
        }
    }
}

pub(crate) fn as_found(inspection: &Inspection) -> Option<FoundPlugin> {
    let records = inspection.records.clone().filter(|_| inspection.is_accepted())?;
    Some(FoundPlugin {
        path: inspection.path.clone(),
        records,
        section: Arc::default(),
        is_named: true,
        isolation: None,
        sha256: None,
    })
}

fn is_same_path(a: &Path, b: &Path) -> bool {
    a.canonicalize().ok().zip(b.canonicalize().ok()).is_some_and(|(a, b)| a == b)
}

fn folder_of(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn place(inspection: &Inspection, dirs: &[SearchDir], found: &Discovery) -> Place {
    let path = &inspection.path;
    let folder = folder_of(path);
    if let Some(dir) = dirs.iter().find(|dir| is_same_path(&dir.path, folder)) {
        return match path.extension().is_some_and(|extension| extension == DLL_EXTENSION) || is_program(path) {
            true => Place::Found(dir.path.clone(), dir.origin),
            false => Place::Extension(dir.path.clone()),
        };
    }
    let is_searched = |plugin: &&FoundPlugin| dirs.iter().any(|dir| is_same_path(&dir.path, folder_of(&plugin.path)));
    let mut copies = found.plugins.iter().filter(is_searched).filter(|plugin| inspection.is_copy(&plugin.path));
    copies.next().map_or(Place::Nowhere, |plugin| Place::Copy(plugin.path.clone()))
}

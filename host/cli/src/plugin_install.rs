//! `relais plugin install`, `remove` and `list`: the user's own folder of plugins.

use super::{
    args_plugin::{InstallArgs, InstalledArgs, RemoveArgs},
    catalogue,
    plugin_check::{Opening, as_found, check_all},
    plugin_record::{of_program, settings},
    plugin_report::needs_text,
    terminal::{self, CliError},
};
use relais::{
    files::{Destination, Existing, FileError, FileSet},
    inspect::{Inspection, Objection, inspect},
    isolation::{Isolation, beside},
    pass::Candidate,
    plugin::{PluginRecord, Policy, is_program, records_beside},
    registry::{Beside, Choices, Linked, Registry},
    table::table,
    words::{nearest, or_list},
};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    env::consts::{DLL_EXTENSION, DLL_PREFIX, DLL_SUFFIX},
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

/// Installs plugins: all of them, or none when one is refused.
pub(crate) fn install(args: &InstallArgs) -> Result<(), CliError> {
    let folder = user_dir()?;
    let isolated = settings(args.isolate.as_deref())?;
    let isolation = args.isolate.as_ref().map(|_| isolated.clone());
    if isolation.is_some() && !cfg!(target_os = "linux") {
        return Err(CliError::new("isolated plugins are supported on Linux alone"));
    }
    let all = check_all(&args.files, &args.plugins, Opening::Try, &isolated)?;
    let mut wanted: Vec<(&Inspection, &PluginRecord, PathBuf, Option<String>)> = Vec::new();
    for checked in &all {
        let inspection = &checked.inspection;
        let records = inspection.records.as_ref().filter(|_| !is_refused(inspection));
        let Some(records) = records else { return Err(refusal(inspection)) };
        let name = &records.plugin.name;
        let target = if is_program(&inspection.path) { program_name(name) } else { file_name(name) };
        let target = folder.join(target);
        if let Some((first, ..)) = wanted.iter().find(|(_, _, other, _)| *other == target) {
            let (first, second) = (first.path.display(), inspection.path.display());
            return Err(CliError::new(format!("`{first}` and `{second}` are both plugin `{name}`"))
                .help("name the one to install"));
        }
        let description = match is_program(&inspection.path) {
            // It is copied without the files beside it.
            true => Some(of_program(&inspection.path, &isolated, Beside::Left)?),
            false => None,
        };
        wanted.push((inspection, &records.plugin, target, description));
    }
    make_folder(&folder)?;
    let mut others = catalogue::find(&args.plugins)?;
    let names: Vec<String> = wanted.iter().map(|(_, plugin, ..)| plugin.name.clone()).collect();
    for (inspection, plugin, target, description) in wanted {
        let is_old = |objection: &&Objection| match objection {
            Objection::Overlap { file, .. } => *file != target,
            _ => true,
        };
        inspection.objections.iter().filter(is_old).for_each(terminal::warn);
        let old = target.exists().then(|| inspect(&target, Policy::default()));
        copy(&inspection.path, &target, isolation.as_ref(), description.as_deref())?;
        let old = old.map(|old| match old.records {
            Some(records) => format!("in the place of version {}", records.plugin.version),
            None => "in the place of a file that did not read".into(),
        });
        let old = old.map(|old| format!(", {old}")).unwrap_or_default();
        let isolated = match fs::read_to_string(beside(&target)) {
            Ok(settings) if settings.trim().is_empty() => ", isolated".to_owned(),
            Ok(settings) => format!(", isolated ({})", settings.trim()),
            Err(_) => String::new(),
        };
        others.plugins.retain(|other| other.path != target);
        others.plugins.extend(as_found(inspection));
        terminal::print(&format!(
            "installed {} {} as `{}`{old}{isolated}\n",
            plugin.name,
            plugin.version,
            target.display()
        ))?;
        terminal::print(&contents(inspection))?;
    }
    let registry = Registry::new(others, Linked::Include, &Choices::new());
    let ambiguous: BTreeMap<_, _> = names.iter().flat_map(|name| registry.ambiguous_passes(name)).collect();
    ambiguous.into_iter().for_each(|(short, several)| {
        let meant: Vec<String> = several.iter().map(Candidate::to_string).collect();
        terminal::warn(format_args!(
            "`{short}` can mean several passes now: {}\n  help: {}",
            meant.join(" and "),
            Candidate::help(&several, &short, "passes")
        ));
    });
    Ok(())
}

/// Removes a plugin.
pub(crate) fn remove(args: &RemoveArgs) -> Result<(), CliError> {
    let folder = user_dir()?;
    let installed = installed(&folder)?;
    let own = [file_name(&args.name), program_name(&args.name)];
    let is_it = |it: &&Inspection| match &it.records {
        Some(records) => records.plugin.name == args.name,
        None => it.path.file_name().is_some_and(|name| own.iter().any(|own| name.to_str() == Some(own))),
    };
    let found: Vec<&Inspection> = installed.iter().filter(is_it).collect();
    if found.is_empty() {
        let names: Vec<&str> =
            installed.iter().filter_map(|it| Some(it.records.as_ref()?.plugin.name.as_str())).collect();
        let near = nearest(&args.name, names.iter().copied());
        let error = CliError::new(format!("plugin `{}` is not installed in `{}`", args.name, folder.display()));
        return Err(match near.is_empty() {
            true => error.help("`relais plugin list` shows what is"),
            false => error.help(format!("did you mean {}?", or_list(&near))),
        });
    }
    for it in found {
        fs::remove_file(&it.path).map_err(|error| failed("removed", &it.path, &error))?;
        let records = is_program(&it.path).then(|| records_beside(&it.path));
        for beside in [beside(&it.path)].into_iter().chain(records) {
            match fs::remove_file(&beside) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(failed("removed", &beside, &error));
                }
                _ => {}
            }
        }
        let version = it.records.as_ref().map(|records| format!(" {}", records.plugin.version)).unwrap_or_default();
        terminal::print(&format!("removed {}{version} (`{}`)\n", args.name, it.path.display()))?;
    }
    Ok(())
}

/// Lists the plugins that are installed.
pub(crate) fn list(args: &InstalledArgs) -> Result<(), CliError> {
    let folder = user_dir()?;
    let installed = installed(&folder)?;
    if args.json {
        let json: Value = installed.iter().map(row_json).collect();
        return terminal::print(&format!("{json:#}\n"));
    }
    if installed.is_empty() {
        return terminal::print(&format!("no plugin is installed in `{}`\n", folder.display()));
    }
    let rows: Vec<_> = installed.iter().map(row).collect();
    terminal::print(&table(4, &["plugin", "version", "file", ""], &rows))
}

fn row(it: &Inspection) -> Vec<String> {
    let (name, version, description) = match &it.records {
        Some(records) => {
            let PluginRecord { name, version, description, .. } = &records.plugin;
            (name.clone(), version.to_string(), description.clone())
        }
        None => ("-".into(), "-".into(), String::new()),
    };
    let refusal = it.objections.iter().find(|objection| objection.is_refusal());
    let last = refusal.map_or(description, |refusal| format!("refused: {refusal}"));
    vec![name, version, it.path.display().to_string(), last]
}

fn row_json(it: &Inspection) -> Value {
    let plugin = it.records.as_ref().map(|records| &records.plugin);
    let refusal = it.objections.iter().find(|objection| objection.is_refusal());
    json!({
        "name": plugin.map(|plugin| &plugin.name),
        "version": plugin.map(|plugin| plugin.version.to_string()),
        "description": plugin.map(|plugin| &plugin.description),
        "file": it.path.display().to_string(),
        "refused": refusal.map(Objection::to_string),
    })
}

fn user_dir() -> Result<PathBuf, CliError> {
    relais_session::user_dir().ok_or_else(|| {
        CliError::new("you have no home folder").help("set `RELAIS_HOME` to the folder that plugins go into")
    })
}

/// Returns the file name of a plugin in the folder: one file for each, whatever the file was called.
fn file_name(plugin: &str) -> String {
    format!("{DLL_PREFIX}{}{DLL_SUFFIX}", plugin.replace('-', "_"))
}

/// The same of one in Python.
fn program_name(plugin: &str) -> String {
    format!("{plugin}.py")
}

/// Everything in the folder that a run would look at.
fn installed(folder: &Path) -> Result<Vec<Inspection>, CliError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed("read", folder, &error)),
    };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == DLL_EXTENSION) || is_program(file));
    files.sort();
    Ok(files.iter().map(|file| inspect(file, Policy::default())).collect())
}

/// Items that others provide too are an issue only for the pipelines that use them.
fn is_refused(inspection: &Inspection) -> bool {
    inspection.objections.iter().any(|objection| !objection.is_about_others())
}

fn refusal(inspection: &Inspection) -> CliError {
    let error = CliError::new(format!("`{}` is not installed", inspection.path.display()));
    let objections = inspection.objections.iter().filter(|it| !it.is_about_others());
    let help = objections.clone().find_map(Objection::help);
    let error = objections.fold(error, CliError::line);
    help.into_iter().fold(error, CliError::help)
}

fn make_folder(folder: &Path) -> Result<(), CliError> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    // Independent of the user's mask: a folder that others may write is refused in every search.
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o755);
    builder.create(folder).map_err(|error| failed("made", folder, &error))
}

/// Copies under another name first: no run sees half a plugin, and one that has the old file open keeps it.
/// The contents of a plugin, and the libraries that it asks for, from its file.
fn contents(inspection: &Inspection) -> String {
    let Some(records) = &inspection.records else { return String::new() };
    let count =
        |n: usize, one: &str, several: &str| (n > 0).then(|| format!("{n} {}", if n == 1 { one } else { several }));
    let n_added = records.additions.len() + records.evaluators.len();
    let counts = [
        count(records.passes.len(), "pass", "passes"),
        count(records.operators.len(), "operator", "operators"),
        count(n_added, "addition to operators of others", "additions to operators of others"),
        count(records.instruments.len(), "instrument", "instruments"),
        count(records.analyses.len(), "analysis", "analyses"),
        count(records.pipelines.len(), "pipeline", "pipelines"),
    ];
    let counts: Vec<String> = counts.into_iter().flatten().collect();
    let has = if counts.is_empty() { "nothing".to_owned() } else { counts.join(", ") };
    format!("  has {has}\n  needs {}\n", needs_text(&inspection.needs))
}

/// Copies a plugin, and says beside it how it is isolated, and what a program has.
fn copy(from: &Path, target: &Path, isolation: Option<&Isolation>, description: Option<&str>) -> Result<(), CliError> {
    let unwritten = |error: FileError| CliError::new(&error).help(error.help());
    let mut set = FileSet::new();
    let mut add = |path: &Path, content: &mut dyn Read| {
        let destination = Destination::new(path, Existing::Replace).map_err(unwritten)?;
        let file = set.add(&destination).map_err(unwritten)?;
        let copied = io::copy(content, file);
        // Independent of the user's mask: a plugin that others may write is refused.
        #[cfg(unix)]
        let copied = copied.and_then(|_| file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644)));
        copied.map(|_| ()).map_err(|error| failed("written", path, &error))
    };
    // Before the plugin: it is never there without it.
    if let Some(isolation) = isolation {
        add(&beside(target), &mut format!("{isolation}\n").as_bytes())?;
    }
    if let Some(description) = description {
        add(&records_beside(target), &mut description.as_bytes())?;
    }
    let mut file = File::open(from).map_err(|error| failed("read", from, &error))?;
    add(target, &mut file)?;
    set.commit().map_err(unwritten)
}

fn failed(done: &str, path: &Path, error: &io::Error) -> CliError {
    CliError::new(format!("`{}` cannot be {done}: {error}", path.display()))
}

//! `relais plugin check`: judges plugins from their files alone.

use super::{
    args::PluginArgs,
    args_plugin::CheckArgs,
    catalogue, plugin_report,
    terminal::{self, CliError},
};
use relais::{
    plugin::{Discovery, FoundPlugin, Inspection, Origin, SearchDir, inspect},
    registry::{Choices, Linked, Registry},
};
use serde_json::Value;
use std::{
    env::consts::DLL_EXTENSION,
    path::{Path, PathBuf},
    sync::Arc,
};

/// A file, and what is known of it.
pub(crate) struct Checked {
    pub inspection: Inspection,
    pub place: Place,
}

/// Where a run would find a file that nobody names.
pub(crate) enum Place {
    /// In a folder that is searched.
    Found(PathBuf, Origin),
    /// Its folder is searched, for files with another extension.
    Extension(PathBuf),
    /// A copy of it is in a folder that is searched.
    Copy(PathBuf),
    /// Nowhere.
    Nowhere,
}

/// Checks plugins.
pub(crate) fn check(args: &CheckArgs) -> Result<(), CliError> {
    let all = check_all(&args.files, &args.plugins);
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

/// Looks at files: each for itself, beside each other, and beside the plugins that runs find.
pub(crate) fn check_all(files: &[PathBuf], args: &PluginArgs) -> Vec<Checked> {
    let dirs = catalogue::search_dirs(args);
    let found = catalogue::find(args);
    let mut inspections: Vec<Inspection> = files.iter().map(|file| inspect(file, catalogue::policy(args))).collect();
    let given: Vec<FoundPlugin> = inspections.iter().filter_map(as_found).collect();
    for inspection in &mut inspections {
        let is_found =
            |other: &&FoundPlugin| !found.plugins.iter().any(|plugin| is_same_path(&plugin.path, &other.path));
        found.plugins.iter().chain(given.iter().filter(is_found)).for_each(|other| inspection.compare(other));
    }
    let others =
        given.iter().filter(|other| !found.plugins.iter().any(|plugin| is_same_path(&plugin.path, &other.path)));
    let plugins = found.plugins.iter().chain(others).cloned().collect();
    let registry = Registry::new(Discovery { plugins, ..Discovery::default() }, Linked::Exclude, &Choices::new());
    inspections.iter_mut().for_each(|inspection| inspection.require(&registry));
    let check = |inspection: Inspection| {
        let place = place(&inspection, &dirs, &found);
        Checked { inspection, place }
    };
    inspections.into_iter().map(check).collect()
}

fn as_found(inspection: &Inspection) -> Option<FoundPlugin> {
    let records = inspection.records.clone().filter(|_| inspection.is_accepted())?;
    Some(FoundPlugin { path: inspection.path.clone(), records, section: Arc::default() })
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
        return match path.extension().is_some_and(|extension| extension == DLL_EXTENSION) {
            true => Place::Found(dir.path.clone(), dir.origin),
            false => Place::Extension(dir.path.clone()),
        };
    }
    let is_searched = |plugin: &&FoundPlugin| dirs.iter().any(|dir| is_same_path(&dir.path, folder_of(&plugin.path)));
    let mut copies = found.plugins.iter().filter(is_searched).filter(|plugin| inspection.is_copy(&plugin.path));
    copies.next().map_or(Place::Nowhere, |plugin| Place::Copy(plugin.path.clone()))
}

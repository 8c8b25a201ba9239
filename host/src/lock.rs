//! Lock files: the recorded parts of a pipeline, which a later run can enforce.
//!
//! A lock is compared only with files: no plugin is opened before all of it is found to hold.

use crate::{
    pipeline::{Faults, Outline, Pipeline, PipelineSpec, ResolvedStep},
    plugin::{PluginRecord, sha256_of, sha256_of_bytes},
    registry::{Beside, Provider, Registry, report_program},
};
use relais_plugin_api::{
    boundary::record::{BOUNDARY, TARGET},
    diagnostics::PassError,
};
use semver::Version;
use std::{
    collections::BTreeSet,
    fmt::{self, Write as _},
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

/// The format of lock files that this version writes and reads.
const FORMAT: i64 = 1;
/// A lock file is a few kilobytes.
const MAX_BYTES: u64 = 16 << 20;

/// The parts of a pipeline.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lock {
    /// The version of the host.
    pub host: String,
    /// The version of the plugin boundary.
    pub boundary: String,
    /// The system that its plugins are for.
    pub target: String,
    /// The pipeline's name.
    pub pipeline: String,
    /// The SHA-256 of the pipeline as it is resolved.
    pub pipeline_sha256: String,
    /// The plugins, by name and version.
    pub plugins: Vec<LockedPlugin>,
}

/// A plugin as it was.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LockedPlugin {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The name of its file; empty if it is linked into the program. Files may be elsewhere on another machine.
    pub file: String,
    /// The SHA-256 of its file; empty when there is none.
    pub sha256: String,
    /// The version of its interpreter, if it is a program; otherwise empty.
    pub interpreter: String,
}

/// Why a lock file cannot be made, read or written.
#[derive(Debug)]
#[non_exhaustive]
pub enum LockError {
    /// A file cannot be read or written.
    Io(PathBuf, io::Error),
    /// The file is not a lock file.
    Format(PathBuf, String),
    /// The pipeline cannot be resolved.
    Pipeline(Faults),
    /// A plugin that was locked with `--also` is missing.
    NoPlugin(String),
    /// A program does not say what it has.
    Program(PassError),
}

impl fmt::Display for LockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(path, error) => write!(f, "`{}`: {error}", path.display()),
            Self::Format(path, why) => write!(f, "`{}` is not a lock file: {why}", path.display()),
            Self::Pipeline(faults) => faults.fmt(f),
            Self::NoPlugin(name) => write!(f, "there is no plugin `{name}` to lock"),
            Self::Program(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for LockError {}

/// A plugin's name and version.
type Id = (String, Version);

fn id(provider: &Provider) -> Id {
    let PluginRecord { name, version, .. } = &provider.records().plugin;
    (name.clone(), version.clone())
}

impl Lock {
    /// Records a pipeline, with its plugins opened, and those that `also` names: plugins whose passes it requests while
    /// it runs.
    ///
    /// # Errors
    /// Returns an error if the pipeline cannot be resolved, or a plugin's file cannot be read.
    pub fn of(spec: &PipelineSpec, registry: &Registry, also: &[String]) -> Result<Self, LockError> {
        let pipeline = spec.resolve(registry).map_err(LockError::Pipeline)?;
        let outline = spec.outline(registry).map_err(LockError::Pipeline)?;
        let mut used = used(&outline, registry);
        used.extend(pipeline.passes.iter().map(|pass| (pass.facts.plugin.clone(), pass.facts.plugin_version.clone())));
        for name in also {
            let named: Vec<Id> = registry.plugins().map(id).filter(|(own, _)| own == name).collect();
            if named.is_empty() {
                return Err(LockError::NoPlugin(name.clone()));
            }
            used.extend(named);
        }
        let mut plugins = Vec::new();
        for provider in registry.plugins().filter(|provider| used.contains(&id(provider))) {
            let mut locked = locked(provider)?;
            if let Some((path, isolation)) = provider.path().zip(provider.isolation()).filter(|_| provider.is_program())
            {
                locked.interpreter =
                    report_program(path, isolation, Beside::Imported).map_err(LockError::Program)?.interpreter;
            }
            plugins.push(locked);
        }
        plugins.sort();
        Ok(Self {
            host: env!("CARGO_PKG_VERSION").into(),
            boundary: boundary(),
            target: TARGET.into(),
            pipeline: spec.name.clone(),
            pipeline_sha256: hash(outline.pipeline),
            plugins,
        })
    }

    /// Compares everything with the lock. If nothing differs, returns a registry with only the plugins of the lock,
    /// each in the locked bytes: others are unavailable to the pipeline, whatever it requests.
    ///
    /// # Errors
    /// Returns the differences, one line each.
    pub fn enforce(&self, spec: &PipelineSpec, registry: &Registry) -> Result<Registry, Vec<String>> {
        let mut different = Vec::new();
        let mut was = |what: &str, old: &str, new: &str| {
            if old != new {
                different.push(format!("{what} was {old}, and is {new}"));
            }
        };
        was("the host", &self.host, env!("CARGO_PKG_VERSION"));
        was("the plugin boundary", &self.boundary, &boundary());
        was("the target", &self.target, TARGET);
        let mut kept = BTreeSet::new();
        for plugin in &self.plugins {
            match self.find(plugin, registry) {
                Ok(place) => drop(kept.insert(place)),
                Err(why) => different.push(why),
            }
        }
        match spec.outline(registry) {
            Ok(outline) => self.compare(outline, registry, &mut different),
            Err(faults) => {
                let told = faults.list.iter().map(|fault| format!("the pipeline does not resolve: {}", fault.message));
                different.extend(told);
            }
        }
        if !different.is_empty() {
            return Err(different);
        }
        let only = registry.only(|at, _| kept.contains(&at));
        for provider in only.plugins() {
            let own = self.plugins.iter().find(|plugin| is(plugin, provider));
            if let Some(plugin) = own {
                provider.insist_on(&plugin.sha256);
                provider.insist_on_interpreter(&plugin.interpreter);
            }
        }
        Ok(only)
    }

    /// The plugin of the lock, by its place in the registry.
    fn find(&self, plugin: &LockedPlugin, registry: &Registry) -> Result<usize, String> {
        let LockedPlugin { name, version, sha256, .. } = plugin;
        let mut others = Vec::new();
        for (at, provider) in registry.plugins().enumerate().filter(|(_, it)| it.records().plugin.name == *name) {
            let now = match locked(provider) {
                Ok(now) => now,
                Err(error) => return Err(format!("plugin `{name}` cannot be read: {error}")),
            };
            if is(plugin, provider) && now.sha256 == *sha256 {
                return Ok(at);
            }
            others.push((now, place(provider)));
        }
        if let Some((now, place)) = others.iter().find(|(now, _)| now.version == *version) {
            return Err(format!(
                "plugin `{name}` {version} is another build: the hash of {place} was {sha256}, and is {}",
                now.sha256
            ));
        }
        if let Some((now, place)) = others.first() {
            return Err(format!("plugin `{name}` was version {version}, and is {}, in {place}", now.version));
        }
        let is_it = |records: &crate::plugin::Records| records.plugin.name == *name;
        let refused = registry.refused().iter().find(|refused| refused.records.as_ref().is_some_and(is_it));
        Err(match refused {
            Some(refused) => {
                let file = refused.path.display();
                format!("plugin `{name}` {version} was there, and now `{file}` is refused: {}", refused.refusal)
            }
            None => format!("plugin `{name}` {version} is not there"),
        })
    }

    fn compare(&self, outline: Outline, registry: &Registry, different: &mut Vec<String>) {
        let knows = |(name, version): &Id| {
            self.plugins.iter().any(|plugin| plugin.name == *name && plugin.version == version.to_string())
        };
        let is_moved = |name: &str| self.plugins.iter().any(|plugin| plugin.name == name);
        let used = used(&outline, registry);
        for provider in registry.plugins() {
            let id = id(provider);
            // Of a plugin in another version it was said already.
            if !used.contains(&id) || knows(&id) || is_moved(&id.0) {
                continue;
            }
            let added = outline.pipeline.additions.iter().filter(|it| it.plugin == id.0);
            let added: Vec<String> = added.map(|it| format!("`{}` at `{}`", it.pass, it.point)).collect();
            let what = match added.is_empty() {
                true => "and the pipeline would use it".to_owned(),
                false => format!("and adds {}", added.join(", ")),
            };
            different.push(format!("plugin `{}` {} is new, {what}: {}", id.0, id.1, place(provider)));
        }
        let now = hash(outline.pipeline);
        if now != self.pipeline_sha256 {
            let name = &self.pipeline;
            let was = &self.pipeline_sha256;
            different.push(format!("the pipeline, `{name}` then, is another: the hash was {was}, and is {now}"));
        }
    }

    /// Reads a lock file.
    ///
    /// # Errors
    /// Returns an error if it cannot be read, or is none.
    pub fn read(path: &Path) -> Result<Self, LockError> {
        let mut text = String::new();
        let read = fs::File::open(path).and_then(|file| file.take(MAX_BYTES).read_to_string(&mut text));
        read.map_err(|error| LockError::Io(path.to_owned(), error))?;
        Self::parse(&text).map_err(|why| LockError::Format(path.to_owned(), why))
    }

    /// Reads a lock file's text.
    ///
    /// # Errors
    /// Returns the first error in the text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let file: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            let place = error.span().map(|span| text[..span.start.min(text.len())].lines().count().max(1));
            let place = place.map(|line| format!("line {line}: ")).unwrap_or_default();
            format!("{place}{}", error.message().lines().next().unwrap_or("not TOML"))
        })?;
        match file.get("format").and_then(toml::Value::as_integer) {
            Some(FORMAT) => {}
            Some(other) => return Err(format!("its format is {other}, and this host reads {FORMAT}")),
            None => return Err("it has no number `format`".into()),
        }
        let string = |table: &toml::Table, key: &str| match table.get(key).and_then(toml::Value::as_str) {
            Some(text) => Ok(text.to_owned()),
            None => Err(format!("it has no text `{key}`")),
        };
        let pipeline = file.get("pipeline").and_then(toml::Value::as_table).ok_or("it has no table `pipeline`")?;
        let none = Vec::new();
        let listed = match file.get("plugin") {
            None => &none,
            Some(listed) => listed.as_array().ok_or("its `plugin` is not a list of tables")?,
        };
        let plugin = |value: &toml::Value| {
            let table = value.as_table().ok_or("its `plugin` is not a list of tables")?;
            Ok(LockedPlugin {
                name: string(table, "name")?,
                version: string(table, "version")?,
                file: string(table, "file")?,
                sha256: string(table, "sha256")?,
                interpreter: if table.contains_key("interpreter") {
                    string(table, "interpreter")?
                } else {
                    String::new()
                },
            })
        };
        Ok(Self {
            host: string(&file, "host")?,
            boundary: string(&file, "boundary")?,
            target: string(&file, "target")?,
            pipeline: string(pipeline, "name")?,
            pipeline_sha256: string(pipeline, "sha256")?,
            plugins: listed.iter().map(plugin).collect::<Result<_, String>>()?,
        })
    }

    /// The lock file.
    pub fn to_toml(&self) -> String {
        let Self { host, boundary, target, pipeline, pipeline_sha256, plugins } = self;
        let quote = crate::pipeline::quote;
        let mut out = String::from("# Made by `relais lock`; `relais run --locked` insists on it.\n");
        let mut line = |key: &str, value: &str| {
            writeln!(out, "{key} = {}", quote(value)).expect("a string takes everything");
        };
        line("host", host);
        line("boundary", boundary);
        line("target", target);
        out.push_str(&format!("format = {FORMAT}\n\n[pipeline]\nname = {}\n", quote(pipeline)));
        out.push_str(&format!("sha256 = {}\n", quote(pipeline_sha256)));
        for LockedPlugin { name, version, file, sha256, interpreter } in plugins {
            out.push_str("\n[[plugin]]\n");
            let always = [("name", name), ("version", version), ("file", file), ("sha256", sha256)];
            let of_program = [("interpreter", interpreter)].into_iter().filter(|(_, value)| !value.is_empty());
            for (key, value) in always.into_iter().chain(of_program) {
                writeln!(out, "{key} = {}", quote(value)).expect("a string takes everything");
            }
        }
        out
    }
}

fn is(plugin: &LockedPlugin, provider: &Provider) -> bool {
    let record = &provider.records().plugin;
    record.name == plugin.name && record.version.to_string() == plugin.version
}

fn boundary() -> String {
    BOUNDARY.to_string()
}

fn place(provider: &Provider) -> String {
    provider.path().map_or_else(|| "the program itself".into(), |path| format!("`{}`", path.display()))
}

fn locked(provider: &Provider) -> Result<LockedPlugin, LockError> {
    let PluginRecord { name, version, .. } = &provider.records().plugin;
    let (mut file, mut sha256) = (String::new(), String::new());
    if let Some(path) = provider.path() {
        file = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        sha256 = sha256_of(path).map_err(|error| LockError::Io(path.to_owned(), error))?;
    }
    Ok(LockedPlugin { name: name.clone(), version: version.to_string(), file, sha256, interpreter: String::new() })
}

/// Returns the plugins that were looked up, and those that take part in any run: they describe operators, compute them, add to
/// them, or have analyses.
fn used(outline: &Outline, registry: &Registry) -> BTreeSet<Id> {
    let has_part = |provider: &&Provider| {
        let records = provider.records();
        let gives = [records.evaluators.len(), records.additions.len(), records.analyses.len()];
        !records.operators.is_empty() || gives != [0; 3]
    };
    let mut used: BTreeSet<Id> = registry.plugins().filter(has_part).map(id).collect();
    used.extend(outline.plugins.iter().cloned());
    let scoped = outline.pipeline.nodes.iter().filter_map(|node| match node {
        ResolvedStep::Scope { instruments, .. } => instruments.as_ref(),
        _ => None,
    });
    let instruments = outline.pipeline.run.instruments.iter().chain(scoped.flatten());
    used.extend(instruments.filter_map(|(name, _)| registry.instrument(name).ok()).map(|(_, provider)| id(provider)));
    let options = registry.config_options().filter(|(option, _)| outline.config.contains(&option.name));
    used.extend(options.map(|(_, provider)| id(provider)));
    used.extend(outline.named.iter().filter_map(|name| registry.pipeline(name).ok()).map(|(_, provider)| id(provider)));
    used
}

/// The hash of a pipeline: of its steps, and not of the place where it was written.
fn hash(mut pipeline: Pipeline) -> String {
    pipeline.origins.clear();
    sha256_of_bytes(pipeline.print().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock() -> Lock {
        Lock {
            host: "0.1.0".into(),
            boundary: "1.1".into(),
            target: "x".into(),
            pipeline: "a \"b\"".into(),
            pipeline_sha256: "00".into(),
            plugins: vec![LockedPlugin {
                name: "acme".into(),
                version: "1.0.0".into(),
                file: "libacme.so".into(),
                sha256: "11".into(),
                interpreter: "Python 3.11.7".into(),
            }],
        }
    }

    #[test]
    fn a_lock_file_reads_back() {
        assert_eq!(Lock::parse(&lock().to_toml()), Ok(lock()));
        let without = Lock { plugins: Vec::new(), ..lock() };
        assert_eq!(Lock::parse(&without.to_toml()), Ok(without));
    }

    #[test]
    fn what_is_no_lock_file_is_refused() {
        let good = lock().to_toml();
        for (from, to, why) in [
            ("format = 1", "format = ", "line 5: "),
            ("format = 1", "", "it has no number `format`"),
            ("format = 1", "format = 2", "its format is 2, and this host reads 1"),
            ("host = \"0.1.0\"", "host = 1", "it has no text `host`"),
            ("[pipeline]", "[pipelines]", "it has no table `pipeline`"),
            ("[[plugin]]", "[plugin]", "its `plugin` is not a list of tables"),
            ("sha256 = \"11\"", "", "it has no text `sha256`"),
        ] {
            assert!(good.contains(from));
            let error = Lock::parse(&good.replacen(from, to, 1)).unwrap_err();
            assert!(error.starts_with(why), "{from}: {error}");
        }
        assert!(Lock::read(Path::new("/nowhere/relais.lock")).unwrap_err().to_string().contains("/nowhere"));
    }
}

//! Reproducers of failing passes: the module just before the pass, a pipeline that runs it alone, and the versions of
//! the host and the plugins.

use super::{
    options::ManagerOptions,
    report::{FailureKind, PassFault},
    smaller::{self, Smaller},
};
use crate::{
    files::{self, Destination, Existing, NewFolder, write_text_form},
    instruments::OVER_BUDGET,
    ir::{IRModule, verify},
    pass::{Catalogue, Dependencies, OnFailure, Scope},
    pipeline::{Demand, Disk, Faults, Pipeline, PipelineSpec, ResolvedStep, RunSettings},
    plugin::sha256_of,
};
use relais_plugin_api::{boundary::record::Level, diagnostics::PassError, text::PrintOptions};
use semver::VersionReq;
use serde_json::{Value, json};
use std::{
    fmt, fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

/// The file that explains what a reproducer is; written last, so that one without it is incomplete.
const FACTS: &str = "reproducer.json";
const MODULE: &str = "module.relay";
const PIPELINE: &str = "pipeline.toml";
/// The facts are a few kilobytes.
const MAX_FACTS: u64 = 4 << 20;
const FORMAT: u64 = 1;

/// A reproducer that was read.
pub struct Reproducer {
    /// The module just before the pass.
    pub module: IRModule,
    /// A pipeline that runs the pass alone.
    pub pipeline: PipelineSpec,
    /// The facts about the failed run.
    pub facts: ReproducerFacts,
}

/// The host, plugins and error of a pass that failed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ReproducerFacts {
    /// The version of the host.
    pub host: String,
    /// The pass.
    pub pass: String,
    /// Which execution of a pass it was.
    pub execution: u64,
    /// The error's code.
    pub code: String,
    /// The error's message.
    pub message: String,
    /// The plugins that there were.
    pub plugins: Vec<PluginState>,
}

/// A plugin as it was.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PluginState {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its file.
    pub file: String,
    /// The SHA-256 of its file in hexadecimal digits; empty where there is none.
    pub sha256: String,
}

/// Why a reproducer cannot be written or read.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReproducerError {
    /// A file cannot be read or written.
    Io(PathBuf, io::Error),
    /// A file cannot be written.
    File(files::FileError),
    /// The module cannot be parsed.
    Module(files::TextFormError),
    /// The facts cannot be parsed.
    Facts(PathBuf, String),
    /// The pipeline cannot be parsed.
    Pipeline(Faults),
    /// An earlier pass had broken the module.
    Broken,
}

impl fmt::Display for ReproducerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(path, error) => write!(f, "`{}`: {error}", path.display()),
            Self::File(error) => error.fmt(f),
            Self::Module(error) => error.fmt(f),
            Self::Facts(path, error) => write!(f, "`{}` does not describe a reproducer: {error}", path.display()),
            Self::Pipeline(faults) => faults.fmt(f),
            Self::Broken => f.write_str("the module was broken before; `--verify-each` says by which pass"),
        }
    }
}

impl std::error::Error for ReproducerError {}

impl PluginState {
    /// The plugins of a catalogue that are in use, ordered by name.
    pub fn all(catalogue: &dyn Catalogue) -> Vec<Self> {
        let used = catalogue.plugins().into_iter().filter(|plugin| plugin.refusal.is_none());
        used.map(|plugin| Self {
            name: plugin.name,
            version: plugin.version.to_string(),
            // A plugin that is linked into the program has no file.
            sha256: sha256_of(Path::new(&plugin.file)).unwrap_or_default(),
            file: plugin.file,
        })
        .collect()
    }
}

impl ReproducerFacts {
    /// Whether an error is the one that was recorded. Numbers of nodes do not count: a text that was read has its own.
    pub fn is_same_error(&self, error: &PassError) -> bool {
        self.code == error.rec().code.as_str() && without_ids(&self.message) == without_ids(&error.rec().message)
    }

    /// Returns the differences to the current state, one line each.
    pub fn differences(&self, now: &[PluginState]) -> Vec<String> {
        let mut out = Vec::new();
        if self.host != env!("CARGO_PKG_VERSION") {
            out.push(format!("the host was {}, and is {}", self.host, env!("CARGO_PKG_VERSION")));
        }
        for old in &self.plugins {
            match now.iter().find(|new| new.name == old.name) {
                None => out.push(format!("plugin `{}` {} was there, from `{}`", old.name, old.version, old.file)),
                Some(new) if new.version != old.version => {
                    out.push(format!("plugin `{}` was version {}, and is {}", old.name, old.version, new.version));
                }
                Some(new) if new.sha256 != old.sha256 => {
                    let message = "was another build of the same version: its file's hash was";
                    out.push(format!("plugin `{}` {message} {}, and is {}", old.name, old.sha256, new.sha256));
                }
                Some(_) => {}
            }
        }
        out
    }

    fn to_json(&self, fault: &PassFault) -> Value {
        let rec = fault.error.rec();
        let plugin = |plugin: &PluginState| {
            let PluginState { name, version, file, sha256 } = plugin;
            json!({ "name": name, "version": version, "file": file, "sha256": sha256 })
        };
        json!({
            "format": FORMAT,
            "host": self.host,
            "pass": self.pass,
            "execution": self.execution,
            "error": {
                "code": self.code,
                "message": self.message,
                "function": rec.function.as_str(),
                "node": (!rec.node.is_absent()).then(|| rec.node.to_string()),
                "text": fault.error.to_string(),
            },
            "plugins": self.plugins.iter().map(plugin).collect::<Vec<_>>(),
        })
    }

    fn from_json(value: &Value) -> Result<Self, String> {
        let text = |value: &Value, key: &str| match value[key].as_str() {
            Some(text) => Ok(text.to_owned()),
            None => Err(format!("it has no text `{key}`")),
        };
        match value["format"].as_u64() {
            Some(FORMAT) => {}
            Some(other) => return Err(format!("its format is {other}, and this host reads {FORMAT}")),
            None => return Err("it has no `format`".into()),
        }
        let plugins = value["plugins"].as_array().ok_or("it has no list `plugins`")?;
        let plugin = |value: &Value| {
            Ok(PluginState {
                name: text(value, "name")?,
                version: text(value, "version")?,
                file: text(value, "file")?,
                sha256: text(value, "sha256")?,
            })
        };
        Ok(Self {
            host: text(value, "host")?,
            pass: text(value, "pass")?,
            execution: value["execution"].as_u64().ok_or("it has no number `execution`")?,
            code: text(&value["error"], "code")?,
            message: text(&value["error"], "message")?,
            plugins: plugins.iter().map(plugin).collect::<Result<_, String>>()?,
        })
    }
}

impl Reproducer {
    /// Writes a reproducer into a new folder: nothing is overwritten.
    ///
    /// # Errors
    /// Returns an error if the folder is there, or a file cannot be written. No half reproducer stays.
    pub fn write(
        folder: &Path,
        pipeline: &Pipeline,
        fault: &PassFault,
        catalogue: &dyn Catalogue,
    ) -> Result<(), ReproducerError> {
        if !verify(&fault.module).is_empty() {
            return Err(ReproducerError::Broken);
        }
        let io = |error| ReproducerError::Io(folder.to_owned(), error);
        let new = NewFolder::new(folder).map_err(io)?;
        write_files(new.path(), pipeline, fault, catalogue).map_err(ReproducerError::File)?;
        new.commit().map_err(io)
    }

    /// Reads a reproducer: its folder, or the file `reproducer.json` in it.
    ///
    /// # Errors
    /// Returns an error if it cannot be parsed.
    pub fn read(path: &Path) -> Result<Self, ReproducerError> {
        let facts_path = if path.is_dir() { path.join(FACTS) } else { path.to_owned() };
        let folder = facts_path.parent().unwrap_or(Path::new("")).to_owned();
        let mut bytes = Vec::new();
        let opened = fs::File::open(&facts_path).and_then(|file| file.take(MAX_FACTS).read_to_end(&mut bytes));
        opened.map_err(|error| ReproducerError::Io(facts_path.clone(), error))?;
        let value: Result<Value, String> = serde_json::from_slice(&bytes).map_err(|error| error.to_string());
        let facts = value.and_then(|value| ReproducerFacts::from_json(&value));
        let facts = facts.map_err(|error| ReproducerError::Facts(facts_path, error))?;
        let pipeline = PipelineSpec::read(&folder.join(PIPELINE), &Disk).map_err(ReproducerError::Pipeline)?;
        let module = files::read_text_form(&folder.join(MODULE)).map_err(ReproducerError::Module)?;
        Ok(Self { module, pipeline, facts })
    }
}

/// A new folder beside a file, named by its purpose: `BASE.repro`, `BASE.repro2` and so on; none if there are too many.
pub fn free_folder(base: &Path, purpose: &str) -> Option<PathBuf> {
    let name = |number: String| {
        let mut name = base.as_os_str().to_owned();
        name.push(format!(".{purpose}{number}"));
        PathBuf::from(name)
    };
    let numbers = std::iter::once(String::new()).chain((2..=99).map(|n| n.to_string()));
    numbers.map(name).find(|path| path.symlink_metadata().is_err())
}

fn write_files(
    folder: &Path,
    pipeline: &Pipeline,
    fault: &PassFault,
    catalogue: &dyn Catalogue,
) -> Result<(), files::FileError> {
    let instance = &pipeline.passes[fault.pass];
    let alone = alone(pipeline, fault);
    let smaller = smaller_part(&alone, fault, catalogue);
    let (fault, note) = match &smaller {
        Some((fault, note)) => (fault, format!("# Of the module, {note}.\n")),
        None => (fault, String::new()),
    };
    let module = Destination::new(&folder.join(MODULE), Existing::Keep)?;
    write_text_form(&fault.module, &module, &PrintOptions::default())?;
    let toml = format!(
        "# Runs `{}` alone, as it ran when it failed. `relais replay` runs it on `{MODULE}`.\n{note}\n{}",
        instance.facts.name,
        alone.print()
    );
    files::write(&folder.join(PIPELINE), Existing::Keep, toml.as_bytes())?;
    let rec = fault.error.rec();
    let facts = ReproducerFacts {
        host: env!("CARGO_PKG_VERSION").into(),
        pass: instance.facts.name.clone(),
        execution: fault.execution,
        code: rec.code.to_string(),
        message: rec.message.to_string(),
        plugins: PluginState::all(catalogue),
    };
    files::write(&folder.join(FACTS), Existing::Keep, format!("{:#}\n", facts.to_json(fault)).as_bytes())
}

/// The failure of a function's pass on the smallest part of the module, and what is left of it.
fn smaller_part(alone: &Pipeline, fault: &PassFault, catalogue: &dyn Catalogue) -> Option<(PassFault, String)> {
    let facts = &alone.passes.first()?.facts;
    // A part that takes as long as the whole would take as long to find.
    if !matches!(facts.level, Level::REWRITE | Level::FUNCTION) || fault.error.rec().code == OVER_BUDGET {
        return None;
    }
    let rec = fault.error.rec();
    let recorded =
        ReproducerFacts { code: rec.code.to_string(), message: rec.message.to_string(), ..ReproducerFacts::default() };
    let fails = |module: &IRModule| {
        let failure = super::run(alone, module, catalogue, &ManagerOptions::default()).err()?;
        match failure.kind {
            FailureKind::Pass { error, .. } if recorded.is_same_error(&error) => Some(error),
            _ => None,
        }
    };
    let Smaller { module, error, note } = smaller::around(&fault.module, &fault.error, fails)?;
    Some((PassFault { module, error, ..fault.clone() }, note))
}

/// The pipeline that runs the pass and nothing else, in the context that it ran in.
fn alone(pipeline: &Pipeline, fault: &PassFault) -> Pipeline {
    let mut instance = pipeline.passes[fault.pass].clone();
    instance.required.clear();
    let name = instance.facts.name.clone();
    let is_budget = fault.error.rec().code == OVER_BUDGET;
    let scoped = pipeline.nodes.iter().filter_map(|node| match node {
        ResolvedStep::Scope { instruments, .. } => instruments.as_ref(),
        _ => None,
    });
    let instruments = pipeline.run.instruments.iter().chain(scoped.flatten());
    let instruments = instruments.filter(|(name, _)| is_budget && name == "budget");
    // A plugin that was fixed has another version: the previous one is in the facts.
    let plugins = pipeline.run.plugins.iter().map(|demand| {
        let is_chosen = demand.name == instance.facts.plugin && !demand.passes.is_empty();
        Demand {
            name: demand.name.clone(),
            version: VersionReq::STAR,
            passes: is_chosen.then(|| name.clone()).into_iter().collect(),
            pipelines: Vec::new(),
            analyses: demand.analyses.clone(),
            operators: demand.operators.clone(),
            isolate: demand.isolate.clone(),
        }
    });
    let decides = |demand: &Demand| {
        let Demand { passes, operators, analyses, isolate, .. } = demand;
        isolate.is_some() || [passes, operators, analyses].into_iter().any(|names| !names.is_empty())
    };
    let plugins = plugins.filter(decides);
    Pipeline {
        name: "reproducer".into(),
        run: RunSettings {
            dependencies: Dependencies::Assumed,
            on_failure: OnFailure::Fail,
            verify: Some(fault.verify),
            instruments: instruments.cloned().collect(),
            plugins: plugins.collect(),
            target: pipeline.run.target.clone(),
        },
        scope: Scope {
            opt_level: fault.scope.opt_level,
            required: [name].into(),
            config: fault.scope.config.clone(),
            ..Scope::default()
        },
        steps: vec![0],
        nodes: vec![ResolvedStep::Pass { pass: 0, opt_level: instance.facts.opt_level }],
        passes: vec![instance],
        ..Pipeline::default()
    }
}

/// A message with `%` in the place of each `%12`.
fn without_ids(message: &str) -> String {
    let mut parts = message.split('%');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push('%');
        out.push_str(part.trim_start_matches(|c: char| c.is_ascii_digit()));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> ReproducerFacts {
        ReproducerFacts {
            host: env!("CARGO_PKG_VERSION").into(),
            pass: "acme.Fuse".into(),
            code: "no-shape".into(),
            message: "%12 has no shape".into(),
            plugins: vec![plugin("acme", "1.0.0", "aa")],
            ..ReproducerFacts::default()
        }
    }

    fn plugin(name: &str, version: &str, sha256: &str) -> PluginState {
        let text = str::to_owned;
        PluginState { name: text(name), version: text(version), file: format!("/lib{name}.so"), sha256: text(sha256) }
    }

    #[test]
    fn errors_are_the_same_whatever_the_numbers_of_nodes() {
        let error = |message: &str, code: &str| PassError::new(message).code(code);
        assert!(facts().is_same_error(&error("%7 has no shape", "no-shape")));
        assert!(!facts().is_same_error(&error("%7 has no shape", "other")));
        assert!(!facts().is_same_error(&error("%7 has no type", "no-shape")));
    }

    #[test]
    fn what_is_different_is_told_plugin_by_plugin() {
        let facts = facts();
        assert!(facts.differences(&[plugin("acme", "1.0.0", "aa"), plugin("new", "1.0.0", "")]).is_empty());
        let told = |now: &[PluginState]| facts.differences(now).join("\n");
        assert_eq!(told(&[plugin("acme", "1.0.1", "aa")]), "plugin `acme` was version 1.0.0, and is 1.0.1");
        assert!(told(&[plugin("acme", "1.0.0", "bb")]).contains("hash was aa, and is bb"));
        assert_eq!(told(&[]), "plugin `acme` 1.0.0 was there, from `/libacme.so`");
    }

    #[test]
    fn facts_that_do_not_read_are_refused() {
        for (text, why) in [
            ("{}", "it has no `format`"),
            ("[]", "it has no `format`"),
            (r#"{"format": 9}"#, "its format is 9, and this host reads 1"),
            (r#"{"format": 1}"#, "it has no list `plugins`"),
            (r#"{"format": 1, "plugins": [], "host": 3}"#, "it has no text `host`"),
        ] {
            let value: Value = serde_json::from_str(text).unwrap();
            assert_eq!(ReproducerFacts::from_json(&value).unwrap_err(), why, "{text}");
        }
    }
}

//! Inspecting a file as a plugin, with everything that can be determined without opening it.

use crate::{
    pass::{Catalogue, NoPass},
    pipeline::{EXTENSION_POINTS, PipelineSpec, extension_points},
    plugin::{
        AttrRecord, FoundPlugin, Mover, Needed, Needs, PipelineRecord, Policy, Records, Refusal, described, foreign,
        is_program, is_same_file, needs, open, own_slice, read_records, reasons, records_beside, records_of, slices,
        writable,
    },
    registry::{Registry, ResolveError},
    words::{and_list, nearest},
};
use object::{BinaryFormat, Object, ReadRef};
use relais_plugin_api::{
    boundary::record::{Level, STRUCTURE, TARGET},
    ir::attr_kind,
    op::parse_body,
};
use std::{
    collections::BTreeSet,
    fmt,
    path::{Path, PathBuf},
};

/// The facts about a file as a plugin.
#[derive(Clone, PartialEq, Debug)]
pub struct Inspection {
    /// The file.
    pub path: PathBuf,
    /// The kind of system and machine it is for; `None` if it is not a library.
    pub format: Option<String>,
    /// Its records, if they can be read.
    pub records: Option<Records>,
    /// Its requirements on the system.
    pub needs: Needs,
    /// Everything that is wrong with it, the gravest first.
    pub objections: Vec<Objection>,
}

/// Something that is wrong with a file as a plugin.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Objection {
    /// It is not used.
    Refused(Refusal),
    /// It does not open.
    Opening {
        /// Why.
        why: String,
    },
    /// A library that it needs is missing.
    MissingLibrary {
        /// Its name.
        library: String,
        /// Whether it is looked for in the plugin's own folder.
        own_folder: bool,
    },
    /// A library that it needs is there, and too old.
    MissingVersion {
        /// Its name.
        library: String,
        /// The version that is wanted.
        version: String,
    },
    /// It uses symbols that nothing defines.
    Undefined {
        /// Their names.
        symbols: Vec<String>,
    },
    /// An attribute of an operator cannot be decoded.
    Attribute {
        /// The operator.
        operator: String,
        /// The error.
        why: String,
    },
    /// The body of an operator is at fault.
    Body {
        /// The error, which names the operator.
        why: String,
        /// A suggestion.
        help: Option<String>,
    },
    /// It provides a name twice.
    Twice {
        /// The kind of item.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A pipeline cannot be parsed.
    Pipeline {
        /// The pipeline.
        pipeline: String,
        /// Where in it: line and column.
        place: String,
        /// The error.
        why: String,
        /// A suggestion.
        help: Option<String>,
    },
    /// No shipped pipeline and none of the plugin's own has the extension point that a pass is added at.
    Extends {
        /// The pass.
        pass: String,
        /// The point.
        point: String,
        /// The nearest one there is.
        nearest: Option<String>,
    },
    /// A pass is of a level that this host does not know.
    Level {
        /// The pass.
        pass: String,
        /// The level's number.
        level: u8,
    },
    /// A pass requires one, or has one as a member, that no plugin provides.
    Requirement {
        /// The pass.
        pass: String,
        /// The required name.
        required: String,
        /// The nearest name there is.
        nearest: Option<String>,
    },
    /// A pass declares that it preserves the results of an analysis that nothing provides.
    Preserves {
        /// The pass.
        pass: String,
        /// The name.
        analysis: String,
        /// The nearest name there is.
        nearest: Option<String>,
    },
    /// Another plugin provides some of its names.
    Overlap {
        /// The kind of items.
        what: &'static str,
        /// The names.
        names: Vec<String>,
        /// The other plugin and its version.
        plugin: String,
        /// Its file.
        file: PathBuf,
    },
}

impl Objection {
    /// Whether the plugin cannot be used at all because of it.
    pub fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::Refused(_)
                | Self::Opening { .. }
                | Self::MissingLibrary { .. }
                | Self::MissingVersion { .. }
                | Self::Undefined { .. }
        )
    }

    /// Whether it depends on the other plugins that exist, and not on the file.
    pub fn is_about_others(&self) -> bool {
        matches!(self, Self::Requirement { .. } | Self::Preserves { .. } | Self::Overlap { .. })
    }

    /// A word for it, for programs.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Refused(_) => "refused",
            Self::Opening { .. } => "does-not-open",
            Self::MissingLibrary { .. } => "missing-library",
            Self::MissingVersion { .. } => "missing-version",
            Self::Undefined { .. } => "undefined-symbols",
            Self::Attribute { .. } => "malformed-attribute",
            Self::Body { .. } => "malformed-body",
            Self::Twice { .. } => "twice",
            Self::Pipeline { .. } => "malformed-pipeline",
            Self::Extends { .. } => "unknown-extension-point",
            Self::Level { .. } => "unknown-level",
            Self::Requirement { .. } => "missing-requirement",
            Self::Preserves { .. } => "missing-analysis",
            Self::Overlap { .. } => "overlap",
        }
    }

    /// Returns the side that has to change.
    pub fn mover(&self) -> Mover {
        match self {
            Self::Refused(refusal) => refusal.mover(),
            Self::Opening { .. } => Mover::File,
            Self::Requirement { nearest: Some(_), .. } | Self::Preserves { nearest: Some(_), .. } => Mover::Plugin,
            Self::MissingLibrary { .. }
            | Self::MissingVersion { .. }
            | Self::Requirement { .. }
            | Self::Preserves { .. }
            | Self::Overlap { .. } => Mover::File,
            Self::Undefined { .. } | Self::Attribute { .. } | Self::Twice { .. } => Mover::Plugin,
            Self::Body { .. } | Self::Pipeline { .. } | Self::Extends { .. } => Mover::Plugin,
            Self::Level { .. } => Mover::Host,
        }
    }

    /// Returns a suggestion.
    pub fn help(&self) -> Option<String> {
        Some(match self {
            Self::Refused(refusal) => return refusal.help(),
            Self::Opening { .. } => "build or copy it again".into(),
            Self::MissingLibrary { own_folder: true, .. } => "a plugin is opened from a copy in memory, so that \
                 `$ORIGIN` does not lead to its folder: link the library statically, or name its folder in \
                 `LD_LIBRARY_PATH`"
                .into(),
            Self::MissingLibrary { library, .. } => {
                format!("install `{library}`, name its folder in `LD_LIBRARY_PATH`, or link it statically")
            }
            Self::MissingVersion { .. } => "build the plugin on a system as old as this one: `cargo build --release`".into(),
            Self::Undefined { .. } => {
                "name the library that defines them in the plugin's `build.rs`: `cargo::rustc-link-lib=NAME`".into()
            }
            Self::Attribute { .. } => {
                "describe operators with this version's `operators!`: `cargo update -p relais-plugin-api && cargo build --release`".into()
            }
            Self::Twice { .. } => "give each a name of its own".into(),
            Self::Body { help, .. } | Self::Pipeline { help, .. } => return help.clone(),
            Self::Extends { nearest: Some(nearest), .. } => format!("did you mean `{nearest}`?"),
            Self::Extends { .. } => format!("the shipped pipelines have {}", and_list(EXTENSION_POINTS)),
            Self::Level { .. } => "update the host: `cargo install relais-opt`".into(),
            Self::Requirement { nearest: Some(nearest), .. } | Self::Preserves { nearest: Some(nearest), .. } => {
                format!("did you mean `{nearest}`?")
            }
            Self::Requirement { .. } | Self::Preserves { .. } => {
                "install the plugin that provides it, or name its file: `relais plugin check --plugin FILE …`".into()
            }
            Self::Overlap { .. } => {
                "rename them, take one of the files away, or choose a version in a pipeline's table `[plugins]`".into()
            }
        })
    }
}

impl fmt::Display for Objection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refusal) => refusal.fmt(f),
            Self::Opening { why } => write!(f, "it was opened in a process of its own, and {why}"),
            Self::MissingLibrary { library, .. } => write!(f, "it needs the library `{library}`, which is not found"),
            Self::MissingVersion { library, version } => {
                write!(f, "it needs `{version}` of `{library}`, which this system's does not have")
            }
            Self::Undefined { symbols } => write!(f, "nothing that it needs defines {}", quoted(symbols)),
            Self::Attribute { operator, why } => {
                write!(f, "an attribute of operator `{operator}` cannot be parsed: {why}")
            }
            Self::Body { why, .. } => f.write_str(why),
            Self::Twice { what, name } => write!(f, "it provides {what} `{name}` twice"),
            Self::Pipeline { pipeline, place, why, .. } => {
                write!(f, "pipeline `{pipeline}` cannot be parsed: {place}: {why}")
            }
            Self::Extends { pass, point, .. } => {
                write!(f, "pass `{pass}` extends `{point}`, which neither a shipped pipeline nor one of its own has")
            }
            Self::Level { pass, level } => {
                write!(f, "pass `{pass}` is of level {level}, which this host does not know")
            }
            Self::Requirement { pass, required, .. } => {
                write!(f, "pass `{pass}` asks for pass `{required}`, which no plugin that is found provides")
            }
            Self::Preserves { pass, analysis, .. } => {
                write!(f, "pass `{pass}` preserves analysis `{analysis}`, which no plugin that is found provides")
            }
            Self::Overlap { what, names, plugin, file } => {
                write!(f, "`{plugin}` (`{}`) provides {what} {}, too", file.display(), quoted(names))
            }
        }
    }
}

/// Names in a sentence: all, or as many as one reads.
fn quoted(names: &[String]) -> String {
    const SHOWN: usize = 8;
    let shown: Vec<String> = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    match names.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Inspects a file as a plugin. It is not opened: nothing in it is run.
pub fn inspect(path: &Path, policy: Policy) -> Inspection {
    let mut inspection = Inspection {
        path: path.to_owned(),
        format: None,
        records: None,
        needs: Needs::NotChecked { why: "it is not a plugin".into() },
        objections: Vec::new(),
    };
    if let Err(refusal) = inspection.look(policy) {
        inspection.objections.insert(0, Objection::Refused(refusal));
    }
    inspection
}

impl Inspection {
    /// Whether the host would use it.
    pub fn is_accepted(&self) -> bool {
        !self.objections.iter().any(Objection::is_refusal)
    }

    /// Whether another file is the same, or has the same bytes.
    pub fn is_copy(&self, other: &Path) -> bool {
        let same_path = self.path.canonicalize().ok().zip(other.canonicalize().ok()).is_some_and(|(a, b)| a == b);
        same_path || is_same_file(&self.path, other)
    }

    /// Adds the items that another plugin provides too. A copy of the same file does not count as another plugin.
    pub fn compare(&mut self, other: &FoundPlugin) {
        let Some(records) = &self.records else { return };
        if self.is_copy(&other.path) {
            return;
        }
        let theirs: BTreeSet<(&str, String)> = names(&other.records).into_iter().collect();
        let mut both: Vec<(&'static str, Vec<String>)> = Vec::new();
        for (what, name) in names(records) {
            if !theirs.contains(&(what, name.clone())) {
                continue;
            }
            match both.last_mut() {
                Some((last, names)) if *last == what => names.push(name),
                _ => both.push((what, vec![name])),
            }
        }
        let plugin = format!("{} {}", other.records.plugin.name, other.records.plugin.version);
        for (what, mut names) in both {
            names.dedup();
            let (plugin, file) = (plugin.clone(), other.path.clone());
            self.objections.push(Objection::Overlap { what, names, plugin, file });
        }
    }

    /// Adds the required passes that nothing provides: `registry` has this plugin and all others.
    pub fn require(&mut self, registry: &Registry) {
        let Some(records) = &self.records else { return };
        for pass in &records.passes {
            for required in pass.required.iter().map(|required| &required.pass).chain(&pass.members) {
                let Err(ResolveError::Unknown { nearest, .. }) = registry.pass(required) else { continue };
                let (pass, required) = (pass.name.clone(), required.clone());
                self.objections.push(Objection::Requirement { pass, required, nearest });
            }
            for analysis in pass.preserves.iter().filter(|name| *name != STRUCTURE) {
                let Err(NoPass::Unknown(near)) = Catalogue::analysis(registry, analysis) else { continue };
                let (pass, analysis, nearest) = (pass.name.clone(), analysis.clone(), near.into_iter().next());
                self.objections.push(Objection::Preserves { pass, analysis, nearest });
            }
        }
    }

    fn object(&mut self, refusal: Refusal) {
        self.objections.push(Objection::Refused(refusal));
    }

    /// Goes as far as the file lets it.
    fn look(&mut self, policy: Policy) -> Result<(), Refusal> {
        if is_program(&self.path) {
            let described = described(&self.path)?;
            self.format = Some("Python".into());
            let of_records = records_beside(&self.path);
            let of_records = of_records.exists().then(|| writable(&of_records, policy)).flatten();
            writable(&self.path, policy).or(of_records).into_iter().for_each(|refusal| self.object(refusal));
            return described.map(|described| self.describe(described.records)).ok_or(Refusal::Undescribed);
        }
        let cache = open(&self.path)?;
        let Some(slices) = slices(&cache)? else {
            return self.look_at(&cache, "", policy);
        };
        match own_slice(&slices) {
            Ok(bytes) => self.look_at(bytes, " in a universal file", policy),
            Err(refusal) => {
                // Its records can be read anyway.
                let (_, bytes) = slices[0];
                let looked = self.look_at(bytes, " in a universal file", policy);
                self.objections
                    .retain(|objection| !matches!(objection, Objection::Refused(Refusal::NotALibrary { .. })));
                looked.and(Err(refusal))
            }
        }
    }

    fn look_at<'a, R: ReadRef<'a>>(&mut self, data: R, place: &str, policy: Policy) -> Result<(), Refusal> {
        let parsed = object::File::parse(data);
        let file = parsed.map_err(|error| Refusal::NotALibrary { why: error.to_string() })?;
        self.format = Some(format!("{:?}, {:?}{place}", file.format(), file.architecture()));
        let foreign = foreign(&file).or_else(|| other_system(file.format()));
        let section = match records_of(&file) {
            Err(Refusal::NoRecords) => {
                return Err(foreign.map_or(Refusal::NoRecords, |why| Refusal::NotALibrary { why }));
            }
            section => section?,
        };
        let records = read_records(&section).map_err(Refusal::Record)?;
        reasons(&records.plugin).for_each(|reason| self.object(reason));
        // The record explains it better, if it does.
        if let Some(why) = foreign.clone().filter(|_| records.plugin.takes_bytes || records.plugin.target == TARGET) {
            self.object(Refusal::NotALibrary { why });
        }
        let (needs, is_exported) = match foreign {
            Some(_) => (Needs::NotChecked { why: "it is for another system".into() }, None),
            None => needs(&file, &records.plugin.entry),
        };
        if is_exported == Some(false) {
            let symbol = records.plugin.entry.clone();
            let why = "the file does not export it".into();
            self.object(match records.plugin.takes_bytes {
                true => Refusal::Table { symbol, why },
                false => Refusal::Entry { symbol, why },
            });
        }
        if let Some(refusal) = writable(&self.path, policy) {
            self.object(refusal);
        }
        self.needs = needs;
        if let Needs::Checked(needed) = &self.needs {
            self.objections.extend(missing(needed));
        }
        self.objections.extend(flaws(&records));
        self.records = Some(records);
        Ok(())
    }
}

impl Inspection {
    /// Adds the records of a program.
    pub fn describe(&mut self, records: Records) {
        self.objections.retain(|objection| *objection != Objection::Refused(Refusal::Undescribed));
        self.needs = Needs::NotChecked { why: "it is not a library".into() };
        self.objections.extend(flaws(&records));
        self.records = Some(records);
    }
}

/// Why this system could not open a library of this format.
fn other_system(format: BinaryFormat) -> Option<String> {
    let own = match std::env::consts::OS {
        "windows" => BinaryFormat::Pe,
        "macos" | "ios" => BinaryFormat::MachO,
        _ => BinaryFormat::Elf,
    };
    (format != own).then(|| format!("it is a {format:?} file, and this system opens {own:?} files"))
}

fn missing(needed: &Needed) -> Vec<Objection> {
    let own_folder = needed.wants_own_folder;
    let absent = needed.libraries.iter().filter(|(_, found)| found.is_none());
    let mut all: Vec<Objection> =
        absent.map(|(library, _)| Objection::MissingLibrary { library: library.clone(), own_folder }).collect();
    let old = needed.missing_versions.iter().cloned();
    all.extend(old.map(|(library, version)| Objection::MissingVersion { library, version }));
    if !needed.undefined.is_empty() {
        all.push(Objection::Undefined { symbols: needed.undefined.clone() });
    }
    all
}

/// Returns the errors within the records.
fn flaws(records: &Records) -> Vec<Objection> {
    let mut all = Vec::new();
    for op in &records.operators {
        let faults = op.attrs().filter_map(|attr| match attr {
            Err(cause) => Some(cause.to_string()),
            Ok(AttrRecord { name: "", .. }) => Some("the name is missing".into()),
            Ok(AttrRecord { name, kind, .. }) if attr_kind::name(kind) == attr_kind::name(u8::MAX) => {
                Some(format!("`{name}` is of kind {kind}, which this host does not know"))
            }
            Ok(_) => None,
        });
        let operator = operator_name(&op.domain, &op.name, op.since_version);
        all.extend(faults.map(|why| Objection::Attribute { operator: operator.clone(), why }));
        let schema = op.schema();
        if let (false, Err(error)) = (schema.body.is_empty(), parse_body(&op.domain, &op.name, &schema, &schema.body)) {
            let rec = error.rec();
            let help = (!rec.help.is_empty()).then(|| rec.help.to_string());
            all.push(Objection::Body { why: rec.message.to_string(), help });
        }
    }
    let known = [Level::MODULE, Level::FUNCTION, Level::PRIM_FUNC, Level::REWRITE, Level::SEQUENTIAL];
    let unknown = records.passes.iter().filter(|pass| !known.contains(&pass.level));
    all.extend(unknown.map(|pass| Objection::Level { pass: pass.name.clone(), level: pass.level.0 }));
    for PipelineRecord { name, toml } in &records.pipelines {
        let faults = PipelineSpec::check_text(name, toml);
        all.extend(faults.list.iter().map(|fault| Objection::Pipeline {
            pipeline: name.clone(),
            place: fault.place.map(|place| faults.sources.locate(place)).unwrap_or_default(),
            why: fault.message.clone(),
            help: fault.help.clone(),
        }));
    }
    let own: BTreeSet<String> = records.pipelines.iter().flat_map(|it| extension_points(&it.toml)).collect();
    let points = || EXTENSION_POINTS.iter().copied().chain(own.iter().map(String::as_str));
    for pass in &records.passes {
        let Some(point) = pass.extends.as_deref().filter(|point| !points().any(|known| known == *point)) else {
            continue;
        };
        let nearest = nearest(point, points()).into_iter().next();
        all.push(Objection::Extends { pass: pass.name.clone(), point: point.to_owned(), nearest });
    }
    let mut seen = BTreeSet::new();
    let mut said = BTreeSet::new();
    for (what, name) in names(records) {
        if !seen.insert((what, name.clone())) && said.insert((what, name.clone())) {
            all.push(Objection::Twice { what, name });
        }
    }
    all
}

/// Every name that a plugin provides, by kind, in order.
fn names(records: &Records) -> Vec<(&'static str, String)> {
    let passes = records.passes.iter();
    // A pass that names itself among its aliases has no name twice.
    let passes = passes.flat_map(|pass| std::iter::once(&pass.name).chain(&pass.aliases).collect::<BTreeSet<_>>());
    let mut all: Vec<(&'static str, String)> = passes.map(|name| ("pass", name.clone())).collect();
    let operators = records.operators.iter();
    all.extend(operators.map(|op| ("operator", operator_name(&op.domain, &op.name, op.since_version))));
    let own = records.operators.iter().filter(|op| op.has_eval);
    let own = own.map(|op| operator_name(&op.domain, &op.name, op.since_version));
    let evaluators = records.evaluators.iter().map(|eval| operator_name(&eval.domain, &eval.name, eval.since_version));
    all.extend(own.chain(evaluators).map(|name| ("evaluator", name)));
    all.extend(records.options.iter().map(|option| ("option", option.name.clone())));
    all.extend(records.instruments.iter().map(|instrument| ("instrument", instrument.name.clone())));
    all.extend(records.analyses.iter().map(|analysis| ("analysis", analysis.name.clone())));
    all.extend(records.pipelines.iter().map(|pipeline| ("pipeline", pipeline.name.clone())));
    all
}

fn operator_name(domain: &str, name: &str, since: u32) -> String {
    match domain {
        "" => format!("{name}@{since}"),
        domain => format!("{domain}::{name}@{since}"),
    }
}

//! Reading the records of a plugin's file. The author of the file is not trusted.

use super::{
    operator_record::{AdditionRecord, EvaluatorRecord, OperatorRecord, by_operator, read_evaluator, read_operator},
    texts::{cut, escaped},
};
use crate::{options::OptionSchema, pass::AnalysisFacts};
use relais_plugin_api::{
    analysis::SubjectKind,
    boundary::{
        record::{
            BoundaryVersion, Depends, FORMAT, HEADER, Header, Level, MAX_LEN, Phase, analysis_tag, instrument_tag,
            is_name, list_tag, option_tag, pass_flag, pass_tag, pipeline_tag, plugin_tag, record_kind,
            required_option_tag, required_tag, sample_tag, statistic_tag,
        },
        wire::{Fields, Malformed},
    },
    ir::normal_domain,
    options::Value,
    pass::Requirement,
};
use semver::Version;
use std::{fmt, sync::Arc};

/// The prefix of the names of passes that the shipped pipelines use: no other plugin can take one over.
const OWN_NAMESPACE: &str = "relais.";
/// The prefix of the names of the plugins that have them.
pub(crate) const OWN_PLUGINS: &str = "relais-";

/// All records of one file.
#[derive(Clone, PartialEq, Debug)]
pub struct Records {
    /// The plugin.
    pub plugin: PluginRecord,
    /// Its passes, by name.
    pub passes: Vec<PassRecord>,
    /// Its operators, by domain, name and version.
    pub operators: Vec<OperatorRecord>,
    /// Its additions to operators that others describe, by domain, name and version.
    pub additions: Vec<AdditionRecord>,
    /// Its evaluators, by domain, name and version.
    pub evaluators: Vec<EvaluatorRecord>,
    /// Its options of the context, by key.
    pub options: Vec<OptionSchema>,
    /// Its instruments, by name.
    pub instruments: Vec<InstrumentRecord>,
    /// Its pipelines, by name.
    pub pipelines: Vec<PipelineRecord>,
    /// Its analyses, by name.
    pub analyses: Vec<AnalysisRecord>,
}

/// The contents of a plugin's record.
#[derive(Clone, PartialEq, Debug)]
pub struct PluginRecord {
    /// Package name.
    pub name: String,
    /// Package version.
    pub version: Version,
    /// Licence; may be empty.
    pub licence: String,
    /// Description.
    pub description: String,
    /// The symbol of the entry.
    pub entry: String,
    /// Whether the entry is the table of a plugin that shares no types with the host and is handed bytes.
    pub takes_bytes: bool,
    /// Crate name.
    pub crate_name: String,
    /// Boundary version.
    pub boundary: BoundaryVersion,
    /// The least boundary version that it uses.
    pub needs: BoundaryVersion,
    /// Layout fingerprint.
    pub fingerprint: u64,
    /// Version of `relais-plugin-api`; empty in records without it.
    pub api: String,
    /// Compiler.
    pub rustc: String,
    /// Target.
    pub target: String,
    /// `unwind` or `abort`.
    pub panic: String,
    /// Whether debug assertions are on.
    pub debug: bool,
    /// The domains that it describes completely, each up to a version of its operator set.
    pub closed_domains: Vec<(String, u32)>,
}

/// The contents of a pass's record.
#[derive(Clone, PartialEq, Debug)]
pub struct PassRecord {
    /// Full name.
    pub name: String,
    /// Other names.
    pub aliases: Vec<String>,
    /// The unit that it receives.
    pub level: Level,
    /// Optimisation level.
    pub opt_level: u8,
    /// Passes that must have run.
    pub required: Vec<Requirement>,
    /// Operators that a rewrite looks at; all when empty.
    pub ops: Vec<String>,
    /// Members of a sequential pass, where they do not depend on its options.
    pub members: Vec<String>,
    /// Documentation.
    pub doc: String,
    /// Whether functions are given to it in parallel.
    pub parallel: bool,
    /// Whether it begins before the first function of a module, and ends after the last one.
    pub begins: bool,
    /// Whether it establishes types, which the driver then keeps up.
    pub establishes_types: bool,
    /// The extension point of pipelines that it is added at.
    pub extends: Option<String>,
    /// The passes before which it is added there.
    pub before: Vec<String>,
    /// The passes after which it is added there.
    pub after: Vec<String>,
    /// When it runs among all passes of a level.
    pub phase: Phase,
    /// The runtime that it is for; empty if what it makes runs in any.
    pub runtime: String,
    /// The target that it is for; empty if it is for any.
    pub target: String,
    /// The option that asks it to change the interface of the entry function; empty if it may without one.
    pub changes_interface: Option<String>,
    /// The statistics that it counts.
    pub statistics: Vec<StatisticRecord>,
    /// The rules that it rewrites by, if it consists of rules: a text that is not parsed yet.
    pub rules: Option<String>,
    /// Examples for the rules, which are not parsed yet either.
    pub samples: Vec<SampleRecord>,
    /// The analyses whose results hold after it changed a function: by name, or `structure`.
    pub preserves: Vec<String>,
    /// Options.
    pub options: Vec<OptionSchema>,
}

/// An example for a rule of a pass.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SampleRecord {
    /// The name of the rule.
    pub rule: String,
    /// A module in the text form.
    pub module: String,
}

/// Something that a pass counts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StatisticRecord {
    /// Name.
    pub name: String,
    /// A description of what is counted.
    pub doc: String,
}

/// The contents of an instrument's record.
#[derive(Clone, PartialEq, Debug)]
pub struct InstrumentRecord {
    /// Name.
    pub name: String,
    /// Documentation.
    pub doc: String,
    /// Options.
    pub options: Vec<OptionSchema>,
}

/// The contents of a pipeline's record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PipelineRecord {
    /// Name.
    pub name: String,
    /// The pipeline in TOML, as in a file.
    pub toml: String,
}

/// The contents of an analysis's record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AnalysisRecord {
    /// Full name.
    pub name: String,
    /// Documentation.
    pub doc: String,
    /// The unit that it is of.
    pub subject: SubjectKind,
    /// The parts of that which it depends on.
    pub depends: Depends,
    /// The lists that everybody may read, each with its documentation.
    pub lists: Vec<(String, String)>,
}

impl AnalysisRecord {
    /// The facts about it, as one of a plugin.
    pub fn facts(&self, plugin: &str) -> AnalysisFacts {
        let Self { name, doc, subject, depends, lists } = self.clone();
        AnalysisFacts { name, plugin: plugin.to_owned(), subject, depends, lists, doc }
    }
}

/// Why records cannot be read. Offsets are within the section.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum RecordError {
    /// The bytes at an offset are not a record.
    Foreign {
        /// Where.
        offset: usize,
    },
    /// A record is longer than the rest of the section, or than any may be.
    Length {
        /// Where.
        offset: usize,
        /// The length it claims.
        len: usize,
    },
    /// A record was damaged.
    Checksum {
        /// Where.
        offset: usize,
    },
    /// A record was written with another kind.
    Kind {
        /// Where.
        offset: usize,
        /// The kind it claims.
        kind: u32,
    },
    /// A record is in a format that this host does not support.
    NewerFormat {
        /// The format.
        format: u32,
    },
    /// A record of this kind is of a later version, and must not be skipped.
    Critical {
        /// The kind.
        kind: u32,
    },
    /// No record describes the plugin.
    NoPlugin,
    /// Two records describe plugins.
    TwoPlugins {
        /// Their names.
        names: [String; 2],
    },
    /// Two records add to the same version of an operator, for the same target.
    TwoAdditions(Box<AdditionRecord>),
    /// A record's fields cannot be decoded.
    Malformed {
        /// Where.
        offset: usize,
        /// Why.
        cause: Malformed,
    },
    /// A name is outside the grammar.
    Name {
        /// The name.
        name: String,
    },
    /// A name is in the namespace of Relais's own plugins, and the plugin is not one of them.
    Reserved {
        /// The name.
        name: String,
    },
    /// The plugin's version is not a semantic version.
    Version {
        /// The version.
        version: String,
    },
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Foreign { offset } => write!(f, "the bytes at offset {offset} of its records are not a record"),
            Self::Length { offset, len } => {
                write!(f, "the record at offset {offset} claims {len} bytes, more than there are or may be")
            }
            Self::Checksum { offset } => write!(f, "the record at offset {offset} is damaged: its checksum differs"),
            Self::Kind { offset, kind } => {
                write!(f, "the record at offset {offset} is damaged: it was not written as one of kind {kind}")
            }
            Self::NewerFormat { format } => {
                write!(f, "its records are in format {format}, and this host reads formats up to {FORMAT}")
            }
            Self::Critical { kind } => write!(
                f,
                "its record of kind {kind:#010x} is of a later version, and nothing can be understood without it"
            ),
            Self::NoPlugin => f.write_str("no record describes the plugin: its source has no `plugin! { … }`"),
            Self::TwoPlugins { names: [a, b] } => write!(f, "two plugins are in one file: `{a}` and `{b}`"),
            Self::TwoAdditions(first) => {
                let OperatorRecord { domain, name, since_version, .. } = &first.parts;
                let domain = if domain.is_empty() { String::new() } else { format!("{domain}::") };
                write!(f, "it adds twice to operator `{domain}{name}` since version {since_version}")?;
                match first.target.as_str() {
                    "" => Ok(()),
                    target => write!(f, " for the target `{target}`"),
                }
            }
            Self::Malformed { offset, cause } => write!(f, "the record at offset {offset} cannot be parsed: {cause}"),
            Self::Name { name } => {
                write!(f, "{name:?} is not a valid name of a pass, option, instrument, analysis, pipeline or target")
            }
            Self::Reserved { name } => write!(
                f,
                "`{name}` is a name in `{OWN_NAMESPACE}`, which only plugins called `{OWN_PLUGINS}…` may have"
            ),
            Self::Version { version } => write!(f, "its version {version:?} is not a semantic version"),
        }
    }
}

impl std::error::Error for RecordError {}

impl RecordError {
    /// Whether a later host would read the records.
    pub fn is_of_later_version(&self) -> bool {
        let Self::Malformed { cause, .. } = self else {
            return matches!(self, Self::NewerFormat { .. } | Self::Critical { .. });
        };
        matches!(cause, Malformed::Critical(_) | Malformed::Later(_))
    }
}

/// Reads all records of a section, which may come in any order and with zeros between them.
///
/// # Errors
/// Returns the first error.
pub fn read_records(section: &Arc<[u8]>) -> Result<Records, RecordError> {
    let mut plugin: Option<PluginRecord> = None;
    let mut passes = Vec::new();
    let mut operators = Vec::new();
    let mut additions: Vec<AdditionRecord> = Vec::new();
    let mut evaluators = Vec::new();
    let mut options = Vec::new();
    let mut instruments = Vec::new();
    let mut pipelines = Vec::new();
    let mut analyses = Vec::new();
    let mut needs = BoundaryVersion::default();
    let mut offset = 0;
    while let Some(skip) = section[offset..].iter().position(|&byte| byte != 0) {
        offset += skip;
        let header = Header::read(&section[offset..]).ok_or(RecordError::Foreign { offset })?;
        if header.format > FORMAT {
            return Err(RecordError::NewerFormat { format: header.format });
        }
        let fields = section.get(offset + HEADER..).and_then(|rest| rest.get(..header.len));
        let Some(fields) = fields.filter(|_| header.len <= MAX_LEN) else {
            return Err(RecordError::Length { offset, len: header.len });
        };
        if !header.matches(fields) {
            return Err(RecordError::Checksum { offset });
        }
        if !header.has_its_kind() {
            return Err(RecordError::Kind { offset, kind: header.kind });
        }
        let malformed = |cause| RecordError::Malformed { offset, cause };
        match header.kind {
            record_kind::PLUGIN => {
                let next = read_plugin(fields, offset)?;
                if let Some(first) = plugin {
                    return Err(RecordError::TwoPlugins { names: [first.name, next.name] });
                }
                plugin = Some(next);
            }
            record_kind::PASS => passes.push(read_pass(fields, offset)?),
            record_kind::OPERATOR => operators.push(read_operator(fields, offset + HEADER).map_err(malformed)?),
            record_kind::ADDITION => {
                additions.push(AdditionRecord::read(fields, offset + HEADER, section).map_err(malformed)?);
            }
            record_kind::EVALUATOR => evaluators.push(read_evaluator(fields).map_err(malformed)?),
            record_kind::OPTION => options.extend(read_option(fields).map_err(malformed)?),
            record_kind::INSTRUMENT => instruments.push(read_instrument(fields).map_err(malformed)?),
            record_kind::PIPELINE => pipelines.push(read_pipeline(fields).map_err(malformed)?),
            record_kind::ANALYSIS => analyses.push(read_analysis(fields).map_err(malformed)?),
            record_kind::NEEDS => needs = needs.max(read_needs(fields).map_err(malformed)?),
            kind if kind & record_kind::CRITICAL != 0 => return Err(RecordError::Critical { kind }),
            // An item of a later version: the rest of the file is still good.
            _ => {}
        }
        offset += HEADER + header.len;
    }
    let names = passes.iter().flat_map(|pass: &PassRecord| std::iter::once(&pass.name).chain(&pass.aliases));
    let names = names.chain(options.iter().map(|option| &option.name));
    let names = names.chain(instruments.iter().map(|instrument: &InstrumentRecord| &instrument.name));
    let names = names.chain(passes.iter().filter_map(|pass| pass.extends.as_ref()));
    let targets = additions.iter().map(|addition| &addition.target).chain(passes.iter().map(|pass| &pass.target));
    let targets = targets.filter(|target| !target.is_empty());
    let names = names.chain(targets);
    let names = names.chain(analyses.iter().map(|analysis: &AnalysisRecord| &analysis.name));
    let mut names = names.chain(pipelines.iter().map(|pipeline: &PipelineRecord| &pipeline.name));
    if let Some(name) = names.find(|name| !is_name(name)) {
        return Err(RecordError::Name { name: name.clone() });
    }
    let mut plugin = plugin.ok_or(RecordError::NoPlugin)?;
    plugin.needs = plugin.needs.max(needs);
    let names = passes.iter().flat_map(|pass| std::iter::once(&pass.name).chain(&pass.aliases));
    let mut names = names.chain(analyses.iter().map(|analysis| &analysis.name));
    let reserved = names.find(|name| name.starts_with(OWN_NAMESPACE) && !plugin.name.starts_with(OWN_PLUGINS));
    if let Some(name) = reserved {
        return Err(RecordError::Reserved { name: name.clone() });
    }
    passes.sort_by(|a, b| a.name.cmp(&b.name));
    let operators = by_operator(operators, |op| (op.domain, op.name, op.since_version));
    let operators = operators.into_iter().map(|op| OperatorRecord::new(op, section)).collect();
    additions.sort_by(|a, b| a.key().cmp(&b.key()));
    if let Some([twice, ..]) = additions.windows(2).find(|pair| pair[0].key() == pair[1].key()) {
        return Err(RecordError::TwoAdditions(Box::new(twice.clone())));
    }
    let evaluators = by_operator(evaluators, |eval| (eval.domain, eval.name, eval.since_version));
    let evaluators = evaluators.into_iter().map(EvaluatorRecord::new).collect();
    options.sort_by(|a, b| a.name.cmp(&b.name));
    instruments.sort_by(|a, b| a.name.cmp(&b.name));
    pipelines.sort_by(|a, b| a.name.cmp(&b.name));
    analyses.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(Records { plugin, passes, operators, additions, evaluators, options, instruments, pipelines, analyses })
}

/// The version that a function of the plugin needs.
fn read_needs(fields: &[u8]) -> Result<BoundaryVersion, Malformed> {
    let mut needs = None;
    for field in Fields::new(fields) {
        let field = field?;
        match field.tag {
            plugin_tag::NEEDS => needs = Some(BoundaryVersion::decode(field.array()?)),
            _ => field.skip()?,
        }
    }
    needs.ok_or(Malformed::Missing("version"))
}

fn read_plugin(fields: &[u8], offset: usize) -> Result<PluginRecord, RecordError> {
    let mut plugin = PluginRecord {
        name: String::new(),
        version: Version::new(0, 0, 0),
        licence: String::new(),
        description: String::new(),
        entry: String::new(),
        takes_bytes: false,
        crate_name: String::new(),
        boundary: BoundaryVersion::default(),
        needs: BoundaryVersion::default(),
        fingerprint: 0,
        api: String::new(),
        rustc: String::new(),
        target: String::new(),
        panic: String::new(),
        debug: false,
        closed_domains: Vec::new(),
    };
    let malformed = |cause| RecordError::Malformed { offset, cause };
    let mut version = String::new();
    let mut needs = None;
    for field in Fields::new(fields) {
        let field = field.map_err(malformed)?;
        let text = || field.text().map(shown).map_err(malformed);
        match field.tag {
            plugin_tag::NEEDS => needs = Some(BoundaryVersion::decode(field.array().map_err(malformed)?)),
            plugin_tag::NAME => plugin.name = text()?,
            plugin_tag::VERSION => version = text()?,
            plugin_tag::LICENCE => plugin.licence = text()?,
            plugin_tag::DESCRIPTION => plugin.description = text()?,
            plugin_tag::ENTRY => plugin.entry = text()?,
            plugin_tag::SHIP_ENTRY => (plugin.entry, plugin.takes_bytes) = (text()?, true),
            plugin_tag::CRATE => plugin.crate_name = text()?,
            plugin_tag::BOUNDARY => {
                plugin.boundary = BoundaryVersion::decode(field.array().map_err(malformed)?);
            }
            plugin_tag::API => plugin.api = text()?,
            plugin_tag::FINGERPRINT => plugin.fingerprint = field.u64().map_err(malformed)?,
            plugin_tag::RUSTC => plugin.rustc = text()?,
            plugin_tag::TARGET => plugin.target = text()?,
            plugin_tag::PANIC => plugin.panic = text()?,
            plugin_tag::CLOSED_DOMAIN => {
                let wrong = || malformed(Malformed::Missing("closed domain"));
                let (version, domain) = field.bytes.split_first_chunk::<4>().ok_or_else(wrong)?;
                let domain = std::str::from_utf8(domain).map_err(|_| wrong())?;
                plugin.closed_domains.push((normal_domain(domain).to_owned(), u32::from_le_bytes(*version)));
            }
            plugin_tag::DEBUG => plugin.debug = field.u8().map_err(malformed)? != 0,
            _ => field.skip().map_err(malformed)?,
        }
    }
    if !is_package_name(&plugin.name) {
        return Err(RecordError::Name { name: plugin.name });
    }
    if !plugin.entry.starts_with("relais_plugin_") || plugin.entry.contains('\0') {
        return Err(malformed(Malformed::Missing("entry symbol")));
    }
    plugin.needs = needs.unwrap_or(plugin.boundary);
    plugin.version = version.parse().map_err(|_| RecordError::Version { version })?;
    Ok(plugin)
}

/// Returns a text as it may be shown: cut, and escaped.
fn shown(text: &str) -> String {
    escaped(&cut(text)).into_owned()
}

fn is_package_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 128
        && name.chars().all(|letter| letter.is_alphanumeric() || letter == '-' || letter == '_')
}

fn read_pass(fields: &[u8], offset: usize) -> Result<PassRecord, RecordError> {
    let mut pass = PassRecord {
        name: String::new(),
        aliases: Vec::new(),
        level: Level::MODULE,
        opt_level: 0,
        required: Vec::new(),
        ops: Vec::new(),
        members: Vec::new(),
        doc: String::new(),
        parallel: true,
        begins: false,
        establishes_types: false,
        extends: None,
        before: Vec::new(),
        after: Vec::new(),
        phase: Phase::REWRITES,
        runtime: String::new(),
        target: String::new(),
        changes_interface: None,
        statistics: Vec::new(),
        rules: None,
        samples: Vec::new(),
        preserves: Vec::new(),
        options: Vec::new(),
    };
    let malformed = |cause| RecordError::Malformed { offset, cause };
    for field in Fields::new(fields) {
        let field = field.map_err(malformed)?;
        let text = || field.text().map(shown).map_err(malformed);
        match field.tag {
            pass_tag::NAME => pass.name = text()?,
            pass_tag::ALIAS => pass.aliases.push(text()?),
            pass_tag::LEVEL => pass.level = Level(field.u8().map_err(malformed)?),
            pass_tag::OPT_LEVEL => pass.opt_level = field.u8().map_err(malformed)?,
            pass_tag::REQUIRED => pass.required.push(text()?.as_str().into()),
            pass_tag::REQUIRED_WITH => pass.required.push(read_requirement(field.bytes).map_err(malformed)?),
            pass_tag::OP => pass.ops.push(text()?),
            pass_tag::MEMBER => pass.members.push(text()?),
            pass_tag::DOC => pass.doc = text()?,
            pass_tag::FLAGS => {
                let flags = field.u32().map_err(malformed)?;
                pass.parallel = flags & pass_flag::SERIAL == 0;
                pass.begins = flags & pass_flag::BEGINS != 0;
                pass.establishes_types = flags & pass_flag::TYPES != 0;
            }
            pass_tag::PHASE => pass.phase = Phase(field.u8().map_err(malformed)?),
            pass_tag::RUNTIME => pass.runtime = text()?,
            pass_tag::TARGET => pass.target = text()?,
            pass_tag::EXTENDS => pass.extends = Some(text()?),
            pass_tag::BEFORE => pass.before.push(text()?),
            pass_tag::AFTER => pass.after.push(text()?),
            pass_tag::CHANGES_INTERFACE => pass.changes_interface = Some(text()?),
            pass_tag::STATISTIC => pass.statistics.push(read_statistic(field.bytes).map_err(malformed)?),
            pass_tag::RULES => pass.rules = Some(field.text().map_err(malformed)?.to_owned()),
            pass_tag::SAMPLE => pass.samples.push(read_sample(field.bytes).map_err(malformed)?),
            pass_tag::PRESERVES => pass.preserves.push(text()?),
            pass_tag::OPTION => pass.options.push(OptionSchema::read(field.bytes).map_err(malformed)?),
            _ => field.skip().map_err(malformed)?,
        }
    }
    Ok(pass)
}

fn read_requirement(fields: &[u8]) -> Result<Requirement, Malformed> {
    let (mut pass, mut options) = (String::new(), Vec::new());
    for field in Fields::new(fields) {
        let field = field?;
        match field.tag {
            required_tag::NAME => pass = shown(field.text()?),
            required_tag::OPTION => {
                let (mut name, mut value) = (String::new(), None);
                for field in Fields::new(field.bytes) {
                    let field = field?;
                    match field.tag {
                        required_option_tag::NAME => name = shown(field.text()?),
                        required_option_tag::VALUE => value = Some(Value::decode(field.bytes)?),
                        _ => field.skip()?,
                    }
                }
                options.push((name, value.ok_or(Malformed::Missing("value"))?));
            }
            _ => field.skip()?,
        }
    }
    Ok(Requirement { pass, options: Value::Struct(options) })
}

fn read_sample(fields: &[u8]) -> Result<SampleRecord, Malformed> {
    let mut sample = SampleRecord { rule: String::new(), module: String::new() };
    for field in Fields::new(fields) {
        let field = field?;
        match field.tag {
            sample_tag::RULE => sample.rule = field.text()?.to_owned(),
            sample_tag::MODULE => sample.module = field.text()?.to_owned(),
            _ => field.skip()?,
        }
    }
    if sample.rule.is_empty() { Err(Malformed::Missing("rule")) } else { Ok(sample) }
}

fn read_statistic(fields: &[u8]) -> Result<StatisticRecord, Malformed> {
    let mut statistic = StatisticRecord { name: String::new(), doc: String::new() };
    for field in Fields::new(fields) {
        let field = field?;
        match field.tag {
            statistic_tag::NAME => statistic.name = shown(field.text()?),
            statistic_tag::DOC => statistic.doc = shown(field.text()?),
            _ => field.skip()?,
        }
    }
    if statistic.name.is_empty() { Err(Malformed::Missing("name")) } else { Ok(statistic) }
}

fn read_pipeline(fields: &[u8]) -> Result<PipelineRecord, Malformed> {
    let (mut name, mut toml) = (String::new(), None);
    for field in Fields::new(fields) {
        let field = field?;
        match field.tag {
            pipeline_tag::NAME => name = field.text()?.to_owned(),
            pipeline_tag::TOML => toml = Some(field.text()?.to_owned()),
            _ => field.skip()?,
        }
    }
    Ok(PipelineRecord { name, toml: toml.ok_or(Malformed::Missing("pipeline in TOML"))? })
}

/// An option of the context, with its aliases.
fn read_option(fields: &[u8]) -> Result<Option<OptionSchema>, Malformed> {
    let (mut option, mut aliases) = (None, Vec::new());
    for field in Fields::new(fields) {
        let field = field?;
        match field.tag {
            option_tag::OPTION => option = Some(OptionSchema::read(field.bytes)?),
            option_tag::ALIAS => aliases.push(field.text()?.to_owned()),
            _ => field.skip()?,
        }
    }
    Ok(option.map(|option| OptionSchema { aliases, ..option }))
}

fn read_analysis(fields: &[u8]) -> Result<AnalysisRecord, Malformed> {
    let (mut name, mut doc, mut lists) = (String::new(), String::new(), Vec::new());
    let (mut subject, mut depends) = (None, Depends::EVERYTHING);
    for field in Fields::new(fields) {
        let field = field?;
        match field.tag {
            analysis_tag::NAME => name = shown(field.text()?),
            analysis_tag::DOC => doc = shown(field.text()?),
            analysis_tag::SUBJECT => subject = Some(SubjectKind(field.u8()?)),
            analysis_tag::DEPENDS => depends = Depends(field.u8()?),
            analysis_tag::LIST => lists.push(read_list(field.bytes)?),
            _ => field.skip()?,
        }
    }
    Ok(AnalysisRecord { name, doc, subject: subject.ok_or(Malformed::Missing("unit"))?, depends, lists })
}

/// A list that an analysis gives: its name and its documentation.
fn read_list(fields: &[u8]) -> Result<(String, String), Malformed> {
    let (mut name, mut doc) = (String::new(), String::new());
    for field in Fields::new(fields) {
        let field = field?;
        match field.tag {
            list_tag::NAME => name = shown(field.text()?),
            list_tag::DOC => doc = shown(field.text()?),
            _ => field.skip()?,
        }
    }
    if name.is_empty() { Err(Malformed::Missing("name")) } else { Ok((name, doc)) }
}

fn read_instrument(fields: &[u8]) -> Result<InstrumentRecord, Malformed> {
    let mut instrument = InstrumentRecord { name: String::new(), doc: String::new(), options: Vec::new() };
    for field in Fields::new(fields) {
        let field = field?;
        match field.tag {
            instrument_tag::NAME => instrument.name = shown(field.text()?),
            instrument_tag::DOC => instrument.doc = shown(field.text()?),
            instrument_tag::OPTION => instrument.options.push(OptionSchema::read(field.bytes)?),
            _ => field.skip()?,
        }
    }
    Ok(instrument)
}

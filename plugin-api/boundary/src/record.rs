//! The records in a plugin's file that describe its contents: written in const evaluation, read without running
//! anything.

mod kinds;
mod tags;

pub use kinds::{Depends, Level, Phase};
pub use relais_ir::wire::{FORMAT, HEADER, MAGIC, MAX_LEN};
pub use relais_ops::{op::tags::*, version::BoundaryVersion};
pub use tags::*;

use crate::{
    abi::analysis::SubjectKind,
    options::{ConfigSpec, DefaultSpec, OptionKind, OptionSpec, write_options},
};
use relais_ir::{
    const_text::Text,
    wire::{Writer, checksum, is_equal},
};
use relais_ops::{
    op::{
        Addition, Evaluator, Operator,
        record::{addition, evaluator, operator},
    },
    version::needs,
};

/// The name of the section that contains the records (ELF, PE). It must not begin with `.rela`, which GNU ld takes for
/// relocations.
pub const SECTION: &str = ".passrec";
/// The name of the section that contains the records (Mach-O), within segment `__DATA`.
pub const SECTION_MACHO: &str = "__passrec";

/// The version of the boundary.
pub const BOUNDARY: BoundaryVersion = BoundaryVersion { major: 0, minor: 3, patch: 0 };
/// The least version of the boundary that the plugins of this build need: the newest one that a feature `api-…` of this
/// crate names. If none is selected, the first of the series where files say what the linked code needs besides (see
/// [`relais_ops::needs`]), and [`BOUNDARY`] elsewhere.
pub const NEEDS: BoundaryVersion = needs(
    &[(cfg!(feature = "api-0-3"), [0, 3, 0])],
    if relais_ops::needs::IS_LINKED { BOUNDARY.first_compatible() } else { BOUNDARY },
);
/// The version of this crate.
pub const API: &str = env!("CARGO_PKG_VERSION");
/// The compiler of this build.
pub const RUSTC: &str = env!("RELAIS_RUSTC");
/// The target of this build.
pub const TARGET: &str = env!("RELAIS_TARGET");

/// The contents of a plugin's record, except for those that are the same in every record of this build.
#[derive(Clone, Copy, Debug)]
pub struct PluginSpec {
    /// Package name.
    pub name: &'static str,
    /// Package version.
    pub version: &'static str,
    /// Licence.
    pub licence: &'static str,
    /// Description.
    pub description: &'static str,
    /// The symbol of the entry.
    pub entry: &'static str,
    /// Crate name.
    pub crate_name: &'static str,
    /// `unwind` or `abort`.
    pub panic: &'static str,
    /// 1 when debug assertions are on.
    pub debug: u8,
    /// The domains that it describes completely, each up to a version of its operator set.
    pub closed_domains: &'static [(&'static str, u32)],
}

/// The contents of a pass's record.
#[derive(Clone, Copy, Debug)]
pub struct PassSpec {
    /// Full name.
    pub name: &'static str,
    /// Other names.
    pub aliases: &'static [&'static str],
    /// The unit that it receives.
    pub level: Level,
    /// Optimisation level.
    pub opt_level: u8,
    /// Passes that must have run.
    pub required: &'static [RequiredSpec],
    /// Operators that a rewrite looks at; all when empty.
    pub ops: &'static [&'static str],
    /// Members of a sequential pass, when they do not depend on its options.
    pub members: &'static [&'static str],
    /// Documentation.
    pub doc: &'static str,
    /// Bits of [`pass_flag`].
    pub flags: u32,
    /// The extension point of pipelines that it is added at; none when empty.
    pub extends: &'static str,
    /// The passes before which it is added there.
    pub before: &'static [&'static str],
    /// The passes after which it is added there.
    pub after: &'static [&'static str],
    /// When it runs among all passes of a level.
    pub phase: Phase,
    /// The runtime that it is for; empty when what it makes runs in any.
    pub runtime: &'static str,
    /// The target that it is for, such as one for which plugins add kernels; empty when it is for any.
    pub target: &'static str,
    /// The option that asks the pass to change the interface of the entry function; empty when it may without one.
    pub changes_interface: Option<&'static str>,
    /// The statistics that it counts.
    pub statistics: &'static [StatisticSpec],
    /// The rules that it rewrites by; empty when it does not consist of rules.
    pub rules: &'static str,
    /// Examples for the rules.
    pub samples: &'static [SampleSpec],
    /// The analyses whose results hold after it changed a function: by name, or [`STRUCTURE`].
    pub preserves: &'static [&'static str],
    /// Options.
    pub options: &'static [OptionSpec],
}

/// A pass that must have run before another one.
#[derive(Clone, Copy, Debug)]
pub struct RequiredSpec {
    /// Its name.
    pub pass: &'static str,
    /// The options that it runs with where they are not the defaults.
    pub options: &'static [(&'static str, DefaultSpec)],
}

/// An example for a rule of a pass.
#[derive(Clone, Copy, Debug)]
pub struct SampleSpec {
    /// The name of the rule.
    pub rule: &'static str,
    /// A module in the text form on which it matches.
    pub module: &'static str,
}

/// Something that a pass counts.
#[derive(Clone, Copy, Debug)]
pub struct StatisticSpec {
    /// Name.
    pub name: &'static str,
    /// A description of what is counted.
    pub doc: &'static str,
}

/// Stands among the analyses that a pass preserves for all those that depend on the structure of a function alone.
pub const STRUCTURE: &str = "structure";

/// The contents of an analysis's record.
#[derive(Clone, Copy, Debug)]
pub struct AnalysisSpec {
    /// Full name.
    pub name: &'static str,
    /// Documentation.
    pub doc: &'static str,
    /// The unit that it looks at.
    pub subject: SubjectKind,
    /// The parts of it that it depends on.
    pub depends: Depends,
    /// The lists that everybody may read.
    pub lists: &'static [ListSpec],
}

/// A list that an analysis gives.
#[derive(Clone, Copy, Debug)]
pub struct ListSpec {
    /// Name.
    pub name: &'static str,
    /// A description of its numbers.
    pub doc: &'static str,
}

/// The contents of an instrument's record.
#[derive(Clone, Copy, Debug)]
pub struct InstrumentSpec {
    /// Name.
    pub name: &'static str,
    /// Documentation.
    pub doc: &'static str,
    /// Options.
    pub options: &'static [OptionSpec],
}

/// The contents of a pipeline's record.
#[derive(Clone, Copy, Debug)]
pub struct PipelineSpec {
    /// Name.
    pub name: &'static str,
    /// The pipeline in TOML.
    pub toml: &'static str,
}

/// The input from which records are made.
#[derive(Clone, Copy, Debug)]
pub enum Spec<'a> {
    /// A plugin, and the layout fingerprint.
    Plugin(&'a PluginSpec, u64),
    /// A pass.
    Pass(&'a PassSpec),
    /// Operators, one record each.
    Operators(&'a [Operator]),
    /// Additions to operators, one record each.
    Additions(&'a [Addition]),
    /// Evaluators, one record each.
    Evaluators(&'a [Evaluator]),
    /// An option of the context.
    Option(&'a ConfigSpec),
    /// An instrument.
    Instrument(&'a InstrumentSpec),
    /// A pipeline.
    Pipeline(&'a PipelineSpec),
    /// An analysis.
    Analysis(&'a AnalysisSpec),
}

impl Spec<'_> {
    /// The length of the records.
    pub const fn len(self) -> usize {
        let mut w = Writer::counting();
        self.write(&mut w);
        w.len()
    }

    /// Whether there are no records.
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The records.
    pub const fn bytes<const N: usize>(self) -> [u8; N] {
        let mut buf = [0; N];
        self.write(&mut Writer::filling(&mut buf));
        buf
    }

    const fn write(self, w: &mut Writer<'_>) {
        match self {
            Self::Plugin(spec, fingerprint) => {
                let start = w.begin_record(record_kind::PLUGIN);
                plugin(w, spec, fingerprint);
                w.end_record(start);
            }
            Self::Pass(spec) => {
                let start = w.begin_record(record_kind::PASS);
                pass(w, spec);
                w.end_record(start);
            }
            Self::Operators(operators) => {
                let mut i = 0;
                while i < operators.len() {
                    let mut j = 0;
                    while j < i {
                        once(key(&operators[i]), key(&operators[j]), "");
                        j += 1;
                    }
                    let start = w.begin_record(record_kind::OPERATOR);
                    operator(w, &operators[i]);
                    w.end_record(start);
                    i += 1;
                }
            }
            Self::Additions(additions) => {
                let mut i = 0;
                while i < additions.len() {
                    let mut j = 0;
                    while j < i {
                        if is_equal(additions[i].target, additions[j].target) {
                            once(key(&additions[i].op), key(&additions[j].op), " for one target");
                        }
                        j += 1;
                    }
                    let start = w.begin_record(record_kind::ADDITION);
                    if !additions[i].target.is_empty() {
                        check_name(additions[i].target);
                    }
                    addition(w, &additions[i]);
                    w.end_record(start);
                    i += 1;
                }
            }
            Self::Evaluators(evaluators) => {
                let mut i = 0;
                while i < evaluators.len() {
                    let mut j = 0;
                    while j < i {
                        let [one, other] = [evaluators[i], evaluators[j]];
                        let other = (other.domain, other.name, other.since_version);
                        once((one.domain, one.name, one.since_version), other, "");
                        j += 1;
                    }
                    let start = w.begin_record(record_kind::EVALUATOR);
                    evaluator(w, &evaluators[i]);
                    w.end_record(start);
                    i += 1;
                }
            }
            Self::Option(spec) => {
                check_name(spec.option.name);
                let start = w.begin_record(record_kind::OPTION);
                write_options(w, option_tag::OPTION, &[spec.option], 0);
                let mut i = 0;
                while i < spec.aliases.len() {
                    check_name(spec.aliases[i]);
                    i += 1;
                }
                w.texts(option_tag::ALIAS, spec.aliases);
                w.end_record(start);
            }
            Self::Instrument(spec) => {
                check_name(spec.name);
                let start = w.begin_record(record_kind::INSTRUMENT);
                w.text(instrument_tag::NAME, spec.name);
                w.text(instrument_tag::DOC, spec.doc);
                write_options(w, instrument_tag::OPTION, spec.options, 0);
                w.end_record(start);
            }
            Self::Pipeline(spec) => {
                check_name(spec.name);
                assert!(!spec.toml.is_empty(), "a pipeline says what runs: `steps = [\"acme.FuseMyThing\"]`");
                let start = w.begin_record(record_kind::PIPELINE);
                w.text(pipeline_tag::NAME, spec.name);
                w.text(pipeline_tag::TOML, spec.toml);
                w.end_record(start);
            }
            Self::Analysis(spec) => {
                check_name(spec.name);
                let start = w.begin_record(record_kind::ANALYSIS);
                w.text(analysis_tag::NAME, spec.name);
                w.text(analysis_tag::DOC, spec.doc);
                w.field(analysis_tag::SUBJECT, &[spec.subject.0]);
                w.field(analysis_tag::DEPENDS, &[spec.depends.0]);
                let mut i = 0;
                while i < spec.lists.len() {
                    let mut j = 0;
                    while j < i {
                        assert!(!is_equal(spec.lists[i].name, spec.lists[j].name), "two lists have one name");
                        j += 1;
                    }
                    let list = w.begin(analysis_tag::LIST);
                    w.text(list_tag::NAME, spec.lists[i].name);
                    w.text(list_tag::DOC, spec.lists[i].doc);
                    w.end(list);
                    i += 1;
                }
                w.end_record(start);
            }
        }
    }
}

const fn plugin(w: &mut Writer<'_>, spec: &PluginSpec, fingerprint: u64) {
    assert!(!spec.version.is_empty(), "the package has a version");
    w.text(plugin_tag::NAME, spec.name);
    w.text(plugin_tag::VERSION, spec.version);
    w.text(plugin_tag::LICENCE, spec.licence);
    w.text(plugin_tag::DESCRIPTION, spec.description);
    w.text(plugin_tag::ENTRY, spec.entry);
    w.text(plugin_tag::CRATE, spec.crate_name);
    w.field(plugin_tag::BOUNDARY, &BOUNDARY.encode());
    w.field(plugin_tag::NEEDS, &NEEDS.encode());
    w.field(plugin_tag::FINGERPRINT, &fingerprint.to_le_bytes());
    w.text(plugin_tag::RUSTC, RUSTC);
    w.text(plugin_tag::TARGET, TARGET);
    w.text(plugin_tag::PANIC, spec.panic);
    w.field(plugin_tag::DEBUG, &[spec.debug]);
    w.text(plugin_tag::API, API);
    let mut i = 0;
    while i < spec.closed_domains.len() {
        let (domain, version) = spec.closed_domains[i];
        let start = w.begin(plugin_tag::CLOSED_DOMAIN);
        w.raw(&version.to_le_bytes());
        w.raw(domain.as_bytes());
        w.end(start);
        i += 1;
    }
}

const fn pass(w: &mut Writer<'_>, spec: &PassSpec) {
    check_name(spec.name);
    let mut i = 0;
    while i < spec.aliases.len() {
        check_name(spec.aliases[i]);
        i += 1;
    }
    w.text(pass_tag::NAME, spec.name);
    w.texts(pass_tag::ALIAS, spec.aliases);
    w.field(pass_tag::LEVEL, &[spec.level.0]);
    w.field(pass_tag::OPT_LEVEL, &[spec.opt_level]);
    let mut i = 0;
    while i < spec.required.len() {
        required(w, spec.required[i]);
        i += 1;
    }
    w.texts(pass_tag::OP, spec.ops);
    w.texts(pass_tag::MEMBER, spec.members);
    w.text(pass_tag::DOC, spec.doc);
    w.field(pass_tag::FLAGS, &spec.flags.to_le_bytes());
    w.field(pass_tag::PHASE, &[spec.phase.0]);
    if !spec.runtime.is_empty() {
        check_name(spec.runtime);
        w.text(pass_tag::RUNTIME, spec.runtime);
    }
    if !spec.target.is_empty() {
        check_name(spec.target);
        w.text(pass_tag::TARGET, spec.target);
    }
    if let Some(option) = spec.changes_interface {
        let mut i = 0;
        while i < spec.options.len() && !is_equal(spec.options[i].name, option) {
            i += 1;
        }
        assert!(i < spec.options.len() || option.is_empty(), "`changes_interface` names an option of the pass");
        w.text(pass_tag::CHANGES_INTERFACE, option);
    }
    if !spec.extends.is_empty() {
        check_name(spec.extends);
        check_defaults(spec.options);
        w.text(pass_tag::EXTENDS, spec.extends);
        w.texts(pass_tag::BEFORE, spec.before);
        w.texts(pass_tag::AFTER, spec.after);
    }
    let mut i = 0;
    while i < spec.statistics.len() {
        let mut j = 0;
        while j < i {
            assert!(!is_equal(spec.statistics[i].name, spec.statistics[j].name), "two statistics have one name");
            j += 1;
        }
        let start = w.begin(pass_tag::STATISTIC);
        w.text(statistic_tag::NAME, spec.statistics[i].name);
        w.text(statistic_tag::DOC, spec.statistics[i].doc);
        w.end(start);
        i += 1;
    }
    if !spec.rules.is_empty() {
        w.text(pass_tag::RULES, spec.rules);
    }
    let mut i = 0;
    while i < spec.samples.len() {
        let start = w.begin(pass_tag::SAMPLE);
        w.text(sample_tag::RULE, spec.samples[i].rule);
        w.text(sample_tag::MODULE, spec.samples[i].module);
        w.end(start);
        i += 1;
    }
    w.texts(pass_tag::PRESERVES, spec.preserves);
    write_options(w, pass_tag::OPTION, spec.options, 0);
}

/// A pass that is added to a pipeline automatically has no options set.
const fn required(w: &mut Writer<'_>, RequiredSpec { pass, options }: RequiredSpec) {
    if options.is_empty() {
        return w.text(pass_tag::REQUIRED, pass);
    }
    let start = w.begin(pass_tag::REQUIRED_WITH);
    w.text(required_tag::NAME, pass);
    let mut i = 0;
    while i < options.len() {
        let mut j = 0;
        while j < i {
            assert!(!is_equal(options[i].0, options[j].0), "an option of a requirement is given twice");
            j += 1;
        }
        let option = w.begin(required_tag::OPTION);
        w.text(required_option_tag::NAME, options[i].0);
        let value = w.begin(required_option_tag::VALUE);
        options[i].1.write(w);
        w.end(value);
        w.end(option);
        i += 1;
    }
    w.end(start);
}

const fn check_defaults(options: &[OptionSpec]) {
    let mut i = 0;
    while i < options.len() {
        let has_own = options[i].is_optional || matches!(options[i].kind, OptionKind::Struct(_));
        assert!(has_own || options[i].default.is_some(), "every option of a pass with `extends` has a default");
        i += 1;
    }
}

/// Whether a pass, an option, an instrument or a pipeline may have this name: words of letters, digits, `_` and `-`, joined by
/// dots, the first one beginning with a letter or `_`; at most 128 bytes.
pub const fn is_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    let mut start = true;
    let mut i = 0;
    while i < bytes.len() {
        let byte = bytes[i];
        let is_word = byte.is_ascii_alphanumeric() || byte == b'_' || (byte == b'-' && !start);
        let is_dot = byte == b'.' && !start;
        if !is_word && !is_dot || i == 0 && byte.is_ascii_digit() {
            return false;
        }
        start = is_dot;
        i += 1;
    }
    !start && bytes.len() <= 128
}

/// The domain and the name of an operator, and its first version.
type OperatorKey = (&'static str, &'static str, u32);

const fn key(operator: &Operator) -> OperatorKey {
    (operator.domain, operator.name, operator.since_version)
}

/// Checks that two entries of a table are of different operators.
const fn once(one: OperatorKey, other: OperatorKey, of: &str) {
    let (domain, name, since) = one;
    if since == other.2 && is_equal(name, other.1) && is_equal(domain, other.0) {
        let (domain, colons) = if domain.is_empty() { ("", "") } else { (domain, "::") };
        let text = Text::new().push("operator `").push(domain).push(colons).push(name).push("` since version ");
        text.push_int(since as i64).push(" is in this table twice").push(of).panic();
    }
}

const fn check_name(name: &str) {
    assert!(
        is_name(name),
        "a name is words of letters, digits, `_` and `-` joined by dots, such as `acme.FuseMyThing`"
    );
}

/// The header of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// The format it is written in.
    pub format: u32,
    /// One of [`record_kind`].
    pub kind: u32,
    /// Bytes of its fields.
    pub len: usize,
    /// The kind with its bits inverted, or zero.
    pub inverted: u32,
    /// The expected checksum.
    pub checksum: u64,
}

impl Header {
    /// Reads a header; `None` when the bytes are too few or do not begin with the magic.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.first_chunk::<HEADER>()?;
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        bytes.starts_with(&MAGIC).then(|| Self {
            format: word(8),
            kind: word(12),
            len: word(16) as usize,
            inverted: word(20),
            checksum: u64::from(word(24)) | u64::from(word(28)) << 32,
        })
    }

    /// Whether the record was written with its kind. The earliest records do not invert it; they are of kinds up to
    /// [`NEEDS`](record_kind::NEEDS).
    pub const fn has_its_kind(&self) -> bool {
        match self.inverted {
            0 => self.kind <= record_kind::NEEDS,
            inverted => inverted == !self.kind,
        }
    }

    /// Whether these are the fields that the header was written for.
    pub fn matches(&self, fields: &[u8]) -> bool {
        self.len == fields.len() && self.checksum == checksum(fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_grammar() {
        for name in ["A", "acme.FuseMyThing", "relay._transform.FoldConstant", "a-b.2d"] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", ".", "a.", ".a", "a..b", "1a", "a b", "a.-b", "ä", "a/b", &"x".repeat(129)] {
            assert!(!is_name(name), "{name}");
        }
    }

    #[test]
    fn a_record_reads_back_and_damage_shows() {
        const SPEC: ConfigSpec = ConfigSpec {
            option: OptionSpec {
                name: "a.b",
                doc: "",
                kind: crate::options::OptionKind::Bool,
                default: None,
                is_optional: false,
            },
            aliases: &["c.d"],
        };
        const LEN: usize = Spec::Option(&SPEC).len();
        const BYTES: [u8; LEN] = Spec::Option(&SPEC).bytes();
        let header = Header::read(&BYTES).unwrap();
        assert_eq!((header.format, header.kind, header.len), (FORMAT, record_kind::OPTION, LEN - HEADER));
        assert!(header.has_its_kind() && header.matches(&BYTES[HEADER..]));
        for bit in 0..32 {
            assert!(!Header { kind: header.kind ^ 1 << bit, ..header }.has_its_kind());
            assert!(!Header { inverted: header.inverted ^ 1 << bit, ..header }.has_its_kind());
        }
        let early = Header { inverted: 0, ..header };
        assert!(early.has_its_kind() && !Header { kind: record_kind::NEEDS + 1, ..early }.has_its_kind());
        let mut damaged = BYTES;
        damaged[LEN - 1] ^= 1;
        assert!(!header.matches(&damaged[HEADER..]));
        assert_eq!(Header::read(&BYTES[..HEADER - 1]), None);
    }

    /// Each feature is a version, and what it is named after.
    #[test]
    fn every_feature_names_a_version_of_the_boundary() {
        let (manifest, source) = (include_str!("../Cargo.toml"), include_str!("record.rs"));
        assert!(NEEDS <= BOUNDARY);
        let features = manifest.lines().filter_map(|line| line.strip_prefix("api-")?.split_once(" = "));
        let features: Vec<&str> = features.map(|(feature, _)| feature).collect();
        for feature in &features {
            let mut parts = feature.split('-').map(|part| part.parse::<u16>().unwrap());
            let [major, minor, patch] = [(); 3].map(|()| parts.next().unwrap_or(0));
            let says = format!("(cfg!(feature = \"api-{feature}\"), [{major}, {minor}, {patch}])");
            assert!(source.contains(&says), "{says}");
        }
        let BoundaryVersion { major, minor, .. } = BOUNDARY;
        assert!(features.contains(&&*format!("{major}-{minor}")), "the series has a feature: {features:?}");
    }
}

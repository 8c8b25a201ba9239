//! The records in a plugin's file that describe its contents: written in const evaluation, read without running
//! anything.

mod kinds;
mod version;

pub use kinds::{Level, Phase};
pub use version::BoundaryVersion;

use super::wire::{Writer, checksum};
use crate::{
    ir::ElemType,
    op::{AttrSchema, Evaluator, Formal, Layout, Operator, Required, is_formula},
    options::{ConfigSpec, OptionKind, OptionSpec, is_equal, write_options},
};
use version::needs;

/// The first bytes of a record.
pub const MAGIC: [u8; 8] = *b"\x89RelaisR";
/// The format of records that this version writes, and the newest it reads.
pub const FORMAT: u32 = 1;
/// Bytes of a record before its fields: magic, format, kind, length of the fields, zero, checksum of the fields.
pub const HEADER: usize = 32;
/// The most bytes that the fields of a record take.
pub const MAX_LEN: usize = 64 * 1024;
/// The name of the section that contains the records (ELF, PE). It must not begin with `.rela`, which GNU ld takes for
/// relocations.
pub const SECTION: &str = ".passrec";
/// The name of the section that contains the records (Mach-O), within segment `__DATA`.
pub const SECTION_MACHO: &str = "__passrec";

/// The version of the boundary.
pub const BOUNDARY: BoundaryVersion = BoundaryVersion { major: 0, minor: 2, patch: 4 };
/// The least version of the boundary that the plugins of this build use: the newest one that a feature `api-…` of this
/// crate names, and [`BOUNDARY`] if none is selected.
pub const NEEDS: BoundaryVersion = needs(&[(cfg!(feature = "api-0-2"), [0, 2, 0])], BOUNDARY);
/// The version of this crate.
pub const API: &str = env!("CARGO_PKG_VERSION");
/// The compiler of this build.
pub const RUSTC: &str = env!("RELAIS_RUSTC");
/// The target of this build.
pub const TARGET: &str = env!("RELAIS_TARGET");

/// The kinds of record. Append-only; a reader skips the ones it does not know, unless they have the bit
/// [`CRITICAL`](record_kind::CRITICAL).
pub mod record_kind {
    /// The bit of a kind whose records are needed to understand the others.
    pub const CRITICAL: u32 = 1 << 31;
    /// The plugin; exactly one in a file.
    pub const PLUGIN: u32 = 1;
    /// A pass.
    pub const PASS: u32 = 2;
    /// An operator.
    pub const OPERATOR: u32 = 3;
    /// An evaluator.
    pub const EVALUATOR: u32 = 4;
    /// An option of the context.
    pub const OPTION: u32 = 5;
    /// An instrument.
    pub const INSTRUMENT: u32 = 6;
    /// A pipeline.
    pub const PIPELINE: u32 = 7;
}

/// The tags of a plugin's record.
pub mod plugin_tag {
    /// Package name.
    pub const NAME: u16 = 1;
    /// Package version.
    pub const VERSION: u16 = 2;
    /// Licence.
    pub const LICENCE: u16 = 3;
    /// Description.
    pub const DESCRIPTION: u16 = 4;
    /// The symbol of the entry.
    pub const ENTRY: u16 = 5;
    /// Boundary version: major, minor and patch part, two bytes each.
    pub const BOUNDARY: u16 = 6;
    /// Layout fingerprint.
    pub const FINGERPRINT: u16 = 7;
    /// Compiler.
    pub const RUSTC: u16 = 8;
    /// Target.
    pub const TARGET: u16 = 9;
    /// `unwind` or `abort`.
    pub const PANIC: u16 = 10;
    /// Crate name.
    pub const CRATE: u16 = 11;
    /// Whether debug assertions are on.
    pub const DEBUG: u16 = 12;
    /// The version of `relais-plugin-api`.
    pub const API: u16 = 13;
    /// A domain that it describes completely: the last version of its operator set, four bytes, then its name.
    pub const CLOSED_DOMAIN: u16 = 14;
    /// The least boundary version that it uses, as in `BOUNDARY`; `BOUNDARY` itself if it is absent.
    pub const NEEDS: u16 = 15;
}

/// The tags of a pass's record.
pub mod pass_tag {
    /// Full name.
    pub const NAME: u16 = 1;
    /// Another name.
    pub const ALIAS: u16 = 2;
    /// One of [`Level`](super::Level).
    pub const LEVEL: u16 = 3;
    /// Optimisation level.
    pub const OPT_LEVEL: u16 = 4;
    /// A required pass.
    pub const REQUIRED: u16 = 5;
    /// An operator that a rewrite looks at.
    pub const OP: u16 = 6;
    /// Documentation.
    pub const DOC: u16 = 7;
    /// Bits of [`pass_flag`](super::pass_flag).
    pub const FLAGS: u16 = 8;
    /// An option.
    pub const OPTION: u16 = 9;
    /// A member of a sequential pass.
    pub const MEMBER: u16 = 10;
    /// Something that it counts: fields of [`statistic_tag`](super::statistic_tag).
    pub const STATISTIC: u16 = 11;
    /// The extension point of pipelines that it is added at.
    pub const EXTENDS: u16 = 12;
    /// One of [`Phase`](super::Phase).
    pub const PHASE: u16 = 13;
    /// The option that asks it to change the interface of the entry function.
    pub const CHANGES_INTERFACE: u16 = 14;
    /// The rules that it rewrites by: a text as `docs/patterns.md` describes it.
    pub const RULES: u16 = 15;
    /// An example for one of its rules: fields of [`sample_tag`](super::sample_tag).
    pub const SAMPLE: u16 = 16;
}

/// The tags of an example for a rule.
pub mod sample_tag {
    /// The name of the rule.
    pub const RULE: u16 = 1;
    /// A module in the text form on which the rule matches.
    pub const MODULE: u16 = 2;
}

/// The tags of something that a pass counts.
pub mod statistic_tag {
    /// Name.
    pub const NAME: u16 = 1;
    /// A description of what is counted.
    pub const DOC: u16 = 2;
}

/// The bits of a pass's flags.
pub mod pass_flag {
    /// Functions are never given to it in parallel.
    pub const SERIAL: u32 = 1;
    /// It establishes types, which the host then keeps up to date: where it is required, it need not run while they
    /// hold.
    pub const TYPES: u32 = 2;
}

/// The tags of an operator's or evaluator's record.
pub mod op_tag {
    /// Domain.
    pub const DOMAIN: u16 = 1;
    /// Name.
    pub const NAME: u16 = 2;
    /// First version.
    pub const SINCE: u16 = 3;
    /// Fewest inputs in the low half, most in the high half.
    pub const INPUTS: u16 = 4;
    /// Fewest outputs in the low half, most in the high half.
    pub const OUTPUTS: u16 = 5;
    /// Effects.
    pub const EFFECTS: u16 = 6;
    /// The fusion kind.
    pub const FUSION: u16 = 7;
    /// An attribute: fields of [`attr_tag`](super::attr_tag).
    pub const ATTR: u16 = 8;
    /// Bits of [`op_flag`](super::op_flag).
    pub const FLAGS: u16 = 9;
    /// Documentation.
    pub const DOC: u16 = 10;
    /// A formal input, in order: fields of [`formal_tag`](super::formal_tag).
    pub const INPUT: u16 = 11;
    /// A formal result, in order: fields of [`formal_tag`](super::formal_tag).
    pub const OUTPUT: u16 = 12;
    /// A type variable of formal inputs and results: fields of [`type_var_tag`](super::type_var_tag).
    pub const TYPE_VAR: u16 = 13;
    /// A function in the text form that computes the same with other operators.
    pub const BODY: u16 = 14;
    /// A form in which calls have other layouts, the best one first: fields of [`layout_tag`](super::layout_tag).
    pub const LAYOUT: u16 = 15;
    /// The formula of a call's multiply-accumulates.
    pub const MACS: u16 = 16;
}

/// The tags of a form of an operator.
pub mod layout_tag {
    /// The layouts of the arguments and of the results: `NHWC,HWIO,O->NHWC`.
    pub const AXES: u16 = 1;
    /// The operator that calls in this form are of; the operator itself if it is absent.
    pub const OPERATOR: u16 = 2;
    /// An attribute that calls in this form have: fields of [`attr_tag`](super::attr_tag), with the value as the default.
    pub const ATTR: u16 = 3;
}

/// The tags of a formal input or result.
pub mod formal_tag {
    /// Name.
    pub const NAME: u16 = 1;
    /// One of [`formal_kind`](super::formal_kind).
    pub const KIND: u16 = 2;
    /// The name of its type variable.
    pub const TYPE_VAR: u16 = 3;
}

/// How many arguments or results a formal one stands for. Append-only: one of a later version says nothing.
pub mod formal_kind {
    /// One.
    pub const SINGLE: u8 = 0;
    /// One, or none: it may be absent.
    pub const OPTIONAL: u8 = 1;
    /// All that follow, of one type.
    pub const VARIADIC: u8 = 2;
    /// All that follow, each of a type of its own.
    pub const MIXED: u8 = 3;
}

/// The tags of a type variable. One that allows nothing allows everything.
pub mod type_var_tag {
    /// Name.
    pub const NAME: u16 = 1;
    /// The element types of tensors that it allows, one byte each.
    pub const TENSORS: u16 = 2;
    /// The element types of tensors in sequences that it allows.
    pub const SEQUENCES: u16 = 3;
    /// The element types of optional tensors that it allows.
    pub const OPTIONALS: u16 = 4;
    /// The element types of tensors in optional sequences that it allows.
    pub const OPTIONAL_SEQUENCES: u16 = 5;
    /// Another type that it allows, as ONNX writes it: `map(string,tensor(float))`.
    pub const OTHER: u16 = 6;
}

/// The tags of an attribute's schema.
pub mod attr_tag {
    /// Name.
    pub const NAME: u16 = 1;
    /// Attribute kind.
    pub const KIND: u16 = 2;
    /// 1 when it must be given.
    pub const REQUIRED: u16 = 3;
    /// Default, as text.
    pub const DEFAULT: u16 = 4;
}

/// The bits of an operator's flags.
pub mod op_flag {
    /// It has a type relation.
    pub const INFER: u32 = 1;
    /// It has an evaluator.
    pub const EVAL: u32 = 2;
    /// Its first two arguments can change places.
    pub const COMMUTATIVE: u32 = 4;
    /// A function makes the body of each call.
    pub const BODY: u32 = 8;
    /// It has a verifier.
    pub const VERIFY: u32 = 16;
    /// A function makes the gradient of each call.
    pub const GRADIENT: u32 = 32;
    /// A function makes the kernel of each call.
    pub const COMPUTE: u32 = 64;
}

/// The tags of the record of an option of the context.
pub mod option_tag {
    /// The option, its name being the key.
    pub const OPTION: u16 = 1;
    /// Another key that sets it.
    pub const ALIAS: u16 = 2;
}

/// The tags of an instrument's record.
pub mod instrument_tag {
    /// Name.
    pub const NAME: u16 = 1;
    /// Documentation.
    pub const DOC: u16 = 2;
    /// An option.
    pub const OPTION: u16 = 3;
}

/// The tags of a pipeline's record.
pub mod pipeline_tag {
    /// Name.
    pub const NAME: u16 = 1;
    /// The pipeline in TOML, as in a file.
    pub const TOML: u16 = 2;
}

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
    pub required: &'static [&'static str],
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
    /// When it runs among all passes of a level.
    pub phase: Phase,
    /// The option that asks the pass to change the interface of the entry function; empty when it never does.
    pub changes_interface: &'static str,
    /// The statistics that it counts.
    pub statistics: &'static [StatisticSpec],
    /// The rules that it rewrites by; empty when it does not consist of rules.
    pub rules: &'static str,
    /// Examples for the rules.
    pub samples: &'static [SampleSpec],
    /// Options.
    pub options: &'static [OptionSpec],
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
    /// Evaluators, one record each.
    Evaluators(&'a [Evaluator]),
    /// An option of the context.
    Option(&'a ConfigSpec),
    /// An instrument.
    Instrument(&'a InstrumentSpec),
    /// A pipeline.
    Pipeline(&'a PipelineSpec),
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
                let start = begin(w, record_kind::PLUGIN);
                plugin(w, spec, fingerprint);
                end(w, start);
            }
            Self::Pass(spec) => {
                let start = begin(w, record_kind::PASS);
                pass(w, spec);
                end(w, start);
            }
            Self::Operators(operators) => {
                let mut i = 0;
                while i < operators.len() {
                    let start = begin(w, record_kind::OPERATOR);
                    operator(w, &operators[i]);
                    end(w, start);
                    i += 1;
                }
            }
            Self::Evaluators(evaluators) => {
                let mut i = 0;
                while i < evaluators.len() {
                    let start = begin(w, record_kind::EVALUATOR);
                    evaluator(w, &evaluators[i]);
                    end(w, start);
                    i += 1;
                }
            }
            Self::Option(spec) => {
                check_name(spec.option.name);
                let start = begin(w, record_kind::OPTION);
                write_options(w, option_tag::OPTION, &[spec.option], 0);
                let mut i = 0;
                while i < spec.aliases.len() {
                    check_name(spec.aliases[i]);
                    i += 1;
                }
                w.texts(option_tag::ALIAS, spec.aliases);
                end(w, start);
            }
            Self::Instrument(spec) => {
                check_name(spec.name);
                let start = begin(w, record_kind::INSTRUMENT);
                w.text(instrument_tag::NAME, spec.name);
                w.text(instrument_tag::DOC, spec.doc);
                write_options(w, instrument_tag::OPTION, spec.options, 0);
                end(w, start);
            }
            Self::Pipeline(spec) => {
                check_name(spec.name);
                assert!(!spec.toml.is_empty(), "a pipeline says what runs: `steps = [\"acme.FuseMyThing\"]`");
                let start = begin(w, record_kind::PIPELINE);
                w.text(pipeline_tag::NAME, spec.name);
                w.text(pipeline_tag::TOML, spec.toml);
                end(w, start);
            }
        }
    }
}

const fn begin(w: &mut Writer<'_>, kind: u32) -> usize {
    w.raw(&MAGIC);
    w.raw(&FORMAT.to_le_bytes());
    w.raw(&kind.to_le_bytes());
    w.raw(&[0; HEADER - 16]);
    w.len()
}

const fn end(w: &mut Writer<'_>, start: usize) {
    let len = w.len() - start;
    assert!(len <= MAX_LEN, "a record, its documentation included, takes at most 64 KiB");
    let checksum = w.checksum_from(start);
    w.patch(start - 16, &(len as u32).to_le_bytes());
    w.patch(start - 8, &checksum.to_le_bytes());
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
    w.texts(pass_tag::REQUIRED, spec.required);
    w.texts(pass_tag::OP, spec.ops);
    w.texts(pass_tag::MEMBER, spec.members);
    w.text(pass_tag::DOC, spec.doc);
    w.field(pass_tag::FLAGS, &spec.flags.to_le_bytes());
    w.field(pass_tag::PHASE, &[spec.phase.0]);
    if !spec.changes_interface.is_empty() {
        let mut i = 0;
        while i < spec.options.len() && !is_equal(spec.options[i].name, spec.changes_interface) {
            i += 1;
        }
        assert!(i < spec.options.len(), "`changes_interface` names an option of the pass");
        w.text(pass_tag::CHANGES_INTERFACE, spec.changes_interface);
    }
    if !spec.extends.is_empty() {
        check_name(spec.extends);
        check_defaults(spec.options);
        w.text(pass_tag::EXTENDS, spec.extends);
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
    write_options(w, pass_tag::OPTION, spec.options, 0);
}

/// A pass that is added to a pipeline automatically has no options set.
const fn check_defaults(options: &[OptionSpec]) {
    let mut i = 0;
    while i < options.len() {
        let has_own = options[i].is_optional || matches!(options[i].kind, OptionKind::Struct(_));
        assert!(has_own || options[i].default.is_some(), "every option of a pass with `extends` has a default");
        i += 1;
    }
}

const fn operator(w: &mut Writer<'_>, op: &Operator) {
    w.text(op_tag::DOMAIN, op.domain);
    w.text(op_tag::NAME, op.name);
    w.field(op_tag::SINCE, &op.since_version.to_le_bytes());
    w.field(op_tag::INPUTS, &(op.inputs.0 as u32 | (op.inputs.1 as u32) << 16).to_le_bytes());
    w.field(op_tag::OUTPUTS, &(op.outputs.0 as u32 | (op.outputs.1 as u32) << 16).to_le_bytes());
    w.field(op_tag::EFFECTS, &op.effects.0.to_le_bytes());
    w.field(op_tag::FUSION, &[op.fusion.0]);
    let mut flags = 0;
    if op.infer.is_some() {
        flags |= op_flag::INFER;
    }
    if op.eval.is_some() {
        flags |= op_flag::EVAL;
    }
    if op.body_of.is_some() {
        flags |= op_flag::BODY;
    }
    if op.verify.is_some() {
        flags |= op_flag::VERIFY;
    }
    if op.gradient_of.is_some() {
        flags |= op_flag::GRADIENT;
    }
    if op.compute.is_some() {
        flags |= op_flag::COMPUTE;
    }
    assert!(op.body.is_empty() || op.body_of.is_none(), "an operator has one body, or makes one for each call");
    if op.commutative {
        flags |= op_flag::COMMUTATIVE;
    }
    w.field(op_tag::FLAGS, &flags.to_le_bytes());
    let mut i = 0;
    while i < op.attrs.len() {
        let start = w.begin(op_tag::ATTR);
        attr(w, &op.attrs[i]);
        w.end(start);
        i += 1;
    }
    w.text(op_tag::DOC, op.doc);
    if !op.body.is_empty() {
        w.text(op_tag::BODY, op.body);
    }
    let mut i = 0;
    while i < op.layouts.len() {
        let start = w.begin(op_tag::LAYOUT);
        layout(w, &op.layouts[i]);
        w.end(start);
        i += 1;
    }
    if !op.macs.is_empty() {
        assert!(is_formula(op.macs, op.inputs.1, op.outputs.1), "a formula of sizes: `y0 * x1 / x1[0]`");
        w.text(op_tag::MACS, op.macs);
    }
    formals(w, op_tag::INPUT, op.takes, op);
    formals(w, op_tag::OUTPUT, op.gives, op);
    let mut i = 0;
    while i < op.types.len() {
        let var = &op.types[i];
        let start = w.begin(op_tag::TYPE_VAR);
        w.text(type_var_tag::NAME, var.name);
        elems(w, type_var_tag::TENSORS, var.tensors);
        elems(w, type_var_tag::SEQUENCES, var.sequences);
        elems(w, type_var_tag::OPTIONALS, var.optionals);
        elems(w, type_var_tag::OPTIONAL_SEQUENCES, var.optional_sequences);
        w.texts(type_var_tag::OTHER, var.others);
        w.end(start);
        i += 1;
    }
}

/// Formal inputs or results; each names a type variable of the operator.
const fn formals(w: &mut Writer<'_>, tag: u16, formals: &[Formal], op: &Operator) {
    let mut i = 0;
    while i < formals.len() {
        let formal = &formals[i];
        let mut var = 0;
        while var < op.types.len() && !is_equal(op.types[var].name, formal.var) {
            var += 1;
        }
        assert!(var < op.types.len(), "a formal input or result names a type variable that the operator does not have");
        let is_last = i + 1 == formals.len();
        let is_many = matches!(formal.kind, formal_kind::VARIADIC | formal_kind::MIXED);
        assert!(!is_many || is_last, "nothing comes after a variadic input or result");
        let start = w.begin(tag);
        w.text(formal_tag::NAME, formal.name);
        w.field(formal_tag::KIND, &[formal.kind]);
        w.text(formal_tag::TYPE_VAR, formal.var);
        w.end(start);
        i += 1;
    }
}

const fn elems(w: &mut Writer<'_>, tag: u16, elems: &[ElemType]) {
    if elems.is_empty() {
        return;
    }
    let start = w.begin(tag);
    let mut i = 0;
    while i < elems.len() {
        w.raw(&[elems[i].0]);
        i += 1;
    }
    w.end(start);
}

const fn attr(w: &mut Writer<'_>, attr: &AttrSchema) {
    w.text(attr_tag::NAME, attr.name);
    w.field(attr_tag::KIND, &[attr.kind]);
    w.field(attr_tag::REQUIRED, &[matches!(attr.required, Required::Yes) as u8]);
    w.text(attr_tag::DEFAULT, attr.default);
}

const fn layout(w: &mut Writer<'_>, layout: &Layout) {
    assert!(are_layouts(layout.axes), "layouts are capital letters, or `_`: `NHWC,HWIO,O->NHWC`");
    w.text(layout_tag::AXES, layout.axes);
    if !layout.op.is_empty() {
        w.text(layout_tag::OPERATOR, layout.op);
    }
    let mut i = 0;
    while i < layout.attrs.len() {
        assert!(!layout.attrs[i].default.is_empty(), "an attribute of a form has a value");
        let start = w.begin(layout_tag::ATTR);
        attr(w, &layout.attrs[i]);
        w.end(start);
        i += 1;
    }
}

/// Whether a text lists layouts of arguments and results.
const fn are_layouts(text: &str) -> bool {
    let bytes = text.as_bytes();
    // The letters of the layout that is read, how many characters it has, and how many arrows there were.
    let (mut letters, mut len, mut n_arrows, mut i) = (0u32, 0, 0, 0);
    while i < bytes.len() {
        let (is_arrow, is_comma) = (bytes[i] == b'-' && i + 1 < bytes.len() && bytes[i + 1] == b'>', bytes[i] == b',');
        if is_arrow || is_comma {
            if len == 0 {
                return false;
            }
            (letters, len) = (0, 0);
            n_arrows += is_arrow as usize;
            i += is_arrow as usize;
        } else if bytes[i].is_ascii_uppercase() {
            let letter = 1 << (bytes[i] - b'A');
            if letters & letter != 0 {
                return false;
            }
            letters |= letter;
            len += 1;
        } else {
            let is_alone = len == 0 && (i + 1 == bytes.len() || bytes[i + 1] == b',' || bytes[i + 1] == b'-');
            if bytes[i] != b'_' || !is_alone {
                return false;
            }
            len += 1;
        }
        i += 1;
    }
    n_arrows == 1 && len > 0
}

const fn evaluator(w: &mut Writer<'_>, evaluator: &Evaluator) {
    w.text(op_tag::DOMAIN, evaluator.domain);
    w.text(op_tag::NAME, evaluator.name);
    w.field(op_tag::SINCE, &evaluator.since_version.to_le_bytes());
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
            checksum: u64::from(word(24)) | u64::from(word(28)) << 32,
        })
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
    fn layouts_are_capital_letters() {
        for text in ["NHWC->NHWC", "NHWC,HWIO,O->NHWC", "_,NC->NC,_"] {
            assert!(are_layouts(text), "{text}");
        }
        for text in ["", "NHWC", "->", "NHWC->", "NHWC,->NC", "NHHC->N", "nhwc->nhwc", "NC4->NC", "N->C->N", "N_->N"] {
            assert!(!are_layouts(text), "{text}");
        }
    }

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
        assert!(header.matches(&BYTES[HEADER..]));
        let mut damaged = BYTES;
        damaged[LEN - 1] ^= 1;
        assert!(!header.matches(&damaged[HEADER..]));
        assert_eq!(Header::read(&BYTES[..HEADER - 1]), None);
    }
}

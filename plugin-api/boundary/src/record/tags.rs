//! The numbers in records: append-only.

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
    /// An addition to an operator that another plugin describes: the fields of an operator that are parts of it.
    pub const ADDITION: u32 = 8;
    /// An analysis.
    pub const ANALYSIS: u32 = 9;
    /// A version of the boundary that the linked code needs, in a field [`plugin_tag::NEEDS`](super::plugin_tag::NEEDS).
    pub const NEEDS: u32 = 10;
}

const _: () = {
    assert!(record_kind::NEEDS == relais_ops::needs::KIND);
    assert!(plugin_tag::NEEDS == relais_ops::needs::TAG);
};

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
    /// In place of `ENTRY` and of all that describes layouts and the compiler: the symbol of the table of a plugin that is
    /// handed bytes. Critical.
    pub const SHIP_ENTRY: u16 = 1 << 15 | 16;
}

/// The tags of a pass's record.
pub mod pass_tag {
    /// Full name.
    pub const NAME: u16 = 1;
    /// Another name.
    pub const ALIAS: u16 = 2;
    /// One of [`Level`](crate::record::Level).
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
    /// One of [`Phase`](crate::record::Phase).
    pub const PHASE: u16 = 13;
    /// The option that asks it to change the interface of the entry function; empty if it may without one.
    pub const CHANGES_INTERFACE: u16 = 14;
    /// The rules that it rewrites by: a text as `docs/patterns.md` describes it.
    pub const RULES: u16 = 15;
    /// An example for one of its rules: fields of [`sample_tag`](super::sample_tag).
    pub const SAMPLE: u16 = 16;
    /// The runtime that it is for, if what it makes runs in no other.
    pub const RUNTIME: u16 = 17;
    /// A pass before which it is added at its extension point.
    pub const BEFORE: u16 = 18;
    /// A pass after which it is added at its extension point.
    pub const AFTER: u16 = 19;
    /// An analysis whose results hold after the pass changed a function, or `structure`.
    pub const PRESERVES: u16 = 20;
    /// A required pass with options: fields of [`required_tag`](super::required_tag). Critical: with the defaults it may not
    /// do what is required.
    pub const REQUIRED_WITH: u16 = 1 << 15 | 21;
    /// The target that it is for. Critical: a host that does not know it would add the pass for every target.
    pub const TARGET: u16 = 1 << 15 | 22;
}

/// The tags of a required pass with options.
pub mod required_tag {
    /// Its name.
    pub const NAME: u16 = 1;
    /// An option: fields of [`required_option_tag`](super::required_option_tag).
    pub const OPTION: u16 = 2;
}

/// The tags of an option of a required pass.
pub mod required_option_tag {
    /// Its name.
    pub const NAME: u16 = 1;
    /// One value.
    pub const VALUE: u16 = 2;
}

/// The tags of an analysis's record.
pub mod analysis_tag {
    /// Full name.
    pub const NAME: u16 = 1;
    /// Documentation.
    pub const DOC: u16 = 2;
    /// One of [`SubjectKind`](crate::abi::analysis::SubjectKind).
    pub const SUBJECT: u16 = 3;
    /// One of [`Depends`](crate::record::Depends).
    pub const DEPENDS: u16 = 4;
    /// A list that it gives: fields of [`list_tag`](super::list_tag).
    pub const LIST: u16 = 5;
}

/// The tags of a list that an analysis gives.
pub mod list_tag {
    /// Name.
    pub const NAME: u16 = 1;
    /// A description of its numbers.
    pub const DOC: u16 = 2;
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
    /// It begins before the first function of a module, and ends after the last one.
    pub const BEGINS: u32 = 4;
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

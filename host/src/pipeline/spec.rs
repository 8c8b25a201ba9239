//! A pipeline as it was written: every name and value with its place, nothing looked up.

use super::fault::{Place, Sources};
use crate::{
    isolation::Isolation,
    pass::{Dependencies, OnFailure, Verify},
};
use relais_plugin_api::options::Value;
use std::collections::BTreeMap;

/// Something that was written, and where.
#[derive(Clone, Debug)]
pub struct Written<T> {
    /// The value.
    pub value: T,
    /// Where; nowhere when the program made it.
    pub place: Option<Place>,
}

impl<T> Written<T> {
    /// Something that was written at a place.
    pub fn at(place: Place, value: T) -> Self {
        Self { value, place: Some(place) }
    }

    /// A value that is not in any text.
    pub fn made(value: T) -> Self {
        Self { value, place: None }
    }
}

/// A pipeline, its includes read.
#[derive(Clone, Debug, Default)]
pub struct PipelineSpec {
    /// Its name; the file's if it has none.
    pub name: String,
    /// The settings for the whole run.
    pub run: RunSpec,
    /// The settings for the steps.
    pub scope: ScopeSpec,
    /// The options of the context that these start from.
    pub around: BTreeMap<String, Value>,
    /// The steps, in order, by index into [`nodes`](Self::nodes).
    pub steps: Vec<usize>,
    /// Every step, however deep it is nested: dropping or walking a pipeline needs no recursion.
    pub nodes: Vec<Written<StepSpec>>,
    /// Where steps come from that the file itself does not have, by index into [`nodes`](Self::nodes).
    pub origins: BTreeMap<usize, String>,
    /// Options that are set from outside: of the context, or `Pass.option` for every step of that pass.
    pub settings: Vec<SpecEntry>,
    /// The texts it was read from.
    pub sources: Sources,
}

/// The settings for a whole run: no nested scope removes them.
#[derive(Clone, Debug, Default)]
pub struct RunSpec {
    /// How requirements are followed.
    pub dependencies: Option<Dependencies>,
    /// The consequence of a failing pass.
    pub on_failure: Option<OnFailure>,
    /// When the verifier runs.
    pub verify: Option<Verify>,
    /// The instruments.
    pub instruments: Vec<InstrumentUse>,
    /// The demands on plugins.
    pub plugins: Vec<PluginDemand>,
    /// Whether passes of plugins are added at extension points.
    pub extensions: Option<Extensions>,
    /// The target that it is for: what plugins add to operators for it counts.
    pub target: Option<Written<String>>,
}

/// The settings for some steps: a pass context.
#[derive(Clone, Debug, Default)]
pub struct ScopeSpec {
    /// Passes up to this level are on.
    pub opt_level: Option<u8>,
    /// Passes that are on at any level.
    pub required: Vec<Written<String>>,
    /// Passes that are off.
    pub disabled: Vec<Written<String>>,
    /// Options of the context.
    pub config: Vec<SpecEntry>,
}

/// A step as it was written.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum StepSpec {
    /// A pass.
    Pass {
        /// Its name.
        name: Written<String>,
        /// Its options.
        options: Vec<SpecEntry>,
        /// The level of this step; that of the pass by default.
        opt_level: Option<u8>,
    },
    /// Steps that are switched together.
    Sequence {
        /// Its name, to be disabled and required by.
        name: Option<Written<String>>,
        /// Its level.
        opt_level: u8,
        /// The passes that run before it, if it is on.
        required: Vec<RequirementSpec>,
        /// Its steps.
        steps: Vec<usize>,
    },
    /// Steps that are repeated until they change nothing.
    Fixpoint {
        /// Its steps.
        steps: Vec<usize>,
        /// The number of rounds after which it ends, settled or not.
        max_rounds: u32,
    },
    /// Steps in a context of their own, which inherits the settings of the enclosing one unless it overrides them.
    Scope {
        /// The context.
        scope: ScopeSpec,
        /// The instruments that watch the steps, and no others; those around them by default.
        instruments: Option<Vec<InstrumentUse>>,
        /// Its steps.
        steps: Vec<usize>,
    },
    /// Every pass of some levels, in the order of their names, except disabled ones.
    Levels {
        /// The levels.
        set: LevelSet,
        /// The runtime whose passes are among them.
        runtime: Option<Written<String>>,
    },
    /// A place where plugins and the tables `extend` of files add steps. If nothing is added, it has no effect.
    Extension {
        /// Its name.
        point: Written<String>,
        /// The steps that files add.
        added: Vec<usize>,
        /// The steps that follow those that were added.
        then: Vec<usize>,
    },
    /// Steps that run when the module calls one of these operators.
    When {
        /// The operators: a name, or `domain::name`.
        operators: Vec<Written<String>>,
        /// Its steps.
        steps: Vec<usize>,
    },
}

impl StepSpec {
    /// The steps within it; of an extension point, those of `then`.
    pub(super) fn steps(&self) -> &[usize] {
        match self {
            Self::Pass { .. } | Self::Levels { .. } => &[],
            Self::Sequence { steps, .. }
            | Self::Fixpoint { steps, .. }
            | Self::Scope { steps, .. }
            | Self::When { steps, .. }
            | Self::Extension { then: steps, .. } => steps,
        }
    }

    /// The same, to be changed.
    pub(super) fn steps_mut(&mut self) -> Option<&mut Vec<usize>> {
        match self {
            Self::Pass { .. } | Self::Levels { .. } => None,
            Self::Sequence { steps, .. }
            | Self::Fixpoint { steps, .. }
            | Self::Scope { steps, .. }
            | Self::When { steps, .. }
            | Self::Extension { then: steps, .. } => Some(steps),
        }
    }
}

/// A pass that a sequence requires.
#[derive(Clone, Debug)]
pub struct RequirementSpec {
    /// Its name.
    pub name: Written<String>,
    /// Options that are not the defaults.
    pub options: Vec<SpecEntry>,
}

/// The name and value of an option.
#[derive(Clone, Debug)]
pub struct SpecEntry {
    /// The name.
    pub key: Written<String>,
    /// The value.
    pub value: Written<SpecValue>,
}

/// A value as it was written. The depth is limited by the TOML parser, to less than a hundred.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SpecValue {
    /// `true` or `false`.
    Bool(bool),
    /// An integer that fits 64 bits.
    Int(i64),
    /// An integer that does not, as it was written.
    BigInt(String),
    /// A float.
    Float(f64),
    /// A string.
    Str(String),
    /// A date or time, which no option takes.
    Datetime,
    /// An array.
    List(Vec<Written<SpecValue>>),
    /// A table.
    Table(Vec<SpecEntry>),
}

impl SpecValue {
    /// The name of its type, for messages.
    pub const fn type_name(&self) -> &'static str {
        match self {
            Self::Bool(_) => "a boolean",
            Self::Int(_) | Self::BigInt(_) => "an integer",
            Self::Float(_) => "a float",
            Self::Str(_) => "a string",
            Self::Datetime => "a date or time",
            Self::List(_) => "an array",
            Self::Table(_) => "a table",
        }
    }
}

/// An instrument and its options.
#[derive(Clone, Debug)]
pub struct InstrumentUse {
    /// Its name.
    pub name: Written<String>,
    /// Its options.
    pub options: Vec<SpecEntry>,
}

/// The demand on a plugin.
#[derive(Clone, Debug)]
pub struct PluginDemand {
    /// Its name.
    pub name: Written<String>,
    /// The versions that will do.
    pub version: Written<semver::VersionReq>,
    /// The passes that are taken from this plugin although others also provide them.
    pub passes: Vec<Written<String>>,
    /// The operators whose description and evaluator are taken from this plugin although others also have them: `Clip`,
    /// `com.acme::Fused`.
    pub operators: Vec<Written<String>>,
    /// The pipelines that are taken from this plugin although others also provide them.
    pub pipelines: Vec<Written<String>>,
    /// The analyses that are taken from this plugin although others also provide them.
    pub analyses: Vec<Written<String>>,
    /// The limits of its process, if it is to run in one of its own.
    pub isolate: Option<Isolation>,
}

/// Whether passes of plugins are added at extension points.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Extensions {
    /// They are.
    #[default]
    On,
    /// They are not. Additions of files are.
    Off,
}

/// A comparison of a pass's level with a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LevelSet {
    /// The least level.
    pub least: u8,
    /// The greatest level.
    pub greatest: u8,
}

impl LevelSet {
    /// Reads `level<=3`, `level==2`, `level<2`, `level>=1`, `level>0`; spaces are allowed around the operator.
    pub fn parse(text: &str) -> Option<Self> {
        let rest = text.trim().strip_prefix("level")?.trim_start();
        let digits = rest.trim_start_matches(['<', '>', '=']);
        let sign = &rest[..rest.len() - digits.len()];
        let level: u8 = digits.trim().parse().ok()?;
        let (least, greatest) = match sign {
            "<=" => (0, level),
            "<" => (0, level.checked_sub(1)?),
            "==" | "=" => (level, level),
            ">=" => (level, u8::MAX),
            ">" => (level.checked_add(1)?, u8::MAX),
            _ => return None,
        };
        Some(Self { least, greatest })
    }

    /// Whether a level is among them.
    pub const fn contains(self, level: u8) -> bool {
        self.least <= level && level <= self.greatest
    }
}

/// The entries of a table that is not in any text, as if they had been written. Recurses as deep as values are nested.
pub(crate) fn entries_of(value: Value) -> Vec<SpecEntry> {
    match literal_of(value) {
        SpecValue::Table(entries) => entries,
        _ => Vec::new(),
    }
}

/// One setting of an option over another.
pub(super) fn overlaid(before: &SpecEntry, setting: &SpecEntry) -> SpecEntry {
    let renamed = SpecEntry { key: Written { value: before.key.value.clone(), ..setting.key }, ..setting.clone() };
    overlay(vec![before.clone()], &renamed).pop().unwrap_or(renamed)
}

/// Sets one option over others; a table is set key by key.
pub(super) fn overlay(mut entries: Vec<SpecEntry>, setting: &SpecEntry) -> Vec<SpecEntry> {
    let old = entries.iter_mut().find(|entry| entry.key.value == setting.key.value);
    match (old, &setting.value.value) {
        (Some(SpecEntry { value: Written { value: SpecValue::Table(old), .. }, .. }), SpecValue::Table(new)) => {
            // As deep as the setting's key has parts.
            *old = new.iter().fold(std::mem::take(old), overlay);
        }
        (Some(old), _) => old.value = setting.value.clone(),
        (None, _) => entries.push(setting.clone()),
    }
    entries
}

/// A value that is not in any text, as if it had been written. Recurses as deep as values are nested.
pub(super) fn literal_of(value: Value) -> SpecValue {
    match value {
        Value::Bool(value) => SpecValue::Bool(value),
        Value::Int(value) => SpecValue::Int(value),
        Value::Float(value) => SpecValue::Float(value),
        Value::Str(value) => SpecValue::Str(value),
        Value::List(items) => SpecValue::List(items.into_iter().map(|item| Written::made(literal_of(item))).collect()),
        Value::Struct(entries) => SpecValue::Table(
            entries
                .into_iter()
                .map(|(key, value)| SpecEntry { key: Written::made(key), value: Written::made(literal_of(value)) })
                .collect(),
        ),
        _ => SpecValue::Datetime,
    }
}

/// The most steps of a pipeline, including those of includes.
pub(super) const MAX_STEPS: usize = 1_000_000;
/// The default number of rounds of a fixpoint. A list of well-behaved passes settles in two or three.
pub const DEFAULT_MAX_ROUNDS: u32 = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn level_sets_read_and_hold() {
        let set = |text| LevelSet::parse(text).map(|set| (set.least, set.greatest));
        assert_eq!(set("level<=3"), Some((0, 3)));
        assert_eq!(set("level < 3"), Some((0, 2)));
        assert_eq!(set(" level == 2 "), Some((2, 2)));
        assert_eq!(set("level>1"), Some((2, 255)));
        for wrong in ["", "level", "level<=", "level<=x", "level<0", "levels<=1", "level=<1", "level<=256", "level!1"] {
            assert_eq!(set(wrong), None, "{wrong}");
        }
    }
}

//! The settings for passes, with full names.

use relais_plugin_api::options::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The context's default level (rule R2).
pub const DEFAULT_OPT_LEVEL: u8 = 2;

/// The settings for some steps: a pass context, with full names.
#[derive(Clone, PartialEq, Debug)]
pub struct Scope {
    /// Passes up to this level are on.
    pub opt_level: u8,
    /// Passes that are on at any level.
    pub required: BTreeSet<String>,
    /// Passes that are off.
    pub disabled: BTreeSet<String>,
    /// Those of the two lists that no pass of a catalogue has, as they were written: they may mean passes of what runs
    /// in the context, and are looked up there.
    pub unknown: BTreeSet<String>,
    /// Options of the context that are set.
    pub config: BTreeMap<String, Value>,
}

impl Default for Scope {
    fn default() -> Self {
        Self {
            opt_level: DEFAULT_OPT_LEVEL,
            required: BTreeSet::new(),
            disabled: BTreeSet::new(),
            unknown: BTreeSet::new(),
            config: BTreeMap::new(),
        }
    }
}

impl Scope {
    /// Whether a pass of that name and level is on (rule R2).
    pub fn enables(&self, name: &str, opt_level: u8) -> bool {
        if self.disabled.contains(name) {
            return false;
        }
        self.required.contains(name) || self.opt_level >= opt_level
    }
}

impl Scope {
    /// The same, with unknown names that need mean nothing.
    pub(crate) fn tolerant(mut self) -> Self {
        for written in std::mem::take(&mut self.unknown) {
            let tolerated = format!("{}?", written.trim_end_matches('?'));
            for list in [&mut self.required, &mut self.disabled] {
                if list.remove(&written) {
                    list.insert(tolerated.clone());
                }
            }
            self.unknown.insert(tolerated);
        }
        self
    }

    /// Looks up the names that are unknown: `full` returns the full names that one means, or none. Returns those that
    /// mean nothing, and need to.
    pub(crate) fn settle(&mut self, full: impl Fn(&str) -> Vec<String>) -> Vec<String> {
        let mut missing = Vec::new();
        for written in std::mem::take(&mut self.unknown) {
            let full = full(written.strip_suffix('?').unwrap_or(&written));
            for list in [&mut self.required, &mut self.disabled] {
                if list.remove(&written) {
                    list.extend(full.iter().cloned());
                }
            }
            if full.is_empty() && !written.ends_with('?') {
                missing.push(written);
            }
        }
        missing
    }
}

/// How the requirements of passes are followed (rule R5).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Dependencies {
    /// Requirements of requirements run first, and none runs again while its result holds.
    #[default]
    Transitive,
    /// One level, in order, repeated, whatever is disabled: TVM's algorithm.
    Direct,
    /// They are assumed to hold, and nothing is run for them: for modules that were written just before a pass.
    Assumed,
}

impl Dependencies {
    /// Each with its name.
    pub const NAMES: [(&str, Self); 3] =
        [("transitive", Self::Transitive), ("direct", Self::Direct), ("assumed", Self::Assumed)];
}

/// The consequence of a failing pass (rule R25). The module is as before the pass in any case.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OnFailure {
    /// The run fails.
    #[default]
    Fail,
    /// The run goes on without the pass.
    Skip,
    /// The run goes on without any pass of its plugin.
    Quarantine,
}

/// When the verifier runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verify {
    /// After each pass that changed something.
    Each,
    /// Never.
    Off,
}

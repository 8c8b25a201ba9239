//! Rules of plugins, run by the host's own engine.

use crate::ir::{Editor, Function, IRModule};
use abi_stable::std_types::RArc;
use relais_plugin_api::{
    boundary::{
        abi::CallCx,
        guard::caught,
        record::{Level, PassSpec, Phase},
    },
    diagnostics::PassError,
    facts::OpFactsTable,
    pass::{PassCx, REWRITES},
    pattern::{self, Rules},
    rewrite::check_replacements,
};

/// The rules of a pass of a plugin as its record has them, none of which asks a function of the plugin. The host runs them,
/// so that a fix in its engine reaches plugins that were built before.
pub(super) struct HostRules {
    rules: Rules,
    spec: &'static PassSpec,
}

/// The record by which the engine knows the pass: all that it asks for is the level, and what is counted.
static GRAPH: PassSpec = OF_RULES;
static PRIM: PassSpec = PassSpec { level: Level::PRIM_FUNC, ..OF_RULES };
const OF_RULES: PassSpec = PassSpec {
    name: "rules",
    aliases: &[],
    level: Level::FUNCTION,
    opt_level: 0,
    required: &[],
    ops: &[],
    members: &[],
    doc: "",
    flags: 0,
    extends: "",
    before: &[],
    after: &[],
    phase: Phase::REWRITES,
    runtime: "",
    target: "",
    changes_interface: None,
    statistics: &[REWRITES],
    rules: "",
    samples: &[],
    preserves: &[],
    options: &[],
};

impl HostRules {
    /// The rules of a record; `None` if they cannot be run without the plugin's code.
    pub fn of(text: &str, level: Level) -> Option<Self> {
        let spec = match level {
            Level::FUNCTION => &GRAPH,
            Level::PRIM_FUNC => &PRIM,
            _ => return None,
        };
        let rules = Rules::parse_all([("rules".to_owned(), text.to_owned())], &[]).ok()?;
        Some(Self { rules, spec })
    }

    /// Rewrites a function, as the pass would; `None` if nothing matches.
    ///
    /// # Errors
    /// Returns an error if the rules are not valid for the function, or do not settle.
    pub fn run(&self, call: CallCx<'_>, function: &RArc<Function>) -> Result<Option<RArc<Function>>, PassError> {
        caught(|| {
            let mut editor = Editor::new(function.clone());
            pattern::apply(&mut editor, &PassCx::new(call, self.spec), &self.rules)?;
            if self.spec.level == Level::FUNCTION {
                check_replacements(&mut editor, &mut OpFactsTable::empty(call))?;
            }
            Ok(editor.is_changed().then(|| editor.into_function()))
        })
        .unwrap_or_else(in_engine)
    }

    /// Says whether they fit a module, as the pass would.
    ///
    /// # Errors
    /// Returns an error if they do not.
    pub fn check(&self, call: CallCx<'_>, module: &IRModule) -> Result<(), PassError> {
        caught(|| pattern::check_module(&self.rules, module, &PassCx::new(call, self.spec))).unwrap_or_else(in_engine)
    }
}

/// A panic is not one of the plugin.
fn in_engine<T>(panic: PassError) -> Result<T, PassError> {
    Err(panic.with_note("in the engine of the host, which runs the rules of plugins"))
}

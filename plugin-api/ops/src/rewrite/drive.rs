//! Offering calls to a rule until nothing changes.

use super::{Driver, NOWHERE, Rewrite, RewriteCx, again::Traces, stage::Stage};
use crate::{build::CallChecker, core_facts::CoreFacts, relations::TypeRelations};
use relais_ir::{
    diagnostics::PassError,
    prim::{DOMAIN, is_value_op, remove_unused},
    *,
};
use std::{borrow::Cow, cell::OnceCell, collections::BTreeSet};

/// How many times its first number of nodes a function may have when a round begins, and how many more: a round that
/// begins with more is the last one. A rule that makes two calls of each on which it matches doubles them in each round.
const MOST_GROWTH: usize = 16;
const MOST_NEW: usize = 1 << 14;

/// The limits of the driver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DriveOptions {
    /// The most rounds over the function; a rule that still matches then is assumed not to terminate.
    pub max_rounds: usize,
    /// Whether the rule decides about a call by nothing but the values from which it is computed, and whether the calls
    /// among these have other users. A round is then the last one if no call can be decided otherwise in the next.
    pub is_local: bool,
    /// Whether the function is a prim func: only calls that compute values from values are offered, and made, by the type
    /// relations of core operators, and what nothing uses any more is removed.
    pub is_prim: bool,
}

impl Default for DriveOptions {
    fn default() -> Self {
        Self { max_rounds: 32, is_local: false, is_prim: false }
    }
}

/// The outcome of the driver.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DriveStats {
    /// Rounds over the function.
    pub n_rounds: usize,
    /// Calls replaced.
    pub n_rewrites: usize,
    /// Calls that were declined in the last round, with the reason.
    pub declined: Vec<(NodeId, Cow<'static, str>)>,
    /// Whether the last round changed nothing, or another one would change nothing.
    pub settled: bool,
    /// The last call that was replaced in the last round that the limits allow, and a description of it.
    pub last: Option<(NodeId, String)>,
}

impl DriveStats {
    /// The failure of a rewrite that does not settle.
    pub fn unsettled(&self) -> PassError {
        PassError::new(format_args!("still rewriting after {} rounds", self.n_rounds))
            .code("R004")
            .help("make sure that no rewrite undoes another one's work")
    }
}

/// A rewrite's function.
pub type RewriteFn<'r> = dyn for<'a> FnMut(CallView<'a>, &mut RewriteCx<'a>) -> Rewrite + 'r;

/// Offers every live call of the operators `ops` (all calls when empty; `domain::Name` outside the default domain) to
/// `rule` until nothing changes. New nodes are typed as they are made.
///
/// # Errors
/// Returns an error if `ops` names an operator whose calls are not offered at this level; if `rule` returns a node that is
/// neither visible at the call nor made through its [`RewriteCx`], makes a call that its operator does not accept, or
/// replaces a result by a value of another type; and if `rule` or a type relation panics, or a type relation returns
/// something untrue. The error names the call; the function is then half rewritten and must be discarded.
pub fn drive_with(
    editor: &mut Editor,
    relations: &mut dyn TypeRelations,
    rule: &mut RewriteFn<'_>,
    ops: &[&str],
    options: DriveOptions,
) -> Result<DriveStats, PassError> {
    drive_while(editor, relations, rule, ops, options, &|| Ok(()))
}

/// The error about an operator whose calls are never offered.
fn not_offered(op: &str, is_prim: bool) -> Option<PassError> {
    let is_core = op.split_once("::").is_some_and(|(domain, _)| domain == DOMAIN);
    let (why, help) = match (is_prim, is_core) {
        (false, true) => ("an operator of loop programs", "a rewrite over prim funcs is offered its calls"),
        (true, false) => ("an operator of graphs", "a rewrite over graphs is offered its calls"),
        (true, true) if !is_value_op(op) => (
            "not a core operator that computes a value from values",
            "a rewrite over prim funcs is offered these alone: a pass over prim funcs can change others",
        ),
        _ => return None,
    };
    Some(PassError::new(format_args!("the rewrite is to be offered `{op}`, which is {why}")).help(help))
}

/// As [`drive_with`], as long as `check` returns no error: it is called after each offer, so that the error names the
/// call at which it came.
pub fn drive_while(
    editor: &mut Editor,
    relations: &mut dyn TypeRelations,
    rule: &mut RewriteFn<'_>,
    ops: &[&str],
    options: DriveOptions,
    check: &dyn Fn() -> Result<(), PassError>,
) -> Result<DriveStats, PassError> {
    if let Some(fault) = ops.iter().find_map(|op| not_offered(op, options.is_prim)) {
        return Err(fault);
    }
    let mut core = CoreFacts::default();
    let relations: &mut dyn TypeRelations = if options.is_prim { &mut core } else { relations };
    let mut stats = DriveStats::default();
    let mut driver = Driver {
        n_before: editor.function().n_nodes(),
        uses: Vec::new(),
        used: None,
        home: Vec::new(),
        open: Vec::new(),
        is_open: Vec::new(),
        wanted: Vec::new(),
        known_faults: BTreeSet::new(),
        relations,
        rule,
        ops,
        is_prim: options.is_prim,
        is_last: false,
        may_go_on: check,
        stats: &mut stats,
        ahead: OnceCell::new(),
        stage: Stage::default(),
        checker: CallChecker::default(),
        traces: options.is_local.then(Traces::default),
    };
    let mut uses = None;
    let most_nodes = MOST_GROWTH * driver.n_before + MOST_NEW;
    while driver.stats.n_rounds < options.max_rounds && !driver.is_last {
        driver.is_last = driver.stats.n_rounds + 1 == options.max_rounds || editor.function().n_nodes() > most_nodes;
        if !driver.any_wanted(editor.function()) {
            driver.stats.settled = true;
            break;
        }
        driver.home.clear();
        driver.home.resize(editor.function().n_nodes(), NOWHERE);
        driver.is_open.clear();
        driver.is_open.resize(editor.function().n_blocks(), false);
        driver.open.clear();
        driver.uses = uses.take().unwrap_or_else(|| editor.function().use_counts());
        if let Some(traces) = &mut driver.traces {
            *traces = Traces { uses: driver.uses.clone(), ..Traces::default() };
        }
        driver.used = None;
        driver.ahead = OnceCell::new();
        driver.stats.declined.clear();
        let before = driver.stats.n_rewrites;
        editor.rebuild(&mut driver)?;
        driver.stats.n_rounds += 1;
        if driver.stats.n_rewrites == before {
            driver.stats.settled = true;
            break;
        }
        if options.is_local {
            let now = editor.function().use_counts();
            if !driver.can_change_more(editor.function(), &now) {
                driver.stats.settled = true;
                break;
            }
            uses = Some(now);
        }
    }
    if options.is_prim && stats.n_rewrites > 0 {
        remove_unused(editor);
    }
    Ok(stats)
}

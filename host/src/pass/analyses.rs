//! The results of analyses that a run keeps: for a function, a loop program or a module as long as it is just that one, or
//! what it became if the pass that changed it preserves the result.

use super::PassFacts;
use crate::ir::{Function, IRModule};
use abi_stable::std_types::RArc;
use relais_plugin_api::{
    analysis::{AnalysisObject, SubjectRec},
    boundary::record::{Depends, STRUCTURE},
};
use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError, atomic::AtomicU64},
    time::Duration,
};

/// How many functions that are not of the module's current state have results that are kept.
const MAX_OTHERS: usize = 64;

/// How many modules have results that are kept.
const MAX_MODULES: usize = 8;

/// How often an analysis was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AnalysisUse {
    /// How many results were computed.
    pub computed: u64,
    /// How often a result that was known was given.
    pub reused: u64,
    /// How many results passes preserved.
    pub preserved: u64,
    /// How long it took to compute them, without the analyses that they need.
    pub took: Duration,
}

impl AnalysisUse {
    /// Adds another one.
    pub fn add(&mut self, other: Self) {
        self.computed += other.computed;
        self.reused += other.reused;
        self.preserved += other.preserved;
        self.took += other.took;
    }
}

/// A result, and what it depends on.
#[derive(Clone)]
pub(super) struct Known {
    pub analysis: String,
    pub depends: Depends,
    pub object: RArc<AnalysisObject>,
}

#[derive(Default)]
struct State {
    /// By the address of a function: the function, which keeps the address from being another's, and what is known of it.
    functions: HashMap<usize, (RArc<Function>, Vec<Known>)>,
    /// Oldest first.
    modules: VecDeque<(IRModule, Vec<Known>)>,
    /// The addresses of the functions of the current module.
    current: HashSet<usize>,
    /// Those of functions that are not of it, oldest first.
    others: VecDeque<usize>,
    used: BTreeMap<String, AnalysisUse>,
}

/// The results of analyses that a run keeps. Threads share it: the first result of two for one function stays.
#[derive(Default)]
pub(crate) struct Analyses(Mutex<State>);

/// The results that may hold after a pass: of functions that it, or the host after it, may change.
pub(crate) struct Plan {
    functions: Vec<(String, RArc<Function>, Touched)>,
    module: Option<IRModule>,
}

/// Whether a pass changed a function, or only the host may do so after it, which infers types.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Touched {
    ByPass,
    ByHost,
}

/// A result that is kept for what a function became.
pub(super) struct Carried<'a> {
    pub function: &'a RArc<Function>,
    pub known: Known,
    /// Whether it is kept because the pass declares that it holds.
    pub is_declared: bool,
}

pub(super) fn address(function: &RArc<Function>) -> usize {
    std::ptr::from_ref::<Function>(function).addr()
}

fn body<'a>(module: &'a IRModule, name: &str) -> Option<&'a RArc<Function>> {
    module.global(name).map(crate::ir::Global::body)
}

fn is_same_module(a: &IRModule, b: &IRModule) -> bool {
    let mut pairs = a.globals().iter().zip(b.globals());
    a.globals().len() == b.globals().len() && pairs.all(|(a, b)| a.name == b.name && a.is_same(b)) && a.attrs == b.attrs
}

/// Whether a pass preserves a result.
fn is_preserved(known: &Known, touched: Touched, pass: &PassFacts) -> bool {
    let is_named =
        |name: &String| *name == known.analysis || (name == STRUCTURE && known.depends == Depends::STRUCTURE);
    match touched {
        Touched::ByHost => known.depends == Depends::STRUCTURE,
        Touched::ByPass => pass.preserves.iter().any(is_named),
    }
}

impl Analyses {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn find(&self, name: &str, of: &SubjectRec<'_>) -> Option<RArc<AnalysisObject>> {
        let state = self.lock();
        let all = match (of.as_function(), of.as_module()) {
            (Some(function), _) => &state.functions.get(&address(function))?.1,
            (None, Some(module)) => &state.modules.iter().rfind(|(known, _)| is_same_module(known, module))?.1,
            (None, None) => return None,
        };
        all.iter().find(|known| known.analysis == name).map(|known| known.object.clone())
    }

    /// Keeps a result, unless there is one.
    pub(super) fn add(&self, of: &SubjectRec<'_>, known: Known) -> RArc<AnalysisObject> {
        let mut state = self.lock();
        let state = &mut *state;
        let all = match (of.as_function(), of.as_module()) {
            (Some(function), _) => {
                let at = address(function);
                if !state.functions.contains_key(&at) && !state.current.contains(&at) {
                    state.others.push_back(at);
                    if state.others.len() > MAX_OTHERS {
                        state.others.pop_front().map(|oldest| state.functions.remove(&oldest));
                    }
                }
                &mut state.functions.entry(at).or_insert_with(|| (function.clone(), Vec::new())).1
            }
            (None, Some(module)) => {
                let index = state.modules.iter().rposition(|(known, _)| is_same_module(known, module));
                let index = index.unwrap_or_else(|| {
                    if state.modules.len() == MAX_MODULES {
                        state.modules.pop_front();
                    }
                    state.modules.push_back((module.clone(), Vec::new()));
                    state.modules.len() - 1
                });
                &mut state.modules[index].1
            }
            (None, None) => return known.object,
        };
        if let Some(first) = all.iter().find(|other| other.analysis == known.analysis) {
            return first.object.clone();
        }
        all.push(known.clone());
        known.object
    }

    pub(super) fn used(&self, name: &str, more: AnalysisUse) {
        self.lock().used.entry(name.to_owned()).or_default().add(more);
    }

    /// Returns how analyses were used since the last call, by name.
    pub fn take_used(&self) -> BTreeMap<String, AnalysisUse> {
        std::mem::take(&mut self.lock().used)
    }

    /// Whether it is a function of the current module, which was checked.
    pub(super) fn is_current(&self, function: &RArc<Function>) -> bool {
        self.lock().current.contains(&address(function))
    }

    /// Forgets what is known of functions and modules that are not of the current one.
    pub fn retain(&self, module: &IRModule) {
        let mut state = self.lock();
        let state = &mut *state;
        state.current = module.globals().iter().map(|global| address(global.body())).collect();
        state.others.clear();
        state.functions.retain(|at, _| state.current.contains(at));
        state.modules.retain(|(known, _)| is_same_module(known, module));
    }

    /// Notes the functions whose results may hold after a pass that made `new` of `old`.
    pub fn plan(&self, old: &IRModule, new: &IRModule) -> Plan {
        let state = self.lock();
        let functions = old.globals().iter().filter(|global| state.functions.contains_key(&address(global.body())));
        let functions = functions.map(|global| {
            let is_same = new.global(&global.name).is_some_and(|new| new.is_same(global));
            let touched = if is_same { Touched::ByHost } else { Touched::ByPass };
            (global.name.to_string(), global.body().clone(), touched)
        });
        let functions = functions.collect();
        let module = state.modules.iter().rfind(|(known, _)| is_same_module(known, old));
        Plan { functions, module: module.map(|(module, _)| module.clone()) }
    }

    /// The results that hold for the functions of a module, as the pass declares. Those of an arena that has another number
    /// of nodes hold for no function.
    pub(super) fn carried<'a>(&self, plan: &Plan, new: &'a IRModule, pass: &PassFacts) -> Vec<Carried<'a>> {
        let state = self.lock();
        let mut carried = Vec::new();
        for (name, old, touched) in &plan.functions {
            let now = body(new, name).filter(|now| address(now) != address(old));
            let is_alike = |now: &&RArc<Function>| now.n_nodes() == old.n_nodes() && now.n_blocks() == old.n_blocks();
            let (Some(function), Some((_, all))) = (now.filter(is_alike), state.functions.get(&address(old))) else {
                continue;
            };
            let held = all.iter().filter(|known| is_preserved(known, *touched, pass));
            carried.extend(held.map(|known| Carried {
                function,
                known: known.clone(),
                is_declared: *touched == Touched::ByPass,
            }));
        }
        carried
    }

    /// Keeps the results that a pass preserves for what functions became.
    pub fn carry(&self, plan: &Plan, new: &IRModule, pass: &PassFacts) {
        for Carried { function, known, .. } in self.carried(plan, new, pass) {
            self.used(&known.analysis, AnalysisUse { preserved: 1, ..AnalysisUse::default() });
            self.add(&SubjectRec::function(function), known);
        }
        let Some(old) = &plan.module else { return };
        let held =
            self.lock().modules.iter().rfind(|(known, _)| is_same_module(known, old)).map(|(_, all)| all.clone());
        for known in held.into_iter().flatten().filter(|known| pass.preserves.contains(&known.analysis)) {
            self.used(&known.analysis, AnalysisUse { preserved: 1, ..AnalysisUse::default() });
            self.add(&SubjectRec::module(new), known);
        }
    }
}

/// An analysis that is computed, and those that wait for it.
pub(crate) struct Asking<'a> {
    pub(super) name: &'a str,
    /// Where its subject is, which tells two apart while both are alive.
    pub(super) at: usize,
    pub(super) outer: Option<&'a Asking<'a>>,
    /// How many nanoseconds the analyses took that it needs.
    pub(super) needed: AtomicU64,
}

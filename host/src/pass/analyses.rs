//! The results of analyses that a run keeps: for a function, a loop program or a module as long as it is just that one, or
//! for the function that it became if the pass that changed it preserves the result.

use super::PassFacts;
use crate::ir::{Function, Global, IRModule};
use abi_stable::std_types::RArc;
use relais_plugin_api::{
    analysis::{AnalysisObject, SubjectRec},
    boundary::record::{Depends, STRUCTURE},
};
use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque, hash_map::Entry},
    sync::{Mutex, MutexGuard, PoisonError, atomic::AtomicU64},
    time::Duration,
};

/// How many functions that are not of the module's current state have results that are kept.
const MAX_OTHERS: usize = 8;

/// How many modules have results that are kept.
const MAX_MODULES: usize = 2;

/// How often an analysis was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AnalysisUse {
    /// How many results were computed.
    pub computed: u64,
    /// How often a result that was known was given.
    pub reused: u64,
    /// How many results passes preserved.
    pub preserved: u64,
    /// How long it took to compute them, without the analyses that they need, summed over threads.
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

/// A result, and the parts of its subject that it depends on.
#[derive(Clone)]
pub(super) struct Known {
    pub analysis: String,
    pub depends: Depends,
    pub object: RArc<AnalysisObject>,
    /// Whether it was computed again and compared, where that is requested.
    pub is_checked: bool,
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
    /// The use since the last pass, and before that.
    used: BTreeMap<String, AnalysisUse>,
    total: BTreeMap<String, AnalysisUse>,
}

impl State {
    fn known(&mut self, of: &SubjectRec<'_>) -> Option<&mut Vec<Known>> {
        if let Some(function) = of.as_function() {
            return self.functions.get_mut(&address(function)).map(|(_, all)| all);
        }
        let module = of.as_module()?;
        self.modules.iter_mut().rfind(|(known, _)| is_same_module(known, module)).map(|(_, all)| all)
    }
}

/// The results of analyses that a run keeps. Threads share it: the first result of two for one function stays. Results are
/// dropped when nothing is locked, since that is code of plugins.
#[derive(Default)]
pub(crate) struct Analyses(Mutex<State>);

/// The results that may hold after a pass: those of functions that it, or the host after it, may change.
pub(crate) struct Plan {
    /// Each with its name, and whether the pass left it as it was.
    functions: Vec<(String, RArc<Function>, bool)>,
}

/// The work of the host on functions after a pass, by their names.
#[derive(Default)]
pub(crate) struct Touched {
    /// Those whose nodes may have other numbers.
    pub compacted: HashSet<String>,
    /// Those that have other types.
    pub typed: HashSet<String>,
}

/// A result that is kept for the function that another one became.
pub(crate) struct Carried<'a> {
    pub(super) function: &'a RArc<Function>,
    pub(super) known: Known,
    /// Whether it is kept because the pass declares that it holds.
    pub(super) is_declared: bool,
}

pub(super) fn address(function: &RArc<Function>) -> usize {
    std::ptr::from_ref::<Function>(function).addr()
}

fn is_same_module(a: &IRModule, b: &IRModule) -> bool {
    let mut pairs = a.globals().iter().zip(b.globals());
    a.globals().len() == b.globals().len()
        && pairs.all(|(a, b)| a.name == b.name && a.is_same(b))
        && a.attrs == b.attrs
        && a.sources.len() == b.sources.len()
}

/// Whether a pass declares that it preserves a result: by the name of the analysis, full or short, or as one of those that
/// depend on the structure alone.
fn is_declared(known: &Known, pass: &PassFacts) -> bool {
    let short = known.analysis.rsplit_once('.').map_or(known.analysis.as_str(), |(_, short)| short);
    let is_of_structure = known.depends == Depends::STRUCTURE;
    let mut declared = pass.preserves.iter();
    declared.any(|name| *name == known.analysis || name == short || (name == STRUCTURE && is_of_structure))
}

impl Analyses {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn find(&self, name: &str, of: &SubjectRec<'_>) -> Option<Known> {
        self.lock().known(of)?.iter().find(|known| known.analysis == name).cloned()
    }

    /// Notes that a result was computed again and is the same.
    pub(super) fn checked(&self, name: &str, of: &SubjectRec<'_>) {
        let mut state = self.lock();
        let all = state.known(of).into_iter().flatten();
        all.filter(|known| known.analysis == name).for_each(|known| known.is_checked = true);
    }

    /// Keeps a result, unless there is one.
    pub(super) fn add(&self, of: &SubjectRec<'_>, known: Known) -> RArc<AnalysisObject> {
        let (mut function_gone, mut module_gone) = (None, None);
        let mut guard = self.lock();
        let state = &mut *guard;
        if let Some(function) = of.as_function() {
            let at = address(function);
            if let Entry::Vacant(place) = state.functions.entry(at) {
                place.insert((function.clone(), Vec::new()));
                if !state.current.contains(&at) {
                    state.others.push_back(at);
                }
                if state.others.len() > MAX_OTHERS {
                    function_gone = state.others.pop_front().and_then(|oldest| state.functions.remove(&oldest));
                }
            }
        } else if let (Some(module), None) = (of.as_module(), state.known(of)) {
            module_gone = (state.modules.len() == MAX_MODULES).then(|| state.modules.pop_front());
            state.modules.push_back((module.clone(), Vec::new()));
        }
        let Some(all) = state.known(of) else { return known.object };
        let object = match all.iter().find(|other| other.analysis == known.analysis) {
            Some(first) => first.object.clone(),
            None => {
                let object = known.object.clone();
                all.push(known);
                object
            }
        };
        drop(guard);
        drop((function_gone, module_gone));
        object
    }

    pub(super) fn used(&self, name: &str, more: AnalysisUse) {
        self.lock().used.entry(name.to_owned()).or_default().add(more);
    }

    /// Returns how analyses were used since the last call, by name.
    pub fn take_used(&self) -> BTreeMap<String, AnalysisUse> {
        let mut state = self.lock();
        let used = std::mem::take(&mut state.used);
        used.iter().for_each(|(name, used)| state.total.entry(name.clone()).or_default().add(*used));
        used
    }

    /// Returns how analyses were used in the whole run, by name.
    pub fn total(&self) -> BTreeMap<String, AnalysisUse> {
        self.take_used();
        self.lock().total.clone()
    }

    /// Whether it is a function of the current module, which was checked.
    pub(super) fn is_current(&self, function: &RArc<Function>) -> bool {
        self.lock().current.contains(&address(function))
    }

    /// Forgets what is known of functions and modules that are not of the current one.
    pub fn retain(&self, module: &IRModule) {
        let current: HashSet<usize> = module.globals().iter().map(|global| address(global.body())).collect();
        let mut guard = self.lock();
        let state = &mut *guard;
        let functions = std::mem::take(&mut state.functions).into_iter();
        let modules = std::mem::take(&mut state.modules).into_iter();
        let (functions, functions_gone): (_, HashMap<_, _>) = functions.partition(|(at, _)| current.contains(at));
        let (modules, modules_gone): (_, VecDeque<_>) = modules.partition(|(known, _)| is_same_module(known, module));
        (state.functions, state.modules, state.current) = (functions, modules, current);
        state.others.clear();
        drop(guard);
        drop((functions_gone, modules_gone));
    }

    /// Notes the functions whose results may hold after a pass that made `new` of `old`.
    pub fn plan(&self, old: &IRModule, new: &IRModule) -> Plan {
        let state = self.lock();
        let functions = old.globals().iter().filter(|global| state.functions.contains_key(&address(global.body())));
        let functions = functions.map(|global| {
            let is_left = new.global(&global.name).is_some_and(|new| new.is_same(global));
            (global.name.to_string(), global.body().clone(), is_left)
        });
        Plan { functions: functions.collect() }
    }

    /// The results that hold for the functions of a module, as the pass declares, and as the host touched them after it: with
    /// other types, those that depend on the structure alone. None is kept for an arena of another size.
    pub fn carried<'a>(&self, plan: &Plan, new: &'a IRModule, touched: &Touched, pass: &PassFacts) -> Vec<Carried<'a>> {
        let mut state = self.lock();
        let mut carried = Vec::new();
        for (name, old, is_left) in &plan.functions {
            let Some(function) = new.global(name).map(Global::body) else { continue };
            let is_alike = function.n_nodes() == old.n_nodes() && function.n_blocks() == old.n_blocks();
            if address(function) == address(old) || !is_alike || touched.compacted.contains(name) {
                continue;
            }
            let is_typed = touched.typed.contains(name);
            let all = state.known(&SubjectRec::function(old)).into_iter().flatten();
            let held = all.filter(|known| {
                (*is_left || is_declared(known, pass)) && (!is_typed || known.depends == Depends::STRUCTURE)
            });
            carried.extend(held.map(|known| {
                let known = Known { is_checked: false, ..known.clone() };
                Carried { function, known, is_declared: !is_left }
            }));
        }
        carried
    }

    /// Keeps results for the functions that others became.
    pub fn carry(&self, carried: Vec<Carried<'_>>) {
        for Carried { function, known, .. } in carried {
            self.used(&known.analysis, AnalysisUse { preserved: 1, ..AnalysisUse::default() });
            self.add(&SubjectRec::function(function), known);
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

//! The loop programs that the entry function calls, while passes make others of them.

use crate::program::set_attr;
use relais_plugin_api::{
    ir::{AttrData, AttrValue, RArc},
    prelude::*,
    prim::{LoopOps, ORIGINS},
};
use std::collections::{BTreeMap, HashMap, HashSet};

/// The entry function.
pub const MAIN: &str = "main";

/// The entry function and the loop programs, changed and made.
pub struct Calls {
    pub main: Function,
    pub ops: LoopOps,
    /// By name.
    pub kernels: BTreeMap<String, RArc<Function>>,
    /// The loop programs that were made, in order.
    made: Vec<String>,
    taken: HashSet<String>,
    /// By call: the nodes of the model that it computes, if that is known.
    origins: HashMap<NodeId, Vec<Vec<u8>>>,
    /// Loop programs that are called less often than before.
    left: HashSet<String>,
}

impl Calls {
    /// The loop programs of a module, and its entry function.
    pub fn new(module: &IRModule, main: Function) -> Self {
        let others = module.globals().iter().filter(|global| global.name.as_str() != MAIN);
        let kernels: BTreeMap<String, RArc<Function>> =
            others.filter_map(|global| Some((global.name.to_string(), global.prim_func()?.clone()))).collect();
        let taken = module.globals().iter().map(|global| global.name.to_string()).collect();
        let ops = LoopOps::new(&main);
        let (origins, left) = (HashMap::new(), HashSet::new());
        let mut calls = Self { main, ops, kernels, made: Vec::new(), taken, origins, left };
        // `LowerOps` notes the nodes of a kernel in the order of the calls.
        let mut of: BTreeMap<String, Vec<NodeId>> = BTreeMap::new();
        for &id in calls.main.bindings(calls.main.body()) {
            if let Some(name) = calls.callee(id) {
                of.entry(name).or_default().push(id);
            }
        }
        for (name, ids) in of {
            let names = origins_of(&calls.kernels[&name]);
            if names.len() == ids.len() {
                calls.origins.extend(ids.into_iter().zip(names.into_iter().map(|name| vec![name])));
            } else if let [id] = *ids {
                calls.origins.insert(id, names);
            }
        }
        calls
    }

    /// The loop program that a statement of the entry function calls.
    pub fn callee(&self, id: NodeId) -> Option<String> {
        let call = self.main.call(id)?;
        let Expr::GlobalVar(name) = self.main.expr(call.callee()) else { return None };
        let kernel = self.kernels.get(name)?;
        (kernel.params().len() == call.args().len()).then(|| name.to_owned())
    }

    /// A name that nothing has.
    pub fn name(&mut self, stem: &str) -> String {
        let mut all = std::iter::once(stem.to_owned()).chain((1..).map(|n| format!("{stem}_{n}")));
        let name = all.find(|name| !self.taken.contains(name)).unwrap_or_default();
        self.taken.insert(name.clone());
        name
    }

    /// Adds a loop program.
    pub fn add(&mut self, name: &str, kernel: Function) {
        self.kernels.insert(name.to_owned(), kernel.into());
        self.made.push(name.to_owned());
    }

    /// Notes that a call stands for others, of these loop programs.
    pub fn replaced(&mut self, old: &[NodeId], new: NodeId, names: &[String]) {
        let origins: Option<Vec<_>> = old.iter().map(|call| self.origins.remove(call)).collect();
        if let Some(origins) = origins {
            self.origins.insert(new, origins.concat());
        }
        self.left.extend(names.iter().cloned());
    }

    /// Puts the functions into the module, and removes those that are not called any more; returns how many were made.
    pub fn finish(self, module: &mut IRModule) -> usize {
        let mut called: HashSet<String> = HashSet::new();
        let mut computed: BTreeMap<String, Option<Vec<Vec<u8>>>> = BTreeMap::new();
        for id in self.main.all_bindings() {
            let Some(name) = self.callee(id) else { continue };
            called.insert(name.clone());
            let of_all = computed.entry(name).or_insert_with(|| Some(Vec::new()));
            match (self.origins.get(&id), &mut *of_all) {
                (Some(more), Some(all)) => all.extend(more.iter().cloned()),
                _ => *of_all = None,
            }
        }
        for kernel in self.kernels.values() {
            for call in kernel.all_bindings().filter_map(|id| kernel.call(id)) {
                if let Expr::GlobalVar(name) = kernel.expr(call.callee()) {
                    called.insert(name.to_owned());
                }
            }
        }
        let update = |module: &mut IRModule, name: &str| {
            let mut kernel = Function::clone(&self.kernels[name]);
            if let Some(Some(names)) = computed.get(name)
                && !names.is_empty()
            {
                let root = kernel.root();
                set_attr(&mut kernel, root, &Attr::meta(ORIGINS, AttrData::Strings(names.clone())));
            }
            module.set_prim_func(name, kernel);
        };
        let is_made = |name: &String| self.made.contains(name);
        for name in self.kernels.keys().filter(|name| self.left.contains(*name) && !is_made(name)) {
            match called.contains(name) {
                true => update(module, name),
                false => drop(module.remove(name)),
            }
        }
        let made: Vec<&String> = self.made.iter().filter(|name| called.contains(*name)).collect();
        made.iter().for_each(|name| update(module, name));
        module.set_prim_func(MAIN, self.main);
        made.len()
    }
}

/// A name without the number that tells it from others.
pub fn stem(name: &str) -> &str {
    let end = name.trim_end_matches(|c: char| c.is_ascii_digit());
    end.strip_suffix('_').filter(|stem| !stem.is_empty() && end.len() < name.len()).unwrap_or(name)
}

/// The nodes of the model that a loop program computes.
fn origins_of(f: &Function) -> Vec<Vec<u8>> {
    match f.attrs(f.root()).meta(ORIGINS) {
        Some(AttrValue::Strings(names)) => names.strings().map(<[u8]>::to_vec).collect(),
        _ => Vec::new(),
    }
}

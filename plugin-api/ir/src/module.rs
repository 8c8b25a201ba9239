//! A module: named functions, in order.

use super::{Blob, Function, SideList, Tensor};
use abi_stable::{
    StableAbi,
    std_types::{RArc, RString, RVec},
};
use std::collections::HashMap;

/// The kinds of globals. Append-only.
pub mod global_kind {
    /// A graph function.
    pub const FUNCTION: u8 = 0;
    /// A prim func: a loop program.
    pub const PRIM_FUNC: u8 = 1;
}

/// A global name and its definition. A kind that this version does not know is carried along.
#[repr(C)]
#[derive(StableAbi, Clone)]
pub struct Global {
    /// The name, without `@`.
    pub name: RString,
    /// One of [`global_kind`].
    pub kind: u8,
    body: RArc<Function>,
}

impl Global {
    /// The graph function, if it is one.
    pub fn function(&self) -> Option<&RArc<Function>> {
        (self.kind == global_kind::FUNCTION).then_some(&self.body)
    }

    /// The prim func, if it is one.
    pub fn prim_func(&self) -> Option<&RArc<Function>> {
        (self.kind == global_kind::PRIM_FUNC).then_some(&self.body)
    }

    /// The definition, of whatever kind.
    pub fn body(&self) -> &RArc<Function> {
        &self.body
    }

    /// Whether both are the same object.
    pub fn is_same(&self, other: &Self) -> bool {
        self.kind == other.kind && std::ptr::eq(&*self.body, &*other.body)
    }
}

/// Bytes that a module was read from; spans point into them.
#[repr(C)]
#[derive(StableAbi, Clone)]
pub struct Source {
    /// The file's path, or another name for where the bytes came from.
    pub name: RString,
    /// The bytes.
    pub bytes: Blob,
}

/// Kinds of module attributes' values. Append-only.
pub mod module_attr_kind {
    /// An integer.
    pub const INT: u8 = 0;
    /// Bytes.
    pub const BYTES: u8 = 1;
    /// Tensors. This version makes none.
    pub const TENSORS: u8 = 2;
}

/// An attribute of a module.
#[repr(C)]
#[derive(StableAbi, Clone, PartialEq, Debug)]
pub struct ModuleAttr {
    /// Name.
    pub name: RString,
    /// One of [`module_attr_kind`].
    kind: u8,
    int: i64,
    bytes: RVec<u8>,
    tensors: RVec<Tensor>,
}

impl ModuleAttr {
    /// An integer.
    pub fn int(name: &str, value: i64) -> Self {
        Self { name: name.into(), kind: module_attr_kind::INT, int: value, bytes: RVec::new(), tensors: RVec::new() }
    }

    /// Bytes, usually text.
    pub fn bytes(name: &str, value: &[u8]) -> Self {
        Self {
            name: name.into(),
            kind: module_attr_kind::BYTES,
            int: 0,
            bytes: value.to_vec().into(),
            tensors: RVec::new(),
        }
    }

    /// Kind, integer, bytes and tensors, whichever of them the kind has.
    pub(crate) fn stored(&self) -> (u8, i64, &[u8], &[Tensor]) {
        (self.kind, self.int, &self.bytes, &self.tensors)
    }

    /// An attribute of what [`stored`](Self::stored) returns.
    pub(crate) fn from_stored(name: &str, kind: u8, int: i64, bytes: &[u8], tensors: Vec<Tensor>) -> Self {
        Self { name: name.into(), kind, int, bytes: bytes.into(), tensors: tensors.into() }
    }

    /// The integer.
    pub fn as_int(&self) -> Option<i64> {
        (self.kind == module_attr_kind::INT).then_some(self.int)
    }

    /// The bytes.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        (self.kind == module_attr_kind::BYTES).then_some(self.bytes.as_slice())
    }

    /// The bytes as text.
    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(self.as_bytes()?).ok()
    }
}

/// Global functions in order, and the properties of the model as a whole. Cloning shares every function.
#[repr(C)]
#[derive(StableAbi, Clone, Default)]
pub struct IRModule {
    globals: RVec<Global>,
    /// Attributes of the module, in order; names may repeat.
    pub attrs: RVec<ModuleAttr>,
    /// The files that the module was read from.
    pub sources: RVec<Source>,
    /// Data of the module as a whole, carried along. No element refers to a node.
    pub lists: RVec<SideList>,
    /// Changes whenever a function is added, replaced or removed.
    version: u64,
    /// Zero; carried along.
    reserved: [u64; 4],
}

/// The name of the entry function.
pub const MAIN: &str = "main";

impl IRModule {
    /// A hash of the layout, for the boundary's fingerprint.
    pub const LAYOUT_HASH: u64 = crate::__layout_hash!(IRModule { globals, attrs, sources, lists, version, reserved })
        ^ crate::__layout_hash!(Global { name, kind, body })
        ^ crate::__layout_hash!(ModuleAttr { name, kind, int, bytes, tensors });

    /// A module without functions.
    pub fn new() -> Self {
        Self::default()
    }

    /// A module without functions that follows one of another version.
    pub(crate) fn from_parts(version: u64, reserved: [u64; 4]) -> Self {
        Self { version: version + 1, reserved, ..Self::default() }
    }

    /// The reserved words.
    pub(crate) fn reserved(&self) -> &[u64] {
        &self.reserved
    }

    /// All globals, in order.
    pub fn globals(&self) -> &[Global] {
        self.globals.as_slice()
    }

    /// The global of that name.
    pub fn global(&self, name: &str) -> Option<&Global> {
        self.globals.iter().find(|global| global.name == name)
    }

    /// The graph functions, in order.
    pub fn functions(&self) -> impl Iterator<Item = (&str, &RArc<Function>)> {
        self.globals.iter().filter_map(|global| Some((global.name.as_str(), global.function()?)))
    }

    /// The graph function of that name.
    pub fn function(&self, name: &str) -> Option<&RArc<Function>> {
        self.global(name)?.function()
    }

    /// The body of the global of that name, graph function or not.
    pub fn body(&self, name: &str) -> Option<&RArc<Function>> {
        self.global(name).map(Global::body)
    }

    /// The entry function.
    pub fn main(&self) -> Option<&RArc<Function>> {
        self.function(MAIN)
    }

    /// All globals' bodies, graph functions or not, in order.
    pub fn bodies(&self) -> impl Iterator<Item = (&str, &RArc<Function>)> {
        self.globals.iter().map(|global| (global.name.as_str(), &global.body))
    }

    /// Sets the graph function of a name: it replaces the global of that name, or is added at the end.
    pub fn set_function(&mut self, name: &str, function: impl Into<RArc<Function>>) {
        self.set_global(name, global_kind::FUNCTION, function);
    }

    /// Sets the prim func of a name: it replaces the global of that name, or is added at the end.
    pub fn set_prim_func(&mut self, name: &str, prim_func: impl Into<RArc<Function>>) {
        self.set_global(name, global_kind::PRIM_FUNC, prim_func);
    }

    /// As [`set_function`](Self::set_function) for many, in one pass over the module.
    pub fn set_functions<'a>(&mut self, functions: impl IntoIterator<Item = (&'a str, RArc<Function>)>) {
        self.set_globals(functions.into_iter().map(|(name, body)| (name, global_kind::FUNCTION, body)));
    }

    /// As [`set_global`](Self::set_global) for many, in one pass over the module; of one name, the last counts.
    pub fn set_globals<'a>(&mut self, globals: impl IntoIterator<Item = (&'a str, u8, RArc<Function>)>) {
        let mut new: HashMap<&str, (u8, RArc<Function>)> = HashMap::new();
        let mut names = Vec::new();
        for (name, kind, mut body) in globals {
            share_constants(&mut body);
            names.push(name);
            new.insert(name, (kind, body));
        }
        for global in self.globals.iter_mut() {
            if let Some((kind, body)) = new.remove(global.name.as_str()) {
                (global.kind, global.body) = (kind, body);
            }
        }
        self.version += 1;
        for name in names {
            if let Some((kind, body)) = new.remove(name) {
                self.globals.push(Global { name: name.into(), kind, body });
            }
        }
    }

    /// Puts a global at the end, under a name that is known to be new.
    pub(crate) fn push(&mut self, name: &str, kind: u8, body: Function) {
        self.version += 1;
        self.globals.push(Global { name: name.into(), kind, body: RArc::new(body) });
    }

    /// Sets the global of a name, of whatever kind: it replaces the one of that name, or is added at the end.
    pub fn set_global(&mut self, name: &str, kind: u8, body: impl Into<RArc<Function>>) {
        let mut body = body.into();
        share_constants(&mut body);
        let global = Global { name: name.into(), kind, body };
        self.version += 1;
        match self.globals.iter_mut().find(|old| old.name == global.name) {
            Some(old) => *old = global,
            None => self.globals.push(global),
        }
    }

    /// Takes a global out; returns whether there was one.
    pub fn remove(&mut self, name: &str) -> bool {
        let before = self.globals.len();
        self.globals.retain(|global| global.name != name);
        self.version += u64::from(before != self.globals.len());
        before != self.globals.len()
    }

    /// The graph function of that name, to be changed: cloned first when it is shared.
    pub fn function_mut(&mut self, name: &str) -> Option<&mut Function> {
        self.version += 1;
        let global = self.globals.iter_mut().find(|global| global.name == name)?;
        (global.kind == global_kind::FUNCTION).then(|| RArc::make_mut(&mut global.body))
    }

    /// The graph functions, in order, to be replaced, or changed after [`RArc::make_mut`].
    pub fn functions_mut(&mut self) -> impl Iterator<Item = (&str, &mut RArc<Function>)> {
        self.version += 1;
        let functions = self.globals.iter_mut().filter(|global| global.kind == global_kind::FUNCTION);
        functions.map(|global| (global.name.as_str(), &mut global.body))
    }

    /// The prim funcs, in order, to be replaced, or changed after [`RArc::make_mut`].
    pub fn prim_funcs_mut(&mut self) -> impl Iterator<Item = (&str, &mut RArc<Function>)> {
        self.version += 1;
        let prims = self.globals.iter_mut().filter(|global| global.kind == global_kind::PRIM_FUNC);
        prims.map(|global| (global.name.as_str(), &mut global.body))
    }

    /// A number that changes whenever a function is added, replaced or removed.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The module attribute of that name.
    pub fn attr(&self, name: &str) -> Option<&ModuleAttr> {
        self.attrs.iter().find(|attr| attr.name == name)
    }
}

/// Lets clones of a function that has no other holder yet share its constants.
fn share_constants(function: &mut RArc<Function>) {
    if let Some(function) = RArc::get_mut(function) {
        function.share_constants();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_functions_take_the_places_of_their_names_and_new_ones_come_last() {
        let mut module = IRModule::new();
        module.set_function("a", Function::new());
        module.set_prim_func("p", Function::new());
        module.set_function("b", Function::new());
        let before = (module.version(), module.function("a").unwrap().clone());
        let new: Vec<RArc<Function>> = (0..4).map(|_| RArc::new(Function::new())).collect();
        module.set_functions(["d", "b", "c", "p"].into_iter().zip(new.iter().cloned()));
        let names: Vec<&str> = module.globals().iter().map(|global| global.name.as_str()).collect();
        assert_eq!(names, ["a", "p", "b", "d", "c"]);
        let is = |name: &str, of: &RArc<Function>| std::ptr::eq(&**module.function(name).unwrap(), &**of);
        assert!(is("d", &new[0]) && is("b", &new[1]) && is("c", &new[2]) && is("p", &new[3]) && is("a", &before.1));
        assert!(module.version() > before.0 && module.global("p").unwrap().prim_func().is_none());
    }
}

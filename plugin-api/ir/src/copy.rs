//! Copying nodes between functions.

use super::{
    inline::import::{Import, is_copied},
    walk::each_used,
    *,
};
use crate::diagnostics::PassError;
use std::collections::BTreeSet;

/// Copies bindings of one function into another one, with the functions that belong to them.
///
/// Values that the bindings use have to be copied before, or [set](Self::set). To copy within a function, copy from a
/// clone of it.
///
/// ```
/// use relais_plugin_api::{ir::{Copier, TypeId}, prelude::*, text};
///
/// let module = text::parse_str("def @main(%x: Tensor[(2), float32]) { %a = Relu(%x); %b = Neg(%a); %b }").unwrap();
/// let f = module.main().unwrap();
/// let mut to = Function::new();
/// let y = to.add_var("y", TypeId::UNKNOWN);
/// let mut copier = Copier::new(f);
/// copier.set(f.bindings(f.body())[0], y);
/// let neg = copier.copy(&mut to, f.bindings(f.body())[1]).unwrap();
/// assert_eq!((to.name(neg), to.operands(neg)[1]), ("b", y));
/// ```
pub struct Copier<'a> {
    import: Import<'a>,
    has_names: bool,
}

impl<'a> Copier<'a> {
    /// Copies from a function.
    pub fn new(from: &'a Function) -> Self {
        Self { import: Import::new(from), has_names: true }
    }

    /// The same, and symbols in types keep their names: they stand for the same sizes in both functions. Otherwise the
    /// sizes of copies are unknown.
    pub fn keep_symbols(mut self) -> Self {
        self.import.has_same_symbols = true;
        self
    }

    /// The same, and copies have no names: where the originals are visible, too.
    pub fn without_names(mut self) -> Self {
        self.has_names = false;
        self
    }

    /// Lets uses of a node become uses of `copy` in what is copied from here on.
    pub fn set(&mut self, node: NodeId, copy: NodeId) {
        self.import.map[node.index()] = copy;
    }

    /// Returns the copy of a node; `None` if it was neither copied nor set.
    pub fn get(&self, node: NodeId) -> Option<NodeId> {
        self.import.map.get(node.index()).copied().filter(|copy| !copy.is_absent())
    }

    /// Adds a type of the function that is copied from.
    pub fn add_type(&mut self, to: &mut Function, ty: TypeId) -> TypeId {
        if self.import.types.is_empty() {
            self.import.add_types(to);
        }
        self.import.types[ty.index()]
    }

    /// Copies a binding: its operator, attributes, metadata, name, type and functions. The copy is in no block yet. All
    /// copies of a `Copier` have to be made in the same function.
    ///
    /// # Errors
    /// Returns an error if the binding uses a value without a copy, or is of a kind that cannot be copied. Nothing is
    /// copied then.
    pub fn copy(&mut self, to: &mut Function, binding: NodeId) -> Result<NodeId, PassError> {
        let from = self.import.from;
        let mut missing = None;
        each_used(from, binding, |used| {
            if self.get(used).is_none() && from.kind(used) < kind::FIRST_LEAF {
                missing.get_or_insert(used);
            }
        });
        if let Some(missing) = missing {
            let message = format_args!("{binding} cannot be copied: it uses {missing}, which has no copy");
            return Err(PassError::new(message).help("copy the value before, or set what takes its place"));
        }
        let mut nested = from.regions(binding).iter().map(|&region| from.block_of(region)).map(Walk::block);
        let inner = nested.try_for_each(|mut walk| {
            while let Some(step) = walk.next(from) {
                match step {
                    WalkStep::Binding(id) if !is_copied(from, id) => return Err(id),
                    _ => {}
                }
            }
            Ok(())
        });
        let outer = if is_copied(from, binding) { Ok(()) } else { Err(binding) };
        if let Err(id) = outer.and(inner) {
            return Err(PassError::new(format_args!(
                "{id} cannot be copied: it is not a call, conditional, constant or tuple"
            )));
        }
        self.add_type(to, TypeId::UNKNOWN);
        let mut leaves = BTreeSet::new();
        each_used(from, binding, |used| {
            if from.kind(used) >= kind::FIRST_LEAF && self.get(used).is_none() {
                leaves.insert(used);
            }
        });
        for leaf in leaves {
            let rec = from.node(leaf);
            let copy = to.add_leaf(rec.kind, rec.flags, rec.aux, rec.a, rec.b);
            let ty = self.add_type(to, from.type_id(leaf));
            to.set_type(copy, ty);
            self.set(leaf, copy);
        }
        let mut made = Vec::new();
        let has_names = self.has_names;
        self.import.bindings(to, &[binding], &mut made, |name| if has_names { name.to_owned() } else { String::new() });
        Ok(made[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text;

    const TEXT: &str = "def @main(%x: Tensor[(N, 2), float32], %c: Tensor[(), bool]) #[opset = {\"\": 17}] {
        %a: Tensor[(N, 2), float32] = Relu(%x) #[doc = \"kept\"];
        %b = if (%c) { %in = Softmax(%a, axis = 1); %in } else { %x };
        %b
    }";

    fn original() -> Function {
        let module = text::parse_str(TEXT).unwrap();
        Function::clone(module.main().unwrap())
    }

    #[test]
    fn a_part_is_copied_within_its_function_without_its_names() {
        let from = original();
        let mut f = from.clone();
        let mut copier = Copier::new(&from).keep_symbols().without_names();
        from.params().iter().for_each(|&param| copier.set(param, param));
        let copies: Vec<NodeId> =
            from.bindings(from.body()).iter().map(|&id| copier.copy(&mut f, id).unwrap()).collect();
        copies.iter().for_each(|&copy| f.append(f.body(), copy));
        assert_eq!(copier.get(from.bindings(from.body())[1]), Some(copies[1]));
        let results = [from.results(from.body())[0], copies[1]];
        f.set_results(f.body(), &results);
        let mut module = IRModule::new();
        module.set_function(MAIN, f);
        let faults = verify(&module);
        assert!(faults.is_empty(), "{faults:?}");
        let f = module.main().unwrap();
        assert_eq!((f.name(copies[0]), f.type_id(copies[0])), ("", f.type_id(from.bindings(from.body())[0])));
        assert!(f.attrs(copies[0]).meta("doc").is_some());
        let printed = text::print(&module, &text::PrintOptions::default());
        assert_eq!(printed.matches("axis = 1").count(), 2, "{printed}");
    }

    #[test]
    fn the_numbers_of_loop_programs_are_copied() {
        let text = "prim @k() -> (%y: Tensor[(4), float32]) { for %i in 0..4 { %y[%i] = float32(%i) * 2.0; } }";
        let module = text::parse_str(text).unwrap();
        let from = module.body("k").unwrap();
        let mut to = crate::prim_func(&[], &[("y", ElemType::FLOAT, &[4])]);
        let mut copier = Copier::new(from);
        copier.set(from.params()[0], to.params()[0]);
        let copy = copier.copy(&mut to, from.bindings(from.body())[0]).unwrap();
        to.append(to.body(), copy);
        let mut again = IRModule::new();
        again.set_prim_func("k", to);
        assert_eq!(verify(&again), []);
        equal(&module, &again).unwrap();
    }

    #[test]
    fn symbols_mean_nothing_elsewhere() {
        let from = original();
        let mut to = Function::new();
        let x = to.add_var("x", TypeId::UNKNOWN);
        let mut copier = Copier::new(&from);
        copier.set(from.params()[0], x);
        let copy = copier.copy(&mut to, from.bindings(from.body())[0]).unwrap();
        let dims: Vec<Dim> = to.type_of(copy).shape().unwrap().iter().map(|&dim| dim.into()).collect();
        assert_eq!(dims, [Dim::Unknown, Dim::Static(2)]);
    }

    #[test]
    fn what_a_binding_uses_must_be_there() {
        let from = original();
        let mut to = Function::new();
        let n_nodes = to.n_nodes();
        let mut copier = Copier::new(&from);
        // The branch uses `%a` and `%x`.
        let [x, c] = *from.params() else { panic!() };
        copier.set(c, NodeId(1));
        let error = copier.copy(&mut to, from.bindings(from.body())[1]).unwrap_err().to_string();
        assert!(error.contains("which has no copy"), "{error}");
        assert_eq!((to.n_nodes(), copier.get(x)), (n_nodes, None));
    }

    #[test]
    fn a_bound_function_cannot_be_copied() {
        let mut from = Function::new();
        let inner = from.add_function(&[]);
        from.append(from.body(), inner);
        let error = Copier::new(&from).copy(&mut Function::new(), inner).unwrap_err().to_string();
        assert!(error.contains("cannot be copied"), "{error}");
    }
}

//! Which value a name means at a place: graphs nest, and inner names hide outer ones.

use crate::names::{NameId, NameTable};
use relais_plugin_api::ir::{Function, NodeId};

#[derive(Clone, Copy)]
struct Definition {
    /// How many graphs are open where the name is defined; none where it is not.
    depth: u32,
    node: NodeId,
}

const UNDEFINED: Definition = Definition { depth: 0, node: NodeId::ABSENT };

/// The effect of a new definition on the visible names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Defined {
    /// The name was free.
    New,
    /// The name hides one of an enclosing graph.
    Shadows,
    /// The graph has the name already.
    Duplicate,
}

/// The visible names.
#[derive(Default)]
pub(crate) struct Scope {
    pub names: NameTable,
    /// The current meaning of each name, by its number.
    meanings: Vec<Definition>,
    /// The definitions to restore when a graph ends.
    hidden: Vec<(NameId, Definition)>,
    /// For each open graph, the length of `hidden` when it began.
    starts: Vec<usize>,
}

impl Scope {
    pub fn enter(&mut self) {
        self.starts.push(self.hidden.len());
    }

    pub fn leave(&mut self) {
        let start = self.starts.pop().unwrap_or_default();
        if self.starts.is_empty() {
            self.meanings.clear();
            return;
        }
        for (name, before) in self.hidden.drain(start..).rev() {
            self.meanings[name.index()] = before;
        }
    }

    /// Defines a name in the innermost graph.
    pub fn define(&mut self, name: NameId, node: NodeId) -> Defined {
        let depth = self.starts.len() as u32;
        if self.meanings.len() <= name.index() {
            self.meanings.resize(name.index() + 1, UNDEFINED);
        }
        let before = std::mem::replace(&mut self.meanings[name.index()], Definition { depth, node });
        // The graph that ends last needs no restoring.
        if depth > 1 {
            self.hidden.push((name, before));
        }
        match before.depth {
            0 => Defined::New,
            before if before == depth => Defined::Duplicate,
            _ => Defined::Shadows,
        }
    }

    /// The value that a name means, by its text.
    #[inline]
    pub fn find(&self, f: &Function, name: &[u8]) -> Option<NodeId> {
        self.get(self.names.find(f, name)?)
    }

    /// The value that a name means.
    #[inline]
    pub fn get(&self, name: NameId) -> Option<NodeId> {
        self.meaning(name).map(|definition| definition.node)
    }

    /// The value of that name in the innermost graph itself.
    pub fn get_local(&self, name: NameId) -> Option<NodeId> {
        let definition = self.meaning(name)?;
        (definition.depth as usize == self.starts.len()).then_some(definition.node)
    }

    fn meaning(&self, name: NameId) -> Option<Definition> {
        self.meanings.get(name.index()).copied().filter(|definition| definition.depth > 0)
    }
}

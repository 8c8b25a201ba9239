//! Which value a name means at a place: graphs nest, and inner names hide outer ones.

use crate::ir::NodeId;
use std::collections::HashMap;

#[derive(Clone, Copy)]
struct Definition {
    depth: usize,
    node: NodeId,
}

/// What a new definition does to the names that were visible.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::onnx) enum Defined {
    /// The name was free.
    New,
    /// The name hides one of an enclosing graph.
    Shadows,
    /// The graph has the name already.
    Duplicate,
}

/// The visible names.
#[derive(Default)]
pub(in crate::onnx) struct Scope<'a> {
    names: HashMap<&'a str, Definition>,
    /// What to restore when a graph ends.
    hidden: Vec<(&'a str, Option<Definition>)>,
    /// For each open graph, the length of `hidden` when it began.
    starts: Vec<usize>,
}

impl<'a> Scope<'a> {
    pub fn enter(&mut self) {
        self.starts.push(self.hidden.len());
    }

    pub fn leave(&mut self) {
        let start = self.starts.pop().unwrap_or_default();
        if self.starts.is_empty() {
            self.names.clear();
            return;
        }
        for (name, before) in self.hidden.drain(start..).rev() {
            match before {
                Some(definition) => self.names.insert(name, definition),
                None => self.names.remove(name),
            };
        }
    }

    pub fn define(&mut self, name: &'a str, node: NodeId) -> Defined {
        let depth = self.starts.len();
        let before = self.names.insert(name, Definition { depth, node });
        // What ends last needs no restoring.
        if depth > 1 {
            self.hidden.push((name, before));
        }
        match before {
            None => Defined::New,
            Some(before) if before.depth == depth => Defined::Duplicate,
            Some(_) => Defined::Shadows,
        }
    }

    pub fn get(&self, name: &str) -> Option<NodeId> {
        self.names.get(name).map(|definition| definition.node)
    }

    /// The value of that name in the innermost graph itself.
    pub fn get_local(&self, name: &str) -> Option<NodeId> {
        let definition = self.names.get(name)?;
        (definition.depth == self.starts.len()).then_some(definition.node)
    }
}

//! Facts about the vectors of a function.

use relais_plugin_api::{
    ir::{BlockId, Walk, WalkStep},
    prelude::*,
    prim::{LoopOps, value_type},
};
use std::collections::{HashMap, HashSet};

/// How the lanes of vectors are written.
#[derive(Default)]
pub struct Vectors {
    /// The variable of loops over lanes.
    pub lane: String,
    /// The bindings of the loop that comes next.
    pub pending: Vec<NodeId>,
    pub forms: HashMap<NodeId, Form>,
    /// The users of each vector: bindings, or blocks whose result it is.
    pub users: HashMap<NodeId, Vec<User>>,
}

/// How a lane is written.
pub enum Form {
    /// All lanes are the same, or the one of the loop is.
    Name(String),
    Array(String),
}

/// A user of a vector.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum User {
    Binding(NodeId),
    Block(BlockId),
}

/// The bindings of a block that are computed in loops over lanes, each of several in a row.
#[derive(Default)]
pub struct Runs {
    pub numbers: HashMap<NodeId, usize>,
    pub ends: HashSet<NodeId>,
    /// The one that the block ends with.
    pub last: Option<usize>,
    /// The results that it computes and nothing else needs.
    pub results: HashSet<NodeId>,
    pub locals: HashSet<NodeId>,
}

impl Runs {
    /// Whether a binding is computed in a loop over lanes.
    pub fn has(&self, id: NodeId) -> bool {
        self.numbers.contains_key(&id)
    }

    /// Whether the loop over lanes ends before a binding.
    pub fn ends_before(&self, id: NodeId) -> bool {
        self.ends.contains(&id)
    }

    /// Whether a result of the block is one of its last loop over lanes.
    pub fn is_last(&self, id: NodeId) -> bool {
        self.results.contains(&id)
    }
}

impl Vectors {
    /// Looks at a function.
    pub fn of(f: &Function, ops: &LoopOps) -> Self {
        let mut vectors = Self::default();
        let mut walk = Walk::new(f);
        let mut note = |id: NodeId, user: User| {
            if is_vector(f, ops, id) {
                vectors.users.entry(id).or_default().push(user);
            }
        };
        while let Some(step) = walk.next(f) {
            match step {
                WalkStep::Binding(id) => f.operands(id).iter().for_each(|&operand| note(operand, User::Binding(id))),
                WalkStep::Exit(block) => f.results(block).iter().for_each(|&result| note(result, User::Block(block))),
                WalkStep::Enter(_) | WalkStep::Leave(_) => {}
            }
        }
        vectors
    }

    /// Notes that the lanes of a vector are the elements of an array.
    pub fn is_array(&mut self, id: NodeId, name: String) {
        self.forms.insert(id, Form::Array(name));
    }

    /// The array that the lanes of a vector are in.
    pub fn array_of(&self, id: NodeId) -> Option<&str> {
        match self.forms.get(&id)? {
            Form::Array(name) => Some(name),
            Form::Name(_) => None,
        }
    }

    /// The element of the lane.
    pub fn text(&self, id: NodeId) -> Option<String> {
        Some(match self.forms.get(&id)? {
            Form::Array(name) => format!("{name}[{}]", self.lane),
            Form::Name(name) => name.clone(),
        })
    }
}

/// Whether a node is a vector.
pub fn is_vector(f: &Function, ops: &LoopOps, id: NodeId) -> bool {
    value_type(f.type_of(id)).is_some_and(|ty| ty.lanes.is_some()) && !ops.is_memory(f, id)
}

//! The program that is written, and what it refuses.

use crate::names::Names;
use relais_plugin_api::{prelude::*, prim::count_fits};
use std::{collections::HashMap, fmt::Display};

/// Which indices are checked, unless they are proven to be inside the memory.
#[derive(PassOptions, Clone, Copy, PartialEq, Eq)]
pub enum Checked {
    /// Those that depend on what is in memory.
    Data,
    /// All.
    All,
    /// None.
    None,
}

/// The program that is written.
pub struct Program<'m> {
    /// The functions, callees first; unused operations are gone.
    pub functions: Vec<(String, Function)>,
    pub name: &'m str,
    pub checked: Checked,
    pub most_stack: u64,
    /// By function: its name in C, and whether it returns a status.
    pub written: HashMap<String, (String, bool)>,
    pub arena: u64,
    pub has_weights: bool,
}

impl Program<'_> {
    /// Which indices are checked.
    pub fn checked(&self) -> Checked {
        self.checked
    }

    /// The most bytes that a function may have on the stack.
    pub fn most_stack(&self) -> u64 {
        self.most_stack
    }

    /// Takes the names that a function must not have for something else.
    pub fn reserved(&self, names: &mut Names) {
        names.avoid(self.name);
        ["arena", "weights", "status"].into_iter().for_each(|name| drop(names.give(name)));
    }

    /// The constant of the header for a status.
    pub fn status(&self, status: &str) -> String {
        format!("{}_{status}", self.upper())
    }

    pub fn upper(&self) -> String {
        self.name.to_ascii_uppercase()
    }

    /// The name of a function in C, and whether it returns a status.
    pub fn callee(&self, name: &str) -> Option<(&str, bool)> {
        self.written.get(name).map(|(name, stops)| (name.as_str(), *stops))
    }
}

/// The error about something that is not written as C.
pub fn unsupported(id: NodeId, message: impl Display) -> PassError {
    PassError::new(message).code("C001").at(id)
}

/// The sizes of memory, all of which are known.
pub fn sizes(f: &Function, memory: NodeId) -> Result<Vec<u64>, PassError> {
    let dims = f.type_of(memory).as_tensor().map_or(&[][..], |(_, dims)| dims);
    let sizes: Option<Vec<u64>> = dims.iter().map(|&dim| Dim::from(dim).known()).collect();
    let sizes = sizes.ok_or_else(|| unsupported(memory, "a size of memory is not known"))?;
    match count_fits(&sizes) {
        true => Ok(sizes),
        false => Err(unsupported(memory, "memory of more elements than an `int64` counts")),
    }
}

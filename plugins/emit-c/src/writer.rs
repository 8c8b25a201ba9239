//! The state of writing one function, and its lines.

use crate::{facts::FromData, globals::Globals, lanes::Vectors, names::Names, program::Program};
use relais_plugin_api::{
    prelude::*,
    prim::{Intervals, LoopOps},
};
use std::{
    collections::{HashMap, HashSet},
    fmt::Display,
};

/// Writes one function.
pub struct Writer<'a> {
    pub program: &'a Program<'a>,
    pub f: &'a Function,
    pub ops: LoopOps,
    pub intervals: Intervals,
    pub globals: &'a mut Globals,
    pub is_main: bool,
    pub from_data: FromData,
    pub uses: Vec<u32>,
    /// The memory that something other than a store uses.
    pub read: HashSet<NodeId>,
    /// The results, of several, that something uses.
    pub projected: HashSet<(NodeId, usize)>,
    pub names: Names,
    /// The names of values and of memory.
    pub names_of: HashMap<NodeId, String>,
    /// How the lanes of vectors are written.
    pub vectors: Vectors,
    /// The names of the results of loops and conditionals with several.
    pub results_of: HashMap<NodeId, Vec<String>>,
    pub out: String,
    pub depth: usize,
    pub n_temporaries: usize,
    /// The bytes of the memory on the stack that is open.
    pub stack: u64,
    /// Whether it can stop before its end.
    pub stops: bool,
}

impl Writer<'_> {
    pub fn line(&mut self, text: impl Display) {
        self.out.push_str(&"    ".repeat(self.depth));
        self.out.push_str(&text.to_string());
        self.out.push('\n');
    }

    /// Ends the program with a status where a condition of C holds.
    pub fn stop_if(&mut self, condition: &str, status: &str) {
        self.stops = true;
        let status = self.program.status(status);
        self.line(format_args!("if ({condition}) return {status};"));
    }

    pub fn temporary(&mut self, id: NodeId) -> String {
        match self.f.name(id) {
            "" => loop {
                let name = format!("t{}", self.n_temporaries);
                self.n_temporaries += 1;
                if !self.names.has(&name) {
                    return self.names.give(&name);
                }
            },
            name => self.names.give(name),
        }
    }
}

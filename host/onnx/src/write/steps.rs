//! The writer's worklist: the items still to be planned, so that nested graphs need no recursion.

use super::{
    StatedTypes,
    data::Placement,
    names::Names,
    node_names::NodeNames,
    plan::{Header, Plan},
};
use crate::{error::Result, read, wire::Part};
use relais_plugin_api::ir::{Blob, Function, IRModule, NodeId, Tensor};
use std::collections::BTreeMap;

/// One thing to plan.
#[derive(Clone)]
pub(super) enum Step {
    /// Go on in function `0` of the list.
    Use(usize),
    /// Bytes made here.
    Bytes(Vec<u8>),
    /// Bytes by reference.
    Blob(Blob),
    /// A tensor's elements.
    Elements(Tensor),
    /// A part of the model that was read.
    Source(Part),
    /// Begin a message.
    Begin(u32, Option<Header>),
    /// End the innermost message.
    End,
    /// The newly encoded content of a node's message.
    Node(NodeId),
    /// The content of a node's message, which is in the source and has graphs.
    SourceNode(NodeId, Part),
}

/// A function that is being written.
pub(super) struct Scene<'a> {
    pub f: &'a Function,
    /// The names of values.
    pub names: Names<'a>,
    pub node_names: NodeNames,
    /// Whether it becomes a `FunctionProto`.
    pub form: read::Form,
    /// The imports beyond its own.
    pub imports: Vec<(String, i64)>,
}

impl<'a> Scene<'a> {
    pub fn new(f: &'a Function, names: Names<'a>, form: read::Form) -> Self {
        Self { f, names, node_names: NodeNames::new(f), form, imports: Vec::new() }
    }
}

/// Domain, name and overload of a function's global name.
#[derive(Clone, Debug)]
pub(super) struct FunctionKey {
    pub domain: String,
    pub name: String,
    pub overload: String,
}

/// The state shared by all parts of the writer.
pub(super) struct Writer<'a> {
    pub module: &'a IRModule,
    /// The model that was read; empty when there is none.
    pub source: &'a [u8],
    pub ir_version: i64,
    pub scenes: Vec<Scene<'a>>,
    /// The global name of each scene's function.
    pub globals: Vec<&'a str>,
    /// The scene whose graph is being laid out.
    pub current: usize,
    pub functions: BTreeMap<&'a str, FunctionKey>,
    pub placement: Placement,
    pub stated_types: StatedTypes,
    pub plan: Plan,
    pub n_untouched: usize,
    pub n_encoded: usize,
}

impl Writer<'_> {
    /// Plans everything that follows from `steps`.
    pub fn run(&mut self, steps: Vec<Step>) -> Result<()> {
        let mut scene = 0;
        let mut work = steps;
        work.reverse();
        while let Some(step) = work.pop() {
            let inner = match step {
                Step::Use(index) => {
                    scene = index;
                    continue;
                }
                Step::Bytes(bytes) => {
                    self.plan.bytes(&bytes);
                    continue;
                }
                Step::Blob(blob) => {
                    self.plan.blob(&blob);
                    continue;
                }
                Step::Elements(tensor) => {
                    self.plan.elements(&tensor);
                    continue;
                }
                Step::Source(part) => {
                    self.plan.source(part);
                    continue;
                }
                Step::Begin(number, header) => {
                    self.plan.begin(number, header);
                    continue;
                }
                Step::End => {
                    self.plan.end();
                    continue;
                }
                Step::Node(node) => {
                    self.n_encoded += 1;
                    self.encode_node(scene, node)?
                }
                Step::SourceNode(node, part) => self.copy_node(scene, node, part)?,
            };
            work.extend(inner.into_iter().rev());
        }
        Ok(())
    }

    /// The position of bytes in the model that was read, if they are a part of it.
    pub fn in_source(&self, bytes: &[u8]) -> Option<Part> {
        let start = (bytes.as_ptr() as usize).checked_sub(self.source.as_ptr() as usize)?;
        let is_inside = !bytes.is_empty() && start.checked_add(bytes.len())? <= self.source.len();
        is_inside.then_some(Part { at: start as u64, len: bytes.len() as u64 })
    }
}

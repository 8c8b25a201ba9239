//! The core operators of a function's calls, and which of its nodes are memory.

use super::{CoreOp, DOMAIN, LoopKind};
use crate::*;

/// The metadata of a prim func that counts its outputs: the last of its parameters.
pub const OUTPUTS: &str = "outputs";

/// The number of a prim func's outputs.
pub fn n_outputs(f: &Function) -> usize {
    let declared = match f.attrs(f.root()).meta(OUTPUTS) {
        Some(AttrValue::Int(n)) => usize::try_from(n).unwrap_or(0),
        _ => 0,
    };
    declared.min(f.params().len())
}

/// The core operators of a function, by operator id, so that no names are compared at each node.
///
/// Operators that a function gets later are found, more slowly; parameters that it gets later are not known as memory.
#[derive(Debug)]
pub struct LoopOps {
    ops: Vec<Option<CoreOp>>,
    /// By core operator: its id in the function, if it has one.
    ids: [Option<OpId>; CoreOp::ALL.len()],
    /// By node, as far as there are any: whether it is a parameter of the function.
    is_param: Vec<bool>,
    /// The ids of parameters from which on it is an output.
    first_output: usize,
    params: Vec<NodeId>,
}

impl LoopOps {
    /// Reads the operators of a function.
    pub fn new(f: &Function) -> Self {
        let params = f.params().to_vec();
        let n_ids = params.iter().map(|param| param.index() + 1).max().unwrap_or(0);
        let mut is_param = vec![false; n_ids];
        params.iter().for_each(|param| is_param[param.index()] = true);
        let first_output = params.len() - n_outputs(f);
        let ids = [None; CoreOp::ALL.len()];
        let mut all = Self { ops: Vec::new(), ids, is_param, first_output, params };
        all.update(f);
        all
    }

    /// Reads the operators that the function got since.
    pub fn update(&mut self, f: &Function) {
        for at in self.ops.len()..f.n_ops() {
            let id = OpId::from_index(at);
            let op = core_op(f, f.op(id));
            self.ops.push(op);
            if let Some(op) = op {
                self.ids[op as usize].get_or_insert(id);
            }
        }
    }

    /// The id of a core operator in the function, which gets it if it has not called it so far.
    pub fn id(&mut self, f: &mut Function, op: CoreOp) -> OpId {
        if let Some(id) = self.ids[op as usize] {
            return id;
        }
        let id = f.add_op(DOMAIN, op.name(), "", 0);
        self.update(f);
        id
    }

    /// The core operator that a node calls.
    #[inline]
    pub fn of(&self, f: &Function, id: NodeId) -> Option<CoreOp> {
        let rec = f.node(id);
        if rec.kind != kind::CALL {
            return None;
        }
        let callee = f.node(*f.operands(id).first()?);
        if callee.kind != kind::OP {
            return None;
        }
        match self.ops.get(callee.a as usize) {
            Some(&op) => op,
            None => core_op(f, f.op(OpId(callee.a))),
        }
    }

    /// Whether a node is memory: a parameter of the function, a constant, or what `alloc` or `view` gives.
    pub fn is_memory(&self, f: &Function, id: NodeId) -> bool {
        match f.kind(id) {
            kind::VAR => self.is_param(id),
            kind::CONSTANT => true,
            _ => self.of(f, id).is_some_and(CoreOp::gives_memory),
        }
    }

    fn is_param(&self, id: NodeId) -> bool {
        self.is_param.get(id.index()) == Some(&true)
    }

    /// The memory that a view, or a view of views, shows; any other node itself.
    pub fn memory_of(&self, f: &Function, mut id: NodeId) -> NodeId {
        // In a broken function, views may show each other.
        for _ in 0..f.n_nodes() {
            match f.operands(id).get(1) {
                Some(&viewed) if self.of(f, id) == Some(CoreOp::View) => id = viewed,
                _ => break,
            }
        }
        id
    }

    /// Whether stores may change that memory: not a constant, and not an input of the function.
    pub fn is_writable(&self, f: &Function, id: NodeId) -> bool {
        let memory = self.memory_of(f, id);
        match f.kind(memory) {
            kind::VAR if self.is_param(memory) => {
                self.params.iter().position(|&param| param == memory).is_some_and(|at| at >= self.first_output)
            }
            _ => self.of(f, memory) == Some(CoreOp::Alloc),
        }
    }

    /// The order in which a `for` runs its turns; `None` for a kind that is not known.
    pub fn loop_kind(f: &Function, id: NodeId) -> Option<LoopKind> {
        match f.attrs(id).get("kind") {
            None => Some(LoopKind::Serial),
            Some(AttrValue::String(name)) => LoopKind::from_name(name),
            Some(_) => None,
        }
    }
}

/// The core operator of an entry of the operator table.
pub fn core_op(f: &Function, rec: &OpRec) -> Option<CoreOp> {
    let is_core = f.bytes(rec.domain) == DOMAIN.as_bytes() && f.bytes(rec.overload).is_empty() && rec.version <= 1;
    is_core.then(|| CoreOp::from_name(std::str::from_utf8(f.bytes(rec.name)).ok()?)).flatten()
}

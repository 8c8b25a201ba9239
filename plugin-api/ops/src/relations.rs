//! Questions about the operators of a function: how their calls are typed, computed and checked, and whose fault an error
//! is.

use crate::{error::OpError, op::OpSchema, request::InferRequest};
use relais_ir::{diagnostics::PassError, *};
use std::sync::Arc;

/// How calls of operators are typed.
pub trait Typing {
    /// The operator-set version that a call of `op` is written for.
    fn version(&mut self, function: &Function, op: OpId) -> i64;

    /// Applies the type relation of `op` to a call of it; `None` if it has none. [`version`](Self::version) was called
    /// for it before.
    fn infer(&mut self, op: OpId, request: &mut InferRequest<'_>) -> Option<Result<(), OpError>>;

    /// A number for an operator that the function does not have yet, or calls in another way, to be used in place of
    /// its own; in the version that the function imports, or otherwise in the newest. `None` if nothing describes it.
    fn other(&mut self, _function: &Function, _domain: &str, _name: &str) -> Option<OpId> {
        None
    }

    /// The type of a call of the global function `name`; unknown if the module is not available. See
    /// [`result_of`](crate::infer::result_of).
    fn result_of_global(&mut self, _caller: &mut Function, _name: &str) -> TypeId {
        TypeId::UNKNOWN
    }
}

/// The checks of calls of operators.
pub trait Checking {
    /// Returns the schema that calls of an operator are checked against; `None` if no plugin describes it.
    /// [`version`](Typing::version) was called for it before.
    fn schema(&self, _op: OpId) -> Option<&Arc<OpSchema>> {
        None
    }

    /// Applies the verifier of `op` to a call of it; `None` if it has none. [`version`](Typing::version) was called for it
    /// before.
    fn verify(&mut self, _function: &Function, _call: NodeId, _op: OpId) -> Option<Result<(), OpError>> {
        None
    }

    /// Whether the domain of an operator is described completely in the version of the call: an operator that nothing
    /// describes does not exist there.
    fn is_closed(&self, _op: OpId) -> bool {
        false
    }

    /// The newest version of a domain's operator set in which an operator is described.
    fn newest_version(&mut self, _domain: &str, _name: &str) -> Option<i64> {
        None
    }
}

/// Whose fault an error is, and which rewrites are tried where a fault is searched for.
pub trait Blaming {
    /// Reports that the operator's plugin is at fault: its type relation panicked, returned something untrue, or cannot
    /// be opened.
    fn broken(&mut self, _op: OpId, _error: &OpError) {}

    /// Returns the failure of the operator's plugin, for an error of its type relation; names the plugin if it is
    /// known.
    fn fault(&self, _op: OpId, error: &OpError) -> PassError {
        PassError::new(&error.message)
    }

    /// Reports that the plugin of an operator is at fault: its verifier panicked, or cannot be opened. Returns the failure.
    fn verifier_fault(&mut self, _op: OpId, error: &OpError) -> PassError {
        PassError::new(&error.message)
    }

    /// Whether the rewrite of a node may be committed: a host that searches for a harmful rewrite holds some back.
    fn may_rewrite(&mut self, _node: NodeId) -> bool {
        true
    }
}

/// All that is needed to make calls of operators: how they are typed and checked, and who is at fault.
pub trait TypeRelations: Typing + Checking + Blaming {}

impl<T: Typing + Checking + Blaming + ?Sized> TypeRelations for T {}

/// Returns a described operator whose name differs in one letter, in two that changed places, or in its case.
pub(crate) fn nearest_op<C: Checking + ?Sized>(relations: &mut C, domain: &str, name: &str) -> Option<String> {
    if name.is_empty() || name.len() > 64 {
        return None;
    }
    let bytes = name.as_bytes();
    let letters = || (b'a'..=b'z').chain(b'A'..=b'Z').chain(b'0'..=b'9');
    let mut others = Vec::new();
    let mut upper = bytes.to_vec();
    upper[0].make_ascii_uppercase();
    others.push(upper);
    for at in 0..=bytes.len() {
        let insert = letters().map(|letter| [&bytes[..at], &[letter], &bytes[at..]].concat());
        others.extend(insert);
        let Some(rest) = bytes.get(at + 1..) else { continue };
        others.push([&bytes[..at], rest].concat());
        others.extend(letters().map(|letter| [&bytes[..at], &[letter], rest].concat()));
        if let Some((&next, rest)) = rest.split_first() {
            others.push([&bytes[..at], &[next, bytes[at]], rest].concat());
        }
    }
    let mut names = others.into_iter().filter_map(|name| String::from_utf8(name).ok());
    names.find(|name| !name.is_empty() && relations.newest_version(domain, name).is_some())
}

/// Marks the numbers of operators that are not a function's own; see [`TypeRelations::other`].
const OTHER: u32 = 1 << 31;

/// The number of operator `index` among those that are not the function's own.
pub fn other_op(index: usize) -> OpId {
    OpId(OTHER | index as u32)
}

/// The index of an operator among those that are not the function's own; `None` for the function's.
pub fn other_index(op: OpId) -> Option<usize> {
    (op.0 & OTHER != 0).then_some((op.0 & !OTHER) as usize)
}

/// The facts about operators that passes request: type relations, effects, evaluators.
pub trait Operators: TypeRelations {
    /// Returns the effects of an operator; opaque if it is not registered.
    fn effects(&self, op: OpId) -> Effects;

    /// Returns the fewest and most results of an operator; `u16::MAX` is any number. All are needed if it is not
    /// registered.
    fn outputs(&self, op: OpId) -> (u16, u16);

    /// Whether calls of an operator may be evaluated: it has an evaluator, a body or kernels.
    fn is_computed(&self, _op: OpId) -> bool {
        true
    }

    /// Evaluates a call of `op` for these arguments (`None` is absent), in the first [`Way`] that the operator has; `None` if
    /// it has none. No result may take more than `max_bytes` when expanded; splats take none.
    fn evaluate(
        &mut self,
        op: OpId,
        function: &Function,
        call: NodeId,
        inputs: &[Option<Tensor>],
        max_bytes: u64,
    ) -> Option<Result<Vec<Tensor>, OpError>>;

    /// As [`evaluate`](Self::evaluate), in one way; `None` if the operator does not have it.
    fn evaluate_by(
        &mut self,
        _way: Way,
        _op: OpId,
        _function: &Function,
        _call: NodeId,
        _inputs: &[Option<Tensor>],
        _max_bytes: u64,
    ) -> Option<Result<Vec<Tensor>, OpError>> {
        None
    }

    /// Returns the prim func that computes a call, typed; `None` if the operator has no kernels. The types of the call's
    /// results are known.
    fn kernel(&mut self, _function: &Function, _call: NodeId) -> Option<Result<Function, OpError>> {
        None
    }

    /// The name of the plugin that an operator's calls are computed by; `None` if no host knows it.
    fn plugin_of(&self, _way: Way, _op: OpId) -> Option<String> {
        None
    }
}

/// A way to compute the results of a call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Way {
    /// By the operator's evaluator.
    Evaluator,
    /// By its body, whose calls are computed.
    Body,
    /// By the kernel of the call, which the interpreter of loop programs runs.
    Kernel,
}

impl Way {
    /// All ways, in the order in which they are looked for.
    pub const ALL: [Self; 3] = [Self::Evaluator, Self::Body, Self::Kernel];

    /// The name of what computes.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Evaluator => "evaluator",
            Self::Body => "body",
            Self::Kernel => "kernel",
        }
    }
}

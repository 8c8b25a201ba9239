//! Typed views of nodes.

use super::{node::kind, *};

/// A node, viewed by its kind. A kind that this version does not know is opaque: carried along, visited, never folded,
/// merged or dropped.
#[non_exhaustive]
#[derive(Clone, Copy, Debug)]
pub enum Expr<'a> {
    /// The absent operand.
    Absent,
    /// A parameter.
    Var(NodeId),
    /// A module-level function, by name.
    GlobalVar(&'a str),
    /// An operator.
    Op(OpId),
    /// A constant.
    Constant(&'a Tensor),
    /// A number of a loop program.
    Imm(Imm),
    /// A tuple's fields.
    Tuple(&'a [NodeId]),
    /// An item of a tuple.
    TupleGetItem {
        /// The tuple.
        tuple: NodeId,
        /// Which item.
        index: usize,
    },
    /// A call.
    Call(CallView<'a>),
    /// A conditional.
    If(IfView<'a>),
    /// A function.
    Function(FunctionView<'a>),
    /// A kind of a later version, or a constant in a form of a later version.
    Unknown(u8),
}

impl<'a> Expr<'a> {
    #[inline]
    pub(super) fn new(function: &'a Function, id: NodeId) -> Self {
        let rec = function.node(id);
        match rec.kind {
            kind::ABSENT => Self::Absent,
            kind::VAR => Self::Var(id),
            kind::GLOBAL_VAR => Self::GlobalVar(function.str(StrId(rec.a))),
            kind::OP => Self::Op(OpId(rec.a)),
            kind::CONSTANT => function.constant(id).map_or(Self::Unknown(rec.kind), Self::Constant),
            kind::TUPLE => Self::Tuple(function.operands(id)),
            kind::TUPLE_GET_ITEM => Self::TupleGetItem { tuple: function.operands(id)[0], index: rec.aux.into() },
            kind::CALL => Self::Call(CallView { function, id }),
            kind::IF => Self::If(IfView { function, id }),
            kind::FUNCTION => Self::Function(FunctionView { function, id }),
            kind::IMM => function.imm(id).map_or(Self::Unknown(rec.kind), Self::Imm),
            other => Self::Unknown(other),
        }
    }
}

impl Function {
    /// The node, seen by its kind.
    #[inline]
    pub fn expr(&self, id: NodeId) -> Expr<'_> {
        Expr::new(self, id)
    }

    /// The node as a call.
    #[inline]
    pub fn call(&self, id: NodeId) -> Option<CallView<'_>> {
        (self.kind(id) == kind::CALL).then(|| CallView::new(self, id))
    }
}

macro_rules! view {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub struct $name<'a> {
            function: &'a Function,
            /// The node.
            pub id: NodeId,
        }

        impl<'a> $name<'a> {
            /// The function that owns the node.
            #[inline]
            pub fn owner(self) -> &'a Function {
                self.function
            }

            /// The node's attributes.
            #[inline]
            pub fn attrs(self) -> Attrs<'a> {
                self.function.attrs(self.id)
            }
        }

        impl std::fmt::Debug for $name<'_> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.id)
            }
        }
    };
}

view! {
    /// A call.
    CallView
}
view! {
    /// A conditional.
    IfView
}
view! {
    /// A function, nested or the root.
    FunctionView
}

impl<'a> CallView<'a> {
    /// Views a node that is a call.
    #[inline]
    pub(super) fn new(function: &'a Function, id: NodeId) -> Self {
        Self { function, id }
    }

    /// Returns the callee.
    #[inline]
    pub fn callee(self) -> NodeId {
        self.function.operands(self.id)[0]
    }

    /// The operator that is called.
    #[inline]
    pub fn op(self) -> Option<OpId> {
        let callee = self.function.node(self.callee());
        (callee.kind == kind::OP).then_some(OpId(callee.a))
    }

    /// The name of the operator that is called; empty if the callee is not an operator.
    pub fn op_name(self) -> &'a str {
        self.op().map_or("", |op| self.function.str(self.function.op(op).name))
    }

    /// Whether the callee is this operator: `Relu` of the default domain, `domain::Name` of another one.
    pub fn is_op(self, name: &str) -> bool {
        self.op().is_some_and(|op| {
            let rec = self.function.op(op);
            let wanted = match self.function.bytes(rec.domain) {
                b"" | b"ai.onnx" => Some(name.as_bytes()),
                domain => name.as_bytes().strip_prefix(domain).and_then(|rest| rest.strip_prefix(b"::")),
            };
            wanted == Some(self.function.bytes(rec.name))
        })
    }

    /// Returns the operator-set version that the call is written for; 0 if it is unspecified, or the callee is not an
    /// operator.
    pub fn version(self) -> i64 {
        self.op().map_or(0, |op| self.function.op_version(op))
    }

    /// The arguments; absent ones are [`NodeId::ABSENT`], trailing ones may be missing.
    #[inline]
    pub fn args(self) -> &'a [NodeId] {
        let operands = self.function.operands(self.id);
        &operands[1..operands.len() - self.function.n_regions(self.id)]
    }

    /// Argument `index`, unless it is absent.
    #[inline]
    pub fn arg(self, index: usize) -> Option<NodeId> {
        self.args().get(index).copied().filter(|arg| !arg.is_absent())
    }

    /// The functions of graph-valued attributes.
    #[inline]
    pub fn regions(self) -> &'a [NodeId] {
        self.function.regions(self.id)
    }

    /// Returns the number of results as a tuple; `None` for one result that is not a tuple.
    #[inline]
    pub fn n_results(self) -> Option<usize> {
        self.function.n_results(self.id)
    }
}

impl IfView<'_> {
    /// The condition.
    pub fn cond(self) -> NodeId {
        self.function.operands(self.id)[0]
    }

    /// The function whose block is taken when the condition holds.
    pub fn then_branch(self) -> NodeId {
        self.function.operands(self.id)[1]
    }

    /// The function whose block is taken otherwise.
    pub fn else_branch(self) -> NodeId {
        self.function.operands(self.id)[2]
    }
}

impl<'a> FunctionView<'a> {
    /// Parameters.
    pub fn params(self) -> &'a [NodeId] {
        self.function.operands(self.id)
    }

    /// The block.
    pub fn block(self) -> BlockId {
        self.function.block_of(self.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operator_is_named_as_in_the_text() {
        let mut f = Function::new();
        f.set_opset_imports(&[("", 17), ("com.microsoft", 1)]);
        let mut call = |domain: &str, name: &str, version: u32| {
            let op = f.add_op(domain, name, "", version);
            f.add_call(op, &[])
        };
        let [plain, long, custom, old] =
            [call("", "Gelu", 0), call("ai.onnx", "Gelu", 0), call("com.microsoft", "Gelu", 0), call("", "Clip", 6)];
        let view = |id| f.call(id).expect("it is a call");
        assert!(view(plain).is_op("Gelu") && view(long).is_op("Gelu") && view(custom).is_op("com.microsoft::Gelu"));
        assert!(!view(custom).is_op("Gelu") && !view(plain).is_op("com.microsoft::Gelu"));
        assert!(!view(custom).is_op("com.microsoftGelu") && !view(plain).is_op("::Gelu"));
        assert_eq!([plain, custom, old].map(|id| view(id).version()), [17, 1, 6]);
    }
}

//! The faults that the verifier finds.

use crate::{BlockId, NodeId};
use std::{fmt, sync::Arc};

/// Something that must not be, in a function or module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// The kind of fault.
    pub code: FaultCode,
    /// The global function; empty for one that was checked alone.
    pub global: String,
    /// The node at fault.
    pub node: Option<NodeId>,
    /// The block that contains it.
    pub block: Option<BlockId>,
    /// The error message.
    pub message: String,
    /// The node as in the text form, truncated if it is long; its record if the node cannot be decoded.
    pub text: Arc<str>,
}

macro_rules! fault_codes {
    ($($(#[$doc:meta])* $name:ident = $code:literal,)*) => {
        /// The kinds of fault. `V0…` are faults of the arena, `V1…` of the program in it, `V2…` of loop programs.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[non_exhaustive]
        pub enum FaultCode {
            $($(#[$doc])* $name,)*
        }

        impl FaultCode {
            /// Returns the code as printed in messages.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $code,)* }
            }
        }
    };
}

fault_codes! {
    /// An id or range of a node's record is out of bounds.
    NodeRange = "V001",
    /// The word before the operands is missing or out of bounds.
    ExtraWord = "V002",
    /// A block's record is out of bounds.
    BlockRange = "V003",
    /// A type's record is out of bounds, or a type is part of itself.
    TypeRange = "V004",
    /// An attribute's record or list is out of bounds.
    AttrRange = "V005",
    /// The operator table is out of bounds.
    OpRange = "V006",
    /// A side table is missing or holds ids that are out of bounds.
    SideTable = "V007",
    /// A look-up index holds ids that are out of bounds.
    Index = "V008",
    /// Lists that should each have their own place overlap.
    Overlap = "V009",
    /// A name is not UTF-8.
    Utf8 = "V010",
    /// A binding is used before it is made.
    Order = "V101",
    /// A value is not visible where it is used.
    Visibility = "V102",
    /// A value that is bound in no block is used.
    Unbound = "V103",
    /// A binding is in two places.
    BoundTwice = "V104",
    /// A node of this kind cannot be a binding.
    NoBinding = "V105",
    /// Two visible values have one name.
    DuplicateName = "V106",
    /// A function belongs to two nodes, or is not a function.
    Region = "V107",
    /// The number of operands is not the one that the kind requires.
    Operands = "V108",
    /// A parameter is not a variable, or belongs to two functions.
    Parameter = "V109",
    /// A tuple of results is used as a value.
    ResultTuple = "V110",
    /// A projection is out of range, or of a value that is not a tuple.
    Projection = "V111",
    /// A function is called that the module does not have.
    UnknownGlobal = "V112",
    /// An attribute names a function that the node does not have.
    GraphAttr = "V113",
    /// The branches of an `If` do not have the declared results.
    Branches = "V114",
    /// A type contradicts the node's contents.
    TypeMismatch = "V115",
    /// An operand is absent that cannot be.
    Absent = "V116",
    /// A node that is not in use is referred to.
    Dead = "V117",
    /// Something that a prim func cannot contain, or a core operator or an immediate in a graph function.
    ForeignOp = "V201",
    /// Memory is used as a value, or a value as memory.
    MemoryUse = "V202",
    /// The indices of an access, or a shape, do not fit the memory.
    Access = "V203",
    /// A value is stored that is not of the memory's element type.
    StoreType = "V204",
    /// A store into an input or a constant.
    ReadOnly = "V205",
    /// The functions, the carried values or the kind of a loop or conditional.
    Control = "V206",
    /// Operands or attributes that a core operator does not take.
    OperandTypes = "V207",
    /// Elements of a type that loop programs do not handle.
    ElemType = "V208",
    /// Memory leaves the block that it was made in.
    Escape = "V209",
    /// A call of a prim func that does not fit it, or a recursive one.
    PrimCall = "V210",
    /// A prim func has a result, or other outputs than it says.
    PrimResult = "V211",
    /// An immediate is not a number of its type.
    Immediate = "V212",
    /// The type of a binding of a prim func is not the one that its rule gives.
    PrimType = "V213",
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error[{}]: ", self.code.as_str())?;
        if !self.global.is_empty() {
            write!(f, "in `@{}`: ", self.global)?;
        }
        f.write_str(&self.message)?;
        if let Some(block) = self.block {
            write!(f, ", in {block}")?;
        }
        if let Some(node) = self.node {
            write!(f, ", at {node}: `{}`", self.text)?;
        }
        Ok(())
    }
}

impl std::error::Error for Fault {}

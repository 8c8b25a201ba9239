//! The verifier: reports everything that is wrong with a module, whatever produced it.
//!
//! It works in two stages. The first checks every range and every id of the arena without relying on any of them. Only
//! a function that passes is read as a program: the references between its parts, and whether they are allowed.

mod arena;
mod places;
mod prim;
mod program;

use super::*;
use std::{collections::HashMap, fmt, sync::Arc};

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

/// Metadata of a binding or parameter that may have the same name as another value visible at its place, as in
/// subgraphs of some ONNX files.
pub const SHADOWS: &str = "shadows";

/// Everything that is wrong with a module.
pub fn verify(module: &IRModule) -> Vec<Fault> {
    let verifier = Verifier::new(module);
    module.bodies().flat_map(|(name, function)| verifier.global(name, function)).collect()
}

/// Everything that is wrong with a function; with `module`, also calls of functions that it does not have.
pub fn verify_function(function: &Function, module: Option<&IRModule>) -> Vec<Fault> {
    verify_with("", function, module.map(Globals::of).as_ref())
}

/// The verifier of a module's globals, one at a time: several threads may share it.
pub struct Verifier<'a> {
    globals: Globals<'a>,
}

impl<'a> Verifier<'a> {
    /// The verifier of the functions of a module.
    pub fn new(module: &'a IRModule) -> Self {
        Self { globals: Globals::of(module) }
    }

    /// Everything that is wrong with a global function.
    pub fn global(&self, name: &str, function: &Function) -> Vec<Fault> {
        let faults = verify_with(name, function, Some(&self.globals)).into_iter();
        faults.map(|fault| Fault { global: name.to_owned(), ..fault }).collect()
    }

    /// Everything that is wrong with a global function whose representation in memory was checked; see
    /// [`verify_arena`].
    pub fn program(&self, name: &str, function: &Function) -> Vec<Fault> {
        let mut report = Report { function, is_sound: true, faults: Vec::new(), last: None };
        check_program(name, function, Some(&self.globals), &mut report);
        report.faults.into_iter().map(|fault| Fault { global: name.to_owned(), ..fault }).collect()
    }
}

/// Checks the representation of a function in memory: if nothing is reported, it can be read, walked and printed
/// without panicking, and every walk ends. This costs a fraction of the whole check.
pub fn verify_arena(function: &Function) -> Vec<Fault> {
    let mut report = Report { function, is_sound: false, faults: Vec::new(), last: None };
    let n_functions = arena::check(function, &mut report);
    if report.faults.is_empty() {
        places::check(function, n_functions, &mut report);
    }
    report.faults
}

/// The global functions that there are.
struct Globals<'a>(HashMap<&'a str, &'a Global>);

impl<'a> Globals<'a> {
    fn of(module: &'a IRModule) -> Self {
        Self(module.globals().iter().map(|global| (global.name.as_str(), global)).collect())
    }
}

fn verify_with(name: &str, function: &Function, globals: Option<&Globals<'_>>) -> Vec<Fault> {
    let mut report = Report { function, is_sound: false, faults: Vec::new(), last: None };
    arena::check(function, &mut report);
    if report.faults.is_empty() {
        report.is_sound = true;
        check_program(name, function, globals, &mut report);
    }
    report.faults
}

/// The second stage, and for what passes it the rules of its level.
fn check_program(name: &str, function: &Function, globals: Option<&Globals<'_>>, report: &mut Report<'_>) {
    program::check(function, globals, report);
    if report.faults.is_empty() {
        match globals.and_then(|globals| globals.0.get(name)).map(|global| global.kind) {
            Some(global_kind::PRIM_FUNC) => prim::check(name, function, globals, report),
            Some(global_kind::FUNCTION) | None => prim::check_graph(function, globals, report),
            Some(_) => {}
        }
    }
}

/// Where faults are gathered.
struct Report<'a> {
    function: &'a Function,
    /// Whether the arena passed, so that nodes can be printed.
    is_sound: bool,
    faults: Vec<Fault>,
    /// The node printed last: faults of one node come together.
    last: Option<(NodeId, Arc<str>)>,
}

impl Report<'_> {
    fn push(&mut self, code: FaultCode, node: Option<NodeId>, block: Option<BlockId>, message: impl Into<String>) {
        let text = node.map_or_else(|| "".into(), |node| self.text(node));
        self.faults.push(Fault { code, global: String::new(), node, block, message: message.into(), text });
    }

    fn text(&mut self, node: NodeId) -> Arc<str> {
        const LONGEST: usize = 160;
        if let Some((last, text)) = &self.last
            && *last == node
        {
            return text.clone();
        }
        let mut text = match self.function.parts().nodes.get(node.index()) {
            Some(_) if self.is_sound => crate::text::display(self.function, node).to_string(),
            Some(rec) => {
                let NodeRec { kind, flags, aux, a, b, c } = rec;
                format!("kind {kind}, flags {flags}, aux {aux}, a {a}, b {b}, c {c}")
            }
            None => "no such node".to_owned(),
        };
        if text.len() > LONGEST {
            let end = (0..=LONGEST).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
            text.truncate(end);
            text.push('…');
        }
        let text: Arc<str> = text.into();
        self.last = Some((node, text.clone()));
        text
    }
}

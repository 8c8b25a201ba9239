//! The representation of programs: modules of functions and loop programs in flat arenas, their text form and their
//! verifier.
//!
//! Plugins and hosts use this crate as the modules `ir`, `prim`, `text` and `diagnostics` of `relais_plugin_api`.
//!
//! # Modules
//!
//! Each uses only those listed before it; one that is not listed is used by no other.
//!
//! 1. `wire`: the encoding of records and option values
//! 2. `const_text`: messages of const evaluation
//! 3. `layout_hash`: hashes of the layouts of types
//! 4. `ids`: typed ids into a function's arena
//! 5. `cast`: views of id pools as the ids they hold
//! 6. `diagnostics`: the messages of a pass about the module, and its failures
//! 7. `guard`: panics as errors
//! 8. `effects`: the side effects of operators
//! 9. `fault`: the faults that the verifier finds
//! 10. `intern`: an open-addressing index over entries that live elsewhere
//! 11. `half`: the 16-bit floating-point formats
//! 12. `packed`: elements of fewer than eight bits
//! 13. `types`: element types, dimensions and the types of values
//! 14. `bytes`: immutable bytes, owned or of a mapped file
//! 15. `tensor`: constant tensors
//! 16. `node`: how a node is stored
//! 17. `function`: a global function, in one arena
//! 18. `module`: named functions, in order
//! 19. `fuel`: how much may be made or computed
//! 20. `attrs`: attributes as they are read and given
//! 21. `imm`: the numbers in loop programs
//! 22. `view`: typed views of nodes
//! 23. `opset`: the operator sets that a function imports
//! 24. `walk`: program order without recursion
//! 25. `agree`: two statements about the type of one value
//! 26. `new_types`: types beside those of a function
//! 27. `lists`: lists of numbers that cross the boundary without a copy
//! 28. `analysis`: facts about the structure of functions
//! 29. `inline`: calls of model-local functions, replaced by their bindings
//! 30. `copy`: nodes from one function in another
//! 31. `editor`: changing a function that may be shared
//! 32. `visit`: TVM's traversers over expressions
//! 33. `prim`: loop programs as data
//! 34. `entry`: the entry function, whichever level it is of
//! 35. `text`: the text form
//! 36. `prim_builder`: making loop programs
//! 37. `equal`: structural equality
//! 38. `subgraph`: parts of a block
//! 39. `verify`: everything that is wrong with a module
//! 40. `ship`: functions and modules as bytes
//! 41. `wild`: random modules, for tests

mod agree;
mod analysis;
mod attrs;
pub mod bytes;
mod cast;
#[doc(hidden)]
pub mod const_text;
mod copy;
pub mod diagnostics;
mod editor;
mod effects;
mod entry;
mod equal;
mod fault;
mod fuel;
mod function;
pub mod guard;
pub mod half;
mod ids;
mod imm;
mod inline;
mod intern;
pub mod layout_hash;
mod lists;
pub mod memory;
mod module;
mod new_types;
mod node;
mod opset;
pub mod packed;
pub mod prim;
mod prim_builder;
#[cfg(test)]
mod properties;
pub mod ship;
mod subgraph;
mod tensor;
pub mod text;
mod types;
mod verify;
mod view;
mod visit;
mod walk;
#[cfg(any(test, feature = "wild"))]
pub mod wild;
pub mod wire;

/// A counted reference, as to the functions of a module: cloning it copies nothing.
pub use abi_stable::std_types::RArc;
pub use agree::{contradiction, contradiction_within, join, merge};
pub use analysis::{BlockTree, Liveness, UseCounts, Users, is_initializer, operator_counts};
pub use attrs::{Attr, AttrData, AttrDefault, AttrDefaults, AttrValue, Attrs, Words, description};
pub use bytes::Blob;
pub use copy::Copier;
pub use editor::{Action, Editor, Rebuild, RebuildCx, Retain, Subst, given_types};
pub use effects::Effects;
pub use entry::Entry;
pub use equal::{Difference, equal, equal_functions};
pub use fault::{Fault, FaultCode};
pub use fuel::Fuel;
pub use function::{Changes, Function, LetForm, table_key};
pub use ids::{BlockId, ConstId, NodeId, OpId, StrId, TypeId};
pub use imm::Imm;
pub use inline::{
    Declined, FUNCTION_ATTRIBUTES, FUNCTION_DEFAULT, InlineError, Inlined, has_function_attribute, inline_functions,
    inline_some_functions, instantiate, recursive,
};
pub use intern::{Hash64, InternTable};
pub use lists::{AnyNumbers, Lists, Numbers};
pub use module::{Global, IRModule, MAIN, ModuleAttr, Source, global_kind, module_attr_kind};
pub use new_types::{MOST_NEW_PARTS, MOST_NEW_TYPES, NewTypes, TypeLie};
pub use node::{
    AttrRec, BlockRec, ConstForm, NodeRec, OpRec, SideList, SideTable, Span, attr_flag, attr_kind, flag, kind,
    list_policy, table_policy,
};
pub use opset::{IR_VERSION, OUTPUT_NAMES, OUTPUT_TYPES, PRIMITIVE, is_same_domain, normal_domain, operator_hash};
pub use prim_builder::{PrimBuilder, count_fits, prim_func};
pub use subgraph::Subgraph;
pub use tensor::{Tensor, TensorError, element_count};
pub use types::{Dim, DimRec, Dims, ElemType, MOST_TYPE_PARTS, Type, TypeRec, type_kind};
pub use verify::{SHADOWS, Verifier, verify, verify_arena, verify_function};
pub use view::{CallView, Expr, FunctionView, IfView};
pub use visit::{Children, ExprFunctor, ExprMutator, ExprVisitor, Memo};
pub use walk::{UsedResults, Walk, WalkStep};

/// The example of the page in the registry.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

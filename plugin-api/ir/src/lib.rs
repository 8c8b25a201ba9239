//! The representation of programs: modules of functions and loop programs in flat arenas, their text form and their
//! verifier.
//!
//! Plugins and hosts use this crate as the modules `ir`, `prim`, `text` and `diagnostics` of `relais_plugin_api`.

#![doc(html_root_url = "https://docs.rs/relais-ir")]

mod agree;
mod analysis;
mod attrs;
pub mod bytes;
mod cast;
mod copy;
pub mod diagnostics;
mod editor;
mod effects;
mod entry;
mod equal;
mod fault;
mod function;
pub mod guard;
pub mod half;
mod ids;
mod imm;
mod inline;
mod intern;
pub mod layout_hash;
mod module;
mod new_types;
mod node;
mod opset;
pub mod packed;
pub mod prim;
mod prim_builder;
#[cfg(test)]
mod properties;
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
pub use agree::{contradiction, join, merge};
pub use analysis::{Analysis, BlockTree, UseCounts, Users, is_initializer, operator_counts};
pub use attrs::{Attr, AttrData, AttrDefault, AttrDefaults, AttrValue, Attrs, Words, description};
pub use bytes::Blob;
pub use copy::Copier;
pub use editor::{Action, Editor, Rebuild, RebuildCx, Retain, Subst, given_types};
pub use effects::Effects;
pub use entry::Entry;
pub use equal::{Difference, equal, equal_functions};
pub use fault::{Fault, FaultCode};
pub use function::{Function, LetForm, table_key};
pub use ids::{BlockId, ConstId, NodeId, OpId, StrId, TypeId};
pub use imm::Imm;
pub use inline::{
    Declined, FUNCTION_ATTRIBUTES, FUNCTION_DEFAULT, InlineError, Inlined, inline_functions, inline_some_functions,
    instantiate, recursive,
};
pub use intern::{Hash64, InternTable};
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

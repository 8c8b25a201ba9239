//! The intermediate representation: Relay's kinds of expression, in ordered blocks, in flat arenas.

mod analysis;
mod attrs;
mod copy;
mod editor;
mod entry;
mod equal;
mod function;
pub(crate) mod half;
mod ids;
mod imm;
mod inline;
mod intern;
mod module;
mod new_types;
mod node;
mod opset;
pub mod packed;
mod subgraph;
mod tensor;
mod types;
mod verify;
mod view;
mod visit;
mod walk;

pub use crate::boundary::bytes::Blob;
/// A counted reference, as to the functions of a module: cloning it copies nothing.
pub use abi_stable::std_types::RArc;
pub use analysis::{Analysis, BlockTree, UseCounts, Users, is_initializer, operator_counts};
pub use attrs::{Attr, AttrData, AttrValue, Attrs, Words, description};
pub use copy::Copier;
pub(crate) use editor::given_types;
pub use editor::{Action, Editor, Rebuild, RebuildCx, Retain, Subst};
pub use entry::Entry;
pub use equal::{Difference, equal, equal_functions};
pub use function::{Function, LetForm, table_key};
pub use ids::{BlockId, ConstId, NodeId, OpId, StrId, TypeId};
pub use imm::Imm;
pub(crate) use inline::instantiate;
pub use inline::{
    Declined, FUNCTION_ATTRIBUTES, FUNCTION_DEFAULT, InlineError, Inlined, inline_functions, inline_some_functions,
    recursive,
};
pub use intern::{Hash64, InternTable};
pub use module::{Global, IRModule, MAIN, ModuleAttr, Source, global_kind, module_attr_kind};
pub(crate) use new_types::TypeLie;
pub use new_types::{MOST_NEW_PARTS, MOST_NEW_TYPES, NewTypes};
pub use node::{
    AttrRec, BlockRec, ConstForm, NodeRec, OpRec, SideList, SideTable, Span, attr_flag, attr_kind, flag, kind,
    list_policy, table_policy,
};
pub(crate) use opset::operator_hash;
pub use opset::{IR_VERSION, OUTPUT_NAMES, OUTPUT_TYPES, PRIMITIVE, is_same_domain, normal_domain};
pub use subgraph::Subgraph;
pub use tensor::{Tensor, TensorError, element_count};
pub use types::{Dim, DimRec, Dims, ElemType, MOST_TYPE_PARTS, Type, TypeRec, type_kind};
pub use verify::{Fault, FaultCode, SHADOWS, Verifier, verify, verify_arena, verify_function};
pub use view::{CallView, Expr, FunctionView, IfView};
pub use visit::{Children, ExprFunctor, ExprMutator, ExprVisitor, Memo};
pub(crate) use walk::UsedResults;
pub use walk::{Walk, WalkStep};

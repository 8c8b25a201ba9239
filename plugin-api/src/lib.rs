//! Everything that a plugin for Relais depends on: passes, operators and instruments over programs read from ONNX.
//!
//! ```
//! //! The passes of a company.
//!
//! use relais_plugin_api::prelude::*;
//!
//! plugin! { description = "the passes of a company" }
//!
//! /// Replaces `Neg(Neg(x))` by `x`.
//! #[rewrite_pass(name = "acme.NegNeg", opt_level = 1, ops = ["Neg"])]
//! fn neg_neg(call: CallView<'_>, cx: &mut RewriteCx<'_>) -> Rewrite {
//!     match call.arg(0).and_then(|x| cx.call_of_op(x, "Neg")).and_then(|inner| inner.arg(0)) {
//!         Some(x) => Rewrite::Replace(x),
//!         None => Rewrite::decline("the argument is not a `Neg`"),
//!     }
//! }
//!
//! # fn main() {
//! # let after = relais_plugin_api::testing::run("acme.NegNeg", "def @main(%x) { %a = Neg(%x); %b = Neg(%a); Abs(%b) }");
//! # assert!(after.contains("Abs(%x)"), "{after}");
//! # }
//! ```
//!
//! `relais plugin new NAME` makes the crate around it, of the type `cdylib`; the library that cargo builds of it is the
//! plugin. `docs/writing-a-plugin.md` of Relais leads through all of it.
//!
//! # Overview
//!
//! A plugin's source imports the [`prelude`], and tests use [`testing`].
//!
//! | you write | with | and look into |
//! |---|---|---|
//! | a rewrite of calls | [`rewrite_pass`](prelude::rewrite_pass) | [`CallView`](ir::CallView), [`RewriteCx`](rewrite::RewriteCx), [`Rewrite`](rewrite::Rewrite), [`Attr`](ir::Attr) |
//! | rules as text | [`rule_pass`](prelude::rule_pass), [`pattern::apply`] | [`Rules`](pattern::Rules), `docs/patterns.md` |
//! | a pass over functions | [`function_pass`](prelude::function_pass) | [`Editor`](ir::Editor), [`Function`](ir::Function), [`PassCx`](pass::PassCx), [`Builder`](build::Builder) |
//! | a pass over modules | [`module_pass`](prelude::module_pass) | [`IRModule`](ir::IRModule), [`PassCx`](pass::PassCx) |
//! | a sequence of passes | [`sequential_pass`](prelude::sequential_pass) | [`Step`](pass::Step) |
//! | options of these | [`PassOptions`](prelude::PassOptions), [`config_option`](prelude::config_option) | [`options`] |
//! | an analysis | [`analysis`](prelude::analysis) | [`Analysis`](analysis::Analysis), [`AnalysisCx`](analysis::AnalysisCx), [`Lists`](ir::Lists); [`Users`](ir::Users), [`BlockTree`](ir::BlockTree), [`Liveness`](ir::Liveness) and [`UseCounts`](ir::UseCounts) are there |
//! | an operator | [`operators`](prelude::operators) | [`Operator`](op::Operator), [`InferCx`](op::InferCx), [`EvalCx`](op::EvalCx), [`Effects`](op::Effects), [`op::shapes`] |
//! | parts of another's operator: kernels, layouts, … | [`additions`](prelude::additions) | [`Addition`](op::Addition) |
//! | an evaluator for another's operator | [`evaluators`](prelude::evaluators) | [`Evaluator`](op::Evaluator) |
//! | an instrument | [`instrument`](prelude::instrument) | [`Instrument`](instrument::Instrument) |
//! | a test | | [`testing`]: [`run`](testing::run), [`Trial`](testing::Trial), [`infer`](testing::infer), [`evaluate`](testing::evaluate), [`Watch`](testing::Watch) |
//! | a test of everything at once | the crate `relais-conformance` | `relais_conformance::check_all` |
//! | a pipeline | [`pipeline`](prelude::pipeline) | |
//! | messages about a program | | [`Diagnostic`](diagnostics::Diagnostic), [`PassError`](diagnostics::PassError) |
//!
//! [`ir`] is the representation of modules: a [`Function`](ir::Function) owns its nodes, which [`NodeId`](ir::NodeId)s
//! name and [`Expr`](ir::Expr) shows; constants are [`Tensor`](ir::Tensor)s, and a [`Type`](ir::Type) is the known
//! information about a value. [`Walk`](ir::Walk), [`ExprVisitor`](ir::ExprVisitor), [`ExprFunctor`](ir::ExprFunctor)
//! and [`ExprMutator`](ir::ExprMutator) traverse them, [`verify`](ir::verify) finds errors in them, and [`text`] prints
//! and parses them. [`Copier`](ir::Copier) copies nodes between functions. [`infer`] types whole functions, and [`context`] describes the environment of a pass.
//!
//! [`boundary`] connects plugins and programs. The macros generate the code for it; authors do not use it directly.
//!
//! # Modules
//!
//! Each uses only those listed before it; one that is not listed is used by no other.
//!
//! 1. `pattern`: rules as text: compiled and matched
//! 2. `prelude`: the names that sources of passes use most: `use relais_plugin_api::prelude::*;`
//! 3. `prim`: loop programs: prim funcs, whose statements and scalar operations are calls of the core operators
//! 4. `testing`: testing a plugin on text, in an author's own tests, without a host

pub mod pattern;
pub mod prelude;
pub mod prim;
pub mod testing;

#[doc(inline)]
pub use relais_boundary::{analysis, context, instrument, options, pass};
#[doc(inline)]
pub use relais_ir::{diagnostics, text};
#[doc(inline)]
pub use relais_ops::{build, facts, interpret, rewrite};

/// The intermediate representation: Relay's kinds of expression, in ordered blocks, in flat arenas.
pub mod ir {
    #[doc(inline)]
    pub use relais_ir::{
        Action, AnyNumbers, Attr, AttrData, AttrRec, AttrValue, Attrs, Blob, BlockId, BlockRec, BlockTree, CallView,
        Children, ConstForm, ConstId, Copier, Declined, Difference, Dim, DimRec, Dims, Editor, ElemType, Entry, Expr,
        ExprFunctor, ExprMutator, ExprVisitor, FUNCTION_ATTRIBUTES, FUNCTION_DEFAULT, Fault, FaultCode, Fuel, Function,
        FunctionView, Global, Hash64, IR_VERSION, IRModule, IfView, Imm, InlineError, Inlined, InternTable, LetForm,
        Lists, Liveness, MAIN, MOST_NEW_PARTS, MOST_NEW_TYPES, MOST_TYPE_PARTS, Memo, ModuleAttr, NewTypes, NodeId,
        NodeRec, Numbers, OUTPUT_NAMES, OUTPUT_TYPES, OpId, OpRec, PRIMITIVE, RArc, Rebuild, RebuildCx, Retain,
        SHADOWS, SideList, SideTable, Source, Span, StrId, Subgraph, Subst, Tensor, TensorError, Type, TypeId, TypeRec,
        UseCounts, Users, Verifier, Walk, WalkStep, Words, attr_flag, attr_kind, description, element_count, equal,
        equal_functions, flag, global_kind, has_function_attribute, inline_functions, inline_some_functions,
        is_initializer, is_same_domain, kind, list_policy, module_attr_kind, normal_domain, operator_counts, packed,
        recursive, table_key, table_policy, type_kind, verify, verify_arena, verify_function,
    };
}

/// Descriptions of operators: schema, type relation, effects, fusion kind, layouts, evaluator.
pub mod op {
    #[doc(inline)]
    pub use relais_ir::{AttrDefault, Effects};
    #[doc(inline)]
    pub use relais_ops::{
        bodies::{AddedBodies, Bodies, Body, add_bodies, parse_body},
        error::{OpError, op_error_kind},
        op::*,
        request::{ArgRec, CallRequest, CallValue, EvalRequest, InferRequest, VALUES_TABLE, known_value},
    };
}

/// The inference of types over a whole function: one pass in program order, each call typed by its operator's relation.
pub mod infer {
    #[doc(inline)]
    pub use relais_ir::{contradiction, contradiction_within, join, merge};
    #[doc(inline)]
    pub use relais_ops::{infer::*, relations::*};
}

/// The plugin boundary: everything that crosses it.
pub mod boundary {
    #[doc(inline)]
    pub use relais_boundary::{
        abi::{self, instrument},
        entry, fingerprint, foreign, local, logger, record,
    };
    #[doc(inline)]
    pub use relais_ir::{bytes, guard, ship, wire};
}

/// The expansion of the macros. Not intended for authors, and not stable.
#[doc(hidden)]
pub mod __private {
    pub use crate::prim::is_value_op;
    pub use abi_stable::library::LibHeader;
    pub use inventory;
    pub use relais_boundary::{
        analysis::compute,
        entry::{
            Begun, InstrumentImpl, Item, PassImpl, PluginImpl, Registration, create, create_instrument, lib_header,
            root,
        },
        fingerprint::FINGERPRINT,
        options::{
            Check, ChoiceSpec, ConfigSpec, DefaultSpec, OptionKind, OptionSpec, OptionType, PassOptions, Value, check,
            check_with, field,
        },
        pass::{REWRITES, drive},
        record::{
            AnalysisSpec, Depends, InstrumentSpec, Level, ListSpec, PassSpec, Phase, PipelineSpec, PluginSpec,
            RequiredSpec, SampleSpec, Spec, StatisticSpec, pass_flag,
        },
    };
    pub use relais_ops::{
        op::{Addition, Evaluator, Operator},
        rewrite::DriveOptions,
    };
}

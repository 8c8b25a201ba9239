//! The names that sources of passes use most: `use relais_plugin_api::prelude::*;`.
//!
//! There are at most 45: all macros, and what passes of every kind need. Other names are imported from their modules,
//! as in `use relais_plugin_api::{ir::{Walk, WalkStep}, prelude::*};`:
//!
//! | names | module |
//! |---|---|
//! | traversals, analyses, types, attributes and everything else of the representation | [`ir`](crate::ir) |
//! | records of operators: attributes, formals, effects | [`op`](crate::op) |
//! | type inference: [`Operators`](crate::infer::Operators), [`Coverage`](crate::infer::Coverage) | [`infer`](crate::infer) |
//! | rules as text, and functions as their conditions | [`pattern`](crate::pattern) |
//! | the rewrite driver | [`rewrite`](crate::rewrite), [`pass`](crate::pass) |
//! | settings of contexts | [`context`](crate::context) |
//! | arguments and results of the hooks of instruments | [`instrument`](mod@crate::instrument) |

pub use crate::{
    diagnostics::{Diagnostic, PassError},
    instrument::{Instrument, InstrumentCx, PassInfo},
    ir::{Action, Attr, CallView, Dim, Editor, ElemType, Expr, Function, IRModule, MAIN, NodeId, RebuildCx, Tensor},
    op::{EvalCx, InferCx, OpError, Operator},
    options::Value,
    pass::{PassCx, Step},
    rewrite::{Rewrite, RewriteCx},
};
pub use relais_plugin_api_macros::{
    PassOptions, additions, analysis, config_option, evaluators, function_pass, instrument, module_pass, operators,
    pipeline, plugin, prim_func_pass, rewrite_pass, rule_pass, sequential_pass,
};

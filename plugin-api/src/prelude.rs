//! All that a pass's source imports: `use relais_plugin_api::prelude::*;`.

pub use crate::{
    context::{ContextSettings, PassContext},
    diagnostics::{Diagnostic, PassError, Severity},
    infer::Coverage,
    instrument::{Findings, Instrument, InstrumentCx, PassInfo, Said, SkipKind, Skipped, TimeLimit},
    ir::*,
    op::{
        AttrSchema, Effects, EvalCx, EvalRequest, Evaluator, Formal, FusionKind, InferCx, InferRequest, OpError,
        Operator, Required, TypeVar,
    },
    options::Value,
    pass::{OpFacts, OpFactsTable, PassCx, PassRef, Step, drive},
    rewrite::{DriveOptions, DriveStats, Rewrite, RewriteCx},
};
pub use relais_plugin_api_macros::{
    PassOptions, config_option, evaluators, function_pass, instrument, module_pass, operators, pipeline, plugin,
    prim_func_pass, rewrite_pass, rule_pass, sequential_pass,
};

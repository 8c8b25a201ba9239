//! The native part of the Python package `relais_onnx`.

mod check;
mod context;
mod convert;
mod current_match;
mod diff;
mod draft;
mod editor;
mod edits;
mod errors;
mod html;
mod instrument;
mod judged;
mod library;
mod log;
mod many;
mod module;
mod node;
mod nodes;
mod operators;
mod optimize;
mod pass;
mod pass_info;
mod plugins;
mod rewrite;
mod rules;
mod run;
mod stderr;
mod tensor;
mod value;
mod visit;

// Linked, so that their passes, operators and evaluators are registered.
use {
    relais_emit_c as _, relais_evaluator as _, relais_gradient as _, relais_graph as _, relais_loops as _,
    relais_onnxruntime as _, relais_operators as _,
};

/// The native part of `relais_onnx`.
#[pyo3::pymodule(gil_used = false)]
mod _native {
    #[pymodule_export]
    use super::{
        check::check_modules,
        context::{PyPassContext, list_configs},
        diff::{PyDiff, PyDifference, PyNodeDifference},
        editor::PyEditor,
        edits::PyGraph,
        instrument::NamedInstrument,
        library::{full_name, list_items, unregister_pass},
        many::{PyMany, run_job, table},
        module::{PyFunction, PyIrModule, parse, read, read_bytes},
        node::PyNode,
        nodes::PyNodes,
        optimize::{lock, optimize, resolve},
        pass::{PyPass, get_pass, judge_pass, register_pass},
        pass_info::PyPassInfo,
        plugins::configure,
        rewrite::rule_variables,
        run::stop_runs,
        tensor::PyTensor,
        visit::walk,
    };
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::run::start();
        super::log::start();
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}

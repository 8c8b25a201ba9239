//! The native part of the Python package `relais_onnx`.
//!
//! # Modules
//!
//! Each uses only those listed before it; one that is not listed is used by no other.
//!
//! 1. `held`: objects of Python that native code calls, for the collector of cycles
//! 2. `log`: the log of the host in Python's `logging`, and what is printed
//! 3. `current`: the current context of each task and thread of Python
//! 4. `run`: running native code: without the interpreter's lock, with a look at its signals
//! 5. `errors`: native errors as Python exceptions
//! 6. `tensor`: values of constants, as NumPy sees them
//! 7. `value`: values of options from Python
//! 8. `schema`: schemas of options that are described in Python
//! 9. `convert`: tensors and attributes from Python's values
//! 10. `operators`: the operators that functions call, and those that are asked for by name
//! 11. `html`: modules as HTML, for notebooks
//! 12. `plugins`: the plugins of this process
//! 13. `module`: modules and functions
//! 14. `judged`: rules that are judged before they are used, with what was found
//! 15. `library`: the passes and options of this process: those of plugins, and those of the program
//! 16. `pass_info`: the facts about passes, as Python sees them
//! 17. `stderr`: Python's standard error
//! 18. `entering`: entering and leaving contexts, and code of Python that the host calls in one
//! 19. `instrument`: instruments: those of the host and of plugins by name, and those that are written in Python
//! 20. `current_match`: the match of a rewrite rule that a function of Python looks at
//! 21. `draft`: a function that is being edited, without an order
//! 22. `editor`: editors: what an edit works on, how it begins and how it ends
//! 23. `node`: nodes of functions: where each is, and its number
//! 24. `spoken`: the messages, counts and analyses of passes in Python while they run
//! 25. `context`: pass contexts as context managers
//! 26. `rewrite`: rewrite rules of Python programs
//! 27. `rules`: judging rules before they are used, and passes of the program
//! 28. `pass`: passes: those of plugins, and those that are written in Python
//! 29. `optimize`: a pipeline over a model: arguments in, a module or an exception out
//! 30. `served`: plugins that are files of Python, in the process in which they run
//! 31. `worker`: the programs in which isolated plugins run

mod analysis;
mod check;
mod context;
mod convert;
mod current;
mod current_match;
mod diff;
mod draft;
mod editor;
mod edits;
mod entering;
mod errors;
mod held;
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
mod schema;
#[cfg(target_os = "linux")]
mod served;
mod spoken;
mod stderr;
mod tensor;
mod value;
mod visit;
mod worker;

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
        analysis::{analysis, register_analysis},
        check::check_modules,
        context::{PyPassContext, list_configs},
        diff::{PyDiff, PyDifference, PyNodeDifference},
        editor::PyEditor,
        edits::PyGraph,
        instrument::NamedInstrument,
        library::{full_name, list_items, register_config, unregister_analysis, unregister_config, unregister_pass},
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

    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use super::served::{log_to_host, serve};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::run::start();
        super::log::start();
        relais::isolation::launch_workers_by(super::worker::command);
        relais::isolation::launch_python_by(super::worker::python);
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}

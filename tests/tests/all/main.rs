//! The end-to-end tests: one program, so that there is one thing to link.

mod a_first_plugin;
mod additions;
mod alone;
mod attribute_defaults;
mod bad_input;
mod bad_passes;
mod bad_plugins;
mod bodies;
mod budgets;
mod build;
mod c_plugins;
mod checked;
mod checked_inputs;
mod checked_parts;
mod containers;
mod descriptions;
mod docs;
mod editor;
mod embedder;
mod evaluators;
mod examples;
mod filetest;
mod front_ends;
mod fused;
mod fuzz_seeds;
mod gradients;
mod graph_loops;
mod guide_to_c;
mod instruments_from_plugins;
mod isolated;
mod judged_rules;
mod keep;
mod kernel_edges;
mod kernels;
mod kernels_folded;
mod killed;
mod later_host;
mod layouts;
mod lock;
mod loop_programs;
mod lossless;
mod made_functions;
mod many_models;
mod many_plugins;
mod mistakes;
mod mixed_precision;
mod models;
mod museum;
mod names;
mod nests;
mod node_cases;
mod numbers;
mod operators;
mod opsets;
mod out_of_tree;
mod outputs;
mod package;
mod pipeline_schema;
mod pipelines_from_plugins;
mod planted;
mod plugin_new;
mod python;
mod python_plugins;
mod quitting;
mod random_graphs;
mod relations;
mod reload;
mod rewrite_rules;
mod rules;
mod scale;
mod standard_output;
mod stated;
mod strip;
mod threads;
mod transform;
mod tvm_names;
mod tvm_scenarios;
mod unbuildable;
mod untrue;
mod watch;
mod written;

#[path = "../../fuzz/src/lib.rs"]
mod fuzz;
use fuzz::onnx_common::proto;

// Linked, so that their passes, operators and evaluators are registered.
use {
    relais_emit_c as _, relais_evaluator as _, relais_gradient as _, relais_graph as _, relais_loops as _,
    relais_onnxruntime as _, relais_operators as _,
};

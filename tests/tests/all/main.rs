//! The end-to-end tests: one program, so that there is one thing to link.

mod abi_document;
mod alone;
mod architecture;
mod bad_input;
mod bad_passes;
mod bad_plugins;
mod command_line;
mod docs;
mod editor;
mod embedder;
mod english;
mod evaluators;
mod examples;
mod fuzz_seeds;
mod instruments_from_plugins;
mod killed;
mod later_host;
mod lock;
mod lossless;
mod many_plugins;
mod mistakes;
mod models;
mod names;
mod numbers;
mod operators;
mod out_of_tree;
mod outputs;
mod package;
mod pipeline_schema;
mod pipelines_from_plugins;
mod plugin_new;
mod quitting;
mod random_graphs;
mod reference_pages;
mod relations;
mod rules;
mod scale;
mod threads;
mod transform;
mod tutorial;
mod untrue;
mod written;

#[path = "../../fuzz/src/lib.rs"]
mod fuzz;
use fuzz::onnx_common::proto;

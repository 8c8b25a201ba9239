//! Tests of the texts of the repository: its architecture, its English, its names, and the pages that are generated.

mod abi_document;
mod architecture;
mod codes;
mod english;
mod layers;
mod links;
mod one_place;
mod operator_lists;
mod plugin_api_alone;
mod reference_pages;
mod tvm_documents;
mod workshop;

// Linked, so that their passes, operators and evaluators are registered.
use {
    relais_emit_c as _, relais_evaluator as _, relais_gradient as _, relais_graph as _, relais_loops as _,
    relais_onnxruntime as _, relais_operators as _,
};

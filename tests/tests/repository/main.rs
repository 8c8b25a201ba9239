//! What the texts of the repository must be: its architecture, its English, its names, and the pages that are generated.

mod abi_document;
mod architecture;
mod codes;
mod english;
mod layers;
mod links;
mod one_place;
mod operator_lists;
mod reference_pages;
mod tvm_documents;
mod workshop;

//! What the texts of the repository must be: its architecture, its English, its names, and the pages that are generated.

mod architecture;
mod codes;
mod english;
mod file_circles;
mod links;
mod reference_pages;
mod tvm_documents;
mod workshop;

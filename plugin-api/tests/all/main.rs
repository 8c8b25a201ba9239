//! The tests of the interface of plugins: one program, so that there is one thing to link.

mod boundary;
mod growth;
mod hygiene;
mod inline;
mod local;
mod pattern;
mod prelude;
mod prim_rewrites;
mod scale;
mod testing;
mod text;
mod text_files;
mod verify;

relais_plugin_api::prelude::plugin! { description = "the passes of these tests" }

//! The tests of the host through its library and its binary: one program, so that there is one thing to link.

mod command_line;
mod common;
mod dump;
mod extract;
mod golden;
mod input_shapes;
mod plugin_built;
mod plugin_config;
mod plugin_context;
mod plugin_file;
mod plugin_foreign;
mod plugin_life;
mod plugin_linked;
mod plugin_matrix;
mod plugin_names;
mod plugin_run;
mod plugin_start;
mod plugin_statistics;
mod reproducer;
mod session;

//! What crosses between a host and a plugin: options, contexts, passes and instruments, the records that describe them,
//! and the tables and layouts by which they are called.
//!
//! Plugins and hosts use this crate as the modules `boundary`, `options`, `context`, `pass` and `instrument` of
//! `relais_plugin_api`.

pub mod abi;
pub mod context;
mod current;
pub mod entry;
pub mod fingerprint;
pub mod instrument;
pub mod local;
pub mod logger;
pub mod options;
mod parallel;
pub mod pass;
pub mod record;
pub mod rules;

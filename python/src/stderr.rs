//! Python's standard error.

use crate::{log, run::end};
use anstream::adapter::strip_str;
use pyo3::{exceptions::PyException, prelude::*};
use relais::instruments::Output;
use std::borrow::Cow;

/// Prints where Python's standard error is.
pub(crate) struct Stderr;

impl Output for Stderr {
    fn print(&self, text: &str) {
        Python::attach(|py| {
            let is_plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) || !is_terminal(py);
            let text = if is_plain { Cow::Owned(strip_str(text).to_string()) } else { Cow::Borrowed(text) };
            if let Err(error) = log::print(py, &text) {
                end(py, error);
            }
        });
    }
}

/// Whether `sys.stderr` shows colours, as it is now.
fn is_terminal(py: Python<'_>) -> bool {
    let answer = py.import("sys").and_then(|sys| sys.getattr("stderr")?.call_method0("isatty")?.extract());
    answer.unwrap_or_else(|error| {
        if !error.is_instance_of::<PyException>(py) {
            end(py, error);
        }
        false
    })
}

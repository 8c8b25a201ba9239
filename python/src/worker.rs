//! The programs in which isolated plugins run: the command line, which is installed with the package, and this interpreter.

use pyo3::prelude::*;
use std::{
    env::{self, consts::EXE_SUFFIX},
    io,
    path::PathBuf,
    process::Command,
};

/// Names the program, where it is elsewhere.
const VARIABLE: &str = "RELAIS_WORKER";

/// The command that starts it.
///
/// # Errors
/// Returns an error if it is not there.
pub(crate) fn command() -> io::Result<Command> {
    let installed = || Python::attach(scripts).map_err(|error| io::Error::other(error.to_string()));
    let program = match env::var_os(VARIABLE) {
        Some(program) => PathBuf::from(program),
        None => installed()?.join(format!("relais{EXE_SUFFIX}")),
    };
    if !program.is_file() {
        let message = format!("the program `{}` does not exist; `{VARIABLE}` can name another", program.display());
        return Err(io::Error::other(message));
    }
    let mut command = relais_conformance::program::command(&program)?;
    command.arg("worker");
    Ok(command)
}

/// The command that starts this interpreter as the process of a plugin in Python.
///
/// # Errors
/// Returns an error if it is not known.
pub(crate) fn python() -> io::Result<Command> {
    let executable = |py: Python<'_>| py.import("sys")?.getattr("executable")?.extract::<PathBuf>();
    let executable = Python::attach(executable).map_err(|error| io::Error::other(error.to_string()))?;
    relais_conformance::program::python_worker(&executable)
}

/// The folder of the programs that packages bring.
fn scripts(py: Python<'_>) -> PyResult<PathBuf> {
    py.import("sysconfig")?.call_method1("get_path", ("scripts",))?.extract()
}

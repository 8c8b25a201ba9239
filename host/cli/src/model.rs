//! Models that are read.

use super::terminal::CliError;
use relais_session::{ModelSource, model::Model};
use std::{io, path::Path};

/// Whether an argument means standard input or output.
pub(crate) fn is_stream(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The model that an argument names; `-` is standard input.
pub(crate) fn given(path: &Path) -> ModelSource {
    match is_stream(path) {
        true => ModelSource::StandardInput,
        false => ModelSource::File(path.to_owned()),
    }
}

/// Reads a model that is only looked at; `-` is standard input.
pub(crate) fn read(path: &Path) -> Result<Model, CliError> {
    let model = match is_stream(path) {
        true => Model::read_from(path, io::stdin().lock()),
        false => Model::read(path),
    }?;
    for warning in &model.warnings {
        log::warn!("model `{}`: {warning}", path.display());
    }
    Ok(model)
}

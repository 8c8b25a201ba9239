//! Writing models.

use super::{
    bodies::{OperatorNames, with_bodies},
    file::Format,
    valid::with_types,
};
use crate::error::Error;
use relais::{
    files::{Destination, FileError, TextWritten, write_text_form},
    ir::IRModule,
    onnx::{self, OnnxError, WriteOptions, WriteReport},
    registry::Registry,
};
use relais_plugin_api::text::PrintOptions;
use std::{borrow::Cow, fs, path::Path};

/// Why a model is not written.
#[derive(Debug)]
#[non_exhaustive]
pub enum NotWritten {
    /// A file cannot be written, with a word for its purpose.
    File(&'static str, FileError),
    /// ONNX cannot express the module, or the system refuses a file.
    Onnx(OnnxError),
    /// Another reason, such as a file that is read and would be replaced.
    Refused(Error),
}

impl From<Error> for NotWritten {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl From<OnnxError> for NotWritten {
    fn from(error: OnnxError) -> Self {
        Self::Onnx(error)
    }
}

impl NotWritten {
    /// The words about it.
    pub fn error(&self) -> Error {
        match self {
            Self::File(what, error) => Error::new(error.of(what)).with_help(error.help()),
            Self::Onnx(error) => {
                let text = error.to_string();
                let text = text.strip_prefix("file ").unwrap_or(&text);
                let what = if text.starts_with('`') { "output" } else { "the model cannot be written:" };
                Error::new(format_args!("{what} {text}")).with_help(error.help())
            }
            Self::Refused(error) => error.clone(),
        }
    }
}

/// Returns a module as it is written: in ONNX, its operators have bodies that runtimes know, apart from those `without`, which
/// the model has had before, and its inputs and outputs have types.
///
/// # Errors
/// As for [`with_bodies`], and if a type is not known.
pub fn as_written<'m>(
    module: &'m IRModule,
    format: Format,
    without: &OperatorNames,
    registry: &Registry,
) -> Result<Cow<'m, IRModule>, Error> {
    match format {
        Format::Onnx => with_types(with_bodies(module, without, registry)?, registry),
        Format::Text => Ok(Cow::Borrowed(module)),
    }
}

/// As [`write()`], if `accept` returns true for the module as it was written. Returns `None` otherwise; then no file is changed.
///
/// # Errors
/// As for [`write()`].
pub fn write_if(
    module: &IRModule,
    destination: &Destination,
    format: Format,
    options: &WriteOptions,
    accept: &mut dyn FnMut(&IRModule) -> bool,
) -> Result<Option<WriteReport>, NotWritten> {
    match format {
        Format::Onnx => Ok(onnx::write_if(module, destination, options, accept)?),
        Format::Text if accept(module) => write(module, destination, format, options).map(Some),
        Format::Text => Ok(None),
    }
}

/// Writes a model: whole or not at all, except into pipes and devices.
///
/// # Errors
/// Returns an error if it cannot be expressed, or a file cannot be written. No file is changed then.
pub fn write(
    module: &IRModule,
    destination: &Destination,
    format: Format,
    options: &WriteOptions,
) -> Result<WriteReport, NotWritten> {
    match format {
        Format::Onnx => Ok(onnx::write_destination(module, destination, options)?),
        Format::Text => {
            let TextWritten { side_file, sent } = write_text_form(module, destination, &PrintOptions::default())
                .map_err(|error| NotWritten::File("output", error))?;
            let len = |path: &Path| fs::metadata(path).ok().map(|metadata| metadata.len());
            let mut report = WriteReport::default();
            report.model_bytes = match &sent {
                Some(sent) => sent.len() as u64,
                None => destination.file().and_then(len).unwrap_or(0),
            };
            report.data_files.extend(side_file.and_then(|side| len(&side).map(|len| (side, len))));
            report.sent = sent;
            Ok(report)
        }
    }
}

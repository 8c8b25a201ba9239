//! Models that are read and written.

use super::{outputs, terminal::CliError};
use relais::{
    files::{Destination, write_text_form},
    frontend::{Format, Model},
    ir::IRModule,
    mapped::read_stream,
    onnx::{self, WriteOptions, WriteReport},
};
use relais_plugin_api::text::PrintOptions;
use std::{fs, io, path::Path};

/// Whether an argument means standard input or output.
pub(crate) fn is_stream(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Reads a model; `-` is standard input.
pub(crate) fn read(path: &Path) -> Result<Model, CliError> {
    let model = match is_stream(path) {
        true => read_stream(io::stdin().lock())
            .map_err(|error| Model::unreadable(path, &error))
            .and_then(|bytes| Model::from_bytes(path, bytes)),
        false => Model::read(path),
    }?;
    for warning in &model.warnings {
        log::warn!("model `{}`: {warning}", path.display());
    }
    Ok(model)
}

/// The file of a model, from the root, as reports show it.
pub(crate) fn shown_file(path: &Path) -> String {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
}

/// The format of an output: from its name, otherwise that of the input.
pub(crate) fn output_format(path: &Path, input: Format) -> Format {
    Format::of_name(path).unwrap_or(input)
}

/// Writes a model: whole or not at all, except into pipes and devices.
pub(crate) fn write(
    module: &IRModule,
    destination: &Destination,
    format: Format,
    options: &WriteOptions,
) -> Result<WriteReport, CliError> {
    match format {
        Format::Onnx => onnx::write_destination(module, destination, options)
            .map_err(|error| CliError::new(format!("output {error}")).help(error.help())),
        Format::Text => {
            let side = write_text_form(module, destination, &PrintOptions::default())
                .map_err(|error| outputs::failed("output", &error))?;
            let mut report = WriteReport::default();
            report.model_bytes = destination.file().and_then(|path| Some(fs::metadata(path).ok()?.len())).unwrap_or(0);
            report.data_files.extend(side.and_then(|side| Some((side.clone(), fs::metadata(&side).ok()?.len()))));
            Ok(report)
        }
    }
}

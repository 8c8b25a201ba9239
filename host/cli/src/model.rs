//! Models: ONNX files, and text files as determined by name or content.

use super::{args, outputs, terminal::CliError};
use relais::{
    files::{Destination, write_text_form},
    ir::{Blob, IRModule, verify},
    mapped::{map_file, read_input, read_stream},
    onnx::{self, ReadOptions, WriteOptions, WriteReport},
};
use relais_plugin_api::text::{self, PrintOptions, SideFile, TextError};
use std::{fs, io, path::Path};

/// How a model is written down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    Onnx,
    Text,
}

impl Format {
    fn of_name(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "onnx" => Some(Self::Onnx),
            "relay" => Some(Self::Text),
            _ => None,
        }
    }

    /// The format of some content. ONNX begins with the tag of a field, which is not a printable character.
    fn of_bytes(bytes: &[u8]) -> Self {
        let start = &bytes[..bytes.len().min(256)];
        let is_text = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | 0x20..=0x7e | 0x80..);
        if !start.is_empty() && start.iter().all(is_text) { Self::Text } else { Self::Onnx }
    }
}

/// A model that was read.
pub(crate) struct Model {
    pub module: IRModule,
    pub format: Format,
    /// Its bytes.
    pub bytes: Option<u64>,
    /// Its file, from the root.
    pub file: String,
}

/// Whether an argument means standard input or output.
pub(crate) fn is_stream(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Reads a model; `-` is standard input.
pub(crate) fn read(path: &Path) -> Result<Model, CliError> {
    let shown = path.display();
    let failed = |error: io::Error| {
        CliError::new(format!("model `{shown}` cannot be read: {error}")).help("check the path and the permissions")
    };
    let bytes = match is_stream(path) {
        true => read_stream(io::stdin().lock()).map_err(failed)?,
        false if path.is_dir() => {
            return Err(CliError::new(format!("model `{shown}` is a folder")).help("name the model's file"));
        }
        false => read_input(path).map_err(failed)?,
    };
    let n_bytes = bytes.len() as u64;
    let format = Format::of_name(path).unwrap_or_else(|| Format::of_bytes(&bytes));
    let module = match format {
        Format::Onnx => {
            let mut options = ReadOptions::default();
            options.data_folder = path.parent().filter(|_| !is_stream(path)).map(Path::to_owned);
            let model = onnx::read_bytes(&path.to_string_lossy(), bytes, &options)
                .map_err(|error| CliError::new(format!("model {error}")).help(error.help()))?;
            for warning in model.warnings {
                log::warn!("model `{shown}`: {warning}");
            }
            model.module
        }
        Format::Text => {
            let module = read_text(path, &bytes)?;
            let faults = verify(&module);
            if let Some(first) = faults.first() {
                let n_more = faults.len() - 1;
                let more = if n_more > 0 { format!(" (and {n_more} more)") } else { String::new() };
                return Err(CliError::new(format!("model `{shown}` is no valid program: {first}{more}")));
            }
            module
        }
    };
    let file = std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string();
    Ok(Model { module, format, bytes: Some(n_bytes), file })
}

fn read_text(path: &Path, bytes: &Blob) -> Result<IRModule, CliError> {
    let shown = path.display();
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let error = CliError::new(format!("model `{shown}` cannot be read: it is not UTF-8: {error}"));
        error.help("the text form is UTF-8; the name of an ONNX model ends in `.onnx`")
    })?;
    let side = text::side_path(path);
    let side_file = if !is_stream(path) && side.exists() {
        let failed =
            |error: &dyn std::fmt::Display| CliError::new(format!("model `{shown}`: `{}`: {error}", side.display()));
        let bytes = map_file(&side).map_err(|error| failed(&error))?;
        SideFile::open(&bytes).map_err(|error| failed(&error))?
    } else {
        SideFile::default()
    };
    text::parse(&path.to_string_lossy(), text, &side_file).map_err(|faults: Vec<TextError>| {
        let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
        CliError::new(format!("model `{shown}` does not read:\n{}", faults.join("\n")))
    })
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
    external_data: args::ExternalData,
) -> Result<WriteReport, CliError> {
    match format {
        Format::Onnx => {
            let external_data = match external_data {
                args::ExternalData::Auto => onnx::ExternalData::default(),
                args::ExternalData::Always => onnx::ExternalData::External { min_bytes: 1024 },
                args::ExternalData::Never => onnx::ExternalData::Inline,
            };
            let options = WriteOptions::default().with_external_data(external_data);
            onnx::write_destination(module, destination, &options)
                .map_err(|error| CliError::new(format!("output {error}")).help(error.help()))
        }
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

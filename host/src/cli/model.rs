//! Models: ONNX files, and text files where a name or the content says so.

use super::{args, terminal::CliError};
use relais::{
    ir::{IRModule, verify},
    mapped::map_file,
    onnx::{self, ReadOptions, WriteOptions, WriteReport},
};
use relais_plugin_api::text::{self, FileError, PrintOptions};
use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
};

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

    /// The format of a file that is there. An ONNX file begins with the tag of a field, which is no printable character.
    fn of_file(path: &Path) -> Self {
        let mut start = Vec::new();
        let read = fs::File::open(path).and_then(|file| file.take(256).read_to_end(&mut start));
        let is_text = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | 0x20..=0x7e | 0x80..);
        match read {
            Ok(n) if n > 0 && start.iter().all(is_text) => Self::Text,
            _ => Self::Onnx,
        }
    }
}

/// A model that was read.
pub(crate) struct Model {
    pub module: IRModule,
    pub format: Format,
    /// Bytes of its file.
    pub bytes: Option<u64>,
    /// Its file, from the root.
    pub file: String,
}

/// Reads a model.
pub(crate) fn read(path: &Path) -> Result<Model, CliError> {
    let shown = path.display();
    let metadata = fs::metadata(path).map_err(|error| {
        CliError::new(format!("model `{shown}` cannot be read: {error}")).help("check the path and the permissions")
    })?;
    if metadata.is_dir() {
        return Err(CliError::new(format!("model `{shown}` is a folder")).help("name the model's file"));
    }
    let format = Format::of_name(path).unwrap_or_else(|| Format::of_file(path));
    let module = match format {
        Format::Onnx => {
            let model = onnx::read_model(path, &ReadOptions::default())
                .map_err(|error| CliError::new(format!("model {error}")).help(error.help()))?;
            for warning in model.warnings {
                log::warn!("model `{shown}`: {warning}");
            }
            model.module
        }
        Format::Text => {
            let module = text::read_files(path, map_file).map_err(|error| text_error(path, &error))?;
            if module.globals().is_empty() {
                let error = CliError::new(format!("model `{shown}` has no function"));
                return Err(error.help("a model is `def @main(…) { … }`; `relais show` prints one in the text form"));
            }
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
    Ok(Model { module, format, bytes: Some(metadata.len()), file })
}

fn text_error(path: &Path, error: &FileError) -> CliError {
    match error {
        FileError::Text(faults) => {
            let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
            CliError::new(format!("model `{}` does not read:\n{}", path.display(), faults.join("\n")))
        }
        FileError::Io { path: file, error } if file == path => {
            let error = CliError::new(format!("model `{}` cannot be read: {error}", path.display()));
            error.help("the text form is UTF-8; the name of an ONNX model ends in `.onnx`")
        }
        error => CliError::new(format!("model `{}`: {error}", path.display())),
    }
}

/// The format of an output: its name's, else the input's.
pub(crate) fn output_format(path: &Path, input: Format) -> Format {
    Format::of_name(path).unwrap_or(input)
}

/// Whether an output can be written there, as far as that can be told before.
pub(crate) fn check_output(path: &Path) -> Result<(), CliError> {
    let shown = path.display();
    if path.is_dir() {
        return Err(CliError::new(format!("output `{shown}` is a folder")).help("name a file in it"));
    }
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder.to_owned(),
        _ => PathBuf::from("."),
    };
    if !folder.is_dir() {
        let error = CliError::new(format!("the folder of output `{shown}` does not exist"));
        return Err(error.help(format!("create `{}` first", folder.display())));
    }
    Ok(())
}

/// Writes a model: whole or not at all.
pub(crate) fn write(
    module: &IRModule,
    path: &Path,
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
            onnx::write(module, path, &options)
                .map_err(|error| CliError::new(format!("output {error}")).help(error.help()))
        }
        Format::Text => {
            text::write_files(module, path, &PrintOptions::default())
                .map_err(|error| CliError::new(format!("output `{}`: {error}", path.display())))?;
            let mut report = WriteReport::default();
            report.model_bytes = fs::metadata(path).map_or(0, |metadata| metadata.len());
            let side = text::side_path(path);
            if let Ok(metadata) = fs::metadata(&side) {
                report.data_files.push((side, metadata.len()));
            }
            Ok(report)
        }
    }
}

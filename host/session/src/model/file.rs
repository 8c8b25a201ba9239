//! Models: ONNX files, and text files as determined by name or content.

use super::bodies::{OperatorNames, operators_of};
use crate::error::Error;
use relais::{
    files::{open_side_file, side_path},
    ir::{Blob, IRModule, verify},
    mapped::{read_input, read_stream},
    onnx::{self, ReadOptions},
};
use relais_plugin_api::text::{self, SideFile, TextError};
use std::{
    fmt,
    io::{self, Read},
    path::Path,
};

/// How a model is written down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// ONNX.
    Onnx,
    /// The text form.
    Text,
}

/// The ends of the names of files that programs take for something other than ONNX, and what that is.
const OTHERS: &[(&str, &str)] = &[
    ("engine", "an engine of TensorRT"),
    ("h5", "a model of Keras"),
    ("keras", "a model of Keras"),
    ("mlmodel", "a model of Core ML"),
    ("npz", "arrays of NumPy"),
    ("onnxtxt", "the text form of the package `onnx`"),
    ("ort", "the format that onnxruntime has for small devices"),
    ("pt", "a model of PyTorch"),
    ("pth", "a model of PyTorch"),
    ("safetensors", "weights alone"),
    ("tflite", "a model of TensorFlow Lite"),
    ("xml", "a model of OpenVINO"),
];

impl Format {
    /// The format that a file of this name would be taken for, if that is neither ONNX nor the text form.
    pub fn of_others(path: &Path) -> Option<&'static str> {
        let end = path.extension()?.to_str()?;
        OTHERS.iter().find(|(other, _)| *other == end).map(|(_, what)| *what)
    }

    /// The format that a file's name ends in: `.onnx` or `.relay`.
    pub fn of_name(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "onnx" => Some(Self::Onnx),
            "relay" => Some(Self::Text),
            _ => None,
        }
    }

    /// The format of some content. ONNX begins with the tag of a field, which is not a printable character.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        let start = &bytes[..bytes.len().min(256)];
        let is_text = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | 0x20..=0x7e | 0x80..);
        if !start.is_empty() && start.iter().all(is_text) { Self::Text } else { Self::Onnx }
    }
}

/// A model that was read.
#[derive(Clone)]
pub struct Model {
    /// Its functions.
    pub module: IRModule,
    /// How it was written down.
    pub format: Format,
    /// The size of its file, in bytes, without weights beside it.
    pub n_bytes: u64,
    /// The oddities that reading found.
    pub warnings: Vec<String>,
    /// The operators that a file in ONNX has: it runs with them. A text was never run, and has none.
    pub operators: OperatorNames,
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model").field("format", &self.format).field("n_bytes", &self.n_bytes).finish_non_exhaustive()
    }
}

impl Model {
    /// Reads a file, and its weights beside it. The format is that of the file's name, otherwise that of its content.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or is not a valid model.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let shown = path.display();
        if path.is_dir() {
            return Err(Error::new(format!("model `{shown}` is a folder")).with_help("name the model's file"));
        }
        let bytes = read_input(path).map_err(|error| Self::unreadable(path, &error))?;
        Self::parse(path, bytes, path.parent())
    }

    /// Reads a model from a stream, such as standard input. `name` is for messages, and names the format if it has the
    /// ending of one.
    ///
    /// # Errors
    /// Returns an error if it cannot be read, is not a valid model, or has weights in files.
    pub fn read_from(name: &Path, stream: impl Read) -> Result<Self, Error> {
        let bytes = read_stream(stream).map_err(|error| Self::unreadable(name, &error))?;
        Self::from_bytes(name, bytes)
    }

    /// The model of some bytes that are not in a file. `name` is as for [`read_from`](Self::read_from).
    ///
    /// # Errors
    /// Returns an error if it is not a valid model, or has weights outside of the bytes.
    pub fn from_bytes(name: &Path, bytes: Blob) -> Result<Self, Error> {
        Self::parse(name, bytes, None)
    }

    /// The same, with weights in files of a folder.
    ///
    /// # Errors
    /// Returns an error if it is not a valid model, or its weights cannot be read.
    pub fn from_bytes_in(name: &Path, bytes: Blob, folder: &Path) -> Result<Self, Error> {
        Self::parse(name, bytes, Some(folder))
    }

    /// A module that a program has made.
    pub fn made(module: IRModule) -> Self {
        let (warnings, operators) = (Vec::new(), OperatorNames::new());
        Self { module, format: Format::Onnx, n_bytes: 0, warnings, operators }
    }

    /// The error of a model that the system does not let read.
    fn unreadable(path: &Path, error: &io::Error) -> Error {
        let error = Error::new(format!("model `{}` cannot be read: {error}", path.display()));
        error.with_help("check the path and the permissions")
    }

    /// `folder` is the one with the model's other files, if it may have some.
    fn parse(path: &Path, bytes: Blob, folder: Option<&Path>) -> Result<Self, Error> {
        if let Some((what, help)) = foreign(path) {
            return Err(Error::new(format!("`{}` is {what}, not an ONNX model", path.display())).with_help(help));
        }
        let n_bytes = bytes.len() as u64;
        let format = Format::of_name(path).unwrap_or_else(|| Format::of_bytes(&bytes));
        let (module, warnings) = match format {
            Format::Onnx => {
                let mut options = ReadOptions::default();
                options.data_folder = folder.map(Path::to_owned);
                let model = onnx::read_bytes(&path.to_string_lossy(), bytes, &options)
                    .map_err(|error| Error::new(format!("model {error}")).with_help(error.help()))?;
                (model.module, model.warnings.iter().map(ToString::to_string).collect())
            }
            Format::Text => (read_text(path, &bytes, folder)?, Vec::new()),
        };
        let operators = match format {
            Format::Onnx => operators_of(&module),
            Format::Text => OperatorNames::new(),
        };
        Ok(Self { module, format, n_bytes, warnings, operators })
    }
}

/// The kind of a file with the name of another format, and how to get a model from it.
fn foreign(path: &Path) -> Option<(&'static str, &'static str)> {
    const TORCH: &str = "export it in Python: `torch.onnx.export(module, inputs, \"model.onnx\")`";
    const TENSORFLOW: &str = "convert it with tf2onnx: `python -m tf2onnx.convert --output model.onnx …`";
    Some(match path.extension()?.to_str()? {
        "py" | "ipynb" => ("a Python program", TORCH),
        "pt" | "pth" | "ckpt" => ("a file of PyTorch", TORCH),
        "pt2" => ("an exported program of PyTorch", "load it in Python and call `torch.onnx.export` with it"),
        "safetensors" => ("a file of weights", "export the model that they belong to"),
        "tflite" | "h5" | "keras" => ("a model of TensorFlow", TENSORFLOW),
        "mlmodel" => ("a model of Core ML", "convert it with onnxmltools"),
        "ort" => ("a model in onnxruntime's own format", "use the ONNX file that it was made from"),
        "toml" => ("a pipeline", "pass it with `-p`, and name the model"),
        _ => return None,
    })
}

fn read_text(path: &Path, bytes: &Blob, folder: Option<&Path>) -> Result<IRModule, Error> {
    let shown = path.display();
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let error = Error::new(format!("model `{shown}` cannot be read: it is not UTF-8: {error}"));
        error.with_help("the text form is UTF-8; the name of an ONNX model ends in `.onnx`")
    })?;
    let side_file = match folder.zip(path.file_name()).map(|(folder, name)| folder.join(name)) {
        Some(path) => open_side_file(&path)
            .map_err(|error| Error::new(format!("model `{shown}`: `{}`: {error}", side_path(&path).display())))?,
        None => SideFile::default(),
    };
    let module = text::parse(&path.to_string_lossy(), text, &side_file).map_err(|faults: Vec<TextError>| {
        let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
        Error::new(format!("model `{shown}` cannot be parsed:\n{}", faults.join("\n")))
    })?;
    let faults = verify(&module);
    if let Some(first) = faults.first() {
        let n_more = faults.len() - 1;
        let more = if n_more > 0 { format!(" (and {n_more} more)") } else { String::new() };
        return Err(Error::new(format!("model `{shown}` is not a valid program: {first}{more}")));
    }
    Ok(module)
}

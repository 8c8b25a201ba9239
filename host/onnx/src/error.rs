//! The errors between a file and the IR: each has a place, a cause and a help.

use relais_files::FileError;
use relais_plugin_api::ir::TensorError;
use std::{fmt, io, path::PathBuf};

pub(crate) type Result<T, E = OnnxError> = std::result::Result<T, E>;

/// Why a model could not be read or written.
#[derive(Debug)]
pub struct OnnxError {
    inner: Box<Inner>,
}

#[derive(Debug)]
struct Inner {
    file: String,
    offset: Option<u64>,
    place: String,
    fault: ErrorKind,
}

/// An error in the bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum WireFault {
    /// The bytes end within a field.
    Truncated,
    /// A field claims more bytes than there are.
    PastEnd {
        /// Bytes claimed.
        len: u64,
        /// Bytes left.
        left: u64,
    },
    /// A number takes more than ten bytes.
    LongVarint,
    /// There is no field with this tag.
    Tag(u64),
    /// A group is not closed, or closed without having been opened.
    Group,
    /// No such wire type exists.
    WireType(u8),
}

/// An error in a tensor in another file.
#[derive(Debug)]
#[non_exhaustive]
pub enum ExternalFault {
    /// No `location` is given.
    NoLocation,
    /// The path is absolute or has a `..`.
    Escapes,
    /// The path leads out of the model's folder through a link.
    LeavesFolder,
    /// The file cannot be opened.
    Io(io::Error),
    /// The file is too short.
    Short {
        /// The first requested byte.
        offset: u64,
        /// The number of requested bytes.
        len: u64,
        /// Length of the file.
        file: u64,
    },
    /// `offset` or `length` is not a number.
    Number {
        /// Which one.
        key: &'static str,
    },
    /// The model was not read from a file, so there is no folder to search.
    NoFolder,
    /// Strings cannot be stored in another file.
    Strings,
}

/// The kinds of errors.
#[derive(Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A file cannot be read, written or renamed.
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        cause: io::Error,
    },
    /// A file cannot be written.
    File(FileError),
    /// The model would replace one of the files that its own weights are in.
    OwnData(String),
    /// The file has no bytes.
    Empty,
    /// The bytes are not an ONNX model at all.
    NotOnnx,
    /// The bytes are damaged.
    Wire(WireFault),
    /// A field is encoded as no ONNX file encodes it.
    WireType {
        /// Field number.
        field: u32,
        /// Wire type found.
        found: u8,
        /// Wire type expected.
        expected: u8,
    },
    /// A packed field's length is not a multiple of its element's size.
    Packed {
        /// Field number.
        field: u32,
        /// Size of an element.
        width: usize,
    },
    /// A name is not text.
    NotUtf8,
    /// Something that must be there is not.
    Missing(&'static str),
    /// No operator set is imported.
    NoOpset,
    /// An operator set's version is not a positive number of 32 bits with a sign.
    OpsetVersion {
        /// Domain.
        domain: String,
        /// Version.
        version: i64,
    },
    /// Two values of one graph have one name.
    DuplicateName(String),
    /// Two attributes of one node have one name.
    DuplicateAttribute(String),
    /// Two functions of the model have one domain, name and overload.
    DuplicateFunction(String),
    /// A name is used that nothing defines.
    UndefinedName(String),
    /// Nodes that need each other's results; their names or outputs.
    Cycle(Vec<String>),
    /// A node has more outputs than the IR can hold.
    TooManyOutputs(usize),
    /// A type is nested too deeply.
    DeepType,
    /// An attribute of another type holds a graph.
    StrayGraph(String),
    /// A tensor's type, shape and data disagree.
    Tensor(TensorError),
    /// A dimension of a tensor is negative.
    NegativeDim(i64),
    /// A tensor holds its elements in a field for other types, or in two fields.
    TensorData {
        /// Element type.
        elem: String,
        /// The field's name.
        field: &'static str,
    },
    /// A tensor in another file cannot be read.
    External {
        /// Where it should be.
        location: String,
        /// Why not.
        cause: ExternalFault,
    },
    /// A value cannot be said in ONNX.
    NotExpressible(&'static str),
    /// A call was written for another version of its operator set than the model imports.
    OpsetMismatch {
        /// The operator.
        op: String,
        /// Version the call was written for.
        version: i64,
        /// Version imported; 0 is none.
        imported: i64,
    },
    /// The model would be larger than any reader of protobuf accepts.
    TooLarge(u64),
    /// Functions call themselves, directly or through others.
    Recursive(Vec<String>),
    /// A graph is nested deeper than protobuf reads.
    TooDeep {
        /// How many graphs are around it.
        depth: usize,
        /// How many there may be.
        limit: usize,
    },
    /// There is no function `main`.
    NoMain,
    /// The model that was written is not the one that was meant: a fault of this program.
    ReadBack(String),
    /// A constant's attribute form does not fit its type.
    ConstantForm,
}

impl OnnxError {
    pub(crate) fn new(fault: ErrorKind) -> Self {
        let inner = Inner { file: String::new(), offset: None, place: String::new(), fault };
        Self { inner: Box::new(inner) }
    }

    pub(crate) fn at(offset: u64, fault: ErrorKind) -> Self {
        let mut error = Self::new(fault);
        error.inner.offset = Some(offset);
        error
    }

    /// Adds the byte, unless one is known.
    pub(crate) fn or_at(mut self, offset: u64) -> Self {
        self.inner.offset.get_or_insert(offset);
        self
    }

    /// Adds the place, unless a narrower one is known.
    pub(crate) fn within(mut self, place: impl FnOnce() -> String) -> Self {
        if self.inner.place.is_empty() {
            self.inner.place = place();
        }
        self
    }

    pub(crate) fn in_file(mut self, file: &str) -> Self {
        if self.inner.file.is_empty() {
            self.inner.file = file.into();
        }
        self
    }

    pub(crate) fn io(path: impl Into<PathBuf>, cause: io::Error) -> Self {
        Self::new(ErrorKind::Io { path: path.into(), cause })
    }

    /// Returns the kind of error.
    pub fn kind(&self) -> &ErrorKind {
        &self.inner.fault
    }

    /// The file, or the name that was given for the bytes.
    pub fn file(&self) -> &str {
        &self.inner.file
    }

    /// The byte of the model file where it went wrong.
    pub fn offset(&self) -> Option<u64> {
        self.inner.offset
    }

    /// The node, tensor or function; empty when it is the model as a whole.
    pub fn place(&self) -> &str {
        &self.inner.place
    }

    /// Returns a suggestion.
    pub fn help(&self) -> &'static str {
        self.inner.fault.help()
    }
}

impl ErrorKind {
    fn help(&self) -> &'static str {
        match self {
            Self::Io { .. } => "check the path, the permissions and the space left",
            Self::File(_) => "check the path, the permissions and the space left",
            Self::OwnData(_) => "name another file",
            Self::Empty => "the export or download may have failed; make the file again",
            Self::NotOnnx => "give a file that an exporter wrote as ONNX (a protobuf `ModelProto`)",
            Self::Wire(_) | Self::Packed { .. } => "the file is damaged or cut off; copy or export it again",
            Self::WireType { .. } => "the file is damaged or of another format; export it again",
            Self::NotUtf8 => "names must be UTF-8; the file is damaged or its exporter is at fault",
            Self::Missing(_) => "the file is damaged or its exporter is at fault",
            Self::NoOpset => "add an `opset_import` for the default domain to the model",
            Self::OpsetVersion { .. } => "operator-set versions start at 1; correct the model's `opset_import`",
            Self::DuplicateName(_) => "each value of a graph needs a name of its own; rename one of the two",
            Self::DuplicateAttribute(_) => "remove one of the two attributes",
            Self::DuplicateFunction(_) => "remove one of the two functions, or give one another overload",
            Self::UndefinedName(_) => "an input, initializer or node must define the name; the model is incomplete",
            Self::Cycle(_) => "a graph must not use a result before it exists; break the cycle",
            Self::TooManyOutputs(_) => "split the node",
            Self::DeepType => "no operator takes such a type; the file is damaged",
            Self::StrayGraph(_) => "state the attribute's type as `GRAPH` or `GRAPHS`",
            Self::Tensor(_) | Self::NegativeDim(_) => "the tensor is damaged; export the model again",
            Self::TensorData { .. } => "a tensor's elements belong in `raw_data` or in the field for their type",
            Self::External { cause, .. } => match cause {
                ExternalFault::NoLocation | ExternalFault::Number { .. } => "correct the tensor's `external_data`",
                ExternalFault::Escapes | ExternalFault::LeavesFolder => {
                    "data files must stand in the model's folder; move them there and correct `location`"
                }
                ExternalFault::Io(_) => "put the data file beside the model; the two belong together",
                ExternalFault::Short { .. } => "the data file is cut off or belongs to another model; copy it again",
                ExternalFault::NoFolder => "read the model from its file, or name the data folder",
                ExternalFault::Strings => "keep tensors of strings in the model itself",
            },
            Self::NotExpressible(_) => "a pass left something that ONNX has no form for; write `.relay` instead",
            Self::OpsetMismatch { .. } => "the pass must use the operators of the model's own version",
            Self::TooLarge(_) => "write the weights to a data file beside the model (external data)",
            Self::TooDeep { .. } => "keep a function for what is nested deepest, or write `.relay` instead",
            Self::Recursive(_) => "ONNX does not allow recursion: a `Loop` repeats",
            Self::NoMain => "a model needs a function `main`",
            Self::ReadBack(_) => {
                "this is a fault of Relais, not of the model; nothing was put in place. Please report it with the model"
            }
            Self::ConstantForm => "a pass changed the constant without changing its form; use form `ANY`",
        }
    }
}

impl fmt::Display for OnnxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { file, offset, place, fault } = &*self.inner;
        if !file.is_empty() {
            write!(f, "`{file}`: ")?;
        }
        if let Some(offset) = offset {
            write!(f, "at byte {offset}: ")?;
        }
        if !place.is_empty() {
            write!(f, "{place}: ")?;
        }
        fault.fmt(f)
    }
}

impl std::error::Error for OnnxError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.inner.fault {
            ErrorKind::Io { cause, .. } | ErrorKind::External { cause: ExternalFault::Io(cause), .. } => Some(cause),
            ErrorKind::Tensor(cause) => Some(cause),
            _ => None,
        }
    }
}

impl fmt::Display for WireFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => f.write_str("the bytes end within a field"),
            Self::PastEnd { len, left } => write!(f, "a field claims {len} bytes where {left} are left"),
            Self::LongVarint => f.write_str("a number takes more than ten bytes"),
            Self::Tag(tag) => write!(f, "there is no field with the tag {tag}"),
            Self::Group => f.write_str("a group is not closed, or not opened"),
            Self::WireType(wire) => write!(f, "there is no wire type {wire}"),
        }
    }
}

impl fmt::Display for ExternalFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoLocation => f.write_str("no `location` is given"),
            Self::Escapes => f.write_str("the path is absolute or has a `..`"),
            Self::LeavesFolder => f.write_str("the path leads out of the model's folder"),
            Self::Io(cause) => cause.fmt(f),
            Self::Short { offset, len, file } => {
                write!(f, "{len} bytes from byte {offset} on are asked for, the file has {file}")
            }
            Self::Number { key } => write!(f, "`{key}` is not a number of bytes"),
            Self::NoFolder => f.write_str("the model was not read from a folder"),
            Self::Strings => f.write_str("strings cannot be read from there"),
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { path, cause } => write!(f, "`{}`: {cause}", path.display()),
            Self::File(error) => error.fmt(f),
            Self::OwnData(path) => write!(f, "the model's own weights are in `{path}`"),
            Self::Empty => f.write_str("the file is empty"),
            Self::NotOnnx => f.write_str("this does not look like an ONNX model"),
            Self::Wire(fault) => fault.fmt(f),
            Self::WireType { field, found, expected } => {
                write!(f, "field {field} has wire type {found} where {expected} is expected")
            }
            Self::Packed { field, width } => write!(f, "field {field} does not hold whole elements of {width} bytes"),
            Self::NotUtf8 => f.write_str("a name is not UTF-8"),
            Self::Missing(what) => write!(f, "there is no {what}"),
            Self::NoOpset => f.write_str("no operator set is imported"),
            Self::OpsetVersion { domain, version } => {
                let domain = if domain.is_empty() { "ai.onnx" } else { domain };
                write!(f, "operator set `{domain}` cannot have version {version}")
            }
            Self::DuplicateName(name) => write!(f, "the name `{name}` is defined twice"),
            Self::DuplicateAttribute(name) => write!(f, "the attribute `{name}` is given twice"),
            Self::DuplicateFunction(name) => write!(f, "the function `{name}` is defined twice"),
            Self::UndefinedName(name) => write!(f, "the name `{name}` is not defined"),
            Self::Cycle(nodes) => {
                f.write_str("these nodes need each other's results: ")?;
                for (index, node) in nodes.iter().enumerate() {
                    write!(f, "{}`{node}`", if index == 0 { "" } else { ", " })?;
                }
                Ok(())
            }
            Self::TooManyOutputs(count) => write!(f, "{count} outputs are more than {}", u16::MAX),
            Self::DeepType => f.write_str("a type is nested too deeply"),
            Self::StrayGraph(name) => write!(f, "the attribute `{name}` holds a graph but states another type"),
            Self::Tensor(error) => error.fmt(f),
            Self::NegativeDim(dim) => write!(f, "a tensor cannot have the dimension {dim}"),
            Self::TensorData { elem, field } => write!(f, "elements of type `{elem}` cannot stand in `{field}`"),
            Self::External { location, cause } => write!(f, "data file `{location}`: {cause}"),
            Self::NotExpressible(what) => write!(f, "ONNX cannot express {what}"),
            Self::OpsetMismatch { op, version, imported } => {
                write!(f, "`{op}` was written for operator set {version}, the model imports {imported}")
            }
            Self::TooLarge(bytes) => write!(f, "the model would have {bytes} bytes, over protobuf's limit of 2 GiB"),
            Self::TooDeep { depth, limit } => {
                write!(
                    f,
                    "ONNX cannot express a graph that is {depth} graphs deep: protobuf reads {limit} in one another"
                )
            }
            Self::Recursive(names) => {
                f.write_str("ONNX cannot express functions that call themselves: ")?;
                for (index, name) in names.iter().enumerate() {
                    write!(f, "{}`@{name}`", if index == 0 { "" } else { ", " })?;
                }
                Ok(())
            }
            Self::NoMain => f.write_str("the module has no function `main`"),
            Self::ReadBack(what) => {
                write!(f, "internal error: what was written is not the model that was meant: {what}")
            }
            Self::ConstantForm => f.write_str("the constant does not fit the attribute it is written to"),
        }
    }
}

/// An irregularity of a model that reading corrected or ignored.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Warning {
    /// A graph's nodes were not in order, and were sorted.
    Sorted {
        /// The graph.
        graph: String,
    },
    /// An operator set is newer than this version knows.
    FutureOpset {
        /// Domain; empty is `ai.onnx`.
        domain: String,
        /// Version.
        version: i64,
    },
    /// Names hide those of enclosing graphs.
    Shadowed {
        /// The names, in order.
        names: Vec<String>,
    },
    /// Sizes below zero are stated for values.
    NegativeSizes {
        /// The names of the values, in order.
        names: Vec<String>,
    },
}

impl Warning {
    /// Adds the names of another warning of the same kind. Returns whether it is one.
    pub(crate) fn join(&mut self, other: &Self) -> bool {
        match (self, other) {
            (Self::Shadowed { names }, Self::Shadowed { names: more })
            | (Self::NegativeSizes { names }, Self::NegativeSizes { names: more }) => {
                names.extend(more.iter().cloned());
                true
            }
            _ => false,
        }
    }
}

/// The first names of a list, and how many more there are.
fn first_names(names: &[String]) -> String {
    const N_SHOWN: usize = 3;
    let shown: Vec<String> = names.iter().take(N_SHOWN).map(|name| format!("`{name}`")).collect();
    let shown = shown.join(", ");
    match names.len().saturating_sub(N_SHOWN) {
        0 => shown,
        n => format!("{shown} and {n} more"),
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sorted { graph } => write!(f, "the nodes of graph `{graph}` were not in order and have been sorted"),
            Self::FutureOpset { domain, version } => {
                let domain = if domain.is_empty() { "ai.onnx" } else { domain };
                write!(f, "operator set `{domain}` {version} is newer than what is known here")
            }
            Self::Shadowed { names } if names.len() == 1 => {
                write!(f, "the name {} hides one of an enclosing graph", first_names(names))
            }
            Self::Shadowed { names } => write!(f, "the names {} hide those of enclosing graphs", first_names(names)),
            Self::NegativeSizes { names } => {
                write!(f, "sizes below zero are stated for {}; they are read as unknown ones", first_names(names))
            }
        }
    }
}

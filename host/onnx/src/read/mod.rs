//! Reading: from the bytes of a model to an [`IRModule`], without a copy of any weight.

mod attr;
mod graph;
mod node;
mod parts;
pub(super) mod scope;
mod sort;
mod tensor;

pub(super) use graph::LAST_WITH_LISTED_INITIALIZERS;
pub(super) use parts::{Form, collect};

use super::{
    encode::encode_opset,
    error::{ErrorKind, OnnxError, Result, Warning},
    external::DataFolder,
    meta,
    names::FastMap,
    schema::{entry, function, model, opset},
    wire::{Field, Part, Scan, put_bytes, wire_type},
};
use abi_stable::std_types::RArc;
use relais_files::mapped;
use relais_plugin_api::ir::{Attr, AttrData, Blob, Function, IRModule, MAIN, ModuleAttr, Source};
use std::path::{Path, PathBuf};

/// The newest operator set of the default domain that this version knows.
const NEWEST_OPSET: i64 = 28;

/// The first version of the format whose models name their operator sets.
pub(super) const FIRST_WITH_OPSETS: i64 = 3;

/// How to read a model.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ReadOptions {
    /// The folder of data files; by default the one that contains the model.
    pub data_folder: Option<PathBuf>,
}

/// A model as read.
#[derive(Clone)]
#[non_exhaustive]
pub struct ReadModel {
    /// The model.
    pub module: IRModule,
    /// The irregularities that reading corrected or ignored.
    pub warnings: Vec<Warning>,
}

/// Reads the model in a file.
///
/// # Errors
/// Returns an error if the file cannot be read or is not a valid model.
pub fn read(path: impl AsRef<Path>, options: &ReadOptions) -> Result<IRModule> {
    Ok(read_model(path, options)?.module)
}

/// Reads the model in a file, and reports corrections.
///
/// # Errors
/// Returns an error if the file cannot be read or is not a valid model.
pub fn read_model(path: impl AsRef<Path>, options: &ReadOptions) -> Result<ReadModel> {
    let path = path.as_ref();
    let blob = mapped::read_input(path).map_err(|cause| OnnxError::io(path, cause))?;
    let folder = options.data_folder.clone().or_else(|| path.parent().map(Path::to_owned));
    read_source(&path.to_string_lossy(), blob, folder)
}

/// Reads the model in `blob`; `name` is its name in errors.
///
/// # Errors
/// Returns an error if the bytes are not a valid model.
pub fn read_bytes(name: &str, blob: Blob, options: &ReadOptions) -> Result<ReadModel> {
    read_source(name, blob, options.data_folder.clone())
}

fn read_source(name: &str, blob: Blob, folder: Option<PathBuf>) -> Result<ReadModel> {
    let source = Source { name: name.into(), bytes: blob };
    let read = read_with(&source.bytes, DataFolder::new(folder)).map_err(|error| error.in_file(name))?;
    let ReadModel { mut module, warnings } = read;
    module.sources.push(source);
    Ok(ReadModel { module, warnings })
}

/// The state shared by all parts of the reader.
pub(super) struct Cx<'a> {
    pub blob: &'a Blob,
    pub bytes: &'a [u8],
    pub ir_version: i64,
    pub data: DataFolder,
    pub warnings: Vec<Warning>,
    /// The model's functions: domain, name and overload, and the global name.
    pub functions: FastMap<(&'a str, &'a str, &'a str), String>,
}

/// The fields of a `ModelProto`, sorted out.
#[derive(Default)]
struct ModelParts {
    graph: Vec<Part>,
    functions: Vec<Part>,
    opsets: Vec<Part>,
    attrs: Vec<ModuleAttr>,
    ir_version: i64,
}

/// Whether the bytes may be a `ModelProto`: whether a known field of a model precedes the first byte that is not
/// protobuf. Fields of later versions may come first.
fn looks_like_model(bytes: &[u8]) -> bool {
    let mut scan = Scan::new(bytes, 0);
    loop {
        match scan.field() {
            Ok(Some(field)) if is_model_field(field.number, field.wire) => return true,
            Ok(Some(_)) => {}
            Ok(None) => return false,
            // Cut off within the first field: decide by the tag.
            Err(_) => {
                let [tag, ..] = *bytes else { return false };
                return is_model_field(u32::from(tag >> 3), tag & 7) && tag < 0x80;
            }
        }
    }
}

fn is_model_field(number: u32, wire: u8) -> bool {
    match number {
        model::IR_VERSION | model::MODEL_VERSION => wire == wire_type::VARINT,
        model::PRODUCER_NAME..=model::DOMAIN | model::DOC_STRING..=model::OPSET_IMPORT => wire == wire_type::LEN,
        model::METADATA_PROPS | model::TRAINING_INFO | model::FUNCTIONS | model::CONFIGURATION => {
            wire == wire_type::LEN
        }
        _ => false,
    }
}

/// Key and value of an entry, however it is encoded.
pub(super) fn entry(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (mut key, mut value) = (&[][..], &[][..]);
    let mut scan = Scan::new(bytes, 0);
    while let Some(field) = scan.field().ok()? {
        match field.number {
            entry::KEY => key = field.bytes().ok()?,
            entry::VALUE => value = field.bytes().ok()?,
            _ => {}
        }
    }
    Some((key, value))
}

/// Key and value of an entry that is encoded in the usual way.
fn plain_entry(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (key, value) = entry(bytes)?;
    let mut usual = Vec::with_capacity(bytes.len());
    put_bytes(&mut usual, entry::KEY, key);
    put_bytes(&mut usual, entry::VALUE, value);
    (usual == bytes).then_some((key, value))
}

/// Sorts a message's `metadata_props` into readable metadata, or its raw fields into `extra` where one is unusual.
pub(super) fn metadata_props(fields: &[Field<'_>], extra: &mut Vec<u8>) -> Result<Option<Attr>> {
    let mut entries = Vec::new();
    for field in fields {
        match plain_entry(field.bytes()?) {
            Some((key, value)) => entries.extend([key.to_vec(), value.to_vec()]),
            None => {
                fields.iter().for_each(|field| extra.extend_from_slice(field.raw));
                return Ok(None);
            }
        }
    }
    Ok((!entries.is_empty()).then(|| Attr::meta(meta::METADATA_PROPS, AttrData::Strings(entries))))
}

/// Sets a module attribute; it replaces an earlier one of that name, as in protobuf.
fn set_attr(attrs: &mut Vec<ModuleAttr>, attr: ModuleAttr) {
    match attrs.iter_mut().find(|old| old.name == attr.name) {
        Some(old) => *old = attr,
        None => attrs.push(attr),
    }
}

fn model_parts(bytes: &[u8]) -> Result<ModelParts> {
    let mut parts = ModelParts::default();
    let mut scan = Scan::new(bytes, 0);
    while let Some(field) = scan.field()? {
        let attrs = &mut parts.attrs;
        match field.number {
            model::IR_VERSION => {
                parts.ir_version = field.int()?;
                set_attr(attrs, ModuleAttr::int(meta::IR_VERSION, parts.ir_version));
            }
            model::PRODUCER_NAME => set_attr(attrs, ModuleAttr::bytes(meta::PRODUCER_NAME, field.bytes()?)),
            model::PRODUCER_VERSION => set_attr(attrs, ModuleAttr::bytes(meta::PRODUCER_VERSION, field.bytes()?)),
            model::DOMAIN => set_attr(attrs, ModuleAttr::bytes(meta::MODEL_DOMAIN, field.bytes()?)),
            model::MODEL_VERSION => set_attr(attrs, ModuleAttr::int(meta::MODEL_VERSION, field.int()?)),
            model::DOC_STRING => set_attr(attrs, ModuleAttr::bytes(meta::DOC_STRING, field.bytes()?)),
            model::GRAPH => parts.graph.push(field.part()?),
            model::OPSET_IMPORT => parts.opsets.push(field.part()?),
            model::FUNCTIONS => parts.functions.push(field.part()?),
            model::METADATA_PROPS => {
                let entry = plain_entry(field.bytes()?);
                let entry = entry.and_then(|(key, value)| Some((std::str::from_utf8(key).ok()?, value)));
                attrs.push(match entry {
                    Some((key, value)) => ModuleAttr::bytes(&meta::about(meta::MODEL_METADATA, key), value),
                    None => raw_field(&field),
                });
            }
            _ => attrs.push(raw_field(&field)),
        }
    }
    Ok(parts)
}

fn raw_field(field: &Field<'_>) -> ModuleAttr {
    ModuleAttr::bytes(&meta::about(meta::FIELD, &field.number.to_string()), field.raw)
}

/// Reads the model in `blob`, whose data files are in `data`. The module has no source.
pub(super) fn read_with(blob: &Blob, data: DataFolder) -> Result<ReadModel> {
    let bytes: &[u8] = blob;
    if bytes.is_empty() {
        return Err(OnnxError::new(ErrorKind::Empty));
    }
    if !looks_like_model(bytes) {
        return Err(OnnxError::at(0, ErrorKind::NotOnnx));
    }
    let ModelParts { graph, functions, opsets, attrs, ir_version } = model_parts(bytes)?;
    if graph.is_empty() {
        let is_nothing = attrs.iter().all(|attr| attr.name.starts_with(meta::FIELD));
        return Err(OnnxError::new(if is_nothing { ErrorKind::NotOnnx } else { ErrorKind::Missing("graph") }));
    }
    let mut cx = Cx { blob, bytes, ir_version, data, warnings: Vec::new(), functions: FastMap::default() };
    for &part in &functions {
        let key = function_key(bytes, part)?;
        let name = global_name(key);
        if cx.functions.insert(key, name.clone()).is_some() {
            return Err(OnnxError::at(part.at, ErrorKind::DuplicateFunction(name)));
        }
    }
    let mut module = IRModule::new();
    module.attrs = attrs.into();
    if opsets.is_empty() && ir_version >= FIRST_WITH_OPSETS {
        return Err(OnnxError::new(ErrorKind::NoOpset));
    }
    let main = graph::read_global(&mut cx, &graph, Form::Graph, &opsets)?;
    module.set_function(MAIN, RArc::new(main));
    for part in functions {
        let key = function_key(bytes, part)?;
        let name = cx.functions[&key].clone();
        let function = graph::read_global(&mut cx, &[part], Form::Function, &[])
            .map_err(|error| error.within(|| format!("function `{name}`")))?;
        module.set_function(&name, RArc::new(function));
    }
    Ok(ReadModel { module, warnings: cx.warnings })
}

/// Domain, name and overload of a `FunctionProto`.
fn function_key(bytes: &[u8], part: Part) -> Result<(&str, &str, &str)> {
    let (mut domain, mut name, mut overload) = ("", "", "");
    let mut scan = Scan::part(bytes, part);
    while let Some(field) = scan.field()? {
        match field.number {
            function::DOMAIN => domain = field.str()?,
            function::NAME => name = field.str()?,
            function::OVERLOAD => overload = field.str()?,
            _ => {}
        }
    }
    if name.is_empty() {
        return Err(OnnxError::at(part.at, ErrorKind::Missing("function name")));
    }
    Ok((relais_plugin_api::ir::normal_domain(domain), name, overload))
}

/// The global name of the function with a domain, a name and an overload.
pub(super) fn global_name((domain, name, overload): (&str, &str, &str)) -> String {
    if overload.is_empty() { format!("{domain}::{name}") } else { format!("{domain}::{name}:{overload}") }
}

/// Whether an operator set can have a version.
pub(crate) fn is_opset_version(version: i64) -> bool {
    (1..=i64::from(i32::MAX)).contains(&version)
}

/// Reads a function's operator-set imports.
pub(super) fn read_opsets(cx: &mut Cx<'_>, f: &mut Function, parts: &[Part]) -> Result<()> {
    let mut imports = Vec::new();
    let mut raws = Vec::new();
    for &part in parts {
        let (mut domain, mut version) = ("", 0);
        let mut scan = Scan::part(cx.bytes, part);
        while let Some(field) = scan.field()? {
            match field.number {
                opset::DOMAIN => domain = field.str()?,
                opset::VERSION => version = field.int()?,
                _ => {}
            }
        }
        if !is_opset_version(version) {
            return Err(OnnxError::at(part.at, ErrorKind::OpsetVersion { domain: domain.into(), version }));
        }
        if relais_plugin_api::ir::normal_domain(domain).is_empty() && version > NEWEST_OPSET {
            cx.warnings.push(Warning::FutureOpset { domain: domain.into(), version });
        }
        imports.push((domain, version));
        let raw = part.of(cx.bytes);
        raws.push(if encode_opset((domain, version)) == raw { Vec::new() } else { raw.to_vec() });
    }
    if !imports.is_empty() {
        f.set_opset_imports(&imports);
    }
    raws.truncate(raws.iter().rposition(|raw| !raw.is_empty()).map_or(0, |last| last + 1));
    if !raws.is_empty() {
        add_attrs(f, f.root(), [Attr::meta(meta::OPSET_IMPORT_RAW, AttrData::Strings(raws))]);
    }
    Ok(())
}

/// Adds attributes after those a node has.
pub(super) fn add_attrs(f: &mut Function, node: relais_plugin_api::ir::NodeId, attrs: impl IntoIterator<Item = Attr>) {
    let mut recs = f.attr_recs(node).to_vec();
    recs.extend(attrs.into_iter().map(|attr| f.encode_attr(&attr)).collect::<Vec<_>>());
    f.set_attr_recs(node, &recs);
}

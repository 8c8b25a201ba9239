//! Writing: anything that no pass touched is written byte for byte as it was read.
//!
//! The output is planned as a list of pieces (ranges of the source, bytes made here, tensors by reference), so that
//! sizes are known before the first byte is written and no weight is held in memory. Files are written as
//! [`relais_files`] writes them: a run that ends early leaves the old file unchanged, even if output and input are one
//! file. A model and its new data file are two files, which no system replaces at once. The data file comes first,
//! under a name that is free, so that the old model keeps its own data until the new one takes its place.

mod data;
mod graph;
mod imports;
mod merge;
mod names;
mod node;
mod node_names;
mod plan;
mod read_back;
mod steps;
mod tensor;

use super::{
    error::{ErrorKind, OnnxError, Result},
    meta,
    read::{FIRST_WITH_OPSETS, Form, LAST_WITH_LISTED_INITIALIZERS},
    schema::{entry, model},
    valid::{MAX_NESTED, depth, depth_of_model, field_once, is_once},
    wire::{Part, Scan, put_bytes, put_int},
};
pub use data::data_files;
use data::{MAX_MODEL, Placement, folder_of};
use graph::encoded_imports;
use merge::{Content, Item, Sections};
use names::Names;
use plan::Plan;
use read_back::Written;
use relais_files::{Destination, Existing, FileError, FileSet, mapped};
use relais_plugin_api::ir::{AttrValue, Blob, Function, IRModule, MAIN, ModuleAttr, Source, recursive};
use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    fs,
    io::Write,
    path::{Path, PathBuf},
};
use steps::{FunctionKey, Scene, Step, Writer};

/// The version of the format for a model without one: the first with all of today's types.
const DEFAULT_IR_VERSION: i64 = 10;

/// The first version of the format in which initializers need not also be inputs.
const FIRST_WITH_INITIALIZERS: i64 = LAST_WITH_LISTED_INITIALIZERS + 1;

/// The first version of the format whose models have their own functions.
const FIRST_WITH_FUNCTIONS: i64 = 8;

/// Where the elements of tensors go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ExternalData {
    /// Tensors stay in the model or in a data file, as they were, and those of at least `threshold` bytes move to a data
    /// file when the model would come near protobuf's 2 GiB. The output has data files of its own, unless it takes the
    /// place of the input.
    Auto {
        /// Bytes from which a tensor moves.
        threshold: u64,
    },
    /// As for `Auto`; and an output in the folder of the input goes on using the input's data files.
    Keep {
        /// Bytes from which a tensor moves.
        threshold: u64,
    },
    /// Everything in the model itself.
    Inline,
    /// Initializers of at least `min_bytes` bytes in a data file.
    External {
        /// Bytes from which a tensor moves.
        min_bytes: u64,
    },
}

impl Default for ExternalData {
    fn default() -> Self {
        Self::Auto { threshold: 1024 }
    }
}

/// The values inside graphs whose types are written (`value_info`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum StatedTypes {
    /// Those whose types the model stated when it was read.
    #[default]
    AsRead,
    /// Those of graphs whose types are known, ranks included, and those of functions as for `AsRead`.
    Known,
}

/// How to write a model.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct WriteOptions {
    /// Where the elements of tensors go.
    pub external_data: ExternalData,
    /// Which values inside graphs have their types written.
    pub stated_types: StatedTypes,
}

impl WriteOptions {
    /// With another place for the elements of tensors.
    pub fn with_external_data(self, external_data: ExternalData) -> Self {
        Self { external_data, ..self }
    }

    /// With the types of other values.
    pub fn with_stated_types(self, stated_types: StatedTypes) -> Self {
        Self { stated_types, ..self }
    }
}

/// The results of writing.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct WriteReport {
    /// Bytes of the model file.
    pub model_bytes: u64,
    /// Of those, bytes that are the source's.
    pub source_bytes: u64,
    /// Nodes that were copied.
    pub n_untouched: usize,
    /// The number of newly encoded nodes.
    pub n_encoded: usize,
    /// Data files that were written, and their bytes.
    pub data_files: Vec<(PathBuf, u64)>,
    /// Data files of the source that the output continues to use.
    pub shared_files: Vec<PathBuf>,
    /// The bytes that went into a pipe or a device, from which they cannot be read again.
    pub sent: Option<Blob>,
}

/// Writes a model to a file; with external data, beside a file `OUT.data`. Before it is put in place, it is read back and
/// compared with the module.
///
/// Tensors that were in a data file stay there if the output takes the place of the input, or is in its folder and
/// [`ExternalData::Keep`] lets them share it. In another folder the data file is copied along if at least nine tenths of it
/// are still in use and the folder has no other file of that name. Otherwise they go to a new data file.
///
/// # Errors
/// Returns an error if ONNX cannot express the module or a file cannot be written. No file is changed then.
pub fn write(module: &IRModule, path: impl AsRef<Path>, options: &WriteOptions) -> Result<WriteReport> {
    let path = path.as_ref();
    let name = path.to_string_lossy();
    write_files(module, path, options).map_err(|error| error.in_file(&name))
}

/// Writes a model with all its weights to `out`, after its bytes were read back and compared with the module.
///
/// # Errors
/// Returns an error if ONNX cannot express the module, or `out` fails.
pub fn write_to(module: &IRModule, out: &mut impl Write) -> Result<WriteReport> {
    let writer = plan(module, Placement::inline(), StatedTypes::default())?;
    let (bytes, _) = whole_model(&writer, Path::new(""))?;
    out.write_all(&bytes).and_then(|()| out.flush()).map_err(|cause| OnnxError::io("", cause))?;
    Ok(report(&writer))
}

/// The bytes of a model with all its weights, and what was read back from them.
fn whole_model(writer: &Writer<'_>, named: &Path) -> Result<(Blob, IRModule)> {
    let mut bytes = Vec::with_capacity(writer.plan.size() as usize);
    writer.plan.write_to(&mut bytes).map_err(|cause| OnnxError::io(named, cause))?;
    let model = Blob::from(bytes);
    let read = writer.read_back(Written { model: model.clone(), folder: None, files: BTreeMap::new() })?;
    Ok((model, read))
}

fn report(writer: &Writer<'_>) -> WriteReport {
    WriteReport {
        model_bytes: writer.plan.size(),
        source_bytes: writer.plan.source_bytes(),
        n_untouched: writer.n_untouched,
        n_encoded: writer.n_encoded,
        data_files: Vec::new(),
        shared_files: writer.placement.shared.clone(),
        sent: None,
    }
}

fn write_files(module: &IRModule, path: &Path, options: &WriteOptions) -> Result<WriteReport> {
    let at = |error: FileError| OnnxError::new(ErrorKind::File(error));
    let destination = Destination::new(path, Existing::Replace).map_err(at)?;
    write_destination(module, &destination, options)
}

/// As [`write`](write()), to a destination that may not be a file.
///
/// # Errors
/// Returns an error if ONNX cannot express the module or it cannot be written. No file is changed then.
pub fn write_destination(module: &IRModule, destination: &Destination, options: &WriteOptions) -> Result<WriteReport> {
    let written = write_through(module, destination, options, &|_| (), &mut |_| true)?;
    Ok(written.expect("what is written is accepted"))
}

/// As [`write_destination`], if `accept` returns true for the module that was read back from what was written. Returns `None`
/// otherwise; then no file is changed.
///
/// # Errors
/// As for [`write_destination`].
pub fn write_if(
    module: &IRModule,
    destination: &Destination,
    options: &WriteOptions,
    accept: &mut dyn FnMut(&IRModule) -> bool,
) -> Result<Option<WriteReport>> {
    write_through(module, destination, options, &|_| (), accept)
}

/// Writes a model. The first function is called with each file that is complete except for its place, before it is read back,
/// and the second with what was read back.
fn write_through(
    module: &IRModule,
    destination: &Destination,
    options: &WriteOptions,
    written: &dyn Fn(&Path),
    accept: &mut dyn FnMut(&IRModule) -> bool,
) -> Result<Option<WriteReport>> {
    let at = |error: FileError| OnnxError::new(ErrorKind::File(error));
    // A pipe or a device has no folder for data files.
    let Some(path) = destination.file() else {
        let writer = plan(module, Placement::inline(), options.stated_types)?;
        let (bytes, mut read) = whole_model(&writer, destination.named())?;
        read.sources.push(Source { name: destination.named().to_string_lossy().as_ref().into(), bytes: bytes.clone() });
        if !accept(&read) {
            return Ok(None);
        }
        destination.write(|out| out.write_all(&bytes)).map_err(at)?;
        return Ok(Some(WriteReport { sent: Some(bytes), ..report(&writer) }));
    };
    let writer = plan(module, Placement::new(module, options.external_data, path)?, options.stated_types)?;
    let folder = folder_of(path);
    let mut report = report(&writer);
    let mut taken = Vec::new();
    for takeover in &writer.placement.takeovers {
        let mut plan = Plan::new(Blob::default());
        plan.blob(&takeover.bytes);
        taken.push((&takeover.location, plan));
    }
    let mut data: Vec<(&String, &Plan)> = taken.iter().map(|(location, plan)| (*location, plan)).collect();
    if writer.placement.data.size() > 0 {
        data.push((&writer.placement.location, &writer.placement.data));
    }
    let mut files = FileSet::new();
    let mut add = |destination: &Destination, plan: &Plan| {
        let file = files.add(destination).map_err(at)?;
        plan.write_to_file(file).map_err(|cause| OnnxError::io(destination.named(), cause))?;
        let draft = files.path().expect("a file was added");
        written(draft);
        mapped::map_file(draft).map_err(|cause| OnnxError::io(draft, cause))
    };
    let mut drafts = BTreeMap::new();
    for (location, plan) in data {
        let target = folder.join(location);
        if let Some(folder) = target.parent() {
            fs::create_dir_all(folder).map_err(|cause| OnnxError::io(folder, cause))?;
        }
        let bytes = add(&Destination::new(&target, Existing::Keep).map_err(at)?, plan)?;
        drafts.insert(location.clone(), bytes);
        report.data_files.push((target, plan.size()));
    }
    let model = add(destination, &writer.plan)?;
    if let Some(own_name) = path.file_name().and_then(OsStr::to_str) {
        drafts.insert(own_name.to_owned(), model.clone());
    }
    let source = Source { name: path.to_string_lossy().as_ref().into(), bytes: model.clone() };
    let mut read = writer.read_back(Written { model, folder: Some(folder.to_owned()), files: drafts })?;
    read.sources.push(source);
    if !accept(&read) {
        return Ok(None);
    }
    files.commit().map_err(at)?;
    Ok(Some(report))
}

/// Domain, name and overload of a model-local function; its domain is the given one if it has none.
fn function_key(global: &str, f: &Function, default_domain: &str) -> FunctionKey {
    let attrs = f.attrs(f.root());
    let text = |key| match attrs.meta(key) {
        Some(AttrValue::String(text)) => Some(String::from_utf8_lossy(text).into_owned()),
        _ => None,
    };
    let (own_domain, own_name) = (text(meta::DOMAIN), text(meta::FUNCTION_NAME));
    // The function's own record decides where the name is split: its parts may contain colons.
    let after_domain = own_domain.as_deref().and_then(|domain| global.strip_prefix(domain)?.strip_prefix("::"));
    let (domain, rest) = match after_domain {
        Some(rest) => ("", rest),
        None => global.split_once("::").unwrap_or((default_domain, global)),
    };
    let after_name = own_name.as_deref().and_then(|name| rest.strip_prefix(name));
    let (name, overload) = match after_name {
        Some("") => (rest, ""),
        Some(more) if more.starts_with(':') => (rest, &more[1..]),
        _ => rest.split_once(':').unwrap_or((rest, "")),
    };
    FunctionKey {
        overload: text(meta::OVERLOAD).unwrap_or_else(|| overload.into()),
        name: own_name.unwrap_or_else(|| name.into()),
        domain: own_domain.unwrap_or_else(|| domain.into()),
    }
}

/// The model that a module was read from, if any.
fn source_of(module: &IRModule) -> &[u8] {
    let Some(source) = module.sources.first() else { return &[] };
    let mut has_graph = false;
    let mut scan = Scan::new(&source.bytes, 0);
    loop {
        match scan.field() {
            Ok(Some(field)) => has_graph |= field.number == model::GRAPH && field.part().is_ok(),
            Ok(None) if has_graph => return &source.bytes,
            _ => return &[],
        }
    }
}

/// Whether a model comes with functions, whatever its version of the format says.
fn has_functions(source: &[u8]) -> bool {
    let mut scan = Scan::new(source, 0);
    std::iter::from_fn(|| scan.field().ok().flatten()).any(|field| field.number == model::FUNCTIONS)
}

fn plan(module: &IRModule, placement: Placement, stated_types: StatedTypes) -> Result<Writer<'_>> {
    let main = module.main().ok_or_else(|| OnnxError::new(ErrorKind::NoMain))?;
    if let Some(names) = recursive(module) {
        return Err(OnnxError::new(ErrorKind::Recursive(names)));
    }
    let source = source_of(module);
    let deepest = module.functions().map(|(_, f)| depth(f)).max().unwrap_or(0);
    // Not worse than the input: runtimes may have their own limits.
    if deepest > MAX_NESTED && deepest > depth_of_model(source).unwrap_or(0) {
        return Err(OnnxError::new(ErrorKind::TooDeep { depth: deepest, limit: MAX_NESTED }));
    }
    let blob = module.sources.first().map(|source| source.bytes.clone()).unwrap_or_default();
    let own_domain = imports::own_domain(module);
    let (mut functions, mut keys) = (BTreeMap::new(), BTreeSet::new());
    let mut globals = vec![MAIN];
    let mut scenes = vec![Scene::new(main, Names::new(main)?, Form::Graph)];
    for global in module.globals() {
        let Some(f) = global.function() else {
            let error = OnnxError::new(ErrorKind::NotExpressible("a prim func"));
            return Err(error.within(|| format!("function `{}`", global.name)));
        };
        if global.name == MAIN {
            continue;
        }
        let key = function_key(&global.name, f, &own_domain);
        if !keys.insert((key.domain.clone(), key.name.clone(), key.overload.clone())) {
            return Err(OnnxError::new(ErrorKind::DuplicateFunction(global.name.to_string())));
        }
        functions.insert(global.name.as_str(), key);
        globals.push(&global.name);
        let names = Names::new(f).map_err(|error| error.within(|| format!("function `{}`", global.name)))?;
        scenes.push(Scene::new(f, names, Form::Function));
    }
    let stated = module.attr(meta::IR_VERSION).and_then(ModuleAttr::as_int);
    let ir_version = match stated {
        Some(FIRST_WITH_INITIALIZERS..FIRST_WITH_FUNCTIONS) if globals.len() > 1 && !has_functions(source) => {
            FIRST_WITH_FUNCTIONS
        }
        Some(version) => version,
        None if source.is_empty() => DEFAULT_IR_VERSION,
        None => 0,
    };
    if main.opset_imports().is_empty() && ir_version >= FIRST_WITH_OPSETS {
        return Err(OnnxError::new(ErrorKind::NoOpset));
    }
    let further = imports::further(&scenes, &functions)?;
    for (scene, imports) in scenes.iter_mut().zip(further) {
        scene.imports = imports;
    }
    let mut writer = Writer {
        module,
        source,
        ir_version,
        scenes,
        globals,
        current: 0,
        functions,
        placement,
        stated_types,
        plan: Plan::new(blob),
        n_untouched: 0,
        n_encoded: 0,
    };
    let steps = writer.model_steps()?;
    writer.run(steps)?;
    if writer.plan.size() > MAX_MODEL {
        return Err(OnnxError::new(ErrorKind::TooLarge(writer.plan.size())));
    }
    Ok(writer)
}

/// One module attribute as a field of the model.
fn model_field(attr: &ModuleAttr) -> Option<(u32, Vec<u8>)> {
    let mut bytes = Vec::new();
    if let Some(number) = field_once(&attr.name) {
        match (attr.as_int(), attr.as_bytes()) {
            (Some(value), _) => put_int(&mut bytes, number, value),
            (_, Some(value)) => put_bytes(&mut bytes, number, value),
            _ => return None,
        }
        return Some((number, bytes));
    }
    let (key, name) = attr.name.as_str().split_once(':')?;
    match key {
        meta::MODEL_METADATA => {
            let mut pair = Vec::new();
            put_bytes(&mut pair, entry::KEY, name.as_bytes());
            put_bytes(&mut pair, entry::VALUE, attr.as_bytes()?);
            put_bytes(&mut bytes, model::METADATA_PROPS, &pair);
            Some((model::METADATA_PROPS, bytes))
        }
        meta::FIELD => Some((name.parse().ok()?, attr.as_bytes()?.to_vec())),
        _ => None,
    }
}

impl Writer<'_> {
    /// The global name of a scene's function.
    fn global_of(&self, scene: usize) -> &str {
        self.globals[scene]
    }

    fn model_steps(&mut self) -> Result<Vec<Step>> {
        let mut sections = Sections::default();
        for attr in &self.module.attrs {
            let is_renewed = attr.name == meta::IR_VERSION && attr.as_int() != Some(self.ir_version);
            let renewed = is_renewed.then(|| ModuleAttr::int(meta::IR_VERSION, self.ir_version));
            match model_field(renewed.as_ref().unwrap_or(attr)) {
                Some((number, bytes)) if is_once(number) => sections.add_one(number, bytes),
                Some((number, bytes)) => sections.add(number, Item::field(bytes)),
                None => {}
            }
        }
        if self.source.is_empty() && self.module.attr(meta::IR_VERSION).is_none() && self.ir_version != 0 {
            let mut bytes = Vec::new();
            put_int(&mut bytes, model::IR_VERSION, self.ir_version);
            sections.add_one(model::IR_VERSION, bytes);
        }
        let mut graphs = Vec::new();
        let mut scan = Scan::new(self.source, 0);
        while let Some(field) = scan.field()? {
            if field.number == model::GRAPH {
                graphs.push(field.part()?);
            }
        }
        let main = self.scenes[0].f;
        let lists = self.graph_steps(0, main.root(), &graphs)?;
        for (index, list) in lists.into_iter().enumerate() {
            let content = std::iter::once(Step::Use(0)).chain(list).collect();
            sections.add(model::GRAPH, Item { content: Content::Message(content), at: graphs.get(index).copied() });
        }
        for import in encoded_imports(main, &self.scenes[0].imports) {
            let mut bytes = Vec::new();
            put_bytes(&mut bytes, model::OPSET_IMPORT, &import);
            sections.add(model::OPSET_IMPORT, Item::field(bytes));
        }
        for scene in 1..self.scenes.len() {
            let f = self.scenes[scene].f;
            let span = f.span(f.root()).filter(|span| span.source == 1);
            let at = span.map(|span| Part { at: span.offset, len: span.len.into() });
            let segments: Vec<Part> = at.into_iter().collect();
            let steps = self.graph_steps(scene, f.root(), &segments);
            let steps = steps.map_err(|error| error.within(|| format!("function `{}`", self.global_of(scene))))?;
            let content = std::iter::once(Step::Use(scene)).chain(steps.into_iter().flatten()).collect();
            sections.add(model::FUNCTIONS, Item { content: Content::Message(content), at });
        }
        let whole = Part { at: 0, len: self.source.len() as u64 };
        let segments = if self.source.is_empty() { Vec::new() } else { vec![whole] };
        Ok(self.merge(sections, &segments, None)?.into_iter().flatten().collect())
    }
}

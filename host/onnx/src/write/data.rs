//! The tensors that are stored in a data file, and the path of that file.

use super::{ExternalData, plan::Plan};
use crate::{
    error::{ErrorKind, OnnxError, Result},
    meta,
    read::entry,
    schema::tensor,
    wire::{Part, Scan},
};
use relais_files::{is_same_file, mapped};
use relais_plugin_api::ir::{AttrValue, Blob, ConstId, ElemType, Function, IRModule, Source, Tensor, attr_kind, kind};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    fs,
    path::{Component, Path, PathBuf},
};

/// Protobuf's limit for one message.
pub(super) const MAX_MODEL: u64 = i32::MAX as u64;

/// The part of this limit for everything except tensors before they move to a data file.
const HEADROOM: u64 = 64 << 20;

/// Tensors from here on start at a page.
const PAGE: u64 = 4096;

/// The most elements of lists of sizes or axes. In a data file, ONNX's type inference does not read them, but refuses the
/// model: they go into it once a call takes them that was not read with them.
const MOST_LISTED: u64 = 64;

/// Where a tensor's elements go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// Into the model.
    Inline,
    /// They stay where the source's `external_data` refers to.
    Kept,
    /// To this byte of the new data file.
    Data(u64),
}

/// A data file that is taken over whole.
pub(super) struct Takeover {
    pub bytes: Blob,
    /// Its path from the model's folder.
    pub location: String,
}

/// The decisions for one model.
pub(super) struct Placement {
    min_bytes: Option<u64>,
    keeps_external: bool,
    /// Whether the output may use a data file of the input: it takes the input's place, or that was asked for.
    shares: bool,
    /// Paths of data files that the output continues to use.
    kept: BTreeSet<String>,
    pub takeovers: Vec<Takeover>,
    /// Files that are kept where they are.
    pub shared: Vec<PathBuf>,
    /// The name of the new data file, as written in the model.
    pub location: String,
    /// The new data file.
    pub data: Plan,
    offsets: HashMap<Bytes, u64>,
    /// Those from a data file that go into the model.
    inlined: HashSet<Bytes>,
}

/// The address of the bytes of a tensor, and their number.
type Bytes = (usize, usize);

fn bytes_of(tensor: &Tensor) -> Option<Bytes> {
    tensor.as_dense().map(|blob| (blob.as_ptr() as usize, blob.len()))
}

/// The lists from data files that calls take which were made or changed.
fn newly_taken(f: &Function) -> impl Iterator<Item = Bytes> {
    let calls = f.all_bindings().filter(|&id| f.kind(id) == kind::CALL && !f.is_pristine(id));
    let constants = calls.flat_map(|id| f.operands(id)).filter_map(|&id| Some((id, f.stored_constant(id)?)));
    let is_from_file =
        |id, tensor| source_location(tensor).is_some() || f.attrs(id).meta(meta::EXTERNAL_DATA).is_some();
    let is_list = |tensor: &Tensor| {
        matches!(tensor.elem(), ElemType::INT64 | ElemType::INT32)
            && tensor.dims().len() <= 1
            && tensor.len() <= MOST_LISTED
    };
    let lists = constants.filter(move |&(id, tensor)| is_list(tensor) && is_from_file(id, tensor));
    lists.filter_map(|(_, tensor)| bytes_of(tensor))
}

/// The `location` of a tensor that was read from another file.
pub(super) fn source_location(tensor: &Tensor) -> Option<String> {
    let mut location = None;
    let mut is_external = false;
    let mut scan = Scan::new(tensor.encoded(), 0);
    while let Ok(Some(field)) = scan.field() {
        match field.number {
            tensor::DATA_LOCATION => is_external = field.int().is_ok_and(|place| place == tensor::EXTERNAL),
            tensor::EXTERNAL_DATA => {
                if let Some((b"location", value)) = field.bytes().ok().and_then(entry) {
                    location = String::from_utf8(value.to_vec()).ok();
                }
            }
            _ => {}
        }
    }
    location.filter(|_| is_external)
}

/// The tensors of the nodes in a function's blocks and of its parameters.
fn live_tensors(f: &Function) -> Vec<&Tensor> {
    let mut tensors = Vec::new();
    let mut functions = vec![f.root()];
    while let Some(function) = functions.pop() {
        for &node in f.operands(function).iter().chain(f.bindings(f.block_of(function))) {
            tensors.extend(f.stored_constant(node).or_else(|| f.default_value(node)));
            if !matches!(f.kind(node), kind::CALL | kind::IF) {
                continue;
            }
            functions.extend(f.regions(node));
            let attrs = f.attrs(node);
            for &rec in attrs.recs() {
                match (rec.kind, attrs.decode(rec)) {
                    (attr_kind::TENSOR, _) => tensors.push(f.tensor(ConstId(rec.a))),
                    (attr_kind::TENSORS, AttrValue::Tensors(list)) => tensors.extend(list.tensors()),
                    _ => {}
                }
            }
        }
    }
    tensors
}

/// The files besides its own that a model has its weights in.
pub fn data_files(module: &IRModule) -> BTreeSet<String> {
    let tensors = module.functions().flat_map(|(_, f)| live_tensors(f));
    tensors.filter_map(|tensor| data_file(tensor).map(str::to_owned)).collect()
}

/// The file besides the model's that a tensor's elements are in.
fn data_file(tensor: &Tensor) -> Option<&str> {
    source_location(tensor)?;
    Some(tensor.as_dense()?.file()?.path)
}

/// The tensors that came from one data file.
struct Group<'a> {
    location: String,
    stamp: u64,
    is_uniform: bool,
    used: BTreeMap<u64, u64>,
    tensor: &'a Tensor,
}

impl Placement {
    /// Everything in the model.
    pub fn inline() -> Self {
        Self {
            min_bytes: None,
            keeps_external: false,
            shares: false,
            kept: BTreeSet::new(),
            takeovers: Vec::new(),
            shared: Vec::new(),
            location: String::new(),
            data: Plan::new(Blob::default()),
            offsets: HashMap::new(),
            inlined: HashSet::new(),
        }
    }

    /// Decides for a model that is written to `out`.
    ///
    /// # Errors
    /// Returns an error if `out` is a data file of the model: replacing it would lose data of the output.
    pub fn new(module: &IRModule, options: ExternalData, out: &Path) -> Result<Self> {
        let mut placement = Self::inline();
        let tensors: Vec<&Tensor> = module.functions().flat_map(|(_, f)| live_tensors(f)).collect();
        // Readers count bytes with a sign, and so do files.
        if tensors.iter().any(|tensor| i64::try_from(tensor.byte_len()).is_err()) {
            return Err(OnnxError::new(ErrorKind::NotExpressible("a tensor of 2^63 bytes or more")));
        }
        let files: BTreeSet<&str> = tensors.iter().filter_map(|tensor| data_file(tensor)).collect();
        if let Some(path) = files.into_iter().find(|path| is_same_file(Path::new(path), out)) {
            return Err(OnnxError::new(ErrorKind::OwnData(path.into())));
        }
        if options == ExternalData::Inline {
            return Ok(placement);
        }
        placement.keeps_external = true;
        let takes_its_place = |source: &Source| is_same_file(Path::new(source.name.as_str()), out);
        placement.shares =
            matches!(options, ExternalData::Keep { .. }) || module.sources.first().is_some_and(takes_its_place);
        let folder = folder_of(out);
        let mut groups: BTreeMap<&str, Group<'_>> = BTreeMap::new();
        let mut inline_bytes = 0u64;
        for tensor in tensors {
            let file = tensor.as_dense().and_then(Blob::file);
            let (Some(location), Some(file)) = (source_location(tensor), file) else {
                inline_bytes = inline_bytes.saturating_add(tensor.byte_len());
                continue;
            };
            let group = groups.entry(file.path).or_insert_with(|| Group {
                location: location.clone(),
                stamp: file.stamp,
                is_uniform: true,
                used: BTreeMap::new(),
                tensor,
            });
            group.is_uniform &= group.location == location && group.stamp == file.stamp;
            let end = group.used.entry(file.start).or_default();
            *end = tensor.byte_len().max(*end);
        }
        placement.min_bytes = match options {
            ExternalData::External { min_bytes } => Some(min_bytes),
            ExternalData::Auto { threshold } | ExternalData::Keep { threshold }
                if inline_bytes > MAX_MODEL - HEADROOM =>
            {
                Some(threshold)
            }
            _ => None,
        };
        placement.inlined = module.functions().flat_map(|(_, f)| newly_taken(f)).collect();
        for (path, group) in groups {
            placement.keep_or_take_over(out, path, &group);
        }
        placement.location = fresh_name(folder, out, &placement.takeovers);
        Ok(placement)
    }

    /// Keeps a data file that the output finds where the input found it, if the two may share it; takes over one of
    /// another folder that is in use as a whole, and otherwise leaves its tensors to the new data file.
    fn keep_or_take_over(&mut self, out: &Path, path: &str, group: &Group<'_>) {
        if !group.is_uniform {
            return;
        }
        let folder = folder_of(out);
        let target = folder.join(&group.location);
        // A model that was its own data file would be read as weights.
        if is_same_file(&target, out) {
            return;
        }
        let resolved = target.canonicalize();
        if resolved.is_ok() && resolved.ok() == Path::new(path).canonicalize().ok() {
            if self.shares {
                self.kept.insert(path.to_owned());
                self.shared.push(target);
            }
            return;
        }
        let Ok(bytes) = mapped::map_file(Path::new(path)) else { return };
        if bytes.file().map(|file| file.stamp) != Some(group.stamp) || group.tensor.is_empty() {
            return;
        }
        let used: u64 = group.used.values().sum();
        if used < bytes.len() as u64 / 10 * 9 {
            return;
        }
        if target.exists() {
            let is_same = mapped::map_file(&target).is_ok_and(|there| *there == *bytes);
            if is_same {
                self.kept.insert(path.to_owned());
                self.shared.push(target);
            }
            return;
        }
        self.kept.insert(path.to_owned());
        self.takeovers.push(Takeover { bytes, location: group.location.clone() });
    }

    /// The place of a tensor; `is_weight` for those that may move to a data file.
    pub fn place(&mut self, tensor: &Tensor, is_weight: IsWeight, was_external: bool) -> Place {
        let bytes = tensor.byte_len();
        let key = bytes_of(tensor);
        if key.is_some_and(|key| self.inlined.contains(&key)) {
            return Place::Inline;
        }
        let file = tensor.as_dense().and_then(Blob::file);
        let is_from_file = source_location(tensor).is_some();
        let goes_out = if is_from_file || was_external {
            if is_from_file && file.is_some_and(|file| self.kept.contains(file.path)) {
                return Place::Kept;
            }
            self.keeps_external
        } else {
            is_weight == IsWeight::Yes && self.min_bytes.is_some_and(|min| bytes >= min)
        };
        if !goes_out || bytes == 0 || tensor.elem() == ElemType::STRING {
            return Place::Inline;
        }
        if let Some(&offset) = key.and_then(|key| self.offsets.get(&key)) {
            return Place::Data(offset);
        }
        self.data.align(if bytes >= PAGE { PAGE } else { 64 });
        let offset = self.data.size();
        self.data.elements(tensor);
        self.offsets.extend(key.map(|key| (key, offset)));
        Place::Data(offset)
    }
}

/// Whether a tensor is an initializer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum IsWeight {
    Yes,
    No,
}

/// The folder of a file.
pub(super) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A name for a data file beside `out` that is not in use yet, nor for a file that is taken over.
fn fresh_name(folder: &Path, out: &Path, takeovers: &[Takeover]) -> String {
    let base = out.file_name().map_or_else(|| "model".into(), |name| name.to_string_lossy());
    let numbered = (1u32..).map(|number| format!("{base}.{number}.data"));
    let mut names = std::iter::once(format!("{base}.data")).chain(numbered);
    let is_taken = |name: &str| {
        let mut locations = takeovers.iter().map(|takeover| Path::new(&takeover.location));
        locations.any(|location| {
            location.components().filter(|it| *it != Component::CurDir).eq(Path::new(name).components())
        })
    };
    let is_free = |name: &String| fs::symlink_metadata(folder.join(name)).is_err() && !is_taken(name);
    names.find(is_free).expect("some number is free")
}

/// The fields of an encoded tensor other than those that locate its elements.
pub(super) fn other_fields(encoded: &[u8], dropped: &[u32]) -> Result<Vec<Part>> {
    let mut parts = Vec::new();
    let mut scan = Scan::new(encoded, 0);
    while let Some(field) = scan.field()? {
        if !dropped.contains(&field.number) {
            parts.push(field.whole());
        }
    }
    Ok(parts)
}

//! Attributes: as they are read from a node, and as they are added to one.

use super::{
    node::{attr_flag, attr_kind},
    *,
};
use std::borrow::Cow;

/// The names of the metadata that tells people what a node is. The call that takes a call's place takes it over.
pub mod description {
    /// Of a node: its name in a model, by which tools list and measure it.
    pub const NAME: &str = "name";
    /// Of a node or function: the documentation string.
    pub const DOC: &str = "doc";
    /// Of a node or function: keys and values, alternating.
    pub const METADATA_PROPS: &str = "metadata_props";
    /// All of them.
    pub const ALL: [&str; 3] = [NAME, DOC, METADATA_PROPS];
}

/// An attribute value, seen in its function.
#[non_exhaustive]
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum AttrValue<'a> {
    /// A 32-bit float.
    Float(f32),
    /// A 64-bit integer.
    Int(i64),
    /// A byte string.
    String(&'a [u8]),
    /// A tensor.
    Tensor(&'a Tensor),
    /// A function operand of the node.
    Graph(NodeId),
    /// Floats.
    Floats(Words<'a>),
    /// Integers.
    Ints(Words<'a>),
    /// Byte strings.
    Strings(Words<'a>),
    /// Tensors.
    Tensors(Words<'a>),
    /// Function operands of the node.
    Graphs(&'a [NodeId]),
    /// An encoded sparse tensor.
    SparseTensor(&'a [u8]),
    /// Encoded sparse tensors.
    SparseTensors(Words<'a>),
    /// A type.
    Type(TypeId),
    /// Types.
    Types(Words<'a>),
    /// The attribute of this name of the enclosing function; `kind` is one of [`attr_kind`].
    Ref {
        /// The attribute's name in the enclosing function.
        name: &'a str,
        /// The kind of attribute that it represents.
        kind: u8,
    },
    /// Bytes of a kind that only the reader knows.
    Raw(&'a [u8]),
    /// A kind that this version of the library does not know; carried unchanged.
    Other(u8),
}

impl AttrValue<'_> {
    /// The value, to be given to a node of the same function; `None` for functions, which belong to their node, and for
    /// kinds that this version does not know.
    pub fn to_data(self) -> Option<AttrData> {
        Some(match self {
            Self::Float(value) => AttrData::Float(value),
            Self::Int(value) => AttrData::Int(value),
            Self::String(value) => AttrData::String(value.to_vec()),
            Self::Tensor(value) => AttrData::Tensor(value.clone()),
            Self::Floats(values) => AttrData::Floats(values.floats().collect()),
            Self::Ints(values) => AttrData::Ints(values.ints().collect()),
            Self::Strings(values) => AttrData::Strings(values.strings().map(<[u8]>::to_vec).collect()),
            Self::Tensors(values) => AttrData::Tensors(values.tensors().cloned().collect()),
            Self::SparseTensor(value) => AttrData::SparseTensor(value.to_vec()),
            Self::SparseTensors(values) => AttrData::SparseTensors(values.strings().map(<[u8]>::to_vec).collect()),
            Self::Type(value) => AttrData::Type(value),
            Self::Types(values) => AttrData::Types(values.types().collect()),
            Self::Ref { name, kind } => AttrData::Ref { name: name.to_owned(), kind },
            Self::Raw(value) => AttrData::Raw(value.to_vec()),
            Self::Graph(_) | Self::Graphs(_) | Self::Other(_) => return None,
        })
    }
}

/// The values of a list-valued attribute, in the function's pools.
#[derive(Clone, Copy)]
pub struct Words<'a> {
    function: &'a Function,
    words: &'a [u32],
}

impl<'a> Words<'a> {
    /// The values of `Floats`.
    pub fn floats(self) -> impl ExactSizeIterator<Item = f32> + 'a {
        self.words.iter().map(|&word| f32::from_bits(word))
    }

    /// The values of `Ints`.
    pub fn ints(self) -> impl ExactSizeIterator<Item = i64> + 'a {
        self.words.chunks_exact(2).map(|pair| (u64::from(pair[0]) | u64::from(pair[1]) << 32) as i64)
    }

    /// The values of `Strings` and `SparseTensors`.
    pub fn strings(self) -> impl ExactSizeIterator<Item = &'a [u8]> + 'a {
        self.words.iter().map(move |&word| self.function.bytes(StrId(word)))
    }

    /// The values of `Tensors`.
    pub fn tensors(self) -> impl ExactSizeIterator<Item = &'a Tensor> + 'a {
        self.words.iter().map(move |&word| self.function.tensor(ConstId(word)))
    }

    /// The values of `Types`.
    pub fn types(self) -> impl ExactSizeIterator<Item = TypeId> + 'a {
        self.words.iter().map(|&word| TypeId(word))
    }

    /// The raw words.
    pub fn raw(self) -> &'a [u32] {
        self.words
    }
}

impl PartialEq for Words<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.words == other.words
    }
}

impl std::fmt::Debug for Words<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.words.fmt(f)
    }
}

/// The default value of an attribute.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum AttrDefault {
    /// A float.
    Float(f32),
    /// An integer.
    Int(i64),
    /// A string.
    String(String),
    /// Floats.
    Floats(Vec<f32>),
    /// Integers.
    Ints(Vec<i64>),
    /// Strings.
    Strings(Vec<String>),
}

impl From<AttrDefault> for AttrData {
    fn from(default: AttrDefault) -> Self {
        match default {
            AttrDefault::Float(value) => Self::Float(value),
            AttrDefault::Int(value) => Self::Int(value),
            AttrDefault::String(value) => Self::String(value.into()),
            AttrDefault::Floats(values) => Self::Floats(values),
            AttrDefault::Ints(values) => Self::Ints(values),
            AttrDefault::Strings(values) => Self::Strings(values.into_iter().map(String::into_bytes).collect()),
        }
    }
}

/// The default values of an operator's attributes, by name.
pub trait AttrDefaults: Sync {
    /// Returns the default of an attribute; `None` if it has none.
    fn value(&self, name: &str) -> Option<AttrDefault>;

    /// Returns the default of an attribute that is a string; `None` if it has none.
    fn text(&self, name: &str) -> Option<&str>;
}

/// The attributes of one node.
#[derive(Clone, Copy)]
pub struct Attrs<'a> {
    function: &'a Function,
    node: NodeId,
    recs: &'a [AttrRec],
    /// The values that stand for attributes that are absent.
    defaults: Option<&'a dyn AttrDefaults>,
}

impl<'a> Attrs<'a> {
    #[inline]
    pub(super) fn new(function: &'a Function, node: NodeId) -> Self {
        Self { function, node, recs: function.attr_recs(node), defaults: None }
    }

    /// Records in the pools of a function, of no node: those of graph-valued attributes name nothing.
    pub fn of_recs(function: &'a Function, recs: &'a [AttrRec]) -> Self {
        Self { function, node: NodeId::ABSENT, recs, defaults: None }
    }

    /// The same attributes; [`int`](Self::int), [`float`](Self::float), [`str`](Self::str), [`ints`](Self::ints) and
    /// [`floats`](Self::floats) then return the default of the operator's record for one that is absent.
    pub fn with_defaults<D: AttrDefaults>(self, defaults: Option<&'a D>) -> Self {
        Self { defaults: defaults.map(|defaults| defaults as _), ..self }
    }

    /// Returns the default of an attribute that is absent.
    fn default(self, name: &str) -> Option<AttrDefault> {
        self.defaults?.value(name)
    }

    /// The records, metadata included.
    pub fn recs(self) -> &'a [AttrRec] {
        self.recs
    }

    /// The operator's attributes, in order.
    pub fn iter(self) -> impl Iterator<Item = (&'a str, AttrValue<'a>)> {
        let operator = self.recs.iter().filter(|rec| rec.flags & attr_flag::META == 0);
        operator.map(move |rec| (self.function.str(rec.name), self.decode(*rec)))
    }

    /// The metadata, in order.
    pub fn metadata(self) -> impl Iterator<Item = (&'a str, AttrValue<'a>)> {
        let metadata = self.recs.iter().filter(|rec| rec.flags & attr_flag::META != 0);
        metadata.map(move |rec| (self.function.str(rec.name), self.decode(*rec)))
    }

    /// The operator's attribute of that name.
    pub fn get(self, name: &str) -> Option<AttrValue<'a>> {
        self.find(name, 0)
    }

    /// The metadata of that name.
    #[inline]
    pub fn meta(self, name: &str) -> Option<AttrValue<'a>> {
        self.find(name, attr_flag::META)
    }

    #[inline]
    fn find(self, name: &str, meta: u8) -> Option<AttrValue<'a>> {
        let wanted =
            |rec: &&AttrRec| rec.flags & attr_flag::META == meta && self.function.bytes(rec.name) == name.as_bytes();
        self.recs.iter().find(wanted).map(|rec| self.decode(*rec))
    }

    /// An integer attribute.
    pub fn int(self, name: &str) -> Option<i64> {
        match self.get(name) {
            Some(AttrValue::Int(value)) => Some(value),
            Some(_) => None,
            None => match self.default(name)? {
                AttrDefault::Int(value) => Some(value),
                _ => None,
            },
        }
    }

    /// A float attribute.
    pub fn float(self, name: &str) -> Option<f32> {
        match self.get(name) {
            Some(AttrValue::Float(value)) => Some(value),
            Some(_) => None,
            None => match self.default(name)? {
                AttrDefault::Float(value) => Some(value),
                _ => None,
            },
        }
    }

    /// A string attribute that is UTF-8.
    pub fn str(self, name: &str) -> Option<&'a str> {
        match self.get(name) {
            Some(AttrValue::String(value)) => std::str::from_utf8(value).ok(),
            Some(_) => None,
            None => self.defaults?.text(name),
        }
    }

    /// A list of integers.
    pub fn ints(self, name: &str) -> Option<Vec<i64>> {
        match self.get(name) {
            Some(AttrValue::Ints(values)) => Some(values.ints().collect()),
            Some(_) => None,
            None => match self.default(name)? {
                AttrDefault::Ints(value) => Some(value),
                _ => None,
            },
        }
    }

    /// A list of floats.
    pub fn floats(self, name: &str) -> Option<Vec<f32>> {
        match self.get(name) {
            Some(AttrValue::Floats(values)) => Some(values.floats().collect()),
            Some(_) => None,
            None => match self.default(name)? {
                AttrDefault::Floats(value) => Some(value),
                _ => None,
            },
        }
    }

    /// A tensor attribute.
    pub fn tensor(self, name: &str) -> Option<&'a Tensor> {
        match self.get(name)? {
            AttrValue::Tensor(value) => Some(value),
            _ => None,
        }
    }

    /// Whether any attribute refers to one of the enclosing function, so that its value is not known here.
    pub fn has_refs(self) -> bool {
        self.recs.iter().any(|rec| rec.kind == attr_kind::REF)
    }

    /// The value of a record of this node.
    pub fn decode(self, rec: AttrRec) -> AttrValue<'a> {
        let f = self.function;
        let words = || Words { function: f, words: f.attr_words(rec) };
        match rec.kind {
            attr_kind::FLOAT => AttrValue::Float(f32::from_bits(rec.a)),
            attr_kind::INT => AttrValue::Int((u64::from(rec.a) | u64::from(rec.b) << 32) as i64),
            attr_kind::STRING => AttrValue::String(f.bytes(StrId(rec.a))),
            attr_kind::TENSOR => AttrValue::Tensor(f.tensor(ConstId(rec.a))),
            attr_kind::GRAPH => match f.regions(self.node).get(rec.a as usize) {
                Some(&region) => AttrValue::Graph(region),
                None => AttrValue::Other(rec.kind),
            },
            attr_kind::GRAPHS => match f.regions(self.node).get(rec.a as usize..rec.a as usize + rec.b as usize) {
                Some(regions) => AttrValue::Graphs(regions),
                None => AttrValue::Other(rec.kind),
            },
            attr_kind::FLOATS => AttrValue::Floats(words()),
            attr_kind::INTS => AttrValue::Ints(words()),
            attr_kind::STRINGS => AttrValue::Strings(words()),
            attr_kind::TENSORS => AttrValue::Tensors(words()),
            attr_kind::SPARSE_TENSOR => AttrValue::SparseTensor(f.bytes(StrId(rec.a))),
            attr_kind::SPARSE_TENSORS => AttrValue::SparseTensors(words()),
            attr_kind::TYPE => AttrValue::Type(TypeId(rec.a)),
            attr_kind::TYPES => AttrValue::Types(words()),
            attr_kind::REF => AttrValue::Ref { name: f.str(StrId(rec.a)), kind: rec.b as u8 },
            attr_kind::RAW => AttrValue::Raw(f.bytes(StrId(rec.a))),
            other => AttrValue::Other(other),
        }
    }
}

/// An attribute to be given to a node.
#[derive(Clone, PartialEq, Debug)]
pub struct Attr {
    /// Name.
    pub name: Cow<'static, str>,
    /// Value.
    pub value: AttrData,
    /// Bits of [`attr_flag`].
    pub flags: u8,
}

impl Attr {
    /// An attribute of the operator.
    pub fn new(name: impl Into<Cow<'static, str>>, value: impl Into<AttrData>) -> Self {
        Self { name: name.into(), value: value.into(), flags: 0 }
    }

    /// An attribute with the value of another one, for a node of the same function; `None` for the values for which
    /// [`AttrValue::to_data`] is.
    pub fn of(name: impl Into<Cow<'static, str>>, value: AttrValue<'_>) -> Option<Self> {
        Some(Self::new(name, value.to_data()?))
    }

    /// Metadata about the node.
    pub fn meta(name: impl Into<Cow<'static, str>>, value: impl Into<AttrData>) -> Self {
        Self { name: name.into(), value: value.into(), flags: attr_flag::META }
    }
}

/// An attribute value to be given to a node.
#[derive(Clone, PartialEq, Debug)]
pub enum AttrData {
    /// A 32-bit float.
    Float(f32),
    /// A 64-bit integer.
    Int(i64),
    /// A byte string.
    String(Vec<u8>),
    /// A tensor.
    Tensor(Tensor),
    /// The node's function operand of that index, counted from its first function operand.
    Graph(u32),
    /// Floats.
    Floats(Vec<f32>),
    /// Integers.
    Ints(Vec<i64>),
    /// Byte strings.
    Strings(Vec<Vec<u8>>),
    /// Tensors.
    Tensors(Vec<Tensor>),
    /// The node's function operands `first..first + count`.
    Graphs {
        /// First.
        first: u32,
        /// How many.
        count: u32,
    },
    /// An encoded `SparseTensorProto`.
    SparseTensor(Vec<u8>),
    /// Encoded `SparseTensorProto`s.
    SparseTensors(Vec<Vec<u8>>),
    /// A type of the same function.
    Type(TypeId),
    /// Types of the same function.
    Types(Vec<TypeId>),
    /// The attribute of this name of the enclosing function.
    Ref {
        /// The attribute's name in the enclosing function.
        name: String,
        /// The kind of attribute that it represents, one of [`attr_kind`].
        kind: u8,
    },
    /// Bytes of a kind that only the reader knows.
    Raw(Vec<u8>),
}

macro_rules! attr_from {
    ($($from:ty => $variant:ident,)*) => {
        $(impl From<$from> for AttrData {
            fn from(value: $from) -> Self {
                Self::$variant(value.into())
            }
        })*
    };
}

attr_from! {
    f32 => Float,
    i64 => Int,
    &str => String,
    String => String,
    Tensor => Tensor,
    Vec<f32> => Floats,
    Vec<i64> => Ints,
    &[i64] => Ints,
    TypeId => Type,
}

impl Function {
    /// The attributes and metadata of a node, in order.
    #[inline]
    pub fn attrs(&self, id: NodeId) -> Attrs<'_> {
        Attrs::new(self, id)
    }

    /// Whether it asks passes over functions to leave it alone: it has the attribute `SkipOptimization` or `Compiler`, and
    /// its value is not 0 (TVM: `SkipFunction` in `src/relay/ir/transform.cc`).
    pub fn skips_optimization(&self) -> bool {
        let attrs = self.attrs(self.root());
        ["SkipOptimization", "Compiler"].iter().any(|name| !matches!(attrs.meta(name), None | Some(AttrValue::Int(0))))
    }

    /// Sets all attributes and metadata of a node and forgets its provenance.
    pub fn set_attrs(&mut self, id: NodeId, attrs: &[Attr]) {
        let recs: Vec<AttrRec> = attrs.iter().map(|attr| self.encode_attr(attr)).collect();
        self.set_attr_recs(id, &recs);
    }

    /// Makes an attribute record; the node that takes it must have the functions it names.
    pub fn encode_attr(&mut self, attr: &Attr) -> AttrRec {
        let name = self.intern(&attr.name);
        let (kind, a, b) = match &attr.value {
            AttrData::Float(value) => (attr_kind::FLOAT, value.to_bits(), 0),
            AttrData::Int(value) => (attr_kind::INT, *value as u32, (*value >> 32) as u32),
            AttrData::String(value) => (attr_kind::STRING, self.add_string(value).0, 0),
            AttrData::Tensor(value) => (attr_kind::TENSOR, self.add_tensor(value.clone()).0, 0),
            AttrData::Graph(region) => (attr_kind::GRAPH, *region, 0),
            AttrData::Floats(values) => self.encode_words(attr_kind::FLOATS, values.iter().map(|v| v.to_bits())),
            AttrData::Ints(values) => {
                let words = values.iter().flat_map(|&v| [v as u32, (v >> 32) as u32]);
                let (kind, a, b) = self.encode_words(attr_kind::INTS, words);
                (kind, a, b)
            }
            AttrData::Strings(values) => {
                let ids: Vec<u32> = values.iter().map(|value| self.add_string(value).0).collect();
                self.encode_words(attr_kind::STRINGS, ids)
            }
            AttrData::Tensors(values) => {
                let ids: Vec<u32> = values.iter().map(|value| self.add_tensor(value.clone()).0).collect();
                self.encode_words(attr_kind::TENSORS, ids)
            }
            AttrData::Graphs { first, count } => (attr_kind::GRAPHS, *first, *count),
            AttrData::SparseTensor(value) => (attr_kind::SPARSE_TENSOR, self.add_string(value).0, 0),
            AttrData::SparseTensors(values) => {
                let ids: Vec<u32> = values.iter().map(|value| self.add_string(value).0).collect();
                self.encode_words(attr_kind::SPARSE_TENSORS, ids)
            }
            AttrData::Type(ty) => (attr_kind::TYPE, ty.0, 0),
            AttrData::Types(types) => self.encode_words(attr_kind::TYPES, types.iter().map(|ty| ty.0)),
            AttrData::Ref { name, kind } => (attr_kind::REF, self.intern(name).0, u32::from(*kind)),
            AttrData::Raw(bytes) => (attr_kind::RAW, self.add_string(bytes).0, 0),
        };
        AttrRec { name, kind, flags: attr.flags, aux: 0, a, b }
    }
}

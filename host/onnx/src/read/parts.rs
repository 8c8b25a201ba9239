//! The fields of graphs and functions, sorted out before any is read.

use super::metadata_props;
use crate::{
    error::{ErrorKind, OnnxError, Result},
    schema::{function, graph, sparse_tensor, tensor},
    wire::{Part, Scan},
};
use relais_plugin_api::ir::Attr;

/// Which message a graph is written as.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Graph,
    Function,
}

/// The fields of a `GraphProto` or a `FunctionProto`, sorted out.
#[derive(Default)]
pub(crate) struct GraphParts<'a> {
    pub n_nodes: usize,
    pub name: Option<&'a [u8]>,
    pub doc: Option<&'a [u8]>,
    pub initializers: Vec<Part>,
    pub sparse: Vec<Part>,
    pub inputs: Vec<Part>,
    pub outputs: Vec<Part>,
    pub value_info: Vec<Part>,
    pub quantization: Vec<Part>,
    pub props: Option<Attr>,
    pub extra: Vec<u8>,
    pub opsets: Vec<Part>,
    pub domain: Option<&'a [u8]>,
    pub overload: Option<&'a [u8]>,
    pub attributes: Vec<&'a [u8]>,
    pub defaults: Vec<Part>,
}

pub(crate) fn collect<'a>(bytes: &'a [u8], segments: &[Part], form: Form) -> Result<GraphParts<'a>> {
    let mut parts = GraphParts::default();
    let mut props = Vec::new();
    for &segment in segments {
        let mut scan = Scan::part(bytes, segment);
        while let Some(field) = scan.field()? {
            match (form, field.number) {
                (Form::Graph, graph::NODE) | (Form::Function, function::NODE) => {
                    field.bytes()?;
                    parts.n_nodes += 1;
                }
                (Form::Graph, graph::NAME) | (Form::Function, function::NAME) => parts.name = Some(field.bytes()?),
                (Form::Graph, graph::DOC_STRING) | (Form::Function, function::DOC_STRING) => {
                    parts.doc = Some(field.bytes()?);
                }
                (Form::Graph, graph::INPUT) | (Form::Function, function::INPUT) => parts.inputs.push(field.part()?),
                (Form::Graph, graph::OUTPUT) | (Form::Function, function::OUTPUT) => parts.outputs.push(field.part()?),
                (Form::Graph, graph::VALUE_INFO) | (Form::Function, function::VALUE_INFO) => {
                    parts.value_info.push(field.part()?);
                }
                (Form::Graph, graph::METADATA_PROPS) | (Form::Function, function::METADATA_PROPS) => props.push(field),
                (Form::Graph, graph::INITIALIZER) => parts.initializers.push(field.part()?),
                (Form::Graph, graph::SPARSE_INITIALIZER) => parts.sparse.push(field.part()?),
                (Form::Graph, graph::QUANTIZATION_ANNOTATION) => parts.quantization.push(field.part()?),
                (Form::Function, function::OPSET_IMPORT) => parts.opsets.push(field.part()?),
                (Form::Function, function::DOMAIN) => parts.domain = Some(field.bytes()?),
                (Form::Function, function::OVERLOAD) => parts.overload = Some(field.bytes()?),
                (Form::Function, function::ATTRIBUTE) => parts.attributes.push(field.bytes()?),
                (Form::Function, function::ATTRIBUTE_PROTO) => parts.defaults.push(field.part()?),
                _ => parts.extra.extend_from_slice(field.raw),
            }
        }
    }
    parts.props = metadata_props(&props, &mut parts.extra)?;
    Ok(parts)
}

/// The nodes of a graph, one after another: a list of them would take more time than a second look at the fields.
pub(super) struct Nodes<'a> {
    bytes: &'a [u8],
    /// The segments that are still to be scanned, the next one last.
    segments: Vec<Part>,
    scan: Scan<'a>,
    number: u32,
}

impl<'a> Nodes<'a> {
    pub fn new(bytes: &'a [u8], segments: &[Part], form: Form) -> Self {
        let number = if form == Form::Graph { graph::NODE } else { function::NODE };
        Self { bytes, segments: segments.iter().rev().copied().collect(), scan: Scan::new(&[], 0), number }
    }

    /// The next node.
    pub fn next(&mut self) -> Result<Option<Part>> {
        loop {
            while let Some(field) = self.scan.field()? {
                if field.number == self.number {
                    return field.part().map(Some);
                }
            }
            match self.segments.pop() {
                Some(segment) => self.scan = Scan::part(self.bytes, segment),
                None => return Ok(None),
            }
        }
    }
}

/// The name of a sparse initializer: that of its values.
pub(super) fn sparse_name(bytes: &[u8], part: Part) -> Result<&str> {
    let mut name = "";
    let mut scan = Scan::part(bytes, part);
    while let Some(field) = scan.field()? {
        if field.number != sparse_tensor::VALUES {
            continue;
        }
        let mut scan = Scan::part(bytes, field.part()?);
        while let Some(field) = scan.field()? {
            if field.number == tensor::NAME {
                name = field.str()?;
            }
        }
    }
    if name.is_empty() {
        return Err(OnnxError::at(part.at, ErrorKind::Missing("initializer name")));
    }
    Ok(name)
}

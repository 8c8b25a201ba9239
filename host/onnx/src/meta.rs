//! The names under which the reader keeps data that the IR has no other place for, so that the writer finds it again.
//!
//! All are metadata: attributes of a node with the flag `META`, or attributes of the module. Properties in the usual
//! encoding are kept in readable form; `…_raw` and `extra` keep encoded protobuf fields where the readable form would
//! lose something (unknown fields, a field that is present and empty).

pub use relais_plugin_api::ir::description::{DOC, METADATA_PROPS, NAME};
/// Of a node or function: encoded fields that have no other place.
pub const EXTRA: &str = "extra";
/// Of a node: the domain as written, if it differs from the operator's; of a function: its domain.
pub const DOMAIN: &str = "domain";
/// Of a function: its overload.
pub const OVERLOAD: &str = "overload";
/// Of a call without any output: 0.
pub const N_OUTPUTS: &str = "n_outputs";
/// Of a node that defines a name which an enclosing graph defines too.
pub const SHADOWS: &str = "shadows";
/// Of an `If`: the names of its attributes in the order they were written, where the branches do not come first.
pub const ATTRIBUTE_ORDER: &str = "attribute_order";
/// Of a constant that is a node: the attribute does not state its type.
pub const UNTYPED: &str = "untyped";
/// Of a node: attributes whose value the file left out, so that it is the default of the type.
pub const IMPLICIT: &str = "implicit_values";
/// Of a node, followed by `:` and the attribute's name: encoded fields of the attribute that have no other place.
pub const ATTR_EXTRA: &str = "attr_extra";

/// Of a constant (or, followed by `:` and the attribute's name, of a call): the `TensorProto` field that held the
/// elements, if it was not `raw_data`; 0 is none.
pub const TENSOR_FIELD: &str = "tensor_field";
/// Likewise: encoded fields of the `TensorProto` that have no other place.
pub const TENSOR_EXTRA: &str = "tensor_extra";
/// Likewise: keys and values of the tensor's `external_data`, alternating.
pub const EXTERNAL_DATA: &str = "external_data";
/// Of a parameter with a default value: the position in the list of initializers.
pub const INITIALIZER_INDEX: &str = "initializer_index";
/// Of a constant that is listed as an input: the position in the list of inputs.
pub const INPUT_INDEX: &str = "input_index";
/// Of a parameter or a listed constant: the encoded `ValueInfoProto`.
pub const INPUT_RAW: &str = "input_raw";
/// Of a call of `Constant` that represents an entry of a list of initializers: the list's field number.
pub const INITIALIZER_LIST: &str = "initializer_list";

/// Of a function: the graph's name.
pub const GRAPH_NAME: &str = "graph_name";
pub use relais_plugin_api::ir::{OUTPUT_NAMES, OUTPUT_TYPES};
/// Of a function: the encoded `ValueInfoProto` of each output, empty if it consists of name and type.
pub const OUTPUT_RAW: &str = "output_raw";
/// Of a function: names of the values whose types the file states.
pub const VALUE_INFO: &str = "value_info";
/// Of a function: the types of those values.
pub const VALUE_INFO_TYPES: &str = "value_info_types";
/// Of a function: their encoded `ValueInfoProto`, empty if it consists of name and type.
pub const VALUE_INFO_RAW: &str = "value_info_raw";
/// Of a function: positions in the list of names that named no value of the graph from the start, or
/// one of another type.
pub const VALUE_INFO_UNBOUND: &str = "value_info_unbound";
/// Of a function: encoded quantisation annotations.
pub const QUANTIZATION_ANNOTATION: &str = "quantization_annotation";
/// Of a function: positions in the list of these annotations that named something other than a value of the graph from the
/// start.
pub const QUANTIZATION_UNBOUND: &str = "quantization_unbound";
/// Of a function: its encoded operator-set imports in order, up to the last that is not written in the usual way; those
/// that are written so are empty.
pub const OPSET_IMPORT_RAW: &str = "opset_import_raw";
/// Of a model-local function: its name within its domain.
pub const FUNCTION_NAME: &str = "function_name";
/// Of a model-local function: names of attributes without default.
pub const ATTRIBUTES: &str = "attributes";
/// Of a model-local function, followed by `:` and the attribute's name: the attribute's default.
pub const DEFAULT: &str = "default";
/// Of a model-local function, likewise, if the default is not encoded in the usual way: the usual encoding, and the one
/// in the file that represents it.
pub const DEFAULT_RAW: &str = "default_raw";

pub use relais_plugin_api::ir::IR_VERSION;
/// Of the module.
pub const PRODUCER_NAME: &str = "producer_name";
/// Of the module.
pub const PRODUCER_VERSION: &str = "producer_version";
/// Of the module: the model's domain.
pub const MODEL_DOMAIN: &str = "domain";
/// Of the module.
pub const MODEL_VERSION: &str = "model_version";
/// Of the module: the model's documentation string.
pub const DOC_STRING: &str = "doc_string";
/// Of the module, followed by `:` and the key: one entry of the model's metadata.
pub const MODEL_METADATA: &str = "metadata_props";
/// Of the module, followed by `:` and the number: one encoded field that has no other place.
pub const FIELD: &str = "field";

/// Whether a piece of metadata of a function is what the reader keeps for the writer.
pub fn is_of_function(name: &str) -> bool {
    matches!(
        name.split_once(':').map_or(name, |(key, _)| key),
        EXTRA
            | DOMAIN
            | OVERLOAD
            | SHADOWS
            | GRAPH_NAME
            | OUTPUT_NAMES
            | OUTPUT_TYPES
            | OUTPUT_RAW
            | VALUE_INFO
            | VALUE_INFO_TYPES
            | VALUE_INFO_RAW
            | VALUE_INFO_UNBOUND
            | QUANTIZATION_ANNOTATION
            | QUANTIZATION_UNBOUND
            | OPSET_IMPORT_RAW
            | FUNCTION_NAME
            | ATTRIBUTES
            | DEFAULT
            | DEFAULT_RAW
            | DOC
            | METADATA_PROPS
    )
}

/// The name of a piece of metadata about an attribute.
pub(crate) fn about(key: &str, attribute: &str) -> String {
    format!("{key}:{attribute}")
}

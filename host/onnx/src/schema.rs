//! The field numbers of ONNX's messages.

pub(crate) mod model {
    pub const IR_VERSION: u32 = 1;
    pub const PRODUCER_NAME: u32 = 2;
    pub const PRODUCER_VERSION: u32 = 3;
    pub const DOMAIN: u32 = 4;
    pub const MODEL_VERSION: u32 = 5;
    pub const DOC_STRING: u32 = 6;
    pub const GRAPH: u32 = 7;
    pub const OPSET_IMPORT: u32 = 8;
    pub const METADATA_PROPS: u32 = 14;
    pub const TRAINING_INFO: u32 = 20;
    pub const FUNCTIONS: u32 = 25;
    pub const CONFIGURATION: u32 = 26;
}

pub(crate) mod opset {
    pub const DOMAIN: u32 = 1;
    pub const VERSION: u32 = 2;
}

pub(crate) mod graph {
    pub const NODE: u32 = 1;
    pub const NAME: u32 = 2;
    pub const INITIALIZER: u32 = 5;
    pub const DOC_STRING: u32 = 10;
    pub const INPUT: u32 = 11;
    pub const OUTPUT: u32 = 12;
    pub const VALUE_INFO: u32 = 13;
    pub const QUANTIZATION_ANNOTATION: u32 = 14;
    pub const SPARSE_INITIALIZER: u32 = 15;
    pub const METADATA_PROPS: u32 = 16;
}

pub(crate) mod function {
    pub const NAME: u32 = 1;
    pub const INPUT: u32 = 4;
    pub const OUTPUT: u32 = 5;
    pub const ATTRIBUTE: u32 = 6;
    pub const NODE: u32 = 7;
    pub const DOC_STRING: u32 = 8;
    pub const OPSET_IMPORT: u32 = 9;
    pub const DOMAIN: u32 = 10;
    pub const ATTRIBUTE_PROTO: u32 = 11;
    pub const VALUE_INFO: u32 = 12;
    pub const OVERLOAD: u32 = 13;
    pub const METADATA_PROPS: u32 = 14;
}

pub(crate) mod node {
    pub const INPUT: u32 = 1;
    pub const OUTPUT: u32 = 2;
    pub const NAME: u32 = 3;
    pub const OP_TYPE: u32 = 4;
    pub const ATTRIBUTE: u32 = 5;
    pub const DOC_STRING: u32 = 6;
    pub const DOMAIN: u32 = 7;
    pub const OVERLOAD: u32 = 8;
    pub const METADATA_PROPS: u32 = 9;
}

pub(crate) mod attribute {
    pub const NAME: u32 = 1;
    pub const F: u32 = 2;
    pub const I: u32 = 3;
    pub const S: u32 = 4;
    pub const T: u32 = 5;
    pub const G: u32 = 6;
    pub const FLOATS: u32 = 7;
    pub const INTS: u32 = 8;
    pub const STRINGS: u32 = 9;
    pub const TENSORS: u32 = 10;
    pub const GRAPHS: u32 = 11;
    pub const TP: u32 = 14;
    pub const TYPE_PROTOS: u32 = 15;
    pub const TYPE: u32 = 20;
    pub const REF_ATTR_NAME: u32 = 21;
    pub const SPARSE_TENSOR: u32 = 22;
    pub const SPARSE_TENSORS: u32 = 23;
}

pub(crate) mod tensor {
    pub const DIMS: u32 = 1;
    pub const DATA_TYPE: u32 = 2;
    pub const FLOAT_DATA: u32 = 4;
    pub const INT32_DATA: u32 = 5;
    pub const STRING_DATA: u32 = 6;
    pub const INT64_DATA: u32 = 7;
    pub const NAME: u32 = 8;
    pub const RAW_DATA: u32 = 9;
    pub const DOUBLE_DATA: u32 = 10;
    pub const UINT64_DATA: u32 = 11;
    pub const EXTERNAL_DATA: u32 = 13;
    pub const DATA_LOCATION: u32 = 14;
    /// The value of `data_location` for tensors in another file.
    pub const EXTERNAL: i64 = 1;
}

pub(crate) mod annotation {
    pub const TENSOR_NAME: u32 = 1;
    pub const QUANT_PARAMETERS: u32 = 2;
}

pub(crate) mod sparse_tensor {
    pub const VALUES: u32 = 1;
}

pub(crate) mod value_info {
    pub const NAME: u32 = 1;
    pub const TYPE: u32 = 2;
    pub const DOC_STRING: u32 = 3;
    pub const METADATA_PROPS: u32 = 4;
}

pub(crate) mod type_proto {
    pub const TENSOR: u32 = 1;
    pub const SEQUENCE: u32 = 4;
    pub const MAP: u32 = 5;
    pub const OPAQUE: u32 = 7;
    pub const SPARSE_TENSOR: u32 = 8;
    pub const OPTIONAL: u32 = 9;
    /// In a tensor, sequence and optional: the element's type.
    pub const ELEM_TYPE: u32 = 1;
    /// In a tensor type.
    pub const SHAPE: u32 = 2;
    /// In a map type.
    pub const KEY_TYPE: u32 = 1;
    /// In a map type.
    pub const VALUE_TYPE: u32 = 2;
    /// In an opaque type.
    pub const OPAQUE_DOMAIN: u32 = 1;
    /// In an opaque type.
    pub const OPAQUE_NAME: u32 = 2;
}

pub(crate) mod shape {
    pub const DIM: u32 = 1;
    pub const DIM_VALUE: u32 = 1;
    pub const DIM_PARAM: u32 = 2;
}

pub(crate) mod entry {
    pub const KEY: u32 = 1;
    pub const VALUE: u32 = 2;
}

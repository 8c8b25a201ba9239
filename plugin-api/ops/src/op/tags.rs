//! The numbers in an operator's record: append-only.

/// The tags of an operator's or evaluator's record.
pub mod op_tag {
    /// Domain.
    pub const DOMAIN: u16 = 1;
    /// Name.
    pub const NAME: u16 = 2;
    /// First version.
    pub const SINCE: u16 = 3;
    /// Fewest inputs in the low half, most in the high half.
    pub const INPUTS: u16 = 4;
    /// Fewest outputs in the low half, most in the high half.
    pub const OUTPUTS: u16 = 5;
    /// Effects.
    pub const EFFECTS: u16 = 6;
    /// The fusion kind.
    pub const FUSION: u16 = 7;
    /// An attribute: fields of [`attr_tag`](super::attr_tag).
    pub const ATTR: u16 = 8;
    /// Bits of [`op_flag`](super::op_flag).
    pub const FLAGS: u16 = 9;
    /// Documentation.
    pub const DOC: u16 = 10;
    /// A formal input, in order: fields of [`formal_tag`](super::formal_tag).
    pub const INPUT: u16 = 11;
    /// A formal result, in order: fields of [`formal_tag`](super::formal_tag).
    pub const OUTPUT: u16 = 12;
    /// A type variable of formal inputs and results: fields of [`type_var_tag`](super::type_var_tag).
    pub const TYPE_VAR: u16 = 13;
    /// A function in the text form that computes the same with other operators.
    pub const BODY: u16 = 14;
    /// A form in which calls have other layouts, the best one first: fields of [`layout_tag`](super::layout_tag).
    pub const LAYOUT: u16 = 15;
    /// The formula of a call's multiply-accumulates.
    pub const MACS: u16 = 16;
    /// A property that passes ask for: fields of [`property_tag`](super::property_tag). Later ones of a name count.
    pub const PROPERTY: u16 = 17;
    /// The rank of an addition, two bytes.
    pub const PRIORITY: u16 = 18;
    /// The target that an addition is for; all of them if it is absent.
    pub const FOR_TARGET: u16 = 19;
}

/// The tags of a property of an operator.
pub mod property_tag {
    /// Name.
    pub const NAME: u16 = 1;
    /// Value, a text; empty takes back what was said before.
    pub const VALUE: u16 = 2;
}

/// The tags of a form of an operator.
pub mod layout_tag {
    /// The layouts of the arguments and of the results: `NHWC,HWIO,O->NHWC`.
    pub const AXES: u16 = 1;
    /// The operator that calls in this form are of; the operator itself if it is absent.
    pub const OPERATOR: u16 = 2;
    /// An attribute that calls in this form have: fields of [`attr_tag`](super::attr_tag), with the value as the default.
    pub const ATTR: u16 = 3;
}

/// The tags of a formal input or result.
pub mod formal_tag {
    /// Name.
    pub const NAME: u16 = 1;
    /// One of [`formal_kind`](super::formal_kind).
    pub const KIND: u16 = 2;
    /// The name of its type variable.
    pub const TYPE_VAR: u16 = 3;
}

/// How many arguments or results a formal one stands for. Append-only: one of a later version says nothing.
pub mod formal_kind {
    /// One.
    pub const SINGLE: u8 = 0;
    /// One, or none: it may be absent.
    pub const OPTIONAL: u8 = 1;
    /// All that follow, of one type.
    pub const VARIADIC: u8 = 2;
    /// All that follow, each of a type of its own.
    pub const MIXED: u8 = 3;
}

/// The tags of a type variable. One that allows nothing allows everything.
pub mod type_var_tag {
    /// Name.
    pub const NAME: u16 = 1;
    /// The element types of tensors that it allows, one byte each.
    pub const TENSORS: u16 = 2;
    /// The element types of tensors in sequences that it allows.
    pub const SEQUENCES: u16 = 3;
    /// The element types of optional tensors that it allows.
    pub const OPTIONALS: u16 = 4;
    /// The element types of tensors in optional sequences that it allows.
    pub const OPTIONAL_SEQUENCES: u16 = 5;
    /// Another type that it allows, as ONNX writes it: `map(string,tensor(float))`.
    pub const OTHER: u16 = 6;
}

/// The tags of an attribute's schema.
pub mod attr_tag {
    /// Name.
    pub const NAME: u16 = 1;
    /// Attribute kind.
    pub const KIND: u16 = 2;
    /// 1 when it must be given.
    pub const REQUIRED: u16 = 3;
    /// Default, as text.
    pub const DEFAULT: u16 = 4;
}

/// The bits of an operator's flags.
pub mod op_flag {
    /// It has a type relation.
    pub const INFER: u32 = 1;
    /// It has an evaluator.
    pub const EVAL: u32 = 2;
    /// Its first two arguments can change places.
    pub const COMMUTATIVE: u32 = 4;
    /// A function makes the body of each call.
    pub const BODY: u32 = 8;
    /// It has a verifier.
    pub const VERIFY: u32 = 16;
    /// A function makes the gradient of each call.
    pub const GRADIENT: u32 = 32;
    /// A function makes the kernel of each call.
    pub const COMPUTE: u32 = 64;
}

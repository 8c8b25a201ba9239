//! The calls of operators: attributes, or their defaults in the version of a call, and types of arguments.

use relais_operator_math::defaults;
use relais_plugin_api::{
    ir::{AttrValue, Attrs, Dim, Dims, ElemType, TypeId},
    op::{InferCx, OpCall, OpError},
};
use smallvec::{SmallVec, smallvec};
use std::fmt::Display;

/// The integers of an attribute or a constant.
pub type IntList = SmallVec<[i64; 8]>;

/// A call whose attributes are read.
pub trait Attributed {
    /// The name and the version of its operator.
    fn operator(&self) -> (&str, i64);
    /// Its attributes.
    fn given(&self) -> Attrs<'_>;
}

impl Attributed for OpCall<'_> {
    fn operator(&self) -> (&str, i64) {
        (self.op_name(), self.version())
    }

    fn given(&self) -> Attrs<'_> {
        self.attrs()
    }
}

impl Attributed for InferCx<'_> {
    fn operator(&self) -> (&str, i64) {
        (self.op_name(), self.version())
    }

    fn given(&self) -> Attrs<'_> {
        self.attrs()
    }
}

fn wrong_attr(name: &str, found: AttrValue<'_>, wanted: &str) -> OpError {
    match found {
        AttrValue::Ref { .. } | AttrValue::Raw(_) | AttrValue::Other(_) => {
            OpError::unsupported(format_args!("the value of attribute `{name}` is not known here"))
        }
        _ => OpError::invalid(format_args!("attribute `{name}` must be {wanted}")),
    }
}

macro_rules! attr_readers {
    ($($(#[$doc:meta])* $function:ident$(<$life:lifetime>)?: $variant:ident($value:ident) -> $ty:ty = $read:expr, $wanted:literal;)*) => {
        $($(#[$doc])*
        ///
        /// # Errors
        /// Returns an error if the attribute is of another kind, or refers to one of the enclosing function.
        pub fn $function$(<$life>)?(call: &$($life)? impl Attributed, name: &str) -> Result<Option<$ty>, OpError> {
            match call.given().get(name) {
                None => Ok(None),
                Some(AttrValue::$variant($value)) => Ok(Some($read)),
                Some(found) => Err(wrong_attr(name, found, $wanted)),
            }
        })*
    };
}

attr_readers! {
    /// An integer attribute that has no default.
    opt_int: Int(value) -> i64 = value, "an integer";
    /// A float attribute that has no default.
    opt_float: Float(value) -> f32 = value, "a float";
    /// A list of integers that has no default.
    opt_ints: Ints(values) -> IntList = values.ints().collect(), "a list of integers";
    /// A list of floats.
    opt_floats: Floats(values) -> Vec<f32> = values.floats().collect(), "a list of floats";
    /// A string attribute, as bytes.
    opt_bytes<'a>: String(value) -> &'a [u8] = value, "a string";
    /// A list of strings.
    opt_strs<'a>: Strings(values) -> Vec<&'a [u8]> = values.strings().collect(), "a list of strings";
    /// Element type and dimensions of a tensor attribute.
    opt_tensor: Tensor(value) -> (ElemType, Dims) =
        (value.elem(), value.dims().iter().map(|&dim| Dim::Static(dim)).collect()), "a tensor";
    /// A type attribute.
    opt_type: Type(value) -> TypeId = value, "a type";
}

/// A list with a number for each of `len` places: `default`, where it is not given or is empty.
///
/// # Errors
/// Returns an error if the attribute is of another kind or another length.
pub fn list(call: &impl Attributed, name: &str, len: usize, default: i64) -> Result<IntList, OpError> {
    match opt_ints(call, name)?.filter(|values| !values.is_empty()) {
        None => Ok(smallvec![default; len]),
        Some(values) if values.len() == len => Ok(values),
        Some(values) => {
            Err(OpError::invalid(format_args!("attribute `{name}` has {} values instead of {len}", values.len())))
        }
    }
}

/// A string attribute that has no default.
///
/// # Errors
/// Returns an error if the attribute is of another kind, is not text, or refers to one of the enclosing function.
pub fn opt_string<'a>(call: &'a impl Attributed, name: &str) -> Result<Option<&'a str>, OpError> {
    let text = |bytes| {
        std::str::from_utf8(bytes).map_err(|_| OpError::invalid(format_args!("attribute `{name}` is not text")))
    };
    opt_bytes(call, name)?.map(text).transpose()
}

macro_rules! readers_with_default {
    ($($(#[$doc:meta])* $function:ident$(<$life:lifetime>)?: $given:ident, $default:path => $ty:ty;)*) => {
        $($(#[$doc])*
        ///
        /// # Errors
        /// Returns an error if there is neither that attribute nor a default.
        pub fn $function$(<$life>)?(call: &$($life)? impl Attributed, name: &str) -> Result<$ty, OpError> {
            let (op, version) = call.operator();
            match ($given(call, name)?, $default(op, name, version)) {
                (Some(given), _) => Ok(given.into()),
                (None, Some(default)) => Ok(default.into()),
                (None, None) => Err(OpError::invalid(format_args!("attribute `{name}` is missing"))),
            }
        })*
    };
}

readers_with_default! {
    /// An integer attribute.
    int: opt_int, defaults::int => i64;
    /// A float attribute, as a double.
    float: opt_float, defaults::float => f64;
    /// A string attribute.
    string<'a>: opt_string, defaults::str => &'a str;
    /// An attribute that is a list of integers.
    ints: opt_ints, defaults::ints => IntList;
}

/// The value that `of` finds by the name which a string attribute gives, or its default.
///
/// # Errors
/// Returns an error if there is none of that name.
pub fn named<T>(call: &impl Attributed, name: &str, of: impl FnOnce(&str) -> Option<T>) -> Result<T, OpError> {
    let given = string(call, name)?;
    of(given).ok_or_else(|| OpError::invalid(format_args!("attribute `{name}` is `{given}`")))
}

/// An integer attribute that is a switch.
///
/// # Errors
/// Returns an error if it is neither 0 nor 1: some runtimes then take it as on, others as off.
pub fn flag(call: &impl Attributed, name: &str) -> Result<bool, OpError> {
    match int(call, name)? {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(OpError::unsupported(format_args!("attribute `{name}` is {other}, neither 0 nor 1"))),
    }
}

/// An element type by its number.
fn elem_of(name: &str, number: i64) -> Result<ElemType, OpError> {
    let elem = u8::try_from(number).map_or(ElemType::UNKNOWN, ElemType);
    match elem.name() {
        Some(_) => Ok(elem),
        None => Err(OpError::unsupported(format_args!("attribute `{name}`: {number} is not a known element type"))),
    }
}

/// An attribute that names an element type by its number and has no default.
///
/// # Errors
/// Returns an error if there is no such type.
pub fn opt_elem(call: &impl Attributed, name: &str) -> Result<Option<ElemType>, OpError> {
    opt_int(call, name)?.map(|number| elem_of(name, number)).transpose()
}

/// An attribute that names an element type by its number.
///
/// # Errors
/// Returns an error if there is neither that attribute nor a default, or no type of that number.
pub fn elem_type(call: &impl Attributed, name: &str) -> Result<ElemType, OpError> {
    elem_of(name, int(call, name)?)
}

/// The error for a call of which too little is known.
pub fn unknown(what: impl Display) -> OpError {
    OpError::unsupported(format_args!("{what} is not known"))
}

/// The element type of an argument, which must be known.
pub fn elem(call: &OpCall<'_>, index: usize) -> Result<ElemType, OpError> {
    match call.elem(index) {
        ElemType::UNKNOWN => Err(unknown(format_args!("the element type of input {index}"))),
        elem => Ok(elem),
    }
}

/// The dimensions of an argument, whose rank must be known.
pub fn dims(call: &OpCall<'_>, index: usize) -> Result<Dims, OpError> {
    call.dims(index).ok_or_else(|| unknown(format_args!("the rank of input {index}")))
}

/// The rank of an argument, which must be known.
pub fn rank(call: &OpCall<'_>, index: usize) -> Result<usize, OpError> {
    Ok(dims(call, index)?.len())
}

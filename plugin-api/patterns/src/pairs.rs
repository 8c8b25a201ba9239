//! Rules as pairs of ONNX functions, a pattern and its replacement: the form in which other tools take them.
//!
//! ```
//! use relais_patterns::{pairs, parse};
//!
//! let rules = parse("silu: Mul(x, Sigmoid(x)) => acme::Silu(x)").expect("they are rules");
//! let file = pairs::write(&rules, &|_, _| None).expect("functions can say this");
//! assert_eq!(pairs::read(&file).as_ref(), Ok(&rules));
//! ```

mod proto;
mod read;
mod write;

pub use read::read;
pub use write::write;

use crate::OpName;
use std::fmt;

/// The end of the name of a function that is a pattern, after the name of the rule.
pub const PATTERN: &str = "_pattern";

/// The end of the name of the function that replaces it.
pub const REPLACEMENT: &str = "_replacement";

/// The operator that hands on a value: a function makes each of its results by a node.
const IDENTITY: &str = "Identity";

/// The operator of nodes that are constants.
const CONSTANT: &str = "Constant";

/// Returns the kind of an operator's attribute as a number of `AttributeProto.AttributeType`, if it is known.
pub type AttrKinds<'a> = dyn Fn(&OpName, &str) -> Option<u8> + 'a;

/// Why a file of functions has no rules, or a rule cannot be written as functions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PairFault {
    /// The function or the rule, and the node; empty for a whole file.
    pub place: String,
    /// The cause.
    pub message: String,
    /// A suggestion.
    pub help: String,
}

impl PairFault {
    /// The code as printed in messages.
    pub const CODE: &str = "L040";

    fn new(message: impl fmt::Display, help: impl fmt::Display) -> Self {
        Self { place: String::new(), message: message.to_string(), help: help.to_string() }
    }

    fn at(mut self, place: impl fmt::Display) -> Self {
        self.place = place.to_string();
        self
    }
}

/// The place and the cause.
impl fmt::Display for PairFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.place.is_empty() {
            write!(f, "{}: ", self.place)?;
        }
        f.write_str(&self.message)
    }
}

//! Everything outside the functions: constants, and names.

use crate::{
    arrays,
    helpers::Helpers,
    names::{Names, c_type, identifier},
    program::unsupported,
};
use relais_plugin_api::prelude::*;

/// The most bytes of constants that are written as arrays.
const MOST_BYTES: u64 = 64 << 20;
/// Constants of fewer bytes are arrays in any case.
const LEAST_WEIGHTS: u64 = 64;
/// The alignment of constants in the file of weights.
const ALIGNMENT: usize = 64;

/// Everything outside the functions.
pub struct Globals {
    /// Begins their names.
    prefix: String,
    names: Names,
    /// The functions that say what C leaves open.
    pub helpers: Helpers,
    arrays: Vec<String>,
    n_bytes: u64,
    /// The contents of the file of weights, if there is one.
    weights: Option<Vec<u8>>,
}

/// Where the elements of a constant are.
pub enum Constant {
    /// In an array of that name.
    Array(String),
    /// In the file of weights, from that byte on.
    Weights(usize),
}

impl Globals {
    /// Nothing yet, of a program of that name.
    pub fn new(name: &str, has_weights: bool) -> Self {
        Self {
            prefix: name.to_owned(),
            names: Names::default(),
            helpers: Helpers::new(name),
            arrays: Vec::new(),
            n_bytes: 0,
            weights: has_weights.then(Vec::new),
        }
    }

    /// Gives a function or an array a name.
    pub fn name(&mut self, name: &str) -> String {
        self.names.give(&format!("{}_{}", self.prefix, identifier(name)))
    }

    /// Adds a constant; only the entry function has the file of weights.
    pub fn constant(&mut self, f: &Function, id: NodeId, is_main: bool) -> Result<Constant, PassError> {
        let tensor = f.constant(id).ok_or_else(|| unsupported(id, "a constant is of a later version"))?;
        let elem = tensor.elem();
        let no_type = || unsupported(id, format_args!("C has no numbers of the type {elem}"));
        if let Some(weights) = self.weights.as_mut().filter(|_| is_main && tensor.byte_len() >= LEAST_WEIGHTS) {
            c_type(elem).ok_or_else(no_type)?;
            weights.resize(weights.len().next_multiple_of(ALIGNMENT), 0);
            let offset = weights.len();
            weights.extend_from_slice(&tensor.to_bytes());
            return Ok(Constant::Weights(offset));
        }
        self.n_bytes = self.n_bytes.saturating_add(tensor.byte_len());
        if self.n_bytes > MOST_BYTES {
            let message = format_args!("the constants have more than {} MB", MOST_BYTES >> 20);
            return Err(unsupported(id, message).help(
                "put them into a file, which the caller loads: `relais build --weights`, or `build.weights = true`",
            ));
        }
        let name = self.name(if f.name(id).is_empty() { "constant" } else { f.name(id) });
        self.arrays.push(arrays::definition(&name, tensor).ok_or_else(no_type)?);
        Ok(Constant::Array(name))
    }

    /// The definitions of arrays.
    pub fn arrays(&self) -> String {
        self.arrays.join("\n")
    }

    /// The contents of the file of weights, if there is one.
    pub fn weights(&self) -> Option<&[u8]> {
        self.weights.as_deref()
    }
}

//! The ship format: functions and modules as bytes, for code that knows no type of this library.
//!
//! A header of 64 bytes is followed by a directory and by the lists of the arena, as they lie, little-endian, at multiples of
//! 64 bytes; `docs/abi.md` describes each. Tensors refer to bytes that are not copied: they go beside what is shipped.
//! An answer is not believed: every range and every id is checked before it is used.

mod exchange;
mod layout;
mod read;
mod write;

pub use exchange::Exchange;
pub use layout::{ALIGNMENT, FORMAT, HERE, MAGIC, ship_list, shipped};

use super::*;
use read::Sent;
use std::fmt;
use write::SharedBytes;

/// A function or a module as bytes, with the bytes that its tensors refer to.
pub struct Ship {
    bytes: Vec<u8>,
    shared: Vec<Blob>,
}

/// An error in bytes that should be shipped content.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShipError(String);

impl fmt::Display for ShipError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ShipError {}

impl Ship {
    /// Ships a function.
    pub fn function(function: &Function) -> Self {
        let mut shared = SharedBytes::default();
        Self { bytes: write::function(function, &mut shared), shared: shared.into_vec() }
    }

    /// Ships a module.
    pub fn module(module: &IRModule) -> Self {
        let mut shared = SharedBytes::default();
        Self { bytes: write::module(module, &mut shared), shared: shared.into_vec() }
    }

    /// The header, the directory and the lists.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes that it refers to, by number.
    pub fn shared(&self) -> &[Blob] {
        &self.shared
    }

    /// Reads the function that takes the place of the one that was sent. It can be read, walked, typed and printed. Nothing
    /// that was known of nodes that are others now is kept, and types that are stated for them count where `infer` finds none.
    ///
    /// # Errors
    /// Returns an error that says what is wrong with the bytes.
    pub fn function_back(
        &self,
        bytes: &[u8],
        sent: &Function,
        infer: impl Fn(&mut Function),
    ) -> Result<Function, ShipError> {
        let sent = Sent::new(&self.bytes, Some(sent), &self.shared);
        read::changed_function(bytes, &sent, &infer).map_err(ShipError)
    }

    /// Reads the function that answers a question about the one that was sent; its types are the answer's.
    ///
    /// # Errors
    /// Returns an error that says what is wrong with the bytes.
    pub fn answer(&self, bytes: &[u8], sent: &Function) -> Result<Function, ShipError> {
        let sent = Sent::new(&self.bytes, Some(sent), &self.shared);
        read::function(bytes, &sent).map_err(ShipError)
    }

    /// Reads the module that takes the place of the one that was sent: functions that are as they were are the same objects,
    /// and the others are read as by [`function_back`](Self::function_back).
    ///
    /// # Errors
    /// Returns an error that says what is wrong with the bytes.
    pub fn module_back(
        &self,
        bytes: &[u8],
        sent: &IRModule,
        infer: impl Fn(&mut Function),
    ) -> Result<IRModule, ShipError> {
        let before = Sent::new(&self.bytes, None, &self.shared);
        read::module(bytes, &before, Some(sent), &infer).map_err(ShipError)
    }
}

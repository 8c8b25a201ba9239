//! The two ends of a connection over which functions and modules go back and forth: bytes that tensors refer to cross once.

use super::{
    ShipError,
    read::{self, Sent},
    write::{self, SharedBytes},
};
use crate::{Blob, Function, IRModule};

/// One end of a connection. Both ends number the shared bytes alike, as long as each is told of those that the other has
/// added before what refers to them.
#[derive(Default)]
pub struct Exchange {
    shared: SharedBytes,
}

impl Exchange {
    /// Ships a function.
    pub fn ship_function(&mut self, function: &Function) -> Vec<u8> {
        write::function(function, &mut self.shared)
    }

    /// Ships a module.
    pub fn ship_module(&mut self, module: &IRModule) -> Vec<u8> {
        write::module(module, &mut self.shared)
    }

    /// The shared bytes, by number.
    pub fn shared(&self) -> &[Blob] {
        self.shared.all()
    }

    /// Takes bytes that the other end has added.
    pub fn add(&mut self, bytes: Blob) {
        self.shared.add(bytes);
    }

    /// Reads a function of an end that is believed: all that it has is kept.
    ///
    /// # Errors
    /// Returns an error that says what is wrong with the bytes.
    pub fn function(&self, bytes: &[u8]) -> Result<Function, ShipError> {
        read::function(bytes, &self.believed()).map_err(ShipError)
    }

    /// Reads a module of an end that is believed.
    ///
    /// # Errors
    /// Returns an error that says what is wrong with the bytes.
    pub fn module(&self, bytes: &[u8]) -> Result<IRModule, ShipError> {
        read::module(bytes, &self.believed(), None, &|_| {}).map_err(ShipError)
    }

    /// Reads the function that takes the place of one that was sent as `sent_bytes` to an end that is not believed; see
    /// [`Ship::function_back`](super::Ship::function_back).
    ///
    /// # Errors
    /// Returns an error that says what is wrong with the bytes.
    pub fn function_back(
        &self,
        bytes: &[u8],
        (sent, sent_bytes): (&Function, &[u8]),
        infer: impl Fn(&mut Function),
    ) -> Result<Function, ShipError> {
        read::changed_function(bytes, &self.sent(sent_bytes, Some(sent)), &infer).map_err(ShipError)
    }

    /// Reads the function that answers a question about one that was sent as `sent_bytes` to an end that is not believed; see
    /// [`Ship::answer`](super::Ship::answer).
    ///
    /// # Errors
    /// Returns an error that says what is wrong with the bytes.
    pub fn answer(&self, bytes: &[u8], (sent, sent_bytes): (&Function, &[u8])) -> Result<Function, ShipError> {
        read::function(bytes, &Sent::new(sent_bytes, Some(sent), self.shared())).map_err(ShipError)
    }

    /// Reads the module that takes the place of one that was sent as `sent_bytes` to an end that is not believed; see
    /// [`Ship::module_back`](super::Ship::module_back).
    ///
    /// # Errors
    /// Returns an error that says what is wrong with the bytes.
    pub fn module_back(
        &self,
        bytes: &[u8],
        (sent, sent_bytes): (&IRModule, &[u8]),
        infer: impl Fn(&mut Function),
    ) -> Result<IRModule, ShipError> {
        read::module(bytes, &self.sent(sent_bytes, None), Some(sent), &infer).map_err(ShipError)
    }

    /// Something that the other end may return changed. The types that it states add to those that are inferred: they are judged when
    /// the result is taken over, as those of code in this process.
    fn sent<'a>(&'a self, bytes: &'a [u8], function: Option<&'a Function>) -> Sent<'a> {
        let mut sent = Sent::new(bytes, function, self.shared());
        sent.adds_types = true;
        sent
    }

    fn believed(&self) -> Sent<'_> {
        let mut sent = Sent::new(&[], None, self.shared());
        sent.is_believed = true;
        sent
    }
}

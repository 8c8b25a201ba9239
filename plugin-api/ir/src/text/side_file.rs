//! The side file: large constants, beside the text.

use crate::{Blob, Tensor};
use std::collections::BTreeMap;

/// The bytes of the tensors in a side file, by name.
#[derive(Clone, Default, Debug)]
pub struct SideFile {
    tensors: BTreeMap<String, Blob>,
}

impl SideFile {
    /// A side file in memory.
    pub fn from_tensors(tensors: impl IntoIterator<Item = (String, Tensor)>) -> Self {
        let bytes = |tensor: Tensor| match tensor.as_dense() {
            Some(data) => data.clone(),
            None => tensor.to_bytes().into_owned().into(),
        };
        tensors.into_iter().map(|(name, tensor)| (name, bytes(tensor))).collect()
    }

    /// A tensor's bytes.
    pub fn get(&self, name: &str) -> Option<&Blob> {
        self.tensors.get(name)
    }
}

impl FromIterator<(String, Blob)> for SideFile {
    fn from_iter<I: IntoIterator<Item = (String, Blob)>>(tensors: I) -> Self {
        Self { tensors: tensors.into_iter().collect() }
    }
}

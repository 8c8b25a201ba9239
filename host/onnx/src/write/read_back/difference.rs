//! The result of a comparison.

use relais_plugin_api::ir::Tensor;

/// A difference: its place and what differs.
pub(super) struct Difference {
    pub place: String,
    pub what: String,
}

pub(super) type Compared = std::result::Result<(), Difference>;

pub(super) fn differ(what: impl Into<String>) -> Compared {
    Err(Difference { place: String::new(), what: what.into() })
}

impl Difference {
    pub fn within(mut self, place: impl FnOnce() -> String) -> Self {
        self.place = if self.place.is_empty() { place() } else { format!("{}, {}", place(), self.place) };
        self
    }
}

/// Whether two tensors are equal: by their bytes, or because both are the same part of the same file.
pub(super) fn same_tensor(meant: &Tensor, read: &Tensor) -> Compared {
    let file = |tensor: &Tensor| {
        let file = tensor.as_dense()?.file()?;
        Some((file.path.to_owned(), file.start, file.stamp))
    };
    if let Some((path, _, 0)) = file(meant) {
        return differ(format!("`{path}` was changed by another process while it was in use"));
    }
    let is_alike = meant.elem() == read.elem() && meant.dims() == read.dims();
    if !is_alike {
        return differ("another type or shape of the constant");
    }
    let is_in_place = meant.byte_len() == read.byte_len() && file(meant).is_some_and(|at| Some(at) == file(read));
    if is_in_place || meant == read { Ok(()) } else { differ("other bytes of the constant") }
}

//! The sizes of parameters: what symbols stand for in one call.

use super::code::Shape;
use relais_ir::*;
use std::collections::HashMap;

/// The shapes of a function's parameters.
pub(super) type Shapes = Vec<Shape>;

/// A node for a message: its name, or its number.
pub(super) fn named(f: &Function, id: NodeId) -> String {
    match f.name(id) {
        "" => id.to_string(),
        name => format!("%{name}"),
    }
}

/// The sizes that the symbols of a function stand for.
#[derive(Default)]
pub(super) struct Symbols<'a>(HashMap<&'a [u8], u64>);

impl<'a> Symbols<'a> {
    /// Takes the sizes of a parameter's symbols.
    ///
    /// # Errors
    /// Returns an error if the parameter does not have that shape.
    pub(super) fn bind(&mut self, f: &'a Function, param: NodeId, shape: &[u64]) -> Result<(), String> {
        let dims = f.type_of(param).shape().unwrap_or_default();
        if dims.len() != shape.len() {
            return Err(format!("`{}` has {} dimensions, not {}", named(f, param), dims.len(), shape.len()));
        }
        for (axis, (&dim, &size)) in dims.iter().zip(shape).enumerate() {
            let wanted = match Dim::from(dim) {
                Dim::Static(wanted) => wanted,
                Dim::Symbol(symbol) => *self.0.entry(f.bytes(symbol)).or_insert(size),
                Dim::Unknown => size,
            };
            if wanted != size {
                let shown = match Dim::from(dim) {
                    Dim::Symbol(symbol) => format!("`{}`, which is {wanted}", f.str(symbol)),
                    _ => wanted.to_string(),
                };
                return Err(format!("axis {axis} of `{}` has the size {shown}, not {size}", named(f, param)));
            }
        }
        Ok(())
    }

    /// The shape of a parameter whose symbols are known.
    ///
    /// # Errors
    /// Returns an error if one is not known.
    pub(super) fn shape(&self, f: &Function, param: NodeId) -> Result<Shape, String> {
        let dims = f.type_of(param).shape().unwrap_or_default();
        let size = |(axis, &dim): (usize, &DimRec)| match Dim::from(dim) {
            Dim::Static(size) => Ok(size),
            Dim::Symbol(symbol) => self.0.get(f.bytes(symbol)).copied().ok_or_else(|| {
                let (name, symbol) = (named(f, param), f.str(symbol));
                format!("axis {axis} of the output `{name}` has the size `{symbol}`, which no input determines")
            }),
            Dim::Unknown => {
                let name = named(f, param);
                Err(format!(
                    "the size of axis {axis} of the output `{name}` is unknown; help: name it after an input's"
                ))
            }
        };
        dims.iter().enumerate().map(size).collect()
    }
}

/// Whether a function takes memory of these shapes.
///
/// # Errors
/// Returns an error that says why it does not.
pub(super) fn fit(f: &Function, shapes: &Shapes) -> Result<(), String> {
    let mut symbols = Symbols::default();
    f.params().iter().zip(shapes).try_for_each(|(&param, shape)| symbols.bind(f, param, shape))
}

//! Inputs from files.

use super::words::type_of;
use crate::{error::Error, npz};
use relais::{
    ir::{Dim, DimRec, ElemType, Function, Tensor, Type},
    words::{and_list, nearest, or_list},
};
use relais_plugin_api::text;
use std::{collections::BTreeMap, path::Path};

/// The arrays in a file of NumPy, by name.
pub(super) fn read(path: &Path) -> Result<Vec<(String, Tensor)>, Error> {
    npz::read(path).map_err(|why| {
        let error = Error::new(format_args!("inputs `{}` cannot be read: {why}", path.display()));
        error.with_help("write them in Python: `numpy.savez(\"FILE.npz\", name=array, …)`")
    })
}

/// Values for the parameters of a function, of arrays by name.
pub(super) fn values(main: &Function, path: &Path, arrays: &[(String, Tensor)]) -> Result<Vec<Tensor>, Error> {
    let wrong = |what: String| Error::new(format_args!("inputs `{}`: {what}", path.display()));
    let names: Vec<&str> = main.params().iter().map(|&param| main.name(param)).collect();
    if let Some((name, _)) = arrays.iter().find(|(name, _)| !names.contains(&name.as_str())) {
        let near = nearest(name, names.iter().copied());
        let error = wrong(format!("the model has no input `{name}`"));
        return Err(match near.is_empty() {
            true if names.is_empty() => error,
            true => error.with_help(format_args!("its inputs are {}", and_list(&names))),
            false => error.with_help(format_args!("did you mean {}?", or_list(&near))),
        });
    }
    let mut symbols: BTreeMap<&str, (u64, &str)> = BTreeMap::new();
    let mut missing = Vec::new();
    let mut values = Vec::new();
    for &param in main.params() {
        let name = main.name(param);
        let Some((_, tensor)) = arrays.iter().find(|(known, _)| known == name) else {
            match main.default_value(param) {
                Some(tensor) => values.push(tensor.clone()),
                None => missing.push(name),
            }
            continue;
        };
        let ty = text::display_type(main, main.type_id(param));
        if !fits(main.type_of(param), tensor) {
            let is = type_of(tensor);
            return Err(wrong(format!("`{name}` is {is}, which input `{name}: {ty}` does not take")));
        }
        if let Type::Tensor { shape: Some(shape), .. } = main.type_of(param) {
            for (dim, &size) in shape.iter().zip(tensor.dims()) {
                let Dim::Symbol(symbol) = Dim::from(*dim) else { continue };
                let symbol = main.str(symbol);
                let (known, by) = *symbols.entry(symbol).or_insert((size, name));
                if known != size {
                    return Err(wrong(format!("`{symbol}` is {known} in `{by}` and {size} in `{name}`")));
                }
            }
        }
        values.push(tensor.clone());
    }
    match missing.is_empty() {
        true => Ok(values),
        false => Err(wrong(format!("there is nothing for input {}", and_list(&missing)))),
    }
}

/// Whether a parameter of a type takes a tensor.
fn fits(ty: Type<'_>, tensor: &Tensor) -> bool {
    let Type::Tensor { elem, shape } = ty else { return matches!(ty, Type::Unknown) };
    let takes = |(&dim, &size): (&DimRec, &u64)| Dim::from(dim).known().is_none_or(|dim| dim == size);
    let fits = |shape: &[DimRec]| shape.len() == tensor.dims().len() && shape.iter().zip(tensor.dims()).all(takes);
    (elem == ElemType::UNKNOWN || elem == tensor.elem()) && shape.is_none_or(fits)
}

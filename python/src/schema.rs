//! Schemas of options that are described in Python.

use crate::value;
use pyo3::{
    exceptions::PyValueError,
    prelude::*,
    types::{PyDict, PyList},
};
use relais::options::{OptionSchema, ValueKind};

/// The options of a list of dicts, as the package makes it of a dataclass.
pub(crate) fn options(list: &Bound<'_, PyAny>) -> PyResult<Vec<OptionSchema>> {
    list.cast::<PyList>()?.iter().map(|entry| option(entry.cast::<PyDict>()?)).collect()
}

fn option(entry: &Bound<'_, PyDict>) -> PyResult<OptionSchema> {
    let name: String = needed(entry, "name")?.extract()?;
    let (kind, what) = (kind(entry)?, format!("the default of `{name}`"));
    let default = entry.get_item("default")?.map(|default| value::value(&default, &what)).transpose()?;
    let wrong = |error: relais::options::OptionError| PyValueError::new_err(format!("{what}: {error}"));
    let default = default.map(|default| kind.check(&default, &name).map_err(wrong)).transpose()?;
    let doc = needed(entry, "doc")?.extract()?;
    let is_optional = needed(entry, "optional")?.extract()?;
    let aliases = entry.get_item("aliases")?.map(|aliases| aliases.extract()).transpose()?.unwrap_or_default();
    Ok(OptionSchema { name, doc, kind, default, is_optional, aliases })
}

fn kind(entry: &Bound<'_, PyDict>) -> PyResult<ValueKind> {
    let name: String = needed(entry, "kind")?.extract()?;
    let range = entry.get_item("range")?;
    Ok(match name.as_str() {
        "bool" => ValueKind::Bool,
        "int" => {
            let (min, max) = range.map_or(Ok((i64::MIN, i64::MAX)), |range| ends(&range))?;
            ValueKind::Int { min, max }
        }
        "float" => {
            let (min, max) = range.map_or(Ok((f64::NEG_INFINITY, f64::INFINITY)), |range| ends(&range))?;
            ValueKind::Float { min, max }
        }
        "str" => ValueKind::Str,
        "path" => ValueKind::Path,
        "choice" => {
            let choices: Vec<String> = needed(entry, "choices")?.extract()?;
            ValueKind::Choice(choices.into_iter().map(|choice| (choice, String::new())).collect())
        }
        "list" => ValueKind::List(Box::new(kind(needed(entry, "item")?.cast::<PyDict>()?)?)),
        "struct" => ValueKind::Struct(options(&needed(entry, "fields")?)?),
        other => return Err(PyValueError::new_err(format!("`{other}` is not a kind of option"))),
    })
}

fn ends<'py, T: FromPyObjectOwned<'py>>(range: &Bound<'py, PyAny>) -> PyResult<(T, T)> {
    let end = |at: usize| range.get_item(at)?.extract::<T>().map_err(Into::into);
    Ok((end(0)?, end(1)?))
}

fn needed<'py>(entry: &Bound<'py, PyDict>, key: &str) -> PyResult<Bound<'py, PyAny>> {
    entry.get_item(key)?.ok_or_else(|| PyValueError::new_err(format!("an option has no `{key}`")))
}

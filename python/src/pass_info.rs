//! The facts about passes, as Python sees them.

use crate::value;
use pyo3::prelude::*;
use relais::pass::{PassFacts, PassInfo};

/// The facts about a pass.
#[pyclass(frozen, eq, get_all, name = "PassInfo", module = "relais_onnx")]
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct PyPassInfo {
    /// Its optimisation level.
    opt_level: u8,
    /// Its name.
    name: String,
    /// The passes that it requires.
    required: Vec<String>,
    /// The unit that it receives: "module", "function", "prim-func", "rewrite" or "sequential".
    kind: String,
    /// The plugin that provides it; none for passes of the program.
    plugin: Option<String>,
}

#[pymethods]
impl PyPassInfo {
    #[new]
    #[pyo3(signature = (opt_level, name, required = None))]
    fn make(opt_level: u8, name: String, required: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let required = value::names(required, "`required`")?;
        Ok(Self { opt_level, name, required, kind: "module".into(), plugin: None })
    }

    /// The part of its name after the last dot: TVM's, for passes that TVM has.
    #[getter]
    fn short_name(&self) -> &str {
        self.name.rsplit('.').next().unwrap_or(&self.name)
    }

    fn __repr__(&self) -> String {
        let Self { opt_level, name, required, .. } = self;
        format!("PassInfo(opt_level={opt_level}, name={name:?}, required={required:?})")
    }
}

fn plugin(name: &str) -> Option<String> {
    Some(name.to_owned()).filter(|name| !name.is_empty())
}

impl From<&PassFacts> for PyPassInfo {
    fn from(facts: &PassFacts) -> Self {
        Self::from(&PassInfo::from(facts))
    }
}

impl From<&PassInfo<'_>> for PyPassInfo {
    fn from(info: &PassInfo<'_>) -> Self {
        Self {
            opt_level: info.opt_level,
            name: info.name.to_owned(),
            required: info.required.iter().map(ToString::to_string).collect(),
            kind: info.level.name().to_owned(),
            plugin: plugin(info.plugin),
        }
    }
}

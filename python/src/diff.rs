//! The differences of two modules.

use crate::{html, module::PyIrModule, run::detached, value};
use pyo3::{exceptions::PyValueError, prelude::*};
use relais_conformance::{
    diff::{Diff, DiffRow, NodeRow},
    numbers::Tolerance,
};

/// The differences of two modules, whatever the names and the order of what is inside them. It is true if there are any.
#[pyclass(frozen, name = "Diff", module = "relais_onnx")]
pub(crate) struct PyDiff {
    diff: Diff,
}

/// Something that both modules have, or may have, and that differs.
#[pyclass(frozen, eq, get_all, name = "Difference", module = "relais_onnx")]
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct PyDifference {
    /// Its name: `calls of Relu`, `operator set ai.onnx`.
    what: String,
    /// As it is in the old module; none if it has none.
    old: Option<String>,
    /// As it is in the new module; none if it has none.
    new: Option<String>,
}

/// Two nodes at one place of the computation that differ.
#[pyclass(frozen, eq, get_all, name = "NodeDifference", module = "relais_onnx")]
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct PyNodeDifference {
    /// The function that they are in.
    function: String,
    /// In which way they differ.
    why: String,
    /// The node of the old module, as text; none if it has none.
    old: Option<String>,
    /// The node of the new module, as text; none if it has none.
    new: Option<String>,
}

#[pymethods]
impl PyIrModule {
    /// Where it differs from another module, whatever the names and the order of what is inside them. Weights are compared
    /// by their types; `numeric` compares their values, too.
    #[pyo3(signature = (old, *, numeric = false, rtol = 0.0, atol = 0.0))]
    fn diff(&self, py: Python<'_>, old: &Bound<'_, PyAny>, numeric: bool, rtol: f64, atol: f64) -> PyResult<PyDiff> {
        let old = old.cast::<PyIrModule>().map_err(|_| value::wrong(old, "`old`", "an IRModule"))?.get();
        for (name, bound) in [("rtol", rtol), ("atol", atol)] {
            if !(bound.is_finite() && bound >= 0.0) {
                let message = format!("`{name}` must be finite and not negative, not {bound}");
                return Err(PyValueError::new_err(message));
            }
            if bound > 0.0 && !numeric {
                let message = format!("`{name}` is for the values of constants, which `numeric=True` compares");
                return Err(PyValueError::new_err(message));
            }
        }
        let tolerance = numeric.then_some(Tolerance { relative: rtol, absolute: Some(atol) });
        let diff = detached(py, || Diff::of(&old.module, &self.module, tolerance))?;
        Ok(PyDiff { diff })
    }
}

#[pymethods]
impl PyDiff {
    /// Differences of what the modules and their interfaces have.
    #[getter]
    fn differences(&self) -> Vec<PyDifference> {
        let row = |DiffRow { what, sides: [old, new] }: &DiffRow| PyDifference {
            what: what.clone(),
            old: old.clone(),
            new: new.clone(),
        };
        self.diff.rows.iter().map(row).collect()
    }

    /// The nodes where the computations part: what is computed from them is not compared.
    #[getter]
    fn nodes(&self) -> Vec<PyNodeDifference> {
        let some = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        let row = |NodeRow { function, nodes: [old, new], why }: &NodeRow| PyNodeDifference {
            function: function.clone(),
            why: why.clone(),
            old: some(old),
            new: some(new),
        };
        self.diff.nodes.iter().map(row).collect()
    }

    fn __bool__(&self) -> bool {
        !self.diff.is_same()
    }

    /// A table of both, for notebooks.
    fn _repr_html_(&self) -> String {
        html::of_diff(&self.diff)
    }

    fn __str__(&self) -> String {
        self.diff.to_string().trim_end().to_owned()
    }

    fn __repr__(&self) -> String {
        format!("<Diff of {} differences and {} nodes>", self.diff.rows.len(), self.diff.nodes.len())
    }
}

#[pymethods]
impl PyDifference {
    fn __repr__(&self) -> String {
        let Self { what, old, new } = self;
        let [old, new] = [old, new].map(|side| side.as_deref().unwrap_or("none"));
        format!("<Difference {what}: {old} -> {new}>")
    }
}

#[pymethods]
impl PyNodeDifference {
    fn __repr__(&self) -> String {
        format!("<NodeDifference in @{}: {}>", self.function, self.why)
    }
}

//! Many models, one after another or on other machines: what `relais_onnx.zoo` is made of.

use crate::{
    context::Around,
    errors,
    library::OwnItems,
    operators::ops_of,
    optimize::{self, exception, own_pass, session},
    plugins::registry,
    run::{self, current, detached, run},
};
use pyo3::{
    exceptions::{PyException, PyFileNotFoundError, PyValueError},
    prelude::*,
    types::PyDict,
};
use relais::ir::IRModule;
use relais_session::{
    Error, Request, Session,
    many::{self, FolderStore, Job, Many, ManyError, ManyRequest, ModelRow, Retry, Runner, Store},
    model::Model,
};
use serde_json::Value;
use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

/// What is asked of each model: the arguments, options of passes, and where weights go.
type Asked<'py> = (Bound<'py, PyDict>, Option<Bound<'py, PyAny>>, String);

/// The request of each model, whose results depend on plugins alone.
fn request(py: Python<'_>, (wanted, config, external_data): Asked<'_>, out: &Path) -> PyResult<Request> {
    let wanted = optimize::wanted(&wanted)?;
    if let Some(name) = wanted.object() {
        return Err(own_pass(py, &format!("pass `{name}` is one of this program: nothing tells when it changes")));
    }
    let output = Some(optimize::output(out, &external_data)?);
    Ok(Request { output, ..wanted.request(config.as_ref(), &Around::default())? })
}

/// A run over many models, whose folder nobody else writes into until it is closed.
#[pyclass(frozen, name = "Many", module = "relais_onnx")]
pub(crate) struct PyMany(Mutex<Option<Many>>);

#[pymethods]
impl PyMany {
    /// Makes the folder, and reads what an earlier run left there.
    #[new]
    #[pyo3(signature = (models, out, shard, retry, asked))]
    fn begin(
        py: Python<'_>,
        models: Vec<PathBuf>,
        out: PathBuf,
        shard: Option<&str>,
        retry: bool,
        asked: Asked<'_>,
    ) -> PyResult<Self> {
        let wrong =
            |shard: &str| format!("`shard` must be a part and how many there are, such as \"2/4\", not `{shard}`");
        let part = |shard: &str| shard.parse().map_err(|_| PyValueError::new_err(wrong(shard)));
        let shard = shard.map(part).transpose()?;
        let request = request(py, asked, &out)?;
        let session = session(registry(py)?, &OwnItems::now());
        let stated = detached(py, || session.fingerprint(&request, ""))?;
        let stated = stated.map_err(|stopped| exception(py, *stopped, &Arc::default()))?;
        let retry = if retry { Retry::Yes } else { Retry::No };
        let request = ManyRequest { models, folder: out, shard, retry, stated };
        let many = detached(py, || Many::begin(&request))?.map_err(|error| refused(py, &error))?;
        Ok(Self(Mutex::new(Some(many))))
    }

    /// The models that are to be run, each as another process can read it.
    fn jobs(&self) -> Vec<String> {
        let many = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        many.iter().flat_map(|many| many.jobs()).map(|job| job.to_json().to_string()).collect()
    }

    /// Notes a row in the journal, unless it is there already.
    fn note(&self, py: Python<'_>, row: &str) -> PyResult<()> {
        let mut row = row_of(row)?;
        let noted = detached(py, || {
            let mut many = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(many) = many.as_mut() else { return Ok(()) };
            // The text does not say it.
            row.is_known = many.has(&row);
            many.note(&row)
        })?;
        noted.map_err(|error| refused(py, &error))
    }

    /// Writes the results, and closes the folder.
    fn finish(&self, py: Python<'_>, rows: Vec<String>) -> PyResult<()> {
        let rows: Vec<ModelRow> = rows.iter().map(|row| row_of(row)).collect::<PyResult<_>>()?;
        let many = self.take();
        let written = detached(py, || many.map_or(Ok(()), |many| many.finish(&rows)))?;
        written.map_err(|error| errors::of_error(py, "OutputError", &error))
    }

    /// Lets others write into the folder.
    fn close(&self) {
        drop(self.take());
    }
}

impl PyMany {
    fn take(&self) -> Option<Many> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Runs the model of a job, and returns its row.
#[pyfunction]
pub(crate) fn run_job(py: Python<'_>, job: &str, asked: Asked<'_>, cache: Option<Cache>) -> PyResult<String> {
    let job = serde_json::from_str(job).ok().and_then(|job| Job::from_json(&job));
    let job = job.ok_or_else(|| PyValueError::new_err("the text does not describe a job"))?;
    let here = Here { session: session(registry(py)?, &OwnItems::now()), request: request(py, asked, &job.target)? };
    let (row, _) = run(py, None, |_| job.outcome(&here, cache.as_ref().map(|cache| cache as &dyn Store)))?;
    Ok(row.to_json().to_string())
}

/// The table of some rows.
#[pyfunction]
pub(crate) fn table(rows: Vec<String>) -> PyResult<String> {
    let rows: Vec<ModelRow> = rows.iter().map(|row| row_of(row)).collect::<PyResult<_>>()?;
    Ok(many::table(&rows))
}

fn row_of(text: &str) -> PyResult<ModelRow> {
    let row = serde_json::from_str(text).ok().and_then(|row: Value| ModelRow::from_json(&row));
    row.ok_or_else(|| PyValueError::new_err("the text does not describe a row"))
}

/// The exception of models that are not run.
fn refused(py: Python<'_>, error: &ManyError) -> PyErr {
    let os = |class: &str, errno: i32, message: &str, path: &Path| -> PyErr {
        let made = || py.import("builtins")?.getattr(class)?.call1((errno, message, path));
        made().map_or_else(|error| error, PyErr::from_value)
    };
    match error {
        ManyError::Inside(_) => PyValueError::new_err("`out` contains models that are given"),
        ManyError::Busy(folder) => {
            let message = "another run writes here; let it end, or divide the models with `shard`";
            os("BlockingIOError", errors::named(py, "EAGAIN"), message, folder)
        }
        ManyError::Io(path, error) => os("OSError", error.raw_os_error().unwrap_or(0), &error.to_string(), path),
        error => errors::of_error(py, "OutputError", &error.error()),
    }
}

/// Runs models in this process.
struct Here {
    session: Session,
    /// What is asked of each model.
    request: Request,
}

impl Runner for Here {
    fn run(&self, job: &Job, model: Model, folder: &Path) -> Result<[u64; 2], String> {
        let before = n_calls(&model.module);
        let name = job.target.file_name().unwrap_or_default();
        let output = self
            .request
            .output
            .clone()
            .map(|output| relais_session::OutputRequest { path: folder.join(name), ..output });
        let request = Request { model: model.into(), output, ..self.request.clone() };
        let state = current().unwrap_or_default();
        match self.session.run_with(&*state, &request) {
            Ok(finished) => Ok([before, n_calls(&finished.module)]),
            Err(stopped) => Err(Python::attach(|py| shown(py, &exception(py, *stopped, &state)))),
        }
    }

    fn describe(&self, error: &Error) -> String {
        Python::attach(|py| shown(py, &errors::of_model(py, error)))
    }
}

/// An exception as the last line of a traceback shows it.
fn shown(py: Python<'_>, error: &PyErr) -> String {
    let class = error.get_type(py).name().map_or_else(|_| "error".to_owned(), |name| name.to_string());
    format!("{class}: {}", error.value(py))
}

/// How many operators the functions of a module call.
fn n_calls(module: &IRModule) -> u64 {
    module.functions().map(|(_, f)| ops_of(f).len() as u64).sum()
}

/// Where results are kept by what they depend on.
#[derive(FromPyObject)]
pub(crate) enum Cache {
    /// In a folder.
    Folder(PathBuf),
    /// In an object with the methods `fetch` and `keep`, and the attribute `place`.
    Object(Py<PyAny>),
}

impl Store for Cache {
    fn place(&self) -> String {
        match self {
            Self::Folder(folder) => FolderStore(folder.clone()).place(),
            Self::Object(object) => Python::attach(|py| {
                object.getattr(py, "place").map_or_else(|_| "?".to_owned(), |place| place.to_string())
            }),
        }
    }

    fn fetch(&self, name: &str, target: &Path) -> io::Result<()> {
        match self {
            Self::Folder(folder) => FolderStore(folder.clone()).fetch(name, target),
            Self::Object(object) => Python::attach(|py| {
                object.call_method1(py, "fetch", (name, target)).map(drop).map_err(|error| io_error(py, error))
            }),
        }
    }

    fn keep(&self, source: &Path, name: &str) -> io::Result<()> {
        match self {
            Self::Folder(folder) => FolderStore(folder.clone()).keep(source, name),
            Self::Object(object) => Python::attach(|py| {
                object.call_method1(py, "keep", (source, name)).map(drop).map_err(|error| io_error(py, error))
            }),
        }
    }
}

/// The native error of a store, which raises what it likes. An interrupt ends the run.
fn io_error(py: Python<'_>, error: PyErr) -> io::Error {
    let text = error.value(py).to_string();
    let kind =
        if error.is_instance_of::<PyFileNotFoundError>(py) { io::ErrorKind::NotFound } else { io::ErrorKind::Other };
    if !error.is_instance_of::<PyException>(py) {
        run::end(py, error);
    }
    io::Error::new(kind, text)
}

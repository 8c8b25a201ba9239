//! Running the models of a check: with the evaluators of plugins, or in onnxruntime.

use super::request::{CheckRequest, CheckWith};
use crate::{
    error::Error,
    listener::Listener,
    model::{self, Format},
    npz,
};
use relais::{
    files::{Destination, Existing, NewFolder},
    ir::{IRModule, Tensor},
    onnx::WriteOptions,
    registry::Registry,
    words::shell_word,
};
use relais_conformance::{
    check::{Evaluators, ModelOutputs, Seen, Unseen},
    interpret::{NotComputed, ResultForm},
    program,
};
use std::{
    env, io,
    path::{Path, PathBuf},
    process::{self, Output},
    sync::atomic::{AtomicUsize, Ordering},
};

/// Runs the model, inputs and outputs of which its arguments name.
const SCRIPT: &str = include_str!("onnxruntime.py");

/// The means by which models are run.
pub(super) enum Runner {
    /// The evaluators of plugins, with a limit of the bytes that their results take at once.
    Evaluators { max_bytes: u64 },
    /// onnxruntime, in Python.
    Onnxruntime { python: PathBuf, version: String },
}

/// Why a model was not run.
pub(super) enum NotRun {
    /// It is not covered.
    NotCovered(String),
    /// It cannot be run.
    Failed(String),
    /// It ran, and differs by more than the bounds; it was stopped before it was known whether it may.
    Undecided(String),
}

impl NotRun {
    pub fn why(&self) -> &str {
        match self {
            Self::NotCovered(why) | Self::Failed(why) | Self::Undecided(why) => why,
        }
    }
}

impl Runner {
    /// The runner that a request has, if it can be started.
    pub fn of(request: &CheckRequest) -> Result<Self, Error> {
        let CheckWith::Onnxruntime(python) = &request.with else {
            return Ok(Self::Evaluators { max_bytes: request.max_bytes });
        };
        let python = python.clone().unwrap_or_else(program::usual_python);
        let shown = python.display();
        let program = "import numpy, onnxruntime; print(onnxruntime.__version__)";
        let started = program::python(&python).and_then(|mut python| python.args(["-c", program]).output());
        let output = started.map_err(|error| {
            let error = Error::new(format_args!("Python `{shown}` cannot be started: {error}"));
            error.with_help("name one that has onnxruntime: `--python PROGRAM`")
        })?;
        if !output.status.success() {
            let error = Error::new(format_args!("Python `{shown}` has no onnxruntime: {}", last_line(&output)));
            let install = format!("`{} -m pip install onnxruntime`", shell_word(&python));
            let unseen = "packages of `PYTHONPATH` and of `pip install --user` are not used";
            let help = format!("install it: {install}, or name another one: `--python PROGRAM`; {unseen}");
            return Err(error.with_help(help));
        }
        let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        Ok(Self::Onnxruntime { python, version })
    }

    /// Its name, for reports.
    pub fn name(&self) -> String {
        match self {
            Self::Evaluators { .. } => "relais".to_owned(),
            Self::Onnxruntime { version, .. } => format!("onnxruntime {version}"),
        }
    }

    /// Prepares a module to be run.
    pub fn load<'a>(
        &'a self,
        module: &'a IRModule,
        registry: &'a Registry,
        listener: &'a dyn Listener,
    ) -> Result<Loaded<'a>, Error> {
        let python = match self {
            &Self::Evaluators { max_bytes } => {
                return Ok(Loaded::Module { module, registry, listener, max_bytes, seen: Seen::default() });
            }
            Self::Onnxruntime { python, .. } => python,
        };
        let folder = temporary_folder().map_err(|error| Error::new(format_args!("no temporary folder: {error}")))?;
        let path = folder.path().join("model.onnx");
        let destination = Destination::new(&path, Existing::Keep).map_err(|error| Error::new(error.of("model")))?;
        listener.begins("writing a model for onnxruntime");
        model::write(module, &destination, Format::Onnx, &WriteOptions::default()).map_err(|error| error.error())?;
        let Some(main) = module.main() else { return Err(Error::new("the module has no function `main`")) };
        let is_fed = |&id: &_| main.default_value(id).is_none();
        let names = main.params().iter().map(|&id| is_fed(&id).then(|| main.name(id).to_owned())).collect();
        Ok(Loaded::File { python, folder, names, n_runs: AtomicUsize::new(0), listener })
    }
}

/// A module that can be run.
pub(super) enum Loaded<'a> {
    Module {
        module: &'a IRModule,
        registry: &'a Registry,
        listener: &'a dyn Listener,
        max_bytes: u64,
        seen: Seen,
    },
    File {
        python: &'a Path,
        folder: NewFolder,
        /// The names of the inputs that are fed; none for those that keep their values.
        names: Vec<Option<String>>,
        n_runs: AtomicUsize,
        listener: &'a dyn Listener,
    },
}

impl Loaded<'_> {
    /// The parts that no run reached, and that `before` does not have; none where a runtime does not tell.
    pub fn unseen_changes(&self, before: &IRModule) -> Vec<Unseen> {
        match self {
            Self::Module { module, seen, .. } => seen.unseen_changes(module, before),
            Self::File { .. } => Vec::new(),
        }
    }

    /// Runs it; there is an input for each parameter.
    pub fn run(&self, inputs: &[Tensor]) -> Result<ModelOutputs, NotRun> {
        match self {
            Self::Module { module, registry, listener, max_bytes, seen } => {
                let says = |operator: &str| listener.begins(&format!("checking the output: {operator}"));
                let is_stopped = || listener.is_stopped();
                let evaluators =
                    Evaluators::new(*registry, &says).stopped_by(&is_stopped).noting(seen).within(*max_bytes);
                evaluators.run(module, inputs).map_err(|stop| match stop {
                    NotComputed::NotCovered { why, .. } => NotRun::NotCovered(why),
                    NotComputed::Wrong(why) => NotRun::Failed(why),
                })
            }
            Self::File { python, folder, names, n_runs, listener } => {
                listener.begins("checking the output in onnxruntime");
                let run = n_runs.fetch_add(1, Ordering::Relaxed);
                let file = |name: &str| folder.path().join(format!("{name}{run}.npz"));
                let (given, outputs) = (file("inputs"), file("outputs"));
                let fed = names.iter().zip(inputs).filter_map(|(name, input)| Some((name.as_deref()?, input)));
                npz::write(&given, &fed.collect::<Vec<_>>())
                    .map_err(|why| NotRun::NotCovered(format!("input {why}")))?;
                let output = program::python(python).and_then(|mut python| {
                    let model = folder.path().join("model.onnx");
                    python.args(["-c", SCRIPT]).arg(model).args([&given, &outputs]);
                    program::output_unless(&mut python, &|| listener.is_stopped())
                });
                let output = output.map_err(|error| NotRun::NotCovered(error.to_string()))?;
                let stopped = || NotRun::NotCovered("onnxruntime was stopped".to_owned());
                let output = output.ok_or_else(stopped)?;
                if !output.status.success() {
                    return Err(NotRun::Failed(format!("onnxruntime: {}", last_line(&output))));
                }
                let read = npz::read(&outputs).map_err(NotRun::NotCovered)?;
                outputs_of(read).ok_or_else(|| NotRun::Failed("onnxruntime: its outputs are in disorder".to_owned()))
            }
        }
    }
}

/// The outputs in a file of the script: the number of tensors of each, then these; -1 for a tensor alone, and -2 for none.
fn outputs_of(read: Vec<(String, Tensor)>) -> Option<ModelOutputs> {
    let mut arrays = read.into_iter();
    let (_, forms) = arrays.next()?;
    let form = |n: i64| match n {
        -2 => Some(ResultForm::Nothing),
        -1 => Some(ResultForm::Tensor),
        n => usize::try_from(n).ok().map(ResultForm::Sequence),
    };
    let forms: Vec<ResultForm> = forms.to_i64s()?.into_iter().map(form).collect::<Option<_>>()?;
    let tensors: Vec<Tensor> = arrays.map(|(_, tensor)| tensor).collect();
    (forms.iter().map(|form| form.n_tensors()).sum::<usize>() == tensors.len())
        .then_some(ModelOutputs { forms, tensors })
}

/// The last line that a program wrote on standard error, which says what is wrong.
fn last_line(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let last = text.lines().map(str::trim).rfind(|line| !line.is_empty()).map(str::to_owned);
    last.unwrap_or_else(|| output.status.to_string())
}

/// A folder that is removed when it is dropped, or when the process is interrupted.
fn temporary_folder() -> io::Result<NewFolder> {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    NewFolder::new(&env::temp_dir().join(format!("relais-check-{}-{count}", process::id())))
}

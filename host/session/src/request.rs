//! Requests.

use crate::{
    check::CheckRequest,
    model::{Model, Part},
    pipeline::{InstrumentRequest, PipelineRequest},
};
use relais::{
    files::{Destination, Existing, WriteTarget},
    onnx::{ExternalData, StatedTypes, Strip},
    pass::{Remarks, Verify},
};
use std::{
    num::NonZero,
    path::{Path, PathBuf},
};

/// A request: a model, a pipeline, and what is to come of them. It is data: nothing is looked up before it is dealt with.
///
/// By default, the pipeline `default` runs over a model, nothing is checked and nothing is written.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The model.
    pub model: ModelSource,
    /// The part of it that is wanted.
    pub part: Part,
    /// Nodes that no pass removes or changes, by their names or those of values that they compute.
    pub keep: Vec<String>,
    /// The pipeline.
    pub pipeline: PipelineRequest,
    /// Instruments beside those that the pipeline names.
    pub instruments: Vec<InstrumentRequest>,
    /// The lock file that pipeline and plugins must match.
    pub lock: Option<PathBuf>,
    /// Whether the rules that are stated are judged.
    pub judging: Judging,
    /// When the verifier runs, which takes precedence over the pipeline.
    pub verify: Option<Verify>,
    /// Whether passes explain why they did not do something.
    pub remarks: Remarks,
    /// After how many executions of passes nothing more runs.
    pub stop_after: Option<u64>,
    /// The number of threads over which functions are distributed; by default one for each processor.
    pub threads: Option<NonZero<u16>>,
    /// How the result is compared with the model.
    pub check: CheckRequest,
    /// Where the result goes; nowhere if it is wanted in memory alone.
    pub output: Option<OutputRequest>,
    /// Whether the contents of the model and of the output are counted, for tables. A report has them anyway.
    pub counts: Counts,
    /// Where a report in JSON goes.
    pub report: Option<PathBuf>,
    /// Where reproducers of failing passes go; nowhere if none are wanted.
    pub reproducers: Option<Reproducers>,
}

/// Where a model comes from.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum ModelSource {
    /// Standard input.
    #[default]
    StandardInput,
    /// A file.
    File(PathBuf),
    /// Memory. As in a file, [`operators`](Model::operators) are those with which it runs already.
    Model(Box<Model>),
}

/// Whether the rules that a pipeline or arguments state are judged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Judging {
    /// They are applied to small modules first; one that changes what a module computes ends the request.
    #[default]
    Judge,
    /// They are used as they are.
    Trust,
}

/// Whether the contents of models are counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Counts {
    /// They are not.
    #[default]
    Leave,
    /// They are.
    Take,
}

/// Where a model goes, and how it is written.
#[derive(Clone, Debug, Default)]
pub struct OutputRequest {
    /// The file; `-` is standard output. Its name says the format, which otherwise is that of the model.
    pub path: PathBuf,
    /// Where the weights go.
    pub external_data: ExternalData,
    /// The values inside graphs whose types are written. Those that are not known are inferred, if all are wanted.
    pub stated_types: StatedTypes,
    /// The parts that are left out.
    pub strip: Strip,
}

/// Where reproducers of failing passes go.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reproducers {
    /// The file beside which they stand, and whose name they bear.
    pub beside: PathBuf,
    /// The folder that they go into instead.
    pub folder: Option<PathBuf>,
    /// Which failures they are made of.
    pub of: Failures,
}

/// Which failures of passes a reproducer is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Failures {
    /// All.
    #[default]
    All,
    /// Those that a pass does not explain by a code of its own: a pass with one only says what it does not support.
    Unexplained,
}

impl Request {
    /// The model in a file, and the pipeline `default`.
    pub fn file(model: impl Into<PathBuf>) -> Self {
        Self { model: ModelSource::File(model.into()), ..Self::default() }
    }

    /// The same with a file for the result.
    pub fn to(self, output: impl Into<PathBuf>) -> Self {
        Self { output: Some(OutputRequest { path: output.into(), ..OutputRequest::default() }), ..self }
    }

    /// The same with another pipeline.
    pub fn through(self, pipeline: PipelineRequest) -> Self {
        Self { pipeline, ..self }
    }
}

impl Request {
    /// Whether something goes to standard output.
    pub fn takes_standard_output(&self) -> bool {
        let mut files = self.output.iter().map(|output| &output.path).chain(&self.report);
        let is_taken = |destination: Destination| *destination.place() == WriteTarget::StandardOutput;
        files.any(|file| file.as_os_str() == "-" || Destination::new(file, Existing::Replace).is_ok_and(is_taken))
    }

    /// Only that which decides about the result beside the model, the pipeline and the contents of files: no place of a file
    /// does, nor what is said on the way.
    pub(crate) fn without_places(&self) -> Self {
        Self {
            model: ModelSource::default(),
            pipeline: PipelineRequest::default(),
            lock: None,
            remarks: Remarks::default(),
            threads: None,
            check: CheckRequest { inputs: Vec::new(), ..self.check.clone() },
            output: self.output.as_ref().map(|output| OutputRequest { path: PathBuf::new(), ..output.clone() }),
            counts: Counts::default(),
            report: None,
            reproducers: None,
            ..self.clone()
        }
    }

    /// Whether the contents of models are counted.
    pub(crate) fn is_counted(&self) -> bool {
        self.counts == Counts::Take || self.report.is_some()
    }
}

impl From<Model> for ModelSource {
    fn from(model: Model) -> Self {
        Self::Model(Box::new(model))
    }
}

impl ModelSource {
    /// Its name, for reports.
    pub(crate) fn name(&self) -> &Path {
        match self {
            Self::StandardInput => Path::new("-"),
            Self::File(path) => path,
            Self::Model(_) => Path::new(""),
        }
    }
}

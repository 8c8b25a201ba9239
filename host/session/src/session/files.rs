//! The files that a request names, and those that are written at its end.

use crate::{
    error::Error,
    model::{self, Format, Model, NotWritten, infer_types},
    outputs::Outputs,
    request::{OutputRequest, Request},
};
use relais::{
    files::{Destination, Existing},
    ir::IRModule,
    onnx::{ExternalData, StatedTypes, WriteOptions, WriteReport, strip},
    registry::Registry,
    report::Summary,
};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The files that are written at the end.
pub(super) struct Files<'r> {
    pub output: Option<(&'r OutputRequest, Destination)>,
    pub report: Option<Destination>,
    pub all: Outputs,
    /// The files that are read, beside those that the request names, each with words for what it is.
    pub read: Vec<(&'static str, PathBuf)>,
}

impl<'r> Files<'r> {
    /// Looks at the files that a request names: those that are written can be, and none that is read is lost.
    pub fn of(request: &'r Request, plugins: &Registry) -> Result<Self, NotWritten> {
        let mut all = Outputs::default();
        let mut output = None;
        if let Some(wanted) = &request.output {
            output = Some((wanted, all.add("output", &wanted.path, Existing::Replace)?));
        }
        let report = request.report.as_deref().map(|path| all.add("report", path, Existing::Keep)).transpose()?;
        let pipeline = request.pipeline.file();
        all.spare("the pipeline", pipeline.iter().map(PathBuf::as_path))?;
        all.spare("the rules", request.pipeline.rule_files.iter().map(PathBuf::as_path))?;
        all.spare("the lock file", request.lock.as_deref())?;
        // A file that does not exist cannot be a plugin.
        if request.output.as_ref().is_some_and(|output| output.path.exists()) {
            all.spare("plugin", plugins.plugins().chain(plugins.set_aside()).filter_map(|provider| provider.path()))?;
        }
        all.spare("the inputs", request.check.inputs.iter().map(PathBuf::as_path))?;
        if let Some((wanted, destination)) = &output {
            wanted.check(destination)?;
        }
        Ok(Self { output, report, all, read: Vec::new() })
    }

    /// Notes files that are read, and refuses to replace them.
    pub fn reads(&mut self, what: &'static str, files: impl IntoIterator<Item = PathBuf>) -> Result<(), NotWritten> {
        let files: Vec<PathBuf> = files.into_iter().collect();
        self.all.spare(what, files.iter().map(PathBuf::as_path))?;
        self.read.extend(files.into_iter().map(|file| (what, file)));
        Ok(())
    }
}

impl OutputRequest {
    /// Refuses what contradicts itself.
    fn check(&self, destination: &Destination) -> Result<(), Error> {
        if let Some(other) = Format::of_others(&self.path) {
            let error = Error::new(format_args!("output `{}` would be taken for {other}", self.path.display()));
            return Err(error.with_help("models are written as ONNX (`.onnx`) or in the text form (`.relay`)"));
        }
        if destination.file().is_none() && matches!(self.external_data, ExternalData::External { .. }) {
            let error =
                Error::new(format_args!("beside output `{}` there is no place for weights", self.path.display()));
            return Err(error.with_help("name a file, or let the weights stand in the model: `--external-data never`"));
        }
        if self.stated_types == StatedTypes::Known && self.strip.value_info {
            let error = Error::usage("`--infer-shapes` writes what `--strip value-info` leaves out");
            return Err(error.with_help("choose one of the two"));
        }
        Ok(())
    }

    /// Refuses to write what is binary to a terminal.
    pub fn spare_terminal(&self, destination: &Destination, model: Format) -> Result<(), Error> {
        if self.format(model) == Format::Text || !destination.is_terminal() {
            return Ok(());
        }
        let error =
            Error::new(format_args!("output `{}` is a terminal, and a model in ONNX is binary", self.path.display()));
        Err(error.with_help("name a file, `-o FILE`, or pipe the output into another program"))
    }

    /// Its format: of its name, otherwise that of the model.
    pub fn format(&self, model: Format) -> Format {
        Format::of_name(&self.path).unwrap_or(model)
    }

    fn options(&self) -> WriteOptions {
        WriteOptions::default().with_external_data(self.external_data).with_stated_types(self.stated_types)
    }

    /// Makes of what passes left what is written.
    pub fn prepare(&self, module: &mut IRModule, registry: &Registry) -> Result<(), Error> {
        if self.stated_types == StatedTypes::Known {
            infer_types(module, registry);
        }
        strip(module, self.strip).map_err(|error| Error::new(format_args!("model {error}")))
    }

    /// Writes a module that is complete.
    pub fn write(
        &self,
        module: &IRModule,
        destination: &Destination,
        format: Format,
    ) -> Result<WriteReport, NotWritten> {
        model::write(module, destination, format, &self.options())
    }

    /// The same, if what was written is accepted.
    pub fn write_if(
        &self,
        module: &IRModule,
        destination: &Destination,
        format: Format,
        accept: &mut dyn FnMut(&IRModule) -> bool,
    ) -> Result<Option<WriteReport>, NotWritten> {
        model::write_if(module, destination, format, &self.options(), accept)
    }
}

/// The contents of what was written, as the next reader will see it: some constants are nodes in the file.
pub(super) fn contents(destination: &Destination, written: &WriteReport) -> Result<Summary, Error> {
    let Some(path) = destination.file() else {
        let sent = written.sent.clone().unwrap_or_default();
        let Model { module, n_bytes, .. } = Model::from_bytes(Path::new(""), sent)?;
        return Ok(Summary::of(&module, Some(n_bytes), ""));
    };
    let Model { module, n_bytes, .. } = Model::read(path)?;
    let mut summary = Summary::of(&module, Some(n_bytes), &whole(path));
    let files = written.data_files.iter().map(|(path, _)| path).chain(&written.shared_files);
    summary.external_files.extend(files.map(|path| whole(path)));
    let own: u64 = written.data_files.iter().map(|(_, len)| len).sum();
    let shared = written.shared_files.iter().filter_map(|path| fs::metadata(path).ok());
    summary.external_bytes = summary.external_bytes.max(own + shared.map(|metadata| metadata.len()).sum::<u64>());
    Ok(summary)
}

/// A path from the root, as models have those of their weights.
pub(super) fn whole(path: &Path) -> String {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
}

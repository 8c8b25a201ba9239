//! Reproducers of failing passes.

use crate::{
    pipeline::PipelineRequest,
    request::{Failures, Reproducers},
};
use relais::{
    manager::{PassFault, Reproducer, ReproducerError, RunReport, free_folder},
    pass::Catalogue,
    pipeline::Pipeline,
};
use relais_plugin_api::boundary::abi::error_kind;
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

impl Reproducers {
    /// Beside a file, of all failures.
    pub fn beside(file: impl Into<PathBuf>) -> Self {
        Self { beside: file.into(), folder: None, of: Failures::All }
    }

    /// Writes a reproducer of each pass that failed, one for each error of a pass. Returns their folders, and why there are no
    /// more: this ends nothing, since the result of the run itself matters more.
    pub(crate) fn write(
        &self,
        (request, pipeline): (&PipelineRequest, &Pipeline),
        report: &RunReport,
        catalogue: &dyn Catalogue,
    ) -> (Vec<PathBuf>, Option<String>) {
        let (mut told, mut written, mut why) = (BTreeSet::new(), Vec::new(), None);
        // A pass that says why it cannot do what the user asked for is not at fault.
        let is_refusal = |fault: &PassFault| {
            request.asks_for(&pipeline.passes[fault.pass].facts.name) && report.has_said(&fault.error)
        };
        for fault in report.faults.iter().filter(|fault| self.wants(fault) && !is_refusal(fault)) {
            if !told.insert((fault.pass, fault.error.rec().message.to_string())) {
                continue;
            }
            let facts = &pipeline.passes[fault.pass].facts;
            if facts.plugin.is_empty() {
                why = Some(format!("pass `{}` is one of this program, and is nowhere else", facts.name));
                continue;
            }
            match self.write_one(|folder| Reproducer::write(folder, pipeline, fault, catalogue)) {
                Ok(folder) => written.push(folder),
                Err(why) => return (written, Some(why)),
            }
        }
        (written, why)
    }

    fn wants(&self, fault: &PassFault) -> bool {
        let rec = fault.error.rec();
        let is_explained = rec.kind == error_kind::RETURNED && !rec.code.is_empty();
        rec.kind != error_kind::CANCELLED && !(is_explained && self.of == Failures::Unexplained)
    }

    fn write_one(&self, write: impl Fn(&Path) -> Result<(), ReproducerError>) -> Result<PathBuf, String> {
        let base = match (&self.folder, self.beside.file_name()) {
            (Some(folder), Some(name)) => {
                fs::create_dir_all(folder).map_err(|error| format!("`{}`: {error}", folder.display()))?;
                folder.join(name)
            }
            _ => self.beside.clone(),
        };
        let folder = free_folder(&base, "repro")
            .ok_or_else(|| format!("there are a hundred beside `{}` already: remove some", base.display()))?;
        write(&folder).map_err(|error| error.to_string())?;
        Ok(folder)
    }
}

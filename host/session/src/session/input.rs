//! The model of a request, ready for passes.

use super::{
    files::{Files, whole},
    heard::Heard,
    plan::Plan,
};
use crate::{
    check::OutputCheck,
    listener::{Listener, Notice},
    model::{Model, keep},
    pipeline::missing_functions,
    request::{ModelSource, Request},
    result::Stopped,
};
use relais::{ir::IRModule, onnx::data_files, report::Summary};
use std::{io, path::PathBuf};

/// A model that is ready for passes.
pub(super) struct Input {
    /// The model: its module is the part that is wanted.
    pub model: Model,
    /// The same, with nodes hidden that no pass may remove or change.
    pub hidden: IRModule,
    /// How many nodes are hidden.
    pub n_kept: usize,
    /// The contents of the model, if they are counted.
    pub before: Option<Summary>,
}

impl Input {
    /// Reads the model and makes it ready. `is_counted` says whether its contents are counted.
    pub fn new(
        request: &Request,
        plan: &Plan<'_>,
        (files, check): (&mut Files<'_>, Option<&OutputCheck<'_>>),
        heard: &Heard<'_>,
    ) -> Result<Self, Box<Stopped>> {
        heard.begins("reading the model");
        let mut model = read(&request.model, heard)?;
        if let Some((output, destination)) = &files.output {
            output.spare_terminal(destination, model.format)?;
        }
        files.reads("weights of the model, in", data_files(&model.module).into_iter().map(PathBuf::from))?;
        let before =
            request.is_counted().then(|| Summary::of(&model.module, Some(model.n_bytes), &file_of(request, &model)));
        let notices = request.part.cut(&mut model.module, &plan.registry)?;
        if let Some(check) = check {
            check.look_at(&model.module, &plan.registry).map_err(Stopped::before_check)?;
        }
        let notices = notices.into_iter().chain(missing_functions(&request.instruments, &model.module));
        notices.for_each(|notice| heard.notice(&notice));
        heard.warnings(&plan.registry.operator_conflicts(&model.module));
        let mut hidden = model.module.clone();
        let n_kept = keep(&mut hidden, &request.keep, &plan.registry)?;
        Ok(Self { model, hidden, n_kept, before })
    }
}

fn read(given: &ModelSource, heard: &Heard<'_>) -> Result<Model, Box<Stopped>> {
    let model = match given {
        ModelSource::Model(model) => return Ok((**model).clone()),
        ModelSource::File(path) => Model::read(path)?,
        ModelSource::StandardInput => Model::read_from(given.name(), io::stdin().lock())?,
    };
    for warning in &model.warnings {
        heard.notice(&Notice::warning(format_args!("model `{}`: {warning}", given.name().display())));
    }
    Ok(model)
}

/// The file of a model, from the root: weights in others are external.
fn file_of(request: &Request, model: &Model) -> String {
    match (&request.model, model.module.sources.first()) {
        (ModelSource::Model(_), Some(source)) => source.name.to_string(),
        (given, _) => whole(given.name()),
    }
}

//! The steps from a request to its result, in their order.

use super::{
    files::Files,
    folder::Folder,
    heard::Heard,
    input::Input,
    own::Own,
    plan::{Plan, read},
    run::Run,
};
use crate::{
    check::OutputCheck,
    model::NotWritten,
    pipeline::{StatedRules, add_instruments},
    request::{Judging, Request},
    result::{Course, Finished, Stopped},
};
use relais::{pass::PassInstrument, pipeline::Pipeline, registry::Registry, report::write_json};
use serde_json::Value;
use std::{path::Path, sync::Arc, time::Instant};

/// A request, and what it is dealt with.
pub(super) struct Work<'a> {
    pub all: &'a Registry,
    pub own: &'a Own,
    pub instruments: &'a [Arc<dyn PassInstrument>],
    pub request: &'a Request,
    pub heard: &'a Heard<'a>,
    pub folder: Folder,
    pub began: Instant,
}

impl Work<'_> {
    /// Deals with the request: looks at the files, resolves the pipeline and judges its rules, reads the model and makes it
    /// ready, runs the passes, checks and writes the result, and reports.
    pub fn run(&self) -> Result<Finished, Box<Stopped>> {
        let Self { request, heard, folder, began, .. } = self;
        let mut files = Files::of(request, self.all)?;
        let check = request.check.is_wanted().then(|| OutputCheck::new(&request.check)).transpose()?;
        let plan = self.plan(&mut files)?;
        let pipeline = folder.after(|| self.pipeline(&plan, &mut files))?;
        let input = Input::new(request, &plan, (&mut files, check.as_ref()), heard)?;
        let (plan, input, check) = (&plan, &input, check.as_ref());
        let course = self.course(&pipeline, input);
        let run = Run { request, instruments: self.instruments, heard, folder, began, plan, input, check, course };
        let result = run.result(pipeline, &files);
        let json = result.as_ref().map_or_else(|stopped| stopped.to_json(), Finished::to_json);
        report(&files, &json)?;
        result
    }

    /// The plan, with the instruments of the request.
    fn plan(&self, files: &mut Files<'_>) -> Result<Plan<'_>, Box<Stopped>> {
        let (spec, faults) = read(&self.request.pipeline, self.all)?;
        let mut plan = Plan::new(spec.unless(faults)?, self.all, self.own, self.request.lock.as_deref())?;
        add_instruments(&mut plan.spec, &self.request.instruments)?;
        files.all.add_instruments(&plan.spec.run)?;
        Ok(plan)
    }

    /// The resolved pipeline, whose rules were judged.
    fn pipeline(&self, plan: &Plan<'_>, files: &mut Files<'_>) -> Result<Pipeline, Box<Stopped>> {
        let pipeline = plan.resolve_to_run(self.heard)?;
        let stated = StatedRules::of(&plan.spec, plan.catalogue())?;
        files.reads("the rules", stated.iter().filter_map(|rules| rules.file.clone()))?;
        if self.request.judging == Judging::Judge {
            plan.judge(&stated, &pipeline, self.heard)?;
        }
        Ok(pipeline)
    }

    /// The course before passes run.
    fn course(&self, pipeline: &Pipeline, input: &Input) -> Course {
        let shown = |path: &Path| path.display().to_string();
        Course {
            model: shown(self.request.model.name()),
            output: self.request.output.as_ref().map(|output| shown(&output.path)),
            pipeline: pipeline.print(),
            additions: pipeline.additions.clone(),
            before: input.before.clone(),
            ..Course::default()
        }
    }
}

/// Writes the report, if the request has one.
fn report(files: &Files<'_>, json: &Value) -> Result<(), NotWritten> {
    let Some(file) = &files.report else { return Ok(()) };
    write_json(file, json).map_err(|error| NotWritten::File("report", error))
}

//! The steps from a request to its result, in their order.

use super::{
    files::{Files, contents},
    folder::Folder,
    heard::Heard,
    input::Input,
    own::OwnPass,
    plan::{Plan, read},
};
use crate::{
    check::{Check, CheckFailed, CheckPassed, FailedOutput, RanPasses, Subject},
    error::Error,
    listener::{Listener, Notice},
    model::{NotWritten, as_written, release, with_bodies},
    pipeline::{StatedRules, add_instruments},
    request::{Judging, Request},
    result::{Cause, Course, Finished, Stopped},
};
use relais::{
    ir::IRModule,
    manager::{self, RunOptions},
    pass::Instrument,
    pipeline::Pipeline,
    plugin::take_faults,
    registry::Registry,
    report::write_json,
};
use serde_json::Value;
use std::{mem, path::Path, sync::Arc, time::Instant};

/// A request, and what it is dealt with.
pub(super) struct Work<'a> {
    pub all: &'a Registry,
    pub own: &'a [OwnPass],
    pub instruments: &'a [Arc<dyn Instrument>],
    pub request: &'a Request,
    pub heard: &'a Heard<'a>,
    pub folder: Folder,
    pub began: Instant,
}

impl Work<'_> {
    /// Deals with the request.
    pub fn run(&self) -> Result<Finished, Box<Stopped>> {
        let mut files = Files::of(self.request, self.all)?;
        let check = &self.request.check;
        let check = check.is_wanted().then(|| Check::new(check)).transpose()?;
        let plan = self.plan(&mut files)?;
        let pipeline = self.folder.after(|| self.pipeline(&plan, &mut files))?;
        let input = Input::new(self.request, &plan, (&mut files, check.as_ref()), self.heard)?;
        let mut course = self.course(&pipeline, &input);
        let result = self.result(&plan, pipeline, (&input, check.as_ref()), &files, &mut course);
        course.elapsed = if result.is_ok() { course.elapsed } else { self.began.elapsed() };
        match result {
            Ok(finished) => {
                let finished = Finished { course, ..finished };
                self.report(&files, || finished.to_json())?;
                Ok(finished)
            }
            Err(stopped) => {
                let stopped = Stopped { course: Some(course), ..*stopped };
                self.report(&files, || stopped.to_json())?;
                Err(Box::new(stopped))
            }
        }
    }

    /// What runs, with the instruments that are asked for.
    fn plan(&self, files: &mut Files<'_>) -> Result<Plan<'_>, Box<Stopped>> {
        let (spec, faults) = read(&self.request.pipeline, self.all)?;
        let mut plan = Plan::new(spec.unless(faults)?, self.all, self.own, self.request.lock.as_deref())?;
        add_instruments(&mut plan.spec, &self.request.instruments)?;
        files.all.add_instruments(&plan.spec.run)?;
        Ok(plan)
    }

    /// The resolved pipeline, whose rules were judged.
    fn pipeline(&self, plan: &Plan<'_>, files: &mut Files<'_>) -> Result<Pipeline, Box<Stopped>> {
        let pipeline = plan.resolve(Vec::new(), self.heard)?;
        let stated = StatedRules::of(&plan.spec, plan.catalogue())?;
        files.reads("the rules", stated.iter().filter_map(|rules| rules.file.clone()))?;
        if self.request.judging == Judging::Judge {
            plan.judge(&stated, &pipeline, self.heard)?;
        }
        Ok(pipeline)
    }

    /// What is known before passes run.
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

    /// Runs the passes, and checks and writes what they left. Its own course stays empty.
    fn result(
        &self,
        plan: &Plan<'_>,
        pipeline: Pipeline,
        (input, check): (&Input, Option<&Check<'_>>),
        files: &Files<'_>,
        course: &mut Course,
    ) -> Result<Finished, Box<Stopped>> {
        let module = self.passes(plan, &pipeline, input, course)?;
        // The objects that the passes created are dropped before anything is written: their plugins may fail at that too.
        self.folder.after(|| drop(pipeline));
        dropped()?;
        let mut module = self.released(module, input)?;
        if let Some((output, _)) = &files.output {
            output.prepare(&mut module, &plan.registry)?;
        }
        let checked = check.map(|check| {
            let checked = self.folder.after(|| self.checked(check, plan, input, &module, course));
            checked.map_err(|failed| self.kept(*failed, plan, input, &module, files))
        });
        let mut finished = Finished {
            checked: checked.transpose()?,
            given: input.model.module.clone(),
            course: Course::default(),
            written: None,
            after: None,
            read: files.read.clone(),
            plugins: plan.registry.clone(),
            notices: Vec::new(),
            module,
        };
        self.write(plan, input, files, &mut finished, course)?;
        Ok(finished)
    }

    /// Runs the passes, and writes reproducers of those that fail.
    fn passes(
        &self,
        plan: &Plan<'_>,
        pipeline: &Pipeline,
        input: &Input,
        course: &mut Course,
    ) -> Result<IRModule, Box<Stopped>> {
        let ran = self.folder.after(|| manager::run(pipeline, &input.hidden, plan.catalogue(), &self.options()));
        let ran = match ran {
            Ok((module, report)) => {
                course.report = report;
                Ok(module)
            }
            Err(mut failure) => {
                course.report = mem::take(&mut failure.report);
                Err(failure)
            }
        };
        if let Some(reproducers) = &self.request.reproducers {
            let write = || reproducers.write(pipeline, &course.report, plan.catalogue());
            let (written, why) = self.folder.after(write);
            course.reproducers = written;
            let notice = why.map(|why| Notice::warning(format_args!("no reproducer was written: {why}")));
            notice.iter().for_each(|notice| self.heard.notice(notice));
        }
        ran.map_err(|failure| Stopped::new(Error::new(&failure).with_code(failure.kind.code()), Cause::Failed(failure)))
    }

    fn options(&self) -> RunOptions<'_> {
        RunOptions {
            verify: self.request.verify,
            remarks: self.request.remarks,
            instruments: self.instruments.to_vec(),
            output: self.heard.output(),
            stop_after: self.request.stop_after,
            cancel: self.heard.cancel(),
            progress: self.heard.progress(),
            ..RunOptions::default()
        }
    }

    /// Runs the passes again, up to an execution. Instruments have seen the run already.
    fn again(&self, plan: &Plan<'_>, input: &Input, stop_after: u64) -> Result<IRModule, String> {
        let mut spec = plan.spec.clone();
        spec.run.instruments.clear();
        let pipeline = spec.resolve(plan.catalogue()).map_err(|faults| faults.to_string())?;
        let options = RunOptions {
            instruments: Vec::new(),
            output: None,
            progress: None,
            stop_after: Some(stop_after),
            ..self.options()
        };
        let ran = manager::run(&pipeline, &input.hidden, plan.catalogue(), &options);
        let (mut module, _) = ran.map_err(|failure| failure.to_string())?;
        release(&mut module, input.n_kept).map_err(|error| error.to_string())?;
        Ok(module)
    }

    /// Makes nodes what they were before passes, and says if some are gone.
    fn released(&self, mut module: IRModule, input: &Input) -> Result<IRModule, Box<Stopped>> {
        if let Some(warning) = release(&mut module, input.n_kept)? {
            self.heard.notice(&Notice::warning(warning));
        }
        Ok(module)
    }

    /// Compares what passes left with the model.
    fn checked(
        &self,
        check: &Check<'_>,
        plan: &Plan<'_>,
        input: &Input,
        left: &IRModule,
        course: &Course,
    ) -> Result<CheckPassed, Box<CheckFailed>> {
        let complete =
            |module: &IRModule| Ok(with_bodies(module, &input.model.operators, &plan.registry)?.into_owned());
        check.run(&Subject {
            before: &complete(&input.model.module)?,
            after: &complete(left)?,
            passes: Some(RanPasses {
                left,
                executions: &course.report.executions,
                rerun: &|stop_after| self.again(plan, input, stop_after),
                complete: &complete,
            }),
            registry: &plan.registry,
            listener: self.heard,
        })
    }

    /// What comes of an output that failed its check.
    fn kept(
        &self,
        failed: CheckFailed,
        plan: &Plan<'_>,
        input: &Input,
        module: &IRModule,
        files: &Files<'_>,
    ) -> Box<Stopped> {
        let failed = match &files.output {
            None => failed,
            Some(_) if self.request.check.failed == FailedOutput::Discard => failed.discard(),
            Some((output, destination)) => failed.keep(destination.file(), |to| {
                let format = output.format(input.model.format);
                let write = || -> Result<(), NotWritten> {
                    let module = as_written(module, format, &input.model.operators, &plan.registry)?;
                    output.write(&module, to, format).map(drop)
                };
                write().map_err(|error| error.error().to_string())
            }),
        };
        Stopped::new(failed.error.clone(), Cause::Check(Box::new(failed)))
    }

    /// Writes the output, and counts what it contains.
    fn write(
        &self,
        plan: &Plan<'_>,
        input: &Input,
        files: &Files<'_>,
        finished: &mut Finished,
        course: &mut Course,
    ) -> Result<(), Box<Stopped>> {
        let Some((output, destination)) = &files.output else {
            course.elapsed = self.began.elapsed();
            return Ok(());
        };
        self.heard.begins("writing the model");
        let format = output.format(input.model.format);
        let module = as_written(&finished.module, format, &input.model.operators, &plan.registry)?;
        let written = output.write(&module, destination, format)?;
        course.elapsed = self.began.elapsed();
        finished.after = self.request.is_counted().then(|| contents(&module, destination, &written)).transpose()?;
        finished.written = Some(written);
        Ok(())
    }

    /// Writes the report, if one is asked for.
    fn report(&self, files: &Files<'_>, json: impl FnOnce() -> Value) -> Result<(), NotWritten> {
        let Some(file) = &files.report else { return Ok(()) };
        write_json(file, &json()).map_err(|error| NotWritten::File("report", error))
    }
}

/// Returns the failures of plugins while their objects were dropped.
fn dropped() -> Result<(), Box<Stopped>> {
    let faults = take_faults();
    let Some((first, others)) = faults.split_first() else { return Ok(()) };
    let error = Error::new(format_args!("while it was dropped, {first}"));
    let error = others.iter().fold(error, Error::with_line).with_line("nothing was written");
    Err(Stopped::new(error, Cause::Dropped))
}

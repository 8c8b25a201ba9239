//! The steps from a model that is ready to its result: running the passes, checking and writing what they left.

use super::{
    files::{Files, contents},
    folder::Folder,
    heard::Heard,
    input::Input,
    plan::Plan,
};
use crate::{
    check::{CheckFailed, CheckPassed, FailedOutput, OutputCheck, RanPasses, Subject},
    error::Error,
    listener::{Listener, Notice},
    model::{Format, NotWritten, Target, as_written, imported_operators, infer_types, release, with_bodies},
    request::{OutputRequest, Request},
    result::{Course, Finished, StopCause, Stopped},
};
use relais::{
    files::Destination,
    ir::{ElemType, IRModule},
    manager::{self, Execution, Fate, ManagerOptions},
    pass::PassInstrument,
    pipeline::{PassInstance, Pipeline, spec::StepSpec},
    registry::Registry,
};
use relais_plugin_api::options::Value;
use std::{mem, sync::Arc, time::Instant};

/// Passes that are to run over a model.
pub(super) struct Run<'a> {
    pub request: &'a Request,
    pub instruments: &'a [Arc<dyn PassInstrument>],
    pub heard: &'a Heard<'a>,
    pub folder: &'a Folder,
    pub began: &'a Instant,
    pub plan: &'a Plan<'a>,
    pub input: &'a Input,
    pub check: Option<&'a OutputCheck<'a>>,
    /// The passes that ran so far.
    pub course: Course,
}

impl Run<'_> {
    /// Runs the passes, and checks and writes what they left.
    pub fn result(mut self, pipeline: Pipeline, files: &Files<'_>) -> Result<Finished, Box<Stopped>> {
        match self.finish(pipeline, files) {
            Ok(finished) => Ok(Finished { course: self.course, ..finished }),
            Err(stopped) => {
                let course = Course { elapsed: self.began.elapsed(), ..self.course };
                Err(Box::new(Stopped { course: Some(course), ..*stopped }))
            }
        }
    }

    /// The same; the course of what it returns is empty.
    fn finish(&mut self, pipeline: Pipeline, files: &Files<'_>) -> Result<Finished, Box<Stopped>> {
        let module = self.passes(&pipeline)?;
        let computed = computed_in(&pipeline, &self.course.report.executions);
        // The objects that the passes created are dropped before anything is written: their plugins may fail at that too.
        self.folder.after(|| drop(pipeline));
        dropped(&self.plan.registry)?;
        let mut module = self.released(module)?;
        if let Some((output, _)) = &files.output {
            output.prepare(&mut module, &self.plan.registry)?;
        }
        let mut finished = Finished {
            checked: None,
            given: self.input.model.module.clone(),
            course: Course::default(),
            written: None,
            after: None,
            read: files.read.clone(),
            plugins: self.plan.registry.clone(),
            notices: Vec::new(),
            module,
        };
        match &files.output {
            Some(output) => self.write(output, files, &mut finished, computed)?,
            None => {
                let whole = self.complete(&finished.module)?;
                let checked = self.folder.after(|| self.checked(&finished.module, &whole, computed));
                finished.checked = checked.map_err(|failed| self.kept(*failed, &finished.module, files))?;
                self.course.elapsed = self.began.elapsed();
            }
        }
        if let Some(checked) = &finished.checked {
            checked.notices(&self.request.check).iter().for_each(|notice| self.heard.notice(notice));
        }
        Ok(finished)
    }

    /// Runs the passes, and writes reproducers of those that fail.
    fn passes(&mut self, pipeline: &Pipeline) -> Result<IRModule, Box<Stopped>> {
        let catalogue = self.plan.catalogue();
        let run = || manager::run(pipeline, &self.input.hidden, catalogue, &self.options());
        let (result, report) = match self.folder.after(run) {
            Ok((module, report)) => (Ok(module), report),
            Err(mut failure) => {
                let report = mem::take(&mut failure.report);
                (Err(failure), report)
            }
        };
        self.course.report = report;
        if let Some(reproducers) = &self.request.reproducers {
            let asked = (&self.request.pipeline, pipeline);
            let write = || reproducers.write(asked, &self.course.report, catalogue);
            let (written, why) = self.folder.after(write);
            self.course.reproducers = written;
            let notice = why.map(|why| Notice::warning(format_args!("no reproducer was written: {why}")));
            notice.iter().for_each(|notice| self.heard.notice(notice));
        }
        result.map_err(|failure| {
            Stopped::new(Error::new(&failure).with_code(failure.kind.code()), StopCause::Failed(failure))
        })
    }

    fn options(&self) -> ManagerOptions<'_> {
        ManagerOptions {
            verify: self.request.verify,
            remarks: self.request.remarks,
            instruments: self.instruments.to_vec(),
            output: self.heard.output(),
            stop_after: self.request.stop_after,
            cancel: self.heard.cancel(),
            progress: self.heard.progress(),
            ..ManagerOptions::default()
        }
    }

    /// Runs the passes again, up to an execution. Instruments have seen the run already.
    fn again(&self, stop_after: u64) -> Result<IRModule, String> {
        let mut spec = self.plan.spec.clone();
        spec.run.instruments.clear();
        for node in &mut spec.nodes {
            if let StepSpec::Scope { instruments, .. } = &mut node.value {
                *instruments = None;
            }
        }
        let pipeline = spec.resolve(self.plan.catalogue()).map_err(|faults| faults.to_string())?;
        let options = ManagerOptions {
            instruments: Vec::new(),
            output: None,
            progress: None,
            stop_after: Some(stop_after),
            ..self.options()
        };
        let ran = manager::run(&pipeline, &self.input.hidden, self.plan.catalogue(), &options);
        let (mut module, _) = ran.map_err(|failure| failure.to_string())?;
        release(&mut module, self.input.n_kept).map_err(|error| error.to_string())?;
        Ok(module)
    }

    /// Makes nodes what they were before passes, and says if some are gone.
    fn released(&self, mut module: IRModule) -> Result<IRModule, Error> {
        if let Some(warning) = release(&mut module, self.input.n_kept)? {
            self.heard.notice(&Notice::warning(warning));
        }
        Ok(module)
    }

    /// The module as it runs everywhere.
    fn complete(&self, module: &IRModule) -> Result<IRModule, Error> {
        Ok(with_bodies(module, &self.input.model.operators, &self.plan.registry)?.into_owned())
    }

    /// Compares what was written with the model, if the request wants that. `left` is what passes left.
    fn checked(
        &self,
        left: &IRModule,
        written: &IRModule,
        computed: ElemType,
    ) -> Result<Option<CheckPassed>, Box<CheckFailed>> {
        let Some(check) = self.check else { return Ok(None) };
        let passed = check.run(&Subject {
            before: &self.complete(&self.input.model.module)?,
            after: written,
            computed,
            passes: Some(RanPasses {
                left,
                executions: &self.course.report.executions,
                rerun: &|stop_after| self.again(stop_after),
                complete: &|module| self.complete(module),
            }),
            registry: &self.plan.registry,
            listener: self.heard,
        })?;
        Ok(Some(passed))
    }

    /// The failure, once the output that failed its check was kept or not.
    fn kept(&self, failed: CheckFailed, module: &IRModule, files: &Files<'_>) -> Box<Stopped> {
        let failed = match &files.output {
            None => failed,
            Some(_) if self.request.check.failed == FailedOutput::Discard => failed.discard(),
            Some((output, destination)) => failed.keep(destination.file(), |to| {
                let Input { model, .. } = self.input;
                let format = output.format(model.format);
                let write = || -> Result<(), NotWritten> {
                    let module = as_written(module, format, &model.operators, &self.plan.registry)?;
                    output.write(&module, to, format).map(drop)
                };
                write().map_err(|error| error.error().to_string())
            }),
        };
        Stopped::new(failed.error.clone(), StopCause::Check(Box::new(failed)))
    }

    /// Warns of calls that onnxruntime has no kernel for, if it has one for each call of the model.
    fn warn_of_lacking_kernels(&self, module: &IRModule, computed: ElemType) -> Result<(), Error> {
        const SHOWN: usize = 3;
        let had = imported_operators(&self.input.model.module);
        if computed == ElemType::UNKNOWN && imported_operators(module).is_subset(&had) {
            return Ok(());
        }
        let (target, registry) = (Target::onnxruntime()?, &self.plan.registry);
        let lacking = target.lacks(module, registry);
        if lacking.is_empty() {
            return Ok(());
        }
        let mut before = self.input.model.module.clone();
        infer_types(&mut before, registry);
        if !target.lacks(&before, registry).is_empty() {
            return Ok(());
        }
        let shown: Vec<String> = lacking.iter().take(SHOWN).map(ToString::to_string).collect();
        let more = match lacking.len().saturating_sub(SHOWN) {
            0 => String::new(),
            n => format!(", and for {n} more"),
        };
        let warning = format_args!("{} has no kernel for {}{more}", target.name, shown.join(", "));
        let help = "it has one for each call of the model; other runtimes, and newer ones, may have more";
        self.heard.notice(&Notice::warning(warning).with_help(help));
        Ok(())
    }

    /// Writes the output, checks what was written before it is put in place, and counts what it contains.
    fn write(
        &mut self,
        (output, destination): &(&OutputRequest, Destination),
        files: &Files<'_>,
        finished: &mut Finished,
        computed: ElemType,
    ) -> Result<(), Box<Stopped>> {
        self.heard.begins("writing the model");
        let Input { model, .. } = self.input;
        let format = output.format(model.format);
        let module = as_written(&finished.module, format, &model.operators, &self.plan.registry)?;
        if format == Format::Onnx {
            self.warn_of_lacking_kernels(&module, computed)?;
        }
        let mut checked = Ok(None);
        let mut accept = |written: &IRModule| {
            checked = self.folder.after(|| self.checked(&finished.module, written, computed));
            checked.is_ok()
        };
        let written = output.write_if(&module, destination, format, &mut accept)?;
        finished.checked = checked.map_err(|failed| self.kept(*failed, &finished.module, files))?;
        self.course.elapsed = self.began.elapsed();
        let Some(written) = written else { return Ok(()) };
        finished.after = self.request.is_counted().then(|| contents(destination, &written)).transpose()?;
        finished.written = Some(written);
        Ok(())
    }
}

/// The type that floats are computed in, if a pass that changed the module was asked to convert them to one with fewer digits.
fn computed_in(pipeline: &Pipeline, executions: &[Execution]) -> ElemType {
    let changed = |pass: &PassInstance| {
        executions.iter().any(|execution| execution.fate == Fate::Changed && execution.name == pass.facts.name)
    };
    let is_named = |name: &str| {
        let asks = |pass: &PassInstance| matches!(pass.options.get("dtype"), Some(Value::Str(dtype)) if dtype == name);
        pipeline.passes.iter().any(|pass| asks(pass) && changed(pass))
    };
    let lower = [("bfloat16", ElemType::BFLOAT16), ("float16", ElemType::FLOAT16)];
    lower.into_iter().find(|(name, _)| is_named(name)).map_or(ElemType::UNKNOWN, |(_, elem)| elem)
}

/// Returns the failures of plugins while their objects were dropped.
fn dropped(registry: &Registry) -> Result<(), Box<Stopped>> {
    let faults = registry.take_faults();
    let Some((first, others)) = faults.split_first() else { return Ok(()) };
    let error = Error::new(format_args!("while it was dropped, {first}"));
    let error = others.iter().fold(error, Error::with_line).with_line("nothing was written");
    Err(Stopped::new(error, StopCause::Dropped))
}

//! Dealing with requests: the one place that knows the steps of a run and their order.

mod files;
mod folder;
mod heard;
mod input;
mod own;
mod plan;
mod run;
mod work;

pub use own::{JudgedRules, OwnPass, library};

use crate::{
    error::Error,
    listener::{Listener, Silent},
    pipeline::{PipelineRequest, StatedRules},
    plugins::Search,
    request::Request,
    result::{Finished, Stopped},
};
use folder::Folder;
use heard::Heard;
use own::Own;
use plan::{Plan, read};
use relais::{
    lock::Lock,
    options::OptionSchema,
    pass::{PassInstrument, with_threads},
    pipeline::Pipeline,
    plugin::{sha256_of, sha256_of_bytes},
    registry::{Choices, Linked, Registry},
    transform::OwnAnalysis,
};
use std::{sync::Arc, time::Instant};
use work::Work;

/// Plugins, and the passes, options and instruments of the program, with which requests are dealt with.
#[derive(Clone)]
pub struct Session {
    all: Registry,
    own: Own,
    instruments: Vec<Arc<dyn PassInstrument>>,
}

impl Session {
    /// Looks for plugins, those included that are linked into the program. Nothing of a plugin is run.
    ///
    /// # Errors
    /// Returns an error if a plugin or folder that is named cannot be used.
    pub fn new(search: &Search) -> Result<Self, Error> {
        Ok(Self::of(Registry::new(search.find()?, Linked::Include, &Choices::new())))
    }

    /// A session with the plugins of a registry.
    pub fn of(registry: Registry) -> Self {
        Self { all: registry, own: Own::default(), instruments: Vec::new() }
    }

    /// The same with a pass of the program, which pipelines can name.
    pub fn with_pass(mut self, own: impl Into<OwnPass>) -> Self {
        self.own.passes.push(own.into());
        self
    }

    /// The same with an option of contexts of the program, whose name is its key. It decides about nothing but passes of the
    /// program, and so what sets it cannot be locked.
    pub fn with_config(mut self, option: OptionSchema) -> Self {
        self.own.config.push(option);
        self
    }

    /// The same with an analysis of the program, which passes ask for by name.
    pub fn with_analysis(mut self, analysis: OwnAnalysis) -> Self {
        self.own.analyses.push(analysis);
        self
    }

    /// The same with an instrument of the program, which watches the passes of every request.
    pub fn with_instrument(mut self, instrument: Arc<dyn PassInstrument>) -> Self {
        self.instruments.push(instrument);
        self
    }

    /// All plugins that were found.
    pub fn registry(&self) -> &Registry {
        &self.all
    }

    /// Deals with a request.
    ///
    /// # Errors
    /// Returns an error if nothing came of it. No file of its output is changed then.
    pub fn run(&self, request: &Request) -> Result<Finished, Box<Stopped>> {
        self.run_with(&Silent, request)
    }

    /// The same; a listener receives notices as soon as they are known, and may stop it.
    ///
    /// # Errors
    /// As for [`run`](Self::run).
    pub fn run_with(&self, listener: &dyn Listener, request: &Request) -> Result<Finished, Box<Stopped>> {
        let heard = Heard::new(listener);
        let work = Work {
            all: &self.all,
            own: &self.own,
            instruments: &self.instruments,
            request,
            heard: &heard,
            folder: Folder::here(),
            began: Instant::now(),
        };
        let done = match request.threads {
            None => work.run(),
            Some(n) => pool(n.get()).map_err(Box::<Stopped>::from).and_then(|pool| with_threads(pool, || work.run())),
        };
        match done {
            Ok(finished) => Ok(Finished { notices: heard.take(), ..finished }),
            Err(stopped) => Err(Box::new(Stopped { notices: heard.take(), ..*stopped })),
        }
    }

    /// Resolves a pipeline, for those who look at it and run nothing.
    ///
    /// # Errors
    /// Returns all that is wrong with it.
    pub fn resolve(&self, pipeline: &PipelineRequest, listener: &dyn Listener) -> Result<Pipeline, Box<Stopped>> {
        let (spec, faults) = read(pipeline, &self.all)?;
        Plan::new(spec, &self.all, &self.own, None)?.resolve(faults, &Heard::new(listener))
    }

    /// The plugins that a pipeline uses, and those that `also` names, by their contents.
    ///
    /// # Errors
    /// Returns an error if the pipeline is at fault, or has a pass of the program.
    pub fn lock(&self, pipeline: &PipelineRequest, also: &[String]) -> Result<Lock, Box<Stopped>> {
        let (spec, faults) = read(pipeline, &self.all)?;
        Plan::new(spec.unless(faults)?, &self.all, &self.own, None)?.lock(also)
    }

    /// Everything but the model and the places of files on which the result of a request depends, as a hash; `program` is that
    /// of what is linked into this one.
    ///
    /// # Errors
    /// Returns an error if the pipeline is at fault, has a pass of the program, or is not as the lock says.
    pub fn fingerprint(&self, request: &Request, program: &str) -> Result<String, Box<Stopped>> {
        let (spec, faults) = read(&request.pipeline, &self.all)?;
        let plan = Plan::new(spec.unless(faults)?, &self.all, &self.own, request.lock.as_deref())?;
        let lock = plan.lock(&[])?.to_toml();
        let rules = StatedRules::of(&plan.spec, plan.catalogue())?;
        let files = rules.iter().filter_map(|rules| rules.file.as_ref()).chain(&request.check.inputs);
        let files: Vec<String> = files.map(|file| sha256_of(file).unwrap_or_default()).collect();
        let rest = request.without_places();
        let text = format!("{} {program} {lock} {rest:?} {files:?}", env!("CARGO_PKG_VERSION"));
        Ok(sha256_of_bytes(text.as_bytes()))
    }
}

fn pool(n: u16) -> Result<Arc<rayon::ThreadPool>, Error> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(n.into()).build();
    pool.map(Arc::new).map_err(|error| Error::new(format_args!("{n} threads cannot be started: {error}")))
}

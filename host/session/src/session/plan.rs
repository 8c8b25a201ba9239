//! Plans: the pipeline as it is written, the plugins that it may use, and the pipeline as it is resolved.

use super::{
    heard::Heard,
    own::{Own, OwnPass, library},
};
use crate::{
    error::Error,
    listener::{Listener, Notice},
    pipeline::{NoPipeline, PipelineRequest, StatedRules},
    result::{StopCause, Stopped},
    rules::{self, Unsound},
};
use relais::{
    lock::{Lock, LockError},
    pass::{Catalogue, PassFacts},
    pipeline::{AddedPass, Pipeline, PipelineFault, PipelineSpec},
    registry::Registry,
    transform::PassLibrary,
    words::and_list,
};
use std::path::Path;

/// A pipeline as it is written, with everything in which its names are looked up.
pub(super) struct Plan<'a> {
    pub spec: PipelineSpec,
    /// The plugins that it may use.
    pub registry: Registry,
    own: &'a Own,
    library: PassLibrary<'static>,
}

impl<'a> Plan<'a> {
    /// Chooses among all plugins those that a pipeline may use. This is the one place where that is done.
    pub fn new(spec: PipelineSpec, all: &Registry, own: &'a Own, lock: Option<&Path>) -> Result<Self, Box<Stopped>> {
        let chosen = spec.choose(all);
        let registry = match lock {
            Some(path) => enforced(path, &spec, &chosen)?,
            None => chosen,
        };
        let library = library(&registry, own.passes.iter().map(|own| &own.pass), &own.config, &own.analyses);
        Ok(Self { library, spec, registry, own })
    }

    /// Where its names are looked up.
    pub fn catalogue(&self) -> &dyn Catalogue {
        if self.own.is_empty() { &self.registry } else { &self.library }
    }

    /// Resolves the pipeline, of which what could not be parsed had these faults, and says what is odd about it.
    pub fn resolve(&self, faults: Vec<PipelineFault>, heard: &Heard<'_>) -> Result<Pipeline, Box<Stopped>> {
        let pipeline = self.spec.resolve_after(faults, self.catalogue())?;
        heard.warnings(&pipeline.warnings);
        let (target, targets) = (pipeline.run.target.as_str(), self.registry.targets());
        if !target.is_empty() && !targets.contains(target) {
            let known: Vec<&str> = targets.into_iter().collect();
            let known = if known.is_empty() { "none".to_owned() } else { and_list(&known) };
            heard.warnings(&[format!("no plugin adds anything for the target `{target}`; there are: {known}")]);
        }
        Ok(pipeline)
    }

    /// The same for a pipeline that is to run: says, too, which plugins have a part in it.
    pub fn resolve_to_run(&self, heard: &Heard<'_>) -> Result<Pipeline, Box<Stopped>> {
        if self.registry.plugins().next().is_none() && !self.spec.steps.is_empty() {
            heard.notice(&Notice::warning("no plugin was found").with_help(NO_PLUGIN));
        }
        let pipeline = self.resolve(Vec::new(), heard)?;
        about_additions(&pipeline.additions).iter().for_each(|notice| heard.notice(notice));
        Ok(pipeline)
    }

    /// Judges the rules that the pipeline states, and those of the passes of the program that it has.
    pub fn judge(&self, stated: &[StatedRules], pipeline: &Pipeline, heard: &Heard<'_>) -> Result<(), Box<Stopped>> {
        let mut unsound = rules::judge(stated, &self.registry, heard);
        let is_in =
            |own: &&OwnPass| pipeline.passes.iter().any(|it| std::ptr::eq::<PassFacts>(&*it.facts, own.pass.info()));
        for own in self.own.passes.iter().filter(is_in).flat_map(|own| &own.rules) {
            unsound.extend(own.judge(&self.registry, heard));
        }
        if heard.is_stopped() {
            return Err(Stopped::new(Error::new("the rules were not judged to the end"), StopCause::Interrupted));
        }
        match Unsound::error(&unsound) {
            Some(error) => Err(Stopped::new(error, StopCause::Unsound(unsound))),
            None => Ok(()),
        }
    }

    /// The lock of the pipeline and of the plugins that it uses, and of those that `also` names.
    pub fn lock(&self, also: &[String]) -> Result<Lock, Box<Stopped>> {
        if !self.own.is_empty() {
            let pipeline = self.spec.resolve(self.catalogue())?;
            let pass = pipeline.passes.iter().find(|it| it.facts.plugin.is_empty());
            let pass = pass.map(|own| format!("pass `{}`", own.facts.name));
            let option = || self.own.config.iter().map(|own| &own.name).find(|key| pipeline.sets(key));
            if let Some(own) = pass.or_else(|| option().map(|key| format!("option `{key}`"))) {
                let message = format!("{own} is one of this program: nothing tells when it changes");
                return Err(Stopped::new(Error::new(message), StopCause::OwnPass));
            }
        }
        Lock::of(&self.spec, &self.registry, also).map_err(|error| match error {
            LockError::Pipeline(faults) => faults.into(),
            LockError::NoPlugin(_) => {
                let error = Error::new(error).with_help("`relais list plugins` shows the ones that were found");
                Stopped::new(error, StopCause::Lock)
            }
            error => Stopped::new(Error::new(format_args!("nothing is locked: {error}")), StopCause::Lock),
        })
    }
}

/// Reads a pipeline as it is written, as far as it can be parsed, with its faults.
pub(super) fn read(
    request: &PipelineRequest,
    all: &Registry,
) -> Result<(PipelineSpec, Vec<PipelineFault>), Box<Stopped>> {
    request.read(all).map_err(|error| match error {
        NoPipeline::Faults(faults) => faults.into(),
        NoPipeline::Rules(error) => error.into(),
    })
}

const NO_PLUGIN: &str = "plugins are looked for beside the program, in the user's own folder (`relais plugin install`), in \
                         those of `RELAIS_PLUGIN_PATH`, and where `--plugin-dir` and `--plugin` say, unless there is \
                         `--no-plugins`";

/// The plugins that a lock file names, if it matches.
fn enforced(path: &Path, spec: &PipelineSpec, registry: &Registry) -> Result<Registry, Box<Stopped>> {
    const HELP: &str =
        "`relais lock` writes a lock file, with the arguments of the run that are about pipeline and plugins";
    let lock = Lock::read(path).map_err(|error| {
        Stopped::new(Error::new(format_args!("the lock cannot be kept: {error}")).with_help(HELP), StopCause::Lock)
    })?;
    lock.enforce(spec, registry).map_err(|different| {
        let error = Error::new(format_args!("not as `{}` says, and nothing was run", path.display()));
        let error = different.iter().fold(error.with_code("locked"), Error::with_line);
        Stopped::new(error.with_help("mend what is different, or look at it and `relais lock` anew"), StopCause::Lock)
    })
}

/// A note about the passes that plugins add to a pipeline.
fn about_additions(additions: &[AddedPass]) -> Option<Notice> {
    let one = |AddedPass { point, pass, plugin, version }: &AddedPass| {
        format!("\n  `{pass}` of plugin `{plugin} {version}` at `{point}`")
    };
    let all: String = additions.iter().map(one).collect();
    let notice = || Notice::note(format_args!("plugins add to the pipeline:{all}"));
    (!additions.is_empty()).then(|| notice().with_help("`--no-extensions` runs it without"))
}

//! `relais lock`, and `relais run --locked`.

use super::{
    args::{LockArgs, Verbosity},
    catalogue, model,
    outputs::{self, Outputs},
    spec,
    terminal::{self, CliError},
};
use relais::{
    files::Existing,
    lock::{Lock, LockError},
    pipeline::PipelineSpec,
    registry::Registry,
};
use std::path::Path;

/// Writes the lock file of a pipeline.
pub(crate) fn lock(args: &LockArgs, verbosity: Verbosity) -> Result<(), CliError> {
    let failed = |error| outputs::failed("lock file", &error);
    let mut outputs = Outputs::default();
    let destination = outputs.add("lock file", &args.output, Existing::Replace)?;
    outputs.spare_pipeline(&args.pipeline)?;
    outputs.spare("plugin", &args.plugins.plugin)?;
    let all = catalogue::registry(&args.plugins)?;
    let spec = spec::spec(&args.pipeline, &all)?;
    let registry = catalogue::choose(&all, &spec, &args.plugins);
    let lock = of(&spec, &registry, &args.also)?;
    let shown = args.output.display();
    destination.write(|out| out.write_all(lock.to_toml().as_bytes())).map_err(failed)?;
    if verbosity == Verbosity::Quiet || model::is_stream(&args.output) {
        return Ok(());
    }
    let plugins: String = lock.plugins.iter().map(|plugin| format!("  {} {}\n", plugin.name, plugin.version)).collect();
    terminal::print(&format!(
        "`{shown}` locks the pipeline `{}` and {} plugins\n{plugins}",
        lock.pipeline,
        lock.plugins.len()
    ))
}

/// Returns the lock of a pipeline.
pub(crate) fn of(spec: &PipelineSpec, registry: &Registry, also: &[String]) -> Result<Lock, CliError> {
    Lock::of(spec, registry, also).map_err(|error| match error {
        LockError::Pipeline(faults) => faults.into(),
        LockError::NoPlugin(_) => CliError::new(error).help("`relais list plugins` shows the ones that were found"),
        error => CliError::new(format!("nothing is locked: {error}")),
    })
}

/// Returns the plugins that a lock file names, if it matches.
pub(crate) fn enforce(path: &Path, spec: &PipelineSpec, registry: &Registry) -> Result<Registry, CliError> {
    let lock = Lock::read(path).map_err(|error| {
        let error = CliError::new(format!("the lock cannot be kept: {error}"));
        error
            .help("`relais lock` writes a lock file, with the arguments of the run that are about pipeline and plugins")
    })?;
    lock.enforce(spec, registry).map_err(|different| {
        let error = CliError::new(format!("not as `{}` says, and nothing was run", path.display())).code("locked");
        let error = different.iter().fold(error, CliError::line);
        error.help("mend what is different, or look at it and `relais lock` anew")
    })
}

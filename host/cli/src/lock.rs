//! `relais lock`.

use super::{
    args::{LockArgs, Verbosity},
    catalogue, model, request,
    terminal::{self, CliError},
};
use relais::files::Existing;
use relais_session::{Outputs, model::NotWritten};
use std::path::{Path, PathBuf};

/// Writes the lock file of a pipeline.
pub(crate) fn lock(args: &LockArgs, verbosity: Verbosity) -> Result<(), CliError> {
    let mut outputs = Outputs::default();
    let destination = outputs.add("lock file", &args.output, Existing::Replace)?;
    outputs.spare("the pipeline", args.pipeline.pipeline.as_deref().map(Path::new))?;
    outputs.spare("the rules", args.pipeline.rules.iter().map(PathBuf::as_path))?;
    outputs.spare("plugin", args.plugins.plugin.iter().map(PathBuf::as_path))?;
    let lock = catalogue::session(&args.plugins)?.lock(&request::pipeline(&args.pipeline), &args.also)?;
    let shown = args.output.display();
    let written = destination.write(|out| out.write_all(lock.to_toml().as_bytes()));
    written.map_err(|error| NotWritten::File("lock file", error))?;
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

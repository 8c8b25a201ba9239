//! `relais run` over one model: arguments in, words out.

use super::{
    args::{RunArgs, Verbosity},
    catalogue,
    progress::Progress,
    reproduce, request,
    said::{findings, say},
    terminal::{self, CliError},
};
use relais::{files::reserve_standard_output, report::table};
use relais_session::{Finished, Request};
use std::path::Path;

/// Runs a pipeline over a model.
pub(crate) fn run(args: &RunArgs, model: &Path, output: &Path, verbosity: Verbosity) -> Result<(), CliError> {
    let request = request::run(args, model, output, verbosity)?;
    if request.takes_standard_output()
        && let Err(error) = reserve_standard_output()
    {
        log::debug!("standard output is not reserved: {error}");
    }
    let session = catalogue::session(&args.plugins)?;
    let progress = Progress::new(verbosity);
    let done = session.run_with(&progress, &request);
    drop(progress);
    match done {
        Ok(finished) => told(&request, &finished, args, verbosity),
        Err(stopped) => Err(reproduce::stopped(*stopped, &args.plugins, verbosity)),
    }
}

/// Prints what came of it.
fn told(request: &Request, finished: &Finished, args: &RunArgs, verbosity: Verbosity) -> Result<(), CliError> {
    let course = &finished.course;
    say(&course.report, verbosity);
    if verbosity > Verbosity::Quiet {
        reproduce::note(&course.reproducers, &args.plugins);
        print_table(request, finished)?;
        course.closing(request.stop_after).iter().for_each(terminal::notice);
    }
    findings(&course.report);
    Ok(())
}

/// Prints the table of the model and the output, unless standard output is taken.
fn print_table(request: &Request, finished: &Finished) -> Result<(), CliError> {
    let (Some(before), Some(after)) = (&finished.course.before, &finished.after) else { return Ok(()) };
    let checked = finished.checked.as_ref().map(|checked| (checked.n_runs, checked.elapsed));
    let mut table = table(before, after, finished.course.elapsed, checked);
    if let Some(largest) = finished.checked.as_ref().and_then(|checked| checked.largest.as_ref()) {
        table.push_str(&format!("largest difference: {largest}\n"));
    }
    match request.takes_standard_output() {
        true => terminal::findings(&table),
        false => terminal::print(&table)?,
    }
    Ok(())
}

//! The messages and findings of a run.

use super::{args::Verbosity, terminal};
use relais::{manager::RunReport, pass::PassMessage};
use relais_plugin_api::diagnostics::Severity;

/// Prints the messages of passes and the driver, as far as the verbosity allows, except those that were printed at once.
pub(crate) fn say(report: &RunReport, verbosity: Verbosity) {
    let least = match verbosity {
        Verbosity::Quiet => Severity::ERROR,
        Verbosity::Normal => Severity::WARNING,
        Verbosity::Verbose => Severity::NOTE,
        Verbosity::Debug => Severity::REMARK,
    };
    let is_wanted = |said: &&PassMessage| !said.is_printed() && said.severity() >= least;
    report.said.iter().filter(is_wanted).for_each(terminal::said);
    if verbosity > Verbosity::Quiet {
        report.warnings.iter().for_each(terminal::warn);
    }
}

/// Prints the findings of instruments. They were requested, so they are printed at any verbosity.
pub(crate) fn findings(report: &RunReport) {
    report.findings.iter().for_each(|(_, findings)| terminal::findings(&findings.text));
}

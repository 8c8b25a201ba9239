//! Arguments about watching passes.

use clap::{ArgGroup, Args, ValueEnum};
use std::path::PathBuf;

#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Watching passes", group = ArgGroup::new("prints").multiple(true))]
pub(crate) struct InstrumentArgs {
    /// Print what each pass took: as a tree, summed up by pass, or as JSON.
    #[arg(long, value_name = "FORM", num_args = 0..=1, require_equals = true, default_missing_value = "tree")]
    pub time_passes: Option<TimesForm>,

    /// Write what ran when, for Perfetto or Chrome's `about:tracing`.
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,

    /// Print the program before a pass; `*` is every pass.
    #[arg(long, value_name = "PASS", value_delimiter = ',', group = "prints")]
    pub print_before: Vec<String>,

    /// Print the program after a pass; `*` is every pass.
    #[arg(long, value_name = "PASS", value_delimiter = ',', group = "prints")]
    pub print_after: Vec<String>,

    /// Print the functions that passes change, whole or as a diff.
    #[arg(
        long,
        value_name = "FORM",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "text",
        group = "prints"
    )]
    pub print_changed: Option<ChangeForm>,

    /// Print this function only.
    #[arg(long, value_name = "FUNCTION", value_delimiter = ',', requires = "prints")]
    pub filter_function: Vec<String>,

    /// Write the program after each pass that changes it into a new folder.
    #[arg(long, value_name = "FOLDER")]
    pub dump_dir: Option<PathBuf>,

    /// Print what passes counted.
    #[arg(long)]
    pub stats: bool,

    /// Print what passes say they did, and why they did not; or one of the two.
    #[arg(long, value_name = "KIND", num_args = 0..=1, require_equals = true, default_missing_value = "all")]
    pub remarks: Option<RemarkKinds>,

    /// Watch passes with an instrument; `relais list instruments` lists them.
    #[arg(long, value_name = "NAME[:KEY=VALUE,…]")]
    pub instrument: Vec<String>,

    /// Run nothing after the N-th execution of a pass, and write what there is then: for finding the one that does harm.
    #[arg(long, value_name = "N")]
    pub stop_after: Option<u64>,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TimesForm {
    /// Each pass below the one that it runs in.
    Tree,
    /// Summed up by pass, the most expensive first.
    List,
    /// The tree as JSON.
    Json,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ChangeForm {
    /// The changed functions as they are afterwards.
    Text,
    /// The differences in them.
    Diff,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RemarkKinds {
    /// Both.
    All,
    /// Why something was not done.
    Missed,
    /// Why something was done.
    Passed,
}

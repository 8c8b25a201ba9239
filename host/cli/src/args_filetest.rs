//! The arguments of `relais filetest`.

use super::args_search::PluginArgs;
use clap::Args;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(crate) struct FiletestArgs {
    /// Folders with cases, `PASS/CASE.relay`, and single cases.
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,

    /// Run only cases with this in their paths.
    #[arg(long, value_name = "SUBSTRING")]
    pub only: Vec<String>,

    /// Write the current output of each pass as the expectation, if nothing else is wrong with the case.
    #[arg(long)]
    pub bless: bool,

    /// After how many seconds a case that has not come to an end is stopped.
    #[arg(long, value_name = "SECONDS", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..))]
    pub timeout: u16,

    /// As JSON.
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    pub plugins: PluginArgs,
}

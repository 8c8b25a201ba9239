//! The arguments that say where plugins are.

use clap::Args;
use std::path::PathBuf;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Plugins")]
pub(crate) struct PluginArgs {
    /// Use this plugin, too: a library, or a file of Python.
    #[arg(long, value_name = "FILE")]
    pub plugin: Vec<PathBuf>,

    /// Look for plugins in this folder, too.
    #[arg(long, value_name = "FOLDER")]
    pub plugin_dir: Vec<PathBuf>,

    /// Use plugins that other users of this machine may overwrite.
    #[arg(long)]
    pub allow_writable_plugins: bool,

    /// Use no plugins but those that are linked into this program.
    #[arg(long, conflicts_with_all = ["plugin", "plugin_dir"])]
    pub no_plugins: bool,
}

//! `relais plugin`: the life of a plugin, from its first line to its end.

use super::{
    args_plugin::PluginCommand, plugin_check, plugin_install, plugin_new, plugin_record, plugin_test,
    terminal::CliError,
};

/// Runs one of the commands.
pub(crate) fn plugin(command: &PluginCommand) -> Result<(), CliError> {
    match command {
        PluginCommand::New(args) => plugin_new::new(args),
        PluginCommand::Check(args) => plugin_check::check(args),
        PluginCommand::Test(args) => plugin_test::test(args),
        PluginCommand::Record(args) => plugin_record::record(args),
        PluginCommand::Install(args) => plugin_install::install(args),
        PluginCommand::Remove(args) => plugin_install::remove(args),
        PluginCommand::List(args) => plugin_install::list(args),
    }
}

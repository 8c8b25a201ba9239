//! The host of a worker, for passes that run there.

use crate::pass::PassContext;
use relais_plugin_api::{diagnostics::PassError, ir::IRModule};

/// The host of a pass that runs in a process of its own, for what this process cannot do.
pub(crate) trait Outer: Sync {
    /// The module as it was before the pass.
    fn module(&self) -> &IRModule;

    /// Makes a pass: name, options as an encoded table.
    fn get_pass(&self, name: &str, options: &[u8]) -> Result<u32, PassError>;

    /// Runs a pass that `get_pass` made.
    fn run_pass(&self, id: u32, module: &IRModule) -> Result<Option<IRModule>, PassError>;

    /// Enters a context of those settings there, and returns it.
    fn enter_context(&self, settings: &[u8]) -> Result<PassContext, PassError>;

    /// Leaves the innermost context there.
    fn leave_context(&self) -> Result<(), PassError>;
}

//! The information about passes, options and plugins that resolving and running a pipeline needs.

use super::*;
use crate::words::nearest;
use relais_plugin_api::{diagnostics::PassError, infer::TypeRelations, options::Value};
use std::{collections::BTreeSet, sync::Arc};

/// Where passes, options and operators come from.
pub trait Catalogue: Sync {
    /// Every pass, ordered by name.
    fn passes(&self) -> Vec<Arc<PassFacts>>;

    /// Every pass that plugins add at an extension point, ordered by name.
    fn extensions(&self) -> Vec<Arc<PassFacts>> {
        self.passes().into_iter().filter(|facts| facts.extends.is_some()).collect()
    }

    /// The pass of a name: full, alias, or short where that is unambiguous.
    ///
    /// # Errors
    /// Returns an error if the name does not resolve to a pass.
    fn pass(&self, name: &str) -> Result<Arc<PassFacts>, NoPass>;

    /// The extension points of the pipelines that plugins provide.
    fn extension_points(&self) -> BTreeSet<String> {
        BTreeSet::new()
    }

    /// Every option of the context, ordered by key.
    fn config_options(&self) -> Vec<ConfigFacts>;

    /// Every plugin, ordered by name.
    fn plugins(&self) -> Vec<PluginFacts>;

    /// The operators that a plugin describes or evaluates, with their domains; `None` where that is not known.
    fn operators_of(&self, _plugin: &str) -> Option<Vec<OperatorName>> {
        None
    }

    /// Makes a pass.
    ///
    /// # Errors
    /// Returns an error if its plugin cannot be opened or its constructor fails.
    fn create(&self, pass: &PassFacts, options: &Value) -> Result<Arc<dyn RunnablePass>, PassError>;

    /// Every instrument that a plugin provides, ordered by name.
    fn instruments(&self) -> Vec<InstrumentFacts> {
        Vec::new()
    }

    /// The instrument of a name: full, or short where that is unambiguous (rule R4).
    ///
    /// # Errors
    /// Returns an error if the name does not resolve to an instrument.
    fn instrument(&self, name: &str) -> Result<InstrumentFacts, NoPass> {
        let all = self.instruments();
        let is_short_for = |full: &str| full.rsplit_once('.').is_some_and(|(_, short)| short == name);
        let exact: Vec<&InstrumentFacts> = all.iter().filter(|facts| facts.name == name).collect();
        let found = match exact.is_empty() {
            true => all.iter().filter(|facts| is_short_for(&facts.name)).collect(),
            false => exact,
        };
        match found.as_slice() {
            [] => Err(NoPass::Unknown(nearest(name, all.iter().map(|facts| facts.name.as_str())))),
            [one] => Ok((*one).clone()),
            several if several.iter().all(|facts| facts.name == several[0].name) => {
                let provider = |facts: &&InstrumentFacts| format!("`{} {}`", facts.plugin, facts.plugin_version);
                Err(NoPass::Conflict(several.iter().map(provider).collect()))
            }
            several => {
                let candidate =
                    |facts: &&InstrumentFacts| Candidate { name: facts.name.clone(), plugin: facts.plugin.clone() };
                Err(NoPass::Ambiguous(several.iter().map(candidate).collect()))
            }
        }
    }

    /// Makes an instrument of [`instruments`](Self::instruments); its options were checked.
    ///
    /// # Errors
    /// Returns an error if its plugin cannot be opened or its constructor fails.
    fn create_instrument(&self, name: &str, _options: &Value) -> Result<Arc<dyn Instrument>, PassError> {
        Err(PassError::new(format!("nothing provides the instrument `{name}`")))
    }

    /// The type relations of operators, for one function.
    fn relations(&self) -> Box<dyn TypeRelations + '_>;
}

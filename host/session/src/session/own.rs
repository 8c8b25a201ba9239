//! Passes, options and analyses of the program, beside those of plugins.

use crate::{listener::Listener, rules::Unsound};
use relais::{
    options::OptionSchema,
    registry::Registry,
    transform::{OwnAnalysis, Pass, PassLibrary},
};
use std::sync::Arc;

/// The rules of a pass of the program, which are judged before a pipeline runs that has the pass.
pub trait JudgedRules: Send + Sync {
    /// Returns the rules that change what a module computes; not all, if the listener stops it.
    fn judge(&self, registry: &Registry, listener: &dyn Listener) -> Vec<Unsound>;
}

/// A pass of the program.
#[derive(Clone)]
pub struct OwnPass {
    /// The pass.
    pub pass: Pass,
    /// The rules by which it rewrites.
    pub rules: Vec<Arc<dyn JudgedRules>>,
}

impl From<Pass> for OwnPass {
    fn from(pass: Pass) -> Self {
        Self { pass, rules: Vec::new() }
    }
}

/// The passes, options and analyses that are the program's own.
#[derive(Clone, Default)]
pub(super) struct Own {
    pub passes: Vec<OwnPass>,
    /// Options of contexts.
    pub config: Vec<OptionSchema>,
    pub analyses: Vec<OwnAnalysis>,
}

impl Own {
    pub fn is_empty(&self) -> bool {
        self.passes.is_empty() && self.config.is_empty() && self.analyses.is_empty()
    }
}

/// A registry with passes, options of contexts and analyses of the program beside those of its plugins.
pub fn library<'a>(
    registry: &Registry,
    own: impl IntoIterator<Item = &'a Pass>,
    config: impl IntoIterator<Item = &'a OptionSchema>,
    analyses: impl IntoIterator<Item = &'a OwnAnalysis>,
) -> PassLibrary<'static> {
    let mut library = PassLibrary::shared(Arc::new(registry.clone()));
    own.into_iter().for_each(|pass| library.register(pass));
    config.into_iter().for_each(|option| library.register_config(option.clone()));
    analyses.into_iter().for_each(|analysis| library.register_analysis(analysis.clone()));
    library
}

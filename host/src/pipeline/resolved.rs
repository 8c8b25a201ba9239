//! A pipeline with all names resolved: the input of the manager.

use crate::{
    isolation::Isolation,
    pass::{Dependencies, OnFailure, OperatorName, PassFacts, RunnablePass, Scope, Verify},
};
use relais_plugin_api::options::Value;
use semver::VersionReq;
use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, OnceLock},
};

/// A resolved pipeline.
#[derive(Clone, Debug, Default)]
pub struct Pipeline {
    /// Its name.
    pub name: String,
    /// The settings for the whole run.
    pub run: RunSettings,
    /// The settings for the steps.
    pub scope: Scope,
    /// The outermost steps, by index into [`nodes`](Self::nodes).
    pub steps: Vec<usize>,
    /// Every step.
    pub nodes: Vec<ResolvedStep>,
    /// Every pass that a step, a requirement or a sequential pass needs, each once.
    pub passes: Vec<PassInstance>,
    /// Where steps come from that are not in the pipeline's own file, by index into [`nodes`](Self::nodes).
    pub origins: BTreeMap<usize, String>,
    /// The passes that plugins add and that are on.
    pub additions: Vec<AddedPass>,
    /// Warnings about the pipeline.
    pub warnings: Vec<String>,
}

impl Pipeline {
    /// Whether it sets an option of contexts somewhere.
    pub fn sets(&self, key: &str) -> bool {
        let scopes = self.nodes.iter().filter_map(|node| match node {
            ResolvedStep::Scope { scope, .. } => Some(scope),
            _ => None,
        });
        scopes.chain([&self.scope]).any(|scope| scope.config.contains_key(key))
    }
}

/// A pass that a plugin adds to a pipeline.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AddedPass {
    /// The extension point.
    pub point: String,
    /// The pass.
    pub pass: String,
    /// The plugin.
    pub plugin: String,
    /// The plugin's version.
    pub version: String,
}

/// The settings for a whole run.
#[derive(Clone, Debug, Default)]
pub struct RunSettings {
    /// How requirements are followed.
    pub dependencies: Dependencies,
    /// The consequence of a failing pass.
    pub on_failure: OnFailure,
    /// When the verifier runs; the caller decides when the pipeline does not.
    pub verify: Option<Verify>,
    /// The instruments, each with its options.
    pub instruments: Vec<(String, Value)>,
    /// The demands on plugins.
    pub plugins: Vec<Demand>,
    /// The target that it is for; empty if it is for none.
    pub target: String,
}

/// The demand on a plugin.
#[derive(Clone, Debug)]
pub struct Demand {
    /// The plugin.
    pub name: String,
    /// The versions that will do.
    pub version: VersionReq,
    /// The passes that are taken from it.
    pub passes: Vec<String>,
    /// The operators whose description and evaluator are taken from it.
    pub operators: Vec<String>,
    /// The pipelines that are taken from it.
    pub pipelines: Vec<String>,
    /// The analyses that are taken from it.
    pub analyses: Vec<String>,
    /// The limits of its process, if it runs in one of its own.
    pub isolate: Option<Isolation>,
}

/// A resolved step.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum ResolvedStep {
    /// A pass.
    Pass {
        /// Which one, by index into [`Pipeline::passes`].
        pass: usize,
        /// The level of this step.
        opt_level: u8,
    },
    /// Steps that are switched together.
    Sequence {
        /// Its name.
        name: String,
        /// Its level.
        opt_level: u8,
        /// The passes that it requires, in order, by index into [`Pipeline::passes`].
        required: Vec<usize>,
        /// Its steps.
        steps: Vec<usize>,
    },
    /// Steps that are repeated until they change nothing.
    Fixpoint {
        /// Its steps.
        steps: Vec<usize>,
        /// The number of rounds after which it ends.
        max_rounds: u32,
    },
    /// Steps in a context of their own.
    Scope {
        /// The context.
        scope: Scope,
        /// The instruments that watch the steps, and no others, each with its options; those around them by default.
        instruments: Option<Vec<(String, Value)>>,
        /// Its steps.
        steps: Vec<usize>,
    },
    /// Steps that run when the module calls one of these operators.
    When {
        /// The operators.
        operators: Vec<OperatorName>,
        /// Its steps.
        steps: Vec<usize>,
    },
}

/// A pass and its options.
#[derive(Clone)]
pub struct PassInstance {
    /// The facts about it.
    pub facts: Arc<PassFacts>,
    /// Its options, defaults filled in.
    pub options: Value,
    /// The passes that it requires, in order.
    pub required: Vec<usize>,
    /// The steps of a sequential pass.
    pub members: Option<Vec<usize>>,
    pub(super) made: OnceLock<Arc<dyn RunnablePass>>,
}

impl Pipeline {
    /// How many steps it has, those within others counted.
    pub fn n_steps(&self) -> usize {
        let mut n = 0;
        let mut todo = self.steps.clone();
        while let Some(node) = todo.pop() {
            n += 1;
            match &self.nodes[node] {
                ResolvedStep::Pass { .. } => {}
                ResolvedStep::Sequence { steps, .. }
                | ResolvedStep::Fixpoint { steps, .. }
                | ResolvedStep::Scope { steps, .. }
                | ResolvedStep::When { steps, .. } => todo.extend(steps),
            }
        }
        n
    }
}

impl PassInstance {
    /// The pass itself.
    pub fn pass(&self) -> &Arc<dyn RunnablePass> {
        self.made.get().expect("a resolved pipeline has made its passes")
    }
}

impl fmt::Debug for PassInstance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.facts.name, self.options)
    }
}

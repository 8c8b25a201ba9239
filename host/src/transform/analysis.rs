//! Analyses of the program's own.

use crate::pass::{AnalysisFacts, RunCx};
use relais_plugin_api::{
    analysis::{AnalysisObject, SubjectKind, SubjectRec},
    boundary::{guard::caught, record::Depends},
    diagnostics::PassError,
    ir::Lists,
};
use std::sync::Arc;

type Compute = dyn Fn(&SubjectRec<'_>, &RunCx<'_>) -> Result<Lists, PassError> + Send + Sync;

/// An analysis of the program's own, which passes ask for by name as for those of plugins (rule R28).
#[derive(Clone)]
pub struct OwnAnalysis {
    pub(super) facts: AnalysisFacts,
    compute: Arc<Compute>,
}

impl OwnAnalysis {
    /// An analysis of a function, of a loop program or of a module, and the lists that it gives, each with a description of
    /// its numbers. Two results for one subject are equal. `compute` asks its context for other analyses.
    pub fn new(
        name: &str,
        subject: SubjectKind,
        lists: &[(&str, &str)],
        compute: impl Fn(&SubjectRec<'_>, &RunCx<'_>) -> Result<Lists, PassError> + Send + Sync + 'static,
    ) -> Self {
        let lists = lists.iter().map(|&(name, doc)| (name.to_owned(), doc.to_owned())).collect();
        let (name, doc, depends) = (name.to_owned(), String::new(), Depends::EVERYTHING);
        let facts = AnalysisFacts { name, plugin: String::new(), subject, depends, lists, doc };
        Self { facts, compute: Arc::new(compute) }
    }

    /// The same if it depends on the structure of a function alone, and not on types.
    pub fn of_structure(mut self) -> Self {
        self.facts.depends = Depends::STRUCTURE;
        self
    }

    /// The same with documentation.
    pub fn documented(mut self, doc: &str) -> Self {
        doc.clone_into(&mut self.facts.doc);
        self
    }

    /// Returns the facts about it.
    pub fn info(&self) -> &AnalysisFacts {
        &self.facts
    }

    pub(super) fn compute(&self, of: &SubjectRec<'_>, cx: &RunCx<'_>) -> Result<AnalysisObject, PassError> {
        let lists = caught(|| (self.compute)(of, cx)).and_then(|lists| lists)?;
        Ok(AnalysisObject::new(lists.clone(), lists))
    }
}

//! Asking for analyses: computing what is not known, and checking what is.

use super::{
    AnalysisFacts, Catalogue, PassFacts, RunCx, Verify,
    analyses::{Analyses, AnalysisUse, Asking, Carried, Known, address},
    check_arena,
};
use crate::{
    ir::{Function, IRModule},
    words::list,
};
use abi_stable::std_types::RArc;
use relais_plugin_api::{
    analysis::{AnalysisObject, SubjectRec},
    boundary::abi::error_kind,
    diagnostics::PassError,
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

/// Computes the results that a pass preserves again, and compares.
///
/// # Errors
/// Returns an error if one is another, which the pass did not preserve.
pub(crate) fn check_preserved(
    carried: &[Carried<'_>],
    new: &IRModule,
    pass: &PassFacts,
    catalogue: &dyn Catalogue,
) -> Result<(), PassError> {
    for &Carried { function, ref known, is_declared } in carried {
        let facts = catalogue.analysis(&known.analysis).map_err(|_| unknown(&known.analysis))?;
        let again = catalogue.compute_analysis(&facts, &SubjectRec::function(function), &RunCx::new(catalogue))?;
        if !again.equals(&known.object)? {
            let name = body_name(new, function);
            let error = match is_declared {
                true => PassError::new(format_args!(
                    "`{}` declares that it preserves `{}`, and what it made of `@{name}` has another result",
                    pass.name, known.analysis
                ))
                .help("declare with `preserves` what holds after every change that the pass makes"),
                false => PassError::new(format_args!(
                    "`{}` declares that it depends on the structure alone, and has another result for `@{name}` after \
                         types were inferred",
                    known.analysis
                ))
                .of_plugin(&facts.plugin),
            };
            return Err(error.in_function(&name));
        }
    }
    Ok(())
}

fn body_name(module: &IRModule, function: &RArc<Function>) -> String {
    let mut globals = module.globals().iter();
    globals
        .find(|global| address(global.body()) == address(function))
        .map_or_else(String::new, |it| it.name.to_string())
}

/// How many analyses may need each other in a chain.
const MAX_CHAIN: usize = 64;

fn unknown(name: &str) -> PassError {
    PassError::with_kind(error_kind::HOST, format_args!("nothing provides the analysis `{name}`"))
}

/// The results of analyses that a run keeps, for code that outlives the call in which it runs: code of another language, say.
#[derive(Clone, Default)]
pub struct RunAnalyses {
    kept: Option<Arc<Analyses>>,
    verifies: bool,
}

impl RunAnalyses {
    /// Returns an analysis, as [`RunCx::analysis`] does in the run.
    ///
    /// # Errors
    /// As for [`RunCx::analysis`].
    pub fn analysis(
        &self,
        name: &str,
        of: &SubjectRec<'_>,
        catalogue: &dyn Catalogue,
    ) -> Result<RArc<AnalysisObject>, PassError> {
        let cx = RunCx::new(catalogue);
        let verify = if self.verifies { Verify::Each } else { Verify::Off };
        let cx = RunCx { nest: cx.nest.with_analyses(self.kept.as_ref(), verify), ..cx };
        cx.analysis(name, of, false)?.ok_or_else(|| unknown(name))
    }
}

impl RunCx<'_> {
    /// The results of analyses that the run keeps.
    pub fn analyses(&self) -> RunAnalyses {
        RunAnalyses { kept: self.nest.analyses.cloned(), verifies: self.nest.verify == Verify::Each }
    }

    /// Notes that a result was given that is known already, of an analysis by its full name.
    pub(crate) fn reused(&self, name: &str) {
        if let Some(kept) = self.nest.analyses {
            kept.used(name, AnalysisUse { reused: 1, ..AnalysisUse::default() });
        }
    }

    /// Returns an analysis, by its full or short name, of a function, a loop program or a module: computed, unless the run
    /// has a result that holds, or, if `only_known`, nothing then.
    ///
    /// # Errors
    /// Returns an error if nothing provides the analysis, it is of another unit, depends on itself, or fails.
    pub fn analysis(
        &self,
        name: &str,
        of: &SubjectRec<'_>,
        only_known: bool,
    ) -> Result<Option<RArc<AnalysisObject>>, PassError> {
        let kept = self.nest.analyses;
        let verifies = self.nest.verify == Verify::Each;
        // By its full name first, which needs no search.
        if let Some(known) = kept.and_then(|kept| kept.find(name, of)).filter(|known| !verifies || known.is_checked) {
            self.reused(name);
            return Ok(Some(known.object));
        }
        let facts = self.catalogue.analysis(name).map_err(|none| none.of_analysis(name))?;
        let name = facts.name.as_str();
        if facts.subject != of.kind() {
            let (own, other) = (facts.subject.name(), of.kind().name());
            let message = format_args!("`{name}` is an analysis of a {own}, and was asked for of a {other}");
            return Err(PassError::with_kind(error_kind::HOST, message));
        }
        let known = kept.and_then(|kept| kept.find(name, of));
        if known.is_some() || only_known {
            // Each result once: passes may ask often.
            if let (Some(known), Some(kept)) = (&known, kept) {
                if verifies && !only_known && !known.is_checked {
                    self.check_again(&facts, of, &known.object)?;
                    kept.checked(name, of);
                }
                self.reused(name);
            }
            return Ok(known.map(|known| known.object));
        }
        // A pass may ask about a function that it has made.
        let bodies = of.as_module().into_iter().flat_map(|module| module.globals().iter().map(crate::ir::Global::body));
        for function in bodies.chain(of.as_function()) {
            if !kept.is_some_and(|kept| kept.is_current(function)) {
                check_arena("", function)?;
            }
        }
        let (object, took) = self.computed(&facts, of)?;
        let object = RArc::new(object);
        let known = Known { analysis: facts.name.clone(), depends: facts.depends, object, is_checked: false };
        let Some(kept) = kept else { return Ok(Some(known.object)) };
        kept.used(name, AnalysisUse { computed: 1, took, ..AnalysisUse::default() });
        Ok(Some(kept.add(of, known)))
    }

    /// Computes an analysis; returns how long it took, too, without those that it needs.
    fn computed(&self, facts: &AnalysisFacts, of: &SubjectRec<'_>) -> Result<(AnalysisObject, Duration), PassError> {
        let name = facts.name.as_str();
        let at =
            of.as_function().map(address).or_else(|| of.as_module().map(|module| std::ptr::from_ref(module).addr()));
        let asking = Asking { name, at: at.unwrap_or(0), outer: self.nest.asking, needed: AtomicU64::new(0) };
        let mut chain = vec![name];
        let mut around = asking.outer;
        while let Some(outer) = around {
            chain.push(outer.name);
            if (outer.name, outer.at) == (name, asking.at) {
                chain.reverse();
                let chain: Vec<String> = chain.iter().map(|name| format!("`{name}`")).collect();
                let message = format_args!("analysis `{name}` depends on itself: {}", chain.join(" needs "));
                return Err(PassError::new(message).of_plugin(&facts.plugin));
            }
            around = outer.outer;
        }
        if chain.len() > MAX_CHAIN {
            let message =
                format_args!("analysis `{name}` needs others without an end: more than {MAX_CHAIN} in a chain");
            return Err(PassError::new(message).of_plugin(&facts.plugin));
        }
        let began = Instant::now();
        let inner = RunCx { nest: self.nest.asked_by(&asking), ..*self };
        let object = self.catalogue.compute_analysis(facts, of, &inner);
        let whole = began.elapsed();
        if let Some(outer) = asking.outer {
            outer.needed.fetch_add(u64::try_from(whole.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
        }
        let object = object?;
        if !object.lists().names().eq(facts.lists.iter().map(|(name, _)| name.as_str())) {
            let [gave, declares] = [
                object.lists().names().map(str::to_owned).collect::<Vec<_>>(),
                facts.lists.iter().map(|(name, _)| name.clone()).collect(),
            ];
            let or_none = |names: &[String]| if names.is_empty() { "none".to_owned() } else { list(names) };
            let message = format_args!(
                "analysis `{name}` gave the lists {}, and its record declares {}",
                or_none(&gave),
                or_none(&declares)
            );
            return Err(PassError::new(message).of_plugin(&facts.plugin));
        }
        Ok((object, whole.saturating_sub(Duration::from_nanos(asking.needed.load(Ordering::Relaxed)))))
    }

    /// Computes an analysis again, without what is known, and compares.
    fn check_again(&self, facts: &AnalysisFacts, of: &SubjectRec<'_>, known: &AnalysisObject) -> Result<(), PassError> {
        let alone = RunCx { nest: self.nest.unaware(), ..*self };
        let (again, _) = alone.computed(facts, of)?;
        if again.equals(known)? {
            return Ok(());
        }
        let message = format_args!("analysis `{}` has two results for one {}", facts.name, facts.subject.name());
        Err(PassError::new(message).of_plugin(&facts.plugin))
    }
}

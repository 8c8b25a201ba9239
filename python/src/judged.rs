//! Rules that are judged before they are used, with what was found.

use relais::transform::Pass;
use relais_plugin_api::pattern::Rules;
use relais_session::{pipeline::StatedRules, rules::Unsound};
use std::sync::{Arc, Mutex, PoisonError};

/// Rules that are judged before the first use of the pass that has them.
pub(crate) struct Judged {
    pub what: What,
    /// Those that change what a module computes; none before they were judged to the end.
    verdict: Mutex<Option<Vec<Unsound>>>,
}

/// Whose rules they are.
pub(crate) enum What {
    /// Those that a pass of a plugin was given.
    Stated(Vec<StatedRules>),
    /// Those of the program.
    Own { rules: Arc<Rules>, pass: Pass, is_judged: bool },
}

impl Judged {
    /// Rules that a pass of a plugin was given.
    pub fn stated(stated: Vec<StatedRules>) -> Self {
        Self { what: What::Stated(stated), verdict: Mutex::default() }
    }

    /// Rules of the program.
    pub fn own(rules: Arc<Rules>, pass: Pass, is_judged: bool) -> Self {
        Self { what: What::Own { rules, pass, is_judged }, verdict: Mutex::default() }
    }

    /// The rules of the program, as text.
    pub fn text(&self) -> Option<String> {
        match &self.what {
            What::Own { rules, .. } => Some(rules.iter().map(ToString::to_string).collect::<Vec<_>>().join(";\n")),
            What::Stated(_) => None,
        }
    }

    /// Those that change what a module computes; none before they were judged to the end.
    pub fn verdict(&self) -> Option<Vec<Unsound>> {
        self.verdict.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Keeps what was found when they were judged to the end.
    pub fn keep(&self, verdict: Vec<Unsound>) {
        *self.verdict.lock().unwrap_or_else(PoisonError::into_inner) = Some(verdict);
    }
}

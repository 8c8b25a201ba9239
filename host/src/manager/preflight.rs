//! Asking passes, before the first one runs, whether they can work on the program (rule R27).

use super::{
    execute::Heard,
    machine::{Machine, Stop},
    report::FailureKind,
};
use crate::{
    pass::{Dependencies, PassInfo, Scope, Watch},
    pipeline::ResolvedStep,
};
use relais_plugin_api::boundary::{abi::error_kind, record::Level};
use std::{collections::BTreeSet, fmt::Display, sync::PoisonError};

/// The remaining steps and passes, each with its place in the pipeline.
enum Todo<'a> {
    Step(usize, String),
    /// A pass, and whether what it requires is asked, too.
    Pass(usize, String, bool),
    /// The pass itself, after what it requires.
    Ask(usize, String),
    Open(&'a Scope),
    Close,
}

impl<'a> Machine<'a> {
    /// Asks every enabled pass of the pipeline, including requirements and members of sequences, in the order of the
    /// pipeline. A pass that occurs twice is asked once.
    pub(super) fn check_steps(&mut self, watch: &Watch) -> Result<(), Stop> {
        let pipeline = self.pipeline;
        self.check(watch, steps(&pipeline.steps, "", "step"))
    }

    /// Asks the one pass that is run directly, and its members.
    pub(super) fn check_callee(&mut self, watch: &Watch) -> Result<(), Stop> {
        self.check(watch, vec![Todo::Ask(0, String::new())])
    }

    fn check(&mut self, watch: &Watch, mut todo: Vec<Todo<'a>>) -> Result<(), Stop> {
        let pipeline = self.pipeline;
        let is_transitive = pipeline.run.dependencies == Dependencies::Transitive;
        let mut asked = BTreeSet::new();
        while let Some(next) = todo.pop() {
            match next {
                Todo::Step(node, place) => match &pipeline.nodes[node] {
                    &ResolvedStep::Pass { pass, opt_level } => {
                        if self.scope().enables(&pipeline.passes[pass].facts.name, opt_level) {
                            todo.push(Todo::Pass(pass, place, true));
                        }
                    }
                    ResolvedStep::Sequence { name, opt_level, required, steps: within } => {
                        if self.scope().enables(name, *opt_level) {
                            todo.append(&mut steps(within, &place, format_args!("sequence `{name}`, step")));
                            let before = join(&place, format_args!("required by `{name}`"));
                            let required = required.iter().rev().filter(|required| !asked.contains(*required));
                            todo.extend(required.map(|&required| Todo::Pass(required, before.clone(), is_transitive)));
                        }
                    }
                    ResolvedStep::Fixpoint { steps: within, .. } => {
                        todo.append(&mut steps(within, &place, "fixpoint, step"));
                    }
                    ResolvedStep::Scope { scope, steps: within, .. } => {
                        todo.push(Todo::Close);
                        todo.append(&mut steps(within, &place, "scope, step"));
                        todo.push(Todo::Open(scope));
                    }
                    ResolvedStep::When { steps: within, .. } => {
                        todo.append(&mut steps(within, &place, "condition, step"))
                    }
                },
                Todo::Pass(pass, place, with_required) => {
                    let instance = &pipeline.passes[pass];
                    let required: &[usize] = if with_required { &instance.required } else { &[] };
                    let within = join(&place, format_args!("required by `{}`", instance.facts.name));
                    todo.push(Todo::Ask(pass, place));
                    // Asked a second time, it would answer the same.
                    let required = required.iter().rev().filter(|required| !asked.contains(*required));
                    todo.extend(required.map(|&required| Todo::Pass(required, within.clone(), is_transitive)));
                }
                Todo::Ask(pass, place) => {
                    let instance = &pipeline.passes[pass];
                    if !asked.insert(pass) {
                        continue;
                    }
                    self.ask(watch, pass, &place)?;
                    if let (Level::SEQUENTIAL, Some(members)) = (instance.facts.level, &instance.members) {
                        let name = &instance.facts.name;
                        todo.append(&mut steps(members, &place, format_args!("`{name}`, member")));
                    }
                }
                Todo::Open(scope) => self.scopes.push(scope),
                Todo::Close => _ = self.scopes.pop(),
            }
        }
        Ok(())
    }

    /// Diagnostics of the pass are shown; its counts are ignored, since they are not part of a run.
    fn ask(&mut self, watch: &Watch, pass: usize, place: &str) -> Result<(), Stop> {
        let pipeline = self.pipeline;
        let facts = &pipeline.passes[pass].facts;
        let info = PassInfo::from(&**facts);
        let heard = Heard::default();
        let deadline = watch.deadline(&info);
        let answer = self
            .call(watch, pass, &heard, deadline.as_ref(), &|pass, module, cx| pass.check(module, cx).map(|()| None));
        heard.counts.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.pass_on(watch, facts, &info, heard);
        answer.map_err(Stop::Hook)?.map(drop).map_err(|error| {
            let module = self.state.module();
            Stop::Pass(Box::new(match error.rec().kind {
                error_kind::CANCELLED => FailureKind::pass(facts, error, module),
                _ => FailureKind::check(facts, error, module, place),
            }))
        })
    }
}

/// The steps of a list, to be looked at in order.
fn steps<'a>(list: &[usize], place: &str, what: impl Display) -> Vec<Todo<'a>> {
    let step = |(index, &node): (usize, &usize)| Todo::Step(node, join(place, format_args!("{what} {}", index + 1)));
    list.iter().enumerate().rev().map(step).collect()
}

/// A place within another.
fn join(outer: &str, inner: impl Display) -> String {
    if outer.is_empty() { inner.to_string() } else { format!("{outer}, {inner}") }
}

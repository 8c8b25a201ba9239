//! The requirements of passes (rule R5): found by name, followed, and every fault reported with the chain that led to
//! it.

use super::{
    fault::{Code, PipelineFault, Place},
    resolved::ResolvedStep,
    resolver::{RequiringSequence, Resolver},
    schema::mandatory,
    spec::{SpecValue, literal_of},
};
use crate::{
    pass::{Dependencies, NoPass, PROGRAM},
    words::and_list,
};
use relais_plugin_api::{options::Value, pass::Requirement};
use std::collections::{BTreeMap, BTreeSet};

/// Finds the passes that a pass requires. A missing pass is reported by [`check`], which knows the chains.
pub(super) fn of(resolver: &mut Resolver<'_>, pass: usize) {
    if resolver.is_called && pass == 0 {
        return;
    }
    let facts = resolver.passes[pass].facts.clone();
    let place = resolver.places[pass];
    let mut required = Vec::with_capacity(facts.required.len());
    for Requirement { pass, options } in &facts.required {
        let Ok(found) = resolver.find(pass) else { continue };
        let SpecValue::Table(options) = literal_of(options.clone()) else { continue };
        required.push(resolver.required_instance(found, &options, place, Some(&facts.name)));
    }
    resolver.passes[pass].required = required;
}

/// Follows the requirements of every pass that is on, context by context.
pub(super) fn check(resolver: &mut Resolver<'_>, enabled: &[BTreeSet<usize>], mode: Dependencies) {
    let mut check = Check { mode, reported: BTreeSet::new() };
    for (scope, passes) in enabled.iter().enumerate() {
        let mut done = BTreeMap::new();
        for &pass in passes {
            check.follow(resolver, scope, (pass, Role::Step), &mut done);
        }
    }
    for RequiringSequence { name, place, scope, required } in resolver.requiring.clone() {
        let mut done = BTreeMap::new();
        for pass in required {
            let label = format!("`{name}` requires `{}`", resolver.passes[pass].facts.name);
            if check.is_usable(resolver, scope, &name, pass, place, label) {
                check.follow(resolver, scope, (pass, check.role_of_requirements()), &mut done);
            }
        }
    }
}

struct Check {
    mode: Dependencies,
    /// Dependent, requirement and code of each reported fault: no fault is reported twice.
    reported: BTreeSet<(String, String, Code)>,
}

/// A pass on the way, and how far its successors were followed.
struct Frame {
    pass: usize,
    successors: Vec<usize>,
    next: usize,
}

/// Whether a pass's own requirements are followed: in direct mode those of steps are, those of requirements are not.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Role {
    Step,
    Requirement,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    OnTheWay,
    Done,
}

impl Check {
    fn follow(
        &mut self,
        resolver: &mut Resolver<'_>,
        scope: usize,
        start: (usize, Role),
        done: &mut BTreeMap<(usize, Role), State>,
    ) {
        if done.contains_key(&start) {
            return;
        }
        let mut way: Vec<(Frame, Role)> = Vec::new();
        let mut enter = Some(start);
        loop {
            if let Some((pass, role)) = enter.take() {
                done.insert((pass, role), State::OnTheWay);
                let chain: Vec<usize> = way.iter().map(|(frame, _)| frame.pass).chain([pass]).collect();
                let successors = self.successors(resolver, scope, pass, role, &chain);
                way.push((Frame { pass, successors, next: 0 }, role));
            }
            let Some((frame, role)) = way.last_mut() else { return };
            let Some(&next) = frame.successors.get(frame.next) else {
                done.insert((frame.pass, *role), State::Done);
                way.pop();
                continue;
            };
            frame.next += 1;
            let is_member = !resolver.passes[frame.pass].required.contains(&next);
            let role = if is_member { Role::Step } else { self.role_of_requirements() };
            match done.get(&(next, role)) {
                None => enter = Some((next, role)),
                Some(State::Done) => {}
                Some(State::OnTheWay) => {
                    let from = way.iter().position(|(frame, _)| frame.pass == next).unwrap_or(0);
                    let cycle: Vec<usize> = way[from..].iter().map(|(frame, _)| frame.pass).chain([next]).collect();
                    self.cycle(resolver, &cycle);
                }
            }
        }
    }

    fn role_of_requirements(&self) -> Role {
        match self.mode {
            Dependencies::Transitive => Role::Step,
            Dependencies::Direct | Dependencies::Assumed => Role::Requirement,
        }
    }

    /// Returns the passes that run when this pass runs: its requirements, and the members of a sequential pass that are
    /// on.
    fn successors(
        &mut self,
        resolver: &mut Resolver<'_>,
        scope: usize,
        pass: usize,
        role: Role,
        chain: &[usize],
    ) -> Vec<usize> {
        let mut successors = Vec::new();
        if role == Role::Step {
            self.missing(resolver, pass, chain);
            for required in resolver.passes[pass].required.clone() {
                let dependent = resolver.passes[pass].facts.name.clone();
                let label = self.chain(resolver, chain, &resolver.passes[required].facts.name);
                if self.is_usable(resolver, scope, &dependent, required, resolver.places[chain[0]], label) {
                    successors.push(required);
                }
            }
        }
        for &node in resolver.passes[pass].members.iter().flatten() {
            let ResolvedStep::Pass { pass, opt_level } = resolver.nodes[node] else { continue };
            if resolver.scopes[scope].enables(&resolver.passes[pass].facts.name, opt_level) {
                successors.push(pass);
            }
        }
        successors
    }

    fn missing(&mut self, resolver: &mut Resolver<'_>, pass: usize, chain: &[usize]) {
        if resolver.is_called && pass == 0 {
            return;
        }
        let names = resolver.passes[pass].facts.required.clone();
        for name in names.into_iter().map(|required| required.pass) {
            let Err(Some(mut why)) = resolver.find(&name) else { continue };
            if let NoPass::Unknown(near) = &mut why {
                // No pass means itself.
                near.retain(|near| *near != resolver.passes[pass].facts.name);
            }
            let code = match why {
                NoPass::Unknown(_) => Code::RequirementMissing,
                NoPass::Refused { .. } => Code::Refused,
                _ => Code::Ambiguous,
            };
            if !self.reported.insert((resolver.passes[pass].facts.name.clone(), name.clone(), code)) {
                continue;
            }
            let mut fault = resolver.no_pass(&name, resolver.places[chain[0]], &why);
            let dependent = &resolver.passes[pass].facts;
            if code == Code::RequirementMissing {
                fault.code = code;
                fault.message = format!("`{}` requires `{name}`, which nothing provides", dependent.name);
                // One of the program's own has none.
                if !dependent.plugin.is_empty() {
                    fault.notes.insert(0, format!("plugin `{}` provides `{}`", dependent.plugin, dependent.name));
                }
            }
            let fault = fault.label(self.chain(resolver, chain, &name));
            resolver.faults.push(fault);
        }
    }

    fn is_usable(
        &mut self,
        resolver: &mut Resolver<'_>,
        scope: usize,
        dependent: &str,
        required: usize,
        place: Option<Place>,
        label: String,
    ) -> bool {
        let facts = resolver.passes[required].facts.clone();
        let given = |name: &str| match &resolver.passes[required].options {
            Value::Struct(given) => given.iter().any(|(given, _)| given == name),
            _ => false,
        };
        let mut needed = mandatory(&facts.options);
        needed.retain(|name| !given(name));
        if !needed.is_empty() {
            if self.reported.insert((dependent.to_owned(), facts.name.clone(), Code::RequirementOptions)) {
                let message = format!("`{dependent}` requires `{}`, which cannot be made without options", facts.name);
                let fault = PipelineFault::new(Code::RequirementOptions, place, message).label(label);
                let note = format!("it has no default for {}", and_list(&needed));
                let help = format!(
                    "run `{}` as a step of its own, and a version of `{dependent}` that requires it with options, or not at all",
                    facts.name
                );
                resolver.faults.push(fault.note(note).help(help));
            }
            return false;
        }
        // TVM's algorithm does not look at `disabled` here.
        if self.mode == Dependencies::Transitive && resolver.scopes[scope].disabled.contains(&facts.name) {
            if self.reported.insert((dependent.to_owned(), facts.name.clone(), Code::RequirementDisabled)) {
                let message = format!("`{dependent}` requires `{}`, which is disabled", facts.name);
                let disabled_at = resolver.disabled_at.get(&facts.name).copied().flatten();
                let fault = PipelineFault::new(Code::RequirementDisabled, place, message)
                    .label(label)
                    .related(disabled_at, "disabled here")
                    .help(format!("disable `{dependent}`, too, or neither"));
                resolver.faults.push(fault);
            }
            return false;
        }
        true
    }

    fn cycle(&mut self, resolver: &mut Resolver<'_>, cycle: &[usize]) {
        let name = |pass: usize| resolver.passes[pass].facts.name.clone();
        let [.., last, first] = cycle else { return };
        if !self.reported.insert((name(*last), name(*first), Code::RequirementCycle)) {
            return;
        }
        let names: Vec<String> = cycle.iter().map(|&pass| format!("`{}`", name(pass))).collect();
        let fault = PipelineFault::new(Code::RequirementCycle, resolver.places[*first], "passes require each other")
            .label(format!("{} requires itself", names[0]))
            .note(names.join(" requires "));
        let provider = |&pass: &usize| match resolver.passes[pass].facts.plugin.as_str() {
            "" => PROGRAM,
            plugin => plugin,
        };
        let plugins: BTreeSet<&str> = cycle.iter().map(provider).collect();
        let plugins: Vec<&str> = plugins.into_iter().collect();
        let fault = fault.help(format!("one of these passes, of {}, must not require the next", and_list(&plugins)));
        resolver.faults.push(fault);
    }

    /// `A` requires `B`, which requires `C`.
    fn chain(&self, resolver: &Resolver<'_>, chain: &[usize], last: &str) -> String {
        let mut text = String::new();
        for (i, &pass) in chain.iter().enumerate() {
            let name = &resolver.passes[pass].facts.name;
            let link = if i == 0 { "" } else { "which requires " };
            text.push_str(&format!("{link}`{name}`, "));
        }
        let text = text.replacen("`, which requires", "` requires", 1);
        match chain.len() {
            1 => format!("{} requires `{last}`", text.trim_end_matches(", ")),
            _ => format!("{text}which requires `{last}`"),
        }
    }
}

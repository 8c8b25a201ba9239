//! Operators, what others add to them, and evaluators, by name and version.

use super::provider::Provider;
use crate::{
    ir::normal_domain,
    plugin::{AdditionRecord, OperatorRecord, Running},
};
use relais_plugin_api::{
    boundary::abi::{CallEntry, EvalEntry, InferEntry, error_kind, operator_part, verifier_field, with_fallback},
    diagnostics::PassError,
    op::{AddedPart, Merged, Rank, merge},
};
use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
};

/// The code of failures of an operator's plugin.
const OPERATOR_FAULT: &str = "operator-fault";

/// By the key of a domain, then by name: indices, by version.
type Index = HashMap<String, HashMap<String, Vec<usize>>>;

pub(super) struct Operators {
    operators: Vec<OperatorEntry>,
    additions: Vec<AdditionEntry>,
    evaluators: Vec<EvaluatorEntry>,
    /// The plugins that were chosen for an operator: by the key of a domain, then by name.
    chosen: HashMap<String, HashMap<String, Vec<usize>>>,
    /// The target that is built for; empty if it is none.
    target: String,
    operator_index: Index,
    evaluator_index: Index,
    /// The domains that plugins describe the whole of, up to a version of the operator set.
    closed: HashMap<String, u32>,
}

struct OperatorEntry {
    plugin: usize,
    index: usize,
    since: u32,
    infer: OnceLock<Result<InferEntry, PassError>>,
    calls: Calls,
    /// The fields of its further properties.
    more: Vec<u8>,
    /// The additions of others to it.
    additions: Vec<usize>,
    merged: OnceLock<Option<Box<MergedRecord>>>,
}

/// The functions that look at calls: body, verifier, gradient and kernel.
type Calls = [OnceLock<Result<CallEntry, PassError>>; 4];

/// The place of a part among [`Calls`].
fn place_of(part: u8) -> Option<usize> {
    [operator_part::BODY, operator_part::VERIFIER, operator_part::GRADIENT, operator_part::COMPUTE]
        .iter()
        .position(|known| *known == part)
}

/// An addition of a plugin to an operator that another one describes.
struct AdditionEntry {
    plugin: usize,
    index: usize,
    calls: Calls,
}

impl AdditionEntry {
    fn record<'a>(&self, providers: &'a [Arc<Provider>]) -> &'a AdditionRecord {
        &providers[self.plugin].records.additions[self.index]
    }
}

/// A record together with what others add to it.
struct MergedRecord {
    record: OperatorRecord,
    /// Indices are those of the additions of the entry.
    parts: Merged,
}

/// A part of an operator that several plugins give.
pub struct Dispute {
    /// How messages call it.
    pub part: String,
    /// The plugins.
    pub plugins: Vec<usize>,
    /// The plugin whose part counts meanwhile.
    pub stands: Option<usize>,
}

struct EvaluatorEntry {
    plugin: usize,
    domain: String,
    name: String,
    since: u32,
    priority: u16,
    eval: OnceLock<Result<EvalEntry, PassError>>,
}

impl Operators {
    pub fn new(providers: &[Arc<Provider>]) -> Self {
        let (mut operators, mut evaluators): (Vec<OperatorEntry>, _) = (Vec::new(), Vec::new());
        let mut additions: Vec<AdditionEntry> = Vec::new();
        let (mut operator_index, mut evaluator_index) = (Index::new(), Index::new());
        let mut closed = HashMap::<String, u32>::new();
        let add = |index: &mut Index, domain: &str, name: &str, id: usize| {
            index.entry(key(domain).to_owned()).or_default().entry(name.to_owned()).or_default().push(id);
        };
        for (plugin, provider) in providers.iter().enumerate() {
            let mut add_evaluator = |domain: &str, name: &str, since: u32, priority: u16| {
                add(&mut evaluator_index, domain, name, evaluators.len());
                let (domain, name) = (domain.to_owned(), name.to_owned());
                evaluators.push(EvaluatorEntry { plugin, domain, name, since, priority, eval: OnceLock::new() });
            };
            for (index, op) in provider.records.operators.iter().enumerate() {
                add(&mut operator_index, &op.domain, &op.name, operators.len());
                let more = if op.has_verifier { verifier_field(operators.len() as u32) } else { Vec::new() };
                let (since, infer, calls) = (op.since_version, OnceLock::new(), Default::default());
                let merged = OnceLock::new();
                operators.push(OperatorEntry {
                    plugin,
                    index,
                    since,
                    infer,
                    calls,
                    more,
                    additions: Vec::new(),
                    merged,
                });
                if op.has_eval {
                    add_evaluator(&op.domain, &op.name, op.since_version, 0);
                }
            }
            for eval in &provider.records.evaluators {
                add_evaluator(&eval.domain, &eval.name, eval.since_version, 0);
            }
            for (index, AdditionRecord { parts, priority, .. }) in provider.records.additions.iter().enumerate() {
                additions.push(AdditionEntry { plugin, index, calls: Calls::default() });
                if parts.has_eval {
                    add_evaluator(&parts.domain, &parts.name, parts.since_version, *priority);
                }
            }
            for (domain, last) in &provider.records.plugin.closed_domains {
                let known = closed.entry(key(domain).to_owned()).or_default();
                *known = (*known).max(*last);
            }
        }
        for (id, addition) in additions.iter().enumerate() {
            let parts = &addition.record(providers).parts;
            let described = operator_index.get(key(&parts.domain)).and_then(|names| names.get(&parts.name));
            for &op in described.into_iter().flatten() {
                if operators[op].since == parts.since_version {
                    operators[op].additions.push(id);
                }
            }
        }
        let (chosen, target) = (HashMap::new(), String::new());
        Self { operators, additions, evaluators, chosen, target, operator_index, evaluator_index, closed }
    }

    /// Takes what is added for a target.
    pub fn set_target(&mut self, target: &str) {
        target.clone_into(&mut self.target);
        self.operators.iter_mut().for_each(|op| op.merged = OnceLock::new());
    }

    /// The record of an operator, with what others add to it.
    fn record<'a>(&'a self, id: usize, providers: &'a [Arc<Provider>]) -> &'a OperatorRecord {
        let entry = &self.operators[id];
        let own = &providers[entry.plugin].records.operators[entry.index];
        self.merged(id, providers).map_or(own, |merged| &merged.record)
    }

    fn merged<'a>(&'a self, id: usize, providers: &'a [Arc<Provider>]) -> Option<&'a MergedRecord> {
        let entry = &self.operators[id];
        if entry.additions.is_empty() {
            return None;
        }
        let merged = entry.merged.get_or_init(|| {
            let own = &providers[entry.plugin].records.operators[entry.index];
            let chosen = self.chosen.get(key(&own.domain)).and_then(|names| names.get(&own.name));
            let rank = |plugin: usize, it: Option<&AdditionRecord>| Rank {
                is_chosen: chosen.is_some_and(|chosen| chosen.contains(&plugin)),
                is_for_target: it.is_some_and(|it| !it.target.is_empty()),
                priority: it.map_or(0, |it| it.priority),
            };
            let additions = entry.additions.iter().map(|&id| {
                let addition = &self.additions[id];
                let record = addition.record(providers);
                // Empty fields are those of no part: one for another target.
                let counts = record.target.is_empty() || record.target == self.target;
                let fields = if counts { record.parts.fields() } else { &[] };
                (rank(addition.plugin, Some(record)), fields)
            });
            let parts = merge(own.fields(), rank(entry.plugin, None), &additions.collect::<Vec<_>>());
            let record = OperatorRecord::of_fields(&parts.fields.clone().into())?;
            Some(Box::new(MergedRecord { record, parts }))
        });
        merged.as_deref()
    }

    /// The addition that gives a part of an operator.
    fn giver(&self, part: u8, id: usize, providers: &[Arc<Provider>]) -> Option<&AdditionEntry> {
        let place = self.merged(id, providers)?.parts.giver(&AddedPart::of(part)?)?;
        Some(&self.additions[self.operators[id].additions[place]])
    }

    fn id_of(&self, record: &OperatorRecord, providers: &[Arc<Provider>]) -> Option<usize> {
        (0..self.operators.len()).find(|&id| std::ptr::eq(self.record(id, providers), record))
    }

    /// The plugin that gives a part of an operator that another one describes.
    pub fn giver_of(&self, record: &OperatorRecord, part: &AddedPart, providers: &[Arc<Provider>]) -> Option<usize> {
        let id = self.id_of(record, providers)?;
        let place = self.merged(id, providers)?.parts.giver(part)?;
        Some(self.additions[self.operators[id].additions[place]].plugin)
    }

    /// The additions of plugins to an operator.
    pub fn additions_to<'a>(
        &self,
        record: &OperatorRecord,
        providers: &'a [Arc<Provider>],
    ) -> Vec<(&'a AdditionRecord, &'a Provider)> {
        let additions = self.id_of(record, providers).map(|id| self.operators[id].additions.iter());
        let of = |&id: &usize| (self.additions[id].record(providers), &*providers[self.additions[id].plugin]);
        additions.into_iter().flatten().map(of).collect()
    }

    /// The additions of a plugin to operators that nothing describes in that version, each with the versions that are
    /// described.
    pub fn idle_additions<'a>(
        &self,
        plugin: usize,
        providers: &'a [Arc<Provider>],
    ) -> Vec<(&'a AdditionRecord, Vec<u32>)> {
        let of_plugin = self.additions.iter().filter(|addition| addition.plugin == plugin);
        let idle = of_plugin.filter_map(|addition| {
            let record = addition.record(providers);
            let parts = &record.parts;
            let described = self.operator_index.get(key(&parts.domain)).and_then(|names| names.get(&parts.name));
            let mut versions: Vec<u32> = described.into_iter().flatten().map(|&id| self.operators[id].since).collect();
            versions.sort_unstable();
            versions.dedup();
            (!versions.contains(&parts.since_version)).then_some((record, versions))
        });
        idle.collect()
    }

    /// The targets that additions are for.
    pub fn targets<'a>(&'a self, providers: &'a [Arc<Provider>]) -> impl Iterator<Item = &'a str> + 'a {
        let targets = self.additions.iter().map(|addition| addition.record(providers).target.as_str());
        targets.filter(|target| !target.is_empty())
    }

    pub fn operator<'a>(
        &'a self,
        domain: &str,
        name: &str,
        version: u32,
        providers: &'a [Arc<Provider>],
    ) -> Option<(u32, &'a OperatorRecord)> {
        let id = self.described(domain, name, version, providers)?;
        Some((id as u32, self.record(id, providers)))
    }

    /// Takes the facts about an operator only from some plugins, if they have them.
    pub fn prefer(&mut self, domain: &str, name: &str, is_preferred: impl Fn(usize) -> bool) {
        let Self { operators, additions, evaluators, chosen, operator_index, evaluator_index, .. } = self;
        fn retain(index: &mut Index, (domain, name): (&str, &str), is_preferred: impl Fn(&usize) -> bool) {
            let ids = index.get_mut(domain).and_then(|names| names.get_mut(name));
            if let Some(ids) = ids.filter(|ids| ids.iter().any(&is_preferred)) {
                ids.retain(is_preferred);
            }
        }
        let domain = key(domain);
        retain(operator_index, (domain, name), |&id| is_preferred(operators[id].plugin));
        retain(evaluator_index, (domain, name), |&id| is_preferred(evaluators[id].plugin));
        let mut plugins: Vec<usize> = operators.iter().map(|op| op.plugin).collect();
        plugins.extend(additions.iter().map(|addition| addition.plugin));
        plugins.retain(|&plugin| is_preferred(plugin));
        chosen.entry(domain.to_owned()).or_default().entry(name.to_owned()).or_default().extend(plugins);
        operators.iter_mut().for_each(|op| op.merged = OnceLock::new());
    }

    pub fn is_closed(&self, domain: &str, version: u32) -> bool {
        self.closed.get(key(domain)).is_some_and(|last| (1..=*last).contains(&version))
    }

    /// The description that applies to a version.
    fn described(&self, domain: &str, name: &str, version: u32, providers: &[Arc<Provider>]) -> Option<usize> {
        self.one(&self.newest(domain, name, version), providers)
    }

    /// The descriptions with the greatest first version that is not above `version`.
    fn newest(&self, domain: &str, name: &str, version: u32) -> Vec<usize> {
        best(&self.operator_index, domain, name, |id| Some(self.operators[id].since).filter(|&since| since <= version))
    }

    /// The only one; otherwise the only one of a shipped plugin, until one is chosen.
    fn one(&self, ids: &[usize], providers: &[Arc<Provider>]) -> Option<usize> {
        let plugin = |&&id: &&usize| providers[self.operators[id].plugin].is_shipped();
        only(ids.iter(), plugin).copied()
    }

    /// The parts of an operator that several plugins give in the same version, its description among them.
    pub fn disputes(&self, domain: &str, name: &str, version: u32, providers: &[Arc<Provider>]) -> Vec<Dispute> {
        let mut disputes = Vec::new();
        let described = self.newest(domain, name, version);
        let believed = self.one(&described, providers);
        if described.len() > 1 {
            let plugins = described.iter().map(|&id| self.operators[id].plugin).collect();
            let stands = believed.map(|id| self.operators[id].plugin);
            disputes.push(Dispute { part: String::new(), plugins, stands });
        }
        let evaluators = self.newest_evaluators(domain, name, version);
        // Of a second description, one warning is enough.
        if evaluators.len() > 1 && disputes.is_empty() {
            let plugins = evaluators.iter().map(|&id| self.evaluators[id].plugin).collect();
            let stands = self.evaluator(domain, name, version, providers);
            let stands = stands.map(|id| self.evaluators[id as usize].plugin);
            disputes.push(Dispute { part: operator_part::name(operator_part::EVALUATOR).into(), plugins, stands });
        }
        let merged = believed.and_then(|id| Some((id, self.merged(id, providers)?)));
        for (id, (part, places)) in
            merged.into_iter().flat_map(|(id, it)| it.parts.disputed.iter().map(move |it| (id, it)))
        {
            let entry = &self.operators[id];
            let plugins = places.iter().map(|&place| self.additions[entry.additions[place]].plugin).collect();
            disputes.push(Dispute { part: part.to_string(), plugins, stands: Some(entry.plugin) });
        }
        disputes
    }

    pub fn evaluator(&self, domain: &str, name: &str, version: u32, providers: &[Arc<Provider>]) -> Option<u32> {
        let newest = self.newest_evaluators(domain, name, version);
        let plugin = |&&id: &&usize| providers[self.evaluators[id].plugin].is_shipped();
        let one = only(newest.iter(), plugin).copied().or_else(|| {
            // The one of the description stands while others dispute.
            let describing = self.operators[self.described(domain, name, version, providers)?].plugin;
            let own = best(&self.evaluator_index, domain, name, |id| {
                let EvaluatorEntry { plugin, since, .. } = self.evaluators[id];
                (plugin == describing && since <= version).then_some(since)
            });
            own.first().copied()
        });
        one.map(|id| id as u32)
    }

    /// The evaluators with the greatest first version that is not above `version`, and of those the greatest priority.
    fn newest_evaluators(&self, domain: &str, name: &str, version: u32) -> Vec<usize> {
        best(&self.evaluator_index, domain, name, |id| {
            let EvaluatorEntry { since, priority, .. } = self.evaluators[id];
            (since <= version).then_some((since, priority))
        })
    }

    pub fn all<'a>(
        &'a self,
        providers: &'a [Arc<Provider>],
    ) -> impl Iterator<Item = (&'a OperatorRecord, &'a Provider)> + 'a {
        let by_name = |(domain, names): (&'a String, &'a HashMap<String, Vec<usize>>)| {
            names.iter().map(move |(name, ids)| (normal_domain(domain), name, ids))
        };
        let mut names: Vec<_> = self.operator_index.iter().flat_map(by_name).collect();
        names.sort_unstable_by_key(|&(domain, name, _)| (domain, name));
        names
            .into_iter()
            .flat_map(|(.., ids)| ids)
            .map(|&id| (self.record(id, providers), &*providers[self.operators[id].plugin]))
    }

    pub fn infer_entry(&self, id: u32, providers: &[Arc<Provider>]) -> Result<InferEntry, PassError> {
        let entry = self.operators.get(id as usize).ok_or_else(|| host("there is no such operator"))?;
        let provider = &providers[entry.plugin];
        let op = &provider.records.operators[entry.index];
        let ask = || {
            let open = provider.open().map_err(|refusal| refused(provider, &refusal))?;
            let guarded = provider.guarded(&format!("the type relation of `{}`", op.name));
            let _running = Running::new(&guarded);
            let found = open.infer((&op.domain, &op.name, op.since_version));
            found.ok_or_else(|| host(format_args!("plugin {} lacks what its records say", provider.describe())))
        };
        entry.infer.get_or_init(ask).clone()
    }

    /// The function that looks at a call. One that is added is asked first, and that of the describing plugin about calls
    /// that it does not cover.
    pub fn call_entry(&self, part: u8, id: u32, providers: &[Arc<Provider>]) -> Result<CallEntry, PassError> {
        let entry = self.operators.get(id as usize).ok_or_else(|| host("there is no such operator"))?;
        let place = place_of(part).ok_or_else(|| host("an operator has no such part"))?;
        let provider = &providers[entry.plugin];
        let own = &provider.records.operators[entry.index];
        let ask = || call_of(part, own, None, provider);
        let Some(addition) = self.giver(part, id as usize, providers) else {
            return entry.calls[place].get_or_init(ask).clone();
        };
        let AdditionRecord { parts, target, .. } = addition.record(providers);
        let ask_first = || call_of(part, parts, Some(target), &providers[addition.plugin]);
        let first = addition.calls[place].get_or_init(ask_first).clone()?;
        let has_own = match part {
            operator_part::BODY => own.has_body_of,
            operator_part::GRADIENT => own.has_gradient,
            _ => own.has_kernel,
        };
        match has_own {
            true => Ok(with_fallback(first, entry.calls[place].get_or_init(ask).clone()?)),
            false => Ok(first),
        }
    }

    pub fn further_properties(&self, id: u32) -> &[u8] {
        self.operators.get(id as usize).map_or(&[], |entry| &entry.more)
    }

    /// The plugin that a part of an operator belongs to, and the operator's name.
    pub fn named<'a>(&self, part: u8, id: u32, providers: &'a [Arc<Provider>]) -> Option<(&'a Provider, String)> {
        if part == operator_part::EVALUATOR {
            let entry = self.evaluators.get(id as usize)?;
            return Some((&providers[entry.plugin], qualified(&entry.domain, &entry.name)));
        }
        let entry = self.operators.get(id as usize)?;
        let op = &providers[entry.plugin].records.operators[entry.index];
        let plugin = self.giver(part, id as usize, providers).map_or(entry.plugin, |addition| addition.plugin);
        Some((&*providers[plugin], qualified(&op.domain, &op.name)))
    }

    pub fn fault(&self, part: u8, id: u32, message: &str, providers: &[Arc<Provider>]) -> PassError {
        let named = self.named(part, id, providers);
        let part = operator_part::name(part);
        let Some((provider, op)) = named else {
            return PassError::new(format_args!("an operator that does not exist is said to be at fault: {message}"));
        };
        let plugin = &provider.records.plugin;
        let (name, version) = (&plugin.name, &plugin.version);
        let error = format_args!("the {part} of `{op}`, of plugin `{name} {version}`, is at fault: {message}");
        PassError::new(error).code(OPERATOR_FAULT).of_plugin(name)
    }

    pub fn eval_entry(&self, id: u32, providers: &[Arc<Provider>]) -> Result<EvalEntry, PassError> {
        let entry = self.evaluators.get(id as usize).ok_or_else(|| host("there is no such evaluator"))?;
        let provider = &providers[entry.plugin];
        let ask = || {
            let open = provider.open().map_err(|refusal| refused(provider, &refusal))?;
            let guarded = provider.guarded(&format!("the evaluator of `{}`", entry.name));
            let _running = Running::new(&guarded);
            let found = open.eval((&entry.domain, &entry.name, entry.since));
            found.ok_or_else(|| host(format_args!("plugin {} lacks what its records say", provider.describe())))
        };
        entry.eval.get_or_init(ask).clone()
    }
}

/// Asks a plugin for a function of an operator that it describes, or adds to for a target.
fn call_of(
    part: u8,
    op: &OperatorRecord,
    target: Option<&String>,
    provider: &Provider,
) -> Result<CallEntry, PassError> {
    let open = provider.open().map_err(|refusal| refused(provider, &refusal))?;
    let what = format!("the {} of `{}`", operator_part::name(part), op.name);
    let guarded = provider.guarded(&what);
    let _running = Running::new(&guarded);
    let found = open.call_entry(part, (&op.domain, &op.name, op.since_version), target.map(String::as_str));
    found.ok_or_else(|| host(format_args!("plugin {} lacks what its records say", provider.describe())))
}

/// The key of a domain. It is not empty for ONNX's own: empty strings point nowhere, and processors take long to compare
/// no bytes there.
fn key(domain: &str) -> &str {
    if domain.is_empty() { "ai.onnx" } else { domain }
}

/// How messages name an operator.
pub fn qualified(domain: &str, name: &str) -> String {
    if domain.is_empty() { name.to_owned() } else { format!("{domain}::{name}") }
}

fn host(message: impl std::fmt::Display) -> PassError {
    PassError::with_kind(error_kind::HOST, message)
}

fn refused(provider: &Provider, refusal: &crate::plugin::Refusal) -> PassError {
    let error = host(format_args!("plugin {} was refused: {refusal}", provider.describe()));
    refusal.help().into_iter().fold(error, PassError::help)
}

/// The entries with the greatest rank; one without a rank does not count.
fn best<R: Ord + Copy>(index: &Index, domain: &str, name: &str, rank: impl Fn(usize) -> Option<R>) -> Vec<usize> {
    let ids = index.get(key(domain)).and_then(|names| names.get(name));
    let ranked = || ids.into_iter().flatten().filter_map(|&id| Some((rank(id)?, id)));
    let best = ranked().map(|(rank, _)| rank).max();
    ranked().filter(|&(rank, _)| Some(rank) == best).map(|(_, id)| id).collect()
}

/// The only item; otherwise the only one that is preferred. Others contradict each other perhaps, so then there is none.
fn only<T: Copy>(items: impl Iterator<Item = T> + Clone, is_preferred: impl Fn(&T) -> bool) -> Option<T> {
    let one = |mut items: Box<dyn Iterator<Item = T> + '_>| items.next().filter(|_| items.next().is_none());
    one(Box::new(items.clone())).or_else(|| one(Box::new(items.filter(is_preferred))))
}

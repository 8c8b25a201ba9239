//! Operators and evaluators, by name and version.

use super::provider::Provider;
use crate::{
    ir::normal_domain,
    plugin::{OperatorRecord, Running},
};
use relais_plugin_api::{
    boundary::abi::{CallEntry, EvalEntry, InferEntry, error_kind, operator_part, verifier_field},
    diagnostics::PassError,
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
    evaluators: Vec<EvaluatorEntry>,
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
    /// Its body, its verifier, its gradient and its kernel.
    calls: [OnceLock<Result<CallEntry, PassError>>; 4],
    /// The fields of its further properties.
    more: Vec<u8>,
}

struct EvaluatorEntry {
    plugin: usize,
    domain: String,
    name: String,
    since: u32,
    eval: OnceLock<Result<EvalEntry, PassError>>,
}

impl Operators {
    pub fn new(providers: &[Arc<Provider>]) -> Self {
        let (mut operators, mut evaluators) = (Vec::new(), Vec::new());
        let (mut operator_index, mut evaluator_index) = (Index::new(), Index::new());
        let mut closed = HashMap::<String, u32>::new();
        let add = |index: &mut Index, domain: &str, name: &str, id: usize| {
            index.entry(key(domain).to_owned()).or_default().entry(name.to_owned()).or_default().push(id);
        };
        for (plugin, provider) in providers.iter().enumerate() {
            let mut add_evaluator = |domain: &str, name: &str, since: u32| {
                add(&mut evaluator_index, domain, name, evaluators.len());
                let (domain, name) = (domain.to_owned(), name.to_owned());
                evaluators.push(EvaluatorEntry { plugin, domain, name, since, eval: OnceLock::new() });
            };
            for (index, op) in provider.records.operators.iter().enumerate() {
                add(&mut operator_index, &op.domain, &op.name, operators.len());
                let more = if op.has_verifier { verifier_field(operators.len() as u32) } else { Vec::new() };
                let (since, infer, calls) = (op.since_version, OnceLock::new(), Default::default());
                operators.push(OperatorEntry { plugin, index, since, infer, calls, more });
                if op.has_eval {
                    add_evaluator(&op.domain, &op.name, op.since_version);
                }
            }
            for eval in &provider.records.evaluators {
                add_evaluator(&eval.domain, &eval.name, eval.since_version);
            }
            for (domain, last) in &provider.records.plugin.closed_domains {
                let known = closed.entry(key(domain).to_owned()).or_default();
                *known = (*known).max(*last);
            }
        }
        Self { operators, evaluators, operator_index, evaluator_index, closed }
    }

    pub fn operator<'a>(
        &self,
        domain: &str,
        name: &str,
        version: u32,
        providers: &'a [Arc<Provider>],
    ) -> Option<(u32, &'a OperatorRecord)> {
        let id = best(&self.operator_index, domain, name, version, |id| self.operators[id].since)?;
        let entry = &self.operators[id];
        Some((id as u32, &providers[entry.plugin].records.operators[entry.index]))
    }

    /// Takes the facts about an operator only from some plugins, if they have them.
    pub fn prefer(&mut self, domain: &str, name: &str, is_preferred: impl Fn(usize) -> bool) {
        let Self { operators, evaluators, operator_index, evaluator_index, .. } = self;
        fn retain(index: &mut Index, (domain, name): (&str, &str), is_preferred: impl Fn(&usize) -> bool) {
            let ids = index.get_mut(domain).and_then(|names| names.get_mut(name));
            if let Some(ids) = ids.filter(|ids| ids.iter().any(&is_preferred)) {
                ids.retain(is_preferred);
            }
        }
        let domain = key(domain);
        retain(operator_index, (domain, name), |&id| is_preferred(operators[id].plugin));
        retain(evaluator_index, (domain, name), |&id| is_preferred(evaluators[id].plugin));
    }

    pub fn is_closed(&self, domain: &str, version: u32) -> bool {
        self.closed.get(key(domain)).is_some_and(|last| (1..=*last).contains(&version))
    }

    /// The plugins that describe an operator in the same version, if there are several: none of them is believed.
    pub fn rivals(&self, domain: &str, name: &str, version: u32) -> Vec<usize> {
        let ids = self.operator_index.get(key(domain)).and_then(|names| names.get(name));
        let fitting = ids.into_iter().flatten().map(|&id| &self.operators[id]).filter(|op| op.since <= version);
        let newest = fitting.clone().map(|op| op.since).max();
        let rivals: Vec<usize> = fitting.filter(|op| Some(op.since) == newest).map(|op| op.plugin).collect();
        if rivals.len() > 1 { rivals } else { Vec::new() }
    }

    pub fn evaluator(&self, domain: &str, name: &str, version: u32) -> Option<u32> {
        best(&self.evaluator_index, domain, name, version, |id| self.evaluators[id].since).map(|id| id as u32)
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
        names.into_iter().flat_map(|(.., ids)| ids).map(|&id| {
            let entry = &self.operators[id];
            let provider = &*providers[entry.plugin];
            (&provider.records.operators[entry.index], provider)
        })
    }

    pub fn infer_entry(&self, id: u32, providers: &[Arc<Provider>]) -> Result<InferEntry, PassError> {
        let entry = self.operators.get(id as usize).ok_or_else(|| host("there is no such operator"))?;
        let provider = &providers[entry.plugin];
        let op = &provider.records.operators[entry.index];
        let ask = || {
            let open = provider.open().map_err(|refusal| refused(provider, &refusal))?;
            let _running = Running::new(&provider.guarded(&format!("the type relation of `{}`", op.name)));
            let infer = open.root.infer();
            let found = infer(op.domain.as_str().into(), op.name.as_str().into(), op.since_version).into_option();
            found.ok_or_else(|| host(format_args!("plugin {} lacks what its records say", provider.describe())))
        };
        entry.infer.get_or_init(ask).clone()
    }

    pub fn call_entry(&self, part: u8, id: u32, providers: &[Arc<Provider>]) -> Result<CallEntry, PassError> {
        let entry = self.operators.get(id as usize).ok_or_else(|| host("there is no such operator"))?;
        let known = match part {
            operator_part::BODY => &entry.calls[0],
            operator_part::VERIFIER => &entry.calls[1],
            operator_part::GRADIENT => &entry.calls[2],
            operator_part::COMPUTE => &entry.calls[3],
            _ => return Err(host("an operator has no such part")),
        };
        let provider = &providers[entry.plugin];
        let op = &provider.records.operators[entry.index];
        let ask = || {
            let open = provider.open().map_err(|refusal| refused(provider, &refusal))?;
            let what = format!("the {} of `{}`", operator_part::name(part), op.name);
            let _running = Running::new(&provider.guarded(&what));
            let call = open.root.call();
            let found =
                call.map(|call| call(part, op.domain.as_str().into(), op.name.as_str().into(), op.since_version));
            let found = found.and_then(|found| found.into_option());
            found.ok_or_else(|| host(format_args!("plugin {} lacks what its records say", provider.describe())))
        };
        known.get_or_init(ask).clone()
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
        let provider = &*providers[entry.plugin];
        let op = &provider.records.operators[entry.index];
        Some((provider, qualified(&op.domain, &op.name)))
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
            let _running = Running::new(&provider.guarded(&format!("the evaluator of `{}`", entry.name)));
            let eval = open.root.eval();
            let found = eval(entry.domain.as_str().into(), entry.name.as_str().into(), entry.since).into_option();
            found.ok_or_else(|| host(format_args!("plugin {} lacks what its records say", provider.describe())))
        };
        entry.eval.get_or_init(ask).clone()
    }
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

/// The entry with the greatest first version that is not above `version`. Two such entries contradict each other
/// perhaps, so then there is none: the operator is opaque.
fn best(index: &Index, domain: &str, name: &str, version: u32, since: impl Fn(usize) -> u32) -> Option<usize> {
    let ids = index.get(key(domain))?.get(name)?;
    let fitting = || ids.iter().copied().filter(|&id| since(id) <= version);
    let best = fitting().max_by_key(|&id| since(id))?;
    (fitting().filter(|&id| since(id) == since(best)).count() == 1).then_some(best)
}

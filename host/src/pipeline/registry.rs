//! The registry against which pipelines are resolved.

use super::{
    catalogue::*,
    extend,
    load::{Disk, Files, NamedPipeline},
    resolved::OperatorName,
    spec::{PipelineSpec, PluginDemand},
};
use crate::{
    ir::{Function, IRModule, OpId, is_same_domain},
    manager::Instrument,
    pass::{self, PassHandle, Sink},
    plugin::{Discovery, InstrumentRecord, OperatorRecord, PassRecord},
    registry::{Choices, Conflict, CreateError, Linked, Provider, Registry, ResolveError},
};
use relais_plugin_api::{
    boundary::abi::{InferEntry, RequestCx, operator_part},
    diagnostics::{Diagnostic, PassError},
    infer::{TypeRelations, other_index, other_op},
    op::{InferRequest, OpError, OpSchema},
    options::Value,
};
use std::{
    cell::OnceCell,
    collections::BTreeSet,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

fn facts(record: &PassRecord, provider: &Provider) -> Arc<PassFacts> {
    let plugin = &provider.records().plugin;
    Arc::new(PassFacts {
        name: record.name.clone(),
        aliases: record.aliases.clone(),
        plugin: plugin.name.clone(),
        plugin_version: plugin.version.clone(),
        level: record.level,
        opt_level: record.opt_level,
        required: record.required.clone(),
        establishes_types: record.establishes_types,
        extends: record.extends.clone(),
        phase: record.phase,
        origin: Origin::Plugin,
        changes_interface: record.changes_interface.clone(),
        options: record.options.clone(),
        doc: record.doc.clone(),
    })
}

fn instrument_facts(record: &InstrumentRecord, provider: &Provider) -> InstrumentFacts {
    let plugin = &provider.records().plugin;
    InstrumentFacts {
        name: record.name.clone(),
        plugin: plugin.name.clone(),
        plugin_version: plugin.version.clone(),
        options: record.options.clone(),
        doc: record.doc.clone(),
    }
}

fn stands_for_none(error: ResolveError) -> NoPass {
    match error {
        ResolveError::Unknown { nearest, .. } => NoPass::Unknown(nearest.into_iter().collect()),
        ResolveError::Refused { file, refusal, .. } => NoPass::Refused { plugin: file, reason: refusal },
        ResolveError::Conflict(Conflict { plugins, .. }) => NoPass::Conflict(plugins),
        ResolveError::Ambiguous { candidates, .. } => NoPass::Ambiguous(candidates),
    }
}

impl PipelineSpec {
    /// The registry of the plugins that were found, as the table `[plugins]` demands: of several versions of a plugin,
    /// the acceptable ones; of several plugins that provide a pass or an operator, the chosen one.
    pub fn registry(&self, found: Discovery, linked: Linked) -> Registry {
        self.choose(&Registry::new(found, linked, &Choices::new()))
    }

    /// The same of a registry of everything that was found.
    pub fn choose(&self, all: &Registry) -> Registry {
        demanded(all, &self.run.plugins)
    }
}

fn demanded(all: &Registry, demands: &[PluginDemand]) -> Registry {
    if demands.is_empty() {
        return all.clone();
    }
    let mut choices = Choices::new();
    for demand in demands {
        // If no version is acceptable, the present one is reported to be wrong.
        let will_do = |provider: &Provider| {
            let plugin = &provider.records().plugin;
            plugin.name == demand.name.value && demand.version.value.matches(&plugin.version)
        };
        if all.plugins().any(will_do) {
            choices.insert(demand.name.value.clone(), demand.version.value.clone());
        }
    }
    let mut registry = all.choose(&choices);
    for demand in demands {
        demand.passes.iter().for_each(|pass| registry.prefer(&pass.value, &demand.name.value));
        for op in &demand.operators {
            let OperatorName { domain, name } = OperatorName::parse(&op.value);
            registry.prefer_operator(&domain, &name, &demand.name.value);
        }
        demand.pipelines.iter().for_each(|pipeline| registry.prefer_pipeline(&pipeline.value, &demand.name.value));
    }
    registry
}

/// The files of the disk, and the pipelines of the plugins.
impl Files for Registry {
    fn read(&self, path: &Path) -> io::Result<String> {
        Disk.read(path)
    }

    fn identity(&self, path: &Path) -> PathBuf {
        Disk.identity(path)
    }

    fn named(&self, name: &str, demands: &[PluginDemand]) -> Result<NamedPipeline, NoPass> {
        let registry = demanded(self, demands);
        let (record, provider) = registry.pipeline(name).map_err(stands_for_none)?;
        let plugin = &provider.records().plugin;
        Ok(NamedPipeline {
            name: record.name.clone(),
            toml: record.toml.clone(),
            plugin: format!("{} {}", plugin.name, plugin.version),
        })
    }
}

impl Catalogue for Registry {
    fn passes(&self) -> Vec<Arc<PassFacts>> {
        Registry::passes(self).map(|(record, provider)| facts(record, provider)).collect()
    }

    fn pass(&self, name: &str) -> Result<Arc<PassFacts>, NoPass> {
        let record = Registry::pass(self, name).map_err(stands_for_none)?;
        let provider =
            self.plugins().find(|provider| provider.records().passes.iter().any(|other| std::ptr::eq(other, record)));
        provider.map(|provider| facts(record, provider)).ok_or_else(|| NoPass::Unknown(Vec::new()))
    }

    fn operators_of(&self, plugin: &str) -> Option<Vec<OperatorName>> {
        let records = self.plugins().map(Provider::records).filter(|records| records.plugin.name == plugin);
        let names = records.flat_map(|records| {
            let operators = records.operators.iter().map(|op| (&*op.domain, &*op.name));
            operators.chain(records.evaluators.iter().map(|eval| (&*eval.domain, &*eval.name)))
        });
        Some(names.map(|(domain, name)| OperatorName { domain: domain.into(), name: name.into() }).collect())
    }

    fn extension_points(&self) -> BTreeSet<String> {
        Registry::pipelines(self).flat_map(|(record, _)| extend::points_of(&record.toml)).collect()
    }

    fn config_options(&self) -> Vec<ConfigFacts> {
        let mut out: Vec<ConfigFacts> = Vec::new();
        for (schema, provider) in Registry::config_options(self) {
            let plugin = provider.records().plugin.name.clone();
            match out.last_mut().filter(|last| last.schema.name == schema.name) {
                Some(last) => last.plugins.push(plugin),
                None => out.push(ConfigFacts { schema: schema.clone(), plugins: vec![plugin] }),
            }
        }
        out
    }

    fn plugins(&self) -> Vec<PluginFacts> {
        let used = Registry::plugins(self).map(|provider| {
            let plugin = &provider.records().plugin;
            PluginFacts {
                name: plugin.name.clone(),
                version: plugin.version.clone(),
                file: provider.path().map_or_else(|| "linked".into(), |path| path.display().to_string()),
                refusal: None,
            }
        });
        let refused = self.refused().iter().filter_map(|refused| {
            let plugin = &refused.records.as_ref()?.plugin;
            Some(PluginFacts {
                name: plugin.name.clone(),
                version: plugin.version.clone(),
                file: refused.path.display().to_string(),
                refusal: Some(refused.refusal.to_string()),
            })
        });
        let mut all: Vec<PluginFacts> = used.chain(refused).collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    fn create(&self, pass: &PassFacts, options: &Value) -> Result<Arc<dyn RunnablePass>, PassError> {
        match Registry::create(self, &pass.name, options) {
            Ok(handle) => Ok(Arc::new(Made { handle, registry: self.clone() })),
            Err(error) => Err(not_made(error)),
        }
    }

    fn instruments(&self) -> Vec<InstrumentFacts> {
        Registry::instruments(self).map(|(record, provider)| instrument_facts(record, provider)).collect()
    }

    fn instrument(&self, name: &str) -> Result<InstrumentFacts, NoPass> {
        let (record, provider) = Registry::instrument(self, name).map_err(stands_for_none)?;
        Ok(instrument_facts(record, provider))
    }

    fn create_instrument(&self, name: &str, options: &Value) -> Result<Arc<dyn Instrument>, PassError> {
        match Registry::create_instrument(self, name, options) {
            Ok(made) => Ok(Arc::new(made)),
            Err(error) => Err(not_made(error)),
        }
    }

    fn relations(&self) -> Box<dyn TypeRelations + '_> {
        Box::new(Relations::new(self))
    }
}

fn not_made(error: CreateError) -> PassError {
    match error {
        CreateError::Open { plugin, refusal, .. } => {
            let error = PassError::new(format!("plugin {plugin} was refused: {refusal}"));
            refusal.help().into_iter().fold(error, PassError::help)
        }
        error => PassError::new(error),
    }
}

struct Made {
    handle: PassHandle,
    registry: Registry,
}

impl Made {
    fn run_cx<'a>(&'a self, cx: &RunCx<'a>, sink: &'a Forward<'a>) -> pass::RunCx<'a> {
        let mut inner = pass::RunCx::new(&self.registry).with_sink(sink);
        inner.config = cx.config;
        inner.cancel = cx.cancel;
        inner.remarks = cx.remarks;
        inner.nest = cx.nest;
        inner
    }
}

impl RunnablePass for Made {
    fn run(&self, module: &IRModule, cx: &RunCx<'_>) -> Result<Option<IRModule>, PassError> {
        let sink = Forward { cx };
        let outcome = self.handle.run(module, &self.run_cx(cx, &sink));
        outcome.map(|outcome| outcome.module).map_err(|failure| failure.error)
    }

    fn check(&self, module: &IRModule, cx: &RunCx<'_>) -> Result<(), PassError> {
        let sink = Forward { cx };
        self.handle.check(module, &self.run_cx(cx, &sink)).map_err(|failure| failure.error)
    }

    fn members(&self) -> Result<Vec<Member>, PassError> {
        Ok(self.handle.members()?.into_iter().map(|(name, options)| Member::Named(name, options)).collect())
    }
}

struct Forward<'a> {
    cx: &'a RunCx<'a>,
}

impl Sink for Forward<'_> {
    fn diagnostic(&self, _: &PassRecord, diagnostic: &Diagnostic) {
        (self.cx.diagnostics)(diagnostic.clone());
    }

    fn progress(&self, _: &PassRecord, done: u64, total: u64) {
        (self.cx.progress)(done, total);
    }

    fn count(&self, _: &PassRecord, statistic: &str, n: u64) {
        (self.cx.count)(statistic, n);
    }
}

/// The type relations of the operators that a function uses, by their ids in it.
struct Relations<'a> {
    registry: &'a Registry,
    ops: Vec<KnownOp<'a>>,
    /// Operators that the function does not have, by domain and name.
    others: Vec<(String, String, KnownOp<'a>)>,
}

struct KnownOp<'a> {
    version: i64,
    relation: Relation,
    /// Its record, when a plugin describes it.
    record: Option<&'a OperatorRecord>,
    schema: OnceCell<OpSchema>,
    /// Whether its domain is described whole.
    is_closed: bool,
}

/// Requested when it is first needed: that may open a library.
#[derive(Clone, Copy)]
enum Relation {
    None,
    Unopened(u32),
    Open(u32, InferEntry),
}

impl<'a> Relations<'a> {
    fn new(registry: &'a Registry) -> Self {
        Self { registry, ops: Vec::new(), others: Vec::new() }
    }

    /// Returns the facts about an operator in a version of its domain's operator set; in the newest for `None`.
    fn look_up(&self, domain: &str, name: &str, version: Option<i64>) -> KnownOp<'a> {
        let wanted = version.map_or(u32::MAX, |version| u32::try_from(version).unwrap_or(0));
        let known = self.registry.operator(domain, name, wanted);
        let newest = known.map_or(0, |(_, record)| record.since_version.into());
        KnownOp {
            version: version.unwrap_or(newest),
            relation: known
                .filter(|(_, record)| record.has_infer)
                .map_or(Relation::None, |(id, _)| Relation::Unopened(id)),
            record: known.map(|(_, record)| record),
            schema: OnceCell::new(),
            is_closed: self.registry.is_closed(domain, wanted),
        }
    }

    fn known(&self, op: OpId) -> Option<&KnownOp<'a>> {
        match other_index(op) {
            None => self.ops.get(op.index()),
            Some(index) => self.others.get(index).map(|(_, _, known)| known),
        }
    }
}

impl TypeRelations for Relations<'_> {
    fn version(&mut self, function: &Function, op: OpId) -> i64 {
        for index in self.ops.len()..function.n_ops() {
            let op = OpId::from_index(index);
            let rec = function.op(op);
            let known = self.look_up(function.str(rec.domain), function.str(rec.name), Some(function.op_version(op)));
            self.ops.push(known);
        }
        self.known(op).map_or(0, |known| known.version)
    }

    fn other(&mut self, function: &Function, domain: &str, name: &str) -> Option<OpId> {
        let found = self.others.iter().position(|(d, n, _)| n == name && is_same_domain(d, domain));
        let index = found.unwrap_or_else(|| {
            let known = self.look_up(domain, name, function.opset_version(domain));
            self.others.push((domain.to_owned(), name.to_owned(), known));
            self.others.len() - 1
        });
        Some(other_op(index))
    }

    fn newest_version(&mut self, domain: &str, name: &str) -> Option<i64> {
        self.look_up(domain, name, None).record.map(|record| record.since_version.into())
    }

    fn infer(&mut self, op: OpId, request: &mut InferRequest<'_>) -> Option<Result<(), OpError>> {
        let known = match other_index(op) {
            None => self.ops.get_mut(op.index())?,
            Some(index) => &mut self.others.get_mut(index)?.2,
        };
        if let Relation::Unopened(id) = known.relation {
            known.relation = match self.registry.infer_entry(id) {
                Ok(entry) => Relation::Open(id, entry),
                Err(error) => return Some(Err(OpError::broken(error))),
            };
        }
        match known.relation {
            Relation::Open(_, entry) => Some(entry.call(RequestCx::NONE, request).into_result()),
            _ => None,
        }
    }

    fn schema(&self, op: OpId) -> Option<&OpSchema> {
        let KnownOp { record, schema, .. } = self.known(op)?;
        record.map(|record| schema.get_or_init(|| OpSchema::read(record.fields())))
    }

    fn is_closed(&self, op: OpId) -> bool {
        self.known(op).is_some_and(|known| known.is_closed)
    }

    fn fault(&self, op: OpId, error: &OpError) -> PassError {
        match self.known(op).map(|known| known.relation) {
            Some(Relation::Open(id, _) | Relation::Unopened(id)) => {
                self.registry.operator_fault(operator_part::RELATION, id, &error.message)
            }
            _ => PassError::new(&error.message),
        }
    }
}

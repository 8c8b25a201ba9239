//! The registry as the catalogue against which pipelines are resolved.

use super::analysis::compute_analysis;
use crate::{
    pass::{
        AnalysisFacts, Candidate, Catalogue, ConfigFacts, InstrumentFacts, NoPass, OperatorName, PassFacts,
        PassInstrument, PassOwner, PluginFacts, RunCx, RunnablePass, built_in_analysis,
    },
    pipeline::{Disk, Files, NamedPipeline, PipelineSpec, extension_points, spec::PluginDemand},
    plugin::{Discovery, InstrumentRecord, PassRecord, PluginRecord},
    registry::{Choices, Conflict, CreateError, Linked, Provider, Registry, ResolveError},
    words::nearest,
};
use relais_plugin_api::{
    analysis::{AnalysisObject, BUILT_IN, SubjectRec},
    boundary::guard::caught,
    diagnostics::PassError,
    facts::OpFactsTable,
    infer::TypeRelations,
    options::Value,
};
use std::{
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
        before: record.before.clone(),
        after: record.after.clone(),
        phase: record.phase,
        runtime: record.runtime.clone(),
        target: record.target.clone(),
        origin: PassOwner::Plugin,
        changes_interface: record.changes_interface.clone(),
        preserves: record.preserves.clone(),
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
        demanded(all, &self.run.plugins, self.run.target.as_ref().map_or("", |target| &target.value))
    }
}

fn demanded(all: &Registry, demands: &[PluginDemand], target: &str) -> Registry {
    if demands.is_empty() && target.is_empty() {
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
    let of_operators = demands.iter().flat_map(|demand| {
        demand.operators.iter().map(|op| {
            let OperatorName { domain, name } = OperatorName::parse(&op.value);
            [domain.to_string(), name.to_string(), demand.name.value.clone()]
        })
    });
    // A file that is included may demand it, too.
    let isolation = |plugin: &PluginRecord| {
        demands.iter().filter(|it| it.name.value == plugin.name).find_map(|it| it.isolate.clone())
    };
    let mut registry = all.choose(&choices).isolate(isolation, target, of_operators.collect());
    registry.set_target(target);
    for demand in demands {
        demand.passes.iter().for_each(|pass| registry.prefer(&pass.value, &demand.name.value));
        for op in &demand.operators {
            let OperatorName { domain, name } = OperatorName::parse(&op.value);
            registry.prefer_operator(&domain, &name, &demand.name.value);
        }
        demand.pipelines.iter().for_each(|pipeline| registry.prefer_pipeline(&pipeline.value, &demand.name.value));
        demand.analyses.iter().for_each(|analysis| registry.prefer_analysis(&analysis.value, &demand.name.value));
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
        let registry = demanded(self, demands, "");
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

    // Few do, and every pipeline that runs asks.
    fn extensions(&self) -> Vec<Arc<PassFacts>> {
        let extending = Registry::passes(self).filter(|(record, _)| record.extends.is_some());
        extending.map(|(record, provider)| facts(record, provider)).collect()
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
            let evaluators = records.evaluators.iter().map(|eval| (&*eval.domain, &*eval.name));
            let additions = records.additions.iter().map(|it| (&*it.parts.domain, &*it.parts.name));
            operators.chain(evaluators).chain(additions)
        });
        Some(names.map(|(domain, name)| OperatorName { domain: domain.into(), name: name.into() }).collect())
    }

    fn extension_points(&self) -> BTreeSet<String> {
        Registry::pipelines(self).flat_map(|(record, _)| extension_points(&record.toml)).collect()
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
            Ok(made) => Ok(Arc::new(made)),
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

    fn create_instrument(&self, name: &str, options: &Value) -> Result<Arc<dyn PassInstrument>, PassError> {
        match Registry::create_instrument(self, name, options) {
            Ok(made) => Ok(Arc::new(made)),
            Err(error) => Err(not_made(error)),
        }
    }

    fn analyses(&self) -> Vec<AnalysisFacts> {
        let of_plugins =
            Registry::analyses(self).map(|(record, provider)| record.facts(&provider.records().plugin.name));
        let mut all: Vec<AnalysisFacts> = BUILT_IN.iter().map(|it| it.spec.into()).chain(of_plugins).collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    fn analysis(&self, name: &str) -> Result<AnalysisFacts, NoPass> {
        let own = built_in_analysis(name);
        if let Some(own) = own.filter(|own| own.spec.name == name) {
            return Ok(own.spec.into());
        }
        match (own, Registry::analysis(self, name)) {
            (None, Ok((record, provider))) => Ok(record.facts(&provider.records().plugin.name)),
            (Some(own), Err(ResolveError::Unknown { .. })) => Ok(own.spec.into()),
            (Some(own), Ok((record, provider))) => Err(NoPass::Ambiguous(vec![
                Candidate { name: record.name.clone(), plugin: provider.records().plugin.name.clone() },
                Candidate { name: own.spec.name.to_owned(), plugin: String::new() },
            ])),
            (None, Err(ResolveError::Unknown { .. })) => {
                let all = Catalogue::analyses(self);
                let short = |name: &str| name.rsplit_once('.').map(|(_, short)| short.to_owned());
                let names: Vec<String> =
                    all.into_iter().flat_map(|it| short(&it.name).into_iter().chain([it.name])).collect();
                Err(NoPass::Unknown(nearest(name, names.iter().map(String::as_str))))
            }
            (_, Err(error)) => Err(stands_for_none(error)),
        }
    }

    fn compute_analysis(
        &self,
        analysis: &AnalysisFacts,
        of: &SubjectRec<'_>,
        cx: &RunCx<'_>,
    ) -> Result<AnalysisObject, PassError> {
        if let Some(own) = built_in_analysis(&analysis.name).filter(|own| own.spec.name == analysis.name) {
            let computed = caught(|| (own.compute)(of))?;
            let other = || PassError::new(format_args!("`{}` is an analysis of another unit", analysis.name));
            return computed.ok_or_else(other);
        }
        compute_analysis(self, &analysis.name, of, cx)
    }

    fn relations(&self) -> Box<dyn TypeRelations + '_> {
        Box::new(OpFactsTable::empty(self))
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

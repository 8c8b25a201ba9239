//! The pipeline of a request.

use super::{
    around::{convert_dtype_last, convert_opset_first, converting_passes, is_shipped, rewrite_first},
    isolated::{Isolated, NotIsolated, isolated},
    named::{of_pass_list, of_passes, pipeline, read_built_in, set_options},
};
use crate::argument::Argument;
use relais::{
    isolation::Isolation,
    pass::Dependencies,
    pipeline::{
        Faults, PipelineFault, PipelineSpec,
        spec::{Extensions, PluginDemand, Written},
    },
    registry::Registry,
};
use relais_plugin_api::{
    diagnostics::PassError,
    pattern::{self, Rules},
};
use std::path::PathBuf;

/// The pipeline of a request, with everything that is put around it or set in it. By default, the pipeline `default`.
#[derive(Clone, Debug, Default)]
pub struct PipelineRequest {
    /// The pipeline itself.
    pub chosen: Chosen,
    /// The level of its context, in place of its own; a pipeline of a level, [`Chosen::Level`], has that one.
    pub opt_level: Option<u8>,
    /// Rules that rewrite calls before it.
    pub rules: Vec<Argument>,
    /// Files of such rules: text, or pairs of functions if the name ends in `.onnx`.
    pub rule_files: Vec<PathBuf>,
    /// The version of ONNX's operator set to which the model is converted first of all.
    pub target_opset: Option<Argument<u32>>,
    /// The element type in which is computed what can be, after the pipeline.
    pub dtype: Option<Argument>,
    /// Passes that are off.
    pub disabled: Vec<Argument>,
    /// Passes that are on, whatever their levels.
    pub required: Vec<Argument>,
    /// The way in which requirements are followed; by default, as the pipeline says.
    pub dependencies: Option<Dependencies>,
    /// Options: `Pass.option=VALUE`, or `option=VALUE` for one of the context.
    pub settings: Vec<Argument>,
    /// Whether passes of plugins are added at extension points; as the pipeline says by default.
    pub extensions: Option<Extensions>,
    /// The target of a pipeline that names none, if plugins add something for it.
    pub target: Option<Argument>,
    /// Plugins that run in processes of their own, beside those that the pipeline names: `NAME`, or `all` for each that has
    /// passes, with limits after a colon (`acme:memory=1GiB,pass-seconds=60`).
    pub isolated: Vec<Argument>,
}

/// Which pipeline a request has.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Chosen {
    /// The default one; none if rules are given or the model is converted.
    #[default]
    Default,
    /// The built-in one of a level, `O0` to `O3`.
    Level(u8),
    /// The one in a file, otherwise the built-in one or that of a plugin with the name.
    Named(String),
    /// These passes, in this order, each on whatever its level.
    Passes(Vec<Argument>),
    /// The same, in a text with commas between them.
    PassList(Argument),
    /// One in TOML, with the name that its faults show.
    Toml(Argument),
    /// One that was read or made.
    Given(Box<PipelineSpec>),
}

/// Why there is no pipeline.
#[derive(Debug)]
pub(crate) enum NoPipeline {
    /// It is at fault.
    Faults(Faults),
    /// Rules cannot be read or parsed.
    Rules(PassError),
}

impl From<Faults> for NoPipeline {
    fn from(faults: Faults) -> Self {
        Self::Faults(faults)
    }
}

impl From<PassError> for NoPipeline {
    fn from(error: PassError) -> Self {
        Self::Rules(error)
    }
}

impl PipelineRequest {
    /// The pipeline in a file, otherwise the built-in one or that of a plugin with the name.
    pub fn named(name: &str) -> Self {
        Self { chosen: Chosen::Named(name.to_owned()), ..Self::default() }
    }

    /// A pipeline in TOML; `name` is that of its file, from whose folder its includes start.
    pub fn toml(name: &str, text: &str) -> Self {
        Self { chosen: Chosen::Toml(Argument::new(name, text.to_owned())), ..Self::default() }
    }

    /// These passes, in this order, each on whatever its level.
    pub fn passes<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        Self { chosen: Chosen::Passes(names.into_iter().map(Argument::from).collect()), ..Self::default() }
    }

    /// The file that is named, if it is one.
    pub(crate) fn file(&self) -> Option<PathBuf> {
        match &self.chosen {
            Chosen::Named(name) => Some(PathBuf::from(name)),
            _ => None,
        }
    }

    /// The pipeline as it is written, as far as it can be parsed, with its faults. The registry has the pipelines of
    /// plugins.
    pub(crate) fn read(&self, registry: &Registry) -> Result<(PipelineSpec, Vec<PipelineFault>), NoPipeline> {
        let rules = self.rules()?;
        let (chosen, faults) = self.chosen(registry)?;
        let rewritten = if rules.is_empty() { chosen } else { Some(rewrite_first(chosen, &rules)?) };
        let mut spec = match (&self.target_opset, rewritten) {
            (Some(target), spec) => convert_opset_first(spec, target)?,
            (None, Some(spec)) => spec,
            (None, None) => self.at_level(read_built_in("default")?),
        };
        if let Some(dtype) = &self.dtype {
            convert_dtype_last(&mut spec, dtype)?;
        }
        if let Some(Argument { origin, value }) = &self.target
            && spec.run.target.is_none()
            && registry.targets().contains(value.as_str())
        {
            spec.run.target = Some(Written::at(spec.sources.add_whole(origin, value), value.clone()));
        }
        self.adjust(&mut spec)?;
        self.isolate(&mut spec, registry)?;
        Ok((spec, faults))
    }

    /// Whether a pass does what an argument of its own asks for: one that says that it cannot be done refuses the request.
    pub(crate) fn asks_for(&self, pass: &str) -> bool {
        let passes = converting_passes(self.target_opset.as_ref(), self.dtype.as_ref()).unwrap_or_default();
        passes.iter().any(|name| is_shipped(pass, name))
    }

    /// The texts of all rules, which can be parsed.
    fn rules(&self) -> Result<Vec<Argument>, PassError> {
        let mut rules = self.rules.clone();
        for path in &self.rule_files {
            rules.push(Argument { origin: path.display().to_string(), value: pattern::read_file(path)? });
        }
        Rules::parse_all(rules.iter().map(|rule| (rule.origin.clone(), rule.value.clone())), &[])?;
        Ok(rules)
    }

    fn chosen(&self, registry: &Registry) -> Result<(Option<PipelineSpec>, Vec<PipelineFault>), Faults> {
        let spec = match &self.chosen {
            Chosen::Default => return Ok((None, Vec::new())),
            Chosen::Named(name) => {
                let (spec, faults) = pipeline(name, registry)?;
                return Ok((Some(self.at_level(spec)), faults));
            }
            Chosen::Level(level) => read_built_in(&format!("O{level}"))?,
            Chosen::Passes(passes) => self.at_level(of_passes(passes)),
            Chosen::PassList(list) => self.at_level(of_pass_list(list)?),
            Chosen::Toml(Argument { origin, value }) => self.at_level(PipelineSpec::parse(origin, value, registry)?),
            Chosen::Given(spec) => self.at_level(PipelineSpec::clone(spec)),
        };
        Ok((Some(spec), Vec::new()))
    }

    fn at_level(&self, mut spec: PipelineSpec) -> PipelineSpec {
        spec.scope.opt_level = self.opt_level.or(spec.scope.opt_level);
        spec
    }

    /// Isolates plugins; limits that the pipeline states stay where the request has none.
    fn isolate(&self, spec: &mut PipelineSpec, registry: &Registry) -> Result<(), Faults> {
        let mut places = Vec::new();
        for Argument { origin, value } in &self.isolated {
            places.push(spec.sources.add_whole(origin, value));
        }
        let isolated = isolated(&self.isolated, registry).map_err(|faults| {
            let fault = |NotIsolated { argument, code, message, help }| {
                let fault = PipelineFault::new(code, places[argument], message);
                help.into_iter().fold(fault, PipelineFault::help)
            };
            Faults { list: faults.into_iter().map(fault).collect(), sources: spec.sources.clone() }
        })?;
        for Isolated { argument, plugin, limits } in isolated {
            let place = places[argument];
            match spec.run.plugins.iter_mut().find(|demand| demand.name.value == plugin) {
                Some(demand) => demand.isolate = limits.or(demand.isolate.take()).or(Some(Isolation::default())),
                None => spec.run.plugins.push(PluginDemand {
                    name: Written::at(place, plugin),
                    version: Written::at(place, Default::default()),
                    passes: Vec::new(),
                    operators: Vec::new(),
                    pipelines: Vec::new(),
                    analyses: Vec::new(),
                    isolate: Some(limits.unwrap_or_default()),
                }),
            }
        }
        Ok(())
    }

    /// Switches passes and sets options.
    fn adjust(&self, spec: &mut PipelineSpec) -> Result<(), Faults> {
        let mut names = |names: &[Argument]| -> Vec<Written<String>> {
            let name = |Argument { origin, value }: &Argument| {
                Written::at(spec.sources.add_whole(origin, value), value.clone())
            };
            names.iter().map(name).collect()
        };
        let (disabled, required) = (names(&self.disabled), names(&self.required));
        spec.scope.disabled.extend(disabled);
        spec.scope.required.extend(required);
        spec.run.dependencies = self.dependencies.or(spec.run.dependencies);
        spec.run.extensions = self.extensions.or(spec.run.extensions);
        set_options(spec, &self.settings)
    }
}

//! The conformance kit over plugins that the host loads.

use relais::{
    options::{OptionSchema, ValueKind},
    pass::{PassInfo, PassInstrument, SkipReason},
    plugin::{OperatorRecord, PassRecord, Records},
    registry::{Provider, Registry},
};
use relais_conformance::{
    bench::{AttrShape, Bench, Checks, Knob, KnobKind, OpShape, PassShape, Passes},
    interpret::Compute,
};
use relais_plugin_api::{
    boundary::record::Level,
    diagnostics::PassError,
    infer::Operators,
    ir::{Function, IRModule, is_same_domain},
    op::AddedPart,
    options::Value,
    pass::Requirement,
};
use relais_session::rules::{Registered, not_made};

/// A plugin of a registry, together with all others.
pub(crate) struct PluginBench<'a> {
    all: Registered<'a>,
    plugin: &'a Provider,
}

impl<'a> PluginBench<'a> {
    /// The plugin of this name; `None` if it is not in the registry.
    pub(crate) fn new(registry: &'a Registry, plugin: &str) -> Option<Self> {
        let plugin = registry.plugins().find(|provider| provider.records().plugin.name == plugin)?;
        Some(Self { all: Registered::new(registry), plugin })
    }

    fn records(&self) -> &'a Records {
        self.plugin.records()
    }
}

impl Compute for PluginBench<'_> {
    fn with_ops(&self, function: &Function, body: &mut dyn FnMut(&mut dyn Operators)) {
        self.all.with_ops(function, body);
    }
}

impl Passes for PluginBench<'_> {
    fn required(&self, pass: &str) -> Result<Vec<Requirement>, PassError> {
        self.all.required(pass)
    }

    fn make(&self, pass: &str, options: &Value) -> Result<(), PassError> {
        self.all.make(pass, options)
    }

    fn run(&self, pass: &str, options: &Value, module: &IRModule) -> Result<Option<IRModule>, PassError> {
        self.all.run(pass, options, module)
    }

    fn run_in(
        &self,
        pass: &str,
        options: &Value,
        config: &[(String, Value)],
        module: &IRModule,
    ) -> Result<Option<IRModule>, PassError> {
        self.all.run_in(pass, options, config, module)
    }

    fn changes_interface(&self, pass: &str, options: &Value) -> bool {
        self.all.changes_interface(pass, options)
    }
}

impl Bench for PluginBench<'_> {
    fn passes(&self) -> Vec<PassShape> {
        let shape = |pass: &PassRecord| PassShape {
            name: pass.name.clone(),
            level: pass.level,
            before: self.required(&pass.name).unwrap_or_default(),
            ops: pass.ops.clone(),
            options: knobs(&pass.options),
            rules: pass.rules.clone().unwrap_or_default(),
            samples: pass.samples.iter().map(|sample| (sample.rule.clone(), sample.module.clone())).collect(),
        };
        self.records().passes.iter().map(shape).collect()
    }

    fn operators(&self) -> Vec<OpShape> {
        let evaluators = &self.records().evaluators;
        let shape = |(op, provider): (&OperatorRecord, &Provider)| {
            let is_own = std::ptr::eq(provider, self.plugin);
            let is_same = |domain: &str, name: &str| is_same_domain(domain, &op.domain) && name == op.name;
            let is_evaluated = evaluators.iter().any(|eval| is_same(&eval.domain, &eval.name));
            let gives =
                |part: AddedPart| self.all.registry().giver(op, &part).map(|giver| std::ptr::eq(giver, self.plugin));
            let adds = |part| gives(part) == Some(true);
            let adds_layouts = self.records().additions.iter().any(|it| {
                is_same(&it.parts.domain, &it.parts.name)
                    && it.parts.since_version == op.since_version
                    && !it.parts.schema().layouts.is_empty()
            });
            let attrs = op.attrs().filter_map(Result::ok);
            OpShape {
                domain: op.domain.clone(),
                name: op.name.clone(),
                since: op.since_version,
                inputs: op.inputs,
                outputs: op.outputs,
                attrs: attrs
                    .map(|attr| AttrShape { name: attr.name.into(), kind: attr.kind, is_required: attr.required })
                    .collect(),
                judges_infer: is_own && op.has_infer,
                judges_eval: (is_own && (op.has_eval || op.has_body_of)) || is_evaluated || adds(AddedPart::Body),
                judges_kernel: op.has_kernel && gives(AddedPart::Kernel).unwrap_or(is_own || is_evaluated),
                judges_verify: is_own && op.has_verifier,
                judges_layouts: (is_own || adds_layouts) && op.schema().layouts.len() > 1,
            }
        };
        self.all.registry().operators().map(shape).collect()
    }

    fn instruments(&self) -> Vec<(String, Vec<Knob>)> {
        let instruments = self.records().instruments.iter();
        instruments.map(|instrument| (instrument.name.clone(), knobs(&instrument.options))).collect()
    }

    fn checks_options(&self) -> Checks {
        Checks::Host
    }

    fn watch(&self, instrument: &str, options: &Value, modules: &[IRModule]) -> Result<(), PassError> {
        let made = self.all.registry().create_instrument(instrument, options).map_err(not_made)?;
        // No pass runs: the instrument only receives the description of one.
        let (name, level) = ("relais.conformance", Level::MODULE);
        let info = PassInfo { name, plugin: "", level, opt_level: 0, required: &[] };
        made.enter()?;
        for module in modules {
            if made.should_run(module, &info)? {
                made.before(module, &info)?;
                made.after(module, &info)?;
            } else {
                made.skipped(module, &info, &SkipReason::Vetoed);
            }
        }
        made.failed(&info, &PassError::new("a pass that fails"));
        made.exit()
    }
}

fn knobs(options: &[OptionSchema]) -> Vec<Knob> {
    let knob = |option: &OptionSchema| Knob {
        name: option.name.clone(),
        kind: knob_kind(&option.kind),
        default: option.default.clone(),
        is_optional: option.is_optional,
    };
    options.iter().map(knob).collect()
}

/// As deep as a schema, which has a limit.
fn knob_kind(kind: &ValueKind) -> KnobKind {
    match kind {
        ValueKind::Bool => KnobKind::Bool,
        ValueKind::Int { min, max } | ValueKind::Bytes { min, max } => KnobKind::Int(*min, *max),
        ValueKind::Float { min, max } => KnobKind::Float(*min, *max),
        ValueKind::Str => KnobKind::Str,
        ValueKind::Path => KnobKind::Path,
        ValueKind::Choice(choices) => KnobKind::Choice(choices.iter().map(|(name, _)| name.clone()).collect()),
        ValueKind::List(item) => KnobKind::List(Box::new(knob_kind(item))),
        ValueKind::Struct(fields) => KnobKind::Struct(knobs(fields)),
        _ => KnobKind::Other,
    }
}

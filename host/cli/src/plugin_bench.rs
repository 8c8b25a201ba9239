//! The conformance kit over a plugin that the host loads.

use relais::{
    options::{OptionSchema, OptionType},
    pass::{Instrument, PassContext, PassInfo, RunCx, Scope, SkipReason},
    plugin::{OperatorRecord, PassRecord, Records},
    registry::{CreateError, Provider, Registry},
};
use relais_conformance::{
    bench::{AttrShape, Bench, Checks, Knob, KnobKind, OpShape, PassShape, requirements},
    interpret::Compute,
};
use relais_plugin_api::{
    boundary::{
        abi::{EvalEntry, InferEntry, RequestCx},
        record::Level,
    },
    diagnostics::PassError,
    infer::{Operators, TypeRelations},
    ir::{Function, IRModule, NodeId, OpId, Tensor, is_same_domain},
    op::{Effects, Evaluation, InferRequest, OpError},
    options::Value,
};
use std::sync::Arc;

/// A plugin of a registry, together with all others.
pub(crate) struct PluginBench<'a> {
    registry: &'a Registry,
    plugin: &'a Provider,
}

impl<'a> PluginBench<'a> {
    /// The plugin of this name; `None` if it is not in the registry.
    pub(crate) fn new(registry: &'a Registry, plugin: &str) -> Option<Self> {
        let plugin = registry.plugins().find(|provider| provider.records().plugin.name == plugin)?;
        Some(Self { registry, plugin })
    }

    fn records(&self) -> &'a Records {
        self.plugin.records()
    }
}

impl Compute for PluginBench<'_> {
    fn with_ops(&self, _: &Function, body: &mut dyn FnMut(&mut dyn Operators)) {
        body(&mut Known { registry: self.registry, ops: Vec::new() });
    }
}

impl Bench for PluginBench<'_> {
    fn passes(&self) -> Vec<PassShape> {
        let of = |name: &str| Some(self.registry.pass(name).ok()?.required.clone());
        let shape = |pass: &PassRecord| PassShape {
            name: pass.name.clone(),
            level: pass.level,
            before: requirements(&pass.name, of),
            ops: pass.ops.clone(),
            options: knobs(&pass.options),
        };
        self.records().passes.iter().map(shape).collect()
    }

    fn operators(&self) -> Vec<OpShape> {
        let evaluators = &self.records().evaluators;
        let shape = |(op, provider): (&OperatorRecord, &Provider)| {
            let is_own = std::ptr::eq(provider, self.plugin);
            let is_same = |domain: &str, name: &str| is_same_domain(domain, &op.domain) && name == op.name;
            let is_evaluated = evaluators.iter().any(|eval| is_same(&eval.domain, &eval.name));
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
                judges_eval: (is_own && op.has_eval) || is_evaluated,
            }
        };
        self.registry.operators().map(shape).collect()
    }

    fn instruments(&self) -> Vec<(String, Vec<Knob>)> {
        let instruments = self.records().instruments.iter();
        instruments.map(|instrument| (instrument.name.clone(), knobs(&instrument.options))).collect()
    }

    fn make(&self, pass: &str, options: &Value) -> Result<(), PassError> {
        self.registry.create(pass, options).map(drop).map_err(not_made)
    }

    fn checks_options(&self) -> Checks {
        Checks::Host
    }

    fn run(&self, pass: &str, options: &Value, module: &IRModule) -> Result<Option<IRModule>, PassError> {
        let pass = self.registry.create(pass, options).map_err(not_made)?;
        // Every member of a sequential pass is on.
        let context = Arc::new(PassContext::new(Scope { opt_level: u8::MAX, ..Scope::default() }));
        let ran = context.scope(|_| pass.run(module, &RunCx::new(self.registry))).map_err(PassError::new)?;
        ran.map(|outcome| outcome.module).map_err(|failure| failure.error)
    }

    fn watch(&self, instrument: &str, options: &Value, modules: &[IRModule]) -> Result<(), PassError> {
        let made = self.registry.create_instrument(instrument, options).map_err(not_made)?;
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

/// The error of a pass that could not be created; a panic stays one.
fn not_made(error: CreateError) -> PassError {
    match error {
        CreateError::Make { error, .. } => error,
        error => PassError::new(error),
    }
}

fn knobs(options: &[OptionSchema]) -> Vec<Knob> {
    let knob = |option: &OptionSchema| Knob {
        name: option.name.clone(),
        kind: knob_kind(&option.kind),
        default: option.default.clone(),
    };
    options.iter().map(knob).collect()
}

/// As deep as a schema, which has a limit.
fn knob_kind(kind: &OptionType) -> KnobKind {
    match kind {
        OptionType::Bool => KnobKind::Bool,
        OptionType::Int { min, max } => KnobKind::Int(*min, *max),
        OptionType::Float { min, max } => KnobKind::Float(*min, *max),
        OptionType::Str => KnobKind::Str,
        OptionType::Choice(choices) => KnobKind::Choice(choices.iter().map(|(name, _)| name.clone()).collect()),
        OptionType::List(item) => KnobKind::List(Box::new(knob_kind(item))),
        OptionType::Struct(fields) => KnobKind::Struct(knobs(fields)),
        _ => KnobKind::Other,
    }
}

/// The registry's facts about the operators that a function uses, by their numbers in it.
struct Known<'a> {
    registry: &'a Registry,
    ops: Vec<KnownOp>,
}

struct KnownOp {
    version: i64,
    effects: Effects,
    outputs: (u16, u16),
    infer: Option<Result<InferEntry, PassError>>,
    eval: Option<Result<EvalEntry, PassError>>,
}

impl Known<'_> {
    fn extend(&mut self, function: &Function) {
        for index in self.ops.len()..function.n_ops() {
            let op = OpId::from_index(index);
            let (rec, version) = (function.op(op), function.op_version(op));
            let (domain, name) = (function.str(rec.domain), function.str(rec.name));
            let wanted = u32::try_from(version).unwrap_or(0);
            let known = self.registry.operator(domain, name, wanted);
            self.ops.push(KnownOp {
                version,
                effects: known.map_or(Effects::OPAQUE, |(_, record)| record.effects),
                outputs: known.map_or((u16::MAX, u16::MAX), |(_, record)| record.outputs),
                infer: known.filter(|(_, record)| record.has_infer).map(|(id, _)| self.registry.infer_entry(id)),
                eval: self.registry.evaluator(domain, name, wanted).map(|id| self.registry.eval_entry(id)),
            });
        }
    }
}

fn unavailable(error: &PassError) -> OpError {
    OpError::broken(error)
}

impl TypeRelations for Known<'_> {
    fn version(&mut self, function: &Function, op: OpId) -> i64 {
        self.extend(function);
        self.ops[op.index()].version
    }

    fn infer(&mut self, op: OpId, request: &mut InferRequest<'_>) -> Option<Result<(), OpError>> {
        let entry = self.ops.get(op.index())?.infer.as_ref()?;
        Some(match entry {
            Ok(entry) => entry.call(RequestCx::NONE, request).into_result(),
            Err(error) => Err(unavailable(error)),
        })
    }
}

impl Operators for Known<'_> {
    fn effects(&self, op: OpId) -> Effects {
        self.ops.get(op.index()).map_or(Effects::OPAQUE, |known| known.effects)
    }

    fn outputs(&self, op: OpId) -> (u16, u16) {
        self.ops.get(op.index()).map_or((u16::MAX, u16::MAX), |known| known.outputs)
    }

    fn evaluate(
        &mut self,
        op: OpId,
        function: &Function,
        call: NodeId,
        inputs: &[Option<Tensor>],
        max_bytes: u64,
    ) -> Option<Result<Vec<Tensor>, OpError>> {
        self.extend(function);
        let known = self.ops.get(op.index())?;
        let evaluator = match known.eval.as_ref()? {
            Ok(entry) => *entry,
            Err(error) => return Some(Err(unavailable(error))),
        };
        let evaluation = Evaluation { function, call, version: known.version, inputs, max_bytes };
        evaluation.run(
            |request| TypeRelations::infer(self, op, request),
            |request| Some(evaluator.call(RequestCx::NONE, request).into_result()),
        )
    }
}

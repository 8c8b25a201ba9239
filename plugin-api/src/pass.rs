//! The context of a pass, and the requests that it can make of its host.

use crate::{
    boundary::{
        abi::{
            CallCx, EvalEntry, InferEntry, PassErrorRec, RequestCx, ResolvedOp, StepRec, entry, error_kind,
            operator_part, wanted,
        },
        parallel,
        record::{BoundaryVersion, PassSpec, StatisticSpec, op_tag},
        wire::Fields,
    },
    context::{ContextSettings, PassContext},
    diagnostics::{Diagnostic, PassError, Severity},
    infer::{Coverage, Inferred, Operators, TypeRelations, infer_function, other_index, other_op, result_of},
    ir::*,
    op::{Effects, EvalRequest, Evaluation, FusionKind, InferRequest, OpError, OpSchema},
    options::{OptionType, Value},
    rewrite::{DriveOptions, DriveStats, Rule, drive_with},
};
use abi_stable::std_types::RVec;
use relais_patterns::nearest;
use std::{fmt, sync::OnceLock};

/// The statistic that the rewrite driver counts for passes that declare it, as the attribute of rewrites does.
pub const REWRITES: StatisticSpec = StatisticSpec { name: "rewritten", doc: "calls replaced" };

/// The version that introduced contexts of a pass's own.
const CONTEXTS: BoundaryVersion = BoundaryVersion { major: 0, minor: 2, patch: 0 };

/// The context of a pass. It may be used from several threads.
pub struct PassCx<'a> {
    call: CallCx<'a>,
    spec: &'static PassSpec,
}

impl<'a> PassCx<'a> {
    #[doc(hidden)]
    pub fn new(call: CallCx<'a>, spec: &'static PassSpec) -> Self {
        Self { call, spec }
    }

    /// The module as it was before the pass.
    pub fn module(&self) -> &'a IRModule {
        (self.call.host.module())(self.call.data)
    }

    /// Name, level, requirements and so on of the pass that runs.
    pub fn info(&self) -> &'static PassSpec {
        self.spec
    }

    /// Returns the facts about each operator that a function uses.
    pub fn ops(&self, function: &Function) -> OpFactsTable<'a> {
        OpFactsTable::new(self.call, function)
    }

    /// Returns the facts about operators, looked up when they are first needed.
    pub(crate) fn relations(&self) -> OpFactsTable<'a> {
        OpFactsTable::empty(self.call)
    }

    /// Emits a diagnostic about the module. One error makes the pass fail after it returns.
    pub fn diagnostic(&self, diagnostic: Diagnostic) {
        (self.call.host.diagnostic())(self.call.data, diagnostic.into_rec());
    }

    /// Explains why something was not done; costs nothing unless remarks were requested.
    pub fn remark(&self, node: NodeId, reason: impl fmt::Display) {
        if self.wants_remarks() {
            self.diagnostic(Diagnostic::new(Severity::REMARK, reason).at(node));
        }
    }

    /// Reports what was done; costs nothing unless remarks were requested.
    pub fn remark_passed(&self, node: NodeId, what: impl fmt::Display) {
        if self.wants_remarks() {
            self.diagnostic(Diagnostic::passed(what).at(node));
        }
    }

    /// Whether remarks are shown.
    pub fn wants_remarks(&self) -> bool {
        (self.call.host.wants())(self.call.data, wanted::REMARKS) != 0
    }

    /// Whether the pass should stop: a time budget ran out, or the user pressed a key.
    pub fn is_cancelled(&self) -> bool {
        (self.call.host.is_cancelled())(self.call.data) != 0
    }

    /// Stops a pass that should stop.
    ///
    /// # Errors
    /// Returns an error if it should.
    pub fn check_cancelled(&self) -> Result<(), PassError> {
        match self.is_cancelled() {
            true => Err(PassError::with_kind(error_kind::CANCELLED, "cancelled")),
            false => Ok(()),
        }
    }

    /// Reports the progress of the pass.
    pub fn progress(&self, done: u64, total: u64) {
        (self.call.host.progress())(self.call.data, done, total);
    }

    /// Calls `body` for each number below `n`, on the host's threads. A panic in one of the calls (the one with the
    /// lowest number) is resumed here when all have returned.
    pub fn parallel_for(&self, n: usize, body: &(dyn Fn(usize) + Sync)) {
        parallel::run(self.call, n, body);
    }

    /// Another pass, by name, with its default options.
    ///
    /// # Errors
    /// Returns an error if nothing provides it, or it has a mandatory option.
    pub fn get_pass(&self, name: &str) -> Result<PassRef<'a>, PassError> {
        self.get_pass_with(name, Vec::new())
    }

    /// Another pass, by name, with options.
    ///
    /// # Errors
    /// Returns an error if nothing provides it, or it has no such options.
    pub fn get_pass_with(&self, name: &str, options: Vec<(String, Value)>) -> Result<PassRef<'a>, PassError> {
        let options = Value::Struct(options).encode();
        let id = (self.call.host.get_pass())(self.call.data, name.into(), options.as_slice().into());
        Ok(PassRef { call: self.call, id: id.into_result()? })
    }

    /// Runs `body` in a context of the pass's own: the passes that it gets and runs have these settings, and only the
    /// instruments of this context watch them. It is left on every path, including panics. It is a context of this
    /// thread, and of those that work for `body` by [`parallel_for`](Self::parallel_for).
    ///
    /// # Errors
    /// Returns an error if a name or a value is refused, an instrument cannot be made, or one of its hooks fails when the
    /// context is entered or left.
    pub fn within<T>(&self, settings: &ContextSettings, body: impl FnOnce() -> T) -> Result<T, PassError> {
        struct Entered<'a>(Option<CallCx<'a>>);
        impl Entered<'_> {
            fn leave(&mut self) -> Result<(), PassError> {
                let Some(call) = self.0.take() else { return Ok(()) };
                entry(call.host.leave_context(), "leave_context", CONTEXTS)?(call.data).into_result()
            }
        }
        impl Drop for Entered<'_> {
            fn drop(&mut self) {
                // After a panic, the panic is the pass's failure.
                let _ = self.leave();
            }
        }
        let enter = entry(self.call.host.enter_context(), "enter_context", CONTEXTS)?;
        enter(self.call.data, settings.encode().as_slice().into()).into_result()?;
        let mut entered = Entered(Some(self.call));
        let result = body();
        entered.leave().map(|()| result)
    }

    /// Adds to one of the statistics that the pass declares. They are summed over functions and runs, and shown on
    /// request; the counts of a failing pass are discarded. Counting an undeclared statistic is an error of the pass.
    pub fn count(&self, statistic: &str, n: usize) {
        if self.declares(statistic) {
            if n > 0 {
                (self.call.host.count())(self.call.data, statistic.into(), n as u64);
            }
            return;
        }
        let PassSpec { name, statistics, .. } = self.spec;
        let error = Diagnostic::error(format_args!("`{name}` counts `{statistic}` and does not declare it"));
        let help = match nearest(statistic, statistics.iter().map(|declared| declared.name)) {
            Some(nearest) => format!("did you mean `{nearest}`?"),
            None => format!("write `statistics({statistic} = \"what is counted\")` into its attribute"),
        };
        self.diagnostic(error.code("undeclared-statistic").help(help));
    }

    fn declares(&self, statistic: &str) -> bool {
        self.spec.statistics.iter().any(|declared| declared.name == statistic)
    }

    /// The context that the pass runs in: level, lists and options.
    pub fn context(&self) -> PassContext {
        let encoded = (self.call.host.context())(self.call.data);
        // A host of this boundary version never sends a context that cannot be decoded.
        PassContext::decode(&encoded).unwrap_or_default()
    }

    /// Returns an option of the context; `None` if it is not registered or has another type.
    pub fn config<T: OptionType>(&self, key: &str) -> Option<T> {
        let encoded = (self.call.host.config())(self.call.data, key.into()).into_option()?;
        T::from_value(&Value::decode(&encoded).ok()?)
    }

    /// An option of the context that is a boolean.
    pub fn config_bool(&self, key: &str) -> Option<bool> {
        self.config(key)
    }

    /// An option of the context that is an integer.
    pub fn config_int(&self, key: &str) -> Option<i64> {
        self.config(key)
    }

    /// An option of the context that is a float.
    pub fn config_float(&self, key: &str) -> Option<f64> {
        self.config(key)
    }

    /// An option of the context that is text.
    pub fn config_str(&self, key: &str) -> Option<String> {
        self.config(key)
    }
}

/// Another pass, made by the host.
pub struct PassRef<'a> {
    call: CallCx<'a>,
    id: u32,
}

impl PassRef<'_> {
    /// Runs it, whatever its level, and without its requirements (rule R3). The result is the same module if it changed
    /// nothing. For instruments it is a part of the calling pass.
    ///
    /// # Errors
    /// Returns an error if it fails.
    pub fn run(&self, module: &IRModule) -> Result<IRModule, PassError> {
        let outcome = (self.call.host.run_pass())(self.call.data, self.id, module).into_result()?;
        Ok(outcome.into_option().unwrap_or_else(|| module.clone()))
    }
}

/// A step of a sequential pass.
#[derive(Clone, PartialEq, Debug)]
pub struct Step {
    pass: String,
    options: Vec<(String, Value)>,
}

impl Step {
    /// A pass by name, with its default options.
    pub fn new(pass: &str) -> Self {
        Self { pass: pass.to_owned(), options: Vec::new() }
    }

    /// The same with an option.
    pub fn option(mut self, name: &str, value: Value) -> Self {
        self.options.push((name.to_owned(), value));
        self
    }

    pub(crate) fn into_rec(self) -> StepRec {
        StepRec { pass: self.pass.into(), options: Value::Struct(self.options).encode().into(), more: RVec::new() }
    }
}

/// The facts about an operator.
pub struct OpFacts<'a> {
    known: bool,
    fields: &'a [u8],
    schema: OnceLock<OpSchema>,
    /// Whether its domain is described completely, in the version that calls are written for.
    is_closed: bool,
    /// The operator-set version that calls are written for; 0 if unspecified.
    pub version: i64,
    /// The version from which on the description holds.
    pub since_version: u32,
    /// Fewest and most arguments.
    pub inputs: (u16, u16),
    /// Fewest and most results.
    pub outputs: (u16, u16),
    /// The effects; opaque if no plugin describes the operator.
    pub effects: Effects,
    /// The fusion kind.
    pub fusion: FusionKind,
    infer: Entry<InferEntry>,
    eval: Entry<EvalEntry>,
}

/// Requested when it is first needed: that may open a library.
struct Entry<F> {
    id: Option<u32>,
    entry: OnceLock<Result<F, OpError>>,
}

impl<F: Copy> Entry<F> {
    fn new(id: Option<u32>) -> Self {
        Self { id, entry: OnceLock::new() }
    }

    fn get(&self, ask: impl FnOnce(u32) -> Result<F, PassError>) -> Option<Result<F, OpError>> {
        let id = self.id?;
        let entry = self.entry.get_or_init(|| ask(id).map_err(|error| OpError::unavailable(&error)));
        Some(entry.as_ref().copied().map_err(Clone::clone))
    }
}

impl<'a> OpFacts<'a> {
    /// Whether a plugin describes the operator. An operator without a description is opaque.
    pub fn is_known(&self) -> bool {
        self.known
    }

    /// Returns the schema that calls are checked against; `None` if no plugin describes the operator.
    pub fn schema(&self) -> Option<&OpSchema> {
        self.known.then(|| self.schema.get_or_init(|| OpSchema::read(self.fields)))
    }

    /// Whether it has a type relation.
    pub fn has_infer(&self) -> bool {
        self.infer.id.is_some()
    }

    /// Whether it can be evaluated.
    pub fn has_eval(&self) -> bool {
        self.eval.id.is_some()
    }

    fn new(resolved: ResolvedOp<'a>, version: i64) -> Self {
        let mut facts = Self {
            known: resolved.is_known != 0,
            fields: resolved.facts.as_slice(),
            schema: OnceLock::new(),
            is_closed: resolved.is_closed != 0,
            version,
            since_version: 0,
            inputs: (0, u16::MAX),
            outputs: (0, u16::MAX),
            effects: Effects::OPAQUE,
            fusion: FusionKind::OPAQUE,
            infer: Entry::new(resolved.infer.into_option()),
            eval: Entry::new(resolved.eval.into_option()),
        };
        if facts.known {
            // The host read this record before; a field that cannot be decoded keeps the cautious value.
            facts.effects = Effects::PURE;
            for field in Fields::new(resolved.facts.as_slice()).map_while(Result::ok) {
                let pair = |pair: u32| (pair as u16, (pair >> 16) as u16);
                match field.tag {
                    op_tag::SINCE => facts.since_version = field.u32().unwrap_or(0),
                    op_tag::INPUTS => facts.inputs = field.u32().map_or(facts.inputs, pair),
                    op_tag::OUTPUTS => facts.outputs = field.u32().map_or(facts.outputs, pair),
                    op_tag::EFFECTS => facts.effects = field.u32().map_or(Effects::OPAQUE, Effects),
                    op_tag::FUSION => facts.fusion = field.u8().map_or(FusionKind::OPAQUE, FusionKind),
                    _ if field.skip().is_ok() => {}
                    // Of a later version: its other contents cannot be relied on.
                    _ => {
                        let unknown = ResolvedOp { is_known: 0, infer: None.into(), eval: None.into(), ..resolved };
                        return Self::new(unknown, version);
                    }
                }
            }
        }
        facts
    }
}

/// The facts about each operator that a function uses: each was looked up once, by name, and is read by id.
pub struct OpFactsTable<'a> {
    call: CallCx<'a>,
    facts: Vec<OpFacts<'a>>,
    /// The facts about operators that the function does not have: domain, name, facts.
    others: Vec<(String, String, OpFacts<'a>)>,
}

impl<'a> OpFactsTable<'a> {
    fn empty(call: CallCx<'a>) -> Self {
        Self { call, facts: Vec::new(), others: Vec::new() }
    }

    pub(crate) fn new(call: CallCx<'a>, function: &Function) -> Self {
        let mut table = Self::empty(call);
        table.extend(function);
        table
    }

    /// Returns the facts about an operator of the function that the table was made for.
    ///
    /// # Panics
    /// Panics if the operator was added to the function since; see [`extend`](Self::extend).
    #[inline]
    pub fn get(&self, op: OpId) -> &OpFacts<'a> {
        &self.facts[op.index()]
    }

    /// Returns the facts about the operator that is called; `None` if the callee is not an operator.
    #[inline]
    pub fn of(&self, call: CallView<'_>) -> Option<&OpFacts<'a>> {
        self.facts.get(call.op()?.index())
    }

    /// Returns the effects of a call; opaque if the callee is not an operator.
    #[inline]
    pub fn effects(&self, call: CallView<'_>) -> Effects {
        self.of(call).map_or(Effects::OPAQUE, |facts| facts.effects)
    }

    /// Looks up operators that the function uses since the table was made.
    pub fn extend(&mut self, function: &Function) {
        for index in self.facts.len()..function.n_ops() {
            let rec = function.op(OpId(index as u32));
            let version = function.op_version(OpId(index as u32));
            let (domain, name) = (function.str(rec.domain), function.str(rec.name));
            let resolved = self.resolve(domain, name, u32::try_from(version).unwrap_or(0));
            self.facts.push(OpFacts::new(resolved, version));
        }
    }

    /// Returns the facts about an operator of the function, or about another one that was looked up.
    fn find(&self, op: OpId) -> Option<&OpFacts<'a>> {
        match other_index(op) {
            None => self.facts.get(op.index()),
            Some(index) => self.others.get(index).map(|(_, _, facts)| facts),
        }
    }

    fn resolve(&self, domain: &str, name: &str, version: u32) -> ResolvedOp<'a> {
        (self.call.host.resolve_op())(self.call.data, domain.into(), name.into(), version)
    }

    /// Applies an operator's type relation to a call of it; `None` when it has none.
    pub fn infer(&self, op: OpId, request: &mut InferRequest<'_>) -> Option<Result<(), OpError>> {
        let entry = self.find(op)?.infer.get(|id| {
            let ask = self.call.host.infer_entry();
            ask(self.call.data, id).into_result()
        })?;
        Some(entry.and_then(|entry| entry.call(RequestCx::of_pass(&self.call), request).into_result()))
    }

    /// Evaluates a call of an operator; `None` when it has no evaluator.
    pub fn eval(&self, op: OpId, request: &mut EvalRequest<'_>) -> Option<Result<(), OpError>> {
        let entry = self.find(op)?.eval.get(|id| {
            let ask = self.call.host.eval_entry();
            ask(self.call.data, id).into_result()
        })?;
        Some(entry.and_then(|entry| entry.call(RequestCx::of_pass(&self.call), request).into_result()))
    }

    /// Reports to the host that an operator's plugin is at fault.
    fn tell_broken(&self, part: u8, id: u32, error: &OpError) {
        if error.is_broken() {
            (self.call.host.operator_failed())(self.call.data, part, id, error.message.as_str().into());
        }
    }

    /// Infers the types of a function's bindings.
    pub fn infer_types(&mut self, function: &mut Function, coverage: Coverage) -> Inferred {
        infer_function(function, self, coverage)
    }
}

impl TypeRelations for OpFactsTable<'_> {
    fn version(&mut self, function: &Function, op: OpId) -> i64 {
        self.extend(function);
        self.find(op).map_or(0, |facts| facts.version)
    }

    fn other(&mut self, function: &Function, domain: &str, name: &str) -> Option<OpId> {
        let number = self.others.iter().position(|(d, n, _)| n == name && is_same_domain(d, domain));
        let number = number.unwrap_or_else(|| {
            let imported = function.opset_version(domain);
            let wanted = imported.map_or(u32::MAX, |version| u32::try_from(version).unwrap_or(0));
            let mut facts = OpFacts::new(self.resolve(domain, name, wanted), imported.unwrap_or(0));
            if imported.is_none() {
                facts.version = facts.since_version.into();
            }
            self.others.push((domain.to_owned(), name.to_owned(), facts));
            self.others.len() - 1
        });
        Some(other_op(number))
    }

    fn schema(&self, op: OpId) -> Option<&OpSchema> {
        self.find(op)?.schema()
    }

    fn is_closed(&self, op: OpId) -> bool {
        self.find(op).is_some_and(|facts| facts.is_closed)
    }

    fn newest_version(&mut self, domain: &str, name: &str) -> Option<i64> {
        let facts = OpFacts::new(self.resolve(domain, name, u32::MAX), 0);
        facts.is_known().then_some(facts.since_version.into())
    }

    fn infer(&mut self, op: OpId, request: &mut InferRequest<'_>) -> Option<Result<(), OpError>> {
        OpFactsTable::infer(self, op, request)
    }

    fn may_rewrite(&mut self, node: NodeId) -> bool {
        (self.call.host.may_rewrite())(self.call.data, node) != 0
    }

    fn broken(&mut self, op: OpId, error: &OpError) {
        if let Some(id) = self.find(op).and_then(|facts| facts.infer.id) {
            self.tell_broken(operator_part::RELATION, id, error);
        }
    }

    fn result_of_global(&mut self, caller: &mut Function, name: &str) -> TypeId {
        let module: &IRModule = (self.call.host.module())(self.call.data);
        module.function(name).map_or(TypeId::UNKNOWN, |callee| result_of(caller, callee))
    }
}

impl Operators for OpFactsTable<'_> {
    fn effects(&self, op: OpId) -> Effects {
        self.find(op).map_or(Effects::OPAQUE, |facts| facts.effects)
    }

    fn outputs(&self, op: OpId) -> (u16, u16) {
        self.facts.get(op.index()).map_or((u16::MAX, u16::MAX), |facts| facts.outputs)
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
        if !self.get(op).has_eval() {
            return None;
        }
        let evaluation = Evaluation { function, call, version: self.get(op).version, inputs, max_bytes };
        let result =
            evaluation.run(|request| OpFactsTable::infer(self, op, request), |request| self.eval(op, request))?;
        if let (Err(error), Some(id)) = (&result, self.get(op).eval.id) {
            self.tell_broken(operator_part::EVALUATOR, id, error);
        }
        Some(result)
    }
}

/// Offers every live call of the operators `ops` (all calls if empty) to `rule` until nothing changes; what it did and
/// what it declines become remarks. New nodes are typed as they are inserted.
///
/// # Errors
/// Returns an error if the rule still applies after the most rounds that `options` allow.
pub fn drive(
    editor: &mut Editor,
    cx: &PassCx<'_>,
    rule: &mut Rule<'_>,
    ops: &[&str],
    options: DriveOptions,
) -> Result<DriveStats, PassError> {
    let mut relations = cx.relations();
    let stats = drive_with(editor, &mut relations, rule, ops, options)?;
    if cx.declares(REWRITES.name) {
        cx.count(REWRITES.name, stats.n_rewrites);
    }
    if cx.wants_remarks() {
        if stats.n_rewrites > 0 {
            let calls = if stats.n_rewrites == 1 { "call" } else { "calls" };
            cx.remark_passed(NodeId::ABSENT, format_args!("rewrote {} {calls}", stats.n_rewrites));
        }
        for (node, reason) in &stats.declined {
            cx.remark(*node, reason);
        }
    }
    if stats.settled {
        return Ok(stats);
    }
    let rec = PassErrorRec {
        message: format!("still rewriting after {} rounds", stats.n_rounds).into(),
        help: "make sure that no rewrite undoes another one's work".into(),
        ..PassErrorRec::default()
    };
    Err(PassError::from_rec(rec))
}

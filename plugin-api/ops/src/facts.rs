//! The facts about operators, as passes and hosts look them up.

mod evaluate;
mod gradient;
mod kernel;
mod text;

use crate::{
    abi::{CallCx, CallEntry, EvalEntry, InferEntry, RequestCx, ResolvedOp, operator_part, resolved_tag},
    bodies::{Bodies, Body, Nesting, infer_by_body, parse_body, parse_body_of},
    build::check_made,
    error::OpError,
    infer::{Coverage, Inferred, infer_function, result_of_global},
    op::{FusionKind, OpSchema, tags::op_tag},
    relations::{Blaming, Checking, Operators, Typing, Way, other_index, other_op},
    request::{CallParts, CallRequest, CallValue, EvalRequest, InferRequest},
};
use evaluate::Fuel;
use relais_ir::{diagnostics::PassError, wire::Fields, *};
use std::{
    borrow::Cow,
    sync::{Arc, OnceLock},
};

/// Where the facts about operators come from.
pub trait OpSource<'a>: Copy {
    /// Returns the facts about an operator in a version of its domain's operator set.
    fn resolve(self, domain: &str, name: &str, version: u32) -> ResolvedOp<'a>;

    /// Returns the type relation of a number.
    ///
    /// # Errors
    /// Returns an error if its library cannot be opened.
    fn infer_entry(self, id: u32) -> Result<InferEntry, PassError>;

    /// Returns the evaluator of a number.
    ///
    /// # Errors
    /// Returns an error if its library cannot be opened.
    fn eval_entry(self, id: u32) -> Result<EvalEntry, PassError>;

    /// Returns the function of an operator that looks at one call: one of [`operator_part`], of a number.
    ///
    /// # Errors
    /// Returns an error if its library cannot be opened.
    fn call_entry(self, part: u8, id: u32) -> Result<CallEntry, PassError>;

    /// The services for type relations and evaluators.
    fn request(&self) -> RequestCx<'_> {
        RequestCx::NONE
    }

    /// Reports that the plugin of a type relation or evaluator is at fault.
    fn failed(self, _part: u8, _id: u32, _message: &str) {}

    /// Returns the failure of the plugin of a type relation or evaluator.
    fn fault(self, _part: u8, _id: u32, message: &str) -> PassError {
        PassError::new(message)
    }

    /// The name of the plugin that a type relation, an evaluator or another part of an operator belongs to.
    fn plugin_of(self, _part: u8, _id: u32) -> Option<String> {
        None
    }

    /// Whether the rewrite of a node may be committed.
    fn may_rewrite(self, _node: NodeId) -> bool {
        true
    }

    /// The global of the module that is worked on.
    fn global(self, _name: &str) -> Option<&'a Global> {
        None
    }
}

impl<'a> OpSource<'a> for CallCx<'a> {
    fn resolve(self, domain: &str, name: &str, version: u32) -> ResolvedOp<'a> {
        self.resolve_op(domain, name, version)
    }

    fn infer_entry(self, id: u32) -> Result<InferEntry, PassError> {
        self.infer_entry(id)
    }

    fn eval_entry(self, id: u32) -> Result<EvalEntry, PassError> {
        self.eval_entry(id)
    }

    fn call_entry(self, part: u8, id: u32) -> Result<CallEntry, PassError> {
        self.call_entry(part, id)
    }

    fn request(&self) -> RequestCx<'_> {
        RequestCx::of_pass(self)
    }

    fn failed(self, part: u8, id: u32, message: &str) {
        self.operator_failed(part, id, message);
    }

    fn may_rewrite(self, node: NodeId) -> bool {
        self.may_rewrite(node)
    }

    fn global(self, name: &str) -> Option<&'a Global> {
        self.module().global(name)
    }
}

/// The facts about an operator.
pub struct OpFacts<'a> {
    known: bool,
    fields: &'a [u8],
    schema: OnceLock<Arc<OpSchema>>,
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
    body_of: Entry<CallEntry>,
    gradient_of: Entry<CallEntry>,
    compute: Entry<CallEntry>,
    verifier: Entry<CallEntry>,
    /// The operator's domain and name, and its body, parsed when it is first needed.
    name: (String, String),
    body: OnceLock<Option<Result<Function, PassError>>>,
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
        self.shared_schema().map(|schema| &**schema)
    }

    fn shared_schema(&self) -> Option<&Arc<OpSchema>> {
        self.known.then(|| self.schema.get_or_init(|| Arc::new(OpSchema::read(self.fields))))
    }

    /// Whether it has a type relation.
    pub fn has_infer(&self) -> bool {
        self.infer.id.is_some()
    }

    /// Whether it has an evaluator.
    pub fn has_eval(&self) -> bool {
        self.eval.id.is_some()
    }

    /// Whether it has a body, or makes one for each call.
    pub fn has_body(&self) -> bool {
        self.body_of.id.is_some() || self.schema().is_some_and(|schema| !schema.body.is_empty())
    }

    /// Whether calls are computed in a way.
    pub(crate) fn has(&self, way: Way) -> bool {
        match way {
            Way::Evaluator => self.has_eval(),
            Way::Body => self.has_body(),
            Way::Kernel => self.has_kernel(),
        }
    }

    /// The part that computes calls in a way, and its number.
    fn part(&self, way: Way) -> (u8, Option<u32>) {
        match way {
            Way::Evaluator => (operator_part::EVALUATOR, self.eval.id),
            Way::Body => (operator_part::BODY, self.body_of.id),
            Way::Kernel => (operator_part::COMPUTE, self.compute.id),
        }
    }

    /// Whether it describes its gradient.
    pub fn has_gradient(&self) -> bool {
        self.gradient_of.id.is_some()
    }

    /// Whether it has kernels.
    pub fn has_kernel(&self) -> bool {
        self.compute.id.is_some()
    }

    /// Returns the function that computes the same with other operators; `None` if the operator has none, or one for each
    /// call.
    ///
    /// # Errors
    /// Returns the fault of the body.
    pub fn body(&self) -> Option<Result<&Function, &PassError>> {
        let parse = || {
            let schema = self.schema().filter(|schema| !schema.body.is_empty())?;
            Some(parse_body(&self.name.0, &self.name.1, schema, &schema.body))
        };
        self.body.get_or_init(parse).as_ref().map(Result::as_ref)
    }

    /// The part that infers the types of its calls, and its number.
    fn typed_by(&self) -> Option<(u8, u32)> {
        let relation = self.infer.id.map(|id| (operator_part::RELATION, id));
        relation.or_else(|| self.body_of.id.map(|id| (operator_part::BODY, id)))
    }

    fn new(domain: &str, name: &str, resolved: ResolvedOp<'a>, version: i64) -> Self {
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
            body_of: Entry::new(resolved.body.into_option()),
            gradient_of: Entry::new(resolved.gradient.into_option()),
            compute: Entry::new(resolved.compute.into_option()),
            verifier: Entry::new(verifier(resolved.more.as_slice())),
            name: (domain.to_owned(), name.to_owned()),
            body: OnceLock::new(),
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
                        let unknown = ResolvedOp { facts: resolved.facts, ..ResolvedOp::UNKNOWN };
                        return Self::new(domain, name, unknown, version);
                    }
                }
            }
        }
        facts
    }
}

/// Checks that a call is what its record says, and that the values of its attributes are known: a function that makes a
/// text for it may take the default where it finds no value.
fn check_whole(schema: &OpSchema, call: &CallValue<'_>, n_outputs: usize) -> Result<(), OpError> {
    schema.check(call, Some(n_outputs)).map_err(|fault| OpError::unsupported(fault.message))?;
    let is_open =
        |rec: &AttrRec| matches!(rec.kind, attr_kind::REF | attr_kind::RAW) && rec.flags & attr_flag::META == 0;
    match call.attrs.iter().any(is_open) {
        true => Err(OpError::unsupported("the value of an attribute is not known here")),
        false => Ok(()),
    }
}

/// The number of the verifier among an operator's further properties.
fn verifier(more: &[u8]) -> Option<u32> {
    Fields::new(more).flatten().find(|field| field.tag == resolved_tag::VERIFIER)?.u32().ok()
}

/// The facts about each operator that a function uses: each was looked up once, by name, and is read by id.
///
/// `S` is where they come from: the host, for a pass.
pub struct OpFactsTable<'a, S = CallCx<'a>> {
    source: S,
    facts: Vec<OpFacts<'a>>,
    /// The facts about operators that the function does not have: domain, name, facts.
    others: Vec<(String, String, OpFacts<'a>)>,
    /// The hashes of their names.
    other_hashes: Vec<u64>,
    nesting: Nesting,
    is_lenient: bool,
    /// The steps that kernels may still take.
    fuel: Fuel,
}

impl<'a, S: OpSource<'a>> OpFactsTable<'a, S> {
    /// A table of a function about which nothing was asked yet.
    pub fn empty(source: S) -> Self {
        Self {
            source,
            facts: Vec::new(),
            others: Vec::new(),
            other_hashes: Vec::new(),
            nesting: Nesting::default(),
            is_lenient: false,
            fuel: Fuel::default(),
        }
    }

    /// The table for the body of an operator.
    ///
    /// # Errors
    /// Returns an error if bodies are nested without an end.
    fn for_body(&self, op: &OpFacts<'_>) -> Result<Self, OpError> {
        let nesting = self.nesting.enter(&op.name.0, &op.name.1)?;
        Ok(Self { nesting, is_lenient: self.is_lenient, ..Self::empty(self.source) })
    }

    /// The same, but calls are also evaluated where some runtimes compute something else: for comparing modules, not for
    /// folding.
    pub fn lenient(mut self) -> Self {
        self.is_lenient = true;
        self
    }

    /// The table of a function.
    pub fn new(source: S, function: &Function) -> Self {
        let mut table = Self::empty(source);
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

    /// The attributes of a call; [`Attrs::int`] and its siblings return the default of the operator's record, in the
    /// version of the call, for one that is absent.
    pub fn attrs<'b>(&'b self, call: CallView<'b>) -> Attrs<'b> {
        call.attrs().with_defaults(self.of(call).and_then(OpFacts::schema))
    }

    /// Looks up operators that the function uses since the table was made.
    pub fn extend(&mut self, function: &Function) {
        self.facts.reserve(function.n_ops().saturating_sub(self.facts.len()));
        for index in self.facts.len()..function.n_ops() {
            let rec = function.op(OpId(index as u32));
            let version = function.op_version(OpId(index as u32));
            let (domain, name) = (function.str(rec.domain), function.str(rec.name));
            let resolved = self.resolve(domain, name, u32::try_from(version).unwrap_or(0));
            self.facts.push(OpFacts::new(domain, name, resolved, version));
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
        self.source.resolve(domain, name, version)
    }

    /// Applies an operator's type relation to a call of it; `None` when it has none.
    pub fn infer(&self, op: OpId, request: &mut InferRequest<'_>) -> Option<Result<(), OpError>> {
        let facts = self.find(op)?;
        let Some(entry) = facts.infer.get(|id| self.source.infer_entry(id)) else {
            let body = self.body_for(facts, &request.call, request.outputs.len())?;
            return Some(body.and_then(|body| {
                let mut table = self.for_body(facts)?;
                infer_by_body(&body, request, |f| infer_function(f, &mut table, Coverage::Everything))
            }));
        };
        Some(entry.and_then(|entry| entry.call(self.source.request(), request).into_result().map_err(OpError::cut)))
    }

    /// Returns the body of a call with that many results; `None` if the operator has none.
    fn body_for<'b>(
        &self,
        facts: &'b OpFacts<'_>,
        call: &CallValue<'_>,
        n_outputs: usize,
    ) -> Option<Result<Cow<'b, Function>, OpError>> {
        let Some(entry) = facts.body_of.get(|id| self.source.call_entry(operator_part::BODY, id)) else {
            return Some(facts.body()?.map(Cow::Borrowed).map_err(OpError::broken));
        };
        let make = |entry: CallEntry| {
            let schema = facts.schema().ok_or_else(|| OpError::unsupported("nothing describes it"))?;
            check_whole(schema, call, n_outputs)?;
            let mut request = CallRequest::new(*call, n_outputs);
            entry.call(self.source.request(), &mut request).into_result().map_err(OpError::cut)?;
            let name = (facts.name.0.as_str(), facts.name.1.as_str());
            let body = parse_body_of(name, schema, request.made("body")?, (call.args.len(), n_outputs))?;
            self.check_calls(facts, &body, "body")?;
            Ok(Cow::Owned(body))
        };
        Some(entry.and_then(make))
    }

    /// Asks for the gradient or the kernel of a call, whose results follow its arguments; returns the operator's schema, too.
    fn ask_about<'f, 'v>(
        &self,
        facts: &'f OpFacts<'_>,
        entry: CallEntry,
        call: CallValue<'v>,
        n_results: usize,
    ) -> Result<(&'f OpSchema, CallRequest<'v>), OpError> {
        let schema = facts.schema().ok_or_else(|| OpError::unsupported("nothing describes it"))?;
        let (args, _) = call.args.as_slice().split_at(call.args.len() - n_results);
        check_whole(schema, &CallValue { args: args.into(), ..call }, n_results)?;
        let mut request = CallRequest::new(call, n_results);
        entry.call(self.source.request(), &mut request).into_result().map_err(OpError::cut)?;
        Ok((schema, request))
    }

    /// Checks that the operator sets of a body, or a gradient, have its operators as it calls them.
    fn check_calls(&self, facts: &OpFacts<'_>, body: &Function, what: &str) -> Result<(), OpError> {
        let mut table = self.for_body(facts)?;
        for id in body.all_bindings() {
            let Some(op) = body.call(id).and_then(CallView::op) else { continue };
            if let Err(fault) = check_made(body, &mut table, id, op) {
                let (name, why) = (body.str(body.op(op).name), fault.message);
                return Err(OpError::unsupported(format_args!(
                    "its {what} has a call of `{name}` that is wrong: {why}"
                )));
            }
        }
        Ok(())
    }

    /// Evaluates a call of an operator; `None` when it has no evaluator.
    pub fn eval(&self, op: OpId, request: &mut EvalRequest<'_>) -> Option<Result<(), OpError>> {
        let entry = self.find(op)?.eval.get(|id| self.source.eval_entry(id))?;
        Some(entry.and_then(|entry| entry.call(self.source.request(), request).into_result().map_err(OpError::cut)))
    }

    /// Reports to the host that an operator's plugin is at fault.
    fn tell_broken(&self, part: u8, id: u32, error: &OpError) {
        if error.is_broken() {
            self.source.failed(part, id, &error.message);
        }
    }

    /// Infers the types of a function's bindings.
    pub fn infer_types(&mut self, function: &mut Function, coverage: Coverage) -> Inferred {
        infer_function(function, self, coverage)
    }
}

impl<'a, S: OpSource<'a>> Typing for OpFactsTable<'a, S> {
    fn version(&mut self, function: &Function, op: OpId) -> i64 {
        self.extend(function);
        self.find(op).map_or(0, |facts| facts.version)
    }

    fn other(&mut self, function: &Function, domain: &str, name: &str) -> Option<OpId> {
        let hash = operator_hash(domain, name);
        let is_it = |(d, n, _): &(String, String, _)| n == name && is_same_domain(d, domain);
        let mut hashes = self.other_hashes.iter().enumerate();
        let number = hashes.find(|&(at, &other)| other == hash && is_it(&self.others[at])).map(|(at, _)| at);
        let number = number.unwrap_or_else(|| {
            let imported = function.opset_version(domain);
            let wanted = imported.map_or(u32::MAX, |version| u32::try_from(version).unwrap_or(0));
            let mut facts = OpFacts::new(domain, name, self.resolve(domain, name, wanted), imported.unwrap_or(0));
            if imported.is_none() {
                facts.version = facts.since_version.into();
            }
            self.others.push((domain.to_owned(), name.to_owned(), facts));
            self.other_hashes.push(hash);
            self.others.len() - 1
        });
        Some(other_op(number))
    }

    fn infer(&mut self, op: OpId, request: &mut InferRequest<'_>) -> Option<Result<(), OpError>> {
        Self::infer(self, op, request)
    }

    fn result_of_global(&mut self, caller: &mut Function, name: &str) -> TypeId {
        self.source.global(name).map_or(TypeId::UNKNOWN, |callee| result_of_global(caller, callee))
    }
}

impl<'a, S: OpSource<'a>> Checking for OpFactsTable<'a, S> {
    fn schema(&self, op: OpId) -> Option<&Arc<OpSchema>> {
        self.find(op)?.shared_schema()
    }

    fn is_closed(&self, op: OpId) -> bool {
        self.find(op).is_some_and(|facts| facts.is_closed)
    }

    fn newest_version(&mut self, domain: &str, name: &str) -> Option<i64> {
        let facts = OpFacts::new(domain, name, self.resolve(domain, name, u32::MAX), 0);
        facts.is_known().then_some(facts.since_version.into())
    }

    fn verify(&mut self, function: &Function, call: NodeId, op: OpId) -> Option<Result<(), OpError>> {
        let facts = self.find(op)?;
        let entry = facts.verifier.get(|id| self.source.call_entry(operator_part::VERIFIER, id))?;
        let parts = CallParts::new(function, call);
        let n_results = function.n_results(call).unwrap_or(1);
        let mut request = CallRequest::new(parts.value(op, facts.version), n_results);
        Some(
            entry.and_then(|entry| entry.call(self.source.request(), &mut request).into_result().map_err(OpError::cut)),
        )
    }
}

impl<'a, S: OpSource<'a>> Blaming for OpFactsTable<'a, S> {
    fn may_rewrite(&mut self, node: NodeId) -> bool {
        self.source.may_rewrite(node)
    }

    fn broken(&mut self, op: OpId, error: &OpError) {
        if let Some((part, id)) = self.find(op).and_then(OpFacts::typed_by) {
            self.tell_broken(part, id, error);
        }
    }

    fn fault(&self, op: OpId, error: &OpError) -> PassError {
        match self.find(op).and_then(OpFacts::typed_by) {
            Some((part, id)) => self.source.fault(part, id, &error.message),
            None => PassError::new(&error.message),
        }
    }

    fn verifier_fault(&mut self, op: OpId, error: &OpError) -> PassError {
        let Some(id) = self.find(op).and_then(|facts| facts.verifier.id) else { return PassError::new(&error.message) };
        self.tell_broken(operator_part::VERIFIER, id, error);
        self.source.fault(operator_part::VERIFIER, id, &error.message)
    }
}

impl<'a, S: OpSource<'a>> Operators for OpFactsTable<'a, S> {
    fn effects(&self, op: OpId) -> Effects {
        self.find(op).map_or(Effects::OPAQUE, |facts| facts.effects)
    }

    fn outputs(&self, op: OpId) -> (u16, u16) {
        self.facts.get(op.index()).map_or((u16::MAX, u16::MAX), |facts| facts.outputs)
    }

    fn is_computed(&self, op: OpId) -> bool {
        self.find(op).is_some_and(|facts| Way::ALL.iter().any(|&way| facts.has(way)))
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
        let way = Way::ALL.into_iter().find(|&way| self.get(op).has(way))?;
        self.evaluate_by(way, op, function, call, inputs, max_bytes)
    }

    fn evaluate_by(
        &mut self,
        way: Way,
        op: OpId,
        function: &Function,
        call: NodeId,
        inputs: &[Option<Tensor>],
        max_bytes: u64,
    ) -> Option<Result<Vec<Tensor>, OpError>> {
        self.extend(function);
        self.get(op).has(way).then(|| self.computed(way, op, function, call, inputs, max_bytes))?
    }

    fn kernel(&mut self, function: &Function, call: NodeId) -> Option<Result<Function, OpError>> {
        Self::kernel(self, function, call)
    }

    fn plugin_of(&self, way: Way, op: OpId) -> Option<String> {
        let (part, id) = self.find(op)?.part(way);
        self.source.plugin_of(part, id?)
    }
}

/// The bodies of operators outside the domains that are described completely, which runtimes know.
impl<'a, S: OpSource<'a>> Bodies for OpFactsTable<'a, S> {
    fn body(&mut self, domain: &str, name: &str, version: i64) -> Option<Result<Body, PassError>> {
        let resolved = self.resolve(domain, name, u32::try_from(version).unwrap_or(0));
        // Without a host nothing says that ONNX's own operators are described completely.
        let is_known_elsewhere = resolved.is_closed != 0 || is_same_domain(domain, "");
        if is_known_elsewhere { None } else { self.any_body(domain, name, version) }
    }

    fn any_body(&mut self, domain: &str, name: &str, version: i64) -> Option<Result<Body, PassError>> {
        let resolved = self.resolve(domain, name, u32::try_from(version).unwrap_or(0));
        let facts = OpFacts::new(domain, name, resolved, version);
        match facts.body() {
            Some(body) => Some(body.cloned().map(|body| Body::Fixed(Box::new(body))).map_err(PassError::clone)),
            None => facts.has_body().then_some(Ok(Body::OfCall)),
        }
    }

    fn body_of(&mut self, function: &Function, call: NodeId) -> Result<Function, OpError> {
        let none = || OpError::unsupported("it has no body");
        let op = function.call(call).and_then(CallView::op).ok_or_else(none)?;
        let mut table = OpFactsTable::empty(self.source);
        table.extend(function);
        let facts = table.get(op);
        let parts = CallParts::new(function, call);
        let n_results = function.n_results(call).unwrap_or(1);
        let body = table.body_for(facts, &parts.value(op, facts.version), n_results).unwrap_or_else(|| Err(none()));
        if let (Err(error), Some(id)) = (&body, facts.body_of.id) {
            table.tell_broken(operator_part::BODY, id, error);
        }
        body.map(Cow::into_owned)
    }

    fn infer_types(&mut self, function: &mut Function) {
        infer_function(function, &mut OpFactsTable::empty(self.source), Coverage::Everything);
    }

    fn schema(&mut self, domain: &str, name: &str, version: i64) -> Option<OpSchema> {
        let resolved = self.resolve(domain, name, u32::try_from(version).unwrap_or(0));
        OpFacts::new(domain, name, resolved, version).schema().cloned()
    }
}

//! A host for the passes that are linked into this program, without a host library: for an author's tests.
//!
//! It looks up passes and operators among the linked ones, runs everything on the calling thread and does not check
//! options.
#![expect(unsafe_code, reason = "the data of the host's functions")]

mod analysis;
mod faults;
mod instrument;

pub use faults::faults;
pub use instrument::{LocalInstrument, instrument, instrument_info};

use crate::{
    abi::*,
    context::{ContextSettings, PassContext},
    entry::{Item, registrations},
    options::{ConfigSpec, OptionKind, Value},
    pass::{OpFactsTable, check_file_name},
    record::{HEADER, Header, Level, PassSpec, pass_flag},
};
use abi_stable::{
    prefix_type::WithMetadata,
    std_types::{RArc, ROption, RResult, RSlice, RStr, RVec},
};
use relais_ir::{
    Function, IRModule, NodeId,
    diagnostics::{Diagnostic, PassError, Severity},
    guard::entered,
    is_same_domain,
};
use relais_ops::{
    op::{AddedPart, Addition, EvalFn, Merged, Operator, Rank, merge},
    parts::{call_entry, eval_entry, infer_entry},
    relations::Operators,
};
use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

/// The outcome of a run.
#[derive(Clone)]
pub struct LocalRun {
    /// The module after the pass.
    pub module: IRModule,
    /// Whether the pass changed it.
    pub changed: bool,
    /// The diagnostics that were emitted.
    pub diagnostics: Vec<Diagnostic>,
    /// The counts, by name.
    pub counts: BTreeMap<String, u64>,
    /// The files that were made, by name.
    pub files: BTreeMap<String, Vec<u8>>,
    /// Whether the pass asked which messages the host wants.
    pub asked: bool,
}

/// Runs a linked pass, by full name, alias, or the part of a name after its last dot.
///
/// # Errors
/// Returns an error if nothing of that name is linked, the options are not its own, or it fails.
pub fn run(name: &str, options: &Value, module: &IRModule) -> Result<LocalRun, PassError> {
    run_in(name, options, &[], wanted::REMARKS, module)
}

/// As [`run`], with options of the context; those that are linked and not given have their defaults.
///
/// # Errors
/// As for [`run`].
pub fn run_in(
    name: &str,
    options: &Value,
    config: &[(String, Value)],
    wanted: u32,
    module: &IRModule,
) -> Result<LocalRun, PassError> {
    let local = Local { config: with_defaults(config), wanted, ..Local::new(module.clone()) };
    let pass = local.create(name, options)?;
    let new = local.check(&pass, module, 0).and_then(|()| local.run(&pass, module, 0));
    if let Some(error) = local.broken.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    let new = new?;
    let diagnostics = local.diagnostics.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(error) = diagnostics.iter().find(|said| said.rec().severity >= Severity::ERROR) {
        return Err(PassError::new(&error.rec().message).at(error.rec().node).in_function(&error.rec().function));
    }
    let counts = local.counts.into_inner().unwrap_or_else(PoisonError::into_inner);
    let files = local.files.into_inner().unwrap_or_else(PoisonError::into_inner);
    let (changed, asked) = (new.is_some(), local.asked.into_inner());
    Ok(LocalRun { changed, module: new.unwrap_or_else(|| module.clone()), diagnostics, counts, files, asked })
}

/// Makes a linked pass and does nothing with it.
///
/// # Errors
/// Returns an error if nothing of that name is linked, or the options are not its own.
pub fn make(name: &str, options: &Value) -> Result<(), PassError> {
    entered(|| Local::new(IRModule::new()).create(name, options).map(drop))
}

/// Returns the record of a linked pass, by full name, alias, or the part of a name after its last dot.
pub fn info(name: &str) -> Option<&'static PassSpec> {
    registrations().find_map(|entry| match entry.item {
        Item::Pass(spec, _) if is_named(spec, name) => Some(spec),
        _ => None,
    })
}

/// Calls `body` with the facts about the linked operators that a function uses.
pub fn with_ops<R>(function: &Function, body: impl FnOnce(&mut dyn Operators) -> R) -> R {
    let local = Local::new(IRModule::new());
    let module = IRModule::new();
    let state = LocalCall { local: &local, module: &module, depth: 0, asking: None };
    let cx = call_cx(&state);
    body(&mut OpFactsTable::new(cx, function))
}

/// The newest version of a domain's operator set that a linked operator or evaluator is for.
pub fn newest_version(domain: &str) -> Option<u32> {
    let versions = registrations().flat_map(|entry| {
        let (ops, evals) = match entry.item {
            Item::Operators(ops) => (ops, &[][..]),
            Item::Evaluators(evals) => (&[][..], evals),
            _ => (&[][..], &[][..]),
        };
        let ops = ops.iter().map(|op| (op.domain, op.since_version));
        ops.chain(evals.iter().map(|eval| (eval.domain, eval.since_version)))
    });
    versions.filter(|(of, _)| is_same_domain(of, domain)).map(|(_, version)| version).max()
}

/// The options of a context: those given, and the defaults of others that are linked.
fn with_defaults(config: &[(String, Value)]) -> Value {
    let mut all = config.to_vec();
    for entry in registrations() {
        let Item::Option(&ConfigSpec { option: spec, aliases }) = entry.item else { continue };
        for (key, _) in all.iter_mut().filter(|(key, _)| aliases.contains(&key.as_str())) {
            *key = spec.name.to_owned();
        }
        let default = match (spec.default, spec.kind) {
            (Some(default), _) => default.to_value(),
            (None, OptionKind::Struct(_)) => Value::Struct(Vec::new()),
            (None, _) => continue,
        };
        if !all.iter().any(|(key, _)| key == spec.name) {
            all.push((spec.name.to_owned(), default));
        }
    }
    Value::Struct(all)
}

fn is_full_or_short(full: &str, name: &str) -> bool {
    full == name || full.rsplit('.').next() == Some(name)
}

fn is_named(spec: &PassSpec, name: &str) -> bool {
    std::iter::once(&spec.name).chain(spec.aliases).any(|full| is_full_or_short(full, name))
}

/// How deep passes may run passes.
const MAX_DEPTH: usize = 16;

struct LocalPass {
    spec: &'static PassSpec,
    object: PassObject,
}

struct LocalOp {
    domain: &'static str,
    name: &'static str,
    since: u32,
    facts: &'static [u8],
    op: Option<&'static Operator>,
    /// The additions of others to it.
    added: Option<LocalAdditions>,
    more: Vec<u8>,
    eval: Option<&'static EvalFn>,
}

struct LocalAdditions {
    additions: Vec<&'static Addition>,
    merged: Merged,
}

impl LocalOp {
    fn facts(&self) -> &[u8] {
        self.added.as_ref().map_or(self.facts, |added| &added.merged.fields)
    }

    /// The operator that has a part: this one, or what another adds to it.
    fn of_part(&self, part: u8) -> Option<&'static Operator> {
        let added = self.added.as_ref().and_then(|added| {
            let giver = added.merged.giver(&AddedPart::of(part)?)?;
            Some(&added.additions[giver].op)
        });
        added.or(self.op)
    }
}

struct Local {
    module: IRModule,
    ops: Vec<LocalOp>,
    evals: Vec<LocalOp>,
    passes: Mutex<Vec<Arc<LocalPass>>>,
    diagnostics: Mutex<Vec<Diagnostic>>,
    counts: Mutex<BTreeMap<String, u64>>,
    files: Mutex<BTreeMap<String, Vec<u8>>>,
    /// The first operator whose type relation or evaluator panicked or returned something untrue, with its error.
    broken: Mutex<Option<PassError>>,
    /// A table of the context's options.
    config: Value,
    /// Bits of [`wanted`].
    wanted: u32,
    /// Whether a pass asked for them.
    asked: AtomicBool,
    /// The contexts that passes entered and have not left.
    entered: Mutex<Vec<LocalSettings>>,
    /// The analyses that were computed.
    known: Mutex<Vec<analysis::Known>>,
}

/// The settings of a context.
#[derive(Clone)]
struct LocalSettings {
    opt_level: u8,
    required: Vec<String>,
    disabled: Vec<String>,
    /// A table of options.
    config: Value,
}

impl LocalSettings {
    /// Defaults, with these options.
    fn new(config: Value) -> Self {
        let opt_level = PassContext::default().opt_level();
        Self { opt_level, required: Vec::new(), disabled: Vec::new(), config }
    }
}

impl Local {
    /// The settings of the current context: a run without a host begins with the default ones, and the options that it
    /// was given.
    fn settings(&self) -> LocalSettings {
        let entered = self.entered.lock().unwrap_or_else(PoisonError::into_inner);
        entered.last().cloned().unwrap_or_else(|| LocalSettings::new(self.config.clone()))
    }

    fn new(module: IRModule) -> Self {
        let mut local = Self {
            module,
            ops: Vec::new(),
            evals: Vec::new(),
            passes: Mutex::new(Vec::new()),
            diagnostics: Mutex::new(Vec::new()),
            counts: Mutex::default(),
            files: Mutex::default(),
            broken: Mutex::default(),
            config: Value::Struct(Vec::new()),
            wanted: wanted::REMARKS,
            asked: AtomicBool::new(false),
            entered: Mutex::default(),
            known: Mutex::default(),
        };
        let mut additions: Vec<(&Addition, &[u8])> = Vec::new();
        for entry in registrations() {
            match entry.item {
                Item::Operators(operators) => {
                    for (op, facts) in operators.iter().zip(fields(entry.records)) {
                        let Operator { domain, name, since_version: since, .. } = *op;
                        let eval = op.eval.as_ref();
                        let number = local.ops.len() as u32;
                        let more = op.verify.map_or_else(Vec::new, |_| verifier_field(number));
                        local.ops.push(LocalOp { domain, name, since, facts, op: Some(op), added: None, more, eval });
                    }
                }
                Item::Evaluators(evaluators) => local.evals.extend(evaluators.iter().map(|eval| LocalOp {
                    domain: eval.domain,
                    name: eval.name,
                    since: eval.since_version,
                    facts: &[],
                    op: None,
                    added: None,
                    more: Vec::new(),
                    eval: Some(&eval.eval),
                })),
                Item::Additions(all) => {
                    additions.extend(all.iter().zip(fields(entry.records)));
                    local.evals.extend(all.iter().filter_map(|Addition { op, .. }| {
                        let Operator { domain, name, since_version: since, ref eval, .. } = *op;
                        let eval = Some(eval.as_ref()?);
                        Some(LocalOp { domain, name, since, facts: &[], op: None, added: None, more: Vec::new(), eval })
                    }));
                }
                Item::Plugin(_)
                | Item::Pass(..)
                | Item::Instrument(..)
                | Item::Option(_)
                | Item::Pipeline
                | Item::Analysis(..) => {}
            }
        }
        // Registrations come in the order of the linker. Whatever the targets, all additions are tried.
        additions.sort_by_key(|(it, _)| (it.op.domain, it.op.name, it.op.since_version, it.target));
        for described in &mut local.ops {
            let is_meant = |op: &Operator| {
                is_same_domain(op.domain, described.domain)
                    && (op.name, op.since_version) == (described.name, described.since)
            };
            let meant: Vec<_> = additions.iter().filter(|(it, _)| is_meant(&it.op)).collect();
            if !meant.is_empty() {
                let rank = |it: &Addition| Rank { is_chosen: true, priority: it.priority, ..Rank::default() };
                let ranked: Vec<(Rank, &[u8])> = meant.iter().map(|(it, fields)| (rank(it), *fields)).collect();
                let merged = merge(described.facts, Rank::default(), &ranked);
                described.added = Some(LocalAdditions { additions: meant.iter().map(|(it, _)| *it).collect(), merged });
            }
        }
        local
    }

    fn create(&self, name: &str, options: &Value) -> Result<LocalPass, PassError> {
        let found = registrations().find_map(|entry| match entry.item {
            Item::Pass(spec, create) if is_named(spec, name) => Some((spec, create)),
            _ => None,
        });
        let (spec, create) = found.ok_or_else(|| PassError::new(format_args!("no pass `{name}` is linked")))?;
        let object = create(options).ok_or_else(|| PassError::new(format_args!("`{name}` has other options")))??;
        Ok(LocalPass { spec, object })
    }

    /// Asks a pass, and its members, whether they can work on a module.
    fn check(&self, pass: &LocalPass, module: &IRModule, depth: usize) -> Result<(), PassError> {
        if depth > MAX_DEPTH {
            return Err(PassError::new(format_args!("`{}` is a member of itself", pass.spec.name)));
        }
        let state = LocalCall { local: self, module, depth, asking: None };
        let cx = call_cx(&state);
        pass.object.check(&cx, module).into_result()?;
        if pass.spec.level == Level::SEQUENTIAL {
            for step in pass.object.steps().into_result()? {
                let options = Value::decode(&step.options).map_err(PassError::new)?;
                self.check(&self.create(&step.pass, &options)?, module, depth + 1)?;
            }
        }
        Ok(())
    }

    fn run(&self, pass: &LocalPass, module: &IRModule, depth: usize) -> Result<Option<IRModule>, PassError> {
        if depth > MAX_DEPTH {
            return Err(PassError::new(format_args!("`{}` runs itself without an end", pass.spec.name)));
        }
        let state = LocalCall { local: self, module, depth, asking: None };
        let cx = call_cx(&state);
        match pass.spec.level {
            Level::MODULE => Ok(pass.object.run_module(&cx, module).into_result()?.into_option()),
            Level::SEQUENTIAL => {
                let mut now: Option<IRModule> = None;
                for step in pass.object.steps().into_result()? {
                    let options = Value::decode(&step.options).map_err(PassError::new)?;
                    let member = self.create(&step.pass, &options)?;
                    let new = self.run(&member, now.as_ref().unwrap_or(module), depth + 1)?;
                    now = new.or(now);
                }
                Ok(now)
            }
            level => {
                let begins = pass.spec.flags & pass_flag::BEGINS != 0;
                let begun = begins.then(|| pass.object.begin(&cx, module).into_result()).transpose()?;
                let run = |function: &RArc<Function>| match (&begun, level) {
                    (Some(begun), _) => pass.object.run_begun(begun, &cx, function),
                    (None, Level::PRIM_FUNC) => pass.object.run_prim_func(&cx, function),
                    (None, _) => pass.object.run_function(&cx, function),
                };
                let mut new: Option<IRModule> = None;
                for global in module.globals() {
                    let name = global.name.as_str();
                    let in_function = |error: PassError| error.in_function(name);
                    if let (Level::PRIM_FUNC, Some(old)) = (level, global.prim_func()) {
                        let outcome = run(old).into_result().map_err(in_function)?;
                        if let ROption::RSome(changed) = outcome {
                            new.get_or_insert_with(|| module.clone()).set_prim_func(name, changed);
                        }
                    } else if let (Level::FUNCTION | Level::REWRITE, Some(old)) = (level, global.function()) {
                        let outcome = run(old).into_result().map_err(in_function)?;
                        if let ROption::RSome(changed) = outcome {
                            new.get_or_insert_with(|| module.clone()).set_function(name, changed);
                        }
                    }
                }
                if let Some(begun) = begun {
                    pass.object.end(begun, &cx, new.as_ref().unwrap_or(module)).into_result()?;
                }
                Ok(new)
            }
        }
    }
}

/// The fields of each of some records.
fn fields(mut records: &'static [u8]) -> impl Iterator<Item = &'static [u8]> {
    std::iter::from_fn(move || {
        let header = Header::read(records)?;
        let (fields, rest) = records.get(HEADER..)?.split_at_checked(header.len)?;
        records = rest;
        Some(fields)
    })
}

struct LocalCall<'a> {
    local: &'a Local,
    module: &'a IRModule,
    depth: usize,
    /// The analysis that is computed: its name, and where its subject is.
    asking: Option<(&'a LocalCall<'a>, &'static str, usize)>,
}

const TABLE: &WithMetadata<HostApi> = &WithMetadata::new(HostApi {
    module,
    diagnostic,
    wants,
    is_cancelled,
    progress,
    parallel_for,
    resolve_op,
    infer_entry: infer,
    eval_entry: eval,
    get_pass,
    run_pass,
    config,
    context,
    count,
    may_rewrite,
    operator_failed,
    enter_context,
    leave_context,
    call_entry: call,
    file,
    analysis: analysis::analysis,
});
const HOST: HostApiRef = HostApiRef(TABLE.static_as_prefix());

fn call_cx<'a>(state: &'a LocalCall<'_>) -> CallCx<'a> {
    // SAFETY: `HOST` takes the data for a `LocalCall`.
    unsafe { CallCx::new(HOST, HostData::new(state), log::max_level() as u8) }
}

fn state<'a>(data: HostData<'a>) -> &'a LocalCall<'a> {
    // SAFETY: `Local::run` makes the data of these functions, from a `LocalCall`.
    unsafe { data.get() }
}

extern "C" fn module(data: HostData<'_>) -> &IRModule {
    let state = state(data);
    if state.depth == 0 { &state.local.module } else { state.module }
}

extern "C" fn diagnostic(data: HostData<'_>, rec: DiagnosticRec) {
    state(data).local.diagnostics.lock().unwrap_or_else(PoisonError::into_inner).push(rec.into());
}

extern "C" fn wants(data: HostData<'_>, bits: u32) -> u32 {
    let local = state(data).local;
    local.asked.store(true, Ordering::Relaxed);
    bits & local.wanted
}

extern "C" fn may_rewrite(_: HostData<'_>, _: NodeId) -> u8 {
    1
}

extern "C" fn is_cancelled(_: HostData<'_>) -> u8 {
    0
}

extern "C" fn progress(_: HostData<'_>, _: u64, _: u64) {}

unsafe extern "C" fn parallel_for(_: HostData<'_>, n: usize, state: *const (), body: ParallelBody) {
    // SAFETY: the caller passes the state with the body.
    (0..n).for_each(|index| unsafe { body.turn(state, index) });
}

/// The one with the greatest first version that is not above `version`; none if there are two that differ, as in a
/// host. Examples of documentation that are linked into one program may each describe it in the same way.
fn best(ops: &[LocalOp], domain: &str, name: &str, version: u32, ok: impl Fn(&LocalOp) -> bool) -> Option<usize> {
    let is_match = |op: &LocalOp| op.name == name && is_same_domain(op.domain, domain) && op.since <= version && ok(op);
    let newest = ops.iter().filter(|op| is_match(op)).map(|op| op.since).max()?;
    let mut found = ops.iter().enumerate().filter(|(_, op)| is_match(op) && op.since == newest);
    let (index, first) = found.next()?;
    found.all(|(_, other)| other.facts == first.facts).then_some(index)
}

extern "C" fn resolve_op<'a>(data: HostData<'a>, domain: RStr<'_>, name: RStr<'_>, version: u32) -> ResolvedOp<'a> {
    let local = state(data).local;
    let found = best(&local.ops, &domain, &name, version, |_| true);
    let op = found.map(|index| &local.ops[index]);
    let eval = best(&local.evals, &domain, &name, version, |_| true).map(|index| local.ops.len() + index);
    let own_eval = found.filter(|&index| local.ops[index].eval.is_some());
    let id = |index: usize| index as u32;
    let has = |part: u8| found.filter(|_| op.is_some_and(|op| has_part(op.of_part(part), part))).map(id).into();
    ResolvedOp {
        is_known: u8::from(op.is_some()),
        is_closed: 0,
        facts: op.map_or(&[][..], LocalOp::facts).into(),
        infer: has(operator_part::RELATION),
        eval: own_eval.or(eval).map(id).into(),
        compute: has(operator_part::COMPUTE),
        gradient: has(operator_part::GRADIENT),
        body: has(operator_part::BODY),
        more: op.map_or(&[][..], |op| op.more.as_slice()).into(),
        ..ResolvedOp::UNKNOWN
    }
}

fn has_part(op: Option<&'static Operator>, part: u8) -> bool {
    op.is_some_and(|op| match part {
        operator_part::RELATION => op.infer.is_some(),
        part => call_entry(op, part).is_some(),
    })
}

extern "C" fn infer(data: HostData<'_>, id: u32) -> RResult<InferEntry, PassError> {
    let entry = operator(data, id).and_then(|op| op.op).and_then(|op| op.infer.as_ref()).map(infer_entry);
    entry.ok_or_else(|| PassError::new("no such type relation")).into()
}

extern "C" fn call(data: HostData<'_>, part: u8, id: u32) -> RResult<CallEntry, PassError> {
    let entry = operator(data, id).and_then(|op| op.of_part(part)).and_then(|op| call_entry(op, part));
    entry.ok_or_else(|| PassError::new("no such function of an operator")).into()
}

fn operator<'a>(data: HostData<'a>, id: u32) -> Option<&'a LocalOp> {
    state(data).local.ops.get(id as usize)
}

extern "C" fn eval(data: HostData<'_>, id: u32) -> RResult<EvalEntry, PassError> {
    let Local { ops, evals, .. } = state(data).local;
    let entry = ops.iter().chain(evals).nth(id as usize).and_then(|op| op.eval).map(eval_entry);
    entry.ok_or_else(|| PassError::new("no such evaluator")).into()
}

extern "C" fn get_pass(data: HostData<'_>, name: RStr<'_>, options: RSlice<'_, u8>) -> RResult<u32, PassError> {
    let local = state(data).local;
    let options = Value::decode(options.as_slice()).map_err(PassError::new);
    let pass = options.and_then(|options| local.create(&name, &options));
    let id = pass.map(|pass| {
        let mut passes = local.passes.lock().unwrap_or_else(PoisonError::into_inner);
        passes.push(Arc::new(pass));
        (passes.len() - 1) as u32
    });
    id.into()
}

extern "C" fn run_pass(data: HostData<'_>, id: u32, module: &IRModule) -> PassResult<IRModule> {
    let state = state(data);
    let pass = state.local.passes.lock().unwrap_or_else(PoisonError::into_inner).get(id as usize).cloned();
    let Some(pass) = pass else { return RResult::RErr(PassError::new("no such pass")) };
    let depth = state.depth + 1;
    let new = state.local.check(&pass, module, depth).and_then(|()| state.local.run(&pass, module, depth));
    new.map(ROption::from).into()
}

extern "C" fn config(data: HostData<'_>, key: RStr<'_>) -> ROption<RVec<u8>> {
    state(data).local.settings().config.get(&key).map(|value| value.encode().into()).into()
}

extern "C" fn context(data: HostData<'_>) -> RVec<u8> {
    let LocalSettings { opt_level, required, disabled, config } = state(data).local.settings();
    PassContext::encode(opt_level, &required, &disabled, |_| Vec::new(), &config).into()
}

extern "C" fn enter_context(data: HostData<'_>, settings: RSlice<'_, u8>) -> RResult<(), PassError> {
    let local = state(data).local;
    let enter = || {
        let ContextSettings { inherits, opt_level, required, disabled, config: given, instruments } =
            ContextSettings::decode(settings.as_slice())?;
        if let Some((name, _)) = instruments.first() {
            let error = PassError::new(format_args!("no host is here to make the instrument `{name}`"));
            return Err(error.help("test the pass in `relais run`"));
        }
        let mut settings = if inherits { local.settings() } else { LocalSettings::new(with_defaults(&[])) };
        settings.opt_level = opt_level.unwrap_or(settings.opt_level);
        settings.required.extend(required);
        settings.disabled.extend(disabled);
        if let Value::Struct(config) = &mut settings.config {
            config.retain(|(key, _)| !given.iter().any(|(other, _)| other == key));
            config.extend(given);
        }
        local.entered.lock().unwrap_or_else(PoisonError::into_inner).push(settings);
        Ok(())
    };
    enter().into()
}

extern "C" fn leave_context(data: HostData<'_>) -> RResult<(), PassError> {
    let left = state(data).local.entered.lock().unwrap_or_else(PoisonError::into_inner).pop();
    left.map(drop).ok_or_else(|| PassError::new("no context was entered")).into()
}

extern "C" fn operator_failed(data: HostData<'_>, part: u8, id: u32, message: RStr<'_>) {
    let Local { ops, evals, broken, .. } = state(data).local;
    let name = ops.iter().chain(evals).nth(id as usize).map_or("?", |op| op.name);
    let what = operator_part::name(part);
    let error = PassError::new(format_args!("the {what} of `{name}` is at fault: {message}"));
    broken.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
}

extern "C" fn file(data: HostData<'_>, name: RStr<'_>, contents: RSlice<'_, u8>) -> RResult<(), PassError> {
    let mut files = state(data).local.files.lock().unwrap_or_else(PoisonError::into_inner);
    let checked = check_file_name(&name, files.keys().map(String::as_str));
    checked.map(|()| drop(files.insert(name.into(), contents.as_slice().to_owned()))).into()
}

extern "C" fn count(data: HostData<'_>, name: RStr<'_>, n: u64) {
    let mut counts = state(data).local.counts.lock().unwrap_or_else(PoisonError::into_inner);
    *counts.entry(name.into()).or_default() += n;
}

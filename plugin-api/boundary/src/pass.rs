//! The context of a pass, and the requests that it can make of its host.

pub use relais_ops::facts::{OpFacts, OpFactsTable};

use crate::{
    abi::{CallCx, StepRec, error_kind, wanted},
    analysis::{self, Analysed, Analysis, AnalysisOf, AnalysisSubject},
    context::{ContextSettings, PassContext},
    options::{OptionType, Value, of_type},
    parallel,
    record::{PassSpec, RequiredSpec, StatisticSpec},
};
use abi_stable::std_types::RVec;
use relais_ir::{
    Editor, Function, IRModule, Lists, NodeId,
    diagnostics::{Diagnostic, PassError, Severity},
};
use relais_ops::{
    bodies::Bodies,
    rewrite::{DriveOptions, DriveStats, RewriteFn, drive_while},
};
use relais_words::nearest;
use std::fmt;

/// The statistic that the rewrite driver counts for passes that declare it, as the attribute of rewrites does.
pub const REWRITES: StatisticSpec = StatisticSpec { name: "rewritten", doc: "calls replaced" };

/// A pass that another one, or a sequence, requires.
#[derive(Clone, PartialEq, Debug)]
pub struct Requirement {
    /// Its name.
    pub pass: String,
    /// A struct of the options that it runs with where they are not the defaults.
    pub options: Value,
}

impl From<&str> for Requirement {
    fn from(pass: &str) -> Self {
        Self { pass: pass.to_owned(), options: Value::Struct(Vec::new()) }
    }
}

impl From<&RequiredSpec> for Requirement {
    fn from(&RequiredSpec { pass, options }: &RequiredSpec) -> Self {
        let options = options.iter().map(|(name, value)| ((*name).to_owned(), value.to_value()));
        Self { pass: pass.to_owned(), options: Value::Struct(options.collect()) }
    }
}

impl fmt::Display for Requirement {
    /// The name, then the options where there are some: `acme.Fuse { wide = true }`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.pass)?;
        match &self.options {
            Value::Struct(options) if options.is_empty() => Ok(()),
            options => write!(f, " {options}"),
        }
    }
}

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
        self.call.module()
    }

    /// Name, level, requirements and so on of the pass that runs.
    pub fn info(&self) -> &'static PassSpec {
        self.spec
    }

    /// Returns the facts about each operator that a function uses.
    pub fn ops(&self, function: &Function) -> OpFactsTable<'a> {
        OpFactsTable::new(self.call, function)
    }

    /// Returns where the bodies of operators come from, for [`add_bodies`](relais_ops::bodies::add_bodies).
    pub fn bodies(&self) -> impl Bodies + 'a {
        OpFactsTable::empty(self.call)
    }

    /// Returns the facts about operators, looked up when they are first needed.
    pub(crate) fn relations(&self) -> OpFactsTable<'a> {
        OpFactsTable::empty(self.call)
    }

    /// Emits a diagnostic about the module. One error makes the pass fail after it returns.
    pub fn diagnostic(&self, diagnostic: Diagnostic) {
        self.call.diagnostic(diagnostic.into_rec());
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
        self.call.wants(wanted::REMARKS) != 0
    }

    /// Whether the pass should stop: a time budget ran out, or the user pressed a key.
    pub fn is_cancelled(&self) -> bool {
        self.call.is_cancelled()
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
        self.call.progress(done, total);
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
        Ok(PassRef { call: self.call, id: self.call.get_pass(name, &options)? })
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
                self.0.take().map_or(Ok(()), CallCx::leave_context)
            }
        }
        impl Drop for Entered<'_> {
            fn drop(&mut self) {
                // After a panic, the panic is the pass's failure.
                let _ = self.leave();
            }
        }
        self.call.enter_context(&settings.encode())?;
        let mut entered = Entered(Some(self.call));
        let result = body();
        entered.leave().map(|()| result)
    }

    /// Adds to one of the statistics that the pass declares. They are summed over functions and runs, and shown on
    /// request; the counts of a failing pass are discarded. Counting an undeclared statistic is an error of the pass.
    pub fn count(&self, statistic: &str, n: usize) {
        if self.declares(statistic) {
            if n > 0 {
                self.call.count(statistic, n as u64);
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

    /// Gives a file that the pass made from the module, such as source code; the program that runs the pass writes it, all
    /// files of a run or none. `name` is a plain file name. The files of a failing pass are discarded.
    ///
    /// # Errors
    /// Returns an error if the name is not a file name, or the run has a file of that name already.
    pub fn file(&self, name: &str, contents: &[u8]) -> Result<(), PassError> {
        self.call.file(name, contents)
    }

    /// Returns an analysis of a function (an [`Editor`], a shared function) or of a module: computed, unless the host knows
    /// it for just this one. Passes of a run share results.
    ///
    /// # Errors
    /// Returns an error if it cannot be computed.
    pub fn analysis<A: Analysis>(&self, of: &impl AnalysisOf<A::Of>) -> Result<Analysed<A>, PassError> {
        analysis::needed(analysis::ask(self.call, of, false)?)
    }

    /// Returns the same if it is known, and computes nothing.
    ///
    /// # Errors
    /// Returns an error if no plugin provides it any more.
    pub fn known_analysis<A: Analysis>(&self, of: &impl AnalysisOf<A::Of>) -> Result<Option<Analysed<A>>, PassError> {
        analysis::ask(self.call, of, true)
    }

    /// Returns the lists of an analysis of any plugin, or of the host, by name, short or full.
    ///
    /// # Errors
    /// Returns an error if nothing provides it, it has none or cannot be computed, or the function was changed.
    pub fn analysis_lists<S: AnalysisSubject + ?Sized>(
        &self,
        name: &str,
        of: &impl AnalysisOf<S>,
    ) -> Result<Lists, PassError> {
        analysis::lists(self.call, name, of)
    }

    /// The context that the pass runs in: level, lists and options.
    pub fn context(&self) -> PassContext {
        let encoded = self.call.context();
        // A host of this boundary version never sends a context that cannot be decoded.
        PassContext::decode(&encoded).unwrap_or_default()
    }

    /// Returns an option of the context; `None` if it is not registered.
    ///
    /// # Errors
    /// Returns an error if it has another type.
    pub fn config<T: OptionType>(&self, key: &str) -> Result<Option<T>, PassError> {
        // A host of this boundary version never sends a value that cannot be decoded.
        let value = self.call.config(key).and_then(|encoded| Value::decode(&encoded).ok());
        value.map(|value| of_type(key, &value)).transpose()
    }
}

/// Checks the name of a file that a pass gives, beside those of the run.
///
/// # Errors
/// Returns an error if it is not that of a file in a directory, or there is one with that name, in any case.
pub fn check_file_name<'a>(name: &str, mut others: impl Iterator<Item = &'a str>) -> Result<(), PassError> {
    // A file system takes these as parts of a path; Windows does not take them in a name.
    let is_odd = |c: char| c.is_control() || matches!(c, '/' | '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|');
    if name.is_empty()
        || name.len() > 255
        || name.contains(is_odd)
        || name.starts_with('.')
        || name.ends_with(['.', ' '])
    {
        let message = format_args!("`{}` is not the name of a file", name.escape_debug());
        return Err(PassError::new(message).help("give a name such as `model.c`, without a directory"));
    }
    match others.find(|other| other.eq_ignore_ascii_case(name)) {
        Some(other) => Err(PassError::new(format_args!("this run has a file `{other}` already"))
            .help("run the pass once, or set its option for the name of the files")),
        None => Ok(()),
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
        Ok(self.call.run_pass(self.id, module)?.unwrap_or_else(|| module.clone()))
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

/// Offers every live call of the operators `ops` (all calls if empty) to `rule` until nothing changes; what it did and
/// what it declines become remarks. New nodes are typed as they are inserted. In a prim func, what nothing uses any more
/// is removed.
///
/// # Errors
/// Returns an error if the rule still applies after the most rounds that `options` allow.
pub fn drive(
    editor: &mut Editor,
    cx: &PassCx<'_>,
    rule: &mut RewriteFn<'_>,
    ops: &[&str],
    options: DriveOptions,
) -> Result<DriveStats, PassError> {
    let check: &dyn Fn() -> Result<(), PassError> = &|| cx.check_cancelled();
    let stats = drive_while(editor, &mut cx.relations(), rule, ops, options, check)?;
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
    let error = stats.unsettled();
    Err(match stats.last {
        Some((call, what)) => error.at(call).with_note(format_args!("the last rewrite replaced {what}")),
        None => error,
    })
}

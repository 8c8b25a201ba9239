//! Passes and operators of plugins that share no types with this library, as those of every other plugin.

use super::c_table::{CFailure, CPlugin, CState, Requests, c_failure};
use abi_stable::std_types::RArc;
use relais_plugin_api::{
    boundary::{
        abi::{CallCx, CallEntry, EvalEntry, InferEntry, PassObject, RequestCx, operator_part},
        foreign::{ForeignPass, foreign_eval, foreign_infer, foreign_pass, foreign_text},
        ship::{Ship, ShipError},
    },
    diagnostics::{Diagnostic, PassError},
    facts::OpFactsTable,
    infer::{Coverage, infer_function},
    ir::{Function, IRModule},
    op::OpError,
};

/// A pass of a plugin like this.
struct CPass {
    state: CState,
}

/// The requests of a pass.
struct OfPass<'a>(CallCx<'a>);

impl Requests for OfPass<'_> {
    fn diagnostic(&self, diagnostic: Diagnostic) {
        self.0.diagnostic(diagnostic.into_rec());
    }

    fn count(&self, statistic: &str, n: u64) {
        self.0.count(statistic, n);
    }

    fn file(&self, name: &str, contents: &[u8]) -> Result<(), PassError> {
        self.0.file(name, contents)
    }

    fn config(&self, key: &str) -> Option<Vec<u8>> {
        self.0.config(key).map(Vec::from)
    }

    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }
}

/// The requests of an operator.
struct OfOperator<'a>(RequestCx<'a>);

impl Requests for OfOperator<'_> {
    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }
}

/// The requests of what is being made.
struct OfMaking;

impl Requests for OfMaking {
    fn is_cancelled(&self) -> bool {
        false
    }
}

fn unreadable(error: &ShipError) -> String {
    format!("its answer cannot be read: {error}")
}

fn refused(error: ShipError) -> PassError {
    PassError::new(unreadable(&error)).help("`docs/abi.md` describes the ship format")
}

/// Infers the types of a function; faults of calls are found again when the host takes it over.
fn infer_types(call: CallCx<'_>, f: &mut Function) {
    let mut relations = OpFactsTable::new(call, f);
    infer_function(f, &mut relations, Coverage::Missing);
}

impl CPass {
    fn run_one(
        &self,
        call: &CallCx<'_>,
        function: &RArc<Function>,
        infer: impl Fn(&mut Function),
    ) -> Result<Option<RArc<Function>>, PassError> {
        let ship = Ship::function(function);
        let name = call.module().bodies().find(|(_, body)| std::ptr::eq(&***body, &**function));
        let back = CPlugin::run(&self.state, name.map_or("", |(name, _)| name), &ship, &OfPass(*call))?;
        let Some(back) = back.filter(|back| back != ship.bytes()) else { return Ok(None) };
        Ok(Some(RArc::new(ship.function_back(&back, function, infer).map_err(refused)?)))
    }
}

impl ForeignPass for CPass {
    fn function(&self, call: &CallCx<'_>, function: &RArc<Function>) -> Result<Option<RArc<Function>>, PassError> {
        self.run_one(call, function, |f| infer_types(*call, f))
    }

    fn prim_func(&self, call: &CallCx<'_>, prim_func: &RArc<Function>) -> Result<Option<RArc<Function>>, PassError> {
        // The host infers all types of a loop program when it takes it over.
        self.run_one(call, prim_func, |_| {})
    }

    fn module(&self, call: &CallCx<'_>, module: &IRModule) -> Result<Option<IRModule>, PassError> {
        let ship = Ship::module(module);
        let back = CPlugin::run(&self.state, "", &ship, &OfPass(*call))?;
        let Some(back) = back.filter(|back| back != ship.bytes()) else { return Ok(None) };
        ship.module_back(&back, module, |f| infer_types(*call, f)).map(Some).map_err(refused)
    }
}

impl CPlugin {
    /// Makes a pass.
    ///
    /// # Errors
    /// Returns an error if the plugin does.
    pub fn create_pass(&self, name: &str, options: &[u8]) -> Result<PassObject, PassError> {
        Ok(foreign_pass(CPass { state: self.create(name, options, &OfMaking)? }))
    }

    /// The code that is asked about a part of an operator.
    fn asks(
        self,
        part: u8,
        (domain, name, since): (&str, &str, u32),
    ) -> impl Fn(&Ship, RequestCx<'_>) -> Result<Vec<u8>, OpError> + Send + Sync + use<> {
        let (domain, name) = (domain.to_owned(), name.to_owned());
        move |ship, cx| {
            let answer = self.operator(part, (&domain, &name, since), ship, &OfOperator(cx));
            answer.map_err(operator_failure)
        }
    }

    /// The code of a type relation or an evaluator.
    fn code(
        self,
        part: u8,
        op: (&str, &str, u32),
    ) -> impl Fn(&Function, RequestCx<'_>) -> Result<Function, OpError> + Send + Sync + use<> {
        let ask = self.asks(part, op);
        move |call, cx| {
            let ship = Ship::function(call);
            ship.answer(&ask(&ship, cx)?, call).map_err(|error| OpError::lied(unreadable(&error)))
        }
    }

    /// The type relation of an operator: domain, name, first version.
    pub fn infer(self, op: (&str, &str, u32)) -> Option<InferEntry> {
        self.has_operators().then(|| foreign_infer(Box::new(self.code(operator_part::RELATION, op))))
    }

    /// The evaluator of an operator.
    pub fn eval(self, op: (&str, &str, u32)) -> Option<EvalEntry> {
        self.has_operators().then(|| foreign_eval(Box::new(self.code(operator_part::EVALUATOR, op))))
    }

    /// The function of an operator that makes a text about a call, or verifies it.
    pub fn call_entry(self, part: u8, op: (&str, &str, u32)) -> Option<CallEntry> {
        let ask = self.asks(part, op);
        let code = move |call: &Function, cx: RequestCx<'_>| {
            let text = ask(&Ship::function(call), cx)?;
            String::from_utf8(text).map_err(|_| OpError::lied("the text that it made is not UTF-8"))
        };
        self.has_operators().then(|| foreign_text(part, Box::new(code)))
    }
}

fn operator_failure(failure: CFailure) -> OpError {
    match failure.kind {
        _ if failure.is_lie => OpError::lied(failure.message),
        c_failure::UNSUPPORTED | c_failure::CANCELLED => OpError::unsupported(failure.message),
        _ => OpError::invalid(failure.message),
    }
}

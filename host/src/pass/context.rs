//! Pass contexts: a stack for each thread over a default of its own (rules R8 to R10, R18, R19).

use super::{
    Scope,
    instrument::{Hook, HookFault, PassInstrument},
};
use relais_plugin_api::{boundary::guard::caught, diagnostics::PassError};
use std::{
    cell::RefCell,
    fmt,
    marker::PhantomData,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::{self, ThreadId},
};

/// The settings of the passes that run in it: levels, lists, options, instruments.
#[derive(Default)]
pub struct PassContext {
    scope: Scope,
    /// Shared by the contexts of a run's scopes.
    instruments: Arc<Instruments>,
    /// The first hook that failed for a pass that another pass ran.
    fault: Mutex<Option<HookFault>>,
}

type List = Vec<Arc<dyn PassInstrument>>;

#[derive(Default)]
struct Instruments {
    list: Mutex<List>,
    changing: Mutex<Vec<Change>>,
}

/// A hook that enters or leaves a context, while it runs.
#[derive(Clone)]
struct Change {
    thread: ThreadId,
    instrument: Arc<dyn PassInstrument>,
    hook: Hook,
}

impl Instruments {
    fn list(&self) -> MutexGuard<'_, List> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn changing(&self) -> MutexGuard<'_, Vec<Change>> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls a hook that enters or leaves the context.
    fn change(&self, instrument: &Arc<dyn PassInstrument>, hook: Hook) -> Result<(), HookFault> {
        let thread = thread::current().id();
        self.changing().push(Change { thread, instrument: instrument.clone(), hook });
        let result = caught(|| match hook {
            Hook::Enter => instrument.enter(),
            _ => instrument.exit(),
        });
        let mut changing = self.changing();
        let own = changing.iter().rposition(|change| change.thread == thread).map(|at| changing.remove(at));
        drop(changing);
        drop(own);
        result.and_then(|done| done).map_err(|error| HookFault::new(&**instrument, hook, error))
    }
}

/// An error of a context.
#[derive(Debug)]
#[non_exhaustive]
pub enum ContextError {
    /// A hook failed.
    Hook(HookFault),
    /// Another context was entered after this one and not left; nothing was changed.
    OutOfOrder,
}

impl fmt::Display for ContextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hook(fault) => fault.fmt(f),
            Self::OutOfOrder => f.write_str("another pass context was entered after this one and has to be left first"),
        }
    }
}

impl std::error::Error for ContextError {}

impl From<HookFault> for ContextError {
    fn from(fault: HookFault) -> Self {
        Self::Hook(fault)
    }
}

/// An error of a context in which something ran.
pub struct ScopeError<T> {
    /// The error.
    pub error: ContextError,
    /// The result of the function that ran; nothing if the context was not entered, so that nothing ran.
    pub result: Option<T>,
}

impl<T> fmt::Debug for ScopeError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl<T> fmt::Display for ScopeError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl<T> std::error::Error for ScopeError<T> {}

struct Entered {
    context: Arc<PassContext>,
    id: u64,
    /// Its guard is gone, but contexts above it are still entered: it is left when they are.
    abandoned: bool,
}

#[derive(Default)]
struct Stack {
    default: Arc<PassContext>,
    entered: Vec<Entered>,
    next_id: u64,
}

thread_local! {
    static STACK: RefCell<Stack> = RefCell::default();
}

impl PassContext {
    /// A context with those settings, without instruments.
    pub fn new(scope: Scope) -> Self {
        Self { scope, ..Self::default() }
    }

    /// The same with instruments.
    pub fn with_instruments(self, instruments: Vec<Arc<dyn PassInstrument>>) -> Self {
        let list = Mutex::new(instruments);
        Self { instruments: Arc::new(Instruments { list, ..Instruments::default() }), ..self }
    }

    /// A context with other settings and the same instruments as this one.
    pub(crate) fn with_settings(&self, scope: Scope) -> Self {
        Self { scope, instruments: self.instruments.clone(), ..Self::default() }
    }

    /// Whether both have exactly the same instruments, even after these are replaced.
    pub(crate) fn shares_instruments(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.instruments, &other.instruments)
    }

    /// The innermost context of this thread; its default if none was entered.
    pub fn current() -> Arc<Self> {
        STACK.with_borrow(|stack| stack.entered.last().map_or(&stack.default, |entered| &entered.context).clone())
    }

    /// The default context of this thread, whatever was entered over it.
    pub fn of_thread() -> Arc<Self> {
        STACK.with_borrow(|stack| stack.default.clone())
    }

    /// A context that starts from the settings of the current one, without its instruments (rule R9).
    pub fn inherit() -> Self {
        Self::new(Self::current().scope.clone())
    }

    /// Its settings.
    pub fn settings(&self) -> &Scope {
        &self.scope
    }

    /// The same without instruments, for a part of a run. Names that are unknown need mean nothing there.
    pub(crate) fn unwatched(&self) -> Arc<Self> {
        Arc::new(Self::new(self.settings().clone().tolerant()))
    }

    /// Its instruments, in order.
    pub fn instruments(&self) -> Vec<Arc<dyn PassInstrument>> {
        self.instruments.list().clone()
    }

    /// Whether that object is one of its instruments.
    pub(crate) fn has(&self, instrument: &Arc<dyn PassInstrument>) -> bool {
        self.instruments.list().iter().any(|own| Arc::ptr_eq(own, instrument))
    }

    /// Keeps the fault of a hook until the caller of the pass asks for it.
    pub(crate) fn keep_fault(&self, fault: HookFault) {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(fault);
    }

    pub(crate) fn take_fault(&self) -> Option<HookFault> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Enters it: the `enter` hooks run first, the outer context being the current one.
    ///
    /// # Errors
    /// Returns an error if a hook fails: those that entered exit in reverse, the list is cleared, and the context is
    /// not entered.
    pub fn enter(self: &Arc<Self>) -> Result<ContextGuard, HookFault> {
        self.enter_instruments()?;
        Ok(ContextGuard { id: Some(self.push()), _this_thread: PhantomData })
    }

    /// Runs `f` in it. It is left on every path, including panics.
    ///
    /// # Errors
    /// Returns an error if a hook fails. The result of `f` is not lost.
    pub fn scope<T>(self: &Arc<Self>, f: impl FnOnce(&Arc<Self>) -> T) -> Result<T, ScopeError<T>> {
        let guard = self.enter().map_err(|fault| ScopeError { error: fault.into(), result: None })?;
        let result = f(self);
        match guard.leave() {
            Ok(()) => Ok(result),
            Err(error) => Err(ScopeError { error, result: Some(result) }),
        }
    }

    /// Replaces its instruments: the old ones exit, the new ones enter. Within a run, the old ones are told nothing more,
    /// and the new ones are told of the passes about which instruments are asked from then on.
    ///
    /// # Errors
    /// When an old one fails to exit, none are installed; when a new one fails to enter, none stay. A hook that enters or
    /// leaves this context cannot replace its instruments: nothing is changed.
    pub fn override_instruments(&self, instruments: Vec<Arc<dyn PassInstrument>>) -> Result<(), HookFault> {
        let thread = thread::current().id();
        let within = self.instruments.changing().iter().rev().find(|change| change.thread == thread).cloned();
        if let Some(Change { instrument, hook, .. }) = within {
            let error = PassError::new("it replaces the instruments of the context that is being entered or left");
            let error = error.help("replace them in another hook, or before the context is entered");
            return Err(HookFault::new(&*instrument, hook, error));
        }
        self.exit_instruments()?;
        *self.instruments.list() = instruments;
        self.enter_instruments()
    }

    /// Makes it the current one of this thread until the guard is dropped, without any hook: for a thread that works for
    /// another one.
    pub fn adopt(self: &Arc<Self>) -> ContextGuard {
        ContextGuard { id: Some(self.push_entry()), _this_thread: PhantomData }
    }

    fn push(self: &Arc<Self>) -> u64 {
        self.push_entry() | LOUD
    }

    fn push_entry(self: &Arc<Self>) -> u64 {
        STACK.with_borrow_mut(|stack| {
            stack.next_id += 2;
            let id = stack.next_id;
            stack.entered.push(Entered { context: self.clone(), id, abandoned: false });
            id
        })
    }

    /// Runs the `enter` hooks, as [`enter`](Self::enter) does first, and nothing else: for those who keep by themselves
    /// which context is current, and let threads [`adopt`](Self::adopt) it.
    ///
    /// # Errors
    /// As for [`enter`](Self::enter).
    pub fn enter_instruments(&self) -> Result<(), HookFault> {
        let instruments = self.instruments();
        for (i, instrument) in instruments.iter().enumerate() {
            let Err(mut fault) = self.instruments.change(instrument, Hook::Enter) else { continue };
            let entered = instruments[..i].iter().rev();
            fault.also.extend(entered.filter_map(|entered| self.instruments.change(entered, Hook::Exit).err()));
            self.instruments.list().clear();
            return Err(fault);
        }
        Ok(())
    }

    /// Runs the `exit` hooks, as [`ContextGuard::leave`] does last, and nothing else.
    ///
    /// # Errors
    /// Returns an error if a hook fails: later ones do not run, and the list is cleared.
    pub fn exit_instruments(&self) -> Result<(), HookFault> {
        for instrument in self.instruments() {
            if let Err(fault) = self.instruments.change(&instrument, Hook::Exit) {
                self.instruments.list().clear();
                return Err(fault);
            }
        }
        Ok(())
    }
}

/// The lowest bit of a guard's id: whether hooks run when it leaves. Ids of entries are even.
const LOUD: u64 = 1;

/// A context that was entered. It is left when this is dropped; [`leave`](Self::leave) returns the error of leaving.
pub struct ContextGuard {
    id: Option<u64>,
    /// The stack is this thread's.
    _this_thread: PhantomData<*const ()>,
}

impl ContextGuard {
    /// Leaves the context: it is no longer the current one, then its `exit` hooks run.
    ///
    /// # Errors
    /// Returns an error if a hook fails, or another context has to be left first.
    pub fn leave(mut self) -> Result<(), ContextError> {
        let Some(id) = self.id else { return Ok(()) };
        let is_top = STACK.with_borrow(|stack| stack.entered.last().is_some_and(|top| top.id == id & !LOUD));
        if !is_top {
            // The context stays entered, and is left with those above it when this guard is dropped.
            return Err(ContextError::OutOfOrder);
        }
        self.id = None;
        pop(id)?;
        Ok(())
    }
}

impl Drop for ContextGuard {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let is_top = STACK.with_borrow_mut(|stack| {
            let at = stack.entered.iter().rposition(|entered| entered.id == id & !LOUD);
            let Some(at) = at else { return false };
            stack.entered[at].abandoned = true;
            at + 1 == stack.entered.len()
        });
        if !is_top {
            return;
        }
        if let Err(fault) = pop(id) {
            log::error!("{fault}");
        }
    }
}

/// Pops the innermost context, and those under it that are no longer held.
fn pop(id: u64) -> Result<(), HookFault> {
    let mut left = Vec::new();
    STACK.with_borrow_mut(|stack| {
        left.extend(stack.entered.pop());
        while stack.entered.last().is_some_and(|entered| entered.abandoned) {
            left.extend(stack.entered.pop());
        }
    });
    let mut fault: Option<HookFault> = None;
    for entered in left {
        if entered.id == id & !LOUD && id & LOUD == 0 {
            continue;
        }
        if let Err(next) = entered.context.exit_instruments() {
            match &mut fault {
                None => fault = Some(next),
                Some(first) => first.also.push(next),
            }
        }
    }
    fault.map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    type PassMessage = Arc<Mutex<Vec<String>>>;

    /// Records its calls, and fails at one hook.
    struct Scribe {
        name: &'static str,
        fails_at: Option<Hook>,
        said: Arc<Mutex<Vec<String>>>,
    }

    impl Scribe {
        fn hook(&self, hook: Hook) -> Result<(), PassError> {
            self.said.lock().unwrap().push(format!("{} {}", self.name, hook.name()));
            match self.fails_at == Some(hook) {
                true => Err(PassError::new("told to fail")),
                false => Ok(()),
            }
        }
    }

    impl PassInstrument for Scribe {
        fn name(&self) -> &str {
            self.name
        }

        fn enter(&self) -> Result<(), PassError> {
            self.hook(Hook::Enter)
        }

        fn exit(&self) -> Result<(), PassError> {
            self.hook(Hook::Exit)
        }
    }

    fn scribes(failing: &'static str, hook: Hook) -> (PassMessage, Vec<Arc<dyn PassInstrument>>) {
        let said = Arc::new(Mutex::new(Vec::new()));
        let scribe = |name| -> Arc<dyn PassInstrument> {
            Arc::new(Scribe { name, fails_at: (name == failing).then_some(hook), said: said.clone() })
        };
        (said.clone(), ["a", "b", "c"].map(scribe).into())
    }

    fn level(opt_level: u8) -> Arc<PassContext> {
        Arc::new(PassContext::new(Scope { opt_level, ..Scope::default() }))
    }

    #[test]
    fn r08_contexts_are_a_stack_over_a_default_of_level_two() {
        assert_eq!(PassContext::current().settings().opt_level, 2);
        let inner = level(3).scope(|_| {
            let fresh = PassContext::new(Scope::default()).settings().opt_level;
            (PassContext::current().settings().opt_level, PassContext::inherit().settings().opt_level, fresh)
        });
        assert_eq!(inner.unwrap(), (3, 3, 2));
        assert_eq!(PassContext::current().settings().opt_level, 2);
    }

    #[test]
    fn r08_a_panic_leaves_the_context() {
        let result = std::panic::catch_unwind(|| level(1).scope::<()>(|_| panic!("on purpose")));
        assert!(result.is_err());
        assert_eq!(PassContext::current().settings().opt_level, 2);
    }

    #[test]
    fn r08_leaving_out_of_order_is_an_error_that_changes_nothing() {
        let outer = level(0).enter().unwrap();
        let inner = level(1).enter().unwrap();
        assert!(matches!(outer.leave(), Err(ContextError::OutOfOrder)));
        assert_eq!(PassContext::current().settings().opt_level, 1);
        inner.leave().unwrap();
        assert_eq!(PassContext::current().settings().opt_level, 2);
    }

    #[test]
    fn r18_a_failing_enter_undoes_the_ones_before_it() {
        let (said, instruments) = scribes("b", Hook::Enter);
        let context = Arc::new(PassContext::default().with_instruments(instruments));
        assert!(context.enter().is_err());
        assert_eq!(*said.lock().unwrap(), ["a enter", "b enter", "a exit"]);
        assert!(context.instruments().is_empty());
        assert_eq!(STACK.with_borrow(|stack| stack.entered.len()), 0);
    }

    #[test]
    fn r18_a_failing_exit_stops_the_later_ones() {
        let (said, instruments) = scribes("b", Hook::Exit);
        let context = Arc::new(PassContext::default().with_instruments(instruments));
        let error = context.scope(|_| ()).unwrap_err();
        assert_eq!(error.to_string(), "instrument `b` failed at `exit`: told to fail");
        assert_eq!(said.lock().unwrap().last().unwrap(), "b exit");
        assert!(context.instruments().is_empty());
    }

    #[test]
    fn r19_a_failing_old_exit_installs_nothing() {
        let (_, old) = scribes("c", Hook::Exit);
        let (said, new) = scribes("", Hook::Exit);
        let context = Arc::new(PassContext::default().with_instruments(old));
        let guard = context.enter().unwrap();
        assert!(context.override_instruments(new).is_err());
        assert!(context.instruments().is_empty() && said.lock().unwrap().is_empty());
        guard.leave().unwrap();
    }
}

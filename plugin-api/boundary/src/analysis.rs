//! Analyses: as a plugin writes them, as passes ask for them, and those that the host has itself.

mod built_in;

pub use crate::abi::analysis::{Analysed, AnalysisObject, SubjectKind, SubjectRec};
pub use built_in::{BUILT_IN, BuiltInAnalysis};

use crate::{
    abi::{CallCx, error_kind},
    record::AnalysisSpec,
};
use abi_stable::std_types::RArc;
use relais_ir::{Editor, Function, IRModule, Lists, diagnostics::PassError};
use relais_ops::facts::OpFactsTable;
use std::{any::Any, rc::Rc};

/// A result that is computed from a function, a loop program or a module, and from nothing else but the facts about
/// operators. The attribute of the same name registers it:
///
/// ```
/// use relais_plugin_api::{analysis::{Analysis, AnalysisCx}, ir::{Lists, Numbers}, prelude::*};
///
/// /// How many calls are above each node, itself included.
/// #[derive(PartialEq)]
/// struct Depth(Numbers<u32>);
///
/// #[analysis(name = "acme.Depth", depends = "structure", lists(depth = "by node: how many calls are above it"))]
/// impl Analysis for Depth {
///     fn compute(f: &Function, _: &AnalysisCx<'_>) -> Result<Self, PassError> {
///         let mut depth = vec![0; f.n_nodes()];
///         for id in f.all_bindings() {
///             let above = f.operands(id).iter().map(|id| depth[id.index()]).max().unwrap_or(0);
///             depth[id.index()] = above + u32::from(f.call(id).is_some());
///         }
///         Ok(Self(depth.into()))
///     }
///
///     fn lists(&self) -> Lists {
///         Lists::new().with("depth", &self.0)
///     }
/// }
///
/// #[function_pass(name = "acme.CountDepth", statistics(depth = "calls in the longest chains"))]
/// fn count_depth(edit: &mut Editor, cx: &PassCx<'_>) -> Result<(), PassError> {
///     let depth = cx.analysis::<Depth>(edit)?;
///     cx.count("depth", depth.0.iter().copied().max().unwrap_or(0) as usize);
///     Ok(())
/// }
/// ```
///
/// The host keeps results, and all passes of a run share them, as long as what they depend on has not changed. Two results
/// for one input are equal; `--verify-each` holds them to that.
pub trait Analysis: PartialEq + Send + Sync + Sized + 'static {
    /// The type of its subject: [`Function`], which loop programs are, too, or [`IRModule`].
    type Of: AnalysisSubject + ?Sized;

    /// Its record; the attribute fills it in.
    const SPEC: &'static AnalysisSpec;

    /// Computes it.
    ///
    /// # Errors
    /// Returns an error if it cannot be computed, which is one of the pass that asked.
    fn compute(of: &Self::Of, cx: &AnalysisCx<'_, Self::Of>) -> Result<Self, PassError>;

    /// Returns what other plugins, and programs, see of it: the lists that its record declares, in their order.
    fn lists(&self) -> Lists {
        Lists::new()
    }

    /// Reads it from lists that another library made. An analysis that returns nothing is known by its lists alone outside
    /// its own library.
    fn of_lists(_: &Lists) -> Option<Self> {
        None
    }
}

/// The unit that an analysis looks at: [`Function`] or [`IRModule`].
pub trait AnalysisSubject: 'static {
    /// Its kind in records.
    const KIND: SubjectKind;

    #[doc(hidden)]
    fn of<'a>(rec: &'a SubjectRec<'_>) -> Option<&'a dyn AnalysisOf<Self>>;
}

impl AnalysisSubject for Function {
    const KIND: SubjectKind = SubjectKind::FUNCTION;

    fn of<'a>(rec: &'a SubjectRec<'_>) -> Option<&'a dyn AnalysisOf<Self>> {
        rec.as_function().map(|function| function as &dyn AnalysisOf<Self>)
    }
}

impl AnalysisSubject for IRModule {
    const KIND: SubjectKind = SubjectKind::MODULE;

    fn of<'a>(rec: &'a SubjectRec<'_>) -> Option<&'a dyn AnalysisOf<Self>> {
        rec.as_module().map(|module| module as &dyn AnalysisOf<Self>)
    }
}

/// A value that analyses are of: a shared function, an [`Editor`] with the function in its current state, a module.
pub trait AnalysisOf<S: ?Sized> {
    /// Returns it as it is now.
    fn now(&self) -> &S;

    /// Returns it as the host knows it, unless it was changed.
    fn shared(&self) -> Option<SubjectRec<'_>>;

    #[doc(hidden)]
    fn kept(&self, _name: &str) -> Option<Rc<dyn Any>> {
        None
    }

    #[doc(hidden)]
    fn keep(&self, _name: &'static str, _result: Rc<dyn Any>) {}

    #[doc(hidden)]
    fn forget(&self, _name: &str) {}
}

impl AnalysisOf<Function> for RArc<Function> {
    fn now(&self) -> &Function {
        self
    }

    fn shared(&self) -> Option<SubjectRec<'_>> {
        Some(SubjectRec::function(self))
    }
}

impl AnalysisOf<Function> for Editor {
    fn now(&self) -> &Function {
        self.function()
    }

    fn shared(&self) -> Option<SubjectRec<'_>> {
        self.unwritten().map(SubjectRec::function)
    }

    fn kept(&self, name: &str) -> Option<Rc<dyn Any>> {
        Editor::kept(self, name)
    }

    fn keep(&self, name: &'static str, result: Rc<dyn Any>) {
        Editor::keep(self, name, result);
    }

    fn forget(&self, name: &str) {
        Editor::forget(self, name);
    }
}

impl AnalysisOf<IRModule> for IRModule {
    fn now(&self) -> &IRModule {
        self
    }

    fn shared(&self) -> Option<SubjectRec<'_>> {
        Some(SubjectRec::module(self))
    }
}

/// The context of an analysis while it is computed.
pub struct AnalysisCx<'a, S: ?Sized = Function> {
    call: CallCx<'a>,
    of: &'a dyn AnalysisOf<S>,
}

impl<'a, S: AnalysisSubject + ?Sized> AnalysisCx<'a, S> {
    /// Returns the facts about each operator that a function uses.
    pub fn ops(&self, function: &Function) -> OpFactsTable<'a> {
        OpFactsTable::new(self.call, function)
    }

    /// Returns another analysis of what this one is of.
    ///
    /// # Errors
    /// Returns an error if it cannot be computed, or depends on this one.
    pub fn same<A: Analysis<Of = S>>(&self) -> Result<Analysed<A>, PassError> {
        needed(ask(self.call, self.of, false)?)
    }

    /// Returns an analysis of something else: of a function of the module.
    ///
    /// # Errors
    /// As for [`same`](Self::same).
    pub fn analysis<A: Analysis>(&self, of: &impl AnalysisOf<A::Of>) -> Result<Analysed<A>, PassError> {
        needed(ask(self.call, of, false)?)
    }

    /// Returns the lists of an analysis of any plugin, by name, of what this one is of.
    ///
    /// # Errors
    /// Returns an error if nothing provides it, or it cannot be computed.
    pub fn same_lists(&self, name: &str) -> Result<Lists, PassError> {
        lists(self.call, name, self.of)
    }

    /// Stops an analysis that should stop.
    ///
    /// # Errors
    /// Returns an error if it should.
    pub fn check_cancelled(&self) -> Result<(), PassError> {
        match self.call.is_cancelled() {
            true => Err(PassError::with_kind(error_kind::CANCELLED, "cancelled")),
            false => Ok(()),
        }
    }
}

/// Asks the host, or, about something that it does not know, computes it here.
pub(crate) fn ask<A: Analysis>(
    call: CallCx<'_>,
    of: &dyn AnalysisOf<A::Of>,
    only_known: bool,
) -> Result<Option<Analysed<A>>, PassError> {
    let name = A::SPEC.name;
    if let Some(shared) = of.shared().filter(|_| call.has_analyses()) {
        return call.analysis(name, &shared, only_known)?.map(own).transpose();
    }
    if let Some(kept) = of.kept(name).and_then(|kept| kept.downcast_ref::<Analysed<A>>().cloned()) {
        return Ok(Some(kept));
    }
    if only_known {
        return Ok(None);
    }
    if of.kept(name).is_some_and(|kept| kept.is::<Computing>()) {
        return Err(PassError::new(format_args!("analysis `{name}` depends on itself")));
    }
    of.keep(name, Rc::new(Computing));
    let computed = A::compute(of.now(), &AnalysisCx { call, of }).map(|result| RArc::new(object(result)));
    match computed.and_then(own::<A>) {
        Ok(result) => {
            of.keep(name, Rc::new(result.clone()));
            Ok(Some(result))
        }
        Err(error) => {
            of.forget(name);
            Err(error)
        }
    }
}

/// Is kept in the place of a result that is computed.
struct Computing;

/// A result that was asked for without a condition.
pub(crate) fn needed<A>(result: Option<Analysed<A>>) -> Result<Analysed<A>, PassError> {
    result.ok_or_else(|| PassError::with_kind(error_kind::HOST, "the host has no result of an analysis"))
}

/// The lists of an analysis, by name. There are none of something that the host does not know.
pub(crate) fn lists<S: ?Sized>(call: CallCx<'_>, name: &str, of: &dyn AnalysisOf<S>) -> Result<Lists, PassError> {
    let Some(shared) = of.shared() else {
        let message = format_args!("the lists of `{name}` were asked for after the function was changed");
        return Err(PassError::new(message).help("ask for lists by name before the pass changes the function"));
    };
    let object = call.analysis(name, &shared, false)?;
    let lists = object.map(|object| object.lists().clone()).unwrap_or_default();
    if lists.is_empty() {
        let message = format_args!("`{name}` has no lists: only its own plugin can read it");
        return Err(PassError::new(message));
    }
    Ok(lists)
}

fn object<A: Analysis>(result: A) -> AnalysisObject {
    let lists = result.lists();
    AnalysisObject::new(result, lists)
}

/// A result as the type of this library.
fn own<A: Analysis>(object: RArc<AnalysisObject>) -> Result<Analysed<A>, PassError> {
    if let Some(result) = Analysed::new(object.clone()) {
        return Ok(result);
    }
    let read = A::of_lists(object.lists()).map(|result| AnalysisObject::new(result, object.lists().clone()));
    read.and_then(|object| Analysed::new(RArc::new(object))).ok_or_else(|| {
        let message = format_args!("`{}` of another library is not the type of this one", A::SPEC.name);
        PassError::with_kind(error_kind::HOST, message).help("ask for its lists, by name")
    })
}

/// Computes an analysis of what crossed the boundary.
///
/// # Errors
/// Returns an error if it cannot be computed, or is of something else.
pub fn compute<A: Analysis>(call: CallCx<'_>, of: &SubjectRec<'_>) -> Result<AnalysisObject, PassError> {
    let Some(of) = <A::Of as AnalysisSubject>::of(of) else {
        let AnalysisSpec { name, subject, .. } = A::SPEC;
        let message = format_args!("`{name}` is an analysis of a {} and was asked about another unit", subject.name());
        return Err(PassError::with_kind(error_kind::HOST, message));
    };
    A::compute(of.now(), &AnalysisCx { call, of }).map(object)
}

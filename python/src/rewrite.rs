//! Rewrite rules of Python programs: patterns as text, matched natively, with conditions and right sides that are
//! functions of Python, called on full matches only.

use crate::{
    convert,
    current_match::{gone, is_current, looking, read_match},
    entering::Called,
    errors,
    held::{Handle, Owner},
    node::{self, PyNode},
    plugins,
    run::keep,
    tensor::PyTensor,
    value,
};
use abi_stable::std_types::RArc;
use pyo3::{
    IntoPyObjectExt,
    exceptions::{PyAttributeError, PyTypeError, PyValueError},
    prelude::*,
    sync::PyOnceLock,
    types::{PyBool, PyBytes, PyDict, PyList, PyString, PyTuple},
};
use relais::{
    ir::{Attr, AttrData, Editor, Function, IRModule, NodeId, Tensor, TypeId, kind},
    pass::{Remarks, RunCx},
    registry::Registry,
    transform::Pass,
};
use relais_patterns::{Condition, Name, Sort};
use relais_plugin_api::{
    diagnostics::{Diagnostic, PassError, Severity},
    facts::OpFactsTable,
    infer::{Checking, Coverage, Typing, infer_function},
    pattern::{self, MakeFn, Matched, Rule, Rules, SharedCondition, Unmet},
    rewrite::RewriteCx,
};
use std::{
    cell::RefCell,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Functions of Python that a run of rules calls.
#[derive(Default)]
struct Asking {
    /// Begun when the first of them is called.
    called: Option<Called>,
    /// The first exception of one.
    failed: Option<PassError>,
}

thread_local! {
    /// Of the runs of rules under way on this thread.
    static ASKING: RefCell<Vec<Asking>> = const { RefCell::new(Vec::new()) };
}

/// Asks functions of Python while it lasts.
struct Asks;

impl Asks {
    fn begin() -> Self {
        ASKING.with_borrow_mut(|asking| asking.push(Asking::default()));
        Self
    }

    /// Ends it, and returns what went wrong.
    fn end(self) -> Option<PassError> {
        std::mem::forget(self);
        Self::pop()
    }

    fn pop() -> Option<PassError> {
        let Asking { called, failed } = ASKING.with_borrow_mut(Vec::pop)?;
        let ended =
            called.map_or(Ok(()), |called| Python::attach(|py| called.end(py).map_err(|error| keep(py, error))));
        failed.or(ended.err())
    }
}

impl Drop for Asks {
    fn drop(&mut self) {
        Self::pop();
    }
}

/// Calls a function of Python about a match. After the first exception, none is called until the run ends.
fn ask<R>(cx: &RewriteCx<'_>, call: impl FnOnce(Python<'_>, u64) -> PyResult<Result<R, Unmet>>) -> Result<R, Unmet> {
    let failed = || Unmet::from("a function failed");
    let (is_failed, is_called) = ASKING.with_borrow(|asking| {
        asking.last().map_or((false, true), |asking| (asking.failed.is_some(), asking.called.is_some()))
    });
    if is_failed {
        return Err(failed());
    }
    Python::attach(|py| {
        let begun = if is_called { Ok(()) } else { begin(py) };
        begun.and_then(|()| looking(cx.function(), |number| call(py, number))).unwrap_or_else(|error| {
            let error = keep(py, error);
            ASKING.with_borrow_mut(|asking| asking.last_mut().map(|asking| asking.failed.replace(error)));
            Err(failed())
        })
    })
}

/// The context of the host is the current one of all functions that a run of rules calls: a match takes less time than that.
fn begin(py: Python<'_>) -> PyResult<()> {
    let called = Called::begin(py)?;
    ASKING.with_borrow_mut(|asking| asking.last_mut().map(|asking| asking.called.replace(called)));
    Ok(())
}

/// A variable of a rule, as a function of Python receives it.
struct Variable {
    slot: usize,
    is_rest: bool,
}

/// The variables of a rule, and whether each stands for several values.
fn variables(rule: &Rule) -> Vec<(String, bool)> {
    relais_patterns::variables(rule).into_iter().map(|(name, sort)| (name.text.clone(), sort == Sort::Rest)).collect()
}

/// The arguments with which a rule names a function as a condition.
fn arguments_of<'r>(rule: &'r Rule, function: &str) -> impl Iterator<Item = &'r [Name]> {
    rule.conditions.iter().filter_map(move |condition| match condition {
        Condition::Holds(name, args) if name.text == function => Some(args.as_slice()),
        _ => None,
    })
}

/// The value of a variable in a match: a node, a list of them, None, or the value of an attribute.
fn given<'py>(
    py: Python<'py>,
    number: u64,
    found: &Matched<'_>,
    Variable { slot, is_rest }: &Variable,
) -> PyResult<Bound<'py, PyAny>> {
    let node = |id: NodeId| PyNode { owner: node::Owner::Match(number), id };
    if *is_rest {
        let values = found.values(*slot).unwrap_or_default();
        return Ok(PyList::new(py, values.iter().map(|&id| node(id)))?.into_any());
    }
    if let Ok(id) = found.value(*slot) {
        return node(id).into_bound_py_any(py);
    }
    match found.attr(*slot) {
        Ok(value) => attribute(py, value),
        Err(_) => Ok(py.None().into_bound(py)),
    }
}

fn attribute<'py>(py: Python<'py>, value: &AttrData) -> PyResult<Bound<'py, PyAny>> {
    let text = |bytes: &Vec<u8>| match std::str::from_utf8(bytes) {
        Ok(text) => text.into_bound_py_any(py),
        Err(_) => Ok(PyBytes::new(py, bytes).into_any()),
    };
    match value {
        AttrData::Float(value) => value.into_bound_py_any(py),
        AttrData::Int(value) => value.into_bound_py_any(py),
        AttrData::String(bytes) => text(bytes),
        AttrData::Tensor(tensor) => PyTensor { tensor: tensor.clone() }.into_bound_py_any(py),
        AttrData::Floats(values) => values.into_bound_py_any(py),
        AttrData::Ints(values) => values.into_bound_py_any(py),
        AttrData::Strings(values) => {
            Ok(PyList::new(py, values.iter().map(text).collect::<PyResult<Vec<_>>>()?)?.into_any())
        }
        _ => Ok(py.None().into_bound(py)),
    }
}

/// A condition that is a function of Python: it returns whether it holds, or why not.
fn condition(name: &str, function: Handle, rest: Vec<bool>) -> SharedCondition {
    let args: Vec<Variable> = rest.into_iter().enumerate().map(|(slot, is_rest)| Variable { slot, is_rest }).collect();
    SharedCondition::new(name, move |found, cx| {
        ask(cx, |py, number| {
            let args = args.iter().map(|arg| given(py, number, found, arg)).collect::<PyResult<Vec<_>>>()?;
            let answer = function.get(py)?.call1(PyTuple::new(py, args)?)?;
            if let Ok(holds) = answer.cast::<PyBool>() {
                return Ok(if holds.is_true() { Ok(()) } else { Err(Unmet::from("the function returned False")) });
            }
            match answer.cast::<PyString>() {
                Ok(why) => Ok(Err(Unmet::from(why.to_string()))),
                Err(_) => Err(value::wrong(&answer, "what a condition returns", "a bool, or a str that says why not")),
            }
        })
    })
}

/// A right side that is a function of Python: it receives an object that makes calls, then variables.
fn make(function: Handle, args: Vec<Variable>, registry: &'static Registry) -> MakeFn {
    MakeFn::new(move |found, cx| {
        let made = ask(cx, |py, number| {
            let op = Py::new(py, PyMaker::new(number, registry))?;
            let mut all = vec![op.clone_ref(py).into_bound(py).into_any()];
            for arg in &args {
                all.push(given(py, number, found, arg)?);
            }
            let answer = function.get(py)?.call1(PyTuple::new(py, all)?)?;
            if answer.is_none() {
                return Ok(Err(Unmet::from("the function returned None")));
            }
            if let Ok(declined) = answer.cast::<Declined>() {
                return Ok(Err(Unmet::from(declined.get().why.clone())));
            }
            let values = match answer.is_instance_of::<PyList>() || answer.is_instance_of::<PyTuple>() {
                true => answer.try_iter()?.collect::<PyResult<Vec<_>>>()?,
                false => vec![answer],
            };
            let maker = op.get();
            let values = values.iter().map(|value| maker.operand(py, value, &"what a right side returns"));
            let values = values.collect::<PyResult<Vec<Operand>>>()?;
            let steps = std::mem::take(&mut *maker.steps());
            Ok(Ok((steps, values)))
        });
        let (steps, values) = made?;
        replay(steps, &values, cx)
    })
}

/// Makes the recorded calls of which results are needed.
fn replay(steps: Vec<Step>, values: &[Operand], cx: &mut RewriteCx<'_>) -> Result<Vec<NodeId>, Unmet> {
    let mut needed = vec![false; steps.len()];
    let need = |operand: &Operand, needed: &mut Vec<bool>| {
        if let Operand::Made(step, _) = operand {
            needed[*step] = true;
        }
    };
    values.iter().for_each(|value| need(value, &mut needed));
    for (at, step) in steps.iter().enumerate().rev() {
        if let (true, Step::Call { args, .. }) = (needed[at], step) {
            args.iter().for_each(|arg| need(arg, &mut needed));
        }
    }
    let mut made: Vec<Vec<NodeId>> = Vec::with_capacity(steps.len());
    for (step, is_needed) in steps.into_iter().zip(needed) {
        made.push(match step {
            _ if !is_needed => Vec::new(),
            Step::Constant(tensor) => vec![cx.constant(tensor)],
            Step::Call { domain, op, args, attrs, n_results } => {
                let args: Vec<NodeId> = args.iter().map(|arg| arg.id(&made)).collect();
                match n_results {
                    None => vec![cx.call_in(domain, op, &args, attrs)],
                    Some(n) => cx.call_results(op, &args, attrs, n),
                }
            }
        });
    }
    Ok(values.iter().map(|value| value.id(&made)).collect())
}

/// An operand of a new call.
#[derive(Clone, Copy)]
enum Operand {
    Absent,
    /// A value of the function.
    Node(NodeId),
    /// A result of a step.
    Made(usize, usize),
}

impl Operand {
    fn id(self, made: &[Vec<NodeId>]) -> NodeId {
        match self {
            Self::Absent => NodeId::ABSENT,
            Self::Node(id) => id,
            Self::Made(step, result) => made[step][result],
        }
    }
}

/// Something that a right side makes.
enum Step {
    Constant(Tensor),
    Call { domain: String, op: String, args: Vec<Operand>, attrs: Vec<Attr>, n_results: Option<u16> },
}

/// Makes the calls of a right side. They are recorded, and made when the function has returned them.
#[pyclass(frozen, name = "Maker", module = "relais_onnx")]
pub(crate) struct PyMaker {
    number: u64,
    registry: &'static Registry,
    steps: Mutex<Vec<Step>>,
}

impl PyMaker {
    fn new(number: u64, registry: &'static Registry) -> Self {
        Self { number, registry, steps: Mutex::default() }
    }

    fn steps(&self) -> MutexGuard<'_, Vec<Step>> {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The operand that an object stands for. `what` names the object in the exception if it stands for none.
    fn operand(&self, py: Python<'_>, object: &Bound<'_, PyAny>, what: &dyn fmt::Display) -> PyResult<Operand> {
        let is_own = |number: u64| match number == self.number && is_current(number) {
            true => Ok(()),
            false => Err(gone(py)),
        };
        if object.is_none() {
            return Ok(Operand::Absent);
        }
        if let Ok(node) = object.cast::<PyNode>() {
            let node = node.get();
            let node::Owner::Match(number) = node.owner else {
                let help = "use the variables of the match, and what is computed from them";
                return Err(errors::helped(py, "ModelError", format!("{what} is a node of a function"), help));
            };
            is_own(number)?;
            return Ok(Operand::Node(node.id));
        }
        if let Ok(made) = object.cast::<NewNode>() {
            let made = made.get();
            is_own(made.number)?;
            return Ok(Operand::Made(made.step, made.result));
        }
        Err(value::wrong(object, &what.to_string(), "a Node, or made by the first argument of the function"))
    }

    fn push(&self, py: Python<'_>, step: Step) -> PyResult<usize> {
        if !is_current(self.number) {
            return Err(gone(py));
        }
        let mut steps = self.steps();
        steps.push(step);
        Ok(steps.len() - 1)
    }
}

#[pymethods]
impl PyMaker {
    /// A constant: of a `Tensor`, an array, anything with the buffer protocol, or numbers.
    #[pyo3(signature = (value, dtype = None))]
    fn constant(&self, py: Python<'_>, value: &Bound<'_, PyAny>, dtype: Option<&str>) -> PyResult<NewNode> {
        let step = self.push(py, Step::Constant(convert::tensor(value, dtype)?))?;
        Ok(NewNode { number: self.number, step, result: 0 })
    }

    /// What the function returns to leave the call as it is, for a reason, which becomes a remark.
    #[staticmethod]
    fn decline(why: &str) -> Declined {
        Declined { why: why.to_owned() }
    }

    /// `op.Relu(x, _outputs=…, _domain=…, …)`: a call of that operator; other keywords are its attributes. Operators come
    /// first: to find that an object does not have an attribute takes as long as a call.
    fn __getattribute__<'py>(slf: &Bound<'py, Self>, name: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyAny>> {
        static OTHERS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let py = slf.py();
        let op = name.to_cow()?;
        if op.starts_with(|first: char| first.is_ascii_uppercase()) {
            return MakerOperator { maker: slf.clone().unbind(), op: op.into_owned() }.into_bound_py_any(py);
        }
        let object = || py.get_type::<PyAny>().getattr("__getattribute__").map(Bound::unbind);
        OTHERS.get_or_try_init(py, object)?.bind(py).call1((slf, name))
    }

    /// The exception for a name that is neither an attribute nor that of an operator.
    fn __getattr__(&self, name: &str) -> PyResult<Py<PyAny>> {
        let message = format!("there is no attribute `{name}` here; operators begin with a capital letter");
        Err(PyAttributeError::new_err(message))
    }

    fn __repr__(&self) -> &'static str {
        "<Maker of a right side>"
    }
}

/// An operator of a right side: calling it makes a call.
#[pyclass(frozen, name = "MakerOperator", module = "relais_onnx")]
pub(crate) struct MakerOperator {
    maker: Py<PyMaker>,
    op: String,
}

#[pymethods]
impl MakerOperator {
    #[pyo3(signature = (*args, **keywords))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let maker = self.maker.get();
        let given = convert::keywords(keywords)?;
        let args = args.iter().enumerate();
        let args = args.map(|(at, arg)| maker.operand(py, &arg, &format_args!("argument {at}")));
        let mut args = args.collect::<PyResult<Vec<Operand>>>()?;
        while matches!(args.last(), Some(Operand::Absent)) {
            args.pop();
        }
        let domain = given.domain.unwrap_or_default();
        let mut attrs = Vec::new();
        // Most calls have none, and a table costs more than a call.
        let mut table = None;
        for (name, object) in given.attrs {
            let object = object.bind(py);
            if object.is_none() {
                continue;
            }
            let table = table.get_or_insert_with(|| OpFactsTable::empty(maker.registry));
            let kind = read_match(py, maker.number, |f| {
                let op = table.other(f, &domain, &self.op)?;
                Some(table.schema(op)?.attr(&name)?.kind)
            })?;
            attrs.push(convert::attr(&name, object, kind)?);
        }
        if given.n_results.is_some() && !domain.is_empty() {
            let message = "a call of another domain has one result here";
            return Err(PyValueError::new_err(message));
        }
        let n_results = given.n_results.filter(|&n| n != 1);
        let step = maker.push(py, Step::Call { domain, op: self.op.clone(), args, attrs, n_results })?;
        let node = |result: usize| NewNode { number: maker.number, step, result };
        match given.n_results {
            None => node(0).into_bound_py_any(py),
            Some(n) => Ok(PyList::new(py, (0..usize::from(n)).map(node))?.into_any()),
        }
    }
}

/// A value that a right side makes.
#[pyclass(frozen, name = "NewNode", module = "relais_onnx")]
pub(crate) struct NewNode {
    number: u64,
    step: usize,
    result: usize,
}

/// Why a right side leaves a call as it is.
#[pyclass(frozen, name = "Declined", module = "relais_onnx")]
pub(crate) struct Declined {
    why: String,
}

/// Rules of a program, with a pass that rewrites by them.
pub(crate) struct OwnRules {
    pub rules: Arc<Rules>,
    pub pass: Pass,
    /// Whether they are judged before their first use.
    pub is_judged: bool,
}

/// What a program states about rules.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Stated {
    text: String,
    conditions: Vec<(String, Py<PyAny>)>,
    make: Option<Py<PyAny>>,
    /// The variables that `make` receives.
    make_args: Vec<String>,
    judge: bool,
}

/// The names of the variables of each rule of a text, with the sort of each.
#[pyfunction]
pub(crate) fn rule_variables(py: Python<'_>, text: &str) -> PyResult<Vec<Vec<String>>> {
    let rules = pattern::read("rule", text).map_err(|error| errors::of_rules(py, &error))?;
    Ok(rules.iter().map(|rule| variables(rule).into_iter().map(|(name, _)| name).collect()).collect())
}

/// A pass that rewrites by rules of a program, whose functions `owner` owns.
pub(crate) fn pass(name: &str, opt_level: u8, stated: &Bound<'_, PyAny>, owner: &Owner) -> PyResult<OwnRules> {
    let py = stated.py();
    let Stated { text, conditions, make: made_by, make_args, judge } = stated.extract()?;
    let registry = plugins::registry(py)?;
    let parsed = pattern::read("rule", &text).map_err(|error| errors::of_rules(py, &error))?;
    let sorts: Vec<(String, bool)> = parsed.iter().flat_map(variables).collect();
    let is_rest = |name: &str| sorts.iter().any(|(known, is_rest)| known == name && *is_rest);
    let mut shared = Vec::new();
    for (name, function) in conditions {
        let uses: Vec<&[Name]> = parsed.iter().flat_map(|rule| arguments_of(rule, &name)).collect();
        let Some(args) = uses.first() else {
            return Err(PyValueError::new_err(format!("no rule has a condition `{name}`")));
        };
        if uses.iter().any(|other| other.len() != args.len()) {
            let message = format!("the condition `{name}` is given different numbers of arguments");
            return Err(PyTypeError::new_err(message));
        }
        let rest: Vec<bool> = args.iter().map(|arg| is_rest(&arg.text)).collect();
        shared.push(condition(&name, owner.own(function), rest));
    }
    let rules =
        Rules::parse_shared([("rule".to_owned(), text)], shared).map_err(|error| errors::of_rules(py, &error))?;
    let rules = match made_by {
        None => rules,
        Some(function) => {
            let [rule] = parsed.as_slice() else {
                return Err(PyTypeError::new_err("a right side that is a function belongs to one rule"));
            };
            if rules.level() == Some(pattern::RuleLevel::Prim) {
                let message =
                    "a right side that is a function makes calls of graphs, and the rule is for loop programs";
                return Err(errors::helped(py, "RuleError", message.to_owned(), "write the right side as text"));
            }
            let all = variables(rule);
            let arg = |name: &String| {
                let slot = all.iter().position(|(known, _)| known == name);
                let slot = slot.ok_or_else(|| PyTypeError::new_err(format!("the pattern has no variable `{name}`")))?;
                Ok(Variable { slot, is_rest: all[slot].1 })
            };
            rules.making(make(owner.own(function), make_args.iter().map(arg).collect::<PyResult<_>>()?, registry))
        }
    };
    let rules = Arc::new(rules);
    let (own, checked) = (rules.clone(), rules.clone());
    let run = move |f: &RArc<Function>, _: &IRModule, cx: &RunCx<'_>| rewrite(&own, registry, f, cx);
    let pass = match rules.level() {
        Some(pattern::RuleLevel::Prim) => Pass::prim_func(name, opt_level, run),
        _ => {
            rules.check_level(pattern::RuleLevel::Graph).map_err(|error| errors::of_rules(py, &error))?;
            Pass::function(name, opt_level, run)
        }
    };
    let pass = pass.serial();
    let pass = pass.checked_by(move |module, _| check(&checked, registry, module));
    Ok(OwnRules { rules, pass, is_judged: judge })
}

/// Whether rules are valid for every function of a module.
fn check(rules: &Rules, registry: &'static Registry, module: &IRModule) -> Result<(), PassError> {
    if rules.level() == Some(pattern::RuleLevel::Prim) {
        return pattern::check_with(rules, &Function::new(), &mut OpFactsTable::empty(registry));
    }
    module.functions().try_for_each(|(name, f)| {
        pattern::check_with(rules, f, &mut OpFactsTable::empty(registry)).map_err(|error| error.in_function(name))
    })
}

fn rewrite(
    rules: &Rules,
    registry: &'static Registry,
    f: &RArc<Function>,
    cx: &RunCx<'_>,
) -> Result<Option<Function>, PassError> {
    let is_untyped = |id| f.kind(id) == kind::CALL && f.type_id(id) == TypeId::UNKNOWN;
    // Called directly, a pass runs without the passes that it requires. Prim funcs always have their types.
    let typed = f.all_bindings().any(is_untyped).then(|| {
        let mut typed = (**f).clone();
        infer_function(&mut typed, &mut OpFactsTable::empty(registry), Coverage::Missing);
        RArc::new(typed)
    });
    let mut editor = Editor::new(typed.unwrap_or_else(|| f.clone()));
    let mut explain = |node: NodeId, why: &str| {
        (cx.diagnostics)(Diagnostic::new(Severity::REMARK, why).at(node));
    };
    let explain: Option<&mut pattern::Explain<'_>> = match cx.remarks {
        Remarks::Show => Some(&mut explain),
        _ => None,
    };
    let asks = Asks::begin();
    let compute: &pattern::WithOperators<'_> = &|f, body| body(&mut OpFactsTable::new(registry, f));
    let (mut facts, mut relations) = (OpFactsTable::empty(registry), OpFactsTable::empty(registry));
    let stats = pattern::apply_with(&mut editor, (&mut facts, compute), &mut relations, rules, explain);
    if let Some(error) = asks.end() {
        return Err(error);
    }
    let stats = stats?;
    if stats.n_rewrites == 0 {
        return Ok(None);
    }
    (cx.count)("rewritten", stats.n_rewrites as u64);
    Ok(editor.into_changed())
}

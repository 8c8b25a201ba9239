//! Inlining of model-local functions: a call is replaced by the callee's bindings.
//!
//! ```text
//! %0 = my::Twice(%x)    =>    %0/t = Add(%x, %x); %0 = Add(%0/t, %0/t)
//! ```
//!
//! A call is left alone, with a reason, if the two functions import different versions of an operator set that the
//! callee uses, if an attribute represents a graph, or if the module would grow out of proportion.

pub(super) mod import;

use super::{
    node::{attr_flag, attr_kind, flag, kind},
    *,
};
use import::{Import, owned};
use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    fmt,
};

/// The metadata of a function with the names of its attributes that have no default.
pub const FUNCTION_ATTRIBUTES: &str = "attributes";

/// The metadata of a function, followed by `:` and the name of an attribute, with the attribute's default.
pub const FUNCTION_DEFAULT: &str = "default";

/// Why a call was not inlined.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Declined {
    /// Caller and callee import different versions of an operator set.
    OpsetVersion {
        /// The operator set's domain.
        domain: String,
        /// The version that the callee imports; 0 is none.
        callee: i64,
        /// The version that the caller imports; 0 is none.
        caller: i64,
    },
    /// An attribute's value is a graph or of a kind that cannot be carried over.
    Attribute(String),
    /// The call has more arguments or results than the callee.
    Arity,
    /// The callee has a binding of a kind that cannot be copied.
    Binding,
    /// The module would become too large.
    TooLarge,
}

impl fmt::Display for Declined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OpsetVersion { domain, callee, caller } => {
                let domain = if domain.is_empty() { "ai.onnx" } else { domain };
                write!(f, "the function imports `{domain}` {callee}, its caller {caller}")
            }
            Self::Attribute(name) => write!(f, "the attribute `{name}` cannot be carried over"),
            Self::Arity => f.write_str("the call has more arguments or results than the function"),
            Self::Binding => f.write_str("the function binds more than calls, conditionals, constants and tuples"),
            Self::TooLarge => f.write_str("the module would become too large"),
        }
    }
}

/// The outcome of inlining.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Inlined {
    /// Calls that were replaced.
    pub n_calls: usize,
    /// Calls that were not: caller, callee and reason, each once.
    pub declined: Vec<(String, String, Declined)>,
}

/// Why nothing could be inlined.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum InlineError {
    /// A function calls itself, directly or through others.
    Recursive(Vec<String>),
}

impl fmt::Display for InlineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Recursive(names) = self;
        write!(f, "functions call themselves: `{}`", names.join("`, `"))
    }
}

impl std::error::Error for InlineError {}

/// Replaces calls of the module's functions by their bodies, innermost first, as far as the module grows by at most
/// [`Fuel::GROWTH`]. The functions stay in it.
///
/// # Errors
/// Returns an error if functions call themselves; the module is unchanged then.
pub fn inline_functions(module: &mut IRModule) -> Result<Inlined, InlineError> {
    let mut fuel = Fuel::of_module(module, Fuel::GROWTH);
    inline_some_functions(module, &|_| true, &mut fuel)
}

/// As [`inline_functions`], for the functions whose names `is_wanted` accepts, as long as the fuel is enough for the nodes that
/// are added: functions that call each other twice double in size each time.
///
/// # Errors
/// As for [`inline_functions`].
pub fn inline_some_functions(
    module: &mut IRModule,
    is_wanted: &dyn Fn(&str) -> bool,
    fuel: &mut Fuel,
) -> Result<Inlined, InlineError> {
    let mut inlined = Inlined::default();
    for name in callees_first(module)? {
        let Some(caller) = module.function(&name).cloned() else { continue };
        let is_inlined = |callee: &String| is_wanted(callee) && module.function(callee).is_some();
        if !called(&caller).iter().any(is_inlined) {
            continue;
        }
        let callees = module.clone();
        let mut function = (*caller).clone();
        let mut inliner = Inliner {
            callees: &callees,
            is_wanted,
            caller: &name,
            names: (0..function.n_nodes()).map(|id| function.name(NodeId::from_index(id)).to_owned()).collect(),
            values: Vec::new(),
            tuples: BTreeMap::new(),
            renamed: HashSet::new(),
            fuel,
            report: &mut inlined,
            checked: BTreeMap::new(),
        };
        let before = inliner.report.n_calls;
        inliner.run(&mut function);
        if inlined.n_calls > before {
            module.set_function(&name, abi_stable::std_types::RArc::new(function));
        }
    }
    Ok(inlined)
}

/// All nodes in the blocks of a function, in order of their blocks.
fn live(f: &Function) -> impl Iterator<Item = NodeId> {
    let mut functions = vec![f.root()];
    let mut nodes = Vec::new();
    while let Some(function) = functions.pop() {
        for &binding in f.bindings(f.block_of(function)) {
            nodes.push(binding);
            functions.extend(f.regions(binding));
        }
    }
    nodes.into_iter()
}

/// The globals that a function calls.
fn called(f: &Function) -> BTreeSet<String> {
    let callee = |id| match f.expr(f.call(id)?.callee()) {
        Expr::GlobalVar(name) => Some(name.to_owned()),
        _ => None,
    };
    live(f).filter_map(callee).collect()
}

/// The functions of a module, each after those it calls.
fn callees_first(module: &IRModule) -> Result<Vec<String>, InlineError> {
    let calls: BTreeMap<&str, BTreeSet<String>> = module.functions().map(|(name, f)| (name, called(f))).collect();
    let mut order = Vec::new();
    let mut done: BTreeSet<&str> = BTreeSet::new();
    for (start, _) in module.functions() {
        // The path from `start`, with the callees still to visit at each step.
        let mut path: Vec<(&str, Vec<&str>)> = Vec::new();
        let mut on_path: BTreeSet<&str> = BTreeSet::new();
        let mut enter = Some(start);
        loop {
            if let Some(name) = enter.take().filter(|name| !done.contains(name)) {
                if !on_path.insert(name) {
                    let cycle = path.iter().map(|(name, _)| *name).skip_while(|other| *other != name);
                    return Err(InlineError::Recursive(cycle.map(str::to_owned).collect()));
                }
                let callees = calls.get(name).into_iter().flatten().rev();
                path.push((
                    name,
                    callees.filter_map(|callee| calls.get_key_value(&**callee)).map(|(&c, _)| c).collect(),
                ));
            }
            let Some((name, callees)) = path.last_mut() else { break };
            enter = callees.pop();
            if enter.is_none() {
                done.insert(name);
                on_path.remove(name);
                order.push((*name).to_owned());
                path.pop();
            }
        }
    }
    Ok(order)
}

/// A block being rewritten.
struct Frame {
    function: NodeId,
    old: Vec<NodeId>,
    next: usize,
    next_region: usize,
    new: Vec<NodeId>,
}

struct Inliner<'m> {
    callees: &'m IRModule,
    is_wanted: &'m dyn Fn(&str) -> bool,
    caller: &'m str,
    names: HashSet<String>,
    /// For each replaced node of the caller, its replacement.
    values: Vec<Option<NodeId>>,
    /// The results of replaced calls that return a tuple, and the first node made for the call.
    tuples: BTreeMap<NodeId, (Vec<NodeId>, usize)>,
    /// Nodes that took a result's name.
    renamed: HashSet<NodeId>,
    fuel: &'m mut Fuel,
    report: &'m mut Inlined,
    checked: BTreeMap<String, Option<Declined>>,
}

impl Inliner<'_> {
    fn run(&mut self, f: &mut Function) {
        let open = |f: &Function, function: NodeId| Frame {
            function,
            old: f.bindings(f.block_of(function)).to_vec(),
            next: 0,
            next_region: 0,
            new: Vec::new(),
        };
        self.values = vec![None; f.n_nodes()];
        let mut frames = vec![open(f, f.root())];
        while let Some(frame) = frames.last_mut() {
            let Some(&binding) = frame.old.get(frame.next) else {
                self.close(f, frame);
                frames.pop();
                continue;
            };
            if let Some(&region) = f.regions(binding).get(frame.next_region) {
                frame.next_region += 1;
                let inner = open(f, region);
                frames.push(inner);
                continue;
            }
            (frame.next, frame.next_region) = (frame.next + 1, 0);
            self.binding(f, binding, &mut frame.new);
        }
    }

    fn close(&self, f: &mut Function, frame: &Frame) {
        let block = f.block_of(frame.function);
        if frame.new != frame.old {
            f.set_bindings(block, &frame.new);
        }
        let old = f.results(block).to_vec();
        let new: Vec<NodeId> = old.iter().map(|&id| self.value(id)).collect();
        if new != old {
            f.set_results(block, &new);
        }
    }

    fn value(&self, id: NodeId) -> NodeId {
        self.values.get(id.index()).copied().flatten().unwrap_or(id)
    }

    fn binding(&mut self, f: &mut Function, id: NodeId, list: &mut Vec<NodeId>) {
        let values = std::mem::take(&mut self.values);
        f.map_operands(id, |operand| values.get(operand.index()).copied().flatten().unwrap_or(operand));
        self.values = values;
        if f.kind(id) == kind::TUPLE_GET_ITEM
            && let Some((results, first)) = self.tuples.get(&f.operands(id)[0])
            && let Some(&result) = results.get(usize::from(f.node(id).aux))
        {
            let first = *first;
            return self.replace(f, id, result, first);
        }
        let Some(name) = self.callee(f, id) else { return list.push(id) };
        let callee = self.callees.function(&name).filter(|_| (self.is_wanted)(&name)).cloned();
        let Some(callee) = callee else { return list.push(id) };
        match self.inline(f, id, &name, &callee, list) {
            Ok(()) => self.report.n_calls += 1,
            Err(reason) => {
                let entry = (self.caller.to_owned(), name, reason);
                if !self.report.declined.contains(&entry) {
                    self.report.declined.push(entry);
                }
                list.push(id);
            }
        }
    }

    fn callee(&self, f: &Function, id: NodeId) -> Option<String> {
        match f.expr(f.call(id)?.callee()) {
            Expr::GlobalVar(name) => Some(name.to_owned()),
            _ => None,
        }
    }

    /// Whether a function means the same in the caller.
    fn check(&mut self, f: &Function, name: &str, callee: &Function) -> Result<(), Declined> {
        let found = self.checked.entry(name.to_owned()).or_insert_with(|| {
            let mut domains = BTreeSet::new();
            let is_leaf = |&operand: &NodeId| callee.kind(operand) >= kind::FIRST_LEAF;
            for id in live(callee) {
                if callee.operands(id).iter().any(is_leaf) {
                    return Some(Declined::Binding);
                }
                match callee.expr(id) {
                    Expr::If(_) => drop(domains.insert(String::new())),
                    Expr::Call(call) => {
                        let op = call.op().map(|op| callee.op(op)).filter(|op| op.version == 0);
                        domains.extend(op.map(|op| normal_domain(callee.str(op.domain)).to_owned()));
                    }
                    Expr::Constant(_) | Expr::Tuple(_) | Expr::TupleGetItem { .. } => {}
                    _ => return Some(Declined::Binding),
                }
            }
            let differs = |domain: &String| {
                let (of_callee, of_caller) = (callee.opset_version(domain), f.opset_version(domain));
                (of_callee != of_caller).then(|| Declined::OpsetVersion {
                    domain: domain.clone(),
                    callee: of_callee.unwrap_or(0),
                    caller: of_caller.unwrap_or(0),
                })
            };
            domains.iter().find_map(differs)
        });
        found.clone().map_or(Ok(()), Err)
    }

    fn inline(
        &mut self,
        f: &mut Function,
        call: NodeId,
        name: &str,
        callee: &Function,
        list: &mut Vec<NodeId>,
    ) -> Result<(), Declined> {
        self.check(f, name, callee)?;
        let args = f.call(call).map_or(&[][..], CallView::args).to_vec();
        let results = callee.results(callee.body()).to_vec();
        let n_results = f.n_results(call);
        if args.len() > callee.params().len() || n_results.unwrap_or(1) > results.len() {
            return Err(Declined::Arity);
        }
        if !self.fuel.take(callee.n_nodes() as u64) {
            return Err(Declined::TooLarge);
        }
        let given = given_attributes(f, call, callee)?;
        let prefix = match f.attrs(call).meta("name") {
            Some(AttrValue::String(name)) if !name.is_empty() => String::from_utf8_lossy(name).into_owned(),
            _ if !f.name(call).is_empty() => f.name(call).to_owned(),
            _ => name.rsplit("::").next().unwrap_or(name).to_owned(),
        };
        let first = f.n_nodes();
        let mut import = Import { given: Some(given), ..Import::new(callee) };
        import.add_types(f);
        for (&param, &arg) in callee.params().iter().zip(&args) {
            import.map[param.index()] = arg;
        }
        import.body(f, list, |inner| self.fresh_name(&prefix, inner));
        self.values.resize(f.n_nodes(), None);
        let results: Vec<NodeId> = results.iter().map(|result| import.map[result.index()]).collect();
        if n_results.is_none() {
            self.replace(f, call, results[0], first);
        } else {
            self.tuples.insert(call, (results, first));
        }
        Ok(())
    }

    /// Replaces `old` by `new`. A value that was made for it takes over the name of the call's result.
    fn replace(&mut self, f: &mut Function, old: NodeId, new: NodeId, first_made: usize) {
        self.values[old.index()] = Some(new);
        if new.index() >= first_made && !f.name(old).is_empty() && self.renamed.insert(new) {
            f.inherit_value(new, old);
        }
    }

    fn fresh_name(&mut self, prefix: &str, inner: &str) -> String {
        let base = format!("{prefix}/{inner}");
        let mut name = base.clone();
        let mut number = 1;
        while !self.names.insert(name.clone()) {
            name = format!("{base}_{number}");
            number += 1;
        }
        name
    }
}

/// Whether a function has an attribute of this name, be it one with a default. Attributes of the calls in it may refer to
/// those that it has.
pub fn has_function_attribute(f: &Function, name: &str) -> bool {
    f.attrs(f.root()).metadata().any(|(metadata, value)| match value {
        AttrValue::Strings(names) if metadata == FUNCTION_ATTRIBUTES => {
            names.strings().any(|own| own == name.as_bytes())
        }
        _ => default_of(metadata) == Some(name),
    })
}

/// The attribute whose default a piece of metadata is.
fn default_of(metadata: &str) -> Option<&str> {
    metadata.strip_prefix(FUNCTION_DEFAULT)?.strip_prefix(':')
}

/// The functions of a module that call themselves, directly or through others; `None` if there are none.
pub fn recursive(module: &IRModule) -> Option<Vec<String>> {
    callees_first(module).err().map(|InlineError::Recursive(names)| names)
}

/// A function with the body of another one, for the arguments and attributes of a call. `args` makes the arguments in
/// the new function: constants, and variables, which become its parameters.
pub fn instantiate(callee: &Function, args: impl FnOnce(&mut Function) -> Vec<NodeId>, attrs: Vec<Attr>) -> Function {
    let mut f = Function::new();
    f.set_opset_imports(&callee.opset_imports());
    let args = args(&mut f);
    let is = |id: &NodeId, wanted: u8| !id.is_absent() && f.kind(*id) == wanted;
    let params: Vec<NodeId> = args.iter().copied().filter(|id| is(id, kind::VAR)).collect();
    let mut list: Vec<NodeId> = args.iter().copied().filter(|id| is(id, kind::CONSTANT)).collect();
    f.set_params(f.root(), &params);
    let mut given = Given::new();
    let defaults = callee.attrs(callee.root());
    for (name, value) in defaults.metadata() {
        let Some(name) = default_of(name) else { continue };
        if let Some(value) = owned(value, &[]) {
            given.insert(name.to_owned(), f.encode_attr(&Attr::new(name.to_owned(), value)));
        }
    }
    for attr in &attrs {
        given.insert(attr.name.to_string(), f.encode_attr(attr));
    }
    let mut import = Import { given: Some(given), ..Import::new(callee) };
    import.add_types(&mut f);
    for (&param, &arg) in callee.params().iter().zip(&args) {
        import.map[param.index()] = arg;
    }
    import.body(&mut f, &mut list, str::to_owned);
    let results: Vec<NodeId> = callee.results(callee.body()).iter().map(|result| import.map[result.index()]).collect();
    f.set_bindings(f.body(), &list);
    f.set_results(f.body(), &results);
    f
}

/// The attributes for a callee's references, encoded in the caller.
type Given = BTreeMap<String, AttrRec>;

/// The attributes of a call, and the defaults of those it omits.
fn given_attributes(f: &mut Function, call: NodeId, callee: &Function) -> Result<Given, Declined> {
    let mut given = Given::new();
    for rec in callee.attr_recs(callee.root()).iter().filter(|rec| rec.flags & attr_flag::META != 0) {
        let Some(name) = default_of(callee.str(rec.name)) else { continue };
        let value = callee.attrs(callee.root()).decode(*rec);
        if let Some(value) = owned(value, &[]) {
            let attr = Attr::new(name.to_owned(), value);
            given.insert(name.to_owned(), f.encode_attr(&attr));
        } else {
            return Err(Declined::Attribute(name.to_owned()));
        }
    }
    for rec in f.attr_recs(call).iter().filter(|rec| rec.flags & attr_flag::META == 0) {
        let name = f.str(rec.name).to_owned();
        if matches!(rec.kind, attr_kind::GRAPH | attr_kind::GRAPHS | attr_kind::RAW) {
            return Err(Declined::Attribute(name));
        }
        given.insert(name, *rec);
    }
    Ok(given)
}

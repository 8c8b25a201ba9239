//! The errors about models that cannot become loop programs, in few messages, which `LowerOps` and `LowerMain` report.

use crate::{
    calls::MAIN,
    graphs::{is_group, kernel, memory_type, origin},
};
use relais_plugin_api::{
    ir::{Type, kind},
    prelude::*,
};
use std::collections::BTreeMap;

/// The most names in a message.
const MOST_NAMES: usize = 4;

/// Lists the first of some names, and says how many there are more.
pub fn some_of(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [name] => name.clone(),
        [names @ .., last] if names.len() < MOST_NAMES => format!("{} and {last}", names.join(", ")),
        _ => format!("{} and {} more", names[..MOST_NAMES].join(", "), names.len() - MOST_NAMES),
    }
}

/// How a call is named in a list: by its node in the model, with its operator.
pub fn call_name(f: &Function, id: NodeId) -> String {
    let op = f.call(id).map_or("If", |call| match f.expr(call.callee()) {
        Expr::GlobalVar(name) => name,
        _ => call.op_name(),
    });
    match origin(f, id) {
        name if name.is_empty() => format!("`{op}` ({id})"),
        name => format!("`{name}` ({op})"),
    }
}

/// Places with the same fault.
struct Group {
    message: String,
    help: &'static str,
    /// By place: its name in a list.
    places: Vec<(String, NodeId, String)>,
}

/// Diagnostics in which places with the same message are named together.
#[derive(Default)]
pub struct Grouped {
    code: &'static str,
    groups: Vec<Group>,
    /// By message.
    known: BTreeMap<String, usize>,
}

impl Grouped {
    pub fn new(code: &'static str) -> Self {
        Self { code, ..Self::default() }
    }

    /// Adds what is wrong with a node of a function, which a list calls `name`.
    pub fn add(&mut self, message: String, help: &'static str, function: &str, id: NodeId, name: String) {
        let groups = &mut self.groups;
        let at = *self.known.entry(message.clone()).or_insert_with(|| {
            groups.push(Group { message, help, places: Vec::new() });
            groups.len() - 1
        });
        groups[at].places.push((function.to_owned(), id, name));
    }

    /// One for each message, in the order of their first places.
    pub fn finish(self) -> impl Iterator<Item = Diagnostic> {
        let code = self.code;
        self.groups.into_iter().map(move |Group { message, help, places }| {
            let (function, id, _) = &places[0];
            let diagnostic = Diagnostic::error(message).code(code).at(*id).in_function(function);
            let diagnostic = if help.is_empty() { diagnostic } else { diagnostic.help(help) };
            let others: Vec<String> = places[1..].iter().map(|(.., name)| name.clone()).collect();
            match &*others {
                [] => diagnostic,
                others => diagnostic.with_note(format_args!("the same holds for {}", some_of(others))),
            }
        })
    }
}

/// Why memory cannot hold a value.
#[derive(Clone, PartialEq, Eq)]
pub enum Unfit {
    /// It is a sequence, for example.
    NoTensor,
    /// Elements of this type.
    Elements(ElemType),
    /// A size is not known.
    Open,
    /// It has more elements than can be counted.
    TooLarge,
}

/// Why memory cannot hold a value; `None` if it can.
pub fn unfit(f: &Function, id: NodeId) -> Option<Unfit> {
    let ty = f.type_of(id);
    match ty {
        _ if memory_type(f, id).is_some() => None,
        Type::Tensor { elem, .. } if elem != ElemType::UNKNOWN && !elem.is_scalar() => Some(Unfit::Elements(elem)),
        Type::Tensor { .. } | Type::Unknown if ty.static_shape().is_none() => Some(Unfit::Open),
        Type::Tensor { elem, .. } if !elem.is_scalar() => Some(Unfit::Elements(elem)),
        Type::Tensor { .. } => Some(Unfit::TooLarge),
        _ => Some(Unfit::NoTensor),
    }
}

/// Returns everything in the entry function, and beside it, that loop programs cannot say: with `has_calls` also calls of
/// operators, and groups; with `has_sizes` also open sizes of inputs and outputs. `LowerOps` reports these itself.
pub fn obstacles(module: &IRModule, f: &Function, has_calls: bool, has_sizes: bool) -> Vec<Diagnostic> {
    let mut faults = Grouped::new("K002");
    let mut made = Vec::new();
    let is_left = |f: &Function| has_calls || !is_group(f);
    let others: Vec<String> = module
        .functions()
        .filter(|(name, f)| *name != MAIN && is_left(f))
        .map(|(name, _)| format!("`@{name}`"))
        .collect();
    if !others.is_empty() {
        let message = match &*others {
            [other] => format!("the module has the graph function {other} besides the entry function"),
            _ => format!(
                "the module has {} graph functions besides the entry function: {}",
                others.len(),
                some_of(&others)
            ),
        };
        let fault = Diagnostic::error(message).code("K002").in_function(MAIN);
        made.push(fault.help("run `Inline` and `RemoveUnusedFunctions` before"));
    }
    let inputs = f.params().iter().map(|&id| (id, "input"));
    let outputs = f.results(f.body()).iter().filter(|id| !f.params().contains(id)).map(|&id| (id, "output"));
    // Those with open sizes: inputs, or else outputs.
    let mut open: Vec<(NodeId, &str)> = Vec::new();
    for (id, what) in inputs.chain(outputs) {
        let name = f.name(id);
        let message = match unfit(f, id) {
            None => continue,
            Some(Unfit::Open) => {
                if open.first().is_none_or(|&(_, first)| first == what) {
                    open.push((id, what));
                }
                continue;
            }
            Some(Unfit::NoTensor) => format!("the {what} `{name}` is not a tensor"),
            Some(Unfit::TooLarge) => format!("the {what} `{name}` has more elements than can be counted"),
            Some(Unfit::Elements(ElemType::UNKNOWN)) => {
                format!("the type of the elements of the {what} `{name}` is not known")
            }
            Some(Unfit::Elements(elem)) => {
                format!("the {what} `{name}` has elements of the type {elem}, which loop programs do not handle")
            }
        };
        faults.add(message, "", MAIN, id, format!("`{name}`"));
    }
    if let (Some(&(id, what)), true) = (open.first(), has_sizes) {
        let names: Vec<String> = open.iter().map(|&(id, _)| format!("`{}`", f.name(id))).collect();
        let s = if names.len() > 1 { "s" } else { "" };
        let message = format!("the sizes of the {what}{s} {} are not all known", some_of(&names));
        made.push(Diagnostic::error(message).code("K002").at(id).in_function(MAIN).help(sizes_help(module)));
    }
    let uses = f.use_counts();
    for id in f.bindings(f.body()).iter().copied() {
        if let Some((message, help)) = obstacle(module, f, id, uses[id.index()] > 0) {
            let is_reported = f.call(id).is_some_and(|call| match f.expr(call.callee()) {
                Expr::GlobalVar(name) => module.function(name).is_some_and(|f| is_group(f)),
                _ => call.op().is_some(),
            });
            if has_calls || !is_reported {
                faults.add(message, help, MAIN, id, call_name(f, id));
            }
        }
    }
    made.extend(faults.finish());
    made
}

/// Why a loop program cannot compute a binding of a graph function, and what helps.
pub fn obstacle(module: &IRModule, f: &Function, id: NodeId, is_used: bool) -> Option<(String, &'static str)> {
    let is_kernel = |call| kernel(module, call).is_some();
    Some(match f.expr(id) {
        Expr::Constant(_) if !is_used || memory_type(f, id).is_some() => return None,
        Expr::Constant(_) => ("a constant is not a tensor of numbers".to_owned(), ""),
        Expr::TupleGetItem { .. } => return None,
        Expr::Call(call) if is_kernel(call) => return None,
        Expr::Call(call) => match call.op() {
            Some(_) => (format!("`{}` is not a loop program", call.op_name()), "run `LowerOps` before"),
            None => ("a function is called that is not a loop program".to_owned(), "run `Inline` before"),
        },
        Expr::If(_) => (
            "`If` is not a loop program".to_owned(),
            "conditionals of graphs are lowered if their condition is a constant",
        ),
        _ => ("there is a value that loop programs do not have".to_owned(), ""),
    })
}

/// Reports calls that compute with elements of other types than these, which are all if there are none.
pub fn foreign_elements(module: &IRModule, elements: &[String]) -> Vec<Diagnostic> {
    let is_foreign = |elem: ElemType| {
        let name = elem.name().unwrap_or_default();
        !elements.is_empty() && elem.is_scalar() && elements.iter().all(|known| known != name)
    };
    let mut by_type: BTreeMap<String, (String, NodeId, Vec<String>)> = BTreeMap::new();
    for (function, f) in module.functions() {
        for id in f.all_bindings() {
            let Some(call) = f.call(id) else { continue };
            let mut values = call.args().iter().copied().chain([id]);
            if let Some(elem) = values.find_map(|value| f.type_of(value).elem().filter(|&elem| is_foreign(elem))) {
                let place = || (function.to_owned(), id, Vec::new());
                by_type.entry(elem.to_string()).or_insert_with(place).2.push(call_name(f, id));
            }
        }
    }
    let report = |(elem, (function, id, names)): (String, (String, NodeId, Vec<String>))| {
        let message =
            format!("elements of the type {elem} cannot be written in the end: {} have them", some_of(&names));
        Diagnostic::error(message).code("K006").at(id).in_function(&function)
    };
    by_type.into_iter().map(report).collect()
}

/// How a user fixes the sizes of the inputs, or where the sizes come from that inputs do not decide.
pub fn sizes_help(module: &IRModule) -> String {
    let Some(f) = module.function(MAIN) else { return "give all values fixed sizes".to_owned() };
    let open: Vec<NodeId> = f.params().iter().copied().filter(|&id| unfit(f, id) == Some(Unfit::Open)).collect();
    if open.is_empty() {
        return format!("the inputs have fixed sizes; what is not known comes from {}", some_of(&sources(f)));
    }
    let (mut shapes, mut examples) = (Vec::new(), Vec::new());
    for &id in open.iter().take(MOST_NAMES) {
        let mut shown = |dim: Dim| match dim {
            Dim::Static(size) => size.to_string(),
            Dim::Symbol(name) => {
                let name = format!("`{}`", String::from_utf8_lossy(f.bytes(name)));
                if !examples.contains(&name) {
                    examples.push(name);
                }
                "1".to_owned()
            }
            Dim::Unknown => "1".to_owned(),
        };
        let dims = f.type_of(id).shape().map(|dims| dims.iter().map(|&dim| shown(dim.into())).collect::<Vec<_>>());
        let dims = dims.map_or_else(|| "DIMENSIONS".to_owned(), |dims| dims.join(","));
        shapes.push(format!("--input-shape \"{}:{dims}\"", f.name(id)));
    }
    let more = match open.len() - shapes.len() {
        0 => String::new(),
        more => format!(" and so on for {more} more"),
    };
    let examples = match &*examples {
        [] => String::new(),
        names => format!(" for {}", some_of(names)),
    };
    format!("fix the sizes of the inputs, with what you need in the place of 1{examples}: `{}`{more}", shapes.join(" "))
}

/// The calls that give values whose sizes are not known, of values whose sizes are.
fn sources(f: &Function) -> Vec<String> {
    let is_open = |id: NodeId| unfit(f, id) == Some(Unfit::Open);
    let mut names: Vec<String> = Vec::new();
    for id in f.all_bindings().filter(|&id| is_open(id)) {
        let maker = if f.kind(id) == kind::TUPLE_GET_ITEM { f.operands(id)[0] } else { id };
        let Some(call) = f.call(maker) else { continue };
        if !call.args().iter().any(|&arg| !arg.is_absent() && is_open(arg)) {
            let name = call_name(f, maker);
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

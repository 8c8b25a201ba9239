//! Parts of models as models of their own.

use super::declared::{Opened, renew_types_after, set_meta, stated_output_names};
use crate::error::Error;
use relais::{
    ir::{
        AttrData, AttrValue, BlockId, Expr, Function, IRModule, MAIN, NodeId, OUTPUT_NAMES, Type, TypeId, Walk,
        WalkStep, kind,
    },
    onnx::{meta, states_type},
    pass::Catalogue,
    report::inputs,
    words::{nearest, or_list},
};
use relais_plugin_api::{
    infer::{Coverage, infer_function},
    text::display_type,
};
use std::collections::{HashMap, HashSet};

/// Reduces `main` to the part that computes the values named in `outputs` from those named in `inputs`, in these orders.
/// An empty list means those of the model: all of its outputs, or its inputs that the outputs need. Everything else is
/// removed, calls with effects included, and so are functions that are called no more.
///
/// A value that becomes an input has the type that is declared or inferred for it; sizes behind it that its contents may
/// have determined are inferred again without them. A parameter with a default value that the outputs need stays.
///
/// Returns the changes of the interface, as lines for the user.
///
/// # Errors
/// Returns an error if no value of `main` has a name, a list has a name twice, the type of a value is not known, an
/// output depends on an input that is not named, or no output on one that is. The module may have changed then.
pub fn extract(
    module: &mut IRModule,
    inputs: &[String],
    outputs: &[String],
    catalogue: &dyn Catalogue,
) -> Result<Vec<String>, Error> {
    if inputs.is_empty() && outputs.is_empty() {
        return Ok(Vec::new());
    }
    let called_before = called(module, [MAIN]);
    let Some(main) = module.function_mut(MAIN) else {
        return Err(Error::new("the module has no function `main` to take a part of"));
    };
    let infer = |main: &mut Function| {
        infer_function(main, &mut *catalogue.relations(), Coverage::Everything);
    };
    infer(main);
    let before = Interface::of(main);
    let values = Values::of(main);
    let cuts = values.find_all(main, inputs, "input")?;
    let results = match outputs {
        [] => main.results(main.body()).to_vec(),
        names => values.find_all(main, names, "output")?,
    };
    let needed = needed(main, &results, &cuts);
    let params = params(main, &needed, &cuts, inputs)?;
    let results = keep(main, &needed, &cuts, &params, &results);
    unname_inner(main, &cuts, &params);
    let outputs = if outputs.is_empty() { &before.output_names } else { outputs };
    name_outputs(main, outputs, &results, &before);
    let new: Vec<NodeId> = cuts.iter().zip(&params).filter(|(cut, param)| cut != param).map(|(_, &new)| new).collect();
    // The contents of a value may have determined sizes.
    let retyped = renew_types_after(main, &new, Opened::All, infer);
    let mut changes = before.changes(main, outputs);
    let is_old = |name: &String| before.output_names.contains(name);
    changes.extend(retyped.into_iter().filter(|output| is_old(&output.name)).map(|output| output.line));
    let called_now = called(module, [MAIN]);
    let gone: HashSet<String> = called_before.difference(&called_now).cloned().collect();
    // A function that nothing calls may call others.
    let roots = module.functions().map(|(name, _)| name).filter(|name| !gone.contains(*name));
    let called_now = called(module, roots);
    for name in gone.difference(&called_now) {
        module.remove(name);
    }
    Ok(changes)
}

/// Checks that the ranks of the values that became inputs and outputs are known, which ONNX states of these.
///
/// # Errors
/// Returns an error if one is not.
pub(super) fn check_ranks(module: &IRModule, inputs: &[String], outputs: &[String]) -> Result<(), Error> {
    let Some(main) = module.main() else { return Ok(()) };
    let is_open = |id: NodeId| matches!(main.type_of(id), Type::Tensor { shape: None, .. });
    let error = |what: &str, name: &str| {
        Error::new(format!("the value `{name}` cannot be an {what}: how many dimensions it has is not known"))
    };
    if let Some((name, _)) = inputs.iter().zip(main.params()).find(|&(_, &id)| is_open(id)) {
        let help = format!("state them, as in `--input-shape {name}:?,3`, or name values before or behind it");
        return Err(error("input", name).with_help(help));
    }
    let results = main.results(main.body());
    match outputs.iter().zip(results).find(|&(_, &id)| is_open(id)) {
        Some((name, _)) => Err(error("output", name).with_help("name values before or behind it")),
        None => Ok(()),
    }
}

/// Sets the outputs of a function: their values and names. One that it had before is declared as it was, others with the
/// types of their values.
pub fn set_outputs(function: &mut Function, names: &[String], results: &[NodeId]) {
    let before = Interface::of(function);
    function.set_results(function.body(), results);
    name_outputs(function, names, results, &before);
}

/// The named values of the main graph itself.
struct Values {
    by_name: HashMap<String, NodeId>,
}

impl Values {
    fn of(main: &Function) -> Self {
        let all = main.params().iter().chain(main.bindings(main.body()));
        let named = all.filter(|&&id| !main.name(id).is_empty() && !matches!(main.kind(id), kind::FUNCTION));
        Self { by_name: named.map(|&id| (main.name(id).to_owned(), id)).collect() }
    }

    fn find_all(&self, main: &Function, names: &[String], what: &str) -> Result<Vec<NodeId>, Error> {
        let mut found: Vec<NodeId> = Vec::new();
        for name in names {
            let id = self.find(main, name, what)?;
            if found.contains(&id) {
                return Err(Error::usage(format!("{what} `{name}` is named twice")).with_help("name it once"));
            }
            found.push(id);
        }
        Ok(found)
    }

    /// The value of a name, or of an output that has another name than its value.
    fn find(&self, main: &Function, name: &str, what: &str) -> Result<NodeId, Error> {
        let output = || {
            let names = output_names(main);
            let at = names.iter().position(|known| known == name).filter(|_| what == "output")?;
            main.results(main.body()).get(at).copied()
        };
        let Some(id) = self.by_name.get(name).copied().or_else(output) else {
            if main.all_bindings().any(|id| main.name(id) == name) {
                let error = Error::new(format!("the value `{name}` cannot be an {what}: it is part of a nested graph"));
                return Err(error.with_help("name values of the main graph"));
            }
            let near = nearest(name, self.by_name.keys().map(String::as_str));
            let help = match near.is_empty() {
                true => "`relais show` prints the model with the names of its values".to_owned(),
                false => format!("did you mean {}?", or_list(&near)),
            };
            return Err(Error::new(format!("the model has no value `{name}`")).with_help(help));
        };
        let why = match main.type_of(id) {
            Type::Tuple(_) => "it is a tuple",
            _ if states_type(main, main.type_id(id)) => return Ok(id),
            _ => "its type is not known: the model does not declare it, and no plugin infers it",
        };
        let error = Error::new(format!("the value `{name}` cannot be an {what}: {why}"));
        Err(error.with_help("name values before or behind it"))
    }
}

/// By node: whether some values depend on it, without what lies before others.
fn needed(main: &Function, results: &[NodeId], cuts: &[NodeId]) -> Vec<bool> {
    let is_cut: HashSet<NodeId> = cuts.iter().copied().collect();
    let is_bound: HashSet<NodeId> = main.bindings(main.body()).iter().copied().collect();
    // The functions of a binding are walked with it.
    let is_value = |id: &NodeId| main.kind(*id) != kind::FUNCTION || is_bound.contains(id);
    let mut needed = vec![false; main.n_nodes()];
    let mut open = results.to_vec();
    while let Some(id) = open.pop() {
        if std::mem::replace(&mut needed[id.index()], true) || is_cut.contains(&id) {
            continue;
        }
        open.extend(main.operands(id).iter().copied().filter(is_value));
        let itself = [id];
        let functions = if main.kind(id) == kind::FUNCTION { &itself } else { main.regions(id) };
        for &function in functions.iter().filter(|&&function| main.kind(function) == kind::FUNCTION) {
            let mut walk = Walk::block(main.block_of(function));
            while let Some(step) = walk.next(main) {
                let used = match step {
                    WalkStep::Binding(id) => main.operands(id),
                    WalkStep::Exit(block) => main.results(block),
                    WalkStep::Enter(_) | WalkStep::Leave(_) => &[],
                };
                open.extend(used.iter().copied().filter(is_value));
            }
        }
    }
    needed
}

/// The parameters of the part: those that were asked for, and others that have a default value.
fn params(main: &mut Function, needed: &[bool], cuts: &[NodeId], named: &[String]) -> Result<Vec<NodeId>, Error> {
    if let Some(at) = cuts.iter().position(|cut| !needed[cut.index()]) {
        let error = Error::new(format!("no output depends on input `{}`", named[at]));
        return Err(error.with_help("leave it out, or name an output behind it"));
    }
    let old: Vec<NodeId> = main.params().iter().copied().filter(|&id| needed[id.index()]).collect();
    let others = old.into_iter().filter(|id| !cuts.contains(id));
    let (others, missing): (Vec<NodeId>, Vec<NodeId>) =
        others.partition(|&id| cuts.is_empty() || main.default_value(id).is_some());
    if let Some(&missing) = missing.first() {
        let name = main.name(missing);
        let error = Error::new(format!("the outputs depend on input `{name}` of the model, too"));
        return Err(error.with_help(format!("name it as well: `--inputs {},{name}`", named.join(","))));
    }
    let new = |&cut: &NodeId| match main.kind(cut) {
        kind::VAR => cut,
        _ => {
            let (name, ty) = (main.name(cut).to_owned(), main.type_id(cut));
            main.add_var(&name, ty)
        }
    };
    Ok(cuts.iter().map(new).collect::<Vec<_>>().into_iter().chain(others).collect())
}

/// Keeps what is needed, with the new parameters in place of the values that are cut off. Returns the results.
fn keep(main: &mut Function, needed: &[bool], cuts: &[NodeId], params: &[NodeId], results: &[NodeId]) -> Vec<NodeId> {
    let body = main.body();
    let is_cut: HashSet<NodeId> = cuts.iter().copied().collect();
    let new: HashMap<NodeId, NodeId> = cuts.iter().copied().zip(params.iter().copied()).collect();
    let stays = |main: &Function, id: NodeId| match main.kind(id) {
        // The results of a call that stays, also those that are not needed: it may have to state all.
        kind::TUPLE_GET_ITEM => main.operands(id).iter().all(|&of| {
            needed[of.index()] && !is_cut.contains(&of) && (main.kind(of) != kind::TUPLE || needed[id.index()])
        }),
        _ => needed[id.index()] && !is_cut.contains(&id),
    };
    let bindings: Vec<NodeId> = main.bindings(body).iter().copied().filter(|&id| stays(main, id)).collect();
    main.set_bindings(body, &bindings);
    let root = main.root();
    main.set_params(root, params);
    let blocks = renamed(main, &new);
    for (block, results) in blocks {
        main.set_results(block, &results);
    }
    for id in bindings.into_iter().filter(|id| is_cut.contains(id)) {
        // The input has its name now.
        main.set_name(id, "");
        main.touch(id);
    }
    let results: Vec<NodeId> = results.iter().map(|id| new.get(id).copied().unwrap_or(*id)).collect();
    main.set_results(body, &results);
    results
}

/// Takes their names from values of nested graphs, where a new parameter of that name is visible.
fn unname_inner(main: &mut Function, cuts: &[NodeId], params: &[NodeId]) {
    let new = params.iter().filter(|id| !cuts.contains(id));
    let names: HashSet<String> = new.map(|&id| main.name(id).to_owned()).collect();
    let body: HashSet<NodeId> = main.bindings(main.body()).iter().copied().collect();
    let inner = (0..main.n_blocks() as u32).map(BlockId).filter(|&block| block != main.body());
    let values = |block: BlockId| main.operands(main.block(block).owner).iter().chain(main.bindings(block)).copied();
    let hides = |id: &NodeId| !body.contains(id) && names.contains(main.name(*id));
    for id in inner.flat_map(values).filter(hides).collect::<Vec<_>>() {
        main.set_name(id, "");
        main.touch(id);
    }
}

/// Replaces operands. Returns the nested blocks that have other results then.
fn renamed(main: &mut Function, new: &HashMap<NodeId, NodeId>) -> Vec<(BlockId, Vec<NodeId>)> {
    let mut blocks = Vec::new();
    let mut walk = Walk::new(main);
    while let Some(step) = walk.next(main) {
        match step {
            WalkStep::Binding(id) if main.kind(id) != kind::FUNCTION => {
                main.map_operands(id, |id| new.get(&id).copied().unwrap_or(id));
            }
            WalkStep::Exit(block) if block != main.body() => {
                let old = main.results(block);
                if old.iter().any(|id| new.contains_key(id)) {
                    let results = old.iter().map(|id| new.get(id).copied().unwrap_or(*id)).collect();
                    blocks.push((block, results));
                }
            }
            _ => {}
        }
    }
    blocks
}

/// The inputs and outputs of a model.
struct Interface {
    inputs: Vec<(String, String)>,
    output_names: Vec<String>,
    types: Vec<TypeId>,
    raws: Vec<Vec<u8>>,
}

impl Interface {
    fn of(main: &Function) -> Self {
        let attrs = main.attrs(main.root());
        let types = match attrs.meta(meta::OUTPUT_TYPES) {
            Some(AttrValue::Types(types)) => types.types().collect(),
            _ => Vec::new(),
        };
        let raws = match attrs.meta(meta::OUTPUT_RAW) {
            Some(AttrValue::Strings(raws)) => raws.strings().map(<[u8]>::to_vec).collect(),
            _ => Vec::new(),
        };
        Self { inputs: inputs(main), output_names: output_names(main), types, raws }
    }

    /// Returns the differences to the interface that `main` has now, as lines for the user.
    fn changes(&self, main: &Function, outputs: &[String]) -> Vec<String> {
        let list = |names: &[String]| match names {
            [] => "none".to_owned(),
            names => names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
        };
        let mut changes = Vec::new();
        let mut compare = |what: &str, old: &[String], new: &[String], shown: String| {
            if old != new {
                changes.push(format!("the {what} were {} and are {shown}", list(old)));
            }
        };
        let names = |values: &[(String, String)]| values.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        let typed = |(name, ty): &(String, String)| format!("`{name}` (`{ty}`)");
        let shown = |values: &[(String, String)]| match values {
            [] => "none".to_owned(),
            values => values.iter().map(typed).collect::<Vec<_>>().join(", "),
        };
        let now = inputs(main);
        compare("inputs", &names(&self.inputs), &names(&now), shown(&now));
        let types = main.results(main.body()).iter().map(|&id| display_type(main, main.type_id(id)).to_string());
        let now: Vec<(String, String)> = outputs.iter().cloned().zip(types).collect();
        compare("outputs", &self.output_names, outputs, shown(&now));
        changes
    }
}

/// Names and declares the outputs: one that the model had as it did, another one with its type.
fn name_outputs(main: &mut Function, names: &[String], results: &[NodeId], before: &Interface) {
    let old = |name: &String| before.output_names.iter().position(|old| old == name);
    let ty = |main: &Function, (name, &id): (&String, &NodeId)| {
        let declared = old(name).and_then(|at| before.types.get(at)).copied().filter(|&ty| ty != TypeId::UNKNOWN);
        declared.unwrap_or_else(|| main.type_id(id))
    };
    let types = names.iter().zip(results).map(|output| ty(main, output)).collect();
    let raw = |name: &String| old(name).and_then(|at| before.raws.get(at)).cloned().unwrap_or_default();
    let raws: Vec<Vec<u8>> = names.iter().map(raw).collect();
    let root = main.root();
    set_meta(main, root, OUTPUT_NAMES, AttrData::Strings(names.iter().map(|name| name.as_bytes().to_vec()).collect()));
    set_meta(main, root, meta::OUTPUT_TYPES, AttrData::Types(types));
    main.set_type(root, TypeId::UNKNOWN);
    if !before.raws.is_empty() {
        set_meta(main, root, meta::OUTPUT_RAW, AttrData::Strings(raws));
    }
}

fn output_names(main: &Function) -> Vec<String> {
    let stated = stated_output_names(main);
    let name = |(at, &id): (usize, &NodeId)| {
        let stated = stated.get(at).filter(|name| !name.is_empty());
        stated.cloned().unwrap_or_else(|| main.name(id).to_owned())
    };
    main.results(main.body()).iter().enumerate().map(name).collect()
}

/// The global functions that some functions call, directly or not.
fn called<'a>(module: &IRModule, roots: impl IntoIterator<Item = &'a str>) -> HashSet<String> {
    let mut called = HashSet::new();
    let mut open: Vec<String> = roots.into_iter().map(str::to_owned).collect();
    while let Some(name) = open.pop() {
        let Some(f) = module.function(&name) else { continue };
        let operands = f.all_bindings().flat_map(|id| f.operands(id).iter().copied());
        for id in operands {
            if let Expr::GlobalVar(name) = f.expr(id)
                && called.insert(name.to_owned())
            {
                open.push(name.to_owned());
            }
        }
    }
    called
}

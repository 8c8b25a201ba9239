//! Sizes that a model declares for inner values, where these follow from its inputs.

use relais::{
    ir::{
        Attr, AttrData, AttrValue, Dim, Function, IRModule, MAIN, NodeId, OUTPUT_NAMES, Type, TypeId, Walk, WalkStep,
        kind,
    },
    onnx::{meta, states_type},
    pass::Catalogue,
};
use relais_plugin_api::{
    infer::{Coverage, TypeRelations, contradiction, infer_function, infer_node},
    op::known_value,
    text::display_type,
};
use std::collections::{HashMap, HashSet};

/// Forgets the sizes that a model declares for inner values although they are sizes of its inputs that are not fixed,
/// such as a batch of 1 from before the input's became open. Passes would make constants of them. Returns the names of
/// the values.
///
/// A declared size is kept where the model does not tell whether it is one of an input's.
pub fn forget_outdated_sizes(module: &mut IRModule, catalogue: &dyn Catalogue) -> Vec<String> {
    let has_open_size = |main: &Function, param: NodeId| {
        main.type_of(param).shape().is_some_and(|shape| shape.iter().any(|&dim| Dim::from(dim).known().is_none()))
    };
    if !module.main().is_some_and(|main| main.params().iter().any(|&param| has_open_size(main, param))) {
        return Vec::new();
    }
    let Some(main) = module.function_mut(MAIN) else { return Vec::new() };
    let declared: Vec<NodeId> = main
        .all_bindings()
        .filter(|&id| {
            main.kind(id) != kind::CONSTANT
                && shapes(main, main.type_id(id)).iter().flatten().any(|size| size.known().is_some())
        })
        .collect();
    if declared.is_empty() {
        return Vec::new();
    }
    let mut inferred = main.clone();
    let sizes = name_open_sizes(&mut inferred);
    declared.iter().for_each(|&id| inferred.set_type(id, TypeId::UNKNOWN));
    infer_function(&mut inferred, &mut *catalogue.relations(), Coverage::Everything);
    let mut outdated = HashSet::new();
    for id in declared {
        let found = shapes(&inferred, inferred.type_id(id));
        let ty = map_sizes(main, main.type_id(id), |tensor, axis, size| {
            let found = found.get(tensor).and_then(|shape| shape.get(axis));
            found.and_then(|found| sizes.get(found)).copied().filter(|_| size.known().is_some()).unwrap_or(size)
        });
        if ty != main.type_id(id) {
            main.set_type(id, ty);
            outdated.insert(id);
        }
    }
    if outdated.is_empty() {
        return Vec::new();
    }
    restate(main, &outdated);
    let outdated = main.all_bindings().filter(|id| outdated.contains(id));
    outdated.map(|id| main.name(id).to_owned()).filter(|name| !name.is_empty()).collect()
}

/// Infers the types of all values of `main`, those of nested graphs included. Calls that are invalid keep the types that they have.
pub fn infer_types(module: &mut IRModule, catalogue: &dyn Catalogue) {
    if let Some(main) = module.function_mut(MAIN) {
        infer_function(main, &mut *catalogue.relations(), Coverage::Everything);
    }
}

/// The edit of a binding, or of a value that took the place of an output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Edited {
    /// It has other operands, of the same types.
    Operands,
    /// Its operands have other types, or its attributes other values.
    Contents,
}

/// Infers the types of bindings that were edited, and of those that depend on them as far as types change. A type that no
/// relation tells is kept if only operands of the same types took the places of others, and forgotten otherwise.
/// Types that the file states for values and outputs are restated.
///
/// # Errors
/// Returns the first call that is invalid, and why. The function is then half typed.
pub fn renew_types(
    function: &mut Function,
    edited: &HashMap<NodeId, Edited>,
    relations: &mut dyn TypeRelations,
) -> Result<(), (NodeId, String)> {
    let mut changed: HashSet<NodeId> = HashSet::new();
    let mut walk = Walk::new(function);
    while let Some(step) = walk.next(function) {
        let has_changed = |id: NodeId| function.operands(id).iter().any(|operand| changed.contains(operand));
        let id = match step {
            WalkStep::Binding(id) if function.n_regions(id) > 0 => {
                if has_changed(id) || edited.get(&id) == Some(&Edited::Contents) {
                    // The parameters of its functions stand for operands.
                    let regions = function.regions(id).iter().filter(|&&id| function.kind(id) == kind::FUNCTION);
                    let params: Vec<NodeId> = regions.flat_map(|&id| function.operands(id)).copied().collect();
                    for param in params {
                        function.forget_derived(param);
                        function.set_type(param, TypeId::UNKNOWN);
                        changed.insert(param);
                    }
                }
                continue;
            }
            WalkStep::Binding(id) if function.kind(id) != kind::FUNCTION => id,
            WalkStep::Leave(id) => id,
            _ => continue,
        };
        let is_inside = |id: NodeId| {
            function.regions(id).iter().filter(|&&region| function.kind(region) == kind::FUNCTION).any(|&region| {
                let results = function.results(function.block_of(region));
                results.iter().any(|result| changed.contains(result))
            })
        };
        let contents = has_changed(id) || is_inside(id) || edited.get(&id) == Some(&Edited::Contents);
        if !contents && !edited.contains_key(&id) {
            continue;
        }
        if function.kind(id) == kind::CONSTANT {
            // It has the type of its tensor.
            changed.insert(id);
            continue;
        }
        let (ty, value) = (function.type_id(id), known_value(function, id));
        function.forget_derived(id);
        function.set_type(id, TypeId::UNKNOWN);
        match infer_node(function, relations, id) {
            Err(error) if !error.is_unsupported() => return Err((id, error.message.to_string())),
            _ => {}
        }
        if !contents && function.type_id(id) == TypeId::UNKNOWN {
            function.set_type(id, ty);
        }
        if function.type_id(id) != ty || known_value(function, id) != value {
            changed.insert(id);
        }
    }
    restate(function, &changed);
    changed.extend(edited.keys().filter(|&&id| is_declared_otherwise(function, id)));
    changed.retain(|&id| function.type_id(id) != TypeId::UNKNOWN);
    if !restate_outputs(function, &changed).is_empty() {
        let root = function.root();
        function.set_type(root, TypeId::UNKNOWN);
    }
    Ok(())
}

/// Whether a value is an output that is declared with a type that it cannot have.
fn is_declared_otherwise(function: &Function, id: NodeId) -> bool {
    let Some(AttrValue::Types(declared)) = function.attrs(function.root()).meta(meta::OUTPUT_TYPES) else {
        return false;
    };
    let mut outputs = declared.types().zip(function.results(function.body()));
    outputs.any(|(ty, &result)| result == id && contradiction(function.ty(ty), function.type_of(id)).is_some())
}

/// Which sizes of values are inferred again.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Opened {
    /// The fixed ones.
    Fixed,
    /// All.
    All,
    /// All; those that are not known then stay as they were.
    Renewed,
}

/// An output that has another type than before.
pub(super) struct Retyped {
    pub name: String,
    /// The two types, as a line for the user.
    pub line: String,
}

/// Opens sizes of all values that depend on some parameters, and types the values again by `infer`. Returns which outputs
/// have another type than before.
pub(super) fn renew_types_after(
    main: &mut Function,
    params: &[NodeId],
    opened: Opened,
    infer: impl FnOnce(&mut Function),
) -> Vec<Retyped> {
    let reached = reached_from(main, params);
    let mut stated = Vec::new();
    for &id in &reached {
        if !params.contains(&id) && main.kind(id) != kind::CONSTANT {
            let before = main.type_id(id);
            let ty = map_sizes(main, before, |_, _, size| match size {
                Dim::Symbol(_) if opened == Opened::Fixed => size,
                _ => Dim::Unknown,
            });
            main.set_type(id, ty);
            stated.push((id, before));
        }
    }
    infer(main);
    if opened == Opened::Renewed {
        stated.into_iter().for_each(|(id, before)| complete(main, id, before));
    }
    restate(main, &reached);
    restate_outputs(main, &reached)
}

/// States the sizes of a value that are not known as another type of the same rank states them.
fn complete(main: &mut Function, id: NodeId, other: TypeId) {
    let (known, others) = (shapes(main, main.type_id(id)), shapes(main, other));
    let ty = map_sizes(main, main.type_id(id), |tensor, axis, size| {
        let other = others.get(tensor).filter(|other| other.len() == known[tensor].len());
        other.map_or(size, |other| if size == Dim::Unknown { other[axis] } else { size })
    });
    main.set_type(id, ty);
}

/// Gives each open size of the parameters a name. Returns what stands for the names in the function itself.
fn name_open_sizes(main: &mut Function) -> HashMap<Dim, Dim> {
    let mut sizes = HashMap::new();
    let params = main.params().to_vec();
    let n_unknown = params.iter().flat_map(|&param| shapes(main, main.type_id(param))).flatten();
    // Names of sizes in files have no control characters.
    let names: Vec<Dim> = (0..n_unknown.count()).map(|at| Dim::Symbol(main.intern(&format!("\0{at}")))).collect();
    let mut names = names.into_iter();
    for param in params {
        let ty = map_sizes(main, main.type_id(param), |_, _, size| {
            let name = if size == Dim::Unknown { names.next().unwrap_or(size) } else { size };
            if name.known().is_none() {
                sizes.insert(name, size);
            }
            name
        });
        main.set_type(param, ty);
    }
    sizes
}

/// The values that depend on some parameters. A binding with regions is reached as a whole.
fn reached_from(main: &Function, params: &[NodeId]) -> HashSet<NodeId> {
    let mut reached: HashSet<NodeId> = params.iter().copied().collect();
    let functions = |id: NodeId| -> Vec<NodeId> {
        let functions = if main.kind(id) == kind::FUNCTION { vec![id] } else { main.regions(id).to_vec() };
        functions.into_iter().filter(|&function| main.kind(function) == kind::FUNCTION).collect()
    };
    let mut walk = Walk::new(main);
    while let Some(step) = walk.next(main) {
        let WalkStep::Binding(id) = step else { continue };
        let (mut inside, mut operands) = (vec![id], main.operands(id).to_vec());
        for function in functions(id) {
            inside.extend(main.operands(function));
            let mut nested = Walk::block(main.block_of(function));
            while let Some(step) = nested.next(main) {
                match step {
                    WalkStep::Binding(id) => {
                        inside.push(id);
                        inside.extend(functions(id).into_iter().flat_map(|function| main.operands(function)));
                        operands.extend(main.operands(id));
                    }
                    WalkStep::Exit(block) => operands.extend(main.results(block)),
                    WalkStep::Enter(_) | WalkStep::Leave(_) => {}
                }
            }
        }
        if operands.iter().any(|operand| reached.contains(operand)) {
            reached.extend(inside);
        }
        walk.skip_nested();
    }
    reached
}

/// Writes the types of some values where the file stated others, so that the file says what is known now.
fn restate(main: &mut Function, values: &HashSet<NodeId>) {
    let functions: Vec<NodeId> =
        (0..main.n_nodes()).map(NodeId::from_index).filter(|&id| main.kind(id) == kind::FUNCTION).collect();
    for function in functions {
        let attrs = main.attrs(function);
        let (Some(AttrValue::Strings(names)), Some(AttrValue::Types(types))) =
            (attrs.meta(meta::VALUE_INFO), attrs.meta(meta::VALUE_INFO_TYPES))
        else {
            continue;
        };
        let bindings = main.bindings(main.block_of(function)).iter().filter(|id| values.contains(id));
        let named: HashMap<&str, NodeId> = bindings.map(|&id| (main.name(id), id)).collect();
        let renewed = names.strings().zip(types.types()).map(|(name, ty)| {
            let value = std::str::from_utf8(name).ok().and_then(|name| named.get(name));
            value.map(|&value| main.type_id(value)).filter(|&now| states_type(main, now)).unwrap_or(ty)
        });
        let renewed: Vec<TypeId> = renewed.collect();
        if types.types().eq(renewed.iter().copied()) {
            continue;
        }
        set_meta(main, function, meta::VALUE_INFO_TYPES, AttrData::Types(renewed));
    }
}

/// Declares the outputs among some values with the types that they have now. Returns what changed.
fn restate_outputs(main: &mut Function, values: &HashSet<NodeId>) -> Vec<Retyped> {
    let root = main.root();
    let Some(AttrValue::Types(declared)) = main.attrs(root).meta(meta::OUTPUT_TYPES) else { return Vec::new() };
    let declared: Vec<TypeId> = declared.types().collect();
    let names = stated_output_names(main);
    let mut changes = Vec::new();
    let now = |(at, (&ty, &value)): (usize, (&TypeId, &NodeId))| {
        let now = main.type_id(value);
        if !values.contains(&value) || now == ty || !states_type(main, now) {
            return ty;
        }
        let name = names.get(at).cloned().unwrap_or_default();
        let [was, is] = [ty, now].map(|ty| display_type(main, ty).to_string());
        changes.push(Retyped { line: format!("output `{name}` was `{was}` and is `{is}`"), name });
        now
    };
    let renewed: Vec<TypeId> = declared.iter().zip(main.results(main.body())).enumerate().map(now).collect();
    set_meta(main, root, meta::OUTPUT_TYPES, AttrData::Types(renewed));
    changes
}

/// The names that the outputs are declared with.
pub(super) fn stated_output_names(main: &Function) -> Vec<String> {
    match main.attrs(main.root()).meta(OUTPUT_NAMES) {
        Some(AttrValue::Strings(names)) => {
            names.strings().map(|name| String::from_utf8_lossy(name).into_owned()).collect()
        }
        _ => Vec::new(),
    }
}

/// Sets a piece of metadata of a node.
pub(super) fn set_meta(f: &mut Function, id: NodeId, name: &'static str, value: AttrData) {
    let new = f.encode_attr(&Attr::meta(name, value));
    let mut recs = f.attr_recs(id).to_vec();
    match recs.iter_mut().find(|rec| rec.name == new.name && rec.flags == new.flags) {
        Some(old) => *old = new,
        None => recs.push(new),
    }
    f.set_attr_recs(id, &recs);
}

/// The shapes of a tensor, or of the tensors of a tuple; empty where one is not known.
fn shapes(f: &Function, ty: TypeId) -> Vec<Vec<Dim>> {
    let dims = |ty: TypeId| f.ty(ty).shape().unwrap_or_default().iter().map(|&dim| dim.into()).collect();
    match f.ty(ty) {
        Type::Tuple(fields) => fields.iter().map(|&field| dims(field)).collect(),
        _ => vec![dims(ty)],
    }
}

/// The type with other sizes: of a tensor, or of the tensors of a tuple. `size` gets the tensor's index, the axis and
/// the size.
fn map_sizes(f: &mut Function, ty: TypeId, mut size: impl FnMut(usize, usize, Dim) -> Dim) -> TypeId {
    let mut tensor = |f: &mut Function, index: usize, ty: TypeId| match f.ty(ty) {
        Type::Tensor { elem, shape: Some(shape) } => {
            let shape: Vec<Dim> = shape.iter().enumerate().map(|(axis, &dim)| size(index, axis, dim.into())).collect();
            f.tensor_type(elem, &shape)
        }
        _ => ty,
    };
    match f.ty(ty) {
        Type::Tuple(fields) => {
            let fields = fields.to_vec();
            let fields: Vec<TypeId> = fields.into_iter().enumerate().map(|(at, field)| tensor(f, at, field)).collect();
            f.add_type(Type::Tuple(&fields))
        }
        _ => tensor(f, 0, ty),
    }
}

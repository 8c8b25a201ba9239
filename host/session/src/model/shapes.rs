//! Shapes that a user gives to the inputs of a model.

use super::declared::{Opened, renew_types_after};
use crate::error::Error;
use relais::{
    ir::{Dim, DimRec, Function, IRModule, MAIN, NodeId, Type},
    pass::Catalogue,
    report::inputs,
    words::{nearest, or_list},
};
use relais_plugin_api::{
    infer::{Coverage, TypeFault, infer_function},
    text::{display, display_type},
};
use std::collections::HashMap;

/// A dimension as it was written.
enum Wanted<'a> {
    Size(u64),
    Symbol(&'a str),
    Unknown,
}

/// Sets the shapes of inputs, given as `name:1,3,224,224`, and infers the types that follow. A dimension is a size, the
/// name of a symbol, or `?` for one that is not fixed; a model with one input needs no name. The types of all values that depend
/// on the inputs are inferred again, and those of outputs and of inner values are stated as they are then. Sizes that are not
/// known then are forgotten where a shape is not just more precise than the model's.
///
/// Returns which outputs have another type then.
///
/// # Errors
/// Returns an error if a text is not a shape, no input has the name, the input has another rank, or a call becomes
/// invalid, at some size of those that are not fixed any more, too. The module may have changed then.
pub fn set_input_shapes(
    module: &mut IRModule,
    wanted: &[String],
    catalogue: &dyn Catalogue,
) -> Result<Vec<String>, Error> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let Some(main) = module.function_mut(MAIN) else {
        return Err(Error::new("the module has no function `main`, so that no input can have a shape"));
    };
    let infer = |main: &mut Function| infer_function(main, &mut *catalogue.relations(), Coverage::Everything).faults;
    // Calls that are invalid for any shapes are not due to the arguments.
    let old_faults = infer(&mut main.clone());
    let mut replaced = Vec::new();
    let mut given = Vec::new();
    for text in wanted {
        let (param, dims) = parse(main, text)?;
        given.push(param);
        replaced.extend(set(main, param, &dims, text)?);
    }
    let mut faults = Vec::new();
    let params: Vec<NodeId> = replaced.iter().map(|replaced| replaced.param).collect();
    let mut changes = match params[..] {
        [] => Vec::new(),
        _ => renew_types_after(main, &params, Opened::Fixed, |main| drop(infer(main))),
    };
    changes.extend(renew_types_after(main, &given, Opened::Renewed, |main| faults = infer(main)));
    let new_fault =
        |faults: Vec<TypeFault>| faults.into_iter().find(|fault| old_faults.iter().all(|old| old.node != fault.node));
    if let Some(fault) = new_fault(faults) {
        let line = display(main, fault.node).to_string();
        return Err(Error::new(format!("with these input shapes, the call `{line}` is invalid: {}", fault.error)));
    }
    let opened = replaced.iter().find(|replaced| !replaced.opened.is_empty());
    if let Some(Replaced { param, .. }) = opened {
        // A model whose constants fix a size fails at others.
        let mut doubled = main.clone();
        double(&mut doubled, &replaced);
        let mut faults = Vec::new();
        renew_types_after(&mut doubled, &params, Opened::Fixed, |doubled| faults = infer(doubled));
        if let Some(fault) = new_fault(faults) {
            let (name, line) = (main.name(*param), display(main, fault.node).to_string());
            return Err(Error::new(format!(
                "the model fixes a size of input `{name}`: with twice the size, the call `{line}` is invalid: {}",
                fault.error
            )));
        }
    }
    Ok(changes.into_iter().map(|changed| changed.line).collect())
}

/// Whether a text such as `name:1,3,224,224` is about an input that the model has.
pub fn names_input(module: &IRModule, text: &str) -> bool {
    module.main().is_some_and(|main| parse(main, text).is_ok())
}

/// A parameter whose type was replaced by one that is not just more precise.
struct Replaced {
    param: NodeId,
    /// The axes that are not fixed any more, with their sizes before.
    opened: Vec<(usize, u64)>,
}

/// Fixes the opened sizes again, at twice what they were.
fn double(main: &mut Function, replaced: &[Replaced]) {
    let mut sizes: HashMap<Dim, Dim> = HashMap::new();
    for Replaced { param, opened } in replaced {
        let Type::Tensor { elem, shape: Some(shape) } = main.type_of(*param) else { continue };
        let mut dims: Vec<Dim> = shape.iter().map(|&dim| dim.into()).collect();
        for &(axis, size) in opened {
            let doubled = Dim::Static(size.saturating_mul(2));
            // A symbol has one size wherever it stands.
            let symbol = dims[axis];
            dims[axis] = if symbol == Dim::Unknown { doubled } else { *sizes.entry(symbol).or_insert(doubled) };
        }
        let ty = main.tensor_type(elem, &dims);
        main.set_type(*param, ty);
    }
}

fn parse<'a>(main: &Function, text: &'a str) -> Result<(NodeId, Vec<Wanted<'a>>), Error> {
    let known = inputs(main);
    let (name, dims) = match (text.rsplit_once(':'), known.as_slice()) {
        (Some((name, dims)), _) => (name, dims),
        // With one input, the meaning is unambiguous.
        (None, [(name, _)]) => (name.as_str(), text),
        (None, _) => {
            return Err(
                Error::usage(format!("input shape `{text}` names no input")).with_help("write `name:1,3,224,224`")
            );
        }
    };
    let param = main.params().iter().copied().find(|&param| main.name(param) == name);
    let Some(param) = param.filter(|_| known.iter().any(|(known, _)| known == name)) else {
        let names: Vec<String> = known.iter().map(|(name, ty)| format!("`{name}` (`{ty}`)")).collect();
        let near = nearest(name, known.iter().map(|(name, _)| name.as_str()));
        let error = Error::new(format!("the model has no input `{name}`; it has {}", names.join(", ")));
        return Err(if near.is_empty() { error } else { error.with_help(format!("did you mean {}?", or_list(&near))) });
    };
    let dims: Option<Vec<Wanted<'_>>> = match dims {
        "" => Some(Vec::new()),
        dims => dims.split(',').map(|dim| parse_dim(dim.trim())).collect(),
    };
    let dims = dims.ok_or_else(|| {
        Error::usage(format!("input shape `{text}` is not a shape"))
            .with_help("dimensions are sizes, names of symbols or `?`, with commas between them")
    })?;
    Ok((param, dims))
}

fn parse_dim(text: &str) -> Option<Wanted<'_>> {
    let is_name = |text: &str| {
        text.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.'))
    };
    match text {
        "?" | "-1" => Some(Wanted::Unknown),
        name if is_name(name) => Some(Wanted::Symbol(name)),
        size => size.parse().ok().filter(|&size| i64::try_from(size).is_ok()).map(Wanted::Size),
    }
}

/// Sets the type of a parameter. Returns what it replaced, if the type is not just more precise than before.
fn set(main: &mut Function, param: NodeId, wanted: &[Wanted<'_>], text: &str) -> Result<Option<Replaced>, Error> {
    let conflict = |why: String, main: &Function| {
        let ty = display_type(main, main.type_id(param)).to_string();
        Error::new(format!("input shape `{text}` contradicts the model: {why}"))
            .with_help(format!("input `{}` is `{ty}`", main.name(param)))
    };
    let (elem, old) = match main.type_of(param) {
        Type::Tensor { elem, shape } => (elem, shape.map(<[DimRec]>::to_vec)),
        _ => return Err(conflict("the input is not a tensor".into(), main)),
    };
    let old: Option<Vec<Dim>> = old.map(|old| old.into_iter().map(Dim::from).collect());
    if let Some(old) = old.as_ref().filter(|old| old.len() != wanted.len()) {
        return Err(conflict(format!("it has {} dimensions, not {}", old.len(), wanted.len()), main));
    }
    let dims: Vec<Dim> = wanted
        .iter()
        .map(|dim| match dim {
            Wanted::Size(size) => Dim::Static(*size),
            Wanted::Symbol(name) => Dim::Symbol(main.intern(name)),
            Wanted::Unknown => Dim::Unknown,
        })
        .collect();
    let pairs = || old.iter().flatten().zip(&dims).enumerate();
    let opened = pairs().filter(|(_, (_, new))| new.known().is_none());
    let opened = opened.filter_map(|(axis, (old, _))| Some((axis, old.known()?))).collect();
    let is_replaced = pairs().any(|(_, (old, new))| old.known().is_some() && old != new);
    let ty = main.tensor_type(elem, &dims);
    main.set_type(param, ty);
    main.touch(param);
    Ok(is_replaced.then_some(Replaced { param, opened }))
}

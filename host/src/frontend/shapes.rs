//! Shapes that a user gives to the inputs of a model.

use super::error::Error;
use crate::{
    ir::{Dim, DimRec, Function, IRModule, MAIN, NodeId, Type},
    pass::Catalogue,
    report::inputs,
    words::{nearest, or_list},
};
use relais_plugin_api::infer::{Coverage, infer_function};

/// A dimension as it was written.
enum Wanted<'a> {
    Size(u64),
    Symbol(&'a str),
    Unknown,
}

/// Sets the shapes of inputs, given as `name:1,3,224,224`, and infers the types that follow. A dimension is a size, the
/// name of a symbol, or `?` for one that stays as it is; a model with one input needs no name.
///
/// # Errors
/// Returns an error if a text is not a shape, no input has the name, the shape contradicts the model, or a call becomes
/// invalid. The module may have changed then.
pub fn set_input_shapes(module: &mut IRModule, wanted: &[String], catalogue: &dyn Catalogue) -> Result<(), Error> {
    if wanted.is_empty() {
        return Ok(());
    }
    let Some(main) = module.function_mut(MAIN) else {
        return Err(Error::new("the module has no function `main`, so that no input can have a shape"));
    };
    // Calls that are invalid for any shapes are not due to the arguments.
    let old_faults = infer_function(&mut main.clone(), &mut *catalogue.relations(), Coverage::Everything).faults;
    for text in wanted {
        let (param, dims) = parse(main, text)?;
        set(main, param, &dims, text)?;
    }
    let mut faults = infer_function(main, &mut *catalogue.relations(), Coverage::Everything).faults.into_iter();
    if let Some(fault) = faults.find(|fault| old_faults.iter().all(|old| old.node != fault.node)) {
        let line = relais_plugin_api::text::display(main, fault.node).to_string();
        return Err(Error::new(format!("with these input shapes, the call `{line}` is invalid: {}", fault.error)));
    }
    Ok(())
}

fn parse<'a>(main: &Function, text: &'a str) -> Result<(NodeId, Vec<Wanted<'a>>), Error> {
    let known = inputs(main);
    let (name, dims) = match (text.rsplit_once(':'), known.as_slice()) {
        (Some((name, dims)), _) => (name, dims),
        // With one input, the meaning is unambiguous.
        (None, [(name, _)]) => (name.as_str(), text),
        (None, _) => {
            return Err(
                Error::usage(format!("`--input-shape {text}` names no input")).with_help("write `name:1,3,224,224`")
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
        Error::usage(format!("`--input-shape {text}` is not a shape"))
            .with_help("dimensions are sizes, names of symbols or `?`, with commas between them")
    })?;
    Ok((param, dims))
}

fn parse_dim(text: &str) -> Option<Wanted<'_>> {
    let is_name = |text: &str| {
        text.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && text.chars().all(|c| c.is_alphanumeric() || c == '_')
    };
    match text {
        "?" | "-1" => Some(Wanted::Unknown),
        name if is_name(name) => Some(Wanted::Symbol(name)),
        size => size.parse().ok().filter(|&size| i64::try_from(size).is_ok()).map(Wanted::Size),
    }
}

fn set(main: &mut Function, param: NodeId, wanted: &[Wanted<'_>], text: &str) -> Result<(), Error> {
    let conflict = |why: String, main: &Function| {
        let ty = relais_plugin_api::text::display_type(main, main.type_id(param)).to_string();
        Error::new(format!("`--input-shape {text}` contradicts the model: {why}"))
            .with_help(format!("input `{}` is `{ty}`", main.name(param)))
    };
    let (elem, old) = match main.type_of(param) {
        Type::Tensor { elem, shape } => (elem, shape.map(<[DimRec]>::to_vec)),
        _ => return Err(conflict("the input is no tensor".into(), main)),
    };
    if let Some(old) = &old {
        if old.len() != wanted.len() {
            return Err(conflict(format!("it has {} dimensions, not {}", old.len(), wanted.len()), main));
        }
        for (at, (&old, new)) in old.iter().zip(wanted).enumerate() {
            let Some(size) = Dim::from(old).known() else { continue };
            let is_same = matches!(new, Wanted::Size(new) if *new == size);
            if !is_same && !matches!(new, Wanted::Unknown) {
                return Err(conflict(format!("dimension {at} is {size}"), main));
            }
        }
    }
    let dims: Vec<Dim> = wanted
        .iter()
        .enumerate()
        .map(|(at, dim)| match dim {
            Wanted::Size(size) => Dim::Static(*size),
            Wanted::Symbol(name) => Dim::Symbol(main.intern(name)),
            // Nothing new is given, so the known size stays.
            Wanted::Unknown => old.as_ref().map_or(Dim::Unknown, |old| Dim::from(old[at])),
        })
        .collect();
    let ty = main.tensor_type(elem, &dims);
    main.set_type(param, ty);
    main.touch(param);
    Ok(())
}

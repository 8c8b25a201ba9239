//! The interface that users of a model rely on: no pass may change it.

use relais_plugin_api::{ir::*, text};

/// Whether the parameters and results of `@main` keep their names, their number and their types; unknown parts of a
/// result's type may become known.
///
/// # Errors
/// Returns the first difference.
pub fn same_interface(before: &IRModule, after: &IRModule) -> Result<(), String> {
    let has_loops = before.globals().iter().any(|global| global.prim_func().is_some());
    let f = match before.entry() {
        Some(f) => f,
        // A library of loop programs has no entry.
        None if has_loops => return Ok(()),
        None => return Err("there was no `@main`".to_owned()),
    };
    let g = after.entry().ok_or("there is no `@main` any more")?;
    let same = |what: &str, before: &[String], after: &[String]| {
        if before == after {
            return Ok(());
        }
        Err(format!("the {what} were ({}) and are ({})", before.join(", "), after.join(", ")))
    };
    same("parameters", &params(f), &params(g))?;
    same("names of the results", &output_names(f.function), &output_names(g.function))?;
    let (before, after) = (results(f), results(g));
    let agree = |(&(f, a), &(g, b)): (&(&Function, TypeId), &(&Function, TypeId))| agree(f, a, g, b);
    if before.len() == after.len() && before.iter().zip(&after).all(agree) {
        return Ok(());
    }
    let shown = |results: &[(&Function, TypeId)]| results.iter().map(|&(f, ty)| shown(f, ty)).collect::<Vec<_>>();
    same("types of the results", &shown(&before), &shown(&after))
}

fn shown(f: &Function, ty: TypeId) -> String {
    text::display_type(f, ty).to_string()
}

fn params(entry: Entry<'_>) -> Vec<String> {
    let f = entry.function;
    entry.inputs.iter().map(|&param| format!("%{}: {}", f.name(param), shown(f, f.type_id(param)))).collect()
}

/// Returns the names of the results; none if the function has no names for them.
pub fn output_names(f: &Function) -> Vec<String> {
    match f.attrs(f.root()).meta("output_names") {
        Some(AttrValue::Strings(names)) => {
            names.strings().map(|name| String::from_utf8_lossy(name).into_owned()).collect()
        }
        _ => Vec::new(),
    }
}

/// The types of the results: declared, or those of the values.
fn results(entry: Entry<'_>) -> Vec<(&Function, TypeId)> {
    let (f, values) = (&**entry.function, entry.outputs);
    let declared: Vec<TypeId> = match f.type_of(f.root()) {
        Type::Func { result, .. } => match f.ty(result) {
            Type::Tuple(types) if values.len() != 1 => types.to_vec(),
            _ => vec![result],
        },
        _ => Vec::new(),
    };
    let is_declared = declared.len() == values.len();
    let types = values.iter().enumerate().map(|(at, &id)| if is_declared { declared[at] } else { f.type_id(id) });
    types.map(|ty| (f, ty)).collect()
}

/// Whether the known parts of a type still hold.
fn agree(f: &Function, before: TypeId, g: &Function, after: TypeId) -> bool {
    match (f.ty(before), g.ty(after)) {
        (Type::Unknown, _) => true,
        (Type::Tensor { elem, shape }, Type::Tensor { elem: new_elem, shape: new_shape }) => {
            let same_elem = elem == ElemType::UNKNOWN || elem == new_elem;
            let Some(shape) = shape else { return same_elem };
            let same_dim = |(&dim, &new): (&DimRec, &DimRec)| match (Dim::from(dim), Dim::from(new)) {
                (Dim::Static(dim), Dim::Static(new)) => dim == new,
                (Dim::Static(_), _) => false,
                (Dim::Symbol(dim), Dim::Symbol(new)) => f.bytes(dim) == g.bytes(new),
                (Dim::Symbol(_), Dim::Static(_)) | (Dim::Unknown, _) => true,
                (Dim::Symbol(_), Dim::Unknown) => false,
            };
            let same_rank = |new: &[DimRec]| new.len() == shape.len() && shape.iter().zip(new).all(same_dim);
            same_elem && new_shape.is_some_and(same_rank)
        }
        _ => shown(f, before) == shown(g, after),
    }
}

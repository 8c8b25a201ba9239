//! The questions that are asked of graphs while they are lowered.

use relais_plugin_api::{
    ir::{AttrValue, PRIMITIVE, description},
    prelude::*,
    prim::count_fits,
};

/// The element type and the sizes of a value that memory can hold.
pub fn memory_type(f: &Function, id: NodeId) -> Option<(ElemType, Vec<u64>)> {
    let (elem, dims) = f.type_of(id).as_tensor()?;
    let sizes: Vec<u64> = dims.iter().map(|&dim| Dim::from(dim).known()).collect::<Option<_>>()?;
    (elem.is_scalar() && count_fits(&sizes)).then_some((elem, sizes))
}

/// The loop program that a call calls.
pub fn kernel<'m>(module: &'m IRModule, call: CallView<'_>) -> Option<(&'m str, &'m Function)> {
    let Expr::GlobalVar(name) = call.owner().expr(call.callee()) else { return None };
    let global = module.global(name)?;
    Some((global.name.as_str(), &**global.prim_func()?))
}

/// The name of a call in its model: the node's, otherwise that of the value that it computes.
pub fn origin(f: &Function, id: NodeId) -> String {
    match f.attrs(id).meta(description::NAME) {
        Some(AttrValue::String(name)) if !name.is_empty() => String::from_utf8_lossy(name).into_owned(),
        _ => f.name(id).to_owned(),
    }
}

/// Whether a function is a group.
pub fn is_group(f: &Function) -> bool {
    f.attrs(f.root()).meta(PRIMITIVE).is_some()
}

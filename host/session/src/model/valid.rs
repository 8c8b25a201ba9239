//! The types that an ONNX model states for its inputs and outputs.

use super::{declared::infer_types, file::Format};
use crate::error::Error;
use relais::{
    ir::{AttrValue, IRModule, NodeId, Source, TypeId},
    onnx::{meta, states_type},
    pass::Catalogue,
};
use std::borrow::Cow;

/// Returns the module with the types that a model states for its inputs and outputs. Those that are not known are inferred.
///
/// # Errors
/// Returns an error if one is not known then either, unless a model was read without it.
pub(super) fn with_types<'m>(
    mut module: Cow<'m, IRModule>,
    catalogue: &dyn Catalogue,
) -> Result<Cow<'m, IRModule>, Error> {
    if untyped(&module).is_some() {
        infer_types(module.to_mut(), catalogue);
    }
    let Some(value) = untyped(&module) else { return Ok(module) };
    let error = Error::new(format_args!("the type of {value} is not known, and an ONNX model states it"));
    Err(error.with_help("state it in the text form: `%x: Tensor[(2, 3), float32]`"))
}

/// The first input or output whose type is not known, in words; none in a model that was read without it.
fn untyped(module: &IRModule) -> Option<String> {
    let main = module.main()?;
    let is_onnx = |source: &Source| Format::of_bytes(&source.bytes) == Format::Onnx;
    // The text of an ONNX model has what that states of itself.
    let is_read = module.sources.first().is_some_and(is_onnx) || module.attr(meta::IR_VERSION).is_some();
    let is_open = |id: NodeId| !states_type(main, main.type_id(id));
    if let Some(&input) = main.params().iter().find(|&&id| !is_read && is_open(id)) {
        return Some(format!("input `{}`", main.name(input)));
    }
    let declared: Vec<TypeId> = match main.attrs(main.root()).meta(meta::OUTPUT_TYPES) {
        Some(AttrValue::Types(types)) => types.types().collect(),
        _ => Vec::new(),
    };
    let names = module.entry().and_then(|entry| entry.output_names()).unwrap_or_default();
    let is_declared = |at: usize| match declared.get(at) {
        Some(&ty) => is_read || states_type(main, ty),
        None => is_read && at < names.len(),
    };
    let mut outputs = main.results(main.body()).iter().enumerate();
    let (at, &id) = outputs.find(|&(at, &id)| is_open(id) && !is_declared(at))?;
    let own = Some(main.name(id)).filter(|name| !name.is_empty());
    match names.get(at).map(String::as_str).or(own) {
        Some(name) => Some(format!("output `{name}`")),
        None => Some(format!("output {}", at + 1)),
    }
}

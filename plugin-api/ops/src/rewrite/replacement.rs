//! Checks of what takes the place of a value.

use crate::{infer::infer_results, relations::TypeRelations};
use relais_ir::{diagnostics::PassError, *};

/// Checks the replacements that an editor made against the types inferred for the replaced nodes.
///
/// # Errors
/// Returns the first one that contradicts it. A contradiction with a type that was merely declared does not count.
pub fn check_replacements(editor: &mut Editor, relations: &mut dyn TypeRelations) -> Result<(), PassError> {
    let suspects = editor.take_suspects();
    suspects.iter().try_for_each(|(old, new)| check_replacement(editor.function(), relations, *old, new))
}

/// Checks the replacement of a call's results against the types that the call's own type relation infers.
///
/// # Errors
/// Returns an error if they contradict each other. A contradiction with a type that was merely declared is none.
pub(super) fn check_replacement(
    f: &Function,
    relations: &mut dyn TypeRelations,
    old: NodeId,
    new: &[NodeId],
) -> Result<(), PassError> {
    let declared = |index: usize| match (f.n_results(old), f.type_of(old)) {
        (None, ty) => ty,
        (Some(_), Type::Tuple(fields)) => fields.get(index).map_or(Type::Unknown, |&field| f.ty(field)),
        (Some(_), _) => Type::Unknown,
    };
    let given = given_types(f, old, new);
    let is_suspect = |(index, &ty): (usize, &TypeId)| contradiction(declared(index), f.ty(ty)).is_some();
    if !given.iter().enumerate().any(is_suspect) {
        return Ok(());
    }
    let Some(Ok(inferred)) = infer_results(f, relations, old) else { return Ok(()) };
    for (index, &ty) in given.iter().enumerate() {
        if let Some(why) = contradiction(inferred.ty(f, index), f.ty(ty)) {
            let op = f.call(old).map_or("", CallView::op_name);
            let new = new.get(index).copied().unwrap_or(new[0]);
            let message =
                format_args!("{new} cannot take the place of result {index} of {old}, a call of `{op}`: {why}");
            return Err(PassError::new(message).code("R002").at(old));
        }
    }
    Ok(())
}

//! N6: which calls every runtime computes to the same bits.

use relais_plugin_api::{infer::Operators, ir::Type, op::Exactness, prelude::*};

/// Whether every runtime gives the same bits for a call, by what its operator's record says and the types of its values.
pub fn is_exact(f: &Function, ops: &dyn Operators, call: CallView<'_>) -> bool {
    let schema = call.op().and_then(|op| ops.schema(op));
    let exactness = schema.map_or(Exactness::Never, |schema| schema.exactness());
    if exactness == Exactness::Moved {
        return true;
    }
    let result = match f.type_of(call.id) {
        // Of several results the other ones are places in the first.
        Type::Tuple(results) => results.first().and_then(|&first| f.ty(first).elem()),
        one => one.elem(),
    };
    let args = call.args().iter().filter(|arg| !arg.is_absent()).map(|&arg| f.constant(arg).map(Tensor::elem));
    let types: Option<Vec<ElemType>> = args.chain([result]).collect();
    let Some(types) = types else { return false };
    let is_whole = |elem: ElemType| elem.is_integer() || elem == ElemType::BOOL;
    // Shorter ones pass through longer ones, and may be rounded twice.
    let is_plain = |elem: ElemType| is_whole(elem) || matches!(elem, ElemType::FLOAT | ElemType::DOUBLE);
    match exactness {
        Exactness::Rounded => types.iter().all(|&elem| is_plain(elem)),
        Exactness::Integers => types.iter().all(|&elem| is_whole(elem)),
        _ => false,
    }
}

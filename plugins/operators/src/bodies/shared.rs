//! Functions for the bodies of several families.

use relais_plugin_api::{
    ir::{Dim, ElemType},
    op::{OpCall, OpError},
};

/// The text of a body.
pub type Made = Result<String, OpError>;

/// A body whose parameters have these names, as many as the call has arguments, and that ends in `results`, as many as it
/// has results.
pub fn body(call: &OpCall<'_>, params: &[&str], lines: &str, results: &[&str]) -> Made {
    if call.version() < 7 {
        return Err(OpError::unsupported("before version 7, operators do not broadcast"));
    }
    let list = |names: &[&str], n: usize| {
        let names: Vec<String> = names.iter().take(n).map(|name| format!("%{name}")).collect();
        names.join(", ")
    };
    let (version, params) = (call.version(), list(params, call.n_args()));
    let results = match call.n_outputs() {
        1 => list(results, 1),
        n => format!("({})", list(results, n)),
    };
    Ok(format!("def @body({params}) #[opset = {{\"\": {version}}}] {{\n{lines}  {results}\n}}"))
}

/// A size of an argument, if it is known.
pub fn size(call: &OpCall<'_>, index: usize, axis: usize) -> Option<u64> {
    call.dims(index)?.get(axis).copied().and_then(Dim::known)
}

/// A number as the text form writes it.
pub fn number(value: f32) -> String {
    format!("{value:?}").to_lowercase()
}

/// A scalar constant.
pub fn scalar(elem: ElemType, value: f32) -> String {
    match elem {
        ElemType::DOUBLE => format!("const({elem}, {:?})", f64::from(value)).to_lowercase(),
        ElemType::FLOAT16 | ElemType::BFLOAT16 | ElemType::FLOAT => format!("const({elem}, {})", number(value)),
        _ => format!("const({elem}, {})", value as i64),
    }
}

/// Whether an argument is a tensor of numbers of at least single precision.
pub fn is_wide(elem: ElemType) -> bool {
    matches!(elem, ElemType::FLOAT | ElemType::DOUBLE)
}

/// The line `result = Cast(value)`, or an alias where the element types are equal.
pub fn cast(result: &str, value: &str, from: ElemType, to: ElemType) -> String {
    if from == to {
        format!("  %{result} = Identity(%{value});\n")
    } else {
        format!("  %{result} = Cast(%{value}, to = {});\n", to.0)
    }
}

/// A reduction over axes: from some version on, these are an argument.
pub fn reduced(call: &OpCall<'_>, op: &str, value: &str, axes: &[i64], keepdims: bool) -> String {
    let since = if op == "ReduceSum" { 13 } else { 18 };
    let axes = if call.version() >= since { format!("{axes:?}") } else { format!("axes = {axes:?}") };
    format!("{op}(%{value}, {axes}, keepdims = {})", i64::from(keepdims))
}

/// `Squeeze` or `Unsqueeze` of one axis.
pub fn squeezed(call: &OpCall<'_>, op: &str, value: &str, axis: i64) -> String {
    if call.version() >= 13 { format!("{op}(%{value}, [{axis}])") } else { format!("{op}(%{value}, axes = [{axis}])") }
}

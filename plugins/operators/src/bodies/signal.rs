//! Windows of signals.

use super::shared::{Made, body};
use relais_plugin_api::{ir::ElemType, op::OpCall};

/// A window: the constant, and the factors of the cosines of one and two turns.
fn window(call: &OpCall<'_>, constant: f32, factors: &[f32]) -> Made {
    let is_periodic = call.attrs().int("periodic").unwrap_or(1) != 0;
    let to = call.attrs().int("output_datatype").unwrap_or(ElemType::FLOAT.0.into());
    let last = if is_periodic { "Identity(%n)" } else { "Sub(%n, 1.0)" };
    let mut lines = format!(
        "  %n = Cast(%size, to = 1);\n  %i = Range(0.0, %n, 1.0);\n  %turn = {last};\n  %sum0 = Identity({constant:?});\n"
    );
    for (at, factor) in factors.iter().enumerate() {
        let angle = 2.0 * std::f32::consts::PI * (at + 1) as f32;
        lines += &format!(
            "  %m{at} = Mul(%i, {angle:?});\n  %a{at} = Div(%m{at}, %turn);\n  %c{at} = Cos(%a{at});\n  \
             %f{at} = Mul(%c{at}, {factor:?});\n  %sum{} = Add(%f{at}, %sum{at});\n",
            at + 1
        );
    }
    lines += &format!("  %y = Cast(%sum{}, to = {to});\n", factors.len());
    body(call, &["size"], &lines, &["y"])
}

/// `HannWindow`.
pub fn hann(call: &OpCall<'_>) -> Made {
    window(call, 0.5, &[-0.5])
}

/// `HammingWindow`.
pub fn hamming(call: &OpCall<'_>) -> Made {
    window(call, 25.0 / 46.0, &[25.0 / 46.0 - 1.0])
}

/// `BlackmanWindow`.
pub fn blackman(call: &OpCall<'_>) -> Made {
    window(call, 0.42, &[-0.5, 0.08])
}

//! Windows of signals.

use super::shared::{Made, body};
use crate::calls::{flag, int};
use relais_operator_math::signal;
use relais_plugin_api::op::OpCall;

/// A window of these weights.
fn window(call: &OpCall<'_>, [constant, first, second]: [f64; 3]) -> Made {
    let is_periodic = flag(call, "periodic")?;
    let to = int(call, "output_datatype")?;
    let last = if is_periodic { "Identity(%n)" } else { "Sub(%n, 1.0)" };
    let mut lines = format!(
        "  %n = Cast(%size, to = 1);\n  %i = Range(0.0, %n, 1.0);\n  %turn = {last};\n  %sum0 = Identity({:?});\n",
        constant as f32
    );
    let factors: Vec<f32> =
        [-first, second].into_iter().filter(|factor| *factor != 0.0).map(|factor| factor as f32).collect();
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
    window(call, signal::HANN)
}

/// `HammingWindow`.
pub fn hamming(call: &OpCall<'_>) -> Made {
    window(call, signal::HAMMING)
}

/// `BlackmanWindow`.
pub fn blackman(call: &OpCall<'_>) -> Made {
    window(call, signal::BLACKMAN)
}

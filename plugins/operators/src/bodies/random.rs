//! `Bernoulli`.

use super::shared::{Made, body, is_wide, number};
use crate::calls::{elem, opt_float, opt_int};
use relais_plugin_api::{ir::ElemType, op::OpCall};

/// `Bernoulli`: ones where a uniform random number is below the probability.
pub fn bernoulli(call: &OpCall<'_>) -> Made {
    let elem = elem(call, 0)?;
    let seed = opt_float(call, "seed")?.map_or_else(String::new, |seed| format!(", seed = {}", number(seed)));
    let to = opt_int(call, "dtype")?.unwrap_or(elem.0.into());
    // Random numbers of few bits would not be below small probabilities.
    let wide = if is_wide(elem) { elem } else { ElemType::FLOAT };
    let lines = format!(
        "  %p = Cast(%x, to = {0});\n  %r = RandomUniformLike(%p, low = 0.0, high = 1.0, dtype = {0}{seed});\n  \
         %b = Less(%r, %p);\n  %y = Cast(%b, to = {to});\n",
        wide.0
    );
    body(call, &["x"], &lines, &["y"])
}

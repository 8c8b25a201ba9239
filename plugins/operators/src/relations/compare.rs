//! `Where`.

use super::shared::{elementwise::broadcast_all, util::*};
use relais_plugin_api::op::*;

/// `Where`.
pub fn select(cx: &mut InferCx<'_>) -> Outcome {
    expect_tensor(cx, 0)?;
    let elem = common_elem(cx, 1..3)?;
    let dims = broadcast_all(cx, 0..3)?;
    set(cx, 0, elem, dims.as_deref());
    Ok(())
}

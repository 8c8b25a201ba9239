//! `RNN`, `GRU` and `LSTM`.

use super::shared::util::*;
use relais_operator_math::recurrent::are_reverse;
use relais_plugin_api::{ir::*, op::*};

/// All of them: every step's output, the last output, and for `LSTM` the last cell.
pub fn recurrent(cx: &mut InferCx<'_>) -> Outcome {
    expect_tensor(cx, 0)?;
    let elem = cx.elem(0);
    let n_directions = Dim::Static(named(cx, "direction", are_reverse)?.len() as u64);
    // The recurrence weight is `[directions, gates * hidden, hidden]`.
    let recurrence = dims_of_rank(cx, 2, 3)?.map_or(Dim::Unknown, |dims| dims[2]);
    let hidden = match opt_int(cx, "hidden_size")? {
        Some(size) => merge_dim(Int::Known(size).into(), recurrence)
            .map_err(|error| OpError::invalid(format_args!("`hidden_size` and the recurrence weight: {error}")))?,
        None => recurrence,
    };
    let data = dims_of_rank(cx, 0, 3)?.unwrap_or_else(|| smallvec![Dim::Unknown; 3]);
    let (all, last) = if int(cx, "layout")? == 0 {
        let [steps, batch] = [data[0], data[1]];
        (vec![steps, n_directions, batch, hidden], vec![n_directions, batch, hidden])
    } else {
        let [batch, steps] = [data[0], data[1]];
        (vec![batch, steps, n_directions, hidden], vec![batch, n_directions, hidden])
    };
    cx.set_tensor(0, elem, &all);
    cx.set_tensor(1, elem, &last);
    cx.set_tensor(2, elem, &last);
    Ok(())
}

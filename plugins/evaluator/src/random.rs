//! `Dropout`.

use crate::shared::{
    cx::{Eval, flag, table, unsupported_elem},
    doubt::refuse,
    elementwise::uniform_value,
    shape::uniform,
};
use relais_plugin_api::{
    ir::{ElemType, Tensor},
    op::{EvalCx, OpError},
};

table! {
    "Dropout" @ 1 => dropout,
}

/// In inference, the data.
fn dropout(cx: &EvalCx<'_>) -> Eval<Vec<Tensor>> {
    let data = cx.require(0)?;
    let is_training = match cx.version() {
        ..7 => !flag(cx, "is_test")?,
        7..12 => false,
        _ => cx.input(2).is_some_and(|mode| uniform_value::<bool>(mode) != Some(false)),
    };
    if is_training {
        return Err(OpError::unsupported("random elements"));
    }
    if cx.n_outputs() < 2 {
        return Ok(vec![data.clone()]);
    }
    refuse(cx, cx.version() < 12, "a mask before operator-set version 12")?;
    if cx.version() < 10 {
        let mask = Tensor::full(data.elem(), data.dims(), 1.0);
        return Ok(vec![data.clone(), mask.ok_or_else(|| unsupported_elem(data.elem()))?]);
    }
    Ok(vec![data.clone(), uniform(ElemType::BOOL, data.dims(), &[1])?])
}

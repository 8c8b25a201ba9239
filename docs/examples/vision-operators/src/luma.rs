//! `vision::Luma`: the brightness of an image whose colours are bytes or floats, as a camera gives them.
//!
//! ```text
//! %grey = vision::Luma(%image, weights = [0.299, 0.587, 0.114]);
//! ```
//! makes `(N, 1, H, W)` of `(N, H, W, 3)`: a weighted sum of the colours of each pixel.
//!
//! There is no evaluator: the kernel says what the operator computes, to `FoldConstant`, to `relais run --check`, and to
//! `relais build`.

use relais_plugin_api::{
    ir::{Attrs, attr_kind},
    op::{AttrSchema, Kernel, OpCall, Required},
    prelude::*,
};

pub const LUMA: Operator = Operator::new("vision", "Luma", 1)
    .attrs(&[AttrSchema {
        name: "weights",
        kind: attr_kind::FLOATS,
        required: Required::No,
        default: "[0.299, 0.587, 0.114]",
    }])
    .infer(infer)
    .compute(compute)
    .doc("The brightness of each pixel: a weighted sum of its three colours.");

/// The numbers of colours.
const COLOURS: u64 = 3;

fn infer(cx: &mut InferCx<'_>) -> Result<(), OpError> {
    weights(cx.attrs())?;
    let elem = cx.elem(0);
    if ![ElemType::UNKNOWN, ElemType::UINT8, ElemType::FLOAT].contains(&elem) {
        return Err(OpError::invalid(format_args!(
            "the image is of `{elem}`, and neither of `uint8` nor of `float32`"
        )));
    }
    let Some(dims) = cx.dims(0) else { return Ok(()) };
    let [batch, height, width, colours] = dims[..] else { return Err(OpError::invalid("an image has four axes")) };
    if colours.known().is_some_and(|n| n != COLOURS) {
        return Err(OpError::invalid("the last axis is not that of three colours"));
    }
    cx.set_tensor(0, ElemType::FLOAT, &[batch, Dim::Static(1), height, width]);
    Ok(())
}

fn compute(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Result<(), OpError> {
    let weights = weights(call.attrs())?;
    let (x, y) = (kernel.needed_input(0)?, kernel.output(0));
    let [batch, height, width, _] = kernel.sizes(x)[..] else { return Err(OpError::invalid("an image has four axes")) };
    let weights = kernel.constant(Tensor::from_f32(&[COLOURS], &weights));
    kernel.each_of_all(&[batch, height, width], |b, at| {
        let &[image, line, column] = at else { unreachable!("there are three loops") };
        let none = b.float(ElemType::FLOAT, 0.0);
        let [sum] = b.fold_all(&[COLOURS], [none], |b, colour, [sum]| {
            let value = b.load(x, &[image, line, column, colour[0]]);
            let (value, weight) = (b.cast(value, ElemType::FLOAT), b.load(weights, colour));
            let part = b.mul(value, weight);
            [b.add(sum, part)]
        });
        let first = b.index(0);
        b.store(y, sum, &[image, first, line, column]);
    });
    Ok(())
}

/// How much each colour counts.
fn weights(attrs: Attrs<'_>) -> Result<[f32; COLOURS as usize], OpError> {
    let weights = attrs.floats("weights").unwrap_or_else(|| vec![0.299, 0.587, 0.114]);
    weights.try_into().map_err(|_| OpError::invalid("`weights` are not three numbers"))
}

#[cfg(test)]
mod tests {
    use relais_plugin_api::{prelude::*, testing};

    /// One line of a red pixel and a white one.
    const IMAGE: &str = "const(uint8, [[[[255, 0, 0], [255, 255, 255]]]])";

    #[test]
    fn it_is_typed() {
        let typed = testing::infer("def @main(%x: Tensor[(N, 8, W, 3), uint8]) { %y = vision::Luma(%x); %y }").unwrap();
        assert!(typed.contains("%y: Tensor[(N, 1, 8, W), float32]"), "{typed}");
        let refused = |ty: &str| testing::infer(&format!("def @main(%x: {ty}) {{ vision::Luma(%x) }}")).unwrap_err();
        assert!(refused("Tensor[(1, 3, 8, 8), uint8]").to_string().contains("not that of three colours"));
        assert!(refused("Tensor[(1, 8, 8, 3), int64]").to_string().contains("neither of `uint8`"));
        assert!(refused("Tensor[(8, 3), uint8]").to_string().contains("four axes"));
    }

    #[test]
    fn its_kernel_computes_it() {
        let luma = |attrs: &str| testing::evaluate(&format!("def @main() {{ vision::Luma({IMAGE}{attrs}) }}"));
        let sum = |weights: [f32; 3]| weights.iter().fold(0.0f32, |sum, weight| sum + 255.0 * weight);
        let expected = [0.299f32 * 255.0, sum([0.299, 0.587, 0.114])];
        assert_eq!(luma("").unwrap(), [Tensor::from_f32(&[1, 1, 1, 2], &expected)]);
        assert_eq!(luma(", weights = [0.0, 1.0, 0.0]").unwrap(), [Tensor::from_f32(&[1, 1, 1, 2], &[0.0, 255.0])]);
        assert!(luma(", weights = [1.0]").unwrap_err().to_string().contains("not three numbers"));
    }
}

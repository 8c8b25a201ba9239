//! `vision::LetterBox`: fits an image into a frame without distorting it.
//!
//! ```text
//! (%size, %pads) = vision::LetterBox([480, 640], target = [640, 640]);
//! ```
//! gives `[480, 640]`, the size that the image is to be scaled to, and `[80, 0, 80, 0]`, what is to be added around it:
//! above, left, below, right. That is what `Resize` and `Pad` take for these two axes from version 18 of ONNX on.
//!
//! The argument is computed from the image's shape by the model itself. Where that is known, the type relation says what
//! the results hold, so that the sizes behind `Resize` and `Pad` are known; the evaluator lets `FoldConstant` put
//! constants in their place; and where the shape is not known, the kernel becomes C, with `relais build`.

use relais_plugin_api::{
    ir::{Attrs, attr_kind},
    op::{AttrSchema, Kernel, OpCall, Required},
    prelude::*,
    prim::PrimBuilder,
};

pub const LETTER_BOX: Operator = Operator::new("vision", "LetterBox", 1)
    .outputs(1, 2)
    .attrs(&[AttrSchema { name: "target", kind: attr_kind::INTS, required: Required::Yes, default: "" }])
    .infer(infer)
    .eval(evaluate)
    .compute(compute)
    .doc("Scales a height and a width to fit into a frame, and says how much is missing on each side.");

fn infer(cx: &mut InferCx<'_>) -> Result<(), OpError> {
    let frame = frame(cx.attrs())?;
    let elem = cx.elem(0);
    if elem != ElemType::UNKNOWN && elem != ElemType::INT64 {
        return Err(OpError::invalid(format_args!("the size is of `{elem}` and not of `int64`")));
    }
    if let Some(dims) = cx.dims(0)
        && !(dims.len() == 1 && dims[0].known().is_none_or(|n| n == 2))
    {
        return Err(OpError::invalid("the size is not a height and a width"));
    }
    cx.set_tensor(0, ElemType::INT64, &[Dim::Static(2)]);
    cx.set_tensor(1, ElemType::INT64, &[Dim::Static(4)]);
    let Some(size) = cx.value(0) else { return Ok(()) };
    // A dimension with a name says nothing about how much fits.
    let size: Option<Vec<i64>> = size.iter().map(|dim| i64::try_from(dim.known()?).ok()).collect();
    let Some([height, width]) = size.as_deref().and_then(|size| size.first_chunk()).copied() else { return Ok(()) };
    let fitted = fit([height, width], frame)?;
    let known = |values: &[i64]| values.iter().map(|&value| Dim::Static(value as u64)).collect::<Vec<_>>();
    cx.set_value(0, &known(&fitted.size));
    cx.set_value(1, &known(&fitted.pads));
    Ok(())
}

fn evaluate(cx: &mut EvalCx<'_>) -> Result<(), OpError> {
    let frame = frame(cx.attrs())?;
    let size = cx.require(0)?;
    // Before it is written out: a file may say that it has 2^60 elements.
    if size.len() != 2 {
        return Err(OpError::invalid("the size is not a height and a width"));
    }
    let size = size.to_i64s().and_then(|size| <[i64; 2]>::try_from(size).ok());
    let size = size.ok_or_else(|| OpError::invalid("the size is not of integers"))?;
    let fitted = fit(size, frame)?;
    cx.output(Tensor::from_i64(&[2], &fitted.size));
    cx.output(Tensor::from_i64(&[4], &fitted.pads));
    Ok(())
}

/// The kernel: the same in loops, where the size is not known before the model runs.
fn compute(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Result<(), OpError> {
    let frame = frame(call.attrs())?;
    let (size, fitted, pads) = (kernel.needed_input(0)?, kernel.output(0), kernel.optional_output(1));
    let [zero, one, most] = [0, 1, MOST].map(|value| kernel.index(value));
    let [height, width] = [zero, one].map(|at| kernel.load(size, &[at]));
    for n in [height, width] {
        let (low, high) = (kernel.ge(n, one), kernel.le(n, most));
        let is_size = kernel.and(low, high);
        kernel.assert(is_size, "the size is not one of an image");
    }
    let [top, side] = frame.map(|value| kernel.index(value));
    let (by_height, by_width) = (kernel.mul(top, width), kernel.mul(side, height));
    let is_high = kernel.le(by_height, by_width);
    let (columns, rows) = (scaled(kernel, width, top, height), scaled(kernel, height, side, width));
    let (columns, rows) = (kernel.min(columns, side), kernel.min(rows, top));
    let size = [kernel.select(is_high, top, rows), kernel.select(is_high, columns, side)];
    for (at, value) in [zero, one].into_iter().zip(size) {
        kernel.store(fitted, value, &[at]);
    }
    let Some(pads) = pads else { return Ok(()) };
    let two = kernel.index(2);
    for (at, (frame, size)) in [top, side].into_iter().zip(size).enumerate() {
        let missing = kernel.sub(frame, size);
        let before = kernel.div(missing, two);
        let after = kernel.sub(missing, before);
        for (at, value) in [(at, before), (at + 2, after)] {
            let at = kernel.index(at as i64);
            kernel.store(pads, value, &[at]);
        }
    }
    Ok(())
}

/// `n * to / from`, rounded half up, and never nothing.
fn scaled(b: &mut PrimBuilder<'_>, n: NodeId, to: NodeId, from: NodeId) -> NodeId {
    let (one, two) = (b.index(1), b.index(2));
    let product = b.mul(n, to);
    let product = b.mul(product, two);
    let (sum, by) = (b.add(product, from), b.mul(from, two));
    let quotient = b.div(sum, by);
    b.max(quotient, one)
}

/// Height and width of the frame.
fn frame(attrs: Attrs<'_>) -> Result<[i64; 2], OpError> {
    let frame = attrs.ints("target").and_then(|frame| <[i64; 2]>::try_from(frame).ok());
    match frame {
        Some(frame) if is_size(frame) => Ok(frame),
        _ => Err(OpError::invalid("`target` is not a height and a width above 0")),
    }
}

/// No image has more lines or columns, and no product overflows below.
const MOST: i64 = 1 << 30;

fn is_size(size: [i64; 2]) -> bool {
    size.iter().all(|n| (1..=MOST).contains(n))
}

struct Fitted {
    size: [i64; 2],
    /// Above, left, below, right.
    pads: [i64; 4],
}

fn fit([height, width]: [i64; 2], [top, side]: [i64; 2]) -> Result<Fitted, OpError> {
    if !is_size([height, width]) {
        return Err(OpError::invalid(format_args!("{height} x {width} is no size of an image")));
    }
    // `n * to / from`, rounded half up, and never nothing.
    let scaled = |n: i64, to: i64, from: i64| ((2 * n * to + from) / (2 * from)).max(1);
    let size = match top * width <= side * height {
        true => [top, scaled(width, top, height).min(side)],
        false => [scaled(height, side, width).min(top), side],
    };
    let (rows, columns) = (top - size[0], side - size[1]);
    Ok(Fitted { size, pads: [rows / 2, columns / 2, rows - rows / 2, columns - columns / 2] })
}

#[cfg(test)]
mod tests {
    use relais_plugin_api::testing;

    fn evaluated(size: &str, target: &str) -> Result<[Vec<i64>; 2], String> {
        let text = format!("def @main() {{ (%s, %p) = vision::LetterBox({size}, target = {target}); (%s, %p) }}");
        let results = testing::evaluate(&text).map_err(|error| error.to_string())?;
        Ok([0, 1].map(|i| results[i].to_i64s().expect("integers")))
    }

    #[test]
    fn it_fits() {
        let fits = |size, target| evaluated(size, target).unwrap();
        assert_eq!(fits("[480, 640]", "[640, 640]"), [vec![480, 640], vec![80, 0, 80, 0]]);
        assert_eq!(fits("[1080, 1920]", "[640, 640]"), [vec![360, 640], vec![140, 0, 140, 0]]);
        assert_eq!(fits("[100, 75]", "[33, 33]"), [vec![33, 25], vec![0, 4, 0, 4]]);
        assert_eq!(fits("[3, 2]", "[10, 10]"), [vec![10, 7], vec![0, 1, 0, 2]]);
        assert_eq!(fits("[1, 1073741824]", "[64, 64]"), [vec![1, 64], vec![31, 0, 32, 0]]);
    }

    #[test]
    fn what_is_no_size_is_refused() {
        let refused = |size, target| evaluated(size, target).unwrap_err();
        assert!(refused("[0, 640]", "[640, 640]").contains("0 x 640 is no size of an image"));
        assert!(refused("[-1, 640]", "[640, 640]").contains("no size"));
        assert!(refused("[480, 9223372036854775807]", "[640, 640]").contains("no size"));
        assert!(refused("splat(int64, (1152921504606846976), 1)", "[640, 640]").contains("not a height and a width"));
        assert!(refused("[480, 640, 3]", "[640, 640]").contains("not a height and a width"));
        assert!(refused("[480.0, 640.0]", "[640, 640]").contains("not of integers"));
        assert!(refused("[480, 640]", "[640]").contains("`target` is not"));
        assert!(refused("[480, 640]", "[640, 0]").contains("`target` is not"));
    }

    #[test]
    fn results_are_typed() {
        let typed = testing::infer(
            "def @main(%x: Tensor[(2), int64]) { (%s, %p) = vision::LetterBox(%x, target = [64, 64]); (%s, %p) }",
        );
        let typed = typed.unwrap();
        assert!(typed.contains("%s: Tensor[(2), int64]") && typed.contains("%p: Tensor[(4), int64]"), "{typed}");
    }

    #[test]
    fn what_a_relation_can_tell_to_be_wrong_is_refused() {
        let refused = |ty: &str, attrs: &str| {
            let text = format!("def @main(%x: {ty}) {{ vision::LetterBox(%x{attrs}) -> 2 }}");
            testing::infer(&text).unwrap_err().to_string()
        };
        let target = ", target = [64, 64]";
        assert!(refused("Tensor[(2), float32]", target).contains("`float32` and not of `int64`"));
        assert!(refused("Tensor[(3), int64]", target).contains("not a height and a width"));
        assert!(refused("Tensor[(1, 2), int64]", target).contains("not a height and a width"));
        assert!(refused("Tensor[(2), int64]", "").contains("`target` is not"));
    }

    /// What is known of a size makes known what comes out, before anything is folded.
    #[test]
    fn values_are_known_where_the_size_is() {
        let text = "def @main() { %c = [480, 640]; vision::LetterBox(%c, target = [64, 64]) }";
        assert!(testing::infer(text).unwrap().contains("Tensor[(2), int64]"));
        let error = testing::infer("def @main() { vision::LetterBox([0, 640], target = [64, 64]) }").unwrap_err();
        assert!(error.to_string().contains("no size of an image"), "{error}");
    }
}

//! The Gelus: `Gelu` and `BiasGelu` by the error function, `FastGelu` by the hyperbolic tangent, `QuickGelu` by the
//! logistic function.

use crate::{Contrib, GeluForm, Made, number};
use relais_plugin_api::prelude::*;
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_PI};

pub fn gelu(call: CallView<'_>, cx: &mut RewriteCx<'_>, which: Contrib, form: GeluForm) -> Made {
    let Some(input) = call.arg(0) else { return Err("the argument is missing") };
    if which == Contrib::QuickGelu {
        return quick(call, cx, input);
    }
    if form == GeluForm::Operator && cx.opset() < 20 {
        return Err("`Gelu` is in ONNX from version 20 on");
    }
    if form == GeluForm::Steps && which != Contrib::FastGelu && cx.opset() < 9 {
        return Err("`Erf` is in ONNX from version 9 on");
    }
    let x = match call.arg(1) {
        Some(bias) => cx.call("Add", &[input, bias]),
        None => input,
    };
    if form == GeluForm::Operator {
        let approximate = if which == Contrib::FastGelu { "tanh" } else { "none" };
        return Ok(Rewrite::Replace(cx.call_with("Gelu", &[x], vec![Attr::new("approximate", approximate)])));
    }
    let bend = if which == Contrib::FastGelu {
        let (cubic, scale) = (number(cx, input, 0.044_715)?, number(cx, input, FRAC_2_PI.sqrt())?);
        let square = cx.call("Mul", &[x, x]);
        let cube = cx.call("Mul", &[square, x]);
        let cube = cx.call("Mul", &[cube, cubic]);
        let sum = cx.call("Add", &[x, cube]);
        let scaled = cx.call("Mul", &[sum, scale]);
        cx.call("Tanh", &[scaled])
    } else {
        let scale = number(cx, input, FRAC_1_SQRT_2)?;
        let scaled = cx.call("Mul", &[x, scale]);
        cx.call("Erf", &[scaled])
    };
    let (one, half) = (number(cx, input, 1.0)?, number(cx, input, 0.5)?);
    let weight = cx.call("Add", &[bend, one]);
    let product = cx.call("Mul", &[x, weight]);
    Ok(Rewrite::Replace(cx.call("Mul", &[product, half])))
}

fn quick(call: CallView<'_>, cx: &mut RewriteCx<'_>, x: NodeId) -> Made {
    let alpha = call.attrs().float("alpha").unwrap_or(1.702);
    let alpha = number(cx, x, alpha.into())?;
    let scaled = cx.call("Mul", &[x, alpha]);
    let weight = cx.call("Sigmoid", &[scaled]);
    Ok(Rewrite::Replace(cx.call("Mul", &[x, weight])))
}

#[cfg(test)]
mod tests {
    use crate::tests::expanded;
    use relais_plugin_api::testing::Trial;

    #[test]
    fn each_is_written_out() {
        let text = expanded(13, "com.microsoft::BiasGelu(%x, %b)").text;
        assert!(text.contains("Add(%x, %b)") && text.contains("Erf("), "{text}");
        let text = expanded(13, "com.microsoft::Gelu(%x)").text;
        assert!(text.contains("Erf("), "{text}");
        let text = expanded(13, "com.microsoft::FastGelu(%x)").text;
        assert!(text.contains("Tanh(") && !text.contains("Erf("), "{text}");
        let text = expanded(13, "com.microsoft::QuickGelu(%x, alpha = 2.0)").text;
        assert!(text.contains("Sigmoid(") && text.contains("const(float32, 2.0)"), "{text}");
    }

    #[test]
    fn the_operator_of_onnx_is_taken_where_it_is_asked_for_and_there_is_one() {
        let text = |opset: u32| {
            format!(
                "def @main(%x: Tensor[(2), float32]) #[opset = {{\"\": {opset}, \"com.microsoft\": 1}}] \
                 {{ com.microsoft::FastGelu(%x) }}"
            )
        };
        let expand = Trial::of("contrib.Expand").option("gelu", "operator");
        let outcome = expand.run(&text(20)).unwrap();
        assert!(outcome.text.contains("Gelu(%x, approximate = \"tanh\")"), "{}", outcome.text);
        let outcome = expand.run(&text(19)).unwrap();
        assert_eq!((outcome.changed, outcome.declined()), (false, vec!["`Gelu` is in ONNX from version 20 on"]));
    }
}

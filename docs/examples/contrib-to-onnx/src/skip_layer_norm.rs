//! `SkipLayerNormalization`: a layer normalisation of a sum.

use crate::Made;
use relais_plugin_api::prelude::*;

pub fn skip_layer_norm(call: CallView<'_>, cx: &mut RewriteCx<'_>) -> Made {
    if cx.opset() < 17 {
        return Err("`LayerNormalization` is in ONNX from version 17 on");
    }
    let (Some(input), Some(skip), Some(gamma)) = (call.arg(0), call.arg(1), call.arg(2)) else {
        return Err("an argument is missing");
    };
    let mut sum = cx.call("Add", &[input, skip]);
    if let Some(bias) = call.arg(4) {
        sum = cx.call("Add", &[sum, bias]);
    }
    let epsilon = call.attrs().float("epsilon").unwrap_or(1e-12);
    let attrs = vec![Attr::new("axis", -1), Attr::new("epsilon", epsilon)];
    let mut args = vec![sum, gamma];
    args.extend(call.arg(3));
    let Some(n_results) = call.n_results() else {
        return Ok(Rewrite::Replace(cx.call_with("LayerNormalization", &args, attrs)));
    };
    // The result, the mean, the inverse of the deviation; what the other operator has besides is the sum.
    let mut results = cx.call_results("LayerNormalization", &args, attrs, 3);
    results.push(sum);
    results.truncate(n_results);
    Ok(Rewrite::ReplaceResults(results))
}

#[cfg(test)]
mod tests {
    use crate::tests::expanded;

    #[test]
    fn it_is_a_normalisation_of_a_sum() {
        let text = expanded(17, "com.microsoft::SkipLayerNormalization(%x, %y, %b, %b, %b, epsilon = 0.5)").text;
        assert_eq!(text.matches(" Add(").count(), 2, "{text}");
        assert!(text.contains("LayerNormalization(") && text.contains("epsilon = 0.5"), "{text}");
    }

    #[test]
    fn the_sum_is_a_result_too() {
        let call = "(%n, _, _, %sum) = com.microsoft::SkipLayerNormalization(%x, %y, %b); (%n, %sum)";
        let text = expanded(17, call).text;
        assert!(text.contains("%sum = Add(%x, %y)"), "{text}");
    }

    #[test]
    fn older_versions_have_none() {
        let outcome = expanded(16, "com.microsoft::SkipLayerNormalization(%x, %y, %b)");
        assert_eq!(outcome.declined(), ["`LayerNormalization` is in ONNX from version 17 on"]);
    }
}

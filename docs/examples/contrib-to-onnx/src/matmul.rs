//! `FusedMatMul`: `alpha * transA(a) * transB(b)`.

use crate::{Made, number};
use relais_plugin_api::prelude::*;

pub fn fused_mat_mul(call: CallView<'_>, cx: &mut RewriteCx<'_>) -> Made {
    let (Some(a), Some(b)) = (call.arg(0), call.arg(1)) else { return Err("an argument is missing") };
    let flag = |name| call.attrs().int(name).unwrap_or(0) != 0;
    if flag("transBatchA") || flag("transBatchB") {
        return Err("batch dimensions are transposed");
    }
    let alpha = call.attrs().float("alpha").unwrap_or(1.0);
    let factor = if alpha == 1.0 { None } else { Some(number(cx, a, alpha.into())?) };
    let a = if flag("transA") { transposed(cx, a)? } else { a };
    let b = if flag("transB") { transposed(cx, b)? } else { b };
    let product = cx.call("MatMul", &[a, b]);
    Ok(Rewrite::Replace(match factor {
        Some(factor) => cx.call("Mul", &[product, factor]),
        None => product,
    }))
}

/// With the last two dimensions swapped.
fn transposed(cx: &mut RewriteCx<'_>, x: NodeId) -> Result<NodeId, &'static str> {
    let rank = cx.type_of(x).shape().ok_or("the rank of what is transposed is not known")?.len();
    if rank < 2 {
        return Err("a vector is transposed");
    }
    let mut perm: Vec<i64> = (0..rank as i64).collect();
    perm.swap(rank - 2, rank - 1);
    Ok(cx.call_with("Transpose", &[x], vec![Attr::new("perm", perm)]))
}

#[cfg(test)]
mod tests {
    use crate::tests::expanded;

    #[test]
    fn it_is_a_product() {
        let text = expanded(13, "com.microsoft::FusedMatMul(%x, %y, alpha = 0.5, transB = 1)").text;
        assert!(text.contains("Transpose(%y, perm = [0, 2, 1])") && text.contains("MatMul(%x, "), "{text}");
        assert!(text.contains("const(float32, 0.5)") && text.contains("Mul("), "{text}");
    }

    #[test]
    fn a_factor_of_one_is_none() {
        let text = expanded(13, "com.microsoft::FusedMatMul(%x, %y, transA = 1)").text;
        assert!(text.contains("Transpose(%x, ") && !text.contains(" Mul("), "{text}");
    }

    #[test]
    fn what_is_not_known_declines() {
        let declined = |call: &str| expanded(13, call).declined().join("");
        assert_eq!(declined("com.microsoft::FusedMatMul(%b, %y, transA = 1)"), "a vector is transposed");
        assert_eq!(declined("com.microsoft::FusedMatMul(%x, %y, transBatchA = 1)"), "batch dimensions are transposed");
        let unknown = declined("%u = acme::Unknown(%x); com.microsoft::FusedMatMul(%u, %y, transA = 1)");
        assert_eq!(unknown, "the rank of what is transposed is not known");
        let unknown = declined("%u = acme::Unknown(%x); com.microsoft::FusedMatMul(%u, %y, alpha = 2.0)");
        assert_eq!(unknown, "the element type is not known");
    }
}

//! Divisions by powers of two become products, which are exact, too, and much faster on small processors.
//!
//! ```text
//! %y[%i] = %x[%i] / 4.0;
//! ```
//! becomes
//! ```text
//! %y[%i] = %x[%i] * 0.25;
//! ```
//!
//! Nothing else is touched: the reciprocal of any other number is rounded, and a product with it is not the quotient. A power
//! of two whose reciprocal is not a normal number stays, because some processors take it for zero.
//!
//! The pass joins the pipeline of `relais build` at its extension point `on-loops`: having the plugin is enough.

use relais_plugin_api::{ir::Imm, prelude::*, prim::CoreOp};

plugin! { description = "divisions by powers of two become products" }

/// Replaces divisions of floats by powers of two.
#[rewrite_pass(name = "exact-division.DivToMul", level = "prim", extends = "on-loops", ops = ["tir::div"])]
pub fn div_to_mul(call: CallView<'_>, cx: &mut RewriteCx<'_>) -> Rewrite {
    let &[x, by] = call.args() else { return Rewrite::Keep };
    // The divisor of each lane, if it is a vector.
    let Some(number) = cx.number_of(by).filter(|number| number.elem().is_float()) else { return Rewrite::Keep };
    match reciprocal(number) {
        Err(why) => Rewrite::decline(why),
        Ok(factor) => {
            let factor = cx.number(factor, by);
            Rewrite::Replace(cx.op(CoreOp::Mul, &[x, factor]))
        }
    }
}

/// The reciprocal, where products with it are the quotients, bit for bit.
fn reciprocal(by: Imm) -> Result<Imm, &'static str> {
    // The least exponents of normal numbers.
    let least = match by.elem() {
        ElemType::DOUBLE => -1022,
        ElemType::FLOAT | ElemType::BFLOAT16 => -126,
        ElemType::FLOAT16 => -14,
        _ => return Err("the divisor is of a type that is not known here"),
    };
    let value = by.as_float().ok_or("the divisor is not a number")?;
    let factor = 1.0 / value;
    // A power of two has no bits but that of its exponent.
    let has_fraction = |value: f64| value.to_bits() << 12 != 0;
    if !value.is_normal() || has_fraction(value) {
        return Err("the divisor is not a power of two");
    }
    if !factor.is_normal() || factor.abs() < f64::powi(2.0, least) {
        return Err("the reciprocal of the divisor is not a normal number");
    }
    Imm::float(by.elem(), factor).ok_or("the reciprocal is of another type")
}

#[cfg(test)]
mod tests {
    use relais_plugin_api::testing::Trial;

    fn tried(by: &str) -> relais_plugin_api::testing::Outcome {
        let text = format!(
            "prim @k(%x: Tensor[(4), float32]) -> (%y: Tensor[(4), float32]) {{
                for %i in 0..4 {{ %y[%i] = %x[%i] / {by}; }}
            }}"
        );
        Trial::of("exact-division.DivToMul").run(&text).unwrap()
    }

    #[test]
    fn powers_of_two_are_replaced() {
        for (by, factor) in [("4.0", "* 0.25"), ("0.5", "* 2.0"), ("-8.0", "* -0.125"), ("1.0", "* 1.0")] {
            let outcome = tried(by);
            assert!(outcome.text.contains(factor), "{}", outcome.text);
            assert_eq!(outcome.counts["rewritten"], 1);
        }
    }

    #[test]
    fn other_divisors_stay_and_a_remark_says_why() {
        for (by, why) in [
            ("3.0", "the divisor is not a power of two"),
            ("0.0", "the divisor is not a power of two"),
            ("inf", "the divisor is not a power of two"),
            ("nan", "the divisor is not a power of two"),
            ("1.7014118346046923e38", "the reciprocal of the divisor is not a normal number"),
        ] {
            let outcome = tried(by);
            assert!(!outcome.changed, "{by}: {}", outcome.text);
            assert_eq!(outcome.declined(), [why], "{by}");
        }
        // What is in memory is not known.
        assert!(!tried("%x[0]").changed);
    }

    #[test]
    fn vectors_are_divided_in_each_lane() {
        let text = "prim @k(%x: Tensor[(4), float64]) -> (%y: Tensor[(4), float64]) {
            store(%y, load(%x, 0, lanes = 4) / broadcast(8.0f64, lanes = 4), 0);
        }";
        let outcome = Trial::of("exact-division.DivToMul").run(text).unwrap();
        assert!(outcome.text.contains("* broadcast(0.125f64, lanes = 4)"), "{}", outcome.text);
    }

    #[test]
    fn everything_keeps_the_rules() {
        relais_conformance::check_all();
    }
}

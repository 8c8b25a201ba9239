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

use relais_plugin_api::{
    ir::Imm,
    prelude::*,
    prim::{CoreOp, LoopOps, PrimBuilder},
};

plugin! { description = "divisions by powers of two become products" }

/// Replaces divisions of floats by powers of two.
#[prim_func_pass(
    name = "exact-division.DivToMul",
    extends = "on-loops",
    statistics(replaced = "divisions that became products")
)]
pub fn div_to_mul(edit: &mut Editor, cx: &PassCx<'_>) -> Result<(), PassError> {
    let mut ops = LoopOps::new(edit.function());
    let mut declined = Vec::new();
    let mut n_replaced = 0;
    edit.rebuild(&mut |rebuild: &mut RebuildCx<'_>, id: NodeId| -> Result<Action, PassError> {
        let f = rebuild.function();
        let (Some(CoreOp::Div), Some(&[x, by])) = (ops.of(f, id), f.call(id).map(|call| call.args())) else {
            return Ok(Action::Keep);
        };
        let Some(by) = f.imm(by).filter(|by| by.elem().is_float()) else { return Ok(Action::Keep) };
        let factor = match reciprocal(by) {
            Ok(factor) => factor,
            Err(why) => {
                declined.push((id, why));
                return Ok(Action::Keep);
            }
        };
        let mut builder = PrimBuilder::before(rebuild, &mut ops);
        let factor = builder.imm(factor);
        let product = builder.mul(x, factor);
        builder.finish()?;
        n_replaced += 1;
        Ok(Action::Replace(product))
    })?;
    declined.into_iter().for_each(|(id, why)| cx.remark(id, why));
    cx.count("replaced", n_replaced);
    Ok(())
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
            assert_eq!(outcome.counts["replaced"], 1);
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
    fn everything_keeps_the_rules() {
        relais_conformance::check_all();
    }
}

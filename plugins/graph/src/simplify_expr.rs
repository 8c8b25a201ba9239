//! Small rewrites of elementwise operators, each exact for every input.
//!
//! ```text
//! %1 = Neg(%y);
//! %2 = Sub(%x, %1);
//! ```
//! becomes
//! ```text
//! %2 = Add(%x, %y);
//! ```
//!
//! The rules are listed below. TVM's `SimplifyExpr` is their model; what concerns shapes is in `SimplifyReshape`,
//! `SimplifyTranspose` and `SimplifyConcat`.

use relais_plugin_api::prelude::*;

/// Simplifies elementwise calls of one another.
#[rule_pass(
    name = "relais.SimplifyExpr",
    aliases = ["relay._transform.SimplifyExpr"],
    opt_level = 1,
    required = ["relais.InferType"],
)]
const SIMPLIFY_EXPR: &str = "
    not_of_not: Not(Not(x)!) => x;
    neg_of_neg: Neg(Neg(x)!) => x;
    abs_of_neg: Abs(Neg(x)) => Abs(x);
    abs_of_abs: Abs(Abs(x) as once!) => once;
    relu_of_relu: Relu(Relu(x) as once!) => once;
    sign_of_sign: Sign(Sign(x) as once!) => once;
    floor_of_floor: Floor(Floor(x) as once!) => once;
    ceil_of_ceil: Ceil(Ceil(x) as once!) => once;
    round_of_round: Round(Round(x) as once!) => once;
    add_of_neg: Add(x, Neg(y)) => Sub(x, y);
    sub_of_neg: Sub(x, Neg(y)) => Add(x, y);
    where_of_not: Where(Not(c), x, y) => Where(c, y, x)
";

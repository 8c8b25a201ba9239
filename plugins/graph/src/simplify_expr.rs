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
//!
//! Some conditions are there for numbers at the limits. The negation of a comparison is another one for integers, not for
//! floats, where both may be false. `Min` and `Max` of bounds other than zero are `Clip`: of -0.0 and a bound of 0.0,
//! runtimes return another one in `Max` than in `Clip`. A `Cast` to a type that holds all values of the first is left out
//! if the other one is defined for them, and rounds them once, with and without it.

use relais_plugin_api::{
    ir::{AttrData, Type},
    pattern::{Matched, Unmet},
    prelude::*,
};

/// Simplifies elementwise calls of one another.
#[rule_pass(
    name = "relais.SimplifyExpr",
    aliases = ["relay._transform.SimplifyExpr"],
    opt_level = 1,
    required = ["relais.InferType"],
    conditions = [passes_through, broadcasts_alike],
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
    where_of_not: Where(Not(c), x, y) => Where(c, y, x);
    not_of_less: @12 Not(Less(x, y)) => GreaterOrEqual(x, y) if elem(x) in {int32, int64};
    not_of_greater: @12 Not(Greater(x, y)) => LessOrEqual(x, y) if elem(x) in {int32, int64};
    not_of_less_or_equal: @12 Not(LessOrEqual(x, y)) => Greater(x, y) if elem(x) in {int32, int64};
    not_of_greater_or_equal: @12 Not(GreaterOrEqual(x, y)) => Less(x, y) if elem(x) in {int32, int64};
    max_of_max: @8 Max(Max(..x), ..y) => Max(..x, ..y);
    min_of_min: @8 Min(Min(..x), ..y) => Min(..x, ..y);
    min_of_max: @12 Min(Max(x, const low), const high) => Clip(x, low, high)
        if rank(low) == 0, rank(high) == 0, low != 0, high != 0, low <= high;
    max_of_min: @12 Max(Min(x, const high), const low) => Clip(x, low, high)
        if rank(low) == 0, rank(high) == 0, low != 0, high != 0, low <= high;
    clip_of_relu: @11 Clip(Relu(x), const low, ?high) => Clip(x, low, high) if low >= 0;
    clip_of_relu_above: @11 Clip(Relu(x), none, const high) => Clip(x, 0, high) if high >= 0;
    relu_of_clip: @11 Relu(Clip(x, const low, const high) as once!) => once if low >= 0, high >= 0;
    relu_of_clip_below: @11 Relu(Clip(x, const low, const high)) => Clip(x, 0, high) if low < 0, high >= 0;
    relu_of_clip_above: @11 Relu(Clip(x, none, const high)) => Clip(x, 0, high) if high >= 0;
    clip_of_clip: @11 Clip(Clip(x, const a, const b) as once!, const c, const d) => once if c <= a, a <= b, b <= d;
    clip_inside_clip: @11 Clip(Clip(x, const a, const b), const c, const d) => Clip(x, c, d) if a <= c, c <= d, d <= b;
    cast_of_cast: @6 Cast{to = to, ..}(Cast{to = by}(x)) as cast => like cast(x) if passes_through(x, by, to);
    shape_of_elementwise: Shape{..}((Abs(x) | Cast{..}(x) | Elu{..}(x) | Exp(x) | Log(x) | Neg(x) | Relu(x)
        | Sigmoid(x) | Softmax{..}(x) | Sqrt(x) | Tanh(x))) as shape => like shape(x);
    expand_left: (Add(Expand(x, _), y) as all | Sub(Expand(x, _), y) as all | Mul(Expand(x, _), y) as all
        | Div(Expand(x, _), y) as all | Equal(Expand(x, _), y) as all | Less(Expand(x, _), y) as all
        | Greater(Expand(x, _), y) as all) => like all(x, y) if broadcasts_alike(x, y, all);
    expand_right: (Add(x, Expand(y, _)) as all | Sub(x, Expand(y, _)) as all | Mul(x, Expand(y, _)) as all
        | Div(x, Expand(y, _)) as all | Equal(x, Expand(y, _)) as all | Less(x, Expand(y, _)) as all
        | Greater(x, Expand(y, _)) as all) => like all(x, y) if broadcasts_alike(x, y, all)
";

/// Whether a cast of a value by one type to another gives what a cast to the other alone does.
fn passes_through(found: &Matched<'_>, _: &RewriteCx<'_>) -> Result<(), Unmet> {
    let from = found.type_of(0)?.elem().ok_or("the element type is not known")?;
    let (Some(by), Some(to)) = (elem(found.attr(1)?), elem(found.attr(2)?)) else {
        return Err("a type is not supported".into());
    };
    let is_whole = |elem: ElemType| elem.is_integer() || elem == ElemType::BOOL;
    match () {
        _ if !holds(by, from) => Err("the type in the middle does not hold all values".into()),
        _ if to == ElemType::BOOL => Ok(()),
        _ if is_whole(from) && is_whole(by) && is_whole(to) => Ok(()),
        _ if is_whole(to) && !holds(to, from) => {
            Err("casts from floats to integers are not defined for all values".into())
        }
        // Casts to shorter ones may be rounded twice, and differently.
        _ if is_whole(to) || holds(to, from) || matches!(to, ElemType::FLOAT | ElemType::DOUBLE) => Ok(()),
        _ if from.is_float() => Ok(()),
        _ => Err("runtimes may round twice".into()),
    }
}

fn elem(to: &AttrData) -> Option<ElemType> {
    let &AttrData::Int(to) = to else { return None };
    let elem = u8::try_from(to).ok().map(ElemType)?;
    digits(elem).map(|_| elem)
}

/// The number of binary digits of a type in which a computation with it is common, and whether it is signed.
fn digits(elem: ElemType) -> Option<(u32, bool)> {
    Some(match elem {
        ElemType::BOOL => (1, false),
        ElemType::UINT8 | ElemType::UINT16 | ElemType::UINT32 | ElemType::UINT64 => (elem.bits(), false),
        ElemType::INT8 | ElemType::INT16 | ElemType::INT32 | ElemType::INT64 => (elem.bits() - 1, true),
        ElemType::FLOAT16 => (11, true),
        ElemType::BFLOAT16 => (8, true),
        ElemType::FLOAT => (24, true),
        ElemType::DOUBLE => (53, true),
        _ => return None,
    })
}

/// Whether a type has all values of another one.
fn holds(wide: ElemType, elem: ElemType) -> bool {
    let (Some((n_wide, is_signed)), Some((n, needs_sign))) = (digits(wide), digits(elem)) else { return false };
    let has_range = match elem {
        _ if wide == elem => true,
        ElemType::BOOL => true,
        // Of floats, longer ones have larger exponents, too, except for the two of 16 bits.
        _ if elem.is_float() => matches!(wide, ElemType::FLOAT | ElemType::DOUBLE),
        _ => wide != ElemType::BOOL,
    };
    has_range && n <= n_wide && (is_signed || !needs_sign)
}

/// Whether two values broadcast to the shape that the result of a call has.
fn broadcasts_alike(found: &Matched<'_>, _: &RewriteCx<'_>) -> Result<(), Unmet> {
    let (x, y, all) = (found.type_of(0)?, found.type_of(1)?, found.type_of(2)?);
    let dims = |ty: Type<'_>| -> Result<Vec<Dim>, Unmet> {
        Ok(ty.shape().ok_or("a rank is not known")?.iter().map(|&dim| dim.into()).collect())
    };
    let (x, y, all) = (dims(x)?, dims(y)?, dims(all)?);
    // Counted from the end; a size that is missing is 1.
    let size = |dims: &[Dim], at: usize| dims.iter().rev().nth(at).copied().unwrap_or(Dim::Static(1));
    let is_alike = |at: usize| match (size(&x, at), size(&y, at)) {
        (Dim::Static(1), other) | (other, Dim::Static(1)) => other.is_same(size(&all, at)),
        (one, other) => one.is_same(other) && one.is_same(size(&all, at)),
    };
    match x.len().max(y.len()) == all.len() && (0..all.len()).all(is_alike) {
        true => Ok(()),
        false => Err("the values are not known to broadcast to the shape of the result".into()),
    }
}

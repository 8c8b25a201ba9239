//! A rotary position embedding that is written out becomes `RotaryEmbedding`.
//!
//! ```text
//! %1 = Concat(%angles, %angles, axis = -1);
//! %2 = Cos(%1);
//! %3 = Sin(%1);
//! %4 = Unsqueeze(%2, [1]);
//! %5 = Unsqueeze(%3, [1]);
//! (%6, %7) = Split(%x, axis = -1, num_outputs = 2);
//! %8 = Neg(%7);
//! %9 = Concat(%8, %6, axis = -1);
//! %10 = Mul(%x, %4);
//! %11 = Mul(%9, %5);
//! %12 = Add(%10, %11);
//! ```
//! becomes
//! ```text
//! %13 = Cos(%angles);
//! %14 = Sin(%angles);
//! %12 = RotaryEmbedding(%x, %13, %14);
//! ```
//!
//! ONNX has it from version 23 on. It computes the same products and sums: adding a negated number is subtracting it. The
//! cosines and sines may be constants whose halves are equal. The operator broadcasts neither of them, so batch and length
//! must be known to be those of `x`. Where `x` is halved by two slices, `SimplifySlice` makes one `Split` of these first.

use relais_plugin_api::{
    pattern::{Matched, Unmet},
    prelude::*,
};

/// Makes `RotaryEmbedding` of the rotation of the two halves of a value.
#[rule_pass(
    name = "relais.FuseRotaryEmbedding",
    opt_level = 2,
    required = ["relais.InferType"],
    conditions = [has_equal_halves],
    samples(constant = include_str!("fuse_rotary_embedding/constant.relay"))
)]
const FUSE_ROTARY_EMBEDDING: &str = "
    computed: @23 Add(
            Mul(x, Unsqueeze(Cos(Concat{axis = twice}(angles, angles)!)!, [1])!),
            Mul(
                Concat{axis = joined}(Neg(Split{axis = halved, ..}(x, ?sizes)[1]), Split{axis = halved, ..}(x, ?sizes)[0] as half),
                Unsqueeze(Sin(Concat{axis = twice}(angles, angles)!)!, [1])!
            )
        ) => RotaryEmbedding(x, Cos(angles), Sin(angles))
        if elem(x) == float32, rank(x) == 4, rank(angles) == 3, twice in {-1, 2}, joined in {-1, 3}, halved in {-1, 3},
            dim(angles, 0) == dim(x, 0), dim(angles, 1) == dim(x, 2), dim(half, 3) == dim(angles, 2),
            dim(x, 3) == 2 * dim(angles, 2);
    constant: @23 Add(
            Mul(x, const cos),
            Mul(
                Concat{axis = joined}(Neg(Split{axis = halved, ..}(x, ?sizes)[1]), Split{axis = halved, ..}(x, ?sizes)[0] as half),
                const sin
            )
        ) => RotaryEmbedding(
            x,
            eval(Slice(Squeeze(cos, [1]), [0], [dim(cos, 3) / 2], [2])),
            eval(Slice(Squeeze(sin, [1]), [0], [dim(sin, 3) / 2], [2]))
        )
        if elem(x) == float32, rank(x) == 4, rank(cos) == 4, rank(sin) == 4, joined in {-1, 3}, halved in {-1, 3},
            dim(cos, 0) == dim(x, 0), dim(cos, 1) == 1, dim(cos, 2) == dim(x, 2), dim(cos, 3) == dim(x, 3),
            dim(sin, 0) == dim(x, 0), dim(sin, 1) == 1, dim(sin, 2) == dim(x, 2), dim(sin, 3) == dim(x, 3),
            dim(x, 3) == 2 * dim(half, 3), has_equal_halves(cos), has_equal_halves(sin)
";

/// Whether the two halves of a constant's last axis have the same elements.
fn has_equal_halves(found: &Matched<'_>, _: &RewriteCx<'_>) -> Result<(), Unmet> {
    let tensor = found.constant(0)?;
    let width = tensor.dims().last().and_then(|&width| usize::try_from(width).ok()).unwrap_or(0);
    // One that is repeated may have any size.
    if tensor.as_splat().is_some() && width.is_multiple_of(2) {
        return Ok(());
    }
    let elements = tensor.to_f64s().ok_or("the elements are not floats")?;
    let is_equal = |row: &[f64]| {
        let (low, high) = row.split_at(row.len() / 2);
        low.iter().zip(high).all(|(low, high)| low.to_bits() == high.to_bits())
    };
    let are_equal = width > 0 && width.is_multiple_of(2) && elements.chunks_exact(width).all(is_equal);
    if are_equal { Ok(()) } else { Err("the halves differ".into()) }
}

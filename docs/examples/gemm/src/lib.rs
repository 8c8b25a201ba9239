//! `Gemm` for a matrix product with a bias.

use relais_plugin_api::prelude::*;

plugin! { description = "MatMul and Add as Gemm" }

/// Makes one `Gemm` of a `MatMul` of matrices and the `Add` of a bias, transposed weights included.
///
/// Runtimes add the bias at another moment, so results may be rounded differently: hence the level.
#[rule_pass(name = "gemm.FuseGemm", opt_level = 4)]
const FUSE_GEMM: &str = "
    @7 Add(MatMul(a, b) as ab, c) => Gemm(a, b, c)
        if rank(a) == 2, rank(b) == 2, broadcasts(c, ab), elem(a) in {float16, bfloat16, float32, float64};
    @7 Add(MatMul(a, Transpose{perm = [1, 0]}(b)) as ab, c) => Gemm{transB = 1}(a, b, c)
        if rank(a) == 2, broadcasts(c, ab), elem(a) in {float16, bfloat16, float32, float64}
";

#[cfg(test)]
mod tests {
    use relais_graph as _;
    use relais_operators as _;
    use relais_plugin_api::testing::{Outcome, Trial};

    /// The outcome for a bias of this type.
    fn with_bias(ty: &str) -> Outcome {
        let text = format!(
            "def @main(%x: Tensor[(N, 3), float32], %w: Tensor[(3, 4), float32], %c: {ty}) #[opset = {{\"\": 17}}] {{
                %product = MatMul(%x, %w);
                %y = Add(%c, %product);
                %y
            }}"
        );
        Trial::of("gemm.FuseGemm").run(&text).unwrap()
    }

    #[test]
    fn a_bias_that_broadcasts_is_taken_up() {
        for ty in ["Tensor[(4), float32]", "Tensor[(N, 1), float32]", "Tensor[(N, 4), float32]", "Tensor[(), float32]"]
        {
            assert!(with_bias(ty).text.contains("%y = Gemm(%x, %w, %c);"), "{ty}: {}", with_bias(ty).text);
        }
    }

    #[test]
    fn a_sum_that_is_larger_than_the_product_stays() {
        for ty in ["Tensor[(1, 1, 4), float32]", "Tensor[(M, 4), float32]", "Tensor[*, float32]"] {
            let outcome = with_bias(ty);
            assert!(!outcome.changed && outcome.declined()[0].contains("broadcasts"), "{ty}: {:?}", outcome.declined());
        }
    }
}

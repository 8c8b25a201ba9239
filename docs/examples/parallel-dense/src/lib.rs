//! Products of one value with several weights as one product, which is then split.

use relais_plugin_api::prelude::*;

plugin! { description = "combines parallel matrix products" }

/// Combines products of one value with constant matrices, and the sums of their parts with biases: one `MatMul` with the
/// concatenated weights, one `Add`, and a `Split`. Three at once, as in attention, and else two.
///
/// Runtimes may compute a wider product in another order, so results may be rounded differently: hence the level.
#[rule_pass(name = "dense.CombineParallel", opt_level = 4)]
const COMBINE_PARALLEL: &str = "
    // Weights that something else uses would be stored twice.
    products3: @13 (p = MatMul(x, const a), q = MatMul(x, const b), r = MatMul(x, const c))
        => Split{axis = -1}(MatMul(x, eval(Concat{axis = 1}(a, b, c))), [dim(a, 1), dim(b, 1), dim(c, 1)])
        if rank(a) == 2, rank(b) == 2, rank(c) == 2, users(a) == 1, users(b) == 1, users(c) == 1;
    products2: @13 (p = MatMul(x, const a), q = MatMul(x, const b))
        => Split{axis = -1}(MatMul(x, eval(Concat{axis = 1}(a, b))), [dim(a, 1), dim(b, 1)])
        if rank(a) == 2, rank(b) == 2, users(a) == 1, users(b) == 1;
    sums3: @13 (p = Add(Split{axis = -1}(y, const s)[0], const a), q = Add(Split{axis = -1}(y, s)[1], const b),
            r = Add(Split{axis = -1}(y, s)[2], const c))
        => Split{axis = -1}(Add(y, eval(Concat{axis = 0}(a, b, c))), s)
        if dim(s, 0) == 3, shape(a) == [dim(p, -1)], shape(b) == [dim(q, -1)], shape(c) == [dim(r, -1)];
    sums2: @13 (p = Add(Split{axis = -1}(y, const s)[0], const a), q = Add(Split{axis = -1}(y, s)[1], const b))
        => Split{axis = -1}(Add(y, eval(Concat{axis = 0}(a, b))), s)
        if dim(s, 0) == 2, shape(a) == [dim(p, -1)], shape(b) == [dim(q, -1)]
";

#[cfg(test)]
mod tests {
    use relais_evaluator as _;
    use relais_graph as _;
    use relais_operators as _;
    use relais_plugin_api::testing::{Outcome, Trial};

    fn run(body: &str) -> Outcome {
        let text = format!("def @main(%x: Tensor[(2, 2), float32]) #[opset = {{\"\": 17}}] {{ {body} }}");
        Trial::of("dense.CombineParallel").run(&text).unwrap()
    }

    const WEIGHTS: &str = "%w1 = splat(float32, (2, 3), 1.0); %w2 = splat(float32, (2, 5), 2.0);";

    #[test]
    fn biases_are_combined_where_every_product_has_one() {
        let both = run(&format!(
            "{WEIGHTS} %m = MatMul(%x, %w1); %a = Add(%m, [1.0, 2.0, 3.0]);
            %n = MatMul(%x, %w2); %b = Add(splat(float32, (5), 1.0), %n); (%a, %b)"
        ));
        let count = |op: &str| both.text.matches(op).count();
        assert_eq!((count("MatMul("), count("= Add(")), (1, 1), "{}", both.text);
        assert!(both.text.contains("(%a, %b)\n") && both.text.contains("Split("), "{}", both.text);
    }

    #[test]
    fn products_of_other_values_and_weights_with_other_users_stay() {
        for second in [
            "%y = Relu(%x); %n = MatMul(%y, %w2); (%m, %n)",
            "%w3 = splat(float32, (2), 1.0); %n = MatMul(%x, %w3); (%m, %n)",
            "%n = MatMul(%x, %w2); %s = ReduceSum(%w2); (%m, %n, %s)",
        ] {
            let outcome = run(&format!("{WEIGHTS} %m = MatMul(%x, %w1); {second}"));
            assert!(!outcome.changed, "{second}: {}", outcome.text);
        }
    }
}

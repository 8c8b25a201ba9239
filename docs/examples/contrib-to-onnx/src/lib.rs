//! Makes models that onnxruntime optimised run elsewhere: replaces operators of the domain `com.microsoft` by operators
//! of ONNX. One file for each family; this one has the pass and its options.

use relais_plugin_api::prelude::*;

mod gelu;
mod matmul;
mod skip_layer_norm;

plugin! { description = "replaces operators of com.microsoft by those of ONNX" }

/// Operators that can be replaced.
#[derive(PassOptions, Clone, Copy, PartialEq)]
pub enum Contrib {
    /// `com.microsoft::FusedMatMul`
    FusedMatMul,
    /// `com.microsoft::Gelu`
    Gelu,
    /// `com.microsoft::BiasGelu`
    BiasGelu,
    /// `com.microsoft::FastGelu`
    FastGelu,
    /// `com.microsoft::QuickGelu`
    QuickGelu,
    /// `com.microsoft::SkipLayerNormalization`
    SkipLayerNormalization,
}

/// What stands for a Gelu.
#[derive(PassOptions, Clone, Copy, PartialEq)]
pub enum GeluForm {
    /// What it computes, step by step: from version 9 of ONNX on, for `Erf`.
    Steps,
    /// ONNX's own `Gelu`: from version 20 on.
    Operator,
}

/// Options of [`expand`].
#[derive(PassOptions)]
pub struct Options {
    /// The operators to be replaced; all of them when the list is empty.
    #[option(default = [])]
    operators: Vec<Contrib>,
    /// What stands for `Gelu`, `BiasGelu` and `FastGelu`.
    #[option(default = "steps")]
    gelu: GeluForm,
}

/// Replaces operators that only onnxruntime has by operators of ONNX.
///
/// ```text
/// %y = com.microsoft::FusedMatMul(%a, %b, alpha = 0.125, transB = 1);
/// ```
/// becomes
/// ```text
/// %1 = Transpose(%b, perm = [0, 2, 1]);
/// %2 = MatMul(%a, %1);
/// %y = Mul(%2, 0.125);
/// ```
/// What comes out is equal but for rounding. An operator stays where its replacement is not in the model's operator set,
/// or something about it is not known: `--remarks=missed` says what.
#[rewrite_pass(
    name = "contrib.Expand",
    opt_level = 1,
    required = ["relais.InferType"],
    ops = [
        "com.microsoft::FusedMatMul",
        "com.microsoft::Gelu",
        "com.microsoft::BiasGelu",
        "com.microsoft::FastGelu",
        "com.microsoft::QuickGelu",
        "com.microsoft::SkipLayerNormalization",
    ],
)]
pub fn expand(call: CallView<'_>, cx: &mut RewriteCx<'_>, options: &Options) -> Rewrite {
    let operator = match call.op_name() {
        "FusedMatMul" => Contrib::FusedMatMul,
        "Gelu" => Contrib::Gelu,
        "BiasGelu" => Contrib::BiasGelu,
        "FastGelu" => Contrib::FastGelu,
        "QuickGelu" => Contrib::QuickGelu,
        _ => Contrib::SkipLayerNormalization,
    };
    if !options.operators.is_empty() && !options.operators.contains(&operator) {
        return Rewrite::Keep;
    }
    let made = match operator {
        Contrib::FusedMatMul => matmul::fused_mat_mul(call, cx),
        Contrib::SkipLayerNormalization => skip_layer_norm::skip_layer_norm(call, cx),
        gelu => gelu::gelu(call, cx, gelu, options.gelu),
    };
    made.unwrap_or_else(Rewrite::decline)
}

/// What stands for a call, or why nothing does.
type Made = Result<Rewrite, &'static str>;

/// A number of the element type of `like`, as a constant.
fn number(cx: &mut RewriteCx<'_>, like: NodeId, value: f64) -> Result<NodeId, &'static str> {
    let elem = cx.type_of(like).elem().ok_or("the element type is not known")?;
    let tensor = Tensor::from_f64s(elem, &[], &[value]).ok_or("the elements are no floats")?;
    Ok(cx.constant(tensor))
}

#[cfg(test)]
mod tests {
    use relais_plugin_api::testing::{Outcome, Trial};

    /// What becomes of one call, whose arguments are `%x` and `%y`.
    pub(crate) fn expanded(opset: u32, call: &str) -> Outcome {
        let text = format!(
            "def @main(%x: Tensor[(2, 3, 4), float32], %y: Tensor[(2, 3, 4), float32], %b: Tensor[(4), float32]) \
             #[opset = {{\"\": {opset}, \"com.microsoft\": 1}}] {{ {call} }}"
        );
        Trial::of("contrib.Expand").run(&text).expect("it runs")
    }

    #[test]
    fn only_what_is_asked_for_is_replaced() {
        let text = "def @main(%x: Tensor[(2), float32]) #[opset = {\"\": 17, \"com.microsoft\": 1}] {
            %a = com.microsoft::QuickGelu(%x); com.microsoft::Gelu(%a) }";
        let only = Trial::of("contrib.Expand").option("operators", ["quick_gelu"]).run(text).unwrap();
        assert!(only.text.contains("com.microsoft::Gelu") && !only.text.contains("QuickGelu"), "{}", only.text);
    }

    #[test]
    fn operators_of_other_domains_stay() {
        let outcome = expanded(20, "Gelu(%x)");
        assert!(!outcome.changed);
    }
}

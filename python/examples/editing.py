"""Editing, building and rewriting: `python editing.py MODEL OUT`. Checked by pyright in strict mode."""

from __future__ import annotations

import sys

import relais_onnx as relais


class LeakyRelus(relais.ExprMutator):
    """Lets every `Relu` pass a hundredth of what is negative."""

    ops = ["Relu"]

    def mutate_call(self, op: relais.Editor, call: relais.Node) -> relais.Node | None:
        (x,) = call.args
        return op.LeakyRelu(x, alpha=0.01) if call.dtype == "float32" else None


def perceptron(features: int) -> relais.Function:
    """Builds a function: one layer and a softmax."""
    build = relais.Builder(17)
    x = build.input("x", "float32", ["N", features])
    weight = build.constant([[0.5, -0.5]] * features)
    hidden = build.MatMul(x, weight)
    build.output(build.Softmax(hidden, axis=-1), "y")
    return build.result()


def main(model: str, out: str) -> None:
    """Optimises a model, changes its activations, and counts what is left."""
    module = relais.optimize(relais.load(model), level=2)
    function = LeakyRelus().mutate(relais.get_pass("InferType")(module)["main"])
    no_double = relais.rule("Neg(Neg(x)) => x", name="example.NegNeg")
    result = no_double(module.with_function("main", function))
    for node in result["main"].calls("LeakyRelu"):
        print(node.name, node.shape)
    result.save(out)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])

"""Graphs on which optimisers have gone wrong: a rewrite looks right and is not."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from onnx import ModelProto, helper

from judge.made.registry import FLOAT, INT64, Made, Registry, constant, graph, made, model, node, opset, tensor
from judge.sound import EXACT_KEY

MODELS = Registry()
SPECIAL = np.array([[-0.0, 0.0, np.nan], [np.inf, -np.inf, 1.0]], dtype=np.float32)


def exact(name: str, top: ModelProto) -> Made:
    """Its outputs are determined, whatever the random operators in it give."""
    top.metadata_props.add(key=EXACT_KEY, value="exact")
    return made(name, top)


@MODELS.add
def trap_random_twice() -> Made:
    """Two equal random nodes differ; merged, their difference is zero."""
    nodes = [
        node("RandomUniform", [], ["r1"], shape=[64]),
        node("RandomUniform", [], ["r2"], shape=[64]),
        node("Equal", ["r1", "r2"], ["same"]),
        node("Cast", ["same"], ["n"], to=INT64),
        node("ReduceSum", ["n"], ["count"], keepdims=0),
        node("Less", ["count", "limit"], ["y"]),
    ]
    return exact("trap_random_twice", model(graph(nodes, [], [tensor("y", 9, ())], [constant("limit", 32, int)])))


@MODELS.add
def trap_unit_elements() -> Iterator[Made]:
    """Neutral elements on negative zero, NaN and infinity; a division shows the sign of a zero."""
    for name, op, operands in (
        ("add_zero", "Add", ("x", "zero")),
        ("add_negative_zero", "Add", ("x", "minus_zero")),
        ("zero_plus", "Add", ("zero", "x")),
        ("sub_zero", "Sub", ("x", "zero")),
        ("zero_minus", "Sub", ("zero", "x")),
        ("mul_one", "Mul", ("x", "one")),
        ("mul_zero", "Mul", ("x", "zero")),
        ("div_one", "Div", ("x", "one")),
        ("pow_one", "Pow", ("x", "one")),
        ("pow_zero", "Pow", ("x", "zero")),
        ("sub_self", "Sub", ("x", "x")),
        ("div_self", "Div", ("x", "x")),
    ):
        nodes = [node(op, list(operands), ["a"]), node("Reciprocal", ["a"], ["y"])]
        weights = [constant("zero", 0.0), constant("minus_zero", -0.0), constant("one", 1.0)]
        yield made(f"trap_unit_{name}", model(graph(nodes, [tensor("x")], [tensor("y")], weights)), SPECIAL)


@MODELS.add
def trap_unit_element_broadcasts() -> ModelProto:
    """One times x, where the one is larger than x."""
    return model(
        graph(
            [node("Mul", ["x", "ones"], ["y"])],
            [tensor("x", shape=(1, 3))],
            [tensor("y", shape=(4, 3))],
            [constant("ones", np.ones((4, 1)))],
        )
    )


@MODELS.add
def trap_slice_of_shape() -> Iterator[Made]:
    """`Shape` with start and end, backwards included."""
    for index, bounds in enumerate(
        (
            {"start": 1},
            {"end": -1},
            {"start": -2},
            {"start": 1, "end": 2},
            {"start": 3, "end": 1},
            {"start": -9, "end": 9},
        )
    ):
        nodes = [node("Shape", ["x"], ["y"], **bounds)]
        yield made(
            f"trap_slice_of_shape_{index}",
            model(graph(nodes, [tensor("x", shape=(2, 3, 4, 5))], [tensor("y", INT64, ("n",))])),
        )


@MODELS.add
def trap_reshape_of_reshape() -> ModelProto:
    """A 0 copies a dimension of the intermediate shape, which is not that of the input."""
    nodes = [node("Reshape", ["x", "first"], ["a"]), node("Reshape", ["a", "second"], ["y"])]
    weights = [constant("first", [4, 6], int), constant("second", [0, 2, -1], int)]
    return model(graph(nodes, [tensor("x", shape=(2, 3, 4))], [tensor("y", shape=(4, 2, 3))], weights))


@MODELS.add
def trap_reshape_allowzero() -> Made:
    """With `allowzero` a 0 is a length."""
    nodes = [node("Reshape", ["x", "shape"], ["y"], allowzero=1)]
    top = graph(nodes, [tensor("x", shape=(0, 3))], [tensor("y", shape=(3, 0))], [constant("shape", [3, 0], int)])
    return made("trap_reshape_allowzero", model(top), np.zeros((0, 3), dtype=np.float32))


@MODELS.add
def trap_pad_then_pool() -> Made:
    """Zero padding before a maximum pool is not its own padding, which is minus infinity."""
    nodes = [node("Pad", ["x", "pads"], ["p"]), node("MaxPool", ["p"], ["y"], kernel_shape=[2, 2])]
    top = graph(
        nodes,
        [tensor("x", shape=(1, 1, 3, 3))],
        [tensor("y", shape=(1, 1, 4, 4))],
        [constant("pads", [0, 0, 1, 1, 0, 0, 1, 1], int)],
    )
    return made("trap_pad_then_pool", model(top), np.full((1, 1, 3, 3), -1.0, dtype=np.float32))


@MODELS.add
def trap_argmax_of_sqrt() -> Made:
    """The square root is monotone only where it is defined."""
    nodes = [node("Sqrt", ["x"], ["s"]), node("ArgMax", ["s"], ["y"], axis=1)]
    top = graph(nodes, [tensor("x")], [tensor("y", INT64, (2, 1))])
    return made("trap_argmax_of_sqrt", model(top), np.array([[1.0, 4.0, 2.0], [9.0, 1.0, 3.0]], dtype=np.float32))


@MODELS.add
def trap_cast_chain() -> Made:
    """Casts that lose something on the way."""
    nodes = [
        node("Cast", ["x"], ["i"], to=INT64),
        node("Cast", ["i"], ["f"], to=FLOAT),
        node("Cast", ["f"], ["h"], to=10),
        node("Cast", ["h"], ["y"], to=FLOAT),
    ]
    top = graph(nodes, [tensor("x")], [tensor("y")])
    return made("trap_cast_chain", model(top), np.array([[1.7, -1.7, 0.3], [2049.0, 5.5, -0.5]], dtype=np.float32))


@MODELS.add
def trap_batch_norm_of_shared_conv() -> ModelProto:
    """The convolution is used a second time, so the normalisation cannot be folded into it."""
    rng = np.random.default_rng(3)
    weights = [constant("w", rng.standard_normal((4, 3, 3, 3)))]
    weights += [constant(name, rng.uniform(0.5, 1.5, 4)) for name in ("scale", "bias", "mean", "var")]
    nodes = [
        node("Conv", ["x", "w"], ["c"], kernel_shape=[3, 3]),
        node("BatchNormalization", ["c", "scale", "bias", "mean", "var"], ["b"]),
        node("Add", ["b", "c"], ["y"]),
    ]
    return model(graph(nodes, [tensor("x", shape=(1, 3, 5, 5))], [tensor("y", shape=(1, 4, 3, 3))], weights))


@MODELS.add
def trap_shared_conv_weight() -> ModelProto:
    """Two convolutions share a weight; only one is followed by a normalisation."""
    rng = np.random.default_rng(4)
    weights = [constant("w", rng.standard_normal((3, 3, 1, 1)))]
    weights += [constant(name, rng.uniform(0.5, 1.5, 3)) for name in ("scale", "bias", "mean", "var")]
    nodes = [
        node("Conv", ["x", "w"], ["c"]),
        node("BatchNormalization", ["c", "scale", "bias", "mean", "var"], ["b"], epsilon=0.1),
        node("Conv", ["b", "w"], ["y"]),
    ]
    return model(graph(nodes, [tensor("x", shape=(1, 3, 4, 4))], [tensor("y", shape=(1, 3, 4, 4))], weights))


@MODELS.add
def trap_training_batch_norm() -> ModelProto:
    """In training mode the statistics are those of the batch."""
    weights = [
        constant(name, values)
        for name, values in (("scale", [1, 2, 3]), ("bias", [0, 1, 0]), ("mean", [1, 1, 1]), ("var", [2, 2, 2]))
    ]
    nodes = [node("BatchNormalization", ["x", "scale", "bias", "mean", "var"], ["y", "m", "v"], training_mode=1)]
    outputs = [tensor("y", shape=(4, 3)), tensor("m", shape=(3,)), tensor("v", shape=(3,))]
    return model(graph(nodes, [tensor("x", shape=(4, 3))], outputs, weights))


@MODELS.add
def trap_same_operator_other_domain() -> ModelProto:
    """Equal but for the domain: not a common subexpression."""
    nodes = [node("Abs", ["x"], ["a"]), node("Abs", ["x"], ["b"], domain="org.example"), node("Add", ["a", "b"], ["y"])]
    result = model(graph(nodes, [tensor("x")], [tensor("y")]), [opset(), opset(1, "org.example")])
    result.functions.append(
        helper.make_function("org.example", "Abs", ["a"], ["b"], [node("Neg", ["a"], ["b"])], [opset()])
    )
    return result


@MODELS.add
def trap_equal_but_for_type() -> ModelProto:
    """Constants with equal bytes and different types or shapes; nodes equal but for an attribute."""
    weights = [constant("i", [1, 1], np.int32), constant("f", [1.4e-45, 1.4e-45]), constant("row", [[1, 1]], np.int32)]
    nodes = [
        node("Cast", ["i"], ["fi"], to=FLOAT),
        node("Cast", ["row"], ["fr"], to=FLOAT),
        node("Sum", ["fi", "f", "fr", "x"], ["s"]),
    ]
    nodes += [
        node("Softmax", ["s"], ["s0"], axis=0),
        node("Softmax", ["s"], ["s1"], axis=1),
        node("Sub", ["s0", "s1"], ["y"]),
    ]
    return model(graph(nodes, [tensor("x", shape=(2, 2))], [tensor("y", shape=(2, 2))], weights))


@MODELS.add
def trap_large_fold() -> ModelProto:
    """Computed in advance, the constant would be four megabytes."""
    nodes = [node("Expand", ["w", "shape"], ["a"]), node("Add", ["x", "a"], ["y"])]
    return model(
        graph(
            nodes,
            [tensor("x", shape=(1,))],
            [tensor("y", shape=(1024, 1024))],
            [constant("w", [[1.0]]), constant("shape", [1024, 1024], int)],
        )
    )


@MODELS.add
def trap_integer_overflow() -> Made:
    """Integer arithmetic wraps; division and remainder round as the operators say."""
    nodes = [node("Mul", ["w", "w"], ["a"]), node("Div", ["v", "three"], ["b"]), node("Mod", ["v", "three"], ["c"])]
    nodes += [node("Add", ["a", "b"], ["d"]), node("Add", ["d", "c"], ["e"]), node("Add", ["e", "x"], ["y"])]
    weights = [
        constant("w", [2**31 - 1, -(2**31)], np.int32),
        constant("v", [-7, 7], np.int32),
        constant("three", [3, -3], np.int32),
    ]
    return made("trap_integer_overflow", model(graph(nodes, [tensor("x", 6, (2,))], [tensor("y", 6, (2,))], weights)))


@MODELS.add
def trap_empty_concat() -> ModelProto:
    """One operand has no elements, which does not make the concatenation a no-op on the other axes."""
    weights = [constant("e", np.zeros((0, 3)))]
    return model(
        graph(
            [node("Concat", ["e", "x", "e", "x"], ["y"], axis=0)], [tensor("x")], [tensor("y", shape=(4, 3))], weights
        )
    )

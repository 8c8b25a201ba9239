"""What surrounds the nodes of a graph."""

from __future__ import annotations

import numpy as np
from onnx import ModelProto, SparseTensorProto, TensorProto, helper

from judge.made.registry import FLOAT, INT64, Made, Registry, constant, graph, made, model, node, opset, tensor

MODELS = Registry()


@MODELS.add
def value_info() -> ModelProto:
    """Types of inner values: static, symbolic, without shape, of a value that does not exist."""
    nodes = [
        node("Abs", ["x"], ["a"]),
        node("Sqrt", ["a"], ["b"]),
        node("Neg", ["b"], ["c"]),
        node("Relu", ["c"], ["y"]),
    ]
    result = model(graph(nodes, [tensor("x", shape=("n", 3))], [tensor("y", shape=("n", 3))]))
    result.graph.value_info.extend(
        [tensor("a", shape=("n", 3)), tensor("b", shape=None), tensor("c", shape=(None, 3)), tensor("nobody")]
    )
    return result


@MODELS.add
def metadata_everywhere() -> ModelProto:
    """Documentation, metadata, denotations and producer fields wherever they may stand."""
    nodes = [node("Add", ["x", "w"], ["a"], name="add", doc_string="the sum"), node("Relu", ["a"], ["y"])]
    result = model(graph(nodes, [tensor("x")], [tensor("y")], [constant("w", [1, 2, 3])]))
    result.producer_version, result.domain, result.model_version, result.doc_string = (
        "1.2",
        "org.example",
        7,
        "line one\nline two\n",
    )
    result.graph.doc_string = "a graph"
    result.graph.value_info.append(tensor("a"))
    described = (
        result,
        result.graph,
        result.graph.node[0],
        result.graph.initializer[0],
        result.graph.input[0],
        result.graph.output[0],
        result.graph.value_info[0],
    )
    for index, message in enumerate(described):
        message.metadata_props.add(key="key", value=f"value {index}")
        message.metadata_props.add(key="empty", value="")
    result.graph.initializer[0].doc_string = "a weight"
    result.graph.input[0].doc_string = "an input"
    result.graph.input[0].type.denotation = "TENSOR"
    result.graph.input[0].type.tensor_type.shape.dim[0].denotation = "DATA_BATCH"
    return result


@MODELS.add
def unnamed_nodes() -> ModelProto:
    """No node has a name, two have the same; the graph has the name of a value."""
    nodes = [
        node("Abs", ["x"], ["a"]),
        node("Neg", ["a"], ["b"]),
        node("Neg", ["b"], ["c"], name="same"),
        node("Abs", ["c"], ["y"], name="same"),
    ]
    return model(graph(nodes, [tensor("x")], [tensor("y")], name="x"))


@MODELS.add
def odd_names() -> ModelProto:
    """Names that no identifier may have."""
    nodes = [
        node("Abs", ["a b"], ['"quoted"']),
        node("Neg", ['"quoted"'], ["%7"]),
        node("Exp", ["%7"], ["π/ß\n"]),
        node("Sqrt", ["π/ß\n"], ["0"]),
    ]
    return model(graph(nodes, [tensor("a b")], [tensor("0")], name="\t"))


@MODELS.add
def absent_operands() -> ModelProto:
    """Inputs left out in the middle and at the end, outputs left out in front, in the middle and at the end."""
    rng = np.random.default_rng(1)
    weights = [
        constant(name, rng.standard_normal(shape))
        for name, shape in (("w", (1, 16, 3)), ("r", (1, 16, 4)), ("p", (1, 12)))
    ]
    nodes = [
        node("Clip", ["x", "", "one"], ["clipped"]),
        node("LSTM", ["clipped", "w", "r", "", "", "", "", "p"], ["", "hidden"], hidden_size=4),
        node("LSTM", ["clipped", "w", "r", ""], ["all", "", "cell"], hidden_size=4),
        node("Dropout", ["hidden"], ["kept", ""]),
        node("TopK", ["kept", "two"], ["unused", "places"]),
        node("Cast", ["places"], ["y"], to=FLOAT),
        node("Add", ["cell", "hidden"], ["z"]),
        node("Identity", ["all"], ["a"]),
    ]
    outputs = [tensor("y", shape=(1, 2, 2)), tensor("z", shape=(1, 2, 4)), tensor("a", shape=(5, 1, 2, 4))]
    return model(
        graph(
            nodes, [tensor("x", shape=(5, 2, 3))], outputs, [*weights, constant("one", 1.0), constant("two", [2], int)]
        )
    )


@MODELS.add
def outputs_in_common() -> ModelProto:
    """One value under several output names, an input as output, an initializer as output."""
    nodes = [
        node("Abs", ["x"], ["a"]),
        node("Identity", ["a"], ["b"]),
        node("Identity", ["a"], ["c"]),
        node("Identity", ["x"], ["d"]),
    ]
    outputs = [tensor(name) for name in ("a", "b", "c", "d", "x")] + [tensor("w", shape=(3,))]
    return model(graph(nodes, [tensor("x")], outputs, [constant("w", [1, 2, 3])]))


@MODELS.add
def no_nodes() -> ModelProto:
    return model(graph([], [tensor("x")], [tensor("x")]))


@MODELS.add
def no_inputs() -> ModelProto:
    """All of it can be computed in advance."""
    nodes = [node("Add", ["w", "w"], ["a"]), node("Reshape", ["a", "shape"], ["y"])]
    return model(
        graph(
            nodes,
            [],
            [tensor("y", shape=(3, 2))],
            [constant("w", np.arange(6).reshape(2, 3)), constant("shape", [3, 2], int)],
        )
    )


@MODELS.add
def equal_initializers() -> ModelProto:
    """The same weight three times, once with another element type, and one that nobody uses."""
    weights = [constant(name, [0.5, 1.5, 2.5]) for name in ("w1", "w2", "unused")] + [constant("w3", [1, 2, 3], int)]
    nodes = [
        node("Add", ["x", "w1"], ["a"]),
        node("Mul", ["a", "w2"], ["b"]),
        node("Cast", ["w3"], ["c"], to=FLOAT),
        node("Add", ["b", "c"], ["y"]),
    ]
    return model(graph(nodes, [tensor("x")], [tensor("y")], weights))


@MODELS.add
def initializer_is_input() -> list[Made]:
    """A constant up to IR version 3; from version 4 on a default that a caller may replace."""
    result = []
    for ir_version, version in ((3, 8), (4, 9), (8, 15), (10, 21)):
        nodes = [node("Add", ["w", "v"], ["s"]), node("Mul", ["x", "s"], ["y"])]
        inputs = [tensor("x"), tensor("w", shape=(3,)), tensor("v", shape=(3,))]
        top = graph(nodes, inputs, [tensor("y")], [constant("w", [1, 2, 3]), constant("v", [4, 5, 6])])
        rng = np.random.default_rng(ir_version)
        own = [rng.standard_normal(shape).astype(np.float32) for shape in ((2, 3), (3,), (3,))]
        result.append(
            made(
                f"initializer_is_input_ir{ir_version}",
                model(top, [opset(version)], ir_version),
                *own[: 1 if ir_version < 4 else 3],
            )
        )
    return result


def sparse(name: str, dense: int, places: list[int], values: list[float]) -> SparseTensorProto:
    return helper.make_sparse_tensor(constant(name, values), constant(f"{name}_places", places, int), [dense])


@MODELS.add
def sparse_initializers() -> ModelProto:
    """In the graph and as an attribute."""
    nodes = [
        node("Constant", [], ["c"], sparse_value=sparse("inner", 3, [0], [2.0])),
        node("Add", ["x", "w"], ["a"]),
        node("Mul", ["a", "c"], ["y"]),
    ]
    result = model(graph(nodes, [tensor("x", shape=(2, 3))], [tensor("y")]))
    result.graph.sparse_initializer.append(sparse("w", 3, [0, 2], [1.0, 3.0]))
    return result


@MODELS.add
def training_info() -> ModelProto:
    nodes = [node("Mul", ["x", "w"], ["y"])]
    result = model(graph(nodes, [tensor("x")], [tensor("y")], [constant("w", [1, 2, 3])]))
    step = result.training_info.add()
    step.initialization.CopyFrom(
        graph(
            [node("Constant", [], ["start"], value=constant("", [0, 0, 0]))],
            [],
            [tensor("start", shape=(3,))],
            name="start",
        )
    )
    step.algorithm.CopyFrom(
        graph(
            [node("Add", ["w", "rate"], ["new"])], [], [tensor("new", shape=(3,))], [constant("rate", 0.1)], name="step"
        )
    )
    step.initialization_binding.add(key="w", value="start")
    step.update_binding.add(key="w", value="new")
    return result


@MODELS.add
def quantization_annotation() -> ModelProto:
    weights = [constant("w", [1, 2, 3]), constant("x_scale", 0.5), constant("x_zero", 3, np.uint8)]
    result = model(graph([node("Add", ["x", "w"], ["y"])], [tensor("x")], [tensor("y")], weights))
    note = result.graph.quantization_annotation.add(tensor_name="x")
    note.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="x_scale")
    note.quant_parameter_tensor_names.add(key="ZERO_POINT_TENSOR", value="x_zero")
    return result


@MODELS.add
def devices() -> ModelProto:
    """Multi-device configuration of IR version 11."""
    result = model(graph([node("Add", ["x", "x"], ["y"])], [tensor("x")], [tensor("y")]), [opset(23)], 11)
    result.configuration.add(name="pair", num_devices=2, device=["cpu:0", "cpu:1"])
    placed = result.graph.node[0].device_configurations.add(configuration_id="pair", pipeline_stage=1)
    placed.sharding_spec.add(tensor_name="x", device=[0, 1])
    return result


@MODELS.add
def unknown_operators() -> ModelProto:
    """Operators of no registered domain, of a domain without import, of the default domain but unknown."""
    nodes = [
        node("Strange", ["x", ""], ["a", "", "b"], domain="org.example", alpha=1.5),
        node("Stranger", ["a"], ["c"], domain="org.example.other"),
        node("NotYetKnown", ["b", "c"], ["y"]),
        node("Effect", ["y"], [], domain="org.example"),
    ]
    return model(graph(nodes, [tensor("x")], [tensor("y")]), [opset(), opset(3, "org.example")])


@MODELS.add
def sequences_and_optionals() -> ModelProto:
    """Sequence and optional values between nodes."""
    nodes = [
        node("SplitToSequence", ["x", "ones"], ["parts"], axis=0),
        node("SequenceInsert", ["parts", "extra"], ["more"]),
        node("SequenceAt", ["more", "last"], ["e"]),
        node("ConcatFromSequence", ["more"], ["all"], axis=0),
        node("Optional", ["e"], ["maybe"]),
        node("OptionalHasElement", ["maybe"], ["there"]),
        node("OptionalGetElement", ["maybe"], ["got"]),
        node("Cast", ["there"], ["flag"], to=FLOAT),
        node("Mul", ["got", "flag"], ["scaled"]),
        node("Add", ["all", "scaled"], ["y"]),
    ]
    weights = [constant("ones", [1, 1], int), constant("last", -1, int), constant("extra", [[7, 8, 9]])]
    return model(graph(nodes, [tensor("x")], [tensor("y", shape=(3, 3))], weights))


@MODELS.add
def sequence_interface() -> Made:
    """Sequences, optionals and maps as declared inputs and outputs."""
    plain = helper.make_tensor_type_proto(FLOAT, ["n", 3])
    sequence = helper.make_sequence_type_proto(plain)
    inputs = [
        helper.make_value_info("xs", sequence),
        helper.make_value_info("maybe", helper.make_optional_type_proto(plain)),
    ]
    table = helper.make_sequence_type_proto(
        helper.make_map_type_proto(TensorProto.STRING, helper.make_tensor_type_proto(FLOAT, []))
    )
    nodes = [
        node("SequenceAt", ["xs", "first"], ["x"]),
        node("OptionalGetElement", ["maybe"], ["m"]),
        node("Add", ["x", "m"], ["y"]),
        node("ZipMap", ["y"], ["table"], domain="ai.onnx.ml", classlabels_strings=["a", "b", "c"]),
    ]
    outputs = [
        tensor("y", shape=("n", 3)),
        helper.make_value_info("table", table),
        helper.make_value_info("xs", sequence),
    ]
    rows = [np.full((2, 3), value, dtype=np.float32) for value in (1, 2)]
    result = model(graph(nodes, inputs, outputs, [constant("first", 0, int)]), [opset(), opset(1, "ai.onnx.ml")])
    return made("sequence_interface", result, rows, rows[0])


@MODELS.add
def long_chain() -> ModelProto:
    """Two thousand nodes, each using the last."""
    names = ["x", *(f"v{k}" for k in range(1999)), "y"]
    nodes = [node("Neg" if k % 3 else "Abs", [names[k]], [names[k + 1]]) for k in range(2000)]
    return model(graph(nodes, [tensor("x")], [tensor("y")]))


@MODELS.add
def symbolic_shapes() -> ModelProto:
    """Shape arithmetic on symbolic, anonymous and equal-named dimensions."""
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Gather", ["s", "zero"], ["n"]),
        node("Unsqueeze", ["n", "axis"], ["n1"]),
        node("Concat", ["n1", "rest"], ["target"], axis=0),
        node("Reshape", ["x", "target"], ["y"]),
    ]
    weights = [constant("zero", 0, int), constant("axis", [0], int), constant("rest", [-1], int)]
    return model(
        graph(nodes, [tensor("x", shape=("batch", 2, 3, None))], [tensor("y", shape=("batch", None))], weights)
    )


@MODELS.add
def unused_parts() -> ModelProto:
    """Dead nodes, an unused input, an unused operator set."""
    nodes = [node("Exp", ["x"], ["dead"]), node("Sqrt", ["dead"], ["deader"]), node("Abs", ["x"], ["y"])]
    return model(
        graph(nodes, [tensor("x"), tensor("unused", INT64, ())], [tensor("y")]), [opset(), opset(2, "ai.onnx.ml")]
    )

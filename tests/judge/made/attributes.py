"""Every kind of attribute."""

from __future__ import annotations

import numpy as np
from onnx import AttributeProto, ModelProto, TensorProto, helper

from judge.made.registry import FLOAT, Made, Registry, constant, graph, made, model, node, opset, tensor
from judge.made.structure import sparse

MODELS = Registry()
OTHER = "org.example"


@MODELS.add
def attributes_all_kinds() -> ModelProto:
    """All of them on an operator that nobody knows, with documentation, extreme numbers and empty lists."""
    body = graph([node("Abs", ["x"], ["b"])], [], [tensor("b")], name="body")
    types = [
        helper.make_tensor_type_proto(FLOAT, ["n", 3]),
        helper.make_sequence_type_proto(helper.make_tensor_type_proto(FLOAT, None)),
    ]
    everything = node(
        "Everything",
        ["x"],
        ["y"],
        domain=OTHER,
        f=-0.0,
        i=-(2**63),
        s=b"\xff\x00bytes",
        t=constant("inner", [1, 2]),
        g=body,
        sp=sparse("v", 5, [1, 3], [1.0, 2.0]),
        tp=types[0],
        floats=[float("nan"), float("inf"), 1e-45],
        ints=[0, -1, 2**63 - 1],
        strings=["", "ß", "long " * 50],
        tensors=[constant("", 1.0), constant("named", [[1]], int)],
        graphs=[body, body],
        sparses=[sparse("v", 3, [0], [1.0])],
        types=types,
    )
    for kind in ("FLOATS", "INTS", "STRINGS", "TENSORS", "GRAPHS"):
        everything.attribute.append(AttributeProto(name=f"no_{kind}", type=AttributeProto.AttributeType.Value(kind)))
    everything.attribute[0].doc_string = "a documented attribute"
    return model(graph([everything], [tensor("x")], [tensor("y")]), [opset(), opset(1, OTHER)])


@MODELS.add
def attributes_of_constant() -> list[Made]:
    """The eight forms of `Constant`, seven of which have no tensor."""
    forms: dict[str, object] = {
        "value": constant("", [[1, 2], [3, 4]]),
        "value_float": 2.5,
        "value_floats": [1.0, 2.0],
        "value_int": 7,
        "value_ints": [1, 2, 3],
        "value_string": "text",
        "value_strings": ["a", "b"],
    }
    result = []
    for name, value in forms.items():
        element = TensorProto.STRING if "string" in name else TensorProto.INT64 if "int" in name else FLOAT
        shape = {"value": (2, 2)}.get(name, (len(value),) if name.endswith("s") else ())  # type: ignore[arg-type]
        top = graph(
            [node("Constant", [], ["c"], **{name: value}), node("Identity", ["c"], ["y"])],
            [],
            [tensor("y", element, shape)],
        )
        result.append(made(f"attributes_of_constant_{name}", model(top)))
    return result


@MODELS.add
def attributes_without_type() -> ModelProto:
    """Files of IR version 1 and 2 leave the kind of an attribute to be guessed."""
    result = model(graph([node("LeakyRelu", ["x"], ["y"], alpha=0.25)], [tensor("x")], [tensor("y")]), ir_version=2)
    del result.opset_import[:]
    result.graph.node[0].attribute[0].ClearField("type")
    return result


@MODELS.add
def attributes_constant_of_shape() -> list[Made]:
    """With and without value, of several element types, of shape 0 and rank 0."""
    cases: dict[str, tuple[list[int], TensorProto | None, int]] = {
        "default": ([2, 3], None, FLOAT),
        "float": ([2, 3], constant("", [1.5]), FLOAT),
        "int64": ([4], constant("", [-7], np.int64), TensorProto.INT64),
        "bool": ([4], constant("", [True], bool), TensorProto.BOOL),
        "float16": ([4], constant("", [1.5], np.float16), TensorProto.FLOAT16),
        "empty": ([0, 3], None, FLOAT),
        "scalar": ([], constant("", [3.0]), FLOAT),
        "large": ([512, 512], constant("", [0.5]), FLOAT),
    }
    result = []
    for name, (shape, value, element) in cases.items():
        attributes = {} if value is None else {"value": value}
        top = graph(
            [node("ConstantOfShape", ["s"], ["c"], **attributes), node("Identity", ["c"], ["y"])],
            [],
            [tensor("y", element, shape)],
            [constant("s", shape, int)],
        )
        result.append(made(f"attributes_constant_of_shape_{name}", model(top)))
    return result

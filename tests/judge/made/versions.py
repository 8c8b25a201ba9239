"""Operator sets and IR versions from the first to the last."""

from __future__ import annotations

from collections.abc import Iterator

import onnx

from judge.made.registry import Made, Registry, constant, graph, made, model, node, opset, tensor

MODELS = Registry()
FIRST_BROADCASTING_OPSET = 7
IR_OF_OPSET = {
    version: ir for (domain, version), ir in onnx.helper.OP_SET_ID_VERSION_MAP.items() if domain == "ai.onnx"
}
FIRST_IR_WITH_OPSETS = 3


@MODELS.add
def opsets() -> Iterator[Made]:
    """The same sum and maximum, with what each version demands."""
    for version in range(1, onnx.defs.onnx_opset_version() + 1):
        old = {"broadcast": 1, "axis": 1} if version < FIRST_BROADCASTING_OPSET else {}
        nodes = [node("Add", ["x", "w"], ["a"], **old), node("Relu", ["a"], ["b"]), node("Identity", ["b"], ["y"])]
        ir_version = IR_OF_OPSET.get(version, FIRST_IR_WITH_OPSETS)
        inputs = [tensor("x"), tensor("w", shape=(3,))] if ir_version < 4 else [tensor("x")]
        top = graph(nodes, inputs, [tensor("y")], [constant("w", [1, -2, 3])])
        yield made(f"opset_{version:02}", model(top, [opset(version)], ir_version))


@MODELS.add
def ir_versions() -> Iterator[Made]:
    """Before version 3 a file names no operator set; then the first is meant."""
    for version in range(1, onnx.IR_VERSION + 1):
        inputs = [tensor("x"), tensor("w", shape=(2, 3))] if version < 4 else [tensor("x")]
        top = graph(
            [node("Add", ["x", "w"], ["a"]), node("Identity", ["a"], ["y"])],
            inputs,
            [tensor("y")],
            [constant("w", [[1, 2, 3]] * 2)],
        )
        result = model(top, [opset(8)], version)
        if version < FIRST_IR_WITH_OPSETS:
            del result.opset_import[:]
        yield made(f"ir_version_{version:02}", result)


@MODELS.add
def opset_written_as_ai_onnx() -> onnx.ModelProto:
    """The default domain by its other name, in the import and on a node."""
    nodes = [node("Abs", ["x"], ["a"], domain="ai.onnx"), node("Neg", ["a"], ["y"])]
    return model(graph(nodes, [tensor("x")], [tensor("y")]), [opset(21, "ai.onnx")])

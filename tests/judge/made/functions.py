"""Model-local functions."""

from __future__ import annotations

from typing import Any

import onnx
from onnx import AttributeProto, FunctionProto, ModelProto, helper

from judge.made.registry import INT64, Registry, constant, graph, model, node, opset, tensor

MODELS = Registry()
DOMAIN = "judge.functions"


def referring(
    op: str, inputs: list[str], outputs: list[str], **references: tuple[str, AttributeProto.AttributeType]
) -> onnx.NodeProto:
    """A node whose attributes take their values from attributes of the function."""
    result = node(op, inputs, outputs)
    for name, (source, kind) in references.items():
        result.attribute.append(AttributeProto(name=name, ref_attr_name=source, type=kind))
    return result


def function(
    name: str, inputs: list[str], outputs: list[str], nodes: list[onnx.NodeProto], **rest: Any
) -> FunctionProto:
    opsets = rest.pop("opsets", [opset()])
    overload = rest.pop("overload", "")
    result = helper.make_function(DOMAIN, name, inputs, outputs, nodes, opsets, **rest)
    if overload:
        result.overload = overload
    return result


def calling(nodes: list[onnx.NodeProto], functions: list[FunctionProto], **rest: Any) -> ModelProto:
    top = graph(nodes, [tensor("x")], [tensor("y")], **rest)
    result = model(top, [opset(), opset(1, DOMAIN)])
    result.functions.extend(functions)
    return result


@MODELS.add
def functions_nested() -> ModelProto:
    """The outermost is written first, so a caller precedes what it calls; one is called twice, one never."""
    own = [opset(), opset(1, DOMAIN)]
    outer = function(
        "Outer",
        ["a"],
        ["b"],
        [node("Middle", ["a"], ["m"], domain=DOMAIN), node("Middle", ["m"], ["b"], domain=DOMAIN)],
        opsets=own,
    )
    middle = function(
        "Middle", ["a"], ["b"], [node("Inner", ["a"], ["m"], domain=DOMAIN), node("Neg", ["m"], ["b"])], opsets=own
    )
    inner = function("Inner", ["a"], ["b"], [node("Abs", ["a"], ["m"]), node("Add", ["m", "a"], ["b"])])
    unused = function("Unused", ["a"], ["b"], [node("Exp", ["a"], ["b"])])
    return calling([node("Outer", ["x"], ["y"], domain=DOMAIN)], [outer, middle, inner, unused])


@MODELS.add
def functions_attributes() -> ModelProto:
    """Required attributes, defaults, a default overridden, one that is passed on to another function."""
    own = [opset(), opset(1, DOMAIN)]
    leaky = function(
        "Leaky",
        ["a"],
        ["b"],
        [
            referring("LeakyRelu", ["a"], ["m"], alpha=("slope", AttributeProto.FLOAT)),
            referring("Softmax", ["m"], ["b"], axis=("axis", AttributeProto.INT)),
        ],
        attributes=["slope"],
        attribute_protos=[helper.make_attribute("axis", 0)],
    )
    passing = function(
        "Passing",
        ["a"],
        ["b"],
        [referring("Leaky", ["a"], ["b"], slope=("steep", AttributeProto.FLOAT))],
        attributes=["steep"],
        opsets=own,
    )
    passing.node[0].domain = DOMAIN
    calls = [
        node("Leaky", ["x"], ["p"], domain=DOMAIN, slope=0.5),
        node("Leaky", ["p"], ["q"], domain=DOMAIN, slope=0.25, axis=1),
        node("Passing", ["q"], ["y"], domain=DOMAIN, steep=0.125),
    ]
    return calling(calls, [leaky, passing])


@MODELS.add
def functions_attribute_in_subgraph() -> ModelProto:
    """A branch inside a function refers to an attribute of the function and captures its input."""
    then = graph(
        [referring("LeakyRelu", ["a"], ["t"], alpha=("slope", AttributeProto.FLOAT))],
        [],
        [tensor("t", shape=None)],
        name="then",
    )
    otherwise = graph([node("Neg", ["a"], ["e"])], [], [tensor("e", shape=None)], name="else")
    body = [
        node("ReduceSum", ["a"], ["s"], keepdims=0),
        node("Constant", [], ["zero"], value_float=0.0),
        node("Greater", ["s", "zero"], ["positive"]),
        node("If", ["positive"], ["b"], then_branch=then, else_branch=otherwise),
    ]
    chosen = function("Chosen", ["a"], ["b"], body, attributes=["slope"])
    return calling(
        [
            node("Chosen", ["x"], ["p"], domain=DOMAIN, slope=0.5),
            node("Chosen", ["p"], ["y"], domain=DOMAIN, slope=2.0),
        ],
        [chosen],
    )


@MODELS.add
def functions_overload() -> ModelProto:
    """Two functions of one name."""
    plain = function("Twofold", ["a"], ["b"], [node("Add", ["a", "a"], ["b"])], overload="plain")
    squared = function("Twofold", ["a"], ["b"], [node("Mul", ["a", "a"], ["b"])], overload="squared")
    calls = [node("Twofold", ["x"], ["m"], domain=DOMAIN), node("Twofold", ["m"], ["y"], domain=DOMAIN)]
    calls[0].overload, calls[1].overload = "plain", "squared"
    return calling(calls, [plain, squared])


@MODELS.add
def functions_other_opset() -> ModelProto:
    """The function imports an older operator set: `Softmax` meant something else before 13."""
    old = function("OldSoftmax", ["a"], ["b"], [node("Softmax", ["a"], ["b"])], opsets=[opset(11)])
    top = graph(
        [node("OldSoftmax", ["x"], ["m"], domain=DOMAIN), node("Softmax", ["m"], ["y"])],
        [tensor("x", shape=(2, 3, 4))],
        [tensor("y", shape=(2, 3, 4))],
    )
    result = model(top, [opset(13), opset(1, DOMAIN)])
    result.functions.append(old)
    return result


@MODELS.add
def functions_absent_operands() -> ModelProto:
    """Calls that leave out an input in the middle, and an output."""
    clip = function(
        "Bounded",
        ["a", "low", "high"],
        ["b", "c"],
        [node("Clip", ["a", "low", "high"], ["b"]), node("Neg", ["b"], ["c"])],
    )
    calls = [
        node("Bounded", ["x", "", "one"], ["p"], domain=DOMAIN),
        node("Bounded", ["p", "low", ""], ["", "q"], domain=DOMAIN),
        node("Add", ["p", "q"], ["y"]),
    ]
    return calling(calls, [clip], initializers=[constant("one", 1.0), constant("low", -0.5)])


@MODELS.add
def functions_trailing_operands() -> ModelProto:
    """A call with fewer inputs and outputs than the function has."""
    clip = function(
        "Bounded",
        ["a", "low", "high"],
        ["b", "c"],
        [node("Clip", ["a", "low", "high"], ["b"]), node("Neg", ["b"], ["c"])],
    )
    return calling([node("Bounded", ["x", "low"], ["y"], domain=DOMAIN)], [clip], initializers=[constant("low", -0.5)])


@MODELS.add
def functions_passing_through() -> ModelProto:
    """An output that is an input, two outputs that are one value, an unused input."""
    both = function(
        "Both", ["a", "unused"], ["a", "b", "b2"], [node("Neg", ["a"], ["b"]), node("Identity", ["b"], ["b2"])]
    )
    calls = [node("Both", ["x", "x"], ["p", "q", "r"], domain=DOMAIN), node("Sum", ["p", "q", "r"], ["y"])]
    return calling(calls, [both])


@MODELS.add
def functions_described() -> ModelProto:
    """Documentation, metadata and value information inside functions; names that are the same inside and outside."""
    inner = function(
        "Described", ["x"], ["y"], [node("Abs", ["x"], ["m"], name="n"), node("Sqrt", ["m"], ["y"], name="n")]
    )
    inner.doc_string = "Square root of the absolute value."
    inner.metadata_props.add(key="origin", value="judge")
    inner.node[0].metadata_props.add(key="origin", value="node")
    inner.value_info.append(tensor("m"))
    return calling([node("Described", ["x"], ["m"], domain=DOMAIN, name="n"), node("Neg", ["m"], ["y"])], [inner])


@MODELS.add
def functions_in_subgraphs() -> ModelProto:
    """A function called from the body of a loop."""
    step = function("Step", ["a", "b"], ["c"], [node("Add", ["a", "b"], ["c"])])
    body = graph(
        [node("Identity", ["go"], ["go_on"]), node("Step", ["state", "x"], ["next"], domain=DOMAIN)],
        [tensor("index", INT64, ()), tensor("go", onnx.TensorProto.BOOL, ()), tensor("state")],
        [tensor("go_on", onnx.TensorProto.BOOL, ()), tensor("next")],
        name="body",
    )
    return calling(
        [node("Loop", ["trips", "", "x"], ["y"], body=body)], [step], initializers=[constant("trips", 3, dtype=int)]
    )

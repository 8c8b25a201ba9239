"""Functions of the model that call functions, with attributes that they hand on, and defaults of these."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from onnx import AttributeProto, FunctionProto, NodeProto, helper

from random_graphs.build import LOCAL, Builder, Refused
from random_graphs.makers import maker, need

FLOAT_ATTRIBUTES = {"LeakyRelu": "alpha", "Elu": "alpha", "ThresholdedRelu": "alpha", "Constant": "value_float"}
"""Operators with an attribute that may refer to one of the function."""
PLAIN = ["Neg", "Abs", "Relu", "Identity", "Tanh"]
BINARY = ["Add", "Mul", "Max"]


@dataclass(frozen=True)
class Attribute:
    name: str
    default: float | None


def referring(node: NodeProto, attribute: str, outer: str) -> NodeProto:
    node.attribute.append(AttributeProto(name=attribute, ref_attr_name=outer, type=AttributeProto.FLOAT))
    return node


def attributes_of(function: FunctionProto) -> list[Attribute]:
    defaults = [Attribute(attribute.name, attribute.f) for attribute in function.attribute_proto]
    return [Attribute(name, None) for name in function.attribute] + defaults


def call(b: Builder, function: FunctionProto, inputs: list[str], outer: list[Attribute]) -> NodeProto:
    """A call whose attributes are numbers, those of the function around it, or left to their defaults."""
    given = [name if b.rng.random() < 0.9 or at == 0 else "" for at, name in enumerate(inputs)]
    node = helper.make_node(function.name, given, [b.name() for _ in function.output], domain=LOCAL)
    if function.overload:
        node.overload = function.overload
    for attribute in attributes_of(function):
        if outer and b.rng.random() < 0.5:
            referring(node, attribute.name, b.rng.choice(outer).name)
        elif attribute.default is None or b.rng.random() < 0.5:
            node.attribute.append(helper.make_attribute(attribute.name, b.rng.choice((0.25, 0.5, 2.0))))
    return node


def body(b: Builder, inputs: list[str], attributes: list[Attribute]) -> tuple[list[NodeProto], list[str]]:
    nodes: list[NodeProto] = []
    names = list(inputs)
    for _ in range(b.rng.randint(1, 4)):
        kind, recent = b.rng.random(), b.rng.choice(names[-2:])
        if kind < 0.3 and attributes:
            op = b.rng.choice(list(FLOAT_ATTRIBUTES)) if b.opset >= 12 else "LeakyRelu"
            made = helper.make_node(op, [] if op == "Constant" else [recent], [b.name()])
            nodes.append(referring(made, FLOAT_ATTRIBUTES[op], b.rng.choice(attributes).name))
        elif kind < 0.5 and b.graph.functions:
            function = b.rng.choice(b.graph.functions)
            nodes.append(call(b, function, [b.rng.choice(names) for _ in function.input], attributes))
        elif kind < 0.6:
            nodes += branch(b, recent, attributes)
        elif kind < 0.8:
            nodes.append(helper.make_node(b.rng.choice(PLAIN), [recent], [b.name()]))
        else:
            nodes.append(helper.make_node(b.rng.choice(BINARY), [recent, b.rng.choice(names)], [b.name()]))
        names += nodes[-1].output
    return nodes, names


def branch(b: Builder, captured: str, attributes: list[Attribute]) -> list[NodeProto]:
    """A conditional in a function; its branches refer to the function's attributes."""
    flag, result, graphs = b.name(), b.name(), []
    for _ in range(2):
        inner = helper.make_node("LeakyRelu", [captured], [b.name()])
        if attributes:
            referring(inner, "alpha", b.rng.choice(attributes).name)
        graphs.append(helper.make_graph([inner], b.name(), [], [helper.make_tensor_value_info(inner.output[0], 1, None)]))
    condition = helper.make_node("Constant", [], [flag], value=helper.make_tensor("", 9, [], [b.rng.random() < 0.5]))
    return [condition, helper.make_node("If", [flag], [result], then_branch=graphs[0], else_branch=graphs[1])]


def function(b: Builder) -> FunctionProto:
    attributes = [
        Attribute(f"a{at}", b.rng.choice((None, 0.5, 1.5)) if b.loads else None) for at in range(b.rng.randint(0, 2))
    ]
    inputs = [b.name() for _ in range(b.rng.randint(1, 2))]
    nodes, names = body(b, inputs, attributes)
    outputs = list(dict.fromkeys([names[-1], *([b.rng.choice(names[len(inputs) :])] if b.rng.random() < 0.3 else [])]))
    made = helper.make_function(
        LOCAL,
        b.name(),
        inputs,
        outputs,
        nodes,
        [helper.make_opsetid("", b.opset), helper.make_opsetid(LOCAL, 1)],
        [attribute.name for attribute in attributes if attribute.default is None],
        [helper.make_attribute(attribute.name, attribute.default) for attribute in attributes if attribute.default is not None],
    )
    if b.rng.random() < 0.1:
        made.overload = "float"
    return made


@maker(5)
def local_call(b: Builder) -> None:
    x = need(b.pick(lambda value: value.dtype == np.float32))
    fits = [value for value in b.values if value.dtype == x.dtype and value.shape == x.shape]
    before = list(b.graph.functions)
    if not before or b.rng.random() < 0.6:
        b.graph.functions.append(function(b))
    chosen = b.rng.choice(b.graph.functions[-2:])
    given = [x, *[b.rng.choice(fits) for _ in chosen.input[1:]]]
    node = call(b, chosen, [value.name for value in given], [])
    try:
        b.add_nodes([node], given, node.output, constant=False, scaled=True)
    except Refused:
        # One that runs nowhere is no part of the model.
        b.graph.functions[:] = before
        raise

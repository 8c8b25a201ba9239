"""Strings, sequences and optionals. What a graph keeps of the latter two are tensors, or they are inputs or outputs."""

from __future__ import annotations

import numpy as np
from onnx import NodeProto, TypeProto, ValueInfoProto, helper, numpy_helper

from random_graphs import values
from random_graphs.build import Builder, Refused, Value, number
from random_graphs.makers import maker, need


@maker(2)
def string(b: Builder) -> None:
    made = values.tensor(b.rng, values.STRING, values.shape(b.rng, b.rng.randint(0, 2)), special=False)
    x = b.add_input(made) if b.rng.random() < 0.6 else b.random_constant(values.STRING, made.shape)
    match b.rng.randrange(6):
        case 0 if b.opset >= 10:
            b.add("StringNormalizer", [b.add_input(values.tensor(b.rng, values.STRING, (3,), special=False))], case_change_action="UPPER")
        case 1 if b.opset >= 20:
            b.add("StringConcat", [x, b.random_constant(values.STRING, x.shape)])
        case 2 if b.opset >= 20:
            b.add("RegexFullMatch", [x], pattern="[a-z]+")
        case 3 if b.opset >= 20 and x.rank > 0:
            b.add("StringSplit", [x], 2, delimiter=" ")
        case 4 if b.opset >= 9:
            b.add("Cast", [b.add_input(np.arange(3, dtype=np.int64))], to=number(values.STRING))
        case _:
            b.add("Identity", [x])


def sequence_type(of: Value) -> TypeProto:
    return helper.make_sequence_type_proto(helper.make_tensor_type_proto(number(of.dtype), of.shape))


def constant_int(name: str, held: int) -> NodeProto:
    return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(np.asarray(held, np.int64)))


def made_sequence(b: Builder, parts: list[Value], name: str) -> list[NodeProto]:
    """A sequence of these, which may be an input; otherwise made at once, or one by one."""
    if b.rng.random() < 0.3:
        b.graph.inputs.append(helper.make_value_info(name, sequence_type(parts[0])))
        b.graph.feeds[name] = [part.array for part in parts]
        return []
    if b.rng.random() < 0.6:
        return [helper.make_node("SequenceConstruct", [part.name for part in parts], [name])]
    last = b.name()
    nodes = [helper.make_node("SequenceEmpty", [], [last], dtype=number(parts[0].dtype))]
    for at, part in enumerate(parts):
        new = name if at == len(parts) - 1 else b.name()
        nodes.append(helper.make_node("SequenceInsert", [last, part.name], [new]))
        last = new
    return nodes


@maker(4)
def sequence(b: Builder) -> None:
    x = need(b.pick(lambda value: value.rank > 0 and value.dtype not in (np.uint16, np.uint32, np.uint64)))
    if b.opset < 11:
        raise Refused("SequenceConstruct")
    fits = [value for value in b.values if value.dtype == x.dtype and value.shape == x.shape]
    parts = [x, *[b.rng.choice(fits) for _ in range(b.rng.randint(1, 2))]]
    name, at, result = b.name(), b.name(), b.name()
    nodes = made_sequence(b, parts, name)
    is_input = not nodes
    arrays = [part.array for part in parts]
    if b.rng.random() < 0.3:
        longer = b.name()
        nodes += [constant_int(at, 0), helper.make_node("SequenceErase", [name, at], [longer])]
        name, arrays, at = longer, arrays[1:], b.name()
    if b.rng.random() < 0.2 and b.opset >= 17:
        mapped, item, inner = b.name(), b.name(), b.name()
        element = number(x.dtype)
        body = helper.make_graph(
            [helper.make_node("Identity", [item], [inner])],
            b.name(),
            [helper.make_tensor_value_info(item, element, x.shape)],
            [helper.make_tensor_value_info(inner, element, x.shape)],
        )
        nodes.append(helper.make_node("SequenceMap", [name], [mapped], body=body))
        name = mapped
    match b.rng.randrange(4):
        case 0:
            nodes += [constant_int(at, -1), helper.make_node("SequenceAt", [name, at], [result])]
            array = arrays[-1]
        case 1:
            nodes.append(helper.make_node("ConcatFromSequence", [name], [result], axis=0))
            array = np.concatenate(arrays)
        case 2:
            nodes.append(helper.make_node("ConcatFromSequence", [name], [result], axis=0, new_axis=1))
            array = np.stack(arrays)
        case _:
            nodes.append(helper.make_node("SequenceLength", [name], [result]))
            array = np.asarray(len(arrays), np.int64)
    b.graph.nodes.extend(nodes)
    b.graph.operators.update(node.op_type for node in nodes)
    b.values.append(b.keep(Value(result, array, constant=False, scaled=any(part.scaled for part in parts))))
    if b.rng.random() < 0.3 and not is_input:
        b.graph.outputs.append(helper.make_value_info(name, sequence_type(x)))


@maker(2)
def optional(b: Builder) -> None:
    """An optional that is an input, or made here, and what is in it, or whether anything is."""
    if b.opset < 16:
        raise Refused("Optional")
    x = need(b.pick(lambda value: value.dtype in (np.float32, np.int64)))
    name, result = b.name(), b.name()
    tensor = helper.make_tensor_type_proto(number(x.dtype), x.shape)
    nodes: list[NodeProto] = []
    full = True
    if b.rng.random() < 0.4:
        full = b.rng.random() < 0.6
        b.graph.inputs.append(ValueInfoProto(name=name, type=helper.make_optional_type_proto(tensor)))
        b.graph.feeds[name] = x.array if full else None
    else:
        nodes.append(helper.make_node("Optional", [x.name], [name]))
    if full and b.rng.random() < 0.6:
        nodes.append(helper.make_node("OptionalGetElement", [name], [result]))
        array = x.array
    else:
        nodes.append(helper.make_node("OptionalHasElement", [name], [result]))
        array = np.asarray(full)
    b.graph.nodes.extend(nodes)
    b.graph.operators.update(node.op_type for node in nodes)
    b.values.append(b.keep(Value(result, array, constant=False, scaled=x.scaled)))

"""Nodes with graphs of their own, which capture values from around them."""

from __future__ import annotations

import numpy as np
from onnx import GraphProto, NodeProto, helper

from random_graphs.build import Builder, Refused, Value, number
from random_graphs.operators import broadcasts, maker, need

INNER = ["Add", "Sub", "Max"]


def inner(b: Builder, x: Value, y: Value, *, steps: int) -> tuple[list[NodeProto], str]:
    """Some nodes on two values of one type, captured or not; gives the name of the last one."""
    nodes, last = [], x.name
    for _ in range(steps):
        name = b.name()
        kind = b.rng.random()
        if kind < 0.5:
            nodes.append(helper.make_node(b.rng.choice(INNER), [last, y.name], [name]))
        elif kind < 0.75:
            nodes.append(helper.make_node("Neg" if x.dtype.kind in "fi" else "Identity", [last], [name]))
        else:
            nodes.append(helper.make_node("Identity", [last], [name]))
        last = name
    name = b.name()
    nodes.append(helper.make_node("Identity", [last], [name]))
    return nodes, name


def info(name: str, dtype: np.dtype, dims: tuple[int, ...] | None = None):
    return helper.make_tensor_value_info(name, number(dtype), dims)


def pair(b: Builder) -> tuple[Value, Value]:
    kinds = (np.float32, np.float64, np.int32, np.int64)
    x = need(b.pick(lambda value: value.dtype in kinds))
    fits = [v for v in b.values if v.dtype == x.dtype and (v.rank == 0 or v.shape == x.shape)]
    return x, b.rng.choice(fits) if fits else x


@maker(4)
def conditional(b: Builder) -> None:
    x, y = pair(b)
    if b.rng.random() < 0.5:
        condition = b.constant(np.asarray(b.rng.random() < 0.5))
    else:
        condition = b.add_input(np.asarray(b.rng.random() < 0.5))
    branches = []
    for _ in range(2):
        nodes, result = inner(b, x, y, steps=b.rng.randint(0, 3))
        branches.append(helper.make_graph(nodes, b.name(), [], [info(result, x.dtype)]))
    scaled = x.scaled or y.scaled or x.is_float
    b.add("If", [condition], then_branch=branches[0], else_branch=branches[1], extra=[x, y], constant=False, scaled=scaled)


@maker(3)
def loop(b: Builder) -> None:
    x, y = pair(b)
    count = b.constant(np.asarray(b.rng.randint(0, 3), np.int64))
    at, going, state = b.name(), b.name(), b.name()
    still = b.name()
    inside = Value(state, x.array, constant=False)
    nodes, result = inner(b, inside, y, steps=b.rng.randint(1, 3))
    nodes.append(helper.make_node("Identity", [going], [still]))
    scan = b.name()
    nodes.append(helper.make_node("Identity", [state], [scan]))
    body = helper.make_graph(
        nodes,
        b.name(),
        [info(at, np.dtype(np.int64), ()), info(going, np.dtype(np.bool_), ()), info(state, x.dtype)],
        [info(still, np.dtype(np.bool_), ()), info(result, x.dtype), info(scan, x.dtype)],
    )
    if not broadcasts(y, x):
        raise Refused("Loop")
    b.add("Loop", [count, b.constant(np.asarray(True)), x], 2, body=body, extra=[y], constant=False, scaled=True)


@maker(2)
def scan(b: Builder) -> None:
    if b.opset < 9:
        raise Refused("Scan")
    x = need(b.pick(lambda value: value.rank > 0 and value.dtype == np.float32 and value.shape[0] > 0))
    y = need(b.pick(lambda value: value.rank == 0 and value.dtype == np.float32) or b.add_input(np.asarray(2.5, np.float32)))
    row = Value(b.name(), x.array[0], constant=False)
    nodes, result = inner(b, row, y, steps=b.rng.randint(1, 2))
    body: GraphProto = helper.make_graph(nodes, b.name(), [info(row.name, x.dtype, row.shape)], [info(result, x.dtype)])
    b.add("Scan", [x], body=body, num_scan_inputs=1, extra=[y], constant=False, scaled=True)


def sequence_of(b: Builder, x: Value) -> None:
    """A sequence is made and taken apart at once: what a graph keeps are tensors."""
    made, at = b.name(), b.constant(np.asarray(0, np.int64))
    nodes = [helper.make_node("SequenceConstruct", [x.name, x.name], [made])]
    name = b.name()
    kind = b.rng.randrange(3)
    if kind == 0:
        nodes.append(helper.make_node("SequenceAt", [made, at.name], [name]))
    elif kind == 1:
        nodes.append(helper.make_node("ConcatFromSequence", [made], [name], axis=0))
    else:
        nodes.append(helper.make_node("SequenceLength", [made], [name]))
    array = [x.array, np.concatenate([x.array, x.array]), np.asarray(2, np.int64)][kind]
    b.graph.nodes.extend(nodes)
    b.graph.operators.update(node.op_type for node in nodes)
    b.values.append(Value(name, array, constant=False, scaled=x.scaled))


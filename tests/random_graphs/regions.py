"""Nodes with graphs of their own, which capture values from around them, with others in these, up to three deep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from onnx import GraphProto, NodeProto, ValueInfoProto, helper, numpy_helper

from random_graphs import values
from random_graphs.build import Builder, Refused, Value, number
from random_graphs.makers import maker, need

INNER = ["Add", "Sub", "Max"]
DEEPEST = 3


@dataclass(frozen=True)
class Scope:
    """What the nodes of a region may name: values of one type, and flags."""

    b: Builder
    dtype: np.dtype
    dims: tuple[int, ...] | None
    names: tuple[str, ...]
    """The first has the shape of what is made; the others broadcast to it."""
    flags: tuple[str, ...]
    depth: int
    used: list[str]
    """Names of other regions, which may be taken again."""

    def name(self) -> str:
        free = [name for name in self.used if name not in self.names and name not in self.flags]
        return self.b.rng.choice(free) if free and self.b.rng.random() < 0.3 else self.b.name()

    def inner(self, *names: str, flags: Sequence[str] = ()) -> Scope:
        return Scope(self.b, self.dtype, self.dims, (*names, *self.names), (*flags, *self.flags), self.depth + 1, self.used)

    def info(self, name: str) -> ValueInfoProto:
        return helper.make_tensor_value_info(name, number(self.dtype), self.dims)


def steps(scope: Scope, n: int) -> tuple[list[NodeProto], str]:
    """Some nodes; gives the name of the last value, which is of this region."""
    rng, nodes, names = scope.b.rng, [], list(scope.names)
    taken = set(names)
    for last in [False] * n + [True]:
        here = Scope(scope.b, scope.dtype, scope.dims, tuple(names), scope.flags, scope.depth, scope.used)
        name = here.name()
        if name in taken:
            name = scope.b.name()
        if last:
            nodes.append(helper.make_node("Identity", [names[0]], [name]))
        elif rng.random() < 0.3 and scope.depth < DEEPEST:
            nodes += rng.choice((branch, repeat))(here, name)
        else:
            nodes += [plain(here, name)]
        taken.update(output for node in nodes for output in node.output)
        names.insert(0, name)
    scope.used.extend(output for node in nodes for output in node.output)
    return nodes, names[0]


def plain(scope: Scope, name: str) -> NodeProto:
    rng, first = scope.b.rng, scope.names[0]
    if rng.random() < 0.6 and scope.dtype != values.STRING:
        # Of a zero and a negative one, the largest is either.
        inner = INNER[:-1] if scope.dtype.kind == "f" else INNER
        return helper.make_node(rng.choice(inner), [first, rng.choice(scope.names)], [name])
    return helper.make_node("Neg" if scope.dtype.kind in "fi" and rng.random() < 0.5 else "Identity", [first], [name])


def branch(scope: Scope, name: str) -> list[NodeProto]:
    graphs = []
    for _ in range(2):
        nodes, result = steps(scope.inner(), scope.b.rng.randint(0, 3))
        graphs.append(helper.make_graph(nodes, scope.b.name(), [], [scope.info(result)]))
    flag = scope.b.rng.choice(scope.flags)
    return [helper.make_node("If", [flag], [name], then_branch=graphs[0], else_branch=graphs[1])]


def repeat(scope: Scope, name: str) -> list[NodeProto]:
    rng, b = scope.b.rng, scope.b
    count, going = b.name(), rng.choice(("", *scope.flags))
    first = helper.make_node("Constant", [], [count], value=numpy_helper.from_array(np.asarray(rng.randint(0, 2), np.int64)))
    body, n_rows = loop_body(scope, rows=rng.random() < 0.3)
    results = [name, *([b.name()] if n_rows else [])]
    return [first, helper.make_node("Loop", [count, going, scope.names[0]], results, body=body)]


def loop_body(scope: Scope, *, rows: bool) -> tuple[GraphProto, int]:
    b = scope.b
    b.graph.loops_over_strings |= scope.dtype == values.STRING
    at, going, state, still = b.name(), b.name(), b.name(), b.name()
    nodes, result = steps(scope.inner(state, flags=[going]), b.rng.randint(1, 3))
    nodes.append(helper.make_node("Identity", [going], [still]))
    outputs = [flag(still), scope.info(result)]
    if rows:
        row = b.name()
        nodes.append(helper.make_node("Identity", [b.rng.choice((state, result))], [row]))
        outputs.append(scope.info(row))
    counter = helper.make_tensor_value_info(at, number(np.dtype(np.int64)), ())
    return helper.make_graph(nodes, b.name(), [counter, flag(going), scope.info(state)], outputs), int(rows)


def flag(name: str) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, number(np.dtype(np.bool_)), ())


def around(b: Builder, accept=lambda value: True) -> tuple[Value, list[Value], Value]:
    """A value, others of its type that broadcast to it, and a flag."""
    kinds = (np.float32, np.float64, np.int32, np.int64, values.STRING)
    x = need(b.pick(lambda value: value.dtype in kinds and accept(value)))
    fits = [value for value in b.values if value.dtype == x.dtype and (value.rank == 0 or value.shape == x.shape)]
    flags = [value for value in b.values if value.dtype == np.bool_ and value.rank == 0 and not value.constant]
    kind = b.rng.random()
    if kind < 0.4:
        condition = b.constant(np.asarray(b.rng.random() < 0.5))
    elif kind < 0.7 and flags:
        condition = b.rng.choice(flags)
    else:
        condition = b.add_input(np.asarray(b.rng.random() < 0.5))
    return x, b.rng.sample(fits, min(2, len(fits))), condition


def scope_of(b: Builder, x: Value, others: Sequence[Value], condition: Value) -> Scope:
    names = tuple(dict.fromkeys([x.name, *[value.name for value in others]]))
    # A region need not say of which sizes its values are, but the checker insists on it.
    dims = None if b.rng.random() < 0.1 else x.shape
    return Scope(b, x.dtype, dims, names, (condition.name,), 0, [])


@maker(5)
def conditional(b: Builder) -> None:
    x, others, condition = around(b)
    scope = scope_of(b, x, others, condition)
    nodes = branch(scope, b.name())
    scaled = x.is_float or any(value.scaled for value in others)
    b.add_nodes(nodes, [condition, x, *others], nodes[-1].output, constant=False, scaled=scaled)


@maker(4)
def loop(b: Builder) -> None:
    x, others, condition = around(b)
    # The iteration count is an input now and then, and neither is needed.
    count = b.add_input(np.asarray(b.rng.randint(0, 3), np.int64)) if b.rng.random() < 0.3 else None
    count = count or b.constant(np.asarray(b.rng.randint(0, 3), np.int64))
    rows = b.rng.random() < 0.7
    body, _ = loop_body(scope_of(b, x, others, condition), rows=rows)
    node = helper.make_node("Loop", [count.name, b.rng.choice(("", condition.name)), x.name], [b.name() for _ in range(1 + rows)], body=body)
    b.add_nodes([node], [count, condition, x, *others], node.output, constant=False, scaled=True)


@maker(3)
def scan(b: Builder) -> None:
    if b.opset < 9:
        raise Refused("Scan")
    x, others, condition = around(b, lambda value: value.rank > 0 and value.shape[0] > 0)
    scalars = [value for value in others if value.rank == 0]
    row = b.name()
    scope = Scope(b, x.dtype, x.shape[1:], (row, *[value.name for value in scalars]), (condition.name,), 1, [])
    nodes, result = steps(scope, b.rng.randint(1, 3))
    b.graph.loops_over_strings |= x.dtype == values.STRING
    element = number(x.dtype)
    states: list[str] = []
    inputs, outputs = [], []
    if scalars and b.rng.random() < 0.5:
        states, state, new = [scalars[0].name], b.name(), b.name()
        nodes.append(helper.make_node("Identity", [state], [new]))
        inputs, outputs = ([helper.make_tensor_value_info(name, element, ())] for name in (state, new))
    inputs.append(helper.make_tensor_value_info(row, element, x.shape[1:]))
    outputs.append(helper.make_tensor_value_info(result, element, x.shape[1:]))
    body = helper.make_graph(nodes, b.name(), inputs, outputs)
    directions = {"scan_input_directions": [b.rng.randint(0, 1)]} if b.rng.random() < 0.3 else {}
    results = [b.name() for _ in outputs]
    node = helper.make_node("Scan", [*states, x.name], results, body=body, num_scan_inputs=1, **directions)
    b.add_nodes([node], [x, *scalars, condition], results, constant=False, scaled=True)

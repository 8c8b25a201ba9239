"""`If`, `Loop` and `Scan` whose bodies use values from outside."""

from __future__ import annotations

import numpy as np
from onnx import GraphProto, ModelProto

from judge.made.registry import BOOL, FLOAT, INT64, Made, Registry, constant, graph, made, model, node, tensor

MODELS = Registry()


def branch(name: str, op: str, inputs: list[str]) -> GraphProto:
    return graph([node(op, inputs, [f"{name}_out"])], [], [tensor(f"{name}_out", shape=None)], name=name)


@MODELS.add
def subgraphs_three_deep() -> ModelProto:
    """`If` in `Loop` in `Scan`; the innermost captures from all levels, an initializer of each included."""
    inner = [
        node("Add", ["state", "row"], ["t1"]),
        node("Add", ["t1", "outer_weight"], ["t2"]),
        node("Mul", ["t2", "loop_weight"], ["t3"]),
        node("Add", ["t3", "then_weight"], ["then_out"]),
    ]
    then = graph(inner, [], [tensor("then_out", shape=(3,))], [constant("then_weight", [1, 0, 1])], "then")
    otherwise = graph(
        [node("Sub", ["state", "global"], ["else_out"])], [], [tensor("else_out", shape=(3,))], name="else"
    )
    loop = graph(
        [
            node("Mod", ["index", "two"], ["odd"]),
            node("Cast", ["odd"], ["is_odd"], to=BOOL),
            node("If", ["is_odd"], ["next"], then_branch=then, else_branch=otherwise),
            node("Identity", ["go"], ["go_on"]),
        ],
        [tensor("index", INT64, ()), tensor("go", BOOL, ()), tensor("state", shape=(3,))],
        [tensor("go_on", BOOL, ()), tensor("next", shape=(3,))],
        [constant("loop_weight", [2, 2, 2]), constant("two", 2, int)],
        "loop",
    )
    scan = graph(
        [
            node("Loop", ["trips", "", "carried"], ["looped"], body=loop),
            node("Add", ["looped", "row"], ["carry"]),
            node("Neg", ["carry"], ["line"]),
        ],
        [tensor("carried", shape=(3,)), tensor("row", shape=(3,))],
        [tensor("carry", shape=(3,)), tensor("line", shape=(3,))],
        name="scan",
    )
    nodes = [
        node("Abs", ["start"], ["global"]),
        node("Scan", ["start", "x"], ["last", "y"], body=scan, num_scan_inputs=1),
    ]
    weights = [constant("outer_weight", [1, 2, 3]), constant("trips", 4, int)]
    return model(
        graph(
            nodes,
            [tensor("start", shape=(3,)), tensor("x", shape=(5, 3))],
            [tensor("last", shape=(3,)), tensor("y", shape=(5, 3))],
            weights,
        )
    )


@MODELS.add
def subgraphs_shadow_free_reuse() -> ModelProto:
    """Both branches use the same inner names, which is allowed; a value is used only inside a branch."""
    then = graph(
        [node("Exp", ["only_inside"], ["t"]), node("Neg", ["t"], ["o"])], [], [tensor("o", shape=None)], name="then"
    )
    otherwise = graph(
        [node("Abs", ["x"], ["t"]), node("Sqrt", ["t"], ["o"])], [], [tensor("o", shape=None)], name="else"
    )
    nodes = [node("Tanh", ["x"], ["only_inside"]), node("If", ["c"], ["y"], then_branch=then, else_branch=otherwise)]
    return model(graph(nodes, [tensor("x"), tensor("c", BOOL, ())], [tensor("y")]))


@MODELS.add
def subgraphs_constant_condition() -> ModelProto:
    """The branch taken is known; it captures, and one of its outputs is a captured value itself."""
    then = graph(
        [node("Neg", ["x"], ["t1"]), node("Identity", ["a"], ["t2"])], [], [tensor("t1"), tensor("t2")], name="then"
    )
    otherwise = graph(
        [node("Exp", ["x"], ["e1"]), node("Sqrt", ["a"], ["e2"])], [], [tensor("e1"), tensor("e2")], name="else"
    )
    nodes = [node("Abs", ["x"], ["a"]), node("If", ["c"], ["y", "z"], then_branch=then, else_branch=otherwise)]
    return model(graph(nodes, [tensor("x")], [tensor("y"), tensor("z")], [constant("c", True, bool)]))


@MODELS.add
def subgraphs_guarded_trap() -> Made:
    """A branch that is not taken would fail: a reshape to a size that does not fit. Nothing of it may be hoisted."""
    then = graph([node("Reshape", ["x", "bad"], ["t"])], [], [tensor("t", shape=None)], name="then")
    otherwise = graph([node("Reshape", ["x", "good"], ["e"])], [], [tensor("e", shape=None)], name="else")
    top = graph(
        [node("If", ["c"], ["y"], then_branch=then, else_branch=otherwise)],
        [tensor("x"), tensor("c", BOOL, ())],
        [tensor("y", shape=(None, None))],
        [constant("bad", [5, 5], int), constant("good", [3, 2], int)],
    )
    return made("subgraphs_guarded_trap", model(top), np.arange(6, dtype=np.float32).reshape(2, 3), np.array(False))


@MODELS.add
def subgraphs_empty_trip() -> ModelProto:
    """A loop that never runs gives its initial state, and scans of length 0."""
    body = graph(
        [node("Add", ["state", "x"], ["next"]), node("Identity", ["go"], ["go_on"]), node("Neg", ["next"], ["line"])],
        [tensor("i", INT64, ()), tensor("go", BOOL, ()), tensor("state")],
        [tensor("go_on", BOOL, ()), tensor("next"), tensor("line")],
        name="body",
    )
    nodes = [node("Loop", ["trips", "", "x"], ["y", "lines"], body=body)]
    return model(
        graph(nodes, [tensor("x")], [tensor("y"), tensor("lines", shape=("n", 2, 3))], [constant("trips", 0, int)])
    )


@MODELS.add
def subgraphs_data_dependent_loop() -> ModelProto:
    """No trip count; the condition decides. A constant of the body is used across iterations."""
    body = graph(
        [
            node("Constant", [], ["half"], value_float=0.5),
            node("Mul", ["state", "half"], ["next"]),
            node("ReduceSum", ["next"], ["sum"], keepdims=0),
            node("Greater", ["sum", "limit"], ["go_on"]),
        ],
        [tensor("i", INT64, ()), tensor("go", BOOL, ()), tensor("state")],
        [tensor("go_on", BOOL, ()), tensor("next")],
        name="body",
    )
    nodes = [node("Abs", ["x"], ["start"]), node("Loop", ["", "yes", "start"], ["y"], body=body)]
    return model(graph(nodes, [tensor("x")], [tensor("y")], [constant("yes", True, bool), constant("limit", 0.01)]))


@MODELS.add
def subgraphs_constant_branches() -> ModelProto:
    """Branches that only hand on a captured value, an initializer of the branch, or an initializer of the graph."""
    then = graph([node("Identity", ["w"], ["t"])], [], [tensor("t", shape=None)], name="then")
    otherwise = graph([], [], [tensor("inside", shape=(3,))], [constant("inside", [7, 8, 9])], "else")
    nodes = [node("If", ["c"], ["s"], then_branch=then, else_branch=otherwise), node("Add", ["x", "s"], ["y"])]
    return model(graph(nodes, [tensor("x"), tensor("c", BOOL, ())], [tensor("y")], [constant("w", [1, 2, 3])]))


@MODELS.add
def subgraphs_nested_if() -> ModelProto:
    """Thirty `If` nodes in each other."""
    depth = 30
    body = branch("deepest", "Neg", ["x"])
    for level in range(depth):
        result = f"r{level}"
        inner = node("If", ["c"], [result], then_branch=body, else_branch=branch(f"else{level}", "Abs", ["x"]))
        body = graph([inner], [], [tensor(result, FLOAT, None)], name=f"level{level}")
    body.node[0].output[0] = body.output[0].name = "y"
    return model(graph(list(body.node), [tensor("x"), tensor("c", BOOL, ())], [tensor("y")]))

"""Graphs of everything that makers make."""

from __future__ import annotations

import contextlib
import random

import onnx
from onnx import helper

from judge import runtimes
from random_graphs import containers, elementwise, functions, judged, networks, regions, shaping, short, training
from random_graphs.build import Builder, Graph, Refused
from random_graphs.judges import is_misread
from random_graphs.makers import MAKERS

assert all((containers, elementwise, functions, judged, networks, regions, shaping, short, training))  # they register makers

OLDEST = 7


def newest_opset() -> int:
    """The newest operator set that onnxruntime loads."""
    for opset in range(onnx.defs.onnx_opset_version(), OLDEST, -1):
        x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1])
        y = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1])
        graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", [x], [y])
        one = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
        try:
            runtimes.session(one.SerializeToString())
        except Exception:  # whatever it raises, it does not load it
            continue
        return opset
    return OLDEST


def generate(rng: random.Random, opset: int, prefix: str, newest: int) -> Graph:
    makers = [make for _, make in MAKERS]
    weights = [weight for weight, _ in MAKERS]
    while True:
        b = Builder(rng, opset, prefix, newest)
        for _ in range(rng.randint(4, 16)):
            make = rng.choices(makers, weights)[0]
            # What a maker added before it refused may stay: it has run.
            with contextlib.suppress(Refused):
                make(b)
        graph = b.finish()
        graph.by_reference |= graph.loops_over_strings
        if graph.outputs and graph.nodes and not (graph.by_reference and is_misread(graph.operators, opset)):
            return graph

"""Small models with external data."""

from __future__ import annotations

import numpy as np
from onnx import ModelProto, TensorProto

from judge.made.registry import BOOL, FLOAT, Made, Registry, graph, made, model, node, tensor

MODELS = Registry()


def outside(name: str, shape: tuple[int, ...], **place: object) -> TensorProto:
    result = TensorProto(name=name, dims=shape, data_type=FLOAT, data_location=TensorProto.EXTERNAL)
    for key, value in place.items():
        result.external_data.add(key=key, value=str(value))
    return result


def floats(seed: int, count: int) -> bytes:
    return np.random.default_rng(seed).standard_normal(count, dtype=np.float32).tobytes()


def adding(*weights: TensorProto) -> ModelProto:
    names = ["x", *(f"s{k}" for k in range(len(weights) - 1)), "y"]
    nodes = [node("Add", [names[k], weight.name], [names[k + 1]]) for k, weight in enumerate(weights)]
    return model(graph(nodes, [tensor("x")], [tensor("y")], weights))


@MODELS.add
def external_whole_file() -> Made:
    """Neither offset nor length: the tensor is the file."""
    return made("external_whole_file", adding(outside("w", (2, 3), location="w.bin")), files={"w.bin": floats(1, 6)})


@MODELS.add
def external_shared_file() -> Made:
    """Two tensors in one file, out of order, with a gap; and a second file."""
    weights = (
        outside("w1", (2, 3), location="weights.data", offset=4096, length=24),
        outside("w2", (3,), location="weights.data", offset=0, length=12),
        outside("w3", (3,), location="more.data", offset=0, length=12, checksum="0" * 40),
    )
    shared = floats(2, 3).ljust(4096, b"\0") + floats(3, 6)
    return made("external_shared_file", adding(*weights), files={"weights.data": shared, "more.data": floats(4, 3)})


@MODELS.add
def external_in_subgraph() -> Made:
    """An initializer of a branch, and the tensor of a `Constant` node."""
    then = graph(
        [node("Add", ["x", "w"], ["t"])],
        [],
        [tensor("t", shape=None)],
        [outside("w", (3,), location="w.bin", offset=0, length=12)],
        "then",
    )
    fixed = node("Constant", [], ["c2"], value=outside("", (3,), location="w.bin", offset=12, length=12))
    otherwise = graph([fixed, node("Mul", ["x", "c2"], ["e"])], [], [tensor("e", shape=None)], name="else")
    top = graph(
        [node("If", ["c"], ["y"], then_branch=then, else_branch=otherwise)],
        [tensor("x"), tensor("c", BOOL, ())],
        [tensor("y")],
    )
    return made("external_in_subgraph", model(top), files={"w.bin": floats(5, 6)})

"""Models of 600 MB: one with its weights inside, one with them outside."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import ModelProto, TensorProto, helper

from judge.cases import MODEL

N_WEIGHTS = 6
SIDE = 5000
"""Six square matrices of 5000 x 5000 floats are 600 MB."""
WEIGHTS = "weights.bin"


def write(out: Path) -> int:
    """Returns the number of models."""
    for name in ("inline", "external"):
        folder = out / name
        folder.mkdir(parents=True)
        save = save_inline if name == "inline" else save_external
        save(folder)
    return 2


def weight(index: int) -> bytes:
    rng = np.random.default_rng(index)
    return rng.standard_normal((SIDE, SIDE), dtype=np.float32).tobytes()


def skeleton() -> ModelProto:
    """A chain of matrix products, the tensors without their data."""
    nodes = [helper.make_node("MatMul", [f"x{k}", f"w{k}"], [f"x{k + 1}"]) for k in range(N_WEIGHTS)]
    tensors = [TensorProto(name=f"w{k}", dims=[SIDE, SIDE], data_type=TensorProto.FLOAT) for k in range(N_WEIGHTS)]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", SIDE]) for name in ("x0", f"x{N_WEIGHTS}")]
    graph = helper.make_graph(nodes, "large", ends[:1], ends[1:], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def save_inline(folder: Path) -> None:
    model = skeleton()
    for index, tensor in enumerate(model.graph.initializer):
        tensor.raw_data = weight(index)
    onnx.save(model, folder / MODEL)


def save_external(folder: Path) -> None:
    model = skeleton()
    n_bytes = SIDE * SIDE * 4
    with (folder / WEIGHTS).open("wb") as data:
        for index, tensor in enumerate(model.graph.initializer):
            tensor.data_location = TensorProto.EXTERNAL
            for key, value in (("location", WEIGHTS), ("offset", index * n_bytes), ("length", n_bytes)):
                tensor.external_data.add(key=key, value=str(value))
            data.write(weight(index))
    onnx.save(model, folder / MODEL)

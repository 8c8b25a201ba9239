"""What the tests share."""

from __future__ import annotations

import pathlib
import shutil
import sysconfig

import numpy as np
import onnx
import onnx.helper as helper
import onnx.numpy_helper as numpy_helper
import pytest

import relais_onnx as relais

TEXT = """def @main(%x: Tensor[(2, 3), float32]) -> (%y) #[opset = {"": 17}] {
  %a = Identity(%x);
  %b = Neg(%a);
  %c = Neg(%b);
  %y = Relu(%c);
  %y
}
"""

TWO = TEXT + """
def @other(%x: Tensor[(2, 3), float32]) -> (%y) #[opset = {"": 17}] {
  %y = Exp(%x);
  %y
}
"""


def pytest_itemcollected(item: pytest.Item) -> None:
    if "caplog" in getattr(item, "fixturenames", ()):
        item.add_marker(pytest.mark.thread_unsafe(reason="the logger, with its level and its lines, is that of all threads"))


@pytest.fixture
def module() -> relais.IRModule:
    return relais.parse(TEXT)


@pytest.fixture
def two() -> relais.IRModule:
    return relais.parse(TWO)


def network(batch: int | str = 1, seed: int = 0) -> onnx.ModelProto:
    """Convolution, batch normalisation, identity, a dead branch, a reshape whose shape is computed, a matrix product."""
    random = np.random.default_rng(seed)

    def weight(name: str, *shape: int) -> onnx.TensorProto:
        values = random.uniform(0.1, 1.0, shape).astype(np.float32)
        return numpy_helper.from_array(values, name)

    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["conv"], pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", ["conv", "scale", "bias", "mean", "var"], ["norm"]),
        helper.make_node("Identity", ["norm"], ["same"]),
        helper.make_node("Relu", ["same"], ["act"]),
        helper.make_node("Exp", ["act"], ["dead"]),
        helper.make_node("GlobalAveragePool", ["act"], ["pool"]),
        helper.make_node("Shape", ["pool"], ["shape"]),
        helper.make_node("Gather", ["shape", "zero"], ["n"]),
        helper.make_node("Concat", ["n", "minus"], ["target"], axis=0),
        helper.make_node("Reshape", ["pool", "target"], ["flat"]),
        helper.make_node("MatMul", ["flat", "m"], ["y"]),
    ]
    constants = [
        weight("w", 4, 3, 3, 3),
        weight("b", 4),
        weight("scale", 4),
        weight("bias", 4),
        weight("mean", 4),
        weight("var", 4),
        weight("m", 4, 5),
        numpy_helper.from_array(np.array([0], np.int64), "zero"),
        numpy_helper.from_array(np.array([-1], np.int64), "minus"),
    ]
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [batch, 3, 8, 8])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [batch, 5])],
        constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.fixture
def proto() -> onnx.ModelProto:
    return network()


@pytest.fixture
def path(tmp_path: pathlib.Path, proto: onnx.ModelProto) -> pathlib.Path:
    path = tmp_path / "model.onnx"
    onnx.save(proto, path)
    return path


def program() -> str:
    """The command line that was installed with the package, and not what else may be on the path."""
    found = shutil.which("relais", path=sysconfig.get_path("scripts"))
    assert found
    return found


def light(name: str) -> pathlib.Path:
    """A model that comes with the package `onnx`."""
    folder = pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
    return folder / f"light_{name}.onnx"


def outputs(
    model: onnx.ModelProto | bytes | str,
    shapes: dict[str, list[int]] | None = None,
    feeds: dict[str, np.ndarray] | None = None,
) -> list[np.ndarray]:
    """What onnxruntime computes, without optimising, of `feeds`, or for inputs that depend on the seed alone."""
    import onnxruntime

    if isinstance(model, onnx.ModelProto):
        model = model.SerializeToString()
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    if feeds is not None:
        return session.run(None, feeds)
    random = np.random.default_rng(7)
    feeds = {}
    for given in session.get_inputs():
        shape = (shapes or {}).get(given.name, given.shape)
        feeds[given.name] = random.uniform(-1, 1, [dim if isinstance(dim, int) else 2 for dim in shape]).astype(np.float32)
    return session.run(None, feeds)


def assert_same(model: onnx.ModelProto | bytes | str, other: onnx.ModelProto | bytes | str) -> None:
    for a, b in zip(outputs(model), outputs(other), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)

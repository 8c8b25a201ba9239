"""Models above 100 MB as exporters write them, with random weights: no package ships one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
from onnx import ModelProto, TensorProto, ValueInfoProto, helper, numpy_helper

from judge import graphs, values
from judge.cases import MODEL
from judge.report import Report, table

OPSET = 15
WIDTH = 768
N_HEADS = 12
N_TOKENS = 40_000


class Net:
    """A graph that grows; values are names."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.tensors: list[TensorProto] = []

    def call(self, op: str, *args: str, **attrs: object) -> str:
        name = f"{op}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(args), [f"{name}_output_0"], name=name, **attrs))
        return f"{name}_output_0"

    def weight(self, *shape: int) -> str:
        scale = np.float32(np.sqrt(2.0 / shape[0]))
        return self.constant(self.rng.standard_normal(shape, dtype=np.float32) * scale)

    def constant(self, value: object, dtype: type = np.float32) -> str:
        name = f"constant_{len(self.tensors)}"
        self.tensors.append(numpy_helper.from_array(np.asarray(value, dtype=dtype), name))
        return name

    def ints(self, *value: int) -> str:
        return self.constant(value, np.int64)

    def linear(self, x: str, n_in: int, n_out: int) -> str:
        return self.call("Add", self.weight(n_out), self.call("MatMul", x, self.weight(n_in, n_out)))

    def size(self, x: str, axis: int) -> str:
        """A size as torch asks for it."""
        gathered = self.call("Gather", self.call("Shape", x), self.constant(axis, np.int64), axis=0)
        return self.call("Unsqueeze", gathered, self.ints(0))

    def norm(self, x: str) -> str:
        centred = self.call("Sub", x, self.call("ReduceMean", x, axes=[-1]))
        variance = self.call("ReduceMean", self.call("Pow", centred, self.constant(2.0)), axes=[-1])
        deviation = self.call("Sqrt", self.call("Add", variance, self.constant(1e-5)))
        normal = self.call("Div", centred, deviation)
        return self.call("Add", self.call("Mul", normal, self.weight(WIDTH)), self.weight(WIDTH))

    def gelu(self, x: str) -> str:
        bend = self.call("Erf", self.call("Div", x, self.constant(np.sqrt(2.0))))
        return self.call("Mul", self.call("Mul", x, self.call("Add", bend, self.constant(1.0))), self.constant(0.5))

    def attention(self, x: str) -> str:
        def heads(perm: list[int]) -> str:
            sizes = [self.size(x, 0), self.size(x, 1), self.ints(N_HEADS), self.ints(WIDTH // N_HEADS)]
            split = self.call("Reshape", self.linear(x, WIDTH, WIDTH), self.call("Concat", *sizes, axis=0))
            return self.call("Transpose", split, perm=perm)

        query, key, value = heads([0, 2, 1, 3]), heads([0, 2, 3, 1]), heads([0, 2, 1, 3])
        scores = self.call("Div", self.call("MatMul", query, key), self.constant(np.sqrt(WIDTH / N_HEADS)))
        mixed = self.call("MatMul", self.call("Softmax", scores, axis=-1), value)
        mixed = self.call("Transpose", mixed, perm=[0, 2, 1, 3])
        sizes = [self.size(mixed, 0), self.size(mixed, 1), self.ints(WIDTH)]
        return self.linear(self.call("Reshape", mixed, self.call("Concat", *sizes, axis=0)), WIDTH, WIDTH)

    def model(self, given: ValueInfoProto, result: str, n_dims: int) -> ModelProto:
        self.nodes[-1].output[0] = "result"
        out = helper.make_tensor_value_info("result", TensorProto.FLOAT, [None] * n_dims)
        graph = helper.make_graph(self.nodes, "main", [given], [out], self.tensors)
        assert result.startswith(self.nodes[-1].name), "the last call makes the result"
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)


def encoder() -> ModelProto:
    """Four layers of a transformer, with open batch and length."""
    net = Net(1)
    x = "x"
    for _ in range(4):
        x = net.norm(net.call("Add", x, net.attention(x)))
        wide = net.gelu(net.linear(x, WIDTH, 4 * WIDTH))
        x = net.norm(net.call("Add", x, net.linear(wide, 4 * WIDTH, WIDTH)))
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", "length", WIDTH])
    return net.model(given, x, 3)


def embedding() -> ModelProto:
    """The mean of the embeddings of tokens that are not padding, projected and normalised."""
    net = Net(2)
    rows = net.call("Gather", net.weight(N_TOKENS, WIDTH), "ids")
    padding = net.call("Equal", "ids", net.constant(0, np.int64))
    mask = net.call("Unsqueeze", net.call("Cast", net.call("Not", padding), to=TensorProto.FLOAT), net.ints(-1))
    kept = net.call("ReduceSum", net.call("Mul", rows, mask), net.ints(1), keepdims=0)
    count = net.call("Clip", net.call("ReduceSum", mask, net.ints(1), keepdims=0), net.constant(1.0))
    mean = net.linear(net.call("Dropout", net.call("Div", kept, count)), WIDTH, 256)
    length = net.call("Clip", net.call("ReduceL2", mean, axes=[1], keepdims=1), net.constant(1e-12))
    sizes = net.call("Shape", mean)
    result = net.call("Div", mean, net.call("Expand", length, sizes))
    given = helper.make_tensor_value_info("ids", TensorProto.INT64, ["batch", "length"])
    return net.model(given, result, 2)


def dense() -> ModelProto:
    """Convolutions with batch normalisation, and a wide classifier behind them."""
    net = Net(3)
    x, channels = "x", 3
    for width in (32, 64, 128):
        weight = net.constant(net.rng.standard_normal((width, channels, 3, 3), dtype=np.float32) * 0.1)
        x = net.call("Conv", x, weight, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
        moments = [net.constant(np.abs(net.rng.standard_normal(width)) + 0.5) for _ in range(4)]
        x = net.call("Relu", net.call("BatchNormalization", x, *moments))
        x = net.call("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
        channels = width
    sizes = net.call("Concat", net.size(x, 0), net.ints(-1), axis=0)
    x, n_in = net.call("Reshape", x, sizes), 128 * 10 * 10
    for n_out in (2048, 2048, 1000):
        x = net.call("Dropout", net.call("Relu", net.linear(x, n_in, n_out)))
        n_in = n_out
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3, 80, 80])
    return net.model(given, net.call("Softmax", x, axis=1), 2)


WIDE: dict[str, Callable[[], ModelProto]] = {
    "wide_dense": dense,
    "wide_embedding": embedding,
    "wide_encoder": encoder,
}


def command(out: Path) -> int:
    report = Report()
    rows = []
    for name, make in WIDE.items():
        folder = out / "wide" / name
        folder.mkdir(parents=True, exist_ok=True)
        onnx.save(make(), folder / MODEL)
        reached, why = graphs.validity(folder / MODEL)
        report.judged(name, [] if reached is graphs.Validity.FULL else [why])
        model = graphs.load(folder / MODEL)
        declared = graphs.inputs(model)
        values.write(folder, "input", [values.made(value, name) for value in declared], [v.type for v in declared])
        rows.append([name, str(graphs.n_operators(model)), str(graphs.size_on_disk(folder / MODEL))])
    print(table(["model", "operators", "bytes"], rows))
    return report.finish()

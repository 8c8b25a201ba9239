"""Networks for small machines, with seeded weights: the keyword spotter and the autoencoder of MLPerf Tiny in their shapes,
small perceptrons, recurrent layers, and a chain of elementwise operators."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from judge.cases import MODEL

OPSET = 13


class Network:
    """A model that grows node by node."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.random = np.random.default_rng(zlib.crc32(name.encode()))
        self.nodes: list[NodeProto] = []
        self.weights: list[TensorProto] = []

    def op(self, kind: str, inputs: Sequence[str], **attributes: object) -> str:
        result = f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [result], **attributes))
        return result

    def weight(self, shape: Sequence[int], scale: float) -> str:
        return self.constant(self.random.standard_normal(shape) * scale)

    def constant(self, values: np.ndarray) -> str:
        name = f"weight_{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(values.astype(np.float32), name))
        return name

    def conv(self, value: str, shape: Sequence[int], **attributes: object) -> str:
        """A convolution with the normalisation and the activation behind it."""
        n = shape[0]
        value = self.op("Conv", [value, self.weight(shape, np.prod(shape[1:]) ** -0.5)], **attributes)
        scale, variance = (self.constant(self.random.uniform(0.5, 1.5, n)) for _ in range(2))
        shift, mean = (self.weight([n], 0.5) for _ in range(2))
        return self.op("Relu", [self.op("BatchNormalization", [value, scale, shift, mean, variance])])

    def dense(self, value: str, n_in: int, n_out: int) -> str:
        return self.op("Gemm", [value, self.weight([n_out, n_in], n_in**-0.5), self.weight([n_out], 0.1)], transB=1)

    def model(self, input_shape: Sequence[int], result: str, output_shape: Sequence[int]) -> ModelProto:
        self.nodes.append(helper.make_node("Identity", [result], ["output"]))
        graph = helper.make_graph(
            self.nodes,
            self.name,
            [helper.make_tensor_value_info("input", TensorProto.FLOAT, input_shape)],
            [helper.make_tensor_value_info("output", TensorProto.FLOAT, output_shape)],
            self.weights,
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)


def keyword_spotting() -> ModelProto:
    """The DS-CNN: 12 words from 49 frames of 10 coefficients."""
    net = Network("keyword_spotting")
    value = net.conv("input", [64, 1, 10, 4], strides=[2, 2], pads=[4, 1, 5, 1])
    for _ in range(4):
        value = net.conv(value, [64, 1, 3, 3], group=64, pads=[1, 1, 1, 1])
        value = net.conv(value, [64, 64, 1, 1])
    value = net.op("Flatten", [net.op("AveragePool", [value], kernel_shape=[25, 5])])
    return net.model([1, 1, 49, 10], net.op("Softmax", [net.dense(value, 64, 12)], axis=1), [1, 12])


def perceptron(name: str, *sizes: int) -> ModelProto:
    """Dense layers with an activation between them."""
    net = Network(name)
    value = net.dense("input", sizes[0], sizes[1])
    for n_in, n_out in zip(sizes[1:], sizes[2:], strict=False):
        value = net.dense(net.op("Relu", [value]), n_in, n_out)
    return net.model([1, sizes[0]], value, [1, sizes[-1]])


def elementwise() -> ModelProto:
    """Nine elementwise operators on 2^20 numbers."""
    net = Network("elementwise")
    half, bound = (net.constant(np.array([number])) for number in (0.5, 1.25))
    value = net.op("Relu", [net.op("Add", [net.op("Mul", ["input", half]), bound])])
    square = net.op("Mul", [value, value])
    value = net.op("Max", [net.op("Abs", [net.op("Sub", [square, half])]), "input"])
    return net.model([1 << 20], net.op("Neg", [net.op("Min", [value, square])]), [1 << 20])


def recurrent() -> ModelProto:
    """Each recurrent operator, with numbers of hidden values that are no multiples of others."""
    net = Network("recurrent")

    def layer(kind: str, value: str, n_gates: int, n_in: int, n_out: int, **attributes: object) -> str:
        n_directions = 2 if attributes.get("direction") == "bidirectional" else 1
        rows = n_gates * n_out
        weights = [net.weight([n_directions, rows, n], n**-0.5) for n in (n_in, n_out)]
        value = net.op(
            kind, [value, *weights, net.weight([n_directions, 2 * rows], 0.5)], hidden_size=n_out, **attributes
        )
        # From [steps, directions, batch, values] to [steps, batch, values].
        value = net.op("Transpose", [value], perm=[0, 2, 1, 3])
        shape = numpy_helper.from_array(np.array([0, 0, -1]), f"shape_{len(net.weights)}")
        net.weights.append(shape)
        return net.op("Reshape", [value, shape.name])

    value = layer("LSTM", "input", 4, 10, 7, direction="bidirectional")
    value = layer("GRU", value, 3, 14, 13, linear_before_reset=1, direction="reverse")
    value = layer("GRU", value, 3, 13, 5)
    value = layer("RNN", value, 1, 5, 6, activations=["Relu"])
    return net.model([9, 2, 10], value, [9, 2, 6])


MODELS: dict[str, Callable[[], ModelProto]] = {
    "keyword_spotting": keyword_spotting,
    "elementwise": elementwise,
    "recurrent": recurrent,
    "autoencoder": lambda: perceptron("autoencoder", 640, 128, 128, 128, 128, 8, 128, 128, 128, 128, 640),
    "perceptron_4": lambda: perceptron("perceptron_4", 4, 16, 16, 2),
    "perceptron_64": lambda: perceptron("perceptron_64", 64, 128, 128, 10),
}


def write(out: Path) -> int:
    """Writes the models; returns how many there are."""
    for name, make in MODELS.items():
        folder = out / name
        folder.mkdir(parents=True, exist_ok=True)
        onnx.save(make(), folder / MODEL)
    return len(MODELS)

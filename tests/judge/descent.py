"""A step of gradient descent in onnxruntime, on the weights of a model that returns their gradients."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import ModelProto, numpy_helper

SUFFIX = "_grad"
RATES = (1e-2, 1e-3)
"""The second one is small enough for the slope alone to say how much the loss falls."""
MAX_ERROR = 0.1


def step(model: Path, inputs: dict[str, np.ndarray]) -> list[str]:
    """What is wrong with a step along the gradients of a model whose first output is a loss."""
    proto = onnx.load(model)
    onnx.checker.check_model(proto, full_check=True)
    names = [output.name for output in proto.graph.output]
    results = dict(zip(names, run(proto, inputs), strict=True))
    loss = float(results[names[0]])
    gradients = {name.removesuffix(SUFFIX): results[name] for name in names[1:]}
    squares = sum(float(np.square(gradient.astype(np.float64)).sum()) for gradient in gradients.values())
    faults = [] if squares > 0 else ["all gradients are 0"]
    for rate in RATES:
        moved = float(run(descended(proto, gradients, rate), inputs)[0])
        fall = loss - moved
        if fall <= 0:
            faults.append(f"a step of {rate} takes the loss from {loss} to {moved}")
        if rate == min(RATES) and abs(fall - rate * squares) > MAX_ERROR * rate * squares:
            faults.append(f"a step of {rate} lowers the loss by {fall}, and the gradients say {rate * squares}")
    return faults


def descended(proto: ModelProto, gradients: dict[str, np.ndarray], rate: float) -> ModelProto:
    """The model after a step."""
    moved = ModelProto()
    moved.CopyFrom(proto)
    weights = {tensor.name: tensor for tensor in moved.graph.initializer}
    for name, gradient in gradients.items():
        weight = numpy_helper.to_array(weights[name])
        if weight.shape != gradient.shape or weight.dtype != gradient.dtype:
            raise ValueError(f"{name}: {weight.dtype}{weight.shape}, and its gradient {gradient.dtype}{gradient.shape}")
        weights[name].CopyFrom(numpy_helper.from_array(weight - np.float32(rate) * gradient, name))
    return moved


def run(proto: ModelProto, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, inputs)

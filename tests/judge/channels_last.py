"""Networks of Keras, channels last and with random weights, as tf2onnx converts them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx

from judge import graphs, values
from judge.cases import MODEL
from judge.report import Report, table

OPSET = 15
BATCH = 2


def mobilenet_v3() -> Any:
    import keras

    return keras.applications.MobileNetV3Small(weights=None, input_shape=(224, 224, 3))


def squeeze_excite() -> Any:
    """Depthwise convolutions, normalised per place, and gates that a mean over all places opens."""
    import keras
    from keras import layers

    start = value = layers.Input((64, 64, 3))
    value = layers.Conv2D(16, 3, padding="same")(value)
    for _ in range(3):
        inner = layers.DepthwiseConv2D(3, padding="same")(value)
        inner = layers.Conv2D(32, 1, activation="swish")(layers.LayerNormalization()(inner))
        gate = layers.GlobalAveragePooling2D(keepdims=True)(inner)
        gate = layers.Conv2D(8, 1, activation="relu")(gate)
        gate = layers.Conv2D(32, 1, activation="hard_sigmoid")(gate)
        value = layers.Add()([value, layers.Conv2D(16, 1)(layers.Multiply()([inner, gate]))])
    return keras.Model(start, layers.Dense(10, activation="softmax")(layers.GlobalMaxPooling2D()(value)))


NETWORKS: dict[str, Callable[[], Any]] = {"mobilenet_v3": mobilenet_v3, "squeeze_excite": squeeze_excite}


def converted(network: Any) -> onnx.ModelProto:
    import numpy
    import tensorflow
    import tf2onnx

    # tf2onnx 1.17 still uses what NumPy no longer has.
    numpy.object, numpy.bool = object, bool
    shape = (BATCH, *network.inputs[0].shape[1:])
    signature = [tensorflow.TensorSpec(shape, tensorflow.float32, name="x")]
    function = tensorflow.function(lambda x: network(x, training=False), input_signature=signature)
    model, _ = tf2onnx.convert.from_function(function, signature, opset=OPSET)
    return model


def command(out: Path) -> int:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import keras

    keras.utils.set_random_seed(20_260)
    report = Report()
    rows = []
    for name, make in NETWORKS.items():
        folder = out / "keras" / name
        folder.mkdir(parents=True, exist_ok=True)
        onnx.save(converted(make()), folder / MODEL)
        reached, why = graphs.validity(folder / MODEL)
        report.judged(name, [] if reached is graphs.Validity.FULL else [why])
        model = graphs.load(folder / MODEL)
        declared = graphs.inputs(model)
        values.write(folder, "input", [values.made(value, name) for value in declared], [v.type for v in declared])
        rows.append([name, str(graphs.n_operators(model)), str(sum(n.op_type == "Transpose" for n in model.graph.node))])
    print(table(["model", "operators", "transposes"], rows))
    return report.finish()

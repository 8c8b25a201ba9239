"""Operators of networks: products, pools, normalisations, recurrences."""

from __future__ import annotations

import numpy as np

from random_graphs import values
from random_graphs.build import Builder, Refused
from random_graphs.makers import maker, need

NORMAL = ["Softmax", "LogSoftmax", "Hardmax", "LpNormalization", "MeanVarianceNormalization"]


@maker(2)
def normal(b: Builder) -> None:
    x = need(b.pick(lambda value: value.is_float and value.rank > 1 and not value.constant))
    op = b.rng.choice(NORMAL)
    if op == "MeanVarianceNormalization":
        b.add(op, [x], axes=[0])
    else:
        b.add(op, [x], axis=b.rng.randrange(x.rank) if b.opset >= 13 else 1)


@maker(3)
def dropout(b: Builder) -> None:
    x = need(b.pick(lambda value: value.is_float and not value.constant))
    b.add("Dropout", [x], b.rng.randint(1, 2), scaled=x.scaled)


@maker(3)
def product(b: Builder) -> None:
    x = need(b.pick(lambda value: value.rank >= 1 and value.dtype in (np.float32, np.float64, np.int32) and not value.constant))
    if x.is_float and x.scaled:
        raise Refused("a scale before weights")
    k = x.shape[-1]
    if b.rng.random() < 0.3 and b.opset >= 12 and x.rank == 2 and x.is_float:
        b.add("Einsum", [x, b.random_constant(x.dtype, (k, 2))], equation="ij,jk->ik", scaled=True)
    else:
        # A scale before or behind it goes into the weights, which `judged.scale_into_weights` tries.
        b.add("MatMul", [x, b.random_constant(x.dtype, (k, b.rng.randint(0, 3)))], scaled=x.is_float)


@maker(2)
def pool(b: Builder) -> None:
    source = b.add_input(values.tensor(b.rng, np.float32, (1, 2, 4, 4), special=b.special))
    op = b.rng.choice(("MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "LRN", "InstanceNormalization", "LpPool"))
    if op in ("MaxPool", "AveragePool", "LpPool"):
        n_results = b.rng.randint(1, 2) if op == "MaxPool" and b.opset >= 8 else 1
        b.add(op, [source], n_results, kernel_shape=[2, 2], strides=[b.rng.randint(1, 2)] * 2)
    elif op == "LRN":
        b.add(op, [source], size=3)
    elif op == "InstanceNormalization":
        b.add(op, [source, b.random_constant(np.float32, (2,)), b.random_constant(np.float32, (2,))])
    else:
        b.add(op, [source])


@maker(1)
def layer_norm(b: Builder) -> None:
    x = need(b.pick(lambda value: value.rank >= 2 and value.dtype == np.float32 and value.array.size > 0))
    if b.opset >= 17 and not x.constant:
        b.add("LayerNormalization", [x, b.random_constant(np.float32, (x.shape[-1],))])


@maker(1)
def determinant(b: Builder) -> None:
    if b.opset >= 11:
        b.add("Det", [b.add_input(values.tensor(b.rng, np.float32, (2, 3, 3), special=False))])


@maker(1)
def resize(b: Builder) -> None:
    source = b.add_input(values.tensor(b.rng, np.float32, (1, 1, 2, 3), special=False))
    scales = b.constant(np.array([1, 1, 2, 2], np.float32))
    if b.opset >= 13:
        b.add("Resize", [source, None, scales], mode="nearest")
    elif b.opset in (7, 8):
        b.add("Upsample", [source], scales=[1.0, 1.0, 2.0, 2.0])
    elif b.opset == 9:
        b.add("Upsample", [source, scales])


@maker(1)
def recurrent(b: Builder) -> None:
    op, n_gates = b.rng.choice((("RNN", 1), ("GRU", 3), ("LSTM", 4)))
    source = b.add_input(values.tensor(b.rng, np.float32, (2, 1, 3), special=False))
    w = b.random_constant(np.float32, (1, 2 * n_gates, 3))
    r = b.random_constant(np.float32, (1, 2 * n_gates, 2))
    b.add(op, [source, w, r], 3 if op == "LSTM" else 2, hidden_size=2)

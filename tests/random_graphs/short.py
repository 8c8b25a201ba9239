"""Quantised forms, and the floats and integers of eight bits and fewer, which onnxruntime's Python does not hand over: each
begins and ends with types that it does."""

from __future__ import annotations

import numpy as np
from onnx import helper

from random_graphs import values
from random_graphs.build import Builder, Refused, Value, number
from random_graphs.makers import maker, need

MOVES = ["Identity", "Reshape", "Transpose", "Cast"]


@maker(3)
def there_and_back(b: Builder) -> None:
    """Through a short type."""
    short = [kind for kind, since in values.SHORT.items() if since <= b.opset]
    x = need(b.pick(lambda value: value.dtype in (np.float32, np.float16) and value.array.size > 0))
    if not short:
        raise Refused("no short type")
    kind, last = b.rng.choice(short), b.name()
    nodes = [helper.make_node("Cast", [x.name], [last], to=number(kind))]
    for op in b.rng.sample(MOVES, b.rng.randint(0, 2)):
        name = b.name()
        match op:
            case "Reshape":
                continue
            case "Transpose" if x.rank == 0:
                continue
            case "Transpose":
                nodes.append(helper.make_node(op, [last], [name], perm=list(range(x.rank))[::-1]))
            case "Cast":
                nodes.append(helper.make_node(op, [last], [name], to=number(b.rng.choice(short))))
            case _:
                nodes.append(helper.make_node(op, [last], [name]))
        last = name
    result = b.name()
    nodes.append(helper.make_node("Cast", [last], [result], to=number(np.dtype(np.float32))))
    b.add_nodes(nodes, [x], [result], scaled=True)


@maker(2)
def constant_of_short_type(b: Builder) -> None:
    short = [kind for kind, since in values.SHORT.items() if since <= b.opset]
    if not short:
        raise Refused("no short type")
    held = b.random_constant(b.rng.choice(short), values.shape(b.rng, 2))
    if b.rng.random() < 0.5:
        b.add("Cast", [held], to=number(np.dtype(np.float32)))
    else:
        b.add("DequantizeLinear", [held, b.constant(np.float32(0.5))], constant=False, scaled=True)


def scale_and_zero(b: Builder, kind: np.dtype, dims: tuple[int, ...]) -> tuple[Value, Value | None]:
    scale = b.constant(np.float32(values.tame(b.rng, np.float32, dims, 0.05, 0.5)))
    zero = b.constant(np.full(dims, 3, np.float32).astype(kind)) if kind.kind == "u" and b.rng.random() < 0.7 else None
    if zero is None and kind != np.uint8:
        zero = b.constant(np.zeros(dims, np.float32).astype(kind))
    return scale, zero


@maker(4)
def there_and_back_quantized(b: Builder) -> None:
    """`QuantizeLinear` and `DequantizeLinear`: of a tensor, of channels, of blocks."""
    if b.opset < 10:
        raise Refused("QuantizeLinear")
    kinds = [np.dtype(np.int8), np.dtype(np.uint8)]
    if b.opset >= 21:
        kinds += [np.dtype(np.int16), np.dtype(np.uint16)]
    kinds += [kind for kind, since in values.SHORT.items() if since <= b.opset and kind.name != "bfloat16"]
    kind = b.rng.choice(kinds)
    x = b.add_input(values.tensor(b.rng, np.float32, (2, 4, 3), special=False))
    dims, axis, form = (), {}, b.rng.random()
    if form < 0.3 and b.opset >= 13:
        dims, axis = (4,), {"axis": 1}
    elif form < 0.5 and b.opset >= 21:
        dims, axis = (2, 2, 3), {"axis": 1, "block_size": 2}
    scale, zero = scale_and_zero(b, kind, dims)
    q, name, last = b.name(), b.name(), b.name()
    parameters = [scale.name] + ([zero.name] if zero else [])
    there = helper.make_node("QuantizeLinear", [x.name, *parameters], [q], **axis)
    if kind.name.startswith("float8") and b.rng.random() < 0.3:
        there.attribute.append(helper.make_attribute("saturate", 0))
    nodes = [there]
    if b.rng.random() < 0.3 and not dims:
        nodes.append(helper.make_node("Transpose", [q], [name], perm=[1, 0, 2]))
        q = name
    nodes.append(helper.make_node("DequantizeLinear", [q, *parameters], [last], **axis))
    b.add_nodes(nodes, [x, scale, *([zero] if zero else [])], [last], constant=False, scaled=True)


@maker(3)
def convolution_between(b: Builder) -> None:
    """Quantised, dequantised, convolved and quantised; or the operator for all of these."""
    if b.opset < 10:
        raise Refused("QuantizeLinear")
    x = b.add_input(values.tensor(b.rng, np.float32, (1, 2, 3, 3), special=False))
    kind = np.dtype(b.rng.choice((np.int8, np.uint8)))
    scale, zero = b.constant(np.float32(0.1)), b.constant(np.asarray(3, kind))
    [q] = b.add("QuantizeLinear", [x, scale, zero])
    source = np.random.default_rng(b.rng.getrandbits(32))
    weights = b.constant(source.integers(-9, 9, (2, 2, 1, 1)).astype(np.int8))
    bias = b.constant(source.integers(-9, 9, (2,)).astype(np.int32)) if b.rng.random() < 0.5 else None
    by_channel = b.opset >= 13 and b.rng.random() < 0.5
    w_scale = b.constant(np.full((2,) if by_channel else (), 0.25, np.float32))
    w_zero = b.constant(np.zeros((2,) if by_channel else (), np.int8))
    match b.rng.randrange(3):
        case 0:
            b.add("QLinearConv", [q, scale, zero, weights, w_scale, w_zero, scale, zero, bias])
        case 1:
            b.add("ConvInteger", [q, weights, zero])
        case _:
            [y] = b.add("DequantizeLinear", [q, scale, zero])
            axis = {"axis": 0} if by_channel else {}
            [w] = b.add("DequantizeLinear", [weights, w_scale, w_zero], constant=False, **axis)
            [y] = b.add("Conv", [y, w])
            b.add("QuantizeLinear", [y, scale, zero])


@maker(2)
def product_between(b: Builder) -> None:
    if b.opset < 10:
        raise Refused("QLinearMatMul")
    kind = np.dtype(b.rng.choice((np.int8, np.uint8)))
    a = b.add_input(values.tensor(b.rng, kind, (2, 3), special=False))
    w = b.random_constant(kind, (3, 2))
    scale, zero = b.constant(np.float32(0.25)), b.constant(np.asarray(1, kind))
    if b.rng.random() < 0.5:
        b.add("MatMulInteger", [a, w, *([zero, zero] if b.rng.random() < 0.5 else [])])
    else:
        b.add("QLinearMatMul", [a, scale, zero, w, scale, zero, scale, zero])


@maker(1)
def dynamic(b: Builder) -> None:
    if b.opset >= 11:
        b.add("DynamicQuantizeLinear", [b.add_input(values.tensor(b.rng, np.float32, (2, 3), special=False))], 3)

"""Makers of nodes: each adds one, or a few that belong together, or refuses."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from random_graphs import values
from random_graphs.build import Builder, Refused, Value, number

Maker = Callable[[Builder], None]
MAKERS: list[tuple[int, Maker]] = []
"""How often each is taken, in proportion."""


def maker(weight: int = 1) -> Callable[[Maker], Maker]:
    def register(make: Maker) -> Maker:
        MAKERS.append((weight, make))
        return make

    return register


def need(value: Value | None) -> Value:
    if value is None:
        raise Refused("nothing fits")
    return value


EXACT_UNARY = ["Abs", "Neg", "Sign", "Floor", "Ceil", "Round", "Sqrt", "Relu", "IsNaN", "IsInf", "Identity", "Not", "BitwiseNot"]
ROUGH_UNARY = [
    "Exp", "Log", "Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Tanh", "Asinh", "Acosh", "Atanh", "Erf",
    "Sigmoid", "Softplus", "Softsign", "HardSigmoid", "HardSwish", "Mish", "Elu", "Celu", "Selu", "LeakyRelu",
    "ThresholdedRelu", "Shrink", "Gelu", "Reciprocal", "Swish",
]  # fmt: skip
NORMAL = ["Softmax", "LogSoftmax", "Hardmax", "LpNormalization", "MeanVarianceNormalization"]
BINARY = ["Add", "Sub", "Mul", "Div"]
COMPARE = ["Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"]
LOGIC = ["And", "Or", "Xor"]
BITS = ["BitwiseAnd", "BitwiseOr", "BitwiseXor"]
REDUCE = [
    "ReduceSum", "ReduceProd", "ReduceMean", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum",
    "ReduceLogSumExp",
]  # fmt: skip
REDUCE_EXTREME = ["ReduceMax", "ReduceMin"]


@maker(8)
def exact_unary(b: Builder) -> None:
    x = need(b.pick(lambda value: True))
    op = b.rng.choice(EXACT_UNARY)
    b.add(op, [x], scaled=op == "Identity" and x.scaled)


@maker(8)
def rough_unary(b: Builder) -> None:
    b.add(b.rng.choice(ROUGH_UNARY), [need(b.pick(lambda value: value.is_float and not value.constant))])


@maker(2)
def normal(b: Builder) -> None:
    x = need(b.pick(lambda value: value.is_float and value.rank > 1 and not value.constant))
    op = b.rng.choice(NORMAL)
    if op == "MeanVarianceNormalization":
        b.add(op, [x], axes=[0])
    else:
        b.add(op, [x], axis=b.rng.randrange(x.rank) if b.opset >= 13 else 1)


def partner(b: Builder, x: Value) -> Value:
    """Another value of its type that broadcasts, or a constant that does."""
    fits = [value for value in b.values if value.dtype == x.dtype and value is not x and broadcasts(value, x)]
    if fits and b.rng.random() < 0.6:
        return b.rng.choice(fits)
    dims = x.shape[b.rng.randint(0, x.rank) :]
    dims = tuple(1 if b.rng.random() < 0.3 else dim for dim in dims)
    if b.rng.random() < 0.4:
        # What leaves the other operand as it is, or nearly.
        return b.constant(np.full(dims, b.rng.choice((0, 1)), x.dtype))
    return b.random_constant(x.dtype, dims)


def broadcasts(a: Value, b: Value) -> bool:
    return all(p == q or 1 in (p, q) for p, q in zip(a.shape[::-1], b.shape[::-1], strict=False))


@maker(14)
def arithmetic(b: Builder) -> None:
    x = need(b.pick(lambda value: value.dtype.kind != "b"))
    y = partner(b, x)
    op = b.rng.choice(BINARY)
    if op == "Div" and not x.is_float:
        y = b.constant(np.full((), b.rng.choice((1, 2, 3, 7)), x.dtype))
    scales = x.is_float and (x.constant != y.constant)
    if scales and (x.scaled or y.scaled):
        raise Refused("a scale behind a scale")
    pair = [x, y] if b.rng.random() < 0.7 or (op == "Div" and not x.is_float) else [y, x]
    b.add(op, pair, scaled=x.scaled or y.scaled or scales)


@maker(3)
def power_or_remainder(b: Builder) -> None:
    if b.rng.random() < 0.5:
        x = need(b.pick(lambda value: value.dtype in (np.float32, np.float64, np.int32, np.int64)))
        y = b.constant(np.asarray(b.rng.choice((0, 1, 1, 2)), x.dtype))
        if x.constant and x.is_float:
            raise Refused("Pow")
        b.add("Pow", [x, y], scaled=x.scaled)
    else:
        x = need(b.pick(lambda value: value.dtype.kind in "iu"))
        b.add("Mod", [x, b.constant(np.asarray(b.rng.choice((1, 2, 3, 7)), x.dtype))], fmod=b.rng.randint(0, 1))


@maker(2)
def prelu(b: Builder) -> None:
    x = need(b.pick(lambda value: value.is_float))
    b.add("PRelu", [x, b.random_constant(x.dtype, x.shape[x.rank - min(1, x.rank) :])])


@maker(4)
def several(b: Builder) -> None:
    op = b.rng.choice(("Max", "Min", "Max", "Min", "Sum", "Mean"))
    x = need(b.pick(lambda value: value.is_float))
    others = [partner(b, x) for _ in range(b.rng.randint(0, 2))]
    inputs = [x, *others]
    if op in ("Sum", "Mean") and all(value.constant for value in inputs):
        raise Refused(op)
    b.add(op, inputs, scaled=any(value.scaled for value in inputs))


@maker(4)
def compare(b: Builder) -> None:
    x = need(b.pick(lambda value: value.dtype.kind in "fiu"))
    b.add(b.rng.choice(COMPARE), [x, partner(b, x)])


@maker(2)
def logic(b: Builder) -> None:
    x = need(b.pick(lambda value: value.dtype.kind == "b"))
    b.add(b.rng.choice(LOGIC), [x, partner(b, x)])


@maker(2)
def bits(b: Builder) -> None:
    x = need(b.pick(lambda value: value.dtype.kind in "iu"))
    if b.rng.random() < 0.5:
        b.add(b.rng.choice(BITS), [x, partner(b, x)])
    else:
        shift = b.constant(np.full((), b.rng.randint(0, 7), x.dtype))
        b.add("BitShift", [x, shift], direction=b.rng.choice(("LEFT", "RIGHT")))


@maker(2)
def where(b: Builder) -> None:
    condition = need(b.pick(lambda value: value.dtype.kind == "b"))
    x = need(b.pick(lambda value: broadcasts(value, condition)))
    b.add("Where", [condition, x, partner(b, x)], scaled=x.scaled)


@maker(3)
def clip(b: Builder) -> None:
    x = need(b.pick(lambda value: value.dtype.kind in "fiu"))
    low, high = (b.constant(np.asarray(bound, x.dtype)) for bound in (b.rng.choice((0, 1)), b.rng.choice((2, 6))))
    if b.opset < 11:
        b.add("Clip", [x], min=0.0, max=6.0)
    else:
        b.add("Clip", [x, low if b.rng.random() < 0.8 else None, high if b.rng.random() < 0.8 else None])


@maker(5)
def cast(b: Builder) -> None:
    x = need(b.pick(lambda value: True))
    to = values.dtype(b.rng)
    if x.is_float and to.kind in "iu" and not np.all(np.isfinite(x.array) & (np.abs(x.array) < 100)):
        raise Refused("Cast out of range")
    if x.is_float and to.kind == "u" and x.array.size and float(x.array.min()) < 0:
        raise Refused("Cast out of range")
    if b.opset >= 15 and b.rng.random() < 0.5:
        like = b.constant(np.zeros((1,), to))
        b.add("CastLike", [x, like], scaled=x.scaled, constant=x.constant)
    else:
        b.add("Cast", [x], to=number(to), scaled=x.scaled)


def ints(b: Builder, *numbers: int) -> Value:
    return b.constant(np.array(numbers, np.int64))


@maker(4)
def reshape(b: Builder) -> None:
    x = need(b.pick(lambda value: True))
    dims = list(x.shape)
    b.rng.shuffle(dims)
    if dims and 0 not in dims and b.rng.random() < 0.5:
        dims[b.rng.randrange(len(dims))] = -1
    elif 0 not in dims and b.rng.random() < 0.5:
        dims = [-1]
    elif b.rng.random() < 0.5:
        dims = list(x.shape)
    if b.rng.random() < 0.2:
        b.add("Flatten", [x], axis=b.rng.randint(0, x.rank), scaled=x.scaled)
    else:
        b.add("Reshape", [x, ints(b, *dims)], scaled=x.scaled, constant=x.constant)


@maker(4)
def squeeze(b: Builder) -> None:
    x = need(b.pick(lambda value: True))
    if b.rng.random() < 0.5:
        axes = [at for at, dim in enumerate(x.shape) if dim == 1 and b.rng.random() < 0.7]
        if not axes:
            raise Refused("Squeeze")
        op = "Squeeze"
    else:
        axes, op = [b.rng.randint(0, x.rank)], "Unsqueeze"
    if b.opset < 13:
        b.add(op, [x], axes=axes, scaled=x.scaled)
    else:
        b.add(op, [x, ints(b, *axes)], scaled=x.scaled, constant=x.constant)


@maker(3)
def transpose(b: Builder) -> None:
    x = need(b.pick(lambda value: value.rank > 0))
    perm = list(range(x.rank))
    if b.rng.random() < 0.7:
        b.rng.shuffle(perm)
    b.add("Transpose", [x], perm=perm, scaled=x.scaled)


@maker(3)
def concat(b: Builder) -> None:
    x = need(b.pick(lambda value: value.rank > 0))
    axis = b.rng.randrange(x.rank)
    fits = [v for v in b.values if v.dtype == x.dtype and v.rank == x.rank and v.shape[:axis] == x.shape[:axis]]
    fits = [v for v in fits if v.shape[axis + 1 :] == x.shape[axis + 1 :]]
    parts = [b.rng.choice(fits) for _ in range(b.rng.randint(1, 3))]
    b.add("Concat", parts, axis=axis, scaled=any(part.scaled for part in parts))


@maker(3)
def split(b: Builder) -> None:
    x = need(b.pick(lambda value: value.rank > 0 and value.shape[0] > 0))
    first = b.rng.randint(0, x.shape[0])
    parts = [x.shape[0]] if first in (0, x.shape[0]) else [first, x.shape[0] - first]
    if b.opset < 13:
        b.add("Split", [x], len(parts), axis=0, split=parts, scaled=x.scaled)
    else:
        b.add("Split", [x, ints(b, *parts)], len(parts), axis=0, scaled=x.scaled, constant=x.constant)


@maker(4)
def slice_(b: Builder) -> None:
    x = need(b.pick(lambda value: value.rank > 0))
    axis, big = b.rng.randrange(x.rank), 2**31 - 1
    start, end = b.rng.choice((0, 0, 1, -2)), b.rng.choice((big, big, -1, 2))
    if b.opset < 10:
        b.add("Slice", [x], starts=[start], ends=[end], axes=[axis], scaled=x.scaled)
        return
    step = b.rng.choice((1, 1, 1, 2, -1))
    if step < 0:
        start, end = b.rng.choice((-1, 1)), b.rng.choice((-big, 0))
    bounds = [ints(b, number) for number in (start, end, axis, step)]
    b.add("Slice", [x, *bounds], scaled=x.scaled, constant=x.constant)


@maker(3)
def gather(b: Builder) -> None:
    x = need(b.pick(lambda value: value.rank > 0 and value.array.size > 0))
    axis = b.rng.randrange(x.rank)
    dim = x.shape[axis]
    indices = [b.rng.randint(-dim, dim - 1) for _ in range(b.rng.randint(0, 3))]
    kind = b.rng.random()
    if kind < 0.6:
        dims = () if indices and b.rng.random() < 0.3 else (len(indices),)
        at = np.array(indices[:1] if dims == () else indices, np.int64).reshape(dims)
        b.add("Gather", [x, b.constant(at)], axis=axis, constant=x.constant)
    elif kind < 0.8:
        at = np.random.default_rng(b.rng.getrandbits(32)).integers(0, dim, x.shape)
        b.add("GatherElements", [x, b.constant(at)], axis=axis, constant=x.constant)
    else:
        at = np.array([[b.rng.randrange(x.shape[0])]], np.int64)
        b.add("GatherND", [x, b.constant(at)], constant=x.constant)


@maker(2)
def scatter(b: Builder) -> None:
    x = need(b.pick(lambda value: value.rank > 0 and value.array.size > 0 and value.dtype.kind != "b"))
    if b.rng.random() < 0.5:
        at = np.array([[b.rng.randrange(x.shape[0])]], np.int64)
        updates = b.random_constant(x.dtype, (1, *x.shape[1:]))
        b.add("ScatterND", [x, b.constant(at), updates])
    else:
        at = np.zeros((1,) * x.rank, np.int64)
        b.add("ScatterElements", [x, b.constant(at), b.random_constant(x.dtype, (1,) * x.rank)], axis=0)


@maker(3)
def expand(b: Builder) -> None:
    x = need(b.pick(lambda value: True))
    dims = [3 if dim == 1 and b.rng.random() < 0.5 else dim for dim in x.shape]
    if b.rng.random() < 0.3:
        dims = [2, *dims]
    if b.rng.random() < 0.6:
        if b.opset >= 8:
            b.add("Expand", [x, ints(b, *dims)], scaled=x.scaled, constant=x.constant)
    else:
        b.add("Tile", [x, ints(b, *[b.rng.choice((1, 1, 2, 0)) for _ in x.shape])], constant=x.constant)


@maker(2)
def pad(b: Builder) -> None:
    x = need(b.pick(lambda value: value.rank > 0 and value.is_float))
    pads = [b.rng.choice((0, 0, 0, 1)) for _ in range(2 * x.rank)]
    if b.opset < 11:
        b.add("Pad", [x], pads=pads, scaled=x.scaled)
    else:
        b.add("Pad", [x, ints(b, *pads)], mode=b.rng.choice(("constant", "edge", "reflect")), scaled=x.scaled)


@maker(2)
def space(b: Builder) -> None:
    source = values.tensor(b.rng, np.float32, (1, 4, 2, 2), special=b.special)
    b.add(b.rng.choice(("DepthToSpace", "SpaceToDepth")), [b.add_input(source)], blocksize=2)


@maker(2)
def shape_of(b: Builder) -> None:
    x = need(b.pick(lambda value: True))
    # Sizes are fixed, so that what is computed of them is computed of constants.
    [dims] = b.add(b.rng.choice(("Shape", "Shape", "Size")), [x], constant=True)
    kind = b.rng.random()
    if dims.rank == 1 and kind < 0.4:
        b.add("Reshape", [x, dims], scaled=x.scaled)
    elif dims.rank == 1 and kind < 0.7 and b.opset >= 9:
        b.add("ConstantOfShape", [dims])
    elif dims.rank == 1 and kind < 0.8 and b.opset >= 8:
        b.add("Expand", [x, dims], scaled=x.scaled)


@maker(3)
def produce(b: Builder) -> None:
    kind = b.rng.randrange(6)
    if kind == 0 and b.opset >= 11:
        limits = [b.constant(np.asarray(limit, np.int64)) for limit in (0, b.rng.randint(0, 6), b.rng.choice((1, 2)))]
        b.add("Range", limits)
    elif kind == 1 and b.opset >= 9:
        b.add("EyeLike", [need(b.pick(lambda value: value.rank == 2))], constant=False)
    elif kind == 2 and b.opset >= 9:
        at = b.constant(np.array([0, 2, -1], np.int64))
        b.add("OneHot", [at, b.constant(np.asarray(3, np.int64)), b.random_constant(np.float32, (2,))])
    elif kind == 3 and b.opset >= 9:
        b.add("NonZero", [need(b.pick(lambda value: value.dtype in (np.float32, np.int64, np.bool_)))])
    elif kind == 4 and b.opset >= 11:
        x = need(b.pick(lambda value: value.dtype in (np.float32, np.int64) and finite(value)))
        b.add("Unique", [x], b.rng.randint(1, 4))
    elif b.opset >= 14:
        x = need(b.pick(lambda value: value.rank >= 2 and value.dtype in (np.float32, np.int64)))
        b.add("Trilu", [x], upper=b.rng.randint(0, 1))


def finite(value: Value) -> bool:
    return bool(np.all(np.isfinite(value.array)))


@maker(3)
def order(b: Builder) -> None:
    x = need(b.pick(lambda value: value.rank > 0 and value.array.size > 0 and value.dtype in (np.float32, np.int64)))
    axis = b.rng.randrange(x.rank)
    if b.rng.random() < 0.5 or b.opset < 10:
        b.add(b.rng.choice(("ArgMax", "ArgMin")), [x], axis=axis, keepdims=b.rng.randint(0, 1))
    else:
        b.add("TopK", [x, ints(b, b.rng.randint(0, x.shape[axis]))], 2, axis=axis, constant=x.constant)


@maker(6)
def reduce(b: Builder) -> None:
    extreme = b.rng.random() < 0.3
    op = b.rng.choice(REDUCE_EXTREME if extreme else REDUCE)
    x = need(b.pick(lambda value: value.dtype.kind in "fi" and (extreme or not value.constant or not value.is_float)))
    axes = sorted({b.rng.randrange(x.rank) for _ in range(2)}) if x.rank else []
    if not extreme and not x.is_float:
        # Runtimes wrap around or saturate; only those that do neither are alike.
        if op not in ("ReduceSum", "ReduceMean", "ReduceProd"):
            raise Refused(op)
    since = 13 if op == "ReduceSum" else 18
    keep = b.rng.randint(0, 1)
    if b.opset < since:
        b.add(op, [x], keepdims=keep, **({"axes": axes} if axes else {}))
    else:
        b.add(op, [x, ints(b, *axes) if axes else None], keepdims=keep, constant=x.constant)


@maker(2)
def cumulate(b: Builder) -> None:
    x = need(b.pick(lambda value: value.rank > 0 and value.dtype in (np.float32, np.int64) and not value.constant))
    if b.opset >= 11:
        b.add("CumSum", [x, b.constant(np.asarray(b.rng.randrange(x.rank), np.int64))], reverse=b.rng.randint(0, 1))


@maker(3)
def select(b: Builder) -> None:
    x = need(b.pick(lambda value: value.rank > 0 and value.array.size > 0))
    if b.rng.random() < 0.5 and b.opset >= 9:
        flags = b.constant(np.array([b.rng.random() < 0.5 for _ in range(x.shape[0])]))
        b.add("Compress", [x, flags], axis=0, constant=x.constant)
    elif b.opset >= 10 and x.rank >= 2:
        lens = b.constant(np.array([b.rng.randint(0, x.shape[0]) for _ in range(x.shape[1])], np.int64))
        b.add("ReverseSequence", [x, lens], constant=x.constant)


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
def quantized(b: Builder) -> None:
    if b.opset < 10:
        return
    source = b.add_input(values.tensor(b.rng, np.float32, (1, 2, 3, 3), special=False))
    scale, zero = b.constant(np.float32(0.1)), b.constant(np.uint8(128))
    kind = b.rng.randrange(4)
    if kind == 0 and b.opset >= 11:
        b.add("DynamicQuantizeLinear", [source], 3)
        return
    [q] = b.add("QuantizeLinear", [source, scale, zero])
    [x] = b.add("DequantizeLinear", [q, scale, zero])
    if kind == 1:
        flat = b.constant(np.arange(4, dtype=np.uint8).reshape(2, 2))
        b.add("MatMulInteger", [b.constant(np.arange(4, dtype=np.uint8).reshape(2, 2)), flat])
        return
    weights = b.constant(np.random.default_rng(b.rng.getrandbits(32)).integers(-9, 9, (2, 2, 1, 1)).astype(np.int8))
    [w] = b.add("DequantizeLinear", [weights, scale], constant=False)
    [y] = b.add("Conv", [x, w])
    b.add("QuantizeLinear", [y, scale, zero])


@maker(2)
def pool(b: Builder) -> None:
    source = b.add_input(values.tensor(b.rng, np.float32, (1, 2, 4, 4), special=b.special))
    op = b.rng.choice(("MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "LRN", "InstanceNormalization", "LpPool"))
    if op in ("MaxPool", "AveragePool", "LpPool"):
        b.add(op, [source], kernel_shape=[2, 2], strides=[b.rng.randint(1, 2)] * 2)
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
def sequence(b: Builder) -> None:
    x = need(b.pick(lambda value: value.rank > 0))
    if b.opset >= 11:
        from random_graphs.regions import sequence_of

        sequence_of(b, x)


@maker(1)
def recurrent(b: Builder) -> None:
    op, n_gates = b.rng.choice((("RNN", 1), ("GRU", 3), ("LSTM", 4)))
    source = b.add_input(values.tensor(b.rng, np.float32, (2, 1, 3), special=False))
    w = b.random_constant(np.float32, (1, 2 * n_gates, 3))
    r = b.random_constant(np.float32, (1, 2 * n_gates, 2))
    b.add(op, [source, w, r], 2, hidden_size=2)


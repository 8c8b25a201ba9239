"""Operators that compute element by element, and along axes."""

from __future__ import annotations

import numpy as np

from random_graphs import values
from random_graphs.build import Builder, Refused, number
from random_graphs.makers import broadcasts, ints, maker, need, partner

EXACT_UNARY = ["Abs", "Neg", "Sign", "Floor", "Ceil", "Round", "Sqrt", "Relu", "IsNaN", "IsInf", "Identity", "Not", "BitwiseNot"]
ROUGH_UNARY = [
    "Exp", "Log", "Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Tanh", "Asinh", "Acosh", "Atanh", "Erf",
    "Sigmoid", "Softplus", "Softsign", "HardSigmoid", "HardSwish", "Mish", "Elu", "Celu", "Selu", "LeakyRelu",
    "ThresholdedRelu", "Shrink", "Gelu", "Reciprocal", "Swish",
]  # fmt: skip
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


@maker(14)
def arithmetic(b: Builder) -> None:
    x = need(b.pick(lambda value: value.dtype.kind != "b"))
    y = partner(b, x)
    op = b.rng.choice(BINARY)
    if op == "Div" and not x.is_float:
        y = b.constant(values.full(x.dtype, (), b.rng.choice((1, 2, 3, 7))))
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


@maker(6)
def reduce(b: Builder) -> None:
    extreme = b.rng.random() < 0.3
    op = b.rng.choice(REDUCE_EXTREME if extreme else REDUCE)
    x = need(b.pick(lambda value: value.dtype.kind in "fi" and (extreme or not value.constant or not value.is_float)))
    axes = sorted({b.rng.randrange(x.rank) for _ in range(2)}) if x.rank else []
    # Runtimes wrap around or saturate; only those that do neither are alike.
    if not extreme and not x.is_float and op not in ("ReduceSum", "ReduceMean", "ReduceProd"):
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

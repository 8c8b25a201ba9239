"""What may change in the last digits: scales that are folded into weights, products of constants, and functions of
constants. Each ends in an output, with how far that may be off (rules N1 and N4 of `docs/numbers.md`)."""

from __future__ import annotations

import numpy as np

from random_graphs import values
from random_graphs.build import Builder, Value
from random_graphs.elementwise import REDUCE, ROUGH_UNARY
from random_graphs.makers import maker

ULPS = 64
"""How far a function whose last digit is left to the runtime may be off, in units in the last place."""


def unit(kind: np.dtype) -> float:
    return float(np.finfo(kind).eps) / 2


def final(b: Builder, value: Value, bound: np.ndarray) -> None:
    b.graph.bounds[value.name] = np.broadcast_to(bound, value.shape)


def promise(
    kind: np.dtype, n: int, before: np.ndarray, terms: np.ndarray, s: np.ndarray, rest: np.ndarray, sum_of_x: np.ndarray
) -> np.ndarray:
    """N4, evaluated in double precision; infinite where a partial sum comes too near the limits, `before` the scale or
    after it."""
    info, u = np.finfo(kind), unit(kind)
    n = max(n, 3)
    with np.errstate(all="ignore"):
        bound = 4 * u * (n * terms + rest) + 2 * u * float(info.tiny) * ((n + 1) * (1 + s) + sum_of_x)
        far = (terms + rest < float(info.max) / 256) & (before < float(info.max) / 256)
    return np.where(far, bound, np.inf)


def per_channel(b: Builder, kind: np.dtype, n: int, rank: int) -> np.ndarray:
    """A scale or shift, sometimes near the limits."""
    info = np.finfo(kind)
    size = b.rng.choice((1.0, 1.0, 1.0, 100.0, 1e-3, float(info.max) / 300, float(info.tiny) * 4))
    out = values.tame(b.rng, kind, (n,), -size, size)
    if b.rng.random() < 0.2:
        out[0] = 0
    return out.reshape((n,) + (1,) * (rank - 2))


@maker(10)
def scale_into_weights(b: Builder) -> None:
    kind = np.dtype(b.rng.choice((np.float32, np.float32, np.float64, np.float16)))
    op = b.rng.choice(("Conv", "ConvTranspose", "Gemm", "MatMul", "BatchNormalization"))
    m, n = b.rng.randint(1, 3), b.rng.randint(1, 4)
    if op in ("Gemm", "MatMul"):
        x = values.tensor(b.rng, kind, (2, n), special=b.special)
        w = values.tensor(b.rng, kind, (n, m), special=False)
    elif op == "BatchNormalization":
        n = m
        x = values.tensor(b.rng, kind, (2, m, 2), special=b.special)
        w = values.tame(b.rng, kind, (m,))
    else:
        x = values.tensor(b.rng, kind, (1, n, 2, 2), special=b.special)
        w = values.tensor(b.rng, kind, (m, n, 1, 1) if op == "Conv" else (n, m, 1, 1), special=False)
    bias = values.tensor(b.rng, kind, (m,), special=False)
    source = b.add_input(x)
    rank, wide = x.ndim, np.float64
    weights = w.astype(wide)
    if op == "BatchNormalization":
        mean, variance = values.tame(b.rng, kind, (m,), -1, 1), values.tame(b.rng, kind, (m,))
        inputs = [source, *[b.constant(array) for array in (w, bias, mean, variance)]]
        factor = weights / np.sqrt(variance.astype(wide) + 1e-5)
        own = np.abs(bias.astype(wide)) + np.abs(mean.astype(wide) * factor)
        sums = np.abs(x.astype(wide)) * np.abs(factor).reshape(m, 1)
        own, n = own.reshape(m, 1), 1
    else:
        bias = bias if op != "MatMul" else np.zeros_like(bias)
        inputs = [source, b.constant(w)] if op == "MatMul" else [source, b.constant(w), b.constant(bias)]
        matrix = np.abs(weights.reshape(w.shape[0], w.shape[1]))
        matrix = matrix.T if op == "Conv" else matrix
        rows = np.moveaxis(np.abs(x.astype(wide)), 1, -1)
        with np.errstate(all="ignore"):
            sums = np.moveaxis(rows @ matrix, -1, 1)
        own = np.abs(bias.astype(wide)).reshape((m,) + (1,) * (rank - 2))
    with np.errstate(all="ignore"):
        sum_of_x = np.abs(x.astype(wide)).sum(axis=1, keepdims=True)
    [last] = b.add(op, inputs, final=True)
    scale = np.ones((m,) + (1,) * (rank - 2))
    rest = own
    with np.errstate(all="ignore"):
        widest = sums + own
    n_steps = b.rng.randint(1, 2)
    for step in b.rng.sample(("Mul", "Div", "Add", "Sub", "BatchNormalization"), n_steps):
        c = per_channel(b, kind, m, rank)
        with np.errstate(all="ignore"):
            size = np.abs(c.astype(wide))
            if step == "BatchNormalization":
                beta, mean = values.tame(b.rng, kind, (m,), -1, 1), values.tame(b.rng, kind, (m,), -1, 1)
                [last] = b.add(step, [last, *[b.constant(a) for a in (c.reshape(m), beta, mean, np.ones_like(beta))]], final=True)
                s = size / np.sqrt(1 + 1e-5)
                t = (np.abs(beta) + np.abs(mean * s.reshape(m))).reshape(size.shape)
            else:
                [last] = b.add(step, [last, b.constant(c)], final=True)
                s = {"Mul": size, "Div": 1 / size}.get(step, np.ones_like(size))
                t = size if step in ("Add", "Sub") else np.zeros_like(size)
            scale, rest = scale * s, rest * s + t
            widest = np.fmax(widest, sums * scale + rest)
    # What was folded in two steps was rounded in each.
    with np.errstate(all="ignore"):
        final(b, last, n_steps * promise(kind, n, widest, sums * scale, scale, rest, sum_of_x))


@maker(5)
def products(b: Builder) -> None:
    kind = np.dtype(b.rng.choice((np.float32, np.float64, np.float16)))
    info = np.finfo(kind)
    x = b.add_input(values.tensor(b.rng, kind, values.shape(b.rng), special=True))
    sizes = (2.0, 0.5, 3.0, 1e-3, 1e3, float(info.max) / 4, float(info.tiny) * 4, 1.0)
    last, middle, factor = x, np.zeros(()), np.ones(())
    sums = b.rng.random() < 0.3
    for _ in range(2):
        dims = x.shape[b.rng.randint(0, x.rank) :]
        c = (b.rng.choice(sizes) * values.tame(b.rng, kind, dims, 0.9, 1.1)).astype(kind)
        op = b.rng.choice(("Add", "Sub") if sums else ("Mul", "Div"))
        with np.errstate(all="ignore"):
            factor = 1 / c.astype(np.float64) if op == "Div" else c.astype(np.float64)
            middle = np.abs(last.array.astype(np.float64))
        [last] = b.add(op, [last, b.constant(c)], final=True)
    with np.errstate(all="ignore"):
        result = np.abs(last.array.astype(np.float64))
        # What was lost below the normal numbers in between is there afterwards, and so is what was infinite.
        lost = 2 * unit(kind) * float(info.tiny) * (1 + factor)
        bound = np.where((middle > float(info.max)) & np.isfinite(x.array), np.inf, 4 * unit(kind) * result + lost)
    # Sums stay as they are.
    final(b, last, np.zeros(()) if sums else np.where(np.isnan(bound), 0, bound))


@maker(4)
def folded_function(b: Builder) -> None:
    """A function of constants, which is evaluated in double precision and rounded once."""
    kind = np.dtype(b.rng.choice((np.float32, np.float64)))
    if b.rng.random() < 0.6:
        x = values.tame(b.rng, kind, values.shape(b.rng))
        if x.size and b.rng.random() < 0.5:
            x.reshape(-1)[0] = b.rng.choice((np.nan, np.inf, -np.inf, 0.0, -0.0))
        [last] = b.add(b.rng.choice(ROUGH_UNARY), [b.constant(x)], final=True)
    else:
        x = values.tame(b.rng, kind, (3, 4))
        op = b.rng.choice((*REDUCE, "MatMul"))
        if op == "MatMul":
            [last] = b.add(op, [b.constant(x), b.constant(values.tame(b.rng, kind, (4, 2)))], final=True)
        elif b.opset < 18 and op != "ReduceSum" or b.opset < 13:
            [last] = b.add(op, [b.constant(x)], axes=[1], final=True)
        else:
            [last] = b.add(op, [b.constant(x), b.constant(np.array([1], np.int64))], final=True)
    with np.errstate(all="ignore"):
        result = np.abs(last.array.astype(np.float64))
        bound = ULPS * unit(kind) * np.maximum(result, 1e-2)
    final(b, last, np.where(np.isfinite(bound), bound, 0))


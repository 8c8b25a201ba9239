"""Random tensors, with the numbers among them at which rewrites go wrong."""

from __future__ import annotations

import random

import ml_dtypes
import numpy as np

FLOATS = (np.float32, np.float64, np.float16)
SIGNED = (np.int8, np.int16, np.int32, np.int64)
UNSIGNED = (np.uint8, np.uint16, np.uint32, np.uint64)
INTEGERS = SIGNED + UNSIGNED
STRING = np.dtype(object)
SHORT: dict[np.dtype, int] = {
    np.dtype(getattr(ml_dtypes, name)): since
    for name, since in {
        "bfloat16": 13,
        "float8_e4m3fn": 19,
        "float8_e4m3fnuz": 19,
        "float8_e5m2": 19,
        "float8_e5m2fnuz": 19,
        "float8_e8m0fnu": 24,
        "float4_e2m1fn": 23,
        "int4": 21,
        "uint4": 21,
        "int2": 25,
        "uint2": 25,
    }.items()
}
"""Types that numpy and onnxruntime's Python do not have, with the operator set in which a `Cast` takes them."""
WEIGHTED = [np.float32] * 8 + [np.float64] * 3 + [np.float16] * 3 + [np.int64] * 3 + [np.int32] * 3 + [np.bool_] * 2
ALL = [*WEIGHTED, np.int8, np.uint8, np.int16, np.uint16, np.uint32, np.uint64]
DIMS = (0, 1, 1, 2, 2, 3, 3, 4, 5)
WORDS = ("", "a", "b", "aa", "relay", "Größe", "\N{SNOWMAN}", "0", "1.5", "two words")


def dtype(rng: random.Random) -> np.dtype:
    return np.dtype(rng.choice(ALL))


def shape(rng: random.Random, rank: int | None = None) -> tuple[int, ...]:
    rank = rng.choice((0, 1, 1, 2, 2, 3, 3, 4)) if rank is None else rank
    return tuple(rng.choice(DIMS) for _ in range(rank))


def tensor(rng: random.Random, kind: np.dtype, dims: tuple[int, ...], *, special: bool) -> np.ndarray:
    """Small numbers, and with `special` now and then one at an edge of the type."""
    kind = np.dtype(kind)
    source = np.random.default_rng(rng.getrandbits(64))
    if kind == STRING or kind.kind in "UT":
        return np.asarray(source.choice(np.array(WORDS, object), dims), object).reshape(dims)
    if kind in SHORT:
        return source.integers(0, 2, dims).astype(np.float32).astype(kind)
    if kind.kind == "b":
        return source.integers(0, 2, dims).astype(kind)
    if kind.kind in "iu":
        low = 0 if kind.kind == "u" else -4
        out = source.integers(low, 9, dims).astype(kind)
        edges = [np.iinfo(kind).max, np.iinfo(kind).min, np.iinfo(kind).max - 1]
    else:
        whole = source.integers(-4, 5, dims)
        out = np.where(source.random(dims) < 0.4, whole, source.standard_normal(dims) * 2).astype(kind)
        info = np.finfo(kind)
        edges = [np.nan, np.inf, -np.inf, -0.0, 0.0, info.max, -info.max, info.tiny, info.smallest_subnormal]
    if special and out.size:
        flat = out.reshape(-1)
        for at in np.flatnonzero(source.random(flat.size) < 0.2):
            flat[at] = edges[source.integers(len(edges))]
    return out


def full(kind: np.dtype, dims: tuple[int, ...], filled: int) -> np.ndarray:
    return np.full(dims, str(filled) if kind == STRING else filled, kind)


def tame(rng: random.Random, kind: np.dtype, dims: tuple[int, ...], low: float = 0.5, high: float = 2.0) -> np.ndarray:
    """Positive numbers far from the limits."""
    source = np.random.default_rng(rng.getrandbits(64))
    return (low + (high - low) * source.random(dims)).astype(kind)

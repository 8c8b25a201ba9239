"""Operators that move elements and change shapes."""

from __future__ import annotations

import numpy as np

from random_graphs import values
from random_graphs.build import Builder, Refused
from random_graphs.makers import finite, ints, maker, need


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
        # Of a scalar, onnxruntime infers another shape than it computes.
        kinds = (np.float32, np.int64, np.bool_)
        b.add("NonZero", [need(b.pick(lambda value: value.dtype in kinds and value.rank > 0))])
    elif kind == 4 and b.opset >= 11:
        x = need(b.pick(lambda value: value.dtype in (np.float32, np.int64) and finite(value)))
        b.add("Unique", [x], b.rng.randint(1, 4))
    elif b.opset >= 14:
        x = need(b.pick(lambda value: value.rank >= 2 and value.dtype in (np.float32, np.int64)))
        b.add("Trilu", [x], upper=b.rng.randint(0, 1))


@maker(3)
def order(b: Builder) -> None:
    x = need(b.pick(lambda value: value.rank > 0 and value.array.size > 0 and value.dtype in (np.float32, np.int64)))
    axis = b.rng.randrange(x.rank)
    if b.rng.random() < 0.5 or b.opset < 10:
        b.add(b.rng.choice(("ArgMax", "ArgMin")), [x], axis=axis, keepdims=b.rng.randint(0, 1))
    else:
        b.add("TopK", [x, ints(b, b.rng.randint(0, x.shape[axis]))], 2, axis=axis, constant=x.constant)


@maker(3)
def select(b: Builder) -> None:
    x = need(b.pick(lambda value: value.rank > 0 and value.array.size > 0))
    if b.rng.random() < 0.5 and b.opset >= 9:
        flags = b.constant(np.array([b.rng.random() < 0.5 for _ in range(x.shape[0])]))
        b.add("Compress", [x, flags], axis=0, constant=x.constant)
    elif b.opset >= 10 and x.rank >= 2:
        lens = b.constant(np.array([b.rng.randint(0, x.shape[0]) for _ in range(x.shape[1])], np.int64))
        b.add("ReverseSequence", [x, lens], constant=x.constant)

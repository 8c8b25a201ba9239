"""What makers of nodes share: each maker adds one node, or a few that belong together, or refuses."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from random_graphs import values
from random_graphs.build import Builder, Refused, Value

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


def broadcasts(a: Value, b: Value) -> bool:
    return all(p == q or 1 in (p, q) for p, q in zip(a.shape[::-1], b.shape[::-1], strict=False))


def partner(b: Builder, x: Value) -> Value:
    """Another value of its type that broadcasts, or a constant that does."""
    fits = [value for value in b.values if value.dtype == x.dtype and value is not x and broadcasts(value, x)]
    if fits and b.rng.random() < 0.6:
        return b.rng.choice(fits)
    dims = x.shape[b.rng.randint(0, x.rank) :]
    dims = tuple(1 if b.rng.random() < 0.3 else dim for dim in dims)
    if b.rng.random() < 0.4:
        # What leaves the other operand as it is, or nearly.
        return b.constant(values.full(x.dtype, dims, b.rng.choice((0, 1))))
    return b.random_constant(x.dtype, dims)


def finite(value: Value) -> bool:
    return bool(np.all(np.isfinite(value.array)))


def ints(b: Builder, *numbers: int) -> Value:
    return b.constant(np.array(numbers, np.int64))

"""Operators in the form for training, with the results that only this has."""

from __future__ import annotations

import numpy as np

from random_graphs import values
from random_graphs.build import Builder
from random_graphs.makers import maker, need


@maker(1)
def batch_normalization(b: Builder) -> None:
    x = b.add_input(values.tame(b.rng, np.dtype(np.float32), (2, 2, 3)))
    parameters = [b.constant(values.tame(b.rng, np.dtype(np.float32), (2,))) for _ in range(4)]
    if b.opset >= 14:
        b.add("BatchNormalization", [x, *parameters], 3, training_mode=1, scaled=True, constant=False)
    else:
        b.add("BatchNormalization", [x, *parameters], 5, scaled=True, constant=False)


@maker(2)
def dropout(b: Builder) -> None:
    """At a ratio of zero, at which training drops nothing."""
    x = need(b.pick(lambda value: value.is_float and not value.constant))
    if b.opset >= 12:
        training = np.asarray(b.rng.random() < 0.7)
        mode = b.constant(training) if b.rng.random() < 0.7 else b.add_input(training)
        b.add("Dropout", [x, b.constant(np.float32(0)), mode], b.rng.randint(1, 2), scaled=x.scaled, constant=False, seed=1)

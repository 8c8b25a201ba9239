"""Comparison of values."""

from __future__ import annotations

import unittest
from typing import Any

import ml_dtypes
import numpy as np

from judge.values import difference

NAN = np.float32("nan")


def differs(old: Any, new: Any, dtype: Any, *, exact: bool = True) -> bool:
    return bool(difference(np.array(old, dtype), np.array(new, dtype), exact=exact))


class ValuesTest(unittest.TestCase):
    def test_floats_have_a_tolerance(self) -> None:
        self.assertFalse(differs([1.0, NAN, np.inf], [1.00005, NAN, np.inf], np.float32))
        self.assertTrue(differs([1.0], [1.001], np.float32))
        self.assertTrue(differs([1.0], [NAN], np.float32))
        self.assertTrue(differs([np.inf], [-np.inf], np.float32))

    def test_double_precision_is_tighter(self) -> None:
        self.assertTrue(differs([1.0], [1.00005], np.float64))
        self.assertFalse(differs([1.0], [1.0 + 1e-12], np.float64))

    def test_short_floats_may_differ_by_one_step(self) -> None:
        for dtype in (np.float16, ml_dtypes.bfloat16):
            step = float(ml_dtypes.finfo(dtype).eps)
            self.assertFalse(differs([1.0], [1.0 + step], dtype))
            self.assertTrue(differs([1.0], [1.0 + 3 * step], dtype))

    def test_the_rest_is_exact(self) -> None:
        for dtype, old, new in (
            (np.int64, 2**53, 2**53 + 1),
            (bool, True, False),
            (object, "a", "b"),
            (ml_dtypes.int4, 1, 2),
        ):
            self.assertTrue(differs([old], [new], dtype))
            self.assertFalse(differs([old], [old], dtype))

    def test_types_and_shapes_always_count(self) -> None:
        for exact in (True, False):
            self.assertTrue(difference(np.ones(3, np.float32), np.ones(3, np.float64), exact=exact))
            self.assertTrue(difference(np.ones(3, np.float32), np.ones((1, 3), np.float32), exact=exact))
        self.assertFalse(differs([1.0], [2.0], np.float32, exact=False))

    def test_structures(self) -> None:
        one, two = np.ones(2, np.float32), np.zeros(2, np.float32)
        self.assertFalse(difference([one, two], [one, two], exact=True))
        for old, new in (
            ([one], [one, two]),
            ([one], [two]),
            (None, one),
            (one, None),
            ({"a": one}, {"b": one}),
            ({"a": one}, {"a": two}),
        ):
            self.assertTrue(difference(old, new, exact=True))
        self.assertFalse(difference(None, None, exact=True))


if __name__ == "__main__":
    unittest.main()

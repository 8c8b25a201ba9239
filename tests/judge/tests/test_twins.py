"""Twins notice what the light models would not."""

from __future__ import annotations

import math
import unittest

import numpy as np

from judge import graphs, twins
from judge.tests.support import JudgeTest, options

QUICK = "squeezenet"


class TwinsTest(JudgeTest):
    def check(self, mode: str) -> list[object]:
        return [
            "twins",
            "check",
            *options(relais=self.fake(mode), models=self.models, twins=self.folder / "twins", name=QUICK),
        ]

    def test_passes_what_is_right(self) -> None:
        self.assert_passes("twins", "make", *options(models=self.models, twins=self.folder / "twins", name=QUICK))
        self.assert_passes(*self.check("copy"))

    def test_catches_what_is_wrong(self) -> None:
        for mode, expected in {
            "drop_relu": "wrong: outputs differ by",
            "nudge_weight": "wrong: outputs differ by",
            "rename_output": "outputs were",
            "exit_3": "exit status 3",
            "garbage": "DecodeError",
        }.items():
            with self.subTest(mode):
                self.assert_fails(expected, *self.check(mode))

    def test_limits_the_nodes(self) -> None:
        twins.MAX_OPERATORS[QUICK] = 3
        self.addCleanup(twins.MAX_OPERATORS.pop, QUICK)
        self.assert_fails("66 operators, at most 3 wanted", *self.check("copy"))

    def test_a_dull_twin_is_refused(self) -> None:
        kept = twins.MIN_SENSITIVITY
        twins.MIN_SENSITIVITY = math.inf
        try:
            self.assert_fails(
                "can be taken out",
                "twins",
                "make",
                *options(models=self.models, twins=self.folder / "twins", name=QUICK),
            )
        finally:
            twins.MIN_SENSITIVITY = kept

    def test_no_weight_is_made_by_a_node(self) -> None:
        light = graphs.load(self.models / "light" / "shufflenet" / "model.onnx")
        twin = twins.twin_of(light)
        operators = [node.op_type for node in light.graph.node if node.op_type != "ConstantOfShape"]
        self.assertEqual([node.op_type for node in twin.graph.node], operators)
        self.assertEqual([value.name for value in graphs.inputs(twin)], [value.name for value in graphs.inputs(light)])
        self.assertEqual(twin.SerializeToString(), twins.twin_of(light).SerializeToString())

    def test_distance(self) -> None:
        one = np.ones(3, dtype=np.float32)
        self.assertEqual(twins.distance(one, one), 0)
        self.assertGreater(twins.distance(one, one + np.float32(2e-4)), 1)
        self.assertEqual(twins.distance(one, np.full(3, np.nan, np.float32)), math.inf)
        self.assertEqual(twins.distance(one, np.ones((3, 1), np.float32)), math.inf)

    def test_an_unknown_name_fails(self) -> None:
        self.assert_fails(
            "no light model", "twins", "make", *options(models=self.models, twins=self.folder / "twins", name="nobody")
        )


if __name__ == "__main__":
    unittest.main()

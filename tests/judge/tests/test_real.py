"""Inputs of real models."""

from __future__ import annotations

import unittest

from onnx import TensorProto
from onnx.helper import make_tensor_value_info

from judge.real import Real, made, set_lengths


class InputsTest(unittest.TestCase):
    def test_dimensions_of_one_name_have_one_length(self) -> None:
        declared = [
            make_tensor_value_info("lengths", TensorProto.INT64, ["batch", "other"]),
            make_tensor_value_info("waves", TensorProto.FLOAT, ["batch", "n", None]),
        ]
        real = Real("speech", "package", "1.0", "model.onnx", {"waves": (2, 7, 5), "lengths": 7})
        set_lengths(declared, real)
        lengths, waves = (made(value, real) for value in declared)
        self.assertEqual(waves.shape, (2, 7, 5))
        # A length that is not wanted stays open, and so does one without a name.
        self.assertEqual(lengths.tolist(), [[7, 7, 7], [7, 7, 7]])


if __name__ == "__main__":
    unittest.main()

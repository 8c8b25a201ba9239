"""Each planted fault is noticed, and a result without one is not."""

from __future__ import annotations

import os
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import numpy as np
import onnx

from random_graphs import combine
from random_graphs.judges import JUDGES, verdicts
from random_graphs.options import Command

FAKE = Path(__file__).with_name("fake.py")
MODEL = """<ir_version: 8, opset_import: ["" : 17]>
main (float[2] x) => (float[2] y, float[2] z) { y = Relu(x)  z = Neg(x) }"""
BY_FAULT = {
    "none": set(),
    "killed": {"status -11"},
    "refused": {"refused"},
    "internal": {"refused"},
    "untyped": {"checker refuses", "full checker refuses", "onnxruntime refuses", "onnxruntime optimizing refuses"},
    "wrong": {"wrong in onnxruntime", "wrong in reference evaluator"},
    "lost": {"wrong in onnxruntime", "wrong in reference evaluator"},
}
"""The kinds of problems that are found."""


class Faults(unittest.TestCase):
    def test_each_fault_is_noticed(self) -> None:
        for fault, kinds in BY_FAULT.items():
            with self.subTest(fault), tempfile.TemporaryDirectory() as folder:
                self.assertEqual({kind.split(":")[0] for kind, _ in problems(fault, Path(folder))}, kinds)


def problems(fault: str, folder: Path) -> list[tuple[str, str]]:
    model = onnx.parser.parse_model(MODEL)
    onnx.save(model, folder / "in.onnx")
    program = folder / "program"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{FAKE}" "$@"\n')
    program.chmod(0o755)
    feeds = {"x": np.array([1, -2], np.float32)}
    case = combine.Case(folder, model, feeds, dict(feeds), {}, {}, 17, 17)
    judges = [name for name in JUDGES if name != "OpenVINO"]
    case.said = verdicts(folder / "in.onnx", feeds, judges, lambda name: None)
    with mock.patch.dict(os.environ, {"FAULT": fault}):
        return combine.tried(program, case, Command(), folder, combine.Outcome(), lambda name: None)


if __name__ == "__main__":
    unittest.main()

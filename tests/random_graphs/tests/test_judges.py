"""A judge that ends its process refuses the model, and is excused where it is known to."""

from __future__ import annotations

import os
import signal
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import onnx

from random_graphs import judges

BRANCH = "then_branch = t{0} () => (float[2] y{0}) {{ {1} }}, else_branch = e{0} () => (float[2] n{0}) {{ n{0} = Neg(x) }}"
LOOP = "y0 = Loop (n, c, x) <body = b (int64 i, bool a, float[2] s) => (bool d, float[2] r) {d = Identity(a) r = Neg(s)}>"


def model(n_branches: int) -> onnx.ModelProto:
    """A loop in this many branches, each in the one before it."""
    nodes = LOOP
    for at in range(n_branches):
        nodes = f"y{at + 1} = If (c) <{BRANCH.format(at, nodes)}>"
    head = '<ir_version: 8, opset_import: ["" : 17]> main (int64 n, bool c, float[2] x)'
    return onnx.parser.parse_model(f"{head} => (float[2] y{n_branches}) {{ {nodes} }}")


class Ended(unittest.TestCase):
    def test_a_judge_that_ends_is_excused_for_loops_in_two_branches(self) -> None:
        for n_branches, excused in ((1, False), (2, True)):
            with self.subTest(n_branches), tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "model.onnx"
                onnx.save(model(n_branches), path)
                with mock.patch.object(judges, "run_optimizing", lambda *_: os.kill(os.getpid(), signal.SIGSEGV)):
                    said = judges.verdicts(path, {}, ["onnxruntime optimizing"], lambda _: None)["onnxruntime optimizing"]
                self.assertRegex(str(said), "ended with status -11")
                self.assertEqual(judges.is_excused(said, judges.OWN_FAULTS), excused)

    def test_what_a_judge_says_arrives(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.onnx"
            path.write_bytes(b"?")
            with self.assertRaisesRegex(RuntimeError, "INVALID_PROTOBUF"):
                judges.optimizing(path, {})


if __name__ == "__main__":
    unittest.main()

"""What the tests share: a folder of a few models, the fake binary, the judge called as a command."""

from __future__ import annotations

import contextlib
import io
import shlex
import sys
import tempfile
import unittest
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from onnx import ModelProto

from judge import collect
from judge.__main__ import main
from judge.made.registry import constant, graph, made, model, node, tensor

FAKE = Path(__file__).with_name("fake.py")


def small_model() -> ModelProto:
    """Two outputs, a weight, a symbolic dimension, a documentation."""
    nodes = [
        node("Add", ["x", "w"], ["a"]),
        node("Abs", ["x"], ["b"]),
        node("Relu", ["a"], ["y"]),
        node("Sub", ["y", "b"], ["z"]),
    ]
    ends = [tensor(name, shape=("n", 3)) for name in ("y", "z")]
    result = model(graph(nodes, [tensor("x", shape=("n", 3))], ends, [constant("w", [0.5, -0.5, 0.25])]))
    result.graph.doc_string = "documentation"
    return result


class JudgeTest(unittest.TestCase):
    """Gives each test class a folder with `made/small` and the light models."""

    folder: Path
    models: Path

    @classmethod
    def setUpClass(cls) -> None:
        temporary = tempfile.TemporaryDirectory(prefix="judge-test-")
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = Path(temporary.name)
        cls.models = cls.folder / "models"
        x = np.array([[1.0, -2.0, 3.0], [-4.0, 5.0, -6.0]], dtype=np.float32)
        made("small", small_model(), x).write(cls.models / "made" / "small")
        collect.light(cls.models / "light")

    def fake(self, mode: str) -> Path:
        """An executable that behaves as `mode` says."""
        path = self.folder / f"fake-{mode}"
        path.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {shlex.quote(str(FAKE))} {mode} "$@"\n')
        path.chmod(0o755)
        return path

    def judged(self, *arguments: object) -> tuple[int, str]:
        """Exit status and output of a command."""
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            status = main([str(argument) for argument in arguments])
        return status, output.getvalue()

    def assert_passes(self, *arguments: object) -> str:
        status, output = self.judged(*arguments)
        self.assertEqual(status, 0, output)
        self.assertRegex(output.splitlines()[-1], r"^[1-9]\d* passed, 0 failed$")
        return output

    def assert_fails(self, expected: str, *arguments: object) -> str:
        """The command fails, for the expected reason."""
        status, output = self.judged(*arguments)
        self.assertEqual(status, 1, output)
        failures = [line for line in output.splitlines() if line.startswith("FAIL ")]
        self.assertTrue(failures, output)
        self.assertRegex("\n".join(failures), expected)
        self.assertRegex(output.splitlines()[-1], r"^\d+ passed, [1-9]\d* failed$")
        return output


def options(**named: object) -> Sequence[object]:
    """`--name value` for each."""
    return [each for name, value in named.items() for each in (f"--{name.replace('_', '-')}", value)]

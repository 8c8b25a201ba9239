"""What a peer gets wrong is told, and never counts as a win."""

from __future__ import annotations

import os
import unittest
from collections.abc import Callable
from unittest import mock

import onnx

from judge import peers
from judge.peers import Peer
from judge.tests import fake
from judge.tests.support import JudgeTest, options

INSTALLED = "onnxruntime"
"""A peer that is there wherever the judge runs: its place is taken by one that the test makes."""


def edited(edit: Callable[[onnx.ModelProto], None], model: str, out: str) -> None:
    parsed = onnx.load(model)
    edit(parsed)
    onnx.save(parsed, out)


def copy(model: str, out: str) -> None:
    edited(fake.copy, model, out)


def drop_relu(model: str, out: str) -> None:
    edited(fake.drop_relu, model, out)


def undefined_name(model: str, out: str) -> None:
    edited(fake.undefined_name, model, out)


def rename_output(model: str, out: str) -> None:
    edited(fake.rename_output, model, out)


def fix_input(model: str, out: str) -> None:
    edited(fake.fix_dimension, model, out)


def fix_output(model: str, out: str) -> None:
    edited(lambda parsed: set_length(parsed.graph.output[0], 2), model, out)


def open_input(model: str, out: str) -> None:
    edited(lambda parsed: parsed.graph.input[0].type.tensor_type.shape.dim[1].Clear(), model, out)


def set_length(value: onnx.ValueInfoProto, length: int) -> None:
    value.type.tensor_type.shape.dim[0].dim_value = length


def garbage(model: str, out: str) -> None:
    with open(out, "wb") as file:
        file.write(b"\xff" * 100)


def nothing(model: str, out: str) -> None:
    pass


def refuse(model: str, out: str) -> None:
    raise ValueError("no such operator")


def die(model: str, out: str) -> None:
    os._exit(3)


UNUSABLE = {
    drop_relu: "wrong: 4",
    undefined_name: "invalid: 4",
    rename_output: "interface changed: 4",
    fix_input: "interface changed: 4",
}
FAILING = {
    garbage: "cannot judge: DecodeError",
    nothing: "no output file",
    refuse: "ValueError: no such operator",
    die: "the process ended with status 3",
}


class PeersTest(JudgeTest):
    def peers(self, peer: Callable[[str, str], None], relais: str = "copy") -> list[object]:
        patch = mock.patch.dict(peers.PEERS, {INSTALLED: Peer(peer, "json")}, clear=True)
        patch.start()
        self.addCleanup(patch.stop)
        return ["peers", *options(relais=self.fake(relais), models=self.models, kind="made", name="small", rounds=1)]

    def test_counts_what_can_be_used(self) -> None:
        for peer in (copy, fix_output, open_input):
            with self.subTest(peer.__name__):
                output = self.assert_passes(*self.peers(peer))
                self.assertRegex(output, r"made/small +4 +4 +4\n")
                self.assertRegex(output, r"geometric mean +\d+\.\d x over 1\n")
                self.assertRegex(output, rf"relais +0 +4 over 1 +1 +0\n{INSTALLED} +0 +4 over 1 +1 +0\n")

    def test_marks_what_cannot_be_used(self) -> None:
        for peer, expected in UNUSABLE.items():
            with self.subTest(peer.__name__):
                output = self.assert_passes(*self.peers(peer))
                self.assertRegex(output, rf"made/small +4 +4 +{expected}\n")
                self.assertRegex(output, r"geometric mean +-\n")
                self.assertRegex(output, rf"relais +0 +0 over 0 +1 +1\n{INSTALLED} +1 +0 over 0 +0 +0\n")

    def test_names_failures(self) -> None:
        for peer, expected in FAILING.items():
            with self.subTest(peer.__name__):
                output = self.assert_passes(*self.peers(peer))
                self.assertRegex(output, f"{INSTALLED} on made/small: failures: {expected}")
                self.assertRegex(output, r"made/small +4 +4 +fails\n")
                self.assertRegex(output, r"geometric mean +-\n")

    def test_prints_a_page(self) -> None:
        for peer, cell in ((copy, r"4, \d+\.\d x"), (drop_relu, "wrong"), (refuse, "fails")):
            with self.subTest(peer.__name__):
                output = self.assert_passes(*self.peers(peer), "--page")
                self.assertIn("\n| model | operators before | Relais | onnxruntime basic |\n|---|---|---|---|\n", output)
                self.assertRegex(output, rf"\| small \| 4 \| 4, \d+ ms \| {cell} \|\n")

    def test_a_fault_of_relais_is_a_failure(self) -> None:
        self.assert_fails("made/small: wrong: output `y`", *self.peers(copy, relais="drop_relu"))
        self.assert_fails("made/small: failures: exit status 3", *self.peers(copy, relais="exit_3"))


if __name__ == "__main__":
    unittest.main()

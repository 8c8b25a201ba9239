"""The soundness check catches what it must."""

from __future__ import annotations

import unittest

import onnx

from judge import sound
from judge.cases import Case
from judge.made.registry import FLOAT, constant, graph, made, model, node, tensor
from judge.relais import Relais
from judge.tests.support import JudgeTest, options

CAUGHT = {
    "drop_relu": "wrong: output `y` at ",
    "nudge_weight": "wrong: output `y` at ",
    "rename_output": "interface changed: outputs were",
    "rename_input": "interface changed: inputs were",
    "swap_outputs": "interface changed: outputs were",
    "fix_dimension": "interface changed: input `x` changed its type",
    "bump_opset": "interface changed: operator set `` was 21, is 22",
    "undefined_name": "invalid: ",
    "unsupported_type": "invalid: ",
    "no_kernel": "invalid: onnxruntime loads the original, not the result: ",
    "write_nothing": "failures: exit status 0 but no output file",
    "garbage": "failures: cannot judge: DecodeError",
    "exit_3": "failures: exit status 3: no such pass",
    "exit_3_with_file": "failures: exit status 3: ; a failed run left an output file",
    "segfault": "failures: killed by SIGSEGV",
    "touch_input": "failures: the input file was changed",
}


class SoundTest(JudgeTest):
    def sound(self, mode: str) -> list[object]:
        return ["sound", *options(relais=self.fake(mode), models=self.models, kind="made", name="small", jobs=1)]

    def test_passes_what_is_right(self) -> None:
        self.assertIn("1 same results", self.assert_passes(*self.sound("copy")))
        self.assertIn("1 identical", self.assert_passes(*self.sound("verbatim")))

    def test_catches_what_is_wrong(self) -> None:
        for mode, expected in CAUGHT.items():
            with self.subTest(mode):
                self.assert_fails(f"^FAIL made/small: {expected}", *self.sound(mode))

    def test_catches_a_binary_that_hangs(self) -> None:
        relais = Relais(self.fake("hang"), timeout=0.5)
        verdict = sound.judge(relais, Case("made", "small", self.models / "made" / "small"), lambda stage: None)
        self.assertIs(verdict.outcome, sound.Outcome.FAILURE)
        self.assertIn("still running", verdict.detail)

    def test_catches_a_missing_binary(self) -> None:
        self.assert_fails(
            "cannot start", "sound", *options(relais=self.folder / "none", models=self.models, kind="made")
        )

    def test_no_case_is_a_failure(self) -> None:
        status, output = self.judged("sound", *options(relais=self.fake("copy"), models=self.models, kind="none"))
        self.assertEqual(status, 1)
        self.assertIn("0 passed, 0 failed", output)

    def test_random_outputs_are_compared_by_shape(self) -> None:
        random = model(
            graph(
                [node("RandomNormalLike", ["x"], ["r"]), node("Add", ["r", "x"], ["y"])], [tensor("x")], [tensor("y")]
            )
        )
        self.assertFalse(sound.is_determined(random))
        made("random", random).write(self.models / "random" / "random")
        self.assert_passes("sound", *options(relais=self.fake("copy"), models=self.models, kind="random", jobs=1))

    def test_a_changed_default_is_caught(self) -> None:
        top = graph(
            [node("Relu", ["w"], ["r"]), node("Add", ["x", "r"], ["y"])],
            [tensor("x"), tensor("w", FLOAT, (3,))],
            [tensor("y")],
            [constant("w", [1, 2, 3])],
        )
        made("default", model(top)).write(self.models / "default" / "default")
        self.assert_fails(
            "`w`: its default came, went or changed",
            "sound",
            *options(relais=self.fake("nudge_weight"), models=self.models, kind="default"),
        )

    def test_what_does_not_load_is_caught_where_nothing_is_run(self) -> None:
        # The judge makes no sequences up.
        sequence = onnx.helper.make_tensor_sequence_value_info("x", FLOAT, None)
        length = tensor("y", onnx.TensorProto.INT64, ())
        lengths = model(graph([node("SequenceLength", ["x"], ["y"])], [sequence], [length]))
        made("lengths", lengths).write(self.models / "lengths" / "lengths")
        fixed = ["sound", *options(models=self.models, kind="lengths"), "--relais"]
        self.assertIn("1 not judged", self.assert_passes(*fixed, self.fake("grow_graph")))
        self.assert_fails("invalid: onnxruntime loads the original, not the result", *fixed, self.fake("no_kernel"))
        self.assert_fails("invalid: Nodes in a graph must be topologically", *fixed, self.fake("undefined_name"))

    def test_what_nothing_runs_is_told_apart(self) -> None:
        top = graph([node("Strange", ["x"], ["y"], domain="org.example")], [tensor("x")], [tensor("y")])
        made("strange", model(top)).write(self.models / "strange" / "strange")
        same = self.assert_passes("sound", *options(relais=self.fake("copy"), models=self.models, kind="strange"))
        self.assertIn("1 identical, 0 not judged", same)
        output = self.assert_passes(
            "sound", *options(relais=self.fake("grow_graph"), models=self.models, kind="strange")
        )
        self.assertIn("0 identical, 1 not judged", output)


if __name__ == "__main__":
    unittest.main()

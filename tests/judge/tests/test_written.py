"""The judge of written models catches what does not load."""

from __future__ import annotations

import unittest
from collections.abc import Callable

import numpy as np
import onnx
from onnx import ModelProto, numpy_helper

from judge.made.registry import graph, model, node, tensor
from judge.tests.fake import no_kernel, undefined_name, unsupported_type
from judge.tests.support import JudgeTest, small_model


def unknown() -> ModelProto:
    result = model(graph([node("Relu", ["x"], ["y"])], [tensor("x")], [tensor("y")]))
    no_kernel(result)
    return result


def no_import(of: ModelProto) -> None:
    del of.opset_import[:]


def no_name(of: ModelProto) -> None:
    of.graph.name = ""


def wrong_output_type(of: ModelProto) -> None:
    """A result is not of the type that the graph says, which only the full check and onnxruntime see."""
    of.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.INT64


def ends_the_process() -> ModelProto:
    """A `OneHot` of constants with an empty depth, of which onnxruntime takes the first number."""
    constants = {
        "indices": np.array([0, 1], np.int64),
        "depth": np.array([], np.int64),
        "values": np.array([0, 1], np.float32),
    }
    initializers = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    nodes = [node("OneHot", list(constants), ["hot"]), node("ReduceMax", ["hot"], ["top"], keepdims=0)]
    nodes.append(node("Add", ["x", "top"], ["y"]))
    return model(graph(nodes, [tensor("x")], [tensor("y")], initializers))


class WrittenTest(JudgeTest):
    def written(self, **models: ModelProto) -> list[object]:
        folder = self.folder / self.id()
        folder.mkdir(exist_ok=True)
        for name, written in models.items():
            onnx.save(written, folder / f"{name.replace('_', '-')}.onnx")
        return ["written", folder]

    def changed(self, change: Callable[[ModelProto], None]) -> ModelProto:
        result = small_model()
        change(result)
        return result

    def test_passes_what_loads(self) -> None:
        output = self.assert_passes(*self.written(small=small_model(), unknown=unknown()))
        self.assertIn("2 pass the full check, onnxruntime loads 1", output)

    def test_catches_what_does_not_load(self) -> None:
        for change, expected in {
            no_import: "the checker: model with IR version >= 3 must specify opset_import",
            no_name: "the checker: Field 'name' of 'graph' is required",
            undefined_name: "the checker: Nodes in a graph must be topologically sorted",
            unsupported_type: "onnxruntime: ",
            wrong_output_type: "onnxruntime: ",
        }.items():
            with self.subTest(change.__name__):
                self.assert_fails(f"^FAIL small: {expected}", *self.written(small=self.changed(change)))

    def test_catches_what_no_longer_loads(self) -> None:
        models = {"small_before": small_model(), "small_after": self.changed(no_kernel)}
        self.assert_fails("^FAIL small-after: .*onnxruntime loaded it before", *self.written(**models))

    def test_catches_what_no_longer_passes_the_full_check(self) -> None:
        untyped = self.changed(no_kernel)
        wrong = self.changed(lambda of: (no_kernel(of), wrong_output_type(of)))
        self.assert_fails("accepted it before", *self.written(small_before=untyped, small_after=wrong))

    def test_random_modules_may_mean_nothing_if_they_are_few(self) -> None:
        senseless = self.changed(unsupported_type)
        few = {f"small_{at}": small_model() for at in range(4)}
        self.assertIn("1 mean nothing", self.assert_passes(*self.written(senseless=senseless, **few), "--random"))
        self.assert_fails("most mean nothing", *self.written(small_0=senseless), "--random")
        self.assert_fails("small-1: the checker", *self.written(small_1=self.changed(no_name)), "--random")

    def test_a_model_that_ends_the_process_fails_alone(self) -> None:
        models = {"small_0": small_model(), "small_1": ends_the_process(), "small_2": small_model()}
        self.assert_fails("^FAIL small-1: onnxruntime: the process ended", *self.written(**models))
        few = {f"small_{at}": small_model() for at in range(3, 7)}
        self.assertIn("1 mean nothing", self.assert_passes(*self.written(**models, **few), "--random"))

    def test_models_that_were_read_may_be_wrong_before(self) -> None:
        wrong = self.changed(unsupported_type)
        self.assert_passes(*self.written(small_before=wrong, small_after=wrong), "--read")
        self.assert_fails(
            "^FAIL small-after: .*; onnxruntime loaded it before", *self.written(small_before=small_model()), "--read"
        )

    def test_no_model_is_a_failure(self) -> None:
        status, output = self.judged(*self.written())
        self.assertEqual(status, 1)
        self.assertIn("0 passed, 0 failed", output)


if __name__ == "__main__":
    unittest.main()

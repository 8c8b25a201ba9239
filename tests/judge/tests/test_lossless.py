"""Losslessness is judged by bytes, by parsed model, and by the content of external data."""

from __future__ import annotations

import unittest

import onnx

from judge import graphs, wire
from judge.made.encodings import plain
from judge.made.external import external_whole_file
from judge.made.registry import Made
from judge.tests.support import JudgeTest, options, small_model


class LosslessTest(JudgeTest):
    def lossless(self, mode: str, kind: str = "made", *more: str) -> list[object]:
        return ["lossless", *options(relais=self.fake(mode), models=self.models, kind=kind), *more]

    def test_passes_what_is_right(self) -> None:
        self.assert_passes(*self.lossless("verbatim"))
        self.assert_passes(*self.lossless("verbatim", "made", "--max-anonymous-mb", "4000"))
        self.assert_passes(*self.lossless("reserialise", "made", "--parsed"))

    def test_catches_what_is_wrong(self) -> None:
        for mode, expected in {
            "copy": "producer_name: 'judge' != 'fake'",
            "drop_doc_string": "graph.doc_string: 'documentation' != absent",
            "swap_nodes": r"graph.node\[0\].input\[1\]: 'w'|graph.node\[0\]",
            "nudge_weight": r"graph.initializer\[0\]",
            "write_nothing": "no output file",
            "exit_3": "exit status 3",
            "segfault": "killed by SIGSEGV",
        }.items():
            with self.subTest(mode):
                self.assert_fails(expected, *self.lossless(mode))
        self.assert_fails("graph.doc_string", *self.lossless("drop_doc_string", "made", "--parsed"))
        self.assert_fails("graph.node", *self.lossless("swap_nodes", "made", "--parsed"))

    def test_limits_memory(self) -> None:
        self.assert_fails("peak anonymous memory", *self.lossless("verbatim", "made", "--max-anonymous-mb", "1"))

    def test_through_text_runs_twice(self) -> None:
        self.assert_passes(*self.lossless("verbatim", "made", "--through-text"))

    def test_encodings_count(self) -> None:
        data = wire.rewritten(plain().SerializeToString(), onnx.ModelProto.DESCRIPTOR, wire.backwards)
        Made("backwards", data).write(self.models / "odd" / "backwards")
        self.assert_passes(*self.lossless("verbatim", "odd"))
        self.assert_fails("equal as models, but the bytes differ from offset", *self.lossless("reserialise", "odd"))

    def test_external_data_counts(self) -> None:
        external = external_whole_file()
        assert isinstance(external, Made)
        external.write(self.models / "external" / external.name)
        self.assert_fails("external data `w.bin` is missing", *self.lossless("verbatim", "external"))
        self.assert_passes(*self.lossless("move_data", "external"))
        self.assert_fails(r"graph.initializer\[0\].raw_data", *self.lossless("damage_data", "external"))

    def test_equal_says_where(self) -> None:
        a, b = self.folder / "a.onnx", self.folder / "b.onnx"
        model = small_model()
        onnx.save(model, a)
        model.graph.node[2].name = "named"
        onnx.save(model, b)
        self.assert_passes("equal", a, a)
        self.assert_fails(r"graph.node\[2\].name: (absent|'') != 'named'", "equal", a, b)

    def test_first_difference_sees_unknown_fields(self) -> None:
        plain_bytes = small_model().SerializeToString()
        unknown = onnx.ModelProto.FromString(plain_bytes + wire.unknown_fields()[0].encode())
        self.assertEqual(graphs.first_difference(small_model(), unknown), "message: unknown fields differ")


if __name__ == "__main__":
    unittest.main()

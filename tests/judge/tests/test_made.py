"""The made models are what they say."""

from __future__ import annotations

import unittest

import onnx
from onnx import ModelProto, TensorProto

from judge import graphs, made, wire
from judge.made import elements
from judge.made.encodings import BASES, REWRITES

KEEPS_MEANING = [name for name in REWRITES if "unknown" not in name]


class MadeTest(unittest.TestCase):
    def test_made_twice_they_are_the_same(self) -> None:
        first, second = made.all_models(), made.all_models()
        self.assertEqual([(each.name, each.data) for each in first], [(each.name, each.data) for each in second])

    def test_all_can_be_parsed(self) -> None:
        for each in made.all_models():
            ModelProto.FromString(each.data)

    def test_other_encodings_mean_the_same(self) -> None:
        for base, build in BASES.items():
            model = build()
            data = model.SerializeToString(deterministic=True)
            for name in KEEPS_MEANING:
                rewrite, pad = REWRITES[name]
                parsed = ModelProto.FromString(wire.rewritten(data, ModelProto.DESCRIPTOR, rewrite, pad))
                self.assertEqual(graphs.first_difference(model, parsed), "", f"{base}, {name}")

    def test_each_encoding_is_another_somewhere(self) -> None:
        names = [each.name for each in made.all_models()]
        for rewrite in REWRITES:
            self.assertTrue(any(name.startswith(f"encoding_{rewrite}_") for name in names), rewrite)

    def test_unknown_fields_are_at_every_level(self) -> None:
        for name in ("unknown_fields", "unknown_fields_between"):
            rewrite, pad = REWRITES[name]
            data = BASES["attributes"]().SerializeToString()
            parsed = ModelProto.FromString(wire.rewritten(data, ModelProto.DESCRIPTOR, rewrite, pad))
            everything = parsed.graph.node[0]
            tensor = next(attribute.t for attribute in everything.attribute if attribute.name == "t")
            for message in (
                parsed,
                parsed.graph,
                everything,
                everything.attribute[0],
                tensor,
                parsed.graph.input[0].type,
            ):
                plain = type(message)()
                plain.CopyFrom(message)
                plain.DiscardUnknownFields()
                self.assertNotEqual(plain.ByteSize(), message.ByteSize(), f"{name}: {type(message).__name__}")

    def test_every_element_type_is_there(self) -> None:
        names = {each.name for each in made.all_models()}
        for element in elements.ALL:
            self.assertIn(f"elements_typed_{elements.type_name(element)}", names)
            if element != TensorProto.STRING:
                self.assertIn(f"elements_raw_{elements.type_name(element)}", names)

    def test_every_opset_and_ir_version_is_there(self) -> None:
        models = [ModelProto.FromString(each.data) for each in made.all_models()]
        opsets = {opset.version for model in models for opset in model.opset_import if opset.domain == ""}
        self.assertLessEqual(set(range(1, onnx.defs.onnx_opset_version() + 1)), opsets)
        self.assertLessEqual(set(range(1, onnx.IR_VERSION + 1)), {model.ir_version for model in models})


if __name__ == "__main__":
    unittest.main()

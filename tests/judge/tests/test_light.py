"""The limits on the light models bind."""

from __future__ import annotations

import shutil
import unittest

from judge.light import MAX_OPERATORS
from judge.tests.support import JudgeTest, options


class LightTest(JudgeTest):
    def light(self, mode: str) -> list[object]:
        return ["light", *options(relais=self.fake(mode), models=self.models)]

    def test_catches_too_many_nodes(self) -> None:
        output = self.assert_fails("light/densenet121: 910 operators, at most 368 wanted", *self.light("verbatim"))
        self.assertIn("1 passed, 8 failed", output)

    def test_catches_growth_and_damage(self) -> None:
        for mode, expected in {
            "grow": "light/zfnet512: 5[0-9]+ bytes, the input has 4506",
            "rename_output": "light/zfnet512: outputs were",
            "undefined_name": "light/zfnet512: invalid",
            "garbage": "light/zfnet512: the result cannot be read",
            "exit_3": "light/zfnet512: exit status 3",
        }.items():
            with self.subTest(mode):
                self.assert_fails(expected, *self.light(mode))

    def test_catches_a_missing_model(self) -> None:
        kept = self.folder / "kept"
        shutil.move(self.models / "light" / "vgg19", kept)
        try:
            self.assert_fails("light/vgg19: the model is missing", *self.light("verbatim"))
        finally:
            shutil.move(kept, self.models / "light" / "vgg19")

    def test_knows_all_nine(self) -> None:
        self.assertEqual(sorted(path.name for path in (self.models / "light").iterdir()), sorted(MAX_OPERATORS))


if __name__ == "__main__":
    unittest.main()

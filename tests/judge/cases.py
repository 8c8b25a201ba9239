"""The folder of models: `KIND/NAME/model.onnx`, with `test_data_set_0/input_N.pb` where inputs are known."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

MODEL = "model.onnx"
DATA_SET = "test_data_set_0"
STAMP = "complete.json"


@dataclass(frozen=True)
class Case:
    """One model with the data that belongs to it."""

    kind: str
    name: str
    folder: Path

    @property
    def model(self) -> Path:
        return self.folder / MODEL

    @property
    def inputs(self) -> list[Path]:
        return numbered(self.folder / DATA_SET, "input")

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"


def find(models: Path, kinds: Iterable[str] = (), names: Iterable[str] = (), every: int = 1) -> Iterator[Case]:
    """The cases of `models` in a stable order, or every nth of them; no kinds means all, no names means all names."""
    return itertools.islice(_find(models, kinds, names), None, None, every)


def _find(models: Path, kinds: Iterable[str], names: Iterable[str]) -> Iterator[Case]:
    wanted_kinds, wanted_names = set(kinds), set(names)
    for path in sorted(models.glob(f"*/*/{MODEL}")):
        case = Case(path.parent.parent.name, path.parent.name, path.parent)
        if wanted_kinds and case.kind not in wanted_kinds:
            continue
        if wanted_names and case.name not in wanted_names:
            continue
        yield case


def numbered(folder: Path, stem: str) -> list[Path]:
    """`stem_0.pb`, `stem_1.pb` and so on, as far as they go."""
    paths: list[Path] = []
    while (path := folder / f"{stem}_{len(paths)}.pb").exists():
        paths.append(path)
    return paths

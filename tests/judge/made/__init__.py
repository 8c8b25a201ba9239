"""Models made here, for what the cases of the `onnx` package leave out. Each folder file registers its own."""

from __future__ import annotations

from pathlib import Path

from judge.made import attributes, elements, encodings, external, functions, structure, subgraphs, traps, versions
from judge.made.registry import Made

SOURCES = (attributes, elements, encodings, external, functions, structure, subgraphs, traps, versions)


def all_models() -> list[Made]:
    """By name, each name once."""
    models = sorted((model for source in SOURCES for model in source.MODELS.build()), key=lambda model: model.name)
    names = [model.name for model in models]
    assert len(set(names)) == len(names), "two made models share a name"
    return models


def write(out: Path) -> int:
    """Returns the number of models."""
    models = all_models()
    for model in models:
        model.write(out / model.name)
    return len(models)

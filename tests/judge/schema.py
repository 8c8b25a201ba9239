"""Pipelines held against their JSON Schema by its reference implementation."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from pathlib import Path

from jsonschema.exceptions import best_match
from jsonschema.validators import validator_for

from judge.report import one_line


def command(schema: Path, pipelines: Sequence[Path]) -> int:
    """Prints for each pipeline whether the schema takes it."""
    rules = json.loads(schema.read_text(encoding="utf-8"))
    kind = validator_for(rules, default=None)
    if kind is None:
        print(f"{schema}: `$schema` names no version of JSON Schema")
        return 1
    kind.check_schema(rules)
    validator = kind(rules)
    for pipeline in pipelines:
        error = best_match(validator.iter_errors(tomllib.loads(pipeline.read_text(encoding="utf-8"))))
        print(f"{pipeline.stem}: {'taken' if error is None else f'refused: {one_line(error.message)}'}")
    return 0

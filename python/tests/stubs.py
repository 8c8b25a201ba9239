"""Writes the stub of `relais_onnx.passes`: the shipped passes, with their options."""

from __future__ import annotations

import inspect
import types
import typing
from typing import Any, Literal

import relais_onnx as relais
from relais_onnx import passes

HEAD = """# The shipped passes. `RELAIS_BLESS=1` before the tests of `python/` writes this file from what they declare.

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from ._native import Pass

__all__ = ["Options"]

class Options:
    def make(self) -> Pass: ...

# Those of plugins.
def __getattr__(name: str) -> Any: ...
"""


def text_of(annotation: Any) -> str:
    """A type as a stub has it, in every version of Python."""
    of, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if of is Literal:
        return f"Literal[{', '.join(map(repr, inner))}]"
    if of in (types.UnionType, typing.Union):
        return " | ".join(map(text_of, inner))
    if of is not None:
        return f"{of.__name__}[{', '.join(map(text_of, inner))}]"
    return {type(None): "None", Any: "Any"}.get(annotation) or annotation.__name__


def page() -> str:
    """The whole file."""
    parts = [HEAD]
    for name in sorted(full.rpartition(".")[2] for full in relais.list_passes() if full.startswith("relais.")):
        options = []
        for parameter in inspect.signature(getattr(passes, name)).parameters.values():
            default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
            options.append(f"{parameter.name}: {text_of(parameter.annotation)}{default}")
        parts.append(f"def {name}({', '.join(['*', *options] if options else [])}) -> Pass: ...\n")
        if options:
            parts.append("@dataclasses.dataclass(frozen=True, kw_only=True)\n")
            parts.append("".join([f"class {name}Options(Options):\n", *(f"    {option}\n" for option in options)]))
    return "".join(parts)

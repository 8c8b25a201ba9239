"""The passes of plugins as classes: their constructors have the options that the plugins declare, with their defaults.

>>> import inspect
>>> from relais_onnx import passes
>>> passes.DeadCodeElimination().info.name
'relais.DeadCodeElimination'
>>> list(inspect.signature(passes.PrintIR).parameters)
['header']
"""

from __future__ import annotations

import dataclasses
import inspect
import keyword
from collections.abc import Mapping, Sequence
from typing import Any

from ._info import _list
from ._native import Pass
from .transform import get_pass

__all__ = ["Options"]

_TYPES: dict[str, Any] = {
    "bool": bool,
    "int": int,
    "float": float,
    "string": str,
    "path": str,
    "bytes": int | str,
    "list": Sequence[Any],
    "struct": Mapping[str, Any],
}


class Options:
    """The options of a pass; each pass has a dataclass of its own, which is derived from this one."""

    _pass = ""

    def make(self) -> Pass:
        """The pass with these options."""
        given = {}
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            # An option that is not given has its default, or no value at all.
            if value is not None:
                given[field.name.removesuffix("_")] = value
        return get_pass(self._pass, **given)


def _described(name: str) -> dict[str, Any]:
    found = [it for it in _list("passes") if it["name"] == name or it["name"].rpartition(".")[2] == name]
    if len(found) != 1:
        raise AttributeError(f"there is no pass `{name}`" if not found else f"several passes are named `{name}`")
    described: dict[str, Any] = found[0]
    return described


def _options_of(described: dict[str, Any]) -> type[Options]:
    fields: list[Any] = []
    for option in described["options"]:
        name: str = option["name"]
        if keyword.iskeyword(name):
            name += "_"
        annotation = _TYPES.get(option["takes"]["type"], str if "choice" in option["takes"]["type"] else Any)
        default, about = option.get("default"), {"doc": option["doc"]}
        if default is None and not option["optional"]:
            field = dataclasses.field(metadata=about)
        elif isinstance(default, list):
            field = dataclasses.field(default=tuple(default), metadata=about)
        else:
            annotation = annotation if default is not None else annotation | None
            field = dataclasses.field(default=default, metadata=about)
        fields.append((name, annotation, field))
    short = described["name"].rpartition(".")[2]
    made = dataclasses.make_dataclass(f"{short}Options", fields, bases=(Options,), frozen=True, kw_only=True)
    made._pass = described["name"]
    made.__module__ = __name__
    made.__doc__ = described["doc"]
    return made


def __getattr__(name: str) -> Any:
    if name.startswith("_") or not name[:1].isupper():
        raise AttributeError(f"there is no pass `{name}`")
    if name.endswith("Options"):
        return _options_of(_described(name.removesuffix("Options")))
    described = _described(name)
    options = _options_of(described)

    def make(**given: Any) -> Pass:
        try:
            return options(**given).make()
        except TypeError as error:
            # It speaks of a constructor that nobody called.
            raise TypeError(str(error).replace(f"{options.__name__}.__init__()", f"{name}()")) from None

    make.__name__ = make.__qualname__ = name
    make.__module__ = __name__
    parts = [f"    {field.name}: {field.metadata['doc']}" for field in dataclasses.fields(options)]  # type: ignore[arg-type]
    make.__doc__ = described["doc"] + ("\n\nOptions:\n" + "\n".join(parts) if parts else "")
    make.__signature__ = inspect.signature(options).replace(return_annotation=Pass)  # type: ignore[attr-defined]
    return make


def __dir__() -> list[str]:
    return sorted({it["name"].rpartition(".")[2] for it in _list("passes")} | set(__all__))

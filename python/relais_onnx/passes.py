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
import json
import keyword
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

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
    "struct": Mapping[str, Any],
}


def _type_of(takes: dict[str, Any]) -> Any:
    """The type of an option."""
    if takes["type"] == "choice":
        return Literal[tuple(choice["name"] for choice in takes["choices"])]
    if takes["type"] == "list":
        return Sequence[_type_of(takes["item"])]
    return _TYPES.get(takes["type"], Any)


class Options:
    """The options of a pass; each pass has a dataclass of its own, which is derived from this one."""

    _pass: ClassVar[str] = ""

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
        annotation = _type_of(option["takes"])
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
    members = {"_pass": described["name"], "__doc__": described["doc"], "__module__": __name__}
    return dataclasses.make_dataclass(
        f"{short}Options", fields, bases=(Options,), namespace=members, frozen=True, kw_only=True
    )


class _Made(NamedTuple):
    options: type[Options]
    make: Callable[..., Pass]


_made: dict[str, _Made] = {}
"""What was made of the descriptions of passes: once, so that options of a pass are of one class and can be pickled. Plugins
that take the place of others are described again."""


def __getattr__(name: str) -> Any:
    if name.startswith("_") or not name[:1].isupper():
        raise AttributeError(f"there is no pass `{name}`")
    described = _described(name.removesuffix("Options"))
    key = json.dumps(described)
    made = _made.get(key)
    if made is None:
        options = _options_of(described)
        made = _made.setdefault(key, _Made(options, _maker_of(described, options)))
    return made.options if name.endswith("Options") else made.make


def _maker_of(described: dict[str, Any], options: type[Options]) -> Callable[..., Pass]:
    name = described["name"].rpartition(".")[2]

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

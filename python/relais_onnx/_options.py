"""Options of passes that are written in Python, and of contexts: a dataclass is their schema."""

from __future__ import annotations

import dataclasses
import inspect
import pathlib
import re
import types
import typing
from collections.abc import Mapping
from typing import Any

_PLAIN: dict[Any, str] = {bool: "bool", int: "int", float: "float", str: "str", pathlib.Path: "path"}


def schema(options: Any) -> list[dict[str, Any]]:
    """The options that a dataclass describes: the name, the kind, the default and the documentation of each field.

    A field is a `bool`, an `int`, a `float`, a `str`, a `pathlib.Path`, a `Literal` of strings, a list of one of these, or
    another dataclass; `X | None` with the default `None` may be left out. `metadata` of a field may have `doc`, and `range`, the
    least and the greatest number.

    Raises:
        TypeError: It is not a dataclass, or a field is of another type.
        ValueError: A default is not one of its field, or a range is none.
    """
    return _fields(_dataclass(options), options.__name__)


def _dataclass(options: Any) -> type:
    if not (isinstance(options, type) and dataclasses.is_dataclass(options)):
        raise TypeError(f"`options` must be a dataclass, not `{getattr(options, '__name__', type(options).__name__)}`")
    return options


def config(options: Any, prefix: str) -> list[dict[str, Any]]:
    """The options of contexts that a dataclass describes, as `schema` does: the key of each is its name after the prefix and a
    dot. `metadata` of a field may also have `aliases`, a list of other keys that set it.

    Raises:
        TypeError, ValueError: As for `schema`; a field has no default, or a prefix or a key is none.
    """
    where = _dataclass(options).__name__
    if not _KEY.fullmatch(prefix):
        raise ValueError(f"`prefix` must be words with dots between them, such as \"acme\", not {prefix!r}")
    fields = _fields(options, where, is_config=True)
    for field in fields:
        if "default" not in field and not field["optional"]:
            raise ValueError(f"`{where}.{field['name']}` has no default, and contexts need not set an option")
        field["name"] = f"{prefix}.{field['name']}"
    return fields


_KEY = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)


def _aliases(given: Any, path: str) -> list[str]:
    if isinstance(given, str) or not all(isinstance(key, str) for key in given):
        raise TypeError(f"the aliases of `{path}` must be a list of keys, not {given!r}")
    for key in given:
        if "." not in key or not _KEY.fullmatch(key):
            raise ValueError(f"an alias of `{path}` must be a key with a prefix and a dot, such as \"acme.limit\", not {key!r}")
    return list(given)


def _fields(options: type, where: str, is_config: bool = False) -> list[dict[str, Any]]:
    try:
        hints = typing.get_type_hints(options)
    except NameError as error:
        raise TypeError(f"the types of `{where}` cannot be read: {error}") from None
    fields = []
    for field in dataclasses.fields(options):
        if not field.init:
            continue
        path = f"{where}.{field.name}"
        hint, is_optional = _without_none(hints[field.name])
        entry: dict[str, Any] = {"name": field.name, "doc": str(field.metadata.get("doc", "")), **_kind(hint, path)}
        if "aliases" in field.metadata:
            if not is_config:
                raise ValueError(f"`{path}` has aliases, which only options of contexts have")
            entry["aliases"] = _aliases(field.metadata["aliases"], path)
        if "range" in field.metadata:
            entry["range"] = _range(field.metadata["range"], entry["kind"], path)
        if field.default is not dataclasses.MISSING:
            default: Any = field.default
        elif field.default_factory is not dataclasses.MISSING:
            default = field.default_factory()
        else:
            default = dataclasses.MISSING
        entry["optional"] = is_optional and default is None
        if default is not dataclasses.MISSING and default is not None:
            entry["default"] = plain(default)
        elif default is None and not is_optional:
            raise ValueError(f"`{path}` has the default `None`, and is not of a type `X | None`")
        fields.append(entry)
    return fields


def _without_none(hint: Any) -> tuple[Any, bool]:
    """The type without `None`, and whether it had one."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        others = [other for other in typing.get_args(hint) if other is not type(None)]
        if len(others) == 1 and len(typing.get_args(hint)) == 2:
            return others[0], True
    return hint, False


def _kind(hint: Any, path: str) -> dict[str, Any]:
    if hint in _PLAIN:
        return {"kind": _PLAIN[hint]}
    if typing.get_origin(hint) is typing.Literal and all(isinstance(choice, str) for choice in typing.get_args(hint)):
        return {"kind": "choice", "choices": list(typing.get_args(hint))}
    if typing.get_origin(hint) is list:
        return {"kind": "list", "item": _kind(typing.get_args(hint)[0], path)}
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return {"kind": "struct", "fields": _fields(hint, path)}
    accepted = "a bool, an int, a float, a str, a Path, a Literal of strings, a list of one of these, or a dataclass"
    raise TypeError(f"`{path}` is of the type `{inspect.formatannotation(hint)}`; an option is {accepted}")


def _range(given: Any, kind: str, path: str) -> list[Any]:
    of: Any = {"int": int, "float": (int, float)}.get(kind)
    ends = list(given) if isinstance(given, (list, tuple)) else []
    if of is None or len(ends) != 2 or not all(isinstance(end, of) and not isinstance(end, bool) for end in ends):
        raise ValueError(f"the range of `{path}` must be the least and the greatest number, not {given!r}")
    return [float(end) for end in ends] if kind == "float" else ends


def plain(value: Any) -> Any:
    """A value of a field as the schema takes it: a dataclass is a dict."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        entries = {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.init}
        return {name: plain(entry) for name, entry in entries.items() if entry is not None}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def build(options: type, values: Mapping[str, Any]) -> Any:
    """An object of the dataclass with values that the schema takes."""
    hints = typing.get_type_hints(options)
    return options(**{name: _built(_without_none(hints[name])[0], value) for name, value in values.items()})


def _built(hint: Any, value: Any) -> Any:
    if isinstance(value, list):
        return [_built(typing.get_args(hint)[0], item) for item in value]
    if isinstance(value, dict):
        return build(hint, value)
    return pathlib.Path(value) if hint is pathlib.Path else value

"""What there is: passes, plugins, options, instruments, pipelines."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any

from . import _native
from ._arguments import flag, paths, text
from ._native import Function, IRModule, Tensor


def _list(kind: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = json.loads(_native.list_items(kind))
    return items


def list_passes() -> list[str]:
    """Returns the full names of all passes."""
    return sorted({item["name"] for item in _list("passes")})


def list_instruments() -> list[str]:
    """Returns the names of all instruments, which `relais_onnx.instrument.Instrument` makes."""
    return [item["name"] for item in _list("instruments")]


def list_analyses() -> list[str]:
    """Returns the names of all analyses: those that the host has, and those of plugins."""
    return [item["name"] for item in _list("analyses")]


def analysis(name: str, of: Function | IRModule) -> dict[str, Tensor]:
    """Returns an analysis of a function or a module as lists of numbers, by the names that `describe` lists. Numbers of
    nodes are those of `Node.id`. In a pass, the result is shared with all passes of the run.

    Raises:
        RelaisError: Nothing provides the analysis, it is of another unit, has no lists, or fails.
    """
    text(name, "`name`")
    return _native.analysis(name, of)


def list_pipelines() -> list[str]:
    """Returns the names of all pipelines: the built-in ones, and those of plugins."""
    return [item["name"] for item in _list("pipelines")]


def list_plugins() -> list[dict[str, Any]]:
    """Returns the plugins that were found, also those that are not used, with the reason."""
    return _list("plugins")


_KINDS = (
    ("options", "option"),
    ("instruments", "instrument"),
    ("pipelines", "pipeline"),
    ("plugins", "plugin"),
    ("operators", "operator"),
    ("analyses", "analysis"),
)


def describe(name: str) -> dict[str, Any]:
    """Returns what is known of a pass, an option of contexts, an instrument, a pipeline, an operator, an analysis or a plugin: its
    documentation, options and levels.

    Raises:
        PipelineError: Nothing has the name.
    """
    text(name, "`name`")
    for kind, what in _KINDS:
        for item in _list(kind):
            if item["name"] == name and "pass" not in item:
                return {"what": what, **item}
    full = _native.full_name(name)
    item = next(item for item in _list("passes") if item["name"] == full)
    return {"what": "pass", **item}


def add_plugins(
    plugins: Iterable[str | os.PathLike[str]] = (),
    *,
    dirs: Iterable[str | os.PathLike[str]] = (),
    allow_writable: bool = False,
) -> None:
    """Adds plugins: files, and folders that are searched. They take the place of those of an earlier call.

    Plugins of the user's own folder and of `RELAIS_PLUGIN_PATH` are found without this.

    Raises:
        PluginError: One cannot be used. Nothing is changed.
    """
    files, folders = paths(plugins, "`plugins`"), paths(dirs, "`dirs`")
    _native.configure(list(files), list(folders), flag(allow_writable, "`allow_writable`"))

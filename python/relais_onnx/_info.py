"""What there is: passes, plugins, options, instruments, pipelines."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any

from . import _native


def _list(kind: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = json.loads(_native.list_items(kind))
    return items


def list_passes() -> list[str]:
    """Returns the full names of all passes."""
    return sorted({item["name"] for item in _list("passes")})


def list_plugins() -> list[dict[str, Any]]:
    """Returns the plugins that were found, also those that are not used, with the reason."""
    return _list("plugins")


def describe(name: str) -> dict[str, Any]:
    """Returns what is known of a pass, an option of contexts, an instrument, a pipeline, an operator or a plugin: its
    documentation, options and levels.

    Raises:
        PipelineError: Nothing has the name.
    """
    if not isinstance(name, str):
        raise TypeError(f"`name` must be a str, not `{type(name).__name__}`")
    for kind in ("options", "instruments", "pipelines", "plugins", "operators"):
        for item in _list(kind):
            if item["name"] == name and "pass" not in item:
                return {"what": kind.removesuffix("s"), **item}
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
        ModelError: One cannot be used. Nothing is changed.
    """
    for what, paths in (("plugins", plugins), ("dirs", dirs)):
        if isinstance(paths, (str, bytes, os.PathLike)):
            raise TypeError(f"`{what}` must be a list of paths, not `{type(paths).__name__}`")
    _native.configure([os.fspath(path) for path in plugins], [os.fspath(path) for path in dirs], allow_writable)

"""What there is: passes, plugins, options, instruments, pipelines."""

from __future__ import annotations

import inspect
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypeVar

from . import _native
from ._arguments import flag, paths, text
from ._native import Function, IRModule, Tensor


_Compute = TypeVar("_Compute", bound=Callable[..., Any])


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
    """Returns the names of all analyses: those that the host has, those of plugins, and those that are registered."""
    return [item["name"] for item in _list("analyses")]


def analysis(name: str, of: Function | IRModule) -> dict[str, Tensor]:
    """Returns an analysis of a function or a module as lists of numbers, by the names that `describe` lists. Numbers of
    nodes are those of `Node.id`. In a pass, the result is shared with all passes of the run.

    Raises:
        RelaisError: Nothing provides the analysis, it is of another unit, has no lists, or fails.
    """
    text(name, "`name`")
    return _native.analysis(name, of)


def register_analysis(
    name: str,
    *,
    lists: Mapping[str, str],
    of: Literal["function", "module"] = "function",
    depends: Literal["everything", "structure"] = "everything",
    override: bool = False,
) -> Callable[[_Compute], _Compute]:
    """Makes an analysis of a function known by its name, which has a prefix and a dot. The function is given a `Function`, or an
    `IRModule` if the analysis is of modules, and gives a dict with the lists that `lists` names and describes: of integers,
    as arrays, tensors or lists. It may ask for other analyses, and its results depend on nothing else: all passes of a run
    share a result as long as its subject is the same, or, if it depends on the structure alone, has the same structure. An
    analysis of the same name that the same module registered before is replaced.

    >>> import relais_onnx as relais
    >>> @relais.register_analysis("docs.Fans", lists={"fan": "by node: how many operands it has"}, depends="structure")
    ... def fans(function):
    ...     return {"fan": [len(node.args) for node in function.nodes]}
    >>> "docs.Fans" in relais.list_analyses()
    True

    Raises:
        RegistrationError: The host or a plugin provides an analysis of this name; or another module registered one, and
            `override` is false.
        ValueError: The name has no prefix, or an argument has another value than those named.
    """
    if "." not in text(name, "`name`"):
        raise ValueError(f"the name of an analysis has a prefix and a dot, as in `acme.{name}`")
    if of not in ("function", "module"):
        raise ValueError(f'`of` must be "function" or "module", not {of!r}')
    if depends not in ("everything", "structure"):
        raise ValueError(f'`depends` must be "everything" or "structure", not {depends!r}')
    if not isinstance(lists, Mapping):
        raise TypeError(f"`lists` must be a dict of names and descriptions, not `{type(lists).__name__}`")
    declared = [(text(key, "a name in `lists`"), text(doc, "a description in `lists`")) for key, doc in lists.items()]
    if not declared:
        raise ValueError("`lists` names at least one list: an analysis without one says nothing")
    flag(override, "`override`")
    module = sys._getframe(1).f_globals.get("__name__", "?")

    def register(compute: _Compute) -> _Compute:
        if not callable(compute):
            raise TypeError(f"an analysis is made of a callable, not of `{type(compute).__name__}`")
        doc = inspect.getdoc(compute) or ""
        is_of_module, is_structure = of == "module", depends == "structure"
        _native.register_analysis(name, compute, is_of_module, is_structure, declared, doc, module, override)
        return compute

    return register


def unregister_analysis(name: str) -> None:
    """Forgets an analysis that was registered, by its full name.

    Raises:
        KeyError: No analysis of this name is registered.
    """
    _native.unregister_analysis(text(name, "`name`"))


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

"""Passes, sequences and contexts: the counterpart of `tvm.transform`."""

from __future__ import annotations

import functools
import inspect
import json
import sys
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from . import _native
from ._native import IRModule, Pass, PassContext, PassInfo, list_configs
from .errors import PipelineError

__all__ = [
    "FunctionPass",
    "IRModule",
    "ModulePass",
    "Pass",
    "PassContext",
    "PassInfo",
    "PrimFuncPass",
    "PrintIR",
    "Sequential",
    "function_pass",
    "get_pass",
    "list_configs",
    "module_pass",
    "prim_func_pass",
    "register_pass",
    "unregister_pass",
]

_P = TypeVar("_P", bound=Pass)


def _required(required: Iterable[str] | None) -> list[str]:
    if required is None:
        return []
    if not isinstance(required, (list, tuple)):
        raise TypeError(f"`required` must be a list of names, not `{type(required).__name__}`")
    for name in required:
        if not isinstance(name, str):
            raise TypeError(f"a name in `required` must be a str, not `{type(name).__name__}`")
    return list(required)


def _level(opt_level: int) -> int:
    if isinstance(opt_level, bool) or not isinstance(opt_level, int):
        raise TypeError(f"`opt_level` must be an int, not `{type(opt_level).__name__}`")
    if not 0 <= opt_level <= 255:
        raise ValueError(f"`opt_level` must be between 0 and 255, not {opt_level}")
    return opt_level


def _pass(value: Any) -> Any:
    """A pass of a rule that was traced, and anything else as it is."""
    as_pass = getattr(type(value), "as_pass", None)
    return value if as_pass is None else as_pass(value)


class _Written(Pass):
    """A pass that is written in Python."""

    _kind = ""
    _method = ""

    def __new__(
        cls,
        run: Callable[..., Any],
        opt_level: int,
        name: str,
        required: Iterable[str] | None = None,
        doc: str = "",
        changes_interface: bool = False,
    ) -> Any:
        return super().__new__(cls, cls._kind, run, name, _level(opt_level), _required(required), doc, changes_interface)


class ModulePass(_Written):
    """A pass that receives the module; `module_pass` makes one."""

    _kind = "module"
    _method = "transform_module"


class FunctionPass(_Written):
    """A pass that receives each function; `function_pass` makes one."""

    _kind = "function"
    _method = "transform_function"


class PrimFuncPass(_Written):
    """A pass that receives each prim func; `prim_func_pass` makes one."""

    _kind = "prim-func"
    _method = "transform_function"


class Sequential(Pass):
    """Passes that run one after another, except those that are off."""

    _passes: list[Pass]

    def __new__(
        cls,
        passes: Iterable[Pass] | None = None,
        opt_level: int = 0,
        name: str = "sequential",
        required: Iterable[str] | None = None,
    ) -> Any:
        passes = [] if passes is None else passes
        if not isinstance(passes, (list, tuple)):
            raise TypeError(f"`passes` must be a list of passes, not `{type(passes).__name__}`")
        passes = [_pass(member) for member in passes]
        for member in passes:
            if not isinstance(member, Pass):
                help = f'; write `get_pass("{member}")`' if isinstance(member, str) else ""
                raise TypeError(f"a member of `passes` must be a Pass, not `{type(member).__name__}`{help}")
        self = super().__new__(cls, "sequential", passes, name, _level(opt_level), _required(required), "")
        self._passes = passes
        return self

    @property
    def passes(self) -> list[Pass]:
        """Its members, in order."""
        return list(self._passes)

    def __str__(self) -> str:
        return f"{super().__str__()}: {', '.join(member.info.name for member in self._passes)}"


def _made_of_class(
    base: type[_Written], user: type, opt_level: int, name: str, required: list[str], changes_interface: bool
) -> type:
    """A class of passes: its objects are made as those of the user's class, and run the method of one."""

    class Made(base):  # type: ignore[misc, valid-type]
        def __new__(cls, *args: Any, **kwargs: Any) -> Any:
            inner = user(*args, **kwargs)

            def run(*given: Any) -> Any:
                return getattr(inner, base._method)(*given)

            doc = inspect.getdoc(user) or ""
            self = super().__new__(cls, run, opt_level, name, required, doc, changes_interface)
            self._inner = inner
            return self

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            pass

        def __getattr__(self, attribute: str) -> Any:
            if attribute == "_inner":
                raise AttributeError(attribute)
            return getattr(self._inner, attribute)

    functools.update_wrapper(Made.__init__, user.__init__)  # type: ignore[misc]
    for attribute in ("__name__", "__qualname__", "__module__", "__doc__"):
        setattr(Made, attribute, getattr(user, attribute))
    return Made


def _decorator(
    base: type[_Written], target: Any, opt_level: Any, name: Any, required: Any, changes_interface: Any = False
) -> Any:
    if opt_level is None:
        raise ValueError("`opt_level` must be given: the level from which the pass is on")
    opt_level, required = _level(opt_level), _required(required)
    if name is not None and not isinstance(name, str):
        raise TypeError(f"`name` must be a str, not `{type(name).__name__}`")
    if not isinstance(changes_interface, bool):
        raise TypeError(f"`changes_interface` must be a bool, not `{type(changes_interface).__name__}`")

    def make(target: Any) -> Any:
        if not callable(target):
            raise TypeError(f"a pass is made of a function or a class, not of `{type(target).__name__}`")
        own: str = name if name else getattr(target, "__name__", type(target).__name__)
        if inspect.isclass(target):
            return _made_of_class(base, target, opt_level, own, required, changes_interface)
        return base(target, opt_level, own, required, inspect.getdoc(target) or "", changes_interface)

    return make if target is None else make(target)


def module_pass(
    pass_func: Any = None,
    opt_level: int | None = None,
    name: str | None = None,
    required: Iterable[str] | None = None,
    *,
    changes_interface: bool = False,
) -> Any:
    """Makes a module pass of a function `(module, context)`, or of a class with a method `transform_module`.

    The function returns a module; `None` or the same module says that nothing changed. The interface of the program stays:
    the names of its inputs and outputs, their order, element types and known sizes, unless `changes_interface` says that the
    pass may change them.

    >>> from relais_onnx import IRModule, module_pass
    >>> @module_pass(opt_level=2)
    ... def transform(mod, ctx):
    ...     return mod
    >>> transform.info.opt_level
    2
    >>> transform(IRModule())
    <IRModule of >

    Raises:
        ValueError: `opt_level` is missing.
        TypeError: What is given is not a function or a class.
    """
    return _decorator(ModulePass, pass_func, opt_level, name, required, changes_interface)


def function_pass(
    pass_func: Any = None,
    opt_level: int | None = None,
    name: str | None = None,
    required: Iterable[str] | None = None,
    *,
    changes_interface: bool = False,
) -> Any:
    """Makes a function pass of a function `(function, module, context)`, or of a class with a method
    `transform_function`. It receives each function of the module as it was before the pass, one after another.

    Raises:
        As for `module_pass`.
    """
    return _decorator(FunctionPass, pass_func, opt_level, name, required, changes_interface)


def prim_func_pass(
    pass_func: Any = None,
    opt_level: int | None = None,
    name: str | None = None,
    required: Iterable[str] | None = None,
) -> Any:
    """The same over prim funcs.

    Raises:
        As for `module_pass`.
    """
    return _decorator(PrimFuncPass, pass_func, opt_level, name, required)


def get_pass(name: str, **options: Any) -> Pass:
    """Returns the pass of a name, full or short, with options. An underscore after an option's name is left out, for names
    that are words of Python: `except_`.

    Raises:
        PipelineError: The name does not resolve to a pass, or the pass does not have these options.
    """
    if not isinstance(name, str):
        raise TypeError(f"`name` must be a str, not `{type(name).__name__}`")
    try:
        return _native.get_pass(name, {key.removesuffix("_"): value for key, value in options.items()})
    except PipelineError:
        if not any(it["name"] == name for it in json.loads(_native.list_items("pipelines"))):
            raise
    message = f'`{name}` is a pipeline, not a pass\n  help: `pipeline("{name}")` makes a pass of it'
    raise PipelineError(message)


def register_pass(new: _P, *, override: bool = False) -> _P:
    """Makes a pass known by its name, which has a prefix and a dot: as a requirement, in `passes=`, in pipelines. A pass
    of the same name that the same module registered before is replaced, as when a cell of a notebook runs again. Returns the
    pass.

    Raises:
        RegistrationError: A plugin provides a pass of this name; or another module registered one, and `override` is false.
        ValueError: The name has no prefix.
    """
    known = _pass(new)
    if not isinstance(known, Pass):
        raise TypeError(f"a registered pass must be a Pass, not `{type(new).__name__}`")
    _native.register_pass(known, sys._getframe(1).f_globals.get("__name__", "?"), override)
    return new


def unregister_pass(name: str) -> None:
    """Forgets a pass that was registered, by its full name.

    Raises:
        KeyError: No pass of this name is registered.
    """
    if not isinstance(name, str):
        raise TypeError(f"`name` must be a str, not `{type(name).__name__}`")
    _native.unregister_pass(name)


def PrintIR(header: str = "") -> Pass:
    """Returns the pass that prints the module to `sys.stderr`."""
    return get_pass("PrintIR", header=header)

"""Passes, sequences and contexts: the counterpart of `tvm.transform`."""

from __future__ import annotations

import copy
import functools
import inspect
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, Protocol, Self, TypeVar, overload

from . import _native
from ._arguments import dependencies as follows
from ._arguments import flag, members, text, whole
from ._native import Function, IRModule, Pass, PassContext, PassInfo, list_configs
from ._options import build, config, schema
from .errors import PipelineError

if TYPE_CHECKING:
    from .rewriter import RewriteRule

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
    "register_config",
    "register_pass",
    "unregister_config",
    "unregister_pass",
]

_Registered = TypeVar("_Registered", bound="Pass | RewriteRule")
_Arguments = ParamSpec("_Arguments")
_Options = TypeVar("_Options")
_Class = TypeVar("_Class", bound=type)


# A pass that is required: its name, or a pair of its name and its options.
_Required = str | tuple[str, Mapping[str, Any]]


def _required(required: Iterable[_Required] | None) -> list[_Required]:
    given = members(() if required is None else required, "`required`", "passes")
    return [_requirement(one) for one in given]


def _requirement(one: Any) -> _Required:
    match one:
        case (str() as name, Mapping() as options):
            return name, dict(options)
        case _:
            return text(one, "a pass in `required`")


def _level(opt_level: int) -> int:
    return whole(opt_level, "`opt_level`", 0, 255)


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
        required: Iterable[_Required] | None = None,
        doc: str = "",
        changes_interface: bool = False,
        options: type | None = None,
    ) -> Self:
        name, required = text(name, "`name`"), _required(required)
        given = None if options is None else (schema(options), functools.partial(build, options))
        return super().__new__(cls, cls._kind, run, name, _level(opt_level), required, doc, changes_interface, given)


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
    """Passes that run one after another, except those that are off. The passes that they require run first: as `dependencies`
    says, where the sequence is called and not a member of another one."""

    _passes: list[Pass]

    def __new__(
        cls,
        passes: Iterable[Pass | RewriteRule] | None = None,
        opt_level: int = 0,
        name: str = "sequential",
        required: Iterable[_Required] | None = None,
        *,
        dependencies: Literal["transitive", "direct", "assumed"] = "transitive",
    ) -> Self:
        given = [_pass(member) for member in members([] if passes is None else passes, "`passes`", "passes")]
        for member in given:
            if not isinstance(member, Pass):
                help = f'; write `get_pass("{member}")`' if isinstance(member, str) else ""
                raise TypeError(f"a member of `passes` must be a Pass, not `{type(member).__name__}`{help}")
        name, required = text(name, "`name`"), _required(required)
        self = super().__new__(cls, "sequential", given, name, _level(opt_level), required, "", dependencies=follows(dependencies))
        self._passes = given
        return self

    @property
    def passes(self) -> list[Pass]:
        """Its members, in order."""
        return list(self._passes)

    def __str__(self) -> str:
        return f"{super().__str__()}: {', '.join(member.info.name for member in self._passes)}"


def _made_of_class(
    base: type[_Written],
    user: type,
    opt_level: int,
    name: str,
    required: list[_Required],
    changes_interface: bool,
    options: type | None,
) -> type:
    """A class of passes: its objects are made as those of the user's class, and run the method of one."""

    def around(cls: type[_Written], inner: Any) -> Any:
        def run(*given: Any) -> Any:
            return getattr(inner, base._method)(*given)

        doc = inspect.getdoc(user) or ""
        self: Any = base.__new__(cls, run, opt_level, name, required, doc, changes_interface, options)
        self._inner = inner
        return self

    def new(cls: type[_Written], *args: Any, **kwargs: Any) -> Any:
        return around(cls, user(*args, **kwargs))

    def copied(self: Any) -> Any:
        return around(type(self), copy.copy(self._inner))

    def deepcopied(self: Any, memo: dict[int, Any]) -> Any:
        return around(type(self), copy.deepcopy(self._inner, memo))

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        pass

    def getattribute(self: Any, attribute: str) -> Any:
        if attribute == "_inner":
            raise AttributeError(attribute)
        return getattr(self._inner, attribute)

    functools.update_wrapper(init, user.__init__)  # type: ignore[misc]
    made: dict[str, Any] = {"__new__": new, "__init__": init, "__getattr__": getattribute}
    made |= {"__copy__": copied, "__deepcopy__": deepcopied}
    for attribute in ("__qualname__", "__module__", "__doc__"):
        made[attribute] = getattr(user, attribute)
    return type(user.__name__, (base,), made)


def _decorator(
    base: type[_Written],
    target: Any,
    opt_level: Any,
    name: Any,
    required: Any,
    changes_interface: Any = False,
    options: Any = None,
) -> Any:
    if opt_level is None:
        raise ValueError("`opt_level` must be given: the level from which the pass is on")
    opt_level, required = _level(opt_level), _required(required)
    if name is not None:
        text(name, "`name`")
    if not isinstance(changes_interface, bool):
        raise TypeError(f"`changes_interface` must be a bool, not `{type(changes_interface).__name__}`")
    if options is not None:
        # What is wrong with it is an error where it is given.
        schema(options)

    def make(target: Any) -> Any:
        if not callable(target):
            raise TypeError(f"a pass is made of a function or a class, not of `{type(target).__name__}`")
        own: str = name if name else getattr(target, "__name__", type(target).__name__)
        if inspect.isclass(target):
            return _made_of_class(base, target, opt_level, own, required, changes_interface, options)
        return base(target, opt_level, own, required, inspect.getdoc(target) or "", changes_interface, options)

    return make if target is None else make(target)


class _TransformsModule(Protocol):
    def transform_module(self, mod: IRModule, ctx: PassContext, /) -> IRModule | None: ...


class _TransformsFunction(Protocol):
    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext, /) -> Function | None: ...


class _MakesModulePass(Protocol):
    @overload
    def __call__(self, pass_func: Callable[[IRModule, PassContext], IRModule | None], /) -> ModulePass: ...
    @overload
    def __call__(self, pass_func: Callable[_Arguments, _TransformsModule], /) -> Callable[_Arguments, ModulePass]: ...


class _MakesFunctionPass(Protocol):
    @overload
    def __call__(self, pass_func: Callable[[Function, IRModule, PassContext], Function | None], /) -> FunctionPass: ...
    @overload
    def __call__(self, pass_func: Callable[_Arguments, _TransformsFunction], /) -> Callable[_Arguments, FunctionPass]: ...


class _MakesPrimFuncPass(Protocol):
    @overload
    def __call__(self, pass_func: Callable[[Function, IRModule, PassContext], Function | None], /) -> PrimFuncPass: ...
    @overload
    def __call__(self, pass_func: Callable[_Arguments, _TransformsFunction], /) -> Callable[_Arguments, PrimFuncPass]: ...


@overload
def module_pass(
    pass_func: None = None,
    opt_level: int | None = None,
    name: str | None = None,
    required: Iterable[_Required] | None = None,
    *,
    changes_interface: bool = False,
    options: None = None,
) -> _MakesModulePass: ...
@overload
def module_pass(
    pass_func: Callable[[IRModule, PassContext], IRModule | None],
    opt_level: int | None = None,
    name: str | None = None,
    required: Iterable[_Required] | None = None,
    *,
    changes_interface: bool = False,
) -> ModulePass: ...
@overload
def module_pass(
    pass_func: Callable[_Arguments, _TransformsModule],
    opt_level: int | None = None,
    name: str | None = None,
    required: Iterable[_Required] | None = None,
    *,
    changes_interface: bool = False,
) -> Callable[_Arguments, ModulePass]: ...
@overload
def module_pass(
    pass_func: None = None,
    opt_level: int | None = None,
    name: str | None = None,
    required: Iterable[_Required] | None = None,
    *,
    changes_interface: bool = False,
    options: type[_Options],
) -> Callable[[Callable[[IRModule, PassContext, _Options], IRModule | None]], ModulePass]: ...
def module_pass(
    pass_func: Any = None,
    opt_level: int | None = None,
    name: str | None = None,
    required: Iterable[_Required] | None = None,
    *,
    changes_interface: bool = False,
    options: type | None = None,
) -> Any:
    """Makes a module pass of a function `(module, context)`, or of a class with a method `transform_module`.

    The function returns a module; `None` or the same module says that nothing changed. The interface of the program stays:
    the names of its inputs and outputs, their order, element types and known sizes, unless `changes_interface` says that the
    pass may change them.

    With a dataclass as `options`, the function gets an object of it as a last argument. They are checked, listed and set like
    those of passes of plugins: by `pass_.with_options(…)`, and, of a registered pass, by `get_pass`, in pipelines and in `config`.

    >>> from relais_onnx import IRModule, module_pass
    >>> @module_pass(opt_level=2)
    ... def transform(mod, ctx):
    ...     return mod
    >>> transform.info.opt_level
    2
    >>> transform(IRModule())
    <IRModule of >

    Raises:
        ValueError: `opt_level` is missing, or a default of `options` is none of its field.
        TypeError: What is given is not a function or a class, or `options` is not a dataclass of such fields.
    """
    return _decorator(ModulePass, pass_func, opt_level, name, required, changes_interface, options)


@overload
def function_pass(
    pass_func: None = None,
    opt_level: int | None = None,
    name: str | None = None,
    required: Iterable[_Required] | None = None,
    *,
    changes_interface: bool = False,
    options: None = None,
) -> _MakesFunctionPass: ...
@overload
def function_pass(
    pass_func: Callable[[Function, IRModule, PassContext], Function | None],
    opt_level: int | None = None,
    name: str | None = None,
    required: Iterable[_Required] | None = None,
    *,
    changes_interface: bool = False,
) -> FunctionPass: ...
@overload
def function_pass(
    pass_func: Callable[_Arguments, _TransformsFunction],
    opt_level: int | None = None,
    name: str | None = None,
    required: Iterable[_Required] | None = None,
    *,
    changes_interface: bool = False,
) -> Callable[_Arguments, FunctionPass]: ...
@overload
def function_pass(
    pass_func: None = None,
    opt_level: int | None = None,
    name: str | None = None,
    required: Iterable[_Required] | None = None,
    *,
    changes_interface: bool = False,
    options: type[_Options],
) -> Callable[[Callable[[Function, IRModule, PassContext, _Options], Function | None]], FunctionPass]: ...
def function_pass(
    pass_func: Any = None,
    opt_level: int | None = None,
    name: str | None = None,
    required: Iterable[_Required] | None = None,
    *,
    changes_interface: bool = False,
    options: type | None = None,
) -> Any:
    """Makes a function pass of a function `(function, module, context)`, or of a class with a method
    `transform_function`. It receives each function of the module as it was before the pass, one after another.

    Raises:
        As for `module_pass`.
    """
    return _decorator(FunctionPass, pass_func, opt_level, name, required, changes_interface, options)


@overload
def prim_func_pass(
    pass_func: None = None,
    opt_level: int | None = None,
    name: str | None = None,
    required: Iterable[_Required] | None = None,
    *,
    options: None = None,
) -> _MakesPrimFuncPass: ...
@overload
def prim_func_pass(
    pass_func: Callable[[Function, IRModule, PassContext], Function | None],
    opt_level: int | None = None,
    name: str | None = None,
    required: Iterable[_Required] | None = None,
) -> PrimFuncPass: ...
@overload
def prim_func_pass(
    pass_func: Callable[_Arguments, _TransformsFunction],
    opt_level: int | None = None,
    name: str | None = None,
    required: Iterable[_Required] | None = None,
) -> Callable[_Arguments, PrimFuncPass]: ...
@overload
def prim_func_pass(
    pass_func: None = None,
    opt_level: int | None = None,
    name: str | None = None,
    required: Iterable[_Required] | None = None,
    *,
    options: type[_Options],
) -> Callable[[Callable[[Function, IRModule, PassContext, _Options], Function | None]], PrimFuncPass]: ...
def prim_func_pass(
    pass_func: Any = None,
    opt_level: int | None = None,
    name: str | None = None,
    required: Iterable[_Required] | None = None,
    *,
    options: type | None = None,
) -> Any:
    """The same over prim funcs.

    Raises:
        As for `module_pass`.
    """
    return _decorator(PrimFuncPass, pass_func, opt_level, name, required, False, options)


def get_pass(name: str, **options: Any) -> Pass:
    """Returns the pass of a name, full or short, with options. An underscore after an option's name is left out, for names
    that are words of Python: `except_`.

    Raises:
        PipelineError: The name does not resolve to a pass, or the pass does not have these options.
    """
    text(name, "`name`")
    try:
        return _native.get_pass(name, {key.removesuffix("_"): value for key, value in options.items()})
    except PipelineError:
        if not any(it["name"] == name for it in json.loads(_native.list_items("pipelines"))):
            raise
    message = f'`{name}` is a pipeline, not a pass\n  help: `pipeline("{name}")` makes a pass of it'
    raise PipelineError(message)


def register_pass(new: _Registered, *, override: bool = False) -> _Registered:
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


@overload
def register_config(options: _Class, *, prefix: str, override: bool = False) -> _Class: ...
@overload
def register_config(options: None = None, *, prefix: str, override: bool = False) -> Callable[[_Class], _Class]: ...
def register_config(options: Any = None, *, prefix: str, override: bool = False) -> Any:
    """Makes options of contexts known, which a dataclass describes as it does the options of a pass: each field is an option,
    whose key is the prefix, a dot and the field's name. Passes read them from `ctx.config`, which has the defaults, too; a
    field that is a dataclass is a dict there.

    `metadata` of a field may have `doc`, `range`, and `aliases`, a list of other keys that set it. A class that was registered
    before is replaced, as when a cell of a notebook runs again. Returns the class, or a decorator of one.

    >>> from dataclasses import dataclass, field
    >>> from relais_onnx import PassContext, register_config
    >>> @register_config(prefix="docs")
    ... @dataclass
    ... class Limits:
    ...     most: int = field(default=8, metadata={"range": (0, 64), "doc": "How many calls are looked at."})
    >>> PassContext(config={"docs.most": 3}).config["docs.most"]
    3

    Raises:
        RegistrationError: A plugin or a pass has an option of one of the keys; or another class registered one, and `override`
            is false.
        TypeError, ValueError: It is not a dataclass of such fields, one has no default, or the prefix is none.
    """
    text(prefix, "`prefix`")
    flag(override, "`override`")

    def register(options: Any) -> Any:
        given = config(options, prefix)
        _native.register_config(f"{options.__module__}.{options.__qualname__}", given, override)
        return options

    return register if options is None else register(options)


def unregister_config(key: str) -> None:
    """Forgets an option of contexts that was registered, by its key.

    Raises:
        KeyError: No option of this key is registered.
    """
    _native.unregister_config(text(key, "`key`"))


def PrintIR(header: str = "") -> Pass:
    """Returns the pass that prints the module to `sys.stderr`."""
    return get_pass("relais.PrintIR", header=header)

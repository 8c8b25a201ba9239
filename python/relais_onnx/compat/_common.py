"""What the two have in common."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .._arguments import names, wrong
from .._native import IRModule
from .._optimize import from_proto, load, optimize
from ..errors import CheckFailed, NotCheckedError

log = logging.getLogger("relais")

# What folding may add at most: the largest that the option takes.
MAX_GROWTH = 2**31 - 1


def refuse(tool: str, argument: str, value: object, default: object, instead: str = "") -> None:
    """Refuses an argument that has another value than its default."""
    same = value is default or (type(value) is type(default) and value == default)
    if same or (default is None and isinstance(value, Sequence) and not isinstance(value, str) and not value):
        return
    help = f"; {instead}" if instead else ""
    raise NotImplementedError(f"argument `{argument}` of {tool} is not supported: {value!r}{help}")


def size(text: str | int, argument: str) -> int:
    """Reads a size such as `1.5GB`."""
    if isinstance(text, int) and not isinstance(text, bool):
        if text < 0:
            raise ValueError(f"`{argument}` must not be negative: {text}")
        return text
    match = re.fullmatch(r"(\d+\.?\d*|\.\d+)\s*([KMGT]?B)", str(text).strip(), re.IGNORECASE)
    if not match:
        raise ValueError(f"`{argument}` is not a size such as `1.5GB`: {text!r}")
    return int(float(match[1]) * 1024 ** "BKMGT".index(match[2][0].upper()))


def named(value: Any, argument: str) -> list[str]:
    """A list of names; None is an empty one. A dict would be one with values that nothing asks for."""
    if isinstance(value, Mapping):
        raise wrong(value, f"`{argument}`", "a list of names")
    return names(value, f"`{argument}`")


def sizes(shape: Any, name: str, argument: str) -> list[int | str | None]:
    """A shape: sizes, names of sizes, and None for what is not fixed, as a size below zero is."""
    if isinstance(shape, (str, bytes)) or not isinstance(shape, Iterable):
        raise wrong(shape, f"the shape of `{name}` in `{argument}`", "a list of sizes")
    dims: list[int | str | None] = []
    for dim in shape:
        if dim is None or isinstance(dim, str):
            dims.append(dim)
        elif hasattr(dim, "__index__") and getattr(dim, "ndim", 0) == 0 and not isinstance(dim, bool):
            dims.append(None if dim < 0 else dim.__index__())
        else:
            raise wrong(dim, f"a size of `{name}` in `{argument}`", "an int, the name of a size, or None")
    return dims


def for_inputs(value: Mapping[str, Any], argument: str, inputs: Sequence[str]) -> None:
    """Refuses what is for an input that the model does not have."""
    for name in value:
        if name not in inputs:
            known = ", ".join(f"`{one}`" for one in inputs) or "none"
            raise ValueError(f"`{argument}`: the model has no input `{name}`; its inputs are {known}")


def switched_off(names: Iterable[str] | None, table: Mapping[str, Sequence[str]], argument: str) -> list[str]:
    """The passes here that do what others do under these names."""
    passes: list[str] = []
    for name in named(names, argument):
        if name not in table:
            log.warning("`%s` of `%s` corresponds to nothing here", name, argument)
        passes += [own for own in map(full, table.get(name, ())) if own not in passes]
    return passes


def full(name: str) -> str:
    """The full name of a shipped pass: passes of others may have its short name."""
    return f"relais.{name}"


def read(model: Any, what: str = "`model`") -> Any:
    """A model as an `onnx.ModelProto`, with its weights."""
    try:
        import onnx
    except ImportError:
        message = "what is called as another optimiser takes and returns models of the package `onnx`"
        raise ImportError(f"{message}\n  help: pip install 'relais-onnx[onnx]'") from None

    if isinstance(model, onnx.ModelProto):
        return model
    if isinstance(model, (str, os.PathLike)):
        return onnx.load(os.fspath(model))
    raise TypeError(f"{what} must be a path or an `onnx.ModelProto`, not `{type(model).__name__}`")


def module_of(model: Any) -> IRModule:
    """A model as a module."""
    if isinstance(model, (str, os.PathLike)):
        return load(model)
    return from_proto(read(model))


# What inputs consist of when two models are compared.
FILLS = ("random", "ones", "zeros", "arange")


class Runner:
    """Models in onnxruntime, if it is there."""

    def __init__(self, providers: Sequence[Any]) -> None:
        import onnxruntime  # type: ignore[import-untyped, import-not-found, unused-ignore]

        self._runtime = onnxruntime
        self._providers = providers or ["CPUExecutionProvider"]

    def session(self, module: IRModule) -> Any:
        options = self._runtime.SessionOptions()
        options.graph_optimization_level = self._runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 3
        return self._runtime.InferenceSession(module.to_bytes(), options, providers=self._providers)


def known_providers(providers: Any) -> list[Any]:
    """Execution providers that onnxruntime has. It would use its processor instead of others, and say it to `stderr`."""
    if providers is None:
        return []
    if isinstance(providers, (str, bytes, Mapping)) or not isinstance(providers, Iterable):
        raise TypeError(f"`providers` must be a list of execution providers, not `{type(providers).__name__}`")
    given = list(providers)
    if not given:
        return []
    try:
        import onnxruntime  # type: ignore[import-untyped, import-not-found, unused-ignore]

        available: list[str] = onnxruntime.get_available_providers()
    except ImportError:
        available = []
    for provider in given:
        name = provider[0] if isinstance(provider, tuple) and len(provider) == 2 else provider
        if not isinstance(name, str):
            message = f"one of `providers` must be a name, or a name with its options, not `{type(provider).__name__}`"
            raise TypeError(message)
        if not available and name != "CPUExecutionProvider":
            raise ValueError(f"`{name}` of `providers` needs onnxruntime\n  help: pip install onnxruntime")
        if available and name not in available:
            known = ", ".join(f"`{one}`" for one in available)
            raise ValueError(f"onnxruntime has no execution provider `{name}`, as `providers` asks for; it has {known}")
    return given


def _inputs(
    session: Any, shapes: Mapping[str, Sequence[Any]], data: Mapping[str, Any], seed: int, fill: str
) -> dict[str, Any]:
    import numpy as np

    random = np.random.default_rng(seed)
    feeds = {}
    for given in session.get_inputs():
        if given.name in data:
            feeds[given.name] = np.asarray(data[given.name])
            continue
        # The model's sizes of zero are unknown ones, for some exporters.
        least, shape = (0, shapes[given.name]) if given.name in shapes else (1, given.shape)
        shape = [dim if isinstance(dim, int) and dim >= least else 1 for dim in shape]
        kind = given.type.removeprefix("tensor(").removesuffix(")")
        kind = {"float": "float32", "double": "float64"}.get(kind, kind)
        if kind == "string":
            feeds[given.name] = np.full(shape, "", dtype=object)
        elif fill == "arange":
            feeds[given.name] = np.arange(np.prod(shape, dtype=np.int64)).reshape(shape).astype(kind)
        elif fill != "random":
            feeds[given.name] = np.full(shape, fill == "ones").astype(kind)
        elif kind.startswith("float"):
            feeds[given.name] = random.uniform(-1, 1, shape).astype(kind)
        elif kind == "bool":
            feeds[given.name] = random.integers(0, 2, shape).astype(np.bool_)
        else:
            feeds[given.name] = random.integers(0, 2, shape).astype(kind)
    return feeds


def agree(
    before: IRModule,
    after: IRModule,
    n: int,
    *,
    shapes: Mapping[str, Sequence[Any]] | None = None,
    data: Mapping[str, Any] | None = None,
    rtol: float = 1e-4,
    atol: float = 1e-5,
    providers: Sequence[Any] = (),
    fill: str = "random",
) -> bool:
    """Whether two models agree on `n` sets of inputs: in onnxruntime if it is there, else by the evaluators of plugins."""
    try:
        import numpy as np

        runner = Runner(providers)
    except ImportError:
        if shapes or data or fill != "random":
            log.warning("the result is not checked: onnxruntime is not installed, and inputs are given")
            return False
        return _agree_here(before, after, n, rtol, atol)
    old, new = runner.session(before), runner.session(after)
    for run in range(n):
        feeds = _inputs(old, shapes or {}, data or {}, run, fill)
        expected, got = old.run(None, feeds), new.run(None, feeds)
        for name, a, b in zip([output.name for output in old.get_outputs()], expected, got, strict=True):
            a, b = np.asarray(a), np.asarray(b)
            same = a.shape == b.shape and a.dtype == b.dtype
            if same and a.dtype.kind in "fc":
                same = np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True)
            elif same:
                same = bool((a == b).all())
            if not same:
                log.warning("output `%s` differs from the model's", name)
                return False
    return True


def _agree_here(before: IRModule, after: IRModule, n: int, rtol: float, atol: float) -> bool:
    from .. import _native

    try:
        _native.check(before, after, n, rtol, atol)
    except CheckFailed as error:
        log.warning("%s", error)
        return False
    except NotCheckedError as error:
        log.warning("%s", error)
        return False
    return True


__all__ = [
    "FILLS",
    "MAX_GROWTH",
    "agree",
    "for_inputs",
    "full",
    "known_providers",
    "log",
    "module_of",
    "named",
    "optimize",
    "read",
    "refuse",
    "size",
    "sizes",
    "switched_off",
]

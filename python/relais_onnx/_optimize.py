"""One line: a model in, a smaller one with equal results out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypedDict, TypeVar, overload

from . import _native
from ._arguments import members, names, number, paths, whole, wrong
from ._arguments import dependencies as follows
from ._arguments import path as path_of
from ._arguments import text as text_of
from ._native import IRModule, Pass, PassContext
from .rewriter import RewriteRule
from .transform import ModulePass, _pass

if TYPE_CHECKING:
    import onnx

_Path = str | os.PathLike[str]
_Shape = str | Sequence[int | str | None]


class _ModelProto(Protocol):
    """What a model of the package `onnx` has, which need not be installed."""

    @property
    def graph(self) -> Any: ...
    def SerializeToString(self) -> bytes: ...


_Proto = TypeVar("_Proto", bound=_ModelProto)


class Options(TypedDict, total=False):
    """The arguments of `optimize` that say what is done with a model."""

    level: int | None
    pipeline: _Path | None
    passes: Iterable[str | Pass | RewriteRule] | None
    disable: Iterable[str] | None
    require: Iterable[str] | None
    dependencies: Literal["transitive", "direct", "assumed"] | None
    config: Mapping[str, Any] | None
    input_shapes: Mapping[str, _Shape] | None
    inputs: Iterable[str] | None
    outputs: Iterable[str] | None
    keep: Iterable[str] | None
    target_opset: int | None
    rules: Iterable[str] | None
    rule_files: Iterable[_Path] | None
    dtype: Literal["float16", "bfloat16"] | None
    check: int
    check_rtol: float
    check_atol: float | None
    threads: int | None


def _is_proto(model: object) -> bool:
    return type(model).__name__ == "ModelProto" and hasattr(model, "SerializeToString")


def load(path: _Path) -> IRModule:
    """Reads a model from a file: ONNX, or the text form. Its weights stay in the file until they are needed."""
    name = path_of(path, "`path`")
    os.stat(name)
    return _native.read(name)


def from_bytes(data: bytes | bytearray | memoryview, *, base_dir: _Path | None = None) -> IRModule:
    """Reads a model from bytes: ONNX, or the text form. Weights in other files are looked for in `base_dir`."""
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise wrong(data, "`data`", "bytes")
    return _native.read_bytes(bytes(data), None if base_dir is None else path_of(base_dir, "`base_dir`"))


def from_proto(proto: onnx.ModelProto, *, base_dir: _Path | None = None) -> IRModule:
    """Reads a model from an `onnx.ModelProto`. Weights in other files are looked for in `base_dir`."""
    if not _is_proto(proto):
        raise wrong(proto, "`proto`", "an `onnx.ModelProto`")
    return from_bytes(proto.SerializeToString(), base_dir=base_dir)


def parse(text: str) -> IRModule:
    """Parses a module in the text form."""
    return _native.parse(text_of(text, "`text`"))


def _shapes(shapes: Mapping[str, _Shape] | None) -> list[str]:
    if shapes is None:
        return []
    if not isinstance(shapes, Mapping):
        raise wrong(shapes, "`input_shapes`", "a dict of shapes by the inputs' names")
    texts = []
    for name, shape in shapes.items():
        text_of(name, "a name in `input_shapes`")
        if isinstance(shape, (str, bytes)) or not isinstance(shape, Iterable):
            raise wrong(shape, f"the shape of `{name}`", "a list of sizes")
        dims = []
        for dim in shape:
            if dim is None:
                dims.append("?")
            elif isinstance(dim, str) and dim and "," not in dim:
                dims.append(text_of(dim, f"a size of `{name}`"))
            elif hasattr(dim, "__index__") and not isinstance(dim, bool):
                dims.append(str(dim.__index__()))
            else:
                raise wrong(dim, f"a size of `{name}`", "an int, the name of a size, or None")
        texts.append(f"{name}:{','.join(dims)}")
    return texts


@overload
def optimize(
    model: _Proto,
    *,
    out: _Path | None = ...,
    level: int | None = ...,
    pipeline: _Path | None = ...,
    passes: Iterable[str | Pass | RewriteRule] | None = ...,
    disable: Iterable[str] | None = ...,
    require: Iterable[str] | None = ...,
    dependencies: Literal["transitive", "direct", "assumed"] | None = ...,
    config: Mapping[str, Any] | None = ...,
    input_shapes: Mapping[str, _Shape] | None = ...,
    inputs: Iterable[str] | None = ...,
    outputs: Iterable[str] | None = ...,
    keep: Iterable[str] | None = ...,
    target_opset: int | None = ...,
    rules: Iterable[str] | None = ...,
    rule_files: Iterable[_Path] | None = ...,
    dtype: Literal["float16", "bfloat16"] | None = ...,
    check: int = ...,
    check_rtol: float = ...,
    check_atol: float | None = ...,
    threads: int | None = ...,
    external_data: Literal["auto", "keep", "always", "never"] = ...,
    base_dir: _Path | None = ...,
    reproducer_dir: _Path | None = ...,
) -> _Proto: ...
@overload
def optimize(
    model: _Path | IRModule,
    *,
    out: _Path | None = ...,
    level: int | None = ...,
    pipeline: _Path | None = ...,
    passes: Iterable[str | Pass | RewriteRule] | None = ...,
    disable: Iterable[str] | None = ...,
    require: Iterable[str] | None = ...,
    dependencies: Literal["transitive", "direct", "assumed"] | None = ...,
    config: Mapping[str, Any] | None = ...,
    input_shapes: Mapping[str, _Shape] | None = ...,
    inputs: Iterable[str] | None = ...,
    outputs: Iterable[str] | None = ...,
    keep: Iterable[str] | None = ...,
    target_opset: int | None = ...,
    rules: Iterable[str] | None = ...,
    rule_files: Iterable[_Path] | None = ...,
    dtype: Literal["float16", "bfloat16"] | None = ...,
    check: int = ...,
    check_rtol: float = ...,
    check_atol: float | None = ...,
    threads: int | None = ...,
    external_data: Literal["auto", "keep", "always", "never"] = ...,
    base_dir: _Path | None = ...,
    reproducer_dir: _Path | None = ...,
) -> IRModule: ...
@overload
def optimize(
    model: bytes | bytearray | memoryview,
    *,
    out: _Path | None = ...,
    level: int | None = ...,
    pipeline: _Path | None = ...,
    passes: Iterable[str | Pass | RewriteRule] | None = ...,
    disable: Iterable[str] | None = ...,
    require: Iterable[str] | None = ...,
    dependencies: Literal["transitive", "direct", "assumed"] | None = ...,
    config: Mapping[str, Any] | None = ...,
    input_shapes: Mapping[str, _Shape] | None = ...,
    inputs: Iterable[str] | None = ...,
    outputs: Iterable[str] | None = ...,
    keep: Iterable[str] | None = ...,
    target_opset: int | None = ...,
    rules: Iterable[str] | None = ...,
    rule_files: Iterable[_Path] | None = ...,
    dtype: Literal["float16", "bfloat16"] | None = ...,
    check: int = ...,
    check_rtol: float = ...,
    check_atol: float | None = ...,
    threads: int | None = ...,
    external_data: Literal["auto", "keep", "always", "never"] = ...,
    base_dir: _Path | None = ...,
    reproducer_dir: _Path | None = ...,
) -> bytes: ...
def optimize(
    model: Any,
    *,
    out: _Path | None = None,
    level: int | None = None,
    pipeline: _Path | None = None,
    passes: Iterable[str | Pass | RewriteRule] | None = None,
    disable: Iterable[str] | None = None,
    require: Iterable[str] | None = None,
    dependencies: Literal["transitive", "direct", "assumed"] | None = None,
    config: Mapping[str, Any] | None = None,
    input_shapes: Mapping[str, _Shape] | None = None,
    inputs: Iterable[str] | None = None,
    outputs: Iterable[str] | None = None,
    keep: Iterable[str] | None = None,
    target_opset: int | None = None,
    rules: Iterable[str] | None = None,
    rule_files: Iterable[_Path] | None = None,
    dtype: Literal["float16", "bfloat16"] | None = None,
    check: int = 0,
    check_rtol: float = 1e-4,
    check_atol: float | None = None,
    threads: int | None = None,
    external_data: Literal["auto", "keep", "always", "never"] = "auto",
    base_dir: _Path | None = None,
    reproducer_dir: _Path | None = None,
) -> Any:
    """Runs a pipeline over a model and returns the result as what was given: bytes for bytes, an `onnx.ModelProto` for
    one, an `IRModule` for an `IRModule` or a path.

    The settings of a `PassContext` around the call hold as well: its instruments watch, its passes are off and on, and its
    options and its level hold where the call does not state them.

    The model that is given stays as it is. Without `level`, `pipeline`, `passes`, rules and `target_opset`, the pipeline
    `default` runs.

    Args:
        model: A path, the bytes of a model, an `onnx.ModelProto`, or an `IRModule`.
        out: A file to which the result is written, too: whole, or not at all.
        level: The pipeline `O0` to `O3`; with `pipeline` or `passes`, the level of the context.
        pipeline: A pipeline in TOML, or the name of a built-in one or of one of a plugin.
        passes: Passes to run instead, in order, each on whatever its level: names, also those of passes that are registered,
            passes, and rules.
        disable: Passes that are off. `"Name?"` need not exist.
        require: Passes that are on at any level.
        dependencies: How the passes run that others require: "transitive", those of requirements, too, and none again while
            its result holds; "direct", those that a pass itself requires, each time; "assumed", none. By default as the
            pipeline says.
        config: Options: `{"Pass.option": value}`, or `{"key": value}` for one of the context.
        input_shapes: Shapes of inputs, by name: sizes, names of sizes, or None for what is not fixed.
        inputs, outputs: Values: the model is cut to the part that computes these outputs from these inputs.
        keep: Nodes, by their names or by those of values that they compute, that no pass removes or changes.
        target_opset: The version of ONNX's operator set that the model is converted to first. Alone, nothing else runs.
        rules: Rewrite rules, applied first. Each is tested on small modules before anything runs.
        rule_files: Files with such rules.
        dtype: The type in which what can be is computed in the end; inputs and outputs keep theirs, unless `config` has
            `{"ToMixedPrecision.convert_io": True}`.
        check: On how many sets of random inputs the result is compared with the model.
        check_rtol: How far floats may be apart, relative to the larger of the two.
        check_atol: How far floats may be apart in any case.
        threads: How many threads to use; by default, as many as there are processors.
        external_data: Where `out` has its weights: in it or in a file of its own, as they were ("auto"); the same, and
            beside the input in the file of that ("keep"); in a file beside it ("always"); in the model ("never").
        base_dir: The folder of the files with weights that bytes or a proto refer to.
        reproducer_dir: A folder for reproducers of passes of plugins that fail: folders with the module just before the pass
            and a pipeline that runs it alone, which `relais replay` reads. The exception names them.

    Raises:
        TypeError, ValueError: An argument has a wrong type or value.
        FileNotFoundError: There is no such model.
        ModelError: The model cannot be read, or something does not fit it.
        PipelineError: A name, an option or a pipeline cannot be resolved.
        RuleError: A rule changes what a module computes.
        PassFailed: A pass failed.
        CheckFailed, NotCheckedError: The result differs from the model, or cannot be compared with it.
        OutputError: The result cannot be written.
    """
    wanted, settings = _wanted(
        level=level,
        pipeline=pipeline,
        passes=passes,
        disable=disable,
        require=require,
        dependencies=dependencies,
        config=config,
        input_shapes=input_shapes,
        inputs=inputs,
        outputs=outputs,
        keep=keep,
        target_opset=target_opset,
        rules=rules,
        rule_files=rule_files,
        dtype=dtype,
        check=check,
        check_rtol=check_rtol,
        check_atol=check_atol,
        threads=threads,
    )
    _external(external_data)
    if out is not None:
        out = path_of(out, "`out`")
    if reproducer_dir is not None:
        reproducer_dir = path_of(reproducer_dir, "`reproducer_dir`")
    if isinstance(model, IRModule):
        module = model
    elif isinstance(model, (str, os.PathLike)):
        module = load(model)
    elif isinstance(model, (bytes, bytearray, memoryview)):
        module = from_bytes(bytes(model), base_dir=base_dir)
    elif _is_proto(model):
        module = from_proto(model, base_dir=base_dir)
    else:
        raise wrong(model, "`model`", "a path, bytes, an `onnx.ModelProto` or an `IRModule`")
    result = _native.optimize(module, wanted, settings, True, (out, external_data, reproducer_dir))
    if isinstance(model, (bytes, bytearray, memoryview)):
        return result.to_bytes()
    if _is_proto(model):
        return result.to_proto()
    return result


def pipeline(
    name: _Path,
    *,
    level: int | None = None,
    disable: Iterable[str] | None = None,
    require: Iterable[str] | None = None,
    dependencies: Literal["transitive", "direct", "assumed"] | None = None,
    config: Mapping[str, Any] | None = None,
    changes_interface: bool = False,
) -> Pass:
    """Returns a pipeline as a pass: a built-in one, such as `default` and `O1`, one of a plugin, or one in a file. It runs
    as `optimize(module, pipeline=name, …)` does: instruments of the context around it see it and its passes.

    Raises:
        PipelineError: The pipeline, a name or an option cannot be resolved.
    """
    wanted, settings = _wanted(
        pipeline=path_of(name, "`name`"),
        level=level,
        disable=disable,
        require=require,
        dependencies=dependencies,
        config=config,
    )
    _native.resolve(wanted, settings)

    def run(mod: IRModule, ctx: PassContext) -> IRModule:
        return _native.optimize(mod, wanted, settings, True)

    doc = f"The pipeline `{wanted['pipeline']}`."
    made: Pass = ModulePass(run, 0, os.path.basename(wanted["pipeline"]), None, doc, changes_interface)
    return made


def _external(external_data: str) -> None:
    if external_data not in ("auto", "keep", "always", "never"):
        raise ValueError('`external_data` must be "auto", "keep", "always" or "never"')


def _wanted(
    *,
    level: int | None = None,
    pipeline: _Path | None = None,
    passes: Iterable[str | Pass | RewriteRule] | None = None,
    disable: Iterable[str] | None = None,
    require: Iterable[str] | None = None,
    dependencies: Literal["transitive", "direct", "assumed"] | None = None,
    config: Mapping[str, Any] | None = None,
    input_shapes: Mapping[str, _Shape] | None = None,
    inputs: Iterable[str] | None = None,
    outputs: Iterable[str] | None = None,
    keep: Iterable[str] | None = None,
    target_opset: int | None = None,
    rules: Iterable[str] | None = None,
    rule_files: Iterable[_Path] | None = None,
    dtype: str | None = None,
    check: int = 0,
    check_rtol: float = 1e-4,
    check_atol: float | None = None,
    threads: int | None = None,
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """The arguments of `optimize` after they were checked, and the options of passes."""
    if pipeline is not None and passes is not None:
        raise ValueError("`pipeline` and `passes` are given; one of them says what runs")
    files = paths(rule_files, "`rule_files`")
    # One that is missing is an error of the file system, as for models.
    for file in files:
        os.stat(file)
    wanted: dict[str, Any] = {
        "level": None if level is None else whole(level, "`level`", 0, 3 if pipeline is None and passes is None else 255),
        "pipeline": None if pipeline is None else text_of(path_of(pipeline, "`pipeline`"), "`pipeline`"),
        "passes": None if passes is None else _passes(passes),
        "disable": names(disable, "`disable`"),
        "require": names(require, "`require`"),
        "dependencies": follows(dependencies),
        "input_shapes": _shapes(input_shapes),
        "inputs": names(inputs, "`inputs`"),
        "outputs": names(outputs, "`outputs`"),
        "keep": names(keep, "`keep`"),
        "target_opset": None if target_opset is None else whole(target_opset, "`target_opset`", 1, 2**31),
        "rules": names(rules, "`rules`"),
        "rule_files": files,
        "dtype": None if dtype is None else text_of(dtype, "`dtype`"),
        "check": whole(check, "`check`", 0, 1000),
        "check_rtol": number(check_rtol, "`check_rtol`"),
        "check_atol": None if check_atol is None else number(check_atol, "`check_atol`"),
        "threads": None if threads is None else whole(threads, "`threads`", 1, 1024),
    }
    if passes is not None and not wanted["passes"]:
        raise ValueError("`passes` is empty; `level=0` runs nothing")
    if config is not None and not isinstance(config, Mapping):
        raise wrong(config, "`config`", "a dict")
    for key in config or ():
        text_of(key, "a name in `config`")
    return wanted, None if config is None else dict(config)


def _passes(value: Iterable[str | Pass | RewriteRule]) -> list[str | Pass]:
    passes = [_pass(member) for member in members(value, "`passes`", "names and passes")]
    for member in passes:
        if isinstance(member, str):
            text_of(member, "a name in `passes`")
        elif not isinstance(member, Pass):
            raise wrong(member, "a member of `passes`", "a name or a Pass")
    return passes

"""`onnxslim.slim`, with the arguments of OnnxSlim 0.1.98."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, overload

from .._arguments import path, whole
from ._common import MAX_GROWTH, agree, for_inputs, log, module_of, named, optimize, refuse, sizes, switched_off

if TYPE_CHECKING:
    import onnx

__all__ = ["OnnxSlimKwargs", "slim"]

_Path = str | os.PathLike[str]


class OnnxSlimKwargs(TypedDict, total=False):
    """The arguments of `slim` beside the model and `output_model`."""

    model_check: bool
    input_shapes: Any
    inputs: list[str]
    outputs: list[str]
    no_shape_infer: bool
    skip_optimizations: list[str]
    dtype: str
    skip_fusion_patterns: list[str]
    size_threshold: int
    inspect: bool
    dump_to_disk: bool
    save_as_external_data: bool
    model_check_inputs: list[str] | None
    verbose: bool


_SCALES = ("BackwardFoldScaleAxis", "ForwardFoldScaleAxis")

_OPTIMIZATIONS: dict[str, Sequence[str]] = {
    "constant_folding": ("FoldConstant",),
    "graph_fusion": (
        "SimplifyExpr",
        "SimplifyReshape",
        "SimplifyTranspose",
        "SimplifyConcat",
        "SimplifySlice",
        "SimplifyRecurrent",
        "SimplifySequence",
        "FuseActivation",
        "FuseRmsNormalization",
        "FuseRotaryEmbedding",
        "FusePad",
        "FuseGemm",
        *_SCALES,
    ),
    "dead_node_elimination": ("EliminateNoOp", "DeadCodeElimination"),
    "subexpression_elimination": ("EliminateCommonSubexpr",),
    "weight_tying": ("EliminateCommonSubexpr",),
}

_PATTERNS: dict[str, Sequence[str]] = {
    "EliminationConcat": ("SimplifyConcat",),
    "EliminationReshape": ("SimplifyReshape",),
    "EliminationReshapeAs": ("SimplifyReshape",),
    "EliminationSlice": ("SimplifySlice",),
    "EliminationTranspose": ("SimplifyTranspose",),
    "EliminationTransposeAsReshape": ("SimplifyTranspose",),
    "EliminationTransposeViewTranspose": ("SimplifyTranspose",),
    "EliminationUnsqueeze": ("SimplifyReshape",),
    "FusionConcatReshape": ("SimplifyReshape",),
    "FusionConvAdd": _SCALES,
    "FusionConvBN": _SCALES,
    "FusionConvMul": _SCALES,
    "FusionConvTransposeAdd": _SCALES,
    "FusionConvTransposeBN": _SCALES,
    "FusionConvTransposeMul": _SCALES,
    "FusionGemm": ("FuseGemm",),
    "FusionGemmAdd": ("FuseGemm",),
    "FusionGemmMul": _SCALES,
    "FusionPadConv": ("FusePad",),
    "FusionReduce": ("SimplifyReshape",),
}

# What may follow the name of a value, after a colon.
_TYPES = ("fp16", "fp32", "int32", "bool")


def _shapes(value: Any, argument: str) -> tuple[dict[str, list[Any]], dict[str, str]]:
    """Shapes, and files with values, of a dict or of texts such as `x:1,3,224,224`."""
    if value is None:
        return {}, {}
    shapes: dict[str, list[Any]] = {}
    files: dict[str, str] = {}
    if isinstance(value, Mapping):
        for name, shape in value.items():
            shapes[name] = sizes(shape, name, argument)
        return shapes, files
    for text in named(value, argument):
        name, colon, rest = text.rpartition(":")
        if not colon:
            raise ValueError(f"`{argument}`: {text!r} is not a name and a shape, as in `x:1,3,224,224`")
        try:
            shapes[name] = sizes([int(size) for size in rest.split(",")], name, argument)
        except ValueError:
            if argument == "model_check_inputs" and rest.endswith(".npy"):
                files[name] = rest
                continue
            raise ValueError(f"`{argument}`: {text!r} is not a name and a shape, as in `x:1,3,224,224`") from None
    return shapes, files


def _values(value: Any, argument: str) -> list[str]:
    names = named(value, argument)
    for name in names:
        if name.rpartition(":")[2] in _TYPES and ":" in name:
            raise NotImplementedError(f"argument `{argument}` of onnxslim is not supported with types: {name!r}")
    return names


@contextlib.contextmanager
def _said(verbose: Any) -> Iterator[None]:
    """Lets the logger say everything, if it is asked for, to `stderr` unless it has somewhere else."""
    if not verbose:
        yield
        return
    logger = logging.getLogger("relais")
    level, handler = logger.level, None if logger.hasHandlers() else logging.StreamHandler()
    logger.setLevel(logging.DEBUG)
    if handler is not None:
        logger.addHandler(handler)
    try:
        yield
    finally:
        logger.setLevel(level)
        if handler is not None:
            logger.removeHandler(handler)


@overload
def slim(
    model: _Path | onnx.ModelProto, output_model: None = None, **kwargs: Unpack[OnnxSlimKwargs]
) -> onnx.ModelProto | None: ...
@overload
def slim(model: _Path | onnx.ModelProto, output_model: _Path, **kwargs: Unpack[OnnxSlimKwargs]) -> None: ...
# The names of its arguments are those of the original, which takes `output_model` by name, too.
def slim(model: Any, *args: Any, **kwargs: Unpack[OnnxSlimKwargs]) -> Any:  # type: ignore[misc]
    """Simplifies a model as `onnxslim.slim` is called. Returns an `onnx.ModelProto`; with `output_model`, writes that file
    and returns None. With `model_check`, also returns None if the result differs, and writes nothing.

    `docs/python.md` has a table of the arguments.

    Raises:
        NotImplementedError: An argument that is not supported has another value than its default.
        RelaisError: The model cannot be read, or something that was asked for does not fit it.
    """
    given: dict[str, Any] = dict(kwargs)
    if len(args) > 1:
        raise TypeError(f"`slim` takes a model and `output_model` by position, not {len(args) + 1} arguments")
    if args and "output_model" in given:
        raise TypeError("`slim` has `output_model` by position and by name")
    output_model = args[0] if args else given.pop("output_model", None)
    if output_model is not None:
        output_model = path(output_model, "`output_model`")
    for name in given:
        if name not in OnnxSlimKwargs.__annotations__:
            raise TypeError(f"`slim` has no argument `{name}`")
    with _said(given.pop("verbose", False)):
        return _slim(model, output_model, given)


def _slim(model: Any, output_model: Any, given: dict[str, Any]) -> Any:
    if isinstance(model, (list, tuple)):
        raise NotImplementedError("argument `model` of onnxslim is not supported as a list; use `relais inspect`")
    tool = "onnxslim"
    half = given.get("dtype") == "fp16"
    if not half:
        refuse(tool, "dtype", given.get("dtype"), None)
    refuse(tool, "inspect", given.get("inspect", False), False, "use `relais inspect`")
    refuse(tool, "dump_to_disk", given.get("dump_to_disk", False), False, "use `relais_onnx.instrument.DumpIR`")
    shapes, _ = _shapes(given.get("input_shapes"), "input_shapes")
    inputs, outputs = _values(given.get("inputs"), "inputs"), _values(given.get("outputs"), "outputs")
    disable = switched_off(given.get("skip_optimizations"), _OPTIMIZATIONS, "skip_optimizations")
    patterns = switched_off(given.get("skip_fusion_patterns"), _PATTERNS, "skip_fusion_patterns")
    disable += [name for name in patterns if name not in disable]
    config = {}
    threshold = 0 if given.get("size_threshold") is None else given["size_threshold"]
    # As there, 0 is none.
    if (threshold := whole(threshold, "`size_threshold`", -(2**63), 2**63)) != 0:
        config["relais.FoldConstant.max_growth"] = min(max(threshold, 0), MAX_GROWTH)
    tests, files = _shapes(given.get("model_check_inputs"), "model_check_inputs")

    before = module_of(model)
    for_inputs({**tests, **files}, "model_check_inputs", before["main"].input_names)
    if shapes or inputs or outputs:
        before = optimize(before, level=0, input_shapes=shapes, inputs=inputs, outputs=outputs)
    module = optimize(before, disable=disable, config=config)
    if given.get("model_check", False):
        data = {}
        for name, file in files.items():
            import numpy

            data[name] = numpy.load(file)
        if not agree(before, module, 1, shapes=tests, data=data):
            log.error("the result differs from the model")
            return None
    if half:
        module = optimize(module, level=0, dtype="float16", config={"ToMixedPrecision.convert_io": True})
    if not output_model:
        return module.to_proto()
    external: Literal["always", "auto"] = "always" if given.get("save_as_external_data", False) else "auto"
    module.save(output_model, external_data=external)
    return None

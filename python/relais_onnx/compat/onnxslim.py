"""`onnxslim.slim`, with the arguments of OnnxSlim 0.1.98."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from typing import Any, TypedDict, Unpack

from ._common import MAX_GROWTH, agree, log, module_of, optimize, refuse, switched_off

__all__ = ["OnnxSlimKwargs", "slim"]


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


def _list(value: Any, argument: str) -> list[str]:
    if value is None:
        return []
    if isinstance(value, str) or not all(isinstance(item, str) for item in value):
        raise TypeError(f"`{argument}` must be a list of names")
    return list(value)


def _shapes(value: Any, argument: str) -> tuple[dict[str, list[int]], dict[str, str]]:
    """Shapes, and files with values, of a dict or of texts such as `x:1,3,224,224`."""
    if value is None:
        return {}, {}
    if isinstance(value, dict):
        return {name: list(shape) for name, shape in value.items()}, {}
    shapes, files = {}, {}
    for text in _list(value, argument):
        name, colon, rest = text.rpartition(":")
        if not colon:
            raise ValueError(f"`{argument}`: {text!r} is not a name and a shape, as in `x:1,3,224,224`")
        try:
            shapes[name] = [int(size) for size in rest.split(",")]
        except ValueError:
            if argument == "input_shapes":
                raise ValueError(f"`{argument}`: {text!r} is not a name and a shape, as in `x:1,3,224,224`") from None
            files[name] = rest
    return shapes, files


def _values(value: Any, argument: str) -> list[str]:
    names = _list(value, argument)
    for name in names:
        if name.rpartition(":")[2] in _TYPES and ":" in name:
            raise NotImplementedError(f"argument `{argument}` of onnxslim is not supported with types: {name!r}")
    return names


def slim(model: Any, *args: Any, **kwargs: Unpack[OnnxSlimKwargs]) -> Any:
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
    output_model = args[0] if args else given.pop("output_model", None)
    given.pop("output_model", None)
    for name in given:
        if name not in OnnxSlimKwargs.__annotations__:
            raise TypeError(f"`slim` has no argument `{name}`")
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
    if given.get("size_threshold") is not None:
        config["FoldConstant.max_growth"] = min(max(int(given["size_threshold"]), 0), MAX_GROWTH)
    tests, files = _shapes(given.get("model_check_inputs"), "model_check_inputs")
    if given.get("verbose", False):
        logging.getLogger("relais").setLevel(logging.DEBUG)

    before = module_of(model)
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
    external = "always" if given.get("save_as_external_data", False) else "auto"
    module.save(os.fspath(output_model), external_data=external)
    return None

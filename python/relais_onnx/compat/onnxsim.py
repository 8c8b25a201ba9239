"""`onnxsim.simplify`, with the arguments of onnxsim 0.8.1."""

from __future__ import annotations

import os
import pathlib
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from .._native import IRModule
from .._arguments import number, path, whole
from .._optimize import from_proto
from ._common import (
    FILLS,
    MAX_GROWTH,
    agree,
    for_inputs,
    full,
    known_providers,
    log,
    module_of,
    named,
    optimize,
    read,
    refuse,
    size,
    sizes,
    switched_off,
)

if TYPE_CHECKING:
    import onnx

__all__ = ["simplify"]

# So often a function of the caller may change what passes make of its result.
_ROUNDS = 50

_SCALES = ("BackwardFoldScaleAxis", "ForwardFoldScaleAxis")

# Passes of the ONNX optimizer, and what does their work here.
_OPTIMIZERS: dict[str, Sequence[str]] = {
    "adjust_add": (),
    "eliminate_common_subexpression": ("EliminateCommonSubexpr",),
    "eliminate_consecutive_idempotent_ops": ("SimplifyExpr",),
    "eliminate_deadend": ("DeadCodeElimination",),
    "eliminate_duplicate_initializer": ("EliminateCommonSubexpr",),
    "eliminate_identity": ("EliminateNoOp",),
    "eliminate_nop_cast": ("EliminateNoOp",),
    "eliminate_nop_concat": ("EliminateNoOp",),
    "eliminate_nop_dropout": ("EliminateNoOp",),
    "eliminate_nop_expand": ("EliminateNoOp",),
    "eliminate_nop_flatten": ("EliminateNoOp",),
    "eliminate_nop_monotone_argmax": ("SimplifyExpr",),
    "eliminate_nop_pad": ("EliminateNoOp",),
    "eliminate_nop_reshape": ("EliminateNoOp",),
    "eliminate_nop_split": ("EliminateNoOp",),
    "eliminate_nop_transpose": ("EliminateNoOp",),
    "eliminate_nop_with_unit": ("EliminateNoOp",),
    "eliminate_shape_gather": ("FoldConstant",),
    "eliminate_shape_op": ("FoldConstant",),
    "eliminate_slice_after_shape": ("FoldConstant",),
    "eliminate_unused_initializer": ("DeadCodeElimination",),
    "extract_constant_to_initializer": (),
    "fuse_add_bias_into_conv": _SCALES,
    "fuse_bn_into_conv": _SCALES,
    "fuse_concat_into_reshape": ("SimplifyReshape",),
    "fuse_consecutive_concats": ("SimplifyConcat",),
    "fuse_consecutive_log_softmax": ("SimplifyExpr",),
    "fuse_consecutive_reduce_unsqueeze": ("SimplifyReshape",),
    "fuse_consecutive_slices": ("SimplifySlice",),
    "fuse_consecutive_squeezes": ("SimplifyReshape",),
    "fuse_consecutive_transposes": ("SimplifyTranspose",),
    "fuse_consecutive_unsqueezes": ("SimplifyReshape",),
    "fuse_matmul_add_bias_into_gemm": ("FuseGemm",),
    "fuse_pad_into_conv": ("FusePad",),
    "fuse_pad_into_pool": ("FusePad",),
    "fuse_qkv": (),
    "fuse_transpose_into_gemm": ("FuseGemm",),
    "replace_einsum_with_matmul": ("SimplifyExpr",),
}


def _shapes(shapes: Any, argument: str, inputs: list[str]) -> dict[str, list[Any]]:
    """Shapes by name; `None` is the name of the one input that there is."""
    if shapes is None:
        return {}
    if not isinstance(shapes, dict):
        raise TypeError(f"`{argument}` must be a dict of shapes by the inputs' names, not `{type(shapes).__name__}`")
    by_name = {}
    for name, shape in shapes.items():
        if name is None:
            if len(inputs) != 1:
                raise ValueError(f"`{argument}` names no input, and the model has {len(inputs)}")
            name = inputs[0]
        by_name[name] = sizes(shape, name, argument)
    return by_name


def _pairs(rules: Any) -> list[tuple[Any, Any]]:
    """Rules: pairs of functions, a pattern and its replacement."""
    if rules is None:
        return []
    if isinstance(rules, (str, bytes, Mapping)) or not isinstance(rules, Iterable):
        raise TypeError(f"`function_rewrite_rules` must be a list of pairs, not `{type(rules).__name__}`")
    pairs = list(rules)
    if not pairs:
        return []
    import onnx

    for pair in pairs:
        is_pair = isinstance(pair, (tuple, list)) and len(pair) == 2
        if not is_pair or not all(isinstance(function, onnx.FunctionProto) for function in pair):
            given = f"`{type(pair).__name__}`"
            if isinstance(pair, (tuple, list)):
                given = f"({', '.join(type(member).__name__ for member in pair)})"
            message = "a rule in `function_rewrite_rules` must be a pair of `onnx.FunctionProto`, a pattern and its replacement"
            raise TypeError(f"{message}, not {given}")
    return pairs


def _rule_file(rules: Sequence[tuple[Any, Any]], folder: str) -> pathlib.Path:
    """A file of rules."""
    import onnx

    graph = onnx.helper.make_graph([], "rules", [], [])
    model = onnx.helper.make_model(graph)
    for at, (pattern, replacement) in enumerate(rules):
        for function, end in ((pattern, "pattern"), (replacement, "replacement")):
            copy = model.functions.add()
            copy.CopyFrom(function)
            copy.domain, copy.name = "rules", f"rule{at}_{end}"
    file = pathlib.Path(folder) / "function_rewrite_rules.onnx"
    file.write_bytes(model.SerializeToString())
    return file


def _rewritten(module: IRModule, rewriter: Callable[[Any], Any], simplified: Callable[[IRModule], IRModule]) -> IRModule:
    """What a function makes of a module, and `simplified` of that, until the function changes nothing."""
    for _ in range(_ROUNDS):
        proto = module.to_proto()
        old = from_proto(proto)
        result = rewriter(proto)
        if result is False:
            return module
        # Without a result, it may have changed what it was given.
        new = from_proto(read(proto if result is None else result, "what `custom_rewriter` returns"))
        if new == old:
            return module
        module = simplified(new)
    log.warning("`custom_rewriter` still changes the model after %d rounds", _ROUNDS)
    return module


def simplify(
    model: str | os.PathLike[str] | onnx.ModelProto,
    check_n: int = 0,
    perform_optimization: bool = True,
    skip_fuse_bn: bool = False,
    overwrite_input_shapes: Any = None,
    test_input_shapes: Any = None,
    skipped_optimizers: list[str] | None = None,
    skip_constant_folding: bool = False,
    skip_shape_inference: bool = False,
    input_data: Any = None,
    dynamic_input_shape: bool = False,
    custom_lib: str | None = None,
    include_subgraph: bool = False,
    unused_output: Sequence[str] | None = None,
    tensor_size_threshold: str = "1.5GB",
    mutable_initializer: bool = False,
    *,
    initializers_as_constants: bool = True,
    inline_functions: bool = False,
    import_custom_schemas: bool = True,
    input_shapes: Any = None,
    target_opset_version: int | Literal["latest"] | None = None,
    extra_optimizers: list[str] | None = None,
    custom_rewriter: Callable[[Any], Any] | None = None,
    function_rewrite_rules: Sequence[tuple[Any, Any]] | None = None,
    check_rtol: float = 1e-4,
    check_atol: float = 1e-5,
    input_fill: str = "random",
    providers: Sequence[Any] | None = None,
    gemm_fusion_backend: str = "ort_cpu",
    profile: str | None = None,
    ort_profile: str | None = None,
    merge_ort_profile: bool = False,
    output_path: str | os.PathLike[str] | None = None,
    external_data_threshold: str = "100MB",
    range_opt: bool = False,
    certify: bool | None = None,
    check_hazards: bool = False,
    check_gradients: bool = False,
    gradient_precision: str = "fp32",
) -> tuple[onnx.ModelProto, bool]:
    """Simplifies a model as `onnxsim.simplify` is called. Returns an `onnx.ModelProto`, and whether the checks that
    `check_n` asks for succeeded; True without any.

    `docs/python.md` has a table of the arguments.

    Raises:
        NotImplementedError: An argument that is not supported has another value than its default.
        RelaisError: The model cannot be read, or something that was asked for does not fit it.
    """
    tool = "onnxsim"
    refuse(tool, "custom_lib", custom_lib, None, "plugins describe operators: `relais_onnx.add_plugins`")
    refuse(tool, "mutable_initializer", mutable_initializer, False)
    refuse(tool, "initializers_as_constants", initializers_as_constants, True)
    if isinstance(target_opset_version, str):
        refuse(tool, "target_opset_version", target_opset_version, None, "give its number")
    refuse(tool, "extra_optimizers", extra_optimizers, None)
    if custom_rewriter is not None and not callable(custom_rewriter):
        raise TypeError(f"`custom_rewriter` must be a function of a model, not `{type(custom_rewriter).__name__}`")
    if custom_rewriter is not None and function_rewrite_rules:
        raise ValueError("`custom_rewriter` and `function_rewrite_rules` exclude each other")
    rules = _pairs(function_rewrite_rules)
    if input_fill not in FILLS:
        raise ValueError(f"`input_fill` must be one of {', '.join(FILLS)}, not {input_fill!r}")
    refuse(tool, "gemm_fusion_backend", gemm_fusion_backend, "ort_cpu")
    refuse(tool, "profile", profile, None, "use `relais_onnx.instrument.PassTimingInstrument`")
    refuse(tool, "ort_profile", ort_profile, None)
    refuse(tool, "merge_ort_profile", merge_ort_profile, False)
    refuse(tool, "range_opt", range_opt, False)
    refuse(tool, "certify", None if certify is False else certify, None)
    refuse(tool, "check_hazards", check_hazards, False)
    refuse(tool, "check_gradients", check_gradients, False)
    refuse(tool, "gradient_precision", gradient_precision, "fp32")
    check_n = whole(check_n, "`check_n`", 0, 2**31)
    check_rtol, check_atol = number(check_rtol, "`check_rtol`"), number(check_atol, "`check_atol`")
    usable = known_providers(providers)
    opset = None if isinstance(target_opset_version, str) else target_opset_version
    if output_path is not None:
        output_path = path(output_path, "`output_path`")
        if not isinstance(model, (str, os.PathLike)):
            raise ValueError(f"`output_path` needs a path as `model`, not `{type(model).__name__}`")
    if input_shapes is not None:
        log.warning("`input_shapes` is `overwrite_input_shapes` and `test_input_shapes` in one")
        overwrite_input_shapes = test_input_shapes = input_shapes

    disable = switched_off(skipped_optimizers, _OPTIMIZERS, "skipped_optimizers")
    if skip_fuse_bn:
        disable += [name for name in map(full, _SCALES) if name not in disable]
    if skip_constant_folding and full("FoldConstant") not in disable:
        disable.append(full("FoldConstant"))
    config = {}
    if tensor_size_threshold != "1.5GB":
        config["relais.FoldConstant.max_growth"] = min(size(tensor_size_threshold, "tensor_size_threshold"), MAX_GROWTH)
    threshold = size(external_data_threshold, "external_data_threshold")

    before = module_of(model)
    inputs = before["main"].input_names
    shapes = _shapes(overwrite_input_shapes, "overwrite_input_shapes", inputs)
    tests = _shapes(test_input_shapes, "test_input_shapes", inputs)
    for_inputs(tests, "test_input_shapes", inputs)
    if input_data is not None and not isinstance(input_data, Mapping):
        raise TypeError(f"`input_data` must be a dict of arrays by the inputs' names, not `{type(input_data).__name__}`")
    for_inputs(input_data or {}, "input_data", inputs)
    if unused := named(unused_output, "unused_output"):
        outputs = before["main"].output_names
        for name in unused:
            if name not in outputs:
                raise RuntimeError(f"the model has no output `{name}`")
        kept = [name for name in outputs if name not in unused]
        if not kept:
            raise ValueError("`unused_output` names all outputs of the model; one has to be left")
        # The check compares what is left.
        before = optimize(before, level=0, outputs=kept)
    if shapes:
        before = optimize(before, level=0, input_shapes=shapes)
    module = before
    if opset is not None:
        module = optimize(module, target_opset=opset)
    if inline_functions:
        module = optimize(module, passes=[full("Inline"), full("RemoveUnusedFunctions")])

    def simplified(module: IRModule) -> IRModule:
        if perform_optimization:
            return optimize(module, disable=disable, config=config)
        if not skip_constant_folding:
            passes = map(full, ("InferType", "FoldConstant", "DeadCodeElimination"))
            return optimize(module, passes=list(passes), config=config)
        return module

    if rules:
        with tempfile.TemporaryDirectory() as folder:
            module = optimize(module, rule_files=[_rule_file(rules, folder)])
    module = simplified(module)
    if custom_rewriter is not None:
        module = _rewritten(module, custom_rewriter, simplified)
    fine = True
    if check_n > 0:
        fine = agree(
            before,
            module,
            check_n,
            shapes=tests,
            data=input_data,
            rtol=check_rtol,
            atol=check_atol,
            providers=usable,
            fill=input_fill,
        )
    if output_path is not None:
        module.save(output_path, threshold=threshold)
        import onnx

        return onnx.load(output_path, load_external_data=False), fine
    return module.to_proto(), fine

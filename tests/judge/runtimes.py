"""Runs a model: in onnxruntime with its optimisations off, or in the reference evaluator of the `onnx` package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import ml_dtypes  # noqa: F401  # registers the short element types with numpy
import numpy as np
import onnx
import onnx.inliner
import onnxruntime
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

from judge.values import Value

ONNXRUNTIME = "onnxruntime"
REFERENCE = "reference evaluator"
QUIET = 4


class Sum(OpRun):
    """Adds its terms to the first one. The package's own adds them to 0, which makes 0.0 of a -0.0."""

    def _run(self, first, *others):
        for term in others:
            first = first + term
        return (first.copy(),)


class CannotRun(Exception):
    """This runtime does not run this model."""


def run(runtime: str, model: Path, feeds: Mapping[str, Value]) -> Sequence[Value]:
    """The outputs of the model in order."""
    runner = run_onnxruntime if runtime == ONNXRUNTIME else run_reference
    try:
        return runner(model, feeds)
    except Exception as error:  # either runtime raises whatever its kernels raise
        raise CannotRun(f"{type(error).__name__}: {error}") from error


def session(model: Path | bytes, n_threads: int = 1, written: Path | None = None) -> onnxruntime.InferenceSession:
    """A session that runs the model as it is written; `written` is for what it makes of it even so."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = n_threads
    options.inter_op_num_threads = 1
    options.log_severity_level = QUIET
    options.use_deterministic_compute = True
    if written is not None:
        options.optimized_model_filepath = str(written)
    source = model if isinstance(model, bytes) else str(model)
    return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def load_error(model: Path) -> str:
    """Why onnxruntime does not load the model; empty if it does."""
    try:
        session(model)
    except Exception as error:  # noqa: BLE001 - onnxruntime has an exception for each status
        return str(error) or type(error).__name__
    return ""


def run_onnxruntime(model: Path, feeds: Mapping[str, Value]) -> Sequence[Value]:
    return session(model).run(None, {name: for_onnxruntime(value) for name, value in feeds.items()})


def for_onnxruntime(value: Value) -> Value:
    """Element types that numpy does not have itself are handed over with their ONNX type."""
    if not isinstance(value, np.ndarray) or value.dtype.kind in "OSU" or value.dtype.isbuiltin == 1:
        return value
    element = onnx.helper.np_dtype_to_tensor_dtype(value.dtype)
    return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(value.view(f"u{value.itemsize}"), element)


def stated(model: onnx.ModelProto) -> onnx.ModelProto:
    """What the package leaves out: it gives no attribute of a function its default, and takes what the last output without a
    name was for an argument that is absent."""
    defaults = {(function.domain, function.name): function.attribute_proto for function in model.functions}
    graphs: list[onnx.GraphProto | onnx.FunctionProto] = [model.graph, *model.functions]
    while graphs:
        for at, node in enumerate(graphs.pop().node):
            graphs += [attribute.g for attribute in node.attribute if attribute.HasField("g")]
            given = {attribute.name for attribute in node.attribute}
            node.attribute.extend(one for one in defaults.get((node.domain, node.op_type), ()) if one.name not in given)
            for index, name in enumerate(node.output):
                node.output[index] = name or f"unused/{at}/{index}"
    return model


def run_reference(model: Path, feeds: Mapping[str, Value]) -> Sequence[Value]:
    with np.errstate(all="ignore"):
        loaded = stated(onnx.load(model))
        if loaded.functions:
            # Operators whose definition depends on types are looked for by the types of values, which functions lack.
            loaded = onnx.shape_inference.infer_shapes(onnx.inliner.inline_local_functions(loaded))
        return list(ReferenceEvaluator(loaded, new_ops=[Sum]).run(None, dict(feeds)))

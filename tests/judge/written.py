"""Models that were written from text: the checker of `onnx` accepts each, and onnxruntime loads what it has kernels for."""

from __future__ import annotations

from pathlib import Path

import onnx
import onnxruntime

from judge.report import Report

# What onnxruntime says of operators that it does not have.
UNKNOWN = ("is not a registered function/op", "NOT_IMPLEMENTED", "is under development", "unsupported opset")

# What the checker says of values of unknown rank, which onnxruntime takes.
UNRANKED = "Field 'shape' of 'type' is required"

# What it says of values without a type: results of operators that nobody knows, and of the model's own functions.
UNTYPED = "Field 'type' of 'value_info' is required"


def problems(path: Path) -> list[str]:
    model = onnx.load(path)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    allowed = [UNRANKED, UNTYPED] if model.functions else [UNRANKED]
    try:
        onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # noqa: BLE001 - onnxruntime has an exception for each status
        if not any(unknown in str(error) for unknown in UNKNOWN):
            return [f"onnxruntime: {error}"]
        allowed.append(UNTYPED)
    try:
        onnx.checker.check_model(model)
    except onnx.checker.ValidationError as error:
        if not any(text in str(error) for text in allowed):
            return [f"the checker: {error}"]
    return []


def command(folder: Path) -> int:
    report = Report()
    for path in sorted(folder.glob("*.onnx")):
        report.judged(path.stem, problems(path))
    return report.finish()

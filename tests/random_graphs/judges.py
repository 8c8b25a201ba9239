"""Who judges a model. One that took the input takes the result."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
import onnxruntime

from judge import runtimes

Judge = Callable[[Path, Mapping[str, object]], Sequence[object] | None]


def checker(path: Path, feeds: Mapping[str, object]) -> None:
    onnx.checker.check_model(str(path))


def full_checker(path: Path, feeds: Mapping[str, object]) -> None:
    onnx.checker.check_model(str(path), full_check=True)


def optimizing(path: Path, feeds: Mapping[str, object]) -> None:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = runtimes.QUIET
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    session.run(None, {name: runtimes.for_onnxruntime(array) for name, array in feeds.items()})


@functools.cache
def core():
    import openvino

    return openvino.Core()


def openvino(path: Path, feeds: Mapping[str, object]) -> None:
    core().compile_model(core().read_model(path), "CPU")


JUDGES: dict[str, Judge] = {
    "checker": checker,
    "full checker": full_checker,
    runtimes.ONNXRUNTIME: runtimes.run_onnxruntime,
    "onnxruntime optimizing": optimizing,
    runtimes.REFERENCE: runtimes.run_reference,
}
if importlib.util.find_spec("openvino"):
    JUDGES["OpenVINO"] = openvino


def verdicts(path: Path, feeds: Mapping[str, object], judges: Sequence[str], stage: Callable[[str], None]) -> dict[str, object]:
    """By judge what it computes, or the error with which it refuses the model."""
    said: dict[str, object] = {}
    for name in judges:
        stage(name)
        try:
            with np.errstate(all="ignore"):
                said[name] = JUDGES[name](path, feeds)
        except Exception as error:  # each judge raises whatever it likes
            said[name] = error
    return said

"""Who judges a model. One that took the input takes the result."""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import signal
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
import onnxruntime

from judge import runtimes

SECONDS = 300
"""The most that a process of a judge takes."""
MOST_BYTES = 1 << 15
"""The most of a message that it sends: what a pipe takes at once."""
Judge = Callable[[Path, Mapping[str, object]], Sequence[object] | None]
OWN_FAULTS = (
    r"FusedMatMul alpha attribute must be finite",
    r"InlineIfSubgraph.* is not If node's input or previous node output",
    r"Type 'tensor\(float8\w+\)' of input parameter",  # it drops a DequantizeLinear
    r"External data path for model loaded from bytes escapes",  # it computes a part of the model from memory
    r"Op \(QuantizeLinear\) \[TypeInferenceError\] output_dtype INT8 does not match y_zero_point type UINT8",
    r"ended with status -11, of a Loop in an If in an If",  # `If` nodes with constant conditions, which it inlines
)
"""What onnxruntime says where its own optimisations made something that it then refuses."""
OPENVINO_LACKS = (
    r"unsupported src_prc: f64",
    r"Unknown type|Unsupported type",  # constants of strings and of floats of four bits
    # A name that graphs beside each other have is one value.
    r"then_results.size\(\) == else_results.size\(\)",
    # An initializer that is an input and an output.
    r"was declared as a graph output but is not produced",
    r"FQ stripping failed",  # a pair of Q and DQ that is an output
    r"No suitable implementations",
    # The rank of what a Scan gathers, and of an empty constant.
    r"pads_begin_coord->size\(\)",
    r"Number of reduction axes \(1\) is larger than the input tensor's rank \(0\)",
)
"""What OpenVINO says of valid models, of which it took others by chance: the same nodes, with something unknown before
them."""
UNDERSTOOD_SINCE = {"BatchNormalization": 14, "Hardmax": 13, "LogSoftmax": 13, "OptionalGetElement": 99, "Softmax": 13}
"""By operator the operator set before which the reference evaluator takes it for another one. Of what it gets from an
optional it makes a list."""


def checker(path: Path, feeds: Mapping[str, object]) -> None:
    onnx.checker.check_model(str(path))


def full_checker(path: Path, feeds: Mapping[str, object]) -> None:
    onnx.checker.check_model(str(path), full_check=True)


def optimizing(path: Path, feeds: Mapping[str, object]) -> None:
    """In a process of its own, which it may end."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        signal.alarm(SECONDS)
        said = ""
        try:
            run_optimizing(path, feeds)
        except Exception as error:  # it raises whatever it likes
            said = str(error) or repr(error)
        os.write(writer, said.encode()[:MOST_BYTES])
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8", errors="replace") as pipe:
        said = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status:
        whole = onnx.load(path, load_external_data=False)
        said = f"ended with status {status}{', of a Loop in an If in an If' if loops_in_choices(whole, whole.graph.node) else ''}"
    if said:
        raise RuntimeError(said)


def loops_in_choices(whole: onnx.ModelProto, nodes: Sequence[onnx.NodeProto], depth: int = 0) -> bool:
    """Whether there is a loop in a branch of an `If` in a branch of another."""
    functions = {(function.domain, function.name): function for function in whole.functions}
    for node in nodes:
        if depth >= 2 and node.op_type in ("Loop", "Scan"):
            return True
        inner = [graph for attribute in node.attribute for graph in (attribute.g, *attribute.graphs)]
        inner += [functions[key] for key in [(node.domain, node.op_type)] if key in functions]
        if any(loops_in_choices(whole, graph.node, depth + (node.op_type == "If")) for graph in inner):
            return True
    return False


def run_optimizing(path: Path, feeds: Mapping[str, object]) -> None:
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


def is_misread(operators: Collection[str], opset: int) -> bool:
    """Whether the reference evaluator computes something else of a model with these operators."""
    return any(opset < UNDERSTOOD_SINCE.get(name, 0) for name in operators)


def is_excused(error: Exception, excused: Sequence[str]) -> bool:
    return any(re.search(text, str(error), re.DOTALL) for text in excused)


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

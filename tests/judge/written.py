"""Models that were written: the checker of `onnx` accepts each, and onnxruntime loads what it has kernels for.

What a pipeline made, `NAME-after.onnx`, passes every check that `NAME-before.onnx` passes, and loads if that loads.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import onnx

from judge import graphs, pool, runtimes, values
from judge.cases import Case
from judge.graphs import Validity
from judge.pool import Died
from judge.report import Report

# How long one model may take, and how many are judged at a time.
MODEL_SECONDS = 300.0
N_JOBS = 2

# What onnxruntime says of operators that it does not have.
UNKNOWN = ("is not a registered function/op", "NOT_IMPLEMENTED", "is under development", "unsupported opset")

# What the checker says of values of unknown rank, which onnxruntime takes.
UNRANKED = "Field 'shape' of 'type' is required"

# What it says of values without a type: results of operators that nobody knows, and of the model's own functions.
UNTYPED = "Field 'type' of 'value_info' is required"

# The domains whose operators Relais describes.
DESCRIBED = ("", "ai.onnx", "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training")

# What both say of random modules that mean nothing, however they are written: of calls that their operators do not take
# or that have no operator, of branches that contradict each other, of types that a module states in part or that ONNX
# does not have, and of a graph without outputs.
MEANINGLESS = (
    "[ShapeInferenceError]",
    "[TypeInferenceError]",
    "type inference failed",
    "Type Error: Type",
    "deprecated",
    "No Op registered for",
    "has no data attributes",
    "Exception during initialization",
    UNTYPED,
    "Field 'elem_type' of 'type' is required",
    "Field 'value_type' of 'type' is required",
    "Invalid tensor data type ",
    "Unsupported type proto value case:0",
    # A table whose rows lead around in a circle is followed until the stack is full; an empty depth is read.
    "the process ended with status",
)


@dataclass(frozen=True)
class Judged:
    """What the authorities say of a model."""

    validity: Validity
    invalid: str
    """Why it does not pass the next check."""
    not_loaded: str
    """Why onnxruntime does not load it."""


def judge(path: Path, stage: pool.Callable[[str], None]) -> Judged:
    stage("the checker")
    validity = graphs.validity(path)
    stage("onnxruntime")
    return Judged(*validity, runtimes.load_error(path))


def judge_all(paths: list[Path]) -> dict[Path, Judged]:
    """Judges each model apart from the others: random ones may end the process of the runtime."""
    judged = {}
    for done in pool.run(judge, paths, N_JOBS, MODEL_SECONDS):
        result = done.result
        if isinstance(result, Died) and result.stage == "onnxruntime":
            result = Judged(*graphs.validity(done.task), result.why)
        elif isinstance(result, Died):
            result = Judged(Validity.NONE, f"{result.stage}: {result.why}", "")
        judged[done.task] = result
    return dict(sorted(judged.items()))


def may_be_untyped(model: onnx.ModelProto) -> bool:
    """Whether it calls functions of its own, or operators that nobody described to whom wrote it."""
    return len(model.functions) > 0 or any(node.domain not in DESCRIBED for node in graphs.nodes(model))


def problems(path: Path, judged: Judged) -> list[str]:
    """What is wrong with a model, whatever it was made from."""
    found = []
    is_unknown = any(unknown in judged.not_loaded for unknown in UNKNOWN)
    if judged.validity is Validity.NONE:
        allowed = [UNRANKED, UNTYPED] if may_be_untyped(onnx.load(path)) else [UNRANKED]
        if not any(text in judged.invalid for text in allowed):
            found.append(f"the checker: {judged.invalid}")
    if judged.not_loaded and not is_unknown:
        found.append(f"onnxruntime: {judged.not_loaded}")
    return found


def losses(before: Judged, after: Judged) -> list[str]:
    """What a model passed before, and does not pass after."""
    found = []
    if after.validity < before.validity:
        found.append(f"the checker accepted it before: {after.invalid}")
    if after.not_loaded and not before.not_loaded:
        found.append(f"onnxruntime loaded it before: {after.not_loaded}")
    return found


def fails(path: Path) -> bool:
    """Whether onnxruntime loads a model, and then fails to run it, or ends."""
    (done,) = pool.run(runs, [path], 1, MODEL_SECONDS)
    return done.result is not True


def runs(path: Path, stage: pool.Callable[[str], None]) -> bool:
    """Whether onnxruntime runs a model, if it loads it."""
    stage("onnxruntime")
    try:
        feeds = values.feeds(Case("model", path.stem, path.parent), onnx.load(path))
        runtimes.run(runtimes.ONNXRUNTIME, path, feeds)
    except runtimes.CannotRun:
        return bool(runtimes.load_error(path))
    except values.NoInputs:
        return True
    return True


def is_meaningless(problems: list[str]) -> bool:
    return len(problems) > 0 and all(any(text in problem for text in MEANINGLESS) for problem in problems)


# `random` modules that mean nothing are set apart, if they are few; of models that were `read`, whatever they are, only
# losses count.
def command(folder: Path, *, random: bool, read: bool) -> int:
    report = Report()
    n_apart = 0
    judged = judge_all(list(folder.glob("*.onnx")))
    for path, model in judged.items():
        before = judged.get(path.with_name(path.name.replace("-after.", "-before.")), model)
        found = [] if read else problems(path, model)
        lost = losses(before, model)
        if random and is_meaningless(found):
            n_apart += 1
            found = []
        # A constant may show what went unnoticed before: that a call cannot be computed.
        if random and is_meaningless(lost) and fails(path.with_name(path.name.replace("-after.", "-before."))):
            n_apart += 1
            lost = []
        report.judged(path.stem, found + lost)
    full = sum(model.validity is Validity.FULL for model in judged.values())
    loaded = sum(not model.not_loaded for model in judged.values())
    if random:
        print(f"{n_apart} mean nothing")
        report.judged("random modules", ["most mean nothing"] if 4 * n_apart > len(judged) else [])
    print(f"{full} pass the full check, onnxruntime loads {loaded}")
    return report.finish()

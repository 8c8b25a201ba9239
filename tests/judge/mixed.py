"""Models in a lower precision: they run, compute nearly the same, and take half the bytes.

A model fails if a value that is finite in `float32` is not, if one differs by more than a share of the range of its output,
if its interface is another one, or if it is one of weights that do not take half the bytes. `float16` runs in onnxruntime,
`bfloat16`, for which that has no kernels, in the reference evaluator.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnxruntime

from judge import graphs, runtimes, values
from judge.cases import Case, find
from judge.relais import Relais
from judge.report import Report, table

REAL = ("captcha", "nudenet_yolov8", "orientation", "ppocr_v4_recognition", "silero_vad_v6")
"""Of the models with trained weights, if none is named: convolutions before a recurrent network, a detector, a classifier,
attention, a recurrent network."""
RUNTIMES = {"float16": runtimes.ONNXRUNTIME, "bfloat16": runtimes.REFERENCE}
MOST_APART = {"float16": 0.01, "bfloat16": 0.08}
"""Of the range of an output: as many steps of the type for both."""
MOST_BYTES = 0.52
WEIGHTS = 2**20
"""Files of so many bytes consist of weights for the most part."""
N_RUNS = 15


@dataclass
class Outcome:
    problems: list[str]
    apart: float = 0.0
    ratio: float = 0.0
    casts: str = ""
    milliseconds: tuple[float, float] | None = None


def command(relais: Relais, models: Path, kinds: list[str], names: list[str], dtype: str) -> int:
    report = Report()
    rows = []
    if kinds == ["real"] and not names:
        names = list(REAL)
        missing = set(REAL) - {case.name for case in find(models, kinds, names)}
        for name in sorted(missing):
            report.failed(f"real/{name}", "the model is missing")
    n_left_out = 0
    for case in find(models, kinds, names):
        with tempfile.TemporaryDirectory(prefix="judge-") as folder:
            outcome = judge(relais, case, Path(folder) / "out.onnx", dtype)
        if outcome is None:
            n_left_out += 1
            continue
        report.judged(str(case), outcome.problems)
        times = [f"{ms:.2f}" for ms in outcome.milliseconds] if outcome.milliseconds else ["-", "-"]
        rows.append([str(case), f"{100 * outcome.apart:.3f} %", f"{outcome.ratio:.3f}", outcome.casts, *times])
    print(table([f"model in {dtype}", "apart", "bytes", "casts", "ms before", "ms"], rows))
    print(f"{n_left_out} left out: the runtime does not run them as they are")
    return report.finish()


def judge(relais: Relais, case: Case, out: Path, dtype: str) -> Outcome | None:
    """`None` if there is nothing to compare with."""
    before = graphs.load(case.model)
    runtime = RUNTIMES[dtype]
    try:
        feeds = values.feeds(case, before)
        old = runtimes.run(runtime, case.model, feeds)
    except (values.NoInputs, runtimes.CannotRun):
        return None
    ran = relais.run(case.model, out, "--dtype", dtype)
    if ran.problems:
        return Outcome(ran.problems)
    after = graphs.load(out)
    outcome = Outcome(graphs.interface_problems(before, after))
    reached, why = graphs.validity(out)
    if reached < graphs.validity(case.model)[0]:
        outcome.problems.append(f"invalid: {why}")
    outcome.casts = f"{sum(node.op_type == 'Cast' for node in graphs.nodes(after))} of {graphs.n_operators(after)}"
    old_size = graphs.size_on_disk(case.model)
    outcome.ratio = graphs.size_on_disk(out) / old_size
    if old_size >= WEIGHTS and outcome.ratio > MOST_BYTES:
        outcome.problems.append(f"{outcome.ratio:.3f} times the bytes, at most {MOST_BYTES} wanted")
    try:
        new = runtimes.run(runtime, out, feeds)
    except runtimes.CannotRun as error:
        outcome.problems.append(f"the result does not run: {error}")
        return outcome
    for output, a, b in zip(before.graph.output, old, new, strict=True):
        apart, why = difference(a, b)
        outcome.apart = max(outcome.apart, apart)
        if why or apart > MOST_APART[dtype]:
            outcome.problems.append(f"output `{output.name}` {why or f'is {100 * apart:.3f} % of its range apart'}")
    if case.kind == "real" and dtype == "float16":
        outcome.milliseconds = latencies(case.model, out, feeds)
    return outcome


def difference(old: values.Value, new: values.Value) -> tuple[float, str]:
    """The largest difference as a share of the range of the finite values, and why the two cannot be compared."""
    if not isinstance(old, np.ndarray) or not values.is_float(old.dtype):
        return 0.0, values.difference(old, new, exact=True)
    if why := values.difference(old, new, exact=False):
        return 0.0, why
    a, b = old.astype(np.float64), np.asarray(new).astype(np.float64)
    finite = np.isfinite(a)
    if not np.isfinite(b[finite]).all():
        return 0.0, "has infinities or NaN that it had not"
    if not finite.any():
        return 0.0, ""
    # One value, or several that are equal, have no range but themselves.
    span = np.ptp(a[finite]) or np.abs(a[finite]).max()
    off = np.abs(a - b)[finite].max()
    return (float(off / span) if span else float(off)), ""


def latencies(before: Path, after: Path, feeds: Mapping[str, values.Value]) -> tuple[float, float]:
    """The least milliseconds of a run, with all optimisations of onnxruntime and one thread; the two take turns."""
    least = [float("inf"), float("inf")]
    sessions = [optimised(before), optimised(after)]
    for _ in range(N_RUNS):
        for at, session in enumerate(sessions):
            start = time.perf_counter()
            session.run(None, dict(feeds))
            least[at] = min(least[at], 1000 * (time.perf_counter() - start))
    return least[0], least[1]


def optimised(model: Path) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = runtimes.QUIET
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])

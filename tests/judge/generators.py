"""How fast the C is that `relais build` makes: beside onnxruntime, the C of emx-onnx-cgen, and C by hand."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnxruntime
from onnx import numpy_helper

from judge import graphs, values
from judge.built import MODES
from judge.cases import Case
from judge.relais import Relais
from judge.report import Report, table

FLAGS = ["-std=c99", "-ffp-contract=off", *MODES["O3"], "-D_POSIX_C_SOURCE=199309L", "-fPIC", "-shared"]
ROUNDS = 30
SECONDS = 0.02
"""Of work in a round, at least."""
TIMER = """
#include <time.h>
double seconds(int n, const float *input, float *output, void *arena) {
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (int i = 0; i < n; ++i) CALL;
    clock_gettime(CLOCK_MONOTONIC, &to);
    return (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
}
"""


@dataclass(frozen=True)
class Contestant:
    """One way to run a model."""

    name: str
    seconds: Callable[[int], float]
    """Of that many runs."""
    output: np.ndarray
    made_in: float
    n_bytes: int


def command(relais: Relais, cases: Sequence[Case]) -> int:
    report = Report()
    rows = []
    for case in cases:
        model = graphs.load(case.model)
        feeds = values.feeds(case, model)
        (sample,) = feeds.values()
        with tempfile.TemporaryDirectory(prefix="judge-") as name:
            folder = Path(name)
            peer, expected = runtime(case, feeds)
            contestants = [peer, ours(relais, case, folder, sample, expected), theirs(case, folder, sample, expected)]
            contestants.append(by_hand(case, folder, sample, expected))
            there = [contestant for contestant in contestants if contestant]
            best = race(there)
        problems = []
        for contestant in there:
            worst = float(np.max(np.abs(contestant.output - expected)))
            if not worst <= 1e-4 * float(np.max(np.abs(expected))):
                problems.append(f"{contestant.name} is {worst} away")
            made = "-" if contestant is peer else f"{contestant.made_in:.2f}"
            micros = f"{best[contestant.name] * 1e6:.1f}"
            ratio = f"{best[contestant.name] / best[peer.name]:.2f}"
            rows.append([case.name, contestant.name, micros, ratio, made, str(contestant.n_bytes)])
        report.judged(case.name, problems)
    print(table(["model", "by", "us", "of onnxruntime", "made in s", "bytes of memory"], rows))
    return report.finish()


def race(contestants: Sequence[Contestant]) -> dict[str, float]:
    """Seconds of a run of each, the least of many rounds in turns."""
    repeats = {each.name: max(1, int(SECONDS / max(each.seconds(1), 1e-7))) for each in contestants}
    best = dict.fromkeys(repeats, float("inf"))
    for _ in range(ROUNDS):
        for each in contestants:
            n = repeats[each.name]
            best[each.name] = min(best[each.name], each.seconds(n) / n)
    return best


def runtime(case: Case, feeds: dict[str, np.ndarray]) -> tuple[Contestant, np.ndarray]:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(case.model), options, providers=["CPUExecutionProvider"])
    (output,) = session.run(None, feeds)

    def seconds(n: int) -> float:
        start = time.perf_counter()
        for _ in range(n):
            session.run(None, feeds)
        return time.perf_counter() - start

    return Contestant(f"onnxruntime {onnxruntime.__version__}", seconds, output, 0.0, 0), output


def ours(relais: Relais, case: Case, folder: Path, sample: np.ndarray, expected: np.ndarray) -> Contestant:
    start = time.perf_counter()
    subprocess.run([relais.path, "build", case.model, "-o", folder / "model.c", "-q", *relais.args], check=True)
    made_in = time.perf_counter() - start
    n_bytes = int(re.search(r"ARENA_BYTES (\d+)u", (folder / "model.h").read_text())[1])
    source = '#include "model.h"\n' + TIMER.replace("CALL", "model_run(input, output, arena)")
    return compiled("Relais", folder, "model.c", source, (sample, expected), made_in, n_bytes)


def theirs(case: Case, folder: Path, sample: np.ndarray, expected: np.ndarray) -> Contestant | None:
    """The C of emx-onnx-cgen, if that is installed."""
    program = Path(sys.executable).with_name("emx-onnx-cgen")
    if not program.exists():
        return None
    start = time.perf_counter()
    # Weights in arrays and other values on the stack, as ours are.
    alike = ["--large-weight-threshold", "0", "--large-temp-threshold", "0"]
    made = subprocess.run([program, "compile", *alike, case.model, folder / "emx.c"], capture_output=True)
    made_in = time.perf_counter() - start
    if made.returncode != 0:
        return None
    call = "model((const void *)input, (void *)output)"
    source = '#include "emx.c"\n' + TIMER.replace("CALL", call).replace(", void *arena", ", void *arena __attribute__((unused))")
    return compiled("emx-onnx-cgen", folder, None, source, (sample, expected), made_in, 0)


def by_hand(case: Case, folder: Path, sample: np.ndarray, expected: np.ndarray) -> Contestant | None:
    """A perceptron as loops over its layers."""
    model = graphs.load(case.model)
    if {node.op_type for node in model.graph.node} != {"Gemm", "Relu", "Identity"}:
        return None
    weights = {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}
    layers = [[weights[name] for name in node.input[1:]] for node in model.graph.node if node.op_type == "Gemm"]
    text, value = "", "input"
    body = ""
    for at, (weight, bias) in enumerate(layers):
        n_out, n_in = weight.shape
        text += array(f"w{at}", weight) + array(f"b{at}", bias)
        result = "output" if at == len(layers) - 1 else f"h{at}"
        body += f"    float h{at}[{n_out}];\n" if result != "output" else ""
        activation = "" if result == "output" else "if (sum < 0) sum = 0; "
        body += f"    for (int o = 0; o < {n_out}; ++o) {{ float sum = b{at}[o]; "
        body += f"for (int i = 0; i < {n_in}; ++i) sum += {value}[i] * w{at}[o * {n_in} + i]; "
        body += f"{activation}{result}[o] = sum; }}\n"
        value = result
    function = f"static void run(const float *restrict input, float *restrict output) {{\n{body}}}\n"
    timer = TIMER.replace("CALL", "run(input, output)").replace(", void *arena", ", void *arena __attribute__((unused))")
    return compiled("by hand", folder, None, text + function + timer, (sample, expected), 0.0, 0)


def array(name: str, values: np.ndarray) -> str:
    numbers = ", ".join(f"{float(value).hex()}f" for value in values.ravel())
    return f"static const float {name}[{values.size}] = {{{numbers}}};\n"


def compiled(
    name: str,
    folder: Path,
    source: str | None,
    timer: str,
    data: tuple[np.ndarray, np.ndarray],
    made_in: float,
    n_bytes: int,
) -> Contestant:
    stem = name.replace(" ", "_")
    (folder / f"{stem}_timer.c").write_text(timer)
    library = folder / f"{stem}.so"
    sources = [f"{stem}_timer.c", *([source] if source else [])]
    compiler = shutil.which("gcc") or "cc"
    subprocess.run([compiler, *FLAGS, *sources, "-o", library, "-lm"], cwd=folder, check=True, capture_output=True)
    run = ctypes.CDLL(str(library)).seconds
    run.restype = ctypes.c_double
    sample, expected = data
    sample, output = np.ascontiguousarray(sample), np.zeros_like(expected)
    arena = np.zeros(n_bytes + 64, np.uint8)
    pointers = [ctypes.c_void_p(part.ctypes.data) for part in (sample, output, arena[-arena.ctypes.data % 64 :])]
    run(1, *pointers)
    keep = (sample, output, arena)
    return Contestant(name, lambda n: run(n, *pointers) if keep else 0.0, output, made_in, n_bytes)

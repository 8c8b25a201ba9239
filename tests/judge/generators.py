"""How fast the C is that `relais build` makes: beside onnxruntime, the C of emx-onnx-cgen, and C by hand, by each compiler;
and how large its arena is beside what is needed at one time."""

from __future__ import annotations

import ctypes
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnxruntime
from onnx import ModelProto, numpy_helper

from judge import built, graphs, values
from judge.cases import Case
from judge.relais import Relais
from judge.report import Report, table

FLAGS = ["-std=c99", "-ffp-contract=off", *built.MODES["O3"], "-D_POSIX_C_SOURCE=199309L", "-fPIC", "-shared"]
ROUNDS = 30
SECONDS = 0.02
"""Of work in a round, at least."""
CHAIN = {
    "Abs": "fabsf({0})",
    "Add": "{0} + {1}",
    "Identity": "{0}",
    "Max": "{0} > {1} ? {0} : {1}",
    "Min": "{0} < {1} ? {0} : {1}",
    "Mul": "{0} * {1}",
    "Neg": "-{0}",
    "Relu": "{0} < 0 ? 0 : {0}",
    "Sub": "{0} - {1}",
}
"""Elementwise operators as somebody writes them who has no NaN in mind."""
TIMER = """
#include <time.h>
double seconds(int n, const float *input, float *output, void *arena) {
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (int i = 0; i < n; ++i) {
        CALL;
        /* Nothing is known of memory here, so that no part of a run is done once for all. */
        __asm__ volatile("" ::: "memory");
    }
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
    made_in: float = 0.0


def command(relais: Relais, cases: Sequence[Case]) -> int:
    report = Report()
    rows, arenas = [], []
    for case in cases:
        model = graphs.load(case.model)
        if len(model.graph.input) != 1 or len(model.graph.output) != 1:
            continue
        feeds = values.feeds(case, model)
        (sample,) = feeds.values()
        with tempfile.TemporaryDirectory(prefix="judge-") as name:
            folder = Path(name)
            peer, expected = runtime(case, feeds)
            there = [peer]
            for compiler in built.native():
                for make in (ours, theirs, by_hand):
                    if source := make(relais, case, folder):
                        there.append(compiled(compiler, source, folder, sample, expected))
            best = race(there)
            arenas.append([case.name, *arena(relais, case, folder)])
        problems = []
        for contestant in there:
            worst = float(np.max(np.abs(contestant.output - expected)))
            if not worst <= 1e-4 * float(np.max(np.abs(expected))):
                problems.append(f"{contestant.name} is {worst} away")
            made = f"{contestant.made_in:.2f}" if contestant.made_in else "-"
            micros = f"{best[contestant.name] * 1e6:.3g}"
            ratio = f"{best[contestant.name] / best[peer.name]:.3g}"
            rows.append([case.name, contestant.name, micros, ratio, made])
        report.judged(case.name, problems)
    print(table(["model", "by", "us", "of onnxruntime", "made in s"], rows))
    print(table(["model", "bytes of the arena", "needed at one time", "ratio"], arenas))
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

    return Contestant(f"onnxruntime {onnxruntime.__version__}", seconds, output), output


@dataclass(frozen=True)
class Source:
    """C that somebody made of a model."""

    by: str
    text: str
    """What defines `seconds`."""
    files: tuple[str, ...] = ()
    """Compiled beside it."""
    made_in: float = 0.0
    n_bytes: int = 0
    """Of the arena."""


def ours(relais: Relais, case: Case, folder: Path) -> Source:
    start = time.perf_counter()
    subprocess.run([relais.path, "build", case.model, "-o", folder / "model.c", "-q", *relais.args], check=True)
    made_in = time.perf_counter() - start
    n_bytes = int(re.search(r"ARENA_BYTES (\d+)u", (folder / "model.h").read_text())[1])
    text = '#include "model.h"\n' + TIMER.replace("CALL", "model_run(input, output, arena)")
    return Source("Relais", text, ("model.c",), made_in, n_bytes)


def arena(relais: Relais, case: Case, folder: Path) -> list[str]:
    """The bytes of the arena, the most that are needed at one time, and their ratio."""
    written = ["-o", folder / "model.relay", "--report", folder / "report.json", "-q"]
    subprocess.run([relais.path, "run", case.model, "-p", "build-c", *written, *relais.args], check=True)
    statistics = json.loads((folder / "report.json").read_text())["run"]["statistics"]
    sizes = statistics.get("relais.PlanMemory", {})
    arena, live = sizes.get("arena", 0), sizes.get("live", 0)
    return [str(arena), str(live), f"{arena / live:.3f}" if live else "-"]


def theirs(_relais: Relais, case: Case, folder: Path) -> Source | None:
    """The C of emx-onnx-cgen, if that is installed."""
    program = Path(sys.executable).with_name("emx-onnx-cgen")
    if not program.exists():
        return None
    start = time.perf_counter()
    # Weights in arrays, as ours are, and other values on the stack, as long as it is large enough.
    alike = ["--large-weight-threshold", "0", "--large-temp-threshold", "1000000"]
    made = subprocess.run([program, "compile", *alike, case.model, folder / "emx.c"], capture_output=True)
    made_in = time.perf_counter() - start
    if made.returncode != 0:
        return None
    call = "model((const void *)input, (void *)output)"
    return Source("emx-onnx-cgen", '#include "emx.c"\n' + without_arena(call), made_in=made_in)


def by_hand(_relais: Relais, case: Case, _folder: Path) -> Source | None:
    """A perceptron as loops over its layers; a chain of elementwise operators as one loop."""
    model = graphs.load(case.model)
    operators = {node.op_type for node in model.graph.node}
    if operators == {"Gemm", "Relu", "Identity"}:
        text = perceptron(model)
    elif operators <= CHAIN.keys():
        text = chain(model)
    else:
        return None
    return Source("by hand", text + without_arena("run(input, output)"))


def perceptron(model: ModelProto) -> str:
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
    return text + f"static void run(const float *restrict input, float *restrict output) {{\n{body}}}\n"


def chain(model: ModelProto) -> str:
    graph = model.graph
    terms = {each.name: f"{float(numpy_helper.to_array(each).item())!r}f" for each in graph.initializer}
    terms[graph.input[0].name] = "input[i]"
    size = np.prod([dim.dim_value for dim in graph.input[0].type.tensor_type.shape.dim], dtype=int)
    body = ""
    for node in graph.node:
        (name,) = node.output
        body += f"const float {name} = {CHAIN[node.op_type].format(*(terms[value] for value in node.input))}; "
        terms[name] = name
    body += f"output_[i] = {graph.output[0].name};"
    loop = f"for (int i = 0; i < {size}; ++i) {{ {body} }}"
    return f"#include <math.h>\nstatic void run(const float *restrict input, float *restrict output_) {{ {loop} }}\n"


def array(name: str, values: np.ndarray) -> str:
    numbers = ", ".join(f"{float(value).hex()}f" for value in values.ravel())
    return f"static const float {name}[{values.size}] = {{{numbers}}};\n"


def without_arena(call: str) -> str:
    return TIMER.replace("CALL", call).replace(", void *arena", ", void *arena __attribute__((unused))")


def compiled(compiler: str, source: Source, folder: Path, sample: np.ndarray, expected: np.ndarray) -> Contestant:
    stem = f"{source.by} {compiler}".replace(" ", "_")
    (folder / f"{stem}.c").write_text(source.text)
    library = folder / f"{stem}.so"
    command = [compiler, *FLAGS, f"{stem}.c", *source.files, "-o", library, "-lm"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    run = ctypes.CDLL(str(library)).seconds
    run.restype = ctypes.c_double
    sample, output = np.ascontiguousarray(sample), np.zeros_like(expected)
    arena = np.zeros(source.n_bytes + 64, np.uint8)
    pointers = [ctypes.c_void_p(part.ctypes.data) for part in (sample, output, arena[-arena.ctypes.data % 64 :])]
    run(1, *pointers)
    keep = (sample, output, arena)
    seconds = lambda n: run(n, *pointers) if keep else 0.0
    return Contestant(f"{source.by}, {compiler}", seconds, output, source.made_in)

"""C that `relais build` makes of models: it compiles without warnings, and computes what a runtime does."""

from __future__ import annotations

import ctypes
import functools
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import ModelProto, numpy_helper

from judge import graphs, pool, runtimes, values
from judge.cases import Case, numbered
from judge.pool import Died
from judge.relais import Relais
from judge.report import Report, one_line

STRICT = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off"]
SANITISERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
NAME = "model"
CASE_SECONDS = 600.0
MODES = {
    "O0": ["-O0"],
    "O3": ["-O3", "-fno-math-errno", "-fno-trapping-math"],
    "sanitised": ["-O1", "-g", *SANITISERS],
}


@dataclass(frozen=True)
class Verdict:
    """How a case ended: `same`, `declined`, `not judged`, or a failure."""

    outcome: str
    detail: str = ""


@dataclass(frozen=True)
class Built:
    """What is built, and how it is compiled."""

    relais: Relais
    compilers: tuple[str, ...]
    modes: tuple[str, ...]


def command(how: Built, cases: Sequence[Case], n_jobs: int, declined_allowed: bool) -> int:
    report = Report()
    outcomes: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    start = time.perf_counter()
    for done in pool.run(functools.partial(judge, how), cases, n_jobs, CASE_SECONDS):
        verdict = done.result
        if isinstance(verdict, Died):
            verdict = Verdict("failed", f"{verdict.why} while at: {verdict.stage}")
        outcomes[verdict.outcome] += 1
        if verdict.outcome == "declined":
            reasons[verdict.detail] += 1
        if verdict.outcome in ("same", "not judged") or (verdict.outcome == "declined" and declined_allowed):
            report.passed()
        else:
            report.failed(str(done.task), f"{verdict.outcome}: {verdict.detail}")
    for reason, count in sorted(reasons.items()):
        print(f"declined, {count}: {reason}")
    print(", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items())), end="")
    print(f", {time.perf_counter() - start:.0f} s")
    if outcomes["same"] == 0:
        report.failed("all", "nothing was built and compared")
    return report.finish()


def judge(how: Built, case: Case, stage: pool.Callable[[str], None]) -> Verdict:
    """Runs in a worker."""
    try:
        return compare(how, case, stage)
    except Exception as error:  # whatever the judge trips over is this case's failure
        return Verdict("failed", f"cannot judge: {type(error).__name__}: {error}")


def compare(how: Built, case: Case, stage: pool.Callable[[str], None]) -> Verdict:
    model = graphs.load(case.model)
    try:
        feeds = values.feeds(case, model)
    except values.NoInputs as error:
        return Verdict("not judged", one_line(str(error)))
    if not all(isinstance(value, np.ndarray) for value in feeds.values()):
        return Verdict("declined", "an input is not a tensor")
    stage("the expected results")
    expected = expected_of(case, feeds)
    if expected is None:
        return Verdict("not judged", "no runtime runs it")
    given = dict(feeds)
    fix(model, feeds)
    with tempfile.TemporaryDirectory(prefix="judge-") as name:
        folder = Path(name)
        onnx.save(model, folder / "model.onnx")
        stage("relais build")
        run = subprocess.run(
            [how.relais.path, "build", folder / "model.onnx", "-o", folder / f"{NAME}.c", "-q", "--main", *how.relais.args],
            capture_output=True,
            text=True,
            timeout=CASE_SECONDS,
        )
        if run.returncode != 0:
            return refused(run.stderr, folder)
        outputs = [value.name for value in model.graph.output]
        for compiler in how.compilers:
            for mode in how.modes:
                stage(f"{compiler} -{mode}")
                got = run_program if mode == "sanitised" else run_library
                made = got(folder, compiler, MODES[mode], list(feeds.values()), expected)
                if isinstance(made, str):
                    return Verdict("failed", f"{compiler}, {mode}: {made}")
                if why := values.named_difference(outputs, expected, made, exact=True):
                    # What a case comes with may be rounded to a few digits.
                    computed = results_of(case, given)
                    if computed is None or values.named_difference(outputs, computed, made, exact=True):
                        return Verdict("wrong", f"{compiler}, {mode}: {why}")
    return Verdict("same")


def refused(stderr: str, folder: Path) -> Verdict:
    """A refusal names the reason by a code, and leaves nothing behind."""
    if left := [path.name for path in folder.iterdir() if path.suffix in (".c", ".h")]:
        return Verdict("failed", f"refused, and left {left}")
    first = next((line for line in stderr.splitlines() if line.startswith("error[")), "")
    if not re.match(r"error\[[KC]\d{3}\]", first):
        return Verdict("failed", f"relais build: {one_line(stderr)}")
    return Verdict("declined", re.sub(r"pass `relais\.\w+` of plugin \S+ \S+ failed: | \(at .*", "", first))


def expected_of(case: Case, feeds: dict[str, np.ndarray]) -> list[np.ndarray] | None:
    """The results that the case comes with, otherwise those of a runtime."""
    model = graphs.load(case.model)
    if files := numbered(case.inputs[0].parent, "output") if case.inputs else []:
        return [values.read(path, value.type) for path, value in zip(files, model.graph.output, strict=False)]
    return results_of(case, feeds)


def results_of(case: Case, feeds: dict[str, np.ndarray]) -> list[np.ndarray] | None:
    """The results of a runtime."""
    for runtime in (runtimes.ONNXRUNTIME, runtimes.REFERENCE):
        try:
            return list(runtimes.run(runtime, case.model, feeds))
        except runtimes.CannotRun:
            continue
    return None


def fix(model: ModelProto, feeds: dict[str, np.ndarray]) -> None:
    """Gives inputs the sizes of their values; short lists of integers, such as shapes and axes, become constants, as they
    are in models that are exported."""
    given = {value.name: value for value in model.graph.input}
    for name, value in list(feeds.items()):
        shape = given[name].type.tensor_type.shape
        del shape.dim[:]
        for size in value.shape:
            shape.dim.add().dim_value = size
        if value.ndim <= 1 and value.dtype.kind in "iu" and value.dtype.itemsize >= 4 and len(feeds) > 1:
            model.graph.initializer.append(numpy_helper.from_array(value, name))
            model.graph.input.remove(given[name])
            del feeds[name]


def run_library(
    folder: Path, compiler: str, flags: list[str], inputs: list[np.ndarray], expected: list[np.ndarray]
) -> list[np.ndarray] | str:
    """The results of the compiled library, or what is wrong with it."""
    library = folder / f"{compiler}{len(os.listdir(folder))}.so"
    if why := compile_c(folder, compiler, [*flags, "-fPIC", "-shared", f"{NAME}.c", "-o", str(library), "-lm"]):
        return why
    run = getattr(ctypes.CDLL(str(library)), f"{NAME}_run")
    n_bytes = int(re.search(r"ARENA_BYTES (\d+)u", (folder / f"{NAME}.h").read_text())[1])
    arena = np.full(n_bytes + 64, 0xA5, np.uint8)
    aligned = arena[-arena.ctypes.data % 64 :]
    inputs = [np.ascontiguousarray(value) for value in inputs]
    outputs = [np.empty(value.shape, value.dtype) for value in expected]
    pointers = [*inputs, *outputs, aligned]
    status = run(*(ctypes.c_void_p(array.ctypes.data) for array in pointers))
    return outputs if status == 0 else f"status {status}"


def run_program(
    folder: Path, compiler: str, flags: list[str], inputs: list[np.ndarray], expected: list[np.ndarray]
) -> list[np.ndarray] | str:
    """The results of the compiled program, which reads and writes npy files."""
    sources = [f"{NAME}.c", f"{NAME}_main.c"]
    if why := compile_c(folder, compiler, [*flags, *sources, "-o", "program", "-lm"]):
        return why
    files = [f"in{at}.npy" for at in range(len(inputs))]
    for file, value in zip(files, inputs, strict=True):
        np.save(folder / file, np.ascontiguousarray(value).reshape(value.shape))
    results = [f"out{at}.npy" for at in range(len(expected))]
    run = subprocess.run(["./program", *files, *results], cwd=folder, capture_output=True, text=True)
    if run.returncode != 0:
        return f"the program ends with {run.returncode}: {one_line(run.stderr)}"
    return [np.load(folder / file) for file in results]


def compile_c(folder: Path, compiler: str, arguments: list[str]) -> str:
    run = subprocess.run([compiler, *STRICT, *arguments], cwd=folder, capture_output=True, text=True)
    return "" if run.returncode == 0 else f"does not compile: {one_line(run.stderr)}"


def compilers() -> tuple[str, ...]:
    """The C compilers of this machine."""
    found = tuple(name for name in ("gcc", "clang") if shutil.which(name))
    return found or ("cc",)

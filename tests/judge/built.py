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
from collections import Counter, defaultdict
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
from judge.report import Report, one_line, table

STRICT = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off"]
SANITISERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
NAME = "model"
CASE_SECONDS = 600.0
MODES = {
    "O0": ["-O0"],
    "O3": ["-O3", "-fno-math-errno", "-fno-trapping-math"],
    # Not optimised, so that each access is there to be checked; and compilers take minutes to optimise what they add.
    "sanitised": ["-O0", "-g", *SANITISERS],
}


@dataclass(frozen=True)
class Target:
    """A C compiler, and how what it makes is run."""

    compiler: str
    flags: tuple[str, ...] = ()
    runner: tuple[str, ...] = ()
    is_native: bool = True
    """Whether its libraries can be loaded here; otherwise only programs are made."""

    def missing(self) -> list[str]:
        """The programs that it needs and this machine does not have."""
        return [program for program in (self.compiler, *self.runner) if shutil.which(program) is None]


TARGETS = {
    "gcc": Target("gcc"),
    "clang": Target("clang"),
    # With x87's registers, results would have more digits than their types.
    "i686": Target("i686-linux-gnu-gcc", ("-static", "-msse2", "-mfpmath=sse"), is_native=False),
    "arm": Target("arm-linux-gnueabihf-gcc", ("-static",), ("qemu-arm",), is_native=False),
}
SHOWN_OUTCOMES = ("same", "declined", "not judged", "wrong", "failed")


@dataclass(frozen=True)
class Verdict:
    """How a case ended: `same`, `declined`, `not judged`, or a failure."""

    outcome: str
    detail: str = ""


@dataclass(frozen=True)
class Built:
    """What is built, and how it is compiled."""

    relais: Relais
    targets: tuple[str, ...]
    modes: tuple[str, ...]


def command(how: Built, cases: Sequence[Case], n_jobs: int, declined_allowed: bool, by_operator: bool) -> int:
    report = Report()
    for name in how.targets:
        if missing := TARGETS[name].missing():
            report.failed(name, f"this machine does not have {' and '.join(missing)}")
            return report.finish()
    outcomes: Counter[str] = Counter()
    of_operators: dict[str, Counter[str]] = defaultdict(Counter)
    reasons: Counter[str] = Counter()
    start = time.perf_counter()
    for done in pool.run(functools.partial(judge, how), cases, n_jobs, CASE_SECONDS):
        verdict = done.result
        if isinstance(verdict, Died):
            verdict = Verdict("failed", f"{verdict.why} while at: {verdict.stage}")
        outcomes[verdict.outcome] += 1
        if by_operator:
            for operator in {node.op_type for node in graphs.load(done.task.model).graph.node}:
                of_operators[operator][verdict.outcome] += 1
        if verdict.outcome == "declined":
            reasons[verdict.detail] += 1
        if verdict.outcome in ("same", "not judged") or (verdict.outcome == "declined" and declined_allowed):
            report.passed()
        else:
            report.failed(str(done.task), f"{verdict.outcome}: {verdict.detail}")
    if by_operator:
        rows = [[name, *(str(of[outcome]) for outcome in SHOWN_OUTCOMES)] for name, of in sorted(of_operators.items())]
        print(table(["operator", *SHOWN_OUTCOMES], rows))
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
    with tempfile.TemporaryDirectory(prefix="judge-") as scratch:
        folder = Path(scratch)
        onnx.save(model, folder / "model.onnx")
        stage("relais build")
        run = subprocess.run(
            [
                how.relais.path,
                "build",
                folder / "model.onnx",
                "-o",
                folder / f"{NAME}.c",
                "-q",
                "--main",
                *how.relais.args,
            ],
            capture_output=True,
            text=True,
            timeout=CASE_SECONDS,
        )
        if run.returncode != 0:
            return refused(run.stderr, folder)
        outputs = [value.name for value in model.graph.output]
        for name in how.targets:
            target = TARGETS[name]
            for mode in how.modes:
                if mode == "sanitised" and not target.is_native:
                    continue
                stage(f"{name} -{mode}")
                got = run_library if mode != "sanitised" and target.is_native else run_program
                made = got(folder, target, MODES[mode], list(feeds.values()), expected)
                if isinstance(made, str):
                    return Verdict("failed", f"{name}, {mode}: {made}")
                if why := values.named_difference(outputs, expected, made, exact=True):
                    # What a case comes with may be rounded to a few digits.
                    computed = results_of(case, given)
                    if computed is None or values.named_difference(outputs, computed, made, exact=True):
                        return Verdict("wrong", f"{name}, {mode}: {why}")
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
    folder: Path, target: Target, flags: list[str], inputs: list[np.ndarray], expected: list[np.ndarray]
) -> list[np.ndarray] | str:
    """The results of the compiled library, or what is wrong with it."""
    library = folder / f"{target.compiler}{len(os.listdir(folder))}.so"
    if why := compile_c(folder, target, [*flags, "-fPIC", "-shared", f"{NAME}.c", "-o", str(library), "-lm"]):
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
    folder: Path, target: Target, flags: list[str], inputs: list[np.ndarray], expected: list[np.ndarray]
) -> list[np.ndarray] | str:
    """The results of the compiled program, which reads and writes npy files."""
    sources = [f"{NAME}.c", f"{NAME}_main.c"]
    if why := compile_c(folder, target, [*flags, *sources, "-o", "program", "-lm"]):
        return why
    files = [f"in{at}.npy" for at in range(len(inputs))]
    for file, value in zip(files, inputs, strict=True):
        np.save(folder / file, np.ascontiguousarray(value).reshape(value.shape))
    results = [f"out{at}.npy" for at in range(len(expected))]
    run = subprocess.run([*target.runner, "./program", *files, *results], cwd=folder, capture_output=True, text=True)
    if run.returncode != 0:
        return f"the program ends with {run.returncode}: {one_line(run.stderr)}"
    return [np.load(folder / file) for file in results]


def compile_c(folder: Path, target: Target, arguments: list[str]) -> str:
    command = [target.compiler, *STRICT, *target.flags, *arguments]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return "" if run.returncode == 0 else f"does not compile: {one_line(run.stderr)}"


def native() -> tuple[str, ...]:
    """The C compilers of this machine, for itself."""
    return tuple(name for name, target in TARGETS.items() if target.is_native and not target.missing())

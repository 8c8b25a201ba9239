"""How long onnxruntime, with all its optimisations, takes to load and to run what Relais and the other optimisers leave of
the models, how many of its integer kernels these call, and how much memory the optimisers take.

The sessions of a model have one thread and take turns, and the least time of each counts. A result is lost to another
one, or to the model as it was, if it is slower by more than 5 % in each of two rounds.
"""

from __future__ import annotations

import functools
import math
import re
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import onnx
import onnxruntime

from judge import graphs, peers, pool, runtimes, sound, values
from judge.cases import Case, find
from judge.peers import PACKAGE, PEERS, RELAIS
from judge.pool import Died, Worker
from judge.relais import Relais
from judge.report import Report, one_line, table

MODEL = "model"
"""The model as it was."""
N_LOADS = 5
N_RUNS = 30
ENOUGH_SECONDS = 20.0
"""The sessions of a model take no further turns after this time, once each has had `FEWEST_RUNS`."""
FEWEST_RUNS = 3
N_ROUNDS = 2
TOLERANCE = 1.05
MEASURE_SECONDS = 900.0
INTEGER_KERNELS = re.compile(r"QLinear|Integer|^QGemm$|^QAttention$|^QEmbed|^DynamicQuantize(MatMul|LSTM)")
MIB = 2**20


@dataclass(frozen=True)
class Speed:
    """The least seconds that a model took in one round."""

    load: float
    run: float


@dataclass(frozen=True)
class Measured:
    """What onnxruntime says of one file."""

    rounds: tuple[Speed, ...]
    n_integer_kernels: int

    def least(self, of: Callable[[Speed], float]) -> float:
        return min(map(of, self.rounds))


@dataclass(frozen=True)
class Row:
    """What was found for one model: the usable results by tool, and the memory that each tool took."""

    case: Case
    measured: Mapping[str, Measured]
    peak_bytes: Mapping[str, int]

    def lost_to(self, of: Callable[[Speed], float]) -> Iterator[str]:
        """The results that are faster than that of Relais in each round."""
        own = self.measured[RELAIS].rounds
        for tool, other in self.measured.items():
            if all(of(a) > TOLERANCE * of(b) for a, b in zip(own, other.rounds, strict=True)):
                yield tool


def load_seconds(speed: Speed) -> float:
    return speed.load


def run_seconds(speed: Speed) -> float:
    return speed.run


def command(relais: Relais, models: Path, kinds: list[str], names: list[str]) -> int:
    """A model is a failure if the result of Relais cannot be used, or calls fewer integer kernels than the model did."""
    report = Report()
    rows = []
    for case in find(models, kinds, names):
        row = measure_case(relais, case)
        if isinstance(row, str):
            report.failed(str(case), row)
            continue
        rows.append(row)
        own, before = row.measured[RELAIS].n_integer_kernels, row.measured[MODEL].n_integer_kernels
        report.judged(str(case), [f"{own} calls of integer kernels, {before} before"] if own < before else [])
    if rows:
        tools = [MODEL, RELAIS, *(tool for tool in PEERS if any(tool in row.measured for row in rows))]
        for title, of in (("load, ms", load_seconds), ("run, ms", run_seconds)):
            print(table([title, *tools, "lost to"], list(times(rows, tools, of))))
        print(table(["integer kernels", *tools], list(integer_kernels(rows, tools))))
        print(table(["peak memory, MiB", *tools[1:]], list(memory(rows, tools[1:]))))
    return report.finish()


def times(rows: Sequence[Row], tools: Sequence[str], of: Callable[[Speed], float]) -> Iterator[list[str]]:
    """Of the model the milliseconds, of each result how many times as long."""
    ratios: dict[str, list[float]] = {tool: [] for tool in tools[1:]}
    n_lost = 0
    for row in rows:
        before = row.measured[MODEL].least(of)
        cells = []
        for tool in tools[1:]:
            if tool in row.measured:
                ratios[tool].append(row.measured[tool].least(of) / before)
                cells.append(f"{ratios[tool][-1]:.2f}")
            else:
                cells.append("-")
        lost = sorted(row.lost_to(of))
        n_lost += bool(lost)
        yield [str(row.case), f"{before * 1000:.2f}", *cells, ", ".join(lost)]
    means = [f"{statistics.geometric_mean(ratios[tool]):.3f}" if ratios[tool] else "-" for tool in tools[1:]]
    yield ["geometric mean", "", *means, f"{n_lost} lost"]


def integer_kernels(rows: Sequence[Row], tools: Sequence[str]) -> Iterator[list[str]]:
    for row in rows:
        if any(measured.n_integer_kernels for measured in row.measured.values()):
            counts = (str(row.measured[tool].n_integer_kernels) if tool in row.measured else "-" for tool in tools)
            yield [str(row.case), *counts]


def memory(rows: Sequence[Row], tools: Sequence[str]) -> Iterator[list[str]]:
    for row in rows:
        yield [str(row.case), *(f"{row.peak_bytes[tool] / MIB:.0f}" if tool in row.peak_bytes else "-" for tool in tools)]


def measure_case(relais: Relais, case: Case) -> Row | str:
    """What was measured of a case, or why Relais has no usable result."""
    with tempfile.TemporaryDirectory(prefix="judge-", dir=case.folder) as name:
        folder = Path(name)
        out = folder / f"{RELAIS}.onnx"
        run = relais.run_watched(case.model, out)
        if run.problems:
            return "; ".join(run.problems)
        written, peak_bytes = {RELAIS: out}, {RELAIS: run.peak_anonymous}
        for tool in PEERS:
            if find_spec(tool) is None:
                continue
            out = folder / f"{tool}.onnx"
            found = fresh(optimise, peers.Task(PEERS[tool], case.model, out), peers.RUN_SECONDS)
            if isinstance(found, int) and out.exists():
                written[tool], peak_bytes[tool] = out, found
        usable = {MODEL: case.model}
        for tool, out in written.items():
            result = fresh(functools.partial(peers.judge, case), peers.Written(tool, out, 0.0), peers.JUDGE_SECONDS)
            if not isinstance(result, Died) and result.is_usable:
                usable[tool] = out
            elif tool == RELAIS:
                return one_line(str(result))
        measured = fresh(measure, Files(case, usable), MEASURE_SECONDS)
        if isinstance(measured, (Died, str)):
            return one_line(str(measured))
        return Row(case, measured, peak_bytes)


def fresh(work: pool.Work, task: object, timeout: float) -> object:
    """The result of work in a process of its own."""
    worker = Worker(work)
    try:
        return worker.ask(task, timeout)
    finally:
        worker.stop()


def optimise(task: peers.Task, _stage: Callable[[str], None]) -> int | str:
    """Runs in a worker: the most bytes that the tool added to what its imports take."""
    for module in task.peer.imports.split(", "):
        __import__(module)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds = peers.optimise(task, _stage)
    # The unit is 1 KiB, but a byte on macOS.
    unit = 1 if sys.platform == "darwin" else 1024
    return seconds if isinstance(seconds, str) else unit * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)


@dataclass(frozen=True)
class Files:
    case: Case
    by_tool: Mapping[str, Path]


def measure(files: Files, stage: Callable[[str], None]) -> dict[str, Measured] | str:
    """Runs in a worker."""
    try:
        given = values.feeds(files.case, onnx.load(files.case.model))
    except values.NoInputs as error:
        return str(error)
    feeds = {name: runtimes.for_onnxruntime(value) for name, value in given.items()}
    rounds = [one_round(files.by_tool, feeds, stage) for _ in range(N_ROUNDS)]
    return {
        tool: Measured(tuple(speeds[tool] for speeds in rounds), n_integer_kernels(path))
        for tool, path in files.by_tool.items()
    }


def one_round(files: Mapping[str, Path], feeds: Mapping[str, object], stage: Callable[[str], None]) -> dict[str, Speed]:
    """Loads all files in turns, then runs all sessions in turns."""
    loads = dict.fromkeys(files, math.inf)
    runs = dict.fromkeys(files, math.inf)
    sessions: dict[str, onnxruntime.InferenceSession] = {}
    for turn in range(N_LOADS):
        for tool in rotated(list(files), turn):
            stage(f"loading the result of {tool}")
            # The former one goes first: two at a time would take twice the memory.
            sessions.pop(tool, None)
            start = time.perf_counter()
            sessions[tool] = session(files[tool])
            loads[tool] = min(loads[tool], time.perf_counter() - start)
    begun = time.perf_counter()
    for turn in range(N_RUNS + 1):
        if turn > FEWEST_RUNS and time.perf_counter() - begun > ENOUGH_SECONDS:
            break
        for tool in rotated(list(files), turn):
            stage(f"running the result of {tool}")
            start = time.perf_counter()
            sessions[tool].run(None, feeds)
            seconds = time.perf_counter() - start
            if turn > 0:
                runs[tool] = min(runs[tool], seconds)
    return {tool: Speed(loads[tool], runs[tool]) for tool in files}


def rotated(tools: list[str], turn: int) -> list[str]:
    """The tools in another order each turn, so that none is always the first."""
    at = turn % len(tools)
    return tools[at:] + tools[:at]


def session(model: Path, written: Path | None = None) -> onnxruntime.InferenceSession:
    """A session as users have it, with all optimisations, but with one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = runtimes.QUIET
    if written is not None:
        options.optimized_model_filepath = str(written)
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def n_integer_kernels(model: Path) -> int:
    """How many calls of integer kernels onnxruntime makes of a model."""
    with tempfile.TemporaryDirectory(prefix="judge-") as folder:
        out = Path(folder) / "out.onnx"
        session(model, written=out)
        return sum(bool(INTEGER_KERNELS.search(node.op_type)) for node in graphs.nodes(onnx.load(out)))

"""What other optimisers make of the models, and how long it takes them next to relais.

Every tool goes from file to file. The others run in processes that live on, and neither their imports nor their first
run of a model count: their CPU time does. Where its Python package is installed, so does relais. Of its command line the
time of the whole process counts: its start, finding plugins, syncing what it writes to disk.
"""

from __future__ import annotations

import functools
import math
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from onnx import ModelProto, TypeProto

from judge import graphs, plot, pool, sound
from judge.cases import Case, find
from judge.pool import Died, Worker
from judge.relais import Relais
from judge.report import Report, markdown, one_line, table
from judge.sound import Outcome, Verdict

RELAIS = "relais"
PACKAGE = "relais_onnx"
"""Relais within Python."""
SHOWN = {
    RELAIS: "Relais",
    PACKAGE: "Relais in Python",
    "onnxslim": "OnnxSlim",
    "onnxruntime": "onnxruntime basic",
}
"""The names of tools in pages, where they are other ones."""
ENOUGH_SECONDS = 10.0
"""A tool that has run this long on a model has no further turn, once it had `FEWEST_ROUNDS`."""
FEWEST_ROUNDS = 3
RUN_SECONDS = 600.0
JUDGE_SECONDS = 600.0
N_IMPORTS = 5


def onnxsim(model: str, out: str) -> None:
    import onnxsim

    onnxsim.simplify(model, output_path=out)


def onnxslim(model: str, out: str) -> None:
    import onnx
    import onnxslim

    # With a path for the result it would also count the operators, and print them.
    onnx.save(onnxslim.slim(model), out)


def onnxoptimizer(model: str, out: str) -> None:
    import onnx
    import onnxoptimizer

    onnx.save(onnxoptimizer.optimize(onnx.load(model), fixed_point=True), out)


def onnxscript(model: str, out: str) -> None:
    from onnxscript import ir, optimizer

    ir.save(optimizer.optimize(ir.load(model)), out)


def onnxruntime(model: str, out: str) -> None:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = out
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def relais_onnx(model: str, out: str) -> None:
    import relais_onnx

    relais_onnx.optimize(model, out=out)


@dataclass(frozen=True)
class Peer:
    """Another optimiser, with its defaults."""

    optimise: Callable[[str, str], None]
    imports: str


PEERS = {
    PACKAGE: Peer(relais_onnx, PACKAGE),
    "onnxsim": Peer(onnxsim, "onnxsim"),
    "onnxslim": Peer(onnxslim, "onnx, onnxslim"),
    "onnxoptimizer": Peer(onnxoptimizer, "onnx, onnxoptimizer"),
    "onnxscript": Peer(onnxscript, "onnxscript.ir, onnxscript.optimizer"),
    "onnxruntime": Peer(onnxruntime, "onnxruntime"),
}

Once = Callable[[], float | str]
"""Runs a tool on a model: its seconds, or why it failed."""


@dataclass(frozen=True)
class Result:
    """What one tool made of one model."""

    verdict: Verdict
    seconds: float = math.nan
    n_operators: int = 0
    n_bytes: int = 0

    @property
    def is_usable(self) -> bool:
        return self.verdict.outcome not in sound.FAILED

    def marked(self, text: str) -> str:
        """A number of a result that cannot be used must not pass for a better one."""
        if self.verdict.outcome is Outcome.FAILURE:
            return "fails"
        return text if self.is_usable else f"{self.verdict.outcome.value}: {text}"


@dataclass(frozen=True)
class Results:
    """What all tools made of one model; relais is among them."""

    case: Case
    by_tool: Mapping[str, Result]

    @property
    def relais(self) -> Result:
        return self.by_tool[RELAIS]

    def fewest(self) -> list[str]:
        """The tools whose usable results have the fewest operators."""
        tools = {tool: result for tool, result in self.by_tool.items() if tool != PACKAGE}
        usable = {tool: result.n_operators for tool, result in tools.items() if result.is_usable}
        return [tool for tool, n_operators in usable.items() if n_operators == min(usable.values())]

    def ratio(self, tool: str) -> float:
        """How many times as long a tool takes as relais, within Python where it is measured there."""
        return self.by_tool[tool].seconds / self.by_tool.get(PACKAGE, self.relais).seconds


def command(
    relais: Relais,
    models: Path,
    kinds: list[str],
    names: list[str],
    n_rounds: int,
    as_page: bool = False,
    plotted: Path | None = None,
) -> int:
    """Only what is wrong with a result of relais is a failure; what is wrong with the others' is told."""
    peers = [peer for peer in PEERS if find_spec(peer) is not None]
    report = Report()
    all_results = []
    for case in find(models, kinds, names):
        results = Results(case, race(relais, peers, case, n_rounds))
        all_results.append(results)
        for tool, result in results.by_tool.items():
            problem = f"{result.verdict.outcome.value}: {result.verdict.detail}"
            if tool in (RELAIS, PACKAGE):
                report.judged(str(case), [] if result.is_usable else [problem])
            elif result.verdict.detail:
                print(f"{tool} on {case}: {one_line(problem)}", flush=True)
    if plotted is not None:
        plotted.write_text(plot.svg(points(all_results), "CPU time within Python", "operators left in sum"))
    if as_page:
        print(page(all_results))
        return report.finish()
    print(table(["operators", "before", RELAIS, *peers], list(operators(all_results))))
    print(table(["bytes", "before", RELAIS, *peers], list(sizes(all_results))))
    print(table(["milliseconds", RELAIS, *(f"{peer}, times" for peer in peers)], list(times(all_results, peers))))
    print(table(["tool", "unusable", "operators in sum", "fewest", "fewest alone"], list(standing(all_results))))
    imports = [f"{import_seconds(PEERS[peer]) * 1000:.0f}" for peer in peers]
    print(table(["", *peers], [["import, milliseconds", *imports]]))
    return report.finish()


def page(all_results: Sequence[Results]) -> str:
    """The tables of the page on real models, in Markdown."""
    tools = [tool for tool in all_results[0].by_tool if tool != PACKAGE]
    package = [PACKAGE] if PACKAGE in all_results[0].by_tool else []
    summary = [[SHOWN.get(row[0], row[0]), *row[1:]] for row in standing(all_results)]
    others = [tool for tool in tools if tool != RELAIS]
    rows = []
    for results in all_results:
        cells = {tool: cell(result) for tool, result in results.by_tool.items()}
        seconds = {tool: result.seconds for tool, result in results.by_tool.items() if result.is_usable}
        own = ", ".join(f"{seconds[tool] * 1000:.0f} ms" for tool in (RELAIS, *package) if tool in seconds)
        peers = [f"{cells[tool]}, {results.ratio(tool):.1f} x" if tool in seconds else cells[tool] for tool in others]
        before = graphs.n_operators(graphs.load(results.case.model))
        rows.append([results.case.name, f"{before}", f"{cells[RELAIS]}, {own}", *peers])
    rows.append(["geometric mean", "", "", *(geometric_mean(all_results, tool) for tool in others)])
    header = ["tool", "unusable", "operators in sum", "fewest operators", "fewest alone"]
    columns = ["model", "operators before", *(SHOWN.get(tool, tool) for tool in tools)]
    return "\n\n".join([markdown(header, summary), markdown(columns, rows)])


def points(all_results: Sequence[Results]) -> list[plot.Point]:
    """The tools, over the models where every result is usable."""
    usable = comparable(all_results)
    found = []
    for tool in all_results[0].by_tool:
        if tool != PACKAGE:
            times = 1.0 if tool == RELAIS else statistics.geometric_mean(each.ratio(tool) for each in usable)
            n_operators = sum(each.by_tool[tool].n_operators for each in usable)
            found.append(plot.Point(SHOWN.get(tool, tool), times, n_operators))
    return found


def comparable(all_results: Iterable[Results]) -> list[Results]:
    return [each for each in all_results if all(result.is_usable for result in each.by_tool.values())]


def cell(result: Result) -> str:
    if result.is_usable:
        return str(result.n_operators)
    return "fails" if result.verdict.outcome is Outcome.FAILURE else result.verdict.outcome.value


def operators(all_results: Iterable[Results]) -> Iterator[list[str]]:
    for results in all_results:
        before = graphs.n_operators(graphs.load(results.case.model))
        after = [result.marked(str(result.n_operators)) for result in results.by_tool.values()]
        yield [str(results.case), str(before), *after]


def sizes(all_results: Iterable[Results]) -> Iterator[list[str]]:
    for results in all_results:
        before = graphs.size_on_disk(results.case.model)
        after = [result.marked(str(result.n_bytes)) for result in results.by_tool.values()]
        yield [str(results.case), str(before), *after]


def times(all_results: Sequence[Results], peers: Sequence[str]) -> Iterator[list[str]]:
    """Of relais the time, of the others the ratio to it. Only pairs of usable results count for the means."""
    for results in all_results:
        ratios = [results.by_tool[peer].marked(f"{results.ratio(peer):.1f}") for peer in peers]
        yield [str(results.case), results.relais.marked(f"{results.relais.seconds * 1000:.1f}"), *ratios]
    yield ["geometric mean", "", *(geometric_mean(all_results, peer) for peer in peers)]


def geometric_mean(all_results: Iterable[Results], tool: str) -> str:
    usable = [each for each in all_results if each.relais.is_usable and each.by_tool[tool].is_usable]
    ratios = [each.ratio(tool) for each in usable]
    return f"{statistics.geometric_mean(ratios):.1f} x over {len(usable)}" if usable else "-"


def standing(all_results: Sequence[Results]) -> Iterator[list[str]]:
    """How many results of each tool are unusable; the operators that it leaves over the models where no result is; how
    often none leaves fewer, and how often all others leave more. A result that is unusable is never the fewest."""
    usable = comparable(all_results)
    for tool in all_results[0].by_tool if all_results else ():
        if tool == PACKAGE:
            continue
        n_unusable = sum(not each.by_tool[tool].is_usable for each in all_results)
        in_sum = sum(each.by_tool[tool].n_operators for each in usable)
        fewest = [each for each in all_results if tool in each.fewest()]
        n_alone = sum(each.fewest() == [tool] for each in fewest)
        yield [tool, str(n_unusable), f"{in_sum} over {len(usable)}", str(len(fewest)), str(n_alone)]


def race(relais: Relais, peers: Sequence[str], case: Case, n_rounds: int) -> dict[str, Result]:
    with ExitStack() as stack:
        # Beside the model rather than where other temporary files are, which may be memory: writing to disk counts.
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="judge-", dir=case.folder)))
        outs = {tool: folder / f"{tool}.onnx" for tool in (RELAIS, *peers)}
        runs: dict[str, Once] = {RELAIS: functools.partial(relais_once, relais, case.model, outs[RELAIS])}
        for peer in peers:
            worker = Worker(optimise)
            stack.callback(worker.stop)
            runs[peer] = functools.partial(peer_once, worker, Task(PEERS[peer], case.model, outs[peer]))
        seconds = in_turns(runs, n_rounds)
        written = [Written(tool, outs[tool], seconds[tool]) for tool in runs]
        done = pool.run(functools.partial(judge, case), written, 1, JUDGE_SECONDS)
        found = {each.task.tool: each.result for each in done}
    return {tool: result_of(found[tool]) for tool in runs}


def in_turns(runs: Mapping[str, Once], n_rounds: int) -> dict[str, float | str]:
    """The median of the seconds of each, without its first run; or why it failed."""
    failed: dict[str, str] = {}
    seconds: dict[str, list[float]] = {tool: [] for tool in runs}
    tools = list(runs)
    for turn in range(n_rounds + 1):
        # Rotated, so that none is always the first.
        for tool in tools[turn % len(tools) :] + tools[: turn % len(tools)]:
            is_enough = len(seconds[tool]) >= FEWEST_ROUNDS and sum(seconds[tool]) > ENOUGH_SECONDS
            if tool in failed or is_enough:
                continue
            outcome = runs[tool]()
            if isinstance(outcome, str):
                failed[tool] = outcome
            elif turn > 0:
                seconds[tool].append(outcome)
    return {tool: failed[tool] if tool in failed else statistics.median(seconds[tool]) for tool in tools}


def relais_once(relais: Relais, model: Path, out: Path) -> float | str:
    out.unlink(missing_ok=True)
    run = relais.run(model, out)
    return "; ".join(run.problems) or run.seconds


@dataclass(frozen=True)
class Task:
    peer: Peer
    model: Path
    out: Path


def peer_once(worker: Worker, task: Task) -> float | str:
    task.out.unlink(missing_ok=True)
    outcome = worker.ask(task, RUN_SECONDS)
    if isinstance(outcome, Died):
        return outcome.why
    if isinstance(outcome, float) and not task.out.exists():
        return "no output file"
    return outcome


def optimise(task: Task, _stage: Callable[[str], None]) -> float | str:
    """Runs in a worker."""
    start = time.process_time()
    try:
        task.peer.optimise(str(task.model), str(task.out))
    except Exception as error:  # of whatever type the peer likes
        return f"{type(error).__name__}: {error}"
    return time.process_time() - start


@dataclass(frozen=True)
class Written:
    tool: str
    out: Path
    seconds: float | str


def judge(case: Case, written: Written, stage: Callable[[str], None]) -> Result:
    """Runs in a worker, for a result may be such that reading it takes the process down."""
    out, seconds = written.out, written.seconds
    if isinstance(seconds, str):
        return Result(Verdict(Outcome.FAILURE, seconds))
    try:
        verdict = sound.compare(case, out, stage, interface_problems)
        return Result(verdict, seconds, graphs.n_operators(graphs.load(out)), graphs.size_on_disk(out))
    except Exception as error:  # whatever the judge trips over makes the result useless
        return Result(Verdict(Outcome.FAILURE, f"cannot judge: {type(error).__name__}: {error}"))


def interface_problems(before: ModelProto, after: ModelProto) -> list[str]:
    """What breaks a caller. Versions do not, nor outputs that say more of their shapes, nor inputs that say less."""
    called = ModelProto(ir_version=before.ir_version, opset_import=before.opset_import)
    old_inputs = {value.name: value for value in before.graph.input}
    old_outputs = {value.name: value for value in before.graph.output}
    for value in after.graph.input:
        old = old_inputs.get(value.name, value)
        called.graph.input.append(old if is_within(old.type, value.type) else value)
    for value in after.graph.output:
        old = old_outputs.get(value.name, value)
        called.graph.output.append(old if is_within(value.type, old.type) else value)
    called.graph.initializer.extend(tensor for tensor in after.graph.initializer if tensor.name in old_inputs)
    return graphs.interface_problems(before, called)


def is_within(narrow: TypeProto, wide: TypeProto) -> bool:
    """Whether both are tensors, and all that `wide` declares `narrow` declares too."""
    if not narrow.HasField("tensor_type") or narrow.tensor_type.elem_type != wide.tensor_type.elem_type:
        return False
    if not wide.tensor_type.HasField("shape"):
        return True
    a, b = narrow.tensor_type.shape.dim, wide.tensor_type.shape.dim
    # Some exporters write -1 for an open length.
    return len(a) == len(b) and all(y.dim_value in (x.dim_value, -1, 0) for x, y in zip(a, b, strict=True))


def result_of(found: Result | Died) -> Result:
    return Result(sound.verdict_of(found)) if isinstance(found, Died) else found


def import_seconds(peer: Peer) -> float:
    """The median of a few fresh processes, without the start of Python."""
    source = f"import time; start = time.perf_counter(); import {peer.imports}; print(time.perf_counter() - start)"
    outputs = [
        subprocess.run([sys.executable, "-c", source], capture_output=True, check=True) for _ in range(N_IMPORTS)
    ]
    return statistics.median(float(output.stdout.split()[-1]) for output in outputs)

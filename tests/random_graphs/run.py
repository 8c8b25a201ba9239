"""Batches of graphs: generated, run through passes, compared."""

from __future__ import annotations

import functools
import pickle
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import onnx

from judge import pool, runtimes
from judge.relais import Relais
from random_graphs import dress
from random_graphs.build import Graph, model
from random_graphs.compare import Counts, difference
from random_graphs.generate import OLDEST, generate
from random_graphs.judges import OWN_FAULTS, is_excused, verdicts
from random_graphs.options import used_by

BATCH = 50
INPUT = "input: "
"""Begins the name of a stage before anything runs that is judged here."""
ALSO = {runtimes.ONNXRUNTIME: ("checker", "full checker", "onnxruntime optimizing"), runtimes.REFERENCE: ("checker", "full checker")}
"""Who judges results besides the runtime that compares them."""
SECONDS = 600.0
MOST_APART = 0.01
"""The most of the graphs that may run in no runtime; of few graphs, `FEW_APART`."""
FEW_APART = 3
EXACT = "strict"
"""What has to agree to the bit."""
MAY_REFUSE = {"ConvertOpset": "error[O001]"}
"""Passes that may refuse a batch, and how they say it."""
OTHER_KERNELS = {"ConvertOpset": 1e-3}
"""Passes that make calls of other versions, for which runtimes have other kernels, and how far results may be apart then,
relative to the largest of an output."""
ROUNDED = {
    "SimplifyInference": {
        "GroupNormalization",
        "InstanceNormalization",
        "LayerNormalization",
        "LpNormalization",
        "MeanVarianceNormalization",
        "RMSNormalization",
    }
}
"""Operators that a pass writes out, so that results may be rounded otherwise: by decision, whatever follows them."""


@dataclass(frozen=True)
class Task:
    seed: int
    batch: int
    runs: tuple[tuple[str, tuple[str, ...]], ...]
    newest: int
    keep: Path | None
    n_graphs: int = BATCH


@dataclass
class Outcome:
    operators: Counter[str] = field(default_factory=Counter)
    opsets: Counter[int] = field(default_factory=Counter)
    n_graphs: int = 0
    n_by_reference: int = 0
    n_apart: int = 0
    """Graphs whose nodes run one by one, and which run as a whole in neither runtime, so that there is nothing to compare."""
    n_without_kernels: int = 0
    """Graphs that onnxruntime does not run once they are converted."""
    n_crashed: int = 0
    """Batches at whose originals a runtime ended its process."""
    counts: Counts = field(default_factory=Counts)
    failures: list[str] = field(default_factory=list)


def judge(relais: Relais, task: Task, stage: pool.Callable[[str], None]) -> Outcome:
    """Runs in a worker."""
    rng = random.Random(f"{task.seed}/{task.batch}")
    opset = rng.randint(OLDEST, task.newest)
    stage(f"{INPUT}generating batch {task.batch}, operator set {opset}")
    graphs = [generate(rng, opset, f"g{at}_", task.newest) for at in range(task.n_graphs)]
    outcome = Outcome(n_graphs=len(graphs))
    outcome.opsets[opset] += len(graphs)
    for graph in graphs:
        outcome.operators.update(graph.operators)
        outcome.n_by_reference += graph.by_reference
    for runtime in (runtimes.ONNXRUNTIME, runtimes.REFERENCE):
        group = [graph for graph in graphs if graph.by_reference == (runtime == runtimes.REFERENCE)]
        if group:
            compare(relais, task, runtime, group, opset, outcome, stage)
    return outcome


def compare(
    relais: Relais,
    task: Task,
    runtime: str,
    graphs: Sequence[Graph],
    opset: int,
    outcome: Outcome,
    stage: pool.Callable[[str], None],
) -> None:
    feeds = {name: array for graph in graphs for name, array in graph.feeds.items()}
    known = {name: array for graph in graphs for name, array in graph.known.items()}
    rng = random.Random(f"{task.seed}/{task.batch}/{graphs[0].prefix}/{len(graphs)}")
    with tempfile.TemporaryDirectory(prefix="random-") as folder:
        before = Path(folder) / "in.onnx"
        whole = model(graphs, opset)
        dress.dress(rng, whole, known, runs=True)
        dress.save(rng, whole, before)
        outputs = [value.name for value in whole.graph.output]
        stage(f"{INPUT}batch {task.batch} in {runtime}")
        try:
            old = runtimes.run(runtime, before, feeds)
        except runtimes.CannotRun:
            if len(graphs) > 1:
                halves(relais, task, runtime, graphs, opset, outcome, stage)
            elif runtime == runtimes.ONNXRUNTIME:
                # It ran each node by itself.
                outcome.n_by_reference += 1
                compare(relais, task, runtimes.REFERENCE, graphs, opset, outcome, stage)
            else:
                outcome.n_apart += 1
            return
        said = verdicts(before, feeds, ALSO[runtime], lambda name: stage(f"{INPUT}batch {task.batch} in {name}"))
        took = [name for name, said in said.items() if not isinstance(said, Exception)]
        for name, args in task.runs:
            after = Path(folder) / "out.onnx"
            after.unlink(missing_ok=True)
            stage(f"batch {task.batch}: {name}")
            ran = relais.run(before, after, *args)
            why = "; ".join(ran.problems)
            if name in MAY_REFUSE and MAY_REFUSE[name] in why and not after.exists():
                continue
            new = None
            if not why:
                try:
                    new = runtimes.run(runtime, after, feeds)
                except runtimes.CannotRun as error:
                    if name in OTHER_KERNELS and "NOT_IMPLEMENTED" in str(error):
                        # Of the version that the result needs, it has no kernel for these types.
                        alone = replace(task, runs=((name, args),))
                        if len(graphs) > 1:
                            halves(relais, alone, runtime, graphs, opset, outcome, stage)
                        else:
                            outcome.n_without_kernels += 1
                        continue
                    why = f"the result does not run: {error}"
            if new is not None:
                same = functools.partial(unchanged, before, after)
                why = differences(graphs, outputs, old, new, outcome, name, same) or refusals(
                    after, feeds, took, lambda judged: stage(f"batch {task.batch}: {name} in {judged}")
                )
            if why:
                outcome.failures.append(f"batch {task.batch}, operator set {opset}, {name}: {why}")
                keep(task, name, Path(folder), feeds)


def refusals(after: Path, feeds, took: Sequence[str], stage: pool.Callable[[str], None]) -> str:
    said = verdicts(after, feeds, took, stage)
    errors = {name: error for name, error in said.items() if isinstance(error, Exception)}
    return "; ".join(f"{name} refuses: {error}" for name, error in errors.items() if not is_excused(error, OWN_FAULTS))


def halves(relais: Relais, task: Task, runtime: str, graphs: Sequence[Graph], opset: int, outcome: Outcome, stage) -> None:
    middle = len(graphs) // 2
    for half in (graphs[:middle], graphs[middle:]):
        compare(relais, task, runtime, half, opset, outcome, stage)


def unchanged(before: Path, after: Path, output: str) -> bool:
    """Whether an output is computed by the same nodes from the same constants: what a runtime makes of it is its own doing."""
    behind = [what_is_behind(onnx.load(path), output) for path in (before, after)]
    return behind[0] == behind[1]


def what_is_behind(whole: onnx.ModelProto, output: str) -> set[str]:
    """The nodes and functions that compute an output, with constants by their contents: passes give equal ones one name."""
    functions = {(function.domain, function.name): function for function in whole.functions}
    constants = {held.name: contents(held) for held in whole.graph.initializer}
    for node in whole.graph.node:
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            constants[node.output[0]] = contents(node.attribute[0].t)
    found, wanted, called = set(), {output}, set()
    for node in reversed(whole.graph.node):
        if wanted & set(node.output) - constants.keys():
            wanted.update(used_by(node))
            called.add((node.domain, node.op_type))
            captured = sorted(f"{name}: {constants[name]}" for name in set(used_by(node)) - set(node.input) if name in constants)
            node.input[:] = [constants.get(name, name) for name in node.input]
            found.add(f"{node} {captured}")
    while called:
        function = functions.pop(called.pop(), None)
        if function is not None:
            found.add(str(function))
            called.update((node.domain, node.op_type) for node in function.node)
    return found


def contents(held: onnx.TensorProto) -> str:
    array = onnx.numpy_helper.to_array(held)
    return f"{array.dtype} {array.shape} {array.tolist() if array.dtype == object else array.tobytes().hex()}"


def differences(
    graphs: Sequence[Graph],
    outputs: Sequence[str],
    old,
    new,
    outcome: Outcome,
    run: str,
    same: Callable[[str], bool],
) -> str:
    anything = {output.name for graph in graphs if graph.operators & ROUNDED.get(run, set()) for output in graph.outputs}
    bounds = {name: bound for graph in graphs for name, bound in graph.bounds.items()}
    found = []
    for name, a, b in zip(outputs, old, new, strict=True):
        bound = np.inf if name in anything else bounds.get(name.removesuffix(dress.AGAIN))
        if run in OTHER_KERNELS and isinstance(a, np.ndarray) and a.dtype.kind == "f":
            largest = np.abs(a, where=np.isfinite(a), out=np.zeros(a.shape)).max(initial=0)
            bound = np.maximum(0 if bound is None else bound, np.full(a.shape, OTHER_KERNELS[run] * largest))
        why = difference(a, b, None if run == EXACT else bound, outcome.counts)
        if why and not same(name):
            found.append(f"`{name}` {why}")
    return f"{len(found)} outputs differ: {'; '.join(found[:4])}" if found else ""


def keep(task: Task, name: str, models: Path, feeds) -> None:
    if task.keep is None:
        return
    folder = task.keep / f"{task.seed}-{task.batch}-{name}"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(models, folder)
    (folder / "feeds.pickle").write_bytes(pickle.dumps(feeds))


def command(relais: Relais, tasks: Sequence[Task], n_jobs: int) -> int:
    total = Outcome()
    for done in pool.run(functools.partial(judge, relais), list(tasks), n_jobs, SECONDS):
        if isinstance(done.result, pool.Died):
            if done.result.stage.startswith(INPUT) and "status -" in done.result.why:
                total.n_crashed += 1
            else:
                total.failures.append(f"batch {done.task.batch}: {done.result.why} while at: {done.result.stage}")
            continue
        for name in ("operators", "opsets"):
            getattr(total, name).update(getattr(done.result, name))
        for name in ("n_graphs", "n_by_reference", "n_apart", "n_without_kernels"):
            setattr(total, name, getattr(total, name) + getattr(done.result, name))
        total.counts.add(done.result.counts)
        total.failures += done.result.failures
    if total.n_apart > max(FEW_APART, MOST_APART * total.n_graphs):
        total.failures.append(f"{total.n_apart} graphs run in no runtime as a whole")
    for failure in sorted(total.failures):
        print(failure)
    print(
        f"{total.n_graphs} graphs of {len(total.operators)} operators and operator sets {min(total.opsets, default=0)} to "
        f"{max(total.opsets, default=0)}, {total.n_by_reference} of them in the reference evaluator and {total.n_apart} in no runtime, "
        f"{total.n_without_kernels} not comparable when converted; "
        f"{total.counts.n_comparisons} numbers compared, {total.counts.n_off} off within the promise, "
        f"{total.counts.n_decided} beyond it by decision, {total.n_crashed} batches that end a runtime's process, "
        f"{len(total.failures)} failures"
    )
    return 1 if total.failures or not total.n_graphs else 0

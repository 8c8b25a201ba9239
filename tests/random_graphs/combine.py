"""Models of every form through command lines of every kind. One that took the input takes the result, and computes the same."""

from __future__ import annotations

import functools
import pickle
import random
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import onnx

from judge import pool, runtimes
from random_graphs import build, dress
from random_graphs.compare import Counts, difference
from random_graphs.generate import OLDEST, generate
from random_graphs.judges import JUDGES, OPENVINO_LACKS, OWN_FAULTS, is_excused, is_misread, verdicts
from random_graphs.options import CLOSE, NEWEST, Command, Given, command

N_COMMANDS = 4
"""How many are tried on a model."""
LONGEST = 120.0
"""How many seconds a run may take on a loaded machine."""
SECONDS = 300.0
BEYOND = 0.15
"""How many of the models are of an operator set that only the reference evaluator knows."""
INPUT = "input: "
"""Begins the name of a stage before the binary has run."""
CRASHED = "status -"
REFUSALS = (
    r"error\[O001\]",  # the operator set does not have it
    r"error\[N001\]",  # nor that element type
    r"error\[P015\]",  # a pass was disabled that another one needs
    r"the model fixes a size of input",
    r"nodes to keep are written for operator set",
    r"cannot be an (in|out)put: (its type|how many dimensions it has) is not known",
    r"no output depends on input",
)
"""What may be refused, by the text of the refusal."""
LAST_WITH_LISTED = 3
"""The last version of the format whose initializers are inputs."""
LISTED = (r"\(op_type:Constant\): output has unsupported type",)
"""What full checking says of models whose initializers are inputs, so that new constants are nodes, as exporters made them."""
HIDDEN = (r"single static assignment",)
"""What onnxruntime says of names that hide others, which it finds in some orders of nodes and not in others, and which the
checker finds in the input."""
NO_KERNELS = (
    r"No (registered )?implementation for operator",
    r"Issues with types .*'MatMul'",
    r"output_size is None and scale_factors is None",
)
"""What onnxruntime and the reference evaluator say of a version of an operator that they lack."""
WARNED = (r"NOT_IMPLEMENTED",)
"""What onnxruntime says of a kernel that it lacks, of which a run warns, but for a model in the text form."""
WARNING = "onnxruntime [0-9.]+ has no kernel for"
OPENED = (r"cannot operate with dynamic shapes of input",)
"""What OpenVINO says where a size becomes open because that was asked for."""


@dataclass(frozen=True)
class Task:
    seed: int
    at: int
    passes: tuple[str, ...]
    newest: int
    keep: Path | None


@dataclass
class Outcome:
    n_models: int = 0
    n_commands: int = 0
    n_refused: int = 0
    took: Counter[str] = field(default_factory=Counter)
    """How many inputs each judge took."""
    counts: Counts = field(default_factory=Counts)
    failures: list[tuple[str, str]] = field(default_factory=list)
    """The kind, and the details."""


@dataclass
class Case:
    """A model in a folder, and what judges say of it."""

    folder: Path
    model: onnx.ModelProto
    feeds: dict[str, object]
    known: dict[str, np.ndarray]
    bounds: dict[str, np.ndarray]
    cuttable: dict[str, np.ndarray]
    opset: int
    newest: int
    operators: set[str] = field(default_factory=set)
    said: dict[str, object] = field(default_factory=dict)
    loops_over_strings: bool = False

    @functools.cached_property
    def agreed(self) -> bool:
        """Whether the reference evaluator and onnxruntime compute the same."""
        both = [self.said.get(name) for name in (runtimes.ONNXRUNTIME, runtimes.REFERENCE)]
        if any(said is None or isinstance(said, Exception) for said in both):
            return False
        return not any(difference(a, b, CLOSE, Counts()) for a, b in zip(*both, strict=True))


def made(rng: random.Random, task: Task, folder: Path) -> Case:
    opset = rng.randint(task.newest + 1, NEWEST) if rng.random() < BEYOND else rng.randint(OLDEST, task.newest)
    graphs = [generate(rng, opset, f"g{at}_", task.newest) for at in range(rng.choice((1, 1, 2)))]
    model = build.model(graphs, opset)
    case = Case(folder, model, {}, {}, {}, {}, opset, task.newest)
    for graph in graphs:
        case.feeds |= graph.feeds
        case.known |= graph.known
        case.bounds |= graph.bounds
        case.cuttable |= {name: array for name, array in graph.known.items() if name not in graph.between}
        case.operators |= graph.operators
        case.loops_over_strings |= graph.loops_over_strings
    dress.dress(rng, model, case.known, runs=False)
    dress.save(rng, model, folder / "in.onnx")
    return case


def judge(relais: Path, task: Task, stage: Callable[[str], None]) -> Outcome:
    """Runs in a worker."""
    rng = random.Random(f"{task.seed}/{task.at}")
    outcome = Outcome(n_models=1)
    with tempfile.TemporaryDirectory(prefix="random-") as temporary:
        folder = Path(temporary) / "input"
        folder.mkdir()
        stage(INPUT + "made")
        case = made(rng, task, folder)
        case.said = verdicts(folder / "in.onnx", case.feeds, list(JUDGES), lambda name: stage(INPUT + name))
        outcome.took.update(name for name, said in case.said.items() if not isinstance(said, Exception))
        for at in range(N_COMMANDS):
            asked = command(rng, Given(case.model, case.feeds, case.cuttable, task.passes))
            here = Path(temporary) / f"{at}"
            shutil.copytree(folder, here)
            line = f"model {task.at}, {' '.join(asked.args)} -o {asked.output}"
            stage(line)
            outcome.n_commands += 1
            try:
                problems = tried(relais, case, asked, here, outcome, lambda name, line=line: stage(f"{line}: {name}"))
            except Exception as error:
                raise RuntimeError(f"{task.at} {asked}") from error
            for kind, details in problems:
                line = f"model {task.at}: {' '.join(asked.args)} -o {asked.output}: {details}"
                outcome.failures.append((kind, line))
                keep(task, case, asked, here, at, line)
            shutil.rmtree(here)
    return outcome


def tried(
    relais: Path, case: Case, asked: Command, folder: Path, outcome: Outcome, stage: Callable[[str], None]
) -> list[tuple[str, str]]:
    """What is wrong with a run or its result."""
    (folder / "there").mkdir()
    runs = [["in.onnx", "-o", asked.output, *asked.args]]
    if asked.runs_text:
        runs.append([asked.output, "-o", "text.onnx", "-O0"])
    heard = []
    for args in runs:
        problem, text = ran(relais, args, folder)
        if problem is not None:
            outcome.n_refused += problem == ""
            return [(problem, text)] if problem else []
        heard.append(text)
    result = folder / runs[-1][2]
    feeds, wanted = interface(case, asked, result)
    said = verdicts(result, feeds, judges_of(case, asked), stage)
    excused = OWN_FAULTS + OPENVINO_LACKS + (NO_KERNELS if asked.tolerance else ())
    if asked.runs_text or any(re.search(WARNING, text) for text in heard):
        excused += WARNED
    if any(arg.endswith("?") or "?," in arg for arg in asked.args if ":" in arg):
        excused += OPENED
    if case.model.ir_version <= LAST_WITH_LISTED:
        excused += LISTED
    if isinstance(case.said["checker"], Exception):
        excused += HIDDEN
    problems = [
        (f"{name} refuses: {normal(str(error))}", f"{name}: {error}")
        for name, error in said.items()
        if isinstance(error, Exception) and not is_excused(error, excused)
    ]
    for name in (runtimes.ONNXRUNTIME, runtimes.REFERENCE):
        if name in said and not isinstance(said[name], Exception):
            # What was cut out is known by what onnxruntime computed of it.
            cut = name == runtimes.REFERENCE and bool(asked.inputs or asked.outputs)
            if cut and not case.agreed:
                continue
            near = replace(asked, tolerance=np.inf) if cut else asked
            why = differences(case, near, case.said[name], said[name], wanted, outcome.counts)
            problems += [(f"wrong in {name}: {normal(why)}", f"{name}: {why}")] if why else []
    return problems


def judges_of(case: Case, asked: Command) -> list[str]:
    took = [name for name, said in case.said.items() if not isinstance(said, Exception)]
    if (asked.opset or 0) > case.newest:
        took = [name for name in took if not name.startswith("onnxruntime")]
    oldest = min(asked.opset or case.opset, case.opset)
    if asked.foreign or is_misread(case.operators, oldest):
        took = [name for name in took if name not in (runtimes.REFERENCE, "OpenVINO")]
    if case.loops_over_strings:
        took = [name for name in took if not name.startswith("onnxruntime")]
    # Some of its kernels end the process over a tensor without elements.
    if asked.outlines or any(array.size == 0 for array in case.known.values()):
        took = [name for name in took if name != "OpenVINO"]
    return took


def ran(relais: Path, args: Sequence[str], folder: Path) -> tuple[str | None, str]:
    """The kind of problem with a run, which is empty for what may be refused, and what it said."""
    command_line = [relais, "run", "--no-reproducer", *args]
    try:
        run = subprocess.run(command_line, cwd=folder, capture_output=True, text=True, timeout=LONGEST, check=False)
    except subprocess.TimeoutExpired:
        return "takes too long", f"still running after {LONGEST:.0f} s"
    said = run.stderr.strip()
    if run.returncode == 0 and "internal error" not in said:
        return None, said
    if not 0 <= run.returncode < 64:
        return f"status {run.returncode}: {normal(said)}", said
    if "internal error" not in said and any(re.search(text, said) for text in REFUSALS):
        return "", said
    return f"refused: {normal(said)}", said


def interface(case: Case, asked: Command, result: Path) -> tuple[dict[str, object], list[str]]:
    """What is fed, and the outputs that are expected."""
    outputs = asked.outputs or [value.name for value in case.model.graph.output]
    if asked.inputs is None and asked.outputs is None:
        return case.feeds, outputs
    graph = onnx.load(result, load_external_data=False).graph
    everything = case.known | case.feeds
    defaults = {held.name for held in graph.initializer} | {held.values.name for held in graph.sparse_initializer}
    names = [value.name for value in graph.input if value.name not in defaults]
    return {name: everything[name] for name in names if name in everything}, outputs


def differences(case: Case, asked: Command, old, new, wanted: Sequence[str], counts: Counts) -> str:
    by_name = dict(zip([value.name for value in case.model.graph.output], old, strict=True))
    if len(new) != len(wanted):
        return f"{len(wanted)} outputs became {len(new)}"
    found = []
    for name, b in zip(wanted, new, strict=True):
        if np.isinf(asked.tolerance) and name not in by_name:
            # Only onnxruntime has computed it before.
            continue
        a = by_name.get(name, case.known.get(name))
        why = difference(a, b, bound_of(case, asked, name.removesuffix(dress.AGAIN), a), counts)
        found += [f"`{name}` {why}"] if why else []
    return "; ".join(found)


def bound_of(case: Case, asked: Command, name: str, array: object) -> np.ndarray | float | None:
    bound = case.bounds.get(name)
    if np.isinf(asked.tolerance):
        return np.inf
    if isinstance(array, list):
        bounds = [bound_of(case, asked, name, one) for one in array if isinstance(one, np.ndarray)]
        return max((np.max(one, initial=0) for one in bounds if one is not None), default=bound)
    if asked.tolerance == 0 or not isinstance(array, np.ndarray):
        return bound
    # Runtimes have other kernels for weights that are constants than for those that an input gave when a value was known.
    if asked.inputs is not None and array.dtype.kind != "f":
        return np.inf
    if array.dtype.kind == "b":
        # It may say whether two floats are equal.
        return np.inf
    if array.dtype.kind != "f":
        return bound
    largest = np.abs(array, where=np.isfinite(array), out=np.zeros(array.shape)).max(initial=0)
    return np.maximum(0 if bound is None else bound, asked.tolerance * largest)


def normal(text: str) -> str:
    """Without what is particular to one model."""
    text = re.sub(r"/[\w./+-]+", "PATH", text)
    text = re.sub(r"\bg\d+_\w+", "V", text)
    text = re.sub(r"[\[({][\d, .einfa+-]*[\])}]", "N", text)
    return re.sub(r"-?\b\d[\d.e+-]*", "N", text)[:200].replace("\n", " ")


def keep(task: Task, case: Case, asked: Command, folder: Path, at: int, line: str) -> None:
    if task.keep is None:
        return
    target = task.keep / f"{task.seed}-{task.at}-{at}"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(case.folder, target)
    shutil.copytree(folder, target / "after")
    (target / "feeds.pickle").write_bytes(pickle.dumps({**case.known, **case.feeds, "__known__": case.known}))
    (target / "command.txt").write_text(f"{' '.join(asked.args)} -o {asked.output}\n{line}\n")


def report(tasks: Sequence[Task], relais: Path, n_jobs: int) -> int:
    """The first of each kind of failure as it is found, then how many there are of each."""
    total = Outcome()
    kinds: Counter[str] = Counter()
    n_lost = 0

    def failed(kind: str, line: str) -> None:
        if kind not in kinds:
            print(f"{kind}\n    {line[:600]}", flush=True)
        kinds[kind] += 1

    for done in pool.run(functools.partial(judge, relais), list(tasks), n_jobs, SECONDS):
        result = done.result
        if isinstance(result, pool.Died):
            n_lost += 1
            if not (result.stage.startswith(INPUT) and CRASHED in result.why):
                failed(f"lost: {result.why}", f"model {done.task.at}: {result.stage}")
            continue
        for name in ("n_models", "n_commands", "n_refused"):
            setattr(total, name, getattr(total, name) + getattr(result, name))
        total.took.update(result.took)
        total.counts.add(result.counts)
        for kind, line in result.failures:
            failed(kind, line)
    for kind, n in kinds.most_common():
        print(f"{n} x {kind}")
    took = ", ".join(f"{name} {total.took[name]}" for name in JUDGES)
    print(
        f"{total.n_commands} command lines on {total.n_models} models, {total.n_refused} refused as documented, "
        f"{n_lost} models lost; judges took of the inputs: {took}; {total.counts.n_comparisons} numbers compared, "
        f"{len(kinds)} kinds of failures"
    )
    return 1 if kinds or not total.n_models else 0

"""The default pipeline on every case: valid, same interface, same results."""

from __future__ import annotations

import functools
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from onnx import ModelProto

from judge import graphs, pool, runtimes, values
from judge.cases import Case
from judge.pool import Died
from judge.relais import Relais
from judge.report import Report, one_line

RANDOM = frozenset(
    {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
)
EXACT_KEY = "judge.compare"
"""Metadata key of a model whose outputs are determined although it contains random operators."""
CASE_SECONDS = 120.0


class Outcome(Enum):
    """What was found; the value is the word in the summary."""

    SAME = "same results"
    IDENTICAL = "identical"
    UNJUDGED = "not judged"
    WRONG = "wrong"
    INVALID = "invalid"
    INTERFACE = "interface changed"
    FAILURE = "failures"


FAILED = (Outcome.WRONG, Outcome.INVALID, Outcome.INTERFACE, Outcome.FAILURE)


@dataclass(frozen=True)
class Verdict:
    outcome: Outcome
    detail: str = ""
    changed: bool = False
    """The nodes of the graph or of a function differ."""
    runtime: str = ""


def command(
    relais: Relais,
    cases: list[Case],
    n_jobs: int,
    imports: frozenset[str] = frozenset(),
) -> int:
    report = Report()
    outcomes: Counter[Outcome] = Counter()
    unjudged: Counter[str] = Counter()
    by_runtime: Counter[str] = Counter()
    n_changed = 0
    start = time.perf_counter()
    for done in pool.run(functools.partial(judge, relais, imports=imports), cases, n_jobs, CASE_SECONDS):
        verdict = verdict_of(done.result)
        outcomes[verdict.outcome] += 1
        n_changed += verdict.changed
        by_runtime[verdict.runtime] += bool(verdict.runtime)
        if verdict.outcome is Outcome.UNJUDGED:
            unjudged[verdict.detail] += 1
        if verdict.outcome in FAILED:
            report.failed(str(done.task), f"{verdict.outcome.value}: {verdict.detail}")
        else:
            report.passed()
    for reason, count in sorted(unjudged.items()):
        print(f"not judged, {count}: {reason}")
    for runtime, count in sorted(by_runtime.items()):
        if runtime:
            print(f"compared in {runtime}: {count}")
    counts = ", ".join(f"{outcomes[outcome]} {outcome.value}" for outcome in Outcome)
    print(f"{counts}, {n_changed} changed, {time.perf_counter() - start:.0f} s")
    return report.finish()


def verdict_of(result: Verdict | Died) -> Verdict:
    if isinstance(result, Died):
        return Verdict(Outcome.FAILURE, f"{result.why} while at: {result.stage}")
    return result


def judge(
    relais: Relais, case: Case, stage: pool.Callable[[str], None], imports: frozenset[str] = frozenset()
) -> Verdict:
    """Runs in a worker. The result may have operators of the domains `imports`, too."""
    with tempfile.TemporaryDirectory(prefix="judge-") as folder:
        out = Path(folder) / "out.onnx"
        stage("relais")
        run = relais.run(case.model, out)
        if run.problems:
            return Verdict(Outcome.FAILURE, "; ".join(run.problems))
        stage("comparison of the files")
        try:
            return compare(case, out, stage, functools.partial(graphs.interface_problems, imports=imports))
        except Exception as error:  # whatever the judge trips over is this case's failure
            return Verdict(Outcome.FAILURE, f"cannot judge: {type(error).__name__}: {error}")


def compare(
    case: Case,
    out: Path,
    stage: pool.Callable[[str], None],
    interface_problems: pool.Callable[[ModelProto, ModelProto], list[str]] = graphs.interface_problems,
) -> Verdict:
    before = graphs.load(case.model)
    external = graphs.external_locations(before)
    if not external and case.model.read_bytes() == out.read_bytes():
        return Verdict(Outcome.IDENTICAL)
    after = graphs.load(out)
    changed = any(
        [node.SerializeToString() for node in old] != [node.SerializeToString() for node in new]
        for old, new in ((before.graph.node, after.graph.node), (before.functions, after.functions))
    )
    stage("checker")
    wanted, _ = graphs.validity(case.model)
    reached, why = graphs.validity(out)
    if reached < wanted:
        return Verdict(Outcome.INVALID, why, changed)
    stage("loading")
    if (why := runtimes.load_error(out)) and not runtimes.load_error(case.model):
        return Verdict(Outcome.INVALID, f"onnxruntime loads the original, not the result: {why}", changed)
    if problems := interface_problems(before, after):
        return Verdict(Outcome.INTERFACE, "; ".join(problems), changed)
    verdict = compare_results(case, before, out, stage, changed=changed)
    if verdict.outcome is Outcome.UNJUDGED and not external and same_computation(before, after):
        return Verdict(Outcome.IDENTICAL)
    return verdict


def compare_results(
    case: Case, before: ModelProto, out: Path, stage: pool.Callable[[str], None], *, changed: bool
) -> Verdict:
    try:
        feeds = values.feeds(case, before)
    except values.NoInputs as error:
        return Verdict(Outcome.UNJUDGED, one_line(str(error)), changed)
    names = [value.name for value in before.graph.output]
    reasons = []
    for runtime in (runtimes.ONNXRUNTIME, runtimes.REFERENCE):
        stage(f"the original in {runtime}")
        try:
            old = runtimes.run(runtime, case.model, feeds)
        except runtimes.CannotRun as error:
            reasons.append(f"{runtime}: {one_line(str(error), 120)}")
            continue
        stage(f"the result in {runtime}")
        try:
            new = runtimes.run(runtime, out, feeds)
        except runtimes.CannotRun as error:
            return Verdict(Outcome.INVALID, f"{runtime} ran the original, not the result: {error}", changed, runtime)
        if why := values.named_difference(names, old, new, exact=is_determined(before)):
            return Verdict(Outcome.WRONG, why, changed, runtime)
        return Verdict(Outcome.SAME, "", changed, runtime)
    return Verdict(Outcome.UNJUDGED, "; ".join(reasons), changed)


def same_computation(before: ModelProto, after: ModelProto) -> bool:
    """Equal in all that decides the results; such a model needs no run."""
    return (
        before.graph == after.graph
        and list(before.functions) == list(after.functions)
        and list(before.opset_import) == list(after.opset_import)
    )


def is_determined(model: ModelProto) -> bool:
    """Whether two runs must give the same numbers."""
    if any(entry.key == EXACT_KEY for entry in model.metadata_props):
        return True
    return not any(
        node.op_type in RANDOM or (node.op_type == "Dropout" and len(node.input) > 2) for node in graphs.nodes(model)
    )

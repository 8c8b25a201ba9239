"""Each case converted to other operator sets, up and down: refused by name, or valid with the same results."""

from __future__ import annotations

import functools
import re
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import onnx
from onnx import ModelProto, TensorProto, helper

from judge import bodies, graphs, pool, runtimes, sound, values
from judge.cases import Case
from judge.pool import Died
from judge.relais import Relais
from judge.report import Report, one_line
from judge.sound import FAILED, Outcome, Verdict

OLDEST = 7
"""The oldest operator set that models are converted from and to."""
BELOW = 2
"""How many operator sets below its own a case is converted to."""
REFUSED = "O001"
"""The code of errors that say what the target cannot express."""
CASE_SECONDS = 600.0
BOTH = (runtimes.ONNXRUNTIME, runtimes.REFERENCE)
DECLARED = "Inferred shape and existing shape differ"
NOT_LOADED = "it loads no such operator set"


@dataclass(frozen=True)
class Converted:
    """A case and what became of it in one operator set."""

    target: int
    verdict: Verdict
    refused: tuple[str, ...] = ()


def fetch(out: Path, versions: Sequence[str]) -> int:
    """Writes the node cases that older releases of the `onnx` package have as files: kind `onnx-VERSION`."""
    for version in versions:
        with tempfile.TemporaryDirectory(prefix="judge-") as folder:
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
            command += ["--python-version", "3.8", "--platform", "manylinux2014_x86_64", "--platform", "manylinux2010_x86_64"]
            subprocess.run([*command, "--dest", folder, f"onnx=={version}"], check=True)
            (wheel,) = Path(folder).glob("*.whl")
            n_files = unpack(wheel, out / f"onnx-{version}")
            print(f"onnx {version}: {n_files} files")
    return 0


def unpack(wheel: Path, out: Path) -> int:
    prefix = "onnx/backend/test/data/node/"
    n_files = 0
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.startswith(prefix) and name.endswith((".onnx", ".pb")):
                path = out / name.removeprefix(prefix)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(archive.read(name))
                n_files += 1
    return n_files


def command(relais: Relais, found: Iterable[Case], targets: list[int], n_jobs: int) -> int:
    cases = [case for case in found if case.name not in bodies.DIFFER]
    asked = Relais(relais.path, [*relais.args, "--no-reproducer"], relais.timeout)
    report = Report()
    outcomes: Counter[Outcome] = Counter()
    refused: Counter[str] = Counter()
    n_refused = 0
    by_runtime: Counter[str] = Counter()
    for done in pool.run(functools.partial(judge, asked, targets=targets), cases, n_jobs, CASE_SECONDS):
        if isinstance(done.result, Died):
            outcomes[Outcome.FAILURE] += 1
            report.failed(str(done.task), sound.verdict_of(done.result).detail)
            continue
        for converted in done.result:
            if converted.refused:
                n_refused += 1
                refused.update(converted.refused)
                report.passed()
                continue
            verdict = converted.verdict
            outcomes[verdict.outcome] += 1
            by_runtime[verdict.runtime] += bool(verdict.runtime)
            if verdict.outcome in FAILED:
                report.failed(f"{done.task} to {converted.target}", f"{verdict.outcome.value}: {verdict.detail}")
            else:
                report.passed()
    for reason, count in refused.most_common():
        print(f"refused, {count}: {reason}")
    for runtime, count in sorted(by_runtime.items()):
        if runtime:
            print(f"compared in {runtime}: {count}")
    print(f"{n_refused} refused, " + ", ".join(f"{outcomes[outcome]} {outcome.value}" for outcome in Outcome))
    return report.finish()


def newest() -> int:
    return onnx.defs.onnx_opset_version()


@functools.lru_cache(maxsize=1)
def newest_loaded() -> int:
    """The newest operator set that onnxruntime loads."""
    for version in range(newest(), OLDEST, -1):
        if not runtimes.load_error(identity(version)):
            return version
    return OLDEST


def identity(version: int) -> bytes:
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "identity", value[:1], value[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=7).SerializeToString()


def targets_of(before: ModelProto, asked: Sequence[int]) -> list[int]:
    own = next((opset.version for opset in before.opset_import if opset.domain in ("", "ai.onnx")), 0)
    if own < OLDEST:
        return []
    all_targets = asked or [*range(max(OLDEST, own - BELOW), own), *range(own + 1, newest() + 1)]
    return [target for target in all_targets if target != own]


def judge(
    relais: Relais, case: Case, stage: pool.Callable[[str], None], targets: Sequence[int]
) -> list[Converted]:
    """Runs in a worker."""
    before = graphs.load(case.model)
    old = Old(case, before)
    with tempfile.TemporaryDirectory(prefix="judge-") as folder:
        found = []
        for target in targets_of(before, targets):
            stage(f"operator set {target}")
            out = Path(folder) / f"{target}.onnx"
            try:
                found.append(convert(relais, case, old, target, out))
            except Exception as error:  # whatever the judge trips over is this case's failure
                why = f"cannot judge: {type(error).__name__}: {error}"
                found.append(Converted(target, Verdict(Outcome.FAILURE, why)))
    return found


class Old:
    """A case, and its results in each runtime, computed once."""

    def __init__(self, case: Case, before: ModelProto) -> None:
        self.case, self.model = case, before
        self.names = [value.name for value in before.graph.output]
        self.is_determined = sound.is_determined(before)
        self.results: dict[str, Sequence[values.Value] | str] = {}

    @functools.cached_property
    def validity(self) -> graphs.Validity:
        return graphs.validity(self.case.model)[0]

    @functools.cached_property
    def feeds(self) -> dict[str, values.Value]:
        return values.feeds(self.case, self.model)

    def run(self, runtime: str) -> Sequence[values.Value] | str:
        """The results, or why there are none."""
        if runtime not in self.results:
            try:
                self.results[runtime] = runtimes.run(runtime, self.case.model, self.feeds)
            except runtimes.CannotRun as error:
                self.results[runtime] = one_line(str(error), 120)
        return self.results[runtime]


def convert(relais: Relais, case: Case, old: Old, target: int, out: Path) -> Converted:
    run = relais.run(case.model, out, "--target-opset", str(target))
    if run.problems:
        detail = "; ".join(run.problems)
        refused = re.findall(rf"error\[{REFUSED}\][^`]*(`[^`]+`) cannot be converted to operator set \d+: ([^\n]*)", detail)
        if refused and not out.exists():
            return Converted(target, Verdict(Outcome.SAME), tuple(f"{name}: {why}" for name, why in refused))
        return Converted(target, Verdict(Outcome.FAILURE, detail))
    after = graphs.load(out)
    reached, why = graphs.validity(out)
    # A model may declare a type that only the checks of newer operator sets find to be wrong.
    if reached < old.validity and not (reached and DECLARED in why):
        return Converted(target, Verdict(Outcome.INVALID, why))
    imported = {opset.domain: opset.version for opset in after.opset_import}
    if imported.get("", imported.get("ai.onnx")) != target:
        return Converted(target, Verdict(Outcome.INTERFACE, f"it imports {imported}"))
    others = [why for why in graphs.interface_problems(old.model, after) if not is_about_onnx(why)]
    if others:
        return Converted(target, Verdict(Outcome.INTERFACE, "; ".join(others)))
    return Converted(target, compare(old, target, out))


def is_about_onnx(problem: str) -> bool:
    return problem.startswith(("operator set `` ", "operator set `ai.onnx` "))


def compare(old: Old, target: int, out: Path) -> Verdict:
    try:
        old.feeds  # noqa: B018 - they may not exist
    except values.NoInputs as error:
        return Verdict(Outcome.UNJUDGED, one_line(str(error)))
    reasons = []
    others: list[tuple[str, str]] = []
    for runtime in BOTH:
        before = old.run(runtime)
        new = run_new(runtime, target, out, old.feeds)
        reasons += [f"{runtime}: {results}" for results in (before, new) if isinstance(results, str)]
        if not isinstance(before, str) and isinstance(new, str) and runtime == runtimes.ONNXRUNTIME and not is_missing(new):
            return Verdict(Outcome.INVALID, f"{runtime} runs the original, not the result: {new}", runtime=runtime)
        if isinstance(before, str) or isinstance(new, str):
            continue
        why = values.named_difference(old.names, before, new, exact=old.is_determined)
        if not why:
            return Verdict(Outcome.SAME, runtime=runtime)
        if runtime == runtimes.ONNXRUNTIME:
            return Verdict(Outcome.WRONG, why, runtime=runtime)
        others.append((runtime, why))
    # The reference evaluator takes some old versions of operators for the newest; onnxruntime does not.
    for a, b in (BOTH, BOTH[::-1]):
        before, new = old.run(a), run_new(b, target, out, old.feeds)
        if isinstance(before, str) or isinstance(new, str):
            continue
        if not values.named_difference(old.names, before, new, exact=old.is_determined):
            return Verdict(Outcome.SAME, runtime=" and ".join(BOTH))
    if others:
        return Verdict(Outcome.WRONG, others[0][1], runtime=others[0][0])
    return Verdict(Outcome.UNJUDGED, "; ".join(reasons))


def run_new(
    runtime: str, target: int, out: Path, feeds: dict[str, values.Value]
) -> Sequence[values.Value] | str:
    """The results of a converted model, or why the runtime has none."""
    if runtime == runtimes.ONNXRUNTIME and target > newest_loaded():
        return NOT_LOADED
    try:
        return runtimes.run(runtime, out, feeds)
    except runtimes.CannotRun as error:
        return one_line(str(error), 120)


def is_missing(why: str) -> bool:
    """Whether onnxruntime has no kernel for an operator in this version, or not yet, or loads no such operator set."""
    return "NOT_IMPLEMENTED" in why or why == NOT_LOADED

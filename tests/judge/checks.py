"""What `--check` says: nothing of results that are right, in `float32` and in `float16`, and something of spoilt ones.

Each model is checked on several seeds by the evaluators, and by onnxruntime. Where it does not take random inputs, it gets
those of its case, as files. What nobody can compare is not judged.
"""

from __future__ import annotations

import functools
import json
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from judge import graphs, pool, values
from judge.cases import Case
from judge.pool import Died
from judge.relais import Relais
from judge.report import Report, one_line, table

CASE_SECONDS = 1800.0
BY = {"evaluators": [], "onnxruntime": ["--check-with", "onnxruntime", "--python", sys.executable]}
SPOILT = {"weight": "liar.SpoilsLast", "rounding": "liar.RoundsBadly"}
"""Passes of the plugin that lies."""


@dataclass(frozen=True)
class Checks:
    """What is checked, and how."""

    relais: Relais
    n_seeds: int
    liar: Path | None
    """The plugin that spoils results; without it, none is spoilt."""
    dtypes: tuple[str, ...]


@dataclass
class Outcome:
    said: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)


def command(checks: Checks, cases: list[Case], n_jobs: int) -> int:
    report = Report()
    said: Counter[str] = Counter()
    rows = []
    for done in pool.run(functools.partial(judge, checks), cases, n_jobs, CASE_SECONDS):
        found = done.result
        if isinstance(found, Died):
            report.failed(str(done.task), f"{found.why} while at: {found.stage}")
            continue
        report.judged(str(done.task), found.problems)
        said += found.said
        rows += found.rows
    print(table(["model", "check", "said", "seconds", "largest difference"], sorted(rows)))
    for what, count in sorted(said.items()):
        print(f"{count:5} {what}")
    return report.finish()


def judge(checks: Checks, case: Case, stage: pool.Callable[[str], None]) -> Outcome:
    """Runs in a worker."""
    outcome = Outcome()
    with tempfile.TemporaryDirectory(prefix="judge-") as folder:
        here = Path(folder)
        inputs = given(case, here)
        for dtype in checks.dtypes:
            lowered = [] if dtype == "float32" else ["--dtype", dtype]
            for by, arguments in BY.items():
                stage(f"{dtype} by {by}")
                one(checks, case, here, outcome, f"{dtype} by {by}", [*lowered, *arguments], inputs, None)
            for what, liar in SPOILT.items() if checks.liar else ():
                stage(f"{what} spoilt in {dtype}")
                lower = f'{{ pass = "relais.ToMixedPrecision", options = {{ dtype = "{dtype}" }} }},' if lowered else ""
                pipeline = here / "pipeline.toml"
                pipeline.write_text(f'steps = [{{ include = "builtin:default" }}, {lower} "relais.InferType", "{liar}"]\n')
                arguments = ["--plugin", str(checks.liar), "--pipeline", str(pipeline)]
                one(checks, case, here, outcome, f"{dtype}, {what} spoilt", arguments, inputs, liar)
    return outcome


def one(
    checks: Checks,
    case: Case,
    here: Path,
    outcome: Outcome,
    name: str,
    arguments: list[str],
    inputs: list[Path],
    spoilt: str | None,
) -> None:
    n_runs = 1 if spoilt else checks.n_seeds
    said, why, seconds, largest = checked(checks, case, here, [*arguments, f"--check={n_runs}"])
    if said == "not checked" and inputs:
        files = [part for path in inputs[:n_runs] for part in ("--check-inputs", str(path))]
        said, why, seconds, largest = checked(checks, case, here, [*arguments, *files])
    if spoilt:
        changed = said == "passed" and is_spoilt(here, spoilt)
        said = {"differs": "found", "passed": "not found" if changed else "nothing to spoil"}.get(said, said)
    outcome.said[f"{name}: {said}"] += 1
    outcome.rows.append([str(case), name, said, f"{seconds:.1f}", one_line(why or largest, 120)])
    # Fewer digits of one operand may be no worse than what `float16` costs a model everywhere.
    must_be_found = spoilt == SPOILT["weight"] or name.startswith("float32")
    is_wrong = said == "not found" and must_be_found if spoilt else said == "differs"
    if is_wrong or said.startswith("failed"):
        outcome.problems.append(f"{name}: {said} {why}")


def is_spoilt(here: Path, liar: str) -> bool:
    """Whether the pass that spoils results changed the model, by the report of the run."""
    passes = json.loads((here / "report.json").read_text())["run"]["passes"]
    return any(each["pass"] == liar and each["fate"] == "changed" for each in passes)


def checked(checks: Checks, case: Case, here: Path, arguments: list[str]) -> tuple[str, str, float, str]:
    """What a check says, why, how long it took, and the largest difference."""
    report = here / "report.json"
    report.unlink(missing_ok=True)
    done = run(checks, case, here, [*arguments, "--report", str(report)])
    check = json.loads(report.read_text())["check"] if report.exists() else None
    seconds = (check or {}).get("seconds") or 0.0
    if done.returncode == 0:
        largest = (check or {}).get("largest") or {"distance": 0.0}
        by = " by the error of the model" if largest.get("allowed_by") == "error" else ""
        return "passed", "", seconds, f"{largest['distance']:.3g}{by}"
    kinds = {"error[D001]": "differs", "error[D002]": "not checked"}
    said = next((said for code, said in kinds.items() if code in done.stderr), f"failed with status {done.returncode}")
    return said, done.stderr, seconds, ""


def run(checks: Checks, case: Case, here: Path, arguments: list[str]) -> subprocess.CompletedProcess[str]:
    relais = checks.relais
    command = [str(relais.path), "run", str(case.model), "-o", str(here / "out.onnx"), "-q", "--no-reproducer"]
    return subprocess.run(
        [*command, *relais.args, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace"
    )


def given(case: Case, here: Path) -> list[Path]:
    """Files with the inputs of a case, of which all but the first have other floats."""
    model = graphs.load(case.model)
    try:
        feeds = values.feeds(case, model)
    except values.NoInputs:
        return []
    if not all(isinstance(value, np.ndarray) for value in feeds.values()):
        return []
    files = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        path = here / f"inputs{seed}.npz"
        is_noise = {name for name, value in feeds.items() if seed and value.dtype.kind == "f" and value.size > 1}
        noisy = {
            name: value * rng.uniform(0.5, 1.5, value.shape).astype(value.dtype) if name in is_noise else value
            for name, value in feeds.items()
        }
        np.savez(path, **noisy)
        files.append(path)
    return files

"""The default pipeline on the nine `light` models of the `onnx` package: fewer nodes, no larger, still valid."""

from __future__ import annotations

import tempfile
from pathlib import Path

from judge import graphs
from judge.cases import Case, find
from judge.relais import Relais
from judge.report import Report, table

MAX_OPERATORS = {
    "bvlc_alexnet": 22,
    "densenet121": 368,
    "inception_v1": 138,
    "inception_v2": 163,
    "resnet50": 130,
    "shufflenet": 154,
    "squeezenet": 65,
    "vgg19": 44,
    "zfnet512": 22,
}


def command(relais: Relais, models: Path) -> int:
    report = Report()
    rows = []
    cases = {case.name: case for case in find(models, ["light"])}
    for name in sorted(MAX_OPERATORS.keys() | cases.keys()):
        if name not in cases:
            report.failed(f"light/{name}", "the model is missing")
            continue
        row, problems = judge(relais, cases[name])
        rows.append(row)
        report.judged(f"light/{name}", problems)
    print(table(["model", "operators", "result", "at most", "bytes", "result", "seconds"], rows))
    return report.finish()


def judge(relais: Relais, case: Case) -> tuple[list[str], list[str]]:
    """A row of the table, and what is wrong."""
    limit = MAX_OPERATORS.get(case.name)
    before = graphs.load(case.model)
    old_count, old_size = graphs.n_operators(before), graphs.size_on_disk(case.model)
    row = [case.name, str(old_count), "-", str(limit), str(old_size), "-", "-"]
    with tempfile.TemporaryDirectory(prefix="judge-") as folder:
        out = Path(folder) / "out.onnx"
        run = relais.run(case.model, out)
        if run.problems:
            return row, run.problems
        try:
            after = graphs.load(out)
        except Exception as error:  # the protobuf library raises its own types
            return row, [f"the result cannot be read: {error}"]
        new_count, new_size = graphs.n_operators(after), graphs.size_on_disk(out)
        problems = graphs.interface_problems(before, after)
        reached, why = graphs.validity(out)
        if reached is not graphs.Validity.FULL:
            problems.append(f"invalid: {why}")
    row = [case.name, str(old_count), str(new_count), str(limit), str(old_size), str(new_size), f"{run.seconds:.2f}"]
    if limit is not None and new_count > limit:
        problems.append(f"{new_count} operators, at most {limit} wanted")
    if new_size > old_size:
        problems.append(f"{new_size} bytes, the input has {old_size}")
    return row, problems

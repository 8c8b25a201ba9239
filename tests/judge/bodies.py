"""The operators that are defined by others: each node case of one computes the same without the operator."""

from __future__ import annotations

import functools
import json
import tempfile
from collections import Counter
from pathlib import Path

import onnx
from onnx import ModelProto

from judge import graphs, pool, sound
from judge.cases import Case, find
from judge.pool import Died
from judge.relais import Relais
from judge.report import Report
from judge.sound import FAILED, Outcome, Verdict

WITHOUT = {"SequenceMap": "its body is a `Loop` over the function that the call has, which a text cannot name"}
"""Operators that ONNX defines by others, and Relais does not, with the reason."""

MORE = {"InstanceNormalization", "LpNormalization"}
"""Operators that ONNX defines in words, and Relais by others."""

NORMALISATIONS = {
    "GroupNormalization",
    "InstanceNormalization",
    "LayerNormalization",
    "LpNormalization",
    "MeanVarianceNormalization",
    "RMSNormalization",
}
"""Operators that `SimplifyInference` replaces by their bodies."""

DIFFER = {
    "test_attention_4d_with_past_and_present_qk_matmul_bias_3d_mask_causal",
    "test_attention_4d_with_past_and_present_qk_matmul_bias_4d_mask_causal",
}
"""onnxruntime's kernel shows the lowest number where ONNX masks with minus infinity."""


def defined() -> set[str]:
    """The operators of the default domain for which ONNX has a function in their newest version."""
    newest = (onnx.defs.get_schema(schema.name) for schema in onnx.defs.get_all_schemas() if not schema.domain)
    return {schema.name for schema in newest if schema.has_function or schema.has_context_dependent_function}


def command(relais: Relais, models: Path, every: int, n_jobs: int, by: str) -> int:
    report = Report()
    if by == "SimplifyInference":
        operators, options = sorted(NORMALISATIONS), "{}"
    else:
        operators = sorted((defined() - WITHOUT.keys()) | MORE)
        options = f"{{ operators = {json.dumps(operators)} }}"
    left = set(operators)
    cases = []
    for case in find(models, ["node"], []):
        if case.name.endswith("_expanded") or case.name in DIFFER:
            continue
        used = names_of(graphs.load(case.model)) & set(operators)
        if used:
            cases.append(case)
            left -= used
    for operator in sorted(left):
        report.failed(operator, "no case has it")
    outcomes: Counter[Outcome] = Counter()
    with tempfile.TemporaryDirectory(prefix="judge-") as folder:
        pipeline = Path(folder) / "bodies.toml"
        pipeline.write_text(f'name = "bodies"\nsteps = [{{ pass = "relais.{by}", options = {options} }}]\n')
        asked = Relais(relais.path, [*relais.args, "-p", str(pipeline), "--no-reproducer"], relais.timeout)
        work = functools.partial(judge, asked, operators=frozenset(operators))
        for done in pool.run(work, cases[::every], n_jobs, sound.CASE_SECONDS):
            verdict: Verdict | Died = sound.verdict_of(done.result)
            outcomes[verdict.outcome] += 1
            if verdict.outcome in FAILED:
                report.failed(str(done.task), f"{verdict.outcome.value}: {verdict.detail}")
            else:
                report.passed()
    print(f"{len(operators)} operators, " + ", ".join(f"{outcomes[outcome]} {outcome.value}" for outcome in Outcome))
    return report.finish()


def names_of(model: ModelProto) -> set[str]:
    return {node.op_type for node in model.graph.node if node.domain in ("", "ai.onnx")}


def judge(relais: Relais, case: Case, stage: pool.Callable[[str], None], operators: frozenset[str]) -> Verdict:
    """Runs in a worker."""
    with tempfile.TemporaryDirectory(prefix="judge-") as folder:
        out = Path(folder) / "out.onnx"
        stage("relais")
        run = relais.run(case.model, out)
        if run.problems:
            return Verdict(Outcome.FAILURE, "; ".join(run.problems))
        stage("comparison of the files")
        if left := names_of(graphs.load(out)) & operators & names_of(graphs.load(case.model)):
            return Verdict(Outcome.FAILURE, f"still has {', '.join(sorted(left))}")
        try:
            return sound.compare(case, out, stage)
        except Exception as error:  # whatever the judge trips over is this case's failure
            return Verdict(Outcome.FAILURE, f"cannot judge: {type(error).__name__}: {error}")

"""What other optimisers make of the models: for comparison, nothing is judged here."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from judge import graphs
from judge.cases import find
from judge.report import one_line, table

SCRIPTS = {
    "onnxoptimizer": "import onnx, onnxoptimizer; onnx.save(onnxoptimizer.optimize(onnx.load(A), fixed_point=True), B)",
    "onnxsim": "import onnx, onnxsim; onnx.save(onnxsim.simplify(onnx.load(A))[0], B)",
    "onnxslim": "import onnx, onnxslim; onnx.save(onnxslim.slim(onnx.load(A)), B)",
    "onnxruntime": (
        "import onnxruntime as o; s = o.SessionOptions(); s.optimized_model_filepath = B; s.log_severity_level = 3; "
        "s.graph_optimization_level = o.GraphOptimizationLevel.ORT_ENABLE_BASIC; "
        "o.InferenceSession(A, s, providers=['CPUExecutionProvider'])"
    ),
}
"""Each with its defaults; `A` is the model, `B` the result."""
MEASURE = "open(C, 'w').write(next(line for line in open('/proc/self/status') if line.startswith('VmHWM')).split()[1])"
"""The process measures itself: what `wait4` says includes the memory of the process that started it."""


@dataclass(frozen=True)
class Result:
    n_operators: int
    n_bytes: int
    seconds: float
    peak_rss: int


def command(models: Path, kinds: list[str], names: list[str]) -> int:
    """Exit status 0 even where a peer fails: its failures are its own."""
    installed = [peer for peer in SCRIPTS if find_spec(peer) is not None]
    rows = []
    n_failed = 0
    for case in find(models, kinds, names):
        before = graphs.load(case.model)
        rows.append(
            [str(case), "(input)", str(graphs.n_operators(before)), str(graphs.size_on_disk(case.model)), "", ""]
        )
        for peer in installed:
            result = run(SCRIPTS[peer], case.model)
            if isinstance(result, str):
                n_failed += 1
                rows.append([str(case), peer, "-", "-", "-", "-"])
                print(f"{peer} on {case}: {one_line(result)}")
                continue
            rows.append(
                [
                    str(case),
                    peer,
                    str(result.n_operators),
                    str(result.n_bytes),
                    f"{result.seconds:.2f}",
                    f"{result.peak_rss / 2**20:.0f}",
                ]
            )
    print(table(["model", "optimiser", "operators", "bytes", "seconds", "peak MB"], rows))
    print(f"{len(rows) - n_failed} passed, {n_failed} failed")
    return int(not installed)


def run(script: str, model: Path) -> Result | str:
    """The result, or why there is none."""
    with tempfile.TemporaryDirectory(prefix="judge-") as folder:
        out, log, memory = (Path(folder) / name for name in ("out.onnx", "log", "memory"))
        source = f"A = {str(model)!r}; B = {str(out)!r}; C = {str(memory)!r}; {script}; {MEASURE}"
        start = time.perf_counter()
        with log.open("wb") as stream:
            status = subprocess.run(
                [sys.executable, "-c", source], stdin=subprocess.DEVNULL, stdout=stream, stderr=stream
            ).returncode
        seconds = time.perf_counter() - start
        if status != 0 or not out.exists():
            return f"exit status {status}: {log.read_text(errors='replace')[-300:]}"
        peak_rss = int(memory.read_text()) * 1024
        return Result(graphs.n_operators(graphs.load(out)), graphs.size_on_disk(out), seconds, peak_rss)

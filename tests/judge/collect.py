"""Writes the models of the installed `onnx` package, and our own, into a folder."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
import warnings
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx.backend.test.loader import DATA_DIR, load_node_model_tests

from judge import large, made, tiny, values
from judge.cases import MODEL, STAMP

PACKAGE_KINDS = ("simple", "pytorch-operator", "pytorch-converted")
LIGHT_PREFIX = "light_"


def command(out: Path, *, with_large: bool) -> int:
    """Does nothing if the folder already holds what it would write."""
    counts: dict[str, int] = {}
    wanted = identity()
    stamp = out / STAMP
    known = json.loads(stamp.read_text()) if stamp.exists() else {}
    fresh = known.get("identity") != wanted
    stamp.unlink(missing_ok=True)
    if fresh:
        for kind in ("light", "node", "made", "tiny", "large", *PACKAGE_KINDS):
            shutil.rmtree(out / kind, ignore_errors=True)
        counts["light"] = light(out / "light")
        for kind in PACKAGE_KINDS:
            counts[kind] = from_package(kind, out / kind)
        counts["node"] = node(out / "node")
        counts["made"] = made.write(out / "made")
        counts["tiny"] = tiny.write(out / "tiny")
    else:
        counts = known["counts"]
    if with_large and "large" not in counts:
        counts["large"] = large.write(out / "large")
    stamp.write_text(json.dumps({"identity": wanted, "counts": counts}, indent=1, sort_keys=True) + "\n")
    for kind, count in counts.items():
        print(f"{kind}: {count}")
    print(f"{sum(counts.values())} passed, 0 failed")
    return 0


def identity() -> str:
    """Changes with the packages and with the source of the judge."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    versions = (onnx.__version__, onnxruntime.__version__, np.__version__, sys.version)
    return f"{' '.join(versions)} {digest.hexdigest()}"


def light(out: Path) -> int:
    paths = sorted((Path(DATA_DIR) / "light").glob(f"{LIGHT_PREFIX}*.onnx"))
    for path in paths:
        folder = out / path.stem.removeprefix(LIGHT_PREFIX)
        folder.mkdir(parents=True)
        shutil.copyfile(path, folder / MODEL)
    return len(paths)


def from_package(kind: str, out: Path) -> int:
    folders = sorted(path.parent for path in (Path(DATA_DIR) / kind).glob(f"*/{MODEL}"))
    for folder in folders:
        shutil.copytree(folder, out / folder.name)
    return len(folders)


def node(out: Path) -> int:
    """The node cases exist as code only; this package's loader runs it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = load_node_model_tests()
    for case in cases:
        assert case.model is not None, case.name
        assert case.data_sets is not None, case.name
        folder = out / case.name
        folder.mkdir(parents=True)
        (folder / MODEL).write_bytes(case.model.SerializeToString(deterministic=True))
        graph = case.model.graph
        for inputs, outputs in case.data_sets:
            values.write(folder, "input", inputs, [value.type for value in graph.input])
            values.write(folder, "output", outputs, [value.type for value in graph.output])
    return len(cases)

"""The empty pipeline, or passes that should change nothing: what comes out is what went in."""

from __future__ import annotations

import filecmp
import tempfile
from collections.abc import Iterable
from pathlib import Path

import onnx
from onnx import ModelProto, TensorProto

from judge import graphs
from judge.cases import Case
from judge.relais import Relais
from judge.report import Report

NO_PASSES = "-O0"
TEXT = "via.relay"


class Lossless:
    """How strictly, and on which way, models are compared."""

    def __init__(self, relais: Relais, *, parsed: bool, through_text: bool, max_anonymous: int | None) -> None:
        self.relais = relais
        self.level = [] if "--passes" in relais.args else [NO_PASSES]
        self.parsed = parsed or through_text
        self.through_text = through_text
        self.max_anonymous = max_anonymous
        self.peak_anonymous = 0

    def problems(self, case: Case) -> list[str]:
        with tempfile.TemporaryDirectory(prefix="judge-") as name:
            folder = Path(name)
            out = folder / "out.onnx"
            if problems := self._transport(case.model, folder, out):
                return problems
            if self.parsed:
                return parsed_problems(case.model, out)
            return byte_problems(case.model, out)

    def _transport(self, model: Path, folder: Path, out: Path) -> list[str]:
        steps = [(model, folder / TEXT), (folder / TEXT, out)] if self.through_text else [(model, out)]
        for source, target in steps:
            if self.max_anonymous is None:
                run = self.relais.run(source, target, *self.level)
            else:
                run = self.relais.run_watched(source, target, *self.level)
            if run.problems:
                return run.problems
            self.peak_anonymous = max(self.peak_anonymous, run.peak_anonymous)
            if self.max_anonymous is not None and run.peak_anonymous > self.max_anonymous:
                return [f"peak anonymous memory {run.peak_anonymous / 2**20:.1f} MB"]
        return []


def command(lossless: Lossless, cases: Iterable[Case]) -> int:
    report = Report()
    for case in cases:
        report.judged(str(case), lossless.problems(case))
    if lossless.max_anonymous is not None:
        print(f"peak anonymous memory {lossless.peak_anonymous / 2**20:.1f} MB")
    return report.finish()


def byte_problems(model: Path, out: Path) -> list[str]:
    """Byte for byte. With external data only the name of the data file may differ, and then its length fields."""
    if filecmp.cmp(model, out, shallow=False):
        locations = graphs.external_locations(graphs.load(model)) if is_small(model) else set()
        return external_problems(model, out, locations)
    if is_small(model):
        before, after = graphs.load(model), graphs.load(out)
        if graphs.external_locations(before):
            return parsed_problems(model, out)
        if graphs.equal(before, after):
            return [f"equal as models, but the bytes differ from offset {first_offset(model, out)} on"]
        return [graphs.first_difference(before, after)]
    return [f"the bytes differ from offset {first_offset(model, out)} on"]


def external_problems(model: Path, out: Path, locations: set[str]) -> list[str]:
    """A model that came out unchanged still names its data files: they must be there, with the same content."""
    problems = []
    for location in sorted(locations):
        copy = out.parent / location
        if not copy.exists():
            problems.append(f"external data `{location}` is missing beside the result")
        elif not filecmp.cmp(model.parent / location, copy, shallow=False):
            problems.append(f"external data `{location}` differs")
    return problems


def node_lists(model: ModelProto) -> list[list[onnx.NodeProto]]:
    """The nodes of each graph and function."""
    lists = [list(function.node) for function in model.functions]
    open_graphs = [model.graph]
    for nodes in lists:
        open_graphs += [graph for node in nodes for graph in graphs_of(node)]
    while open_graphs:
        graph = open_graphs.pop()
        lists.append(list(graph.node))
        open_graphs += [inner for node in graph.node for inner in graphs_of(node)]
    return lists


def graphs_of(node: onnx.NodeProto) -> list[onnx.GraphProto]:
    own = [attribute.g for attribute in node.attribute if attribute.HasField("g")]
    return own + [graph for attribute in node.attribute for graph in attribute.graphs]


def number_repeated_names(nodes: list[onnx.NodeProto]) -> None:
    """As they are written: onnxruntime loads no graph in which two nodes have one name."""
    taken: set[str] = set()
    left = {node.name for node in nodes if node.name}
    numbers: dict[str, int] = {}
    for node in nodes:
        if not node.name:
            continue
        name = node.name
        if name in left and name not in taken:
            left.discard(name)
            taken.add(name)
            continue
        while node.name in taken or node.name in left:
            numbers[name] = numbers.get(name, 0) + 1
            node.name = f"{name}_{numbers[name]}"
        taken.add(node.name)


def parsed_problems(model: Path, out: Path) -> list[str]:
    """Equal as messages; of external tensors the content counts, not the place."""
    before, after = graphs.load(model), graphs.load(out)
    for nodes in node_lists(before):
        number_repeated_names(nodes)
    # Written anew, a call of a domain that was not imported imports it.
    imported = {entry.domain for entry in before.opset_import}
    kept = [entry for entry in after.opset_import if entry.domain in imported]
    del after.opset_import[:]
    after.opset_import.extend(kept)
    if not graphs.external_locations(before):
        return [] if graphs.equal(before, after) else [graphs.first_difference(before, after)]
    try:
        resolve(before, model.parent)
        resolve(after, out.parent)
    except (OSError, ValueError) as error:
        return [f"external data: {error}"]
    return [] if graphs.equal(before, after) else [graphs.first_difference(before, after)]


def resolve(model: ModelProto, folder: Path) -> None:
    """Reads external tensors into the model, and forgets where they were."""
    for tensor in graphs.tensors(model):
        if tensor.data_location != TensorProto.EXTERNAL:
            continue
        onnx.external_data_helper.load_external_data_for_tensor(tensor, str(folder))
        tensor.ClearField("external_data")
        tensor.data_location = TensorProto.EXTERNAL


def is_small(path: Path) -> bool:
    """Small enough for the protobuf library, which refuses 2 GiB."""
    return path.stat().st_size < 2**31


def first_offset(a: Path, b: Path) -> int:
    chunk = 1 << 20
    offset = 0
    with a.open("rb") as left, b.open("rb") as right:
        while True:
            x, y = left.read(chunk), right.read(chunk)
            if x != y:
                common = min(len(x), len(y))
                return offset + next((k for k in range(common) if x[k] != y[k]), common)
            if not x:
                return offset
            offset += len(x)

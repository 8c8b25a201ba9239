"""Twins of the light models: the same graphs with random weights, so that the numbers show what a pass did.

The light models make their weights with `ConstantOfShape`, all of one value, and their outputs do not depend on much.
A twin has a seeded random initializer in the place of each. It is accepted only if its output changes when any single
`Relu`, `LRN` or `BatchNormalization` is taken out, by ten times the tolerance of the comparison.
"""

from __future__ import annotations

import hashlib
import json
import math
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, TensorProto, numpy_helper

from judge import graphs, runtimes, values
from judge.cases import MODEL, find
from judge.relais import Relais
from judge.report import Report, table

NAMES = (
    "resnet50",
    "inception_v1",
    "inception_v2",
    "densenet121",
    "squeezenet",
    "shufflenet",
    "bvlc_alexnet",
    "zfnet512",
    "vgg19",
)
MAX_OPERATORS = {"resnet50": 123, "inception_v1": 142, "inception_v2": 164, "densenet121": 367, "shufflenet": 154}
LOOKED_AT = frozenset({"Relu", "LRN", "BatchNormalization"})
N_INPUTS = 3
SEED = 20_260
RESHAPING = frozenset({"Reshape", "Unsqueeze"})
MIN_SENSITIVITY = 10.0
STAMP = "twin.json"
N_THREADS = 2
PIXEL_SCALE = 64.0
"""Spread of the input where a model has `LRN`: with `alpha` 1e-4 it only does something to values of this size."""
SHIFT = 2.0
"""Spread of biases over that of the input: large enough to leave some channels mostly negative, even after pooling."""
LOGIT_SPREAD = 3.0
"""Standard deviation before the last `Softmax`; far more would saturate it."""
SMALL_LOGIT_SPREADS = {"squeezenet": 1.5}
"""Where a `Relu` is last, it changes the small logits only, and these must not drown."""


@dataclass(frozen=True)
class Sensitivity:
    """What taking one node out does to the output, as a multiple of the tolerance."""

    node: str
    change: float
    relative: float
    """Largest change over the largest output."""


def make(models: Path, folder: Path, names: list[str]) -> int:
    """Writes the twins that are not there yet, and proves each one's sensitivity."""
    report = Report()
    rows = []
    for name in names or NAMES:
        start = time.perf_counter()
        try:
            facts = ensure(models, folder, name)
        except (LookupError, ValueError) as error:
            report.failed(f"twins/{name}", str(error))
            continue
        weak = facts["least change"] < MIN_SENSITIVITY
        report.judged(
            f"twins/{name}",
            [f"`{facts['least node']}` can be taken out: {facts['least change']:.1f} tolerances"] if weak else [],
        )
        rows.append(
            [
                name,
                str(facts["mutants"]),
                f"{facts['least change']:.0f}",
                f"{facts['least relative']:.1e}",
                facts["least node"],
                f"{facts['bytes'] / 2**20:.0f}",
                f"{time.perf_counter() - start:.1f}",
            ]
        )
    print(table(["twin", "mutants", "least change / tolerance", "relative", "node", "MB", "seconds"], rows))
    return report.finish()


def check(relais: Relais, models: Path, folder: Path, names: list[str]) -> int:
    """The default pipeline keeps the outputs of the twins, and leaves few enough nodes."""
    report = Report()
    rows = []
    for name in names or NAMES:
        try:
            ensure(models, folder, name)
        except (LookupError, ValueError) as error:
            report.failed(f"twins/{name}", str(error))
            continue
        row, problems = judge(relais, folder / name / MODEL, name)
        rows.append(row)
        report.judged(f"twins/{name}", problems)
    print(table(["twin", "operators", "result", "at most", "largest change / tolerance", "seconds"], rows))
    return report.finish()


def judge(relais: Relais, path: Path, name: str) -> tuple[list[str], list[str]]:
    limit = MAX_OPERATORS.get(name)
    before = graphs.load(path)
    row = [name, str(graphs.n_operators(before)), "-", str(limit or ""), "-", "-"]
    with tempfile.TemporaryDirectory(prefix="judge-", dir=path.parent) as folder:
        out = Path(folder) / "out.onnx"
        run = relais.run(path, out)
        if run.problems:
            return row, run.problems
        try:
            after = graphs.load(out)
            problems = graphs.interface_problems(before, after)
            if not problems:
                inputs = [feed(before, index) for index in range(N_INPUTS)]
                change = max(
                    distance(old, new) for old, new in zip(outputs(path, inputs), outputs(out, inputs), strict=True)
                )
        except Exception as error:  # protobuf and onnxruntime raise their own types
            return row, [f"{type(error).__name__}: {error}"]
    if problems:
        return row, problems
    n_after = graphs.n_operators(after)
    row[2], row[4], row[5] = str(n_after), f"{change:.2g}", f"{run.seconds:.2f}"
    if change > 1:
        problems.append(f"wrong: outputs differ by {change:.2g} times the tolerance")
    if limit is not None and n_after > limit:
        problems.append(f"{n_after} operators, at most {limit} wanted")
    return row, problems


def outputs(path: Path, inputs: list[dict[str, np.ndarray]]) -> list[np.ndarray]:
    session = runtimes.session(path, N_THREADS)
    return [session.run(None, each)[0] for each in inputs]


def ensure(models: Path, folder: Path, name: str) -> dict:
    """The facts of a twin, made now if it is missing or was made by another version of this file."""
    case = next(find(models, ["light"], [name]), None)
    if case is None:
        raise LookupError(f"no light model of this name in {models}")
    identity = hashlib.sha256(Path(__file__).read_bytes() + case.model.read_bytes()).hexdigest()
    stamp = folder / name / STAMP
    if stamp.exists() and (facts := json.loads(stamp.read_text()))["identity"] == identity:
        return facts
    twin = twin_of(graphs.load(case.model), SMALL_LOGIT_SPREADS.get(name, LOGIT_SPREAD))
    (folder / name).mkdir(parents=True, exist_ok=True)
    onnx.save(twin, folder / name / MODEL)
    found = list(sensitivities(twin))
    least = min(found, key=lambda each: each.change)
    facts = {
        "identity": identity,
        "mutants": len(found),
        "least change": least.change,
        "least relative": least.relative,
        "least node": least.node,
        "bytes": (folder / name / MODEL).stat().st_size,
    }
    stamp.write_text(json.dumps(facts, indent=1) + "\n")
    return facts


def twin_of(light: ModelProto, logit_spread: float = LOGIT_SPREAD) -> ModelProto:
    """The graph with an initializer, listed as input as IR version 3 demands, for each `ConstantOfShape`."""
    twin = ModelProto()
    twin.CopyFrom(light)
    graph = twin.graph
    shapes = {
        tensor.name: numpy_helper.to_array(tensor)
        for tensor in graph.initializer
        if tensor.data_type == TensorProto.INT64
    }
    filled = {node.output[0]: node.input[0] for node in graph.node if node.op_type == "ConstantOfShape"}
    kept = [node for node in graph.node if node.op_type != "ConstantOfShape"]
    named = {name for node in kept for name in node.input}
    dropped = set(filled.values()) - named
    dims = {tensor.name: tuple(tensor.dims) for tensor in graph.initializer if tensor.data_type == TensorProto.FLOAT}
    dims |= {name: tuple(int(dim) for dim in shapes[shape]) for name, shape in filled.items()}
    roles = roles_of(kept)
    scale = input_scale(twin)
    weights = [random_weight(name, shape, roles.get(name, ""), scale) for name, shape in dims.items()]
    others = [tensor for tensor in graph.initializer if tensor.name not in dims and tensor.name not in dropped]
    inputs = [value for value in graph.input if value.name not in dropped and value.name not in filled]
    inputs += [onnx.helper.make_tensor_value_info(name, TensorProto.FLOAT, dims[name]) for name in filled]
    replace(graph.node, kept)
    replace(graph.initializer, others + weights)
    replace(graph.input, inputs)
    spread_logits(twin, logit_spread)
    return twin


def replace(field: object, messages: list) -> None:
    copies = [type(message)() for message in messages]
    for copy, message in zip(copies, messages, strict=True):
        copy.CopyFrom(message)
    del field[:]  # type: ignore[attr-defined]
    field.extend(copies)  # type: ignore[attr-defined]


ROLES = {
    "Conv": ("", "weight", "bias"),
    "Gemm": ("", "transposable", "bias"),
    "BatchNormalization": ("", "scale", "shift", "shift", "variance"),
    "Mul": ("scale", "scale"),
    "Add": ("shift", "shift"),
    "Sum": (),
}


def roles_of(nodes: list[NodeProto]) -> dict[str, str]:
    """What each value is used as, looking through `RESHAPING` nodes."""
    roles: dict[str, str] = {}
    for node in reversed(nodes):
        if node.op_type in RESHAPING:
            roles.setdefault(node.input[0], roles.get(node.output[0], ""))
        for name, role in zip(node.input, ROLES.get(node.op_type, ()), strict=False):  # operands may be left off
            roles.setdefault(name, role)
    return roles


def input_scale(model: ModelProto) -> float:
    return PIXEL_SCALE if any(node.op_type == "LRN" for node in model.graph.node) else 1.0


def random_weight(name: str, shape: tuple[int, ...], role: str, scale: float) -> TensorProto:
    """Keeps the size of activations: weights by the number of inputs, biases a fraction of the input's scale."""
    rng = rng_of(name)
    if role in ("weight", "transposable"):
        fan_in = math.prod(shape[1:])
        array = rng.standard_normal(shape, dtype=np.float32) * np.float32(math.sqrt(2 / max(fan_in, 1)))
    elif role in ("scale", "variance"):
        array = rng.uniform(0.5, 1.5, shape)
    elif role in ("bias", "shift"):
        array = rng.standard_normal(shape) * (SHIFT * scale)
    else:
        array = rng.standard_normal(shape)
    return numpy_helper.from_array(np.asarray(array, dtype=np.float32), name)


def rng_of(name: str) -> np.random.Generator:
    """Depends on the name alone, not on the order of the weights."""
    return np.random.default_rng([SEED, zlib.crc32(name.encode())])


def spread_logits(twin: ModelProto, spread: float) -> None:
    """Scales the weights before the last `Softmax`, or before the output, so that it is neither flat nor saturated."""
    graph = twin.graph
    producers = {output: node for node in graph.node for output in node.output}
    last = producers[graph.output[0].name]
    value = last.input[0] if last.op_type == "Softmax" else graph.output[0].name
    logits = run_to(twin, value)
    factor = spread / float(np.std(logits))
    node = producers[value]
    while node.op_type not in ("Conv", "Gemm"):
        node = producers[node.input[0]]
    tensors = {tensor.name: tensor for tensor in graph.initializer}
    for name in (source(each, producers) for each in node.input[1:]):
        array = numpy_helper.to_array(tensors[name]) * np.float32(factor)
        tensors[name].CopyFrom(numpy_helper.from_array(array, name))


def source(name: str, producers: dict[str, NodeProto]) -> str:
    """The initializer behind a value, looking through `RESHAPING` nodes."""
    while name in producers and producers[name].op_type in RESHAPING:
        name = producers[name].input[0]
    return name


def run_to(twin: ModelProto, value: str) -> np.ndarray:
    """The given inner value for the first input."""
    probe = ModelProto()
    probe.CopyFrom(twin)
    del probe.graph.output[:]
    probe.graph.output.append(onnx.helper.make_tensor_value_info(value, TensorProto.FLOAT, None))
    return runtimes.session(probe.SerializeToString(), N_THREADS).run(None, feed(twin, 0))[0]


def feed(model: ModelProto, index: int) -> dict[str, np.ndarray]:
    """The `index`-th seeded input."""
    scale = input_scale(model)
    result = {}
    for value in graphs.inputs(model):
        shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        result[value.name] = rng_of(f"input {index}").standard_normal(shape, dtype=np.float32) * np.float32(scale)
    return result


def sensitivities(twin: ModelProto) -> Iterator[Sensitivity]:
    """One for each node of interest, judged by the first input alone."""
    first = feed(twin, 0)
    base = runtimes.session(twin.SerializeToString(), N_THREADS).run(None, first)[0]
    if not np.isfinite(base).all():
        raise ValueError("the output is not finite")
    numbers: Counter[str] = Counter()
    for index, node in enumerate(twin.graph.node):
        if node.op_type not in LOOKED_AT:
            continue
        numbers[node.op_type] += 1
        changed = runtimes.session(without(twin, index), N_THREADS).run(None, first)[0]
        relative = float(np.abs(changed - base).max() / np.abs(base).max())
        yield Sensitivity(f"{node.op_type} {numbers[node.op_type]}", distance(base, changed), relative)


def without(twin: ModelProto, index: int) -> bytes:
    """The model with its `index`-th node replaced by `Identity`. The twin is changed and restored: it may be large."""
    node = twin.graph.node[index]
    kept = NodeProto()
    kept.CopyFrom(node)
    node.CopyFrom(onnx.helper.make_node("Identity", [kept.input[0]], [kept.output[0]]))
    data = twin.SerializeToString()
    node.CopyFrom(kept)
    return data


def distance(old: np.ndarray, new: np.ndarray) -> float:
    """The largest difference as a multiple of the tolerance; above 1 the two are not equal."""
    if old.shape != new.shape or not np.array_equal(np.isnan(old), np.isnan(new)):
        return math.inf
    allowed = values.ATOL + values.RTOL * np.abs(old.astype(np.float64))
    return float(np.nanmax(np.abs(new.astype(np.float64) - old) / allowed))

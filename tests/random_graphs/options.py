"""Command lines: every option of `relais run` that changes a model, in random combination."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import ModelProto, NodeProto

from random_graphs import values
from random_graphs.build import LOCAL
from random_graphs.dress import names_in

OLDEST = 7
NEWEST = onnx.defs.onnx_opset_version()
LEVELS = ("-O0", "-O1", "-O2", "-O3")
PIPELINES = ("strict", "modern", "size", "onnxruntime", "quantized")
PARTS = ("docs", "metadata", "names", "value-info")
RULES = ("Neg(Neg(x)) => x", "Relu(Relu(x)) => Relu(x)", "Identity(x) => x")
CLOSE = 1e-3
"""How far results may be apart, relative to the largest of an output, where other kernels compute them."""
OUTLINING = ("FuseOps", "LambdaLift", "FuseKernels")
OF_ONNXRUNTIME = "Ort"
"""Passes that make operators of one runtime begin so."""


@dataclass(frozen=True)
class Given:
    """What a command line is for."""

    model: ModelProto
    feeds: Mapping[str, object]
    known: Mapping[str, np.ndarray]
    """Tensors that may become inputs or outputs."""
    passes: Sequence[str]


@dataclass
class Command:
    args: list[str] = field(default_factory=list)
    tolerance: float = 0.0
    opset: int | None = None
    foreign: bool = False
    """Only onnxruntime knows the operators of the result."""
    outlines: bool = False
    """It makes functions."""
    inputs: list[str] | None = None
    outputs: list[str] | None = None
    output: str = "out.onnx"
    runs_text: bool = False
    """The result is in the text form, and is made ONNX by a second run."""

    def add(self, *args: str) -> None:
        self.args += args

    def loosen(self, tolerance: float) -> None:
        self.tolerance = max(self.tolerance, tolerance)


def command(rng: random.Random, given: Given) -> Command:
    made = Command()
    for likely, option in (
        (1.0, pipeline), (0.3, opset), (0.1, dtype), (0.4, words), (0.2, external_data),
        (0.2, cut), (0.15, keep), (0.2, input_shape), (0.1, disable), (0.1, rule), (0.1, verify), (0.1, setting), (1.0, place),
    ):  # fmt: skip
        if rng.random() < likely:
            option(rng, made, given)
    return made


def pipeline(rng: random.Random, made: Command, given: Given) -> None:
    kind = rng.random()
    if kind < 0.3:
        return
    if kind < 0.5:
        made.add(rng.choice(LEVELS))
    elif kind < 0.7:
        chosen = rng.choice(PIPELINES)
        made.add("-p", chosen)
        made.foreign = chosen == "onnxruntime"
        if chosen in ("modern", "onnxruntime"):
            made.loosen(CLOSE)
    else:
        chosen = rng.sample(list(given.passes), rng.randint(1, 6))
        made.add("--passes", ",".join(chosen))
        made.foreign = any(name.startswith(OF_ONNXRUNTIME) for name in chosen)
        made.outlines = any(name in OUTLINING for name in chosen)
        made.loosen(CLOSE)


def opset(rng: random.Random, made: Command, given: Given) -> None:
    made.opset = rng.randint(OLDEST, NEWEST)
    made.add("--target-opset", str(made.opset))
    made.loosen(CLOSE)


def dtype(rng: random.Random, made: Command, given: Given) -> None:
    made.add("--dtype", rng.choice(("float16", "bfloat16")))
    made.loosen(np.inf)


def words(rng: random.Random, made: Command, given: Given) -> None:
    parts = rng.sample(PARTS, rng.randint(1, len(PARTS)))
    if rng.random() < 0.5:
        made.add("--infer-shapes")
        parts = [part for part in parts if part != "value-info"]
    if parts and rng.random() < 0.7:
        made.add("--strip", ",".join(parts))


def external_data(rng: random.Random, made: Command, given: Given) -> None:
    made.add("--external-data", rng.choice(("auto", "always", "never")))


def cut(rng: random.Random, made: Command, given: Given) -> None:
    """A value in the middle becomes an input, or outputs."""
    model, known = given.model, given.known
    names = [name for node in model.graph.node if node.op_type != "Constant" for name in node.output if name in known]
    names = [name for name in names if known[name].dtype not in values.SHORT]
    outputs = [value.name for value in model.graph.output]
    if not names:
        return
    if rng.random() < 0.7:
        outputs = made.outputs = rng.sample(names, min(len(names), rng.randint(1, 2)))
        made.add("--outputs", ",".join(made.outputs))
    if rng.random() < 0.5:
        reached = needed(model, outputs, set())[0]
        behind = [name for name in names if name in reached and name not in outputs]
        chosen = rng.sample(behind, min(len(behind), 1))
        reached, rest = needed(model, outputs, set(chosen))
        if set(chosen) & reached:
            made.inputs = chosen + rest
            made.add("--inputs", ",".join(made.inputs))
            made.loosen(CLOSE)


def needed(model: ModelProto, outputs: Sequence[str], stops: set[str]) -> tuple[set[str], list[str]]:
    """The values that outputs are computed from, not beyond some; and which of them are inputs."""
    wanted = set(outputs)
    for node in reversed(model.graph.node):
        if any(name in wanted and name not in stops for name in node.output):
            wanted.update(used_by(node))
    return wanted, [value.name for value in model.graph.input if value.name in wanted]


def used_by(node: NodeProto) -> list[str]:
    """The values around a node that it depends on."""
    used = list(node.input)
    for attribute in node.attribute:
        graph = attribute.g
        inner = {value.name for value in graph.output}.union(*(used_by(other) for other in graph.node))
        made = {value.name for value in graph.input} | {name for other in graph.node for name in other.output}
        used += sorted(inner - made)
    return used


def keep(rng: random.Random, made: Command, given: Given) -> None:
    model, inputs = given.model, set(made.inputs or [])
    reached, _ = needed(model, made.outputs or [value.name for value in model.graph.output], inputs)
    named = [node for node in model.graph.node if node.op_type not in ("Constant", "If") and node.domain != LOCAL]
    inner = {value for node in model.graph.node for attribute in node.attribute for value in names_in(attribute.g)}
    reached -= inputs | inner
    names = [node.output[0] for node in named if node.output[0] and node.output[0] in reached]
    if names:
        made.add("--keep", ",".join(rng.sample(names, min(len(names), rng.randint(1, 3)))))


def input_shape(rng: random.Random, made: Command, given: Given) -> None:
    names = [value.name for value in given.model.graph.input if value.name in given.feeds and value.name in given.known]
    for name in names if made.inputs is None else [name for name in names if name in made.inputs]:
        if rng.random() < 0.5:
            dims = [str(size) if rng.random() < 0.95 else "?" for size in given.known[name].shape]
            made.add("--input-shape", f"{name}:{','.join(dims)}")


def disable(rng: random.Random, made: Command, given: Given) -> None:
    made.add("--disable", ",".join(name + "?" for name in rng.sample(list(given.passes), rng.randint(1, 3))))


def rule(rng: random.Random, made: Command, given: Given) -> None:
    made.add("--rule", rng.choice(RULES))


def verify(rng: random.Random, made: Command, given: Given) -> None:
    made.add("--verify-each")


def setting(rng: random.Random, made: Command, given: Given) -> None:
    made.add("--set", rng.choice(("FoldConstant.exact=true", "FoldConstant.quantization=true", "FoldConstant.max_growth=0")))


def place(rng: random.Random, made: Command, given: Given) -> None:
    kind = rng.random()
    if kind < 0.2:
        made.output = "there/out.onnx"
    elif kind < 0.3:
        made.output = "in.onnx"
    elif kind < 0.4:
        made.output, made.runs_text = "out.relay", True

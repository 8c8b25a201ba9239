"""A graph that grows node by node, each run at once: so that what does not run does not get in, and shapes are known."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
from onnx import FunctionProto, GraphProto, NodeProto, ValueInfoProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from judge import runtimes
from random_graphs import values

IR_VERSION = 13
"""The newest that onnxruntime loads."""
LOCAL = "local"
"""The domain of functions."""
MOST_ELEMENTS = 4096
OPTIONAL_RESULTS = {
    "Dropout": 1, "GRU": 0, "LSTM": 0, "LayerNormalization": 1, "MaxPool": 1, "RNN": 0, "Unique": 1,
}  # fmt: skip
"""From which result on operators may be asked to leave one out."""

EMULATED: dict[tuple[str, int], bool] = {}
"""By operator and operator set."""


@dataclass(frozen=True)
class Value:
    """A value of the graph, and what it is for the inputs that the graph gets."""

    name: str
    array: np.ndarray
    constant: bool
    """Folding knows it."""
    scaled: bool = False
    """A scale or a product with weights that follows may be folded into what made it, or that into the weights, so that
    none follows but where that is judged."""

    @property
    def dtype(self) -> np.dtype:
        return self.array.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def rank(self) -> int:
        return self.array.ndim

    @property
    def is_float(self) -> bool:
        return self.array.dtype in values.FLOATS

    @property
    def is_string(self) -> bool:
        return self.array.dtype.kind == "O"

    def info(self, dims: Sequence[int | str] | None = None) -> ValueInfoProto:
        return helper.make_tensor_value_info(self.name, number(self.dtype), self.shape if dims is None else dims)


class Refused(Exception):
    """No runtime runs the node."""


@dataclass
class Graph:
    """A graph of a batch; its names begin with its own prefix."""

    prefix: str
    nodes: list[NodeProto] = field(default_factory=list)
    inputs: list[ValueInfoProto] = field(default_factory=list)
    initializers: list[onnx.TensorProto] = field(default_factory=list)
    outputs: list[ValueInfoProto] = field(default_factory=list)
    functions: list[FunctionProto] = field(default_factory=list)
    feeds: dict[str, object] = field(default_factory=dict)
    known: dict[str, np.ndarray] = field(default_factory=dict)
    """What its tensors are for these inputs."""
    between: set[str] = field(default_factory=set)
    """Values that may differ in the last digits, and by how much nothing says."""
    bounds: dict[str, np.ndarray] = field(default_factory=dict)
    """By output: how far each element may be off. Infinite where a decision says that it may be anything."""
    operators: set[str] = field(default_factory=set)
    by_reference: bool = False
    """onnxruntime has no kernel for something in it."""
    loops_over_strings: bool = False
    """There onnxruntime moves the elements of a value that two results are, so that one of them is empty."""


class Builder:
    def __init__(self, rng: random.Random, opset: int, prefix: str, newest: int) -> None:
        self.rng = rng
        self.opset = opset
        self.graph = Graph(prefix)
        self.loads = opset <= newest
        """onnxruntime knows the operator set."""
        self.graph.by_reference = not self.loads
        self.special = rng.random() < 0.5
        self.symbolic = rng.random() < 0.5
        self.ranks_open = rng.random() < 0.1
        """The checker takes no output of unknown rank."""
        self.values: list[Value] = []
        self.final: list[Value] = []
        """Only outputs: their numbers may differ in the last digits."""
        self.n_names = 0
        for _ in range(rng.randint(1, 3)):
            self.add_input(values.tensor(rng, values.dtype(rng), values.shape(rng), special=self.special))

    def name(self) -> str:
        self.n_names += 1
        return f"{self.graph.prefix}v{self.n_names}"

    def keep(self, value: Value) -> Value:
        self.graph.known[value.name] = value.array
        return value

    def add_input(self, array: np.ndarray) -> Value:
        value = self.keep(Value(self.name(), array, constant=False))
        dims: list[int | str] = list(array.shape)
        if self.symbolic:
            dims = [f"{self.graph.prefix}d{at}_{size}" if self.rng.random() < 0.5 else size for at, size in enumerate(dims)]
        self.graph.inputs.append(value.info(dims))
        self.graph.feeds[value.name] = array
        self.values.append(value)
        return value

    def constant(self, array: np.ndarray) -> Value:
        """An initializer or a `Constant`."""
        array = np.asarray(array)
        name = self.name()
        proto = numpy_helper.from_array(array, name)
        if self.rng.random() < 0.7:
            self.graph.initializers.append(proto)
        else:
            self.graph.nodes.append(helper.make_node("Constant", [], [name], value=proto))
            self.graph.operators.add("Constant")
        return self.keep(Value(name, array, constant=True))

    def random_constant(self, kind: np.dtype, dims: tuple[int, ...]) -> Value:
        return self.constant(values.tensor(self.rng, kind, dims, special=self.special and self.rng.random() < 0.5))

    def pick(self, accept: Callable[[Value], bool]) -> Value | None:
        """A value that is there."""
        fitting = [value for value in self.values if accept(value)]
        return self.rng.choice(fitting[-12:]) if fitting else None

    def add(
        self,
        op: str,
        inputs: Sequence[Value | None],
        n_outputs: int = 1,
        *,
        domain: str = "",
        extra: Sequence[Value] = (),
        **options: object,
    ) -> list[Value]:
        """Adds a node if a runtime runs it; `extra` are values that its graphs capture. What is no option of `add_nodes` is
        an attribute."""
        names = [self.name() for _ in range(n_outputs)]
        first = OPTIONAL_RESULTS.get(op, n_outputs)
        if n_outputs > 1 and self.rng.random() < 0.5:
            for at in self.rng.sample(range(first, n_outputs), self.rng.randint(0, n_outputs - max(first, 1))):
                names[at] = ""
        asked = {key: options.pop(key) for key in ("constant", "scaled", "final") if key in options}
        arguments = ["" if value is None else value.name for value in inputs]
        node = helper.make_node(op, arguments, names, domain=domain, **options)
        given = [value for value in (*inputs, *extra) if value is not None]
        return self.add_nodes([node], given, [name for name in names if name], **asked)

    def add_nodes(
        self,
        nodes: Sequence[NodeProto],
        given: Sequence[Value],
        results: Sequence[str],
        *,
        constant: bool | None = None,
        scaled: bool = False,
        final: bool = False,
    ) -> list[Value]:
        """Adds nodes that belong together, if a runtime runs them; `results` are what others see."""
        arrays, by_reference = self.run(nodes, given, results)
        halves = not final and any(value.dtype == np.float16 for value in given)
        if halves and any(self.is_emulated(node, given) for node in nodes):
            raise Refused(nodes[0].op_type)
        if any(not isinstance(array, np.ndarray) or array.size > MOST_ELEMENTS for array in arrays):
            raise Refused(nodes[0].op_type)
        is_constant = constant if constant is not None else bool(given) and all(value.constant for value in given)
        made = [self.keep(Value(name, array, is_constant, scaled)) for name, array in zip(results, arrays, strict=True)]
        self.graph.nodes.extend(nodes)
        self.graph.operators.update(node.op_type for node in nodes)
        self.graph.by_reference |= by_reference
        (self.final if final else self.values).extend(made)
        if final:
            self.graph.between.update(results)
        return made

    def run(self, nodes: Sequence[NodeProto], given: Sequence[Value], results: Sequence[str]) -> tuple[list[np.ndarray], bool]:
        typed = self.alone(nodes, given, results)
        feeds = {info.name: self.graph.known[info.name] for info in typed.graph.input}
        try:
            if self.loads:
                session = runtimes.session(typed.SerializeToString())
                return session.run(None, {name: runtimes.for_onnxruntime(array) for name, array in feeds.items()}), False
        except Exception as error:  # either runtime raises whatever its kernels raise
            if "NOT_IMPLEMENTED" not in str(error) or self.rng.random() < 0.9:
                raise Refused(nodes[0].op_type) from error
        try:
            onnx.checker.check_model(typed, full_check=True)
            with np.errstate(all="ignore"):
                return [np.asarray(array) for array in ReferenceEvaluator(typed).run(None, feeds)], True
        except Exception as error:
            raise Refused(nodes[0].op_type) from error

    def is_emulated(self, node: NodeProto, given: Sequence[Value]) -> bool:
        """Whether onnxruntime computes an operator of `float16` in `float32`: it rounds or does not, as the neighbours
        are."""
        key = (node.op_type, self.opset)
        if key not in EMULATED:
            with tempfile.TemporaryDirectory(prefix="random-") as folder:
                seen = Path(folder) / "seen.onnx"
                try:
                    alone = self.alone([node], given, [name for name in node.output if name])
                    runtimes.session(alone.SerializeToString(), written=seen)
                    EMULATED[key] = any(other.op_type == "Cast" for other in onnx.load(seen).graph.node)
                except Exception:  # it does not run there
                    return False
        return EMULATED[key] and node.op_type != "Cast"

    def alone(self, nodes: Sequence[NodeProto], given: Sequence[Value], results: Sequence[str]) -> onnx.ModelProto:
        """A model of these nodes. Values of types that onnxruntime does not take are constants in it."""
        unique = {value.name: value for value in given}.values()
        fed = [value.info() for value in unique if value.dtype not in values.SHORT]
        constants = [numpy_helper.from_array(value.array, value.name) for value in unique if value.dtype in values.SHORT]
        graph = helper.make_graph(nodes, "node", fed, [ValueInfoProto(name=name) for name in results], constants)
        return with_types(
            helper.make_model(
                graph, opset_imports=imports(self.opset), ir_version=IR_VERSION, functions=self.graph.functions
            )
        )

    def finish(self) -> Graph:
        """Chooses the outputs: what nobody uses, and some of the rest."""
        used = {name for node in self.graph.nodes for name in node.input}
        for value in self.values:
            made = value.name not in self.graph.feeds
            if made and (value.name not in used or self.rng.random() < 0.2):
                self.output(value)
        for value in self.final:
            if value.name in self.graph.bounds:
                self.output(value)
        return self.graph

    def output(self, value: Value) -> None:
        dims: list[int | str] = list(value.shape) if self.rng.random() < 0.5 else [f"{value.name}_{at}" for at in range(value.rank)]
        info = value.info(dims)
        if self.ranks_open and self.rng.random() < 0.3:
            info.type.tensor_type.ClearField("shape")
        self.graph.outputs.append(info)


def number(dtype: np.dtype) -> int:
    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


def imports(opset: int) -> list[onnx.OperatorSetIdProto]:
    return [helper.make_opsetid("", opset), helper.make_opsetid(LOCAL, 1)]


def with_types(model: onnx.ModelProto) -> onnx.ModelProto:
    """The outputs of a model of one node need an element type."""
    return onnx.shape_inference.infer_shapes(model)


def model(graphs: Sequence[Graph], opset: int) -> onnx.ModelProto:
    """Several graphs side by side in one."""
    whole = GraphProto(name="random")
    functions: list[FunctionProto] = []
    for graph in graphs:
        whole.node.extend(graph.nodes)
        whole.input.extend(graph.inputs)
        whole.initializer.extend(graph.initializers)
        whole.output.extend(graph.outputs)
        functions += graph.functions
    needed = imports(opset)[: 2 if functions else 1]
    return helper.make_model(whole, opset_imports=needed, ir_version=IR_VERSION, functions=functions)

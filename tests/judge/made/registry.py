"""How a file of made models declares them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import onnx
from onnx import (
    GraphProto,
    ModelProto,
    NodeProto,
    OperatorSetIdProto,
    TensorProto,
    ValueInfoProto,
    helper,
    numpy_helper,
)

from judge import values
from judge.cases import MODEL
from judge.values import Value

OPSET = 21
IR_VERSION = 10
FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


@dataclass(frozen=True)
class Made:
    """A model, its side files and, where random inputs will not do, its inputs."""

    name: str
    data: bytes
    files: Mapping[str, bytes] = field(default_factory=dict)
    inputs: Sequence[Value] = ()

    def write(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        (folder / MODEL).write_bytes(self.data)
        for name, content in self.files.items():
            (folder / name).write_bytes(content)
        if self.inputs:
            declared = ModelProto.FromString(self.data).graph.input[: len(self.inputs)]
            values.write(folder, "input", self.inputs, [value.type for value in declared])


Built = ModelProto | Made | Iterable[Made]
Maker = TypeVar("Maker", bound=Callable[[], Built])


class Registry:
    """The models of one file, built when they are written."""

    def __init__(self) -> None:
        self._makers: list[Callable[[], Built]] = []

    def add(self, maker: Maker) -> Maker:
        """Decorator: the function's name is the model's name, unless it gives `Made` models with their own."""
        self._makers.append(maker)
        return maker

    def build(self) -> list[Made]:
        models: list[Made] = []
        for maker in self._makers:
            built = maker()
            if isinstance(built, ModelProto):
                models.append(made(maker.__name__, built))
            elif isinstance(built, Made):
                models.append(built)
            else:
                models.extend(built)
        return models


def made(name: str, model: ModelProto, *inputs: Value, files: Mapping[str, bytes] | None = None) -> Made:
    return Made(name, model.SerializeToString(deterministic=True), files or {}, inputs)


def tensor(name: str, element: int = FLOAT, shape: Sequence[int | str | None] | None = (2, 3)) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, element, shape)


def constant(name: str, values: object, dtype: type = np.float32) -> TensorProto:
    return numpy_helper.from_array(np.asarray(values, dtype=dtype), name)


def opset(version: int = OPSET, domain: str = "") -> OperatorSetIdProto:
    return helper.make_opsetid(domain, version)


def graph(
    nodes: Sequence[NodeProto],
    inputs: Sequence[ValueInfoProto],
    outputs: Sequence[ValueInfoProto],
    initializers: Sequence[TensorProto] = (),
    name: str = "graph",
) -> GraphProto:
    return helper.make_graph(nodes, name, inputs, outputs, initializers)


def model(top: GraphProto, opsets: Sequence[OperatorSetIdProto] = (), ir_version: int = IR_VERSION) -> ModelProto:
    """With the opset of this package unless told otherwise."""
    result = onnx.ModelProto(ir_version=ir_version, producer_name="judge")
    result.opset_import.extend(opsets or [opset()])
    result.graph.CopyFrom(top)
    return result


def node(op: str, inputs: Sequence[str], outputs: Sequence[str], **attributes: Any) -> NodeProto:
    return helper.make_node(op, inputs, outputs, **attributes)

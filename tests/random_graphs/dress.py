"""What a model may be besides a graph: how its constants are kept, which values it takes and gives, what it says of itself."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from onnx import GraphProto, ModelProto, TensorProto, helper, numpy_helper

from random_graphs import values

FILES = ("w.bin", "v.bin", "in.onnx.data", "out.onnx.data", "out.data", "sub/w.bin")
"""Where constants are put; some are names that an output's data would have, too."""
AGAIN = "_again"
"""Behind the name of an output that has two."""
Dress = Callable[[random.Random, ModelProto, Mapping[str, np.ndarray]], None]
FORMS: list[tuple[float, Dress]] = []
"""With how likely each is."""


def form(likely: float) -> Callable[[Dress], Dress]:
    def register(dress: Dress) -> Dress:
        FORMS.append((likely, dress))
        return dress

    return register


def dress(rng: random.Random, model: ModelProto, known: Mapping[str, np.ndarray], *, runs: bool) -> None:
    """Changes the model in place, but for what it computes; with `runs`, by nothing that a runtime refuses."""
    for likely, change in FORMS:
        if rng.random() < likely and not (runs and change in REFUSED):
            change(rng, model, known)


def some(rng: random.Random, items, most: int = 3) -> list:
    items = list(items)
    return rng.sample(items, min(len(items), rng.randint(1, most)))


@form(0.4)
def typed_constants(rng: random.Random, model: ModelProto, known: Mapping[str, np.ndarray]) -> None:
    """In the field for their type instead of as bytes."""
    for held in model.graph.initializer:
        if held.HasField("raw_data") and rng.random() < 0.5:
            array = numpy_helper.to_array(held)
            if array.dtype not in values.SHORT:
                held.CopyFrom(helper.make_tensor(held.name, held.data_type, held.dims, array.reshape(-1)))


@form(0.08)
def sparse_constants(rng: random.Random, model: ModelProto, known: Mapping[str, np.ndarray]) -> None:
    fits = [held for held in model.graph.initializer if held.data_type in (TensorProto.FLOAT, TensorProto.INT64) and held.dims]
    for held in some(rng, [held for held in fits if 0 not in held.dims]):
        array = numpy_helper.to_array(held)
        flat = array.reshape(-1)
        at = np.flatnonzero(flat)
        indices = np.array(np.unravel_index(at, array.shape)).T if rng.random() < 0.5 else at
        model.graph.sparse_initializer.append(
            helper.make_sparse_tensor(
                numpy_helper.from_array(flat[at], held.name),
                numpy_helper.from_array(np.ascontiguousarray(indices, np.int64), held.name + "_indices"),
                list(held.dims),
            )
        )
        model.graph.initializer.remove(held)


@form(0.2)
def defaults(rng: random.Random, model: ModelProto, known: Mapping[str, np.ndarray]) -> None:
    """Constants that are inputs, too."""
    for held in some(rng, model.graph.initializer):
        add_default(model.graph, held)


def add_default(graph: GraphProto, held: TensorProto) -> None:
    if held.name not in {value.name for value in graph.input}:
        graph.input.append(helper.make_tensor_value_info(held.name, held.data_type, held.dims))


@form(0.25)
def odd_outputs(rng: random.Random, model: ModelProto, known: Mapping[str, np.ndarray]) -> None:
    """Inputs, constants, and values that are outputs already under another name."""
    graph = model.graph
    taken = {value.name for value in graph.output}
    plain = [value for value in graph.input if value.type.HasField("tensor_type") and value.name not in taken]
    match rng.randrange(3):
        case 0:
            graph.output.extend(some(rng, plain, 2))
        case 1:
            # onnxruntime writes the new mean and variance into the old ones.
            written = {name for node in graph.node if node.op_type == "BatchNormalization" for name in node.input}
            for held in some(rng, [held for held in graph.initializer if held.name not in taken | written], 2):
                graph.output.append(helper.make_tensor_value_info(held.name, held.data_type, held.dims))
        case _:
            for value in some(rng, [value for value in graph.output if value.type.HasField("tensor_type")], 2):
                graph.node.append(helper.make_node("Identity", [value.name], [value.name + AGAIN]))
                graph.output.add().CopyFrom(value)
                graph.output[-1].name += AGAIN


@form(0.4)
def types_of_values(rng: random.Random, model: ModelProto, known: Mapping[str, np.ndarray]) -> None:
    outer = {value.name for value in (*model.graph.input, *model.graph.output)}
    made = [name for node in model.graph.node for name in node.output if name in known and name not in outer]
    for name in made:
        if rng.random() < 0.6:
            array = known[name]
            dims = [size if rng.random() < 0.7 else f"{name}_{at}" for at, size in enumerate(array.shape)]
            model.graph.value_info.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), dims))


@form(0.4)
def words(rng: random.Random, model: ModelProto, known: Mapping[str, np.ndarray]) -> None:
    """Names of nodes, documentation, and metadata."""
    model.doc_string = "a model"
    model.metadata_props.add(key="made", value="at random")
    for at, node in enumerate(model.graph.node):
        if rng.random() < 0.6:
            node.name = f"node_{at}"
        if rng.random() < 0.2:
            node.doc_string = "a node"
            node.metadata_props.add(key="at", value=str(at))
    for function in model.functions:
        function.doc_string = "a function"
    for value in (*model.graph.input, *model.graph.output):
        value.doc_string = "a value"


@form(0.1)
def annotations(rng: random.Random, model: ModelProto, known: Mapping[str, np.ndarray]) -> None:
    floats = [held.name for held in model.graph.initializer if held.data_type == TensorProto.FLOAT and not held.dims]
    made = [name for node in model.graph.node for name in node.output if name in known]
    if floats and made:
        annotation = model.graph.quantization_annotation.add(tensor_name=rng.choice(made))
        annotation.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value=rng.choice(floats))


@form(0.1)
def shadows(rng: random.Random, model: ModelProto, known: Mapping[str, np.ndarray]) -> None:
    """Names in a region that are taken around it, where it does not use these."""
    outer = [name for node in model.graph.node for name in node.output if name]
    inner = [attribute.g for node in model.graph.node for attribute in node.attribute if attribute.HasField("g")]
    for graph in some(rng, inner):
        used = set(names_in(graph))
        own = [name for node in graph.node for name in node.output if name]
        own += [value.name for value in graph.input]
        free = [name for name in outer if name not in used]
        if own and free:
            rename(graph, rng.choice(own), rng.choice(free))


@form(0.3)
def older_format(rng: random.Random, model: ModelProto, known: Mapping[str, np.ndarray]) -> None:
    opset = max(entry.version for entry in model.opset_import)
    least = min(helper.find_min_ir_version_for(model.opset_import, ignore_unknown=True), model.ir_version)
    model.ir_version = 3 if opset <= 8 and not model.functions and rng.random() < 0.5 else rng.randint(max(4, least), model.ir_version)
    if model.ir_version == 3:
        for held in model.graph.initializer:
            add_default(model.graph, held)


REFUSED = {shadows}
"""Onnxruntime does not load them."""


def names_in(graph: GraphProto) -> list[str]:
    names = [value.name for value in (*graph.input, *graph.output)]
    for node in graph.node:
        names += [*node.input, *node.output]
        names += [name for attribute in node.attribute if attribute.HasField("g") for name in names_in(attribute.g)]
    return names


def rename(graph: GraphProto, old: str, new: str) -> None:
    for value in (*graph.input, *graph.output):
        value.name = new if value.name == old else value.name
    for node in graph.node:
        for names in (node.input, node.output):
            names[:] = [new if name == old else name for name in names]
        for attribute in node.attribute:
            if attribute.HasField("g"):
                rename(attribute.g, old, new)


def save(rng: random.Random, model: ModelProto, path: Path) -> None:
    """Writes the model, some of its constants into files beside it, at offsets."""
    if rng.random() < 0.3:
        names, contents = some(rng, FILES), {}
        # Checkers and runtimes do not look for shapes and axes in files.
        small = rng.random() < 0.1
        for held in model.graph.initializer:
            if held.raw_data and (small or held.data_type != TensorProto.INT64) and rng.random() < 0.7:
                move(rng, held, contents, rng.choice(names))
        for name, content in contents.items():
            (path.parent / name).parent.mkdir(exist_ok=True)
            (path.parent / name).write_bytes(content)
    path.write_bytes(model.SerializeToString())


def move(rng: random.Random, held: TensorProto, contents: dict[str, bytearray], name: str) -> None:
    content = contents.setdefault(name, bytearray())
    content += b"\xff" * rng.choice((0, 0, 1, 3, 64, -len(content) % 4096))
    held.data_location = TensorProto.EXTERNAL
    entries = {"location": name, "offset": str(len(content)), "length": str(len(held.raw_data))}
    if not content and rng.random() < 0.5:
        del entries["offset"]
    for key, entry in entries.items():
        held.external_data.add(key=key, value=entry)
    content += held.raw_data
    held.ClearField("raw_data")

"""Questions about a parsed model: its nodes, interface, validity, size, and how two models differ."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from enum import IntEnum
from pathlib import Path

import onnx
import onnx.inliner
from google.protobuf.message import Message
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto

ABSENT = object()
"""Stands for a field that is not there."""
CONSTANTS = frozenset({"Constant", "ConstantOfShape"})


class Validity(IntEnum):
    """How strict a check of `onnx.checker` a model passes."""

    NONE = 0
    PLAIN = 1
    FULL = 2


def nodes(model: ModelProto) -> Iterator[NodeProto]:
    """All nodes: of the graph, of subgraphs, of functions."""
    for function in model.functions:
        yield from nested_nodes(function.node)
    yield from nested_nodes(model.graph.node)


def nested_nodes(top: object) -> Iterator[NodeProto]:
    pending = [iter(top)]  # type: ignore[call-overload]
    while pending:
        node = next(pending[-1], None)
        if node is None:
            pending.pop()
            continue
        yield node
        pending.extend(iter(graph.node) for graph in subgraphs(node))


def subgraphs(node: NodeProto) -> Iterator[GraphProto]:
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            yield attribute.g
        elif attribute.type == AttributeProto.GRAPHS:
            yield from attribute.graphs


def graphs(model: ModelProto) -> Iterator[GraphProto]:
    """The graph and all its subgraphs, those in functions included."""
    yield model.graph
    for node in nodes(model):
        yield from subgraphs(node)


def tensors(model: ModelProto) -> Iterator[TensorProto]:
    """All dense tensors outside training information."""
    for graph in graphs(model):
        yield from graph.initializer
    for node in nodes(model):
        for attribute in node.attribute:
            if attribute.type == AttributeProto.TENSOR:
                yield attribute.t
            elif attribute.type == AttributeProto.TENSORS:
                yield from attribute.tensors


def n_operators(model: ModelProto) -> int:
    """Nodes other than constants, with model-local functions inlined."""
    if model.functions:
        model = onnx.inliner.inline_local_functions(model)
    return sum(node.op_type not in CONSTANTS for node in nodes(model))


def load(path: Path) -> ModelProto:
    """The model as it is in the file; external data stays outside."""
    return onnx.load(path, load_external_data=False)


def external_locations(model: ModelProto) -> set[str]:
    """File names of external data, relative to the model."""
    return {
        entry.value
        for tensor in tensors(model)
        if tensor.data_location == TensorProto.EXTERNAL
        for entry in tensor.external_data
        if entry.key == "location"
    }


def size_on_disk(path: Path) -> int:
    """Bytes of the model file and of the external data it names."""
    files = {path, *(path.parent / location for location in external_locations(load(path)))}
    return sum(file.stat().st_size for file in files)


def validity(path: Path) -> tuple[Validity, str]:
    """The strictest check that the model passes, and why it fails the next one."""
    try:
        onnx.checker.check_model(str(path), full_check=True)
    except Exception as error:  # the checker raises many types, all mean the same here
        full = str(error)
    else:
        return Validity.FULL, ""
    try:
        onnx.checker.check_model(str(path))
    except Exception as error:
        return Validity.NONE, str(error)
    return Validity.PLAIN, full


def interface_problems(before: ModelProto, after: ModelProto, imports: Collection[str] = ()) -> list[str]:
    """What a caller of the model would notice: inputs, outputs, defaults, operator sets.

    Those of the domains `imports` may be added.
    """
    problems: list[str] = []
    for side, old, new in (
        ("input", inputs(before), inputs(after)),
        ("output", list(before.graph.output), list(after.graph.output)),
    ):
        old_names, new_names = [value.name for value in old], [value.name for value in new]
        if old_names != new_names:
            problems.append(f"{side}s were {old_names}, are {new_names}")
            continue
        problems.extend(
            f"{side} `{a.name}` changed its type: {first_difference(a.type, b.type)}"
            for a, b in zip(old, new, strict=True)
            if a.type != b.type
        )
    problems.extend(default_problems(before, after))
    old_opsets = {opset.domain: opset.version for opset in before.opset_import}
    new_opsets = {opset.domain: opset.version for opset in after.opset_import}
    # A function that was inlined brings its operator sets along.
    brought = {(opset.domain, opset.version) for function in before.functions for opset in function.opset_import}
    # One that was added is in a domain, which its callers import.
    added = {function.domain for function in after.functions}
    problems.extend(
        f"operator set `{domain}` was {old_opsets.get(domain)}, is {version}"
        for domain, version in new_opsets.items()
        if old_opsets.get(domain) != version and (
            domain in old_opsets
            or ((domain, version) not in brought and domain not in added and domain not in imports)
        )
    )
    if "" in old_opsets and "" not in new_opsets:
        problems.append("the default operator set is gone")
    return problems


def inputs(model: ModelProto) -> list[onnx.ValueInfoProto]:
    """What a caller feeds. Up to IR version 3 an input that has an initializer is a constant."""
    if model.ir_version >= 4:
        return list(model.graph.input)
    constant = {tensor.name for tensor in model.graph.initializer}
    return [value for value in model.graph.input if value.name not in constant]


def default_problems(before: ModelProto, after: ModelProto) -> list[str]:
    """An input with a default value must keep exactly this value."""
    if before.ir_version < 4:
        return []
    names = {value.name for value in before.graph.input}
    old = {tensor.name: tensor for tensor in before.graph.initializer if tensor.name in names}
    new = {tensor.name: tensor for tensor in after.graph.initializer if tensor.name in names}
    changed = [name for name in sorted(old | new) if old.get(name) != new.get(name)]
    return [f"input `{name}`: its default came, went or changed" for name in changed]


def equal(a: Message, b: Message) -> bool:
    """Equal as messages; compared as bytes too, for a NaN is not equal to itself."""
    return a == b or a.SerializeToString(deterministic=True) == b.SerializeToString(deterministic=True)


def first_difference(a: Message, b: Message, path: str = "") -> str:
    """Where two messages differ first, in field order; empty when no known field differs."""
    while True:
        step = next(differing_fields(a, b), None)
        if step is None:
            return f"{path or 'message'}: unknown fields differ" if not equal(a, b) else ""
        place, old, new = step
        path = f"{path}.{place}" if path else place
        if not (isinstance(old, Message) and isinstance(new, Message)):
            return f"{path}: {shown(old)} != {shown(new)}"
        a, b = old, new


def differing_fields(a: Message, b: Message) -> Iterator[tuple[str, object, object]]:
    for field in a.DESCRIPTOR.fields:
        old, new = getattr(a, field.name), getattr(b, field.name)
        if not field.is_repeated:
            present = (a.HasField(field.name), b.HasField(field.name))
            if present[0] != present[1]:
                yield (
                    field.name,
                    *(value if there else ABSENT for value, there in zip((old, new), present, strict=True)),
                )
            elif field.message_type is not None:
                if not equal(old, new):
                    yield field.name, old, new
            elif repr(old) != repr(new):
                yield field.name, old, new
            continue
        for index, (x, y) in enumerate(zip(old, new, strict=False)):  # a difference in length is named below
            differs = not equal(x, y) if isinstance(x, Message) else repr(x) != repr(y)
            if differs:
                yield f"{field.name}[{index}]", x, y
        if len(old) != len(new):
            yield f"{field.name}.length", len(old), len(new)


def shown(value: object, limit: int = 60) -> str:
    text = "absent" if value is ABSENT else " ".join(repr(value).split())
    return text if len(text) <= limit else f"{text[:limit]}…"

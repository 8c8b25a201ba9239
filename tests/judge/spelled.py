"""The node cases of the `onnx` package in a form that needs no protobuf reader: one item a line.

    case name
    value name elem dims hex
    node op version n_outputs input,… output,…
    attr kind name value
    expect name elem dims hex
    end

Lists are separated by commas and are `-` when empty; floats are their bits in hex."""

from __future__ import annotations

import struct
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from onnx import AttributeProto, ModelProto, TensorProto, helper, numpy_helper
from onnx.backend.test.loader import load_node_model_tests


class Unspeakable(Exception):
    """A case has what the form does not say: sequences, graphs, operators of other domains."""


def command(out: Path) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = load_node_model_tests()
    spelled, n_left_out = [], 0
    for case in cases:
        try:
            spelled += [list(lines(case.name, case.model, inputs, outputs)) for inputs, outputs in case.data_sets[:1]]
        except Unspeakable:
            n_left_out += 1
    out.write_text("".join(f"{line}\n" for case in spelled for line in case), encoding="utf-8")
    print(f"{len(spelled)} cases, {n_left_out} left out")
    return 0


def lines(name: str, model: ModelProto, inputs: Iterable[object], outputs: Iterable[object]) -> Iterator[str]:
    graph = model.graph
    if model.functions or any(node.domain not in ("", "ai.onnx") for node in graph.node):
        raise Unspeakable
    [version] = [entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")]
    yield f"case {name}"
    given = [(info.name, value) for info, value in zip(graph.input, inputs, strict=False)]
    for key, value in (*((proto.name, proto) for proto in graph.initializer), *given):
        yield f"value {key} {tensor(value)}"
    for node in graph.node:
        arguments, results = listed(node.input), listed(node.output)
        yield f"node {node.op_type} {version} {len(node.output)} {arguments} {results}"
        yield from (attribute(entry) for entry in node.attribute)
    for info, value in zip(graph.output, outputs, strict=True):
        yield f"expect {info.name} {tensor(value)}"
    yield "end"


def listed(items: Iterable[object]) -> str:
    texts = [str(item) for item in items]
    # A list of one absent name would be no list.
    return ",".join(texts) if any(texts) else "-"


def tensor(value: object) -> str:
    if isinstance(value, np.ndarray | np.generic):
        value = numpy_helper.from_array(np.asarray(value))
    if not isinstance(value, TensorProto):
        raise Unspeakable
    return f"{value.data_type} {listed(value.dims)} {content(value).hex() or '-'}"


def content(value: TensorProto) -> bytes:
    """Strings each with their length before them."""
    if value.data_type == TensorProto.STRING:
        return b"".join(struct.pack("<I", len(text)) + text for text in value.string_data)
    if value.HasField("raw_data"):
        return value.raw_data
    packed = numpy_helper.from_array(numpy_helper.to_array(value))
    return packed.raw_data


def bits(value: float) -> str:
    return struct.pack(">f", value).hex()


def attribute(entry: AttributeProto) -> str:
    value = helper.get_attribute_value(entry)
    match entry.type:
        case AttributeProto.INT:
            text = f"int {entry.name} {value}"
        case AttributeProto.FLOAT:
            text = f"float {entry.name} {bits(value)}"
        case AttributeProto.STRING:
            text = f"string {entry.name} {value.hex() or '-'}"
        case AttributeProto.INTS:
            text = f"ints {entry.name} {listed(value)}"
        case AttributeProto.FLOATS:
            text = f"floats {entry.name} {listed(map(bits, value))}"
        case AttributeProto.STRINGS:
            text = f"strings {entry.name} {listed(item.hex() or '-' for item in value)}"
        case AttributeProto.TENSOR:
            text = f"tensor {entry.name} {tensor(value)}"
        case _:
            raise Unspeakable
    return f"attr {text}"



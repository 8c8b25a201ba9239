"""Files that are not written the way a serialiser writes them, and fields that nobody knows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from onnx import ModelProto, TensorProto, helper

from judge import wire
from judge.made.attributes import attributes_all_kinds
from judge.made.functions import functions_attributes, functions_described
from judge.made.registry import FLOAT, INT64, Made, Registry, constant, graph, model, node, tensor
from judge.made.structure import metadata_everywhere
from judge.made.subgraphs import subgraphs_three_deep

MODELS = Registry()


def plain() -> ModelProto:
    """Typed tensors, packed numbers, an int list; runs in any runtime."""
    weights = [
        helper.make_tensor("w", FLOAT, [3], [1.0, 2.0, 3.0]),
        helper.make_tensor("k", INT64, [2], [3, -1]),
        helper.make_tensor("h", TensorProto.INT32, [3], [-1, 2, -3]),
        helper.make_tensor("d", TensorProto.DOUBLE, [3], [0.5, 0.25, 2.0]),
        constant("v", np.arange(6).reshape(2, 3)),
    ]
    nodes = [
        node("Transpose", ["x"], ["t"], perm=[1, 0], name="transpose"),
        node("Transpose", ["t"], ["u"], perm=[1, 0]),
        node("Cast", ["h"], ["i"], to=FLOAT),
        node("Cast", ["d"], ["e"], to=FLOAT),
        node("Sum", ["u", "w", "i", "e", "v"], ["s"]),
        node("Reshape", ["s", "k"], ["y"]),
    ]
    result = model(graph(nodes, [tensor("x")], [tensor("y", shape=(3, 2))], weights))
    result.graph.value_info.append(tensor("u"))
    return result


BASES = {
    "plain": plain,
    "metadata": metadata_everywhere,
    "subgraphs": subgraphs_three_deep,
    "functions": functions_attributes,
    "described_functions": functions_described,
    "attributes": attributes_all_kinds,
}

REWRITES: dict[str, tuple[wire.Rewrite, int]] = {
    "unknown_fields": (wire.with_unknown_fields, 0),
    "unknown_fields_between": (wire.with_unknown_fields_between, 0),
    "overlong_lengths": (wire.unchanged, 4),
    "overlong_scalars": (wire.padded_scalars, 0),
    "backwards": (wire.backwards, 0),
    "interleaved": (wire.interleaved, 0),
    "repeated_scalars": (wire.repeated_scalars, 0),
    "split_messages": (wire.split_messages, 0),
    "other_packing": (wire.other_packing, 0),
    "short_negatives": (wire.short_negatives, 0),
}


@MODELS.add
def encodings() -> Iterator[Made]:
    """Each base in each encoding that makes a difference to it; all but the unknown fields mean the same model."""
    for base, build in BASES.items():
        data = build().SerializeToString(deterministic=True)
        for name, (rewrite, pad) in REWRITES.items():
            encoded = wire.rewritten(data, ModelProto.DESCRIPTOR, rewrite, pad)
            if encoded != data:
                yield Made(f"encoding_{name}_{base}", encoded)


@MODELS.add
def encoding_empty_fields() -> Made:
    """Fields that are present and empty, or present with their default."""
    source = plain()
    source.doc_string = source.domain = source.producer_version = ""
    source.model_version = 0
    source.graph.doc_string = ""
    for each in source.graph.node:
        each.name, each.domain, each.overload, each.doc_string = "", "", "", ""
    for weight in source.graph.initializer:
        weight.doc_string = ""
        weight.data_location = TensorProto.DEFAULT
    source.graph.input[0].doc_string = ""
    source.graph.input[0].type.denotation = ""
    return Made("encoding_empty_fields", source.SerializeToString(deterministic=True))


@MODELS.add
def encoding_graph_first() -> Made:
    """The graph before the IR version and the operator sets, which are needed to read it."""
    fields = list(wire.parse(plain().SerializeToString(deterministic=True)))
    graph_number = ModelProto.DESCRIPTOR.fields_by_name["graph"].number
    fields.sort(key=lambda field: field.number != graph_number)
    return Made("encoding_graph_first", b"".join(field.encode() for field in fields))

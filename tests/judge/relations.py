"""The node cases of the `onnx` package as cases for type relations, with what `onnx.shape_inference` infers and what the
package's own results are. `plugins/operators/tests/all/support` says how they are written.

Each case comes three times: with what is known of its inputs' types; with small integer inputs as constants, too; and
with a symbol for each first dimension, `$name_3` standing for 3."""

from __future__ import annotations

import struct
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import AttributeProto, ModelProto, TensorProto, TypeProto, helper, numpy_helper, shape_inference
from onnx.backend.test.loader import load_node_model_tests

NAMES = {TensorProto.FLOAT: "float32", TensorProto.DOUBLE: "float64"}
MOST_VALUES = 64


class UnspeakableError(Exception):
    """A case has what the form does not say: graphs, sparse tensors, operators of other domains."""


def command(out: Path) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = load_node_model_tests()
    texts, n_left_out = [], 0
    for case in cases:
        try:
            for how in ("types", "constants", "symbols"):
                inputs, outputs = case.data_sets[0]
                texts.append("".join(f"{line}\n" for line in lines(case.name, how, case.model, inputs, outputs)))
        except UnspeakableError:
            n_left_out += 1
    out.write_text("".join(texts), encoding="utf-8")
    print(f"{len(texts)} cases, {n_left_out} models left out")
    return 0


def lines(
    name: str, how: str, model: ModelProto, inputs: Sequence[object], outputs: Sequence[object]
) -> Iterator[str]:
    asked = onnx.ModelProto()
    asked.CopyFrom(model)
    graph = asked.graph
    if asked.functions or any(node.domain not in ("", "ai.onnx", "ai.onnx.ml") for node in graph.node):
        raise UnspeakableError
    versions = {entry.domain or "ai.onnx": entry.version for entry in asked.opset_import}
    yield f"case {name} with {how}"
    for constant in graph.initializer:
        yield constant_line(constant.name, numpy_helper.to_array(constant))
    for info, value in zip(list(graph.input), inputs, strict=False):
        array = value if isinstance(value, np.ndarray | np.generic) else None
        if how == "constants" and array is not None and is_small_list(np.asarray(array)):
            graph.initializer.append(numpy_helper.from_array(np.asarray(array), info.name))
            yield constant_line(info.name, np.asarray(array))
            continue
        if array is not None:
            dims = [*np.asarray(array).shape]
            if how == "symbols" and dims:
                dims[0] = f"{info.name.replace('_', '')}_{dims[0]}"
            info.type.CopyFrom(helper.make_tensor_type_proto(info.type.tensor_type.elem_type, dims))
        yield f"value {info.name} {spelled(info.type)}"
    for node in graph.node:
        domain = node.domain or "ai.onnx"
        yield f"node {domain} {node.op_type} {versions[domain]}"
        yield from (attribute(entry) for entry in node.attribute)
        yield f"args {' '.join(name or '-' for name in node.input)}"
        if not all(node.output):
            raise UnspeakableError
        yield f"outs {' '.join(node.output)}"
    declared = {info.name: info.type for info in graph.output}
    for info in graph.output:
        info.ClearField("type")
    try:
        inferred = shape_inference.infer_shapes(asked, data_prop=True)
    except Exception as error:
        raise UnspeakableError from error
    found = {info.name: info.type for info in inferred.graph.output}
    for info, value in zip(graph.output, outputs, strict=True):
        truth = spelled(declared[info.name])
        if isinstance(value, np.ndarray | np.generic):
            elem = declared[info.name].tensor_type.elem_type
            truth = spelled(helper.make_tensor_type_proto(elem, np.asarray(value).shape))
        yield f"judge {info.name} {spelled(found[info.name])} {truth}"
    yield "end"


def is_small_list(array: np.ndarray) -> bool:
    return array.dtype in (np.int64, np.int32) and array.size <= MOST_VALUES


def constant_line(name: str, array: np.ndarray) -> str:
    kind = spelled(helper.make_tensor_type_proto(helper.np_dtype_to_tensor_dtype(array.dtype), array.shape))
    if not is_small_list(array):
        return f"const {name} {kind}"
    return f"const {name} {kind} = {' '.join(str(value) for value in array.flatten())}"


def spelled(kind: TypeProto) -> str:
    match kind.WhichOneof("value"):
        case "tensor_type":
            elem = kind.tensor_type.elem_type
            text = NAMES.get(elem) or TensorProto.DataType.Name(elem).lower()
            if not kind.tensor_type.HasField("shape"):
                return f"{text}[*]"
            return f"{text}[{','.join(dimension(dim) for dim in kind.tensor_type.shape.dim)}]"
        case "sequence_type":
            return f"seq:{spelled(kind.sequence_type.elem_type)}"
        case "optional_type":
            return f"opt:{spelled(kind.optional_type.elem_type)}"
        case None:
            return "?"
        case _:
            raise UnspeakableError


def dimension(dim: onnx.TensorShapeProto.Dimension) -> str:
    if dim.HasField("dim_value"):
        return str(dim.dim_value)
    # What the other implementation invents has no name here.
    return f"${dim.dim_param}" if dim.dim_param and not dim.dim_param.startswith("unk__") else "?"


def attribute(entry: AttributeProto) -> str:
    value = helper.get_attribute_value(entry)
    match entry.type:
        case AttributeProto.INT:
            text = f"i {value}"
        case AttributeProto.FLOAT:
            text = f"f {struct.unpack('f', struct.pack('f', value))[0]!r}"
        case AttributeProto.STRING:
            text = f"s hex:{value.hex()}"
        case AttributeProto.INTS:
            text = f"ints {' '.join(map(str, value))}".rstrip()
        case AttributeProto.FLOATS:
            text = f"floats {' '.join(map(repr, value))}".rstrip()
        case AttributeProto.STRINGS:
            text = f"strings {' '.join(f'hex:{item.hex()}' for item in value)}".rstrip()
        case AttributeProto.TENSOR:
            text = constant_line("t", numpy_helper.to_array(value)).removeprefix("const ")
        case AttributeProto.TYPE_PROTO:
            text = f"ty {spelled(value)}"
        case _:
            raise UnspeakableError
    return f"attr {entry.name} {text}"

"""Tensors of every element type, in the raw and in the typed form."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from judge.made.registry import Made, Registry, graph, made, model, node, opset, tensor

MODELS = Registry()
ALL = sorted(number for name, number in TensorProto.DataType.items() if name != "UNDEFINED")
N_VALUES = 5
"""Odd, so that packed types leave part of the last byte unused."""


def type_name(element: int) -> str:
    return TensorProto.DataType.Name(element).lower()


def typed(element: int) -> TensorProto:
    """In the field for this type."""
    if element == TensorProto.STRING:
        return strings("", "a", "ß", "\0", "long" * 20)
    if element == TensorProto.BOOL:
        return helper.make_tensor("w", element, [N_VALUES], [True, False, True, True, False])
    signed = not type_name(element).startswith("uint") and element != TensorProto.FLOAT8E8M0
    numbers = [0, 1, -1, -2, 1] if signed else [0, 1, 2, 3, 1]
    if element == TensorProto.FLOAT8E8M0:
        numbers = [1, 2, 4, 8, 16]
    return helper.make_tensor("w", element, [N_VALUES], numbers)


def strings(*values: str | bytes) -> TensorProto:
    encoded = [value.encode() if isinstance(value, str) else value for value in values]
    return TensorProto(name="w", dims=[len(values)], data_type=TensorProto.STRING, string_data=encoded)


def holder(initializer: TensorProto, element: int) -> onnx.ModelProto:
    top = graph([node("Identity", ["w"], ["y"])], [], [tensor("y", element, list(initializer.dims))], [initializer])
    return model(top, [opset(onnx.defs.onnx_opset_version())], onnx.IR_VERSION)


@MODELS.add
def elements_typed() -> Iterator[Made]:
    for element in ALL:
        yield made(f"elements_typed_{type_name(element)}", holder(typed(element), element))


@MODELS.add
def elements_raw() -> Iterator[Made]:
    for element in ALL:
        if element != TensorProto.STRING:
            raw = numpy_helper.from_array(numpy_helper.to_array(typed(element)), "w")
            assert raw.HasField("raw_data"), type_name(element)
            yield made(f"elements_raw_{type_name(element)}", holder(raw, element))


@MODELS.add
def elements_bytes() -> Iterator[Made]:
    """Strings that are not text."""
    yield made("elements_bytes", holder(strings(b"\xff\x00", b"\xc3"), TensorProto.STRING))


@MODELS.add
def elements_shapes() -> Iterator[Made]:
    """Scalars, and tensors without elements, raw and typed."""
    for name, shape in (("scalar", ()), ("empty", (0,)), ("empty_middle", (2, 0, 3)), ("rank_8", (1,) * 8)):
        array = np.full(shape, 1.5, dtype=np.float32)
        yield made(f"elements_{name}_raw", holder(numpy_helper.from_array(array, "w"), TensorProto.FLOAT))
        plain = helper.make_tensor("w", TensorProto.FLOAT, shape, array.flatten())
        yield made(f"elements_{name}_typed", holder(plain, TensorProto.FLOAT))


@MODELS.add
def elements_special_floats() -> Iterator[Made]:
    """Values that arithmetic would not keep: a NaN with a payload, negative zero, the smallest number."""
    bits = np.array([0x7FC0_1234, 0xFF80_0000, 0x8000_0000, 0x0000_0001, 0x7F7F_FFFF], dtype=np.uint32)
    yield made(
        "elements_special_floats", holder(numpy_helper.from_array(bits.view(np.float32), "w"), TensorProto.FLOAT)
    )

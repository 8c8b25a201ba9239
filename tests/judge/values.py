"""Values of model inputs and outputs: reading them from files, making them, comparing them."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
from google.protobuf.message import Message
from onnx import ModelProto, TensorProto, TypeProto, ValueInfoProto, numpy_helper

from judge import graphs
from judge.cases import DATA_SET, Case

Value = Any
"""An array, a list of values (sequence), a dictionary (map), or None (absent optional)."""

RTOL, ATOL = 1e-4, 1e-5
DOUBLE_RTOL, DOUBLE_ATOL = 1e-9, 1e-11
UNKNOWN_DIM = 3
"""Length given to a dimension that the model leaves open."""


class NoInputs(Exception):
    """The inputs of a model cannot be made up."""


def feeds(case: Case, model: ModelProto) -> dict[str, Value]:
    """The inputs of a case: from its files, or made from the declared types where it has none."""
    declared = graphs.inputs(model)
    files = case.inputs
    if not files:
        return {value.name: made(value, case.name) for value in declared}
    if len(files) > len(declared):
        declared = list(model.graph.input)
    return {
        value.name: read(path, value.type) for value, path in zip(declared, files, strict=False)
    }  # rest has defaults


def read(path: Path, declared: TypeProto) -> Value:
    data = path.read_bytes()
    kind = declared.WhichOneof("value")
    if kind == "sequence_type":
        return numpy_helper.to_list(onnx.SequenceProto.FromString(data))
    if kind == "optional_type":
        return numpy_helper.to_optional(onnx.OptionalProto.FromString(data))
    if kind == "map_type":
        return numpy_helper.to_dict(onnx.MapProto.FromString(data))
    return numpy_helper.to_array(TensorProto.FromString(data))


def write(folder: Path, stem: str, given: Sequence[Value], types: Sequence[TypeProto]) -> None:
    """Values of the declared types as the data set of a case."""
    (folder / DATA_SET).mkdir(exist_ok=True)
    for index, (value, declared) in enumerate(zip(given, types, strict=True)):
        message = as_message(value, declared)
        (folder / DATA_SET / f"{stem}_{index}.pb").write_bytes(message.SerializeToString(deterministic=True))


def as_message(value: Value, declared: TypeProto) -> Message:
    kind = declared.WhichOneof("value")
    if kind == "map_type":
        return numpy_helper.from_dict(value)
    if kind == "sequence_type":
        return numpy_helper.from_list(value)
    if kind == "optional_type":
        return numpy_helper.from_optional(value)
    if isinstance(value, TensorProto):
        return value
    return numpy_helper.from_array(np.asarray(value))


def made(value: ValueInfoProto, seed: str) -> np.ndarray:
    """A seeded random tensor of the declared type."""
    if value.type.WhichOneof("value") != "tensor_type" or not value.type.tensor_type.HasField("shape"):
        raise NoInputs(f"input `{value.name}` has no tensor type with a shape")
    declared = value.type.tensor_type
    shape = [dim.dim_value if dim.HasField("dim_value") else UNKNOWN_DIM for dim in declared.shape.dim]
    rng = np.random.default_rng(zlib.crc32(f"{seed}/{value.name}".encode()))
    if declared.elem_type == TensorProto.STRING:
        return np.array([f"s{rng.integers(100)}" for _ in range(int(np.prod(shape)))], dtype=object).reshape(shape)
    dtype = onnx.helper.tensor_dtype_to_np_dtype(declared.elem_type)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "iu":
        return rng.integers(0, 4, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def named_difference(names: Sequence[str], old: Sequence[Value], new: Sequence[Value], *, exact: bool) -> str:
    """How the outputs of two models differ first, or an empty text. Inexact means: types and shapes only."""
    if len(old) != len(new):
        return f"{len(old)} outputs became {len(new)}"
    for name, a, b in zip(names, old, new, strict=True):
        if why := difference(a, b, exact=exact):
            return f"output `{name}`{why}"
    return ""


def difference(old: Value, new: Value, *, exact: bool) -> str:
    if old is None or new is None:
        return "" if old is new else f": {'absent' if old is None else 'present'} before, not so after"
    if isinstance(old, Mapping):
        if not isinstance(new, Mapping) or list(old) != list(new):
            return ": the keys of a map differ"
        return difference(list(old.values()), list(new.values()), exact=exact)
    if isinstance(old, (list, tuple)):
        if not isinstance(new, (list, tuple)) or len(old) != len(new):
            return ": the lengths of a sequence differ"
        for index, (a, b) in enumerate(zip(old, new, strict=True)):
            if why := difference(a, b, exact=exact):
                return f" item {index}{why}"
        return ""
    return array_difference(np.asarray(old), np.asarray(new), exact=exact)


def array_difference(old: np.ndarray, new: np.ndarray, *, exact: bool) -> str:
    if is_text(old) != is_text(new) or (not is_text(old) and old.dtype != new.dtype):
        return f": element type {old.dtype} became {new.dtype}"
    if old.shape != new.shape:
        return f": shape {old.shape} became {new.shape}"
    if not exact:
        return ""
    same = close(old, new)
    if same.all():
        return ""
    place = tuple(int(index) for index in np.argwhere(~same)[0])
    return f" at {place}: {old[place]!r} became {new[place]!r} ({int((~same).sum())} of {same.size} differ)"


def close(old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Element by element: NaN equals NaN, integers, booleans and text exactly, floats within tolerance."""
    if is_text(old):
        return np.asarray(old.astype(str) == new.astype(str))
    if not is_float(old.dtype):
        return np.asarray(old == new)
    rtol, atol = tolerance(old.dtype)
    wide = np.complex128 if old.dtype.kind == "c" else np.float64
    return np.isclose(new.astype(wide), old.astype(wide), rtol=rtol, atol=atol, equal_nan=True)


def tolerance(dtype: np.dtype) -> tuple[float, float]:
    """Tight for double precision; at least one step of the type for the short ones."""
    if dtype in (np.dtype(np.float64), np.dtype(np.complex128)):
        return DOUBLE_RTOL, DOUBLE_ATOL
    if dtype.kind == "c":
        return RTOL, ATOL
    return max(RTOL, float(ml_dtypes.finfo(dtype).eps)), ATOL


def is_text(array: np.ndarray) -> bool:
    return array.dtype.kind in "OSUT"


def is_float(dtype: np.dtype) -> bool:
    if dtype.kind in "fc":
        return True
    try:
        ml_dtypes.finfo(dtype)
    except ValueError:
        return False
    return True

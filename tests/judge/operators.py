"""Records of operators held against `onnx.defs`."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnx
from onnx.defs import OpSchema

# How ONNX writes a type of tensors of one kind of element, and which list of a type variable that is.
SHAPES = {
    "tensors": re.compile(r"tensor\((\w+)\)"),
    "sequences": re.compile(r"seq\(tensor\((\w+)\)\)"),
    "optionals": re.compile(r"optional\(tensor\((\w+)\)\)"),
    "optional_sequences": re.compile(r"optional\(seq\(tensor\((\w+)\)\)\)"),
}
# Element types that the text form calls otherwise.
ELEMS = {"float": "float32", "double": "float64"}
# More than any record says: any number.
MANY = 0xFFFF


def command(records: Path) -> int:
    """Prints each difference, and how many operators were compared."""
    said = {
        (it["domain"], it["name"], it["since_version"]): it for it in json.loads(records.read_text(encoding="utf-8"))
    }
    schemas = {(it.domain, it.name, it.since_version): it for it in onnx.defs.get_all_schemas_with_history()}
    lines = [f"{title(key)}: nothing describes it" for key in sorted(schemas.keys() - said.keys())]
    lines += [f"{title(key)}: onnx {onnx.__version__} has no such" for key in sorted(said.keys() - schemas.keys())]
    for key in sorted(schemas.keys() & said.keys()):
        lines += [f"{title(key)}: {difference}" for difference in differences(schemas[key], said[key])]
    for line in lines:
        print(line)
    print(f"{len(schemas)} compared, {len(lines)} differences")
    return 1 if lines else 0


def title(key: tuple[str, str, int]) -> str:
    domain, name, since = key
    return f"{domain}::{name}@{since}" if domain else f"{name}@{since}"


def differences(schema: OpSchema, said: dict[str, Any]) -> Iterator[str]:
    wanted = {
        "inputs": [min(it, MANY) for it in (schema.min_input, schema.max_input)],
        "outputs": [min(it, MANY) for it in (schema.min_output, schema.max_output)],
        "takes": [formal(it) for it in schema.inputs],
        "gives": [formal(it) for it in schema.outputs],
        "types": sorted(variables(schema), key=lambda it: it["name"]),
    }
    found = {key: said[key] for key in wanted} | {"types": sorted(said["types"], key=lambda it: it["name"])}
    for key, value in wanted.items():
        if found[key] != value:
            yield f"{key} are {found[key]} and should be {value}"
    known = {it["name"]: it for it in said["attributes"]}
    for name in sorted(known.keys() ^ schema.attributes.keys()):
        yield f"attribute `{name}` is {'unknown to onnx' if name in known else 'not described'}"
    for name in sorted(known.keys() & schema.attributes.keys()):
        yield from attribute_differences(schema.attributes[name], known[name])


def formal(it: OpSchema.FormalParameter) -> dict[str, str]:
    kinds = {
        OpSchema.FormalParameterOption.Single: "single",
        OpSchema.FormalParameterOption.Optional: "optional",
        OpSchema.FormalParameterOption.Variadic: "variadic" if it.is_homogeneous else "mixed",
    }
    return {"name": it.name, "kind": kinds[it.option], "type": it.type_str}


def variables(schema: OpSchema) -> Iterator[dict[str, Any]]:
    """The type variables that are used, a type that ONNX writes out being one, too."""
    allowed = {it.type_param_str: list(it.allowed_type_strs) for it in schema.type_constraints}
    for name in dict.fromkeys(it.type_str for it in [*schema.inputs, *schema.outputs]):
        found: dict[str, Any] = {"name": name, "others": []} | {shape: [] for shape in SHAPES}
        for one in sorted(set(allowed.get(name, [name]))):
            for shape, pattern in SHAPES.items():
                if match := pattern.fullmatch(one):
                    found[shape].append(match[1])
                    break
            else:
                found["others"].append(one)
        for shape in SHAPES:
            numbered = sorted((onnx.TensorProto.DataType.Value(elem.upper()), elem) for elem in found[shape])
            found[shape] = [ELEMS.get(elem, elem) for _, elem in numbered]
        yield found


def attribute_differences(schema: OpSchema.Attribute, said: dict[str, Any]) -> Iterator[str]:
    kind = schema.type.name.lower().removesuffix("_proto").replace("_", " ")
    if said["type"] != kind:
        yield f"attribute `{schema.name}` is of kind {said['type']} and should be of {kind}"
    elif said["required"] != schema.required:
        yield f"attribute `{schema.name}` is{'' if said['required'] else ' not'} required"
    else:
        wanted = None if schema.default_value.type == 0 else onnx.helper.get_attribute_value(schema.default_value)
        if not same(wanted, said["default"]):
            yield f"attribute `{schema.name}` is by default {said['default']} and should be {wanted}"


def same(wanted: Any, text: str | None) -> bool:
    """Whether a default is the value that a text says."""
    if wanted is None or not text:
        return wanted is None and not text
    if isinstance(wanted, bytes):
        return json.loads(text) == wanted.decode()
    if isinstance(wanted, float):
        return math.isclose(float(text), wanted, rel_tol=1e-7, abs_tol=0.0)
    if isinstance(wanted, list):
        return json.loads(text) == [it.decode() if isinstance(it, bytes) else it for it in wanted]
    return isinstance(wanted, int) and int(text) == wanted

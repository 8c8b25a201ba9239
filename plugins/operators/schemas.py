#!/usr/bin/env python3
"""Writes what the `onnx` package says of operators, for the version of it in `tests/judge/requirements.txt`.

    python plugins/operators/schemas.py            writes `src/schema/onnx.rs` and `math/src/defaults/table.rs`
    python plugins/operators/schemas.py --check    ends with 1 when one of them says something else
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx.defs import OpSchema

SCHEMAS = """\
//! The versions of each operator in the ONNX standard: inputs, results, attributes and types.
//!
//! Made by `plugins/operators/schemas.py` from the `onnx` package.

use super::terms::*;
use relais_plugin_api::{
    ir::ElemType,
    op::{Operator, TypeVar},
};

"""

DEFAULTS = """\
//! The default values of attributes of ONNX's operators.
//!
//! Made by `plugins/operators/schemas.py` from the `onnx` package.

use super::DefaultValue::{self, *};

/// Operator, attribute, the first version of the default, and the default; sorted by the first three.
#[rustfmt::skip]
pub(super) const ALL: &[(&str, &str, i64, DefaultValue)] = &[
"""

# How ONNX writes a type of tensors of one kind of element, and which list of a `TypeVar` that is.
SHAPES = {
    "tensors": re.compile(r"tensor\((\w+)\)"),
    "sequences": re.compile(r"seq\(tensor\((\w+)\)\)"),
    "optionals": re.compile(r"optional\(tensor\((\w+)\)\)"),
    "optional_sequences": re.compile(r"optional\(seq\(tensor\((\w+)\)\)\)"),
}


def text(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


class Names:
    """Constants for what occurs often."""

    def __init__(self, prefix: str, kind: str, write: Callable[[Any], str]) -> None:
        self.prefix, self.kind, self.write = prefix, kind, write
        self.of: dict[object, str] = {}

    def __call__(self, value: object) -> str:
        return self.of.setdefault(value, f"{self.prefix}{len(self.of)}")

    def lines(self) -> Iterator[str]:
        for value, name in self.of.items():
            yield f"#[rustfmt::skip]\nconst {name}: {self.kind} = {self.write(value)};"


def listed(items: Iterable[str]) -> str:
    return f"&[{', '.join(items)}]"


ELEMS = Names("E", "&[ElemType]", lambda elems: listed(f"ElemType({elem})" for elem in elems))


def type_var(allowed: frozenset[str]) -> str:
    elems: dict[str, set[int]] = {shape: set() for shape in SHAPES}
    others = []
    for one in sorted(allowed):
        for shape, pattern in SHAPES.items():
            if found := pattern.fullmatch(one):
                elems[shape].add(onnx.TensorProto.DataType.Value(found[1].upper()))
                break
        else:
            others.append(text(one))
    first, *more = [(shape, ELEMS(tuple(sorted(of)))) for shape, of in elems.items() if of or shape == "tensors"]
    line = f'TypeVar::new("", {first[1]})' + "".join(f".{shape}({name})" for shape, name in more)
    return line + (f".others({listed(others)})" if others else "")


TYPES = Names("T", "TypeVar", type_var)


def variables(schema: OpSchema) -> dict[str, frozenset[str]]:
    """The type variables, those included that ONNX writes as a type."""
    found = {var.type_param_str: frozenset(var.allowed_type_strs) for var in schema.type_constraints}
    for formal in [*schema.inputs, *schema.outputs]:
        found.setdefault(formal.type_str, frozenset([formal.type_str]))
    used = {formal.type_str for formal in [*schema.inputs, *schema.outputs]}
    return {name: allowed for name, allowed in found.items() if name in used}


def formal(one: OpSchema.FormalParameter) -> str:
    kinds = {
        OpSchema.FormalParameterOption.Single: "one",
        OpSchema.FormalParameterOption.Optional: "may",
        OpSchema.FormalParameterOption.Variadic: "all" if one.is_homogeneous else "mix",
    }
    return f"{kinds[one.option]}({text(one.name)}, {text(one.type_str)})"


def default_of(attr: OpSchema.Attribute) -> Any:
    """The default value of an attribute, or `None`."""
    if attr.default_value.type == onnx.AttributeProto.UNDEFINED:
        return None
    value = onnx.helper.get_attribute_value(attr.default_value)
    return [decoded(it) for it in value] if isinstance(value, list) else decoded(value)


def decoded(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value


def float_text(value: float) -> str:
    """The shortest text of a single-precision number."""
    return re.sub(r"e([+-])0*", lambda found: "e" + found[1].strip("+"), str(np.float32(value)))


def attribute(attr: OpSchema.Attribute) -> str:
    of, value = f"{attr.type.name.removesuffix('_PROTO')}, {text(attr.name)}", default_of(attr)
    if value is None:
        return f"{'required' if attr.required else 'optional'}({of})"
    return f"default({of}, {text(float_text(value) if isinstance(value, float) else json.dumps(value))})"


def counts(word: str, fewest: int, most: int) -> str:
    if (fewest, most) == (1, 1):
        return ""
    return f".{word}({fewest}, {'ANY' if most > 0xFFFF else most})"


def operator(schema: OpSchema) -> str:
    line = f"op({text(schema.domain)}, {text(schema.name)}, {schema.since_version})"
    line += counts("inputs", schema.min_input, schema.max_input)
    line += counts("outputs", schema.min_output, schema.max_output)
    lists = {
        "attrs": [attribute(schema.attributes[name]) for name in sorted(schema.attributes)],
        "takes": [formal(one) for one in schema.inputs],
        "gives": [formal(one) for one in schema.outputs],
        "types": [f"{TYPES(allowed)}.named({text(name)})" for name, allowed in variables(schema).items()],
    }
    return line + "".join(f".{word}({listed(items)})" for word, items in lists.items() if items)


def schemas(all_schemas: list[OpSchema]) -> str:
    rows = [f"    {operator(schema)}," for schema in all_schemas]
    constants = "\n\n".join("\n".join(names.lines()) for names in (TYPES, ELEMS))
    table = "/// Sorted by domain, name and version.\n#[rustfmt::skip]\npub const ALL: &[Operator] = &["
    return f"{SCHEMAS}{constants}\n\n{table}\n" + "\n".join(rows) + "\n];\n"


def value_of(default: Any) -> str:
    match default:
        case float():
            return f"Float({float_text(default)})"
        case int():
            return f"Int({default})"
        case str():
            return f"Str({text(default)})"
        case [int(), *_]:
            return f"Ints(&{default})"
        case _:
            return f"Strs(&[{', '.join(map(text, default))}])"


def defaults(all_schemas: list[OpSchema]) -> str:
    """The defaults of all attributes that have some, a row where one differs from that of the version before."""
    domains = {(schema.domain, schema.name) for schema in all_schemas}
    assert len(domains) == len({name for _, name in domains}), "an operator's name says which it is"
    found: dict[tuple[str, str], dict[int, str]] = {}
    for schema in all_schemas:
        for attr in schema.attributes.values():
            if (default := default_of(attr)) is not None:
                found.setdefault((schema.name, attr.name), {})[schema.since_version] = value_of(default)
    rows = []
    for (name, attr), versions in sorted(found.items()):
        last = ""
        for since, value in sorted(versions.items()):
            if value != last:
                rows.append(f"    ({text(name)}, {text(attr)}, {since}, {value}),")
            last = value
    return DEFAULTS + "\n".join(rows) + "\n];\n"


def main() -> int:
    all_schemas = onnx.defs.get_all_schemas_with_history()
    all_schemas.sort(key=lambda it: (it.domain.encode(), it.name.encode(), it.since_version))
    made = {"src/schema/onnx.rs": schemas(all_schemas), "math/src/defaults/table.rs": defaults(all_schemas)}
    files = {Path(__file__).parent / path: content for path, content in made.items()}
    if "--check" not in sys.argv[1:]:
        for file, content in files.items():
            file.write_text(content, encoding="utf-8")
        return 0
    others = [file for file, content in files.items() if file.read_text(encoding="utf-8") != content]
    for file in others:
        print(f"{file} is not what onnx {onnx.__version__} says: run {Path(__file__).name}")
    return 1 if others else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Writes `src/schema/formals.rs` from the schemas of the `onnx` package, or compares it with them.

    python plugins/operators/formals.py            writes the file
    python plugins/operators/formals.py --check    ends with 1 when the file says something else

Formal inputs and results, their kinds and their types come from `onnx.defs`; which operators are commutative is said here,
since the package does not say it. The file is for the version of `onnx` in `tests/judge/requirements.txt`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import onnx
from onnx.defs import OpSchema

FILE = Path(__file__).parent / "src/schema/formals.rs"

# The first two arguments can change places, from a version on: before it, one is spread over the other by `axis`.
COMMUTATIVE = {
    "Add": 7,
    "And": 7,
    "BitwiseAnd": 18,
    "BitwiseOr": 18,
    "BitwiseXor": 18,
    "Equal": 7,
    "Max": 1,
    "Mean": 1,
    "Min": 1,
    "Mul": 7,
    "Or": 7,
    "Sum": 1,
    "Xor": 7,
}

HEAD = """\
//! The formal inputs and results of each operator and their types, by version.
//!
//! Made by `plugins/operators/formals.py` from the `onnx` package.

use relais_plugin_api::{
    ir::ElemType,
    op::{Formal, Operator, TypeVar},
};

/// One version of an operator.
struct Formals {
    domain: &'static str,
    name: &'static str,
    since: u32,
    commutative: bool,
    takes: &'static [Formal],
    gives: &'static [Formal],
    types: &'static [TypeVar],
}

/// Adds to each operator of a table what is said of it here.
///
/// # Panics
/// When nothing is said of one: `plugins/operators/formals.py` writes this file.
pub const fn with<const N: usize>(table: &[Operator]) -> [Operator; N] {
    let mut all = [table[0]; N];
    let mut i = 0;
    while i < N {
        let op = table[i];
        let formals = &ALL[find(&op)];
        all[i] = op.takes(formals.takes).gives(formals.gives).types(formals.types).commutative(formals.commutative);
        i += 1;
    }
    all
}

/// Returns the index of an operator; they are sorted by domain, name and version.
const fn find(op: &Operator) -> usize {
    let (mut low, mut high) = (0, ALL.len());
    while low < high {
        let middle = low.midpoint(high);
        let at = &ALL[middle];
        let mut order = compare(at.domain, op.domain);
        if order == 0 {
            order = compare(at.name, op.name);
        }
        if order == 0 {
            order = at.since as i64 - op.since_version as i64;
        }
        if order == 0 {
            return middle;
        }
        if order < 0 {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    panic!("the operator has no formal inputs and results: run `plugins/operators/formals.py`")
}

/// Negative where `a` comes before `b`, 0 where both are equal.
const fn compare(a: &str, b: &str) -> i64 {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut i = 0;
    while i < a.len() && i < b.len() {
        if a[i] != b[i] {
            return a[i] as i64 - b[i] as i64;
        }
        i += 1;
    }
    a.len() as i64 - b.len() as i64
}

const fn one(name: &'static str, var: &'static str) -> Formal {
    Formal::single(name, var)
}

const fn may(name: &'static str, var: &'static str) -> Formal {
    Formal::optional(name, var)
}

const fn all(name: &'static str, var: &'static str) -> Formal {
    Formal::variadic(name, var)
}

const fn mix(name: &'static str, var: &'static str) -> Formal {
    Formal::mixed(name, var)
}

#[rustfmt::skip]
const fn of(
    domain: &'static str, name: &'static str, since: u32, commutative: bool,
    takes: &'static [Formal], gives: &'static [Formal], types: &'static [TypeVar],
) -> Formals {
    Formals { domain, name, since, commutative, takes, gives, types }
}
"""

# How ONNX writes a type of tensors of one kind of element, and which list of a `TypeVar` that is.
SHAPES = {
    "tensors": re.compile(r"tensor\((\w+)\)"),
    "sequences": re.compile(r"seq\(tensor\((\w+)\)\)"),
    "optionals": re.compile(r"optional\(tensor\((\w+)\)\)"),
    "optional_sequences": re.compile(r"optional\(seq\(tensor\((\w+)\)\)\)"),
}


def number(elem: str) -> int:
    return onnx.TensorProto.DataType.Value({"float": "FLOAT"}.get(elem, elem.upper()))


def text(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


class Names:
    """Constants for what occurs often."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.of: dict[object, str] = {}

    def __call__(self, value: object) -> str:
        return self.of.setdefault(value, f"{self.prefix}{len(self.of)}")


def split(allowed: set[str]) -> tuple[dict[str, tuple[int, ...]], tuple[str, ...]]:
    """The allowed types by shape, and the others."""
    elems: dict[str, set[int]] = {shape: set() for shape in SHAPES}
    others = []
    for one in sorted(allowed):
        for shape, pattern in SHAPES.items():
            if found := pattern.fullmatch(one):
                elems[shape].add(number(found[1]))
                break
        else:
            others.append(one)
    return {shape: tuple(sorted(of)) for shape, of in elems.items()}, tuple(others)


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


def generate() -> str:
    lists, sets = Names("E"), Names("T")
    lines = []
    schemas = onnx.defs.get_all_schemas_with_history()
    for schema in sorted(schemas, key=lambda it: (it.domain.encode(), it.name.encode(), it.since_version)):
        takes = ", ".join(map(formal, schema.inputs))
        gives = ", ".join(map(formal, schema.outputs))
        types = ", ".join(f"{sets(allowed)}.named({text(name)})" for name, allowed in variables(schema).items())
        swaps = not schema.domain and COMMUTATIVE.get(schema.name, 1 << 30) <= schema.since_version
        key = f"{text(schema.domain)}, {text(schema.name)}, {schema.since_version}, {str(swaps).lower()}"
        lines.append(f"    of({key}, &[{takes}], &[{gives}], &[{types}]),")
    variables_of = []
    for allowed, name in sets.of.items():
        elems, others = split(set(allowed))
        line = f'TypeVar::new("", {lists(elems["tensors"])})'
        for shape in ("sequences", "optionals", "optional_sequences"):
            if elems[shape]:
                line += f".{shape}({lists(elems[shape])})"
        if others:
            line += f".others(&[{', '.join(map(text, others))}])"
        variables_of.append(f"#[rustfmt::skip]\nconst {name}: TypeVar = {line};")
    lists_of = [
        f"#[rustfmt::skip]\nconst {name}: &[ElemType] = &[{', '.join(f'ElemType({elem})' for elem in elems)}];"
        for elems, name in lists.of.items()
    ]
    table = ["#[rustfmt::skip]", "const ALL: &[Formals] = &[", *lines, "];"]
    return "\n".join([HEAD, *lists_of, "", *variables_of, "", *table]) + "\n"


def main() -> int:
    now = generate()
    if "--check" not in sys.argv[1:]:
        FILE.write_text(now, encoding="utf-8")
        return 0
    if FILE.read_text(encoding="utf-8") == now:
        return 0
    print(f"{FILE} is not what onnx {onnx.__version__} says: run {Path(__file__).name}")
    return 1


if __name__ == "__main__":
    sys.exit(main())

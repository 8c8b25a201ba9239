"""Writes the page of the package's interface: names and types of the stubs and sources, text of the documentation."""

from __future__ import annotations

import ast
import importlib
import inspect
import pathlib
import re
import textwrap
from collections.abc import Iterator
from typing import Any

import relais_onnx as relais

MODULES = [
    "relais_onnx",
    "relais_onnx.ir",
    "relais_onnx.transform",
    "relais_onnx.instrument",
    "relais_onnx.rewriter",
    "relais_onnx.passes",
    "relais_onnx.testing",
    "relais_onnx.zoo",
    "relais_onnx.errors",
    "relais_onnx.compat.onnxsim",
    "relais_onnx.compat.onnxslim",
]
# What Python calls by itself, and says nothing in a list.
SPECIAL = {"__new__", "__init__", "__call__", "__enter__", "__exit__", "__getitem__", "__len__", "__iter__", "__contains__"}
HEAD = """# The interface in Python

All names of the package `relais_onnx`, with their types and documentation; [Python](python.md) shows how they are used.
`RELAIS_BLESS=1` before the tests of `python/` writes this page from the stubs and the documentation of the package.
"""


def sources() -> tuple[dict[str, ast.stmt], dict[str, Any]]:
    """The definitions of all files, by name, and the types that have a name of the package's own. Of an overloaded
    function, the last definition has all arguments."""
    folder = pathlib.Path(relais.__file__).parent
    found: dict[str, ast.stmt] = {}
    types: dict[str, Any] = {}
    for path in [*sorted(folder.glob("*.py")), *sorted(folder.glob("compat/*.py")), folder / "_native.pyi"]:
        inside = path.relative_to(folder).with_suffix("").as_posix().replace("/", ".")
        for statement in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(statement, (ast.ClassDef, ast.FunctionDef)):
                found[f"{inside}.{statement.name}"] = statement
            elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                name = statement.targets[0].id
                value = statement.value
                if isinstance(value, ast.Call):
                    # A variable of types is what bounds it.
                    value = next((word.value for word in value.keywords if word.arg == "bound"), ast.Name(name))
                if re.fullmatch("_[A-Z][a-z]*", name):
                    types[name] = value.value if isinstance(value, ast.Constant) else ast.unparse(value)
    return found, types


def prose(text: str) -> str:
    """A docstring as Markdown: lists of what follows `Raises:`, examples in blocks."""
    lines: list[str] = []
    section = code = False
    for line in inspect.cleandoc(text).splitlines():
        if line.startswith(">>>") and not code:
            lines += ["```pycon"]
            code = True
        elif code and not line:
            lines += ["```"]
            code = False
        if code:
            lines.append(line)
        elif re.fullmatch(r"[A-Z][a-z]+:", line):
            section = True
            lines += ["", line, ""]
        elif section and line.startswith("    ") and not line.startswith("     "):
            name, colon, rest = line.strip().partition(": ")
            names = ", ".join(f"`{one}`" for one in name.split(", "))
            lines.append(f"- {names}: {rest}" if colon else f"- {line.strip()}")
        else:
            section = section and (not line or line.startswith(" "))
            lines.append(f"  {line.strip()}" if section and line else line)
    if code:
        lines.append("```")
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def signature(function: ast.FunctionDef) -> str:
    """How it is called, on one line, or on one for each argument."""
    decorators = {ast.unparse(decorator).rpartition(".")[2] for decorator in function.decorator_list}
    returned = f" -> {ast.unparse(function.returns)}" if function.returns else ""
    if "property" in decorators:
        return f"{function.name}: {returned.removeprefix(' -> ')}"
    whole = f"def {function.name}({ast.unparse(function.args)}){returned}"
    if len(whole) > 110:
        inner = ast.unparse(function.args)
        parts, depth, start = [], 0, 0
        for at, char in enumerate(inner):
            depth += (char in "[({") - (char in "])}")
            if char == "," and depth == 0:
                parts.append(inner[start:at].strip())
                start = at + 1
        arguments = ",\n    ".join([*parts, inner[start:].strip()])
        whole = f"def {function.name}(\n    {arguments},\n){returned}"
    return f"@staticmethod\n{whole}" if "staticmethod" in decorators else whole


def comment(text: str) -> str:
    """The paragraphs of a docstring before its lists and examples, as lines of a comment."""
    lines: list[str] = []
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        if re.match(r">>>|[A-Z][a-z]+:\n", paragraph):
            break
        lines += textwrap.wrap(" ".join(paragraph.split()), 106, break_long_words=False, break_on_hyphens=False)
    return "".join(f"# {line}\n" for line in lines)


def members(statement: ast.ClassDef, value: type) -> Iterator[str]:
    """The lines of a class: fields, properties and methods, each below its text."""
    for member, after in zip(statement.body, [*statement.body[1:], None], strict=True):
        if isinstance(member, ast.AnnAssign) and isinstance(member.target, ast.Name):
            # The text of a field is what follows it.
            text = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
            if not member.target.id.startswith("_"):
                yield f"{comment(text)}{member.target.id}: {ast.unparse(member.annotation)}"
        elif isinstance(member, ast.FunctionDef):
            if member.name.startswith("_") and member.name not in SPECIAL:
                continue
            text = "" if member.name in SPECIAL else getattr(value, member.name).__doc__
            yield comment(text or "") + signature(member)


def entry(name: str, value: Any, known: dict[str, ast.stmt]) -> str:
    """The part of the page about a class or a function."""
    where = getattr(value, "__module__", "").removeprefix("relais_onnx").lstrip(".")
    real = getattr(value, "__name__", name)
    statement = known.get(f"{where}.{real}") or known.get(f"_native.{real}") or known.get(f"_native.Py{real}")
    parts = [f"### `{name}`", ""]
    text = value.__doc__ if inspect.isclass(value) or inspect.isroutine(value) else None
    if isinstance(statement, ast.ClassDef):
        bases = ", ".join(ast.unparse(base) for base in statement.bases)
        while bases.startswith("_"):
            own = known[f"{where}.{bases}"]
            assert isinstance(own, ast.ClassDef)
            bases = ", ".join(ast.unparse(base) for base in own.bases)
        lines = "\n".join(members(statement, value))
        body = f"\n{lines}" if lines else " ..."
        body = body.replace("\n", "\n    ")
        parts += ["```py", f"class {name}{f'({bases})' if bases else ''}:{body}", "```"]
    elif isinstance(statement, ast.FunctionDef):
        parts += ["```py", signature(statement), "```"]
    else:
        raise AssertionError(f"`{name}` of `{where}` has neither a stub nor a source")
    if text:
        parts += ["", prose(text)]
    return "\n".join(parts).rstrip() + "\n"


def page() -> str:
    """The whole page."""
    (known, types), seen, parts = sources(), set(), {}
    # A name is where its module documents it; the package has most of them again.
    for name in [*MODULES[1:], MODULES[0]]:
        module = importlib.import_module(name)
        entries = []
        for public in sorted(module.__all__, key=str.lower):
            value = getattr(module, public)
            if not (inspect.isclass(value) or inspect.isroutine(value)) or id(value) in seen:
                continue
            # Of two names, its own one.
            if value.__name__ != public and value.__name__ in module.__all__:
                continue
            seen.add(id(value))
            entries.append(entry(public, value, known))
        summary = prose((module.__doc__ or "").split("\n\n")[0])
        parts[name] = "\n".join([f"## `{name}`", "", summary, "", *entries])
    text = "\n".join([HEAD, *(parts[name] for name in MODULES)]).rstrip() + "\n"
    return re.sub(r"\b_[A-Z][a-z]*\b", lambda found: types.get(found[0], found[0]), text)

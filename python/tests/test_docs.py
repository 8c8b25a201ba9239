"""The examples of the documentation run, and the stubs describe the module."""

from __future__ import annotations

import ast
import doctest
import importlib
import os
import pathlib
import re
import subprocess
import sys

import conftest
import onnx
import pytest
import reference
import stubs

import relais_onnx as relais

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "python.md"


@pytest.mark.thread_unsafe(reason="doctest changes linecache")
@pytest.mark.parametrize("name", ["relais_onnx", "relais_onnx.transform", "relais_onnx.instrument", "relais_onnx.ir", "relais_onnx.passes", "relais_onnx.rewriter"])
def test_examples(name):
    results = doctest.testmod(importlib.import_module(name))
    assert results.attempted > 0 and results.failed == 0


def test_the_page(path, tmp_path, monkeypatch, capsys):
    """Its blocks run in order, in a folder with a model. What follows `# prints:` is what was printed."""
    monkeypatch.chdir(tmp_path)
    blocks = PAGE.read_text(encoding="utf-8").split("```python\n")[1:]
    assert len(blocks) >= 6
    names: dict[str, object] = {"proto": onnx.load(path)}
    for block in blocks:
        code = block.split("```")[0]
        exec(compile(code, str(PAGE), "exec"), names)
        printed = capsys.readouterr().out
        expected = [line.removeprefix("# prints: ") for line in code.splitlines() if line.startswith("# prints: ")]
        assert printed.splitlines() == expected


def test_the_first_cell(path, tmp_path, monkeypatch):
    """What it shows in a notebook is the table below it."""
    monkeypatch.chdir(tmp_path)
    _, code, below, *_ = PAGE.read_text(encoding="utf-8").split("```")
    *statements, last = ast.parse(code.removeprefix("python\n")).body
    assert isinstance(last, ast.Expr)
    names: dict[str, object] = {}
    exec(compile(ast.Module(statements, []), str(PAGE), "exec"), names)
    html = eval(compile(ast.Expression(last.value), str(PAGE), "eval"), names)._repr_html_()
    shown = [re.findall("<t[hd]>(.*?)</t[hd]>", row) for row in re.findall("<tr>(.*?)</tr>", html)]
    rows = [[cell.strip() for cell in line[1:-1].split("|")] for line in below.splitlines() if line.startswith("|")]
    assert len(shown) > 3 and shown == [row for row in rows if row != ["---"] * 3]


def test_the_example(tmp_path):
    """It runs; `.ci/full typed` checks its types."""
    example = PAGE.parents[1] / "python" / "examples" / "editing.py"
    out = tmp_path / "out.onnx"
    command = [sys.executable, str(example), str(conftest.light("squeezenet")), str(out)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "LeakyRelu" in relais.load(out)["main"].ops and "Relu" not in relais.load(out)["main"].ops


def test_modules_that_are_imported_when_they_are_asked_for():
    code = (
        "import sys, relais_onnx as relais\n"
        "lazy = ['relais_onnx.zoo', 'relais_onnx.compat', 'relais_onnx.compat.onnxsim']\n"
        "assert not any(name in sys.modules for name in [*lazy, 'onnx', 'numpy', 'argparse'])\n"
        "assert {'zoo', 'compat', 'optimize'} <= set(dir(relais))\n"
        "relais.zoo.optimize, relais.compat.onnxsim.simplify, relais.compat.onnxslim.slim\n"
        "assert all(name in sys.modules for name in lazy)\n"
        "assert not hasattr(relais, 'zoos') and not hasattr(relais.compat, 'onnxslims')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_stubs(tmp_path):
    """The types of all modules are right, and are those that are there when it runs."""
    allowed = pathlib.Path(__file__).with_name("stubtest.txt")
    command = [sys.executable, "-m", "mypy.stubtest", "relais_onnx", "--allowlist", str(allowed)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_types_that_users_see(tmp_path):
    page = pathlib.Path(__file__).with_name("typed.py")
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path), str(page)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.thread_unsafe(reason="writes the file if it is asked to")
def test_the_stub_of_passes():
    """`RELAIS_BLESS=1` writes it."""
    written, expected = PAGE.parents[1] / "python" / "relais_onnx" / "passes.pyi", stubs.page()
    if os.environ.get("RELAIS_BLESS"):
        written.write_text(expected, encoding="utf-8")
    assert written.read_text(encoding="utf-8") == expected, "`RELAIS_BLESS=1` writes it"


@pytest.mark.thread_unsafe(reason="writes the page if it is asked to")
def test_the_reference():
    """`RELAIS_BLESS=1` writes it."""
    written, expected = PAGE.with_name("python-reference.md"), reference.page()
    if os.environ.get("RELAIS_BLESS"):
        written.write_text(expected, encoding="utf-8")
    assert written.read_text(encoding="utf-8") == expected, "`RELAIS_BLESS=1` writes it"


def test_the_reference_has_every_name():
    text = PAGE.with_name("python-reference.md").read_text(encoding="utf-8")
    for name in relais.__all__:
        value = getattr(relais, name)
        if callable(value) and getattr(value, "__module__", "").startswith("relais_onnx"):
            assert f"### `{value.__name__}`" in text or f"### `{name}`" in text, name

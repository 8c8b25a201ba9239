"""What the Python package costs, beside its peers. Needs `onnx`, `numpy` and `onnxscript`; `RELAIS` names the command line:

    RELAIS=target/release/relais python python/benches/figures.py [handles] [matches] [reading] [path]

Times are of the processor, the least of several runs.
"""

from __future__ import annotations

import gc
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import relais_onnx as relais

N_NODES = 100_000
N_MATCHES = 10_000


def least(run: Callable[[Any], Any], prepare: Callable[[], Any] = lambda: None, runs: int = 7) -> float:
    """The least time of the processor that a run takes, without its preparation."""
    times = []
    for _ in range(runs):
        given = prepare()
        gc.collect()
        began = time.process_time()
        result = run(given)
        times.append(time.process_time() - began)
        # What a run made is freed outside of it.
        del given, result
    return min(times)


def line(what: str, value: float, unit: str, goal: str = "") -> None:
    print(f"{what:<66} {value:>10.3f} {unit:<3} {goal and '[' + goal + ']'}", flush=True)


def model_of(nodes: list[onnx.NodeProto], result: str, constants: list[onnx.TensorProto]) -> onnx.ModelProto:
    value = helper.make_tensor_value_info
    inputs, outputs = [value("x", TensorProto.FLOAT, [4, 8])], [value(result, TensorProto.FLOAT, [4, 8])]
    graph = helper.make_graph(nodes, "g", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def with_matches(n_nodes: int = N_NODES, n_matches: int = N_MATCHES) -> onnx.ModelProto:
    """A chain of `Relu` and `Abs`, with `Div(Sigmoid(x), 2)` at equal distances."""
    nodes: list[onnx.NodeProto] = []
    last = "x"

    def add(op: str, *more: str) -> None:
        nonlocal last
        name = f"v{len(nodes)}"
        nodes.append(helper.make_node(op, [last, *more], [name], name=f"n{len(nodes)}"))
        last = name

    every = n_nodes // n_matches
    for _ in range(n_matches):
        add("Sigmoid")
        add("Div", "two")
        for at in range(every - 2):
            add("Relu" if at % 2 else "Abs")
    return model_of(nodes, last, [numpy_helper.from_array(np.array(2.0, np.float32), "two")])


def handles() -> None:
    function = relais.from_proto(with_matches())["main"]
    nodes = function.nodes
    n = len(nodes)

    def loop(_: Any) -> None:
        for _node in nodes:
            pass

    def ops(_: Any) -> None:
        for node in made:
            node.op  # noqa: B018

    def one(_: Any) -> None:
        for at in range(n):
            nodes[at]

    line("a handle: `for node in nodes`", least(loop) / n * 1e9, "ns", "400")
    line("a handle: `nodes[at]`", least(one) / n * 1e9, "ns", "400")
    made = list(nodes)
    line("`node.op` of a handle", least(ops) / n * 1e9, "ns")
    protos = with_matches().graph.node

    def types(_: Any) -> None:
        for node in protos:
            node.op_type  # noqa: B018

    line("`node.op_type` of `onnx.NodeProto`, in the same loop", least(types) / len(protos) * 1e9, "ns")


def matches() -> None:
    from onnxscript import ir
    from onnxscript.rewriter import RewriteRuleSet
    from onnxscript.rewriter.pattern import RewriteRule

    proto = with_matches()
    # Typed, as it is after any pass: where types are missing, the first pass of a sequence infers them.
    module = relais.get_pass("InferType")(relais.from_proto(proto))
    small = relais.get_pass("InferType")(relais.from_proto(with_matches(1000, 1)))
    calls: list[None] = []

    def asks(x: Any) -> bool:
        calls.append(None)
        return False

    def makes(op: Any, x: Any) -> Any:
        return op.Elu(x)

    def makes_two(op: Any, x: Any, c: Any) -> Any:
        return op.Mul(op.Sigmoid(x), op.constant(1 / c.tensor.numpy()))

    def is_scalar(c: Any) -> bool:
        return c.shape == ()

    rule = relais.rule
    # (what, ours, the function of onnxscript's pattern, of its right side, and its condition)
    asked = rule("Div(Sigmoid(x), const c) => Elu(x) if asks(x)", conditions=[asks], judge=False)
    text = rule("Div(Sigmoid(x), const c) => Elu(x)", judge=False)
    function = rule("Div(Sigmoid(x), const c)", makes, judge=False)
    two = rule("Div(Sigmoid(x), const c)", makes_two, where="is_scalar(c)", conditions=[is_scalar], judge=False)
    nothing = rule("Div(Sigmoid(x), const c) => Elu(x) if rank(x) == 9", judge=False)

    def pattern(op: Any, x: Any, c: Any) -> Any:
        return op.Div(op.Sigmoid(x), c)

    def theirs(op: Any, x: Any, c: Any) -> Any:
        return op.Elu(x)

    def their_two(op: Any, x: Any, c: Any) -> Any:
        inverse = ir.tensor(1 / c.const_value.numpy())
        return op.Mul(op.Sigmoid(x), op.initializer(inverse, name=f"{c.name}_{id(x)}"))

    def their_scalar(context: Any, c: Any, **_: Any) -> bool:
        return c.const_value is not None and tuple(c.shape) == ()

    base = least(nothing, lambda: module)
    once = least(asked, lambda: module)
    line(f"{N_MATCHES:,} matches in {N_NODES:,} nodes, with a native condition that does not hold", base * 1e3, "ms")
    line("the same condition in Python, for each match", (once - base) / N_MATCHES * 1e6, "us", "0.5")
    assert len(calls) % N_MATCHES == 0 and calls
    cases = [
        ("a rule as text", text, RewriteRule(pattern, theirs), ["Elu"]),
        ("a right side in Python, one call", function, RewriteRule(pattern, theirs), ["Elu"]),
        ("a condition and a right side in Python, two calls", two, RewriteRule(pattern, their_two, their_scalar), ["Sigmoid", "Mul"]),
    ]
    for what, ours, peer, made in cases:
        assert [op for op in ours(module)["main"].ops if op in ("Elu", "Mul")] == [made[-1]] * N_MATCHES
        small_result = ours(small)["main"].ops
        assert made[-1] in small_result and "Div" not in small_result
        time_of_ours = least(ours, lambda: module)
        rules = RewriteRuleSet([peer])
        checked = ir.from_proto(with_matches(1000, 10))
        assert rules.apply_to_model(checked) == 10 and all(node.op_type != "Div" for node in checked.graph)
        time_of_theirs = least(rules.apply_to_model, lambda: ir.from_proto(proto), runs=2)
        line(f"{what}: {N_MATCHES:,} matches in {N_NODES:,} nodes", time_of_ours * 1e3, "ms")
        line("  for each match", time_of_ours / N_MATCHES * 1e6, "us")
        line("  onnxscript's rewriter", time_of_theirs * 1e3, "ms")
        line("  times faster", time_of_theirs / time_of_ours, "x", "50")


def reading() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "model.onnx")
        onnx.save(with_matches(), path)
        ours, theirs = least(lambda _: relais.load(path)), least(lambda _: onnx.load(path))
        line(f"reading {N_NODES:,} nodes", ours * 1e3, "ms")
        line("  onnx.load", theirs * 1e3, "ms")
        line("  part of it", ours / theirs, "x", "0.5")


def large(path: pathlib.Path) -> None:
    """A hundred megabytes of weights, which no pass computes with."""
    random = np.random.default_rng(0)
    nodes, constants, last = [], [], "x"
    for at in range(25):
        weight = random.standard_normal((1024, 1024), np.float32)
        constants.append(numpy_helper.from_array(weight, f"w{at}"))
        nodes += [
            helper.make_node("MatMul", [last, f"w{at}"], [f"m{at}"]),
            helper.make_node("Identity", [f"m{at}"], [f"i{at}"]),
            helper.make_node("Relu", [f"i{at}"], [f"r{at}"]),
        ]
        last = f"r{at}"
    value = helper.make_tensor_value_info
    inputs, outputs = [value("x", TensorProto.FLOAT, [4, 1024])], [value(last, TensorProto.FLOAT, [4, 1024])]
    model = helper.make_model(helper.make_graph(nodes, "g", inputs, outputs, constants), opset_imports=[helper.make_opsetid("", 20)])
    onnx.save(model, path)


PROGRAM = """
import sys, time
import relais_onnx as relais
began = time.process_time()
relais.optimize(sys.argv[1], out=sys.argv[2])
print(time.process_time() - began)
"""


def path() -> None:
    relais_program = os.environ["RELAIS"]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model, ours, theirs = folder / "model.onnx", folder / "ours.onnx", folder / "theirs.onnx"
        large(model)
        megabytes = model.stat().st_size / 1e6
        command: list[str | os.PathLike[str]] = [relais_program, "-q", "run", model, "-o", theirs]
        of_python, of_command = [], []
        for _ in range(7):
            done = subprocess.run([sys.executable, "-c", PROGRAM, model, ours], capture_output=True, text=True, check=True)
            of_python.append(float(done.stdout))
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(command, check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            of_command.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        assert ours.read_bytes() == theirs.read_bytes()
        line(f"`optimize(path)` of {megabytes:.0f} MB, written to a file", min(of_python) * 1e3, "ms")
        line("  the command line, as a process", min(of_command) * 1e3, "ms")
        line("  optimize / command line", min(of_python) / min(of_command), "x", "1.1")
        idle = anonymous_of([sys.executable, "-c", "import relais_onnx, time; time.sleep(0.3)"])
        most = anonymous_of([sys.executable, "-c", PROGRAM, model, ours])
        line("  most anonymous memory, above that of the interpreter", most - idle, "MB")
        line("  most anonymous memory of the command line", anonymous_of(command), "MB")


def anonymous_of(command: list[str | os.PathLike[str]]) -> float:
    """The most anonymous memory of a process, looked at again and again."""
    most = 0.0
    for _ in range(3):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        while process.poll() is None:
            try:
                status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
            except OSError:
                break
            found = [line for line in status.splitlines() if line.startswith("RssAnon")]
            most = max([most, *(float(line.split()[1]) / 1024 for line in found)])
        process.wait()
    return most


if __name__ == "__main__":
    parts = {"handles": handles, "matches": matches, "reading": reading, "path": path}
    for name in sys.argv[1:] or parts:
        parts[name]()

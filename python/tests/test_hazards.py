"""Signals, forks, threads and objects that outlive others."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time

import conftest
import pytest

import relais_onnx as relais

needs_posix = pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without `fork` and its signals")


def interrupt(after: float) -> None:
    # A program that was started in the background ignores it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Timer(after, os.kill, (os.getpid(), signal.SIGINT)).start()


@needs_posix
def test_an_interrupt_ends_a_pass_in_python(module):
    @relais.module_pass(opt_level=0)
    def slow(mod, ctx):
        time.sleep(60)

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        interrupt(0.2)
        slow(module)
    assert time.monotonic() - began < 30


@needs_posix
@pytest.mark.parametrize("threads", [None, 2])
def test_an_interrupt_ends_a_native_run(threads):
    model = relais.load(conftest.light("densenet121"))
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        interrupt(0.2)
        while time.monotonic() - began < 60:
            relais.optimize(model, threads=threads)
    assert time.monotonic() - began < 30


def test_an_exit_in_a_pass_ends_the_program_whatever_the_policy(module, tmp_path):
    @relais.register_pass
    @relais.module_pass(opt_level=0, name="test.Exit")
    def leave(mod, ctx):
        raise SystemExit(4)

    pipeline = tmp_path / "p.toml"
    pipeline.write_text('steps = ["test.Exit"]\non_failure = "skip"\n')
    with pytest.raises(SystemExit) as caught:
        relais.optimize(module, pipeline=pipeline)
    assert caught.value.code == 4


def test_a_failure_is_skipped_if_the_policy_says_so(module, tmp_path):
    @relais.register_pass
    @relais.module_pass(opt_level=0, name="test.Fails")
    def fails(mod, ctx):
        raise ValueError("on purpose")

    pipeline = tmp_path / "p.toml"
    pipeline.write_text('steps = ["test.Fails", "EliminateNoOp"]\non_failure = "skip"\n')
    assert relais.optimize(module, pipeline=pipeline)["main"].ops == ["Neg", "Neg", "Relu"]


@needs_posix
def test_a_fork_works_after_use():
    program = """
import os, sys
import relais_onnx as relais

@relais.function_pass(opt_level=0)
def same(func, mod, ctx):
    return func

@relais.module_pass(opt_level=0)
def fails(mod, ctx):
    assert ctx is context
    raise KeyError("as itself")

def use():
    global context
    module = relais.load(sys.argv[1])
    relais.optimize(module)
    with relais.PassContext(opt_level=3) as context:
        same(module)
        try:
            fails(module)
        except KeyError as error:
            assert error.__notes__ == ["in the pass `fails`"]
        else:
            raise AssertionError("it did not fail")

def forked(depth):
    use()
    if depth == 0:
        return
    child = os.fork()
    if child == 0:
        try:
            forked(depth - 1)
        except BaseException as error:
            print(repr(error), flush=True)
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0

forked(2)
"""
    model = str(conftest.light("squeezenet"))
    done = subprocess.run([sys.executable, "-c", program, model], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_many_threads():
    model = relais.load(conftest.light("squeezenet"))
    expected = relais.optimize(model)
    errors = []

    @relais.function_pass(opt_level=0)
    def same(func, mod, ctx):
        assert ctx.opt_level == 3
        return func

    def work():
        try:
            for _ in range(3):
                assert relais.optimize(model) == expected
                with relais.PassContext(opt_level=3):
                    assert same(model).same_as(model)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    assert errors == []


def test_a_pass_over_64_functions_from_8_threads(module):
    many = relais.IRModule({f"f{n}": module["main"] for n in range(64)})
    names = []

    @relais.function_pass(opt_level=0)
    def look(func, mod, ctx):
        names.append(func.name)

    threads = [threading.Thread(target=look, args=(many,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert len(names) == 8 * 64


def test_functions_outlive_their_module():
    module = relais.parse(conftest.TWO)
    functions = module.values()
    text = str(module["other"])
    del module
    gc.collect()
    assert str(functions[1]) == text


def test_a_pass_may_keep_what_it_is_given(module):
    kept = []

    @relais.module_pass(opt_level=0)
    def keep(mod, ctx):
        kept.extend([mod, ctx])

    keep(module)
    gc.collect()
    assert kept[0].same_as(module) and kept[1].opt_level == 2


def test_the_end_of_the_program_during_a_run():
    program = """
import sys, threading, time
import relais_onnx as relais
module = relais.load(sys.argv[1])
def work():
    while True:
        relais.optimize(module)
threading.Thread(target=work, daemon=True).start()
time.sleep(0.2)
"""
    model = str(conftest.light("squeezenet"))
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", program, model], capture_output=True, text=True, timeout=120)
        assert (done.returncode, done.stderr) == (0, "")


def test_runs_within_runs(module):
    @relais.module_pass(opt_level=0)
    def inner(mod, ctx):
        raise ValueError("inside")

    @relais.module_pass(opt_level=0)
    def outer(mod, ctx):
        try:
            inner(mod)
        except ValueError:
            return relais.get_pass("EliminateNoOp")(mod)

    @relais.module_pass(opt_level=0)
    def passes_on(mod, ctx):
        return inner(mod)

    assert outer(module)["main"].ops == ["Neg", "Neg", "Relu"]
    with pytest.raises(ValueError, match="inside") as caught:
        passes_on(module)
    assert caught.value.__notes__ == ["in the pass `inner`", "in the pass `passes_on`"]

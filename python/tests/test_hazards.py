"""Signals, forks, threads and objects that outlive others."""

from __future__ import annotations

import gc
import logging
import os
import signal
import subprocess
import sys
import sysconfig
import threading
import time

import conftest
import pytest

import relais_onnx as relais

needs_posix = pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without `fork` and its signals")
on_the_main_thread = pytest.mark.thread_unsafe(reason="Python handles signals on the main thread")


def interrupt(after: float) -> None:
    # A program that was started in the background ignores it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Timer(after, os.kill, (os.getpid(), signal.SIGINT)).start()


@on_the_main_thread
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


@on_the_main_thread
@needs_posix
def test_an_interrupt_ends_a_pass_in_python_with_threads(module):
    @relais.function_pass(opt_level=0)
    def slow(func, mod, ctx):
        time.sleep(60)

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        interrupt(0.2)
        relais.optimize(module, passes=[slow], threads=2)
    assert time.monotonic() - began < 30


@pytest.mark.parametrize("threads", [None, 1, 4])
def test_python_code_runs_on_the_thread_of_the_caller(threads):
    import contextvars

    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")
    variable.set("the caller's")
    function = relais.parse(conftest.TEXT)["main"]
    module = relais.IRModule({"main": function, **{f"f{at}": function for at in range(20)}})
    seen = set()

    def see(*_: object) -> None:
        seen.add((threading.get_ident(), variable.get()))

    def holds(x: object) -> bool:
        see()
        return False

    function_pass = relais.function_pass(see, opt_level=0, name="test.See")
    rule = relais.rule("Neg(Neg(x)) => x if holds(x)", conditions={"holds": holds}, judge=False)
    for passes in ([function_pass, "EliminateNoOp"], [relais.module_pass(see, opt_level=0)], [rule]):
        relais.optimize(module, passes=passes, threads=threads)
        assert seen == {(threading.get_ident(), "the caller's")}
        seen.clear()


@on_the_main_thread
@needs_posix
def test_an_interrupt_in_a_handler_of_the_log_is_not_lost(module):
    class Interrupts(logging.Handler):
        def __init__(self, raised):
            super().__init__()
            self.raised = raised

        def emit(self, record):
            if self.raised is None:
                os.kill(os.getpid(), signal.SIGINT)
                # The signal is looked at between the steps of a program.
                time.sleep(0.01)
            else:
                raise self.raised

    # An integer power is out of range, so that the rule is not judged, which is a warning.
    rules = ["Mul(x, Pow(y, 31.0)) => Mul(Pow(y, 31.0), x)"]
    logger = logging.getLogger("relais")
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for raised, expected in ((None, KeyboardInterrupt), (SystemExit(3), SystemExit), (TimeoutError(), TimeoutError)):
        handler = Interrupts(raised)
        logger.addHandler(handler)
        try:
            with pytest.raises(expected):
                relais.optimize(module, rules=rules)
        finally:
            logger.removeHandler(handler)
    relais.optimize(module, rules=rules)


@on_the_main_thread
@needs_posix
@pytest.mark.parametrize("threads", [None, 2])
def test_an_interrupt_ends_a_check(threads):
    builder = relais.Builder(17)
    x = value = builder.input("x", "float32", [64, 64])
    for _ in range(20):
        value = builder.MatMul(value, x)
    builder.output(builder.Neg(builder.Neg(value)), "y")
    model = relais.IRModule({"main": builder.result()})
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        interrupt(0.3)
        while time.monotonic() - began < 60:
            relais.optimize(model, check=1000, threads=threads)
    assert time.monotonic() - began < 10


@on_the_main_thread
@needs_posix
@pytest.mark.parametrize("kind", ["native", "python", "rule"])
def test_an_interrupt_ends_a_test_of_a_pass(kind):
    made = {
        "native": lambda: relais.get_pass("SimplifyExpr"),
        "python": lambda: relais.module_pass(lambda mod, ctx: mod, opt_level=0),
        "rule": lambda: relais.rule("Neg(Neg(x)) => x"),
    }[kind]()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        interrupt(0.3)
        relais.testing.check(made, modules=100_000)
    assert time.monotonic() - began < 10


@on_the_main_thread
@needs_posix
def test_an_interrupted_judgement_is_no_verdict(module):
    """A rule that is wrong, and that is found to be only by judging it."""
    calls = []

    def holds(x: object) -> bool:
        if not calls:
            calls.append(x)
            raise KeyboardInterrupt
        return True

    wrong = relais.rule("Neg(Neg(x)) => Neg(x) if holds(x)", conditions={"holds": holds})
    with pytest.raises(KeyboardInterrupt):
        wrong(module)
    with pytest.raises(relais.RuleError):
        wrong(module)


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="later ones have other modules for it, and refuse by themselves")
def test_a_sub_interpreter_is_refused():
    program = """
import _xxsubinterpreters as interpreters
made = interpreters.create()
try:
    interpreters.run_string(made, "import relais_onnx")
except interpreters.RunFailedError as error:
    assert "sub-interpreters" in str(error), error
else:
    raise AssertionError("it was imported")
interpreters.destroy(made)
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


@on_the_main_thread
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
    # Later interpreters warn of any fork of a process that has threads.
    command = [sys.executable, "-W", "ignore:This process:DeprecationWarning", "-c", program, model]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
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


def test_plugins_are_looked_for_once_by_threads_that_begin_together(tmp_path):
    """Each search warns of what is no plugin."""
    program = """
import threading
import relais_onnx as relais

barrier = threading.Barrier(8)

def work():
    barrier.wait()
    relais.list_plugins()

threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""
    (tmp_path / "librelais_broken.so").write_bytes(b"no plugin")
    environment = {**os.environ, "RELAIS_PLUGIN_PATH": str(tmp_path)}
    command = [sys.executable, "-c", program]
    # Threads meet in about every third process.
    for _ in range(8):
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
        assert (done.returncode, done.stderr.count("librelais_broken.so` is not used")) == (0, 1), done.stderr


def test_plugins_that_cannot_be_used_are_only_the_error_of_who_adds_them(tmp_path):
    barrier, raised = threading.Barrier(8), []

    def work(adds: bool) -> None:
        barrier.wait()
        for _ in range(20):
            try:
                if adds:
                    relais.add_plugins([tmp_path / "missing.so"])
                else:
                    relais.get_pass("EliminateNoOp")
            except relais.PluginError:
                raised.append(adds)

    threads = [threading.Thread(target=work, args=[at % 2 == 0]) for at in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert raised == [True] * 80
    assert "relais.EliminateNoOp" in relais.list_passes()


def test_an_editor_that_was_left_is_not_locked_while_its_error_is_made():
    """Python's code may run then: of other threads, or finalizers."""
    program = """
import relais_onnx as relais

class Error(relais.StaleNodeError):
    def __init__(self, message):
        super().__init__(message, repr(edit))

relais.errors.StaleNodeError = Error
edit = relais.Builder(17)
edit.discard()
for use in [edit.result, edit.graph, lambda: edit.input("x", "float32"), lambda: edit.import_opset("", 18)]:
    try:
        use()
    except Error as error:
        assert error.args[1] == "<Editor that was discarded>", error.args
    else:
        raise AssertionError("it was used")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


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


# Less than half an object of Python, and less than a kilobyte, for each of a hundred rounds.
BLOCKS, BYTES = 50, 100_000

LEAKS = f"BLOCKS, BYTES = {BLOCKS}, {BYTES}" + """
import gc, os, sys
import numpy as np
import relais_onnx as relais

text = sys.argv[1]
module = relais.parse(text)
data = module.to_bytes()

@relais.function_pass(opt_level=0)
def fails(func, mod, ctx):
    raise KeyError(func.name)

@relais.pass_instrument
class Hook:
    def run_before_pass(self, mod, info):
        raise ValueError("in a hook")

class Names(relais.ExprVisitor):
    def visit_call(self, call):
        call.name, call.shape, call.attrs
    def leave(self, node):
        node.users

def wrong(op, x):
    raise IndexError("in a right side")

rewrites = relais.rule("Neg(Neg(x))", lambda op, x: op.Mul(x, op.constant(np.float32(1))), judge=False)
raises = relais.rule("Neg(Neg(x))", wrong, judge=False)
optimised = relais.optimize(module)
few = ["EliminateNoOp", "DeadCodeElimination", rewrites]

def expect(error, call):
    try:
        call()
    except error:
        return
    raise AssertionError(error)

def once(at):
    relais.optimize(data, passes=few)
    # Dozens of passes.
    assert at % 8 or relais.optimize(module) == optimised
    read = relais.from_bytes(data)
    main = read["main"]
    handles = [node for node in main.nodes for _ in range(10)]
    tensors = [relais.Tensor(np.zeros(64, np.float32)).numpy(), handles[0].in_(main)]
    Names().visit(main)
    str(rewrites(module).diff(module))
    relais.rule("Relu(x)", lambda op, x: None, judge=False)(module)
    with main.edit() as edit:
        edit.replace(edit.calls("Relu")[0], edit.Exp(edit.params[0]))
    edit.result()
    expect(KeyError, lambda: fails(module))
    expect(IndexError, lambda: raises(module))
    with relais.PassContext(instruments=[Hook()]):
        expect(ValueError, lambda: relais.get_pass("FoldConstant")(module))
    expect(relais.PipelineError, lambda: relais.optimize(module, passes=["NoSuch"]))
    expect(relais.ModelError, lambda: relais.from_bytes(data[:-7]))
    expect(relais.ModelError, lambda: main.edit().Relu(None))

def measured():
    gc.collect()
    with open("/proc/self/statm") as file:
        pages = int(file.read().split()[1])
    return sys.getallocatedblocks(), pages * os.sysconf("SC_PAGE_SIZE")

before, least = measured(), (sys.maxsize, sys.maxsize)
for _ in range(24):
    for at in range(100):
        once(at)
    now = measured()
    least = tuple(min(some, new - old) for some, new, old in zip(least, now, before))
    before = now
    if least[0] < BLOCKS and least[1] < BYTES:
        break
print(*least)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="a system that does not say how much memory is used")
def test_nothing_leaks():
    """What grows with the rounds grows in each hundred of them; caches and lists of free blocks are full at some time."""
    # Without the interpreter's lock, there is one allocator, and no other counts its blocks.
    allocator = "mimalloc" if sysconfig.get_config_var("Py_GIL_DISABLED") else "pymalloc"
    environment = {**os.environ, "MALLOC_ARENA_MAX": "1", "PYTHONMALLOC": allocator, "RAYON_NUM_THREADS": "1"}
    command = [sys.executable, "-c", LEAKS, conftest.TEXT]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr
    blocks, memory = map(int, done.stdout.split())
    assert blocks < BLOCKS and memory < BYTES, (blocks, memory)


def test_a_million_handles_at_once():
    function = relais.parse("def @main(%x) { " + "".join(f"%a{n} = Neg(%{f'a{n - 1}' if n else 'x'}); " for n in range(10_000)) + "%a9999 }")["main"]
    kept = [handle for _ in range(100) for handle in function.nodes]
    assert len(kept) == 1_000_000 and len(set(kept[:20_000])) == 10_000
    del function
    gc.collect()
    assert kept[0] == kept[-10_000] and kept[-1].args[0].args[0].name == "a9997" and kept[5].users[0].name == "a6"
    last = kept[-1]
    del kept
    gc.collect()
    assert last.function.name == "main" and last.op == "Neg"


def test_handles_outlive_what_they_are_taken_from(path):
    module = relais.load(path)
    weight = next(node for node in module["main"].nodes if node.name == "w")
    tensor, array, nodes = weight.tensor, weight.tensor.numpy(), module["main"].nodes
    ids, users = nodes.ids.numpy(), weight.users
    expected = array.copy()
    del module, weight
    path.unlink()
    gc.collect()
    assert (array == expected).all() and tensor.shape == (4, 3, 3, 3) and len(nodes) == len(ids)
    assert users[0].op == "Conv" and users[0].args[1].tensor.numpy()[0, 0, 0, 0] == expected[0, 0, 0, 0]
    del tensor, nodes, users
    gc.collect()
    assert (array == expected).all()


@on_the_main_thread
@needs_posix
def test_an_interrupt_ends_a_rewrite():
    def slow(op, x):
        time.sleep(0.01)

    text = 'def @main(%x) #[opset = {"": 17}] { ' + "".join(f"%a{n} = Neg(%{f'a{n - 1}' if n else 'x'}); " for n in range(3_000)) + "%a2999 }"
    module, rewrites = relais.parse(text), relais.rule("Neg(x)", slow, judge=False)
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        interrupt(0.2)
        rewrites(module)
    assert time.monotonic() - began < 20


@on_the_main_thread
@needs_posix
def test_an_interrupt_ends_a_walk():
    class Slow(relais.ExprVisitor):
        def leave(self, node):
            time.sleep(0.01)

    text = "def @main(%x) { " + "".join(f"%a{n} = Neg(%{f'a{n - 1}' if n else 'x'}); " for n in range(3_000)) + "%a2999 }"
    function = relais.parse(text)["main"]
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        interrupt(0.2)
        Slow().visit(function)
    assert time.monotonic() - began < 20

"""Contexts of tasks and threads (rule R8): each has its own, as with other variables of `contextvars`."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import gc
import sys
import threading

import pytest

import relais_onnx as relais
from relais_onnx import PassContext


def level() -> int:
    return PassContext.current().opt_level


@relais.pass_instrument
class Scribe:
    """Notes its hooks, with the level of the context in which they run."""

    def __init__(self):
        self.events = []

    def enter_pass_ctx(self):
        self.events.append(("enter", level()))

    def exit_pass_ctx(self):
        self.events.append(("exit", level()))


@contextlib.contextmanager
def unraisable():
    """Collects what is raised where nothing can be: in finalizers."""
    raised, old = [], sys.unraisablehook
    sys.unraisablehook = lambda what: raised.append(what.exc_value)
    try:
        yield raised
    finally:
        sys.unraisablehook = old


def test_tasks_that_interleave_have_contexts_of_their_own(module):
    @relais.module_pass(opt_level=0)
    def look(mod, ctx):
        seen.append((ctx.opt_level, level()))

    async def work(opt_level):
        assert level() == 1
        for _ in range(3):
            with PassContext(opt_level=opt_level) as context:
                await asyncio.sleep(0)
                assert PassContext.current() is context
                look(module)
                await asyncio.sleep(0)
            assert level() == 1
            await asyncio.sleep(0)

    async def main():
        with PassContext(opt_level=1):
            await asyncio.gather(*(work(opt_level) for opt_level in range(2, 8)))

    seen: list[tuple[int, int]] = []
    asyncio.run(main())
    assert sorted(seen) == [(n, n) for n in range(2, 8) for _ in range(3)]
    assert level() == 2


def test_what_runs_in_a_task_runs_in_its_context(module):
    ops = {}

    async def work(name, *disabled):
        with PassContext(disabled_pass=disabled):
            await asyncio.sleep(0)
            ops[name] = relais.optimize(module, passes=["EliminateNoOp", "DeadCodeElimination"])["main"].ops
            await asyncio.sleep(0)

    async def main():
        await asyncio.gather(work("all"), work("less", "EliminateNoOp"))

    asyncio.run(main())
    assert ops == {"all": ["Neg", "Neg", "Relu"], "less": ["Identity", "Neg", "Neg", "Relu"]}


def test_a_copy_of_the_variables_has_the_context():
    with PassContext(opt_level=5) as context:
        copy = contextvars.copy_context()
    assert level() == 2
    assert copy.run(PassContext.current) is context
    assert contextvars.Context().run(level) == 2

    # It is entered and left in the same one.
    inner = PassContext(opt_level=6)
    copy.run(inner.__enter__)
    assert (level(), copy.run(level)) == (2, 6)
    with pytest.raises(relais.ContextError, match="was not entered in this task or thread"):
        inner.__exit__(None, None, None)
    assert copy.run(level) == 6
    copy.run(inner.__exit__, None, None, None)
    assert copy.run(level) == 5


def test_work_in_another_thread_inherits_the_context(module):
    async def main():
        with PassContext(opt_level=5) as context:
            assert await asyncio.to_thread(PassContext.current) is context
            disabled = PassContext(disabled_pass=["EliminateNoOp"])
            with disabled:
                smaller = await asyncio.to_thread(relais.optimize, module, passes=["EliminateNoOp"])
                assert smaller["main"].ops[0] == "Identity"

    asyncio.run(main())


def test_a_plain_thread_begins_with_the_default():
    seen = []
    with PassContext(opt_level=5):
        thread = threading.Thread(target=lambda: seen.append(level()))
        thread.start()
        thread.join()
    # Without the interpreter's lock, threads inherit variables.
    assert seen == [5 if getattr(sys.flags, "thread_inherit_context", 0) else 2]


@pytest.mark.parametrize("way", ["task", "thread", "copy"])
def test_a_context_is_left_where_it_was_entered(way):
    scribe = Scribe()
    context = PassContext(opt_level=5, instruments=[scribe])

    def leave():
        assert PassContext.current() is context
        with pytest.raises(relais.ContextError, match="was entered in another task or thread, and is left there"):
            context.__exit__(None, None, None)
        assert PassContext.current() is context
        # One within it is no matter of the other task.
        with PassContext(opt_level=6):
            pass
        return "done"

    async def leaves():
        return leave()

    async def main():
        with context:
            if way == "task":
                assert await asyncio.create_task(leaves()) == "done"
            elif way == "thread":
                assert await asyncio.to_thread(leave) == "done"
            else:
                assert contextvars.copy_context().run(leave) == "done"
            assert PassContext.current() is context and scribe.events == [("enter", 2)]

    asyncio.run(main())
    assert scribe.events == [("enter", 2), ("exit", 2)]


def test_leaving_another_than_the_innermost_changes_nothing():
    scribe = Scribe()
    outer, inner = PassContext(opt_level=5, instruments=[scribe]), PassContext(opt_level=6)
    with outer, inner:
        with pytest.raises(relais.ContextError, match="has to be left first"):
            outer.__exit__(None, None, None)
        assert PassContext.current() is inner and scribe.events == [("enter", 2)]
    assert scribe.events == [("enter", 2), ("exit", 2)]
    with pytest.raises(relais.ContextError, match="was not entered"):
        outer.__exit__(None, None, None)
    assert scribe.events == [("enter", 2), ("exit", 2)]


def test_one_context_twice():
    scribe = Scribe()
    context = PassContext(opt_level=5, instruments=[scribe])
    with context, PassContext(opt_level=6), context:
        assert PassContext.current() is context
    assert scribe.events == [("enter", 2), ("enter", 6), ("exit", 6), ("exit", 2)]


def test_a_task_that_is_cancelled_leaves_its_context():
    scribe = Scribe()

    async def work():
        with PassContext(opt_level=5, instruments=[scribe]):
            began.set()
            await asyncio.sleep(60)

    async def main():
        task = asyncio.create_task(work())
        await began.wait()
        assert level() == 2 and scribe.events == [("enter", 2)]
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert level() == 2

    began = asyncio.Event()
    asyncio.run(main())
    assert scribe.events == [("enter", 2), ("exit", 2)]


def test_a_generator_that_holds_a_context():
    """It has the variables of who calls it: its context is theirs, until it goes on or is closed."""
    scribe = Scribe()

    def hold():
        with PassContext(opt_level=5, instruments=[scribe]):
            yield

    held = hold()
    next(held)
    assert level() == 5
    held.close()
    assert level() == 2 and scribe.events == [("enter", 2), ("exit", 2)]

    # Collected rather than closed.
    held = hold()
    next(held)
    del held
    gc.collect()
    assert level() == 2 and scribe.events[2:] == [("enter", 2), ("exit", 2)]


def test_a_generator_that_is_closed_too_early_or_elsewhere():
    scribe = Scribe()

    def hold():
        with PassContext(opt_level=5, instruments=[scribe]):
            yield

    def next_and_close():
        held = hold()
        next(held)
        with PassContext(opt_level=6):
            with pytest.raises(relais.ContextError, match="has to be left first"):
                held.close()
            assert level() == 6
        assert level() == 5
        PassContext.current().__exit__(None, None, None)
        assert level() == 2

    contextvars.copy_context().run(next_and_close)
    assert scribe.events == [("enter", 2), ("exit", 2)]

    held = hold()
    contextvars.copy_context().run(next, held)
    with pytest.raises(relais.ContextError, match="was not entered in this task or thread"):
        held.close()
    assert level() == 2 and scribe.events[2:] == [("enter", 2)]


@pytest.mark.thread_unsafe(reason="`sys.unraisablehook` is that of all threads")
def test_a_generator_that_is_collected_elsewhere():
    def hold():
        with PassContext(opt_level=5):
            yield

    held = hold()
    contextvars.copy_context().run(next, held)
    with unraisable() as raised:
        del held
        gc.collect()
    assert [type(error) for error in raised] == [relais.ContextError] and level() == 2


def test_an_asynchronous_generator_holds_a_context_of_its_task():
    async def hold():
        with PassContext(opt_level=5):
            yield level()

    async def main():
        async for seen in hold():
            assert (seen, level()) == (5, 5)
        assert level() == 2
        async with contextlib.aclosing(hold()) as held:
            async for _ in held:
                break
        assert level() == 2

    asyncio.run(main())


def test_hooks_run_before_a_context_is_entered_and_after_it_was_left():
    scribe = Scribe()
    with PassContext(opt_level=4), PassContext(opt_level=5, instruments=[scribe]):
        assert scribe.events == [("enter", 4)]
    assert scribe.events == [("enter", 4), ("exit", 4)]


@pytest.mark.parametrize("hook", ["enter_pass_ctx", "exit_pass_ctx"])
def test_a_hook_that_raises(hook):
    class Raises(relais.instrument.PassInstrument):
        pass

    def raises(self):
        raise KeyError(hook)

    setattr(Raises, hook, raises)
    scribe = Scribe()
    with PassContext(opt_level=4) as around:
        with pytest.raises(KeyError, match=hook), PassContext(opt_level=5, instruments=[scribe, Raises()]):
            assert hook == "exit_pass_ctx"
        assert PassContext.current() is around
    assert scribe.events == [("enter", 4), ("exit", 4)]


def test_an_interrupt_in_a_hook():
    class Interrupts(relais.instrument.PassInstrument):
        def enter_pass_ctx(self):
            raise KeyboardInterrupt

    scribe = Scribe()
    with pytest.raises(KeyboardInterrupt), PassContext(opt_level=5, instruments=[scribe, Interrupts()]):
        raise AssertionError("it is not entered")
    assert scribe.events == [("enter", 2), ("exit", 2)] and level() == 2


def test_a_hook_that_enters_contexts():
    class Enters(relais.instrument.PassInstrument):
        def enter_pass_ctx(self):
            with PassContext(opt_level=7):
                events.append(("enter", level()))

        exit_pass_ctx = enter_pass_ctx

    events: list[tuple[str, int]] = []
    with PassContext(opt_level=5, instruments=[Enters()]):
        assert level() == 5
    assert events == [("enter", 7)] * 2 and level() == 2


@pytest.mark.parametrize("hook", ["enter_pass_ctx", "exit_pass_ctx", "run_before_pass"])
def test_a_hook_that_leaves_contexts_entered(module, hook):
    class Leaves(relais.instrument.PassInstrument):
        pass

    def leaves(self, *_):
        PassContext(opt_level=7, instruments=[scribe]).__enter__()

    setattr(Leaves, hook, leaves)
    scribe = Scribe()
    with pytest.raises(relais.ContextError, match="a pass context that was entered here was not left"):
        with PassContext(opt_level=5, instruments=[Leaves()]):
            relais.get_pass("FoldConstant")(module)
    around = 5 if hook == "run_before_pass" else 2
    assert scribe.events == [("enter", around), ("exit", around)] and level() == 2


def test_a_pass_cannot_leave_the_context_that_it_runs_in(module):
    @relais.module_pass(opt_level=0)
    def leaves(mod, ctx):
        assert ctx is context
        with pytest.raises(relais.ContextError):
            ctx.__exit__(None, None, None)

    with PassContext(opt_level=5) as context:
        leaves(module)
        assert PassContext.current() is context
        with pytest.raises(relais.ContextError):
            relais.optimize(module, passes=[relais.module_pass(lambda mod, ctx: ctx.__exit__(), opt_level=0)])
        assert PassContext.current() is context


def test_the_context_of_a_run_is_that_of_its_passes_and_hooks(module):
    class Watch(relais.instrument.PassInstrument):
        def run_before_pass(self, mod, info):
            seen.append(level())

    @relais.module_pass(opt_level=0)
    def look(mod, ctx):
        assert PassContext.current() == ctx
        seen.append(ctx.opt_level)
        # Tasks that a pass begins are in its context.
        asyncio.run(task())
        assert contextvars.Context().run(PassContext.current) == ctx

    async def task():
        seen.append(level())
        with PassContext(opt_level=9):
            await asyncio.sleep(0)
        assert level() == 3

    seen: list[int] = []
    with PassContext(opt_level=5, instruments=[Watch()]):
        relais.optimize(module, passes=[look], level=3)
        assert level() == 5
    assert set(seen) == {3} and len(seen) >= 3


def test_a_task_that_outlives_the_run_of_the_pass_that_began_it(module):
    scribe = Scribe()

    async def later():
        await asyncio.sleep(0.01)
        relais.get_pass("FoldConstant")(module)
        with PassContext(opt_level=9):
            relais.optimize(module)
        return level()

    @relais.module_pass(opt_level=0)
    def begins(mod, ctx):
        tasks.append(asyncio.get_running_loop().create_task(later()))

    async def main():
        with PassContext(opt_level=4, instruments=[scribe]):
            relais.optimize(module, passes=[begins], level=3)
        assert level() == 2
        assert await tasks[0] == 3

    tasks: list[asyncio.Task[int]] = []
    asyncio.run(main())
    assert scribe.events == [("enter", 2), ("exit", 2)] and level() == 2


def test_functions_of_rules_are_in_the_context_of_the_run(module):
    def unless(x):
        seen.append(level())
        return False

    def stays(op, x):
        PassContext(opt_level=7).__enter__()

    seen: list[int] = []
    rule = relais.rule("Neg(x) => x if unless(x)", conditions=[unless], judge=False)
    with PassContext(opt_level=5):
        rule(module)
        assert level() == 5
        with pytest.raises(relais.ContextError, match="was not left"):
            relais.rule("Neg(x)", stays, judge=False)(module)
        assert level() == 5
    assert set(seen) == {5}


def test_inheriting_starts_from_the_context_of_the_task():
    async def work(opt_level):
        with PassContext(opt_level=opt_level):
            await asyncio.sleep(0)
            assert PassContext(inherit=True).opt_level == opt_level
            await asyncio.sleep(0)

    async def main():
        await asyncio.gather(*map(work, range(3, 9)))

    asyncio.run(main())
    assert PassContext(inherit=True).opt_level == 2


@pytest.mark.parametrize("inherit", [False, True])
def test_inheriting_within_a_run_keeps_its_level(module, tmp_path, inherit):
    class Watch(relais.instrument.PassInstrument):
        def run_before_pass(self, mod, info):
            seen.append(info.name)

    @relais.module_pass(opt_level=0)
    def outer(mod, ctx):
        with PassContext(instruments=[Watch()], inherit=inherit):
            relais.optimize(mod, pipeline=pipeline)

    seen: list[str] = []
    pipeline = tmp_path / "of_level_3.toml"
    pipeline.write_text('opt_level = 3\nsteps = ["InferType", "EliminateCommonSubexpr"]\n')
    with PassContext(opt_level=1):
        outer(module)
    assert "relais.InferType" in seen
    # A context that was given no level leaves the pipeline its own.
    assert ("relais.EliminateCommonSubexpr" in seen) != inherit


def test_the_default_of_a_thread_keeps_its_instruments(module):
    seen = []

    @relais.pass_instrument
    class Watch:
        def run_before_pass(self, mod, info):
            seen.append(info.short_name)

    def work():
        watch = Watch()
        PassContext.current().override_instruments([watch])
        assert PassContext.current() is PassContext.current() and PassContext.current().instruments == [watch]
        gc.collect()
        relais.get_pass("FoldConstant")(module)
        with PassContext():
            relais.get_pass("EliminateNoOp")(module)
        PassContext.current().override_instruments(None)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == ["FoldConstant"]


@pytest.mark.thread_unsafe(reason="`sys.unraisablehook` is that of all threads")
def test_finalizers_that_raise_change_no_context(module):
    class Raises:
        def __del__(self):
            PassContext(opt_level=8).__enter__().__exit__(None, None, None)
            raise KeyError("in a finalizer")

    @relais.pass_instrument
    class Holds:
        def __init__(self):
            self.held = Raises()

        def exit_pass_ctx(self):
            del self.held

    with unraisable() as raised:
        with PassContext(opt_level=5, instruments=[Holds()]):
            relais.get_pass("FoldConstant")(module)
            context = PassContext(instruments=[Holds()])
            context.override_instruments(None)
            assert level() == 5
    assert [type(error) for error in raised] == [KeyError] * 2 and level() == 2


def test_many_tasks_and_threads(module):
    @relais.module_pass(opt_level=0)
    def look(mod, ctx):
        assert ctx.opt_level == level()
        return None

    async def work(opt_level):
        with PassContext(opt_level=opt_level):
            for _ in range(5):
                await asyncio.sleep(0)
                look(module)
                await asyncio.to_thread(look, module)
                assert level() == opt_level

    async def main():
        await asyncio.gather(*(work(n) for n in range(20)))

    errors = []

    def run():
        try:
            asyncio.run(main())
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    assert errors == []

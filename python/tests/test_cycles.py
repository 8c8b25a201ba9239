"""Cycles of objects through the host are freed, and what the host still calls is kept."""

from __future__ import annotations

import contextvars
import dataclasses
import gc
import threading
import weakref

import pytest

import relais_onnx as relais
from relais_onnx import PassContext


class Marker:
    """Tells whether what refers to it was freed."""


def own_pass(kind, around):
    decorator = {"module": relais.module_pass, "function": relais.function_pass, "prim": relais.prim_func_pass}[kind]

    @decorator(opt_level=0)
    def run(*_):
        assert around is not None

    return run


def class_pass(around):
    @relais.function_pass(opt_level=0)
    class Run:
        def __init__(self):
            self.around = around

        def transform_function(self, func, mod, ctx):
            return None

    return Run()


def pass_with_options(around):
    @dataclasses.dataclass
    class Options:
        n: int = 1

        def __post_init__(self):
            self.around = around

    @relais.module_pass(opt_level=0, options=Options)
    def run(mod, ctx, options):
        assert options.around is around

    return run


def rule_with_condition(around):
    def holds(x):
        return bool(around)

    return relais.rule("Neg(Neg(x)) => x if holds(x)", conditions=[holds], judge=False)


def rule_with_result(around):
    return relais.rule("Neg(Neg(x))", lambda op, x: around and x, judge=False)


def traced_rule(around):
    @relais.rewrite(name="acme.Traced")
    def traced(op, x):
        return op.Neg(op.Neg(x))

    @traced.check
    def _(x):
        return bool(around)

    @traced.replace
    def _(op, x):
        return x

    return traced


def instrument(around):
    @relais.pass_instrument
    class Watch:
        def __init__(self):
            self.around = around

        def run_before_pass(self, mod, info):
            pass

    return Watch()


class Timing(relais.instrument.PassTimingInstrument):
    pass


def timing(around):
    made = Timing()
    made.around = around  # type: ignore[attr-defined]
    return made


def context(around):
    return PassContext(instruments=[instrument(around)])


def overridden(around):
    made = PassContext(instruments=[instrument([])])
    made.override_instruments([instrument(around)])
    return made


KINDS = {
    "module pass": lambda around: own_pass("module", around),
    "function pass": lambda around: own_pass("function", around),
    "prim-func pass": lambda around: own_pass("prim", around),
    "class": class_pass,
    "class itself": lambda around: type(class_pass(around)),
    "options": pass_with_options,
    "values of options": lambda around: pass_with_options(around).with_options(n=2),
    "sequence": lambda around: relais.Sequential([own_pass("module", around)]),
    "nested sequence": lambda around: relais.Sequential([relais.Sequential([own_pass("module", around)])]),
    "condition": rule_with_condition,
    "right side": rule_with_result,
    "traced rule": traced_rule,
    "sequence of rules": lambda around: relais.Sequential([rule_with_result(around), traced_rule(around)]),
    "instrument": instrument,
    "native instrument": timing,
    "context": context,
    "overridden": overridden,
}


@pytest.mark.parametrize("is_used", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_cycle_is_freed(module, kind, is_used):
    around: list[object] = [Marker()]
    freed = weakref.ref(around[0])
    made = KINDS[kind](around)
    around.append(made)
    if is_used:
        if isinstance(made, type):
            made = made()
        if isinstance(made, PassContext):
            with made:
                relais.get_pass("FoldConstant")(module)
        elif callable(made):
            made(module)
            relais.optimize(module, passes=[made])
        else:
            with PassContext(instruments=[made]):
                relais.optimize(module, passes=["FoldConstant"])
    del around, made
    gc.collect()
    assert freed() is None


def test_a_namespace_is_freed(module):
    """As that of a notebook, or of a module that is loaded again."""
    names: dict[str, object] = {"relais": relais, "marker": Marker(), "mod": module}
    code = """
from dataclasses import dataclass

@dataclass
class Limits:
    most: int = 3

@relais.function_pass(opt_level=0, options=Limits)
def first(func, mod, ctx, options):
    assert options.most and marker

second = first.with_options(most=2)
first(mod), second(mod)

@relais.pass_instrument
class Watch:
    def run_before_pass(self, mod, info):
        assert marker

context = relais.PassContext(instruments=[Watch()])
with context:
    relais.Sequential([first, second])(mod)
"""
    exec(code, names)
    freed = weakref.ref(names["marker"])
    del names
    gc.collect()
    assert freed() is None


def test_a_context_that_was_never_left_is_freed():
    around: list[object] = [Marker()]
    freed = weakref.ref(around[0])
    made = context(around)
    around.append(made)
    variables = contextvars.copy_context()
    variables.run(made.__enter__)
    around.append(variables)
    del around, made, variables
    gc.collect()
    assert freed() is None


def test_many_contexts_that_were_never_left_are_freed():
    made = PassContext(opt_level=5)

    def enter():
        for _ in range(200_000):
            made.__enter__()

    variables = contextvars.copy_context()
    variables.run(enter)
    del variables
    gc.collect()
    assert PassContext.current().opt_level == 2


def test_instruments_of_a_thread_are_freed_with_it(module):
    freed = []

    def work():
        around: list[object] = [Marker()]
        freed.append(weakref.ref(around[0]))
        watch = instrument(around)
        around.append(watch)
        PassContext.current().override_instruments([watch])
        relais.get_pass("FoldConstant")(module)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    gc.collect()
    assert freed[0]() is None


@pytest.mark.thread_unsafe(reason="a name has one pass")
def test_a_registered_pass_is_kept_until_it_is_not_registered(module):
    ran = []

    def register():
        @relais.module_pass(opt_level=0, name="acme.Kept")
        def kept(mod, ctx):
            ran.append(marker)

        marker = Marker()
        relais.register_pass(kept)
        return weakref.ref(marker)

    freed = register()
    gc.collect()
    relais.optimize(module, passes=["acme.Kept"])
    relais.Sequential([own_pass("module", []), relais.get_pass("acme.Kept")])(module)
    found = relais.get_pass("acme.Kept")
    relais.unregister_pass("acme.Kept")
    gc.collect()
    found(module)
    assert len(ran) == 3
    del found
    ran.clear()
    gc.collect()
    assert freed() is None


@pytest.mark.thread_unsafe(reason="a name has one pass")
def test_a_pass_that_is_forgotten_while_it_runs(module):
    ran = []

    def register():
        @relais.function_pass(opt_level=0, name="acme.Forgotten")
        def forgotten(func, mod, ctx):
            ran.append(func.name)
            if len(ran) == 1:
                relais.unregister_pass("acme.Forgotten")
                gc.collect()

        relais.register_pass(forgotten)

    register()
    two = relais.IRModule({"f": module["main"], "g": module["main"]})
    relais.optimize(two, passes=["acme.Forgotten", "acme.Forgotten"])
    assert len(ran) == 4


def test_what_is_made_of_others_keeps_them(module):
    ran = []

    @dataclasses.dataclass
    class Options:
        n: int = 1

    def make():
        @relais.module_pass(opt_level=0, options=Options)
        def run(mod, ctx, options):
            ran.append(options.n)

        return run

    sequence = relais.Sequential([make(), make().with_options(n=2), relais.Sequential([make().with_options(n=3)])])
    again = make().with_options(n=4).with_options(n=5)
    gc.collect()
    sequence(module)
    again(module)
    relais.optimize(module, passes=[again, make().with_options(n=6)])
    assert ran == [1, 2, 3, 5, 5, 6]


def test_instruments_are_kept_by_their_contexts(module):
    seen = []

    def make():
        @relais.pass_instrument
        class Watch:
            def run_before_pass(self, mod, info):
                gc.collect()
                seen.append(info.short_name)

        return Watch()

    def enter():
        PassContext(instruments=[make()]).__enter__()

    def run():
        enter()
        gc.collect()
        relais.optimize(module, passes=["FoldConstant"])
        PassContext.current().override_instruments([make()])
        gc.collect()
        relais.get_pass("EliminateNoOp")(module)
        PassContext.current().__exit__(None, None, None)

    contextvars.copy_context().run(run)
    assert "FoldConstant" in seen and "EliminateNoOp" in seen


def test_an_instrument_that_is_replaced_while_it_watches(module):
    events = []

    def first():
        @relais.pass_instrument
        class First:
            def run_before_pass(self, mod, info):
                PassContext.current().override_instruments([Second()])
                gc.collect()
                events.append("first")

            def run_after_pass(self, mod, info):
                events.append("told too much")

        return First()

    @relais.pass_instrument
    class Second:
        def run_before_pass(self, mod, info):
            events.append("second")

    with PassContext(instruments=[first()]):
        relais.get_pass("FoldConstant")(module)
        relais.get_pass("EliminateNoOp")(module)
    assert events == ["first", "second"]


def test_a_finalizer_may_use_what_is_freed_with_it(module):
    told = []

    class Uses:
        def __del__(self):
            try:
                told.append(self.made(module))
            except RuntimeError as error:
                told.append(str(error))

    uses = Uses()
    uses.made = own_pass("module", uses)  # type: ignore[attr-defined]
    freed = weakref.ref(uses)
    del uses
    gc.collect()
    gc.collect()
    assert freed() is None and len(told) == 1

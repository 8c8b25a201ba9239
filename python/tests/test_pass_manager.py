"""Passes, sequences and contexts, as TVM's `test_pass_manager.py` uses them, in other words.

| TVM asserts | here |
|---|---|
| `isinstance`, `info.name`, `info.opt_level` of a decorated function, a direct call, a class | holds |
| the name is in `str(pass)` | holds |
| a module pass adds a function; the input stays as it was | holds |
| a function pass replaces each function, made with an argument | holds |
| `opt_level` must be given: `ValueError` | holds |
| `Sequential`'s defaults: level 0, no requirements, a name | holds |
| a sequence runs what its context's level enables; `required_pass` and `disabled_pass` | holds |
| a missing requirement runs first | holds |
| `PassInfo(opt_level=1, name="xyz")` | holds |
| hooks are called 6 times for three passes with requirements | departs (R5, R16): 4 times, nothing runs again while its result holds |
| a string as `required_pass` is its letters | departs (R22): `TypeError` |
| a module pass that returns None is an error | departs: None says that nothing changed |
| the elements of `required_pass` may be any names | departs (R4): what runs has to know them, or they end in `?` |
"""

from __future__ import annotations

import copy
import logging
import pickle
import re
import sys
import threading

import conftest
import pytest

import relais_onnx as relais
from relais_onnx import transform


def test_info():
    info = relais.PassInfo(opt_level=1, name="xyz")
    assert (info.opt_level, info.name, info.required) == (1, "xyz", [])
    assert info == relais.PassInfo(1, "xyz", ()) and info != relais.PassInfo(2, "xyz")
    with pytest.raises(AttributeError):
        info.name = "other"


@pytest.mark.parametrize(
    ("decorator", "base", "kind"),
    [
        (relais.module_pass, transform.ModulePass, "module"),
        (relais.function_pass, transform.FunctionPass, "function"),
        (relais.prim_func_pass, transform.PrimFuncPass, "prim func"),
    ],
)
def test_the_three_ways_to_make_a_pass(decorator, base, kind):
    @decorator(opt_level=2, required=["InferType"])
    def decorated(*given):
        """Does nothing."""

    direct = decorator(lambda *given: None, opt_level=1, name="direct")

    @decorator(opt_level=0, name="named")
    class Made:
        """A class of passes."""

        def __init__(self, extra, key=None):
            self.extra, self.key = extra, key

        def transform_module(self, mod, ctx):
            return None

        def transform_function(self, func, mod, ctx):
            return None

    made = Made(3, key="k")
    for it, name, level in ((decorated, "decorated", 2), (direct, "direct", 1), (made, "named", 0)):
        assert isinstance(it, base) and isinstance(it, relais.Pass)
        assert (it.info.name, it.info.opt_level, it.info.kind) == (name, level, kind)
        assert name in str(it)
    assert decorated.info.required == ["InferType"]
    assert (made.extra, made.key) == (3, "k")
    assert (Made.__name__, Made.__doc__) == ("Made", "A class of passes.")
    with pytest.raises(AttributeError, match="no_such"):
        made.no_such


@pytest.mark.parametrize("decorator", [relais.module_pass, relais.function_pass, relais.prim_func_pass])
def test_what_cannot_be_a_pass(decorator):
    def nothing(*given):
        return None

    with pytest.raises(ValueError, match="`opt_level` must be given"):
        decorator(nothing)
    with pytest.raises(TypeError, match="`required` must be a list"):
        decorator(nothing, opt_level=1, required="InferType")
    with pytest.raises(TypeError, match="`opt_level` must be an int"):
        decorator(nothing, opt_level="1")
    with pytest.raises(ValueError, match="`opt_level` must be between 0 and 255"):
        decorator(nothing, opt_level=-1)
    with pytest.raises(TypeError, match="a pass is made of a function or a class, not of `int`"):
        decorator(3, opt_level=1)
    with pytest.raises(TypeError, match="`name` must be a str"):
        decorator(nothing, opt_level=1, name=3)


def test_a_module_pass_adds_a_function(module):
    @relais.module_pass(opt_level=1)
    def add(mod, ctx):
        return mod.with_function("abs", mod["main"])

    result = add(module)
    assert list(result) == ["main", "abs"] and list(module) == ["main"]
    assert result["abs"].ops == module["main"].ops


def test_a_function_pass_replaces_each_function(two):
    @relais.function_pass(opt_level=1)
    class Replace:
        def __init__(self, new):
            self.new = new

        def transform_function(self, func, mod, ctx):
            seen.append((func.name, list(mod)))
            return self.new

    seen = []
    result = Replace(two["other"])(two)
    assert [function.ops for function in result.values()] == [["Exp"], ["Exp"]]
    assert seen == [("main", ["main", "other"]), ("other", ["main", "other"])]


def test_an_unchanged_module_is_the_same_object(module):
    for result in (lambda mod: None, lambda mod: mod):
        same = relais.module_pass(lambda mod, ctx: result(mod), opt_level=0)
        assert same(module) is module
    assert relais.function_pass(lambda func, mod, ctx: func, opt_level=0)(module) is module
    assert relais.Sequential()(module) is module


@pytest.mark.parametrize("result", [3, "x", True])
def test_what_a_pass_must_not_return(module, result):
    with pytest.raises(TypeError, match="what a module pass returns must be an IRModule or None") as caught:
        relais.module_pass(lambda mod, ctx: result, opt_level=0, name="p")(module)
    assert caught.value.__notes__ == ["in the pass `p`"]
    with pytest.raises(TypeError, match="what a function pass returns must be a Function or None") as caught:
        relais.function_pass(lambda func, mod, ctx: result, opt_level=0, name="p")(module)
    assert caught.value.__notes__ == ["in the pass `p`, in `@main`"]


def test_wrong_arity_is_the_pythons_own_error(module):
    with pytest.raises(TypeError, match="positional argument"):
        relais.module_pass(lambda mod: mod, opt_level=0)(module)

    @relais.module_pass(opt_level=0)
    class WithoutMethod:
        pass

    with pytest.raises(AttributeError, match="transform_module"):
        WithoutMethod()(module)
    with pytest.raises(TypeError, match="the argument of a pass must be an IRModule, not `int`"):
        relais.Sequential()(3)


def test_exceptions_are_themselves(module):
    class Own(Exception):
        pass

    error = Own("on purpose")

    @relais.function_pass(opt_level=0, name="acme.Boom")
    def boom(func, mod, ctx):
        raise error

    with pytest.raises(Own) as caught:
        relais.Sequential([relais.get_pass("EliminateNoOp"), boom])(module)
    assert caught.value is error
    assert caught.value.__notes__ == ["in the pass `acme.Boom`, in `@main`"]
    native = caught.value.__relais__
    assert isinstance(native, relais.PassFailed)
    assert (native.pass_name, native.plugin, native.function) == ("acme.Boom", None, "main")
    assert native.report["passes"][-1]["fate"] == "failed"
    assert caught.traceback[-1].name == "boom"


def test_native_failures(module):
    broken = relais.parse(conftest.TEXT.replace("Relu(%c)", "MatMul(%c, %c)"))
    with pytest.raises(relais.PassFailed) as caught:
        relais.get_pass("InferType", strict=True)(broken)
    assert caught.value.pass_name == "relais.InferType" and caught.value.function == "main"
    assert caught.value.plugin == "relais-graph" and "MatMul" in str(caught.value)


def test_get_pass():
    assert relais.get_pass("FoldConstant").info.name == "relais.FoldConstant"
    assert relais.get_pass("FoldConstant", max_growth=0).info.plugin == "relais-graph"
    for arguments, words in (({"max_growth": "many"}, "max_growth"), ({"nope": 1}, "nope")):
        with pytest.raises(relais.PipelineError, match=words):
            relais.get_pass("FoldConstant", **arguments)
    with pytest.raises(relais.PipelineError, match="did you mean `FoldConstant`"):
        relais.get_pass("FoldConstan")
    with pytest.raises(TypeError, match="`name` must be a str"):
        relais.get_pass(3)


def marker(name, level, ran, required=()):
    return relais.module_pass(lambda mod, ctx: ran.append(name), opt_level=level, name=name, required=list(required))


def test_sequences():
    sequence = relais.Sequential([])
    assert (sequence.info.opt_level, sequence.info.name, sequence.info.required) == (0, "sequential", [])
    assert isinstance(sequence, relais.Pass)
    named = relais.Sequential([relais.get_pass("FoldConstant")], 1, "acme.All", ["InferType"])
    assert (named.info.opt_level, named.info.name, named.info.required) == (1, "acme.All", ["InferType"])
    assert "relais.FoldConstant" in str(named) and len(named.passes) == 1
    for wrong, words in (("FoldConstant", "must be a list"), (["FoldConstant"], r"get_pass\(.FoldConstant"), ([3], "a Pass")):
        with pytest.raises(TypeError, match=words):
            relais.Sequential(wrong)
    several = relais.Sequential((relais.get_pass(name) for name in ("FoldConstant", "EliminateNoOp")), required={"InferType"})
    assert [member.info.name for member in several.passes] == ["relais.FoldConstant", "relais.EliminateNoOp"]
    assert several.info.required == ["InferType"]


def test_levels_and_lists(module):
    ran = []
    passes = [marker(f"acme.L{level}", level, ran) for level in range(5)]
    for own in passes:
        relais.register_pass(own)
    sequence = relais.Sequential(passes)

    def runs(**arguments):
        ran.clear()
        with relais.PassContext(**arguments):
            sequence(module)
        return [name.removeprefix("acme.") for name in ran]

    sequence(module)
    assert [name.removeprefix("acme.") for name in ran] == ["L0", "L1", "L2"]
    assert runs(opt_level=0) == ["L0"]
    assert runs(opt_level=3) == ["L0", "L1", "L2", "L3"]
    assert runs(opt_level=0, required_pass=["acme.L4"]) == ["L0", "L4"]
    assert runs(opt_level=3, disabled_pass={"L1", "acme.L0"}) == ["L2", "L3"]
    assert runs(required_pass=("L4",), disabled_pass=(name for name in ["L4"])) == ["L0", "L1", "L2"]
    # A pass that is called directly runs whatever its level.
    ran.clear()
    passes[4](module)
    assert ran == ["acme.L4"]


def test_names_of_a_context_are_those_of_what_runs(module):
    ran = []
    mine, other = marker("acme.Mine", 4, ran), marker("acme.Other", 0, ran)
    sequence = relais.Sequential([relais.Sequential([mine], name="acme.Inner"), other])

    def runs(run, **arguments):
        ran.clear()
        with relais.PassContext(**arguments):
            run()
        return [name.removeprefix("acme.") for name in ran]

    def in_sequence(**arguments):
        return runs(lambda: sequence(module), **arguments)

    assert in_sequence(opt_level=4) == ["Mine", "Other"] and in_sequence() == ["Other"]
    for name in ("acme.Mine", "Mine", "acme.Inner", "Inner", "Mine?"):
        assert in_sequence(opt_level=4, disabled_pass=[name]) == ["Other"], name
    assert in_sequence(required_pass=["Mine"]) == ["Mine", "Other"]
    assert in_sequence(opt_level=4, disabled_pass=["Nowhere?"]) == ["Mine", "Other"]
    # Whether a name is wrong is known when something runs.
    for run in (lambda: sequence(module), lambda: relais.optimize(module, passes=[other])):
        with pytest.raises(relais.PipelineError, match="no pass `Othr`"):
            runs(run, disabled_pass=["Othr"])
        assert ran == []
        with pytest.raises(relais.PipelineError, match="did you mean `FoldConstant`"):
            runs(run, disabled_pass=["FoldConstan"])

    def among_passes(passes, level=None, **arguments):
        return runs(lambda: relais.optimize(module, passes=passes, level=level), **arguments)

    # A pass that is named is on; what a sequence consists of has its own levels.
    assert among_passes([mine, other]) == ["Mine", "Other"]
    assert among_passes([mine, other], opt_level=0, disabled_pass=["Mine"]) == ["Other"]
    assert among_passes([sequence]) == ["Other"]
    assert among_passes([sequence], level=4) == among_passes([sequence], opt_level=4) == ["Mine", "Other"]
    assert among_passes([sequence], level=1, opt_level=4) == ["Other"]
    assert among_passes([sequence], level=4, disabled_pass=["acme.Inner"]) == ["Other"]


@pytest.mark.thread_unsafe(reason="a name has one pass")
def test_requirements_run_first(module):
    ran = []
    relais.register_pass(marker("acme.First", 0, ran))
    last = marker("acme.Last", 0, ran, required=["acme.First"])
    relais.Sequential([last])(module)
    assert ran == ["acme.First", "acme.Last"]
    with pytest.raises(relais.PipelineError, match="`acme.X` requires `acme.Nobody`, which nothing provides"):
        relais.Sequential([marker("acme.X", 0, ran, required=["acme.Nobody"])])(module)


def test_contexts_are_a_stack():
    default = relais.PassContext.current()
    assert (default.opt_level, default.required_pass, default.instruments) == (2, [], [])
    with relais.PassContext(opt_level=3, disabled_pass=["FoldConstant"]) as outer:
        assert relais.PassContext.current() is outer
        assert outer.disabled_pass == ["relais.FoldConstant"]
        with relais.PassContext() as inner:
            assert (inner.opt_level, inner.disabled_pass) == (2, [])
        with relais.PassContext(inherit=True) as inner:
            assert (inner.opt_level, inner.disabled_pass) == (3, ["relais.FoldConstant"])
        with outer:
            assert relais.PassContext.current() is outer
        assert relais.PassContext.current() is outer
    assert relais.PassContext.current() == default


def test_a_context_is_left_after_an_exception():
    with pytest.raises(KeyError), relais.PassContext(opt_level=1):
        raise KeyError("x")
    assert relais.PassContext.current().opt_level == 2


def test_leaving_out_of_order_changes_nothing():
    outer, inner = relais.PassContext(opt_level=0), relais.PassContext(opt_level=1)
    with pytest.raises(relais.ContextError, match="was not entered"):
        outer.__exit__(None, None, None)
    outer.__enter__()
    inner.__enter__()
    with pytest.raises(relais.ContextError, match="has to be left first"):
        outer.__exit__(None, None, None)
    assert relais.PassContext.current() is inner
    inner.__exit__(None, None, None)
    outer.__exit__(None, None, None)
    assert relais.PassContext.current().opt_level == 2


def test_threads_have_contexts_of_their_own():
    levels = []
    with relais.PassContext(opt_level=3) as context:

        def look():
            levels.append(relais.PassContext.current().opt_level)
            with pytest.raises(relais.ContextError):
                context.__exit__(None, None, None)

        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
    assert levels == [2]


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"opt_level": "3"}, TypeError, "`opt_level` must be an int, not `str`"),
        ({"opt_level": True}, TypeError, "`opt_level` must be an int, not `bool`"),
        ({"opt_level": 2.0}, TypeError, "`opt_level` must be an int"),
        ({"opt_level": -1}, ValueError, "`opt_level` is outside 0 to 255"),
        ({"required_pass": "FoldConstant"}, TypeError, "`required_pass` must be a list of names, not `str`"),
        ({"disabled_pass": 3}, TypeError, "`disabled_pass` must be a list of names, not `int`"),
        ({"disabled_pass": [3]}, TypeError, "a name in `disabled_pass` must be a str, not `int`"),
        ({"instruments": [3]}, TypeError, "an instrument must be an object with hooks"),
        ({"instruments": 3}, TypeError, "`instruments` must be a list of instruments"),
        ({"config": ["x"]}, TypeError, "`config` must be a dict"),
        ({"config": {"no.such": 1}}, relais.ConfigError, "no.such"),
        ({"config": {"no.such": 1}}, AttributeError, "no.such"),
        ({"config": {"no.such": None}}, TypeError, "`no.such` of `config` must be a bool"),
    ],
)
def test_wrong_contexts(arguments, error, words):
    with pytest.raises(error, match=words):
        relais.PassContext(**arguments)


def test_a_context_cannot_be_changed():
    context = relais.PassContext(disabled_pass=["NoSuch?"])
    with pytest.raises(AttributeError):
        context.opt_level = 3
    assert isinstance(relais.PassContext.list_configs(), dict)


def test_print_ir(module, capsys):
    assert transform.PrintIR("here")(module) is module
    printed = capsys.readouterr()
    assert "PrintIR(here):\ndef @main" in printed.err and printed.out == ""

    @relais.module_pass(opt_level=0, name="test.Tells")
    def tells(mod, ctx):
        print("tells", file=sys.stderr)

    transform.Sequential([tells, transform.PrintIR("between"), tells])(module)
    printed = capsys.readouterr().err
    assert re.sub(r"PrintIR(.*\n)+?}", "PrintIR", printed).split() == ["tells", "PrintIR", "tells"]


def test_copies_of_passes(module):
    fold = relais.get_pass("FoldConstant")
    assert copy.copy(fold) is fold and copy.deepcopy({"pass": fold}) == {"pass": fold}

    @relais.module_pass(opt_level=0)
    class Counts:
        def __init__(self):
            self.names = []

        def transform_module(self, mod, ctx):
            self.names.append(len(self.names))

    counts = Counts()
    counts(module)
    shallow, deep = copy.copy(counts), copy.deepcopy(counts)
    deep(module)
    assert (counts.names, shallow.names, deep.names) == ([0], [0], [0, 1])
    shallow(module)
    assert counts.names == [0, 1] and type(deep) is Counts and deep.info == counts.info


def test_a_context_does_not_outlive_the_pass_that_enters_it(module):
    events = []

    @relais.pass_instrument
    class Left:
        def exit_pass_ctx(self):
            events.append("left")

    @relais.function_pass(opt_level=0)
    def each(func, mod, ctx):
        relais.PassContext(opt_level=1, instruments=[Left()]).__enter__()

    @relais.module_pass(opt_level=0)
    def fails(mod, ctx):
        relais.PassContext(opt_level=1).__enter__()
        raise KeyError("on purpose")

    @relais.module_pass(opt_level=0)
    def fine(mod, ctx):
        with relais.PassContext(opt_level=1):
            assert relais.PassContext.current().opt_level == 1

    with relais.PassContext(opt_level=3) as context:
        for own, error in ((each, relais.ContextError), (fails, KeyError)):
            with pytest.raises(error):
                own(module)
            assert relais.PassContext.current() is context
        fine(module)
    assert events == ["left"]


def to_int64(mod, ctx):
    with mod["main"].edit() as editor:
        editor.replace(editor.calls("Relu")[0], editor.Cast(editor.calls("Neg")[1], to=7))
    return mod.with_function("main", editor.result())


def renamed(func, mod, ctx):
    with func.edit() as editor:
        editor.params[0].name = "renamed"
    return editor.result()


@pytest.mark.parametrize(("decorator", "change"), [(relais.module_pass, to_int64), (relais.function_pass, renamed)])
def test_a_pass_says_that_it_changes_the_interface(module, decorator, change):
    """Types need not be known before, as here."""
    with pytest.raises(relais.PassFailed, match="changes the interface") as caught:
        decorator(change, opt_level=0)(module)
    assert "`changes_interface=True`" in caught.value.help and "attribute" not in str(caught.value)
    changed = decorator(change, opt_level=0, changes_interface=True)
    assert changed(module) != module
    (function,) = relais.optimize(module, passes=[changed]).values()
    assert function.params[0].name == "renamed" or function.results[0].type == "Tensor[(2, 3), int64]"

    class Change:
        def __init__(self, n):
            self.n = n

        def transform_module(self, mod, ctx):
            return change(mod, ctx)

        def transform_function(self, func, mod, ctx):
            return change(func, mod, ctx)

    assert decorator(opt_level=0, changes_interface=True)(Change)(1)(module) != module
    with pytest.raises(TypeError, match="`changes_interface` must be a bool"):
        decorator(change, opt_level=0, changes_interface="x")


@pytest.mark.thread_unsafe(reason="the registry is that of all threads")
def test_names_of_registered_passes():
    def register(module, **options):
        """Registers a pass as a module of another distribution does."""
        space = {"__name__": module, "relais": relais, "options": options}
        exec("done = relais.register_pass(relais.module_pass(lambda m, c: None, opt_level=0, name='test.Taken'), **options)", space)
        return space["done"]

    for name in ("relais.FoldConstant", "relais.EliminateNoOp"):
        with pytest.raises(relais.errors.RegistrationError, match=f"`{__name__}` registers a pass `{name}`, and the plugin `relais-"):
            relais.register_pass(relais.module_pass(lambda mod, ctx: None, opt_level=0, name=name))
    assert relais.get_pass("FoldConstant").info.name == "relais.FoldConstant"
    try:
        register("one.passes")
        register("one.passes")
        with pytest.raises(relais.errors.RegistrationError, match="`another` registers a pass `test.Taken`, and `one.passes` has"):
            register("another")
        register("another", override=True)
        with pytest.raises(relais.errors.RegistrationError, match="`another` has"):
            register("one.passes")
    finally:
        relais.unregister_pass("test.Taken")
    with pytest.raises(KeyError):
        relais.unregister_pass("test.Taken")
    with pytest.raises(relais.PipelineError):
        relais.get_pass("test.Taken")


@relais.pass_instrument
class Watch:
    def __init__(self):
        self.seen = []

    def enter_pass_ctx(self):
        self.seen.append("enter")

    def exit_pass_ctx(self):
        self.seen.append("exit")

    def should_run(self, mod, info):
        return info.name != "relais.EliminateCommonSubexpr"

    def run_before_pass(self, mod, info):
        self.seen.append(info.name.removeprefix("relais."))


def test_optimize_runs_in_the_current_context(module):
    def ran(call=lambda: relais.optimize(module), **arguments):
        watch = Watch()
        with relais.PassContext(instruments=[watch], **arguments):
            result = call()
        # It is entered once, with its context.
        assert (watch.seen.pop(0), watch.seen.pop()) == ("enter", "exit") and "enter" not in watch.seen
        return watch.seen, result

    seen, result = ran(opt_level=3)
    assert "FoldConstant" in seen and "EliminateCommonSubexpr" not in seen
    assert result == relais.optimize(module) and result["main"].ops == ["Relu"]
    # The level is that of the context, if it was given one; otherwise that of the pipeline.
    at_0, at_2 = ran(opt_level=0)[0], ran(opt_level=2)[0]
    assert set(at_0) < set(at_2) < set(seen) and ran()[0] == seen
    assert ran(lambda: relais.optimize(module, level=3), opt_level=0)[0] == ran(lambda: relais.optimize(module, level=3))[0]
    assert ran(lambda: relais.optimize(module, passes=["EliminateNoOp"]), opt_level=0)[0][-1] == "EliminateNoOp"
    assert "FoldConstant" not in ran(disabled_pass=["FoldConstant"])[0]
    assert "FoldConstant" in ran(opt_level=0, required_pass=["FoldConstant"])[0]
    with relais.PassContext(opt_level=0):
        assert ran(inherit=True)[0] == at_0
    # Another thread has another context.
    result = []
    with relais.PassContext(disabled_pass=["EliminateNoOp", "SimplifyExpr"]):
        assert relais.optimize(module)["main"].ops != ["Relu"]
        thread = threading.Thread(target=lambda: result.append(relais.optimize(module)["main"].ops))
        thread.start()
        thread.join()
    assert result == [["Relu"]]


def test_options_of_the_current_context(module):
    read = []

    @relais.module_pass(opt_level=0, name="test.Reads")
    def reads(mod, ctx):
        read.append(ctx.config)

    key, option = next((key, option) for key, option in relais.transform.list_configs().items() if option["type"] == "int")
    with relais.PassContext(config={key: 3}):
        relais.optimize(module, passes=[reads])
        relais.optimize(module, passes=[reads], config={key: 4})
    relais.optimize(module, passes=[reads])
    assert [config[key] for config in read] == [3, 4, option["default"]]


def test_two_names_of_one_option(module):
    read = []

    @relais.module_pass(opt_level=0, name="test.ReadsDepth")
    def reads(mod, ctx):
        read.append(ctx.config["relay.FuseOps.max_depth"])

    with relais.PassContext(config={"relay.FuseOps.max_depth": 3}):
        relais.optimize(module, passes=[reads], config={"relax.FuseOps.max_depth": 4})
    assert read == [4]
    both = {"relay.FuseOps.max_depth": 3, "relax.FuseOps.max_depth": 4}
    with pytest.raises(relais.PipelineError, match="option `relay.FuseOps.max_depth` is given twice") as caught:
        relais.optimize(module, passes=[reads], config=both)
    assert caught.value.faults[0].code == "P006"
    with pytest.raises(relais.PipelineError, match="given twice"):
        relais.PassContext(config=both)


def test_simplify_and_slim_run_in_the_current_context(proto):
    from relais_onnx.compat.onnxsim import simplify
    from relais_onnx.compat.onnxslim import slim

    for call in (simplify, slim):
        timing = relais.instrument.PassTimingInstrument()
        with relais.PassContext(instruments=[timing]):
            call(proto)
        assert "FoldConstant" in timing.render()


def test_a_pipeline_is_a_pass(module, tmp_path):
    default = relais.pipeline("default")
    assert default.info.name == "default" and default(module) == relais.optimize(module)
    assert relais.optimize(module, passes=[default]) == relais.optimize(module)
    watch, timing = Watch(), relais.instrument.PassTimingInstrument()
    with relais.PassContext(opt_level=3, instruments=[watch, timing]):
        relais.Sequential([default, relais.get_pass("EliminateNoOp")])(module)
    # After `enter` and the sequence.
    assert watch.seen[2] == "default" and "FoldConstant" in watch.seen and watch.seen[-2] == "EliminateNoOp"
    assert "FoldConstant" in timing.render()
    kept = relais.pipeline("O1", disable=["EliminateNoOp"], config={"FoldConstant.max_growth": "1K"})
    assert kept(module) == relais.optimize(module, level=1, disable=["EliminateNoOp"])
    file = tmp_path / "p.toml"
    file.write_text('steps = ["EliminateNoOp"]\n')
    assert relais.pipeline(file)(module)["main"].ops == ["Neg", "Neg", "Relu"]
    for arguments in ({"name": "nope"}, {"name": "default", "disable": ["nope"]}):
        with pytest.raises(relais.PipelineError):
            relais.pipeline(**arguments)
    with pytest.raises(relais.PipelineError, match=r'`pipeline\("default"\)`'):
        relais.get_pass("default")


def test_a_pass_says_and_counts(module, caplog):
    class Hears:
        def __init__(self):
            self.heard = []

        def counted(self, info, statistic, n):
            self.heard.append((info.short_name, statistic, n))

    @relais.function_pass(opt_level=0, name="acme.Says")
    def says(func, mod, ctx):
        first = func.body[0]
        ctx.warning("look here", first, code="acme-look", help="look away")
        ctx.note("it is noted")
        ctx.remark("it stays", first)
        ctx.count("looked")
        ctx.count("looked", 2)

    hears = Hears()
    with caplog.at_level(logging.DEBUG, "relais"), relais.PassContext(instruments=[hears]):
        says(module)
    assert hears.heard == [("Says", "looked", 3)]
    texts = {record.levelname: record.getMessage() for record in caplog.records if "acme.Says" in record.getMessage()}
    assert "look here" in texts["WARNING"] and "look away" in texts["WARNING"] and "acme-look" in texts["WARNING"]
    assert "it is noted" in texts["INFO"]
    caplog.clear()
    with caplog.at_level(logging.WARNING, "relais"):
        says(module)
    assert [record.levelname for record in caplog.records] == ["WARNING"]

    @relais.module_pass(opt_level=0, name="acme.Fails")
    def fails(mod, ctx):
        ctx.error("it is wrong", mod["main"].body[0], code="acme-wrong")
        return mod.without_function("main")

    with pytest.raises(relais.PassFailed, match="it is wrong") as caught:
        fails(module)
    assert caught.value.code == "acme-wrong" and caught.value.pass_name == "acme.Fails"


def test_what_a_pass_says_wrongly(module):
    context = relais.PassContext()
    for call in (lambda: context.warning("x"), lambda: context.count("x")):
        with pytest.raises(RuntimeError, match="is for passes while they run"):
            call()

    def says(call):
        def run(mod, ctx):
            with pytest.raises(TypeError):
                call(ctx)

        relais.module_pass(run, opt_level=0)(module)

    says(lambda ctx: ctx.warning(3))
    says(lambda ctx: ctx.warning("x", "node"))
    says(lambda ctx: ctx.count("x", 1.5))
    says(lambda ctx: ctx.count("x", True))

    @relais.module_pass(opt_level=0)
    def negative(mod, ctx):
        with pytest.raises(ValueError):
            ctx.count("x", -1)

    negative(module)


def test_a_context_has_the_defaults_of_options(module):
    key, option = next((key, option) for key, option in relais.transform.list_configs().items() if option["type"] == "int")
    assert relais.PassContext().config[key] == option["default"]
    assert relais.PassContext(config={key: 3}).config[key] == 3


def test_attributes_of_functions(module):
    main = module["main"]
    assert main.attrs == {}
    skipped = main.with_attr("SkipOptimization", True).with_attr("acme.costs", [1.5, 2.0]).with_attr("acme.by", "me")
    assert skipped.attrs == {"SkipOptimization": 1, "acme.costs": [1.5, 2.0], "acme.by": "me"} and main.attrs == {}
    assert skipped != main and skipped.without_attr("acme.by").attrs.keys() == {"SkipOptimization", "acme.costs"}
    ran = []
    relais.function_pass(lambda func, mod, ctx: ran.append(func.name), opt_level=0)(module.with_function("other", skipped))
    assert ran == ["main"]
    again = relais.parse(str(module.with_function("main", skipped)))
    assert again["main"].attrs == skipped.attrs
    for name in ("", "output_names", "opset_domains"):
        with pytest.raises(ValueError, match="not the name of an attribute"):
            main.with_attr(name, 1)
    with pytest.raises(TypeError, match="attribute `x`"):
        main.with_attr("x", object())
    with pytest.raises(KeyError):
        main.without_attr("gone")


def test_modules_are_updated_and_pickled(module, two):
    updated = module.update(two)
    assert list(updated) == ["main", "other"] and updated["main"] == two["main"] and list(module) == ["main"]
    assert list(two.update(relais.IRModule())) == ["main", "other"]
    program = relais.parse("prim @k(%x: Tensor[(2), float32]) -> (%y: Tensor[(2), float32]) { %y[0] = %x[1]; }")
    for whole in (module, two, program, relais.IRModule(), updated):
        again = pickle.loads(pickle.dumps(whole))
        assert again == whole and list(again) == list(whole)
        for name in whole:
            assert pickle.loads(pickle.dumps(whole[name])) == whole[name]
    with pytest.raises(TypeError):
        module.update({"main": 1})


def test_a_function_that_calls_others_is_pickled_with_its_module():
    lowered = relais.parse("""prim @k(%x: Tensor[(2), float32]) -> (%y: Tensor[(2), float32]) { %y[0] = %x[1]; }
def @main(%x: Tensor[(2), float32]) #[opset = {"": 17}] { %y = @k(%x); %y }
""")
    assert pickle.loads(pickle.dumps(lowered)) == lowered
    assert pickle.loads(pickle.dumps(lowered["k"])) == lowered["k"]
    with pytest.raises(TypeError, match="function `main` calls others(.|\n)*help: pickle its module"):
        pickle.dumps(lowered["main"])


def test_what_the_file_says_of_a_function_is_not_an_attribute(module):
    read = relais.from_bytes(module.to_bytes())
    assert read["main"].attrs == {}
    program = relais.parse("prim @k(%x: Tensor[(2), float32]) -> (%y: Tensor[(2), float32]) { %y[0] = %x[1]; }")
    assert program["k"].attrs == {}
    for name in ("outputs", "graph_name", "output_names", "opset_x"):
        with pytest.raises(ValueError, match="is not the name of an attribute"):
            program["k"].with_attr(name, 1)

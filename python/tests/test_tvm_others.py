"""TVM's other tests of its pass infrastructure than those of the pass manager and of instruments, in other words.

| TVM's test | asserts | here |
|---|---|---|
| `test_tir_transform_prim_func_pass.py` | a class with an argument replaces each prim func | holds |
| | functions that are not shared are changed in place | departs (R15): nothing is changed in place; what a pass does not touch stays the same object |
| `test_node_reflection.py::test_pass_config` | a structure from a dict, with defaults for what is missing | holds |
| | an unknown field or key, and a number for a structure, are an `AttributeError` | holds: `ConfigError` is one, and has the place and the help |
| `test_pass_instrument.py` of `ir` | `PrintBeforeAll` and `PrintAfterAll` print a heading with the pass's name | holds, with other headings, on `sys.stderr` |
| | and one for each sequence | departs: the texts of a sequence are those of its members |
| `pass_immutable_module_test.cc` | a pass that changes the module it was given is found | departs (R15): a module has nothing that changes it |
| `relay_transform_sequential_test.cc` | a sequence of passes of levels 0 to 3 in a context of level 3, against an expected module | holds |
| | the types of options are listed | holds, with other names of types |
| `test_pass_config.py` of `tvmc` | options as text, on the command line | holds: `--set`, in `tests/tests/all/made_functions.rs` |
| `test_transform.py` of Relax | a pass over dataflow blocks | departs: there are none; functions are pure |
| `test_tuning_api.py` | a context records which passes were chosen | departs: `reproduce` writes the pipeline of a run |
"""

from __future__ import annotations

import gc

import conftest
import numpy as np
import pytest

import relais_onnx as relais
from relais_onnx import instrument

COPY = """prim @copy(%x: Tensor[(8), float32]) -> (%y: Tensor[(8), float32]) {
  for %i in 0..8 {
    %y[%i] = %x[%i];
  }
}
"""
BOTH = COPY + conftest.TEXT


def test_prim_func_passes_and_function_passes_see_their_own():
    module, seen = relais.parse(BOTH), []

    def note(func, mod, ctx):
        seen.append((type(func), func.name, func.is_prim_func, list(mod)))

    assert relais.prim_func_pass(note, opt_level=0)(module) is module
    assert relais.function_pass(note, opt_level=0)(module) is module
    # The same kind of handle.
    assert seen == [(relais.Function, "copy", True, ["copy", "main"]), (relais.Function, "main", False, ["copy", "main"])]


def test_a_prim_func_pass_replaces_the_body():
    @relais.prim_func_pass(opt_level=1)
    class Replace:
        """Puts one prim func in place of each."""

        def __init__(self, new):
            self.new = new

        def transform_function(self, func, mod, ctx):
            return self.new

    module = relais.parse(BOTH)
    new = relais.parse(COPY.replace("%x[%i];", "2.0;"))["copy"]
    made = Replace(new)
    assert made.new is new and made.info.name == "Replace" and made.info.kind == "prim func"
    result = made(module)
    assert result["copy"] == new and module["copy"] != new
    assert result["main"].same_as(module["main"])
    with pytest.raises(relais.PassFailed, match="a prim func returns nothing"):
        Replace(module["main"])(module)


def test_nothing_is_changed_in_place_even_if_nothing_else_has_it():
    first = relais.Sequential([relais.get_pass("Simplify"), relais.prim_func_pass(lambda func, mod, ctx: func, opt_level=0)])
    module = relais.parse(BOTH)
    text, digest, function = str(module), module.digest(), module["copy"]
    result = first(module)
    assert result["copy"].same_as(function) and (str(module), module.digest()) == (text, digest)
    # The only reference is given away.
    moved = relais.parse(BOTH)
    result = relais.get_pass("EliminateNoOp")(moved)
    del moved
    gc.collect()
    assert result["main"].ops == ["Neg", "Neg", "Relu"] and result["copy"] == function


def test_a_module_cannot_be_changed(module):
    with pytest.raises(TypeError, match="does not support item assignment"):
        module["main"] = module["main"]
    with pytest.raises(TypeError, match="does not support item deletion"):
        del module["main"]
    with pytest.raises(AttributeError):
        module["main"].name = "other"
    node = module["main"].nodes[1]
    with pytest.raises(AttributeError):
        node.op = "Abs"
    node.attrs["axis"] = 3
    assert "axis" not in node.attrs


def test_an_option_that_is_a_structure():
    name = "tir.UnrollLoop"
    listed = relais.PassContext.list_configs()[name]
    assert (listed["type"], listed["plugin"]) == ("struct", "relais-loops")
    assert {field["name"] for field in listed["takes"]["fields"]} == set(listed["default"])
    with relais.PassContext(config={name: {"auto_max_step": 16}}) as context:
        assert context.config[name] == {**listed["default"], "auto_max_step": 16}
    faults = [
        ({name: {"no_such": 1}}, "no_such"),
        ({name: 3}, "tir.UnrollLoop"),
        ({name: {"auto_max_step": "x"}}, "auto_max_step"),
        ({"tir.UnrolLoop": {}}, "tir.UnrollLoop"),
    ]
    for config, words in faults:
        with pytest.raises(AttributeError, match=words) as caught:
            relais.PassContext(config=config)
        assert isinstance(caught.value, relais.ConfigError) and isinstance(caught.value, relais.PipelineError)


def test_an_option_reaches_its_pass():
    module = relais.parse(COPY)
    unroll = relais.get_pass("UnrollLoop")
    assert unroll(module) is module
    with relais.PassContext(config={"tir.UnrollLoop": {"auto_max_step": 16}}):
        assert "for" not in [node.op for node in unroll(module)["copy"].nodes]


LEVELS = """def @main(%x: Tensor[(8), float32]) -> (%r) #[opset = {"": 17}] {
  %c = Add(const(float32, 1.0), const(float32, 2.0));
  %y = @copy(%x);
  %r = Mul(%y, %c);
  %r
}

"""


def test_a_sequence_goes_through_both_levels():
    @relais.pass_instrument
    class Levels:
        def __init__(self):
            self.seen = []

        def run_after_pass(self, mod, info):
            self.seen.append((info.name, "Add" in mod["main"].ops, "for" in [node.op for node in mod["copy"].nodes]))

    levels = Levels()
    names = ["relax.transform.FoldConstant", "tir.transform.Simplify", "tir.transform.UnrollLoop"]
    sequence = relais.transform.Sequential([relais.get_pass(name) for name in names])
    with relais.PassContext(opt_level=3, config={"tir.UnrollLoop": {"auto_max_step": 16}}, instruments=[levels]):
        made = sequence(relais.parse(LEVELS + COPY))
    at = [(name, *seen) for name, *seen in levels.seen if name in ("relais.FoldConstant", "relais.UnrollLoop")]
    assert at == [("relais.FoldConstant", False, True), ("relais.UnrollLoop", False, False)]
    assert str(made).count("%y[") == 8


def test_headings_name_passes(module, capsys):
    with relais.PassContext(instruments=[instrument.PrintBeforeAll(), instrument.PrintAfterAll()]):
        relais.Sequential([relais.get_pass("EliminateNoOp")], name="acme.pipeline")(module)
    printed = capsys.readouterr().err
    for name, times in (("acme.pipeline", 0), ("relais.InferType", 1), ("relais.EliminateNoOp", 1)):
        assert printed.count(f"// before `{name}`") == printed.count(f"// after `{name}`") == times, printed


TWICE = """def @main(%x: Tensor[(1, 2, 4, 4), float32]) -> (%y) #[opset = {"": 17}] {
  %c = const(float32, (2, 2, 1, 1), [1.0, 2.0, 3.0, 4.0]);
  %one = const(float32, (), [1.0]);
  %two = Add(%one, %one);
  %a = Conv(%x, %c);
  %b = Mul(%a, %two);
  %d = Mul(%a, %two);
  %y = Add(%b, %d);
  %y
}
"""


def test_a_sequence_in_a_context_of_level_3():
    names = ["InferType", "FoldConstant", "EliminateCommonSubexpr", "AlterOpLayout"]
    module = relais.parse(TWICE)
    with relais.PassContext(opt_level=3):
        result = relais.Sequential([relais.get_pass(name) for name in names])(module)
    # The constant is computed, and the second product is the first.
    assert result["main"].ops == ["Conv", "Mul", "Add"]
    twos = [node.tensor.numpy() for node in result["main"].nodes if node.name == "two"]
    assert len(twos) == 1 and (twos[0] == np.float32(2)).all()
    (add,) = result["main"].calls("Add")
    assert add.args[0] == add.args[1] and add.shape == (1, 2, 4, 4)
    # Passes of level 3 do not run at level 2, and the rest does.
    assert relais.get_pass("EliminateCommonSubexpr").info.opt_level == 3
    result = relais.Sequential([relais.get_pass(name) for name in names])(module)
    assert result["main"].ops == ["Conv", "Mul", "Mul", "Add"]


def test_sequences_in_sequences_and_passes_of_both_kinds(two):
    ran = []
    own = relais.module_pass(lambda mod, ctx: ran.append("module"), opt_level=1, name="acme.Module")
    each = relais.function_pass(lambda func, mod, ctx: ran.append(func.name), opt_level=0, name="acme.Each")
    last = relais.module_pass(lambda mod, ctx: ran.append("last"), opt_level=2, name="acme.Last")
    inner = relais.Sequential([own, each, last], name="acme.inner")
    outer = relais.Sequential([inner, each])
    with relais.PassContext(opt_level=1):
        outer(two)
    assert ran == ["module", "main", "other", "main", "other"]
    # A sequence of a higher level than the context's does not run within another one.
    ran.clear()
    with relais.PassContext(opt_level=0):
        relais.Sequential([relais.Sequential([each], opt_level=1, name="acme.high"), each])(two)
    assert ran == ["main", "other"]


def test_an_empty_sequence(two):
    assert relais.Sequential([])(two) is two and relais.Sequential()(relais.IRModule()) == relais.IRModule()


class Fault(Exception):
    pass


def recorder(name, events, fails=()):
    @relais.pass_instrument
    class Recorder:
        def enter_pass_ctx(self):
            self.note("enter")

        def exit_pass_ctx(self):
            self.note("exit")

        def should_run(self, mod, info):
            self.note(f"should_run {info.name}")
            return True

        def run_before_pass(self, mod, info):
            self.note(f"before {info.name}")

        def run_after_pass(self, mod, info):
            self.note(f"after {info.name}")

        def note(self, event):
            events.append(f"{name} {event}")
            if event in fails:
                raise Fault(f"{name} {event}")

    return Recorder()


def test_two_instruments_and_two_passes(module):
    events = []
    a, b = (relais.module_pass(lambda mod, ctx: None, opt_level=0, name=name) for name in ("acme.A", "acme.B"))
    with relais.PassContext(instruments=[recorder("1", events), recorder("2", events)]):
        a(module)
        b(module)
    expected = [f"{n} {hook} {name}" for name in ("acme.A", "acme.B") for hook in ("should_run", "before", "after") for n in (1, 2)]
    assert events == ["1 enter", "2 enter", *expected, "1 exit", "2 exit"]


def test_exceptions_while_instruments_are_exchanged():
    """As in a context that is entered or left, but on the one that is there."""
    events = []
    current = relais.PassContext.current()
    current.override_instruments([])
    three = [recorder("1", events), recorder("2", events, ["enter"]), recorder("3", events)]
    with pytest.raises(Fault, match="2 enter"):
        current.override_instruments(three)
    assert events == ["1 enter", "2 enter", "1 exit"] and current.instruments == []
    events.clear()
    three = [recorder("1", events), recorder("2", events, ["exit"]), recorder("3", events)]
    current.override_instruments(three)
    with pytest.raises(Fault, match="2 exit"):
        current.override_instruments([recorder("4", events)])
    assert events == ["1 enter", "2 enter", "3 enter", "1 exit", "2 exit"] and current.instruments == []


def test_an_exception_in_the_exit_of_the_second_of_three():
    events = []
    context = relais.PassContext(instruments=[recorder(str(n), events, ["exit"] if n == 2 else []) for n in (1, 2, 3)])
    with pytest.raises(Fault, match="2 exit"), context:
        pass
    assert events == ["1 enter", "2 enter", "3 enter", "1 exit", "2 exit"] and context.instruments == []


@pytest.mark.parametrize("hook", ["skipped", "failed", "counted", "said"])
def test_an_exception_in_each_hook_that_tvm_does_not_have(module, hook):
    """It comes out, unless another one does, and the next run is as ever."""

    class Hooks(instrument.PassInstrument):
        def should_run(self, mod, info):
            return info.name != "acme.Vetoed"

    def raises(self, *given):
        raise Fault(hook)

    watching = type("Watching", (Hooks,), {hook: raises})()

    @relais.module_pass(opt_level=0, name="acme.Fails")
    def fails(mod, ctx):
        raise KeyError("the pass")

    vetoed = relais.module_pass(lambda mod, ctx: None, opt_level=0, name="acme.Vetoed")
    runs = {
        "skipped": (lambda: vetoed(module), Fault),
        "failed": (lambda: fails(module), KeyError),
        "counted": (lambda: relais.get_pass("EliminateNoOp")(module), Fault),
        "said": (lambda: relais.get_pass("PrintIR")(module), Fault),
    }
    run, error = runs[hook]
    with relais.PassContext(instruments=[watching]) as context:
        with pytest.raises(error) as caught:
            run()
        # A hook that is told of a failure does not hide it.
        assert caught.value.args == (("the pass",) if hook == "failed" else (hook,))
        assert len(context.instruments) == 1
    assert relais.get_pass("EliminateNoOp")(module)["main"].ops == ["Neg", "Neg", "Relu"]
    assert relais.PassContext.current().opt_level == 2

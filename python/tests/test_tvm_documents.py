"""The blocks of Python in TVM's pages on its pass infrastructure, in their order, with the names changed.

| block there | here |
|---|---|
| `class PassContext`, with `__enter__`, `__exit__` and `current` | a native class with these methods |
| `class Pass`, with `__call__` | the same |
| `def FoldConstant()` | `relais_onnx.passes.FoldConstant()` |
| a module pass that adds the function `abs` | `Builder` in place of `relay.var`, `relay.Function` and `TensorType` |
| the pass applied to an empty module | the same |
| a function pass that replaces each function; a class with an argument | the same |
| `override_instruments` on the current context, and `get_result` | the same |
"""

from __future__ import annotations

import inspect

import conftest

import relais_onnx as relais
from relais_onnx import transform


def test_a_context_is_entered_left_and_current(module):
    assert list(inspect.signature(relais.PassContext.__exit__).parameters)[0] == "self"
    context = relais.PassContext(opt_level=3)
    assert context.__enter__() is context and relais.PassContext.current() is context
    assert context.__exit__(None, None, None) in (None, False)
    assert relais.PassContext.current() is not context


def test_a_pass_is_called(module):
    class Derived(transform.ModulePass):
        pass

    calls = []
    made = Derived(lambda mod, ctx: calls.append(ctx.opt_level), 0, "acme.Derived")
    assert isinstance(made, relais.Pass) and made.__call__(module) is module and made(module) is module
    assert calls == [2, 2]


def test_a_shipped_pass_has_a_function():
    from relais_onnx import passes

    def fold_constant():
        return passes.FoldConstant()

    made = fold_constant()
    assert isinstance(made, relais.Pass) and made.info.name == "relais.FoldConstant"
    assert "Relu" in made(relais.parse(conftest.TEXT))["main"].ops


def test_a_module_pass_adds_a_function(module):
    @transform.module_pass(opt_level=2)
    def transform_(mod, ctx):
        build = relais.Builder(17)
        x = build.input("x", "float32", (10,))
        build.output(build.Abs(x))
        return relais.IRModule({"abs": build.result(), **dict(mod)})

    module_pass = transform_
    assert isinstance(module_pass, transform.ModulePass)
    assert module_pass.info.opt_level == 2
    assert list(module_pass(module)) == ["abs", "main"]

    mod = relais.IRModule()
    mod = module_pass(mod)
    assert list(mod) == ["abs"] and mod["abs"].ops == ["Abs"] and mod["abs"].params[0].shape == (10,)


def test_a_function_pass_replaces_each_function(two):
    @transform.function_pass(opt_level=1)
    class TestReplaceFunc:
        def __init__(self, new_func):
            self.new_func = new_func

        def transform_function(self, func, mod, ctx):
            return self.new_func

    def function(*ops):
        build = relais.Builder(17)
        x = build.input("x", "float32", (10, 20))
        value = x
        for op in ops:
            value = build.call(op, value)
        build.output(value)
        return build.result()

    f1, f2 = function(), function("Log")
    # Every function of the module becomes the function that the pass was made with.
    input_mod = relais.IRModule({"f2": f2, "g": f2})
    res_mod = TestReplaceFunc(f1)(input_mod)
    assert [(name, res_mod[name].ops) for name in res_mod] == [("f2", []), ("g", [])]
    assert [TestReplaceFunc(f2)(res_mod)[name].ops for name in res_mod] == [["Log"], ["Log"]]
    assert input_mod["g"].ops == ["Log"]


def test_the_instruments_of_the_current_context(module):
    @relais.pass_instrument
    class Names:
        def __init__(self):
            self.events = []

        def enter_pass_ctx(self):
            self.events.append("enter")

        def exit_pass_ctx(self):
            self.events.append("exit")

        def run_before_pass(self, mod, info):
            self.events.append(info.name)

        def get_result(self):
            return self.events

    old, pass_inst = Names(), Names()
    pass_seq = relais.Sequential([relais.get_pass("EliminateNoOp")], name="acme.seq")
    cur_pass_ctx = relais.PassContext.current()
    cur_pass_ctx.override_instruments([old])
    cur_pass_ctx.override_instruments([pass_inst])
    # Those of before are left, then the new ones are entered.
    assert (old.get_result(), pass_inst.get_result()) == (["enter", "exit"], ["enter"])
    mod = pass_seq(module)
    result = pass_inst.get_result()
    assert result == ["enter", "acme.seq", "relais.InferType", "relais.EliminateNoOp"]
    assert mod["main"].ops == ["Neg", "Neg", "Relu"]
    cur_pass_ctx.override_instruments([])
    assert pass_inst.get_result()[-1] == "exit"

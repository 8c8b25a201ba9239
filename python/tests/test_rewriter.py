"""Rules of Python programs, and the judge of passes."""

from __future__ import annotations

import threading

import conftest
import numpy as np
import pytest

import relais_onnx as relais
from relais_onnx import RuleError, StaleNodeError, rewrite, rule, testing
from relais_onnx.rewriter import AnyAttr, AttrVar, Const, Rest

SILU = """def @main(%x: Tensor[("N", 3), float32]) -> (%y) #[opset = {"": 17}] {
  %s = Sigmoid(%x);
  %m = Mul(%x, %s);
  %c = const(float32, (), [0.5]);
  %d = Div(%m, %c);
  %t = Transpose(%d, perm = [1, 0]);
  %y = Relu(%t);
  %y
}
"""

SPLIT = """def @main(%x: Tensor[(2, 4), float32]) -> (%y) #[opset = {"": 17}] {
  %s = Split(%x, axis = 1) -> 2;
  %p = %s[0];
  %q = %s[1];
  %y = Concat(%q, %p, axis = 1);
  %y
}
"""


def ops(pass_, text: str = SILU) -> list[str]:
    return pass_(relais.parse(text))["main"].ops


def test_rules_as_text():
    silu = rule("silu: Mul(x, Sigmoid(x)) => acme::Silu(x)", judge=False)
    assert (silu.info.name, silu.info.opt_level, silu.info.required) == ("silu", 0, [])
    after = silu(relais.parse(SILU))["main"]
    assert after.ops == ["Sigmoid", "acme::Silu", "Div", "Transpose", "Relu"]
    module = relais.parse(SPLIT)
    assert silu(module) is module


def test_rules_are_members_of_sequences():
    silu = rule("Mul(x, Sigmoid(x)) => acme::Silu(x)", name="acme.Silu", opt_level=2, required=["InferType"], judge=False)
    clean = relais.Sequential([silu, relais.get_pass("DeadCodeElimination")])
    assert clean(relais.parse(SILU))["main"].ops == ["acme::Silu", "Div", "Transpose", "Relu"]
    with relais.PassContext(opt_level=1):
        assert "acme::Silu" not in clean(relais.parse(SILU))["main"].ops
    relais.register_pass(silu)
    assert "acme::Silu" in relais.optimize(relais.parse(SILU), passes=["acme.Silu"])["main"].ops


def test_a_right_side_that_is_a_function():
    seen = []

    with pytest.raises(relais.PassFailed, match="still rewriting"):
        rule("Relu(x)", lambda op, x: op.Relu(x), where="rank(x) == 2, elem(x) == float32", judge=False)(relais.parse(SILU))

    def swish(op, x):
        seen.append((x.name, x.kind, x.shape, x.dtype, x.op, x.args))
        op.Relu(op.Neg(x))  # nothing needs it
        return op.Elu(x, alpha=1)

    after = rule("Mul(x, Sigmoid(x))", swish, where="rank(x) == 2", judge=False)(relais.parse(SILU))["main"]
    assert seen == [("x", "param", ("N", 3), "float32", None, [])]
    assert after.ops == ["Sigmoid", "Elu", "Div", "Transpose", "Relu"]
    assert after.calls("Elu")[0].attrs == {"alpha": 1.0} and after.calls("Elu")[0].name == "m"
    seen.clear()
    assert "Elu" not in ops(rule("Mul(x, Sigmoid(x))", swish, where="rank(x) == 3", judge=False)) and seen == []


def test_a_function_declines():
    module = relais.parse(SILU)
    for answer in (lambda op, x: None, lambda op: op.decline("not today"), lambda op, x: x if x.op else None):
        assert rule("Mul(x, Sigmoid(x))", answer, judge=False)(module) is module


def test_variables_of_every_sort():
    seen = {}

    def make(op, c, p, d):
        seen.update(c=c.tensor.numpy().tolist(), p=p, d=d.op, splat=c.tensor.is_splat)
        return op.Transpose(op.Mul(d.args[0], op.constant(np.float32(2.0))), perm=p)

    after = rule("Transpose{perm = p}(Div(_, const c) as d)", make, judge=False)(relais.parse(SILU))["main"]
    assert seen == {"c": 0.5, "p": [1, 0], "d": "Div", "splat": seen["splat"]}
    assert after.ops == ["Sigmoid", "Mul", "Div", "Mul", "Transpose", "Relu"]

    def reverse(op, parts, a):
        seen["parts"] = [part.op or part.kind for part in parts]
        return op.Concat(*reversed(parts), axis=a) if parts[0].name == "q" else None

    result = rule("Concat{axis = a}(..parts)", reverse, judge=False)(relais.parse(SPLIT))["main"]
    assert seen["parts"] == ["item", "item"] and [arg.name for arg in result.calls("Concat")[0].args] == ["p", "q"]


def test_several_results():
    def make(op, x):
        low, high = op.Split(op.Neg(x), axis=1, _outputs=2)
        return [low, high]

    split = rule("Split{axis = 1}(x)", lambda op, x: make(op, x) if x.kind == "param" else None, judge=False)
    assert split(relais.parse(SPLIT))["main"].ops == ["Neg", "Split", "Concat"]
    with pytest.raises(relais.PassFailed, match="gave 1 results for 2"):
        rule("Split{axis = 1}(x)", lambda op, x: op.Neg(x), judge=False)(relais.parse(SPLIT))


def test_conditions_that_are_functions():
    asked = []

    def is_half(c):
        asked.append(c.op)
        return bool(c.tensor.numpy() == 0.5)

    text = "Div(x, const c) => Mul(x, 2.0) if is_half(c)"
    assert "Div" not in ops(rule(text, conditions=[is_half], judge=False)) and asked == [None]
    assert "Div" in ops(rule(text, conditions={"is_half": lambda c: "it is odd"}, judge=False))
    with pytest.raises(TypeError, match="what a condition returns must be a bool"):
        rule(text, conditions={"is_half": lambda c: 1}, judge=False)(relais.parse(SILU))


def test_exceptions_come_out_as_themselves():
    calls = []

    def fails(op, x):
        calls.append(x)
        raise KeyError("on purpose")

    with pytest.raises(KeyError, match="on purpose") as caught:
        rule("Relu(x)", fails, name="acme.Fails", judge=False)(relais.parse(SILU + SILU.replace("@main", "@other")))
    assert caught.value.__notes__ == ["in the pass `acme.Fails`, in `@main`"] and len(calls) == 2
    assert ops(rule("Relu(x) => Abs(x)", judge=False))[-1] == "Abs", "nothing is left behind"


def test_nodes_of_a_match_do_not_outlive_it():
    kept = []
    rule("Relu(x)", lambda op, x: kept.extend([op, x, op.Neg(x)]), judge=False)(relais.parse(SILU))
    op, x, made = kept
    for use in (lambda: x.shape, lambda: x.args, lambda: op.Neg(x), lambda: op.constant(1.0)):
        with pytest.raises(StaleNodeError, match="the match is over"):
            use()
    with pytest.raises(AttributeError, match="no function"):
        x.function

    def later(op, y):
        return op.Relu(made)

    with pytest.raises(StaleNodeError):
        rule("Relu(y)", later, judge=False)(relais.parse(SILU))
    with pytest.raises(relais.ModelError, match="a node of a function"):
        rule("Relu(y)", lambda op, y: op.Abs(relais.parse(SILU)["main"].params[0]), judge=False)(relais.parse(SILU))
    # A run within a function has matches of its own.
    inner = rule("Neg(z)", lambda op, z: z, judge=False)

    def outer(op, y):
        assert inner(relais.parse(conftest.TEXT))["main"].ops == ["Identity", "Relu"]
        return op.Abs(y) if y.op == "Transpose" else None

    assert ops(rule("Relu(y)", outer, judge=False))[-1] == "Abs"


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda op, x: 3, TypeError, "what a right side returns must be a Node"),
        (lambda op, x: op.Relu(1.0), TypeError, "argument 0 must be a Node"),
        (lambda op, x: op.relu(x), AttributeError, "capital letter"),
        (lambda op, x: op.Elu(x, alpha="a"), TypeError, "attribute `alpha` must be of the kind `float`"),
        (lambda op, x: op.Foo(x), relais.PassFailed, "has no such operator"),
        (lambda op, x: op.Own(x, _domain="acme", _outputs=2), ValueError, "has one result here"),
        (lambda op, x: x.users, AttributeError, "users"),
    ],
)
def test_bad_right_sides(make, error, text):
    with pytest.raises(error, match=text):
        rule("Relu(x)", make, judge=False)(relais.parse(SILU))


@pytest.mark.parametrize(
    ("use", "error", "text"),
    [
        (lambda: rule("Neg(Neg(x) => x"), RuleError, r"rule:1:\d+: .*expected"),
        (lambda: rule("Neg(x) => y"), RuleError, "`y` is not bound"),
        (lambda: rule(3), TypeError, "a rule must be a str"),
        (lambda: rule("Neg(x) => x", lambda op, x: x), TypeError, "without `=>`"),
        (lambda: rule("Neg(x) => x", where="rank(x) == 2"), TypeError, "`where` belongs"),
        (lambda: rule("Neg(x)", lambda op, y: y), TypeError, "no variable `y`; its variables are `x`"),
        (lambda: rule("Neg(x)", lambda: None), TypeError, "must take what makes calls"),
        (lambda: rule("Neg(x)", lambda op, *xs: None), TypeError, "must be an ordinary one"),
        (lambda: rule("(p = Neg(x), q = Abs(x))", lambda op, x: x), RuleError, "2 outermost calls"),
        (lambda: rule("Neg(x)", 3), TypeError, "`replacement` must be callable"),
        (lambda: rule("Neg(x) => x", conditions={"f": len}), ValueError, "no rule has a condition `f`"),
        (lambda: rule("Neg(x) => x if f(x)", conditions={"f": 3}), TypeError, "the condition `f` must be callable"),
        (lambda: rule("Neg(x) => x if f(x)"), RuleError, "`f`"),
        (lambda: rule("tir::neg(tir::neg(x))", lambda op, x: x), RuleError, "makes calls of graphs"),
        (lambda: rule("tir::neg(tir::neg(x)) => x; Neg(Neg(x)) => x"), RuleError, "for loop programs, by its operator"),
        (lambda: rule("Neg(x) => x", judge=1), TypeError, "`judge` must be a bool"),
        (lambda: rule("Neg(x) => x", opt_level="2"), TypeError, "`opt_level`"),
        (lambda: rewrite(3), TypeError, "traced from a function"),
        (lambda: rewrite(lambda op, x: x), TypeError, "must return a call"),
        (lambda: rewrite(lambda op, x: op.Neg(x if x else x)), TypeError, "is a symbol"),
        (lambda: rewrite(lambda op, x: op.Neg(object())), TypeError, "an argument in a pattern"),
        (lambda: rewrite(lambda op, x: op.Neg(x, _output=1)), TypeError, "`_output` is not"),
        (lambda: rewrite(lambda op, x: op.neg(x)), AttributeError, "capital letter"),
        (lambda: rewrite(lambda op, x: op.Elu(x, alpha=None)), TypeError, "not a value of an attribute"),
        (lambda: Const("x"), TypeError, "a number"),
        (lambda: AttrVar("a b"), ValueError, "not a name"),
    ],
)
def test_bad_rules(use, error, text):
    with pytest.raises(error, match=text):
        use()


LOOP = """prim @main(%x: Tensor[(4), float32]) -> (%y: Tensor[(4), float32]) {
  for %i in 0..4 {
    %y[%i] = -(-%x[%i]);
  }
}
"""


def test_rules_for_loop_programs():
    module = relais.parse(LOOP)
    graph = relais.parse(SILU)
    negneg = rule("tir::neg(tir::neg(x)) => x", name="test.NegNeg")
    assert "= %x[%i]" in str(negneg(module)) and negneg(graph) == graph
    assert "= %x[%i]" in str(relais.optimize(module, passes=[negneg, "RemoveNoOp"]))
    seen = []

    def holds(x):
        seen.append((x.op, x.dtype, x.shape))
        return x.dtype == "float64" or "the type is another"

    declines = rule("tir::neg(tir::neg(x)) => x if holds(x)", conditions={"holds": holds}, judge=False)
    assert declines(module) == module and seen == [("load", "float32", ())]
    with pytest.raises(RuleError, match="changes what a module computes"):
        rule("tir::exp(tir::log(x)) => x")(module)


def test_unknown_operators_are_refused_before_anything_runs():
    with pytest.raises(relais.PassFailed, match="no plugin describes an operator `acme::Foo`"):
        rule("acme::Foo(x) => x", judge=False)(relais.parse(SILU))


def test_traced_patterns():
    @rewrite(name="acme.Silu", opt_level=1, judge=False)
    def silu(op, x):
        return op.Mul(x, op.Sigmoid(x))

    @silu.check
    def _(x):
        return x.dtype == "float32" or f"elements of {x.dtype}"

    with pytest.raises(RuleError, match="has no right side"):
        silu.as_pass()

    @silu.replace
    def made(op, x):
        return op.Silu(x, _domain="acme")

    assert silu.text == "Mul(x, Sigmoid(x))" and silu.variables == ["x"]
    assert made.info.name == "acme.Silu" and made.info.opt_level == 1 and made is silu.as_pass()
    assert silu(relais.parse(SILU))["main"].ops == ["Sigmoid", "acme::Silu", "Div", "Transpose", "Relu"]
    double = SILU.replace("float32", "float64")
    assert ops(silu, double) == relais.parse(double)["main"].ops
    for again in (silu.check, silu.replace):
        with pytest.raises(TypeError, match="already"):
            again(lambda op, x: x)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (lambda op, x: op.Neg(op.Neg(x)), "Neg(Neg(x))"),
        (lambda op, x, lo=None: op.Clip(x, lo, 6.0), "Clip(x, ?lo, 6.0)"),
        (lambda op, x: op.Clip(x, None, Const(6, rtol=1e-3)), "Clip(x, none, 6 ~ 0.001)"),
        (lambda op, x: op.Reshape(x, Const([2, -1])), "Reshape(x, [2, -1])"),
        (lambda op, x: op.Transpose(x, perm=AttrVar("p")), "Transpose{perm = p}(x)"),
        (lambda op, x: op.Elu(x, alpha=AnyAttr()), "Elu{alpha = _}(x)"),
        (lambda op, x, w: op.Conv(x, w, group=1, _any_attrs=True, _name="conv"), "Conv{group = 1, ..}(x, w) as conv"),
        (lambda op, x, y: op.Relu(op.Add(x, y, _shared=True)), "Relu(Add(x, y) !)"),
        (lambda op, x: op.Neg(op.Split(x, axis=0, _outputs=2)[1]), "Neg(Split{axis = 0}(x)[1])"),
        (lambda op, x: op.Cast(op.Silu(x, _domain="com.acme"), to=1), "Cast{to = 1}(com.acme::Silu(x))"),
    ],
)
def test_what_patterns_are_traced_to(pattern, text):
    assert rewrite(pattern).text == text


def test_annotations_of_traced_patterns():
    @rewrite
    def pattern(op, c: Const, xs: Rest):
        return op.Concat(c, xs, axis=0)

    assert pattern.text == "Concat{axis = 0}(const c, ..xs)"
    with pytest.raises(TypeError, match="is used twice"):

        @rewrite
        def twice(op, x):
            s = op.Sigmoid(x)
            return op.Mul(s, s)

    @rewrite(judge=False)
    def named(op, x):
        s = op.Sigmoid(x, _name="s")
        return op.Mul(s, s)

    assert named.text == "Mul(Sigmoid(x) as s, s)"


def test_rules_are_judged_before_their_first_use():
    module = relais.parse(SILU)
    wrong = rule("Relu(x) => Abs(x)")
    for _ in range(2):
        with pytest.raises(RuleError, match="rule `rule` changes what a module computes"):
            wrong(module)
    with pytest.raises(RuleError, match="rule `bad` changes"):
        relais.get_pass("Rewrite", rules=["bad: Relu(x) => Abs(x)"])(module)
    with pytest.raises(RuleError):
        relais.Sequential([wrong])(module)
    with pytest.raises(RuleError):
        rule("Relu(x)", lambda op, x: op.Abs(x))(module)


def test_the_judge(check_pass):
    assert check_pass(rule("Neg(Neg(x)) => x"), modules=2).summary.endswith("compared")

    @relais.function_pass(opt_level=0, name="acme.Wrong")
    def wrong(func, mod, ctx):
        with func.edit() as edit:
            for call in edit.calls("Relu"):
                edit.replace(call, edit.Abs(call.args[0]))
        return edit.result()

    with pytest.raises(relais.CheckFailed, match="`acme.Wrong` is wrong") as caught:
        check_pass(wrong, modules=0, samples=[SILU.replace('"N"', "4")])
    assert caught.value.findings[0].kind == "numbers" and "Relu" in caught.value.findings[0].module

    @relais.module_pass(opt_level=0)
    def fails(mod, ctx):
        raise KeyError("on purpose")

    with pytest.raises(KeyError, match="on purpose"):
        check_pass(fails, modules=0, samples=[SILU])
    check_pass(fails, modules=0, samples=[SILU], allow_errors=True)
    for bad, text in ((3, "must be a Pass"), (rule("Neg(x) => x"), "a list of modules")):
        with pytest.raises(TypeError, match=text):
            testing.check(bad, samples=SILU)


def test_rules_on_several_threads():
    swish = rule("Mul(x, Sigmoid(x))", lambda op, x: op.Elu(x), judge=False)
    errors = []

    def work():
        try:
            for _ in range(20):
                assert "Elu" in ops(swish)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert errors == []


def test_attributes_of_what_makes_calls():
    seen = []

    def make(op, x):
        seen.append((repr(op), type(op).__name__, hasattr(op, "nothing"), callable(op.decline), "constant" in dir(op)))
        with pytest.raises(AttributeError, match="no attribute `_private` here"):
            op._private
        with pytest.raises(AttributeError):
            op.Elu = 1
        with pytest.raises(TypeError):
            getattr(op, 3)
        return getattr(op, "Elu")(x)

    assert "Elu" in ops(rule("Relu(x)", make, judge=False))
    assert seen[0] == ("<Maker of a right side>", "Maker", False, True, True)


def test_the_kit_knows_of_passes_that_change_the_interface():
    def another_output(mod, ctx):
        if "main" not in mod or any(result.name == "extra" for result in mod["main"].results) or not mod["main"].params:
            return None
        try:
            with mod["main"].edit() as editor:
                editor.output(editor.params[0], "extra")
        except relais.ModelError:
            return None
        return mod.with_function("main", editor.result())

    summary = relais.testing.check(relais.module_pass(another_output, opt_level=0, changes_interface=True), modules=16).summary
    assert " 0 changed" not in summary and " 0 failed" in summary
    with pytest.raises(relais.CheckFailed, match="refused: it changes the interface"):
        relais.testing.check(relais.module_pass(another_output, opt_level=0), modules=16)

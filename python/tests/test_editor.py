"""Editing and building functions, visitors and mutators."""

from __future__ import annotations

import array
import gc
import threading

import conftest
import numpy as np
import onnx
import pytest

import relais_onnx as relais
from relais_onnx import DROP, ModelError, StaleNodeError

BRANCHES = """def @main(%c: Tensor[(), bool], %x: Tensor[(2, 3), float32]) -> (%y) #[opset = {"": 17}] {
  %k = Abs(%x);
  %y = if (%c) {
    %a = Neg(%k);
    %a
  } else {
    %b = Exp(%x);
    %b
  };
  %y
}
"""

SPLIT = """def @main(%x: Tensor[(2, 4), float32]) -> (%y) #[opset = {"": 17}] {
  %s = Split(%x, axis = 1) -> 2;
  %p = %s[0];
  %q = %s[1];
  %y = Add(%p, %q);
  %y
}
"""


def main(text: str = conftest.TEXT) -> relais.Function:
    return relais.get_pass("InferType")(relais.parse(text))["main"]


def named(where, name):
    return next(node for node in [*where.params, *where.nodes] if node.name == name)


def lines(function: relais.Function) -> list[str]:
    return [line.strip() for line in str(function).splitlines()[1:-1]]


def test_a_call_takes_the_place_of_another():
    before = main()
    with before.edit() as edit:
        b = named(edit, "b")
        edit.replace(b, edit.Elu(b.args[0], alpha=0.5))
        assert b not in edit and before.nodes[1] not in edit and before.nodes[0] in edit
    after = edit.result()
    assert after.ops == ["Identity", "Elu", "Neg", "Relu"] and before.ops == ["Identity", "Neg", "Neg", "Relu"]
    # It got the name, and its place is where the old one was.
    assert lines(after)[1] == "%b: Tensor[(2, 3), float32] = Elu(%a, alpha = 0.5);"
    assert edit.result() is after


def test_nothing_edited_is_the_same_object():
    function = main()
    with function.edit() as edit:
        pass
    assert edit.result() is function
    with function.edit() as edit:
        edit.constant(1.0)
    assert edit.result() == function, "nothing uses the constant"


def test_an_exception_discards_everything():
    function = main()
    with pytest.raises(KeyError):
        with function.edit() as edit:
            edit.remove(edit.results[0])
            raise KeyError("on purpose")
    with pytest.raises(StaleNodeError, match="discarded"):
        edit.result()


def test_cycles_are_refused():
    function = main()
    edit = function.edit()
    late = edit.Exp(named(edit, "c"))
    edit.replace_uses(named(edit, "a"), late)
    with pytest.raises(ModelError, match="would be computed from itself"):
        edit.result()
    with pytest.raises(StaleNodeError):
        edit.result()


def test_uses_by_the_new_node_stay():
    function = main()
    with function.edit() as edit:
        a = named(edit, "a")
        edit.replace_uses(a, edit.Mul(edit.Abs(a), a))
    assert edit.result().ops == ["Identity", "Abs", "Mul", "Neg", "Neg", "Relu"]


def test_order_follows_uses():
    function = main()
    with function.edit() as edit:
        c, x = named(edit, "c"), edit.params[0]
        # `%b` is used before it is made.
        edit.set_args(named(edit, "b"), [x])
        edit.set_args(named(edit, "a"), [c])
        edit.replace(edit.results[0], edit.Relu(named(edit, "a")))
    assert edit.result().ops == ["Neg", "Neg", "Identity", "Relu"]


def test_types_are_inferred_again():
    function = main()
    with function.edit() as edit:
        x = edit.params[0]
        wide = edit.Concat(x, x, axis=1)
        assert wide.shape == (2, 6) and wide.dtype == "float32"
        edit.replace_uses(named(edit, "a"), wide)
    result = edit.result()
    assert [node.shape for node in result.nodes if node.op == "Neg"] == [(2, 6)] * 2
    assert result.results[0].shape == (2, 6)
    with main().edit() as edit:
        edit.replace_uses(named(edit, "a"), edit.Cast(edit.params[0], to=11))
    assert edit.result().results[0].dtype == "float64"


def test_declared_outputs_follow():
    model = relais.from_proto(conftest.network())
    with model["main"].edit() as edit:
        out = edit.results[0]
        edit.replace_uses(out, edit.Cast(out, to=onnx.TensorProto.DOUBLE, _name="wide"))
    proto = model.with_function("main", edit.result()).to_proto()
    onnx.checker.check_model(proto, full_check=True)
    assert proto.graph.output[0].type.tensor_type.elem_type == onnx.TensorProto.DOUBLE
    np.testing.assert_array_equal(conftest.outputs(proto)[0], conftest.outputs(conftest.network())[0])


def test_an_edit_that_makes_a_later_call_invalid_is_refused():
    model = relais.optimize(relais.from_proto(conftest.network()))
    edit = model["main"].edit()
    product = next(call for call in edit.calls("MatMul"))
    edit.set_args(product, [product.args[0], edit.constant(np.ones((7, 5), np.float32))])
    with pytest.raises(ModelError, match="MatMul.* is invalid after the edit"):
        edit.result()


def test_attributes():
    with main().edit() as edit:
        elu = edit.Elu(named(edit, "a"), alpha=2)
        edit.replace(named(edit, "b"), elu)
        assert elu.attrs == {"alpha": 2.0}
        edit.set_attr(elu, "alpha", 3.0)
        assert elu.attrs == {"alpha": 3.0}
        with pytest.raises(ModelError, match="no attribute `beta`"):
            edit.set_attr(elu, "beta", None)
        with pytest.raises(TypeError, match="attribute `alpha` must be of the kind `float`, not `str`"):
            edit.set_attr(elu, "alpha", "x")
        edit.set_attr(elu, "alpha", None)
        assert elu.attrs == {}
    assert "Elu" in edit.result().ops


def test_several_results():
    function = main(SPLIT)
    with function.edit() as edit:
        split = edit.calls("Split")[0]
        x = edit.params[0]
        low, high = edit.Split(edit.Neg(x), edit.constant([1, 3]), axis=1, _outputs=2)
        assert (low.shape, high.shape) == ((2, 1), (2, 3)) and low.kind == "item"
        with pytest.raises(ModelError, match="1 values were given for 2 results"):
            edit.replace(split, low)
        left, right = edit.Split(edit.Neg(x), axis=1, _outputs=2)
        edit.replace(split, [right, left])
    result = edit.result()
    assert result.ops == ["Neg", "Split", "Add"]
    assert [arg.name for arg in result.calls("Add")[0].args] == ["p", "q"]


def test_a_call_keeps_the_results_that_are_not_used():
    with main(SPLIT).edit() as edit:
        edit.replace(named(edit, "p"), edit.Neg(named(edit, "q")))
    model = relais.IRModule({"main": edit.result()}).to_proto()
    assert len(model.graph.node[0].output) == 2


def test_nested_functions():
    function = main(BRANCHES)
    with function.edit() as edit:
        neg = edit.calls("Neg")[0]
        edit.replace(neg, edit.Sin(edit.Cos(neg)))
        assert edit.calls("Neg") == [neg], "its use by the new node stays"
    result = edit.result()
    then, otherwise = next(node.regions for node in result.nodes if node.kind == "if")
    assert [node.op for node in then.body] == ["Neg", "Cos", "Sin"] and [node.op for node in otherwise.body] == ["Exp"]
    with function.edit() as edit:
        a, b = edit.calls("Neg")[0], edit.calls("Exp")[0]
        with pytest.raises(ModelError, match="not visible where the other arguments are"):
            edit.Add(a, b)
    edit = function.edit()
    edit.output(edit.params[1], "z")
    edit.set_args(edit.calls("Abs")[0], [edit.calls("Neg")[0]])
    with pytest.raises(ModelError, match="computed from itself|not visible|V10"):
        edit.result()


def test_a_value_from_outside_comes_before_the_branches():
    with main(BRANCHES).edit() as edit:
        edit.replace(edit.calls("Exp")[0], edit.Sin(edit.Tan(edit.params[1])))
    result = edit.result()
    assert [node.op for node in result.body][:3] == ["Abs", "Tan", "Sin"] or [node.op for node in result.body][:2] == [
        "Tan",
        "Sin",
    ]


def chosen(condition: bool) -> relais.IRModule:
    """Adds or multiplies, as the second input says."""
    build = relais.Builder(17)
    x, flag = build.input("x", "float32", [2]), build.input("flag", "bool", [])
    with build.graph() as then:
        then.output(build.Add(x, build.constant(1.0)))
        then.output(x)
    with build.graph() as otherwise:
        otherwise.output(build.Mul(x, x))
        otherwise.output(build.Neg(x))
    a, b = build.If(flag if condition else build.Not(flag), then_branch=then, else_branch=otherwise, _outputs=2)
    build.output(build.Sub(a, b), "y")
    return relais.IRModule({"main": build.result()})


def test_a_conditional_is_made():
    module = chosen(True)
    conditional = next(node for node in module["main"].nodes if node.kind == "if")
    assert [[node.op for node in region.body if node.kind == "call"] for region in conditional.regions] == [
        ["Add"],
        ["Mul", "Neg"],
    ]
    assert module["main"].results[0].shape == (2,)
    x = np.array([3.0, -2.0], np.float32)
    for negated in (True, False):
        proto = chosen(negated).to_proto()
        onnx.checker.check_model(proto, full_check=True)
        for flag in (True, False):
            (y,) = conftest.outputs(proto, feeds={"x": x, "flag": np.array(flag)})
            np.testing.assert_array_equal(y, (x + 1) - x if flag == negated else x * x + x)


def test_a_loop_is_made():
    build = relais.Builder(17)
    x = build.input("x", "float32", [2])
    body = build.graph()
    _, going, state = body.input("i", "int64", []), body.input("going", "bool", []), body.input("s", "float32", [2])
    with body:
        with build.graph() as small:
            small.output(build.Mul(state, build.constant(2.0)))
        with build.graph() as large:
            large.output(build.Add(state, x))
        norm = build.ReduceSum(build.Abs(state), keepdims=0)
        body.output(build.Identity(going))
        body.output(build.If(build.Less(norm, build.constant(10.0)), then_branch=small, else_branch=large))
    (y,) = build.Loop(build.constant(4), build.constant(True), x, body=body, _outputs=1)
    assert "1 output" not in repr(body) and "3 inputs and 2 outputs" in repr(body)
    build.output(y, "y")
    proto = relais.IRModule({"main": build.result()}).to_proto()
    onnx.checker.check_model(proto, full_check=True)
    x = np.array([1.0, 2.0], np.float32)
    np.testing.assert_array_equal(conftest.outputs(proto, feeds={"x": x})[0], x * 4 + x + x)


def test_a_graph_is_made_where_its_values_are():
    with main(BRANCHES).edit() as edit:
        neg, flag = edit.calls("Neg")[0], edit.params[0]
        with edit.graph() as then:
            then.output(edit.Sin(neg))
        with edit.graph() as otherwise:
            otherwise.output(edit.params[1])
        edit.replace_uses(neg, edit.If(flag, then_branch=then, else_branch=otherwise))
        with edit.graph() as one, pytest.raises(ModelError, match="not visible"):
            edit.Add(edit.Exp(edit.calls("Exp")[0]), neg)
        # It is left out with its call, which nothing uses.
        with edit.graph() as other:
            one.output(edit.params[1])
            other.output(edit.Tan(edit.Cos(edit.params[1])))
        edit.If(flag, then_branch=one, else_branch=other)
    outer = next(node for node in edit.result().nodes if node.kind == "if")
    then = outer.regions[0]
    assert [node.op or node.kind for node in then.body] == ["Neg", "if"]
    assert "Tan" not in str(edit.result()) and "Cos" not in str(edit.result())


def test_graphs_that_cannot_be():
    build = relais.Builder(17)
    x, flag = build.input("x", "float32", [2]), build.input("flag", "bool", [])
    one, none = build.graph(), build.graph()
    one.output(x)
    for make, why in [
        (lambda: build.If(flag, then_branch=one, else_branch=none), "whose branches have 1 and 0 results"),
        (lambda: build.If(flag, then_branch=one, else_branch=one), "given twice"),
        (lambda: build.If(flag, then_branch=one, else_branch=relais.Builder(17).graph()), "of another editor"),
        (lambda: build.Relu(x, body=one), "`body`"),
        (lambda: one.output(build.Split(x, _outputs=2)), "a Node"),
        (lambda: none.input("x", "float33"), "float33"),
    ]:
        with pytest.raises((ModelError, TypeError, ValueError), match=why):
            make()
    with one, pytest.raises(ModelError, match="is a graph that is open"):
        build.If(flag, then_branch=none, else_branch=one)
    with one, pytest.raises(ModelError, match="entered already"), one:
        pass
    with pytest.raises(ModelError, match="begun elsewhere"):
        with one:
            inner = build.graph()
        with none, inner:
            pass
    inner.output(x)
    none.output(x)
    y = build.If(flag, then_branch=one, else_branch=none)
    for late in (lambda: one.output(x), lambda: one.input("z", "float32"), one.__enter__):
        with pytest.raises(ModelError, match="was given to a call"):
            late()
    build.output(y, "y")
    with pytest.raises(ModelError, match="a graph was begun that no call has"):
        build.result()
    assert "was left" in repr(one)
    with pytest.raises(StaleNodeError):
        one.output(x)


def test_a_graph_is_not_in_itself():
    build = relais.Builder(17)
    x, flag = build.input("x", "float32", [2]), build.input("flag", "bool", [])
    with build.graph() as outer:
        with build.graph() as inner:
            value = build.Relu(x)
            inside = build.Not(flag)
        with pytest.raises(ModelError, match="not visible in the graph"):
            outer.output(value)
        inner.output(build.Neg(value))
    with build.graph() as other:
        other.output(x)
    with pytest.raises(ModelError, match="would be in a graph of its own"):
        build.If(inside, then_branch=inner, else_branch=other)
    with outer:
        outer.output(build.If(flag, then_branch=inner, else_branch=other))
    with build.graph() as last:
        last.output(x)
    build.output(build.If(flag, then_branch=outer, else_branch=last), "y")
    (top,) = (node for node in build.result().body if node.kind == "if")
    assert [node.kind for node in top.regions[0].body] == ["if"]


def test_inputs_and_outputs():
    model = relais.from_proto(conftest.network())
    with model["main"].edit() as edit:
        scale = edit.input("scale_by", "float32", [1, "C"])
        pooled = next(call for call in edit.calls("Reshape"))
        edit.output(pooled, "features")
        out = edit.results[0]
        edit.replace_uses(out, edit.Mul(out, scale))
        with pytest.raises(ModelError, match="an input `x` already"):
            edit.input("x", "float32")
        with pytest.raises(ModelError, match="two outputs are named `features`"):
            edit.output(out, "features")
        with pytest.raises(ModelError, match="there is no output `z`") as caught:
            edit.remove_output("z")
        assert "`y`, `features`" in str(caught.value)
    function = edit.result()
    assert function.input_names == ["x", "scale_by"] and function.output_names == ["y", "features"]
    assert function.params[1].shape == (1, "C")
    onnx.checker.check_model(relais.IRModule({"main": function}).to_proto(), full_check=True)
    with function.edit() as edit:
        edit.remove_output("y")
        for call in list(edit.calls("Mul")):
            edit.remove(call)
        edit.remove(edit.params[1])
    assert edit.result().input_names == ["x"] and edit.result().output_names == ["features"]


def test_a_builder():
    build = relais.Builder(17, {"acme": 1})
    x = build.input("x", "float32", ["N", 4])
    weight = build.constant(np.arange(12, dtype=np.float32).reshape(4, 3))
    hidden = build.MatMul(x, weight)
    assert hidden.shape == ("N", 3)
    own = build.call("acme::Own", hidden, None, x, attrs={"mode": "fast", "sizes": [1, 2]}, name="own")
    assert (own.domain, own.op, own.attrs) == ("acme", "Own", {"mode": "fast", "sizes": [1, 2]})
    assert own.args[1] is None
    build.output(build.Softmax(hidden, axis=-1), "p")
    build.output(own)
    function = build.result()
    assert function.ops == ["MatMul", "acme::Own", "Softmax"] and function.output_names == ["p", "own"]
    assert relais.parse(str(function))["main"] == function


def test_a_built_model_computes():
    build = relais.Builder(17)
    x = build.input("x", "float32", [2, 3])
    build.output(build.Relu(build.Add(x, build.constant([[1.0, -2.0, 0.5]]))), "y")
    proto = relais.IRModule({"main": build.result()}).to_proto()
    given = np.random.default_rng(7).uniform(-1, 1, [2, 3]).astype(np.float32)
    np.testing.assert_allclose(conftest.outputs(proto)[0], np.maximum(given + [1.0, -2.0, 0.5], 0), rtol=1e-6)


def test_functions_of_a_module_call_each_other():
    build = relais.Builder(17)
    x = build.input("x", "float32", [2, 3])
    (y,) = build.call_function("@main", x)
    build.output(y, "y")
    module = relais.parse(conftest.TEXT).with_function("twice", build.result())
    assert relais.parse(str(module)) == module and module.without_function("twice") == relais.parse(conftest.TEXT)


def test_stale_nodes_raise():
    function = main()
    edit = function.edit()
    neg = named(edit, "b")
    edit.replace(neg, neg.args[0])
    for use in (lambda: neg.op, lambda: neg.users, lambda: edit.Relu(neg), lambda: edit.remove(neg)):
        with pytest.raises(StaleNodeError, match="removed"):
            use()
    assert "stale" in repr(neg)
    kept = named(edit, "c")
    result = edit.result()
    for use in (lambda: kept.op, lambda: edit.params, lambda: edit.Relu(kept), lambda: edit.constant(1)):
        with pytest.raises(StaleNodeError, match="was left"):
            use()
    assert kept.in_(result).op == "Neg" and kept.function is function
    del function, edit, result
    gc.collect()
    assert "stale" in repr(kept)


def test_nodes_of_others_are_refused():
    function, other = main(), main()
    with function.edit() as edit:
        assert edit.Relu(function.params[0]).op == "Relu", "nodes of the function that is edited are its own"
        for foreign in (other.params[0], other.edit().params[0]):
            with pytest.raises(ModelError, match="a node of another function"):
                edit.Relu(foreign)


@pytest.mark.parametrize(
    ("use", "error", "text"),
    [
        (lambda e, x: e.Relu(), ModelError, "has 0 inputs"),
        (lambda e, x: e.Relu(x, x), ModelError, "2 inputs"),
        (lambda e, x: e.Rellu(x), ModelError, "has no such operator"),
        (lambda e, x: e.relu(x), AttributeError, "begin with a capital letter"),
        (lambda e, x: e.Relu(1.0), TypeError, "argument 0 must be a Node, not `float`"),
        (lambda e, x: e.Relu(np.ones(3)), TypeError, "editor.constant"),
        (lambda e, x: e.Relu(x, axis=1), ModelError, "no attribute `axis`"),
        (lambda e, x: e.Concat(x, axis=1.5), TypeError, "attribute `axis` must be of the kind `int`"),
        (lambda e, x: e.Concat(x, axis=object()), TypeError, "attribute `axis` must be an int"),
        (lambda e, x: e.Concat(x), ModelError, "axis"),
        (lambda e, x: e.Relu(x, _output=2), TypeError, "`_output` is not"),
        (lambda e, x: e.Relu(x, _outputs=0), ValueError, "between 1 and 65535"),
        (lambda e, x: e.Split(x, _outputs="2"), TypeError, "the number of results must be an int"),
        (lambda e, x: e.call("acme::", x), ModelError, "not the name of an operator"),
        (lambda e, x: e.MatMul(x, x), ModelError, "MatMul"),
        (lambda e, x: e.input("z", "float99"), ValueError, "`float99` is not an element type"),
        (lambda e, x: e.input("z", "float32", "ab"), TypeError, "`shape` must be a list"),
        (lambda e, x: e.input("z", "float32", [-1]), ValueError, "negative"),
        (lambda e, x: e.input("z", "float32", [1.5]), TypeError, "a size in `shape`"),
        (lambda e, x: e.constant("text"), TypeError, "a constant must be"),
        (lambda e, x: e.constant([[1], [1, 2]]), ValueError, "different lengths"),
        (lambda e, x: e.constant([1.5], "int64"), ValueError, "`int64` cannot hold 1.5"),
        (lambda e, x: e.constant([300], "uint8"), ValueError, "`uint8` cannot hold 300"),
        (lambda e, x: e.constant(np.ones(3), "float32"), TypeError, "of type `float64`, not `float32`"),
        (lambda e, x: e.constant(np.ones(3, ">f4")), ValueError, "big-endian"),
        (lambda e, x: e.calls(3), TypeError, "an operator must be a str"),
        (lambda e, x: e.import_opset("", 18), ModelError, "imports version 17"),
        (lambda e, x: e.import_opset("acme", 0), ValueError, "not above 0"),
        (lambda e, x: e.remove(x) or e.result(), ModelError, "is removed, but"),
        (lambda e, x: e.set_args(e.calls("Neg")[0], []), ModelError, "has 1 arguments, and 0 were given"),
        (lambda e, x: e.set_args(x, []), ModelError, "is not a call"),
    ],
)
def test_bad_edits(use, error, text):
    edit = main().edit()
    with pytest.raises(error, match=text):
        use(edit, edit.params[0])


def test_a_failing_call_leaves_the_editor_as_it_was():
    with main().edit() as edit:
        with pytest.raises(ModelError):
            edit.MatMul(edit.params[0], edit.params[0])
        edit.replace(named(edit, "b"), edit.Sin(named(edit, "a")))
    assert edit.result().ops == ["Identity", "Sin", "Neg", "Relu"]


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (True, None, np.array(True)),
        (3, None, np.array(3, np.int64)),
        (0.5, None, np.array(0.5, np.float32)),
        ([[1, 2], [3, 4]], "uint8", np.array([[1, 2], [3, 4]], np.uint8)),
        ([], None, np.zeros((0,), np.float32)),
        (np.arange(6).reshape(2, 3).T, None, np.arange(6).reshape(2, 3).T),
        (np.float16(0.5), None, np.array(0.5, np.float16)),
        (np.array(["a", "bc"], object), None, np.array(["a", "bc"], object)),
        (array.array("f", [1.0, 2.0]), None, np.array([1, 2], np.float32)),
        (b"ab", None, np.frombuffer(b"ab", np.uint8)),
        (memoryview(np.ones((2, 2), np.int16)), None, np.ones((2, 2), np.int16)),
    ],
)
def test_tensors(value, dtype, expected):
    tensor = relais.Tensor(value, dtype)
    assert tensor.shape == expected.shape and (expected.dtype == object or tensor.dtype == expected.dtype.name)
    np.testing.assert_array_equal(tensor.numpy(), expected)
    assert tensor == relais.Tensor(expected) and hash(tensor) == hash(relais.Tensor(expected))


def test_other_element_types():
    import ml_dtypes

    value = np.array([1.0, -2.0], ml_dtypes.bfloat16)
    tensor = relais.Tensor(value)
    assert tensor.dtype == "bfloat16" and (tensor.numpy() == value).all()
    assert tensor != relais.Tensor([1.0, -2.0]) and tensor != 3


def test_dlpack():
    values = np.arange(12, dtype=np.float32).reshape(3, 4)
    tensor = relais.Tensor(values)
    given = np.from_dlpack(tensor)
    np.testing.assert_array_equal(given, values)
    assert tensor.__dlpack_device__() == (1, 0)
    copied = np.from_dlpack(tensor, copy=True)
    assert not np.shares_memory(copied, tensor.numpy())


def test_visitors():
    function = main(BRANCHES)
    seen = []

    class Everything(relais.ExprVisitor):
        def visit_param(self, param):
            seen.append(param.name)

        def visit_call(self, call):
            seen.append(call.op)

        def visit_if(self, conditional):
            seen.append("if")

    Everything().visit(function)
    assert seen == ["c", "x", "Abs", "if", "Neg", "Exp"]

    class Some(relais.ExprVisitor):
        ops = ("Neg", "Exp")

        def visit_call(self, call):
            seen.append(call.name)

    seen.clear()
    Some().visit(function)
    assert seen == ["a", "b"]
    with pytest.raises(TypeError, match="must be a Function"):
        Some().visit(relais.IRModule())
    Some.ops = "Neg"
    with pytest.raises(TypeError, match="`ops` must be a list"):
        Some().visit(function)


def test_misspelled_methods_are_refused():
    """They would never be called."""

    class Mixin:
        def visit_calls(self, call):
            pass

    with pytest.raises(TypeError, match="`Calls.visit_calls` would never be called\n  help: did you mean `visit_call`"):
        type("Calls", (Mixin, relais.ExprVisitor), {})
    with pytest.raises(TypeError, match="`Relus.visit_Softmax` would never.*\n  help: the methods are `visit_param`"):

        class Relus(relais.ExprVisitor):
            def visit_Softmax(self, call):
                pass

    with pytest.raises(TypeError, match="`Consts.mutate_constants` would never.*\n  help: did you mean `mutate_constant`"):

        class Consts(relais.ExprMutator):
            def mutate_constants(self, op, constant):
                pass

    class Fine(relais.ExprVisitor):
        def visit_call(self, call):
            pass

    class Finer(Fine):
        def visited(self):
            pass


def test_mutators():
    class NegNeg(relais.ExprMutator):
        ops = ["Neg"]

        def mutate_call(self, op, call):
            inner = call.args[0]
            return inner.args[0] if inner.op == "Neg" else None

    function = main()
    result = NegNeg().mutate(function)
    assert result.ops == ["Identity", "Neg", "Relu"] and function.ops == ["Identity", "Neg", "Neg", "Relu"]
    assert NegNeg().mutate(main(SPLIT)).ops == ["Split", "Add"]

    class Drops(relais.ExprMutator):
        def mutate_call(self, op, call):
            return DROP if call.op == "Neg" and not call.users else None

    assert Drops().mutate(result).ops == ["Identity", "Relu"]

    class Constants(relais.ExprMutator):
        def mutate_constant(self, op, constant):
            return op.constant(constant.tensor.numpy() * 2) if constant.name == "w" else None

    model = relais.from_proto(conftest.network())["main"]
    doubled = Constants().mutate(model)
    np.testing.assert_array_equal(named(doubled, "w").tensor.numpy(), named(model, "w").tensor.numpy() * 2)


def test_a_pass_edits(module):
    @relais.function_pass(opt_level=0)
    def rename(func, mod, ctx):
        with func.edit() as edit:
            for node in edit.nodes:
                node.name = f"n{node.id}"
        return edit.result()

    result = rename(module)["main"]
    assert all(node.name == f"n{node.id}" for node in result.nodes)
    with pytest.raises(AttributeError, match="`function.edit\\(\\)` edits a copy"):
        result.nodes[0].name = "x"


def test_nodes_as_columns():
    function = main(BRANCHES)
    nodes = function.nodes
    assert len(nodes) == 4 and nodes[-1].op == "Exp" and [node.op for node in nodes[::2]] == ["Abs", "Neg"]
    assert nodes == list(nodes) == function.nodes and nodes != function.body and nodes[0] in nodes
    assert function.params[0] not in nodes and nodes[0] not in main().nodes
    with pytest.raises(IndexError):
        nodes[4]
    assert nodes.ids.numpy().tolist() == [node.id for node in nodes]
    names = nodes.op_names
    ops = nodes.ops.numpy()
    assert [names[op] if op >= 0 else None for op in ops] == [node.op for node in nodes]
    assert (nodes.kinds.numpy() == 7).sum() == 3 and nodes.n_args.numpy().tolist() == [1, 0, 1, 1]


def test_structural_equality_and_hashes():
    a, b = main(), main()
    assert a == b and hash(a) == hash(b) and a is not b
    with b.edit() as edit:
        edit.replace(named(edit, "b"), named(edit, "a"))
    assert edit.result() != a
    assert hash(relais.parse(conftest.TWO)) == hash(relais.parse(conftest.TWO))
    assert len({relais.parse(conftest.TWO), relais.parse(conftest.TWO), relais.parse(conftest.TEXT)}) == 2


def test_html():
    html = relais.parse(conftest.TWO)._repr_html_()
    assert html.count("<details>") == 2 and "<code>Neg</code> 2" in html and "<script" not in html
    assert "def @other" in html and "&quot;" in html
    long = relais.Builder(17)
    value = long.input("x", "float32", [1])
    for _ in range(300):
        value = long.Neg(value)
    long.output(value, "<y>")
    html = long.result()._repr_html_()
    assert "more lines" in html and "<y>" not in html


def test_editors_on_several_threads():
    function = main()
    edit, errors = function.edit(), []

    def work():
        try:
            for _ in range(200):
                edit.Relu(edit.params[0])
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert errors == [] and edit.result() == function


def test_numbers_of_numpy_are_numbers():
    with relais.parse(conftest.TEXT)["main"].edit() as editor:
        x = editor.params[0]
        assert editor.Concat(x, x, axis=np.int64(0)).attrs == {"axis": 0}
        assert editor.Transpose(x, perm=np.array([1, 0])).attrs == {"perm": [1, 0]}
        assert editor.Transpose(x, perm=[np.int64(1), np.int32(0)]).attrs == {"perm": [1, 0]}
        assert editor.LeakyRelu(x, alpha=np.float32(0.5)).attrs == {"alpha": 0.5}
        # Of an operator that nothing describes: a number is one, and an array is a tensor.
        attrs = editor.Silu(x, _domain="acme", a=np.int64(3), b=np.array([3])).attrs
        assert attrs["a"] == 3 and isinstance(attrs["b"], relais.Tensor)
        assert editor.input("z", "float32", [np.int64(3), None]).shape == (3, None)
        softmax = editor.Softmax(x)
        editor.set_attr(softmax, "axis", np.int64(1))
        assert softmax.attrs == {"axis": 1}
        with pytest.raises(TypeError):
            editor.Transpose(x, perm=np.array([1.5, 0.5]))


def test_an_output_that_is_a_constant_has_its_type(module):
    with module["main"].edit() as editor:
        editor.replace(editor.calls("Relu")[0], editor.constant(np.zeros(7, np.int64)))
    proto = module.with_function("main", editor.result()).to_proto()
    onnx.checker.check_model(proto, full_check=True)
    assert proto.graph.output[0].type.tensor_type.elem_type == onnx.TensorProto.INT64

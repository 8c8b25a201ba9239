"""Functions, nodes and tensors."""

from __future__ import annotations

import collections.abc
import copy
import gc
import operator
import subprocess
import types

import conftest
import numpy as np
import onnx
import onnx.helper as helper
import onnx.numpy_helper as numpy_helper
import pytest

import relais_onnx as relais

BRANCHES = """def @main(%c: Tensor[(), bool], %x: Tensor[("N", 3), float32]) -> (%y) #[opset = {"": 17}] {
  %y = if (%c) {
    %a = Neg(%x);
    %a
  } else {
    %b = Clip(%x, _, %x);
    %b
  };
  %y
}
"""


@pytest.fixture
def main() -> relais.Function:
    return relais.from_proto(conftest.network())["main"]


def named(function: relais.Function, name: str) -> relais.Node:
    return next(node for node in [*function.params, *function.nodes] if node.name == name)


def constant(array: np.ndarray | onnx.TensorProto) -> relais.Tensor:
    """A constant of a model."""
    tensor = array if isinstance(array, onnx.TensorProto) else numpy_helper.from_array(array, "c")
    tensor.name = "c"
    output = helper.make_tensor_value_info("y", tensor.data_type, None)
    graph = helper.make_graph([helper.make_node("Identity", ["c"], ["y"])], "g", [], [output], [tensor])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    result = named(relais.from_proto(model)["main"], "c").tensor
    assert result is not None
    return result


def test_functions(main):
    assert (main.name, main.is_prim_func, main.opset) == ("main", False, 17)
    assert (main.input_names, main.output_names) == (["x"], ["y"])
    assert [param.name for param in main.params] == ["x"]
    assert [result.op for result in main.results] == ["MatMul"]
    assert [node.op for node in main.body if node.kind == "call"] == main.ops
    assert main.nodes == main.body
    assert main == relais.from_proto(conftest.network())["main"]
    assert repr(main) == "<Function @main of 11 calls>" and str(main).startswith("def @main(")


def test_nodes(main):
    conv = named(main, "conv")
    assert (conv.kind, conv.op, conv.domain) == ("call", "Conv", "")
    assert [arg.name for arg in conv.args] == ["x", "w", "b"]
    assert [arg.kind for arg in conv.args] == ["param", "constant", "constant"]
    assert conv.attrs == {"pads": [1, 1, 1, 1]}
    assert [user.op for user in conv.users] == ["BatchNormalization"]
    assert [user.op for user in named(main, "act").users] == ["Exp", "GlobalAveragePool"]
    assert named(main, "dead").users == [] and conv.regions == [] and conv.body == [] and conv.tensor is None
    assert conv.function.same_as(main)
    x = main.params[0]
    assert (x.dtype, x.shape, x.type) == ("float32", (1, 3, 8, 8), "Tensor[(1, 3, 8, 8), float32]")
    assert (x.op, x.domain, x.attrs) == (None, None, {})
    assert conv.shape is None and conv.type == "?"
    assert repr(conv) == "%conv = Conv(%x, %w, %b, pads = [1, 1, 1, 1])"


def test_nodes_one_after_another(main):
    nodes = iter(main.nodes)
    assert iter(nodes) is nodes and operator.length_hint(nodes) == len(main.nodes)
    assert next(nodes) == main.nodes[0] and operator.length_hint(nodes) == len(main.nodes) - 1
    # The loops are independent of each other, and an iterator that ended stays so.
    assert list(main.nodes) == main.body and list(nodes) == main.body[1:]
    assert next(nodes, None) is None and operator.length_hint(nodes) == 0 and list(nodes) == []


def test_inferred_types(main):
    typed = relais.get_pass("InferType")(relais.IRModule({"main": main}))["main"]
    conv = named(main, "conv")
    assert conv.in_(typed).shape == (1, 4, 8, 8) and conv.in_(typed) != conv and conv.in_(main) == conv
    assert named(relais.parse(BRANCHES)["main"], "x").shape == ("N", 3)


def test_identity(main):
    conv = named(main, "conv")
    assert conv == named(main, "conv") and hash(conv) == hash(named(main, "conv"))
    assert len({node for node in [*main.nodes, *main.nodes]}) == len(main.nodes)
    assert conv != named(main, "norm") and conv != 3
    other = relais.from_proto(conftest.network())["main"]
    assert named(other, "conv") != conv


def test_nested_functions():
    function = relais.parse(BRANCHES)["main"]
    branch = named(function, "y")
    assert (branch.kind, [arg.name for arg in branch.args]) == ("if", ["c"])
    then, otherwise = branch.regions
    assert (then.kind, [node.op for node in then.body]) == ("function", ["Neg"])
    assert [node.name for node in otherwise.results] == ["b"]
    clip = otherwise.body[0]
    assert [arg and arg.name for arg in clip.args] == ["x", None, "x"]
    assert {node.name for node in function.nodes} == {"a", "b", "y"}
    assert [node.name for node in function.body] == ["y"]
    assert {user.op for user in named(function, "x").users} == {"Neg", "Clip"}


def test_attributes():
    values = {
        "i": 3,
        "f": 0.5,
        "s": "text",
        "is": [1, -2],
        "fs": [0.5, 1.5],
        "ss": ["a", "b"],
        "t": numpy_helper.from_array(np.arange(3)),
    }
    node = helper.make_node("Op", ["x"], ["y"], domain="acme", **values)
    info = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1]) for name in "xy"]
    graph = helper.make_graph([node], "g", info[:1], info[1:])
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("acme", 1)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=8)
    call = relais.from_proto(model)["main"].nodes[0]
    assert (call.domain, call.op) == ("acme", "Op")
    attrs = call.attrs
    assert attrs.pop("t").numpy().tolist() == [0, 1, 2]
    del values["t"]
    assert attrs == values


@pytest.mark.parametrize(
    "dtype",
    ["float32", "float64", "float16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"],
)
@pytest.mark.parametrize("shape", [(), (0, 3), (5,), (40, 3), (2, 3, 4)])
def test_arrays(dtype, shape):
    expected = (np.arange(np.prod(shape, dtype=int)) % 7).reshape(shape).astype(dtype)
    tensor = constant(expected)
    array = tensor.numpy()
    assert (tensor.dtype, tensor.shape, tensor.nbytes) == (dtype, shape, expected.nbytes)
    assert array.dtype == expected.dtype and array.shape == shape
    np.testing.assert_array_equal(array, expected)
    assert tensor.to_bytes() == expected.tobytes()
    with pytest.raises(ValueError, match="read-only"):
        array[...] = 1


def test_arrays_are_views_that_outlive_everything(tmp_path):
    path = tmp_path / "m.onnx"
    onnx.save(conftest.network(), path)
    expected = numpy_helper.to_array(conftest.network().graph.initializer[0])
    module = relais.load(path)
    first, second = (named(module["main"], "w").tensor.numpy() for _ in range(2))
    assert np.shares_memory(first, second)
    del module, second
    path.unlink()
    gc.collect()
    np.testing.assert_array_equal(first, expected)


def test_splats():
    module = relais.parse("def @main() -> (%y) { %c = splat(float32, (1000, 1000), 2.0); %y = Neg(%c); %y }")
    tensor = module["main"].nodes[0].tensor
    array = tensor.numpy()
    assert tensor.is_splat and array.strides == (0, 0) and array.shape == (1000, 1000) and (array == 2).all()


def test_types_that_numpy_does_not_have():
    import ml_dtypes

    values = np.array([1.0, -2.5], np.float32)
    half = helper.make_tensor("c", onnx.TensorProto.BFLOAT16, [2], values)
    array = constant(half).numpy()
    assert array.dtype == ml_dtypes.bfloat16 and array.astype(np.float32).tolist() == [1.0, -2.5]
    texts = constant(helper.make_tensor("c", onnx.TensorProto.STRING, [2], [b"a", b"bc"]))
    assert texts.numpy().tolist() == ["a", "bc"]
    packed = constant(helper.make_tensor("c", onnx.TensorProto.INT4, [3], [1, -2, 3]))
    assert packed.dtype == "int4" and len(packed.to_bytes()) == 2
    assert packed.numpy().tolist() == [1, -2, 3]
    with pytest.raises(TypeError, match="no address"):
        _ = packed.__array_interface__


@pytest.mark.parametrize(
    ("dtype", "ours", "numbers"),
    [
        ("int4", "int4", [1, -8, 7, -1, 0]),
        ("uint4", "uint4", [1, 15, 0, 8, 7]),
        ("int2", "int2", [1, -2, 0, -1, 1]),
        ("uint2", "uint2", [3, 0, 2, 1, 1]),
        ("float4_e2m1fn", "float4e2m1", [0.5, -6, 1.5, -1, 0]),
        ("float6_e2m3fn", "float6e2m3", [0.125, -7.5, 1.5, -1, 0]),
        ("float6_e3m2fn", "float6e3m2", [0.25, -28, 1.5, -1, 0]),
    ],
)
def test_elements_of_less_than_a_byte(dtype, ours, numbers):
    import ml_dtypes

    array = np.array([numbers, numbers[::-1]], np.float32).astype(getattr(ml_dtypes, dtype))
    tensor = relais.Tensor(array)
    assert (tensor.dtype, tensor.shape) == (ours, (2, 5)) and relais.Tensor(array, dtype).dtype == ours
    number = onnx.TensorProto.DataType.Value(ours.upper()) if ours.upper() in onnx.TensorProto.DataType.keys() else None
    if number is not None:
        made = helper.make_tensor("c", number, [2, 5], tensor.to_bytes(), raw=True)
        assert numpy_helper.to_array(made).astype(np.float32).tolist() == array.astype(np.float32).tolist()
    back = tensor.numpy()
    assert back.dtype == array.dtype and not back.flags.writeable
    assert back.astype(np.float32).tolist() == [numbers, numbers[::-1]]
    # One element, repeated, is stored once.
    splat = relais.Tensor(np.full((2, 3), numbers[1], np.float32).astype(array.dtype)).numpy()
    assert splat.astype(np.float32).tolist() == [[numbers[1]] * 3] * 2


def test_nothing_can_be_changed(main):
    for object, name in ((main, "name"), (main.nodes[0], "name"), (main.nodes[0], "tensor")):
        with pytest.raises(AttributeError):
            setattr(object, name, None)


def test_a_million_handles(main):
    for _ in range(1_000_000 // len(main.nodes)):
        list(main.nodes)
    assert named(main, "conv").op == "Conv"


def test_a_diff(module, tmp_path):
    new = relais.parse(conftest.TEXT.replace("Neg(%b)", "Abs(%b)").replace("(2, 3)", "(2, 4)"))
    diff = new.diff(module)
    assert diff and str(diff) == (
        "input x: Tensor[(2, 3), float32] -> Tensor[(2, 4), float32]\n"
        "calls of Abs: 0 -> 1\n"
        "calls of Neg: 2 -> 1\n"
        "in @main: `Neg` -> `Abs`\n"
        "  - %c = Neg(%b)\n"
        "  + %c = Abs(%b)"
    )
    assert [(row.what, row.old, row.new) for row in diff.differences][1] == ("calls of Abs", "0", "1")
    (node,) = diff.nodes
    assert (node.function, node.why, node.old, node.new) == ("main", "`Neg` -> `Abs`", "%c = Neg(%b)", "%c = Abs(%b)")
    assert repr(diff) == "<Diff of 3 differences and 1 nodes>"
    # Neither names nor the order of bindings matter.
    same = relais.parse(conftest.TEXT.replace("%b", "%other")).diff(module)
    assert not same and str(same) == "" and same.differences == same.nodes == []
    missing = relais.parse(conftest.TWO).diff(module).differences[0]
    assert (missing.what, missing.old, missing.new) == ("function other", None, "defined")
    assert missing == relais.parse(conftest.TWO).diff(module).differences[0] != diff.differences[0]


def test_a_diff_is_that_of_the_command_line(tmp_path):
    old, new = relais.from_proto(conftest.network()), relais.optimize(relais.from_proto(conftest.network()))
    old.save(tmp_path / "a.onnx")
    new.save(tmp_path / "b.onnx")
    command = [conftest.program(), "diff", "a.onnx", "b.onnx"]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert said.returncode == 1 and said.stdout == f"--- a.onnx\n+++ b.onnx\n{relais.load(tmp_path / 'b.onnx').diff(old)}\n"


def test_weights_in_a_diff():
    a, b = (relais.from_proto(conftest.network(seed=seed)) for seed in (0, 1))
    assert not a.diff(b) and a.diff(b, numeric=True) and not a.diff(a, numeric=True)
    assert not a.diff(b, numeric=True, atol=1.0)
    assert "of the constant differ, most at [" in a.diff(b, numeric=True).nodes[0].why


def test_a_diff_in_a_notebook(module):
    new = relais.parse(conftest.TEXT.replace("Neg(%b)", "Abs(%b)").replace("%x", '%"<script>"'))
    html = new.diff(module)._repr_html_()
    assert "<td>calls of Abs</td><td>0</td><td>1</td>" in html and "- %c = Neg(%b)" in html
    assert "<script" not in html and "&lt;script&gt;" in html
    assert module.diff(module)._repr_html_() == "<div>no difference</div>"


@pytest.mark.parametrize(
    ("old", "given", "error", "text"),
    [
        ("a.onnx", {}, TypeError, "`old` must be an IRModule, not `str`"),
        (None, {}, TypeError, "`old` must be an IRModule, not `NoneType`"),
        (relais.IRModule(), {"rtol": 1.0}, ValueError, "`numeric=True`"),
        (relais.IRModule(), {"numeric": True, "atol": float("nan")}, ValueError, "`atol` must be finite"),
        (relais.IRModule(), {"numeric": True, "rtol": -1}, ValueError, "`rtol` must be finite"),
        (relais.IRModule(), {"numeric": "yes"}, TypeError, "numeric"),
    ],
)
def test_bad_arguments_of_a_diff(module, old, given, error, text):
    with pytest.raises(error, match=text):
        module.diff(old, **given)


def test_a_diff_of_large_and_empty_modules():
    deep = relais.parse("def @main(%x) { " + "".join(f"%a{n} = Neg(%{'x' if n == 0 else f'a{n - 1}'}); " for n in range(50_000)) + "%a49999 }")
    assert not deep.diff(deep) and len(deep.diff(relais.IRModule()).differences) == 2
    assert len(relais.IRModule().diff(deep)._repr_html_()) < 1000
    assert not relais.IRModule().diff(relais.IRModule())


def test_leaving_nodes():
    events = []

    class Visitor(relais.ExprVisitor):
        def visit_call(self, call):
            events.append(f"visit {call.name}")

        def leave(self, node):
            events.append(f"leave {node.name}")

    function = relais.parse(BRANCHES)["main"]
    Visitor().visit(function)
    assert events == ["leave c", "leave x", "visit a", "leave a", "visit b", "leave b", "leave y"]

    class Depth(relais.ExprVisitor):
        """Needs to know where a conditional ends."""

        depth = deepest = 0

        def visit_if(self, conditional):
            self.depth += 1
            self.deepest = max(self.deepest, self.depth)

        def leave(self, node):
            self.depth -= node.kind == "if"

    levels = 30_000
    nested = "".join(f"%y{n} = if (%c) {{ " for n in range(levels)) + "%z = Neg(%x); %z"
    nested += "".join(f" }} else {{ %e{n} = Abs(%x); %e{n} }}; %y{n}" for n in reversed(range(levels)))
    depth = Depth()
    depth.visit(relais.parse(f"def @main(%c: Tensor[(), bool], %x) {{ {nested} }}")["main"])
    assert (depth.depth, depth.deepest) == (0, levels)


def test_leaving_only_some_calls_and_exceptions():
    names = []

    class Only(relais.ExprVisitor):
        ops = ["Clip"]

        def leave(self, node):
            names.append(node.name)
            if node.name == "b":
                raise KeyError("on purpose")

    with pytest.raises(KeyError, match="on purpose"):
        Only().visit(relais.parse(BRANCHES)["main"])
    assert names == ["c", "x", "b"]

    class Nothing(relais.ExprVisitor):
        ops = [3]

    with pytest.raises(TypeError, match="an operator must be a str, not `int`"):
        Nothing().visit(relais.parse(BRANCHES)["main"])


def test_a_module_is_a_mapping(two):
    assert isinstance(two, collections.abc.Mapping)
    assert two.get("main") == two["main"] and two.get("x") is None and two.get("x", 3) == 3 and two.get(5) is None
    assert 5 not in two and None not in two and ("main",) not in two
    match two:
        case {"other": function}:
            assert function == two["other"]
        case _:
            raise AssertionError("it matches")
    assert {**two} == dict(two) == dict(two.items())
    for given in (two, dict(two), types.MappingProxyType(dict(two))):
        assert relais.IRModule(given) == two
    with pytest.raises(TypeError, match="`functions` must be a dict, not `list`"):
        relais.IRModule([("main", two["main"])])
    with pytest.raises(TypeError, match="function `a` must be a Function, not `int`"):
        relais.IRModule(types.MappingProxyType({"a": 3}))


def test_copies_of_what_nothing_changes(two):
    function = relais.get_pass("InferType")(two)["main"]
    for value in (two, function, function.nodes, function.nodes[1], relais.Tensor([1.0]), two.diff(two), relais.get_pass("InferType").info):
        assert copy.copy(value) is value and copy.deepcopy([value])[0] is value

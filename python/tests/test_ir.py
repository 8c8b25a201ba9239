"""Functions, nodes and tensors."""

from __future__ import annotations

import gc

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
    with pytest.raises(TypeError, match="NumPy has no type for `int4`"):
        packed.numpy()


def test_nothing_can_be_changed(main):
    for object, name in ((main, "name"), (main.nodes[0], "name"), (main.nodes[0], "tensor")):
        with pytest.raises(AttributeError):
            setattr(object, name, None)


def test_a_million_handles(main):
    for _ in range(1_000_000 // len(main.nodes)):
        list(main.nodes)
    assert named(main, "conv").op == "Conv"

"""Scripts of onnxsim and OnnxSlim run with the import changed."""

from __future__ import annotations

import importlib.metadata
import inspect
import logging
import sys

import conftest
import numpy as np
import onnx
import onnx.parser
import pytest

import relais_onnx as relais
from relais_onnx.compat import _common, onnxsim, onnxslim

GEMM = """<ir_version: 8, opset_import: ["": 18]> g (float[2, 3] x) => (float[2, 4] y)
<float[3, 4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, float[4] b = {1, 2, 3, 4}>
{ t = MatMul(x, w) y = Add(t, b) }"""
SMALLER = ["Conv", "Relu", "GlobalAveragePool", "Reshape", "MatMul"]


def ops(model: onnx.ModelProto) -> list[str]:
    return [node.op_type for node in model.graph.node]


def shape(model: onnx.ModelProto) -> list[int | str]:
    dims = model.graph.input[0].type.tensor_type.shape.dim
    return [dim.dim_value if dim.HasField("dim_value") else dim.dim_param for dim in dims]


def test_the_signature_of_simplify():
    peer = pytest.importorskip("onnxsim")
    theirs, ours = inspect.signature(peer.simplify).parameters, inspect.signature(onnxsim.simplify).parameters
    assert [(p.name, p.kind, p.default) for p in ours.values()] == [(p.name, p.kind, p.default) for p in theirs.values()]


def test_the_signature_of_slim():
    peer = pytest.importorskip("onnxslim")
    from onnxslim.argparser import OnnxSlimKwargs

    theirs, ours = inspect.signature(peer.slim).parameters, inspect.signature(onnxslim.slim).parameters
    assert [(p.name, p.kind, p.default) for p in ours.values()] == [(p.name, p.kind, p.default) for p in theirs.values()]
    assert set(onnxslim.OnnxSlimKwargs.__annotations__) == set(OnnxSlimKwargs.__annotations__)


def test_the_names_that_slim_can_skip():
    from onnxslim.core.optimization import OptimizationSettings
    from onnxslim.core.pattern.registry import DEFAULT_FUSION_PATTERNS

    assert set(onnxslim._OPTIMIZATIONS) == set(OptimizationSettings.keys())
    assert set(onnxslim._PATTERNS) == set(DEFAULT_FUSION_PATTERNS.keys())


def test_every_pass_of_the_tables_is_there():
    tables = (onnxsim._OPTIMIZERS, onnxslim._OPTIMIZATIONS, onnxslim._PATTERNS)
    names = {name for table in tables for passes in table.values() for name in passes}
    assert {relais.describe(name)["name"] for name in names} <= set(relais.list_passes())


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, SMALLER),
        ({"check_n": 2}, SMALLER),
        ({"check_n": 1, "check_rtol": 1e-3, "check_atol": 1e-4, "providers": ["CPUExecutionProvider"]}, SMALLER),
        ({"skipped_optimizers": []}, SMALLER),
        ({"dynamic_input_shape": True, "include_subgraph": True, "import_custom_schemas": False}, SMALLER),
        ({"skip_shape_inference": True, "certify": False}, SMALLER),
        ({"tensor_size_threshold": "1KB"}, SMALLER),
        ({"extra_optimizers": [], "inline_functions": True}, SMALLER),
        ({"check_n": 1, "input_fill": "ones"}, SMALLER),
        ({"check_n": 1, "input_fill": "arange", "check_atol": 1e-2}, SMALLER),
        ({"check_n": 3, "input_data": {"x": np.ones([1, 3, 8, 8], np.float32)}}, SMALLER),
        ({"check_n": 1, "providers": [("CPUExecutionProvider", {})]}, SMALLER),
        ({"overwrite_input_shapes": {"x": [1, 3, 8, 8]}, "check_n": 1}, SMALLER),
        ({"test_input_shapes": {"x": [1, 3, 8, 8]}, "check_n": 1}, SMALLER),
        ({"unused_output": []}, SMALLER),
        ({"target_opset_version": 19, "check_n": 1}, SMALLER),
        ({"target_opset_version": 16, "check_n": 1}, SMALLER),
        ({"function_rewrite_rules": []}, SMALLER),
        ({"custom_rewriter": lambda model: False}, SMALLER),
        ({"custom_rewriter": lambda model: None}, SMALLER),
        ({"skipped_optimizers": ["fuse_qkv", "adjust_add"]}, SMALLER),
        ({"external_data_threshold": "1MB", "tensor_size_threshold": "2 GB"}, SMALLER),
        ({"skipped_optimizers": ["fuse_pad_into_conv"], "skip_shape_inference": True}, SMALLER),
    ],
)
def test_simplify(proto, arguments, expected):
    before = proto.SerializeToString()
    model, check = onnxsim.simplify(proto, **arguments)
    assert check is True and ops(model) == expected
    assert proto.SerializeToString() == before
    conftest.assert_same(proto, model)


def readme(peer: str) -> list[str]:
    """The blocks of Python in the README of an installed package, whatever their language is called."""
    metadata = importlib.metadata.metadata(peer)
    blocks = (metadata.get_payload() or metadata["Description"]).split("```")[1::2]
    return [code for language, _, code in (block.partition("\n") for block in blocks) if "onnxs" in code and language != "rust"]


def test_the_readme_of_onnxsim(tmp_path, monkeypatch):
    """Each of its calls of `simplify` that needs no other package, with the import changed."""
    import onnxruntime

    # It speaks of machines that have these.
    has = onnxruntime.get_available_providers()
    more = [f"{name}ExecutionProvider" for name in ("CUDA", "MIGraphX", "VitisAI")]
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: [*more, *has])
    monkeypatch.chdir(tmp_path)
    onnx.save(onnx.parser.parse_model(GEMM), tmp_path / "model.onnx")
    onnx.save(conftest.network(), tmp_path / "input.onnx")
    ran, refused = [], []
    names: dict[str, object] = {"filename": "input.onnx", "onnx": onnx, "onnxsim": onnxsim, "model": conftest.network()}
    for code in readme("onnxsim"):
        # What these call is another function, or what they import is not there.
        others = ("onnxsim.export_", "onnxscript", "onnxsim.quantize", "quark", "my_op_schema", "plot_node_reduction")
        if "simplify(" not in code or any(name in code for name in others):
            continue
        code = code.replace("from onnxsim import", "from relais_onnx.compat.onnxsim import")
        code = code.replace("import onnxsim", "from relais_onnx.compat import onnxsim")
        names["model_simp"] = names["model_opt"] = None
        try:
            exec(compile(code, "README.md", "exec"), names)
        except NotImplementedError as error:
            refused.append(str(error).split("`")[1])
            continue
        ran.append(code)
        onnx.checker.check_model(names["model_simp"] or names["model_opt"])
        assert all(names[name] is True for name in ("check", "check_ok") if name in names)
    assert len(ran) >= 8, ran
    assert refused == ["profile", "ort_profile", "profile"]
    for argument in ("function_rewrite_rules", "target_opset_version", "skipped_optimizers", "VitisAI", "device_id"):
        assert any(argument in code for code in ran), argument


def test_the_readme_of_onnxslim(path, monkeypatch):
    monkeypatch.chdir(path.parent)
    (code,) = [code for code in readme("onnxslim") if ".slim(" in code]
    names: dict[str, object] = {}
    exec(compile(code.replace("import onnxslim", "from relais_onnx.compat import onnxslim"), "README.md", "exec"), names)
    assert ops(onnx.load("slimmed_model.onnx")) == SMALLER
    conftest.assert_same(str(path), "slimmed_model.onnx")


def test_simplify_by_position_and_path(path, tmp_path):
    model, check = onnxsim.simplify(str(path), 1, True, True)
    assert check and "BatchNormalization" in ops(model)
    out = tmp_path / "out.onnx"
    model, check = onnxsim.simplify(str(path), output_path=str(out), external_data_threshold="1KB")
    assert ops(model) == SMALLER
    conftest.assert_same(str(path), str(out))
    with pytest.raises(ValueError, match="`output_path` needs a path"):
        onnxsim.simplify(onnx.load(path), output_path=str(out))


def test_simplify_without_optimizers(proto):
    model, _ = onnxsim.simplify(proto, perform_optimization=False)
    assert "BatchNormalization" in ops(model) and "Identity" in ops(model) and "Shape" not in ops(model)
    model, _ = onnxsim.simplify(proto, perform_optimization=False, skip_constant_folding=True)
    assert ops(model) == ops(proto)
    model, _ = onnxsim.simplify(proto, skipped_optimizers=["eliminate_deadend"])
    assert "Exp" in ops(model)
    model, _ = onnxsim.simplify(proto, skip_fuse_bn=True)
    assert "BatchNormalization" in ops(model)


def test_simplify_warns_of_unknown_optimizers(proto, caplog):
    with caplog.at_level(logging.WARNING, "relais"):
        onnxsim.simplify(proto, skipped_optimizers=["no_such"])
    assert any("no_such" in record.getMessage() for record in caplog.records)
    with pytest.raises(TypeError, match="`skipped_optimizers` must be a list"):
        onnxsim.simplify(proto, skipped_optimizers="eliminate_deadend")


def test_simplify_shapes(caplog):
    model, _ = onnxsim.simplify(conftest.network("N"), overwrite_input_shapes={"x": [4, 3, 8, 8]})
    assert shape(model) == [4, 3, 8, 8]
    with caplog.at_level(logging.ERROR, "relais"):
        model, _ = onnxsim.simplify(conftest.network("N"), input_shapes={None: [2, 3, 8, 8]})
    assert shape(model) == [2, 3, 8, 8]
    dynamic = conftest.network("N")
    model, check = onnxsim.simplify(dynamic, check_n=1, test_input_shapes={"x": [3, 3, 8, 8]})
    assert check and shape(model) == ["N", 3, 8, 8]
    data = {"x": np.ones([2, 3, 8, 8], np.float32)}
    model, check = onnxsim.simplify(dynamic, check_n=1, input_data=data)
    assert check
    with pytest.raises(relais.ModelError, match="no input `z`"):
        onnxsim.simplify(dynamic, overwrite_input_shapes={"z": [1]})


def test_simplify_unused_output():
    proto = conftest.network()
    proto.graph.output.append(onnx.helper.make_tensor_value_info("act", onnx.TensorProto.FLOAT, [1, 4, 8, 8]))
    model, check = onnxsim.simplify(proto, check_n=1, unused_output=["act"])
    assert [output.name for output in model.graph.output] == ["y"] and check
    with pytest.raises(RuntimeError, match="no output `z`"):
        onnxsim.simplify(proto, unused_output=["z"])


def test_simplify_function_rewrite_rules():
    function = onnx.parser.parse_function
    pattern = function('<domain: "r", opset_import: ["" : 1]> p (x) => (y) { t = Neg (x)  y = Neg (t) }')
    replacement = function('<domain: "r", opset_import: ["" : 1]> p (x) => (y) { y = Identity (x) }')
    model = relais.parse(conftest.TEXT).to_proto()
    result, check = onnxsim.simplify(model, 1, function_rewrite_rules=[(pattern, replacement)])
    assert ops(result) == ["Relu"] and check
    wrong = function('<domain: "r", opset_import: ["" : 1]> p (x) => (y) { y = Abs (x) }')
    with pytest.raises(relais.RuleError, match="rule0"):
        onnxsim.simplify(model, function_rewrite_rules=[(pattern, wrong)])


def test_simplify_custom_rewriter():
    model = relais.parse(conftest.TEXT.replace("Neg(%b)", "Abs(%b)")).to_proto()
    seen = []

    def exchanged(proto, old, new):
        changed = onnx.ModelProto()
        changed.CopyFrom(proto)
        for node in changed.graph.node:
            node.op_type = new if node.op_type == old else node.op_type
        return changed

    def rewriter(proto):
        seen.append(ops(proto))
        # What it makes is simplified, and then it is asked again.
        return exchanged(proto, "Abs", "Identity")

    result, _ = onnxsim.simplify(model, custom_rewriter=rewriter)
    assert (seen, ops(result)) == ([["Abs", "Relu"], ["Relu"]], ["Relu"])

    def in_place(proto):
        proto.CopyFrom(exchanged(proto, "Relu", "Elu"))

    assert "Elu" in ops(onnxsim.simplify(model, custom_rewriter=in_place)[0])
    # A rewrite that the check finds.
    assert onnxsim.simplify(model, 1, custom_rewriter=lambda proto: exchanged(proto, "Relu", "Exp"))[1] is False
    with pytest.raises(TypeError, match="what `custom_rewriter` returns must be"):
        onnxsim.simplify(model, custom_rewriter=lambda proto: 3)
    with pytest.raises(ZeroDivisionError):
        onnxsim.simplify(model, custom_rewriter=lambda proto: 1 / 0)
    with pytest.raises(ValueError, match="exclude each other"):
        onnxsim.simplify(model, custom_rewriter=rewriter, function_rewrite_rules=[(None, None)])


def test_simplify_a_rewriter_without_an_end(caplog):
    model = relais.parse(conftest.TEXT).to_proto()

    def rewriter(proto):
        proto.graph.node[-1].op_type = "Elu" if proto.graph.node[-1].op_type == "Relu" else "Relu"

    with caplog.at_level(logging.WARNING, "relais"):
        onnxsim.simplify(model, custom_rewriter=rewriter)
    assert any("still changes the model after 50 rounds" in record.getMessage() for record in caplog.records)


def test_simplify_converts(proto):
    model, check = onnxsim.simplify(proto, 1, target_opset_version=18)
    assert check and model.opset_import[0].version == 18
    with pytest.raises(ValueError, match="`input_fill` must be one of"):
        onnxsim.simplify(proto, input_fill="twos")


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("custom_lib", "a.so"),
        ("mutable_initializer", True),
        ("initializers_as_constants", False),
        ("target_opset_version", "latest"),
        ("extra_optimizers", ["rewrite_input_dtype"]),
        ("gemm_fusion_backend", "webgpu"),
        ("profile", "a.json"),
        ("ort_profile", "a.json"),
        ("merge_ort_profile", True),
        ("range_opt", True),
        ("certify", True),
        ("check_hazards", True),
        ("check_gradients", True),
        ("gradient_precision", "fp16"),
    ],
)
def test_simplify_refuses_by_name(proto, argument, value):
    with pytest.raises(NotImplementedError, match=f"`{argument}` of onnxsim"):
        onnxsim.simplify(proto, **{argument: value})


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"input_data": {"typo": np.ones(1)}}, ValueError, "`input_data`: the model has no input `typo`; its inputs are `x`"),
        ({"input_data": [1]}, TypeError, "`input_data` must be a dict"),
        ({"test_input_shapes": {"typo": [1]}}, ValueError, "`test_input_shapes`: the model has no input `typo`"),
        ({"test_input_shapes": {"x": 3}}, TypeError, "the shape of `x` in `test_input_shapes` must be a list"),
        ({"test_input_shapes": {"x": [1.5]}}, TypeError, "a size of `x` in `test_input_shapes` must be an int"),
        ({"unused_output": ["y"]}, ValueError, "`unused_output` names all outputs"),
        ({"unused_output": "y"}, TypeError, "`unused_output` must be a list of names, not `str`"),
        ({"unused_output": 0}, TypeError, "`unused_output` must be a list of names, not `int`"),
        ({"providers": ["Nope"]}, ValueError, "no execution provider `Nope`.*`CPUExecutionProvider`"),
        ({"providers": [("Nope", {})]}, ValueError, "no execution provider `Nope`"),
        ({"providers": "CPUExecutionProvider"}, TypeError, "`providers` must be a list"),
        ({"providers": [3]}, TypeError, "one of `providers` must be a name"),
        ({"skipped_optimizers": 0}, TypeError, "`skipped_optimizers` must be a list of names, not `int`"),
        ({"skipped_optimizers": [1]}, TypeError, "a name in `skipped_optimizers` must be a str"),
        ({"custom_rewriter": 3}, TypeError, "`custom_rewriter` must be a function"),
        ({"function_rewrite_rules": 3}, TypeError, "`function_rewrite_rules` must be a list of pairs"),
        ({"function_rewrite_rules": [3]}, TypeError, "must be a pair of `onnx.FunctionProto`.*not `int`"),
        ({"function_rewrite_rules": [("a", "b", "c")]}, TypeError, r"not \(str, str, str\)"),
        ({"check_n": -1}, ValueError, "`check_n` must be between"),
        ({"check_n": 1.5}, TypeError, "`check_n` must be an int"),
        ({"check_rtol": "1"}, TypeError, "`check_rtol` must be a number"),
        ({"check_atol": float("nan")}, ValueError, "`check_atol` must be finite"),
        ({"tensor_size_threshold": -1}, ValueError, "`tensor_size_threshold` must not be negative"),
        ({"tensor_size_threshold": "1.2.3GB"}, ValueError, "`tensor_size_threshold` is not a size"),
        ({"external_data_threshold": -1}, ValueError, "`external_data_threshold` must not be negative"),
        ({"output_path": 3}, TypeError, "`output_path` must be a str or a path"),
    ],
)
def test_simplify_ignores_nothing(proto, arguments, error, says):
    """Whether the checks are on or not: what would be left out is said by its name."""
    for check_n in (0, 1):
        with pytest.raises(error, match=says):
            onnxsim.simplify(proto, **{"check_n": check_n, **arguments})


def test_shapes_for_checks(monkeypatch):
    """They are what the models are run with."""
    import relais_onnx.compat._common as common

    seen, inputs = [], common._inputs
    monkeypatch.setattr(common, "_inputs", lambda *given: seen.append(inputs(*given)["x"].shape) or inputs(*given))
    proto = conftest.network("N")
    for shape in ([2, 3, 8, 8], np.array([2, 3, 8, 8]), [np.int64(2), 3, 8, 8], (-1, 3, 8, 8)):
        assert onnxsim.simplify(proto, 1, test_input_shapes={"x": shape})[1]
        assert onnxslim.slim(proto, model_check=True, model_check_inputs={"x": shape}) is not None
    assert seen == [(2, 3, 8, 8)] * 6 + [(1, 3, 8, 8)] * 2
    exp = relais.parse('def @main(%x: Tensor[(N), float32]) -> (%y) #[opset = {"": 17}] { %y = Exp(%x); %y }').to_proto()
    assert onnxsim.simplify(exp, 1, test_input_shapes={"x": [0]})[1] and seen[-1] == (0,)


def test_simplify_a_path_object(path, tmp_path):
    _, check = onnxsim.simplify(path, 1, output_path=tmp_path / "out.onnx")
    assert check
    conftest.assert_same(str(path), str(tmp_path / "out.onnx"))


def test_providers_without_onnxruntime(proto, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    assert onnxsim.simplify(proto, 1, providers=["CPUExecutionProvider"])[1]
    with pytest.raises(ValueError, match="`CUDAExecutionProvider` of `providers` needs onnxruntime"):
        onnxsim.simplify(proto, providers=["CUDAExecutionProvider"])


def test_simplify_says_when_results_differ(module):
    @relais.register_pass
    @relais.module_pass(opt_level=0, name="test.OtherResults")
    def wrong(mod, ctx):
        return relais.parse(conftest.TEXT.replace("Relu", "Abs"))

    from relais_onnx.compat._common import _agree_here, agree

    changed = relais.optimize(module, passes=["test.OtherResults"])
    assert not agree(module, changed, 1) and not _agree_here(module, changed, 1, 1e-4, 1e-5)
    assert agree(module, module, 1) and _agree_here(module, module, 1, 1e-4, 1e-5)


def test_passes_of_the_caller_may_have_the_short_names_of_shipped_ones(proto):
    shipped = [name.removeprefix("relais.") for name in relais.list_passes() if name.startswith("relais.")]
    own = [relais.module_pass(lambda mod, ctx: mod, opt_level=0, name=f"mine.{name}") for name in shipped]
    for each in own:
        relais.register_pass(each)
    try:
        everything = {"skip_fuse_bn": True, "skip_constant_folding": True, "inline_functions": True}
        onnxsim.simplify(proto, tensor_size_threshold="1MB", **everything)
        onnxsim.simplify(proto, perform_optimization=False, skipped_optimizers=list(onnxsim._OPTIMIZERS))
        onnxslim.slim(proto, size_threshold=9, skip_optimizations=["constant_folding"])
        onnxslim.slim(proto, skip_fusion_patterns=list(onnxslim._PATTERNS))
        assert relais.transform.PrintIR().info.name == "relais.PrintIR"
    finally:
        for each in own:
            relais.transform.unregister_pass(each.info.name)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"model_check": True},
        {"no_shape_infer": True},
        {"skip_fusion_patterns": ["FusionGemm"]},
        {"skip_optimizations": ["weight_tying"]},
        {"size_threshold": 1024},
        {"dtype": None, "inspect": False, "dump_to_disk": False, "verbose": False, "model_check_inputs": None},
        {"model_check": True, "model_check_inputs": ["x:1,3,8,8"]},
        {"input_shapes": ["x:1,3,8,8"], "model_check": True},
        {"input_shapes": {"x": [1, 3, 8, 8]}},
        {"inputs": ["x"], "outputs": ["y"]},
        {"outputs": ["y"], "model_check": True},
        {"inputs": None, "outputs": None, "input_shapes": None},
        {"skip_fusion_patterns": ["FusionGelu", "FusionPadConv"], "no_shape_infer": True},
        {"skip_fusion_patterns": [], "skip_optimizations": []},
        {"skip_optimizations": ["weight_tying", "subexpression_elimination"], "model_check": True},
        {"size_threshold": None, "save_as_external_data": False},
        {"size_threshold": 2**40},
        {"save_as_external_data": True},
        {"verbose": False, "model_check": True, "size_threshold": 1024},
    ],
)
def test_slim(proto, arguments):
    model = onnxslim.slim(proto, **arguments)
    assert ops(model) == SMALLER
    conftest.assert_same(proto, model)


def test_slim_writes(path, tmp_path):
    out = tmp_path / "out.onnx"
    assert onnxslim.slim(str(path), str(out)) is None
    assert ops(onnx.load(out)) == SMALLER
    apart = tmp_path / "apart.onnx"
    assert onnxslim.slim(str(path), output_model=str(apart), save_as_external_data=True) is None
    conftest.assert_same(str(path), str(apart))


def test_slim_skips(proto):
    assert "Exp" in ops(onnxslim.slim(proto, skip_optimizations=["dead_node_elimination"]))
    assert "BatchNormalization" in ops(onnxslim.slim(proto, skip_fusion_patterns=["FusionConvBN"]))


def test_slim_converts(proto):
    model = onnxslim.slim(proto, dtype="fp16", model_check=True)
    types = {value.type.tensor_type.elem_type for value in (*model.graph.input, *model.graph.output)}
    assert types == {onnx.TensorProto.FLOAT16}


def test_slim_shapes_and_parts(proto, tmp_path):
    dynamic = conftest.network("N")
    assert shape(onnxslim.slim(dynamic, input_shapes=["x:4,3,8,8"])) == [4, 3, 8, 8]
    assert shape(onnxslim.slim(dynamic, input_shapes={"x": [4, 3, 8, 8]})) == [4, 3, 8, 8]
    part = onnxslim.slim(proto, inputs=["act"], outputs=["flat"])
    assert ([i.name for i in part.graph.input], [o.name for o in part.graph.output]) == (["act"], ["flat"])
    np.save(tmp_path / "x.npy", np.ones([2, 3, 8, 8], np.float32))
    assert onnxslim.slim(dynamic, model_check=True, model_check_inputs=[f"x:{tmp_path / 'x.npy'}"]) is not None
    with pytest.raises(ValueError, match="`input_shapes`: 'x' is not a name and a shape"):
        onnxslim.slim(proto, input_shapes=["x"])
    with pytest.raises(TypeError, match="`inputs` must be a list"):
        onnxslim.slim(proto, inputs="x")


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("dtype", "fp32"),
        ("inspect", True),
        ("dump_to_disk", True),
        ("inputs", ["x:fp16"]),
        ("outputs", ["y:int32"]),
    ],
)
def test_slim_refuses_by_name(proto, argument, value):
    with pytest.raises(NotImplementedError, match=f"`{argument}` of onnxslim"):
        onnxslim.slim(proto, **{argument: value})


def test_slim_refuses_what_it_does_not_have(proto):
    with pytest.raises(TypeError, match="no argument `no_such`"):
        onnxslim.slim(proto, no_such=1)
    with pytest.raises(TypeError, match="not 3 arguments"):
        onnxslim.slim(proto, "a.onnx", True)
    with pytest.raises(NotImplementedError, match="as a list"):
        onnxslim.slim([proto])


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"model_check_inputs": ["typo:1,2"]}, ValueError, "`model_check_inputs`: the model has no input `typo`"),
        ({"model_check_inputs": ["typo:a.npy"]}, ValueError, "`model_check_inputs`: the model has no input `typo`"),
        ({"model_check_inputs": ["x:int32"]}, ValueError, "`model_check_inputs`: 'x:int32' is not a name and a shape"),
        ({"model_check_inputs": {"x": "1,3"}}, TypeError, "the shape of `x` in `model_check_inputs` must be a list"),
        ({"input_shapes": {"x": 3}}, TypeError, "the shape of `x` in `input_shapes` must be a list"),
        ({"inputs": {"x": [1]}}, TypeError, "`inputs` must be a list of names, not `dict`"),
        ({"outputs": "y"}, TypeError, "`outputs` must be a list of names, not `str`"),
        ({"skip_optimizations": False}, TypeError, "`skip_optimizations` must be a list of names"),
        ({"size_threshold": "1KB"}, TypeError, "`size_threshold` must be an int"),
        ({"size_threshold": False}, TypeError, "`size_threshold` must be an int"),
    ],
)
def test_slim_ignores_nothing(proto, arguments, error, says):
    for model_check in (False, True):
        with pytest.raises(error, match=says):
            onnxslim.slim(proto, model_check=model_check, **arguments)


def test_slim_has_one_output_model(path, tmp_path):
    with pytest.raises(TypeError, match="by position and by name"):
        onnxslim.slim(path, tmp_path / "a.onnx", output_model=tmp_path / "b.onnx")


@pytest.mark.thread_unsafe(reason="the logger is the process's")
def test_slim_is_verbose_once(proto, capsys, monkeypatch):
    logger = logging.getLogger("relais")
    # As in a program that has set up nothing.
    monkeypatch.setattr(logger, "propagate", False)
    level, handlers = logger.level, list(logger.handlers)
    onnxslim.slim(proto, verbose=True)
    assert capsys.readouterr().err
    with pytest.raises(ValueError):
        onnxslim.slim(proto, verbose=True, model_check_inputs=["typo:1"])
    assert (logger.level, logger.handlers) == (level, handlers)
    capsys.readouterr()
    onnxslim.slim(proto)
    assert not capsys.readouterr().err


def test_what_a_comparison_did_not_reach_is_logged(caplog):
    text = """def @main(%x: Tensor[(4), float32]) #[opset = {"": 17}] {
      %sum = ReduceSum(%x, keepdims = 0); %limit = const(float32, 1000000.0); %c = Greater(%sum, %limit);
      %0 = if (%c) { %1 = Neg(%x); %1 } else { %x };
      %0 }"""
    before, after = relais.parse(text), relais.parse(text.replace("Neg", "Abs"))
    with caplog.at_level(logging.WARNING, "relais"):
        assert _common._agree_here(before, before, 1, 1e-4, 1e-5) and not caplog.records
        assert _common._agree_here(before, after, 1, 1e-4, 1e-5)
    assert "did not reach" in caplog.records[0].message

"""One line: every kind of input, every argument, and everything that can be wrong with them."""

from __future__ import annotations

import errno
import logging
import os
import pathlib
import subprocess
import sys

import conftest
import numpy as np
import onnx
import pytest

import relais_onnx as relais

N_OPS = 11
SMALLER = ["Conv", "Relu", "GlobalAveragePool", "Reshape", "MatMul"]


def ops(model: onnx.ModelProto) -> list[str]:
    return [node.op_type for node in model.graph.node]


def test_a_proto_gives_a_proto(proto):
    before = proto.SerializeToString()
    result = relais.optimize(proto)
    assert isinstance(result, onnx.ModelProto)
    assert ops(result) == SMALLER
    assert proto.SerializeToString() == before
    conftest.assert_same(proto, result)


def test_bytes_give_bytes(proto):
    for data in (proto.SerializeToString(), bytearray(proto.SerializeToString()), memoryview(proto.SerializeToString())):
        result = relais.optimize(data)
        assert isinstance(result, bytes)
        assert ops(onnx.load_from_string(result)) == SMALLER


def test_a_path_gives_a_module_and_writes(path, tmp_path):
    out = tmp_path / "out.onnx"
    result = relais.optimize(path, out=out)
    assert isinstance(result, relais.IRModule)
    assert result["main"].ops == SMALLER
    assert ops(onnx.load(out)) == SMALLER
    assert relais.optimize(str(path))["main"].ops == SMALLER
    conftest.assert_same(str(path), str(out))


def test_a_module_gives_a_module(module):
    result = relais.optimize(module)
    assert result["main"].ops == ["Relu"]
    assert module["main"].ops == ["Identity", "Neg", "Neg", "Relu"]


@pytest.mark.parametrize("name", ["squeezenet", "shufflenet"])
def test_a_real_model_computes_the_same(name):
    model = onnx.load(conftest.light(name))
    result = relais.optimize(model)
    # Constants may be nodes of the file.
    assert len(relais.from_proto(result)["main"].ops) < len(relais.from_proto(model)["main"].ops)
    conftest.assert_same(model, result)


def test_a_lower_precision(path):
    text = "def @main(%x: Tensor[(2, 2), float32]) #[opset = {\"\": 17}] { %0 = MatMul(%x, %x); %0 }"
    result = relais.optimize(relais.parse(text), dtype="bfloat16")["main"]
    assert result.ops == ["Cast", "MatMul", "Cast"]
    assert [param.dtype for param in result.params] == ["float32"]
    with pytest.raises(relais.PipelineError, match="`float16` or `bfloat16`"):
        relais.optimize(path, dtype="float8")
    with pytest.raises(TypeError, match="`dtype` must be a str"):
        relais.optimize(path, dtype=16)


def test_what_nothing_changes_is_written_byte_for_byte(path, tmp_path):
    relais.optimize(path, level=0, out=tmp_path / "out.onnx")
    assert (tmp_path / "out.onnx").read_bytes() == path.read_bytes()
    assert relais.optimize(path.read_bytes(), level=0) == path.read_bytes()


def test_levels_pipelines_and_passes(proto, tmp_path):
    assert ops(relais.optimize(proto, level=0)) == ops(proto)
    assert len(ops(relais.optimize(proto, level=1))) < N_OPS
    assert ops(relais.optimize(proto, pipeline="default")) == SMALLER
    assert "Identity" not in ops(relais.optimize(proto, passes=["EliminateNoOp"]))
    assert "Exp" in ops(relais.optimize(proto, disable=["DeadCodeElimination"]))
    pipeline = tmp_path / "p.toml"
    pipeline.write_text('steps = ["EliminateNoOp", "DeadCodeElimination"]\n')
    result = ops(relais.optimize(proto, pipeline=pipeline))
    assert "Identity" not in result and "Exp" not in result and "BatchNormalization" in result


@pytest.mark.skipif(sys.platform != "linux", reason="plugins are isolated on Linux")
@pytest.mark.thread_unsafe(reason="it sets a variable of the environment")
def test_plugins_in_processes_of_their_own(proto, tmp_path, monkeypatch):
    steps = 'steps = ["EliminateNoOp", "DeadCodeElimination"]\n'
    (tmp_path / "here.toml").write_text(steps)
    (tmp_path / "away.toml").write_text(steps + "[plugins]\nrelais-graph = { isolate = { sandbox = 'strict' } }\n")
    here, away = [relais.optimize(proto, pipeline=tmp_path / f"{name}.toml") for name in ("here", "away")]
    assert here.SerializeToString() == away.SerializeToString()
    monkeypatch.setenv("RELAIS_WORKER", str(tmp_path / "nothing"))
    with pytest.raises(relais.PipelineError, match="the program `.*nothing` does not exist; `RELAIS_WORKER` can name another"):
        relais.optimize(proto, pipeline=tmp_path / "away.toml")


def test_options(proto):
    assert ops(relais.optimize(proto, config={"FoldConstant.max_growth": 0}, check=1)) == SMALLER
    with pytest.raises(relais.PipelineError, match="max_growth.*-1") as caught:
        relais.optimize(proto, config={"FoldConstant.max_growth": -1})
    fault = caught.value.faults[0]
    assert (fault.code, fault.place) == ("P004", "config:1:25")
    with pytest.raises(relais.PipelineError, match="no_such"):
        relais.optimize(proto, config={"FoldConstant.no_such": 1})


def test_input_shapes():
    model = conftest.network("N")
    fixed = relais.optimize(model, input_shapes={"x": [4, 3, 8, 8]})
    assert [dim.dim_value for dim in fixed.graph.input[0].type.tensor_type.shape.dim] == [4, 3, 8, 8]
    named = relais.optimize(conftest.network(1), input_shapes={"x": ["M", 3, 8, 8]})
    assert named.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "M"
    with pytest.raises(relais.ModelError, match="input shape `x:4,3`.*2") as caught:
        relais.optimize(model, input_shapes={"x": [4, 3]})
    assert "input `x` is" in caught.value.help
    with pytest.raises(relais.ModelError, match="no input `z`"):
        relais.optimize(model, input_shapes={"z": [4]})


def test_target_opset():
    module = relais.parse(
        'def @main(%x: Tensor[(1, 2), float32]) #[opset = {"": 11}] { %a = Identity(%x); %b = Squeeze(%a, axes = [0]); %b }'
    )
    assert relais.optimize(module, target_opset=13, check=1)["main"].ops == ["Identity", "Squeeze"]
    assert relais.optimize(module, target_opset=13, level=3)["main"].ops == ["Squeeze"]
    with pytest.raises(relais.PipelineError, match="`target` of `relais.ConvertOpset` cannot be 3"):
        relais.optimize(module, target_opset=3)
    with pytest.raises(relais.PassFailed, match="the newest is"):
        relais.optimize(module, target_opset=99)
    with pytest.raises(TypeError, match="`target_opset`"):
        relais.optimize(module, target_opset="13")


def test_reproducers(tmp_path, caplog):
    module = relais.parse('def @main(%x: Tensor[(2), float32]) -> (%y) #[opset = {"": 17}] { %y = Relu(%x); %y }')
    removing = "relais.RemoveUnusedFunctions"
    impossible = dict(passes=[removing], config={f"{removing}.entry_functions": ["nothing"]})
    for name, out in [("model", None), ("out.onnx", tmp_path / "out.onnx")]:
        with pytest.raises(relais.PassFailed, match="no function `@nothing`") as caught:
            relais.optimize(module, **impossible, out=out, reproducer_dir=tmp_path / "failed")
        (folder,) = caught.value.reproducers
        assert folder == tmp_path / "failed" / f"{name}.repro"
        assert {"module.relay", "pipeline.toml", "reproducer.json"} <= {file.name for file in folder.iterdir()}
        assert f"relais replay {folder}" in caught.value.__notes__[0]
        # The program runs it alone, and so does this package.
        with pytest.raises(relais.PassFailed, match="no function `@nothing`"):
            relais.optimize(folder / "module.relay", pipeline=folder / "pipeline.toml")
    # Without a folder, there is none.
    with pytest.raises(relais.PassFailed) as caught:
        relais.optimize(module, **impossible)
    assert caught.value.reproducers == [] and not hasattr(caught.value, "__notes__")

    # Nothing outside this process has a pass that is an object.
    @relais.function_pass(opt_level=0)
    def fails(function, module, ctx):
        raise ValueError("it fails")

    with caplog.at_level("WARNING"), pytest.raises(ValueError, match="it fails"):
        relais.optimize(module, passes=[fails], reproducer_dir=tmp_path / "own")
    assert not (tmp_path / "own").exists()
    assert "no reproducer was written: pass `fails` is one of this program" in caplog.text
    with pytest.raises(TypeError, match="`reproducer_dir`"):
        relais.optimize(module, reproducer_dir=3)


def test_keep():
    text = """def @main(%x: Tensor[(2), float32]) -> (%y) #[opset = {"": 17}] { %a = Identity(%x); %b = Identity(%a); %y = Relu(%b); %y }"""
    module = relais.parse(text)
    assert relais.optimize(module)["main"].ops == ["Relu"]
    assert relais.optimize(module, keep=["b"], check=1)["main"].ops == ["Identity", "Relu"]
    with pytest.raises(relais.ModelError, match="no node or value `c` to keep"):
        relais.optimize(module, keep=["c"])
    with pytest.raises(TypeError, match="`keep`"):
        relais.optimize(module, keep="b")


def test_rules(module):
    assert relais.optimize(module, rules=["Neg(Neg(x)) => x"])["main"].ops == ["Identity", "Relu"]
    with pytest.raises(relais.RuleError, match=r"rules\[0\]:1:1: rule .* changes what a module computes"):
        relais.optimize(module, rules=["Neg(x) => x"])
    with pytest.raises(relais.RuleError, match=r"rules\[0\]"):
        relais.optimize(module, rules=["Neg(x => x"])


def test_rule_files(module, tmp_path):
    rules = tmp_path / "r.rules"
    rules.write_text("Neg(Neg(x)) => x\n")
    assert relais.optimize(module, rule_files=[rules])["main"].ops == ["Identity", "Relu"]
    with pytest.raises(FileNotFoundError, match="missing.rules"):
        relais.optimize(module, rule_files=[tmp_path / "missing.rules"])


def test_check(module, tmp_path):
    assert relais.optimize(module, check=2)["main"].ops == ["Relu"]

    @relais.register_pass
    @relais.module_pass(opt_level=0, name="test.Harm")
    def harm(mod, ctx):
        return relais.parse(conftest.TEXT.replace("Relu", "Abs"))

    out = tmp_path / "out.onnx"
    with pytest.raises(relais.CheckFailed, match="output `y` differs"):
        relais.optimize(module, passes=["test.Harm"], check=1, out=out)
    assert not out.exists()
    unknown = relais.parse(conftest.TEXT.replace("Relu", "acme::Nobody"))
    with pytest.raises(relais.NotCheckedError, match="Nobody"):
        relais.optimize(unknown, check=1)


def test_threads(proto):
    assert ops(relais.optimize(proto, threads=2)) == SMALLER


@pytest.mark.thread_unsafe(reason="a name has one pass")
def test_passes_of_python_have_names(module):
    @relais.register_pass
    @relais.function_pass(opt_level=0, name="test.Look")
    def look(func, mod, ctx):
        seen.append(func.name)

    seen = []
    relais.optimize(module, passes=["test.Look", "EliminateNoOp"])
    relais.optimize(module, passes=["Look"], threads=1)
    assert seen == ["main", "main"]
    assert "test.Look" in relais.list_passes()
    assert relais.describe("test.Look")["kind"] == "function"
    with pytest.raises(ValueError, match="prefix and a dot"):
        relais.register_pass(relais.module_pass(lambda mod, ctx: None, opt_level=0, name="Look"))


def test_passes_are_objects_too(module):
    @relais.function_pass(opt_level=3, name="test.LookAgain")
    def look(func, mod, ctx):
        seen.append(func.name)

    @relais.rewrite
    def neg_neg(op, x):
        return op.Neg(op.Neg(x))

    @neg_neg.replace
    def _(op, x):
        return x

    seen = []
    passes = [look, "EliminateNoOp", neg_neg, relais.rule("Relu(x) => Clip(x, 0.0)", judge=False), look]
    assert relais.optimize(module, passes=[*passes, "DeadCodeElimination"])["main"].ops == ["Clip"]
    assert seen == ["main", "main"]
    # Two of one name, one with options, a sequence, a registered pass.
    two = [relais.get_pass("Rewrite", rules=[text]) for text in ("Identity(x) => x", "Relu(x) => Clip(x, 0.0)")]
    assert relais.optimize(module, passes=two)["main"].ops == ["Neg", "Neg", "Clip"]
    assert relais.optimize(module, passes=two[:1])["main"].ops == ["Neg", "Neg", "Relu"]
    both = relais.Sequential([look, neg_neg], name="both")
    relais.register_pass(look)
    assert relais.optimize(module, passes=[both], disable=["LookAgain"])["main"].ops == ["Identity", "Neg", "Relu"]
    relais.register_pass(relais.rule("Identity(x) => x", name="test.NoIdentity"))
    assert relais.optimize(module, passes=iter(["test.NoIdentity", both]), level=3)["main"].ops == ["Neg", "Relu"]
    assert seen == ["main"] * 3


def test_errors_of_passes_that_are_objects(module):
    @relais.module_pass(opt_level=0)
    def fails(mod, ctx):
        raise KeyError("on purpose")

    with pytest.raises(KeyError, match="on purpose") as caught:
        relais.optimize(module, passes=[fails])
    assert caught.value.__notes__ == ["in the pass `fails`"] and caught.value.__relais__.pass_name == "fails"

    @relais.rewrite
    def unfinished(op, x):
        return op.Neg(x)

    with pytest.raises(relais.RuleError, match="has no right side"):
        relais.optimize(module, passes=[unfinished])
    with pytest.raises(TypeError, match="`passes` must be a list of names and passes, not `ModulePass`"):
        relais.optimize(module, passes=fails)
    for wrong in (None, lambda mod, ctx: None, relais.Pass, ["fails"]):
        with pytest.raises(TypeError, match="a member of `passes` must be a name or a Pass"):
            relais.optimize(module, passes=["InferType", wrong])


def test_rules_are_judged_wherever_they_are_given(module):
    wrong = relais.rule("Relu(x) => Abs(x)", name="test.Wrong")
    relais.register_pass(wrong)
    needs = relais.module_pass(lambda mod, ctx: None, opt_level=0, name="test.Needs", required=["test.Wrong"])
    relais.register_pass(needs)
    uses = [
        lambda: relais.optimize(module, passes=[wrong]),
        lambda: relais.optimize(module, passes=["Wrong"]),
        lambda: relais.optimize(module, passes=["test.Needs"]),
        lambda: relais.optimize(module, passes=[relais.Sequential([needs])]),
        lambda: relais.optimize(module, passes=[relais.get_pass("Rewrite", rules=["Relu(x) => Abs(x)"])]),
        lambda: relais.get_pass("test.Wrong")(module),
        lambda: relais.Sequential([needs])(module),
    ]
    for use in uses:
        with pytest.raises(relais.RuleError, match="changes what a module computes"):
            use()


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"passes": "EliminateNoOp"}, TypeError, "`passes` must be a list of names and passes, not `str`"),
        ({"disable": "EliminateNoOp"}, TypeError, "`disable` must be a list of names, not `str`"),
        ({"rules": "Neg(Neg(x)) => x"}, TypeError, "`rules` must be a list"),
        ({"rule_files": "a.rules"}, TypeError, "`rule_files` must be a list"),
        ({"passes": [3]}, TypeError, "a member of `passes` must be a name or a Pass, not `int`"),
        ({"passes": 3}, TypeError, "`passes` must be a list of names and passes, not `int`"),
        ({"passes": []}, ValueError, "`passes` is empty"),
        ({"passes": ["NoSuch"]}, relais.PipelineError, r"no pass `NoSuch`(.|\n)*passes\[0\]:1:1"),
        ({"pipeline": "no-such"}, relais.PipelineError, "no-such"),
        ({"pipeline": "default", "passes": ["InferType"]}, ValueError, "`pipeline` and `passes`"),
        ({"level": 256, "passes": ["InferType"]}, ValueError, "`level` must be between 0 and 255, not 256"),
        ({"level": 4}, ValueError, "`level` must be between 0 and 3, not 4"),
        ({"level": "2"}, TypeError, "`level` must be an int, not `str`"),
        ({"level": True}, TypeError, "`level` must be an int, not `bool`"),
        ({"level": 10**30}, ValueError, "`level` must be between"),
        ({"check": -1}, ValueError, "`check` must be between 0 and 1000"),
        ({"check_rtol": float("nan")}, ValueError, "`check_rtol` must be finite"),
        ({"threads": 0}, ValueError, "`threads` must be between 1"),
        ({"config": [1]}, TypeError, "`config` must be a dict"),
        ({"config": {3: 1}}, TypeError, "a name in `config` must be a str"),
        ({"config": {"FoldConstant.max_growth": None}}, TypeError, "must be a bool, an int"),
        ({"config": {"FoldConstant.max_growth": 2**70}}, ValueError, "does not fit into 64 bits"),
        ({"input_shapes": "x:1"}, TypeError, "`input_shapes` must be a dict"),
        ({"input_shapes": {"x": "1,2"}}, TypeError, "the shape of `x` must be a list of sizes, not `str`"),
        ({"input_shapes": {"x": [1.5]}}, TypeError, "a size of `x` must be an int"),
        ({"input_shapes": {"x": [-2, 3]}}, relais.ModelError, "input shape `x:-2,3` is not a shape"),
        ({"external_data": "sometimes"}, ValueError, "`external_data` must be"),
        ({"out": 3}, TypeError, "`out` must be a str or a path"),
    ],
)
def test_wrong_arguments(module, arguments, error, words):
    with pytest.raises(error, match=words):
        relais.optimize(module, **arguments)


@pytest.mark.parametrize("model", [None, 3, ["a.onnx"], object(), onnx.GraphProto()])
def test_what_is_not_a_model(model):
    with pytest.raises(TypeError, match="`model` must be a path, bytes, an `onnx.ModelProto` or an `IRModule`"):
        relais.optimize(model)


def test_broken_models(proto, tmp_path):
    data = proto.SerializeToString()
    for broken in (b"\x08\x01\xff\xff", data[:-7], b"\x00" * 64):
        with pytest.raises(relais.ModelError, match="<bytes>") as caught:
            relais.optimize(broken)
        assert caught.value.help
    cut = tmp_path / "cut.onnx"
    cut.write_bytes(data[:100])
    with pytest.raises(relais.ModelError, match="cut.onnx.*byte"):
        relais.optimize(cut)
    with pytest.raises(FileNotFoundError):
        relais.optimize(tmp_path / "missing.onnx")
    with pytest.raises(relais.ModelError, match="is a folder"):
        relais.optimize(tmp_path)


def test_results_that_cannot_be_written(module, tmp_path):
    with pytest.raises(relais.OutputError, match="output .*missing") as caught:
        relais.optimize(module, out=tmp_path / "missing" / "out.onnx")
    assert isinstance(caught.value, OSError)


def test_external_data(proto, tmp_path):
    path = tmp_path / "in.onnx"
    # It changes what it saves.
    onnx.save_model(conftest.network(), path, save_as_external_data=True, location="in.data", size_threshold=0)
    module = relais.load(path)
    module.save(tmp_path / "out.onnx", external_data="never")
    conftest.assert_same(proto, onnx.load(tmp_path / "out.onnx"))
    relais.optimize(path, out=tmp_path / "apart.onnx", external_data="always")
    conftest.assert_same(proto, str(tmp_path / "apart.onnx"))
    module.save(tmp_path / "own.onnx")
    module.save(tmp_path / "shared.onnx", external_data="keep")
    assert (tmp_path / "own.onnx.data").exists() and not (tmp_path / "shared.onnx.data").exists()
    for name in ("own.onnx", "shared.onnx"):
        conftest.assert_same(proto, str(tmp_path / name))
    refers = onnx.load(path, load_external_data=False)
    with pytest.raises(relais.ModelError, match="in.data|folder"):
        relais.from_proto(refers)
    assert relais.from_proto(refers, base_dir=tmp_path) == module
    conftest.assert_same(proto, relais.optimize(refers, base_dir=tmp_path))


def test_modules(module, tmp_path):
    assert str(module) == conftest.TEXT
    assert relais.parse(str(module)) == module
    assert module != relais.parse(conftest.TEXT.replace("Relu", "Abs"))
    assert module != 3 and module.same_as(module) and not module.same_as(relais.parse(conftest.TEXT))
    assert list(module) == ["main"] and len(module) == 1 and "main" in module and "x" not in module
    with pytest.raises(KeyError):
        module["x"]
    more = module.with_function("copy", module["main"])
    assert list(more) == ["main", "copy"] and list(module) == ["main"]
    assert more.without_function("copy") == module
    with pytest.raises(TypeError, match="function `a` must be a Function, not `int`"):
        module.with_function("a", 3)
    assert relais.IRModule({"main": module["main"]})["main"].same_as(module["main"])
    module.save(tmp_path / "m.relay")
    assert relais.load(tmp_path / "m.relay") == module
    assert (tmp_path / "m.relay").read_text() == conftest.TEXT
    with pytest.raises(relais.ModelError, match="<text>.relay:1:1"):
        relais.parse("def @")
    with pytest.raises(TypeError, match="`text` must be a str"):
        relais.parse(b"")


@pytest.mark.thread_unsafe(reason="counts what the logger is told")
@pytest.mark.parametrize(
    ("n_hidden", "told"),
    [
        (1, "the name `v0` hides one of an enclosing graph"),
        (2, "the names `v0`, `v1` hide those of enclosing graphs"),
        (5, "the names `v0`, `v1`, `v2` and 2 more hide those of enclosing graphs"),
    ],
)
def test_names_that_hide_others_are_one_warning(caplog, n_hidden, told):
    make_node, make_graph = onnx.helper.make_node, onnx.helper.make_graph
    names = [f"v{at}" for at in range(n_hidden)]

    def value(name, elem=onnx.TensorProto.FLOAT, dims=(2,)):
        return onnx.helper.make_tensor_value_info(name, elem, dims)

    hiding = [*(make_node("Abs", ["x"], [name]) for name in names), make_node("Neg", ["v0"], ["then"])]
    then_branch = make_graph(hiding, "then", [], [value("then")])
    else_branch = make_graph([make_node("Sum", names, ["else"])], "else", [], [value("else")])
    chosen = make_node("If", ["c"], ["y"], then_branch=then_branch, else_branch=else_branch)
    nodes = [*(make_node("Exp", ["x"], [name]) for name in names), chosen]
    inputs = [value("c", onnx.TensorProto.BOOL, ()), value("x")]
    model = onnx.helper.make_model(
        make_graph(nodes, "g", inputs, [value("y")]), opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8
    )
    with caplog.at_level(logging.WARNING, "relais"):
        relais.from_proto(model)
    assert [record.message for record in caplog.records if "hide" in record.message] == [told]


def test_warnings_are_logged(caplog):
    model = conftest.network("N")
    for node_output in ("conv", "act"):
        model.graph.value_info.append(
            onnx.helper.make_tensor_value_info(node_output, onnx.TensorProto.FLOAT, [1, 4, 8, 8])
        )
    with caplog.at_level(logging.WARNING, "relais"):
        relais.optimize(model)
    assert any("that its inputs leave open" in record.message for record in caplog.records)


def test_what_there_is():
    names = relais.list_passes()
    assert "relais.FoldConstant" in names and names == sorted(names)
    assert relais.describe("FoldConstant")["name"] == "relais.FoldConstant"
    assert relais.describe("timing")["what"] == "instrument"
    assert relais.describe("default")["what"] == "pipeline"
    with pytest.raises(relais.PipelineError, match="did you mean `relais.FoldConstant`"):
        relais.describe("relais.FoldConstan")
    assert {"timing", "remarks"} <= set(relais.list_instruments()) and {"default", "O3"} <= set(relais.list_pipelines())
    for name in [*relais.list_instruments(), *relais.list_pipelines()]:
        assert relais.describe(name)["doc"]
    assert {plugin["name"] for plugin in relais.list_plugins()} >= {"relais-graph", "relais-operators"}
    with pytest.raises(relais.PluginError, match="missing.so"):
        relais.add_plugins([pathlib.Path("missing.so")])
    with pytest.raises(TypeError, match="`plugins` must be a list"):
        relais.add_plugins("missing.so")
    assert relais.__version__.count(".") == 2


@pytest.mark.parametrize("name", ["squeezenet", "shufflenet", "inception_v2"])
def test_the_command_line_of_the_package_writes_the_same(name, tmp_path):
    ours, theirs = tmp_path / "ours.onnx", tmp_path / "theirs.onnx"
    subprocess.run([conftest.program(), "-q", "run", conftest.light(name), "-o", theirs], check=True)
    relais.optimize(conftest.light(name), out=ours)
    version = subprocess.run([conftest.program(), "--version"], check=True, capture_output=True, text=True).stdout
    assert version == f"relais {relais.__version__}\n"
    assert ours.read_bytes() == theirs.read_bytes()


def test_rules_that_cannot_be_parsed(module, tmp_path):
    file = tmp_path / "rules.txt"
    for text, code in (("Neg(Neg(x)) => y", "L004"), ("Neg(", "L001"), ("Neg(x) => x if nope(x)", "L009")):
        file.write_text(text)
        for given in ({"rules": ["Neg(Neg(x)) => x", text]}, {"rule_files": [file]}):
            with pytest.raises(relais.RuleError, match=code) as caught:
                relais.optimize(module, **given)
            assert caught.value.help and "Rust" not in caught.value.help


@pytest.mark.thread_unsafe(reason="the modules of Python are those of all threads")
def test_messages_say_what_is_wrong(module, tmp_path, monkeypatch):
    for arguments, error, text in (
        ({"disable": ["\udcff"]}, ValueError, r"a name in `disable` is not valid Unicode: '\\udcff'"),
        ({"rules": ["\udcff"]}, ValueError, "in `rules` is not valid Unicode"),
        ({"pipeline": b"x"}, TypeError, "`pipeline` must be .*, not `bytes`"),
    ):
        with pytest.raises(error, match=text):
            relais.optimize(module, **arguments)

    @relais.pass_instrument
    class Answers:
        def should_run(self, mod, info):
            return np.True_

    with relais.PassContext(instruments=[Answers()]), pytest.raises(TypeError, match="must be a bool, not `numpy.bool"):
        relais.get_pass("FoldConstant")(module)
    for call, error in (
        (lambda: module["main"].nodes[10**30], IndexError),
        (lambda: module.save(tmp_path / "x.onnx", threshold=-1), ValueError),
        (lambda: relais.testing.check(relais.get_pass("FoldConstant"), modules=-1), ValueError),
        (lambda: relais.Builder(2**70), ValueError),
    ):
        with pytest.raises(error):
            call()
    with pytest.raises(relais.PipelineError, match=r"`list_passes\(\)`") as unknown:
        relais.get_pass("acme.Nothing")
    assert "--" not in str(unknown.value) and "--" not in str(unknown.value.faults)
    with pytest.raises(relais.PluginError):
        relais.add_plugins([tmp_path / "nothing.so"])
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ModuleNotFoundError, match="pip install"):
        module.to_proto()


def test_what_the_system_says_of_an_output(module, tmp_path):
    for path, code in ((tmp_path / "missing" / "x.onnx", errno.ENOENT), (tmp_path, errno.EISDIR)):
        with pytest.raises(relais.OutputError) as caught:
            module.save(path)
        assert caught.value.errno == code and caught.value.filename == path and caught.value.strerror == os.strerror(code)
        assert str(path) in str(caught.value) and caught.value.help in str(caught.value)
    for call in (lambda it: it.save(tmp_path / "x.onnx"), lambda it: it.to_bytes()):
        with pytest.raises(relais.OutputError, match="^the model cannot be written: the module has no function `main`"):
            call(module.without_function("main"))

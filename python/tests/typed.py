"""Types that users see. Nothing runs this: mypy checks it in the tests, and pyright, in its strict mode, in `.ci/full typed`."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, assert_type

import onnx

import relais_onnx as relais
from relais_onnx import instrument, passes, testing, transform, zoo
from relais_onnx.compat.onnxsim import simplify
from relais_onnx.compat.onnxslim import slim


@relais.module_pass(opt_level=2, name="acme.AddCopy", required=["InferType"])
def add_copy(mod: relais.IRModule, ctx: relais.PassContext) -> relais.IRModule:
    return mod.with_function("copy", mod["main"])


@relais.module_pass(opt_level=0)
def looks(mod: relais.IRModule, ctx: relais.PassContext) -> None:
    print(ctx.opt_level)


def unchanged(mod: relais.IRModule, ctx: relais.PassContext) -> relais.IRModule:
    return mod


class Adds:
    def __init__(self, name: str, *, twice: bool = False) -> None:
        self.name = name

    def transform_module(self, mod: relais.IRModule, ctx: relais.PassContext) -> relais.IRModule:
        return mod.with_function(self.name, mod["main"])


class Replace:
    def __init__(self, new: relais.Function) -> None:
        self.new = new

    def transform_function(self, func: relais.Function, mod: relais.IRModule, ctx: relais.PassContext) -> relais.Function:
        return self.new


@relais.prim_func_pass(opt_level=1)
def same(func: relais.Function, mod: relais.IRModule, ctx: relais.PassContext) -> relais.Function:
    return func


@dataclass
class Limits:
    most: int = 3


assert_type(relais.register_config(Limits, prefix="typed"), type[Limits])


@relais.register_config(prefix="typed.more")
@dataclass
class More:
    most: int = 3


assert_type(More(4).most, int)


@relais.pass_instrument
class Names:
    def __init__(self) -> None:
        self.names: list[str] = []

    def run_before_pass(self, mod: relais.IRModule, info: relais.PassInfo) -> None:
        self.names.append(info.name)


@relais.rewrite(name="acme.NegNeg")
def neg_neg(op: Any, x: Any) -> Any:
    return op.Neg(op.Neg(x))


def what_is_made(module: relais.IRModule) -> None:
    assert_type(add_copy, transform.ModulePass)
    assert_type(looks, transform.ModulePass)
    assert_type(same, transform.PrimFuncPass)
    assert_type(relais.module_pass(unchanged, 1), transform.ModulePass)
    # A checker that takes a class for itself, whatever decorates it, knows what a call makes of it.
    assert_type(relais.module_pass(opt_level=0)(Adds)("copy", twice=True), transform.ModulePass)
    assert_type(relais.function_pass(Replace, 1)(module["main"]), transform.FunctionPass)
    assert_type(Names().names, list[str])
    assert_type(neg_neg, relais.rewriter.RewriteRule)
    assert_type(relais.rule("Neg(Neg(x)) => x"), relais.rewriter.Rules)
    assert_type(relais.register_pass(neg_neg), relais.rewriter.RewriteRule)
    sequence = relais.Sequential(one for one in (add_copy, relais.get_pass("FoldConstant"), neg_neg))
    assert_type(sequence, relais.Sequential)
    assert_type(sequence(module), relais.IRModule)
    assert_type(neg_neg(module), relais.IRModule)


def watched(module: relais.IRModule) -> None:
    timing = instrument.PassTimingInstrument()
    assert_type(timing, instrument.PassTimingInstrument)
    with relais.PassContext(instruments=[Names(), timing, instrument.DumpIR(pathlib.Path("dump"))]) as context:
        assert_type(context, relais.PassContext)
    assert_type(timing.render(), str)


def options(module: relais.IRModule) -> None:
    assert_type(passes.FoldConstant(max_growth="64K", exact=True), relais.Pass)
    assert_type(passes.EliminateNoOp()(module), relais.IRModule)
    some = passes.FoldConstantOptions(max_growth=0)
    assert_type(some, passes.FoldConstantOptions)
    assert_type(some.exact, bool)
    assert_type(some.make(), relais.Pass)
    assert_type(passes.EmitCOptions().bounds, Literal["data", "all", "none"])
    passes.FoldConstant(max_grow=1)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


def models(module: relais.IRModule, proto: onnx.ModelProto, data: bytes) -> None:
    assert_type(relais.optimize(module), relais.IRModule)
    relais.optimize(module, dependencies="direct")
    relais.optimize(module, dependencies="indirect")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]
    relais.Sequential([add_copy], dependencies="direct")(module)
    assert_type(relais.optimize(pathlib.Path("model.onnx")), relais.IRModule)
    assert_type(relais.optimize(data), bytes)
    assert_type(relais.optimize(bytearray(data)), bytes)
    assert_type(relais.optimize(memoryview(data)), bytes)
    assert_type(relais.optimize(proto, passes=[add_copy, neg_neg, "FoldConstant"]), onnx.ModelProto)
    assert_type(relais.from_bytes(bytearray(data)), relais.IRModule)
    assert_type(testing.check(neg_neg), testing.Checked)
    assert_type(zoo.optimize("*.onnx", "out", level=1)[0].sizes, tuple[int, ...])
    zoo.optimize("*.onnx", "out", levle=1)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


def dropped_in(proto: onnx.ModelProto) -> None:
    assert_type(simplify(proto, check_n=1), tuple[onnx.ModelProto, bool])
    assert_type(slim("model.onnx", model_check=True), onnx.ModelProto | None)
    slim(proto, "out.onnx", input_shapes=["x:1,3,224,224"])
    slim(proto, output_model="out.onnx")


def takes(step: Callable[[relais.IRModule], relais.IRModule]) -> None:
    """Passes are functions of modules."""


takes(add_copy)

"""What is wrong with an argument is said by its name, and helps those who call from Python."""

from __future__ import annotations

import functools
import sys

import conftest
import pytest

import relais_onnx as relais
from relais_onnx import testing, zoo
from relais_onnx.compat import onnxsim

MODULE = relais.parse(conftest.TEXT)
NEG_NEG = relais.rule("Neg(Neg(x)) => x")
# A half of a pair of surrogates: a str that is no text.
HALF = "\udcff"


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: relais.optimize(MODULE, disable=[HALF]), ValueError, "a name in `disable` is not valid Unicode"),
        (lambda: relais.optimize(MODULE, keep=[HALF]), ValueError, "a name in `keep` is not"),
        (lambda: relais.optimize(MODULE, passes=[HALF]), ValueError, "a name in `passes` is not"),
        (lambda: relais.optimize(MODULE, rules=[HALF]), ValueError, "a name in `rules` is not"),
        (lambda: relais.optimize(MODULE, config={HALF: 1}), ValueError, "a name in `config` is not"),
        (lambda: relais.optimize(MODULE, input_shapes={HALF: [1]}), ValueError, "a name in `input_shapes` is not"),
        (lambda: relais.optimize(MODULE, input_shapes={"x": [HALF]}), ValueError, "a size of `x` is not"),
        (lambda: relais.optimize(MODULE, dtype=HALF), ValueError, "`dtype` is not"),
        (lambda: relais.optimize(MODULE, pipeline=HALF), ValueError, "`pipeline` is not"),
        (lambda: relais.optimize(MODULE, pipeline=b"x"), TypeError, "`pipeline` must be a str or a path, not `bytes`"),
        (lambda: relais.optimize(MODULE, pipeline=1), TypeError, "`pipeline` must be a str or a path, not `int`"),
        (lambda: relais.optimize(MODULE, rule_files=1), TypeError, "`rule_files` must be a list of paths, not `int`"),
        (lambda: relais.optimize(MODULE, rule_files="a"), TypeError, "`rule_files` must be a list of paths, not `str`"),
        (lambda: relais.optimize(MODULE, rule_files=[1]), TypeError, "a path in `rule_files` must be a str or a path"),
        (lambda: relais.optimize(MODULE, config={1: 1}), TypeError, "a name in `config` must be a str, not `int`"),
        (lambda: relais.optimize(MODULE, passes=NEG_NEG), TypeError, "`passes` must be a list of names and passes"),
        (lambda: relais.from_bytes(b"", base_dir=3), TypeError, "`base_dir` must be a str or a path"),
        (lambda: relais.parse(HALF), ValueError, "`text` is not"),
        (lambda: relais.get_pass(HALF), ValueError, "`name` is not"),
        (lambda: relais.describe(HALF), ValueError, "`name` is not"),
        (lambda: relais.rule(HALF), ValueError, "a rule is not"),
        (lambda: relais.rule("Neg(Neg(x)) => x", name=3), TypeError, "`name` must be a str"),
        (lambda: relais.rule("Neg(x) => x", conditions="ab"), TypeError, "`conditions` must be a list of functions, not `str`"),
        (lambda: relais.rule("Neg(x) => x", conditions=3), TypeError, "`conditions` must be a list of functions, not `int`"),
        (lambda: relais.rule("Neg(x) => x", conditions=len), TypeError, "`conditions` must be a list of functions"),
        (lambda: relais.rule("Neg(x) => x", conditions=[3]), TypeError, "a condition must be callable"),
        (lambda: relais.rule("Neg(x) => x", conditions={"f": 3}), TypeError, "the condition `f` must be callable"),
        (lambda: relais.rule("Neg(x) => x", conditions=[functools.partial(len)]), TypeError, "no name of its own(.|\n)*a dict"),
        (lambda: relais.rule("Neg(x) => x", conditions=[lambda x: True]), TypeError, "no name of its own(.|\n)*a dict"),
        (lambda: relais.rewrite(lambda op, x: op.Neg(x), name=3), TypeError, "`name` must be a str"),
        (lambda: relais.Sequential([], name=3), TypeError, "`name` must be a str"),
        (lambda: testing.check(NEG_NEG, modules=-1), ValueError, "`modules` must be between"),
        (lambda: testing.check(NEG_NEG, modules=1.5), TypeError, "`modules` must be an int"),
        (lambda: testing.check(NEG_NEG, seed=-1), ValueError, "`seed` must be between"),
        (lambda: testing.check(NEG_NEG, samples=3), TypeError, "`samples` must be a list of modules"),
        (lambda: testing.check(NEG_NEG, strict=1), TypeError, "`strict` must be a bool"),
        (lambda: relais.add_plugins(3), TypeError, "`plugins` must be a list of paths, not `int`"),
        (lambda: relais.add_plugins([3]), TypeError, "a path in `plugins` must be a str or a path"),
        (lambda: relais.add_plugins(dirs="a"), TypeError, "`dirs` must be a list of paths, not `str`"),
        (lambda: relais.add_plugins(allow_writable=1), TypeError, "`allow_writable` must be a bool"),
        (lambda: zoo.optimize(["m.onnx"], "out", levle=1), TypeError, "no argument `levle`\n  help: did you mean `level`"),
        (lambda: zoo.optimize(["m.onnx"], "out", colour=1), TypeError, "no argument `colour`$"),
        (lambda: zoo.optimize([__file__], 3), TypeError, "`out` must be a str or a path"),
        (lambda: zoo.optimize([__file__], "out", cache=3), TypeError, "`cache` must be a str or a path"),
    ],
)
def test_wrong_arguments(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_conditions_by_name():
    is_small = functools.partial(lambda x, most: len(x.shape) <= most, most=2)
    for condition in (is_small, lambda x: len(x.shape) <= 2):
        rule = relais.rule("Neg(Neg(x)) => x if is_small(x)", conditions={"is_small": condition}, judge=False)
        assert rule(relais.get_pass("InferType")(MODULE))["main"].ops.count("Neg") == 1


def test_plugins_that_cannot_be_used(tmp_path):
    with pytest.raises(relais.PluginError, match="missing.so.*there is no such file") as caught:
        relais.add_plugins([tmp_path / "missing.so"])
    assert isinstance(caught.value, ValueError) and caught.value.help == "check the path and the permissions"


def test_without_the_package_onnx(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install 'relais-onnx\[onnx\]'"):
        onnxsim.simplify(object())

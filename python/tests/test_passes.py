"""Passes with their options as arguments."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Sequence
from typing import Literal

import conftest
import pytest

import relais_onnx as relais
from relais_onnx import passes


def test_signatures_are_the_declared_options():
    parameters = inspect.signature(passes.FoldConstant).parameters
    assert parameters["max_growth"].default == 4096 and parameters["exact"].default is False
    assert all(parameter.kind is parameter.KEYWORD_ONLY for parameter in parameters.values())
    assert parameters["exact"].annotation is bool and "per cent" in passes.FoldConstant.__doc__
    assert passes.FoldConstant.__name__ == "FoldConstant" and "FoldConstant" in dir(passes)


def test_every_pass_can_be_described():
    for name in relais.list_passes():
        made = getattr(passes, name.rpartition(".")[2])
        for option in relais.describe(name)["options"]:
            names = inspect.signature(made).parameters
            assert option["name"] in names or f"{option['name']}_" in names


def test_a_pass_with_options():
    module = relais.from_proto(conftest.network())
    made = passes.FoldConstant(max_growth="64K", exact=True)
    assert made.info.name == "relais.FoldConstant" and made(module) == relais.get_pass("FoldConstant", exact=True)(module)
    options = passes.FoldConstantOptions(max_growth=0)
    assert dataclasses.replace(options, exact=True).make().info == made.info
    with pytest.raises(dataclasses.FrozenInstanceError):
        options.exact = True


def test_options_are_of_one_class():
    options = passes.FoldConstantOptions(exact=True)
    assert passes.FoldConstantOptions is type(options) and isinstance(options, passes.Options)
    assert options == passes.FoldConstantOptions(exact=True) != passes.FoldConstantOptions()
    assert hash(options) == hash(passes.FoldConstantOptions(exact=True))
    assert pickle.loads(pickle.dumps(options)) == options and copy.deepcopy(options) == options
    assert passes.FoldConstant is passes.FoldConstant and pickle.loads(pickle.dumps(passes.FoldConstant)) is passes.FoldConstant
    # What is described otherwise, by another version of a plugin, is another class.
    described = passes._described("FoldConstant")
    other = passes._options_of({**described, "options": []})
    assert other is not type(options) and other() != options


def test_types_of_options():
    parameters = inspect.signature(passes.EmitC).parameters
    assert parameters["bounds"].annotation == Literal["data", "all", "none"]
    assert inspect.signature(passes.AlterOpLayout).parameters["operators"].annotation == Sequence[str]


def test_bad_options():
    with pytest.raises(TypeError, match=r"FoldConstant\(\) got an unexpected keyword argument 'max_grow'"):
        passes.FoldConstant(max_grow=1)
    with pytest.raises(relais.PipelineError, match="max_growth"):
        passes.FoldConstant(max_growth=-1)
    for name in ("Nothing", "nothing", "NothingOptions"):
        with pytest.raises(AttributeError, match="no pass"):
            getattr(passes, name)

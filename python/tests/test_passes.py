"""Passes with their options as arguments."""

from __future__ import annotations

import dataclasses
import inspect

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


def test_bad_options():
    with pytest.raises(TypeError, match=r"FoldConstant\(\) got an unexpected keyword argument 'max_grow'"):
        passes.FoldConstant(max_grow=1)
    with pytest.raises(relais.PipelineError, match="max_growth"):
        passes.FoldConstant(max_growth=-1)
    for name in ("Nothing", "nothing", "NothingOptions"):
        with pytest.raises(AttributeError, match="no pass"):
            getattr(passes, name)

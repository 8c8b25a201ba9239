"""Analyses of functions, by name, in passes and outside (rule R28)."""

from __future__ import annotations

import pytest

import relais_onnx as relais

TEXT = """def @main(%x: Tensor[(2), float32]) #[opset = {"": 17}] {
  %a = Relu(%x);
  %b = Neg(%a);
  %c = Add(%a, %b);
  %c
}
def @other(%x: Tensor[(2), float32]) #[opset = {"": 17}] {
  %a = Relu(%x);
  %a
}
"""


@pytest.fixture
def module():
    return relais.parse(TEXT)


def users(function, node):
    """The names of the users of a node."""
    lists = relais.analysis("Users", function)
    starts, of = lists["starts"].numpy(), lists["users"].numpy()
    names = {other.id: other.name for other in function.nodes}
    return [names[int(user)] for user in of[starts[node.id] : starts[node.id + 1]]]


def test_lists_are_tensors_by_node(module):
    function = module["main"]
    assert users(function, function.nodes[0]) == ["b", "c"]
    assert users(function, function.params[0]) == ["a"]
    lists = relais.analysis("relais.Liveness", function)
    assert list(lists) == ["place", "last_use"] and {tensor.dtype for tensor in lists.values()} == {"uint32"}
    places = lists["place"].numpy()
    assert [int(places[node.id]) for node in function.nodes] == [1, 2, 3]


def test_what_there_is():
    assert {"relais.Users", "relais.UseCounts", "relais.BlockTree", "relais.Liveness"} <= set(relais.list_analyses())
    described = relais.describe("relais.Users")
    assert described["what"] == "analysis" and described["of"] == "function" and described["depends"] == "structure"
    assert [item["name"] for item in described["lists"]] == ["starts", "users", "is_result"]


def test_passes_of_a_run_share_results(module):
    found = []

    @relais.function_pass(opt_level=0, name="acme.Ask")
    def ask(func, mod, ctx):
        found.append(relais.analysis("Users", func)["users"].numpy().tolist())
        return func

    @relais.module_pass(opt_level=0, name="acme.Whole")
    def whole(mod, ctx):
        for func in mod.values():
            found.append(relais.analysis("Users", func)["users"].numpy().tolist())
        return mod

    @relais.module_pass(opt_level=0, name="acme.Fails")
    def fails(mod, ctx):
        ctx.error("told to fail")
        return mod

    with pytest.raises(relais.PassFailed) as raised:
        relais.Sequential([ask, whole, ask, fails])(module)
    assert found[:2] == found[2:4] == found[4:]
    used = raised.value.report["analyses"]["relais.Users"]
    assert (used["computed"], used["reused"]) == (2, 4)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("relais.User", "nothing provides the analysis `relais.User`"),
        ("relais.User", "did you mean `relais.Users`"),
        ("", "nothing provides the analysis ``"),
    ],
)
def test_names_that_mean_nothing(module, name, message):
    with pytest.raises(relais.RelaisError, match=message):
        relais.analysis(name, module["main"])


def test_other_units_and_types(module):
    with pytest.raises(relais.RelaisError, match="is an analysis of a function, and was asked for of a module"):
        relais.analysis("Users", module)
    for wrong in (None, "main", module["main"].nodes[0]):
        with pytest.raises(TypeError, match="a Function or an IRModule"):
            relais.analysis("Users", wrong)
    with pytest.raises(TypeError):
        relais.analysis(1, module["main"])

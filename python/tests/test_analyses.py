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


@pytest.fixture
def depth():
    """An analysis in Python, and what it was computed of."""
    computed = []

    @relais.register_analysis("acme.Depth", lists={"depth": "by node: how many calls are above it"}, depends="structure")
    def depth(function):
        """How deep nodes are."""
        computed.append(function)
        depth = [0] * (1 + max([node.id for node in (*function.params, *function.nodes)]))
        for node in function.nodes:
            depth[node.id] = 1 + max((depth[arg.id] for arg in node.args), default=0)
        return {"depth": depth}

    yield computed
    relais.unregister_analysis("acme.Depth")


def test_an_analysis_in_python_is_shared_by_the_passes_of_a_run(module, depth):
    found = []

    @relais.function_pass(opt_level=0, name="acme.Ask")
    def ask(func, mod, ctx):
        found.append(max(relais.analysis("Depth", func)["depth"].numpy().tolist()))
        return func

    relais.transform.Sequential([ask, ask])(module)
    assert found == [3, 1, 3, 1] and len(depth) == 2 and isinstance(depth[0], relais.Function)
    described = relais.describe("acme.Depth")
    assert (described["of"], described["depends"], described["doc"]) == ("function", "structure", "How deep nodes are.")
    assert relais.analysis("acme.Depth", module["main"])["depth"].dtype == "int64"


def test_an_analysis_in_python_asks_for_others(module, depth):
    @relais.register_analysis("acme.Whole", lists={"depths": "by function: how deep it is"}, of="module")
    def whole(module):
        return {"depths": [max(relais.analysis("Depth", module[name])["depth"].numpy()) for name in module]}

    try:
        assert relais.analysis("Whole", module)["depths"].numpy().tolist() == [3, 1]
        with pytest.raises(relais.RelaisError, match="`acme.Whole` is an analysis of a module, and was asked for of a function"):
            relais.analysis("acme.Whole", module["main"])
    finally:
        relais.unregister_analysis("acme.Whole")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (lambda function: None, "what analysis `acme.Bad` gives must be a dict of lists of numbers"),
        (lambda function: {}, "declares a list `n`, and does not give it"),
        (lambda function: {"n": [1], "m": [2]}, "gives a list 'm', which it does not declare"),
        (lambda function: {"n": ["one"]}, "the list `n` of analysis `acme.Bad` must be a list of integers of 64 bits"),
        (lambda function: {"n": [2**63]}, "the list `n` of analysis `acme.Bad` must be a list of integers of 64 bits"),
        (lambda function: {"n": relais.Tensor([0.5])}, "must be a tensor of integers with one axis"),
        (lambda function: 1 / 0, "division by zero"),
        (lambda function: relais.analysis("Bad", function), "analysis `acme.Bad` depends on itself: `acme.Bad` needs `acme.Bad`"),
    ],
)
def test_what_an_analysis_in_python_gives_is_checked(module, given, says):
    relais.register_analysis("acme.Bad", lists={"n": "numbers"})(given)
    try:
        with pytest.raises(Exception) as raised:
            relais.analysis("acme.Bad", module["main"])
        assert says in "".join(str(error) for error in (raised.value, raised.value.__cause__)), raised.value
    finally:
        relais.unregister_analysis("acme.Bad")


def test_registering_is_checked(depth):
    register = relais.register_analysis
    for arguments, kind, says in [
        ({"name": "Depth", "lists": {"n": ""}}, ValueError, "has a prefix and a dot"),
        ({"name": "acme.A", "lists": {}}, ValueError, "at least one list"),
        ({"name": "acme.A", "lists": ["n"]}, TypeError, "a dict of names and descriptions"),
        ({"name": "acme.A", "lists": {"n": 1}}, TypeError, "a description in `lists`"),
        ({"name": "acme.A", "lists": {"n": ""}, "of": "graph"}, ValueError, "`of` must be"),
        ({"name": "acme.A", "lists": {"n": ""}, "depends": "types"}, ValueError, "`depends` must be"),
        ({"name": 1, "lists": {"n": ""}}, TypeError, "`name` must be a str"),
    ]:
        with pytest.raises(kind, match=says):
            register(**arguments)(lambda function: {})
    with pytest.raises(TypeError, match="made of a callable"):
        register("acme.A", lists={"n": ""})(1)
    with pytest.raises(relais.RegistrationError, match="the host has one of this name"):
        register("relais.Users", lists={"n": ""})(lambda function: {})
    with pytest.raises(KeyError):
        relais.unregister_analysis("acme.Gone")
    # Another module's is not replaced unless that is said.
    space = {"relais": relais, "__name__": "elsewhere"}
    text = "relais.register_analysis('acme.Depth', lists={'depth': ''}, override=OVERRIDE)(lambda function: {'depth': []})"
    with pytest.raises(relais.RegistrationError, match="`elsewhere` registers an analysis `acme.Depth`"):
        exec(text.replace("OVERRIDE", "False"), space)
    exec(text.replace("OVERRIDE", "True"), space)

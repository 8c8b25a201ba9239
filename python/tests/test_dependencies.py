"""Passes that others require (rules R5 and R6), as in pipelines in TOML."""

from __future__ import annotations

import pytest

import relais_onnx as relais
from relais_onnx import PassContext, Sequential

pytestmark = pytest.mark.thread_unsafe(reason="a name has one pass")

HOW = ["transitive", "direct", "assumed"]
# Of C, C: A is required by B, and B by C.
RAN = {"transitive": "A B C C", "direct": "B C B C", "assumed": "C C"}


@pytest.fixture
def ran():
    """The passes that ran, by their letters."""
    letters: list[str] = []

    def register(letter, *required):
        @relais.module_pass(opt_level=0, name=f"acme.{letter}", required=[f"acme.{name}" for name in required])
        def run(mod, ctx):
            letters.append(letter)

        relais.register_pass(run)

    for letter, *required in ("A", "BA", "CB"):
        register(letter, *required)
    yield letters
    for letter in "ABC":
        relais.unregister_pass(f"acme.{letter}")


def sequence(names, **arguments):
    return Sequential([relais.get_pass(f"acme.{name}") for name in names.split()], **arguments)


def toml(folder, how, steps, more=""):
    """A pipeline in a file."""
    path = folder / "pipeline.toml"
    steps = ", ".join(f'"acme.{step}"' for step in steps.split())
    path.write_text(f'dependencies = "{how}"\n{more}\nsteps = [{steps}]\n')
    return path


def taken(ran):
    text = " ".join(ran)
    ran.clear()
    return text


@pytest.mark.parametrize("how", HOW)
def test_r05_it_is_the_same_wherever_it_is_said(module, ran, how, tmp_path):
    relais.optimize(module, pipeline=toml(tmp_path, how, "C C"))
    assert taken(ran) == RAN[how]
    relais.optimize(module, passes=["acme.C", "acme.C"], dependencies=how)
    assert taken(ran) == RAN[how]
    sequence("C C", dependencies=how)(module)
    assert taken(ran) == RAN[how]
    relais.optimize(module, passes=[relais.get_pass("acme.C"), relais.get_pass("acme.C")], dependencies=how)
    assert taken(ran) == RAN[how]


def test_r05_requirements_of_requirements_run_by_default(module, ran):
    sequence("C C")(module)
    assert taken(ran) == RAN["transitive"]
    relais.optimize(module, passes=["acme.C", "acme.C"])
    assert taken(ran) == RAN["transitive"]


def test_r05_the_argument_goes_before_the_pipeline(module, ran, tmp_path):
    path = toml(tmp_path, "transitive", "C C")
    relais.optimize(module, pipeline=path, dependencies="direct")
    assert taken(ran) == RAN["direct"]
    relais.pipeline(path, dependencies="direct")(module)
    assert taken(ran) == RAN["direct"]
    relais.pipeline(path)(module)
    assert taken(ran) == RAN["transitive"]
    relais.optimize(module, pipeline=toml(tmp_path, "direct", "C C"), dependencies="transitive")
    assert taken(ran) == RAN["transitive"]


def test_r05_a_member_follows_the_run_that_it_is_in(module, ran):
    relais.Sequential([sequence("C C", dependencies="direct")])(module)
    assert taken(ran) == RAN["transitive"]
    relais.Sequential([sequence("C C")], dependencies="direct")(module)
    assert taken(ran) == RAN["direct"]
    relais.optimize(module, passes=[sequence("C C", dependencies="direct")], dependencies="assumed")
    assert taken(ran) == RAN["assumed"]


@pytest.mark.parametrize(("how", "expected"), [("transitive", None), ("direct", "B C"), ("assumed", "C")])
def test_r05_what_is_disabled(module, ran, how, expected, tmp_path):
    """Under "direct", requirements run whatever is disabled; otherwise one that is disabled is an error of the whole."""
    ways = [
        lambda: relais.optimize(module, passes=["acme.C"], disable=["acme.B"], dependencies=how),
        lambda: relais.optimize(module, pipeline=toml(tmp_path, how, "C", 'disabled = ["acme.B"]')),
        lambda: in_context(),
    ]

    def in_context():
        with PassContext(disabled_pass=["acme.B"]):
            sequence("C", dependencies=how)(module)

    for way in ways:
        if expected is None:
            with pytest.raises(relais.PipelineError, match="`acme.C` requires `acme.B`, which is disabled"):
                way()
        else:
            way()
        assert taken(ran) == (expected or "")


@pytest.mark.parametrize(("how", "expected"), [("transitive", ""), ("direct", "C")])
def test_r06_a_requirement_that_is_vetoed(module, ran, how, expected, tmp_path, caplog):
    @relais.pass_instrument
    class Vetoes:
        def should_run(self, mod, info):
            return info.name != "acme.B"

    ways = [
        lambda: relais.optimize(module, passes=["acme.C"], dependencies=how),
        lambda: relais.optimize(module, pipeline=toml(tmp_path, how, "C")),
        lambda: sequence("C", dependencies=how)(module),
    ]
    for way in ways:
        caplog.clear()
        with PassContext(instruments=[Vetoes()]):
            way()
        assert taken(ran) == expected
        warned = [record.message for record in caplog.records if "acme.B" in record.message]
        assert bool(warned) == (how == "transitive") and all("acme.C" in message for message in warned)


@pytest.mark.parametrize(("how", "is_error"), [("transitive", True), ("direct", True), ("assumed", False)])
def test_r05_a_requirement_that_nothing_provides(module, how, is_error):
    @relais.module_pass(opt_level=0, name="acme.X", required=["acme.Nobody"])
    def run(mod, ctx):
        return None

    ways = [
        lambda: relais.Sequential([run], dependencies=how)(module),
        lambda: relais.optimize(module, passes=[run], dependencies=how),
    ]
    for way in ways:
        if is_error:
            with pytest.raises(relais.PipelineError, match="`acme.X` requires `acme.Nobody`, which nothing provides"):
                way()
        else:
            way()


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ("Direct", ValueError, '`dependencies` must be "transitive", "direct" or "assumed", not \'Direct\''),
        (1, TypeError, "`dependencies` must be a str, not `int`"),
    ],
)
def test_what_it_must_be(module, given, error, words):
    for way in (
        lambda: relais.optimize(module, dependencies=given),
        lambda: relais.pipeline("O1", dependencies=given),
        lambda: relais.Sequential([], dependencies=given),
        lambda: relais.zoo.optimize("*.onnx", "out", dependencies=given),
    ):
        with pytest.raises(error, match=words):
            way()


def test_many_models(path, tmp_path):
    table = relais.zoo.optimize([path], tmp_path / "out", passes=["EliminateNoOp"], dependencies="direct")
    assert [row.status for row in table] == ["ok"]

"""Options of contexts that programs register (rules R21 to R23): a dataclass is the schema."""

from __future__ import annotations

import dataclasses
import pathlib
import re
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest

import relais_onnx as relais
from relais_onnx import PassContext, register_config, unregister_config

pytestmark = pytest.mark.thread_unsafe(reason="a key has one option")


@dataclass
class Unroll:
    depth: int = field(default=8, metadata={"range": (0, 64)})
    explicit: bool = True


@dataclass
class Limits:
    most: int = field(default=8, metadata={"range": (0, 64), "doc": "How many.", "aliases": ["acme.at_most", "old.most"]})
    how: Literal["fast", "small"] = "fast"
    rate: float = 0.5
    folder: pathlib.Path | None = None
    names: list[str] = field(default_factory=list)
    Unroll: Unroll = field(default_factory=Unroll)


DEFAULTS: dict[str, Any] = {
    "acme.most": 8,
    "acme.how": "fast",
    "acme.rate": 0.5,
    "acme.names": [],
    "acme.Unroll": {"depth": 8, "explicit": True},
}


def forget(prefix: str) -> None:
    for key, facts in PassContext.list_configs().items():
        if key.startswith(prefix) and facts["plugin"] is None:
            unregister_config(key)


@pytest.fixture(autouse=True)
def registered():
    assert register_config(Limits, prefix="acme") is Limits
    yield
    forget("")


def own(config):
    return {key: value for key, value in config.items() if key.startswith("acme.")}


@relais.module_pass(opt_level=0)
def look(mod, ctx):
    seen.append(own(ctx.config))


seen: list[dict[str, Any]] = []


def looked():
    last = seen.pop()
    assert not seen
    return last


def test_r21_defaults_are_in_every_context(module):
    assert own(PassContext.current().config) == DEFAULTS
    look(module)
    assert looked() == DEFAULTS
    relais.optimize(module, passes=[look])
    assert looked() == DEFAULTS


def test_r21_it_is_set_wherever_options_of_contexts_are(module, tmp_path):
    with PassContext(config={"acme.most": 3, "acme.Unroll": {"depth": 2}}) as context:
        assert context.config["acme.most"] == 3
        look(module)
        assert looked() == {**DEFAULTS, "acme.most": 3, "acme.Unroll": {"depth": 2, "explicit": True}}
        with PassContext(inherit=True, config={"acme.how": "small"}):
            look(module)
            assert looked() == {**DEFAULTS, "acme.most": 3, "acme.how": "small", "acme.Unroll": {"depth": 2, "explicit": True}}
        relais.optimize(module, passes=[look])
        assert looked()["acme.most"] == 3
        relais.optimize(module, passes=[look], config={"acme.most": 4})
        assert looked()["acme.most"] == 4
    relais.optimize(module, passes=[look], config={"acme.most": 5, "acme.Unroll.depth": 1})
    assert looked() == {**DEFAULTS, "acme.most": 5, "acme.Unroll": {"depth": 1, "explicit": True}}

    registered = relais.module_pass(lambda mod, ctx: seen.append(own(ctx.config)), opt_level=0, name="acme.Look")
    relais.register_pass(registered)
    path = tmp_path / "pipeline.toml"
    path.write_text('steps = ["acme.Look"]\n[config.acme]\nmost = 6\nnames = ["a"]\nUnroll = { explicit = false }\n')
    expected = {**DEFAULTS, "acme.most": 6, "acme.names": ["a"], "acme.Unroll": {"depth": 8, "explicit": False}}
    try:
        relais.optimize(module, pipeline=path)
        assert looked() == expected
        relais.pipeline(path)(module)
        assert looked() == expected
        relais.optimize(module, pipeline=path, config={"acme.most": 7})
        assert looked() == {**expected, "acme.most": 7}
        path.write_text('steps = [{ scope = ["acme.Look"], config = { "acme.most" = 9 } }]\nconfig.acme.most = 1\n')
        relais.optimize(module, pipeline=path)
        assert looked()["acme.most"] == 9
    finally:
        relais.unregister_pass("acme.Look")


def test_r22_aliases_set_it(module):
    assert PassContext(config={"acme.at_most": 3}).config["acme.most"] == 3
    relais.optimize(module, passes=[look], config={"old.most": 4})
    assert looked()["acme.most"] == 4
    with pytest.raises(relais.ConfigError, match="option `acme.most` is given twice"):
        PassContext(config={"acme.most": 3, "old.most": 4})


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"acme.mots": 3}, "no option `acme.mots` is registered(.|\n)*acme.most"),
        ({"acme.most": 65}, "`acme.most`(.|\n)*64"),
        ({"acme.most": "3"}, "`acme.most`"),
        ({"acme.most": 3.0}, "`acme.most`"),
        ({"acme.most": True}, "`acme.most`"),
        ({"acme.how": "fats"}, "`acme.how`(.|\n)*fast"),
        ({"acme.Unroll": {"dept": 1}}, "dept(.|\n)*depth"),
        ({"acme.Unroll": {"depth": 65}}, "depth"),
        ({"acme.Unroll": 1}, "`acme.Unroll`"),
        ({"acme.names": "a"}, "`acme.names`"),
    ],
)
def test_r22_values_are_checked(module, config, words, tmp_path):
    with pytest.raises(relais.ConfigError, match=words):
        PassContext(config=config)
    with pytest.raises(relais.PipelineError, match=words):
        relais.optimize(module, passes=[look], config=config)
    with pytest.raises(relais.PipelineError, match=words):
        relais.pipeline("O1", config=config)
    assert seen == []


def test_r22_an_unknown_key_says_where_the_known_ones_are():
    with pytest.raises(relais.ConfigError, match=re.escape("`PassContext.list_configs()` shows")):
        PassContext(config={"acme.most2": 1})


def test_r23_it_is_listed_and_described():
    listed = PassContext.list_configs()
    assert {key for key in listed if key.startswith("acme.")} == {*DEFAULTS, "acme.folder"}
    most = listed["acme.most"]
    assert (most["type"], most["default"], most["doc"], most["plugin"]) == ("int", 8, "How many.", None)
    assert (most["takes"]["min"], most["takes"]["max"], most["aliases"]) == (0, 64, ["acme.at_most", "old.most"])
    assert listed["acme.folder"]["optional"] and listed["acme.folder"]["default"] is None
    described = relais.describe("acme.most")
    assert (described["what"], described["default"], described["class"]) == ("option", 8, f"{__name__}.Limits")
    # The others are those of plugins.
    assert any(facts["plugin"] for facts in listed.values())


def test_one_that_may_be_left_out(module, tmp_path):
    assert "acme.folder" not in PassContext().config
    assert PassContext(config={"acme.folder": tmp_path}).config["acme.folder"] == str(tmp_path)


def another(name="Others", **fields):
    made = dataclasses.make_dataclass(name, [(key, int, value) for key, value in fields.items()])
    made.__module__ = "another"
    return made


def test_two_registrations_of_one_key():
    with pytest.raises(relais.RegistrationError) as caught:
        register_config(another(fresh=0, most=1), prefix="acme")
    assert str(caught.value).startswith(
        f"`another.Others` registers an option `acme.most`, and `{__name__}.Limits` has one of this name"
    )
    # Nothing was registered.
    assert own(PassContext().config) == DEFAULTS
    with pytest.raises(relais.RegistrationError, match="registers an option `old.most`"):
        register_config(another(most=1), prefix="old")
    mine = another(mine=dataclasses.field(default=1, metadata={"aliases": ["acme.how"]}))
    with pytest.raises(relais.RegistrationError, match="registers an option `acme.how`"):
        register_config(mine, prefix="mine")

    register_config(another(most=1), prefix="acme", override=True)
    assert PassContext().config["acme.most"] == 1
    with pytest.raises(relais.ConfigError, match="old.most"):
        PassContext(config={"old.most": 1})


def test_a_class_that_is_registered_again_is_replaced():
    register_config(another(a=1, b=2), prefix="acme")
    register_config(another(b=3, c=4), prefix="acme")
    config = PassContext().config
    assert (config["acme.b"], config["acme.c"]) == (3, 4) and "acme.a" not in config


def test_keys_of_plugins_and_options_of_passes():
    key, facts = next((key, facts) for key, facts in PassContext.list_configs().items() if facts["plugin"])
    prefix, _, name = key.rpartition(".")
    with pytest.raises(relais.RegistrationError, match=f"registers an option `{key}`, and the plugin `{facts['plugin']}` has one"):
        register_config(another(**{name: 1}), prefix=prefix, override=True)
    for prefix in ("FoldConstant", "relais.FoldConstant"):
        with pytest.raises(relais.RegistrationError, match="the pass `relais.FoldConstant` has one"):
            register_config(another(max_growth=1), prefix=prefix)
    # Beside them is room.
    register_config(another(most_of_all=1), prefix="relais.FoldConstant")
    assert PassContext(config={"relais.FoldConstant.most_of_all": 2})


def test_it_is_forgotten(module):
    unregister_config("acme.most")
    assert "acme.most" not in PassContext().config
    with pytest.raises(relais.ConfigError, match="acme.most"):
        PassContext(config={"acme.most": 1})
    with pytest.raises(relais.ConfigError):
        PassContext(config={"old.most": 1})
    with pytest.raises(KeyError, match="acme.most"):
        unregister_config("acme.most")
    with pytest.raises(TypeError, match="`key` must be a str"):
        unregister_config(3)  # type: ignore[arg-type]


def test_as_a_decorator():
    @register_config(prefix="acme.inner")
    @dataclass
    class Inner:
        n: int = 1

    assert Inner(2).n == 2 and PassContext().config["acme.inner.n"] == 1


@dataclass
class NoDefault:
    n: int


@dataclass
class Aliased:
    n: int = field(default=1, metadata={"aliases": ["short"]})


@dataclass
class AliasedByText:
    n: int = field(default=1, metadata={"aliases": "acme.n"})


@dataclass
class Twice:
    n: int = 1
    m: int = field(default=1, metadata={"aliases": ["acme.n"]})


@dataclass
class OutOfRange:
    n: int = field(default=9, metadata={"range": (0, 2)})


@dataclass
class InnerAlias:
    inner: Aliased = field(default_factory=Aliased)


@pytest.mark.parametrize(
    ("options", "prefix", "error", "words"),
    [
        (dict, "acme", TypeError, "`options` must be a dataclass, not `dict`"),
        (NoDefault, "acme", ValueError, "`NoDefault.n` has no default, and contexts need not set an option"),
        (Aliased, "acme", ValueError, "an alias of `Aliased.n` must be a key with a prefix and a dot"),
        (AliasedByText, "acme", TypeError, "the aliases of `AliasedByText.n` must be a list of keys"),
        (Twice, "acme", ValueError, r"`test_config.Twice` names two options `acme.n`"),
        (OutOfRange, "acme", ValueError, "the default of `acme.n`"),
        (InnerAlias, "acme", ValueError, "`InnerAlias.inner.n` has aliases, which only options of contexts have"),
        (Unroll, "", ValueError, "`prefix` must be words with dots between them"),
        (Unroll, "acme.", ValueError, "`prefix` must be words with dots between them"),
        (Unroll, "a b", ValueError, "`prefix` must be words with dots between them"),
        (Unroll, 3, TypeError, "`prefix` must be a str, not `int`"),
    ],
)
def test_what_describes_no_options_of_contexts(options, prefix, error, words):
    before = PassContext.list_configs()
    with pytest.raises(error, match=words):
        register_config(options, prefix=prefix)
    assert PassContext.list_configs() == before


def test_options_of_passes_have_no_aliases():
    with pytest.raises(ValueError, match="`Aliased.n` has aliases, which only options of contexts have"):
        relais.module_pass(lambda mod, ctx, options: None, opt_level=0, options=Aliased)


def test_many_models_take_none(path, tmp_path):
    """Nothing tells when an option of the program changes, and results are kept."""
    table = relais.zoo.optimize([path], tmp_path / "out", passes=["EliminateNoOp"])
    assert [row.status for row in table] == ["ok"]
    with pytest.raises(relais.PipelineError, match="option `acme.most` is one of this program: nothing tells when it changes"):
        relais.zoo.optimize([path], tmp_path / "other", passes=["EliminateNoOp"], config={"acme.most": 1})

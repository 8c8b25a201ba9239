"""Options of passes that are written in Python: a dataclass is the schema."""

from __future__ import annotations

import dataclasses
import pathlib
from dataclasses import dataclass, field
from typing import Literal

import pytest

import relais_onnx as relais


@dataclass
class Inner:
    depth: int = field(default=2, metadata={"range": (0, 8), "doc": "How deep."})
    paths: list[pathlib.Path] = field(default_factory=list)


@dataclass
class Settings:
    """All kinds of options."""

    limit: int
    rate: float = field(default=0.5, metadata={"range": (0, 1)})
    mode: Literal["fast", "slow"] = "fast"
    names: list[str] = field(default_factory=lambda: ["a"])
    inner: Inner = field(default_factory=Inner)
    note: str | None = None
    strict: bool = False
    made: int = field(default=7, init=False)


@dataclass
class Plain:
    depth: int = field(default=3, metadata={"range": (0, 9)})


def recorder(name, seen, options=Plain, **more):
    @relais.module_pass(opt_level=0, name=name, options=options, **more)
    def record(mod, ctx, given):
        seen.append(given)

    return record


def test_a_pass_gets_an_object_of_its_dataclass(module):
    seen = []
    plain = recorder("acme.Plain", seen)
    plain(module)
    plain.with_options(depth=5)(module)
    assert seen == [Plain(3), Plain(5)]
    whole = recorder("acme.Whole", seen, Settings)
    seen.clear()
    given = whole.with_options(limit=1, mode="slow", inner={"depth": 4, "paths": ["x"]}, note="n", rate=1.0)
    given(module)
    assert len(seen) == 1 and isinstance(seen[0], Settings) and isinstance(seen[0].inner.paths[0], pathlib.Path)
    wanted = {"limit": 1, "rate": 1.0, "mode": "slow", "names": ["a"], "note": "n", "strict": False, "made": 7}
    assert {name: value for name, value in dataclasses.asdict(seen[0]).items() if name != "inner"} == wanted
    assert seen[0].inner.depth == 4
    # The options of a class's objects are apart from how these are made.
    @relais.function_pass(opt_level=0, options=Plain)
    class Keeps:
        def __init__(self, kept):
            self.kept = kept

        def transform_function(self, func, mod, ctx, options):
            self.kept.append((func.name, options.depth))

    kept = []
    Keeps(kept)(module)
    Keeps(kept).with_options(depth=1)(module)
    assert kept == [("main", 3), ("main", 1)]


@pytest.mark.thread_unsafe(reason="a name has one pass")
def test_options_of_a_registered_pass_are_set_like_any_other(module, tmp_path):
    seen = []
    relais.register_pass(recorder("acme.Depth", seen))
    relais.get_pass("acme.Depth", depth=4)(module)
    relais.optimize(module, passes=["acme.Depth"])
    relais.optimize(module, passes=["acme.Depth"], config={"acme.Depth.depth": 6})
    pipeline = tmp_path / "p.toml"
    pipeline.write_text('steps = [{ pass = "acme.Depth", options = { depth = 8 } }]')
    relais.optimize(module, pipeline=pipeline)
    assert [options.depth for options in seen] == [4, 3, 6, 8]
    pipeline.write_text('steps = [{ pass = "acme.Depth", options = { dept = 8 } }]')
    with pytest.raises(relais.PipelineError, match="did you mean `depth`"):
        relais.optimize(module, pipeline=pipeline)
    with pytest.raises(relais.PipelineError, match="out of range"):
        relais.optimize(module, passes=["acme.Depth"], config={"acme.Depth.depth": 10})
    assert len(seen) == 4
    relais.unregister_pass("acme.Depth")


def test_values_that_options_do_not_take(module):
    seen = []
    whole = recorder("acme.Strict", seen, Settings)
    for given, words in (
        ({}, "limit"),
        ({"limit": "1"}, "must be an integer"),
        ({"limit": 1, "mode": "fst"}, "fast"),
        ({"limit": 1, "inner": {"depth": 9}}, "depth"),
        ({"limit": 1, "nothing": 2}, "no option `nothing`"),
        ({"limit": True}, "must be an integer"),
    ):
        with pytest.raises(relais.PipelineError, match=words) as raised:
            whole.with_options(**given)(module)
        assert "of this program" not in str(raised.value)
    with pytest.raises(relais.RelaisError, match="limit"):
        whole(module)
    assert seen == []


def test_what_a_dataclass_raises_is_an_error_of_the_pass(module):
    @dataclass
    class Picky:
        even: int = 2

        def __post_init__(self):
            if self.even % 2:
                raise ValueError("`even` is odd")

    @relais.module_pass(opt_level=0, name="acme.Picky", options=Picky)
    def picky(mod, ctx, options):
        pass

    picky(module)
    with pytest.raises((ValueError, relais.RelaisError), match="`even` is odd"):
        picky.with_options(even=3)


@dataclass
class NotAKind:
    value: complex = 1j


@dataclass
class WrongRange:
    value: int = field(default=1, metadata={"range": (0.5, 2)})


@dataclass
class OutOfRange:
    value: int = field(default=5, metadata={"range": (0, 2)})


@dataclass
class NoneOfInt:
    value: int = None  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        (dict, TypeError, "`options` must be a dataclass, not `dict`"),
        (Plain(), TypeError, "`options` must be a dataclass"),
        (NotAKind, TypeError, r"`NotAKind.value` is of the type `complex`; an option is a bool"),
        (WrongRange, ValueError, r"the range of `WrongRange.value` must be"),
        (OutOfRange, ValueError, "the default of `value`"),
        (NoneOfInt, ValueError, r"`NoneOfInt.value` has the default `None`"),
    ],
)
def test_dataclasses_that_describe_no_options(options, error, words):
    with pytest.raises(error, match=words):
        relais.module_pass(lambda mod, ctx, options: None, opt_level=0, options=options)

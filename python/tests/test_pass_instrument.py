"""Instruments, as TVM's `test_pass_instrument.py` uses them, in other words.

| TVM asserts | here |
|---|---|
| timing on the default context by `override_instruments`; its text names the passes | holds; it is an instance's, and remains after the context |
| a decorated class and a subclass see the same events | holds |
| `should_run` vetoes; several vetoers combine | holds |
| `required_pass` of the context cannot be vetoed | holds |
| as many befores as afters; counts are reset at exit | holds |
| an exception in `enter_pass_ctx`: `%1 enter, %2 enter, %1 exit`, no instruments stay | holds |
| an exception in `exit_pass_ctx`: later ones do not exit, no instruments stay | holds |
| an exception in `should_run`, before, the pass, after: all exit, instruments stay | holds |
| the list of configs has types | holds, with other names of types |
| `override_instruments(None)` | holds |
| an exit that fails during the cleanup of a failing enter ends the process | departs (R18): it is reported |
| a fault breaks the timing of a thread for ever | departs: timing is correct after a fault |
| `should_run` may return 0 or 1 | departs (R22): a `bool`, nothing else |
"""

from __future__ import annotations

import io
import pytest

import relais_onnx as relais
from relais_onnx import instrument


@relais.module_pass(opt_level=0, name="acme.A")
def a(mod, ctx):
    return None


@relais.module_pass(opt_level=0, name="acme.B")
def b(mod, ctx):
    return None


class Error(Exception):
    pass


def scribe(name, events, fails=(), vetoes=()):
    @relais.pass_instrument
    class Scribe:
        def _hook(self, hook, *words):
            events.append(" ".join([name, hook, *words]))
            if hook in fails:
                raise Error(f"{name} {hook}")

        def enter_pass_ctx(self):
            self._hook("enter")

        def exit_pass_ctx(self):
            self._hook("exit")

        def should_run(self, mod, info):
            self._hook("should_run", info.name)
            return info.name not in vetoes

        def run_before_pass(self, mod, info):
            self._hook("before", info.name)

        def run_after_pass(self, mod, info):
            self._hook("after", info.name)

    return Scribe()


def test_the_order_of_hooks(module):
    events = []
    with relais.PassContext(instruments=[scribe("1", events), scribe("2", events)]):
        a(module)
    assert events == [
        "1 enter",
        "2 enter",
        "1 should_run acme.A",
        "2 should_run acme.A",
        "1 before acme.A",
        "2 before acme.A",
        "1 after acme.A",
        "2 after acme.A",
        "1 exit",
        "2 exit",
    ]


def test_a_subclass_is_like_a_decorated_class(module):
    class Sub(instrument.PassInstrument):
        def __init__(self):
            self.events = []

        def run_before_pass(self, mod, info):
            self.events.append(("before", info.name))

        def run_after_pass(self, mod, info):
            self.events.append(("after", info.name))

    sub = Sub()
    assert relais.pass_instrument(Sub) is Sub and relais.pass_instrument()(Sub) is Sub
    with relais.PassContext(instruments=[sub]) as context:
        assert context.instruments == [sub]
        relais.Sequential([a, b], name="acme.S")(module)
    assert sub.events == [
        ("before", "acme.S"),
        ("before", "acme.A"),
        ("after", "acme.A"),
        ("before", "acme.B"),
        ("after", "acme.B"),
        ("after", "acme.S"),
    ]


def test_vetoes_combine(module):
    events = []
    instruments = [scribe("1", events, vetoes=["acme.A"]), scribe("2", events, vetoes=["acme.B"])]
    with relais.PassContext(instruments=instruments):
        a(module)
        b(module)
    assert [event for event in events if "before" in event] == []
    # All are asked.
    assert "2 should_run acme.A" in events


def test_what_a_context_requires_cannot_be_vetoed(module):
    events = []
    relais.register_pass(a)
    with relais.PassContext(instruments=[scribe("1", events, vetoes=["acme.A"])], required_pass=["acme.A"]):
        a(module)
    assert events == ["1 enter", "1 before acme.A", "1 after acme.A", "1 exit"]


def test_an_exception_while_a_pass_fails(module):
    @relais.module_pass(opt_level=0)
    def fails(mod, ctx):
        raise Error("on purpose")

    @relais.pass_instrument
    class Fails:
        def failed(self, info, error):
            raise ValueError("while it fails")

    context = relais.PassContext(instruments=[Fails()])
    with pytest.raises(Error, match="on purpose") as caught, context:
        fails(module)
    first, second = caught.value.__notes__
    assert first == "in the pass `fails`"
    assert second.startswith("then in the hook `failed` of the instrument `Fails`: ") and "while it fails" in second


def test_an_exception_in_enter():
    events = []
    context = relais.PassContext(instruments=[scribe("1", events), scribe("2", events, ["enter"]), scribe("3", events)])
    with pytest.raises(Error, match="2 enter") as caught, context:
        raise AssertionError("it is not entered")
    assert events == ["1 enter", "2 enter", "1 exit"]
    assert context.instruments == []
    assert caught.value.__notes__ == ["in the hook `enter_pass_ctx` of the instrument `Scribe`"]
    assert isinstance(caught.value.__relais__, relais.InstrumentError)
    assert (caught.value.__relais__.hook, caught.value.__relais__.instrument) == ("enter_pass_ctx", "Scribe")
    with context:
        pass


def test_an_exception_during_the_cleanup_is_reported():
    events = []
    context = relais.PassContext(instruments=[scribe("1", events, ["exit"]), scribe("2", events, ["enter"])])
    with pytest.raises(Error, match="2 enter") as caught, context:
        pass
    assert len(caught.value.__relais__.also) == 1 and "1 exit" in caught.value.__relais__.also[0]


def test_an_exception_in_exit():
    events = []
    context = relais.PassContext(instruments=[scribe("1", events, ["exit"]), scribe("2", events)])
    with pytest.raises(Error, match="1 exit"), context:
        pass
    assert events == ["1 enter", "2 enter", "1 exit"]
    assert context.instruments == []
    assert relais.PassContext.current().opt_level == 2


@pytest.mark.parametrize(
    ("hook", "after"),
    [
        ("should_run", ["1 should_run acme.A"]),
        ("before", ["1 should_run acme.A", "2 should_run acme.A", "1 before acme.A"]),
        (
            "after",
            [
                "1 should_run acme.A",
                "2 should_run acme.A",
                "1 before acme.A",
                "2 before acme.A",
                "1 after acme.A",
            ],
        ),
    ],
)
def test_an_exception_in_a_hook_around_a_pass(module, hook, after):
    events = []
    context = relais.PassContext(instruments=[scribe("1", events, [hook]), scribe("2", events)])
    with pytest.raises(Error, match=f"1 {hook}") as caught, context:
        a(module)
    assert events == ["1 enter", "2 enter", *after, "1 exit", "2 exit"]
    assert len(context.instruments) == 2
    named = {"before": "run_before_pass", "after": "run_after_pass"}.get(hook, hook)
    assert caught.value.__notes__ == [f"in the hook `{named}` of the instrument `Scribe`"]


def test_an_exception_in_a_pass(module):
    events = []

    @relais.module_pass(opt_level=0, name="acme.Fails")
    def fails(mod, ctx):
        raise Error("the pass")

    context = relais.PassContext(instruments=[scribe("1", events)])
    with pytest.raises(Error, match="the pass"), context:
        fails(module)
    assert events == ["1 enter", "1 should_run acme.Fails", "1 before acme.Fails", "1 exit"]
    assert len(context.instruments) == 1


def test_failures_skips_and_counts_are_told(module):
    @relais.pass_instrument
    class Told:
        def __init__(self):
            self.events = []

        def should_run(self, mod, info):
            return info.name != "acme.A"

        def skipped(self, mod, info, reason):
            self.events.append((info.name, reason))

        def failed(self, info, error):
            self.events.append((info.name, error))

        def counted(self, info, statistic, n):
            self.events.append((info.name, statistic, n))

    @relais.module_pass(opt_level=0, name="acme.Fails")
    def fails(mod, ctx):
        raise Error("the pass")

    told = Told()
    with relais.PassContext(instruments=[told]):
        a(module)
        relais.get_pass("EliminateNoOp")(module)
        with pytest.raises(Error):
            fails(module)
    assert told.events[0] == ("acme.A", "vetoed by an instrument")
    assert told.events[1][0] == "relais.EliminateNoOp" and told.events[1][2] == 1
    assert told.events[-1] == ("acme.Fails", "Error: the pass")


def test_an_exception_in_a_hook_that_returns_nothing(module):
    @relais.pass_instrument
    class Counts:
        def counted(self, info, statistic, n):
            raise Error("counted")

    with relais.PassContext(instruments=[Counts()]), pytest.raises(Error, match="counted"):
        relais.get_pass("EliminateNoOp")(module)


@pytest.mark.parametrize("answer", [None, 1, "yes"])
def test_should_run_returns_a_bool(module, answer):
    @relais.pass_instrument
    class Asks:
        def should_run(self, mod, info):
            return answer

    with relais.PassContext(instruments=[Asks()]), pytest.raises(TypeError, match="what `should_run` returns must be a bool"):
        a(module)


def test_override_instruments(module):
    events = []
    current = relais.PassContext.current()
    current.override_instruments([scribe("1", events)])
    a(module)
    current.override_instruments([scribe("2", events)])
    current.override_instruments(None)
    assert events == ["1 enter", "1 should_run acme.A", "1 before acme.A", "1 after acme.A", "1 exit", "2 enter", "2 exit"]
    with pytest.raises(TypeError, match="an instrument must be an object with hooks"):
        current.override_instruments([3])


def test_timing(module):
    timing = instrument.PassTimingInstrument()
    current = relais.PassContext.current()
    current.override_instruments([timing])
    relais.Sequential([relais.get_pass("InferType"), relais.get_pass("FoldConstant"), a], name="acme.S")(module)
    text = timing.render()
    assert all(name in text for name in ("relais.InferType", "relais.FoldConstant", "acme.A", "acme.S"))
    current.override_instruments([])
    assert timing.render() == text

    @relais.module_pass(opt_level=0)
    def fails(mod, ctx):
        raise Error("x")

    with relais.PassContext(instruments=[timing]):
        with pytest.raises(Error):
            fails(module)
        a(module)
    assert "acme.A" in timing.render()


def test_printing(module, capsys, tmp_path):
    with relais.PassContext(instruments=[instrument.PrintBeforeAll(), instrument.PrintAfterAll()]):
        relais.get_pass("EliminateNoOp")(module)
    printed = capsys.readouterr().err
    assert printed.count("relais.EliminateNoOp") == 2 and "Identity" in printed
    chosen = instrument.PassPrintingInstrument(["EliminateNoOp"], ["FoldConstant"])
    with relais.PassContext(instruments=[chosen]):
        relais.get_pass("EliminateNoOp")(module)
        relais.get_pass("FoldConstant")(module)
    printed = capsys.readouterr().err
    assert "// before `relais.EliminateNoOp`" in printed and "// after `relais.FoldConstant`" in printed
    assert "// after `relais.EliminateNoOp`" not in printed
    with pytest.raises(TypeError, match="`print_before_pass_names` must be a list"):
        instrument.PassPrintingInstrument("EliminateNoOp", [])
    with relais.PassContext(instruments=[instrument.DumpIR(tmp_path / "dumps")]):
        relais.get_pass("EliminateNoOp")(module)
    assert any((tmp_path / "dumps").iterdir())


def test_statistics_and_instruments_by_name(module):
    counts = instrument.Statistics()
    with relais.PassContext(instruments=[counts]):
        relais.get_pass("EliminateNoOp")(module)
    assert "relais.EliminateNoOp" in counts.render() and counts.data
    assert instrument.Instrument("timing", format="list").name == "timing"
    with pytest.raises(relais.PipelineError, match="timin"):
        instrument.Instrument("timin")
    with pytest.raises(relais.PipelineError, match="format"):
        instrument.Instrument("timing", format="xml")


def test_what_is_not_an_instrument():
    with pytest.raises(TypeError, match="an instrument is made of a class, not of `int`"):
        relais.pass_instrument(3)
    with pytest.raises(TypeError, match="not the class `PassTimingInstrument`: call it"):
        relais.PassContext(instruments=[instrument.PassTimingInstrument])


def test_one_instrument_twice(module):
    events = []
    one = scribe("1", events)
    with relais.PassContext(instruments=[one, one]):
        a(module)
    assert events.count("1 before acme.A") == 2


def test_nothing_runs_again_while_its_result_holds(module):
    @relais.pass_instrument
    class Count:
        def __init__(self):
            self.before, self.after = [], []

        def run_before_pass(self, mod, info):
            self.before.append(info.name)

        def run_after_pass(self, mod, info):
            self.after.append(info.name)

        def exit_pass_ctx(self):
            self.seen, self.before, self.after = self.before, [], []

    count = Count()
    names = ["InferType", "EliminateNoOp", "FoldConstant"]
    assert "relais.InferType" in relais.get_pass("EliminateNoOp").info.required
    with relais.PassContext(opt_level=3, instruments=[count]):
        relais.Sequential([relais.get_pass(name) for name in names])(module)
        assert len(count.before) == len(count.after) == 4
    assert count.seen == ["sequential", "relais.InferType", "relais.EliminateNoOp", "relais.FoldConstant"]
    assert count.before == []


@pytest.mark.thread_unsafe(reason="`sys.stderr` and the environment are those of all threads")
def test_colours_are_for_terminals(module, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    def printed(stderr):
        monkeypatch.setattr("sys.stderr", stderr)
        with relais.PassContext(instruments=[relais.instrument.Instrument("remarks")]):
            relais.get_pass("EliminateNoOp")(module)
        return stderr.getvalue()

    monkeypatch.delenv("NO_COLOR", raising=False)
    coloured, plain = printed(Terminal()), printed(io.StringIO())
    assert "\x1b[" in coloured and "\x1b[" not in plain and "rewrote 1 call" in plain
    monkeypatch.setenv("NO_COLOR", "1")
    assert printed(Terminal()) == plain

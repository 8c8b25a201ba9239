"""The command line."""

from __future__ import annotations

import argparse
import os
import random
import shlex
import sys
from pathlib import Path

from judge import scratch
from judge.relais import Relais

LOOPS = "its result is not ONNX: `judge built` runs the C that is made of it"
APART = {
    "EmitC": LOOPS,
    "FirstOrderGradient": "it refuses whatever has no gradient, and adds results",
    "LowerMain": LOOPS,
    "LowerOps": LOOPS,
}
"""Passes that are not run here, and why."""
ALWAYS = ("default", "strict", "ConvertOpset")
PASSES = Path(__file__).resolve().parents[2] / "docs" / "passes"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="random_graphs", description=sys.modules["random_graphs"].__doc__)
    parser.add_argument("--relais", type=Path, required=True, help="the binary under test")
    parser.add_argument("--args", type=shlex.split, default=[], help="further arguments for each of its runs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--graphs", type=int, default=300)
    parser.add_argument("--batch", type=int, action="append", help="only this batch; can be repeated")
    parser.add_argument("--only", action="append", metavar="NAME", help="only `default`, `strict` or this pass")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--keep", type=Path, help="a folder for the models that fail")
    parser.add_argument("--some", type=int, metavar="N", help="only N of the passes on each batch, others on others")
    parser.add_argument("--commands", action="store_true", help="random command lines on models, instead of each pass")
    options = parser.parse_args(arguments)
    scratch.use_memory()
    from random_graphs import combine, run
    from random_graphs.generate import newest_opset

    newest = newest_opset()
    runs = {"default": (), "strict": ("-p", "strict")}
    names = [page.stem for page in sorted(PASSES.glob("*.md")) if page.stem != "README" and page.stem not in APART]
    runs |= {name: ("--passes", name) for name in names}
    runs["ConvertOpset"] = ("--target-opset", str(newest))
    if options.commands:
        models = options.batch if options.batch is not None else range(-(-options.graphs // combine.N_COMMANDS))
        # The conversion needs a version, and has an option of its own.
        passes = tuple(name for name in names if name != "ConvertOpset")
        tried = [combine.Task(options.seed, at, passes, newest, options.keep) for at in models]
        return combine.report(tried, options.relais.absolute(), options.jobs)
    chosen = tuple((name, args) for name, args in runs.items() if not options.only or name in options.only)
    batches = options.batch if options.batch is not None else range(-(-options.graphs // run.BATCH))
    tasks = [run.Task(options.seed, batch, some(chosen, options, batch), newest, options.keep) for batch in batches]
    return run.command(Relais(options.relais.absolute(), options.args), tasks, options.jobs)


def some(runs: tuple[tuple[str, tuple[str, ...]], ...], options: argparse.Namespace, batch: int) -> tuple:
    """Those that a batch goes through: the pipelines and the conversion, and some of the passes."""
    if options.some is None:
        return runs
    always = [one for one in runs if one[0] in ALWAYS]
    rest = [one for one in runs if one[0] not in ALWAYS]
    rng = random.Random(f"{options.seed}/{batch}/passes")
    return (*always, *rng.sample(rest, min(len(rest), options.some)))


if __name__ == "__main__":
    sys.exit(main())

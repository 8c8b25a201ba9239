"""Many models: a folder of results, a journal from which a killed run goes on, and a cache by contents.

    python -m relais_onnx.zoo 'models/**/*.onnx' --out-dir smaller --cache ~/.cache/relais
"""

from __future__ import annotations

import argparse
import difflib
import glob as _glob
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Unpack

from . import _native
from ._arguments import path as path_of
from ._cache import store as _store
from ._optimize import Options, _external, _wanted
from .errors import RelaisError

__all__ = ["Row", "Table", "main", "optimize"]

_Path = str | os.PathLike[str]

class Row(NamedTuple):
    """The outcome of a model."""

    model: str
    """Its path below the folder that all have in common."""
    status: str
    """`ok`, or `failed`."""
    cached: bool
    """Whether the result was in the cache."""
    calls: tuple[int, int] | None
    """The calls before and after."""
    bytes: tuple[int, int] | None
    """The sizes of the two files; weights in other files are not counted."""
    files: tuple[str, ...]
    """The files of the result in its folder, the model first."""
    sizes: tuple[int, ...]
    """How long each of them is."""
    seconds: float
    """How long it took."""
    error: str | None
    """Why it failed."""
    key: str
    """What the result depends on, as a hash."""


class Table(list[Row]):
    """The rows of all models of a run, in order."""

    @property
    def failed(self) -> list[Row]:
        """Those that failed."""
        return [row for row in self if row.status != "ok"]

    def to_json(self) -> str:
        """The table as JSON."""
        return json.dumps([row._asdict() for row in self], indent=1)

    def __str__(self) -> str:
        return _native.table([_text(row) for row in self]).rstrip("\n")


def _text(row: Row) -> str:
    return json.dumps(row._asdict())


def _row(text: str) -> Row:
    row = json.loads(text)
    lists = {key: None if row[key] is None else tuple(row[key]) for key in ("calls", "bytes", "files", "sizes")}
    return Row(**{**row, **lists})


def _collect(models: Any) -> list[str]:
    """The files of the models."""
    if isinstance(models, (str, os.PathLike)):
        pattern = os.fspath(models)
        found = _glob.glob(pattern, recursive=True) if _glob.has_magic(pattern) else [pattern]
        if not found:
            raise FileNotFoundError(f"no file is named like `{pattern}`")
    else:
        try:
            found = [os.fspath(path) for path in models]
        except TypeError:
            raise TypeError(f"`models` must be a list of paths or a pattern, not `{type(models).__name__}`") from None
    if not found:
        raise ValueError("`models` is empty")
    for path in found:
        os.stat(path)
    return found


@dataclass(frozen=True)
class _Job:
    """A model to optimise: all that another process needs for it."""

    text: str
    lock: str | None
    asked: tuple[dict[str, Any], dict[str, Any] | None, str]
    cache: str | None


def optimize(
    models: _Path | Iterable[_Path],
    out: _Path,
    *,
    shard: str | None = None,
    cache: _Path | None = None,
    retry: bool = False,
    on: str | None = None,
    external_data: Literal["auto", "keep", "always", "never"] = "auto",
    progress: Callable[[Row], None] | None = None,
    **options: Unpack[Options],
) -> Table:
    """Optimises many models into a folder, with the options of `relais_onnx.optimize`, and returns a table.

    The folder below `out` is that of the models below the folder that all have in common. Results are written whole or not
    at all, and noted in a journal in `out`: a run that was killed goes on where it was, and so does one with more models.
    A model is done again if its files, the options or the plugins have changed. A model that fails does not stop the
    others, and is not tried again unless `retry` is True. The table is written to `out`, too.

    Args:
        models: Paths, or a pattern such as `models/**/*.onnx`.
        out: The folder of the results.
        shard: `"2/4"`: the second part of four, for four machines with one folder.
        cache: A folder of results by contents: model and weights, pipeline with its options, plugins. Runs are deterministic,
            so that a hit is the exact result. Or a URL of the package `fsspec`, such as `s3://bucket/folder`.
        on: `"ray"`: each model is a task of a Ray cluster, which is the one that is connected, or one of this machine. All
            machines see the same folders. A model whose worker dies is tried on another.
        progress: Is called with each row as it is done.

    Raises:
        As for `relais_onnx.optimize`, if an option is wrong; BlockingIOError if another run writes into the same journal.
        Failures of models are in the table.
    """
    for name in options:
        if name not in Options.__annotations__:
            like = difflib.get_close_matches(name, Options.__annotations__, 1)
            help = f"\n  help: did you mean `{like[0]}`?" if like else ""
            raise TypeError(f"`zoo.optimize` has no argument `{name}`{help}")
    wanted, settings = _wanted(**options)
    _external(external_data)
    if on not in (None, "ray"):
        raise ValueError(f"`on` must be \"ray\" or None, not `{on}`")
    found = _collect(models)
    if shard is not None and not isinstance(shard, str):
        raise TypeError(f"`shard` must be a str such as \"2/4\", not `{type(shard).__name__}`")
    folder = os.path.abspath(path_of(out, "`out`"))
    place = None if cache is None else path_of(cache, "`cache`")
    _store(place)
    asked = (wanted, settings, external_data)
    many = _native.Many(found, folder, shard, retry, asked)
    try:
        lock = None if on is None else _native.lock(wanted, settings)
        jobs = [_Job(text, lock, asked, place) for text in many.jobs()]
        rows: dict[str, Row] = {}
        for text in map(_one, jobs) if on is None else _on_ray(jobs):
            many.note(text)
            row = _row(text)
            rows[row.model] = row
            if progress is not None:
                progress(row)
        table = Table(rows[_name(job)] for job in jobs)
        many.finish([_text(row) for row in table])
    finally:
        many.close()
    return table


def _name(job: _Job) -> str:
    name: str = json.loads(job.text)["name"]
    return name


def _one(job: _Job) -> str:
    return _native.run_job(job.text, job.asked, _store(job.cache))


def _failed(job: _Job, error: str) -> str:
    """The row of a model that was not run."""
    return _text(Row(_name(job), "failed", False, None, None, (), (), 0.0, error, ""))


_TRIES = 3
"""How often a model is tried again whose worker died."""

_agreed: set[str] = set()
"""The locks that hold in this process."""


def _elsewhere(job: _Job) -> str:
    """In another process, whose plugins may be others."""
    if job.lock is not None and job.lock not in _agreed:
        wanted, settings, _ = job.asked
        if _native.lock(wanted, settings) != job.lock:
            return _failed(job, "PipelineError: the worker has other plugins than the program that gives it work")
        _agreed.add(job.lock)
    return _one(job)


def _on_ray(jobs: list[_Job]) -> Iterator[str]:
    """The rows as they are done by a Ray cluster."""
    try:
        import ray  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError:
        raise ImportError("`on=\"ray\"` needs the package `ray`\n  help: pip install 'relais-onnx[ray]'") from None
    if not ray.is_initialized():
        ray.init()
    task = ray.remote(num_cpus=1, max_retries=_TRIES)(_elsewhere)
    waiting = iter(jobs)
    running: dict[Any, _Job] = {}
    try:
        while True:
            # Not all at once: a cluster is asked about each that runs.
            most = 2 * int(ray.cluster_resources().get("CPU", 1)) + 2
            while len(running) < most and (job := next(waiting, None)) is not None:
                running[task.remote(job)] = job
            if not running:
                return
            done, _ = ray.wait(list(running), num_returns=1)
            for reference in done:
                job = running.pop(reference)
                try:
                    yield ray.get(reference)
                except ray.exceptions.RayError as error:
                    yield _failed(job, f"{type(error).__name__}: {str(error).strip()}")
    finally:
        for reference in running:
            ray.cancel(reference, force=True)


def main(arguments: list[str] | None = None) -> int:
    """The command `python -m relais_onnx.zoo`. Its status is 1 if a model failed."""
    parser = argparse.ArgumentParser(prog="python -m relais_onnx.zoo", description="optimises many models into a folder")
    parser.add_argument("models", nargs="+", help="models, or patterns such as 'models/**/*.onnx'")
    parser.add_argument("--out-dir", required=True, help="the folder of the results")
    parser.add_argument("--shard", help="2/4: the second part of four")
    parser.add_argument("--cache", help="a folder of results by contents, or a URL of fsspec")
    parser.add_argument("--on", choices=["ray"], help="where to run: on a Ray cluster")
    parser.add_argument("--retry", action="store_true", help="try models again that failed")
    parser.add_argument("-O", dest="level", type=int, help="the pipeline O0 to O3")
    parser.add_argument("-p", "--pipeline", help="a pipeline in TOML, or a name")
    parser.add_argument("--check", type=int, default=0, help="compare each result with its model on that many inputs")
    given = parser.parse_args(arguments)
    models: list[str] = []
    for pattern in given.models:
        models += _glob.glob(pattern, recursive=True) if _glob.has_magic(pattern) else [pattern]
    try:
        table = optimize(
            models,
            given.out_dir,
            shard=given.shard,
            cache=given.cache,
            retry=given.retry,
            on=given.on,
            level=given.level,
            pipeline=given.pipeline,
            check=given.check,
            progress=lambda row: print(f"{row.model}: {'cached' if row.cached else row.status}", file=sys.stderr),
        )
    except (RelaisError, OSError, ValueError, TypeError, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(table)
    return 1 if table.failed else 0


if __name__ == "__main__":
    sys.exit(main())

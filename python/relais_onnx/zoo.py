"""Many models: a folder of results, a journal from which a killed run goes on, and a cache by contents.

    python -m relais_onnx.zoo 'models/**/*.onnx' --out-dir smaller --cache ~/.cache/relais
"""

from __future__ import annotations

import argparse
import difflib
import filecmp
import glob as _glob
import hashlib
import json
import os
import pathlib
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Unpack

from . import _native, load
from ._arguments import path as path_of
from ._cache import cache as _cache
from ._cache import digest_of
from ._native import __version__
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
        lines = [("model", "status", "calls", "bytes", "seconds")]
        for row in self:
            calls, size = (f"{pair[0]} -> {pair[1]}" if pair else "" for pair in (row.calls, row.bytes))
            status = "cached" if row.cached else row.status
            lines.append((row.model, status, calls, size, f"{row.seconds:.2f}"))
            if row.error:
                lines.append(("", row.error.splitlines()[0], "", "", ""))
        widths = [max(len(line[at]) for line in lines if line[0]) for at in range(5)]
        table = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines]
        return "\n".join([*table, f"{len(self) - len(self.failed)} of {len(self)} models"])


def _collect(models: Any) -> list[tuple[str, pathlib.Path]]:
    """The models, each with its path below the folder that all have in common."""
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
    paths = sorted({pathlib.Path(os.path.abspath(path)) for path in found})
    if not paths:
        raise ValueError("`models` is empty")
    for path in paths:
        os.stat(path)
    common = os.path.commonpath([path.parent for path in paths])
    return [(path.relative_to(common).as_posix(), path) for path in paths]


def _share(shard: str | None) -> tuple[int, int]:
    if shard is None:
        return 0, 1
    if not isinstance(shard, str):
        raise TypeError(f"`shard` must be a str such as \"2/4\", not `{type(shard).__name__}`")
    at, slash, n = shard.partition("/")
    if not (slash and at.isdecimal() and n.isdecimal() and 1 <= int(at) <= int(n)):
        raise ValueError(f"`shard` must be a part and how many there are, such as \"2/4\", not `{shard}`")
    return int(at) - 1, int(n)


class _Journal:
    """A line of JSON for each model that is done. The last line of a killed run may be torn."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path
        self.known: dict[str, Row] = {}
        self.file = open(path, "a+b")
        try:
            _lock(self.file)
            self._read()
        except BaseException:
            self.file.close()
            raise

    def _read(self) -> None:
        whole = 0
        self.file.seek(0)
        for line in self.file:
            try:
                row = json.loads(line)
                pairs = {"calls": _pair(row["calls"]), "bytes": _pair(row["bytes"])}
                row = Row(**{**row, **pairs, "files": tuple(row["files"]), "sizes": tuple(row["sizes"])})
            except (ValueError, TypeError, KeyError):
                break
            if not line.endswith(b"\n"):
                break
            whole += len(line)
            self.known[row.model] = row
        self.file.truncate(whole)

    def add(self, row: Row) -> None:
        self.file.write(json.dumps(row._asdict()).encode() + b"\n")
        self.file.flush()
        os.fsync(self.file.fileno())

    def close(self) -> None:
        self.file.close()


def _lock(file: Any) -> None:
    """Keeps others from writing into the folder of a journal, where the system can, until it is closed."""
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        message = "another run writes here; let it end, or divide the models with `shard`"
        raise BlockingIOError(error.errno, message, file.name) from None
    except OSError:
        # Some systems of files have no locks.
        return


def _pair(value: Any) -> tuple[int, int] | None:
    return None if value is None else (int(value[0]), int(value[1]))


@dataclass(frozen=True)
class _Job:
    """A model to optimise: all that another process needs for it."""

    name: str
    path: pathlib.Path
    target: pathlib.Path
    work: pathlib.Path
    cache: str | None
    lock: str
    fixed: str
    known: Row | None
    retry: bool
    wanted: dict[str, Any]
    settings: dict[str, Any] | None
    external_data: Literal["auto", "always", "never"]


def optimize(
    models: _Path | Iterable[_Path],
    out: _Path,
    *,
    shard: str | None = None,
    cache: _Path | None = None,
    retry: bool = False,
    on: str | None = None,
    external_data: Literal["auto", "always", "never"] = "auto",
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
    part, n_parts = _share(shard)
    folder = pathlib.Path(os.path.abspath(path_of(out, "`out`")))
    # Whatever links lead there.
    real = pathlib.Path(os.path.realpath(folder))
    if any(real in pathlib.Path(os.path.realpath(path.parent), path.name).parents for _, path in found):
        raise ValueError("`out` contains models that are given")
    place = None if cache is None else path_of(cache, "`cache`")
    if place is not None:
        _cache(place)
    folder.mkdir(parents=True, exist_ok=True)
    # The number of threads changes no result.
    stated = {**wanted, "threads": None, "rule_files": [digest_of(path) for path in wanted["rule_files"]]}
    lock = _native.lock(wanted, settings)
    fixed = json.dumps([__version__, lock, stated, settings, external_data], sort_keys=True, default=str)
    ending = "" if shard is None else f"-{part + 1}-of-{n_parts}"
    work = folder / f".relais-work{ending}"
    journal = _Journal(folder / f"relais-journal{ending}.jsonl")
    # Of a run that was killed.
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    rows: dict[str, Row] = {}
    jobs = [
        _Job(
            name=name,
            path=path,
            target=folder / name,
            work=work,
            cache=place,
            lock=lock,
            fixed=fixed,
            known=journal.known.get(name),
            retry=retry,
            wanted=wanted,
            settings=settings,
            external_data=external_data,
        )
        for at, (name, path) in enumerate(found)
        if at % n_parts == part
    ]
    try:
        for row in map(_one, jobs) if on is None else _on_ray(jobs):
            if row != journal.known.get(row.model):
                journal.add(row)
            rows[row.model] = row
            if progress is not None:
                progress(row)
    finally:
        journal.close()
        shutil.rmtree(work, ignore_errors=True)
    table = Table(rows[job.name] for job in jobs)
    summary = folder / f".relais-results{ending}.tmp"
    summary.write_text(table.to_json() + "\n", encoding="utf-8")
    os.replace(summary, folder / f"relais-results{ending}.json")
    return table


def _one(job: _Job) -> Row:
    began = time.monotonic()
    target = job.target
    key = ""
    calls = None
    files: tuple[str, ...] = ()

    def row(status: str, error: str | None = None, cached: bool = False) -> Row:
        sizes = tuple((target.parent / name).stat().st_size for name in files)
        both = (job.path.stat().st_size, sizes[0]) if status == "ok" else None
        seconds = round(time.monotonic() - began, 3)
        return Row(job.name, status, cached, calls, both, files, sizes, seconds, error, key)

    folder = None
    try:
        module = load(job.path)
        # The name, since a model names the file of its weights, which is called like it.
        key = hashlib.sha256(json.dumps([job.fixed, target.name, module.digest()]).encode()).hexdigest()
        known = job.known
        if known is not None and known.key == key:
            if known.status == "failed" and not job.retry:
                return known
            if known.status == "ok" and _is_whole(known, target.parent):
                return known
        folder = pathlib.Path(tempfile.mkdtemp(dir=job.work))
        store = None if job.cache is None else _cache(job.cache)
        calls = None if store is None else store.get(key, folder, target.name)
        is_cached = calls is not None
        if calls is None:
            result = _native.optimize(module, job.wanted, job.settings)
            calls = (_calls(module), _calls(result))
            # In an empty folder, so that the name of the file of its weights is always the same.
            result.save(folder / target.name, external_data=job.external_data)
            if store is not None:
                store.put(key, folder, calls)
        files = _move(folder, target)
        return row("ok", cached=is_cached)
    except (RelaisError, OSError, ValueError, RuntimeError) as error:
        return row("failed", f"{type(error).__name__}: {error}")
    finally:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def _is_whole(row: Row, folder: pathlib.Path) -> bool:
    """Whether the files of a result are there, each as long as it was."""
    try:
        return bool(row.files) and row.sizes == tuple((folder / name).stat().st_size for name in row.files)
    except OSError:
        return False


def _move(folder: pathlib.Path, target: pathlib.Path) -> tuple[str, ...]:
    """Moves a model with its other files to its place, and returns their names."""
    others = sorted(path.name for path in folder.iterdir() if path.name != target.name)
    target.parent.mkdir(parents=True, exist_ok=True)
    # An older model is never beside weights that are not its own. An equal one may be that of another worker, which was taken
    # for dead.
    if others and target.exists() and not filecmp.cmp(folder / target.name, target, shallow=False):
        target.unlink(missing_ok=True)
    for name in [*others, target.name]:
        os.replace(folder / name, target.parent / name)
    return (target.name, *others)


_TRIES = 3
"""How often a model is tried again whose worker died."""

_agreed: set[str] = set()
"""The locks that hold in this process."""


def _elsewhere(job: _Job) -> Row:
    """In another process, whose plugins may be others."""
    if job.lock not in _agreed:
        own = _native.lock(job.wanted, job.settings)
        if own != job.lock:
            error = "PipelineError: the worker has other plugins than the program that gives it work"
            return Row(job.name, "failed", False, None, None, (), (), 0.0, error, "")
        _agreed.add(own)
    return _one(job)


def _on_ray(jobs: list[_Job]) -> Iterator[Row]:
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
                    message = f"{type(error).__name__}: {str(error).strip()}"
                    yield Row(job.name, "failed", False, None, None, (), (), 0.0, message, "")
    finally:
        for reference in running:
            ray.cancel(reference, force=True)


def _calls(module: Any) -> int:
    return sum(len(function.ops) for function in module.values())


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

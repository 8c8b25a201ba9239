"""Many models: a folder of results, a journal from which a killed run goes on, and a cache by contents.

    python -m relais_onnx.zoo 'models/**/*.onnx' --out-dir smaller --cache ~/.cache/relais
"""

from __future__ import annotations

import argparse
import glob as _glob
import hashlib
import json
import os
import pathlib
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from . import _native, load
from ._native import __version__
from ._optimize import _external, _wanted
from .errors import RelaisError

__all__ = ["Row", "Table", "main", "optimize"]

_Path = str | os.PathLike[str]


class Row(NamedTuple):
    """What became of a model."""

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
        whole = 0
        if path.exists():
            text = path.read_bytes()
            for line in text.splitlines(keepends=True):
                try:
                    row = json.loads(line)
                    row = Row(**{**row, "calls": _pair(row["calls"]), "bytes": _pair(row["bytes"])})
                except (ValueError, TypeError, KeyError):
                    break
                if not line.endswith(b"\n"):
                    break
                whole += len(line)
                self.known[row.model] = row
        self.file = open(path, "ab")
        self.file.truncate(whole)

    def add(self, row: Row) -> None:
        self.file.write(json.dumps(row._asdict()).encode() + b"\n")
        self.file.flush()
        os.fsync(self.file.fileno())

    def close(self) -> None:
        self.file.close()


def _pair(value: Any) -> tuple[int, int] | None:
    return None if value is None else (int(value[0]), int(value[1]))


def _digest(path: _Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _put(source: _Path, target: pathlib.Path) -> None:
    """Copies a file: whole, or not at all."""
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=".relais-")
    os.close(handle)
    try:
        shutil.copyfile(source, temporary)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def optimize(
    models: _Path | Iterable[_Path],
    out: _Path,
    *,
    shard: str | None = None,
    cache: _Path | None = None,
    retry: bool = False,
    external_data: str = "auto",
    progress: Callable[[Row], None] | None = None,
    **options: Any,
) -> Table:
    """Optimises many models into a folder, with the options of `relais_onnx.optimize`, and returns a table.

    The folder below `out` is that of the models below the folder that all have in common. Results are written whole or not
    at all, and noted in a journal in `out`: a run that was killed goes on where it was, and so does one with more models.
    A model is done again if its file, the options or the plugins have changed. A model that fails does not stop the
    others, and is not tried again unless `retry` is True. The table is written to `out`, too.

    Args:
        models: Paths, or a pattern such as `models/**/*.onnx`.
        out: The folder of the results.
        shard: `"2/4"`: the second part of four, for four machines with one folder.
        cache: A folder of results by contents: model, pipeline with its options, plugins. Runs are deterministic, so that a
            hit is the exact result. Models with weights in other files are not kept there.
        progress: Is called with each row as it is done.

    Raises:
        As for `relais_onnx.optimize`, if an option is wrong. Failures of models are in the table.
    """
    wanted, settings = _wanted(**options)
    _external(external_data)
    found = _collect(models)
    part, n_parts = _share(shard)
    folder = pathlib.Path(os.path.abspath(os.fspath(out)))
    if any(folder in path.parents for _, path in found):
        raise ValueError("`out` contains models that are given")
    folder.mkdir(parents=True, exist_ok=True)
    store = None if cache is None else pathlib.Path(os.path.abspath(os.path.expanduser(os.fspath(cache))))
    # The number of threads changes no result.
    stated = {**wanted, "threads": None, "rule_files": [_digest(path) for path in wanted["rule_files"]]}
    fixed = json.dumps(
        [__version__, _native.lock(wanted, settings), stated, settings, external_data], sort_keys=True, default=str
    )
    ending = "" if shard is None else f"-{part + 1}-of-{n_parts}"
    journal = _Journal(folder / f"relais-journal{ending}.jsonl")
    table = Table()
    try:
        for at, (name, path) in enumerate(found):
            if at % n_parts != part:
                continue
            row = _one(name, path, folder, store, fixed, journal.known.get(name), retry, wanted, settings, external_data)
            if row is not journal.known.get(name):
                journal.add(row)
            table.append(row)
            if progress is not None:
                progress(row)
    finally:
        journal.close()
    summary = folder / f".relais-results{ending}.tmp"
    summary.write_text(table.to_json() + "\n", encoding="utf-8")
    os.replace(summary, folder / f"relais-results{ending}.json")
    return table


def _one(
    name: str,
    path: pathlib.Path,
    folder: pathlib.Path,
    store: pathlib.Path | None,
    fixed: str,
    known: Row | None,
    retry: bool,
    wanted: dict[str, Any],
    settings: dict[str, Any] | None,
    external_data: str,
) -> Row:
    began = time.monotonic()
    target = folder / name
    key = calls = None

    def row(status: str, error: str | None = None, cached: bool = False) -> Row:
        sizes = (path.stat().st_size, target.stat().st_size) if status == "ok" else None
        return Row(name, status, cached, calls, sizes, round(time.monotonic() - began, 3), error, key or "")

    try:
        module = load(path)
        contents, has_other_files = module.digest()
        key = hashlib.sha256(json.dumps([fixed, contents]).encode()).hexdigest()
        if known is not None and known.key == key:
            if known.status == "ok" and target.exists() or known.status == "failed" and not retry:
                return known
        entry = None
        if store is not None and not has_other_files and external_data != "always":
            entry = store / key[:2] / f"{key}.onnx"
            if entry.exists():
                note = json.loads(entry.with_suffix(".json").read_text(encoding="utf-8"))
                calls = _pair(note["calls"])
                _put(entry, target)
                return row("ok", cached=True)
        result = _native.optimize(module, wanted, settings)
        calls = (_calls(module), _calls(result))
        target.parent.mkdir(parents=True, exist_ok=True)
        result.save(target, external_data=external_data)  # type: ignore[arg-type]
        # A file of weights stands beside its model, and begins with its name.
        if entry is not None and len(list(target.parent.glob(f"{_glob.escape(target.name)}*"))) == 1:
            entry.parent.mkdir(parents=True, exist_ok=True)
            note_path = entry.with_suffix(f".{os.getpid()}.tmp")
            note_path.write_text(json.dumps({"calls": calls, "model": name}), encoding="utf-8")
            # The note first: an entry that is there has one.
            os.replace(note_path, entry.with_suffix(".json"))
            _put(target, entry)
        return row("ok")
    except (RelaisError, OSError, ValueError, RuntimeError) as error:
        return row("failed", f"{type(error).__name__}: {error}")


def _calls(module: Any) -> int:
    return sum(len(function.ops) for function in module.values())


def main(arguments: list[str] | None = None) -> int:
    """The command `python -m relais_onnx.zoo`. Its status is 1 if a model failed."""
    parser = argparse.ArgumentParser(prog="python -m relais_onnx.zoo", description="optimises many models into a folder")
    parser.add_argument("models", nargs="+", help="models, or patterns such as 'models/**/*.onnx'")
    parser.add_argument("--out-dir", required=True, help="the folder of the results")
    parser.add_argument("--shard", help="2/4: the second part of four")
    parser.add_argument("--cache", help="a folder of results by contents")
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
            level=given.level,
            pipeline=given.pipeline,
            check=given.check,
            progress=lambda row: print(f"{row.model}: {'cached' if row.cached else row.status}", file=sys.stderr),
        )
    except (RelaisError, OSError, ValueError, TypeError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(table)
    return 1 if table.failed else 0


if __name__ == "__main__":
    sys.exit(main())

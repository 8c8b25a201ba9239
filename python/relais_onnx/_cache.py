"""Results by what they depend on, in a folder or in an object store."""

from __future__ import annotations

import functools
import hashlib
import json
import logging
import os
import pathlib
import shutil
import tempfile
from typing import Any

_Pair = tuple[int, int]


class Cache:
    """A folder, or a URL of `fsspec`: `s3://bucket/folder`. An entry is its files and a note about them, which is written
    last and has their hashes: what was torn or changed is no entry. Where the cache fails, work goes on without it."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.fs: Any = None
        if "://" not in place:
            self.root = os.path.abspath(os.path.expanduser(place))
            return
        try:
            import fsspec  # type: ignore[import-untyped, import-not-found, unused-ignore]
        except ImportError:
            message = f"a cache at `{place}` needs the package `fsspec`\n  help: pip install 'relais-onnx[store]'"
            raise ImportError(message) from None
        self.fs, self.root = fsspec.core.url_to_fs(place)

    def get(self, key: str, folder: pathlib.Path, model: str) -> _Pair | None:
        """Puts the files of an entry into an empty folder, and returns its calls before and after; None if there is no
        such entry. One without the file `model` is not used, nor is one with a file that is not called like it, which would
        replace something else."""
        try:
            note_path = folder / ".note"
            self._fetch(f"{self._entry(key)}.json", note_path)
            note = json.loads(note_path.read_text(encoding="utf-8"))
            note_path.unlink()
            for at, (name, digest) in enumerate(note["files"]):
                if "/" in name or "\\" in name or not name.startswith(pathlib.PurePath(model).stem):
                    raise ValueError(f"`{name}` is not the name of a file of this model")
                self._fetch(f"{self._entry(key)}.{at}", folder / name)
                if digest_of(folder / name) != digest:
                    raise ValueError(f"`{name}` is not what was put in")
            if not (folder / model).is_file():
                raise ValueError(f"`{model}` is not in it")
            before, after = note["calls"]
            return int(before), int(after)
        except FileNotFoundError:
            return self._none(folder)
        # Stores raise what they like.
        except Exception as error:
            logging.getLogger("relais").warning("entry `%s` of the cache `%s` is not used: %s", key, self.place, error)
            return self._none(folder)

    def put(self, key: str, folder: pathlib.Path, calls: _Pair) -> None:
        """Keeps the files of a folder."""
        try:
            names = sorted(path.name for path in folder.iterdir())
            for at, name in enumerate(names):
                self._store(folder / name, f"{self._entry(key)}.{at}")
            note = {"calls": calls, "files": [(name, digest_of(folder / name)) for name in names]}
            with tempfile.TemporaryDirectory() as other:
                path = pathlib.Path(other, "note")
                path.write_text(json.dumps(note), encoding="utf-8")
                self._store(path, f"{self._entry(key)}.json")
        except Exception as error:
            logging.getLogger("relais").warning("nothing is kept in the cache `%s`: %s", self.place, error)

    @staticmethod
    def _none(folder: pathlib.Path) -> None:
        for path in folder.iterdir():
            path.unlink()

    def _entry(self, key: str) -> str:
        return f"{self.root}/{key[:2]}/{key}"

    def _fetch(self, source: str, target: pathlib.Path) -> None:
        if self.fs is not None:
            self.fs.get_file(source, os.fspath(target))
        else:
            shutil.copyfile(source, target)
        # A journal that has reached the disk will say that it is there.
        _sync(target)

    def _store(self, source: pathlib.Path, target: str) -> None:
        if self.fs is not None:
            self.fs.makedirs(target.rpartition("/")[0], exist_ok=True)
            self.fs.put_file(os.fspath(source), target)
        else:
            copy(source, pathlib.Path(target))


@functools.lru_cache(maxsize=8)
def cache(place: str) -> Cache:
    """The cache at a place."""
    return Cache(place)


def copy(source: str | os.PathLike[str], target: pathlib.Path) -> None:
    """Copies a file: whole, or not at all."""
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=".relais-")
    os.close(handle)
    try:
        shutil.copyfile(source, temporary)
        _sync(temporary)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def _sync(path: str | os.PathLike[str]) -> None:
    """Waits until a file is on the disk."""
    with open(path, "r+b") as file:
        os.fsync(file.fileno())


def digest_of(path: str | os.PathLike[str]) -> str:
    """A hash of a file's contents."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

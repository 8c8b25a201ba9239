"""Where results are kept by what they depend on: a folder, or an object store."""

from __future__ import annotations

import functools
import os
from typing import Any


class Store:
    """A URL of `fsspec`: `s3://bucket/folder`."""

    def __init__(self, place: str) -> None:
        self.place = place
        try:
            import fsspec  # type: ignore[import-untyped, import-not-found, unused-ignore]
        except ImportError:
            message = f"a cache at `{place}` needs the package `fsspec`\n  help: pip install 'relais-onnx[store]'"
            raise ImportError(message) from None
        self._fs: Any
        self._fs, self._root = fsspec.core.url_to_fs(place)

    def fetch(self, name: str, target: str | os.PathLike[str]) -> None:
        """Copies a file of the store, which is on the disk then: a journal that has reached the disk will say that it is there."""
        self._fs.get_file(f"{self._root}/{name}", os.fspath(target))
        with open(target, "r+b") as file:
            os.fsync(file.fileno())

    def keep(self, source: str | os.PathLike[str], name: str) -> None:
        """Copies a file into the store."""
        target = f"{self._root}/{name}"
        self._fs.makedirs(target.rpartition("/")[0], exist_ok=True)
        self._fs.put_file(os.fspath(source), target)


def store(place: str | None) -> str | Store | None:
    """The store at a place, which is the path of a folder or a URL."""
    if place is None or "://" in place:
        return None if place is None else _remote(place)
    return os.path.abspath(os.path.expanduser(place))


@functools.lru_cache(maxsize=8)
def _remote(place: str) -> Store:
    return Store(place)

"""The process in which a plugin runs that is a file of Python. The host starts it: `python -m relais_onnx.worker`."""

from __future__ import annotations

import linecache
import logging
import os
import sys
import traceback
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from types import ModuleType

from . import _native

__all__ = ["load", "traceback_of"]


class _ToHost(logging.Handler):
    """Hands records of Python's log to the host."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            _native.log_to_host(record.levelno, record.name, self.format(record))
        except Exception:
            self.handleError(record)


class _Beside(MetaPathFinder):
    """Finds modules among files whose folder cannot be listed."""

    def __init__(self, files: list[str]) -> None:
        self._files = {os.path.splitext(os.path.basename(file))[0]: file for file in files}

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        file = self._files.get(name)
        return None if file is None else spec_from_file_location(name, file)


def load(name: str, path: str, beside: list[str], source: bytes, level: int) -> tuple[str, str]:
    """Runs a file as the module of that name, which can import the files beside it. Returns its version and a sentence about
    it. Records of the log count from a level on."""
    root = logging.getLogger()
    root.addHandler(_ToHost())
    root.setLevel(level)
    sys.meta_path.append(_Beside(beside))
    module = ModuleType(name)
    module.__file__ = path
    sys.modules[name] = module
    code = compile(source, path, "exec", dont_inherit=True)
    # Tracebacks quote it, though the file may not be read any more.
    text = source.decode(errors="replace")
    linecache.cache[path] = (len(source), None, text.splitlines(keepends=True), path)
    exec(code, module.__dict__)
    version = getattr(module, "__version__", "0.0.0")
    if not isinstance(version, str):
        raise TypeError(f"`__version__` must be a str, not `{type(version).__name__}`")
    doc = module.__doc__ if isinstance(module.__doc__, str) else ""
    return version, " ".join(doc.strip().split("\n\n")[0].split())


def traceback_of(error: BaseException) -> str:
    """An exception with its traceback, from the code of the plugin on."""
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename == __file__:
        frames = frames.tb_next
    return "".join(traceback.format_exception(type(error), error, frames)).rstrip()


if __name__ == "__main__":
    sys.exit(_native.serve())

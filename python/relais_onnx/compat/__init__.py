"""Functions of other optimisers with their arguments: a script changes one import.

Each argument is mapped to what it means here, or refused by a `NotImplementedError` that names it if it has another value
than its default.
"""

from __future__ import annotations

import importlib as _importlib
from types import ModuleType as _ModuleType
from typing import TYPE_CHECKING as _TYPE_CHECKING

__all__ = ["onnxsim", "onnxslim"]

if _TYPE_CHECKING:
    from . import onnxsim as onnxsim
    from . import onnxslim as onnxslim


def __getattr__(name: str) -> _ModuleType:
    if name in __all__:
        return _importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module `{__name__}` has no attribute `{name}`", name=name)

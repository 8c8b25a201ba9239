"""Instruments, which watch passes: the counterpart of `tvm.instrument`."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any, Self, TypeVar, overload

from . import _native
from ._native import Instrument, IRModule, PassInfo

__all__ = [
    "DumpIR",
    "Instrument",
    "PassInstrument",
    "PassPrintingInstrument",
    "PassTimingInstrument",
    "PrintAfterAll",
    "PrintBeforeAll",
    "Statistics",
    "pass_instrument",
]


class PassInstrument:
    """The hooks of an instrument. One that a class does not override is never called."""

    def enter_pass_ctx(self) -> None:
        """The context of the instrument is about to be entered."""

    def exit_pass_ctx(self) -> None:
        """The context was left."""

    def should_run(self, mod: IRModule, info: PassInfo) -> bool:
        """Whether a pass may run. Every instrument is asked; one veto is enough. Returns a bool, nothing else."""
        return True

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        """A pass is about to run."""

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        """A pass ran; the module is its result."""

    def skipped(self, mod: IRModule, info: PassInfo, reason: str) -> None:
        """A pass did not run, for a reason other than its level and the lists."""

    def failed(self, info: PassInfo, error: str) -> None:
        """A pass that `run_before_pass` was called for failed; no `run_after_pass` follows."""

    def counted(self, info: PassInfo, statistic: str, n: int) -> None:
        """A pass counted something."""

    def said(self, info: PassInfo, text: str) -> None:
        """A pass said something."""


_Class = TypeVar("_Class", bound=type)


@overload
def pass_instrument(pi_cls: None = None) -> Callable[[_Class], _Class]: ...
@overload
def pass_instrument(pi_cls: _Class) -> _Class: ...
def pass_instrument(pi_cls: Any = None) -> Any:
    """Makes an instrument's class of one that has some of the hooks.

    >>> @pass_instrument
    ... class Names:
    ...     def __init__(self):
    ...         self.names = []
    ...     def run_before_pass(self, mod, info):
    ...         self.names.append(info.name)

    Raises:
        TypeError: It is not a class.
    """

    def make(pi_cls: Any) -> Any:
        if not inspect.isclass(pi_cls):
            raise TypeError(f"an instrument is made of a class, not of `{type(pi_cls).__name__}`")
        if issubclass(pi_cls, PassInstrument):
            return pi_cls
        members = {name: getattr(pi_cls, name) for name in ("__module__", "__qualname__", "__doc__")}
        return type(pi_cls.__name__, (pi_cls, PassInstrument), members)

    return make if pi_cls is None else make(pi_cls)


class PassTimingInstrument(Instrument):
    """Measures how long passes take. `render()` returns the times as a tree, also after the context."""

    def __new__(cls) -> Self:
        return super().__new__(cls, "timing")


class Statistics(Instrument):
    """Collects what passes count; `data` and `render()` return it."""

    def __new__(cls) -> Self:
        return super().__new__(cls, "statistics")


class PrintBeforeAll(Instrument):
    """Prints the module to `sys.stderr` before each pass."""

    def __new__(cls) -> Self:
        return super().__new__(cls, "print-before")


class PrintAfterAll(Instrument):
    """Prints the module to `sys.stderr` after each pass."""

    def __new__(cls) -> Self:
        return super().__new__(cls, "print-after")


class DumpIR(Instrument):
    """Writes the module into a folder after each pass that changes it, numbered in order."""

    def __new__(cls, dump_dir: str | os.PathLike[str]) -> Self:
        return super().__new__(cls, "dump", dir=os.fspath(dump_dir))


class PassPrintingInstrument(PassInstrument):
    """Prints the module to `sys.stderr` before some passes and after some."""

    def __init__(self, print_before_pass_names: Iterable[str], print_after_pass_names: Iterable[str]) -> None:
        def names(given: Iterable[str], what: str) -> set[str]:
            if isinstance(given, str):
                raise TypeError(f"`{what}` must be a list of names, not `str`")
            return {_native.full_name(name) for name in given}

        self._before = names(print_before_pass_names, "print_before_pass_names")
        self._after = names(print_after_pass_names, "print_after_pass_names")

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        if info.name in self._before:
            print(f"// before `{info.name}`\n{mod}", file=sys.stderr)

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        if info.name in self._after:
            print(f"// after `{info.name}`\n{mod}", file=sys.stderr)

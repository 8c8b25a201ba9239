"""The exceptions of `relais_onnx`.

An exception that Python code raises in a pass or an instrument comes out as itself, with a note that names the pass or the
hook; its attribute `__relais__` is the exception of this module that describes the failure.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

__all__ = [
    "CheckFailed",
    "ConfigError",
    "ContextError",
    "Fault",
    "InstrumentError",
    "ModelError",
    "NotCheckedError",
    "OutputError",
    "PassFailed",
    "PipelineError",
    "PluginError",
    "RegistrationError",
    "RelaisError",
    "RuleError",
    "StaleNodeError",
]


class Fault(NamedTuple):
    """One thing that is wrong with names, options or a pipeline."""

    code: str
    """The kind of fault, such as `P010`."""
    message: str
    """What is wrong."""
    place: str | None
    """`file:line:column`, if it is in a text."""
    notes: list[str]
    """Further information."""
    help: str | None
    """A suggestion."""


class RelaisError(Exception):
    """An error of Relais."""

    code: str | None = None
    """The code of the error, such as `L030`, if it has one; of several faults, that of the first."""
    help: str | None = None
    """A suggestion; it is part of the text, too."""


class ModelError(RelaisError, ValueError):
    """A model that cannot be read, or something that was asked for and does not fit it. The text names the place."""


class PluginError(ModelError):
    """A plugin that cannot be used."""


class OutputError(RelaisError, OSError):
    """A result that cannot be written. It has the `filename`, and the `errno` if the system said no."""

    def __str__(self) -> str:
        return BaseException.__str__(self)


class PipelineError(RelaisError, ValueError):
    """Names, options or a pipeline that cannot be resolved. Nothing ran."""

    faults: list[Fault] = []
    """All that is wrong."""


class ConfigError(PipelineError, AttributeError):
    """An option of a context that does not exist, or does not take its value."""


class RegistrationError(RelaisError, ValueError):
    """A pass, or an option of contexts, whose name another one has."""


class RuleError(RelaisError, ValueError):
    """A rule that cannot be parsed, or changes what a module computes. Nothing ran."""


class _Failed(RelaisError, RuntimeError):
    function: str | None = None
    """The function of the module where it happened."""
    node: int | None = None
    """The node where it happened."""
    notes: list[str] = []
    """Further information."""
    backtrace: str | None = None
    """The backtrace of a panic."""


class PassFailed(_Failed):
    """A pass that failed. The module is as before the run."""

    pass_name: str | None = None
    """The full name of the pass."""
    plugin: str | None = None
    """The plugin that provides the pass; none for one of the program."""
    line: str | None = None
    """The line of the module that the failure is about."""
    report: Any = None
    """The results up to the failure."""
    reproducers: list[Path] = []
    """The folders of reproducers that were written, if `reproducer_dir` was given."""


class InstrumentError(_Failed):
    """A hook of an instrument that failed."""

    instrument: str | None = None
    """The name of the instrument."""
    hook: str | None = None
    """The hook."""
    also: list[str] = []
    """Faults during the cleanup."""


class ContextError(RelaisError, RuntimeError):
    """A context that is left in another order than it was entered, or on another thread."""


class StaleNodeError(RelaisError, RuntimeError):
    """A node of an editor that was left, or a node that was removed."""


class CheckFailed(RelaisError, RuntimeError):
    """A result that differs from the model, or a pass that is wrong. Nothing was written."""

    findings: list[Any] = []
    """What is wrong with a pass that was tested."""


class NotCheckedError(RelaisError, RuntimeError):
    """A result that cannot be compared with the model. Nothing was written."""

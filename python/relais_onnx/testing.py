"""Judging passes: by random modules, and rules by modules on which they match."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from . import _native
from ._arguments import flag, members, whole, wrong
from ._native import IRModule, Pass
from .errors import CheckFailed
from .rewriter import RewriteRule

__all__ = ["Checked", "Finding", "check"]


class Finding(NamedTuple):
    """Something that is wrong with a pass."""

    kind: str
    """The kind of finding, such as `numbers`."""
    message: str
    """How it shows."""
    module: str
    """The module, as text; empty where none is to blame."""


class Checked(NamedTuple):
    """The outcome of a test."""

    summary: str
    """How many modules there were, how many the pass changed and failed on, and how many results were compared."""


def check(
    pass_: Pass | RewriteRule,
    *,
    modules: int = 64,
    samples: Iterable[IRModule | str] = (),
    seed: int = 1,
    strict: bool = False,
    allow_errors: bool = False,
) -> Checked:
    """Tests a pass as `relais plugin test` tests those of plugins: on random modules, and on `samples` of your own, results
    must be well-formed, have the same interface, and compute the same numbers; running twice must give the same, and a
    second run must change nothing. Rules are also tested on modules on which they match. With `strict`, a pass or a
    rule that never applied is wrong, too. An exception of the pass is raised as itself, unless `allow_errors` is True.

    >>> from relais_onnx import rule, testing
    >>> testing.check(rule("Neg(Neg(x)) => x"), modules=0).summary.endswith("compared")
    True

    Raises:
        CheckFailed: Something is wrong; `.findings` has each finding with a module that is as small as possible.
    """
    if isinstance(pass_, RewriteRule):
        pass_ = pass_.as_pass()
    if not isinstance(pass_, Pass):
        raise TypeError(f"what is tested must be a Pass, not `{type(pass_).__name__}`")
    modules, seed = whole(modules, "`modules`", 0, 2**31), whole(seed, "`seed`", 0, 2**64 - 1)
    flag(strict, "`strict`")
    flag(allow_errors, "`allow_errors`")
    if isinstance(samples, IRModule):
        raise wrong(samples, "`samples`", "a list of modules")
    texts = []
    for sample in members(samples, "`samples`", "modules"):
        if isinstance(sample, str):
            sample = _native.parse(sample)
        if not isinstance(sample, IRModule):
            raise TypeError(f"a sample must be an IRModule or its text, not `{type(sample).__name__}`")
        texts.append(str(sample))
    found, summary = _native.judge(pass_, modules, texts, seed, strict, allow_errors)
    if found:
        findings = [Finding(*it) for it in found]
        parts = [f"{kind}: {message}\n{module}".rstrip() for kind, message, module in findings]
        error = CheckFailed(f"the pass `{pass_.info.name}` is wrong\n" + "\n".join(parts))
        error.findings = findings
        raise error
    return Checked(summary)

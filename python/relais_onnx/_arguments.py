"""How arguments are checked: what is wrong is said by the argument's name, before anything native sees it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any


def wrong(value: object, what: str, expected: str) -> TypeError:
    """What is raised for a value of another type."""
    return TypeError(f"{what} must be {expected}, not `{type(value).__name__}`")


def text(value: object, what: str) -> str:
    """A text. Python has some that cannot be written: those with a half of a pair of surrogates."""
    if not isinstance(value, str):
        raise wrong(value, what, "a str")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{what} is not valid Unicode: {value!r}") from None
    return value


def members(value: object, what: str, of: str) -> list[Any]:
    """The members of something to go through, which is not a text."""
    if isinstance(value, (str, bytes, os.PathLike)) or not isinstance(value, Iterable):
        raise wrong(value, what, f"a list of {of}")
    return list(value)


def names(value: object, what: str) -> list[str]:
    """A list of names; None is an empty one."""
    given = members(() if value is None else value, what, "names")
    return [text(name, f"a name in {what}") for name in given]


def path(value: object, what: str) -> str:
    """A path."""
    if not isinstance(value, (str, os.PathLike)):
        raise wrong(value, what, "a str or a path")
    return os.fsdecode(value)


def paths(value: object, what: str) -> list[str]:
    """A list of paths; None is an empty one."""
    return [path(one, f"a path in {what}") for one in members(() if value is None else value, what, "paths")]


def whole(value: Any, what: str, least: int, most: int) -> int:
    """A whole number between two others."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise wrong(value, what, "an int")
    number: int = value.__index__()
    if not least <= number <= most:
        raise ValueError(f"{what} must be between {least} and {most}, not {number}")
    return number


def number(value: Any, what: str) -> float:
    """A number that is not negative."""
    if isinstance(value, (bool, str)) or not hasattr(value, "__float__"):
        raise wrong(value, what, "a number")
    number = float(value)
    if not 0 <= number < float("inf"):
        raise ValueError(f"{what} must be finite and not negative, not {number}")
    return number


def flag(value: object, what: str) -> bool:
    """True or False."""
    if not isinstance(value, bool):
        raise wrong(value, what, "a bool")
    return value


def choice(value: object, what: str, choices: tuple[str, ...]) -> str:
    """One of some words."""
    if not isinstance(value, str):
        raise wrong(value, what, "a str")
    if value not in choices:
        words = [f'"{choice}"' for choice in choices]
        raise ValueError(f"{what} must be {', '.join(words[:-1])} or {words[-1]}, not {value!r}")
    return value


def dependencies(value: object) -> str | None:
    """The way in which requirements are followed; None is what a pipeline says."""
    return None if value is None else choice(value, "`dependencies`", ("transitive", "direct", "assumed"))

"""Rewrite rules: patterns that are matched natively, with conditions and right sides that may be functions of Python."""

from __future__ import annotations

import inspect
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn, Self, overload

from . import _native
from ._arguments import flag, members, wrong
from ._arguments import text as text_of
from ._native import IRModule, Pass
from .errors import RuleError
from .transform import _level, _Required, _required

__all__ = ["AnyAttr", "AttrVar", "Const", "Rest", "RewriteRule", "Rules", "rewrite", "rule"]


class Rules(Pass):
    """A pass that rewrites by rules; `rule` makes one."""

    _text: str

    def __new__(
        cls,
        text: str,
        conditions: Mapping[str, Callable[..., Any]],
        make: Callable[..., Any] | None,
        make_args: list[str],
        name: str,
        opt_level: int,
        required: list[_Required],
        judge: bool,
        doc: str,
    ) -> Self:
        stated = {
            "text": text,
            "conditions": list(conditions.items()),
            "make": make,
            "make_args": make_args,
            "judge": judge,
        }
        self = super().__new__(cls, "rules", stated, name, opt_level, required, doc)
        self._text = text
        return self

    @property
    def text(self) -> str:
        """The rules as text."""
        return self._text


def _arguments(function: Callable[..., Any], variables: list[str], skip: int) -> list[str]:
    """The variables that a function receives: those that its parameters name, after the first ones."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except ValueError:
        raise TypeError(f"the parameters of `{function!r}` are not known") from None
    names = []
    for at, parameter in enumerate(parameters):
        if parameter.kind is not parameter.POSITIONAL_ONLY and parameter.kind is not parameter.POSITIONAL_OR_KEYWORD:
            raise TypeError(f"the parameter `{parameter.name}` of `{function.__name__}` must be an ordinary one")
        if at < skip:
            continue
        if parameter.name not in variables:
            known = ", ".join(f"`{name}`" for name in variables) or "none"
            raise TypeError(f"the pattern has no variable `{parameter.name}`; its variables are {known}")
        names.append(parameter.name)
    if len(parameters) < skip:
        raise TypeError(f"`{function.__name__}` must take what makes calls as its first parameter")
    return names


def rule(
    text: str,
    replacement: Callable[..., Any] | None = None,
    *,
    where: str | None = None,
    conditions: Mapping[str, Callable[..., Any]] | Iterable[Callable[..., Any]] = (),
    name: str | None = None,
    opt_level: int = 0,
    required: Iterable[_Required] | None = None,
    judge: bool = True,
) -> Rules:
    """Makes a pass of one or more rules: `pattern => result if conditions`, as `docs/patterns.md` describes them.

    `conditions` are functions that the text names as conditions: they receive the variables, and return whether the
    condition holds, or a str that says why not. Where `replacement` is given, the text is a pattern alone, and `where` its
    conditions: the function receives what makes calls, then the variables that its parameters name, and returns what
    takes the place of the call, or None. Functions are called on full matches only.

    The rules are judged on small modules before their first use, unless `judge` is False.

    >>> import relais_onnx as relais
    >>> module = relais.parse('''
    ... def @main(%x: Tensor[(2), float32]) -> (%y) #[opset = {"": 17}] { %a = Neg(%x); %y = Neg(%a); %y }
    ... ''')
    >>> print(rule("Neg(Neg(x)) => x")(module)["main"].results[0])
    %x: Tensor[(2), float32]
    >>> print(rule("Neg(Neg(x))", lambda op, x: op.Identity(x))(module)["main"].results[0].op)
    Identity

    Raises:
        RuleError: The text cannot be parsed.
        TypeError: A function does not take variables of the pattern.
    """
    text_of(text, "a rule")
    named = _conditions(conditions)
    make_args: list[str] = []
    shown = text
    if replacement is None:
        if where is not None:
            raise TypeError("`where` belongs to a pattern with a function; write `if …` at the end of the rule")
    else:
        if not callable(replacement):
            raise TypeError(f"`replacement` must be callable, not `{type(replacement).__name__}`")
        if "=>" in text:
            raise TypeError("a rule with a function as its right side is a pattern without `=>`")
        shown = f"{text} => …"
        # The number is a right side that any pattern may have; it is never made.
        text = f"{text} => 0" + (f" if {where}" if where else "")
        (variables,) = _native.rule_variables(text) or [[]]
        make_args = _arguments(replacement, variables, 1)
    return Rules(
        text,
        named,
        replacement,
        make_args,
        _default_name(replacement, text) if name is None else text_of(name, "`name`"),
        _level(opt_level),
        _required(required),
        flag(judge, "`judge`"),
        inspect.getdoc(replacement) or shown if replacement else text,
    )


def _conditions(conditions: Any) -> dict[str, Callable[..., Any]]:
    """Conditions by their names."""
    if isinstance(conditions, Mapping):
        named = {text_of(name, "a name in `conditions`"): condition for name, condition in conditions.items()}
    else:
        if callable(conditions):
            raise wrong(conditions, "`conditions`", "a list of functions")
        named = {}
        for condition in members(conditions, "`conditions`", "functions"):
            name = getattr(condition, "__name__", "")
            if callable(condition) and not name.isidentifier():
                # A lambda, a `partial`.
                raise TypeError(f"a condition has no name of its own: {condition!r}\n  help: give them as a dict: {{\"name\": condition}}")
            named[name] = condition
    for name, condition in named.items():
        if not callable(condition):
            raise wrong(condition, f"the condition `{name}`" if name else "a condition", "callable")
    return named


def _default_name(replacement: Callable[..., Any] | None, text: str) -> str:
    named = re.match(r"\s*([A-Za-z_][A-Za-z0-9_]*)\s*:(?!:)", text)
    if named:
        return named[1]
    own = getattr(replacement, "__name__", "")
    return own if own.isidentifier() else "rule"


class Const:
    """A constant in a traced pattern: `Const(1.4142, rtol=1e-4)` is one with this value; as the annotation of a parameter,
    `x: Const` is any constant."""

    def __init__(self, value: float | int | list[Any], *, rtol: float | None = None) -> None:
        if isinstance(value, bool) or not isinstance(value, (int, float, list)):
            raise TypeError(f"a constant of a pattern must be a number or a list of them, not `{type(value).__name__}`")
        if rtol is not None and not isinstance(value, (int, float)):
            raise TypeError("`rtol` belongs to a number")
        self._text = _literal(value) + (f" ~ {_literal(rtol)}" if rtol is not None else "")


class Rest:
    """The annotation of a parameter of a traced pattern that stands for all remaining arguments."""


class AttrVar:
    """A variable for the value of an attribute in a traced pattern: `op.Transpose(x, perm=AttrVar("p"))`."""

    def __init__(self, name: str) -> None:
        if not isinstance(name, str) or not name.isidentifier():
            raise ValueError(f"`{name}` is not a name")
        self._text = name


class AnyAttr:
    """Any value of an attribute in a traced pattern: `op.Elu(x, alpha=AnyAttr())`."""

    _text = "_"


def _literal(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        raise TypeError(f"`{value}` is not a value of an attribute or a constant in a pattern")
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float) and math.isfinite(value):
        return repr(value)
    raise TypeError(f"`{value!r}` is not a value of an attribute or a constant in a pattern")


class _Symbol:
    """A value of a traced pattern."""

    def __init__(self, text: str, *, name: str | None = None, result: int = 0) -> None:
        self.text = text
        self.name = name
        self.result = result
        self.is_used = False

    def __repr__(self) -> str:
        return f"<{self.name or self.text}>"

    def _no(self, *_: Any) -> NoReturn:
        raise TypeError("a value of a pattern is a symbol: conditions belong into a function for `.check`")

    __bool__ = __len__ = __int__ = __float__ = __iter__ = __lt__ = __le__ = __gt__ = __ge__ = _no


class _Tracer:
    """Writes down the calls of a pattern."""

    def __init__(self) -> None:
        self.n_shared = 0

    def __getattr__(self, op: str) -> Callable[..., Any]:
        if not op[:1].isupper():
            raise AttributeError(f"there is no attribute `{op}` here; operators begin with a capital letter")

        def call(*args: Any, **keywords: Any) -> Any:
            return self._call(op, args, keywords)

        return call

    def _call(self, op: str, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        domain = keywords.pop("_domain", "")
        outputs = keywords.pop("_outputs", None)
        name = keywords.pop("_name", None)
        any_attrs = keywords.pop("_any_attrs", False)
        shared = keywords.pop("_shared", False)
        for other in keywords:
            if other.startswith("_"):
                raise TypeError(f"`{other}` is not `_domain`, `_outputs`, `_name`, `_any_attrs` or `_shared`")
        attrs = [f"{key} = {getattr(value, '_text', None) or _literal(value)}" for key, value in keywords.items()]
        if any_attrs:
            attrs.append("..")
        given = f"{{{', '.join(attrs)}}}" if attrs else ""
        text = f"{domain}::{op}" if domain else op
        text += f"{given}({', '.join(map(self._arg, args))})"
        ending = (f" as {name}" if name else "") + (" !" if shared else "")
        if outputs is None:
            return _Symbol(text + ending, name=name)
        return [_Symbol(f"{text}[{at}]{ending}", result=at) for at in range(outputs)]

    @staticmethod
    def _arg(arg: Any) -> str:
        if arg is None:
            return "none"
        if isinstance(arg, _Symbol):
            if "(" in arg.text and arg.is_used:
                if arg.name is None:
                    raise TypeError(
                        f"{arg!r} is used twice in the pattern; give it a name, `_name=\"s\"`, and each use is this value"
                    )
                return arg.name
            arg.is_used = True
            return arg.text
        if isinstance(arg, Const):
            return arg._text
        if isinstance(arg, (int, float)) and not isinstance(arg, bool):
            return _literal(arg)
        raise TypeError(f"an argument in a pattern must be a value of it, a number, a Const or None, not `{type(arg).__name__}`")


class RewriteRule:
    """A traced pattern, waiting for its right side; `rewrite` makes one. It becomes a pass when `replace` has been given a
    function."""

    def __init__(
        self, pattern: Callable[..., Any], name: str | None, opt_level: int, required: list[_Required], judge: bool
    ) -> None:
        self._pattern, self._name = pattern, name or pattern.__name__
        self._opt_level, self._required, self._judge = opt_level, required, judge
        self._check: Callable[..., Any] | None = None
        self._pass: Rules | None = None
        self.text = self._traced()

    def _traced(self) -> str:
        symbols = []
        parameters = list(inspect.signature(self._pattern).parameters.values())
        if not parameters:
            raise TypeError(f"`{self._pattern.__name__}` must take what makes calls as its first parameter")
        for parameter in parameters[1:]:
            # Annotations may be texts.
            annotation = str(getattr(parameter.annotation, "__name__", parameter.annotation)).rpartition(".")[2]
            name = parameter.name
            if annotation == "Const":
                text = f"const {name}"
            elif annotation == "Rest" or parameter.kind is parameter.VAR_POSITIONAL:
                text = f"..{name}"
            elif parameter.default is None:
                text = f"?{name}"
            else:
                text = name
            symbols.append(_Symbol(text, name=name))
        result = self._pattern(_Tracer(), *symbols)
        if isinstance(result, (list, tuple)) and result and all(isinstance(it, _Symbol) for it in result):
            # All results of one call.
            result = result[0]
        if not isinstance(result, _Symbol) or "(" not in result.text:
            raise TypeError(f"`{self._pattern.__name__}` must return a call of its first parameter")
        return re.sub(r"\[0\]$", "", result.text)

    @property
    def variables(self) -> list[str]:
        """The variables of the pattern."""
        return _native.rule_variables(f"{self.text} => 0")[0]

    def check(self, condition: Callable[..., Any]) -> Callable[..., Any]:
        """Adds a condition: a function of variables of the pattern that returns whether it holds, or a str that says why
        not. It is called on full matches only."""
        if self._pass is not None:
            raise TypeError(f"the rule `{self._name}` has its right side already")
        if self._check is not None:
            raise TypeError(f"the rule `{self._name}` has a condition already")
        _arguments(condition, self.variables, 0)
        self._check = condition
        return condition

    def replace(self, make: Callable[..., Any]) -> Rules:
        """Makes the pass: `make` receives what makes calls, then the variables of the pattern that its parameters name, and
        returns what takes the place of the call; None leaves it as it is, and `op.decline("why")` says why."""
        if self._pass is not None:
            raise TypeError(f"the rule `{self._name}` has its right side already")
        where, conditions = None, {}
        if self._check is not None:
            where = f"_check({', '.join(_arguments(self._check, self.variables, 0))})"
            conditions = {"_check": self._check}
        self._pass = rule(
            self.text,
            make,
            where=where,
            conditions=conditions,
            name=self._name,
            opt_level=self._opt_level,
            required=self._required,
            judge=self._judge,
        )
        return self._pass

    def __call__(self, module: IRModule) -> IRModule:
        """Runs the pass."""
        return self.as_pass()(module)

    def as_pass(self) -> Rules:
        """The pass, for sequences and registration."""
        if self._pass is None:
            raise RuleError(f"the rule `{self._name}` has no right side\n  help: give `replace` a function")
        return self._pass

    def __repr__(self) -> str:
        return f"<RewriteRule `{self._name}`: {self.text}>"


@overload
def rewrite(
    pattern: None = None,
    *,
    name: str | None = None,
    opt_level: int = 0,
    required: Iterable[_Required] | None = None,
    judge: bool = True,
) -> Callable[[Callable[..., Any]], RewriteRule]: ...
@overload
def rewrite(
    pattern: Callable[..., Any],
    *,
    name: str | None = None,
    opt_level: int = 0,
    required: Iterable[_Required] | None = None,
    judge: bool = True,
) -> RewriteRule: ...
def rewrite(
    pattern: Any = None,
    *,
    name: str | None = None,
    opt_level: int = 0,
    required: Iterable[_Required] | None = None,
    judge: bool = True,
) -> Any:
    """Makes a rule of a function that is called once, with symbols: what it returns is the pattern. `.check` adds a
    condition, and `.replace` the right side.

    >>> import relais_onnx as relais
    >>> @relais.rewrite(name="acme.NegNeg")
    ... def neg_neg(op, x):
    ...     return op.Neg(op.Neg(x))
    >>> @neg_neg.replace
    ... def _(op, x):
    ...     return x
    >>> neg_neg.text
    'Neg(Neg(x))'

    Parameters stand for any value; `x: Const` for a constant, `x: Rest` for all remaining arguments, `x=None` for one that
    may be absent.

    Raises:
        TypeError: The function does not return a call.
        RuleError: Its pattern is none of the language of rules.
    """
    level, needed, judged = _level(opt_level), _required(required), flag(judge, "`judge`")
    if name is not None:
        text_of(name, "`name`")

    def make(pattern: Any) -> RewriteRule:
        if not callable(pattern):
            raise TypeError(f"a rule is traced from a function, not from `{type(pattern).__name__}`")
        made = RewriteRule(pattern, name, level, needed, judged)
        _ = made.variables
        return made

    return make if pattern is None else make(pattern)

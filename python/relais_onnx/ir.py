"""Functions, nodes, and how they are visited and changed."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from . import _native
from ._native import Diff, Difference, Editor, Function, Graph, IRModule, Node, NodeDifference, Nodes, Pass, PassInfo, Tensor

__all__ = [
    "DROP",
    "Builder",
    "Diff",
    "Difference",
    "Editor",
    "ExprMutator",
    "ExprVisitor",
    "Function",
    "Graph",
    "IRModule",
    "Node",
    "NodeDifference",
    "Nodes",
    "Tensor",
]

Builder = Editor


class _Drop:
    def __repr__(self) -> str:
        return "DROP"


DROP: Final = _Drop()
"""What a method of an `ExprMutator` returns to remove a node, which nothing may use any more."""


def _itself(value: Any) -> Any:
    return value


def _as_it_is(value: Any, memo: Any) -> Any:
    return value


# Nothing changes them, so that a copy is what it is a copy of.
for _type in (IRModule, Function, Nodes, Node, Tensor, Diff, Difference, NodeDifference, Pass, PassInfo):
    setattr(_type, "__copy__", _itself)
    setattr(_type, "__deepcopy__", _as_it_is)
Mapping.register(IRModule)


class ExprVisitor:
    """Visits the nodes of a function in program order. The walk is native: a method that a subclass does not have is
    never called, and `visit_call` only for the operators in `ops`, if there are any.

    `leave` is called for each node of any kind when it and the nodes of its nested functions were visited: at once, for most.

    >>> import relais_onnx as relais
    >>> class Names(relais.ExprVisitor):
    ...     ops = ["Relu"]
    ...     def visit_call(self, call):
    ...         print(call)
    >>> Names().visit(relais.parse("def @main(%x) { %a = Neg(%x); %y = Relu(%a); %y }")["main"])
    %y = Relu(%a)
    """

    ops: ClassVar[Sequence[str]] = ()
    """The operators whose calls are visited: `Conv`, `acme::Silu`. All if there are none."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        _spelled(cls, ExprVisitor, "visit_")

    def visit_param(self, param: Node) -> None:
        """A parameter of the function."""

    def visit_constant(self, constant: Node) -> None:
        """A constant."""

    def visit_call(self, call: Node) -> None:
        """A call."""

    def visit_if(self, conditional: Node) -> None:
        """A conditional. The nodes of its branches follow."""

    def visit_tuple(self, fields: Node) -> None:
        """A tuple."""

    def visit_item(self, item: Node) -> None:
        """One of the results of a call that has several."""

    def visit_function(self, function: Node) -> None:
        """A function that is a value."""

    def leave(self, node: Node) -> None:
        """A node, when it and all that is nested in it were visited; of calls, those in `ops`."""

    def visit(self, function: Function) -> None:
        """Visits a function."""
        if not isinstance(function, Function):
            raise TypeError(f"what is visited must be a Function, not `{type(function).__name__}`")
        leave = self.leave if type(self).leave is not ExprVisitor.leave else None
        _native.walk(function, _methods(self, ExprVisitor, "visit_"), leave, tuple(self.ops))


class ExprMutator:
    """Changes a function: each method receives an editor and a node whose arguments are as they will be, and returns what
    takes the node's place: None for the node itself, another node, a list of nodes for one with several results, or
    `DROP`. The walk is native, as of an `ExprVisitor`.

    >>> import relais_onnx as relais
    >>> class Twice(relais.ExprMutator):
    ...     ops = ["Neg"]
    ...     def mutate_call(self, op, call):
    ...         return op.Relu(call.args[0])
    >>> print(Twice().mutate(relais.parse("def @main(%x) { %y = Neg(%x); %y }")["main"]).ops)
    ['Relu']
    """

    ops: ClassVar[Sequence[str]] = ()
    """The operators whose calls are offered. All if there are none."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        _spelled(cls, ExprMutator, "mutate_")

    def mutate_call(self, op: Editor, call: Node) -> Any:
        """A call."""

    def mutate_constant(self, op: Editor, constant: Node) -> Any:
        """A constant."""

    def mutate_if(self, op: Editor, conditional: Node) -> Any:
        """A conditional."""

    def mutate(self, function: Function) -> Function:
        """Returns the function after the changes; the same object if there are none."""
        if not isinstance(function, Function):
            raise TypeError(f"what is changed must be a Function, not `{type(function).__name__}`")
        methods = _methods(self, ExprMutator, "mutate_")
        with function.edit() as editor:
            nodes = editor.calls(*self.ops) if "call" in methods else []
            wanted = set(nodes) if self.ops else None
            for node in nodes if set(methods) <= {"call"} else editor.nodes:
                # Methods remove nodes that come later.
                if node not in editor or node.kind not in methods:
                    continue
                if node.kind == "call" and wanted is not None and node not in wanted:
                    continue
                new = methods[node.kind](editor, node)
                if new is DROP:
                    editor.remove(node)
                elif new is not None:
                    editor.replace(node, new)
        return editor.result()


def _spelled(subclass: type, base: type, prefix: str) -> None:
    """Refuses methods that would never be called, since no kind of nodes has their name."""
    kinds = [name.removeprefix(prefix) for name in vars(base) if name.startswith(prefix)]
    for name in dir(subclass):
        if name.startswith(prefix) and name.removeprefix(prefix) not in kinds:
            like = difflib.get_close_matches(name.removeprefix(prefix), kinds, 1)
            known = ", ".join(f"`{prefix}{kind}`" for kind in kinds)
            help = f"did you mean `{prefix}{like[0]}`?" if like else f"the methods are {known}"
            raise TypeError(f"`{subclass.__name__}.{name}` would never be called\n  help: {help}")


def _methods(visitor: Any, base: type, prefix: str) -> dict[str, Any]:
    """The methods that a subclass has, by the kinds of nodes."""
    if isinstance(visitor.ops, str):
        raise TypeError("`ops` must be a list of operators, not `str`")
    methods = {}
    for name in vars(base):
        if name.startswith(prefix) and getattr(type(visitor), name) is not getattr(base, name):
            methods[name.removeprefix(prefix)] = getattr(visitor, name)
    return methods

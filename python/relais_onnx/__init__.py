"""Relais, a pass host for neural-network models: smaller ONNX models with equal results.

>>> import relais_onnx as relais
>>> module = relais.parse('''
... def @main(%x: Tensor[(2, 3), float32]) -> (%y) #[opset = {"": 17}] {
...   %a = Identity(%x);
...   %y = Relu(%a);
...   %y
... }
... ''')
>>> relais.optimize(module)["main"].ops
['Relu']
"""

from __future__ import annotations

import atexit as _atexit
import importlib as _importlib
from types import ModuleType as _ModuleType
from typing import TYPE_CHECKING as _TYPE_CHECKING

from . import _native, errors, instrument, ir, passes, rewriter, testing, transform
from ._info import add_plugins, describe, list_instruments, list_passes, list_pipelines, list_plugins
from ._native import Diff, Editor, Function, Graph, IRModule, Node, Nodes, Tensor, __version__
from ._optimize import from_bytes, from_proto, load, optimize, parse
from .errors import (
    CheckFailed,
    ConfigError,
    ContextError,
    InstrumentError,
    ModelError,
    NotCheckedError,
    OutputError,
    PassFailed,
    PipelineError,
    PluginError,
    RelaisError,
    RuleError,
    StaleNodeError,
)
from .instrument import pass_instrument
from .ir import DROP, ExprMutator, ExprVisitor
from .rewriter import Const, rewrite, rule
from .transform import (
    Pass,
    PassContext,
    PassInfo,
    Sequential,
    function_pass,
    get_pass,
    module_pass,
    prim_func_pass,
    register_pass,
)

_atexit.register(_native.stop_runs)

if _TYPE_CHECKING:
    from . import compat as compat
    from . import zoo as zoo


def __getattr__(name: str) -> _ModuleType:
    # Others cost something that few programs need.
    if name in ("compat", "zoo"):
        return _importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module `{__name__}` has no attribute `{name}`", name=name)


def __dir__() -> list[str]:
    return sorted({*globals(), "compat", "zoo"})


Module = IRModule
Builder = Editor

__all__ = [
    "Builder",
    "CheckFailed",
    "ConfigError",
    "Const",
    "ContextError",
    "DROP",
    "Diff",
    "Editor",
    "ExprMutator",
    "ExprVisitor",
    "Function",
    "Graph",
    "IRModule",
    "InstrumentError",
    "ModelError",
    "Module",
    "Node",
    "Nodes",
    "NotCheckedError",
    "OutputError",
    "Pass",
    "PassContext",
    "PassFailed",
    "PassInfo",
    "PipelineError",
    "PluginError",
    "RelaisError",
    "RuleError",
    "Sequential",
    "StaleNodeError",
    "Tensor",
    "__version__",
    "add_plugins",
    "describe",
    "errors",
    "from_bytes",
    "from_proto",
    "function_pass",
    "get_pass",
    "instrument",
    "ir",
    "list_instruments",
    "list_passes",
    "list_pipelines",
    "list_plugins",
    "load",
    "module_pass",
    "optimize",
    "parse",
    "passes",
    "pass_instrument",
    "prim_func_pass",
    "register_pass",
    "rewrite",
    "rewriter",
    "rule",
    "testing",
    "transform",
]

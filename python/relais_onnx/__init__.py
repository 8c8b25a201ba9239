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
import sys as _sys
from types import ModuleType as _ModuleType
from typing import TYPE_CHECKING as _TYPE_CHECKING

if _sys.version_info < (3, 12):
    # Later ones refuse it by themselves; here, its threads would wait for ever when the interpreter ends.
    try:
        import _xxsubinterpreters as _interpreters  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        pass
    else:
        if _interpreters.get_current() != _interpreters.get_main():
            raise ImportError("relais_onnx cannot be used in sub-interpreters")

from . import _native, errors, instrument, ir, passes, rewriter, testing, transform
from ._info import (
    add_plugins,
    analysis,
    describe,
    list_analyses,
    register_analysis,
    unregister_analysis,
    list_instruments,
    list_passes,
    list_pipelines,
    list_plugins,
)
from ._native import Diff, Editor, Function, Graph, IRModule, Node, Nodes, Tensor, __version__
from ._optimize import from_bytes, from_proto, load, optimize, parse, pipeline
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
    RegistrationError,
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
    register_config,
    register_pass,
    unregister_config,
    unregister_pass,
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
    "RegistrationError",
    "RelaisError",
    "RuleError",
    "Sequential",
    "StaleNodeError",
    "Tensor",
    "__version__",
    "add_plugins",
    "analysis",
    "describe",
    "errors",
    "from_bytes",
    "from_proto",
    "function_pass",
    "get_pass",
    "instrument",
    "ir",
    "list_analyses",
    "list_instruments",
    "list_passes",
    "list_pipelines",
    "list_plugins",
    "load",
    "module_pass",
    "optimize",
    "parse",
    "passes",
    "pipeline",
    "pass_instrument",
    "prim_func_pass",
    "register_analysis",
    "register_config",
    "register_pass",
    "rewrite",
    "rewriter",
    "rule",
    "testing",
    "transform",
    "unregister_analysis",
    "unregister_config",
    "unregister_pass",
]

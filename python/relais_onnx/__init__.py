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

from . import errors, instrument, transform
from ._info import add_plugins, describe, list_passes, list_plugins
from ._native import Function, IRModule, Node, Tensor, __version__
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
    RelaisError,
    RuleError,
)
from .instrument import pass_instrument
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

Module = IRModule

__all__ = [
    "CheckFailed",
    "ConfigError",
    "ContextError",
    "Function",
    "IRModule",
    "InstrumentError",
    "ModelError",
    "Module",
    "Node",
    "NotCheckedError",
    "OutputError",
    "Pass",
    "PassContext",
    "PassFailed",
    "PassInfo",
    "PipelineError",
    "RelaisError",
    "RuleError",
    "Sequential",
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
    "list_passes",
    "list_plugins",
    "load",
    "module_pass",
    "optimize",
    "parse",
    "pass_instrument",
    "prim_func_pass",
    "register_pass",
    "transform",
]

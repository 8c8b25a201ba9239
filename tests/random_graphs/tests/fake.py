"""A program in the place of the binary under test: it writes the model that it is given, with a fault. `FAULT` says which."""

import os
import signal
import sys

import onnx

source, target = sys.argv[sys.argv.index("--no-reproducer") + 1], sys.argv[sys.argv.index("-o") + 1]
model = onnx.load(source, load_external_data=False)
match os.environ["FAULT"]:
    case "killed":
        os.kill(os.getpid(), signal.SIGSEGV)
    case "refused":
        sys.exit("error: not today")
    case "internal":
        sys.exit("error: internal error: what was written is not the model that was meant")
    case "untyped":
        model.graph.output[0].type.tensor_type.ClearField("elem_type")
    case "wrong":
        for node in model.graph.node:
            node.op_type = {"Relu": "Neg"}.get(node.op_type, node.op_type)
    case "lost":
        del model.graph.output[-1]
onnx.save(model, target)

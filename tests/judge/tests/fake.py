"""A stand-in for `relais run MODEL -o OUT …` that does one thing wrong, named by its first argument."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import onnx
from onnx import ModelProto, numpy_helper


def copy(model: ModelProto) -> None:
    """Re-serialises, and changes nothing that matters to a caller."""
    model.producer_name = "fake"


def reserialise(model: ModelProto) -> None:
    pass


def drop_relu(model: ModelProto) -> None:
    drop(model, "Relu")


def drop_batch_norm(model: ModelProto) -> None:
    drop(model, "BatchNormalization")


def drop(model: ModelProto, op: str) -> None:
    """Takes the last node of a kind out."""
    node = [node for node in model.graph.node if node.op_type == op][-1]
    node.CopyFrom(onnx.helper.make_node("Identity", [node.input[0]], [node.output[0]]))


def rename_output(model: ModelProto) -> None:
    old = model.graph.output[0].name
    model.graph.output[0].name = "renamed"
    for node in model.graph.node:
        node.input[:] = ["renamed" if name == old else name for name in node.input]
        node.output[:] = ["renamed" if name == old else name for name in node.output]


def rename_input(model: ModelProto) -> None:
    old = model.graph.input[0].name
    model.graph.input[0].name = "renamed"
    for node in model.graph.node:
        node.input[:] = ["renamed" if name == old else name for name in node.input]


def swap_outputs(model: ModelProto) -> None:
    outputs = list(model.graph.output)[::-1]
    del model.graph.output[:]
    model.graph.output.extend(outputs)


def fix_dimension(model: ModelProto) -> None:
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 2


def nudge_weight(model: ModelProto) -> None:
    for tensor in model.graph.initializer:
        if tensor.data_type == onnx.TensorProto.FLOAT:
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor) + 1e-2, tensor.name))


def undefined_name(model: ModelProto) -> None:
    model.graph.node[0].input[0] = "nobody"


def unsupported_type(model: ModelProto) -> None:
    """The last node becomes one that is defined for texts only."""
    node = model.graph.node[-1]
    node.CopyFrom(onnx.helper.make_node("StringNormalizer", [node.input[0]], [node.output[0]]))


def no_kernel(model: ModelProto) -> None:
    """The last node becomes one that nobody has."""
    model.graph.node[-1].domain = "org.example"
    model.opset_import.append(onnx.helper.make_opsetid("org.example", 1))


def bump_opset(model: ModelProto) -> None:
    model.opset_import[0].version += 1


def drop_doc_string(model: ModelProto) -> None:
    model.graph.ClearField("doc_string")


def swap_nodes(model: ModelProto) -> None:
    first, second = ModelProto().graph.node.add(), ModelProto().graph.node.add()
    first.CopyFrom(model.graph.node[0])
    second.CopyFrom(model.graph.node[1])
    model.graph.node[0].CopyFrom(second)
    model.graph.node[1].CopyFrom(first)


def grow_graph(model: ModelProto) -> None:
    model.graph.node.append(onnx.helper.make_node("Identity", [model.graph.input[0].name], ["unused"]))


def grow(model: ModelProto) -> None:
    model.doc_string = "x" * 1000


def move_data(source: Path, target: Path, *, damaged: int = 0) -> None:
    """Writes external data into one new file beside the result, a byte of it changed if asked for."""
    parsed = onnx.load(source)
    onnx.save(parsed, target, save_as_external_data=True, location=f"{target.name}.data", size_threshold=0)
    data = target.with_name(f"{target.name}.data")
    content = bytearray(data.read_bytes())
    content[0] ^= damaged
    data.write_bytes(content)


EDITS: dict[str, Callable[[ModelProto], None]] = {
    edit.__name__: edit
    for edit in (
        copy,
        reserialise,
        drop_relu,
        drop_batch_norm,
        rename_output,
        rename_input,
        swap_outputs,
        fix_dimension,
        nudge_weight,
        undefined_name,
        unsupported_type,
        no_kernel,
        bump_opset,
        drop_doc_string,
        swap_nodes,
        grow,
        grow_graph,
    )
}


def main() -> int:
    mode, _, model, _, out = sys.argv[1:6]
    source, target = Path(model), Path(out)
    if mode == "verbatim":
        target.write_bytes(source.read_bytes())
    elif mode == "garbage":
        target.write_bytes(b"\xff" * 100)
    elif mode == "exit_3":
        print("no such pass", file=sys.stderr)
        return 3
    elif mode == "exit_3_with_file":
        target.write_bytes(source.read_bytes())
        return 3
    elif mode == "segfault":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif mode == "hang":
        time.sleep(600)
    elif mode == "touch_input":
        target.write_bytes(source.read_bytes())
        source.write_bytes(source.read_bytes())
    elif mode == "move_data":
        move_data(source, target)
    elif mode == "damage_data":
        move_data(source, target, damaged=1)
    elif mode in EDITS:
        parsed = onnx.load(source, load_external_data=False)
        EDITS[mode](parsed)
        target.write_bytes(parsed.SerializeToString())
    elif mode != "write_nothing":
        raise ValueError(mode)
    return 0


if __name__ == "__main__":
    sys.exit(main())

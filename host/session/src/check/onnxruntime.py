"""Runs a model in onnxruntime as it is: MODEL INPUTS.npz OUTPUTS.npz. Ends early where standard input does."""

import os
import sys
import threading

import numpy
import onnxruntime


def end_with_relais():
    os.read(0, 1)
    os._exit(1)


threading.Thread(target=end_with_relais, daemon=True).start()
model, inputs, outputs = sys.argv[1:]
options = onnxruntime.SessionOptions()
options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
options.log_severity_level = 4
try:
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    with numpy.load(inputs) as arrays:
        feed = {name: arrays[name] for name in arrays.files}
    # Strings are objects there, which would be pickled.
    feed = {name: array.astype(object) if array.dtype.kind == "U" else array for name, array in feed.items()}
    values = session.run(None, feed)
except Exception as error:  # Of onnxruntime, which has many kinds of them.
    sys.exit(" ".join(str(error).split()))
forms, arrays = [], []
for output, value in zip(session.get_outputs(), values):
    items = value if isinstance(value, list) else [] if value is None else [value]
    if not all(isinstance(item, numpy.ndarray) for item in items):
        sys.exit(f"output `{output.name}` does not consist of tensors")
    forms.append(-2 if value is None else len(items) if isinstance(value, list) else -1)
    arrays += [item.astype(str) if item.dtype == object else item for item in items]
arrays = {f"{at:09}": array for at, array in enumerate([numpy.array(forms, numpy.int64), *arrays])}
numpy.savez(outputs, **arrays)

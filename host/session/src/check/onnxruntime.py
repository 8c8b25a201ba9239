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
    values = session.run(None, feed)
except Exception as error:  # Of onnxruntime, which has many kinds of them.
    sys.exit(" ".join(str(error).split()))
for output, value in zip(session.get_outputs(), values):
    if not isinstance(value, numpy.ndarray):
        sys.exit(f"output `{output.name}` is not a tensor")
# Strings arrive as objects, which would be pickled.
arrays = [value.astype(str) if value.dtype == object else value for value in values]
numpy.savez(outputs, **{f"{at:09}": array for at, array in enumerate(arrays)})

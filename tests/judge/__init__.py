"""Judges the `relais` binary from outside, with the `onnx` package and onnxruntime as the authorities.

Run it as `python -m judge COMMAND` with the folder that holds this package on the path. Every command exits with a
status other than 0 if anything failed, prints one line per failing case, and ends with `N passed, N failed`.
"""

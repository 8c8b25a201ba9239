//! Reading and writing ONNX.

//! Exact evaluators of ONNX operators, for constant folding.

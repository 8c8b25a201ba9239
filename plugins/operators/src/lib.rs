//! ONNX operators: schemas, type relations, effects and pattern kinds.

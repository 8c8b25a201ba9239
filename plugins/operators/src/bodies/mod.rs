//! Operators in terms of others, as ONNX defines or describes them.
//!
//! Few bodies are right for every call. The others depend on attributes, on which arguments are there, on their element
//! types or ranks, or on the version of the operator set, in which the operators of the body take their arguments in
//! another way: functions make them for a call. They are written for the version of the call.

pub mod activation;
pub mod attention;
pub mod cast;
pub mod compare;
pub mod conv;
pub mod create;
pub mod image;
pub mod loss;
pub mod movement;
pub mod normalize;
pub mod pad;
pub mod quantize;
pub mod random;
pub mod reduce;
mod shared;
pub mod signal;
pub mod softmax;

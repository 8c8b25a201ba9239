//! The arithmetic of ONNX operators, as pure functions of numbers: what their evaluators, kernels, bodies, gradients and
//! type relations have in common, so that it is written once.
//!
//! It knows nothing of modules, calls or tensors. A file is named after the family of operators that it serves, as the
//! files of their parts are; `window` serves convolutions and pooling.
//!
//! ```
//! use relais_operator_math::{defaults, window::AutoPad};
//!
//! // Before version 6, `Selu` had rounded coefficients.
//! assert_eq!(defaults::float("Selu", "alpha", 1), Some(1.6732));
//! assert_eq!(defaults::float("Selu", "alpha", 22), Some(1.673_263_2));
//! assert_eq!(AutoPad::SameLower.split(3), (2, 1));
//! ```

pub mod activation;
pub mod create;
pub mod defaults;
pub mod join;
pub mod math;
pub mod movement;
pub mod pad;
pub mod recurrent;
pub mod reshape;
pub mod resize;
pub mod signal;
pub mod window;

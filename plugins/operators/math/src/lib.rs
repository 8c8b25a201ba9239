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
//!
//! # Modules
//!
//! Each uses only those listed before it; one that is not listed is used by no other.
//!
//! 1. `activation`: activation functions and their coefficients
//! 2. `create`: tensors made of numbers
//! 3. `defaults`: the default values of attributes of ONNX's own operators, by version
//! 4. `join`: tensors joined and split
//! 5. `movement`: elements moved
//! 6. `pad`: borders
//! 7. `recurrent`: recurrent networks: the equations of a step, and the functions in them
//! 8. `reshape`: shapes
//! 9. `resize`: resizing by interpolation, one axis after another
//! 10. `signal`: windows of signals: a constant less a cosine of one turn, and a cosine of two turns, each with a
//!     weight
//! 11. `window`: windows that slide over spatial axes, of convolutions and pooling

pub mod activation;
pub mod create;
pub mod defaults;
pub mod join;
pub mod movement;
pub mod pad;
pub mod recurrent;
pub mod reshape;
pub mod resize;
pub mod signal;
pub mod window;

//! Gradients of functions: reverse-mode differentiation. The gradients of operators come from their records.
//!
//! # Modules
//!
//! Each uses only those listed before it; one that is not listed is used by no other.
//!
//! 1. `activity`: which values depend on those that a gradient is with respect to, in a way that can have a gradient
//! 2. `expand`: bodies in the places of calls that have no gradient of their own: of functions of the module, and of
//!    operators
//! 3. `reverse`: reverse-mode differentiation: the bindings of a function in reverse order, each with the gradients
//!    of its results
//! 4. `first_order_gradient`: makes a function that returns the results of another one, and the gradients of their
//!    sum

use relais_plugin_api::prelude::*;

mod activity;
mod expand;
pub mod first_order_gradient;
mod reverse;

plugin! { description = "Gradients of functions." }

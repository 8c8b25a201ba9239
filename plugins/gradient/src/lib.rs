//! Gradients of functions: reverse-mode differentiation. The gradients of operators come from their records.

use relais_plugin_api::prelude::*;

mod activity;
mod expand;
pub mod first_order_gradient;
mod reverse;

plugin! { description = "Gradients of functions." }

//! Functions for the relations of several families.

pub mod elementwise;
pub mod util;
pub mod values;
pub mod window;

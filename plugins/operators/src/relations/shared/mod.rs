//! What the relations of several families use.

pub mod elementwise;
pub mod util;
pub mod values;
pub mod window;

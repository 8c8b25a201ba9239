//! What the end-to-end tests share.

pub mod interpret;
mod reference;

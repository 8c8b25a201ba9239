//! Rules that are judged before they are used, by the conformance kit.

mod bench;
mod judge;

pub use bench::{Registered, not_made};
pub use judge::{Unsound, judge, judge_one};

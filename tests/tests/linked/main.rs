//! The tests that have plugins linked into them which lie and fail: apart, so that no other test sees those.

mod conformance;
mod properties;

//! x
use crate::pipeline::OptionSchema;
pub const BUILT_IN_INSTRUMENTS: &[&str] = &["timing", "verifier"];
pub fn built_in_instrument(name: &str) -> Option<Vec<OptionSchema>> {
    BUILT_IN_INSTRUMENTS.contains(&name).then(Vec::new)
}

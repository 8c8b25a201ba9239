//! Type relations, by hand. A relation returns what holds for every run of a valid call: when in doubt, nothing.

pub mod control;
pub mod conv;
pub mod create;
pub mod elementwise;
pub mod index;
pub mod join;
pub mod matmul;
pub mod misc;
pub mod ml;
pub mod normalize;
pub mod pool;
pub mod quantize;
pub mod recurrent;
pub mod reduce;
pub mod sequence;
pub mod shape;
pub mod slice;
pub mod spatial;
pub mod util;
pub mod values;

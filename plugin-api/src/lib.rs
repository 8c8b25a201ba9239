//! Everything a Relais plugin depends on.

pub mod boundary;
#[cfg(feature = "conformance")]
pub mod conformance;
pub mod context;
pub mod diagnostics;
pub mod infer;
pub mod instrument;
pub mod ir;
pub mod op;
pub mod options;
pub mod pass;
pub mod prelude;
pub mod rewrite;
pub mod testing;
pub mod text;

#[cfg(test)]
mod properties;
#[cfg(any(test, feature = "conformance"))]
mod random;

/// What the macros expand to. Nothing here is for authors, and nothing here is stable.
#[doc(hidden)]
pub mod __private {
    pub use crate::{
        boundary::{
            entry::{Item, PassImpl, PluginImpl, Registration, create, lib_header, root},
            fingerprint::FINGERPRINT,
            instrument::{InstrumentImpl, create as create_instrument},
            record::{InstrumentSpec, Level, PassSpec, PluginSpec, Spec, StatisticSpec, pass_flag},
        },
        op::{Evaluator, Operator},
        options::{ChoiceSpec, DefaultSpec, OptionKind, OptionSpec, OptionType, PassOptions, Value, field},
        pass::{REWRITES, drive},
        rewrite::DriveOptions,
    };
    pub use abi_stable::library::LibHeader;
    pub use inventory;
}

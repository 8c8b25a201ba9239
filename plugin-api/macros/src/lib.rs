//! The macros of `relais-plugin-api`. Use them through its prelude.

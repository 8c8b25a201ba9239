//! Finding, judging and opening plugins.

//! The parser, the printer and the checks.

mod hostile;
mod page;
mod pairs;

//! The tests of reading and writing ONNX: one program, so that there is one thing to link.

mod common;
mod edits;
mod external;
mod forms;
mod hostile;
mod names;
mod written;

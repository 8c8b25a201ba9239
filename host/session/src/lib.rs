//! The room of a run, which the front ends of Relais share: requests in, results out.
//!
//! A [`Request`] says what is asked, as data. A [`Session`] has the plugins, reads the model, makes it ready, resolves the
//! pipeline, judges its rules, runs it, checks the result, writes it and reports; nothing else knows these steps and their
//! order. The result is [`Finished`] or [`Stopped`], again as data: the command line prints words of it, the Python
//! package makes objects and exceptions.
//!
//! ```no_run
//! use relais_session::{Request, Search, Session};
//!
//! let session = Session::new(&Search::default())?;
//! match session.run(&Request::file("model.onnx").to("smaller.onnx")) {
//!     Ok(finished) => println!("{:?}", finished.course.elapsed),
//!     Err(stopped) => println!("error: {}", stopped.error),
//! }
//! # Ok::<(), relais_session::Error>(())
//! ```

mod argument;
pub mod check;
mod error;
mod listener;
pub mod many;
pub mod model;
pub mod npz;
mod outputs;
pub mod pipeline;
mod plugins;
mod reproducers;
mod request;
mod result;
pub mod rules;
mod session;

pub use argument::Argument;
pub use error::Error;
pub use listener::{Listener, Notice, Silent};
pub use outputs::Outputs;
pub use plugins::{Search, user_dir};
pub use request::{Counts, Failures, Given, Judging, Output, Reproducers, Request};
pub use result::{Cause, Course, Finished, Stopped};
pub use session::{JudgedRules, OwnPass, Session, library};

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
//!
//! # Modules
//!
//! Each uses only those listed before it; one that is not listed is used by no other.
//!
//! 1. `argument`: values with the words by which they were given
//! 2. `error`: errors as users see them
//! 3. `listener`: notices about a request, and those that receive them
//! 4. `model`: models, and what users ask of them: reading and writing, shapes of inputs, parts, calls that stay
//! 5. `npz`: files of NumPy, with one array or with several by name
//! 6. `check`: comparing models by running them on the same inputs
//! 7. `many`: many models: a folder of results, a journal from which a run that was killed goes on, and a cache
//! 8. `outputs`: the outputs of a request, checked before anything is done: no file that it names is lost
//! 9. `pipeline`: pipelines that users ask for: by name, by level or by passes, with rules, options and instruments
//! 10. `plugins`: where plugins are looked for
//! 11. `request`: requests: what is asked, as data
//! 12. `reproducers`: reproducers of failing passes
//! 13. `rules`: judging rules before they are used
//! 14. `result`: the results of requests
//! 15. `session`: dealing with requests: the one place that knows the steps of a run and their order

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
pub use request::{Counts, Failures, Judging, ModelSource, OutputRequest, Reproducers, Request};
pub use result::{Course, Finished, StopCause, Stopped};
pub use session::{JudgedRules, OwnPass, Session, library};

//! Running a program to its end.

use std::{
    process::{Command, Output},
    time::{Duration, Instant},
};

/// How a run ended.
#[derive(Debug)]
pub struct Run {
    /// The exit status; `None` when a signal ended it.
    pub status: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// How long it took.
    pub time: Duration,
}

impl Run {
    /// Starts a command and waits for it.
    ///
    /// # Panics
    /// Panics if it cannot be started.
    pub fn of(command: &mut Command) -> Self {
        let start = Instant::now();
        let Output { status, stdout, stderr } =
            command.output().unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Self { status: status.code(), stdout: text(stdout), stderr: text(stderr), time: start.elapsed() }
    }

    /// The same run, which must have succeeded.
    ///
    /// # Panics
    /// Panics if it failed, with its output.
    #[track_caller]
    pub fn expect_success(self) -> Self {
        assert!(self.status == Some(0), "the run failed ({:?}):\n{}{}", self.status, self.stdout, self.stderr);
        self
    }

    /// The same run, which must have failed with status 1, as runs do for reasons that they can name.
    ///
    /// # Panics
    /// Panics if it ended in another way, with its output.
    #[track_caller]
    pub fn expect_failure(self) -> Self {
        assert!(self.status == Some(1), "the run did not fail ({:?}):\n{}{}", self.status, self.stdout, self.stderr);
        self
    }
}

//! Progress on standard error, when that is a terminal and the run takes a while.

use super::{args::Verbosity, terminal};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use relais::{
    instruments::{Output, StandardError},
    manager,
    pass::PassMessage,
};
use relais_session::{Listener, Notice};
use std::{
    io::{IsTerminal, stderr},
    sync::{
        Arc,
        mpsc::{RecvTimeoutError, Sender, channel},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

/// Runs shorter than this show nothing.
const PATIENCE: Duration = Duration::from_millis(500);

/// A line that says which pass runs. Notices are printed as they come.
pub(crate) struct Progress {
    verbosity: Verbosity,
    bar: ProgressBar,
    /// Stops the thread that shows the line after a while.
    done: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    pub fn new(verbosity: Verbosity) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        if verbosity == Verbosity::Quiet || !stderr().is_terminal() {
            return Self { verbosity, bar, done: None };
        }
        let style = ProgressStyle::with_template("{spinner} {elapsed} {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        let (sender, receiver) = channel();
        let shown = bar.clone();
        let thread = thread::spawn(move || {
            if receiver.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                shown.set_draw_target(ProgressDrawTarget::stderr());
                shown.enable_steady_tick(Duration::from_millis(100));
            }
        });
        Self { verbosity, bar, done: Some((sender, thread)) }
    }

    /// Takes lines of text while the line is shown.
    pub fn print(&self, text: &str) {
        AroundLine(self.bar.clone()).print(text);
    }

    pub fn says(&self, message: impl Into<String>) {
        self.bar.set_message(message.into());
    }
}

/// Standard error, the line taken away while something is printed.
struct AroundLine(ProgressBar);

impl Output for AroundLine {
    fn print(&self, text: &str) {
        self.0.suspend(|| StandardError.print(text));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((sender, thread)) = self.done.take() {
            // Either it waits and receives this, or it has shown the line and is gone.
            let _ = sender.send(());
            let _ = thread.join();
        }
        self.bar.finish_and_clear();
    }
}

impl Listener for Progress {
    fn notice(&self, notice: &Notice) {
        if self.verbosity > Verbosity::Quiet {
            self.bar.suspend(|| terminal::notice(notice));
        }
    }

    fn begins(&self, work: &str) {
        self.says(work);
    }

    fn progress(&self) -> Option<&dyn manager::Progress> {
        Some(self)
    }

    fn output(&self) -> Option<Arc<dyn Output>> {
        Some(Arc::new(AroundLine(self.bar.clone())))
    }
}

impl manager::Progress for Progress {
    fn begins(&self, pass: &str) {
        self.says(pass);
    }

    fn is_at(&self, done: u64, total: u64) {
        self.bar.set_length(total);
        self.bar.set_position(done);
    }

    /// Prints at once what a pass printed: it may be all that there is of a run that does not end.
    fn said(&self, said: &PassMessage) {
        if said.is_printed() {
            self.bar.suspend(|| terminal::said(said));
        }
    }
}

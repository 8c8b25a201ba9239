//! Where instruments print.

use std::io::Write;

/// Receives the output of instruments while passes run.
pub trait Output: Send + Sync {
    /// Takes a text of whole lines, with ANSI styles.
    fn print(&self, text: &str);
}

/// Standard error, coloured where that is a terminal and `NO_COLOR` is not set.
#[derive(Clone, Copy, Debug, Default)]
pub struct StandardError;

impl Output for StandardError {
    fn print(&self, text: &str) {
        // Nothing can be reported when standard error is gone.
        let _ = anstream::stderr().lock().write_all(text.as_bytes());
    }
}

/// Keeps the output, for tests.
#[cfg(test)]
#[derive(Default)]
pub(crate) struct Kept(std::sync::Mutex<String>);

#[cfg(test)]
impl Kept {
    /// Returns the output, without styles.
    pub fn text(&self) -> String {
        anstream::adapter::strip_str(&self.0.lock().unwrap()).to_string()
    }

    /// Returns the output.
    pub fn styled(&self) -> String {
        self.0.lock().unwrap().clone()
    }
}

#[cfg(test)]
impl Output for Kept {
    fn print(&self, text: &str) {
        self.0.lock().unwrap().push_str(text);
    }
}

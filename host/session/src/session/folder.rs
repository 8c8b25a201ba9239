//! The working folder, which plugins may change.

use std::{env, path::PathBuf};

/// The working folder when a request arrived: the paths in it start there.
pub(super) struct Folder(Option<PathBuf>);

impl Folder {
    pub fn here() -> Self {
        Self(env::current_dir().ok())
    }

    /// Does something that runs code of plugins, and goes back to the folder.
    pub fn after<T>(&self, work: impl FnOnce() -> T) -> T {
        let done = work();
        if let Some(here) = &self.0
            && env::current_dir().ok().as_ref() != Some(here)
        {
            // If this fails, so will what is written.
            let _ = env::set_current_dir(here);
        }
        done
    }
}

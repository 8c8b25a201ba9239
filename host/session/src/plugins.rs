//! Where plugins are looked for.

use crate::error::Error;
use etcetera::BaseStrategy;
use relais::{
    plugin::{Discovery, Policy, SearchDir, discover},
    registry::described,
};
use std::{
    env,
    path::{Path, PathBuf},
};

/// A search for plugins, as a user asks for it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Search {
    /// The folder of a program that comes with plugins; none for one that does not, such as an interpreter.
    pub beside: Option<PathBuf>,
    /// Folders that the user named.
    pub dirs: Vec<PathBuf>,
    /// Plugins that the user named.
    pub files: Vec<PathBuf>,
    /// How careful to be.
    pub policy: Policy,
}

impl Search {
    /// The folders to look in, in order: the program's, the user's own, those of `RELAIS_PLUGIN_PATH`, and those that
    /// the user named.
    pub fn folders(&self) -> Vec<SearchDir> {
        let listed = env::var_os("RELAIS_PLUGIN_PATH");
        SearchDir::standard(self.beside.as_deref(), user_dir().as_deref(), listed.as_deref(), &self.dirs)
    }

    /// Looks for plugins. Nothing of a plugin is run, except programs without a file of records: each of them says in a process
    /// of its own what it has.
    ///
    /// # Errors
    /// Returns an error if a plugin or folder that the user named cannot be used.
    pub fn find(&self) -> Result<Discovery, Error> {
        self.checked(described(discover(&self.folders(), &self.files, self.policy)))
    }

    /// The same without programs that would have to say what they have: nothing is run.
    ///
    /// # Errors
    /// As for [`find`](Self::find).
    pub fn find_described(&self) -> Result<Discovery, Error> {
        let found = discover(&self.folders(), &self.files, self.policy);
        self.checked(Discovery { programs: Vec::new(), ..found })
    }

    fn checked(&self, found: Discovery) -> Result<Discovery, Error> {
        let is_named = |path: &Path| self.files.iter().chain(&self.dirs).any(|named| named == path);
        match found.refused.iter().find(|refused| is_named(&refused.path)) {
            None => Ok(found),
            Some(refused) => {
                let error = format!("plugin `{}` is not used: {}", refused.path.display(), refused.refusal);
                Err(refused.refusal.help().into_iter().fold(Error::new(error), Error::with_help))
            }
        }
    }
}

/// The user's own folder of plugins: in `RELAIS_HOME`, otherwise where the system keeps the data of programs for each
/// user. `None` for a user without a home.
pub fn user_dir() -> Option<PathBuf> {
    let home = env::var_os("RELAIS_HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    let home = home.or_else(|| Some(etcetera::choose_base_strategy().ok()?.data_dir().join("relais")))?;
    Some(home.join("plugins"))
}

//! Many models: a folder of results, a journal from which a run that was killed goes on, and a cache by what results depend
//! on.
//!
//! [`Many`] holds the folder. Each [`Job`] becomes a [`ModelRow`], in this process or in another one, and the rows are noted as
//! they come.

mod cache;
mod job;
mod journal;
mod row;

pub use cache::{FolderStore, Store};
pub use job::{Job, Retry, Runner};
pub use row::{ModelRow, table};

use crate::error::Error;
use journal::Journal;
use relais::files::{Existing, write};
use serde_json::Value;
use std::{
    collections::BTreeSet,
    fmt, fs, io,
    path::{Component, Path, PathBuf},
    str::FromStr,
    sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc::channel,
    },
    thread,
};

/// Models that are to be run, and the folder of their results.
#[derive(Clone, Debug, Default)]
pub struct ManyRequest {
    /// The files of the models.
    pub models: Vec<PathBuf>,
    /// The folder of the results: each is at the path of its model below the folder that all models have in common.
    pub folder: PathBuf,
    /// The part of the models that is run; all of them by default.
    pub shard: Option<Shard>,
    /// Whether models are run again that failed.
    pub retry: Retry,
    /// Everything but the model on which a result depends, as a hash.
    pub stated: String,
}

/// A part of several.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shard {
    /// Its number, from 1 on.
    pub at: usize,
    /// How many there are.
    pub of: usize,
}

impl Shard {
    /// Whether the model at an index belongs to it; no model belongs to a part that does not exist.
    pub fn has(self, index: usize) -> bool {
        index.checked_rem(self.of).is_some_and(|rest| rest + 1 == self.at)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/').and_then(|(at, of)| Some((at.parse().ok()?, of.parse().ok()?)));
        match parts {
            Some((at, of)) if 1 <= at && at <= of => Ok(Self { at, of }),
            _ => Err("a part and how many there are are expected, such as `2/4`".to_owned()),
        }
    }
}

/// Why many models are not run.
#[derive(Debug)]
#[non_exhaustive]
pub enum ManyError {
    /// A model is in the folder of the results.
    Inside(PathBuf),
    /// Another run writes into the folder.
    Busy(PathBuf),
    /// A file or folder cannot be written.
    Io(PathBuf, io::Error),
}

impl ManyError {
    /// The words about it.
    pub fn error(&self) -> Error {
        let error = Error::new(self);
        match self {
            Self::Inside(_) => error.with_help("name another folder: `--out-dir FOLDER`"),
            Self::Busy(_) => {
                error.with_help("let it end, or divide the models among runs: `--shard 1/2`, `--shard 2/2`")
            }
            Self::Io(..) => error,
        }
    }
}

impl fmt::Display for ManyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inside(model) => write!(f, "model `{}` is in the folder of the results", model.display()),
            Self::Busy(folder) => write!(f, "another run writes into `{}`", folder.display()),
            Self::Io(path, error) => write!(f, "`{}` cannot be written: {error}", path.display()),
        }
    }
}

impl std::error::Error for ManyError {}

/// A run over many models. No other run writes into its folder as long as it lasts.
pub struct Many {
    jobs: Vec<Job>,
    journal: Journal,
    journal_file: PathBuf,
    results: PathBuf,
    work: PathBuf,
}

impl Many {
    /// Makes the folder, and reads what an earlier run left there.
    ///
    /// # Errors
    /// Returns an error if the folder has models that are given, or cannot be written.
    pub fn begin(request: &ManyRequest) -> Result<Self, ManyError> {
        let ManyRequest { folder, shard, .. } = request;
        let models = models(request)?;
        let ending = shard.map_or_else(String::new, |Shard { at, of }| format!("-{at}-of-{of}"));
        let work = folder.join(format!(".relais-work{ending}"));
        let journal_file = folder.join(format!("relais-journal{ending}.jsonl"));
        let failed = |path: &Path| {
            let path = path.to_owned();
            |error| ManyError::Io(path, error)
        };
        fs::create_dir_all(folder).map_err(failed(folder))?;
        let journal = Journal::open(&journal_file).map_err(failed(&journal_file))?;
        let journal = journal.ok_or_else(|| ManyError::Busy(folder.clone()))?;
        // Of a run that was killed.
        let _ = fs::remove_dir_all(&work);
        fs::create_dir_all(&work).map_err(failed(&work))?;
        let job = |(path, model): (PathBuf, PathBuf)| {
            let mut job = Job {
                target: folder.join(&path),
                work: work.clone(),
                stated: request.stated.clone(),
                known: None,
                retry: request.retry,
                path,
                model,
            };
            job.known = journal.known.get(&job.name()).cloned();
            job
        };
        let own = models.into_iter().enumerate().filter(|(at, _)| shard.is_none_or(|shard| shard.has(*at)));
        let jobs = own.map(|(_, model)| job(model)).collect();
        let results = folder.join(format!("relais-results{ending}.json"));
        Ok(Self { jobs, journal, journal_file, results, work })
    }

    /// The models, in order.
    pub fn jobs(&self) -> &[Job] {
        &self.jobs
    }

    /// The file of the results.
    pub fn results(&self) -> &Path {
        &self.results
    }

    /// Whether the journal has a row from an earlier run.
    pub fn has(&self, row: &ModelRow) -> bool {
        self.journal.known.get(&row.model).is_some_and(|known| known.to_json() == row.to_json())
    }

    /// Notes a row in the journal, unless it is from there.
    ///
    /// # Errors
    /// Returns an error if the journal cannot be written.
    pub fn note(&mut self, row: &ModelRow) -> Result<(), ManyError> {
        if row.is_known {
            return Ok(());
        }
        self.journal.add(row).map_err(|error| ManyError::Io(self.journal_file.clone(), error))
    }

    /// Runs all models, `n_workers` at a time but at least one, and notes their rows; `hear` gets each row as it comes. Returns the rows in the
    /// order of the models.
    ///
    /// # Errors
    /// Returns an error if the journal cannot be written. No other model is begun then.
    pub fn run(
        &mut self,
        n_workers: usize,
        runner: &dyn Runner,
        store: Option<&dyn Store>,
        mut hear: impl FnMut(&ModelRow),
    ) -> Result<Vec<ModelRow>, ManyError> {
        let jobs = self.jobs.clone();
        let next = AtomicUsize::new(0);
        let mut rows: Vec<Option<ModelRow>> = vec![None; jobs.len()];
        let mut noted = Ok(());
        thread::scope(|scope| {
            let (sender, receiver) = channel();
            for _ in 0..n_workers.clamp(1, jobs.len().max(1)) {
                let (sender, jobs, next) = (sender.clone(), &jobs, &next);
                scope.spawn(move || {
                    loop {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        let Some(job) = jobs.get(at) else { break };
                        if sender.send((at, job.outcome(runner, store))).is_err() {
                            break;
                        }
                    }
                });
            }
            drop(sender);
            for (at, row) in receiver {
                if noted.is_ok() {
                    noted = self.note(&row);
                }
                if noted.is_err() {
                    next.store(jobs.len(), Ordering::Relaxed);
                }
                hear(&row);
                rows[at] = Some(row);
            }
        });
        noted.map(|()| rows.into_iter().flatten().collect())
    }

    /// Writes the results.
    ///
    /// # Errors
    /// Returns an error if they cannot be written.
    pub fn finish(self, rows: &[ModelRow]) -> Result<(), Error> {
        let values: Vec<Value> = rows.iter().map(ModelRow::to_json).collect();
        let text = serde_json::to_string_pretty(&values).unwrap_or_default() + "\n";
        let written = write(&self.results, Existing::Replace, text.as_bytes());
        written.map_err(|error| Error::new(error.of("the results")).with_help(error.help()))
    }
}

/// Nothing is left of what was not finished.
impl Drop for Many {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.work);
    }
}

/// The models in order, each once: the path below the folder that all have in common, and the file.
fn models(request: &ManyRequest) -> Result<Vec<(PathBuf, PathBuf)>, ManyError> {
    // The name of a model is its own, wherever a link of that name leads.
    let models: BTreeSet<PathBuf> = request
        .models
        .iter()
        .map(|model| std::path::absolute(model).unwrap_or_else(|_| model.clone()))
        .map(|model| match (model.parent(), model.file_name()) {
            (Some(parent), Some(name)) => resolved(parent).join(name),
            _ => resolved(&model),
        })
        .collect();
    let folder = resolved(&request.folder);
    let mut common = models.first().and_then(|first| first.parent()).unwrap_or(Path::new("")).to_owned();
    for model in &models {
        if model.starts_with(&folder) {
            return Err(ManyError::Inside(model.clone()));
        }
        while !model.starts_with(&common) {
            common.pop();
        }
    }
    let path = |model: &Path| model.strip_prefix(&common).unwrap_or(model).to_owned();
    Ok(models.into_iter().map(|model| (path(&model), model)).collect())
}

/// A folder by its own name, without links and `..`; it need not exist.
fn resolved(folder: &Path) -> PathBuf {
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let mut there = PathBuf::new();
    for part in folder.components() {
        match part {
            Component::ParentDir => drop(there.pop()),
            part => there.push(part),
        }
        // A name that does not exist cannot be a link.
        there = there.canonicalize().unwrap_or(there);
    }
    there
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_belongs_to_one_part_and_to_none_that_is_not_there() {
        let parts = |index| (1..=3).filter(|&at| Shard { at, of: 3 }.has(index)).collect::<Vec<_>>();
        assert_eq!([0, 1, 2, 3].map(parts), [[1], [2], [3], [1]]);
        assert!([(0, 0), (1, 0), (0, 3), (4, 3)].into_iter().all(|(at, of)| !Shard { at, of }.has(0)));
    }
}

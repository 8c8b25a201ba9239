//! One of many models, from its file to its row. All that another process needs for it is in the job.

use super::{
    cache::{Cache, Store},
    row::ModelRow,
};
use crate::{error::Error, model::Model};
use relais::{
    onnx::data_files,
    plugin::{sha256_of, sha256_of_bytes},
};
use serde_json::{Value, json};
use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    time::Instant,
};

/// A model that is to be run.
#[derive(Clone, PartialEq, Debug)]
pub struct Job {
    /// Its path below the folder that all models have in common.
    pub path: PathBuf,
    /// Its file.
    pub model: PathBuf,
    /// The file of its result.
    pub target: PathBuf,
    /// The folder of results that are not finished.
    pub work: PathBuf,
    /// Everything but the model on which the result depends, as a hash.
    pub stated: String,
    /// The row that an earlier run left.
    pub known: Option<ModelRow>,
    /// Whether it is run again if it failed then.
    pub retry: Retry,
}

/// Whether models are run again that failed in an earlier run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Retry {
    /// They are not.
    #[default]
    No,
    /// They are.
    Yes,
}

/// Runs the model of a job, and leaves the files of the result in a folder.
pub trait Runner: Sync {
    /// Runs a model, which was read, and writes its result into an empty folder under the name of the job's target. Returns
    /// how many nodes there were before and after.
    ///
    /// # Errors
    /// Returns why it failed. Files in the folder, such as a reproducer, explain it then.
    fn run(&self, job: &Job, model: Model, folder: &Path) -> Result<[u64; 2], String>;

    /// The words about a model that cannot be read.
    fn describe(&self, error: &Error) -> String {
        error.to_string()
    }
}

impl Job {
    /// The path as rows have it on every system.
    pub fn name(&self) -> String {
        let parts: Vec<_> = self.path.iter().map(|part| part.to_string_lossy()).collect();
        parts.join("/")
    }

    /// Runs the model, unless an earlier run left a result that still holds, or the cache has it.
    pub fn outcome(&self, runner: &dyn Runner, store: Option<&dyn Store>) -> ModelRow {
        let began = Instant::now();
        let read = self.read(runner);
        let key = read.as_ref().map_or("", |(key, _)| key).to_owned();
        if let Some(known) = &self.known
            && read.is_ok()
            && known.key == key
            && if known.is_ok() { self.is_whole(known) } else { self.retry == Retry::No }
        {
            return ModelRow { is_known: true, ..known.clone() };
        }
        let row = ModelRow { model: self.name(), key, ..ModelRow::default() };
        let row = match read.and_then(|read| self.result(read, runner, store)) {
            Ok((files, calls, cached)) => {
                self.forget_others(&files);
                let size = |path: &Path| fs::metadata(path).map_or(0, |metadata| metadata.len());
                let sizes = files.iter().map(|file| size(&self.folder().join(file))).collect();
                let bytes = Some([size(&self.model), size(&self.target)]);
                ModelRow { cached, calls: Some(calls), bytes, files, sizes, ..row }
            }
            Err(error) => ModelRow { error: Some(error), ..row },
        };
        ModelRow { seconds: (began.elapsed().as_secs_f64() * 1e3).round() / 1e3, ..row }
    }

    /// Reads the model. Returns a hash of all that the result depends on, too.
    fn read(&self, runner: &dyn Runner) -> Result<(String, Model), String> {
        let read = Model::read(&self.model).map_err(|error| runner.describe(&error))?;
        // The name, since a model names the file of its weights, which is called like it.
        let mut text = format!("{} {}", self.stated, self.path.file_name().unwrap_or_default().display());
        for file in std::iter::once(self.model.clone()).chain(data_files(&read.module).into_iter().map(PathBuf::from)) {
            let hash = sha256_of(&file).map_err(|error| format!("`{}`: {error}", file.display()))?;
            text.push_str(&hash);
        }
        Ok((sha256_of_bytes(text.as_bytes()), read))
    }

    /// Makes the result, or takes it from the cache, and puts it in place. Returns its files, its calls before and after, and
    /// whether it was in the cache.
    fn result(
        &self,
        (key, model): (String, Model),
        runner: &dyn Runner,
        store: Option<&dyn Store>,
    ) -> Result<(Vec<String>, [u64; 2], bool), String> {
        // A name of its own: another process may be taken for dead, and work on the same model.
        let scratch = tempfile::Builder::new().prefix("model-").tempdir_in(&self.work);
        let scratch = scratch.map_err(|error| format!("`{}`: {error}", self.work.display()))?;
        let folder = scratch.path().join("result");
        fs::create_dir(&folder).map_err(|error| error.to_string())?;
        let cache = store.map(Cache);
        let file_name = self.target.file_name().unwrap_or_default();
        let cached = cache.as_ref().and_then(|cache| cache.get(&key, &folder, file_name, |file| self.has_file(file)));
        let made = match cached {
            Some(calls) => Ok(calls),
            None => runner.run(self, model, &folder),
        };
        if let (Ok(calls), None, Some(cache)) = (&made, &cached, &cache) {
            cache.put(&key, &folder, *calls, scratch.path());
        }
        // The files that a failure left explain it.
        let moved = self.take(&folder).map_err(|error| error.to_string());
        made.and_then(|calls| Ok((moved?, calls, cached.is_some())))
    }

    /// Moves the files of a folder to the place of the target, the model last; returns their names, the model first.
    fn take(&self, from: &Path) -> io::Result<Vec<String>> {
        let names: io::Result<Vec<OsString>> = fs::read_dir(from)?.map(|entry| Ok(entry?.file_name())).collect();
        let mut names = names?;
        if names.is_empty() {
            return Ok(Vec::new());
        }
        names.sort_by_key(|name| (Some(name.as_os_str()) != self.target.file_name(), name.clone()));
        fs::create_dir_all(self.folder())?;
        // An older model is never beside weights that are not its own. An equal one may be that of another process.
        let new = from.join(self.target.file_name().unwrap_or_default());
        let is_other = || sha256_of(&new).ok() != sha256_of(&self.target).ok();
        if names.len() > 1 && new.is_file() && self.target.is_file() && is_other() {
            fs::remove_file(&self.target)?;
        }
        for name in names.iter().rev() {
            fs::rename(from.join(name), self.folder().join(name))?;
        }
        Ok(names.iter().map(|name| name.display().to_string()).collect())
    }

    /// Removes the files of an earlier result that this one does not have.
    fn forget_others(&self, files: &[String]) {
        let known = self.known.iter().flat_map(|known| &known.files);
        for old in known.filter(|old| self.has_file(old) && !files.contains(old)) {
            let _ = fs::remove_file(self.folder().join(old));
        }
    }

    /// Whether the files of a result are there, each as long as it was.
    fn is_whole(&self, row: &ModelRow) -> bool {
        let is_whole = |(file, size): (&String, &u64)| {
            let found = fs::metadata(self.folder().join(file)).ok().filter(|_| self.has_file(file));
            found.is_some_and(|found| found.is_file() && *size == found.len())
        };
        !row.files.is_empty() && row.files.len() == row.sizes.len() && row.files.iter().zip(&row.sizes).all(is_whole)
    }

    /// Whether a file is one of the model's result, as the journal and a cache say, which are not believed: it is beside its
    /// model, and called like it.
    fn has_file(&self, file: &str) -> bool {
        let stem = self.path.file_stem().unwrap_or_default().to_string_lossy();
        Path::new(file).file_name() == Some(file.as_ref()) && file.starts_with(&*stem)
    }

    fn folder(&self) -> &Path {
        self.target.parent().unwrap_or(Path::new(""))
    }

    /// The job as another process can read it.
    pub fn to_json(&self) -> Value {
        json!({
            "name": self.name(),
            "path": self.path,
            "model": self.model,
            "target": self.target,
            "work": self.work,
            "stated": self.stated,
            "known": self.known.as_ref().map(ModelRow::to_json),
            "retry": self.retry == Retry::Yes,
        })
    }

    /// The job that another process has written down; none if it is malformed.
    pub fn from_json(value: &Value) -> Option<Self> {
        let path = |key: &str| value[key].as_str().map(PathBuf::from);
        Some(Self {
            path: path("path")?,
            model: path("model")?,
            target: path("target")?,
            work: path("work")?,
            stated: value["stated"].as_str()?.to_owned(),
            known: ModelRow::from_json(&value["known"]),
            retry: if value["retry"].as_bool()? { Retry::Yes } else { Retry::No },
        })
    }
}

//! The files of cases, and checking them in separate processes.

use super::{Case, CaseFailure, CaseOutcome, Reason};
use crate::{
    bench::Passes,
    journal::{Entry, Journal, Log},
    report::Finding,
    supervise,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    process,
    time::Duration,
};

/// The extension of a case in a folder.
const EXTENSION: &str = "relay";

/// The check of the processes that check cases.
const FILETESTS: &str = "filetests";

/// The file of a case.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CaseFile {
    /// Its path.
    pub path: PathBuf,
    /// The path as text, which is the name of the case.
    pub name: String,
    /// The name of its folder, which is the pass unless the header names another.
    pub folder: String,
}

impl CaseFile {
    /// Reads the case.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or is not a case.
    pub fn read(&self) -> Result<Case, CaseFailure> {
        let unreadable = |error| CaseFailure::new(Reason::Case, 1, format!("the file cannot be read: {error}"));
        Case::parse(&self.folder, &fs::read_to_string(&self.path).map_err(unreadable)?)
    }

    /// Reads the case and runs it.
    pub fn check(&self, passes: &dyn Passes) -> CaseOutcome {
        match self.read() {
            Ok(case) => case.check(passes),
            Err(failure) => CaseOutcome::failed(failure),
        }
    }
}

/// Files of cases, in the order in which they are reported.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Cases {
    /// The cases.
    pub files: Vec<CaseFile>,
    /// Files in the folders that are not cases.
    pub others: Vec<PathBuf>,
}

impl Cases {
    /// Finds cases: files, and all files below folders that have the extension `relay`. Files and folders whose names
    /// begin with a dot are ignored, unless they are among `paths`.
    ///
    /// # Errors
    /// Returns the first path that cannot be read.
    pub fn find(paths: &[PathBuf]) -> Result<Self, (PathBuf, io::Error)> {
        let (mut cases, mut seen) = (Self::default(), BTreeSet::new());
        for path in paths {
            let is_folder = fs::metadata(path).map_err(|error| (path.clone(), error))?.is_dir();
            let found = if is_folder { cases.add_folder(path, &mut seen) } else { cases.add_file(path, &mut seen) };
            found.map_err(|(path, error)| (path.to_owned(), error))?;
        }
        Ok(cases)
    }

    /// Adds what is below a folder, which is followed through links, but only once.
    fn add_folder(&mut self, folder: &Path, seen: &mut BTreeSet<PathBuf>) -> Result<(), (PathBuf, io::Error)> {
        let at = |error| (folder.to_owned(), error);
        if !seen.insert(folder.canonicalize().map_err(at)?) {
            return Ok(());
        }
        let entries = fs::read_dir(folder).map_err(at)?;
        let mut names = entries.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>().map_err(at)?;
        names.sort();
        for path in names.iter().filter(|name| !name.as_encoded_bytes().starts_with(b".")).map(|name| folder.join(name))
        {
            match path.is_dir() {
                true => self.add_folder(&path, seen)?,
                false if path.extension().is_some_and(|extension| extension == EXTENSION) => {
                    self.add_file(&path, seen)?
                }
                false => self.others.push(path),
            }
        }
        Ok(())
    }

    fn add_file(&mut self, path: &Path, seen: &mut BTreeSet<PathBuf>) -> Result<(), (PathBuf, io::Error)> {
        let at = |error| (path.to_owned(), error);
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = folder.canonicalize().map_err(at)?;
        let name = path.to_str().ok_or_else(|| at(io::Error::other("its name is not UTF-8")))?;
        if seen.insert(folder.join(path.file_name().unwrap_or_default())) {
            let folder = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            self.files.push(CaseFile { path: path.to_owned(), name: name.to_owned(), folder });
        }
        Ok(())
    }

    /// Checks the cases in separate processes, several at once, which are this program with `arguments`:
    /// [`judges`](Self::judges) recognises them. A case takes at most `deadline`.
    ///
    /// # Errors
    /// Returns an error if no process can be started, or one ends before it begins to check.
    pub fn supervise(&self, deadline: Duration, arguments: &[OsString]) -> io::Result<Vec<CaseOutcome>> {
        let entries = supervise::supervise(Some(self.files.len()), deadline, FILETESTS, arguments)?;
        let outcomes = entries.into_iter().filter_map(|entry| match entry {
            Entry::Checked(name, outcome) => Some((name, outcome)),
            Entry::Finding(Finding { subject, kind, message, .. }) => {
                Some((subject, CaseOutcome::failed(CaseFailure::new(Reason::Kind(kind), 1, message))))
            }
            _ => None,
        });
        let mut outcomes: BTreeMap<String, CaseOutcome> = outcomes.collect();
        let lost = || CaseOutcome::failed(CaseFailure::new(Reason::Case, 1, "the file was removed before it was read"));
        Ok(self.files.iter().map(|file| outcomes.remove(&file.name).unwrap_or_else(lost)).collect())
    }

    /// Checks a share of the cases, if this is a process that [`supervise`](Self::supervise) started, and ends it.
    pub fn judges(&self, passes: &dyn Passes) {
        let Some(orders) = supervise::orders().filter(|orders| orders.check == FILETESTS) else { return };
        match Journal::open(&orders.journal) {
            Ok(journal) => {
                for file in orders.share.of(&self.files).filter(|file| !orders.skip.contains(&file.name)) {
                    journal.case(&file.name, "", "");
                    journal.checked(&file.name, &file.check(passes));
                }
                journal.end();
            }
            Err(error) => log::error!("`{}` cannot be written: {error}", orders.journal.display()),
        }
        process::exit(0);
    }
}

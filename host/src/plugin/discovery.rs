//! Looking for plugins. Nothing of a plugin is run here.

use super::{
    file::{read_section, unreadable},
    program::{Described, described, is_program, records_beside},
    record::{Records, read_records},
    verdict::{Refusal, judge},
    writers::Writers,
};
use crate::isolation::{self, Isolation};
use std::{
    collections::BTreeMap,
    env::consts::DLL_EXTENSION,
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
    sync::Arc,
};

/// Where a folder to look in was named.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// It is the folder of the program.
    Beside,
    /// It is the user's own, which `relais plugin install` copies into.
    User,
    /// In the environment.
    Environment,
    /// By the user, who is told if it is missing.
    Named,
}

/// A folder to look in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SearchDir {
    /// The folder.
    pub path: PathBuf,
    /// Where it was named.
    pub origin: Origin,
}

/// The treatment of files that others may change, and folders in which they may replace them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WritableFiles {
    /// Refuse them.
    #[default]
    Refuse,
    /// Use them.
    Allow,
}

/// How careful to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Policy {
    /// The treatment of files that others may change.
    pub writable: WritableFiles,
}

/// A file with readable records according to which it can be opened.
#[derive(Clone, PartialEq, Debug)]
pub struct FoundPlugin {
    /// The file.
    pub path: PathBuf,
    /// Its records.
    pub records: Records,
    /// The bytes of its records, to be compared when it is opened.
    pub section: Arc<[u8]>,
    /// Whether the user named the file: it outranks files of the same plugin that were found in folders.
    pub is_named: bool,
    /// How the file beside it isolates it, if there is one.
    pub isolation: Option<Isolation>,
    /// The SHA-256 of the file that the records are of, if it is a program.
    pub sha256: Option<String>,
}

/// A program without a file of records beside it. Its process has to say what it has.
#[derive(Clone, PartialEq, Debug)]
pub struct FoundProgram {
    /// The file.
    pub path: PathBuf,
    /// Whether the user named the file.
    pub is_named: bool,
    /// How the file beside it isolates it, if there is one.
    pub isolation: Option<Isolation>,
}

/// A file or folder that is not used, and why.
#[derive(Clone, PartialEq, Debug)]
pub struct RefusedPlugin {
    /// The file or folder.
    pub path: PathBuf,
    /// Its records, if they can be read.
    pub records: Option<Records>,
    /// Why it is not used.
    pub refusal: Refusal,
}

/// The results of discovery.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Discovery {
    /// Plugins, in the order of the search.
    pub plugins: Vec<FoundPlugin>,
    /// Programs whose processes have to say what they have.
    pub programs: Vec<FoundProgram>,
    /// The files and folders that are not used.
    pub refused: Vec<RefusedPlugin>,
    /// Files that are the same plugin as an earlier one: the later file, then the earlier.
    pub duplicates: Vec<(PathBuf, PathBuf)>,
}

impl SearchDir {
    /// The folders to look in, in order: the one beside the program, if it comes with plugins, the user's own, those of a
    /// list in the environment, those named.
    pub fn standard(
        beside: Option<&Path>,
        user: Option<&Path>,
        list: Option<&std::ffi::OsStr>,
        named: &[PathBuf],
    ) -> Vec<Self> {
        let beside = beside.map(|path| (path.to_owned(), Origin::Beside));
        let user = user.map(|path| (path.to_owned(), Origin::User));
        let listed = list.map(std::env::split_paths).into_iter().flatten();
        let listed = listed.filter(|path| !path.as_os_str().is_empty()).map(|path| (path, Origin::Environment));
        let named = named.iter().map(|path| (path.clone(), Origin::Named));
        beside.into_iter().chain(user).chain(listed).chain(named).map(|(path, origin)| Self { path, origin }).collect()
    }
}

/// Searches folders for plugins (files with the system's extension for libraries and, except in the folder of the program,
/// programs, by name; libraries without records are skipped), then takes the files that were named.
pub fn discover(dirs: &[SearchDir], files: &[PathBuf], policy: Policy) -> Discovery {
    let writers = (policy.writable == WritableFiles::Refuse).then(Writers::default);
    let mut search =
        Search { found: Discovery::default(), seen: BTreeMap::new(), same_section: BTreeMap::new(), writers };
    dirs.iter().for_each(|dir| search.dir(dir));
    files.iter().for_each(|file| search.file(file, Wanted::ByName));
    search.found
}

/// How a file came to be looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    /// It is in a folder.
    InScan,
    /// It is in the user's own folder.
    Installed,
    /// The user named it.
    ByName,
}

struct Search {
    found: Discovery,
    /// Files that were looked at, by their real path.
    seen: BTreeMap<PathBuf, PathBuf>,
    /// The plugins whose records have these bytes: one of many is not compared with all others.
    same_section: BTreeMap<Arc<[u8]>, Vec<usize>>,
    /// The users that may change files, if this is checked.
    writers: Option<Writers>,
}

impl Search {
    fn refuse(&mut self, path: &Path, records: Option<Records>, refusal: Refusal) {
        self.found.refused.push(RefusedPlugin { path: path.to_owned(), records, refusal });
    }

    fn dir(&mut self, dir: &SearchDir) {
        let entries = match fs::read_dir(&dir.path) {
            Ok(entries) => entries,
            Err(error) if dir.origin != Origin::Named && error.kind() == io::ErrorKind::NotFound => return,
            Err(error) => return self.refuse(&dir.path, None, unreadable(&error)),
        };
        let may_be = |path: &PathBuf| {
            let is_library = path.extension().is_some_and(|extension| extension == DLL_EXTENSION);
            is_library || dir.origin != Origin::Beside && is_program(path)
        };
        let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).filter(may_be).collect();
        if files.is_empty() {
            return;
        }
        if let Some(refusal) = self.writers.as_mut().and_then(|writers| writers.of_folder(&dir.path)) {
            return self.refuse(&dir.path, None, refusal);
        }
        files.sort();
        let wanted = if dir.origin == Origin::User { Wanted::Installed } else { Wanted::InScan };
        files.iter().for_each(|file| self.file(file, wanted));
    }

    fn file(&mut self, path: &Path, wanted: Wanted) {
        let real = path.canonicalize().ok();
        if let Some(real) = &real {
            if let Some(earlier) = self.seen.get(real) {
                self.found.duplicates.push((path.to_owned(), earlier.clone()));
                let same = self.found.plugins.iter_mut().find(|found| found.path == *earlier);
                same.into_iter().for_each(|found| found.is_named |= wanted == Wanted::ByName);
                let same = self.found.programs.iter_mut().find(|found| found.path == *earlier);
                same.into_iter().for_each(|found| found.is_named |= wanted == Wanted::ByName);
                return;
            }
            self.seen.insert(real.clone(), path.to_owned());
        }
        if is_program(path) {
            return self.program(path, real.as_deref(), wanted);
        }
        let section = match read_section(path) {
            Ok(section) => section,
            Err(Refusal::NoRecords) if wanted != Wanted::ByName => return,
            Err(refusal) => return self.refuse(path, None, refusal),
        };
        let records = match read_records(&section) {
            Ok(records) => records,
            Err(error) => return self.refuse(path, None, Refusal::Record(error)),
        };
        if let Some(refusal) = self.writers.as_mut().and_then(|writers| writers.of_file(path, real.as_deref())) {
            return self.refuse(path, Some(records), refusal);
        }
        if let Err(refusal) = judge(&records.plugin) {
            return self.refuse(path, Some(records), refusal);
        }
        let isolation = match isolation::demanded(path) {
            Ok(isolation) => isolation,
            Err(why) => return self.refuse(path, Some(records), Refusal::Isolation { why }),
        };
        let same = self.same_section.entry(section.clone()).or_default();
        let is_copy = |&&earlier: &&usize| is_same_file(&self.found.plugins[earlier].path, path);
        if let Some(&earlier) = same.iter().find(is_copy) {
            self.found.duplicates.push((path.to_owned(), self.found.plugins[earlier].path.clone()));
            let earlier = &mut self.found.plugins[earlier];
            earlier.is_named |= wanted == Wanted::ByName;
            earlier.isolation = earlier.isolation.take().or(isolation);
            return;
        }
        same.push(self.found.plugins.len());
        self.found.plugins.push(FoundPlugin {
            path: path.to_owned(),
            records,
            section,
            is_named: wanted == Wanted::ByName,
            isolation,
            sha256: None,
        });
    }

    fn program(&mut self, path: &Path, real: Option<&Path>, wanted: Wanted) {
        let is_installed = wanted == Wanted::Installed;
        let described = match described(path) {
            Ok(described) => described,
            Err(refusal) => return self.refuse(path, None, refusal),
        };
        let beside = [described.as_ref().map(|_| records_beside(path)), Some(isolation::beside(path))];
        let beside: Vec<PathBuf> = beside.into_iter().flatten().filter(|beside| beside.exists()).collect();
        let refusal = self.writers.as_mut().and_then(|writers| {
            let mut of_beside = |beside: &PathBuf| writers.of_file(beside, beside.canonicalize().ok().as_deref());
            beside.iter().find_map(&mut of_beside).or_else(|| writers.of_file(path, real))
        });
        let isolation = isolation::demanded(path).and_then(|isolation| match isolation {
            // It came with the program, which is in a sandbox otherwise.
            Some(isolation) if isolation.gives() && !is_installed => Err(format!(
                "`{}` gives it what a sandbox denies, and is not in the folder of installed plugins",
                isolation::beside(path).display()
            )),
            isolation => Ok(isolation),
        });
        let isolation = isolation.map_err(|why| Refusal::Isolation { why });
        let isolation = match refusal.map_or(isolation, Err) {
            Ok(isolation) => isolation,
            Err(refusal) => return self.refuse(path, described.map(|it| it.records), refusal),
        };
        let (path, is_named) = (path.to_owned(), wanted == Wanted::ByName);
        match described {
            None => self.found.programs.push(FoundProgram { path, is_named, isolation }),
            Some(Described { records, section, sha256 }) => {
                let sha256 = Some(sha256);
                self.found.plugins.push(FoundPlugin { path, records, section, is_named, isolation, sha256 });
            }
        }
    }
}

/// Why a file is refused because of other users who may change it, or replace it in its folder.
pub(crate) fn writable(path: &Path, policy: Policy) -> Option<Refusal> {
    match policy.writable {
        WritableFiles::Allow => None,
        WritableFiles::Refuse => Writers::default().of_file(path, path.canonicalize().ok().as_deref()),
    }
}

/// Whether two files have the same bytes.
pub(crate) fn is_same_file(a: &Path, b: &Path) -> bool {
    fn compare(a: &Path, b: &Path) -> io::Result<bool> {
        let (mut a, mut b) = (File::open(a)?, File::open(b)?);
        if a.metadata()?.len() != b.metadata()?.len() {
            return Ok(false);
        }
        let (mut one, mut other) = (vec![0; 1 << 16], vec![0; 1 << 16]);
        loop {
            let n = a.read(&mut one)?;
            if n == 0 {
                return Ok(true);
            }
            b.read_exact(&mut other[..n])?;
            if one[..n] != other[..n] {
                return Ok(false);
            }
        }
    }
    // Files that cannot be compared count as different: a conflict is then reported where the names are used.
    compare(a, b).unwrap_or(false)
}

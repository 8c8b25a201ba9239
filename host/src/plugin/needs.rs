//! The requirements of a library on the system: other libraries, versions of them, symbols. Determined from files
//! alone, as the system's loader would search for them; nothing is run.

use object::{
    Architecture, Endianness, Object, ReadCache, ReadRef,
    elf::{DT_NEEDED, DT_RPATH, DT_RUNPATH, FileHeader32, FileHeader64, STB_LOCAL, STB_WEAK},
    read::elf::{Dyn, ElfFile, FileHeader, Sym},
};
use std::{
    collections::{BTreeMap, HashSet, VecDeque},
    env,
    fs::{self, File},
    path::{Path, PathBuf},
};

/// The most libraries that are looked at.
const MAX_LIBRARIES: usize = 1024;

/// The most bytes of names that one library may have. Names may overlap in a file, so that a small one could claim any
/// number.
const MAX_NAMES: usize = 64 << 20;

/// The requirements of a library.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Needs {
    /// It was not looked at.
    NotChecked {
        /// Why.
        why: String,
    },
    /// It was.
    Checked(Needed),
}

/// The requirements of a library, and those that are missing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Needed {
    /// The libraries that it names, and where they are.
    pub libraries: Vec<(String, Option<PathBuf>)>,
    /// Versions that it requires of libraries that are present and do not have them: the library, the version.
    pub missing_versions: Vec<(String, String)>,
    /// Symbols that it uses and that neither the libraries nor this program define, by name. Empty when a library is
    /// missing, which may define them.
    pub undefined: Vec<String>,
    /// Whether it wants libraries from its own folder. It is opened from memory, where there are none.
    pub wants_own_folder: bool,
}

/// The requirements of a library, and whether it defines a symbol, if they can be determined.
pub(crate) fn needs<'a, R: ReadRef<'a>>(file: &object::File<'a, R>, symbol: &str) -> (Needs, Option<bool>) {
    let not_checked = |why: &str| Needs::NotChecked { why: why.to_owned() };
    if !matches!(file, object::File::Elf32(_) | object::File::Elf64(_)) {
        return (not_checked("it is told of ELF files alone"), None);
    }
    let Some(facts) = Facts::of(file) else {
        return (not_checked("what it says of libraries and symbols cannot be parsed"), None);
    };
    let is_defined = Some(facts.defined.iter().any(|name| name == symbol));
    if !cfg!(target_os = "linux") {
        return (not_checked("where this system looks for libraries is not known"), is_defined);
    }
    (Needs::Checked(needed(file, &facts)), is_defined)
}

fn needed<'a, R: ReadRef<'a>>(file: &object::File<'a, R>, facts: &Facts) -> Needed {
    let machine = (file.architecture(), file.is_64());
    let mut scope = Scope { machine, seen: BTreeMap::new(), defined: HashSet::new() };
    let own: Vec<(String, Option<PathBuf>)> =
        facts.needed.iter().map(|name| (name.clone(), scope.find(name, &facts.search))).collect();
    // The program and its libraries are loaded before any plugin is.
    let program = env::current_exe().ok().and_then(|path| Facts::read(&path, machine));
    scope.add_all([facts].into_iter().chain(&program));
    let is_complete = own.iter().all(|(_, found)| found.is_some());
    let missing_versions = facts.versions.iter().filter(|(library, version)| {
        let there = scope.seen.get(library).and_then(Option::as_ref);
        there.is_some_and(|library| !library.has_version(version))
    });
    let mut missing_versions: Vec<(String, String)> = missing_versions.cloned().collect();
    missing_versions.sort();
    missing_versions.dedup();
    let undefined = facts.undefined.iter().filter(|name| is_complete && !scope.defined.contains(name.as_str()));
    let mut undefined: Vec<String> = undefined.cloned().collect();
    undefined.sort();
    undefined.dedup();
    let wants_own_folder = facts.wants_own_folder;
    Needed { libraries: own, missing_versions, undefined, wants_own_folder }
}

/// A file that cannot be read, or has more to read than any library has.
struct Unreadable;

impl From<object::Error> for Unreadable {
    fn from(_: object::Error) -> Self {
        Self
    }
}

/// The facts about one library.
#[derive(Default)]
struct Facts {
    needed: Vec<String>,
    /// Folders to look in before the system's own.
    search: Vec<PathBuf>,
    wants_own_folder: bool,
    defined: Vec<String>,
    undefined: Vec<String>,
    /// The library, and the version that is wanted of it.
    versions: Vec<(String, String)>,
    own_versions: Vec<String>,
}

impl Facts {
    fn of<'a, R: ReadRef<'a>>(file: &object::File<'a, R>) -> Option<Self> {
        match file {
            object::File::Elf32(elf) => Self::of_elf::<FileHeader32<Endianness>, R>(elf).ok(),
            object::File::Elf64(elf) => Self::of_elf::<FileHeader64<Endianness>, R>(elf).ok(),
            _ => None,
        }
    }

    /// Reads a file, if it is a library for this machine.
    fn read(path: &Path, machine: (Architecture, bool)) -> Option<Self> {
        if !path.metadata().ok()?.is_file() {
            return None;
        }
        let cache = ReadCache::new(File::open(path).ok()?);
        let file = object::File::parse(&cache).ok()?;
        let mut facts = (machine == (file.architecture(), file.is_64())).then(|| Self::of(&file))??;
        if facts.wants_own_folder {
            facts.search.extend(path.canonicalize().ok()?.parent().map(Path::to_owned));
        }
        Some(facts)
    }

    fn of_elf<'a, H: FileHeader<Endian = Endianness>, R: ReadRef<'a>>(
        elf: &ElfFile<'a, H, R>,
    ) -> Result<Self, Unreadable> {
        let (endian, data, sections) = (elf.endian(), elf.data(), elf.elf_section_table());
        let mut facts = Self::default();
        let mut n_bytes = 0;
        let mut text = |bytes: &[u8]| {
            n_bytes += bytes.len();
            if n_bytes > MAX_NAMES { Err(Unreadable) } else { Ok(String::from_utf8_lossy(bytes).into_owned()) }
        };
        if let Some((entries, strings)) = sections.dynamic(endian, data)? {
            let strings = sections.strings(endian, data, strings)?;
            for entry in entries {
                let Some(tag) = entry.tag32(endian) else { continue };
                if ![DT_NEEDED, DT_RPATH, DT_RUNPATH].contains(&tag) {
                    continue;
                }
                let value = entry.val32(endian).and_then(|offset| strings.get(offset).ok()).unwrap_or_default();
                let value = text(value)?;
                if tag == DT_NEEDED {
                    facts.needed.push(value);
                    continue;
                }
                for folder in value.split(':').filter(|folder| !folder.is_empty()) {
                    match folder.contains("ORIGIN") {
                        true => facts.wants_own_folder = true,
                        false => facts.search.push(folder.into()),
                    }
                }
            }
        }
        let symbols = elf.elf_dynamic_symbol_table();
        for symbol in symbols.iter().filter(|symbol| symbol.st_bind() != STB_LOCAL) {
            let name = text(symbol.name(endian, symbols.strings())?)?;
            match symbol.is_undefined(endian) {
                false => facts.defined.push(name),
                true if symbol.st_bind() != STB_WEAK && !name.is_empty() => facts.undefined.push(name),
                true => {}
            }
        }
        if let Some((mut needs, strings)) = sections.gnu_verneed(endian, data)? {
            let strings = sections.strings(endian, data, strings)?;
            while let Some((need, mut versions)) = needs.next()? {
                let library = text(need.file(endian, strings)?)?;
                while let Some(version) = versions.next()? {
                    let version = text(version.name(endian, strings)?)?;
                    facts.versions.push((library.clone(), version));
                }
            }
        }
        if let Some((mut versions, strings)) = sections.gnu_verdef(endian, data)? {
            let strings = sections.strings(endian, data, strings)?;
            while let Some((_, mut names)) = versions.next()? {
                if let Some(name) = names.next()? {
                    facts.own_versions.push(text(name.name(endian, strings)?)?);
                }
            }
        }
        Ok(facts)
    }

    /// A library without any versions satisfies every request, as for the loader.
    fn has_version(&self, version: &str) -> bool {
        self.own_versions.is_empty() || self.own_versions.iter().any(|own| own == version)
    }
}

/// The libraries that are there when the plugin is opened.
struct Scope {
    machine: (Architecture, bool),
    /// By the requested name; `None` if there is no such library.
    seen: BTreeMap<String, Option<Facts>>,
    defined: HashSet<String>,
}

impl Scope {
    /// Where a library is that another one names.
    fn find(&self, name: &str, search: &[PathBuf]) -> Option<PathBuf> {
        let is_usable = |path: &PathBuf| Facts::read(path, self.machine).is_some();
        if name.contains('/') {
            return Some(PathBuf::from(name)).filter(is_usable);
        }
        search.iter().chain(system_folders()).map(|folder| folder.join(name)).find(is_usable)
    }

    /// Takes libraries in, with all that they need.
    fn add_all<'a>(&mut self, roots: impl Iterator<Item = &'a Facts>) {
        let mut pending: VecDeque<(String, Vec<PathBuf>)> = VecDeque::new();
        for root in roots {
            self.defined.extend(root.defined.iter().cloned());
            pending.extend(root.needed.iter().map(|name| (name.clone(), root.search.clone())));
        }
        while let Some((name, search)) = pending.pop_front() {
            if self.seen.contains_key(&name) || self.seen.len() >= MAX_LIBRARIES {
                continue;
            }
            let found = self.find(&name, &search).and_then(|path| Facts::read(&path, self.machine));
            if let Some(facts) = &found {
                self.defined.extend(facts.defined.iter().cloned());
                pending.extend(facts.needed.iter().map(|name| (name.clone(), facts.search.clone())));
            }
            self.seen.insert(name, found);
        }
    }
}

/// Where the system's loader looks.
fn system_folders() -> &'static [PathBuf] {
    static FOLDERS: std::sync::OnceLock<Vec<PathBuf>> = std::sync::OnceLock::new();
    FOLDERS.get_or_init(|| {
        let mut folders: Vec<PathBuf> = env::var_os("LD_LIBRARY_PATH").iter().flat_map(env::split_paths).collect();
        folders.retain(|folder| !folder.as_os_str().is_empty());
        folders.extend(configured(Path::new("/etc/ld.so.conf")));
        folders.extend(["/lib64", "/usr/lib64", "/lib", "/usr/lib"].map(PathBuf::from));
        let multiarch = format!("{}-linux-gnu", env::consts::ARCH);
        folders.extend(["/lib", "/usr/lib"].map(|folder| Path::new(folder).join(&multiarch)));
        folders
    })
}

/// The folders that the loader's configuration names, those of the files that it includes too.
fn configured(file: &Path) -> Vec<PathBuf> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let mut folders = Vec::new();
    for line in text.lines().map(|line| line.split('#').next().unwrap_or_default().trim()) {
        let Some(included) = line.strip_prefix("include ") else {
            folders.extend(Some(line).filter(|line| line.starts_with('/')).map(PathBuf::from));
            continue;
        };
        // No other pattern than `FOLDER/*.conf` is in use there.
        let Some(folder) = included.trim().strip_suffix("/*.conf") else { continue };
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        files.retain(|file| file.extension().is_some_and(|extension| extension == "conf"));
        files.sort();
        for text in files.iter().filter_map(|file| fs::read_to_string(file).ok()) {
            let lines = text.lines().map(str::trim).filter(|line| line.starts_with('/'));
            folders.extend(lines.map(PathBuf::from));
        }
    }
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loaders_configuration_names_folders_and_files_that_do() {
        let folder = env::temp_dir().join(format!("relais-needs-{}", std::process::id()));
        fs::create_dir_all(folder.join("more")).unwrap();
        let include = format!("include {}/more/*.conf\n", folder.display());
        fs::write(folder.join("ld.so.conf"), format!("# first\n/one # here\n{include}include other\nhwcap 0\n/four\n"))
            .unwrap();
        fs::write(folder.join("more/b.conf"), "/three\n").unwrap();
        fs::write(folder.join("more/a.conf"), "# second\n/two\n").unwrap();
        fs::write(folder.join("more/c.txt"), "/not\n").unwrap();
        assert_eq!(configured(&folder.join("ld.so.conf")), ["/one", "/two", "/three", "/four"].map(PathBuf::from));
        assert_eq!(configured(&folder.join("gone.conf")), [] as [PathBuf; 0]);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_is_no_library_for_this_machine_is_no_library() {
        let machine = (Architecture::X86_64, true);
        assert!(Facts::read(Path::new("/"), machine).is_none());
        assert!(Facts::read(Path::new(file!()), machine).is_none());
        let own = env::current_exe().unwrap();
        assert!(Facts::read(&own, (Architecture::Unknown, true)).is_none());
    }
}

//! Finds other users who may change a plugin's file, or replace it.

use super::verdict::{FileWriter, Refusal};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// Looks at files, and at each folder once.
#[derive(Default)]
pub(super) struct Writers {
    folders: BTreeMap<PathBuf, Option<Folder>>,
    system: system::Users,
}

/// A folder, and the nearest one above it in which everybody may rename things.
#[derive(Clone)]
struct Folder {
    access: Access,
    open: Option<PathBuf>,
}

/// The system's information about a file or folder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Access {
    mode: u32,
    uid: u32,
    gid: u32,
}

const ALL: u32 = 0o002;
const GROUP: u32 = 0o020;
/// Only the owner of a file may rename it, or take it away.
const STICKY: u32 = 0o1000;

impl Access {
    fn has(self, bit: u32) -> bool {
        self.mode & bit != 0
    }

    /// Returns the writers besides its owner.
    fn writer(self, is_private: &impl Fn(u32, u32) -> bool) -> Option<FileWriter> {
        if self.has(ALL) {
            return Some(FileWriter::Everybody);
        }
        // The group of a single user is that user.
        (self.has(GROUP) && !is_private(self.gid, self.uid)).then_some(FileWriter::Group(self.gid))
    }
}

/// The one of the two that another user may change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    File,
    Folder,
}

/// Finds other users who may change a file, or replace it in its folder. The user named the folder, so its owner is
/// trusted with its contents; where others may put files, only the user and the administrator are.
fn other_writer(
    file: Access,
    folder: Access,
    me: u32,
    is_private: &impl Fn(u32, u32) -> bool,
) -> Option<(Part, FileWriter)> {
    if let Some(writer) = file.writer(is_private) {
        return Some((Part::File, writer));
    }
    let shared = folder.writer(is_private);
    if let (Some(writer), false) = (shared, folder.has(STICKY)) {
        return Some((Part::Folder, writer));
    }
    let is_vouched_for = file.uid == me || file.uid == 0 || (file.uid == folder.uid && shared.is_none());
    (!is_vouched_for).then_some((Part::File, FileWriter::User(file.uid)))
}

impl Writers {
    /// Why a file is refused because of other users who may change or replace it; `real` is the target of links.
    pub fn of_file(&mut self, path: &Path, real: Option<&Path>) -> Option<Refusal> {
        let file = system::access(path)?;
        let linked = real.filter(|real| real.parent() != Some(folder_of(path)));
        [Some(path), linked].into_iter().flatten().find_map(|path| {
            let folder = folder_of(path);
            let Folder { access, open } = self.folder(folder)?;
            if let Some(open) = open {
                return Some(Refusal::Writable { path: open, by: FileWriter::Everybody });
            }
            let (part, by) =
                other_writer(file, access, self.system.me(), &|gid, uid| self.system.is_private(gid, uid))?;
            let path = if part == Part::File { path } else { folder };
            Some(Refusal::Writable { path: path.to_owned(), by })
        })
    }

    /// Why no file of a folder is taken: others may put theirs into it.
    pub fn of_folder(&mut self, path: &Path) -> Option<Refusal> {
        let Folder { access, open } = self.folder(path)?;
        let by = access.writer(&|gid, uid| self.system.is_private(gid, uid));
        let own = by.map(|by| Refusal::Writable { path: path.to_owned(), by });
        own.or_else(|| open.map(|path| Refusal::Writable { path, by: FileWriter::Everybody }))
    }

    fn folder(&mut self, path: &Path) -> Option<Folder> {
        if let Some(known) = self.folders.get(path) {
            return known.clone();
        }
        let real = path.canonicalize().ok();
        let ancestors = real.iter().flat_map(|real| real.ancestors().skip(1));
        let is_open =
            |folder: &&Path| system::access(folder).is_some_and(|access| access.has(ALL) && !access.has(STICKY));
        let open = ancestors.into_iter().find(is_open).map(Path::to_owned);
        let folder = system::access(path).map(|access| Folder { access, open });
        self.folders.insert(path.to_owned(), folder.clone());
        folder
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(unix)]
#[expect(unsafe_code, reason = "the C library knows who runs the process")]
mod system {
    use super::Access;
    use std::{cell::OnceCell, fs, os::unix::fs::MetadataExt, path::Path};

    pub fn access(path: &Path) -> Option<Access> {
        let metadata = path.metadata().ok()?;
        Some(Access { mode: metadata.mode(), uid: metadata.uid(), gid: metadata.gid() })
    }

    /// The users and groups of this system, read when they are first needed.
    #[derive(Default)]
    pub struct Users {
        lists: OnceCell<(String, String)>,
    }

    impl Users {
        pub fn me(&self) -> u32 {
            // SAFETY: it takes nothing and cannot fail.
            unsafe { libc::geteuid() }
        }

        pub fn is_private(&self, gid: u32, uid: u32) -> bool {
            let read = |path| fs::read_to_string(path).unwrap_or_default();
            let (users, groups) = self.lists.get_or_init(|| (read("/etc/passwd"), read("/etc/group")));
            is_private(gid, uid, users, groups)
        }
    }

    /// The fields of each line.
    fn lines(text: &str) -> Vec<Vec<&str>> {
        text.lines().map(|line| line.split(':').collect()).collect()
    }

    /// Whether a user is the only member of a group, as far as these lists know. A group that they do not know may have
    /// any members.
    pub fn is_private(gid: u32, uid: u32, users: &str, groups: &str) -> bool {
        let number = |field: Option<&&str>| field.and_then(|field| field.parse::<u32>().ok());
        let users = lines(users);
        let is_other = |user: &&Vec<&str>| number(user.get(3)) == Some(gid) && number(user.get(2)) != Some(uid);
        if users.iter().any(|user| is_other(&user)) {
            return false;
        }
        let own: Vec<&str> = users
            .iter()
            .filter(|user| number(user.get(2)) == Some(uid))
            .filter_map(|user| user.first().copied())
            .collect();
        let groups = lines(groups);
        let mut same = groups.iter().filter(|group| number(group.get(2)) == Some(gid)).peekable();
        let is_known = same.peek().is_some();
        let members = same.filter_map(|group| group.get(3)).flat_map(|members| members.split(','));
        is_known && members.map(str::trim).filter(|name| !name.is_empty()).all(|name| own.contains(&name))
    }
}

#[cfg(not(unix))]
mod system {
    use super::Access;
    use std::path::Path;

    /// Write access is not checked.
    pub fn access(_: &Path) -> Option<Access> {
        None
    }

    #[derive(Default)]
    pub struct Users;

    impl Users {
        pub fn me(&self) -> u32 {
            0
        }

        pub fn is_private(&self, _: u32, _: u32) -> bool {
            true
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    const ME: u32 = 1000;
    const OTHER: u32 = 1001;

    fn access(mode: u32, uid: u32) -> Access {
        Access { mode, uid, gid: uid }
    }

    fn judge(file: Access, folder: Access) -> Option<(Part, FileWriter)> {
        other_writer(file, folder, ME, &|gid, uid| gid == uid && gid != 50)
    }

    #[test]
    fn what_nobody_else_may_change_is_taken() {
        for owner in [ME, 0] {
            assert_eq!(judge(access(0o644, owner), access(0o755, ME)), None);
            assert_eq!(judge(access(0o644, owner), access(0o755, 0)), None);
            // In a shared folder where only owners may replace files.
            assert_eq!(judge(access(0o644, owner), access(0o1777, 0)), None);
        }
        // Whose folder was named is trusted with it.
        assert_eq!(judge(access(0o644, OTHER), access(0o755, OTHER)), None);
        // A group of one.
        assert_eq!(judge(access(0o664, ME), access(0o775, ME)), None);
    }

    #[test]
    fn what_others_may_change_or_replace_is_refused() {
        let everybody = FileWriter::Everybody;
        let mine = access(0o644, ME);
        assert_eq!(judge(access(0o646, ME), access(0o755, ME)), Some((Part::File, everybody)));
        assert_eq!(judge(mine, access(0o757, ME)), Some((Part::Folder, everybody)));
        assert_eq!(judge(mine, access(0o777, 0)), Some((Part::Folder, everybody)));
        let of_group = |mode| Access { mode, uid: ME, gid: 50 };
        assert_eq!(judge(of_group(0o664), access(0o755, ME)), Some((Part::File, FileWriter::Group(50))));
        assert_eq!(judge(mine, of_group(0o775)), Some((Part::Folder, FileWriter::Group(50))));
        assert_eq!(judge(mine, of_group(0o1775)), None);
        // Another user's file.
        let other = Some((Part::File, FileWriter::User(OTHER)));
        assert_eq!(judge(access(0o644, OTHER), access(0o755, ME)), other);
        assert_eq!(judge(access(0o644, OTHER), access(0o755, 0)), other);
        // In a shared folder, the folder's owner vouches for nothing.
        assert_eq!(judge(access(0o644, OTHER), access(0o1777, 0)), other);
        assert_eq!(judge(access(0o644, OTHER), access(0o1777, OTHER)), other);
    }

    #[test]
    fn a_group_is_private_when_nobody_else_is_in_it() {
        let users =
            "root:x:0:0::/root:/bin/sh\nann:x:1000:1000::/home/ann:\nbob:x:1001:1001::/home/bob:\neve:x:1002:100::/:\n";
        let groups = "root:x:0:\nann:x:1000:\nbob:x:1001:ann\nself:x:1003:ann,\nusers:x:100:\nodd\n";
        let is_private = |gid, uid| system::is_private(gid, uid, users, groups);
        assert!(is_private(1000, 1000) && is_private(0, 0) && is_private(1003, 1000));
        // Another member, another user's primary group, an unknown group.
        assert!(!is_private(1001, 1001) && !is_private(100, 1000) && !is_private(1000, 1001) && !is_private(7, 1000));
        assert!(!system::is_private(0, 0, "", ""));
    }
}

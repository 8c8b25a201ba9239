//! The sandbox of a worker: the files that its code can read, and the calls of the system that it can make.
//!
//! It is entered in two steps. Before any code of a plugin runs, the process keeps the right to read the libraries of the
//! system, the files of plugins, and whatever the user allows (Landlock), and the calls that opening a library takes
//! (seccomp). Once the libraries are open, it keeps the calls that computing takes. Other calls fail with `EPERM`.
//!
//! The first step is the one that holds against any code. The second is taken by the process itself after code of the plugin
//! has run in it, which could keep it from that.

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError,
    Scope, path_beneath_rules,
};
use rustix::{
    fs::{MemfdFlags, memfd_create},
    io::Errno,
};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter_all_threads,
};
use std::{collections::BTreeMap, env, path::PathBuf};

/// Where libraries of the system are.
const LIBRARIES: [&str; 9] = [
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/usr/local/lib",
    "/usr/local/lib64",
    "/nix/store",
    "/gnu/store",
    "/etc/ld.so.cache",
];

/// A sandbox of which the first step was taken.
pub struct Sandbox {
    /// Whether files may be opened in the second step, too.
    reads: bool,
    /// Whether libraries may be opened in the second step, too: those that can be read.
    pub loads_late: bool,
    /// The features that this kernel lacks.
    pub lacks: Vec<String>,
    /// Whether calls can be filtered.
    filters: bool,
}

/// The work of the process.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    /// It opens libraries.
    Opening,
    /// It computes, and may read files or not, and open libraries or not.
    Computing { reads: bool, loads: bool },
}

impl Sandbox {
    /// Takes the first step. The process can read `files`, and what is in the folders of `read`, from now on.
    pub fn enter(files: &[PathBuf], read: &[PathBuf]) -> Self {
        let mut lacks = Vec::new();
        if let Err(error) = keep_files(files, read) {
            let why = match error {
                RulesetError::HandleAccesses(_) => "this kernel has no Landlock".to_owned(),
                error => error.to_string(),
            };
            // Later no calls are left that open files.
            let when = if read.is_empty() { "while its library is opened" } else { "at any time" };
            lacks.push(format!("it can read all files {when}, because {why}"));
        }
        let filtered = filter(Step::Opening);
        if let Err(error) = &filtered {
            lacks.push(format!("it can reach other processes, because calls cannot be filtered here: {error}"));
        }
        Self { reads: !read.is_empty(), loads_late: false, lacks, filters: filtered.is_ok() }
    }

    /// Takes the second step, once all libraries are open.
    ///
    /// # Errors
    /// Returns an error if it cannot be taken although the first one was.
    pub fn close(&self) -> Result<(), String> {
        if !self.filters {
            return Ok(());
        }
        filter(Step::Computing { reads: self.reads, loads: self.loads_late })?;
        // A filter of the plugin's own may have answered for the system.
        match memfd_create("probe", MemfdFlags::CLOEXEC) {
            Err(Errno::PERM) => Ok(()),
            _ => Err("what it forbids is possible".into()),
        }
    }
}

/// Leaves the process no files but those.
fn keep_files(files: &[PathBuf], read: &[PathBuf]) -> Result<(), RulesetError> {
    let libraries = LIBRARIES.iter().map(PathBuf::from).chain(searched_libraries());
    let libraries = path_beneath_rules(libraries.chain(files.iter().cloned()), AccessFs::ReadFile);
    Ruleset::default()
        // No call that changes a file by its path is left.
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V1))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(ABI::V5))?
        .handle_access(AccessNet::from_all(ABI::V4))?
        .scope(Scope::from_all(ABI::V6))?
        .create()?
        .add_rules(libraries)?
        .add_rules(path_beneath_rules(read, AccessFs::ReadFile | AccessFs::ReadDir))?
        .restrict_self()?;
    Ok(())
}

/// The libraries in the folders in which the user has the system search: those folders may hold anything.
fn searched_libraries() -> Vec<PathBuf> {
    let searched = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let folders = env::split_paths(&searched).filter(|folder| folder.is_absolute());
    let files =
        folders.filter_map(|folder| folder.read_dir().ok()).flatten().filter_map(|entry| Some(entry.ok()?.path()));
    files.filter(|file| file.file_name().is_some_and(|name| name.to_string_lossy().contains(".so"))).collect()
}

/// Leaves the process no calls of the system but those of a step.
fn filter(step: Step) -> Result<(), String> {
    let arch = TargetArch::try_from(env::consts::ARCH)
        .map_err(|_| format!("there are no filters for the machine `{}`", env::consts::ARCH))?;
    let errno = |number: i32| SeccompAction::Errno(number.unsigned_abs());
    let apply = |rules, other, listed| {
        let filter = SeccompFilter::new(rules, other, listed, arch).and_then(BpfProgram::try_from);
        filter
            .map_err(|error| error.to_string())
            .and_then(|program| apply_filter_all_threads(&program).map_err(|error| error.to_string()))
    };
    if step == Step::Opening {
        let lacking = lacking_calls().map_err(|error| error.to_string())?;
        apply(lacking, SeccompAction::Allow, errno(libc::ENOSYS))?;
    }
    let rules = calls(step).map_err(|error| error.to_string())?;
    apply(rules, errno(libc::EPERM), SeccompAction::Allow)
}

/// Calls that the C library does without where the system seems to lack them: one whose flags are in memory, where no filter
/// looks, and the processors of a thread by its number, which tells which processes there are.
fn lacking_calls() -> Result<BTreeMap<i64, Vec<SeccompRule>>, BackendError> {
    let other = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, 0)?;
    let of_other = SeccompRule::new(vec![other])?;
    Ok(BTreeMap::from([(libc::SYS_clone3, Vec::new()), (libc::SYS_sched_getaffinity, vec![of_other])]))
}

/// Calls that are allowed with any arguments, in both steps.
const ALWAYS: &[i64] = &[
    libc::SYS_brk,
    libc::SYS_clock_getres,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_clone3,
    libc::SYS_close,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_fstat,
    libc::SYS_futex,
    libc::SYS_getcpu,
    libc::SYS_getegid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_getrandom,
    libc::SYS_getrusage,
    libc::SYS_gettid,
    libc::SYS_gettimeofday,
    libc::SYS_getuid,
    libc::SYS_lseek,
    libc::SYS_madvise,
    libc::SYS_membarrier,
    libc::SYS_mremap,
    libc::SYS_munmap,
    libc::SYS_nanosleep,
    libc::SYS_ppoll,
    libc::SYS_pread64,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_restart_syscall,
    libc::SYS_rseq,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_yield,
    libc::SYS_sendmsg,
    libc::SYS_set_robust_list,
    libc::SYS_set_tid_address,
    libc::SYS_sigaltstack,
    libc::SYS_sysinfo,
    libc::SYS_uname,
    libc::SYS_write,
    libc::SYS_writev,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_time,
];

/// Calls that look at files, which Landlock limits as far as they read them.
const READING: &[i64] = &[
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_getcwd,
    libc::SYS_getdents64,
    libc::SYS_newfstatat,
    libc::SYS_readlinkat,
    libc::SYS_statx,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_access,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lstat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_readlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_stat,
];

/// Calls that opening a library takes: it is copied to memory that is sealed against writing, and the second step follows.
const OPENING: &[i64] = &[libc::SYS_memfd_create, libc::SYS_seccomp];

/// The options of `prctl` that a thread may set or ask for.
const OPTIONS: [i32; 2] = [libc::PR_SET_NAME, libc::PR_GET_NAME];

/// Operations on a descriptor. None of them has signals sent to another process.
const DESCRIPTORS: [i32; 6] =
    [libc::F_DUPFD, libc::F_DUPFD_CLOEXEC, libc::F_GETFD, libc::F_SETFD, libc::F_GETFL, libc::F_SETFL];

/// Namespaces that a new thread could enter.
const NAMESPACES: i32 = libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET;

/// The calls that a step allows, each with the rules of which one must hold; without any, it is allowed.
fn calls(step: Step) -> Result<BTreeMap<i64, Vec<SeccompRule>>, BackendError> {
    let opens = step == Step::Opening;
    let mut calls: BTreeMap<i64, Vec<SeccompRule>> = ALWAYS.iter().map(|&call| (call, Vec::new())).collect();
    let (reads, loads) = match step {
        Step::Opening => (true, true),
        Step::Computing { reads, loads } => (reads, loads),
    };
    if reads {
        calls.extend(READING.iter().map(|&call| (call, Vec::new())));
    }
    if opens {
        calls.extend(OPENING.iter().map(|&call| (call, Vec::new())));
    }
    let mut rule = |call: i64, conditions: Vec<Result<SeccompCondition, BackendError>>| {
        let conditions = conditions.into_iter().collect::<Result<_, _>>()?;
        calls.entry(call).or_default().push(SeccompRule::new(conditions)?);
        Ok::<_, BackendError>(())
    };
    // It may signal itself and start threads, and nothing else.
    let own = std::process::id();
    rule(libc::SYS_kill, vec![is(0, own)])?;
    rule(libc::SYS_tgkill, vec![is(0, own)])?;
    let thread = libc::CLONE_THREAD as u32;
    rule(libc::SYS_clone, vec![masked(0, thread | NAMESPACES as u32, thread)])?;
    // Files are opened to be read, also where Landlock is missing.
    if reads {
        let writes = (libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC) as u32;
        rule(libc::SYS_openat, vec![masked(2, writes, 0)])?;
        #[cfg(target_arch = "x86_64")]
        rule(libc::SYS_open, vec![masked(1, writes, 0)])?;
    }
    // Memory that others could share, or that grows by itself, is not counted by its limit. While libraries are opened,
    // memory can be run or written, then it can be written.
    let of_memory: &[i32] = if loads { &[libc::PROT_EXEC, libc::PROT_WRITE] } else { &[libc::PROT_EXEC] };
    for lacking in of_memory.iter().map(|&lacking| lacking as u32) {
        let private = masked(3, (libc::MAP_TYPE | libc::MAP_GROWSDOWN) as u32, libc::MAP_PRIVATE as u32);
        let of_file = masked(3, libc::MAP_ANONYMOUS as u32, 0);
        for kind in [private, of_file] {
            rule(libc::SYS_mmap, vec![kind, masked(2, lacking, 0)])?;
        }
        rule(libc::SYS_mprotect, vec![masked(2, lacking, 0)])?;
    }
    let mut options = OPTIONS.to_vec();
    let mut of_descriptors = DESCRIPTORS.to_vec();
    if opens {
        options.push(libc::PR_SET_NO_NEW_PRIVS);
        of_descriptors.extend([libc::F_ADD_SEALS, libc::F_GET_SEALS]);
    }
    for option in options {
        rule(libc::SYS_prctl, vec![is(0, option as u32)])?;
    }
    for of_descriptor in of_descriptors {
        rule(libc::SYS_fcntl, vec![is(1, of_descriptor as u32)])?;
    }
    rule(libc::SYS_ioctl, vec![is(1, libc::FIONBIO as u32)])?;
    for option in [libc::SO_RCVTIMEO, libc::SO_SNDTIMEO] {
        rule(libc::SYS_setsockopt, vec![is(1, libc::SOL_SOCKET as u32), is(2, option as u32)])?;
    }
    // Its own limits, which it may see; a message to the other end of a connection, to no address.
    rule(libc::SYS_prlimit64, vec![is(0, 0), null(2)])?;
    rule(libc::SYS_sendto, vec![null(4)])?;
    Ok(calls)
}

/// The condition that the lower half of an argument is `value`.
fn is(argument: u8, value: u32) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value.into())
}

/// The condition that those bits of an argument are `value`.
fn masked(argument: u8, mask: u32, value: u32) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(mask.into()), value.into())
}

/// The condition that an argument is a null pointer.
fn null(argument: u8) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Qword, SeccompCmpOp::Eq, 0)
}

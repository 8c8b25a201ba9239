//! Starting other programs: the one place where processes are started.
//!
//! - Nothing that lies in the current folder is run unless the user names it by its path. A name alone is looked for in
//!   those folders of `PATH` that are absolute, here and by the programs that are started; the system itself would look
//!   into the current folder, too, where `PATH` has an empty entry, and on Windows always.
//! - Python imports its own packages alone, or those of its virtual environment: none of the current folder, of
//!   `PYTHONPATH`, or of the folder of the user.
//! - Processes of this program end with the one that started them, however that ends: all of them have as standard input
//!   the end of one pipe into which nothing is ever written, and which the system closes.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs::Metadata,
    io::{self, PipeReader, PipeWriter, Read, Stdin},
    path::{self, Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::{Once, OnceLock},
    thread,
    time::Duration,
};

/// In a process whose standard input ends with the process that started it: set to anything.
const LEASH: &str = "RELAIS_LEASH";

/// Where systems look that have no `PATH`.
const USUAL: &str = if cfg!(unix) { "/usr/local/bin:/usr/bin:/bin" } else { "" };

/// Returns the command that starts a program, which is a path from here or a name.
///
/// # Errors
/// Returns an error if no folder that is searched has a program of this name.
pub fn command(program: &Path) -> io::Result<Command> {
    Ok(at(&located(program, &env::var_os("PATH").unwrap_or_else(|| USUAL.into()))?))
}

/// The Python that is used unless a user names another one: that of the variable `RELAIS_PYTHON`, otherwise `python3`.
pub fn usual_python() -> PathBuf {
    let named = env::var_os("RELAIS_PYTHON").filter(|python| !python.is_empty());
    named.map_or_else(|| "python3".into(), PathBuf::from)
}

/// Returns the command that starts a Python, which imports nothing but its own packages.
///
/// # Errors
/// As for [`command`].
pub fn python(program: &Path) -> io::Result<Command> {
    let mut command = command(program)?;
    command.arg("-I").stdin(leash()?);
    Ok(command)
}

/// Returns the command that starts a Python as the process of a plugin that is a file of Python.
///
/// # Errors
/// As for [`command`].
pub fn python_worker(program: &Path) -> io::Result<Command> {
    let mut command = command(program)?;
    // No variable counts but that by which sets have the same order each time.
    for (name, _) in env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PYTHON")) {
        command.env_remove(name);
    }
    command.env("PYTHONHASHSEED", "0");
    // It writes no compiled files, and what a plugin prints comes at once.
    command.args(["-P", "-s", "-B", "-u", "-m", "relais_onnx.worker"]);
    Ok(command)
}

/// Returns the command that starts this program. The process ends with this one if it calls [`end_with_parent`].
///
/// # Errors
/// Returns an error if the system does not say which program this is, or has no pipe.
pub fn this_program() -> io::Result<Command> {
    let mut command = at(&env::current_exe()?);
    command.env(LEASH, "").stdin(leash()?);
    Ok(command)
}

/// Runs a program, and returns what it wrote; `None` if `is_stopped` returned true meanwhile, upon which it was ended.
///
/// # Errors
/// Returns an error if it cannot be started.
pub fn output_unless(command: &mut Command, is_stopped: &dyn Fn() -> bool) -> io::Result<Option<Output>> {
    const PAUSE: Duration = Duration::from_millis(5);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    thread::scope(|scope| {
        let [stdout, stderr] = [scope.spawn(|| contents(stdout)), scope.spawn(|| contents(stderr))];
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break Some(status);
            }
            if is_stopped() {
                child.kill()?;
                child.wait()?;
                break None;
            }
            thread::sleep(PAUSE);
        };
        let [stdout, stderr] = [stdout, stderr].map(|pipe| pipe.join().unwrap_or_default());
        Ok(status.map(|status| Output { status, stdout, stderr }))
    })
}

/// The bytes that come out of a pipe.
fn contents(pipe: Option<impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        let _ = pipe.read_to_end(&mut bytes);
    }
    bytes
}

/// Calls `end` once the process that started this one has ended, if this is a process of [`this_program`]. Then `input`
/// is read to its end, which is its standard input. Only the first call has an effect.
pub fn end_with_parent<R: Read + Send + 'static>(input: impl FnOnce(Stdin) -> R, end: fn()) {
    static BEGUN: Once = Once::new();
    if env::var_os(LEASH).is_none() {
        return;
    }
    BEGUN.call_once(|| {
        let mut input = input(io::stdin());
        thread::spawn(move || {
            let _ = io::copy(&mut input, &mut io::sink());
            end();
        });
    });
}

/// The end of the pipe that is closed with this process.
fn leash() -> io::Result<PipeReader> {
    static PIPE: OnceLock<io::Result<(PipeReader, PipeWriter)>> = OnceLock::new();
    match PIPE.get_or_init(io::pipe) {
        Ok((reader, _)) => reader.try_clone(),
        Err(error) => Err(error.kind().into()),
    }
}

/// The command that starts the program at a path.
fn at(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_remove(LEASH);
    let path = env::var_os("PATH").and_then(|path| env::join_paths(absolute(&path)).ok());
    command.env("PATH", path.unwrap_or_else(|| USUAL.into()));
    if cfg!(windows) {
        command.env("NoDefaultCurrentDirectoryInExePath", "1");
    }
    command
}

/// The absolute path of a program; `path` is a list of folders for names.
fn located(program: &Path, path: &OsStr) -> io::Result<PathBuf> {
    if program.components().count() != 1 {
        return path::absolute(program);
    }
    let mut file = OsString::from(program);
    if program.extension().is_none() {
        file.push(env::consts::EXE_SUFFIX);
    }
    let has_it = |folder: &PathBuf| folder.join(&file).metadata().is_ok_and(|metadata| is_program(&metadata));
    if let Some(folder) = absolute(path).find(has_it) {
        return Ok(folder.join(&file));
    }
    let relative = env::split_paths(path).find(|folder| !folder.is_absolute() && has_it(folder));
    let why = match relative {
        Some(folder) => format!(
            "`PATH` has it in `{}` alone, and only absolute folders are searched",
            Path::new(".").join(folder).display()
        ),
        None => "no folder of `PATH` has it".to_owned(),
    };
    Err(io::Error::new(io::ErrorKind::NotFound, why))
}

/// The folders of a list that are absolute.
fn absolute(path: &OsStr) -> impl Iterator<Item = PathBuf> {
    env::split_paths(path).filter(|folder| folder.is_absolute())
}

#[cfg(unix)]
fn is_program(metadata: &Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.is_file() && metadata.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn is_program(metadata: &Metadata) -> bool {
    metadata.is_file()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::PermissionsExt, process};

    #[test]
    fn a_program_ends_early_once_it_is_stopped() {
        let shell = |script: &str| {
            let mut command = command(Path::new("sh")).unwrap();
            command.args(["-c", script]);
            command
        };
        let output = output_unless(&mut shell("echo out; echo err >&2; exit 3"), &|| false).unwrap().unwrap();
        assert_eq!(
            (output.status.code(), &output.stdout[..], &output.stderr[..]),
            (Some(3), &b"out\n"[..], &b"err\n"[..])
        );
        // More than a pipe holds.
        let output = output_unless(&mut shell("head -c 1000000 /dev/zero"), &|| false).unwrap().unwrap();
        assert_eq!(output.stdout.len(), 1_000_000);
        assert!(output_unless(&mut shell("exec sleep 1000"), &|| true).unwrap().is_none());
    }

    /// A folder with a program `tool`, and a file `tool` that is none in a folder `data`.
    fn folder(name: &str) -> PathBuf {
        let folder = env::temp_dir().join(format!("relais-program-{}-{name}", process::id()));
        fs::create_dir_all(folder.join("data")).unwrap();
        for (file, mode) in [("tool", 0o755), ("data/tool", 0o644)] {
            fs::write(folder.join(file), "#!/bin/sh\n").unwrap();
            fs::set_permissions(folder.join(file), fs::Permissions::from_mode(mode)).unwrap();
        }
        folder
    }

    #[test]
    fn names_are_looked_for_in_absolute_folders() {
        let here = folder("names");
        let tool = Path::new("tool");
        let path = |folders: &[&Path]| env::join_paths(folders).unwrap();
        let found = located(tool, &path(&[Path::new(""), Path::new("bin"), &here.join("data"), &here])).unwrap();
        assert_eq!(found, here.join("tool"));
        let error = located(tool, &path(&[Path::new(""), &here.join("data")])).unwrap_err();
        assert_eq!((error.kind(), error.to_string().as_str()), (io::ErrorKind::NotFound, "no folder of `PATH` has it"));
        // A path from here is none of the search.
        let here_from = |name: &str| env::current_dir().unwrap().join(name);
        assert_eq!(located(Path::new("./tool"), OsStr::new("")).unwrap(), here_from("tool"));
        assert_eq!(located(Path::new("bin/tool"), OsStr::new("")).unwrap(), here_from("bin/tool"));
        fs::remove_dir_all(here).unwrap();
    }

    #[test]
    fn relative_folders_that_have_it_are_named() {
        let here = folder("relative");
        let up: PathBuf = env::current_dir().unwrap().components().skip(1).map(|_| "..").collect();
        let relative = up.join(here.strip_prefix("/").unwrap());
        let error = located(Path::new("tool"), relative.as_os_str()).unwrap_err().to_string();
        assert!(error.contains("only absolute folders are searched") && error.contains("relative` alone"), "{error}");
        fs::remove_dir_all(here).unwrap();
    }

    #[test]
    fn what_is_started_searches_no_other_folders() {
        let mut shell = command(Path::new("sh")).unwrap();
        let said = shell.args(["-c", "echo \"$PATH\""]).stdin(Stdio::null()).output().unwrap();
        let path = String::from_utf8(said.stdout).unwrap();
        assert!(env::split_paths(path.trim_end()).all(|folder| folder.is_absolute()), "{path}");
    }
}

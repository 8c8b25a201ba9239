//! How plugins are isolated: the limits of their processes, what these can reach, and the program that they are.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
    process::Command,
    str::FromStr,
    sync::OnceLock,
};

/// How a plugin is isolated: the limits of its process, and what that can reach.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Isolation {
    /// The most bytes of memory that it may take; half of the machine's if there is no number.
    pub memory: Option<u64>,
    /// The most seconds that a call of a pass may take; any number if there is none.
    pub pass_seconds: Option<u64>,
    /// The number of threads that work for its passes; as many as the machine has if there is no number.
    pub threads: Option<usize>,
    /// How often it is started again in a run after it died.
    pub restarts: u32,
    /// Whether its process is kept from files, the network and other processes.
    pub sandbox: Sandbox,
    /// The files that its process can read in a sandbox, and the folders of which it can read all, by absolute paths.
    pub read: Vec<PathBuf>,
    /// The variables of the environment that its process is given in a sandbox, beside those of [`ENVIRONMENT`].
    pub env: Vec<String>,
}

/// Whether the process of a plugin is kept from files, the network and other processes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Sandbox {
    /// It is, as far as the kernel can do that; a warning says what it cannot.
    #[default]
    Usual,
    /// It is, or nothing of the plugin runs.
    Strict,
    /// It is not.
    None,
}

impl Sandbox {
    /// All of them, by name.
    pub const ALL: [(&str, Self); 3] = [("usual", Self::Usual), ("strict", Self::Strict), ("none", Self::None)];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL.into_iter().find(|(_, sandbox)| *sandbox == self).map_or("", |(name, _)| name)
    }
}

/// The variables of the environment that the process of a plugin is given in a sandbox, if they are set: they say how text
/// is written, how many threads there are, and where libraries are.
pub const ENVIRONMENT: [&str; 10] = [
    "GLIBC_TUNABLES",
    "LANG",
    "LC_ALL",
    "LD_LIBRARY_PATH",
    "MALLOC_ARENA_MAX",
    "OMP_NUM_THREADS",
    "RAYON_NUM_THREADS",
    "RUST_BACKTRACE",
    "RUST_MIN_STACK",
    "TZ",
];

impl Default for Isolation {
    fn default() -> Self {
        Self {
            memory: None,
            pass_seconds: None,
            threads: None,
            restarts: 2,
            sandbox: Sandbox::default(),
            read: Vec::new(),
            env: Vec::new(),
        }
    }
}

/// The names of the settings, in TOML; on the command line, `pass-seconds` is one, too.
pub(crate) const SETTINGS: [&str; 7] = ["memory", "pass_seconds", "threads", "restarts", "sandbox", "read", "env"];

impl Isolation {
    /// Sets a setting by its name; of one that is a list, it adds a member. Paths start at the folder `from`.
    ///
    /// # Errors
    /// Returns an error if the setting does not exist, or does not take the value.
    pub fn set(&mut self, setting: &str, value: &str, from: &Path) -> Result<(), String> {
        let number = || value.parse::<u64>().ok().filter(|&number| number > 0 || setting == "restarts");
        let wrong = || format!("`{value}` is not a number for `{setting}`");
        match setting.replace('-', "_").as_str() {
            "memory" => {
                let bytes = size(value).filter(|&bytes| bytes > 0);
                self.memory = Some(bytes.ok_or_else(|| format!("`{value}` is not a size, such as `1GiB`"))?);
            }
            "pass_seconds" => self.pass_seconds = Some(number().ok_or_else(wrong)?),
            "threads" => {
                let threads = number().filter(|&number| number <= 1024).ok_or_else(wrong)?;
                self.threads = Some(threads as usize);
            }
            "restarts" => self.restarts = number().and_then(|n| u32::try_from(n).ok()).ok_or_else(wrong)?,
            "sandbox" => {
                let found = Sandbox::ALL.into_iter().find(|(name, _)| *name == value);
                self.sandbox = found.ok_or_else(|| format!("`{value}` is not `usual`, `strict` or `none`"))?.1;
            }
            "read" => self.read.push(readable(from, value)?),
            "env" if value.is_empty() || value.contains(['=', '\0']) => {
                return Err(format!("`{value}` is not the name of a variable"));
            }
            "env" => self.env.push(value.to_owned()),
            _ => return Err(format!("`{setting}` is not a setting; the settings are {}", SETTINGS.join(", "))),
        }
        Ok(())
    }
}

/// The whole path of something that a process is to read.
fn readable(from: &Path, value: &str) -> Result<PathBuf, String> {
    // An empty path has no absolute one.
    let path = std::path::absolute(from.join(value)).ok().filter(|path| !value.is_empty() && path.parent().is_some());
    path.ok_or_else(|| format!("`{value}` is not a file or a folder that a sandbox can leave open"))
}

impl Isolation {
    /// Whether its process reaches something that a sandbox denies it without settings.
    pub(crate) fn gives(&self) -> bool {
        self.sandbox == Sandbox::None || !self.read.is_empty() || !self.env.is_empty()
    }

    /// The settings that are not the usual ones, as TOML.
    pub(crate) fn toml(&self) -> String {
        let Self { memory, pass_seconds, threads, restarts, sandbox, .. } = *self;
        let list = |name: &str, members: &mut dyn Iterator<Item = String>| {
            let members: Vec<String> = members.map(|member| toml::Value::String(member).to_string()).collect();
            (!members.is_empty()).then(|| format!("{name} = [{}]", members.join(", ")))
        };
        let settings = [
            memory.map(|bytes| format!("memory = \"{}\"", size_text(bytes).trim_end_matches(" bytes"))),
            pass_seconds.map(|seconds| format!("pass_seconds = {seconds}")),
            threads.map(|threads| format!("threads = {threads}")),
            (restarts != Self::default().restarts).then(|| format!("restarts = {restarts}")),
            (sandbox != Sandbox::default()).then(|| format!("sandbox = \"{}\"", sandbox.name())),
            list("read", &mut self.read.iter().map(|path| path.display().to_string())),
            list("env", &mut self.env.iter().cloned()),
        ];
        settings.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

/// The settings that are not the usual ones, as arguments have them.
impl fmt::Display for Isolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { memory, pass_seconds, threads, restarts, sandbox, read, env } = self;
        let settings = [
            memory.map(|bytes| format!("memory={}", size_text(bytes).replace(" bytes", "").replace(' ', ""))),
            pass_seconds.map(|seconds| format!("pass-seconds={seconds}")),
            threads.map(|threads| format!("threads={threads}")),
            (*restarts != Self::default().restarts).then(|| format!("restarts={restarts}")),
            (*sandbox != Sandbox::default()).then(|| format!("sandbox={}", sandbox.name())),
        ];
        let read = read.iter().map(|path| format!("read={}", path.display()));
        let env = env.iter().map(|name| format!("env={name}"));
        f.write_str(&settings.into_iter().flatten().chain(read).chain(env).collect::<Vec<_>>().join(","))
    }
}

/// The file beside a plugin's that isolates that plugin wherever it is used: `libacme.so.isolate`, with the settings as
/// arguments have them.
pub fn beside(plugin: &Path) -> PathBuf {
    let mut name = plugin.as_os_str().to_owned();
    name.push(".isolate");
    name.into()
}

/// How the file beside a plugin's isolates it; `None` without that file.
///
/// # Errors
/// Returns why the file cannot be used.
pub(crate) fn demanded(plugin: &Path) -> Result<Option<Isolation>, String> {
    let file = beside(plugin);
    let wrong = |why: String| format!("`{}`, which isolates it, cannot be used: {why}", file.display());
    match fs::read_to_string(&file) {
        Ok(text) => text.trim().parse().map(Some).map_err(wrong),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(wrong(error.to_string())),
    }
}

/// Settings as arguments have them: `memory=1GiB,pass-seconds=60`. Paths start at the current folder.
impl FromStr for Isolation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut isolation = Self::default();
        for setting in text.split(',').filter(|setting| !setting.is_empty()) {
            let (name, value) = setting
                .split_once('=')
                .ok_or_else(|| format!("`{setting}` is not a setting, such as `memory=1GiB`"))?;
            isolation.set(name.trim(), value.trim(), Path::new(""))?;
        }
        Ok(isolation)
    }
}

/// The units of sizes.
const UNITS: [(&str, u64); 4] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("", 1)];

/// A number of bytes, as a user writes it: `4 GiB`, `512MiB`, `1048576`.
pub fn size(text: &str) -> Option<u64> {
    let digits = text.trim().trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = &text.trim()[digits.len()..];
    let (_, bytes) = UNITS.into_iter().find(|(name, _)| *name == unit)?;
    digits.trim().parse::<u64>().ok()?.checked_mul(bytes)
}

/// A number of bytes in the greatest unit of which it is a whole number.
pub fn size_text(bytes: u64) -> String {
    match UNITS.into_iter().find(|(_, unit)| bytes >= *unit && bytes.is_multiple_of(*unit)) {
        Some((name, unit)) if unit > 1 => format!("{} {name}", bytes / unit),
        _ => format!("{bytes} bytes"),
    }
}

/// Returns the command that starts a worker: a program that calls `relais::serve::serve`.
pub type Launcher = fn() -> io::Result<Command>;

static LAUNCHER: OnceLock<Launcher> = OnceLock::new();
static PYTHON: OnceLock<Launcher> = OnceLock::new();

/// Sets how workers are started, for the whole program. The first call counts.
pub fn launch_workers_by(launcher: Launcher) {
    let _ = LAUNCHER.set(launcher);
}

/// Sets how the workers of plugins in Python are started, for the whole program: by a command that runs the module
/// `relais_onnx.worker`. The first call counts.
pub fn launch_python_by(launcher: Launcher) {
    let _ = PYTHON.set(launcher);
}

/// The command that starts a worker.
///
/// # Errors
/// Returns an error if this program has none.
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "there are no workers"))]
pub(crate) fn command() -> io::Result<Command> {
    let launcher =
        LAUNCHER.get().ok_or_else(|| io::Error::other("this program does not say how workers are started"))?;
    launcher()
}

/// The command that starts the worker of a plugin in Python.
///
/// # Errors
/// Returns an error if this program has none.
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "there are no workers"))]
pub(crate) fn python() -> io::Result<Command> {
    let launcher = PYTHON.get().ok_or_else(|| io::Error::other("this program does not say how Python is started"))?;
    launcher()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_written() {
        for (text, bytes) in [("4 GiB", 4 << 30), ("512MiB", 512 << 20), ("3 KiB", 3072), ("17", 17)] {
            assert_eq!(size(text), Some(bytes), "{text}");
        }
        for wrong in ["", "GiB", "4GB", "-1", "1.5GiB", "99999999999GiB"] {
            assert_eq!(size(wrong), None, "{wrong}");
        }
        assert_eq!([size_text(4 << 30), size_text(1536 << 20), size_text(17)], ["4 GiB", "1536 MiB", "17 bytes"]);
    }

    #[test]
    #[cfg(unix)]
    fn settings_are_read_and_written() {
        let text = "memory=1GiB,pass-seconds=60,threads=2,restarts=0,sandbox=strict,read=/tmp,env=A,env=B";
        let isolation: Isolation = text.parse().unwrap();
        assert_eq!((isolation.memory, isolation.pass_seconds), (Some(1 << 30), Some(60)));
        assert_eq!((&isolation.read[..], &isolation.env[..]), (&["/tmp".into()][..], &["A".into(), "B".into()][..]));
        let limits = "memory = \"1 GiB\", pass_seconds = 60, threads = 2, restarts = 0";
        let reach = "sandbox = \"strict\", read = [\"/tmp\"], env = [\"A\", \"B\"]";
        assert_eq!(isolation.toml(), format!("{limits}, {reach}"));
        assert_eq!(isolation.to_string(), text);
        assert_eq!("".parse(), Ok(Isolation::default()));
        assert_eq!(Isolation::default().toml(), "");
        for (wrong, why) in [
            ("memory", "`memory` is not a setting, such as `memory=1GiB`"),
            ("memory=0", "`0` is not a size, such as `1GiB`"),
            ("threads=0", "`0` is not a number for `threads`"),
            ("sandbox=tight", "`tight` is not `usual`, `strict` or `none`"),
            ("read=/", "`/` is not a file or a folder that a sandbox can leave open"),
            ("read=", "`` is not a file or a folder that a sandbox can leave open"),
            ("env=", "`` is not the name of a variable"),
            (
                "cores=2",
                "`cores` is not a setting; the settings are memory, pass_seconds, threads, restarts, sandbox, read, env",
            ),
        ] {
            assert_eq!(wrong.parse::<Isolation>(), Err(why.to_owned()));
        }
    }
}

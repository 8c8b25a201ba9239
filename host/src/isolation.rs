//! How plugins are isolated: the limits of their processes, and the program that these are.

use std::{io, process::Command, str::FromStr, sync::OnceLock};

/// How a plugin is isolated: the limits of its process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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
}

impl Default for Isolation {
    fn default() -> Self {
        Self { memory: None, pass_seconds: None, threads: None, restarts: 2 }
    }
}

/// The names of the limits, in TOML; on the command line, `pass-seconds` is one, too.
pub(crate) const LIMITS: [&str; 4] = ["memory", "pass_seconds", "threads", "restarts"];

impl Isolation {
    /// Sets a limit by its name.
    ///
    /// # Errors
    /// Returns an error if there is no such limit, or the value is none.
    pub fn set(&mut self, limit: &str, value: &str) -> Result<(), String> {
        let number = || value.parse::<u64>().ok().filter(|&number| number > 0 || limit == "restarts");
        let wrong = || format!("`{value}` is not a number for `{limit}`");
        match limit.replace('-', "_").as_str() {
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
            _ => return Err(format!("there is no limit `{limit}`; there are {}", LIMITS.join(", "))),
        }
        Ok(())
    }
}

impl Isolation {
    /// The limits that are not the usual ones, as TOML.
    pub(crate) fn toml(&self) -> String {
        let Self { memory, pass_seconds, threads, restarts } = *self;
        let limits = [
            memory.map(|bytes| format!("memory = \"{}\"", size_text(bytes).trim_end_matches(" bytes"))),
            pass_seconds.map(|seconds| format!("pass_seconds = {seconds}")),
            threads.map(|threads| format!("threads = {threads}")),
            (restarts != Self::default().restarts).then(|| format!("restarts = {restarts}")),
        ];
        limits.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

/// Limits as arguments have them: `memory=1GiB,pass-seconds=60`.
impl FromStr for Isolation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut isolation = Self::default();
        for limit in text.split(',').filter(|limit| !limit.is_empty()) {
            let (name, value) =
                limit.split_once('=').ok_or_else(|| format!("`{limit}` is not a limit, such as `memory=1GiB`"))?;
            isolation.set(name.trim(), value.trim())?;
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

/// Sets how workers are started, for the whole program. The first call counts.
pub fn launch_workers_by(launcher: Launcher) {
    let _ = LAUNCHER.set(launcher);
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
    fn limits_are_read_and_written() {
        let text = "memory=1GiB,pass-seconds=60,threads=2,restarts=0";
        let isolation: Isolation = text.parse().unwrap();
        assert_eq!((isolation.memory, isolation.pass_seconds), (Some(1 << 30), Some(60)));
        assert_eq!(isolation.toml(), "memory = \"1 GiB\", pass_seconds = 60, threads = 2, restarts = 0");
        assert_eq!("".parse(), Ok(Isolation::default()));
        assert_eq!(Isolation::default().toml(), "");
        for (wrong, why) in [
            ("memory", "`memory` is not a limit, such as `memory=1GiB`"),
            ("memory=0", "`0` is not a size, such as `1GiB`"),
            ("threads=0", "`0` is not a number for `threads`"),
            ("cores=2", "there is no limit `cores`; there are memory, pass_seconds, threads, restarts"),
        ] {
            assert_eq!(wrong.parse::<Isolation>(), Err(why.to_owned()));
        }
    }
}

//! Standard output, which results may have for themselves.

use std::{
    fs::File,
    io::{self, BufWriter, IsTerminal, Write},
    sync::OnceLock,
};

/// Standard output, if results have it for themselves.
static RESERVED: OnceLock<File> = OnceLock::new();

/// Reserves standard output for what is written to it as a [`Destination`](crate::Destination). Whatever else this process
/// prints there from now on, plugins included, goes to standard error. Only Unix can do that.
///
/// # Errors
/// Returns an error if the system refuses; then nothing changes.
#[cfg(unix)]
pub fn reserve_standard_output() -> io::Result<()> {
    use std::os::fd::AsFd;
    if RESERVED.get().is_some() {
        return Ok(());
    }
    io::stdout().flush()?;
    let own = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    rustix::stdio::dup2_stdout(io::stderr())?;
    RESERVED.get_or_init(|| own);
    Ok(())
}

/// Reserves nothing: this system cannot.
///
/// # Errors
/// None.
#[cfg(not(unix))]
pub fn reserve_standard_output() -> io::Result<()> {
    Ok(())
}

/// Writes to standard output.
pub(crate) fn write(fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    match RESERVED.get() {
        Some(own) => fill(&mut BufWriter::new(own)),
        None => fill(&mut io::stdout().lock()),
    }
}

/// Whether standard output is a terminal.
pub(crate) fn is_terminal() -> bool {
    RESERVED.get().map_or_else(|| io::stdout().is_terminal(), File::is_terminal)
}

//! `memory`: how much memory the process has around passes.

use super::BuiltIn;
use crate::{
    pass::{InstrumentFindings, PassInfo, PassInstrument},
    table::{indented, table},
    words::bytes,
};
use relais_plugin_api::{diagnostics::PassError, ir::IRModule};
use serde_json::json;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

inventory::submit! {
    BuiltIn {
        name: "memory",
        doc: "Measures the memory of the process around passes, on Linux.\n\
              Its peak, and by how much what no file backs grew; what other threads of the process do counts, too.",
        options: Vec::new,
        make: |_, _| Ok(Arc::new(Memory::default())),
    }
}

/// Measures the memory of the process around passes.
#[derive(Default)]
pub struct Memory {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    done: Vec<Measured>,
    open: Vec<Open>,
    /// Whether the system can reset the peak, so that it is that of one pass and not of all passes before it too.
    peak_is_of_pass: bool,
    /// Nothing could be read.
    is_blind: bool,
}

struct Open {
    /// Index into `done`.
    at: usize,
    anonymous: u64,
    /// The highest peak so far while it ran.
    peak: u64,
}

#[derive(Clone)]
struct Measured {
    pass: String,
    depth: usize,
    peak: u64,
    /// The growth of the memory that is not backed by files, in bytes; negative if it shrank.
    growth: i64,
}

/// The system's figures about the process.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Usage {
    /// The highest resident size since the last reset.
    peak: u64,
    /// Resident and not backed by a file.
    anonymous: u64,
}

impl Usage {
    #[cfg(target_os = "linux")]
    fn now() -> Option<Self> {
        Self::read(&std::fs::read_to_string("/proc/self/status").ok()?)
    }

    #[cfg(not(target_os = "linux"))]
    fn now() -> Option<Self> {
        None
    }

    /// Reads the text of `/proc/self/status`.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "there is no such text elsewhere"))]
    fn read(status: &str) -> Option<Self> {
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
            let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
            kib.checked_mul(1024)
        };
        // Kernels before 4.5 do not distinguish memory backed by files.
        Some(Self { peak: field("VmHWM")?, anonymous: field("RssAnon").or_else(|| field("VmRSS"))? })
    }

    /// Resets the peak, if the system can.
    fn reset_peak() -> bool {
        cfg!(target_os = "linux") && std::fs::write("/proc/self/clear_refs", "5").is_ok()
    }
}

impl Memory {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self) {
        let mut state = self.lock();
        let usage = Usage::now().unwrap_or_default();
        let Some(Open { at, anonymous, peak }) = state.open.pop() else { return };
        let peak = peak.max(usage.peak);
        let signed = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
        let entry = &mut state.done[at];
        (entry.peak, entry.growth) = (peak, signed(usage.anonymous) - signed(anonymous));
        if let Some(around) = state.open.last_mut() {
            around.peak = around.peak.max(peak);
        }
    }
}

impl PassInstrument for Memory {
    fn name(&self) -> &str {
        "memory"
    }

    fn before(&self, _module: &IRModule, pass: &PassInfo<'_>) -> Result<(), PassError> {
        let mut state = self.lock();
        let usage = Usage::now();
        state.is_blind |= usage.is_none();
        let usage = usage.unwrap_or_default();
        // The peak before this pass belongs to the enclosing pass.
        if let Some(around) = state.open.last_mut() {
            around.peak = around.peak.max(usage.peak);
        }
        state.peak_is_of_pass = Usage::reset_peak();
        let (at, depth) = (state.done.len(), state.open.len());
        state.done.push(Measured { pass: pass.name.to_owned(), depth, peak: 0, growth: 0 });
        state.open.push(Open { at, anonymous: usage.anonymous, peak: 0 });
        Ok(())
    }

    fn after(&self, _module: &IRModule, _pass: &PassInfo<'_>) -> Result<(), PassError> {
        self.close();
        Ok(())
    }

    fn failed(&self, _pass: &PassInfo<'_>, _error: &PassError) {
        self.close();
    }

    fn findings(&self) -> Option<InstrumentFindings> {
        let state = self.lock();
        if state.is_blind {
            let text = "memory is not measured here: the system does not tell it as Linux does\n".to_owned();
            return Some(InstrumentFindings { text, data: serde_json::Value::Null });
        }
        let growth = |n: i64| format!("{}{}", if n < 0 { "-" } else { "+" }, bytes(n.unsigned_abs()));
        let row =
            |Measured { pass, depth, peak, growth: n }: &Measured| [indented(pass, *depth), bytes(*peak), growth(*n)];
        let mut text = table(1, &["pass", "peak", "growth"], &state.done.iter().map(row).collect::<Vec<_>>());
        text.push_str(match state.peak_is_of_pass {
            true => "peak is what the process had resident at most while the pass ran",
            false => "peak is what the process had resident at most so far: the system does not let it begin anew",
        });
        text.push_str("; growth is of what no file backs\n");
        let entry = |measured: &Measured| {
            let Measured { pass, depth, peak, growth } = measured;
            json!({ "pass": pass, "depth": depth, "peak_bytes": peak, "growth_bytes": growth })
        };
        let passes: serde_json::Value = state.done.iter().map(entry).collect();
        Some(InstrumentFindings { text, data: json!({ "peak_is_of_pass": state.peak_is_of_pass, "passes": passes }) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_is_read_or_not_believed() {
        let text = "Name:\trelais\nVmHWM:\t    2048 kB\nVmRSS:\t 1024 kB\nRssAnon:\t     512 kB\n";
        assert_eq!(Usage::read(text), Some(Usage { peak: 2 << 20, anonymous: 512 << 10 }));
        assert_eq!(Usage::read("VmHWM: 1 kB\nVmRSS: 2 kB\n"), Some(Usage { peak: 1024, anonymous: 2048 }));
        for wrong in
            ["", "VmHWM: 1 kB\n", "VmHWM: x kB\nVmRSS: 1 kB\n", "VmHWM: 99999999999999999999 kB\nVmRSS: 1 kB\n"]
        {
            assert_eq!(Usage::read(wrong), None, "{wrong}");
        }
    }
}

//! The table of a plugin that shares no types with this library, as `plugin-api/c/relais.h` declares it for C, and calls of
//! its functions: bytes in, bytes out.

#![expect(unsafe_code, reason = "bytes and functions of code that shares no types")]

use super::{
    setup,
    texts::{cut, escaped},
};
use relais_plugin_api::{
    boundary::{
        abi::{error_kind, log_level, operator_part},
        guard::caught,
        ship::{FORMAT, Ship},
    },
    diagnostics::{Diagnostic, PassError, Severity},
    ir::{Blob, NodeId},
};
use std::{
    ffi::c_void,
    fmt,
    mem::offset_of,
    ptr,
    sync::{Mutex, PoisonError},
};

/// Bytes that belong to who passes them, for the length of the call.
#[repr(C)]
#[derive(Clone, Copy)]
struct CBytes {
    at: *const c_void,
    len: u64,
}

impl CBytes {
    fn of(bytes: &[u8]) -> Self {
        Self { at: bytes.as_ptr().cast(), len: bytes.len() as u64 }
    }

    /// The bytes.
    ///
    /// # Errors
    /// Returns an error if they cannot be any.
    ///
    /// # Safety
    /// If the pointer is not null, that many bytes are there, and stay until the call ends.
    unsafe fn read<'a>(self, what: &str) -> Result<&'a [u8], String> {
        match usize::try_from(self.len).ok().filter(|&len| isize::try_from(len).is_ok()) {
            Some(0) => Ok(&[]),
            Some(len) if !self.at.is_null() => {
                // SAFETY: the caller's promise.
                Ok(unsafe { std::slice::from_raw_parts(self.at.cast(), len) })
            }
            Some(len) => Err(format!("it gave a null pointer for {len} bytes of {what}")),
            None => Err(format!("it gave {} bytes of {what}, more than there can be", self.len)),
        }
    }
}

/// The functions of the host during a call, and the bytes that what is shipped refers to.
#[repr(C)]
struct CHost {
    size: u32,
    format: u32,
    call: *const c_void,
    shared: *const CBytes,
    n_shared: u64,
    answer: extern "C" fn(*const CHost, CBytes),
    fail: extern "C" fn(*const CHost, u32, CBytes),
    diagnostic: extern "C" fn(*const CHost, u32, u32, CBytes),
    log: extern "C" fn(*const CHost, u32, CBytes),
    count: extern "C" fn(*const CHost, CBytes, u64),
    file: extern "C" fn(*const CHost, CBytes, CBytes),
    config: extern "C" fn(*const CHost, CBytes) -> CBytes,
    is_cancelled: extern "C" fn(*const CHost) -> u32,
}

/// The functions of a plugin. A later version has more, at the end.
#[repr(C)]
#[derive(Clone, Copy)]
struct CTable {
    size: u32,
    format: u32,
    create: Option<unsafe extern "C" fn(*const CHost, CBytes, CBytes, *mut *mut c_void) -> i32>,
    drop: Option<unsafe extern "C" fn(*mut c_void)>,
    run: Option<unsafe extern "C" fn(*const CHost, *mut c_void, CBytes, CBytes) -> i32>,
    operator: Option<unsafe extern "C" fn(*const CHost, u32, CBytes, CBytes, u32, CBytes) -> i32>,
}

/// The bytes of the first version of the table.
const FIRST_SIZE: usize = size_of::<CTable>();

/// A plugin's table that was checked.
#[derive(Clone, Copy)]
pub struct CPlugin {
    table: CTable,
    /// The plugin's name, which its records of the log are from.
    name: &'static str,
}

/// The state of a pass that a plugin made: a pointer that only the plugin looks behind.
pub(super) struct CState {
    plugin: CPlugin,
    pointer: *mut c_void,
}

// SAFETY: the plugin promises that its functions may use the state from any thread (`docs/abi.md`).
unsafe impl Send for CState {}
// SAFETY: as above.
unsafe impl Sync for CState {}

impl Drop for CState {
    fn drop(&mut self) {
        if let Some(drop) = self.plugin.table.drop {
            // SAFETY: the plugin made the state, and it is not used afterwards.
            unsafe { drop(self.pointer) };
        }
    }
}

/// The requests that a plugin may make of the host during a call.
pub(super) trait Requests: Sync {
    /// Takes a diagnostic.
    fn diagnostic(&self, _diagnostic: Diagnostic) {}
    /// Adds to a statistic.
    fn count(&self, _statistic: &str, _n: u64) {}
    /// Takes a file.
    fn file(&self, _name: &str, _contents: &[u8]) -> Result<(), PassError> {
        Err(PassError::new("only passes give files"))
    }
    /// An option of the context, encoded.
    fn config(&self, _key: &str) -> Option<Vec<u8>> {
        None
    }
    /// Whether the call should end.
    fn is_cancelled(&self) -> bool;
}

/// Why a call failed.
pub(super) struct CFailure {
    /// One of [`c_failure`].
    pub kind: u32,
    /// The plugin's message.
    pub message: String,
    /// Whether the plugin broke the rules of the call.
    pub is_lie: bool,
}

/// The kinds of failure that a plugin names.
pub(super) mod c_failure {
    /// It failed; of an operator, the call is wrong.
    pub const FAILED: u32 = 0;
    /// An operator's function does not cover the call.
    pub const UNSUPPORTED: u32 = 1;
    /// It ended because it was told to.
    pub const CANCELLED: u32 = 2;
    /// The options are not ones that the pass accepts.
    pub const OPTIONS: u32 = 3;
}

/// The severity of a remark about something that was done.
const REMARK_DONE: u32 = 256;

impl From<CFailure> for PassError {
    fn from(failure: CFailure) -> Self {
        let kind = match failure.kind {
            _ if failure.is_lie => error_kind::HOST,
            c_failure::CANCELLED => error_kind::CANCELLED,
            c_failure::OPTIONS => error_kind::OPTIONS,
            _ => error_kind::RETURNED,
        };
        Self::with_kind(kind, failure.message)
    }
}

/// A call while it lasts.
struct Call<'a> {
    plugin: &'static str,
    requests: &'a dyn Requests,
    said: Mutex<Said>,
}

/// The statements of the plugin so far.
#[derive(Default)]
struct Said {
    answer: Option<Vec<u8>>,
    failure: Option<(u32, String)>,
    lie: Option<String>,
    /// Values of options, which the plugin looks at until the call ends.
    values: Vec<Box<[u8]>>,
}

impl Call<'_> {
    fn said(&self, then: impl FnOnce(&mut Said)) {
        then(&mut self.said.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Calls `body` with the call that the host's functions belong to. Nothing unwinds through the plugin; a fault of its own
/// in what it passed makes the call fail.
fn within(host: *const CHost, body: impl FnOnce(&Call<'_>) -> Result<(), String>) {
    if host.is_null() {
        return;
    }
    // SAFETY: the plugin passes the host that it was given, which is there until the call ends (`docs/abi.md`).
    let call = unsafe { &*(*host).call.cast::<Call<'_>>() };
    let result = caught(|| body(call)).unwrap_or_else(|panic| Err(panic.to_string()));
    if let Err(lie) = result {
        call.said(|said| {
            said.lie.get_or_insert(lie);
        });
    }
}

/// A text of a plugin.
///
/// # Safety
/// As [`CBytes::read`].
unsafe fn text(bytes: CBytes, what: &str) -> Result<String, String> {
    // SAFETY: the caller's promise.
    let bytes = unsafe { bytes.read(what)? };
    Ok(escaped(&cut(&String::from_utf8_lossy(bytes))).into_owned())
}

extern "C" fn answer(host: *const CHost, bytes: CBytes) {
    within(host, |call| {
        // SAFETY: the plugin's promise about what it passes.
        let bytes = unsafe { bytes.read("its answer")? };
        let mut copy = Vec::new();
        copy.try_reserve_exact(bytes.len()).map_err(|_| "its answer does not fit into memory")?;
        copy.extend_from_slice(bytes);
        call.said(|said| said.answer = Some(copy));
        Ok(())
    });
}

extern "C" fn fail(host: *const CHost, kind: u32, message: CBytes) {
    within(host, |call| {
        // SAFETY: the plugin's promise about what it passes.
        let message = unsafe { text(message, "a message")? };
        call.said(|said| said.failure = Some((kind, message)));
        Ok(())
    });
}

extern "C" fn diagnostic(host: *const CHost, severity: u32, node: u32, message: CBytes) {
    within(host, |call| {
        // SAFETY: the plugin's promise about what it passes.
        let message = unsafe { text(message, "a message")? };
        let diagnostic = match severity {
            REMARK_DONE => Diagnostic::passed(message),
            severity => Diagnostic::new(Severity(u8::try_from(severity).unwrap_or(u8::MAX)), message),
        };
        call.requests.diagnostic(diagnostic.at(NodeId(node)));
        Ok(())
    });
}

extern "C" fn log(host: *const CHost, level: u32, message: CBytes) {
    within(host, |call| {
        // SAFETY: the plugin's promise about what it passes.
        let message = unsafe { text(message, "a message")? };
        setup::log_text(call.plugin, u8::try_from(level).unwrap_or(log_level::TRACE), &message);
        Ok(())
    });
}

extern "C" fn count(host: *const CHost, statistic: CBytes, n: u64) {
    within(host, |call| {
        // SAFETY: the plugin's promise about what it passes.
        call.requests.count(&unsafe { text(statistic, "a statistic's name")? }, n);
        Ok(())
    });
}

extern "C" fn file(host: *const CHost, name: CBytes, contents: CBytes) {
    within(host, |call| {
        // SAFETY: the plugin's promise about what it passes.
        let (name, contents) = unsafe { (text(name, "a file's name")?, contents.read("a file")?) };
        let refused = call.requests.file(&name, contents);
        call.said(|said| {
            if let Err(error) = refused {
                said.failure.get_or_insert((c_failure::FAILED, error.to_string()));
            }
        });
        Ok(())
    });
}

extern "C" fn config(host: *const CHost, key: CBytes) -> CBytes {
    let mut value = CBytes { at: ptr::null(), len: 0 };
    within(host, |call| {
        // SAFETY: the plugin's promise about what it passes.
        let key = unsafe { text(key, "an option's name")? };
        if let Some(found) = call.requests.config(&key) {
            let found = found.into_boxed_slice();
            value = CBytes::of(&found);
            // The box is moved, what it holds is not.
            call.said(|said| said.values.push(found));
        }
        Ok(())
    });
    value
}

extern "C" fn is_cancelled(host: *const CHost) -> u32 {
    let mut answer = 0;
    within(host, |call| {
        answer = u32::from(call.requests.is_cancelled());
        Ok(())
    });
    answer
}

impl CPlugin {
    /// Reads the table that the symbol of a plugin of that name is.
    ///
    /// # Errors
    /// Returns an error if it is not one.
    ///
    /// # Safety
    /// If the pointer is neither null nor odd, a number is there, and as many bytes as it says.
    pub(super) unsafe fn new(table: *const u32, name: &str) -> Result<Self, String> {
        if table.is_null() || !table.cast::<CTable>().is_aligned() {
            return Err("it is not a table".into());
        }
        // SAFETY: the caller's promise.
        let size = unsafe { *table } as usize;
        if size < FIRST_SIZE {
            return Err(format!(
                "its table says that it has {size} bytes, where the first version of it has {FIRST_SIZE}"
            ));
        }
        // SAFETY: the caller's promise; the functions of the first version may be null.
        let table = unsafe { *table.cast::<CTable>() };
        if table.format != FORMAT {
            let format = table.format;
            return Err(format!("it takes modules in format {format}, and this host ships them in format {FORMAT}"));
        }
        // Its library stays open for as long.
        Ok(Self { table, name: name.to_owned().leak() })
    }

    fn call(
        &self,
        requests: &dyn Requests,
        shared: &[Blob],
        call: impl FnOnce(*const CHost) -> i32,
    ) -> Result<Option<Vec<u8>>, CFailure> {
        let state = Call { plugin: self.name, requests, said: Mutex::default() };
        let shared: Vec<CBytes> = shared.iter().map(|blob| CBytes::of(blob)).collect();
        let host = CHost {
            size: size_of::<CHost>() as u32,
            format: FORMAT,
            call: ptr::from_ref(&state).cast(),
            shared: shared.as_ptr(),
            n_shared: shared.len() as u64,
            answer,
            fail,
            diagnostic,
            log,
            count,
            file,
            config,
            is_cancelled,
        };
        let status = call(&raw const host);
        let Said { answer, failure, lie, .. } = state.said.into_inner().unwrap_or_else(PoisonError::into_inner);
        let lied = |message| CFailure { kind: c_failure::FAILED, message, is_lie: true };
        match (lie, failure, status) {
            (Some(lie), ..) => Err(lied(lie)),
            (None, Some((kind, message)), _) => Err(CFailure { kind, message, is_lie: false }),
            (None, None, 0) => Ok(answer),
            (None, None, status) => Err(CFailure {
                kind: c_failure::FAILED,
                message: format!("it returned {status} and did not say why"),
                is_lie: false,
            }),
        }
    }

    /// Makes a pass: its full name, its options as an encoded table.
    pub(super) fn create(&self, name: &str, options: &[u8], requests: &dyn Requests) -> Result<CState, CFailure> {
        let mut state = CState { plugin: *self, pointer: ptr::null_mut() };
        if let Some(create) = self.table.create {
            let pointer = &raw mut state.pointer;
            // SAFETY: the plugin's function, with what it takes.
            let made = self.call(requests, &[], |host| unsafe {
                create(host, CBytes::of(name.as_bytes()), CBytes::of(options), pointer)
            });
            if let Err(failure) = made {
                // Nothing was made.
                std::mem::forget(state);
                return Err(failure);
            }
        }
        Ok(state)
    }

    /// Runs a pass on what is shipped: a function of that name, or a module, which has none. Returns what came back;
    /// nothing means that nothing changed.
    pub(super) fn run(
        state: &CState,
        name: &str,
        ship: &Ship,
        requests: &dyn Requests,
    ) -> Result<Option<Vec<u8>>, CFailure> {
        let Some(run) = state.plugin.table.run else { return Err(CFailure::lacks("run")) };
        // SAFETY: the plugin's function, with what it takes, and a state that it made.
        state.plugin.call(requests, ship.shared(), |host| unsafe {
            run(host, state.pointer, CBytes::of(name.as_bytes()), CBytes::of(ship.bytes()))
        })
    }

    /// Asks a function of an operator about a call, which is shipped as a function of its own.
    pub(super) fn operator(
        &self,
        part: u8,
        (domain, name, since): (&str, &str, u32),
        ship: &Ship,
        requests: &dyn Requests,
    ) -> Result<Vec<u8>, CFailure> {
        let is_silent = part == operator_part::VERIFIER;
        let Some(operator) = self.table.operator else { return Err(CFailure::lacks("operator")) };
        let (domain, name) = (CBytes::of(domain.as_bytes()), CBytes::of(name.as_bytes()));
        // SAFETY: the plugin's function, with what it takes.
        let answer = self.call(requests, ship.shared(), |host| unsafe {
            operator(host, part.into(), domain, name, since, CBytes::of(ship.bytes()))
        })?;
        let answer = answer.or_else(|| is_silent.then(Vec::new));
        let silent = || CFailure { kind: c_failure::FAILED, message: "it gave no answer".into(), is_lie: true };
        answer.ok_or_else(silent)
    }

    /// Whether the plugin has functions of operators.
    pub(super) fn has_operators(&self) -> bool {
        self.table.operator.is_some()
    }

    /// Where its code is.
    pub(super) fn address(&self) -> *const c_void {
        let functions = [self.table.run.map(|f| f as *const c_void), self.table.operator.map(|f| f as *const c_void)];
        functions.into_iter().flatten().next().unwrap_or(ptr::null())
    }
}

impl CFailure {
    fn lacks(function: &str) -> Self {
        let message = format!("its table has no function `{function}`, which its records ask for");
        Self { kind: c_failure::FAILED, message, is_lie: true }
    }
}

impl fmt::Display for CFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// The layouts that the header declares.
const _: () = {
    assert!(size_of::<CBytes>() == 16 && offset_of!(CBytes, len) == 8);
    assert!(offset_of!(CTable, create) == 8 && size_of::<CTable>() == 40);
    assert!(offset_of!(CHost, shared) == 16 && offset_of!(CHost, answer) == 32 && size_of::<CHost>() == 96);
};

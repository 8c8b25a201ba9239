//! The messages between the host and a worker.
//!
//! A message is a header, fields as records have them, and a body: what is shipped, and the bytes that it refers to and that
//! the other side does not have yet.

use relais_plugin_api::{
    boundary::{
        ship::Exchange,
        wire::{Field, Fields, Malformed, push_field},
    },
    diagnostics::{Diagnostic, DiagnosticRec, PassError, PassErrorRec, Severity},
    ir::{Blob, Lists, NodeId, Numbers},
};
use std::fs::File;

/// The version of what follows. Host and worker are of one version, and others are refused.
pub const PROTOCOL: u32 = 1;

/// The status of a worker whose connection is gone.
pub const LOST: i32 = 97;

/// The subjects of messages.
pub mod kind {
    /// To the worker: the plugin, and what it may use.
    pub const OPEN: u16 = 1;
    /// The plugin is open.
    pub const OPENED: u16 = 2;
    /// The plugin is refused: why.
    pub const REFUSED: u16 = 3;
    /// To the worker: one more lane, with its descriptor.
    pub const LANE: u16 = 4;
    /// To the worker: the call on a lane should end.
    pub const CANCEL: u16 = 5;
    /// To the host: a record of the log.
    pub const LOG: u16 = 6;

    /// To the worker: make a pass.
    pub const CREATE: u16 = 16;
    /// To the worker: drop a pass.
    pub const DROP: u16 = 17;
    /// To the worker: run on a function.
    pub const FUNCTION: u16 = 18;
    /// To the worker: run on a loop program.
    pub const PRIM_FUNC: u16 = 19;
    /// To the worker: run on a module.
    pub const MODULE: u16 = 20;
    /// To the worker: say whether a pass can work on a module.
    pub const CHECK: u16 = 21;
    /// To the worker: name the members of a sequence.
    pub const STEPS: u16 = 22;
    /// To the worker: begin on a module.
    pub const BEGIN: u16 = 23;
    /// To the worker: run on a function after it has begun.
    pub const ON_FUNCTION: u16 = 24;
    /// To the worker: end.
    pub const END: u16 = 25;
    /// To the worker: ask a part of an operator about a call.
    pub const OPERATOR: u16 = 26;
    /// To the worker: make an instrument.
    pub const INSTRUMENT: u16 = 27;
    /// To the worker: call a hook of an instrument.
    pub const HOOK: u16 = 28;
    /// To the worker: compute an analysis of what is shipped.
    pub const ANALYSE: u16 = 29;

    /// The result of a call.
    pub const DONE: u16 = 32;
    /// A call failed: why.
    pub const FAILED: u16 = 33;
    /// To the host: ship the module.
    pub const ASK_MODULE: u16 = 34;
    /// To the host: make a pass.
    pub const GET_PASS: u16 = 35;
    /// To the host: run a pass.
    pub const RUN_PASS: u16 = 36;
    /// To the host: take a file.
    pub const FILE: u16 = 37;
    /// To the host: how far the pass is. There is no answer.
    pub const PROGRESS: u16 = 38;
    /// To the host: enter a context.
    pub const ENTER: u16 = 39;
    /// To the host: leave a context.
    pub const LEAVE: u16 = 40;
    /// To the worker: an answer.
    pub const ANSWER: u16 = 41;
}

/// The sandboxes that a worker may be told to enter.
pub mod sandbox {
    /// None.
    pub const NONE: u64 = 0;
    /// As far as the kernel can do it.
    pub const USUAL: u64 = 1;
    /// All of it, or nothing runs.
    pub const STRICT: u64 = 2;
}

/// The hooks of instruments.
pub mod hook {
    /// The context is about to be entered.
    pub const ENTER: u64 = 1;
    /// It was left.
    pub const EXIT: u64 = 2;
    /// Whether a pass may run.
    pub const SHOULD_RUN: u64 = 3;
    /// A pass is about to run.
    pub const BEFORE: u64 = 4;
    /// A pass ran.
    pub const AFTER: u64 = 5;
    /// A pass did not run.
    pub const SKIPPED: u64 = 6;
    /// A pass failed.
    pub const FAILED: u64 = 7;
    /// A pass counted something.
    pub const COUNTED: u64 = 8;
    /// A pass said something.
    pub const SAID: u64 = 9;
    /// A pass took time.
    pub const TOOK: u64 = 10;
    /// Whether the result of a pass is accepted.
    pub const ACCEPT: u64 = 11;
    /// The findings.
    pub const FINDINGS: u64 = 12;
    /// The time that a pass has.
    pub const TIME_LIMIT: u64 = 13;
}

/// The fields of messages.
pub mod tag {
    /// The protocol.
    pub const PROTOCOL: u16 = 1;
    /// A name.
    pub const NAME: u16 = 2;
    /// A text.
    pub const TEXT: u16 = 3;
    /// A file of a plugin; for the plugin itself, [`OWN_FILE`].
    pub const FILE: u16 = 4;
    /// The file of the plugin that is opened; none if it is linked.
    pub const OWN_FILE: u16 = 5;
    /// The SHA-256 that it must have.
    pub const SHA256: u16 = 6;
    /// Whether linked plugins count.
    pub const LINKED: u16 = 7;
    /// A target.
    pub const TARGET: u16 = 8;
    /// An operator that is taken from a plugin: domain, name, plugin.
    pub const PREFERENCE: u16 = 9;
    /// The most bytes of memory.
    pub const MEMORY: u16 = 10;
    /// The most verbose level that is logged.
    pub const LOG_LEVEL: u16 = 11;
    /// A number.
    pub const NUMBER: u16 = 12;
    /// A further number.
    pub const TOTAL: u16 = 13;
    /// Encoded bytes: options, settings, contents.
    pub const BYTES: u16 = 14;
    /// A context, encoded.
    pub const CONTEXT: u16 = 15;
    /// Whether remarks are wanted.
    pub const REMARKS: u16 = 16;
    /// The global that the call is about.
    pub const GLOBAL: u16 = 17;
    /// A diagnostic.
    pub const DIAGNOSTIC: u16 = 18;
    /// A count: the number, then the statistic.
    pub const COUNT: u16 = 19;
    /// Why something failed.
    pub const ERROR: u16 = 20;
    /// The number of the state of a pass that has begun.
    pub const BEGUN: u16 = 21;
    /// A member of a sequence: its options' length, its options, its name.
    pub const STEP: u16 = 22;
    /// How many bytes of the body are what is shipped.
    pub const SHIP: u16 = 23;
    /// Bytes of the body that are shared from now on: how many.
    pub const SHARED: u16 = 24;
    /// The same of a file: its descriptor is one of those that come with the message.
    pub const SHARED_FILE: u16 = 25;
    /// A record of the log: its level.
    pub const LEVEL: u16 = 26;
    /// Whether what was shipped is as it was.
    pub const UNCHANGED: u16 = 27;
    /// The number of a call.
    pub const CALL: u16 = 29;
    /// Whether the function is the one that was shipped last.
    pub const SAME: u16 = 28;
    /// Whether it is to enter a sandbox, and if nothing may run without one.
    pub const SANDBOX: u16 = 30;
    /// A file or folder that can be read in the sandbox.
    pub const READ: u16 = 31;
    /// The number of an instrument.
    pub const INSTRUMENT: u16 = 32;
    /// The hook that is called.
    pub const HOOK: u16 = 33;
    /// The pass that a hook is about: its level, its optimisation level, its name.
    pub const PASS: u16 = 34;
    /// The plugin of that pass.
    pub const PLUGIN: u16 = 35;
    /// A pass that it requires.
    pub const REQUIRED: u16 = 36;
    /// The version of the host.
    pub const HOST: u16 = 37;
    /// A list of 32-bit numbers: the length of its name, its name, its numbers.
    pub const NARROW: u16 = 38;
    /// A list of 64-bit numbers, likewise.
    pub const WIDE: u16 = 39;
    /// Whether a program is loaded without the files beside it.
    pub const ALONE: u16 = 40;
}

/// The most bytes of fields that are read.
pub const MAX_FIELDS: usize = 64 << 20;
/// The most descriptors that come with a message.
pub const MAX_FILES: usize = 32;

/// A message.
#[derive(Default)]
pub struct Message {
    /// One of [`kind`].
    pub kind: u16,
    /// Its fields.
    pub fields: Vec<u8>,
    /// The shipped part of a message that was received; may be empty.
    pub ship: Vec<u8>,
    /// Descriptors to go with it, or that came with it.
    pub files: Vec<File>,
}

impl Message {
    /// One without fields.
    pub fn new(kind: u16) -> Self {
        Self { kind, ..Self::default() }
    }

    /// The same with a field.
    pub fn with(mut self, tag: u16, bytes: &[u8]) -> Self {
        push_field(&mut self.fields, tag, bytes);
        self
    }

    /// The same with a number.
    pub fn number(self, tag: u16, number: u64) -> Self {
        self.with(tag, &number.to_le_bytes())
    }

    /// The same with why something failed.
    pub fn error(self, error: &PassError) -> Self {
        let bytes = error_bytes(error);
        self.with(tag::ERROR, &bytes)
    }

    /// The fields of a tag.
    pub fn all(&self, tag: u16) -> impl Iterator<Item = Field<'_>> {
        Fields::new(&self.fields).map_while(Result::ok).filter(move |field| field.tag == tag)
    }

    fn first(&self, tag: u16) -> Option<Field<'_>> {
        self.all(tag).next()
    }

    /// The bytes of a field; nothing if there is none.
    pub fn bytes(&self, tag: u16) -> &[u8] {
        self.first(tag).map_or(&[], |field| field.bytes)
    }

    /// The text of a field, if it is one.
    pub fn text(&self, tag: u16) -> &str {
        self.first(tag).and_then(|field| field.text().ok()).unwrap_or_default()
    }

    /// The number of a field; 0 if there is none.
    pub fn get(&self, tag: u16) -> u64 {
        self.first(tag).and_then(|field| field.u64().ok()).unwrap_or_default()
    }

    /// Whether it has a field of a tag.
    pub fn has(&self, tag: u16) -> bool {
        self.first(tag).is_some()
    }

    /// The failure that it says.
    pub fn failure(&self) -> PassError {
        error_of(self.bytes(tag::ERROR)).unwrap_or_else(|_| PassError::new("it failed and does not say why"))
    }

    /// Whether the fields can be read at all.
    ///
    /// # Errors
    /// Returns an error that says what is wrong with them.
    pub fn check(&self) -> Result<(), Malformed> {
        Fields::new(&self.fields).try_for_each(|field| field.map(|_| ()))
    }
}

/// The fields about bytes that the other side has to be told of, these bytes, and files in the place of bytes if `maps` allows
/// that.
pub fn shared_after(exchange: &Exchange, told: usize, maps: bool) -> (Vec<u8>, Vec<Blob>, Vec<File>) {
    let (mut fields, mut blobs, mut files) = (Vec::new(), Vec::new(), Vec::new());
    for blob in &exchange.shared()[told..] {
        let file = (maps && files.len() < MAX_FILES).then(|| mapped_file(blob)).flatten();
        match file {
            Some(file) => {
                push_field(&mut fields, tag::SHARED_FILE, &(blob.len() as u64).to_le_bytes());
                files.push(file);
            }
            None => {
                push_field(&mut fields, tag::SHARED, &(blob.len() as u64).to_le_bytes());
                blobs.push(blob.clone());
            }
        }
    }
    (fields, blobs, files)
}

/// The smallest file that is handed over by its descriptor.
const MAPPED: usize = 1 << 20;

/// The file that bytes are a mapping of, if it is still what it was.
fn mapped_file(blob: &Blob) -> Option<File> {
    let mapped = blob.file().filter(|mapped| blob.len() >= MAPPED && mapped.start == 0 && mapped.stamp != 0)?;
    let file = File::open(mapped.path).ok()?;
    let metadata = file.metadata().ok()?;
    let is_same = relais_files::mapped::file_stamp(&metadata) == mapped.stamp && metadata.len() == blob.len() as u64;
    is_same.then_some(file)
}

mod part {
    pub const KIND: u16 = 1;
    pub const CODE: u16 = 2;
    pub const FUNCTION: u16 = 3;
    pub const NODE: u16 = 4;
    pub const MESSAGE: u16 = 5;
    pub const NOTE: u16 = 6;
    pub const HELP: u16 = 7;
    pub const PLACE: u16 = 8;
    pub const BACKTRACE: u16 = 9;
    pub const PLUGIN: u16 = 10;
    pub const MORE: u16 = 11;
}

/// A diagnostic as bytes.
pub fn diagnostic_bytes(diagnostic: &Diagnostic) -> Vec<u8> {
    let DiagnosticRec { severity, code, function, node, message, notes, help, more } = diagnostic.rec();
    let mut out = Vec::new();
    push_field(&mut out, part::KIND, &[severity.0]);
    push_field(&mut out, part::CODE, code.as_bytes());
    push_field(&mut out, part::FUNCTION, function.as_bytes());
    push_field(&mut out, part::NODE, &node.0.to_le_bytes());
    push_field(&mut out, part::MESSAGE, message.as_bytes());
    notes.iter().for_each(|note| push_field(&mut out, part::NOTE, note.as_bytes()));
    push_field(&mut out, part::HELP, help.as_bytes());
    push_field(&mut out, part::MORE, more);
    out
}

/// Reads a diagnostic.
///
/// # Errors
/// Returns an error if the bytes are none.
pub fn diagnostic_of(bytes: &[u8]) -> Result<Diagnostic, Malformed> {
    let mut rec = DiagnosticRec::default();
    for field in Fields::new(bytes) {
        let field = field?;
        match field.tag {
            part::KIND => rec.severity = Severity(field.u8()?),
            part::CODE => rec.code = field.text()?.into(),
            part::FUNCTION => rec.function = field.text()?.into(),
            part::NODE => rec.node = NodeId(field.u32()?),
            part::MESSAGE => rec.message = field.text()?.into(),
            part::NOTE => rec.notes.push(field.text()?.into()),
            part::HELP => rec.help = field.text()?.into(),
            part::MORE => rec.more = field.bytes.into(),
            _ => {}
        }
    }
    Ok(rec.into())
}

/// The message with the lists of an analysis.
pub fn with_lists(message: Message, lists: &Lists) -> Message {
    lists.names().fold(message, |message, name| {
        let mut bytes = (name.len() as u32).to_le_bytes().to_vec();
        bytes.extend_from_slice(name.as_bytes());
        match (lists.narrow(name), lists.wide(name)) {
            (Some(narrow), _) => {
                bytes.extend(narrow.iter().flat_map(|number| number.to_le_bytes()));
                message.with(tag::NARROW, &bytes)
            }
            (None, Some(wide)) => {
                bytes.extend(wide.iter().flat_map(|number| number.to_le_bytes()));
                message.with(tag::WIDE, &bytes)
            }
            (None, None) => message,
        }
    })
}

/// The lists of an analysis in a message.
///
/// # Errors
/// Returns an error if a field is none.
pub fn lists_of(message: &Message) -> Result<Lists, String> {
    fn numbers<const N: usize, T>(bytes: &[u8], number: fn([u8; N]) -> T) -> Option<Numbers<T>> {
        let (numbers, rest) = bytes.as_chunks::<N>();
        rest.is_empty().then(|| Numbers::from(numbers.iter().map(|&it| number(it)).collect::<Vec<T>>()))
    }
    let mut lists = Lists::new();
    for field in Fields::new(&message.fields).map_while(Result::ok) {
        if !matches!(field.tag, tag::NARROW | tag::WIDE) {
            continue;
        }
        let list = || {
            let (len, rest) = field.bytes.split_first_chunk::<4>()?;
            let (name, rest) = rest.split_at_checked(u32::from_le_bytes(*len) as usize)?;
            let name = std::str::from_utf8(name).ok()?;
            Some(match field.tag {
                tag::NARROW => lists.clone().with(name, &numbers(rest, u32::from_le_bytes)?),
                _ => lists.clone().with(name, &numbers(rest, i64::from_le_bytes)?),
            })
        };
        lists = list().ok_or("a list of an analysis is none")?;
    }
    Ok(lists)
}

/// A failure as bytes.
pub fn error_bytes(error: &PassError) -> Vec<u8> {
    let PassErrorRec { kind, code, message, function, node, help, notes, place, backtrace, plugin, more } = error.rec();
    let mut out = Vec::new();
    push_field(&mut out, part::KIND, &[*kind]);
    push_field(&mut out, part::CODE, code.as_bytes());
    push_field(&mut out, part::FUNCTION, function.as_bytes());
    push_field(&mut out, part::NODE, &node.0.to_le_bytes());
    push_field(&mut out, part::MESSAGE, message.as_bytes());
    notes.iter().for_each(|note| push_field(&mut out, part::NOTE, note.as_bytes()));
    push_field(&mut out, part::HELP, help.as_bytes());
    push_field(&mut out, part::PLACE, place.as_bytes());
    push_field(&mut out, part::BACKTRACE, backtrace.as_bytes());
    push_field(&mut out, part::PLUGIN, plugin.as_bytes());
    push_field(&mut out, part::MORE, more);
    out
}

/// Reads a failure.
///
/// # Errors
/// Returns an error if the bytes are none.
pub fn error_of(bytes: &[u8]) -> Result<PassError, Malformed> {
    let mut rec = PassErrorRec::default();
    for field in Fields::new(bytes) {
        let field = field?;
        match field.tag {
            part::KIND => rec.kind = field.u8()?,
            part::CODE => rec.code = field.text()?.into(),
            part::FUNCTION => rec.function = field.text()?.into(),
            part::NODE => rec.node = NodeId(field.u32()?),
            part::MESSAGE => rec.message = field.text()?.into(),
            part::NOTE => rec.notes.push(field.text()?.into()),
            part::HELP => rec.help = field.text()?.into(),
            part::PLACE => rec.place = field.text()?.into(),
            part::BACKTRACE => rec.backtrace = field.text()?.into(),
            part::PLUGIN => rec.plugin = field.text()?.into(),
            part::MORE => rec.more = field.bytes.into(),
            _ => {}
        }
    }
    Ok(PassError::from_rec(rec))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_and_diagnostics_survive_their_bytes() {
        let error = PassError::with_kind(3, "no").code("c").at(NodeId(4)).in_function("main").help("h").with_note("n");
        let error = error.of_plugin("acme");
        assert_eq!(error_of(&error_bytes(&error)).unwrap(), error);
        let said = Diagnostic::warning("odd").code("c").at(NodeId(1)).in_function("f").with_note("n").help("h");
        assert_eq!(diagnostic_of(&diagnostic_bytes(&said)).unwrap(), said);
        let bytes = error_bytes(&error);
        for len in 0..bytes.len() {
            // None of them panics.
            let _ = error_of(&bytes[..len]);
        }
        assert!(error_of(&bytes[..bytes.len() - 1]).is_err());
    }
}

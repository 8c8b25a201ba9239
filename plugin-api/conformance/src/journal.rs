//! The messages of the kit while it runs, and a file with them, which shows what a process that died was doing.

#[cfg(feature = "filetest")]
use super::outcome::CaseOutcome;
use super::report::{Finding, Judged, table, text};
use relais_plugin_api::options::Value;
use std::{
    fs::{File, OpenOptions},
    io::{self, Write},
    path::Path,
    sync::{Mutex, PoisonError},
    time::Instant,
};

/// Receives the messages of the kit.
pub trait Log: Sync {
    /// Called regularly while nothing hangs.
    fn beat(&self) {}

    /// A case begins: of a subject, with options, on a module.
    fn case(&self, subject: &str, options: &str, module: &str);

    /// Something is wrong.
    fn finding(&self, finding: &Finding);

    /// A pass, operator or instrument was tested.
    fn judged(&self, judged: &Judged);

    /// Everything was tested.
    fn end(&self) {}
}

/// An entry of a journal.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Entry {
    Beat,
    Case(Case),
    Finding(Finding),
    Judged(Judged),
    /// A filetest was checked.
    #[cfg(feature = "filetest")]
    Checked(String, CaseOutcome),
    End,
}

/// The case under test.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Case {
    pub subject: String,
    pub options: String,
    pub module: String,
}

/// A log in a file. Nothing of it is lost when the process dies.
pub(super) struct Journal(Mutex<File>);

impl Journal {
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(Mutex::new(OpenOptions::new().append(true).open(path)?)))
    }

    fn write(&self, key: &str, value: Value) {
        let bytes = table([(key, value)]).encode();
        let mut entry = (bytes.len() as u32).to_le_bytes().to_vec();
        entry.extend(bytes);
        // The parent process notices that the journal ends too early.
        let _ = self.0.lock().unwrap_or_else(PoisonError::into_inner).write_all(&entry);
    }

    #[cfg(feature = "filetest")]
    pub fn checked(&self, name: &str, outcome: &CaseOutcome) {
        self.write("checked", table([("name", Value::Str(name.to_owned())), ("outcome", outcome.to_value())]));
    }
}

impl Log for Journal {
    fn beat(&self) {
        self.write("beat", Value::Bool(true));
    }

    fn case(&self, subject: &str, options: &str, module: &str) {
        let text = |text: &str| Value::Str(text.to_owned());
        let case = table([("subject", text(subject)), ("options", text(options)), ("module", text(module))]);
        self.write("case", case);
    }

    fn finding(&self, finding: &Finding) {
        self.write("finding", finding.to_value());
    }

    fn judged(&self, judged: &Judged) {
        self.write("judged", judged.to_value());
    }

    fn end(&self) {
        self.write("end", Value::Bool(true));
    }
}

/// The entries of a journal, up to where it was cut off.
pub(super) fn read(mut bytes: &[u8]) -> Vec<Entry> {
    let mut entries = Vec::new();
    while let Some((len, rest)) = bytes.split_first_chunk::<4>() {
        let Some((entry, rest)) = rest.split_at_checked(u32::from_le_bytes(*len) as usize) else { break };
        bytes = rest;
        let Some(entry) = Value::decode(entry).ok().as_ref().and_then(read_entry) else { break };
        entries.push(entry);
    }
    entries
}

fn read_entry(value: &Value) -> Option<Entry> {
    let Value::Struct(entries) = value else { return None };
    let [(key, value)] = entries.as_slice() else { return None };
    let text = |key: &str| text(value, key);
    Some(match key.as_str() {
        "beat" => Entry::Beat,
        "case" => Entry::Case(Case { subject: text("subject")?, options: text("options")?, module: text("module")? }),
        "finding" => Entry::Finding(Finding::from_value(value)?),
        "judged" => Entry::Judged(Judged::from_value(value)?),
        #[cfg(feature = "filetest")]
        "checked" => Entry::Checked(text("name")?, CaseOutcome::from_value(value.get("outcome")?)?),
        "end" => Entry::End,
        _ => return None,
    })
}

/// A log that is kept in memory.
pub(super) struct Memory {
    pub kept: Mutex<Kept>,
}

/// The contents of a log in memory.
pub(super) struct Kept {
    pub case: Case,
    pub since: Instant,
    pub findings: Vec<Finding>,
    pub judged: Vec<Judged>,
    pub is_done: bool,
}

impl Memory {
    pub fn new() -> Self {
        let (case, since) = (Case::default(), Instant::now());
        Self { kept: Mutex::new(Kept { case, since, findings: Vec::new(), judged: Vec::new(), is_done: false }) }
    }

    pub fn with<R>(&self, body: impl FnOnce(&mut Kept) -> R) -> R {
        body(&mut self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Log for Memory {
    fn beat(&self) {
        self.with(|kept| kept.since = Instant::now());
    }

    fn case(&self, subject: &str, options: &str, module: &str) {
        let case = Case { subject: subject.to_owned(), options: options.to_owned(), module: module.to_owned() };
        self.with(|kept| (kept.case, kept.since) = (case, Instant::now()));
    }

    fn finding(&self, finding: &Finding) {
        self.with(|kept| kept.findings.push(finding.clone()));
    }

    fn judged(&self, judged: &Judged) {
        self.with(|kept| kept.judged.push(judged.clone()));
    }

    fn end(&self) {
        self.with(|kept| kept.is_done = true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Kind;

    #[test]
    fn a_journal_is_read_up_to_where_it_was_cut() {
        let path = std::env::temp_dir().join(format!("relais-journal-{}", std::process::id()));
        File::create(&path).unwrap();
        let journal = Journal::open(&path).unwrap();
        let finding = Finding {
            subject: "pass a.B".into(),
            kind: Kind::Panic,
            message: "m".into(),
            options: String::new(),
            module: String::new(),
        };
        journal.case("pass a.B", "", "def");
        journal.beat();
        journal.finding(&finding);
        journal.judged(&Judged::default());
        journal.end();
        let bytes = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let entries = read(&bytes);
        let case = Case { subject: "pass a.B".into(), options: String::new(), module: "def".into() };
        let all =
            [Entry::Case(case), Entry::Beat, Entry::Finding(finding), Entry::Judged(Judged::default()), Entry::End];
        assert_eq!(entries, all);
        for len in 0..bytes.len() {
            assert!(all.starts_with(&read(&bytes[..len])));
        }
    }
}

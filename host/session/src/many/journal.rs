//! The journal of a run over many models, from which one that was killed goes on.

use super::row::ModelRow;
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions, TryLockError},
    io::{self, Read, Write},
    path::Path,
};

/// A line of JSON for each model that is done. No other run writes into it as long as it is open.
pub(super) struct Journal {
    file: File,
    /// The last row of each model, by the model's name.
    pub known: BTreeMap<String, ModelRow>,
}

impl Journal {
    /// Opens a journal; `None` if another run has it open. A line that a killed run left half is removed.
    pub fn open(path: &Path) -> io::Result<Option<Self>> {
        let mut file = OpenOptions::new().create(true).read(true).append(true).open(path)?;
        // Some systems of files have no locks.
        if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
            return Ok(None);
        }
        let known = read(&mut file)?;
        Ok(Some(Self { file, known }))
    }

    /// Adds a row, and waits until it is on the disk.
    pub fn add(&mut self, row: &ModelRow) -> io::Result<()> {
        self.file.write_all(format!("{}\n", row.to_json()).as_bytes())?;
        self.file.sync_data()
    }
}

fn read(file: &mut File) -> io::Result<BTreeMap<String, ModelRow>> {
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    let (mut known, mut len) = (BTreeMap::new(), 0);
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        let value: Option<Value> = line.ends_with(b"\n").then(|| serde_json::from_slice(line).ok()).flatten();
        let Some(row) = value.as_ref().and_then(ModelRow::from_json) else { break };
        known.insert(row.model.clone(), row);
        len += line.len() as u64;
    }
    if len < text.len() as u64 {
        file.set_len(len)?;
    }
    Ok(known)
}

//! `dump`: the program after each pass, in a folder.

use super::{BuiltIn, PASSES, Selection, choice, option, select::is_same, texts};
use crate::{
    files::{self, Destination, Existing, FileSet, side_path},
    options::ValueKind,
    pass::{InstrumentFindings, PassInfo, PassInstrument},
};
use relais_plugin_api::{
    boundary::record::Level,
    diagnostics::PassError,
    ir::{IRModule, Tensor},
    options::Value,
    text::{self, Large, PrintOptions},
};
use serde_json::json;
use std::{
    fmt,
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf, absolute},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

inventory::submit! {
    BuiltIn {
        name: "dump",
        doc: "Writes the program before the first pass, and after each one that changes it, into a folder.\n\
              Numbered files read back, and `index.jsonl` says what each pass did; the numbers are those of \
              `--stop-after`.",
        options: || vec![
            option("dir", "the folder; it must be new or empty", ValueKind::Str, None),
            texts(PASSES, "the passes, by short or full names; none means all"),
            choice("weights", "what becomes of large constants", &[
                ("keep", "they go into a file beside each dump, which dumps with the same ones share"),
                ("elide", "they are left out, and the dumps do not read back"),
            ]),
            option("overwrite", "write into a folder that has files", ValueKind::Bool, Some(Value::Bool(false))),
        ],
        make: |given, _| Ok(Arc::new(Dump {
            dir: given.text("dir").into(),
            place: absolute(given.text("dir")).unwrap_or_else(|_| given.text("dir").into()),
            selection: Selection::new(given.texts(PASSES), []),
            weights: if given.text("weights") == "elide" { Large::Elide } else { Large::SideFile },
            existing: if given.is_on("overwrite") { Existing::Replace } else { Existing::Keep },
            state: Mutex::default(),
            log: Mutex::default(),
        })),
    }
}

const INDEX: &str = "index.jsonl";

/// Writes the program into a folder after each pass.
pub struct Dump {
    /// As it was named.
    dir: PathBuf,
    /// From the root: a plugin may change the working directory.
    place: PathBuf,
    selection: Selection,
    weights: Large,
    existing: Existing,
    state: Mutex<State>,
    /// The effect of each pass, line by line.
    log: Mutex<Option<File>>,
}

#[derive(Default)]
struct State {
    n_executions: u64,
    n_files: u64,
    /// The inputs of the passes under way: one, and those that it runs.
    open: Vec<Open>,
    /// The file that has the program as it is now.
    file: String,
    /// The side file that was written last, and its contents.
    side: Option<(PathBuf, Vec<(String, Tensor)>)>,
}

/// A pass that runs.
struct Open {
    before: IRModule,
    /// How many passes it ran so far.
    n_nested: u64,
}

/// Which execution it is: the number of the step, then those of the passes that run within.
struct Number(Vec<u64>);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, n) in self.0.iter().enumerate() {
            if i == 0 { write!(f, "{n:03}")? } else { write!(f, ".{n}")? }
        }
        Ok(())
    }
}

impl Dump {
    /// Returns the pass that ends, with its input.
    fn close(state: &mut State) -> Option<(Number, IRModule)> {
        let outer = state.open.iter().map(|open| open.n_nested);
        let number = std::iter::once(state.n_executions).chain(outer).take(state.open.len()).collect();
        Some((Number(number), state.open.pop()?.before))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn error(&self, error: &io::Error) -> PassError {
        PassError::new(format!("the folder `{}` cannot be written: {error}", self.dir.display()))
    }

    fn write(&self, state: &mut State, name: &str, module: &IRModule) -> io::Result<()> {
        let path = self.place.join(name);
        let options = PrintOptions { large: self.weights, ..PrintOptions::default() };
        let mut tensors = Vec::new();
        let destination = Destination::new(&path, Existing::Replace).map_err(io::Error::other)?;
        let written = destination.write(|mut out| {
            tensors = text::print_io(module, &options, &mut out)?;
            Ok(())
        });
        written.map_err(io::Error::other)?;
        if !tensors.is_empty() {
            let side = side_path(&path);
            // Left over from another run.
            let _ = fs::remove_file(&side);
            let is_same = |(a, b): (&(String, Tensor), &(String, Tensor))| a.0 == b.0 && a.1.is_same(&b.1);
            let shared = state
                .side
                .as_ref()
                .filter(|(_, old)| old.len() == tensors.len() && old.iter().zip(&tensors).all(is_same));
            // Where links are not supported, files are copied.
            if shared.is_none_or(|(old, _)| fs::hard_link(old, &side).is_err()) {
                write_side_file(&tensors, &side)?;
            }
            state.side = Some((side, tensors));
        }
        // The program is the result of the outermost pass.
        if state.open.is_empty() {
            state.file = name.to_owned();
        }
        state.n_files += 1;
        Ok(())
    }

    fn index(&self, entry: &serde_json::Value) -> io::Result<()> {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let log = log.as_mut().ok_or(io::ErrorKind::NotFound)?;
        writeln!(log, "{entry}")
    }

    fn entry(number: &Number, pass: &PassInfo<'_>, fate: &str, file: &str) -> serde_json::Value {
        let mut entry = json!({ "pass": pass.name, "plugin": pass.plugin, "fate": fate, "file": file });
        let (execution, within) = number.0.split_first().expect("a number begins with that of the step");
        entry["execution"] = (*execution).into();
        if !within.is_empty() {
            entry["within"] = within.into();
        }
        entry
    }
}

impl PassInstrument for Dump {
    fn name(&self) -> &str {
        "dump"
    }

    fn enter(&self) -> Result<(), PassError> {
        fs::create_dir_all(&self.place).map_err(|error| self.error(&error))?;
        files::sweep(&self.place);
        let mut entries = fs::read_dir(&self.place).map_err(|error| self.error(&error))?;
        if self.existing == Existing::Keep && entries.next().is_some() {
            let error = PassError::new(format!("the folder `{}` has files in it", self.dir.display()));
            return Err(error.help("name a new folder, or set the option `overwrite` of `dump`"));
        }
        let index = self.place.join(INDEX);
        match fs::remove_file(&index) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(self.error(&error)),
            _ => {}
        }
        let log = files::new_log(&index).map_err(|error| self.error(&error))?;
        *self.log.lock().unwrap_or_else(PoisonError::into_inner) = Some(log);
        Ok(())
    }

    fn exit(&self) -> Result<(), PassError> {
        // The tensors are not needed any more.
        self.lock().side = None;
        *self.log.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(())
    }

    fn before(&self, module: &IRModule, pass: &PassInfo<'_>) -> Result<(), PassError> {
        if pass.level == Level::SEQUENTIAL {
            return Ok(());
        }
        let mut state = self.lock();
        if state.n_executions == 0 {
            self.write(&mut state, "000-initial.relay", module).map_err(|error| self.error(&error))?;
        }
        match state.open.last_mut() {
            Some(outer) => outer.n_nested += 1,
            None => state.n_executions += 1,
        }
        state.open.push(Open { before: module.clone(), n_nested: 0 });
        Ok(())
    }

    fn after(&self, module: &IRModule, pass: &PassInfo<'_>) -> Result<(), PassError> {
        if pass.level == Level::SEQUENTIAL {
            return Ok(());
        }
        let mut state = self.lock();
        let Some((number, before)) = Self::close(&mut state) else { return Ok(()) };
        if !self.selection.has_pass(pass) {
            return Ok(());
        }
        let fate = if is_same(&before, module) { "unchanged" } else { "changed" };
        if fate == "changed" {
            let name = format!("{number}-{}.relay", file_name(pass.name));
            self.write(&mut state, &name, module).map_err(|error| self.error(&error))?;
            if !state.open.is_empty() {
                return self.index(&Self::entry(&number, pass, fate, &name)).map_err(|error| self.error(&error));
            }
        }
        self.index(&Self::entry(&number, pass, fate, &state.file)).map_err(|error| self.error(&error))
    }

    fn failed(&self, pass: &PassInfo<'_>, _error: &PassError) {
        if pass.level == Level::SEQUENTIAL {
            return;
        }
        let mut state = self.lock();
        let Some((number, _)) = Self::close(&mut state).filter(|_| self.selection.has_pass(pass)) else { return };
        if let Err(error) = self.index(&Self::entry(&number, pass, "failed", &state.file)) {
            log::warn!("{}", self.error(&error));
        }
    }

    fn findings(&self) -> Option<InstrumentFindings> {
        let (n_files, dir) = (self.lock().n_files, self.dir.display().to_string());
        let text = format!("{n_files} dumps are in `{dir}`; `{}` says what each pass did\n", index_path(&self.dir));
        Some(InstrumentFindings { text, data: json!({ "dir": dir, "n_files": n_files }) })
    }
}

fn write_side_file(tensors: &[(String, Tensor)], path: &Path) -> io::Result<()> {
    let mut files = FileSet::new();
    let destination = Destination::new(path, Existing::Replace).map_err(io::Error::other)?;
    files.add_side_file(&destination, tensors).map_err(io::Error::other)?;
    files.commit().map_err(io::Error::other)
}

fn index_path(dir: &Path) -> String {
    dir.join(INDEX).display().to_string()
}

/// The last word of a pass's name, as every file system takes it.
fn file_name(pass: &str) -> String {
    let short = pass.rsplit('.').next().unwrap_or(pass);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    short.chars().take(64).map(|c| if is_plain(c) { c } else { '_' }).collect()
}

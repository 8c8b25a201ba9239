//! The result of one of many models.

use relais::table::Columns;
use serde_json::{Value, json};

/// The outcome of a model.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ModelRow {
    /// Its path below the folder that all models have in common, with `/` on every system.
    pub model: String,
    /// Why it failed, if it did.
    pub error: Option<String>,
    /// Whether the result was in the cache.
    pub cached: bool,
    /// How many nodes there were before and after.
    pub calls: Option<[u64; 2]>,
    /// The sizes of the two files.
    pub bytes: Option<[u64; 2]>,
    /// The files of the result in its folder, the model first.
    pub files: Vec<String>,
    /// How long each of them is.
    pub sizes: Vec<u64>,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// All on which the result depends, as a hash; empty if the model cannot be read.
    pub key: String,
    /// Whether it is that of an earlier run, which the journal has.
    pub is_known: bool,
}

impl ModelRow {
    /// The row as the journal and the results have it.
    pub fn to_json(&self) -> Value {
        json!({
            "model": self.model,
            "status": self.status(),
            "cached": self.cached,
            "calls": self.calls,
            "bytes": self.bytes,
            "files": self.files,
            "sizes": self.sizes,
            "seconds": self.seconds,
            "error": self.error,
            "key": self.key,
        })
    }

    /// A row that was written down; none if it is malformed.
    pub fn from_json(value: &Value) -> Option<Self> {
        let text = |key: &str| value[key].as_str().map(str::to_owned);
        let numbers = |key: &str| value[key].as_array()?.iter().map(Value::as_u64).collect::<Option<Vec<u64>>>();
        let pair = |key: &str| numbers(key).and_then(|pair| pair.try_into().ok());
        let files = value["files"].as_array()?.iter().map(|file| file.as_str().map(str::to_owned));
        let status = value["status"].as_str()?;
        Some(Self {
            model: text("model")?,
            error: text("error").or_else(|| (status != OK).then(String::new)),
            cached: value["cached"].as_bool()?,
            calls: pair("calls"),
            bytes: pair("bytes"),
            files: files.collect::<Option<_>>()?,
            sizes: numbers("sizes")?,
            seconds: value["seconds"].as_f64()?,
            key: text("key")?,
            is_known: false,
        })
    }

    /// Whether there is a result.
    pub fn is_ok(&self) -> bool {
        self.error.is_none()
    }

    fn status(&self) -> &'static str {
        if self.is_ok() { OK } else { "failed" }
    }
}

const OK: &str = "ok";

/// A table of all models. A failure has a line of its own, with its first line.
pub fn table<'r>(rows: impl IntoIterator<Item = &'r ModelRow>) -> String {
    let mut lines = vec![["model", "status", "calls", "bytes", "seconds"].map(str::to_owned)];
    let (mut n_rows, mut n_ok, mut whys) = (0, 0, Vec::new());
    let pair = |pair: &Option<[u64; 2]>| pair.map(|[before, after]| format!("{before} -> {after}")).unwrap_or_default();
    for row in rows {
        n_rows += 1;
        n_ok += usize::from(row.is_ok());
        let status = match row.is_ok() {
            true if row.is_known => "known",
            true if row.cached => "cached",
            _ => row.status(),
        };
        let seconds = format!("{:.2}", row.seconds);
        lines.push([row.model.clone(), status.to_owned(), pair(&row.calls), pair(&row.bytes), seconds]);
        if let Some(why) = row.error.as_ref().and_then(|error| error.lines().next()) {
            whys.push((lines.len(), format!("  {why}\n")));
        }
    }
    let columns = Columns::of(lines[0].len(), &lines);
    let mut shown: Vec<String> = lines.iter().map(|line| columns.line(line)).collect();
    for (at, why) in whys.into_iter().rev() {
        shown.insert(at, why);
    }
    shown.concat() + &format!("{n_ok} of {n_rows} models\n")
}

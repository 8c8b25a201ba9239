//! The contents of a model, and the comparison of two models.

use crate::{
    files::{Destination, FileError},
    ir::{Function, IRModule, Tensor, is_initializer, kind, operator_counts},
    manager::{Fate, RunReport, Statistic},
    pass::AnalysisUse,
    table::{Columns, GAP},
    words::bytes,
};
use anstyle::{AnsiColor, Style};
use serde_json::{Map, Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    iter,
    path::Path,
    time::Duration,
};

/// The contents of a model.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Summary {
    /// How often each operator is called, including nested graphs and functions. Outside ONNX's own domain a name is
    /// preceded by its domain.
    pub operators: BTreeMap<String, u64>,
    /// Constants that are initializers.
    pub n_initializers: u64,
    /// Bytes of the model file; unknown where there is none.
    pub model_bytes: Option<u64>,
    /// Bytes of weights in data files.
    pub external_bytes: u64,
    /// These files, from the root.
    pub external_files: BTreeSet<String>,
}

impl Summary {
    /// The contents of a module. `model_file` is the file that it was read from: weights in other files are external.
    pub fn of(module: &IRModule, model_bytes: Option<u64>, model_file: &str) -> Self {
        let mut summary = Self { operators: operator_counts(module), model_bytes, ..Self::default() };
        let mut external = BTreeSet::new();
        for (_, function) in module.bodies() {
            summary.add(function, model_file, &mut external);
        }
        summary.external_bytes = external.iter().map(|&(_, _, len)| len).sum();
        summary
    }

    /// Operators called, and constants that are nodes.
    pub fn n_nodes(&self) -> u64 {
        self.operators.values().sum()
    }

    fn add(&mut self, f: &Function, model_file: &str, external: &mut BTreeSet<(String, u64, u64)>) {
        let mut tensors: Vec<&Tensor> = Vec::new();
        for id in f.all_bindings().filter(|&id| f.kind(id) == kind::CONSTANT) {
            tensors.extend(f.stored_constant(id));
            self.n_initializers += u64::from(is_initializer(f, id));
        }
        let defaults = f.params().iter().filter_map(|&param| f.default_value(param));
        for tensor in defaults {
            self.n_initializers += 1;
            tensors.push(tensor);
        }
        for tensor in tensors {
            let Some(slice) = tensor.as_dense().and_then(|blob| blob.file()) else { continue };
            if slice.path != model_file {
                external.insert((slice.path.to_string(), slice.start, tensor.byte_len()));
                self.external_files.insert(slice.path.to_string());
            }
        }
    }

    /// The summary as JSON.
    pub fn to_json(&self) -> Value {
        json!({
            "operators": self.operators,
            "n_nodes": self.n_nodes(),
            "n_initializers": self.n_initializers,
            "model_bytes": self.model_bytes,
            "external_bytes": self.external_bytes,
            "external_files": self.external_files,
        })
    }
}

/// A table of two models, one row for each operator; green is fewer, yellow is more. `checked` is how often they were
/// compared, and how long that took.
pub fn table(before: &Summary, after: &Summary, elapsed: Duration, checked: Option<(usize, Duration)>) -> String {
    let mut rows: Vec<[String; 3]> = Vec::new();
    let mut trends: Vec<std::cmp::Ordering> = Vec::new();
    let mut row = |name: &str, old: u64, new: u64, show: &dyn Fn(u64) -> String| {
        rows.push([name.to_owned(), show(old), show(new)]);
        trends.push(new.cmp(&old));
    };
    let names: BTreeSet<&String> = before.operators.keys().chain(after.operators.keys()).collect();
    let plain = |n: u64| n.to_string();
    for name in names {
        let count = |summary: &Summary| summary.operators.get(name).copied().unwrap_or(0);
        row(name, count(before), count(after), &plain);
    }
    let n_operators = rows_len(&before.operators, &after.operators);
    row("total nodes", before.n_nodes(), after.n_nodes(), &plain);
    row("initializers", before.n_initializers, after.n_initializers, &plain);
    if let (Some(old), Some(new)) = (before.model_bytes, after.model_bytes) {
        row("model size", old, new, &bytes);
    }
    if before.external_bytes + after.external_bytes > 0 {
        row("external data", before.external_bytes, after.external_bytes, &bytes);
        rows.push(["data files".to_owned(), shown(&before.external_files), shown(&after.external_files)]);
        trends.push(std::cmp::Ordering::Equal);
    }
    let header = ["operator", "before", "after"];
    let columns = Columns::of(1, iter::once(&header.map(str::to_owned)).chain(&rows));
    let rule = "-".repeat(columns.width());
    let mut out = String::new();
    let mut line = |row: [&str; 3], style: Style| {
        let mut cells = columns.cells(&row.map(str::to_owned));
        cells[2] = format!("{style}{}{style:#}", cells[2]);
        out.push_str(&cells.join(GAP));
        out.push('\n');
    };
    line(header, Style::new());
    line(["", "", ""], Style::new());
    for (at, ([name, old, new], trend)) in rows.iter().zip(trends).enumerate() {
        if at == n_operators && at > 0 {
            line(["", "", ""], Style::new());
        }
        let style = match trend {
            std::cmp::Ordering::Less => AnsiColor::Green.on_default(),
            std::cmp::Ordering::Equal => Style::new(),
            std::cmp::Ordering::Greater => AnsiColor::Yellow.on_default(),
        };
        line([name, old, new], style);
    }
    let seconds = |duration: Duration| format!("{:.3} s", duration.as_secs_f64());
    line(["elapsed", "", &seconds(elapsed)], Style::new());
    if let Some((n_runs, duration)) = checked {
        let runs = if n_runs == 1 { "1 run".to_owned() } else { format!("{n_runs} runs") };
        line(["checked", &runs, &seconds(duration)], Style::new());
    }
    // Lines that only separate are rules.
    let is_blank = |line: &str| line.trim().is_empty();
    let lines = out.lines().map(|line| if is_blank(line) { rule.as_str() } else { line.trim_end() });
    lines.map(|line| format!("{line}\n")).collect()
}

/// The names of files, a few of them.
fn shown(files: &BTreeSet<String>) -> String {
    const MANY: usize = 3;
    let names = files.iter().filter_map(|file| Path::new(file).file_name()).map(|name| name.to_string_lossy());
    match files.len() {
        0 => "none".to_owned(),
        n if n > MANY => format!("{n} files"),
        _ => names.collect::<Vec<_>>().join(", "),
    }
}

fn rows_len(a: &BTreeMap<String, u64>, b: &BTreeMap<String, u64>) -> usize {
    a.keys().chain(b.keys()).collect::<BTreeSet<_>>().len()
}

/// Returns the results of a run, as JSON.
pub fn report_json(report: &RunReport) -> Value {
    let executions: Vec<Value> = report
        .executions
        .iter()
        .map(|execution| {
            let (fate, reason) = match &execution.fate {
                Fate::Changed => ("changed", None),
                Fate::Unchanged => ("unchanged", None),
                Fate::Skipped(reason) => ("skipped", Some(reason.to_string())),
                Fate::Failed(error) => ("failed", Some(error.clone())),
            };
            json!({
                "pass": execution.name,
                "plugin": execution.plugin,
                "seconds": execution.duration.as_secs_f64(),
                "types_seconds": execution.types.as_secs_f64(),
                "n_nodes_before": execution.n_nodes_before,
                "n_nodes_after": execution.n_nodes_after,
                "fate": fate,
                "reason": reason,
            })
        })
        .collect();
    let said: Vec<Value> = report
        .said
        .iter()
        .map(|said| {
            let rec = said.diagnostic.rec();
            json!({
                "pass": said.pass,
                "severity": rec.severity.name(),
                "code": rec.code.as_str(),
                "function": rec.function.as_str(),
                "node": (!rec.node.is_absent()).then(|| rec.node.to_string()),
                "line": said.line,
                "message": rec.message.as_str(),
                "notes": rec.notes.iter().map(|note| note.as_str()).collect::<Vec<_>>(),
                "help": rec.help.as_str(),
            })
        })
        .collect();
    let mut statistics: Map<String, Value> = Map::new();
    for Statistic { pass, name, count } in &report.statistics {
        statistics.entry(pass).or_insert_with(|| json!({}))[name] = json!(count);
    }
    let findings: Vec<Value> = report
        .findings
        .iter()
        .map(|(instrument, findings)| json!({ "instrument": instrument, "data": findings.data }))
        .collect();
    let stopped = report.stopped_after.as_ref();
    let analysis = |it: &AnalysisUse| {
        json!({
            "computed": it.computed,
            "reused": it.reused,
            "preserved": it.preserved,
            "seconds": it.took.as_secs_f64(),
        })
    };
    let analyses: Map<String, Value> = report.analyses.iter().map(|(name, it)| (name.clone(), analysis(it))).collect();
    json!({
        "passes": executions,
        "diagnostics": said,
        "warnings": report.warnings,
        "statistics": statistics,
        "analyses": analyses,
        "instruments": findings,
        "seconds": report.elapsed.as_secs_f64(),
        "stopped_after": stopped.map(|(execution, pass)| json!({ "execution": execution, "pass": pass })),
    })
}

/// Writes JSON.
///
/// # Errors
/// Returns an error if it cannot be written.
pub fn write_json(destination: &Destination, value: &Value) -> Result<(), FileError> {
    destination.write(|out| writeln!(out, "{value:#}"))
}

/// The names of the inputs of a function, with their types, for messages.
pub fn inputs(function: &Function) -> Vec<(String, String)> {
    let listed =
        |id| crate::ir::flag::LISTED_INPUT & function.node(id).flags == 0 || function.default_value(id).is_none();
    let params = function.params().iter().copied().filter(|&id| listed(id));
    params
        .map(|id| {
            let ty = relais_plugin_api::text::display_type(function, function.type_id(id)).to_string();
            (function.name(id).to_owned(), ty)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(counts: &[(&str, u64)], model_bytes: u64) -> Summary {
        let operators = counts.iter().map(|&(name, n)| (name.to_owned(), n)).collect();
        Summary { operators, model_bytes: Some(model_bytes), ..Summary::default() }
    }

    #[test]
    fn the_table_says_where_weights_are() {
        let with = |files: &[&str]| Summary {
            external_bytes: 4096,
            external_files: files.iter().map(|&file| file.to_owned()).collect(),
            ..summary(&[("Add", 1)], 100)
        };
        let of = |before: &Summary, after: &Summary| {
            let table = table(before, after, Duration::from_secs(1), None);
            anstream::adapter::strip_str(&table).to_string().replace("  ", " ")
        };
        let said = of(&with(&["/a/in.data"]), &with(&["/a/out.onnx.data", "/a/w"]));
        assert!(said.contains("data files"), "{said}");
        assert!(said.lines().any(|line| line.ends_with("out.onnx.data, w") && line.contains("in.data")), "{said}");
        let said = of(&summary(&[], 100), &with(&["/1", "/2", "/3", "/4"]));
        assert!(said.lines().any(|line| line.contains("none") && line.ends_with("4 files")), "{said}");
        assert!(!of(&summary(&[], 1), &summary(&[], 1)).contains("data files"));
    }

    #[test]
    fn the_table_lines_up() {
        let (before, after) = (summary(&[("Add", 10), ("Identity", 3)], 4096), summary(&[("Add", 10)], 2048));
        let table =
            anstream::adapter::strip_str(&table(&before, &after, Duration::from_millis(1500), None)).to_string();
        let expected = "\
operator        before     after
--------------------------------
Add                 10        10
Identity             3         0
--------------------------------
total nodes         13        10
initializers         0         0
model size    4.00 KiB  2.00 KiB
elapsed                  1.500 s
";
        assert_eq!(table, expected);
    }
}

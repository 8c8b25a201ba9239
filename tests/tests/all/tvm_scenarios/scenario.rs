//! The files of scenarios.

use relais_plugin_api::options::Value;
use std::{fs, path::PathBuf};
use toml::Table;

/// A scenario, without the words about where it is from.
pub(super) struct Scenario {
    pub name: String,
    /// The module, as text.
    pub module: String,
    /// The settings of the context, in TOML.
    pub context: String,
    /// The settings of the whole run, in TOML.
    pub run: String,
    /// The instruments, as a list in TOML.
    pub watch: String,
    /// The steps, as a list in TOML.
    pub steps: String,
    /// Whether the steps are passes that are named by themselves, as `--passes` does.
    pub is_named: bool,
    /// The ways in which it cannot be said.
    pub not_by: Vec<String>,
    /// The passes that ran, sequences with what is in them, and those that were skipped, with the reason.
    pub ran: String,
    /// The text that was printed.
    pub printed: String,
    /// The resulting module; empty if there is none.
    pub output: String,
    /// The code of the fault.
    pub fault: Option<String>,
    /// Parts of its words.
    pub says: Vec<String>,
}

impl Scenario {
    fn new(fields: &Table, modules: Option<&Table>) -> Self {
        let text = |key: &str| fields.get(key).map_or("", |text| text.as_str().expect("a text")).to_owned();
        let texts = |key: &str| match fields.get(key) {
            Some(list) => list.as_array().expect("a list").iter().map(|text| text.as_str().unwrap().into()).collect(),
            None => Vec::new(),
        };
        let module = text("module");
        let named = modules.and_then(|modules| modules.get(&module)).and_then(|text| text.as_str()).map(str::to_owned);
        Self {
            name: text("name"),
            module: named.unwrap_or(module),
            context: text("context"),
            run: text("run"),
            watch: Some(text("watch")).filter(|watch| !watch.is_empty()).unwrap_or("[]".to_owned()),
            steps: text("steps"),
            is_named: fields.get("named").is_some(),
            not_by: texts("not_by"),
            ran: text("ran"),
            printed: text("printed"),
            output: text("output"),
            fault: fields.get("fault").map(|_| text("fault")),
            says: texts("says"),
        }
    }

    /// The steps, parsed.
    pub fn parsed_steps(&self) -> Vec<toml::Value> {
        list(&self.steps)
    }

    /// The instruments, each with its options.
    pub fn instruments(&self) -> Vec<(String, Table)> {
        let each = |used: toml::Value| {
            let name = used["instrument"].as_str().unwrap().to_owned();
            (name, table(used.get("options")))
        };
        list(&self.watch).into_iter().map(each).collect()
    }

    /// The settings of the context, parsed.
    pub fn parsed_context(&self) -> Table {
        self.context.parse().unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }

    /// A setting of the whole run that is a text.
    pub fn run_setting(&self, key: &str) -> Option<String> {
        let run: Table = self.run.parse().unwrap_or_else(|error| panic!("{}: {error}", self.name));
        run.get(key).map(|value| value.as_str().unwrap().to_owned())
    }
}

/// The items of a list in TOML.
fn list(text: &str) -> Vec<toml::Value> {
    let whole: Table = format!("list = {text}").parse().unwrap_or_else(|error| panic!("{text}: {error}"));
    whole["list"].as_array().unwrap().clone()
}

/// A table, which may be left out.
pub(super) fn table(value: Option<&toml::Value>) -> Table {
    value.map_or_else(Table::new, |value| value.as_table().unwrap().clone())
}

/// The texts of a list, which may be left out.
pub(super) fn texts(value: Option<&toml::Value>) -> Vec<String> {
    let list = value.map(|value| value.as_array().unwrap().as_slice()).unwrap_or_default();
    list.iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

/// A value of TOML as the value of an option.
pub(super) fn value(value: &toml::Value) -> Value {
    match value {
        toml::Value::Boolean(value) => Value::Bool(*value),
        toml::Value::Integer(value) => Value::Int(*value),
        toml::Value::Float(value) => Value::Float(*value),
        toml::Value::String(text) => Value::Str(text.clone()),
        toml::Value::Array(list) => Value::List(list.iter().map(self::value).collect()),
        toml::Value::Table(table) => Value::Struct(options(table)),
        toml::Value::Datetime(_) => panic!("no option is a date"),
    }
}

/// A table of TOML as options.
pub(super) fn options(table: &Table) -> Vec<(String, Value)> {
    table.iter().map(|(key, given)| (key.clone(), value(given))).collect()
}

fn folder(below: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("golden/tvm").join(below)
}

/// The names of the files in a folder of scenarios.
pub(super) fn names(below: &str) -> Vec<String> {
    let entries = fs::read_dir(folder(below)).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = entries.filter_map(|name| name.strip_suffix(".toml").map(str::to_owned)).collect();
    names.sort();
    names
}

/// The table of a file.
pub(super) fn parsed(file: &str) -> Table {
    let path = folder(&format!("{file}.toml"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("`{}`: {error}", path.display()));
    text.parse().unwrap_or_else(|error| panic!("`{}`: {error}", path.display()))
}

/// The scenarios of a file.
pub(super) fn read(file: &str) -> Vec<Scenario> {
    let file = parsed(file);
    let modules = file.get("modules").and_then(|modules| modules.as_table());
    let each = |fields: &toml::Value| Scenario::new(fields.as_table().unwrap(), modules);
    file["scenario"].as_array().unwrap().iter().map(each).collect()
}

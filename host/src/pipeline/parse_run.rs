//! The instruments of a pipeline or a scope, and the table `plugins`.

use super::{
    fault::{Code, PipelineFault},
    file_parser::{FileParser, Node, Pairs},
    parse_value::type_name,
    spec::*,
};
use crate::isolation::{Isolation, SETTINGS};
use semver::VersionReq;
use toml::de::DeValue;

const INSTRUMENT_KEYS: &[&str] = &["instrument", "options"];
const DEMAND_KEYS: &[&str] = &["version", "passes", "operators", "pipelines", "analyses", "isolate"];

impl FileParser<'_> {
    pub(super) fn instruments(&mut self, node: &Node<'_>) -> Vec<InstrumentUse> {
        let mut all = Vec::new();
        let Some(items) = self.array(node, "instruments") else { return all };
        for item in items {
            let place = self.place(item);
            let used = match item.get_ref() {
                DeValue::String(name) => {
                    InstrumentUse { name: Written::at(place, name.to_string()), options: Vec::new() }
                }
                DeValue::Table(table) => {
                    let pairs = self.pairs(table, "an instrument", INSTRUMENT_KEYS);
                    let get = |name: &str| pairs.iter().find(|(key, _)| key.get_ref() == name).map(|&(_, value)| value);
                    let Some(name) = get("instrument") else {
                        let fault = PipelineFault::new(Code::Missing, place, "this table does not name an instrument");
                        self.fault(fault.help("write `{ instrument = \"name\", options = { … } }`"));
                        continue;
                    };
                    let Some(name) = self.string(name, "instrument") else { continue };
                    let options = get("options").map_or_else(Vec::new, |value| self.entries(value, "options"));
                    InstrumentUse { name, options }
                }
                other => {
                    self.wrong_type(place, "an instrument", "a name or a table", type_name(other));
                    continue;
                }
            };
            all.push(used);
        }
        all
    }

    pub(super) fn plugins(&mut self, node: &Node<'_>) {
        let DeValue::Table(table) = node.get_ref() else {
            return self.wrong_type(self.place(node), "`plugins`", "a table", type_name(node.get_ref()));
        };
        let mut pairs: Pairs<'_, '_> = table.iter().collect();
        pairs.sort_by_key(|(key, _)| key.span().start);
        for (key, value) in pairs {
            let name = Written::at(self.place(key), key.get_ref().to_string());
            let place = self.place(value);
            let (version, [passes, operators, pipelines, analyses], isolate) = match value.get_ref() {
                DeValue::String(_) => (Some(value), [const { Vec::new() }; 4], None),
                DeValue::Table(table) => {
                    let pairs = self.pairs(table, "a plugin's demands", DEMAND_KEYS);
                    let get = |name: &str| pairs.iter().find(|(key, _)| key.get_ref() == name).map(|&(_, value)| value);
                    let isolate = get("isolate").and_then(|value| self.isolation(value));
                    let names = |key| get(key).map_or_else(Vec::new, |value| self.names(value, key));
                    (get("version"), ["passes", "operators", "pipelines", "analyses"].map(names), isolate)
                }
                other => {
                    self.wrong_type(
                        place,
                        &format!("plugin `{}`", name.value),
                        "a version or a table",
                        type_name(other),
                    );
                    continue;
                }
            };
            let version = match version {
                None => Written::at(place, VersionReq::STAR),
                Some(version) => match self.version(version) {
                    Some(version) => version,
                    None => continue,
                },
            };
            self.out.run.plugins.push(PluginDemand { name, version, passes, operators, pipelines, analyses, isolate });
        }
    }

    /// `isolate = true`, or a table of settings.
    fn isolation(&mut self, node: &Node<'_>) -> Option<Isolation> {
        let table = match node.get_ref() {
            DeValue::Boolean(isolate) => return isolate.then(Isolation::default),
            DeValue::Table(table) => table,
            other => {
                self.wrong_type(self.place(node), "`isolate`", "a boolean or a table of settings", type_name(other));
                return None;
            }
        };
        let mut isolation = Isolation::default();
        for (key, value) in self.pairs(table, "the settings of a process", &SETTINGS) {
            let key = key.get_ref();
            let is_list = matches!(&**key, "read" | "env");
            let texts = match value.get_ref() {
                DeValue::Array(_) if is_list => self.names(value, key),
                DeValue::String(text) if !is_list => vec![Written::at(self.place(value), text.to_string())],
                DeValue::Integer(number) if !is_list => vec![Written::at(self.place(value), number.to_string())],
                other => {
                    let expected = if is_list { "an array" } else { "a number or a text" };
                    self.wrong_type(self.place(value), &format!("`{key}`"), expected, type_name(other));
                    continue;
                }
            };
            for text in texts {
                if let Err(why) = isolation.set(key, &text.value, &self.folder) {
                    self.fault(PipelineFault::new(Code::Value, text.place, why));
                }
            }
            if self.is_of_plugin && matches!(&**key, "read" | "env" | "sandbox") {
                let message = format!("the pipeline of a plugin cannot say `{key}`");
                let fault = PipelineFault::new(Code::Value, self.place(value), message);
                self.fault(fault.help("what the process of a plugin can reach is for its user to say"));
            }
        }
        Some(isolation)
    }

    fn version(&mut self, node: &Node<'_>) -> Option<Written<VersionReq>> {
        let text = self.string(node, "version")?;
        match VersionReq::parse(&text.value) {
            Ok(version) => Some(Written { value: version, place: text.place }),
            Err(error) => {
                let fault = PipelineFault::new(
                    Code::Value,
                    text.place,
                    format!("`{}` demands no version: {error}", text.value),
                );
                self.fault(fault.help("write it as `1.2`, `^1.2`, `>=1.2, <3` or `*`"));
                None
            }
        }
    }
}

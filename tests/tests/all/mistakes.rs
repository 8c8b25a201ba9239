//! The compiler's messages for the likeliest mistakes with the macros: each program in `tests/plugins/mistakes` has a
//! golden file with the errors it must have. `RELAIS_BLESS=1` rewrites them.

use relais_tests::{
    cargo_built::{author_cargo, plugin_source},
    golden::Golden,
};
use serde_json::Value;
use std::{collections::BTreeMap, fs};

#[test]
fn mistakes_with_the_macros_are_explained() {
    let mut said: BTreeMap<String, String> = programs().into_iter().map(|name| (name, String::new())).collect();
    for message in build() {
        let name = message["target"]["name"].as_str().unwrap();
        if let Some(text) = error(&message["message"]) {
            said.get_mut(name).unwrap_or_else(|| panic!("`{name}` has an error: {text}")).push_str(&text);
        }
    }
    let mut golden = Golden::new("mistakes");
    for (name, text) in said {
        assert!(!text.is_empty(), "`{name}` builds");
        golden.check(&name, &text);
    }
    golden.finish();
}

fn programs() -> Vec<String> {
    let files = fs::read_dir(plugin_source("mistakes").join("src/bin")).unwrap();
    files.map(|file| file.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned()).collect()
}

/// Returns the compiler's messages, program after program.
fn build() -> Vec<Value> {
    let mut cargo = author_cargo();
    cargo.args(["build", "--quiet", "--keep-going", "--message-format=json", "--manifest-path"]);
    cargo.arg(plugin_source("mistakes").join("Cargo.toml"));
    let output = cargo.output().unwrap();
    assert!(!output.status.success(), "the programs build");
    let lines = output.stdout.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    let messages = lines.map(|line| serde_json::from_slice::<Value>(line).unwrap());
    messages.filter(|message| message["reason"] == "compiler-message").collect()
}

/// The message, the places in the author's source, and notes without a place: the parts that do not depend on the
/// location of this workspace, and little on the version of the compiler. `None` if it is not an error, or only counts
/// errors.
fn error(message: &Value) -> Option<String> {
    let text = message["message"].as_str()?;
    if message["level"] != "error" || text.starts_with("aborting due to") {
        return None;
    }
    let mut said = format!("error: {text}\n");
    for span in message["spans"].as_array()?.iter().filter(|span| span["is_primary"] == true) {
        said.push_str(&place(span));
    }
    for note in message["children"].as_array()? {
        let text = note["message"].as_str()?;
        let has_place = note["spans"].as_array().is_some_and(|spans| !spans.is_empty());
        let is_said_above = text.trim_start().starts_with("expected ") || text.contains("originates in the");
        if note["level"] == "note" && !has_place && !is_said_above {
            said.push_str(&format!("  note: {text}\n"));
        }
    }
    said.push('\n');
    Some(said)
}

/// The lines of a place with the underlined text, at the outermost macro call it comes from.
fn place(span: &Value) -> String {
    let mut outer = span;
    while !outer["expansion"].is_null() && !is_own(outer) {
        outer = &outer["expansion"]["span"];
    }
    let mut said = String::new();
    for line in outer["text"].as_array().into_iter().flatten() {
        let column = |name: &str| line[name].as_u64().unwrap() as usize;
        let (start, end) = (column("highlight_start"), column("highlight_end"));
        let text = line["text"].as_str().unwrap();
        said.push_str(&format!("  | {text}\n  | {}{}\n", " ".repeat(start - 1), "^".repeat((end - start).max(1))));
    }
    if let Some(label) = outer["label"].as_str().filter(|label| !label.starts_with("evaluation of")) {
        said.push_str(&format!("  = {label}\n"));
    }
    said
}

fn is_own(span: &Value) -> bool {
    span["file_name"].as_str().is_some_and(|file| file.starts_with("mistakes/src/bin/"))
}

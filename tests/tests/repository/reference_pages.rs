//! `docs/passes/`: a page for each shipped pass, generated from its record (`relais describe NAME --markdown`), the
//! opening comment of its source, the built-in pipelines and its filetests.
//!
//! `RELAIS_BLESS=1` rewrites the pages.

use relais_tests::{
    cargo_built::workspace,
    cli::{files, quick_folder, relais},
};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
};

const GENERATED: &str = "<!-- Made by `cargo xtask bless reference_pages::`. -->\n\n";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn json(args: &[&str]) -> Vec<Value> {
    serde_json::from_str(&relais(args).expect_success().stdout).unwrap()
}

fn short(name: &str) -> &str {
    name.rsplit('.').next().unwrap()
}

/// Returns the opening comment of the file with a pass, which is Markdown.
fn opening(name: &str) -> String {
    let plugins = root().join("plugins");
    let folders = files(&plugins).into_iter().map(|plugin| plugins.join(plugin).join("src"));
    let sources = folders.filter(|folder| folder.is_dir()).flat_map(|folder| {
        let files = files(&folder);
        files.into_iter().map(move |file| folder.join(file)).filter(|path| path.is_file())
    });
    let named = format!("name = \"{name}\"");
    let source = sources.map(|path| fs::read_to_string(path).unwrap()).find(|source| source.contains(&named));
    let source = source.unwrap_or_else(|| panic!("no source has `{named}`"));
    // If a file has several passes, its opening comment is about the file.
    let lines = source.lines().map_while(|line| line.strip_prefix("//!"));
    lines.map(|line| format!("{}\n", line.strip_prefix(' ').unwrap_or(line))).collect()
}

/// Returns the resolved built-in pipelines, by name.
fn pipelines() -> Vec<(String, String)> {
    let folder = quick_folder();
    let resolved = json(&["list", "pipelines", "--json"]).into_iter().map(|pipeline| {
        let name = pipeline["name"].as_str().unwrap().to_owned();
        let file = folder.path().join(format!("{name}.toml"));
        fs::write(&file, format!("steps = [{{ include = \"builtin:{name}\" }}]\n")).unwrap();
        let printed = relais(["pipeline".as_ref(), "print".as_ref(), file.as_os_str()]).expect_success().stdout;
        (name, printed)
    });
    resolved.collect()
}

/// The filetests of a pass, with their topics.
fn cases(name: &str) -> String {
    let folder = root().join("tests/filetests").join(name);
    let mut out = String::new();
    for file in files(&folder) {
        let text = fs::read_to_string(folder.join(&file)).unwrap();
        let header = text.lines().take_while(|line| line.is_empty() || line.starts_with("//"));
        let about = header.filter_map(|line| line.strip_prefix("// ")).next();
        let stem = file.trim_end_matches(".relay").replace('_', " ");
        let about = about.map(|about| format!(": {about}")).unwrap_or_default();
        out += &format!("- [{stem}](../../tests/filetests/{name}/{file}){about}\n");
    }
    out
}

fn pages() -> BTreeMap<String, String> {
    let pipelines = pipelines();
    let index = format!(
        "{GENERATED}# The passes that Relais ships\n\nWhat `relais describe NAME` says of each, with examples. Those of \
         other plugins: `relais list passes`.\n\n| pass | level | kind | |\n|---|---|---|---|\n"
    );
    let (mut pages, mut rows) = (BTreeMap::new(), Vec::new());
    for pass in json(&["list", "passes", "--json"]) {
        let name = pass["name"].as_str().unwrap();
        let page = relais(["describe", name, "--markdown"]).expect_success().stdout;
        let (before, after) = page.split_once("| | |\n").unwrap();
        let is_in = |(_, steps): &&(String, String)| steps.contains(&format!("\"{name}\""));
        let of: Vec<String> = pipelines.iter().filter(is_in).map(|(of, _)| format!("`{of}`")).collect();
        let runs_in = match of.is_empty() {
            true => "In none of the built-in pipelines.".to_owned(),
            false => format!("In the built-in pipelines {}.", of.join(", ")),
        };
        let page = format!(
            "{GENERATED}{before}{}\n{runs_in}\n\n| | |\n{after}\n## Cases\n\nEach is a test, with the program before and \
             after.\n\n{}",
            opening(name),
            cases(short(name))
        );
        let about = pass["doc"].as_str().unwrap().trim().lines().next().unwrap_or_default();
        let (level, kind, short) = (&pass["opt_level"], pass["kind"].as_str().unwrap(), short(name));
        rows.push(format!("| [{short}]({short}.md) | {level} | {kind} | {about} |\n"));
        assert!(pages.insert(format!("{short}.md"), page).is_none(), "two passes are called `{short}`");
    }
    rows.sort();
    pages.insert("README.md".to_owned(), index + &rows.concat());
    pages
}

#[test]
fn every_pass_has_its_page() {
    let folder = root().join("docs/passes");
    let pages = pages();
    assert!(pages.len() > 10 && !workspace().plugins.is_empty());
    if env::var_os("RELAIS_BLESS").is_some() {
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        pages.iter().for_each(|(file, page)| fs::write(folder.join(file), page).unwrap());
    }
    let names: Vec<&String> = pages.keys().collect();
    assert_eq!(files(&folder).iter().collect::<Vec<_>>(), names, "bless with RELAIS_BLESS=1");
    let mut wrong = String::new();
    for (file, page) in &pages {
        let there = fs::read_to_string(folder.join(file)).unwrap();
        if there != *page {
            let diff = similar::TextDiff::from_lines(there.as_str(), page);
            wrong += &format!("{file}\n{}", diff.unified_diff());
        }
    }
    assert!(wrong.is_empty(), "{wrong}\nbless with RELAIS_BLESS=1 when this is right");
}

/// A page shows input and output.
#[test]
fn every_page_has_an_example() {
    for (file, page) in pages() {
        assert!(file == "README.md" || page.contains("```text\n"), "{file}");
    }
}

#[test]
fn what_is_neither_pass_nor_instrument_has_no_page() {
    assert!(relais(["describe", "budget", "--markdown"]).expect_success().stdout.starts_with("# budget\n"));
    let said = relais(["describe", "Relu", "--markdown"]).expect_failure().stderr;
    assert!(said.contains("no pass and no instrument is named `Relu`"), "{said}");
}

#[test]
fn every_row_about_other_optimisers_has_an_answer() {
    let text = fs::read_to_string(root().join("docs/peers.md")).unwrap();
    let pages = pages();
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| in |")).collect();
    assert!(rows.len() > 50);
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [optimisers, transformation, answer] = *cells else { panic!("{row}") };
        assert!(optimisers.split(' ').all(|one| text.contains(&format!("\n- {one}: "))), "{row}");
        assert!(!transformation.is_empty(), "{row}");
        let passes: Vec<&str> = answer.split("](passes/").skip(1).map(|rest| rest.split(')').next().unwrap()).collect();
        assert!(passes.iter().all(|page| pages.contains_key(*page)), "{row}");
        let is_reason = answer.starts_with("declined") || answer.starts_with("missing: ");
        assert!(!passes.is_empty() || is_reason || answer.starts_with("the option `"), "{row}");
    }
}

//! The names that passes and options have in TVM's releases.

use relais_tests::cli::{relais, run_text};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

const PAGE: &str = include_str!("../../../docs/from-tvm.md");
const PROGRAM: &str = "prim @main(%x: Tensor[(4), float32]) -> (%y: Tensor[(4), float32]) {
  for %i in 0..4 { %y[%i] = %x[%i]; }
}
";

/// The entries of `relais list`, by name, with their aliases.
fn listed(what: &str) -> BTreeMap<String, (BTreeSet<String>, Value)> {
    let json = relais(["list", what, "--json"]).expect_success().stdout;
    let all: Vec<Value> = serde_json::from_str(&json).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let aliases = |item: &Value| item["aliases"].as_array().into_iter().flatten().map(text).collect();
    all.iter().map(|item| (text(&item["name"]), (aliases(item), item.clone()))).collect()
}

/// The names in the code of a cell.
fn code(cell: &str) -> BTreeSet<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The rows of the table with a header: the name here, and those in TVM.
fn rows(page: &str, header: &str) -> BTreeMap<String, BTreeSet<String>> {
    let table = page.split_once(header).unwrap_or_else(|| panic!("there is no table `{header}`")).1;
    let lines = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('|').collect();
        (code(cells[1]).pop_first().unwrap(), code(&cells[2..].concat()))
    };
    lines.map(row).collect()
}

fn is_of_loops(name: &str) -> bool {
    ["tir.", "tirx.", "s_tir."].iter().any(|prefix| name.starts_with(prefix))
}

#[test]
fn the_page_has_all_names_of_passes_and_each_works() {
    let table = rows(PAGE, "| pass here | up to 0.23 | since 0.24 |");
    let passes = listed("passes");
    for (name, names) in &table {
        let (aliases, _) = &passes[&format!("relais.{name}")];
        assert_eq!(aliases, names, "`{name}`");
        for alias in names {
            let (_, said) = run_text(PROGRAM, &["--passes", alias]);
            said.expect_success();
            let described = relais(["describe", alias]).expect_success().stdout;
            assert!(described.contains(&format!("relais.{name}")), "{described}");
        }
    }
    // The other way round.
    let missing = passes.iter().filter(|(name, (aliases, _))| {
        aliases.iter().any(|alias| is_of_loops(alias)) && !table.contains_key(name.trim_start_matches("relais."))
    });
    assert_eq!(missing.map(|(name, _)| name).collect::<Vec<_>>(), Vec::<&String>::new());
    // The page on loop programs has all of them, too.
    let page = include_str!("../../../docs/loop-programs.md");
    let passes_there = page.split_once("| pass | TVM's names, which work here, too | |").unwrap().1;
    for line in passes_there.lines().skip(2).take_while(|line| line.starts_with('|')) {
        let cells: Vec<&str> = line.split('|').collect();
        let name = cells[1].trim().trim_start_matches('[').split(']').next().unwrap();
        assert_eq!(code(cells[2]), passes[&format!("relais.{name}")].0, "`{name}`");
    }
}

#[test]
fn the_page_has_all_names_of_options_and_each_works() {
    let table = rows(PAGE, "| option here | up to 0.23 | since 0.24 |");
    let options = listed("options");
    for (name, names) in &table {
        let (aliases, option) = &options[name];
        let known: BTreeSet<String> = aliases.iter().chain([name]).cloned().collect();
        assert_eq!(&known, names, "`{name}`");
        for key in names {
            // Its own default, and a value of another type.
            let (good, bad) = match &option["default"] {
                Value::Object(_) => ("{}".to_owned(), "7"),
                default => (default.to_string(), "\"much\""),
            };
            let (_, said) = run_text(PROGRAM, &["--passes", "UnrollLoop", "--set", &format!("{key}={good}")]);
            said.expect_success();
            let (_, said) = run_text(PROGRAM, &["--passes", "UnrollLoop", "--set", &format!("{key}={bad}")]);
            assert!(said.expect_failure().stderr.contains(&format!("option `{name}`")), "{key}");
        }
    }
    let missing = options.iter().filter(|(name, _)| is_of_loops(name) && !table.contains_key(*name));
    assert_eq!(missing.map(|(name, _)| name).collect::<Vec<_>>(), Vec::<&String>::new());
}

/// Passes see what is set by another name, which may be written in parts, and the last one written holds.
#[test]
fn passes_read_what_other_names_set() {
    let unrolled = |settings: &[&str]| {
        let settings: Vec<&str> = settings.iter().flat_map(|setting| ["--set", setting]).collect();
        let (text, said) = run_text(PROGRAM, &[&["--passes", "UnrollLoop"][..], &settings].concat());
        said.expect_success();
        !text.contains("for ")
    };
    assert!(!unrolled(&[]));
    assert!(unrolled(&["tirx.UnrollLoop={ auto_max_step = 4 }"]));
    assert!(unrolled(&["tirx.UnrollLoop.auto_max_step=4"]));
    assert!(unrolled(&["tir.UnrollLoop.auto_max_step=3", "tirx.UnrollLoop.auto_max_step=4"]));
    assert!(!unrolled(&["tirx.UnrollLoop.auto_max_step=4", "tir.UnrollLoop.auto_max_step=3"]));
}

#[test]
fn switches_turn_passes_off() {
    let twice = "prim @main(%x: Tensor[(4), float32]) -> (%y: Tensor[(4), float32]) {
  %y[0] = 1.0;
  %y[0] = %x[0] + %x[1] + (%x[0] + %x[1]);
}
";
    let overwritten = twice.replace("%x[0] + %x[1] + (%x[0] + %x[1])", "2.0");
    let overwritten = overwritten.as_str();
    let graph = "def @main(%x: Tensor[(4), float32]) #[opset = {\"\": 17}] { %y = Relu(%x); %y }";
    for (text, pass, setting) in [
        (twice, "CommonSubexprElim", "tirx.disable_cse_tir=true"),
        (overwritten, "RemoveNoOp", "tirx.RemoveNoOp.use_dataflow_analysis=false"),
        (graph, "LowerOps", "relax.transform.apply_legalize_ops=false"),
    ] {
        let before = run_text(text, &["--passes", "InferType"]).0;
        let on = run_text(text, &["--passes", &format!("InferType,{pass}")]).0;
        let off = run_text(text, &["--passes", &format!("InferType,{pass}"), "--set", setting]).0;
        assert_ne!(on, before, "{pass}");
        assert_eq!(off, before, "{pass}");
    }
}

#[test]
fn other_names_are_unknown() {
    for key in
        ["tirx.LoopPartition", "s_tir.UnrollLoop", "tirx.Simplify", "tir.disable_assert", "tirx.transform.UnrollLoop"]
    {
        let (_, said) = run_text(PROGRAM, &["--passes", "UnrollLoop", "--set", &format!("{key}={{}}")]);
        assert!(said.expect_failure().stderr.contains(&format!("P002]: no option `{key}` is registered")), "{key}");
    }
    for pass in ["tirx.transform.LoopPartition", "tirx.transform.FuseTIR", "tirx.UnrollLoop"] {
        let (_, said) = run_text(PROGRAM, &["--passes", pass]);
        assert!(said.expect_failure().stderr.contains("P010]: no pass"), "{pass}");
    }
}

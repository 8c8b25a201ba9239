//! The JSON Schema of pipelines, compared with `relais pipeline check` by an independent validator: both accept the
//! same.
//!
//! `RELAIS_BLESS=1` rewrites `pipelines/schema.json`.

use relais_tests::{
    cargo_built::workspace,
    cli::{Run, command, folder, relais},
    venv::judge,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    sync::LazyLock,
};

static PRINTED: LazyLock<String> = LazyLock::new(|| relais(["pipeline", "schema"]).expect_success().stdout);
fn pipelines() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../pipelines")
}

/// Returns the validator's verdicts on pipelines, by name: accepted, or why not.
fn validate<'a>(name: &str, pipelines: impl IntoIterator<Item = (&'a str, &'a str)>) -> BTreeMap<String, String> {
    let folder = folder(&format!("schema-of-{name}"));
    let schema = folder.join("schema.json");
    fs::write(&schema, &*PRINTED).expect("the folder can be written");
    let mut args = vec!["schema".into(), schema];
    for (name, toml) in pipelines {
        let path = folder.join(name).with_extension("toml");
        fs::write(&path, toml).expect("the folder can be written");
        args.push(path);
    }
    let said = judge(&args);
    let said: BTreeMap<String, String> =
        said.lines().filter_map(|line| line.split_once(": ")).map(|(name, said)| (name.into(), said.into())).collect();
    assert_eq!(said.len(), args.len() - 2, "{said:?}");
    said
}

/// Returns the program's output about a pipeline.
fn check(name: &str, toml: &str) -> Run {
    let folder = folder(&format!("schema-{name}"));
    fs::write(folder.join("p.toml"), toml).expect("the folder can be written");
    Run::of(command().current_dir(&folder).args(["pipeline", "check", "p.toml"]))
}

/// Every construct of a pipeline.
const TAKEN: &[&str] = &[
    "",
    "steps = []",
    "name = \"n\"\nopt_level = 255\ndependencies = \"direct\"\non_failure = \"quarantine\"\nverify = \"off\"\nsteps = [\"InferType\"]",
    "dependencies = \"assumed\"\nsteps = [\"relay._transform.FoldConstant\", \"DeadCodeElimination\"]",
    "required = [\"mine\", \"InferType\", \"Gone?\"]\ndisabled = [\"FoldConstant\"]\nsteps = [{ sequence = [\"InferType\"], name = \"mine\", opt_level = 3 }]",
    "steps = [{ pass = \"FoldConstant\", options = { max_growth = 0 } }, { pass = \"Gone?\" }, \"Gone?\"]",
    "steps = [{ fixpoint = [\"InferType\", { fixpoint = [], max_rounds = 1 }] }]",
    "steps = [{ scope = [\"InferType\"], opt_level = 0, required = [\"InferType\"], disabled = [], config = {} }]",
    "steps = [{ include = \"builtin:default\" }, { passes = \"level<=1\" }, { passes = \"level == 2\" }]",
    "steps = [{ when_operator = \"Relu\", steps = [] }, { when_operator = [\"a::B\"], steps = [\"InferType\"] }]",
    "instruments = [\"timing\", { instrument = \"timing\", options = { format = \"list\" } }, \"memory\"]",
    "instruments = [{ instrument = \"print-changed\", options = { form = \"diff\", passes = [\"InferType\"] } }]",
    "instruments = [{ instrument = \"trace\", options = { file = \"t.json\" } }]",
    "[plugins]\nrelais-graph = \"*\"\nrelais-operators = { version = \">=0.1\", passes = [], pipelines = [] }",
    "extensions = \"off\"\nsteps = [{ extension = \"mine\", then = [\"InferType\"] }]\n[extend]\nmine = [\"InferType\", { passes = \"level<=1\" }]",
];

/// One fault each, of every kind that a schema can detect.
const REFUSED: &[(&str, &str)] = &[
    ("unknown_key", "optlevel = 3"),
    ("level_text", "opt_level = \"3\""),
    ("level_negative", "opt_level = -1"),
    ("level_huge", "opt_level = 256"),
    ("dependencies", "dependencies = \"transitiv\""),
    ("on_failure", "on_failure = \"ignore\""),
    ("verify", "verify = true"),
    ("steps_text", "steps = \"InferType\""),
    ("pass_unknown", "steps = [\"InferTyp\"]"),
    ("pass_unknown_table", "steps = [{ pass = \"InferTyp\" }]"),
    ("step_number", "steps = [3]"),
    ("step_empty", "steps = [{}]"),
    ("step_two_kinds", "steps = [{ pass = \"InferType\", fixpoint = [] }]"),
    ("step_unknown_key", "steps = [{ fixpoint = [], rounds = 2 }]"),
    ("nested_step", "steps = [{ sequence = [{ scope = [\"InferTyp\"] }] }]"),
    ("option_unknown", "steps = [{ pass = \"FoldConstant\", options = { max_grwth = 1 } }]"),
    ("option_type", "steps = [{ pass = \"InferType\", options = { strict = 1 } }]"),
    ("option_range", "steps = [{ pass = \"FoldConstant\", options = { max_growth = -1 } }]"),
    ("option_item", "steps = [{ pass = \"RemoveUnusedFunctions\", options = { entry_functions = [1] } }]"),
    ("option_of_another", "steps = [{ pass = \"InferType\", options = { max_growth = 1 } }]"),
    ("rounds_zero", "steps = [{ fixpoint = [], max_rounds = 0 }]"),
    ("levels", "steps = [{ passes = \"level<=x\" }]"),
    ("when_without_steps", "steps = [{ when_operator = \"Relu\" }]"),
    ("config_unknown", "[config]\nnobody.registered = 1"),
    ("required_number", "required = [1]"),
    ("required_empty", "required = [\"\"]"),
    ("instrument_unknown", "instruments = [\"timming\"]"),
    ("instrument_option", "instruments = [{ instrument = \"timing\", options = { format = \"flat\" } }]"),
    ("instrument_mandatory", "instruments = [\"trace\"]"),
    ("instrument_unnamed", "instruments = [{ options = {} }]"),
    ("extensions", "extensions = \"no\""),
    ("extend_list", "extend = [\"InferType\"]"),
    ("extend_step", "steps = [{ extension = \"mine\" }]\n[extend]\nmine = [\"InferTyp\"]"),
    ("extension_number", "steps = [{ extension = 3 }]"),
    ("plugin_number", "[plugins]\nrelais-graph = 1"),
    ("plugin_key", "[plugins]\nrelais-graph = { versoin = \"*\" }"),
];

#[test]
fn r23_the_schema_beside_the_pipelines_is_the_one_of_the_shipped_plugins() {
    assert!(!workspace().plugins.is_empty());
    let path = pipelines().join("schema.json");
    if std::env::var_os("RELAIS_BLESS").is_some() {
        fs::write(&path, &*PRINTED).expect("it can be written");
    }
    let stored = fs::read_to_string(&path).unwrap_or_default();
    let hint = "`RELAIS_BLESS=1 cargo test --test all pipeline_schema` writes it anew";
    assert!(stored == *PRINTED, "`pipelines/schema.json` is not what the plugins say; {hint}");
}

#[test]
fn r23_every_shipped_pipeline_names_the_schema_and_is_taken() {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(pipelines()).expect("there are pipelines") {
        let path = entry.expect("it can be read").path();
        if path.extension().is_none_or(|extension| extension != "toml") || path.ends_with("Cargo.toml") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("it can be read");
        assert!(text.starts_with("#:schema ./schema.json\n"), "{}", path.display());
        relais(["pipeline".as_ref(), "check".as_ref(), path.as_os_str()]).expect_success();
        let name = path.file_stem().expect("it has a name").to_string_lossy().into_owned();
        all.insert(name, text);
    }
    assert!(all.len() >= 5);
    let said = validate("shipped", all.iter().map(|(name, text)| (&**name, &**text)));
    assert!(said.values().all(|said| said == "taken"), "{said:#?}");
}

#[test]
fn r23_the_schema_takes_what_pipelines_can_say() {
    let names: Vec<String> = (0..TAKEN.len()).map(|at| format!("taken-{at}")).collect();
    let said = validate("taken", names.iter().map(String::as_str).zip(TAKEN.iter().copied()));
    for (name, toml) in names.iter().zip(TAKEN) {
        assert_eq!(said[name], "taken", "{toml}");
        check(name, toml).expect_success();
    }
}

#[test]
fn r22_the_schema_refuses_what_the_program_refuses() {
    let names: BTreeSet<&str> = REFUSED.iter().map(|(name, _)| *name).collect();
    assert!(names.len() == REFUSED.len() && names.len() >= 20);
    let said = validate("refused", REFUSED.iter().copied());
    for (name, toml) in REFUSED {
        assert!(said[*name].starts_with("refused: "), "{name}: {toml}");
        check(name, toml).expect_failure();
    }
}

#[test]
fn r23_a_printed_pipeline_is_taken_and_prints_the_same() {
    let printed = relais(["pipeline", "print", "default"]).expect_success().stdout;
    assert_eq!(validate("printed", [("default", &*printed)])["default"], "taken", "{printed}");
    let folder = folder("schema-printed");
    let path = folder.join("default.toml");
    fs::write(&path, &printed).expect("the folder can be written");
    let again = relais(["pipeline".as_ref(), "print".as_ref(), path.as_os_str()]).expect_success().stdout;
    assert_eq!(again, printed);
}

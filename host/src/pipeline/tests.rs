use super::{
    fake::{Does, Fakes, module, option},
    *,
};
use crate::{
    manager,
    options::{OptionSchema, ValueKind},
};
use relais_plugin_api::options::Value;
use std::{collections::BTreeMap, io, path::Path};

/// Files in memory.
struct Memory(BTreeMap<String, String>);

impl Files for Memory {
    fn read(&self, path: &Path) -> io::Result<String> {
        self.0.get(path.to_str().unwrap()).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

fn files(files: &[(&str, &str)]) -> Memory {
    Memory(files.iter().map(|(name, text)| ((*name).into(), (*text).into())).collect())
}

fn parse(text: &str) -> Result<PipelineSpec, Faults> {
    PipelineSpec::parse("p.toml", text, &files(&[]))
}

fn fakes() -> Fakes {
    Fakes::default()
        .pass("A", 0, &[], Does::Change)
        .pass("B", 1, &["A"], Does::Nothing)
        .pass("C", 3, &["B"], Does::Change)
        .plugin("fakes", "1.2.3")
}

fn codes(faults: &Faults) -> Vec<&'static str> {
    faults.list.iter().map(|fault| fault.code.as_str()).collect()
}

fn faults_of(text: &str, fakes: &Fakes) -> Faults {
    match parse(text).and_then(|spec| spec.resolve(fakes)) {
        Ok(pipeline) => panic!("`{text}` resolves to {}", pipeline.print()),
        Err(faults) => faults,
    }
}

#[test]
fn faults_of_every_level_are_collected_with_their_places() {
    let text = r#"
opt_lvl = 2
required = "A"
on_failure = "sikp"
steps = [
    { pass = "A", optoins = {} },
    { sequence = [{ fixpoint = ["A"], max_round = 3 }], opt_level = 1.5 },
    { when_operator = "Relu" },
    { pas = "A" },
    7,
    { pass = "A", include = "x.toml" },
    { passes = "level<<3" },
    { fixpoint = ["A"], max_rounds = 0 },
]
[plugins]
x = "one"
"#;
    let faults = parse(text).unwrap_err();
    let mut at: Vec<String> = faults.list.iter().map(|fault| faults.sources.locate(fault.place.unwrap())).collect();
    at.sort_by_key(|at| at.split(':').nth(1).unwrap().parse::<usize>().unwrap());
    let lines: Vec<&str> = at.iter().map(|at| at.split(':').nth(1).unwrap()).collect();
    assert_eq!(lines, ["2", "3", "4", "6", "7", "7", "8", "9", "10", "11", "12", "13", "16"], "{faults}");
    assert!(faults.to_string().contains("did you mean `opt_level`?"));
    assert!(faults.to_string().contains("did you mean `max_rounds`?"));
}

#[test]
fn what_is_not_toml_is_one_clear_fault() {
    for text in ["steps = [", "= 3", "a = 1\na = 2", "\u{0}", &"[".repeat(100_000), &"a.".repeat(100_000)] {
        let faults = parse(text).unwrap_err();
        assert!(codes(&faults).iter().all(|code| *code == "P001"), "{}", codes(&faults).join(" "));
    }
}

#[test]
fn deep_and_long_pipelines_are_read() {
    let steps = "\"A\",".repeat(10_000);
    let fakes = fakes();
    let spec = parse(&format!("steps = [{steps}]")).unwrap();
    let pipeline = spec.resolve(&fakes).unwrap();
    assert_eq!((pipeline.steps.len(), pipeline.passes.len()), (10_000, 1));
    let deep = |depth| format!("steps = [{}\"A\"{}]", "{ sequence = [".repeat(depth), "] }".repeat(depth));
    assert!(parse(&deep(30)).unwrap().resolve(&fakes).is_ok());
    assert_eq!(codes(&parse(&deep(10_000)).unwrap_err())[0], "P001");
}

#[test]
fn includes_nest_deeper_than_any_stack() {
    let n = 900;
    let mut all: Vec<(String, String)> = (0..n)
        .map(|i| (format!("{i}.toml"), format!("steps = [{{ sequence = [{{ include = \"{}.toml\" }}] }}]", i + 1)))
        .collect();
    all.push((format!("{n}.toml"), "steps = [\"A\"]".into()));
    let files = Memory(all.into_iter().collect());
    let fakes = fakes();
    let run = || {
        let spec = PipelineSpec::read(Path::new("0.toml"), &files).unwrap();
        let pipeline = spec.resolve(&fakes).unwrap();
        manager::run(&pipeline, &module(), &fakes, &Default::default()).unwrap();
        pipeline.print().len()
    };
    let thread = std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().stack_size(256 << 10);
        builder.spawn_scoped(scope, run).unwrap().join().unwrap()
    });
    assert!(thread > 0);
    assert_eq!(fakes.ran(), "A");
}

#[test]
fn includes_missing_and_of_themselves_are_faults() {
    let files = files(&[
        ("a.toml", "steps = [{ include = \"b.toml\" }, { include = \"c.toml\" }]"),
        ("b.toml", "steps = [{ include = \"a.toml\" }]"),
    ]);
    let faults = PipelineSpec::read(Path::new("a.toml"), &files).unwrap_err();
    assert_eq!(codes(&faults), ["P007", "P008"]);
    assert!(faults.to_string().contains("`a.toml` includes `b.toml` includes `a.toml`"), "{faults}");
    let itself = self::files(&[("a.toml", "steps = [{ include = \"a.toml\" }]")]);
    assert_eq!(codes(&PipelineSpec::read(Path::new("a.toml"), &itself).unwrap_err()), ["P008"]);
    assert_eq!(codes(&PipelineSpec::read(Path::new("none.toml"), &itself).unwrap_err()), ["P007"]);
}

#[test]
fn an_include_is_a_scope_and_leaves_the_run_alone() {
    let files = files(&[
        ("a.toml", "opt_level = 0\nsteps = [\"C\", { include = \"b.toml\" }]"),
        ("b.toml", "opt_level = 3\nsteps = [\"C\"]"),
        ("c.toml", "steps = [{ include = \"d.toml\" }]"),
        ("d.toml", "on_failure = \"skip\"\nsteps = []"),
    ]);
    let fakes = fakes();
    let pipeline = PipelineSpec::read(Path::new("a.toml"), &files).unwrap().resolve(&fakes).unwrap();
    manager::run(&pipeline, &module(), &fakes, &Default::default()).unwrap();
    assert_eq!(fakes.ran(), "A B C");
    assert_eq!(codes(&PipelineSpec::read(Path::new("c.toml"), &files).unwrap_err()), ["P018"]);
}

#[test]
fn r04_names_that_nothing_provides_are_faults_wherever_they_stand() {
    let text = "required = [\"Aa\"]\ndisabled = [\"Q\", \"R?\"]\nsteps = [\"A\", \"Bb\", \"S?\"]";
    let faults = faults_of(text, &fakes());
    assert_eq!(codes(&faults), ["P010"; 3]);
    assert!(faults.to_string().contains("did you mean `A`"), "{faults}");
}

#[test]
fn r04_a_name_of_two_plugins_fails_the_pipelines_that_use_it() {
    let fakes = fakes().pass("Z", 0, &[], Does::Nothing).pass("Z", 0, &[], Does::Nothing).of("others");
    let faults = faults_of("steps = [\"Z\"]", &fakes);
    assert_eq!(codes(&faults), ["P011"]);
    assert!(faults.to_string().contains("`fakes`") && faults.to_string().contains("`others`"));
    assert!(parse("steps = [\"A\"]").unwrap().resolve(&fakes).is_ok());
}

#[test]
fn r05_a_cycle_a_missing_a_disabled_and_a_refused_requirement_are_told_at_once() {
    let fakes = Fakes::default()
        .pass("Cycle1", 0, &["Cycle2"], Does::Nothing)
        .pass("Cycle2", 0, &["Cycle1"], Does::Nothing)
        .pass("NeedsNothingKnown", 0, &["Missing"], Does::Nothing)
        .pass("NeedsDisabled", 0, &["Off"], Does::Nothing)
        .pass("Off", 0, &[], Does::Nothing)
        .pass("Outer", 0, &["NeedsRefused"], Does::Nothing)
        .pass("NeedsRefused", 0, &["Old"], Does::Nothing)
        .refused("Old");
    let text = "disabled = [\"Off\"]\nsteps = [\"Cycle1\", \"NeedsNothingKnown\", \"NeedsDisabled\", \"Outer\"]";
    let faults = faults_of(text, &fakes);
    let mut codes = codes(&faults);
    codes.sort_unstable();
    assert_eq!(codes, ["P012", "P013", "P014", "P015"], "{faults}");
    let text = faults.to_string();
    assert!(text.contains("`Outer` requires `NeedsRefused`, which requires `Old`"), "{text}");
    assert!(text.contains("`Cycle1` requires `Cycle2` requires `Cycle1`"), "{text}");
    assert_eq!(fakes.ran(), "");
}

#[test]
fn r05_only_the_requirements_of_what_is_on_count() {
    let fakes = Fakes::default().pass("High", 4, &["Missing"], Does::Nothing).pass("Low", 0, &[], Does::Nothing);
    assert!(parse("opt_level = 3\nsteps = [\"High\", \"Low\"]").unwrap().resolve(&fakes).is_ok());
    assert!(
        parse("steps = [{ sequence = [\"High\"], opt_level = 5 }]\nrequired = [\"High\"]")
            .unwrap()
            .resolve(&fakes)
            .is_ok()
    );
    let faults = faults_of("required = [\"High\"]\nsteps = [\"High\"]", &fakes);
    assert_eq!(codes(&faults), ["P014"]);
}

#[test]
fn r05_sequential_passes_that_require_themselves_are_a_cycle() {
    let fakes = Fakes::default().pass("S", 0, &[], Does::Consist(vec!["M"])).pass("M", 0, &["S"], Does::Nothing).pass(
        "T",
        0,
        &[],
        Does::Consist(vec!["T"]),
    );
    for (text, mode) in [("S", "transitive"), ("S", "direct"), ("T", "transitive")] {
        let faults = faults_of(&format!("dependencies = \"{mode}\"\nsteps = [\"{text}\"]"), &fakes);
        assert_eq!(codes(&faults), ["P013"], "{text} {mode}: {faults}");
    }
}

#[test]
fn r07_a_requirement_with_a_mandatory_option_is_refused() {
    let depth = || option("depth", ValueKind::Int { min: 0, max: 9 }, None);
    let fakes =
        Fakes::default().pass("A", 0, &["D"], Does::Nothing).pass("D", 0, &[], Does::Nothing).options(vec![depth()]);
    assert_eq!(codes(&faults_of("steps = [\"A\"]", &fakes)), ["P016"]);
    let with_default = option("depth", ValueKind::Int { min: 0, max: 9 }, Some(Value::Int(4)));
    let fakes = Fakes::default()
        .pass("A", 0, &["D"], Does::Nothing)
        .pass("D", 0, &[], Does::Nothing)
        .options(vec![with_default]);
    let pipeline = parse("steps = [\"A\"]").unwrap().resolve(&fakes).unwrap();
    manager::run(&pipeline, &module(), &fakes, &Default::default()).unwrap();
    assert_eq!(fakes.ran(), "D{ depth = 4 } A");
}

fn with_options() -> Fakes {
    let inner = vec![option("deep", ValueKind::Bool, Some(Value::Bool(true)))];
    let mode = ValueKind::Choice(vec![("fast".into(), String::new()), ("small".into(), String::new())]);
    Fakes::default()
        .pass("acme.P", 0, &[], Does::Nothing)
        .options(vec![
            option("on", ValueKind::Bool, Some(Value::Bool(false))),
            option("depth", ValueKind::Int { min: 0, max: 100 }, Some(Value::Int(8))),
            option("scale", ValueKind::Float { min: 0.0, max: 1.0 }, Some(Value::Float(0.5))),
            option("mode", mode, Some(Value::Str("fast".into()))),
            option("names", ValueKind::List(Box::new(ValueKind::Str)), Some(Value::List(vec![]))),
            option("inner", ValueKind::Struct(inner), None),
        ])
        .config(option("acme.P.limit", ValueKind::Int { min: 0, max: 1 << 40 }, Some(Value::Int(1))), &["acme"])
        .config(option("both", ValueKind::Bool, Some(Value::Bool(true))), &["acme", "other"])
}

#[test]
fn r22_options_are_checked_before_anything_runs() {
    let faulty = [
        ("dept = 1", "P002"),
        ("depth = true", "P003"),
        ("depth = 1.0", "P003"),
        ("depth = 101", "P004"),
        ("depth = 99999999999999999999999999", "P004"),
        ("on = 1", "P003"),
        ("on = \"true\"", "P003"),
        ("scale = 1", "P003"),
        ("scale = nan", "P004"),
        ("scale = 1.5", "P004"),
        ("scale = inf", "P004"),
        ("mode = \"fsat\"", "P004"),
        ("names = [\"a\", 1]", "P003"),
        ("names = \"a\"", "P003"),
        ("inner = { dep = true }", "P002"),
        ("inner = 3", "P003"),
        ("depth = 1979-05-27", "P003"),
    ];
    for (options, code) in faulty {
        let faults = faults_of(&format!("steps = [{{ pass = \"P\", options = {{ {options} }} }}]"), &with_options());
        assert_eq!(codes(&faults), [code], "{options}: {faults}");
        assert!(faults.list[0].place.is_some(), "{options}");
    }
    let all = faulty[..1].iter().map(|(options, _)| *options).chain(["on = 1", "mode = \"fsat\""]);
    let text = format!("steps = [{{ pass = \"P\", options = {{ {} }} }}]", all.collect::<Vec<_>>().join(", "));
    assert_eq!(codes(&faults_of(&text, &with_options())).len(), 3);
}

#[test]
fn r21_a_pipeline_that_does_not_run_keeps_relative_paths_so_that_its_lock_holds_elsewhere() {
    let path = option("file", ValueKind::Path, Some(Value::Str("default".into())));
    let fakes = Fakes::default().pass("A", 0, &[], Does::Nothing).options(vec![path]);
    let text = "steps = [\"A\", { pass = \"A\", options = { file = \"own\" } }]";
    let specs = ["here/p.toml", "there/p.toml"].map(|name| PipelineSpec::parse(name, text, &files(&[])).unwrap());
    let [here, there] = specs.each_ref().map(|spec| spec.outline(&fakes).unwrap().pipeline.print());
    assert_eq!(here, there);
    assert!(here.contains("\"file\" = \"own\""), "{here}");
    let [here, there] = specs.each_ref().map(|spec| spec.resolve(&fakes).unwrap().print());
    let absolute = |path: &str| quote(std::path::absolute(path).unwrap().to_str().unwrap());
    for (printed, own) in [(here, "here/own"), (there, "there/own")] {
        assert!(printed.contains(&absolute(own)) && printed.contains(&absolute("default")), "{printed}");
    }
}

#[test]
fn r22_config_is_found_however_its_key_is_dotted() {
    let fakes = with_options();
    for text in [
        "steps = []\nconfig.acme.P.limit = 7",
        "steps = []\nconfig = { \"acme.P.limit\" = 7 }",
        "steps = []\n[config.acme]\nP.limit = 7",
    ] {
        let pipeline = parse(text).unwrap().resolve(&fakes).unwrap();
        assert_eq!(pipeline.scope.config.get("acme.P.limit"), Some(&Value::Int(7)), "{text}");
    }
    assert_eq!(codes(&faults_of("steps = []\nconfig.acme.P.limits = 7", &fakes)), ["P002"]);
    assert_eq!(codes(&faults_of("steps = []\nconfig.acme = 7", &fakes)), ["P002"]);
    assert_eq!(codes(&faults_of("steps = []\nconfig.both = true", &fakes)), ["P011"]);
}

#[test]
fn r22_config_is_found_by_its_aliases() {
    let named = |name: &str, aliases: &[&str]| OptionSchema {
        aliases: aliases.iter().map(|&alias| alias.into()).collect(),
        ..option(name, ValueKind::Int { min: 0, max: 9 }, Some(Value::Int(0)))
    };
    let fakes = Fakes::default()
        .config(named("acme.limit", &["tvm.limit", "old.acme.limit"]), &["one"])
        .config(named("other.limit", &["old.acme.limit"]), &["two"])
        .config(named("third.limit", &["other.limit"]), &["three"]);
    for (text, limit) in [("steps = []\nconfig = { \"tvm.limit\" = 7 }", 7), ("steps = []\nconfig.tvm.limit = 7", 7)] {
        let pipeline = parse(text).unwrap().resolve(&fakes).unwrap();
        let expected = [("acme.limit".to_owned(), Value::Int(limit))];
        assert_eq!(pipeline.scope.config, expected.into(), "{text}");
    }
    // Two names of one key are one key, however they are dotted.
    for text in [
        "steps = []\nconfig.tvm.limit = 7\nconfig.acme.limit = 5",
        "steps = []\nconfig = { \"acme.limit\" = 5, \"tvm.limit\" = 5 }",
        "steps = []\nconfig = { \"acme.limit\" = 5, acme = { limit = 5 } }",
        "steps = [{ scope = [], config = { \"acme.limit\" = 5, tvm.limit = 5 } }]",
    ] {
        let faults = faults_of(text, &fakes);
        assert_eq!(codes(&faults), ["P006"], "{text}: {faults}");
        assert!(faults.list[0].place.is_some(), "{text}: {faults}");
    }
    let faults = faults_of("steps = []\nconfig.tvm.limit = 7\nconfig.acme.limit = 5", &fakes).to_string();
    for part in
        ["option `acme.limit` is given twice", "`tvm.limit` and `acme.limit` are names of one option", "p.toml:2:"]
    {
        assert!(faults.contains(part), "{faults}");
    }
    // A scope within another may set it, too.
    let text = "steps = [{ scope = [], config.tvm.limit = 7 }]\nconfig.acme.limit = 5";
    assert!(parse(text).unwrap().resolve(&fakes).is_ok());
    // Keys that only begin as an alias are unknown, and values are checked as those of the name.
    assert_eq!(codes(&faults_of("steps = []\nconfig.tvm.limits = 7", &fakes)), ["P002"]);
    assert_eq!(codes(&faults_of("steps = []\nconfig.tvm.limit = 10", &fakes)), ["P004"]);
    // Several plugins have an option of that name.
    assert_eq!(codes(&faults_of("steps = []\nconfig.old.acme.limit = 7", &fakes)), ["P011"]);
    assert_eq!(codes(&faults_of("steps = []\nconfig.other.limit = 7", &fakes)), ["P011"]);
}

#[test]
fn settings_from_outside_reach_the_context_and_passes() {
    let fakes = with_options();
    let mut spec = parse("steps = [{ pass = \"P\", options = { depth = 1, mode = \"small\" } }]").unwrap();
    for text in ["acme.P.limit=5", "P.depth=3", "acme.P.mode=fast", "P.inner.deep=false"] {
        let entry = parse_setting(&mut spec.sources, "--set", text).unwrap();
        spec.settings.push(entry);
    }
    let pipeline = spec.resolve(&fakes).unwrap();
    assert_eq!(pipeline.scope.config.get("acme.P.limit"), Some(&Value::Int(5)));
    let options = &pipeline.passes[0].options;
    assert_eq!((options.get("depth"), options.get("mode")), (Some(&Value::Int(3)), Some(&Value::Str("fast".into()))));
    assert_eq!(options.get("inner").and_then(|inner| inner.get("deep")), Some(&Value::Bool(false)));
    for (text, code) in
        [("P.dept=3", "P002"), ("Q.depth=1", "P002"), ("P.depth=x", "P003"), ("acme.P.limit=-1", "P004")]
    {
        let mut spec = parse("steps = [\"P\"]").unwrap();
        let entry = parse_setting(&mut spec.sources, "--set", text).unwrap();
        spec.settings.push(entry);
        assert_eq!(codes(&spec.resolve(&fakes).unwrap_err()), [code], "{text}");
    }
    let mut sources = fault::Sources::default();
    assert!(
        parse_setting(&mut sources, "--set", "novalue").is_err() && parse_setting(&mut sources, "--set", "=1").is_err()
    );
}

#[test]
fn plugins_are_demanded_by_version() {
    let fakes = fakes();
    assert!(parse("steps = []\n[plugins]\nfakes = \"^1.2\"").unwrap().resolve(&fakes).is_ok());
    assert_eq!(codes(&faults_of("steps = []\n[plugins]\nfakes = \">=2\"", &fakes)), ["P017"]);
    assert_eq!(codes(&faults_of("steps = []\n[plugins]\nfake = \"1\"", &fakes)), ["P017"]);
}

#[test]
fn r05_what_a_sequence_requires_is_checked_before_anything_runs() {
    let fakes = Fakes::default()
        .pass("A", 0, &[], Does::Nothing)
        .pass("NeedsNone", 0, &["None"], Does::Nothing)
        .pass("acme.P", 0, &[], Does::Nothing)
        .options(vec![option("depth", ValueKind::Int { min: 0, max: 9 }, None)]);
    let step = |required: &str| format!("{{ sequence = [\"A\"], name = \"s\", required = [\"{required}\"] }}");
    for (text, code, said) in [
        (format!("steps = [{}]", step("Nowhere")), "P014", "`s` requires `Nowhere`, which nothing provides"),
        (format!("steps = [{}]\ndisabled = [\"A\"]", step("A")), "P015", "`s` requires `A`, which is disabled"),
        (format!("steps = [{}]", step("P")), "P016", "`s` requires `acme.P`, which cannot be made without options"),
        (format!("steps = [{}]", step("NeedsNone")), "P014", "`NeedsNone` requires `None`, which nothing provides"),
    ] {
        let faults = faults_of(&text, &fakes);
        assert_eq!(codes(&faults), [code], "{text}: {faults}");
        assert!(faults.to_string().contains(said) && faults.list[0].place.is_some(), "{text}: {faults}");
    }
    // A sequence that is off requires nothing, and a pass that may be missing may be missing.
    assert!(parse(&format!("steps = [{}]\ndisabled = [\"s\"]", step("Nowhere"))).unwrap().resolve(&fakes).is_ok());
    assert!(parse(&format!("steps = [{}]\ndisabled = [\"A\", \"s\"]", step("A"))).unwrap().resolve(&fakes).is_ok());
    assert!(parse(&format!("steps = [{}]", step("Nowhere?"))).unwrap().resolve(&fakes).is_ok());
}

#[test]
fn r05_what_is_required_may_have_options() {
    let depth = || vec![option("depth", ValueKind::Int { min: 0, max: 9 }, None)];
    let fakes = || {
        let needs = |fakes: Fakes, name: &str, option: &str, value: Value| {
            fakes.pass(name, 0, &[], Does::Nothing).requiring("acme.P", option, value)
        };
        let fakes = Fakes::default().pass("acme.P", 0, &[], Does::Nothing).options(depth());
        let fakes = [("Needs3", 3), ("Needs4", 4), ("Needs99", 99)]
            .iter()
            .fold(fakes, |fakes, &(name, depth)| needs(fakes, name, "depth", Value::Int(depth)));
        let fakes = needs(fakes, "NeedsWidth", "width", Value::Int(1));
        needs(fakes, "NeedsText", "depth", Value::Str("deep".into()))
    };
    let ran = |steps: &str| {
        let fakes = fakes();
        let pipeline =
            parse(&format!("steps = [{steps}]")).unwrap().resolve(&fakes).unwrap_or_else(|faults| panic!("{faults}"));
        manager::run(&pipeline, &module(), &fakes, &manager::ManagerOptions::default()).unwrap();
        // Its text resolves to the same.
        assert_eq!(parse(&pipeline.print()).unwrap().resolve(&fakes).unwrap().print(), pipeline.print());
        fakes.ran()
    };
    assert_eq!(ran("\"Needs3\", \"Needs3\""), "acme.P{ depth = 3 } Needs3 Needs3");
    // With other options it is another pass, whose result does not hold.
    assert_eq!(ran("\"Needs3\", \"Needs4\""), "acme.P{ depth = 3 } Needs3 acme.P{ depth = 4 } Needs4");
    let sequence = |required: &str| format!("{{ sequence = [\"Needs3\"], name = \"s\", required = [{required}] }}");
    assert_eq!(
        ran(&sequence("{ pass = \"P\", options = { depth = 5 } }")),
        "acme.P{ depth = 5 } acme.P{ depth = 3 } Needs3"
    );
    let steps = |steps: &str| format!("steps = [{steps}]");
    for (text, code, said) in [
        (steps("\"Needs99\""), "P004", "`Needs99` requires `acme.P` with this option"),
        (steps("\"NeedsWidth\""), "P002", "`NeedsWidth` requires `acme.P` with this option"),
        (steps("\"NeedsText\""), "P003", "`NeedsText` requires `acme.P` with this option"),
        (steps(&sequence("{ pass = \"P\", options = { depth = 10 } }")), "P004", "10"),
        (steps(&sequence("{ pass = \"P\", optoins = { depth = 1 } }")), "P002", "did you mean `options`?"),
        (steps(&sequence("{ options = { depth = 1 } }")), "P005", "a requirement has no `pass`"),
        (steps(&sequence("{ pass = \"P\" }")), "P016", "`s` requires `acme.P`, which cannot be made without options"),
    ] {
        let faults = faults_of(&text, &fakes());
        assert!(codes(&faults).contains(&code) && faults.to_string().contains(said), "{text}: {faults}");
    }
}

#[test]
fn r02_a_runtime_is_one_that_passes_are_for() {
    let fakes = Fakes::default().pass("A", 0, &[], Does::Nothing).pass("B", 0, &[], Does::Nothing).for_runtime("acme");
    let faults = faults_of("steps = [{ passes = \"level<=1\", runtime = \"acne\" }]", &fakes);
    assert_eq!(codes(&faults), ["P010"]);
    for part in ["no pass is for the runtime `acne`", "runtimes: `acme`", "did you mean `acme`?"] {
        assert!(faults.to_string().contains(part), "{faults}");
    }
    // The points of built-in pipelines are of pipelines for any runtime.
    let point = crate::pipeline::EXTENSION_POINTS[0];
    let added = |point: &str| {
        let fakes = Fakes::default().pass("B", 0, &[], Does::Nothing).extends(point).for_runtime("acme");
        let pipeline = parse(&format!("steps = [{{ extension = \"{point}\" }}]")).unwrap().resolve(&fakes).unwrap();
        (pipeline.additions.len(), pipeline.warnings.join(""))
    };
    let (n_added, warned) = added(point);
    assert!(n_added == 0 && warned.contains("it is for the runtime `acme`"), "{warned}");
    assert_eq!(added("of-my-own"), (1, String::new()));
}

#[test]
fn r02_a_set_with_passes_above_the_level_of_the_context_is_said() {
    let fakes = Fakes::default().pass("A", 0, &[], Does::Nothing).pass("B", 3, &[], Does::Nothing);
    let warnings = |text: &str| parse(text).unwrap().resolve(&fakes).unwrap().warnings;
    let off = "passes of level 3 are named by a set of levels and off at level 2: `opt_level = 3` turns them on";
    assert_eq!(warnings("steps = [{ passes = \"level<=3\" }]"), [off]);
    for quiet in [
        "opt_level = 3\nsteps = [{ passes = \"level<=3\" }]",
        "required = [\"B\"]\nsteps = [{ passes = \"level<=3\" }]",
        "disabled = [\"B\"]\nsteps = [{ passes = \"level<=3\" }]",
        "steps = [{ passes = \"level<=2\" }]",
    ] {
        assert_eq!(warnings(quiet), Vec::<String>::new(), "{quiet}");
    }
}

#[test]
fn a_sequence_is_switched_by_its_short_name_if_nothing_else_has_it() {
    let ran = |disabled: &str, steps: &str| {
        let fakes = Fakes::default().pass("A", 0, &[], Does::Nothing).pass("p.Own", 0, &[], Does::Nothing);
        let pipeline = parse(&format!("disabled = [\"{disabled}\"]\nsteps = [{steps}]")).unwrap().resolve(&fakes)?;
        manager::run(&pipeline, &module(), &fakes, &Default::default()).unwrap();
        Ok::<_, Faults>(fakes.ran())
    };
    let inner = "{ sequence = [\"A\"], name = \"acme.Inner\" }, \"p.Own\"";
    assert_eq!(ran("Inner", inner).unwrap(), "p.Own");
    assert_eq!(ran("Inner?", inner).unwrap(), "p.Own");
    let two = format!("{inner}, {{ sequence = [\"A\"], name = \"other.Inner\" }}");
    assert_eq!(codes(&ran("Inner", &two).unwrap_err()), ["P010"]);
    // A pass comes first.
    assert_eq!(ran("Own", "{ sequence = [\"A\"], name = \"acme.Own\" }, \"p.Own\"").unwrap(), "A");
}

#[test]
fn a_pass_for_a_target_is_in_pipelines_for_it_and_where_it_is_named() {
    let ran = |text: &str| {
        let fakes = Fakes::default().pass("A", 1, &[], Does::Nothing).extends("here").for_target("npu");
        let fakes = fakes.pass("B", 1, &[], Does::Nothing).extends("here");
        let pipeline = parse(text).unwrap().resolve(&fakes).unwrap();
        assert_eq!(pipeline.warnings, Vec::<String>::new());
        manager::run(&pipeline, &module(), &fakes, &Default::default()).unwrap();
        fakes.ran()
    };
    let point = "steps = [{ extension = \"here\" }]";
    assert_eq!(ran(point), "B");
    assert_eq!(ran(&format!("target = \"npu\"\n{point}")), "A B");
    assert_eq!(ran(&format!("target = \"dsp\"\n{point}")), "B");
    assert_eq!(ran("steps = [{ passes = \"level<=1\" }]"), "B");
    assert_eq!(ran("target = \"npu\"\nsteps = [{ passes = \"level<=1\" }]"), "A B");
    assert_eq!(ran("steps = [\"A\"]"), "A");
}

#[test]
fn a_resolved_pipeline_prints_as_one_that_runs_the_same() {
    let text = r#"
name = "all"
opt_level = 1
required = ["acme.P"]
disabled = ["seq"]
dependencies = "direct"
on_failure = "quarantine"
verify = "each"
instruments = ["timing"]
steps = [
    { pass = "P", options = { depth = 3, names = ["a\"b", "ü"] } },
    { sequence = ["P", { fixpoint = ["P"], max_rounds = 2 }], name = "seq", opt_level = 1, required = ["P"] },
    { scope = ["P"], opt_level = 3, disabled = ["P"], config = { "acme.P.limit" = 9 } },
    { when_operator = ["Relu", "com.acme::Gate"], steps = ["P"] },
    { passes = "level<=0" },
]
[config]
"acme.P.limit" = 1099511627776
[plugins]
fakes = { version = ">=1, <3", passes = ["acme.P"] }
"#;
    let fakes = with_options().plugin("fakes", "2.0.0");
    let first = parse(text).unwrap().resolve(&fakes).unwrap().print();
    let second = parse(&first).unwrap_or_else(|faults| panic!("{first}\n{faults}")).resolve(&fakes).unwrap().print();
    assert_eq!(first, second);
    for part in
        ["max_rounds = 2", "com.acme::Gate", "], name = \"seq\", opt_level = 1, required = [{ pass = \"acme.P\""]
    {
        assert!(first.contains(part), "{first}");
    }
}

#[test]
fn the_pipeline_for_size_is_the_default_one_up_to_an_option() {
    let steps = |name: &str| -> Vec<String> {
        let (_, text) = BUILT_IN.iter().find(|(known, _)| *known == name).unwrap();
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        lines
            .map(|line| line.split(", options").next().unwrap().replace("{ pass = ", "").replace("\",", "\""))
            .collect()
    };
    assert_eq!(steps("size"), steps("default"));
}

#[test]
fn the_built_in_pipelines_parse() {
    for (name, text) in BUILT_IN {
        PipelineSpec::parse(&format!("builtin:{name}"), text, &Disk).unwrap_or_else(|faults| panic!("{faults}"));
    }
}

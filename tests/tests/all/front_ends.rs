//! One request by each front end: the command line, `relais build`, Python, and a program that embeds the host. Each says the
//! same: the notices, the error with its code, and what was made of the model.

use relais::{
    plugin::{Policy, WritableFiles, discover},
    registry::{Choices, Linked, Registry},
};
use relais_session::{
    Argument, ModelSource, Notice, Request, Session,
    check::CheckRequest,
    model::Part,
    pipeline::{Chosen, PipelineRequest},
};
use relais_tests::{
    cargo_built::{plugin, workspace},
    cli::{Run, command, folder},
    venv::package_python,
};
use serde_json::{Value, json};
use std::{fs, path::Path};

/// A request in the words of each front end.
struct Asked {
    name: &'static str,
    model: &'static str,
    plugins: &'static [&'static str],
    arguments: &'static [&'static str],
    /// The arguments in Python.
    keywords: Value,
    /// The same for a program, apart from the files.
    request: Request,
    /// Whether `relais build` has the arguments, too.
    is_built: bool,
}

const MODELS: [(&str, &str); 5] = [
    (
        "open.relay",
        "def @main(%x: Tensor[(N, 4), float32]) -> (%y) #[opset = {\"\": 17}] { %a = Neg(%x); %b = Neg(%a); %y = Relu(%b); %y }\n",
    ),
    (
        "outdated.relay",
        "def @main(%x: Tensor[(N, 4), float32]) -> (%y) #[opset = {\"\": 17}] { %a: Tensor[(1, 4), float32] = Neg(%x); \
         %b: Tensor[(1, 4), float32] = Exp(%a); %y = Relu(%b); %y }\n",
    ),
    (
        "unknown.relay",
        "def @main(%x: Tensor[(2), float32]) -> (%y) #[opset = {\"\": 17, \"acme\": 1}] { %y = acme::Nobody(%x); %y }\n",
    ),
    ("broken.relay", "def @main(%x: Tensor[(2), float32]) { %y = ; %y }\n"),
    ("rules.txt", "Neg(Neg(x)) => x\n"),
];

fn ask(
    name: &'static str,
    model: &'static str,
    arguments: &'static [&'static str],
    keywords: Value,
    request: Request,
) -> Asked {
    Asked { name, model, plugins: &[], arguments, keywords, request, is_built: true }
}

/// Requests of which all is well.
fn good() -> Vec<Asked> {
    let silu = "silu: Mul(x, Sigmoid(x)) => acme::Silu(x)";
    let shape = Part { input_shapes: vec!["x:2,4".into()], ..Part::default() };
    let from_b = Part { inputs: vec!["b".into()], ..Part::default() };
    vec![
        ask(
            "shape",
            "open.relay",
            &["--input-shape", "x:2,4"],
            json!({"input_shapes": {"x": [2, 4]}}),
            Request { part: shape, ..Request::default() },
        ),
        ask("outdated", "outdated.relay", &[], json!({}), Request::default()),
        Asked { plugins: &["sample"], ..ask("conflict", "open.relay", &[], json!({}), Request::default()) },
        ask(
            "not judged",
            "open.relay",
            &["--rule", "silu: Mul(x, Sigmoid(x)) => acme::Silu(x)"],
            json!({"rules": [silu]}),
            rules(&[silu]),
        ),
        Asked {
            is_built: false,
            ..ask(
                "part",
                "open.relay",
                &["--inputs", "b"],
                json!({"inputs": ["b"]}),
                Request { part: from_b, ..Request::default() },
            )
        },
        ask(
            "nothing changes",
            "open.relay",
            &["--passes", "DeadCodeElimination"],
            json!({"passes": ["DeadCodeElimination"]}),
            passes("DeadCodeElimination"),
        ),
    ]
}

/// Requests that are refused before a pass runs.
fn refused() -> Vec<Asked> {
    let of_rank_1 = Part { input_shapes: vec!["x:2".into()], ..Part::default() };
    let setting = vec![Argument::new("config", "FoldConstant.no=1".to_owned())];
    let pair = ["Neg(x) => x", "Relu(x) => Abs(x)"];
    let keep = Request { keep: vec!["c".into()], ..Request::default() };
    let over_rules = through(PipelineRequest { rule_files: vec!["rules.txt".into()], ..PipelineRequest::default() });
    vec![
        Asked { is_built: false, ..ask("no value", "open.relay", &["--keep", "c"], json!({"keep": ["c"]}), keep) },
        ask(
            "no pass",
            "open.relay",
            &["--passes", "NoSuchPass"],
            json!({"passes": ["NoSuchPass"]}),
            passes("NoSuchPass"),
        ),
        ask(
            "no option",
            "open.relay",
            &["--set", "FoldConstant.no=1"],
            json!({"config": {"FoldConstant.no": 1}}),
            through(PipelineRequest { settings: setting, ..PipelineRequest::default() }),
        ),
        ask(
            "unsound",
            "open.relay",
            &["--rule", "Neg(x) => x", "--rule", "Relu(x) => Abs(x)"],
            json!({"rules": pair}),
            rules(&pair),
        ),
        ask(
            "malformed",
            "open.relay",
            &["--rule", "Neg(x => x"],
            json!({"rules": ["Neg(x => x"]}),
            rules(&["Neg(x => x"]),
        ),
        ask("broken", "broken.relay", &[], json!({}), Request::default()),
        ask(
            "rank",
            "open.relay",
            &["--input-shape", "x:2"],
            json!({"input_shapes": {"x": [2]}}),
            Request { part: of_rank_1, ..Request::default() },
        ),
        Asked {
            is_built: false,
            ..ask(
                "replaces rules",
                "open.relay",
                &["--rules", "rules.txt", "-o", "rules.txt"],
                json!({"rule_files": ["rules.txt"], "out": "rules.txt"}),
                over_rules.to("rules.txt"),
            )
        },
    ]
}

/// Requests that fail while passes run, or behind them.
fn failing() -> Vec<Asked> {
    let settings = vec![Argument::new("config", "bad.Fault.fault=\"panic\"".to_owned())];
    let fault = passes("bad.Fault").pipeline;
    let check = CheckRequest::random(1);
    vec![
        Asked {
            plugins: &["bad"],
            ..ask(
                "fails",
                "open.relay",
                &["--passes", "bad.Fault", "--set", "bad.Fault.fault=\"panic\""],
                json!({"passes": ["bad.Fault"], "config": {"bad.Fault.fault": "panic"}}),
                through(PipelineRequest { settings, ..fault }),
            )
        },
        Asked {
            plugins: &["liar"],
            is_built: false,
            ..ask(
                "differs",
                "open.relay",
                &["--passes", "liar.DropsRelu", "--check=1"],
                json!({"passes": ["liar.DropsRelu"], "check": 1}),
                Request { check: check.clone(), ..passes("liar.DropsRelu") },
            )
        },
        Asked {
            is_built: false,
            ..ask(
                "not checked",
                "unknown.relay",
                &["--check=1"],
                json!({"check": 1}),
                Request { check, ..Request::default() },
            )
        },
    ]
}

fn through(pipeline: PipelineRequest) -> Request {
    Request::default().through(pipeline)
}

fn rules(rules: &[&str]) -> Request {
    let rules = Argument::numbered("rules", rules.iter().map(|&rule| rule.to_owned()));
    through(PipelineRequest { rules, ..PipelineRequest::default() })
}

fn passes(name: &str) -> Request {
    let passes = Argument::numbered("passes", [name.to_owned()]);
    through(PipelineRequest { chosen: Chosen::Passes(passes), ..PipelineRequest::default() })
}

/// Messages of a front end: each with its kind, without suggestions; an error with its code.
type Said = Vec<(String, String)>;

/// A message in the words of a program, without what differs between machines and between front ends on purpose.
fn normal(text: &str) -> String {
    let mut text = text.split("\n  help: ").next().unwrap_or_default().to_owned();
    for (there, here) in
        [("--rule[", "rules["), ("--passes:", "passes[0]:"), ("--set:", "config:"), ("`--passes`", "`passes`")]
    {
        text = text.replace(there, here);
    }
    // Where plugins are, what the command line adds, and suggestions.
    const OWN: [&str; 4] = ["  nothing was written", "  note: `", "  `", "  = note: `"];
    let own = |line: &&str| !OWN.iter().any(|start| line.starts_with(start));
    let lines: Vec<String> = text.lines().filter(own).map(without_places).collect();
    lines.join("\n").trim_end().to_owned()
}

/// A line without the places of plugins, which follow their names.
fn without_places(line: &str) -> String {
    let mut line = line.to_owned();
    while let Some(start) = line.find("` (") {
        let Some(len) = line[start..].find(')') else { break };
        line.replace_range(start + 1..=start + len, "");
    }
    line
}

/// The same without its code, which is in front of it, or behind the place of a rule.
fn uncoded(code: &str, text: &str) -> String {
    text.replace(&format!("error[{code}]: "), "")
}

fn said_of_error(code: &str, text: &str) -> (String, String) {
    (format!("error[{code}]"), normal(&uncoded(code, text)))
}

/// The messages that the command line printed, apart from those of passes.
fn printed(stderr: &str) -> Said {
    let mut items: Vec<(String, String)> = Vec::new();
    for line in stderr.lines() {
        let start = ["warning", "note", "error"].into_iter().find(|kind| line.starts_with(kind));
        match (start.and_then(|_| line.split_once(": ")), items.last_mut()) {
            (Some((kind, text)), _) => items.push((kind.to_owned(), text.to_owned())),
            (None, Some((_, last))) => *last += &format!("\n{line}"),
            (None, None) => {}
        }
    }
    let is_reproducer = |kind: &str, text: &str| kind == "note" && text.contains("is a reproducer\n");
    items.retain(|(kind, text)| !text.contains("note: said by pass") && !is_reproducer(kind, text));
    items
        .into_iter()
        .map(|(kind, text)| match kind.strip_prefix("error") {
            Some(code) => said_of_error(code.trim_matches(['[', ']']), &text),
            None => (kind, normal(&text)),
        })
        .collect()
}

/// The messages of a session, the number of those before its end, and the result.
struct Told {
    said: Said,
    n_before: usize,
    has_run: bool,
    result: Option<Vec<u8>>,
}

fn embedded(here: &Path, asked: &Asked) -> Told {
    let plugins: Vec<_> =
        workspace().plugins.iter().cloned().chain(asked.plugins.iter().map(|name| plugin(name))).collect();
    let found = discover(&[], &plugins, Policy { writable: WritableFiles::Allow });
    let session = Session::of(Registry::new(found, Linked::Exclude, &Choices::new()));
    let output = here.join("embedded.relay");
    let mut request = Request { model: ModelSource::File(here.join(asked.model)), ..asked.request.clone() };
    if request.output.is_none() {
        request = request.to(&output);
    }
    // Paths in the folder of the test, which is not that of this process.
    request.pipeline.rule_files.iter_mut().for_each(|file| *file = here.join(&*file));
    request.output.iter_mut().for_each(|output| output.path = here.join(&output.path));
    let shown = |notice: &Notice| (notice.severity.name().to_owned(), normal(&notice.to_string()));
    let place = format!("{}/", here.display());
    let local = |said: Said| said.into_iter().map(|(kind, text)| (kind, text.replace(&place, ""))).collect();
    match session.run(&request) {
        Ok(finished) => {
            let n_before = finished.notices.len();
            let all = finished.notices.iter().chain(&finished.course.closing(None)).map(shown).collect();
            Told { said: local(all), n_before, has_run: true, result: fs::read(output).ok() }
        }
        Err(stopped) => {
            let error = said_of_error(stopped.error.code(), &stopped.error.to_string());
            let all = stopped.notices.iter().map(shown).chain([error]).collect();
            let (n_before, has_run) = (stopped.notices.len(), stopped.course.is_some());
            Told { said: local(all), n_before, has_run, result: None }
        }
    }
}

/// Runs the command line; its output is `OUTPUT`, unless the arguments name one.
fn by_command_line(here: &Path, verb: &str, asked: &Asked, output: &str) -> Run {
    let mut run = command();
    run.current_dir(here).args([verb, asked.model, "--allow-writable-plugins"]).args(asked.arguments);
    for name in asked.plugins {
        run.arg("--plugin").arg(plugin(name));
    }
    if !asked.arguments.contains(&"-o") {
        run.args(["-o", output]);
    }
    Run::of(&mut run)
}

/// Deals with requests in Python, one after another, and prints what was said as JSON.
const PROGRAM: &str = r#"
import json, logging, sys
import relais_onnx as relais

class Kept(logging.Handler):
    def emit(self, record):
        said.append([{logging.WARNING: "warning", logging.INFO: "note"}[record.levelno], record.getMessage()])

logger = logging.getLogger("relais")
logger.addHandler(Kept())
logger.setLevel(logging.INFO)
logger.propagate = False
for request in json.load(sys.stdin):
    said = []
    error = None
    relais.add_plugins(request["plugins"], allow_writable=True)
    said.clear()
    try:
        relais.optimize(request["model"], **{"out": request["out"], **request["keywords"]})
    except relais.RelaisError as raised:
        error = [raised.code or "", str(raised)]
    print(json.dumps([said, error]))
"#;

/// The messages of Python, and its exception with a code.
type Answer = (Said, Option<(String, String)>);

fn by_python(here: &Path, requests: &[Value]) -> Vec<Answer> {
    let input = here.join("requests.json");
    fs::write(&input, json!(requests).to_string()).unwrap();
    let mut python = package_python();
    python.args(["-c", PROGRAM]).current_dir(here).env("RELAIS_HOME", here).stdin(fs::File::open(&input).unwrap());
    let run = Run::of(&mut python).expect_success();
    let pair = |value: &Value| (value[0].as_str().unwrap().to_owned(), value[1].as_str().unwrap().to_owned());
    let told = |line: &str| {
        let told: Value = serde_json::from_str(line).unwrap();
        // The log of the host is in Python's, too.
        let said = told[0]
            .as_array()
            .unwrap()
            .iter()
            .map(pair)
            .filter(|(_, text)| !text.starts_with("the model does not take"));
        let said = said.map(|(kind, text)| (kind, normal(&text)));
        let error = told[1].as_array().map(|_| pair(&told[1])).map(|(code, text)| said_of_error(&code, &text));
        (said.collect(), error)
    };
    run.stdout.lines().map(told).collect()
}

#[test]
#[cfg_attr(not(unix), ignore = "the package is built and tested on Unix")]
fn one_request_is_answered_in_the_same_way_by_each_front_end() {
    let here = folder("front-ends");
    for (name, text) in MODELS {
        fs::write(here.join(name), text).unwrap();
    }
    let all: Vec<Asked> = [good(), refused(), failing()].into_iter().flatten().collect();
    let request = |asked: &Asked| {
        let plugins: Vec<_> = asked.plugins.iter().map(|name| plugin(name)).collect();
        json!({"model": asked.model, "plugins": plugins, "keywords": asked.keywords, "out": format!("{}.python.relay", asked.name)})
    };
    let python = by_python(&here, &all.iter().map(request).collect::<Vec<_>>());
    assert_eq!(python.len(), all.len());
    let differences: Vec<String> =
        all.iter().zip(python).flat_map(|(asked, python)| differences(&here, asked, python)).collect();
    assert!(differences.is_empty(), "front ends answer differently:\n{}", differences.join("\n"));
    let rules = fs::read_to_string(here.join("rules.txt")).unwrap();
    assert_eq!(rules, MODELS[4].1, "what is read is not replaced");
}

/// The differences between the answers to a request, of which that of Python is known.
fn differences(here: &Path, asked: &Asked, (mut in_python, raised): Answer) -> Vec<String> {
    let name = asked.name;
    let Told { said, n_before, has_run, result } = embedded(here, asked);
    let output = format!("{name}.out.relay");
    let run = by_command_line(here, "run", asked, &output);
    in_python.extend(raised);
    let mut compared = vec![("the command line", printed(&run.stderr), &said[..]), ("Python", in_python, &said)];
    if asked.is_built {
        let mut built = printed(&by_command_line(here, "build", asked, "net.c").stderr);
        // The messages before passes run, and an error if none did; a build runs passes of its own behind them.
        let expected = if has_run { &said[..n_before] } else { &said[..] };
        built.truncate(expected.len());
        compared.push(("a build", built, expected));
    }
    let said = compared.into_iter().filter(|(_, said, expected)| said != expected);
    let mut differences: Vec<String> =
        said.map(|(by, said, expected)| format!("{name}, by {by}:\n  {said:?}\n  {expected:?}")).collect();
    if (run.status == Some(0)) != result.is_some() {
        differences.push(format!("{name}: the command line ended with {:?}", run.status));
    }
    for other in [output, format!("{name}.python.relay")].iter().filter(|_| result.is_some()) {
        if fs::read(here.join(other)).ok() != result {
            differences.push(format!("{name}: {other} has another result"));
        }
    }
    differences
}

#[test]
#[cfg_attr(not(unix), ignore = "the package is built and tested on Unix")]
fn a_result_does_not_follow_a_plugin_into_another_folder() {
    let here = folder("front-ends-folder");
    fs::write(here.join("m.relay"), MODELS[0].1.replace("(N,", "(2,")).unwrap();
    let toml = |last: &str| {
        let away = "{ pass = \"bad.Fault\", options = { fault = \"change_folder\" } }";
        format!("opt_level = 3\nsteps = [{away}, {last}]\n")
    };
    fs::write(here.join("run.toml"), toml("\"InferType\"")).unwrap();
    fs::write(here.join("build.toml"), toml("{ include = \"builtin:build-c\" }")).unwrap();
    let bad = plugin("bad");
    for (verb, pipeline, output) in [("run", "run.toml", "out.relay"), ("build", "build.toml", "net.c")] {
        let mut run = command();
        run.current_dir(&here).args([verb, "m.relay", "-p", pipeline, "-o", output, "--allow-writable-plugins"]);
        Run::of(run.arg("--plugin").arg(&bad)).expect_success();
        assert!(here.join(output).is_file(), "{verb}");
    }
    let request =
        json!({"model": "m.relay", "plugins": [bad], "keywords": {"pipeline": "run.toml"}, "out": "python.relay"});
    // The second one reads from the folder, too.
    let answers = by_python(&here, &[request.clone(), request]);
    assert!(answers.iter().all(|(_, error)| error.is_none()), "{answers:?}");
    assert_eq!(fs::read(here.join("python.relay")).unwrap(), fs::read(here.join("out.relay")).unwrap());
}

/// Says from which loggers records come, of which files, and whether a level of a plugin's own lets some through.
const LOGGING: &str = r#"
import json, logging, sys
import relais_onnx as relais

class Keeper(logging.Handler):
    def emit(self, record):
        kept.append((record.name, record.levelname, record.filename, record.lineno > 0, record.getMessage()))

kept, said = [], []
logging.getLogger("relais").addHandler(Keeper())
relais.add_plugins(sys.argv[1:], allow_writable=True)
module = relais.parse("def @main(%x: Tensor[(2), float32]) -> (%y) #[opset = {\"\": 17}] { %y = Neg(%x); %y }")
for name, level in (("relais", logging.WARNING), ("relais", logging.INFO), ("sample-passes", logging.WARNING)):
    logging.getLogger(name).setLevel(level)
    relais.optimize(module, passes=["sample.Rename"], config={"sample.Rename.prefix": "n"})
    said.append([record for record in kept if "naming" in record[4]])
    kept.clear()
print(json.dumps(said))
"#;

#[test]
fn records_of_plugins_come_from_loggers_of_their_names_in_python() {
    let mut python = package_python();
    let said = Run::of(python.args(["-c", LOGGING]).arg(plugin("sample"))).expect_success().stdout;
    let said: Value = serde_json::from_str(&said).unwrap();
    let record = json!(["sample-passes", "INFO", "good.rs", true, "naming 1 calls"]);
    assert_eq!(said, json!([[], [record], []]));
}

//! Many plugins, many threads, several hosts in one process, and several paths to one file.
#![cfg(target_os = "linux")]

use relais::{
    ir::IRModule,
    manager,
    pipeline::PipelineSpec,
    plugin::{Discovery, Origin, Policy, SearchDir, discover},
    registry::{Choices, Linked, Registry},
};
use relais_plugin_api::{
    options::Value,
    text::{self, PrintOptions},
};
use relais_tests::{
    cargo_built::plugin,
    cli::{Run, command, folder},
    many::{Pattern, library, renamed_text},
};
use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::Barrier,
};

const MODEL: &str = "def @main(%x: Tensor[(2, 3), float32]) -> (%y) #[opset = {\"\": 17}] {
  %b = Neg(%x);
  %y = Neg(%b);
  %y
}
";

/// Many records and few that could be opened: each of these leaves a mark when it is.
const N_PLUGINS: usize = 1000;
const N_WHOLE: usize = 10;

fn relais(here: &Path, args: &str) -> Run {
    let mut command = command();
    command.current_dir(here).env("RELAIS_PLUGIN_PATH", "plugins").env("RELAIS_TEST_MARK", "opened");
    Run::of(command.args(args.split(' ')))
}

fn in_folder(folder: &Path) -> Discovery {
    let dir = SearchDir { path: folder.to_owned(), origin: Origin::Named };
    discover(&[dir], &[], Policy::default())
}

fn registry(files: &[PathBuf]) -> Registry {
    Registry::new(discover(&[], files, Policy::default()), Linked::Exclude, &Choices::new())
}

fn module() -> IRModule {
    text::parse_str(MODEL).expect("it reads")
}

fn put(file: &Path, folder: &Path) -> PathBuf {
    let to = folder.join(file.file_name().expect("cargo names its files"));
    fs::copy(file, &to).expect("it can be copied");
    to
}

#[test]
fn of_a_thousand_plugins_only_those_that_a_pipeline_uses_are_opened() {
    let here = folder("many");
    let plugins = here.join("plugins");
    fs::create_dir(&plugins).unwrap();
    let pattern = Pattern::of(&plugin("mark"));
    for number in 0..N_PLUGINS {
        let bytes = if number < N_WHOLE { pattern.file(number) } else { pattern.stub(number) };
        fs::write(library(&plugins, &format!("many_{number}")), bytes).unwrap();
    }
    put(&plugin("mark"), &plugins);
    put(&plugin("tidy"), &plugins);
    let found = in_folder(&plugins);
    assert_eq!((found.plugins.len(), found.refused.len(), found.duplicates.len()), (N_PLUGINS + 2, 0, 0));
    let names: BTreeSet<&str> = found.plugins.iter().map(|it| it.records.plugin.name.as_str()).collect();
    assert!(names.len() == N_PLUGINS + 2 && names.contains(renamed_text("mark", 999).as_str()));

    fs::write(here.join("model.relay"), MODEL).unwrap();
    let listed = relais(&here, "list plugins").expect_success().stdout;
    assert!(listed.lines().any(|line| line.starts_with("p999") && line.contains("plugins/libmany_999.so")), "{listed}");
    relais(&here, "run -q model.relay -o out.relay --passes tidy.NegNeg,DeadCodeElimination").expect_success();
    assert!(!fs::read_to_string(here.join("out.relay")).unwrap().contains("Neg("));
    assert!(!here.join("opened").exists(), "a plugin was opened that nothing uses");
    relais(&here, "run -q model.relay -o out.relay --passes mark.Nothing").expect_success();
    assert!(here.join("opened").exists(), "opening one leaves a mark");
    // A plugin with the wrong passes behind its records fails when it is opened, and only then.
    let said = relais(&here, "run -q model.relay -o out.relay --passes p003.Nothing").expect_failure().stderr;
    assert!(said.contains("`mark` has a record of `p003.Nothing` but no pass"), "{said}");
    let said = relais(&here, "run -q model.relay -o out.relay --passes p500.Nothing").expect_failure().stderr;
    assert!(said.contains("plugin `p500 0.1.0` (`plugins/libmany_500.so`) was refused"), "{said}");
}

#[test]
fn eight_threads_open_plugins_at_once() {
    let files = [plugin("tidy"), plugin("sample")];
    let shared = &registry(&files);
    let start = Barrier::new(8);
    let run = &|own: Option<&Registry>| {
        start.wait();
        // Every other thread is a host of its own.
        let host = own.cloned().unwrap_or_else(|| registry(&files));
        let toml = "steps = [\"tidy.NegNeg\", \"sample.Nothing\"]";
        let pipeline = PipelineSpec::parse("p.toml", toml, &host).unwrap().resolve(&host).unwrap();
        let (module, report) = manager::run(&pipeline, &module(), &host, &Default::default()).unwrap();
        assert_eq!(report.executions.len(), 2);
        text::print(&module, &PrintOptions::default())
    };
    let printed: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|at| scope.spawn(move || run((at % 2 == 0).then_some(shared)))).collect();
        threads.into_iter().map(|thread| thread.join().expect("it ran")).collect()
    });
    assert!(printed.iter().all(|it| *it == printed[0]) && printed[0].contains("%x"), "{printed:?}");
    assert!(shared.plugins().all(|provider| provider.is_open()));
}

#[test]
fn two_hosts_in_one_process_know_nothing_of_each_other() {
    let (one, other) = (registry(&[plugin("rules"), plugin("tidy")]), registry(&[plugin("rival"), plugin("tidy")]));
    assert!(one.pass("rival.AskDepth").is_err() && other.pass("rival.AskDepth").is_ok());
    let depth = |host: &Registry| {
        let mut options = host.config_options().filter(|(option, _)| option.name == "acme.depth");
        options.next().and_then(|(option, _)| option.default.clone())
    };
    // Each has the default of its own plugin.
    assert_eq!((depth(&one), depth(&other)), (Some(Value::Int(3)), Some(Value::Int(50))));
    // One of them opens a plugin that both have; for the other it is not open.
    let module = module();
    let spec = |host: &Registry| PipelineSpec::parse("p.toml", "steps = [\"tidy.NegNeg\"]", host).unwrap();
    let pipeline = spec(&one).resolve(&one).unwrap();
    let is_open = |host: &Registry| host.plugins().any(|provider| provider.is_open());
    assert!(is_open(&one) && !is_open(&other));
    let says = |host: &Registry, toml: &str| {
        let pipeline = PipelineSpec::parse("p.toml", toml, host).unwrap().resolve(host).unwrap();
        let (_, report) = manager::run(&pipeline, &module, host, &Default::default()).unwrap();
        report.said.iter().map(ToString::to_string).collect::<String>()
    };
    assert!(says(&other, "steps = [\"rival.AskDepth\"]").contains("depth Some(50), Some(50)"));
    // An option that is read as another type is an error.
    let toml = "steps = [\"rival.AskWrongly\"]";
    let wrong = PipelineSpec::parse("p.toml", toml, &other).unwrap().resolve(&other).unwrap();
    let failure = manager::run(&wrong, &module, &other, &Default::default()).map(|_| ()).unwrap_err().to_string();
    assert!(failure.contains("option `acme.depth` of the context is an integer, and is read as `bool`"), "{failure}");
    std::thread::scope(|scope| {
        for host in [&one, &other] {
            scope.spawn(|| {
                let pipeline = spec(host).resolve(host).unwrap();
                for _ in 0..20 {
                    manager::run(&pipeline, &module, host, &Default::default()).unwrap();
                }
            });
        }
    });
    manager::run(&pipeline, &module, &one, &Default::default()).unwrap();
    assert!(is_open(&other));
}

#[test]
fn links_lead_to_plugins_and_are_no_second_ones() {
    let here = folder("links");
    let [real, linked] = ["real", "linked"].map(|name| here.join(name));
    [&real, &linked].iter().for_each(|folder| fs::create_dir(folder).unwrap());
    let file = put(&plugin("tidy"), &real);
    let name = file.file_name().unwrap();
    symlink(&file, linked.join("a_link.so")).unwrap();
    symlink("a_link.so", linked.join("b_link_of_a_link.so")).unwrap();
    fs::hard_link(&file, linked.join("c_hard.so")).unwrap();
    symlink(&real, here.join("folder")).unwrap();

    // One file under several paths: the first path counts, the others are reported.
    let found = in_folder(&linked);
    assert_eq!(found.refused, []);
    assert_eq!(found.plugins.len(), 1);
    assert_eq!(found.plugins[0].path, linked.join("a_link.so"));
    let later = ["b_link_of_a_link.so", "c_hard.so"].map(|name| (linked.join(name), linked.join("a_link.so")));
    assert_eq!(found.duplicates, later);
    let record = &found.plugins[0].records.plugin;
    assert_eq!((record.name.as_str(), record.version.to_string().as_str()), ("tidy", "0.3.0"));
    let found = in_folder(&here.join("folder"));
    assert_eq!(found.plugins[0].path, here.join("folder").join(name));

    // Every path to it opens it, and the listed path is the one that was used.
    fs::write(here.join("model.relay"), MODEL).unwrap();
    let ways = ["linked/a_link.so", "linked/b_link_of_a_link.so", "linked/c_hard.so", "folder/libtidy.so"];
    for way in ways {
        let run = |args: &str| Run::of(command().current_dir(&here).args(args.split(' ')).args(["--plugin", way]));
        run("run -q model.relay -o out.relay --passes tidy.NegNeg").expect_success();
        let json: serde_json::Value =
            serde_json::from_str(&run("list plugins --json").expect_success().stdout).unwrap();
        let listed = json.as_array().unwrap().iter().find(|it| it["name"] == "tidy").unwrap();
        assert_eq!((listed["version"].as_str(), listed["file"].as_str()), (Some("0.3.0"), Some(way)));
        let json = run("list passes --json").expect_success().stdout;
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        let pass = json.as_array().unwrap().iter().find(|it| it["name"] == "tidy.NegNeg").unwrap();
        assert_eq!((pass["plugin"].as_str(), pass["version"].as_str()), (Some("tidy"), Some("0.3.0")));
    }
    // A folder that is searched twice, once through a link, has its plugins once.
    let json = Run::of(
        command().current_dir(&here).env("RELAIS_PLUGIN_PATH", "real:folder").args(["list", "plugins", "--json"]),
    );
    let json: serde_json::Value = serde_json::from_str(&json.expect_success().stdout).unwrap();
    let tidy: Vec<_> = json.as_array().unwrap().iter().filter(|it| it["name"] == "tidy").collect();
    assert_eq!((tidy.len(), tidy[0]["file"].as_str()), (1, Some("real/libtidy.so")));
    // A link that leads in a circle, or nowhere, is refused and keeps no other from being used.
    symlink("circle.so", linked.join("circle.so")).unwrap();
    symlink("nowhere", linked.join("dangling.so")).unwrap();
    let found = in_folder(&linked);
    assert_eq!((found.plugins.len(), found.refused.len()), (1, 2));
}

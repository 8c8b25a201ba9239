//! Plugins in processes of their own: whatever they do, the run goes on, names them, and computes the same.
#![cfg(target_os = "linux")]

use relais::{
    isolation::{Isolation, launch_workers_by},
    pass::{Catalogue, RunCx},
    plugin::{Policy, WritableFiles, discover},
    registry::{Choices, Linked, Registry},
};
use relais_plugin_api::{analysis::SubjectRec, options::Value, text};
use relais_tests::{
    cargo_built::{plugin, workspace},
    cli::{Run, command, files, folder},
    venv::{every, models},
};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};

const MODEL: &str = r#"def @main(%x: Tensor[(2,), float32]) -> (%y, %z) #[opset = {"": 17, "quit": 1}, ir_version = 9] {
  %w = const(float32, (2), [1.0, 2.0]);
  %a = quit::Same(%w);
  %y = Add(%x, %a);
  %z = Identity(%x);
  (%y, %z)
}
"#;

static QUITTER: LazyLock<PathBuf> = LazyLock::new(|| plugin("quitter"));

const PASSES: &str = "quit.Module,quit.Function,quit.Sequence,quit.Rewrite,InferType,FoldConstant";

/// Runs all that the plugin has in a process of its own, quits at a place, and returns what was said, and the files.
fn quit(name: &str, at: &str, limits: &str, more: &[&str]) -> (Run, Vec<String>) {
    let here = folder(&format!("isolated-{name}"));
    fs::write(here.join("m.relay"), MODEL).unwrap();
    let mut run = command();
    run.current_dir(&here).args(["run", "m.relay", "-o", "out.relay", "--allow-writable-plugins", "--no-reproducer"]);
    let settings =
        format!("quitter{}env=RELAIS_TEST_QUIT", if limits.is_empty() { ":".into() } else { format!("{limits},") });
    run.arg("--plugin").arg(&*QUITTER).args(["--isolate", &settings, "--passes", PASSES]).args(more);
    (Run::of(run.env("RELAIS_TEST_QUIT", at)), files(&here))
}

/// Runs all that the plugin has, in this process and in one of its own.
fn both(place: &str) -> [String; 2] {
    let here = folder("isolated-both");
    fs::write(here.join("m.relay"), MODEL).unwrap();
    [&[][..], &["--isolate", "quitter"]].map(|arguments| {
        let mut run = command();
        run.current_dir(&here).args(["run", "m.relay", "-o", "out.relay", "--allow-writable-plugins", "--plugin"]);
        run.arg(&*QUITTER).args(["--passes", PASSES]).args(arguments);
        Run::of(run.env("RELAIS_TEST_QUIT", place)).expect_success();
        fs::read_to_string(here.join("out.relay")).unwrap()
    })
}

#[test]
fn a_plugin_that_does_no_harm_computes_the_same() {
    let [here, away] = both("");
    assert_eq!(here, away);
    // The call of the plugin's operator was evaluated by its evaluator, the other one took its place and is typed.
    assert!(!away.contains("quit::Same") && away.contains("quit::Defined(%x)"), "{away}");
}

/// The places where code of the plugin runs, and what messages call them.
const PLACES: [(&str, &str); 8] = [
    ("check", "pass `quit.Module`"),
    ("module", "pass `quit.Module`"),
    ("function", "pass `quit.Function`"),
    ("steps", "`quit.Sequence`"),
    ("rewrite", "pass `quit.Rewrite`"),
    ("infer", "quit::Same"),
    ("eval", "quit::Same"),
    ("verify", "pass `quit.Rewrite`"),
];

#[test]
fn a_plugin_that_ends_its_process_is_named_wherever_it_does() {
    for (place, named) in PLACES {
        for (way, how) in [
            ("exit", "its process ended with status 0"),
            ("_exit", "its process ended with status 0"),
            ("abort", "its process died: SIGABRT"),
            ("segv", "its process died: SIGSEGV at address 0x40"),
            ("overflow", "its process died: SIG"),
            ("kill", "its process died: SIGKILL"),
            ("leave-child", "its process ended with status 3"),
        ] {
            if every() != 1 && place != "function" && !matches!(way, "_exit" | "segv") {
                continue;
            }
            // In a sandbox it has no children.
            let sandbox = if way == "leave-child" { ":sandbox=none" } else { "" };
            let (run, files) = quit("ends", &format!("{place}:{way}"), sandbox, &[]);
            let said = format!("{place}:{way}: {}{}", run.stdout, run.stderr);
            assert_eq!(run.status, Some(1), "{said}");
            assert!(run.stderr.contains(how) && run.stderr.contains(named), "{said}");
            assert_eq!(files, ["m.relay"], "{said}");
        }
    }
}

#[test]
fn limits_are_kept() {
    let (run, files) = quit("memory", "module:eat", ":memory=512MiB", &[]);
    assert_eq!((run.status, &*files), (Some(1), &["m.relay".to_owned()][..]), "{}", run.stderr);
    assert!(run.stderr.contains("its process wanted more memory than its limit of 512 MiB"), "{}", run.stderr);
    for way in ["sleep", "stop"] {
        let (run, files) = quit("seconds", &format!("function:{way}"), ":pass-seconds=1", &[]);
        assert_eq!((run.status, &*files), (Some(1), &["m.relay".to_owned()][..]), "{way}: {}", run.stderr);
        // A process that stops does so a moment after it was told to.
        let (pass, told) = match way {
            "sleep" => (
                "pass `quit.Function`",
                " of plugin `quitter` 0.2.0 failed: it took longer than 1 s, and its process was ended",
            ),
            _ => ("quitter", "it took longer than 1 s, and its process was ended"),
        };
        assert!(run.stderr.contains(pass), "{way}: {}", run.stderr);
        assert!(run.stderr.contains(told), "{way}: {}", run.stderr);
    }
}

#[test]
fn a_budget_ends_a_process_that_does_not_stop() {
    let (run, files) = quit("budget", "module:sleep", "", &["--instrument", "budget:pass_seconds=0.1"]);
    assert_eq!((run.status, &*files), (Some(1), &["m.relay".to_owned()][..]), "{}", run.stderr);
    assert!(run.stderr.contains("over-budget") && run.stderr.contains("pass `quit.Module`"), "{}", run.stderr);
}

#[test]
fn a_process_that_breaks_the_rules_is_ended() {
    for (way, how) in [("babble", "what it sent is not a message"), ("close", "its process lost its connection")] {
        let (run, files) = quit("rules", &format!("function:{way}"), "", &[]);
        assert_eq!((run.status, &*files), (Some(1), &["m.relay".to_owned()][..]), "{way}: {}", run.stderr);
        assert!(run.stderr.contains(how) && run.stderr.contains("pass `quit.Function`"), "{way}: {}", run.stderr);
    }
}

#[test]
fn the_last_lines_of_a_process_are_shown_without_control_characters() {
    let (run, _) = quit("chatter", "module:chatter", "", &[]);
    let run = run.expect_success();
    assert!(run.stderr.contains("\\u{1b}[31mline 0\\u{7}") && !run.stderr.contains('\u{1b}'), "{}", run.stderr);
    assert!(run.stderr.contains("the rest of what it writes is left out") && run.stderr.len() < 100 << 10);
    let (run, _) = quit("panics", "function:panic-twice", "", &[]);
    assert!(run.stderr.contains("it wrote last:") && run.stderr.contains("aborting"), "{}", run.stderr);
}

#[test]
fn under_the_policy_skip_a_process_is_started_again_as_often_as_it_may_be() {
    let pipeline = |restarts: u32| {
        let here = folder("isolated-restarts");
        fs::write(here.join("m.relay"), MODEL).unwrap();
        let steps = ["quit.Function"; 4].map(|pass| format!("\"{pass}\"")).join(", ");
        let text = format!(
            "steps = [{steps}]\non_failure = \"skip\"\n[plugins]\nquitter = {{ isolate = {{ restarts = {restarts}, env = [\"RELAIS_TEST_QUIT\"] }} }}\n"
        );
        fs::write(here.join("p.toml"), text).unwrap();
        let mut run = command();
        run.current_dir(&here).args(["run", "m.relay", "-o", "out.relay", "-p", "p.toml", "--allow-writable-plugins"]);
        run.args(["--no-reproducer", "--plugin"]).arg(&*QUITTER).env("RELAIS_TEST_QUIT", "function:segv");
        Run::of(&mut run)
    };
    let run = pipeline(1);
    let died = |run: &Run| run.stderr.matches("its process died: SIGSEGV at address 0x40").count();
    assert_eq!(died(&run), 2, "{}", run.stderr);
    assert_eq!(run.stderr.matches("its process is not started again after 2 deaths").count(), 2, "{}", run.stderr);
    assert_eq!(died(&pipeline(9)), 4);
}

#[test]
fn what_cannot_be_isolated_or_limited_is_a_fault() {
    let fault = |isolate: &str| {
        let mut run = command();
        run.args(["run", "m.relay", "-o", "out.relay", "--no-plugins", "--isolate", isolate]);
        let here = folder("isolated-faults");
        fs::write(here.join("m.relay"), MODEL).unwrap();
        Run::of(run.current_dir(here)).stderr
    };
    let said = fault("relais-grap");
    assert!(said.contains("there is no plugin `relais-grap` to isolate") && said.contains("`relais-graph`"), "{said}");
    let said = fault("relais-graph:memory=much");
    assert!(said.contains("error[P004]: `much` is not a size, such as `1GiB`"), "{said}");
    let said = fault("all:cores=2");
    assert!(
        said.contains("`cores` is not a setting; the settings are memory, pass_seconds, threads, restarts, sandbox"),
        "{said}"
    );
}

/// Not isolated.
const HERE: &str = "here";

/// The status of a run with an instrument of a plugin, the errors, and what the instrument wrote down.
fn watched(instrument: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
    let here = folder("isolated-watched");
    fs::write(here.join("m.relay"), MODEL.replace("quit::Same(%w)", "Abs(%w)").replace(", \"quit\": 1", "")).unwrap();
    let mut run = command();
    run.current_dir(&here).args(["run", "m.relay", "-o", "out.relay", "-q", "--no-reproducer", "--plugin"]);
    run.arg(plugin("rules")).args(["--allow-writable-plugins", "--instrument", instrument]).args(arguments);
    let run = Run::of(run.args(["--passes", "InferType,FoldConstant,EliminateCommonSubexpr,DeadCodeElimination"]));
    (run.status, run.stderr, fs::read_to_string(here.join("ran")).unwrap_or_default())
}

#[test]
fn instruments_see_the_same_from_another_process() {
    let seen = "accept relais.InferType";
    for (instrument, expected) in [
        ("acme.Scribe:path=ran,vetoes=[\"FoldConstant\"]", "vetoed"),
        ("acme.Scribe:path=ran,fails_at=before", "told to fail"),
        ("acme.Scribe:path=ran,fails_at=should_run,how=panic", "told to panic"),
        ("acme.Scribe:path=ran,fails_at=skipped,how=panic,vetoes=[\"FoldConstant\"]", "told to panic"),
        ("acme.Scribe:path=ran,fails_at=new", "told to fail"),
        ("acme.Reviewer", seen),
        ("acme.Reviewer:refused=Identity", "`Identity` is left"),
        ("acme.Reviewer:hurried=relais.FoldConstant", ""),
        ("acme.Reviewer:panics=findings", "its findings are lost"),
    ] {
        let here = watched(instrument, &[]);
        let away = watched(instrument, &["--isolate", "acme-rules:sandbox=none"]);
        assert_eq!(here, away, "{instrument}");
        assert!(here.1.contains(expected) || here.2.contains(expected), "{instrument}: {here:?}");
    }
}

#[test]
fn an_instrument_that_ends_its_process_is_named() {
    for (place, named) in [
        ("instrument-new", "instrument `quit.Watch`"),
        ("enter", "instrument `quit.Watch` failed at `enter`"),
        ("before", "instrument `quit.Watch` failed at `before`"),
        ("after", "instrument `quit.Watch` failed at `after`"),
        ("exit", "instrument `quit.Watch` failed at `exit`"),
        ("instrument-drop", "instrument `quit.Watch`"),
    ] {
        let (run, files) = quit("watch", &format!("{place}:segv"), "", &["--instrument", "quit.Watch"]);
        assert_eq!((run.status, &*files), (Some(1), &["m.relay".to_owned()][..]), "{place}: {}", run.stderr);
        assert!(
            run.stderr.contains("its process died: SIGSEGV") && run.stderr.contains(named),
            "{place}: {}",
            run.stderr
        );
    }
}

/// A run of passes of the plugin that tries to reach what it should not. The program that starts the host has left it an
/// open file, and the environment has a secret.
fn prowl(name: &str, settings: &str, passes: &str, wrapper: &[&str]) -> Run {
    let here = folder(&format!("isolated-{name}"));
    fs::write(here.join("m.relay"), "def @main(%x: Tensor[(2,), float32]) { Relu(%x) }").unwrap();
    fs::write(here.join("secret.txt"), "secret").unwrap();
    let relais = command();
    let mut run = Command::new(wrapper.first().unwrap_or(&"sh"));
    run.args(wrapper.iter().skip(1)).args(if wrapper.is_empty() {
        &["-c", "exec \"$@\" 5<secret.txt", "sh"][..]
    } else {
        &[]
    });
    run.arg(relais.get_program());
    for (variable, value) in relais.get_envs() {
        run.env(variable, value.unwrap_or_default());
    }
    run.current_dir(&here).args(["run", "m.relay", "-o", "out.relay", "--allow-writable-plugins", "--no-reproducer"]);
    run.arg("--plugin").arg(plugin("prowler")).args(["--passes", passes]);
    if settings != HERE {
        run.arg("--isolate").arg(format!("prowler:env=RELAIS_TEST_PROWL{settings}"));
    }
    Run::of(run.env("RELAIS_TEST_PROWL", here.join("secret.txt")).env("RELAIS_TEST_SECRET", "secret"))
}

#[test]
fn nothing_of_the_user_is_within_reach_of_a_plugin_in_a_sandbox() {
    let run = prowl("prowl", ",sandbox=strict", "prowl.Everything", &[]).expect_success();
    let said = |way: &str| run.stderr.lines().filter(|line| line.contains(way)).collect::<Vec<_>>();
    assert_eq!(said(", reached: "), [""; 0], "{}", run.stderr);
    assert!(said("at opening, kept: ").len() > 30 && said("in a pass, kept: ").len() > 30, "{}", run.stderr);
    // Passes can do their work.
    assert_eq!(said("works: "), ["works: 4 {0, 1, 2, 3} true true"], "{}", run.stderr);
    // Without a sandbox much of it is reached, whatever the machine itself forbids.
    let reached = |settings: &str, all: &[&str]| {
        let run = prowl("prowl", settings, "prowl.Everything", &[]).expect_success();
        let said = format!("{}{}", run.stdout, run.stderr);
        all.iter().for_each(|what| assert!(said.contains(&format!("in a pass, reached: {what}")), "{what}: {said}"));
    };
    let always = ["a file of the user is read", "a file is made", "a port is opened", "a program is started"];
    reached(",sandbox=none", &always);
    reached(HERE, &always);
    reached(HERE, &["the environment has a secret", "a file was left open"]);
}

#[test]
fn a_plugin_in_a_sandbox_reads_what_its_user_allows() {
    let run = prowl("reads", ",read=secret.txt", "prowl.Read", &[]).expect_success();
    assert!(run.stderr.contains("read: secret"), "{}", run.stderr);
    for elsewhere in ["", ",read=m.relay"] {
        let run = prowl("reads", elsewhere, "prowl.Read", &[]).expect_failure();
        assert!(run.stderr.contains("(os error 1") && run.stderr.contains("pass `prowl.Read`"), "{}", run.stderr);
    }
    let run = prowl("reads", ",read=nothing.txt", "prowl.Read", &[]).expect_failure();
    assert!(run.stderr.contains("nothing.txt`, which plugin `prowler` may read, cannot be read: "), "{}", run.stderr);
}

#[test]
fn the_pipeline_of_a_plugin_does_not_say_what_that_may_read() {
    let here = folder("isolated-pipeline");
    fs::write(here.join("m.relay"), "def @main(%x: Tensor[(2,), float32]) { Relu(%x) }").unwrap();
    let mut run = command();
    run.current_dir(&here).args(["run", "m.relay", "-o", "out.relay", "--allow-writable-plugins", "-p", "prowl.All"]);
    let run = Run::of(run.arg("--plugin").arg(plugin("prowler")).args(["--isolate", "prowler"])).expect_failure();
    assert!(run.stderr.contains("the pipeline of a plugin cannot say `read`"), "{}", run.stderr);
}

/// The program, with an own folder of plugins, in a folder with a file that the plugin would like to read.
fn with_home(here: &Path) -> Command {
    let mut run = command();
    run.current_dir(here).env("RELAIS_HOME", here.join("home")).env("RELAIS_TEST_PROWL", here.join("secret.txt"));
    run
}

#[test]
fn a_plugin_that_is_installed_as_isolated_is_isolated_wherever_it_is_used() {
    let here = folder("isolated-installed");
    fs::write(here.join("m.relay"), "def @main(%x: Tensor[(2,), float32]) { Relu(%x) }").unwrap();
    fs::write(here.join("secret.txt"), "secret").unwrap();
    let install = |arguments: &[&str]| {
        let mut install = with_home(&here);
        install.args(["plugin", "install", "--allow-writable-plugins"]).arg(plugin("prowler")).args(arguments);
        Run::of(&mut install)
    };
    let run = || Run::of(with_home(&here).args(["run", "m.relay", "-o", "out.relay", "--passes", "prowl.Read"]));
    let said = install(&["--isolate=env=RELAIS_TEST_PROWL"]).expect_success().stdout;
    assert!(said.contains(", isolated (env=RELAIS_TEST_PROWL)\n  has 2 passes, 1 pipeline\n  needs "), "{said}");
    let listed = Run::of(with_home(&here).args(["list", "plugins"])).expect_success().stdout;
    assert!(listed.contains("isolated (env=RELAIS_TEST_PROWL): tries to reach files"), "{listed}");
    let refused = run().expect_failure().stderr;
    assert!(refused.contains("pass `prowl.Read`") && refused.contains("(os error 1)"), "{refused}");
    // A pipeline does not decide that.
    fs::write(
        here.join("p.toml"),
        "steps = [\"prowl.Read\"]\n[plugins]\nprowler = { isolate = { sandbox = \"none\" } }\n",
    )
    .unwrap();
    let refused =
        Run::of(with_home(&here).args(["run", "m.relay", "-o", "out.relay", "-p", "p.toml"])).expect_failure();
    assert!(refused.stderr.contains("(os error 1)"), "{}", refused.stderr);
    // Installed again, it stays as it is, or is given more.
    assert!(install(&[]).expect_success().stdout.contains(", isolated (env="), "it stays isolated");
    install(&["--isolate=env=RELAIS_TEST_PROWL,read=secret.txt"]).expect_success();
    assert!(run().expect_success().stderr.contains("read: secret"), "it may read that");
    let beside = here.join("home/plugins/libprowler.so.isolate");
    fs::write(&beside, "memory=much\n").unwrap();
    let refused = run().expect_failure().stderr;
    assert!(refused.contains("which isolates it, cannot be used: `much` is not a size"), "{refused}");
    Run::of(with_home(&here).args(["plugin", "remove", "prowler"])).expect_success();
    assert!(!beside.exists(), "it goes with the plugin");
    let usage = install(&["--isolate=cores=2"]);
    assert_eq!(usage.status, Some(2), "{}", usage.stderr);
}

#[test]
fn a_plugin_that_is_only_looked_at_or_tested_is_in_a_sandbox() {
    let here = folder("isolated-tested");
    fs::write(here.join("secret.txt"), "secret").unwrap();
    for command in
        [&["check"][..], &["install"], &["test", "--only", "prowl.Everything", "--modules", "2", "--allow", "slow"]]
    {
        let mut run = with_home(&here);
        run.arg("plugin").args(command).arg("--allow-writable-plugins").arg(plugin("prowler"));
        Run::of(&mut run).expect_success();
        assert_eq!(fs::read_dir(&here).unwrap().filter(|it| it.as_ref().unwrap().path().is_file()).count(), 1);
    }
    // It does harm where it is trusted.
    fs::write(here.join("m.relay"), "def @main(%x: Tensor[(2,), float32]) { Relu(%x) }").unwrap();
    Run::of(with_home(&here).args(["run", "m.relay", "-o", "out.relay", "--passes", "prowl.Everything"]))
        .expect_success();
    assert!(here.join("secret.txt.made").exists());
}

/// Starts a program with a kernel that seems to lack a call of the system.
const WITHOUT: &str = "
import ctypes, os, struct, sys
lines = [(0x20, 0, 0, 0), (0x15, 0, 1, int(sys.argv[1])), (6, 0, 0, 0x50000 | 38), (6, 0, 0, 0x7FFF0000)]
code = ctypes.create_string_buffer(b''.join(struct.pack('HBBI', *line) for line in lines))
program = ctypes.create_string_buffer(struct.pack('HxxxxxxP', len(lines), ctypes.addressof(code)))
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program) == 0
os.execv(sys.argv[2], sys.argv[2:])
";

#[test]
fn a_kernel_that_lacks_a_sandbox_is_told_of() {
    let lacking = |settings: &str| {
        let create_ruleset = "444";
        prowl("kernel", settings, "prowl.Read", &["python3", "-c", WITHOUT, create_ruleset])
    };
    let why = "files while its library is opened, because this kernel has no Landlock";
    let run = lacking("").expect_failure();
    assert!(run.stderr.contains(&format!("runs without a whole sandbox: it can read all {why}")), "{}", run.stderr);
    // Passes cannot.
    assert!(run.stderr.contains("pass `prowl.Read`") && run.stderr.contains("(os error 1)"), "{}", run.stderr);
    let run = lacking(",sandbox=strict").expect_failure();
    let told = format!("the sandbox that plugin `prowler` is to run in cannot be had here: it can read all {why}");
    assert!(run.stderr.contains(&told) && !run.stderr.contains("pass `prowl.Read` of"), "{}", run.stderr);
    let run = lacking(",sandbox=none").expect_success();
    assert!(run.stderr.contains("read: secret") && !run.stderr.contains("sandbox"), "{}", run.stderr);
}

/// Workers that this process starts are the program.
fn launch_relais() {
    launch_workers_by(|| {
        let mut worker = Command::new(&workspace().relais);
        worker.arg("worker");
        Ok(worker)
    });
}

#[test]
fn the_lists_of_analyses_cross() {
    launch_relais();
    let found = discover(&[], &[plugin("rules")], Policy { writable: WritableFiles::Allow });
    let here = Registry::new(found, Linked::Exclude, &Choices::new());
    let away = here.isolate(|_| Some(Isolation::default()), "", Vec::new());
    let module = text::parse_str("def @main(%x: Tensor[(2,), float32]) { %y = Relu(%x); Abs(%y) }").unwrap();
    let main = module.function("main").unwrap().clone();
    let computed = |registry: &Registry, name: &str, of: &SubjectRec<'_>| {
        let facts = Catalogue::analyses(registry).into_iter().find(|facts| facts.name == name).unwrap();
        let object = Catalogue::compute_analysis(registry, &facts, of, &RunCx::new(registry));
        object.map(|object| object.lists().clone()).map_err(|error| error.to_string())
    };
    for name in ["acme.Depth", "acme.Typed", "acme.Broken", "acme.Hen"] {
        let of = SubjectRec::function(&main);
        assert_eq!(computed(&here, name, &of), computed(&away, name, &of), "{name}");
    }
    let depths = computed(&away, "acme.Depth", &SubjectRec::function(&main)).unwrap();
    assert!(depths.narrow("depth").is_some_and(|depths| depths.contains(&1)), "{depths:?}");
    let of = SubjectRec::module(&module);
    assert_eq!(computed(&here, "acme.Whole", &of), computed(&away, "acme.Whole", &of));
}

/// The descriptors that a process has open, and the bytes that it keeps in memory.
fn held(process: u32) -> (usize, usize) {
    let folder = PathBuf::from(format!("/proc/{process}"));
    let n_open = fs::read_dir(folder.join("fd")).unwrap().count();
    let status = fs::read_to_string(folder.join("status")).unwrap();
    let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    (n_open, memory.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10)
}

/// Calls a pass that changes a function ten thousand times, in a process where nothing else is done, and compares what this
/// process and that of the plugin hold.
fn call_often() {
    launch_relais();
    let found = discover(&[], &[plugin("rules")], Policy { writable: WritableFiles::Allow });
    let registry = Registry::new(found, Linked::Exclude, &Choices::new());
    let registry = registry.isolate(|_| Some(Isolation::default()), "", Vec::new());
    let model = r#"def @main(%x: Tensor[(2), float32]) -> (%y) #[opset = {"": 17}] { %w = const(float32, (2), [1.0, 2.0]); %y = Add(%x, %w); %y }"#;
    let module = text::parse_str(model).unwrap();
    let pass = registry.create("acme.Rename", &Value::Struct(Vec::new())).unwrap();
    let cx = RunCx::new(&registry);
    let call = |n: usize| {
        for _ in 0..n {
            let new = pass.run(&module, &cx).unwrap().module.unwrap();
            assert!(new.function("main").is_some());
        }
    };
    call(1000);
    let own = std::process::id();
    let children = fs::read_dir(format!("/proc/{own}/task")).unwrap();
    let children = children.map(|thread| fs::read_to_string(thread.unwrap().path().join("children")).unwrap());
    let workers: Vec<u32> = children.collect::<String>().split_whitespace().map(|id| id.parse().unwrap()).collect();
    let [worker] = workers[..] else { panic!("{workers:?}") };
    let before = [own, worker].map(held);
    call(10_000);
    for (before, after) in before.into_iter().zip([own, worker].map(held)) {
        assert_eq!(before.0, after.0, "descriptors");
        assert!(after.1 < before.1 + (1 << 20), "{} bytes became {}", before.1, after.1);
    }
}

#[test]
fn ten_thousand_calls_leak_no_descriptor_and_no_page() {
    const ALONE: &str = "RELAIS_TEST_ALONE";
    if std::env::var_os(ALONE).is_some() {
        return call_often();
    }
    // Other tests open files in this process.
    let mut alone = Command::new(std::env::current_exe().unwrap());
    alone.args(["--exact", "isolated::ten_thousand_calls_leak_no_descriptor_and_no_page"]).env(ALONE, "");
    Run::of(&mut alone).expect_success();
}

#[test]
fn a_lock_holds_how_plugins_are_isolated() {
    let here = folder("isolated-locked");
    fs::write(here.join("m.relay"), "def @main(%x: Tensor[(2,), float32]) { Relu(%x) }").unwrap();
    let steps = "steps = [\"InferType\"]\n";
    fs::write(here.join("p.toml"), format!("{steps}[plugins]\nrelais-graph = {{ isolate = true }}\n")).unwrap();
    Run::of(command().current_dir(&here).args(["lock", "-p", "p.toml"])).expect_success();
    let locked = |more: &[&str]| {
        let mut run = command();
        Run::of(
            run.current_dir(&here).args(["run", "m.relay", "-o", "out.relay", "-p", "p.toml", "--locked"]).args(more),
        )
    };
    locked(&[]).expect_success();
    let limited = ["--isolate", "relais-graph:sandbox=none"];
    assert!(locked(&limited).expect_failure().stderr.contains("not as `relais.lock` says"), "another sandbox");
    fs::write(here.join("p.toml"), steps).unwrap();
    assert!(locked(&[]).expect_failure().stderr.contains("not as `relais.lock` says"), "none");
}

#[test]
fn a_worker_that_is_started_by_hand_says_what_it_is() {
    let run = Run::of(command().arg("worker").stdin(std::process::Stdio::null()));
    assert_eq!(run.status, Some(2));
    assert!(
        run.stderr.contains("this is the process of an isolated plugin, which `relais` starts by itself"),
        "{}",
        run.stderr
    );
}

/// The result of the default pipeline, here and with all plugins in processes of their own.
fn optimised(model: &Path, name: &str) -> [Vec<u8>; 2] {
    let here = folder(&format!("isolated-{name}"));
    [&[][..], &["--isolate", "all"]].map(|arguments| {
        let out = here.join("out.onnx");
        Run::of(command().arg("run").arg(model).arg("-o").arg(&out).args(["-q", "-O3"]).args(arguments))
            .expect_success();
        fs::read(out).unwrap()
    })
}

#[test]
fn weights_of_files_that_are_mapped_are_there_in_a_sandbox() {
    let here = folder("isolated-mapped");
    let numbers: Vec<String> = (0..400_000).map(|n| format!("{n}.0")).collect();
    let weights = format!("%w = const(float32, (400000), [{}])", numbers.join(", "));
    let model = format!(
        "def @main(%x: Tensor[(400000,), float32]) #[opset = {{\"\": 17}}] {{ {weights}; %v = Neg(%w); Add(%x, %v) }}"
    );
    fs::write(here.join("m.relay"), model).unwrap();
    let run = |model: &str, out: &str, arguments: &[&str]| {
        let mut run = command();
        Run::of(run.current_dir(&here).args(["run", model, "-o", out, "-q"]).args(arguments)).expect_success();
        fs::read(here.join(out)).unwrap()
    };
    run("m.relay", "m.onnx", &["--passes", "InferType"]);
    let passes = ["--passes", "FoldConstant,DeadCodeElimination,InferType"];
    let [inside, beside] = ["auto", "always"].map(|external| {
        run("m.onnx", "in.onnx", &["--passes", "InferType", "--external-data", external]);
        let here = run("in.onnx", "here.onnx", &passes);
        let away = run("in.onnx", "away.onnx", &[&passes[..], &["--isolate", "all:sandbox=strict"]].concat());
        assert!(here == away, "{external}");
        here.len()
    });
    assert!(inside > 1 << 20 && beside > 0, "it is mapped");
}

#[test]
fn passes_that_run_passes_in_parallel_loops_come_to_an_end() {
    let here = folder("isolated-loops");
    fs::write(here.join("m.relay"), MODEL.replace("quit::Same(%w)", "Abs(%w)").replace(", \"quit\": 1", "")).unwrap();
    let mut run = command();
    run.current_dir(&here).args(["run", "m.relay", "-o", "out.relay", "--allow-writable-plugins", "--plugin"]);
    run.arg(plugin("rules")).args(["--isolate", "acme-rules:pass-seconds=60", "--passes", "acme.AskTwice"]);
    Run::of(&mut run).expect_success();
}

#[test]
fn a_limit_of_time_holds_while_a_process_talks() {
    let (run, files) = quit("talks", "module:log", ":pass-seconds=1", &[]);
    assert_eq!((run.status, &*files), (Some(1), &["m.relay".to_owned()][..]), "{}", run.stderr);
    assert!(run.stderr.contains("it took longer than 1 s, and its process was ended"), "{}", run.stderr);
}

#[test]
fn a_pass_that_panics_when_it_is_dropped_fails_the_run() {
    let (run, files) = quit("drops", "options-drop:panic", "", &[]);
    assert_eq!((run.status, &*files), (Some(1), &["m.relay".to_owned()][..]), "{}", run.stderr);
    assert!(run.stderr.contains("told to panic"), "{}", run.stderr);
}

#[test]
fn models_come_out_byte_for_byte() {
    let step = if every() == 1 { 1 } else { 3 };
    for folder in ["light", "made"] {
        let all = fs::read_dir(models().folder.join(folder)).unwrap();
        let mut all: Vec<PathBuf> = all.map(|entry| entry.unwrap().path().join("model.onnx")).collect();
        all.retain(|model| model.is_file());
        all.sort();
        for model in all.iter().step_by(if folder == "light" { step } else { step * 16 }) {
            let [here, away] = optimised(model, "models");
            assert!(here == away, "{}", model.display());
        }
    }
}

#[test]
fn filetests_say_the_same_when_all_plugins_are_isolated() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("filetests");
    let folders =
        if every() == 1 { vec![tests] } else { ["FuseOps", "Hoist", "LowerMain"].map(|it| tests.join(it)).into() };
    for folder in folders {
        let said = |isolate: &str| {
            let mut run = command();
            Run::of(run.arg("filetest").arg(&folder).env("RELAIS_ISOLATE", isolate))
        };
        let [here, away] = [said(""), said("all")];
        assert_eq!((here.status, &here.stdout), (away.status, &away.stdout), "{}", away.stderr);
        assert!(away.stdout.contains(" cases: "), "{}", away.stdout);
        // It is what the variable asks for.
        let refused = said("relais-grph").expect_failure().stderr;
        assert!(
            refused.contains("there is no plugin `relais-grph` to isolate; did you mean `relais-graph`?"),
            "{refused}"
        );
    }
}

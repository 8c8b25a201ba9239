//! Files of Python as plugins of the command line: what they have, what they compute, and how the bad ones are survived.
#![cfg(target_os = "linux")]

use relais_tests::{
    cli::{Run, command, files, folder},
    venv::{models, package_python},
};
use std::{
    ffi::OsStr,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Stdio,
    sync::LazyLock,
    thread,
    time::{Duration, Instant},
};

/// The Python in which the package is.
static PYTHON: LazyLock<PathBuf> = LazyLock::new(|| package_python().get_program().into());

const MODEL: &str = r#"def @main(%x: Tensor[(2), float32]) -> (%y) #[opset = {"": 18}, ir_version = 9] {
  %a = Neg(%x);
  %b = Neg(%a);
  %y = Abs(%b);
  %y
}
"#;

/// Ten lines with a rule.
const NEG_NEG: &str = r#""""Rules of ours."""
import relais_onnx as relais

__version__ = "1.2.0"

@relais.rewrite(name="mine.NegNeg", opt_level=1)
def neg_neg(op, x):
    return op.Neg(op.Neg(x))

neg_neg.replace(lambda op, x: x)
relais.register_pass(neg_neg)
"#;

/// A folder with a model and a plugin.
fn with(name: &str, plugin: &str) -> PathBuf {
    let here = folder(&format!("python-plugins-{name}"));
    fs::write(here.join("m.relay"), MODEL).unwrap();
    fs::write(here.join("passes.py"), plugin).unwrap();
    here
}

fn relais<I: IntoIterator<Item: AsRef<OsStr>>>(here: &Path, arguments: I) -> Run {
    relais_in(here, &PYTHON, arguments)
}

fn relais_in<I: IntoIterator<Item: AsRef<OsStr>>>(here: &Path, python: &Path, arguments: I) -> Run {
    let mut run = command();
    run.current_dir(here).env("RELAIS_HOME", here.join("home")).env("RELAIS_PYTHON", python);
    Run::of(run.args(arguments))
}

/// Runs passes of the plugin on the model, and returns the result.
fn run_passes(here: &Path, passes: &str, more: &[&str]) -> Run {
    let run = ["run", "m.relay", "--plugin", "passes.py", "-o", "out.relay", "--no-reproducer", "--passes", passes];
    relais(here, run.iter().chain(more))
}

fn result(here: &Path) -> String {
    fs::read_to_string(here.join("out.relay")).unwrap()
}

#[test]
fn a_file_of_python_is_a_plugin() {
    let here = with("whole", NEG_NEG);
    run_passes(&here, "NegNeg", &[]).expect_success();
    assert!(result(&here).contains("%y: Tensor[(2), float32] = Abs(%x);"), "{}", result(&here));
    let listed = relais(&here, ["list", "plugins", "--plugin", "passes.py"]).expect_success().stdout;
    let row = listed.lines().find(|line| line.starts_with("mine ")).unwrap_or_default();
    assert!(row.contains("1.2.0") && row.ends_with("isolated: Rules of ours."), "{listed}");
    // By a pipeline, from a folder that is searched, on a model of ONNX: the same as in a program of Python.
    let model = models().folder.join("light/squeezenet/model.onnx");
    fs::write(here.join("p.toml"), "steps = [\"InferType\", \"mine.NegNeg\", \"FoldConstant\"]\n").unwrap();
    let run = [OsStr::new("run"), model.as_os_str(), OsStr::new("-p"), OsStr::new("p.toml")];
    let rest = ["--plugin-dir", ".", "-o", "out.onnx"].map(OsStr::new);
    relais(&here, run.into_iter().chain(rest)).expect_success();
    let mut python = package_python();
    let program = "import sys, relais_onnx as relais\n\
                   exec(open('passes.py').read())\n\
                   relais.optimize(sys.argv[1], pipeline='p.toml', out='python.onnx')";
    Run::of(python.current_dir(&here).args(["-c", program]).arg(&model)).expect_success();
    assert!(fs::read(here.join("out.onnx")).unwrap() == fs::read(here.join("python.onnx")).unwrap());
}

#[test]
fn passes_of_every_kind_have_options_messages_and_counts() {
    let plugin = r#"
from dataclasses import dataclass, field
import logging, relais_onnx as relais

@relais.register_config(prefix="mine")
@dataclass
class Limits:
    most: int = field(default=8, metadata={"range": (0, 64), "doc": "The most."})

@dataclass
class Named:
    prefix: str = field(metadata={"doc": "What names begin with."})
    times: int = 1

@relais.function_pass(opt_level=1, name="mine.Rename", options=Named, required=["InferType"])
def rename(func, mod, ctx, options):
    """Renames all nodes."""
    logging.getLogger("mine").info("renames")
    ctx.warning(f"at most {ctx.config['mine.most']}")
    with func.edit() as editor:
        for node in editor.calls():
            ctx.count("seen", 1)
            node.name = options.prefix * options.times + node.name
    return editor.result()

@relais.module_pass(opt_level=1, name="mine.Both", changes_interface=True)
def both(mod, ctx):
    return relais.get_pass("mine.Rename", prefix="b")(relais.get_pass("InferType")(mod))

@relais.prim_func_pass(opt_level=1, name="mine.Loops")
def loops(func, mod, ctx):
    raise ValueError("there is no loop program here")

for one in (rename, both, loops, relais.Sequential([rename.with_options(prefix="s"), loops], name="mine.All")):
    relais.register_pass(one)
"#;
    let here = with("kinds", plugin);
    let shown = relais(&here, ["describe", "mine.Rename", "--plugin", "passes.py"]).expect_success().stdout;
    for line in ["kind     function", "required InferType", "prefix", "What names begin with.", "Renames all nodes."] {
        assert!(shown.contains(line), "`{line}` in: {shown}");
    }
    let run =
        run_passes(&here, "mine.Rename", &["--set", "mine.Rename.prefix=p", "--set", "mine.most=9", "--stats", "-v"]);
    let said = run.expect_success();
    assert!(said.stderr.contains("at most 9") && said.stderr.contains("renames"), "{}", said.stderr);
    let row = said.stderr.lines().find(|line| line.starts_with("mine.Rename ")).unwrap_or_default();
    assert!(row.contains("seen") && row.ends_with('3'), "{}", said.stderr);
    assert!(result(&here).contains("%pa: Tensor[(2), float32] = Neg(%x);"), "{}", result(&here));
    run_passes(&here, "mine.Both", &[]).expect_success();
    assert!(result(&here).contains("%ba: Tensor[(2), float32] = Neg(%x);"), "{}", result(&here));
    run_passes(&here, "mine.All,mine.Loops", &[]).expect_success();
    assert!(result(&here).contains("%sa: "), "{}", result(&here));
    for (passes, more, why) in [
        ("mine.Rename", &[][..], "`prefix`"),
        ("mine.Rename", &["--set", "mine.Rename.prefix=p", "--set", "mine.most=65"], "65"),
        ("mine.Rename", &["--set", "mine.Rename.prefx=p"], "did you mean `prefix`"),
    ] {
        let said = run_passes(&here, passes, more).expect_failure().stderr;
        assert!(said.contains(why), "{why}: {said}");
    }
}

#[test]
fn records_beside_a_file_say_what_it_has_without_running_it() {
    let here = with("records", NEG_NEG);
    let nowhere = Path::new("/nowhere/python3");
    let list = ["list", "passes", "--plugin", "passes.py"];
    let said = relais_in(&here, nowhere, list).expect_failure().stderr;
    assert!(said.contains("the process of plugin `passes.py` cannot be started"), "{said}");
    relais(&here, ["plugin", "record", "passes.py"]).expect_success();
    assert!(fs::read_to_string(here.join("passes.passrec")).unwrap().contains("name = \"mine.NegNeg\""));
    let listed = relais_in(&here, nowhere, list).expect_success().stdout;
    assert!(listed.contains("NegNeg ") && listed.contains("mine 1.2.0"), "{listed}");
    run_passes(&here, "NegNeg", &[]).expect_success();
    // Another state of the file, records that are not some, and records of passes that it does not have.
    let records = fs::read_to_string(here.join("passes.passrec")).unwrap();
    let cases = [
        (format!("{NEG_NEG}# more\n"), records.clone(), "`passes.passrec` describes another state of it"),
        (NEG_NEG.into(), records.replace("sha256", "sha"), "a program has no `sha256`"),
        (NEG_NEG.into(), records.replace("[[pass]]", "[[passes]]"), "`passes` is not a key of a plugin"),
        (NEG_NEG.into(), "\0".into(), "passes.passrec`:1:2: "),
        (
            NEG_NEG.into(),
            records.replace("mine.NegNeg", "mine.Other"),
            "has other passes or options than its records say",
        ),
    ];
    for (plugin, records, why) in cases {
        fs::write(here.join("passes.py"), plugin).unwrap();
        fs::write(here.join("passes.passrec"), records).unwrap();
        let said = run_passes(&here, "Other", &[]).expect_failure().stderr;
        assert!(said.contains(why) && said.contains("help: "), "{why}: {said}");
    }
}

/// Plugins that cannot be used, and what is said of them.
const UNUSED: [(&str, &str); 9] = [
    ("import nothing_like_that", "it cannot be loaded: ModuleNotFoundError: No module named 'nothing_like_that'"),
    ("def f(:", "it cannot be loaded: SyntaxError: invalid syntax (passes.py, line 1)"),
    ("raise SystemExit(0)", "it cannot be loaded: SystemExit: 0"),
    (
        "import os\nos._exit(0)",
        "the process of plugin `passes.py` ended while it was opened: its process ended with status 0",
    ),
    ("import ctypes\nctypes.string_at(0)", "ended while it was opened: its process died: SIGSEGV"),
    ("x = 1", "it registers no pass"),
    ("NAMES = ['a.P', 'b.P']", "the names of its passes begin differently: `a.P` and `b.P`"),
    ("NAMES = ['relais.P']", "`relais.P` is a name in `relais.`, which only plugins called `relais-…` may have"),
    ("__version__ = 'new'\nNAMES = ['a.P']", "its `__version__`, `new`, is not a semantic version"),
];

/// The body of a pass that does harm, and what is said of it.
const HARMFUL: [(&str, &str); 12] = [
    ("raise ValueError('no such thing')", "failed: ValueError: no such thing"),
    ("return 7", "failed: TypeError: what a module pass returns must be an IRModule or None, not `int`"),
    ("raise SystemExit(0)", "failed: SystemExit: 0"),
    ("import os; os._exit(0)", "failed: its process ended with status 0"),
    ("import os; os.abort()", "failed: its process died: SIGABRT"),
    ("import ctypes; ctypes.string_at(64)", "failed: its process died: SIGSEGV at address 0x40"),
    ("while True: pass", "failed: it took longer than 1 s, and its process was ended"),
    ("bytearray(1 << 40)", "failed: MemoryError"),
    ("open('m.relay')", "failed: PermissionError: [Errno 13] Permission denied: 'm.relay'"),
    ("open('/tmp/new', 'w')", "failed: PermissionError: [Errno "),
    ("import socket; socket.socket()", "failed: PermissionError: [Errno 1] Operation not permitted"),
    ("import os; os.fork()", "failed: PermissionError: [Errno 1] Operation not permitted"),
];

#[test]
fn a_bad_file_hurts_nobody_and_is_named() {
    let here = with("bad", "");
    let before = files(&here);
    for (plugin, why) in UNUSED {
        let passes = "\nimport relais_onnx as relais\nfor name in globals().get('NAMES', []):\n    \
                      relais.register_pass(relais.module_pass(lambda mod, ctx: None, opt_level=1, name=name))\n";
        fs::write(here.join("passes.py"), format!("{plugin}{passes}")).unwrap();
        let said = run_passes(&here, "InferType", &[]).expect_failure().stderr;
        assert!(said.contains("plugin `passes.py` is not used: ") && said.contains(why), "{plugin}: {said}");
        // One that a folder has is left out.
        let found = relais(&here, ["list", "plugins", "--plugin-dir", "."]).expect_success();
        assert!(found.stdout.contains(why) || found.stderr.contains(why), "{plugin}: {}{}", found.stdout, found.stderr);
    }
    for (body, why) in HARMFUL {
        let plugin = format!(
            "import relais_onnx as relais\n@relais.register_pass\n@relais.module_pass(opt_level=1, name='bad.P')\n\
             def p(mod, ctx):\n    {body}\n"
        );
        fs::write(here.join("passes.py"), plugin).unwrap();
        let said = run_passes(&here, "bad.P", &["--isolate", "bad:pass-seconds=1,memory=2GiB"]);
        assert_eq!(said.status, Some(1), "{body}: {}", said.stderr);
        let named = format!("pass `bad.P` of plugin `bad` 0.0.0 {why}");
        assert!(said.stderr.contains(&named), "{body}: {}", said.stderr);
        let is_raised = ["Error", "SystemExit"].iter().any(|it| why.contains(it)) && body != "return 7";
        assert_eq!(said.stderr.contains("line 5, in p"), is_raised, "{body}: {}", said.stderr);
        assert_eq!(files(&here), before, "{body}");
    }
    // Changes of the package concern its own process.
    fs::write(
        here.join("passes.py"),
        format!("{NEG_NEG}import relais_onnx.worker as w\nw.load = relais.IRModule = relais._native = None\n"),
    )
    .unwrap();
    run_passes(&here, "NegNeg", &[]).expect_success();
}

#[test]
fn files_beside_it_can_be_imported_and_nothing_else_of_its_folder_read() {
    let here = with("beside", &format!("import helper\n{NEG_NEG}helper.use()\n"));
    let helper = "def use():\n    import os\n    for read in (lambda: os.listdir('.'), lambda: open('m.relay')):\n        \
                  try:\n            read()\n        except PermissionError:\n            pass\n        else:\n            \
                  raise ValueError('it can be read')\n";
    fs::write(here.join("helper.py"), helper).unwrap();
    run_passes(&here, "NegNeg", &[]).expect_success();
    // Neither does a link to another file.
    fs::write(here.join("secret"), "raise ValueError('it can be read')").unwrap();
    symlink("secret", here.join("linked.py")).unwrap();
    fs::write(here.join("passes.py"), format!("{NEG_NEG}import linked\n")).unwrap();
    let said = run_passes(&here, "NegNeg", &[]).expect_failure().stderr;
    assert!(said.contains("No module named 'linked'") && said.contains("`RELAIS_PYTHON` name another"), "{said}");
}

#[test]
fn it_reads_more_where_its_user_says_so() {
    let here = with("reads", &format!("{NEG_NEG}open('m.relay').close()\nprint(hash('a'))\n"));
    let said = run_passes(&here, "NegNeg", &[]).expect_failure().stderr;
    assert!(
        said.contains("PermissionError") && said.contains("help: it runs in a sandbox: `read` in its settings"),
        "{said}"
    );
    // A file that came with the plugin gives it nothing.
    let beside = here.join("passes.py.isolate");
    fs::write(&beside, "read=.\n").unwrap();
    let said = run_passes(&here, "NegNeg", &[]).expect_failure().stderr;
    assert!(said.contains("gives it what a sandbox denies, and is not in the folder of installed plugins"), "{said}");
    fs::write(&beside, "pass-seconds=60\n").unwrap();
    assert!(run_passes(&here, "NegNeg", &[]).expect_failure().stderr.contains("PermissionError"), "it limits it");
    fs::remove_file(&beside).unwrap();
    relais(&here, ["plugin", "record", "passes.py", "--isolate", "read=m.relay"]).expect_success();
    let said = run_passes(&here, "NegNeg", &["--isolate", "mine:read=m.relay"]).expect_success().stderr;
    // Sets have one order in all runs.
    let again = run_passes(&here, "NegNeg", &["--isolate", "mine:read=m.relay"]).expect_success().stderr;
    assert!(said == again && said.trim().parse::<i64>().is_ok(), "{said} {again}");
    fs::remove_file(here.join("passes.passrec")).unwrap();
    assert!(
        relais(&here, ["plugin", "install", "passes.py"]).expect_failure().stderr.contains("PermissionError"),
        "no"
    );
    relais(&here, ["plugin", "install", "passes.py", "--isolate=read=m.relay"]).expect_success();
    relais(&here, ["run", "m.relay", "-o", "out.relay", "--passes", "mine.NegNeg"]).expect_success();
}

#[test]
fn it_is_checked_installed_and_removed() {
    let here = with("installed", NEG_NEG);
    let said = relais(&here, ["plugin", "check", "passes.py"]).expect_success().stdout;
    for part in ["runs in     Python 3.", "can read    `/", "pass mine.NegNeg", "verdict: accepted"] {
        assert!(said.contains(part), "`{part}` in: {said}");
    }
    let said = relais(&here, ["plugin", "check", "--no-open", "passes.py"]).expect_failure().stdout;
    assert!(said.contains("it is not run to say it"), "{said}");
    relais(&here, ["plugin", "install", "passes.py"]).expect_success();
    assert_eq!(files(&here.join("home/plugins")), ["mine.passrec", "mine.py"]);
    relais(&here, ["run", "m.relay", "-o", "out.relay", "--passes", "mine.NegNeg"]).expect_success();
    assert!(result(&here).contains("Abs(%x)"), "{}", result(&here));
    let listed = relais_in(&here, Path::new("/nowhere"), ["plugin", "list"]).expect_success().stdout;
    assert!(listed.contains("mine    1.2.0"), "{listed}");
    relais(&here, ["plugin", "remove", "mine"]).expect_success();
    assert_eq!(files(&here.join("home/plugins")), [""; 0]);
    // It is installed alone.
    fs::write(here.join("helper.py"), "").unwrap();
    fs::write(here.join("passes.py"), format!("import helper\n{NEG_NEG}")).unwrap();
    run_passes(&here, "NegNeg", &[]).expect_success();
    fs::write(here.join("good.py"), NEG_NEG.replace("mine.", "good.")).unwrap();
    let said = relais(&here, ["plugin", "install", "good.py", "passes.py"]).expect_failure().stderr;
    assert!(said.contains("No module named 'helper'"), "{said}");
    assert_eq!(files(&here.join("home/plugins")), [""; 0]);
}

#[test]
fn a_lock_states_the_file_and_the_interpreter() {
    let here = with("locked", NEG_NEG);
    fs::write(here.join("p.toml"), "steps = [\"mine.NegNeg\"]\n").unwrap();
    relais(&here, ["lock", "-p", "p.toml", "--plugin", "passes.py", "-o", "p.lock"]).expect_success();
    let lock = fs::read_to_string(here.join("p.lock")).unwrap();
    assert!(lock.contains("file = \"passes.py\"") && lock.contains("interpreter = \"Python 3."), "{lock}");
    let run = ["run", "m.relay", "-p", "p.toml", "--plugin", "passes.py", "-o", "out.relay", "--locked=p.lock"];
    relais(&here, run).expect_success();
    fs::write(here.join("p.lock"), lock.replace("\"Python 3.", "\"Python 2.")).unwrap();
    let said = relais(&here, run).expect_failure().stderr;
    assert!(said.contains("it is locked to Python 2.") && said.contains("`RELAIS_PYTHON` names another one"), "{said}");
    fs::write(here.join("p.lock"), &lock).unwrap();
    fs::write(here.join("passes.py"), format!("{NEG_NEG}# more\n")).unwrap();
    let said = relais(&here, run).expect_failure().stderr;
    assert!(said.contains("plugin `mine` 1.2.0 is another build"), "{said}");
}

#[test]
fn it_is_run_again_when_it_or_a_file_beside_it_changes() {
    let here =
        with("watched", &NEG_NEG.replace("lambda op, x: x)", "lambda op, x: new(op, x))\nfrom helper import new"));
    let helper =
        |body: &str| fs::write(here.join("helper.py"), format!("def new(op, x):\n    return {body}\n")).unwrap();
    helper("x");
    let printed = here.join("printed");
    let file = fs::File::create(&printed).unwrap();
    let mut watch = command();
    watch.current_dir(&here).env("RELAIS_PYTHON", &*PYTHON).args(["watch", "m.relay", "-o", "out.relay"]);
    watch.args(["--allow-writable-plugins", "--plugin", "passes.py", "--passes", "NegNeg"]);
    watch.stdin(Stdio::null()).stdout(file.try_clone().unwrap()).stderr(file);
    let mut watch = watch.spawn().unwrap();
    let said = |part: &str| {
        let begun = Instant::now();
        loop {
            let said = fs::read_to_string(&printed).unwrap();
            if said.contains(part) {
                return said;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "`{part}` in: {said}");
            thread::sleep(Duration::from_millis(20));
        }
    };
    said("-- the run ended with status 0");
    helper("op.Identity(x)");
    let told = said("+   %b: Tensor[(2), float32] = Identity(%x);");
    assert!(told.contains("-- changed: `helper.py`"), "{told}");
    fs::write(here.join("passes.py"), "def f(:").unwrap();
    said("it cannot be loaded: SyntaxError");
    watch.kill().unwrap();
    watch.wait().unwrap();
}

#[test]
fn programs_of_python_use_it_too() {
    let here = with("program", NEG_NEG);
    let mut python = package_python();
    let program = "import relais_onnx as relais\n\
                   relais.add_plugins(['passes.py'], allow_writable=True)\n\
                   module = relais.optimize('m.relay', passes=['mine.NegNeg'])\n\
                   print(module['main'].ops, relais.describe('mine.NegNeg')['plugin'])\n";
    let said = Run::of(python.current_dir(&here).args(["-c", program])).expect_success().stdout;
    assert_eq!(said.trim(), "['Neg', 'Abs'] mine");
}

//! Runs that are killed at any moment lose nothing, and leave nothing that the next run does not remove.
//!
//! `RELAIS_KILLS=100` kills that many live runs; fewer are killed by default.

use relais_tests::{
    cargo_built::plugin,
    cli::{command, files, folder, relais},
    venv::{package_python, program},
};
use std::{
    env, fs,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

const OLD: &str =
    "def @main(%x: Tensor[(4,), float32]) -> (%y) #[opset = {\"\": 17}, ir_version = 9] { %y = Relu(%x); %y }\n";

/// A model whose weights are a file of many megabytes, so that writing takes a while.
fn model(n: usize) -> String {
    let line = |at: usize| {
        format!("  %w{at} = const(float32, (262144), hex\"{}\") #[form = initializer];\n", "0000803f".repeat(262_144))
    };
    let sums = (0..n).map(|at| match at {
        0 => "  %s0 = Add(%x, %w0);\n".to_owned(),
        _ => format!("  %s{at} = Add(%s{}, %w{at});\n", at - 1),
    });
    let head = "def @main(%x: Tensor[(262144,), float32]) -> (%y) #[opset = {\"\": 17}, ir_version = 9] {\n";
    let body: String = (0..n).map(line).chain(sums).collect();
    format!("{head}{body}  %y = Identity(%s{});\n  %y\n}}\n", n - 1)
}

fn run(here: &Path, arguments: &[&str]) -> Child {
    let mut run = command();
    run.current_dir(here).args(["run", "-q", "--allow-writable-plugins", "--passes", "EliminateNoOp", "big.onnx"]);
    run.args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn signal(name: &str, child: &Child) {
    Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
}

/// The files of a folder that are not whole.
fn leftovers(here: &Path) -> usize {
    files(here).iter().filter(|name| name.ends_with(".relais-tmp")).count()
}

#[test]
fn a_run_that_is_killed_loses_nothing() {
    let n_kills: usize = env::var("RELAIS_KILLS").ok().map_or(9, |n| n.parse().unwrap());
    let here = folder("killed");
    fs::write(here.join("big.relay"), model(8)).unwrap();
    fs::write(here.join("old.relay"), OLD).unwrap();
    let made = |input: &str, output: &str| {
        let [input, output] = [input, output].map(|name| here.join(name).display().to_string());
        relais(["run", "-q", &input, "-o", &output, "--passes", "InferType", "--allow-writable-plugins"])
            .expect_success();
    };
    made("big.relay", "big.onnx");
    made("old.relay", "old.onnx");
    fs::remove_file(here.join("big.relay")).unwrap();
    let old = fs::read(here.join("old.onnx")).unwrap();
    // The complete results, and how long it takes to make them.
    let ways: [&[&str]; 2] = [&["-o", "out.onnx"], &["-o", "out.onnx", "--external-data", "always"]];
    let mut whole = Vec::new();
    for way in ways {
        let began = Instant::now();
        assert!(run(&here, way).wait().unwrap().success());
        whole.push((fs::read(here.join("out.onnx")).unwrap(), began.elapsed()));
    }
    let data = fs::read(here.join("out.onnx.data")).unwrap();
    let (mut n_killed, mut n_replaced, mut n_left, mut n_tried) = (0, 0, 0, 0);
    while n_killed < n_kills {
        assert!(n_tried < 20 * n_kills + 100, "only {n_killed} of {n_tried} runs were alive");
        let way = n_tried % ways.len();
        for name in files(&here).iter().filter(|name| name.starts_with("out.onnx") && name.contains(".data")) {
            fs::remove_file(here.join(name)).unwrap();
        }
        fs::write(here.join("out.onnx"), &old).unwrap();
        let name = ["-KILL", "-TERM", "-INT"][n_tried % 3];
        let mut child = run(&here, ways[way]);
        // Any moment, the last third of a run oftener: that is when files are written.
        let part = [35, 60, 75, 85, 92, 97, 102][n_tried % 7] as f64 / 100.0;
        thread::sleep(Duration::from_secs_f64(whole[way].1.as_secs_f64() * part));
        n_tried += 1;
        if child.try_wait().unwrap().is_some() {
            continue;
        }
        signal(name, &child);
        let status = child.wait().unwrap();
        if status.success() {
            continue;
        }
        n_killed += 1;
        let is_caught = status.code().is_some();
        assert!(!is_caught || matches!(status.code(), Some(130 | 143)), "{name}: {status}");
        // The output is the old one or the new one.
        let now = fs::read(here.join("out.onnx")).unwrap();
        let is_new = now == whole[way].0;
        assert!(is_new || now == old, "{name}: `out.onnx` has {} bytes", now.len());
        if is_new && way == 1 {
            assert!(fs::read(here.join("out.onnx.data")).unwrap() == data, "{name}: the weights are others");
        }
        n_replaced += usize::from(is_new);
        n_left += leftovers(&here);
        assert!(!is_caught || leftovers(&here) == 0, "{name} leaves {:?}", files(&here));
        // The next run on that output removes the remains.
        assert!(run(&here, ways[0]).wait().unwrap().success());
        assert_eq!(leftovers(&here), 0, "{:?}", files(&here));
        assert!(fs::read(here.join("out.onnx")).unwrap() == whole[0].0);
        let n_data = files(&here).iter().filter(|name| name.contains(".data")).count();
        assert!(n_data <= usize::from(is_new && way == 1), "{name}: {:?}", files(&here));
    }
    println!(
        "{n_killed} of {n_tried} runs were killed: {n_replaced} after the output was new, {n_left} files were left"
    );
}

/// A model that is mapped, not read; a pass keeps the run waiting.
#[test]
#[cfg(target_os = "linux")]
fn a_model_that_is_shortened_meanwhile_ends_the_run_with_a_message() {
    let here = folder("shortened");
    fs::write(here.join("model.relay"), model(20)).unwrap();
    let quiet = ["-q", "--passes", "InferType", "--allow-writable-plugins"];
    let at = |name: &str| here.join(name).display().to_string();
    relais([&["run", &at("model.relay"), "-o", &at("big.onnx")], &quiet[..]].concat()).expect_success();
    // Into a pipe, weights are part of the text.
    assert!(Command::new("mkfifo").arg(at("out.relay")).status().unwrap().success());
    let mut run = command();
    run.current_dir(&here).args(["run", "big.onnx", "-o", "out.relay", "-q", "--passes", "quit.Module"]);
    run.args(["--allow-writable-plugins", "--plugin"]).arg(plugin("quitter"));
    run.env("RELAIS_TEST_QUIT", "module:wait").env("RELAIS_TEST_WAIT", at("waits"));
    let run = run.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let began = Instant::now();
    while !here.join("waits").exists() {
        assert!(began.elapsed() < Duration::from_secs(60), "the pass was not run");
        thread::sleep(Duration::from_millis(5));
    }
    fs::File::options().write(true).open(at("big.onnx")).unwrap().set_len(0).unwrap();
    fs::remove_file(at("waits")).unwrap();
    let run = run.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(said.starts_with("error: a file was shortened by another process"), "{said}");
    assert_eq!(run.status.code(), Some(1), "{said}");
}

/// Whether the tests were started to ignore a signal, as a shell starts what is to run in the background: the program does
/// so, too.
fn is_ignored(signal: u32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Whatever the compiler was doing.
#[test]
#[cfg(unix)]
fn a_build_that_is_ended_while_it_compiles_leaves_nothing() {
    use std::os::unix::fs::PermissionsExt;
    let here = folder("killed-build");
    fs::write(here.join("net.relay"), OLD).unwrap();
    fs::write(here.join("slow"), "#!/bin/sh\ntouch \"$STARTED\"\nexec sleep 30\n").unwrap();
    fs::set_permissions(here.join("slow"), fs::Permissions::from_mode(0o755)).unwrap();
    let before = files(&here);
    for (ending, _) in [("-TERM", 15), ("-INT", 2)].into_iter().filter(|(_, signal)| !is_ignored(*signal)) {
        let started = folder("killed-build-started").join("started");
        let mut build = command();
        build.current_dir(&here).args(["build", "net.relay", "-o", "net.c", "--shared", "-q"]);
        build.env("CC", "./slow").env("STARTED", &started).stderr(Stdio::null());
        let mut child = build.spawn().unwrap();
        let began = Instant::now();
        while !started.exists() {
            assert!(began.elapsed() < Duration::from_secs(60), "the compiler was not started");
            thread::sleep(Duration::from_millis(10));
        }
        signal(ending, &child);
        assert!(!child.wait().unwrap().success());
        assert_eq!(files(&here), before);
    }
}

/// The processes that a process has started, and theirs.
#[cfg(target_os = "linux")]
fn descendants(of: u32) -> Vec<u32> {
    let parent = |pid: u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse::<u32>().ok()
    };
    let all = fs::read_dir("/proc").unwrap().flatten();
    let all: Vec<u32> = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    let mut found = vec![of];
    let mut at = 0;
    while let Some(&one) = found.get(at) {
        found.extend(all.iter().filter(|&&pid| parent(pid) == Some(one)));
        at += 1;
    }
    found.split_off(1)
}

/// Whether a process is there that has not ended.
#[cfg(target_os = "linux")]
fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}

/// Ends a program in each way, `delay` after it has started `n` processes: none of them is alive two seconds later.
#[cfg(target_os = "linux")]
fn nothing_outlives(program: &mut Command, n: usize, here: &Path) {
    for ((ending, number), delay) in [("-KILL", 9), ("-TERM", 15), ("-HUP", 1), ("-INT", 2)]
        .into_iter()
        .flat_map(|ending| [0, 600].map(|delay| (ending, delay)))
        .filter(|((_, number), _)| *number == 9 || !is_ignored(*number))
    {
        let mut run = program.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let mut started_when = |delay| {
            thread::sleep(Duration::from_millis(delay));
            let began = Instant::now();
            loop {
                let started = descendants(run.id());
                if started.len() >= n {
                    return started;
                }
                assert!(began.elapsed() < Duration::from_secs(60), "{started:?} were started");
                assert!(run.try_wait().unwrap().is_none(), "it has ended");
                thread::sleep(Duration::from_millis(2));
            }
        };
        // One that has done its work may have been followed by another.
        started_when(0);
        let started = started_when(delay);
        signal(ending, &run);
        run.wait().unwrap();
        let began = Instant::now();
        while started.iter().any(|&pid| is_alive(pid)) {
            assert!(began.elapsed() < Duration::from_secs(2), "{ending} of {program:?} after {delay} ms: {number}");
            thread::sleep(Duration::from_millis(5));
        }
        let before = files(here);
        thread::sleep(Duration::from_millis(200));
        assert_eq!(files(here), before);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn processes_end_with_the_run_that_started_them() {
    let here = folder("killed-parents");
    for name in ["a.relay", "b.relay"] {
        fs::write(here.join(name), OLD).unwrap();
    }
    let mut many = command();
    many.current_dir(&here).args(["run", "a.relay", "b.relay", "--out-dir", "out", "--jobs", "2", "--retry"]);
    many.args(["--allow-writable-plugins", "--passes", "quit.Module", "--plugin"]).arg(plugin("quitter"));
    nothing_outlives(many.env("RELAIS_TEST_QUIT", "module:sleep"), 2, &here);
    let left = files(&here.join("out"));
    assert!(!left.iter().any(|name| name.ends_with(".relay")), "{left:?}");
    let mut kit = command();
    kit.current_dir(&here).args(["plugin", "test", "--allow-writable-plugins"]).arg(plugin("quitter"));
    nothing_outlives(kit.env("RELAIS_TEST_QUIT", "module:sleep"), 1, &here);
    let mut isolated = command();
    isolated.current_dir(&here).args(["run", "a.relay", "-o", "isolated.relay", "--allow-writable-plugins"]);
    isolated
        .args(["--passes", "quit.Module", "--isolate", "quitter:env=RELAIS_TEST_QUIT", "--plugin"])
        .arg(plugin("quitter"));
    nothing_outlives(isolated.env("RELAIS_TEST_QUIT", "module:sleep"), 1, &here);
    assert!(!here.join("isolated.relay").exists());
}

/// Runs with all plugins in processes of their own, and one of them a file of Python, that are killed at any moment.
#[test]
#[cfg(target_os = "linux")]
fn an_isolated_run_that_is_killed_leaves_nothing() {
    let n_kills: usize = env::var("RELAIS_KILLS").ok().map_or(6, |n| n.parse().unwrap());
    let here = folder("killed-isolated");
    let plugin = "import relais_onnx as relais\n@relais.register_pass\n\
                  @relais.function_pass(opt_level=0, name='slow.Wait')\ndef wait(func, mod, ctx):\n    \
                  import time; time.sleep(0.1)\n";
    fs::write(here.join("passes.py"), plugin).unwrap();
    fs::write(here.join("m.relay"), OLD).unwrap();
    let old = files(&here);
    let python = package_python();
    let start = || {
        let mut run = command();
        run.current_dir(&here).env("RELAIS_PYTHON", python.get_program());
        run.args(["run", "m.relay", "-o", "out.relay", "-q", "--no-reproducer", "--isolate", "all"]);
        run.args(["--allow-writable-plugins", "--plugin", "passes.py", "--passes", "InferType,slow.Wait,FoldConstant"]);
        run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let began = Instant::now();
    assert!(start().wait().unwrap().success());
    let whole = began.elapsed();
    fs::remove_file(here.join("out.relay")).unwrap();
    let (mut n_killed, mut n_workers) = (0, 0);
    for turn in 0..10 * n_kills + 50 {
        if n_killed == n_kills {
            break;
        }
        let mut run = start();
        thread::sleep(whole.mul_f64((turn * 37 % 100) as f64 / 100.0));
        // While it stands still, it starts no other.
        signal("-STOP", &run);
        let started = descendants(run.id());
        signal("-KILL", &run);
        n_killed += usize::from(!run.wait().unwrap().success());
        n_workers += started.len();
        let began = Instant::now();
        while started.iter().any(|&pid| is_alive(pid)) {
            assert!(began.elapsed() < Duration::from_secs(2), "a process outlives its host, killed in turn {turn}");
            thread::sleep(Duration::from_millis(5));
        }
        let now: Vec<String> = files(&here).into_iter().filter(|name| name != "out.relay").collect();
        assert_eq!(
            now.iter().filter(|name| !name.ends_with(".relais-tmp")).collect::<Vec<_>>(),
            old.iter().collect::<Vec<_>>()
        );
        let _ = fs::remove_file(here.join("out.relay"));
    }
    assert!(n_killed == n_kills && n_workers > 0, "{n_killed} runs were killed, with {n_workers} processes");
    assert!(start().wait().unwrap().success());
    assert_eq!(leftovers(&here), 0, "{:?}", files(&here));
}

/// A model that takes onnxruntime minutes.
#[test]
#[cfg(target_os = "linux")]
fn python_ends_with_the_run_that_started_it() {
    let here = folder("killed-python");
    let model = r#"def @main(%x: Tensor[(), float32]) -> (%y) #[opset = {"": 17}, ir_version = 9] {
  %n = const(int64, 10000000000);
  %go = const(bool, true);
  %y: Tensor[(), float32] = Loop(%n, %go, %x, body = fn(%i: Tensor[(), int64], %c: Tensor[(), bool], %s: Tensor[(), float32]) {
    %k = Identity(%c);
    %t = Cos(%s);
    (%k, %t)
  });
  %y
}
"#;
    fs::write(here.join("model.relay"), model).unwrap();
    let mut run = command();
    run.current_dir(&here).args(["run", "model.relay", "-o", "out.onnx", "-O0", "--check=1"]);
    run.args(["--check-with", "onnxruntime", "--python"]).arg(program("python"));
    nothing_outlives(&mut run, 1, &here);
    assert_eq!(files(&here), ["model.relay"]);
}

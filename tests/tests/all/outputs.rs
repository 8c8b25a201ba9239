//! No file that the command line names is lost, and no other file remains.

use relais_tests::{
    cargo_built::workspace,
    cli::{Run, command, files, folder, no_home},
};
use std::{
    fs::{self, Permissions},
    os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink},
    path::Path,
    process::{Command, Stdio},
    thread,
};

const MODEL: &str = r#"def @main(%x: Tensor[(2,), float32]) -> (%y) #[opset = {"": 17}, ir_version = 9] {
  %w = const(float32, (2), [1.0, 2.0]);
  %a = Identity(%x);
  %y = Add(%a, %w);
  %y
}
"#;

/// Runs a shell command in a folder, with `relais` on the path.
fn shell(here: &Path, line: &str) -> Run {
    let beside = workspace().relais.parent().unwrap().to_owned();
    let path = format!("{}:{}", beside.display(), std::env::var("PATH").unwrap_or_default());
    let mut sh = Command::new("sh");
    sh.current_dir(here).args(["-c", line]).env("PATH", path);
    Run::of(sh.env_remove("RELAIS_PLUGIN_PATH").env("RELAIS_HOME", no_home()))
}

fn run(here: &Path, arguments: &str) -> Run {
    shell(here, &format!("relais run --allow-writable-plugins --passes EliminateNoOp {arguments}"))
}

/// A folder with a model `m.relay`, and the same as `m.onnx`.
fn workshop(name: &str) -> std::path::PathBuf {
    let here = folder(name);
    fs::write(here.join("m.relay"), MODEL).unwrap();
    shell(&here, "relais run m.relay -o m.onnx -q --passes InferType --allow-writable-plugins").expect_success();
    here
}

#[track_caller]
fn refused(here: &Path, arguments: &str, why: &str) {
    let before = contents(here);
    let said = run(here, arguments).expect_failure();
    assert!(said.stderr.contains(why), "{arguments}: {}", said.stderr);
    assert_eq!(contents(here), before, "{arguments}");
}

fn contents(here: &Path) -> Vec<(String, Vec<u8>)> {
    let is_file = |name: &String| here.join(name).symlink_metadata().is_ok_and(|metadata| metadata.is_file());
    let read = |name: &String| if is_file(name) { fs::read(here.join(name)).unwrap() } else { Vec::new() };
    files(here).into_iter().map(|name| (name.clone(), read(&name))).collect()
}

#[test]
fn only_the_output_replaces_a_file() {
    let here = workshop("outputs-replace");
    fs::write(here.join("notes.txt"), "precious").unwrap();
    for arguments in [
        "m.onnx -o out.onnx --report m.onnx",
        "m.onnx -o out.onnx --report notes.txt",
        "m.onnx -o out.onnx --trace notes.txt",
        "m.onnx -o out.onnx --instrument 'trace:file=\"m.onnx\"'",
    ] {
        refused(&here, arguments, "is there already");
    }
    for arguments in ["m.onnx -o out.onnx --report out.onnx", "m.onnx -o out.onnx --report r --trace ./r"] {
        refused(&here, arguments, " are one: ");
    }
    run(&here, "m.onnx -o notes.txt --report r.json --trace t.json").expect_success();
    assert!(fs::read(here.join("r.json")).unwrap().starts_with(b"{"));
    assert!(fs::read(here.join("t.json")).unwrap().starts_with(b"{"));
    assert_ne!(fs::read(here.join("notes.txt")).unwrap(), b"precious");
}

#[test]
fn what_a_run_reads_is_not_its_output() {
    let here = workshop("outputs-inputs");
    fs::write(here.join("p.toml"), "steps = [\"EliminateNoOp\"]\n").unwrap();
    let said = shell(&here, "relais run m.onnx -o ./p.toml -p p.toml").expect_failure();
    assert!(said.stderr.contains("output would replace the pipeline `p.toml`"), "{}", said.stderr);
    assert!(fs::read_to_string(here.join("p.toml")).unwrap().contains("EliminateNoOp"));
    fs::write(here.join("neg.rules"), "Neg(Neg(x)) => x\n").unwrap();
    refused(&here, "m.onnx -o neg.rules --rules ./neg.rules", "output would replace the rules `./neg.rules`");
    for (arguments, expected) in [
        ("-p p.toml -o ./p.toml", "lock file would replace the pipeline `p.toml`"),
        ("--rules neg.rules -o neg.rules", "lock file would replace the rules `neg.rules`"),
    ] {
        let said = shell(&here, &format!("relais lock {arguments}")).expect_failure();
        assert!(said.stderr.contains(expected), "{}", said.stderr);
    }
    assert!(fs::read_to_string(here.join("p.toml")).unwrap().contains("EliminateNoOp"));
    let large = format!(
        "def @main(%x: Tensor[(1024,), float32]) -> (%y) #[opset = {{\"\": 17}}] {{ %w = const(float32, (1024), hex\"{}\") #[form = initializer]; \
         %y = Add(%x, %w); %y }}",
        "00008040".repeat(1024)
    );
    fs::write(here.join("large.relay"), large).unwrap();
    run(&here, "large.relay -o large.onnx --external-data always -q").expect_success();
    assert!(here.join("large.onnx.data").exists(), "{:?}", files(&here));
    refused(&here, "large.onnx -o large.onnx.data", "output would replace weights of the model");
    // In place, the data stay where they are.
    run(&here, "large.onnx -o large.onnx").expect_success();
    shell(&here, "relais show large.onnx").expect_success();
}

#[test]
fn a_run_in_place_keeps_mode_and_link() {
    let here = workshop("outputs-place");
    let file = here.join("m.onnx");
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    symlink("m.onnx", here.join("link.onnx")).unwrap();
    run(&here, "m.onnx -o link.onnx").expect_success();
    assert_eq!(file.metadata().unwrap().mode() & 0o7777, 0o600);
    assert!(here.join("link.onnx").is_symlink());
    fs::set_permissions(&file, Permissions::from_mode(0o444)).unwrap();
    refused(&here, "m.onnx -o m.onnx", "is write-protected");
    refused(&here, "m.onnx -o link.onnx", "is write-protected");
}

#[test]
fn a_folder_that_cannot_be_written_is_told_before_the_run() {
    let here = workshop("outputs-folder");
    fs::create_dir(here.join("locked")).unwrap();
    fs::set_permissions(here.join("locked"), Permissions::from_mode(0o555)).unwrap();
    // The administrator may write there anyway.
    let line = "relais run m.onnx -o locked/out.onnx --passes EliminateNoOp --allow-writable-plugins -v";
    let said = match fs::write(here.join("locked/probe"), "").is_ok() {
        true => {
            fs::remove_file(here.join("locked/probe")).unwrap();
            run(&here, "m.onnx -o /proc/out.onnx -v")
        }
        false => shell(&here, line),
    };
    assert!(said.stderr.contains("cannot be written"), "{}", said.stderr);
    assert!(!said.stderr.contains("reading the model"), "{}", said.stderr);
    said.expect_failure();
}

#[test]
fn devices_and_pipes_are_never_replaced() {
    let here = workshop("outputs-devices");
    symlink("/dev/null", here.join("null")).unwrap();
    run(&here, "m.onnx -o null --report null").expect_success();
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    assert!(here.join("null").is_symlink());
    let full = run(&here, "m.onnx -o /dev/full").expect_failure();
    assert!(full.stderr.contains("No space left"), "{}", full.stderr);
    shell(&here, "mkfifo pipe").expect_success();
    let read = shell(&here, "cat pipe > copy.onnx & relais run m.onnx -o pipe -q --passes EliminateNoOp && wait");
    read.expect_success();
    assert!(fs::symlink_metadata(here.join("pipe")).unwrap().file_type().is_fifo());
    run(&here, "copy.onnx -o again.onnx").expect_success();
    assert_eq!(fs::read(here.join("copy.onnx")).unwrap(), fs::read(here.join("again.onnx")).unwrap());
    refused(&here, "m.onnx -o null --external-data always", "there is no place for weights");
}

#[test]
fn dash_is_standard_input_and_output() {
    let here = workshop("outputs-dash");
    run(&here, "m.onnx -o out.onnx -q").expect_success();
    let line = "cat m.onnx | relais run - -o - --passes EliminateNoOp --allow-writable-plugins > through.onnx";
    let said = shell(&here, line).expect_success();
    assert_eq!(fs::read(here.join("through.onnx")).unwrap(), fs::read(here.join("out.onnx")).unwrap());
    assert!(said.stderr.contains("total nodes"), "{}", said.stderr);
    assert!(!here.join("-").exists());
    // A file of that name can be named.
    run(&here, "m.onnx -o ./- -q").expect_success();
    assert!(here.join("-").is_file());
    refused(&here, "m.onnx -o - --report -", " are one: ");
    shell(&here, "relais run /dev/stdin -o /dev/stdout -q --passes EliminateNoOp < m.onnx > redirected.onnx")
        .expect_success();
    assert_eq!(fs::read(here.join("redirected.onnx")).unwrap(), fs::read(here.join("out.onnx")).unwrap());
    let said = shell(&here, "relais show - < m.relay").expect_success();
    assert!(said.stdout.contains("Identity"), "{}", said.stdout);
    shell(&here, "timeout 20 relais show /dev/zero").expect_failure();
}

#[test]
fn data_that_is_a_pipe_does_not_hang() {
    let here = workshop("outputs-fifo-data");
    fs::write(here.join("side.relay"), MODEL.replace("[1.0, 2.0]", "@\"t0\"")).unwrap();
    shell(&here, "mkfifo side.relay.safetensors").expect_success();
    let said = shell(&here, "timeout 20 relais show side.relay").expect_failure();
    assert!(said.stderr.contains("it is not a regular file"), "{}", said.stderr);
}

/// Inference reads axes in the model only.
#[test]
fn lists_of_a_data_file_go_into_the_model_where_calls_take_them_anew() {
    let here = folder("outputs-axes");
    let text = "def @main(%x: Tensor[(N, 4), float32]) -> (%a, %b) #[opset = {\"\": 18}, ir_version = 9] {
  %i = const(int64, [1]) #[form = initializer];
  %axes = Identity(%i);
  %a = ReduceSum(%x, %axes, keepdims = 0);
  %j = const(float32, [[1.0, 2.0, 3.0, 4.0]]) #[form = initializer];
  %b = Add(%x, %j);
  (%a, %b)
}
";
    fs::write(here.join("m.relay"), text).unwrap();
    run(&here, "m.relay -o in.onnx -q --disable EliminateNoOp").expect_success();
    let program = "import onnx; m = onnx.load('in.onnx')
onnx.save(m, 'in.onnx', save_as_external_data=True, location='w', size_threshold=0)";
    Run::of(Command::new(relais_tests::venv::program("python")).current_dir(&here).args(["-c", program]))
        .expect_success();
    run(&here, "in.onnx -o in.onnx -q").expect_success();
    let program = "import onnx; m = onnx.load('in.onnx', load_external_data=False)
onnx.checker.check_model('in.onnx', full_check=True)
print(*[len(t.external_data) > 0 for t in m.graph.initializer])";
    let python = relais_tests::venv::program("python");
    let said = Run::of(Command::new(python).current_dir(&here).args(["-c", program])).expect_success().stdout;
    assert_eq!(said.trim(), "False True");
}

/// The model may be removed with its data.
#[test]
fn weights_of_a_result_are_its_own() {
    let here = folder("outputs-weights");
    let weights = "0000803f".repeat(511) + "00004040";
    let text = format!(
        "def @main(%x: Tensor[(512,), float32]) -> (%y) #[opset = {{\"\": 17}}, ir_version = 9] {{\n  \
         %w = const(float32, (512), hex\"{weights}\") #[form = initializer];\n  %a = Identity(%x);\n  \
         %y = Add(%a, %w);\n  %y\n}}\n"
    );
    fs::write(here.join("m.relay"), text).unwrap();
    run(&here, "m.relay -o in.onnx -q --external-data always --disable EliminateNoOp").expect_success();
    for (mode, file) in [("auto", "auto.onnx.data"), ("always", "always.onnx.data"), ("keep", "in.onnx.data")] {
        let said = run(&here, &format!("in.onnx -o {mode}.onnx --external-data {mode} --report {mode}.json"));
        let said = said.expect_success().stdout;
        let row = said.lines().find(|line| line.starts_with("data files")).unwrap();
        assert_eq!(row.split_whitespace().skip(2).collect::<Vec<_>>(), ["in.onnx.data", file], "{said}");
        let report: serde_json::Value =
            serde_json::from_slice(&fs::read(here.join(format!("{mode}.json"))).unwrap()).unwrap();
        let named = report["after"]["external_files"].as_array().unwrap();
        assert!(
            named.len() == 1 && named[0].as_str().unwrap().ends_with(&format!("outputs-weights/{file}")),
            "{report}"
        );
    }
    // The same model in place.
    run(&here, "in.onnx -o in.onnx -q").expect_success();
    let data: Vec<String> = files(&here).into_iter().filter(|name| name.ends_with(".data")).collect();
    assert_eq!(data, ["always.onnx.data", "auto.onnx.data", "in.onnx.data"]);
    fs::remove_file(here.join("in.onnx.data")).unwrap();
    for mode in ["auto", "always"] {
        run(&here, &format!("{mode}.onnx -o out.relay -q")).expect_success();
    }
    refused(&here, "keep.onnx -o out.relay -q", "in.onnx.data");
}

#[test]
fn what_is_not_whole_goes() {
    let here = workshop("outputs-limit");
    let wide = MODEL.replace("(2)", "(40000)").replace("(2,)", "(40000,)");
    let wide = wide.replace("[1.0, 2.0]", &format!("hex\"{}\"", "0000803f".repeat(40000)));
    fs::write(here.join("wide.relay"), wide).unwrap();
    fs::write(here.join("out.onnx"), "precious").unwrap();
    let before = contents(&here);
    // A limit of the size of files, in blocks of 512 bytes.
    let said = shell(&here, "ulimit -f 100; relais run wide.relay -o out.onnx --passes EliminateNoOp").expect_failure();
    assert!(said.stderr.contains("cannot be written") || said.stderr.contains("File too large"), "{}", said.stderr);
    assert_eq!(contents(&here), before);
}

#[test]
fn a_named_file_that_is_not_a_plugin_is_an_error() {
    let here = workshop("outputs-plugin");
    fs::write(here.join("not.so"), "text").unwrap();
    refused(&here, "m.onnx -o out.onnx --plugin not.so", "plugin `not.so` is not used");
    refused(&here, "m.onnx -o out.onnx --plugin-dir gone", "plugin `gone` is not used");
}

#[test]
fn includes_quote_no_file_of_somebody_else() {
    let here = workshop("outputs-include");
    let inner = here.join("inner");
    fs::create_dir(&inner).unwrap();
    fs::write(here.join("secret.toml"), "[registry]\ntoken = \"hunter2\"\n").unwrap();
    fs::write(here.join("secret"), "hunter2").unwrap();
    fs::write(inner.join("near.toml"), "stepz = [\"hunter2\"]\n").unwrap();
    symlink("../secret", inner.join("link.toml")).unwrap();
    let check = |include: &str| {
        fs::write(inner.join("p.toml"), format!("steps = [{{ include = \"{include}\" }}]\n")).unwrap();
        shell(&here, "relais pipeline check inner/p.toml").expect_failure().stderr
    };
    for include in ["../secret", "link.toml", "../secret.toml"] {
        let said = check(include);
        assert!(!said.contains("hunter2") && !said.contains("token"), "{include}: {said}");
    }
    assert!(check("near.toml").contains("stepz"), "a file beside the pipeline is quoted");
}

#[test]
fn standard_output_that_is_closed_is_an_error_where_the_model_goes_there() {
    let here = workshop("outputs-closed");
    let mut child = command()
        .current_dir(&here)
        .args(["run", "m.onnx", "-o", "-", "-q", "--passes", "EliminateNoOp"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

/// Names of files that are on their way.
fn leftovers(here: &Path) -> Vec<String> {
    files(here).into_iter().filter(|name| name.ends_with(".relais-tmp")).collect()
}

#[test]
fn two_runs_on_one_output_leave_one_whole_result() {
    let here = workshop("outputs-two");
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| (0..5).for_each(|_| drop(run(&here, "m.onnx -o out.onnx -q").expect_success())));
        }
    });
    run(&here, "m.onnx -o alone.onnx -q").expect_success();
    assert_eq!(fs::read(here.join("out.onnx")).unwrap(), fs::read(here.join("alone.onnx")).unwrap());
    assert_eq!(leftovers(&here), Vec::<String>::new());
}

/// A name that other programs take for another format: `model.ort` would not be a model to any of them.
#[test]
fn an_output_is_not_named_like_the_formats_of_others() {
    let here = workshop("named-like-others");
    for (name, what) in [("out.ort", "the format that onnxruntime has"), ("out.safetensors", "weights alone")] {
        let stderr = run(&here, &format!("m.onnx -o {name}")).expect_failure().stderr;
        let expected = format!("output `{name}` would be taken for {what}");
        assert!(stderr.contains(&expected) && stderr.contains("(`.onnx`)"), "{stderr}");
        assert!(!here.join(name).exists());
    }
    // Any other name says nothing, and the format is the model's.
    run(&here, "m.relay -o out.txt").expect_success();
    assert!(fs::read_to_string(here.join("out.txt")).unwrap().starts_with("def @main"));
}

//! `relais build`: models become C that compiles without a warning and computes what runtimes do.

use relais_plugin_api::{
    ir::{ElemType, Tensor},
    prim, text,
};
use relais_tests::{
    cargo_built::workspace,
    cli::{Run, files, folder},
    golden::Golden,
    venv::{judge_models, some_cases},
};
use std::{fs, path::Path, process::Command};

/// A convolution and what follows it, of a size that a person can follow.
const NET: &str = r#"def @main(%image: Tensor[(1, 2, 4, 4), float32], %rows: Tensor[(2), int64]) #[opset = {"": 17}, output_names = ["scores", "picked"]] {
  %w = const(float32, [[[[0.5]], [[-1.5]]], [[[1.0]], [[0.25]]]]);
  %conv = Conv(%image, %w);
  %relu = Relu(%conv);
  %shape = const(int64, [2, 16]);
  %flat = Reshape(%relu, %shape);
  %scores = Softmax(%flat, axis = 1);
  %picked = Gather(%flat, %rows, axis = 1);
  (%scores, %picked)
}
"#;

pub fn build(folder: &Path, text: &str, args: &[&str]) -> Run {
    fs::write(folder.join("model.relay"), text).unwrap();
    let mut relais = Command::new(&workspace().relais);
    relais.current_dir(folder).args(["build", "model.relay"]).args(args).env_remove("RELAIS_PLUGIN_PATH");
    Run::of(&mut relais)
}

pub fn c_files(folder: &Path) -> Vec<String> {
    files(folder).into_iter().filter(|name| !name.ends_with(".relay") && !name.contains(".repro")).collect()
}

#[test]
fn the_source_is_as_it_was() {
    let folder = folder("build-golden");
    let said = build(&folder, NET, &["-o", "net.c", "--main", "--bench"]).expect_success();
    let mut golden = Golden::new("build");
    golden.check("said", &said.stdout);
    for file in ["net.c", "net.h", "net_main.c", "net_bench.c"] {
        golden.check(&file.replace('.', "_"), &fs::read_to_string(folder.join(file)).unwrap());
    }
    let again = build(&folder, NET, &["-o", "again.c"]).expect_success();
    assert!(again.stderr.is_empty(), "{}", again.stderr);
    let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    assert_eq!(text("again.c").replace("again", "net").replace("AGAIN", "NET"), text("net.c"));
    golden.finish();
}

#[test]
fn networks_for_small_machines_compute_the_same_by_every_compiler() {
    println!("{}", judge_models(&["built"], &[]));
}

#[test]
fn weights_may_be_in_a_file() {
    println!(
        "{}",
        judge_models(&["built"], &["--args=--weights", "--mode", "sanitised", "--name", "keyword_spotting"])
    );
}

#[test]
fn outputs_may_have_no_elements() {
    println!(
        "{}",
        judge_models(
            &["built"],
            &["--kind", "node", "--name", "test_tril_zero", "--mode", "sanitised", "--mode", "O0"]
        )
    );
}

#[test]
fn indices_of_large_memory_are_computed_in_64_bits() {
    let folder = folder("build-large");
    let text = "prim @main(%x: Tensor[(65536, 65536), int8]) -> (%y: Tensor[(2), int8]) {
  for %i in 0i32..2i32 {
    %y[%i] = %x[%i + 60000, %i] + %x[60000, 5];
  }
}
";
    build(&folder, text, &["-o", "net.c", "--passes", "PlanMemory,EmitC"]).expect_success();
    let source = fs::read_to_string(folder.join("net.c")).unwrap();
    let n_loads = source.matches(" = x[").count();
    assert_eq!((n_loads, source.matches(" = x[(int64_t)").count()), (2, 2), "{source}");
}

/// C takes numbers alone for an `int`, in which these overflow.
#[test]
fn numbers_alone_are_computed_in_64_bits() {
    let folder = folder("build-numbers");
    let text = "prim @main(%x: Tensor[(1), int64]) -> (%y: Tensor[(3), int64]) {
  %y[0] = 46340 + 2147483647;
  %y[1] = 65536 * 65536 - %x[0];
  %y[2] = 5 - 2147483647;
}
";
    build(&folder, text, &["-o", "net.c", "--passes", "PlanMemory,EmitC"]).expect_success();
    let source = fs::read_to_string(folder.join("net.c")).unwrap();
    for expected in ["(int64_t)46340 + 2147483647;", "(int64_t)65536 * 65536;", "(int64_t)5 - 2147483647;"] {
        assert!(source.contains(expected), "{expected}\n{source}");
    }
}

/// The bounds of the first division, which is computed under a condition, are not those of the second.
#[test]
fn indices_are_checked_where_bounds_of_other_blocks_would_say_they_fit() {
    let folder = folder("build-bounds");
    let text = "prim @main(%x: Tensor[(2), int64]) -> (%y: Tensor[(4), int64]) {
  %n = %x[0];
  %m = %x[1];
  when (%n >= 0) { %y[1] = floordiv(%n, 4); }
  %q = floordiv(%n, 4);
  when (%q < %m) {
    when (%m < 4) { %y[%m] = 5; }
  }
}
";
    build(&folder, text, &["-o", "net.c", "--passes", "PlanMemory,EmitC", "--set", "EmitC.bounds=all"])
        .expect_success();
    let source = fs::read_to_string(folder.join("net.c")).unwrap();
    assert_eq!(source.matches("return NET_OUT_OF_BOUNDS;").count(), 1, "{source}");
}

#[test]
fn every_index_may_be_checked() {
    let args = "--args=--set EmitC.bounds=all";
    println!("{}", judge_models(&["built"], &[args, "--mode", "O3", "--name", "keyword_spotting"]));
}

#[test]
fn the_cases_of_the_onnx_package_compute_the_same_or_are_declined() {
    let every = some_cases();
    let every = every.each_ref().map(String::as_str);
    // All of them, where there is time, also under the sanitisers.
    let sanitised = if std::env::var_os("RELAIS_EVERY").is_some() { &["--mode", "sanitised"][..] } else { &[] };
    let args = [&["--kind", "node", "--declined", "--mode", "O3"][..], sanitised, &every].concat();
    println!("{}", judge_models(&["built"], &args));
}

#[test]
#[cfg_attr(not(unix), ignore = "compilers have other arguments there")]
fn a_shared_library_and_its_source_come_together_or_not_at_all() {
    let folder = folder("build-shared");
    let library = format!("net{}", std::env::consts::DLL_SUFFIX);
    build(&folder, NET, &["-o", "net.c", "--shared"]).expect_success();
    assert_eq!(c_files(&folder), ["net.c".to_owned(), "net.h".to_owned(), library.clone()]);
    fs::remove_file(folder.join("net.h")).unwrap();
    fs::remove_file(folder.join(&library)).unwrap();
    // `CC` may have arguments, as for `make`.
    let mut relais = Command::new(&workspace().relais);
    relais
        .current_dir(&folder)
        .args(["build", "model.relay", "-o", "net.c", "--shared", "-q"])
        .env("CC", "cc -DNDEBUG");
    Run::of(&mut relais).expect_success();
    fs::remove_file(folder.join("net.h")).unwrap();
    fs::remove_file(folder.join(&library)).unwrap();
    fs::write(folder.join("net.c"), "mine").unwrap();
    let broken = ["/bin/false", "/usr/bin/false"].into_iter().find(|path| Path::new(path).exists()).unwrap();
    fs::copy(broken, folder.join("broken")).unwrap();
    for (compiler, why, failed) in
        [("no-such-compiler", "cannot be started", "net.c.failed"), ("./broken", "failed", "net.c.failed2")]
    {
        let mut relais = Command::new(&workspace().relais);
        relais.current_dir(&folder).args(["build", "model.relay", "-o", "net.c", "--shared"]).env("CC", compiler);
        let said = Run::of(&mut relais).expect_failure().stderr;
        assert!(said.contains(&format!("the C compiler `{compiler}` {why}")), "{said}");
        assert!(said.contains(&format!("nothing was replaced; the source is in `{failed}`")), "{said}");
        assert_eq!(fs::read_to_string(folder.join("net.c")).unwrap(), "mine");
        assert!(!folder.join("net.h").exists() && folder.join(failed).join("net.c").exists());
    }
}

/// Compiles the files of a build, and whatever belongs to them, without a warning.
fn compile(folder: &Path, files: &[&str], program: &str) {
    let mut compiler = Command::new("cc");
    let strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-fsanitize=address,undefined"];
    compiler.current_dir(folder).args(strict).args(files).args(["-lm", "-o", program]);
    Run::of(&mut compiler).expect_success();
}

#[test]
#[cfg_attr(not(unix), ignore = "compilers have other arguments there")]
fn variables_of_loops_may_be_unused() {
    let folder = folder("build-unused");
    let text = "prim @main(%x: Tensor[(2), int64]) -> (%y: Tensor[(2), int64]) {
  %n = %x[0];
  for %i in %n count 3 { %y[0] = %x[1]; }
  %last = for %j in %n count 2 with %before = %n { %x[1] };
  %first = for %k in 2..4 with %sum = 1 { %sum + %k };
  %y[1] = %last;
}
";
    build(&folder, text, &["-o", "net.c", "--main", "--passes", "PlanMemory,EmitC"]).expect_success();
    compile(&folder, &["net.c", "net_main.c"], "net");
}

#[test]
#[cfg_attr(not(unix), ignore = "compilers have other arguments there")]
fn the_programs_of_a_build_compare_and_measure() {
    for more in [&[][..], &["--weights"], &["-p", "groups.toml"]] {
        let folder = folder("build-programs");
        let groups =
            "steps = [{ include = \"builtin:build-c\" }]\n\n[extend]\nbefore-lowering = [\"relais.FuseOps\"]\n";
        fs::write(folder.join("groups.toml"), groups).unwrap();
        let programs = ["-o", "net.c", "--main", "--bench", "--test-vectors", "--static"];
        build(&folder, NET, &[&programs, more].concat()).expect_success();
        compile(&folder, &["net.c", "net_main.c"], "net");
        let vectors = ["net_in_0.npy", "net_in_1.npy", "net_out_0.npy", "net_out_1.npy"];
        let compare = || {
            let mut net = Command::new(folder.join("net"));
            Run::of(net.current_dir(&folder).arg("--compare").args(vectors))
        };
        let said = compare().expect_success().stdout;
        assert_eq!(said.matches(": the same\n").count(), 2, "{said}");
        // The largest number of the last output is another one.
        let mut output = fs::read(folder.join(vectors[3])).unwrap();
        let end = output.len() - 4;
        output[end..].copy_from_slice(&f32::NAN.to_le_bytes());
        fs::write(folder.join(vectors[3]), output).unwrap();
        let said = compare().expect_failure().stdout;
        assert!(said.contains("picked: the largest difference is inf, of values up to "), "{said}");
        assert!(said.contains(": NOT the same\n") && said.contains(": the same\n"), "{said}");
        compile(&folder, &["net_bench.c", "libnet.a"], "bench");
        let mut bench = Command::new(folder.join("bench"));
        let said = Run::of(bench.current_dir(&folder)).expect_success().stdout;
        assert!(said.starts_with("net: ") && said.contains(" us a run, the fastest of 31 batches of "), "{said}");
    }
    let folder = folder("build-archive");
    let mut relais = Command::new(&workspace().relais);
    fs::write(folder.join("model.relay"), NET).unwrap();
    relais.current_dir(&folder).args(["build", "model.relay", "-o", "net.c", "--static"]).env("AR", "false");
    let said = Run::of(&mut relais).expect_failure().stderr;
    assert!(said.contains("the archiver `false` failed") && said.contains("nothing was replaced"), "{said}");
    assert_eq!(c_files(&folder), ["net.c.failed"]);
}

/// The input is the index of an element that is not there, whatever the numbers are.
#[test]
fn test_vectors_that_cannot_be_computed_are_an_error() {
    let folder = folder("build-vectors");
    let model = r#"def @main(%x: Tensor[(4), float32]) #[opset = {"": 17}] {
  %at = const(int64, 7);
  %y = Gather(%x, %at);
  %y
}
"#;
    let run = ["-o", "net.c", "--test-vectors"];
    let said = build(&folder, model, &run).expect_failure().stderr;
    assert!(said.contains("the test vectors cannot be computed: ") && said.contains("nothing was written"), "{said}");
    assert!(c_files(&folder).is_empty(), "{:?}", c_files(&folder));
}

#[test]
fn arguments_that_make_no_sense_are_refused() {
    let folder = folder("build-arguments");
    let long = format!("{}.c", "a".repeat(61));
    for (args, expected) in [
        (&["-o", "-"][..], "output `-` is not the name of a source file"),
        (&["-o", "net"], "output `net` is not the name of a source file"),
        (&["-o", "9 lives.c"], "`9 lives` is not an identifier of C"),
        (&["-o", "math.c"], "`math.h` is a header of C"),
        (&["-o", "net.d"], "the pipeline does not write `net.d`: it gives net.c, net.h"),
        (&["-o", "net.c", "--target", "wat", "--static"], "`--static` compiles C, and the target is another one"),
        (&["-o", "net.c", "--target", "wat"], "there is no target `wat`\n  there are: `c`"),
        (&["-o", "a-b.c"], "`a-b` is not an identifier of C"),
        (&["-o", &long], "is too long a name\n  help: name the file by at most 60 letters"),
        (&["-o", "net.c", "--target", "wat", "--shared"], "`--shared` compiles C, and the target is another one"),
        (&["-o", "net.c", "-p", "default"], "the pipeline does not write `net.c`: it gives no file"),
    ] {
        let said = build(&folder, NET, args);
        assert_ne!(said.status, Some(0), "{args:?}");
        assert!(said.stderr.contains(expected), "{expected}\n{}", said.stderr);
        assert!(c_files(&folder).is_empty(), "{:?}", c_files(&folder));
    }
}

#[test]
fn files_that_no_build_wrote_are_spared() {
    let folder = folder("build-spared");
    let header = folder.join("net.h");
    fs::write(&header, "mine").unwrap();
    let said = build(&folder, NET, &["-o", "net.c"]).expect_failure().stderr;
    assert!(said.contains("`net.h` would be replaced, and does not say that a build wrote it"), "{said}");
    assert_eq!(c_files(&folder), ["net.h"]);
    assert_eq!(fs::read_to_string(&header).unwrap(), "mine");
    build(&folder, NET, &["-o", "net.c", "--overwrite"]).expect_success();
    // The next build replaces them, weights included.
    for _ in 0..2 {
        build(&folder, NET, &["-o", "net.c", "--weights", "--main"]).expect_success();
    }
    assert_eq!(c_files(&folder), ["net.bin", "net.c", "net.h", "net_main.c"]);
    // Other weights, libraries and arrays may be anything, although they are called like those of a build.
    for (file, option) in [("net.bin", "--weights"), ("libnet.a", "--static"), ("net_in_1.npy", "--test-vectors")] {
        fs::write(folder.join(file), "mine").unwrap();
        let said = build(&folder, NET, &["-o", "net.c", option]).expect_failure().stderr;
        assert!(said.contains(&format!("`{file}` would be replaced")), "{said}");
        assert_eq!(fs::read_to_string(folder.join(file)).unwrap(), "mine");
    }
}

#[test]
fn passes_of_a_build_are_watched() {
    let folder = folder("build-watched");
    let watching = ["-o", "net.c", "--stats", "--time-passes=list", "--print-after", "EmitC", "--trace", "t.json"];
    let said = build(&folder, NET, &watching).expect_success().stderr;
    for part in ["after `relais.EmitC`", "LowerOps"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(fs::read_to_string(folder.join("t.json")).unwrap().contains("EmitC"));
    let refused = build(&folder, NET, &["-o", "other.c", "--stop-after", "3"]);
    assert_eq!(refused.status, Some(2));
    assert!(refused.stderr.contains("`--stop-after` ends has no source code"), "{}", refused.stderr);
    assert!(!files(&folder).contains(&"other.c".to_owned()));
}

/// A pass that says by a code why it does not build a model is not at fault.
#[test]
fn a_model_that_is_not_built_leaves_nothing() {
    let folder = folder("build-declined");
    let text = NET.replace("(1, 2, 4, 4)", "(n, 2, 4, 4)");
    build(&folder, &text, &["-o", "net.c"]).expect_failure();
    assert_eq!(files(&folder), ["model.relay"]);
}

#[test]
fn memory_on_the_stack_is_limited() {
    let folder = folder("build-stack");
    let text = "prim @k(%x: Tensor[(1), float32]) -> (%y: Tensor[(1), float32]) {
  for %i in 0..2 {
    %a = alloc float32[30000];
    %a[%i] = %x[0];
    when (%x[0] < 1.0) {
      %b = alloc float32[40000];
      %b[%i] = %x[0];
      %y[0] = %a[%i] + %b[%i];
    }
  }
}

prim @main(%x: Tensor[(1), float32]) -> (%y: Tensor[(1), float32]) {
  @k(%x, %y);
}
";
    let passes = ["-o", "net.c", "--passes", "EmitC"];
    let said = build(&folder, text, &passes).expect_failure().stderr;
    assert!(said.contains("error[C006]: ") && said.contains("needs 280000 bytes on the stack"), "{said}");
    assert_eq!(files(&folder), ["model.relay"]);
    build(&folder, &text.replace("40000", "35000"), &passes).expect_success();
    build(&folder, text, &[&passes[..], &["--set", "EmitC.stack=300000", "--overwrite"]].concat()).expect_success();
}

#[test]
fn files_of_passes_are_named_where_nothing_writes_them() {
    let folder = folder("build-run");
    fs::write(folder.join("model.relay"), NET).unwrap();
    let mut relais = Command::new(&workspace().relais);
    relais.current_dir(&folder).args(["run", "model.relay", "-o", "out.relay", "-p", "build-c"]);
    let said = Run::of(&mut relais).expect_success();
    assert!(said.stderr.contains("the files model.c, model.h of passes are not written"), "{}", said.stderr);
    assert!(c_files(&folder).is_empty(), "{:?}", c_files(&folder));
}

/// A plan of the memory that does not hold, and the reason.
#[test]
fn plans_that_do_not_hold_are_refused() {
    let folder = folder("build-plans");
    for (arena, offsets, expected) in [
        (128, [0, 64], ""),
        (64, [0, 0], "memory overlaps other memory that is needed at the same time"),
        (64, [0, 64], "memory is outside the arena"),
        (0, [0, 64], "memory is outside the arena"),
        (256, [0, 68], "an offset is not a multiple of 64"),
    ] {
        let model = format!(
            "prim @main(%x: Tensor[(4), float32]) -> (%y: Tensor[(4), float32]) #[arena = {arena}] {{
  %a = alloc float32[4] #[offset = {}];
  %b = alloc float32[4] #[offset = {}];
  for %i in 0..4 {{ %a[%i] = %x[%i]; }}
  for %i in 0..4 {{ %b[%i] = %x[%i] + 1.0; }}
  for %i in 0..4 {{ %y[%i] = %a[%i] * %b[%i]; }}
}}
",
            offsets[0], offsets[1]
        );
        let said = build(&folder, &model, &["-o", "net.c", "--passes", "EmitC"]);
        if expected.is_empty() {
            said.expect_success();
            fs::remove_file(folder.join("net.c")).unwrap();
            fs::remove_file(folder.join("net.h")).unwrap();
        } else {
            let said = said.expect_failure().stderr;
            assert!(said.contains("error[K004]: ") && said.contains(expected), "{expected}\n{said}");
            assert!(c_files(&folder).is_empty(), "{:?}", c_files(&folder));
        }
    }
}

#[test]
#[cfg_attr(not(unix), ignore = "compilers have other arguments there")]
fn a_program_that_stops_says_why() {
    let folder = folder("build-stops");
    let model = r#"def @main(%x: Tensor[(4), int64], %at: Tensor[(2), int64]) #[opset = {"": 17}, output_names = ["a", "b"]] {
  %a = Gather(%x, %at);
  %two = const(int64, 2);
  %b = Div(%two, %x);
  (%a, %b)
}
"#;
    build(&folder, model, &["-o", "net.c", "--main"]).expect_success();
    let mut compiler = Command::new("cc");
    let sanitised = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    compiler.current_dir(&folder).arg("-std=c99").args(sanitised).args(["net.c", "net_main.c", "-o", "net", "-lm"]);
    Run::of(&mut compiler).expect_success();
    for (x, at, status) in [
        ([1i64, 2, 3, i64::MIN], [0i64, -4], 0),
        ([1, 2, 3, 4], [0, 4], 2),
        ([1, 2, 3, 4], [-5, 0], 2),
        ([1, 2, 3, 4], [i64::MIN, i64::MAX], 2),
        ([1, 0, 3, 4], [0, 3], 3),
    ] {
        let bytes = |numbers: &[i64]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
        fs::write(folder.join("x.npy"), npy("<i8", "(4,)", &bytes(&x))).unwrap();
        fs::write(folder.join("at.npy"), npy("<i8", "(2,)", &bytes(&at))).unwrap();
        let mut net = Command::new(folder.join("net"));
        let ran = Run::of(net.current_dir(&folder).args(["x.npy", "at.npy", "a.npy", "b.npy"]));
        if status == 0 {
            ran.expect_success();
        } else {
            let said = ran.expect_failure().stderr;
            assert_eq!(said, format!("the model stopped: {status}\n"), "{x:?} {at:?}");
        }
    }
    // A file of another shape, or none, is not read.
    fs::write(folder.join("x.npy"), npy("<i8", "(5,)", &[0; 40])).unwrap();
    for file in ["x.npy", "missing.npy"] {
        let mut net = Command::new(folder.join("net"));
        let ran = Run::of(net.current_dir(&folder).args([file, "at.npy", "a.npy", "b.npy"])).expect_failure();
        assert!(ran.stderr.starts_with(file), "{}", ran.stderr);
    }
}

#[test]
fn the_model_is_spared_where_a_build_would_write_a_file() {
    let folder = folder("build-model");
    build(&folder, NET, &["-o", "net.c"]).expect_success();
    let relais = |args: &[&str]| {
        let mut relais = Command::new(&workspace().relais);
        Run::of(relais.current_dir(&folder).args(args))
    };
    relais(&["run", "model.relay", "-o", "net.onnx", "-p", "O0", "-q"]).expect_success();
    fs::rename(folder.join("net.onnx"), folder.join("net.bin")).unwrap();
    let model = fs::read(folder.join("net.bin")).unwrap();
    for overwrite in [&[][..], &["--overwrite"]] {
        let said = relais(&[&["build", "net.bin", "-o", "net.c", "--weights"], overwrite].concat()).expect_failure();
        assert!(said.stderr.contains("a file of the build would replace the model `net.bin`"), "{}", said.stderr);
        assert_eq!(fs::read(folder.join("net.bin")).unwrap(), model);
    }
    relais(&["build", "net.bin", "-o", "other.c", "--weights"]).expect_success();
}

/// Operators that call no function of `math.h`, on every special number.
const EXACT: &str = r#"def @main(%x: Tensor[(1, 2, 4, 4), float32], %n: Tensor[(32), int32], %m: Tensor[(32), int8]) #[opset = {"": 17}, output_names = ["a", "b", "c", "d"]] {
  %w = const(float32, [[[[0.5, -1.5], [2.0, 0.1]], [[1.0, 3.0], [0.25, -0.75]]]]);
  %conv = Conv(%x, %w, pads = [1, 1, 0, 0]);
  %pool = MaxPool(%conv, kernel_shape = [2, 2]);
  %mean = AveragePool(%pool, kernel_shape = [3, 3], pads = [1, 1, 1, 1]);
  %shape = const(int64, [32]);
  %flat = Reshape(%x, %shape);
  %least = const(float32, 0.0);
  %most = const(float32, 6.0);
  %clip = Clip(%flat, %least, %most);
  %max = Max(%flat, %clip);
  %min = Min(%max, %least);
  %round = Round(%flat);
  %floor = Floor(%flat);
  %sum = Sub(%round, %floor);
  %half = Div(%sum, %most);
  %larger = Greater(%flat, %half);
  %picked = Where(%larger, %min, %half);
  %wide = Cast(%m, to = 6);
  %product = Mul(%n, %wide);
  %three = const(int32, 3);
  %rest = Mod(%product, %three);
  %quotient = Div(%product, %three);
  %ints = Add(%rest, %quotient);
  %small = Cast(%ints, to = 3);
  %back = Add(%small, %m);
  (%mean, %picked, %ints, %back)
}
"#;

/// An npy file of version 1.
fn npy(descr: &str, shape: &str, bytes: &[u8]) -> Vec<u8> {
    let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    let header = format!("{text:<117}\n");
    let mut out = b"\x93NUMPY\x01\x00".to_vec();
    out.extend((header.len() as u16).to_le_bytes());
    out.extend(header.as_bytes());
    out.extend(bytes);
    out
}

#[test]
#[cfg_attr(not(unix), ignore = "compilers have other arguments there")]
fn the_c_computes_what_the_interpreter_does_bit_for_bit() {
    let folder = folder("build-exact");
    build(&folder, EXACT, &["-o", "net.c", "--main"]).expect_success();
    let mut relais = Command::new(&workspace().relais);
    let lowered = ["run", "model.relay", "-o", "loops.relay", "-p", "build-c", "--disable", "EmitC", "-q"];
    Run::of(relais.current_dir(&folder).args(lowered)).expect_success();
    let module = text::parse_str(&fs::read_to_string(folder.join("loops.relay")).unwrap()).unwrap();

    let special = [-0.0f32, 0.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 2.5, -3.5, 1e-40, 3e38, 0.1, 6.0, -1e-3];
    let floats: Vec<f32> = (0..32).map(|at| special[at * 7 % special.len()] * (1.0 + (at / 12) as f32)).collect();
    let ints: Vec<i32> = (0..32i32).map(|at| (at - 16).wrapping_mul(0x1234_5678)).chain([i32::MIN]).skip(1).collect();
    let bytes: Vec<i8> = (0..32i32).map(|at| (at * 37 - 128) as i8).collect();
    let bytes_of = [
        floats.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>(),
        ints.iter().flat_map(|x| x.to_le_bytes()).collect(),
        bytes.iter().flat_map(|x| x.to_le_bytes()).collect(),
    ];
    let kinds = [(ElemType::FLOAT, &[1, 2, 4, 4][..]), (ElemType::INT32, &[32]), (ElemType::INT8, &[32])];
    let inputs: Vec<Tensor> = kinds
        .iter()
        .zip(&bytes_of)
        .map(|(&(elem, dims), bytes)| Tensor::dense(elem, dims, bytes.clone()).unwrap())
        .collect();
    let expected = prim::run(&module, "main", &inputs, &prim::RunOptions::default()).unwrap();

    let described = [("<f4", "(1, 2, 4, 4)"), ("<i4", "(32,)"), ("|i1", "(32,)")];
    for (at, ((descr, shape), bytes)) in described.iter().zip(&bytes_of).enumerate() {
        fs::write(folder.join(format!("in{at}.npy")), npy(descr, shape, bytes)).unwrap();
    }
    for level in ["-O0", "-O3"] {
        let mut compiler = Command::new("cc");
        compiler.current_dir(&folder).args([
            "-std=c99",
            "-ffp-contract=off",
            level,
            "net.c",
            "net_main.c",
            "-o",
            "net",
            "-lm",
        ]);
        Run::of(&mut compiler).expect_success();
        let files = ["in0", "in1", "in2", "out0", "out1", "out2", "out3"].map(|name| format!("{name}.npy"));
        Run::of(Command::new(folder.join("net")).current_dir(&folder).args(files)).expect_success();
        for (at, expected) in expected.iter().enumerate() {
            let file = fs::read(folder.join(format!("out{at}.npy"))).unwrap();
            let got = &file[file.len() - expected.byte_len() as usize..];
            let got = Tensor::dense(expected.elem(), expected.dims(), got.to_vec()).unwrap();
            // The sign and the payload of a NaN are the machine's.
            let shown = |tensor: &Tensor| match tensor.to_f64s() {
                Some(floats) => floats.iter().map(|x| format!("{x:?}")).collect::<Vec<_>>().join(" "),
                None => format!("{:?}", tensor.to_i64s()),
            };
            assert_eq!(shown(&got), shown(expected), "output {at} at {level}");
        }
    }
}

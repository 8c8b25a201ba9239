//! `relais build`: models become C that compiles without a warning and computes what runtimes do.

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

fn build(folder: &Path, text: &str, args: &[&str]) -> Run {
    fs::write(folder.join("model.relay"), text).unwrap();
    let mut relais = Command::new(&workspace().relais);
    relais.current_dir(folder).args(["build", "model.relay"]).args(args).env_remove("RELAIS_PLUGIN_PATH");
    Run::of(&mut relais)
}

fn c_files(folder: &Path) -> Vec<String> {
    files(folder).into_iter().filter(|name| !name.ends_with(".relay") && !name.contains(".repro")).collect()
}

#[test]
fn the_source_is_as_it_was() {
    let folder = folder("build-golden");
    let said = build(&folder, NET, &["-o", "net.c", "--main"]).expect_success();
    let mut golden = Golden::new("build");
    golden.check("said", &said.stdout);
    for file in ["net.c", "net.h", "net_main.c"] {
        golden.check(&file.replace('.', "_"), &fs::read_to_string(folder.join(file)).unwrap());
    }
    let again = build(&folder, NET, &["-o", "again.c"]).expect_success();
    assert!(again.stderr.is_empty(), "{}", again.stderr);
    let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    assert_eq!(text("again.c").replace("again", "net"), text("net.c"));
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
fn every_index_may_be_checked() {
    let args = "--args=--set EmitC.bounds=all";
    println!("{}", judge_models(&["built"], &[args, "--mode", "O3", "--name", "keyword_spotting"]));
}

#[test]
fn the_cases_of_the_onnx_package_compute_the_same_or_are_declined() {
    let every = some_cases();
    let every = every.each_ref().map(String::as_str);
    let args = [&["--kind", "node", "--declined", "--mode", "O3"][..], &every].concat();
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
    fs::write(folder.join("net.c"), "mine").unwrap();
    for (compiler, why) in [("no-such-compiler", "cannot be started"), ("false", "failed")] {
        let mut relais = Command::new(&workspace().relais);
        relais.current_dir(&folder).args(["build", "model.relay", "-o", "net.c", "--shared"]).env("CC", compiler);
        let said = Run::of(&mut relais).expect_failure().stderr;
        assert!(said.contains(&format!("the C compiler `{compiler}` {why}")), "{said}");
        assert!(said.contains("nothing was written"), "{said}");
        assert_eq!(c_files(&folder), ["net.c"]);
        assert_eq!(fs::read_to_string(folder.join("net.c")).unwrap(), "mine");
    }
}

#[test]
fn what_cannot_be_built_is_named_all_at_once_and_nothing_is_written() {
    let folder = folder("build-refused");
    let model = r#"def @main(%x: Tensor[(N, 4), float32], %y: Tensor[(4), float32]) #[opset = {"": 17}] {
  %a = Relu(%x);
  %b = Neg(%a);
  %c = acme::Unheard(%y);
  (%b, %c)
}
"#;
    let said = build(&folder, model, &["-o", "net.c"]).expect_failure().stderr;
    for expected in [
        "error[K001]: `Relu` has no loop program: the sizes of its argument 0 are not all known",
        "error[K001]: `Neg` has no loop program: the sizes of its argument 0 are not all known",
        "error[K001]: `Unheard` has no loop program: the operator has no kernels",
        "nothing was written",
    ] {
        assert!(said.contains(expected), "{expected}\n{said}");
    }
    assert!(c_files(&folder).is_empty(), "{:?}", c_files(&folder));
    let model = model.replace("  %c = acme::Unheard(%y);\n", "").replace("%c", "%y");
    let said = build(&folder, &model, &["-o", "net.c", "--input-shape", "x:3,4"]).expect_success();
    assert!(said.stdout.contains("net.c ("), "{}", said.stdout);
}

#[test]
fn conditionals_and_foreign_numbers_are_refused() {
    let folder = folder("build-foreign");
    let conditional = r#"def @main(%x: Tensor[(4), float32], %c: Tensor[(), bool]) #[opset = {"": 17}] {
  %y = if (%c) { %a = Relu(%x); %a } else { %b = Neg(%x); %b };
  %y
}
"#;
    let half = r#"def @main(%x: Tensor[(4), float16]) #[opset = {"": 17}] { %y = Relu(%x); %y }"#;
    let text = r#"def @main(%x: Tensor[(4), string]) #[opset = {"": 17}] { %x }"#;
    for (model, expected) in [
        (conditional, "error[K002]: `If` is not a loop program"),
        (half, "C has no numbers of the type float16"),
        (text, "error[K002]: the input `x` is not a tensor of numbers whose sizes are known"),
    ] {
        let said = build(&folder, model, &["-o", "net.c"]).expect_failure().stderr;
        assert!(said.contains(expected), "{expected}\n{said}");
        assert!(c_files(&folder).is_empty(), "{:?}", c_files(&folder));
    }
}

#[test]
fn arguments_that_make_no_sense_are_refused() {
    let folder = folder("build-arguments");
    for (args, expected) in [
        (&["-o", "-"][..], "output `-` is not the name of a source file"),
        (&["-o", "net"], "output `net` is not the name of a source file"),
        (&["-o", "9 lives.c"], "`9 lives` is not a name that C has"),
        (&["-o", "net.d"], "the pipeline does not write `net.d`: it gives net.c, net.h"),
        (&["-o", "net.c", "--target", "wat"], "build-wat"),
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
fn files_of_passes_are_named_where_nothing_writes_them() {
    let folder = folder("build-run");
    fs::write(folder.join("model.relay"), NET).unwrap();
    let mut relais = Command::new(&workspace().relais);
    relais.current_dir(&folder).args(["run", "model.relay", "-o", "out.relay", "-p", "build-c"]);
    let said = Run::of(&mut relais).expect_success();
    assert!(said.stderr.contains("the files model.c, model.h of passes are not written"), "{}", said.stderr);
    assert!(c_files(&folder).is_empty(), "{:?}", c_files(&folder));
}

//! The plugins in `docs/examples`, each built as its author would and tried with the real host.
//!
//! `demo/` of an example has a model and a pipeline; `demo/expected/` has every file that running it leaves, and
//! `said.txt`, if anything is said. `RELAIS_BLESS=1` writes them. `filetests/` has the cases of its passes.

use relais_tests::{
    cargo_built::{library, test_crate},
    cli::{Run, command, files, folder},
    venv::{every, judge, judge_models},
};
use std::{
    collections::BTreeSet,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Every folder in `docs/examples`: nothing lists them.
fn examples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/examples").canonicalize().unwrap();
    let names = files(&folder).into_iter().filter(|name| folder.join(name).is_dir());
    let found: Vec<PathBuf> = names.map(|name| folder.join(name)).collect();
    assert!(found.len() >= 3, "{found:?}");
    found
}

/// Those that are crates.
fn crates() -> impl Iterator<Item = PathBuf> {
    examples().into_iter().filter(|example| example.join("Cargo.toml").exists())
}

fn name_of(example: &Path) -> String {
    example.file_name().unwrap().to_string_lossy().into_owned()
}

/// Runs an example; returns the files in its folder and its output.
fn run(example: &Path) -> Vec<(String, String)> {
    let (demo, here) = (example.join("demo"), folder(&format!("example-{}", name_of(example))));
    let given = ["model.relay", "pipeline.toml"];
    for file in given {
        fs::copy(demo.join(file), here.join(file)).unwrap();
    }
    let mut relais = command();
    relais.current_dir(&here).args(["-q", "run", "model.relay", "-o", "out.relay", "-p", "pipeline.toml", "--plugin"]);
    let Run { stdout, stderr, .. } = Run::of(relais.arg(library(example)).arg("--remarks=missed")).expect_success();
    let left = files(&here).into_iter().filter(|file| !given.contains(&file.as_str()));
    let left = left.map(|file| (file.clone(), fs::read_to_string(here.join(file)).unwrap()));
    let said = ("said.txt".to_owned(), stdout + &stderr);
    left.chain(Some(said).filter(|(_, text)| !text.is_empty())).collect()
}

#[test]
fn each_runs_as_it_says() {
    let mut wrong = Vec::new();
    for example in examples() {
        let expected = example.join("demo/expected");
        let left = run(&example);
        if env::var_os("RELAIS_BLESS").is_some() {
            fs::create_dir_all(&expected).unwrap();
            left.iter().for_each(|(file, text)| fs::write(expected.join(file), text).unwrap());
        }
        let found: BTreeSet<String> = files(&expected).into_iter().collect();
        let names: BTreeSet<String> = left.iter().map(|(file, _)| file.clone()).collect();
        assert_eq!(found, names, "{}", example.display());
        for (file, text) in left {
            let golden = fs::read_to_string(expected.join(&file)).unwrap();
            if golden != text {
                let diff = similar::TextDiff::from_lines(&golden, &text);
                wrong.push(format!("{}/{file}\n{}", name_of(&example), diff.unified_diff()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}\nbless with RELAIS_BLESS=1 when this is right", wrong.join("\n"));
}

/// Nothing is shown that would be the same without the plugin.
#[test]
fn each_makes_a_difference() {
    for example in examples() {
        let demo = example.join("demo");
        let here = folder(&format!("without-{}", name_of(&example)));
        let [model, pipeline] = ["model.relay", "pipeline.toml"].map(|file| demo.join(file));
        let mut relais = command();
        relais.current_dir(&here).args(["-q", "run"]).arg(model).args(["-o", "out.relay", "-p"]).arg(pipeline);
        if Run::of(&mut relais).status == Some(0) {
            let without = fs::read_to_string(here.join("out.relay")).unwrap();
            let with = fs::read_to_string(demo.join("expected/out.relay")).unwrap();
            assert_ne!(with, without, "{}", example.display());
        }
    }
}

#[test]
fn nothing_is_wrong_with_them() {
    for example in examples() {
        let check = Run::of(command().args(["plugin", "check"]).arg(library(&example))).expect_success();
        assert!(check.stdout.contains("\nverdict: accepted\n"), "{}", check.stdout);
    }
}

/// Examples with filetests: those with passes.
fn with_filetests() -> impl Iterator<Item = PathBuf> {
    examples().into_iter().filter(|example| example.join("filetests").is_dir())
}

/// The cases of an example, by pass.
fn filetests(example: &Path) -> Vec<(String, Vec<PathBuf>)> {
    let folder = example.join("filetests");
    let cases = |pass: &String| files(&folder.join(pass)).iter().map(|case| folder.join(pass).join(case)).collect();
    files(&folder).into_iter().map(|pass| (pass.clone(), cases(&pass))).collect()
}

#[test]
fn each_passes_its_filetests() {
    assert!(with_filetests().count() >= 3);
    for example in with_filetests() {
        let mut relais = command();
        relais.arg("filetest").arg(example.join("filetests")).arg("--plugin").arg(library(&example));
        Run::of(&mut relais).expect_success();
        for (pass, cases) in filetests(&example) {
            let is_unchanged = |case: &&PathBuf| fs::read_to_string(case).unwrap().contains("//! unchanged = true");
            let n_unchanged = cases.iter().filter(is_unchanged).count();
            assert!((1..cases.len()).contains(&n_unchanged), "`{pass}` has a case that changes and one that does not");
        }
    }
}

/// The kit's random modules, and those on which the passes have something to do.
#[test]
fn each_keeps_the_rules_of_all_passes() {
    for example in with_filetests() {
        let mut relais = command();
        let n_modules = if every() == 1 { "32" } else { "4" };
        relais.args(["plugin", "test", "--modules", n_modules]).arg(library(&example));
        relais.arg("--module").arg(example.join("demo/model.relay"));
        for case in filetests(&example).into_iter().flat_map(|(_, cases)| cases) {
            relais.arg("--module").arg(case);
        }
        let report = Run::of(&mut relais).expect_success().stdout;
        assert!(!report.contains(" 0 changed"), "{report}");
    }
}

/// In onnxruntime, and within the tolerance that `docs/numbers.md` states. It has no loop programs; the kit's interpreter
/// compares these.
#[test]
fn each_leaves_what_its_model_computes() {
    let is_graph =
        |example: &PathBuf| !fs::read_to_string(example.join("demo/model.relay")).unwrap().contains("prim @");
    for example in with_filetests().filter(is_graph) {
        let (demo, here) = (example.join("demo"), folder(&format!("judged-{}", name_of(&example))));
        let convert = |output: &str| {
            let mut relais = command();
            relais.args(["-q", "run"]).arg(demo.join("model.relay")).arg("-o").arg(here.join(output));
            relais
        };
        Run::of(convert("model.onnx").args(["--passes", "InferType"])).expect_success();
        let mut with_plugin = convert("after.onnx");
        with_plugin.arg("-p").arg(demo.join("pipeline.toml")).arg("--plugin").arg(library(&example));
        Run::of(&mut with_plugin).expect_success();
        judge(["same".as_ref(), here.as_os_str(), here.join("after.onnx").as_os_str()]);
    }
}

/// Builds a model of an example's folder `demo` with the plugins of some examples, in a folder of its own.
fn build(example: &str, model: &str, args: &[&str], with: &[&str]) -> (PathBuf, Run) {
    let find = |name: &str| examples().into_iter().find(|example| name_of(example) == name).unwrap();
    let here = folder(&format!("built-{example}-{}", args[1].replace('.', "-")));
    let mut relais = command();
    relais.current_dir(&here).arg("build").arg(find(example).join("demo").join(model)).args(args);
    for plugin in with {
        relais.arg("--plugin").arg(library(&find(plugin)));
    }
    (here, Run::of(&mut relais).expect_success())
}

/// Compiles the program of a build without a warning, and compares what it computes with its test vectors.
fn compared(here: &Path, name: &str, vectors: &[&str]) -> Run {
    let (source, main) = (format!("{name}.c"), format!("{name}_main.c"));
    let strict = ["-std=c99", "-O2", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror"];
    let mut cc = Command::new("cc");
    Run::of(cc.current_dir(here).args(strict).args([&source, &main, "-lm", "-o", name])).expect_success();
    Run::of(Command::new(here.join(name)).current_dir(here).arg("--compare").args(vectors))
}

/// A model with an author's operators becomes C that computes what their evaluators and kernels do.
#[test]
#[cfg_attr(not(unix), ignore = "compilers have other arguments there")]
fn kernels_of_authors_become_c() {
    let args = ["-o", "camera.c", "--main", "--test-vectors"];
    let (here, _) = build("vision-operators", "camera.relay", &args, &["vision-operators"]);
    let source = fs::read_to_string(here.join("camera.c")).unwrap();
    assert!(["camera_Luma", "_LetterBox("].iter().all(|kernel| source.contains(kernel)), "{source}");
    let vectors = ["in_0", "in_1", "out_0", "out_1", "out_2"].map(|kind| format!("camera_{kind}.npy"));
    let mut vectors = vectors.each_ref().map(String::as_str);
    compared(&here, "camera", &vectors).expect_success();
    // It finds another number.
    let mut other = fs::read(here.join("camera_out_1.npy")).unwrap();
    *other.last_mut().unwrap() ^= 1;
    fs::write(here.join("other.npy"), other).unwrap();
    vectors[3] = "other.npy";
    compared(&here, "camera", &vectors).expect_failure();
}

/// A pass over loop programs joins a build without being named, and the C is its.
#[test]
#[cfg_attr(not(unix), ignore = "compilers have other arguments there")]
fn passes_of_authors_join_a_build() {
    let args = ["-o", "pooling.c", "--main", "--test-vectors"];
    let (here, said) = build("exact-division", "pooling.relay", &args, &["exact-division"]);
    let joined = "`exact-division.DivToMul` of plugin `exact-division 0.1.0` at `on-loops`";
    assert!(said.stderr.contains(joined), "{}", said.stderr);
    let source = fs::read_to_string(here.join("pooling.c")).unwrap();
    assert!(source.contains(" * 0.25f") && !source.contains(" / 4.0f"), "{source}");
    compared(&here, "pooling", &["pooling_in_0.npy", "pooling_out_0.npy"]).expect_success();
    let (here, _) = build("exact-division", "pooling.relay", &["-o", "plain.c"], &[]);
    let source = fs::read_to_string(here.join("plain.c")).unwrap();
    assert!(!source.contains(" * 0.25f") && source.contains(" / 4.0f"), "{source}");
}

/// An emitter of another language, with the operators and the passes of others.
#[test]
fn emitters_of_authors_write_their_files() {
    let args = ["-o", "camera.dot", "--target", "dot"];
    let (here, _) =
        build("vision-operators", "camera.relay", &args, &["vision-operators", "graphviz", "exact-division"]);
    assert_eq!(files(&here), ["camera.dot"]);
    let dot = fs::read_to_string(here.join("camera.dot")).unwrap();
    for part in ["digraph model {", "@Luma", "LetterBox\\n", "%image\\n", "%weights\\n", "fillcolor = palegreen"] {
        assert!(dot.contains(part), "{part}: {dot}");
    }
    // Each line is a node, an edge, or an end: quotes and brackets match.
    let (mut nodes, mut edges) = (BTreeSet::new(), Vec::new());
    for line in dot.lines().filter(|line| line.trim_start().starts_with('n') && !line.contains("node [")) {
        let line = line.trim().strip_suffix(';').unwrap_or_else(|| panic!("{line}"));
        match line.split_once(" -> ") {
            Some((from, to)) => edges.push((from, to)),
            None => {
                let (node, rest) = line.split_once(" [").unwrap_or_else(|| panic!("{line}"));
                assert!(rest.ends_with(']') && rest.matches('"').count() == 2, "{line}");
                nodes.insert(node);
            }
        }
    }
    assert!(edges.len() > 6 && edges.iter().all(|(from, to)| nodes.contains(from) && nodes.contains(to)), "{dot}");
}

/// The layers of these models repeat.
#[test]
fn outlined_models_compute_the_same() {
    let outline = examples().into_iter().find(|example| name_of(example) == "outline").unwrap();
    let args = format!(
        "--args=--passes FoldConstant,outline.Outline,DeadCodeElimination --plugin '{}'",
        library(&outline).display()
    );
    println!("{}", judge_models(&["sound"], &["--kind", "light", "--name", "resnet50", "--name", "squeezenet", &args]));
}

/// The lines of a source that are neither blank, comments nor tests.
fn lines_of_code(source: &str, comments: &[&str]) -> usize {
    let lines = source.lines().map(str::trim).take_while(|line| *line != "#[cfg(test)]");
    lines.filter(|line| !line.is_empty() && !comments.iter().any(|comment| line.starts_with(comment))).count()
}

#[test]
fn each_is_as_long_as_the_list_says() {
    let list = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/examples/README.md")).unwrap();
    for example in examples() {
        let (name, sources) = (name_of(&example), example.join("src"));
        let lines = files(&sources).into_iter().map(|file| {
            let comments = match file.rsplit('.').next() {
                Some("toml") => &["#"][..],
                Some("c") => &["/*", "* "],
                _ => &["//"],
            };
            lines_of_code(&fs::read_to_string(sources.join(file)).unwrap(), comments)
        });
        let entry = list.lines().find(|line| line.starts_with(&format!("| [{name}]({name}) | ")));
        let entry = entry.unwrap_or_else(|| panic!("{name} is not in the list"));
        let lines: usize = lines.sum();
        assert!(entry.ends_with(&format!(" | {lines} |")), "{name} has {lines} lines: {entry}");
    }
}

/// Some of them do, all of them where all cases are requested.
#[test]
fn each_passes_its_own_tests() {
    let step = if every() == 1 { 1 } else { 6 };
    for example in crates().step_by(step) {
        let said = test_crate(&example);
        let n_passed = said.split(" passed").next().and_then(|said| said.rsplit(' ').next()?.parse::<u32>().ok());
        assert!(n_passed.is_some_and(|n| n > 0), "{}: {said}", example.display());
    }
}

#[test]
fn each_is_what_an_author_outside_has() {
    for example in crates() {
        let manifest: toml::Table = fs::read_to_string(example.join("Cargo.toml")).unwrap().parse().unwrap();
        assert!(manifest.contains_key("workspace"), "{} stands alone", example.display());
        let needs: Vec<&String> = manifest["dependencies"].as_table().unwrap().keys().collect();
        assert_eq!(needs, ["relais-plugin-api"], "{}", example.display());
        let readme = fs::read_to_string(example.join("README.md")).unwrap();
        assert!(readme.starts_with(&format!("# {}\n", name_of(&example))), "{readme}");
        let sources = example.join("src");
        for file in files(&sources).into_iter().filter(|file| file.ends_with(".rs")) {
            let source = fs::read_to_string(sources.join(&file)).unwrap();
            assert!(source.contains("use relais_plugin_api::") && source.contains("prelude::*"), "{file}");
            for word in ["unsafe", "extern", "abi_stable", "boundary", "__private"] {
                assert!(!source.contains(word), "`{word}` stands in {file}");
            }
        }
    }
}

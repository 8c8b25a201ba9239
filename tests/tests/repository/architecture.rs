//! The claims of `ARCHITECTURE.md` hold.

use relais_tests::{cargo_built::workspace, filetest::Libraries};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The most lines of a file that one can still keep in mind.
const MAX_LINES: usize = 700;

/// Files that may be longer, and why.
const LONG: &[(&str, &str)] =
    &[("plugins/operators/src/schema/onnx.rs", "made from the onnx package, a line for each version of an operator")];

/// Where unsafe code stands.
const UNSAFE: &[&str] = &[
    "plugin-api/boundary/src/",
    "plugin-api/ir/src/bytes.rs",
    "plugin-api/ir/src/cast.rs",
    "plugin-api/ops/src/abi",
    "plugin-api/ops/src/needs.rs",
    "plugin-api/ops/src/parts.rs",
    "host/src/plugin/",
    "host/src/loaded/services.rs",
    "host/files/src/leave.rs",
    "host/files/src/mapped.rs",
];

/// The sources of the host: its library, what it stands on, what front ends share, and the command line.
pub(crate) const HOST: [&str; 5] = ["host/src", "host/files/src", "host/onnx/src", "host/session/src", "host/cli/src"];

/// Operators that the host names, and why. It names no other one, and no pass.
const NAMED: &[(&str, &str)] = &[
    ("Constant", "a form in which ONNX writes constants"),
    ("ConstantOfShape", "a form in which ONNX writes constants that are one value over"),
    ("Identity", "ONNX has no other way to give one value two names"),
    ("If", "a node kind of the IR"),
];

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The Rust files below a folder, by their path from the root, with `/` between the parts.
pub(crate) fn sources(folder: &str) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(root()).unwrap().to_str().unwrap().replace('\\', "/");
                files.insert(name, fs::read_to_string(&path).unwrap());
            }
        }
    }
    assert!(!files.is_empty(), "`{folder}` has sources");
    files
}

/// A source without its comments and without the tests at its end.
pub(crate) fn code(source: &str) -> String {
    let end = source.find("#[cfg(test)]\nmod tests {").unwrap_or(source.len());
    let lines = source[..end].lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn the_page_names_what_is_there() {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    assert!(page.lines().count() <= 250);
    let is_path = |quoted: &&str| {
        quoted.contains('/') && quoted.chars().all(|c| c.is_ascii_alphanumeric() || "/_-.*".contains(c))
    };
    let mut folder = String::new();
    let mut missing = Vec::new();
    for (at, quoted) in page.split('`').enumerate() {
        if at % 2 == 0 || !is_path(&quoted) {
            continue;
        }
        let path = quoted.trim_end_matches('*');
        // `src/…` means the folder that was named last.
        if !path.starts_with("src/") && !path.starts_with("macros/") {
            folder = path.split('/').next().unwrap().to_owned();
        }
        if !root().join(path).exists() && !root().join(&folder).join(path).exists() {
            missing.push(quoted.to_owned());
        }
    }
    assert_eq!(missing, Vec::<String>::new());
}

/// The packages of this workspace that a package is built with, itself included.
fn own_packages(package: &str) -> BTreeSet<String> {
    own_packages_with(package, &[])
}

fn own_packages_with(package: &str, features: &[&str]) -> BTreeSet<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut cargo = Command::new(cargo);
    cargo.current_dir(root()).args(["tree", "--offline", "--edges", "normal,build", "--prefix", "none", "-p", package]);
    cargo.args(features);
    let output = cargo.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let tree = String::from_utf8(output.stdout).unwrap();
    let names = tree.lines().filter_map(|line| line.split(' ').next());
    names.filter(|name| name.starts_with("relais")).map(str::to_owned).collect()
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn dependencies_point_one_way() {
    const API: &str = "relais-plugin-api";
    const MACROS: &str = "relais-plugin-api-macros";
    const WORDS: &str = "relais-words";
    const PATTERNS: &str = "relais-patterns";
    const IR: &str = "relais-ir";
    const OPS: &str = "relais-ops";
    const BOUNDARY: &str = "relais-boundary";
    const LOOPS: &str = "relais-loop-analysis";
    // Each crate below the interface of plugins names only those below it.
    assert_eq!(own_packages(WORDS), set(&[WORDS]));
    let patterns = set(&[WORDS, PATTERNS]);
    assert_eq!(own_packages(PATTERNS), patterns);
    let ir = set(&[WORDS, IR]);
    assert_eq!(own_packages(IR), ir);
    assert_eq!(own_packages(LOOPS), &ir | &set(&[LOOPS]));
    let ops = &(&ir | &patterns) | &set(&[OPS]);
    assert_eq!(own_packages(OPS), ops);
    let boundary = &ops | &set(&[BOUNDARY]);
    assert_eq!(own_packages(BOUNDARY), boundary);
    // Authors of passes on graphs compile no analysis of loop programs.
    let api = &boundary | &set(&[API, MACROS]);
    assert_eq!(own_packages(API), api);
    assert_eq!(own_packages_with(API, &["--features", "loop-analysis"]), &api | &set(&[LOOPS]));
    // The library depends on no plugin. The command line is linked with those that are shipped.
    let files = &api | &set(&["relais-files"]);
    assert_eq!(own_packages("relais-files"), files);
    let onnx = &files | &set(&["relais-onnx"]);
    assert_eq!(own_packages("relais-onnx"), onnx);
    let library = &onnx | &set(&["relais", "relais-pipelines"]);
    assert_eq!(own_packages("relais"), library);
    // The tests of a plugin are built with the kit, the plugin is not.
    const KIT: &str = "relais-conformance";
    assert_eq!(own_packages(KIT), &api | &set(&[KIT]));
    let session = &library | &set(&["relais-session", KIT]);
    assert_eq!(own_packages("relais-session"), session);
    let mut shipped = &session | &set(&["relais-opt"]);
    assert_eq!(own_packages_with("relais-opt", &["--no-default-features"]), shipped);
    // It has no dependencies, and knows nothing of plugins.
    const MATH: &str = "relais-operator-math";
    assert_eq!(own_packages(MATH), set(&[MATH]));
    shipped.insert(MATH.to_owned());
    let mut n_plugins = 0;
    for entry in fs::read_dir(root().join("plugins")).unwrap() {
        let manifest = fs::read_to_string(entry.unwrap().path().join("Cargo.toml")).unwrap();
        let manifest: toml::Table = manifest.parse().unwrap();
        let name = manifest["package"]["name"].as_str().unwrap();
        let features = manifest["dependencies"][API].get("features");
        let wing = features.map_or_else(BTreeSet::new, |_| set(&[LOOPS]));
        let mut packages = own_packages(name);
        packages.remove(MATH);
        assert_eq!(packages, &(&api | &wing) | &set(&[name]));
        shipped.extend(wing);
        shipped.insert(name.to_owned());
        n_plugins += 1;
    }
    assert_eq!(own_packages("relais-opt"), shipped);
    assert!(n_plugins >= 3);
}

/// Authors of passes on loop programs have more names, and nothing else that crosses the boundary: the layouts of which
/// the fingerprint is made, and the records, are those of crates below, which do not know the feature.
#[test]
fn a_feature_of_the_interface_adds_names_alone() {
    let knows = |file: &(String, String)| file.1.contains("feature = \"loop-analysis\"");
    let files: Vec<String> = sources("plugin-api").into_iter().filter(knows).map(|(file, _)| file).collect();
    assert_eq!(files, ["plugin-api/src/prim.rs"]);
    let exports = &sources("plugin-api")["plugin-api/src/prim.rs"];
    let (_, behind) = exports.rsplit_once("#[cfg(feature = \"loop-analysis\")]").unwrap();
    let behind = behind.replace("#[doc(inline)]", "");
    assert!(behind.trim_start().starts_with("pub use relais_loop_analysis"), "{behind}");
}

/// The front ends: each makes a request, and words or objects of what came of it.
const FRONT_ENDS: [&str; 4] = ["host/cli/src", "python/src", "tests/embedder", "docs/examples"];

/// Names by which a program knows how a run goes, and what it uses instead.
const STEPS_OF_A_RUN: &[(&str, &str)] = &[
    ("PipelineSpec", "say which pipeline is meant in a `PipelineRequest`; `Session::resolve` resolves it"),
    ("manager::run", "let `Session::run` deal with a `Request`"),
    ("set_input_shapes", "say which shapes are wanted in a `Part`"),
    ("forget_outdated_sizes", "say which part is wanted in a `Part`"),
    ("Lock::", "say which lock holds in a `Request`; `Session::lock` makes one"),
];

/// Steps of a run that front ends do not take, each with a better way.
fn steps_known(files: &BTreeMap<String, String>) -> Vec<String> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut found = Vec::new();
    for (file, source) in files {
        // `use relais::manager::{self, run}` names it, too.
        let code =
            code(source).replace("manager::{run,", "manager::run").replace("manager::{self, run", "manager::run");
        for (name, instead) in STEPS_OF_A_RUN {
            let is_whole = |at: usize| name.ends_with(':') || !code[at + name.len()..].starts_with(is_name);
            let starts = |at: usize| !code[..at].ends_with(is_name);
            if code.match_indices(name).any(|(at, _)| starts(at) && is_whole(at)) {
                found.push(format!("{file} knows `{name}`: {instead}"));
            }
        }
    }
    found
}

#[test]
fn front_ends_do_not_know_how_a_run_goes() {
    for folder in FRONT_ENDS {
        assert_eq!(steps_known(&sources(folder)), Vec::<String>::new(), "{folder}");
    }
    let of = |line: &str| steps_known(&BTreeMap::from([("python/src/optimize.rs".to_owned(), format!("{line}\n"))]));
    for line in [
        "let pipeline = PipelineSpec::read(path, &Disk)?.resolve(&registry)?;",
        "manager::run(&pipeline, &module, &registry, &options)",
        "use relais::manager::{self, run};",
        "use relais_session::model::set_input_shapes;",
        "let lock = Lock::of(&spec, &registry, &[])?;",
    ] {
        let found = of(line);
        assert!(found.len() == 1 && found[0].starts_with("python/src/optimize.rs knows `"), "{line}: {found:?}");
    }
    for line in ["// manager::run", "use relais::manager::{Progress, RunOptions};", "mutex.lock()", "manager::runs()"] {
        assert!(of(line).is_empty(), "{line}");
    }
}

#[test]
fn the_host_names_no_pass_and_no_operator() {
    let names = Libraries::open(&workspace().plugins).names();
    assert!(names.len() > 150, "{names:?}");
    let mut found = BTreeMap::new();
    for (file, source) in HOST.into_iter().flat_map(sources) {
        let is_test = file.ends_with("/tests.rs") || file.ends_with("/fake.rs");
        let code = if is_test { String::new() } else { code(&source) };
        // Names are text: between quotation marks, or the last part of a dotted name there.
        for (at, text) in code.split('"').enumerate() {
            let name = text.rsplit('.').next().unwrap_or(text);
            if at % 2 == 1 && names.contains(name) {
                found.entry(name.to_owned()).or_insert_with(Vec::new).push(file.clone());
            }
        }
    }
    let named: BTreeSet<&str> = NAMED.iter().map(|(name, _)| *name).collect();
    let others: BTreeMap<_, _> = found.iter().filter(|(name, _)| !named.contains(name.as_str())).collect();
    assert!(others.is_empty(), "{others:#?}");
    let unused: Vec<&&str> = named.iter().filter(|name| !found.contains_key(**name)).collect();
    assert!(unused.is_empty(), "no longer named: {unused:?}");
}

#[test]
fn unsafe_code_stands_where_it_may() {
    for folder in HOST.into_iter().chain(["plugin-api", "plugins"]) {
        for (file, source) in sources(folder) {
            let code = code(&source);
            let is_unsafe = ["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern", "unsafe trait"]
                .iter()
                .any(|start| code.contains(start));
            let may = UNSAFE.iter().any(|place| file.starts_with(place));
            // Macros write the code that registers a plugin into its crate.
            let is_quoted = file.starts_with("plugin-api/macros/");
            assert!(!is_unsafe || may || is_quoted, "unsafe code in {file}");
        }
    }
}

/// Files are written by one routine; exceptions, and why.
const WRITERS: &[(&str, &str)] = &[
    ("host/files/src/", "it is the routine"),
    ("host/src/instruments/memory.rs", "a switch of the kernel is no file"),
    ("host/session/src/many/", "a journal grows line by line, and files that a run has written are moved"),
];

#[test]
fn files_are_written_by_one_routine() {
    let ways = ["fs::write", "File::create", "OpenOptions", "fs::rename", "fs::copy", "serialize_to_file"];
    let mut found = BTreeSet::new();
    for (file, source) in HOST.into_iter().flat_map(sources) {
        let is_test = file.ends_with("/tests.rs");
        let code = code(&source);
        for way in ways.iter().filter(|way| !is_test && code.contains(**way)) {
            found.insert((file.clone(), *way));
        }
    }
    let is_known = |file: &str| WRITERS.iter().any(|(writer, _)| file.starts_with(writer));
    found.retain(|(file, _)| !is_known(file));
    assert!(found.is_empty(), "{found:?}");
}

/// Programs are started by one routine; exceptions, and why.
const STARTERS: &[(&str, &str)] = &[
    ("plugin-api/conformance/src/program.rs", "it is the routine"),
    ("plugin-api/boundary/build.rs", "cargo names the compiler whose version is noted"),
];

/// Of the files, those that start programs by themselves.
fn starters(files: &BTreeMap<String, String>) -> Vec<&str> {
    let ways = ["Command::new(", "use std::process::Command", "fork(", "posix_spawn", "execv"];
    let starts = |(_, source): &(&String, &String)| ways.iter().any(|way| code(source).contains(way));
    let is_test = |file: &str| file.contains("/tests/") || file.ends_with("/tests.rs");
    let found = files.iter().filter(starts).map(|(file, _)| file.as_str());
    found.filter(|file| !is_test(file) && STARTERS.iter().all(|(starter, _)| starter != file)).collect()
}

#[test]
fn programs_are_started_by_one_routine() {
    let files =
        HOST.into_iter().chain(["plugin-api", "plugins", "python/src", "pipelines"]).flat_map(sources).collect();
    assert_eq!(starters(&files), Vec::<&str>::new());
    for (starter, why) in STARTERS {
        assert!(code(&files[*starter]).contains("Command::new("), "`{starter}` starts nothing; {why}");
    }
    for line in ["let output = Command::new(\"cc\").output();", "use std::process::Command as Cc;"] {
        let file = "host/cli/src/build.rs".to_owned();
        assert_eq!(starters(&BTreeMap::from([(file, format!("{line}\n"))])), ["host/cli/src/build.rs"], "{line}");
    }
    assert!(starters(&BTreeMap::from([("a.rs".to_owned(), "// Command::new(program)\n".to_owned())])).is_empty());
    let mut n_modules = 0;
    for entry in fs::read_dir(root().join("python/relais_onnx")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "py") {
            n_modules += 1;
            let source = fs::read_to_string(&path).unwrap();
            let ways = ["subprocess", "os.system", "os.exec", "os.spawn", "multiprocessing"];
            assert!(!ways.iter().any(|way| source.contains(way)), "`{}` starts programs", path.display());
        }
    }
    assert!(n_modules > 5, "{n_modules}");
}

/// Whether files are synced first shows only when the power fails, so the order of the calls is checked.
#[test]
fn files_are_synced_before_they_appear() {
    const DRAFT: &str = "host/files/src/draft.rs";
    let files = sources("host/files/src");
    let draft = code(&files[DRAFT]);
    let begin = draft.find("pub fn commit(self) -> Result<(), FileError> {").unwrap();
    let commit = draft[begin..].split("\n    }\n").next().unwrap();
    let place = |call: &str| commit.find(call).unwrap_or_else(|| panic!("`FileSet::commit` lacks `{call}`:\n{commit}"));
    let synced = place(".sync_all()");
    for call in [".link()", "rename("] {
        assert!(synced < place(call), "`{call}` comes before the files are synced:\n{commit}");
        assert!(place(call) < place("sync_folder"), "the names are not synced after `{call}`:\n{commit}");
    }
    // No other file of the routine gives files their names.
    for (file, source) in files.iter().filter(|(file, _)| *file != DRAFT && !file.ends_with("/tests.rs")) {
        let code = code(source);
        assert!(!["rename(", "hard_link("].iter().any(|call| code.contains(call)), "{file} renames files");
    }
}

#[test]
fn files_can_be_kept_in_mind() {
    for folder in HOST.into_iter().chain(["plugin-api", "plugins"]) {
        for (file, source) in sources(folder) {
            let is_long = source.lines().count() > MAX_LINES;
            let may = LONG.iter().any(|(long, _)| *long == file);
            assert_eq!(is_long, may, "{file} has {} lines", source.lines().count());
        }
    }
}

/// A file without a `mod` line is never compiled, and one beside the program is a separate program.
#[test]
fn every_file_of_tests_is_in_a_program() {
    /// Programs of their own, and why.
    const APART: &[(&str, &str)] = &[
        ("tests/tests/filetests.rs", "each file is a test"),
        ("tests/tests/repository", "it holds the texts of the repository to what they should be, and runs no model"),
        ("tests/tests/linked", "plugins are linked into it that other tests must not see"),
    ];
    let is_apart = |path: &str| APART.iter().any(|(apart, _)| path.starts_with(apart));
    let mut n_programs = 0;
    for crate_folder in [
        "host/cli",
        "host/onnx",
        "plugin-api",
        "plugins/evaluator",
        "plugins/graph",
        "plugins/operators",
        "tests",
        "tests/xtask",
    ] {
        let folder = format!("{crate_folder}/tests");
        if !root().join(&folder).exists() {
            continue;
        }
        for (program, main) in sources(&folder).iter().filter(|(file, _)| file.ends_with("/main.rs")) {
            n_programs += 1;
            let folder = program.trim_end_matches("main.rs");
            for (file, _) in sources(folder) {
                let name = file[folder.len()..].split('/').next().unwrap_or_default().trim_end_matches(".rs");
                let is_listed = main.lines().any(|line| line == format!("mod {name};"));
                assert!(name == "main" || is_listed, "`{program}` lacks `mod {name};`");
            }
        }
        let entries = fs::read_dir(root().join(&folder)).unwrap();
        for path in entries.map(|entry| entry.unwrap().path()) {
            let name = path.file_name().unwrap().to_str().unwrap();
            let own = format!("{folder}/{name}");
            let is_program = path.extension().is_some_and(|e| e == "rs") || path.join("main.rs").exists();
            assert!(!is_program || name == "all" || is_apart(&own), "`{own}` belongs into `{folder}/all`");
        }
    }
    assert!(n_programs >= 5);
}

#[test]
fn the_names_of_the_glossary_are_in_the_code() {
    let map = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let rows: Vec<&str> = map.split("## Glossary").nth(1).unwrap().split("\n## ").next().unwrap().lines().collect();
    let code: String = ["plugin-api", "host/src", "host/session/src"]
        .into_iter()
        .flat_map(sources)
        .map(|(_, source)| source)
        .collect();
    let words: BTreeSet<&str> = code.split(|c: char| !(c.is_alphanumeric() || c == '_')).collect();
    let mut n_names = 0;
    for row in rows.iter().filter(|row| row.starts_with("| ") && !row.starts_with("| word")) {
        let names = row.trim_end_matches(" |").rsplit("| ").next().unwrap();
        for name in names.split('`').skip(1).step_by(2).filter(|name| *name != "relais") {
            let name = name.trim_end_matches('!');
            assert!(words.contains(name), "`{name}` of the glossary is not in the code");
            n_names += 1;
        }
    }
    assert!(n_names > 25, "{n_names} names");
}

#[test]
fn every_patch_of_the_sources_applies() {
    let mut n_patches = 0;
    for folder in ["tests/mutants", "tests/mutants/writer", "tests/benches"] {
        for entry in fs::read_dir(root().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "patch") {
                continue;
            }
            n_patches += 1;
            let output =
                Command::new("git").current_dir(root()).args(["apply", "--check"]).arg(&path).output().unwrap();
            assert!(output.status.success(), "{}: {}", path.display(), String::from_utf8_lossy(&output.stderr));
        }
    }
    assert!(n_patches > 90, "{n_patches}");
}

//! A plugin from outside: built by cargo as its author does, dropped into a folder, and never seen before.

use relais_tests::{
    cargo_built::{plugin, plugin_source},
    cli::{Run, command, files, folder, relais},
};
use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

const PASS: &str = "acme.OneActivation";
const MODEL: &str = "def @main(%x: Tensor[(2), float32]) -> (%y) #[opset = {\"\": 17}] {\n  \
                     %a = Relu(%x);\n  %b = Relu(%a);\n  %y = Relu(%b);\n  %y\n}\n";
const PIPELINE: &str = "steps = [{ pass = \"acme.OneActivation\", options = { activation = \"Relu\" } }]\n";

/// A folder with a model, a pipeline and a folder of plugins.
struct Setup {
    plugins: PathBuf,
    library: PathBuf,
    model: PathBuf,
    pipeline: PathBuf,
    out: PathBuf,
}

impl Setup {
    fn new(name: &str, crate_name: &str) -> Self {
        let folder = folder(name);
        let plugins = folder.join("plugins");
        fs::create_dir(&plugins).unwrap();
        let built = plugin(crate_name);
        let library = plugins.join(built.file_name().unwrap());
        fs::copy(&built, &library).unwrap();
        let (model, pipeline, out) = (folder.join("in.relay"), folder.join("acme.toml"), folder.join("out.relay"));
        fs::write(&model, MODEL).unwrap();
        fs::write(&pipeline, PIPELINE).unwrap();
        Self { plugins, library, model, pipeline, out }
    }

    fn relais(&self, args: &[&str]) -> Run {
        relais(args.iter().map(OsStr::new).chain(["--plugin-dir".as_ref(), self.plugins.as_os_str()]))
    }

    fn run(&self, pipeline: &Path) -> Run {
        let path = |path: &Path| path.to_str().unwrap().to_owned();
        self.relais(&["run", &path(&self.model), "-o", &path(&self.out), "-p", &path(pipeline)])
    }
}

#[test]
fn the_source_needs_nothing_but_the_prelude() {
    let source = fs::read_to_string(plugin_source("author").join("src/lib.rs")).unwrap();
    let unwanted = [
        "unsafe",
        "extern",
        "abi_stable",
        "boundary",
        "StableAbi",
        "RArc",
        "RBox",
        "RHashMap",
        "ROption",
        "RResult",
        "RSlice",
        "RStr",
        "RVec",
        "repr(C)",
        "no_mangle",
        "__private",
        "link_section",
    ];
    for word in unwanted {
        assert!(!source.contains(word), "`{word}` stands in the author's source");
    }
    assert!(source.contains("use relais_plugin_api::prelude::*;"));
}

#[test]
fn it_is_listed_and_described() {
    let setup = Setup::new("author-listed", "author");
    let list = setup.relais(&["list", "passes"]).expect_success();
    assert!(list.stdout.contains("\nOneActivation "), "{}", list.stdout);
    let list = setup.relais(&["list", "plugins"]).expect_success();
    assert!(list.stdout.contains("acme-author"), "{}", list.stdout);
    let described = setup.relais(&["describe", PASS]).expect_success();
    for said in ["Makes one activation of two in a row", "activation", "The activation of which one is enough"] {
        assert!(described.stdout.contains(said), "`{said}` is missing:\n{}", described.stdout);
    }
    // Without the folder it is unknown.
    assert!(!relais(["list", "passes"]).expect_success().stdout.contains("OneActivation"));
    let described = relais(["describe", PASS]).expect_failure();
    assert!(described.stderr.contains(PASS), "{}", described.stderr);
}

#[test]
fn it_runs() {
    let setup = Setup::new("author-run", "author");
    setup.run(&setup.pipeline).expect_success();
    let text = fs::read_to_string(&setup.out).unwrap();
    assert_eq!(text.matches("Relu(").count(), 1, "{text}");
}

#[test]
fn without_it_the_pipeline_says_so() {
    let setup = Setup::new("author-gone", "author");
    fs::remove_file(&setup.library).unwrap();
    let run = setup.run(&setup.pipeline).expect_failure();
    assert!(run.stderr.contains(PASS) && run.stderr.contains("acme.toml"), "{}", run.stderr);
    assert!(!setup.out.exists());
    assert_eq!(fs::read_to_string(&setup.model).unwrap(), MODEL);
    assert_eq!(files(setup.model.parent().unwrap()), ["acme.toml", "in.relay", "plugins"]);
}

#[test]
fn its_options_are_checked() {
    let setup = Setup::new("author-options", "author");
    let wrong = PIPELINE.replace("activation =", "activatoin =");
    fs::write(&setup.pipeline, wrong).unwrap();
    let run = setup.run(&setup.pipeline).expect_failure();
    assert!(run.stderr.contains("activatoin") && run.stderr.contains("`activation`"), "{}", run.stderr);
    assert!(!setup.out.exists());
}

/// A constructor in the library leaves a mark when it is opened.
#[test]
fn listing_opens_no_library() {
    let setup = Setup::new("mark", "mark");
    let mark = setup.plugins.with_file_name("opened");
    let relais = |args: &[&OsStr]| {
        let mut command = command();
        command.env("RELAIS_TEST_MARK", &mark).args(args).arg("--plugin-dir").arg(&setup.plugins);
        Run::of(&mut command).expect_success()
    };
    for args in [&["list"][..], &["list", "passes"], &["list", "--json"], &["describe", "mark.Nothing"]] {
        let args: Vec<&OsStr> = args.iter().map(OsStr::new).collect();
        relais(&args);
        assert!(!mark.exists(), "{args:?} opened it");
    }
    assert!(relais(&["list".as_ref(), "passes".as_ref()]).stdout.contains("\nNothing "));
    // The mark works: running a pass of it opens it.
    let [model, out] = [&setup.model, &setup.out].map(|path| path.as_os_str());
    relais(&["run".as_ref(), model, "-o".as_ref(), out, "--passes".as_ref(), "mark.Nothing".as_ref()]);
    assert!(mark.exists());
}

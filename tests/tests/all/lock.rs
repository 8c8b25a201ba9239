//! `relais lock`, `relais run --locked` and `--no-plugins`.

use relais_tests::{
    cargo_built::{plugin, workspace},
    cli::{Run, command, folder},
};
use std::{
    fs,
    path::{Path, PathBuf},
};

const MODEL: &str = "def @main(%x: Tensor[(2, 3), float32]) -> (%y) #[opset = {\"\": 17}] {
  %y = Relu(%x);
  %y
}
";

/// A folder with a model, a pipeline, and the requested plugins in the folder `plugins`.
fn here(name: &str, plugins: &[&str]) -> PathBuf {
    let folder = folder(&format!("lock-{name}"));
    fs::write(folder.join("model.relay"), MODEL).unwrap();
    fs::write(folder.join("p.toml"), "steps = [{ include = \"builtin:O2\" }, \"mark.Nothing\"]\n").unwrap();
    fs::create_dir(folder.join("plugins")).unwrap();
    plugins.iter().for_each(|name| add(&folder, name));
    folder
}

fn add(here: &Path, name: &str) {
    let built = plugin(name);
    fs::copy(&built, here.join("plugins").join(built.file_name().unwrap())).unwrap();
}

/// `relais`, where opening the plugin `mark` leaves the file `opened`.
fn relais(here: &Path, args: &str) -> Run {
    let mut command = command();
    command.current_dir(here).env("RELAIS_PLUGIN_PATH", "plugins").env("RELAIS_TEST_MARK", "opened");
    Run::of(command.args(args.split(' ')))
}

fn run(here: &Path, args: &str) -> Run {
    relais(here, &format!("run model.relay -o out.relay {args}"))
}

/// Returns the differences reported by a run that enforces the lock. Nothing was opened for it, and nothing written.
#[track_caller]
fn different(here: &Path, args: &str) -> Vec<String> {
    let _ = fs::remove_file(here.join("opened"));
    let _ = fs::remove_file(here.join("out.relay"));
    let said = run(here, args).expect_failure().stderr;
    assert!(!here.join("opened").exists(), "a plugin was opened");
    assert!(!here.join("out.relay").exists());
    let lines = said.lines().skip_while(|line| !line.starts_with("error[locked]: not as `relais.lock` says"));
    let lines: Vec<String> = lines.skip(1).map(|line| line.trim().to_owned()).collect();
    let (help, lines) = lines.split_last().unwrap_or_else(|| panic!("{said}"));
    assert!(help.starts_with("help: "), "{said}");
    lines.to_vec()
}

#[test]
fn a_pipeline_runs_locked_as_it_was_locked() {
    let here = here("same", &["mark"]);
    let said = relais(&here, "lock -p p.toml").expect_success().stdout;
    assert!(said.starts_with("`relais.lock` locks the pipeline `p` and 6 plugins\n  mark 0.1.0\n"), "{said}");
    let first = fs::read_to_string(here.join("relais.lock")).unwrap();
    relais(&here, "lock -p p.toml -o again.lock").expect_success();
    assert_eq!(first, fs::read_to_string(here.join("again.lock")).unwrap());
    assert!(!first.contains(here.to_str().unwrap()), "it holds in another folder, too: {first}");
    run(&here, "-q -p p.toml --locked").expect_success();
    run(&here, "-q -p p.toml --locked=again.lock --time-passes --stats").expect_success();
    run(&here, "-q --locked -p p.toml").expect_success();
}

#[test]
fn a_plugin_that_is_gone_changed_or_of_another_version_is_told_before_anything_is_opened() {
    let here = here("changed", &["mark"]);
    relais(&here, "lock -p p.toml").expect_success();
    let lock = fs::read_to_string(here.join("relais.lock")).unwrap();
    let file = here.join("plugins").join(plugin("mark").file_name().unwrap());
    // A byte after the end of the library changes nothing but its hash.
    let mut bytes = fs::read(&file).unwrap();
    bytes.push(0);
    fs::write(&file, &bytes).unwrap();
    let told = different(&here, "-p p.toml --locked");
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].starts_with("plugin `mark` 0.1.0 is another build: the hash of `plugins/libmark.so` was "),
        "{told:?}"
    );
    add(&here, "mark");
    run(&here, "-q -p p.toml --locked").expect_success();
    let other = lock.replacen("name = \"mark\"\nversion = \"0.1.0\"", "name = \"mark\"\nversion = \"0.2.0\"", 1);
    fs::write(here.join("relais.lock"), other.replace("host = \"", "host = \"9.")).unwrap();
    let told = different(&here, "-p p.toml --locked");
    let host = format!("the host was 9.{0}, and is {0}", env!("CARGO_PKG_VERSION"));
    assert_eq!(told, [host.as_str(), "plugin `mark` was version 0.2.0, and is 0.1.0, in `plugins/libmark.so`"]);
    fs::write(here.join("relais.lock"), &lock).unwrap();
    fs::remove_file(&file).unwrap();
    let told = different(&here, "-p p.toml --locked");
    assert_eq!(told[0], "plugin `mark` 0.1.0 is not there");
    assert_eq!(told[1], "the pipeline does not resolve: no pass `mark.Nothing`");
    let broken: Vec<u8> = bytes.iter().map(|byte| byte ^ (*byte == b'u') as u8).collect();
    fs::write(&file, broken).unwrap();
    assert!(!different(&here, "-p p.toml --locked").is_empty());
}

#[test]
fn a_plugin_that_would_have_a_part_is_told_and_another_is_not() {
    let here = here("extra", &["mark"]);
    relais(&here, "lock -p p.toml").expect_success();
    // It provides nothing that the pipeline uses.
    add(&here, "rival");
    run(&here, "-q -p p.toml --locked").expect_success();
    add(&here, "tidy");
    let told = different(&here, "-p p.toml --locked");
    assert_eq!(told[0], "plugin `tidy` 0.3.0 is new, and adds `tidy.NegNeg` at `after-simplify`: `plugins/libtidy.so`");
    assert!(told[1].starts_with("the pipeline, `p` then, is another: the hash was ") && told.len() == 2, "{told:?}");
    run(&here, "-q -p p.toml --locked --no-extensions").expect_success();
    // One that describes an operator has a part in any run.
    add(&here, "sample");
    let told = different(&here, "-q -p p.toml --locked --no-extensions");
    assert_eq!(
        told,
        ["plugin `sample-passes` 1.2.3 is new, and the pipeline would use it: `plugins/libsample_passes.so`"]
    );
}

#[test]
fn a_pipeline_that_is_another_is_told() {
    let here = here("pipeline", &["mark"]);
    relais(&here, "lock -p p.toml").expect_success();
    for args in [
        "-O2 --locked",
        "-p p.toml --locked --disable RemoveUnusedFunctions",
        "-p p.toml --set FoldConstant.max_growth=1 --locked",
    ] {
        let told = different(&here, args);
        assert!(told.len() == 1 && told[0].starts_with("the pipeline, `p` then, is another"), "{args}: {told:?}");
    }
    // The place of the lock is not part of it.
    fs::rename(here.join("p.toml"), here.join("moved.toml")).unwrap();
    fs::write(here.join("p.toml"), "steps = [{ include = \"inner.toml\" }]").unwrap();
    relais(&here, "lock -p moved.toml").expect_success();
    fs::create_dir(here.join("sub")).unwrap();
    fs::rename(here.join("moved.toml"), here.join("sub/moved.toml")).unwrap();
    run(&here, "-q -p sub/moved.toml --locked").expect_success();
}

#[test]
fn plugins_that_the_lock_does_not_name_are_not_there() {
    let here = here("only", &["mark", "sample", "rival"]);
    relais(&here, "lock -p p.toml").expect_success();
    let lock = fs::read_to_string(here.join("relais.lock")).unwrap();
    assert!(!lock.contains("\"acme-rival\"") && lock.contains("\"sample-passes\""), "{lock}");
    // An instrument requested beside the pipeline is not an exception.
    let said = run(&here, "-q -p p.toml --locked --instrument acme.Counter").expect_failure().stderr;
    assert!(said.contains("no instrument `acme.Counter`"), "{said}");
    relais(&here, "lock -p p.toml --also acme-rival").expect_success();
    run(&here, "-q -p p.toml --locked --instrument acme.Counter").expect_success();
    let said = relais(&here, "lock -p p.toml --also nobody").expect_failure().stderr;
    assert!(said.contains("there is no plugin `nobody` to lock"), "{said}");
}

#[test]
fn what_cannot_be_locked_or_read_is_said() {
    let here = here("faults", &["mark"]);
    let said = run(&here, "-p p.toml --locked").expect_failure().stderr;
    assert!(
        said.contains("the lock cannot be kept: `relais.lock`: No such file") && said.contains("help: `relais lock`"),
        "{said}"
    );
    fs::write(here.join("relais.lock"), "host = 3\nformat = 1\n[pipeline]\n").unwrap();
    let said = run(&here, "-p p.toml --locked").expect_failure().stderr;
    assert!(said.contains("`relais.lock` is not a lock file: it has no text `host`"), "{said}");
    let said = relais(&here, "lock -p nowhere.toml").expect_failure().stderr;
    assert!(said.contains("error[P007]"), "{said}");
    fs::write(here.join("bad.toml"), "steps = [\"Nowhere\"]").unwrap();
    assert!(relais(&here, "lock -p bad.toml -o bad.lock").expect_failure().stderr.contains("error[P010]"));
    assert!(!here.join("bad.lock").exists());
    let said = relais(&here, "lock -o no/such/folder.lock").expect_failure().stderr;
    assert!(said.contains("no/such"), "{said}");
}

#[test]
fn without_plugins_only_what_the_program_has_runs() {
    assert!(!workspace().plugins.is_empty());
    let here = here("none", &["mark"]);
    run(&here, "-O0 --no-plugins").expect_success();
    assert!(!here.join("opened").exists());
    // The shipped ones are linked into the program.
    run(&here, "-O1 --no-plugins").expect_success();
    let said = run(&here, "--passes mark.Nothing --no-plugins").expect_failure().stderr;
    assert!(said.contains("error[P010]: no pass `mark.Nothing`"), "{said}");
    let listed = relais(&here, "list plugins --no-plugins").expect_success().stdout;
    let (rows, n_shipped) = (listed.lines().skip(1), workspace().plugins.len());
    assert!(rows.clone().all(|line| line.contains(" linked ")) && rows.count() == n_shipped, "{listed}");
    let said = run(&here, "-O0 --no-plugins --plugin plugins/libmark.so");
    assert!(said.status == Some(2) && said.stderr.contains("cannot be used with"), "{said:?}");
}

#[test]
fn the_current_folder_is_not_searched() {
    let here = here("current", &[]);
    add(&here, "mark");
    fs::rename(here.join("plugins/libmark.so"), here.join("libmark.so")).unwrap();
    let said = run(&here, "-p p.toml").expect_failure().stderr;
    assert!(said.contains("no pass `mark.Nothing`"), "{said}");
}

//! Programs and modules that lie in the current folder, or where the environment leads to, are not run.

#![cfg(unix)]

use relais_tests::{
    cargo_built::plugin,
    cli::{Run, command, folder},
    venv,
};
use std::{
    env,
    ffi::OsString,
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::Command,
};

const MODEL: &str =
    "def @main(%x: Tensor[(4,), float32]) -> (%y) #[opset = {\"\": 17}, ir_version = 9] { %y = Relu(%x); %y }\n";

/// The names of the programs that are started, and of those that they start.
const PROGRAMS: [&str; 8] = ["python3", "python", "cc", "ar", "as", "ld", "collect2", "relais"];

const MODULES: [&str; 5] = ["numpy.py", "onnxruntime.py", "sitecustomize.py", "usercustomize.py", "threading.py"];

/// A folder with a model, in which programs and modules are planted that leave a file `ran`.
struct Field(PathBuf);

impl Field {
    fn new(name: &str) -> Self {
        let here = folder(name);
        fs::write(here.join("model.relay"), MODEL).unwrap();
        let field = Self(here);
        field.plant(".");
        field.plant("bin");
        field
    }

    fn plant(&self, folder: impl AsRef<Path>) {
        let folder = self.0.join(folder);
        fs::create_dir_all(&folder).unwrap();
        let ran = self.0.join("ran");
        for name in PROGRAMS {
            fs::write(folder.join(name), format!("#!/bin/sh\necho {name} >> '{}'\nexit 1\n", ran.display())).unwrap();
            fs::set_permissions(folder.join(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        for name in MODULES {
            fs::write(folder.join(name), format!("open({ran:?}, 'a').write(__name__ + '\\n')\n")).unwrap();
        }
    }

    /// Which of the programs and modules ran.
    fn ran(&self) -> String {
        let ran = fs::read_to_string(self.0.join("ran")).unwrap_or_default();
        let _ = fs::remove_file(self.0.join("ran"));
        ran
    }

    fn relais(&self, environment: &[(&str, &OsString)], arguments: &[&str]) -> Run {
        let mut relais = command();
        relais.current_dir(&self.0).env_remove("CC").env_remove("AR").env_remove("RELAIS_PYTHON");
        Run::of(relais.envs(environment.iter().copied()).args(arguments))
    }

    fn check(&self, environment: &[(&str, &OsString)], python: &[&str]) -> Run {
        let arguments = ["run", "model.relay", "-o", "out.onnx", "-q", "--check=1", "--check-with", "onnxruntime"];
        self.relais(environment, &[&arguments, python].concat())
    }

    fn build(&self, environment: &[(&str, &OsString)]) -> Run {
        self.relais(environment, &["build", "model.relay", "-o", "net.c", "--static", "--shared", "-q"])
    }
}

/// The folders of `PATH`, after these.
fn path(first: &[&str], then: &OsString) -> OsString {
    env::join_paths(first.iter().map(PathBuf::from).chain(env::split_paths(then))).unwrap()
}

fn judge_folder() -> OsString {
    venv::program("python").parent().unwrap().into()
}

#[test]
fn python_imports_nothing_that_lies_around() {
    let field = Field::new("planted-modules");
    let python = venv::program("python");
    let judge = ["--python", python.to_str().unwrap()];
    let here = OsString::from(&field.0);
    // They would be.
    let said = Command::new(&python).current_dir(&field.0).args(["-c", "import numpy"]).output().unwrap();
    assert!(field.ran().contains("numpy"), "{said:?}");
    for environment in [
        &[][..],
        &[("PYTHONPATH", &here)],
        &[("PYTHONPATH", &OsString::new())],
        &[("PYTHONPATH", &".:bin".into())],
        &[("PYTHONSTARTUP", &"numpy.py".into()), ("PYTHONHOME", &here), ("PYTHONINSPECT", &"1".into())],
    ] {
        field.check(environment, &judge).expect_success();
        assert_eq!(field.ran(), "", "{environment:?}");
    }
}

#[test]
fn python_imports_nothing_from_the_folder_of_the_user() {
    let field = Field::new("planted-user");
    let user = OsString::from(field.0.join("user"));
    let system = |code: &str| {
        let mut python = Command::new("python3");
        let said = python.current_dir("/").env("PYTHONUSERBASE", &user).args(["-c", code]).output().unwrap();
        String::from_utf8(said.stdout).unwrap().trim().to_owned()
    };
    field.plant(system("import site; print(site.getusersitepackages())"));
    assert_eq!(system("print('started')"), "started");
    assert!(field.ran().contains("usercustomize"));
    // Whether that Python has an onnxruntime is of no importance.
    field.check(&[("PYTHONUSERBASE", &user)], &["--python", "python3"]);
    assert_eq!(field.ran(), "");
}

#[test]
fn a_virtual_environment_that_the_user_names_is_used() {
    let field = Field::new("planted-venv");
    symlink(venv::program("python").ancestors().nth(2).unwrap(), field.0.join("venv")).unwrap();
    for python in ["venv/bin/python", "./venv/bin/python3"] {
        field.check(&[], &["--python", python]).expect_success();
        field.check(&[("RELAIS_PYTHON", &python.into())], &[]).expect_success();
    }
    field.check(&[("PATH", &judge_folder())], &[]).expect_success();
    assert_eq!(field.ran(), "");
}

#[test]
fn names_are_not_looked_for_around() {
    let field = Field::new("planted-programs");
    let usual = env::var_os("PATH").unwrap();
    for first in [&[""][..], &["."], &["bin"], &["..", "../bin"], &["", "bin", "."]] {
        field.check(&[("PATH", &path(first, &judge_folder()))], &[]).expect_success();
        field.build(&[("PATH", &path(first, &usual))]).expect_success();
        assert_eq!(field.ran(), "", "{first:?}");
        // Nothing else has them.
        let nowhere = OsString::from(first.join(":"));
        let said = field.check(&[("PATH", &nowhere)], &[]).expect_failure().stderr;
        assert!(said.contains("Python `python3` cannot be started: "), "{first:?}: {said}");
        assert!(said.contains("name one that has onnxruntime: `--python PROGRAM`"), "{first:?}: {said}");
        let said = field.build(&[("PATH", &nowhere)]).expect_failure().stderr;
        assert!(said.contains("the C compiler `cc` cannot be started: "), "{first:?}: {said}");
        assert!(said.contains("set `CC` to a compiler of C99"), "{first:?}: {said}");
        assert_eq!(field.ran(), "", "{first:?}");
        let _ = fs::remove_dir_all(field.0.join("net.c.failed"));
    }
    let said = field.build(&[("PATH", &"bin".into())]).expect_failure().stderr;
    assert!(said.contains("`PATH` has it in `./bin` alone, and only absolute folders are searched"), "{said}");
}

#[test]
fn a_program_that_the_user_names_is_run() {
    let field = Field::new("planted-named");
    for python in ["./python3", "bin/python3"] {
        field.check(&[], &["--python", python]).expect_failure();
        assert_eq!(field.ran(), "python3\n");
        field.check(&[("RELAIS_PYTHON", &python.into())], &[]).expect_failure();
        assert_eq!(field.ran(), "python3\n");
    }
    for (variable, tool, ran) in [("CC", "./cc", "cc\n"), ("CC", "bin/cc -O0", "cc\n"), ("AR", "./ar", "ar\n")] {
        field.build(&[(variable, &tool.into())]).expect_failure();
        assert_eq!(field.ran(), ran);
    }
    // An absolute folder of `PATH` is the choice of the user, too.
    let mine = path(&[field.0.join("bin").to_str().unwrap()], &env::var_os("PATH").unwrap());
    field.build(&[("PATH", &mine)]).expect_failure();
    assert_eq!(field.ran(), "cc\n");
}

#[test]
fn processes_of_this_program_are_this_program() {
    let field = Field::new("planted-own");
    let around = path(&["", "bin"], &env::var_os("PATH").unwrap());
    let sample = plugin("tidy");
    let sample = sample.to_str().unwrap();
    for arguments in [
        &["run", "model.relay", "--out-dir", "out", "--allow-writable-plugins"][..],
        &["plugin", "check", sample, "--allow-writable-plugins"],
        &["plugin", "test", sample, "--allow-writable-plugins", "--modules", "1"],
    ] {
        field.relais(&[("PATH", &around)], arguments).expect_success();
        assert_eq!(field.ran(), "", "{arguments:?}");
    }
}

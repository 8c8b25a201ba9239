//! Plugins from every linker and profile that authors use: the records are found, and the library can be opened.
#![cfg(target_os = "linux")]

use crate::common::*;
use relais::{
    plugin::Refusal,
    registry::{CreateError, Registry},
};
use relais_tests::cargo_built::{author_cargo, lock_versions, plugin_target};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};

/// The mark that a linker puts into its output.
const LLD_MARK: &[u8] = b"Linker: LLD";

#[derive(Clone, Copy)]
enum Linker {
    Gnu,
    Lld,
}

impl Linker {
    /// Arguments that make `cc` link with it; why not, when it is not installed.
    fn arguments(self) -> Result<Vec<String>, String> {
        let (name, path) = match self {
            Self::Gnu => ("bfd", None),
            Self::Lld => ("lld", toolchain_lld()),
        };
        let path = path.map(|path| format!("-B{}", path.display()));
        let arguments: Vec<String> = path.into_iter().chain([format!("-fuse-ld={name}")]).collect();
        let check = Command::new("cc").args(&arguments).arg("-Wl,--version").output();
        if check.is_ok_and(|output| output.status.success()) {
            return Ok(arguments);
        }
        Err(format!("`cc -fuse-ld={name}` finds no linker"))
    }
}

/// The folder with the `ld.lld` that comes with the compiler.
fn toolchain_lld() -> Option<PathBuf> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).args(["--print", "target-libdir"]).output().ok()?;
    let libraries = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim_end());
    let folder = libraries.parent()?.join("bin/gcc-ld");
    folder.join("ld.lld").exists().then_some(folder)
}

/// A copy of the sample plugin whose library has a name of its own: it is built in other ways than the one that other
/// tests open.
static SOURCE: LazyLock<PathBuf> = LazyLock::new(|| {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let dir = folder("built-source");
    copy(&root.join("tests/plugins/sample"), &dir);
    let manifest = dir.join("Cargo.toml");
    let text = fs::read_to_string(&manifest).unwrap();
    let text = text.replace("../../../plugin-api", root.join("plugin-api").to_str().unwrap());
    assert_eq!(text.matches("[lib]\n").count(), 1);
    let text = text.replace("[lib]\n", "[lib]\nname = \"sample_built\"\n");
    fs::write(&manifest, format!("[workspace]\n\n{text}")).unwrap();
    lock_versions(&dir);
    manifest
});

/// Builds the sample plugin for the configuration; arguments after `--` are the compiler's.
fn build(name: &str, cargo: &[&str], compiler: &[String]) -> PathBuf {
    let mut command = author_cargo();
    command.args(["rustc", "--quiet", "--lib", "--manifest-path"]).arg(&*SOURCE);
    assert!(command.args(cargo).arg("--").args(compiler).status().unwrap().success(), "{name} builds");
    let profile = if cargo.contains(&"--release") { "release" } else { "debug" };
    let file = format!("{}sample_built{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let library = folder(&format!("built-{name}")).join("plugin.so");
    fs::copy(plugin_target().join(profile).join(file), &library).unwrap();
    library
}

/// The plugin is found by its records, opens, and works.
fn works(name: &str, library: &Path) {
    let registry = registry(&[library]);
    assert_eq!(registry.refused(), [], "{name}");
    let names = |registry: &Registry| registry.passes().map(|(pass, _)| pass.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&registry), names(&sample()), "{name}");
    let outcome = run(&registry, "sample.ReluRelu", &table(&[]), &chain(&["Relu", "Relu"])).unwrap();
    assert_eq!(op_names(&outcome.module.unwrap()), ["Relu"], "{name}");
    let failure = run(&registry, "sample.Bad", &table(&[("fault", text("text"))]), &chain(&["Relu"])).err().unwrap();
    assert!(failure.to_string().contains("plain text"), "{name}: {failure}");
}

const STRIP: [&str; 2] = ["-Cstrip=symbols", "-Clink-arg=-Wl,--gc-sections"];

/// The name of a build, with the arguments of cargo and of the compiler.
type Variant = (&'static str, &'static [&'static str], &'static [&'static str]);

#[test]
fn every_linker_makes_a_plugin() {
    build_with_every_linker(&[("plain", &[], &[]), ("stripped", &[], &STRIP)]);
}

#[test]
#[ignore = "rebuilds the boundary; `.ci/full variants` runs it"]
fn every_linker_makes_a_plugin_of_one_piece() {
    let lto = &["--release", "--config=profile.release.lto=\"fat\"", "--config=profile.release.codegen-units=1"];
    build_with_every_linker(&[("lto", lto, &STRIP)]);
}

fn build_with_every_linker(variants: &[Variant]) {
    for (linker_name, linker) in [("gnu", Linker::Gnu), ("lld", Linker::Lld)] {
        let linker_arguments = match linker.arguments() {
            Ok(arguments) => arguments,
            Err(why) => {
                eprintln!("not tested with {linker_name}: {why}");
                continue;
            }
        };
        for &(variant, cargo, compiler) in variants {
            let name = format!("{linker_name}-{variant}");
            let linker_arguments = linker_arguments.iter().map(|argument| format!("-Clink-arg={argument}"));
            let compiler: Vec<String> =
                compiler.iter().map(|argument| (*argument).to_owned()).chain(linker_arguments).collect();
            let library = build(&name, cargo, &compiler);
            let is_lld = fs::read(&library).unwrap().windows(LLD_MARK.len()).any(|window| window == LLD_MARK);
            assert_eq!(is_lld, matches!(linker, Linker::Lld), "{name} is linked with what it says");
            works(&name, &library);
        }
    }
}

#[test]
fn a_plugin_that_lacks_a_library_is_refused_when_it_is_needed() {
    let dir = folder("gone");
    let (source, gone) = (dir.join("gone.c"), dir.join("librelais_gone.so"));
    fs::write(&source, "int relais_gone(void) { return 0; }\n").unwrap();
    assert!(Command::new("cc").arg("-shared").arg("-o").arg(&gone).arg(&source).status().unwrap().success());
    let folder = format!("-Clink-arg=-L{}", dir.display());
    let link = ["-Clink-arg=-Wl,--no-as-needed", "-Clink-arg=-lrelais_gone"].map(str::to_owned);
    let library = build("needs-a-library", &[], &[&[folder][..], &link].concat());
    fs::remove_file(&gone).unwrap();
    let registry = registry(&[&library, &MARK]);
    assert_eq!(registry.refused(), []);
    let error = registry.create("sample.ReluRelu", &table(&[])).err().unwrap();
    let text = error.to_string();
    assert!(matches!(error, CreateError::Open { refusal: Refusal::Open { .. }, .. }), "{text}");
    assert!(text.contains("`sample-passes 1.2.3`") && text.contains("librelais_gone.so"), "{text}");
    assert!(text.contains("`relais plugin check` shows the libraries and symbols that it needs and lacks"), "{text}");
    assert!(run(&registry, "mark.Nothing", &table(&[]), &chain(&[])).is_ok());
}

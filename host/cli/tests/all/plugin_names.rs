//! The names in a new crate.

use relais_tests::cli::{command, folder};
use std::{fs, path::Path};

/// Makes a crate, and returns whether that was done.
fn is_made(here: &Path, name: &str, arguments: &[&str]) -> bool {
    let mut new = command();
    new.current_dir(here).args(["plugin", "new", "--output", "made"]).args(arguments).args(["--", name]);
    new.output().unwrap().status.success()
}

/// The modules of the crate, and the names of what they contain.
fn made(name: &str, arguments: &[&str]) -> Vec<(String, String)> {
    let here = folder("plugin-names");
    assert!(is_made(&here, name, arguments), "{name}");
    let files = fs::read_dir(here.join("made/src")).unwrap().map(|entry| entry.unwrap().path());
    let mut all: Vec<_> = files
        .map(|file| (file.file_stem().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(&file).unwrap()))
        .filter(|(module, _)| module != "lib")
        .collect();
    all.sort();
    all
}

#[test]
fn items_get_full_names_and_modules_of_their_own() {
    let items =
        ["--pass", "HTTPFuse", "--pass", "function:other.Fold", "--operator", "Twice", "--operator", "com.x::Y"];
    let all = made("acme", &[&items[..], &["--instrument", "Watch"]].concat());
    let modules: Vec<&str> = all.iter().map(|(module, _)| module.as_str()).collect();
    assert_eq!(modules, ["fold", "http_fuse", "twice", "watch", "y"]);
    let contained = ["\"other.Fold\"", "\"acme.HTTPFuse\"", "\"Twice\"", "\"acme.Watch\"", "\"com.x\""];
    for ((module, text), name) in all.iter().zip(contained) {
        assert!(text.contains(name), "{module}: {text}");
    }
    let one = made("my-clip", &[]);
    assert!(one[0].0 == "my_clip" && one.len() == 1 && one[0].1.contains("\"my-clip.MyClip\""), "{one:?}");
}

#[test]
fn wrong_names_are_refused() {
    let here = folder("plugin-names-wrong");
    let long = "x".repeat(65);
    let of_crates = ["", "1a", "a b", "ä", "fn", "std", "relais-plugin-api", "relais-conformance", "__", "test", &long];
    let of_passes = ["", ".", "a b", "rewrite:", "rewriter:A", "a.2d", "a.Match", "a.lib", "a.Std", "a..b"];
    let cases = of_crates.map(|name| (name, Vec::new())).into_iter();
    let cases = cases.chain(of_passes.map(|pass| ("acme", vec!["--pass", pass])));
    let cases = cases.chain(["::A", "a::", "a::b::c"].map(|operator| ("acme", vec!["--operator", operator])));
    let twice = [vec!["--pass", "A", "--pass", "b.A"], vec!["--pass", "A", "--instrument", "A"]];
    for (name, arguments) in cases.chain(twice.map(|arguments| ("acme", arguments))) {
        assert!(!is_made(&here, name, &arguments), "{name} {arguments:?}");
        assert!(!here.join("made").exists(), "{name} {arguments:?}");
    }
}

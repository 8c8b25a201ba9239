//! The prelude stays small: a reader of a pass can know all of it.

const SOURCE: &str = include_str!("../../src/prelude.rs");

/// The macros of the crate, by their sources.
const MACROS: &str = include_str!("../../macros/src/lib.rs");

/// The most names that sources of passes get without asking for them.
const MOST: usize = 44;

/// The names that statements `pub use` bring in: those that no path continues.
fn names(source: &str) -> Vec<String> {
    let code: Vec<&str> = source.lines().map(|line| line.split("//").next().unwrap()).collect();
    let code = code.join(" ");
    let mut names = Vec::new();
    for statement in code.split(';').filter(|statement| !statement.trim().is_empty()) {
        let paths = statement.trim().strip_prefix("pub use ").expect("the prelude has nothing but re-exports");
        for part in paths.split(['{', '}', ',']).map(str::trim).filter(|part| !part.is_empty()) {
            if !part.ends_with("::") {
                names.push(part.rsplit("::").next().unwrap().to_owned());
            }
        }
    }
    names
}

#[test]
fn it_has_few_names_and_no_globs() {
    let names = names(SOURCE);
    assert!((20..=MOST).contains(&names.len()), "{} names: {names:?}", names.len());
    assert!(!names.iter().any(|name| name == "*" || name.contains(" as ")), "{names:?}");
    assert_eq!(self::names("pub use a::{b::{C, d::E}, F}; // G\npub use h::*;"), ["C", "E", "F", "*"]);
}

#[test]
fn it_has_every_macro() {
    let names = names(SOURCE);
    let functions = MACROS.lines().filter_map(|line| line.strip_prefix("pub fn ")?.split('(').next());
    let macros: Vec<&str> = functions.map(|name| if name == "pass_options" { "PassOptions" } else { name }).collect();
    assert!(macros.len() > 10, "{macros:?}");
    for name in macros {
        assert!(names.iter().any(|other| other == name), "{name}");
    }
}

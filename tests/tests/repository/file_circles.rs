//! No files of the host depend on one another in a circle.

use crate::architecture::{HOST, code, sources};
use std::collections::{BTreeMap, BTreeSet};

/// The module that a file of a crate holds: the parts of its path within the crate.
fn module<'a>(file: &'a str, folder: &str) -> Vec<&'a str> {
    let path = file.strip_prefix(folder).unwrap_or(file).trim_start_matches('/').trim_end_matches(".rs");
    let mut parts: Vec<&str> = path.split('/').collect();
    if matches!(parts.last(), Some(&("mod" | "lib" | "main"))) {
        parts.pop();
    }
    parts
}

/// Adds the paths of a tree such as `a::{b::C, d}`, each behind `prefix`, and returns what follows the tree.
fn tree<'a>(mut code: &'a str, mut prefix: Vec<&'a str>, paths: &mut Vec<Vec<&'a str>>) -> &'a str {
    loop {
        code = code.trim_start();
        if let Some(list) = code.strip_prefix('{') {
            code = list;
            loop {
                code = tree(code, prefix.clone(), paths).trim_start();
                match code.strip_prefix(',') {
                    Some(rest) if !rest.trim_start().starts_with('}') => code = rest,
                    Some(rest) => return &rest.trim_start()[1..],
                    None => return code.strip_prefix('}').unwrap_or(code),
                }
            }
        }
        let end = code.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(code.len());
        prefix.push(&code[..end]);
        match code[end..].strip_prefix("::") {
            Some(rest) if end > 0 => code = rest,
            _ => {
                paths.push(prefix);
                return &code[end.max(usize::from(code.starts_with('*')))..];
            }
        }
    }
}

/// The paths that begin with `crate` or `super`.
fn paths(code: &str) -> Vec<Vec<&str>> {
    let mut found = Vec::new();
    for start in ["crate::", "super::"] {
        for (at, _) in code.match_indices(start) {
            if !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':') {
                tree(&code[at..], Vec::new(), &mut found);
            }
        }
    }
    found
}

/// The files of a crate on a circle of dependencies. A file may use what its parent module holds; that the parent uses
/// the file counts, as others reach the file by it.
fn on_circles(folder: &str, files: &BTreeMap<String, String>) -> Vec<String> {
    let is_test = |file: &str| file.contains("/tests");
    let codes: BTreeMap<&str, String> =
        files.iter().filter(|(file, _)| !is_test(file)).map(|(file, source)| (file.as_str(), code(source))).collect();
    let file_of: BTreeMap<Vec<&str>, &str> = codes.keys().map(|file| (module(file, folder), *file)).collect();
    let mut uses: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (file, code) in &codes {
        let own = module(file, folder);
        let used = uses.entry(file).or_default();
        for path in paths(code) {
            let n_up = path.iter().take_while(|part| **part == "super").count();
            let base = if n_up == 0 { 0 } else { own.len().saturating_sub(n_up) };
            let full: Vec<&str> = own[..base].iter().chain(&path[n_up.max(1)..]).copied().collect();
            let target = (0..=full.len()).rev().find_map(|n| Some((n, *file_of.get(&full[..n])?)));
            used.extend(target.filter(|&(n, _)| !own.starts_with(&full[..n])).map(|(_, file)| file));
        }
        // Modules that it declares.
        let children = file_of.iter().filter(|(child, _)| child.len() == own.len() + 1 && child.starts_with(&own));
        used.extend(children.map(|(_, file)| *file));
    }
    // A file that nothing uses, or that uses nothing, is on no circle.
    loop {
        let used: BTreeSet<&str> = uses.values().flatten().copied().collect();
        let left: BTreeSet<&str> = uses
            .iter()
            .filter(|(file, uses)| !uses.is_empty() && used.contains(*file))
            .map(|(file, _)| *file)
            .collect();
        if left.len() == uses.len() {
            return left.into_iter().map(str::to_owned).collect();
        }
        uses.retain(|file, _| left.contains(file));
        uses.values_mut().for_each(|used| used.retain(|file| left.contains(file)));
    }
}

#[test]
fn files_of_the_host_are_on_no_circle() {
    for folder in HOST {
        assert_eq!(on_circles(folder, &sources(folder)), Vec::<String>::new(), "{folder}");
    }
}

#[test]
fn circles_are_found() {
    let circles = |files: &[(&str, &str)]| {
        let files = files.iter().map(|(file, source)| (format!("src/{file}"), (*source).to_owned())).collect();
        on_circles("src", &files)
    };
    let lib = ("lib.rs", "mod a;\nmod b;\nstruct Shared;\n");
    assert!(
        circles(&[lib, ("a.rs", "use super::{Shared, b::{self, B}};\n"), ("b.rs", "use crate::Shared;\n")]).is_empty()
    );
    let both = ["src/a.rs", "src/b.rs"];
    assert_eq!(circles(&[lib, ("a.rs", "use crate::{Shared, b::B};\n"), ("b.rs", "fn f() { super::a::f() }\n")]), both);
    // By a module that gives on what a file of it holds.
    let files =
        [lib, ("a.rs", "use crate::b::C;\n"), ("b/mod.rs", "pub use c::C;\nmod c;\n"), ("b/c.rs", "use crate::a;\n")];
    assert_eq!(circles(&files), ["src/a.rs", "src/b/c.rs", "src/b/mod.rs"]);
}

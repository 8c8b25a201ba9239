//! The files of each crate depend on one another in one direction, and its modules in the order that its first page
//! lists.

mod imports;
mod public_names;

use crate::architecture::{root, sources};
use imports::{Imports, Module};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

/// The folders of crates, from the root, each with what its crate consists of.
fn crates() -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![root()];
    while let Some(folder) = open.pop() {
        for path in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
            let name = path.file_name().unwrap().to_str().unwrap();
            let is_other = matches!(name, "target" | "docs" | "templates" | "src") || name.starts_with('.');
            // The tests of a crate are in its folder `tests`, and those of the repository are a crate.
            let is_tests = name == "tests" && !path.join("Cargo.toml").exists();
            if path.is_dir() && !is_other && !is_tests {
                open.push(path);
            }
        }
        if ["src/lib.rs", "src/main.rs"].iter().any(|root| folder.join(root).exists()) {
            found.push(folder.strip_prefix(root()).unwrap().to_str().unwrap().replace('\\', "/"));
        }
    }
    found.sort();
    found
}

/// The file that a crate begins with: that of the library, or of the program if it has no library.
fn root_of(folder: &str, files: &BTreeMap<String, String>) -> String {
    let [library, program] = ["lib", "main"].map(|name| format!("{folder}/{name}.rs"));
    if files.contains_key(&library) { library } else { program }
}

/// The modules that a crate lists on its first page, in order: those that others use.
fn listed(root: &str) -> Vec<String> {
    let page = root.lines().map_while(|line| line.strip_prefix("//!"));
    let mut lines = page.skip_while(|line| line.trim() != "# Modules");
    lines.next();
    let items = lines.take_while(|line| !line.starts_with(" # "));
    let items = items.filter_map(|line| line.trim_start().split_once(". `"));
    let items = items.filter(|(number, _)| number.parse::<usize>().is_ok());
    items.filter_map(|(_, rest)| Some(rest.split_once('`')?.0.to_owned())).collect()
}

/// The faults of the order of a crate's modules.
fn upward(folder: &str, files: &BTreeMap<String, String>) -> Vec<String> {
    let imports = Imports::of(folder, files);
    let root = root_of(folder, files);
    let order = listed(&files[&root]);
    let place = |module: &str| order.iter().position(|listed| listed == module);
    let mut faults = BTreeSet::new();
    for (module, used) in imports.uses() {
        let Some(own) = module.first() else { continue };
        for target in used.iter().filter_map(|target| target.first()).filter(|target| *target != own) {
            match (place(own), place(target)) {
                (_, None) => _ = faults.insert(format!("`{target}` is used, and {root} does not list it")),
                (Some(own_place), Some(target_place)) if own_place < target_place => {
                    let file = imports.file(&module);
                    faults.insert(format!("`{own}` uses `{target}`, which {root} lists after it, in {file}"));
                }
                _ => {}
            }
        }
    }
    let exists = |module: &String| {
        let path = format!("{folder}/{module}");
        files.contains_key(&format!("{path}.rs")) || files.contains_key(&format!("{path}/mod.rs"))
    };
    faults.extend(
        order
            .iter()
            .filter(|module| !exists(module))
            .map(|module| format!("{root} lists `{module}`, which is not there")),
    );
    faults.into_iter().collect()
}

/// The files of a crate on a circle of dependencies. A file may use what its parent module holds; that the parent uses
/// the file counts, as others reach the file by it.
fn on_circles(folder: &str, files: &BTreeMap<String, String>) -> Vec<String> {
    let imports = Imports::of(folder, files);
    let mut uses = imports.uses();
    // Modules that it declares, except by the root, by which nothing is reached that is not named.
    let modules: Vec<Module> = uses.keys().cloned().collect();
    for (module, used) in uses.iter_mut().filter(|(module, _)| !module.is_empty()) {
        let children = modules.iter().filter(|child| child.len() == module.len() + 1 && child.starts_with(module));
        used.extend(children.cloned());
    }
    // A file that nothing uses, or that uses nothing, is on no circle.
    loop {
        let used: BTreeSet<&Module> = uses.values().flatten().collect();
        let left = uses.iter().filter(|(module, uses)| !uses.is_empty() && used.contains(module));
        let left: BTreeSet<Module> = left.map(|(module, _)| module.clone()).collect();
        if left.len() == uses.len() {
            return left.iter().map(|module| imports.file(module).to_owned()).collect();
        }
        uses.retain(|module, _| left.contains(module));
        uses.values_mut().for_each(|used| used.retain(|module| left.contains(module)));
    }
}

#[test]
fn modules_depend_on_those_listed_before_them_only() {
    let crates = crates();
    assert!(crates.len() > 15, "{crates:?}");
    let mut faults = Vec::new();
    for folder in crates.iter().map(|folder| format!("{folder}/src")) {
        faults.extend(upward(&folder, &sources(&folder)));
    }
    assert!(
        faults.is_empty(),
        "{}\nmove what is used to a lower module, or list the modules in another order",
        faults.join("\n")
    );
}

#[test]
fn files_are_on_no_circle() {
    let mut faults = Vec::new();
    for folder in crates().iter().map(|folder| format!("{folder}/src")) {
        faults.extend(on_circles(&folder, &sources(&folder)));
    }
    assert!(
        faults.is_empty(),
        "these files depend on each other:\n{}\nmove what both use to a file of its own",
        faults.join("\n")
    );
}

/// An import that should not be in a crate is found in each.
#[test]
fn an_import_in_the_wrong_direction_is_found_in_each_crate() {
    let mut n_crates = 0;
    for folder in crates().iter().map(|folder| format!("{folder}/src")) {
        let files = sources(&folder);
        let root = root_of(&folder, &files);
        let order = listed(&files[&root]);
        let [first, .., last] = order.as_slice() else { continue };
        n_crates += 1;
        let file = |module: &str| {
            let path = format!("{folder}/{module}");
            [format!("{path}.rs"), format!("{path}/mod.rs")].into_iter().find(|path| files.contains_key(path)).unwrap()
        };
        let with = |lines: &[(&str, String)]| {
            let mut files = files.clone();
            for (module, line) in lines {
                files.get_mut(&file(module)).unwrap().insert_str(0, line);
            }
            files
        };
        let up = with(&[(first, format!("use crate::{last};\n"))]);
        let expected = format!("`{first}` uses `{last}`, which {root} lists after it, in {}", file(first));
        assert_eq!(upward(&folder, &up), [expected]);
        let both = with(&[(first, format!("use crate::{last};\n")), (last, format!("use crate::{first};\n"))]);
        let circle = on_circles(&folder, &both);
        assert!([first, last].iter().all(|module| circle.contains(&file(module))), "{folder}: {circle:?}");
    }
    assert!(n_crates > 10, "{n_crates}");
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
    let files = [
        lib,
        ("a.rs", "use crate::b::C;\n"),
        ("b/mod.rs", "pub use c::C;\nmod c;\n"),
        ("b/c.rs", "use crate::a;\nstruct C;\n"),
    ];
    assert_eq!(circles(&files), ["src/a.rs", "src/b/c.rs"]);
    // By names that the root gives on, one by one or all at once.
    let lib = ("lib.rs", "mod a;\nmod b;\npub use a::A;\npub use b::B;\n");
    let (a, b) = ("use crate::B;\nstruct A(B);\n", "use crate::*;\nstruct B(Box<A>);\n");
    assert_eq!(circles(&[lib, ("a.rs", a), ("b.rs", b)]), both);
    assert!(circles(&[lib, ("a.rs", a), ("b.rs", "use crate::*;\nstruct B;\n")]).is_empty());
    // Texts are not code.
    let text = "use crate::*;\nconst B: &str = \"crate::a::A\";\n";
    assert!(circles(&[lib, ("a.rs", a), ("b.rs", text)]).is_empty());
}

#[test]
fn files_that_are_there_for_tests_do_not_count() {
    let circles = |before: &str| {
        let lib = format!("mod a;\n{before}mod fake;\n");
        let files = [
            ("lib.rs", lib.as_str()),
            ("a.rs", "use crate::fake::part::B;\nstruct A;\n"),
            ("fake/mod.rs", "mod part;\n"),
            ("fake/part.rs", "use crate::a::A;\nstruct B;\n"),
        ];
        on_circles("src", &files.map(|(file, source)| (format!("src/{file}"), source.to_owned())).into())
    };
    for before in ["", "pub ", "#[cfg(unix)]\n", "#[cfg(test)]\nuse std::fmt;\n"] {
        assert_eq!(circles(before), ["src/a.rs", "src/fake/part.rs"], "{before}");
    }
    for before in ["#[cfg(test)]\n", "#[cfg(test)]\n#[macro_use]\npub(crate) ", "#[cfg(all(test, unix))]\n"] {
        assert!(circles(before).is_empty(), "{before}");
    }
}

//! `docs/writing-a-plugin.md`, followed to the letter: its files are written and its commands are run, in order, as by
//! a reader who has a copy of the repository in the folder `relais` and nothing else. It takes the longest of all tests, and
//! its name lets it begin first.

use relais_tests::{
    cargo_built::{author_cargo, lock_versions, plugin_target},
    cli::{Run, command, folder},
    page::{self, Block, commands, find, is_as},
};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

const PAGE: &str = include_str!("../../../docs/writing-a-plugin.md");

fn blocks() -> Vec<Block> {
    page::blocks("writing-a-plugin.md", PAGE)
}

/// A reader of the page.
struct Reader {
    /// Where he began.
    home: PathBuf,
    /// Where he is.
    here: PathBuf,
}

impl Reader {
    fn new() -> Self {
        let home = folder("tutorial");
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        std::os::unix::fs::symlink(root, home.join("relais")).unwrap();
        // Independent of the user's file mode mask.
        fs::set_permissions(&home, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        Self { here: home.clone(), home }
    }

    fn follows(&mut self, block: &Block) {
        match (block.language, block.mark) {
            ("console", None) => commands(block).into_iter().for_each(|(line, expected)| self.types(line, expected)),
            (_, Some(("file", name))) => fs::write(self.here.join(name), &block.text).unwrap(),
            ("diff", Some(("edit", name))) => self.edits(name, &block.text),
            (_, Some(("not run", _))) => {}
            other => panic!("line {}: nothing is known to be done with {other:?}", block.line),
        }
    }

    /// Replaces each line with `-` by the one with `+` that follows it.
    fn edits(&self, name: &str, diff: &str) {
        let path = self.here.join(name);
        let mut text = fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = diff.lines().collect();
        for pair in lines.chunks(2) {
            let [old, new] = [0, 1].map(|i| pair[i].strip_prefix(['-', '+'][i]).expect("`-` and `+` in turn"));
            assert_eq!(text.lines().filter(|line| *line == old).count(), 1, "`{old}` stands once in {name}:\n{text}");
            text = text.replace(&format!("{old}\n"), &format!("{new}\n"));
        }
        fs::write(path, text).unwrap();
    }

    fn types(&mut self, line: &str, expected: &str) {
        let line = line.strip_prefix("$ ").unwrap();
        let (program, args) = line.split_once(' ').unwrap();
        // In the profile of the other tests' crates, so that little is rebuilt.
        let args = args.replace("target/release/", "target/debug/");
        let args: Vec<&str> = args.split(' ').filter(|arg| *arg != "--release").collect();
        let run = match program {
            "cd" => return self.here = self.here.join(args[0]),
            "relais" => {
                let mut relais = command();
                Run::of(relais.current_dir(&self.here).env("RELAIS_HOME", self.home.join("data")).args(&args))
            }
            "cargo" => {
                let mut cargo = author_cargo();
                cargo.env("CARGO_NET_OFFLINE", "true");
                Run::of(cargo.current_dir(&self.here).args(&args))
            }
            _ => panic!("`{line}`"),
        };
        let mut printed = run.stdout + &run.stderr;
        if line.contains("target/release/") {
            printed = printed.replace("target/debug/", "target/release/");
        }
        assert!(is_as(expected, &printed), "`{line}` prints\n{printed}\nand not\n{expected}");
        if let ["plugin", "new", name, ..] = args[..] {
            self.gets_going(name);
        }
    }

    /// Puts the build outputs of the other tests where those of his crate would be.
    fn gets_going(&self, name: &str) {
        let folder = self.here.join(name);
        lock_versions(&folder);
        fs::create_dir_all(plugin_target()).unwrap();
        std::os::unix::fs::symlink(plugin_target(), folder.join("target")).unwrap();
    }
}

#[test]
fn whoever_follows_the_page_gets_what_it_says() {
    let mut reader = Reader::new();
    for block in blocks() {
        reader.follows(&block);
    }
}

#[test]
fn its_sources_are_as_an_author_writes_them() {
    for block in blocks().iter().filter(|block| block.language == "rust") {
        assert!(block.text.contains("use relais_plugin_api::"), "line {}", block.line);
        assert!(block.text.contains("prelude::*"), "line {}", block.line);
        for word in ["unsafe", "extern", "abi_stable", "boundary", "__private"] {
            assert!(!block.text.contains(word), "`{word}` stands in the block at line {}", block.line);
        }
    }
}

/// The names that the page mentions in passing exist.
#[test]
fn every_name_of_the_api_that_it_mentions_is_there() {
    let api = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugin-api");
    let mut sources = String::new();
    let mut files = Vec::new();
    find(&api, "rs", &mut files);
    files.iter().for_each(|file| sources += &fs::read_to_string(file).unwrap());
    // In the prose: `cx.name(`, `Type::name`, `name()`.
    let code = PAGE.split("```").step_by(2).flat_map(|prose| prose.split('`').skip(1).step_by(2));
    let mut n_seen = BTreeSet::new();
    for word in code.flat_map(|code| code.split(|c: char| !c.is_alphanumeric() && !"_.:(".contains(c))) {
        let Some((path, _)) = word.split_once('(') else { continue };
        let Some(name) = path.rsplit(['.', ':']).next().filter(|name| name.len() > 2) else { continue };
        n_seen.insert(name.to_owned());
        let is_there = sources.contains(&format!("fn {name}")) || name.starts_with(char::is_uppercase);
        // Names of the standard library, of a reader's own, and of attributes.
        let is_other = ["unwrap_or", "unwrap_or_else", "helper", "statistics"].contains(&name);
        assert!(is_there || is_other, "`{word}`");
    }
    assert!(n_seen.len() > 25, "{n_seen:?}");
}

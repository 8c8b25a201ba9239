//! The examples of the pages about running, pipelines, the plugin API and embedding, which share their files: each is
//! compiled and run, or marked with the reason why it is not.
//!
//! Above a block, `<!-- file: NAME -->` puts it into the folder that commands run in, and `<!-- not run: WHY -->` says
//! why it is not run. In the output of a command, `…` stands for any lines, and numbers with a unit of time, of memory,
//! or with `%` are not compared.

mod host;

use relais::{
    pipeline::{Disk, PipelineSpec},
    plugin::{Policy, discover},
    registry::{Choices, Linked, Registry},
};
use relais_tests::{
    cargo_built::{author_cargo, plugin, plugin_source, workspace},
    cli::{Run, command, folder, relais},
    page::{self, Block, commands, is_as},
};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::LazyLock,
};

/// The pages whose examples share one folder, in the order in which their commands are run.
const PAGES: [(&str, &str); 5] = [
    ("running.md", include_str!("../../../../docs/running.md")),
    ("pipelines.md", include_str!("../../../../docs/pipelines.md")),
    ("plugin-api.md", include_str!("../../../../docs/plugin-api.md")),
    ("pass-infrastructure.md", RULES),
    ("embedding.md", include_str!("../../../../docs/embedding.md")),
];

const RULES: &str = include_str!("../../../../docs/pass-infrastructure.md");

/// The model that the pages use.
pub(crate) const MODEL: &str = "def @main(%x: Tensor[(2, 3), float32]) -> (%y) #[opset = {\"\": 17}] {
  %a = Identity(%x);
  %b = Neg(%a);
  %c = Neg(%b);
  %y = Relu(%c);
  %y
}
";

/// A folder with the plugin of the pages and nothing else.
static PLUGIN: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = folder("docs-plugin");
    let built = plugin("guide");
    fs::copy(&built, folder.join(built.file_name().expect("cargo names its files"))).expect("it can be copied");
    folder
});

/// The folders of the shipped plugins and of the one of the pages.
pub(crate) fn plugin_folders() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = workspace().plugins.iter().filter_map(|path| Some(path.parent()?.into())).collect();
    folders.dedup();
    folders.push(PLUGIN.clone());
    folders
}

/// The blocks of all pages.
fn blocks() -> Vec<Block> {
    PAGES.iter().flat_map(|(name, text)| page::blocks(name, text)).collect()
}

/// A folder with the files of the pages, and the plugin in `plugins`.
fn folder_of_pages(name: &str) -> PathBuf {
    let folder = folder(name);
    for block in blocks() {
        let Some(name) = block.file() else { continue };
        fs::write(folder.join(name), block.text).expect("the folder can be written");
    }
    let plugins = folder.join("plugins");
    fs::create_dir(&plugins).expect("the folder is new");
    for entry in fs::read_dir(&*PLUGIN).expect("it was made").flatten() {
        fs::copy(entry.path(), plugins.join(entry.file_name())).expect("it can be copied");
    }
    folder
}

#[test]
fn every_block_is_of_a_kind_that_is_tested() {
    for block in blocks() {
        let mark = block.mark;
        let is_known = match block.language {
            "rust" | "console" => mark.is_none(),
            "toml" => mark.is_some_and(|(kind, _)| kind == "file"),
            "text" => mark.is_some(),
            _ => false,
        };
        assert!(is_known, "{}: a block of `{}` with {mark:?}:\n{}", block.place(), block.language, block.text);
    }
}

#[test]
fn every_block_of_rust_stands_in_a_source_that_is_compiled_and_run() {
    let guide = fs::read_to_string(plugin_source("guide").join("src/lib.rs")).unwrap();
    let sources = [guide.as_str(), include_str!("host.rs")];
    for block in blocks().iter().filter(|block| block.language == "rust") {
        let is_found = sources.iter().any(|source| source.contains(&block.text));
        assert!(is_found, "{}: this block is not what is compiled:\n{}", block.place(), block.text);
    }
    let rest = blocks()
        .iter()
        .filter(|block| block.language == "rust")
        .fold(guide.clone(), |rest, block| rest.replacen(&block.text, "", 1));
    assert_eq!(rest.trim(), "", "the plugin has what no page shows");
}

#[test]
fn the_plugin_of_the_readme_is_the_beginning_of_the_one_of_the_page() {
    let guide = fs::read_to_string(plugin_source("guide").join("src/lib.rs")).unwrap();
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md")).unwrap();
    let (_, block) = readme.split_once("```rust\n").expect("it shows a plugin");
    let (block, _) = block.split_once("```\n").expect("the block ends");
    assert!(guide.starts_with(block) && block.contains("fn neg_neg"), "{block}");
}

#[test]
fn every_file_is_what_it_claims() {
    let files: Vec<PathBuf> = workspace().plugins.iter().cloned().chain([plugin("guide")]).collect();
    let registry = Registry::new(discover(&[], &files, Policy::default()), Linked::Exclude, &Choices::new());
    let mut names = BTreeSet::new();
    for block in blocks() {
        let Some(name) = block.file() else { continue };
        assert!(names.insert(name), "{}: `{name}` is there twice", block.place());
        if name == "model.relay" {
            assert_eq!(block.text, MODEL);
            continue;
        }
        let resolved = PipelineSpec::parse(name, &block.text, &Disk).and_then(|spec| spec.resolve(&registry));
        match (resolved, name.starts_with("faulty")) {
            (Ok(_), true) => panic!("{}: nothing is wrong with it", block.place()),
            (Err(faults), false) => panic!("{}: {faults}", block.place()),
            _ => {}
        }
    }
}

#[test]
fn every_command_prints_what_the_page_says() {
    let folder = folder_of_pages("docs-commands");
    for block in blocks().iter().filter(|block| block.language == "console" && block.is_run()) {
        for (line, expected) in commands(block) {
            let args = line.strip_prefix("$ relais ").unwrap_or_else(|| panic!("{}: `{line}`", block.place()));
            let args = args.split(' ').map(|arg| arg.trim_matches('\''));
            let Run { stdout, stderr, .. } =
                Run::of(command().current_dir(&folder).env("RELAIS_PLUGIN_PATH", "plugins").args(args));
            let printed = stdout + &stderr;
            assert!(is_as(expected, &printed), "{}: `{line}` prints\n{printed}\nand not\n{expected}", block.place());
        }
    }
}

#[test]
fn every_argument_that_the_page_names_is_one() {
    // Those of cargo and of TVM.
    let mut help = "--release --open --pass-config ".to_owned();
    for command in ["run", "lock", "replay", "list", "describe", "show", "diff"] {
        help += &relais([command, "--help"]).expect_success().stdout;
    }
    let is_of_name = |c: char| c.is_ascii_lowercase() || c == '-';
    let known: BTreeSet<&str> = help.split(|c| !is_of_name(c)).filter(|word| word.starts_with("--")).collect();
    let is_argument = |word: &&str| word.starts_with("--") && word.contains(|c: char| c.is_ascii_lowercase());
    for (page, text) in PAGES {
        for word in text.split(|c| !is_of_name(c)).filter(is_argument) {
            assert!(known.contains(word), "{page}: no command has an argument `{word}`");
        }
    }
}

#[test]
fn every_rule_is_listed_once() {
    let listed: Vec<&str> =
        RULES.lines().filter_map(|line| line.strip_prefix("- **R")?.split_once("**")).map(|(n, _)| n).collect();
    let all: Vec<String> = (1..=28).map(|n| n.to_string()).collect();
    assert_eq!(listed, all);
}

#[test]
fn the_plugin_of_the_page_passes_its_own_tests() {
    let mut cargo = author_cargo();
    cargo.args(["test", "--quiet", "--manifest-path"]).arg(plugin_source("guide").join("Cargo.toml"));
    let run = Run::of(&mut cargo);
    assert!(run.status == Some(0) && run.stdout.contains("1 passed"), "{}{}", run.stdout, run.stderr);
}

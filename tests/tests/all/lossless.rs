//! Anything that no pass touched is written as it was read: byte for byte if nothing was touched, equal as a model if
//! every node was recreated or the model went through the text form.

use relais_tests::{
    cargo_built::plugin,
    cli::{files, folder, quick_folder, relais},
    venv::{add_large_models, every, judge_models, models, some_cases, some_models, with_pass},
};
use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};
use tempfile::TempDir;

/// The most nodes of a model for which each is touched in turn.
const MANY: usize = 4;

macro_rules! for_each_kind {
    ($($name:ident: $($kind:literal)*;)*) => {
        mod bytes {$(
            #[test]
            fn $name() {
                super::lossless(&[], &[$($kind),*]);
            }
        )*}

        mod through_text {$(
            #[test]
            fn $name() {
                super::lossless(&["--through-text"], &[$($kind),*]);
            }
        )*}

        mod every_node_made_anew {$(
            #[test]
            fn $name() {
                super::lossless(&["--parsed", &super::with_pass("touch.TouchAll", "touch")], &[$($kind),*]);
            }
        )*}
    };
}

fn lossless(args: &[&str], kinds: &[&str]) {
    let mut args: Vec<String> = args.iter().map(ToString::to_string).collect();
    args.extend(kinds.iter().flat_map(|kind| ["--kind".to_owned(), kind.to_string()]));
    match kinds {
        ["node"] => args.extend(some_cases()),
        ["light"] => {}
        _ => args.extend(some_models()),
    }
    judge_models(&["lossless"], &args.iter().map(String::as_str).collect::<Vec<_>>());
}

for_each_kind! {
    light: "light";
    node: "node";
    simple: "simple";
    pytorch: "pytorch-operator" "pytorch-converted";
    made: "made";
}

/// The pass fails if a node was left out; its count of nodes shows that it ran.
#[test]
fn every_node_of_resnet_is_made_anew() {
    let folder = folder("touch-all");
    let model = models().folder.join("light/resnet50/model.onnx");
    let report = folder.join("report.json");
    touch(&model, &folder.join("out.onnx"), "touch.TouchAll", &["--report".as_ref(), report.as_ref()]);
    let report: serde_json::Value = serde_json::from_slice(&fs::read(report).unwrap()).unwrap();
    let count = |key: &str| report["before"][key].as_u64().unwrap();
    let n_bindings = count("n_nodes") + count("n_initializers");
    let diagnostics = report["run"]["diagnostics"].to_string();
    assert!(n_bindings > 400, "{report}");
    assert!(diagnostics.contains(&format!("made anew: {n_bindings} bindings, 1 parameters, 0 functions")), "{report}");
}

/// Every node of small models, and the first, the middle and the last one of others; of each model one of these, unless all
/// cases are requested.
#[test]
fn touching_one_node_changes_its_bytes_and_the_lengths_around_it() {
    let mut n_judged = 0;
    let mut n_external = 0;
    let mut n_imports = 0;
    let mut n_models = 0_usize;
    for kind in ["light", "simple", "pytorch-operator", "pytorch-converted", "made"] {
        for case in subfolders(&models().folder.join(kind)) {
            n_models += 1;
            if every() > 1 && kind != "light" && !n_models.is_multiple_of(3) {
                continue;
            }
            let model = case.join("model.onnx");
            let untouched = untouched(&model);
            let before = fs::read(untouched.path().join("out.onnx")).unwrap();
            let n_nodes = count_nodes(&before);
            let mut indices = match n_nodes {
                0..=MANY => (0..n_nodes).collect(),
                _ => vec![0, n_nodes / 2, n_nodes - 1],
            };
            indices.retain(|&index| split(&before, index).is_some());
            if every() > 1 && !indices.is_empty() {
                indices = vec![indices[n_models % indices.len()]];
            }
            for index in indices {
                let folder = quick_folder();
                let out = folder.path().join("out.onnx");
                let expected = split(&before, index).expect("it was split before");
                touch(&model, &out, "touch.TouchOne", &["--set".as_ref(), set_index(index).as_ref()]);
                let after = fs::read(&out).unwrap();
                let found = split(&after, index).expect("the graph still stands in one piece");
                let [start @ .., end] = expected.around;
                let [found_start @ .., found_end] = found.around;
                assert_eq!(found_start, start, "{}, node {index}", model.display());
                // The import of the node's domain comes with it where the model lacks it.
                let added = found_end.strip_prefix(end).expect("what stands behind the graph stays");
                let numbers: Vec<u64> = fields(added).iter().map(|field| field.number).collect();
                assert!(matches!(numbers[..], [] | [OPSET_IMPORT]), "{}, node {index}", model.display());
                n_imports += numbers.len();
                assert_ne!(found.node, expected.node, "{}, node {index}", model.display());
                assert!(contains(found.node, b"touched"), "{}, node {index}", model.display());
                n_external += usize::from(compare_data(untouched.path(), folder.path()) > 0);
                n_judged += 1;
            }
        }
    }
    println!("{n_judged} nodes were touched, {n_external} of them in models with data files");
    let least = if every() == 1 { (500, 5, 1) } else { (80, 1, 0) };
    assert!(n_judged > least.0 && n_external >= least.1, "too few");
    assert!((least.2..=1).contains(&n_imports), "{n_imports} imports were added");
}

/// The folder with a model as it is written elsewhere when nothing is touched: its bytes, or, where a data file is mostly
/// gaps, with another data file.
fn untouched(model: &Path) -> TempDir {
    let folder = quick_folder();
    let out = folder.path().join("out.onnx");
    relais(["run".as_ref(), model.as_os_str(), "-qO0".as_ref(), "-o".as_ref(), out.as_ref()]).expect_success();
    folder
}

/// Compares the files beside two models, and returns their number.
fn compare_data(expected: &Path, found: &Path) -> usize {
    assert_eq!(files(found), files(expected));
    let beside: Vec<String> = files(found).into_iter().filter(|name| name != "out.onnx").collect();
    for name in &beside {
        assert!(fs::read(found.join(name)).unwrap() == fs::read(expected.join(name)).unwrap(), "`{name}` changed");
    }
    beside.len()
}

#[test]
#[ignore = "writes 600 MB several times; `.ci/full large` runs it"]
fn weights_of_600_mb_stay_out_of_memory() {
    add_large_models();
    let args = ["--kind", "large", "--max-anonymous-mb", "64"];
    println!("{}", judge_models(&["lossless"], &args));
    println!("{}", judge_models(&["lossless", "--parsed", &with_pass("touch.TouchAll", "touch")], &args));
}

fn set_index(index: usize) -> String {
    format!("touch.TouchOne.index={index}")
}

#[track_caller]
fn touch(model: &Path, out: &Path, pass: &str, args: &[&OsStr]) {
    let plugin = plugin("touch");
    let fixed: [&OsStr; 8] = [
        "run".as_ref(),
        model.as_ref(),
        "-qo".as_ref(),
        out.as_ref(),
        "--plugin".as_ref(),
        plugin.as_ref(),
        "--passes".as_ref(),
        pass.as_ref(),
    ];
    relais(fixed.iter().chain(args)).expect_success();
}

fn subfolders(folder: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    folders
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// A model's bytes, without the lengths of the graph and of the node.
struct Split<'a> {
    around: [&'a [u8]; 4],
    node: &'a [u8],
}

const GRAPH: u64 = 7;
const NODE: u64 = 1;
const OPSET_IMPORT: u64 = 8;

/// `None` if the graph is in several pieces, or other fields between nodes' tags would be cut.
fn split(bytes: &[u8], index: usize) -> Option<Split<'_>> {
    let mut graphs = fields(bytes).into_iter().filter(|field| field.number == GRAPH);
    let graph = graphs.next()?;
    if graphs.next().is_some() {
        return None;
    }
    let node = fields(graph.content).into_iter().filter(|field| field.number == NODE).nth(index)?;
    let around = [&bytes[..graph.start], &graph.content[..node.start], &graph.content[node.end..], &bytes[graph.end..]];
    Some(Split { around, node: node.content })
}

fn count_nodes(bytes: &[u8]) -> usize {
    let graphs = fields(bytes).into_iter().filter(|field| field.number == GRAPH);
    graphs.flat_map(|graph| fields(graph.content)).filter(|field| field.number == NODE).count()
}

/// A field: where it begins with its tag, where it ends, and its contents if it has a length.
struct Field<'a> {
    number: u64,
    start: usize,
    end: usize,
    content: &'a [u8],
}

fn fields(bytes: &[u8]) -> Vec<Field<'_>> {
    let mut fields = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        let tag = varint(bytes, &mut at);
        let mut content = &[][..];
        match tag & 7 {
            0 => _ = varint(bytes, &mut at),
            1 => at += 8,
            2 => {
                let len = varint(bytes, &mut at) as usize;
                content = &bytes[at..][..len];
                at += len;
            }
            5 => at += 4,
            // A group's beginning and end; its contents are read as fields.
            _ => {}
        }
        fields.push(Field { number: tag >> 3, start, end: at, content });
    }
    fields
}

fn varint(bytes: &[u8], at: &mut usize) -> u64 {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let byte = bytes[*at];
        *at += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
    }
    value
}

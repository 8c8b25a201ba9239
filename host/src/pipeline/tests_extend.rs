//! Tests of extension points, and of pipelines that plugins provide.

use super::{
    fake::{Does, Fakes, module, option},
    *,
};
use crate::{manager, options::ValueKind, pass::NoPass};
use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::{Path, PathBuf},
};

/// Files, and the pipelines of a plugin.
#[derive(Default)]
struct Shelf {
    files: BTreeMap<PathBuf, String>,
    named: BTreeMap<String, String>,
}

impl Files for Shelf {
    fn read(&self, path: &Path) -> io::Result<String> {
        match path.to_str().is_some_and(|path| path.starts_with("builtin:")) {
            true => Disk.read(path),
            false => self.files.get(path).cloned().ok_or_else(|| io::ErrorKind::NotFound.into()),
        }
    }

    fn named(&self, name: &str, _: &[spec::PluginDemand]) -> Result<NamedPipeline, NoPass> {
        let near = crate::words::nearest(name, self.named.keys().map(String::as_str));
        let toml = self.named.get(name).cloned().ok_or(NoPass::Unknown(near))?;
        Ok(NamedPipeline { name: name.into(), toml, plugin: "fakes 1.2.3".into() })
    }
}

fn shelf(files: &[(&str, &str)], named: &[(&str, &str)]) -> Shelf {
    Shelf {
        files: files.iter().map(|(name, text)| ((*name).into(), (*text).into())).collect(),
        named: named.iter().map(|(name, text)| ((*name).into(), (*text).into())).collect(),
    }
}

/// Passes, of which `acme.Z` and `acme.Y` extend `here`.
fn fakes() -> Fakes {
    Fakes::default()
        .pass("A", 0, &[], Does::Change)
        .pass("B", 0, &[], Does::Change)
        .pass("C", 0, &[], Does::Change)
        .pass("acme.Z", 0, &[], Does::Change)
        .extends("here")
        .pass("acme.Y", 0, &[], Does::Change)
        .extends("here")
        .pass("acme.High", 4, &[], Does::Change)
        .extends("here")
        .plugin("fakes", "1.2.3")
}

fn resolve(text: &str, shelf: &Shelf, fakes: &Fakes) -> Result<Pipeline, Faults> {
    PipelineSpec::parse("p.toml", text, shelf)?.resolve(fakes)
}

/// The passes that run, in order, and those of the printed form of the resolved pipeline.
fn ran(text: &str, shelf: &Shelf) -> String {
    let fakes = fakes();
    let run = |pipeline: &Pipeline| manager::run(pipeline, &module(), &fakes, &Default::default()).unwrap();
    let pipeline = resolve(text, shelf, &fakes).unwrap_or_else(|faults| panic!("{faults}"));
    run(&pipeline);
    let first = fakes.ran();
    let printed = pipeline.print();
    let again = resolve(&printed, shelf, &fakes).unwrap_or_else(|faults| panic!("{printed}\n{faults}"));
    run(&again);
    assert_eq!(fakes.ran(), first, "what is printed runs the same: {printed}");
    first
}

fn codes(faults: &Faults) -> Vec<&'static str> {
    faults.list.iter().map(|fault| fault.code.as_str()).collect()
}

fn fault(text: &str, shelf: &Shelf, fakes: &Fakes) -> String {
    match resolve(text, shelf, fakes) {
        Ok(pipeline) => panic!("`{text}` resolves to {}", pipeline.print()),
        Err(faults) => faults.to_string(),
    }
}

#[test]
fn plugins_add_passes_at_a_point_by_name_and_files_after_them() {
    let none = Shelf::default();
    let text = "steps = [\"A\", { extension = \"here\" }, \"B\"]";
    assert_eq!(ran(text, &none), "A acme.Y acme.Z B");
    assert_eq!(ran(&format!("{text}\nextend.here = [\"C\", \"A\"]"), &none), "A acme.Y acme.Z C A B");
    assert_eq!(ran(&format!("opt_level = 4\n{text}"), &none), "A acme.High acme.Y acme.Z B");
    assert_eq!(ran(&format!("disabled = [\"acme.Y\"]\n{text}"), &none), "A acme.Z B");
    assert_eq!(ran(&format!("disabled = [\"here\"]\n{text}"), &none), "A B");
    assert_eq!(ran(&format!("extensions = \"off\"\n{text}"), &none), "A B");
    assert_eq!(ran(&format!("extensions = \"off\"\n{text}\nextend.here = [\"C\"]"), &none), "A C B");
}

#[test]
fn passes_are_added_in_the_order_that_they_ask_for() {
    let resolved = |orders: &[(&str, &[&str], &[&str])]| {
        let add = |fakes: Fakes, &(name, before, after): &(&str, &[&str], &[&str])| {
            fakes.pass(name, 0, &[], Does::Change).extends("here").ordered(before, after)
        };
        let fakes = orders.iter().fold(Fakes::default().plugin("fakes", "1.2.3"), add);
        let pipeline = resolve("steps = [{ extension = \"here\" }]", &Shelf::default(), &fakes).unwrap();
        manager::run(&pipeline, &module(), &fakes, &Default::default()).unwrap();
        (fakes.ran(), pipeline.warnings)
    };
    let order = |orders: &[(&str, &[&str], &[&str])]| {
        let (ran, warnings) = resolved(orders);
        assert!(warnings.is_empty(), "{warnings:?}");
        ran
    };
    assert_eq!(order(&[("a.A", &[], &["a.C"]), ("a.B", &[], &[]), ("a.C", &[], &[])]), "a.B a.C a.A");
    assert_eq!(order(&[("a.A", &[], &[]), ("a.B", &[], &[]), ("a.C", &["a.A"], &[])]), "a.B a.C a.A");
    assert_eq!(order(&[("a.A", &[], &["C", "B?"]), ("a.B", &[], &["C"]), ("a.C", &[], &[])]), "a.C a.B a.A");
    // Names of passes that are not added here say nothing.
    assert_eq!(order(&[("a.A", &["a.Gone"], &["a.Z"]), ("a.B", &[], &[])]), "a.A a.B");
    let (ran, warnings) = resolved(&[
        ("a.A", &["a.B"], &[]),
        ("a.B", &["a.C"], &[]),
        ("a.C", &["a.A"], &[]),
        ("a.D", &["a.A"], &["a.A"]),
    ]);
    assert_eq!(ran, "a.A a.B a.C a.D");
    assert!(warnings[0].starts_with("at `here`, ") && warnings[0].contains("`a.C`"), "{warnings:?}");
    let (ran, warnings) = resolved(&[("a.A", &[], &["a.B"]), ("a.B", &[], &["a.A"]), ("a.C", &[], &[])]);
    assert_eq!(ran, "a.C a.A a.B");
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    // Others keep the order that they ask for.
    let (ran, _) = resolved(&[("a.A", &[], &["a.Z"]), ("a.Y", &[], &["a.Z"]), ("a.Z", &[], &["a.Y"])]);
    assert_eq!(ran, "a.Y a.Z a.A");
    assert!(warnings[0].contains("`a.A`") && warnings[0].contains("`a.B`") && !warnings[0].contains("`a.C`"));
}

#[test]
fn a_pass_of_a_plugin_comes_after_the_steps_of_files_that_it_names() {
    let order = |text: &str, orders: &[(&str, &[&str], &[&str])]| {
        let add = |fakes: Fakes, &(name, before, after): &(&str, &[&str], &[&str])| {
            fakes.pass(name, 0, &[], Does::Change).extends("here").ordered(before, after)
        };
        let fakes = orders.iter().fold(fakes().plugin("fakes", "1.2.3"), add);
        let text = format!("steps = [{{ extension = \"here\", then = [\"B\"] }}]\n{text}");
        let pipeline = resolve(&text, &Shelf::default(), &fakes).unwrap();
        manager::run(&pipeline, &module(), &fakes, &Default::default()).unwrap();
        let first = fakes.ran();
        manager::run(
            &resolve(&pipeline.print(), &Shelf::default(), &fakes).unwrap(),
            &module(),
            &fakes,
            &Default::default(),
        )
        .unwrap();
        assert_eq!(fakes.ran(), first);
        first
    };
    let late: &[(&str, &[&str], &[&str])] = &[("b.First", &[], &["A"])];
    assert_eq!(order("extend.here = [\"C\", \"A\"]", late), "acme.Y acme.Z C A b.First B");
    assert_eq!(order("extend.here = [{ fixpoint = [\"A\"], max_rounds = 1 }]", late), "acme.Y acme.Z A b.First B");
    assert_eq!(order("extend.here = [\"C\"]", late), "acme.Y acme.Z b.First C B");
    // A pass that asks to come after one of these does, too.
    let two: &[(&str, &[&str], &[&str])] = &[("b.First", &[], &["A?"]), ("b.Second", &[], &["b.First"])];
    assert_eq!(order("extend.here = [\"A\"]", two), "acme.Y acme.Z A b.First b.Second B");
    let two: &[(&str, &[&str], &[&str])] = &[("b.First", &["acme.Y"], &["A"])];
    assert_eq!(order("extend.here = [\"A\"]", two), "acme.Z A b.First acme.Y B");
    // One that asks to come before them does in any case.
    assert_eq!(order("extend.here = [\"A\"]", &[("b.First", &["A"], &[])]), "acme.Y acme.Z b.First A B");
}

#[test]
fn a_point_at_which_nothing_is_added_is_nothing() {
    let none = Shelf::default();
    let text = "steps = [\"A\", { extension = \"there\", then = [\"B\"] }]";
    assert_eq!(ran(text, &none), "A");
    assert_eq!(ran(&format!("disabled = [\"there\"]\n{text}"), &none), "A");
    assert_eq!(ran(&format!("{text}\nextend.there = []"), &none), "A");
    assert_eq!(ran(&format!("{text}\nextend.there = [\"C\"]"), &none), "A C B");
    let pipeline = resolve(text, &none, &fakes()).unwrap();
    assert_eq!((pipeline.n_steps(), pipeline.additions.len()), (1, 0));
}

#[test]
fn what_follows_at_a_point_runs_only_where_something_was_added() {
    let text =
        |point| format!("steps = [{{ fixpoint = [{{ extension = \"{point}\", then = [\"B\"] }}], max_rounds = 1 }}]");
    assert_eq!(ran(&text("here"), &Shelf::default()), "acme.Y acme.Z B");
    assert_eq!(ran(&text("there"), &Shelf::default()), "");
}

#[test]
fn what_an_included_file_adds_stays_in_its_own_steps_and_comes_first() {
    let files = shelf(
        &[
            ("inner.toml", "steps = [{ extension = \"there\" }]\nextend.there = [\"A\"]"),
            ("other.toml", "steps = [{ extension = \"there\" }]"),
        ],
        &[],
    );
    let text = "steps = [{ include = \"inner.toml\" }, \"C\", { include = \"other.toml\" }]\nextend.there = [\"B\"]";
    assert_eq!(ran(text, &files), "A B C B");
}

#[test]
fn nothing_is_added_to_what_was_added() {
    let files = shelf(&[("inner.toml", "steps = [\"A\", { extension = \"here\" }]")], &[]);
    let text = "steps = [{ extension = \"here\" }]\nextend.here = [{ include = \"inner.toml\" }]";
    assert_eq!(ran(text, &files), "acme.Y acme.Z A");
    // A point that a file itself adds would be lost without a word.
    let text = "steps = [{ extension = \"here\" }]\nextend.here = [\"A\", { extension = \"there\" }]";
    let text = fault(text, &files, &fakes());
    assert!(text.contains("error[P004]: an extension point cannot be added at another one"), "{text}");
    assert!(text.contains("p.toml:2:"), "{text}");
}

#[test]
fn a_point_that_is_not_there_is_a_fault_with_the_nearest_name() {
    let none = Shelf::default();
    let text = fault("steps = [{ include = \"builtin:O1\" }]\nextend.after-simplfy = []", &none, &fakes());
    assert!(text.contains("error[P010]: the pipeline has no extension point `after-simplfy`"), "{text}");
    assert!(text.contains("p.toml:2:8") && text.contains("did you mean `after-simplify`?"), "{text}");
    let text = fault("steps = [\"A\"]\nextend.last = [\"B\"]", &none, &fakes());
    assert!(text.contains("include a pipeline that has it"), "{text}");
    // A point of the outer file does not exist for the inner one.
    let files = shelf(&[("inner.toml", "steps = [\"A\"]\nextend.here = [\"B\"]")], &[]);
    let text = fault("steps = [{ include = \"inner.toml\" }, { extension = \"here\" }]", &files, &fakes());
    assert!(text.contains("inner.toml:2:8"), "{text}");
}

#[test]
fn faults_in_extensions_are_told_with_their_places() {
    let none = Shelf::default();
    for (text, code) in [
        ("steps = [{ extension = 3 }]", "P003"),
        ("steps = [{ extension = \"a\", than = [] }]", "P002"),
        ("steps = [{ extension = \"a\", then = \"A\" }]", "P003"),
        ("extend = []", "P003"),
        ("steps = [{ extension = \"a\" }]\nextend.a = \"A\"", "P003"),
        ("steps = [{ extension = \"a\" }]\nextend.a = [\"Nowhere\"]", "P010"),
        ("extensions = \"of\"", "P004"),
    ] {
        let faults = resolve(text, &none, &fakes()).unwrap_err();
        assert_eq!(codes(&faults), [code], "{text}: {faults}");
        assert!(faults.list[0].place.is_some(), "{text}");
    }
    let files = shelf(&[("inner.toml", "extensions = \"off\"")], &[]);
    assert_eq!(codes(&resolve("steps = [{ include = \"inner.toml\" }]", &files, &fakes()).unwrap_err()), ["P018"]);
}

#[test]
fn what_many_points_and_many_steps_would_make_is_limited() {
    let steps = "\"A\",".repeat(2000);
    let points = "{ extension = \"there\" },".repeat(1000);
    let text = format!("steps = [{points}]\nextend.there = [{steps}]");
    assert_eq!(codes(&PipelineSpec::parse("p.toml", &text, &Shelf::default()).unwrap_err()), ["P009"]);
}

#[test]
fn passes_that_cannot_be_added_are_warned_of() {
    let depth = option("depth", ValueKind::Bool, None);
    let with = |fakes: Fakes| resolve("steps = [{ extension = \"here\" }]", &Shelf::default(), &fakes).unwrap();
    let pipeline = with(fakes().pass("acme.Typo", 0, &[], Does::Change).extends("hree"));
    let warning = "pass `acme.Typo` of plugin `fakes 1.2.3` extends `hree`, which no pipeline has; did it mean `here`?";
    assert_eq!(pipeline.warnings, [warning]);
    let pipeline = with(fakes().pass("acme.Deep", 0, &[], Does::Change).extends("here").options(vec![depth]));
    let warning =
        "pass `acme.Deep` of plugin `fakes 1.2.3` extends `here`, but is not added: it needs its option `depth`";
    assert_eq!(pipeline.warnings, [warning]);
    // A point exists in a shipped pipeline, but not in this one.
    assert!(with(fakes().pass("acme.Last", 0, &[], Does::Change).extends("last")).warnings.is_empty());
}

#[test]
fn a_pass_of_two_plugins_is_a_conflict_where_it_is_added() {
    let two = fakes().pass("acme.Y", 0, &[], Does::Nothing).extends("here").of("others");
    let text = fault("steps = [{ extension = \"here\" }]", &Shelf::default(), &two);
    assert!(text.contains("P011") && text.contains("it extends `here`"), "{text}");
    assert!(resolve("steps = [\"A\"]", &Shelf::default(), &two).is_ok());
    let off = "extensions = \"off\"\nsteps = [{ extension = \"here\" }]";
    assert!(resolve(off, &Shelf::default(), &two).is_ok());
}

#[test]
fn what_is_printed_says_where_steps_come_from() {
    let files = shelf(&[("inner.toml", "steps = [{ extension = \"here\" }]")], &[("acme.tidy", "steps = [\"C\"]")]);
    let text = "steps = [{ include = \"inner.toml\" }, { include = \"acme.tidy\" }]\nextend.here = [\"A\"]";
    let printed = resolve(text, &files, &fakes()).unwrap().print();
    let mut at = 0;
    for line in ["# from `inner.toml`", "name = \"here\"", "# from `acme.tidy` of plugin `fakes 1.2.3`", "\"C\""] {
        at += printed[at..].find(line).unwrap_or_else(|| panic!("{line}: {printed}"));
    }
    for lines in ["# plugin `fakes 1.2.3` adds it\n            \"acme.Y\"", "# `p.toml` adds it\n            \"A\""] {
        assert!(printed.contains(lines), "{printed}");
    }
}

#[test]
fn additions_are_told_once_and_only_those_that_are_on() {
    let text = "disabled = [\"acme.Z\"]\nsteps = [{ extension = \"here\" }, { extension = \"here\" }]";
    let pipeline = resolve(text, &Shelf::default(), &fakes()).unwrap();
    let told: Vec<&str> = pipeline.additions.iter().map(|it| it.pass.as_str()).collect();
    assert_eq!(told, ["acme.Y"]);
}

#[test]
fn the_points_of_the_built_in_pipelines_are_listed() {
    let (of_graphs, of_builds) = EXTENSION_POINTS.split_at(4);
    for (name, text) in BUILT_IN {
        let points: BTreeSet<String> = extension_points(text).into_iter().collect();
        let expected = match *name {
            "O0" | "O3" | "dtype" | "opset" | "rules" => &[][..],
            "build-c" => of_builds,
            _ => of_graphs,
        };
        assert_eq!(points, expected.iter().map(|point| (*point).to_owned()).collect(), "{name}");
    }
}

#[test]
fn pipelines_of_plugins_are_included_by_name() {
    let named = [
        ("acme.tidy", "opt_level = 0\nsteps = [\"A\", { include = \"acme.more\" }]"),
        ("acme.more", "steps = [\"B\"]"),
    ];
    let files = shelf(&[("acme.more", "steps = [\"C\"]")], &named);
    assert_eq!(ran("steps = [{ include = \"acme.tidy\" }, \"C\"]", &files), "A B C");
    // A file that exists is preferred, unless the name has a prefix.
    assert_eq!(ran("steps = [{ include = \"acme.more\" }]", &files), "C");
    assert_eq!(ran("steps = [{ include = \"plugin:acme.more\" }]", &files), "B");
    let spec = PipelineSpec::read(Path::new("plugin:acme.tidy"), &files).unwrap();
    assert_eq!(spec.name, "acme.tidy");
}

#[test]
fn pipelines_of_plugins_that_are_not_there_are_faults() {
    let named = [
        ("acme.tidy", "steps = [{ include = \"acme.tidy\" }]"),
        ("acme.files", "steps = [{ include = \"p.toml\" }]"),
        ("acme.broken", "# One fault.\nsteps = [\n    { pas = \"A\" },\n]"),
    ];
    let files = shelf(&[("p.toml", "steps = []")], &named);
    let include = |name: &str| fault(&format!("steps = [{{ include = \"{name}\" }}]"), &files, &fakes());
    let text = include("acme.tdy");
    assert!(text.contains("P010") && text.contains("did you mean `acme.tidy`?"), "{text}");
    assert!(include("acme.tidy").contains("P008"), "it includes itself");
    // A plugin's pipeline does not reach for files.
    assert!(include("acme.files").contains("no file and no plugin's pipeline is called `p.toml`"));
    assert!(include("acme.broken").contains("plugin:acme.broken:3:5"), "{}", include("acme.broken"));
    assert!(include("none.toml").contains("P007"));
    let faults = PipelineSpec::read(Path::new("plugin:acme.none"), &files).unwrap_err();
    assert_eq!(codes(&faults), ["P010"]);
}

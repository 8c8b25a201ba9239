//! The properties of the filetests mean something: each has a pass that lacks it, and only it.

// The same source that is loaded: a crate of another workspace cannot be a dependency here.
#[path = "../../plugins/bad/src/faults.rs"]
mod faults;
#[path = "../../plugins/bad/src/properties.rs"]
mod lacking;

use relais_conformance::{
    Kind,
    filetest::{Case, CaseFailure, CaseOutcome, KEYS, Reason},
};
use relais_tests::{cargo_built::plugin, filetest::Libraries, reference::Judge};
use std::sync::{LazyLock, atomic::Ordering};

static LIBRARIES: LazyLock<Libraries> = LazyLock::new(|| Libraries::open(&[plugin("bad")]));

/// One call of everything that the passes look for.
const INPUT: &str = "def @main(%x: Tensor[(2, 3), float32], %y: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] #[opset = {\"\": 17}] {
    %0 = Relu(%x);
    %1 = Add(%0, %y);
    %2 = Identity(%1);
    %3 = Sigmoid(%2);
    %3
}
";

fn case(pass: &str, source: &str) -> Case {
    Case::parse(pass, source).unwrap()
}

/// The rules that a pass breaks.
fn broken(pass: &str) -> Vec<Kind> {
    let failures = case(pass, INPUT).check(&Judge).failures;
    let kinds = failures.iter().filter_map(|failure| match failure.reason {
        Reason::Kind(kind) => Some(kind),
        // The input states no expectation.
        Reason::Unchanged | Reason::Expected => None,
        Reason::Case | Reason::Error => panic!("{failures:?}"),
    });
    kinds.collect()
}

#[test]
fn each_bad_pass_breaks_one_rule() {
    lacking::IS_ON.store(true, Ordering::Relaxed);
    assert_eq!(broken("bad.LosesInText"), [Kind::Text]);
    assert_eq!(broken("bad.UsesTooEarly"), [Kind::Broken]);
    assert_eq!(broken("bad.NeverDone"), [Kind::NotIdempotent]);
    assert_eq!(broken("bad.SaysChanged"), [Kind::FalseChange]);
    assert_eq!(broken("bad.RenamesParameter"), [Kind::Interface]);
    assert_eq!(broken("bad.RemovesRelu"), [Kind::Numbers]);
    assert_eq!(broken("bad.DependsOnStatic"), []);
    let how = LIBRARIES.same_as_linked(&case("bad.DependsOnStatic", INPUT)).unwrap_err();
    assert!(how.starts_with("loaded, the pass differs: "), "{how}");
}

#[test]
fn a_pass_that_behaves_breaks_none() {
    assert_eq!(broken("bad.Fault"), []);
    assert_eq!(LIBRARIES.same_as_linked(&case("bad.Fault", INPUT)), Ok(()));
}

#[test]
fn the_expected_text_is_a_property_too() {
    let check = |source: &str| {
        let failures = case("bad.RemovesRelu", source).check(&Judge).failures;
        let reasons = failures.iter().map(|failure| (failure.reason, failure.line));
        reasons.filter(|&(reason, _)| reason != Reason::Kind(Kind::Numbers)).collect::<Vec<_>>()
    };
    let outcome = case("bad.RemovesRelu", INPUT).check(&Judge);
    // A case with which something else is wrong is not blessed.
    assert_eq!(outcome.blessed(&case("bad.RemovesRelu", INPUT)), None);
    let only_text =
        |failures: &[CaseFailure]| failures.iter().filter(|it| it.reason == Reason::Expected).cloned().collect();
    let outcome = CaseOutcome { failures: only_text(&outcome.failures), ..outcome };
    let blessed = outcome.blessed(&case("bad.RemovesRelu", INPUT)).unwrap();
    assert_eq!(check(&blessed), []);
    assert_eq!(check(&blessed.replace("// expected:", "// expected:\n// something else")), [(Reason::Expected, 10)]);
    assert_eq!(check(INPUT), [(Reason::Expected, 1)]);
    let unchanged = |source: &str| check(&format!("//! unchanged = true\n{source}"));
    assert_eq!(unchanged(INPUT), [(Reason::Unchanged, 1)]);
    assert_eq!(unchanged(&blessed), [(Reason::Unchanged, 1)]);
    // A case that expects nothing says so.
    let failures = case("bad.Fault", INPUT).check(&Judge).failures;
    assert_eq!(failures.iter().map(|failure| failure.reason).collect::<Vec<_>>(), [Reason::Unchanged]);
}

/// The failure of a case that is about numbers.
fn numbers_of(case: Case) -> Option<String> {
    let mut failures = case.check(&Judge).failures.into_iter();
    failures.find(|failure| failure.reason == Reason::Kind(Kind::Numbers)).map(|failure| failure.to_string())
}

#[test]
fn what_is_not_evaluated_is_declared() {
    let numbers = |header: &str, call: &str| {
        let input = INPUT.replace("Sigmoid(%2)", call);
        numbers_of(case("bad.RemovesRelu", &format!("{header}{input}")))
    };
    let declared = |what: &str| format!("//! numbers = \"not evaluated: {what}\"\n");
    let unknown = "acme::Frobnicate(%2)";
    let how = numbers("", unknown).unwrap();
    assert!(how.contains("`Frobnicate` ") && how.contains("`numbers = \"not evaluated: Frobnicate\"`"), "{how}");
    assert_eq!(numbers(&declared("Frobnicate"), unknown), None);
    assert!(numbers(&declared("Sigmoid"), unknown).unwrap().contains("`Frobnicate` "));
    // Types without values are reported too.
    let texts = |text: &str| text.replace("float32", "complex64");
    let of_texts = |header: &str| numbers_of(case("bad.RemovesRelu", &format!("{header}{}", texts(INPUT))));
    assert!(of_texts("").unwrap().contains("there are no values for parameter `%x`"));
    assert_eq!(of_texts(&declared("%x")), None);
    // A declaration that no longer holds is an error; so is another value.
    let how = numbers_of(case("bad.Fault", &format!("{}{INPUT}", declared("Sigmoid")))).unwrap();
    assert!(how.contains("the header says that `Sigmoid` is not evaluated, but it is"), "{how}");
    assert!(Case::parse("bad.Fault", &format!("//! numbers = \"wrong\"\n{INPUT}")).is_err());
}

#[test]
fn the_page_names_every_key_and_reason() {
    let page = include_str!("../../../docs/filetests.md");
    for name in KEYS.into_iter().chain(Reason::OF_FILETESTS.map(Reason::name)) {
        assert!(page.contains(&format!("\n| `{name}` | ")), "{name}");
    }
}

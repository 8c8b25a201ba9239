//! The properties of the filetests mean something: each has a pass that lacks it, and only it.

// The same source that is loaded: a crate of another workspace cannot be a dependency here.
#[path = "../../plugins/bad/src/faults.rs"]
mod faults;
#[path = "../../plugins/bad/src/properties.rs"]
mod lacking;

use relais_tests::{
    cargo_built::plugin,
    filetest::{Case, Libraries, Property},
};
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

/// The properties that a pass lacks, those of the expected text apart: there is none.
fn lacks(pass: &str) -> Vec<Property> {
    let case = Case::parse(pass, INPUT).unwrap();
    let (_, failures) = case.check(Some(&LIBRARIES));
    let mut lacking: Vec<Property> = failures.iter().map(|failure| failure.property).collect();
    lacking.retain(|&property| property != Property::Expected);
    lacking.sort();
    assert!(!lacking.contains(&Property::Case), "{failures:?}");
    lacking
}

#[test]
fn each_bad_pass_lacks_one_property() {
    lacking::IS_ON.store(true, Ordering::Relaxed);
    assert_eq!(lacks("bad.LosesInText"), [Property::RoundTrip]);
    assert_eq!(lacks("bad.UsesTooEarly"), [Property::Verified]);
    assert_eq!(lacks("bad.NeverDone"), [Property::Idempotent]);
    assert_eq!(lacks("bad.SaysChanged"), [Property::HonestChanged]);
    assert_eq!(lacks("bad.RenamesParameter"), [Property::SameInterface]);
    assert_eq!(lacks("bad.RemovesRelu"), [Property::SameNumbers]);
    assert_eq!(lacks("bad.DependsOnStatic"), [Property::StaticEqualsLoaded]);
}

#[test]
fn a_pass_that_behaves_lacks_none() {
    assert_eq!(lacks("bad.Fault"), []);
}

#[test]
fn the_expected_text_is_a_property_too() {
    let check = |source: &str| {
        let (_, failures) = Case::parse("bad.RemovesRelu", source).unwrap().check(None);
        let properties = failures.iter().map(|failure| failure.property);
        properties.filter(|&property| property != Property::SameNumbers).collect::<Vec<_>>()
    };
    let case = Case::parse("bad.RemovesRelu", INPUT).unwrap();
    let blessed = case.blessed(&case.check(None).0);
    assert_eq!(check(&blessed), []);
    assert_eq!(check(&blessed.replace("// expected:", "// expected:\n// something else")), [Property::Expected]);
    assert_eq!(check(INPUT), [Property::Expected]);
    assert_eq!(check(&format!("//! unchanged = true\n{INPUT}")), [Property::Expected]);
}

#[test]
fn what_is_not_evaluated_is_declared() {
    let numbers = |header: &str, call: &str| {
        let input = INPUT.replace("Sigmoid(%2)", call);
        let (_, failures) = Case::parse("bad.RemovesRelu", &format!("{header}{input}")).unwrap().check(None);
        failures.into_iter().find(|failure| failure.property == Property::SameNumbers).map(|failure| failure.how)
    };
    let declared = |what: &str| format!("//! numbers = \"not evaluated: {what}\"\n");
    let unknown = "acme::Frobnicate(%2)";
    let how = numbers("", unknown).unwrap();
    assert!(how.contains("`Frobnicate` ") && how.contains("`numbers = \"not evaluated: Frobnicate\"`"), "{how}");
    assert_eq!(numbers(&declared("Frobnicate"), unknown), None);
    assert!(numbers(&declared("Sigmoid"), unknown).unwrap().contains("`Frobnicate` "));
    // Types without values are reported too.
    let texts = |text: &str| text.replace("float32", "string");
    let of_texts = |header: &str| {
        let (_, failures) = Case::parse("bad.RemovesRelu", &format!("{header}{}", texts(INPUT))).unwrap().check(None);
        failures.into_iter().find(|failure| failure.property == Property::SameNumbers).map(|failure| failure.how)
    };
    assert!(of_texts("").unwrap().contains("there are no values for parameter `%x`"));
    assert_eq!(of_texts(&declared("%x")), None);
    // A declaration that no longer holds is an error; so is another value.
    let (_, failures) = Case::parse("bad.Fault", &format!("{}{INPUT}", declared("Sigmoid"))).unwrap().check(None);
    assert!(failures.iter().any(|failure| failure.how == "the header says that `Sigmoid` is not evaluated, but it is"));
    assert!(Case::parse("bad.Fault", &format!("//! numbers = \"wrong\"\n{INPUT}")).is_err());
}

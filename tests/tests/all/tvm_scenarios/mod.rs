//! Scenarios of TVM's tests of passes, which every front end answers in the same way.
//!
//! They are data, in `tests/golden/tvm`: a module, a pipeline, and what comes of them. Here they are run by the command line,
//! with arguments and with a file, by requests of a session, and by passes and contexts as objects; `test_tvm_scenarios.py`
//! runs them in Python. Those in `events` have passes and instruments of their own, which the command line cannot have, and
//! state what these write down.

mod events;
mod scenario;
mod ways;

use relais::registry::{Choices, Linked, Registry};
use relais_tests::cli::quick_folder;
use scenario::{Scenario, names, read};
use std::sync::LazyLock;
use ways::{Answer, WAYS};

/// The shipped plugins, linked into this program.
static REGISTRY: LazyLock<Registry> =
    LazyLock::new(|| Registry::new(Default::default(), Linked::Include, &Choices::new()));

macro_rules! files {
    ($($file:ident)*) => {
        const FILES: &[&str] = &[$(stringify!($file)),*];

        $(
            #[test]
            fn $file() {
                each_way(stringify!($file));
            }
        )*
    };
}

files! {
    faults
    levels
    loops
    missing
    options
    printing
    sequences
}

#[test]
fn every_file_of_scenarios_is_run() {
    assert_eq!(names(""), FILES);
}

/// Runs the scenarios of a file in each way.
#[track_caller]
fn each_way(file: &str) {
    let folder = quick_folder();
    let mut wrong = String::new();
    for scenario in read(file) {
        for (way, answer) in WAYS.iter().filter(|(way, _)| !scenario.not_by.iter().any(|other| other == way)) {
            let answer = answer(&scenario, folder.path());
            for difference in differences(&scenario, answer) {
                wrong += &format!("\n{}, by {way}: {difference}", scenario.name);
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// The differences between an answer and what is expected.
fn differences(scenario: &Scenario, answer: Answer) -> Vec<String> {
    let mut differences = Vec::new();
    let mut compare = |what: &str, found: &str, expected: &str| {
        if found != expected {
            differences.push(format!("{what}\n{found}\n  instead of\n{expected}"));
        }
    };
    compare("the passes", &answer.ran, &scenario.ran);
    // Messages about a failure that the policy allows are shown where each front end shows them.
    if scenario.run_setting("on_failure").is_none() {
        compare("printed", &answer.printed, scenario.printed.trim());
    }
    match (answer.result, &scenario.fault) {
        (Ok(text), None) => compare("the module", &text, scenario.output.trim_start()),
        (Ok(_), Some(code)) => compare("the fault", "none", code),
        (Err(fault), None) => compare("the fault", &fault.words, "none"),
        (Err(fault), Some(code)) => {
            compare("the fault", &fault.code, code);
            let missing: Vec<&String> = scenario.says.iter().filter(|part| !fault.words.contains(*part)).collect();
            if !missing.is_empty() {
                compare("the words", &fault.words, &format!("{missing:?}"));
            }
        }
    }
    differences
}

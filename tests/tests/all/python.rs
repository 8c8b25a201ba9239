//! The Python package: each file of its tests is a test here.

use relais_tests::venv::{package, package_tests};
use std::{collections::BTreeSet, fs};

macro_rules! files {
    ($($file:ident)*) => {
        const FILES: &[&str] = &[$(stringify!($file)),*];

        $(
            #[test]
            #[cfg_attr(not(unix), ignore = "the package is built and tested on Unix")]
            fn $file() {
                let said = package_tests(concat!(stringify!($file), ".py"));
                assert!(said.contains(" passed") && !said.contains(" failed"), "{said}");
            }
        )*
    };
}

files! {
    test_analyses
    test_arguments
    test_compat
    test_config
    test_contexts
    test_cycles
    test_dependencies
    test_docs
    test_editor
    test_hazards
    test_ir
    test_optimize
    test_own_options
    test_pass_instrument
    test_pass_manager
    test_passes
    test_rewriter
    test_tvm_documents
    test_tvm_others
    test_tvm_scenarios
    test_zoo
}

#[test]
fn every_file_is_run() {
    let entries = fs::read_dir(package().join("tests")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let tests: BTreeSet<_> = names.filter(|name| name.starts_with("test_") && name.ends_with(".py")).collect();
    assert_eq!(FILES.iter().map(|name| format!("{name}.py")).collect::<BTreeSet<_>>(), tests);
}

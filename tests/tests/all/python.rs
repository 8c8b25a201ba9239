//! The Python package.

use relais_tests::venv::package_tests;

#[test]
#[cfg_attr(not(unix), ignore = "the package is built and tested on Unix")]
fn the_python_package_is_installed_and_passes_its_tests() {
    let said = package_tests();
    assert!(said.contains(" passed") && !said.contains(" failed"), "{said}");
}

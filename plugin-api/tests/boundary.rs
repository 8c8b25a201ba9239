//! Nobody changes the boundary unawares: its version and layout stand in a file.

use relais_plugin_api::boundary::{fingerprint::FINGERPRINT, record::BOUNDARY};
use std::{env, fs, path::Path};

#[test]
#[cfg(target_pointer_width = "64")]
fn the_boundary_is_the_one_that_was_written_down() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("boundary.txt");
    let (major, minor) = BOUNDARY;
    let now = format!("version {major}.{minor}\nlayout on 64-bit targets {FINGERPRINT:016x}\n");
    if env::var_os("RELAIS_BLESS").is_some() {
        fs::write(&path, &now).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap();
    assert_eq!(
        now, written,
        "what crosses the boundary has another layout, so that plugins built before are refused: raise \
         `BOUNDARY`, say it in the changelog, and run this test with RELAIS_BLESS=1"
    );
}

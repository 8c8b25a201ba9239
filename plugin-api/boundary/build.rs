//! Records the compiler that built the plugin boundary; the host compares it with its own.

use std::{env, process::Command};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let rustc = env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let version = Command::new(rustc).arg("--version").output().ok();
    let version = version.and_then(|output| String::from_utf8(output.stdout).ok()).unwrap_or_default();
    println!("cargo::rustc-env=RELAIS_RUSTC={}", version.trim());
    println!("cargo::rustc-env=RELAIS_TARGET={}", env::var("TARGET").unwrap_or_default());
}

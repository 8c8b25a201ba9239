//! How plugins start: the rows "Start-up" and "Compatibility" of possible errors, with plugins that were built against
//! another `relais-plugin-api`.
#![expect(unsafe_code, dead_code, reason = "what is derived for a table")]

use crate::common::*;
use abi_stable::{
    StableAbi,
    abi_stability::abi_checking::check_layout_compatibility,
    std_types::{RResult, RStr},
};
use relais::{
    plugin::Refusal,
    registry::{CreateError, Registry},
};
use std::{fs, path::Path, process::Command};

/// Why a plugin is refused when its pass is made, although its record is in order; the other plugin is not affected.
fn refused(plugin: &Path) -> (Refusal, String) {
    let registry: Registry = registry(&[plugin, &SAMPLE]);
    assert_eq!(registry.refused(), []);
    let error = registry.create("mark.Nothing", &table(&[])).err().expect("it is refused");
    let text = error.to_string();
    assert!(text.contains("`mark 0.1.0`"), "{text}");
    let CreateError::Open { refusal, .. } = error else { panic!("{text}") };
    assert!(run(&registry, "sample.Nothing", &table(&[]), &chain(&[])).is_ok());
    // The program reports the same, writes nothing, and runs the passes of others.
    let (model, out) = (plugin.with_file_name("model.relay"), plugin.with_file_name("out.relay"));
    fs::write(&model, "def @main(%x: Tensor[(2,), float32]) { %y = Relu(%x); %y }\n").unwrap();
    for (pass, status) in [("mark.Nothing", 1), ("sample.Nothing", 0)] {
        let mut relais = Command::new(env!("CARGO_BIN_EXE_relais"));
        relais.arg("run").arg(&model).arg("-o").arg(&out).args(["--passes", pass, "--allow-writable-plugins"]);
        relais
            .arg("--plugin")
            .arg(plugin)
            .arg("--plugin")
            .arg(&*SAMPLE)
            .env("RELAIS_HOME", plugin.with_file_name("home"));
        let output = relais.env_remove("RELAIS_PLUGIN_PATH").output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), out.exists()), (Some(status), status == 0), "{pass}: {stderr}");
        let first = refusal.to_string().lines().next().unwrap_or_default().to_owned();
        assert!(status == 0 || stderr.contains(&first), "{stderr}");
    }
    (refusal, text)
}

const INIT: &str = "logger::install(host, P::NAME, log_level);\n        Ok(())";

#[test]
#[ignore = "rebuilds the boundary; `.ci/full variants` runs it"]
fn an_initialiser_that_fails_is_a_refusal() {
    let failing = "logger::install(host, P::NAME, log_level);\n        Err(PassError::new(\"the licence has expired\").help(\"renew it\"))";
    let plugin = plugin_of_another_api("init-error", &[("plugin-api/boundary/src/entry.rs", INIT, failing)], &[]);
    let (refusal, text) = refused(&plugin);
    assert!(matches!(refusal, Refusal::Init(_)), "{text}");
    assert!(text.contains("its initialiser failed: the licence has expired") && text.contains("renew it"), "{text}");
}

#[test]
#[ignore = "rebuilds the boundary; `.ci/full variants` runs it"]
fn an_initialiser_that_panics_is_a_refusal() {
    let panicking = "logger::install(host, P::NAME, log_level);\n        panic!(\"not on a {}\", \"Sunday\")";
    let plugin = plugin_of_another_api("init-panic", &[("plugin-api/boundary/src/entry.rs", INIT, panicking)], &[]);
    let (refusal, text) = refused(&plugin);
    assert!(matches!(refusal, Refusal::Init(_)), "{text}");
    assert!(text.contains("its initialiser failed: ") && text.contains("not on a Sunday"), "{text}");
}

/// A record of this version, and a table that has grown: only a developer of the boundary makes plugins like this.
#[test]
#[ignore = "rebuilds the boundary; `.ci/full variants` runs it"]
fn a_plugin_that_knows_more_than_the_host_is_refused() {
    let grown = "pub log: for<'a, 'b> extern \"C\" fn(&'b LogRec<'a>),\n    /// Of a later version.\n    pub later: extern \"C\" fn(),";
    let log = "pub log: for<'a, 'b> extern \"C\" fn(&'b LogRec<'a>),";
    let plugin = plugin_of_another_api("grown", &[("plugin-api/boundary/src/abi.rs", log, grown)], &[]);
    let (refusal, text) = refused(&plugin);
    assert!(matches!(refusal, Refusal::Layout { .. }), "{text}");
    assert!(text.contains("boundary differ: `HostSetup` has too many fields (expected 2, found 1)\n"), "{text}");
    assert!(text.contains("rebuild the plugin"), "{text}");
}

/// A table as plugins of an earlier version know it.
mod earlier {
    use super::*;

    #[repr(C)]
    #[derive(StableAbi)]
    #[sabi(kind(Prefix(prefix_ref = TableRef, prefix_fields = TablePrefix)))]
    #[sabi(missing_field(panic))]
    pub struct Table {
        pub name: extern "C" fn() -> RStr<'static>,
        #[sabi(last_prefix_field)]
        pub run: extern "C" fn(u32) -> RResult<u32, u32>,
    }
}

/// The same table, grown at its end.
mod later {
    use super::*;

    #[repr(C)]
    #[derive(StableAbi)]
    #[sabi(kind(Prefix(prefix_ref = TableRef, prefix_fields = TablePrefix)))]
    #[sabi(missing_field(panic))]
    pub struct Table {
        pub name: extern "C" fn() -> RStr<'static>,
        #[sabi(last_prefix_field)]
        pub run: extern "C" fn(u32) -> RResult<u32, u32>,
        pub stop: extern "C" fn(),
    }
}

/// The order of arguments determines which side may be older; the wrong one refuses every plugin that is older than the
/// host.
#[test]
fn a_table_may_grow_at_its_end_in_the_host() {
    let (old, new) = (<earlier::TableRef as StableAbi>::LAYOUT, <later::TableRef as StableAbi>::LAYOUT);
    assert!(check_layout_compatibility(old, new).is_ok(), "a plugin that knows less is taken");
    assert!(check_layout_compatibility(new, old).is_err(), "a plugin that knows more is not");
}

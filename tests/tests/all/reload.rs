//! Plugins whose files are read again while the program runs.

use relais::{
    ir::IRModule,
    isolation::{Isolation, launch_workers_by},
    pass::RunCx,
    plugin::{Policy, Refusal, WritableFiles, discover},
    registry::{Choices, Linked, Registry},
    reload::ReloadError,
};
use relais_plugin_api::{options::Value, text};
use relais_tests::{
    cargo_built::{plugin, workspace},
    cli::folder,
    many::{library, with_version},
};
use std::{fs, process::Command};

const POLICY: Policy = Policy { writable: WritableFiles::Allow };

/// The words with which the pass panics, and the version of its plugin.
fn said(registry: &Registry, module: &IRModule) -> [String; 2] {
    let options = Value::Struct(vec![("fault".into(), Value::Str("panic".into()))]);
    let pass = registry.create("bad.Fault", &options).unwrap();
    let failed = pass.run(module, &RunCx::new(registry)).err().unwrap();
    [failed.error.rec().message.to_string(), failed.version.to_string()]
}

fn reloads(name: &str) {
    let here = folder(&format!("reload-{name}"));
    let file = library(&here, "bad");
    let bytes = fs::read(plugin("bad")).unwrap();
    let words = "the pass of a careless author";
    // A library that is open is not written to, but replaced.
    let put = |bytes: Vec<u8>| {
        let _ = fs::remove_file(&file);
        fs::write(&file, bytes).unwrap();
    };
    let changed = |version: &str, adjective: &str| {
        let mut bytes = with_version(&bytes, version);
        let places = (0..bytes.len() - words.len()).filter(|&at| bytes[at..].starts_with(words.as_bytes()));
        for at in places.collect::<Vec<_>>() {
            bytes[at..][..words.len()].copy_from_slice(words.replace("careless", adjective).as_bytes());
        }
        bytes
    };
    let module = text::parse_str("def @main(%x: Tensor[(2,), float32]) { Relu(%x) }").unwrap();
    put(bytes.clone());
    let found = discover(&[], std::slice::from_ref(&file), POLICY);
    let isolate = |registry: &Registry| match name {
        "isolated" => registry.isolate(|_| Some(Isolation::default()), "", Vec::new()),
        _ => registry.clone(),
    };
    let first = isolate(&Registry::new(found, Linked::Exclude, &Choices::new()));
    assert_eq!(said(&first, &module), [words, "6.6.6"]);
    put(changed("7.0.0", "reckless"));
    let second = first.reload("bad-passes", POLICY).unwrap();
    assert_eq!(said(&second, &module), ["the pass of a reckless author", "7.0.0"]);
    assert_eq!(said(&first, &module), [words, "6.6.6"]);
    assert_eq!(second.plugins().next().unwrap().isolation().is_some(), name == "isolated");
    // A file that cannot be used changes nothing.
    put(b"no library".to_vec());
    let refused = second.reload("bad-passes", POLICY).err();
    let is_refused = matches!(&refused, Some(ReloadError::Refused { refusal: Refusal::NotALibrary { .. }, .. }));
    assert!(is_refused, "{refused:?}");
    fs::remove_file(&file).unwrap();
    let refused = second.reload("bad-passes", POLICY).err().unwrap();
    assert!(refused.to_string().ends_with("is not used: there is no such file"), "{refused}");
    let unknown = second.reload("other", POLICY).err();
    assert_eq!(unknown, Some(ReloadError::Unknown { plugin: "other".into() }));
    assert_eq!(said(&second, &module), ["the pass of a reckless author", "7.0.0"]);
}

#[test]
fn a_plugin_that_is_read_again_is_what_its_file_is_now() {
    reloads("here");
}

#[test]
#[cfg(target_os = "linux")]
fn so_is_one_in_a_process_of_its_own() {
    launch_workers_by(|| {
        let mut worker = Command::new(&workspace().relais);
        worker.arg("worker");
        Ok(worker)
    });
    reloads("isolated");
}

//! Dumps of models with weights: each can be parsed, and shared data is on the disk once.

use crate::common;
use std::{fs, path::Path, process::Command};

fn relais(folder: &Path, args: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_relais"));
    command.current_dir(folder).args(args).env("RELAIS_PLUGIN_PATH", "").env("NO_COLOR", "1");
    command.env("RELAIS_HOME", folder.join("home"));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn r20_dumps_share_their_weights_and_are_numbered_as_stop_after_counts() {
    let folder = common::folder("dump-weights");
    let weights = (0..64).map(|n| format!("{n}.5")).collect::<Vec<_>>().join(", ");
    let model = format!(
        "def @main(%x: Tensor[(64,), float32]) {{ %w = const(float32, [{weights}]); %y = Relu(%x); %z = Relu(%y); \
         %s = Add(%z, %w); %s }}\n"
    );
    fs::write(folder.join("m.relay"), model).unwrap();
    let sample = common::SAMPLE.to_str().unwrap();
    let plugin = ["--plugin", sample, "--allow-writable-plugins", "-q"];
    let run = ["run", "m.relay", "-o", "out.relay", "--passes", "Nothing,ReluRelu,Rename", "--set", "Rename.prefix=a"];
    relais(&folder, &[&run[..], &plugin, &["--dump-dir", "dump"]].concat());
    let mut names: Vec<String> = fs::read_dir(folder.join("dump"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let texts = ["000-initial.relay", "002-ReluRelu.relay", "003-Rename.relay"];
    let mut expected: Vec<String> =
        texts.iter().flat_map(|name| [(*name).into(), format!("{name}.safetensors")]).collect();
    expected.push("index.jsonl".into());
    assert_eq!(names, expected);
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let inode = |name: &str| fs::metadata(folder.join(format!("dump/{name}.safetensors"))).unwrap().ino();
        assert_eq!(inode(texts[0]), inode(texts[1]));
    }
    for name in texts {
        let shown = relais(&folder, &["show", &format!("dump/{name}")]);
        assert!(shown.contains("Relu(") && shown.contains("%w = const(float32"), "{shown}");
    }
    // The second execution, requested by its number, leaves the same module as the dump of that number.
    relais(&folder, &[&run[..], &plugin, &["--stop-after", "2"]].concat());
    let dumped = relais(&folder, &["show", "dump/002-ReluRelu.relay"]);
    assert_eq!(relais(&folder, &["show", "out.relay"]), dumped);
    relais(&folder, &[&run[..], &plugin, &["--instrument", "dump:dir=small,weights=elide"]].concat());
    assert!(!folder.join("small/000-initial.relay.safetensors").exists());
}

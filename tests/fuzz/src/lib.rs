//! The properties that hold for every sequence of bytes that is given to a reader: an answer or an error, and nothing
//! is lost.
//!
//! Each function is a fuzz target; an ordinary test runs each on the contents of `seeds/`.

#[path = "../../../host/onnx/tests/all/common/mod.rs"]
pub mod onnx_common;

// Its passes are those that pipelines name.
use relais_graph as _;

use onnx_common::Forget;
use relais::{
    ir::{Blob, IRModule, equal, verify, verify_arena},
    onnx::{self, ReadOptions},
    pipeline::{Disk, Files, PipelineSpec, Style},
    plugin::{read_records, section_of},
    registry::{Linked, Registry},
};
use relais_plugin_api::{
    boundary::{
        record::{HEADER, Header},
        ship::Exchange,
        wire::checksum,
    },
    text,
};
use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    sync::LazyLock,
};

/// A model that can be read is sound, is written as it was, and is read again equal after every node was recreated.
pub fn onnx(data: &[u8]) {
    let read = |bytes: Vec<u8>| onnx::read_bytes("fuzz.onnx", Blob::from(bytes), &ReadOptions::default());
    let model = match read(data.to_vec()) {
        Ok(model) => model,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    assert_sound(&model.module);
    let mut out = Vec::new();
    onnx::write_to(&model.module, &mut out).expect("what was read can be written");
    if out != data && model.warnings.is_empty() {
        let at = out.iter().zip(data).take_while(|(out, data)| out == data).count();
        panic!("what nobody touched was written differently: {:?} for {:?}", &out[at..], &data[at..]);
    }
    let mut touched = model.module.clone();
    onnx_common::touch_all(&mut touched, Forget::Provenance);
    let mut out = Vec::new();
    // A model is written as it was read, whatever it imports; new nodes need the imports.
    let imports_all = touched.functions().all(|(_, f)| f.opset_version("").is_some());
    match onnx::write_to(&touched, &mut out) {
        Err(error) if !imports_all && matches!(error.kind(), onnx::ErrorKind::NoOpset) => return,
        written => drop(written.expect("what was recreated can be written")),
    }
    let mut again = read(out).unwrap_or_else(|error| panic!("what was written cannot be parsed: {error}")).module;
    // A model that is written completely imports every domain that it uses.
    let imports: Vec<(String, Vec<(String, i64)>)> = again
        .functions()
        .map(|(name, f)| (name.to_owned(), f.opset_imports().into_iter().map(|(d, v)| (d.to_owned(), v)).collect()))
        .collect();
    for module in [&mut touched, &mut again] {
        for (name, imports) in &imports {
            let imports: Vec<(&str, i64)> =
                imports.iter().map(|(domain, version)| (domain.as_str(), *version)).collect();
            if let Some(function) = module.function_mut(name) {
                function.set_opset_imports(&imports);
            }
        }
    }
    assert_equal(&touched, &again);
}

/// A text that can be parsed is a sound module; its printed form parses to an equal one and prints the same.
pub fn text(data: &[u8]) {
    let Ok(source) = std::str::from_utf8(data) else { return };
    let module = match text::parse_str(source) {
        Ok(module) => module,
        Err(errors) => return assert!(errors.iter().all(|error| !error.to_string().is_empty())),
    };
    if !verify(&module).is_empty() {
        return;
    }
    let printed = text::print(&module, &Default::default());
    let again = text::parse_str(&printed).unwrap_or_else(|errors| panic!("{}\nin\n{printed}", errors[0]));
    assert_equal(&module, &again);
    assert_eq!(printed, text::print(&again, &Default::default()));
}

/// A pipeline that resolves prints as one that resolves to the same. The text after a line `#---` is a file that the
/// pipeline may include, as `a.toml`.
pub fn toml(data: &[u8]) {
    static REGISTRY: LazyLock<Registry> =
        LazyLock::new(|| Registry::new(Default::default(), Linked::Include, &BTreeMap::new()));
    let Ok(source) = std::str::from_utf8(data) else { return };
    let (source, included) = source.split_once("\n#---\n").unwrap_or((source, ""));
    let files = Memory { included };
    let resolve = |source: &str| PipelineSpec::parse("fuzz.toml", source, &files)?.resolve(&*REGISTRY);
    let pipeline = match resolve(source) {
        Ok(pipeline) => pipeline,
        Err(faults) => return assert!(!faults.render(Style::Plain).is_empty()),
    };
    let printed = pipeline.print();
    let again = resolve(&printed).unwrap_or_else(|faults| panic!("{}\nin\n{printed}", faults.render(Style::Plain)));
    // Comments name the sources of steps: now all come from the printed file.
    let steps =
        |text: &str| text.lines().filter(|line| !line.trim_start().starts_with('#')).collect::<Vec<_>>().join("\n");
    assert_eq!(steps(&printed), steps(&again.print()));
}

/// Bytes as a section of records, once as they are and once with checksums that fit; and as a library with this
/// section.
pub fn records(data: &[u8]) {
    let read = |section: &[u8]| {
        if let Err(error) = read_records(&section.into()) {
            assert!(!error.to_string().is_empty());
        }
    };
    read(data);
    read(&with_checksums(data));
    if let Ok(section) = section_of(data) {
        assert!(section.len() <= data.len());
        read(&section);
        read(&with_checksums(&section));
    }
}

/// An answer to a module that was sent is refused, or is one that can be read and printed, and crosses again. The bytes are
/// those that were sent with changes (after a 0: places of two bytes, each with a byte), or others.
pub fn ship(data: &[u8]) {
    const SENT: &str = r#"def @helper(%x: Tensor[(2), float32]) -> (%y) #[opset = {"": 17}] { %y = Relu(%x); %y }
def @main(%x: Tensor[(2), float32], %c: Tensor[(), bool]) -> (%z) #[opset = {"": 17}] {
  %w = const(float32, (2), [1.0, 2.0]);
  %a = Add(%x, %w) #[note = "one", list = [1, 2]];
  %z = if (%c) { %p = @helper(%a); %p } else { Neg(%a) };
  %z
}
"#;
    static MODULE: LazyLock<IRModule> = LazyLock::new(|| match text::parse_str(SENT) {
        Ok(module) => module,
        Err(errors) => panic!("{}", errors[0]),
    });
    let mut exchange = Exchange::default();
    let sent = exchange.ship_module(&MODULE);
    let bytes = match data.split_first() {
        Some((0, changes)) => {
            let mut bytes = sent.clone();
            for change in changes.chunks_exact(3) {
                let at = usize::from(u16::from_le_bytes([change[0], change[1]])) % bytes.len();
                bytes[at] = change[2];
            }
            bytes
        }
        _ => data.to_vec(),
    };
    match exchange.module_back(&bytes, (&MODULE, &sent), |_| {}) {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(module) => {
            // Whether it is a program is the manager's question, as for a pass in this process.
            for (_, f) in module.bodies() {
                let faults = verify_arena(f);
                assert!(faults.is_empty(), "{}", faults[0]);
            }
            let _ = text::print(&module, &Default::default());
            let again = exchange.ship_module(&module);
            let again =
                exchange.module(&again).unwrap_or_else(|error| panic!("what came back does not cross: {error}"));
            assert_equal(&module, &again);
        }
    }
}

/// Bytes as messages of the process of a plugin.
pub fn messages(data: &[u8]) {
    #[cfg(target_os = "linux")]
    if data.len() < 1 << 16 {
        relais::serve::count_messages(data).expect("the system has connections");
    }
    #[cfg(not(target_os = "linux"))]
    let _ = data;
}

/// The reader for an input.
pub type Target = fn(&[u8]);

/// The targets, by name.
pub const TARGETS: [(&str, Target); 6] =
    [("messages", messages), ("onnx", onnx), ("records", records), ("ship", ship), ("text", text), ("toml", toml)];

fn assert_sound(module: &IRModule) {
    let faults = verify(module);
    assert!(faults.is_empty(), "{}", faults[0]);
}

fn assert_equal(one: &IRModule, other: &IRModule) {
    if let Err(difference) = equal(one, other) {
        panic!("{difference}");
    }
}

/// A fuzzer does not find checksums.
fn with_checksums(section: &[u8]) -> Vec<u8> {
    let mut section = section.to_vec();
    let mut at = 0;
    while let Some(header) = section.get(at..).and_then(Header::read) {
        let start = at + HEADER;
        let Some(fields) = start.checked_add(header.len).and_then(|end| section.get(start..end)) else { break };
        let sum = checksum(fields);
        section[start - 8..start].copy_from_slice(&sum.to_le_bytes());
        at = start + header.len;
    }
    section
}

struct Memory<'a> {
    included: &'a str,
}

impl Files for Memory<'_> {
    fn read(&self, path: &Path) -> io::Result<String> {
        match path.to_str() {
            Some("a.toml") => Ok(self.included.to_owned()),
            Some(name) if name.starts_with("builtin:") => Disk.read(path),
            _ => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn identity(&self, path: &Path) -> PathBuf {
        path.to_owned()
    }
}

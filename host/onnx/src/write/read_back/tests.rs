//! Files that change between writing and reading back (rule C15): nothing is put in place, and the place is said.

use super::super::{ExternalData, WriteOptions, write_through};
use crate::ErrorKind;
use relais_files::{Destination, Existing};
use relais_plugin_api::{ir::IRModule, text};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

const MODEL: &str = r#"
def @main(%x: Tensor[(2), float32], %c: Tensor[(), bool]) -> (%y, %z) #[opset = {"": 17, "local": 1}, value_info = ["s"], value_info_types = [type(Tensor[(n), float32])], quantization_annotation = ["\n\x01a\x12\x16\n\x0cSCALE_TENSOR\x12\x06second"]] {
  %unused = const(float32, [7.25]);
  %first = const(float32, [1.5, 2.5]);
  %second = const(float32, [3.5, 4.5]);
  %a = Add(%x, %first);
  %b = Mul(%x, %second);
  %s = Elu(%a, alpha = 0.75) #[name = "node"];
  %t = if (%c) -> (%then) {
    %then = Sub(%s, %b);
    %then
  } else -> (%other) {
    %other = Sub(%b, %s);
    %other
  };
  %y = @"local::Twice"(%t);
  %call = Constant(value_floats = [5.5, 6.5]);
  %d = Div(%a, %call);
  %z = Concat(%d, %y, axis = 0);
  (%y, %z)
}

def @"local::Twice"(%v) -> (%w) #[opset = {"": 17}, domain = "local", function_name = "Twice"] {
  %w = Add(%v, %v);
  %w
}
"#;

fn module() -> IRModule {
    text::parse_str(MODEL).unwrap_or_else(|faults| panic!("{}", faults[0]))
}

struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("relais-read-back-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Writes the model, while something happens to its files. Returns what is said, once nothing but an old file is there.
fn said(options: &WriteOptions, change: &dyn Fn(&mut Vec<u8>)) -> Option<String> {
    let folder = Folder::new();
    let out = folder.0.join("out.onnx");
    fs::write(&out, "old").unwrap();
    let destination = Destination::new(&out, Existing::Replace).unwrap();
    let tamper = |draft: &Path| {
        let mut bytes = fs::read(draft).unwrap();
        change(&mut bytes);
        fs::write(draft, bytes).unwrap();
    };
    match write_through(&module(), &destination, options, &tamper, &mut |_| true) {
        Ok(_) => None,
        Err(error) => {
            assert!(matches!(error.kind(), ErrorKind::ReadBack(_)), "{error}");
            let files: Vec<_> = fs::read_dir(&folder.0).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            assert_eq!((files.len(), fs::read(&out).unwrap()), (1, b"old".to_vec()), "{files:?}");
            Some(error.to_string())
        }
    }
}

fn find(bytes: &[u8], pattern: &[u8]) -> Option<usize> {
    bytes.windows(pattern.len()).position(|window| window == pattern)
}

/// Puts other bytes in the place of the first that are like a pattern, if any are.
fn replace(bytes: &mut [u8], from: &[u8], to: &[u8]) {
    assert_eq!(from.len(), to.len());
    if let Some(at) = find(bytes, from) {
        bytes[at..at + to.len()].copy_from_slice(to);
    }
}

/// As [`replace`], in the place of the last.
fn replace_last(bytes: &mut [u8], from: &[u8], to: &[u8]) {
    if let Some(at) = bytes.windows(from.len()).rposition(|window| window == from) {
        bytes[at..at + to.len()].copy_from_slice(to);
    }
}

fn floats(values: [f32; 2]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// A fault of the writer: a word for it, what it does to the bytes, and a part of what is said about it.
type Fault = (&'static str, fn(&mut Vec<u8>), &'static str);

const FAULTS: &[Fault] = &[
    ("truncated", |bytes| bytes.truncate(bytes.len() - 1), "it cannot be read"),
    ("emptied", Vec::clear, "it cannot be read"),
    ("a bit of a constant", |bytes| replace(bytes, &floats([1.5, 2.5]), &floats([1.5, 2.25])), "constant `first`"),
    (
        "two constants swapped",
        |bytes| {
            let (first, second) = (floats([1.5, 2.5]), floats([3.5, 4.5]));
            let (at, other) = (find(bytes, &first).unwrap(), find(bytes, &second).unwrap());
            bytes[at..at + 8].copy_from_slice(&second);
            bytes[other..other + 8].copy_from_slice(&first);
        },
        "other bytes of the constant",
    ),
    ("a constant's name", |bytes| replace(bytes, b"first", b"fifth"), "the name `fifth` is not defined"),
    (
        "a constant that is a call",
        |bytes| replace(bytes, &5.5f32.to_le_bytes(), &7.5f32.to_le_bytes()),
        "constant `call`",
    ),
    (
        "a constant that nothing uses",
        |bytes| replace(bytes, &7.25f32.to_le_bytes(), &7.5f32.to_le_bytes()),
        "constant `unused` of the graph",
    ),
    ("a node's name", |bytes| replace(bytes, b"node", b"Node"), "another name of the node"),
    ("an annotation", |bytes| replace(bytes, b"a\x12\x16", b"b\x12\x16"), "a quantisation annotation (`a`)"),
    ("a scale", |bytes| replace(bytes, b"\x12\x06second", b"\x12\x06decond"), "a quantisation annotation (`a`)"),
    (
        "a value that has a type",
        |bytes| replace(bytes, b"\x01s\x12\x0b", b"\x01b\x12\x0b"),
        "the type of a value (`s`)",
    ),
    ("a size", |bytes| replace(bytes, b"\x12\x01n", b"\x12\x01m"), "the type of a value (`s`)"),
    ("an operator", |bytes| replace(bytes, b"Mul", b"Div"), "another operator"),
    ("an attribute", |bytes| replace(bytes, &0.75f32.to_le_bytes(), &0.5f32.to_le_bytes()), "attribute `alpha`"),
    ("an attribute's name", |bytes| replace(bytes, b"alpha", b"gamma"), "attribute `alpha`"),
    ("the name of an input", |bytes| replace(bytes, b"\x01x\x0a\x05first", b"\x01c\x0a\x05first"), "input 0"),
    ("operands in another order", |bytes| replace(bytes, b"\x0a\x01s\x0a\x01b", b"\x0a\x01b\x0a\x01s"), "input 0"),
    ("a function's name", |bytes| replace(bytes, b"Twice", b"Thice"), "operator"),
    ("an output's name", |bytes| replace_last(bytes, b"\x0a\x01z", b"\x0a\x01a"), "output"),
    ("an import's version", |bytes| replace(bytes, b"\x10\x11", b"\x10\x10"), "imports"),
];

#[test]
fn c15_what_was_not_meant_is_not_put_in_place() {
    assert_eq!(said(&WriteOptions::default(), &|_| ()), None);
    for (fault, change, expected) in FAULTS {
        let said = said(&WriteOptions::default(), change).unwrap_or_else(|| panic!("{fault}: nothing was said"));
        assert!(said.contains("internal error") && said.contains(expected), "{fault}: {said}");
    }
}

#[test]
fn c15_data_files_are_read_back() {
    let options = WriteOptions::default().with_external_data(ExternalData::External { min_bytes: 0 });
    assert_eq!(said(&options, &|_| ()), None);
    let said = |change: &dyn Fn(&mut Vec<u8>)| said(&options, change).unwrap();
    // A data file alone, since the model itself has neither the bytes nor that length.
    let spoilt = said(&|bytes| replace(bytes, &floats([3.5, 4.5]), &floats([3.5, 4.75])));
    assert!(spoilt.contains("constant `second`: other bytes of the constant"), "{spoilt}");
    let shorter = said(&|bytes| {
        if find(bytes, b"Elu").is_none() {
            bytes.truncate(4)
        }
    });
    assert!(shorter.contains("it cannot be read: "), "{shorter}");
    let elsewhere = said(&|bytes| replace(bytes, b"out.onnx.data", b"out.onnx.dato"));
    assert!(elsewhere.contains("it cannot be read: "), "{elsewhere}");
}

#[test]
fn a_model_is_put_in_place_if_what_was_read_back_is_accepted() {
    let folder = Folder::new();
    let out = folder.0.join("out.onnx");
    fs::write(&out, "old").unwrap();
    let destination = Destination::new(&out, Existing::Replace).unwrap();
    for is_accepted in [false, true] {
        let mut names = Vec::new();
        let mut accept = |read: &IRModule| {
            names.extend(read.functions().map(|(name, _)| name.to_owned()));
            is_accepted
        };
        let written = super::super::write_if(&module(), &destination, &WriteOptions::default(), &mut accept).unwrap();
        assert_eq!((written.is_some(), fs::read(&out).unwrap() != b"old"), (is_accepted, is_accepted));
        assert_eq!(names, ["main", "local::Twice"]);
        assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1);
    }
}

/// The file declares for `y` and `r` what they cannot be, which is more than is inferred from the operators.
#[test]
fn c15_outputs_keep_the_types_that_they_are_declared_with() {
    let model = r#"
def @main(%x: Tensor[(N, 4, 3), float32], %c: Tensor[(), bool]) -> (%y, %t) #[opset = {"": 17}, output_types = [type(Tensor[(?), float32]), type(Tensor[(?), float32])]] {
  %y: Tensor[(N, 4, 3), float32] = Relu(%x);
  %t: Tensor[(?), float32] = if (%c) -> (%r) #[output_types = [type(Tensor[(2), float32])]] {
    %r: Tensor[(N, 4, 3), float32] = Neg(%x);
    %r
  } else -> (%s) {
    %s = Abs(%x);
    %s
  };
  (%y, %t)
}
"#;
    let module = text::parse_str(model).unwrap_or_else(|faults| panic!("{}", faults[0]));
    let folder = Folder::new();
    let out = folder.0.join("out.onnx");
    super::super::write(&module, &out, &WriteOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let read = crate::read(&out, &crate::ReadOptions::default()).unwrap();
    let text = text::print(&read, &text::PrintOptions::default());
    assert!(text.contains("%y: Tensor[(?), float32] = Relu") && text.contains("%r: Tensor[(2), float32]"), "{text}");
}

/// Whatever byte changes, it is noticed.
#[test]
fn c15_a_byte_that_changes_is_noticed() {
    let folder = Folder::new();
    let out = folder.0.join("out.onnx");
    super::super::write(&module(), &out, &WriteOptions::default()).unwrap();
    let written = fs::read(&out).unwrap();
    for at in 0..written.len() {
        let bit = at % 8;
        let said = said(&WriteOptions::default(), &|bytes| bytes[at] ^= 1 << bit);
        assert!(said.is_some(), "bit {bit} of byte {at} of {}", written.len());
    }
}

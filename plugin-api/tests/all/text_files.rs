//! A text and its side file.

use relais_plugin_api::{
    ir::*,
    text::{self, FileError, Large, PrintOptions, SideFile, TextCode},
};
use std::{
    fs,
    path::{Path, PathBuf},
};

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("relais-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn write(module: &IRModule, path: &Path) {
    let mut text = Vec::new();
    let options = PrintOptions { large: Large::SideFile, ..PrintOptions::default() };
    let tensors = text::print_io(module, &options, &mut text).unwrap();
    fs::write(path, text).unwrap();
    if !tensors.is_empty() {
        let side = text::side_path(path);
        SideFile::write(&tensors, &side).unwrap();
        assert_eq!(fs::read(side).unwrap(), SideFile::to_bytes(&tensors).unwrap());
    }
}

fn read(path: &Path) -> Result<IRModule, FileError> {
    text::read_files(path, |side| fs::read(side).map(Blob::from))
}

#[test]
fn large_constants_go_beside_the_text() {
    let folder = Folder::new("side");
    let path = folder.0.join("m.relay");
    let mut list = String::new();
    for (at, elem) in ElemType::ALL.iter().enumerate() {
        if *elem == ElemType::STRING {
            list += &format!("  %c{at} = const(string, [{}]);\n", vec!["\"a\""; 21].join(", "));
        } else {
            let bytes = elem.bytes_for(21).unwrap() as usize;
            let hex = "01".repeat(bytes - 1) + "00";
            list += &format!("  %c{at} = const({elem}, (3, 7), hex\"{hex}\");\n");
        }
    }
    let module = text::parse_str(&format!("def @main() {{\n{list}  ()\n}}")).unwrap();
    write(&module, &path);
    let names: Vec<_> = fs::read_dir(&folder.0).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    assert!(fs::read_to_string(&path).unwrap().contains("const(float32, (3, 7), @\"t0\")"));
    assert_eq!(equal(&module, &read(&path).unwrap()), Ok(()));

    let side = text::side_path(&path);
    fs::write(&side, b"nonsense").unwrap();
    assert!(matches!(read(&path), Err(FileError::SideFile { .. })));
    fs::remove_file(&side).unwrap();
    let Err(FileError::Text(errors)) = read(&path) else { panic!("read without its side file") };
    assert_eq!(errors[0].code, TextCode::SideFile);
    assert!(matches!(read(&folder.0.join("none.relay")), Err(FileError::Io { .. })));
}

#[test]
fn small_modules_have_no_side_file() {
    let folder = Folder::new("small");
    let path = folder.0.join("m.relay");
    let module = text::parse_str("def @main(%x) { Add(%x, 1.0) }").unwrap();
    write(&module, &path);
    assert!(!text::side_path(&path).exists());
    assert_eq!(equal(&module, &read(&path).unwrap()), Ok(()));
}

#[test]
fn a_tensor_of_another_size_is_refused() {
    let tensor = Tensor::from_f32(&[2], &[1.0, 2.0]);
    let side = text::SideFile::from_tensors([("t0".to_owned(), tensor)]);
    let text = "def @main() { const(float32, (3), @\"t0\") }";
    let errors = text::parse("m.relay", text, &side).err().unwrap();
    assert_eq!(
        errors[0].to_string(),
        "m.relay:1:35: error[T005]: tensor `t0` of the side file: the data has 8 bytes where type and shape ask for 12"
    );
    assert!(text::parse("m.relay", &text.replace("(3)", "(2)"), &side).is_ok());
}

use super::*;
use relais_plugin_api::{
    ir::{ElemType, IRModule, equal},
    text::{self, PrintOptions, TextCode},
};
use std::{
    env,
    fs::{self, Permissions},
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::PathBuf,
};

/// A folder that is removed when this value is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("relais-files-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn replace(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    write(path, Existing::Replace, bytes)
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().mode() & 0o7777
}

#[test]
fn what_is_replaced_keeps_its_mode_and_its_links() {
    let folder = Folder::new("mode");
    let (file, link, far) = (folder.file("a"), folder.file("link"), folder.file("far"));
    fs::write(&file, "old").unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
    replace(&file, b"new").unwrap();
    assert_eq!((fs::read(&file).unwrap(), mode(&file)), (b"new".to_vec(), 0o640));
    symlink("a", &link).unwrap();
    symlink("link", &far).unwrap();
    replace(&far, b"newer").unwrap();
    assert_eq!((fs::read(&file).unwrap(), mode(&file)), (b"newer".to_vec(), 0o640));
    assert!(link.is_symlink() && far.is_symlink());
    // A link to nothing names the file that it will lead to.
    let dangling = folder.file("dangling");
    symlink("b", &dangling).unwrap();
    replace(&dangling, b"b").unwrap();
    assert!(dangling.is_symlink());
    assert_eq!(fs::read(folder.file("b")).unwrap(), b"b");
    symlink("round", folder.file("round")).unwrap();
    assert!(matches!(replace(&folder.file("round"), b"x").unwrap_err().why, Why::Io(_)));
    assert_eq!(folder.names(), ["a", "b", "dangling", "far", "link", "round"]);
}

#[test]
fn an_owner_stays_or_nothing_is_written() {
    let folder = Folder::new("owner");
    let file = folder.file("a");
    fs::write(&file, "old").unwrap();
    // Only the administrator can create this kind of file.
    if std::os::unix::fs::chown(&file, Some(4711), Some(4712)).is_ok() {
        replace(&file, b"new").unwrap();
        let metadata = file.metadata().unwrap();
        assert_eq!((metadata.uid(), metadata.gid()), (4711, 4712));
    }
    let error = FileError { path: file, why: Why::Owner };
    assert!(error.of("output").ends_with("belongs to somebody whom a new file cannot be given"));
}

#[test]
fn what_may_not_be_replaced_stays() {
    let folder = Folder::new("denied");
    let (file, inner) = (folder.file("a"), folder.file("folder"));
    fs::write(&file, "old").unwrap();
    fs::create_dir(&inner).unwrap();
    let why = |path: &Path, existing| write(path, existing, b"new").unwrap_err().why;
    assert!(matches!(why(&file, Existing::Keep), Why::Exists));
    assert!(matches!(why(&inner, Existing::Replace), Why::Folder));
    assert!(matches!(why(&folder.file("no/a"), Existing::Replace), Why::NoFolder(_)));
    fs::set_permissions(&file, Permissions::from_mode(0o444)).unwrap();
    assert!(matches!(why(&file, Existing::Replace), Why::ReadOnly));
    assert_eq!(fs::read(&file).unwrap(), b"old");
    assert_eq!(folder.names(), ["a", "folder"]);
    // A socket takes no bytes, and is not replaced.
    let _socket = std::os::unix::net::UnixListener::bind(folder.file("socket")).unwrap();
    assert!(matches!(why(&folder.file("socket"), Existing::Replace), Why::Special("socket")));
}

#[test]
fn devices_and_pipes_are_written_into() {
    let folder = Folder::new("device");
    let link = folder.file("null");
    symlink("/dev/null", &link).unwrap();
    replace(&link, b"gone").unwrap();
    write(&link, Existing::Keep, b"gone").unwrap();
    assert!(link.is_symlink());
    assert_eq!(*Destination::new(&link, Existing::Replace).unwrap().place(), WriteTarget::Stream("/dev/null".into()));
    let full = replace(Path::new("/dev/full"), b"x").unwrap_err();
    assert!(full.help().contains("space"), "{full}");
}

#[test]
fn dash_is_standard_output_for_arguments_alone() {
    let dash = |existing| Destination::of_argument(Path::new("-"), existing).unwrap().place().clone();
    assert_eq!(dash(Existing::Keep), WriteTarget::StandardOutput);
    let file = Destination::new(Path::new("-"), Existing::Replace).unwrap();
    assert_eq!(*file.place(), WriteTarget::File("-".into()));
}

#[test]
fn a_failure_leaves_everything_as_it_was() {
    let folder = Folder::new("failure");
    let file = folder.file("a");
    fs::write(&file, "old").unwrap();
    let destination = Destination::new(&file, Existing::Replace).unwrap();
    let error = destination.write(|out| {
        out.write_all(b"half")?;
        Err(io::ErrorKind::StorageFull.into())
    });
    assert!(error.unwrap_err().help().contains("space"));
    assert_eq!((fs::read(&file).unwrap(), folder.names()), (b"old".to_vec(), vec!["a".to_owned()]));
}

#[test]
fn files_of_a_set_appear_all_or_none() {
    let folder = Folder::new("set");
    let (data, model) = (folder.file("a.data"), folder.file("a"));
    fs::write(&model, "old").unwrap();
    let fill = || {
        let mut set = FileSet::new();
        set.add(&Destination::new(&data, Existing::Keep).unwrap()).unwrap().write_all(b"data").unwrap();
        set.add(&Destination::new(&model, Existing::Replace).unwrap()).unwrap().write_all(b"model").unwrap();
        set
    };
    let set = fill();
    assert_eq!(folder.names().len(), 3, "{:?}", folder.names());
    set.commit().unwrap();
    assert_eq!((fs::read(&model).unwrap(), fs::read(&data).unwrap()), (b"model".to_vec(), b"data".to_vec()));
    // The name is taken in the meantime.
    fs::remove_file(&data).unwrap();
    let set = fill();
    fs::write(&data, "somebody else's").unwrap();
    fs::write(&model, "newer").unwrap();
    assert!(matches!(set.commit().unwrap_err().why, Why::Exists));
    assert_eq!(fs::read(&data).unwrap(), b"somebody else's");
    assert_eq!(fs::read(&model).unwrap(), b"newer");
    assert_eq!(folder.names(), ["a", "a.data"]);
}

/// The name under which a set writes the file that was added last, and the random part of it.
fn temporary(set: &FileSet) -> (String, String) {
    let name = set.path().unwrap().file_name().unwrap().to_str().unwrap();
    let token = name.strip_suffix(".relais-tmp").unwrap().rsplit('.').next().unwrap();
    (name.to_owned(), token.to_owned())
}

#[test]
fn temporary_names_cannot_be_predicted() {
    let folder = Folder::new("names");
    let destination = Destination::new(&folder.file("a"), Existing::Keep).unwrap();
    let (mut one, mut other) = (FileSet::new(), FileSet::new());
    one.add(&destination).unwrap();
    other.add(&destination).unwrap();
    let ((name, token), (_, other)) = (temporary(&one), temporary(&other));
    assert!(name.starts_with(".a."), "{name}");
    // Of a counter, a time or the number of the process, one half would be the same.
    assert_eq!((token.len(), other.len()), (16, 16));
    assert!(token[..8] != other[..8] && token[8..] != other[8..], "{token} and {other}");
}

#[test]
fn a_link_under_a_temporary_name_is_not_followed() {
    let folder = Folder::new("planted");
    let victim = folder.file("victim");
    fs::write(&victim, "old").unwrap();
    let mut set = FileSet::new();
    set.add(&Destination::new(&folder.file("a"), Existing::Keep).unwrap()).unwrap().write_all(b"a").unwrap();
    // The files of a set share the random part of their names, which tells the name of the next one.
    let planted = folder.file(&temporary(&set).0.replacen(".a.", ".b.", 1));
    symlink(&victim, &planted).unwrap();
    set.add(&Destination::new(&folder.file("b"), Existing::Keep).unwrap()).unwrap().write_all(b"b").unwrap();
    assert_ne!(set.path().unwrap(), planted);
    set.commit().unwrap();
    assert_eq!(fs::read(&victim).unwrap(), b"old");
    assert_eq!(fs::read(folder.file("b")).unwrap(), b"b");
    assert_eq!(planted.read_link().unwrap(), victim);
}

/// Leaves the files of a killed process, without a lock.
fn leave(folder: &Folder, name: &str, token: &str) -> PathBuf {
    let path = folder.file(&format!(".{name}.{token}.relais-tmp"));
    fs::write(&path, "half").unwrap();
    path
}

#[test]
fn what_dead_processes_left_goes_and_what_living_ones_write_stays() {
    let folder = Folder::new("sweep");
    let token = "0123456789abcdef";
    leave(&folder, "a.onnx", token);
    fs::create_dir(folder.file(&format!(".a.repro.{token}.relais-tmp"))).unwrap();
    let others = [".a.onnx.relais-tmp", "a.onnx.0123456789abcdef.relais-tmp", ".a.onnx.0123.tmp"];
    others.iter().for_each(|name| fs::write(folder.file(name), "mine").unwrap());
    let target = Destination::new(&folder.file("b"), Existing::Replace).unwrap();
    let mut living = FileSet::new();
    living.add(&target).unwrap().write_all(b"b").unwrap();
    sweep(&folder.0);
    assert_eq!(folder.names().len(), others.len() + 1, "{:?}", folder.names());
    living.commit().unwrap();
    let mut names: Vec<&str> = others.iter().copied().chain(["b"]).collect();
    names.sort_unstable();
    assert_eq!(folder.names(), names);
}

#[test]
fn new_data_of_a_model_that_did_not_come_goes_and_that_of_one_that_came_stays() {
    let folder = Folder::new("halves");
    let (came, did_not) = ("0000000000000001", "0000000000000002");
    fs::hard_link(leave(&folder, "a.data", came), folder.file("a.data")).unwrap();
    fs::hard_link(leave(&folder, "b.data", did_not), folder.file("b.data")).unwrap();
    leave(&folder, "b", did_not);
    // A user's own file is not the one that was left.
    leave(&folder, "c.data", did_not);
    fs::write(folder.file("c.data"), "mine").unwrap();
    sweep(&folder.0);
    assert_eq!(folder.names(), ["a.data", "c.data"]);
}

#[test]
fn a_folder_appears_whole() {
    let folder = Folder::new("folder");
    let target = folder.file("r");
    let new = NewFolder::new(&target).unwrap();
    write(&new.path().join("x"), Existing::Keep, b"x").unwrap();
    assert!(!target.exists());
    new.commit().unwrap();
    assert_eq!(fs::read(target.join("x")).unwrap(), b"x");
    assert!(NewFolder::new(&target).is_err());
    drop(NewFolder::new(&folder.file("s")).unwrap());
    assert_eq!(folder.names(), ["r"]);
}

#[test]
fn a_small_file_may_change_once_it_is_read() {
    let folder = Folder::new("read");
    let path = folder.file("a");
    let old = vec![1u8; (1 << 20) - 1];
    fs::write(&path, &old).unwrap();
    let read = [mapped::map_file(&path).unwrap(), mapped::read_input(&path).unwrap()];
    let is_as_before = || read.iter().all(|bytes| **bytes == *old);
    let mut file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.write_all(&vec![2u8; old.len()]).unwrap();
    assert!(is_as_before(), "the new bytes show");
    // Reading a mapping would end the process here.
    file.set_len(0).unwrap();
    assert!(is_as_before(), "the bytes are gone");
}

#[test]
fn large_constants_go_beside_the_text() {
    let folder = Folder::new("side");
    let path = folder.file("m.relay");
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
    write_text_form(&module, &Destination::new(&path, Existing::Keep).unwrap(), &PrintOptions::default()).unwrap();
    assert_eq!(folder.names(), ["m.relay", "m.relay.safetensors"]);
    assert!(fs::read_to_string(&path).unwrap().contains("const(float32, (3, 7), @\"t0\")"));
    assert_eq!(equal(&module, &read_text_form(&path).unwrap()), Ok(()));

    let side = side_path(&path);
    fs::write(&side, b"nonsense").unwrap();
    assert!(matches!(read_text_form(&path), Err(TextFormError::Io { .. })));
    fs::remove_file(&side).unwrap();
    let Err(TextFormError::Text(errors)) = read_text_form(&path) else { panic!("read without its side file") };
    assert_eq!(errors[0].code, TextCode::SideFile);
    assert!(matches!(read_text_form(&folder.file("none.relay")), Err(TextFormError::Io { .. })));
}

#[test]
fn small_modules_have_no_side_file() {
    let folder = Folder::new("small");
    let path = folder.file("m.relay");
    let module = text::parse_str("def @main(%x) { Add(%x, 1.0) }").unwrap();
    write_text_form(&module, &Destination::new(&path, Existing::Keep).unwrap(), &PrintOptions::default()).unwrap();
    assert!(!side_path(&path).exists());
    assert_eq!(equal(&module, &read_text_form(&path).unwrap()), Ok(()));
}

/// A module with two large constants, which a text has beside it.
fn two_large() -> IRModule {
    let values = |from: u32| (from..from + 20).map(|at| format!("{at}.0")).collect::<Vec<_>>().join(", ");
    let text = format!(
        "def @main(%x: Tensor[(20), float32]) -> (%y) #[opset = {{\"\": 17}}] {{\n  %u = const(float32, [{}]);\n  \
         %v = const(float32, [{}]);\n  %a = Elu(%x, alpha = 0.75);\n  %b = Add(%a, %u);\n  %c = Mul(%b, 1.5);\n  \
         %y = Sub(%c, %v);\n  %y\n}}",
        values(0),
        values(100)
    );
    text::parse_str(&text).unwrap()
}

/// Writes it, while something happens to one of its files. Returns what is said, once the old file alone is there.
fn said_of(file: &str, change: &dyn Fn(&mut Vec<u8>)) -> Option<String> {
    let folder = Folder::new("text-back");
    let path = folder.file("m.relay");
    fs::write(&path, "old").unwrap();
    let tamper = |draft: &Path| {
        let is_meant = draft.file_name().unwrap().to_str().unwrap().contains("safetensors") == (file == "side");
        let mut bytes = fs::read(draft).unwrap();
        if is_meant {
            change(&mut bytes);
            fs::write(draft, bytes).unwrap();
        }
    };
    let destination = Destination::new(&path, Existing::Replace).unwrap();
    match crate::text::write_through(&two_large(), &destination, &PrintOptions::default(), &tamper) {
        Ok(_) => None,
        Err(error) => {
            assert_eq!((folder.names(), fs::read(&path).unwrap()), (vec!["m.relay".to_owned()], b"old".to_vec()));
            Some(error.of("output"))
        }
    }
}

#[test]
fn a_text_is_put_in_place_if_it_is_what_was_meant() {
    let replaced = |from: &'static str, to: &'static str| {
        move |bytes: &mut Vec<u8>| {
            let text = String::from_utf8(bytes.clone()).unwrap();
            assert!(text.contains(from), "{text}");
            *bytes = text.replace(from, to).into_bytes();
        }
    };
    assert_eq!(said_of("text", &|_| ()), None);
    assert_eq!(said_of("text", &replaced(" Elu(", "  Elu(")), None);
    for (from, to, what) in [
        ("Elu(", "Celu(", "in `@main`, `%"),
        ("0.75", "0.5", "in `@main`, `%"),
        ("1.5", "2.5", "in `@main`, `%"),
        ("%b", "%d", "in `@main`, `%"),
        ("(%y)", "(%z)", "in `@main`"),
        ("\"\": 17", "\"\": 18", "in `@main`"),
        ("@\"t0\"", "@\"t1\"", "in `@main`, `%"),
        ("@\"t0\"", "@\"t7\"", "it cannot be read: "),
        ("}", "", "it cannot be read: "),
    ] {
        let said = said_of("text", &replaced(from, to)).unwrap_or_else(|| panic!("`{to}` was put in place"));
        assert!(said.contains("internal error: what was written is not the module that was meant: "), "{said}");
        assert!(said.contains(what), "{to}: {said}");
    }
    let other_byte = |bytes: &mut Vec<u8>| *bytes.last_mut().unwrap() ^= 1;
    let shorter = |bytes: &mut Vec<u8>| bytes.truncate(bytes.len() - 4);
    let exchanged = |bytes: &mut Vec<u8>| {
        let at = |bytes: &[u8], name: &[u8]| bytes.windows(4).position(|four| four == name).unwrap();
        let (first, second) = (at(bytes, b"\"t0\""), at(bytes, b"\"t1\""));
        (bytes[first + 2], bytes[second + 2]) = (b'1', b'0');
    };
    type Change<'a> = &'a dyn Fn(&mut Vec<u8>);
    for change in [&other_byte as Change<'_>, &shorter, &exchanged] {
        let said = said_of("side", change).expect("it was put in place");
        assert!(said.starts_with("output `") && said.contains(": internal error: what was written"), "{said}");
    }
}

#[test]
fn a_text_that_leaves_types_out_is_written() {
    let folder = Folder::new("signatures");
    let path = folder.file("m.relay");
    let mut module = two_large();
    let f = module.function_mut("main").unwrap();
    let ty = f.type_id(f.params()[0]);
    let first = f.bindings(f.body())[2];
    f.set_type(first, ty);
    let options = PrintOptions { types: text::Types::Signatures, ..PrintOptions::default() };
    write_text_form(&module, &Destination::new(&path, Existing::Keep).unwrap(), &options).unwrap();
    assert_ne!(equal(&module, &read_text_form(&path).unwrap()), Ok(()));
}

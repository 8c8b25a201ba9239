//! Tensors in data files: reading, keeping, copying, moving, refusing.

use crate::common::{
    TempFolder,
    proto::{Message, floats, graph, message, model, node},
};
use relais_onnx::{self as onnx, ErrorKind, ExternalData, ExternalFault, OnnxError, ReadOptions, WriteOptions};
use std::{fs, path::Path};

fn external(name: &str, dims: &[i64], entries: &[(&str, &str)]) -> Message {
    let tensor = dims.iter().fold(message(), |tensor, &dim| tensor.int(1, dim)).int(2, 1).bytes(8, name);
    let entry =
        |tensor: Message, (key, value): &(&str, &str)| tensor.message(13, message().bytes(1, key).bytes(2, value));
    entries.iter().fold(tensor, entry).int(14, 1)
}

fn with(tensors: Vec<Message>) -> Vec<u8> {
    let graph = graph(&["x"], vec![node("Add", &["x", "w"], &["y"])], &["y"]);
    model(tensors.into_iter().fold(graph, |graph, tensor| graph.message(5, tensor))).0
}

fn read(path: &Path) -> Result<relais_plugin_api::ir::IRModule, OnnxError> {
    onnx::read(path, &ReadOptions::default())
}

fn options(external_data: ExternalData) -> WriteOptions {
    WriteOptions::default().with_external_data(external_data)
}

/// A model with two tensors in `weights.bin`.
fn sample(folder: &TempFolder) -> Vec<u8> {
    let data: Vec<u8> = (0..8192u32).flat_map(|value| (value as f32).to_le_bytes()).collect();
    fs::write(folder.join("weights.bin"), data).unwrap();
    let first = external("w", &[2], &[("location", "weights.bin"), ("offset", "0"), ("length", "8")]);
    let second = external("v", &[8190], &[("location", "weights.bin"), ("offset", "8"), ("checksum", "abc")]);
    let bytes = with(vec![first, second]);
    fs::write(folder.join("in.onnx"), &bytes).unwrap();
    bytes
}

#[test]
fn untouched_data_stays_where_it_is() {
    let folder = TempFolder::new("same-folder");
    let bytes = sample(&folder);
    let module = read(&folder.join("in.onnx")).unwrap();
    let f = module.main().unwrap();
    assert_eq!(f.constant(f.bindings(f.body())[0]).unwrap().to_f32s().unwrap(), [0.0, 1.0]);
    let keep = options(ExternalData::Keep { threshold: 1024 });
    let report = onnx::write(&module, folder.join("out.onnx"), &keep).unwrap();
    assert_eq!(fs::read(folder.join("out.onnx")).unwrap(), bytes);
    assert_eq!((report.data_files.len(), report.shared_files.len()), (0, 1));
    // Also onto itself, whatever its name.
    onnx::write(&module, folder.join("in.onnx"), &WriteOptions::default()).unwrap();
    onnx::write(&module, folder.join(".").join("in.onnx"), &options(ExternalData::External { min_bytes: 1 })).unwrap();
    assert_eq!(fs::read(folder.join("in.onnx")).unwrap(), bytes);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
}

/// The input may be removed with its data, or replaced.
#[test]
fn an_output_beside_its_input_has_data_of_its_own() {
    let folder = TempFolder::new("own-data");
    let bytes = sample(&folder);
    let module = read(&folder.join("in.onnx")).unwrap();
    for (n, external_data) in
        [ExternalData::default(), ExternalData::External { min_bytes: 1024 }].into_iter().enumerate()
    {
        let out = folder.join(&format!("out{n}.onnx"));
        let report = onnx::write(&module, &out, &options(external_data)).unwrap();
        assert_eq!((report.data_files.len(), report.shared_files.len()), (1, 0));
        assert_eq!(report.data_files[0].0, folder.join(&format!("out{n}.onnx.data")));
        assert!(!fs::read(&out).unwrap().windows(11).any(|bytes| bytes == b"weights.bin"));
    }
    // The model that took its place is in no need of other data, and one under its old name is another file.
    assert_eq!(fs::read(folder.join("in.onnx")).unwrap(), bytes);
    fs::rename(folder.join("in.onnx"), folder.join("old.onnx")).unwrap();
    let report = onnx::write(&module, folder.join("in.onnx"), &WriteOptions::default()).unwrap();
    assert_eq!((report.data_files.len(), report.shared_files.len()), (0, 1));
    fs::remove_file(folder.join("weights.bin")).unwrap();
    for n in 0..2 {
        let back = read(&folder.join(&format!("out{n}.onnx"))).unwrap();
        let f = back.main().unwrap();
        assert_eq!(f.constant(f.bindings(f.body())[1]).unwrap().to_f32s().unwrap()[..2], [2.0, 3.0]);
    }
}

/// A model in the place of its own data file would be read as weights.
#[test]
fn a_model_is_not_its_own_data_file() {
    let (folder, other) = (TempFolder::new("named-alike"), TempFolder::new("named-alike-to"));
    let elements: Vec<u8> = [1.5f32, 2.5].iter().flat_map(|value| value.to_le_bytes()).collect();
    fs::write(folder.join("o.onnx"), elements).unwrap();
    for location in ["o.onnx", "./o.onnx"] {
        fs::write(folder.join("in.onnx"), with(vec![external("w", &[2], &[("location", location)])])).unwrap();
        let module = read(&folder.join("in.onnx")).unwrap();
        for _ in 0..2 {
            onnx::write(&module, other.join("o.onnx"), &WriteOptions::default()).unwrap();
            let back = read(&other.join("o.onnx")).unwrap();
            let f = back.main().unwrap();
            assert_eq!(f.constant(f.bindings(f.body())[0]).unwrap().to_f32s().unwrap(), [1.5, 2.5], "{location}");
        }
    }
}

#[test]
fn untouched_data_is_copied_to_another_folder() {
    let (folder, other) = (TempFolder::new("from"), TempFolder::new("to"));
    let bytes = sample(&folder);
    let module = read(&folder.join("in.onnx")).unwrap();
    let report = onnx::write(&module, other.join("out.onnx"), &WriteOptions::default()).unwrap();
    assert_eq!(fs::read(other.join("out.onnx")).unwrap(), bytes);
    assert_eq!(fs::read(other.join("weights.bin")).unwrap(), fs::read(folder.join("weights.bin")).unwrap());
    assert_eq!(report.data_files.len(), 1);
    // Again: the equal file is used as it is. A file that differs is not overwritten.
    let report = onnx::write(&module, other.join("out.onnx"), &WriteOptions::default()).unwrap();
    assert_eq!((report.data_files.len(), report.shared_files.len()), (0, 1));
    fs::write(other.join("weights.bin"), "another model's").unwrap();
    let report = onnx::write(&module, other.join("out.onnx"), &WriteOptions::default()).unwrap();
    assert_eq!(report.data_files[0].0, other.join("out.onnx.data"));
    assert_eq!(fs::read(other.join("weights.bin")).unwrap(), b"another model's");
    let again = read(&other.join("out.onnx")).unwrap();
    let f = again.main().unwrap();
    assert_eq!(f.constant(f.bindings(f.body())[1]).unwrap().to_f32s().unwrap()[..2], [2.0, 3.0]);
}

#[test]
fn a_new_data_file_has_another_name_than_one_that_is_copied() {
    let (folder, other) = (TempFolder::new("from-named"), TempFolder::new("to-named"));
    let floats = |n: u32| (0..n).flat_map(|value| (value as f32).to_le_bytes()).collect::<Vec<u8>>();
    fs::write(folder.join("out.onnx.data"), floats(64)).unwrap();
    fs::write(folder.join("large.bin"), floats(1000)).unwrap();
    // One file is in use as a whole, of the other one only a part is.
    for location in ["out.onnx.data", "./out.onnx.data"] {
        let whole = external("w", &[64], &[("location", location)]);
        let part = external("v", &[2], &[("location", "large.bin"), ("offset", "8"), ("length", "8")]);
        fs::write(folder.join("in.onnx"), with(vec![whole, part])).unwrap();
        let module = read(&folder.join("in.onnx")).unwrap();
        let report = onnx::write(&module, other.join("out.onnx"), &WriteOptions::default()).unwrap();
        let mut names: Vec<_> =
            report.data_files.iter().map(|(path, _)| path.file_name().unwrap().to_owned()).collect();
        names.sort();
        assert_eq!(names, ["out.onnx.1.data", "out.onnx.data"], "{location}");
        report.data_files.iter().for_each(|(path, _)| fs::remove_file(path).unwrap());
    }
}

#[test]
fn data_that_lost_tensors_is_packed_anew() {
    let (folder, other) = (TempFolder::new("pack-from"), TempFolder::new("pack-to"));
    sample(&folder);
    let mut module = read(&folder.join("in.onnx")).unwrap();
    let f = module.function_mut("main").unwrap();
    let kept: Vec<_> = f.bindings(f.body()).iter().copied().filter(|&id| f.name(id) != "v").collect();
    f.set_bindings(f.body(), &kept);
    let report = onnx::write(&module, other.join("out.onnx"), &WriteOptions::default()).unwrap();
    assert_eq!(report.data_files, [(other.join("out.onnx.data"), 8)]);
    // A new run takes a new name: until the model is renamed, the old one must find its data.
    let report = onnx::write(&module, other.join("out.onnx"), &WriteOptions::default()).unwrap();
    assert_eq!(report.data_files[0].0, other.join("out.onnx.1.data"));
}

#[test]
fn inline_and_external_are_a_choice() {
    let folder = TempFolder::new("choice");
    sample(&folder);
    let module = read(&folder.join("in.onnx")).unwrap();
    onnx::write(&module, folder.join("inline.onnx"), &options(ExternalData::Inline)).unwrap();
    let inline = read(&folder.join("inline.onnx")).unwrap();
    let values = |module: &relais_plugin_api::ir::IRModule| {
        let f = module.main().unwrap();
        f.constant(f.bindings(f.body())[1]).unwrap().to_f32s().unwrap()
    };
    assert_eq!(values(&inline), values(&module));
    let out = folder.join("external.onnx");
    let report = onnx::write(&inline, &out, &options(ExternalData::External { min_bytes: 100 })).unwrap();
    assert_eq!(report.data_files, [(folder.join("external.onnx.data"), 8190 * 4)]);
    assert!(fs::metadata(&out).unwrap().len() < 1000);
    assert_eq!(values(&read(&out).unwrap()), values(&module));
}

#[test]
fn offsets_are_aligned() {
    let folder = TempFolder::new("aligned");
    let values = vec![1.0; 2000];
    let bytes = with(vec![floats("w", &[2], &[1.0, 2.0]), floats("u", &[3], &[1.0; 3]), floats("v", &[2000], &values)]);
    fs::write(folder.join("in.onnx"), bytes).unwrap();
    let module = read(&folder.join("in.onnx")).unwrap();
    let out = folder.join("out.onnx");
    let report = onnx::write(&module, &out, &options(ExternalData::External { min_bytes: 0 })).unwrap();
    assert_eq!(report.data_files[0].1, 4096 + 8000);
    let again = read(&out).unwrap();
    let f = again.main().unwrap();
    let starts: Vec<u64> =
        f.bindings(f.body())[..3].iter().map(|&id| f.constant(id).unwrap().as_dense().unwrap().start()).collect();
    assert_eq!(starts, [0, 64, 4096]);
}

#[test]
fn refusals_name_tensor_and_file() {
    let folder = TempFolder::new("refusals");
    fs::write(folder.join("short.bin"), [0; 4]).unwrap();
    let fault = |entries: &[(&str, &str)]| {
        let path = folder.join("in.onnx");
        fs::write(&path, with(vec![external("weight", &[2], entries)])).unwrap();
        let error = read(&path).map(|_| ()).unwrap_err();
        assert!(error.to_string().contains("tensor `weight`"), "{error}");
        error
    };
    macro_rules! assert_cause {
        ($entries:expr, $pattern:pat) => {
            let error = fault($entries);
            assert!(matches!(error.kind(), ErrorKind::External { cause: $pattern, .. }), "{error}");
        };
    }
    assert_cause!(&[], ExternalFault::NoLocation);
    assert_cause!(&[("location", "missing.bin")], ExternalFault::Io(_));
    assert_cause!(&[("location", "../short.bin")], ExternalFault::Escapes);
    assert_cause!(&[("location", "/etc/hostname")], ExternalFault::Escapes);
    assert_cause!(&[("location", "short.bin")], ExternalFault::Short { len: 8, file: 4, .. });
    assert_cause!(&[("location", "short.bin"), ("offset", "-1")], ExternalFault::Number { key: "offset" });
    assert_cause!(
        &[("location", "short.bin"), ("offset", "18446744073709551615"), ("length", "8")],
        ExternalFault::Short { .. }
    );
    assert_cause!(&[("location", "short.bin"), ("length", "8 bytes")], ExternalFault::Number { key: "length" });
    assert_cause!(&[("location", "short.bin"), ("offset", "")], ExternalFault::Number { key: "offset" });
    let error = fault(&[("location", "short.bin"), ("length", "4")]);
    assert!(matches!(error.kind(), ErrorKind::Tensor(_)), "{error}");
    #[cfg(unix)]
    {
        let outside = TempFolder::new("outside");
        fs::write(outside.join("secret"), [0; 8]).unwrap();
        std::os::unix::fs::symlink(outside.join("secret"), folder.join("link")).unwrap();
        assert_cause!(&[("location", "link")], ExternalFault::LeavesFolder);
    }
    let bytes = with(vec![external("weight", &[2], &[("location", "short.bin")])]);
    let error = onnx::read_bytes("memory", bytes.into(), &ReadOptions::default()).map(|_| ()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::External { cause: ExternalFault::NoFolder, .. }), "{error}");
}

/// Opening a pipe waits for a writer, which here never comes.
#[test]
#[cfg(unix)]
fn data_that_is_a_pipe_is_refused_at_once() {
    use std::{process::Command, sync::mpsc, thread, time::Duration};
    let folder = TempFolder::new("pipe");
    assert!(Command::new("mkfifo").arg(folder.join("pipe.bin")).status().unwrap().success());
    let path = folder.join("in.onnx");
    fs::write(&path, with(vec![external("weight", &[2], &[("location", "pipe.bin")])])).unwrap();
    let (done, result) = mpsc::channel();
    thread::spawn(move || done.send(read(&path).map(drop)));
    let error = result.recv_timeout(Duration::from_secs(20)).expect("reading ends").unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::External { cause: ExternalFault::Io(_), .. }), "{error}");
    for part in ["tensor `weight`", "`pipe.bin`", "it is not a regular file"] {
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[test]
fn entries_are_read_however_they_are_encoded() {
    let folder = TempFolder::new("entries");
    fs::write(folder.join("data.bin"), [0, 0, 0x80, 0x3f, 0, 0, 0, 0x40]).unwrap();
    let location = message().bytes(1, "location").bytes(2, "data.bin");
    let offset = |value: &[u8]| message().bytes(1, "offset").bytes(2, value);
    let read = |entries: Vec<Message>| {
        let tensor = message().int(1, 1).int(2, 1).bytes(8, "w");
        let tensor = entries.into_iter().fold(tensor, |tensor, entry| tensor.message(13, entry)).int(14, 1);
        let bytes = with(vec![tensor]);
        fs::write(folder.join("in.onnx"), &bytes).unwrap();
        let module = read(&folder.join("in.onnx"))?;
        onnx::write(&module, folder.join("out.onnx"), &options(ExternalData::Keep { threshold: 1024 })).unwrap();
        assert_eq!(fs::read(folder.join("out.onnx")).unwrap(), bytes);
        let f = module.main().unwrap();
        Ok::<_, OnnxError>(f.constant(f.bindings(f.body())[0]).unwrap().to_f32s().unwrap()[0])
    };
    assert_eq!(read(vec![location.clone()]).unwrap(), 1.0);
    assert_eq!(read(vec![offset(b"4"), location.clone()]).unwrap(), 2.0);
    // The value first, with a field that later versions may have; an unknown key; the last one counts.
    let odd = message().bytes(2, "4").bytes(9, "later").bytes(1, "offset");
    assert_eq!(read(vec![location.clone(), message(), message().bytes(1, "page"), odd]).unwrap(), 2.0);
    assert_eq!(read(vec![location.clone(), offset(b"4"), offset(b"0")]).unwrap(), 1.0);
    // An unreadable offset must not be taken for 0.
    let error = read(vec![location.clone(), offset(b"\xff")]).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::External { cause: ExternalFault::Number { key: "offset" }, .. }),
        "{error}"
    );
    let error = read(vec![location.clone(), message().bytes(1, "offset").int(2, 4)]).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Missing("readable key and value in `external_data`")), "{error}");
    let error = read(vec![message().bytes(1, "location").bytes(2, [0xff])]).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::External { cause: ExternalFault::NoLocation, .. }), "{error}");
}

#[test]
fn strings_stand_in_the_model() {
    let folder = TempFolder::new("strings");
    fs::write(folder.join("data.bin"), [0; 8]).unwrap();
    let entry = message().bytes(1, "location").bytes(2, "data.bin");
    let tensor = message().int(1, 1).int(2, 8).bytes(8, "words").message(13, entry).int(14, 1);
    fs::write(folder.join("in.onnx"), with(vec![tensor])).unwrap();
    let error = read(&folder.join("in.onnx")).map(drop).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::External { cause: ExternalFault::Strings, .. }), "{error}");
    assert!(error.to_string().contains("tensor `words`") && !error.help().is_empty(), "{error}");
}

#[test]
fn a_model_that_another_process_writes_into_is_not_written() {
    use std::io::Write;
    let folder = TempFolder::new("changed");
    let path = folder.join("in.onnx");
    // Large enough to be mapped.
    let weights = message().int(1, 1 << 19).int(2, 1).bytes(8, "w").bytes(9, vec![0; 4 << 19]);
    fs::write(&path, with(vec![weights])).unwrap();
    let module = read(&path).unwrap();
    onnx::write(&module, folder.join("out.onnx"), &WriteOptions::default()).unwrap();
    // Another file in its place does not matter.
    let before = fs::read(&path).unwrap();
    fs::rename(&path, folder.join("moved.onnx")).unwrap();
    fs::write(&path, "another").unwrap();
    onnx::write(&module, folder.join("out2.onnx"), &WriteOptions::default()).unwrap();
    assert!(fs::read(folder.join("out2.onnx")).unwrap() == before);

    fs::OpenOptions::new().append(true).open(folder.join("moved.onnx")).unwrap().write_all(&[1, 2, 3]).unwrap();
    let error = onnx::write(&module, folder.join("out3.onnx"), &WriteOptions::default()).unwrap_err();
    assert!(error.to_string().contains("was changed by another process while it was in use"), "{error}");
    assert!(!folder.join("out3.onnx").exists());
}

#[test]
fn a_failed_write_leaves_everything_as_it_was() {
    let folder = TempFolder::new("failed");
    let bytes = sample(&folder);
    let mut module = read(&folder.join("in.onnx")).unwrap();
    assert!(onnx::write(&module, folder.join("no/such/folder.onnx"), &WriteOptions::default()).is_err());
    module.remove("main");
    let error = onnx::write(&module, folder.join("in.onnx"), &WriteOptions::default()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::NoMain), "{error}");
    assert_eq!(fs::read(folder.join("in.onnx")).unwrap(), bytes);
    let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
}

/// The anonymous memory of this process, in bytes.
#[cfg(target_os = "linux")]
fn anonymous() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("RssAnon:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

/// 600 MB of weights, inline and external, within 64 MB of memory.
#[test]
#[ignore = "writes 600 MB several times; `.ci/full large` runs it"]
#[cfg(target_os = "linux")]
fn large_models_take_little_memory() {
    use std::io::Write;
    let folder = TempFolder::new("large");
    let path = folder.join("in.onnx");
    let mut file = std::io::BufWriter::new(fs::File::create(&path).unwrap());
    let graph = graph(&["x"], vec![node("Relu", &["x"], &["y"])], &["y"]);
    // Written piece by piece: the test must not hold the memory that it measures.
    let name = |index: usize| format!("w{index:03}");
    let one = |index: usize| message().message(5, floats(&name(index), &[1 << 20], &vec![index as f32; 1 << 20])).0;
    let size: usize = graph.0.len() + one(0).len() * 150;
    let mut head = message().int(1, 8).message(8, message().bytes(1, "").int(2, 17)).0;
    head.push(0x3a);
    let mut len = size as u64;
    while len >= 0x80 {
        head.push(len as u8 | 0x80);
        len >>= 7;
    }
    head.push(len as u8);
    file.write_all(&head).unwrap();
    file.write_all(&graph.0).unwrap();
    (0..150).for_each(|index| file.write_all(&one(index)).unwrap());
    drop(file);
    let before = anonymous();
    let module = read(&path).unwrap();
    let start = std::time::Instant::now();
    onnx::write(&module, folder.join("out.onnx"), &WriteOptions::default()).unwrap();
    eprintln!("inline: {:?}, {} KiB anonymous", start.elapsed(), (anonymous().saturating_sub(before)) >> 10);
    onnx::write(&module, folder.join("ext.onnx"), &options(ExternalData::External { min_bytes: 1024 })).unwrap();
    let external = read(&folder.join("ext.onnx")).unwrap();
    onnx::write(&external, folder.join("ext2.onnx"), &WriteOptions::default()).unwrap();
    onnx::write(&external, folder.join("inline2.onnx"), &options(ExternalData::Inline)).unwrap();
    let after = anonymous();
    eprintln!("all: {} KiB anonymous", after.saturating_sub(before) >> 10);
    assert!(after < before + (64 << 20));
    let same = |a: &str, b: &str| {
        let (a, b) = (
            relais_files::mapped::map_file(&folder.join(a)).unwrap(),
            relais_files::mapped::map_file(&folder.join(b)).unwrap(),
        );
        *a == *b
    };
    assert!(same("in.onnx", "out.onnx"));
    assert!(same("ext.onnx", "ext2.onnx"));
}

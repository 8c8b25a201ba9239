//! The life of a plugin, `relais plugin new` to `remove`, as it is typed: the output of each session is a file in
//! `tests/life`. `RELAIS_BLESS=1` rewrites them.

use crate::common::*;
use relais::{
    inspect::{Objection, inspect},
    plugin::{FileWriter, Needs, Refusal},
};
use relais_plugin_api::boundary::{
    record::{
        API, BOUNDARY, BoundaryVersion, FORMAT, HEADER, Header, NEEDS, RUSTC, TARGET, op_tag, pass_tag, plugin_tag,
        record_kind,
    },
    wire::{Fields, checksum, push_field},
};
use serde_json::{Value, json};
use std::{
    env::consts::DLL_EXTENSION,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The commands typed in a folder, and their output.
struct Session {
    name: &'static str,
    folder: PathBuf,
    program: PathBuf,
    text: String,
}

impl Session {
    fn new(name: &'static str) -> Self {
        let folder = folder(&format!("life-{name}"));
        // In a folder that has no plugins beside it. A link: see the golden tests.
        let program =
            crate::common::folder(&format!("life-{name}-bin")).join(format!("relais{}", std::env::consts::EXE_SUFFIX));
        fs::hard_link(env!("CARGO_BIN_EXE_relais"), &program).unwrap();
        Self { name, folder, program, text: String::new() }
    }

    /// Puts a plugin into the folder, with changes to its bytes.
    fn plugin(&self, file: &str, from: &Path, change: impl FnOnce(&mut Vec<u8>)) -> PathBuf {
        let mut bytes = fs::read(from).unwrap();
        change(&mut bytes);
        let path = self.folder.join(file);
        fs::write(&path, bytes).unwrap();
        path
    }

    fn output(&self, command: &str) -> std::process::Output {
        let mut relais = Command::new(&self.program);
        relais.current_dir(&self.folder).args(command.split(' ')).env_remove("RELAIS_PLUGIN_PATH");
        relais.env_remove("RELAIS_LOG").env_remove("CLICOLOR_FORCE").env("NO_COLOR", "1").env("COLUMNS", "100");
        relais.env("RELAIS_HOME", self.folder.join("home")).output().unwrap()
    }

    /// Types a command, and returns its status.
    fn run(&mut self, command: &str) -> Option<i32> {
        let output = self.output(command);
        let status = output.status.code();
        let status_text = status.map_or("none".into(), |status| status.to_string());
        let (stdout, stderr) = (self.said(&output.stdout), self.said(&output.stderr));
        let typed = self.said(command.as_bytes());
        writeln!(self.text, "$ relais {typed}{stdout}{stderr}status: {status_text}\n").unwrap();
        status
    }

    /// Returns the output, without the parts that differ from system to system.
    fn said(&self, bytes: &[u8]) -> String {
        let text = String::from_utf8_lossy(bytes).replace(self.folder.to_str().unwrap(), "<folder>");
        let text = text.replace(RUSTC, "<rustc>").replace(TARGET, "<target>");
        let text = text.replace(&format!("boundary    {BOUNDARY}, needs {NEEDS}"), "boundary    <boundary>");
        let text = text.replace(&format!("api         {API}"), "api         <api>");
        let text = ["relais-plugin-api@", "--precise ", "with ", "with `relais-plugin-api` "]
            .iter()
            .fold(text, |text, before| text.replace(&format!("{before}{API}"), &format!("{before}<api>")));
        let text = text.replace(env!("CARGO_MANIFEST_DIR"), "<cli>");
        let line = |line: &str| {
            let key = line.split_whitespace().next().unwrap_or_default();
            let kept = match key {
                "format" | "needs" | "fingerprint" if line.starts_with("  ") => format!("  {key:<11} _"),
                _ => line.trim_end().to_owned(),
            };
            let kept = match kept.split_once("and this host takes ") {
                Some((before, _)) => format!("{before}and this host takes <boundaries>"),
                None => kept,
            };
            // Records are in the order of the linker.
            let kept = match kept.split_once("the record at offset ") {
                Some((before, after)) => {
                    format!("{before}the record at offset _{}", after.trim_start_matches(|c: char| c.is_ascii_digit()))
                }
                None => kept,
            };
            format!("{kept}\n")
        };
        text.lines().map(line).collect()
    }

    fn check(self) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/life").join(format!("{}.txt", self.name));
        if std::env::var_os("RELAIS_BLESS").is_some() {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, &self.text).unwrap();
        }
        let expected = fs::read_to_string(&path).unwrap_or_default();
        assert!(self.text == expected, "{}:\n--- expected\n{expected}\n--- said\n{}", self.name, self.text);
    }

    fn files(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.folder.join(folder)).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

/// Makes a plugin one that was built for a version of the boundary and needs all of it.
fn set_versions(bytes: &mut [u8], version: &[u8; 6]) {
    set_plugin(bytes, plugin_tag::BOUNDARY, version);
    set_plugin(bytes, plugin_tag::NEEDS, version);
}

/// Sets a field of the record of the plugin.
fn set_plugin(bytes: &mut [u8], tag: u16, value: &[u8]) {
    let at = records(bytes, record_kind::PLUGIN)[0];
    set_field(bytes, at, tag, value);
}

/// Makes attributes of an operator's documentation.
fn break_attributes(bytes: &mut [u8]) {
    let tags = |&at: &usize| {
        let header = Header::read(&bytes[at..]).unwrap();
        Fields::new(&bytes[at + HEADER..][..header.len])
            .flatten()
            .any(|field| field.tag == op_tag::DOC && !field.bytes.is_empty())
    };
    let at = records(bytes, record_kind::OPERATOR).into_iter().find(tags).unwrap();
    let header = Header::read(&bytes[at..]).unwrap();
    let mut fields = Vec::new();
    for field in Fields::new(&bytes[at + HEADER..][..header.len]).map(Result::unwrap) {
        push_field(&mut fields, if field.tag == op_tag::DOC { op_tag::ATTR } else { field.tag }, field.bytes);
    }
    bytes[at + HEADER..][..header.len].copy_from_slice(&fields);
    bytes[at + 24..at + 32].copy_from_slice(&checksum(&fields).to_le_bytes());
}

/// Replaces a string that ends with a zero by one of the same length.
#[cfg(target_os = "linux")]
fn replace(bytes: &mut [u8], old: &str, new: &str) {
    assert_eq!(old.len(), new.len());
    let whole = [b"\0", old.as_bytes(), b"\0"].concat();
    let places: Vec<usize> = (0..bytes.len() - whole.len()).filter(|&at| bytes[at..].starts_with(&whole)).collect();
    assert!(!places.is_empty(), "`{old}` is there");
    for at in places {
        bytes[at + 1..][..new.len()].copy_from_slice(new.as_bytes());
    }
}

#[test]
fn the_help_says_what_there_is() {
    let mut session = Session::new("help");
    for command in ["plugin", "plugin new", "plugin check", "plugin install", "plugin remove", "plugin list"] {
        assert_eq!(session.run(&format!("{command} --help")), Some(0));
    }
    session.check();
}

#[test]
fn a_new_crate_is_made_and_nothing_is_overwritten() {
    let mut session = Session::new("new");
    let api = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugin-api");
    let api = api.display();
    assert_eq!(session.run("plugin new my-clip"), Some(0));
    assert_eq!(session.files("my-clip"), [".gitignore", "Cargo.toml", "README.md", "filetests", "src"]);
    assert_eq!(session.files("my-clip/filetests/my-clip.MyClip"), ["one_stays.relay", "two_become_one.relay"]);
    assert_eq!(session.run("plugin new operator --operator Twice"), Some(0));
    assert_eq!(session.files("operator"), [".gitignore", "Cargo.toml", "README.md", "src"]);
    for (crate_name, has_filetests) in [("my-clip", true), ("operator", false)] {
        let page = fs::read_to_string(session.folder.join(crate_name).join("README.md")).unwrap();
        assert_eq!(page.contains("relais filetest filetests --plugin target/debug/"), has_filetests, "{page}");
    }
    assert_eq!(session.files("my-clip/src"), ["lib.rs", "my_clip.rs"]);
    fs::write(session.folder.join("my-clip/src/lib.rs"), "mine").unwrap();
    assert_eq!(session.run("plugin new my-clip"), Some(1));
    assert_eq!(fs::read_to_string(session.folder.join("my-clip/src/lib.rs")).unwrap(), "mine");
    fs::write(session.folder.join("taken"), "mine").unwrap();
    assert_eq!(session.run("plugin new taken"), Some(1));
    assert_eq!(session.run("plugin new taken -o taken/within"), Some(1));
    fs::create_dir(session.folder.join("empty")).unwrap();
    let all = "--pass Fuse --pass rules:Cancel --pass function:b.Count --pass module:Drop --pass sequential:All --operator Twice --instrument Watch";
    assert_eq!(session.run(&format!("plugin new acme --output empty {all} --api-path {api}")), Some(0));
    let modules = ["all.rs", "cancel.rs", "count.rs", "drop.rs", "fuse.rs", "lib.rs", "twice.rs", "watch.rs"];
    assert_eq!(session.files("empty/src"), modules);
    assert_eq!(session.run("plugin new git --api-git https://example.org/relais"), Some(0));
    assert_eq!(session.run("plugin new version --api-version =0.1.2"), Some(0));
    let version = format!("\"{}\"", env!("CARGO_PKG_VERSION"));
    let whole = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugin-api").canonicalize().unwrap();
    let [path, kit] = ["", "/conformance"].map(|folder| format!("{{ path = \"{}{folder}\" }}", whole.display()));
    let git = "{ git = \"https://example.org/relais\" }";
    for (crate_name, api, conformance) in [
        ("my-clip", &*version, &*version),
        ("empty", &*path, &*kit),
        ("git", git, git),
        ("version", "\"=0.1.2\"", "\"=0.1.2\""),
    ] {
        let manifest = fs::read_to_string(session.folder.join(crate_name).join("Cargo.toml")).unwrap();
        for line in [format!("relais-plugin-api = {api}"), format!("relais-conformance = {conformance}")] {
            assert!(manifest.lines().any(|other| other == line), "{line}: {manifest}");
        }
    }
    session.check();
}

#[test]
fn names_and_addresses_that_cannot_be_are_refused() {
    let mut session = Session::new("new_wrong");
    for (arguments, status) in [
        ("1st", 2),
        ("a.b", 2),
        ("std", 2),
        ("match", 2),
        ("acme --pass a..b", 2),
        ("acme --pass 2nd", 2),
        ("acme --pass loop:Fuse", 2),
        ("acme --pass Match", 2),
        ("acme --pass A --instrument b.A", 2),
        ("acme --operator ::Twice", 2),
        ("acme --api-version newest", 2),
        ("acme --api-git no\u{a0}\u{1}address", 2),
        ("acme --api-path nowhere", 1),
        ("acme --api-path other", 1),
        ("acme --api-path alone", 1),
        ("acme --api-path other --api-version 1", 2),
        ("", 2),
    ] {
        for (folder, name) in [("other", "other"), ("alone", "relais-plugin-api")] {
            fs::create_dir_all(session.folder.join(folder)).unwrap();
            let manifest = format!("[package]\nname = \"{name}\"\n");
            fs::write(session.folder.join(folder).join("Cargo.toml"), manifest).unwrap();
        }
        assert_eq!(session.run(&format!("plugin new {arguments}")), Some(status), "{arguments}");
        assert_eq!(session.files(""), ["alone", "other"], "{arguments}");
    }
    session.check();
}

#[test]
fn a_good_plugin_is_accepted_with_everything_that_it_says() {
    let mut session = Session::new("check_accepted");
    session.plugin("sample.so", &SAMPLE, |_| {});
    assert_eq!(session.run("plugin check sample.so --allow-writable-plugins"), Some(0));
    session.check();
}

#[test]
fn a_check_is_json_for_programs() {
    let session = Session::new("check_json");
    let mark = session.plugin("mark.so", &MARK, |_| {});
    session.plugin("newer.so", &MARK, |bytes| set_versions(bytes, &[9, 0, 0, 0, 0, 0]));
    session.plugin("text.so", &MARK, |bytes| *bytes = b"text".to_vec());
    let output = session.output("plugin check --json --allow-writable-plugins mark.so newer.so text.so");
    assert_eq!(output.status.code(), Some(1));
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(said[0]["verdict"], "accepted");
    assert_eq!(said[0]["objections"], json!([]));
    assert_eq!(said[0]["plugin"]["name"], "mark");
    assert_eq!(said[0]["plugin"]["boundary"], BOUNDARY.to_string());
    assert_eq!(said[0]["plugin"]["needs"], NEEDS.to_string());
    assert_eq!(said[0]["passes"][0]["name"], "mark.Nothing");
    assert_eq!(said[0]["found"], Value::Null);
    assert_eq!(said[1]["verdict"], "refused");
    assert_eq!(said[1]["objections"][0]["kind"], "refused");
    assert_eq!(said[1]["objections"][0]["to_change"], "host");
    assert_eq!(said[1]["passes"], said[0]["passes"]);
    assert_eq!(said[2]["plugin"], Value::Null);
    assert_eq!(said[2]["objections"][0]["help"], format!("build or copy it again, for `{TARGET}`"));
    assert!(inspect(&mark, TRUSTING).is_accepted());
}

#[test]
fn what_is_no_plugin_or_does_not_fit_is_refused() {
    let mut session = Session::new("check_refused");
    session.plugin("text.so", &MARK, |bytes| *bytes = b"this is a text, not a library\n".to_vec());
    session.plugin("empty.so", &MARK, Vec::clear);
    session.plugin("cut.so", &MARK, |bytes| bytes.truncate(bytes.len() / 2));
    session.plugin("older.so", &MARK, |bytes| set_versions(bytes, &[0, 0, 0, 0, 9, 0]));
    session.plugin("newer.so", &MARK, |bytes| set_versions(bytes, &[9, 0, 0, 0, 0, 0]));
    session.plugin("grown.so", &MARK, |bytes| {
        let version = BoundaryVersion { patch: 999, ..BOUNDARY };
        set_versions(bytes, &version.encode());
    });
    session.plugin("layout.so", &MARK, |bytes| set_plugin(bytes, plugin_tag::FINGERPRINT, &[7; 8]));
    session.plugin("target.so", &MARK, |bytes| set_plugin(bytes, plugin_tag::TARGET, b"pdp11-dec-rsx"));
    session.plugin("abort.so", &MARK, |bytes| set_plugin(bytes, plugin_tag::PANIC, b"abort"));
    session.plugin("all.so", &MARK, |bytes| {
        set_versions(bytes, &[9, 0, 0, 0, 0, 0]);
        set_plugin(bytes, plugin_tag::TARGET, b"pdp11-dec-rsx");
        set_plugin(bytes, plugin_tag::PANIC, b"abort");
        set_plugin(bytes, plugin_tag::FINGERPRINT, &[7; 8]);
    });
    session.plugin("entry.so", &MARK, |bytes| set_plugin(bytes, plugin_tag::ENTRY, b"relais_plugin_v1_gone"));
    session.plugin("damaged.so", &MARK, |bytes| {
        let at = records(bytes, record_kind::PASS)[0];
        bytes[at + HEADER + 8] ^= 1;
    });
    session.plugin("format.so", &MARK, |bytes| {
        let at = records(bytes, record_kind::PASS)[0];
        bytes[at + 8] = FORMAT as u8 + 1;
    });
    let files = [
        "gone", ".", "text", "empty", "cut", "older", "newer", "grown", "layout", "target", "abort", "all", "entry",
        "damaged", "format",
    ];
    for file in files {
        let file = if file == "." { file.to_owned() } else { format!("{file}.so") };
        let command = format!("plugin check --allow-writable-plugins {file}");
        assert_eq!(session.run(&command), Some(1), "{file}");
    }
    session.check();
}

#[test]
fn what_is_wrong_within_an_accepted_plugin_is_said() {
    let session = Session::new("flaws");
    let objections = |path: &Path| inspect(path, TRUSTING).objections;
    assert_eq!(objections(&session.plugin("good.so", &SAMPLE, |_| {})), []);
    let attributes = session.plugin("attributes.so", &SAMPLE, |bytes| break_attributes(bytes));
    let said = objections(&attributes);
    assert!(matches!(&said[..], [Objection::Attribute { operator, .. }] if operator == "Relu@6"), "{said:?}");
    assert!(inspect(&attributes, TRUSTING).is_accepted());
    assert_eq!(session.output("plugin check --allow-writable-plugins attributes.so").status.code(), Some(1));
    let level = session.plugin("level.so", &MARK, |bytes| {
        let at = records(bytes, record_kind::PASS)[0];
        set_field(bytes, at, pass_tag::LEVEL, &[9]);
    });
    assert_eq!(objections(&level), [Objection::Level { pass: "mark.Nothing".into(), level: 9 }]);
    let twice = session.plugin("twice.so", &SAMPLE, |bytes| {
        for at in records(bytes, record_kind::PASS).into_iter().take(2) {
            set_field(bytes, at, pass_tag::NAME, b"a.B");
        }
    });
    assert!(objections(&twice).contains(&Objection::Twice { what: "pass", name: "a.B".into() }));
}

#[cfg(target_os = "linux")]
#[test]
fn libraries_and_symbols_that_are_not_there_are_missed() {
    let session = Session::new("needs");
    let look = |file: &str, change: &dyn Fn(&mut Vec<u8>)| {
        let inspection = inspect(&session.plugin(file, &MARK, change), TRUSTING);
        let Needs::Checked(needed) = inspection.needs.clone() else { panic!("{:?}", inspection.needs) };
        (inspection, needed)
    };
    let (good, needed) = look("good.so", &|_| {});
    assert_eq!(good.objections, []);
    assert!(needed.libraries.iter().any(|(name, path)| name == "libc.so.6" && path.is_some()), "{needed:?}");
    let (missing, needed) = look("missing.so", &|bytes| replace(bytes, "libgcc_s.so.1", "libgone.so.99"));
    let library = "libgone.so.99".to_owned();
    assert!(missing.objections.contains(&Objection::MissingLibrary { library, own_folder: false }), "{needed:?}");
    assert!(!missing.is_accepted() && needed.undefined.is_empty());
    let (undefined, _) = look("undefined.so", &|bytes| replace(bytes, "realpath", "surepath"));
    assert_eq!(undefined.objections, [Objection::Undefined { symbols: vec!["surepath".into()] }]);
    let old = fs::read(&*MARK).unwrap();
    let version = ["GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.28", "GLIBC_2.25"];
    let is_wanted = |name: &&&str| old.windows(name.len() + 2).any(|at| at == [b"\0", name.as_bytes(), b"\0"].concat());
    let version = version.iter().find(is_wanted).expect("it wants a version of the C library");
    let (newer, _) = look("newer.so", &|bytes| replace(bytes, version, "GLIBC_9.99"));
    let (library, version) = ("libc.so.6".to_owned(), "GLIBC_9.99".to_owned());
    assert_eq!(newer.objections, [Objection::MissingVersion { library, version }]);
    // The loader agrees.
    for file in ["missing.so", "undefined.so", "newer.so"] {
        let registry = registry(&[&session.folder.join(file)]);
        let error = registry.create("mark.Nothing", &table(&[])).err().map(|error| error.to_string());
        assert!(error.is_some_and(|error| error.contains("the system does not open it")), "{file}");
    }
}

#[test]
fn damaged_files_never_crash_the_check() {
    let session = Session::new("damaged");
    let good = fs::read(&*MARK).unwrap();
    let path = session.folder.join("damaged.so");
    let section = good.len() - good.len() / 50;
    let mut seed = 7u64;
    for round in 0..60 {
        let mut bytes = good.clone();
        for _ in 0..8 {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            // In the header, at the beginning, where symbols are, and at the end, where sections are described.
            let random = (seed >> 33) as usize;
            let place = [random % 64, random % (1 << 16), section + random % (good.len() - section)][round % 3];
            bytes[place] ^= (seed >> 20) as u8 | 1;
        }
        fs::write(&path, &bytes).unwrap();
        let inspection = inspect(&path, TRUSTING);
        assert!(inspection.records.is_some() || !inspection.is_accepted());
    }
    for percent in 0..100 {
        fs::write(&path, &good[..good.len() * percent / 100]).unwrap();
        assert!(!inspect(&path, TRUSTING).is_accepted(), "{percent}");
    }
}

#[test]
fn names_that_others_provide_are_said_with_their_files() {
    let mut session = Session::new("check_overlap");
    session.plugin("rules.so", &RULES, |_| {});
    session.plugin("rival.so", &RIVAL, |_| {});
    session.plugin("copy.so", &RIVAL, |_| {});
    let check = "plugin check --allow-writable-plugins";
    // It asks for more than there is, on purpose.
    let alone = session.output(&format!("{check} rules.so"));
    assert!(!String::from_utf8_lossy(&alone.stdout).contains(", too\n"));
    assert_eq!(session.output(&format!("{check} rival.so copy.so")).status.code(), Some(0));
    assert_eq!(session.output(&format!("{check} rules.so rival.so")).status.code(), Some(1));
    assert_eq!(session.run(&format!("{check} rival.so --plugin rules.so")), Some(1));
    session.check();
}

#[test]
fn what_passes_ask_for_and_nobody_provides_is_said() {
    let mut session = Session::new("check_requirements");
    session.plugin("good.so", &SAMPLE, |_| {});
    session.plugin("typo.so", &SAMPLE, |bytes| {
        // Records are in the order of the linker, and more than one pass asks for another.
        let is_rename = |&at: &usize| {
            let len = Header::read(&bytes[at..]).unwrap().len;
            let mut fields = Fields::new(&bytes[at + HEADER..][..len]).flatten();
            fields.any(|field| field.tag == pass_tag::NAME && field.bytes == b"sample.Rename")
        };
        let at = records(bytes, record_kind::PASS).into_iter().find(is_rename).unwrap();
        set_field(bytes, at, pass_tag::REQUIRED, b"sample.ReluReul");
    });
    session.plugin("rules.so", &RULES, |_| {});
    let check = "plugin check --allow-writable-plugins";
    assert_eq!(session.output(&format!("{check} good.so")).status.code(), Some(0));
    assert_eq!(session.run(&format!("{check} typo.so")), Some(1));
    let said = |command: String| {
        let output = session.output(&command);
        let said: Value = serde_json::from_slice(&output.stdout).unwrap();
        let objections = said[0]["objections"].as_array().unwrap().clone();
        objections.into_iter().map(|it| it["message"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let missing = |pass: &str, required: &str| {
        format!("pass `{pass}` asks for pass `{required}`, which no plugin that is found provides")
    };
    let alone = said(format!("{check} --json rules.so"));
    assert!(alone.contains(&missing("acme.NeedsUnicorn", "acme.Unicorn")), "{alone:?}");
    assert!(!alone.iter().any(|message| message.contains("`acme.EditGlobals`")), "{alone:?}");
    // It is installed anyway: its requirements may be installed later.
    let output = session.output("plugin install --allow-writable-plugins typo.so");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && stderr.contains("`sample.ReluReul`, which no plugin"), "{stderr}");
    session.check();
}

#[test]
fn a_check_says_where_a_run_finds_the_plugin() {
    let session = Session::new("found");
    fs::create_dir(session.folder.join("dir")).unwrap();
    let file = format!("dir/mark.{DLL_EXTENSION}");
    session.plugin(&file, &MARK, |_| {});
    session.plugin("dir/mark.plugin", &MARK, |_| {});
    session.plugin("mark.so", &MARK, |_| {});
    let found = |command: &str| {
        let output = session.output(&format!("plugin check --allow-writable-plugins {command}"));
        let said = session.said(&output.stdout);
        said.lines().find_map(|line| line.strip_prefix("  found       ")).unwrap().to_owned()
    };
    assert!(found("mark.so").starts_with("in no folder that is searched: name it with `--plugin`"));
    assert_eq!(found(&format!("{file} --plugin-dir dir")), "in `dir`, which `--plugin-dir` names");
    assert_eq!(found("mark.so --plugin-dir dir"), format!("as its copy `{file}`"));
    let other = format!("not in a search: in `dir`, only files with the extension `{DLL_EXTENSION}` are taken");
    assert_eq!(found("dir/mark.plugin --plugin-dir dir"), other);
}

#[cfg(unix)]
#[test]
fn what_others_may_write_is_refused_unless_told_otherwise() {
    use std::os::unix::fs::PermissionsExt;
    let session = Session::new("writable");
    let path = session.plugin("mark.so", &MARK, |_| {});
    fs::set_permissions(&session.folder, fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    let refused = Objection::Refused(Refusal::Writable { path: path.clone(), by: FileWriter::Everybody });
    assert_eq!(inspect(&path, Default::default()).objections, [refused]);
    assert_eq!(session.output("plugin check mark.so").status.code(), Some(1));
    assert_eq!(session.output("plugin check mark.so --allow-writable-plugins").status.code(), Some(0));
    assert_eq!(session.output("plugin install mark.so").status.code(), Some(1));
    assert!(!session.folder.join("home").exists());
}

#[cfg(unix)]
#[test]
fn plugins_are_installed_replaced_found_and_removed() {
    use std::os::unix::fs::PermissionsExt;
    let mut session = Session::new("install");
    fs::set_permissions(&session.folder, fs::Permissions::from_mode(0o755)).unwrap();
    session.plugin("some.so", &MARK, |_| {});
    session.plugin("newer.so", &MARK, |bytes| set_plugin(bytes, plugin_tag::VERSION, b"9.0.0"));
    session.plugin("bad.so", &MARK, |bytes| set_plugin(bytes, plugin_tag::PANIC, b"abort"));
    session.plugin("attributes.so", &SAMPLE, |bytes| break_attributes(bytes));
    assert_eq!(session.run("plugin list"), Some(0));
    assert_eq!(session.run("plugin remove mark"), Some(1));
    assert_eq!(session.run("plugin install some.so bad.so"), Some(1));
    assert_eq!(session.run("plugin install attributes.so"), Some(1));
    assert_eq!(session.run("plugin install some.so newer.so"), Some(1));
    assert_eq!(session.run("plugin install gone.so"), Some(1));
    assert!(!session.folder.join("home").exists(), "nothing is installed of what is refused");
    assert_eq!(session.run("plugin install some.so"), Some(0));
    assert_eq!(session.run("list passes"), Some(0));
    assert_eq!(session.run("plugin install newer.so"), Some(0));
    assert_eq!(session.run("plugin list"), Some(0));
    let installed = format!("libmark.{DLL_EXTENSION}");
    assert_eq!(session.files("home/plugins"), [installed.as_str()]);
    let mode = session.folder.join("home/plugins").join(&installed).metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o022, 0, "nobody else may write it");
    // One that can no longer be read is listed, replaced, and removed by the name of its file.
    fs::write(session.folder.join("home/plugins").join(&installed), "text").unwrap();
    assert_eq!(session.run("plugin list"), Some(0));
    assert_eq!(session.run("plugin install some.so"), Some(0));
    assert_eq!(session.run("plugin remove marc"), Some(1));
    assert_eq!(session.run("plugin remove mark"), Some(0));
    assert_eq!(session.run("plugin remove mark"), Some(1));
    assert_eq!(session.run("list passes"), Some(0));
    assert_eq!(session.files("home/plugins"), [""; 0]);
    let json = session.output("plugin list --json");
    assert_eq!(serde_json::from_slice::<Value>(&json.stdout).unwrap(), json!([]));
    session.check();
}

#[test]
fn a_folder_that_cannot_be_written_is_said() {
    let session = Session::new("no_folder");
    session.plugin("mark.so", &MARK, |_| {});
    fs::write(session.folder.join("home"), "a file").unwrap();
    let output = session.output("plugin install mark.so --allow-writable-plugins");
    assert_eq!(output.status.code(), Some(1));
    let said = session.said(&output.stderr);
    assert!(said.starts_with("error: `<folder>/home/plugins` cannot be made: "), "{said}");
    assert_eq!(fs::read_to_string(session.folder.join("home")).unwrap(), "a file");
}

#[test]
fn every_session_is_one_that_is_tried() {
    let names: Vec<&str> = vec![
        "check_accepted",
        "check_overlap",
        "check_refused",
        "check_requirements",
        "help",
        "install",
        "new",
        "new_wrong",
    ];
    let entries = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/life")).unwrap().flatten();
    let mut found: Vec<String> =
        entries.map(|entry| entry.path().file_stem().unwrap().to_string_lossy().into_owned()).collect();
    found.sort();
    assert_eq!(found, names);
}

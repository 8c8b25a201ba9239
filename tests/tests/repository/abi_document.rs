//! The numbers, offsets and signatures in `docs/abi.md` match the code.

use relais_plugin_api::boundary::{
    fingerprint::FINGERPRINT,
    record::{BOUNDARY, FORMAT, HEADER, MAGIC, MAX_LEN, SECTION, SECTION_MACHO},
    wire::{CRITICAL, FIELD_HEADER},
};
use std::{env, fs, path::Path};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// Returns the block of the page for a mark.
fn made(mark: &str) -> String {
    let words: Vec<&str> = mark.split(' ').collect();
    match words[..] {
        ["constants"] => constants(),
        ["module", file, module] => numbers(file, module),
        ["layout", ref types @ ..] => {
            format!("```text\n{}```\n", types.iter().map(|ty| layout(ty)).collect::<String>())
        }
        _ => panic!("`{mark}` is no mark"),
    }
}

fn constants() -> String {
    let magic: Vec<String> = MAGIC.iter().map(|byte| format!("{byte:02x}")).collect();
    let rows = [
        ("version of the boundary", BOUNDARY.to_string()),
        ("fingerprint, where pointers have 64 bits", format!("`{FINGERPRINT:016x}`")),
        ("format of records", FORMAT.to_string()),
        ("magic of a record", format!("`{}`", magic.join(" "))),
        ("bytes of a record's header", HEADER.to_string()),
        ("bytes before a field's contents", FIELD_HEADER.to_string()),
        ("most bytes of a record's fields", MAX_LEN.to_string()),
        ("bit of a critical tag", format!("`{CRITICAL:#x}`")),
        ("section", format!("`{SECTION}`, `{SECTION_MACHO}`")),
    ];
    let rows = rows.map(|(what, value)| format!("| {what} | {value} |\n"));
    format!("| what | value |\n| --- | --- |\n{}", rows.concat())
}

/// The constants of a module, as in the source, with their documentation.
fn numbers(file: &str, module: &str) -> String {
    let path = root().join("plugin-api").join(file);
    let source = fs::read_to_string(&path).unwrap();
    let begin = source.find(&format!("mod {module} {{\n")).unwrap_or_else(|| panic!("{module} in {file}"));
    let body = source[begin..].split_once('\n').unwrap().1;
    let body = &body[..body.find("\n}").unwrap()];
    let (mut rows, mut doc) = (Vec::new(), String::new());
    for line in body.lines().map(str::trim) {
        if let Some(more) = line.strip_prefix("///") {
            doc = format!("{doc} {}", more.trim()).trim().to_owned();
        } else if let Some(constant) = line.strip_prefix("pub const ").filter(|line| !line.starts_with("fn")) {
            let (name, value) = constant.trim_end_matches(';').split_once(" = ").unwrap();
            let (name, value) = (name.split(':').next().unwrap(), value.replace('|', "\\|"));
            rows.push(format!("| {value} | `{name}` | {} |\n", without_links(&std::mem::take(&mut doc))));
        } else if line.starts_with("pub const fn") {
            break;
        }
    }
    assert!(!rows.is_empty(), "{module} of {file} has constants");
    format!("| number | name | what |\n| ---: | --- | --- |\n{}", rows.concat())
}

/// Documentation without the targets of its links.
fn without_links(doc: &str) -> String {
    let mut out = String::new();
    let mut rest = doc;
    while let Some((before, after)) = rest.split_once("](") {
        out.push_str(before);
        rest = after.split_once(')').unwrap().1;
    }
    (out + rest).replace("[`", "`").replace("`]", "`")
}

/// A type's layout, as `boundary.txt` has it.
fn layout(ty: &str) -> String {
    let text = fs::read_to_string(root().join("plugin-api/boundary.txt")).unwrap();
    let is_of = |line: &&str| line.strip_prefix(ty).is_some_and(|rest| rest.starts_with(": "));
    let mut lines = text.lines().skip_while(|line| !is_of(line));
    let first = lines.next().unwrap_or_else(|| panic!("{ty} crosses the boundary"));
    let fields = lines.take_while(|line| line.starts_with(' '));
    [first].into_iter().chain(fields).map(|line| format!("{line}\n")).collect()
}

#[test]
#[cfg(target_pointer_width = "64")]
fn the_page_says_what_the_code_says() {
    let path = root().join("docs/abi.md");
    let page = fs::read_to_string(&path).unwrap();
    let (mut now, mut rest, mut n_marks) = (String::new(), page.as_str(), 0);
    while let Some((before, after)) = rest.split_once("<!-- ") {
        let (mark, after) = after.split_once(" -->\n").expect("a mark ends in its line");
        let (_, after) = after.split_once("<!-- end -->").expect("a block ends");
        now += &format!("{before}<!-- {mark} -->\n\n{}\n<!-- end -->", made(mark));
        (rest, n_marks) = (after, n_marks + 1);
    }
    now += rest;
    assert!(n_marks > 20, "the page has its marks");
    if env::var_os("RELAIS_BLESS").is_some() {
        fs::write(&path, &now).unwrap();
    }
    let page = fs::read_to_string(&path).unwrap();
    let diff = similar::TextDiff::from_lines(page.as_str(), &now);
    assert!(page == now, "{}\nbless with RELAIS_BLESS=1", diff.unified_diff().header("the page", "the code"));
}

/// The numbers in the sentences of the page.
#[test]
#[cfg(target_pointer_width = "64")]
fn the_sentences_hold() {
    use abi_stable::std_types::{RArc, RString, RVec};
    assert_eq!((size_of::<RVec<u8>>(), size_of::<RString>(), size_of::<RArc<u8>>()), (32, 32, 16));
    assert_eq!((HEADER, MAX_LEN, CRITICAL, FIELD_HEADER), (32, 64 << 10, 0x8000, 6));
    assert_eq!(relais_plugin_api::boundary::record::record_kind::CRITICAL, 0x8000_0000);
}

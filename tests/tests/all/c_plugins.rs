//! Plugins in C, which share no types with the host: one that is in order, on models; and one that answers as it likes, with
//! the messages about it in `golden/c-…`.
#![cfg(target_os = "linux")]

use relais_plugin_api::{
    boundary::ship::{ALIGNMENT, FORMAT, HERE, Ship, ship_list, shipped},
    ir::{attr_kind, equal, flag, kind, type_kind},
    text,
};
use relais_tests::{
    cargo_built::{c_plugin, library, plugin_target},
    cli::{Run, command, folder},
    golden::{Golden, Workshop},
    venv::judge,
};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::LazyLock,
};

fn path(inside: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(inside).canonicalize().unwrap()
}

/// Compiles the hostile plugin with these definitions.
fn hostile(name: &str, args: &[&str]) -> PathBuf {
    let here = plugin_target().join("c").join(format!("hostile-{name}"));
    fs::create_dir_all(&here).unwrap();
    let mut record = command();
    record.args(["plugin", "record"]).arg(path("tests/c/plugin.toml")).arg("-o").arg(here.join("record.h"));
    Run::of(&mut record).expect_success();
    let library = here.join("libhostile.so");
    c_plugin(&[path("tests/c/hostile.c")], &here, &library, args);
    library
}

static HOSTILE: LazyLock<PathBuf> = LazyLock::new(|| hostile("whole", &[]));

const MODEL: &str = r#"def @main(%x: Tensor[(2), float32]) -> (%y) #[opset = {"": 18, "hostile": 1}, ir_version = 9] {
  %a = Add(%x, [1.0, 2.0]);
  %r = Reshape(%a, [1, 2]);
  %y = Neg(%r);
  %y
}
"#;

fn here() -> Workshop {
    let here = Workshop::new();
    here.write("m.relay", MODEL);
    here.write("p.so", fs::read(&*HOSTILE).unwrap());
    here
}

fn pass(pass: &str, what: &str) -> String {
    format!("steps = [{{ pass = \"{pass}\", options.what = \"{what}\" }}]\n")
}

fn arguments(pipeline: &'static str) -> Vec<&'static str> {
    vec!["-q", "run", "m.relay", "-o", "out.onnx", "--no-reproducer", "--plugin", "./p.so", "-p", pipeline]
}

#[test]
fn c17_an_answer_of_a_pass_in_c_is_not_believed() {
    let (here, mut golden) = (here(), Golden::new("c-plugins"));
    for what in ["nothing", "same", "config"] {
        here.write("p.toml", pass("hostile.Pass", what));
        let said = here.run(&arguments("p.toml"));
        assert_eq!(said.golden(), "status 0\n", "{what}");
        fs::remove_file(here.path("out.onnx")).unwrap();
    }
    let cases = [
        "options",
        "not-made",
        "silent",
        "failed",
        "not-utf8",
        "junk",
        "short",
        "cut",
        "null",
        "huge",
        "null-message",
        "format",
        "kind",
        "lists",
        "root",
        "offset",
        "size",
        "error",
        "count",
        "file",
        "operand",
        "absent",
        "cycle",
        "result",
        "type",
        "interface",
        "twice",
        "tensor",
        "shared",
        "key",
        "unknown",
        "wide",
    ];
    for what in cases {
        here.write("p.toml", pass("hostile.Pass", what));
        golden.check(what, &here.fails(&arguments("p.toml")).golden());
    }
    for what in ["junk", "cut", "kind", "lists", "offset", "unknown"] {
        here.write("p.toml", pass("hostile.Module", what));
        golden.check(&format!("module-{what}"), &here.fails(&arguments("p.toml")).golden());
    }
    here.write("p.toml", pass("hostile.Pass", "crash"));
    let said = here.fails(&arguments("p.toml"));
    let named = "in pass `hostile.Pass`, on function `@main`, ended the process (SIGSEGV at address 0x40)";
    assert!(said.stderr.contains("plugin `hostile 0.1.0`") && said.stderr.contains(named), "{}", said.stderr);
    golden.finish();
}

#[test]
fn c17_an_answer_of_an_operator_in_c_is_not_believed() {
    let (here, mut golden) = (here(), Golden::new("c-operators"));
    for what in ["none", "failed", "junk", "cut", "null", "operand", "type", "call", "no-value", "silent"] {
        let call = format!("hostile::Op([1.0, 2.0], what = \"{what}\")");
        here.write(
            "m.relay",
            MODEL.replace("[1.0, 2.0]);\n  %r", "%h);\n  %r").replace("  %a", &format!("  %h = {call};\n  %a")),
        );
        let mut arguments = arguments("p.toml");
        arguments.truncate(arguments.len() - 2);
        let said = here.run(&[&arguments[..], &["--passes", "InferType,FoldConstant", "--remarks=missed"]].concat());
        golden.check(what, &said.golden());
        let _ = fs::remove_file(here.path("out.onnx"));
    }
    golden.finish();
}

#[test]
fn records_of_the_log_are_from_a_logger_of_the_plugins_name() {
    let here = folder("c-log");
    fs::write(here.join("m.relay"), MODEL).unwrap();
    fs::write(here.join("p.toml"), pass("hostile.Pass", "log")).unwrap();
    let said = |filter: &str| {
        let mut relais = command();
        relais.current_dir(&here).args(["-q", "run", "m.relay", "-o", "out.relay", "-p", "p.toml", "--plugin"]);
        Run::of(relais.arg(&*HOSTILE).env("RELAIS_LOG", filter)).expect_success().stderr
    };
    assert!(said("hostile=info").contains("a word of C"));
    assert_eq!(said("other=info"), "");
}

#[test]
fn c17_a_table_in_c_is_checked_before_it_is_used() {
    let (here, mut golden) = (here(), Golden::new("c-tables"));
    here.write("p.toml", pass("hostile.Pass", "nothing"));
    let variants: [(&str, &[&str]); 5] = [
        ("no-symbol", &["-DNO_SYMBOL"]),
        ("no-functions", &["-DNO_FUNCTIONS"]),
        ("small", &["-DSIZE=7"]),
        ("empty", &["-DSIZE=0"]),
        ("later-format", &["-DFORMAT=2"]),
    ];
    for (name, args) in variants {
        here.write("p.so", fs::read(hostile(name, args)).unwrap());
        golden.check(name, &here.fails(&arguments("p.toml")).golden());
    }
    // One of a later version has more functions.
    here.write("p.so", fs::read(hostile("larger", &["-DSIZE=sizeof(relais_plugin)+64"])).unwrap());
    assert_eq!(here.run(&arguments("p.toml")).golden(), "status 0\n");
    golden.finish();
}

#[test]
fn descriptions_are_checked() {
    let (here, mut golden) = (Workshop::new(), Golden::new("c-records"));
    let plugin = "name = \"acme\"\nversion = \"1.0.0\"\n";
    let cases = [
        ("not-toml", "name = ".to_owned()),
        ("no-name", "version = \"1.0.0\"\n".to_owned()),
        ("bad-version", "name = \"acme\"\nversion = \"one\"\n".to_owned()),
        ("unknown-key", format!("{plugin}licens = \"MIT\"\n")),
        ("no-level", format!("{plugin}[[pass]]\nname = \"acme.P\"\n")),
        ("bad-level", format!("{plugin}[[pass]]\nname = \"acme.P\"\nlevel = \"rewrite\"\n")),
        ("bad-name", format!("{plugin}[[pass]]\nname = \"acme P\"\nlevel = \"module\"\n")),
        ("reserved", format!("{plugin}[[pass]]\nname = \"relais.P\"\nlevel = \"module\"\n")),
        (
            "bad-default",
            format!(
                "{plugin}[[pass]]\nname = \"acme.P\"\nlevel = \"module\"\n\
                 options.n = {{ type = \"integer\", max = 3, default = 4 }}\n"
            ),
        ),
        ("option-key", format!("{plugin}option.\"acme.x\" = {{ type = \"bool\", min = 1 }}\n")),
        (
            "effects",
            format!(
                "{plugin}[[operator]]\ndomain = \"a\"\nname = \"B\"\nsince = 1\ninputs = 1\noutputs = 1\neffects = [\"evil\"]\n"
            ),
        ),
        (
            "inputs",
            format!("{plugin}[[operator]]\ndomain = \"a\"\nname = \"B\"\nsince = 1\ninputs = 70000\noutputs = 1\n"),
        ),
    ];
    for (name, toml) in cases {
        here.write("plugin.toml", toml);
        golden.check(name, &here.fails(&["plugin", "record", "plugin.toml", "-o", "record.h"]).golden());
    }
    let more = [
        ("no-array", format!("{plugin}[pass]\nname = \"acme.P\"\nlevel = \"module\"\n")),
        ("symbol", format!("{plugin}symbol = \"not a symbol\"\n")),
        ("twice", format!("{plugin}{pass}{pass}", pass = "[[pass]]\nname = \"acme.P\"\nlevel = \"module\"\n")),
    ];
    for (name, toml) in more {
        here.write("plugin.toml", toml);
        golden.check(name, &here.fails(&["plugin", "record", "plugin.toml", "-o", "record.h"]).golden());
    }
    let addition = "[[addition]]\ndomain = \"\"\nname = \"Relu\"\nsince = 14\nkernel = true\n";
    here.write("plugin.toml", format!("{plugin}{addition}{addition}target = \"npu\"\n"));
    golden.check("added-twice", &here.fails(&["plugin", "record", "plugin.toml", "-o", "record.h"]).golden());
    golden.check("missing", &here.fails(&["plugin", "record", "nothing.toml"]).golden());
    golden.finish();
}

/// The record says everything that one of a plugin in Rust can.
#[test]
fn a_description_becomes_records() {
    let here = folder("c-description");
    let toml = r#"
name = "acme-all"
version = "1.2.3"
licence = "MIT"
description = "Everything."
domains = { "acme" = 3 }

[[pass]]
name = "acme.All"
aliases = ["acme.Every"]
level = "module"
opt_level = 1
required = ["InferType"]
doc = "All."
serial = true
phase = "clean-up"
runtime = "acme"
changes_interface = "widen"
statistics = { widened = "inputs" }
preserves = ["structure"]
[pass.options]
widen = { type = "bool", default = false, doc = "Whether." }
n = { type = "integer", min = 1, max = 9, default = 3 }
size = { type = "integer", unit = "bytes", default = 65536 }
x = { type = "float", min = 0, default = 1 }
how = { type = "choice", choices = { fast = "quickly", well = "slowly" }, default = "well" }
names = { type = "list", items = { type = "string" }, default = ["a"] }
file = { type = "path", optional = true }
deep = { type = "table", fields = { one = { type = "float", default = 1 } }, default = { one = 2 } }

[[operator]]
domain = "acme"
name = "Op"
since = 2
inputs = [1, 2]
outputs = [1]
takes = [{ name = "x", type = "T" }, { name = "y", type = "T", kind = "optional" }]
gives = [{ name = "z", type = "T", kind = "variadic" }]
types.T = { tensors = ["float32", "int8"], others = ["map(string,tensor(float))"] }
attributes = { axis = { kind = "int", default = "-1" }, mode = { kind = "string", required = true } }
effects = ["random", "traps"]
fusion = "broadcast"
macs = "2 * y0"
properties = { "acme.color" = "red", exact = "rounded" }

[[addition]]
domain = ""
name = "Relu"
since = 14
kernel = true
priority = 7
target = "acme-chip"

[[pipeline]]
name = "acme-small"
toml = "steps = [\"acme.All\"]"

[option."acme.color"]
type = "string"
default = "red"
"#;
    fs::write(here.join("plugin.toml"), toml).unwrap();
    let mut record = command();
    record.current_dir(&here).args(["plugin", "record", "plugin.toml", "-o", "record.h"]);
    Run::of(&mut record).expect_success();
    let source = "#include \"relais.h\"\n#include \"record.h\"\n\
                  RELAIS_EXPORT const relais_plugin relais_plugin_acme_all = { sizeof(relais_plugin), 1, 0, 0, 0, 0 };\n";
    fs::write(here.join("all.c"), source).unwrap();
    c_plugin(&[here.join("all.c")], &here, &here.join("liball.so"), &[]);
    let check = Run::of(command().current_dir(&here).args(["plugin", "check", "liball.so"])).expect_success().stdout;
    for part in [
        "plugin acme-all 1.2.3",
        "pass acme.All",
        "acme.Every",
        "InferType",
        "how",
        "fast",
        "operator acme::Op since version 2",
        "map(string,tensor(float))",
        "axis",
        "acme.color",
        "acme-chip",
        "acme-small",
        "verdict: accepted",
    ] {
        assert!(check.contains(part), "{part}: {check}");
    }
}

/// The changes of a pass in C are written, and nothing else is touched.
#[test]
fn a_pass_in_c_changes_what_it_changed() {
    let here = folder("c-lossless");
    let plugin = library(&path("docs/examples/c-plugin"));
    let text = r#"
#[ir_version = 9]
def @main(%x: Tensor[(N, 3), float32]) -> (%y) #[opset = {"": 18}] {
  %two = const(float32, 2.0) #[form = initializer];
  %a = Mul(%x, %two) #[doc_string = "doubled"];
  %b = Relu(%a) #[doc_string = "rectified"];
  %y = Mul(%b, %x);
  %y
}
"#;
    fs::write(here.join("m.relay"), text).unwrap();
    let run = |args: &[&str]| {
        let mut relais = command();
        Run::of(relais.current_dir(&here).args(args).arg("--plugin").arg(&plugin)).expect_success()
    };
    run(&["-q", "run", "m.relay", "-o", "model.onnx", "--passes", "InferType"]);
    let said = run(&["run", "model.onnx", "-o", "after.onnx", "--passes", "acme.DoubleToAdd", "--stats", "--check=3"]);
    assert!(said.stdout.contains("doubled") || said.stderr.contains("doubled"), "{}{}", said.stdout, said.stderr);
    run(&["-q", "run", "after.onnx", "-o", "after.relay", "--passes", "InferType"]);
    let shown = fs::read_to_string(here.join("after.relay")).unwrap();
    assert!(shown.contains("Add(%x, %x)") && shown.contains("Relu(%a)"), "{shown}");
    judge(["same".as_ref(), here.as_os_str(), here.join("after.onnx").as_os_str()]);
    // Without anything to do, nothing is touched; an option in C is one like any other.
    let wide = text.replace("float32", "float64");
    fs::write(here.join("wide.relay"), wide).unwrap();
    run(&["-q", "run", "wide.relay", "-o", "wide.onnx", "--passes", "InferType"]);
    for (value, is_same) in [(false, true), (true, false)] {
        let pipeline = format!("steps = [{{ pass = \"acme.DoubleToAdd\", options.all_floats = {value} }}]");
        fs::write(here.join("p.toml"), pipeline).unwrap();
        run(&["-q", "run", "wide.onnx", "-o", "other.onnx", "-p", "p.toml"]);
        let [before, after] = ["wide.onnx", "other.onnx"].map(|file| fs::read(here.join(file)).unwrap());
        assert_eq!(before == after, is_same);
    }
}

/// Edits in place of everything that a node refers to: what was read of it and computed from it is forgotten, and the output
/// is what it was meant to be.
#[test]
fn c17_edits_in_place_are_written() {
    let (here, judged) = (folder("c-edits"), folder("c-edits-judged"));
    let text = r#"
#[ir_version = 9]
def @main(%x: Tensor[(2, 2), float32]) -> (%y, %u) #[opset = {"": 18, "f": 1}] {
  %k = const(float32, [1.0, 2.0]) #[form = initializer];
  %a = Add(%x, %k) #[doc_string = "added"];
  %t = Transpose(%a, perm = [1, 0]);
  %c = @f(%t);
  %y = Neg(%c) #[doc_string = "negated"];
  %u = @g(%x);
  (%y, %u)
}
def @f(%x) #[opset = {"": 18}, function_domain = "f", function_name = "f"] { %y = Relu(%x); %y }
def @g(%x) #[opset = {"": 18}, function_domain = "f", function_name = "g"] { %y = Exp(%x); %y }
"#;
    fs::write(here.join("m.relay"), text).unwrap();
    let run = |args: &[&str]| {
        let mut relais = command();
        relais.current_dir(&here).args(args).arg("--plugin").arg(&*HOSTILE).arg("--no-reproducer");
        Run::of(&mut relais).expect_success()
    };
    run(&["-q", "run", "m.relay", "-o", "model.onnx", "--passes", "InferType"]);
    let cases = [
        ("edit-constant", "[8.0, 9.0]", "[1.0, 2.0]"),
        ("edit-ints", "perm = [0, 1]", "perm = [1, 0]"),
        ("edit-operator", " = Abs(", " = Neg("),
        ("edit-callee", " = @\"local::g\"(%t)", " = @\"local::f\"("),
        ("insert", "%made = Abs(%c);", "nothing"),
    ];
    for (what, is, was) in cases {
        fs::write(here.join("p.toml"), pass("hostile.Pass", what)).unwrap();
        run(&["-q", "run", "model.onnx", "-o", "after.onnx", "-p", "p.toml"]);
        run(&["-q", "run", "after.onnx", "-o", "after.relay", "--passes", "InferType"]);
        let shown = fs::read_to_string(here.join("after.relay")).unwrap();
        assert!(shown.contains(is) && !shown.contains(was), "{what}: {shown}");
        assert!(shown.contains("%t: Tensor[(2, 2), float32]"), "{what}: {shown}");
        fs::rename(here.join("after.onnx"), judged.join(format!("{what}.onnx"))).unwrap();
    }
    judge(["written".as_ref(), judged.as_os_str()]);
}

// ---- the header and the format ---------------------------------------------------------------------------------------

/// The numbers in the header that C sources include.
fn numbers_of_the_header() -> BTreeMap<String, u64> {
    let header = fs::read_to_string(path("plugin-api/c/relais.h")).unwrap();
    let number = |text: &str| {
        let text = text.trim().trim_end_matches('u');
        text.strip_prefix("0x").map_or_else(|| text.parse().ok(), |hex| u64::from_str_radix(hex, 16).ok())
    };
    let defined = header.lines().filter_map(|line| line.strip_prefix("#define ")?.split_once(' '));
    let mut numbers: BTreeMap<String, u64> =
        defined.filter_map(|(name, value)| Some((name.to_owned(), number(value)?))).collect();
    for part in header.split("enum {").skip(1) {
        for entry in part.split('}').next().unwrap().split([',', '\n']) {
            let entry = entry.split("/*").next().unwrap();
            if let Some((name, value)) = entry.split_once('=') {
                numbers.insert(name.trim().to_owned(), number(value).unwrap_or_else(|| panic!("{entry}")));
            }
        }
    }
    numbers
}

#[test]
fn the_header_has_the_numbers_of_the_boundary() {
    let numbers = numbers_of_the_header();
    let same = [
        ("SHIP_FORMAT", u64::from(FORMAT)),
        ("HERE", HERE.into()),
        ("FUNCTION", shipped::FUNCTION.into()),
        ("MODULE", shipped::MODULE.into()),
        ("NODES", ship_list::NODES.into()),
        ("POOL", ship_list::POOL.into()),
        ("ATTRS", ship_list::ATTRS.into()),
        ("WORDS", ship_list::WORDS.into()),
        ("BLOCKS", ship_list::BLOCKS.into()),
        ("OPS", ship_list::OPS.into()),
        ("TYPES", ship_list::TYPES.into()),
        ("TYPE_WORDS", ship_list::TYPE_WORDS.into()),
        ("TYPE_DIMS", ship_list::TYPE_DIMS.into()),
        ("STRINGS", ship_list::STRINGS.into()),
        ("TENSORS", ship_list::TENSORS.into()),
        ("SIZES", ship_list::SIZES.into()),
        ("DATA", ship_list::DATA.into()),
        ("TABLE", ship_list::TABLE.into()),
        ("LIST", ship_list::LIST.into()),
        ("KEYS", ship_list::KEYS.into()),
        ("RESERVED", ship_list::RESERVED.into()),
        ("GLOBAL", ship_list::GLOBAL.into()),
        ("ATTRIBUTE", ship_list::ATTRIBUTE.into()),
        ("SOURCE", ship_list::SOURCE.into()),
        ("ABSENT", kind::ABSENT.into()),
        ("VAR", kind::VAR.into()),
        ("GLOBAL_VAR", kind::GLOBAL_VAR.into()),
        ("OP", kind::OP.into()),
        ("CONSTANT", kind::CONSTANT.into()),
        ("TUPLE", kind::TUPLE.into()),
        ("TUPLE_GET_ITEM", kind::TUPLE_GET_ITEM.into()),
        ("CALL", kind::CALL.into()),
        ("IF", kind::IF.into()),
        ("FUNCTION_NODE", kind::FUNCTION.into()),
        ("LET", flag::LET.into()),
        ("EXTRA", flag::EXTRA.into()),
        ("LISTED_INPUT", flag::LISTED_INPUT.into()),
        ("PRISTINE", flag::PRISTINE.into()),
        ("ATTR_FLOAT", attr_kind::FLOAT.into()),
        ("ATTR_INT", attr_kind::INT.into()),
        ("ATTR_STRING", attr_kind::STRING.into()),
        ("ATTR_FLOATS", attr_kind::FLOATS.into()),
        ("ATTR_INTS", attr_kind::INTS.into()),
        ("TYPE_UNKNOWN", type_kind::UNKNOWN.into()),
        ("TYPE_TENSOR", type_kind::TENSOR.into()),
        ("TYPE_TENSOR_ANY_RANK", type_kind::TENSOR_ANY_RANK.into()),
        ("TYPE_TUPLE", type_kind::TUPLE.into()),
    ];
    for (name, number) in same {
        assert_eq!(numbers.get(&format!("RELAIS_{name}")), Some(&number), "{name}");
    }
}

/// The functions of the header, on the example of the format.
#[test]
fn the_header_reads_and_writes_what_is_shipped() {
    let here = folder("c-helpers");
    let mut cc = std::process::Command::new("cc");
    cc.args(["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-pedantic", "-I"]).arg(path("plugin-api/c"));
    Run::of(cc.arg(path("tests/c/helpers.c")).arg("-o").arg(here.join("helpers"))).expect_success();
    let mut helpers = std::process::Command::new(here.join("helpers"));
    Run::of(helpers.arg(path("tests/c/module.ship"))).expect_success();
}

/// The bytes that this format has been since it was written down: a later version reads them, and writes them.
#[test]
fn the_format_stays() {
    let golden = path("tests/c").join("module.ship");
    let source = fs::read_to_string(path("tests/c/module.relay")).unwrap();
    let module = text::parse_str(&source).unwrap();
    let ship = Ship::module(&module);
    if std::env::var_os("RELAIS_BLESS").is_some() {
        fs::write(&golden, ship.bytes()).unwrap();
    }
    let bytes = fs::read(&golden).unwrap();
    assert_eq!(bytes.len() % 4, 0);
    assert!(ship.bytes() == bytes, "what is shipped differs from `{}`", golden.display());
    let back = ship.module_back(&bytes, &module, |_| {}).unwrap();
    equal(&module, &back).unwrap();
    assert!(bytes.starts_with(b"\x89RelShip") && ALIGNMENT == 64);
}

//! The text form: printed text can be parsed, and the text of every construct is as documented.

use relais_plugin_api::{
    ir::*,
    text::{self, PrintOptions},
};

fn parse(text: &str) -> IRModule {
    text::parse_str(text).unwrap_or_else(|errors| {
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        panic!("{}\n{text}", errors.join("\n"))
    })
}

/// Parses, prints, and checks that the printed text means the same and prints the same.
fn round(text: &str) -> String {
    let module = parse(text);
    let printed = text::print(&module, &PrintOptions::default());
    let again = parse(&printed);
    if let Err(difference) = equal(&module, &again) {
        panic!("{difference}\n{printed}");
    }
    assert_eq!(printed, text::print(&again, &PrintOptions::default()));
    printed
}

#[track_caller]
fn canonical(text: &str) {
    assert_eq!(round(text), text);
}

#[test]
fn a_whole_module() {
    canonical(
        r#"#[ir_version = 8, producer_name = "pytorch", "odd name" = "\xff\n"]

def @main(%x: Tensor[(1, 8, N, ?), float32], %y: Tensor[*, ?]) -> (%out: Tensor[(1), float32]) #[opset = {"": 17, "com.microsoft": 1}, graph_name = "g"] {
  %w = const(float32, [1.0, -0.0, nan, inf]) #[form = initializer, listed_input];
  %3 = Relu(%x);
  let %t: Tensor[(2, 2), float16] = Add(%3, %w);
  %5 = com.microsoft::Conv:ov@11(%t, %w, _, strides = [1, 1], group = 1) #[name = "conv1", doc = "…"];
  %6 = Split(%x, axis = 0) -> 2;
  %7 = %6[1];
  %c = (%7, %5);
  %8 = if (%c) {
    %9 = Relu(%t);
    %9
  } else -> (%z) #[graph_name = "else"] {
    (%t, %7)
  } -> 1 #[name = "if"];
  %f: ? = const(bool, true);
  %g = fn(%a, %b: Tensor[(), int64]) {
    let %h = Loop(%a, _, %b, body = fn %body(%i: Tensor[(), int64] = const(int64, 3)) {
      ()
    }, more = [fn() {
      %a
    }, fn(%j) {
      %j
    }], k = 1);
    %h
  };
  %12 = %g(%x, %y);
  %13 = @helper(%x, @helper, &Relu);
  (%5, %12)
}

def @"my::helper:v"(%"0") {
  %"0"
}

prim @p(%x) {
  %2 = tir::store(%x, leaf(200, 1, 0, 7, 4294967295));
  %3 = const(int8, [1]);
  %4 = opaque(9, float32, (2, 3), hex"00ff");
  (%4, leaf(128, 0, 0, 0, 0))
}

global(7) @q() {
  ()
}
"#
        .replace("%f: ? = const(bool, true);", "%f = const(bool, true);")
        .as_str(),
    );
}

#[test]
fn the_documentation_is_right() {
    let page = include_str!("../../../docs/text-form.md");
    let blocks = page.split("```text\n").skip(1).filter_map(|rest| rest.split("```").next());
    let examples: Vec<&str> = blocks.filter(|block| block.starts_with("#[") || block.starts_with("def")).collect();
    assert_eq!(examples.len(), 3);
    for example in examples {
        let printed = round(example);
        assert!(verify(&parse(&printed)).is_empty());
    }
}

#[test]
fn short_forms() {
    let printed = round(
        "def @main(%x) {
           %0 = Reshape(%x, [1, -1]);
           (%a, _, %b: Tensor[*]) = Split(%0, axis = 1, /* none */);
           let (%c,) = f(1u8, 2.5f16, true, \"s\", [[1, 2], [3, 4]], const(int4, [1, -8, 7]));
           %d = 1.5; %e = [1]; %s = \"text\";
           Print(%a); // for its effect
           \"if\"(%x)
         }",
    );
    let expected = r#"def @main(%x) {
  %5 = const(int64, [1, -1]);
  %7 = Reshape(%x, %5);
  %9 = Split(%7, axis = 1) -> 3;
  %a = %9[0];
  %b: Tensor[*, ?] = %9[2];
  %13 = const(uint8, 1);
  %14 = const(float16, 2.5);
  %15 = const(bool, true);
  %16 = const(string, "s");
  %17 = const(int64, [[1, 2], [3, 4]]);
  %18 = const(int4, [1, -8, 7]);
  let %19 = f(%13, %14, %15, %16, %17, %18) -> 1;
  let %c = %19[0];
  %d = const(float32, 1.5);
  %e = const(int64, [1]);
  %s = const(string, "text");
  %25 = Print(%a);
  %27 = "if"(%x);
  %27
}
"#;
    assert_eq!(
        printed.split_whitespace().collect::<Vec<_>>().len(),
        expected.split_whitespace().collect::<Vec<_>>().len()
    );
    let strip = |text: &str| text.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
    assert_eq!(strip(&printed), strip(expected));
}

#[test]
fn every_attribute_and_type() {
    canonical(
        r#"def @main(%x: Opaque["d", "n\x00"], %y: fn(Tensor[(), float32], ?) -> Tuple[], %z: Map[string, Seq[Optional[Sparse[*, float32]]]], %w) -> () {
  %f = Op(%x, i = -9223372036854775808, f = 1.0, g = -inf, n = nan(0xffc00001), s = "a\"\\\n", e = "", is = [1, 2], fs = [1.0, 2.5e-8], nothing = ints[], none = floats[], no = strings[], ss = ["a", "\xff"], t = const(int8, [[-1], [2]]), ts = [const(bool, true), splat(float64, (3, 4), -0.0)], ty = type(?), tys = [type(Tuple[?, ?])], r = $alpha: floats, q = $"odd name": kind77, sp = sparse(hex"0a"), sps = [sparse(hex"")], raw = raw(hex"ff"), u = unknown(77, 1, 2), "odd name" ?= 1, flagged ?6 = 2) #[!axis = 1, doc = "x"];
  %g: ? = const(complex64, [(1.0, -0.0), (nan, inf)]);
  %h = const(float8e4m3fn, (0, 2), []);
  %i = const(uint2, [0, 1, 2, 3, 3]) #[form = form9];
  %j = const(bool, (2), hex"0002");
  %k = const(string, ["", "\x00"]);
  %3 = node(11, 7, 96)(%x, axis = 1, body = fn() {
    ()
  }, fn() {
    ()
  }, back = region(0), both = regions(0, 2));
  ()
}
"#
        .replace(", fn() {\n    ()\n  }, back = region(0), both = regions(0, 2));", ", back = region(0), both = regions(0, 2), fn() {\n    ()\n  });")
        .replace("#[!axis = 1, doc = \"x\"]", "#[doc = \"x\"]")
        .as_str(),
    );
}

/// Each case of `text_errors.txt` is a text, its lines after `> `, and the errors it produces. With `BLESS=1` in the
/// environment, the test rewrites the file.
#[test]
fn errors_say_what_and_where() {
    let cases = include_str!("../text_errors.txt");
    let mut found = String::new();
    for case in cases.trim_end().split("\n\n") {
        let lines = case.lines().filter_map(|line| line.strip_prefix('>'));
        let text: Vec<&str> = lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
        let errors = text::parse_str(&text.join("\n")).err().unwrap_or_default();
        assert!(!errors.is_empty(), "no error for\n{case}");
        for line in text {
            found += format!("> {line}").trim_end();
            found += "\n";
        }
        for error in errors {
            found += &format!("{error}\n");
        }
        found += "\n";
    }
    let found = format!("{}\n", found.trim_end());
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/text_errors.txt"), found).unwrap();
    } else {
        assert!(found == cases, "run with BLESS=1 and look at the difference; found:\n{found}");
    }
}

//! The text form: what is printed is read back, and the text of every construct is as documented.

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

prim @p = hex"00ff";
"#
        .replace("%f: ? = const(bool, true);", "%f = const(bool, true);")
        .as_str(),
    );
}

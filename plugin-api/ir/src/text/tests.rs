//! The text form of loop programs.

mod random;

use super::{PrintOptions, Types, display, parse_str, print};
use crate::{
    prim::{CoreOp, LoopKind, OUTPUTS, infer},
    wild::{self, Tape},
    *,
};

const F32: ElemType = ElemType::FLOAT;

#[track_caller]
fn parse(text: &str) -> IRModule {
    parse_str(text).unwrap_or_else(|errors| {
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        panic!("{}\n{text}", errors.join("\n"))
    })
}

/// Prints in both forms and reads it back; returns the nested form.
#[track_caller]
fn read_back(module: &IRModule) -> String {
    let mut nested = String::new();
    for flat in [true, false] {
        let options = PrintOptions { flat, ..PrintOptions::default() };
        nested = print(module, &options);
        let again = parse(&nested);
        if let Err(difference) = equal(module, &again) {
            panic!("{difference}\n{nested}");
        }
        assert_eq!(nested, print(&again, &options));
    }
    nested
}

/// The text is right, and printed as it is.
#[track_caller]
fn canonical(text: &str) {
    let module = parse(text);
    let faults = verify(&module);
    assert!(faults.is_empty(), "{}", faults[0]);
    assert_eq!(read_back(&module), text);
    // The types are the ones that the rules give.
    let mut again = IRModule::new();
    for global in module.globals() {
        let mut f = Function::clone(global.body());
        infer(&mut f);
        again.set_prim_func(&global.name, f);
    }
    equal(&module, &again).unwrap();
}

/// The lines of the body of a prim func with the inputs `a` (4 × 8 floats) and `n` (an integer) and the output `c` (4 × 8
/// floats).
fn body(lines: &str) -> String {
    let head = "prim @k(%a: Tensor[(4, 8), float32], %n: Tensor[(), int64]) -> (%c: Tensor[(4, 8), float32]) {\n";
    format!("{head}{}}}\n", lines.lines().map(|line| format!("  {line}\n")).collect::<String>())
}

#[test]
fn a_matrix_product() {
    canonical(
        "prim @matmul(%a: Tensor[(16, 64), float32], %b: Tensor[(64, 8), float32]) -> (%c: Tensor[(16, 8), float32]) {
  for %i in 0..dim(%a, axis = 0) parallel {
    for %j in 0..8 {
      %s = for %k in 0..64 with %acc = 0.0 {
        %acc + %a[%i, %k] * %b[%k, %j]
      };
      %c[%i, %j] = max(%s, 0.0);
    }
  }
}

prim @none() -> () {
}
",
    );
    let module = parse("prim @k(%x: Tensor[(2), int8]) #[doc = \"d\"] { @l(%x); }");
    assert!(read_back(&module).contains("@k(%x: Tensor[(2), int8]) #[doc = \"d\"] {\n  @l(%x);\n}"));
}

#[test]
fn operators_bind_as_in_c() {
    canonical(&body(
        "%x = %n[] * 2 + 1 << 3 & 7 ^ %n[] | 1;
%y = %x - (%x - 1) - (%x + 1) * 2;
%z = -(%x + 1) * -%x - -(-%y);
%p = !(%x < 1) & %x == %y | !(%z >= -1);
%q = neg(1) + floordiv(%x, 2);",
    ));
}

#[test]
fn memory_is_indexed() {
    canonical(&body(
        "%b = alloc float32[4];
%s = alloc static int8[];
%s[] = 1;
%v = view(%b, shape = [2, 2]);
%b[%n[] + 1] = %a[%n[], 0] + 1.0;
%w = load(%b, 0, lanes = 4);
%b[0] = %w * broadcast(2.0, lanes = 4);
scatter(%b, %w, ramp(0, 1, lanes = 4));
%v[0, 1] = float32(%s[]);
%t = const(float32, [1.0, 2.0]);
%c[0, 0] = %t[1] + bitcast(int32(%s[]), elem = \"float32\");
assert(%n[] > 0, message = \"positive\");",
    ));
}

#[test]
fn loops_and_conditions() {
    canonical(&body(
        "for %i in 2..6 unrolled {
  when (%n[] < %i) {
    %c[0, %i] = 0.0;
  } else {
    %c[1, %i] = 1.0;
  }
} #[name = \"outer\", as_it_is = 1]
for %i in %n[] count 4 {
}
%m = %n[] + 1;
for %i in %m..%n[] * 2 {
}
for %i in 2..%m {
}
for %i in %m..2 {
}
for %i in %m count 2 - %n[] {
}
for %i in 2 count 5 - 2 {
}",
    ));
    canonical(&body(
        "for %i in 0i32..4i32 {
  %v = if (%i == 2) {
    1.5
  } else {
    -inf
  };
  %c[%i, %i] = %v;
}
(%s, _) = for %i in 0..8 with %x = 0.0, %y = 1 {
  (%x + 1.0, %y * 2)
};
%w = while with %x = %n[] {
  %x > 0
} do {
  %x - 1
};
(%p, %q) = while with %x = %w, %y = 2.0f64 {
  %x > 0
} do (%z, %y) {
  %u = %z - 1;
  (%u, %y * %y)
};
while {
  false
} do {
}",
    ));
}

#[test]
fn numbers_have_the_type_of_their_place() {
    canonical(&body(
        "%i = %n[] + 1;
%h = float16(%i) * 0.5;
%d = float64(%h) + inf - nan + nan(0x7ff0000000000001);
%u = uint64(%i) | 18446744073709551615;
%k = select(%i > 0, 1i8, -128i8) + 1;
%m = 1.0bf16 + inf_bf16;
%o = select(true, nan_f16(0x7e01), nan_f16);
%e = isnan(-inf_f64);
%f = %i == 1 == true;
%g = float32(2) + 1e-7;",
    ));
    let text = body("%x = %a[0, 0] + 1;");
    let errors = parse_str(&text).err().unwrap();
    assert_eq!(
        errors[0].to_string(),
        "text:2:19: error[T004]: this is not a value of type `float32`; help: write `1.0`"
    );
    // With a suffix it is said, and the verifier finds it.
    let module = parse(&text.replace("+ 1;", "+ 1i64;"));
    assert!(read_back(&module).contains("%x = %a[0, 0] + 1i64;"));
    assert_eq!(verify(&module)[0].code, FaultCode::OperandTypes);
}

#[test]
fn every_number_comes_back() {
    let mut f = prim_func(&[], &[]);
    let mut b = PrimBuilder::new(&mut f);
    for &elem in ElemType::ALL.iter().filter(|elem| elem.is_scalar()) {
        for bits in
            [0, 1, 0x7f, 0x80, 0x7c00, 0x7e00, 0x7e01, 0x7f80, 0x7f81, 0xfc00, 0x7fc0_0000, 0x7fc0_0001, 0xff80_0000]
                .into_iter()
                .chain([
                    0x8000_0000,
                    0x3f80_0000,
                    i64::MAX as u64,
                    1 << 63,
                    0x7ff0 << 48,
                    0x7ff8 << 48,
                    0xfff8_0000_0000_0001,
                ])
                .chain([u64::MAX, 0x3ff0_0000_0000_0001])
        {
            if let Some(imm) = Imm::new(elem, bits) {
                let id = b.imm(imm);
                b.op(CoreOp::Eq, &[id, id]);
                b.op_with(CoreOp::Broadcast, &[id], &[Attr::new("lanes", 4_i64)]);
                b.lazy(id, |_| id, |_| id);
            }
        }
    }
    drop(b.finish());
    let mut module = IRModule::new();
    module.set_prim_func("k", f);
    read_back(&module);
}

#[test]
fn what_has_no_form_of_its_own_is_printed_in_general() {
    let text = body(
        "%x = tir::add@1(%n[], 1);
%y = \"add\"(%x);
%z = \"float32\"(%x, axis = 1);
%t = (%x, %y);
%u = %t[1];
%v = (%a)[0];
%w = tir::when(true, then = fn() {
  %c[0, 0] = 1.0;
  ()
});",
    );
    let text = text.replace("  ()\n", "");
    let module = parse(&text);
    let f = module.globals()[0].body();
    let names: Vec<String> =
        f.ops().iter().map(|op| format!("{}::{}@{}", f.str(op.domain), f.str(op.name), op.version)).collect();
    assert!(names.contains(&"::add@0".to_owned()) && names.contains(&"tir::add@1".to_owned()), "{names:?}");
    let printed = read_back(&module);
    for line in ["\"add\"(%x)", "\"float32\"(%x, axis = 1)", "(%a)[0]", "tir::add@1(%", "%t[1]"] {
        assert!(printed.contains(line), "{line}\n{printed}");
    }
    // The plain forms are read, too.
    let general =
        parse("prim @k() { %x = tir::add(1, 2); %y = tir::for(0, 4, body = fn(%i: Tensor[(), int64]) { () }); }");
    assert!(read_back(&general).contains("%x = 1 + 2;\n  %y = for %i in 0..4 {\n  };"), "{}", read_back(&general));
}

#[test]
fn types_are_written_where_they_are_others() {
    let text = body("%x: ? = %n[] + 1;\n%y: Tensor[(), float32] = %x + %x;\nfor %i: ? in 0..4 {\n}");
    let module = parse(&text);
    assert!(!verify(&module).is_empty());
    let printed = read_back(&module);
    assert!(
        printed.contains("%x: ? = ")
            && printed.contains("%y: Tensor[(), float32] = ")
            && printed.contains("for %i: ? in"),
        "{printed}"
    );
    let options = PrintOptions { types: Types::Signatures, ..PrintOptions::default() };
    assert!(!print(&module, &options).contains('?'));
}

#[test]
fn bindings_are_nested_where_they_come_back_in_order() {
    let mut f = prim_func(&[("x", F32, &[8])], &[("y", F32, &[8])]);
    let [x, y] = *f.params() else { panic!() };
    let mut b = PrimBuilder::new(&mut f);
    let [zero, one, half] = [b.index(0), b.index(1), b.float(F32, 0.5)];
    let (p, q) = (b.load(x, &[zero]), b.load(x, &[one]));
    let in_order = b.op(CoreOp::Add, &[p, q]);
    let (p, q) = (b.load(x, &[zero]), b.load(x, &[one]));
    let swapped = b.op(CoreOp::Sub, &[q, p]);
    let named = b.op(CoreOp::Mul, &[in_order, swapped]);
    b.function_mut().set_name(named, "m");
    let twice = b.op(CoreOp::Add, &[named, half]);
    let sum = b.op(CoreOp::Mul, &[twice, twice]);
    b.store(y, sum, &[zero]);
    b.finish().unwrap();
    let mut module = IRModule::new();
    module.set_prim_func("k", f);
    let text = read_back(&module);
    let digits = |text: &str| text.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
    let expected =
        "  %1 = %x[0] + %x[1];\n  %1 = %x[0];\n  %m = %1 * (%x[1] - %1);\n  %1 = %m + 0.5;\n  %y[0] = %1 * %1;\n";
    assert_eq!(digits(text.split_once("{\n").unwrap().1.trim_end_matches("}\n")), digits(expected), "{text}");
    let flat = print(&module, &PrintOptions { flat: true, ..PrintOptions::default() });
    assert_eq!(flat.lines().count(), 2 + 10, "{flat}");
}

#[test]
fn lines_and_nesting_have_a_bound() {
    let mut f = prim_func(&[("x", F32, &[])], &[("y", F32, &[])]);
    let [x, y] = *f.params() else { panic!() };
    let mut b = PrimBuilder::new(&mut f);
    let mut value = b.load(x, &[]);
    for _ in 0..5000 {
        value = b.op(CoreOp::Neg, &[value]);
    }
    for _ in 0..100 {
        let other = b.load(x, &[]);
        value = b.op(CoreOp::Min, &[value, other]);
    }
    b.store(y, value, &[]);
    b.finish().unwrap();
    let mut module = IRModule::new();
    module.set_prim_func("k", f);
    let text = read_back(&module);
    assert!(text.lines().all(|line| line.len() <= 160), "{text}");
    assert!(text.lines().count() < 1000);
    // Deeper than it is printed, but not without end.
    let nested = |n: usize| body(&format!("%x = {}%n[]{};", "(".repeat(n), ")".repeat(n)).replace("%x = ", "%x = -"));
    assert!(parse_str(&nested(100)).is_ok());
    let errors = parse_str(&nested(10_000)).err().unwrap();
    assert_eq!(errors[0].code, super::TextCode::Limit);
    let errors = parse_str(&body(&format!("%x = {}%n[];", "- ".repeat(10_000)))).err().unwrap();
    assert_eq!(errors[0].code, super::TextCode::Limit);
    assert!(parse_str(&body(&format!("%x = 1{};", " + %n[]".repeat(10_000)))).is_ok());
    let deep: String = (0..5_000).map(|at| format!("for %i{at} in 0..1 {{")).collect();
    let module = parse(&body(&format!("{deep}{}", "}".repeat(5_000))));
    equal(&module, &parse(&print(&module, &PrintOptions::default()))).unwrap();
}

#[test]
fn errors_say_what_to_write() {
    let cases = [
        (
            "%x = %n[]; %y = %x-1;",
            "2:19: error[T002]: `%x-1` is not defined here; help: names contain `-` and `/`: write `%x - 1`",
        ),
        (
            "%x = %n[]; %y = %x -1;",
            "2:22: error[T001]: expected an operator, found `-1`; help: `-1` is a number: write `- 1` to subtract",
        ),
        (
            "%x = 1;",
            "2:3: error[T001]: a number is not bound to a name; help: write it where it is used, or `const(…)` for memory with these contents",
        ),
        ("%x = %a;", "2:3: error[T001]: a value has one name; help: use the name that it has"),
        ("%x = min(%n[], nn(%q));", "2:21: error[T002]: `%q` is not defined here"),
        (
            "%c[0, 0] = [1.0];",
            "2:14: error[T001]: expected a value, found `[`; help: memory with given contents is `const(int64, [1, 2])`",
        ),
        (
            "for %i in 0 { }",
            "2:15: error[T001]: expected `..`, found `{`; help: the bounds of a loop are `first..end` or `first count turns`",
        ),
        (
            "(%x, %y) = for %i in 0..4 with %s = 0 { %s };",
            "2:3: error[T004]: these are not the values that are carried; help: the loop carries 1",
        ),
        (
            "%x = while with %7 = 0 { %7 < 3 } do { 1 };",
            "2:19: error[T001]: `%7` is another value in the body; help: numbers are used once in a global function: write `do (%name, …) { … }`",
        ),
        (
            "%x = while with %s = 0 { %s < 3 } do (%s, %t) { 1 };",
            "2:40: error[T004]: the loop carries 1, and these are 2",
        ),
        (
            "%x = 1 + tir::for(0, 1, body = fn() { });",
            "2:27: error[T001]: a function stands in a call that is nested; help: bind the call to a name first: `%name = …;`",
        ),
        (
            "%x = 1 + if (true) { 1 } else { 2 };",
            "2:12: error[T001]: expected a value, found `if`; help: this is bound to a name first: `%name = …;`",
        ),
        ("%c[0, 0] = 1.0 }", "2:18: error[T001]: expected `;`, found `}`"),
        (
            "%n;",
            "2:3: error[T001]: this statement does nothing; help: a value at the end of a block, without `;`, is its result",
        ),
        ("%x = while(true);", "2:13: error[T001]: expected `{`, found `(`"),
        (
            "%x = 1 + for(0);",
            "2:12: error[T001]: expected another expression, found `for`; help: as a call it is written `tir::for(…)`",
        ),
        ("%x = 300u8 + 1;", "2:8: error[T004]: `300u8` is not a value of type `uint8`"),
    ];
    for (text, expected) in cases {
        let shown: Vec<String> = match parse_str(&body(text)) {
            Ok(module) => vec![format!("read as {}", print(&module, &PrintOptions::default()))],
            Err(errors) => errors.iter().map(ToString::to_string).collect(),
        };
        assert!(shown[0].starts_with(&format!("text:{expected}")), "{text}\n{}", shown[0]);
    }
}

#[test]
fn signatures_say_the_outputs() {
    let given = |text: &str| {
        let module = parse(text);
        let f = module.globals()[0].body();
        f.attrs(f.root()).meta(OUTPUTS).is_some()
    };
    assert!(given("prim @k() -> () { }") && given("prim @k() #[outputs = 0] { }") && !given("prim @k() { }"));
    // More outputs than parameters have no arrow.
    let text = read_back(&parse("prim @k(%x: Tensor[(2), int8]) #[outputs = 2] { }"));
    assert_eq!(text, "prim @k(%x: Tensor[(2), int8]) #[outputs = 2] {\n}\n");
    let errors = parse_str("prim @k() -> (%x: Tensor[(2), int8]) #[outputs = 1] { }").err().unwrap();
    assert_eq!(
        errors[0].to_string(),
        "text:1:11: error[T004]: the number of outputs is given twice; help: leave `outputs` off: the parameters behind the arrow are the outputs"
    );
    // In graphs the arrow gives results, and blocks have them.
    assert!(parse("def @k() -> (%x: Tensor[(2), int8]) { () }").globals()[0].body().params().is_empty());
    assert!(parse_str("def @k() { }").is_err() && parse_str("def @k(%x) { Relu(%x + %x) }").is_err());
    let f = Function::clone(parse("prim @k() -> () { }").globals()[0].body());
    assert!(super::print_function("k", &f, &PrintOptions::default()).starts_with("prim @k() -> () {"));
}

#[test]
fn one_error_does_not_make_others() {
    let text = body("for %i in 0..%q {\n  %c[0, %i] = 1.0;\n}\n%x = %oh + 1;\nwhen (%no) {\n}\n%y = %x + %n[];");
    let errors: Vec<usize> = parse_str(&text).err().unwrap().iter().map(|error| error.line).collect();
    assert_eq!(errors, [2, 5, 6]);
}

#[test]
fn one_node_is_shown_on_one_line() {
    let module = parse(&body(
        "for %i in 0..4 parallel { %c[0, %i] = 1.0; }\n%x = while with %y = 0 { %y < %n[] } do { %y + 1 };",
    ));
    let f = module.globals()[0].body();
    let shown: Vec<String> = f.all_bindings().map(|id| display(f, id).to_string()).collect();
    assert_eq!(shown[..2], ["for %i in 0..4 parallel {…}", "%c[0, %i] = 1.0"]);
    assert_eq!(shown[2], "%x = while with %y = 0 {…} do {…}");
    assert!(shown[4].contains(" = %y < %"), "{shown:?}");
    let imm = f.nodes().iter().position(|rec| rec.kind == kind::IMM).unwrap();
    assert_eq!(display(f, NodeId::from_index(imm)).to_string(), "0");
}

#[test]
fn the_documentation_is_right() {
    let page = include_str!("../../../../docs/text-form.md");
    let blocks = page.split("```text\n").skip(1).filter_map(|rest| rest.split("```").next());
    let examples: Vec<&str> = blocks.filter(|block| block.starts_with("prim @")).collect();
    assert_eq!(examples.len(), 2);
    for example in examples {
        // Comments are not printed.
        let lines = example.lines().map(|line| line.split("//").next().unwrap_or(line).trim_end());
        canonical(&lines.map(|line| format!("{line}\n")).collect::<String>());
    }
}

//! The text form of loop programs.

use super::{PrintOptions, Types, display, parse_str, print};
use crate::{
    ir::*,
    prim::{CoreOp, LoopKind, OUTPUTS, PrimBuilder, infer, prim_func},
    wild::{self, Tape},
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
    let page = include_str!("../../../docs/text-form.md");
    let blocks = page.split("```text\n").skip(1).filter_map(|rest| rest.split("```").next());
    let examples: Vec<&str> = blocks.filter(|block| block.starts_with("prim @")).collect();
    assert_eq!(examples.len(), 2);
    for example in examples {
        // Comments are not printed.
        let lines = example.lines().map(|line| line.split("//").next().unwrap_or(line).trim_end());
        canonical(&lines.map(|line| format!("{line}\n")).collect::<String>());
    }
}

/// Choices from a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n
    }

    fn bits(&mut self) -> u64 {
        const ODD: [u64; 8] = [0, 1, u64::MAX, 1 << 63, 0x7ff8 << 48, 0x7fc0_0001, 0x7f80_0000, 0x7c00];
        match self.below(3) {
            0 => ODD[self.below(8)],
            1 => self.below(100) as u64,
            _ => self.0,
        }
    }
}

/// Fills blocks with right statements.
struct Filler<'d> {
    dice: &'d mut Dice,
    memory: Vec<(NodeId, ElemType, bool)>,
    values: Vec<(NodeId, ElemType)>,
    budget: usize,
}

impl Filler<'_> {
    fn elem(&mut self) -> ElemType {
        let all: Vec<ElemType> = ElemType::ALL.iter().copied().filter(|elem| elem.is_scalar()).collect();
        let at = self.dice.below(all.len() + 4);
        *all.get(at).unwrap_or(&F32)
    }

    fn number(&mut self, b: &mut PrimBuilder<'_>, elem: ElemType) -> NodeId {
        let mask = if elem == ElemType::BOOL { 1 } else { u64::MAX >> (64 - elem.bits()) };
        let imm = Imm::new(elem, self.dice.bits() & mask).unwrap();
        b.imm(imm)
    }

    fn index(&mut self, b: &mut PrimBuilder<'_>) -> NodeId {
        let elem = if self.dice.below(4) == 0 { ElemType::INT32 } else { ElemType::INT64 };
        self.value(b, elem)
    }

    fn value(&mut self, b: &mut PrimBuilder<'_>, elem: ElemType) -> NodeId {
        let known: Vec<NodeId> = self.values.iter().filter(|&&(_, other)| other == elem).map(|&(id, _)| id).collect();
        match self.dice.below(8) {
            0 => self.number(b, elem),
            _ if self.budget == 0 => self.number(b, elem),
            1 | 2 if !known.is_empty() => known[self.dice.below(known.len())],
            choice => {
                self.budget -= 1;
                self.operation(b, elem, choice)
            }
        }
    }

    fn operation(&mut self, b: &mut PrimBuilder<'_>, elem: ElemType, choice: usize) -> NodeId {
        use CoreOp::*;
        let memory: Vec<NodeId> =
            self.memory.iter().filter(|&&(_, other, _)| other == elem).map(|&(id, ..)| id).collect();
        match choice {
            3 if !memory.is_empty() => {
                let indices = [self.index(b), self.index(b)];
                b.load(memory[self.dice.below(memory.len())], &indices)
            }
            4 => {
                let from = self.elem();
                let value = self.value(b, from);
                b.op_with(Cast, &[value], &[Attr::new("elem", elem.name().unwrap())])
            }
            5 => {
                let operands = [self.value(b, ElemType::BOOL), self.value(b, elem), self.value(b, elem)];
                b.op(Select, &operands)
            }
            6 if elem == ElemType::BOOL => {
                let other = self.elem();
                let operands = [self.value(b, other), self.value(b, other)];
                b.op([Eq, Ne, Lt, Le, Gt, Ge][self.dice.below(6)], &operands)
            }
            _ if elem == ElemType::BOOL => {
                let operands = [self.value(b, elem), self.value(b, elem)];
                match self.dice.below(4) {
                    0 => b.op(Not, &operands[..1]),
                    at => b.op([And, Or, Xor][at - 1], &operands),
                }
            }
            6 if elem.is_float() => {
                let operand = self.value(b, elem);
                b.op([Sqrt, Floor, Neg, Abs, Exp][self.dice.below(5)], &[operand])
            }
            6 => {
                let operands = [self.value(b, elem), self.value(b, elem)];
                b.op([Shl, Shr, FloorDiv, FloorMod, And, Or, Xor][self.dice.below(7)], &operands)
            }
            _ => {
                let operands = [self.value(b, elem), self.value(b, elem)];
                b.op([Add, Sub, Mul, Div, Mod, Min, Max, Add, Sub][self.dice.below(9)], &operands)
            }
        }
    }

    /// The values that are visible now are visible again afterwards, and no others.
    fn within<T>(&mut self, then: impl FnOnce(&mut Self) -> T) -> T {
        let (n_values, n_memory) = (self.values.len(), self.memory.len());
        let made = then(self);
        self.values.truncate(n_values);
        self.memory.truncate(n_memory);
        made
    }

    fn named(&mut self, b: &mut PrimBuilder<'_>, id: NodeId) {
        if b.function().kind(id) == kind::IMM {
            return;
        }
        match self.dice.below(6) {
            0 => b.function_mut().set_name(id, &format!("v{id}").replace('%', "")),
            1 => b.function_mut().set_name(id, "again"),
            2 if b.function().kind(id) != kind::VAR => {
                let attrs: Vec<Attr> = vec![Attr::meta("doc", "d")];
                let f = b.function_mut();
                let recs = [f.attr_recs(id).to_vec(), attrs.iter().map(|attr| f.encode_attr(attr)).collect()].concat();
                f.set_attr_recs(id, &recs);
            }
            _ => {}
        }
    }

    fn fill(&mut self, b: &mut PrimBuilder<'_>, depth: usize) {
        for _ in 0..1 + self.dice.below(4) {
            if self.budget > 0 {
                self.budget -= 1;
                self.statement(b, depth);
            }
        }
    }

    fn statement(&mut self, b: &mut PrimBuilder<'_>, depth: usize) {
        let elem = self.elem();
        match self.dice.below(if depth > 3 { 4 } else { 10 }) {
            0 => {
                let value = self.value(b, elem);
                self.named(b, value);
                if b.function().kind(value) != kind::IMM {
                    self.values.push((value, elem));
                }
            }
            1 => {
                let memory = match self.dice.below(3) {
                    0 => b.op_with(
                        CoreOp::Alloc,
                        &[],
                        &[
                            Attr::new("shape", vec![4_i64, 2]),
                            Attr::new("elem", elem.name().unwrap()),
                            Attr::new("scope", "static"),
                        ],
                    ),
                    _ => b.alloc(elem, &[2, 8]),
                };
                self.named(b, memory);
                self.memory.push((memory, elem, true));
            }
            2 | 3 => {
                let writable: Vec<(NodeId, ElemType)> =
                    self.memory.iter().filter(|memory| memory.2).map(|&(id, elem, _)| (id, elem)).collect();
                let (memory, elem) = writable[self.dice.below(writable.len())];
                let (value, indices) = (self.value(b, elem), [self.index(b), self.index(b)]);
                let store = b.store(memory, value, &indices);
                if self.dice.below(6) == 0 {
                    self.named(b, store);
                }
            }
            4 | 5 => {
                let index = if self.dice.below(3) == 0 { ElemType::INT32 } else { ElemType::INT64 };
                let extent = self.value(b, index);
                let kind = LoopKind::ALL[self.dice.below(4)];
                let id = self.within(|filler| {
                    b.each_of(kind, extent, |b, i| {
                        if filler.dice.below(2) == 0 {
                            b.function_mut().set_name(i, "i");
                        }
                        filler.values.push((i, index));
                        filler.fill(b, depth + 1);
                    })
                });
                self.named(b, id);
            }
            6 => {
                let cond = self.value(b, ElemType::BOOL);
                let this = std::cell::RefCell::new(&mut *self);
                let block = |b: &mut PrimBuilder<'_>| this.borrow_mut().within(|filler| filler.fill(b, depth + 1));
                match depth % 2 {
                    0 => b.when(cond, block),
                    _ => b.when_else(cond, block, block),
                };
            }
            7 => {
                let index = ElemType::INT64;
                let (min, extent) = (self.value(b, index), self.value(b, index));
                let other = self.elem();
                let start = [self.value(b, elem), self.value(b, other)];
                let results = self.within(|filler| {
                    b.fold(min, extent, start, |b, i, inner| {
                        filler.named(b, inner[0]);
                        filler.values.extend([(i, index), (inner[0], elem), (inner[1], other)]);
                        filler.fill(b, depth + 1);
                        [filler.value(b, elem), filler.value(b, other)]
                    })
                });
                self.values.extend([(results[0], elem), (results[1], other)]);
                self.named(b, results[1]);
            }
            8 => {
                let start = [self.value(b, elem)];
                let this = std::cell::RefCell::new(&mut *self);
                let [result] = b.while_loop(
                    start,
                    |b, [inner]| {
                        this.borrow_mut().within(|filler| {
                            b.function_mut().set_name(inner, "w");
                            filler.values.push((inner, elem));
                            filler.value(b, ElemType::BOOL)
                        })
                    },
                    |b, [inner]| {
                        this.borrow_mut().within(|filler| {
                            if filler.dice.below(2) == 0 {
                                b.function_mut().set_name(inner, "w");
                            }
                            filler.values.push((inner, elem));
                            filler.fill(b, depth + 1);
                            [filler.value(b, elem)]
                        })
                    },
                );
                self.values.push((result, elem));
                self.named(b, result);
            }
            _ => {
                let cond = self.value(b, ElemType::BOOL);
                let this = std::cell::RefCell::new(&mut *self);
                let branch = |b: &mut PrimBuilder<'_>| {
                    this.borrow_mut().within(|filler| {
                        filler.fill(b, depth + 1);
                        filler.value(b, elem)
                    })
                };
                let value = b.lazy(cond, branch, branch);
                self.values.push((value, elem));
                self.named(b, value);
            }
        }
    }
}

fn random(seed: u64) -> Function {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    for _ in 0..4 {
        dice.below(2);
    }
    let mut f = prim_func(
        &[("x", F32, &[4, 8]), ("i", ElemType::INT64, &[4, 4]), ("h", ElemType::FLOAT16, &[2, 2])],
        &[("y", F32, &[4, 8]), ("z", ElemType::UINT8, &[4, 8])],
    );
    let [x, i, h, y, z] = *f.params() else { panic!() };
    let memory = vec![
        (x, F32, false),
        (i, ElemType::INT64, false),
        (h, ElemType::FLOAT16, false),
        (y, F32, true),
        (z, ElemType::UINT8, true),
    ];
    let mut b = PrimBuilder::new(&mut f);
    let budget = 10 + dice.below(120);
    let mut filler = Filler { dice: &mut dice, memory, values: Vec::new(), budget };
    while filler.budget > 0 {
        filler.fill(&mut b, 0);
    }
    b.finish().unwrap();
    f
}

#[test]
fn random_programs_are_read_back() {
    for seed in 0..200 {
        let mut module = IRModule::new();
        let f = random(seed);
        let mut typed = f.clone();
        infer(&mut typed);
        module.set_prim_func("k", f);
        let faults = verify(&module);
        let is_shadowing = |fault: &Fault| fault.message.contains("name");
        assert!(faults.iter().all(is_shadowing), "{seed}: {}", faults[0]);
        let text = read_back(&module);
        let mut again = IRModule::new();
        again.set_prim_func("k", typed);
        equal(&module, &again).unwrap();
        assert!(!text.contains("tir::"), "{text}");
    }
}

/// Random bytes for a seed.
fn bytes(seed: u64) -> Vec<u8> {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    (0..dice.below(600)).map(|_| dice.below(256) as u8).collect()
}

/// Whatever a function is, as a loop program it is read back.
#[test]
fn graphs_as_loop_programs_are_read_back() {
    for seed in 0..300 {
        let random = wild::module(&mut Tape::new(&bytes(seed)));
        let mut module = IRModule::new();
        for (name, f) in random.functions() {
            module.set_prim_func(name, Function::clone(f));
        }
        read_back(&module);
    }
}

/// Programs that break the rules are read back, too.
#[test]
fn wrong_programs_are_read_back() {
    for seed in 0..300 {
        let mut f = random(seed % 200);
        let mut dice = Dice(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) | 1);
        let ids: Vec<NodeId> = f.all_bindings().filter(|&id| f.kind(id) != kind::FUNCTION).collect();
        let mut everywhere: Vec<NodeId> = f.params().to_vec();
        everywhere.push(NodeId::ABSENT);
        everywhere.push(f.op(OpId(0)).node);
        everywhere.extend(
            [ElemType::INT64, ElemType::INT32, ElemType::UINT8].map(|elem| f.add_imm(Imm::int(elem, 1).unwrap())),
        );
        everywhere.extend([F32, ElemType::DOUBLE].map(|elem| f.add_imm(Imm::float(elem, 1.5).unwrap())));
        everywhere.push(f.add_imm(Imm::bool(true)));
        everywhere.push(f.add_leaf(kind::IMM, 0, 0, 7, 0));
        for _ in 0..1 + dice.below(3) {
            let id = ids[dice.below(ids.len())];
            let n_values = f.operands(id).len() - f.n_regions(id);
            match dice.below(6) {
                0 => {
                    let ty = TypeId::from_index(dice.below(f.n_types()));
                    f.set_type(id, ty);
                }
                1 => f.set_let(id, LetForm::Let),
                2 => {
                    let attrs = [Attr::new("elem", "int8"), Attr::new("lanes", 4_i64), Attr::meta("doc", "d")];
                    let f = &mut f;
                    let rec = f.encode_attr(&attrs[dice.below(3)]);
                    let recs = [f.attr_recs(id), &[rec]].concat();
                    f.set_attr_recs(id, &recs);
                }
                3 => {
                    let param = f.regions(id).first().and_then(|&region| f.operands(region).last().copied());
                    let ty = TypeId::from_index(dice.below(f.n_types()));
                    param.into_iter().for_each(|param| f.set_type(param, ty));
                }
                _ if n_values > 1 => {
                    f.set_operand(id, 1 + dice.below(n_values - 1), everywhere[dice.below(everywhere.len())]);
                }
                _ => {}
            }
        }
        let mut module = IRModule::new();
        module.set_prim_func("k", f);
        read_back(&module);
    }
}

/// Functions that the arena checks accept are printed, sense or not.
#[test]
fn broken_programs_are_printed() {
    for seed in 0..500 {
        let mut f = random(seed % 50);
        let mut dice = Dice(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) | 1);
        for _ in 0..1 + dice.below(4) {
            let (at, value) = (dice.below(1 << 30), if dice.below(2) == 0 { dice.below(300) } else { dice.below(20) });
            f.corrupt_word(at, value as u32);
        }
        if verify_function(&f, None).iter().any(|fault| fault.code.as_str().starts_with("V0")) {
            continue;
        }
        let ids: Vec<NodeId> = (0..f.n_nodes()).map(NodeId::from_index).collect();
        for id in ids {
            assert!(!display(&f, id).to_string().is_empty());
        }
        let mut module = IRModule::new();
        module.set_prim_func("k", f);
        for flat in [true, false] {
            let text = print(&module, &PrintOptions { flat, ..PrintOptions::default() });
            drop(parse_str(&text));
        }
    }
}

/// Texts with mistakes are refused or read, and what is read is printed.
#[test]
fn texts_with_mistakes_do_no_harm() {
    const PIECES: [&str; 30] = [
        " ", "%", "(", ")", "[", "]", "{", "}", ";", ",", "=", "..", "-", "!", "&", "in", "for", "with", "do", "while",
        "when", "else", "1", "1.0f16", "nan(", "_", "0x", "#[", "alloc", "tir::",
    ];
    for seed in 0..500 {
        let mut module = IRModule::new();
        module.set_prim_func("k", random(seed % 50));
        let mut text = print(&module, &PrintOptions::default());
        let mut dice = Dice(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) | 1);
        for _ in 0..1 + dice.below(3) {
            let at = dice.below(text.len());
            let end = (at + dice.below(4)).min(text.len());
            text.replace_range(at..end, PIECES[dice.below(PIECES.len())]);
        }
        match parse_str(&text) {
            Ok(module) => _ = read_back(&module),
            Err(errors) => assert!(!errors.is_empty() && errors.len() <= 21),
        }
    }
}

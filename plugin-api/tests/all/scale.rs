//! Size: nothing here may need more than 2 MiB of stack.

use relais_plugin_api::{
    ir::*,
    text::{self, PrintOptions},
};
use std::fmt::Write;

/// Parses, verifies, prints and compares on a small stack.
fn run(text: String) {
    let work = move || {
        let module = text::parse_str(&text).unwrap_or_else(|errors| panic!("{}", errors[0]));
        let faults = verify(&module);
        assert!(faults.is_empty(), "{}", faults[0]);
        let printed = text::print(&module, &PrintOptions::default());
        let again = text::parse_str(&printed).unwrap_or_else(|errors| panic!("{}", errors[0]));
        equal(&module, &again).unwrap();
        assert!(printed == text::print(&again, &PrintOptions::default()));
    };
    std::thread::Builder::new().stack_size(2 << 20).spawn(work).unwrap().join().unwrap();
}

#[test]
fn nested_ifs() {
    const DEPTH: usize = 100_000;
    let mut text = "def @main(%c: Tensor[(), bool], %x) {\n".to_owned();
    (0..DEPTH).for_each(|at| writeln!(text, "%a{at} = Relu(%x); %b{at} = if (%c) {{").unwrap());
    text += "%x\n";
    (0..DEPTH).rev().for_each(|at| writeln!(text, "}} else {{ %a{at} }}; %b{at}").unwrap());
    text += "}\n";
    run(text);
}

#[test]
fn nested_functions() {
    const DEPTH: usize = 100_000;
    let mut text = "def @main(%x) {\n".to_owned();
    (0..DEPTH).for_each(|at| writeln!(text, "%y{at} = Loop(%x, body = fn(%p{at}) {{").unwrap());
    text += "%x\n";
    (0..DEPTH).rev().for_each(|at| writeln!(text, "}}, k = 1); %y{at}").unwrap());
    text += "}\n";
    run(text);
}

#[test]
fn named_bindings() {
    let mut text = "def @main(%x: Tensor[(1, N), float32]) {\n".to_owned();
    (0..100_000).for_each(|at| {
        writeln!(text, "let %value_{at}: Tensor[(1, N), float32] = Relu(%x) #[name = \"n{at}\"];").unwrap()
    });
    text += "%value_0 }\n";
    run(text);
}

#[test]
fn a_chain_of_calls() {
    let mut text = "def @main(%x: Tensor[(1, N), float32]) {\n%10 = Relu(%x);\n".to_owned();
    (10..1_000_010).for_each(|at| writeln!(text, "%{} = Relu(%{at});", at + 1).unwrap());
    text += "%1000010 }\n";
    run(text);
}

#[test]
fn nested_types_and_lists() {
    const DEPTH: usize = 50_000;
    let mut text = "def @main(%x: ".to_owned();
    text += &"Seq[fn(?) -> Tuple[".repeat(DEPTH / 2);
    text += "?";
    text += &"]]".repeat(DEPTH / 2);
    text += ") { %x }\n";
    run(text);
    let text = format!("def @main() {{ const(float32, {}{}) }}", "[".repeat(DEPTH), "]".repeat(DEPTH));
    run(text);
}

/// Types that share their parts represent more text than there is room for: printing them ends anyway.
#[test]
fn shared_types() {
    let mut f = Function::new();
    let mut ty = TypeId::UNKNOWN;
    for _ in 0..1000 {
        ty = f.add_type(Type::Tuple(&[ty, ty]));
    }
    let x = f.add_var("x", ty);
    f.set_params(f.root(), &[x]);
    f.set_results(f.body(), &[x]);
    let faults = verify_function(&f, None);
    assert!(faults.iter().all(|fault| fault.code == FaultCode::TypeRange) && !faults.is_empty());
    assert!(text::print_function("f", &f, &PrintOptions::default()).len() < 10_000_000);
    equal_functions(&f, &f.clone()).unwrap();
}

//! Inlining: the calls that are declined, with which reason, and that they stay unchanged.

use relais_plugin_api::{
    ir::*,
    text::{self, PrintOptions},
};

const OPSET: &str = "#[opset = {\"\": 17}]";

fn parse(text: &str) -> IRModule {
    let module = text::parse_str(text).unwrap_or_else(|errors| panic!("{}\n{text}", errors[0]));
    assert_eq!(verify(&module), []);
    module
}

fn print(module: &IRModule) -> String {
    assert_eq!(verify(module), []);
    text::print(module, &PrintOptions::default())
}

/// Inlines nothing, for the only reason that is given.
#[track_caller]
fn declined(module: &IRModule) -> Declined {
    let mut inlined = module.clone();
    let report = inline_functions(&mut inlined).unwrap();
    assert_eq!(report.n_calls, 0);
    assert_eq!(print(&inlined), print(module));
    let [(caller, callee, reason)] = &report.declined[..] else { panic!("{report:?}") };
    assert_eq!((caller.as_str(), callee.as_str()), ("main", "f"));
    assert!(!reason.to_string().is_empty());
    reason.clone()
}

/// A module whose `@main` has this body and calls `@f`, which has this one.
fn calling(main: &str, f: &str) -> IRModule {
    parse(&format!("def @main(%x) {OPSET} {{ {main} }}\ndef @f(%v) {OPSET} {{ {f} }}\n"))
}

#[test]
fn what_fits_is_inlined() {
    let mut module = calling("%y = @f(%x); %y", "%w = Relu(%v); %w");
    assert_eq!(inline_functions(&mut module).unwrap().n_calls, 1);
    assert!(print(&module).contains("%y = Relu(%x);"), "{}", print(&module));
}

#[test]
fn operator_sets_must_agree() {
    let text = format!("def @main(%x) {OPSET} {{ %y = @f(%x); %y }}\n");
    let import = |imports: &str| parse(&format!("{text}def @f(%v) #[opset = {imports}] {{ %w = Relu(%v); %w }}\n"));
    let reason = declined(&import("{\"\": 16}"));
    assert_eq!(reason, Declined::OpsetVersion { domain: String::new(), callee: 16, caller: 17 });
    assert_eq!(reason.to_string(), "the function imports `ai.onnx` 16, its caller 17");
    let acme = "def @f(%v) #[opset = {\"\": 17, \"acme\": 2}] { %w = acme::Gelu(%v); %w }\n";
    let reason = declined(&parse(&format!("{text}{acme}")));
    assert_eq!(reason.to_string(), "the function imports `acme` 2, its caller 0");
    // An unused import makes no difference.
    let mut module = import("{\"\": 17, \"acme\": 2}");
    assert_eq!(inline_functions(&mut module).unwrap().n_calls, 1);
}

#[test]
fn a_call_gives_no_more_than_the_function_takes() {
    assert_eq!(declined(&calling("%y = @f(%x, %x); %y", "%w = Relu(%v); %w")), Declined::Arity);
    assert_eq!(declined(&calling("%y = @f(%x) -> 2; %a = %y[0]; %a", "%w = Relu(%v); %w")), Declined::Arity);
    // Fewer of both: a parameter that is omitted is absent.
    let mut module = parse(&format!(
        "def @main(%x) {OPSET} {{ %y = @f(%x); %y }}\ndef @f(%v, %m) {OPSET} {{ %w = Clip(%v, %m); (%w, %v) }}\n"
    ));
    assert_eq!(inline_functions(&mut module).unwrap().n_calls, 1);
    assert!(print(&module).contains("%y = Clip(%x, _);"), "{}", print(&module));
}

#[test]
fn an_attribute_that_only_its_node_can_hold_is_not_carried_over() {
    let mut module = calling("%y = @f(%x); %y", "%w = Relu(%v); %w");
    let f = module.function_mut(MAIN).unwrap();
    let call = f.bindings(f.body())[0];
    f.set_attrs(call, &[Attr::new("later", AttrData::Raw(vec![1]))]);
    assert_eq!(declined(&module), Declined::Attribute("later".into()));
    let mut module = calling("%y = @f(%x); %y", "%w = Relu(%v); %w");
    let f = module.function_mut("f").unwrap();
    f.set_attrs(f.root(), &[Attr::meta("default:later", AttrData::Raw(vec![1]))]);
    let f = module.function_mut("f").unwrap();
    f.set_opset_imports(&[("", 17)]);
    assert_eq!(declined(&module), Declined::Attribute("later".into()));
}

#[test]
fn a_function_that_binds_a_function_stays() {
    let module = calling("%y = @f(%x); %y", "%g = fn (%a) { %b = Relu(%a); %b }; %w = Relu(%v); %w");
    assert_eq!(declined(&module), Declined::Binding);
}

/// Otherwise functions that call each other twice would double in size with each.
#[test]
fn all_callers_together_stay_within_bounds() {
    let function = |name: &str, body: &str| format!("def @{name}(%x) #[opset = {{\"\": 17}}] {{ {body}; %y }}\n");
    let callers = ["a", "b", "c", "main"].map(|name| function(name, "%y = @f(%x)"));
    let mut module = text::parse_str(&(callers.concat() + &function("f", "%y = Relu(%x)"))).unwrap();
    let f = module.function_mut("f").unwrap();
    for _ in 0..3 << 20 {
        f.add_tuple(&[]);
    }
    let report = inline_functions(&mut module).unwrap();
    assert_eq!((report.n_calls, report.declined.len()), (2, 2));
    assert!(report.declined.iter().all(|(.., why)| *why == Declined::TooLarge));
}

#[test]
fn the_caller_stays_within_bounds() {
    let mut module = calling("%a = @f(%x); %b = @f(%a); %c = @f(%b); %c", "%w = Relu(%v); %w");
    let f = module.function_mut("f").unwrap();
    // Nodes that are bound nowhere count too: this is only known after they were visited.
    for _ in 0..3 << 20 {
        f.add_tuple(&[]);
    }
    let report = inline_functions(&mut module).unwrap();
    assert_eq!(report.n_calls, 2);
    assert_eq!(report.declined, [("main".into(), "f".into(), Declined::TooLarge)]);
    let main = module.main().unwrap();
    let calls: Vec<bool> = main.bindings(main.body()).iter().map(|&id| main.call(id).unwrap().is_op("Relu")).collect();
    assert_eq!(calls, [true, true, false]);
}

#[test]
fn circles_are_errors_and_change_nothing() {
    let module = parse(&format!(
        "def @main(%x) {OPSET} {{ %y = @f(%x); %y }}\ndef @f(%v) {OPSET} {{ %w = @g(%v); %w }}\n\
         def @g(%v) {OPSET} {{ %w = @f(%v); %w }}\n"
    ));
    let mut inlined = module.clone();
    let error = inline_functions(&mut inlined).unwrap_err();
    assert_eq!(error.to_string(), "functions call themselves: `f`, `g`");
    assert_eq!(equal(&module, &inlined), Ok(()));
}

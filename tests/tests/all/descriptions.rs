//! Descriptions that programs make of what they have.

use relais::{
    ir::IRModule,
    options::{OptionSchema, ValueKind},
    pass::RunCx,
    plugin::{Described, ProgramFacts, describe_facts},
    transform::Pass,
};
use relais_plugin_api::{boundary::record::Phase, options::Value};

#[test]
fn a_description_says_what_it_was_made_of() {
    let schema = |name: &str, kind: ValueKind, default: Option<Value>| OptionSchema {
        name: name.into(),
        doc: format!("The \"{name}\".\nMore."),
        kind,
        is_optional: default.is_none(),
        default,
        aliases: Vec::new(),
    };
    let choices = ValueKind::Choice(vec![("a".into(), "One.".into()), ("b".into(), String::new())]);
    let options = vec![
        schema("flag", ValueKind::Bool, Some(Value::Bool(true))),
        schema("whole", ValueKind::Int { min: -1, max: i64::MAX }, Some(Value::Int(3))),
        schema("size", ValueKind::Bytes { min: 0, max: 1 << 40 }, None),
        schema("real", ValueKind::Float { min: f64::NEG_INFINITY, max: 1.0 }, Some(Value::Float(-2.0))),
        schema("text", ValueKind::Str, Some(Value::Str("\u{1b}'\"".into()))),
        schema("file", ValueKind::Path, None),
        schema("which", choices, Some(Value::Str("b".into()))),
        schema("many", ValueKind::List(Box::new(ValueKind::Float { min: 0.0, max: f64::INFINITY })), None),
        schema("table", ValueKind::Struct(vec![schema("inner", ValueKind::Str, None)]), None),
    ];
    let nothing = |_: &IRModule, _: &RunCx<'_>| Ok(None);
    let pass = Pass::module("acme.Whole", 2, nothing);
    let pass = pass.with_options(options.clone(), move |_| Ok(Pass::module("x", 0, nothing))).unwrap();
    let pass = pass.documented("It does.").with_aliases(&["acme.W"]).requiring(&["InferType"]);
    let pass = pass.in_phase(Phase::CLEAN_UP).for_runtime("r").for_target("t").changing_interface();
    let context = OptionSchema { aliases: vec!["acme.l".into()], ..options[1].clone() };
    let context = OptionSchema { name: "acme.limit".into(), ..context };
    let text = describe_facts(&ProgramFacts {
        name: "acme",
        version: "1.2.3",
        description: "Passes.",
        sha256: "00ff",
        passes: vec![pass.info()],
        options: vec![&context],
    });
    let Described { records, sha256, .. } = Described::read(&text).unwrap();
    assert_eq!(sha256, "00ff");
    assert_eq!((&*records.plugin.name, records.plugin.version.to_string().as_str()), ("acme", "1.2.3"));
    assert_eq!(records.plugin.description, "Passes.");
    let [read] = &records.passes[..] else { panic!("{text}") };
    let facts = pass.info();
    assert_eq!((&read.name, &read.aliases, read.opt_level), (&facts.name, &facts.aliases, 2));
    assert_eq!((&read.required, &read.doc, read.phase), (&facts.required, &facts.doc, facts.phase));
    assert_eq!((&read.runtime, &read.target), (&facts.runtime, &facts.target));
    assert_eq!(read.changes_interface, facts.changes_interface);
    // A table has no order.
    let mut options = options;
    options.sort_by(|a, b| a.name.cmp(&b.name));
    assert_eq!(read.options, options);
    assert_eq!(records.options, [context]);
}

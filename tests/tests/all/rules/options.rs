//! Options of passes and of contexts (rules R21 to R23).

use super::*;
use relais::{options::OptionType, pass::Catalogue};

fn table(entries: &[(&str, Value)]) -> Value {
    Value::Struct(entries.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect())
}

#[test]
fn r21_every_option_has_a_type_a_default_and_documentation() {
    let facts = Catalogue::pass(&*REGISTRY, "EveryOption").unwrap();
    let found: Vec<(&str, String, Option<Value>, &str)> = facts
        .options
        .iter()
        .map(|option| (option.name.as_str(), option.kind.to_string(), option.default.clone(), option.doc.as_str()))
        .collect();
    let list = Value::List(vec![word("b")]);
    let expected = [
        ("flag", "`true` or `false`", Some(Value::Bool(true)), "A boolean."),
        ("number", "an integer from 0 to 9", Some(Value::Int(3)), "An integer."),
        ("ratio", "a float from 0.0 to 1.0", Some(Value::Float(0.5)), "A float."),
        ("word", "a string", Some(word("a")), "A string."),
        ("speed", "one of \"fast\", \"slow\"", Some(word("slow")), "A choice."),
        ("words", "a list, each item a string", Some(list), "A list."),
        ("inner", "a table", Some(table(&[("deep", Value::Bool(false))])), "A struct."),
    ];
    assert_eq!(found, expected.map(|(name, kind, default, doc)| (name, kind.to_owned(), default, doc)));
    let OptionType::Choice(choices) = &facts.options[4].kind else { panic!("{facts:?}") };
    assert_eq!(choices[1].1, "Some time.");
}

#[test]
fn r21_what_is_not_given_has_the_default_of_the_registry() {
    let every = |options: &[(&str, Value)]| {
        let pass = pass_with("EveryOption", options);
        let Value::Struct(given) = pass.options() else { panic!("they are a table") };
        assert_eq!(given.len(), 7, "defaults are filled in before the pass is made");
        said(&ran_well(&pass, &module()).1).concat()
    };
    assert_eq!(every(&[]), "true 3 0.5 a slow [\"b\"] false");
    let given = [
        ("number", Value::Int(9)),
        ("speed", word("fast")),
        ("words", Value::List(Vec::new())),
        ("inner", table(&[("deep", Value::Bool(true))])),
    ];
    assert_eq!(every(&given), "true 9 0.5 a fast [] true");
}

#[test]
fn r21_setting_a_field_of_an_option_leaves_its_neighbours_as_they_are() {
    let asked = |text: &str, settings: &[&str]| {
        let mut spec = PipelineSpec::parse("p.toml", text, &Disk).unwrap_or_else(|faults| panic!("{faults}"));
        for setting in settings {
            let entry = relais::pipeline::parse_setting(&mut spec.sources, "--set", setting);
            spec.settings.push(entry.unwrap_or_else(|fault| panic!("{fault:?}")));
        }
        let pipeline = spec.resolve(&*REGISTRY).unwrap_or_else(|faults| panic!("{faults}"));
        let (_, report) = manager::run(&pipeline, &module(), &*REGISTRY, &RunOptions::default()).unwrap();
        said(&report).concat()
    };
    let ask = "steps = [\"AskOptions\"]";
    let (step, depth) = ("tir.UnrollLoop.auto_max_step=3", "tir.UnrollLoop.auto_max_depth=2");
    let both = "step 3, depth 2, extent 0, explicit true, local false; at most 256";
    assert_eq!(asked(ask, &[step, depth]), both);
    assert_eq!(asked(ask, &[depth, step]), both);
    let given = format!("config = {{ \"tir.UnrollLoop\" = {{ auto_max_step = 3, auto_max_depth = 7 }} }}\n{ask}");
    assert_eq!(asked(&given, &[depth]), both, "what the pipeline says stays, too");
    let scope = "config = { \"tir.UnrollLoop\" = { auto_max_step = 3 } }\n\
        steps = [{ scope = [\"AskOptions\"], config = { \"tir.UnrollLoop\" = { auto_max_depth = 2 } } }]";
    assert_eq!(asked(scope, &[]), both);
    assert_eq!(asked(ask, &[step, "tir.UnrollLoop.auto_max_step=4"]), both.replace("3, depth 2", "4, depth 8"));
    let library = library();
    let field = |name: &str, value| table(&[(name, Value::Int(value))]);
    let context = library.context().config("tir.UnrollLoop", field("auto_max_step", 3));
    let context = Arc::new(context.config("tir.UnrollLoop", field("auto_max_depth", 2)).build().unwrap());
    assert_eq!(context.scope(|_| said(&ran_well(&pass("AskOptions"), &module()).1).concat()).unwrap(), both);
}

#[test]
fn r22_options_of_passes_are_checked_without_conversion() {
    for (option, value, told) in [
        ("numbr", Value::Int(1), "did you mean `number`"),
        ("flag", Value::Int(1), "must be a boolean, not an integer"),
        ("number", Value::Bool(true), "must be an integer, not a boolean"),
        ("number", Value::Float(1.0), "must be an integer, not a float"),
        ("number", Value::Int(10), "expected an integer from 0 to 9"),
        ("ratio", Value::Int(1), "must be a float, not an integer"),
        ("word", Value::Int(1), "a string"),
        ("speed", word("fats"), "did you mean `fast`"),
        ("words", word("b"), "an array"),
        ("inner", table(&[("dep", Value::Bool(true))]), "did you mean `deep`"),
        ("inner", Value::Bool(true), "a table"),
    ] {
        let faults = library().get_pass_with("EveryOption", vec![(option.into(), value)]).map(|_| ()).unwrap_err();
        assert!(faults.to_string().contains(told), "{option}: {faults}");
    }
    let twice = vec![("flag".into(), Value::Bool(true)), ("flag".into(), Value::Bool(false))];
    let faults = library().get_pass_with("EveryOption", twice).map(|_| ()).unwrap_err();
    assert!(faults.to_string().contains("given twice"), "{faults}");
}

/// The equivalent of TVM's `test_pass_config`.
#[test]
fn r22_a_struct_of_a_context_is_made_of_a_table_with_its_defaults() {
    let library = library();
    let unroll = |value: Value| library.context().config("tir.UnrollLoop", value).build();
    let context = unroll(table(&[("auto_max_step", Value::Int(16))])).unwrap();
    let facts = library.config_options().into_iter().find(|facts| facts.schema.name == "tir.UnrollLoop").unwrap();
    let Some(Value::Struct(mut filled)) = facts.schema.default else { panic!("{facts:?}") };
    assert_eq!((filled.len(), filled[0].0.as_str()), (5, "auto_max_step"));
    filled[0].1 = Value::Int(16);
    assert_eq!(context.settings().config.get("tir.UnrollLoop"), Some(&Value::Struct(filled)));
    let (_, report) = Arc::new(context).scope(|_| ran_well(&pass("AskOptions"), &module())).unwrap();
    assert!(said(&report)[0].starts_with("step 16, depth "), "{:?}", said(&report));
    for (value, told) in [
        (table(&[("auto_max_stp", Value::Int(16))]), "did you mean `auto_max_step`"),
        (table(&[("auto_max_depth", word("x"))]), "an integer"),
        (Value::Int(1), "a table"),
    ] {
        let faults = unroll(value).map(|_| ()).unwrap_err();
        assert!(faults.to_string().contains(told), "{faults}");
    }
    let unknown = library.context().config("tir.UnrolLoop", Value::Int(1)).build().map(|_| ()).unwrap_err();
    assert!(unknown.to_string().contains("did you mean `tir.UnrollLoop`"), "{unknown}");
    let scalar = library.context().config("acme.depth", table(&[])).build().map(|_| ()).unwrap_err();
    assert!(scalar.to_string().contains("must be an integer, not a table"), "{scalar}");
}

#[test]
fn r23_options_are_listed_with_type_default_documentation_and_provider() {
    let library = library();
    let listed = library.config_options();
    let depth = listed.iter().find(|facts| facts.schema.name == "acme.depth").unwrap();
    assert_eq!(depth.schema.kind.to_string(), "an integer from 0 to 100");
    assert_eq!((&depth.schema.default, depth.schema.doc.as_str()), (&Some(Value::Int(3)), "How deep."));
    assert_eq!(depth.plugins, ["acme-rules"]);
    let names: Vec<&str> = listed.iter().map(|facts| facts.schema.name.as_str()).collect();
    assert!(names.is_sorted() && names.contains(&"tir.UnrollLoop"), "{names:?}");
}

#[test]
fn r23_the_command_line_lists_them_as_json() {
    let plugin = plugin("rules");
    let args = ["list", "options", "--json", "--plugin", plugin.to_str().unwrap()];
    let json = relais_tests::cli::relais(args).expect_success().stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let depth = json.as_array().unwrap().iter().find(|option| option["name"] == "acme.depth").unwrap();
    assert_eq!(depth["default"], 3, "{depth}");
    assert!(depth.to_string().contains("How deep.") && depth.to_string().contains("acme-rules"), "{depth}");
}

//! Options of passes and of contexts (rules R21 to R23).

use super::*;
use relais::{options::ValueKind, pass::Catalogue, pipeline::parse_setting};
use relais_tests::cli::folder;
use std::{env, fs, path::Path};

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
    let ValueKind::Choice(choices) = &facts.options[4].kind else { panic!("{facts:?}") };
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
        let (_, report) = manager::run(&pipeline, &module(), &*REGISTRY, &ManagerOptions::default()).unwrap();
        said(&report).concat()
    };
    let ask = "steps = [\"AskOptions\"]";
    let (step, depth) = ("acme.UnrollLoop.auto_max_step=3", "acme.UnrollLoop.auto_max_depth=2");
    let both = "step 3, depth 2, extent 0, explicit true, local false; at most 256";
    assert_eq!(asked(ask, &[step, depth]), both);
    assert_eq!(asked(ask, &[depth, step]), both);
    let given = format!("config = {{ \"acme.UnrollLoop\" = {{ auto_max_step = 3, auto_max_depth = 7 }} }}\n{ask}");
    assert_eq!(asked(&given, &[depth]), both, "what the pipeline says stays, too");
    let scope = "config = { \"acme.UnrollLoop\" = { auto_max_step = 3 } }\n\
        steps = [{ scope = [\"AskOptions\"], config = { \"acme.UnrollLoop\" = { auto_max_depth = 2 } } }]";
    assert_eq!(asked(scope, &[]), both);
    assert_eq!(asked(ask, &[step, "acme.UnrollLoop.auto_max_step=4"]), both.replace("3, depth 2", "4, depth 8"));
    let library = library();
    let field = |name: &str, value| table(&[(name, Value::Int(value))]);
    let context = library.context().config("acme.UnrollLoop", field("auto_max_step", 3));
    let context = Arc::new(context.config("acme.UnrollLoop", field("auto_max_depth", 2)).build().unwrap());
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
    let unroll = |value: Value| library.context().config("acme.UnrollLoop", value).build();
    let context = unroll(table(&[("auto_max_step", Value::Int(16))])).unwrap();
    let facts = library.config_options().into_iter().find(|facts| facts.schema.name == "acme.UnrollLoop").unwrap();
    let Some(Value::Struct(mut filled)) = facts.schema.default else { panic!("{facts:?}") };
    assert_eq!((filled.len(), filled[0].0.as_str()), (5, "auto_max_step"));
    filled[0].1 = Value::Int(16);
    assert_eq!(context.settings().config.get("acme.UnrollLoop"), Some(&Value::Struct(filled)));
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
    let unknown = library.context().config("acme.UnrolLoop", Value::Int(1)).build().map(|_| ()).unwrap_err();
    assert!(unknown.to_string().contains("did you mean `acme.UnrollLoop`"), "{unknown}");
    let scalar = library.context().config("acme.depth", table(&[])).build().map(|_| ()).unwrap_err();
    assert!(scalar.to_string().contains("must be an integer, not a table"), "{scalar}");
}

#[test]
fn r24_tvms_options_have_its_fields_and_defaults() {
    let listed = library().config_options();
    let default = |key: &str| listed.iter().find(|facts| facts.schema.name == key).unwrap().schema.default.clone();
    let fields = [
        ("auto_max_step", Value::Int(0)),
        ("auto_max_depth", Value::Int(8)),
        ("auto_max_extent", Value::Int(0)),
        ("explicit_unroll", Value::Bool(true)),
        ("unroll_local_access", Value::Bool(false)),
        // Not one of TVM's.
        ("max_growth", Value::Int(256)),
    ];
    assert_eq!(default("tir.UnrollLoop"), Some(table(&fields)));
    let all_off =
        ["transitively_prove_inequalities", "convert_boolean_to_and_of_ors", "apply_constraints_to_boolean_branches"];
    assert_eq!(default("tir.Simplify"), Some(table(&all_off.map(|name| (name, Value::Bool(false))))));
    assert_eq!(default("relay.FuseOps.max_depth"), Some(Value::Int(256)));
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
    assert!(names.is_sorted() && names.contains(&"acme.UnrollLoop"), "{names:?}");
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

/// The message of `acme.Measure` in a pipeline, and the pipeline as it is resolved.
fn measured(path: &Path, settings: &[&str]) -> Result<(String, String), String> {
    let mut spec = PipelineSpec::read(path, &Disk).map_err(|faults| faults.to_string())?;
    for setting in settings {
        spec.settings.push(parse_setting(&mut spec.sources, "--set", setting).unwrap());
    }
    let pipeline = spec.resolve(&*REGISTRY).map_err(|faults| faults.to_string())?;
    let (_, report) = manager::run(&pipeline, &module(), &*REGISTRY, &ManagerOptions::default()).unwrap();
    Ok((said(&report).concat(), pipeline.print()))
}

/// A pipeline of `acme.Measure` with these options.
fn measure(folder: &Path, options: &str) -> std::path::PathBuf {
    let path = folder.join("p.toml");
    fs::write(&path, format!("steps = [{{ pass = \"acme.Measure\", options = {{ {options} }} }}]\n")).unwrap();
    path
}

#[test]
fn r21_an_option_may_be_left_out_without_a_default() {
    let here = folder("options-optional");
    let tables = env::current_dir().unwrap().join("tables").display().to_string();
    let (said, printed) = measured(&measure(&here, ""), &[]).unwrap();
    assert_eq!(said, format!("None 65536 None {tables} [] None"));
    assert!(!printed.contains("number") && !printed.contains("bounds"), "{printed}");
    let (said, printed) = measured(&measure(&here, "number = 3, bounds = { most = 4 }"), &[]).unwrap();
    assert_eq!(said, format!("Some(3) 65536 None {tables} [] Some((0, 4))"));
    // The printed pipeline resolves to the same.
    let again = here.join("again.toml");
    fs::write(&again, &printed).unwrap();
    assert_eq!(measured(&again, &[]).unwrap(), (said, printed));
    let faults = measured(&measure(&here, "number = 256"), &[]).unwrap_err();
    assert!(faults.contains("expected an integer from 0 to 255"), "{faults}");
}

#[test]
fn r21_relative_paths_start_from_the_file_that_they_are_written_in() {
    let here = folder("options-paths");
    let inner = here.join("inner");
    fs::create_dir(&inner).unwrap();
    fs::create_dir(here.join("other")).unwrap();
    measure(&inner, "table = \"a.txt\", folder = \"../other\", files = [\"b\", \"/c\"]");
    let outer = here.join("outer.toml");
    fs::write(&outer, "steps = [{ include = \"inner/p.toml\" }]\n").unwrap();
    let at = |name: &str| inner.join(name).display().to_string();
    let (said, printed) = measured(&outer, &[]).unwrap();
    assert_eq!(
        said,
        format!("None 65536 Some({:?}) {} [{} /c] None", inner.join("a.txt").display(), at("../other"), at("b"))
    );
    let elsewhere = here.join("other/again.toml");
    fs::write(&elsewhere, printed).unwrap();
    assert_eq!(measured(&elsewhere, &[]).unwrap().0, said, "they do not move with the pipeline");
    // A path that is set on the command line starts from the current folder.
    let (said, _) = measured(&outer, &["Measure.table=d.txt"]).unwrap();
    let current = env::current_dir().unwrap().join("d.txt");
    assert!(said.contains(&format!("Some({:?})", current.display())), "{said}");
    for (options, told) in [
        ("table = \"\"", "option `table` of `acme.Measure` must not be empty"),
        ("files = [\"\"]", "an item of option `files` of `acme.Measure` must not be empty"),
        ("table = 3", "option `table` of `acme.Measure` must be a string, not an integer"),
    ] {
        let faults = measured(&measure(&here, options), &[]).unwrap_err();
        assert!(faults.contains(told) && faults.contains("expected a path"), "{faults}");
    }
}

#[test]
fn r22_numbers_of_bytes_have_units() {
    let here = folder("options-bytes");
    let memory = |text: &str| {
        let said = measured(&measure(&here, &format!("memory = {text}")), &[]);
        said.map(|(said, _)| said.split(' ').nth(1).unwrap().to_owned())
    };
    for (text, bytes) in [("7", "7"), ("\"64K\"", "65536"), ("\"2MiB\"", "2097152"), ("\"1GB\"", "1000000000")] {
        assert_eq!(memory(text).unwrap(), bytes, "{text}");
    }
    let (said, printed) = measured(&measure(&here, ""), &["Measure.memory=1K"]).unwrap();
    assert!(said.contains(" 1024 ") && printed.contains("\"memory\" = 1024"), "{printed}");
    for (text, told) in [
        ("\"64k\"", "cannot be `64k`, which is not a number of bytes"),
        ("\"1.5GiB\"", "cannot be `1.5GiB`, which is not a number of bytes"),
        ("\"\"", "cannot be ``, which is not a number of bytes"),
        ("\"8E\"", "cannot be `8E`, which is out of range"),
        ("\"0\"", "cannot be `0`, which is out of range"),
        ("-1", "cannot be -1, which is out of range"),
        ("99999999999999999999", "cannot be 99999999999999999999, which is out of range"),
        ("1.5", "must be a number of bytes, not a float"),
    ] {
        let faults = memory(text).unwrap_err();
        assert!(faults.contains(told) && faults.contains("expected a number of bytes from 1 on"), "{text}: {faults}");
        assert_eq!(faults.contains("\"64KB\"` is 64000"), told.contains("not a number"), "{text}: {faults}");
        assert!(faults.contains("p.toml:1:"), "{faults}");
    }
}

#[test]
fn r22_a_check_across_fields_refuses_options_before_the_first_pass() {
    let here = folder("options-check");
    assert!(measured(&measure(&here, "bounds = { least = 3, most = 3 }"), &[]).is_ok());
    let faults = measured(&measure(&here, "bounds = { least = 3, most = 2 }"), &[]).unwrap_err();
    for told in ["`least` is 3, and `most` is 2", "p.toml:1:", "`acme.Measure`", "plugin `acme-rules`"] {
        assert!(faults.contains(told), "{faults}");
    }
}

#[test]
fn r23_optional_options_paths_and_numbers_of_bytes_are_described() {
    let file = plugin("rules");
    let run = |args: &str| {
        let args = args.split(' ').chain(["--plugin", file.to_str().unwrap()]);
        relais_tests::cli::relais(args).expect_success().stdout
    };
    let told = run("describe acme.Measure");
    let parts = [
        "  number\n    takes    an integer from 0 to 255\n    default  none unless it is given\n",
        "  memory\n    takes    a number of bytes from 1 on\n    default  \"64KiB\"\n",
        "  table\n    takes    a path\n    default  none unless it is given\n",
        "  folder\n    takes    a path\n    default  \"tables\"\n",
        "  files\n    takes    a list, each item a path\n    default  []\n",
        "  bounds\n    takes    a table\n    default  none unless it is given\n",
    ];
    for part in parts {
        assert!(told.contains(part), "{part}\n{told}");
    }
    let json: serde_json::Value = serde_json::from_str(&run("list options --json")).unwrap();
    let option = |name: &str| {
        let of_pass = |option: &&serde_json::Value| option["pass"] == "acme.Measure" && option["name"] == name;
        json.as_array().unwrap().iter().find(of_pass).unwrap().clone()
    };
    let (number, memory, folder) = (option("number"), option("memory"), option("folder"));
    assert_eq!((&number["optional"], &number["default"]), (&true.into(), &serde_json::Value::Null));
    assert_eq!((&memory["takes"]["type"], &memory["default"]), (&"bytes".into(), &65536.into()));
    assert_eq!((&folder["takes"]["type"], &folder["optional"]), (&"path".into(), &false.into()));
}

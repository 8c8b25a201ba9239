//! Options of contexts, as plugins register and read them (rules R21 to R24).

use crate::common::*;
use relais::{
    manager::{self, ManagerOptions},
    options::{OptionSchema, ValueKind},
    pipeline::{Disk, Faults, Pipeline, PipelineSpec},
    registry::Registry,
};
use relais_plugin_api::options::Value;

fn resolve(registry: &Registry, text: &str) -> Result<Pipeline, Faults> {
    PipelineSpec::parse("p.toml", text, &Disk).and_then(|spec| spec.resolve(registry))
}

/// Returns the messages of the passes of a pipeline.
fn said(registry: &Registry, text: &str) -> Vec<String> {
    let pipeline = resolve(registry, text).unwrap_or_else(|faults| panic!("{faults}"));
    let (_, report) = manager::run(&pipeline, &chain(&[]), registry, &ManagerOptions::default()).unwrap();
    report.said.iter().map(|said| said.diagnostic.rec().message.as_str().to_owned()).collect()
}

fn faults(registry: &Registry, text: &str) -> String {
    resolve(registry, text).err().unwrap().to_string()
}

#[test]
fn r24_options_that_are_structs_have_their_fields_and_defaults() {
    let registry = registry(&[&RULES]);
    let option = |key: &str| -> OptionSchema {
        registry.config_options().find(|(option, _)| option.name == key).unwrap().0.clone()
    };
    let unroll = option("acme.UnrollLoop");
    let ValueKind::Struct(fields) = &unroll.kind else { panic!("{unroll:?}") };
    let defaults = [
        ("auto_max_step", Value::Int(0)),
        ("auto_max_depth", Value::Int(8)),
        ("auto_max_extent", Value::Int(0)),
        ("explicit_unroll", Value::Bool(true)),
        ("unroll_local_access", Value::Bool(false)),
    ];
    let found: Vec<(&str, Value)> =
        fields.iter().map(|field| (field.name.as_str(), field.default.clone().unwrap())).collect();
    assert_eq!(found, defaults);
    assert_eq!(unroll.default, Some(table(&defaults)));
    assert_eq!(option("relay.FuseOps.max_depth").default, Some(Value::Int(256)));
}

#[test]
fn r24_a_pass_reads_them_with_the_defaults_of_what_is_left_out() {
    let registry = registry(&[&RULES]);
    let shown = |step, depth, explicit, max_depth| {
        format!("step {step}, depth {depth}, extent 0, explicit {explicit}, local false; at most {max_depth}")
    };
    assert_eq!(said(&registry, "steps = [\"AskOptions\"]"), [shown(0, 8, true, 256)]);
    let set = "steps = [\"AskOptions\"]\n[config]\n\"acme.UnrollLoop\" = { auto_max_step = 16, explicit_unroll = false }\n\
               \"relay.FuseOps.max_depth\" = 10\n";
    assert_eq!(said(&registry, set), [shown(16, 8, false, 10)]);
}

#[test]
fn r22_what_is_wrong_with_an_option_is_told_before_anything_runs() {
    let registry = registry(&[&RULES]);
    for (config, told) in [
        ("\"acme.UnrollLoop\" = { auto_max_stp = 16 }", "`auto_max_step`"),
        ("\"acme.UnrollLoop\" = 16", "a table"),
        ("\"acme.UnrollLoop\" = { explicit_unroll = 1 }", "`true` or `false`"),
        ("\"acme.UnrolLoop\" = { auto_max_step = 16 }", "`acme.UnrollLoop`"),
        ("\"relay.FuseOps.max_depth\" = 0", "an integer from 1"),
    ] {
        let said = faults(&registry, &format!("steps = [\"AskOptions\"]\n[config]\n{config}\n"));
        assert!(said.contains(told) && said.contains("p.toml:3"), "{config}: {said}");
    }
}

#[test]
fn r22_two_plugins_that_register_one_key_fail_the_pipelines_that_set_it() {
    let registry = registry(&[&RULES, &RIVAL]);
    for set in ["config = { \"acme.depth\" = 7 }", "config.acme.depth = 7"] {
        let said = faults(&registry, &format!("steps = [\"AskContext\"]\n{set}\n"));
        for part in ["several plugins register option `acme.depth`", "`acme-rules`", "`acme-rival`", "p.toml:2"] {
            assert!(said.contains(part), "{said}");
        }
    }
    let error = registry.check_config("acme.depth", &Value::Int(7)).unwrap_err().to_string();
    assert!(error.contains("`acme-rules 0.3.0`") && error.contains("`acme-rival 0.1.0`"), "{error}");
    // Others run, and each plugin has the default with which it registered the option.
    let said = said(&registry, "config = { \"relay.FuseOps.max_depth\" = 9 }\nsteps = [\"AskContext\", \"AskDepth\"]");
    assert_eq!(said, ["level 2, depth Some(3), required [], disabled []", "depth Some(50), Some(50)"]);
}

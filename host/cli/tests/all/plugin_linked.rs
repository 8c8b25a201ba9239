//! Plugins that are linked into the program behave as when they are loaded.

// The same source: a crate of its own workspace cannot be a dependency here.
#[path = "../../../../tests/plugins/sample/src/lib.rs"]
mod sample_passes;

use crate::common::*;
use relais::{
    pass::{PassInstrument, RunCx},
    plugin::Discovery,
    registry::{Choices, Linked, Registry},
};
use relais_plugin_api::options::Value;

fn linked() -> Registry {
    Registry::new(Discovery::default(), Linked::Include, &Choices::new())
}

#[test]
fn a_linked_plugin_has_the_records_of_the_loaded_one() {
    let (linked, loaded) = (linked(), sample());
    let records = |registry: &Registry| registry.plugins().next().unwrap().records().clone();
    let (linked_records, mut loaded_records) = (records(&linked), records(&loaded));
    // Its name is this crate's.
    loaded_records.plugin = linked_records.plugin.clone();
    assert_eq!(linked_records, loaded_records);
    assert_eq!(linked.plugins().next().unwrap().path(), None);
}

#[test]
fn a_linked_plugin_runs_and_fails_as_the_loaded_one() {
    let (linked, loaded) = (linked(), sample());
    let module = chain(&["Relu", "Relu", "sample::Random", "sample::Faulty"]);
    for (pass, options) in [
        ("ReluRelu", table(&[])),
        ("Rename", table(&[("prefix", text("a"))])),
        ("Types", table(&[])),
        ("Both", table(&[])),
        ("Delegate", table(&[])),
        ("Bad", table(&[("fault", text("formatted"))])),
        ("Bad", table(&[("fault", text("parallel"))])),
        ("Rename", table(&[("prefix", text("a")), ("keep_params", Value::Bool(false))])),
    ] {
        let result = |registry: &Registry| {
            let said = Said::default();
            let pass = registry.create(pass, &options).unwrap();
            let outcome = pass.run(&module, &RunCx::new(registry).with_diagnostics(&said.hear()));
            let outcome = outcome.map(|outcome| (outcome.changed, outcome.module.map(|new| op_names(&new))));
            // Source paths are relative to where each was built.
            let place = |text: String| {
                let text = text.split("\n  at ").next().unwrap();
                text.replace("`relais-opt 0.1.0`", "`sample-passes 1.2.3`")
            };
            let said: Vec<String> = said.take().into_iter().map(place).collect();
            (outcome.map_err(|failure| place(failure.to_string())), said)
        };
        assert_eq!(result(&linked), result(&loaded), "{pass}");
    }
}

#[test]
fn a_linked_instrument_does_what_the_loaded_one_does() {
    for registry in [linked(), sample()] {
        let watch = registry.create_instrument("Watch", &table(&[])).unwrap();
        assert!(watch.enter().is_ok());
        let error = watch.exit().unwrap_err();
        assert!(error.is_panic() && error.rec().message == "level 2", "{error}");
        assert!(error.rec().place.contains("good.rs:"), "{error}");
    }
}

#[test]
fn linked_plugins_count_only_when_asked_for() {
    let none = Registry::new(Discovery::default(), Linked::Exclude, &Choices::new());
    assert_eq!(none.plugins().count(), 0);
}

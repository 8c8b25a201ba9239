//! Contexts, and the instruments of one (rules R8, R9, R17, R19).

use super::*;
use relais::{instruments::Timing, pass::PassContext};

#[test]
fn r08_hooks_of_a_context_run_in_the_one_around_it() {
    struct Level(Events);
    impl PassInstrument for Level {
        fn name(&self) -> &str {
            "level"
        }
        fn enter(&self) -> Result<(), PassError> {
            self.note()
        }
        fn exit(&self) -> Result<(), PassError> {
            self.note()
        }
    }
    impl Level {
        fn note(&self) -> Result<(), PassError> {
            self.0.lock().unwrap().push(PassContext::current().settings().opt_level.to_string());
            Ok(())
        }
    }
    let events = Events::default();
    let library = library();
    let outer = Arc::new(library.context().opt_level(7).build().unwrap());
    let inner = library.context().opt_level(5).instrument(Arc::new(Level(events.clone()))).build().unwrap();
    outer.scope(|_| Arc::new(inner).scope(|_| ()).unwrap()).unwrap();
    assert_eq!(taken(&events), ["7", "7"]);
}

#[test]
fn r09_a_plugin_sees_the_defaults_in_a_nested_context_and_what_it_inherits() {
    let library = library();
    let depth = |value| library.context().opt_level(4).disable("Fails").config("acme.depth", Value::Int(value));
    let outer = Arc::new(depth(9).build().unwrap());
    let seen = |context: PassContext| {
        let (_, report) = Arc::new(context).scope(|_| ran_well(&pass("AskContext"), &module())).unwrap();
        said(&report).join("; ")
    };
    let (nested, inherited) = outer
        .scope(|_| {
            let nested = library.context().build().unwrap();
            (seen(nested), seen(library.inherited_context().opt_level(5).build().unwrap()))
        })
        .unwrap();
    assert_eq!(nested, "level 2, depth Some(3), required [], disabled []");
    assert_eq!(inherited, "level 5, depth Some(9), required [], disabled [\"acme.Fails\"]");
}

#[test]
fn r10_a_plugin_knows_what_is_disabled_by_any_name() {
    let library = library();
    let context =
        library.context().disable("relay._transform.FoldConstant").require("transform.PrintIR").build().unwrap();
    let (_, report) = Arc::new(context).scope(|_| ran_well(&pass("AskNames"), &module())).unwrap();
    assert_eq!(said(&report), ["disabled true true true false", "required true true true false"]);
}

#[test]
fn r17_all_are_asked_and_one_no_is_enough() {
    let events = Events::default();
    let scribe = |name, vetoes| -> Arc<dyn PassInstrument> {
        Arc::new(Scribe { name, vetoes, events: events.clone(), ..Scribe::default() })
    };
    let instruments = vec![scribe("a", Some("NineA")), scribe("b", Some("NineB")), scribe("c", None)];
    let context = library().context().opt_level(9).build().unwrap().with_instruments(instruments);
    let sequence = Pass::sequence("s", ["NineA", "NineB", "Nothing"].map(pass));
    let (_, report) = Arc::new(context).scope(|_| ran_well(&sequence, &module())).unwrap();
    assert_eq!(executed(&report), ["Nothing"]);
    let events = taken(&events);
    for name in ["NineA", "NineB"] {
        let of: Vec<&str> = events.iter().filter(|event| event.ends_with(name)).map(String::as_str).collect();
        let asked = ["a", "b", "c"].map(|who| format!("{who} should_run {name}"));
        let told = ["a", "b", "c"].map(|who| format!("{who} skipped {name}"));
        assert_eq!(of, [asked, told].concat());
    }
}

#[test]
fn r17_hooks_come_in_the_order_of_the_list_and_nest() {
    let (events, instruments) = scribes(2, "", Hook::Make, "");
    let context = library().context().build().unwrap().with_instruments(instruments);
    let sequence = Pass::sequence("s", ["Nothing", "EditGlobals"].map(pass));
    Arc::new(context).scope(|_| ran_well(&sequence, &module())).unwrap();
    let both = |what: &str| ["a", "b"].map(|who| format!("{who} {what}"));
    let expected = [
        "enter",
        "should_run s",
        "before s",
        "should_run Nothing",
        "before Nothing",
        "after Nothing",
        "should_run EditGlobals",
        "before EditGlobals",
        "after EditGlobals",
        "after s",
        "exit",
    ];
    assert_eq!(taken(&events), expected.map(both).concat());
}

#[test]
fn r17_only_the_innermost_context_is_told() {
    let (events, instruments) = scribes(1, "", Hook::Make, "");
    let context = library().context().build().unwrap().with_instruments(instruments);
    let library = library();
    Arc::new(context)
        .scope(|_| {
            let inner = Arc::new(library.context().build().unwrap());
            inner.scope(|_| ran_well(&pass("Nothing"), &module())).unwrap();
            ran_well(&pass("EditGlobals"), &module());
        })
        .unwrap();
    let of = |what: &str| format!("a {what} EditGlobals");
    assert_eq!(taken(&events), ["a enter", &of("should_run"), &of("before"), &of("after"), "a exit"]);
}

#[test]
fn r19_overriding_exits_the_old_ones_and_enters_the_new_ones_also_on_the_default_context() {
    let (events, old) = scribes(2, "", Hook::Make, "");
    let (new_events, new) = scribes(1, "", Hook::Make, "");
    let default = PassContext::current();
    default.override_instruments(old).unwrap();
    assert_eq!(taken(&events), ["a enter", "b enter"]);
    default.override_instruments(new).unwrap();
    assert_eq!((taken(&events), taken(&new_events)), (vec!["a exit".into(), "b exit".into()], vec!["a enter".into()]));
    ran_well(&pass("Nothing"), &module());
    default.override_instruments(Vec::new()).unwrap();
    assert_eq!(taken(&new_events), ["a should_run Nothing", "a before Nothing", "a after Nothing", "a exit"]);
    ran_well(&pass("Nothing"), &module());
    assert!(taken(&events).is_empty() && taken(&new_events).is_empty() && default.instruments().is_empty());
}

#[test]
fn r19_a_new_one_that_fails_to_enter_leaves_none() {
    let (events, instruments) = scribes(3, "b", Hook::Enter, "");
    let default = PassContext::current();
    let fault = default.override_instruments(instruments).unwrap_err();
    assert_eq!((fault.instrument.as_str(), fault.hook), ("b", Hook::Enter));
    assert_eq!(taken(&events), ["a enter", "b enter", "a exit"]);
    assert!(default.instruments().is_empty());
}

#[test]
fn r20_times_of_three_named_passes_survive_the_context() {
    let timing = Arc::new(Timing::default());
    let default = PassContext::current();
    default.override_instruments(vec![timing.clone()]).unwrap();
    let names = ["BindPass", "CombinePass", "ToGraphPass"];
    let pause = std::time::Duration::from_millis(2);
    let passes = names.map(|name| {
        Pass::module(name, 0, move |_, _| {
            std::thread::sleep(pause);
            Ok(None)
        })
    });
    ran_well(&Pass::sequence("s", passes), &module());
    default.override_instruments(Vec::new()).unwrap();
    let times = timing.times();
    let shape: Vec<(&str, usize)> = times.iter().map(|time| (time.name.as_str(), time.depth)).collect();
    assert_eq!(shape, [("s", 0), (names[0], 1), (names[1], 1), (names[2], 1)]);
    let (all, members) = times.split_first().unwrap();
    assert!(members.iter().all(|time| time.total == time.own && time.own >= pause), "{times:?}");
    let within: std::time::Duration = members.iter().map(|time| time.total).sum();
    assert!(all.total >= within && all.own == all.total - within, "{times:?}");
    let text = timing.findings().unwrap().text;
    assert!(names.iter().all(|name| text.contains(name)), "{text}");
    ran_well(&pass("Nothing"), &module());
    assert_eq!(timing.times().len(), 4, "it was taken out");
}

/// The notes of `acme.Within`, which runs in a context of level 3.
fn within(options: &[(&str, Value)]) -> Result<Vec<String>, String> {
    let context = Arc::new(library().context().opt_level(3).disable("Nothing").build().unwrap());
    let ran = context.scope(|_| run(&pass_with("Within", options), &module())).unwrap();
    assert_eq!(PassContext::current().settings().opt_level, 2);
    ran.map(|(_, report)| said(&report)).map_err(|error| error.to_string())
}

#[test]
fn r08_a_plugins_pass_enters_contexts_and_leaves_them() {
    let outer = "level 3, depth Some(3), required [], disabled [\"acme.Nothing\"]";
    let own = "level 4, depth Some(9), required [], disabled [\"acme.Fails\"]";
    let inner = "level 6, depth Some(9), required [], disabled [\"acme.Fails\"]";
    // Messages of a pass that it runs come before its own.
    assert_eq!(within(&[]).unwrap(), [own, outer, own, inner, inner, inner, inner, outer]);
    let inherited = "level 4, depth Some(9), required [], disabled [\"acme.Fails\", \"acme.Nothing\"]";
    assert_eq!(within(&[("inherits", Value::Bool(true))]).unwrap()[2], inherited);
    let panicked = within(&[("panics", Value::Bool(true))]).unwrap_err();
    assert!(panicked.contains("on purpose"), "{panicked}");
}

#[test]
fn r08_a_context_that_a_plugins_pass_enters_is_checked() {
    let error = within(&[("disabled", word("Fals"))]).unwrap_err();
    assert!(error.contains("no pass `Fals`") && error.contains("did you mean `Fails`?"), "{error}");
    let error = within(&[("depth", Value::Int(101))]).unwrap_err();
    assert!(error.contains("acme.depth") && error.contains("101"), "{error}");
}

#[test]
fn r10_only_the_instruments_of_the_context_that_a_plugins_pass_entered_are_asked() {
    let (events, instruments) = scribes(1, "", Hook::Enter, "");
    let library = library();
    let context = instruments.into_iter().fold(library.context(), |context, it| context.instrument(it));
    let ran = Arc::new(context.build().unwrap()).scope(|_| run(&pass("Within"), &module())).unwrap();
    assert!(ran.is_ok());
    let asked = taken(&events);
    assert!(asked.contains(&"a before Within".to_owned()) && !asked.concat().contains("AskContext"), "{asked:?}");
    // The instrument of the context accepts no result in which `Relu` is left; `AskContext` changes nothing.
    assert!(within(&[("watched", Value::Bool(true))]).is_ok());
}

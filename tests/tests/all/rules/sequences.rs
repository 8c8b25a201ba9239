//! Sequences hold passes, not names (rule R11), and passes that passes run are a part of the run (rules R3, R25).

use super::*;
use relais::{
    pass::{Catalogue, PassContext},
    pipeline::PipelineSpec,
};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A module pass that only reports its name.
fn says(name: &str, what: &'static str, opt_level: u8) -> (Pass, Arc<Mutex<Vec<&'static str>>>) {
    let said: Arc<Mutex<Vec<&'static str>>> = Arc::default();
    let ours = said.clone();
    let pass = Pass::module(name, opt_level, move |_, _| {
        ours.lock().unwrap().push(what);
        Ok(None)
    });
    (pass, said)
}

fn n_said(said: &Arc<Mutex<Vec<&'static str>>>) -> usize {
    said.lock().unwrap().len()
}

fn at_level(library: &PassLibrary, opt_level: u8, pass: &Pass) -> Result<(IRModule, RunReport), RunError> {
    let context = Arc::new(library.context().opt_level(opt_level).build().unwrap());
    context.scope(|_| pass.run_with(library, &module(), &ManagerOptions::default())).unwrap()
}

#[test]
fn r11_a_sequence_runs_a_pass_that_is_registered_too() {
    let mut library = library();
    let (pass, said) = says("my.Pass", "one", 0);
    library.register(&pass);
    library.register(&pass);
    let sequence = Pass::sequence("s", [pass.clone(), pass]);
    at_level(&library, 2, &sequence).unwrap();
    assert_eq!(n_said(&said), 2);
}

#[test]
fn r11_two_instances_of_one_pass_are_two_passes() {
    let ((one, said_one), (two, said_two)) = (says("TestReplaceFunc", "f1", 1), says("TestReplaceFunc", "f2", 1));
    let sequence = Pass::sequence("s", [one, two.clone(), two]);
    let (_, report) = at_level(&library(), 2, &sequence).unwrap();
    assert_eq!((n_said(&said_one), n_said(&said_two)), (1, 2));
    assert_eq!(executed(&report), ["TestReplaceFunc"; 3]);
}

#[test]
fn r11_anonymous_sequences_nest() {
    let ((one, said_one), (two, said_two)) = (says("one", "1", 0), says("two", "2", 0));
    let anonymous = |pass: Pass| Pass::sequence("sequential", [pass]);
    let sequence = anonymous(Pass::sequence("sequential", [anonymous(one), anonymous(two)]));
    at_level(&library(), 0, &sequence).unwrap();
    assert_eq!((n_said(&said_one), n_said(&said_two)), (1, 1));
}

#[test]
fn r11_the_level_of_a_member_counts_and_that_of_what_is_called_does_not() {
    let (pass, said) = says("my.Pass", "", 0);
    let sequence = Pass::sequence("s", [pass.clone().at_level(3), pass]).at_level(7);
    at_level(&library(), 2, &sequence).unwrap();
    assert_eq!(n_said(&said), 1);
    at_level(&library(), 3, &sequence).unwrap();
    assert_eq!(n_said(&said), 3);
    // A plugin's pass can also be held at another level.
    let shipped = Pass::sequence("s", [pass_of("FoldConstant").at_level(3)]);
    assert!(executed(&at_level(&library(), 2, &shipped).unwrap().1).is_empty());
    assert_eq!(executed(&at_level(&library(), 3, &shipped).unwrap().1), ["FoldConstant"]);
}

fn pass_of(name: &str) -> Pass {
    pass(name)
}

#[test]
fn r11_the_requirements_of_a_member_run_first_and_those_of_what_is_called_do_not() {
    let mut library = library();
    let ((needed, said), (user, _)) = (says("my.Needed", "", 9), says("my.User", "", 0));
    library.register(&needed);
    let user = user.requiring(&["my.Needed"]);
    at_level(&library, 2, &Pass::sequence("s", [user.clone()])).unwrap();
    assert_eq!(n_said(&said), 1);
    at_level(&library, 2, &user).unwrap();
    at_level(&library, 2, &Pass::sequence("s", []).requiring(&["my.Needed"])).unwrap();
    assert_eq!(n_said(&said), 1);
    let nested = Pass::sequence("outer", [Pass::sequence("inner", []).requiring(&["my.Needed"])]);
    at_level(&library, 2, &nested).unwrap();
    assert_eq!(n_said(&said), 2);
    let missing = Pass::sequence("s", [user.requiring(&["my.Unicorn"])]);
    let error = at_level(&library, 2, &missing).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("`my.User` requires `my.Unicorn`, which nothing provides"), "{error}");
}

#[test]
fn r11_no_name_keeps_a_member_from_running() {
    let (pass, said) = says("a?", "", 0);
    at_level(&library(), 0, &Pass::sequence("s", [pass])).unwrap();
    assert_eq!(n_said(&said), 1);
}

#[test]
fn r11_what_a_held_pass_established_is_not_established_again_by_its_name() {
    let sequence = Pass::sequence("s", ["Nothing", "NeedsNothing"].map(pass));
    let (_, report) = at_level(&library(), 2, &sequence).unwrap();
    assert_eq!(executed(&report), ["Nothing", "NeedsNothing"]);
}

#[test]
fn r11_instruments_see_the_level_and_the_requirements_of_a_sequence_that_is_called() {
    struct Look(Arc<Mutex<Vec<(u8, usize)>>>);
    impl PassInstrument for Look {
        fn name(&self) -> &str {
            "look"
        }
        fn before(&self, _: &IRModule, pass: &PassInfo<'_>) -> Result<(), PassError> {
            self.0.lock().unwrap().push((pass.opt_level, pass.required.len()));
            Ok(())
        }
    }
    let seen: Arc<Mutex<Vec<(u8, usize)>>> = Arc::default();
    let library = library();
    let context = library.context().instrument(Arc::new(Look(seen.clone()))).build().unwrap();
    let sequence = Pass::sequence("s", []).at_level(5).requiring(&["Nothing"]);
    Arc::new(context).scope(|_| sequence.run(&library, &module()).unwrap()).unwrap();
    assert_eq!(*seen.lock().unwrap(), [(5, 1)]);
}

#[test]
fn r12_a_copy_of_the_module_is_no_change() {
    let copies = Pass::module("my.Copies", 0, |module, _| Ok(Some(module.clone())));
    let (_, report) = at_level(&library(), 0, &copies).unwrap();
    assert_eq!(report.executions[0].fate, manager::Fate::Unchanged);
}

#[test]
fn r03_a_sequence_that_a_pass_runs_runs_what_its_members_require() {
    let (events, instruments) = scribes(1, "", Hook::Make, "");
    let runs = pass_with("RunsPass", &[("pass", word("acme.HasNeeds"))]);
    let library = library();
    let context = library.context().opt_level(6).build().unwrap().with_instruments(instruments);
    Arc::new(context).scope(|_| ran_well(&runs, &module())).unwrap();
    let before: Vec<String> = taken(&events).into_iter().filter(|event| event.starts_with("a before")).collect();
    assert_eq!(before, ["RunsPass", "HasNeeds", "Nothing", "NeedsNothing"].map(|name| format!("a before {name}")));
}

#[test]
fn r25_a_quarantine_holds_for_passes_that_a_pass_runs() {
    let run = |policy: &str| {
        let mut library = library();
        let runs = Pass::module("my.Runs", 0, |module, cx| pass("acme.Nothing").run_within(cx, module));
        library.register(&runs);
        let (events, instruments) = scribes(1, "", Hook::Make, "");
        let text = format!("on_failure = {policy:?}\nsteps = [\"acme.Fails\", \"my.Runs\"]");
        let spec = PipelineSpec::parse("p.toml", &text, &Disk).unwrap();
        let pipeline = spec.resolve(&library).unwrap();
        let options = ManagerOptions { instruments, ..ManagerOptions::default() };
        manager::run(&pipeline, &module(), &library, &options).unwrap();
        taken(&events)
    };
    let skipped = "a skipped Nothing".to_owned();
    assert!(run("quarantine").contains(&skipped));
    let events = run("skip");
    assert!(!events.contains(&skipped) && events.contains(&"a after Nothing".to_owned()), "{events:?}");
}

#[test]
fn r25_a_pass_that_fails_within_another_one_is_in_quarantine_afterwards() {
    let mut library = library();
    let runs = Pass::module("my.Runs", 0, |module, cx| pass("acme.Fails").run_within(cx, module));
    library.register(&runs);
    let text = "on_failure = \"quarantine\"\nsteps = [\"my.Runs\", \"acme.Nothing\"]";
    let pipeline = PipelineSpec::parse("p.toml", text, &Disk).unwrap().resolve(&library).unwrap();
    let (_, report) = manager::run(&pipeline, &module(), &library, &ManagerOptions::default()).unwrap();
    let fates: Vec<_> = report.executions.iter().map(|it| matches!(it.fate, manager::Fate::Skipped(_))).collect();
    assert_eq!(fates, [false, true]);
}

#[test]
fn r17_instruments_of_a_call_watch_it_beside_those_of_the_context() {
    let (events, instruments) = scribes(2, "", Hook::Make, "");
    let [first, second] = instruments.try_into().unwrap_or_else(|_| panic!("there are two"));
    let library = library();
    let context = library.context().build().unwrap().with_instruments(vec![first]);
    let options = ManagerOptions { instruments: vec![second], ..ManagerOptions::default() };
    Arc::new(context).scope(|_| pass("Nothing").run_with(&library, &module(), &options).unwrap()).unwrap();
    let expected =
        ["a enter", "b enter", "a should_run", "b should_run", "a before", "b before", "a after", "b after", "b exit"];
    let events = taken(&events);
    let events: Vec<&str> = events.iter().map(|event| event.trim_end_matches(" Nothing")).collect();
    assert_eq!(events, [&expected[..], &["a exit"]].concat());
}

#[test]
fn r18_a_panic_in_a_hook_is_its_fault_and_every_other_one_exits() {
    struct Panics(&'static str);
    impl Panics {
        fn at(&self, hook: &str) {
            assert!(self.0 != hook, "told to panic at {hook}");
        }
    }
    impl PassInstrument for Panics {
        fn name(&self) -> &str {
            "panics"
        }
        fn enter(&self) -> Result<(), PassError> {
            self.at("enter");
            Ok(())
        }
        fn exit(&self) -> Result<(), PassError> {
            self.at("exit");
            Ok(())
        }
        fn should_run(&self, _: &IRModule, _: &PassInfo<'_>) -> Result<bool, PassError> {
            self.at("should_run");
            Ok(true)
        }
        fn before(&self, _: &IRModule, _: &PassInfo<'_>) -> Result<(), PassError> {
            self.at("before");
            Ok(())
        }
        fn after(&self, _: &IRModule, _: &PassInfo<'_>) -> Result<(), PassError> {
            self.at("after");
            Ok(())
        }
        fn took(&self, _: &PassInfo<'_>, _: std::time::Duration) {
            self.at("took");
        }
    }
    for hook in ["enter", "exit", "should_run", "before", "after", "took"] {
        let (events, scribes) = scribes(1, "", Hook::Make, "");
        let instruments = [&scribes[..], &[Arc::new(Panics(hook))]].concat();
        let pipeline = PipelineSpec::parse("p.toml", "steps = [\"Nothing\"]", &Disk).unwrap().resolve(&*REGISTRY);
        let options = ManagerOptions { instruments, ..ManagerOptions::default() };
        let failure = manager::run(&pipeline.unwrap(), &module(), &*REGISTRY, &options).map(|_| ()).unwrap_err();
        let message = failure.to_string();
        assert!(message.contains(&format!("instrument `panics` failed at `{hook}`")), "{message}");
        assert!(message.contains("told to panic"), "{message}");
        assert_eq!(taken(&events).last().unwrap(), "a exit", "{hook}");
        assert_eq!(PassContext::current().instruments().len(), 0);
    }
}

#[test]
fn r19_instruments_that_are_replaced_within_a_run_hear_no_more_and_the_new_ones_do() {
    let (old_events, old) = scribes(1, "", Hook::Make, "");
    let (new_events, new) = scribes(1, "", Hook::Make, "");
    let new = Mutex::new(Some(new));
    let replaces = Pass::module("my.Replaces", 0, move |_, _| {
        let new = new.lock().unwrap().take().unwrap_or_default();
        PassContext::current().override_instruments(new).unwrap();
        Ok(None)
    });
    let library = library();
    let context = library.context().build().unwrap().with_instruments(old);
    let sequence = Pass::sequence("s", [replaces, pass("Nothing")]);
    Arc::new(context).scope(|_| sequence.run(&library, &module()).unwrap()).unwrap();
    assert_eq!(taken(&old_events).last().unwrap(), "a exit", "nothing follows its exit");
    let expected = ["enter", "should_run Nothing", "before Nothing", "after Nothing", "exit"];
    assert_eq!(taken(&new_events), expected.map(|what| format!("a {what}")), "no `after` without its `before`");
}

/// Replaces the instruments of a context, once, in a hook.
struct Replaces {
    hook: &'static str,
    by: Mutex<Option<Vec<Arc<dyn PassInstrument>>>>,
    context: Mutex<std::sync::Weak<PassContext>>,
}

impl Replaces {
    fn at(&self, hook: &str) -> Result<(), PassError> {
        if self.hook != hook {
            return Ok(());
        }
        let Some(by) = self.by.lock().unwrap().take() else { return Ok(()) };
        let context = self.context.lock().unwrap().upgrade().unwrap();
        context.override_instruments(by).map_err(|fault| PassError::new(fault.to_string()))
    }
}

impl PassInstrument for Replaces {
    fn name(&self) -> &str {
        "replaces"
    }
    fn enter(&self) -> Result<(), PassError> {
        self.at("enter")
    }
    fn exit(&self) -> Result<(), PassError> {
        self.at("exit")
    }
    fn should_run(&self, _: &IRModule, _: &PassInfo<'_>) -> Result<bool, PassError> {
        self.at("should_run").map(|()| true)
    }
    fn before(&self, _: &IRModule, _: &PassInfo<'_>) -> Result<(), PassError> {
        self.at("before")
    }
    fn after(&self, _: &IRModule, _: &PassInfo<'_>) -> Result<(), PassError> {
        self.at("after")
    }
    fn skipped(&self, _: &IRModule, _: &PassInfo<'_>, _: &SkipReason) {
        self.at("skipped").unwrap();
    }
}

/// Replaces two instruments in a hook of one between them. Returns the events of both, those of the new one, and the end.
fn replaced_in(hook: &'static str, run: impl Fn(&PassLibrary)) -> (String, String, Result<(), String>) {
    let (old_events, old) = scribes(2, "", Hook::Make, "");
    let (new_events, new) = scribes(1, "", Hook::Make, "");
    let replaces = Replaces { hook, by: Mutex::new(Some(new)), context: Mutex::default() };
    let replaces = Arc::new(replaces);
    let instruments: [Arc<dyn PassInstrument>; 3] = [old[0].clone(), replaces.clone(), old[1].clone()];
    let library = library();
    let context = Arc::new(library.context().build().unwrap().with_instruments(instruments.into()));
    *replaces.context.lock().unwrap() = Arc::downgrade(&context);
    let ended = context.scope(|_| run(&library)).map_err(|error| error.to_string());
    (taken(&old_events).join(", "), taken(&new_events).join(", "), ended)
}

#[test]
fn r19_an_instrument_that_is_replaced_in_a_hook_is_told_nothing_more_and_the_new_one_of_later_passes() {
    let twice = |library: &PassLibrary| {
        for _ in 0..2 {
            pass("Nothing").run(library, &module()).unwrap();
        }
    };
    let second = "a enter, a should_run Nothing, a before Nothing, a after Nothing, a exit";
    for (hook, old) in [
        ("should_run", "a enter, b enter, a should_run Nothing, a exit, b exit"),
        ("before", "a enter, b enter, a should_run Nothing, b should_run Nothing, a before Nothing, a exit, b exit"),
        (
            "after",
            "a enter, b enter, a should_run Nothing, b should_run Nothing, a before Nothing, b before Nothing, \
             a after Nothing, a exit, b exit",
        ),
    ] {
        assert_eq!(replaced_in(hook, twice), (old.to_owned(), second.to_owned(), Ok(())), "{hook}");
    }
    // A sequence that is under way is not the new one's either, its later members are.
    let sequence = |library: &PassLibrary| {
        Pass::sequence("s", [pass("Nothing"), pass("Nothing")]).run(library, &module()).unwrap();
    };
    let (old, new, ended) = replaced_in("before", sequence);
    assert!(old.ends_with("a before s, a exit, b exit"), "{old}");
    let member = "a should_run Nothing, a before Nothing, a after Nothing";
    assert_eq!((new, ended), (format!("a enter, {member}, {member}, a exit"), Ok(())));
}

#[test]
fn r19_a_hook_that_enters_or_leaves_a_context_cannot_replace_its_instruments() {
    for hook in ["enter", "exit"] {
        let (old, new, ended) = replaced_in(hook, |_| ());
        let fault = ended.unwrap_err();
        let wanted = format!("instrument `replaces` failed at `{hook}`: it replaces the instruments of the context");
        assert!(fault.contains(&wanted), "{fault}");
        assert_eq!(new, "", "{hook}");
        let expected = if hook == "enter" { "a enter, a exit" } else { "a enter, b enter, a exit" };
        assert_eq!(old, expected, "{hook}");
    }
}

#[test]
fn r18_the_error_of_a_pass_is_not_lost_when_an_exit_fails_too() {
    let (_, instruments) = scribes(1, "a", Hook::Exit, "");
    let library = library();
    let context = library.context().build().unwrap().with_instruments(instruments);
    let error = Arc::new(context).scope(|_| pass("Fails").run(&library, &module()).map(|_| ())).unwrap_err();
    assert!(error.to_string().contains("failed at `exit`"), "{error}");
    let Some(Err(RunError::Failed(failure))) = error.result else { panic!("the pass failed") };
    assert!(failure.to_string().contains("told to fail"), "{failure}");
}

#[test]
fn r03_nobody_is_told_of_what_function_passes_run_that_threads_share() {
    let mut library = library();
    let n = Arc::new(AtomicUsize::new(0));
    let ours = n.clone();
    let runs = Pass::function("my.Runs", 0, move |_, module, cx| {
        ours.fetch_add(1, Ordering::Relaxed);
        pass("Nothing").run_within(cx, module)?;
        pass("Nothing").run(&*REGISTRY, module).map_err(PassError::new)?;
        Ok(None)
    });
    library.register(&runs);
    let (events, instruments) = scribes(1, "", Hook::Make, "");
    let context = library.context().build().unwrap().with_instruments(instruments);
    let module = functions(8, |_| true);
    Arc::new(context).scope(|_| runs.run(&library, &module).unwrap()).unwrap();
    assert_eq!(n.load(Ordering::Relaxed), 8);
    assert_eq!(taken(&events), ["a enter", "a should_run Runs", "a before Runs", "a after Runs", "a exit"]);
    assert!(library.pass("my.Runs").is_ok());
}

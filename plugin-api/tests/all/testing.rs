//! The API with which authors test passes, operators and instruments.

use relais_plugin_api::{
    boundary::abi::error_kind,
    instrument::Skipped,
    prelude::*,
    testing::{self, Trial, Watch},
};

config_option! { "trial.depth": i64, default = 3, doc = "How deep it goes." }

#[derive(PassOptions)]
struct Options {
    /// The word that it says.
    word: String,
    #[option(default = [])]
    more: Vec<i64>,
}

#[function_pass(name = "trial.Say", statistics(said = "words said"))]
fn say(_: &mut Editor, cx: &PassCx<'_>, options: &Options) -> Result<(), PassError> {
    let depth: Option<i64> = cx.config("trial.depth")?;
    cx.count("said", 1);
    cx.diagnostic(Diagnostic::note(format_args!("{} {:?} {depth:?}", options.word, options.more)));
    assert_eq!(cx.context().config("trial.depth")?, depth);
    Ok(())
}

#[derive(PassOptions)]
#[options(check = in_order)]
struct Range {
    least: Option<i64>,
    most: Option<i64>,
    #[option(default = 4096, unit = "bytes")]
    memory: u64,
    file: Option<std::path::PathBuf>,
}

fn in_order(range: &Range) -> Result<(), String> {
    match (range.least, range.most) {
        (Some(least), Some(most)) if least > most => Err(format!("`least` is {least}, and `most` is {most}")),
        _ => Ok(()),
    }
}

#[module_pass(name = "trial.Range")]
fn range(_: &mut IRModule, cx: &PassCx<'_>, options: &Range) -> Result<(), PassError> {
    let Range { least, most, memory, file } = options;
    cx.diagnostic(Diagnostic::note(format_args!("{least:?} {most:?} {memory} {file:?}")));
    Ok(())
}

#[module_pass(name = "trial.Break")]
fn break_it(module: &mut IRModule, _: &PassCx<'_>) -> Result<(), PassError> {
    let main = module.function_mut(MAIN).ok_or("there is no `main`")?;
    main.set_bindings(main.body(), &[]);
    Ok(())
}

operators! {
    &[
        Operator::new("trial", "Sum", 1).inputs(1, 2).infer(sum_type).eval(sum),
        Operator::new("trial", "Sum", 3).inputs(1, 2).infer(sum_type).eval(sum),
        Operator::new("trial", "Ends", 1).outputs(2, 2).eval(ends),
        Operator::new("trial", "Unknown", 1),
    ]
}

fn sum_type(cx: &mut InferCx<'_>) -> Result<(), OpError> {
    if cx.version() < 3 && cx.arg(1).is_some() {
        return Err(OpError::invalid("a second argument needs version 3"));
    }
    cx.set_tensor(0, cx.elem(0), &[]);
    Ok(())
}

fn sum(cx: &mut EvalCx<'_>) -> Result<(), OpError> {
    let x = cx.require(0)?.to_f64s().ok_or_else(|| OpError::unsupported("not of floats"))?;
    let start = cx.input(1).and_then(Tensor::to_f64s).map_or(0.0, |start| start[0]);
    let sum: f64 = x.iter().sum::<f64>() + start;
    cx.output(Tensor::from_f32(&[], &[sum as f32]));
    Ok(())
}

fn ends(cx: &mut EvalCx<'_>) -> Result<(), OpError> {
    let x = cx.require(0)?.to_f64s().ok_or_else(|| OpError::unsupported("not of floats"))?;
    cx.output(Tensor::from_f32(&[], &[x[0] as f32]));
    if let Some(last) = x.get(1) {
        cx.output(Tensor::from_f32(&[], &[*last as f32]));
    }
    Ok(())
}

#[derive(PassOptions)]
#[options(check = is_lucky)]
struct Limits {
    #[option(default = 9, range = 1..)]
    depth: i64,
    #[option(default = "")]
    broken: String,
}

fn is_lucky(limits: &Limits) -> Result<(), PassError> {
    if limits.depth == 14 { Err(PassError::new("fourteen is refused")) } else { Ok(()) }
}

struct Guard(Limits);

#[instrument(name = "trial.Guard")]
impl Instrument for Guard {
    type Options = Limits;

    fn new(limits: Limits) -> Result<Self, PassError> {
        if limits.depth == 13 { Err("no luck".into()) } else { Ok(Self(limits)) }
    }

    fn enter(&self, cx: &InstrumentCx<'_>) -> Result<(), PassError> {
        cx.info("in");
        self.fails("enter")
    }

    fn exit(&self, cx: &InstrumentCx<'_>) -> Result<(), PassError> {
        cx.warn("out");
        self.fails("exit")
    }

    fn should_run(&self, _: &IRModule, pass: &PassInfo<'_>, cx: &InstrumentCx<'_>) -> Result<bool, PassError> {
        let depth: Option<i64> = cx.context().config("trial.depth")?;
        Ok(pass.name != "no" && depth.is_some_and(|depth| depth <= self.0.depth))
    }

    fn after(&self, module: &IRModule, pass: &PassInfo<'_>, cx: &InstrumentCx<'_>) -> Result<(), PassError> {
        cx.debug(format_args!("{} left {}", pass.name, module.globals().len()));
        assert!(self.0.broken != "panic", "it panics");
        self.fails("after")
    }

    fn skipped(&self, _: &IRModule, pass: &PassInfo<'_>, reason: &Skipped<'_>, cx: &InstrumentCx<'_>) {
        cx.info(format_args!("{}: {reason}", pass.name));
    }

    fn failed(&self, pass: &PassInfo<'_>, error: &PassError, cx: &InstrumentCx<'_>) {
        cx.error(format_args!("{}: {error}", pass.name));
    }
}

impl Guard {
    fn fails(&self, hook: &str) -> Result<(), PassError> {
        if self.0.broken == hook { Err(format!("`{hook}` is broken").into()) } else { Ok(()) }
    }
}

const ONE: &str = "def @main(%x) { %y = Relu(%x); %y }";

fn message(result: Result<impl Sized, PassError>) -> String {
    result.err().expect("it fails").to_string()
}

#[test]
fn options_that_do_not_go_together_are_refused() {
    let noted = |trial: Trial| trial.run(ONE).unwrap().diagnostics[0].rec().message.to_string();
    assert_eq!(noted(Trial::of("Range")), "None None 4096 None");
    let trial = Trial::of("Range").option("least", 2).option("most", 2).option("file", "a/b");
    assert_eq!(noted(trial), "Some(2) Some(2) 4096 Some(\"a/b\")");
    let trial = Trial::of("Range").option("least", 3).option("most", 2);
    let error = trial.run(ONE).err().unwrap();
    assert_eq!(error.to_string(), "`least` is 3, and `most` is 2");
    assert_eq!(error.rec().kind, error_kind::OPTIONS);
    assert_eq!(message(Watch::of("Guard").option("depth", 14).run(ONE)), "fourteen is refused");
}

#[test]
fn a_trial_tells_what_was_said_and_counted() {
    let outcome = Trial::of("Say").option("word", "hello").option("more", [1, 2]).run(ONE).unwrap();
    assert_eq!(outcome.diagnostics[0].to_string(), "note: hello [1, 2] Some(3)");
    assert_eq!((outcome.counts["said"], outcome.changed), (1, false));
    assert!(outcome.declined().is_empty());
    let outcome = Trial::of("Say").option("word", "hello").config("trial.depth", 7).run(ONE).unwrap();
    assert_eq!(outcome.diagnostics[0].to_string(), "note: hello [] Some(7)");
}

#[test]
fn a_trial_checks_options() {
    assert_eq!(message(Trial::of("trial.Say").run(ONE)), "`trial.Say` needs the option `word`");
    let wrong = Trial::of("trial.Say").option("word", "hello").option("mroe", 1);
    assert_eq!(message(wrong.run(ONE)), "`trial.Say` has no option `mroe`");
    assert_eq!(message(Trial::of("trial.Say").option("word", true).run(ONE)), "`trial.Say` has other options");
    assert_eq!(message(Trial::of("trial.None").run(ONE)), "no pass `trial.None` is linked");
}

#[test]
#[should_panic(expected = "broke the module")]
fn a_broken_module_is_no_result() {
    let _ = Trial::of("trial.Break").run(ONE);
}

#[test]
fn types_are_inferred_in_the_newest_version_or_the_one_that_is_imported() {
    let typed = testing::infer("def @main(%x: Tensor[(2), float32], %s) { %y = trial::Sum(%x, %s); %y }").unwrap();
    assert!(typed.contains("%y: Tensor[(), float32] = "), "{typed}");
    let old = "def @main(%x: Tensor[(2), float32], %s) #[opset = {\"trial\": 1}] { %y = trial::Sum(%x, %s); %y }";
    let error = message(testing::infer(old));
    assert!(
        error.starts_with("`Sum`: a second argument needs version 3 (at %") && error.contains("`@main`"),
        "{error}"
    );
    // No plugin describes it: its type stays unknown.
    assert!(testing::infer("def @main(%x) { %y = trial::Nobody(%x); %y }").unwrap().contains("%y = trial::Nobody"));
}

#[test]
fn calls_are_evaluated_one_after_the_other() {
    let results = testing::evaluate("def @main() { %a = trial::Sum([1.0, 2.0]); trial::Sum([4.0], %a) }");
    assert_eq!(results.unwrap(), [Tensor::from_f32(&[], &[7.0])]);
    let results = testing::evaluate("def @main() { (%a, %b) = trial::Ends([1.0, 2.0]); (%b, %a) }");
    assert_eq!(results.unwrap(), [Tensor::from_f32(&[], &[2.0]), Tensor::from_f32(&[], &[1.0])]);
    let evaluate = |call: &str| message(testing::evaluate(&format!("def @main() {{ {call} }}")));
    assert_eq!(evaluate("trial::Sum([1])"), "`Sum`: not of floats");
    assert_eq!(evaluate("trial::Sum(_)"), "`Sum`: input 0 is missing");
    assert_eq!(evaluate("trial::Unknown([1])"), "`Unknown`: no evaluator is linked");
    assert_eq!(evaluate("(%a, %b) = trial::Ends([1.0]); %a"), "`Ends`: it gave 1 of 2 results");
}

#[test]
#[should_panic(expected = "`@main` has parameters")]
fn parameters_have_no_values() {
    let _ = testing::evaluate("def @main(%x) { trial::Sum(%x) }");
}

#[test]
#[should_panic(expected = "nothing that can be evaluated")]
fn branches_are_not_evaluated() {
    let _ = testing::evaluate("def @main() { if (true) { 1.0 } else { 2.0 } }");
}

#[test]
fn hooks_are_called_as_by_a_host() {
    let watch = Watch::of("Guard").pass("a", ONE).pass("no", ONE).failing_pass("b", "bad luck");
    let seen = watch.run(ONE).unwrap();
    assert_eq!((seen.ran, seen.vetoed), (vec!["a".to_owned(), "b".into()], vec!["no".to_owned()]));
    let logged = [
        "info: trial.Guard: in",
        "debug: trial.Guard: a left 1",
        "info: trial.Guard: no: an instrument said no",
        "error: trial.Guard: b: bad luck",
        "warn: trial.Guard: out",
    ];
    assert_eq!(seen.logged, logged);
    let seen = Watch::of("Guard").option("depth", 2).pass("a", ONE).run(ONE).unwrap();
    assert_eq!(seen.vetoed, ["a"]);
    let seen = Watch::of("Guard").option("depth", 2).config("trial.depth", 1).pass("a", ONE).run(ONE).unwrap();
    assert_eq!(seen.ran, ["a"]);
}

#[test]
fn faults_of_instruments_are_errors() {
    let broken = |hook: &str| message(Watch::of("Guard").option("broken", hook).pass("a", ONE).run(ONE));
    for hook in ["enter", "after", "exit"] {
        assert_eq!(broken(hook), format!("`{hook}` is broken"));
    }
    assert!(broken("panic").starts_with("panicked: it panics"));
    assert_eq!(message(Watch::of("Guard").option("depth", 13).run(ONE)), "no luck");
    assert_eq!(message(Watch::of("Guard").option("dpeth", 13).run(ONE)), "`Guard` has no option `dpeth`");
    assert_eq!(message(Watch::of("Nobody").run(ONE)), "no instrument `Nobody` is linked");
}

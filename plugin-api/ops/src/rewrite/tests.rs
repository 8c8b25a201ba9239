use super::*;
use crate::{
    error::OpError,
    relations::{Blaming, Checking, Typing},
    request::InferRequest,
};

fn drive(
    editor: &mut Editor,
    rule: &mut RewriteFn<'_>,
    ops: &[&str],
    options: DriveOptions,
) -> Result<DriveStats, PassError> {
    drive_with(editor, &mut NoTypes, rule, ops, options)
}

struct NoTypes;

impl Typing for NoTypes {
    fn version(&mut self, _: &Function, _: OpId) -> i64 {
        0
    }

    fn infer(&mut self, _: OpId, _: &mut InferRequest<'_>) -> Option<Result<(), OpError>> {
        None
    }
}

impl Checking for NoTypes {}

impl Blaming for NoTypes {}

fn chain(ops: &[&str]) -> Function {
    let mut f = Function::new();
    let x = f.add_var("x", TypeId::UNKNOWN);
    f.set_params(f.root(), &[x]);
    let mut last = x;
    for op in ops {
        let op = f.add_op("", op, "", 0);
        last = f.add_call(op, &[last]);
        f.append(f.body(), last);
    }
    f.set_results(f.body(), &[last]);
    f
}

fn names(f: &Function) -> Vec<&str> {
    f.all_bindings().filter_map(|id| Some(f.call(id)?.op_name())).collect()
}

fn relu_relu(call: CallView<'_>, cx: &mut RewriteCx<'_>) -> Rewrite {
    let Some(inner) = call.arg(0) else { return Rewrite::Keep };
    match cx.call_of_op(inner, "Relu") {
        Some(_) => Rewrite::Replace(inner),
        None => Rewrite::Keep,
    }
}

/// The error of a rule that fails at `Neg`, and the message with which it is shown.
fn fails_at_neg(check: &dyn Fn() -> Result<(), PassError>, rule: &mut RewriteFn<'_>) -> (PassError, String) {
    let mut editor = Editor::new(chain(&["Relu", "Neg", "Relu"]).into());
    let error = drive_while(&mut editor, &mut NoTypes, rule, &[], DriveOptions::default(), check).unwrap_err();
    let told = error.to_string();
    (error, told)
}

#[test]
fn a_panic_of_a_rule_names_the_call() {
    let (error, told) = fails_at_neg(&|| Ok(()), &mut |call, _| {
        assert!(!call.is_op("Neg"), "no `Neg`, please");
        Rewrite::Keep
    });
    assert!(error.is_panic());
    assert!(told.starts_with("panicked: no `Neg`, please (at %6)\n  at "), "{told}");
    assert!(told.contains("tests.rs:"), "{told}");
    assert!(told.ends_with("\n  note: the rewrite was offered %6, a call of `Neg`"), "{told}");
}

#[test]
fn a_rule_that_is_stopped_names_the_call() {
    let stops = std::cell::Cell::new(false);
    let check = || match stops.get() {
        true => Err(PassError::new("cancelled")),
        false => Ok(()),
    };
    let (_, told) = fails_at_neg(&check, &mut |call, _| {
        stops.set(call.is_op("Neg"));
        Rewrite::Keep
    });
    assert_eq!(told, "cancelled (at %6)\n  note: the rewrite was offered %6, a call of `Neg`");
}

#[test]
fn a_chain_collapses_in_one_round_and_settles_in_the_next() {
    let mut editor = Editor::new(chain(&["Relu", "Relu", "Relu", "Neg", "Relu"]).into());
    let stats = drive(&mut editor, &mut relu_relu, &["Relu"], DriveOptions::default()).unwrap();
    assert_eq!(names(editor.function()), ["Relu", "Neg", "Relu"]);
    assert_eq!((stats.n_rewrites, stats.n_rounds, stats.settled), (2, 2, true));
}

#[test]
fn a_function_without_a_match_is_not_written() {
    let mut editor = Editor::new(chain(&["Relu", "Neg"]).into());
    drive(&mut editor, &mut relu_relu, &["Relu"], DriveOptions::default()).unwrap();
    assert!(!editor.is_changed());
}

#[test]
fn new_nodes_take_the_place_and_the_name_of_what_they_replace() {
    let mut f = chain(&["Neg", "Relu"]);
    let neg = f.bindings(f.body())[0];
    f.set_name(neg, "n");
    let mut editor = Editor::new(f.into());
    let mut rule = |call: CallView<'_>, cx: &mut RewriteCx<'_>| {
        let minus = cx.constant(Tensor::from_f32(&[], &[-1.0]));
        Rewrite::Replace(cx.call("Mul", &[call.args()[0], minus]))
    };
    let stats = drive(&mut editor, &mut rule, &["Neg"], DriveOptions::default()).unwrap();
    let f = editor.function();
    assert_eq!(names(f), ["Mul", "Relu"]);
    assert_eq!(f.name(f.bindings(f.body())[1]), "n");
    assert_eq!(stats.n_rewrites, 1);
}

#[test]
fn a_rule_that_runs_in_circles_is_stopped() {
    let mut editor = Editor::new(chain(&["Neg"]).into());
    let mut rule = |call: CallView<'_>, cx: &mut RewriteCx<'_>| Rewrite::Replace(cx.call("Neg", &[call.args()[0]]));
    let stats = drive(&mut editor, &mut rule, &[], DriveOptions { max_rounds: 5, ..DriveOptions::default() }).unwrap();
    assert!(!stats.settled);
    assert_eq!(stats.n_rounds, 5);
}

/// Replaces the first result of a call with two results, asserting that nothing uses the second. `used` is the result
/// that the function returns.
fn without_the_second(used: u16) -> (Vec<String>, DriveStats) {
    let mut f = chain(&[]);
    let x = f.params()[0];
    let op = f.add_op("", "Dropout", "", 0);
    let callee = f.op(op).node;
    let call = f.add_call_with(callee, &[x], &[], Some(2));
    let results = [0, 1].map(|index| f.add_tuple_get_item(call, index));
    [call, results[0], results[1]].into_iter().for_each(|id| f.append(f.body(), id));
    f.set_results(f.body(), &[results[usize::from(used)]]);
    let mut editor = Editor::new(f.into());
    let mut rule =
        |call: CallView<'_>, _: &mut RewriteCx<'_>| Rewrite::ReplaceResults(vec![call.args()[0], NodeId::ABSENT]);
    let stats = drive(&mut editor, &mut rule, &[], DriveOptions::default()).unwrap();
    (names(editor.function()).into_iter().map(str::to_owned).collect(), stats)
}

#[test]
fn a_result_may_be_left_out_if_nothing_uses_it() {
    let (names, stats) = without_the_second(0);
    assert_eq!((names, stats.n_rewrites), (vec![], 1));
    let (names, stats) = without_the_second(1);
    assert_eq!((names, stats.n_rewrites), (vec!["Dropout".to_owned()], 0));
    assert_eq!(stats.declined[0].1, "something uses result 1");
}

/// Returns the error of a rule that returns `node` for the second of two calls.
fn refusal(node: impl Fn(&Function, &mut RewriteCx<'_>) -> NodeId) -> String {
    let mut editor = Editor::new(chain(&["Neg", "Relu", "Exp"]).into());
    let mut rule = |call: CallView<'_>, cx: &mut RewriteCx<'_>| {
        let f = cx.function();
        let by = node(f, cx);
        if call.is_op("Relu") { Rewrite::Replace(by) } else { Rewrite::Keep }
    };
    drive(&mut editor, &mut rule, &[], DriveOptions::default()).unwrap_err().to_string()
}

#[test]
fn c03_a_node_that_does_not_exist_is_refused() {
    let error = refusal(|_, _| NodeId(999));
    assert!(error.contains("the rewrite gave %999, which does not exist"), "{error}");
    assert!(error.contains("the rewrite was offered %6, a call of `Relu`"), "{error}");
}

#[test]
fn c03_a_node_that_comes_later_is_refused() {
    let error = refusal(|f, _| *f.bindings(f.body()).last().unwrap());
    assert!(error.contains("which is not visible at the call"), "{error}");
}

#[test]
fn a_function_that_is_an_argument_can_be_given() {
    let mut f = Function::new();
    let (callee, named, other) = (f.add_op("", "Neg", "", 0), f.add_global_var("f"), f.add_global_var("g"));
    let call = f.add_call(callee, &[named]);
    f.append(f.body(), call);
    f.set_results(f.body(), &[call]);
    let given = |by: NodeId| {
        let mut editor = Editor::new(f.clone().into());
        drive(&mut editor, &mut |_, _| Rewrite::Replace(by), &[], DriveOptions::default()).map(|stats| stats.n_rewrites)
    };
    assert_eq!(given(named).unwrap(), 1);
    let error = given(other).unwrap_err().to_string();
    assert!(error.contains("which is not visible at the call"), "{error}");
}

#[test]
fn c03_the_absent_operand_is_not_a_value() {
    let error = refusal(|_, _| NodeId::ABSENT);
    assert!(error.contains("the rewrite gave the absent operand"), "{error}");
}

#[test]
fn c03_a_node_made_for_another_call_is_refused() {
    let kept = std::cell::Cell::new(None);
    let error = refusal(|f, cx| match kept.get() {
        Some(kept) => {
            cx.call("Abs", &[f.params()[0]]);
            kept
        }
        None => {
            kept.set(Some(cx.call("Sqrt", &[f.params()[0]])));
            NodeId::ABSENT
        }
    });
    assert!(error.contains("the rewrite gave a node that it made for another call"), "{error}");
}

#[test]
fn c03_arguments_of_new_calls_are_checked_too() {
    let error = refusal(|_, cx| cx.call("Neg", &[NodeId(0x7fff_ffff)]));
    assert!(error.contains("the rewrite used %2147483647, which does not exist"), "{error}");
}

#[test]
fn a_declined_match_says_why() {
    let mut editor = Editor::new(chain(&["Relu"]).into());
    let mut rule = |_: CallView<'_>, _: &mut RewriteCx<'_>| Rewrite::decline("the value has a second user");
    let stats = drive(&mut editor, &mut rule, &["Relu"], DriveOptions::default()).unwrap();
    assert_eq!(stats.declined.len(), 1);
    assert!(!editor.is_changed());
}

/// Rewrites a chain or graph by a local rule; the operators that are left, and the number of rounds.
fn locally(f: Function, rule: &mut RewriteFn<'_>, ops: &[&str]) -> (Vec<String>, usize) {
    let mut editor = Editor::new(f.into());
    let options = DriveOptions { is_local: true, ..DriveOptions::default() };
    let stats = drive(&mut editor, rule, ops, options).unwrap();
    assert!(stats.settled);
    (names(editor.function()).into_iter().map(str::to_owned).collect(), stats.n_rounds)
}

/// A graph of calls, each an operator and its arguments by number: 0 is the parameter. The last two are the results.
fn graph(calls: &[(&str, &[usize])]) -> Function {
    let mut f = chain(&[]);
    let mut values = vec![f.params()[0]];
    for (op, args) in calls {
        let op = f.add_op("", op, "", 0);
        let args: Vec<NodeId> = args.iter().map(|&arg| values[arg]).collect();
        let call = f.add_call(op, &args);
        f.append(f.body(), call);
        values.push(call);
    }
    let results = values[values.len().saturating_sub(2)..].to_vec();
    f.set_results(f.body(), &results);
    f
}

#[test]
fn a_local_rule_takes_no_round_in_which_nothing_can_happen() {
    let (left, n_rounds) = locally(chain(&["Relu", "Relu", "Neg", "Relu", "Relu"]), &mut relu_relu, &["Relu"]);
    assert_eq!((left.join(" ").as_str(), n_rounds), ("Relu Neg Relu", 1));
}

/// `Neg(Abs(x))` becomes `x` if nothing else uses the `Abs`; `Drop(x)` becomes the parameter.
fn neg_of_abs(call: CallView<'_>, cx: &mut RewriteCx<'_>) -> Rewrite {
    let Some(arg) = call.arg(0) else { return Rewrite::Keep };
    match (call.op_name(), cx.call_of_op(arg, "Abs")) {
        ("Drop", _) => Rewrite::Replace(cx.function().params()[0]),
        ("Neg", Some(abs)) if cx.n_uses(arg) == 1 => Rewrite::Replace(abs.args()[0]),
        _ => Rewrite::Keep,
    }
}

#[test]
fn a_local_rule_sees_that_a_value_has_fewer_users() {
    // The second user of `Abs` goes after `Neg` was looked at.
    let one = graph(&[("Abs", &[0]), ("Neg", &[1]), ("Drop", &[1]), ("Relu", &[2]), ("Relu", &[3])]);
    assert_eq!(locally(one, &mut neg_of_abs, &["Neg", "Drop"]), (vec!["Abs".into(), "Relu".into(), "Relu".into()], 2));
    // It was made in the same round.
    let made = graph(&[("A", &[0]), ("Neg", &[1]), ("Drop", &[1]), ("Relu", &[2]), ("Relu", &[3])]);
    let mut makes_abs = |call: CallView<'_>, cx: &mut RewriteCx<'_>| match call.op_name() {
        "A" => Rewrite::Replace(cx.call("Abs", call.args())),
        _ => neg_of_abs(call, cx),
    };
    let (left, n_rounds) = locally(made, &mut makes_abs, &["A", "Neg", "Drop"]);
    assert_eq!((left, n_rounds), (vec!["Abs".into(), "Relu".into(), "Relu".into()], 2));
    // It is used by nothing itself from then on.
    let two = graph(&[("Abs", &[0]), ("Neg", &[1]), ("Cos", &[1]), ("Sin", &[3]), ("Drop", &[4]), ("Relu", &[2])]);
    let mut unused_is_gone = |call: CallView<'_>, cx: &mut RewriteCx<'_>| {
        // As rules do, which do not count users that nothing uses.
        let is_used = |id: NodeId| cx.n_uses(id) > 0;
        let n_users = cx.users(call.arg(0).unwrap()).iter().filter(|&&user| is_used(user)).count();
        match (call.op_name(), cx.call_of_op(call.arg(0).unwrap(), "Abs")) {
            ("Neg", Some(abs)) if n_users == 1 => Rewrite::Replace(abs.args()[0]),
            _ => neg_of_abs(call, cx),
        }
    };
    let (_, n_rounds) = locally(two, &mut unused_is_gone, &["Neg", "Drop"]);
    assert!(n_rounds > 1);
}

#[test]
fn a_local_rule_is_offered_what_it_made() {
    let mut rule = |call: CallView<'_>, cx: &mut RewriteCx<'_>| match call.op_name() {
        "A" => Rewrite::Replace(cx.call("B", call.args())),
        "B" => Rewrite::Replace(cx.call("C", call.args())),
        _ => Rewrite::Keep,
    };
    assert_eq!(locally(chain(&["A"]), &mut rule, &["A", "B"]), (vec!["C".into()], 2));
}

#[test]
fn a_local_rule_is_offered_a_call_that_nothing_used_before() {
    // `Drop` takes the value of the first call, which nothing used.
    let mut rule = |call: CallView<'_>, cx: &mut RewriteCx<'_>| match call.op_name() {
        "Drop" => Rewrite::Replace(cx.function().bindings(cx.function().body())[0]),
        "Old" => Rewrite::Replace(cx.call("New", call.args())),
        _ => Rewrite::Keep,
    };
    let f = graph(&[("Old", &[0]), ("Drop", &[0]), ("Relu", &[2]), ("Relu", &[2])]);
    assert_eq!(locally(f, &mut rule, &["Drop", "Old"]), (vec!["New".into(), "Relu".into(), "Relu".into()], 2));
}

#[test]
fn local_rules_leave_the_same_as_others() {
    const OPS: [&str; 9] = ["A", "B", "C", "D", "E", "F", "G", "H", "I"];
    let (mut state, mut n_settled, mut n_shorter) = (1_u64, 0, 0);
    let mut random = |n: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % n
    };
    for _ in 0..3_000 {
        let n_calls = 2 + random(14);
        let calls: Vec<(usize, Vec<usize>)> = (0..n_calls)
            .map(|at| (random(4), (0..1 + random(2)).map(|_| random(3).min(at) + at - at.min(2)).collect()))
            .collect();
        let calls: Vec<(&str, &[usize])> = calls.iter().map(|(op, args)| (OPS[*op], args.as_slice())).collect();
        let rules: Vec<[usize; 5]> =
            (0..3).map(|_| [random(4), random(4), random(3), random(OPS.len()), random(2)]).collect();
        let run = |is_local: bool| {
            let mut editor = Editor::new(graph(&calls).into());
            let mut rule = |call: CallView<'_>, cx: &mut RewriteCx<'_>| {
                for &[outer, inner, kind, new, is_alone] in &rules {
                    let Some(arg) = call.arg(0).filter(|_| call.is_op(OPS[outer])) else { continue };
                    let Some(below) = cx.call_of_op(arg, OPS[inner]).filter(|_| is_alone == 0 || cx.n_uses(arg) == 1)
                    else {
                        continue;
                    };
                    return Rewrite::Replace(match kind {
                        0 => below.args()[0],
                        1 => cx.call(OPS[new], below.args()),
                        _ => cx.call(OPS[new], &[arg]),
                    });
                }
                Rewrite::Keep
            };
            let stats =
                drive(&mut editor, &mut rule, &[], DriveOptions { is_local, ..DriveOptions::default() }).unwrap();
            let mut module = IRModule::new();
            module.set_function(MAIN, editor.into_function());
            (relais_ir::text::print(&module, &relais_ir::text::PrintOptions::default()), stats)
        };
        let ((text, stats), (expected, all)) = (run(true), run(false));
        assert_eq!(
            (&text, stats.settled, stats.n_rewrites),
            (&expected, all.settled, all.n_rewrites),
            "{calls:?} {rules:?}"
        );
        n_settled += usize::from(all.settled && all.n_rewrites > 0);
        n_shorter += usize::from(stats.n_rounds < all.n_rounds);
    }
    assert!(n_settled > 500 && n_shorter > 50, "{n_settled} settled, {n_shorter} of them in fewer rounds");
}

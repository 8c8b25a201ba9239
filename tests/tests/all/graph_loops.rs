//! `Loop` and `Scan` of graphs, as the interpreter runs them: for `--check`, the conformance kit and filetests.

use relais_conformance::interpret::{self, NotComputed};
use relais_plugin_api::{ir::*, text};
use relais_tests::reference::Judge;

/// A shape, and numbers.
pub type Numbers = (Vec<u64>, Vec<f64>);

/// The results of `@main`, which has this body, as numbers with their shapes, or the reason why there are none.
pub fn compute(main: &str, inputs: &[Tensor]) -> Vec<Result<Numbers, NotComputed>> {
    let source = format!("def @main{main}");
    let module = text::parse_str(&source).unwrap_or_else(|errors| panic!("{errors:?} in\n{source}"));
    let results = interpret::run(&module, "main", inputs, &Judge).unwrap_or_else(|stop| vec![Err(stop)]);
    let numbers = |tensor: Tensor| {
        let values = tensor.to_i64s().map(|values| values.into_iter().map(|value| value as f64).collect());
        (tensor.dims().to_vec(), values.or_else(|| tensor.to_f64s()).unwrap())
    };
    results.into_iter().map(|result| result.map(numbers)).collect()
}

/// The one reason why there are no results.
pub fn stopped(main: &str, inputs: &[Tensor]) -> String {
    let results = compute(main, inputs);
    match &results[..] {
        [Err(NotComputed::NotCovered { why, .. } | NotComputed::Wrong(why)), ..] => why.clone(),
        results => panic!("{results:?}"),
    }
}

pub fn floats(dims: &[u64], values: &[f32]) -> Tensor {
    Tensor::from_f32(dims, values)
}

/// Sums of the first numbers, which are collected, as long as they are below a limit.
const SUMS: &str = r#"(%n: Tensor[(), int64], %limit: Tensor[(), float32]) #[opset = {"": 17}] {
  %zero = const(float32, 0.0);
  %go = const(bool, true);
  (%sum, %all) = Loop(%n, %go, %zero, body = fn(%i: Tensor[(), int64], %goes: Tensor[(), bool], %s: Tensor[(), float32]) {
    %f = Cast(%i, to = 1);
    %next = Add(%s, %f);
    %again = Less(%next, %limit);
    (%again, %next, %s)
  });
  (%sum, %all)
}"#;

#[test]
fn a_loop_ends_by_its_number_of_turns_or_by_its_condition() {
    let run = |n: i64, limit: f32| {
        let results = compute(SUMS, &[Tensor::from_i64(&[], &[n]), floats(&[], &[limit])]);
        results.into_iter().map(Result::unwrap).collect::<Vec<_>>()
    };
    assert_eq!(run(4, 100.0), [(vec![], vec![6.0]), (vec![4], vec![0.0, 0.0, 1.0, 3.0])]);
    assert_eq!(run(100, 5.0), [(vec![], vec![6.0]), (vec![4], vec![0.0, 0.0, 1.0, 3.0])]);
    // Without a turn the sum is that of the beginning, and nothing is collected.
    assert_eq!(run(0, 5.0), [(vec![], vec![0.0]), (vec![0], vec![])]);
    assert_eq!(run(-1, 5.0), run(0, 5.0));
}

#[test]
fn a_loop_without_end_stops() {
    let main = r#"(%x: Tensor[(2), float32]) #[opset = {"": 17}] {
  %y = Loop(_, _, %x, body = fn(%i: Tensor[(), int64], %goes: Tensor[(), bool], %v: Tensor[(2), float32]) { (%goes, %v) });
  %y
}"#;
    assert!(stopped(main, &[floats(&[2], &[1.0, 2.0])]).contains("too many steps"));
}

#[test]
fn a_loop_that_collects_too_much_stops_before_it_has_the_memory() {
    let main = r#"(%x: Tensor[(1048576), float32], %n: Tensor[(), int64]) #[opset = {"": 17}] {
  (%y, %all) = Loop(%n, _, %x, body = fn(%i: Tensor[(), int64], %goes: Tensor[(), bool], %v: Tensor[(1048576), float32]) {
    %w = Neg(%v);
    (%goes, %w, %w)
  });
  (%y, %all)
}"#;
    let inputs = [floats(&[1 << 20], &vec![1.0; 1 << 20]), Tensor::from_i64(&[], &[6])];
    let results = compute(main, &inputs);
    assert!(results[0].as_ref().is_ok_and(|(_, values)| values.iter().all(|&value| value == 1.0)));
    assert!(
        matches!(&results[1], Err(NotComputed::NotCovered { why, .. }) if why.contains("too many values")),
        "{:?}",
        results[1]
    );
}

#[test]
fn a_scan_goes_over_axes_in_both_directions() {
    // Running sums of the columns from the right, put side by side from the right.
    let main = r#"(%start: Tensor[(2), float32], %x: Tensor[(2, 3), float32], %by: Tensor[(3), float32]) #[opset = {"": 17}] {
  (%last, %all) = Scan(%start, %x, %by, body = fn(%s: Tensor[(2), float32], %c: Tensor[(2), float32], %k: Tensor[(), float32]) {
    %p = Mul(%c, %k);
    %t = Add(%s, %p);
    (%t, %t)
  }, num_scan_inputs = 2, scan_input_axes = [-1, 0], scan_input_directions = [1, 0], scan_output_axes = [1],
    scan_output_directions = [1]);
  (%last, %all)
}"#;
    let inputs = [
        floats(&[2], &[10.0, 20.0]),
        floats(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
        floats(&[3], &[1.0, 10.0, 100.0]),
    ];
    let results: Vec<_> = compute(main, &inputs).into_iter().map(Result::unwrap).collect();
    let all = vec![133.0, 33.0, 13.0, 476.0, 76.0, 26.0];
    assert_eq!(results, [(vec![2], vec![133.0, 476.0]), (vec![2, 3], all)]);
}

#[test]
fn loops_in_loops_read_values_around_them() {
    // Adds twice the outer index and a parameter, three times each turn.
    let main = r#"(%x: Tensor[(2), float32], %n: Tensor[(), int64]) #[opset = {"": 17}] {
  %go = const(bool, true);
  %three = const(int64, 3);
  %one = const(float32, [1.0, 1.0]);
  %y = Loop(%n, %go, %x, body = fn(%i: Tensor[(), int64], %a: Tensor[(), bool], %v: Tensor[(2), float32]) {
    %f = Cast(%i, to = 1);
    %w = Loop(%three, %a, %v, body = fn(%j: Tensor[(), int64], %b: Tensor[(), bool], %u: Tensor[(2), float32]) {
      %p = Add(%u, %f);
      %q = Add(%p, %one);
      (%b, %q)
    });
    (%go, %w)
  });
  %z = Add(%y, %x);
  %z
}"#;
    let results = compute(main, &[floats(&[2], &[0.5, -0.5]), Tensor::from_i64(&[], &[2])]);
    // 3 * (0 + 1) + 3 * (1 + 1) = 9 is added to each.
    assert_eq!(results, [Ok((vec![2], vec![10.0, 8.0]))]);
}

#[test]
fn a_value_that_is_not_known_affects_those_that_depend_on_it() {
    let main = r#"(%x: Tensor[(2), float32], %n: Tensor[(), int64]) #[opset = {"": 17, "acme": 1}] {
  (%y, %z, %all) = Loop(%n, _, %x, %x, body = fn(%i: Tensor[(), int64], %a: Tensor[(), bool], %v: Tensor[(2), float32], %w: Tensor[(2), float32]) {
    %u = acme::Unknown(%w);
    %t = Neg(%v);
    (%a, %t, %u, %u)
  });
  (%y, %z, %all)
}"#;
    let results = compute(main, &[floats(&[2], &[1.0, 2.0]), Tensor::from_i64(&[], &[3])]);
    assert_eq!(results[0], Ok((vec![2], vec![-1.0, -2.0])));
    assert!(
        results[1..]
            .iter()
            .all(|result| matches!(result, Err(NotComputed::NotCovered { what, .. }) if what == "Unknown"))
    );
}

#[test]
fn wrong_loops_are_named() {
    let scan = |body: &str, attrs: &str| {
        format!(
            "(%s: Tensor[(2), float32], %x: Tensor[(3, 2), float32], %w: Tensor[(2, 2), float32]) #[opset = {{\"\": 17}}] {{\n\
             %y = Scan(%s, %x, %w, body = fn(%a: Tensor[(2), float32], %b: Tensor[(2), float32], %c: Tensor[(2), float32]) \
             {{ {body} }}, {attrs});\n%y }}"
        )
    };
    let inputs = [floats(&[2], &[0.0; 2]), floats(&[3, 2], &[0.0; 6]), floats(&[2, 2], &[0.0; 4])];
    for (main, why) in [
        (scan("%a", "num_scan_inputs = 2"), "different lengths"),
        (scan("%a", "num_scan_inputs = 4"), "no number of scanned inputs"),
        (scan("%a", "num_scan_inputs = 2, scan_input_axes = [0, 2]"), "axis 2 is not one of 2"),
        (scan("%a", "num_scan_inputs = 2, scan_input_axes = [0]"), "another number of entries"),
    ] {
        let said = stopped(&main, &inputs);
        assert!(said.contains(why), "{said}\n{main}");
    }
    // A condition that is a number, and a collected value that grows.
    let turns = |body: &str| {
        format!(
            "(%x: Tensor[(?), float32], %n: Tensor[(), int64]) #[opset = {{\"\": 17}}] {{\n\
             (%y, %all) = Loop(%n, _, %x, body = fn(%i: Tensor[(), int64], %g: Tensor[(), bool], %v: Tensor[(?), float32]) {{ {body} }});\n\
             %all }}"
        )
    };
    let inputs = [floats(&[1], &[1.0]), Tensor::from_i64(&[], &[2])];
    let said = stopped(&turns("(%i, %v, %v)"), &inputs);
    assert!(said.contains("is not a truth value"), "{said}");
    let said = stopped(&turns("%t = Concat(%v, %v, axis = 0); (%g, %t, %t)"), &inputs);
    assert!(said.contains("`a loop` joins values of other types"), "{said}");
}

#[test]
fn functions_have_the_attributes_of_their_calls() {
    // The second function passes on an attribute that its call may leave out.
    let source = r#"(%x: Tensor[(2), float32]) #[opset = {"": 17, "my": 1}] {
  %a = @"my::Leaky"(%x);
  %b = @"my::Leaky"(%x, alpha = 0.5);
  %c = @"my::Outer"(%x);
  %d = @"my::Outer"(%x, beta = 2.0);
  (%a, %b, %c, %d)
}
def @"my::Leaky"(%x) #[opset = {"": 17, "my": 1}, function_name = "Leaky", domain = "my", "default:alpha" = 0.25] { LeakyRelu(%x, alpha = $alpha: float) }
def @"my::Outer"(%x) #[opset = {"": 17, "my": 1}, function_name = "Outer", domain = "my", attributes = ["beta"]] { @"my::Leaky"(%x, alpha = $beta: float) }"#;
    let results = compute(source, &[floats(&[2], &[-4.0, 1.0])]);
    let firsts: Vec<f64> = results.into_iter().map(|result| result.unwrap().1[0]).collect();
    assert_eq!(firsts, [-1.0, -2.0, -1.0, -8.0]);
}

//! Sequences and optionals, as the interpreter computes them.

use crate::graph_loops::{compute, floats, stopped};
use relais_plugin_api::ir::*;

/// The results of a body on `%x`, which is 1 to 6 in two rows, and on an integer.
fn on_six(body: &str, n: i64) -> Vec<(Vec<u64>, Vec<f64>)> {
    let inputs = [floats(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), Tensor::from_i64(&[], &[n])];
    compute(&main(body), &inputs).into_iter().map(Result::unwrap).collect()
}

fn main(body: &str) -> String {
    format!("(%x: Tensor[(2, 3), float32], %n: Tensor[(), int64]) #[opset = {{\"\": 18}}] {{\n{body}\n}}")
}

/// Why a body has no result.
fn why(body: &str, n: i64) -> String {
    stopped(&main(body), &[floats(&[2, 3], &[0.0; 6]), Tensor::from_i64(&[], &[n])])
}

#[test]
fn items_are_inserted_erased_and_read_by_their_positions() {
    let body =
        "%a = Neg(%x); %s = SequenceConstruct(%x, %a); %b = Abs(%a); %c = Add(%x, %b); %t = SequenceInsert(%s, %c, %n);
        %i = SequenceAt(%t, %n); %len = SequenceLength(%t); %r = ReduceSum(%i, keepdims = 0); (%r, %len)";
    for n in [0, 1, 2, -1, -2] {
        assert_eq!(on_six(body, n)[1], (vec![], vec![3.0]));
    }
    // The position of what is inserted is that before it: from the back, the items after it move on.
    assert_eq!(on_six(body, 0)[0].1, [42.0]);
    assert_eq!(on_six(body, 2)[0].1, [42.0]);
    assert_eq!(on_six(body, -1)[0].1, [42.0]);
    assert!(why(body, 3).contains("position 3 of "), "{}", why(body, 3));
    assert!(why(body, -4).contains("is not one of 3"), "{}", why(body, -4));
    let body = "%a = Neg(%x); %s = SequenceConstruct(%x, %a, %x); %t = SequenceErase(%s, %n); %u = SequenceErase(%t);
        %k = const(int64, -1); %i = SequenceAt(%u, %k); %len = SequenceLength(%u); (%i, %len)";
    assert_eq!(on_six(body, 0)[0].1, [-1.0, -2.0, -3.0, -4.0, -5.0, -6.0]);
    assert_eq!(on_six(body, 1), [(vec![2, 3], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), (vec![], vec![1.0])]);
    let empty = "%e = SequenceEmpty(); %t = SequenceErase(%e); %len = SequenceLength(%t); %len";
    assert!(why(empty, 0).contains("an empty sequence has no last item"));
    let none = "%e = SequenceEmpty(); %len = SequenceLength(%e); %s = SequenceInsert(%e, %x); %m = SequenceLength(%s); (%len, %m)";
    assert_eq!(on_six(none, 0), [(vec![], vec![0.0]), (vec![], vec![1.0])]);
}

#[test]
fn tensors_are_split_into_sequences_and_joined_again() {
    let at = "%i = SequenceAt(%s, %n); %len = SequenceLength(%s); (%i, %len)";
    let columns = format!("%s = SplitToSequence(%x, axis = -1); {at}");
    assert_eq!(on_six(&columns, 1), [(vec![2, 1], vec![2.0, 5.0]), (vec![], vec![3.0])]);
    let rows = format!("%s = SplitToSequence(%x, keepdims = 0); {at}");
    assert_eq!(on_six(&rows, -1), [(vec![3], vec![4.0, 5.0, 6.0]), (vec![], vec![2.0])]);
    // `keepdims` is for what has no sizes.
    let by_two = format!("%k = const(int64, 2); %s = SplitToSequence(%x, %k, axis = 1, keepdims = 0); {at}");
    assert_eq!(on_six(&by_two, 1), [(vec![2, 1], vec![3.0, 6.0]), (vec![], vec![2.0])]);
    let by_sizes = format!("%k = const(int64, [0, 2, 1]); %s = SplitToSequence(%x, %k, axis = 1); {at}");
    assert_eq!(on_six(&by_sizes, 0), [(vec![2, 0], vec![]), (vec![], vec![3.0])]);
    assert_eq!(on_six(&by_sizes, 1), [(vec![2, 2], vec![1.0, 2.0, 4.0, 5.0]), (vec![], vec![3.0])]);
    for sizes in ["[1, 1]", "[-1, 4]", "[4]", "0", "-1"] {
        let body = format!("%k = const(int64, {sizes}); %s = SplitToSequence(%x, %k, axis = 1); {at}");
        assert!(why(&body, 0).contains("do not fit"), "{sizes}: {}", why(&body, 0));
    }
    let join =
        |how: &str| format!("%a = Neg(%x); %s = SequenceConstruct(%x, %a); %y = ConcatFromSequence(%s, {how}); %y");
    let joined = [1.0, 2.0, 3.0, -1.0, -2.0, -3.0, 4.0, 5.0, 6.0, -4.0, -5.0, -6.0];
    assert_eq!(on_six(&join("axis = 1"), 0), [(vec![2, 6], joined.to_vec())]);
    assert_eq!(on_six(&join("axis = -2, new_axis = 1"), 0), [(vec![2, 2, 3], joined.to_vec())]);
    assert!(why(&join("axis = 2"), 0).contains("axis 2 is not one of 2"));
    let uneven = "%t = Transpose(%x); %s = SequenceConstruct(%x, %t); %y = ConcatFromSequence(%s, axis = 0); %y";
    assert!(why(uneven, 0).contains("joins values of other types"));
    let nothing = "%e = SequenceEmpty(); %y = ConcatFromSequence(%e, axis = 0); %y";
    assert!(why(nothing, 0).contains("axis 0 is not one of 0"), "{}", why(nothing, 0));
}

#[test]
fn optionals_have_an_element_or_none() {
    let body =
        "%o = Optional(%x); %h = OptionalHasElement(%o); %i = Cast(%h, to = 7); %e = OptionalGetElement(%o); (%i, %e)";
    assert_eq!(on_six(body, 0), [(vec![], vec![1.0]), (vec![2, 3], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0])]);
    let none = "%o = Optional(type = type(Tensor[*, float32])); %p = Identity(%o); %h = OptionalHasElement(%p); %i = Cast(%h, to = 7); %i";
    assert_eq!(on_six(none, 0), [(vec![], vec![0.0])]);
    let missing = "%o = Optional(type = type(Tensor[*, float32])); %e = OptionalGetElement(%o); %e";
    assert!(why(missing, 0).contains("has no element"), "{}", why(missing, 0));
    // From version 18 on, a value is its own element, and what is absent has none.
    let plain =
        "%s = SequenceConstruct(%x); %e = OptionalGetElement(%s); %len = SequenceLength(%e); %h = OptionalHasElement();
        %i = Cast(%h, to = 7); %g = OptionalHasElement(%x); %j = Cast(%g, to = 7); (%len, %i, %j)";
    assert_eq!(on_six(plain, 0), [(vec![], vec![1.0]), (vec![], vec![0.0]), (vec![], vec![1.0])]);
}

#[test]
fn functions_map_sequences_and_loops_carry_them() {
    let map = "%a = Neg(%x); %s = SequenceConstruct(%x, %a); %k = ReduceSum(%x, keepdims = 0);
        (%t, %u) = SequenceMap(%s, %k, body = fn(%i: Tensor[(2, 3), float32], %c: Tensor[(), float32]) {
          %p = Add(%i, %c); %q = ReduceMax(%i, keepdims = 0); (%p, %q) });
        %y = SequenceAt(%t, %n); %z = ConcatFromSequence(%u, axis = 0, new_axis = 1); (%y, %z)";
    let second = vec![20.0, 19.0, 18.0, 17.0, 16.0, 15.0];
    assert_eq!(on_six(map, 1), [(vec![2, 3], second), (vec![2], vec![6.0, -1.0])]);
    let uneven = "%s = SequenceConstruct(%x, %x); %e = SequenceConstruct(%x);
        %t = SequenceMap(%s, %e, body = fn(%i: Tensor[(2, 3), float32], %j: Tensor[(2, 3), float32]) { %p = Add(%i, %j); %p });
        %y = SequenceAt(%t, %n); %y";
    assert!(why(uneven, 0).contains("have other lengths"), "{}", why(uneven, 0));
    let carried = "%e = SequenceEmpty(); %five = const(int64, 5);
        %s = Loop(%five, _, %e, body = fn(%i: Tensor[(), int64], %go: Tensor[(), bool], %c: Seq[Tensor[*, int64]]) {
          %d = SequenceInsert(%c, %i, %i); (%go, %d) });
        %y = ConcatFromSequence(%s, axis = 0, new_axis = 1); %y";
    assert_eq!(on_six(carried, 0), [(vec![5], vec![0.0, 1.0, 2.0, 3.0, 4.0])]);
}

#[test]
fn what_takes_too_much_is_not_computed() {
    let huge = "%h = splat(float32, (1099511627776), 1.0); %s = SequenceConstruct(%h, %h); %y = ConcatFromSequence(%s, axis = 0); %y";
    assert!(why(huge, 0).contains("too large a value"), "{}", why(huge, 0));
    let parts = |sizes: &str| {
        let body = format!(
            "%h = splat(float32, (1099511627776), 1.0); {sizes} %s = SplitToSequence(%h{}); %l = SequenceLength(%s); %l",
            if sizes.is_empty() { "" } else { ", %k" }
        );
        why(&body, 0)
    };
    assert!(parts("").contains("too many steps"), "{}", parts(""));
    assert!(parts("%k = const(int64, 1);").contains("too many parts"), "{}", parts("%k = const(int64, 1);"));
}

use super::*;
use proptest::prelude::*;
use relais_ir::{prim::DOMAIN, text};

/// The loop program of that text, its accesses, and the variables of its outermost loops.
fn read(text: &str) -> (RArc<Function>, Accesses, Vec<NodeId>) {
    let module = text::parse_str(text).unwrap();
    assert_eq!(verify(&module), [], "{text}");
    let f = module.body("k").unwrap().clone();
    let ops = LoopOps::new(&f);
    let loops = f.bindings(f.body()).iter().filter(|&&id| ops.of(&f, id) == Some(CoreOp::For));
    let variables = loops.map(|&id| f.operands(f.regions(id)[0])[0]).collect();
    let accesses = Accesses::new(&f, &ops);
    (f, accesses, variables)
}

/// How the first access in a loop of two meets the second one, as turns of the outer loop.
fn in_one_loop(first: &str, second: &str) -> Dependence {
    let text = format!(
        "prim @k() -> (%x: Tensor[(6, 4), float32]) {{ for %i in 0..4 {{ for %j in 0..6 {{ {first} {second} }} }} }}"
    );
    let (_, accesses, variables) = read(&text);
    let [first, second] = accesses.all() else { panic!("{text}") };
    accesses.meets(first, second, variables[0])
}

#[test]
fn one_index_is_enough_to_keep_turns_apart() {
    let same = Dependence::Within { min: 0, max: 0 };
    assert_eq!(in_one_loop("%x[%j, %i] = 1.0;", "%x[5 - %j, %i] = 2.0;"), same);
    assert_eq!(in_one_loop("%x[%j, %i] = 1.0;", "%x[%j, %i + 1] = 2.0;"), Dependence::Within { min: 1, max: 1 });
    assert_eq!(in_one_loop("%x[%i, 0] = 1.0;", "%x[%j, 1] = 2.0;"), Dependence::Never);
    let vector = "store(%x, broadcast(2.0, lanes = 2), %j, %i);";
    assert_eq!(in_one_loop("%x[%j, %i] = 1.0;", vector), Dependence::Within { min: 0, max: 1 });
    let gathered = "scatter(%x, broadcast(2.0, lanes = 2), %i, ramp(0, 2, lanes = 2));";
    assert_eq!(in_one_loop("%x[%i, %j] = 1.0;", gathered), same);
    // Neither index tells the turns apart.
    assert_eq!(in_one_loop("%x[%j, %i] = 1.0;", "%x[%i, %j] = 2.0;"), Dependence::Unknown);
    assert_eq!(in_one_loop("%x[%j, 3] = 1.0;", "%x[%j, %i] = 2.0;"), Dependence::Unknown);
}

/// How the first access of `%x` meets the last one, as turns of the outermost loops.
fn meeting(text: &str) -> Dependence {
    let (f, accesses, variables) = read(text);
    let x = f.params()[0];
    let of_x: Vec<&Access> = accesses.all().iter().filter(|access| access.root == x).collect();
    let (&first, &last) = (of_x.first().unwrap(), of_x.last().unwrap());
    let (v, w) = (*variables.first().unwrap(), *variables.last().unwrap());
    accesses.slice(first, v, 1).unwrap().meets(&accesses.slice(last, w, 1).unwrap())
}

fn two(first: &str, second: &str) -> Dependence {
    meeting(&format!(
        "prim @k() -> (%x: Tensor[(4, 6), float32]) {{ %f = view(%x, shape = [24]); %g = view(%x, shape = [2, 2, 6]);
           for %i in 0..4 {{ for %j in 0..6 {{ {first} }} }} for %k in 0..4 {{ for %l in 0..6 {{ {second} }} }} }}"
    ))
}

#[test]
fn turns_that_touch_the_same_elements_are_found() {
    let same = Dependence::Within { min: 0, max: 0 };
    assert_eq!(two("%x[%i, %j] = 1.0;", "%x[%k, %l] = 2.0;"), same);
    assert_eq!(two("%x[%i, %j] = 1.0;", "%f[%k * 6 + %l] = 2.0;"), same);
    assert_eq!(two("%x[%i, %j] = 1.0;", "%x[%k, 5 - %l] = 2.0;"), same);
    // Whatever is added within the last axis, it stays there.
    assert_eq!(two("%x[%i, %j] = 1.0;", "%x[%k, %l * 3 - 7] = 2.0;"), same);
    assert_eq!(two("%x[%i, %j] = 1.0;", "%f[%k * 6 + %l + 1] = 2.0;"), Dependence::Within { min: 0, max: 1 });
    assert_eq!(two("%x[%i, %j] = 1.0;", "%x[%k + 1, %l] = 2.0;"), Dependence::Within { min: 1, max: 1 });
    assert_eq!(two("%x[%i, %j] = 1.0;", "%x[%k - 2, %l] = 2.0;"), Dependence::Within { min: -2, max: -2 });
    assert_eq!(two("%x[%i, 0] = 1.0;", "%x[%k, 3] = 2.0;"), Dependence::Never);
    assert_eq!(two("%f[%i * 2] = 1.0;", "%f[%k * 2 + 1] = 2.0;"), Dependence::Never);
    assert_eq!(two("%x[0, %j] = 1.0;", "%x[1, %l] = 2.0;"), Dependence::Never);
}

#[test]
fn what_is_not_a_sum_of_the_variable_may_meet_in_any_turn() {
    assert_eq!(two("%x[%i, %j] = 1.0;", "%x[3 - %k, %l] = 2.0;"), Dependence::Unknown);
    assert_eq!(two("%x[%i, %j] = 1.0;", "%x[0, %l] = 2.0;"), Dependence::Unknown);
    assert_eq!(two("%f[%j * 4 + %i] = 1.0;", "%f[%k * 6 + %l] = 2.0;"), Dependence::Unknown);
    assert_eq!(two("%x[%i, %j] = 1.0;", "%g[floordiv(%k, 2), floormod(%k, 2), %l] = 2.0;"), Dependence::Unknown);
}

#[test]
fn values_from_outside_are_the_same_in_all_turns() {
    let text = |second: &str| {
        format!(
            "prim @k(%x: Tensor[(9, 9), float32], %n: Tensor[(2), int64]) -> (%y: Tensor[(9, 9), float32]) {{
               %a = floormod(%n[0], 4); %b = floormod(%n[1], 4);
               for %i in 0..4 {{ %y[%a, %i] = %x[%a, %i]; }} for %k in 0..4 {{ %y[%a, %k] = {second}; }} }}"
        )
    };
    assert_eq!(meeting(&text("%x[%a, %k]")), Dependence::Within { min: 0, max: 0 });
    assert_eq!(meeting(&text("%x[%a + 1, %k]")), Dependence::Within { min: 9, max: 9 });
    assert_eq!(meeting(&text("%x[%b, %k]")), Dependence::Unknown);
}

#[test]
fn loops_taken_in_steps_are_compared_by_them() {
    let (_, accesses, variables) = read(
        "prim @k(%x: Tensor[(4, 6), float32]) -> (%y: Tensor[(24), float32]) { %f = view(%x, shape = [24]);
           for %i in 0..24 { %y[%i] = %f[%i]; } for %k in 0..4 { for %l in 0..6 { %y[%k] = %x[%k, %l]; } } }",
    );
    let slice = |at: usize, variable, by| accesses.slice(&accesses.all()[at], variable, by).unwrap();
    let flat = slice(0, variables[0], 6);
    assert_eq!((flat.stride, flat.first, flat.last), (6, 0, 5));
    assert_eq!(flat.meets(&slice(2, variables[1], 1)), Dependence::Within { min: 0, max: 0 });
    assert_eq!(flat.meets(&slice(3, variables[1], 1)), Dependence::Unknown);
}

/// Whether all loads of `%x` come before the stores to `%y`, if the two are one.
fn is_read_first(statements: &str) -> bool {
    let (f, accesses, _) = read(&format!(
        "prim @k(%x: Tensor[(4, 6), float32]) -> (%y: Tensor[(24), float32], %z: Tensor[(24), float32]) {{
           %v = view(%x, shape = [24]); %w = view(%y, shape = [4, 6]); {statements} }}"
    ));
    let ops = LoopOps::new(&f);
    let of = |memory: NodeId| accesses.all().iter().filter(move |access| access.root == memory);
    let (x, y) = (f.params()[0], f.params()[1]);
    of(x).all(|load| of(y).all(|store| accesses.is_read_first(&f, &ops, f.body(), load, store)))
}

#[test]
fn memory_is_read_before_it_is_written() {
    for statements in [
        "for %i in 0..4 { for %j in 0..6 { %y[%i * 6 + %j] = %x[%i, %j]; } }",
        "for %n in 0..24 { %y[%n] = %v[%n] + %v[%n]; }",
        "for %n in 0..23 { %y[%n] = %v[%n] + %v[%n + 1]; }",
        // Each row is read before it is written.
        "for %i in 0..4 { %s = for %j in 0..6 with %t = 0.0 { %t + %x[%i, %j] }; for %j in 0..6 { %w[%i, %j] = %s; } }",
        "for %n in 0..24 { %z[%n] = %v[23 - %n]; } for %n in 0..24 { %y[%n] = %z[%n]; }",
        "for %n in 0..24 parallel { %y[%n] = %v[%n]; }",
        "for %n in 0..24 { %c = %n < 5; when (%c) { %y[%n] = 1.0; } else { %y[%n] = %v[%n]; } }",
        "%y[3] = %v[3];",
    ] {
        assert!(is_read_first(statements), "{statements}");
    }
    for statements in [
        "for %n in 0..24 { %y[%n] = %v[23 - %n]; }",
        "for %n in 1 count 23 { %y[%n] = %v[%n - 1]; }",
        "for %n in 0..24 { %y[%n] = 0.0; } for %n in 0..24 { %y[%n] = %y[%n] + %v[%n]; }",
        "for %i in 0..4 { for %j in 0..6 { %w[%i, %j] = 0.0; } for %j in 0..6 { %w[%i, %j] = %x[%i, %j]; } }",
        // Its turns are in any order.
        "for %n in 0..23 parallel { %y[%n] = %v[%n + 1]; }",
        "for %n in 0..24 { %y[%n] = 1.0; %z[%n] = %v[%n]; }",
        "for %i in 0..6 { for %j in 0..4 { %y[%i * 4 + %j] = %x[%j, %i]; } }",
        "for %i in 0..4 { for %j in 0..6 { %y[%j * 4 + %i] = %x[%i, %j]; } }",
        "%n = while with %c = 0 { %c < 24 } do { %y[%c] = %v[%c]; %c + 1 };",
    ] {
        assert!(!is_read_first(statements), "{statements}");
    }
}

#[test]
fn what_is_proven_to_be_inside() {
    let (_, accesses, _) = read(
        "prim @k(%x: Tensor[(8), float32], %n: Tensor[(8), int64]) -> (%y: Tensor[(8), float32]) {
           for %i in 0..8 { %a = %n[%i]; %b = %n[%i + 1];
             when (%i < 7) { %y[%i + 1] = %x[%a]; } } }",
    );
    let inside: Vec<bool> = accesses.all().iter().map(Access::is_inside).collect();
    assert_eq!(inside, [true, false, false, true]);
}

#[test]
fn memory_whose_size_is_not_known_has_no_slices() {
    let (_, accesses, variables) = read(
        "prim @k(%x: Tensor[(N, 8), float32]) -> (%y: Tensor[(8), float32]) { for %i in 0..8 { %y[%i] = %x[0, %i]; } }",
    );
    let of = |at: usize| &accesses.all()[at];
    assert_eq!((accesses.slice(of(0), variables[0], 1), of(0).is_inside()), (None, false));
    assert!(accesses.slice(of(1), variables[0], 1).is_some() && of(1).is_inside());
}

#[test]
fn vectors_touch_all_their_lanes() {
    let text = format!(
        "prim @k(%x: Tensor[(32), float32]) -> (%y: Tensor[(32), float32]) #[opset = {{\"{DOMAIN}\": 1}}] {{
           for %i in 0..4 {{ %a = load(%x, %i * 8, lanes = 8); store(%y, %a, %i * 8); %b = load(%x, %i * 8 + 7, lanes = 4); }} }}"
    );
    let (_, accesses, variables) = read(&text);
    let slices: Vec<Slice> =
        accesses.all().iter().map(|access| accesses.slice(access, variables[0], 1).unwrap()).collect();
    assert_eq!((slices[0].first, slices[0].last, slices[2].last), (0, 7, 10));
    assert_eq!(slices[0].meets(&slices[2]), Dependence::Within { min: 0, max: 1 });
    let inside: Vec<bool> = accesses.all().iter().map(Access::is_inside).collect();
    assert_eq!(inside, [true, true, false]);
}

/// An index: factors of the two variables, and a number.
type Index = (i64, i64, i64);

fn index() -> impl Strategy<Value = Index> {
    (-3..=6_i64, -3..=6_i64, -4..=8_i64)
}

fn at((a, b, c): Index, i: i64, j: i64) -> i64 {
    a * i + b * j + c
}

proptest! {
    /// All pairs of elements that two accesses touch, by trying all turns.
    #[test]
    fn no_meeting_is_missed(
        indices in proptest::array::uniform4(index()),
        flat in proptest::array::uniform2(any::<bool>()),
        by in 1..=3_i64,
    ) {
        let [p, q, r, s] = indices;
        let expr = |(a, b, c): Index, i: &str, j: &str| format!("{i} * {a} + {j} * {b} + {c}");
        let place = |is_flat: bool, p: Index, q: Index, i: &str, j: &str| match is_flat {
            true => format!("%f[{}]", expr(p, i, j)),
            false => format!("%x[{}, {}]", expr(p, i, j), expr(q, i, j)),
        };
        let (first, second) = (place(flat[0], p, q, "%i", "%j"), place(flat[1], r, s, "%k", "%l"));
        let text = format!(
            "prim @k() -> (%x: Tensor[(4, 6), float32]) {{ %f = view(%x, shape = [24]);
               for %i in 0..{} {{ for %j in 0..4 {{ {first} = 1.0; }} }} for %k in 0..3 {{ for %l in 0..4 {{ {second} = 2.0; }} }} }}",
            3 * by
        );
        let (_, accesses, variables) = read(&text);
        let dependence = match (
            accesses.slice(&accesses.all()[0], variables[0], by),
            accesses.slice(&accesses.all()[1], variables[1], 1),
        ) {
            (Some(a), Some(b)) => a.meets(&b),
            _ => Dependence::Unknown,
        };
        // The same where both are in one loop.
        let in_one_loop = format!(
            "prim @k() -> (%x: Tensor[(4, 6), float32]) {{ %f = view(%x, shape = [24]);
               for %i in 0..3 {{ for %j in 0..4 {{ {first} = 1.0; }} for %l in 0..4 {{ {} = 2.0; }} }} }}",
            place(flat[1], r, s, "%i", "%l")
        );
        let (_, accesses_in_one, variables) = read(&in_one_loop);
        let all = accesses_in_one.all();
        let nearer = accesses_in_one.meets(&all[0], &all[1], variables[0]);
        let element = |is_flat: bool, p: Index, q: Index, i: i64, j: i64| {
            let (row, column) = (at(p, i, j), at(q, i, j));
            match is_flat {
                true => (0..24).contains(&row).then_some(row),
                false => ((0..4).contains(&row) && (0..6).contains(&column)).then_some(row * 6 + column),
            }
        };
        let turns = |n: i64| (0..n).flat_map(|i| (0..4).map(move |j| (i, j)));
        let mut is_inside = [true; 2];
        for (i, j) in turns(3 * by) {
            let one = element(flat[0], p, q, i, j);
            is_inside[0] &= one.is_some();
            for (k, l) in turns(3) {
                let other = element(flat[1], r, s, k, l);
                is_inside[1] &= other.is_some();
                if one.is_none() || one != other {
                    continue;
                }
                let distance = i.div_euclid(by) - k;
                for dependence in [Some(dependence), Some(nearer).filter(|_| by == 1)].into_iter().flatten() {
                    let is_found = match dependence {
                        Dependence::Never => false,
                        Dependence::Within { min, max } => (min..=max).contains(&distance),
                        Dependence::Unknown => true,
                    };
                    prop_assert!(is_found, "{dependence:?} misses {distance} in {text}");
                }
            }
        }
        for (access, is_inside) in accesses.all().iter().zip(is_inside) {
            prop_assert!(!access.is_inside() || is_inside, "{text}");
        }
    }
}

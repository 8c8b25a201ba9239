use super::*;

const INTEGERS: [ElemType; 8] = [
    ElemType::INT8,
    ElemType::INT16,
    ElemType::INT32,
    ElemType::INT64,
    ElemType::UINT8,
    ElemType::UINT16,
    ElemType::UINT32,
    ElemType::UINT64,
];
const FLOATS: [ElemType; 4] = [ElemType::FLOAT, ElemType::DOUBLE, ElemType::FLOAT16, ElemType::BFLOAT16];

/// A number of an integer type, wrapped.
fn wrapped(elem: ElemType, value: i128) -> Imm {
    Imm::int(elem, value as i64).unwrap()
}

/// The value of an integer.
fn value(imm: Imm) -> i128 {
    imm.as_int().map_or(imm.bits().into(), i128::from)
}

fn float(elem: ElemType, value: f64) -> Imm {
    Imm::float(elem, value).unwrap()
}

fn cast(from: Imm, elem: ElemType) -> Result<Imm, NoValue> {
    fold(CoreOp::Cast, &[from], elem)
}

/// The result of an operator for integers, with 128 bits of room.
fn expected(op: CoreOp, elem: ElemType, a: i128, b: i128) -> Result<Imm, NoValue> {
    use CoreOp::*;
    let truth = |holds: bool| Ok(Imm::bool(holds));
    let places = b.rem_euclid(elem.bits().into());
    let division = matches!(op, Div | Mod | FloorDiv | FloorMod);
    if division && b == 0 {
        return Err(NoValue::DivisionByZero);
    }
    // The remainder has the sign of the divisor.
    let floor_mod = || (a % b + b) % b;
    Ok(wrapped(
        elem,
        match op {
            Add => a + b,
            Sub => a - b,
            Mul => a.wrapping_mul(b),
            Div => a / b,
            Mod => a % b,
            FloorDiv => (a - floor_mod()) / b,
            FloorMod => floor_mod(),
            Min => a.min(b),
            Max => a.max(b),
            Shl => a << places,
            Shr => a >> places,
            And => a & b,
            Or => a | b,
            Xor => a ^ b,
            Eq => return truth(a == b),
            Ne => return truth(a != b),
            Lt => return truth(a < b),
            Le => return truth(a <= b),
            Gt => return truth(a > b),
            Ge => return truth(a >= b),
            Neg => -a,
            Abs => a.abs(),
            Not => !a,
            _ => panic!("{op:?} is not for integers"),
        },
    ))
}

/// All operators that take integers alone, by their number of operands.
fn integer_ops(n_operands: usize) -> Vec<CoreOp> {
    let takes = |op: &&CoreOp| match op.info().class {
        Class::Arithmetic | Class::Integer | Class::Logic | Class::Comparison | Class::Sign => true,
        _ => **op == CoreOp::Not,
    };
    CoreOp::ALL.iter().filter(takes).filter(|op| op.info().arity.0 == n_operands).copied().collect()
}

fn check(elem: ElemType, values: &[Imm]) {
    for op in integer_ops(1) {
        for &a in values {
            assert_eq!(fold(op, &[a], elem), expected(op, elem, value(a), 0), "{op:?} {a:?}");
        }
    }
    for op in integer_ops(2) {
        for &a in values {
            for &b in values {
                assert_eq!(fold(op, &[a, b], elem), expected(op, elem, value(a), value(b)), "{op:?} {a:?} {b:?}");
            }
        }
    }
}

#[test]
fn small_integers_are_computed_like_large_ones() {
    assert_eq!((integer_ops(1).len(), integer_ops(2).len()), (3, 20));
    for elem in [ElemType::INT8, ElemType::UINT8] {
        let all: Vec<Imm> = (0..256).map(|bits| Imm::new(elem, bits).unwrap()).collect();
        check(elem, &all);
    }
}

#[test]
fn integers_wrap_at_their_edges() {
    for elem in INTEGERS {
        let top = 1_i128 << (elem.bits() - 1);
        let near = |of: i128| (-2..=2).map(move |step| of + step);
        let values = near(0).chain(near(top)).chain(near(2 * top)).chain([7, 31, 63, 64, 100]);
        let values: Vec<Imm> = values.map(|value| wrapped(elem, value)).collect();
        check(elem, &values);
    }
    let least = Imm::index(i64::MIN);
    assert_eq!(fold(CoreOp::Div, &[least, Imm::index(-1)], ElemType::INT64), Ok(least));
    assert_eq!(fold(CoreOp::FloorMod, &[least, Imm::index(-1)], ElemType::INT64), Ok(Imm::index(0)));
}

#[test]
fn truth_values_are_combined() {
    for (a, b) in [(false, false), (false, true), (true, false), (true, true)] {
        let of = |op| fold(op, &[Imm::bool(a), Imm::bool(b)], ElemType::BOOL).map(|imm| imm.as_bool().unwrap());
        use CoreOp::*;
        assert_eq!([And, Or, Xor, Ne].map(of), [a && b, a || b, a != b, a != b].map(Ok));
        assert_eq!(of(Lt), Ok(!a && b));
        assert_eq!(of(Add), Err(NoValue::Mistyped));
        assert_eq!(fold(Not, &[Imm::bool(a)], ElemType::BOOL), Ok(Imm::bool(!a)));
    }
}

#[test]
fn what_is_not_of_one_type_has_no_value() {
    let (one, half) = (Imm::index(1), float(ElemType::FLOAT, 0.5));
    let of = |op, args: &[Imm]| fold(op, args, ElemType::FLOAT);
    assert_eq!(of(CoreOp::Add, &[one, half]), Err(NoValue::Mistyped));
    assert_eq!(of(CoreOp::Add, &[half]), Err(NoValue::Mistyped));
    assert_eq!(of(CoreOp::Sqrt, &[one]), Err(NoValue::Mistyped));
    assert_eq!(of(CoreOp::FloorDiv, &[half, half]), Err(NoValue::Mistyped));
    assert_eq!(of(CoreOp::Load, &[]), Err(NoValue::Mistyped));
    assert_eq!(of(CoreOp::Select, &[one, half, half]), Err(NoValue::Mistyped));
    assert_eq!(of(CoreOp::Select, &[Imm::bool(false), one, half]), Err(NoValue::Mistyped));
    assert_eq!(of(CoreOp::Select, &[Imm::bool(false), half, half]), Ok(half));
    assert_eq!(cast(one, ElemType::STRING), Err(NoValue::Mistyped));
    assert_eq!(fold(CoreOp::Bitcast, &[half], ElemType::INT32), Ok(wrapped(ElemType::INT32, 0x3f00_0000)));
    assert_eq!(fold(CoreOp::Bitcast, &[half], ElemType::INT64), Err(NoValue::Mistyped));
    assert_eq!(fold(CoreOp::Bitcast, &[Imm::bool(true)], ElemType::INT8), Err(NoValue::Mistyped));
}

#[test]
fn the_smaller_and_the_larger_of_floats_follow_onnx() {
    use CoreOp::{Max, Min};
    for elem in FLOATS {
        let of = |op, a: f64, b: f64| {
            fold(op, &[float(elem, a), float(elem, b)], elem).unwrap().as_float().unwrap().to_bits()
        };
        for (a, b) in [(0.0, -0.0), (-0.0, 0.0)] {
            assert_eq!((of(Min, a, b), of(Max, a, b)), ((-0.0_f64).to_bits(), 0), "{elem}");
        }
        assert_eq!((of(Min, 1.0, -2.0), of(Max, 1.0, -2.0)), ((-2.0_f64).to_bits(), 1.0_f64.to_bits()));
        for (a, b) in [(f64::NAN, 1.0), (1.0, f64::NAN), (f64::NAN, f64::NAN)] {
            assert!([Min, Max].iter().all(|&op| f64::from_bits(of(op, a, b)).is_nan()), "{elem}");
        }
    }
}

#[test]
fn floats_are_compared_as_in_ieee_754() {
    use CoreOp::*;
    for elem in FLOATS {
        let of = |op, a: f64, b: f64| fold(op, &[float(elem, a), float(elem, b)], elem).unwrap().as_bool().unwrap();
        for op in [Eq, Lt, Le, Gt, Ge] {
            assert!(!of(op, f64::NAN, f64::NAN) && !of(op, f64::NAN, 1.0), "{op:?} {elem}");
        }
        assert!(of(Ne, f64::NAN, f64::NAN) && of(Eq, 0.0, -0.0) && !of(Lt, -0.0, 0.0));
        assert!(of(Lt, -1.0, 0.5) && of(Gt, 1.0, 0.5) && of(Le, 0.5, 0.5) && of(Ge, 0.5, 0.5));
        let test = |op, a: f64| fold(op, &[float(elem, a)], elem).unwrap().as_bool().unwrap();
        assert!(test(IsNan, f64::NAN) && !test(IsNan, f64::INFINITY));
        assert!(test(IsInf, f64::NEG_INFINITY) && !test(IsInf, f64::NAN) && !test(IsInf, 1.0));
    }
}

/// Numbers of a type: edges, and some that look random.
fn some_floats(elem: ElemType) -> Vec<Imm> {
    let width = elem.bits();
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Imm::new(elem, (state >> 7) & (u64::MAX >> (64 - width))).unwrap()
    };
    let mut numbers: Vec<Imm> = (0..200).map(|_| next()).collect();
    numbers.extend([0.0, -0.0, 1.0, -1.0, 0.5, f64::INFINITY, f64::NAN].map(|value| float(elem, value)));
    numbers.extend([1, 2, 3].map(|bits| Imm::new(elem, bits).unwrap()));
    numbers
}

fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
}

#[test]
fn floats_are_rounded_once() {
    use CoreOp::*;
    for elem in FLOATS {
        let numbers = some_floats(elem);
        for &a in &numbers {
            for &b in &numbers {
                let (x, y) = (a.as_float().unwrap(), b.as_float().unwrap());
                let of = |op| fold(op, &[a, b], elem).unwrap().as_float().unwrap();
                // The same in 32 bits is right for 32 bits, and 64 bits are more than enough for 16.
                let wanted = match elem {
                    ElemType::FLOAT => {
                        let (x, y) = (x as f32, y as f32);
                        [x + y, x - y, x * y, x / y, x % y].map(f64::from)
                    }
                    _ => [x + y, x - y, x * y, x / y, x % y].map(|z| float(elem, z).as_float().unwrap()),
                };
                let found = [Add, Sub, Mul, Div, Mod].map(of);
                for (wanted, found) in wanted.into_iter().zip(found) {
                    assert!(same(wanted, found), "{a:?} {b:?}: {found} for {wanted}");
                }
            }
            let root = fold(Sqrt, &[a], elem).unwrap().as_float().unwrap();
            assert!(same(root, float(elem, a.as_float().unwrap().sqrt()).as_float().unwrap()), "{a:?}");
        }
    }
}

#[test]
fn the_products_of_16_bits_are_the_nearest() {
    // The products of all fractions, exactly.
    for (elem, fraction) in [(ElemType::FLOAT16, 10), (ElemType::BFLOAT16, 7)] {
        let one = float(elem, 1.0).bits();
        for a in (0..1 << fraction).step_by(3) {
            for b in 0..1 << fraction {
                let imm = |bits: u64| Imm::new(elem, one + bits).unwrap();
                let found = fold(CoreOp::Mul, &[imm(a), imm(b)], elem).unwrap().bits() - one;
                let whole = 1_u64 << fraction;
                let exact = (whole + a) * (whole + b);
                let places = if exact >> (2 * fraction + 1) == 0 { fraction } else { fraction + 1 };
                let (kept, cut, half) = (exact >> places, exact & ((1 << places) - 1), 1 << (places - 1));
                let up = cut > half || cut == half && kept % 2 == 1;
                let nearest = kept + u64::from(up) - whole + whole * u64::from(places > fraction);
                assert_eq!(found, nearest, "{a} {b}");
            }
        }
    }
}

#[test]
fn signs_change_without_computing() {
    use CoreOp::{Abs, Neg};
    for elem in FLOATS {
        for a in some_floats(elem) {
            let sign = 1 << (elem.bits() - 1);
            assert_eq!(fold(Neg, &[a], elem).unwrap().bits(), a.bits() ^ sign);
            assert_eq!(fold(Abs, &[a], elem).unwrap().bits(), a.bits() & !sign);
        }
    }
}

#[test]
fn a_fused_product_is_rounded_once() {
    let of = |elem, [a, b, c]: [f64; 3]| {
        fold(CoreOp::Fma, &[float(elem, a), float(elem, b), float(elem, c)], elem).unwrap().as_float().unwrap()
    };
    let tiny = 2.0_f64.powi(-100);
    // The product lies in the middle between two numbers; the term decides.
    let (x, y) = (1.0 + 1.0 / 16.0, 1.0 + 1.0 / 16.0);
    assert_eq!(x * y, 1.12890625);
    for (term, wanted) in [(tiny, 1.1328125), (-tiny, 1.125), (0.0, 1.125)] {
        assert_eq!(of(ElemType::BFLOAT16, [x, y, term]), wanted, "{term:e}");
        assert_eq!(of(ElemType::BFLOAT16, [-x, y, -term]), -wanted, "{term:e}");
    }
    let (x, y) = (f64::from(1.0_f32 + f32::EPSILON), f64::from(1.0_f32 - f32::EPSILON));
    assert_eq!(of(ElemType::FLOAT, [x, y, -1.0]), -f64::from(f32::EPSILON) * f64::from(f32::EPSILON));
    for elem in FLOATS {
        assert_eq!(of(elem, [3.0, 4.0, 5.0]), 17.0);
        assert_eq!(of(elem, [f64::INFINITY, 1.0, 5.0]), f64::INFINITY);
        assert!(of(elem, [f64::INFINITY, 0.0, 5.0]).is_nan());
    }
}

#[test]
fn integers_become_the_nearest_floats() {
    // 2^60 + 2^52 is a middle between numbers of 8 bits, 2^24 + 1 one of 24; one more is above it.
    let of = |value: i64, elem| cast(Imm::index(value), elem).unwrap().as_float().unwrap();
    let (power, half) = (1_i64 << 60, 1_i64 << 52);
    assert_eq!(of(power + half, ElemType::BFLOAT16), power as f64);
    assert_eq!(of(power + half + 1, ElemType::BFLOAT16), (power + 2 * half) as f64);
    assert_eq!(of(-power - half - 1, ElemType::BFLOAT16), -((power + 2 * half) as f64));
    // By way of 64-bit floats it would be the middle, and then the smaller one.
    let (power, half) = (1_i64 << 60, 1_i64 << 36);
    assert_eq!(of(power + half + 1, ElemType::FLOAT), (power + 2 * half) as f64);
    assert_eq!(of(power + half, ElemType::FLOAT), power as f64);
    let largest = Imm::new(ElemType::UINT64, u64::MAX).unwrap();
    for elem in [ElemType::FLOAT, ElemType::DOUBLE, ElemType::BFLOAT16] {
        assert_eq!(cast(largest, elem).unwrap().as_float(), Some(2.0_f64.powi(64)), "{elem}");
    }
    assert_eq!(cast(largest, ElemType::FLOAT16).unwrap().as_float(), Some(f64::INFINITY));
    for elem in FLOATS {
        assert_eq!((of(-7, elem), of(0, elem).to_bits()), (-7.0, 0));
        assert_eq!(cast(Imm::bool(true), elem), Ok(float(elem, 1.0)));
    }
}

#[test]
fn floats_become_integers_where_these_have_them() {
    for from in [ElemType::DOUBLE, ElemType::FLOAT] {
        for elem in INTEGERS {
            let is_signed = elem.is_signed();
            let above = 2.0_f64.powi(elem.bits() as i32 - i32::from(is_signed));
            let below = if is_signed { -above } else { 0.0 };
            let of = |value: f64| cast(float(from, value), elem);
            for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, above, below - 1.0 - below.abs() * 1e-6] {
                assert_eq!(of(value), Err(NoValue::Undefined), "{value} to {elem}");
            }
            assert_eq!(of(below), Ok(wrapped(elem, below as i128)), "{elem}");
            // The largest number below the bound.
            let step =
                f64::from(if from == ElemType::FLOAT { f32::EPSILON / 2.0 } else { 0.0 }).max(f64::EPSILON / 2.0);
            let last = (above - above * step).trunc();
            let held = if last < above { Ok(wrapped(elem, last as i128)) } else { Err(NoValue::Undefined) };
            assert_eq!(of(last), held, "{last} to {elem}");
            for (value, wanted) in [(2.9, 2), (-0.9, 0), (-0.0, 0), (0.5, 0)] {
                assert_eq!(of(value), Ok(wrapped(elem, wanted)), "{value} to {elem}");
            }
            assert_eq!(of(-1.5), if is_signed { Ok(wrapped(elem, -1)) } else { Err(NoValue::Undefined) });
        }
    }
}

#[test]
fn other_casts_wrap_round_or_test() {
    assert_eq!(cast(Imm::index(-1), ElemType::UINT32), Ok(wrapped(ElemType::UINT32, 0xffff_ffff)));
    assert_eq!(cast(wrapped(ElemType::INT8, -1), ElemType::UINT64), Ok(wrapped(ElemType::UINT64, -1)));
    assert_eq!(cast(wrapped(ElemType::UINT8, 255), ElemType::INT64), Ok(Imm::index(255)));
    assert_eq!(cast(Imm::index(300), ElemType::UINT8), Ok(wrapped(ElemType::UINT8, 44)));
    for (value, holds) in [(0.0, false), (-0.0, false), (0.25, true), (f64::NAN, true)] {
        for elem in FLOATS {
            assert_eq!(cast(float(elem, value), ElemType::BOOL), Ok(Imm::bool(holds)));
        }
    }
    assert_eq!(cast(Imm::index(256), ElemType::BOOL), Ok(Imm::bool(true)));
    assert_eq!(cast(Imm::bool(true), ElemType::INT16), Ok(wrapped(ElemType::INT16, 1)));
    assert_eq!(cast(float(ElemType::DOUBLE, 1.0 / 3.0), ElemType::FLOAT), Ok(float(ElemType::FLOAT, 1.0 / 3.0)));
    for from in FLOATS {
        for elem in FLOATS {
            for value in [0.0, -0.0, 1.5, f64::INFINITY] {
                assert_eq!(cast(float(from, value), elem), Ok(float(elem, value)));
            }
        }
    }
}

#[test]
fn functions_are_those_of_the_standard_library() {
    use CoreOp::*;
    let single = |op, a: f32| fold(op, &[float(ElemType::FLOAT, a.into())], ElemType::FLOAT).unwrap().bits() as u32;
    let double = |op, a: f64| fold(op, &[float(ElemType::DOUBLE, a)], ElemType::DOUBLE).unwrap().bits();
    for a in [0.25_f32, 0.75, 2.5, -2.5, -0.0] {
        assert_eq!(single(Exp, a), a.exp().to_bits());
        assert_eq!(single(Tanh, a), a.tanh().to_bits());
        assert_eq!(single(Floor, a), a.floor().to_bits());
        assert_eq!(single(Round, a), a.round_ties_even().to_bits());
        assert_eq!(double(Sin, a.into()), f64::from(a).sin().to_bits());
        let half = fold(Exp, &[float(ElemType::FLOAT16, a.into())], ElemType::FLOAT16).unwrap();
        assert_eq!(half, float(ElemType::FLOAT16, a.exp().into()));
        let pow = fold(Pow, &[float(ElemType::FLOAT, a.into()), float(ElemType::FLOAT, 2.0)], ElemType::FLOAT);
        assert_eq!(pow.unwrap().bits() as u32, a.powf(2.0).to_bits());
    }
    assert_eq!(f32::from_bits(single(Log, 1.0)), 0.0);
}

#[test]
fn the_error_function_is_accurate() {
    // Digits from tables.
    let known = [
        (0.1, 0.112_462_916_018_284_9),
        (0.5, 0.520_499_877_813_046_5),
        (1.0, 0.842_700_792_949_714_9),
        (2.0, 0.995_322_265_018_952_7),
        (2.5, 0.999_593_047_982_555),
        (4.0, 0.999_999_984_582_742_1),
    ];
    for (x, wanted) in known {
        assert!((erf(x) - wanted).abs() <= 4.0 * f64::EPSILON * wanted, "{x}: {}", erf(x));
        assert_eq!(erf(-x), -erf(x));
    }
    assert_eq!((erf(6.5), erf(f64::NEG_INFINITY), erf(-0.0).to_bits()), (1.0, -1.0, (-0.0_f64).to_bits()));
    assert!(erf(f64::NAN).is_nan());
    assert_eq!(
        fold(CoreOp::Erf, &[float(ElemType::FLOAT, 1.0)], ElemType::FLOAT),
        Ok(float(ElemType::FLOAT, erf(1.0)))
    );
}

#[test]
fn the_error_function_and_its_complement() {
    for (x, erf_x, erfc_x) in [
        (0.0, 0.0, 1.0),
        (0.5, 0.520_499_877_813_046_5, 0.479_500_122_186_953_5),
        (1.0, 0.842_700_792_949_714_9, 0.157_299_207_050_285_13),
        (2.0, 0.995_322_265_018_952_7, 0.004_677_734_981_047_266),
        (3.0, 0.999_977_909_503_001_4, 2.209_049_699_858_544e-5),
        (10.0, 1.0, 2.088_487_583_762_545e-45),
    ] {
        assert!((erf(x) - erf_x).abs() <= 1e-15 && erf(-x) == -erf(x), "{x}");
        assert!((erfc(x) - erfc_x).abs() <= 1e-12 * erfc_x, "{x}");
    }
    assert_eq!((erf(f64::INFINITY), erfc(f64::INFINITY), erfc(f64::NEG_INFINITY)), (1.0, 0.0, 2.0));
    assert!(erf(f64::NAN).is_nan());
}

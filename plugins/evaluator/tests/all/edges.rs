//! The edge cases of operators: each case beside one that is refused or has another result.

use crate::common::*;
use half::{bf16, f16};
use relais_plugin_api::ir::*;

const INF: f32 = f32::INFINITY;

fn i32s(values: &[i32]) -> Tensor {
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    raw(ElemType::INT32, &[values.len() as u64], &bytes)
}

fn bytes(elem: ElemType, values: &[u8]) -> Tensor {
    raw(elem, &[values.len() as u64], values)
}

fn to(elem: ElemType) -> i64 {
    elem.0.into()
}

#[test]
fn integers_wrap_and_division_truncates() {
    let sum = call("Add", 14).input(bytes(ElemType::INT8, &[127])).input(bytes(ElemType::INT8, &[1])).eval();
    assert_eq!(sum, bytes(ElemType::INT8, &[0x80]));
    let least = call("Abs", 13).input(bytes(ElemType::INT8, &[0x80])).eval();
    assert_eq!(least, bytes(ElemType::INT8, &[0x80]));
    assert_eq!(call("Div", 14).input(i32s(&[-7, i32::MIN])).input(i32s(&[2, 1])).eval(), i32s(&[-3, i32::MIN]));
    call("Div", 14).input(i32s(&[1])).input(i32s(&[0])).unsupported();
    assert_eq!(call("Div", 14).input(f32s(&[], &[1.0])).input(f32s(&[], &[0.0])).eval(), f32s(&[], &[INF]));
}

#[test]
fn remainders_have_the_sign_of_the_divisor_or_of_the_dividend() {
    let (a, b) = (i32s(&[-7, 7, -7]), i32s(&[3, -3, -3]));
    assert_eq!(call("Mod", 13).input(a.clone()).input(b.clone()).eval(), i32s(&[2, -2, -1]));
    assert_eq!(call("Mod", 13).attr("fmod", 1).input(a.clone()).input(b).eval(), i32s(&[-1, 1, -1]));
    call("Mod", 13).input(a).input(i32s(&[0, 1, 1])).unsupported();
    let floats = || call("Mod", 28).input(f32s(&[2], &[-1.0, 0.0])).input(f32s(&[2], &[INF, -2.0]));
    assert_eq!(floats().eval(), f32s(&[2], &[INF, -0.0]));
    call("Mod", 13).input(f32s(&[], &[1.0])).input(f32s(&[], &[1.0])).invalid();
}

#[test]
fn powers_of_integers_are_exact_or_refused() {
    assert_eq!(call("Pow", 15).input(list(&[-1, 0])).input(list(&[1 << 31 | 1, 0])).eval(), list(&[-1, 1]));
    assert_eq!(call("Pow", 15).input(list(&[3])).input(list(&[33])).eval(), list(&[5559060566555523]));
    call("Pow", 15).input(list(&[3])).input(list(&[34])).unsupported();
    call("Pow", 15).input(list(&[2])).input(list(&[-1])).unsupported();
    assert_eq!(call("Pow", 15).input(list(&[2])).input(f32s(&[1], &[-1.0])).eval(), list(&[0]));
    call("Pow", 7).input(list(&[2])).input(f32s(&[1], &[1.0])).invalid();
}

#[test]
fn old_broadcasting_is_asked_for() {
    let a = f32s(&[2, 3], &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    let by_axis = call("Add", 6).attr("broadcast", 1).attr("axis", 0).input(a.clone()).input(f32s(&[2], &[10.0, 20.0]));
    assert_eq!(by_axis.eval(), f32s(&[2, 3], &[10.0, 11.0, 12.0, 23.0, 24.0, 25.0]));
    let by_suffix = call("Add", 6).attr("broadcast", 1).input(a.clone()).input(f32s(&[3], &[0.0, 0.0, 1.0]));
    assert_eq!(by_suffix.eval(), f32s(&[2, 3], &[0.0, 1.0, 3.0, 3.0, 4.0, 6.0]));
    assert!(call("Add", 6).input(a.clone()).input(f32s(&[3], &[0.0; 3])).invalid().contains("broadcast"));
    assert!(
        call("Add", 6).attr("broadcast", 1).input(a.clone()).input(f32s(&[2], &[0.0; 2])).invalid().contains("axis")
    );
    assert!(call("Max", 6).input(a.clone()).input(f32s(&[], &[0.0])).invalid().contains("differ"));
    assert_eq!(call("Max", 8).input(a).input(f32s(&[], &[9.0])).eval(), f32s(&[2, 3], &[9.0; 6]));
}

#[test]
fn uniform_arguments_give_uniform_results() {
    let splat = |value: f32, dims: &[u64]| Tensor::splat(ElemType::FLOAT, dims, &value.to_le_bytes()).unwrap();
    let huge = [1 << 30, 1 << 30];
    let sum = call("Add", 14).input(splat(1.0, &huge)).input(f32s(&[], &[2.0])).eval();
    assert_eq!(sum.as_splat(), Some(&3f32.to_le_bytes()[..]));
    let moved = call("Transpose", 13).attr("perm", vec![1, 0]).input(splat(1.0, &[2, 1 << 40])).eval();
    assert_eq!((moved.dims(), moved.as_splat().is_some()), (&[1 << 40, 2][..], true));
    let joined = call("Concat", 13).attr("axis", 0).input(splat(1.0, &huge)).input(splat(1.0, &huge)).eval();
    assert!(joined.as_splat().is_some());
    call("Concat", 13).attr("axis", 0).input(splat(1.0, &huge)).input(splat(2.0, &huge)).unsupported();
    let cast = call("Cast", 13).attr("to", to(ElemType::INT64)).input(splat(1.5, &huge)).eval();
    assert_eq!(cast.as_splat(), Some(&1i64.to_le_bytes()[..]));
    let fraction = || call("Cast", 21).attr("to", to(ElemType::INT4)).input(f32s(&[2], &[-2.5, 1.0]));
    fraction().unsupported();
    assert_eq!(fraction().lenient().eval(), raw(ElemType::INT4, &[2], &[0x1e]));
    let narrow = call("Cast", 21).attr("to", to(ElemType::INT4)).input(splat(-1.0, &[3])).eval();
    assert_eq!(narrow.to_bytes(), &[0xff, 0x0f][..]);
    let max = call("ReduceMax", 18).input(splat(4.0, &[8, 8])).eval();
    assert_eq!(max, f32s(&[1, 1], &[4.0]));
    assert!(
        call("Slice", 13)
            .input(splat(1.0, &huge))
            .input(list(&[1]))
            .input(list(&[i64::MAX]))
            .eval()
            .as_splat()
            .is_some()
    );
    assert!(call("Add", 14).input(splat(1.0, &[4])).input(f32s(&[4], &[0.0; 4])).eval().as_splat().is_none());
}

#[test]
fn casts_round_once_and_refuse_what_is_undefined() {
    // Half way between two halves except for a digit that a float does not have.
    let value = 1.0 + 2f64.powi(-11) + 2f64.powi(-40);
    let double = raw(ElemType::DOUBLE, &[], &value.to_le_bytes());
    let half = |double| call("Cast", 13).attr("to", to(ElemType::FLOAT16)).input(double);
    half(double).unsupported();
    let value = 1.0 + 2f64.powi(-11) + 2f64.powi(-20);
    let rounded = half(raw(ElemType::DOUBLE, &[], &value.to_le_bytes())).eval();
    assert_eq!(rounded, raw(ElemType::FLOAT16, &[], &f16::from_bits(0x3c01).to_le_bytes()));
    let brain = |large| call("Cast", 13).attr("to", to(ElemType::BFLOAT16)).input(large);
    brain(i64s(&[], &[(1 << 62) + (1 << 54) + 1])).unsupported();
    assert_eq!(
        brain(i64s(&[], &[(1 << 62) + (1 << 54) + (1 << 45)])).eval(),
        raw(ElemType::BFLOAT16, &[], &bf16::from_f32(2f32.powi(62) * (1.0 + 2f32.powi(-7))).to_le_bytes())
    );
    let int = |value: f32| call("Cast", 13).attr("to", to(ElemType::UINT8)).input(f32s(&[1], &[value]));
    assert_eq!(int(255.9).eval(), bytes(ElemType::UINT8, &[255]));
    assert_eq!(int(-0.9).eval(), bytes(ElemType::UINT8, &[0]));
    for value in [256.0, -1.0, f32::NAN, INF] {
        int(value).unsupported();
    }
    let wrapped = call("Cast", 13).attr("to", to(ElemType::INT8)).input(list(&[200, -129])).eval();
    assert_eq!(wrapped, bytes(ElemType::INT8, &[0xc8, 0x7f]));
    let edge = |value: f64| {
        call("Cast", 13).attr("to", to(ElemType::INT64)).input(raw(ElemType::DOUBLE, &[1], &value.to_le_bytes()))
    };
    assert_eq!(edge(-(2f64.powi(63))).eval(), list(&[i64::MIN]));
    edge(2f64.powi(63)).unsupported();
    assert_eq!(call("Cast", 1).attr("to", "INT64").input(f32s(&[1], &[2.5])).eval(), list(&[2]));
    assert!(call("Cast", 1).attr("to", "INT65").input(f32s(&[1], &[2.5])).invalid().contains("int65"));
    assert!(call("Cast", 13).input(f32s(&[1], &[2.5])).invalid().contains("`to`"));
}

#[test]
fn small_floats_saturate_or_not() {
    let values = f32s(&[5], &[448.0, 465.0, -INF, f32::NAN, -0.0]);
    let cast = |elem, saturate: i64| {
        call("Cast", 19).attr("to", to(elem)).attr("saturate", saturate).input(values.clone()).eval()
    };
    assert_eq!(cast(ElemType::FLOAT8E4M3FN, 1), bytes(ElemType::FLOAT8E4M3FN, &[0x7e, 0x7e, 0xfe, 0x7f, 0x80]));
    assert_eq!(cast(ElemType::FLOAT8E4M3FN, 0), bytes(ElemType::FLOAT8E4M3FN, &[0x7e, 0x7f, 0xff, 0x7f, 0x80]));
    assert_eq!(cast(ElemType::FLOAT8E4M3FNUZ, 1), bytes(ElemType::FLOAT8E4M3FNUZ, &[0x7f, 0x7f, 0xff, 0x80, 0]));
    assert_eq!(cast(ElemType::FLOAT8E5M2, 0), bytes(ElemType::FLOAT8E5M2, &[0x5f, 0x5f, 0xfc, 0x7e, 0x80]));
    assert_eq!(cast(ElemType::FLOAT8E5M2FNUZ, 0), bytes(ElemType::FLOAT8E5M2FNUZ, &[0x63, 0x63, 0x80, 0x80, 0]));
    // Every code is read back as itself.
    for elem in [ElemType::FLOAT8E4M3FN, ElemType::FLOAT8E4M3FNUZ, ElemType::FLOAT8E5M2, ElemType::FLOAT8E5M2FNUZ] {
        let finite: Vec<u8> = (0..=255).filter(|code| code & 0x7f < 0x7c && *code != 0x80).collect();
        let all = bytes(elem, &finite);
        let wide = call("Cast", 19).attr("to", to(ElemType::FLOAT)).input(all.clone()).eval();
        assert_eq!(call("Cast", 19).attr("to", to(elem)).input(wide).eval(), all);
    }
    let scale = |value: f32, mode: &str| {
        call("Cast", 24).attr("to", to(ElemType::FLOAT8E8M0)).attr("round_mode", mode).input(f32s(&[1], &[value]))
    };
    assert_eq!(scale(3.0, "up").eval(), bytes(ElemType::FLOAT8E8M0, &[129]));
    assert_eq!(scale(3.0, "down").eval(), bytes(ElemType::FLOAT8E8M0, &[128]));
    assert_eq!(scale(2.9, "nearest").eval(), bytes(ElemType::FLOAT8E8M0, &[128]));
    scale(-3.0, "up").unsupported();
    assert!(scale(3.0, "sideways").invalid().contains("round_mode"));
}

#[test]
fn strings_are_numbers_where_they_look_like_it() {
    let parse = |text: &str, elem| call("Cast", 13).attr("to", to(elem)).input(strings(&[text]));
    assert_eq!(parse("-1e-2", ElemType::FLOAT).eval(), f32s(&[1], &[-0.01]));
    assert_eq!(parse("+INF", ElemType::FLOAT).eval(), f32s(&[1], &[INF]));
    assert_eq!(parse("-12", ElemType::INT64).eval(), list(&[-12]));
    parse("2.7", ElemType::INT64).unsupported();
    parse("300", ElemType::UINT8).unsupported();
    parse("Hello", ElemType::FLOAT).unsupported();
    let print = |tensor| call("Cast", 13).attr("to", to(ElemType::STRING)).input(tensor);
    assert_eq!(print(f32s(&[2], &[314.15926, 0.1])).eval(), strings(&["314.15927", "0.1"]));
    assert_eq!(print(list(&[-5])).eval(), strings(&["-5"]));
    print(f32s(&[1], &[1e-30])).unsupported();
    print(bools(&[1], &[1])).unsupported();
}

#[test]
fn clips_have_the_last_word_with_the_greatest_bound() {
    let clip = |least: f32, greatest: f32| {
        call("Clip", 13).input(f32s(&[3], &[-1.0, 0.5, INF])).input(f32s(&[], &[least])).input(f32s(&[], &[greatest]))
    };
    assert_eq!(clip(0.0, 1.0).eval(), f32s(&[3], &[0.0, 0.5, 1.0]));
    assert_eq!(clip(3.0, 2.0).eval(), f32s(&[3], &[2.0; 3]));
    call("Clip", 13).input(f32s(&[1], &[INF])).input(f32s(&[], &[0.0])).unsupported();
    assert_eq!(call("Clip", 13).input(f32s(&[1], &[-INF])).input(f32s(&[], &[0.0])).eval(), f32s(&[1], &[0.0]));
    assert!(call("Clip", 13).input(list(&[1])).input(list(&[1, 2])).invalid().contains("scalar"));
    // The greatest float, which is the bound of doubles, too.
    let open = |version, value: f64| call("Clip", version).input(f64s(&[1], &[value]));
    open(6, 1e300).unsupported();
    open(6, -3.0).attr("min", INF).unsupported();
    open(6, 3.0).attr("max", -INF).unsupported();
    assert_eq!(open(6, 1e300).attr("max", 2.0f32).eval(), f64s(&[1], &[2.0]));
    assert_eq!(open(13, 1e300).eval(), f64s(&[1], &[1e300]));
}

#[test]
fn shapes_are_inferred_or_refused() {
    let data = i64s(&[2, 3], &[0, 1, 2, 3, 4, 5]);
    let reshape = |shape: &[i64]| call("Reshape", 14).input(data.clone()).input(list(shape));
    assert_eq!(reshape(&[0, -1]).eval().dims(), [2, 3]);
    assert!(reshape(&[-1, -1]).invalid().contains("more than one"));
    assert!(reshape(&[4, -1]).invalid().contains("fill"));
    assert!(reshape(&[1, 1, 0]).invalid().contains("kept"));
    assert!(reshape(&[-2]).invalid().contains("-2"));
    let empty = i64s(&[0, 3], &[]);
    assert_eq!(
        call("Reshape", 14).attr("allowzero", 1).input(empty.clone()).input(list(&[3, 0])).eval().dims(),
        [3, 0]
    );
    call("Reshape", 14).attr("allowzero", 1).input(empty).input(list(&[0, -1])).invalid();
    assert_eq!(call("Shape", 15).attr("start", -1).input(data.clone()).eval(), list(&[3]));
    assert_eq!(call("Shape", 15).attr("start", 2).attr("end", 1).input(data.clone()).eval(), list(&[]));
    assert!(call("Squeeze", 13).input(data.clone()).input(list(&[0])).invalid().contains("size 2"));
    assert!(call("Unsqueeze", 13).input(data).input(list(&[0, 0])).invalid().contains("twice"));
}

#[test]
fn slices_clamp_and_step_backwards() {
    let data = list(&[0, 1, 2, 3, 4]);
    let slice = |start, end, step| {
        call("Slice", 13)
            .input(data.clone())
            .input(list(&[start]))
            .input(list(&[end]))
            .input(list(&[0]))
            .input(list(&[step]))
    };
    assert_eq!(slice(1, i64::MAX, 2).eval(), list(&[1, 3]));
    assert_eq!(slice(i64::MAX, i64::MIN, -2).eval(), list(&[4, 2, 0]));
    assert_eq!(slice(3, 1, 1).eval(), list(&[]));
    // A start before the first element is the first one.
    assert_eq!(slice(-9, i64::MIN, -1).eval(), list(&[0]));
    assert!(slice(0, 1, 0).invalid().contains("zero"));
    assert_eq!(call("Slice", 9).attr("starts", vec![-2]).attr("ends", vec![9]).input(data).eval(), list(&[3, 4]));
}

#[test]
fn parts_for_which_there_are_too_few_elements_are_not_made() {
    let split = |size: u64, n: i64| {
        let data = i64s(&[size], &(0..size as i64).collect::<Vec<_>>());
        call("Split", 18).attr("num_outputs", n).input(data).outputs(n as u32)
    };
    let sizes: Vec<u64> = split(7, 3).eval_all().unwrap().iter().map(Tensor::len).collect();
    assert_eq!(sizes, [3, 3, 1]);
    split(5, 4).unsupported();
}

#[test]
fn packed_elements_move() {
    let data = raw(ElemType::INT4, &[3], &[0x21, 0x03]);
    let reversed =
        call("Slice", 13).input(data.clone()).input(list(&[-1])).input(list(&[-9])).absent().input(list(&[-1]));
    assert_eq!(reversed.eval(), raw(ElemType::INT4, &[3], &[0x23, 0x01]));
    assert_eq!(
        call("Pad", 21).input(data.clone()).input(list(&[1, 0])).eval(),
        raw(ElemType::INT4, &[4], &[0x10, 0x32])
    );
    let two = raw(ElemType::UINT2, &[5], &[0b11_10_01_00, 0b01]);
    assert_eq!(call("Cast", 25).attr("to", to(ElemType::INT64)).input(two).eval(), list(&[0, 1, 2, 3, 1]));
    assert_eq!(
        call("Transpose", 21).input(raw(ElemType::INT4, &[2, 2], &[0x21, 0x43])).eval(),
        raw(ElemType::INT4, &[2, 2], &[0x31, 0x42])
    );
    call("Add", 14).input(data.clone()).input(data).unsupported();
}

#[test]
fn indices_count_from_both_ends() {
    let data = strings(&["a", "b", "c"]);
    assert_eq!(call("Gather", 13).input(data.clone()).input(list(&[-1, 0])).eval(), strings(&["c", "a"]));
    assert!(call("Gather", 13).input(data).input(list(&[3])).invalid().contains("out of range"));
    let scatter = |reduction: &str| {
        call("ScatterElements", 18)
            .attr("reduction", reduction)
            .input(list(&[5, 5]))
            .input(list(&[1, -1]))
            .input(list(&[2, 3]))
    };
    assert_eq!(scatter("add").eval(), list(&[5, 10]));
    assert_eq!(scatter("min").eval(), list(&[5, 2]));
    assert_eq!(scatter("none").eval(), list(&[5, 3]));
    assert!(scatter("sum").invalid().contains("sum"));
    let uneven = call("ScatterElements", 18).input(list(&[5, 5])).input(list(&[1])).input(list(&[2, 3]));
    assert!(uneven.invalid().contains("shapes"));
}

#[test]
fn reductions_of_nothing() {
    let empty = f32s(&[2, 0], &[]);
    let along = |op: &str, version| call(op, version).input(empty.clone()).input(list(&[1])).attr("keepdims", 0);
    assert_eq!(along("ReduceSum", 18).eval(), f32s(&[2], &[0.0; 2]));
    assert_eq!(along("ReduceProd", 18).eval(), f32s(&[2], &[1.0; 2]));
    assert_eq!(along("ReduceMax", 20).eval(), f32s(&[2], &[-INF; 2]));
    along("ReduceMax", 18).unsupported();
    along("ReduceMean", 18).unsupported();
    assert_eq!(along("ReduceLogSumExp", 18).eval(), f32s(&[2], &[-INF; 2]));
    call("ArgMax", 13).attr("axis", 1).input(empty).invalid();
}

#[test]
fn axes_of_reductions_are_attributes_then_inputs() {
    let data = f32s(&[2, 2], &[1.0, 2.0, 3.0, 4.0]);
    let old = call("ReduceSum", 11).attr("axes", vec![-1]).attr("keepdims", 0).input(data.clone());
    assert_eq!(old.eval(), f32s(&[2], &[3.0, 7.0]));
    assert_eq!(call("ReduceSum", 13).input(data.clone()).eval(), f32s(&[1, 1], &[10.0]));
    let noop = call("ReduceSumSquare", 18).attr("noop_with_empty_axes", 1).input(data.clone());
    assert_eq!(noop.eval(), f32s(&[2, 2], &[1.0, 4.0, 9.0, 16.0]));
    assert!(call("ReduceMax", 18).input(data).input(list(&[2])).invalid().contains("axis 2"));
}

#[test]
fn nans_spread_or_are_not_compared() {
    let nan = f32s(&[2], &[f32::NAN, 1.0]);
    let sum = call("Add", 14).input(nan.clone()).input(f32s(&[2], &[0.0, f32::NAN])).eval();
    assert_eq!(sum, f32s(&[2], &[f32::NAN; 2]));
    call("TopK", 11).input(nan.clone()).input(list(&[1])).outputs(2).unsupported();
    call("ArgMax", 13).input(nan.clone()).unsupported();
    assert_eq!(call("Equal", 13).input(nan.clone()).input(nan).eval(), bools(&[2], &[0, 1]));
}

#[test]
fn ranges_end_before_their_limit() {
    let range =
        |a: i64, b: i64, c: i64| call("Range", 11).input(i64s(&[], &[a])).input(i64s(&[], &[b])).input(i64s(&[], &[c]));
    assert_eq!(range(10, 4, -2).eval(), list(&[10, 8, 6]));
    assert_eq!(range(0, -1, 1).eval(), list(&[]));
    assert!(range(0, 1, 0).invalid().contains("zero"));
    range(i64::MIN, i64::MAX, 1).unsupported();
    assert_eq!(range(i64::MIN, i64::MAX, i64::MAX).eval(), list(&[i64::MIN, -1, i64::MAX - 1]));
}

#[test]
fn shifts_by_too_much_have_a_meaning_since_28() {
    let shift = |version| {
        call("BitShift", version)
            .attr("direction", "RIGHT")
            .input(bytes(ElemType::UINT8, &[255]))
            .input(bytes(ElemType::UINT8, &[8]))
    };
    assert_eq!(shift(28).eval(), bytes(ElemType::UINT8, &[0]));
    shift(11).unsupported();
    let negative = call("BitShift", 28)
        .attr("direction", "RIGHT")
        .input(bytes(ElemType::INT8, &[0x80]))
        .input(bytes(ElemType::INT8, &[0xff]));
    assert_eq!(negative.eval(), bytes(ElemType::INT8, &[0xff]));
}

#[test]
fn attributes_of_another_kind_are_refused() {
    let data = f32s(&[2, 2], &[0.0; 4]);
    assert!(
        call("Flatten", 13).attr("axis", 1.0f32).input(data.clone()).invalid().contains("`axis` must be an integer")
    );
    let reference = AttrData::Ref { name: "axis".into(), kind: attr_kind::INT };
    call("Flatten", 13).attr("axis", reference).input(data).unsupported();
}

#[test]
fn bytes_need_no_alignment() {
    let mut file = vec![0u8];
    file.extend([1.0f32, 2.0, 3.0].iter().flat_map(|v| v.to_le_bytes()));
    let blob = relais_plugin_api::boundary::bytes::Blob::from(file).slice(1, 12).unwrap();
    let mapped = Tensor::dense(ElemType::FLOAT, &[3], blob).unwrap();
    assert_eq!(call("Add", 14).input(mapped.clone()).input(mapped).eval(), f32s(&[3], &[2.0, 4.0, 6.0]));
}

#[test]
fn stop_words_are_whole_strings_and_what_runtimes_take_differently_stays() {
    let normalize = |words: &[&str]| call("StringNormalizer", 10).input(strings(words));
    let stops = || AttrData::Strings(vec![b"the".to_vec()]);
    let lower = |words: &[&str]| normalize(words).attr("case_change_action", "LOWER").attr("stopwords", stops());
    assert_eq!(lower(&["The", "cat", "Then"]).eval(), strings(&["cat", "then"]));
    assert_eq!(lower(&["The", "Cat"]).attr("is_case_sensitive", 1i64).eval(), strings(&["the", "cat"]));
    assert_eq!(lower(&["the", "THE"]).eval(), strings(&[""]));
    assert_eq!(normalize(&["a", "B"]).attr("case_change_action", "UPPER").eval(), strings(&["A", "B"]));
    for words in [["the cat", "a"], ["é", "a"], ["", "a"]] {
        lower(&words).unsupported();
    }
    assert!(normalize(&["a"]).attr("case_change_action", "TITLE").invalid().contains("TITLE"));
}

#[test]
fn strings_are_split_at_delimiters_or_at_blanks() {
    let split = |words: &[&str]| call("StringSplit", 20).outputs(2).input(strings(words));
    let parts =
        |words: &[&str], dims: &[u64]| Tensor::from_strings(dims, words.iter().map(|word| word.as_bytes())).unwrap();
    let comma = split(&["a,b", "c"]).attr("delimiter", ",").eval_all().unwrap();
    assert_eq!(comma, [parts(&["a", "b", "c", ""], &[2, 2]), list(&[2, 1])]);
    assert_eq!(split(&[" a  b ", ""]).eval_all().unwrap(), [parts(&["a", "b", "", ""], &[2, 2]), list(&[2, 0])]);
    let once = split(&["a,b,c"]).attr("delimiter", ",").attr("maxsplit", 1i64).eval_all().unwrap();
    assert_eq!(once, [parts(&["a", "b,c"], &[1, 2]), list(&[2])]);
    assert_eq!(split(&["a b c"]).attr("maxsplit", 1i64).eval_all().unwrap()[0], parts(&["a", "b c"], &[1, 2]));
    split(&["a b "]).attr("maxsplit", 1i64).unsupported();
    split(&[""]).attr("delimiter", ",").unsupported();
    split(&["a\tb"]).unsupported();
}

#[test]
fn n_grams_are_counted_across_what_is_left_out() {
    let with = |counts: &[i64], indexes: &[i64], skipped: i64, mode: &str| {
        call("TfIdfVectorizer", 9)
            .attr("min_gram_length", 1i64)
            .attr("max_gram_length", 2i64)
            .attr("max_skip_count", skipped)
            .attr("mode", mode)
            .attr("ngram_counts", AttrData::Ints(counts.to_vec()))
            .attr("ngram_indexes", AttrData::Ints(indexes.to_vec()))
            .attr("pool_int64s", AttrData::Ints(vec![5, 6, 5, 6]))
    };
    let count = |skipped: i64, mode: &str| with(&[0, 2], &[0, 2, 1], skipped, mode);
    let data = || list(&[5, 7, 6, 5, 6]);
    assert_eq!(count(0, "TF").input(data()).eval(), f32s(&[3], &[2.0, 1.0, 2.0]));
    assert_eq!(count(1, "TF").input(data()).eval(), f32s(&[3], &[2.0, 2.0, 2.0]));
    assert_eq!(count(0, "IDF").input(list(&[6])).eval(), f32s(&[3], &[0.0, 0.0, 1.0]));
    let weighted = |indexes: &[i64], weights: &[f32]| {
        with(&[0, 2], indexes, 0, "TFIDF").attr("weights", AttrData::Floats(weights.to_vec())).input(data())
    };
    assert_eq!(weighted(&[0, 1, 2], &[0.5, 2.0, 3.0]).eval(), f32s(&[3], &[1.0, 4.0, 3.0]));
    // Weights are those of n-grams, in their order.
    weighted(&[0, 2, 1], &[0.5, 2.0, 3.0]).unsupported();
    assert_eq!(weighted(&[0, 2, 1], &[0.5, 2.0, 3.0]).lenient().eval(), f32s(&[3], &[1.0, 3.0, 4.0]));
    assert_eq!(weighted(&[0, 4, 1], &[0.5, 2.0, 3.0]).lenient().eval(), f32s(&[5], &[1.0, 3.0, 0.0, 0.0, 4.0]));
    assert!(weighted(&[0, 1, 2], &[0.5]).invalid().contains("one weight"));
    assert!(count(0, "TD").input(data()).invalid().contains("TD"));
    assert!(count(-1, "TF").input(data()).invalid().contains("max_skip_count"));
    assert!(with(&[0, 9], &[0, 2, 1], 0, "TF").input(data()).invalid().contains("pool"));
    assert!(with(&[0, 2], &[0], 0, "TF").input(data()).invalid().contains("few"));
    assert!(count(0, "TF").input(strings(&["a"])).invalid().contains("pool"));
}

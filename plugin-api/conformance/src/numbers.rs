//! Whether two modules compute the same, on seeded values.

mod prims;
mod recipe;
mod yardstick;

pub(super) use prims::same_prims;
pub(crate) use recipe::{Recipe, xorshift};
pub(crate) use yardstick::{MANY_TIMES, largest_around};
pub use yardstick::{Yardstick, is_as_good};

use super::interpret::{self, Compute, NotComputed};
use relais_plugin_api::ir::*;

/// The most elements of a parameter of a random module, and of a result that is compared.
const MANY: u64 = 1 << 20;

/// The most elements of a tensor that is looked at one by one.
const MOST: u64 = 1 << 28;

/// The size that an unknown dimension gets.
pub(super) const UNKNOWN_SIZE: u64 = 2;

/// The result of comparing two modules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judgement {
    /// They compute the same.
    Same,
    /// They did not run to the end; the results that were computed are the same.
    NotEvaluated {
        /// The operator or the parameter.
        what: String,
        /// The reason.
        why: String,
    },
}

/// How two modules differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Differ {
    /// How.
    pub how: String,
    /// The names of the parameters, and the values for which they differ.
    pub inputs: Vec<(String, String)>,
    /// Whether infinities, NaN or negative zeros were among the inputs for which they differ.
    pub is_special: bool,
    /// Whether the module was right before.
    pub is_fault_of_after: bool,
}

/// How far the floats of two tensors may be apart: by the larger of the two bounds. In `float16` and `bfloat16`, neither
/// is less than a few digits of the type, which are rounding. All other elements must be equal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tolerance {
    /// Relative to the larger magnitude of two numbers; 0 if all must be equal.
    pub relative: f64,
    /// Whatever the numbers are. By default, a tenth of the relative bound times the largest magnitude of a tensor, or
    /// times 1 if that is larger.
    pub absolute: Option<f64>,
}

impl Tolerance {
    /// The relative and the absolute bound for a tensor of a type, with numbers up to a magnitude, that is computed in a type that
    /// may have fewer digits.
    pub fn bounds_in(self, elem: ElemType, computed: ElemType, largest: f64) -> (f64, f64) {
        self.bounds(coarser(elem, computed), largest)
    }

    /// Numbers below 1 count as 1.
    fn of_kit(tolerance: f64) -> Self {
        Self { relative: tolerance, absolute: Some(tolerance) }
    }

    /// The relative and the absolute bound for tensors with numbers up to a magnitude that are computed in a type.
    fn bounds(self, elem: ElemType, largest: f64) -> (f64, f64) {
        let rounding = match elem {
            ElemType::FLOAT16 => 4.0 / 1024.0,
            ElemType::BFLOAT16 => 4.0 / 128.0,
            _ => 0.0,
        };
        let at_least = |bound: f64| if bound == 0.0 { 0.0 } else { bound.max(rounding) };
        let absolute = match self.absolute {
            Some(bound) => at_least(bound),
            None => at_least(self.relative / 10.0) * largest.min(1.0),
        };
        (at_least(self.relative), absolute)
    }
}

/// How two tensors compare.
#[derive(Debug, Clone, PartialEq)]
pub enum TensorComparison {
    /// They are the same, up to this difference.
    Close(f64),
    /// Their element types or shapes differ.
    OtherType,
    /// Elements differ.
    Differ(TensorDifference),
}

/// Where two tensors differ most.
#[derive(Debug, Clone, PartialEq)]
pub struct TensorDifference {
    /// The index of the element; empty if it cannot be shown.
    pub index: Vec<u64>,
    /// The element of the first tensor, and of the second one; empty if they cannot be shown.
    pub values: [String; 2],
    /// How far they are apart; infinite if one of them is infinite or NaN, or neither is a number.
    pub distance: f64,
    /// How many elements differ by more than is allowed.
    pub count: u64,
}

impl TensorDifference {
    /// That of tensors whose shapes differ.
    pub fn of_shapes() -> Self {
        Self { index: Vec::new(), values: Default::default(), distance: f64::INFINITY, count: 1 }
    }
}

/// Compares two tensors. NaN is equal to NaN, an infinity to itself alone, and zeros of both signs are equal.
pub fn compare_tensors(a: &Tensor, b: &Tensor, tolerance: Tolerance) -> TensorComparison {
    compare_computed(a, b, tolerance, a.elem())
}

/// Compares two tensors whose floats were computed in a type that may have fewer digits than theirs.
pub fn compare_computed(a: &Tensor, b: &Tensor, tolerance: Tolerance, computed: ElemType) -> TensorComparison {
    if a.elem() != b.elem() || a.dims() != b.dims() {
        return TensorComparison::OtherType;
    }
    if a == b {
        return TensorComparison::Close(0.0);
    }
    let unshown = TensorComparison::Differ(TensorDifference::of_shapes());
    if a.len() > MOST {
        return unshown;
    }
    if let (true, Some(x), Some(y)) = (a.elem().is_float(), a.to_f64s(), b.to_f64s()) {
        let finite = x.iter().chain(&y).filter(|x| x.is_finite());
        let largest = finite.fold(0.0f64, |largest, x| largest.max(x.abs()));
        let (relative, absolute) = tolerance.bounds_in(a.elem(), computed, largest);
        let apart = |at: usize| {
            let (x, y) = (x[at], y[at]);
            match (x - y).abs() {
                _ if x == y || (x.is_nan() && y.is_nan()) => (0.0, true),
                distance if distance.is_finite() => (distance, distance <= relative * x.abs().max(y.abs()) + absolute),
                _ => (f64::INFINITY, false),
            }
        };
        let shown = |x: f64| if a.elem() == ElemType::DOUBLE { x.to_string() } else { (x as f32).to_string() };
        return differences(a, apart, |at| [shown(x[at]), shown(y[at])]);
    }
    if let (Some(x), Some(y)) = (a.to_i64s(), b.to_i64s()) {
        let apart = |at: usize| (x[at].abs_diff(y[at]) as f64, x[at] == y[at]);
        return differences(a, apart, |at| [x[at].to_string(), y[at].to_string()]);
    }
    if a.elem() == ElemType::STRING {
        let (x, y): (Vec<&[u8]>, Vec<&[u8]>) = (a.strings().collect(), b.strings().collect());
        let apart = |at: usize| if x[at] == y[at] { (0.0, true) } else { (f64::INFINITY, false) };
        let shown = |text: &[u8]| format!("{:?}", String::from_utf8_lossy(text));
        return differences(a, apart, |at| [shown(x[at]), shown(y[at])]);
    }
    let (x, y) = (a.to_bytes(), b.to_bytes());
    let width = a.elem().bits() as usize / 8;
    if width == 0 || x.len() != y.len() {
        return unshown;
    }
    let element = |bytes: &[u8], at: usize| bytes[at * width..][..width].to_vec();
    let apart = |at: usize| if element(&x, at) == element(&y, at) { (0.0, true) } else { (f64::INFINITY, false) };
    let shown = |bytes: Vec<u8>| bytes.iter().rev().fold("0x".to_owned(), |all, byte| format!("{all}{byte:02x}"));
    differences(a, apart, |at| [shown(element(&x, at)), shown(element(&y, at))])
}

/// The one of two types of floats that has fewer digits.
fn coarser(a: ElemType, b: ElemType) -> ElemType {
    let all = [ElemType::BFLOAT16, ElemType::FLOAT16, ElemType::FLOAT];
    all.into_iter().find(|elem| [a, b].contains(elem)).unwrap_or(a)
}

/// Which elements of two tensors are as near as bounds allow, or a slack for each beside them. `None` if their types or shapes differ.
pub(super) fn close_elements(
    a: &Tensor,
    b: &Tensor,
    tolerance: Tolerance,
    computed: ElemType,
    slack: &[f64],
) -> Option<Vec<bool>> {
    if a.elem() != b.elem() || a.dims() != b.dims() || a.len() > MOST {
        return None;
    }
    if let (true, Some(x), Some(y)) = (a.elem().is_float(), a.to_f64s(), b.to_f64s()) {
        let largest = x.iter().chain(&y).filter(|x| x.is_finite()).fold(0.0f64, |largest, x| largest.max(x.abs()));
        let (relative, absolute) = tolerance.bounds_in(a.elem(), computed, largest);
        let is_close = |(at, (x, y)): (usize, (&f64, &f64))| {
            let bound = relative * x.abs().max(y.abs()) + absolute;
            let slack = slack.get(at).copied().unwrap_or(0.0);
            x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= bound.max(slack)
        };
        return Some(x.iter().zip(&y).enumerate().map(is_close).collect());
    }
    if a.elem() == ElemType::STRING {
        return Some(a.strings().zip(b.strings()).map(|(x, y)| x == y).collect());
    }
    let width = a.elem().bits() as usize / 8;
    let (x, y) = (a.to_bytes(), b.to_bytes());
    if width == 0 || x.len() != y.len() {
        return Some(vec![a == b; a.len() as usize]);
    }
    Some(x.chunks(width).zip(y.chunks(width)).map(|(x, y)| x == y).collect())
}

/// Compares the elements of tensors like one: `apart` is how far two are apart, and whether that is close.
fn differences(
    like: &Tensor,
    apart: impl Fn(usize) -> (f64, bool),
    values: impl Fn(usize) -> [String; 2],
) -> TensorComparison {
    let (mut largest, mut worst, mut count) = (0.0f64, None::<(usize, f64)>, 0);
    for at in 0..like.len() as usize {
        let (distance, is_close) = apart(at);
        if is_close {
            largest = largest.max(distance);
            continue;
        }
        count += 1;
        if worst.is_none_or(|(_, most)| distance > most) {
            worst = Some((at, distance));
        }
    }
    let Some((at, distance)) = worst else { return TensorComparison::Close(largest) };
    let mut rest = at as u64;
    let mut index: Vec<u64> = like.dims().iter().rev().map(|&dim| (rest % dim, rest /= dim).0).collect();
    index.reverse();
    TensorComparison::Differ(TensorDifference { index, values: values(at), distance, count })
}

/// Runs `@main` of two modules, and the prim funcs of both, on the same values, which are the same in every run.
///
/// # Errors
/// Returns how the results differ, or the error in a module.
pub fn same_numbers(
    before: &IRModule,
    after: &IRModule,
    tolerance: f64,
    compute: &dyn Compute,
) -> Result<Judgement, Differ> {
    let nothing =
        || Differ { how: "no `@main`".into(), inputs: Vec::new(), is_special: false, is_fault_of_after: false };
    let prims = same_prims(before, after)?;
    let Some(main) = before.main() else { return prims.ok_or_else(nothing) };
    let mut judgement = prims.unwrap_or(Judgement::Same);
    for seed in 1..=N_SEEDS {
        let inputs = match inputs(main, seed) {
            Ok(inputs) => inputs,
            Err(param) => {
                let what = format!("%{}", main.name(param));
                let why = format!("there are no values for parameter `{what}`");
                return Ok(Judgement::NotEvaluated { what, why });
            }
        };
        match compare(before, after, &inputs, tolerance, compute) {
            Ok(None) => {}
            // Evaluators may leave special numbers alone.
            Ok(Some(_)) if judgement != Judgement::Same || seed > FINITE => {}
            Ok(Some((what, why))) => judgement = Judgement::NotEvaluated { what, why },
            Err((how, is_fault_of_after)) => {
                let how = format!("{how}, for inputs of seed {seed}");
                let names = main.params().iter().map(|&param| format!("%{}", main.name(param)));
                let inputs = names.zip(inputs.iter().map(values)).collect();
                return Err(Differ { how, inputs, is_special: seed > FINITE, is_fault_of_after });
            }
        }
    }
    Ok(judgement)
}

/// The last seed whose values are all finite, and none a negative zero.
const FINITE: u64 = 2;

/// The number of seeds.
pub(super) const N_SEEDS: u64 = FINITE + SPECIAL.len() as u64;

/// Special values among the floats of each parameter with the seeds after that; another one comes first each time.
const SPECIAL: [f64; 4] = [-0.0, f64::INFINITY, f64::NAN, f64::NEG_INFINITY];

/// Compares two runs; returns the operators that were not evaluated, and why. An error states whether it is the second
/// module's.
fn compare(
    before: &IRModule,
    after: &IRModule,
    inputs: &[Tensor],
    tolerance: f64,
    compute: &dyn Compute,
) -> Result<Option<(String, String)>, (String, bool)> {
    let old = match interpret::run(before, MAIN, inputs, compute) {
        Ok(old) => old,
        Err(NotComputed::Wrong(how)) => return Err((how, false)),
        Err(NotComputed::NotCovered { what, why }) => return Ok(Some((what, why))),
    };
    let new = match interpret::run(after, MAIN, inputs, compute) {
        Ok(new) => new,
        Err(NotComputed::Wrong(how)) => return Err((how, true)),
        Err(NotComputed::NotCovered { what, why }) => return Ok(Some((what, why))),
    };
    if old.len() != new.len() {
        return Err((format!("{} results became {}", old.len(), new.len()), true));
    }
    let mut uncovered = None;
    for (at, pair) in old.iter().zip(&new).enumerate() {
        match pair {
            (Ok(a), Ok(b)) if is_close(a, b, tolerance) => {}
            (Ok(a), Ok(b)) => return Err((format!("result {at} was {} and is {}", values(a), values(b)), true)),
            (Err(NotComputed::Wrong(how)), _) => return Err((how.clone(), false)),
            (_, Err(NotComputed::Wrong(how))) => return Err((how.clone(), true)),
            (Err(NotComputed::NotCovered { what, why }), _) | (_, Err(NotComputed::NotCovered { what, why })) => {
                uncovered.get_or_insert_with(|| (what.clone(), why.clone()));
            }
        }
    }
    Ok(uncovered)
}

/// Its type and first values.
pub(super) fn values(tensor: &Tensor) -> String {
    const SHOWN: usize = 8;
    let ty = format!("{} {:?}", tensor.elem().name().unwrap_or("?"), tensor.dims());
    if tensor.len() > MANY {
        return ty;
    }
    let mut shown: Vec<String> = match (floats(tensor), tensor.to_i64s()) {
        (Some(values), _) => values.iter().take(SHOWN + 1).map(ToString::to_string).collect(),
        (_, Some(values)) => values.iter().take(SHOWN + 1).map(ToString::to_string).collect(),
        _ => tensor.to_bytes().iter().take(SHOWN + 1).map(ToString::to_string).collect(),
    };
    if shown.len() > SHOWN {
        shown[SHOWN] = "…".to_owned();
    }
    format!("{ty} of [{}]", shown.join(", "))
}

/// The elements of a tensor of floats.
fn floats(tensor: &Tensor) -> Option<Vec<f64>> {
    if tensor.len() > MANY {
        return None;
    }
    tensor.to_f64s()
}

pub(super) fn is_close(a: &Tensor, b: &Tensor, tolerance: f64) -> bool {
    let is_compared = tolerance > 0.0 && a.len() <= MANY && b.len() <= MANY;
    a == b || (is_compared && matches!(compare_tensors(a, b, Tolerance::of_kit(tolerance)), TensorComparison::Close(_)))
}

/// Values for each parameter.
///
/// # Errors
/// Returns the first parameter for whose type no values can be generated here.
pub(super) fn inputs(f: &Function, seed: u64) -> Result<Vec<Tensor>, NodeId> {
    let special = match seed.checked_sub(FINITE + 1) {
        Some(first) => {
            let mut special = SPECIAL;
            special.rotate_left(first as usize % SPECIAL.len());
            special.to_vec()
        }
        None => Vec::new(),
    };
    Recipe { seed, special: &special, most: MANY, size: &|_, _, _| UNKNOWN_SIZE, given: &|_| None }.make(f)
}

#[cfg(test)]
mod tests {
    use super::*;
    use relais_plugin_api::{boundary::local, infer::Operators, text};

    /// Computes `Neg`, and nothing else.
    struct Neg {
        max_bytes_alive: u64,
    }

    impl Compute for Neg {
        fn with_ops(&self, function: &Function, body: &mut dyn FnMut(&mut dyn Operators)) {
            local::with_ops(function, |ops| body(ops));
        }

        fn known(&self, call: CallView<'_>, inputs: &[Option<Tensor>]) -> Option<Tensor> {
            let input = inputs.first()?.as_ref().filter(|_| call.is_op("Neg"))?;
            let values: Vec<f32> = input.to_f32s()?.into_iter().map(|value| -value).collect();
            Some(Tensor::from_f32(input.dims(), &values))
        }

        fn max_bytes_alive(&self) -> u64 {
            self.max_bytes_alive
        }
    }

    fn judge(before: &str, after: &str) -> Result<Judgement, Differ> {
        let read = |body: &str| text::parse_str(&format!("def @main(%x: Tensor[(2), float32]) {{ {body} }}")).unwrap();
        same_numbers(&read(before), &read(after), 1e-4, &Neg { max_bytes_alive: u64::MAX })
    }

    #[test]
    fn results_that_are_alive_at_once_are_limited() {
        let run = |body: &str| {
            let module = text::parse_str(&format!("def @main(%x: Tensor[(2), float32]) {{ {body} }}")).unwrap();
            let inputs = [Tensor::from_f32(&[2], &[1.0, 2.0])];
            interpret::run(&module, MAIN, &inputs, &Neg { max_bytes_alive: 8 })
        };
        assert!(run("%1 = Neg(%x); %2 = Neg(%1); %3 = Neg(%2); %3").is_ok());
        let Err(NotComputed::NotCovered { why, .. }) = run("%1 = Neg(%x); %2 = Neg(%x); (%1, %2)") else {
            panic!("two results of 8 bytes are alive")
        };
        assert!(why.contains("takes more than 8 bytes"), "{why}");
    }

    #[test]
    fn results_are_compared() {
        assert_eq!(judge("%x", "%1 = Neg(%x); %2 = Neg(%1); %2"), Ok(Judgement::Same));
        let differ = judge("%x", "%1 = Neg(%x); %1").unwrap_err();
        assert!(!differ.is_special && differ.is_fault_of_after, "{differ:?}");
        assert!(differ.how.starts_with("result 0 was float32 [2] of ["), "{differ:?}");
        let [(name, values)] = &differ.inputs[..] else { panic!("{differ:?}") };
        assert!(name == "%x" && differ.how.contains(&format!("was {values} and is ")), "{differ:?}");
        assert_eq!(judge("%x", "(%x, %x)").unwrap_err().how, "1 results became 2, for inputs of seed 1");
    }

    #[test]
    fn rounding_is_no_difference() {
        let constant = |value: &str| format!("%1 = const(float32, [{value}, 1.0]); %1");
        assert_eq!(judge(&constant("1.0"), &constant("1.00001")), Ok(Judgement::Same));
        assert!(judge(&constant("1.0"), &constant("1.001")).is_err());
        assert_eq!(judge(&constant("nan"), &constant("nan")), Ok(Judgement::Same));
        assert!(judge(&constant("nan"), &constant("1.0")).is_err());
    }

    fn compared(a: &Tensor, b: &Tensor, relative: f64, absolute: Option<f64>) -> TensorComparison {
        compare_tensors(a, b, Tolerance { relative, absolute })
    }

    #[test]
    fn the_larger_bound_counts() {
        let close = |a: f32, b: f32, relative, absolute| {
            // The second element is the largest magnitude.
            let tensor = |x| Tensor::from_f32(&[2], &[x, 0.5]);
            matches!(compared(&tensor(a), &tensor(b), relative, absolute), TensorComparison::Close(_))
        };
        assert!(close(100.0, 100.009, 1e-4, Some(0.0)) && !close(100.0, 100.011, 1e-4, Some(0.0)));
        assert!(close(0.0, 1e-5, 1e-4, Some(1.1e-5)) && !close(0.0, 1e-5, 1e-4, Some(0.9e-5)));
        // By default a tenth of the relative one, of the largest magnitude.
        assert!(close(0.0, 4.9e-6, 1e-4, None) && !close(0.0, 5.1e-6, 1e-4, None));
        assert!(close(0.0, 0.0, 0.0, None) && !close(0.1, 0.100_000_01, 0.0, None));
        assert!(close(0.0, -0.0, 0.0, Some(0.0)));
        let half = |x| Tensor::from_f64s(ElemType::FLOAT16, &[], &[x]).unwrap();
        assert_eq!(compared(&half(1.0), &half(1.003), 1e-6, None), TensorComparison::Close(0.0029296875));
        assert!(matches!(compared(&half(1.0), &half(1.01), 1e-6, None), TensorComparison::Differ(_)));
    }

    #[test]
    fn the_largest_difference_is_shown() {
        let a = Tensor::from_f32(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let b = Tensor::from_f32(&[2, 3], &[1.5, 2.0, 3.0, 4.0, 4.0, 6.5]);
        let difference = |index: &[u64], values: [&str; 2], distance, count| {
            TensorComparison::Differ(TensorDifference {
                index: index.to_vec(),
                values: values.map(str::to_owned),
                distance,
                count,
            })
        };
        assert_eq!(compared(&a, &b, 1e-4, None), difference(&[1, 1], ["5", "4"], 1.0, 3));
        let special = |x: f32| Tensor::from_f32(&[], &[x]);
        let (inf, nan) = (f32::INFINITY, f32::NAN);
        assert_eq!(compared(&special(inf), &special(inf), 0.0, None), TensorComparison::Close(0.0));
        assert_eq!(compared(&special(nan), &special(-nan), 0.0, None), TensorComparison::Close(0.0));
        assert_eq!(compared(&special(inf), &special(1.0), 1e9, None), difference(&[], ["inf", "1"], f64::INFINITY, 1));
        assert_eq!(compared(&special(1.0), &special(nan), 1e9, None), difference(&[], ["1", "NaN"], f64::INFINITY, 1));
        let (x, y) = (Tensor::from_i64(&[2], &[7, 1 << 60]), Tensor::from_i64(&[2], &[7, (1 << 60) + 1]));
        assert_eq!(
            compared(&x, &y, 1.0, None),
            difference(&[1], ["1152921504606846976", "1152921504606846977"], 1.0, 1)
        );
        let text = |text: &str| Tensor::from_strings(&[1], [text.as_bytes()]).unwrap();
        assert_eq!(compared(&text("a"), &text("b"), 1.0, None), difference(&[0], ["\"a\"", "\"b\""], f64::INFINITY, 1));
        let bools = |bytes: Vec<u8>| Tensor::dense(ElemType::BOOL, &[2], bytes).unwrap();
        let (on, off) = (bools(vec![1, 1]), bools(vec![1, 0]));
        assert!(matches!(compared(&on, &off, 1.0, None), TensorComparison::Differ(TensorDifference { count: 1, .. })));
        assert_eq!(compared(&a, &a.reshaped(&[3, 2]).unwrap(), 1.0, None), TensorComparison::OtherType);
        assert_eq!(compared(&x, &special(1.0), 1.0, None), TensorComparison::OtherType);
    }

    #[test]
    fn an_output_is_as_good_as_its_model_if_it_is_as_near_to_the_reference() {
        let doubles = |values: &[f64]| Tensor::from_f64s(ElemType::DOUBLE, &[values.len() as u64], values).unwrap();
        let floats = |values: &[f32]| Tensor::from_f32(&[values.len() as u64], values);
        let tolerance = Tolerance { relative: 1e-4, absolute: None };
        let judged = |model: &[f32], output: &[f32], reference: &[f64], rounded: Option<&[f32]>| {
            let (evaluated, rounded) = (floats(model), rounded.map(floats));
            let yardstick = Yardstick { evaluated, reference: doubles(reference), rounded };
            is_as_good(&floats(model), &floats(output), &yardstick, tolerance, (ElemType::UNKNOWN, 0.0))
        };
        // The rest of larger terms that cancel.
        let (model, reference) = ([4.7e-6, 1e-6], [4.6e-6, 1e-6]);
        assert!(judged(&model, &[4.55e-6, 1e-6], &reference, None));
        assert!(!judged(&model, &[4.6e-6, 4e-6], &reference, None), "more than 16 times its error");
        // All of it is noise.
        assert!(judged(&[3e-8, 1e-7], &[1.2e-7, 1e-7], &[6e-8, 1e-7], None));
        let noisy = [5e-8, 9e-8].map(|it| it as f32);
        assert!(!judged(&[6e-8, 1e-7], &[1.2e-7, 1e-7], &[6e-8, 1e-7], Some(&noisy)), "half of the largest value");
        assert!(!judged(&[4.6e-6, 1e-6], &[4.55e-6, 1e-6], &reference, None), "the model is exact");
        // A result that is computed from numbers of about 1 is rounded as they are.
        let sigmoid = |output: &[f32], around: f64| {
            let model = floats(&[4.6e-6, 1e-6]);
            let yardstick = Yardstick { evaluated: model.clone(), reference: doubles(&reference), rounded: None };
            is_as_good(&model, &floats(output), &yardstick, tolerance, (ElemType::UNKNOWN, around))
        };
        assert!(sigmoid(&[4.4e-6, 1e-6], 1.0) && !sigmoid(&[4.4e-6, 1e-6], 0.0) && !sigmoid(&[4.3e-6, 1e-6], 1.0));
        // The same in fewer digits.
        assert!(judged(&[1.0, 2.0], &[1.004, 2.0], &[1.0, 2.0], Some(&[1.0005, 2.001])));
        assert!(!judged(&[1.0, 2.0], &[1.1, 2.0], &[1.0, 2.0], Some(&[1.0005, 2.001])));
        // A value that is not a number in one of them is not a number in the other.
        let nan = f32::NAN;
        assert!(judged(&[nan, 1.0], &[nan, 1.0], &[0.0, 1.0], None));
        assert!(!judged(&[nan, 1.0], &[0.0, 1.0], &[0.0, 1.0], None));
        assert!(!judged(&[0.0, 1.0], &[nan, 1.0], &[0.0, 1.0], None));
    }

    #[test]
    fn what_cannot_be_computed_is_named() {
        let named = |judgement| match judgement {
            Ok(Judgement::NotEvaluated { what, .. }) => what,
            other => panic!("{other:?}"),
        };
        assert_eq!(named(judge("%1 = Foo(%x); %1", "%1 = Foo(%x); %1")), "Foo");
        // Only values that depend on it are unknown.
        assert_eq!(judge("%1 = Foo(%x); %x", "%x"), Ok(Judgement::Same));
        assert!(judge("%1 = Foo(%x); (%1, %x)", "%1 = Foo(%x); %2 = Neg(%x); (%1, %2)").is_err());
        assert_eq!(named(judge("%1 = @main(%x); %1", "%1 = @main(%x); %1")), "a block");
    }

    #[test]
    fn every_special_number_comes_first_once_in_every_float_type() {
        for elem in ["float32", "float64", "float16", "bfloat16"] {
            let text = format!("def @main(%x: Tensor[(), {elem}], %n: Tensor[(1), uint16]) {{ %x }}");
            let module = text::parse_str(&text).unwrap();
            let first = |seed| inputs(module.main().unwrap(), seed).unwrap()[0].to_f64().unwrap();
            assert!((1..=FINITE).map(first).all(|value| value.is_finite() && value.to_bits() != (-0.0f64).to_bits()));
            let special: Vec<u64> = (FINITE + 1..).map(first).map(f64::to_bits).take(SPECIAL.len()).collect();
            assert_eq!(special, SPECIAL.map(f64::to_bits), "{elem}");
        }
    }

    #[test]
    fn conditionals_take_one_branch() {
        let conditional =
            |cond: &str| format!("%c = const(bool, {cond}); %1 = if (%c) {{ %x }} else {{ %2 = Neg(%x); %2 }}; %1");
        assert_eq!(judge(&conditional("true"), "%x"), Ok(Judgement::Same));
        assert_eq!(judge(&conditional("false"), "%1 = Neg(%x); %1"), Ok(Judgement::Same));
        assert!(judge(&conditional("false"), "%x").is_err());
    }
}

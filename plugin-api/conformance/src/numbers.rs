//! Whether two modules compute the same, on seeded values.

use super::interpret::{self, Compute, Stop};
use relais_plugin_api::ir::*;

/// The most elements that a parameter gets.
const MANY: u64 = 1 << 20;

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

/// Runs `@main` of two modules on the same values, which are the same in every run.
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
    let main = before.main().ok_or_else(nothing)?;
    let mut judgement = Judgement::Same;
    for seed in 1..=FINITE + SPECIAL.len() as u64 {
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
        Err(Stop::Wrong(how)) => return Err((how, false)),
        Err(Stop::NotCovered { what, why }) => return Ok(Some((what, why))),
    };
    let new = match interpret::run(after, MAIN, inputs, compute) {
        Ok(new) => new,
        Err(Stop::Wrong(how)) => return Err((how, true)),
        Err(Stop::NotCovered { what, why }) => return Ok(Some((what, why))),
    };
    if old.len() != new.len() {
        return Err((format!("{} results became {}", old.len(), new.len()), true));
    }
    let mut uncovered = None;
    for (at, pair) in old.iter().zip(&new).enumerate() {
        match pair {
            (Ok(a), Ok(b)) if is_close(a, b, tolerance) => {}
            (Ok(a), Ok(b)) => return Err((format!("result {at} was {} and is {}", values(a), values(b)), true)),
            (Err(Stop::Wrong(how)), _) => return Err((how.clone(), false)),
            (_, Err(Stop::Wrong(how))) => return Err((how.clone(), true)),
            (Err(Stop::NotCovered { what, why }), _) | (_, Err(Stop::NotCovered { what, why })) => {
                uncovered.get_or_insert_with(|| (what.clone(), why.clone()));
            }
        }
    }
    Ok(uncovered)
}

/// Its type and first values.
fn values(tensor: &Tensor) -> String {
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

fn is_close(a: &Tensor, b: &Tensor, tolerance: f64) -> bool {
    if a == b {
        return true;
    }
    let (Some(x), Some(y)) = (floats(a), floats(b)) else { return false };
    // A few digits of the type are rounding, however exact the others are.
    let tolerance = match a.elem() {
        _ if tolerance == 0.0 => 0.0,
        ElemType::FLOAT16 => tolerance.max(4.0 / 1024.0),
        ElemType::BFLOAT16 => tolerance.max(4.0 / 128.0),
        _ => tolerance,
    };
    tolerance > 0.0
        && a.elem() == b.elem()
        && a.dims() == b.dims()
        && x.iter().zip(&y).all(|(&x, &y)| {
            (x.is_nan() && y.is_nan()) || x == y || (x - y).abs() <= tolerance * x.abs().max(y.abs()).max(1.0)
        })
}

/// Values for each parameter.
///
/// # Errors
/// Returns the first parameter for whose type no values can be generated here.
pub(super) fn inputs(f: &Function, seed: u64) -> Result<Vec<Tensor>, NodeId> {
    let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    let mut values = |param: NodeId, mut special: &[f64]| {
        let Type::Tensor { elem, shape } = f.type_of(param) else { return None };
        let shape: Vec<Dim> = shape.map_or(vec![Dim::Unknown], |dims| dims.iter().map(|&dim| dim.into()).collect());
        let dims: Vec<u64> = shape.into_iter().map(|dim| dim.known().unwrap_or(UNKNOWN_SIZE)).collect();
        let count = element_count(&dims).filter(|&count| count <= MANY)?;
        let mut float = || match special.split_off_first() {
            Some(&special) => special,
            None => (next() % 2001) as f64 / 500.0 - 2.0,
        };
        let width = elem.bits() as usize / 8;
        let bytes: Vec<u8> = match elem {
            ElemType::FLOAT | ElemType::DOUBLE | ElemType::FLOAT16 | ElemType::BFLOAT16 => {
                return Tensor::from_f64s(elem, &dims, &(0..count).map(|_| float()).collect::<Vec<f64>>());
            }
            ElemType::INT64 | ElemType::INT32 | ElemType::INT16 | ElemType::INT8 => {
                (0..count).flat_map(|_| ((next() % 17) as i64 - 8).to_le_bytes().into_iter().take(width)).collect()
            }
            ElemType::UINT64 | ElemType::UINT32 | ElemType::UINT16 | ElemType::UINT8 => {
                (0..count).flat_map(|_| (next() % 17).to_le_bytes().into_iter().take(width)).collect()
            }
            ElemType::BOOL => (0..count).map(|_| (next() % 2) as u8).collect(),
            _ => return None,
        };
        Tensor::dense(elem, &dims, bytes).ok()
    };
    let special = match seed.checked_sub(FINITE + 1) {
        Some(first) => {
            let mut special = SPECIAL;
            special.rotate_left(first as usize % SPECIAL.len());
            special.to_vec()
        }
        None => Vec::new(),
    };
    f.params().iter().map(|&param| values(param, &special).ok_or(param)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use relais_plugin_api::{boundary::local, infer::Operators, text};

    /// Computes `Neg`, and nothing else.
    struct Neg;

    impl Compute for Neg {
        fn with_ops(&self, function: &Function, body: &mut dyn FnMut(&mut dyn Operators)) {
            local::with_ops(function, |ops| body(ops));
        }

        fn known(&self, call: CallView<'_>, inputs: &[Option<Tensor>]) -> Option<Tensor> {
            let input = inputs.first()?.as_ref().filter(|_| call.is_op("Neg"))?;
            let values: Vec<f32> = input.to_f32s()?.into_iter().map(|value| -value).collect();
            Some(Tensor::from_f32(input.dims(), &values))
        }
    }

    fn judge(before: &str, after: &str) -> Result<Judgement, Differ> {
        let read = |body: &str| text::parse_str(&format!("def @main(%x: Tensor[(2), float32]) {{ {body} }}")).unwrap();
        same_numbers(&read(before), &read(after), 1e-4, &Neg)
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

//! Whether two modules compute the same, on seeded values.

use crate::interpret::{self, Stop};
use relais_plugin_api::ir::*;

/// The most elements that a parameter gets.
const MANY: u64 = 1 << 20;

/// What comparing two modules gave.
pub enum Judgement {
    /// They compute the same.
    Same,
    /// They were not run to their ends.
    NotEvaluated {
        /// The operator or the parameter.
        what: String,
        /// The reason.
        why: String,
    },
}

/// Runs `@main` of two modules on the same values, which are the same in every run of this program.
///
/// # Errors
/// How the results differ, or what is wrong with a module.
pub fn same_numbers(before: &IRModule, after: &IRModule, tolerance: f64) -> Result<Judgement, String> {
    let main = before.main().ok_or("no `@main`")?;
    for seed in 1..=3 {
        let inputs = match inputs(main, seed) {
            Ok(inputs) => inputs,
            Err(param) => {
                let what = format!("%{}", main.name(param));
                let why = format!("there are no values for parameter `{what}`");
                return Ok(Judgement::NotEvaluated { what, why });
            }
        };
        let [old, new] = [before, after].map(|module| interpret::run(module, MAIN, &inputs));
        let (old, new) = match (old, new) {
            (Ok(old), Ok(new)) => (old, new),
            (Err(Stop::Wrong(how)), _) | (_, Err(Stop::Wrong(how))) => return Err(how),
            (Err(Stop::NotCovered { what, why }), _) | (_, Err(Stop::NotCovered { what, why })) => {
                return Ok(Judgement::NotEvaluated { what, why });
            }
        };
        if old.len() != new.len() {
            return Err(format!("{} results became {}", old.len(), new.len()));
        }
        for (at, (a, b)) in old.iter().zip(&new).enumerate() {
            if !is_close(a, b, tolerance) {
                return Err(format!("result {at} differs for seed {seed}: {:?} and {:?}", values(a), values(b)));
            }
        }
    }
    Ok(Judgement::Same)
}

fn values(tensor: &Tensor) -> String {
    match (tensor.to_f32s(), tensor.to_i64s()) {
        (Some(values), _) => format!("{values:?}"),
        (_, Some(values)) => format!("{values:?}"),
        _ => format!("{:?}", tensor.to_bytes()),
    }
}

fn is_close(a: &Tensor, b: &Tensor, tolerance: f64) -> bool {
    if a == b {
        return true;
    }
    let (Some(x), Some(y)) = (a.to_f32s(), b.to_f32s()) else { return false };
    tolerance > 0.0
        && a.dims() == b.dims()
        && x.iter().zip(&y).all(|(&x, &y)| {
            let (x, y) = (f64::from(x), f64::from(y));
            (x.is_nan() && y.is_nan()) || x == y || (x - y).abs() <= tolerance * x.abs().max(y.abs()).max(1.0)
        })
}

/// Values for each parameter, with negative zero, infinity and NaN among the floats.
///
/// # Errors
/// The first parameter whose type has no such values here.
fn inputs(f: &Function, seed: u64) -> Result<Vec<Tensor>, NodeId> {
    let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    let mut values = |param: NodeId| {
        let Type::Tensor { elem, shape } = f.type_of(param) else { return None };
        let shape: Vec<Dim> = shape.map_or(vec![Dim::Unknown], |dims| dims.iter().map(|&dim| dim.into()).collect());
        let dims: Vec<u64> = shape.into_iter().map(|dim| dim.known().unwrap_or(2)).collect();
        let count = element_count(&dims).filter(|&count| count <= MANY)? as usize;
        let mut special = [-0.0f32, f32::INFINITY, f32::NAN, 0.0].into_iter().filter(|_| seed == 3);
        let mut float = || special.next().unwrap_or((next() % 2001) as f32 / 500.0 - 2.0);
        let bytes: Vec<u8> = match elem {
            ElemType::FLOAT => (0..count).flat_map(|_| float().to_le_bytes()).collect(),
            ElemType::DOUBLE => (0..count).flat_map(|_| f64::from(float()).to_le_bytes()).collect(),
            ElemType::FLOAT16 => (0..count).flat_map(|_| [0, 0x3c + (next() % 8) as u8]).collect(),
            ElemType::INT64 => (0..count).flat_map(|_| ((next() % 17) as i64 - 8).to_le_bytes()).collect(),
            ElemType::INT32 => (0..count).flat_map(|_| ((next() % 17) as i32 - 8).to_le_bytes()).collect(),
            ElemType::INT8 => (0..count).map(|_| ((next() % 17) as i8 - 8) as u8).collect(),
            ElemType::UINT8 => (0..count).map(|_| (next() % 17) as u8).collect(),
            ElemType::BOOL => (0..count).map(|_| (next() % 2) as u8).collect(),
            _ => return None,
        };
        Tensor::dense(elem, &dims, bytes).ok()
    };
    f.params().iter().map(|&param| values(param).ok_or(param)).collect()
}

//! Whether the loop programs of two modules compute the same, on seeded values.

use super::{Differ, Judgement, N_SEEDS};
use relais_plugin_api::{
    ir::*,
    prim::{Cause, Order, RunOptions, n_outputs, run},
};

/// The most steps of a run.
const FUEL: u64 = 1 << 22;
/// The most bytes of a run.
const MOST_BYTES: u64 = 1 << 26;

/// Runs each prim func that both modules have, of the same parameters, on the same values. `None` if there is none.
///
/// A run that stops in the first module, for an index out of bounds or a division by zero, is not compared: a pass may
/// remove what stops it. Neither are elements that are not written, or depend on memory that was never written.
///
/// # Errors
/// Returns how the results differ.
pub(in super::super) fn same_prims(before: &IRModule, after: &IRModule) -> Result<Option<Judgement>, Differ> {
    let mut judgement = None;
    for global in before.globals() {
        let (Some(old), Some(new)) = (global.prim_func(), after.global(&global.name).and_then(Global::prim_func))
        else {
            continue;
        };
        if signature(old) != signature(new) {
            continue;
        }
        let this = same_prim(before, after, &global.name, old)?;
        if judgement.is_none() || this != Judgement::Same {
            judgement = Some(this);
        }
    }
    Ok(judgement)
}

fn signature(f: &Function) -> (usize, Vec<String>) {
    let types = f.params().iter().map(|&param| format!("{:?}", f.type_of(param).as_tensor()));
    (n_outputs(f), types.collect())
}

fn same_prim(before: &IRModule, after: &IRModule, name: &str, f: &Function) -> Result<Judgement, Differ> {
    let not_evaluated = |why: String| Judgement::NotEvaluated { what: format!("@{name}"), why };
    let mut judgement = None;
    let has_inputs = f.params().len() > n_outputs(f);
    for seed in 1..=if has_inputs { N_SEEDS } else { 1 } {
        let inputs = match super::inputs(f, seed) {
            Ok(mut inputs) => {
                inputs.truncate(f.params().len() - n_outputs(f));
                inputs
            }
            Err(param) => return Ok(not_evaluated(format!("there are no values for parameter `%{}`", f.name(param)))),
        };
        let run_in = |module: &IRModule, poison: bool, order: Order| {
            let mut options = RunOptions::default();
            (options.fuel, options.max_bytes) = (FUEL, MOST_BYTES);
            (options.poison, options.order) = (poison, order);
            run(module, name, &inputs, &options)
        };
        let run = |module: &IRModule, poison: bool| run_in(module, poison, Order::Forward);
        let differ = |how: String, is_fault_of_after: bool| {
            let names = f.params().iter().map(|&param| format!("%{}", f.name(param)));
            let inputs = names.zip(inputs.iter().map(super::values)).collect();
            let how = match has_inputs {
                true => format!("`@{name}`: {how}, for inputs of seed {seed}"),
                false => format!("`@{name}`: {how}"),
            };
            Differ { how, inputs, is_special: false, is_fault_of_after }
        };
        let old = match run(before, false) {
            Ok(old) => old,
            Err(stop) if matches!(stop.cause, Cause::Wrong(_)) => return Err(differ(stop.to_string(), false)),
            Err(stop) => {
                judgement.get_or_insert_with(|| not_evaluated(format!("it stops: {stop}")));
                continue;
            }
        };
        let Ok(poisoned) = run(before, true) else {
            judgement.get_or_insert_with(|| not_evaluated("it reads memory that it did not write".to_owned()));
            continue;
        };
        let defined: Vec<Vec<bool>> = old.iter().zip(&poisoned).map(|(a, b)| equal_elements(a, b)).collect();
        // Where the turns of parallel loops do not disturb each other, they still must not.
        let shuffled = Order::Shuffled(seed);
        let is_free = run_in(before, false, shuffled).is_ok_and(|free| same_everywhere(&old, &free, &defined));
        let orders =
            [Some((false, Order::Forward)), Some((true, Order::Forward)), is_free.then_some((false, shuffled))];
        for (poison, order) in orders.into_iter().flatten() {
            let new = run_in(after, poison, order).map_err(|stop| differ(stop.to_string(), true))?;
            for (at, ((was, is), defined)) in old.iter().zip(&new).zip(&defined).enumerate() {
                if !is_same(was, is, defined) {
                    let (was, is) = (super::values(was), super::values(is));
                    let when = if order == Order::Forward {
                        ""
                    } else {
                        ", with the turns of parallel loops in another order"
                    };
                    return Err(differ(format!("output {at} was {was} and is {is}{when}"), true));
                }
            }
        }
        if defined.iter().flatten().any(|&defined| defined) {
            judgement = Some(Judgement::Same);
        } else {
            judgement
                .get_or_insert_with(|| not_evaluated("it writes nothing that does not depend on chance".to_owned()));
        }
    }
    Ok(judgement.unwrap_or_else(|| not_evaluated("nothing ran".to_owned())))
}

/// Whether outputs are the same where they are defined.
fn same_everywhere(a: &[Tensor], b: &[Tensor], defined: &[Vec<bool>]) -> bool {
    a.len() == b.len() && a.iter().zip(b).zip(defined).all(|((a, b), defined)| is_same(a, b, defined))
}

/// Whether two tensors are the same where they are defined.
fn is_same(a: &Tensor, b: &Tensor, defined: &[bool]) -> bool {
    let equal = equal_elements(a, b);
    equal.len() == defined.len() && equal.iter().zip(defined).all(|(&equal, &defined)| equal || !defined)
}

/// Which elements of two tensors of one type are the same, bit by bit; NaNs may differ in their bits.
fn equal_elements(a: &Tensor, b: &Tensor) -> Vec<bool> {
    let width = (a.elem().bits() as usize / 8).max(1);
    let (x, y) = (a.to_bytes(), b.to_bytes());
    let mut equal: Vec<bool> = x.chunks(width).zip(y.chunks(width)).map(|(x, y)| x == y).collect();
    if let (true, Some(x), Some(y)) = (a.elem().is_float(), a.to_f64s(), b.to_f64s()) {
        for (equal, (x, y)) in equal.iter_mut().zip(x.iter().zip(&y)) {
            *equal |= x.is_nan() && y.is_nan();
        }
    }
    equal
}

#[cfg(test)]
mod tests {
    use super::*;
    use relais_plugin_api::text;

    fn judge(before: &str, after: &str) -> Result<Option<Judgement>, Differ> {
        let read = |body: &str| {
            let head = "prim @k(%x: Tensor[(4), float32], %n: Tensor[(4), int64]) -> (%y: Tensor[(4), float32])";
            let module = text::parse_str(&format!("{head} {{ {body} }}")).unwrap();
            assert_eq!(verify(&module), []);
            module
        };
        same_prims(&read(before), &read(after))
    }

    const COPY: &str = "for %i in 0..4 { %y[%i] = %x[%i]; }";

    #[test]
    fn outputs_are_compared() {
        let unrolled = "%y[0] = %x[0]; %y[1] = %x[1]; %y[2] = %x[2]; %y[3] = %x[3];";
        assert_eq!(judge(COPY, unrolled), Ok(Some(Judgement::Same)));
        let differ = judge(COPY, "for %i in 0..4 { %y[%i] = %x[%i] + 1.0; }").unwrap_err();
        assert!(
            differ.is_fault_of_after && differ.how.starts_with("`@k`: output 0 was float32 [4] of ["),
            "{differ:?}"
        );
        // Only negative zeros and NaN tell these apart.
        assert!(judge(COPY, "for %i in 0..4 { %y[%i] = %x[%i] + 0.0; }").is_err());
        assert!(judge(COPY, "for %i in 0..5 { %y[%i] = %x[%i]; }").is_err());
        assert!(judge(COPY, "for %i in 0..3 { %y[%i] = %x[%i]; }").is_err());
    }

    /// Each turn writes its own place before; afterwards all write the same one.
    #[test]
    fn turns_of_parallel_loops_may_come_in_any_order() {
        let apart = "for %i in 0..4 parallel { %y[%i] = %x[%i]; }";
        assert_eq!(judge(COPY, apart), Ok(Some(Judgement::Same)));
        let shared = "for %i in 0..4 parallel { %y[%i] = %x[%i]; %y[0] = %x[%i]; } %y[0] = %x[0];";
        assert_eq!(judge(COPY, shared), Ok(Some(Judgement::Same)));
        let last = "for %i in 0..3 { %y[%i] = %x[%i]; } %y[3] = %x[3];
            for %i in 0..4 parallel { %y[3] = %x[%i]; }";
        let differ = judge(COPY, last).unwrap_err();
        assert!(differ.how.contains("with the turns of parallel loops in another order"), "{differ:?}");
        // Turns that disturb each other before may do so afterwards.
        let before = format!("{COPY} for %i in 0..4 parallel {{ %y[3] = %x[%i]; }}");
        assert_eq!(judge(&before, last), Ok(Some(Judgement::Same)));
    }

    #[test]
    fn what_stops_is_not_compared() {
        let Ok(Some(Judgement::NotEvaluated { what, why })) = judge("for %i in 0..5 { %y[%i] = 1.0; }", COPY) else {
            panic!()
        };
        assert!(what == "@k" && why.contains("out of bounds"), "{why}");
        // Memory that was never written may have any contents.
        assert!(matches!(
            judge("%b = alloc float32[4]; %y[0] = %b[0];", COPY),
            Ok(Some(Judgement::NotEvaluated { .. }))
        ));
        assert_eq!(judge("%b = alloc float32[4]; %y[0] = %b[0]; %y[1] = %x[1];", COPY), Ok(Some(Judgement::Same)));
        assert!(judge("%b = alloc float32[4]; %y[0] = %b[0]; %y[1] = %x[2];", COPY).is_err());
    }

    #[test]
    fn modules_without_loop_programs_have_nothing_to_compare() {
        assert_eq!(same_prims(&IRModule::new(), &IRModule::new()), Ok(None));
    }
}

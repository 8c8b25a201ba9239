//! The verifier of the results of passes.

use super::spread;
use rayon::prelude::*;
use relais_plugin_api::{
    diagnostics::PassError,
    ir::{Fault, Function, IRModule, NodeId, Verifier, verify_arena},
};

/// The maximum number of reported faults of one pass.
const MAX_TOLD: usize = 5;

/// Verifies a module that a pass returned.
pub(crate) fn check(module: &IRModule) -> Result<(), PassError> {
    check_with(module, Verifier::global)
}

/// Verifies a module whose functions passed [`check_arena`], or were not changed by any pass.
pub(crate) fn check_programs(module: &IRModule) -> Result<(), PassError> {
    check_with(module, Verifier::program)
}

fn check_with<'m>(
    module: &'m IRModule,
    verify: impl Fn(&Verifier<'m>, &str, &Function) -> Vec<Fault> + Sync,
) -> Result<(), PassError> {
    let (verifier, functions) = (Verifier::new(module), module.bodies().collect::<Vec<_>>());
    let faults: Vec<_> =
        spread(|| functions.par_iter().map(|(name, function)| verify(&verifier, name, function)).collect());
    judge(&faults.concat())
}

/// Verifies the memory of a function that a pass returned: it must not be read otherwise before that.
pub(crate) fn check_arena(name: &str, function: &Function) -> Result<(), PassError> {
    let faults = verify_arena(function).into_iter();
    judge(&faults.map(|fault| Fault { global: name.to_owned(), ..fault }).collect::<Vec<_>>())
}

fn judge(faults: &[Fault]) -> Result<(), PassError> {
    let Some(first) = faults.first() else { return Ok(()) };
    let error = PassError::new(format!("it breaks the program: {}", first.message))
        .code(first.code.as_str())
        .in_function(&first.global)
        .at(first.node.unwrap_or(NodeId::ABSENT))
        .help("its author has to mend the pass; `--disable` runs the pipeline without it");
    let rest = faults.iter().take(MAX_TOLD);
    let error = rest.fold(error, |error, fault| error.with_note(fault));
    Err(match faults.len().checked_sub(MAX_TOLD).filter(|&n| n > 0) {
        Some(n_more) => error.with_note(format!("and {n_more} more")),
        None => error,
    })
}

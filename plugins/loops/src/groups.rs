//! Loop programs of groups: of functions whose calls are computed together, as `FuseOps` makes them.

use crate::{
    calls::MAIN,
    fuse::{shrink, stack},
    graphs::{is_group, kernel},
    inline_producers::inline,
    lower_main::{is_lowered, lower},
};
use relais_plugin_api::{
    ir::Copier,
    prelude::*,
    prim::{CoreOp, LoopOps},
};

/// The most bindings of the loop program of a group.
const MOST_BINDINGS: usize = 1 << 12;

/// The names of the groups of a module that only call loop programs.
pub fn lowered_groups(module: &IRModule) -> Vec<String> {
    let groups = module.functions().filter(|&(name, f)| name != MAIN && is_group(f) && is_lowered(module, f));
    groups.map(|(name, _)| name.to_owned()).collect()
}

/// Makes one loop program of a group that only calls loop programs, with the memory between them gone, or as small as it can be:
/// at most `most_bytes` are left.
///
/// # Errors
/// Returns the reason if there is none.
pub fn lower_group(module: &IRModule, f: &Function, most_bytes: u64) -> Result<Result<Function, String>, PassError> {
    let made = lower(module, f)?;
    let list = made.bindings(made.body()).to_vec();
    let called = |id: NodeId| made.call(id).and_then(|call| Some((call, kernel(module, call)?.1)));
    let n_bindings: usize =
        list.iter().map(|&id| called(id).map_or(1, |(_, kernel)| kernel.all_bindings().count())).sum();
    if n_bindings > MOST_BINDINGS {
        return Ok(Err(format!("its {n_bindings} operations are more than {MOST_BINDINGS}")));
    }
    let mut whole = made.clone();
    whole.set_bindings(whole.body(), &[]);
    for &id in &list {
        let Some((call, kernel)) = called(id) else {
            whole.append(whole.body(), id);
            continue;
        };
        let mut copier = Copier::new(kernel).without_names();
        for (&param, &memory) in kernel.params().iter().zip(call.args()) {
            copier.set(param, memory);
        }
        for &id in kernel.bindings(kernel.body()) {
            let copy = copier.copy(&mut whole, id)?;
            whole.append(whole.body(), copy);
        }
    }
    let fused = fuse(whole, most_bytes);
    Ok(match stack(&fused) {
        bytes if bytes > most_bytes => Err(format!("its memory of {bytes} bytes is larger than `most_bytes`")),
        _ => Ok(fused.compacted()),
    })
}

/// Removes the memory between the loops of a function, or makes it smaller, where that is possible.
fn fuse(mut f: Function, most_bytes: u64) -> Function {
    let ops = LoopOps::new(&f);
    let is_alloc = |id: &NodeId| ops.of(&f, *id) == Some(CoreOp::Alloc);
    let mut open: Vec<NodeId> = f.bindings(f.body()).iter().copied().filter(is_alloc).collect();
    // Memory that stays may change after other memory has.
    loop {
        let n_open = open.len();
        open.retain(|&alloc| {
            let body = f.body();
            let shrunk = shrink(&f, body, alloc);
            let made = match shrunk {
                Ok(shrunk) if shrunk.bytes <= most_bytes => Some(shrunk.function),
                _ => inline(&f, body, alloc).ok(),
            };
            let stays = made.is_none();
            f = made.unwrap_or_else(|| std::mem::take(&mut f));
            stays
        });
        if open.len() == n_open {
            return f;
        }
    }
}

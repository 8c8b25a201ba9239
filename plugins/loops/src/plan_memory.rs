//! Gives each `alloc` of the entry function a place in one piece of memory, the *arena*.
//!
//! ```text
//! prim @main(…) -> (…) {
//!   %1 = alloc(shape = [100], elem = "float32");
//!   @a(%x, %1);
//!   %2 = alloc(shape = [100], elem = "float32");
//!   @b(%1, %2);
//!   %3 = alloc(shape = [50], elem = "float32");
//!   @c(%2, %3);
//!   …
//! }
//! ```
//! gives `%1` the metadata `offset = 0`, `%2` 448, `%3` 0 again, and the function `arena = 896`: bytes, as the offsets are.
//!
//! Memory is needed from its first use to its last one, in the order of the statements of the function's block. Memory that is
//! needed at the same time does not overlap; offsets are multiples of 64. Memory is placed in several orders, each at the
//! lowest offset at which it fits, and the smallest arena is taken: the largest first, as TensorFlow Lite's planner does
//! (`greedy_memory_planner.cc`), that which is needed longest, and in the order of the first or the last use. That comes close
//! to the largest sum of what is needed at one time, and sometimes does not reach it.
//!
//! The results do not change: an emitter that does not look at the metadata gives each `alloc` memory of its
//! own. An `alloc` within a loop or conditional is not placed.

use crate::program::set_attr;
use relais_plugin_api::{
    prelude::*,
    prim::{ARENA, ARENA_ALIGNMENT, Need, OFFSET, arena_offset, checked_arena, memory_needs},
};

/// The entry function.
const MAIN: &str = "main";

/// Gives each `alloc` of the entry function a place in one piece of memory.
#[module_pass(
    name = "relais.PlanMemory",
    opt_level = 0,
    phase = "none",
    statistics(
        placed = "allocations placed",
        arena = "bytes of the arena",
        live = "the most bytes that are needed at one time",
        separate = "bytes without sharing"
    )
)]
pub fn plan_memory(module: &mut IRModule, cx: &PassCx<'_>) -> Result<(), PassError> {
    let Some(f) = module.global(MAIN).and_then(|main| main.prim_func()).cloned() else { return Ok(()) };
    let needs = memory_needs(&f).map_err(|error| error.in_function(MAIN))?;
    if needs.is_empty() {
        return Ok(());
    }
    let (offsets, arena) = best_plan(&needs)?;
    let is_placed = |(need, &offset): (&Need, &u64)| arena_offset(&f, need.alloc) == Some(offset);
    if checked_arena(&f).ok() == Some(arena) && needs.iter().zip(&offsets).all(is_placed) {
        return Ok(());
    }
    let mut planned = Function::clone(&f);
    for (need, &offset) in needs.iter().zip(&offsets) {
        set_meta(&mut planned, need.alloc, OFFSET, offset)?;
    }
    let root = planned.root();
    set_meta(&mut planned, root, ARENA, arena)?;
    cx.count("placed", needs.len());
    cx.count("arena", usize::try_from(arena).unwrap_or(usize::MAX));
    let bytes = |need: &Need| aligned(need.bytes).unwrap_or(u64::MAX);
    cx.count("live", usize::try_from(most_live(&needs, bytes)).unwrap_or(usize::MAX));
    let separate = needs.iter().fold(0u64, |sum, need| sum.saturating_add(bytes(need)));
    cx.count("separate", usize::try_from(separate).unwrap_or(usize::MAX));
    module.set_prim_func(MAIN, planned);
    Ok(())
}

fn too_large(alloc: NodeId) -> PassError {
    PassError::new("the plan is more than 64 bits count").code("K005").at(alloc).in_function(MAIN)
}

fn aligned(bytes: u64) -> Option<u64> {
    bytes.checked_next_multiple_of(ARENA_ALIGNMENT)
}

/// The most bytes that are needed at one time, which no plan has less than. All memory is in one block.
pub fn most_live<'n>(needs: impl IntoIterator<Item = &'n Need>, bytes: impl Fn(&Need) -> u64) -> u64 {
    let ends = |need: &Need| [(need.first, true, bytes(need)), (need.last + 1, false, bytes(need))];
    let mut changes: Vec<(usize, bool, u64)> = needs.into_iter().flat_map(ends).collect();
    // At one place, what ends goes first.
    changes.sort_unstable();
    let (mut live, mut most) = (0_u64, 0_u64);
    for (_, begins, bytes) in changes {
        live = if begins { live.saturating_add(bytes) } else { live.saturating_sub(bytes) };
        most = most.max(live);
    }
    most
}

/// Returns the offset of each, and the size of the arena, in the order that gives the smallest one.
fn best_plan(needs: &[Need]) -> Result<(Vec<u64>, u64), PassError> {
    let largest = |need: &Need| std::cmp::Reverse(need.bytes);
    let mut best = place(needs, |need| (largest(need), need.first))?;
    let others = [
        place(needs, |need| (std::cmp::Reverse(need.last - need.first), largest(need)))?,
        place(needs, |need| (need.first, largest(need)))?,
        place(needs, |need| (std::cmp::Reverse(need.last), largest(need)))?,
    ];
    for plan in others {
        if plan.1 < best.1 {
            best = plan;
        }
    }
    Ok(best)
}

/// Returns the offset of each, and the size of the arena, where they are placed by a key.
fn place<K: Ord>(needs: &[Need], key: impl Fn(&Need) -> K) -> Result<(Vec<u64>, u64), PassError> {
    let mut order: Vec<usize> = (0..needs.len()).collect();
    order.sort_by_key(|&at| key(&needs[at]));
    let mut offsets = vec![0; needs.len()];
    // Placed ones, by offset: where each begins and ends.
    let mut placed: Vec<(u64, u64, usize)> = Vec::with_capacity(needs.len());
    let mut arena = 0;
    for at in order {
        let too_large = || too_large(needs[at].alloc);
        let bytes = aligned(needs[at].bytes).ok_or_else(too_large)?;
        let mut offset = 0u64;
        for &(start, end, other) in &placed {
            let fits = offset.checked_add(bytes).is_some_and(|end| end <= start);
            if !fits && needs[at].is_at_once(&needs[other]) {
                offset = offset.max(end);
            }
        }
        let end = offset.checked_add(bytes).ok_or_else(too_large)?;
        (offsets[at], arena) = (offset, end.max(arena));
        let place = placed.partition_point(|&(start, ..)| start <= offset);
        placed.insert(place, (offset, end, at));
    }
    Ok((offsets, arena))
}

/// Sets metadata that is a number.
fn set_meta(f: &mut Function, id: NodeId, name: &str, value: u64) -> Result<(), PassError> {
    let value = i64::try_from(value).map_err(|_| too_large(id))?;
    set_attr(f, id, &Attr::meta(name.to_owned(), value));
    Ok(())
}

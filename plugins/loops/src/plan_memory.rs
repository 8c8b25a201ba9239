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
//! needed at the same time does not overlap; offsets are multiples of 64. Memory is placed by size, the largest first, at the
//! lowest offset at which it fits: as TensorFlow Lite's planner (`greedy_memory_planner.cc`). That comes close to the
//! largest sum of what is needed at one time, and sometimes does not reach it.
//!
//! The results do not change: an emitter that does not look at the metadata gives each `alloc` memory of its
//! own. An `alloc` within a loop or conditional is not placed.

use crate::program::set_attr;
use relais_plugin_api::{
    ir::{AttrValue, Type},
    prelude::*,
    prim::{CoreOp, LoopOps},
};
use std::collections::HashMap;

/// The metadata of an `alloc`: where it is in the arena, in bytes.
pub const OFFSET: &str = "offset";
/// The metadata of a prim func: how many bytes its arena has.
pub const ARENA: &str = "arena";
/// The alignment of offsets, and of the arena: that of a line of a cache, and of the widest vectors.
const ALIGNMENT: u64 = 64;
/// The entry function.
const MAIN: &str = "main";

/// Gives each `alloc` of the entry function a place in one piece of memory.
#[module_pass(
    name = "relais.PlanMemory",
    opt_level = 0,
    phase = "none",
    statistics(placed = "allocations placed", arena = "bytes of the arena", separate = "bytes without sharing")
)]
pub fn plan_memory(module: &mut IRModule, cx: &PassCx<'_>) -> Result<(), PassError> {
    let Some(f) = module.global(MAIN).and_then(|main| main.prim_func()).cloned() else { return Ok(()) };
    let mut needs = needs(&f)?;
    if needs.is_empty() {
        return Ok(());
    }
    let arena = place(&mut needs)?;
    let is_planned = |id: NodeId, name: &str, value: u64| match f.attrs(id).meta(name) {
        Some(AttrValue::Int(known)) => u64::try_from(known) == Ok(value),
        _ => false,
    };
    if is_planned(f.root(), ARENA, arena) && needs.iter().all(|need| is_planned(need.alloc, OFFSET, need.offset)) {
        return Ok(());
    }
    let mut planned = Function::clone(&f);
    for need in &needs {
        set_meta(&mut planned, need.alloc, OFFSET, need.offset)?;
    }
    let root = planned.root();
    set_meta(&mut planned, root, ARENA, arena)?;
    cx.count("placed", needs.len());
    cx.count("arena", usize::try_from(arena).unwrap_or(usize::MAX));
    let separate = needs.iter().fold(0u64, |sum, need| sum.saturating_add(need.bytes));
    cx.count("separate", usize::try_from(separate).unwrap_or(usize::MAX));
    module.set_prim_func(MAIN, planned);
    Ok(())
}

/// Memory, and the statements that need it: by position in the block.
struct Need {
    alloc: NodeId,
    bytes: u64,
    first: usize,
    last: usize,
    offset: u64,
}

/// The `alloc`s of the function's block.
fn needs(f: &Function) -> Result<Vec<Need>, PassError> {
    let ops = LoopOps::new(f);
    let mut needs: Vec<Need> = Vec::new();
    let mut of: HashMap<NodeId, usize> = HashMap::new();
    for (at, &statement) in f.bindings(f.body()).iter().enumerate() {
        if ops.of(f, statement) == Some(CoreOp::Alloc) {
            let bytes = bytes_of(f.type_of(statement)).ok_or_else(|| too_large(statement))?;
            of.insert(statement, needs.len());
            needs.push(Need { alloc: statement, bytes, first: usize::MAX, last: at, offset: 0 });
            continue;
        }
        if ops.of(f, statement) == Some(CoreOp::View) {
            if let Some(&need) = f.operands(statement).get(1).and_then(|memory| of.get(memory)) {
                of.insert(statement, need);
            }
            continue;
        }
        let mut open = vec![statement];
        while let Some(id) = open.pop() {
            for operand in f.operands(id) {
                if let Some(&need) = of.get(operand) {
                    needs[need].first = needs[need].first.min(at);
                    needs[need].last = at;
                }
            }
            for &region in f.regions(id) {
                open.extend(f.bindings(f.block_of(region)));
            }
        }
    }
    // Memory that nothing uses needs no place of its own.
    needs.retain(|need| need.first <= need.last);
    Ok(needs)
}

fn bytes_of(ty: Type<'_>) -> Option<u64> {
    let (elem, dims) = ty.as_tensor()?;
    let count = dims.iter().try_fold(1u64, |count, &dim| count.checked_mul(Dim::from(dim).known()?))?;
    count.checked_mul(u64::from(elem.bits()).div_ceil(8))?.checked_next_multiple_of(ALIGNMENT)
}

fn too_large(alloc: NodeId) -> PassError {
    PassError::new("the memory is more than 64 bits count").code("K003").at(alloc).in_function(MAIN)
}

/// Sets the offsets; returns the size of the arena.
fn place(needs: &mut [Need]) -> Result<u64, PassError> {
    let mut order: Vec<usize> = (0..needs.len()).collect();
    order.sort_by_key(|&at| (std::cmp::Reverse(needs[at].bytes), needs[at].first, at));
    // Placed ones, by offset.
    let mut placed: Vec<usize> = Vec::with_capacity(needs.len());
    let mut arena = 0;
    for at in order {
        let (first, last, bytes) = (needs[at].first, needs[at].last, needs[at].bytes);
        let mut offset = 0u64;
        for &other in &placed {
            let other = &needs[other];
            let is_at_once = other.first <= last && first <= other.last;
            if !is_at_once {
                continue;
            }
            if offset.checked_add(bytes).is_none_or(|end| end > other.offset) {
                offset = offset.max(other.offset.saturating_add(other.bytes));
            }
        }
        needs[at].offset = offset;
        arena = offset.checked_add(bytes).ok_or_else(|| too_large(needs[at].alloc))?.max(arena);
        let place = placed.partition_point(|&other| needs[other].offset <= offset);
        placed.insert(place, at);
    }
    Ok(arena)
}

/// Sets metadata that is a number.
fn set_meta(f: &mut Function, id: NodeId, name: &str, value: u64) -> Result<(), PassError> {
    let value = i64::try_from(value).map_err(|_| too_large(id))?;
    set_attr(f, id, &Attr::meta(name.to_owned(), value));
    Ok(())
}

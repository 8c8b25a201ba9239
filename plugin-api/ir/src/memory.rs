//! The memory that a prim func needs, and the plan of it.

use crate::{
    diagnostics::PassError,
    prim::{CoreOp, LoopOps},
    *,
};
use std::collections::HashMap;

/// The metadata of an `alloc`: its place in the arena, in bytes.
pub const OFFSET: &str = "offset";
/// The metadata of a prim func: how many bytes its arena has.
pub const ARENA: &str = "arena";
/// The alignment of offsets, and of the arena, in bytes: that of a line of a cache, and of the widest vectors.
pub const ARENA_ALIGNMENT: u64 = 64;
/// The metadata of a prim func that names the nodes of a model, or the values, which it computes.
pub const ORIGINS: &str = "origins";

/// The memory of an `alloc`, and the statements that need it: by position in the block of the `alloc`.
#[derive(Clone, Debug)]
pub struct Need {
    /// The `alloc`.
    pub alloc: NodeId,
    /// The block that it is in.
    pub block: BlockId,
    /// Its size in bytes.
    pub bytes: u64,
    /// The first statement that uses it.
    pub first: usize,
    /// The last one.
    pub last: usize,
}

impl Need {
    /// Whether both are needed by one statement, or one between the first and the last use of the other. They are in one
    /// block.
    pub fn is_at_once(&self, other: &Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }
}

/// Returns the `alloc`s of a function's block that something uses, in order. Those in loops and conditionals are not among
/// them.
///
/// # Errors
/// Returns an error if the size of one is not known, or more than 64 bits count.
pub fn memory_needs(f: &Function) -> Result<Vec<Need>, PassError> {
    let needs = all_memory_needs(f, &LoopOps::new(f));
    let of_body = needs.into_iter().filter(|(need, _)| need.block == f.body());
    of_body
        .map(|(need, is_known)| {
            let fault = || PassError::new("the memory is more than 64 bits count").code("K003").at(need.alloc);
            is_known.then_some(()).ok_or_else(fault).map(|()| need)
        })
        .collect()
}

/// Returns the `alloc`s of a function that something uses, in program order, each with whether its size is known. A loop or
/// conditional needs as a whole what is used in it.
pub fn all_memory_needs(f: &Function, ops: &LoopOps) -> Vec<(Need, bool)> {
    let mut needs: Vec<(Need, bool)> = Vec::new();
    // By `alloc`: its place in the list, and in how many blocks it is.
    let mut of: HashMap<NodeId, (usize, usize)> = HashMap::new();
    // The open blocks, with the positions of the statements that are visited.
    let mut open: Vec<(BlockId, usize)> = Vec::new();
    let mut walk = Walk::new(f);
    while let Some(step) = walk.next(f) {
        let id = match step {
            WalkStep::Enter(block) => {
                open.push((block, 0));
                continue;
            }
            WalkStep::Exit(_) => {
                open.pop();
                continue;
            }
            WalkStep::Leave(_) => continue,
            WalkStep::Binding(id) => id,
        };
        let depth = open.len();
        let Some((block, next)) = open.last_mut() else { continue };
        *next += 1;
        match ops.of(f, id) {
            Some(CoreOp::Alloc) => {
                let bytes = bytes_of(f.type_of(id));
                of.insert(id, (needs.len(), depth - 1));
                let need = Need {
                    alloc: id,
                    block: *block,
                    bytes: bytes.unwrap_or_default(),
                    first: usize::MAX,
                    last: *next - 1,
                };
                needs.push((need, bytes.is_some()));
            }
            Some(CoreOp::View) => {}
            _ => {
                for &operand in f.operands(id) {
                    let Some(&(at, depth)) = of.get(&ops.memory_of(f, operand)) else { continue };
                    let need = &mut needs[at].0;
                    // In a broken function, it may be used elsewhere.
                    let Some(&(_, n)) = open.get(depth).filter(|open| open.0 == need.block) else { continue };
                    let statement = n - 1;
                    need.first = need.first.min(statement);
                    need.last = statement;
                }
            }
        }
    }
    needs.retain(|(need, _)| need.first <= need.last);
    needs
}

fn bytes_of(ty: Type<'_>) -> Option<u64> {
    let (elem, dims) = ty.as_tensor()?;
    let sizes: Vec<u64> = dims.iter().map(|&dim| Dim::from(dim).known()).collect::<Option<_>>()?;
    element_count(&sizes)?.checked_mul(u64::from(elem.bits()).div_ceil(8))
}

/// The place that an `alloc` has in the arena, if it has one.
pub fn arena_offset(f: &Function, alloc: NodeId) -> Option<u64> {
    number(f, alloc, OFFSET)
}

/// Returns the size of a function's arena; 0 if it has none.
///
/// # Errors
/// Returns an error if the plan does not hold: memory is outside the arena, not aligned, or overlaps other memory that is
/// needed at the same time, as after a pass that moved statements.
pub fn checked_arena(f: &Function) -> Result<u64, PassError> {
    let arena = number(f, f.root(), ARENA).unwrap_or(0);
    let planned: Vec<(Need, u64)> = memory_needs(f)?
        .into_iter()
        .filter_map(|need| arena_offset(f, need.alloc).map(|offset| (need, offset)))
        .collect();
    let fault = |need: &Need, why: &str| {
        let message = format_args!("the plan of the memory does not hold: {why}");
        Err(PassError::new(message)
            .code("K004")
            .at(need.alloc)
            .help("run `PlanMemory` after all passes that move statements"))
    };
    for (at, (need, offset)) in planned.iter().enumerate() {
        match offset.checked_add(need.bytes) {
            _ if offset % ARENA_ALIGNMENT != 0 => return fault(need, "an offset is not a multiple of 64"),
            Some(end) if end <= arena => {}
            _ => return fault(need, "memory is outside the arena"),
        }
        let overlaps = |(other, start): &&(Need, u64)| {
            need.is_at_once(other) && *start < offset + need.bytes && *offset < start + other.bytes
        };
        if planned[..at].iter().any(|other| overlaps(&other)) {
            return fault(need, "memory overlaps other memory that is needed at the same time");
        }
    }
    Ok(arena)
}

fn number(f: &Function, id: NodeId, name: &str) -> Option<u64> {
    match f.attrs(id).meta(name)? {
        AttrValue::Int(number) => u64::try_from(number).ok(),
        _ => None,
    }
}

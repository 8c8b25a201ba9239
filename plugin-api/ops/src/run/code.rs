//! Register code: what a prim func is compiled to for the interpreter.
//!
//! A register holds the bits of a scalar; a vector takes as many registers in a row as it has lanes.

use super::Buffer;
use crate::scalar;
use relais_ir::{ElemType, NodeId};
use smallvec::SmallVec;

/// The first register of a value, counted from the frame's first.
pub(super) type Reg = u32;

/// The sizes of memory.
pub(super) type Shape = SmallVec<[u64; 6]>;

/// One step. Jumps name the place of the next step. Data that does not fit here is in one of the routine's tables.
#[derive(Clone, Copy)]
pub(super) enum Instr {
    Unary {
        f: fn(u64) -> u64,
        dst: Reg,
        a: Reg,
    },
    Binary {
        f: fn(u64, u64) -> u64,
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Division {
        f: fn(u64, u64) -> Option<u64>,
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Conversion {
        f: fn(u64) -> Option<u64>,
        dst: Reg,
        a: Reg,
    },
    Select {
        dst: Reg,
        c: Reg,
        a: Reg,
        b: Reg,
    },
    Wide(u32),
    Move {
        dst: Reg,
        src: Reg,
        lanes: u32,
    },
    Ramp {
        dst: Reg,
        base: Reg,
        stride: Reg,
        lanes: u16,
        bits: u8,
    },
    Broadcast {
        dst: Reg,
        a: Reg,
        lanes: u32,
    },
    Lane {
        dst: Reg,
        vector: Reg,
        index: Reg,
        lanes: u32,
    },
    /// Accesses to one element of memory of one dimension.
    LoadFlat {
        dst: Reg,
        slot: u32,
        index: Reg,
    },
    StoreFlat {
        src: Reg,
        slot: u32,
        index: Reg,
    },
    /// Accesses to one element.
    Load(u32),
    Store(u32),
    /// Accesses to several elements.
    LoadLanes(u32),
    StoreLanes(u32),
    Alloc(u32),
    Assert {
        c: Reg,
    },
    Jump {
        to: u32,
    },
    JumpUnless {
        c: Reg,
        to: u32,
    },
    /// The beginning of a loop in order; `left` counts the turns that are left.
    Begin {
        index: Reg,
        min: Reg,
        extent: Reg,
        left: Reg,
        exit: u32,
    },
    /// The end of a turn. The index of a narrow loop has 32 bits.
    Next {
        index: Reg,
        left: Reg,
        body: u32,
        is_narrow: bool,
    },
    /// The beginning and the end of a turn of a loop in another order.
    BeginTurns(u32),
    NextTurn(u32),
    Call(u32),
    Return,
}

/// An operation on each lane, or one with three operands.
pub(super) struct Wide {
    pub(super) code: scalar::Code,
    pub(super) dst: Reg,
    pub(super) args: [Reg; 3],
    pub(super) lanes: u32,
}

/// An index of an access, and what it is multiplied with.
pub(super) struct Axis {
    pub(super) index: Reg,
    pub(super) size: u64,
    pub(super) stride: u64,
}

/// An access to memory.
pub(super) struct Access {
    pub(super) slot: u32,
    pub(super) axes: SmallVec<[Axis; 4]>,
    /// The value that is loaded or stored.
    pub(super) value: Reg,
    pub(super) lanes: u32,
    pub(super) mask: Option<Reg>,
    /// Whether the last index is a vector.
    pub(super) is_spread: bool,
}

/// A loop whose turns run in another order.
pub(super) struct Turns {
    pub(super) index: Reg,
    pub(super) min: Reg,
    pub(super) extent: Reg,
    /// How many turns ran.
    pub(super) at: Reg,
    /// How many loops began before.
    pub(super) key: Reg,
    pub(super) body: u32,
    pub(super) exit: u32,
    pub(super) is_narrow: bool,
}

/// Memory that lives as long as a call of its routine.
pub(super) struct Alloc {
    pub(super) slot: u32,
    pub(super) elem: ElemType,
    pub(super) len: usize,
    pub(super) bytes: u64,
    /// The bits of its elements at first.
    pub(super) bits: u64,
}

/// A call of another routine, with memory as arguments.
pub(super) struct Call {
    pub(super) routine: usize,
    pub(super) slots: Vec<u32>,
}

/// Which buffer a slot has when a call begins.
pub(super) enum Slot {
    Argument,
    /// A constant, by its place among those of the program.
    Constant(usize),
    Alloc,
}

/// A prim func for memory of certain sizes.
#[derive(Default)]
pub(super) struct Routine {
    /// Which of the program's functions.
    pub(super) function: usize,
    pub(super) instrs: Vec<Instr>,
    /// The binding of each step.
    pub(super) nodes: Vec<NodeId>,
    pub(super) n_regs: u32,
    /// The registers of numbers.
    pub(super) consts: Vec<(Reg, u64)>,
    /// Parameters first.
    pub(super) slots: Vec<Slot>,
    pub(super) wides: Vec<Wide>,
    pub(super) accesses: Vec<Access>,
    pub(super) turns: Vec<Turns>,
    pub(super) allocs: Vec<Alloc>,
    pub(super) calls: Vec<Call>,
}

impl Routine {
    /// The bytes of the routine, roughly.
    pub(super) fn bytes(&self) -> u64 {
        let steps = self.instrs.len() * (size_of::<Instr>() + size_of::<NodeId>());
        let wides = self.wides.len() * size_of::<Wide>();
        let accesses = self.accesses.len() * size_of::<Access>();
        let params = self.slots.len() * (size_of::<Slot>() + size_of::<Shape>());
        (size_of::<Self>() + steps + wides + accesses + params) as u64
    }
}

/// All that runs.
#[derive(Default)]
pub(super) struct Program {
    /// The first is the one that was asked for.
    pub(super) routines: Vec<Routine>,
    /// The constants of all.
    pub(super) constants: Vec<Buffer>,
}

/// Why a step has no next one.
#[derive(Clone, Copy, Debug)]
pub(super) enum Halt {
    Bounds { axis: usize, index: i64, size: u64 },
    DivisionByZero,
    Undefined,
    Assert,
    Fuel,
    Bytes(u64),
    Depth,
}

/// Bytes that may still be taken.
pub(super) struct Budget {
    pub(super) left: u64,
}

impl Budget {
    pub(super) fn take(&mut self, bytes: u64) -> Result<(), Halt> {
        self.left = self.left.checked_sub(bytes).ok_or(Halt::Bytes(bytes))?;
        Ok(())
    }
}

const _: () = assert!(size_of::<Instr>() <= 24);

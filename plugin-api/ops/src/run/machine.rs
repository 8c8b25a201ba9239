//! Runs register code.

use super::{
    Buffer, Order, RunOptions,
    code::{Access, Alloc, Budget, Halt, Instr, Routine, Slot, Wide},
};
use crate::scalar::Code;

/// The state of a program that runs.
pub(super) struct Machine<'a> {
    routines: &'a [Routine],
    options: &'a RunOptions,
    /// Constants first, then those that the caller gave, then those of the open calls.
    buffers: Vec<Buffer>,
    regs: Vec<u64>,
    /// The buffers of the open calls' slots.
    slots: Vec<u32>,
    frames: Vec<Frame>,
    counts: Counts,
}

/// The counts of a run, and their limits.
struct Counts {
    fuel: u64,
    budget: Budget,
    /// The loops in another order that began.
    loops: u64,
    order: Order,
}

/// A call that is open.
struct Frame {
    routine: usize,
    /// The next step.
    at: usize,
    /// Its first register, slot and buffer.
    first_reg: usize,
    first_slot: usize,
    first_buffer: usize,
    /// The bytes of its registers and of its own buffers.
    bytes: u64,
}

/// Why a routine does not go on.
enum Event {
    Call(u32),
    Return,
}

/// Where a program stopped: the routine and the step.
pub(super) type Place = (usize, usize);

impl<'a> Machine<'a> {
    /// `buffers` are the constants of the routines, then the arguments of the first one.
    pub(super) fn new(routines: &'a [Routine], options: &'a RunOptions, buffers: Vec<Buffer>, budget: Budget) -> Self {
        let counts = Counts { fuel: options.fuel, budget, loops: 0, order: options.order };
        Self { routines, options, buffers, regs: Vec::new(), slots: Vec::new(), frames: Vec::new(), counts }
    }

    /// Runs the first routine, and returns all buffers. `left` becomes the fuel that is left.
    pub(super) fn run(mut self, left: &mut u64) -> Result<Vec<Buffer>, (Place, Halt)> {
        let ran = self.run_routines();
        *left = self.counts.fuel;
        ran.map(|()| self.buffers)
    }

    fn run_routines(&mut self) -> Result<(), (Place, Halt)> {
        let is_argument = |slot: &&Slot| matches!(slot, Slot::Argument);
        let n_args = self.routines[0].slots.iter().filter(is_argument).count();
        let end = self.buffers.len();
        let args: Vec<u32> = (end - n_args..end).map(|at| at as u32).collect();
        self.open(0, &args).map_err(|halt| ((0, 0), halt))?;
        while let Some(frame) = self.frames.last_mut() {
            let number = frame.routine;
            let routine = &self.routines[number];
            let state = State {
                routine,
                regs: &mut self.regs[frame.first_reg..],
                slots: &self.slots[frame.first_slot..],
                buffers: &mut self.buffers,
                counts: &mut self.counts,
                bytes: &mut frame.bytes,
            };
            let event = state.run(&mut frame.at).map_err(|halt| ((number, frame.at), halt))?;
            match event {
                Event::Call(call) => {
                    let call = &routine.calls[call as usize];
                    let place = (number, frame.at - 1);
                    let args: Vec<u32> =
                        call.slots.iter().map(|&slot| self.slots[frame.first_slot + slot as usize]).collect();
                    self.open(call.routine, &args).map_err(|halt| (place, halt))?;
                }
                Event::Return => self.close(),
            }
        }
        Ok(())
    }

    /// Begins a call.
    fn open(&mut self, number: usize, args: &[u32]) -> Result<(), Halt> {
        if self.frames.len() >= self.options.max_depth {
            return Err(Halt::Depth);
        }
        let routine = &self.routines[number];
        let bytes = u64::from(routine.n_regs) * 8 + routine.slots.len() as u64 * size_of::<Buffer>() as u64;
        self.counts.budget.take(bytes)?;
        self.counts.burn(bytes / BYTES_PER_STEP)?;
        let frame = Frame {
            routine: number,
            at: 0,
            first_reg: self.regs.len(),
            first_slot: self.slots.len(),
            first_buffer: self.buffers.len(),
            bytes,
        };
        self.regs.resize(frame.first_reg + routine.n_regs as usize, 0);
        for &(reg, bits) in &routine.consts {
            self.regs[frame.first_reg + reg as usize] = bits;
        }
        let mut args = args.iter();
        for slot in &routine.slots {
            let buffer = match slot {
                Slot::Argument => args.next().copied().unwrap_or_default(),
                Slot::Constant(at) => *at as u32,
                Slot::Alloc => {
                    self.buffers.push(Buffer::default());
                    (self.buffers.len() - 1) as u32
                }
            };
            self.slots.push(buffer);
        }
        self.frames.push(frame);
        Ok(())
    }

    /// Ends a call.
    fn close(&mut self) {
        if let Some(frame) = self.frames.pop() {
            self.regs.truncate(frame.first_reg);
            self.slots.truncate(frame.first_slot);
            self.buffers.truncate(frame.first_buffer);
            self.counts.budget.left += frame.bytes;
        }
    }
}

/// The bytes that are cleared or moved for the fuel of one step, where a step takes many bytes.
const BYTES_PER_STEP: u64 = 64;

impl Counts {
    fn burn(&mut self, steps: u64) -> Result<(), Halt> {
        self.fuel = self.fuel.checked_sub(steps).ok_or(Halt::Fuel)?;
        Ok(())
    }
}

/// The state that the steps of one call read and change.
struct State<'a> {
    routine: &'a Routine,
    regs: &'a mut [u64],
    slots: &'a [u32],
    buffers: &'a mut [Buffer],
    counts: &'a mut Counts,
    /// The bytes of the frame.
    bytes: &'a mut u64,
}

impl State<'_> {
    /// Runs from the step `next` on, which is then the one that stopped, or the one after the call.
    fn run(self, next: &mut usize) -> Result<Event, Halt> {
        // Locals, so that they are kept in registers of the machine that this runs on.
        let Self { routine, regs, slots, buffers, counts, bytes } = self;
        let instrs = &routine.instrs[..];
        let mut at = *next;
        let mut fuel = counts.fuel;
        macro_rules! stop {
            ($halt:expr) => {{
                (*next, counts.fuel) = (at, fuel);
                return Err($halt);
            }};
        }
        macro_rules! reg {
            ($reg:expr) => {
                regs[$reg as usize]
            };
        }
        /// A step that takes longer, and may fail.
        macro_rules! long {
            ($lanes:expr, $result:expr) => {{
                match fuel.checked_sub(u64::from($lanes)) {
                    Some(left) => fuel = left,
                    None => stop!(Halt::Fuel),
                }
                if let Err(halt) = $result {
                    stop!(halt);
                }
            }};
        }
        loop {
            let instr = instrs[at];
            if fuel == 0 {
                stop!(Halt::Fuel);
            }
            fuel -= 1;
            match instr {
                Instr::Unary { f, dst, a } => reg!(dst) = f(reg!(a)),
                Instr::Binary { f, dst, a, b } => reg!(dst) = f(reg!(a), reg!(b)),
                Instr::Division { f, dst, a, b } => match f(reg!(a), reg!(b)) {
                    Some(bits) => reg!(dst) = bits,
                    None => stop!(Halt::DivisionByZero),
                },
                Instr::Conversion { f, dst, a } => match f(reg!(a)) {
                    Some(bits) => reg!(dst) = bits,
                    None => stop!(Halt::Undefined),
                },
                Instr::Select { dst, c, a, b } => reg!(dst) = if reg!(c) != 0 { reg!(a) } else { reg!(b) },
                Instr::Wide(wide) => {
                    let wide = &routine.wides[wide as usize];
                    long!(wide.lanes - 1, apply(wide, regs));
                }
                Instr::Move { dst, src, lanes: 1 } => reg!(dst) = reg!(src),
                Instr::Move { dst, src, lanes } => {
                    regs.copy_within(src as usize..(src + lanes) as usize, dst as usize);
                }
                Instr::Ramp { dst, base, stride, lanes, bits } => {
                    let mask = u64::MAX >> (64 - bits);
                    let (mut value, stride) = (reg!(base), reg!(stride));
                    for lane in 0..u32::from(lanes) {
                        reg!(dst + lane) = value & mask;
                        value = value.wrapping_add(stride);
                    }
                }
                Instr::Broadcast { dst, a, lanes } => {
                    let value = reg!(a);
                    regs[dst as usize..(dst + lanes) as usize].fill(value);
                }
                Instr::Lane { dst, vector, index, lanes } => {
                    let index = reg!(index);
                    if index >= u64::from(lanes) {
                        stop!(Halt::Bounds { axis: 0, index: index as i64, size: lanes.into() });
                    }
                    reg!(dst) = reg!(vector + index as u32);
                }
                Instr::LoadFlat { dst, slot, index } => {
                    let index = reg!(index);
                    let buffer = &buffers[slots[slot as usize] as usize];
                    match buffer.get(index) {
                        Some(bits) => reg!(dst) = bits,
                        None => {
                            stop!(Halt::Bounds { axis: 0, index: index as i64, size: buffer.len() as u64 })
                        }
                    }
                }
                Instr::StoreFlat { src, slot, index } => {
                    let (index, bits) = (reg!(index), reg!(src));
                    let buffer = &mut buffers[slots[slot as usize] as usize];
                    if buffer.set(index, bits).is_none() {
                        stop!(Halt::Bounds { axis: 0, index: index as i64, size: buffer.len() as u64 });
                    }
                }
                Instr::Load(access) => {
                    let access = &routine.accesses[access as usize];
                    match place(access, access.axes.len(), regs) {
                        Ok(place) => {
                            let buffer = &buffers[slots[access.slot as usize] as usize];
                            reg!(access.value) = buffer.get(place).unwrap_or_default();
                        }
                        Err(halt) => stop!(halt),
                    }
                }
                Instr::Store(access) => {
                    let access = &routine.accesses[access as usize];
                    match place(access, access.axes.len(), regs) {
                        Ok(place) => {
                            let buffer = &mut buffers[slots[access.slot as usize] as usize];
                            buffer.set(place, reg!(access.value)).unwrap_or_default();
                        }
                        Err(halt) => stop!(halt),
                    }
                }
                Instr::LoadLanes(access) => {
                    let access = &routine.accesses[access as usize];
                    let buffer = &mut buffers[slots[access.slot as usize] as usize];
                    long!(access.lanes - 1, load_lanes(access, regs, buffer));
                }
                Instr::StoreLanes(access) => {
                    let access = &routine.accesses[access as usize];
                    let buffer = &mut buffers[slots[access.slot as usize] as usize];
                    long!(access.lanes - 1, store_lanes(access, regs, buffer));
                }
                Instr::Alloc(alloc) => {
                    let alloc = &routine.allocs[alloc as usize];
                    let buffer = &mut buffers[slots[alloc.slot as usize] as usize];
                    let result = clear(alloc, buffer, &mut fuel, &mut counts.budget, bytes);
                    if let Err(halt) = result {
                        stop!(halt);
                    }
                }
                Instr::Assert { c } => {
                    if reg!(c) == 0 {
                        stop!(Halt::Assert);
                    }
                }
                Instr::Jump { to } => {
                    at = to as usize;
                    continue;
                }
                Instr::JumpUnless { c, to } => {
                    if reg!(c) == 0 {
                        at = to as usize;
                        continue;
                    }
                }
                Instr::Begin { index, min, extent, left, exit } => {
                    let n = reg!(extent) as i64;
                    if n <= 0 {
                        at = exit as usize;
                        continue;
                    }
                    reg!(left) = n as u64;
                    reg!(index) = reg!(min);
                }
                Instr::Next { index, left, body, is_narrow } => {
                    let n = reg!(left) - 1;
                    if n > 0 {
                        reg!(left) = n;
                        reg!(index) = index_bits(reg!(index).wrapping_add(1), is_narrow);
                        at = body as usize;
                        continue;
                    }
                }
                Instr::BeginTurns(turns) => {
                    let turns = &routine.turns[turns as usize];
                    let n = reg!(turns.extent) as i64;
                    if n <= 0 {
                        at = turns.exit as usize;
                        continue;
                    }
                    let key = counts.loops;
                    counts.loops += 1;
                    let turn = counts.order.turn(key, 0, n as u64);
                    (reg!(turns.at), reg!(turns.key)) = (0, key);
                    reg!(turns.index) = index_bits(reg!(turns.min).wrapping_add(turn), turns.is_narrow);
                }
                Instr::NextTurn(turns) => {
                    let turns = &routine.turns[turns as usize];
                    let (next, n) = (reg!(turns.at) + 1, reg!(turns.extent));
                    if next < n {
                        let turn = counts.order.turn(reg!(turns.key), next, n);
                        reg!(turns.at) = next;
                        reg!(turns.index) = index_bits(reg!(turns.min).wrapping_add(turn), turns.is_narrow);
                        at = turns.body as usize;
                        continue;
                    }
                }
                Instr::Call(call) => {
                    (*next, counts.fuel) = (at + 1, fuel);
                    return Ok(Event::Call(call));
                }
                Instr::Return => {
                    counts.fuel = fuel;
                    return Ok(Event::Return);
                }
            }
            at += 1;
        }
    }
}

/// Applies an operator to each lane.
fn apply(wide: &Wide, regs: &mut [u64]) -> Result<(), Halt> {
    let [a, b, c] = wide.args;
    for lane in 0..wide.lanes {
        let arg = |first: u32| regs[(first + lane) as usize];
        let bits = match wide.code {
            Code::Unary(f) => f(arg(a)),
            Code::Binary(f) => f(arg(a), arg(b)),
            Code::Ternary(f) => f(arg(a), arg(b), arg(c)),
            Code::Division(f) => f(arg(a), arg(b)).ok_or(Halt::DivisionByZero)?,
            Code::Conversion(f) => f(arg(a)).ok_or(Halt::Undefined)?,
        };
        regs[(wide.dst + lane) as usize] = bits;
    }
    Ok(())
}

/// The place that the first indices of an access lead to.
#[inline]
fn place(access: &Access, n_axes: usize, regs: &[u64]) -> Result<u64, Halt> {
    let mut place = 0_u64;
    for (at, axis) in access.axes[..n_axes].iter().enumerate() {
        let index = regs[axis.index as usize];
        if index >= axis.size {
            return Err(Halt::Bounds { axis: at, index: index as i64, size: axis.size });
        }
        place = place.wrapping_add(index.wrapping_mul(axis.stride));
    }
    Ok(place)
}

/// Gives `f` the place and the register of each lane of an access; `skip` gets those that are masked out.
fn each_lane(
    access: &Access,
    regs: &mut [u64],
    mut f: impl FnMut(u64, &mut u64),
    mut skip: impl FnMut(&mut u64),
) -> Result<(), Halt> {
    let Some((last, rest)) = access.axes.split_last() else { return Ok(()) };
    // The other indices are read when the first lane is on: where none is, they may lead nowhere.
    let mut row = None;
    for lane in 0..access.lanes {
        let value = (access.value + lane) as usize;
        if access.mask.is_some_and(|mask| regs[(mask + lane) as usize] == 0) {
            skip(&mut regs[value]);
            continue;
        }
        let start = match row {
            Some(start) => start,
            None => *row.insert(place(access, rest.len(), regs)?),
        };
        let index = match access.is_spread {
            true => regs[(last.index + lane) as usize],
            false => regs[last.index as usize].wrapping_add(lane.into()),
        };
        if index >= last.size {
            return Err(Halt::Bounds { axis: rest.len(), index: index as i64, size: last.size });
        }
        f(start.wrapping_add(index.wrapping_mul(last.stride)), &mut regs[value]);
    }
    Ok(())
}

fn load_lanes(access: &Access, regs: &mut [u64], buffer: &Buffer) -> Result<(), Halt> {
    each_lane(access, regs, |place, value| *value = buffer.get(place).unwrap_or_default(), |value| *value = 0)
}

fn store_lanes(access: &Access, regs: &mut [u64], buffer: &mut Buffer) -> Result<(), Halt> {
    each_lane(access, regs, |place, value| buffer.set(place, *value).unwrap_or_default(), |_| {})
}

/// Gives an `alloc` its memory, or that of the turn before, as it is at first. `taken` are the bytes of the frame.
fn clear(alloc: &Alloc, buffer: &mut Buffer, fuel: &mut u64, budget: &mut Budget, taken: &mut u64) -> Result<(), Halt> {
    let is_there = buffer.len() == alloc.len;
    if !is_there {
        budget.take(alloc.bytes)?;
        *taken += alloc.bytes;
    }
    *fuel = fuel.checked_sub(alloc.bytes / BYTES_PER_STEP).ok_or(Halt::Fuel)?;
    match is_there {
        true => buffer.fill(alloc.bits),
        false => *buffer = Buffer::new(alloc.elem, alloc.len, alloc.bits),
    }
    Ok(())
}

/// The bits of an index.
#[inline]
fn index_bits(value: u64, is_narrow: bool) -> u64 {
    if is_narrow { value & u64::from(u32::MAX) } else { value }
}

//! Compiles prim funcs to register code, each for the sizes that its memory has in the calls of it.

mod control;

use super::{
    Buffer, Cause, Order, RunOptions, Stop,
    buffer::unwritten,
    code::*,
    fit::{Shapes, fit, named},
};
use crate::scalar;
use relais_ir::{
    prim::{CoreOp, LoopKind, LoopOps, value_type},
    *,
};
use smallvec::SmallVec;
use std::collections::HashMap;

/// Compiles a prim func and those that it calls.
pub(super) struct Compiler<'a> {
    globals: HashMap<&'a str, &'a Global>,
    verifier: Verifier<'a>,
    options: &'a RunOptions,
    /// The functions that were reached, verified.
    pub(super) functions: Vec<(&'a str, &'a Function)>,
    by_name: HashMap<&'a str, usize>,
    /// The function and the shapes of its parameters, of each routine.
    keys: Vec<(usize, Shapes)>,
    by_key: HashMap<(usize, Shapes), usize>,
    program: Program,
    pub(super) budget: Budget,
}

impl<'a> Compiler<'a> {
    pub(super) fn new(module: &'a IRModule, options: &'a RunOptions) -> Self {
        // The bytes that are counted also fit the address space.
        let left = options.max_bytes.min(isize::MAX as u64);
        Self {
            globals: module.globals().iter().map(|global| (global.name.as_str(), global)).collect(),
            verifier: Verifier::new(module),
            options,
            functions: Vec::new(),
            by_name: HashMap::new(),
            keys: Vec::new(),
            by_key: HashMap::new(),
            program: Program::default(),
            budget: Budget { left },
        }
    }

    /// The prim func of that name, verified.
    pub(super) fn function(&mut self, name: &str) -> Result<(usize, &'a Function), Stop> {
        if let Some(&at) = self.by_name.get(name) {
            return Ok((at, self.functions[at].1));
        }
        let Some((&name, global)) = self.globals.get_key_value(name) else {
            return Err(Stop::wrong(format_args!("the module has no prim func `@{name}`")));
        };
        let Some(f) = global.prim_func() else {
            return Err(Stop::wrong(format_args!("`@{name}` is not a prim func")));
        };
        if let Some(fault) = self.verifier.global(name, f).first() {
            return Err(Stop::wrong(fault));
        }
        self.by_name.insert(name, self.functions.len());
        self.functions.push((name, &**f));
        Ok((self.functions.len() - 1, f))
    }

    /// The routine of a function for memory of these shapes, which is compiled later.
    fn routine(&mut self, function: usize, shapes: Shapes) -> usize {
        *self.by_key.entry((function, shapes)).or_insert_with_key(|key| {
            self.keys.push(key.clone());
            self.keys.len() - 1
        })
    }

    /// Compiles the function for parameters of these shapes, and all that it calls.
    pub(super) fn program(&mut self, function: usize, shapes: Shapes) -> Result<Program, Stop> {
        self.routine(function, shapes);
        while let Some((function, shapes)) = self.keys.get(self.program.routines.len()).cloned() {
            let routine = Body::new(self, function)?.compile(&shapes)?;
            let bytes = routine.bytes();
            self.program.routines.push(routine);
            self.take(bytes, function, self.functions[function].1.root())?;
        }
        Ok(std::mem::take(&mut self.program))
    }

    fn take(&mut self, bytes: u64, function: usize, id: NodeId) -> Result<(), Stop> {
        self.budget.take(bytes).map_err(|halt| self.stop(halt, function, id))
    }

    /// Why a program stopped at a node.
    pub(super) fn stop(&self, halt: Halt, function: usize, id: NodeId) -> Stop {
        let (name, f) = self.functions[function];
        let cause = match halt {
            Halt::Bounds { axis, index, size } => {
                let memory = f.operands(id).get(1).map_or_else(String::new, |&memory| named(f, memory));
                Cause::OutOfBounds { memory, axis, index, size }
            }
            Halt::DivisionByZero => Cause::DivisionByZero,
            Halt::Undefined => Cause::Undefined,
            Halt::Assert => {
                let message = match f.attrs(id).get("message") {
                    Some(AttrValue::String(message)) => String::from_utf8_lossy(message).into_owned(),
                    _ => String::new(),
                };
                Cause::Assert(message)
            }
            Halt::Fuel => Cause::Fuel(self.options.fuel),
            Halt::Bytes(bytes) => Cause::Memory { bytes, most: self.options.max_bytes },
            Halt::Depth => Cause::Depth(self.options.max_depth),
        };
        Stop::at(cause, name, f, id)
    }
}

/// Where a value is.
#[derive(Clone, Copy)]
enum Value {
    Unknown,
    Reg(Reg),
    /// The registers of several results: those from this place on in the list of homes.
    Several(usize),
    /// Memory, by its place in the list.
    Memory(usize),
}

struct Memory {
    slot: u32,
    shape: Shape,
}

/// The registers that a value which control flow carries or gives has throughout.
#[derive(Clone, Copy)]
struct Home {
    reg: Reg,
    lanes: u32,
}

/// A loop or conditional that is being compiled.
struct Open {
    id: NodeId,
    op: Control,
    homes: SmallVec<[Home; 4]>,
    /// How many of its functions were compiled.
    n_done: usize,
    /// The step at its beginning: that of a `for`, the condition of a `while`, the jump of a conditional.
    start: usize,
    /// The jump that leaves it, for a `while` and a conditional.
    exit: usize,
}

#[derive(Clone, Copy)]
enum Control {
    For { index: Reg, is_narrow: bool },
    While,
    Branch,
}

struct Body<'c, 'a> {
    compiler: &'c mut Compiler<'a>,
    f: &'a Function,
    ops: LoopOps,
    routine: Routine,
    values: Vec<Value>,
    memories: Vec<Memory>,
    homes: Vec<Home>,
    consts: HashMap<u64, Reg>,
    open: Vec<Open>,
    /// The binding that is being compiled.
    id: NodeId,
}

type Done<T = ()> = Result<T, Stop>;

impl<'c, 'a> Body<'c, 'a> {
    fn new(compiler: &'c mut Compiler<'a>, function: usize) -> Done<Self> {
        let f = compiler.functions[function].1;
        compiler.take((f.n_nodes() * size_of::<Value>()) as u64, function, f.root())?;
        // They are needed for the time of compiling only.
        compiler.budget.left += (f.n_nodes() * size_of::<Value>()) as u64;
        Ok(Self {
            compiler,
            f,
            ops: LoopOps::new(f),
            routine: Routine { function, ..Routine::default() },
            values: vec![Value::Unknown; f.n_nodes()],
            memories: Vec::new(),
            homes: Vec::new(),
            consts: HashMap::new(),
            open: Vec::new(),
            id: f.root(),
        })
    }

    fn compile(mut self, shapes: &Shapes) -> Done<Routine> {
        for (&param, shape) in self.f.params().iter().zip(shapes) {
            self.memory(param, Slot::Argument, shape.clone());
        }
        let mut walk = Walk::new(self.f);
        while let Some(step) = walk.next(self.f) {
            match step {
                WalkStep::Enter(block) => self.enter(block),
                WalkStep::Binding(id) => {
                    self.id = id;
                    self.binding()?;
                }
                WalkStep::Exit(block) => {
                    self.id = self.open.last().map_or(self.f.root(), |open| open.id);
                    self.exit(block)?;
                }
                WalkStep::Leave(_) => self.leave(),
            }
        }
        Ok(self.routine)
    }

    // ---- errors -------------------------------------------------------------------------------------------------------

    fn wrong(&self, message: impl std::fmt::Display) -> Stop {
        let (name, f) = self.compiler.functions[self.routine.function];
        Stop::at(Cause::Wrong(message.to_string()), name, f, self.id)
    }

    fn too_large(&self, bytes: u64) -> Stop {
        self.compiler.stop(Halt::Bytes(bytes), self.routine.function, self.id)
    }

    // ---- registers, memory and steps ----------------------------------------------------------------------------------

    fn fresh(&mut self, lanes: u32) -> Done<Reg> {
        let reg = self.routine.n_regs;
        match reg.checked_add(lanes) {
            Some(next) => self.routine.n_regs = next,
            None => return Err(self.too_large(u64::from(u32::MAX) * 8)),
        }
        Ok(reg)
    }

    fn constant(&mut self, bits: u64) -> Done<Reg> {
        if let Some(&reg) = self.consts.get(&bits) {
            return Ok(reg);
        }
        let reg = self.fresh(1)?;
        self.consts.insert(bits, reg);
        self.routine.consts.push((reg, bits));
        Ok(reg)
    }

    fn emit(&mut self, instr: Instr) -> usize {
        self.routine.instrs.push(instr);
        self.routine.nodes.push(self.id);
        self.routine.instrs.len() - 1
    }

    /// The place of the next step.
    fn here(&self) -> u32 {
        self.routine.instrs.len() as u32
    }

    /// Lets a jump or the beginning of a loop lead to the next step.
    fn land(&mut self, jump: usize) {
        let here = self.here();
        match &mut self.routine.instrs[jump] {
            Instr::Jump { to } | Instr::JumpUnless { to, .. } | Instr::Begin { exit: to, .. } => *to = here,
            Instr::BeginTurns(turns) => self.routine.turns[*turns as usize].exit = here,
            _ => {}
        }
    }

    fn memory(&mut self, id: NodeId, slot: Slot, shape: Shape) {
        let number = self.routine.slots.len() as u32;
        self.routine.slots.push(slot);
        self.place(id, Memory { slot: number, shape });
    }

    fn place(&mut self, id: NodeId, memory: Memory) {
        self.values[id.index()] = Value::Memory(self.memories.len());
        self.memories.push(memory);
    }

    fn memory_of(&self, id: NodeId) -> Done<&Memory> {
        match self.values[id.index()] {
            Value::Memory(at) => Ok(&self.memories[at]),
            _ => Err(self.wrong(format_args!("`{id}` is not memory"))),
        }
    }

    fn reg(&mut self, id: NodeId) -> Done<Reg> {
        match (self.values[id.index()], self.f.imm(id)) {
            (Value::Reg(reg), _) => Ok(reg),
            (_, Some(imm)) => self.constant(imm.bits()),
            _ => Err(self.wrong(format_args!("`{id}` has no value"))),
        }
    }

    fn elem(&self, id: NodeId) -> ElemType {
        self.f.type_of(id).elem().unwrap_or(ElemType::UNKNOWN)
    }

    fn lanes(&self, id: NodeId) -> u32 {
        let lanes = value_type(self.f.type_of(id)).and_then(|value| value.lanes).unwrap_or(1);
        u32::try_from(lanes).unwrap_or(u32::MAX)
    }

    /// The registers of an index, with 64 bits.
    fn index(&mut self, id: NodeId) -> Done<Reg> {
        let reg = self.reg(id)?;
        if self.elem(id) != ElemType::INT32 {
            return Ok(reg);
        }
        if let Some(value) = self.f.imm(id).and_then(|imm| imm.as_int()) {
            return self.constant(value as u64);
        }
        let lanes = self.lanes(id);
        let dst = self.fresh(lanes)?;
        self.apply(CoreOp::Cast, ElemType::INT32, ElemType::INT64, dst, &[reg], lanes)?;
        Ok(dst)
    }

    /// The value of the binding becomes that of new registers.
    fn result(&mut self) -> Done<Reg> {
        let reg = self.fresh(self.lanes(self.id))?;
        self.values[self.id.index()] = Value::Reg(reg);
        Ok(reg)
    }

    // ---- bindings -----------------------------------------------------------------------------------------------------

    fn args(&self) -> &'a [NodeId] {
        let operands = self.f.operands(self.id);
        let start = usize::from(self.f.kind(self.id) == kind::CALL);
        &operands[start..operands.len() - self.f.n_regions(self.id)]
    }

    fn binding(&mut self) -> Done {
        let (f, id) = (self.f, self.id);
        match f.kind(id) {
            kind::CONSTANT => self.constant_memory(),
            kind::TUPLE_GET_ITEM => {
                let [tuple] = *f.operands(id) else { return Err(self.wrong("an item is one of one tuple")) };
                let home = match self.values[tuple.index()] {
                    Value::Several(first) => self.homes.get(first + usize::from(f.node(id).aux)),
                    _ => None,
                };
                let Some(home) = home else { return Err(self.wrong(format_args!("`{tuple}` has no such item"))) };
                self.values[id.index()] = Value::Reg(home.reg);
                Ok(())
            }
            kind::IF => self.begin_branch(),
            kind::CALL => match self.ops.of(f, id) {
                Some(op) => self.core(op),
                None => self.call(),
            },
            _ => Err(self.wrong("a node of this kind stands in no prim func")),
        }
    }

    fn constant_memory(&mut self) -> Done {
        let Some(tensor) = self.f.constant(self.id) else {
            return Err(self.wrong("the constant is stored in a form of a later version, which cannot be read"));
        };
        self.compiler.take(tensor.byte_len(), self.routine.function, self.id)?;
        let constants = &mut self.compiler.program.constants;
        constants.push(Buffer::of(tensor));
        let slot = Slot::Constant(constants.len() - 1);
        self.memory(self.id, slot, tensor.dims().into());
        Ok(())
    }

    fn core(&mut self, op: CoreOp) -> Done {
        use CoreOp::*;
        let args = self.args();
        match op {
            Alloc => self.alloc(),
            View => self.view(),
            Dim => {
                let size = match self.f.attrs(self.id).get("axis") {
                    Some(AttrValue::Int(axis)) => self.memory_of(args[0])?.shape.get(axis as usize).copied(),
                    _ => None,
                };
                let Some(size) = size else { return Err(self.wrong("there is no such axis")) };
                self.values[self.id.index()] = Value::Reg(self.constant(size)?);
                Ok(())
            }
            Load | Store | Gather | Scatter | LoadMasked | StoreMasked => self.access(op),
            For => self.begin_for(),
            While => self.begin_while(),
            When => self.begin_branch(),
            Assert => {
                let c = self.reg(args[0])?;
                self.emit(Instr::Assert { c });
                Ok(())
            }
            Ramp => {
                let (base, stride) = (self.reg(args[0])?, self.reg(args[1])?);
                let lanes = self.lanes(self.id) as u16;
                let bits = self.elem(self.id).bits() as u8;
                let dst = self.result()?;
                self.emit(Instr::Ramp { dst, base, stride, lanes, bits });
                Ok(())
            }
            Broadcast => {
                let (a, lanes) = (self.reg(args[0])?, self.lanes(self.id));
                let dst = self.result()?;
                self.emit(Instr::Broadcast { dst, a, lanes });
                Ok(())
            }
            Lane => {
                let (vector, index, lanes) = (self.reg(args[0])?, self.index(args[1])?, self.lanes(args[0]));
                let dst = self.result()?;
                self.emit(Instr::Lane { dst, vector, index, lanes });
                Ok(())
            }
            _ => self.compute(op),
        }
    }

    /// An operator that is applied to each lane.
    fn compute(&mut self, op: CoreOp) -> Done {
        let args = self.args();
        let lanes = self.lanes(self.id);
        let mut regs: SmallVec<[Reg; 3]> = SmallVec::new();
        for &arg in args {
            let mut reg = self.reg(arg)?;
            // The condition of `select` may be one for all lanes.
            if self.lanes(arg) != lanes {
                let dst = self.fresh(lanes)?;
                self.emit(Instr::Broadcast { dst, a: reg, lanes });
                reg = dst;
            }
            regs.push(reg);
        }
        let from = args.last().map_or(ElemType::UNKNOWN, |&arg| self.elem(arg));
        let dst = self.result()?;
        self.apply(op, from, self.elem(self.id), dst, &regs, lanes)
    }

    fn apply(&mut self, op: CoreOp, from: ElemType, to: ElemType, dst: Reg, args: &[Reg], lanes: u32) -> Done {
        use scalar::Code;
        let Some(code) = scalar::Code::new(op, from, to) else {
            return Err(self.wrong(format_args!("the interpreter does not know `{}` of {from}", op.name())));
        };
        let instr = match (code, args) {
            (Code::Unary(f), &[a]) if lanes == 1 => Instr::Unary { f, dst, a },
            (Code::Binary(f), &[a, b]) if lanes == 1 => Instr::Binary { f, dst, a, b },
            (Code::Division(f), &[a, b]) if lanes == 1 => Instr::Division { f, dst, a, b },
            (Code::Conversion(f), &[a]) if lanes == 1 => Instr::Conversion { f, dst, a },
            (Code::Ternary(_), &[c, a, b]) if lanes == 1 && op == CoreOp::Select => Instr::Select { dst, c, a, b },
            (Code::Unary(_) | Code::Conversion(_), [_])
            | (Code::Binary(_) | Code::Division(_), [_, _])
            | (Code::Ternary(_), [_, _, _]) => {
                let args = std::array::from_fn(|at| args.get(at).copied().unwrap_or_default());
                self.routine.wides.push(Wide { code, dst, args, lanes });
                Instr::Wide(self.routine.wides.len() as u32 - 1)
            }
            _ => return Err(self.wrong(format_args!("`{}` does not take {} operands", op.name(), args.len()))),
        };
        self.emit(instr);
        Ok(())
    }

    // ---- memory -------------------------------------------------------------------------------------------------------

    fn alloc(&mut self) -> Done {
        let Some(sizes) = self.f.type_of(self.id).static_shape() else {
            return Err(self.wrong("the shape of `alloc` is not static"));
        };
        let elem = self.elem(self.id);
        let count = element_count(&sizes);
        let bytes = count.and_then(|count| elem.bytes_for(count)).unwrap_or(u64::MAX);
        let Some(len) = count.and_then(|count| usize::try_from(count).ok()) else { return Err(self.too_large(bytes)) };
        let bits = unwritten(elem, self.compiler.options.poison);
        let slot = self.routine.slots.len() as u32;
        self.memory(self.id, Slot::Alloc, Shape::from_vec(sizes));
        self.routine.allocs.push(Alloc { slot, elem, len, bytes, bits });
        self.emit(Instr::Alloc(self.routine.allocs.len() as u32 - 1));
        Ok(())
    }

    fn view(&mut self) -> Done {
        let viewed = self.memory_of(self.args()[0])?;
        let slot = viewed.slot;
        let whole = element_count(&viewed.shape).unwrap_or(u64::MAX);
        let Some(AttrValue::Ints(sizes)) = self.f.attrs(self.id).get("shape") else {
            return Err(self.wrong("`shape` is a list of sizes"));
        };
        let rest = element_count(&sizes.ints().filter(|&size| size >= 0).map(|size| size as u64).collect::<Vec<_>>());
        // The size that is left open.
        let open = rest.and_then(|rest| whole.checked_div(rest)).unwrap_or(0);
        let shape: Shape = sizes.ints().map(|size| u64::try_from(size).unwrap_or(open)).collect();
        if element_count(&shape) != Some(whole) {
            let sizes: Vec<i64> = sizes.ints().collect();
            return Err(self.wrong(format_args!("memory of {whole} elements does not have the shape {sizes:?}")));
        }
        self.place(self.id, Memory { slot, shape });
        Ok(())
    }

    fn access(&mut self, op: CoreOp) -> Done {
        use CoreOp::*;
        let args = self.args();
        let indices = &args[op.first_index().unwrap_or(1)..];
        let is_load = matches!(op, Load | Gather | LoadMasked);
        let is_spread = matches!(op, Gather | Scatter);
        let Memory { slot, shape } = self.memory_of(args[0])?;
        let (slot, shape) = (*slot, shape.clone());
        if shape.len() != indices.len() {
            return Err(self.wrong("there are not as many indices as dimensions"));
        }
        let mut axes: SmallVec<[Axis; 4]> = SmallVec::new();
        for (&id, &size) in indices.iter().zip(&shape) {
            axes.push(Axis { index: self.index(id)?, size, stride: 1 });
        }
        // Where a size is zero no index is right, and the products do not matter.
        let mut stride = 1_u64;
        for axis in axes.iter_mut().rev() {
            axis.stride = stride;
            stride = stride.wrapping_mul(axis.size);
        }
        let mask = match op {
            LoadMasked => Some(self.reg(args[1])?),
            StoreMasked => Some(self.reg(args[2])?),
            _ => None,
        };
        let (value, lanes) = match is_load {
            true => (self.result()?, self.lanes(self.id)),
            false => (self.reg(args[1])?, self.lanes(args[1])),
        };
        let is_vector = lanes > 1 || is_spread || mask.is_some();
        let instr = match (&axes[..], is_load) {
            (&[Axis { index, .. }], true) if !is_vector => Instr::LoadFlat { dst: value, slot, index },
            (&[Axis { index, .. }], false) if !is_vector => Instr::StoreFlat { src: value, slot, index },
            _ => {
                self.routine.accesses.push(Access { slot, axes, value, lanes, mask, is_spread });
                let access = self.routine.accesses.len() as u32 - 1;
                match (is_load, is_vector) {
                    (true, false) => Instr::Load(access),
                    (false, false) => Instr::Store(access),
                    (true, true) => Instr::LoadLanes(access),
                    (false, true) => Instr::StoreLanes(access),
                }
            }
        };
        self.emit(instr);
        Ok(())
    }

    // ---- calls --------------------------------------------------------------------------------------------------------

    fn call(&mut self) -> Done {
        let name = match self.f.call(self.id).map(|call| self.f.expr(call.callee())) {
            Some(Expr::GlobalVar(name)) => name,
            _ => return Err(self.wrong("a prim func calls core operators and prim funcs only")),
        };
        let (function, callee) = self.compiler.function(name)?;
        let args = self.args();
        if self.f.n_regions(self.id) > 0 {
            return Err(self.wrong("the call of a prim func has functions, which it does not take"));
        }
        if callee.params().len() != args.len() {
            return Err(self.wrong(format_args!("`@{name}` takes {} arguments", callee.params().len())));
        }
        let mut slots = Vec::with_capacity(args.len());
        let mut shapes = Shapes::with_capacity(args.len());
        for &arg in args {
            let memory = self.memory_of(arg)?;
            slots.push(memory.slot);
            shapes.push(memory.shape.clone());
        }
        if let Err(message) = fit(callee, &shapes) {
            return Err(self.wrong(format_args!("`@{name}` does not take memory of these shapes: {message}")));
        }
        let routine = self.compiler.routine(function, shapes);
        self.routine.calls.push(Call { routine, slots });
        self.emit(Instr::Call(self.routine.calls.len() as u32 - 1));
        Ok(())
    }
}

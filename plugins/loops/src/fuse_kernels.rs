//! Makes one loop program of two that the entry function calls, where the memory between them goes.
//!
//! ```text
//! prim @main(%x: Tensor[(1, 64, 25, 5), float32]) -> (%y: Tensor[(1, 64, 25, 5), float32]) {
//!   %b = alloc float32[1, 64, 25, 5];
//!   @Conv(%x, %w, %b);
//!   @Relu(%b, %y);
//! }
//! ```
//! becomes
//! ```text
//! prim @main(%x: Tensor[(1, 64, 25, 5), float32]) -> (%y: Tensor[(1, 64, 25, 5), float32]) {
//!   @Conv_Relu(%x, %w, %y);
//! }
//! ```
//!
//! The two are put behind each other, and their loops are fused as `FuseLoops` does it, then, with the option `fewest`, computed where
//! some rows of them are read, as `ComputeAt` does, if the part of the memory that is left is larger than `most_bytes` with the other memory of the loop
//! program: that part is on the stack. Or else the elements are computed where they are read, as `InlineProducers` does. They
//! stay two if that does not remove the memory, or leaves too large a part. The memory between them is written by one call and read by one, and nothing in between uses what the first
//! call writes. Calls that are fused in the same way share their loop program; loop programs that nothing calls any more go.
//!
//! Proofs about the loops decide, whatever operators they are of, so that kernels of plugins are fused as well. The results are
//! the same in each bit.

use crate::{
    calls::{Calls, MAIN, stem},
    compute_at::at_reader,
    fuse::{Shrunk, shrink, stack},
    inline_producers::inline,
};
use relais_plugin_api::{
    diagnostics::Severity,
    ir::{BlockId, Copier, kind},
    prelude::*,
    prim::{CoreOp, PrimBuilder, n_outputs, prim_func},
};
use std::collections::{BTreeMap, HashMap};

/// The most bindings of a loop program that is made.
const MOST_BINDINGS: usize = 1 << 10;
/// The longest name that is made.
const MOST_NAME: usize = 60;

/// Options of [`fuse_kernels`].
#[derive(PassOptions)]
pub struct Options {
    /// The most bytes of memory on the stack that a loop program may have that is made.
    #[option(default = 4096, range = 0..)]
    most_bytes: i64,
    /// The fewest elements that a turn computes where `ComputeAt` makes memory smaller; 0 if it does not.
    #[option(default = 0, range = 0..)]
    fewest: i64,
}

/// Makes one loop program of two that the entry function calls, where the memory between them goes.
#[module_pass(
    name = "relais.FuseKernels",
    opt_level = 0,
    phase = "none",
    statistics(fused = "calls fused with others", made = "loop programs made")
)]
pub fn fuse_kernels(module: &mut IRModule, cx: &PassCx<'_>, options: &Options) -> Result<(), PassError> {
    let Some(main) = module.global(MAIN).and_then(|main| main.prim_func()).cloned() else { return Ok(()) };
    let most_bytes = u64::try_from(options.most_bytes).unwrap_or(0);
    let calls = Calls::new(module, Function::clone(&main));
    let mut work = Work { users: users(&calls), calls, most_bytes, fewest: options.fewest, known: HashMap::new() };
    let is_alloc = |id: &NodeId| work.calls.ops.of(&work.calls.main, *id) == Some(CoreOp::Alloc);
    let mut open: Vec<NodeId> = main.bindings(main.body()).iter().rev().copied().filter(is_alloc).collect();
    // Memory of which it is known that it stays, and why.
    let mut declined: BTreeMap<NodeId, &'static str> = BTreeMap::new();
    let mut n_fused = 0;
    while let Some(alloc) = open.pop() {
        cx.check_cancelled()?;
        match work.fuse(alloc)? {
            Ok(call) => {
                n_fused += 1;
                // The memory that this call uses may be between two calls now.
                let (f, ops) = (&work.calls.main, &work.calls.ops);
                let used = f.operands(call).iter().map(|&memory| ops.memory_of(f, memory));
                open.extend(used.filter(|memory| declined.remove(memory).is_some()));
            }
            Err(why) => {
                declined.insert(alloc, why);
            }
        }
    }
    if cx.wants_remarks() {
        for (&alloc, why) in &declined {
            let remark = Diagnostic::new(Severity::REMARK, format!("the calls that use it stay two: {why}"));
            cx.diagnostic(remark.at(alloc).in_function(MAIN));
        }
    }
    if n_fused == 0 {
        return Ok(());
    }
    cx.count("fused", n_fused);
    cx.count("made", work.calls.finish(module));
    Ok(())
}

/// The memory of a parameter of a loop program that is made, by the arguments of the two calls.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Slot {
    Input(usize),
    Output(usize),
    /// The memory between the two.
    Between,
}

/// Two calls that may become one.
struct Pair {
    calls: [NodeId; 2],
    names: [String; 2],
    slots: [Vec<Slot>; 2],
    /// The arguments of the new call: inputs, then outputs.
    args: [Vec<NodeId>; 2],
}

/// Decides what two calls become: their loop programs, and the memory of the parameters.
type Way = ([String; 2], [Vec<Slot>; 2]);

/// By memory: the bindings that use it, themselves or by a view, in order.
type Users = BTreeMap<NodeId, Vec<NodeId>>;

fn users(calls: &Calls) -> Users {
    let (f, ops) = (&calls.main, &calls.ops);
    let mut users = Users::new();
    for id in f.all_bindings().filter(|&id| ops.of(f, id) != Some(CoreOp::View)) {
        for &operand in f.operands(id) {
            let all = users.entry(ops.memory_of(f, operand)).or_default();
            if all.last() != Some(&id) {
                all.push(id);
            }
        }
    }
    users
}

struct Work {
    calls: Calls,
    users: Users,
    most_bytes: u64,
    fewest: i64,
    /// The loop programs that were made, or why not.
    known: HashMap<Way, Result<String, &'static str>>,
}

impl Work {
    /// Makes one of the two calls that use memory, and returns it.
    fn fuse(&mut self, alloc: NodeId) -> Result<Result<NodeId, &'static str>, PassError> {
        let pair = match self.pair(alloc) {
            Ok(pair) => pair,
            Err(why) => return Ok(Err(why)),
        };
        let key = (pair.names.clone(), pair.slots.clone());
        let name = match self.known.get(&key) {
            Some(name) => name.clone(),
            None => {
                let made = match self.make(&pair)? {
                    Ok(kernel) => {
                        let name = self.name(&pair.names);
                        self.calls.add(&name, kernel);
                        Ok(name)
                    }
                    Err(why) => Err(why),
                };
                self.known.insert(key, made.clone());
                made
            }
        };
        Ok(name.map(|name| self.call(alloc, pair, &name)))
    }

    /// The two calls that use memory, if nothing else does.
    fn pair(&self, alloc: NodeId) -> Result<Pair, &'static str> {
        let (f, ops) = (&self.calls.main, &self.calls.ops);
        let root = |id: NodeId| ops.memory_of(f, id);
        let Some(&[first, second]) = self.users.get(&alloc).map(Vec::as_slice) else {
            return Err("it is not written by one call and read by one");
        };
        let block = f.bindings(f.body());
        let place = |id: NodeId| block.iter().position(|&other| other == id);
        let (Some(from), Some(to), Some(one), Some(other)) =
            (place(first), place(second), self.calls.callee(first), self.calls.callee(second))
        else {
            return Err("something other than calls of loop programs in its block uses it");
        };
        if from > to {
            return Err("it is not written by one call and read by one");
        }
        let names = [one, other];
        let calls = [first, second];
        // Inputs, then outputs, of each.
        let split = |at: usize| {
            let args = f.call(calls[at]).map(CallView::args).unwrap_or_default();
            args.split_at(args.len() - n_outputs(&self.calls.kernels[&names[at]]))
        };
        let [(in_first, out_first), (in_second, out_second)] = [split(0), split(1)];
        let has = |ids: &[NodeId], memory: NodeId| ids.iter().filter(|&&id| root(id) == memory).count();
        if has(out_first, alloc) != 1 || has(in_first, alloc) + has(out_second, alloc) > 0 {
            return Err("it is not written by one call and read by one");
        }
        let is_free = |id: &NodeId| {
            let touches = |ids: &[NodeId], memory: NodeId| has(ids, root(memory)) > 0;
            let all = f.operands(*id);
            let n_outputs = self.calls.callee(*id).map_or(all.len(), |name| n_outputs(&self.calls.kernels[&name]));
            all.iter().enumerate().all(|(at, &operand)| {
                let may_write = at >= all.len() - n_outputs;
                !(touches(out_first, operand) || may_write && touches(in_first, operand))
            })
        };
        let between = block[from + 1..to].iter();
        let is_memory = |id: &&NodeId| matches!(ops.of(f, **id), Some(CoreOp::Alloc | CoreOp::View));
        let mut others = between.filter(|id| !is_memory(id) && f.kind(**id) != kind::CONSTANT);
        if !others.all(|id| f.n_regions(*id) == 0 && is_free(id)) {
            return Err("what is between its calls uses the same memory");
        }
        let writes: Vec<NodeId> = out_first.iter().chain(out_second).copied().filter(|&id| root(id) != alloc).collect();
        let is_alone = |&id: &NodeId| has(&writes, root(id)) == 1 && has(in_first, root(id)) == 0;
        let is_read_as_it_is = |&id: &NodeId| match writes.iter().find(|&&made| root(made) == root(id)) {
            Some(&made) => made == id && has(out_second, root(id)) == 0,
            None => true,
        };
        if !writes.iter().all(is_alone) || !in_second.iter().all(is_read_as_it_is) {
            return Err("its calls use other memory in two ways");
        }
        let mut inputs: Vec<NodeId> = Vec::new();
        let mut slot = |id: NodeId| {
            if root(id) == alloc {
                return Slot::Between;
            }
            if let Some(at) = writes.iter().position(|&made| made == id) {
                return Slot::Output(at);
            }
            let at = inputs.iter().position(|&input| input == id).unwrap_or_else(|| {
                inputs.push(id);
                inputs.len() - 1
            });
            Slot::Input(at)
        };
        let slots =
            calls.map(|id| f.call(id).map(CallView::args).unwrap_or_default().iter().map(|&arg| slot(arg)).collect());
        Ok(Pair { calls, names, slots, args: [inputs, writes] })
    }

    /// Makes the loop program of both calls.
    fn make(&self, pair: &Pair) -> Result<Result<Function, &'static str>, PassError> {
        let kernels = [0, 1].map(|at| &*self.calls.kernels[&pair.names[at]]);
        if kernels.iter().map(|kernel| kernel.all_bindings().count()).sum::<usize>() > MOST_BINDINGS {
            return Ok(Err("together they have too many operations"));
        }
        // The element type and sizes of each parameter.
        let mut params: BTreeMap<Slot, (ElemType, Vec<u64>)> = BTreeMap::new();
        for (kernel, slots) in kernels.iter().zip(&pair.slots) {
            for (&param, &slot) in kernel.params().iter().zip(slots) {
                let ty = kernel.type_of(param);
                let (Some(elem), Some(sizes)) = (ty.elem(), ty.static_shape()) else {
                    return Ok(Err("a size is not known"));
                };
                params.entry(slot).or_insert((elem, sizes));
            }
        }
        let named = |letter: char, slot: &dyn Fn(usize) -> Slot, n: usize| -> Vec<(String, ElemType, Vec<u64>)> {
            (0..n).map(|at| (format!("{letter}{at}"), params[&slot(at)].0, params[&slot(at)].1.clone())).collect()
        };
        fn borrow(params: &[(String, ElemType, Vec<u64>)]) -> Vec<(&str, ElemType, &[u64])> {
            params.iter().map(|(name, elem, sizes)| (&**name, *elem, &**sizes)).collect()
        }
        let inputs = named('x', &Slot::Input, pair.args[0].len());
        let outputs = named('y', &Slot::Output, pair.args[1].len());
        let mut f = prim_func(&borrow(&inputs), &borrow(&outputs));
        let (elem, sizes) = params[&Slot::Between].clone();
        let mut b = PrimBuilder::new(&mut f);
        let between = b.alloc(elem, &sizes);
        b.finish()?;
        for (kernel, slots) in kernels.iter().zip(&pair.slots) {
            let mut copier = Copier::new(kernel).without_names();
            for (&param, &slot) in kernel.params().iter().zip(slots) {
                let memory = match slot {
                    Slot::Input(at) => f.params()[at],
                    Slot::Output(at) => f.params()[inputs.len() + at],
                    Slot::Between => between,
                };
                let shape = kernel.type_of(param).static_shape().unwrap_or_default();
                let memory = match f.type_of(memory).static_shape().as_ref() == Some(&shape) {
                    true => memory,
                    false => {
                        let mut b = PrimBuilder::new(&mut f);
                        let shape: Vec<i64> = shape.iter().map(|&size| size as i64).collect();
                        let view = b.op_with(CoreOp::View, &[memory], &[Attr::new("shape", shape)]);
                        b.finish()?;
                        view
                    }
                };
                copier.set(param, memory);
            }
            for &id in kernel.bindings(kernel.body()) {
                let copy = copier.copy(&mut f, id)?;
                f.append(f.body(), copy);
            }
        }
        let fits = |f: &Function| stack(f) <= self.most_bytes;
        let large = "the memory of one turn is larger than `most_bytes`";
        let (at, why) = match shrink(&f, f.body(), between) {
            Ok(shrunk) if shrunk.bytes == 0 || fits(&shrunk.function) => (Ok(shrunk.function), ""),
            Ok(Shrunk { function, place: (block, alloc), .. }) => (self.at_reader(&function, block, alloc), large),
            Err(why) => (self.at_reader(&f, f.body(), between), why),
        };
        let (shrunk, why) = match at {
            Ok(made) if fits(&made) => (Some(made), why),
            Ok(_) => (None, large),
            Err(why) => (None, why),
        };
        let made = shrunk.or_else(|| inline(&f, f.body(), between).ok());
        Ok(made.map(|f| f.compacted()).ok_or(why))
    }

    fn at_reader(&self, f: &Function, block: BlockId, alloc: NodeId) -> Result<Function, &'static str> {
        if self.fewest == 0 { Err("`fewest` is 0") } else { at_reader(f, block, alloc, self.fewest) }
    }

    /// A name for what is made of two loop programs.
    fn name(&mut self, names: &[String; 2]) -> String {
        let [first, second] = [stem(&names[0]), stem(&names[1])];
        let stem = match first.len() + 1 + second.len() {
            len if len <= MOST_NAME => format!("{first}_{second}"),
            _ => first.to_owned(),
        };
        self.calls.name(&stem)
    }

    /// Puts one call in the place of two.
    fn call(&mut self, alloc: NodeId, pair: Pair, name: &str) -> NodeId {
        let f = &mut self.calls.main;
        let callee = f.add_global_var(name);
        let id = f.add_call_with(callee, &pair.args.concat(), &[], None);
        f.set_type(id, f.type_id(pair.calls[1]));
        let ops = &self.calls.ops;
        let is_gone =
            |f: &Function, id: NodeId| id == pair.calls[0] || ops.is_memory(f, id) && ops.memory_of(f, id) == alloc;
        let list: Vec<NodeId> = f
            .bindings(f.body())
            .iter()
            .filter(|&&id| !is_gone(f, id))
            .map(|&old| if old == pair.calls[1] { id } else { old })
            .collect();
        f.set_bindings(f.body(), &list);
        // The new call has the place of the second one in the order.
        for memory in pair.args.concat() {
            let all = self.users.entry(self.calls.ops.memory_of(f, memory)).or_default();
            let place = all.iter().position(|&user| user == pair.calls[1]);
            match place.or_else(|| all.iter().position(|&user| user == pair.calls[0])) {
                Some(place) => all[place] = id,
                None => continue,
            }
            all.retain(|user| !pair.calls.contains(user));
        }
        self.users.remove(&alloc);
        self.calls.replaced(&pair.calls, id, &pair.names);
        id
    }
}

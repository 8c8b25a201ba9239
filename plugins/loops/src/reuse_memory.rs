//! Lets a loop program write its result to the memory of an argument that is not needed afterwards.
//!
//! ```text
//! prim @main(%x: Tensor[(64), float32], %w: Tensor[(64, 64), float32]) -> (%y: Tensor[(64), float32]) {
//!   %a = alloc float32[64];
//!   @MatVec(%w, %x, %a);
//!   %b = alloc float32[64];
//!   @Relu(%a, %b);
//!   @MatVec(%w, %b, %y);
//! }
//! ```
//! becomes
//! ```text
//! prim @main(%x: Tensor[(64), float32], %w: Tensor[(64, 64), float32]) -> (%y: Tensor[(64), float32]) {
//!   %a = alloc float32[64];
//!   @MatVec(%w, %x, %a);
//!   @Relu_in_place(%a);
//!   @MatVec(%w, %a, %y);
//! }
//! ```
//!
//! The loop program for this has no parameter for the argument: it reads its output. Each element must be proven to be read
//! before it is written, by the order of the statements and of the turns of loops. The argument is memory of an `alloc` of the
//! same element type and as many elements, this call is the last one that uses it, and the first one that uses the result. An
//! output of the entry function takes the memory in front of it as well: then that is not needed at all.
//!
//! The results are the same in each bit. `PlanMemory` afterwards has less to place. As StorageRewrite of TVM does it, for calls;
//! the memory within loop programs is the matter of `FuseLoops` and `StorageRewrite`.

use crate::{
    calls::{Calls, MAIN, stem},
    program::bindings_of,
};
use relais_plugin_api::{
    ir::element_count,
    prelude::*,
    prim::{Accesses, CoreOp, LoopOps, PrimBuilder, n_outputs},
};
use std::collections::{BTreeMap, HashMap};

/// Lets a loop program write its result to the memory of an argument that is not needed afterwards.
#[module_pass(
    name = "relais.ReuseMemory",
    opt_level = 0,
    phase = "none",
    statistics(reused = "results in the memory of an argument")
)]
pub fn reuse_memory(module: &mut IRModule, cx: &PassCx<'_>) -> Result<(), PassError> {
    let Some(main) = module.global(MAIN).and_then(|main| main.prim_func()).cloned() else { return Ok(()) };
    let calls = Calls::new(module, Function::clone(&main));
    let mut work = Work { uses: Uses::of(&calls), calls, proven: HashMap::new(), made: BTreeMap::new() };
    let (mut at, mut n_reused, mut n_before) = (0, 0, 0);
    loop {
        let Some(&id) = work.calls.main.bindings(work.calls.main.body()).get(at) else {
            if n_reused == n_before {
                break;
            }
            (at, n_before) = (0, n_reused);
            continue;
        };
        match work.find(at, id) {
            Some(reuse) => {
                work.apply(at, id, reuse)?;
                n_reused += 1;
                // The list may be shorter now, and another result of the call may be found.
                at = at.saturating_sub(1);
            }
            None => at += 1,
        }
    }
    if n_reused > 0 {
        cx.count("reused", n_reused);
        work.calls.finish(module);
    }
    Ok(())
}

/// A result that takes the memory of an argument.
struct Reuse {
    name: String,
    /// The parameters that are the argument's memory.
    inputs: Vec<usize>,
    /// The parameter that is the result's.
    output: usize,
    argument: NodeId,
    result: NodeId,
}

struct Work {
    calls: Calls,
    uses: Uses,
    /// Of a loop program, an input and an output: whether each element is read before it is written.
    proven: HashMap<(String, usize, usize), bool>,
    made: BTreeMap<(String, Vec<usize>, usize), String>,
}

/// The element type and the number of elements of memory.
fn extent(f: &Function, memory: NodeId) -> Option<(ElemType, u64)> {
    let ty = f.type_of(memory);
    Some((ty.elem()?, element_count(&ty.static_shape()?)?))
}

/// By memory: the first and the last statement of the entry function that use it, themselves or by a view.
struct Uses(HashMap<NodeId, (usize, usize)>);

impl Uses {
    fn of(calls: &Calls) -> Self {
        let (f, ops) = (&calls.main, &calls.ops);
        let mut uses: HashMap<NodeId, (usize, usize)> = HashMap::new();
        for (at, &statement) in f.bindings(f.body()).iter().enumerate() {
            for id in bindings_of(f, statement).into_iter().filter(|&id| ops.of(f, id) != Some(CoreOp::View)) {
                for &operand in f.operands(id) {
                    uses.entry(ops.memory_of(f, operand)).or_insert((at, at)).1 = at;
                }
            }
        }
        Self(uses)
    }

    fn is_first(&self, at: usize, memory: NodeId) -> bool {
        self.0.get(&memory).is_some_and(|&(first, _)| first == at)
    }

    fn is_last(&self, at: usize, memory: NodeId) -> bool {
        self.0.get(&memory).is_some_and(|&(_, last)| last == at)
    }
}

impl Work {
    /// A result of a call that may take the memory of one of its arguments.
    fn find(&mut self, at: usize, id: NodeId) -> Option<Reuse> {
        let name = self.calls.callee(id)?;
        let Calls { main: f, ops, kernels, .. } = &self.calls;
        let args = f.call(id)?.args().to_vec();
        let first_output = args.len() - n_outputs(&kernels[&name]);
        let roots: Vec<NodeId> = args.iter().map(|&arg| ops.memory_of(f, arg)).collect();
        let list = f.bindings(f.body());
        let place = |memory: NodeId| list.iter().position(|&id| id == memory);
        let mut found = Vec::new();
        for output in first_output..args.len() {
            let result = roots[output];
            let is_new = roots.iter().filter(|&&root| root == result).count() == 1
                && ops.is_writable(f, result)
                && self.uses.is_first(at, result);
            if !is_new {
                continue;
            }
            for (input, &argument) in roots[..first_output].iter().enumerate() {
                let is_last = ops.of(f, argument) == Some(CoreOp::Alloc)
                    && !roots[first_output..].contains(&argument)
                    && extent(f, argument).is_some_and(|of| Some(of) == extent(f, result))
                    && self.uses.is_last(at, argument);
                // Memory that is kept is there before that which it takes the place of.
                let is_there = match (place(argument), place(result)) {
                    (Some(argument), Some(result)) => argument < result,
                    (argument, None) => argument.is_some() && f.params().contains(&result),
                    _ => false,
                };
                if is_last && is_there && !roots[..input].contains(&argument) {
                    let inputs: Vec<usize> = (0..first_output).filter(|&at| roots[at] == argument).collect();
                    found.push(Reuse { name: name.clone(), inputs, output, argument, result });
                }
            }
        }
        found.into_iter().find(|reuse| reuse.inputs.iter().all(|&input| self.is_proven(&name, input, reuse.output)))
    }

    /// Whether a loop program reads each element of an input before it writes that element of an output.
    fn is_proven(&mut self, name: &str, input: usize, output: usize) -> bool {
        let f = &self.calls.kernels[name];
        *self.proven.entry((name.to_owned(), input, output)).or_insert_with(|| {
            let ops = LoopOps::new(f);
            let memory = [f.params()[input], f.params()[output]];
            if extent(f, memory[0]).is_none() || extent(f, memory[0]) != extent(f, memory[1]) {
                return false;
            }
            let is_memory = |id: NodeId| memory.contains(&ops.memory_of(f, id));
            let is_seen = |id: NodeId| ops.of(f, id).is_some_and(|op| op.first_index().is_some() || op == CoreOp::View);
            if f.all_bindings().any(|id| !is_seen(id) && f.operands(id).iter().any(|&operand| is_memory(operand))) {
                return false;
            }
            let accesses = Accesses::new(f, &ops);
            let of = |memory: NodeId| accesses.all().iter().filter(move |access| access.root == memory);
            let mut stores = of(memory[1]).filter(|access| access.is_write);
            stores.all(|store| of(memory[0]).all(|load| accesses.is_read_first(f, &ops, f.body(), load, store)))
        })
    }

    fn apply(&mut self, at: usize, id: NodeId, reuse: Reuse) -> Result<(), PassError> {
        let key = (reuse.name.clone(), reuse.inputs.clone(), reuse.output);
        let name = match self.made.get(&key) {
            Some(name) => name.clone(),
            None => {
                let kernel = in_place(&self.calls.kernels[&reuse.name], &reuse)?;
                let name = self.calls.name(&format!("{}_in_place", stem(&reuse.name)));
                self.calls.add(&name, kernel);
                self.made.insert(key, name.clone());
                name
            }
        };
        let Calls { main: f, ops, .. } = &mut self.calls;
        let args = f.call(id).map(CallView::args).unwrap_or_default();
        let args: Vec<NodeId> =
            args.iter().enumerate().filter(|(at, _)| !reuse.inputs.contains(at)).map(|(_, &arg)| arg).collect();
        let callee = f.add_global_var(&name);
        let call = f.add_call_with(callee, &args, &[], None);
        f.set_type(call, f.type_id(id));
        let mut list = f.bindings(f.body()).to_vec();
        list[at] = call;
        // An output stays, and otherwise what was there before.
        let [kept, gone] = match f.params().contains(&reuse.result) {
            true => [reuse.result, reuse.argument],
            false => [reuse.argument, reuse.result],
        };
        let place = list.iter().position(|&id| id == gone).unwrap_or(0);
        let shape = f.type_of(gone).static_shape().unwrap_or_default();
        if f.type_of(kept).static_shape().as_ref() == Some(&shape) {
            list.remove(place);
            f.set_bindings(f.body(), &list);
            replace(f, gone, kept);
        } else {
            let shape: Vec<i64> = shape.iter().map(|&size| size as i64).collect();
            let view = crate::program::call(f, ops, CoreOp::View, &[kept], &[Attr::new("shape", shape)]);
            f.set_name_id(view, f.name_id(gone));
            list[place] = view;
            f.set_bindings(f.body(), &list);
            replace(f, gone, view);
        }
        self.calls.replaced(&[id], call, &[reuse.name]);
        self.uses = Uses::of(&self.calls);
        Ok(())
    }
}

/// Puts a node in the place of another one.
fn replace(f: &mut Function, old: NodeId, new: NodeId) {
    for id in f.all_bindings().collect::<Vec<_>>() {
        f.map_operands(id, |operand| if operand == old { new } else { operand });
    }
}

/// The loop program that reads inputs where its output is.
fn in_place(kernel: &Function, reuse: &Reuse) -> Result<Function, PassError> {
    let mut f = kernel.clone();
    let params = f.params().to_vec();
    let output = params[reuse.output];
    let moved = f.bindings(f.body()).to_vec();
    f.set_bindings(f.body(), &[]);
    let mut now: BTreeMap<NodeId, NodeId> = BTreeMap::new();
    for &input in &reuse.inputs {
        let shape = f.type_of(params[input]).static_shape().unwrap_or_default();
        let mut memory = output;
        if f.type_of(output).static_shape().as_ref() != Some(&shape) {
            let shape: Vec<i64> = shape.iter().map(|&size| size as i64).collect();
            let mut b = PrimBuilder::new(&mut f);
            memory = b.op_with(CoreOp::View, &[output], &[Attr::new("shape", shape)]);
            b.finish()?;
        }
        now.insert(params[input], memory);
    }
    let all: Vec<NodeId> = f.bindings(f.body()).iter().chain(&moved).copied().collect();
    f.set_bindings(f.body(), &all);
    now.into_iter().for_each(|(old, new)| replace(&mut f, old, new));
    let kept: Vec<NodeId> =
        params.iter().enumerate().filter(|(at, _)| !reuse.inputs.contains(at)).map(|(_, &param)| param).collect();
    let root = f.root();
    f.set_params(root, &kept);
    Ok(f.compacted())
}

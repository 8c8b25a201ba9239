//! Makes a loop program of the entry function, so that nothing but loop programs is left.
//!
//! ```text
//! def @main(%x: Tensor[(4), float32]) #[output_names = ["z"]] { %y = @Relu(%x); %z = @Exp(%y); %z }
//! ```
//! becomes
//! ```text
//! prim @main(%x: Tensor[(4), float32]) -> (%z: Tensor[(4), float32]) {
//!   %y = alloc(shape = [4], elem = "float32");
//!   @Relu(%x, %y);
//!   @Exp(%y, %z);
//! }
//! ```
//!
//! Values become memory: outputs are written where they belong, an `alloc` holds each other value, and a call that only
//! gives another shape to what it reads becomes a `view`. Values that are outputs twice, or inputs or constants as well, are
//! copied.
//!
//! Before, `LowerOps` makes the loop programs that `main` calls. Other calls are errors, and all of them are reported at
//! once: operators without loop programs, calls of functions (`Inline` expands them), `If`, `Loop` and `Scan`; so
//! are other graph functions, inputs and outputs whose sizes are not known, and those that are not tensors of numbers.

use crate::{
    calls::MAIN,
    graphs::{kernel, memory_type},
    obstacles::{foreign_elements, obstacle, obstacles},
    program::set_attr,
};
use relais_plugin_api::{
    ir::{AttrData, AttrValue, OUTPUT_NAMES, kind},
    prelude::*,
    prim::{CoreOp, LoopOps, PrimBuilder, n_outputs, prim_func},
};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Options of [`lower_main`].
#[derive(PassOptions)]
pub struct Options {
    /// The element types that can be written in the end. Where there is an error, calls with other ones are errors, too, so that
    /// all are known at once. If there are none, it is not known.
    #[option(default = [])]
    elements: Vec<String>,
}

/// Makes a loop program of the entry function.
#[module_pass(
    name = "relais.LowerMain",
    opt_level = 0,
    required = ["relais.InferType"],
    phase = "none",
    statistics(calls = "calls of loop programs"),
)]
pub fn lower_main(module: &mut IRModule, cx: &PassCx<'_>, options: &Options) -> Result<(), PassError> {
    let Some(f) = module.function(MAIN).cloned() else { return Ok(()) };
    let faults = obstacles(module, &f, true, true);
    if !faults.is_empty() {
        let others = foreign_elements(module, &options.elements);
        faults.into_iter().chain(others).for_each(|fault| cx.diagnostic(fault));
        return Ok(());
    }
    let made = lower(module, &f)?;
    cx.count("calls", made.bindings(made.body()).iter().filter(|&&id| made.kind(id) == kind::CALL).count());
    module.set_prim_func(MAIN, made);
    Ok(())
}

/// Whether [`lower`] makes a loop program of a function.
pub fn is_lowered(module: &IRModule, f: &Function) -> bool {
    let uses = f.use_counts();
    let mut values = f.params().iter().chain(f.results(f.body()));
    values.all(|&id| memory_type(f, id).is_some())
        && f.bindings(f.body()).iter().all(|&id| obstacle(module, f, id, uses[id.index()] > 0).is_none())
}

/// Makes a loop program of a function whose calls are those of loop programs.
///
/// # Errors
/// Returns an error if it contains something else.
pub fn lower(module: &IRModule, f: &Function) -> Result<Function, PassError> {
    Lowering::new(module, f)?.lower()
}

/// Whether a loop program only copies the elements of its one input to its one output, in order:
/// `for i in 0..n { y[i] = x[i] }`, of both as they are or in one dimension.
fn is_copy(f: &Function) -> bool {
    let &[x, y] = f.params() else { return false };
    let ops = LoopOps::new(f);
    let bindings: Vec<NodeId> = f.all_bindings().filter(|&id| ops.of(f, id) != Some(CoreOp::View)).collect();
    let &[turn, load, store] = &*bindings else { return false };
    let count = |memory: NodeId| memory_type(f, memory).map(|(elem, sizes)| (elem, sizes.iter().product::<u64>()));
    let is_whole = |id: NodeId, of: NodeId| {
        ops.memory_of(f, id) == of && memory_type(f, id).is_some_and(|(_, sizes)| sizes.len() == 1)
    };
    if n_outputs(f) != 1 || count(x) != count(y) || ops.of(f, turn) != Some(CoreOp::For) {
        return false;
    }
    let (&[_, min, extent], &[body]) = (&f.operands(turn)[..f.operands(turn).len() - 1], f.regions(turn)) else {
        return false;
    };
    let &[index] = f.operands(body) else { return false };
    let int = |id: NodeId| f.imm(id).and_then(|imm| imm.as_int());
    let is_all = int(min) == Some(0) && int(extent).map(|n| n as u64) == count(x).map(|(_, n)| n);
    let reads = ops.of(f, load) == Some(CoreOp::Load) && f.attr_recs(load).is_empty();
    let writes = ops.of(f, store) == Some(CoreOp::Store);
    is_all
        && reads
        && writes
        && matches!(*f.operands(load), [_, from, at] if at == index && is_whole(from, x))
        && matches!(*f.operands(store), [_, to, value, at] if at == index && value == load && is_whole(to, y))
}

/// A function while it is lowered.
struct Lowering<'m> {
    module: &'m IRModule,
    f: &'m Function,
    /// By value of the graph: its memory.
    memory: HashMap<NodeId, NodeId>,
    /// By value of the graph: the output that it is written to at once.
    targets: HashMap<NodeId, NodeId>,
    made: Function,
    /// The names that something has.
    taken: HashSet<String>,
}

impl<'m> Lowering<'m> {
    fn new(module: &'m IRModule, f: &'m Function) -> Result<Self, PassError> {
        let unknown = || PassError::new("a type is not known");
        let params = |ids: &[NodeId]| -> Result<Vec<(String, ElemType, Vec<u64>)>, PassError> {
            let param = |&id: &NodeId| {
                let (elem, sizes) = memory_type(f, id).ok_or_else(unknown)?;
                Ok((f.name(id).to_owned(), elem, sizes))
            };
            ids.iter().map(param).collect()
        };
        let results = f.results(f.body());
        let inputs = params(f.params())?;
        let mut outputs = params(results)?;
        let mut taken: HashSet<String> = inputs.iter().map(|(name, ..)| name.clone()).collect();
        for (at, (name, ..)) in outputs.iter_mut().enumerate() {
            if name.is_empty() {
                *name = format!("output{at}");
            }
            while taken.contains(name) {
                *name += "_";
            }
            taken.insert(name.clone());
        }
        fn borrow(params: &[(String, ElemType, Vec<u64>)]) -> Vec<(&str, ElemType, &[u64])> {
            params.iter().map(|(name, elem, sizes)| (&**name, *elem, &**sizes)).collect()
        }
        let mut made = prim_func(&borrow(&inputs), &borrow(&outputs));
        if let Some(AttrValue::Strings(names)) = f.attrs(f.root()).meta(OUTPUT_NAMES) {
            let names = names.strings().map(<[u8]>::to_vec).collect();
            let root = made.root();
            set_attr(&mut made, root, &Attr::meta(OUTPUT_NAMES, AttrData::Strings(names)));
        }
        let (ins, outs) = made.params().split_at(inputs.len());
        let memory = f.params().iter().copied().zip(ins.iter().copied()).collect();
        // A value that is an output twice is written to the first one.
        let mut targets = HashMap::new();
        for (&result, &out) in results.iter().zip(outs) {
            targets.entry(result).or_insert(out);
        }
        Ok(Self { module, f, memory, targets, made, taken })
    }

    fn lower(mut self) -> Result<Function, PassError> {
        let f = self.f;
        let uses = f.use_counts();
        // Where the results of calls with several results are taken.
        let mut items: BTreeMap<NodeId, Vec<(usize, NodeId)>> = BTreeMap::new();
        for id in f.bindings(f.body()).iter().copied() {
            if let Expr::TupleGetItem { tuple, index } = f.expr(id) {
                items.entry(tuple).or_default().push((index, id));
            }
        }
        for id in f.bindings(f.body()).iter().copied() {
            match f.expr(id) {
                Expr::Constant(tensor) if uses[id.index()] > 0 => {
                    let mut b = PrimBuilder::new(&mut self.made);
                    let constant = b.constant(tensor.clone());
                    b.finish()?;
                    self.place(id, constant);
                }
                Expr::Call(call) => self.call(id, call, items.get(&id).map_or(&[][..], Vec::as_slice))?,
                _ => {}
            }
        }
        let outs = self.made.params()[f.params().len()..].to_vec();
        for (&result, &out) in f.results(f.body()).iter().zip(&outs) {
            let memory = self.memory_of(result)?;
            if memory != out {
                self.copy(memory, out)?;
            }
        }
        Ok(self.made)
    }

    fn memory_of(&self, id: NodeId) -> Result<NodeId, PassError> {
        self.memory.get(&id).copied().ok_or_else(|| PassError::new("a value has no memory").at(id))
    }

    /// Notes where a value is.
    fn place(&mut self, value: NodeId, memory: NodeId) {
        let name = self.f.name(value);
        if !name.is_empty() && self.made.name(memory).is_empty() && self.taken.insert(name.to_owned()) {
            self.made.set_name(memory, name);
        }
        self.memory.insert(value, memory);
    }

    fn call(&mut self, id: NodeId, call: CallView<'_>, items: &[(usize, NodeId)]) -> Result<(), PassError> {
        let Some((name, kernel)) = kernel(self.module, call) else { return Ok(()) };
        let mut args: Vec<NodeId> = call.args().iter().map(|&arg| self.memory_of(arg)).collect::<Result<_, _>>()?;
        if let (&[from], None, false) = (&*args, self.f.n_results(id), self.targets.contains_key(&id))
            && is_copy(kernel)
            && let Some((_, sizes)) = memory_type(self.f, id)
        {
            let view = self.view(from, &sizes)?;
            self.place(id, view);
            return Ok(());
        }
        let outputs = kernel.params()[kernel.params().len() - n_outputs(kernel)..].to_vec();
        for (at, output) in outputs.into_iter().enumerate() {
            let value = match self.f.n_results(id) {
                None => Some(id),
                Some(_) => items.iter().find(|&&(index, _)| index == at).map(|&(_, item)| item),
            };
            let memory = match value.and_then(|value| self.targets.get(&value)) {
                Some(&out) => out,
                None => self.alloc(kernel, output)?,
            };
            args.push(memory);
            if let Some(value) = value {
                self.place(value, memory);
            }
        }
        // Projections of the same result share its memory.
        for &(index, item) in items {
            self.memory.entry(item).or_insert(args[args.len() - n_outputs(kernel) + index]);
        }
        let mut b = PrimBuilder::new(&mut self.made);
        b.call(name, &args);
        b.finish()
    }

    fn alloc(&mut self, kernel: &Function, output: NodeId) -> Result<NodeId, PassError> {
        let (elem, sizes) = memory_type(kernel, output).ok_or_else(|| PassError::new("a size is not known"))?;
        let mut b = PrimBuilder::new(&mut self.made);
        let alloc = b.alloc(elem, &sizes);
        b.finish().map(|()| alloc)
    }

    fn view(&mut self, memory: NodeId, sizes: &[u64]) -> Result<NodeId, PassError> {
        let sizes: Vec<i64> = sizes.iter().map(|&size| size as i64).collect();
        let mut b = PrimBuilder::new(&mut self.made);
        let view = b.op_with(CoreOp::View, &[memory], &[Attr::new("shape", sizes)]);
        b.finish().map(|()| view)
    }

    /// Copies the elements of memory to memory with as many.
    fn copy(&mut self, from: NodeId, to: NodeId) -> Result<(), PassError> {
        let n: u64 = memory_type(&self.made, to).map_or(0, |(_, sizes)| sizes.iter().product());
        let (from, to) = (self.view(from, &[n])?, self.view(to, &[n])?);
        let mut b = PrimBuilder::new(&mut self.made);
        let extent = b.index(n as i64);
        b.each(extent, |b, at| {
            let value = b.load(from, &[at]);
            b.store(to, value, &[at]);
        });
        b.finish()
    }
}

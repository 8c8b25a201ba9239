//! Computes the turns of `vectorized` loops in the lanes of vectors.
//!
//! ```text
//! for %i in 0..20 vectorized {
//!   %y[%i] = max(%x[%i], 0.0);
//! }
//! ```
//! becomes
//! ```text
//! for %i in 0..2 {
//!   %at = %i * 8;
//!   store(%y, max(load(%x, %at, lanes = 8), broadcast(0.0, lanes = 8)), %at);
//! }
//! for %i in 16..20 {
//!   %y[%i] = max(%x[%i], 0.0);
//! }
//! ```
//!
//! A loop of at most as many turns as a vector has lanes is one vector of them, without a loop; turns that are left over stay a
//! serial loop. Elements in a row are loaded and stored as a vector, others by `gather` and `scatter`. Values that are the same
//! in all turns are computed once. Loops and conditionals that are the same for all turns stay around vectors, and the values that
//! these loops carry become vectors: a sum for each lane. Memory of an `alloc` in the loop becomes memory of all lanes, of at
//! most 64 KB.
//!
//! Statements that cannot be computed in lanes run in a serial loop over the lanes: conditionals, values of `if` and loops that
//! depend on the lane, calls, and stores of all turns to one place. With `masked = true`, a conditional that depends on the lane,
//! without `else`, of loads and stores in a row and operations that cannot fail, becomes masked loads and stores instead.
//!
//! The results are the same in each bit: each turn of the loop has to be proven not to use what an earlier one of the same vector
//! writes, where the order of the two changes. A loop is left as a serial one, with a remark, where that cannot be proven, and if it
//! carries values, contains a `while`, an `assert` that depends on the lane, or nothing that could be computed in lanes.
//!
//! The number of turns has to be constant, as in TVM; the first one need not be. TVM's pass looks at no dependence:
//! it computes other numbers for `a[i + 1] = a[i]`, and for memory of a turn. It makes vectors of as many lanes as there are turns.
//!
//! With `enable = false`, or the context's option `tir.disable_vectorize`, vectorized loops become serial ones.

use crate::program::{Loop, bindings_of, call, constant_int, is_program, replace, set_serial};
use plan::Planner;
use relais_plugin_api::{
    ir::{BlockId, Copier, Imm, StrId, Walk, WalkStep},
    prelude::*,
    prim::{Accesses, CoreOp, Intervals, LoopKind, LoopOps, remove_unused},
};
use std::collections::{HashMap, HashSet};

pub mod plan;
mod write;

/// Options of [`vectorize_loop`].
#[derive(PassOptions)]
#[options(check = is_width)]
pub struct VectorizeLoopOptions {
    /// Whether vectors are made; otherwise vectorized loops become serial ones.
    #[option(default = true)]
    enable: bool,
    /// The most lanes of a vector: 4, 8 or 16.
    #[option(default = 8, range = 4..=16)]
    widths: i64,
    /// Whether conditionals that depend on the lane become masked loads and stores, where they can.
    #[option(default = false)]
    masked: bool,
}

config_option! {
    "tir.disable_vectorize": bool, default = false, aliases = ["tirx.disable_vectorize"],
    doc = "Whether `VectorizeLoop` makes serial loops of vectorized ones, rather than vectors."
}

fn is_width(options: &VectorizeLoopOptions) -> Result<(), String> {
    match options.widths {
        4 | 8 | 16 => Ok(()),
        other => Err(format!("`widths` is 4, 8 or 16, not {other}")),
    }
}

/// Computes the turns of `vectorized` loops in the lanes of vectors.
#[prim_func_pass(
    name = "relais.VectorizeLoop",
    aliases = ["tir.transform.VectorizeLoop", "tirx.transform.VectorizeLoop"],
    opt_level = 0,
    phase = "none",
    statistics(vectorized = "loops computed in lanes", serial = "loops made serial"),
)]
pub fn vectorize_loop(edit: &mut Editor, cx: &PassCx<'_>, options: &VectorizeLoopOptions) -> Result<(), PassError> {
    let is_disabled: bool = cx.config("tir.disable_vectorize")?.ok_or("nobody registered `tir.disable_vectorize`")?;
    let f = edit.function();
    if !is_program(f) {
        return Ok(());
    }
    let ops = LoopOps::new(f);
    let is_wish =
        |&id: &NodeId| ops.of(f, id) == Some(CoreOp::For) && LoopOps::loop_kind(f, id) == Some(LoopKind::Vectorized);
    // The outermost first: vectors cannot be made wider.
    let loops: Vec<NodeId> = f.all_bindings().filter(is_wish).collect();
    if loops.is_empty() {
        return Ok(());
    }
    if is_disabled || !options.enable {
        cx.count("serial", loops.len());
        let f = edit.function_mut();
        loops.into_iter().for_each(|id| set_serial(f, id));
        return Ok(());
    }
    let before = f.clone();
    let accesses = Accesses::new(&before, &ops);
    let mut work = Work::new(&before, ops);
    for id in loops {
        if work.done.contains(&id) {
            continue;
        }
        match work.vectorize(edit.function_mut(), &accesses, id, options)? {
            Ok(()) => cx.count("vectorized", 1),
            Err(why) => {
                cx.remark(id, format_args!("the loop stays serial: {why}"));
                cx.count("serial", 1);
                set_serial(edit.function_mut(), id);
            }
        }
    }
    work.place(edit.function_mut());
    remove_unused(edit);
    Ok(())
}

/// The value of an extent, if it is constant: also where the end of the loop is its beginning and a number.
fn n_turns(f: &Function, ops: &LoopOps, extent: NodeId) -> Option<i64> {
    constant_int(f, ops, extent).or_else(|| {
        let sum = Intervals::new(f).wrapping_sum(f, ops, extent).filter(|sum| sum.terms.is_empty())?;
        Some(if f.type_of(extent).elem() == Some(ElemType::INT32) {
            (sum.constant as i32).into()
        } else {
            sum.constant
        })
    })
}

struct Work<'a> {
    before: &'a Function,
    ops: LoopOps,
    copier: Copier<'a>,
    /// How often each name is given.
    names: HashMap<String, usize>,
    /// The loops in those that were computed in lanes.
    done: HashSet<NodeId>,
    /// The bindings in the places of loops.
    placed: HashMap<NodeId, Vec<NodeId>>,
}

impl<'a> Work<'a> {
    fn new(before: &'a Function, ops: LoopOps) -> Self {
        let mut copier = Copier::new(before).keep_symbols();
        let mut names: HashMap<String, usize> = HashMap::new();
        let mut note = |id: NodeId| {
            copier.set(id, id);
            *names.entry(before.name(id).to_owned()).or_default() += 1;
        };
        let mut walk = Walk::new(before);
        while let Some(step) = walk.next(before) {
            match step {
                WalkStep::Enter(block) => {
                    before.operands(before.block(block).owner).iter().copied().for_each(&mut note)
                }
                WalkStep::Binding(id) => note(id),
                WalkStep::Exit(_) | WalkStep::Leave(_) => {}
            }
        }
        Self { before, ops, copier, names, done: HashSet::new(), placed: HashMap::new() }
    }

    /// Computes a loop in lanes; the inner error is the reason if it stays serial.
    fn vectorize(
        &mut self,
        f: &mut Function,
        accesses: &Accesses,
        id: NodeId,
        options: &VectorizeLoopOptions,
    ) -> Result<Result<(), plan::WhySerial>, PassError> {
        let Some(parts) = Loop::of(f, &self.ops, id) else { return Ok(Err("it breaks a rule")) };
        let Some(extent) = n_turns(f, &self.ops, parts.extent) else {
            return Err(PassError::new("cannot vectorize a loop whose extent is not constant")
                .at(id)
                .help("make it a serial loop, or run `Simplify` before if the extent follows from constants"));
        };
        let (min, variable) = (parts.min, parts.params[0]);
        if parts.params.len() > 1 {
            return Ok(Err("it carries values"));
        }
        let region = f.regions(id)[0];
        let body = f.block_of(region);
        if extent <= 1 {
            let list = if extent == 1 { f.bindings(body).to_vec() } else { Vec::new() };
            if list.is_empty() {
                self.done.extend(bindings_of(f, id));
            }
            replace(f, body, |id| if id == variable { min } else { id });
            self.copier.set(variable, min);
            f.set_bindings(body, &[]);
            self.put(f, id, list);
            return Ok(Ok(()));
        }
        let lanes = extent.min(options.widths);
        let plan = match Planner::plan(self.before, &self.ops, accesses, id, lanes, options.masked) {
            Ok(plan) => plan,
            Err(why) => return Ok(Err(why)),
        };
        let inner = bindings_of(f, id);
        let rest = self.rest(f, id, extent % lanes, extent - extent % lanes)?;
        if extent / lanes == 1 {
            let list = write::write(f, &mut self.ops, &plan, id, min, lanes)?;
            f.set_bindings(body, &[]);
            self.put(f, id, [list, rest].concat());
        } else {
            let elem = f.type_of(variable).elem().unwrap_or(ElemType::INT64);
            let number = |f: &mut Function, value: i64| f.add_imm(Imm::int(elem, value).unwrap_or(Imm::index(value)));
            let outer = f.add_var("", f.type_id(variable));
            f.set_name_id(outer, f.name_id(variable));
            f.set_name_id(variable, StrId::EMPTY);
            let step = number(f, lanes);
            let mut base = call(f, &mut self.ops, CoreOp::Mul, &[outer, step], &[]);
            let mut head = vec![base];
            if f.imm(min).and_then(|imm| imm.as_int()) != Some(0) {
                base = call(f, &mut self.ops, CoreOp::Add, &[min, base], &[]);
                head.push(base);
            }
            let list = write::write(f, &mut self.ops, &plan, id, base, lanes)?;
            f.set_bindings(body, &[head, list].concat());
            f.set_params(region, &[outer]);
            let (zero, turns) = (number(f, 0), number(f, extent / lanes));
            f.set_operand(id, 1, zero);
            f.set_operand(id, 2, turns);
            set_serial(f, id);
            self.placed.insert(id, [vec![id], rest].concat());
        }
        self.done.extend(inner);
        Ok(Ok(()))
    }

    /// The turns that are left over, as a serial loop.
    fn rest(&mut self, f: &mut Function, id: NodeId, turns: i64, before: i64) -> Result<Vec<NodeId>, PassError> {
        if turns == 0 {
            return Ok(Vec::new());
        }
        let copy = self.copier.copy(f, id)?;
        for inner in bindings_of(f, copy) {
            *self.names.entry(f.name(inner).to_owned()).or_default() += 1;
            let is_loop = self.ops.of(f, inner) == Some(CoreOp::For);
            if is_loop && LoopOps::loop_kind(f, inner) == Some(LoopKind::Vectorized) {
                set_serial(f, inner);
            }
        }
        let min = f.operands(copy)[1];
        let elem = f.type_of(min).elem().unwrap_or(ElemType::INT64);
        let number = |f: &mut Function, value: i64| f.add_imm(Imm::int(elem, value).unwrap_or(Imm::index(value)));
        let (done, turns) = (number(f, before), number(f, turns));
        let mut list = Vec::new();
        let min = match f.imm(min).and_then(|imm| imm.as_int()) {
            Some(min) => number(f, min.wrapping_add(before)),
            None => {
                let min = call(f, &mut self.ops, CoreOp::Add, &[min, done], &[]);
                list.push(min);
                min
            }
        };
        f.set_operand(copy, 1, min);
        f.set_operand(copy, 2, turns);
        list.push(copy);
        Ok(list)
    }

    /// Puts bindings in the place of a loop. They keep names that nothing else has.
    fn put(&mut self, f: &mut Function, id: NodeId, list: Vec<NodeId>) {
        for &binding in &list {
            if self.names.get(f.name(binding)).is_some_and(|&n| n > 1) {
                f.set_name_id(binding, StrId::EMPTY);
            }
        }
        self.placed.insert(id, list);
    }

    /// Writes the lists in which loops are replaced.
    fn place(&self, f: &mut Function) {
        let blocks: Vec<_> = (0..f.n_blocks()).map(BlockId::from_index).collect();
        for block in blocks {
            if !f.bindings(block).iter().any(|id| self.placed.contains_key(id)) {
                continue;
            }
            let mut open: Vec<NodeId> = f.bindings(block).iter().rev().copied().collect();
            let mut list = Vec::with_capacity(open.len());
            while let Some(id) = open.pop() {
                match self.placed.get(&id) {
                    // A loop of several vectors is in its own place.
                    Some(placed) if !placed.contains(&id) => open.extend(placed.iter().rev()),
                    Some(placed) => list.extend_from_slice(placed),
                    None => list.push(id),
                }
            }
            f.set_bindings(block, &list);
        }
    }
}

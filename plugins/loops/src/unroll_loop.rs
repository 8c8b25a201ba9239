//! Writes out the turns of loops whose number is known.
//!
//! ```text
//! for %i in 0..2 unrolled {
//!   %b[%i] = 0.0;
//! }
//! ```
//! becomes
//! ```text
//! %b[0] = 0.0;
//! %b[1] = 0.0;
//! ```
//!
//! A loop of the kind `unrolled` is written out, whatever its size; its extent has to be an immediate, or one operation on
//! immediates. A `serial` loop is, if no other loop is left in it, at most `auto_max_depth` loops in it were written out, and
//! it takes at most `auto_max_step` steps, or at most `auto_max_extent` turns. Steps are counted from the inside out: a
//! store, an `assert`, a call and each value that a loop carries is one, both branches of a `when` count, and a loop that is
//! written out takes the steps of all its turns. A body without any counts as one step.
//!
//! Carried values are passed from turn to turn, in order. A loop without turns leaves its first values. Bindings that are
//! written out have no names.
//!
//! The options are those of the context's option `tir.UnrollLoop`. With `explicit_unroll = false`, loops are only marked as
//! `unrolled`, for the C compiler. With `unroll_local_access`, a loop whose variable is part of an index into memory of an
//! `alloc` on the stack is written out, whatever its steps. The metadata `auto_unroll_max_step` and `unroll_explicit` (0 or
//! 1) of a loop or a `when` take the place of `auto_max_step` and `explicit_unroll` in it.
//!
//! A function grows by at most `max_growth` times its nodes (at least 65,536, at most 8,388,608 bindings): a loop that would
//! make more is left alone, or an error if it is `unrolled`.
//!
//! `Simplify` before it makes more extents constant. TVM's pass differs: it refuses an `unrolled` loop with a negative
//! extent, its product of turns and steps overflows, and it has no limit. A remark says where it would unroll a loop by that.

use crate::program::{Loop, call, is_program, set_kind};
use relais_plugin_api::{
    ir::{AttrValue, BlockId, Fuel, Imm, StrId, Walk, WalkStep, kind},
    prelude::*,
    prim::{CoreOp, LoopKind, LoopOps},
};
use std::collections::HashMap;

/// Options of [`unroll_loop`], those of TVM's `UnrollLoopConfig`.
#[derive(PassOptions)]
pub struct UnrollLoopConfig {
    /// The number of steps up to which a serial loop is unrolled.
    #[option(default = 0)]
    auto_max_step: i64,
    /// The number of unrolled loops within each other, up to which the loop around them is unrolled, too.
    #[option(default = 8)]
    auto_max_depth: i64,
    /// The number of turns up to which a serial loop is unrolled, whatever its steps.
    #[option(default = 0)]
    auto_max_extent: i64,
    /// Whether loops are written out rather than marked as `unrolled`.
    #[option(default = true)]
    explicit_unroll: bool,
    /// Whether loops are unrolled whose variables are indices into memory on the stack.
    #[option(default = false)]
    unroll_local_access: bool,
    /// The most bindings that are made, as a multiple of the function's nodes. TVM has no such limit.
    #[option(default = 256, range = 1..=65_536)]
    max_growth: u32,
}

config_option! {
    "tir.UnrollLoop": UnrollLoopConfig, aliases = ["tirx.UnrollLoop"],
    doc = "How loops are unrolled."
}

/// The metadata that stands for `auto_max_step` within a node.
const MAX_STEP: &str = "auto_unroll_max_step";
/// The metadata that stands for `explicit_unroll` within a node.
const EXPLICIT: &str = "unroll_explicit";

/// Writes out the turns of loops.
#[prim_func_pass(
    name = "relais.UnrollLoop",
    aliases = ["tir.transform.UnrollLoop", "tirx.transform.UnrollLoop"],
    opt_level = 0,
    phase = "none",
    statistics(unrolled = "loops written out", marked = "loops marked as unrolled"),
)]
pub fn unroll_loop(edit: &mut Editor, cx: &PassCx<'_>) -> Result<(), PassError> {
    let config: UnrollLoopConfig = cx.config("tir.UnrollLoop")?.ok_or("nobody registered `tir.UnrollLoop`")?;
    let f = edit.function();
    if !is_program(f) {
        return Ok(());
    }
    let ops = LoopOps::new(f);
    let plan = Planner::new(f, &ops, &config, cx).plan()?;
    if plan.is_empty() {
        return Ok(());
    }
    let f = edit.function_mut();
    let marked: Vec<NodeId> = plan.iter().filter(|(_, to)| matches!(to, Plan::Mark)).map(|(&id, _)| id).collect();
    marked.iter().for_each(|&id| set_kind(f, id, LoopKind::Unrolled));
    cx.count("marked", marked.len());
    cx.count("unrolled", plan.len() - marked.len());
    if plan.len() > marked.len() {
        Writer::new(f, ops, &plan).write();
    }
    Ok(())
}

/// Puts the bodies of loops with one turn in their places.
pub fn write_single_turns(f: &mut Function, loops: impl IntoIterator<Item = NodeId>) {
    let plan: HashMap<NodeId, Plan> = loops.into_iter().map(|id| (id, Plan::Unroll(1))).collect();
    if !plan.is_empty() {
        let ops = LoopOps::new(f);
        Writer::new(f, ops, &plan).write();
    }
}

/// The outcome for a loop.
#[derive(Clone, Copy)]
enum Plan {
    /// It is written out, with this number of turns.
    Unroll(u64),
    /// Its kind becomes `unrolled`.
    Mark,
}

// ---- the plan for each loop --------------------------------------------------------------------------------------------

/// The counters on the way out of nested loops.
#[derive(Clone, Copy, Default)]
struct Counters {
    /// The steps of the unrolled program.
    steps: u64,
    /// The loops in each other that are unrolled.
    depth: u64,
    /// The loops in each other that stay.
    normal: u64,
}

impl Counters {
    /// Those of statements in a row.
    fn and(self, other: Self) -> Self {
        Self {
            steps: self.steps.saturating_add(other.steps),
            depth: self.depth.max(other.depth),
            normal: self.normal.max(other.normal),
        }
    }
}

/// The settings that metadata may change.
#[derive(Clone, Copy)]
struct Settings {
    max_step: i64,
    is_explicit: bool,
}

impl Settings {
    /// Those within a node.
    fn within(self, f: &Function, id: NodeId) -> Result<Self, PassError> {
        let number = |name: &str| match f.attrs(id).meta(name) {
            None => Ok(None),
            Some(AttrValue::Int(value)) => Ok(Some(value)),
            Some(_) => Err(PassError::new(format_args!("the metadata `{name}` is not an integer"))
                .at(id)
                .help(format_args!("write `#[{name} = 1]`, or leave it out"))),
        };
        let (max_step, is_explicit) = (number(MAX_STEP)?, number(EXPLICIT)?);
        Ok(Self {
            max_step: max_step.unwrap_or(self.max_step),
            is_explicit: is_explicit.map_or(self.is_explicit, |value| value != 0),
        })
    }
}

/// Whether a binding is a statement.
fn is_statement(f: &Function, ops: &LoopOps, id: NodeId) -> bool {
    ops.of(f, id).map_or(f.kind(id) == kind::CALL, CoreOp::is_statement)
}

struct Planner<'a> {
    f: &'a Function,
    ops: &'a LoopOps,
    config: &'a UnrollLoopConfig,
    cx: &'a PassCx<'a>,
    /// By node: whether an index into memory on the stack depends on it.
    is_local_index: Vec<bool>,
    here: Counters,
    /// The number of bindings that unrolling adds.
    /// The bindings that may still be made.
    fuel: Fuel,
    plan: HashMap<NodeId, Plan>,
}

impl<'a> Planner<'a> {
    fn new(f: &'a Function, ops: &'a LoopOps, config: &'a UnrollLoopConfig, cx: &'a PassCx<'a>) -> Self {
        let is_local_index = if config.unroll_local_access { local_indices(f, ops) } else { Vec::new() };
        let fuel = Fuel::of_growth(f.n_nodes(), config.max_growth);
        Self { f, ops, config, cx, is_local_index, here: Counters::default(), fuel, plan: HashMap::new() }
    }

    fn plan(mut self) -> Result<HashMap<NodeId, Plan>, PassError> {
        let f = self.f;
        let outermost = Settings { max_step: self.config.auto_max_step, is_explicit: self.config.explicit_unroll };
        let mut settings = vec![outermost];
        // For each open block, whether it is a sequence: its statements are counted from zero on, each by itself.
        let mut is_sequence: Vec<bool> = Vec::new();
        // The counters before the open statements of sequences.
        let mut before: Vec<Counters> = Vec::new();
        // The number of bindings in each open binding, after unrolling.
        let mut sizes: Vec<u64> = vec![0];
        let mut walk = Walk::new(f);
        while let Some(step) = walk.next(f) {
            match step {
                WalkStep::Enter(block) => {
                    let statements = f.bindings(block).iter().filter(|&&id| is_statement(f, self.ops, id));
                    is_sequence.push(statements.take(2).count() > 1);
                }
                WalkStep::Exit(_) => drop(is_sequence.pop()),
                WalkStep::Binding(id) => {
                    add(&mut sizes, 1);
                    if f.n_regions(id) == 0 {
                        self.here.steps += u64::from(is_statement(f, self.ops, id));
                        continue;
                    }
                    let outer = settings.last().copied().unwrap_or(outermost);
                    settings.push(outer.within(f, id)?);
                    sizes.push(0);
                    if is_sequence.last() == Some(&true) {
                        before.push(std::mem::take(&mut self.here));
                    }
                }
                WalkStep::Leave(id) => {
                    let (within, size) = (settings.pop().unwrap_or(outermost), sizes.pop().unwrap_or(0));
                    let size = self.leave(id, within, size)?;
                    add(&mut sizes, size);
                    if is_sequence.last() == Some(&true) {
                        self.here = self.here.and(before.pop().unwrap_or_default());
                    }
                }
            }
        }
        Ok(self.plan)
    }

    /// Decides about a binding whose blocks were counted, and returns how many bindings are in it afterwards.
    fn leave(&mut self, id: NodeId, within: Settings, size: u64) -> Result<u64, PassError> {
        let (f, config) = (self.f, self.config);
        let n_carried = match self.ops.of(f, id) {
            Some(CoreOp::For) => f.operands(id).len().saturating_sub(4),
            Some(CoreOp::While) => f.operands(id).len().saturating_sub(3),
            _ => return Ok(size),
        };
        self.here.steps = self.here.steps.saturating_add(n_carried as u64).max(1);
        if self.ops.of(f, id) == Some(CoreOp::While) {
            return Ok(size);
        }
        let parts = Loop::of(f, self.ops, id);
        let turns = parts.as_ref().and_then(|parts| parts.turns(f, self.ops));
        let loop_kind = LoopOps::loop_kind(f, id);
        let at_most = |value: u64, most: i64| i64::try_from(value).is_ok_and(|value| value <= most);
        let steps = turns.map(|turns| turns.saturating_mul(self.here.steps));
        let is_small = turns.is_some_and(|turns| at_most(turns, config.auto_max_extent))
            || steps.is_some_and(|steps| at_most(steps, within.max_step));
        let is_inner = self.here.normal == 0 && at_most(self.here.depth, config.auto_max_depth);
        let mut is_unrolled = loop_kind == Some(LoopKind::Serial) && is_inner && is_small;
        is_unrolled |= turns.is_some_and(|turns| turns > 0)
            && parts.as_ref().is_some_and(|parts| self.is_local_index.get(parts.params[0].index()) == Some(&true));
        if loop_kind == Some(LoopKind::Unrolled) {
            if turns.is_none() {
                return Err(PassError::new("cannot unroll a loop whose extent is not constant")
                    .at(id)
                    .help("make it a serial loop, or run `Simplify` before if the extent follows from constants"));
            }
            is_unrolled = true;
        }
        let n_turns = turns.unwrap_or(0);
        let n_added = n_turns.saturating_sub(1).saturating_mul(size.max(1));
        if is_unrolled && within.is_explicit && !self.fuel.take(n_added) {
            let message = format_args!("unrolling the loop makes more than {} bindings", self.fuel.all());
            if loop_kind == Some(LoopKind::Unrolled) {
                let help =
                    "make it a serial loop, split it and unroll the inner one, or raise `tir.UnrollLoop.max_growth`";
                return Err(PassError::new(message).at(id).help(help));
            }
            self.cx.remark(id, message);
            is_unrolled = false;
        }
        if !is_unrolled
            && loop_kind == Some(LoopKind::Serial)
            && is_inner
            && self.is_few_in_32_bits(turns, within.max_step)
        {
            let steps = steps.unwrap_or(u64::MAX);
            self.cx.remark(
                id,
                format_args!("the loop stays: it takes {steps} steps; TVM counts in 32 bits, where these are few"),
            );
        }
        if is_unrolled {
            self.here.steps = self.here.steps.saturating_mul(n_turns);
            self.here.depth += 1;
        } else {
            self.here.normal += 1;
        }
        let is_fake = config.auto_max_extent == 1 && turns.is_some_and(|turns| turns <= 1);
        if is_fake || is_unrolled && within.is_explicit {
            self.plan.insert(id, Plan::Unroll(n_turns));
            return Ok(size.saturating_mul(n_turns));
        }
        if is_unrolled && loop_kind != Some(LoopKind::Unrolled) {
            self.plan.insert(id, Plan::Mark);
        }
        Ok(size)
    }

    /// Whether the steps of a loop, which are too many, are few enough where the product overflows 32 bits.
    fn is_few_in_32_bits(&self, turns: Option<u64>, max_step: i64) -> bool {
        let (Some(Ok(turns)), steps) = (turns.map(u32::try_from), self.here.steps) else { return false };
        steps != u64::MAX && i64::from(turns.wrapping_mul(steps as u32) as i32) <= max_step
    }
}

fn add(sizes: &mut [u64], size: u64) {
    if let Some(last) = sizes.last_mut() {
        *last = last.saturating_add(size);
    }
}

/// By node: whether an index into memory of an `alloc` on the stack depends on it.
fn local_indices(f: &Function, ops: &LoopOps) -> Vec<bool> {
    let is_local = |memory: NodeId| {
        let memory = ops.memory_of(f, memory);
        ops.of(f, memory) == Some(CoreOp::Alloc)
            && matches!(f.attrs(memory).get("scope"), None | Some(AttrValue::String(b"stack")))
    };
    let mut is_index = vec![false; f.n_nodes()];
    let mut open: Vec<NodeId> = Vec::new();
    for id in f.all_bindings() {
        let Some(first) = ops.of(f, id).and_then(CoreOp::first_index) else { continue };
        let args = &f.operands(id)[1..];
        if args.first().is_some_and(|&memory| is_local(memory)) {
            open.extend(args.iter().skip(first));
        }
        while let Some(id) = open.pop() {
            if !std::mem::replace(&mut is_index[id.index()], true) && f.kind(id) != kind::FUNCTION {
                open.extend_from_slice(f.operands(id));
            }
        }
    }
    is_index
}

// ---- the unrolled program ---------------------------------------------------------------------------------------------

/// Where the writer is.
enum Frame {
    /// In a block that stays one.
    Block { function: NodeId, at: usize, is_last: bool },
    /// In a turn of a loop, whose bindings go to the block around the loop.
    Turn { id: NodeId, at: usize, turn: u64, turns: u64, is_last: bool },
    /// At a binding with functions of its own.
    Functions { id: NodeId, at: usize, is_last: bool, is_moved: bool },
}

/// Writes the program again, loops turn by turn. A binding that is written for the last time is not copied: `is_last` is whether
/// each loop around is in its last turn.
struct Writer<'a> {
    f: &'a mut Function,
    ops: LoopOps,
    plan: &'a HashMap<NodeId, Plan>,
    n_uses: Vec<u32>,
    /// By node: what it is now; absent for itself.
    now: Vec<NodeId>,
    /// The results of unrolled loops that carry several values.
    results: HashMap<NodeId, Vec<NodeId>>,
    /// The new lists of the open blocks.
    lists: Vec<Vec<NodeId>>,
    /// The new functions that stand for those of the open blocks.
    functions: Vec<NodeId>,
    frames: Vec<Frame>,
}

impl<'a> Writer<'a> {
    fn new(f: &'a mut Function, ops: LoopOps, plan: &'a HashMap<NodeId, Plan>) -> Self {
        let (n_uses, now) = (f.use_counts(), vec![NodeId::ABSENT; f.n_nodes()]);
        let results = HashMap::new();
        Self { f, ops, plan, n_uses, now, results, lists: Vec::new(), functions: Vec::new(), frames: Vec::new() }
    }

    fn write(&mut self) {
        self.open(self.f.root(), true);
        while let Some(frame) = self.frames.last_mut() {
            match frame {
                Frame::Block { function, at, is_last } => {
                    let (function, is_last) = (*function, *is_last);
                    match self.f.bindings(self.f.block_of(function)).get(*at) {
                        Some(&id) => {
                            *at += 1;
                            self.binding(id, is_last, false);
                        }
                        None => self.close(function, is_last),
                    }
                }
                Frame::Turn { id, at, turn, turns, is_last } => {
                    let body = body_of(self.f, *id);
                    let is_last_turn = *is_last && *turn + 1 == *turns;
                    match self.f.bindings(body).get(*at) {
                        Some(&id) => {
                            *at += 1;
                            self.binding(id, is_last_turn, true);
                        }
                        None => {
                            (*turn, *at) = (*turn + 1, 0);
                            let (id, turn, is_end, is_last) = (*id, *turn, turn == turns, *is_last);
                            let values = self.current(|f| f.results(body));
                            if is_end {
                                self.frames.pop();
                                if is_last {
                                    // Its bindings stand elsewhere now.
                                    self.f.set_bindings(body, &[]);
                                }
                                self.finish(id, values);
                            } else {
                                self.begin(id, turn, &values);
                            }
                        }
                    }
                }
                Frame::Functions { id, at, is_last, is_moved } => {
                    let (id, is_last, is_moved) = (*id, *is_last, *is_moved);
                    match self.f.regions(id).get(*at) {
                        Some(&function) => {
                            *at += 1;
                            self.open(function, is_last);
                        }
                        None => {
                            self.frames.pop();
                            self.place(id, is_last, is_moved);
                        }
                    }
                }
            }
        }
    }

    /// The nodes that stand for a list of nodes now.
    fn current(&self, list: impl FnOnce(&Function) -> &[NodeId]) -> Vec<NodeId> {
        list(self.f).iter().map(|&id| now(&self.now, id)).collect()
    }

    fn binding(&mut self, id: NodeId, is_last: bool, is_moved: bool) {
        if let Some(&Plan::Unroll(turns)) = self.plan.get(&id) {
            let values = self.current(|f| f.call(id).map_or(&[], |call| &call.args()[2..]));
            if turns == 0 {
                return self.finish(id, values);
            }
            self.frames.push(Frame::Turn { id, at: 0, turn: 0, turns, is_last });
            self.begin(id, 0, &values);
        } else if self.f.n_regions(id) > 0 {
            self.frames.push(Frame::Functions { id, at: 0, is_last, is_moved });
        } else if let Some(result) = self.result(id) {
            self.now[id.index()] = result;
        } else {
            self.place(id, is_last, is_moved);
        }
    }

    /// The value that a projection of an unrolled loop is.
    fn result(&self, id: NodeId) -> Option<NodeId> {
        let Expr::TupleGetItem { tuple, index } = self.f.expr(id) else { return None };
        self.results.get(&tuple)?.get(index).copied()
    }

    /// Begins a turn of a loop with these carried values.
    fn begin(&mut self, id: NodeId, turn: u64, values: &[NodeId]) {
        let Some(Loop { min, params, .. }) = Loop::of(self.f, &self.ops, id) else { return };
        let (variable, params) = (params[0], params[1..].to_vec());
        for (&param, &value) in params.iter().zip(values) {
            self.now[param.index()] = value;
        }
        if self.n_uses[variable.index()] > 0 {
            let min = now(&self.now, min);
            self.now[variable.index()] = self.index(min, turn as i64).unwrap_or(min);
        }
    }

    /// `min + turn`
    fn index(&mut self, min: NodeId, turn: i64) -> Option<NodeId> {
        if let Some(imm) = self.f.imm(min) {
            return Some(self.f.add_imm(Imm::int(imm.elem(), imm.as_int()?.wrapping_add(turn))?));
        }
        if turn == 0 {
            return Some(min);
        }
        let (elem, _) = self.f.type_of(min).as_tensor()?;
        let turn = self.f.add_imm(Imm::int(elem, turn)?);
        let index = call(self.f, &mut self.ops, CoreOp::Add, &[min, turn], &[]);
        self.emit(index);
        Some(index)
    }

    /// Ends a loop, whose results are these values.
    fn finish(&mut self, id: NodeId, values: Vec<NodeId>) {
        match values[..] {
            [] => {}
            [value] => self.now[id.index()] = value,
            _ => drop(self.results.insert(id, values)),
        }
    }

    /// Begins a block that stays one.
    fn open(&mut self, function: NodeId, is_last: bool) {
        let mut made = function;
        if is_last {
            self.now[function.index()] = NodeId::ABSENT;
            for at in 0..self.f.operands(function).len() {
                self.now[self.f.operands(function)[at].index()] = NodeId::ABSENT;
            }
        } else {
            let params = self.f.operands(function).to_vec();
            let copies: Vec<NodeId> = params.iter().map(|&param| self.f.add_var("", self.f.type_id(param))).collect();
            for (&param, &copy) in params.iter().zip(&copies) {
                self.now[param.index()] = copy;
            }
            made = self.f.add_function(&copies);
            let attrs = self.f.attr_recs(function).to_vec();
            self.f.set_attr_recs(made, &attrs);
            self.now[function.index()] = made;
        }
        self.lists.push(Vec::new());
        self.functions.push(made);
        self.frames.push(Frame::Block { function, at: 0, is_last });
    }

    fn close(&mut self, function: NodeId, is_last: bool) {
        self.frames.pop();
        let (Some(list), Some(made)) = (self.lists.pop(), self.functions.pop()) else { return };
        let results = self.current(|f| f.results(f.block_of(function)));
        let block = self.f.block_of(made);
        self.f.set_bindings(block, &list);
        if !is_last || self.f.results(block) != results {
            self.f.set_results(block, &results);
        }
    }

    /// Puts a binding into the open block, a copy of it unless it is the last time. It keeps its name where nothing else
    /// can have it: in the block that it stood in.
    fn place(&mut self, id: NodeId, is_last: bool, is_moved: bool) {
        let placed = if is_last { id } else { self.f.add_copy(id) };
        if !is_last || is_moved {
            self.f.set_name_id(placed, StrId::EMPTY);
        }
        let Self { f, now: map, .. } = self;
        f.map_operands(placed, |operand| now(map, operand));
        map[id.index()] = placed;
        self.emit(placed);
    }

    fn emit(&mut self, id: NodeId) {
        if let Some(list) = self.lists.last_mut() {
            list.push(id);
        }
    }
}

/// The node that stands for another one now.
fn now(map: &[NodeId], id: NodeId) -> NodeId {
    map.get(id.index()).copied().filter(|now| !now.is_absent()).unwrap_or(id)
}

/// The block of a loop's turns.
fn body_of(f: &Function, id: NodeId) -> BlockId {
    f.block_of(f.regions(id)[0])
}

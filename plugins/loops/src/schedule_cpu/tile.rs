//! Writes the body of a loop for several of its turns at once: each binding once for each of these turns, or once for all.

use crate::{
    program::{Loop, call, constant_int, copy_function},
    vectorize_loop::plan::Plan,
};
use relais_plugin_api::{
    ir::{BlockId, Imm, StrId, kind},
    prelude::*,
    prim::{CoreOp, LoopOps, rule},
};
use std::collections::HashMap;

const FAULT: &str = "a loop breaks a rule";

enum Frame {
    /// In a block: its bindings, which is next, and the list around it.
    Block { block: BlockId, results: Vec<NodeId>, items: Vec<NodeId>, at: usize, outer: Vec<NodeId> },
    /// At a binding with functions of its own.
    Owner { id: NodeId, next: usize },
}

struct Writer<'a> {
    f: &'a mut Function,
    ops: &'a mut LoopOps,
    plan: &'a Plan,
    rows: usize,
    /// The nodes that stand for another one: one for each turn, or one for all.
    now: HashMap<NodeId, Vec<NodeId>>,
    /// By loop that carries several values: those that stand for each of its results.
    parts: HashMap<NodeId, Vec<Vec<NodeId>>>,
    out: Vec<NodeId>,
    frames: Vec<Frame>,
}

/// Takes a loop of a known number of turns, as many times as there are whole ones, in steps of `rows` turns, as a plan says, and
/// adds the turns that are left over as a loop behind it. Returns the loops that have one turn.
///
/// # Errors
/// Returns an error if the plan is not one of that loop.
pub fn tile(
    f: &mut Function,
    ops: &mut LoopOps,
    plan: &Plan,
    (block, id): (BlockId, NodeId),
    rows: i64,
) -> Result<Vec<NodeId>, PassError> {
    let parts = Loop::of(f, ops, id).ok_or(FAULT)?;
    let (min, variable) = (parts.min, parts.params[0]);
    let turns = constant_int(f, ops, parts.extent).ok_or(FAULT)?;
    let elem = f.type_of(variable).elem().ok_or(FAULT)?;
    let int = |f: &mut Function, value: i64| Imm::int(elem, value).map(|imm| f.add_imm(imm)).ok_or(FAULT);
    let region = f.regions(id)[0];
    let body = f.block_of(region);
    let mut single = Vec::new();
    if turns % rows > 0 {
        let (copied, _) = copy_function(f, region);
        let rest = f.add_copy(id);
        f.set_name_id(rest, StrId::EMPTY);
        f.map_operands(rest, |operand| if operand == region { copied } else { operand });
        let (done, left) = (int(f, turns - turns % rows)?, int(f, turns % rows)?);
        let mut behind = vec![rest];
        let first = match f.imm(min).and_then(Imm::as_int) {
            Some(min) => int(f, min.wrapping_add(turns - turns % rows))?,
            None => {
                let first = call(f, ops, CoreOp::Add, &[min, done], &[]);
                behind.insert(0, first);
                first
            }
        };
        f.set_operand(rest, 1, first);
        f.set_operand(rest, 2, left);
        let mut list = f.bindings(block).to_vec();
        let here = list.iter().position(|&binding| binding == id).ok_or(FAULT)?;
        list.splice(here + 1..here + 1, behind);
        f.set_bindings(block, &list);
        if turns % rows == 1 {
            single.push(rest);
        }
    }
    let outer = f.add_var("", f.type_id(variable));
    f.set_name_id(outer, f.name_id(variable));
    let step = int(f, rows)?;
    let mut base = call(f, ops, CoreOp::Mul, &[outer, step], &[]);
    let mut head = vec![base];
    if f.imm(min).and_then(Imm::as_int) != Some(0) {
        base = call(f, ops, CoreOp::Add, &[min, base], &[]);
        head.push(base);
    }
    let mut lanes = vec![base];
    for at in 1..rows {
        let at = int(f, at)?;
        let lane = call(f, ops, CoreOp::Add, &[base, at], &[]);
        head.push(lane);
        lanes.push(lane);
    }
    let (zero, n_steps) = (int(f, 0)?, int(f, turns / rows)?);
    let mut writer = Writer {
        f,
        ops,
        plan,
        rows: lanes.len(),
        now: HashMap::from([(variable, lanes)]),
        parts: HashMap::new(),
        out: head,
        frames: Vec::new(),
    };
    writer.frames.push(Frame::Block {
        block: body,
        results: Vec::new(),
        items: writer.f.bindings(body).to_vec(),
        at: 0,
        outer: Vec::new(),
    });
    while !writer.frames.is_empty() {
        writer.step()?;
    }
    f.set_params(region, &[outer]);
    f.set_operand(id, 1, zero);
    f.set_operand(id, 2, n_steps);
    if turns / rows == 1 {
        single.push(id);
    }
    Ok(single)
}

impl Writer<'_> {
    fn varies(&self, id: NodeId) -> bool {
        self.plan.varying.contains(&id)
    }

    /// The node that stands for another one in a turn.
    fn at(&self, id: NodeId, turn: usize) -> NodeId {
        self.now.get(&id).map_or(id, |all| all[turn.min(all.len() - 1)])
    }

    /// The nodes that stand for another one: one for each turn if it `varies`.
    fn all(&self, id: NodeId, varies: bool) -> Vec<NodeId> {
        (0..if varies { self.rows } else { 1 }).map(|turn| self.at(id, turn)).collect()
    }

    fn step(&mut self) -> Result<(), PassError> {
        let Some(frame) = self.frames.last_mut() else { return Ok(()) };
        match frame {
            Frame::Block { items, at, .. } => {
                if let Some(&id) = items.get(*at) {
                    *at += 1;
                    return self.binding(id);
                }
                let Some(Frame::Block { block, results, outer, .. }) = self.frames.pop() else { return Ok(()) };
                // Each result, as often as the owner has it.
                let mut new = Vec::new();
                let owner = match self.frames.last() {
                    Some(&Frame::Owner { id, .. }) => Some(id),
                    _ => None,
                };
                for (at, &result) in results.iter().enumerate() {
                    new.extend(self.all(result, owner.is_some_and(|owner| self.is_result(owner, at))));
                }
                let list = std::mem::replace(&mut self.out, outer);
                self.f.set_bindings(block, &list);
                if !new.is_empty() {
                    self.f.set_results(block, &new);
                }
            }
            Frame::Owner { id, next } => {
                let (id, at) = (*id, *next);
                *next += 1;
                match self.f.regions(id).get(at).copied() {
                    Some(region) => self.enter(id, region),
                    None => {
                        self.frames.pop();
                        return self.leave(id);
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether a result of a binding with functions differs from turn to turn.
    fn is_result(&self, id: NodeId, at: usize) -> bool {
        match self.f.n_results(id) {
            None => self.varies(id),
            Some(_) => self.plan.results.contains(&(id, at)),
        }
    }

    fn enter(&mut self, id: NodeId, region: NodeId) {
        let (block, old) = (self.f.block_of(region), self.f.operands(region).to_vec());
        if self.ops.of(self.f, id) == Some(CoreOp::For) && old.iter().any(|&param| self.varies(param)) {
            let mut params = Vec::new();
            for param in old {
                let n = if self.varies(param) { self.rows } else { 1 };
                let copies = (1..n).map(|_| self.f.add_var("", self.f.type_id(param)));
                let made: Vec<NodeId> = std::iter::once(param).chain(copies).collect();
                params.extend_from_slice(&made);
                self.now.insert(param, made);
            }
            self.f.set_params(region, &params);
        }
        let (results, items) = (self.f.results(block).to_vec(), self.f.bindings(block).to_vec());
        let outer = std::mem::take(&mut self.out);
        self.frames.push(Frame::Block { block, results, items, at: 0, outer });
    }

    fn leave(&mut self, id: NodeId) -> Result<(), PassError> {
        let n_carried = self.f.operands(id).len().saturating_sub(4);
        let is_loop = self.ops.of(self.f, id) == Some(CoreOp::For);
        if !is_loop || !(0..n_carried).any(|at| self.is_result(id, at)) {
            self.keep(id);
            return Ok(());
        }
        let (old, function) = (self.f.operands(id).to_vec(), self.f.regions(id)[0]);
        let mut args = self.all(old[1], false);
        args.extend(self.all(old[2], false));
        let counts: Vec<usize> = (0..n_carried).map(|at| if self.is_result(id, at) { self.rows } else { 1 }).collect();
        for (at, &n) in counts.iter().enumerate() {
            args.extend(self.all(old[3 + at], n > 1));
        }
        let n_results = args.len() - 2;
        let new = self.f.add_call_with(old[0], &args, &[function], Some(n_results as u16).filter(|&n| n > 1));
        let attrs = self.f.attr_recs(id).to_vec();
        self.f.set_attr_recs(new, &attrs);
        let made = rule(self.f, self.ops, new).map_err(|_| PassError::new(FAULT).at(id))?;
        let ty = made.add_to(self.f);
        self.f.set_type(new, ty);
        self.out.push(new);
        let mut results = Vec::new();
        for at in 0..n_results {
            let result = self.f.add_tuple_get_item(new, at as u16);
            let ty = self.f.type_id(args[2 + at]);
            self.f.set_type(result, ty);
            self.out.push(result);
            results.push(result);
        }
        let mut rest = results.into_iter();
        let parts: Vec<Vec<NodeId>> = counts.iter().map(|&n| rest.by_ref().take(n).collect()).collect();
        match self.f.n_results(id) {
            None => drop(self.now.insert(id, parts.into_iter().flatten().collect())),
            Some(_) => drop(self.parts.insert(id, parts)),
        }
        Ok(())
    }

    fn binding(&mut self, id: NodeId) -> Result<(), PassError> {
        if self.f.n_regions(id) > 0 {
            self.frames.push(Frame::Owner { id, next: 0 });
            return Ok(());
        }
        if let Expr::TupleGetItem { tuple, index } = self.f.expr(id)
            && let Some(parts) = self.parts.get(&tuple)
        {
            self.now.insert(id, parts.get(index).ok_or(FAULT)?.clone());
            return Ok(());
        }
        let differs = self.f.operands(id).iter().any(|&operand| self.varies(operand));
        if !differs && !self.varies(id) {
            self.keep(id);
            return Ok(());
        }
        if self.f.kind(id) != kind::CALL {
            return Err(PassError::new(FAULT).at(id));
        }
        let mut made = Vec::new();
        for turn in 0..self.rows {
            let copy = self.f.add_copy(id);
            self.f.set_name_id(copy, if turn == 0 { self.f.name_id(id) } else { StrId::EMPTY });
            let now = &self.now;
            self.f.map_operands(copy, |operand| now.get(&operand).map_or(operand, |all| all[turn.min(all.len() - 1)]));
            self.out.push(copy);
            made.push(copy);
        }
        self.now.insert(id, made);
        Ok(())
    }

    /// Puts a binding in its place that is the same in all turns.
    fn keep(&mut self, id: NodeId) {
        let now = &self.now;
        self.f.map_operands(id, |operand| now.get(&operand).map_or(operand, |all| all[0]));
        self.out.push(id);
    }
}

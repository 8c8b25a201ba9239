//! Writes the body of a loop in lanes, as a plan says.

use super::plan::Plan;
use crate::program::{bindings_of, call, replace, set_serial};
use relais_plugin_api::{
    ir::{AttrData, AttrValue, BlockId, Imm, StrId, TypeId, element_count, kind},
    op::Effects,
    prelude::*,
    prim::{CoreOp, LoopKind, LoopOps, fold, rule, value_type},
};
use std::collections::{BTreeSet, HashMap, HashSet};

/// The most operations that are done again for a lane rather than taken from a vector.
const MOST_AGAIN: usize = 24;

/// The values of all lanes.
#[derive(Clone, Copy)]
enum Form {
    /// One for all.
    One(NodeId),
    /// `base`, `base + step`, …
    Ramp { base: NodeId, step: NodeId },
    /// A vector.
    Lanes(NodeId),
}

enum Frame {
    /// In a block: its bindings, which is next, and the list around it.
    Block { block: BlockId, wanted: Vec<bool>, items: Vec<NodeId>, at: usize, outer: Vec<NodeId> },
    /// At a binding with functions of its own.
    Owner { id: NodeId, next: usize },
}

pub struct Writer<'a> {
    f: &'a mut Function,
    ops: &'a mut LoopOps,
    plan: &'a Plan,
    variable: NodeId,
    /// The first turn.
    base: NodeId,
    lanes: i64,
    now: HashMap<NodeId, Form>,
    /// The memory of all lanes, for that of a turn.
    own: HashMap<NodeId, NodeId>,
    out: Vec<NodeId>,
    /// The bindings of the next loop over lanes.
    group: Vec<NodeId>,
    frames: Vec<Frame>,
}

/// Writes the body of a loop for the turns from `base` on, and returns its bindings.
///
/// # Errors
/// Returns an error if the plan is not one of that body.
pub fn write(
    f: &mut Function,
    ops: &mut LoopOps,
    plan: &Plan,
    id: NodeId,
    base: NodeId,
    lanes: i64,
) -> Result<Vec<NodeId>, PassError> {
    let region = f.regions(id)[0];
    let (body, variable) = (f.block_of(region), f.operands(region)[0]);
    let elem = f.type_of(variable).elem().unwrap_or(ElemType::INT64);
    let one = f.add_imm(Imm::int(elem, 1).unwrap_or(Imm::index(1)));
    let now = HashMap::from([(variable, Form::Ramp { base, step: one })]);
    let own = HashMap::new();
    let mut writer = Writer {
        f,
        ops,
        plan,
        variable,
        base,
        lanes,
        now,
        own,
        out: Vec::new(),
        group: Vec::new(),
        frames: Vec::new(),
    };
    writer.open(body, Vec::new());
    while !writer.frames.is_empty() {
        writer.step(body)?;
    }
    Ok(writer.out)
}

impl Writer<'_> {
    // ---- blocks -------------------------------------------------------------------------------------------------------

    /// Begins a block; `wanted` says which of its results become vectors.
    fn open(&mut self, block: BlockId, wanted: Vec<bool>) {
        let items = self.f.bindings(block).to_vec();
        let outer = std::mem::take(&mut self.out);
        self.frames.push(Frame::Block { block, wanted, items, at: 0, outer });
    }

    fn step(&mut self, body: BlockId) -> Result<(), PassError> {
        let Some(frame) = self.frames.last_mut() else { return Ok(()) };
        match frame {
            Frame::Block { items, at, .. } => {
                if let Some(&id) = items.get(*at) {
                    *at += 1;
                    return self.binding(id);
                }
                self.flush();
                let Some(Frame::Block { block, wanted, outer, .. }) = self.frames.pop() else { return Ok(()) };
                let mut results = self.f.results(block).to_vec();
                for (result, is_vector) in results.iter_mut().zip(wanted) {
                    *result = if is_vector { self.vector(*result) } else { self.one(*result) };
                }
                if block == body {
                    return Ok(());
                }
                let list = std::mem::replace(&mut self.out, outer);
                self.f.set_bindings(block, &list);
                if !results.is_empty() {
                    self.f.set_results(block, &results);
                }
            }
            Frame::Owner { id, next } => {
                let (id, at) = (*id, *next);
                *next += 1;
                match self.f.regions(id).get(at).copied() {
                    Some(region) => self.enter(id, region),
                    None => {
                        self.frames.pop();
                        self.leave(id);
                    }
                }
            }
        }
        Ok(())
    }

    /// Begins a function of a binding.
    fn enter(&mut self, id: NodeId, region: NodeId) {
        let block = self.f.block_of(region);
        let n = self.f.results(block).len();
        let wanted: Vec<bool> = (0..n).map(|at| self.is_result_wanted(id, at)).collect();
        if self.ops.of(self.f, id) == Some(CoreOp::For) {
            for at in 1..self.f.operands(region).len() {
                let param = self.f.operands(region)[at];
                if self.plan.varying.contains(&param) {
                    let ty = self.lanes_type(param);
                    self.f.set_type(param, ty);
                    self.now.insert(param, Form::Lanes(param));
                }
            }
        }
        self.open(block, wanted);
    }

    fn is_result_wanted(&self, id: NodeId, at: usize) -> bool {
        match self.f.n_results(id) {
            None => self.plan.varying.contains(&id),
            Some(_) => self.plan.results.contains(&(id, at)),
        }
    }

    /// Ends a binding with functions.
    fn leave(&mut self, id: NodeId) {
        if self.ops.of(self.f, id) == Some(CoreOp::For) {
            let n_args = self.f.operands(id).len() - 1;
            for at in 3..n_args {
                let arg = self.f.operands(id)[at];
                let arg = if self.is_result_wanted(id, at - 3) { self.vector(arg) } else { self.one(arg) };
                self.f.set_operand(id, at, arg);
            }
            if LoopOps::loop_kind(self.f, id) == Some(LoopKind::Vectorized) {
                set_serial(self.f, id);
            }
        }
        self.keep(id);
        self.typed(id);
        if self.plan.varying.contains(&id) {
            self.now.insert(id, Form::Lanes(id));
        }
    }

    // ---- bindings -----------------------------------------------------------------------------------------------------

    fn binding(&mut self, id: NodeId) -> Result<(), PassError> {
        if self.plan.serial.contains_key(&id) {
            self.group.push(id);
            return Ok(());
        }
        let op = self.ops.of(self.f, id);
        let is_free = match op {
            Some(CoreOp::Alloc) => true,
            Some(op) => op.info().effects == Effects::PURE && self.f.n_regions(id) == 0,
            None => matches!(self.f.kind(id), kind::CONSTANT | kind::TUPLE_GET_ITEM),
        };
        if !is_free {
            self.flush();
        }
        if self.plan.masked.contains(&id) {
            return self.masked(id);
        }
        if self.f.n_regions(id) > 0 {
            self.frames.push(Frame::Owner { id, next: 0 });
            return Ok(());
        }
        let varies = self.plan.varying.contains(&id);
        match op {
            Some(CoreOp::Alloc) if varies => self.alloc(id),
            Some(CoreOp::View) if varies => {}
            Some(op @ (CoreOp::Load | CoreOp::Store)) if varies || self.differs(id) => self.access(op, id),
            Some(_) if varies => self.value(id),
            None if varies => {
                self.keep(id);
                self.typed(id);
                self.now.insert(id, Form::Lanes(id));
            }
            _ => self.keep(id),
        }
        Ok(())
    }

    /// Whether something that a binding uses differs.
    fn differs(&self, id: NodeId) -> bool {
        self.f.operands(id).iter().any(|operand| self.plan.varying.contains(operand))
    }

    /// Puts a binding in its place, with operands that are one for all lanes.
    fn keep(&mut self, id: NodeId) {
        let now = &self.now;
        self.f.map_operands(id, |operand| match now.get(&operand) {
            Some(&Form::One(one)) => one,
            _ => operand,
        });
        self.out.push(id);
    }

    fn typed(&mut self, id: NodeId) {
        if let Ok(made) = rule(self.f, self.ops, id) {
            let ty = made.add_to(self.f);
            self.f.set_type(id, ty);
        }
    }

    fn lanes_type(&mut self, id: NodeId) -> TypeId {
        let elem = self.f.type_of(id).elem().unwrap_or(ElemType::UNKNOWN);
        self.f.tensor_type(elem, &[Dim::Static(self.lanes as u64)])
    }

    /// Memory of a turn: the elements of all lanes, those of one index beside each other.
    fn alloc(&mut self, id: NodeId) {
        let elem = self.f.type_of(id).elem().and_then(ElemType::name).unwrap_or_default();
        let n = self.n_elements(id).saturating_mul(self.lanes);
        let mut attrs = vec![Attr::new("shape", vec![n]), Attr::new("elem", elem)];
        if let Some(AttrValue::String(scope)) = self.f.attrs(id).get("scope") {
            attrs.push(Attr::new("scope", AttrData::String(scope.to_vec())));
        }
        let new = self.emit(CoreOp::Alloc, &[], &attrs);
        self.f.set_name_id(new, self.f.name_id(id));
        self.own.insert(id, new);
    }

    fn n_elements(&self, memory: NodeId) -> i64 {
        let sizes = self.f.type_of(memory).static_shape();
        sizes.and_then(|sizes| i64::try_from(element_count(&sizes)?).ok()).unwrap_or(i64::MAX)
    }

    /// An operation on values, of which one differs.
    fn value(&mut self, id: NodeId) {
        let op = self.ops.of(self.f, id);
        let args = self.f.operands(id)[1..].to_vec();
        let forms: Vec<Form> = args.iter().map(|&arg| self.form(arg)).collect();
        if forms.iter().all(|form| matches!(form, Form::One(_))) {
            return self.keep(id);
        }
        let is_integer = self.f.type_of(id).elem().is_some_and(ElemType::is_integer);
        let affine = match (op, &forms[..]) {
            (Some(op), &[a, b]) if is_integer => self.affine(op, a, b),
            _ => None,
        };
        if let Some(form) = affine {
            self.now.insert(id, form);
            return;
        }
        let new = self.f.add_copy(id);
        for (at, (&arg, &form)) in args.iter().zip(&forms).enumerate() {
            let arg = match form {
                Form::One(one) if op == Some(CoreOp::Select) && at == 0 => one,
                _ => self.vector(arg),
            };
            self.f.set_operand(new, 1 + at, arg);
        }
        self.typed(new);
        self.f.set_name_id(new, self.f.name_id(id));
        self.out.push(new);
        self.now.insert(id, Form::Lanes(new));
    }

    /// The statements of a conditional, with a mask.
    fn masked(&mut self, id: NodeId) -> Result<(), PassError> {
        let mask = self.vector(self.f.operands(id)[1]);
        let region = self.f.regions(id)[0];
        for inner in self.f.bindings(self.f.block_of(region)).to_vec() {
            let op = self.ops.of(self.f, inner);
            // They leave their block.
            self.f.set_name_id(inner, StrId::EMPTY);
            let Some(op @ (CoreOp::Load | CoreOp::Store)) = op else {
                match self.plan.varying.contains(&inner) {
                    true => self.value(inner),
                    false => self.keep(inner),
                }
                continue;
            };
            let mut args = self.f.operands(inner)[1..].to_vec();
            let (memory, indices) = (args[0], args.split_off(op.first_index().unwrap_or(1)));
            let forms: Vec<Form> = indices.iter().map(|&index| self.form(index)).collect();
            let places: Option<Vec<NodeId>> = forms.iter().map(|&form| self.first(form)).collect();
            let places =
                places.ok_or_else(|| PassError::new("a masked access is not to elements in a row").at(inner))?;
            let (made, fixed) = match op {
                CoreOp::Load => (CoreOp::LoadMasked, vec![memory, mask]),
                _ => (CoreOp::StoreMasked, vec![memory, self.vector(args[1]), mask]),
            };
            let new = self.emit(made, &[fixed, places].concat(), &[]);
            self.now.insert(inner, Form::Lanes(new));
        }
        Ok(())
    }

    /// The first of elements in a row, or the one of all lanes.
    fn first(&self, form: Form) -> Option<NodeId> {
        match form {
            Form::One(one) => Some(one),
            Form::Ramp { base, step } if self.number(step) == Some(1) => Some(base),
            _ => None,
        }
    }

    fn access(&mut self, op: CoreOp, id: NodeId) {
        let args = self.f.operands(id)[1..].to_vec();
        let (fixed, indices) = args.split_at(op.first_index().unwrap_or(1));
        let mut memory = fixed[0];
        let mut forms: Vec<Form> = indices.iter().map(|&index| self.form(index)).collect();
        let root = self.ops.memory_of(self.f, memory);
        if let Some(&own) = self.own.get(&root) {
            let (place, elem) = self.flat(memory, indices, &forms, self.lanes);
            forms = vec![self.lane_of(place, elem)];
            memory = own;
        } else if forms.split_last().is_some_and(|(_, outer)| outer.iter().any(|form| !matches!(form, Form::One(_)))) {
            forms = vec![self.flat(memory, indices, &forms, 1).0];
            let n = self.n_elements(memory);
            memory = self.emit(CoreOp::View, &[memory], &[Attr::new("shape", vec![n])]);
        }
        let value = fixed.get(1).map(|&value| self.vector(value));
        let is_one = forms.iter().all(|form| matches!(form, Form::One(_)));
        let places: Option<Vec<NodeId>> = forms.iter().map(|&form| self.first(form)).collect();
        let attrs = [Attr::new("lanes", self.lanes)];
        let new = match (value, places) {
            (None, Some(places)) if is_one => {
                let new = self.emit(op, &[&[memory][..], &places].concat(), &[]);
                self.now.insert(id, Form::One(new));
                return;
            }
            (None, Some(places)) => self.emit(op, &[&[memory][..], &places].concat(), &attrs),
            (Some(value), Some(places)) if !is_one => self.emit(op, &[&[memory, value][..], &places].concat(), &[]),
            (value, _) => {
                let mut places: Vec<NodeId> = forms.iter().filter_map(|&form| self.first(form)).collect();
                places.truncate(forms.len().saturating_sub(1));
                if let Some(&last) = forms.last() {
                    places.push(self.lanes_of(last));
                }
                match value {
                    None => self.emit(CoreOp::Gather, &[&[memory][..], &places].concat(), &[]),
                    Some(value) => self.emit(CoreOp::Scatter, &[&[memory, value][..], &places].concat(), &[]),
                }
            }
        };
        self.f.set_name_id(new, self.f.name_id(id));
        self.now.insert(id, Form::Lanes(new));
    }

    /// The place of an access among all elements of its memory, times a factor, and the type of that index.
    fn flat(&mut self, memory: NodeId, indices: &[NodeId], forms: &[Form], by: i64) -> (Form, ElemType) {
        let sizes = self.f.type_of(memory).static_shape().unwrap_or_default();
        let n = element_count(&sizes).and_then(|n| i64::try_from(n).ok()?.checked_mul(by));
        let is_narrow = |&index: &NodeId| self.f.type_of(index).elem() == Some(ElemType::INT32);
        let is_small = n.is_some_and(|n| i32::try_from(n).is_ok());
        let elem = match is_small && !indices.is_empty() && indices.iter().all(is_narrow) {
            true => ElemType::INT32,
            false => ElemType::INT64,
        };
        let mut sum = Form::One(self.int(elem, 0));
        let mut stride = by;
        for (at, &form) in forms.iter().enumerate().rev() {
            let form = self.widened(form, indices[at], elem);
            let factor = Form::One(self.int(elem, stride));
            let product = self.combined(CoreOp::Mul, form, factor);
            sum = self.combined(CoreOp::Add, sum, product);
            stride = stride.saturating_mul(sizes.get(at).map_or(1, |&size| size as i64));
        }
        (sum, elem)
    }

    /// An index as one of a type.
    fn widened(&mut self, form: Form, index: NodeId, elem: ElemType) -> Form {
        if self.f.type_of(index).elem() == Some(elem) {
            return form;
        }
        let attrs = [Attr::new("elem", elem.name().unwrap_or_default())];
        match form {
            Form::One(one) => match self.number(one) {
                Some(number) => Form::One(self.int(elem, number)),
                None => Form::One(self.emit(CoreOp::Cast, &[one], &attrs)),
            },
            _ => {
                // Where a ramp wraps, it is none in a wider type.
                let lanes = self.lanes_of(form);
                Form::Lanes(self.emit(CoreOp::Cast, &[lanes], &attrs))
            }
        }
    }

    /// The places of all lanes in memory that each has its own elements of, from that of the first one.
    fn lane_of(&mut self, place: Form, elem: ElemType) -> Form {
        let (zero, one) = (self.int(elem, 0), self.int(elem, 1));
        self.combined(CoreOp::Add, place, Form::Ramp { base: zero, step: one })
    }

    // ---- values of all lanes ------------------------------------------------------------------------------------------

    fn form(&self, id: NodeId) -> Form {
        self.now.get(&id).copied().unwrap_or(Form::One(id))
    }

    /// A value that is one for all lanes.
    fn one(&self, id: NodeId) -> NodeId {
        match self.form(id) {
            Form::One(one) => one,
            _ => id,
        }
    }

    fn vector(&mut self, id: NodeId) -> NodeId {
        let form = self.form(id);
        self.lanes_of(form)
    }

    fn lanes_of(&mut self, form: Form) -> NodeId {
        let attrs = [Attr::new("lanes", self.lanes)];
        match form {
            Form::One(one) => self.emit(CoreOp::Broadcast, &[one], &attrs),
            Form::Ramp { base, step } => self.emit(CoreOp::Ramp, &[base, step], &attrs),
            Form::Lanes(vector) => vector,
        }
    }

    /// The sum, difference or product of ramps as a ramp, if it is one: integers wrap in both in the same way.
    fn affine(&mut self, op: CoreOp, a: Form, b: Form) -> Option<Form> {
        let (base, step) = match (op, a, b) {
            (CoreOp::Add | CoreOp::Sub | CoreOp::Mul, Form::One(a), Form::One(b)) => {
                return Some(Form::One(self.arithmetic(op, a, b)));
            }
            (CoreOp::Add | CoreOp::Sub, Form::Ramp { base, step }, Form::One(b)) => {
                (self.arithmetic(op, base, b), step)
            }
            (CoreOp::Add, Form::One(a), Form::Ramp { base, step }) => (self.arithmetic(op, a, base), step),
            (CoreOp::Sub, Form::One(a), Form::Ramp { base, step }) => {
                let zero = self.int(self.f.type_of(step).elem()?, 0);
                (self.arithmetic(op, a, base), self.arithmetic(op, zero, step))
            }
            (CoreOp::Add | CoreOp::Sub, Form::Ramp { base, step }, Form::Ramp { base: other, step: by }) => {
                (self.arithmetic(op, base, other), self.arithmetic(op, step, by))
            }
            (CoreOp::Mul, Form::Ramp { base, step }, Form::One(by))
            | (CoreOp::Mul, Form::One(by), Form::Ramp { base, step }) => {
                (self.arithmetic(op, base, by), self.arithmetic(op, step, by))
            }
            _ => return None,
        };
        Some(if self.number(step) == Some(0) { Form::One(base) } else { Form::Ramp { base, step } })
    }

    fn combined(&mut self, op: CoreOp, a: Form, b: Form) -> Form {
        if let Form::One(one) = a
            && op == CoreOp::Add
            && self.number(one) == Some(0)
        {
            return b;
        }
        if let Form::One(one) = b
            && op == CoreOp::Mul
            && self.number(one) == Some(1)
        {
            return a;
        }
        if let Some(form) = self.affine(op, a, b) {
            return form;
        }
        let (a, b) = (self.lanes_of(a), self.lanes_of(b));
        Form::Lanes(self.emit(op, &[a, b], &[]))
    }

    fn number(&self, id: NodeId) -> Option<i64> {
        self.f.imm(id)?.as_int()
    }

    fn int(&mut self, elem: ElemType, value: i64) -> NodeId {
        self.f.add_imm(Imm::int(elem, value).unwrap_or(Imm::index(value)))
    }

    /// A sum, difference or product of two integers.
    fn arithmetic(&mut self, op: CoreOp, a: NodeId, b: NodeId) -> NodeId {
        match (op, self.number(a), self.number(b)) {
            (CoreOp::Add, Some(0), _) | (CoreOp::Mul, Some(1), _) | (CoreOp::Mul, _, Some(0)) => b,
            (CoreOp::Add | CoreOp::Sub, _, Some(0)) | (CoreOp::Mul, _, Some(1)) | (CoreOp::Mul, Some(0), _) => a,
            _ => {
                let known = self.f.imm(a).zip(self.f.imm(b));
                match known.and_then(|(a, b)| fold(op, &[a, b], a.elem()).ok()) {
                    Some(imm) => self.f.add_imm(imm),
                    None => self.emit(op, &[a, b], &[]),
                }
            }
        }
    }

    fn emit(&mut self, op: CoreOp, args: &[NodeId], attrs: &[Attr]) -> NodeId {
        let id = call(self.f, self.ops, op, args, attrs);
        self.out.push(id);
        id
    }

    // ---- lane by lane -------------------------------------------------------------------------------------------------

    /// Ends the bindings that run lane by lane: puts a loop over the lanes in their place.
    fn flush(&mut self) {
        let group = std::mem::take(&mut self.group);
        if group.is_empty() {
            return;
        }
        let all: Vec<NodeId> = group.iter().flat_map(|&id| bindings_of(self.f, id)).collect();
        let inside: HashSet<NodeId> = all.iter().copied().collect();
        let mut used: BTreeSet<NodeId> = BTreeSet::new();
        let mut note = |id: NodeId| {
            if id != self.variable && !inside.contains(&id) && self.now.contains_key(&id) {
                used.insert(id);
            }
        };
        for &id in &all {
            self.f.operands(id).iter().copied().for_each(&mut note);
            for &region in self.f.regions(id) {
                self.f.results(self.f.block_of(region)).iter().copied().for_each(&mut note);
            }
        }
        let variable = self.f.add_var("", self.f.type_id(self.variable));
        self.f.set_name_id(variable, self.f.name_id(self.variable));
        let mut scalars: HashMap<NodeId, NodeId> = HashMap::from([(self.variable, variable)]);
        // Vectors come before the loop, and what one lane needs of them in it.
        let mut vectors = Vec::new();
        let mut again: Vec<NodeId> = Vec::new();
        for id in used {
            match (self.form(id), self.computed_again(id)) {
                (Form::One(one), _) => drop(scalars.insert(id, one)),
                (_, Some(all)) => again.extend(all),
                _ => vectors.push((id, self.vector(id))),
            }
        }
        let outer = std::mem::take(&mut self.out);
        let is_zero = self.number(self.base) == Some(0);
        let lane = if is_zero { variable } else { self.emit(CoreOp::Sub, &[variable, self.base], &[]) };
        for (id, vector) in vectors {
            let scalar = self.emit(CoreOp::Lane, &[vector, lane], &[]);
            scalars.insert(id, scalar);
        }
        for id in again {
            if scalars.contains_key(&id) {
                continue;
            }
            let copy = self.f.add_copy(id);
            self.f.set_name_id(copy, StrId::EMPTY);
            self.f.map_operands(copy, |operand| scalars.get(&operand).copied().unwrap_or(operand));
            self.out.push(copy);
            scalars.insert(id, copy);
        }
        let mut blocks: Vec<BlockId> = Vec::new();
        for &id in &all {
            blocks.extend(self.f.regions(id).iter().map(|&region| self.f.block_of(region)));
            if LoopOps::loop_kind(self.f, id) == Some(LoopKind::Vectorized)
                && self.ops.of(self.f, id) == Some(CoreOp::For)
            {
                set_serial(self.f, id);
            }
        }
        let head = std::mem::take(&mut self.out);
        for block in blocks {
            let items = self.f.bindings(block).to_vec();
            let list = self.own_accesses(&items, lane, &mut scalars);
            self.f.set_bindings(block, &list);
        }
        let list = self.own_accesses(&group, lane, &mut scalars);
        self.out = outer;
        let function = self.f.add_function(&[variable]);
        let block = self.f.block_of(function);
        self.f.set_bindings(block, &list);
        self.f.set_results(block, &[]);
        // Those in front have their operands already: a vector may be the node that was the scalar.
        replace(self.f, block, |id| scalars.get(&id).copied().unwrap_or(id));
        self.f.set_bindings(block, &[head, list].concat());
        let elem = self.f.type_of(self.variable).elem().unwrap_or(ElemType::INT64);
        let extent = self.int(elem, self.lanes);
        let op = self.ops.id(self.f, CoreOp::For);
        let callee = self.f.op(op).node;
        let id = self.f.add_call_with(callee, &[self.base, extent], &[function], None);
        self.f.set_attrs(id, &[Attr::new("body", AttrData::Graph(0))]);
        self.typed(id);
        self.out.push(id);
    }

    /// The operations, in order, that compute an integer from the loop's variable, if they are few, cannot fail and load
    /// nothing.
    fn computed_again(&self, id: NodeId) -> Option<Vec<NodeId>> {
        let (mut all, mut open): (BTreeSet<NodeId>, Vec<NodeId>) = (BTreeSet::new(), vec![id]);
        while let Some(id) = open.pop() {
            let op = self.ops.of(self.f, id)?;
            let elem = value_type(self.f.type_of(id)).filter(|ty| ty.lanes.is_none())?.elem;
            let is_light = op.info().effects == Effects::PURE && !elem.is_float() && !op.takes_memory();
            if !is_light || op.is_statement() || all.len() > MOST_AGAIN {
                return None;
            }
            if all.insert(id) {
                let is_open = |&&arg: &&NodeId| arg != self.variable && self.plan.varying.contains(&arg);
                open.extend(self.f.operands(id)[1..].iter().filter(is_open));
            }
        }
        Some(all.into_iter().collect())
    }

    /// A list of bindings in which accesses to memory of a turn are to that of a lane.
    fn own_accesses(&mut self, items: &[NodeId], lane: NodeId, scalars: &mut HashMap<NodeId, NodeId>) -> Vec<NodeId> {
        let outer = std::mem::take(&mut self.out);
        for &id in items {
            let op = self.ops.of(self.f, id);
            let memory = self.f.operands(id).get(1).copied();
            let own = memory.and_then(|memory| self.own.get(&self.ops.memory_of(self.f, memory)).copied());
            let (Some(op @ (CoreOp::Load | CoreOp::Store | CoreOp::View)), Some(memory), Some(own)) = (op, memory, own)
            else {
                self.out.push(id);
                continue;
            };
            if op == CoreOp::View {
                continue;
            }
            let args: Vec<NodeId> =
                self.f.operands(id)[1..].iter().map(|arg| scalars.get(arg).copied().unwrap_or(*arg)).collect();
            let (fixed, indices) = args.split_at(op.first_index().unwrap_or(1));
            let forms: Vec<Form> = indices.iter().map(|&index| Form::One(index)).collect();
            let (place, elem) = self.flat(memory, indices, &forms, self.lanes);
            let lane = self.widened(Form::One(lane), lane, elem);
            let place = match self.combined(CoreOp::Add, place, lane) {
                Form::One(place) => place,
                other => self.lanes_of(other),
            };
            let new = match fixed.get(1) {
                Some(&value) => self.emit(op, &[own, value, place], &[]),
                None => self.emit(op, &[own, place], &[]),
            };
            self.f.set_name_id(new, self.f.name_id(id));
            scalars.insert(id, new);
        }
        std::mem::replace(&mut self.out, outer)
    }
}

//! Vectors: what is computed in lanes is a small loop over them, which compilers make vectors of.

use crate::{
    expression::wide,
    lanes::{Form, Runs, User},
    names::c_type,
    program::{sizes, unsupported},
    writer::Writer,
};
use relais_plugin_api::{
    ir::BlockId,
    op::Effects,
    prelude::*,
    prim::{Bounds, CoreOp, arena_offset, value_type},
};

impl Writer<'_> {
    /// The number of lanes of a vector.
    pub fn lanes(&self, id: NodeId) -> Option<u64> {
        let lanes = value_type(self.f.type_of(id))?.lanes?;
        (!self.ops.is_memory(self.f, id)).then_some(lanes)
    }

    /// The value of all lanes, if it is one.
    pub fn scalar_of(&self, id: NodeId) -> NodeId {
        match self.ops.of(self.f, id) {
            Some(CoreOp::Broadcast) => self.f.operands(id)[1],
            _ => id,
        }
    }

    /// The number of lanes of a binding that is computed in a loop over them.
    fn run_lanes(&self, id: NodeId) -> Option<u64> {
        let f = self.f;
        if f.n_regions(id) > 0 {
            return None;
        }
        match self.ops.of(f, id)? {
            CoreOp::Broadcast | CoreOp::Lane => None,
            CoreOp::Store | CoreOp::Scatter | CoreOp::StoreMasked => self.lanes(f.operands(id)[2]),
            op if op.is_statement() || op.gives_memory() => None,
            _ if self.uses[id.index()] == 0 => None,
            _ => self.lanes(id),
        }
    }

    /// Puts the bindings of a block that are computed in lanes into loops: as many as possible into one, without changing what
    /// they load.
    pub fn runs(&self, block: BlockId) -> Runs {
        let f = self.f;
        let mut runs = Runs::default();
        let (mut open, mut lanes, mut number) = (Vec::new(), 0, 0);
        for &id in f.bindings(block) {
            let Some(op) = self.ops.of(f, id) else {
                if !open.is_empty() && !matches!(f.expr(id), Expr::Constant(_)) {
                    runs.ends.insert(id);
                    open.clear();
                }
                continue;
            };
            match self.run_lanes(id) {
                Some(n) => {
                    if !open.is_empty() && (n != lanes || !open.iter().all(|&other| self.is_lane_by_lane(other, id))) {
                        runs.ends.insert(id);
                        open.clear();
                    }
                    number += usize::from(open.is_empty());
                    lanes = n;
                    open.push(id);
                    runs.numbers.insert(id, number);
                }
                None => {
                    let is_load = op == CoreOp::Load && open.iter().all(|&other| !self.writes(other));
                    let is_free = f.n_regions(id) == 0 && op != CoreOp::Lane && op.info().effects == Effects::PURE;
                    if !open.is_empty() && !is_load && !is_free {
                        runs.ends.insert(id);
                        open.clear();
                    }
                }
            }
        }
        runs.last = (!open.is_empty()).then_some(number);
        let is_last = |id: &NodeId| runs.last.is_some() && runs.numbers.get(id) == runs.last.as_ref();
        runs.results = f.results(block).iter().copied().filter(is_last).collect();
        let users = |id: NodeId| self.vectors.users.get(&id).map_or(&[][..], Vec::as_slice);
        let is_local = |&(&id, number): &(&NodeId, &usize)| {
            users(id).iter().all(|user| match user {
                User::Binding(user) => runs.numbers.get(user) == Some(number),
                User::Block(of) => *of == block && runs.results.contains(&id),
            })
        };
        runs.locals = runs.numbers.iter().filter(is_local).map(|(&id, _)| id).collect();
        runs
    }

    fn writes(&self, id: NodeId) -> bool {
        self.ops.of(self.f, id).is_some_and(|op| op.info().effects.contains(Effects::WRITES))
    }

    /// Whether two bindings in a row can be computed lane by lane, both for one lane before the next one: then what one
    /// lane writes is not what another one uses.
    fn is_lane_by_lane(&self, a: NodeId, b: NodeId) -> bool {
        let f = self.f;
        let access = |id: NodeId| self.ops.of(f, id).and_then(|op| Some((op, op.first_index()?)));
        let (Some((op, first)), Some((other, second))) = (access(a), access(b)) else { return true };
        if !self.writes(a) && !self.writes(b) {
            return true;
        }
        let [x, y] = [a, b].map(|id| f.operands(id)[1]);
        let roots = [x, y].map(|memory| self.ops.memory_of(f, memory));
        // Two pieces of memory may have one place in the arena.
        let is_planned = |memory: NodeId| self.is_main && arena_offset(f, memory).is_some();
        if roots[0] != roots[1] {
            return !roots.into_iter().all(is_planned);
        }
        let is_in_a_row = |op: CoreOp| !matches!(op, CoreOp::Gather | CoreOp::Scatter);
        let is_same = |(&a, &b): (&NodeId, &NodeId)| a == b || f.imm(a).is_some_and(|imm| f.imm(b) == Some(imm));
        let [places, others] = [(a, first), (b, second)].map(|(id, first)| &f.operands(id)[1 + first..]);
        x == y && is_in_a_row(op) && is_in_a_row(other) && places.iter().zip(others).all(is_same)
    }

    /// Writes the loop over lanes that is next, with these results of its block, whose names they are assigned to.
    pub fn end_run(&mut self, runs: &Runs, results: &[(&str, NodeId)]) -> Result<(), PassError> {
        let pending = std::mem::take(&mut self.vectors.pending);
        let Some(lanes) = pending.first().and_then(|&id| self.run_lanes(id)) else { return Ok(()) };
        for &id in &pending {
            self.check_before(id, lanes)?;
            if !runs.locals.contains(&id) && !self.writes(id) {
                let (ty, name) = (self.value_type(id)?, self.temporary(id));
                self.line(format_args!("{ty} {name}[{lanes}];"));
                self.vectors.is_array(id, name);
            }
        }
        self.begin_lanes(lanes);
        for &id in &pending {
            self.of_lane(id)?;
        }
        for &(name, id) in results {
            let value = self.value(id)?;
            let lane = &self.vectors.lane;
            self.line(format!("{name}[{lane}] = {value};"));
        }
        self.depth -= 1;
        self.line("}");
        Ok(())
    }

    fn begin_lanes(&mut self, lanes: u64) {
        let lane = self.vectors.lane.clone();
        self.line(format_args!("for (int {lane} = 0; {lane} < {lanes}; ++{lane}) {{"));
        self.depth += 1;
    }

    /// A loop over lanes of one statement.
    pub fn each_lane(&mut self, lanes: u64, statement: &str) {
        self.begin_lanes(lanes);
        self.line(statement);
        self.depth -= 1;
        self.line("}");
    }

    /// Sets the elements of an array to the lanes of a vector.
    pub fn set_lanes(&mut self, name: &str, lanes: u64, vector: NodeId) -> Result<(), PassError> {
        let value = self.value(vector)?;
        let statement = format!("{name}[{}] = {value};", self.vectors.lane);
        self.each_lane(lanes, &statement);
        Ok(())
    }

    /// All lanes are a scalar.
    pub fn broadcast(&mut self, id: NodeId) -> Result<(), PassError> {
        let text = self.value(self.f.operands(id)[1])?;
        self.vectors.forms.insert(id, Form::Name(text));
        Ok(())
    }

    /// One lane of a vector.
    pub fn lane(&mut self, id: NodeId) -> Result<(), PassError> {
        let [_, vector, index] = *self.f.operands(id) else { return Err(unsupported(id, "an operand is missing")) };
        let lanes = self.lanes(vector).unwrap_or(1);
        let text = self.value(index)?;
        if self.is_checked(index, lanes, 1) {
            self.stop_if(&format!("{text} < 0 || {text} >= {lanes}"), "OUT_OF_BOUNDS");
        }
        match self.vectors.array_of(vector).map(|name| format!("{name}[{text}]")) {
            Some(element) => self.define(id, &element),
            None => {
                let value = self.value(vector)?;
                self.define(id, &value)
            }
        }
    }

    // ---- one lane -----------------------------------------------------------------------------------------------------

    /// The indices of an access that are the same for all lanes, checked before the loop; those of masked ones are not.
    fn check_before(&mut self, id: NodeId, lanes: u64) -> Result<(), PassError> {
        let Some((memory, indices, None)) = self.access(id) else { return Ok(()) };
        let sizes = sizes(self.f, memory)?;
        for (at, (&index, &size)) in indices.iter().zip(&sizes).enumerate() {
            let n = if at + 1 == sizes.len() { lanes } else { 1 };
            if self.lanes(index).is_none() && self.is_checked(index, size, n) {
                let (text, end) = (self.value(index)?, i128::from(size) - i128::from(n));
                self.stop_if(&format!("{text} < 0 || {text} > {end}"), "OUT_OF_BOUNDS");
            }
        }
        Ok(())
    }

    /// The memory, the indices and the mask of an access.
    fn access(&self, id: NodeId) -> Option<(NodeId, Vec<NodeId>, Option<NodeId>)> {
        let op = self.ops.of(self.f, id)?;
        let args = &self.f.operands(id)[1..];
        let mask = match op {
            CoreOp::LoadMasked => Some(args[1]),
            CoreOp::StoreMasked => Some(args[2]),
            _ => None,
        };
        Some((args[0], args[op.first_index()?..].to_vec(), mask))
    }

    fn of_lane(&mut self, id: NodeId) -> Result<(), PassError> {
        let op = self.ops.of(self.f, id).ok_or_else(|| unsupported(id, "it is not an operation on lanes"))?;
        let Some((memory, indices, mask)) = self.access(id) else {
            let text = self.operation(op, id)?;
            return self.define_lane(id, &text);
        };
        let lane = self.vectors.lane.clone();
        let is_spread = matches!(op, CoreOp::Gather | CoreOp::Scatter);
        let mask = mask.map(|mask| self.value(mask)).transpose()?;
        let sizes = sizes(self.f, memory)?;
        for (at, (&index, &size)) in indices.iter().zip(&sizes).enumerate() {
            let is_last = at + 1 == sizes.len();
            let n = if is_last && !is_spread { self.run_lanes(id).unwrap_or(1) } else { 1 };
            if (mask.is_some() || self.lanes(index).is_some()) && self.is_checked(index, size, n) {
                let mut text = self.value(index)?;
                if is_last && !is_spread {
                    text = format!("{text} + {lane}");
                }
                let condition = match &mask {
                    Some(mask) => format!("{mask} && ({text} < 0 || {text} >= {size})"),
                    None => format!("{text} < 0 || {text} >= {size}"),
                };
                self.stop_if(&condition, "OUT_OF_BOUNDS");
            }
        }
        let element = self.element(id, memory, &indices, if is_spread { "" } else { &lane })?;
        if self.writes(id) {
            let value = self.value(self.f.operands(id)[2])?;
            match mask {
                Some(mask) => self.line(format!("if ({mask}) {element} = {value};")),
                None => self.line(format!("{element} = {value};")),
            }
            return Ok(());
        }
        match mask {
            Some(mask) => self.define_lane(id, &format!("{mask} ? {element} : 0")),
            None => self.define_lane(id, &element),
        }
    }

    fn define_lane(&mut self, id: NodeId, text: &str) -> Result<(), PassError> {
        match self.vectors.text(id) {
            Some(element) => {
                self.line(format!("{element} = {text};"));
                Ok(())
            }
            None => {
                self.define(id, text)?;
                let name = self.names_of.remove(&id).unwrap_or_default();
                self.vectors.forms.insert(id, Form::Name(name));
                Ok(())
            }
        }
    }

    /// The lanes of a ramp, if their type has them.
    pub fn ramp_bounds(&self, id: NodeId) -> Option<Bounds> {
        let [_, base, stride] = *self.f.operands(id) else { return None };
        let whole = Bounds::of_type(self.elem(id).ok()?)?;
        let last = i128::from(self.lanes(id)?) - 1;
        let wide = |id: NodeId| [self.bounds(id).min, self.bounds(id).max].map(i128::from);
        let ([least, most], [slow, fast]) = (wide(base), wide(stride));
        let (min, max) = (least + (slow * last).min(0), most + (fast * last).max(0));
        let fits = |value: i128| value >= whole.min.into() && value <= whole.max.into();
        (fits(min) && fits(max)).then(|| Bounds::range(min as i64, max as i64))
    }

    /// The element of a ramp.
    pub fn ramp(&self, id: NodeId, base: &str, stride: NodeId, by: &str) -> String {
        let (lane, elem) = (&self.vectors.lane, self.elem(id).unwrap_or(ElemType::INT64));
        let ty = c_type(elem).unwrap_or_default();
        let step = self.f.imm(stride).and_then(|imm| imm.as_int());
        if self.ramp_bounds(id).is_none() || elem.bits() < 32 {
            let wide = wide(elem);
            return format!("({ty})(({wide}){base} + ({wide}){by} * ({wide}){lane})");
        }
        match (base, step) {
            ("0", Some(1)) => lane.clone(),
            (_, Some(1)) => format!("{base} + {lane}"),
            ("0", _) => format!("({ty}){by} * {lane}"),
            _ => format!("{base} + ({ty}){by} * {lane}"),
        }
    }
}

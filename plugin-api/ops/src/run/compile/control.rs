//! Compiles loops and conditionals: the homes of carried values, and jumps.

use super::*;

impl Body<'_, '_> {
    /// Homes for values like these, one behind the other.
    fn homes(&mut self, like: &[NodeId]) -> Done<SmallVec<[Home; 4]>> {
        let mut homes = SmallVec::with_capacity(like.len());
        for &id in like {
            let lanes = self.lanes(id);
            homes.push(Home { reg: self.fresh(lanes)?, lanes });
        }
        Ok(homes)
    }

    /// Moves values to homes, as if all at once.
    fn move_home(&mut self, values: &[NodeId], homes: &[Home]) -> Done {
        let (Some(first), Some(last)) = (homes.first(), homes.last()) else { return Ok(()) };
        let all = first.reg..=last.reg;
        let mut moves: SmallVec<[(Home, Reg); 4]> = SmallVec::new();
        for (&value, &home) in values.iter().zip(homes) {
            let reg = self.reg(value)?;
            if reg != home.reg {
                moves.push((home, reg));
            }
        }
        // A value in the home of another one is taken away from there first.
        if moves.len() > 1 {
            for (home, reg) in moves.iter_mut().filter(|(_, reg)| all.contains(reg)) {
                let (src, dst) = (*reg, self.fresh(home.lanes)?);
                self.emit(Instr::Move { dst, src, lanes: home.lanes });
                *reg = dst;
            }
        }
        for (home, reg) in moves {
            self.emit(Instr::Move { dst: home.reg, src: reg, lanes: home.lanes });
        }
        Ok(())
    }

    fn begin(&mut self, op: Control, homes: SmallVec<[Home; 4]>, start: usize) {
        self.open.push(Open { id: self.id, op, homes, n_done: 0, start, exit: start });
    }

    pub(super) fn begin_for(&mut self) -> Done {
        let [min_id, extent, ref carried @ ..] = *self.args() else { return Err(self.wrong("`for` takes bounds")) };
        let homes = self.homes(carried)?;
        self.move_home(carried, &homes)?;
        let is_narrow = self.elem(min_id) == ElemType::INT32;
        let (min, extent) = (self.reg(min_id)?, self.index(extent)?);
        let (index, left) = (self.fresh(1)?, self.fresh(1)?);
        let is_parallel = LoopOps::loop_kind(self.f, self.id) == Some(LoopKind::Parallel);
        let start = if is_parallel && self.compiler.options.order != Order::Forward {
            let (key, body) = (self.fresh(1)?, self.here() + 1);
            self.routine.turns.push(Turns { index, min, extent, at: left, key, body, exit: 0, is_narrow });
            self.emit(Instr::BeginTurns(self.routine.turns.len() as u32 - 1))
        } else {
            self.emit(Instr::Begin { index, min, extent, left, exit: 0 })
        };
        self.begin(Control::For { index, is_narrow }, homes, start);
        Ok(())
    }

    pub(super) fn begin_while(&mut self) -> Done {
        let carried = self.args();
        let homes = self.homes(carried)?;
        self.move_home(carried, &homes)?;
        let start = self.here() as usize;
        self.begin(Control::While, homes, start);
        Ok(())
    }

    /// `when`, and `if` with a value.
    pub(super) fn begin_branch(&mut self) -> Done {
        let [c] = *self.args() else { return Err(self.wrong("a conditional has one condition")) };
        let c = self.reg(c)?;
        let then = self.f.regions(self.id).first().map(|&then| self.f.results(self.f.block_of(then)));
        let homes = self.homes(then.unwrap_or_default())?;
        let start = self.emit(Instr::JumpUnless { c, to: 0 });
        self.begin(Control::Branch, homes, start);
        Ok(())
    }

    /// The parameters of a loop's function.
    pub(super) fn enter(&mut self, block: BlockId) {
        let Some(open) = self.open.last() else { return };
        let mut params = self.f.operands(self.f.block(block).owner).iter();
        if let Control::For { index, .. } = open.op
            && let Some(&param) = params.next()
        {
            self.values[param.index()] = Value::Reg(index);
        }
        for (&param, home) in params.zip(&open.homes) {
            self.values[param.index()] = Value::Reg(home.reg);
        }
    }

    pub(super) fn exit(&mut self, block: BlockId) -> Done {
        let results = self.f.results(block);
        let Some(mut open) = self.open.pop() else {
            self.emit(Instr::Return);
            return Ok(());
        };
        let is_last = open.n_done + 1 == self.f.n_regions(open.id);
        match (open.op, open.n_done) {
            (Control::For { index, is_narrow }, _) => {
                self.move_home(results, &open.homes)?;
                let next = match self.routine.instrs[open.start] {
                    Instr::BeginTurns(turns) => Instr::NextTurn(turns),
                    Instr::Begin { left, .. } => Instr::Next { index, left, body: open.start as u32 + 1, is_narrow },
                    _ => return Err(self.wrong("a loop has no beginning")),
                };
                self.emit(next);
                self.land(open.start);
            }
            (Control::While, 0) => {
                let [c] = *results else { return Err(self.wrong("`cond` of `while` has one result")) };
                let c = self.reg(c)?;
                open.exit = self.emit(Instr::JumpUnless { c, to: 0 });
            }
            (Control::While, _) => {
                self.move_home(results, &open.homes)?;
                self.emit(Instr::Jump { to: open.start as u32 });
                self.land(open.exit);
            }
            (Control::Branch, _) => {
                self.move_home(results, &open.homes)?;
                let jump = (!is_last).then(|| self.emit(Instr::Jump { to: 0 }));
                self.land(open.exit);
                open.exit = jump.unwrap_or(open.exit);
            }
        }
        open.n_done += 1;
        self.open.push(open);
        Ok(())
    }

    pub(super) fn leave(&mut self) {
        let Some(open) = self.open.pop() else { return };
        match open.homes[..] {
            [] => {}
            [home] => self.values[open.id.index()] = Value::Reg(home.reg),
            _ => {
                self.values[open.id.index()] = Value::Several(self.homes.len());
                self.homes.extend_from_slice(&open.homes);
            }
        }
    }
}

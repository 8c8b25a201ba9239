//! The statements of a loop program.

use crate::{
    facts::FromData,
    globals::{Constant, Globals},
    lanes::{Runs, Vectors},
    names::{Names, c_type},
    program::{Checked, Program, sizes, unsupported},
    writer::Writer,
};
use relais_plugin_api::{
    ir::{AttrValue, BlockId, IfView, element_count},
    op::Effects,
    prelude::*,
    prim::{CoreOp, Intervals, LoopOps, arena_offset},
};
use std::collections::{HashMap, HashSet};

/// A function that was written.
pub struct Written {
    /// Its statements.
    pub body: String,
    /// The names of its parameters.
    pub params: Vec<String>,
    /// Whether it can stop before its end: then it returns a status.
    pub stops: bool,
}

impl<'a> Writer<'a> {
    /// Writes the statements of a function.
    pub fn write(
        program: &'a Program<'a>,
        f: &'a Function,
        globals: &'a mut Globals,
        is_main: bool,
    ) -> Result<Written, PassError> {
        let ops = LoopOps::new(f);
        let mut writer = Writer {
            program,
            f,
            intervals: Intervals::new(f),
            globals,
            is_main,
            from_data: FromData::of(f, &ops),
            uses: f.use_counts(),
            read: read(f, &ops),
            projected: HashSet::new(),
            names: Names::default(),
            names_of: HashMap::new(),
            vectors: Vectors::of(f, &ops),
            results_of: HashMap::new(),
            out: String::new(),
            depth: 1,
            n_temporaries: 0,
            stack: 0,
            stops: is_main,
            ops,
        };
        for id in f.all_bindings().filter(|id| writer.uses[id.index()] > 0) {
            if let Expr::TupleGetItem { tuple, index } = f.expr(id) {
                writer.projected.insert((tuple, index));
            }
        }
        program.reserved(&mut writer.names);
        let mut params = Vec::new();
        for &param in f.params() {
            let name = writer.names.give(f.name(param));
            writer.names_of.insert(param, name.clone());
            params.push(name);
        }
        writer.vectors.lane = writer.names.give("l");
        for (&param, name) in f.params().iter().zip(&params) {
            if writer.uses[param.index()] == 0 {
                writer.line(format_args!("(void){name};"));
            }
        }
        writer.block(f.body(), &[])?;
        Ok(Written { body: writer.out, params, stops: writer.stops })
    }

    /// The bindings of a block, whose results become those of these names.
    fn block(&mut self, block: BlockId, names: &[String]) -> Result<(), PassError> {
        let f = self.f;
        let (runs, stack) = (self.runs(block), self.stack);
        for &id in f.bindings(block) {
            if runs.ends_before(id) {
                self.end_run(&runs, &[])?;
            }
            match runs.has(id) {
                true => self.vectors.pending.push(id),
                false => self.binding(id)?,
            }
            self.intervals.bind(f, &self.ops, id);
        }
        self.stack = stack;
        self.finish(&runs, names, block)
    }

    fn binding(&mut self, id: NodeId) -> Result<(), PassError> {
        let f = self.f;
        match f.expr(id) {
            Expr::Constant(_) => {
                let name = match self.globals.constant(f, id, self.is_main)? {
                    Constant::Array(name) => name,
                    Constant::Weights(offset) => {
                        let ty = f.type_of(id).elem().and_then(c_type).unwrap_or_default();
                        let name = self.memory_name(id);
                        let at = format!("((const unsigned char *)weights + {offset})");
                        self.line(format_args!("const {ty} *const {name} = (const {ty} *)(const void *){at};"));
                        name
                    }
                };
                self.names_of.insert(id, name);
                Ok(())
            }
            Expr::TupleGetItem { tuple, index } => {
                let results = self.results_of.get(&tuple).and_then(|names| names.get(index)).cloned();
                let name = results.ok_or_else(|| unsupported(id, "a result is taken that the call does not have"))?;
                self.bind(id, name);
                Ok(())
            }
            Expr::Tuple([]) => Ok(()),
            Expr::If(view) => self.lazy(id, view),
            Expr::Call(call) => match self.ops.of(f, id) {
                Some(op) => self.core(op, id),
                None => self.call(id, call),
            },
            _ => Err(unsupported(id, "loop programs have no such value")),
        }
    }

    fn core(&mut self, op: CoreOp, id: NodeId) -> Result<(), PassError> {
        let f = self.f;
        let args = &f.operands(id)[1..];
        match op {
            CoreOp::Alloc => self.alloc(id),
            CoreOp::View => {
                let name = self.memory(args[0])?;
                self.names_of.insert(id, name);
                Ok(())
            }
            CoreOp::For => self.for_loop(id),
            CoreOp::While => self.while_loop(id),
            CoreOp::When => self.when(id),
            CoreOp::Assert => {
                let condition = self.value(args[0])?;
                self.stop_if(&format!("!({condition})"), "ASSERTION");
                Ok(())
            }
            CoreOp::Store => {
                let place = self.place(id, args[0], &args[2..])?;
                let value = self.value(args[1])?;
                self.line(format_args!("{place} = {value};"));
                Ok(())
            }
            _ if self.uses[id.index()] == 0 && !op.info().effects.contains(Effects::WRITES) => Ok(()),
            CoreOp::Broadcast => self.broadcast(id),
            CoreOp::Lane => self.lane(id),
            CoreOp::Load => {
                let place = self.place(id, args[0], &args[1..])?;
                self.define(id, &place)
            }
            CoreOp::Dim => {
                let axis = f.attrs(id).int("axis").and_then(|axis| usize::try_from(axis).ok());
                let sizes = sizes(f, args[0])?;
                let size = axis.and_then(|axis| sizes.get(axis).copied());
                let size = size.ok_or_else(|| unsupported(id, "the memory does not have that axis"))?;
                self.define(id, &format!("INT64_C({size})"))
            }
            _ => {
                let text = self.operation(op, id)?;
                self.define(id, &text)
            }
        }
    }

    pub fn define(&mut self, id: NodeId, text: &str) -> Result<(), PassError> {
        let (ty, name) = (self.value_type(id)?, self.temporary(id));
        self.line(format_args!("const {ty} {name} = {text};"));
        self.names_of.insert(id, name);
        Ok(())
    }

    pub fn memory(&self, id: NodeId) -> Result<String, PassError> {
        self.names_of.get(&id).cloned().ok_or_else(|| unsupported(id, "memory is used that does not exist yet"))
    }

    fn memory_name(&mut self, id: NodeId) -> String {
        match self.f.name(id) {
            "" => self.names.give("m"),
            name => self.names.give(name),
        }
    }

    fn alloc(&mut self, id: NodeId) -> Result<(), PassError> {
        let f = self.f;
        if self.uses[id.index()] == 0 {
            return Ok(());
        }
        let elem = f.type_of(id).elem().unwrap_or(ElemType::UNKNOWN);
        let ty = c_type(elem).ok_or_else(|| unsupported(id, format_args!("C has no numbers of the type {elem}")))?;
        let count: u64 = sizes(f, id)?.iter().product();
        let name = self.memory_name(id);
        match arena_offset(f, id).filter(|_| self.is_main) {
            Some(offset) => {
                self.line(format_args!("{ty} *const {name} = ({ty} *)(void *)((unsigned char *)arena + {offset});"));
            }
            _ => {
                let is_static = matches!(f.attrs(id).get("scope"), Some(AttrValue::String(b"static")));
                if !is_static {
                    self.on_stack(id, count)?;
                }
                let storage = if is_static { "static " } else { "" };
                self.line(format_args!("{storage}{ty} {name}[{}];", count.max(1)));
                if !self.read.contains(&id) {
                    self.line(format_args!("(void){name};"));
                }
            }
        }
        self.names_of.insert(id, name);
        Ok(())
    }

    /// Counts memory on the stack: a program that has not enough of it ends without a status.
    fn on_stack(&mut self, id: NodeId, count: u64) -> Result<(), PassError> {
        let bytes = self.f.type_of(id).elem().map_or(8, |elem| u64::from(elem.bits()).div_ceil(8));
        self.stack = self.stack.saturating_add(bytes.saturating_mul(count));
        let most = self.program.most_stack();
        if self.stack <= most {
            return Ok(());
        }
        let message = format!("needs {} bytes on the stack, and {most} are allowed", self.stack);
        let help = match self.is_main {
            true => "run `PlanMemory` before, which puts memory into the arena, or allow more by `EmitC.stack`",
            false => "allocate less in the kernel, or give it the memory as an output, or allow more by `EmitC.stack`",
        };
        Err(PassError::new(message).code("C006").at(id).help(help))
    }

    /// An element of memory. An index that depends on data is checked before.
    fn place(&mut self, id: NodeId, memory: NodeId, indices: &[NodeId]) -> Result<String, PassError> {
        for (&index, &size) in indices.iter().zip(&sizes(self.f, memory)?) {
            if self.is_checked(index, size, 1) {
                let text = self.value(index)?;
                self.stop_if(&format!("{text} < 0 || {text} >= {size}"), "OUT_OF_BOUNDS");
            }
        }
        self.element(id, memory, indices, "")
    }

    /// Whether the program has to check that an index, and those up to `n` elements from it on, are within an axis.
    pub fn is_checked(&self, index: NodeId, size: u64, n: u64) -> bool {
        let bounds = self.bounds(index);
        let is_before_end = |max: u64| max < size && n <= size - max;
        let is_inside = bounds.min >= 0 && u64::try_from(bounds.max).is_ok_and(is_before_end);
        match self.program.checked() {
            Checked::All => !is_inside,
            Checked::Data => !is_inside && self.from_data.has(index),
            Checked::None => false,
        }
    }

    /// An element of memory, of which `behind` is added to the last index.
    pub fn element(&self, id: NodeId, memory: NodeId, indices: &[NodeId], behind: &str) -> Result<String, PassError> {
        let sizes = sizes(self.f, memory)?;
        let name = self.memory(memory)?;
        let is_large = element_count(&sizes).is_none_or(|n| i32::try_from(n).is_err());
        let mut flat = String::new();
        for (at, (&index, &size)) in indices.iter().zip(&sizes).enumerate() {
            let text = self.value(index)?;
            // C computes with the indices in their type, and with numbers as an `int`.
            let is_factor = at + 1 < indices.len();
            let text = if is_large && (is_factor || !behind.is_empty()) { format!("(int64_t){text}") } else { text };
            flat = match at {
                0 => text,
                _ if flat == "0" => text,
                _ if flat.contains(' ') => format!("({flat}) * {size} + {text}"),
                _ => format!("{flat} * {size} + {text}"),
            };
        }
        if indices.len() != sizes.len() {
            return Err(unsupported(id, "an access has another number of indices than the memory"));
        }
        flat = match (behind, &*flat) {
            ("", "") => "0".to_owned(),
            ("", _) => flat,
            (_, "0") => behind.to_owned(),
            _ => format!("{flat} + {behind}"),
        };
        Ok(format!("{name}[{flat}]"))
    }

    fn call(&mut self, id: NodeId, call: CallView<'_>) -> Result<(), PassError> {
        let Expr::GlobalVar(callee) = self.f.expr(call.callee()) else {
            return Err(unsupported(id, format_args!("`{}` is not written as C", call.op_name())));
        };
        let args: Vec<String> = call.args().iter().map(|&arg| self.memory(arg)).collect::<Result<_, _>>()?;
        let (name, stops) =
            self.program.callee(callee).ok_or_else(|| unsupported(id, "a function is called before it is written"))?;
        let call = format!("{name}({})", args.join(", "));
        if !stops {
            self.line(format_args!("{call};"));
            return Ok(());
        }
        self.stops = true;
        self.line(format_args!("if ((status = {call}) != 0) return status;"));
        Ok(())
    }

    // ---- control ------------------------------------------------------------------------------------------------------

    /// Declares the values that a loop carries, or that a conditional gives.
    fn declare(&mut self, id: NodeId, types: &[NodeId], first: &[Option<NodeId>]) -> Result<Vec<String>, PassError> {
        let mut names = Vec::with_capacity(types.len());
        for (&of, &first) in types.iter().zip(first) {
            let (ty, name) = (self.value_type(of)?, self.temporary(of));
            match (self.lanes(of), first) {
                (Some(lanes), first) => {
                    self.line(format_args!("{ty} {name}[{lanes}];"));
                    if let Some(first) = first {
                        self.set_lanes(&name, lanes, first)?;
                    }
                }
                (None, Some(first)) => {
                    let first = self.value(first)?;
                    self.line(format_args!("{ty} {name} = {first};"));
                }
                (None, None) => self.line(format_args!("{ty} {name};")),
            }
            if !self.is_used(id, names.len()) {
                self.line(format_args!("(void){name};"));
            }
            names.push(name);
        }
        match (&*names, self.f.n_results(id)) {
            ([one], None) => self.bind(id, one.clone()),
            _ => drop(self.results_of.insert(id, names.clone())),
        }
        Ok(names)
    }

    /// Gives a value its name.
    fn bind(&mut self, id: NodeId, name: String) {
        match self.lanes(id) {
            Some(_) => self.vectors.is_array(id, name),
            None => drop(self.names_of.insert(id, name)),
        }
    }

    /// Whether something uses a result of a loop or a conditional.
    fn is_used(&self, id: NodeId, index: usize) -> bool {
        match self.f.n_results(id) {
            None => self.uses[id.index()] > 0,
            Some(_) => self.projected.contains(&(id, index)),
        }
    }

    /// Ends a block: assigns its results to variables.
    fn finish(&mut self, runs: &Runs, names: &[String], block: BlockId) -> Result<(), PassError> {
        let f = self.f;
        let results: &[NodeId] = if names.is_empty() { &[] } else { f.results(block) };
        // The lanes of those that the last run computes are assigned in it.
        let is_in_run = |id: NodeId| runs.is_last(id);
        let in_run: Vec<(&str, NodeId)> =
            names.iter().map(String::as_str).zip(results.iter().copied()).filter(|&(_, id)| is_in_run(id)).collect();
        let rest: Vec<(&String, NodeId)> =
            names.iter().zip(results.iter().copied()).filter(|&(_, id)| !is_in_run(id)).collect();
        // One may be the earlier value of another.
        let mut texts = Vec::new();
        let mut set: Vec<String> = in_run.iter().map(|(name, _)| (*name).to_owned()).collect();
        for &(name, id) in &rest {
            let lanes = self.lanes(id);
            let source = match lanes {
                Some(_) => self.vectors.array_of(id).map(str::to_owned).or_else(|| self.vectors.text(id)),
                None => Some(self.value(id)?),
            };
            let is_overwritten = |source: &String| set.contains(source);
            let text = match source.filter(is_overwritten) {
                Some(source) => {
                    let (ty, next) = (self.value_type(id)?, self.names.give("next"));
                    match lanes {
                        Some(lanes) => {
                            self.line(format_args!("{ty} {next}[{lanes}];"));
                            self.set_lanes(&next, lanes, id)?;
                            let lane = &self.vectors.lane;
                            Some(format!("{next}[{lane}]"))
                        }
                        None => {
                            self.line(format_args!("const {ty} {next} = {source};"));
                            Some(next)
                        }
                    }
                }
                None => None,
            };
            texts.push(text);
            set.push(name.clone());
        }
        self.end_run(runs, &in_run)?;
        for ((name, id), text) in rest.into_iter().zip(texts) {
            match (self.lanes(id), text) {
                (Some(lanes), Some(text)) => self.each_lane(lanes, &format!("{name}[{}] = {text};", self.vectors.lane)),
                (Some(lanes), None) if self.vectors.array_of(id) != Some(name) => self.set_lanes(name, lanes, id)?,
                (Some(_), None) => {}
                (None, text) => {
                    let value = match text {
                        Some(text) => text,
                        None => self.value(id)?,
                    };
                    if *name != value {
                        self.line(format_args!("{name} = {value};"));
                    }
                }
            }
        }
        Ok(())
    }

    fn for_loop(&mut self, id: NodeId) -> Result<(), PassError> {
        let f = self.f;
        let call = f.call(id).ok_or_else(|| unsupported(id, "a loop is not a call"))?;
        let (&[min, extent, ref carried @ ..], &[body]) = (call.args(), call.regions()) else {
            return Err(unsupported(id, "a loop without bounds or body"));
        };
        let [var, params @ ..] = f.operands(body) else { return Err(unsupported(id, "a loop without variable")) };
        let first: Vec<_> = carried.iter().map(|&value| Some(value)).collect();
        let names = self.declare(id, params, &first)?;
        for (&param, name) in params.iter().zip(&names) {
            self.bind(param, name.clone());
        }
        let (ty, i) = (self.value_type(*var)?, self.temporary(*var));
        let number = |id: NodeId| f.imm(id).and_then(|imm| imm.as_int());
        let (start, turns) = (self.value(min)?, self.value(extent)?);
        let sum = |a: i64, b: i64| a.checked_add(b).filter(|end| i32::try_from(*end).is_ok());
        match (number(min), number(extent)) {
            (Some(0), _) => self.line(format_args!("for ({ty} {i} = 0; {i} < {turns}; ++{i}) {{")),
            (Some(least), Some(n)) if sum(least, n).is_some() => {
                let end = least + n;
                self.line(format_args!("for ({ty} {i} = {least}; {i} < {end}; ++{i}) {{"));
            }
            _ => {
                let turn = self.names.give("turn");
                self.line(format_args!("for ({ty} {turn} = 0; {turn} < {turns}; ++{turn}) {{"));
                if self.uses[var.index()] > 0 {
                    self.line(format_args!("    const {ty} {i} = {start} + {turn};"));
                }
            }
        }
        self.names_of.insert(*var, i);
        let mark = self.intervals.mark();
        self.intervals.enter_loop(f, &self.ops, *var, min, extent);
        self.depth += 1;
        self.block(f.block_of(body), &names)?;
        self.depth -= 1;
        self.intervals.undo(mark);
        self.line("}");
        Ok(())
    }

    fn while_loop(&mut self, id: NodeId) -> Result<(), PassError> {
        let f = self.f;
        let call = f.call(id).ok_or_else(|| unsupported(id, "a loop is not a call"))?;
        let (carried, &[condition, body]) = (call.args(), call.regions()) else {
            return Err(unsupported(id, "a loop without condition or body"));
        };
        let first: Vec<_> = carried.iter().map(|&value| Some(value)).collect();
        let names = self.declare(id, f.operands(body), &first)?;
        for region in [condition, body] {
            for (&param, name) in f.operands(region).iter().zip(&names) {
                self.bind(param, name.clone());
            }
        }
        self.line("for (;;) {");
        self.depth += 1;
        let mark = self.intervals.mark();
        self.block(f.block_of(condition), &[])?;
        let &[holds] = f.results(f.block_of(condition)) else {
            return Err(unsupported(id, "a loop without one condition"));
        };
        let holds = self.value(holds)?;
        self.line(format_args!("if (!{holds}) break;"));
        self.block(f.block_of(body), &names)?;
        self.intervals.undo(mark);
        self.depth -= 1;
        self.line("}");
        Ok(())
    }

    fn when(&mut self, id: NodeId) -> Result<(), PassError> {
        let f = self.f;
        let call = f.call(id).ok_or_else(|| unsupported(id, "a conditional is not a call"))?;
        let (&[condition], regions) = (call.args(), call.regions()) else {
            return Err(unsupported(id, "a conditional without condition"));
        };
        let text = self.value(condition)?;
        self.line(format_args!("if ({text}) {{"));
        for (at, &region) in regions.iter().enumerate() {
            if at > 0 {
                self.line("} else {");
            }
            self.branch(condition, at == 0, f.block_of(region), &[])?;
        }
        self.line("}");
        Ok(())
    }

    fn lazy(&mut self, id: NodeId, view: IfView<'_>) -> Result<(), PassError> {
        let f = self.f;
        let (then, otherwise) = (f.block_of(view.then_branch()), f.block_of(view.else_branch()));
        let text = self.value(view.cond())?;
        let results = f.results(then).to_vec();
        let names = self.declare(id, &results, &vec![None; results.len()])?;
        self.line(format_args!("if ({text}) {{"));
        self.branch(view.cond(), true, then, &names)?;
        self.line("} else {");
        self.branch(view.cond(), false, otherwise, &names)?;
        self.line("}");
        Ok(())
    }

    fn branch(&mut self, condition: NodeId, truth: bool, block: BlockId, names: &[String]) -> Result<(), PassError> {
        let mark = self.intervals.mark();
        self.intervals.assume(self.f, &self.ops, condition, truth);
        self.depth += 1;
        self.block(block, names)?;
        self.depth -= 1;
        self.intervals.undo(mark);
        Ok(())
    }
}

/// The memory that something other than a store uses.
fn read(f: &Function, ops: &LoopOps) -> HashSet<NodeId> {
    let stores = [Some(CoreOp::Store), Some(CoreOp::StoreMasked), Some(CoreOp::Scatter)];
    let others = f.all_bindings().filter(|&id| !stores.contains(&ops.of(f, id)));
    others.flat_map(|id| f.operands(id).iter().copied()).collect()
}

//! `ir-size`: how large passes leave the program.

use super::{BuiltIn, select::is_same};
use crate::{
    ir::{Function, IRModule, Tensor, kind},
    pass::{InstrumentFindings, PassInfo, PassInstrument},
    table::{indented, table},
    words::bytes,
};
use relais_plugin_api::diagnostics::PassError;
use serde_json::json;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

inventory::submit! {
    BuiltIn {
        name: "ir-size",
        doc: "Measures the program around passes: operator calls, nodes in memory, bytes of constants.",
        options: Vec::new,
        make: |_, _| Ok(Arc::new(IrSize::default())),
    }
}

/// How large a program is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Size {
    /// Operator calls and conditionals.
    pub n_calls: u64,
    /// Nodes in memory, those that are no longer used included.
    pub n_nodes: u64,
    /// Bytes of constants, each counted once per binding. A single repeated value has few.
    pub constant_bytes: u64,
}

/// Measures the program around passes.
#[derive(Default)]
pub struct IrSize {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    done: Vec<Measured>,
    /// Passes that run, by index into `done`.
    open: Vec<usize>,
    /// The module that was measured last: the one after a pass is the one before the next.
    last: Option<(IRModule, Size)>,
}

#[derive(Clone)]
struct Measured {
    pass: String,
    depth: usize,
    before: Size,
    after: Size,
}

impl Size {
    /// The size of a module.
    pub fn of(module: &IRModule) -> Self {
        module.bodies().fold(Self::default(), |size, (_, function)| size.plus(Self::of_function(function)))
    }

    fn of_function(f: &Function) -> Self {
        let mut size = Self { n_nodes: f.n_nodes() as u64, ..Self::default() };
        for id in f.all_bindings() {
            match f.kind(id) {
                kind::CALL | kind::IF => size.n_calls += 1,
                kind::CONSTANT => size.constant_bytes += f.stored_constant(id).map_or(0, stored_bytes),
                _ => {}
            }
        }
        let defaults = f.params().iter().filter_map(|&param| f.default_value(param));
        size.constant_bytes += defaults.map(stored_bytes).sum::<u64>();
        size
    }

    fn plus(self, other: Self) -> Self {
        Self {
            n_calls: self.n_calls + other.n_calls,
            n_nodes: self.n_nodes + other.n_nodes,
            constant_bytes: self.constant_bytes + other.constant_bytes,
        }
    }
}

fn stored_bytes(tensor: &Tensor) -> u64 {
    tensor.as_splat().map_or_else(|| tensor.byte_len(), |element| element.len() as u64)
}

impl IrSize {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self, module: Option<&IRModule>) {
        let mut state = self.lock();
        let Some(at) = state.open.pop() else { return };
        state.done[at].after = match module {
            Some(module) => state.measure(module),
            // The module is as it was.
            None => state.done[at].before,
        };
    }
}

impl State {
    fn measure(&mut self, module: &IRModule) -> Size {
        if let Some((last, size)) = &self.last
            && is_same(last, module)
        {
            return *size;
        }
        let size = Size::of(module);
        self.last = Some((module.clone(), size));
        size
    }
}

impl PassInstrument for IrSize {
    fn name(&self) -> &str {
        "ir-size"
    }

    fn exit(&self) -> Result<(), PassError> {
        // The module is not needed any more; the figures stay.
        self.lock().last = None;
        Ok(())
    }

    fn before(&self, module: &IRModule, pass: &PassInfo<'_>) -> Result<(), PassError> {
        let mut state = self.lock();
        let before = state.measure(module);
        let (at, depth) = (state.done.len(), state.open.len());
        state.done.push(Measured { pass: pass.name.to_owned(), depth, before, after: before });
        state.open.push(at);
        Ok(())
    }

    fn after(&self, module: &IRModule, _pass: &PassInfo<'_>) -> Result<(), PassError> {
        self.close(Some(module));
        Ok(())
    }

    fn failed(&self, _pass: &PassInfo<'_>, _error: &PassError) {
        self.close(None);
    }

    fn findings(&self) -> Option<InstrumentFindings> {
        let done = self.lock().done.clone();
        let change = |before: u64, after: u64, show: &dyn Fn(u64) -> String| match before == after {
            true => show(after),
            false => format!("{} -> {}", show(before), show(after)),
        };
        let plain = |n: u64| n.to_string();
        let row = |Measured { pass, depth, before, after }: &Measured| {
            [
                indented(pass, *depth),
                change(before.n_calls, after.n_calls, &plain),
                change(before.n_nodes, after.n_nodes, &plain),
                change(before.constant_bytes, after.constant_bytes, &bytes),
            ]
        };
        let text = table(1, &["pass", "calls", "nodes", "constants"], &done.iter().map(row).collect::<Vec<_>>());
        let size = |size: &Size| json!({ "calls": size.n_calls, "nodes": size.n_nodes, "constant_bytes": size.constant_bytes });
        let entry = |measured: &Measured| {
            let Measured { pass, depth, before, after } = measured;
            json!({ "pass": pass, "depth": depth, "before": size(before), "after": size(after) })
        };
        Some(InstrumentFindings { text, data: done.iter().map(entry).collect() })
    }
}

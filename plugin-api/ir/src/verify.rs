//! The verifier: reports everything that is wrong with a module, whatever produced it.
//!
//! It works in two stages. The first checks every range and every id of the arena without relying on any of them. Only
//! a function that passes is read as a program: the references between its parts, and whether they are allowed.

mod arena;
mod places;
mod prim;
mod program;

use super::*;
use std::{collections::HashMap, sync::Arc};

/// Metadata of a binding or parameter that may have the same name as another value visible at its place, as in
/// subgraphs of some ONNX files.
pub const SHADOWS: &str = "shadows";

/// Everything that is wrong with a module.
pub fn verify(module: &IRModule) -> Vec<Fault> {
    let verifier = Verifier::new(module);
    module.bodies().flat_map(|(name, function)| verifier.global(name, function)).collect()
}

/// Everything that is wrong with a function; with `module`, also calls of functions that it does not have.
pub fn verify_function(function: &Function, module: Option<&IRModule>) -> Vec<Fault> {
    verify_with("", function, module.map(Globals::of).as_ref())
}

/// The verifier of a module's globals, one at a time: several threads may share it.
pub struct Verifier<'a> {
    globals: Globals<'a>,
}

impl<'a> Verifier<'a> {
    /// The verifier of the functions of a module.
    pub fn new(module: &'a IRModule) -> Self {
        Self { globals: Globals::of(module) }
    }

    /// Everything that is wrong with a global function.
    pub fn global(&self, name: &str, function: &Function) -> Vec<Fault> {
        let faults = verify_with(name, function, Some(&self.globals)).into_iter();
        faults.map(|fault| Fault { global: name.to_owned(), ..fault }).collect()
    }

    /// Everything that is wrong with a global function whose representation in memory was checked; see
    /// [`verify_arena`].
    pub fn program(&self, name: &str, function: &Function) -> Vec<Fault> {
        let mut report = Report { function, is_sound: true, faults: Vec::new(), last: None };
        check_program(name, function, Some(&self.globals), &mut report);
        report.faults.into_iter().map(|fault| Fault { global: name.to_owned(), ..fault }).collect()
    }
}

/// Checks the representation of a function in memory: if nothing is reported, it can be read, walked and printed
/// without panicking, and every walk ends. This costs a fraction of the whole check.
pub fn verify_arena(function: &Function) -> Vec<Fault> {
    let mut report = Report { function, is_sound: false, faults: Vec::new(), last: None };
    let n_functions = arena::check(function, &mut report);
    if report.faults.is_empty() {
        places::check(function, n_functions, &mut report);
    }
    report.faults
}

/// Everything that is wrong with a function at whatever level: its representation in memory, and the references between its
/// parts. If nothing is reported, types can be inferred, too.
pub(crate) fn verify_structure(function: &Function) -> Vec<Fault> {
    let mut report = Report { function, is_sound: false, faults: Vec::new(), last: None };
    arena::check(function, &mut report);
    if report.faults.is_empty() {
        report.is_sound = true;
        program::check(function, None, &mut report);
    }
    report.faults
}

/// The global functions that there are.
struct Globals<'a>(HashMap<&'a str, &'a Global>);

impl<'a> Globals<'a> {
    fn of(module: &'a IRModule) -> Self {
        Self(module.globals().iter().map(|global| (global.name.as_str(), global)).collect())
    }
}

fn verify_with(name: &str, function: &Function, globals: Option<&Globals<'_>>) -> Vec<Fault> {
    let mut report = Report { function, is_sound: false, faults: Vec::new(), last: None };
    arena::check(function, &mut report);
    if report.faults.is_empty() {
        report.is_sound = true;
        check_program(name, function, globals, &mut report);
    }
    report.faults
}

/// The second stage, and for what passes it the rules of its level.
fn check_program(name: &str, function: &Function, globals: Option<&Globals<'_>>, report: &mut Report<'_>) {
    program::check(function, globals, report);
    if report.faults.is_empty() {
        match globals.and_then(|globals| globals.0.get(name)).map(|global| global.kind) {
            Some(global_kind::PRIM_FUNC) => prim::check(name, function, globals, report),
            Some(global_kind::FUNCTION) | None => prim::check_graph(function, globals, report),
            Some(_) => {}
        }
    }
}

/// Where faults are gathered.
struct Report<'a> {
    function: &'a Function,
    /// Whether the arena passed, so that nodes can be printed.
    is_sound: bool,
    faults: Vec<Fault>,
    /// The node printed last: faults of one node come together.
    last: Option<(NodeId, Arc<str>)>,
}

impl Report<'_> {
    fn push(&mut self, code: FaultCode, node: Option<NodeId>, block: Option<BlockId>, message: impl Into<String>) {
        let text = node.map_or_else(|| "".into(), |node| self.text(node));
        self.faults.push(Fault { code, global: String::new(), node, block, message: message.into(), text });
    }

    fn text(&mut self, node: NodeId) -> Arc<str> {
        const LONGEST: usize = 160;
        if let Some((last, text)) = &self.last
            && *last == node
        {
            return text.clone();
        }
        let mut text = match self.function.parts().nodes.get(node.index()) {
            Some(_) if self.is_sound => crate::text::display(self.function, node).to_string(),
            Some(rec) => {
                let NodeRec { kind, flags, aux, a, b, c } = rec;
                format!("kind {kind}, flags {flags}, aux {aux}, a {a}, b {b}, c {c}")
            }
            None => "no such node".to_owned(),
        };
        if text.len() > LONGEST {
            let end = (0..=LONGEST).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
            text.truncate(end);
            text.push('…');
        }
        let text: Arc<str> = text.into();
        self.last = Some((node, text.clone()));
        text
    }
}

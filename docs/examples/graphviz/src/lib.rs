//! Draws what `relais build` makes of a model: which loop programs run in which order, and the memory between them.
//!
//! `relais build model.onnx -o model.dot --target dot` writes a graph for Graphviz. A box is a loop program, with the
//! values of the model that it computes; what is round is memory: inputs, outputs, weights, and places in the arena, with
//! their sizes.
//!
//! The pipeline `build-dot` does what `build-c` does and ends with this emitter rather than with `EmitC`.

use relais_plugin_api::{
    ir::AttrValue,
    prelude::*,
    prim::{CoreOp, LoopOps, ORIGINS, arena_offset, checked_arena, n_outputs},
    text::display_type,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

plugin! { description = "draws the loop programs of a model for Graphviz" }

pipeline! { name = "build-dot", toml = include_str!("build-dot.toml") }

/// Writes the entry function as a graph for Graphviz.
#[module_pass(name = "graphviz.EmitDot", opt_level = 0, phase = "none")]
pub fn emit_dot(module: &mut IRModule, cx: &PassCx<'_>) -> Result<(), PassError> {
    let main = module.global("main").and_then(|main| main.prim_func());
    let main = main.ok_or_else(|| {
        PassError::new("the module has no loop program `@main`").help("run `LowerOps` and `LowerMain` before")
    })?;
    // The name that `-o` gives; the command registers it.
    let name = cx.config::<String>("build.name")?.unwrap_or_else(|| "model".to_owned());
    let text = Drawing::of(module, main)?.text(&name);
    cx.file(&format!("{name}.dot"), text.as_bytes())
}

/// The lines of the graph.
struct Drawing<'m> {
    module: &'m IRModule,
    main: &'m Function,
    ops: LoopOps,
    lines: String,
    /// The memory that has a node.
    drawn: BTreeSet<NodeId>,
    arena: u64,
}

impl<'m> Drawing<'m> {
    fn of(module: &'m IRModule, main: &'m Function) -> Result<Self, PassError> {
        let arena = checked_arena(main).map_err(|error| error.in_function("main"))?;
        let (ops, drawn) = (LoopOps::new(main), BTreeSet::new());
        let mut drawing = Self { module, main, ops, lines: String::new(), drawn, arena };
        let first_output = main.params().len() - n_outputs(main);
        for (at, &param) in main.params().iter().enumerate() {
            let colour = if at < first_output { "lightblue" } else { "palegreen" };
            drawing.memory(param, colour);
        }
        for &statement in main.bindings(main.body()) {
            drawing.statement(statement);
        }
        Ok(drawing)
    }

    fn text(&self, name: &str) -> String {
        let label = escaped(&format!("{name}: {} bytes of memory beside its arguments", self.arena));
        format!("digraph model {{\n  label = \"{label}\";\n  node [fontname = \"monospace\"];\n{}}}\n", self.lines)
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        writeln!(self.lines, "  {line};").expect("a string takes everything");
    }

    /// The node of memory, which is drawn when it is first needed.
    fn memory(&mut self, id: NodeId, colour: &str) {
        if !self.drawn.insert(id) {
            return;
        }
        let f = self.main;
        let ty = display_type(f, f.type_id(id)).to_string();
        let place = arena_offset(f, id).map_or_else(String::new, |offset| format!("\nat {offset}"));
        let bytes = f.type_of(id).static_shape().and_then(|dims| {
            let count = relais_plugin_api::ir::element_count(&dims)?;
            f.type_of(id).elem()?.bytes_for(count)
        });
        let bytes = bytes.map_or_else(String::new, |bytes| format!("\n{bytes} bytes"));
        let name = match f.name(id) {
            "" => id.to_string(),
            name => format!("%{name}"),
        };
        let label = escaped(&format!("{name}\n{ty}{bytes}{place}"));
        self.line(format_args!("{} [label = \"{label}\", style = filled, fillcolor = {colour}]", key(id)));
    }

    /// A statement that reads or writes memory.
    fn statement(&mut self, id: NodeId) {
        let f = self.main;
        let (mut reads, mut writes) = (BTreeSet::new(), BTreeSet::new());
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            for &region in f.regions(id) {
                open.extend(f.bindings(f.block_of(region)));
            }
            self.accesses(id, &mut reads, &mut writes);
        }
        if reads.is_empty() && writes.is_empty() {
            return;
        }
        let (label, about) = self.label(id);
        let (key, label) = (key(id), escaped(&label));
        self.line(format_args!("{key} [label = \"{label}\", shape = box{about}]"));
        for memory in reads {
            self.memory(memory, if f.constant(memory).is_some() { "lightgrey" } else { "white" });
            self.line(format_args!("{} -> {key}", self::key(memory)));
        }
        for memory in writes {
            self.memory(memory, "white");
            self.line(format_args!("{key} -> {}", self::key(memory)));
        }
    }

    /// Adds the memory that one call reads and writes: a core operator's, or that of a loop program.
    fn accesses(&self, id: NodeId, reads: &mut BTreeSet<NodeId>, writes: &mut BTreeSet<NodeId>) {
        let f = self.main;
        let Some(call) = f.call(id) else { return };
        let memory = |&arg: &NodeId| self.ops.memory_of(f, arg);
        if let Expr::GlobalVar(name) = f.expr(call.callee()) {
            let n_outputs = self.module.global(name).and_then(|callee| callee.prim_func()).map_or(0, |f| n_outputs(f));
            let (inputs, outputs) = call.args().split_at(call.args().len().saturating_sub(n_outputs));
            reads.extend(inputs.iter().map(memory));
            writes.extend(outputs.iter().map(memory));
            return;
        }
        let first = call.args().iter().take(1).map(memory);
        match self.ops.of(f, id) {
            Some(CoreOp::Load | CoreOp::Gather | CoreOp::LoadMasked) => reads.extend(first),
            Some(CoreOp::Store | CoreOp::Scatter | CoreOp::StoreMasked) => writes.extend(first),
            _ => {}
        }
    }

    /// The label of a statement, and further attributes.
    fn label(&self, id: NodeId) -> (String, String) {
        let f = self.main;
        let callee = f.call(id).map(|call| f.expr(call.callee()));
        let Some(Expr::GlobalVar(name)) = callee else {
            let op = self.ops.of(f, id).map_or("statement", |op| op.name());
            return (op.to_owned(), String::new());
        };
        let Some(kernel) = self.module.global(name).and_then(|callee| callee.prim_func()) else {
            return (format!("@{name}"), ", color = red".to_owned());
        };
        let ops = LoopOps::new(kernel);
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for id in kernel.all_bindings() {
            match ops.of(kernel, id) {
                Some(CoreOp::For) => *counts.entry("loops").or_default() += 1,
                Some(_) => *counts.entry("operations").or_default() += 1,
                None => {}
            }
        }
        let counts: Vec<String> = counts.iter().map(|(what, n)| format!("{n} {what}")).collect();
        let origins = match kernel.attrs(kernel.root()).meta(ORIGINS) {
            Some(AttrValue::Strings(names)) => {
                names.strings().map(|name| format!("\nfor %{}", String::from_utf8_lossy(name))).collect()
            }
            _ => String::new(),
        };
        (format!("@{name}\n{}{origins}", counts.join(", ")), String::new())
    }
}

/// The name of a node in the graph.
fn key(id: NodeId) -> String {
    format!("n{}", id.index())
}

/// A text in quotes. Line breaks centre the lines.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace(|c: char| c.is_control(), " ")
}

#[cfg(test)]
mod tests {
    use relais_plugin_api::testing::Trial;

    const TWICE: &str = r#"
        prim @main(%x: Tensor[(4), float32]) -> (%y: Tensor[(4), float32]) #[arena = 64] {
            %w = const(float32, [1.0, 2.0, 3.0, 4.0]);
            %t = alloc float32[4] #[offset = 0];
            @Mul(%x, %w, %t);
            %u = view(%t, shape = [2, 2]);
            for %i in 0..2 { %y[%i] = %u[%i, 0]; %y[%i + 2] = %u[%i, 1]; }
        }
        prim @Mul(%a: Tensor[(4), float32], %b: Tensor[(4), float32]) -> (%c: Tensor[(4), float32]) #[origins = ["a \"name\""]] {
            for %i in 0..4 { %c[%i] = %a[%i] * %b[%i]; }
        }"#;

    fn drawn(text: &str, name: &str) -> String {
        let outcome = Trial::of("graphviz.EmitDot").config("build.name", name).run(text).unwrap();
        assert!(!outcome.changed);
        String::from_utf8(outcome.files[&format!("{name}.dot")].clone()).unwrap()
    }

    #[test]
    fn memory_and_programs_are_drawn() {
        let dot = drawn(TWICE, "twice");
        assert!(dot.starts_with("digraph model {\n  label = \"twice: 64 bytes"), "{dot}");
        assert!(dot.contains(r#"%t\nTensor[(4), float32]\n16 bytes\nat 0""#), "{dot}");
        assert!(dot.contains(r#"label = "@Mul\n1 loops, 4 operations\nfor %a \"name\"", shape = box"#), "{dot}");
        // x, w and t with the call; t, through its view, and y with the loop.
        assert_eq!(dot.matches(" -> ").count(), 5, "{dot}");
        assert_eq!(dot.matches("fillcolor = lightgrey").count(), 1, "{dot}");
    }

    #[test]
    fn a_module_without_a_loop_program_main_is_refused() {
        let error = Trial::of("graphviz.EmitDot").run("def @main(%x) { %x }").unwrap_err().to_string();
        assert!(error.contains("no loop program `@main`"), "{error}");
    }

    #[test]
    fn a_plan_that_does_not_hold_is_refused() {
        let wrong = TWICE.replace("#[arena = 64]", "#[arena = 8]");
        let error = Trial::of("graphviz.EmitDot").run(&wrong).unwrap_err().to_string();
        assert!(error.contains("memory is outside the arena"), "{error}");
    }

    #[test]
    fn everything_keeps_the_rules() {
        relais_conformance::check_all();
    }
}

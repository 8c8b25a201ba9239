//! `VectorizeLoop`: what text cannot show, and programs that are made at random.

use crate::common::*;
use relais_plugin_api::{prelude::*, text};

fn parsed(body: &str) -> Function {
    let params = "%x: Tensor[(40), float32], %n: Tensor[(), int64]";
    let outputs = "%y: Tensor[(40), float32], %z: Tensor[(40), float32], %w: Tensor[(5, 8), float32]";
    let program = format!("prim @k({params}) -> ({outputs}) {{\n{body}}}\n");
    let module = text::parse_str(&program).unwrap_or_else(|errors| panic!("{errors:?}\n{program}"));
    module.global("k").and_then(|global| global.prim_func()).unwrap().as_ref().clone()
}

fn options(fields: &[(&str, Value)]) -> Value {
    Value::Struct(fields.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect())
}

#[test]
fn the_extent_has_to_be_known() {
    let f = || parsed("%m = max(0, min(%n[], 4));\nfor %i in 0..%m vectorized {\n%y[%i] = 1.0;\n}\n");
    let error = try_run("VectorizeLoop", f(), &[]).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("cannot vectorize a loop whose extent is not constant"), "{error}");
    // It is not looked at where no vectors are made.
    let ran = try_run_with("VectorizeLoop", &options(&[("enable", Value::Bool(false))]), f(), &[]).unwrap();
    assert!(ran.changed && !ran.changed_again && !ran.text.contains("vectorized"), "{}", ran.text);
}

#[test]
fn the_context_disables_it_as_in_tvm() {
    let f = || parsed("for %i in 0..4 vectorized {\n%y[%i] = 1.0;\n}\n");
    let ran = |is_disabled| {
        let config = [("tir.disable_vectorize".to_owned(), Value::Bool(is_disabled))];
        try_run("VectorizeLoop", f(), &config).unwrap()
    };
    let [off, on] = [ran(true), ran(false)];
    assert!(off.changed && off.text.contains("for ") && !off.text.contains("broadcast"), "{}", off.text);
    assert!(on.changed && !on.text.contains("for ") && on.text.contains("broadcast"), "{}", on.text);
}

/// Makes bodies of vectorized loops, most of which can be computed in lanes.
struct Maker {
    script: Script,
    floats: Vec<String>,
    inner: Vec<String>,
    /// Integers from 0 to 7.
    ints: Vec<String>,
}

impl Maker {
    fn index(&mut self) -> String {
        let at = self.script.of(&[
            "%i",
            "%i",
            "%i",
            "%i + 3",
            "%i * 2 + 1",
            "19 - %i",
            "%u",
            "floordiv(%i, 2)",
            "7",
            "%u + %i",
        ]);
        match self.inner.last().filter(|_| at != "%u") {
            Some(j) if !matches!(at, "%i * 2 + 1" | "19 - %i") => format!("{at} + {j}"),
            _ => at.to_owned(),
        }
    }

    fn load(&mut self) -> String {
        let from = self.script.of(&["x", "x", "x", "y", "z", "w"]);
        match from {
            "w" => {
                let row = self.script.of(&["%i", "%u", "0"]);
                format!("%w[floordiv({row}, 8), floormod(%i, 8)]")
            }
            _ => format!("%{from}[{}]", self.index()),
        }
    }

    fn value(&mut self, depth: usize) -> String {
        match self.script.next(if depth == 0 { 3 } else { 8 }) {
            0 => self
                .script
                .of(&["0.5", "-2.0", "0.0", "cast(%i, elem = \"float32\")", "cast(%u, elem = \"float32\")"])
                .to_owned(),
            1 if !self.floats.is_empty() => {
                let at = self.script.next(self.floats.len());
                self.floats[at].clone()
            }
            1 | 2 => self.load(),
            3 => format!("select({}, {}, {})", self.condition(), self.value(depth - 1), self.value(depth - 1)),
            4 => format!("abs({})", self.value(depth - 1)),
            _ => {
                let op = self.script.of(&["+", "-", "*"]);
                format!("({} {op} {})", self.value(depth - 1), self.value(depth - 1))
            }
        }
    }

    fn condition(&mut self) -> String {
        match self.script.next(4) {
            0 => "%u < 3".to_owned(),
            1 => format!("({} > 0.25)", self.value(0)),
            _ => format!("%i {} {}", self.script.of(&["<", "!=", ">="]), self.script.of(&["5", "%u", "2"])),
        }
    }

    fn block(&mut self, depth: usize) {
        let (floats, ints) = (self.floats.len(), self.ints.len());
        for _ in 0..1 + self.script.next(3) {
            self.statement(depth);
        }
        self.floats.truncate(floats);
        self.ints.truncate(ints);
    }

    fn statement(&mut self, depth: usize) {
        match self.script.next(if depth == 0 { 4 } else { 11 }) {
            10 => {
                // Statements that can be masked.
                let (condition, to) = (self.condition(), self.script.of(&["y", "z"]));
                let (at, from) = (self.script.of(&["%i", "%i + 2", "%u + %i"]), self.script.of(&["%i", "%i + 1"]));
                let (v, value) = (self.script.name("v"), self.script.of(&["abs", "neg", "sqrt"]));
                self.script
                    .line(&format!("when ({condition}) {{\n{v} = {value}(%x[{from}]);\n%{to}[{at}] = {v} * 2.0;\n}}"));
            }
            0 => {
                let (name, value) = (self.script.name("v"), self.value(2));
                self.script.line(&format!("{name} = neg({value});"));
                self.floats.push(name);
            }
            1..4 => {
                let (to, at, value) = (self.script.of(&["y", "z"]), self.index(), self.value(2));
                self.script.line(&format!("%{to}[{at}] = {value};"));
            }
            4 => {
                let condition = self.condition();
                self.script.line(&format!("when ({condition}) {{"));
                self.block(depth - 1);
                if self.script.next(3) == 0 {
                    self.script.line("} else {");
                    self.block(depth - 1);
                }
                self.script.line("}");
            }
            5 => {
                let (j, end) =
                    (self.script.name("j"), self.script.of(&["3", "2", "3", "floormod(%i, 3)", "floormod(%u, 3)"]));
                self.script.line(&format!("for {j} in 0..{end} {{"));
                self.inner.push(j);
                self.block(depth - 1);
                self.inner.pop();
                self.script.line("}");
            }
            6 => {
                let (s, k, a, b) =
                    (self.script.name("s"), self.script.name("k"), self.script.name("a"), self.script.name("b"));
                let (first, second) = (self.value(1), self.value(1));
                self.script.line(&format!("({s}, {s}b) = for {k} in 0..3 with {a} = {first}, {b} = {second} {{"));
                self.floats.extend([a.clone(), b.clone()]);
                let (v, value) = (self.script.name("v"), self.value(2));
                self.script.line(&format!("{v} = neg({value});"));
                self.floats.truncate(self.floats.len() - 2);
                let next = match self.script.next(3) {
                    0 => format!("{b}, {a}"),
                    1 => format!("{a} + {v}, 1.5"),
                    _ => format!("{a} + %x[{k} + %i], {b} * 0.5"),
                };
                self.script.line(&format!("({next})\n}};"));
                self.floats.extend([s.clone(), format!("{s}b")]);
            }
            7 => {
                let (b, n) = (self.script.name("b"), 1 + self.script.next(2));
                self.script.line(&format!("{b} = alloc float32[{n}, 2];"));
                for at in 0..2 * n {
                    let value = self.value(1);
                    self.script.line(&format!("{b}[{}, {}] = {value};", at / 2, at % 2));
                }
                let row = if n == 2 { self.script.of(&["0", "1", "floormod(%i, 2)"]) } else { "0" };
                let column = self.script.of(&["0", "floormod(%u, 2)", "floormod(%i, 2)"]);
                let v = self.script.name("v");
                self.script.line(&format!("{v} = {b}[{row}, {column}];"));
                self.floats.push(v);
            }
            8 => {
                let (v, c, then, other) = (self.script.name("v"), self.condition(), self.value(1), self.value(1));
                let (p, q) = (self.script.name("p"), self.script.name("q"));
                self.script.line(&format!(
                    "{v} = if ({c}) {{\n{p} = neg({then});\n{p}\n}} else {{\n{q} = neg({other});\n{q}\n}};"
                ));
                self.floats.push(v);
            }
            _ => {
                let (v, value) = (self.script.name("v"), self.value(2));
                self.script.line(&format!("{v} = sqrt(abs({value}));"));
                self.floats.push(v);
            }
        }
    }
}

fn random(seed: u64) -> Function {
    let mut maker = Maker { script: Script::new(seed), floats: Vec::new(), inner: Vec::new(), ints: Vec::new() };
    maker.script.line("for %q in 0..40 {\n%y[%q] = %x[%q];\n%z[%q] = 1.0;\n}");
    maker.script.line("for %q in 0..5 {\nfor %r in 0..8 {\n%w[%q, %r] = cast(%q, elem = \"float32\");\n}\n}");
    maker.script.line("%u = floormod(%n[], 8);");
    for _ in 0..2 {
        let range = maker.script.of(&["0..4", "0..8", "0..13", "0..16", "1..5", "2..19", "%u..%u + 6", "0..3"]);
        maker.script.line(&format!("for %i in {range} vectorized {{"));
        for _ in 0..1 + maker.script.next(3) {
            maker.statement(2);
        }
        maker.floats.clear();
        maker.script.line("}");
    }
    parsed(&maker.script.text)
}

#[test]
fn random_programs_compute_the_same_in_lanes() {
    let (mut n_in_lanes, mut n_masked, mut n_compared) = (0, 0, 0);
    for seed in 0..400 {
        let fields = [("widths", Value::Int([4, 8, 16][seed as usize % 3])), ("masked", Value::Bool(seed % 2 == 0))];
        let ran = try_run_with("VectorizeLoop", &options(&fields), random(seed), &[]).unwrap();
        assert!(ran.changed && !ran.changed_again && !ran.text.contains("vectorized"), "{}", ran.text);
        let is_in_lanes =
            ["broadcast", "ramp", "gather", "scatter", "lanes"].iter().any(|word| ran.text.contains(word));
        n_in_lanes += usize::from(is_in_lanes);
        n_masked += usize::from(ran.text.contains("masked"));
        n_compared += usize::from(ran.is_compared);
        // The other passes are right about vectors.
        let mut f = ran.function;
        for pass in
            ["Simplify", "FlattenBuffer", "RemoveNoOp", "FuseLoops", "InlineProducers", "UnrollLoop", "Simplify"]
        {
            f = try_run(pass, f, &[]).unwrap().function;
        }
    }
    println!("{n_in_lanes} in lanes, {n_masked} masked, {n_compared} compared");
    assert!(n_in_lanes > 150 && n_masked > 15 && n_compared > 350, "{n_in_lanes} {n_masked} {n_compared}");
}

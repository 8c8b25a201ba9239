//! `ScheduleCpu`: programs that are made at random compute the same, in whatever order the turns of parallel loops run.

use crate::common::*;
use relais_plugin_api::{
    prelude::*,
    prim::{Order, RunOptions, run as run_prim},
    text,
};

/// Makes nests of loops that add up products, most of which can be scheduled, and some of which cannot.
struct Maker {
    script: Script,
    loops: Vec<String>,
    /// Memory of 8 by 24 floats that may be written.
    memory: Vec<String>,
    n_left: usize,
}

impl Maker {
    /// An index of an axis: below 8, where loops have at most 7 turns, or below 24, where some have up to 20. Most are variables.
    fn index(&mut self, axis: usize) -> String {
        let (n, last) = [(8, "7"), (24, "23")][axis];
        let fit: Vec<String> = self.loops.iter().filter(|name| axis == 1 || !name.starts_with("%l")).cloned().collect();
        let at = self.script.next(fit.len() + 1);
        let Some(variable) = fit.get(at).cloned() else { return self.script.of(&["0", "3", "7"]).to_owned() };
        match self.script.next(9) {
            0 => format!("{variable} + 1"),
            1 => format!("{last} - {variable}"),
            2 => format!("floormod({variable} * 2, {n})"),
            _ => variable,
        }
    }

    /// An index that is a value, or sometimes another one.
    fn mostly(&mut self, value: &str, axis: usize) -> String {
        if self.script.next(9) == 0 { self.index(axis) } else { value.to_owned() }
    }

    /// The loops of a product of matrices, with an index here and there that is another one.
    fn product(&mut self) {
        let at = self.script.next(self.memory.len());
        let y = self.memory[at].clone();
        let i = self.begin("i");
        let k = self.begin("k");
        let l = self.begin("l");
        let (row, column) = (self.mostly(&i, 0), self.mostly(&l, 1));
        let (a, b) = (self.mostly(&i, 0), self.mostly(&k, 1));
        let (c, d) = (self.mostly(&k, 0), self.mostly(&l, 1));
        let from = self.script.of(&["%w", "%w", "%w", "%y"]);
        self.script.line(&format!("{y}[{row}, {column}] = {y}[{row}, {column}] + %x[{a}, {b}] * {from}[{c}, {d}];"));
        (0..3).for_each(|_| self.end());
    }

    fn load(&mut self) -> String {
        let memory = match self.script.next(self.memory.len() + 4) {
            at if at < self.memory.len() => self.memory[at].clone(),
            at => ["%x", "%w"][at % 2].to_owned(),
        };
        format!("{memory}[{}, {}]", self.index(0), self.index(1))
    }

    fn value(&mut self) -> String {
        match self.script.next(6) {
            0 => self.load(),
            1 => format!("abs({})", self.load()),
            2 => format!("select({} > 0.5, {}, 0.25)", self.load(), self.load()),
            _ => format!("{} * {}", self.load(), self.load()),
        }
    }

    fn range(&mut self, stem: &str) -> &'static str {
        if stem == "l" {
            return self.script.of(&["0..16", "0..20", "1..18", "0..%u"]);
        }
        self.script.of(&["0..7", "0..7", "0..6", "1..5", "0..4", "0..4", "0..5", "0..1", "0..0", "0..%u", "%u..%u + 3"])
    }

    fn begin(&mut self, stem: &str) -> String {
        let (variable, range) = (self.script.name(stem), self.range(stem));
        let kind = self.script.of(&["", "", "", "", "", "", "", " unrolled"]);
        self.script.line(&format!("for {variable} in {range}{kind} {{"));
        self.loops.push(variable.clone());
        variable
    }

    fn end(&mut self) {
        self.loops.pop();
        self.script.line("}");
    }

    fn statement(&mut self, depth: usize) {
        if self.n_left == 0 {
            return;
        }
        self.n_left -= 1;
        let at = self.script.next(self.memory.len());
        let memory = self.memory[at].clone();
        let to = format!("{memory}[{}, {}]", self.index(0), self.index(1));
        match self.script.next(if depth == 0 { 4 } else { 10 }) {
            0 => {
                let value = self.value();
                self.script.line(&format!("{to} = {value};"));
            }
            // A sum in memory.
            1 | 2 => {
                let mut value = self.value();
                if self.script.next(8) == 0 {
                    let (lazy, c, a) = (self.script.name("l"), self.load(), self.load());
                    self.script.line(&format!("{lazy} = if ({c} > 0.5) {{ {a} }} else {{ {value} }};"));
                    value = lazy;
                }
                self.script.line(&format!("{to} = {to} + {value};"));
            }
            // A carried sum, or two that are exchanged.
            3 => {
                let (k, sum, other, result) =
                    (self.script.name("k"), self.script.name("s"), self.script.name("t"), self.script.name("r"));
                let (range, is_two) = (self.range("k"), self.script.next(3) == 0);
                let (start, more) = (self.value(), self.script.name("r"));
                self.loops.push(k.clone());
                let (value, second) = (self.value(), self.value());
                self.loops.pop();
                if is_two {
                    self.script.line(&format!(
                        "({result}, {more}) = for {k} in {range} with {sum} = {start}, {other} = 1.0 {{\n\
                         ({other} + {value}, {sum} * 0.5 + {second})\n}};"
                    ));
                    self.script.line(&format!("{to} = {result} + {more};"));
                } else {
                    self.script
                        .line(&format!("{result} = for {k} in {range} with {sum} = {start} {{ {sum} + {value} }};"));
                    self.script.line(&format!("{to} = {result};"));
                }
            }
            4 => {
                let condition = self.load();
                self.script.line(&format!("when ({condition} > 0.0) {{"));
                self.statement(depth - 1);
                self.script.line("}");
            }
            // Memory of a turn, written before it is read.
            5 if self.memory.len() < 5 => {
                let own = self.script.name("b");
                let (a, b) = (self.script.name("p"), self.script.name("q"));
                let at = self.load();
                self.script.line(&format!("{own} = alloc float32[8, 24];"));
                self.script.line(&format!("for {b} in 0..24 {{\nfor {a} in 0..8 {{\n{own}[{a}, {b}] = {at};\n}}\n}}"));
                self.memory.push(own);
                self.statement(depth - 1);
                self.statement(depth - 1);
                self.memory.pop();
            }
            6 | 7 => self.product(),
            _ => {
                let stem = self.script.of(&["i", "i", "l"]);
                self.begin(stem);
                for _ in 0..[1, 1, 1, 2, 3][self.script.next(5)] {
                    self.statement(depth - 1);
                }
                self.end();
            }
        }
    }
}

fn random(seed: u64) -> Function {
    let memory = vec!["%y".to_owned(), "%z".to_owned(), "%v".to_owned()];
    let mut maker =
        Maker { script: Script::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15)), loops: Vec::new(), memory, n_left: 12 };
    maker.script.line("%u = min(max(%n[], 1), 4);\n%v = view(%z, shape = [8, 24]);");
    for _ in 0..3 {
        maker.begin("i");
        maker.statement(4);
        maker.statement(3);
        maker.end();
    }
    let memory = "%x: Tensor[(8, 24), float32], %w: Tensor[(8, 24), float32], %n: Tensor[(), int64]";
    let outputs = "%y: Tensor[(8, 24), float32], %z: Tensor[(192), float32]";
    let program = format!("prim @k({memory}) -> ({outputs}) {{\n{}}}\n", maker.script.text.replace("%z[", "%v["));
    let module = text::parse_str(&program).unwrap_or_else(|errors| panic!("{errors:?}\n{program}"));
    module.global("k").and_then(|global| global.prim_func()).unwrap().as_ref().clone()
}

/// The outputs of a program, with the turns of parallel loops in this order.
#[expect(clippy::field_reassign_with_default, reason = "options may get more fields")]
fn outputs(f: &Function, order: Order, fuel: u64) -> Option<Vec<Vec<u8>>> {
    let mut module = IRModule::new();
    module.set_prim_func("k", f.clone());
    let numbers = |seed: usize| -> Vec<f64> { (0..192).map(|at| ((at * 7 + seed) % 23) as f64 * 0.37 - 3.1).collect() };
    let mut inputs: Vec<Tensor> =
        (0..2).filter_map(|seed| Tensor::from_f64s(ElemType::FLOAT, &[8, 24], &numbers(seed * 5))).collect();
    inputs.push(Tensor::from_i64(&[], &[3]));
    let mut options = RunOptions::default();
    options.order = order;
    options.fuel = fuel;
    let outputs = run_prim(&module, "k", &inputs, &options).ok()?;
    Some(outputs.iter().map(|tensor| tensor.to_bytes().into_owned()).collect())
}

#[test]
fn random_programs_compute_the_same() {
    let (mut n_tiled, mut n_lanes, mut n_parallel, mut n_changed, mut n_compared) = (0, 0, 0, 0, 0);
    for seed in 0..600 {
        let before = random(seed);
        let vectorize = ["sums", "all", "none"][seed as usize % 3];
        let fields = [
            ("rows", Value::Int([4, 2, 8, 3, 1][seed as usize % 5])),
            ("vectorize", Value::Str(vectorize.to_owned())),
            ("parallel", Value::Bool(seed % 2 == 0)),
        ];
        let fields = fields.map(|(name, value)| (name.to_owned(), value));
        let ran = try_run_with("ScheduleCpu", &Value::Struct(fields.to_vec()), before.clone(), &[]).unwrap();
        n_changed += usize::from(ran.changed);
        n_tiled += usize::from(ran.function.n_nodes() > before.n_nodes());
        n_lanes += usize::from(ran.text.contains("vectorized"));
        n_parallel += usize::from(ran.text.contains("parallel"));
        let expected = outputs(&before, Order::Forward, 1 << 18);
        n_compared += usize::from(expected.is_some());
        for order in [Order::Forward, Order::Backward, Order::Shuffled(seed)] {
            let got = outputs(&ran.function, order, 1 << 22);
            assert!(expected.is_none() || got == expected, "seed {seed}, {order:?}:\n{}", ran.text);
        }
        if expected.is_none() {
            continue;
        }
        // The other passes are right about what it made.
        let mut f = ran.function;
        for pass in ["VectorizeLoop", "Simplify", "RemoveNoOp", "FlattenBuffer", "UnrollLoop", "LoopPartition"] {
            // The numbers of turns of `unrolled` loops may not be constant.
            if let Ok(ran) = try_run(pass, f.clone(), &[]) {
                f = ran.function;
            }
        }
        assert!(outputs(&f, Order::Forward, 1 << 22) == expected, "seed {seed}");
    }
    println!("{n_changed} changed, {n_tiled} tiled, {n_lanes} in lanes, {n_parallel} parallel, {n_compared} compared");
    assert!(n_tiled > 100 && n_lanes > 100 && n_parallel > 50 && n_compared > 400);
}

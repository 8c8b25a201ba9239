//! Programs that are made at random compute the same after passes.

use crate::common::*;
use relais_plugin_api::{
    prelude::*,
    prim::{CoreOp, LoopKind, PrimBuilder, prim_func},
};

/// Makes programs. Every index is within its memory.
struct Maker {
    random: Random,
    /// Memory of 64 floats that is read and written, with its number of dimensions: 64, 8 by 8, or 4 by 2 by 8.
    memory: Vec<(NodeId, usize)>,
    /// Integers, the innermost last.
    ints: Vec<NodeId>,
    floats: Vec<NodeId>,
    n_left: usize,
}

const SIZES: [&[u64]; 3] = [&[64], &[8, 8], &[4, 2, 8]];

impl Maker {
    fn int(&mut self, b: &mut PrimBuilder<'_>) -> NodeId {
        let literal = self.random.next(7) as i64 - 1;
        let at = self.random.next(self.ints.len() + 2);
        let a = self.ints.get(at).copied().unwrap_or_else(|| b.index(literal));
        if self.random.next(3) > 0 {
            return a;
        }
        let other = b.index(self.random.next(3) as i64);
        let op = [CoreOp::Add, CoreOp::Sub, CoreOp::Mul, CoreOp::Min, CoreOp::Max][self.random.next(5)];
        b.op(op, &[a, other])
    }

    fn place(&mut self, b: &mut PrimBuilder<'_>) -> (NodeId, Vec<NodeId>) {
        let at = self.random.next(self.memory.len());
        let (memory, shape) = self.memory[at];
        let indices = SIZES[shape]
            .iter()
            .map(|&size| {
                let index = self.int(b);
                let size = b.index(size as i64);
                b.op(CoreOp::FloorMod, &[index, size])
            })
            .collect();
        (memory, indices)
    }

    fn float(&mut self, b: &mut PrimBuilder<'_>) -> NodeId {
        match self.random.next(6) {
            0 | 1 => {
                let (memory, indices) = self.place(b);
                b.load(memory, &indices)
            }
            2 => {
                let (c, x, y) = (self.condition(b), self.random.next(3) as f64, self.place(b));
                b.lazy(c, |b| b.load(y.0, &y.1), |b| b.float(F32, x))
            }
            3 if !self.floats.is_empty() => {
                let (at, other) = (self.random.next(self.floats.len()), self.random.next(3) as f64);
                let a = self.floats[at];
                let other = b.float(F32, other);
                b.op([CoreOp::Add, CoreOp::Mul, CoreOp::Max][self.random.next(3)], &[a, other])
            }
            _ => b.float(F32, self.random.next(5) as f64 - 0.5),
        }
    }

    fn condition(&mut self, b: &mut PrimBuilder<'_>) -> NodeId {
        let (x, y) = (self.int(b), self.int(b));
        let condition = b.op([CoreOp::Lt, CoreOp::Eq, CoreOp::Ge][self.random.next(3)], &[x, y]);
        if self.random.next(4) == 0 { b.op(CoreOp::Not, &[condition]) } else { condition }
    }

    fn block(&mut self, b: &mut PrimBuilder<'_>) {
        let outer = (self.memory.len(), self.ints.len(), self.floats.len());
        for _ in 0..self.random.next(4) {
            if self.n_left == 0 {
                break;
            }
            self.n_left -= 1;
            self.statement(b);
        }
        self.memory.truncate(outer.0);
        self.ints.truncate(outer.1);
        self.floats.truncate(outer.2);
    }

    fn statement(&mut self, b: &mut PrimBuilder<'_>) {
        match self.random.next(9) {
            0 => {
                let kind = LoopKind::ALL[[0, 0, 2, 3][self.random.next(4)]];
                let extent = b.index(self.random.next(4) as i64 - 1);
                b.each_of(kind, extent, |b, i| {
                    self.ints.push(i);
                    self.block(b);
                    self.ints.pop();
                });
            }
            1 => {
                let (min, mut extent, start) = (self.int(b), b.index(self.random.next(4) as i64), self.float(b));
                if self.random.next(3) == 0 {
                    let (n, three) = (self.int(b), b.index(3));
                    extent = b.op(CoreOp::Min, &[n, three]);
                }
                let second = self.float(b);
                let [p, q] = b.fold(min, extent, [start, second], |b, i, [p, q]| {
                    self.ints.push(i);
                    self.floats.extend([p, q]);
                    self.block(b);
                    let value = self.float(b);
                    self.ints.pop();
                    self.floats.truncate(self.floats.len() - 2);
                    [q, value]
                });
                self.floats.extend([p, q]);
            }
            2 | 3 => {
                let condition = self.condition(b);
                let is_empty = self.random.next(3) == 0;
                let maker = std::cell::RefCell::new(&mut *self);
                b.when_else(
                    condition,
                    |b| {
                        if !is_empty {
                            maker.borrow_mut().block(b)
                        }
                    },
                    |b| maker.borrow_mut().block(b),
                );
            }
            4 => {
                let shape = self.random.next(3);
                let memory = b.alloc(F32, SIZES[shape]);
                // So that nothing is read before it is written.
                let (zero, first) = (b.float(F32, 0.25), b.index(0));
                let vector = b.op_with(CoreOp::Broadcast, &[zero], &[Attr::new("lanes", 64_i64)]);
                let view = b.op_with(CoreOp::View, &[memory], &[Attr::new("shape", vec![64_i64])]);
                b.store(view, vector, &[first]);
                self.memory.push((memory, shape));
            }
            5 => {
                let value = self.float(b);
                self.floats.push(value);
            }
            6 => {
                let (memory, indices) = self.place(b);
                let value = b.load(memory, &indices);
                b.store(memory, value, &indices);
            }
            _ => {
                let ((memory, indices), n) = (self.place(b), 1 + self.random.next(2));
                for _ in 0..n {
                    let value = self.float(b);
                    b.store(memory, value, &indices);
                }
            }
        }
    }
}

fn random(seed: u64) -> Function {
    let outputs: Vec<(String, &[u64])> = (0..3).map(|at| (format!("y{at}"), SIZES[at])).collect();
    let outputs: Vec<(&str, ElemType, &[u64])> = outputs.iter().map(|(name, sizes)| (&**name, F32, *sizes)).collect();
    let mut f = prim_func(&[("n", ElemType::INT64, &[])], &outputs);
    let [n, outputs @ ..] = f.params() else { panic!() };
    let (n, memory) = (*n, outputs.iter().copied().zip(0..).collect());
    let mut maker = Maker { random: Random(seed), memory, ints: Vec::new(), floats: Vec::new(), n_left: 24 };
    let mut b = PrimBuilder::new(&mut f);
    let n = b.load(n, &[]);
    maker.ints.push(n);
    for _ in 0..8 {
        maker.statement(&mut b);
    }
    b.finish().unwrap();
    f
}

#[test]
fn programs_compute_the_same() {
    let unroll = |steps: i64| {
        let fields = vec![("auto_max_step".to_owned(), Value::Int(steps))];
        let cuts = vec![("partition_const_loop".to_owned(), Value::Bool(true))];
        let all = [("tir.UnrollLoop", fields), ("tir.LoopPartition", cuts)];
        all.map(|(name, fields)| (name.to_owned(), Value::Struct(fields)))
    };
    let passes =
        ["UnrollLoop", "StorageRewrite", "Simplify", "FlattenBuffer", "RemoveNoOp", "Simplify", "LoopPartition"];
    let (mut n_changed, mut n_compared) = ([0; 7], 0);
    for seed in 0..100 {
        let mut f = random(seed);
        for (at, pass) in passes.into_iter().enumerate() {
            let alone = try_run(pass, random(seed), &unroll(seed as i64 % 20)).unwrap();
            n_compared += usize::from(alone.is_compared);
            // And in a row.
            let ran = try_run(pass, f, &unroll(100)).unwrap();
            n_changed[at] += usize::from(alone.changed || ran.changed);
            assert!(pass != "FlattenBuffer" || !ran.changed_again, "{}", ran.text);
            f = ran.function;
        }
    }
    assert!(n_changed.iter().all(|&n| n > 20) && n_compared > 630, "{n_changed:?} {n_compared}");
}

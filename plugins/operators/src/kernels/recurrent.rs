//! Recurrent networks, step by step.

use super::{
    activation::{above_zero, hard_sigmoid_of, sigmoid_of, softplus_of},
    shared::{Done, declined, floats, is_half, same_elem, terms::Terms},
};
use crate::calls::{flag, named, opt_strs};
use crate::kernels::activation::softsign_of;
use relais_operator_math::recurrent::{Activation, Cell, are_reverse};
use relais_plugin_api::{
    ir::{ElemType, NodeId, Tensor},
    op::{Kernel, OpCall, OpError},
    prim::{CoreOp, PrimBuilder},
};

/// The most numbers of a step that are kept on the stack: 256 KiB of `float32`.
const MOST_ROWS: u64 = 1 << 16;

/// Rows of a product that are added up at a time, so that one need not wait for another.
const ROWS: u64 = 4;

/// A function of one number, which has no parameters or their defaults.
fn apply(function: Activation, b: &mut PrimBuilder<'_>, elem: ElemType, x: NodeId) -> NodeId {
    match (function, function.defaults()) {
        (Activation::Sigmoid, _) => sigmoid_of(b, elem, x),
        (Activation::Tanh, _) => b.op(CoreOp::Tanh, &[x]),
        (Activation::HardSigmoid, [Some(alpha), Some(beta)]) => hard_sigmoid_of(b, elem, x, alpha, beta),
        (Activation::Softsign, _) => softsign_of(b, elem, x),
        (Activation::Softplus, _) => softplus_of(b, elem, x),
        _ => {
            let zero = b.num(elem, 0.0);
            above_zero(b, elem, x, zero)
        }
    }
}

/// The functions that [`apply`] knows.
const APPLIED: [Activation; 6] = [
    Activation::Sigmoid,
    Activation::Tanh,
    Activation::Relu,
    Activation::HardSigmoid,
    Activation::Softsign,
    Activation::Softplus,
];

/// The equations of a call.
fn cell_of(call: &OpCall<'_>) -> Result<Cell, OpError> {
    match call.op_name() {
        "RNN" => Ok(Cell::Simple),
        "GRU" if flag(call, "linear_before_reset")? => Ok(Cell::GatedLinear),
        "GRU" => Ok(Cell::Gated),
        "LSTM" if flag(call, "input_forget")? => declined("its input and forget gates depend on each other"),
        "LSTM" => Ok(Cell::LongShortTerm),
        _ => declined("no kernel has that name"),
    }
}

fn n_gates(cell: Cell) -> u64 {
    cell.n_gates() as u64
}

/// The functions of each direction.
fn activations(call: &OpCall<'_>, cell: Cell, n_directions: usize) -> Result<Vec<Activation>, OpError> {
    if call.attrs().get("activation_alpha").is_some() || call.attrs().get("activation_beta").is_some() {
        return declined("its activations have parameters");
    }
    let names = opt_strs(call, "activations")?.unwrap_or_default();
    let functions = cell.activations(&names, n_directions).or_else(declined)?;
    match functions.iter().all(|function| APPLIED.contains(function)) {
        true => Ok(functions),
        false => declined("an activation has no kernel"),
    }
}

/// The memory of a call, and its sizes.
struct Network {
    cell: Cell,
    elem: ElemType,
    is_by_batch: bool,
    n_steps: u64,
    batch: u64,
    n_inputs: u64,
    n_hidden: u64,
    x: NodeId,
    w: NodeId,
    r: NodeId,
    bias: Option<NodeId>,
    /// The state before the first step, of the outputs and of the cells.
    initial: [Option<NodeId>; 2],
    peepholes: Option<NodeId>,
    /// The outputs of all steps, and the states after the last one.
    all: Option<NodeId>,
    last: [Option<NodeId>; 2],
}

/// One direction, in one sequence of the batch.
struct Sequence<'a> {
    direction: NodeId,
    in_batch: NodeId,
    is_reverse: bool,
    activations: &'a [Activation],
    /// The state: outputs and cells.
    h: NodeId,
    c: Option<NodeId>,
    /// A number for each row of the weights.
    gates: NodeId,
    /// For `GRU`, the outputs after the reset, or their part of the new ones.
    reset: Option<NodeId>,
}

/// `RNN`, `GRU` and `LSTM`.
pub fn recurrent(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let network = Network::new(call, kernel)?;
    let orders = named(call, "direction", are_reverse)?;
    network.check_sizes(kernel, orders.len() as u64)?;
    let activations = activations(call, network.cell, orders.len())?;
    let of_one = activations.len() / orders.len();
    if network.batch == 0 || network.n_hidden == 0 {
        return Ok(());
    }
    for ((at, &is_reverse), activations) in orders.iter().enumerate().zip(activations.chunks(of_one)) {
        kernel.each_of_all(&[network.batch], |b, in_batch| {
            let rows = n_gates(network.cell) * network.n_hidden;
            let is_gated = matches!(network.cell, Cell::Gated | Cell::GatedLinear);
            let sequence = Sequence {
                direction: b.index(at as i64),
                in_batch: in_batch[0],
                is_reverse,
                activations,
                h: b.alloc(network.elem, &[network.n_hidden]),
                c: (network.cell == Cell::LongShortTerm).then(|| b.alloc(network.elem, &[network.n_hidden])),
                gates: b.alloc(network.elem, &[rows]),
                reset: is_gated.then(|| b.alloc(network.elem, &[network.n_hidden])),
            };
            network.run(b, &sequence);
        });
    }
    Ok(())
}

impl Network {
    fn new(call: &OpCall<'_>, kernel: &Kernel<'_>) -> Result<Self, OpError> {
        if call.version() < 7 {
            return declined("before version 7 it has other outputs");
        }
        let cell = cell_of(call)?;
        let (x, w, r) = (kernel.needed_input(0)?, kernel.needed_input(1)?, kernel.needed_input(2)?);
        let elem = kernel.elem(x);
        floats(elem)?;
        if is_half(elem) {
            return declined("a sum of its elements loses too much in half precision");
        }
        if call.attrs().get("clip").is_some() {
            return declined("the arguments of its activations are clipped");
        }
        let (&[first, second, n_inputs], &[_, _, n_hidden]) = (&*kernel.sizes(x), &*kernel.sizes(r)) else {
            return Err(OpError::invalid("its data or recurrence weights do not have three axes"));
        };
        let is_by_batch = flag(call, "layout")?;
        let (n_steps, batch) = if is_by_batch { (second, first) } else { (first, second) };
        if n_steps == 0 {
            return declined("it has no steps");
        }
        if n_hidden > MOST_ROWS / n_gates(cell) {
            return declined("its state takes too much of the stack");
        }
        if call.has_arg(4) {
            let are_whole =
                |lens: &Tensor| lens.to_i64s().is_some_and(|lens| lens.iter().all(|&len| len as u64 == n_steps));
            if !call.constant(4).is_some_and(are_whole) {
                return declined("the lengths of its sequences are not known to be the number of steps");
            }
        }
        let (of_cells, peepholes) = match cell {
            Cell::LongShortTerm => (kernel.input(6), kernel.input(7)),
            _ => (None, None),
        };
        let (bias, of_outputs) = (kernel.input(3), kernel.input(5));
        let inputs: Vec<NodeId> =
            [x, w, r].into_iter().chain(bias).chain(of_outputs).chain(of_cells).chain(peepholes).collect();
        same_elem(kernel, &inputs)?;
        Ok(Self {
            cell,
            elem,
            is_by_batch,
            n_steps,
            batch,
            n_inputs,
            n_hidden,
            x,
            w,
            r,
            bias,
            initial: [of_outputs, of_cells],
            peepholes,
            all: kernel.optional_output(0),
            last: [kernel.optional_output(1), kernel.optional_output(2)],
        })
    }

    fn check_sizes(&self, kernel: &Kernel<'_>, n_directions: u64) -> Done {
        let (rows, n) = (n_gates(self.cell) * self.n_hidden, self.n_hidden);
        let state = if self.is_by_batch { [self.batch, n_directions, n] } else { [n_directions, self.batch, n] };
        let wanted: [(Option<NodeId>, &[u64], &str); 6] = [
            (Some(self.w), &[n_directions, rows, self.n_inputs], "weights"),
            (Some(self.r), &[n_directions, rows, n], "recurrence weights"),
            (self.bias, &[n_directions, 2 * rows], "bias"),
            (self.initial[0], &state, "initial outputs"),
            (self.initial[1], &state, "initial cells"),
            (self.peepholes, &[n_directions, 3 * n], "peepholes"),
        ];
        for (memory, sizes, what) in wanted {
            if let Some(given) = memory.map(|memory| kernel.sizes(memory)).filter(|given| given != sizes) {
                return Err(OpError::invalid(format_args!("its {what} have the sizes {given:?}, not {sizes:?}")));
            }
        }
        Ok(())
    }

    /// The place of a state in memory of all directions and sequences.
    fn of_state(&self, s: &Sequence<'_>, i: NodeId) -> [NodeId; 3] {
        if self.is_by_batch { [s.in_batch, s.direction, i] } else { [s.direction, s.in_batch, i] }
    }

    fn states<'s>(&self, s: &'s Sequence<'_>) -> impl Iterator<Item = (usize, NodeId)> + use<'s> {
        [Some(s.h), s.c].into_iter().enumerate().filter_map(|(at, state)| Some((at, state?)))
    }

    fn run(&self, b: &mut PrimBuilder<'_>, s: &Sequence<'_>) {
        for (at, state) in self.states(s) {
            b.over(self.n_hidden, |b, i| {
                let value = match self.initial[at] {
                    Some(initial) => b.load(initial, &self.of_state(s, i)),
                    None => b.num(self.elem, 0.0),
                };
                b.store(state, value, &[i]);
            });
        }
        b.over(self.n_steps, |b, turn| {
            let step = match s.is_reverse {
                true => {
                    let last = b.index(self.n_steps as i64 - 1);
                    b.sub(last, turn)
                }
                false => turn,
            };
            self.step(b, s, step);
            if let Some(all) = self.all {
                b.over(self.n_hidden, |b, i| {
                    let value = b.load(s.h, &[i]);
                    let at = match self.is_by_batch {
                        true => [s.in_batch, step, s.direction, i],
                        false => [step, s.direction, s.in_batch, i],
                    };
                    b.store(all, value, &at);
                });
            }
        });
        for (at, state) in self.states(s) {
            if let Some(last) = self.last[at] {
                b.over(self.n_hidden, |b, i| {
                    let value = b.load(state, &[i]);
                    b.store(last, value, &self.of_state(s, i));
                });
            }
        }
    }

    /// An element of the bias, of the data or of the state.
    fn bias_of(&self, b: &mut PrimBuilder<'_>, s: &Sequence<'_>, row: NodeId, is_of_state: bool) -> Option<NodeId> {
        let bias = self.bias?;
        let rows = (n_gates(self.cell) * self.n_hidden) as i64;
        let at = if is_of_state { b.shifted(row, rows) } else { row };
        Some(b.load(bias, &[s.direction, at]))
    }

    /// Adds the products of rows of weights and a vector, of `len` numbers, to sums.
    fn products<const N: usize>(
        &self,
        b: &mut PrimBuilder<'_>,
        (s, weights, rows): (&Sequence<'_>, NodeId, [NodeId; N]),
        (vector, first, len): (NodeId, &[NodeId], u64),
        sums: [NodeId; N],
    ) -> [NodeId; N] {
        let (zero, extent) = (b.index(0), b.index(len as i64));
        b.fold(zero, extent, sums, |b, k, sums| {
            let value = b.load(vector, &[first, &[k]].concat());
            std::array::from_fn(|at| {
                let weight = b.load(weights, &[s.direction, rows[at], k]);
                let product = b.mul(weight, value);
                b.add(sums[at], product)
            })
        })
    }

    /// Visits `n` rows from one on, several at a time, by one of two functions.
    fn each_rows(
        b: &mut PrimBuilder<'_>,
        n: u64,
        several: impl FnOnce(&mut PrimBuilder<'_>, [NodeId; ROWS as usize]),
        one: impl FnOnce(&mut PrimBuilder<'_>, [NodeId; 1]),
    ) {
        let n_blocks = n / ROWS;
        if n_blocks > 0 {
            b.over(n_blocks, |b, block| {
                let first = b.times(block, ROWS);
                let rows = std::array::from_fn(|at| b.shifted(first, at as i64));
                several(b, rows);
            });
        }
        if !n.is_multiple_of(ROWS) {
            b.over(n % ROWS, |b, at| {
                let row = b.shifted(at, (n_blocks * ROWS) as i64);
                one(b, [row]);
            });
        }
    }

    /// The sums of rows of both weights, by the data of a step and the state.
    fn sums<const N: usize>(
        &self,
        b: &mut PrimBuilder<'_>,
        s: &Sequence<'_>,
        step: NodeId,
        rows: [NodeId; N],
        with_state: bool,
    ) {
        let x = if self.is_by_batch { [s.in_batch, step] } else { [step, s.in_batch] };
        let mut sums = rows.map(|row| {
            let start = self.bias_of(b, s, row, false).unwrap_or_else(|| b.num(self.elem, 0.0));
            match self.bias_of(b, s, row, true).filter(|_| with_state) {
                Some(other) => b.add(start, other),
                None => start,
            }
        });
        sums = self.products(b, (s, self.w, rows), (self.x, &x, self.n_inputs), sums);
        if with_state {
            sums = self.products(b, (s, self.r, rows), (s.h, &[], self.n_hidden), sums);
        }
        for (row, sum) in rows.into_iter().zip(sums) {
            b.store(s.gates, sum, &[row]);
        }
    }

    /// The sums of the last gate's rows of the recurrence weights, for the rows from 0 on.
    fn state_sums<const N: usize>(
        &self,
        b: &mut PrimBuilder<'_>,
        s: &Sequence<'_>,
        vector: NodeId,
        rows: [NodeId; N],
    ) -> [NodeId; N] {
        let of_gate = rows.map(|row| b.shifted(row, 2 * self.n_hidden as i64));
        let start = of_gate.map(|row| self.bias_of(b, s, row, true).unwrap_or_else(|| b.num(self.elem, 0.0)));
        self.products(b, (s, self.r, of_gate), (vector, &[], self.n_hidden), start)
    }

    /// An element of a gate, put through a function.
    fn gate(&self, b: &mut PrimBuilder<'_>, s: &Sequence<'_>, nth: u64, i: NodeId) -> NodeId {
        let at = b.shifted(i, (nth * self.n_hidden) as i64);
        b.load(s.gates, &[at])
    }

    /// One step: the state becomes the next one.
    fn step(&self, b: &mut PrimBuilder<'_>, s: &Sequence<'_>, step: NodeId) {
        let rows = n_gates(self.cell) * self.n_hidden;
        // The last gate of `GRU` takes another part of the state.
        let n_whole = if s.reset.is_some() { rows - self.n_hidden } else { rows };
        Self::each_rows(
            b,
            n_whole,
            |b, rows| self.sums(b, s, step, rows, true),
            |b, rows| self.sums(b, s, step, rows, true),
        );
        match (self.cell, s.activations, s.c, s.reset) {
            (Cell::LongShortTerm, &[f, g, out], Some(c), _) => self.long_short_term(b, s, [f, g, out], c),
            (_, &[f, g], _, Some(reset)) => self.gated(b, s, step, [f, g], reset),
            (_, &[f, ..], ..) => b.over(self.n_hidden, |b, i| {
                let sum = b.load(s.gates, &[i]);
                let value = apply(f, b, self.elem, sum);
                b.store(s.h, value, &[i]);
            }),
            _ => {}
        }
    }

    fn long_short_term(&self, b: &mut PrimBuilder<'_>, s: &Sequence<'_>, [f, g, out]: [Activation; 3], c: NodeId) {
        b.over(self.n_hidden, |b, i| {
            let old = b.load(c, &[i]);
            let gate = |b: &mut PrimBuilder<'_>, nth: u64, peephole: Option<(u64, NodeId)>| {
                let sum = self.gate(b, s, nth, i);
                let Some(((nth, cell), peepholes)) = peephole.zip(self.peepholes) else { return sum };
                let at = b.shifted(i, (nth * self.n_hidden) as i64);
                let weight = b.load(peepholes, &[s.direction, at]);
                let part = b.mul(weight, cell);
                b.add(sum, part)
            };
            let input = gate(b, 0, Some((0, old)));
            let input = apply(f, b, self.elem, input);
            let forget = gate(b, 2, Some((2, old)));
            let forget = apply(f, b, self.elem, forget);
            let new = gate(b, 3, None);
            let new = apply(g, b, self.elem, new);
            let (kept, added) = (b.mul(forget, old), b.mul(input, new));
            let cell = b.add(kept, added);
            b.store(c, cell, &[i]);
            let output = gate(b, 1, Some((1, cell)));
            let output = apply(f, b, self.elem, output);
            let value = apply(out, b, self.elem, cell);
            let value = b.mul(output, value);
            b.store(s.h, value, &[i]);
        });
    }

    fn gated(&self, b: &mut PrimBuilder<'_>, s: &Sequence<'_>, step: NodeId, [f, g]: [Activation; 2], reset: NodeId) {
        let n = self.n_hidden;
        // The part of the data in the new outputs.
        let of_data = |row: NodeId, b: &mut PrimBuilder<'_>| b.shifted(row, 2 * n as i64);
        Self::each_rows(
            b,
            n,
            |b, rows| {
                let rows = rows.map(|row| of_data(row, b));
                self.sums(b, s, step, rows, false);
            },
            |b, rows| {
                let rows = rows.map(|row| of_data(row, b));
                self.sums(b, s, step, rows, false);
            },
        );
        let is_linear = self.cell == Cell::GatedLinear;
        let factor = |b: &mut PrimBuilder<'_>, i: NodeId| {
            let sum = self.gate(b, s, 1, i);
            apply(f, b, self.elem, sum)
        };
        if !is_linear {
            b.over(n, |b, i| {
                let (by, old) = (factor(b, i), b.load(s.h, &[i]));
                let kept = b.mul(by, old);
                b.store(reset, kept, &[i]);
            });
        }
        // The part of the state in them: added to that of the data, or kept until it is multiplied.
        let vector = if is_linear { s.h } else { reset };
        let put = |b: &mut PrimBuilder<'_>, row: NodeId, sum: NodeId| match is_linear {
            true => {
                let by = factor(b, row);
                let part = b.mul(by, sum);
                b.store(reset, part, &[row]);
            }
            false => {
                let at = b.shifted(row, 2 * n as i64);
                let part = b.load(s.gates, &[at]);
                let sum = b.add(part, sum);
                b.store(s.gates, sum, &[at]);
            }
        };
        Self::each_rows(
            b,
            n,
            |b, rows| {
                let sums = self.state_sums(b, s, vector, rows);
                rows.into_iter().zip(sums).for_each(|(row, sum)| put(b, row, sum));
            },
            |b, rows| {
                let sums = self.state_sums(b, s, vector, rows);
                rows.into_iter().zip(sums).for_each(|(row, sum)| put(b, row, sum));
            },
        );
        b.over(n, |b, i| {
            let update = self.gate(b, s, 0, i);
            let update = apply(f, b, self.elem, update);
            let mut new = self.gate(b, s, 2, i);
            if is_linear {
                let part = b.load(reset, &[i]);
                new = b.add(new, part);
            }
            let new = apply(g, b, self.elem, new);
            let (one, old) = (b.num(self.elem, 1.0), b.load(s.h, &[i]));
            let rest = b.sub(one, update);
            let (fresh, kept) = (b.mul(rest, new), b.mul(update, old));
            let value = b.add(fresh, kept);
            b.store(s.h, value, &[i]);
        });
    }
}

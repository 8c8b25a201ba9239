//! Recurrent networks, step by step. Sums are added up in double precision, and every result is rounded once.

use crate::shared::{
    cx::{Eval, bounded_work, flag, int_values, named, not_cancelled, opt_float, opt_int, same_elem, table},
    doubles::{doubles, rounded, volume},
    doubt::{Doubt, Limits},
    shape::checked_len,
};
use relais_operator_math::recurrent::{Activation, Cell, are_reverse};
use relais_plugin_api::{
    ir::{AttrValue, Tensor},
    op::{EvalCx, OpError},
};

table! {
    "RNN" @ 7 => |cx| recurrent(cx, Cell::Simple),
    "GRU" @ 7 => |cx| {
        let is_linear = flag(cx, "linear_before_reset")?;
        recurrent(cx, if is_linear { Cell::GatedLinear } else { Cell::Gated })
    },
    "LSTM" @ 7 => |cx| {
        if flag(cx, "input_forget")? {
            return Err(OpError::unsupported("input and forget gates that depend on each other"));
        }
        recurrent(cx, Cell::LongShortTerm)
    },
}

/// A function with its parameters.
#[derive(Clone, Copy)]
struct Applied {
    function: Activation,
    parameters: [f64; 2],
}

impl Applied {
    fn of(self, x: f64) -> f64 {
        self.function.apply(x, self.parameters)
    }
}

fn floats(cx: &EvalCx<'_>, name: &str) -> Eval<Vec<f64>> {
    match cx.attrs().get(name) {
        None => Ok(Vec::new()),
        Some(AttrValue::Floats(values)) => Ok(values.floats().map(f64::from).collect()),
        Some(_) => Err(OpError::invalid(format_args!("attribute `{name}` must be a list of floats"))),
    }
}

/// The functions of each direction.
fn activations(cx: &EvalCx<'_>, cell: Cell, n_directions: usize) -> Eval<Vec<Applied>> {
    let names: Vec<&[u8]> = match cx.attrs().get("activations") {
        None => Vec::new(),
        Some(AttrValue::Strings(names)) => names.strings().collect(),
        Some(_) => return Err(OpError::invalid("attribute `activations` must be a list of strings")),
    };
    let functions = cell.activations(&names, n_directions).map_err(OpError::invalid)?;
    let alphas = parameters(&floats(cx, "activation_alpha")?, &functions, 0)?;
    let betas = parameters(&floats(cx, "activation_beta")?, &functions, 1)?;
    let all = functions.into_iter().zip(alphas).zip(betas);
    Ok(all.map(|((function, alpha), beta)| Applied { function, parameters: [alpha, beta] }).collect())
}

/// The parameter `nth` of each function. Those that are given are counted by the functions, or by those which have one.
fn parameters(given: &[f64], functions: &[Activation], nth: usize) -> Eval<Vec<f64>> {
    let mut values = Vec::with_capacity(functions.len());
    let mut n_used = 0;
    for (at, function) in functions.iter().enumerate() {
        let Some(default) = function.defaults()[nth] else {
            values.push(0.0);
            continue;
        };
        let value = given.get(n_used).copied();
        if value != given.get(at).copied() {
            return Err(OpError::unsupported("parameters of activations that may be counted differently"));
        }
        let value = value.unwrap_or(default);
        if value.is_nan() {
            return Err(OpError::unsupported("a parameter of an activation without a default"));
        }
        values.push(value);
        n_used += 1;
    }
    Ok(values)
}

/// The sizes of a call, and what is common to all directions.
struct Network<'a> {
    cell: Cell,
    n_steps: usize,
    batch: usize,
    n_inputs: usize,
    n_hidden: usize,
    /// The data, by steps, then by the batch.
    x: &'a [f64],
    clip: f64,
    limits: Limits,
    doubt: &'a Doubt,
}

/// The parameters of one direction.
struct Direction<'a> {
    is_reverse: bool,
    activations: &'a [Applied],
    w: &'a [f64],
    r: &'a [f64],
    /// The bias of the data and that of the recurrence.
    b: &'a [f64],
    /// The peepholes.
    p: &'a [f64],
    h: Vec<f64>,
    c: Vec<f64>,
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

impl Network<'_> {
    /// The function of an argument, which is clipped before.
    fn activate(&self, activation: Applied, x: f64) -> f64 {
        self.doubt.note(!self.limits.is_within(x.abs(), false));
        activation.of(x.clamp(-self.clip, self.clip))
    }

    /// Takes all steps, and gives each of their outputs to `store`, with its step and its place in the batch.
    fn run(&self, cx: &EvalCx<'_>, d: &mut Direction<'_>, store: &mut dyn FnMut(usize, usize, &[f64])) -> Eval<()> {
        let n = self.n_hidden;
        for i in 0..self.n_steps {
            not_cancelled(cx)?;
            let step = if d.is_reverse { self.n_steps - 1 - i } else { i };
            for at in 0..self.batch {
                let x = &self.x[(step * self.batch + at) * self.n_inputs..][..self.n_inputs];
                let mut h = d.h[at * n..][..n].to_vec();
                let mut c = d.c[at * n..][..n].to_vec();
                self.step(d, x, &mut h, &mut c);
                store(step, at, &h);
                d.h[at * n..][..n].copy_from_slice(&h);
                d.c[at * n..][..n].copy_from_slice(&c);
            }
        }
        Ok(())
    }

    /// One step of one sequence.
    fn step(&self, d: &Direction<'_>, x: &[f64], h: &mut [f64], c: &mut [f64]) {
        let n = self.n_hidden;
        let n_rows = self.cell.n_gates() * n;
        let of_data = |row: usize| dot(&d.w[row * self.n_inputs..][..self.n_inputs], x) + d.b[row];
        let of_state = |row: usize, h: &[f64]| dot(&d.r[row * n..][..n], h) + d.b[n_rows + row];
        let gates: Vec<f64> = (0..n_rows).map(of_data).collect();
        let old = h.to_vec();
        match (self.cell, d.activations) {
            (Cell::Simple, &[f, ..]) => {
                for (i, h) in h.iter_mut().enumerate() {
                    *h = self.activate(f, gates[i] + of_state(i, &old));
                }
            }
            (Cell::Gated | Cell::GatedLinear, &[f, g, ..]) => {
                let reset = |i: usize| self.activate(f, gates[n + i] + of_state(n + i, &old));
                let reset: Vec<f64> = (0..n).map(reset).collect();
                let kept: Vec<f64> = reset.iter().zip(&old).map(|(r, h)| r * h).collect();
                for (i, h) in h.iter_mut().enumerate() {
                    let update = self.activate(f, gates[i] + of_state(i, &old));
                    let state = match self.cell {
                        Cell::GatedLinear => reset[i] * of_state(2 * n + i, &old),
                        _ => of_state(2 * n + i, &kept),
                    };
                    let new = self.activate(g, gates[2 * n + i] + state);
                    *h = (1.0 - update) * new + update * *h;
                }
            }
            (Cell::LongShortTerm, &[f, g, out, ..]) => {
                for (i, (h, c)) in h.iter_mut().zip(c).enumerate() {
                    let gate = |nth: usize| gates[nth * n + i] + of_state(nth * n + i, &old);
                    let input = self.activate(f, gate(0) + d.p[i] * *c);
                    let forget = self.activate(f, gate(2) + d.p[2 * n + i] * *c);
                    *c = forget * *c + input * self.activate(g, gate(3));
                    *h = self.activate(f, gate(1) + d.p[n + i] * *c) * self.activate(out, *c);
                }
            }
            _ => {}
        }
    }
}

/// The elements of an optional argument, or zeros.
fn argument(cx: &EvalCx<'_>, index: usize, dims: &[u64]) -> Eval<Vec<f64>> {
    let Some(tensor) = cx.input(index) else { return Ok(vec![0.0; checked_len(cx, cx.require(0)?.elem(), dims)?]) };
    same_elem(cx.require(0)?, tensor)?;
    if tensor.dims() != dims {
        let message = format_args!("input {index} must have the shape {dims:?}, not {:?}", tensor.dims());
        return Err(OpError::invalid(message));
    }
    doubles(cx, tensor)
}

/// Exchanges the first two axes, of sizes `rows` and `columns`, of blocks of values.
fn exchanged(values: &[f64], [rows, columns, block]: [usize; 3]) -> Vec<f64> {
    let mut out = Vec::with_capacity(values.len());
    for column in 0..columns {
        for row in 0..rows {
            out.extend_from_slice(&values[(row * columns + column) * block..][..block]);
        }
    }
    out
}

/// Every output, the last ones, and of a long short-term memory the last state of the cells.
fn recurrent(cx: &EvalCx<'_>, cell: Cell) -> Eval<Vec<Tensor>> {
    let data = cx.require(0)?;
    let (elem, limits) = (data.elem(), Limits::of_elem(data.elem())?);
    let by_batch = flag(cx, "layout")?;
    let are_reverse = named(cx, "direction", are_reverse)?;
    let (&[first, second, n_inputs], &[_, _, n_hidden]) = (data.dims(), cx.require(2)?.dims()) else {
        return Err(OpError::invalid("the data and the recurrence weights must have rank 3"));
    };
    let (n_steps, batch) = if by_batch { (second, first) } else { (first, second) };
    if opt_int(cx, "hidden_size")?.is_some_and(|size| u64::try_from(size) != Ok(n_hidden)) {
        return Err(OpError::invalid("attribute `hidden_size` is not that of the recurrence weights"));
    }
    let (n_directions, n_gates) = (are_reverse.len(), cell.n_gates());
    let directions = n_directions as u64;
    let n_rows = volume(&[n_gates as u64, n_hidden])? as u64;
    // Sums of no terms take a step, too.
    bounded_work(cx, [n_steps, batch, directions, n_rows, n_inputs.saturating_add(n_hidden).saturating_add(1)])?;
    let out_dims =
        if by_batch { [batch, n_steps, directions, n_hidden] } else { [n_steps, directions, batch, n_hidden] };
    let last_dims = if by_batch { [batch, directions, n_hidden] } else { [directions, batch, n_hidden] };
    let n_out = checked_len(cx, elem, &out_dims)?;
    checked_len(cx, elem, &last_dims)?;
    if n_out == 0 {
        return Err(OpError::unsupported("sequences without elements"));
    }
    if let Some(lens) = cx.input(4) {
        let lens = int_values(cx, lens, "the lengths of sequences")?;
        if lens.len() as u64 != batch || lens.iter().any(|&len| len < 0 || len as u64 > n_steps) {
            return Err(OpError::invalid(format_args!("the lengths of sequences are {lens:?}")));
        }
        if lens.iter().any(|&len| len as u64 != n_steps) {
            return Err(OpError::unsupported("sequences of different lengths"));
        }
    }
    let w = argument(cx, 1, &[directions, n_rows, n_inputs])?;
    let r = argument(cx, 2, &[directions, n_rows, n_hidden])?;
    let b = argument(cx, 3, &[directions, n_rows.saturating_mul(2)])?;
    let [n_steps, batch, n_inputs, n_hidden] = [n_steps, batch, n_inputs, n_hidden].map(|size| size as usize);
    let sizes = [batch, n_directions, n_hidden];
    let state = |index: usize| match argument(cx, index, &last_dims) {
        Ok(values) if by_batch => Ok(exchanged(&values, sizes)),
        values => values,
    };
    let h = state(5)?;
    let (c, p) = match cell {
        Cell::LongShortTerm => (state(6)?, argument(cx, 7, &[directions, 3 * n_hidden as u64])?),
        _ => (vec![0.0; h.len()], Vec::new()),
    };
    let x = match doubles(cx, data)? {
        x if by_batch => exchanged(&x, [batch, n_steps, n_inputs]),
        x => x,
    };
    let clip = match opt_float(cx, "clip")? {
        // Some do not clip the state of a cell before its function is applied.
        Some(_) if cell == Cell::LongShortTerm => {
            return Err(OpError::unsupported("arguments of activations that are clipped"));
        }
        Some(clip) if clip > 0.0 => f64::from(clip),
        Some(_) => return Err(OpError::unsupported("attribute `clip` is not positive")),
        None => f64::INFINITY,
    };
    let activations = activations(cx, cell, n_directions)?;
    let doubt = Doubt::default();
    let network = Network { cell, n_steps, batch, n_inputs, n_hidden, x: &x, clip, limits, doubt: &doubt };
    let (mut all, mut last_h, mut last_c) = (vec![0.0; n_out], Vec::new(), Vec::new());
    /// The part of a list that is that of one direction.
    fn part(values: &[f64], at: usize, n_parts: usize) -> &[f64] {
        let size = values.len() / n_parts;
        &values[at * size..][..size]
    }
    for (at, &is_reverse) in are_reverse.iter().enumerate() {
        let part = |values| part(values, at, n_directions);
        let mut direction = Direction {
            is_reverse,
            activations: &activations[at * activations.len() / n_directions..],
            w: part(&w),
            r: part(&r),
            b: part(&b),
            p: part(&p),
            h: part(&h).to_vec(),
            c: part(&c).to_vec(),
        };
        network.run(cx, &mut direction, &mut |step, in_batch, h| {
            let place = match by_batch {
                true => (in_batch * n_steps + step) * n_directions + at,
                false => (step * n_directions + at) * batch + in_batch,
            };
            all[place * n_hidden..][..n_hidden].copy_from_slice(h);
        })?;
        last_h.append(&mut direction.h);
        last_c.append(&mut direction.c);
    }
    if by_batch {
        last_h = exchanged(&last_h, [n_directions, batch, n_hidden]);
        last_c = exchanged(&last_c, [n_directions, batch, n_hidden]);
    }
    let mut results = vec![rounded(elem, &out_dims, &all)?, rounded(elem, &last_dims, &last_h)?];
    if cell == Cell::LongShortTerm {
        results.push(rounded(elem, &last_dims, &last_c)?);
    }
    doubt.settle(cx, Ok(results), "accumulators of the element type may overflow")
}

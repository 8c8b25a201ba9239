//! Matrix products.

use super::{
    Done, Terms, conv::add_product, declined, flag, float, is_half, numbers, same_elem, spread::Spread, viewed, volume,
    wide,
};
use relais_plugin_api::{
    ir::{ElemType, NodeId},
    op::{Kernel, OpCall, OpError},
    prim::PrimBuilder,
};

/// A product of matrices.
struct Product {
    elem: ElemType,
    /// The loops over matrices, by which those of the factors are found.
    spread: Spread,
    a: NodeId,
    b: NodeId,
    y: NodeId,
    /// Rows of the result, elements of a sum, columns of the result.
    m: u64,
    k: u64,
    n: u64,
    /// Whether the rows of a factor are its columns.
    turned: (bool, bool),
    alpha: f64,
}

/// Gives the number that is added to the sum in a row and column.
type Added<'f> = &'f dyn Fn(&mut PrimBuilder<'_>, NodeId, NodeId) -> NodeId;

impl Product {
    /// Computes the product plus other numbers. Rows are added up where those of the second factor are next to each
    /// other, else each sum is carried.
    fn make(&self, b: &mut PrimBuilder<'_>, added: Option<Added<'_>>) {
        let Self { m, k, n, .. } = *self;
        let (in_a, in_b) = (if self.turned.0 { [k, m] } else { [m, k] }, if self.turned.1 { [n, k] } else { [k, n] });
        let batch = self.spread.sizes.clone();
        let (x, w) = (viewed(b, self.a, &self.spread.shape(0, &in_a)), viewed(b, self.b, &self.spread.shape(1, &in_b)));
        let y = viewed(b, self.y, &[&batch[..], &[m, n]].concat());
        b.over_all(&[&batch[..], &[m]].concat(), |b, at| {
            let (turn, row) = at.split_at(batch.len());
            let row = row[0];
            let of_x = |k: NodeId| self.spread.at(0, turn, &if self.turned.0 { [k, row] } else { [row, k] });
            let of_w =
                |k: NodeId, col: NodeId| self.spread.at(1, turn, &if self.turned.1 { [col, k] } else { [k, col] });
            let of_y = |col: NodeId| [turn, &[row, col]].concat();
            if self.turned.1 || n == 1 || is_half(self.elem) {
                b.over(n, |b, col| {
                    let zero = b.num(wide(self.elem), 0.0);
                    let [mut sum] = b.fold_all(&[k], [zero], |b, k, [sum]| {
                        let (left, right) = (b.load(x, &of_x(k[0])), b.load(w, &of_w(k[0], col)));
                        let (left, right) = (b.cast(left, wide(self.elem)), b.cast(right, wide(self.elem)));
                        let product = b.mul(left, right);
                        [b.add(sum, product)]
                    });
                    if self.alpha != 1.0 {
                        let alpha = b.num(wide(self.elem), self.alpha);
                        sum = b.mul(alpha, sum);
                    }
                    if let Some(added) = added {
                        let other = added(b, row, col);
                        let other = b.cast(other, wide(self.elem));
                        sum = b.add(sum, other);
                    }
                    let sum = b.cast(sum, self.elem);
                    b.store(y, sum, &of_y(col));
                });
                return;
            }
            b.over(n, |b, col| {
                let start = match added {
                    Some(added) => added(b, row, col),
                    None => b.num(self.elem, 0.0),
                };
                b.store(y, start, &of_y(col));
            });
            b.over(k, |b, k| {
                let mut left = b.load(x, &of_x(k));
                if self.alpha != 1.0 {
                    let alpha = b.num(self.elem, self.alpha);
                    left = b.mul(alpha, left);
                }
                b.over(n, |b, col| add_product(b, (y, &of_y(col)), left, (w, &of_w(k, col))));
            });
        });
    }
}

/// `MatMul`.
pub fn mat_mul(_: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let (a, b, y) = (kernel.needed_input(0)?, kernel.needed_input(1)?, kernel.output(0));
    let elem = same_elem(kernel, &[a, b])?;
    numbers(elem)?;
    let (of_a, of_b, of_y) = (kernel.sizes(a), kernel.sizes(b), kernel.sizes(y));
    let (batch_a, [mut m, k]) = match of_a.as_slice() {
        [] => return declined("a factor is a scalar"),
        [k] => (&[][..], [1, *k]),
        [batch @ .., m, k] => (batch, [*m, *k]),
    };
    let (batch_b, [rows, n]) = match of_b.as_slice() {
        [] => return declined("a factor is a scalar"),
        [k] => (&[][..], [*k, 1]),
        [batch @ .., k, n] => (batch, [*k, *n]),
    };
    if rows != k {
        return Err(OpError::invalid("the columns of the first factor are not as many as the rows of the second one"));
    }
    if volume(&of_y) == 0 {
        return Ok(());
    }
    let is_vector = (of_a.len() == 1, of_b.len() == 1);
    let mut batch = &of_y[..of_y.len() - usize::from(!is_vector.0) - usize::from(!is_vector.1)];
    let mut in_a = batch_a;
    if volume(batch_b) == 1 && batch_a.len() == batch.len() {
        // All rows are those of one matrix.
        m *= volume(batch_a);
        (batch, in_a) = (&[], &[]);
    }
    let in_b = if batch.is_empty() { &[] } else { batch_b };
    let spread = Spread::new(batch, &[in_a, in_b])?;
    Product { elem, spread, a, b, y, m, k, n, turned: (false, false), alpha: 1.0 }.make(kernel, None);
    Ok(())
}

/// `Gemm`, whose third argument has the shape of the result before version 7.
pub fn gemm(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let (a, b, y) = (kernel.needed_input(0)?, kernel.needed_input(1)?, kernel.output(0));
    let turned = (flag(call, "transA", false), flag(call, "transB", false));
    let (alpha, beta) = (float(call, "alpha", 1.0), float(call, "beta", 1.0));
    let c = kernel.input(2).filter(|_| beta != 0.0);
    let inputs: Vec<NodeId> = [a, b].into_iter().chain(c).collect();
    let elem = same_elem(kernel, &inputs)?;
    numbers(elem)?;
    if !elem.is_float() && (alpha, beta) != (1.0, 1.0) {
        return declined("integers are scaled");
    }
    let (&[rows, cols], &[m, n]) = (&kernel.sizes(a)[..], &kernel.sizes(y)[..]) else {
        return declined("its arguments are not matrices");
    };
    let k = if turned.0 { rows } else { cols };
    if (if turned.0 { cols } else { rows }) != m || kernel.sizes(b) != if turned.1 { [n, k] } else { [k, n] } {
        return Err(OpError::invalid("its factors do not fit each other"));
    }
    let spread = Spread::new(&[], &[&[], &[]])?;
    let product = Product { elem, spread, a, b, y, m, k, n, turned, alpha };
    let Some(c) = c else {
        product.make(kernel, None);
        return Ok(());
    };
    let of_c = kernel.sizes(c);
    if call.version() < 7 && of_c != [m, n] {
        return declined("before version 7, its third argument is broadcast by an attribute");
    }
    let (rows, cols) = match of_c.as_slice() {
        [] => (1, 1),
        [cols] => (1, *cols),
        [rows, cols] => (*rows, *cols),
        _ => return declined("its third argument is not a matrix"),
    };
    if rows != 1 && rows != m || cols != 1 && cols != n {
        return Err(OpError::invalid("its third argument is not broadcast to its result"));
    }
    let c = viewed(kernel, c, &[rows, cols]);
    product.make(
        kernel,
        Some(&|b, row, col| {
            let zero = b.index(0);
            let at = [if rows == 1 { zero } else { row }, if cols == 1 { zero } else { col }];
            let value = b.load(c, &at);
            if beta == 1.0 {
                return value;
            }
            let beta = b.num(elem, beta);
            b.mul(beta, value)
        }),
    );
    Ok(())
}

/// The labels of an equation: those of each argument, and those of the result.
fn labels(equation: &str) -> Result<(Vec<Vec<char>>, Vec<char>), OpError> {
    let equation: String = equation.chars().filter(|c| !c.is_whitespace()).collect();
    let (left, right) = equation.split_once("->").map_or((&*equation, None), |(left, right)| (left, Some(right)));
    if !left.chars().chain(right.unwrap_or("").chars()).all(|c| c.is_ascii_alphabetic() || c == ',') {
        return declined("its equation has more than labels");
    }
    let given: Vec<Vec<char>> = left.split(',').map(|term| term.chars().collect()).collect();
    let made = match right {
        Some(right) => right.chars().collect(),
        None => {
            let is_alone = |label: &char| left.chars().filter(|c| c == label).count() == 1;
            let mut alone: Vec<char> = left.chars().filter(|c| *c != ',').filter(is_alone).collect();
            alone.sort_unstable();
            alone
        }
    };
    Ok((given, made))
}

/// `Einsum` without an ellipsis.
pub fn einsum(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let y = kernel.output(0);
    let (given, made) = labels(call.attrs().str("equation").unwrap_or(""))?;
    let inputs = (0..call.n_args()).map(|at| kernel.needed_input(at)).collect::<Result<Vec<_>, _>>()?;
    let elem = same_elem(kernel, &inputs)?;
    numbers(elem)?;
    if given.len() != inputs.len() {
        return Err(OpError::invalid("its equation has not a term for each argument"));
    }
    // The loops over the labels of the result, then over those that are summed.
    let mut loops: Vec<(char, u64)> = made.iter().copied().zip(kernel.sizes(y)).collect();
    let n_made = loops.len();
    for (labels, &input) in given.iter().zip(&inputs) {
        let sizes = kernel.sizes(input);
        if labels.len() != sizes.len() {
            return Err(OpError::invalid("a term has not a label for each axis"));
        }
        for (&label, size) in labels.iter().zip(sizes) {
            match loops.iter().find(|(other, _)| *other == label) {
                Some(&(_, other)) if other != size => return declined("an axis is broadcast to another one"),
                Some(_) => {}
                None => loops.push((label, size)),
            }
        }
    }
    let is_known = |label: &char| given.iter().any(|labels| labels.contains(label));
    let is_repeated = |(at, label): (usize, &char)| made[..at].contains(label);
    if made.len() != kernel.sizes(y).len() || !made.iter().all(is_known) || made.iter().enumerate().any(is_repeated) {
        return declined("its result has other labels than its arguments");
    }
    let sizes: Vec<u64> = loops.iter().map(|&(_, size)| size).collect();
    kernel.over_all(&sizes[..n_made], |b, outer| {
        let zero = b.num(wide(elem), 0.0);
        let [sum] = b.fold_all(&sizes[n_made..], [zero], |b, inner, [sum]| {
            let turn = [outer, inner].concat();
            let mut product = None;
            for (labels, &input) in given.iter().zip(&inputs) {
                let place = |label: &char| loops.iter().position(|(other, _)| other == label).map(|at| turn[at]);
                let at: Vec<NodeId> = labels.iter().filter_map(place).collect();
                let value = b.load(input, &at);
                let value = b.cast(value, wide(elem));
                product = Some(product.map_or(value, |product| b.mul(product, value)));
            }
            [product.map_or(sum, |product| b.add(sum, product))]
        });
        let sum = b.cast(sum, elem);
        b.store(y, sum, outer);
    });
    Ok(())
}

//! Matrix products.

use super::shared::{
    BLOCK, Done, declined, is_half, numbers, plus_products, same_elem, spread::Spread, terms::Terms, viewed, volume,
    wide,
};
use crate::calls::{flag, float};
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
    transposed: (bool, bool),
    alpha: f64,
    /// The type that is added up, and the numbers of it that are subtracted from the elements of the factors.
    within: ElemType,
    zeros: [Option<NodeId>; 2],
}

/// Gives the number that is added to the sum in a row and column.
type Added<'f> = &'f dyn Fn(&mut PrimBuilder<'_>, NodeId, NodeId) -> NodeId;

/// The memory of a product as it is seen, and the loops around a row.
struct Row<'a> {
    x: NodeId,
    w: NodeId,
    y: NodeId,
    turn: &'a [NodeId],
    row: NodeId,
}

/// How many sums are carried at a time, so that one need not wait for another.
const SUMS: u64 = 8;

/// The most columns of a result whose sums are carried however its factors are stored: rows this short gain nothing by vectors.
const NARROW: u64 = 4;

/// The products that are added to an element of a row at once. Gcc writes out a loop over 6 or 8 elements before it looks for
/// vectors, and finds slow ones then, unless the body of the loop is long.
fn block(n: u64) -> u64 {
    if matches!(n, 6 | SUMS) { 2 * BLOCK } else { BLOCK }
}

impl Product {
    /// Computes the product plus other numbers. Rows are added up where those of the second factor are next to each
    /// other, else sums are carried.
    fn make(&self, b: &mut PrimBuilder<'_>, added: Option<Added<'_>>) {
        let Self { m, k, n, transposed, .. } = *self;
        let (in_a, in_b) = (if transposed.0 { [k, m] } else { [m, k] }, if transposed.1 { [n, k] } else { [k, n] });
        let batch = self.spread.sizes.clone();
        let x = viewed(b, self.a, &self.spread.shape(0, &in_a));
        let w = viewed(b, self.b, &self.spread.shape(1, &in_b));
        let y = viewed(b, self.y, &[&batch[..], &[m, n]].concat());
        b.each_of_all(&[&batch[..], &[m]].concat(), |b, at| {
            let (turn, row) = at.split_at(batch.len());
            let row = Row { x, w, y, turn, row: row[0] };
            if !(transposed.1 || n <= NARROW || is_half(self.elem)) {
                return self.add_rows(b, &row, added);
            }
            let n_blocks = n / SUMS;
            if n_blocks > 0 {
                b.over(n_blocks, |b, block| {
                    let first = b.times(block, SUMS);
                    let columns = std::array::from_fn::<_, { SUMS as usize }, _>(|at| b.shifted(first, at as i64));
                    self.carry_sums(b, &row, columns, added);
                });
            }
            if n % SUMS > 0 {
                b.over(n % SUMS, |b, at| {
                    let column = b.shifted(at, (n_blocks * SUMS) as i64);
                    self.carry_sums(b, &row, [column], added);
                });
            }
        });
    }

    /// The indices of an element of the first factor.
    fn left(&self, row: &Row<'_>, k: NodeId) -> Vec<NodeId> {
        self.spread.at(0, row.turn, &if self.transposed.0 { [k, row.row] } else { [row.row, k] })
    }

    /// The indices of an element of the second factor.
    fn right(&self, row: &Row<'_>, k: NodeId, column: NodeId) -> Vec<NodeId> {
        self.spread.at(1, row.turn, &if self.transposed.1 { [column, k] } else { [k, column] })
    }

    /// An element of a factor.
    fn factor(&self, b: &mut PrimBuilder<'_>, factor: usize, memory: NodeId, at: &[NodeId]) -> NodeId {
        let value = b.load(memory, at);
        let value = b.cast(value, self.within);
        match self.zeros[factor] {
            Some(zero) => b.sub(value, zero),
            None => value,
        }
    }

    /// Adds multiples of the second factor's rows to a row.
    fn add_rows(&self, b: &mut PrimBuilder<'_>, row: &Row<'_>, added: Option<Added<'_>>) {
        let of_y = |column: NodeId| [row.turn, &[row.row, column]].concat();
        let start = |b: &mut PrimBuilder<'_>, column: NodeId| match added {
            Some(added) => added(b, row.row, column),
            None => b.num(self.elem, 0.0),
        };
        let block = block(self.n);
        let is_one_block = (1..=block).contains(&self.k);
        if !is_one_block {
            b.over(self.n, |b, column| {
                let start = start(b, column);
                b.store(row.y, start, &of_y(column));
            });
        }
        b.in_blocks(self.k, block, |b, ks| {
            let mut left = |&k: &NodeId| {
                let left = self.factor(b, 0, row.x, &self.left(row, k));
                if self.alpha == 1.0 {
                    return left;
                }
                let alpha = b.num(self.elem, self.alpha);
                b.mul(alpha, left)
            };
            let lefts: Vec<NodeId> = ks.iter().map(&mut left).collect();
            b.over(self.n, |b, column| {
                let right = |&k: &NodeId| self.factor(b, 1, row.w, &self.right(row, k, column));
                let rights: Vec<NodeId> = ks.iter().map(right).collect();
                let sum = if is_one_block { start(b, column) } else { b.load(row.y, &of_y(column)) };
                let sum = plus_products(b, sum, &lefts, &rights);
                b.store(row.y, sum, &of_y(column));
            });
        });
    }

    /// Computes some columns of a row, in half precision with sums of single precision.
    fn carry_sums<const N: usize>(
        &self,
        b: &mut PrimBuilder<'_>,
        row: &Row<'_>,
        columns: [NodeId; N],
        added: Option<Added<'_>>,
    ) {
        let within = self.within;
        let zero = b.num(within, 0.0);
        let sums = b.fold_all(&[self.k], [zero; N], |b, k, mut sums| {
            let left = self.factor(b, 0, row.x, &self.left(row, k[0]));
            for (sum, column) in sums.iter_mut().zip(columns) {
                let right = self.factor(b, 1, row.w, &self.right(row, k[0], column));
                let product = b.mul(left, right);
                *sum = b.add(*sum, product);
            }
            sums
        });
        for (mut sum, column) in sums.into_iter().zip(columns) {
            if self.alpha != 1.0 {
                let alpha = b.num(within, self.alpha);
                sum = b.mul(alpha, sum);
            }
            if let Some(added) = added {
                let other = added(b, row.row, column);
                let other = b.cast(other, within);
                sum = b.add(sum, other);
            }
            let sum = b.cast(sum, self.elem);
            b.store(row.y, sum, &[row.turn, &[row.row, column]].concat());
        }
    }
}

/// `MatMul`.
pub fn mat_mul(_: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let elem = same_elem(kernel, &[kernel.needed_input(0)?, kernel.needed_input(1)?])?;
    numbers(elem)?;
    products(kernel, elem, wide(elem), [None, None])
}

/// `MatMulInteger` with one zero point for each factor.
pub fn mat_mul_integer(_: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let zeros = zero_points(kernel, 2)?;
    products(kernel, ElemType::INT32, ElemType::INT32, zeros)
}

/// The zero points of two factors, from an argument on, as `int32`; `None` for one that is absent.
pub fn zero_points(kernel: &mut Kernel<'_>, first: usize) -> Result<[Option<NodeId>; 2], OpError> {
    let mut zeros = [None; 2];
    for (at, zero) in zeros.iter_mut().enumerate() {
        let Some(memory) = kernel.input(first + at) else { continue };
        if volume(&kernel.sizes(memory)) != 1 {
            return declined("a factor has several zero points");
        }
        let memory = viewed(kernel, memory, &[]);
        let value = kernel.load(memory, &[]);
        *zero = Some(kernel.cast(value, ElemType::INT32));
    }
    Ok(zeros)
}

/// The products of all matrices of two tensors.
fn products(kernel: &mut Kernel<'_>, elem: ElemType, within: ElemType, zeros: [Option<NodeId>; 2]) -> Done {
    let (a, b, y) = (kernel.needed_input(0)?, kernel.needed_input(1)?, kernel.output(0));
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
    Product { elem, spread, a, b, y, m, k, n, transposed: (false, false), alpha: 1.0, within, zeros }
        .make(kernel, None);
    Ok(())
}

/// `Gemm`, whose third argument has the shape of the result before version 7.
pub fn gemm(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let (a, b, y) = (kernel.needed_input(0)?, kernel.needed_input(1)?, kernel.output(0));
    let transposed = (flag(call, "transA")?, flag(call, "transB")?);
    let (alpha, beta) = (float(call, "alpha")?, float(call, "beta")?);
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
    let k = if transposed.0 { rows } else { cols };
    if (if transposed.0 { cols } else { rows }) != m || kernel.sizes(b) != if transposed.1 { [n, k] } else { [k, n] } {
        return Err(OpError::invalid("its factors do not fit each other"));
    }
    let spread = Spread::new(&[], &[&[], &[]])?;
    let product =
        Product { elem, spread, a, b, y, m, k, n, transposed, alpha, within: wide(elem), zeros: [None, None] };
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

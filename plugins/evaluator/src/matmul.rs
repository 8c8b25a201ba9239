//! Matrix products. Of integers they are exact and wrap around; of floats they are added up in double precision and
//! rounded once, as ONNX leaves the order, and so the last digit, to the implementation. Where accumulators of the
//! element's own type might overflow or underflow, or a sum is a zero whose sign depends on where it began, nothing is
//! evaluated.

use crate::{
    quantize::{Requantize, scalar_scale},
    shared::{
        cx::{Eval, bounded_work, flag, float, readable, same_elem, table, tensor_error},
        doubles::doubles,
        doubt::{ACCUMULATORS_DIFFER, ZERO_OF_EITHER_SIGN, is_within, refuse},
        elementwise::{any, uniform_value, zip},
        scalar::{Float, Number, Scalar, dispatch},
        shape::{Walk, broadcast, broadcast_strides, checked_len, sizes, with_room},
    },
};
use relais_plugin_api::{
    ir::{ElemType, Tensor},
    op::{EvalCx, OpError},
};

table! {
    "MatMul" @ 1 => matmul,
    "MatMulInteger" @ 10 => matmul_integer,
    "QLinearMatMul" @ 10 => qlinear_matmul,
    "Gemm" @ 1 => gemm,
}

/// Element types that add up in another.
trait Product: Number {
    /// The type of the sum.
    type Sum: Copy;
    const START: Self::Sum;
    fn add_product(sum: Self::Sum, a: Self, b: Self) -> Self::Sum;
    fn finish(sum: Self::Sum) -> Self;
}

macro_rules! product {
    ($($type:ty),* => wrapping) => {
        $(impl Product for $type {
            type Sum = Self;
            const START: Self = 0;

            fn add_product(sum: Self, a: Self, b: Self) -> Self {
                sum.wrapping_add(a.wrapping_mul(b))
            }

            fn finish(sum: Self) -> Self {
                sum
            }
        })*
    };
    ($($type:ty),* => double) => {
        $(impl Product for $type {
            type Sum = f64;
            const START: f64 = 0.0;

            fn add_product(sum: f64, a: Self, b: Self) -> f64 {
                sum + Number::to_f64(a) * Number::to_f64(b)
            }

            fn finish(sum: f64) -> Self {
                Self::rounded(sum)
            }
        })*
    };
}

product!(i8, i16, i32, i64, u8, u16, u32, u64 => wrapping);
product!(f32, f64, half::f16, half::bf16 => double);

/// Two stacks of matrices, as rows, columns and strides of each.
struct Matrices {
    dims: Vec<u64>,
    batch: Vec<u64>,
    m: usize,
    k: usize,
    n: usize,
    a_batch: Vec<isize>,
    b_batch: Vec<isize>,
}

impl Matrices {
    fn new(cx: &EvalCx<'_>, a: &Tensor, b: &Tensor) -> Eval<Self> {
        readable(cx, a)?;
        readable(cx, b)?;
        // A vector is a matrix of one row, or of one column, which the result does not have.
        let a_dims = if let &[k] = a.dims() { vec![1, k] } else { a.dims().to_vec() };
        let b_dims = if let &[k] = b.dims() { vec![k, 1] } else { b.dims().to_vec() };
        let ([a_batch @ .., m, k], [b_batch @ .., b_k, n]) = (&a_dims[..], &b_dims[..]) else {
            return Err(OpError::invalid("an argument is a scalar"));
        };
        if k != b_k {
            return Err(OpError::invalid(format_args!("shapes {:?} and {:?} do not multiply", a.dims(), b.dims())));
        }
        let batch = broadcast(&[a_batch, b_batch])?;
        let mut dims = batch.clone();
        dims.extend((a.dims().len() > 1).then_some(*m));
        dims.extend((b.dims().len() > 1).then_some(*n));
        bounded_work(cx, dims.iter().chain([k]).copied())?;
        let scaled = |strides: Vec<isize>, by: u64| strides.into_iter().map(|s| s.wrapping_mul(by as isize)).collect();
        Ok(Self {
            a_batch: scaled(broadcast_strides(a_batch, &batch)?, m.wrapping_mul(*k)),
            b_batch: scaled(broadcast_strides(b_batch, &batch)?, k.wrapping_mul(*n)),
            dims,
            batch,
            m: sizes(&[*m])?[0],
            k: sizes(&[*k])?[0],
            n: sizes(&[*n])?[0],
        })
    }

    /// The products of elements that `read_a` and `read_b` return by their places.
    fn multiply<T: Product>(&self, cx: &EvalCx<'_>, read_a: impl Fn(usize) -> T, read_b: impl Fn(usize) -> T) -> Eval {
        let len = checked_len(cx, T::ELEM, &self.dims)?;
        let mut out = with_room(len)?;
        if len > 0 {
            for [a, b] in Walk::new(&sizes(&self.batch)?, [&self.a_batch, &self.b_batch]) {
                let (a, b) = (a as usize, b as usize);
                let mut row = vec![T::START; self.n];
                for i in 0..self.m {
                    row.fill(T::START);
                    for k in 0..self.k {
                        let x = read_a(a + i * self.k + k);
                        for (j, sum) in row.iter_mut().enumerate() {
                            *sum = T::add_product(*sum, x, read_b(b + k * self.n + j));
                        }
                    }
                    out.extend(row.iter().map(|&sum| T::finish(sum).store()));
                }
            }
        }
        Tensor::dense(T::ELEM, &self.dims, T::flatten(out)).map_err(tensor_error)
    }
}

fn product<T: Product>(cx: &EvalCx<'_>, a: &Tensor, b: &Tensor) -> Eval {
    let matrices = Matrices::new(cx, a, b)?;
    let (a, b) = (a.to_bytes(), b.to_bytes());
    let (a, b) = (T::chunks(&a), T::chunks(&b));
    matrices.multiply::<T>(cx, |at| T::load(a[at]), |at| T::load(b[at]))
}

fn matmul(cx: &EvalCx<'_>) -> Eval {
    let (a, b) = (cx.require(0)?, cx.require(1)?);
    same_elem(a, b)?;
    let result = dispatch!(a.elem(), T in numbers => product::<T>(cx, a, b))?;
    if a.elem().is_float() {
        let k = a.dims().last().copied().unwrap_or(1);
        dispatch!(a.elem(), T in floats => certain::<T>(cx, [a, b], k, 1.0, &result))?;
    }
    Ok(result)
}

/// The largest magnitude of a finite element, and the least that is not zero.
fn range<T: Float>(tensor: &Tensor) -> (f64, f64) {
    let one = |(largest, least): (f64, f64), x: T| match x.to_f64().abs() {
        x if !x.is_finite() || x == 0.0 => (largest, least),
        x => (largest.max(x), least.min(x)),
    };
    match uniform_value::<T>(tensor) {
        Some(x) => one((0.0, f64::INFINITY), x),
        None => T::chunks(&tensor.to_bytes()).iter().fold((0.0, f64::INFINITY), |all, &chunk| one(all, T::load(chunk))),
    }
}

/// Refuses products of `k` terms, each multiplied by `alpha`, for which runtimes may give another result.
fn certain<T: Float>(cx: &EvalCx<'_>, [a, b]: [&Tensor; 2], k: u64, alpha: f64, result: &Tensor) -> Eval<()> {
    let ((a_largest, a_least), (b_largest, b_least)) = (range::<T>(a), range::<T>(b));
    let largest = a_largest * b_largest * alpha.abs().max(1.0);
    let is_tiny = a_least * b_least * alpha.abs().min(1.0) < T::LEAST_NORMAL;
    // The terms that underflow, and the sum of the others, are not examined more closely.
    let is_shaky = !is_within::<T>(largest * k as f64, false) || (is_tiny && largest > 0.0);
    refuse(cx, is_shaky, ACCUMULATORS_DIFFER)?;
    let has_zero = k > 0 && any::<T>(result, |sum| sum == T::ZERO) && has_negative::<T>(a, b);
    refuse(cx, has_zero, ZERO_OF_EITHER_SIGN)
}

/// Whether a term may be negative zero: an element is negative, or a negative zero.
fn has_negative<T: Float>(a: &Tensor, b: &Tensor) -> bool {
    let is_negative = |x: T| x.to_f64().is_sign_negative() && !x.is_nan();
    any::<T>(a, is_negative) || any::<T>(b, is_negative)
}

/// The elements of an 8-bit tensor less their zero point: one for all, or one for each row or column (`per`).
fn centred(cx: &EvalCx<'_>, x: &Tensor, zero: Option<&Tensor>, per: usize) -> Eval {
    let x32 = crate::cast::cast(cx, x, ElemType::INT32)?;
    if !matches!(x.elem(), ElemType::INT8 | ElemType::UINT8) {
        return Err(crate::shared::cx::unsupported_elem(x.elem()));
    }
    let Some(zero) = zero else { return Ok(x32) };
    same_elem(x, zero)?;
    let zero32 = crate::cast::cast(cx, zero, ElemType::INT32)?;
    let rank = x.dims().len();
    let zero32 = match (zero.dims(), rank) {
        _ if zero.len() == 1 => zero32.reshaped(&[]),
        (&[n], 2..) if x.dims()[rank - per] == n => zero32.reshaped(&if per == 2 { vec![n, 1] } else { vec![n] }),
        _ => return Err(OpError::unsupported("a zero point that is neither one value nor a list of them")),
    };
    zip::<i32, i32, i32>(cx, &x32, &zero32.map_err(tensor_error)?, i32::wrapping_sub)
}

fn matmul_integer(cx: &EvalCx<'_>) -> Eval {
    let a = centred(cx, cx.require(0)?, cx.input(2), 2)?;
    let b = centred(cx, cx.require(1)?, cx.input(3), 1)?;
    product::<i32>(cx, &a, &b)
}

/// With one scale for each matrix.
fn qlinear_matmul(cx: &EvalCx<'_>) -> Eval {
    let a = centred(cx, cx.require(0)?, Some(cx.require(2)?), 2)?;
    let b = centred(cx, cx.require(3)?, Some(cx.require(5)?), 1)?;
    let scale = scalar_scale(cx, 1)? * scalar_scale(cx, 4)? / scalar_scale(cx, 6)?;
    let sums = product::<i32>(cx, &a, &b)?;
    let rounding = Requantize::new(cx, 7, cx.require(1)?.elem())?;
    let wide = crate::cast::cast(cx, &sums, ElemType::DOUBLE)?;
    let bytes = doubles(cx, &wide)?.iter().map(|&sum| rounding.round(sum, scale)).collect();
    rounding.into_tensor(cx, sums.dims(), bytes)
}

fn transposed(cx: &EvalCx<'_>, x: &Tensor, name: &str) -> Eval {
    let &[rows, columns] = x.dims() else {
        return Err(OpError::invalid(format_args!("an argument has rank {}, not 2", x.dims().len())));
    };
    if !flag(cx, name)? {
        return Ok(x.clone());
    }
    crate::shared::elems::strided(cx, x, &[columns, rows], &[1, sizes(&[columns])?[0] as isize], 0)
}

/// Of floats only: ONNX does not define a scaled sum of integers.
fn gemm(cx: &EvalCx<'_>) -> Eval {
    let (alpha, beta) = (float(cx, "alpha")?, float(cx, "beta")?);
    let (a, b) = (transposed(cx, cx.require(0)?, "transA")?, transposed(cx, cx.require(1)?, "transB")?);
    same_elem(&a, &b)?;
    if cx.version() < 7 && cx.input(2).is_some_and(|c| c.len() != 1 && c.dims().len() != 2) {
        return Err(OpError::unsupported("broadcasting of before operator-set version 7"));
    }
    let elem = a.elem();
    if !elem.is_float() {
        return Err(crate::shared::cx::unsupported_elem(elem));
    }
    let matrices = Matrices::new(cx, &a, &b)?;
    let scaled = dispatch!(elem, T in floats => {
        let (a, b) = (a.to_bytes(), b.to_bytes());
        let (a, b) = (T::chunks(&a), T::chunks(&b));
        let read = |chunk| Number::to_f64(T::load(chunk));
        matrices.multiply::<f64>(cx, |at| alpha * read(a[at]), |at| read(b[at]))
    })?;
    // A bias that is multiplied by zero is not read.
    let Some(c) = cx.input(2).filter(|_| beta != 0.0) else {
        let result = crate::cast::cast(cx, &scaled, elem)?;
        dispatch!(elem, T in floats => certain::<T>(cx, [&a, &b], matrices.k as u64, alpha, &result))?;
        return Ok(result);
    };
    if c.elem() != elem || broadcast(&[scaled.dims(), c.dims()])? != scaled.dims() {
        return Err(OpError::invalid(format_args!("`C` of shape {:?} does not fit {:?}", c.dims(), scaled.dims())));
    }
    dispatch!(elem, T in floats => {
        let round = |sum: f64| T::rounded(sum);
        let result = match uniform_value::<T>(c) {
            Some(c) => crate::shared::elementwise::map::<f64, T>(cx, &scaled, |sum| round(sum + beta * Number::to_f64(c))),
            None => zip::<f64, T, T>(cx, &scaled, c, |sum, c| round(sum + beta * Number::to_f64(c))),
        }?;
        certain::<T>(cx, [&a, &b], matrices.k as u64, alpha, &result)?;
        let (largest, least) = range::<T>(c);
        let beta = beta.abs();
        let is_shaky =
            !is_within::<T>(largest * beta, false) || (least.is_finite() && least * beta < T::LEAST_NORMAL);
        refuse(cx, is_shaky, ACCUMULATORS_DIFFER)?;
        let has_minus_zero = any::<T>(c, |x| Number::to_f64(x) == 0.0 && Number::to_f64(x).is_sign_negative());
        refuse(cx, has_minus_zero && any::<T>(&result, |sum| sum == T::ZERO), ZERO_OF_EITHER_SIGN)?;
        Ok(result)
    })
}

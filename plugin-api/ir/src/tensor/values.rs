//! Values of tensors as numbers, whatever their element type.

use super::*;
use crate::half::{BFloat16, Float16};

/// Elements at a time, which stay in the fastest memory.
const PART: usize = 1024;

/// Evaluates an expression with `$Float` as the type of the elements; `None` if they are not floating-point numbers.
/// The type is chosen once, not for each element.
macro_rules! for_float {
    ($elem:expr, $Float:ident => $result:expr) => {
        match $elem {
            ElemType::FLOAT => {
                type $Float = f32;
                Some($result)
            }
            ElemType::DOUBLE => {
                type $Float = f64;
                Some($result)
            }
            ElemType::FLOAT16 => {
                type $Float = Float16;
                Some($result)
            }
            ElemType::BFLOAT16 => {
                type $Float = BFloat16;
                Some($result)
            }
            _ => None,
        }
    };
}

impl Tensor {
    /// A tensor of numbers, each rounded to the nearest of `elem`; `None` if `elem` is not `float32`, `float64`,
    /// `float16` or `bfloat16`, or the number of values is not the one that `dims` require.
    ///
    /// ```
    /// use relais_plugin_api::prelude::*;
    /// let half = Tensor::from_f64s(ElemType::FLOAT16, &[], &[0.5]).unwrap();
    /// assert_eq!((half.byte_len(), half.to_f64s()), (2, Some(vec![0.5])));
    /// ```
    pub fn from_f64s(elem: ElemType, dims: &[u64], values: &[f64]) -> Option<Self> {
        let bytes = for_float!(elem, F => {
            let mut bytes = vec![0; values.len() * F::WIDTH];
            F::write(values, &mut bytes);
            bytes
        });
        Self::dense(elem, dims, bytes?).ok()
    }

    /// One repeated number, rounded to the nearest of `elem` and stored once, however many elements there are; `None`
    /// if `elem` is not `float32`, `float64`, `float16` or `bfloat16`, or there are more than 2^64.
    pub fn full(elem: ElemType, dims: &[u64], value: f64) -> Option<Self> {
        for_float!(elem, F => {
            let mut element = [0; 8];
            F::write(&[value], &mut element);
            Self::splat(elem, dims, &element[..F::WIDTH]).ok()
        })?
    }

    /// The values as 64-bit floats, which is exact, for element types `float32`, `float64`, `float16` and `bfloat16`. A
    /// repeated value is expanded: check [`len`](Self::len) first, since the tensor may have any size.
    pub fn to_f64s(&self) -> Option<Vec<f64>> {
        for_float!(self.elem(), F => {
            let bytes = self.to_bytes();
            let mut values = vec![0.0; bytes.len() / F::WIDTH];
            F::read(&bytes, &mut values);
            values
        })
    }

    /// Gives `f` all values, a part at a time, in order: those that [`to_f64s`](Self::to_f64s) returns, without the memory
    /// for them. A repeated value is given once. `None` if [`to_f64s`](Self::to_f64s) returns `None`.
    pub fn each_f64s(&self, mut f: impl FnMut(&[f64])) -> Option<()> {
        for_float!(self.elem(), F => {
            let mut values = [0.0; PART];
            let elements: &[u8] = if self.is_empty() { &[] } else { &self.inner.data };
            for part in elements.chunks(PART * F::WIDTH) {
                let values = &mut values[..part.len() / F::WIDTH];
                F::read(part, values);
                f(values);
            }
        })
    }

    /// The same shape with each value rounded to the nearest of another type, of two the one with an even last digit;
    /// `None` if one of the types is not `float32`, `float64`, `float16` or `bfloat16`. A repeated value stays compact.
    ///
    /// ```
    /// use relais_plugin_api::prelude::*;
    /// let third = Tensor::from_f32(&[1], &[1.0 / 3.0]);
    /// assert_eq!(third.rounded_to(ElemType::FLOAT16).unwrap().to_f64(), Some(0.333251953125));
    /// ```
    pub fn rounded_to(&self, elem: ElemType) -> Option<Self> {
        let bytes = for_float!(elem, F => {
            let n_elements = if self.as_splat().is_some() { 1 } else { self.len() as usize };
            let mut bytes = Vec::with_capacity(n_elements * F::WIDTH);
            self.each_f64s(|values| {
                let start = bytes.len();
                bytes.resize(start + values.len() * F::WIDTH, 0);
                F::write(values, &mut bytes[start..]);
            })?;
            bytes
        })?;
        match self.as_splat() {
            Some(_) if !self.is_empty() => Self::splat(elem, self.dims(), &bytes).ok(),
            _ => Self::dense(elem, self.dims(), bytes).ok(),
        }
    }

    /// The value of a tensor that has just one, in one element or repeated, if [`to_f64s`](Self::to_f64s) returns
    /// values; `None` for others.
    ///
    /// ```
    /// use relais_plugin_api::prelude::*;
    /// let limit = Tensor::from_f32(&[1], &[6.0]);
    /// assert_eq!((limit.to_f64(), limit.to_i64()), (Some(6.0), None));
    /// ```
    pub fn to_f64(&self) -> Option<f64> {
        let element = self.one_element()?;
        for_float!(self.elem(), F => one::<F>(element))
    }

    /// The value of a tensor of `int64` or `int32` that has just one, in one element or repeated; `None` for others.
    pub fn to_i64(&self) -> Option<i64> {
        let element = self.one_element()?;
        match self.elem() {
            ElemType::INT64 => Some(i64::from_le_bytes(array(element))),
            ElemType::INT32 => Some(i32::from_le_bytes(array(element)).into()),
            _ => None,
        }
    }

    /// The bytes of the one element, or of the one that is repeated.
    fn one_element(&self) -> Option<&[u8]> {
        match self.as_splat() {
            Some(element) => (!self.is_empty()).then_some(element),
            None => (self.len() == 1).then_some(&self.inner.data),
        }
    }

    /// The same shape with `f` applied to each value, and rounded to the element type; `None` if
    /// [`to_f64s`](Self::to_f64s) returns `None`. A repeated value stays compact, however often it is repeated.
    ///
    /// ```
    /// use relais_plugin_api::prelude::*;
    /// let large = Tensor::full(ElemType::FLOAT, &[1 << 40], 2.0).unwrap();
    /// assert_eq!(large.map_f64s(|x| -x).unwrap().to_f64(), Some(-2.0));
    /// ```
    pub fn map_f64s(&self, f: impl Fn(f64) -> f64) -> Option<Self> {
        match self.as_splat() {
            Some(element) => Self::full(self.elem(), self.dims(), f(for_float!(self.elem(), F => one::<F>(element))?)),
            None => {
                self.map_f64_rows(usize::MAX, |_, _, values| values.iter_mut().for_each(|value| *value = f(*value)))
            }
        }
    }

    /// Returns a tensor of the same shape whose values are those that `f` leaves, rounded to the element type; `None` if
    /// [`to_f64s`](Self::to_f64s) returns `None`. A repeated value is expanded.
    ///
    /// The elements are rows of `len`, the last of which may be shorter. `f` is given parts of rows, in order: the index of
    /// the row, the position in the row at which the part begins, and its values.
    ///
    /// ```
    /// use relais_plugin_api::prelude::*;
    /// let rows = Tensor::from_f32(&[2, 2], &[1.0, 2.0, 3.0, 4.0]);
    /// let factors = [1.0, 10.0];
    /// let scaled = rows.map_f64_rows(2, |row, _, values| values.iter_mut().for_each(|value| *value *= factors[row]));
    /// assert_eq!(scaled.unwrap().to_f32s(), Some(vec![1.0, 2.0, 30.0, 40.0]));
    /// ```
    pub fn map_f64_rows(&self, len: usize, mut f: impl FnMut(usize, usize, &mut [f64])) -> Option<Self> {
        let bytes = for_float!(self.elem(), E => {
            let from = self.to_bytes();
            let mut to = Vec::with_capacity(from.len());
            let mut values = [0.0; PART];
            for (row, elements) in from.chunks(E::WIDTH.saturating_mul(len.max(1))).enumerate() {
                for (part, elements) in elements.chunks(PART * E::WIDTH).enumerate() {
                    let values = &mut values[..elements.len() / E::WIDTH];
                    E::read(elements, values);
                    f(row, part * PART, values);
                    let start = to.len();
                    to.resize(start + elements.len(), 0);
                    E::write(values, &mut to[start..]);
                }
            }
            to
        });
        Self::dense(self.elem(), self.dims(), bytes?).ok()
    }
}

/// A type of floating-point elements, as stored in a tensor.
trait Float {
    /// Bytes of an element.
    const WIDTH: usize;

    /// Sets `values` to the numbers in these bytes.
    fn read(bytes: &[u8], values: &mut [f64]);

    /// Writes the nearest numbers to these bytes.
    fn write(values: &[f64], bytes: &mut [u8]);
}

fn one<F: Float>(element: &[u8]) -> f64 {
    let mut values = [0.0];
    F::read(element, &mut values);
    values[0]
}

// Arrays, not slices, so that several elements are converted at once.
macro_rules! float {
    ($type:ty, $width:literal, $read:expr, $nearest:expr) => {
        impl Float for $type {
            const WIDTH: usize = $width;

            fn read(bytes: &[u8], values: &mut [f64]) {
                let elements = bytes.as_chunks::<$width>().0;
                values.iter_mut().zip(elements).for_each(|(value, element)| *value = $read(*element));
            }

            fn write(values: &[f64], bytes: &mut [u8]) {
                let elements = bytes.as_chunks_mut::<$width>().0;
                elements.iter_mut().zip(values).for_each(|(element, &value)| *element = $nearest(value).to_le_bytes());
            }
        }
    };
}

float!(f32, 4, |bytes| f32::from_le_bytes(bytes).into(), |value| value as f32);
float!(f64, 8, f64::from_le_bytes, |value: f64| value);
float!(Float16, 2, |bytes| Self::to_f64(u16::from_le_bytes(bytes)), Self::from_f64);
float!(BFloat16, 2, |bytes| Self::to_f64(u16::from_le_bytes(bytes)), Self::from_f64);

#[cfg(test)]
mod tests {
    use super::*;

    const FLOATS: [ElemType; 4] = [ElemType::FLOAT, ElemType::DOUBLE, ElemType::FLOAT16, ElemType::BFLOAT16];

    #[test]
    fn values_survive_in_every_type_that_holds_them() {
        let values = [0.0, -0.0, 1.5, -2.0, f64::INFINITY, f64::NEG_INFINITY];
        for elem in FLOATS {
            let tensor = Tensor::from_f64s(elem, &[6], &values).unwrap();
            assert_eq!(tensor.elem(), elem);
            let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&tensor.to_f64s().unwrap()), bits(&values), "{elem}");
            let nan = Tensor::from_f64s(elem, &[], &[f64::NAN]).unwrap();
            assert!(nan.to_f64s().unwrap()[0].is_nan(), "{elem}");
        }
        let third = Tensor::from_f64s(ElemType::FLOAT, &[], &[1.0 / 3.0]).unwrap();
        assert_eq!(third, Tensor::from_f32(&[], &[1.0 / 3.0]));
    }

    #[test]
    fn other_types_and_other_counts_are_refused() {
        assert_eq!(Tensor::from_f64s(ElemType::INT64, &[1], &[1.0]), None);
        assert_eq!(Tensor::from_f64s(ElemType::INT64, &[0], &[]), None);
        assert_eq!(Tensor::from_f64s(ElemType::FLOAT, &[2], &[1.0]), None);
        assert_eq!(Tensor::from_i64(&[1], &[1]).to_f64s(), None);
    }

    #[test]
    fn large_tensors_of_other_types_are_not_written_out() {
        let large = Tensor::splat(ElemType::INT64, &[1 << 45], &[0; 8]).unwrap();
        assert_eq!((large.to_f64s(), large.map_f64s(|x| x)), (None, None));
        assert_eq!(large.map_f64_rows(1, |_, _, _| ()), None);
    }

    #[test]
    fn values_are_mapped_in_their_type() {
        for elem in FLOATS {
            let dense = Tensor::from_f64s(elem, &[2], &[1.0, -2.5]).unwrap();
            assert_eq!(dense.map_f64s(|x| 2.0 * x), Tensor::from_f64s(elem, &[2], &[2.0, -5.0]));
            let one = Tensor::from_f64s(elem, &[], &[1.5]).unwrap();
            let splat = Tensor::splat(elem, &[1 << 40, 3], &one.to_bytes()).unwrap();
            let twice = splat.map_f64s(|x| 2.0 * x).unwrap();
            let three = Tensor::from_f64s(elem, &[], &[3.0]).unwrap();
            assert_eq!((twice.as_splat(), twice.dims()), (Some(&*three.to_bytes()), splat.dims()));
        }
    }

    #[test]
    fn values_are_rounded_to_another_type() {
        let values: Vec<f64> = (0..3000).map(|at| f64::from(at) / 7.0 - 200.0).collect();
        for from in FLOATS {
            let tensor = Tensor::from_f64s(from, &[3, 1000], &values).unwrap();
            for to in FLOATS {
                let expected = Tensor::from_f64s(to, &[3, 1000], &tensor.to_f64s().unwrap()).unwrap();
                assert_eq!(tensor.rounded_to(to), Some(expected), "{from} to {to}");
                let splat = Tensor::full(from, &[1 << 40], 0.1).unwrap().rounded_to(to).unwrap();
                let one = Tensor::full(from, &[], 0.1).unwrap().to_f64().unwrap();
                assert_eq!(splat, Tensor::full(to, &[1 << 40], one).unwrap(), "{from} to {to}");
                let empty = Tensor::full(from, &[0, 2], 0.1).unwrap().rounded_to(to).unwrap();
                assert_eq!((empty.elem(), empty.dims()), (to, &[0, 2][..]));
            }
            assert_eq!(tensor.rounded_to(ElemType::INT64), None);
        }
        assert_eq!(Tensor::from_i64(&[1], &[1]).rounded_to(ElemType::FLOAT), None);
        // Halfway between two numbers, and beyond the largest one.
        let ties = Tensor::from_f32(&[4], &[2049.0, 2051.0, 65519.0, 65520.0]).rounded_to(ElemType::FLOAT16).unwrap();
        assert_eq!(ties.to_f64s(), Some(vec![2048.0, 2052.0, 65504.0, f64::INFINITY]));
    }

    #[test]
    fn a_splat_is_written_out() {
        let splat = Tensor::splat(ElemType::FLOAT, &[3], &0.25f32.to_le_bytes()).unwrap();
        assert_eq!(splat.to_f64s(), Some(vec![0.25; 3]));
    }

    #[test]
    fn a_tensor_of_one_value_has_it() {
        for elem in FLOATS {
            for dims in [&[][..], &[1], &[1, 1]] {
                assert_eq!(Tensor::from_f64s(elem, dims, &[-1.5]).unwrap().to_f64(), Some(-1.5));
            }
            assert_eq!(Tensor::full(elem, &[1 << 50], 0.25).unwrap().to_f64(), Some(0.25));
            assert_eq!(Tensor::full(elem, &[0], 0.25).unwrap().to_f64(), None);
            assert_eq!(Tensor::from_f64s(elem, &[2], &[1.0, 1.0]).unwrap().to_f64(), None);
        }
        assert_eq!(Tensor::from_i64(&[1], &[-7]).to_i64(), Some(-7));
        assert_eq!(Tensor::splat(ElemType::INT32, &[9], &(-7i32).to_le_bytes()).unwrap().to_i64(), Some(-7));
        assert_eq!((Tensor::from_i64(&[0], &[]).to_i64(), Tensor::from_i64(&[2], &[1, 1]).to_i64()), (None, None));
        assert_eq!((Tensor::from_i64(&[], &[1]).to_f64(), Tensor::from_f32(&[], &[1.0]).to_i64()), (None, None));
        assert_eq!(Tensor::full(ElemType::INT64, &[], 1.0), None);
    }

    #[test]
    fn rows_are_mapped_in_parts() {
        for elem in FLOATS {
            let values: Vec<f64> = (0..7).map(f64::from).collect();
            let tensor = Tensor::from_f64s(elem, &[7], &values).unwrap();
            for len in [1, 2, 3, 7, 9, usize::MAX] {
                let add = |row: usize, values: &mut [f64]| values.iter_mut().for_each(|x| *x += 10.0 * row as f64);
                let mapped = tensor.map_f64_rows(len, |row, _, values| add(row, values)).unwrap();
                let expected: Vec<f64> = (0..7).map(|at| at as f64 + 10.0 * (at / len) as f64).collect();
                assert_eq!(mapped.to_f64s(), Some(expected), "{elem}, rows of {len}");
            }
            let splat = Tensor::full(elem, &[4], 2.0).unwrap();
            let times = |row: usize, values: &mut [f64]| values.iter_mut().for_each(|x| *x *= row as f64);
            let mapped = splat.map_f64_rows(2, |row, _, values| times(row, values)).unwrap();
            assert_eq!(mapped.to_f64s(), Some(vec![0.0, 0.0, 2.0, 2.0]));
        }
        // Long rows, whose parts say where they begin.
        let long = Tensor::full(ElemType::DOUBLE, &[2, 5000], 0.0).unwrap();
        let number = |row: usize, at: usize, values: &mut [f64]| {
            values.iter_mut().enumerate().for_each(|(next, x)| *x = (row * 5000 + at + next) as f64);
        };
        let numbered = long.map_f64_rows(5000, number).unwrap();
        assert_eq!(numbered.to_f64s(), Some((0..10_000).map(f64::from).collect()));
    }
}

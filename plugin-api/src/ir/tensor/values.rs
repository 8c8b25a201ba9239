//! Values of float tensors, whatever their element type.

use super::*;
use half::{bf16, f16};

impl Tensor {
    /// A tensor of numbers, each rounded to the nearest of `elem`; `None` where `elem` is not `float32`, `float64`,
    /// `float16` or `bfloat16`, or there are not as many values as `dims` ask for.
    ///
    /// ```
    /// use relais_plugin_api::prelude::*;
    /// let half = Tensor::from_f64s(ElemType::FLOAT16, &[], &[0.5]).unwrap();
    /// assert_eq!((half.byte_len(), half.to_f64s()), (2, Some(vec![0.5])));
    /// ```
    pub fn from_f64s(elem: ElemType, dims: &[u64], values: &[f64]) -> Option<Self> {
        let mut bytes = Vec::with_capacity(values.len() * elem.bits() as usize / 8);
        for &value in values {
            match elem {
                ElemType::FLOAT => bytes.extend_from_slice(&(value as f32).to_le_bytes()),
                ElemType::DOUBLE => bytes.extend_from_slice(&value.to_le_bytes()),
                ElemType::FLOAT16 => bytes.extend_from_slice(&f16::from_f64(value).to_le_bytes()),
                ElemType::BFLOAT16 => bytes.extend_from_slice(&bf16::from_f64(value).to_le_bytes()),
                _ => return None,
            }
        }
        // Without values no element type was refused above.
        is_float(elem).then(|| Self::dense(elem, dims, bytes).ok())?
    }

    /// The values as 64-bit floats, which is exact, for element types `float32`, `float64`, `float16` and `bfloat16`. One
    /// value repeated is written out: look at [`len`](Self::len) before, where it may be of any size.
    pub fn to_f64s(&self) -> Option<Vec<f64>> {
        is_float(self.elem()).then(|| f64s(self.elem(), &self.to_bytes()))
    }

    /// The same shape with each value put through `f`, and rounded to the element type; `None` where
    /// [`to_f64s`](Self::to_f64s) has none. One value repeated stays that, however often.
    ///
    /// ```
    /// use relais_plugin_api::prelude::*;
    /// let large = Tensor::splat(ElemType::FLOAT, &[1 << 40], &2.0f32.to_le_bytes()).unwrap();
    /// assert_eq!(large.map_f64s(|x| -x).unwrap().as_splat(), Some(&(-2.0f32).to_le_bytes()[..]));
    /// ```
    pub fn map_f64s(&self, f: impl Fn(f64) -> f64) -> Option<Self> {
        if !is_float(self.elem()) {
            return None;
        }
        let Some(element) = self.as_splat() else {
            let values: Vec<f64> = self.to_f64s()?.into_iter().map(f).collect();
            return Self::from_f64s(self.elem(), self.dims(), &values);
        };
        let one = Self::from_f64s(self.elem(), &[], &[f(f64s(self.elem(), element)[0])])?;
        Self::splat(self.elem(), self.dims(), &one.to_bytes()).ok()
    }
}

fn is_float(elem: ElemType) -> bool {
    [ElemType::FLOAT, ElemType::DOUBLE, ElemType::FLOAT16, ElemType::BFLOAT16].contains(&elem)
}

/// Packed values of a float type.
fn f64s(elem: ElemType, bytes: &[u8]) -> Vec<f64> {
    match elem {
        ElemType::FLOAT => bytes.chunks_exact(4).map(|b| f32::from_le_bytes(array(b)).into()).collect(),
        ElemType::DOUBLE => bytes.chunks_exact(8).map(|b| f64::from_le_bytes(array(b))).collect(),
        ElemType::FLOAT16 => bytes.chunks_exact(2).map(|b| f16::from_le_bytes(array(b)).into()).collect(),
        _ => bytes.chunks_exact(2).map(|b| bf16::from_le_bytes(array(b)).into()).collect(),
    }
}

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
    fn a_splat_is_written_out() {
        let splat = Tensor::splat(ElemType::FLOAT, &[3], &0.25f32.to_le_bytes()).unwrap();
        assert_eq!(splat.to_f64s(), Some(vec![0.25; 3]));
    }
}

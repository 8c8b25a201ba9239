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
        let is_float = [ElemType::FLOAT, ElemType::DOUBLE, ElemType::FLOAT16, ElemType::BFLOAT16].contains(&elem);
        Self::dense(elem, dims, bytes).ok().filter(|_| is_float)
    }

    /// The values as 64-bit floats, which is exact, for element types `float32`, `float64`, `float16` and `bfloat16`.
    pub fn to_f64s(&self) -> Option<Vec<f64>> {
        let bytes = self.to_bytes();
        Some(match self.elem() {
            ElemType::FLOAT => bytes.chunks_exact(4).map(|b| f32::from_le_bytes(array(b)).into()).collect(),
            ElemType::DOUBLE => bytes.chunks_exact(8).map(|b| f64::from_le_bytes(array(b))).collect(),
            ElemType::FLOAT16 => bytes.chunks_exact(2).map(|b| f16::from_le_bytes(array(b)).into()).collect(),
            ElemType::BFLOAT16 => bytes.chunks_exact(2).map(|b| bf16::from_le_bytes(array(b)).into()).collect(),
            _ => return None,
        })
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
    fn a_splat_is_written_out() {
        let splat = Tensor::splat(ElemType::FLOAT, &[3], &0.25f32.to_le_bytes()).unwrap();
        assert_eq!(splat.to_f64s(), Some(vec![0.25; 3]));
    }
}

//! Values for parameters.

use relais_plugin_api::ir::{packed::pack, *};
use std::collections::BTreeSet;

/// How values for parameters are made.
pub(crate) struct Recipe<'a> {
    pub seed: u64,
    /// The floats that come first.
    pub special: &'a [f64],
    /// The most elements of a parameter.
    pub most: u64,
    /// The size of a dimension that is not known, at its place in a shape of this rank.
    pub size: &'a dyn Fn(Dim, usize, usize) -> u64,
    /// The value of a parameter that is not made here.
    pub given: &'a dyn Fn(NodeId) -> Option<Tensor>,
}

impl Recipe<'_> {
    /// Values for each parameter.
    ///
    /// # Errors
    /// Returns the first parameter for whose type no values can be generated here.
    pub fn make(&self, f: &Function) -> Result<Vec<Tensor>, NodeId> {
        let mut next = xorshift(self.seed);
        let value = |&param: &NodeId| (self.given)(param).or_else(|| self.value(f, param, &mut next)).ok_or(param);
        f.params().iter().map(value).collect()
    }

    /// Values for one parameter; `None` if there are none for its type, or too many.
    pub fn value(&self, f: &Function, param: NodeId, next: &mut dyn FnMut() -> u64) -> Option<Tensor> {
        let Type::Tensor { elem, shape } = f.type_of(param) else { return None };
        let shape: Vec<Dim> = shape.map_or(vec![Dim::Unknown], |dims| dims.iter().map(|&dim| dim.into()).collect());
        let size = |(at, dim): (usize, &Dim)| dim.known().unwrap_or_else(|| (self.size)(*dim, at, shape.len()));
        let dims: Vec<u64> = shape.iter().enumerate().map(size).collect();
        let count = element_count(&dims).filter(|&count| count <= self.most)?;
        let mut special = self.special;
        let mut float = || match special.split_off_first() {
            Some(&special) => special,
            None => (next() % 2001) as f64 / 500.0 - 2.0,
        };
        let width = elem.bits() as usize / 8;
        let bytes: Vec<u8> = match elem {
            ElemType::INT64 | ElemType::INT32 | ElemType::INT16 | ElemType::INT8 => {
                (0..count).flat_map(|_| ((next() % 17) as i64 - 8).to_le_bytes().into_iter().take(width)).collect()
            }
            ElemType::UINT64 | ElemType::UINT32 | ElemType::UINT16 | ElemType::UINT8 => {
                (0..count).flat_map(|_| (next() % 17).to_le_bytes().into_iter().take(width)).collect()
            }
            ElemType::INT4 | ElemType::UINT4 | ElemType::INT2 | ElemType::UINT2 => {
                let elements: Vec<u8> = (0..count).map(|_| next() as u8).collect();
                pack(&elements, elem.bits())
            }
            ElemType::BOOL => (0..count).map(|_| (next() % 2) as u8).collect(),
            ElemType::STRING => {
                let words = words_of(f);
                let strings = (0..count).map(|_| words[next() as usize % words.len()].as_slice());
                return Tensor::from_strings(&dims, strings).ok();
            }
            elem if elem.is_float() => {
                return Tensor::from_f64s(elem, &dims, &(0..count).map(|_| float()).collect::<Vec<f64>>());
            }
            _ => return None,
        };
        Tensor::dense(elem, &dims, bytes).ok()
    }
}

/// The random numbers of a seed.
pub(crate) fn xorshift(seed: u64) -> impl FnMut() -> u64 {
    let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    }
}

/// Words that tell about a function of strings: those that it knows, and others.
fn words_of(f: &Function) -> Vec<Vec<u8>> {
    const OTHERS: [&str; 8] = ["a", "B", "ab", "the", "", "Ab c", "12", "é"];
    const MOST: usize = 64;
    let mut words: BTreeSet<Vec<u8>> = BTreeSet::new();
    for id in f.all_bindings() {
        if let Some(tensor) = f.stored_constant(id).filter(|tensor| tensor.elem() == ElemType::STRING) {
            words.extend(tensor.strings().take(MOST).map(<[u8]>::to_vec));
        }
        for (_, value) in f.attrs(id).iter() {
            match value {
                AttrValue::Strings(list) => words.extend(list.strings().take(MOST).map(<[u8]>::to_vec)),
                // It may be what splits words.
                AttrValue::String(string) if string.len() < 4 => _ = words.insert([b"a", string, b"b"].concat()),
                _ => {}
            }
        }
    }
    words.into_iter().take(MOST).chain(OTHERS.map(|word| word.as_bytes().to_vec())).collect()
}

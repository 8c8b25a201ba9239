//! Inputs that tell more than random ones: constants of the model, the edges of types, sizes that are special.

use super::{MOST, dimension};
use crate::numbers::{Recipe, xorshift};
use relais_plugin_api::ir::*;
use std::fmt;

/// How inputs differ from random ones.
#[derive(Clone, PartialEq, Debug)]
pub enum Telling {
    /// An input of one element has the value of a constant, or one beside it.
    Constant {
        /// The index of the input.
        input: usize,
        /// The value.
        value: Tensor,
    },
    /// The elements of an input are the least and the greatest integers of its type, and others where signs change.
    Edges {
        /// The index of the input.
        input: usize,
        /// The index of the one that comes first.
        first: usize,
    },
    /// A size that the model leaves open is this one.
    Size {
        /// The name of the dimension; `?` for all without names that have one size.
        dimension: String,
        /// The size that it has in the inputs like which these are.
        had: u64,
        /// The size.
        size: u64,
    },
}

/// The most of a kind for one function.
const MOST_TELLING: usize = 12;

/// The sizes that tell most: nothing, one, and one beyond what is unrolled, and beyond a multiple of all widths of vectors.
const SIZES: [u64; 3] = [0, 1, 131];

/// Returns what tells most about a function, which takes these inputs.
pub fn telling(f: &Function, taken: &[Tensor]) -> Vec<Telling> {
    let mut constants = Vec::new();
    let mut edges = Vec::new();
    for (input, &param) in f.params().iter().enumerate() {
        let Some(like) = taken.get(input).filter(|_| f.default_value(param).is_none()) else { continue };
        if like.len() == 1 {
            for value in constants_beside(f, param, like) {
                let telling = Telling::Constant { input, value };
                if !constants.contains(&telling) {
                    constants.push(telling);
                }
            }
        }
        if integer_edges(like.elem()).is_some() {
            edges.extend([0, 1].map(|first| Telling::Edges { input, first }));
        }
    }
    constants.truncate(MOST_TELLING);
    edges.truncate(MOST_TELLING);
    let of = |(dimension, had): (String, u64)| {
        let others = SIZES.into_iter().filter(move |&size| size != had && (size < 2 || size > had));
        others.map(move |size| Telling::Size { dimension: dimension.clone(), had, size })
    };
    let sizes = open_sizes(f, taken).into_iter().flat_map(of).take(MOST_TELLING);
    constants.into_iter().chain(edges).chain(sizes).collect()
}

/// The most elements of an input with a large size: what takes long otherwise.
const MOST_LARGE: u64 = 1 << 16;

impl Telling {
    /// Whether it is for a model that is computed in an element type: large integers leave the range of `float16`.
    pub fn is_for(&self, taken: &[Tensor], computed: ElemType) -> bool {
        match self {
            Self::Edges { input, .. } if computed == ElemType::FLOAT16 => {
                taken.get(*input).is_none_or(|input| input.elem().bits() <= 8)
            }
            _ => true,
        }
    }

    /// Returns inputs for a function like those that it takes, apart from what is told. `None` if there are none, or they are
    /// the same.
    pub fn inputs(&self, f: &Function, taken: &[Tensor], seed: u64) -> Option<Vec<Tensor>> {
        let mut inputs = taken.to_vec();
        match self {
            Self::Constant { input, value } => *inputs.get_mut(*input)? = value.clone(),
            Self::Edges { input, first } => {
                let of = inputs.get_mut(*input)?;
                let edges = integer_edges(of.elem())?;
                let width = of.elem().bits() as usize / 8;
                let elements = edges.iter().cycle().skip(*first).take(of.len() as usize);
                let bytes: Vec<u8> = elements.flat_map(|edge| edge.to_le_bytes().into_iter().take(width)).collect();
                *of = Tensor::dense(of.elem(), of.dims(), bytes).ok()?;
            }
            Self::Size { dimension: name, had, size } => {
                let given = |_| None;
                for ((at, &param), input) in (0..).zip(f.params()).zip(&mut inputs) {
                    let is_it = |(dim, size)| size == *had && dimension(f, dim).is_some_and(|dim| dim == *name);
                    let open = open_dims(f, param, input);
                    if !open.clone().any(is_it) {
                        continue;
                    }
                    let resized: Vec<u64> = open.map(|dim| if is_it(dim) { *size } else { dim.1 }).collect();
                    if *size > *had && element_count(&resized).is_none_or(|count| count > MOST_LARGE) {
                        return None;
                    }
                    let size = |_, at: usize, _| resized[at];
                    let recipe = Recipe { seed, special: &[], most: MOST, size: &size, given: &given };
                    *input = recipe.value(f, param, &mut xorshift(seed.wrapping_add(at)))?;
                }
            }
        }
        (inputs != taken).then_some(inputs)
    }
}

impl fmt::Display for Telling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant { value, .. } => match (value.to_f64(), value.to_i64()) {
                (Some(value), _) => write!(f, "{value}"),
                (_, Some(value)) => write!(f, "{value}"),
                _ => write!(f, "{}", value.to_bytes().iter().any(|&byte| byte != 0)),
            },
            Self::Edges { .. } => f.write_str("the edges of its type"),
            Self::Size { dimension, size, .. } => write!(f, "{dimension} = {size}"),
        }
    }
}

/// The dimensions of a parameter, with their sizes in a value of it; none if it has a value by default.
fn open_dims<'a>(f: &'a Function, param: NodeId, value: &'a Tensor) -> impl Iterator<Item = (Dim, u64)> + Clone + 'a {
    let shape = match f.type_of(param) {
        Type::Tensor { shape: Some(shape), .. } if f.default_value(param).is_none() => shape,
        _ => &[],
    };
    shape.iter().map(|&dim| dim.into()).zip(value.dims().iter().copied())
}

/// The dimensions that a function leaves open, with their sizes in inputs.
fn open_sizes(f: &Function, inputs: &[Tensor]) -> Vec<(String, u64)> {
    let all = f.params().iter().zip(inputs).flat_map(|(&param, input)| open_dims(f, param, input));
    let named = all.filter_map(|(dim, size)| Some((dimension(f, dim)?, size)));
    let mut found: Vec<(String, u64)> = Vec::new();
    for open in named {
        if !found.contains(&open) {
            found.push(open);
        }
    }
    found
}

/// The integers where types and signs end: of a type in full, least and greatest first. `None` for other types.
fn integer_edges(elem: ElemType) -> Option<Vec<i64>> {
    let bits = elem.bits();
    match elem {
        ElemType::INT8 | ElemType::INT16 | ElemType::INT32 | ElemType::INT64 => {
            let (least, greatest) = (i64::MIN >> (64 - bits), i64::MAX >> (64 - bits));
            Some(vec![least, greatest, 0, -1, 1, least + 1, greatest - 1])
        }
        ElemType::UINT8 | ElemType::UINT16 | ElemType::UINT32 | ElemType::UINT64 => {
            let half = 1i64 << (bits - 1);
            Some(vec![0, -1, 1, half, half.wrapping_sub(1), -2])
        }
        _ => None,
    }
}

/// The most calls of one argument from an input to a constant.
const MOST_BETWEEN: usize = 4;

/// The constants of one element that are operands together with an input, or what calls of one argument make of it; beside each
/// number, the ones before and after it. For truth values, both.
fn constants_beside(f: &Function, param: NodeId, like: &Tensor) -> Vec<Tensor> {
    let (elem, dims) = (like.elem(), like.dims());
    if elem == ElemType::BOOL {
        return [0, 1].into_iter().filter_map(|bit| Tensor::splat(elem, dims, &[bit]).ok()).collect();
    }
    let mut values = Vec::new();
    let mut ids = vec![param];
    for _ in 0..=MOST_BETWEEN {
        let mut next = Vec::new();
        for id in f.all_bindings() {
            let operands = f.call(id).map_or(f.operands(id), |call| call.args());
            if !operands.iter().any(|operand| ids.contains(operand)) {
                continue;
            }
            let others = operands.iter().filter(|operand| !operand.is_absent() && !ids.contains(operand));
            let constants: Vec<Option<&Tensor>> = others.map(|&operand| f.constant(operand)).collect();
            values.extend(constants.iter().flatten().filter(|constant| constant.len() == 1).copied());
            if constants.is_empty() {
                next.push(id);
            }
        }
        ids = next;
    }
    let mut found = Vec::new();
    for value in values {
        let numbers = match (value.to_f64s().as_deref(), value.to_i64s().as_deref()) {
            (Some([number]), _) => [0.0, 1.0, -1.0].map(|step| number + step).to_vec(),
            (_, Some([number])) => [0, 1, -1].iter().map(|step| number.wrapping_add(*step) as f64).collect(),
            _ if value.elem() == elem => {
                found.extend(value.reshaped(dims).ok());
                continue;
            }
            _ => continue,
        };
        let made = numbers.into_iter().filter_map(|number| match elem.is_float() {
            true => Tensor::from_f64s(elem, dims, &[number]),
            false => integer(elem, dims, number),
        });
        found.extend(made);
    }
    found
}

/// A tensor of one integer, if that is of the type.
fn integer(elem: ElemType, dims: &[u64], number: f64) -> Option<Tensor> {
    let value = number as i64;
    let is_signed = integer_edges(elem)?[0] != 0;
    let bits = elem.bits();
    let is_within = match (is_signed, bits) {
        (true, 64) => true,
        (false, 64) => value >= 0,
        (true, _) => (-1 << (bits - 1)..1 << (bits - 1)).contains(&value),
        (false, _) => (0..1 << bits).contains(&value),
    };
    let bytes: Vec<u8> = value.to_le_bytes().into_iter().take(bits as usize / 8).collect();
    if !is_within || value as f64 != number {
        return None;
    }
    Tensor::dense(elem, dims, bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use relais_plugin_api::text;

    fn function(text: &str) -> IRModule {
        text::parse_str(text).unwrap()
    }

    fn numbers(text: &str, taken: &[Tensor]) -> Vec<Vec<f64>> {
        let module = function(text);
        let main = module.main().unwrap();
        let constants = telling(main, taken).into_iter().filter_map(|telling| match &telling {
            Telling::Constant { input, .. } => {
                let inputs = telling.inputs(main, taken, 1)?;
                let value = &inputs[*input];
                let integers = || value.to_bytes().iter().map(|&byte| byte.into()).collect();
                match value.elem() {
                    ElemType::INT8 => Some(integers()),
                    _ => Some(vec![value.to_i64()? as f64]),
                }
            }
            _ => None,
        });
        constants.collect()
    }

    #[test]
    fn an_input_is_a_constant_that_it_is_compared_with_and_its_neighbours() {
        let text = "def @main(%rate: Tensor[(), int64]) { %c = const(int64, 16000); Equal(%rate, %c) }";
        assert_eq!(numbers(text, &[Tensor::from_i64(&[], &[3])]), [[16000.0], [16001.0], [15999.0]]);
        let text = "def @main(%rate: Tensor[(1), int8]) {
            %0 = Cast(%rate, to = 1);
            %1 = Neg(%0);
            %c = const(float32, 127.0);
            Less(%1, %c)
        }";
        // 128 is not of the type.
        let taken = [Tensor::dense(ElemType::INT8, &[1], vec![3]).unwrap()];
        assert_eq!(numbers(text, &taken), [[127.0], [126.0]]);
        let text = "def @main(%rate: Tensor[(2), int64]) { %c = const(int64, 16000); Equal(%rate, %c) }";
        assert_eq!(numbers(text, &[Tensor::from_i64(&[2], &[3, 4])]), Vec::<Vec<f64>>::new());
    }

    #[test]
    fn integers_reach_the_edges_of_their_types() {
        let module =
            function("def @main(%x: Tensor[(3), int16], %y: Tensor[(1), uint64], %z: Tensor[(1), float32]) { %x }");
        let main = module.main().unwrap();
        let taken = [
            Tensor::dense(ElemType::INT16, &[3], vec![0; 6]).unwrap(),
            Tensor::dense(ElemType::UINT64, &[1], vec![0; 8]).unwrap(),
            Tensor::from_f64s(ElemType::FLOAT, &[1], &[0.5]).unwrap(),
        ];
        let edges = telling(main, &taken);
        assert_eq!(edges.len(), 4);
        let made = edges[0].inputs(main, &taken, 1).unwrap();
        assert_eq!(made[0].to_bytes()[..], [0, 0x80, 0xff, 0x7f, 0, 0]);
        assert_eq!(made[1..], taken[1..]);
        assert_eq!(edges[1].inputs(main, &taken, 1).unwrap()[0].to_bytes()[..], [0xff, 0x7f, 0, 0, 0xff, 0xff]);
        // The least number of this type is what was taken.
        assert_eq!(edges[2].inputs(main, &taken, 1), None);
        assert_eq!(edges[3].inputs(main, &taken, 1).unwrap()[1].to_bytes()[..], [255; 8]);
    }

    #[test]
    fn each_open_size_is_none_one_and_large() {
        let module = function("def @main(%x: Tensor[(N, 4), float32], %y: Tensor[(N, L), float32]) { %x }");
        let main = module.main().unwrap();
        let taken = [[2, 4], [2, 1]].map(|dims| Tensor::splat(ElemType::FLOAT, &dims, &[0; 4]).unwrap());
        let shapes: Vec<[Vec<u64>; 2]> = telling(main, &taken)
            .iter()
            .map(|telling| {
                let inputs = telling.inputs(main, &taken, 1).unwrap();
                [inputs[0].dims().to_vec(), inputs[1].dims().to_vec()]
            })
            .collect();
        let of = |n: u64, l: u64| [vec![n, 4], vec![n, l]];
        assert_eq!(shapes, [of(0, 1), of(1, 1), of(131, 1), of(2, 0), of(2, 131)]);
    }
}

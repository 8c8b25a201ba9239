//! Every evaluator with arguments and attributes that make no sense: an error or a result, never a panic, and never
//! more memory than allowed.

use crate::common::call;
use relais_evaluator::evaluators;
use relais_plugin_api::ir::*;

const MAX_BYTES: u64 = 1 << 12;

/// A small generator of pseudo-random numbers (xorshift), the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }

    fn of<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u64) as usize]
    }

    fn integer(&mut self) -> i64 {
        self.of(&[i64::MIN, i64::MAX, -1, -2, 0, 0, 1, 1, 2, 3, 4, 1 << 31, 1 << 32, 1 << 62, -(1 << 40)])
    }

    fn integers(&mut self) -> Vec<i64> {
        (0..self.below(5)).map(|_| self.integer()).collect()
    }

    fn tensor(&mut self) -> Tensor {
        let rank = self.of(&[0, 1, 1, 2, 2, 3, 4, 70]);
        let huge = self.below(3) == 0;
        let sizes: &[u64] = if huge { &[0, 1, 2, 1 << 20, 1 << 40, 1 << 62, u64::MAX] } else { &[0, 1, 1, 2, 2, 3, 4] };
        let dims: Vec<u64> = (0..rank).map(|_| if rank == 70 { 1 } else { self.of(sizes) }).collect();
        let elem = match self.below(3) {
            0 => ElemType::INT64,
            1 => ElemType::FLOAT,
            _ => self.of(ElemType::ALL),
        };
        if self.below(4) == 0 {
            let values = self.integers();
            return Tensor::from_i64(&[values.len() as u64], &values);
        }
        let Some(len) = element_count(&dims).filter(|&len| len <= 256) else {
            let element = vec![self.of(&[0, 1, 255]); (elem.bits() as usize).div_ceil(8)];
            return Tensor::splat(elem, &dims, &element)
                .unwrap_or_else(|_| Tensor::dense(ElemType::FLOAT, &[0], Vec::new()).unwrap());
        };
        if elem == ElemType::STRING {
            return Tensor::dense(elem, &dims, [1, 0, 0, 0, b'7'].repeat(len as usize)).unwrap();
        }
        let bytes = elem.bytes_for(len).unwrap();
        let bytes: Vec<u8> = (0..bytes).map(|_| self.of(&[0, 1, 2, 63, 127, 128, 255])).collect();
        let full = len * u64::from(elem.bits()) % 8 == 0;
        if full { Tensor::dense(elem, &dims, bytes).unwrap() } else { Tensor::from_i64(&dims, &vec![1; len as usize]) }
    }
}

#[test]
fn nonsense_gives_errors() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let ints = [
        "axis",
        "to",
        "k",
        "keepdims",
        "allowzero",
        "blocksize",
        "fmod",
        "start",
        "end",
        "num_outputs",
        "batch_dims",
        "time_axis",
        "batch_axis",
        "broadcast",
        "exclusive",
        "reverse",
        "largest",
        "select_last_index",
        "dtype",
        "transA",
        "transB",
        "noop_with_empty_axes",
        "saturate",
        "upper",
        "block_size",
        "output_dtype",
        "sorted",
    ];
    let lists = ["axes", "perm", "pads", "paddings", "shape", "starts", "ends", "split", "value_ints"];
    let words = ["none", "add", "mul", "max", "reflect", "edge", "wrap", "constant", "LEFT", "RIGHT", "CRD", "down"];
    for evaluator in evaluators() {
        for _ in 0..600 {
            let version = random.of(&[1, 5, 6, 7, 9, 10, 11, 12, 13, 18, 20, 25, 28]);
            let mut nonsense = call(evaluator.name, version.max(evaluator.since_version.into())).max_bytes(MAX_BYTES);
            let first = random.tensor();
            for at in 0..random.below(5) {
                nonsense = match random.below(8) {
                    0 => nonsense.absent(),
                    1 | 2 if at > 0 => nonsense.input(first.clone()),
                    _ if at == 0 => nonsense.input(first.clone()),
                    _ => nonsense.input(random.tensor()),
                };
            }
            for _ in 0..random.below(4) {
                nonsense = match random.below(4) {
                    0 => nonsense.attr(random.of(&lists), random.integers()),
                    1 => nonsense.attr(random.of(&["mode", "reduction", "direction", "round_mode"]), random.of(&words)),
                    2 => nonsense.attr(random.of(&["alpha", "beta", "value", "lambd"]), f32::NAN),
                    _ => nonsense.attr(random.of(&ints), random.integer()),
                };
            }
            let outputs = nonsense.outputs(random.below(4) as u32).eval_all();
            for output in outputs.unwrap_or_default() {
                // A tensor that is returned unchanged may be larger.
                let is_new = output.as_dense().is_some() && output.byte_len() > 256 * 16;
                assert!(!is_new || output.byte_len() <= MAX_BYTES, "{}: {output:?}", evaluator.name);
            }
        }
    }
}

#[test]
fn results_beyond_the_limit_are_refused_before_they_are_made() {
    let huge = Tensor::from_i64(&[2], &[1 << 31, 1 << 30]);
    let data = Tensor::from_f32(&[1, 2], &[1.0, 2.0]);
    assert!(
        call("Expand", 13)
            .input(data.clone())
            .input(Tensor::from_i64(&[2], &[1 << 40, 2]))
            .unsupported()
            .contains("large")
    );
    assert!(call("Tile", 13).input(data.clone()).input(huge.clone()).unsupported().contains("large"));
    call("Pad", 13).input(data).input(Tensor::from_i64(&[4], &[i64::MAX, 0, 0, 0])).unsupported();
    let filled = call("ConstantOfShape", 9).input(huge).eval();
    assert!(filled.as_splat().is_some());
    call("CumSum", 14).input(filled).input(Tensor::from_i64(&[], &[0])).unsupported();
}

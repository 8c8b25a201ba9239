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
        "group",
        "ceil_mode",
        "num_groups",
        "stash_type",
        "size",
        "p",
        "is_test",
        "antialias",
        "layout",
        "hidden_size",
        "ignore_index",
    ];
    let lists = [
        "axes",
        "perm",
        "pads",
        "paddings",
        "shape",
        "starts",
        "ends",
        "split",
        "value_ints",
        "kernel_shape",
        "strides",
        "dilations",
        "output_padding",
        "output_shape",
    ];
    let words = [
        "none",
        "add",
        "mul",
        "max",
        "reflect",
        "edge",
        "wrap",
        "constant",
        "LEFT",
        "RIGHT",
        "CRD",
        "down",
        "linear",
        "cubic",
        "sum",
        "SAME_UPPER",
        "VALID",
        "align_corners",
        "tf_crop_and_resize",
        "not_larger",
        "bidirectional",
    ];
    let modes = ["mode", "reduction", "direction", "round_mode", "auto_pad", "coordinate_transformation_mode"];
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
                    1 => nonsense.attr(random.of(&modes), random.of(&words)),
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

/// Arguments whose shapes make sense, so that the attributes are reached.
#[test]
fn nonsense_about_images_gives_errors() {
    let mut random = Random(0x1234_5678_9abc_def1);
    let operators = [
        "Conv",
        "ConvTranspose",
        "ConvInteger",
        "MaxPool",
        "AveragePool",
        "LpPool",
        "MaxUnpool",
        "Resize",
        "LRN",
        "GroupNormalization",
        "LpNormalization",
        "RNN",
        "GRU",
        "LSTM",
    ];
    for name in operators {
        for _ in 0..3000 {
            let n = 1 + random.below(2) as usize;
            let mut size = || random.of(&[0, 1, 1, 2, 2, 3]);
            let spatial: Vec<u64> = (0..n).map(|_| size()).collect();
            let dims = [&[size(), 2], &spatial[..]].concat();
            let weight = [&[2, random.of(&[1, 2])], &spatial[..]].concat();
            let tensor = |dims: &[u64]| match name {
                "ConvInteger" => {
                    let len = element_count(dims).unwrap() as usize;
                    Tensor::dense(ElemType::INT8, dims, vec![3; len]).unwrap()
                }
                _ => Tensor::from_f32(dims, &vec![1.5; element_count(dims).unwrap() as usize]),
            };
            let mut nonsense = call(name, random.of(&[18, 21, 22])).max_bytes(MAX_BYTES);
            nonsense = nonsense.input(tensor(&dims));
            nonsense = match name {
                "MaxUnpool" => {
                    let places: Vec<i64> = (0..element_count(&dims).unwrap()).map(|_| random.integer()).collect();
                    nonsense.input(Tensor::from_i64(&dims, &places))
                }
                "Resize" => {
                    let scale = |_| random.of(&[f32::NAN, -1.0, 0.0, 1e-9, 0.7, 1.0, 2.5, 1e9, f32::INFINITY]);
                    let scales: Vec<f32> = (0..n + 2).map(scale).collect();
                    let sizes: Vec<i64> = (0..n + 2).map(|_| random.integer()).collect();
                    let (len, is_scaled) = (n as u64 + 2, random.below(2) == 0);
                    nonsense = nonsense.input(Tensor::from_f32(&[2 * len], &[0.5].repeat(2 * n + 4)));
                    match is_scaled {
                        true => nonsense.input(Tensor::from_f32(&[len], &scales)),
                        false => nonsense.absent().input(Tensor::from_i64(&[len], &sizes)),
                    }
                }
                "MaxPool" | "AveragePool" | "LpPool" => nonsense,
                _ => nonsense.input(tensor(&weight)).input(tensor(&weight)),
            };
            for list in ["kernel_shape", "strides", "dilations", "pads", "output_padding", "output_shape"] {
                let len = if list == "pads" { 2 * n } else { n };
                let values: Vec<i64> = (0..len).map(|_| random.integer()).collect();
                let likely = if list == "kernel_shape" { 2 } else { 3 };
                if random.below(likely) == 0 {
                    nonsense = nonsense.attr(list, values);
                }
            }
            let numbers =
                ["group", "ceil_mode", "size", "num_groups", "p", "axis", "layout", "hidden_size", "storage_order"];
            for number in numbers {
                if random.below(4) == 0 {
                    nonsense = nonsense.attr(number, random.integer());
                }
            }
            if random.below(3) == 0 {
                nonsense = nonsense.attr("auto_pad", random.of(&["SAME_UPPER", "SAME_LOWER", "VALID"]));
            }
            if random.below(2) == 0 {
                let mode = random.of(&["half_pixel_symmetric", "align_corners", "asymmetric", "tf_crop_and_resize"]);
                nonsense = nonsense.attr("coordinate_transformation_mode", mode);
                nonsense = nonsense.attr("mode", random.of(&["nearest", "linear", "cubic"]));
                nonsense = nonsense.attr("antialias", random.of(&[0, 1]));
            }
            for output in nonsense.outputs(random.below(4) as u32).eval_all().unwrap_or_default() {
                assert!(output.as_dense().is_none() || output.byte_len() <= MAX_BYTES, "{name}: {output:?}");
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

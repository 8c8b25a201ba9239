//! Plain loops for operators whose evaluators refuse what runtimes may compute differently; sums are in double precision.

use relais_conformance::{
    bench::{LinkedItems, Passes},
    interpret::Compute,
};
use relais_plugin_api::{diagnostics::PassError, infer::Operators, ir::*, options::Value, pass::Requirement};

/// The passes and evaluators that are linked, and these loops.
pub struct Judge;

impl Compute for Judge {
    fn with_ops(&self, function: &Function, body: &mut dyn FnMut(&mut dyn Operators)) {
        LinkedItems.with_ops(function, body);
    }

    fn known(&self, call: CallView<'_>, inputs: &[Option<Tensor>]) -> Option<Tensor> {
        evaluate(call, inputs)
    }
}

impl Passes for Judge {
    fn required(&self, pass: &str) -> Result<Vec<Requirement>, PassError> {
        LinkedItems.required(pass)
    }

    fn make(&self, pass: &str, options: &Value) -> Result<(), PassError> {
        LinkedItems.make(pass, options)
    }

    fn run(&self, pass: &str, options: &Value, module: &IRModule) -> Result<Option<IRModule>, PassError> {
        LinkedItems.run(pass, options, module)
    }

    fn run_in(
        &self,
        pass: &str,
        options: &Value,
        config: &[(String, Value)],
        module: &IRModule,
    ) -> Result<Option<IRModule>, PassError> {
        LinkedItems.run_in(pass, options, config, module)
    }

    fn changes_interface(&self, pass: &str, options: &Value) -> bool {
        LinkedItems.changes_interface(pass, options)
    }
}

/// The value of a call of `Conv`, `ConvTranspose`, `Gemm` or `BatchNormalization` on floats, or of an inference `Dropout`; `None` for any other call, and for attributes that no filetest needs.
fn evaluate(call: CallView<'_>, inputs: &[Option<Tensor>]) -> Option<Tensor> {
    if call.op_name() == "Dropout" && call.n_results().is_none() && inputs.len() < 3 {
        return inputs.first()?.clone();
    }
    let elem = inputs.first()?.as_ref()?.elem();
    let inputs: Vec<Option<Array>> = inputs.iter().map(|input| Array::of(input.as_ref()?)).collect();
    let result = match call.op_name() {
        "Conv" => conv(call, &inputs),
        "ConvTranspose" => conv_transpose(call, &inputs),
        "Gemm" => gemm(call, &inputs),
        "BatchNormalization" => batch_norm(call, &inputs),
        _ => None,
    };
    result?.into_tensor(elem)
}

struct Array {
    dims: Vec<usize>,
    data: Vec<f64>,
}

impl Array {
    fn of(tensor: &Tensor) -> Option<Self> {
        let dims = tensor.dims().iter().map(|&dim| dim as usize).collect();
        Some(Self { dims, data: tensor.to_f64s()? })
    }

    fn into_tensor(self, elem: ElemType) -> Option<Tensor> {
        let dims: Vec<u64> = self.dims.iter().map(|&dim| dim as u64).collect();
        Tensor::from_f64s(elem, &dims, &self.data)
    }
}

fn input(inputs: &[Option<Array>], index: usize) -> Option<&Array> {
    inputs.get(index)?.as_ref()
}

/// Two spatial dimensions, stride 1, no padding.
fn conv(call: CallView<'_>, inputs: &[Option<Array>]) -> Option<Array> {
    let (x, w) = (input(inputs, 0)?, input(inputs, 1)?);
    let (&[n, c, h, v], &[m, cg, kh, kv]) = (x.dims.as_slice(), w.dims.as_slice()) else { return None };
    if ["strides", "pads", "dilations"].iter().any(|name| call.attrs().get(name).is_some()) {
        return None;
    }
    let group = call.attrs().int("group").unwrap_or(1) as usize;
    let (oh, ov) = (h + 1 - kh, v + 1 - kv);
    let mut data = Vec::new();
    for b in 0..n {
        for o in 0..m {
            let first = o / (m / group) * cg;
            for i in 0..oh {
                for j in 0..ov {
                    let mut sum = input(inputs, 2).map_or(0.0, |bias| bias.data[o]);
                    for k in 0..cg {
                        for p in 0..kh {
                            for q in 0..kv {
                                let at = ((b * c + first + k) * h + i + p) * v + j + q;
                                sum += x.data[at] * w.data[((o * cg + k) * kh + p) * kv + q];
                            }
                        }
                    }
                    data.push(sum);
                }
            }
        }
    }
    Some(Array { dims: vec![n, m, oh, ov], data })
}

/// Kernels of one element, stride 1.
fn conv_transpose(call: CallView<'_>, inputs: &[Option<Array>]) -> Option<Array> {
    let (x, w) = (input(inputs, 0)?, input(inputs, 1)?);
    let (&[n, c, h, v], &[_, mg, 1, 1]) = (x.dims.as_slice(), w.dims.as_slice()) else { return None };
    if ["strides", "pads", "dilations", "output_padding"].iter().any(|name| call.attrs().get(name).is_some()) {
        return None;
    }
    let group = call.attrs().int("group").unwrap_or(1) as usize;
    let (m, cg) = (mg * group, c / group);
    let mut data = Vec::new();
    for b in 0..n {
        for o in 0..m {
            for at in 0..h * v {
                let mut sum = input(inputs, 2).map_or(0.0, |bias| bias.data[o]);
                for k in 0..cg {
                    let channel = o / mg * cg + k;
                    sum += x.data[(b * c + channel) * h * v + at] * w.data[channel * mg + o % mg];
                }
                data.push(sum);
            }
        }
    }
    Some(Array { dims: vec![n, m, h, v], data })
}

fn gemm(call: CallView<'_>, inputs: &[Option<Array>]) -> Option<Array> {
    let (a, b) = (input(inputs, 0)?, input(inputs, 1)?);
    let (&[m, k], &[r, c]) = (a.dims.as_slice(), b.dims.as_slice()) else { return None };
    let attrs = call.attrs();
    if attrs.int("transA").unwrap_or(0) != 0 {
        return None;
    }
    let is_transposed = attrs.int("transB").unwrap_or(0) != 0;
    let n = if is_transposed { r } else { c };
    let (alpha, beta) = (attrs.float("alpha").unwrap_or(1.0), attrs.float("beta").unwrap_or(1.0));
    let mut data = Vec::new();
    for i in 0..m {
        for j in 0..n {
            let at = |l: usize| if is_transposed { j * k + l } else { l * n + j };
            let sum: f64 = (0..k).map(|l| a.data[i * k + l] * b.data[at(l)]).sum();
            let bias = match input(inputs, 2) {
                None => 0.0,
                Some(bias) if bias.data.len() == n => bias.data[j],
                Some(bias) if bias.data.len() == 1 => bias.data[0],
                Some(_) => return None,
            };
            data.push(f64::from(alpha) * sum + f64::from(beta) * bias);
        }
    }
    Some(Array { dims: vec![m, n], data })
}

fn batch_norm(call: CallView<'_>, inputs: &[Option<Array>]) -> Option<Array> {
    let [x, scale, bias, mean, variance] = [0, 1, 2, 3, 4].map(|at| input(inputs, at));
    let (x, scale, bias, mean, variance) = (x?, scale?, bias?, mean?, variance?);
    if call.attrs().int("training_mode").unwrap_or(0) != 0 {
        return None;
    }
    let epsilon = f64::from(call.attrs().float("epsilon").unwrap_or(1e-5));
    let n_channels = scale.data.len();
    let inner: usize = x.dims.iter().skip(2).product();
    let value = |(at, &x): (usize, &f64)| {
        let c = at / inner % n_channels;
        (x - mean.data[c]) / (variance.data[c] + epsilon).sqrt() * scale.data[c] + bias.data[c]
    };
    Some(Array { dims: x.dims.clone(), data: x.data.iter().enumerate().map(value).collect() })
}

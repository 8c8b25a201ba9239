//! The node cases of the `onnx` package, with its inputs and expected outputs, node by node.
//!
//! The judge writes them as text (`tests/judge/spelled.py` defines the form).

#[expect(dead_code, reason = "the evaluators' own tests use the rest")]
#[path = "../../../plugins/evaluator/tests/all/common/mod.rs"]
mod common;

pub use common::{Call, call};
use relais_plugin_api::ir::*;
use relais_tests::{cli::folder, venv::judge};
use std::{collections::BTreeMap, sync::LazyLock};

/// Operators whose last digits ONNX leaves to the implementation.
pub const INEXACT: &[&str] = &[
    "Acos",
    "Acosh",
    "Asin",
    "Asinh",
    "Atan",
    "Atanh",
    "AveragePool",
    "BatchNormalization",
    "BlackmanWindow",
    "Celu",
    "Conv",
    "ConvTranspose",
    "Cos",
    "Cosh",
    "CumProd",
    "CumSum",
    "Einsum",
    "Elu",
    "Erf",
    "Exp",
    "GRU",
    "Gelu",
    "Gemm",
    "GlobalAveragePool",
    "GlobalLpPool",
    "GroupNormalization",
    "HammingWindow",
    "HannWindow",
    "HardSigmoid",
    "HardSwish",
    "InstanceNormalization",
    "LRN",
    "LSTM",
    "LayerNormalization",
    "Log",
    "LogSoftmax",
    "LpNormalization",
    "LpPool",
    "MatMul",
    "Mean",
    "MeanVarianceNormalization",
    "Mish",
    "Mod",
    "NegativeLogLikelihoodLoss",
    "Pow",
    "RMSNormalization",
    "RNN",
    "Range",
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSum",
    "ReduceLogSumExp",
    "ReduceMean",
    "ReduceProd",
    "ReduceSum",
    "ReduceSumSquare",
    "Resize",
    "Selu",
    "Sigmoid",
    "Sin",
    "Sinh",
    "Softmax",
    "SoftmaxCrossEntropyLoss",
    "Softplus",
    "Softsign",
    "Sum",
    "SwiGLU",
    "Swish",
    "Tan",
    "Tanh",
    "Upsample",
];

/// A call.
pub struct Node {
    pub op: String,
    pub version: i64,
    pub n_outputs: u32,
    pub inputs: Vec<String>,
    pub outputs: Vec<String>,
    pub attrs: Vec<(String, AttrData)>,
}

/// Calls, the values that they begin with, and those that are expected.
#[derive(Default)]
pub struct Case {
    pub name: String,
    pub values: BTreeMap<String, Tensor>,
    pub nodes: Vec<Node>,
    pub expected: Vec<(String, Tensor)>,
}

fn items(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').filter(move |_| text != "-")
}

fn hex(text: &str) -> Vec<u8> {
    let text = if text == "-" { "" } else { text };
    (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap()).collect()
}

fn tensor(words: &[&str]) -> Tensor {
    let dims: Vec<u64> = items(words[1]).map(|dim| dim.parse().unwrap()).collect();
    Tensor::dense(ElemType(words[0].parse().unwrap()), &dims, hex(words[2])).unwrap()
}

fn float(text: &str) -> f32 {
    f32::from_bits(u32::from_str_radix(text, 16).unwrap())
}

fn attr(words: &[&str]) -> (String, AttrData) {
    let value = match words[0] {
        "int" => AttrData::Int(words[2].parse().unwrap()),
        "float" => AttrData::Float(float(words[2])),
        "string" => AttrData::String(hex(words[2])),
        "ints" => AttrData::Ints(items(words[2]).map(|v| v.parse().unwrap()).collect()),
        "floats" => AttrData::Floats(items(words[2]).map(float).collect()),
        "strings" => AttrData::Strings(items(words[2]).map(hex).collect()),
        "tensor" => AttrData::Tensor(tensor(&words[2..])),
        other => panic!("attribute kind {other}"),
    };
    (words[1].to_owned(), value)
}

fn read(text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        if words[0] == "case" {
            cases.push(Case { name: words[1].into(), ..Case::default() });
            continue;
        }
        let case = cases.last_mut().unwrap();
        match words[0] {
            "value" => drop(case.values.insert(words[1].into(), tensor(&words[2..]))),
            "expect" => case.expected.push((words[1].into(), tensor(&words[2..]))),
            "node" => case.nodes.push(Node {
                op: words[1].into(),
                version: words[2].parse().unwrap(),
                n_outputs: words[3].parse().unwrap(),
                inputs: items(words[4]).map(str::to_owned).collect(),
                outputs: items(words[5]).map(str::to_owned).collect(),
                attrs: Vec::new(),
            }),
            "attr" => case.nodes.last_mut().unwrap().attrs.push(attr(&words[1..])),
            "end" => {}
            other => panic!("item {other}"),
        }
    }
    cases
}

fn as_doubles(tensor: &Tensor) -> Option<Vec<f64>> {
    let cast = call("Cast", 25).attr("to", i64::from(ElemType::DOUBLE.0)).input(tensor.clone());
    tensor
        .elem()
        .is_float()
        .then(|| cast.eval().to_bytes().chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect())
}

/// How far results may be from what is expected.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Tolerance {
    Exact,
    /// A few units in the last place.
    Digits,
    /// That of the `onnx` package's own runner of the cases.
    Suite,
}

/// Why the results differ. NaNs are all equal, and so are zeros, because ONNX does not specify which one results.
pub fn difference(found: &Tensor, expected: &Tensor, tolerance: Tolerance) -> Option<String> {
    if found == expected {
        return None;
    }
    if (found.elem(), found.dims()) != (expected.elem(), expected.dims()) {
        return Some(format!("{found:?} instead of {expected:?}"));
    }
    let (Some(a), Some(b)) = (as_doubles(found), as_doubles(expected)) else {
        return Some(format!("{:?} instead of {:?}", short(found), short(expected)));
    };
    let digits = match found.elem() {
        _ if tolerance == Tolerance::Suite => 1e-3,
        ElemType::DOUBLE => 1e-13,
        ElemType::FLOAT => 2e-6,
        ElemType::FLOAT16 => 2e-3,
        _ => 2e-2,
    };
    let close = |a: f64, b: f64| {
        a == b
            || (a.is_nan() && b.is_nan())
            || (tolerance != Tolerance::Exact && (a - b).abs() <= digits * b.abs().max(1e-1))
    };
    let at = (0..a.len()).find(|&i| !close(a[i], b[i]))?;
    Some(format!("element {at} is {:e} instead of {:e}", a[at], b[at]))
}

fn short(tensor: &Tensor) -> String {
    let bytes = tensor.to_bytes();
    format!("{:?}", &bytes[..bytes.len().min(64)])
}

/// All cases.
pub fn cases() -> &'static [Case] {
    static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| {
        let path = folder("spelled").join("cases.txt");
        judge(["spelled".as_ref(), path.as_os_str()]);
        read(&std::fs::read_to_string(path).unwrap())
    });
    &CASES
}

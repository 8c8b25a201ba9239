//! Calls of evaluators, made by hand.

use relais_evaluator::evaluators;
use relais_plugin_api::{
    ir::*,
    op::{Evaluation, OpError},
};

/// A call of an operator.
pub struct Call {
    op: String,
    version: i64,
    inputs: Vec<Option<Tensor>>,
    attrs: Vec<Attr>,
    n_outputs: u32,
    max_bytes: u64,
    is_lenient: bool,
}

/// A call of `op` as of a version of the operator set.
pub fn call(op: &str, version: i64) -> Call {
    Call {
        op: op.into(),
        version,
        inputs: Vec::new(),
        attrs: Vec::new(),
        n_outputs: 1,
        max_bytes: 1 << 26,
        is_lenient: false,
    }
}

impl Call {
    pub fn input(mut self, tensor: Tensor) -> Self {
        self.inputs.push(Some(tensor));
        self
    }

    pub fn absent(mut self) -> Self {
        self.inputs.push(None);
        self
    }

    pub fn attr(mut self, name: &str, value: impl Into<AttrData>) -> Self {
        self.attrs.push(Attr::new(name.to_owned(), value));
        self
    }

    pub fn outputs(mut self, n: u32) -> Self {
        self.n_outputs = n;
        self
    }

    pub fn max_bytes(mut self, max: u64) -> Self {
        self.max_bytes = max;
        self
    }

    pub fn lenient(mut self) -> Self {
        self.is_lenient = true;
        self
    }

    /// Evaluates the call; `None` when nothing evaluates the operator.
    pub fn try_eval(self) -> Option<Result<Vec<Tensor>, OpError>> {
        let known = evaluators().filter(|e| e.name == self.op && i64::from(e.since_version) <= self.version);
        let evaluator = known.max_by_key(|e| e.since_version)?;
        let mut function = Function::new();
        let op = function.add_op("", &self.op, "", 0);
        let args: Vec<NodeId> = self.inputs.iter().map(|_| NodeId::ABSENT).collect();
        let callee = function.op(op).node;
        let n_results = (self.n_outputs != 1).then_some(self.n_outputs as u16);
        let call = function.add_call_with(callee, &args, &[], n_results);
        function.set_attrs(call, &self.attrs);
        let Self { version, inputs, max_bytes, is_lenient, .. } = &self;
        let evaluation = Evaluation {
            function: &function,
            call,
            version: *version,
            inputs,
            max_bytes: *max_bytes,
            is_lenient: *is_lenient,
        };
        Some(evaluation.call(evaluator.eval))
    }

    pub fn eval_all(self) -> Result<Vec<Tensor>, OpError> {
        self.try_eval().expect("an evaluator")
    }

    pub fn eval(self) -> Tensor {
        self.eval_all().unwrap().remove(0)
    }

    /// The message of a call that is invalid.
    #[track_caller]
    pub fn invalid(self) -> String {
        let error = self.eval_all().unwrap_err();
        assert_eq!(error.kind, 0, "{error}");
        error.to_string()
    }

    /// The message of a call that is not covered.
    #[track_caller]
    pub fn unsupported(self) -> String {
        let error = self.eval_all().unwrap_err();
        assert_eq!(error.kind, 1, "{error}");
        error.to_string()
    }
}

pub fn f64s(dims: &[u64], values: &[f64]) -> Tensor {
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    raw(ElemType::DOUBLE, dims, &bytes)
}

/// A tensor of 32-bit floats.
pub fn f32s(dims: &[u64], values: &[f32]) -> Tensor {
    Tensor::from_f32(dims, values)
}

/// A tensor of 64-bit integers.
pub fn i64s(dims: &[u64], values: &[i64]) -> Tensor {
    Tensor::from_i64(dims, values)
}

/// A list of 64-bit integers.
pub fn list(values: &[i64]) -> Tensor {
    Tensor::from_i64(&[values.len() as u64], values)
}

/// A tensor of truth values.
pub fn bools(dims: &[u64], values: &[u8]) -> Tensor {
    Tensor::dense(ElemType::BOOL, dims, values.to_vec()).unwrap()
}

/// A tensor of any element type.
pub fn raw(elem: ElemType, dims: &[u64], bytes: &[u8]) -> Tensor {
    Tensor::dense(elem, dims, bytes.to_vec()).unwrap()
}

/// A list of strings.
pub fn strings(values: &[&str]) -> Tensor {
    let encode = |string: &&str| [&(string.len() as u32).to_le_bytes(), string.as_bytes()].concat();
    Tensor::dense(ElemType::STRING, &[values.len() as u64], values.iter().flat_map(encode).collect::<Vec<u8>>())
        .unwrap()
}

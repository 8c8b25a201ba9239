//! Testing operators: type relations, evaluators, bodies and verifiers accept everything that a model may contain, and
//! agree with each other; kernels compute what these do; and forms of calls in other layouts compute the same.

mod forms;
mod kernels;

use super::{
    Settings,
    bench::{AttrShape, Bench, OpShape},
    journal::Log,
    judge::printed,
    random::Random,
    report::{Finding, Judged, Kind},
};
use relais_ir::wild::{self, Tape};
use relais_plugin_api::{
    infer::{Operators, infer_node},
    ir::*,
    op::{OpError, known_value, op_error_kind},
    text,
};
use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

/// How many calls of an operator are tried for each module that a pass is tried on.
const CALLS: usize = 4;

/// The most bytes that an evaluator may make.
const MAX_BYTES: u64 = 1 << 16;

/// The most that one call may take.
const MAX_TIME: Duration = Duration::from_secs(1);

/// Judges one operator.
pub fn judge_operator(bench: &dyn Bench, settings: &Settings, log: &dyn Log, op: &OpShape) -> Judged {
    let subject = format!("operator {}", op.full_name());
    let start = Instant::now();
    let judged = Judged { subject: subject.clone(), ..Judged::default() };
    let mut trial = Trial { bench, settings, log, op, subject, found: BTreeSet::new(), judged };
    if op.judges_kernel {
        trial.given();
    }
    for at in 0..CALLS * settings.n_modules {
        let mut random = Random::of(settings.seed, &op.full_name(), at as u64);
        let bytes = random.bytes(64 + at % 192);
        trial.case(&bytes, at);
    }
    if op.judges_kernel && trial.judged.n_kernels == 0 && trial.found.is_empty() {
        trial.no_kernel();
    }
    Judged { time: start.elapsed(), ..trial.judged }
}

struct Trial<'a> {
    bench: &'a dyn Bench,
    settings: &'a Settings,
    log: &'a dyn Log,
    op: &'a OpShape,
    subject: String,
    found: BTreeSet<Kind>,
    judged: Judged,
}

impl Trial<'_> {
    fn case(&mut self, bytes: &[u8], at: usize) {
        let tape = &mut Tape::new(bytes);
        let f = call(tape, self.op, at);
        let module = shown(&f);
        self.log.case(&self.subject, "", &module);
        self.judged.n_cases += 1;
        let bench = self.bench;
        bench.with_ops(&Function::new(), &mut |ops| {
            let start = Instant::now();
            let faults = self.check(&f, ops);
            let time = start.elapsed();
            if time > MAX_TIME {
                self.find(Kind::Slow, format!("{time:.1?} for one call"), &module);
            }
            for (kind, message) in faults {
                self.find(kind, message, &module);
            }
            if !self.op.judges_layouts {
                return;
            }
            if let Some((message, module)) = forms::differ(tape, self.op, at, ops, &mut self.judged.n_compared) {
                self.find(Kind::Numbers, message, &module);
            }
        });
        if self.op.judges_kernel && at.is_multiple_of(CALLS) && self.found.is_empty() {
            self.log.beat();
            // Facts apart from those above, which are about a call in another version.
            bench.with_ops(&Function::new(), &mut |ops| {
                let which = (self.op, at / CALLS);
                let fault = kernels::faults(tape, which, ops, self.settings.tolerance, &mut self.judged);
                if let Some((kind, message, module)) = fault {
                    self.find(kind, message, &module);
                }
            });
        }
    }

    /// Tries the kernels of the calls in the author's modules.
    fn given(&mut self) {
        let modules = self.settings.modules.iter().filter_map(|text| text::parse_str(text).ok());
        for module in modules {
            for at in 0..CALLS * CALLS {
                self.log.case(&self.subject, "", &printed(&module));
                let bytes = Random::of(self.settings.seed, &self.op.full_name(), at as u64).bytes(64 << (at % CALLS));
                let (tape, which) = (&mut Tape::new(&bytes), (self.op, at));
                let (tolerance, judged) = (self.settings.tolerance, &mut self.judged);
                if let Some((kind, message, text)) =
                    kernels::faults_in(&module, tape, which, self.bench, tolerance, judged)
                {
                    return self.find(kind, message, &text);
                }
            }
        }
    }

    /// Notes that no kernel ran.
    fn no_kernel(&mut self) {
        let why = self.judged.not_evaluated.remove("its kernel");
        let why = why.unwrap_or_else(|| "it took none of the calls that were made up".to_owned());
        self.judged.rules_not_judged.push(format!("its kernel ({why})"));
        if self.settings.is_strict {
            let help = "`Kit::module`, or `--module FILE`, takes a module that calls it";
            self.find(Kind::NotJudged, format!("its kernel was not judged: {why}; {help}"), "");
        }
    }

    fn find(&mut self, kind: Kind, message: String, module: &str) {
        if self.found.insert(kind) {
            let (subject, module) = (self.subject.clone(), module.to_owned());
            self.log.finding(&Finding { subject, kind, message, options: String::new(), module });
        }
    }

    fn check(&mut self, f: &Function, ops: &mut dyn Operators) -> Vec<(Kind, String)> {
        let mut typed = f.clone();
        let node = node_of(f);
        let at_fault = |error: &OpError, what: &str| match error.kind {
            op_error_kind::LIED => (Kind::Types, format!("of {what}: {error}")),
            _ => (Kind::Panic, format!("{what} panics: {error}")),
        };
        if self.op.judges_infer {
            match infer_node(&mut typed, ops, node) {
                Err(error) if error.is_broken() => return vec![at_fault(&error, "the type relation")],
                Err(_) => {}
                Ok(()) => self.judged.n_changed += 1,
            }
            let mut again = f.clone();
            // The same error, or the same types.
            if infer_node(&mut again, ops, node).is_ok() {
                let same = (typed.type_id(node) == again.type_id(node)).then_some(());
                let same = same.filter(|()| known_value(&typed, node) == known_value(&again, node));
                if same.is_none() {
                    return vec![(Kind::NotDeterministic, "the type relation gives other types again".into())];
                }
            }
        }
        if self.op.judges_verify {
            let op = f.call(node).and_then(CallView::op).expect("an operator is called");
            ops.version(f, op);
            let mut verify = || ops.verify(f, node, op).unwrap_or(Ok(()));
            let said = verify();
            match &said {
                Err(error) if error.is_broken() => return vec![at_fault(error, "the verifier")],
                Err(_) => self.judged.n_changed += 1,
                Ok(()) => {}
            }
            if verify() != said {
                return vec![(Kind::NotDeterministic, "the verifier says something else again".into())];
            }
        }
        if !self.op.judges_eval {
            return Vec::new();
        }
        self.log.beat();
        let call = f.call(node).expect("the node is a call");
        let inputs: Vec<Option<Tensor>> = call.args().iter().map(|&arg| f.constant(arg).cloned()).collect();
        let op = call.op().expect("the callee is an operator");
        let mut evaluate = || ops.evaluate(op, f, node, &inputs, MAX_BYTES);
        let results = match evaluate() {
            None => return Vec::new(),
            Some(Err(error)) if error.is_broken() => return vec![at_fault(&error, "the evaluator or the body")],
            Some(Err(_)) => return Vec::new(),
            Some(Ok(results)) => results,
        };
        self.judged.n_compared += 1;
        let is_random = ops.effects(op).contains(relais_plugin_api::op::Effects::RANDOM);
        let again = ops.evaluate(op, f, node, &inputs, MAX_BYTES);
        if !is_random && again.as_ref().and_then(|again| again.as_ref().ok()).is_none_or(|again| !same(again, &results))
        {
            return vec![(Kind::NotDeterministic, "the evaluator gives other results again".into())];
        }
        Vec::new()
    }
}

fn same(a: &[Tensor], b: &[Tensor]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.elem() == b.elem() && a == b)
}

/// The text of a function that may be too malformed to have one.
fn shown(f: &Function) -> String {
    let mut module = IRModule::new();
    module.set_function(MAIN, f.clone());
    printed(&module)
}

fn node_of(f: &Function) -> NodeId {
    *f.bindings(f.body()).last().expect("the function ends in the call")
}

/// A function with one call of the operator: on constants, or on parameters of any type.
fn call(tape: &mut Tape<'_>, op: &OpShape, at: usize) -> Function {
    let mut f = Function::new();
    f.set_opset_imports(&[(op.domain.as_str(), i64::from(op.since.max(1)) + [0, 0, 1, 5][tape.below(4)])]);
    let (fewest, most) = (usize::from(op.inputs.0), usize::from(op.inputs.1));
    // Now and then one too few, or one too many.
    let n_args = match tape.below(8) {
        0 => fewest.saturating_sub(1),
        1 => most.min(fewest + 4) + 1,
        _ => fewest + tape.below(most.saturating_sub(fewest).min(3) + 1),
    };
    let is_wild = at % 3 == 2;
    let first = tensor(tape, None);
    let mut params = Vec::new();
    let mut args = Vec::new();
    for nth in 0..n_args {
        let arg = match (is_wild, tape.below(8)) {
            (_, 0) if nth >= fewest => NodeId::ABSENT,
            (true, 0..4) => {
                let ty = wild::ty(&mut f, tape, 0);
                let var = f.add_var(&format!("x{nth}"), ty);
                params.push(var);
                var
            }
            (true, _) => constant(&mut f, wild::tensor(tape)),
            (false, _) if nth == 0 => constant(&mut f, first.clone()),
            (false, _) => {
                let tensor = tensor(tape, Some(&first));
                constant(&mut f, tensor)
            }
        };
        args.push(arg);
    }
    f.set_params(f.root(), &params);
    let n_results = match (op.outputs, tape.below(4)) {
        ((0 | 1, 1), _) => None,
        ((fewest, most), n) => Some((u16::try_from(n).unwrap_or(0) + fewest.max(1)).min(most)),
    };
    let id = f.add_op(&op.domain, &op.name, "", 0);
    let callee = f.op(id).node;
    let node = f.add_call_with(callee, &args, &[], n_results);
    let recs: Vec<AttrRec> = op.attrs.iter().filter_map(|attr| attribute(tape, &mut f, attr, is_wild)).collect();
    f.set_attr_recs(node, &recs);
    let body = f.body();
    f.append(body, node);
    f.set_results(body, &[node]);
    f
}

fn constant(f: &mut Function, tensor: Tensor) -> NodeId {
    let node = f.add_constant(tensor, ConstForm::ANY);
    let body = f.body();
    f.append(body, node);
    node
}

/// A small tensor, perhaps of the element type of another.
fn tensor(tape: &mut Tape<'_>, like: Option<&Tensor>) -> Tensor {
    const ELEMS: [ElemType; 8] = [
        ElemType::FLOAT,
        ElemType::INT64,
        ElemType::BOOL,
        ElemType::UINT8,
        ElemType::INT32,
        ElemType::DOUBLE,
        ElemType::FLOAT16,
        ElemType::INT8,
    ];
    const SHAPES: [&[u64]; 12] =
        [&[2, 3], &[3], &[], &[2], &[1], &[4], &[2, 1], &[1, 2, 3, 3], &[0, 2], &[3, 2], &[1, 1, 2], &[2, 2, 2]];
    let elem = match (like, tape.below(3)) {
        (Some(like), 0 | 1) => like.elem(),
        (Some(_), _) => ElemType::INT64,
        (None, _) => ELEMS[tape.below(ELEMS.len())],
    };
    let dims = match (like, tape.below(3)) {
        (Some(like), 0) => like.dims().to_vec(),
        _ => SHAPES[tape.below(SHAPES.len())].to_vec(),
    };
    tensor_of(tape, elem, &dims)
}

fn tensor_of(tape: &mut Tape<'_>, elem: ElemType, dims: &[u64]) -> Tensor {
    let count = element_count(dims).unwrap_or(0);
    let values: Vec<i64> = (0..count).map(|_| [0, 1, 2, -1, 3, 1, -2, 7][tape.below(8)]).collect();
    let bytes: Vec<u8> = values.iter().flat_map(|&value| bytes_of(elem, value)).collect();
    Tensor::dense(elem, dims, bytes).unwrap_or_else(|_| Tensor::from_i64(dims, &values))
}

fn bytes_of(elem: ElemType, value: i64) -> Vec<u8> {
    if elem == ElemType::BOOL {
        return vec![u8::from(value > 0)];
    }
    match Tensor::from_f64s(elem, &[], &[value as f64]) {
        Some(float) => float.to_bytes().into_owned(),
        None => value.to_le_bytes().into_iter().take(elem.bits() as usize / 8).collect(),
    }
}

fn attribute(tape: &mut Tape<'_>, f: &mut Function, attr: &AttrShape, is_wild: bool) -> Option<AttrRec> {
    if tape.chance(if attr.is_required { 8 } else { 2 }) {
        return None;
    }
    let n = tape.below(5);
    // Of any kind, now and then, and out of any range.
    let kind = if is_wild && tape.chance(4) { 1 + tape.below(8) as u8 } else { attr.kind };
    let int = |tape: &mut Tape<'_>| match tape.below(if is_wild { 6 } else { 4 }) {
        0 => 0,
        1 => 1,
        2 => -1,
        3 => [2, 3, 7, 10, 6, 11, -2, 4][tape.below(8)],
        4 => i64::MIN,
        _ => i64::MAX,
    };
    let float = |tape: &mut Tape<'_>| [1.0, 0.0, 0.5, -2.0, f32::NAN, f32::INFINITY][tape.below(6)];
    let value = match kind {
        attr_kind::FLOAT => AttrData::Float(float(tape)),
        attr_kind::INT => AttrData::Int(int(tape)),
        attr_kind::STRING => AttrData::String(["a", "", "é", "reflect"][tape.below(4)].as_bytes().to_vec()),
        attr_kind::TENSOR if is_wild => AttrData::Tensor(wild::tensor(tape)),
        attr_kind::TENSOR => AttrData::Tensor(tensor(tape, None)),
        attr_kind::FLOATS => AttrData::Floats((0..n).map(|_| float(tape)).collect()),
        attr_kind::INTS => AttrData::Ints((0..n).map(|_| int(tape)).collect()),
        attr_kind::STRINGS => AttrData::Strings(vec![b"a".to_vec(); n]),
        _ => return None,
    };
    Some(f.encode_attr(&Attr::new(attr.name.clone(), value)))
}

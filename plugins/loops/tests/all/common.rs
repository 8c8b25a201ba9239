//! Building programs, running passes on them, and showing what comes out.

// Linked, so that its passes are registered.
use relais_loops as _;

use relais_plugin_api::{
    boundary::local,
    ir::{Walk, WalkStep, element_count, kind, verify, verify_arena},
    prelude::*,
    prim::{CoreOp, LoopOps, PrimBuilder, RunOptions, n_outputs, prim_func, run as run_prim},
};
use std::{collections::HashMap, fmt::Write};

pub const F32: ElemType = ElemType::FLOAT;

/// A prim func with the inputs `x` (8 floats), `n` and `m` (integers) and the outputs `y` and `z` (64 floats).
pub fn program(body: impl FnOnce(&mut PrimBuilder<'_>, [NodeId; 5])) -> Function {
    let integer: (ElemType, &[u64]) = (ElemType::INT64, &[]);
    let inputs: [(&str, ElemType, &[u64]); 3] =
        [("x", F32, &[8]), ("n", integer.0, integer.1), ("m", integer.0, integer.1)];
    let mut f = prim_func(&inputs, &[("y", F32, &[64]), ("z", F32, &[64])]);
    let params: [NodeId; 5] = f.params().try_into().unwrap();
    let mut b = PrimBuilder::new(&mut f);
    body(&mut b, params);
    b.finish().unwrap();
    f
}

/// A prim func after a pass.
pub struct Ran {
    pub function: Function,
    pub changed: bool,
    pub changed_again: bool,
    /// Whether the program ran to its end, so that what it computes was compared.
    pub is_compared: bool,
    pub text: String,
}

/// Runs a pass on a prim func, and again on what it made of it. The program computes the same.
pub fn try_run(pass: &str, f: Function, config: &[(String, Value)]) -> Result<Ran, PassError> {
    try_run_with(pass, &Value::Struct(Vec::new()), f, config)
}

/// The same with options.
pub fn try_run_with(pass: &str, options: &Value, f: Function, config: &[(String, Value)]) -> Result<Ran, PassError> {
    let mut module = IRModule::new();
    module.set_prim_func("k", f);
    module.set_prim_func("other", prim_func(&[("a", F32, &[64])], &[("b", F32, &[64])]));
    module.set_prim_func("square", prim_func(&[], &[("a", F32, &[8, 8])]));
    assert_eq!(verify(&module), [], "the program is wrong");
    let run = |module: &IRModule| {
        let ran = local::run_in(pass, options, config, 0, module)?;
        assert_eq!(verify_arena(prim(&ran.module)), [], "`{pass}` broke the program");
        assert_eq!(verify(&ran.module), [], "`{pass}` broke the program:\n{}", shown(prim(&ran.module)));
        assert_eq!(ran.module.version() == module.version(), !ran.changed);
        Ok::<_, PassError>(ran)
    };
    let ran = run(&module)?;
    let again = run(&ran.module)?;
    let [before, after] = [&module, &ran.module].map(outputs);
    assert!(before.is_none() || before == after, "{before:?} becomes {after:?}\n{}", shown(prim(&ran.module)));
    let function = prim(&ran.module).clone();
    let text = shown(&function);
    let is_compared = before.is_some();
    Ok(Ran { is_compared, function, changed: ran.changed, changed_again: again.changed, text })
}

/// The bits of what the program computes; `None` if it does not come to its end soon, or has sizes that are not known.
#[expect(clippy::field_reassign_with_default, reason = "options may get more fields")]
fn outputs(module: &IRModule) -> Option<Vec<Vec<u8>>> {
    let f = prim(module);
    let inputs = &f.params()[..f.params().len() - n_outputs(f)];
    let inputs: Option<Vec<Tensor>> = inputs.iter().zip(2..).map(|(&param, seed)| input(f, param, seed)).collect();
    let mut options = RunOptions::default();
    options.fuel = 1 << 20;
    options.max_bytes = 1 << 24;
    let outputs = run_prim(module, "k", &inputs?, &options).ok()?;
    Some(outputs.iter().map(|tensor| tensor.to_bytes().into_owned()).collect())
}

/// A value for a parameter: integers are the seed, floats are all kinds of numbers.
fn input(f: &Function, param: NodeId, seed: u64) -> Option<Tensor> {
    let (elem, dims) = f.type_of(param).as_tensor()?;
    let dims: Vec<u64> = dims.iter().map(|&dim| Dim::from(dim).known()).collect::<Option<_>>()?;
    let n = element_count(&dims).filter(|&n| n < 1 << 20)?;
    let numbers = [1.5, -0.0, f64::INFINITY, 0.25, f64::NAN, -3.0, 1e-3];
    let values: Vec<f64> = (0..n)
        .map(|at| if elem.is_float() { numbers[((at + seed) % 7) as usize] } else { (seed % 2 + at % 2) as f64 + 1.0 })
        .collect();
    match elem {
        ElemType::BOOL => Tensor::dense(elem, &dims, (0..n).map(|at| (at % 2) as u8).collect::<Vec<u8>>()).ok(),
        ElemType::INT64 => Some(Tensor::from_i64(&dims, &values.iter().map(|&value| value as i64).collect::<Vec<_>>())),
        _ => Tensor::from_f64s(elem, &dims, &values),
    }
}

fn prim(module: &IRModule) -> &Function {
    module.global("k").and_then(|global| global.prim_func()).unwrap()
}

/// Runs a pass without options, which has to be done after one run.
#[track_caller]
pub fn run(pass: &str, f: Function) -> Ran {
    let ran = try_run(pass, f, &[]).unwrap();
    assert!(!ran.changed_again, "the second run changes it:\n{}", ran.text);
    ran
}

/// The program on one line: names of parameters, numbers of bindings in order, immediates.
pub fn shown(f: &Function) -> String {
    let ops = LoopOps::new(f);
    let mut names: HashMap<NodeId, String> = HashMap::new();
    let mut text = String::new();
    let mut walk = Walk::new(f);
    let mut n = 0;
    let mut number = |names: &mut HashMap<NodeId, String>, id: NodeId| {
        n += 1;
        names.insert(id, format!("%{n}"));
    };
    let name = |names: &HashMap<NodeId, String>, id: NodeId| match (f.imm(id), names.get(&id)) {
        (Some(imm), _) => match (imm.as_int(), imm.as_float()) {
            (Some(value), _) => value.to_string(),
            (_, Some(value)) => format!("{value:?}"),
            _ => (imm.bits() != 0).to_string(),
        },
        (_, Some(name)) => name.clone(),
        _ => f.name(id).to_owned(),
    };
    while let Some(step) = walk.next(f) {
        match step {
            WalkStep::Enter(block) => {
                let function = f.block(block).owner;
                if function == f.root() {
                    continue;
                }
                f.operands(function).iter().for_each(|&param| number(&mut names, param));
                let params: Vec<String> = f.operands(function).iter().map(|&param| name(&names, param)).collect();
                write!(text, "({}) {{ ", params.join(" ")).unwrap();
            }
            WalkStep::Exit(block) => {
                f.results(block).iter().for_each(|&id| write!(text, "{} ", name(&names, id)).unwrap());
                if f.block(block).owner != f.root() {
                    text.push_str("} ");
                }
            }
            WalkStep::Leave(_) => {}
            WalkStep::Binding(id) => {
                let op = ops.of(f, id);
                if f.type_of(id).as_tensor().is_some() || f.n_results(id).is_some() {
                    number(&mut names, id);
                    write!(text, "{} = ", name(&names, id)).unwrap();
                }
                let what = match (op, f.kind(id)) {
                    (Some(op), _) => op.name().to_owned(),
                    (None, kind::IF) => "if".to_owned(),
                    (None, kind::TUPLE_GET_ITEM) => format!("item{}", f.node(id).aux),
                    (None, kind::CONSTANT) => "const".to_owned(),
                    _ => "call".to_owned(),
                };
                text.push_str(&what);
                let skipped = usize::from(f.kind(id) == kind::CALL);
                let args = &f.operands(id)[skipped..f.operands(id).len() - f.n_regions(id)];
                args.iter().for_each(|&arg| write!(text, " {}", name(&names, arg)).unwrap());
                if let Some(shape) = f.attrs(id).ints("shape") {
                    write!(text, " {shape:?}").unwrap();
                }
                if op == Some(CoreOp::For)
                    && let Some(kind) = LoopOps::loop_kind(f, id)
                    && kind.name() != "serial"
                {
                    write!(text, " {}", kind.name()).unwrap();
                }
                text.push_str(if f.n_regions(id) > 0 { " " } else { "; " });
            }
        }
    }
    text.trim_end().to_owned()
}

/// Numbers that are the same for a seed.
pub struct Random(pub u64);

impl Random {
    /// A number below `n`.
    pub fn next(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }
}

/// The text of a program that is made at random.
pub struct Script {
    pub random: Random,
    pub text: String,
    n_names: usize,
}

impl Script {
    pub fn new(seed: u64) -> Self {
        Self { random: Random(seed), text: String::new(), n_names: 0 }
    }

    pub fn next(&mut self, n: usize) -> usize {
        self.random.next(n)
    }

    pub fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.next(all.len())]
    }

    /// A name that the program does not have.
    pub fn name(&mut self, stem: &str) -> String {
        self.n_names += 1;
        format!("%{stem}{}", self.n_names)
    }

    pub fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }
}

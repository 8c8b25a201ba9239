//! The result is the same for any number of threads.

use relais::{
    ir::{ConstForm, Dim, ElemType, Function, IRModule, Tensor},
    manager::{self, ManagerOptions},
    pass::Remarks,
    pipeline::{Disk, PipelineSpec},
    registry::{Choices, Linked, Registry},
};
use relais_plugin_api::text;

/// A function with work for passes: constants to fold, calls to merge, some of them unused, a call that its operator
/// refuses, and sizes that differ.
fn function(seed: usize) -> Function {
    let mut f = Function::new();
    f.set_opset_imports(&[("", 17)]);
    let ty = f.tensor_type(ElemType::FLOAT, &[Dim::Static(2), Dim::Static(3)]);
    let x = f.add_var("x", ty);
    f.set_params(f.root(), &[x]);
    let ops = ["Add", "Mul", "Relu", "Identity", "Neg", "MatMul"].map(|name| f.add_op("", name, "", 0));
    let mut values = vec![x];
    for step in 0..20 + seed % 17 {
        let pick = |salt: usize| values[(seed * 7 + step * 5 + salt) % values.len()];
        let (a, b) = (pick(0), pick(3));
        let id = match (seed + step) % 8 {
            0 => f.add_constant(Tensor::from_f32(&[2, 3], &[(step % 3) as f32; 6]), ConstForm::INITIALIZER),
            1 | 2 => f.add_call(ops[0], &[a, b]),
            3 => f.add_call(ops[1], &[a, b]),
            4 => f.add_call(ops[2], &[a]),
            5 => f.add_call(ops[3], &[a]),
            6 => f.add_call(ops[4], &[a]),
            _ if step % 5 == 0 => f.add_call(ops[5], &[a, b]),
            _ => f.add_call(ops[0], &[a, a]),
        };
        f.append(f.body(), id);
        values.push(id);
    }
    f.set_results(f.body(), &[values[values.len() - 1], values[values.len() / 2]]);
    f
}

#[test]
fn five_hundred_functions_come_out_the_same_by_one_two_and_eight_threads() {
    let registry = Registry::new(Default::default(), Linked::Include, &Choices::new());
    let mut module = IRModule::new();
    module.set_function("main", function(0));
    (1..500).for_each(|i| module.set_function(&format!("f{i}"), function(i)));
    let text = r#"
        opt_level = 3
        steps = ["InferType", "EliminateNoOp", "FoldConstant", "EliminateCommonSubexpr", "DeadCodeElimination"]
    "#;
    let spec = PipelineSpec::parse("threads.toml", text, &Disk).expect("it is a pipeline");
    let pipeline = spec.resolve(&registry).expect("the passes are linked");
    let run = |n_threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().expect("threads start");
        let options = ManagerOptions { remarks: Remarks::Show, ..ManagerOptions::default() };
        let ran = pool.install(|| manager::run(&pipeline, &module, &registry, &options));
        let (out, report) = ran.unwrap_or_else(|failure| panic!("{failure}"));
        let said: Vec<String> = report.said.iter().map(ToString::to_string).collect();
        (text::print(&out, &Default::default()), said, report.statistics)
    };
    let first = run(1);
    assert_ne!(first.0, text::print(&module, &Default::default()), "the passes find something to do");
    assert!(!first.1.is_empty(), "the passes find something to say");
    for round in 0..20 {
        for n_threads in [1, 2, 8] {
            let next = run(n_threads);
            assert!(next == first, "round {round} by {n_threads} threads differs");
        }
    }
}

//! Random networks as loop programs, whose calls are fused and whose memory is reused: the interpreter computes the same bits
//! for them as without.

use relais_conformance::check::random_inputs;
use relais_plugin_api::{
    ir::{IRModule, MAIN, Tensor},
    prim::{self, RunOptions, n_outputs},
    text,
};
use relais_tests::{cli::run_text, venv::every};
use std::fmt::Write;

/// Pseudorandom numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

/// A network of 3 to 12 operators that change elements, their order and their number.
fn network(seed: u64) -> String {
    let mut random = Random(seed);
    let mut text = "def @main(%x: Tensor[(2, 3, 4), float32]) #[opset = {\"\": 17}] {\n".to_owned();
    let mut values: Vec<(String, Vec<u64>)> = vec![("%x".to_owned(), vec![2, 3, 4])];
    for at in 0..3 + random.below(10) {
        let last = values.len() - 1;
        // Most often the newest one, so that there are chains.
        let from = if random.below(3) > 0 { last } else { random.below(values.len()) };
        let (x, sizes) = values[from].clone();
        let made = format!("%v{at}");
        let list = |sizes: &[u64]| sizes.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        let (call, sizes) = match random.below(14) {
            0 => (format!("Relu({x})"), sizes),
            1 => (format!("Neg({x})"), sizes),
            2 => (format!("Mul({x}, 0.5)"), sizes),
            3 => (format!("Sigmoid({x})"), sizes),
            4 | 5 => {
                let alike: Vec<&String> =
                    values.iter().filter(|(_, other)| *other == sizes).map(|(name, _)| name).collect();
                let other = alike[random.below(alike.len())].clone();
                (format!("{}({x}, {other})", ["Add", "Mul", "Sub"][random.below(3)]), sizes)
            }
            6 => {
                // Broadcast along all axes but one.
                let axis = random.below(sizes.len());
                let shape: Vec<u64> = (0..sizes.len()).map(|at| if at == axis { sizes[at] } else { 1 }).collect();
                let bias = format!("%b{at}");
                writeln!(text, "  {bias} = ReduceMean(%x, axes = [0, 1, 2], keepdims = 0);").unwrap();
                writeln!(text, "  {bias}e = Expand({bias}, const(int64, [{}]));", list(&shape)).unwrap();
                (format!("Add({x}, {bias}e)"), sizes)
            }
            7 | 8 if sizes.len() > 1 => {
                let mut order: Vec<u64> = (0..sizes.len() as u64).collect();
                let axis = random.below(sizes.len() - 1);
                order.swap(axis, axis + 1);
                let turned = order.iter().map(|&axis| sizes[axis as usize]).collect();
                (format!("Transpose({x}, perm = [{}])", list(&order)), turned)
            }
            9 => {
                let count: u64 = sizes.iter().product();
                let shape = [vec![count], vec![2, count / 2], vec![count / 2, 2], vec![2, 1, count / 2]]
                    [random.below(4)]
                .clone();
                (format!("Reshape({x}, const(int64, [{}]))", list(&shape)), shape)
            }
            10 => (format!("Softmax({x}, axis = -1)"), sizes),
            11 => {
                let axis = random.below(sizes.len());
                let mut reduced = sizes.clone();
                reduced[axis] = 1;
                let most = format!("%m{at}");
                writeln!(text, "  {most} = ReduceMax({x}, axes = [{axis}], keepdims = 1);").unwrap();
                (format!("Sub({x}, {most})"), sizes)
            }
            12 => {
                let axis = random.below(sizes.len());
                let mut longer = sizes.clone();
                longer[axis] *= 2;
                (format!("Concat({x}, {x}, axis = {axis})"), longer)
            }
            _ if sizes.iter().all(|&size| size % 2 == 0) => {
                let ends: Vec<u64> = sizes.iter().map(|&size| size / 2).collect();
                let starts = vec![0; sizes.len()];
                let bounds = format!("const(int64, [{}]), const(int64, [{}])", list(&starts), list(&ends));
                (format!("Slice({x}, {bounds})"), ends)
            }
            _ => (format!("Abs({x})"), sizes),
        };
        // Larger ones say nothing more.
        if sizes.iter().product::<u64>() > 96 {
            continue;
        }
        writeln!(text, "  {made} = {call};").unwrap();
        values.push((made, sizes));
    }
    let last = &values[values.len() - 1].0;
    match random.below(3) {
        0 => {
            let other = &values[1 + random.below(values.len() - 1)].0;
            writeln!(text, "  ({last}, {other})\n}}").unwrap();
        }
        _ => writeln!(text, "  {last}\n}}").unwrap(),
    }
    text
}

fn after(text: &str, passes: &str) -> String {
    let (out, run) = run_text(text, &["--passes", passes, "--verify-each"]);
    assert_eq!(run.status, Some(0), "{passes}: {}\n{text}", run.stderr);
    out
}

fn run(text: &str, inputs: &[Tensor]) -> Vec<Tensor> {
    let module: IRModule = text::parse_str(text).unwrap();
    let mut options = RunOptions::default();
    // Memory that was not written must not be read.
    (options.poison, options.fuel) = (true, 1 << 24);
    prim::run(&module, MAIN, inputs, &options).unwrap_or_else(|stop| panic!("{stop:?}\n{text}"))
}

#[test]
fn networks_compute_the_same_after_their_loops_are_fused() {
    let (mut n_fused, mut n_reused) = (0, 0);
    let n = 160 / every();
    for seed in 0..n {
        let lowered = after(&network(seed as u64), "InferType,LowerOps,LowerMain");
        let module = text::parse_str(&lowered).unwrap();
        let f = module.body(MAIN).unwrap();
        let mut inputs = random_inputs(f, seed as u64, 0).next().unwrap().unwrap();
        inputs.truncate(f.params().len() - n_outputs(f));
        let fused = after(&lowered, "FuseKernels");
        let reused = after(&fused, "ReuseMemory");
        n_fused += usize::from(fused != lowered);
        n_reused += usize::from(reused != fused);
        let expected = run(&lowered, &inputs);
        for text in [&fused, &reused] {
            let got = run(text, &inputs);
            for (got, expected) in got.iter().zip(&expected) {
                assert_eq!(got.to_bytes(), expected.to_bytes(), "seed {seed}: {lowered}\nbecame {text}");
            }
        }
    }
    println!("of {n}, {n_fused} were fused, {n_reused} reuse memory");
    assert!(n_fused >= n / 2 && n_reused >= n / 4, "{n_fused}, {n_reused} of {n}");
}

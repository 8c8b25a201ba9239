//! Depth and length cost no stack: the default pipeline on programs that are far larger than models, with a stack of
//! 2 MiB.

use relais_tests::cli::{files, folder, relais_on_small_stack};
use std::{fmt::Write, fs, path::Path, time::Duration};

const N_CALLS: usize = 1_000_000;
const N_BLOCKS: usize = 100_000;
const N_NAMED: usize = 100_000;
/// Far above the time needed, far below the time of a quadratic algorithm.
const LIMIT: Duration = Duration::from_secs(if cfg!(debug_assertions) { 300 } else { 60 });

#[track_caller]
fn run(name: &str, input: &str, bytes: &[u8]) {
    let folder = folder(name);
    let (input, output) = (folder.join(input), folder.join("out.relay"));
    fs::write(&input, bytes).unwrap();
    let args = ["run".as_ref(), input.as_os_str(), "-o".as_ref(), output.as_ref(), "-q".as_ref()];
    let run = relais_on_small_stack(args).expect_success();
    println!("{name}: {:.1} s, {} bytes out", run.time.as_secs_f64(), fs::metadata(&output).unwrap().len());
    assert!(run.time < LIMIT, "{:?}", run.time);
    // Output can be read again on a stack of this size too.
    let again = folder.join("again.onnx");
    let args = ["run".as_ref(), output.as_os_str(), "-O0".as_ref(), "-o".as_ref(), again.as_ref(), "-q".as_ref()];
    let run = relais_on_small_stack(args).expect_success();
    println!("{name}: written as ONNX in {:.1} s", run.time.as_secs_f64());
    assert!(run.time < LIMIT, "{:?}", run.time);
    assert!(files(&folder).contains(&"again.onnx".to_owned()));
    remove(&folder);
}

fn remove(folder: &Path) {
    fs::remove_dir_all(folder).unwrap();
}

/// A field of type `LEN`.
fn field(out: &mut Vec<u8>, number: u8, bytes: &[u8]) {
    out.push(number << 3 | 2);
    let mut len = bytes.len();
    while len >= 0x80 {
        out.push(len as u8 | 0x80);
        len >>= 7;
    }
    out.push(len as u8);
    out.extend_from_slice(bytes);
}

fn value_info(name: &str) -> Vec<u8> {
    // A vector of two 32-bit floats.
    let mut out = Vec::new();
    field(&mut out, 1, name.as_bytes());
    out.extend_from_slice(&[0x12, 0x0a, 0x0a, 0x08, 0x08, 1, 0x12, 0x04, 0x0a, 0x02, 0x08, 2]);
    out
}

/// Calls of `Tanh` and `Neg` in turn: nothing that a pass makes less of.
fn chain(n: usize) -> Vec<u8> {
    let mut graph = Vec::new();
    for at in 0..n {
        let mut node = Vec::new();
        field(&mut node, 1, format!("v{at}").as_bytes());
        field(&mut node, 2, format!("v{}", at + 1).as_bytes());
        field(&mut node, 4, if at % 2 == 0 { b"Tanh" } else { b"Neg" });
        field(&mut graph, 1, &node);
    }
    field(&mut graph, 2, b"chain");
    field(&mut graph, 11, &value_info("v0"));
    field(&mut graph, 12, &value_info(&format!("v{n}")));
    let mut model = vec![0x08, 8];
    field(&mut model, 7, &graph);
    field(&mut model, 8, &[0x10, 17]);
    model
}

#[test]
fn a_chain_of_a_million_calls() {
    run("chain", "chain.onnx", &chain(N_CALLS));
}

#[test]
fn a_hundred_thousand_nested_blocks() {
    let mut text = "def @main(%x: Tensor[(2), float32], %c: Tensor[(), bool]) #[opset = {\"\": 17}] {\n".to_owned();
    for at in 0..N_BLOCKS {
        writeln!(text, "%n{at} = Tanh(%x); %v{at} = if (%c) {{").unwrap();
    }
    text.push_str("%last = Tanh(%x); %last\n");
    for at in (0..N_BLOCKS).rev() {
        writeln!(text, "}} else {{ %n{at} }}; %v{at}").unwrap();
    }
    text.push_str("}\n");
    run("nested", "nested.relay", text.as_bytes());
}

#[test]
fn a_hundred_thousand_named_bindings() {
    let mut text = "def @main(%v0: Tensor[(2), float32]) #[opset = {\"\": 17}] {\n".to_owned();
    for at in 0..N_NAMED {
        let op = if at % 2 == 0 { "Tanh" } else { "Neg" };
        writeln!(text, "  let %v{} = {op}(%v{at});", at + 1).unwrap();
    }
    writeln!(text, "  %v{N_NAMED}\n}}").unwrap();
    run("named", "named.relay", text.as_bytes());
}

/// How long a pass takes on a program, the shortest of some runs.
fn seconds(name: &str, text: &str, passes: &str) -> f64 {
    let folder = folder(name);
    let (input, output) = (folder.join("in.relay"), folder.join("out.relay"));
    fs::write(&input, text).unwrap();
    let args = [
        "run".as_ref(),
        input.as_os_str(),
        "-o".as_ref(),
        output.as_ref(),
        "-q".as_ref(),
        "--passes".as_ref(),
        passes.as_ref(),
    ];
    let times = (0..3).map(|_| relais_on_small_stack(args).expect_success().time.as_secs_f64());
    times.fold(f64::INFINITY, f64::min)
}

/// Runs a pass on programs of `n` and of eight times as many calls: eight times the work, and not sixty-four.
#[track_caller]
fn is_linear(name: &str, n: usize, passes: &str, program: fn(usize) -> String) {
    let none = seconds(name, &program(1), passes);
    let (small, large) = (seconds(name, &program(n), passes) - none, seconds(name, &program(8 * n), passes) - none);
    println!("{name}: {small:.3} s and {large:.3} s");
    assert!(large < 24.0 * small.max(0.05), "{small:.3} s of {n} calls became {large:.3} s of eight times as many");
}

#[test]
fn dropouts_whose_masks_are_used_take_linear_time() {
    is_linear("dropouts", 2000, "EliminateNoOp", |n| {
        let mut text = "def @main(%x: Tensor[(2), float32]) -> (".to_owned();
        text += &(0..n).map(|at| format!("%r{at}")).collect::<Vec<_>>().join(", ");
        text += ") #[opset = {\"\": 17}] {\n";
        for at in 0..n {
            writeln!(text, "%d{at} = Dropout(%x) -> 2;").unwrap();
        }
        for at in 0..n {
            writeln!(text, "%m{at} = %d{at}[1];").unwrap();
        }
        text += &format!("({})\n}}\n", (0..n).map(|at| format!("%m{at}")).collect::<Vec<_>>().join(", "));
        text
    });
}

#[test]
fn conditionals_of_constants_take_linear_time() {
    is_linear("conditionals", 1000, "FoldConstant", |n| {
        let mut text =
            "def @main(%x0: Tensor[(2), float32]) #[opset = {\"\": 17}] {\n%yes = const(bool, true);\n".to_owned();
        for at in 0..n {
            let next = at + 1;
            writeln!(
                text,
                "%x{next} = if (%yes) {{ %a{at} = Neg(%x{at}); %a{at} }} else {{ %b{at} = Abs(%x{at}); %b{at} }};"
            )
            .unwrap();
        }
        writeln!(text, "%x{n}\n}}").unwrap();
        text
    });
}

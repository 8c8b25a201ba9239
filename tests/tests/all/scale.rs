//! Depth and length cost no stack, and time in proportion: the default pipeline on programs that are far larger than
//! models, with a stack of 2 MiB.

use relais_tests::cli::{folder, relais_on_small_stack};
use std::{ffi::OsStr, fmt::Write, fs, path::Path, time::Duration};

const N_CALLS: usize = 1_000_000;
const N_BLOCKS: usize = 100_000;
const N_NAMED: usize = 100_000;
/// Far above the time needed, far below the time of a quadratic algorithm.
const LIMIT: Duration = Duration::from_secs(if cfg!(debug_assertions) { 300 } else { 60 });

/// Runs the default pipeline on a program and writes the result as ONNX. Returns how many seconds both took.
#[track_caller]
fn run(name: &str, input: &str, bytes: &[u8]) -> f64 {
    let folder = folder(name);
    let (input, output) = (folder.join(input), folder.join("out.relay"));
    fs::write(&input, bytes).unwrap();
    let args = ["run".as_ref(), input.as_os_str(), "-o".as_ref(), output.as_ref(), "-q".as_ref()];
    let run = relais_on_small_stack(args).expect_success();
    println!("{name}: {:.1} s, {} bytes out", run.time.as_secs_f64(), fs::metadata(&output).unwrap().len());
    assert!(run.time < LIMIT, "{:?}", run.time);
    // Output can be read again on a stack of this size too.
    // ONNX has no graphs that are nested as deep.
    let again = folder.join(if name == "nested" { "again.relay" } else { "again.onnx" });
    let args = ["run".as_ref(), output.as_os_str(), "-O0".as_ref(), "-o".as_ref(), again.as_ref(), "-q".as_ref()];
    let written = relais_on_small_stack(args).expect_success();
    println!("{name}: written again in {:.1} s", written.time.as_secs_f64());
    assert!(written.time < LIMIT, "{:?}", written.time);
    assert!(again.exists());
    remove(&folder);
    (run.time + written.time).as_secs_f64()
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

fn nested(n: usize) -> String {
    let mut text = "def @main(%x: Tensor[(2), float32], %c: Tensor[(), bool]) #[opset = {\"\": 17}] {\n".to_owned();
    for at in 0..n {
        writeln!(text, "%n{at} = Tanh(%x); %v{at} = if (%c) {{").unwrap();
    }
    text.push_str("%last = Tanh(%x); %last\n");
    for at in (0..n).rev() {
        writeln!(text, "}} else {{ %n{at} }}; %v{at}").unwrap();
    }
    text.push_str("}\n");
    text
}

#[test]
fn a_hundred_thousand_nested_blocks() {
    is_linear("nested", N_BLOCKS / 8, |n| run("nested", "nested.relay", nested(n).as_bytes()));
}

fn named(n: usize) -> String {
    let mut text = "def @main(%v0: Tensor[(2), float32]) #[opset = {\"\": 17}] {\n".to_owned();
    for at in 0..n {
        let op = if at % 2 == 0 { "Tanh" } else { "Neg" };
        writeln!(text, "  let %v{} = {op}(%v{at});", at + 1).unwrap();
    }
    writeln!(text, "  %v{n}\n}}").unwrap();
    text
}

#[test]
fn a_hundred_thousand_named_bindings() {
    is_linear("named", N_NAMED / 8, |n| run("named", "named.relay", named(n).as_bytes()));
}

/// Values that are transposed back and forth: half of the transposes undo each other, and the others are needed.
fn transposed(n: usize) -> String {
    let mut text = "def @main(%v0: Tensor[(2, 3, 3), float32]) #[opset = {\"\": 17}] {\n".to_owned();
    for at in 0..n {
        writeln!(text, "%a{at} = Transpose(%v{at}, perm = [0, 2, 1]); %b{at} = Tanh(%a{at});").unwrap();
        writeln!(text, "%c{at} = Transpose(%b{at}, perm = [0, 2, 1]); %d{at} = Neg(%c{at});").unwrap();
        writeln!(text, "%e{at} = Transpose(%d{at}, perm = [0, 2, 1]); %v{} = MatMul(%e{at}, %d{at});", at + 1).unwrap();
    }
    writeln!(text, "%v{n}\n}}").unwrap();
    text
}

#[test]
fn transposes_are_moved_in_linear_time() {
    is_linear("transposed", 5_000, |n| run("transposed", "transposed.relay", transposed(n).as_bytes()));
}

#[test]
fn a_chain_that_no_pass_sees_takes_linear_time() {
    is_linear("unseen", 25_000, |n| seconds("unseen", "in.onnx", &chain(n), &["-O0"], "out.onnx"));
}

/// How many seconds a run takes.
#[track_caller]
fn seconds(name: &str, input: &str, bytes: &[u8], how: &[&str], output: &str) -> f64 {
    let folder = folder(name);
    let (input, output) = (folder.join(input), folder.join(output));
    fs::write(&input, bytes).unwrap();
    let args = ["run".as_ref(), input.as_os_str(), "-o".as_ref(), output.as_os_str(), "-q".as_ref()];
    let args = args.into_iter().chain(how.iter().map(OsStr::new));
    let run = relais_on_small_stack(args).expect_success();
    remove(&folder);
    run.time.as_secs_f64()
}

/// Works on programs of `n` and of eight times as many calls: eight times the work, and not sixty-four. `work` returns
/// how many seconds it took.
#[track_caller]
fn is_linear(name: &str, n: usize, work: impl Fn(usize) -> f64) {
    // Other programs may slow either down, so the two take turns.
    let (none, small) =
        (0..3).fold((f64::INFINITY, f64::INFINITY), |(none, small), _| (none.min(work(1)), small.min(work(n))));
    let small = small - none;
    let limit = 24.0 * small.max(0.05);
    let mut large = f64::INFINITY;
    for _ in 0..3 {
        large = large.min(work(8 * n) - none);
        if large < limit {
            break;
        }
    }
    println!("{name}: {small:.3} s and {large:.3} s");
    assert!(large < limit, "{small:.3} s of {n} calls became {large:.3} s of eight times as many");
}

/// The same for a pass.
#[track_caller]
fn is_linear_in_pass(name: &str, n: usize, pass: &str, program: fn(usize) -> String) {
    is_linear(name, n, |n| seconds(name, "in.relay", program(n).as_bytes(), &["--passes", pass], "out.relay"));
}

#[test]
fn dropouts_whose_masks_are_used_take_linear_time() {
    is_linear_in_pass("dropouts", 2000, "EliminateNoOp", |n| {
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
    is_linear_in_pass("conditionals", 1000, "FoldConstant", |n| {
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

/// A chain that ends in a sum, which all values in `sources` are terms of, too.
fn chain_with_a_sum(n: usize, sources: &str, first: &str, term: &str) -> String {
    let mut text = format!("def @main(%x: Tensor[(2), float32]) #[opset = {{\"\": 17}}] {{\n{sources}%c0 = {first};\n");
    for at in 0..n {
        let op = if at % 2 == 0 { "Tanh" } else { "Neg" };
        writeln!(text, "%c{} = {op}(%c{at});", at + 1).unwrap();
    }
    let terms: String = (0..n).map(|at| format!(", %{term}{at}")).collect();
    text + &format!("%end = Sum(%c{n}{terms});\n%end\n}}\n")
}

#[test]
fn values_used_at_both_ends_of_a_chain_are_fused_in_linear_time() {
    is_linear_in_pass("both-ends", 10_000, "FuseOps", |n| {
        let sources: String = (0..n).map(|at| format!("%s{at} = Neg(%x);\n")).collect();
        let first: Vec<String> = (0..n).map(|at| format!("%s{at}")).collect();
        chain_with_a_sum(n, &sources, &format!("Sum({})", first.join(", ")), "s")
    });
}

#[test]
fn a_chain_of_which_each_call_feeds_the_end_is_fused_in_linear_time() {
    is_linear("feeds-the-end", 10_000, |n| {
        // Half of the chain is more than one group may have, and half is not.
        let most = format!("relay.FuseOps.max_depth={}", n / 2 + 1);
        let text = chain_with_a_sum(n, "", "Neg(%x)", "c");
        seconds("feeds-the-end", "in.relay", text.as_bytes(), &["--passes", "FuseOps", "--set", &most], "out.relay")
    });
}
